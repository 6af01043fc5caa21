"""A home under a key: nothing of it is readable on the disk, every way to open it works, and no kill loses anything.

Run as a script, this file is the harness of the kills: a forked child encrypts, changes the key or decrypts, and is
killed at its n-th step (a call into the system or a statement), for every `EACH`th n until one runs through; what it
left is opened, read, finished, and read again.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keyring.backend
import keyring.errors
import pytest

from hearth.config.setting_tables import KEY_FILE
from hearth.doctor import examine, repair_store
from hearth.errors import (
    HomeBusyError,
    HomeKeyError,
    RequestError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreLockedError,
)
from hearth.learning import unlearning
from hearth.memory.transfer.backup import Lock, backup, new_key, restore
from hearth.storage import database, encryption, home_key
from hearth.storage.database import HomeLock, Store, is_plain, opened_bytes, pieces, sealed_bytes
from hearth.storage.fault_log import note_fault
from hearth.storage.workspace import Folder
from tests import database_template

EACH = 6
"""Every moment is tried with 1, which takes a minute."""
WORDS = "four words of mine"
SECRET = "the heron nests at Berg 3"
LEARNT = "learned/student-1/student.npz"
FILES = {"notes/heron.md": f"# Heron\n\n{SECRET}\n".encode(), "documents/large.bin": SECRET.encode() * 20_000}


class Kept(keyring.backend.KeyringBackend):
    """A keyring that keeps what it is given."""

    priority = 1.0

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.entries[service, username]


class Absent(Kept):
    """No keyring."""

    def get_password(self, service: str, username: str) -> str | None:
        raise keyring.errors.NoKeyringError("No recommended backend was available. Install one.")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise keyring.errors.NoKeyringError("No recommended backend was available. Install one.")


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    """A quick passphrase function, no keyring but one's own, and databases that are migrated as they are opened."""
    monkeypatch.setitem(home_key._SCRYPT, "n", 16)
    monkeypatch.setenv(home_key.PASSPHRASE, WORDS)
    before, found = keyring.get_keyring(), Kept()
    keyring.set_keyring(found)
    with database_template.migrating():
        yield found
    keyring.set_keyring(before)


def made(home: Path) -> Path:
    """A home with something in its database, its folder and its journal."""
    with Store.open(home / "hearth.db") as store:
        folder = Folder(home / "owner", store)
        for path, data in FILES.items():
            folder.write("k1", path, data)
        folder.write("k2", "documents/large.bin", b"small")  # the large one goes to the journal's folder
        with store.transaction() as cursor:
            for number in range(200):
                cursor.execute("INSERT INTO meta VALUES (?, ?)", (f"n{number}", f"{SECRET} {number}"))
    (home / LEARNT).parent.mkdir(parents=True)
    (home / LEARNT).write_bytes(SECRET.encode())
    return home


def check(home: Path) -> None:
    """Everything is there and readable."""
    home_key.forget(home)
    with Store.open(home / "hearth.db") as store:
        assert store.query("SELECT count(*) FROM meta WHERE value LIKE ?", (f"{SECRET}%",))[0][0] == 200
        assert store.query("PRAGMA integrity_check(1)")[0][0] == "ok"
        folder = Folder(home / "owner", store)
        call = folder.for_call("")
        assert call.read("notes/heron.md") == FILES["notes/heron.md"]
        assert call.read("documents/large.bin") == b"small"
        assert call.list() == ("documents/large.bin", "notes/heron.md")
        kept = b"".join(folder._kept(store.query("SELECT * FROM journal WHERE key='k2'")[0]))
        assert kept == FILES["documents/large.bin"]
    assert opened_bytes(home / LEARNT) == SECRET.encode()


def readable(home: Path) -> list[str]:
    """The files of a home in which the secret words stand."""
    return [
        str(p.relative_to(home)) for p in sorted(home.rglob("*")) if p.is_file() and SECRET.encode() in p.read_bytes()
    ]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return made(tmp_path / "home")


