"""Any change to the ledger is found: each byte of each column, rows taken out, put in, exchanged, cut off at the end."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import sqlite3
import struct
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hearth.errors import NotFound, StoreError, StoreFullError
from hearth.guard.egress.ledger import (
    COLUMNS,
    GENESIS,
    STORED,
    Draft,
    Head,
    Ledger,
    Verdict,
    head_from_text,
    verify_file,
)
from hearth.storage.database import Store
from hearth.storage.migrations import MIGRATIONS, migrate

NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.UTC)
N_ROWS = 6


def drafts() -> Iterator[Draft]:
    for k in range(N_ROWS):
        yield Draft(
            "sent" if k % 2 else "opened",
            f"host{k}.example",
            "language model",
            f"bytes of [NAME_1] {k}".encode() * (k % 2),
            20 * (k % 2),
            {"[NAME_1]": "Xanthippe"} if k % 2 else {},
            port=443,
            address="93.184.216.34",
            tls="TLSv1.3 TLS_AES_256_GCM_SHA384",
            rule="policy.ask",
            episode=f"e{k // 3}",
            step=k if k % 2 else None,
            n_tokens=k,
            usd=k / 7,
        )


def ledger_in(folder: Path) -> Ledger:
    return Ledger(Store.open(folder / "hearth.db"), lambda: NOW)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a ledger in which one entry was forgotten."""
    folder = tmp_path_factory.mktemp("whole")
    ledger = ledger_in(folder)
    for draft in drafts():
        ledger.append(draft)
    with ledger._store.transaction() as cursor:
        assert ledger.erase(cursor, [2, 2], "forgotten by the owner") == 1
    ledger.seal()
    assert_settled(ledger)
    ledger._store.close()
    return folder


def assert_settled(ledger: Ledger) -> None:
    """No thread is still forcing the head to the disk."""
    for thread in threading.enumerate():
        if thread.name == "ledger head":
            thread.join()


def changed(whole: Path, folder: Path, change: Callable[[sqlite3.Connection], object]) -> Verdict:
    """What verifying says after `change` was made to a copy of the database."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    connection = sqlite3.connect(folder / "hearth.db")
    change(connection)
    connection.commit()
    connection.close()
    ledger = ledger_in(folder)
    verdict = ledger.verify()
    ledger._store.close()
    return verdict


def flipped(value: object, place: int, bit: int) -> object:
    """The value with one bit of one byte of it changed, in the type it is stored in."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value ^ (1 << (place % 6))
    if isinstance(value, float):
        raw = bytearray(struct.pack(">d", value))
        raw[place % 8] ^= 1 << bit
        return struct.unpack(">d", bytes(raw))[0]
    raw = bytearray(value.encode() if isinstance(value, str) else bytes(value))  # type: ignore[call-overload]
    if not raw:
        return "x" if isinstance(value, str) else b"x"
    raw[place % len(raw)] ^= 1 << (bit % 5 if isinstance(value, str) else bit)
    return raw.decode("latin-1") if isinstance(value, str) else bytes(raw)


def test_an_untouched_ledger_is_whole(whole: Path, tmp_path: Path) -> None:
    verdict = changed(whole, tmp_path / "copy", lambda c: None)
    assert verdict.is_whole
    assert (verdict.n_entries, verdict.n_erased, verdict.notes) == (N_ROWS + 1, 1, ())


