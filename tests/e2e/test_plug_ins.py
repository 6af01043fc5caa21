"""Plug-ins as they are found on real machines: broken, half-installed, doubled, of another version, or gone.

Each is really installed, in a folder that a process of its own has on its path; `python -m hearth` is what is run.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hearth.registry import GROUPS
from hearth.storage.database import Store
from hearth.version import __version__
from tests import ROOT
from tests.plug_ins import installed_in
from tests.story import Ran

OTHER_VERSION = (
    f"hearth-home 0.0.1 does not go with hearth-agent {__version__}; bring both to one version: "
    "`pip install --upgrade hearth-agent hearth-home`"
)
MODULES = {
    "acme_raises": "raise ValueError('out of cheese')",
    "acme_exits": "import sys; sys.exit(3)",
    "acme_parts": """
import sys, click, hearth
from pathlib import Path
from hearth.types import Entity
Path(__file__).with_name("imported").touch()
print("NOISE")
NUMBER = 7
@click.command()
def hi(): click.echo("hi")
@click.command()
def half(): import no_such_dependency
@click.command()
def crash(): 1 / 0
@hearth.tool()
def acme_answer() -> int:
    '''Say the answer.'''
    return 42
def fail(*given): raise ZeroDivisionError("at call")
def leave(*given): sys.exit(0)
def strings(call): return ("Ana",)
""",
}
POINTS = {
    "hearth.commands": {
        "ask": "acme_parts:hi",
        "crash": "acme_parts:crash",
        "edge.raises": "acme_raises:x",
        "exits": "acme_exits:x",
        "half": "acme_parts:half",
        "hi": "acme_parts:hi",
        "learn.more": "acme_parts:hi",
        "malformed": "not a module!!",
        "number": "acme_parts:NUMBER",
        "raises": "acme_raises:x",
    },
    "hearth.tools": {"acme": "acme_parts:acme_answer", "raises": "acme_raises:x", "number": "acme_parts:NUMBER"},
    "hearth.entities": {"fail": "acme_parts:fail", "leave": "acme_parts:leave", "strings": "acme_parts:strings"},
    "hearth.footage": {"acme": "acme_parts:fail"},
    "hearth.checks": {"fail": "acme_parts:fail", "leave": "acme_parts:leave"},
    "hearth.scenes": {"fail": "acme_parts:fail"},
    "hearth.listeners": {"fail": "acme_parts:fail"},
    "hearth.watchers": {"fail": "acme_parts:fail"},
}
HOME_POINTS = {
    "hearth.commands": {
        "devices": "hearth_home.cli.device_commands:devices",
        "edge.point": "hearth_home.cli.point_command:point",
    },
    "hearth.tools": {"home": "hearth_home.tools.home:TOOLS"},
    "hearth.entities": {"devices": "hearth_home.tools.devices:known_devices"},
    "hearth.listeners": {"kubeedge": "hearth_home.kubeedge.sync_listener:listen"},
    "hearth.watchers": {"devices": "hearth_home.sensor_watch:watch"},
}
ABSENT = """
import importlib.abc, importlib.metadata, sys
GONE = {"hearth-bench", "hearth-cloud", "hearth-home", "hearth-video"}
class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0].replace("_", "-") in GONE:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
found = importlib.metadata.MetadataPathFinder.find_distributions
def find_distributions(context=importlib.metadata.DistributionFinder.Context()):
    if context.name in GONE:
        return iter(())
    return (one for one in found(context) if one._normalized_name.replace("_", "-") not in GONE)
