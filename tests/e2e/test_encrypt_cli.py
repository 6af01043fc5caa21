"""`hearth encrypt` and `hearth decrypt` as they are typed, and a home that works in between as before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hearth.storage import home_key
from tests import database_template
from tests.story import Hearth

WORDS = "four words of mine"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(home_key._SCRYPT, "n", 16)


def test_a_home_works_encrypted_as_it_does_plain(hearth: Hearth, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hearth("ask", "--yes", "remember that the heron nests at Berg 3").code == 0
    (home / "owner/documents").mkdir(exist_ok=True)
    (home / "owner/documents/birds.txt").write_text("the heron nests at Berg 3")
    refused = hearth("encrypt")
    assert (refused.code, "set HEARTH_NEW_PASSPHRASE, or pass --keyring" in refused.err) == (3, True)
    assert hearth("decrypt").err == f"hearth: {str(home)!r} is not encrypted; `hearth encrypt` does that\n"
    assert "the home is not encrypted" in hearth("doctor").out

    monkeypatch.setenv("HEARTH_NEW_PASSPHRASE", WORDS)
    done = hearth("encrypt", "--files")
    assert done.code == 0, done.err
    assert "is encrypted: the database and 1 file." in done.out
    assert "Recovery code, shown this once: " in done.out
    assert b"heron" not in (home / "hearth.db").read_bytes()

    home_key.forget(home)
    locked = hearth("ask", "what do you remember about the heron")
    assert (locked.code, "is encrypted, and nobody can be asked for its passphrase here" in locked.err) == (74, True)
    monkeypatch.setenv("HEARTH_HOME_PASSPHRASE", "not these words")
    assert "the passphrase is wrong" in hearth("ask", "what is 2 + 3").err
    monkeypatch.setenv("HEARTH_HOME_PASSPHRASE", WORDS)
    with database_template.migrating():
        assert "Berg 3" in hearth("ask", "what do you remember about the heron").out
        assert hearth("ask", "--yes", "take a note: the boiler was serviced").code == 0
        (note,) = (home / "owner/notes").glob("*.md")
        assert note.read_bytes().startswith(b"age-encryption.org/v1")
        assert "boiler was serviced" in hearth("ask", "what did I write down about the boiler").out
        assert "database and your folder; opened by passphrase, recovery code" in hearth("doctor").out
        assert hearth("undo").code == 0
        assert not note.exists()

        again = hearth("encrypt", "--json")
        assert json.loads(again.out)["is_database_turned"] is False
        assert hearth("encrypt", "--new-key").code == 0
        back = hearth("decrypt")
        assert (back.code, "is plain: the database" in back.out) == (0, True)
    monkeypatch.delenv("HEARTH_HOME_PASSPHRASE")
    assert "Berg 3" in hearth("ask", "what do you remember about the heron").out
    assert hearth("encrypt", "--new-key").code == 3
