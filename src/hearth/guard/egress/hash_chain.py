"""Defines the ledger's entries and their hash chain: pure functions over rows, from the database or an exported file.

An entry's hash is SHA-256 over the hash of the entry before it and its own columns as a JSON list. The content (bytes
sent, and the values of stand-ins) goes in as a salted hash of its own, so that it can be erased and the chain still be
verified. Covered: any byte of any column. Not covered: somebody who recomputes all hashes; see `guard.egress.ledger`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hearth.errors import NotFound, StoreError

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
