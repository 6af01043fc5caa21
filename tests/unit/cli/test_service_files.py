"""What starts Hearth with the machine, with paths as people have them."""

from __future__ import annotations

import json
import plistlib
import re
from pathlib import Path

import pytest
import yaml

from hearth.cli.up_command import service_file
from hearth.errors import ConfigError

ODD = ["/home/mira/hearth", "/home/Mira & Jo/my 100% home", '/srv/a"b\\c', "/srv/$HOME/%h {x}", "/srv/ünï <b>"]
COMMAND = "/opt/my tools/hearth"


def read_by_systemd(text: str) -> list[str]:
    """Split ExecStart as systemd.syntax(7) says, for what we write: quoted words and bare ones."""
    line = next(line for line in text.splitlines() if line.startswith("ExecStart=")).removeprefix("ExecStart=")
    words = [m[1] if m[1] is not None else m[2] for m in re.finditer(r'"((?:[^"\\]|\\.)*)"|(\S+)', line)]
    return [re.sub(r"\\(.)", r"\1", word).replace("%%", "%").replace("$$", "$") for word in words]


@pytest.mark.parametrize("home", ODD)
def test_each_form_gives_the_path_back(home: str) -> None:
    unit, _ = service_file("systemd", COMMAND, Path(home))
    assert read_by_systemd(unit) == [COMMAND, "--home", home, "up"]
    plist, _ = service_file("launchd", COMMAND, Path(home))
    assert plistlib.loads(plist.encode())["ProgramArguments"] == [COMMAND, "--home", home, "up"]
    compose, _ = service_file("compose", COMMAND, Path(home))
    service = yaml.safe_load(compose)["services"]["hearth"]
    assert service["volumes"][0]["source"].replace("$$", "$") == home
    assert service["ports"] == ["127.0.0.1:8470:8470"]
    assert json.dumps(service)


def test_a_line_break_in_a_path_is_refused() -> None:
    with pytest.raises(ConfigError, match="control character"):
        service_file("systemd", COMMAND, Path("/srv/a\nExecStart=/bin/sh"))