importlib.metadata.MetadataPathFinder.find_distributions = staticmethod(find_distributions)
"""
"""Makes a process see none of the companions, whatever is installed."""


REMEMBERS = """
import pathlib, sys
sys.path.append({root!r})
from tests.encoder_memory import remembering
memory = remembering(pathlib.Path({folder!r}))
memory.__enter__()
"""
"""Makes a process read each text once per run of the tests."""


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a distribution that is wrong in every way, and a companion of another version."""
    site = tmp_path_factory.mktemp("faulty")
    installed_in(site, POINTS, modules=MODULES)
    installed_in(site, HOME_POINTS, name="hearth-home", version="0.0.1")
    return site


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that hides the companions."""
    site = tmp_path_factory.mktemp("bare")
    (site / "sitecustomize.py").write_text(ABSENT)
    return site


def run(site: Path | str, home: Path, *arguments: str) -> Ran:
    """Run a command line on the home, in a process that has `site` first on its path."""
    done = subprocess.run(
        [sys.executable, "-m", "hearth", "--home", str(home), *arguments],
        env={**os.environ, "PYTHONPATH": str(site)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "Traceback" not in done.stderr or arguments[0] == "crash", done.stderr
    return Ran(done.returncode, done.stdout, done.stderr)


# ── Faulty ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.companions
def test_help_lists_everything_and_imports_no_third_party(faulty: Path, tmp_path: Path) -> None:
    (faulty / "imported").unlink(missing_ok=True)
    shown = run(faulty, tmp_path, "--help")
    lines = dict(line.split(maxsplit=1) for line in shown.out.partition("Commands:\n")[2].splitlines())
    assert shown.code == 0
    assert lines["raises"] == lines["malformed"] == "Of acme 1.0."
    assert lines["devices"] == "cannot be loaded; call it for the reason"
    assert lines["video"].startswith("Home video")
    assert lines["ask"].startswith("Do what TEXT asks")
    assert run(faulty, tmp_path, "edge", "--help").code == 0
    assert not (faulty / "imported").exists()


@pytest.mark.companions
def test_help_imports_nothing_heavy_of_any_companion() -> None:
    code = "import sys; from hearth import cli; cli.run(['--help']); print(*sys.modules, file=sys.stderr)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = {name.partition(".")[0] for name in shown.stderr.split()}
    assert {"click", "hearth", "hearth_bench", "hearth_cloud", "hearth_home", "hearth_video"} < imported
    heavy = {"numpy", "onnxruntime", "matplotlib", "jinja2", "PIL", "cv2", "av", "fastapi", "sqlalchemy", "paho"}
    assert not imported & heavy


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("hi", 0, ""),
        (
            "raises",
            78,
            "'raises' of acme 1.0 (acme_raises:x) cannot be loaded: ValueError: out of cheese; install it anew",
        ),
        (
            "exits",
            78,
            "'exits' of acme 1.0 (acme_exits:x) cannot be loaded: SystemExit: 3; install it anew or remove it",
        ),
        ("malformed", 78, "'malformed' of acme 1.0 (not a module!!) cannot be loaded: "),
        ("number", 78, "acme 1.0 (acme_parts:NUMBER): 7 is no click command; update or uninstall the plug-in"),
        ("half", 78, "cannot run: ModuleNotFoundError: No module named 'no_such_dependency'; install it anew"),
        ("crash", 78, "hearth: this is a fault in acme 1.0; report the lines above to its maker"),
        ("devices", 78, OTHER_VERSION),
        ("edge raises", 78, "'edge.raises' of acme 1.0 (acme_raises:x) cannot be loaded"),
        ("edge point", 78, OTHER_VERSION),
        ("raises --help", 78, "cannot be loaded"),
    ],
)
def test_a_faulty_command_says_which_and_what_to_do(
    faulty: Path, tmp_path: Path, command: str, code: int, said: str
) -> None:
    ran = run(faulty, tmp_path, *command.split())
    assert ran.code == code
    assert said in ran.err


@pytest.mark.companions
def test_the_agent_answers_without_them_and_says_what_it_left_out(faulty: Path, home: Path) -> None:
    asked = run(faulty, home, "ask", "--json", "what time is it")
    assert asked.code == 0
    assert json.loads(asked.out)["status"] == "done"
    for said in (
        f"not loaded: {OTHER_VERSION}\n",
        "not loaded: 'raises' of acme 1.0 (acme_raises:x) cannot be loaded: ValueError",
        "not loaded: acme 1.0 (acme_parts:NUMBER): 7 is no tool",
        "so acme 1.0 (acme_parts:fail) is not used; uninstall all but one",
        "left out: 'fail' of acme 1.0 (acme_parts:fail) failed: ZeroDivisionError: at call; update it, or uninstall it",
        "left out: 'leave' of acme 1.0 (acme_parts:leave) failed: SystemExit: 0",
        "left out: 'strings' of acme 1.0 (acme_parts:strings) failed: TypeError: it names 'Ana', which is no Entity",
    ):
        assert asked.err.count(said) == 1, said


def test_the_tools_that_can_be_loaded_are_listed(faulty: Path, home: Path) -> None:
    listed = run(faulty, home, "tools", "--json")
    assert listed.code == 1
    document = json.loads(listed.out)
    names = {node["id"] for node in document["nodes"]}
    assert {"acme_answer", "current_time"} < names
    assert "turn_on" not in names
    assert len(document["faults"]) == 3


@pytest.mark.companions
def test_doctor_names_every_fault(faulty: Path, home: Path) -> None:
    examined = run(faulty, home, "doctor", "--json")
    assert examined.code == 1
    found = {one["part"]: one for one in json.loads(examined.out)}
    assert {part for part, one in found.items() if not one["ok"]} == {"tools", "plug-ins", "fail", "leave"}
    for said in (
        OTHER_VERSION,
        "'raises' of acme 1.0 (acme_raises:x) cannot be loaded",
        "'exits' of acme 1.0 (acme_exits:x) cannot be loaded: SystemExit: 3",
        "7 is no click command",
        "so acme 1.0 (acme_parts:fail) is not used",
        "the plug-in's command `hearth ask` is never found, as Hearth has its own; its maker must rename it; until "
        "then, uninstall acme 1.0",
        "the plug-in's command `hearth learn more` is never found, as `hearth learn` takes none",
    ):
        assert said in found["plug-ins"]["says"]
    assert found["fail"]["says"].startswith("'fail' of acme 1.0 (acme_parts:fail) failed: ZeroDivisionError: at call")
    kept = "passages, rings, standing answers, origins, faults, footage"
    assert found["forgetting"]["says"] == f"reaches what Hearth itself keeps, {kept}"


@pytest.mark.slow
def test_the_demo_goes_on_without_them(faulty: Path, tmp_path: Path, run_folder: Path) -> None:
    """It makes a home that learns all that is shipped; its process remembers what others have read, as this one does."""
    clip = tmp_path / "clip.mp4"
    clip.write_bytes(b"")
    site = tmp_path / "site"
    site.mkdir()
    (site / "av.py").write_text("raise ModuleNotFoundError('not here', name='av')")  # as where no experts are installed
    (site / "sitecustomize.py").write_text(REMEMBERS.format(root=str(ROOT), folder=str(run_folder)))
    sites = f"{site}{os.pathsep}{faulty}"
    shown = run(sites, tmp_path, "demo", "--yes", "--footage", str(clip), "--report", str(tmp_path / "r.html"))
    assert shown.code == 0, shown.err
    assert f"not loaded: {OTHER_VERSION}" in shown.out
    assert "left out: 'fail' of acme 1.0 (acme_parts:fail) failed: ZeroDivisionError: at call" in shown.out
    assert (tmp_path / "r.html").exists()


@pytest.mark.parametrize("value", ["acme_raises:x", "acme_parts:fail"])
def test_nothing_is_forgotten_while_a_holder_cannot_be_opened(home: Path, tmp_path: Path, value: str) -> None:
    installed_in(tmp_path / "site", {"hearth.holders": {"acme": value}}, modules=MODULES)
    refused = run(tmp_path / "site", home, "forget", "--matching", "boiler", "--yes")
    assert refused.code == 78
    assert "hearth: nothing was forgotten, as some of it would stay: " in refused.err
    assert value in refused.err
    doctor = run(tmp_path / "site", home, "doctor")
    assert "bad  forgetting   `hearth forget` is refused: " in doctor.out
    assert run(tmp_path / "site", home, "ask", "what time is it").code == 0


def test_a_damaged_record_of_another_package_stops_nothing(home: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    installed_in(site, {})
    (site / "acme-1.0.dist-info" / "entry_points.txt").write_bytes(b"[hearth.tools]\nx = \xff:x\n")
    assert run(site, home, "--help").code == 0
    asked = run(site, home, "ask", "what time is it")
    assert asked.code == 0
    assert "not loaded: what acme 1.0 adds to Hearth, if anything, cannot be read" in asked.err


def test_a_companion_that_lacks_what_it_needs_says_how_to_have_it(home: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    installed_in(
        site,
        {"hearth.commands": {"cloud": "hearth_cloud.cli.cloud_commands:cloud"}},
        name="hearth-cloud",
        version=__version__,
        modules={"fastapi": "raise ModuleNotFoundError('No module named fastapi', name='fastapi')"},
        needs=("hearth-agent==0.2.0", "no-such-dependency>=1", "other; extra == 'more'"),
    )
    folder = tmp_path / "cloud"
    assert run(site, home, "cloud", "init", str(folder)).code in (0, 78)
    served = run(site, home, "cloud", "--folder", str(folder), "serve")
    assert served.code == 78
    assert "pip install hearth-cloud" in served.err
    said = f"hearth-cloud {__version__} lacks 'no-such-dependency'; do `pip install hearth-cloud`, or uninstall it"
    assert said in run(site, home, "doctor").out


def test_the_device_runs_on_when_a_listener_fails(faulty: Path, home: Path) -> None:
    with (home / "hearth.toml").open("a") as file:
        file.write('\n[home.mqtt]\nhost = "127.0.0.1"\nport = 1\nsecurity = "none"\n')
    assert run(faulty, home, "ask", "what time is it").code == 0  # so that it is not quiet enough to learn
    command = ["--home", str(home), "edge", "run", "--node", "n1"]
    with subprocess.Popen(
        [sys.executable, "-m", "hearth", *command],
        env={**os.environ, "PYTHONPATH": str(faulty), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        said = []
        for line in child.stdout:
            said.append(line)
            if line.startswith("memory tend"):
                child.send_signal(signal.SIGTERM)
        assert child.wait(30) == 0
    assert f"without `hearth edge point`: {OTHER_VERSION}\n" in said
    assert any(line.startswith("stopped listening: 'fail' of acme 1.0 (acme_parts:fail) failed: Zero") for line in said)


# ── Gone ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            "video",
            "`hearth video`, a command of hearth-video, needs a part that is not installed; install it with: pip",
        ),
        ("devices list --json", "`hearth devices`, a command of hearth-home, needs a part that is not installed"),
        ("edge point --node n", "`hearth edge point`, a command of hearth-home, needs a part that is not installed"),
        ("bench --help", "`hearth bench`, a command of hearth-bench, needs a part that is not installed"),
    ],
)
def test_the_command_of_an_absent_companion_says_how_to_install_it(
    bare: Path, tmp_path: Path, command: str, said: str
) -> None:
    ran = run(bare, tmp_path, *command.split())
    assert ran.code == 78
    assert said in ran.err


def test_without_any_companion_the_agent_works_also_with_rules_for_their_tools(bare: Path, home: Path) -> None:
    with (home / "hearth.toml").open("a") as file:
        file.write('\n[policy.turn_on]\nruling = "allow"\n[[rule]]\ntools = ["lock_door"]\nruling = "deny"\n')
    assert "video" not in run(bare, home, "--help").out.split()
    asked = run(bare, home, "ask", "what time is it")
    assert (asked.code, asked.err) == (0, "")
    examined = run(bare, home, "doctor")
    assert "bad" not in examined.out
    assert "not installed: hearth-bench, hearth-cloud, hearth-home, hearth-video" in examined.out


def test_home_video_that_nobody_can_forget_is_said_and_not_passed_over(bare: Path, home: Path) -> None:
    with Store.open(home / "hearth.db") as store, store.transaction() as cursor:
        cursor.execute("INSERT INTO camera VALUES ('hall', 'hall')")
        cursor.execute(
            "INSERT INTO recording (id, camera, path, n_bytes, digest, start, start_unix_s, duration_s, width, height,"
            " codec, start_from) VALUES ('r1', 'hall', '/r1.mp4', 1, 'd', '2026-01-01', 0, 60, 1, 1, 'h264', 'name')"
        )
    refused = run(bare, home, "forget", "--matching", "boiler", "--yes")
    assert refused.code == 78
    said = "1 recording of home video are in the database, and hearth-video, which alone can take them out, is not"
    assert said in refused.err
    assert said in run(bare, home, "doctor").out


def test_the_device_runs_on_without_its_companion(bare: Path, home: Path) -> None:
    with (home / "hearth.toml").open("a") as file:
        file.write('\n[home.mqtt]\nhost = "127.0.0.1"\nport = 1\nsecurity = "none"\n')
    command = ["--home", str(home), "edge", "run", "--node", "n1"]
    with subprocess.Popen(
        [sys.executable, "-m", "hearth", *command],
        env={**os.environ, "PYTHONPATH": str(bare), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        first = child.stdout.readline()
        child.send_signal(signal.SIGTERM)
        child.stdout.read()
        assert child.wait(60) == 0
    assert first.startswith("without `hearth edge point`: `hearth edge point`, a command of hearth-home, needs a part")


# ── The examples of the page ──────────────────────────────────────────────────────────────────────────────

EXAMPLES = {
    "hearth.tools": ("coin", "TOOLS"),
    "hearth.commands": ("where", "where"),
    "hearth.entities": ("boats", "known_boats"),
    "hearth.footage": ("boats", "open_footage"),
    "hearth.readers": ("picture", "read_writing"),
    "hearth.holders": ("jokes", "Jokes"),
    "hearth.checks": ("boat", "check_boat"),
    "hearth.listeners": ("news", "listen"),
    "hearth.watchers": ("gauge", "watch"),
    "hearth.scenes": ("boat", "add"),
}
"""Group -> the name and the attribute of its example in the reference of plug-ins."""


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, bare: Path) -> str:
    """Path entries with every example of the page installed, each a module of its own, and no companion."""
    page = (ROOT / "docs" / "reference" / "plugins.md").read_text()
    shown = dict(re.findall(r"^## (\S+)\n.*?^```python\n(.*?)^```", page, re.S | re.M))
    module = {group: f"acme_{group.replace('.', '_')}" for group in EXAMPLES}
    points = {group: {name: f"{module[group]}:{attribute}"} for group, (name, attribute) in EXAMPLES.items()}
    site = tmp_path_factory.mktemp("examples")
    installed_in(site, points, modules={module[group]: shown[group] for group in EXAMPLES})
    return f"{site}{os.pathsep}{bare}"


def test_every_group_of_plug_ins_has_an_example_that_is_installed_here() -> None:
    assert EXAMPLES.keys() == GROUPS.keys()


def test_the_examples_of_the_page_work_once_they_are_installed(examples: str, home: Path) -> None:
    assert run(examples, home, "where").out == f"The home is {home}\n"
    examined = {one["part"]: one for one in json.loads(run(examples, home, "doctor", "--json").out)}
    assert examined["plug-ins"]["ok"], examined["plug-ins"]
    assert examined["tools"]["ok"], examined["tools"]
    assert (examined["boat"]["ok"], examined["boat"]["says"]) == (
        False,
        "no boat.toml in the home; copy the one of the manual",
    )
    assert examined["forgetting"]["says"].endswith(", jokes")
    (home / "boat.toml").touch()
    (home / "jokes.txt").write_text("a duck walks in\nknock knock\n")
    examined = {one["part"]: one for one in json.loads(run(examples, home, "doctor", "--json").out)}
    assert (examined["boat"]["ok"], examined["boat"]["says"]) == (True, "the boat is known")
    forgotten = run(examples, home, "forget", "--matching", "duck", "--yes")
    assert (forgotten.code, (home / "jokes.txt").read_text()) == (0, "knock knock\n")
    assert "1 joke" in forgotten.out
    asked = run(examples, home, "ask", "--json", "toss a coin")
    assert (asked.code, json.loads(asked.out)["status"]) == (0, "done"), asked.err
    assert "left out" not in asked.err
