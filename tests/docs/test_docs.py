"""What the pages say is so: every fence runs, generated pages are current, links lead somewhere, all is documented.

`console` fences: lines after `$ ` run in one folder and home per page, `hearth` as in tests/warm_process.py; a line may end in `# exits N`. Other lines of the
fence are output that must appear, `…` standing for anything. `make` lines are checked with `make -n` (CI runs `make
check`, `make test` and `make run` themselves). `python` fences run as programs, `toml` is read as settings, `json` and
`jsonl` are parsed, `text` is only shown. A fence of another kind fails.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from hearth import config, errors
from hearth.cli.root import hearth
from hearth.registry import GROUPS
from hearth_cloud.cloud_settings import parse_cloud_settings
from tests import ROOT
from tests.docs import generate
from tests.story import with_few_demonstrations
from tests.warm_process import WarmProcesses

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.S | re.M)


def fences(page: Path) -> list[tuple[str, str]]:
    return FENCE.findall(page.read_text())


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


LEARNS = {"README.md", "docs/tutorial/first-hour.md"}
"""Pages whose homes learn the shipped demonstrations themselves."""
LEARNS_FEW = {"README.md", "docs/howto/teacher.md"}
"""Pages where `hearth learn` makes a version of a tenth of what is shipped; of all it takes half a minute."""


@pytest.mark.parametrize("page", [p for p in PAGES if fences(p)], ids=name)
def test_every_fence_runs(page: Path, tmp_path: Path, warm: WarmProcesses, learned_home: Path) -> None:
    """On all pages but `LEARNS`, `hearth init` finds a database that has learnt what it would learn: that is two seconds
    a page, and what it prints is the same."""
    if name(page) not in LEARNS:
        (tmp_path / "home").mkdir()
        shutil.copy(learned_home / "hearth.db", tmp_path / "home")
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(warm.bin), str(Path(sys.executable).parent), os.environ["PATH"]]),
        "HOME": str(tmp_path),
        "HEARTH_HOME": str(tmp_path / "home"),
        "NO_COLOR": "1",
    }
    for kind, text in fences(page):
        if kind == "console":
            if name(page) in LEARNS_FEW and "$ hearth learn" in text:
                with_few_demonstrations(tmp_path / "home")
            run_console(text, tmp_path, environment)
        elif kind == "python":
            done = warm.python(text, cwd=tmp_path, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, f"{text}\n{done.stderr}"
        elif kind == "toml":
            (tmp_path / "fence.toml").write_text(text)
            if page.name == "cloud.md":
                parse_cloud_settings(text, tmp_path / "fence.toml")
            else:
                config.read_settings(tmp_path / "fence.toml")
        elif kind in ("json", "jsonl"):
            for document in text.splitlines() if kind == "jsonl" else [text]:
                json.loads(document)
        else:
            assert kind == "text", f"a ```{kind} fence is not run by this test; use console, python, toml, json or text"
            for line in text.splitlines():
                check_commands(line)


def check_commands(line: str) -> None:
    """Let the real command line read what stands in a fence that cannot be run: programs, devices, other machines."""
    for command in re.split(r"&&|\||;", line.removeprefix("$ ")):
        with contextlib.suppress(ValueError):  # an apostrophe of prose
            words = shlex.split(command.partition(" > ")[0], comments=True)
            while words and ("=" in words[0] or (words[0] in ("sudo", "-u", "hearth") and "/opt/hearth" in command)):
                words = words[1:]
            if words and (words[0] == "hearth" or words[0].endswith("/bin/hearth")) and "=" not in words[1:2]:
                read_command(words[1:])


def read_command(arguments: list[str]) -> None:
    """Raises: click.UsageError: No such command, or no such option of it; values are not looked at."""
    command: click.Command = hearth
    context: click.Context | None = None
    while True:
        context = click.Context(command, info_name=command.name, parent=context)
        _, arguments, _ = command.make_parser(context).parse_args(arguments)
        if not isinstance(command, click.Group) or not arguments:
            return
        _, found, arguments = command.resolve_command(context, arguments)
        assert found is not None
        command = found


@pytest.mark.parametrize(
    "line",
    ["hearth edge walk", "hearth video add x.mp4 --kamera y", "sudo -u hearth A=b /opt/hearth/bin/hearth edge jion"],
)
def test_a_command_that_is_none_is_found(line: str) -> None:
    with pytest.raises(click.UsageError):
        check_commands(line)


def run_console(text: str, folder: Path, environment: dict[str, str]) -> None:
    """Run the `$ ` lines of a fence and look for the output lines below each."""
    blocks = re.split(r"^\$ ", text, flags=re.M)[1:]
    assert blocks, f"no '$ ' line in the console fence:\n{text}"
    for block in blocks:
        command, *expected = block.rstrip("\n").split("\n")
        match = re.search(r"\s+# exits (\d+)$", command)
        code = int(match[1]) if match else 0
        is_make = re.match(r"make(?= |$)", command) is not None
        command = re.sub(r"^make(?= |$)", "make -n", command)
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=ROOT if is_make else folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            input="",
        )
        assert done.returncode == code, f"$ {command}\n{done.stdout}\n{done.stderr}"
        place = 0
        for line in filter(None, expected):
            pattern = ".*?".join(re.escape(part) for part in line.strip().split("…"))
            found = re.compile(pattern).search(done.stdout + done.stderr, place)
            assert found, f"$ {command}\nexpected: {line}\ngot:\n{done.stdout}{done.stderr}"
            place = found.end()


def test_generated_pages_are_current() -> None:
    # In a process of its own: commands that other tests have loaded are no part of the pages.
    check = [sys.executable, "-m", "tests.docs.generate", "--check"]
    done = subprocess.run(check, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target and not target.startswith("mailto:"):
            assert (page.parent / target).exists(), f"{name(page)} links to {target}, which does not exist"


FILES = {"hearth.toml", "__init__.py", "pyproject.toml"}
MODULES = {
    ".".join((folder.name, *path.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__"): path
    for folder in (ROOT / "src/hearth", *(ROOT / "packages").glob("*/hearth_*"), ROOT / "training")
    for path in folder.rglob("*.py")
}


def leads_somewhere(said: str) -> bool:
    """Whether a dotted name ends that of a module, or a name in it, as pages leave out `hearth`; a path that of a file."""
    if "/" in said:
        return any((ROOT / folder / said).exists() for folder in ("", "src/hearth", "src/hearth/serve"))
    names = said.split(".")
    for n in range(min(3, len(names))):
        end, inner = ".".join(names[: len(names) - n]), names[len(names) - n :]
        for module, path in MODULES.items():
            if f".{module}".endswith(f".{end}") and all(defines(path, name) for name in inner):
                return True
    return False


def defines(path: Path, name: str) -> bool:
    """Whether a module has a function, class or value of that name; a package, whether it hands one on."""
    wanted = rf"\b{name}\b" if path.name == "__init__.py" else rf"(?:def|class) {name}\b|^\s*{name}\s*[:=]"
    return re.search(wanted, path.read_text(), re.M) is not None


def test_the_architecture_names_what_is_there() -> None:
    text = re.sub(r"^```.*?^```", "", (ROOT / "docs/explanation/architecture.md").read_text(), flags=re.S | re.M)
    said = {one for one in re.findall(r"`([^`\s*…]+)`", text) if re.search(r"[./]", one)}
    modules = {one for one in said if re.fullmatch(r"[a-z_/]+([.][\w/]+)*", one)} - set(GROUPS)
    assert len(modules) > 100
    assert sorted(one for one in modules if not leads_somewhere(one) and one not in FILES) == []


@pytest.mark.parametrize(
    ("said", "is_there"),
    [("guard.policy.warrant", True), ("language.reading.Utterance", True), ("serve.pages.page", True), ("training/", True),
     ("guard.policy.licence", False), ("language.reading.Uterance", False), ("execution.ledgers", False), ("src/hearth/x.md", False)],
)  # fmt: skip
def test_a_name_of_nothing_is_found(said: str, is_there: bool) -> None:
    assert leads_somewhere(said) is is_there


def test_every_error_is_in_the_tree() -> None:
    tree = errors.__doc__ or ""
    classes = [n for n, c in vars(errors).items() if isinstance(c, type) and issubclass(c, errors.HearthError)]
    assert [n for n in classes if not re.search(rf"\b{n}\b", tree)] == []


def test_every_setting_is_described() -> None:
    rows = [line for line in generate.settings().splitlines() if line.startswith("| `")]
    assert [row for row in rows if row.endswith("|  |")] == []


def test_every_tool_and_parameter_is_described() -> None:
    rows = [line for line in generate.tools().splitlines() if line.startswith("| `")]
    assert rows
    assert [row for row in rows if row.endswith("|  |")] == []


def test_every_group_of_plug_ins_is_documented_with_an_example() -> None:
    page = (ROOT / "docs" / "reference" / "plugins.md").read_text()
    sections = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", page, re.S | re.M))
    assert list(sections) == list(GROUPS)
    for group, meaning in GROUPS.items():
        said = " ".join(sections[group].split())
        assert meaning.lower() in said.lower(), f"{group}: the page does not say {meaning!r}, as `registry.GROUPS` does"
        assert "```python" in sections[group], f"{group}: no example"


def test_every_exit_code_is_in_the_table() -> None:
    from hearth import cli

    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", cli.__doc__ or "", re.M)}
    used = {*cli.STATUS_CODES.values(), cli.NOT_KNOWN_CODE, *(code for _, code in cli.ERROR_CODES), 2, 70, 130}
    assert used <= documented
