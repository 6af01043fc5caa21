"""A home and its plug-ins belong to their owner alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hearth.agent import make_home
from hearth.doctor import examine
from hearth.permissions import openings, replaceable_at
from hearth.registry import load_tools
from hearth.storage.database import Store

PLUG_IN = 'import hearth\n\n\n@hearth.tool()\ndef hum(call: hearth.CallContext) -> str:\n    """Hum a tune."""\n    return "hm"\n'
OWNER = {"name": "Mira", "email": "", "time_zone": "", "country": ""}


def test_a_home_made_in_an_open_folder_is_closed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o777)
    make_home(home, OWNER)
    assert home.stat().st_mode & 0o777 == 0o700
    assert (home / "hearth.toml").stat().st_mode & 0o077 == 0
    assert openings(home) == ()


@pytest.mark.parametrize(("mode", "can"), [(0o777, "change"), (0o755, "read"), (0o750, "read"), (0o770, "change")])
def test_doctor_says_what_others_can_do_with_a_home(tmp_path: Path, mode: int, can: str) -> None:
    home = tmp_path / "home"
    make_home(home, OWNER)
    assert next(one for one in examine(home, os.environ) if one.part == "home").is_ok
    home.chmod(mode)
    finding = next(one for one in examine(home, os.environ) if one.part == "home")
    assert not finding.is_ok
    assert finding.says == f"others can {can} what is in {home}; do `chmod 700 {home}`"


def test_a_home_below_a_folder_that_everybody_may_write_can_be_replaced(tmp_path: Path) -> None:
    make_home(tmp_path / "open" / "home", OWNER)
    (tmp_path / "open").chmod(0o777)
    assert "others can put another home in its place" in openings(tmp_path / "open" / "home")[0]
    (tmp_path / "open").chmod(0o1777)  # like /tmp: only the owner may rename it
    assert openings(tmp_path / "open" / "home") == ()


def test_a_plug_in_linked_from_a_folder_that_everybody_may_write_is_not_run(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    make_home(home, OWNER)
    elsewhere.mkdir()
    (elsewhere / "hum.py").write_text(PLUG_IN)
    (home / "tools" / "hum.py").symlink_to(elsewhere / "hum.py")
    assert "hum" in load_tools(home).by_name
    elsewhere.chmod(0o777)
    loaded = load_tools(home)
    assert "hum" not in loaded.by_name
    assert any(f"because they may write {elsewhere}" in fault for fault in loaded.faults)
    elsewhere.chmod(0o755)
    assert replaceable_at(home / "tools" / "hum.py") == ""


def test_what_the_command_writes_is_nobody_elses(tmp_path: Path) -> None:
    """Others who may write the cache could put a model of theirs in it."""
    program = (
        "import os, sys; os.umask(0); sys.argv = ['hearth', '--version']\n"
        "from hearth.cli import main\n"
        "try: main()\n"
        "except SystemExit: os.mkdir(sys.path[0] or 'made')"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o700


def test_doctor_names_a_rule_about_a_file_that_is_not_there(tmp_path: Path) -> None:
    home = tmp_path / "home"
    make_home(home, OWNER)
    rule = '[[rule]]\nname = "kept"\ntools = ["delete_file"]\nwhen.path = { one_of = ["will.txt"] }\nruling = "deny"\n'
    with (home / "hearth.toml").open("a") as file:
        file.write(f"\n{rule}")
    Store.open(home / "hearth.db").close()
    finding = next(one for one in examine(home, os.environ) if one.part == "policy")
    assert finding.says == (
        "rule 'kept' names path 'will.txt', which is not there; mend it in hearth.toml, or take it out"
    )
    (home / "owner" / "documents" / "will.txt").write_text("x")
    assert next(one for one in examine(home, os.environ) if one.part == "policy").is_ok


def test_doctor_names_a_rule_about_an_event_that_is_not_there(tmp_path: Path) -> None:
    home = tmp_path / "home"
    make_home(home, OWNER)
    rule = '[[rule]]\nname = "kept"\ntools = ["cancel_event"]\nwhen.event = { one_of = ["Dentist"] }\nruling = "deny"\n'
    with (home / "hearth.toml").open("a") as file:
        file.write(f"\n{rule}")
    Store.open(home / "hearth.db").close()
    finding = next(one for one in examine(home, os.environ) if one.part == "policy")
    assert "rule 'kept' names event 'Dentist', which no event is called" in finding.says
    (home / "owner" / "calendar").mkdir(exist_ok=True)
    event = (
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nSUMMARY:dentist\nDTSTART:20261201T100000Z\nEND:VEVENT\nEND:VCALENDAR\n"
    )
    (home / "owner" / "calendar" / "a.ics").write_text(event)
    assert next(one for one in examine(home, os.environ) if one.part == "policy").is_ok


def test_doctor_names_a_rule_about_a_contact_that_is_not_there(tmp_path: Path) -> None:
    home = tmp_path / "home"
    make_home(home, OWNER)
    rule = '[[rule]]\ntools = ["delete_contact"]\nwhen.contact = { one_of = ["Anna Berg", "mum"] }\nruling = "deny"\n'
    with (home / "hearth.toml").open("a") as file:
        file.write(f"\n{rule}")
    Store.open(home / "hearth.db").close()
    finding = next(one for one in examine(home, os.environ) if one.part == "policy")
    assert "names contact 'Anna Berg', which no contact is called" in finding.says
    (home / "owner" / "contacts").mkdir(exist_ok=True)
    card = "BEGIN:VCARD\nVERSION:3.0\nUID:1\nFN:anna berg\nNICKNAME:Mum\nEND:VCARD\n"
    (home / "owner" / "contacts" / "a.vcf").write_text(card)
    assert next(one for one in examine(home, os.environ) if one.part == "policy").is_ok
