"""What the doctor says of the owner's things: what is read, what is not, and why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hearth.doctor import MAX_NAMED_EACH, examine
from hearth.memory.search.passage_store import PassageStore
from hearth.storage.database import Store


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "owner/documents").mkdir(parents=True)
    (tmp_path / "hearth.toml").write_text('[owner]\ntime_zone = "UTC"\n')
    Store.open(tmp_path / "hearth.db").close()
    return tmp_path


def things(home: Path) -> str:
    return next(one.says for one in examine(home, {}) if one.part == "things")


def test_what_is_passed_by_is_named_and_what_is_read_is_not(home: Path) -> None:
    (home / "owner/documents/lease.txt").write_text("two months")
    (home / "owner/documents/inside.txt").symlink_to("lease.txt")
    assert "not looked at" not in things(home)
    (home / "owner/documents/house").symlink_to("/usr/share")
    os.mkfifo(home / "owner/documents/pipe")
    assert things(home).endswith(
        "; not looked at: documents/house (a symbolic link that leads out of the home; put a copy here instead); "
        "documents/pipe (a pipe)"
    )


def test_files_of_one_reason_are_named_together(home: Path) -> None:
    with Store.open(home / "hearth.db") as store:
        passages = PassageStore(store, None)
        for n in range(MAX_NAMED_EACH + 2):
            passages.put(f"mail/cur/{n}", "x", (), "pictures")
        passages.put("documents/a.pdf", "x", (), "it is encrypted")
    said = things(home)
    assert "documents/a.pdf (it is encrypted); mail/cur/0, mail/cur/1" in said
    assert said.endswith("mail/cur/4 and 2 more (pictures)")
