"""What the doctor says of the owner's things: what is read, what is not, and why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hearth.doctor import MAX_NAMED_EACH, examine
from hearth.memory.search.passage_store import NewPassage, PassageStore
from hearth.storage.database import Store
from hearth.testing import HashEncoder


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


def test_what_is_found_by_its_words_alone_is_counted(home: Path) -> None:
    with Store.open(home / "hearth.db") as store:
        passages = PassageStore(store, HashEncoder(384))
        for n in range(3):
            passages.put(f"notes/{n}", "x", [NewPassage(str(n), "note", "file", "", "", None, f"The code is {n}.")])
        next(passages.embed(1))
        assert things(home) == "3 notes, in 3 passages, 2 of them found by their words alone until `hearth memory tend`"
        list(passages.embed())
    assert things(home) == "3 notes, in 3 passages"


def test_files_of_one_reason_are_named_together(home: Path) -> None:
    with Store.open(home / "hearth.db") as store:
        passages = PassageStore(store, None)
        for n in range(MAX_NAMED_EACH + 2):
            passages.put(f"mail/cur/{n}", "x", (), "pictures")
        passages.put("documents/a.pdf", "x", (), "it is encrypted")
    said = things(home)
    assert "documents/a.pdf (it is encrypted); mail/cur/0, mail/cur/1" in said
    assert said.endswith("mail/cur/4 and 2 more (pictures)")


def test_what_is_read_is_counted_by_kind_and_in_passages(home: Path) -> None:
    assert things(home).startswith("nothing is read yet; ")
    records = [
        ("mail", "1"),
        ("mail", "1"),
        ("mail", "2"),
        ("note", "wifi"),
        ("document", "lease"),
        ("document", "tax"),
    ]
    with Store.open(home / "hearth.db") as store:
        passages = PassageStore(store, None)
        passages.put("documents/a.pdf", "x", (), "it is encrypted")
        assert things(home) == "nothing could be read; not read: documents/a.pdf (it is encrypted)"
        passages.drop(["documents/a.pdf"])
        for n, (kind, record) in enumerate(records):
            passages.put(f"{kind}/{n}", "x", [NewPassage(record, kind, "file", "", "", None, f"text {n}")])
    counted = "2 mails, 1 note and 2 documents, in 6 passages"
    assert things(home) == f"{counted}, 6 of them found by their words alone until `hearth memory tend`"


def test_what_lies_beside_the_folders_is_named_and_can_be_brought_in(home: Path) -> None:
    (home / "owner/Takeout.zip").write_bytes(b"PK\x03\x04")
    (home / "owner/Local Folders").mkdir()
    (home / "owner/Local Folders/Inbox").write_text("From - Mon Nov 23 08:00:00 2026\nSubject: x\n\nHi\n")
    (home / "owner/program.bin").write_bytes(b"\x7fELF")
    assert things(home) == (
        "nothing is read yet; the first question about your own things reads them; not read: "
        "Local Folders (a folder with what can be read; bring it in with `hearth import PATH`, then move it out of the "
        "home); Takeout.zip (an archive; bring it in with `hearth import PATH`, then move it out of the home)"
    )