@pytest.mark.parametrize("column", [name for name in STORED if name != "number"])
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_changed_byte_of_any_column_is_found(
    column: str, data: st.DataObject, whole: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    number = data.draw(st.integers(1, N_ROWS + 1))
    place, bit = data.draw(st.integers(0, 200)), data.draw(st.integers(0, 7))
    seen: list[bool] = []

    def change(connection: sqlite3.Connection) -> None:
        (value,) = connection.execute(f"SELECT {column} FROM disclosure WHERE number=?", (number,)).fetchone()
        new = flipped(value, place, bit)
        seen.append(new != value or type(new) is not type(value) or str(new) != str(value))
        connection.execute(f"UPDATE disclosure SET {column}=? WHERE number=?", (new, number))

    verdict = changed(whole, tmp_path_factory.getbasetemp() / f"flip-{column}", change)
    assert seen == [True]
    assert not verdict.is_whole
    assert any(fault.number in (number, number + 1) for fault in verdict.faults), verdict.faults


def swap(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE disclosure SET number = -1 WHERE number = 3")
    connection.execute("UPDATE disclosure SET number = 3 WHERE number = 4")
    connection.execute("UPDATE disclosure SET number = 4 WHERE number = -1")


def insert(connection: sqlite3.Connection) -> None:
    for number in range(N_ROWS + 1, 3, -1):
        connection.execute("UPDATE disclosure SET number = ? WHERE number = ?", (number + 1, number))
    names = ", ".join(name for name in STORED if name != "number")
    connection.execute(f"INSERT INTO disclosure (number, {names}) SELECT 4, {names} FROM disclosure WHERE number=2")


def refilled(connection: sqlite3.Connection) -> None:
    """What was forgotten is put in again, as somebody might who kept a copy of it."""
    connection.execute("UPDATE disclosure SET salt=zeroblob(16), payload=x'61', stands_for_json='{}' WHERE number=2")


CHANGES: dict[str, tuple[Callable[[sqlite3.Connection], object], str]] = {
    "a row taken out": (lambda c: c.execute("DELETE FROM disclosure WHERE number=3"), "entry 3 is missing before it"),
    "rows taken out": (lambda c: c.execute("DELETE FROM disclosure WHERE number IN (3, 4)"), "entry 3 to 4 is missing"),
    "the first row taken out": (lambda c: c.execute("DELETE FROM disclosure WHERE number=1"), "entry 1 is missing"),
    "rows exchanged": (swap, "is not what was written"),
    "a row put in": (insert, "is not what was written"),
    "cut off at the end": (
        lambda c: c.execute("DELETE FROM disclosure WHERE number > 4"),
        "the head in the database counts 7 entries, the last one is 4",
    ),
    "cut off at the end, with the database's head": (
        lambda c: (
            c.execute("DELETE FROM disclosure WHERE number > 5"),
            c.execute(
                "UPDATE meta SET value = '5:' || (SELECT hash FROM disclosure WHERE number=5) WHERE name='ledger'"
            ),
        ),
        "the head file counts 7 entries, the last one is 5",
    ),
    "all of it taken out": (
        lambda c: (c.execute("DELETE FROM disclosure"), c.execute("DELETE FROM meta WHERE name='ledger'")),
        "the head in the database is missing",
    ),
    "the head taken out": (
        lambda c: c.execute("DELETE FROM meta WHERE name='ledger'"),
        "head in the database is missing",
    ),
    "the head changed": (lambda c: c.execute("UPDATE meta SET value='x' WHERE name='ledger'"), "is not the one"),
    "bytes erased without an entry": (
        lambda c: c.execute("UPDATE disclosure SET salt=NULL, payload=NULL, stands_for_json=NULL WHERE number=4"),
        "its content is gone, and no entry says that it was forgotten",
    ),
    "forgotten bytes put in again": (refilled, "its content is not what was written"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_rows_taken_out_put_in_exchanged_and_cut_off_are_found(name: str, whole: Path, tmp_path: Path) -> None:
    change, what = CHANGES[name]
    verdict = changed(whole, tmp_path / "copy", change)
    assert not verdict.is_whole
    assert any(what in fault.what for fault in verdict.faults), verdict.faults


@given(place=st.integers(0, 255), bit=st.integers(0, 7))
def test_any_changed_byte_of_the_head_file_is_found(
    place: int, bit: int, whole: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "head-file"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    raw = bytearray((folder / "ledger.head").read_bytes())
    assert len(raw) == 256
    raw[place] ^= 1 << bit
    (folder / "ledger.head").write_bytes(raw)
    ledger = ledger_in(folder)
    assert not ledger.verify().is_whole
    ledger._store.close()


@pytest.mark.parametrize("is_missing", [True, False])
def test_a_lost_or_emptied_head_file_is_found(is_missing: bool, whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(whole, folder)
    if is_missing:
        (folder / "ledger.head").unlink()
    else:
        (folder / "ledger.head").write_bytes(b"")
    ledger = ledger_in(folder)
    (fault,) = ledger.verify().faults
    assert ("it is missing" if is_missing else "counts 0 entries") in fault.what
    ledger._store.close()


@pytest.mark.parametrize("is_sealed", [False, True])
def test_a_head_file_taken_away_stays_visible_however_few_entries_there_are(store: Store, is_sealed: bool) -> None:
    ledger = Ledger(store, lambda: NOW)
    for _ in range(2):
        ledger.append(Draft("sent", "h", "r", b"x", 1))
    assert ledger.verify().is_whole
    ledger.head_path.unlink()
    if is_sealed:
        ledger.seal()
    ledger.append(Draft("sent", "h", "r", b"x", 1))
    (fault,) = ledger.verify().faults
    assert "the head file was missing, there are 2 entries" in fault.what
    assert [entry.kind for entry in ledger.entries()] == ["sent", "sent", "scar", "sent"]


def test_a_process_killed_before_the_first_head_leaves_no_scar(store: Store) -> None:
    ledger = Ledger(store, lambda: NOW)
    ledger.append(Draft("sent", "h", "r", b"x", 1))
    ledger.head_path.write_bytes(b"")  # made, and nothing written into it yet
    ledger.append(Draft("sent", "h", "r", b"x", 1))
    verdict = ledger.verify()
    assert (verdict.is_whole, verdict.n_entries) == (True, 2)


def test_what_was_broken_before_stays_visible_after_the_next_entry(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"

    def cut(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM disclosure WHERE number > 4")

    changed(whole, folder, cut)
    ledger = ledger_in(folder)
    ledger.append(Draft("sent", "h.example", "later", b"x", 1))
    ledger.append(Draft("sent", "h.example", "later still", b"x", 1))
    verdict = ledger.verify()
    assert [fault.number for fault in verdict.faults] == [2, 8, 8], (
        "2 was forgotten, and the entry that said so is gone"
    )
    assert [entry.number for entry in ledger.entries(after=4)] == [8, 9, 10]
    assert "counts 7 entries, the last one is 4" in verdict.faults[2].what
    ledger._store.close()


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE disclosure SET stands_for_json='no json' WHERE number=4",
        "UPDATE disclosure SET stands_for_json='[1]' WHERE number=4",
        "UPDATE disclosure SET at=x'ff00', step='third', payload=5, n_bytes='many', usd='much' WHERE number=4",
        "UPDATE meta SET value='99999999999999999999:' || hex(zeroblob(32)) WHERE name='ledger'",
    ],
)
def test_what_is_left_of_an_altered_ledger_is_listed_and_searched(sql: str, whole: Path, tmp_path: Path) -> None:
    verdict = changed(whole, tmp_path, lambda connection: connection.execute(sql))
    assert not verdict.is_whole
    ledger = ledger_in(tmp_path)
    assert [entry.number for entry in ledger.entries(after=min(ledger.head().count, 2))][-1] == N_ROWS + 1
    assert [entry.host for entry in ledger.entries()][4] == "host4.example"
    assert 6 in ledger.holding([b"Xanthippe"])


def test_a_number_nobody_gave_out_ends_what_can_be_sent(whole: Path, tmp_path: Path) -> None:
    last = f"UPDATE disclosure SET number={(1 << 63) - 1} WHERE number={N_ROWS}"
    changed(whole, tmp_path, lambda connection: connection.execute(last))
    with pytest.raises(StoreError, match="hearth ledger verify"):
        ledger_in(tmp_path).append(Draft("sent", "host.example", "test", b"x", 1))


def test_a_head_kept_elsewhere_finds_a_ledger_that_was_written_anew(whole: Path, tmp_path: Path) -> None:
    ledger = ledger_in(tmp_path)
    for draft in drafts():
        ledger.append(draft)
    assert ledger.verify().is_whole, "it is whole in itself"
    shutil.copytree(whole, tmp_path / "copy")
    first = ledger_in(tmp_path / "copy")
    kept = head_from_text(str(first.head()))
    assert first.verify(kept=kept).is_whole
    verdict = ledger.verify(kept=Head(4, next(first.entries(after=3)).hash))
    assert [(f.number, f.what) for f in verdict.faults] == [(4, "it is not the entry whose hash was kept elsewhere")]
    assert not ledger.verify(kept=Head(99, "0" * 64)).is_whole
    for opened in (ledger, first):
        opened._store.close()


@pytest.mark.parametrize("text", ["", "12", "x:" + "0" * 64, "1:" + "0" * 63, "1:" + "g" * 64, "-1:" + "0" * 64])
def test_what_is_no_head_is_said(text: str) -> None:
    with pytest.raises(ValueError, match="is no head; expected COUNT:HASH"):
        head_from_text(text)


# ── Exports ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def export(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    shutil.copytree(whole, folder / "copy")
    ledger = ledger_in(folder / "copy")
    head = ledger.export(folder / "ledger.jsonl")
    assert (head.count, head) == (N_ROWS + 1, ledger.head())
    ledger._store.close()
    return folder / "ledger.jsonl"


def test_an_export_is_verified_anywhere(export: Path) -> None:
    verdict = verify_file(export)
    assert (verdict.is_whole, verdict.n_entries, verdict.n_erased) == (True, N_ROWS + 1, 1)
    assert verify_file(export, kept=verdict.head).is_whole
    assert export.stat().st_mode & 0o077 == 0


@given(share=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 6))
def test_any_changed_byte_of_an_export_is_found(share: float, bit: int, export: Path) -> None:
    raw = bytearray(export.read_bytes())
    place = int(share * len(raw))
    raw[place] ^= 1 << bit
    changed = export.with_name("changed.jsonl")
    changed.write_bytes(raw)
    before = [json.loads(line) for line in export.read_text().splitlines()]
    try:
        is_same = [json.loads(line) for line in raw.split(b"\n") if line.strip()] == before
    except ValueError:
        is_same = False
    assert not verify_file(changed).is_whole or is_same


@pytest.mark.parametrize(
    ("edit", "what"),
    [
        (lambda lines: lines[:-1], "the head is missing; the end of the file was cut off"),
        (lambda lines: [*lines[:-2], lines[-1]], "the head says 7 entries"),
        (lambda lines: [*lines[:2], *lines[3:]], "entry 2 is missing"),
        (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], "is not what was written"),
        (lambda lines: [*lines[:3], "[1]", *lines[3:]], "line 4 is no JSON object"),
        (lambda lines: [*lines[:3], "{}", *lines[3:]], "line 4 is no entry"),
        (lambda lines: [*lines, lines[2]], "comes behind the head"),
        (lambda lines: ["{", *lines[1:]], "line 1 is no JSON object"),
        (lambda lines: [], "the head is missing"),
        (lambda lines: lines[1:], "the first line is not that of an exported ledger"),
        (lambda lines: [lines[0], *lines], "line 2 is no entry"),
    ],
)
def test_lines_taken_out_put_in_and_exchanged_are_found(
    edit: Callable[[list[str]], list[str]], what: str, export: Path, tmp_path: Path
) -> None:
    changed = tmp_path / "x.jsonl"
    changed.write_text("".join(f"{line}\n" for line in edit(export.read_text().splitlines())))
    verdict = verify_file(changed)
    assert any(what in fault.what for fault in verdict.faults), verdict.faults


def test_an_export_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"there is no file .* `hearth ledger export FILE` makes one"):
        verify_file(tmp_path / "no.jsonl")


def test_an_export_onto_nothing_leaves_no_half_file(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "copy")
    ledger = ledger_in(tmp_path / "copy")
    with pytest.raises(StoreError, match="cannot write"):
        ledger.export(tmp_path / "no" / "ledger.jsonl")
    ledger._store.close()


# ── Writing ───────────────────────────────────────────────────────────────────────────────────────────────


def test_an_entry_says_who_what_when_why_how_and_under_which_rule(store: Store) -> None:
    ledger = Ledger(store, lambda: NOW)
    draft = list(drafts())[1]
    entry = ledger.append(draft)
    assert next(ledger.entries()) == entry
    assert (entry.host, entry.port, entry.address, entry.tls) == (draft.host, 443, draft.address, draft.tls)
    assert (entry.payload, entry.stands_for) == (draft.payload, {"[NAME_1]": "Xanthippe"})
    assert (entry.at, entry.day, entry.episode, entry.step) == (NOW.isoformat(), "2026-11-20", "e0", 1)
    assert (entry.reason, entry.rule, entry.n_bytes) == ("language model", "policy.ask", 20)
    assert list(ledger.entries(episode="other")) == []


def test_several_threads_make_one_chain(store: Store) -> None:
    ledger = Ledger(store, lambda: NOW)
    threads = [
        threading.Thread(target=lambda: [ledger.append(Draft("sent", "h", "r", b"x", 1)) for _ in range(10)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    verdict = ledger.verify()
    assert (verdict.is_whole, verdict.n_entries, verdict.notes) == (True, 40, ())


def test_what_was_written_before_there_was_a_ledger_is_chained(tmp_path: Path) -> None:
    path = tmp_path / "hearth.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = sqlite3.Row
    migrate(connection, 6)
    for n in (1, 2, 5):
        connection.execute(
            "INSERT INTO disclosure (number, at, host, reason, payload, n_bytes) VALUES (?, ?, 'h', 'r', ?, 3)",
            (n, NOW.isoformat(), b"old"),
        )
    connection.close()
    assert len(MIGRATIONS) >= 7
    with Store.open(path) as store:
        ledger = Ledger(store, lambda: NOW)
        ledger.append(Draft("sent", "h", "r", b"new", 3))
        assert [(e.number, e.payload, e.rule) for e in ledger.entries()] == [
            (1, b"old", "before the ledger"),
            (2, b"old", "before the ledger"),
            (3, b"old", "before the ledger"),
            (4, b"new", ""),
        ]
        assert ledger.verify().is_whole


def test_on_a_full_disk_nothing_is_written_and_that_is_said(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(store, lambda: NOW)
    ledger.append(Draft("sent", "h", "r", b"x", 1))
    n_pages = store.query("PRAGMA page_count")[0][0]
    store.query(f"PRAGMA max_page_count={n_pages}")
    with pytest.raises(StoreFullError, match="no space left"):
        ledger.append(Draft("sent", "h", "r", b"x" * 100_000, 1))
    store.query("PRAGMA max_page_count=1000000")
    assert ledger.verify().is_whole
    assert ledger.head().count == 1

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.pwrite", full)
    with pytest.raises(StoreFullError, match=r"no space left for '.*ledger\.head'; nothing was sent; make room"):
        ledger.append(Draft("sent", "h", "r", b"x", 1))
    monkeypatch.undo()
    assert "behind by 1" in ledger.verify().notes[0]
    ledger.append(Draft("sent", "h", "r", b"x", 1))
    verdict = ledger.verify()
    assert (verdict.is_whole, verdict.notes, verdict.n_entries) == (True, (), 3)


def test_a_folder_that_cannot_be_written_is_said(store: Store) -> None:
    ledger = Ledger(store, lambda: NOW)
    ledger.head_path.mkdir()
    with pytest.raises(StoreError, match=r"cannot write '.*ledger\.head': Is a directory; nothing was sent"):
        ledger.append(Draft("sent", "h", "r", b"x", 1))
    assert ledger.head().count == 0


def test_erasing_leaves_no_byte_and_cannot_be_guessed_from_the_hash(tmp_path: Path) -> None:
    with Store.open(tmp_path / "hearth.db") as store:
        ledger = Ledger(store, lambda: NOW)
        for _ in range(2):
            ledger.append(Draft("sent", "h", "r", b"call 0171 5550123", 17, {"N": "Xanthippe"}))
        first, second = ledger.entries()
        assert first.content_hash != second.content_hash, "the same content twice does not show as the same"
        with store.transaction() as cursor:
            assert ledger.erase(cursor, ledger.holding([b"5550123"]), "forgotten") == 2
            assert ledger.erase(cursor, [1, 2, 99], "again") == 0
            empty = ledger.add(cursor, Draft("opened", "h", "r"))
            assert ledger.erase(cursor, [empty.number], "nothing in it") == 0
        ledger.seal()
        assert ledger.holding([b"5550123"]) == ()
        assert ledger.verify().is_whole
        store.rewrite()
        store.erase_traces()
        raw = (tmp_path / "hearth.db").read_bytes()
        assert b"5550123" not in raw
        assert b"Xanthippe" not in raw


def test_what_is_held_is_found_as_sent_as_meant_and_as_json(store: Store) -> None:
    ledger = Ledger(store, lambda: NOW)
    ledger.append(Draft("sent", "h", "r", b"tell [P1] about it", 1, {"[P1]": "Zoë"}))
    ledger.append(Draft("sent", "h", "r", json.dumps({"x": "tell [P1] about it"}).encode(), 1, {"[P1]": "Zoë"}))
    ledger.append(Draft("sent", "h", "r", b"tell nobody", 1))
    assert ledger.holding(["tell Zoë about it".encode(), json.dumps("tell Zoë about it")[1:-1].encode()]) == (1, 2)
    assert ledger.holding([b"Zo"]) == (1, 2)
    assert ledger.holding([]) == ()


def test_what_was_used_is_counted_from_a_day_on(store: Store) -> None:
    moment = NOW
    ledger = Ledger(store, lambda: moment)
    ledger.append(Draft("sent", "a", "r", b"x", 100, n_tokens=5, usd=0.5))
    moment = NOW + dt.timedelta(days=1)
    ledger.append(Draft("sent", "b", "r", b"x", 11))
    assert ledger.used_since("2026-11-20") == (111, 5, 0.5)
    assert ledger.used_since("2026-11-21") == (11, 0, 0.0)
    assert ledger.used_since("2026-11-20", "a") == (100, 5, 0.5)
    assert ledger.used_since("2026-11-22") == (0, 0, 0.0)


def test_many_entries_are_verified_a_page_at_a_time_with_progress(store: Store) -> None:
    ledger = Ledger(store, lambda: NOW)
    ledger.append(Draft("sent", "h", "r", b"x", 1))
    with store.transaction() as cursor:
        for _ in range(299):
            ledger.add(cursor, Draft("sent", "h", "r", b"x", 1))
    ledger.seal()
    seen: list[int] = []
    largest = 0
    query = store.query

    def watched(sql: str, parameters: object = ()) -> list[sqlite3.Row]:
        nonlocal largest
        rows = query(sql, parameters)  # type: ignore[arg-type]
        largest = max(largest, len(rows))
        return rows

    store.query = watched  # type: ignore[method-assign]
    assert ledger.verify(seen.append).is_whole
    assert (seen[0], seen[-1]) == (64, 300)
    assert largest == 64


def test_the_documented_way_of_hashing_is_the_one_used() -> None:
    assert (
        *("number", "kind", "at", "day", "host", "port", "address", "tls", "reason", "rule", "episode", "step"),
        *("n_bytes", "n_tokens", "usd", "content_hash"),
    ) == COLUMNS
    assert GENESIS == "0" * 64


# ── Killed ────────────────────────────────────────────────────────────────────────────────────────────────

CRASH = """
    import json, os, shutil, signal, sqlite3, sys
    from pathlib import Path
    from hearth.guard.egress.ledger import Draft
    from hearth.guard.egress.ledger import Ledger
    from hearth.storage.database import Store

    home = Path(sys.argv[1])
    sent = home.with_name("sent")

    def act():
        with Store.open(home / "hearth.db") as store:
            ledger = Ledger(store)
            for k in range(2):
                entry = ledger.append(Draft("sent", "h.example", "why", b"payload %d" % k, 9))
                with sent.open("a") as file:
                    file.write(f"{entry.number} {entry.hash}\\n")
            with store.transaction() as cursor:
                ledger.erase(cursor, [1], "forgotten")
            ledger.seal()

    def kill_at(n):
        calls = 0
        def counted(really):
            def call(*arguments, **keywords):
                nonlocal calls
                for moment in range(2):
                    calls += 1
                    if calls == n:
                        os.kill(os.getpid(), signal.SIGKILL)
                    if not moment:
                        result = really(*arguments, **keywords)
                return result
            return call
        for name in ("pwrite", "fdatasync", "fsync"):
            setattr(os, name, counted(getattr(os, name)))
        class Counted(sqlite3.Connection):
            def execute(self, sql, *rest):
                return counted(super().execute)(sql, *rest) if sql == "COMMIT" else super().execute(sql, *rest)
        sqlite3.connect = lambda *arguments, **keywords: Counted(*arguments, **keywords)

    n = n_killed = 0
    while True:
        n += 1
        shutil.rmtree(home, ignore_errors=True)
        sent.unlink(missing_ok=True)
        home.mkdir()
        child = os.fork()
        if not child:
            kill_at(n)
            act()
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        acknowledged = [line.split() for line in sent.read_text().splitlines()] if sent.exists() else []
        with Store.open(home / "hearth.db") as store:
            ledger = Ledger(store)
            verdict = ledger.verify()
            assert verdict.is_whole, (n, verdict)
            known = {str(entry.number): entry.hash for entry in ledger.entries()}
            assert all(known.get(number) == digest for number, digest in acknowledged), (n, known, acknowledged)
            ledger.append(Draft("sent", "h.example", "after", b"x", 1))
            verdict = ledger.verify()
            assert verdict.is_whole and not verdict.notes, (n, verdict)
        if status == 0:
            break
        n_killed += 1
    print(json.dumps(n_killed))
"""


@pytest.mark.slow
def test_killed_at_any_moment_the_ledger_is_whole_and_what_was_acknowledged_is_in_it(tmp_path: Path) -> None:
    script = tmp_path / "crash.py"
    script.write_text(textwrap.dedent(CRASH))
    command = [sys.executable, "-W", "ignore::DeprecationWarning", str(script), str(tmp_path / "home")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) >= 18
