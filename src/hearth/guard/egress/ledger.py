"""Records what left this device: append-only, chained entry by entry, on disk before anything is sent.

An entry says who (host, address), what (exact bytes, and the values of the stand-ins in them), when, why (episode,
step, reason), how (port, TLS) and under which rule. Its hash is SHA-256 over the hash of the entry before it and all
its own columns; the content goes in as a salted hash of its own, so that it can be erased and the chain still be
verified. The last hash and the count are kept twice beside the entries: in the database and in the file `ledger.head`.

Covered: any byte of any entry changed; entries removed, inserted, exchanged, cut off at the end; the head changed, lost
or older than the entries; a process killed between any two writes (the head is then behind by one, which the next entry
mends). An erasure is an entry, too. Damage done before an entry was written stays visible: the entry that follows is a
scar that names it. Not covered: somebody who can write these files and rewrites all of it, heads included, or puts back
an older copy of the whole home: no key is kept that such a person could not read. Against that, keep the head of an
export elsewhere (`hearth ledger verify --head`). A head file that is emptied, not removed, with four entries or fewer
looks like a power cut. An entry may stand for something that then failed to be sent, never the other way round.
"""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import errno
import fcntl
import hashlib
import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from hearth.errors import NotFound, StoreError, StoreFullError
from hearth.protocols import Count, Held, Wanted
from hearth.storage.database import Store

# ── The chain ──────────────────────────────────────────────────────────────────────────────────────────
# Defines the ledger's entries and their hash chain: pure functions over rows, from the database or an exported file.
# An entry's hash is SHA-256 over the hash of the entry before it and its own columns as a JSON list. The content
# (bytes sent, and the values of stand-ins) goes in as a salted hash of its own, so that it can be erased and the
# chain still be verified. Covered: any byte of any column. Not covered: somebody who recomputes all hashes; see
# `guard.egress.ledger`.


Kind = Literal["sent", "permitted", "opened", "used", "refused", "erased", "scar"]
"""`sent`: bytes of the owner's left. `permitted`: a library was let out to a host; what it says it sent follows as
`sent`. `opened`: a connection was opened, with nothing of the owner's on it yet. `used`: tokens and money an answer
cost. `refused`: something was kept from leaving, and why. `erased`: the contents of earlier entries were forgotten.
`scar`: the ledger was found changed when this was written."""

GENESIS = "0" * 64
"""Hash that stands for the entry before the first."""
COLUMNS = (
    *("number", "kind", "at", "day", "host", "port", "address", "tls", "reason", "rule", "episode", "step"),
    *("n_bytes", "n_tokens", "usd", "content_hash"),
)
"""Columns that an entry's hash covers, in this order."""
_TEXTS = ("kind", "at", "day", "host", "address", "tls", "reason", "rule", "episode", "content_hash")
_CONTENT = ("salt", "payload", "stands_for_json")
_HAS_CONTENT = (
    "SELECT 1 FROM disclosure WHERE number=? AND salt IS NOT NULL AND kind NOT IN ('erased', 'scar')"
    " AND (payload <> x'' OR stands_for_json <> '{}')"
)
STORED = (*COLUMNS, "hash", *_CONTENT)
SLOT_BYTES = 128
_MAX_BEHIND = 4
"""Most entries the head file may lack after a crash or a power cut: those being written at that moment."""
_N_FAULTS_KEPT = 100
FORMAT = "hearth-ledger-1"


@dataclass(frozen=True, slots=True)
class Draft:
    """A disclosure about to happen, before it has a place in the ledger."""

    kind: Kind
    host: str
    reason: str
    payload: bytes = b""
    n_bytes: int = 0
    """Bytes as sent; more than the payload holds if secrets are blotted out in it."""
    stands_for: Mapping[str, str] = field(default_factory=dict)
    """Stand-ins in the payload → the values they replaced."""
    port: int = 0
    address: str = ""
    tls: str = ""
    """Version and cipher, e.g. `TLSv1.3 TLS_AES_256_GCM_SHA384`; empty without TLS or if a library made it."""
    rule: str = ""
    episode: str = ""
    step: int | None = None
    n_tokens: int = 0
    usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the ledger."""

    number: int
    kind: Kind
    at: str
    day: str
    host: str
    port: int
    address: str
    tls: str
    reason: str
    rule: str
    episode: str
    step: int | None
    n_bytes: int
    n_tokens: int
    usd: float
    content_hash: str
    hash: str
    payload: bytes | None
    """None: forgotten."""
    stands_for: Mapping[str, str] | None
    """None: forgotten."""


@dataclass(frozen=True, slots=True)
class Head:
    """The number of entries, and the hash of the last."""

    count: int
    hash: str

    def __str__(self) -> str:
        return f"{self.count}:{self.hash}"


@dataclass(frozen=True, slots=True)
class Fault:
    number: int
    """Number of the entry; 0 for the ledger as a whole."""
    what: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of verifying a ledger."""

    n_entries: int
    n_erased: int
    """Entries whose content was forgotten, as an entry of the ledger says."""
    head: Head
    faults: tuple[Fault, ...]
    """In order, the first hundred."""
    n_faults: int
    notes: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        return self.n_faults == 0


