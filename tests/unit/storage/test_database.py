"""The database: migrations, atomicity, faults in words, salvage, one agent per home."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.errors import (
    HomeBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    StoreVersionError,
)
from hearth.memory.search.passage_store import PassageStore
from hearth.storage import database as module
from hearth.storage import migrations as schema
from hearth.storage.database import HomeLock, Store
from hearth.storage.migrations import MIGRATIONS, migrate

pytestmark = pytest.mark.usefixtures("real_migrations")
ADD = "INSERT INTO meta VALUES (?, ?)"


def add(store: Store, name: str, value: str = "x") -> None:
    with store.transaction() as cursor:
        cursor.execute(ADD, (name, value))


def names(store: Store) -> list[str]:
    return [row["name"] for row in store.query("SELECT name FROM meta ORDER BY name")]


def fill(store: Store, n_rows: int = 2000) -> None:
    """Steps and large values on a few hundred pages."""
    with store.transaction() as cursor:
        for number in range(1, n_rows + 1):
            cursor.execute(
                "INSERT INTO step (place, tool, arguments_json) VALUES (?, ?, ?)",
                (number, f"tool{number}", "{" + f'"n":"{number:0100d}"' + "}"),
            )


@contextlib.contextmanager
def child(script: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Another process running `script`, which has printed its first line."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


# ── Opening ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_new_file_is_private_durable_and_closes_into_one_file(home: Path) -> None:
    path = home / "deep" / "hearth.db"
    with Store.open(path) as store:
        assert store.query("PRAGMA journal_mode")[0][0] == "wal"
        assert store.query("PRAGMA synchronous")[0][0] == 2
        assert store.query("PRAGMA foreign_keys")[0][0] == 1
        assert store.query("PRAGMA user_version")[0][0] == len(MIGRATIONS)
        assert not store.was_unclean
        add(store, "a")
    assert os.listdir(path.parent) == ["hearth.db"]
    assert path.stat().st_mode & 0o077 == 0
    store.close()


@pytest.mark.parametrize("version", range(len(MIGRATIONS)))
def test_every_earlier_version_is_migrated_and_keeps_its_rows(home: Path, version: int) -> None:
    path = home / "hearth.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, version)
        if version:
            connection.execute(ADD, ("kept", "value"))
            connection.execute(
                "INSERT INTO event (id, kind, at, at_unix_s, label, text) VALUES ('e', 'k', 't', 0, '', 'old words')"
            )
    with Store.open(path) as store, Store.open(home / "new.db") as new:
        schema = "SELECT type, name, sql FROM sqlite_schema ORDER BY name"
        assert [tuple(r) for r in store.query(schema)] == [tuple(r) for r in new.query(schema)]
        assert store.query("PRAGMA user_version")[0][0] == len(MIGRATIONS)
        if version:
            assert names(store) == ["kept"]
            assert store.query("SELECT rowid FROM event_words WHERE event_words MATCH 'word'")


def test_events_and_reminders_that_were_read_before_count_as_files(home: Path) -> None:
    with contextlib.closing(sqlite3.connect(home / "hearth.db", isolation_level=None)) as connection:
        migrate(connection, 16)
        connection.execute("INSERT INTO passage_file (path, fingerprint) VALUES ('p', '')")
        rows = [
            ("event", "device"),
            ("reminder", "device"),
            ("event", "message"),
            ("mail", "message"),
            ("note", "file"),
        ]
        connection.executemany(
            "INSERT INTO passage (path, record, kind, source, title, person, at, text) VALUES ('p','r',?,?,'','','','')",
            rows,
        )
    with Store.open(home / "hearth.db") as store:
        found = [row["source"] for row in store.query("SELECT source FROM passage ORDER BY number")]
    assert found == ["file", "file", "message", "message", "file"]


def test_vectors_of_passages_as_they_were_before_are_made_again(home: Path) -> None:
    with contextlib.closing(sqlite3.connect(home / "hearth.db", isolation_level=None)) as connection:
        migrate(connection, 18)
        connection.execute("INSERT INTO passage_file (path, fingerprint) VALUES ('p', '')")
        connection.execute(
            "INSERT INTO passage (path, record, kind, source, title, person, at, text)"
            " VALUES ('p', 'r', 'note', 'file', '', '', '', 'x')"
        )
        connection.execute("INSERT INTO passage_vector SELECT number, zeroblob(388) FROM passage")
    with Store.open(home / "hearth.db") as store:
        assert store.query("SELECT count(*) FROM passage")[0][0] == 1
        assert store.query("SELECT count(*) FROM passage_vector")[0][0] == 0


def test_passages_of_an_earlier_layout_are_found_and_go_with_their_file(home: Path) -> None:
    with contextlib.closing(sqlite3.connect(home / "hearth.db", isolation_level=None)) as connection:
        migrate(connection, 19)
        connection.execute("PRAGMA foreign_keys=ON")
        connection.executemany(
            "INSERT INTO passage_file (path, fingerprint) VALUES (?, 'f')", [("p",), ("q",), ("no",)]
        )
        connection.executemany(
            "INSERT INTO passage (path, record, kind, source, title, person, at, text)"
            " VALUES (?, 'r', 'note', 'file', 'Tin', 'Ana', '', ?)",
            [("p", "a lamp"), ("p", "a kettle"), ("q", "a ladder")],
        )
        connection.execute("INSERT INTO passage_vector SELECT number, zeroblob(96) FROM passage")
    with Store.open(home / "hearth.db") as store:
        passages = PassageStore(store, None)
        assert passages.fingerprints() == {"p": "f", "q": "f", "no": "f"}
        assert [one.passage.text for one in passages.find("kettle")] == ["a kettle"]
        assert passages.has_title(["tin"])
        assert passages.n_waiting() == 0
        passages.drop(["p", "no"])
        assert [one.passage.text for one in passages.find("tin")] == ["a ladder"]
        assert [row["number"] for row in store.query("SELECT number FROM passage_vector")] == [3]


def test_demonstrations_of_earlier_versions_are_kept_and_salvaged(home: Path) -> None:
    path = home / "hearth.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, 4)
        connection.execute(
            "INSERT INTO demonstration (id, request, plan_json, source, added) VALUES ('d', 'wake me', '{}', 'owner', 't')"
        )
    with Store.open(path) as store:
        (row,) = store.query("SELECT * FROM demonstration")
        assert (row["id"], row["tools_json"], row["label"], row["version"]) == ("d", "[]", "", None)
        with store.transaction() as cursor:
            cursor.execute("INSERT INTO version (at, reason) VALUES ('t', 'kept')")
            cursor.execute("INSERT INTO version_change (version, id, digest, is_added) VALUES (1, 'd', 'x', 1)")
    report = Store.salvage(path)
    assert report.is_complete
    tables = {row[0] for row in sqlite3.connect(path).execute("SELECT name FROM sqlite_schema WHERE type='table'")}
    rebuilt = {"passage", "passage_file", "passage_vector"}  # read anew from the owner's folder
    kept = {name for name in tables if not name.startswith(("event_words", "passage_words", "sqlite"))}
    assert kept - rebuilt == set(report.tables)
    with Store.open(path) as store:
        assert store.query("SELECT reason FROM version")[0][0] == "kept"


def test_a_migration_that_fails_leaves_the_version_before(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = home / "hearth.db"
    with Store.open(path) as store:
        add(store, "kept")
    broken = "CREATE TABLE half (x);\nINSERT INTO nowhere VALUES (1);"
    for part in (module, schema):
        monkeypatch.setattr(part, "MIGRATIONS", (*MIGRATIONS, broken))
    monkeypatch.setattr(migrate, "__defaults__", (len(MIGRATIONS) + 1,))
    with pytest.raises(StoreError, match="nowhere"):
        Store.open(path)
    monkeypatch.undo()
    with Store.open(path) as store:
        assert names(store) == ["kept"]
        assert not store.query("SELECT 1 FROM sqlite_schema WHERE name='half'")


def test_two_processes_migrate_one_file_without_harm(home: Path) -> None:
    path = home / "hearth.db"
    faults: list[Exception] = []
    start = threading.Barrier(4)

    def open_one() -> None:
        start.wait()
        try:
            Store.open(path).close()
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=open_one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    with Store.open(path) as store:
        assert store.query("PRAGMA user_version")[0][0] == len(MIGRATIONS)


def test_a_newer_file_is_refused_and_left_alone(home: Path) -> None:
    path = home / "hearth.db"
    Store.open(path).close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version={len(MIGRATIONS) + 1}")
    before = path.read_bytes()
    with pytest.raises(StoreVersionError, match="newer Hearth: upgrade with `pip install"):
        Store.open(path)
    assert path.read_bytes() == before


def test_another_programs_database_is_refused(home: Path) -> None:
    path = home / "hearth.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE songs (title)")
    with pytest.raises(StoreError, match="another program; move it away"):
        Store.open(path)


def test_a_folder_in_the_way_and_a_folder_that_cannot_be_made(home: Path) -> None:
    (home / "hearth.db").mkdir()
    with pytest.raises(StoreError, match="cannot be used"):
        Store.open(home / "hearth.db")
    (home / "file").write_text("")
    with pytest.raises(StoreError, match="cannot open the database"):
        Store.open(home / "file" / "hearth.db")


# ── Transactions ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_transaction_is_all_or_nothing(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.transaction() as cursor:  # noqa: PT012
        cursor.execute(ADD, ("a", "x"))
        assert names(store) == ["a"]
        raise ZeroDivisionError
    assert names(store) == []
    with pytest.raises(StoreError, match="UNIQUE"), store.transaction() as cursor:
        cursor.executemany(ADD, [("b", "x"), ("b", "x")])
    assert names(store) == []
    add(store, "c")
    assert names(store) == ["c"]


def test_a_transaction_within_a_transaction_is_refused_and_undoes_both(store: Store) -> None:
    with pytest.raises(StoreError, match="within a transaction"), store.transaction() as cursor:  # noqa: PT012
        cursor.execute(ADD, ("a", "x"))
        add(store, "b")
    assert names(store) == []


def test_threads_write_one_after_another(store: Store) -> None:
    def write(thread: int) -> None:
        for number in range(25):
            add(store, f"{thread}-{number}")

    threads = [threading.Thread(target=write, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(names(store)) == 200


def test_wrong_sql_and_a_closed_store_are_store_errors(store: Store) -> None:
    with pytest.raises(StoreError, match="no such table: absent"):
        store.query("SELECT * FROM absent")
    store.close()
    with pytest.raises(StoreError, match="closed database"):
        store.query("SELECT 1")
    with pytest.raises(StoreError, match="closed database"):
        add(store, "a")


# ── Another process, a full disk, a crash ─────────────────────────────────────────────────────────────────

HOLD = """
    import sqlite3, sys, time
    connection = sqlite3.connect(sys.argv[1], isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_lock_held_elsewhere_is_reported_with_its_holder(home: Path) -> None:
    path = home / "hearth.db"
    Store.open(path).close()
    with child(HOLD, path) as process, Store.open(path, busy_timeout_s=0.1) as store:
        assert store.query("SELECT 1"), "reading goes on"
        with pytest.raises(StoreLockedError, match=rf"locked by process {process.pid} \(.*python.*nothing was written"):
            add(store, "a")
        process.kill()
        process.wait()
        add(store, "b")
        assert names(store) == ["b"]


def test_a_full_database_writes_nothing_by_halves(store: Store) -> None:
    add(store, "kept")
    n_pages = store.query("PRAGMA page_count")[0][0]
    store.query(f"PRAGMA max_page_count={n_pages + 3}")
    with (
        pytest.raises(StoreFullError, match=r"no space left .* nothing was half-written; make room"),
        store.transaction() as c,
    ):
        c.executemany(ADD, [(f"row{number}", "x" * 4000) for number in range(100)])
    assert names(store) == ["kept"]
    store.query("PRAGMA max_page_count=1000000")
    add(store, "later")
    assert names(store) == ["kept", "later"]


FULL = """
    import os, sys
    from pathlib import Path
    from hearth.errors import StoreFullError
    from hearth.storage.database import HomeLock, Store
    from hearth.storage.workspace import Folder

    home = Path(sys.argv[1])
    store = Store.open(home / "hearth.db")
    folder = Folder(home / "owner", store)
    note = folder.for_call("k1")
    note.write("note.txt", b"first")
    filler = os.open(home / "filler", os.O_WRONLY | os.O_CREAT)
    size = 1 << 16
    while size:
        try:
            os.write(filler, bytes(size))
        except OSError:
            size //= 2
    n_refused = 0
    with HomeLock(home):
        pass
    try:
        Store.open(home / "new.db")
        raise SystemExit("a database was made on a full disk")
    except StoreFullError as error:
        assert "make room" in str(error)
    for number in range(400):
        try:
            with store.transaction() as cursor:
                for part in range(4):
                    cursor.execute("INSERT INTO meta VALUES (?, ?)", (f"{number}-{part}", "x" * 3000))
        except StoreFullError:
            n_refused += 1
            break
    assert n_refused, "the file system never filled up"
    (n_rows,) = store.query("SELECT count(*) FROM meta")[0]
    assert n_rows % 4 == 0, n_rows
    try:
        note.write("note.txt", bytes(100_000))
        raise SystemExit("a write went through on a full disk")
    except StoreFullError as error:
        print(error)
    assert note.read("note.txt") == b"first"
    assert note.list() == ("note.txt",), os.listdir(home / "owner")
    os.unlink(home / "filler")
    os.close(filler)
    note.write("note.txt", b"second")
    assert folder.undo("k1") == ("note.txt",), "all writes of the key are taken back"
    assert not note.exists("note.txt")
    store.close()
    store = Store.open(home / "hearth.db")
    assert store.query("PRAGMA integrity_check")[0][0] == "ok"
    print("sound")
"""


def test_a_full_disk_loses_and_halves_nothing(tmp_path: Path) -> None:
    mount = f"mount -t tmpfs -o size=2m hearth {tmp_path}"
    if subprocess.run(["unshare", "--mount", "sh", "-c", mount], capture_output=True, check=False).returncode:
        pytest.skip("a small file system cannot be mounted here: needs root and mount namespaces")
    script = tmp_path.parent / "full.py"
    script.write_text(textwrap.dedent(FULL))
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", f"{mount} && exec {sys.executable} {script} {tmp_path}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "no space left" in done.stdout
    assert done.stdout.endswith("sound\n")


WRITE = """
    import sys
    from pathlib import Path
    from hearth.storage.database import Store
    store = Store.open(Path(sys.argv[1]))
    number = 0
    while True:
        with store.transaction() as cursor:
            cursor.execute("INSERT INTO meta VALUES (?, 'a')", (f"{number}-a",))
            cursor.execute("INSERT INTO meta VALUES (?, 'b')", (f"{number}-b",))
        print(number, flush=True)
        number += 1
"""


def test_an_acknowledged_write_survives_a_killed_process(home: Path) -> None:
    path = home / "hearth.db"
    with child(WRITE, path) as process:
        time.sleep(0.3)
        process.kill()
        said = process.communicate()[0]
    last = int(said.splitlines()[-1])
    with Store.open(path) as store:
        assert store.was_unclean
        found = names(store)
        assert {f"{k}-{part}" for k in range(last + 1) for part in "ab"} <= set(found)
        assert len([n for n in found if n[0].isdigit()]) % 2 == 0, "half a transaction"
        assert "unclean" in found
    with Store.open(path) as store:
        assert not store.was_unclean


# ── Damage ────────────────────────────────────────────────────────────────────────────────────────────────


def page_with(path: Path, text: bytes) -> int:
    """The first page of the file that holds `text`."""
    return path.read_bytes().index(text) // 4096


def damage(path: Path, start: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(data)


def copies(path: Path) -> list[Path]:
    return sorted(p for p in path.parent.glob("*.damaged-*") if not p.name.endswith(("-wal", "-shm")))


def test_a_file_that_is_no_database_is_copied_aside_once(home: Path) -> None:
    path = home / "hearth.db"
    path.write_bytes(b"this is a letter, not a database" * 400)
    for _ in range(2):
        with pytest.raises(StoreCorruptError, match=r"is damaged .* a copy is in '.*damaged-.*doctor --repair"):
            Store.open(path)
    assert [copy.read_bytes() for copy in copies(path)] == [path.read_bytes()]


def test_a_cut_off_file_is_noticed_when_it_is_opened(home: Path) -> None:
    path = home / "hearth.db"
    with Store.open(path) as store:
        fill(store)
    os.truncate(path, path.stat().st_size - 10_000)
    with pytest.raises(StoreCorruptError, match="malformed"):
        Store.open(path)
    assert copies(path)


def test_damage_met_while_reading_is_reported_and_copied(home: Path) -> None:
    path = home / "hearth.db"
    with Store.open(path) as store:
        fill(store)
    damage(path, page_with(path, b"tool1000") * 4096, b"\xff" * 4096)
    with Store.open(path) as store:
        with pytest.raises(StoreCorruptError, match=r"doctor --repair"):
            store.query("SELECT * FROM step")
        assert len(copies(path)) == 1


def test_after_a_crash_the_whole_file_is_checked(home: Path) -> None:
    path = home / "hearth.db"
    with Store.open(path) as store:
        fill(store)
    with child(WRITE, path) as process:
        process.kill()
        process.wait()
    damage(path, page_with(path, b"tool1000") * 4096, b"\xff" * 4096)
    with pytest.raises(StoreCorruptError):
        Store.open(path)


@pytest.mark.parametrize(
    "rows",
    [pytest.param((1000,), id="one"), pytest.param((1000, 1030, 1500), id="several"), pytest.param((1999,), id="last")],
)
def test_salvage_keeps_every_row_outside_the_damage(home: Path, rows: tuple[int, ...]) -> None:
    path = home / "hearth.db"
    with Store.open(path) as store:
        fill(store)
        add(store, "kept")
    pages = {page_with(path, b"tool%d" % row) for row in rows}
    assert len(pages) == len(rows)
    for page in pages:
        damage(path, page * 4096, os.urandom(4096))
    broken = path.read_bytes()

    # What is lost at most: the rows on each damaged page, about twenty of them.
    report = Store.salvage(path)
    with Store.open(path) as store:
        assert store.query("PRAGMA integrity_check")[0][0] == "ok"
        left = store.query("SELECT place, tool, arguments_json FROM step ORDER BY place")
        assert names(store) == ["kept"]
        add(store, "more")
    assert 2000 - 40 * len(pages) <= len(left) < 2000
    assert all(row["tool"] == f"tool{row['place']}" for row in left)
    assert report.tables["step"].n_rows == len(left)
    assert not report.tables["step"].is_complete
    assert not report.is_complete
    assert report.tables["meta"].is_complete
    assert report.backup.read_bytes() == broken
    assert {p.name for p in home.iterdir()} == {"hearth.db", report.backup.name}


def test_salvage_past_a_damaged_inner_page(home: Path) -> None:
    path = home / "hearth.db"
    with Store.open(path) as store:
        fill(store)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        root = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name='step'").fetchone()[0]
    data = path.read_bytes()
    assert data[(root - 1) * 4096] == 5, "an inner page of a table"
    damage(path, (root - 1) * 4096 + 12, b"\xff" * 60)
    report = Store.salvage(path)
    assert report.tables["step"].n_rows > 1000


def test_salvage_rebuilds_a_destroyed_header_and_keeps_the_index_of_words(home: Path) -> None:
    path = home / "hearth.db"
    with Store.open(path) as store:
        fill(store)
        with store.transaction() as cursor:
            cursor.execute(
                "INSERT INTO event (id, kind, at, at_unix_s, label, text) VALUES ('e', 'k', 't', 0, '', 'red shoes')"
            )
    damage(path, 0, os.urandom(100))
    with pytest.raises(StoreCorruptError):
        Store.open(path)
    report = Store.salvage(path)
    assert report.tables["step"].n_rows == 2000
    assert report.is_complete
    with Store.open(path) as store:
        assert store.query("SELECT rowid FROM event_words WHERE event_words MATCH 'shoe'")


def test_salvage_uses_what_is_still_in_the_log(home: Path) -> None:
    path = home / "hearth.db"
    with child(WRITE, path) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(5)]
        process.kill()
        process.wait()
    report = Store.salvage(path)
    assert report.tables["meta"].n_rows >= 2 * int(said[-1])
    assert report.backup.with_name(report.backup.name + "-wal").exists()


def test_salvage_that_cannot_help_changes_nothing(home: Path) -> None:
    path = home / "hearth.db"
    with pytest.raises(StoreError, match="no database"):
        Store.salvage(path)
    path.write_bytes(os.urandom(40_960))
    before = path.read_bytes()
    with pytest.raises(StoreCorruptError, match="not even the list of tables"):
        Store.salvage(path)
    assert path.read_bytes() == before
    assert len(copies(path)) == 1
    assert len(list(home.iterdir())) == 2


def test_salvage_waits_for_nobody_who_has_it_open(home: Path) -> None:
    path = home / "hearth.db"
    Store.open(path).close()
    with child(HOLD, path) as process, pytest.raises(StoreLockedError, match=f"process {process.pid}"):
        Store.salvage(path)


# ── One agent per home ────────────────────────────────────────────────────────────────────────────────────

LOCK = """
    import sys
    from pathlib import Path
    from hearth.storage.database import HomeLock
    with HomeLock(Path(sys.argv[1])):
        print("held", flush=True)
        sys.stdin.read()
"""


def test_a_second_agent_is_told_who_runs_and_what_to_do(home: Path) -> None:
    with child(LOCK, home) as process:
        with pytest.raises(HomeBusyError, match=rf"process {process.pid} .*end it with `kill {process.pid}`.*--home"):
            HomeLock(home).acquire()
        process.kill()
        process.wait()
        assert (home / "hearth.lock").read_text().startswith(str(process.pid)), "a stale file is no obstacle"
        with HomeLock(home), pytest.raises(HomeBusyError, match=f"process {os.getpid()}"):
            HomeLock(home).acquire()
    with HomeLock(home) as lock:
        lock.release()
        lock.release()
        HomeLock(home).acquire().release()
    assert (home / "hearth.lock").read_text() == ""


def test_a_home_that_cannot_be_written_says_so(home: Path) -> None:
    (home / "file").write_text("")
    with pytest.raises(
        StoreError, match=r"cannot use '.*/file/home' as a home: Not a directory; check its permissions"
    ):
        HomeLock(home / "file" / "home").acquire()
