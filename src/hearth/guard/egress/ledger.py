"""Records what left this device: append-only, chained entry by entry, on disk before anything is sent.

An entry says who (host, address), what (exact bytes, and the values of the stand-ins in them), when, why (episode,
step, reason), how (port, TLS) and under which rule. Its hash is SHA-256 over the hash of the entry before it and all
its own columns; the content goes in as a salted hash of its own, so that it can be erased and the chain still be
verified. The last hash and the count are kept twice beside the entries: in the database and in the file `ledger.head`.

Covered: any byte of any entry changed; entries removed, inserted, exchanged, cut off at the end; the head changed, lost
or older than the entries; a process killed between any two writes (the head is then behind by one, which the next entry
mends). An erasure is an entry, too. Damage done before an entry was written stays visible: the entry that follows is a
scar that names it.
Not covered: somebody who can write these files and rewrites all of it, heads included, or puts back an older copy of
the whole home: no key is kept that such a person could not read. Against that, keep the head of an export elsewhere
(`hearth ledger verify --head`). A head file that is emptied, not removed, with four entries or fewer looks like a power
cut. An entry may stand for something that then failed to be sent, never the other way round.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import errno
import fcntl
import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hearth.errors import StoreError, StoreFullError
from hearth.guard.egress.hash_chain import (
    COLUMNS,
    FORMAT,
    GENESIS,
    SLOT_BYTES,
    STORED,
    Chain,
    Draft,
    Entry,
    Head,
    Verdict,
    content_hash,
    disagreement,
    entry_hash,
    entry_of,
    head_from_text,
    numbers_in,
    read_slots,
    read_stand_ins,
    row_to_json,
    slot,
)
from hearth.storage.database import Store

_PAGE = 64
_LAST_NUMBER = 1 << 62
"""Far more than can ever be written; the database holds numbers up to twice that."""

# ── The ledger ────────────────────────────────────────────────────────────────────────────────────────────


class Ledger:
    """The ledger of one home. Safe to use from several threads and processes."""

    def __init__(self, store: Store, clock: Callable[[], dt.datetime] | None = None) -> None:
        """Open the ledger in `store`; messages recorded before it had a chain are chained now.

        Raises:
            StoreError: As for `Store.transaction`.
        """
        self._store = store
        self._clock = clock or (lambda: dt.datetime.now(dt.UTC))
        self.head_path = store.path.with_name("ledger.head")
        if not store.query("SELECT 1 FROM meta WHERE name='ledger'") and self._is_unchained():
            self._adopt()

    # ── Writing ───────────────────────────────────────────────────────────────────────────────────────────

    def append(self, draft: Draft) -> Entry:
        """Write an entry; entry and head are on disk when this returns, and only then may anything be sent.

        Raises:
            StoreError: It could not be recorded (StoreFullError: no space); nothing may be sent.
        """
        with self._locked(is_made=True) as (handle, is_new):
            with self._store.transaction() as cursor:
                self._scar(cursor, handle, is_new=is_new)
                entry = self.add(cursor, draft)
            self._write_head(handle, Head(entry.number, entry.hash))
        return entry

    def erase(self, cursor: sqlite3.Cursor, numbers: Iterable[int], why: str) -> int:
        """Forget the contents of entries inside a transaction of the caller, who calls `seal` after it.

        Hash, host, time, reason and number of bytes stay, so that the chain still verifies.

        Returns:
            The number of entries that had content which is now gone.
        """
        wanted = sorted(set(numbers))
        held = [
            number
            for number in wanted
            if cursor.execute(
                "SELECT 1 FROM disclosure WHERE number=? AND salt IS NOT NULL AND kind NOT IN ('erased', 'scar')"
                " AND (payload <> x'' OR stands_for_json <> '{}')",
                (number,),
            ).fetchone()
        ]
        if held:
            self.add(cursor, Draft("erased", "", why, json.dumps(held).encode()))
            cursor.executemany(
                "UPDATE disclosure SET salt=NULL, payload=NULL, stands_for_json=NULL WHERE number=?",
                [(number,) for number in held],
            )
        return len(held)

    def seal(self) -> None:
        """Rewrite the head file after a transaction that contained `erase`."""
        with self._locked(is_made=True) as (handle, is_new):
            if is_new:
                with self._store.transaction() as cursor:
                    self._scar(cursor, handle, is_new=True)
            head = _meta_head(self._store.query("SELECT value FROM meta WHERE name='ledger'"))
            if head is not None:
                self._write_head(handle, head)

    def add(self, cursor: sqlite3.Cursor, draft: Draft) -> Entry:
        """Write an entry inside a transaction of the caller, who then calls `seal` and sends nothing before."""
        last = cursor.execute("SELECT number, hash FROM disclosure ORDER BY number DESC LIMIT 1").fetchone()
        known = _meta_head(cursor.execute("SELECT value FROM meta WHERE name='ledger'").fetchall()) or Head(0, GENESIS)
        number = max(last["number"] if last else 0, known.count) + 1
        if number >= _LAST_NUMBER:
            raise StoreError(
                f"entry {number - 1} of the ledger is not what was written, nothing was sent; `hearth ledger verify` "
                "says what is wrong"
            )
        moment = self._clock()
        stands_for = json.dumps(dict(draft.stands_for), ensure_ascii=True, sort_keys=True, separators=(",", ":"))
        salt = secrets.token_bytes(16)
        row: dict[str, Any] = {
            "number": number,
            "kind": draft.kind,
            "at": moment.isoformat(),
            "day": moment.date().isoformat(),
            "host": draft.host,
            "port": draft.port,
            "address": draft.address,
            "tls": draft.tls,
            "reason": draft.reason,
            "rule": draft.rule,
            "episode": draft.episode,
            "step": draft.step,
            "n_bytes": draft.n_bytes,
            "n_tokens": draft.n_tokens,
            "usd": float(draft.usd),
            "content_hash": content_hash(salt, draft.payload, stands_for),
        }
        row["hash"] = entry_hash(str(last["hash"]) if last else GENESIS, row)
        row.update(salt=salt, payload=draft.payload, stands_for_json=stands_for)
        cursor.execute(_INSERT, row)
        cursor.execute("INSERT OR REPLACE INTO meta VALUES ('ledger', ?)", (str(Head(number, row["hash"])),))
        return entry_of(row)

    def _scar(self, cursor: sqlite3.Cursor, handle: int, *, is_new: bool) -> None:
        """Write a scar when entries and heads do not agree, so that what follows cannot hide it.

        Args:
            is_new: The head file was missing. It is on disk before the first entry, so somebody removed it.
        """
        last = cursor.execute("SELECT number, hash FROM disclosure ORDER BY number DESC LIMIT 1").fetchone()
        at_end = Head(last["number"], str(last["hash"])) if last else Head(0, GENESIS)
        known = _meta_head(cursor.execute("SELECT value FROM meta WHERE name='ledger'").fetchall())
        filed, _ = read_slots(os.pread(handle, 2 * SLOT_BYTES, 0))

        def hash_of(number: int) -> str:
            row = cursor.execute("SELECT hash FROM disclosure WHERE number=?", (number,)).fetchone()
            return str(row["hash"]) if row else GENESIS if number == 0 else ""

        what = disagreement(at_end, known, filed, hash_of)
        if not what and is_new and at_end.count and not filed.count:
            what = f"the head file was missing, there are {at_end.count} entries"
        if what:
            highest = max(at_end.count, known.count if known else 0, filed.count)
            cursor.execute(
                "INSERT OR REPLACE INTO meta VALUES ('ledger', ?)", (str(Head(highest, at_end.hash)),)
            )  # numbers that were given out are not given out again
            self.add(cursor, Draft("scar", "", what))

    def _is_unchained(self) -> bool:
        n_chained = self._store.query("SELECT count(*) FROM disclosure WHERE hash <> ''")[0][0]
        n_rows = self._store.query("SELECT count(*) FROM disclosure")[0][0]
        return bool(n_rows) and not n_chained and not self.head_path.exists()

    def _adopt(self) -> None:
        with self._locked(is_made=True) as (handle, _):
            head = Head(0, GENESIS)
            with self._store.transaction() as cursor:
                numbers = [row[0] for row in cursor.execute("SELECT number FROM disclosure ORDER BY number")]
                for number in numbers:
                    row = dict(cursor.execute("SELECT * FROM disclosure WHERE number=?", (number,)).fetchone())
                    payload = row["payload"] if isinstance(row["payload"], bytes) else str(row["payload"]).encode()
                    salt = secrets.token_bytes(16)
                    row.update(salt=salt, payload=payload, stands_for_json="{}")
                    row["content_hash"] = content_hash(salt, payload, "{}")
                    row["hash"] = entry_hash(head.hash, row)
                    cursor.execute(
                        "UPDATE disclosure SET salt=:salt, payload=:payload, stands_for_json=:stands_for_json,"
                        " content_hash=:content_hash, hash=:hash WHERE number=:number",
                        row,
                    )
                    head = Head(number, row["hash"])
                cursor.execute("INSERT OR REPLACE INTO meta VALUES ('ledger', ?)", (str(head),))
            self._write_head(handle, head)

    @contextlib.contextmanager
    def _locked(self, *, is_made: bool) -> Iterator[tuple[int, bool]]:
        """Lock the head file against other writers; also yield whether it was created just now.

        Raises:
            StoreError: It cannot be opened.
        """
        flags, is_new = os.O_RDWR | os.O_CLOEXEC, False
        try:
            try:
                handle = os.open(self.head_path, flags)
            except FileNotFoundError:
                if not is_made:
                    raise
                with contextlib.suppress(FileExistsError):  # another process may have made it since
                    os.close(os.open(self.head_path, flags | os.O_CREAT | os.O_EXCL, 0o600))
                    is_new = True
                handle = os.open(self.head_path, flags)
            if is_new:
                folder = os.open(self.head_path.parent, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
        except OSError as error:
            raise _unwritable(self.head_path, error) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield handle, is_new
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)  # the duplicate handle that is being synced would keep the lock
            os.close(handle)

    def _write_head(self, handle: int, head: Head) -> None:
        """Write the head into the slot that does not hold the previous head, so that one of the two is always whole.

        Every process sees it at once; it is synced to disk in parallel with whatever comes next, which halves the time
        of an append. A power cut before that leaves a head that is behind, as a crash does.
        """
        try:
            os.pwrite(handle, slot(head), head.count % 2 * SLOT_BYTES)
            forced = os.dup(handle)
        except OSError as error:
            raise _unwritable(self.head_path, error) from None
        threading.Thread(target=_force, args=(forced,), daemon=True, name="ledger head").start()

    # ── Reading ───────────────────────────────────────────────────────────────────────────────────────────

    def head(self) -> Head:
        """The last entry's number and hash, according to the database."""
        return _meta_head(self._store.query("SELECT value FROM meta WHERE name='ledger'")) or Head(0, GENESIS)

    def entries(self, *, episode: str = "", after: int = 0) -> Iterator[Entry]:
        """Yield entries in order, of one episode or of all, reading a page at a time."""
        while rows := self._rows_after(after, episode):
            yield from map(entry_of, rows)
            after = rows[-1]["number"]

    def used_since(self, day: str, host: str = "") -> tuple[int, int, float]:
        """Sum bytes, tokens and money of all entries of `day` (ISO) and later, also when the clock was set back."""
        row = self._store.query(
            "SELECT coalesce(sum(n_bytes), 0), coalesce(sum(n_tokens), 0), coalesce(sum(usd), 0.0) FROM disclosure"
            " WHERE day >= :day AND (:host = '' OR host = :host)",
            {"day": day, "host": host},
        )[0]
        return int(row[0]), int(row[1]), float(row[2])

    def holding(self, needles: Iterable[bytes], *, any_case: bool = False) -> tuple[int, ...]:
        """Find the numbers of the entries whose bytes, or whose stand-ins' values, hold one of `needles`.

        Args:
            any_case: Ignore the case of Latin letters.
        """
        wanted = [needle.lower() if any_case else needle for needle in needles]
        found: list[int] = []
        after = 0
        while wanted and (rows := self._rows_after(after)):
            for row in rows:
                text = _restored(row).lower() if any_case else _restored(row)
                if row["kind"] not in ("erased", "scar") and any(needle in text for needle in wanted):
                    found.append(row["number"])
            after = rows[-1]["number"]
        return tuple(found)

    def verify(self, progress: Callable[[int], object] = lambda _: None, kept: Head | None = None) -> Verdict:
        """Check every entry, the chain and the heads. Memory does not grow with the number of entries.

        Args:
            progress: Called now and then with the number of entries done.
            kept: A head that was kept elsewhere: that entry must still have that hash.
        """
        meta = self._store.query("SELECT value FROM meta WHERE name='ledger'")
        known = _meta_head(meta)
        filed, damage = Head(0, GENESIS), ""
        if self.head_path.exists():
            with self._locked(is_made=False) as (handle, _):  # no writer is between an entry and its head
                known = _meta_head(self._store.query("SELECT value FROM meta WHERE name='ledger'"))
                filed, damage = read_slots(os.pread(handle, 4 * SLOT_BYTES, 0))
        elif self._store.query("SELECT 1 FROM disclosure LIMIT 1"):
            damage = "it is missing"
        end = self._store.query("SELECT coalesce(max(number), 0) FROM disclosure")[0][0]
        chain = Chain(_erased_numbers(self._store))
        marks = {filed.count: "", **({kept.count: ""} if kept else {})}
        after = 0
        while after < end and (rows := self._rows_after(after)):
            for row in rows:
                chain.take(row)
                if row["number"] in marks:
                    marks[row["number"]] = str(row["hash"])
            after = rows[-1]["number"]
            progress(chain.n)
        if damage:
            chain.fault(0, f"the file {self.head_path.name}: {damage}")
        elif what := disagreement(chain.head, known, filed, lambda n: GENESIS if n == 0 else marks.get(n, "")):
            chain.fault(0, what)
        if kept and marks.get(kept.count) != (kept.hash if kept.count else ""):
            chain.fault(kept.count, "it is not the entry whose hash was kept elsewhere")
        behind = chain.head.count - filed.count
        notes = (
            (f"{self.head_path.name} is behind by {behind}: a process was cut off while writing",)
            if behind > 0 and not chain.n_faults
            else ()
        )
        return Verdict(chain.n, chain.n_erased, chain.head, tuple(chain.faults), chain.n_faults, notes)

    def export(self, target: Path, progress: Callable[[int], object] = lambda _: None) -> Head:
        """Write all entries as JSON lines, the last line being the head; `verify_file` can check the file anywhere.

        Raises:
            StoreFullError, StoreError: It could not be written; no partial file is left.
        """
        temporary = target.with_name(f"{target.name}.part")
        head, n = self.head(), 0
        try:
            with open(temporary, "w", encoding="ascii", opener=_private) as file:
                file.write(json.dumps({"format": FORMAT, "columns": COLUMNS}) + "\n")
                after = 0
                while after < head.count and (rows := self._rows_after(after)):
                    for row in rows:
                        if row["number"] <= head.count:
                            file.write(json.dumps(row_to_json(row), ensure_ascii=True) + "\n")
                            n += 1
                    after = rows[-1]["number"]
                    progress(n)
                file.write(json.dumps({"head": asdict(head)}) + "\n")
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            kind = StoreFullError if error.errno in (errno.ENOSPC, errno.EDQUOT) else StoreError
            said = f"cannot write {str(target)!r}: {error.strerror}; name a file in a folder that can be written"
            raise kind(said) from None
        return head

    def _rows_after(self, number: int, episode: str = "") -> list[sqlite3.Row]:
        if episode:
            return self._store.query(
                "SELECT * FROM disclosure WHERE episode = ? AND number > ? ORDER BY number LIMIT ?",
                (episode, number, _PAGE),
            )
        return self._store.query("SELECT * FROM disclosure WHERE number > ? ORDER BY number LIMIT ?", (number, _PAGE))