# ── The chain ─────────────────────────────────────────────────────────────────────────────────────────────


def entry_hash(previous: str, row: Mapping[str, Any] | sqlite3.Row) -> str:
    """SHA-256 over the hash before and the columns as a JSON list. Raises: TypeError, ValueError: no entry's values."""
    text = json.dumps([row[name] for name in COLUMNS], ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(f"{previous}{text}".encode()).hexdigest()


def content_hash(salt: bytes, payload: bytes, stands_for_json: str) -> str:
    """SHA-256 over salt, length and bytes of the payload, and the stand-ins: cannot be guessed without the salt."""
    digest = hashlib.sha256(salt + len(payload).to_bytes(8, "big") + payload)
    digest.update(stands_for_json.encode(errors="surrogatepass"))
    return digest.hexdigest()


class Chain:
    """Takes entries in order and collects what is wrong with them."""

    def __init__(self, erased: set[int]) -> None:
        self.head = Head(0, GENESIS)
        self.faults: list[Fault] = []
        self.n_faults = 0
        self.n_erased = 0
        self.n = 0
        self._erased = erased

    def fault(self, number: int, what: str) -> None:
        self.n_faults += 1
        if len(self.faults) < _N_FAULTS_KEPT:
            self.faults.append(Fault(number, what))

    def take(self, row: Mapping[str, Any] | sqlite3.Row) -> None:
        number, expected = row["number"], self.head.count + 1
        self.n += 1
        if number != expected:
            between = f"{expected}" if number == expected + 1 else f"{expected} to {number - 1}"
            what = f"entry {between} is missing before it" if number > expected else "its number was there before"
            self.fault(number, what)
        try:
            is_right = entry_hash(self.head.hash, row) == row["hash"]
        except (TypeError, ValueError):
            is_right = False
        if not is_right:
            self.fault(number, "it, or the hash of the one before it, is not what was written")
        if row["kind"] == "scar":
            self.fault(number, f"when it was written, the ledger was found changed: {row['reason']}")
        self._check_content(row)
        self.head = Head(number, str(row["hash"]))

    def _check_content(self, row: Mapping[str, Any] | sqlite3.Row) -> None:
        salt, payload, stands_for = (row[name] for name in _CONTENT)
        if salt is None and payload is None and stands_for is None:
            self.n_erased += 1
            if row["number"] not in self._erased:
                self.fault(row["number"], "its content is gone, and no entry says that it was forgotten")
            return
        is_right = (
            isinstance(salt, bytes)
            and isinstance(payload, bytes)
            and isinstance(stands_for, str)
            and content_hash(salt, payload, stands_for) == row["content_hash"]
        )
        if not is_right:
            self.fault(row["number"], "its content is not what was written")
        elif row["number"] in self._erased:
            self.fault(row["number"], "its content was forgotten, and is there again")


# ── Heads ─────────────────────────────────────────────────────────────────────────────────────────────────


def disagreement(at_end: Head, known: Head | None, filed: Head, hash_of: Callable[[int], str]) -> str:
    """Describe how entries and heads disagree; empty when they agree, or the head file is behind as after a crash."""
    if known is None and at_end.count == 0 and filed.count == 0:
        return ""
    if known is None:
        return "the head in the database is missing"
    if at_end.count < known.count:
        return f"the head in the database counts {known.count} entries, the last one is {at_end.count}"
    if at_end != known:
        return f"the last entry ({at_end.count}) is not the one the database's head names ({known.count})"
    if filed.count > at_end.count:
        return f"the head file counts {filed.count} entries, the last one is {at_end.count}"
    if at_end.count - filed.count > _MAX_BEHIND:
        return f"the head file counts {filed.count} entries, there are {at_end.count}"
    if hash_of(filed.count) != filed.hash:
        return f"entry {filed.count} is not the one the head file names"
    return ""


def slot(head: Head) -> bytes:
    text = f"{head.count:020d} {head.hash}"
    return f"{text} {hashlib.sha256(text.encode()).hexdigest()[:16]}".ljust(SLOT_BYTES - 1).encode() + b"\n"


def read_slots(data: bytes) -> tuple[Head, str]:
    """Read the later of the two heads, and what is wrong with the file."""
    heads, damage = [Head(0, GENESIS)], ""
    for number in range(2):
        text = data[number * SLOT_BYTES : (number + 1) * SLOT_BYTES]
        if not text.strip(b"\0"):
            continue
        try:
            count, digest, _ = text.decode("ascii").split()
            head = Head(int(count), digest)
            is_right = slot(head) == text
        except (UnicodeDecodeError, ValueError):
            is_right = False
        if is_right:
            heads.append(head)
        else:
            damage = f"its line {number + 1} is not what was written"
    if len(data) > 2 * SLOT_BYTES:
        damage = "it is longer than what was written"
    return max(heads, key=lambda head: head.count), damage


# ── Rows, here and in files ───────────────────────────────────────────────────────────────────────────────


def entry_of(row: Mapping[str, Any] | sqlite3.Row) -> Entry:
    """Make a row fit to show, even a damaged one: verifying says what is wrong, but a list must not break off there."""
    held: dict[str, Any] = {name: _text(row[name]) for name in (*_TEXTS, "hash")}
    held |= {name: row[name] if isinstance(row[name], int) else 0 for name in ("number", "port", "n_bytes", "n_tokens")}
    held["usd"] = row["usd"] if isinstance(row["usd"], int | float) else 0.0
    held["step"] = row["step"] if isinstance(row["step"], int) else None
    held["payload"] = None if row["payload"] is None else _bytes(row["payload"])
    stands_for = None if row["stands_for_json"] is None else read_stand_ins(row["stands_for_json"])
    return Entry(**held, stands_for=stands_for)


def read_stand_ins(text: object) -> dict[str, str]:
    """Read the stand-ins and their values; empty if the text is damaged."""
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        found = None
    return {name: str(value) for name, value in found.items()} if isinstance(found, dict) else {}


def _text(value: object) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def row_to_json(row: sqlite3.Row) -> dict[str, Any]:
    document = {name: row[name] for name in (*COLUMNS, "hash", "stands_for_json")}
    for name in ("salt", "payload"):
        document[name] = None if row[name] is None else base64.b64encode(_bytes(row[name])).decode()
    return document


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def row_from_json(document: Mapping[str, Any]) -> dict[str, Any] | None:
    if document.keys() != set(STORED) or not isinstance(document["number"], int):
        return None
    row = dict(document)
    for name in ("salt", "payload"):
        if row[name] is not None:
            try:
                row[name] = base64.b64decode(row[name], validate=True)
            except (ValueError, TypeError):
                return None
            if base64.b64encode(row[name]).decode() != document[name]:
                return None
    return row


def verify_file(path: Path, progress: Callable[[int], object] = lambda _: None, kept: Head | None = None) -> Verdict:
    """Check an exported ledger as `guard.egress.ledger` checks the home's.

    Raises:
        NotFound: No such file. StoreError: It cannot be read.
    """
    chain = Chain(_erased_in_file(path))
    named: Head | None = None
    has_start, hash_kept = False, ""
    for place, document in documents(path):
        if place == 1 and document == {"format": FORMAT, "columns": list(COLUMNS)}:
            has_start = True
        elif document is None:
            chain.fault(0, f"line {place} is no JSON object")
        elif document.keys() == {"head"} and named is None:
            named = _head_of(document["head"])
        elif (row := row_from_json(document)) is None:
            chain.fault(0, f"line {place} is no entry")
        else:
            if named is not None:
                chain.fault(0, f"line {place} comes behind the head")
            chain.take(row)
            if kept and row["number"] == kept.count:
                hash_kept = str(row["hash"])
            if chain.n % 1000 == 0:
                progress(chain.n)
    if not has_start:
        chain.fault(0, "the first line is not that of an exported ledger")
    if named is None:
        chain.fault(0, "the head is missing; the end of the file was cut off")
    elif named != chain.head:
        chain.fault(0, f"the head says {named.count} entries, the last one here is {chain.head.count} or another one")
    if kept and kept.count and hash_kept != kept.hash:
        chain.fault(kept.count, "it is not the entry whose hash was kept elsewhere")
    progress(chain.n)
    return Verdict(chain.n, chain.n_erased, chain.head, tuple(chain.faults), chain.n_faults)


def head_from_text(text: str) -> Head:
    """Parse a head: the inverse of `str(Head)`. Raises: ValueError."""
    count, _, digest = text.strip().partition(":")
    if not (
        count.isascii()
        and count.isdigit()
        and len(count) < 19
        and len(digest) == 64
        and set(digest) <= set("0123456789abcdef")
    ):
        raise ValueError(f"{text!r} is no head; expected COUNT:HASH as `hearth ledger verify` prints it")
    return Head(int(count), digest)


def _erased_in_file(path: Path) -> set[int]:
    found: set[int] = set()
    for _, document in documents(path):
        if document and document.get("kind") == "erased" and (row := row_from_json(document)):
            found.update(numbers_in(row["payload"]))
    return found


def numbers_in(payload: object) -> list[int]:
    try:
        numbers = json.loads(payload if isinstance(payload, bytes | str) else b"")
    except ValueError:
        return []
    return [n for n in numbers if isinstance(n, int)] if isinstance(numbers, list) else []


def documents(path: Path) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """The lines of an export with their line numbers; None for a line that is not a JSON object."""
    try:
        with path.open("rb") as file:
            for place, line in enumerate(file, 1):
                try:
                    document = json.loads(line)
                except (ValueError, RecursionError):
                    document = None
                yield place, document if isinstance(document, dict) else None
    except FileNotFoundError:
        raise NotFound(f"there is no file {str(path)!r}; `hearth ledger export FILE` makes one") from None
    except OSError as error:
        raise StoreError(f"cannot read {str(path)!r}: {error.strerror}; check its permissions") from None


def _head_of(document: object) -> Head | None:
    if isinstance(document, dict) and document.keys() == {"count", "hash"}:
        return Head(document["count"], document["hash"])
    return Head(-1, "")


# ── The record on disk ─────────────────────────────────────────────────────────────────────────────────


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
        held = [number for number in sorted(set(numbers)) if cursor.execute(_HAS_CONTENT, (number,)).fetchone()]
        if held:
            self.add(cursor, Draft("erased", "", why, json.dumps(held).encode()))
            cursor.executemany(
                "UPDATE disclosure SET salt=NULL, payload=NULL, stands_for_json=NULL WHERE number=?",
                [(number,) for number in held],
            )
        return len(held)

    def with_content(self, numbers: Iterable[int]) -> tuple[int, ...]:
        """Return those of the entries, in order, that have content which could be erased."""
        return tuple(number for number in sorted(set(numbers)) if self._store.query(_HAS_CONTENT, (number,)))

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


# ── Forgetting ─────────────────────────────────────────────────────────────────────────────────────────

FEWEST_CHARACTERS = 8
"""Texts shorter than this are not searched for in bytes: they would be found by chance."""


class LedgerHolder:
    """A `protocols.Dependent` holder of the bytes that left; that they left, when and to whom stays."""

    name = "ledger"

    def __init__(self, store: Store) -> None:
        self._ledger = Ledger(store)

    def find(self, events: Collection[str], wanted: Wanted | None, words: str) -> Held:  # noqa: ARG002 - the seam's
        """Find the entries whose bytes were sent for the requests among `events`, or hold the words."""
        of_requests = [entry.number for id in events for entry in self._ledger.entries(episode=id)]
        return self._held(
            [*of_requests, *(self._ledger.holding(stored_forms([words]), any_case=True) if words else ())]
        )

    def find_with(self, found: Held, others: Sequence[Held]) -> Held:
        """Widen by the bytes that were sent for requests that go, or that hold a text of the others."""
        of_requests = [n.number for other in others for id in other.events for n in self._ledger.entries(episode=id)]
        with_texts = self._ledger.holding(stored_forms(telling(text for other in others for text in other.texts)))
        numbers = found.rows if isinstance(found.rows, tuple) else ()
        return self._held([*numbers, *of_requests, *with_texts])

    def _held(self, numbers: Iterable[int]) -> Held:
        rows = self._ledger.with_content(numbers)
        return Held(self.name, (Count(len(rows), "message that left", "messages that left"),), rows=rows or None)

    def remove(self, cursor: sqlite3.Cursor, held: Held) -> None:
        """Erase the bytes that were found; the caller calls `seal` after its transaction."""
        self._ledger.erase(cursor, held.rows if isinstance(held.rows, tuple) else (), "forgotten by the owner")

    def sweep(self, home: Path, held: Held) -> None:
        """Remove nothing: the file beside the database holds the head alone."""

    def seal(self) -> None:
        """Rewrite the head file after a transaction with `remove`."""
        self._ledger.seal()


def stored_forms(texts: Iterable[str]) -> list[bytes]:
    """Return texts as they stand in files and messages: as they are, and as JSON writes them."""
    forms: dict[bytes, None] = {}
    for text in texts:
        forms[text.encode(errors="surrogatepass")] = None
        forms[json.dumps(text)[1:-1].encode()] = None
    return list(forms)


def telling(texts: Iterable[str]) -> list[str]:
    """Return those of the texts that are long enough to be looked for in bytes."""
    return [text for text in texts if len(text.strip()) >= FEWEST_CHARACTERS]