# ── There and back ────────────────────────────────────────────────────────────────────────────────────────


def test_a_plain_database_in_the_place_of_the_encrypted_one_is_refused(home: Path, tmp_path: Path) -> None:
    encryption.encrypt(home, WORDS, with_files=True)
    other = made(tmp_path / "other")
    shutil.copy(other / "hearth.db", home / "hearth.db")
    planted = (home / "hearth.db").read_bytes()
    for attempt in (lambda: Store.open(home / "hearth.db"), lambda: encryption.finish(home)):
        with pytest.raises(HomeKeyError, match="another database was put in its place"):
            attempt()
    assert (home / "hearth.db").read_bytes() == planted


def test_the_key_file_cannot_be_told_that_a_home_is_being_turned(home: Path) -> None:
    """What allows a plain database for a while is sealed; a file of version 0.2 does not say it and is believed."""
    encryption.encrypt(home, WORDS, with_files=True)
    said = (home / KEY_FILE).read_text()
    for before, after in (('"is_turning": false', '"is_turning": true'), ('"is_on": true', '"is_on": false')):
        assert before in said
        (home / KEY_FILE).write_text(said.replace(before, after))
        home_key.forget(home)
        with pytest.raises(HomeKeyError, match="is not the one it was"):
            home_key.home_key(home)
    (home / KEY_FILE).write_text(said)
    check(home)