def _force(handle: int) -> None:
    try:
        os.fdatasync(handle)
    finally:
        os.close(handle)


# ── Faults and rows ───────────────────────────────────────────────────────────────────────────────────────


def _meta_head(rows: list[sqlite3.Row]) -> Head | None:
    if not rows:
        return None
    try:
        return head_from_text(str(rows[0][0]))
    except ValueError:
        return Head(-1, "")


def _unwritable(path: Path, error: OSError) -> StoreError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFullError(f"no space left for {str(path)!r}; nothing was sent; make room and try again")
    return StoreError(f"cannot write {str(path)!r}: {error.strerror}; nothing was sent; check the home's permissions")


_INSERT = f"INSERT INTO disclosure ({', '.join(STORED)}) VALUES ({', '.join(':' + name for name in STORED)})"  # noqa: S608


def _restored(row: sqlite3.Row) -> bytes:
    """The bytes sent, both as they are and with every stand-in replaced by its value."""
    payload = row["payload"] or b""
    sent = payload if isinstance(payload, bytes) else str(payload).encode()
    stands_for = read_stand_ins(row["stands_for_json"])
    restored = sent
    for name in sorted(stands_for, key=len, reverse=True):
        for form in (str, lambda text: json.dumps(text)[1:-1]):
            old, new = (form(text).encode(errors="surrogatepass") for text in (name, stands_for[name]))
            restored = restored.replace(old, new)
    values = json.dumps(list(stands_for.values())) + "\n" + "\n".join(stands_for.values())
    return b"\n".join((sent, restored, values.encode(errors="surrogatepass"))) if stands_for else sent


def _erased_numbers(store: Store) -> set[int]:
    rows = store.query("SELECT payload FROM disclosure WHERE kind='erased'")
    return {number for row in rows for number in numbers_in(row["payload"])}


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
