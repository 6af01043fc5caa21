"""Tools and other parts from installed packages, and tools from files in the home folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from hearth import registry, tool
from hearth.errors import HearthError, MissingExtraError, NotFound, RegistryError
from hearth.registry import (
    COMMANDS,
    COMPANION_TOOLS,
    COMPANIONS,
    ENTITIES,
    HOLDERS,
    TOOLS,
    Installed,
    Part,
    blamed,
    companion_faults,
    half_installed,
    load_parts,
    load_tools,
    missing_companion,
    part_names,
    third_party,
    version_of,
)
from hearth.version import __version__
from tests.plug_ins import Points, installed_in

LAMP = '''
import hearth

@hearth.tool(effect="change")
def switch_lamp(on: bool) -> str:
    """Switch the lamp on or off."""
    return "on" if on else "off"
'''


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tools").mkdir()
    monkeypatch.setattr(registry, "installed", Installed)
    return tmp_path


def plug_in(home: Path, name: str, text: str) -> Path:
    path = home / "tools" / name
    path.write_text(text)
    path.chmod(0o644)
    return path


def test_a_file_in_the_home_folder_becomes_a_tool(home: Path) -> None:
    path = plug_in(home, "lamp.py", LAMP)
    tools = load_tools(home)
    assert list(tools.specs) == ["switch_lamp"]
    assert tools.origin["switch_lamp"] == str(path)
    assert tools.faults == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1/0", "ZeroDivisionError: division by zero; mend or remove the file"),
        ("def", "SyntaxError"),
        ("x = 1", "no tool in it; put `@hearth.tool"),
        ("import sys; sys.exit(0)", "SystemExit: 0; mend or remove the file"),
        ("class T:\n  spec = None\n  def call(self): 0\n  def undo(self): 0\nt = T()", "is None; expected a ToolSpec"),
        (LAMP.replace("switch_lamp", "Lamp"), "tool name 'Lamp' is not lower-case"),
        ('import hearth\n@hearth.tool()\ndef f(a):\n  "Doc."\n', "'a' of tool 'f' has no type"),
    ],
)
def test_a_broken_file_is_named_and_the_others_work(home: Path, text: str, message: str) -> None:
    plug_in(home, "broken.py", text)
    plug_in(home, "lamp.py", LAMP)
    tools = load_tools(home)
    assert list(tools.specs) == ["switch_lamp"]
    assert message in tools.faults[0]
    assert "broken.py" in tools.faults[0]


def test_a_file_may_hold_records_with_postponed_annotations(home: Path) -> None:
    (home / "tools" / "seeds.py").write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "import hearth\n"
        "@dataclass(frozen=True, slots=True)\n"
        "class Seed:\n    name: str\n"
        "@hearth.tool()\n"
        'def buy_seed(name: str) -> Seed:\n    """Buy.\n\n    Args:\n        name: Which.\n    """\n    return Seed(name)\n'
    )
    tools = load_tools(home)
    assert tools.faults == ()
    assert tools.specs["buy_seed"].fields == {"name": "text"}


def test_a_file_others_can_write_is_not_run(home: Path) -> None:
    plug_in(home, "lamp.py", LAMP).chmod(0o666)
    tools = load_tools(home)
    assert tools.specs == {}
    assert "others can write this file, so it is not run" in tools.faults[0]


def test_two_tools_of_one_name(home: Path) -> None:
    plug_in(home, "a.py", LAMP)
    plug_in(home, "b.py", LAMP)
    tools = load_tools(home)
    assert "tool 'switch_lamp' exists already (from " in tools.faults[0]
    assert tools.origin["switch_lamp"].endswith("a.py")


def test_an_entry_point_that_fails_is_left_out(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = EntryPoint("bad", "no_such_module:TOOLS", TOOLS)
    wrong = EntryPoint("wrong", "hearth.types:OWNER", TOOLS)
    monkeypatch.setattr(registry, "installed", lambda: Installed((bad, wrong)))
    faults = "\n".join(load_tools(home).faults)
    assert "'bad' of no_such_module:TOOLS cannot be loaded: ModuleNotFoundError" in faults
    assert "is no tool; expected functions" in faults


def test_tools_handed_in_are_checked_too(home: Path) -> None:
    @tool()
    def echo(text: str) -> str:
        """Say it back."""
        return text

    assert load_tools(home, extra=[echo]).origin["echo"] == "given"
    with pytest.raises(RegistryError, match="exists already"):
        load_tools(home, extra=[echo, echo])


def test_what_is_no_plain_file_is_named_and_not_waited_for(home: Path) -> None:
    os.mkfifo(home / "tools" / "pipe.py")
    (home / "tools" / "gone.py").symlink_to(home / "nowhere")
    (home / "tools" / "folder.py").mkdir()
    plug_in(home, "lamp.py", LAMP)
    tools = load_tools(home)
    assert list(tools.specs) == ["switch_lamp"]
    folder, gone, pipe = tools.faults
    assert "folder.py: not a plain file; a plug-in is one Python file, so move it elsewhere" in folder
    assert "gone.py: cannot be read (No such file or directory); mend or remove it" in gone
    assert "pipe.py: not a plain file" in pipe


def test_nothing_is_run_from_a_folder_that_others_can_write(home: Path) -> None:
    plug_in(home, "lamp.py", LAMP)
    (home / "tools").chmod(0o777)
    tools = load_tools(home)
    assert tools.by_name == {}
    assert "others can put files here, so none is run; do `chmod go-w` on it" in tools.faults[0]


def test_no_package_takes_the_name_of_a_built_in(monkeypatch: pytest.MonkeyPatch) -> None:
    points = (
        EntryPoint("clock", "aaa.tools:TOOLS", "hearth.tools"),
        EntryPoint("clock", "hearth.tools.clock:TOOLS", "hearth.tools"),
    )
    monkeypatch.setattr(registry, "installed", lambda: Installed(points))
    tools = load_tools(None)
    assert tools.origin["current_time"] == "hearth.tools.clock:TOOLS"
    assert "'clock' of aaa.tools:TOOLS cannot be loaded" in tools.faults[0]


# ── Parts of installed distributions ──────────────────────────────────────────────────────────────────────


Put = Callable[..., Path]


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """Install a distribution beside those that are put already; nothing else is installed."""
    found: list[EntryPoint] = []
    monkeypatch.setattr(registry, "installed", lambda: Installed(tuple(found)))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))

    def install(points: Points, name: str = "acme", version: str = "1.0", **modules: str) -> Path:
        found.extend(installed_in(tmp_path / "site", points, name=name, version=version, modules=modules))
        for module in modules:
            monkeypatch.delitem(sys.modules, module, raising=False)
        return tmp_path / "site"

    return install


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise ValueError('one\\ntwo')", "ValueError: one"),
        ("raise ValueError", "ValueError: no message"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("import no_such_dependency", "ModuleNotFoundError: No module named 'no_such_dependency'"),
        ("class Odd(BaseException): pass\nraise Odd('x')", "Odd: x"),
        ("class Mute(Exception):\n  def __str__(self): return 1 / 0\nraise Mute", "Mute: no message"),
        ("def (", "SyntaxError"),
        ("", "AttributeError: module 'acme_part' has no attribute 'part'"),
        ("part = 7", "7 cannot be called; expected `entities(call)"),
    ],
)
def test_a_part_that_cannot_be_loaded_is_named_with_its_distribution_and_the_others_work(
    put: Put, text: str, said: str
) -> None:
    put({ENTITIES: {"bad": "acme_part:part"}}, acme_part=text)
    put({ENTITIES: {"good": "acme_good:part"}}, name="good", acme_good="def part(call): return ()")
    parts = load_parts(ENTITIES)
    assert [part.name for part in parts.loaded] == ["good"]
    (fault,) = parts.faults
    assert said in fault
    assert "acme 1.0 (acme_part:part)" in fault
    assert fault.endswith(("; install it anew or remove it", "; update or uninstall the plug-in"))


def test_ctrl_c_while_a_part_is_loaded_stops(put: Put) -> None:
    put({ENTITIES: {"slow": "acme_slow:part"}}, acme_slow="raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        load_parts(ENTITIES)


def test_what_a_part_prints_while_it_is_loaded_is_no_answer(put: Put, capsys: pytest.CaptureFixture[str]) -> None:
    put({ENTITIES: {"loud": "acme_loud:part"}}, acme_loud="print('hello')\ndef part(call): return ()")
    assert load_parts(ENTITIES).faults == ()
    assert capsys.readouterr() == ("", "hello\n")


def test_of_two_parts_of_one_name_the_second_is_not_even_imported(put: Put) -> None:
    put({ENTITIES: {"people": "acme_a:part"}}, name="a", acme_a="def part(call): return ()")
    put({ENTITIES: {"people": "acme_b:part"}}, name="b", acme_b="raise AssertionError")
    parts = load_parts(ENTITIES)
    assert [part.origin for part in parts.loaded] == ["a 1.0 (acme_a:part)"]
    assert parts.faults == (
        "b 1.0 (acme_b:part): hearth.entities 'people' exists already (from a 1.0 (acme_a:part)); uninstall one of "
        "the two",
    )
    assert "acme_b" not in sys.modules


def test_a_companion_of_another_version_is_not_imported_and_says_how_to_bring_both_to_one(put: Put) -> None:
    points = {ENTITIES: {"a": "hearth_home:a", "b": "hearth_home:b"}}
    put(points, name="hearth-home", version="0.0.1")
    parts = load_parts(ENTITIES)
    assert parts.loaded == ()
    assert parts.faults == (
        f"hearth-home 0.0.1 does not go with hearth-agent {__version__}; bring both to one version: "
        "`pip install --upgrade hearth-agent hearth-home`",
    )


def test_a_companion_is_known_by_its_package_whatever_its_record_says(put: Put) -> None:
    site = put({COMMANDS: {"devices": "hearth_home.cli.device_commands:devices"}}, name="Hearth_Home", version="0.0.1")
    registry._metadata.cache_clear()
    (site / "Hearth_Home-0.0.1.dist-info" / "METADATA").unlink()
    assert "hearth-home of an unknown version does not go with" in load_parts(COMMANDS).faults[0]


def test_a_distribution_without_metadata_is_named_by_its_module(put: Put) -> None:
    site = put({ENTITIES: {"bad": "acme_gone:part"}})
    registry._metadata.cache_clear()
    (site / "acme-1.0.dist-info" / "METADATA").unlink()
    assert load_parts(ENTITIES).faults[0].startswith("'bad' of acme_gone:part cannot be loaded")


@pytest.mark.companions
@pytest.mark.parametrize("text", [b"[hearth.holders]\nno value\n", b"[hearth.holders]\nx = \xff:x\n"])
def test_a_distribution_whose_record_cannot_be_read_is_named_and_takes_no_other_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes
) -> None:
    installed_in(tmp_path, {})
    (tmp_path / "acme-1.0.dist-info" / "entry_points.txt").write_bytes(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = registry.installed.__wrapped__()
    assert {"hearth-agent 0.2.0 (hearth.tools.clock:TOOLS)"} < {registry._origin(point) for point in found.points}
    (fault,) = found.faults
    assert fault.startswith("what acme 1.0 adds to Hearth, if anything, cannot be read: ")
    monkeypatch.setattr(registry, "installed", lambda: found)
    for group in (HOLDERS, COMMANDS, ENTITIES):
        assert load_parts(group).faults == (fault,), group
        assert load_parts(group).loaded, group
    assert load_tools(None).faults == (fault,)


@pytest.mark.parametrize(
    ("value", "said"), [("NUMBER", "1 is no click command"), ("function", "is no click command"), ("group", "")]
)
def test_a_command_is_a_click_command(put: Put, value: str, said: str) -> None:
    text = "import click\nNUMBER = 1\ndef function(): pass\ngroup = click.Group('x')"
    put({COMMANDS: {"x": f"acme_cli:{value}"}}, acme_cli=text)
    faults = load_parts(COMMANDS).faults
    assert bool(faults) == bool(said)
    assert said in "".join(faults)


def test_one_tool_that_is_refused_takes_no_other_of_its_plug_in_with_it(put: Put) -> None:
    text = "import hearth\n" + "".join(
        f'@hearth.tool()\ndef {name}() -> str:\n    """Say."""\n    return "x"\n' for name in ("one", "Two", "three")
    )
    put({TOOLS: {"acme": "acme_tools:TOOLS"}}, acme_tools=f"{text}TOOLS = (one, Two, three)")
    tools = load_tools(None)
    assert list(tools.by_name) == ["one", "three"]
    assert "acme 1.0 (acme_tools:TOOLS): tool name 'Two' is not lower-case" in tools.faults[0]


def test_a_tool_whose_description_raises_is_left_out(put: Put) -> None:
    text = "class Odd:\n  spec = property(lambda self: 1 / 0)\n  def call(self): 0\n  def undo(self): 0\nTOOL = Odd()"
    put({TOOLS: {"odd": "acme_odd:TOOL"}}, acme_odd=text)
    (fault,) = load_tools(None).faults
    assert fault.startswith("acme 1.0 (acme_odd:TOOL) failed: ZeroDivisionError")


def test_names_are_read_without_loading_anything(put: Put) -> None:
    put({COMMANDS: {"x": "acme_never:x", "edge.y": "acme_never:y"}}, acme_never="raise AssertionError")
    assert part_names(COMMANDS) == ("x", "edge.y")
    assert third_party(COMMANDS, "x") == "acme 1.0"
    assert "acme_never" not in sys.modules


def test_what_is_ours_is_no_third_partys(put: Put) -> None:
    put({COMMANDS: {"video": "hearth_video.cli.video_commands:video"}}, name="hearth-video", version=__version__)
    assert third_party(COMMANDS, "video") == ""


@pytest.mark.parametrize("raised", [ZeroDivisionError("x"), SystemExit(0), BaseException("x")])
def test_what_a_part_raises_when_it_is_called_is_told_of_it(raised: BaseException) -> None:
    def fail() -> None:
        raise raised

    with pytest.raises(RegistryError, match=r"'odd' of acme 1.0 failed: .*; update it, or uninstall it"):
        Part("odd", fail, "acme 1.0").invoke()


@pytest.mark.parametrize("raised", [NotFound("no such"), KeyboardInterrupt()])
def test_what_a_part_says_itself_and_ctrl_c_pass(raised: BaseException) -> None:
    def fail() -> None:
        raise raised

    with pytest.raises(type(raised)):
        Part("odd", fail, "acme 1.0").invoke()


def test_what_the_caller_names_passes_too() -> None:
    with pytest.raises(OSError, match="full"), blamed("it", OSError):
        raise OSError("full")


# ── Companions ────────────────────────────────────────────────────────────────────────────────────────────


def installed_versions(monkeypatch: pytest.MonkeyPatch, versions: Mapping[str, str]) -> None:
    monkeypatch.setattr(registry, "version_of", lambda name: versions.get(name, ""))


def test_an_absent_companions_command_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    installed_versions(monkeypatch, {})
    found = missing_companion("edge.point")
    assert isinstance(found, MissingExtraError)
    assert str(found) == (
        "`hearth edge point`, a command of hearth-home, needs a part that is not installed; install it with: "
        "pip install 'hearth-home[mqtt]'"
    )
    assert missing_companion("no-such-command") is None


def test_a_companion_that_is_there_without_its_command_is_not_said_to_be_absent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed_versions(monkeypatch, {"hearth-bench": "0.2.0"})
    found: HearthError | None = missing_companion("bench")
    assert isinstance(found, RegistryError)
    assert str(found).startswith("hearth-bench 0.2.0 is installed, but has no `hearth bench`; do `pip install")


@pytest.mark.companions
def test_companions_of_another_version_or_without_what_they_need_are_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = {"hearth-agent": __version__, "hearth-cloud": __version__, "hearth-video": "0.0.1", "alembic": "1"}
    installed_versions(monkeypatch, everything)
    faults = companion_faults()
    assert any(fault.startswith("hearth-video 0.0.1 does not go with") for fault in faults)
    assert any(fault.startswith(f"hearth-cloud {__version__} lacks 'fastapi', ") for fault in faults)
    assert len(faults) == 2


def test_here_every_companion_is_whole() -> None:
    assert companion_faults() == ()
    assert version_of("hearth-agent") == __version__
    assert version_of("no-such-distribution") == ""


def test_a_missing_dependency_is_answered_with_the_command_that_brings_it(put: Put) -> None:
    put({COMMANDS: {"cloud": "hearth_cloud.cli:cloud"}}, name="hearth-cloud", version=__version__)
    said = str(half_installed(COMMANDS, "cloud", ModuleNotFoundError("No module named 'fastapi'")))
    assert said == (
        f"'cloud' of hearth-cloud {__version__} (hearth_cloud.cli:cloud) cannot run: ModuleNotFoundError: No module "
        "named 'fastapi'; do `pip install hearth-cloud`, or uninstall it"
    )


@pytest.mark.companions
def test_the_companions_bring_the_commands_and_tools_that_are_known_of_them() -> None:
    tools = load_tools(None)
    brought = {name for name, origin in tools.origin.items() if origin.split()[0] in COMPANIONS}
    assert brought == COMPANION_TOOLS
    assert {name for names in COMPANIONS.values() for name in names} == set(part_names(COMMANDS))