def test_nothing_is_readable_on_the_disk_and_everything_to_hearth(home: Path) -> None:
    assert len(readable(home)) >= 3
    turned = encryption.encrypt(home, WORDS, with_files=True)
    assert (turned.is_database_turned, turned.n_files) == (True, 4)
    assert readable(home) == []
    assert not is_plain(home / "hearth.db")
    check(home)
    assert (home / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert sorted(p.name for p in home.iterdir()) == [
        *("hearth.db", "hearth.lock", "journal", KEY_FILE, "learned", "owner"),
    ]


def test_and_back(home: Path) -> None:
    times = {p: p.stat().st_mtime_ns for p in (home / "owner").rglob("*") if p.is_file()}
    encryption.encrypt(home, WORDS, with_files=True)
    encryption.decrypt(home)
    assert is_plain(home / "hearth.db")
    assert not (home / KEY_FILE).exists()
    assert {p: p.stat().st_mtime_ns for p in (home / "owner").rglob("*") if p.is_file()} == times
    assert (home / "owner/notes/heron.md").read_bytes() == FILES["notes/heron.md"]
    check(home)


def test_the_database_alone(home: Path) -> None:
    encryption.encrypt(home, WORDS, with_files=False)
    assert all(name.startswith(("owner/", "journal/")) for name in readable(home))
    check(home)
    assert encryption.set_files(home, with_files=True).n_files == 3
    assert readable(home) == []
    check(home)
    assert encryption.set_files(home, with_files=False).n_files == 3
    check(home)


def test_what_is_learnt_is_encrypted_whatever_is_chosen_for_the_folder(home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "state" / LEARNT
    elsewhere.parent.mkdir(parents=True)
    assert sealed_bytes(elsewhere, b"weights") == sealed_bytes(home / LEARNT, b"weights") == b"weights"
    encryption.encrypt(home, WORDS, with_files=False)
    sealed = sealed_bytes(home / LEARNT, b"weights")
    assert b"weights" not in sealed
    (home / LEARNT).write_bytes(sealed)
    assert opened_bytes(home / LEARNT) == b"weights"
    assert sealed_bytes(elsewhere, b"weights") == b"weights"  # a state elsewhere belongs to no home
    encryption.decrypt(home)
    assert (home / LEARNT).read_bytes() == opened_bytes(home / LEARNT) == b"weights"


def test_doctor_names_what_is_plain_beside_the_database(home: Path) -> None:
    encryption.encrypt(home, WORDS, with_files=True)
    said = encryption.plain_beside(home, with_files=True)
    assert said == ()
    for name in ("hearth.toml", "edge/token", "learned/adapters/1/adapter.safetensors"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("x")
    assert encryption.plain_beside(home, with_files=True) == ("edge/", "hearth.toml", "learned/")
    assert encryption.plain_beside(home, with_files=False) == ("edge/", "hearth.toml", "journal/", "learned/", "owner/")
    (found,) = [one.says for one in examine(home, os.environ) if one.part == "encryption"]
    assert "plain beside it: edge/, hearth.toml, learned/" in found


def test_a_fault_is_noted_in_an_encrypted_home_without_what_it_says(home: Path) -> None:
    def failed() -> str:
        try:
            try:
                raise KeyError(SECRET)
            except KeyError as error:
                raise ValueError(SECRET) from error
        except ValueError as error:
            return note_fault(home, error)

    failed()
    assert SECRET in (home / "faults.txt").read_text()  # the file is the owner's alone
    (home / "faults.txt").unlink()
    encryption.encrypt(home, WORDS, with_files=True)
    assert SECRET in failed()
    kept = (home / "faults.txt").read_text()
    assert SECRET not in kept
    assert kept.index("KeyError") > kept.index("ValueError") > kept.index("in failed")


# ── Locks of SQLite ───────────────────────────────────────────────────────────────────────────────────────


def _is_writable_elsewhere(home: Path) -> bool:
    """Whether another process can write into the database now."""
    code = (
        "import sys; from pathlib import Path; from hearth.storage import home_key\n"
        "from hearth.storage.database import connect\n"
        "home_key._SCRYPT['n'] = 16\n"
        "connection = connect(Path(sys.argv[1]), timeout_s=0.0)\n"
        "connection.execute('BEGIN IMMEDIATE')"
    )
    done = subprocess.run([sys.executable, "-c", code, str(home / "hearth.db")], capture_output=True, text=True)
    assert done.returncode == 0 or "locked" in done.stderr, done.stderr
    return done.returncode == 0


def _forget(home: Path, store: Store) -> None:
    assert unlearning._search(store, home, [b"nowhere at all"], [b"nowhere at all"])[0] > 1


@pytest.mark.parametrize("is_encrypted", [False, True])
@pytest.mark.parametrize(
    "look",
    [
        lambda home, _: [*pieces(home / "hearth.db"), *pieces(home / "hearth.db-shm")],
        lambda home, _: is_plain(home / "hearth.db"),
        lambda home, _: database._set_aside(home / "hearth.db"),
        _forget,
        lambda home, _: examine(home, os.environ),
        lambda home, _: backup(home, home.parent / "archive", Lock(key=new_key())),
    ],
    ids=["pieces", "is_plain", "set aside", "forget", "doctor", "backup"],
)
def test_whoever_reads_the_database_as_a_file_lets_no_lock_go(
    home: Path, *, is_encrypted: bool, look: Callable[[Path, Store], object]
) -> None:
    if is_encrypted:
        encryption.encrypt(home, WORDS, with_files=True)
    with Store.open(home / "hearth.db") as store, store.transaction() as cursor:
        cursor.execute("INSERT INTO meta VALUES ('mine', '1')")
        assert not _is_writable_elsewhere(home)
        look(home, store)
        assert not _is_writable_elsewhere(home)
    assert _is_writable_elsewhere(home)


def test_another_key_opens_it_and_the_old_one_no_more(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encryption.encrypt(home, WORDS, with_files=True)
    before, old_file = home_key.home_key(home), (home / KEY_FILE).read_bytes()
    encryption.change_key(home, "other words of mine")
    monkeypatch.setenv(home_key.PASSPHRASE, "other words of mine")
    check(home)
    after = home_key.home_key(home)
    assert not set(before.database + before.files) & set(after.database + after.files)
    (home / KEY_FILE).write_bytes(old_file)
    monkeypatch.setenv(home_key.PASSPHRASE, WORDS)
    home_key.forget(home)
    with pytest.raises(HomeKeyError, match="does not open"):
        Store.open(home / "hearth.db")


def test_undo_works_over_the_turning(home: Path) -> None:
    encryption.encrypt(home, WORDS, with_files=True)
    with Store.open(home / "hearth.db") as store:
        folder = Folder(home / "owner", store)
        assert folder.undo("k2") == ("documents/large.bin",)
        assert folder.for_call("").read("documents/large.bin") == FILES["documents/large.bin"]
        folder.write("k3", "notes/heron.md", b"other")
        folder.write("k3", "notes/heron.md", b"other")
        assert len(folder.changes("k3")) == 1
    assert SECRET not in (home / "owner/documents/large.bin").read_bytes().decode(errors="replace")
    encryption.decrypt(home)
    with Store.open(home / "hearth.db") as store:
        assert Folder(home / "owner", store).undo("k3") == ("notes/heron.md",)
    assert (home / "owner/notes/heron.md").read_bytes() == FILES["notes/heron.md"]


def test_files_that_came_in_plain_are_read_named_and_taken_in(home: Path) -> None:
    encryption.encrypt(home, WORDS, with_files=True)
    (home / "owner/notes/new.md").write_text("plain")
    with Store.open(home / "hearth.db") as store:
        assert Folder(home / "owner", store).for_call("").read("notes/new.md") == b"plain"
    said = {f.part: f for f in examine(home, os.environ)}["encryption"]
    assert (said.is_ok, "owner/notes/new.md" in said.says) == (False, True)
    assert encryption.finish(home).n_files == 1
    assert {f.part: f for f in examine(home, os.environ)}["encryption"].is_ok


def test_a_file_that_has_another_name_elsewhere_is_not_overwritten_there(home: Path, tmp_path: Path) -> None:
    os.link(home / "owner/notes/heron.md", tmp_path / "linked.md")
    os.link(home / "hearth.db", tmp_path / "linked.db")
    encryption.encrypt(home, WORDS, with_files=True)
    assert (tmp_path / "linked.md").read_bytes() == FILES["notes/heron.md"]
    assert (tmp_path / "linked.db").read_bytes()[:6] == b"SQLite"


def test_read_only_files_keep_their_mode_and_links_are_left(home: Path) -> None:
    (home / "owner/notes/heron.md").chmod(0o400)
    (home / "owner/notes/link.md").symlink_to("heron.md")
    encryption.encrypt(home, WORDS, with_files=True)
    assert (home / "owner/notes/heron.md").stat().st_mode & 0o777 == 0o400
    assert (home / "owner/notes/link.md").is_symlink()


def test_what_was_changed_on_the_disk_is_said(home: Path) -> None:
    encryption.encrypt(home, WORDS, with_files=True)
    file = home / "owner/notes/heron.md"
    raw = bytearray(file.read_bytes())
    raw[-1] ^= 1
    file.write_bytes(bytes(raw))
    with Store.open(home / "hearth.db") as store, pytest.raises(Exception, match="cut off or changed"):
        Folder(home / "owner", store).for_call("").read("notes/heron.md")


def test_standard_age_opens_the_files(home: Path) -> None:
    import pyrage

    encryption.encrypt(home, WORDS, with_files=True)
    identity = pyrage.x25519.Identity.from_str(home_key.home_key(home).files[0])
    assert pyrage.decrypt((home / "owner/notes/heron.md").read_bytes(), [identity]) == FILES["notes/heron.md"]


# ── The key ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("said", ["", "four words of min", "FOUR WORDS OF MINE", "\ud800", "x" * 10_000])
def test_a_wrong_passphrase_opens_nothing(home: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    encryption.encrypt(home, WORDS, with_files=False)
    home_key.forget(home)
    monkeypatch.setattr(os, "environ", {**os.environ, home_key.PASSPHRASE: said})
    with pytest.raises(HomeKeyError, match="the passphrase is wrong"):
        Store.open(home / "hearth.db")


def test_the_recovery_code_opens_it_however_it_is_typed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = encryption.encrypt(home, WORDS, with_files=False).recovery_code
    for said in (code, code.lower(), code.replace("-", " "), f" {code.replace('-', '')} "):
        home_key.forget(home)
        monkeypatch.setenv(home_key.PASSPHRASE, said)
        check(home)
    newer = encryption.change_key(home, WORDS).recovery_code
    assert newer != code
    home_key.forget(home)
    monkeypatch.setenv(home_key.PASSPHRASE, code)
    with pytest.raises(HomeKeyError):
        home_key.home_key(home)


def test_a_short_passphrase_is_refused_before_anything_is_done(home: Path) -> None:
    with pytest.raises(RequestError, match="has 5 characters"):
        encryption.encrypt(home, "short", with_files=True)
    assert not (home / KEY_FILE).exists()
    check(home)


def test_the_keyring_opens_it_without_a_word(home: Path, monkeypatch: pytest.MonkeyPatch, kept: Kept) -> None:
    monkeypatch.delenv(home_key.PASSPHRASE)
    encryption.encrypt(home, None, with_files=True)
    check(home)
    assert len(kept.entries) == 1
    encryption.decrypt(home)
    assert kept.entries == {}


def test_without_a_keyring_it_says_so_and_nothing_is_done(home: Path) -> None:
    keyring.set_keyring(Absent())
    with pytest.raises(RequestError, match="keeps nothing here \\(No recommended backend was available\\)"):
        encryption.encrypt(home, None, with_files=True)
    assert not (home / KEY_FILE).exists()


def test_a_lost_keyring_leaves_the_recovery_code(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = encryption.encrypt(home, None, with_files=True).recovery_code
    keyring.set_keyring(Absent())
    monkeypatch.setenv(home_key.PASSPHRASE, code)
    check(home)


def test_where_nobody_can_be_asked_it_says_what_to_do(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encryption.encrypt(home, WORDS, with_files=False)
    home_key.forget(home)
    monkeypatch.delenv(home_key.PASSPHRASE)
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(HomeKeyError, match="set HEARTH_HOME_PASSPHRASE"):
        Store.open(home / "hearth.db")


def test_at_a_terminal_it_asks_three_times(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encryption.encrypt(home, WORDS, with_files=False)
    home_key.forget(home)
    monkeypatch.delenv(home_key.PASSPHRASE)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    typed = iter(["wrong", "wrong again", WORDS])
    monkeypatch.setattr("getpass.getpass", lambda *_, **__: next(typed))
    Store.open(home / "hearth.db").close()
    assert next(typed, None) is None
    Store.open(home / "hearth.db").close()  # it asks once in a process


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "{}",
        lambda text: text.replace('"version": 1', '"version": 2'),
        lambda text: text.replace('"sealed": "', '"sealed": "AAAA'),
        lambda text: text.replace('"keys": "', '"keys": "AAAA'),
        lambda text: text.replace('"is_on"', '"is_off"'),
        lambda text: text + "x",
    ],
)
def test_a_damaged_key_file_is_said_and_loses_nothing(home: Path, damage: Any) -> None:
    encryption.encrypt(home, WORDS, with_files=True)
    path, whole = home / KEY_FILE, (home / KEY_FILE).read_text()
    path.write_text(damage(whole))
    home_key.forget(home)
    for attempt in (lambda: Store.open(home / "hearth.db"), lambda: encryption.decrypt(home)):
        with pytest.raises(HomeKeyError):
            attempt()
    path.write_text(whole)
    check(home)


def test_a_key_file_that_is_gone_is_said(home: Path) -> None:
    encryption.encrypt(home, WORDS, with_files=False)
    (home / KEY_FILE).unlink()
    with pytest.raises(StoreError) as caught:
        Store.open(home / "hearth.db")
    assert "key.json" in str(caught.value)


# ── The database behaves as a plain one ───────────────────────────────────────────────────────────────────


def test_an_encrypted_store_raises_what_a_plain_one_does(home: Path) -> None:
    encryption.encrypt(home, WORDS, with_files=False)
    with Store.open(home / "hearth.db") as store:
        with pytest.raises(StoreError, match="refused a statement"), store.transaction() as cursor:
            cursor.executemany("INSERT INTO meta VALUES (?, 'x')", [("kept not",), ("n1",)])
        assert store.query("SELECT * FROM meta WHERE name = 'kept not'") == []
        with pytest.raises(StoreError, match="no such table"):
            store.query("SELECT * FROM none_such")
        row = store.query("SELECT name, value FROM meta WHERE name = 'n1'")[0]
        assert (row["name"], dict(row)["value"], tuple(row)) == ("n1", f"{SECRET} 1", ("n1", f"{SECRET} 1"))
        with (
            Store.open(home / "hearth.db", busy_timeout_s=0.05) as other,
            store.transaction(),
            pytest.raises(StoreLockedError),
            other.transaction(),
        ):
            pass
        store.rewrite()
        store.erase_traces()


def test_its_log_is_encrypted_too(home: Path) -> None:
    encryption.encrypt(home, WORDS, with_files=True)
    with Store.open(home / "hearth.db") as store:
        with store.transaction() as cursor:
            cursor.execute("INSERT INTO meta VALUES ('again', ?)", (SECRET,))
        assert (home / "hearth.db-wal").stat().st_size > 0
        assert readable(home) == []


def test_a_damaged_page_is_noticed(home: Path) -> None:
    encryption.encrypt(home, WORDS, with_files=False)
    with (home / "hearth.db").open("r+b") as file:
        file.seek(-4096, os.SEEK_END)
        file.write(b"\0" * 4096)
    damaged = False
    try:
        with Store.open(home / "hearth.db") as store:
            damaged = store.query("PRAGMA integrity_check(1)")[0][0] != "ok"
    except StoreCorruptError:
        damaged = True
    assert damaged
    with pytest.raises(StoreCorruptError, match="restore a backup"):
        list(repair_store(home))


def test_a_backup_of_an_encrypted_home_is_restored_with_its_key(home: Path, tmp_path: Path) -> None:
    encryption.encrypt(home, WORDS, with_files=True)
    lock = Lock(key=new_key())
    backup(home, tmp_path / "a.tar", lock)
    restore(tmp_path / "a.tar", tmp_path / "again", lock)
    check(tmp_path / "again")
    assert readable(tmp_path / "again") == []


# ── In the way ────────────────────────────────────────────────────────────────────────────────────────────


def test_an_agent_at_work_is_left_alone(home: Path) -> None:
    with HomeLock(home), pytest.raises(HomeBusyError):
        encryption.encrypt(home, WORDS, with_files=True)
    assert not (home / KEY_FILE).exists()


def test_a_database_in_use_is_left_as_it_is_and_turned_over_later(home: Path) -> None:
    script = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('BEGIN'); "
    script += "c.execute('SELECT count(*) FROM meta').fetchone(); print('open', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", script, str(home / "hearth.db")]
    reader = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert reader.stdout is not None
    assert reader.stdout.readline() == b"open\n"
    with pytest.raises(StoreLockedError, match="another process has"):
        encryption.encrypt(home, WORDS, with_files=True)
    reader.communicate(timeout=60)
    check(home)
    said = {f.part: f for f in examine(home, os.environ)}["encryption"]
    assert (said.is_ok, "`hearth encrypt` finishes it" in said.says) == (False, True)
    encryption.finish(home)
    assert readable(home) == []
    check(home)


def test_a_full_disk_loses_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really = os.fsync

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("hearth.storage.encryption.os.fsync", full)
    with pytest.raises(StoreFullError):
        encryption.encrypt(home, WORDS, with_files=True)
    monkeypatch.setattr("hearth.storage.encryption.os.fsync", really)
    check(home)
    if (home / KEY_FILE).exists():
        encryption.finish(home)
        check(home)


@pytest.mark.parametrize("work", ["decrypt", "change_key", "finish", "set_files"])
def test_what_is_not_encrypted_has_nothing_to_turn_back(home: Path, work: str) -> None:
    with pytest.raises(RequestError, match="is not encrypted"):
        {
            "decrypt": lambda: encryption.decrypt(home),
            "change_key": lambda: encryption.change_key(home, WORDS),
            "finish": lambda: encryption.finish(home),
            "set_files": lambda: encryption.set_files(home, with_files=True),
        }[work]()


# ── Killed at every moment ────────────────────────────────────────────────────────────────────────────────


def _kill_at(n: int) -> None:
    """Kill this process before its n-th call into the system, or statement."""
    calls = 0

    def counted(really: Any) -> Any:
        def call(*arguments: Any, **keywords: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == n:
                os.kill(os.getpid(), signal.SIGKILL)
            return really(*arguments, **keywords)

        return call

    from hearth.storage import cipher_connection

    for name in ("replace", "rename", "unlink", "fsync", "write", "utime", "fchmod"):
        setattr(os, name, counted(getattr(os, name)))
    execute = cipher_connection._Cursor.execute
    cipher_connection._Cursor.execute = counted(execute)  # type: ignore[method-assign]


def harness(root: Path, scenario: str) -> None:
    home_key._SCRYPT["n"] = 16
    os.environ[home_key.PASSPHRASE] = WORDS
    model = made(root / "model")
    if scenario != "encrypt":
        encryption.encrypt(model, WORDS, with_files=True)
    work: dict[str, Callable[[Path], object]] = {
        "encrypt": lambda home: encryption.encrypt(home, WORDS, with_files=True),
        "change_key": lambda home: encryption.change_key(home, WORDS),
        "decrypt": lambda home: encryption.decrypt(home),
    }
    n = 0
    while True:
        n += EACH
        home = root / "home"
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(model, home)
        child = os.fork()
        if not child:
            code = 1
            with contextlib.suppress(BaseException):
                _kill_at(n)
                work[scenario](home)
                code = 0
            os._exit(code)
        status = os.waitpid(child, 0)[1]
        check(home)
        assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, n
        if (home / KEY_FILE).exists():
            home_key.forget(home)
            wanted = home_key.home_key(home).is_on
            if scenario == "decrypt" and wanted:
                encryption.decrypt(home)
            else:
                encryption.finish(home)
            check(home)
        is_encrypted = (home / KEY_FILE).exists()
        if is_encrypted:
            assert readable(home) == [], (n, readable(home))
            key = home_key.home_key(home)
            assert (len(key.database), len(key.files), key.is_turning) == (1, 1, False), n
        else:
            assert is_plain(home / "hearth.db"), n
            assert (home / "owner/notes/heron.md").read_bytes() == FILES["notes/heron.md"], n
        left = [p.name for p in home.rglob("*") if "turning" in p.name or p.name.startswith(".hearth")]
        assert left == [], (n, left)
        if not os.WIFSIGNALED(status):
            break
    print(json.dumps(n))


@pytest.mark.parametrize(("scenario", "n_least"), [("encrypt", 60), ("change_key", 60), ("decrypt", 50)])
def test_killed_at_any_moment_nothing_is_lost_and_it_can_be_finished(
    tmp_path: Path, scenario: str, n_least: int
) -> None:
    command = [sys.executable, "-W", "error", "-m", "tests.security.test_encryption", str(tmp_path), scenario]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout) >= n_least


if __name__ == "__main__":
    harness(Path(sys.argv[1]), sys.argv[2])
