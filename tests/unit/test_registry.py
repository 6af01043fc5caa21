"""Tools from installed packages and from files in the home folder."""

from __future__ import annotations

import os
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from hearth import registry, tool
from hearth.errors import RegistryError
from hearth.registry import load_tools

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
    monkeypatch.setattr(registry, "entry_points", lambda group: ())
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
    bad = EntryPoint("bad", "no_such_module:TOOLS", registry.TOOLS)
    wrong = EntryPoint("wrong", "hearth.types:OWNER", registry.TOOLS)
    monkeypatch.setattr(registry, "entry_points", lambda group: (bad, wrong))
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
    monkeypatch.setattr(registry, "entry_points", lambda group: points)
    tools = load_tools(None)
    assert tools.origin["current_time"] == "clock (hearth.tools.clock:TOOLS)"
    assert "'clock' of aaa.tools:TOOLS cannot be loaded" in tools.faults[0]
