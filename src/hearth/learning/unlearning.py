"""Forgetting for good: what is forgotten leaves the weights, the memory, every version and the files' bytes.

`find` says what would go, `forget` does it: in one commit the demonstrations leave what counts and what is set aside,
every version that held them, their scores and tasks, the record of the requests they came from. What plans is solved
anew without them, equal to the last bit to what never saw them; a trained tier two that saw them is dropped until the
next learning, and so are adapters of language students, first of all. Questions that wait for the cloud go with
anything that is forgotten: their words may be its words, masked. Then the database is written anew, so that no free
page holds a word of it, and the folder's files are searched for what should be gone. The receipt repeats nothing of it.

Each store that keeps some of it is a holder (`protocols.Holder`) in its own room, and this module walks over them. It
opens these itself: demonstrations, memory, recorded requests, comparisons, questions, the ledger; all others are
`memory.forgetting.open_holders`. While one of those cannot be opened or asked, nothing is forgotten; of one that fails
later, what it keeps stays, and the receipt says so. One that says it removed what it did not is found by the search.

A process killed in the middle leaves all of it or none; what the commit left to do is done when the state is next
opened. Not covered: the owner's own files (`owner/`), copies made by others (backups, file system snapshots, worn
cells of a flash disk), and what has left the device: the ledger forgets the bytes, not that they left.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import json
import re
import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from hearth.atomic_files import write_bytes
from hearth.edge.outbox import QuestionHolder
from hearth.errors import HearthError, NotFound, RegistryError, ToolError
from hearth.guard.egress.ledger import LedgerHolder, stored_forms, telling
from hearth.learning.demonstration_store import Entry
from hearth.learning.taught_holder import Resting, TaughtHolder, describe_anew, entries_of
from hearth.learning.versions.learned_state import Described, Progress, State, silent
from hearth.memory.forgetting import Attached, MemoryHolder, open_holders, remembered_in
from hearth.planning.deferral import AgreementHolder
from hearth.protocols import Dependent, Encoder, Held, Holder, Wanted
from hearth.registry import blamed
from hearth.storage.database import PIECE_BYTES, Store, is_plain, opened_bytes, pieces
from hearth.storage.trace import RecordHolder
from hearth.storage.workspace import Folder

_DATABASE = "hearth.db"
_LOCK = "hearth.lock"
_SEALED = b"age-encryption.org/"
_REFUSED = "nothing was forgotten, as the plug-in {!r}"
_STAYS = "what the plug-in {!r} keeps of it stays, as it"
_OF_A_STATEMENT = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH})
"""Errors of SQLite that what was asked of it brings about."""
_NEVER = dt.timedelta(days=36_500)
_NOTHING = Held("nothing")


@dataclass(frozen=True, slots=True)
class Found:
    """What would be forgotten."""

    taught: Held = _NOTHING
    """Demonstrations."""
    memories: Held = _NOTHING
    """Events of memory, with the facts and sentences that go with them."""
    record: Held = _NOTHING
    """Requests whose record goes; none where it is to stay."""
    compared: Held = _NOTHING
    """Comparisons with a teacher that hold it."""
    left: Held = _NOTHING
    """Entries of the ledger whose bytes match, beside those of the requests."""
    with_record: bool = True
    """Whether the record of what was asked goes, too, and with it the bytes the ledger keeps."""
    held: tuple[Held, ...] = ()
    """What all other holders (`memory.forgetting.open_holders`) keep of it."""
    waiting: Held = _NOTHING
    """Questions that wait for the cloud, or for its answer to be taken: those that match, and all where anything else
    goes, as their words may be its words. They can be asked again."""

    @property
    def demonstrations(self) -> tuple[Entry, ...]:
        return entries_of(self.taught)

    @property
    def events(self) -> tuple[tuple[str, str], ...]:
        """Id and text of memories."""
        return remembered_in(self.memories).events

    @property
    def attached(self) -> Attached:
        """Facts, and sentences of summaries, that go with the memories."""
        return remembered_in(self.memories).attached

    @property
    def episodes(self) -> tuple[tuple[str, str], ...]:
        """Id and request of what was asked."""
        return tuple(zip(self.record.events, self.record.texts, strict=True))

    @property
    def n_agreements(self) -> int:
        return _n(self.compared)

    @property
    def sent(self) -> tuple[int, ...]:
        """Numbers of the ledger's entries."""
        return self.left.rows if isinstance(self.left.rows, tuple) else ()

    @property
    def questions(self) -> tuple[tuple[str, str], ...]:
        """Id and words of the questions that wait."""
        ids = self.waiting.rows if isinstance(self.waiting.rows, tuple) else ()
        return tuple(zip(ids, self.waiting.texts, strict=True))

    @property
    def everywhere(self) -> tuple[Held, ...]:
        """What every store keeps of it, the questions that wait aside."""
        return self.taught, self.memories, self.record, self.compared, self.left, *self.held

    @property
    def texts(self) -> list[str]:
        """All words that are to be in no file afterwards."""
        return [text for one in (self.taught, self.memories, self.record, *self.held) for text in one.texts]

    @property
    def is_empty(self) -> bool:
        return self.waiting.is_empty and all(one.is_empty for one in self.everywhere)


def _n(held: Held) -> int:
    return sum(count.n for count in held.counts)


def _words(texts: Sequence[str]) -> Held:
    """Words alone, of whatever store."""
    return Held("words", texts=tuple(texts))


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was done, without a word of what was forgotten."""

    at: str
    n_demonstrations: int
    n_events: int
    n_episodes: int
    n_agreements: int
    versions_rewritten: tuple[int, ...]
    """Versions that had held some of it."""
    adapters_dropped: int
    """Trained second tiers, and adapters of language students, that had seen some of it."""
    skills_removed: int
    weights_before: str
    """SHA-256 of all that plans; empty when no demonstration was forgotten, or none was held."""
    weights_after: str
    held_before: str
    """SHA-256 over the digests of all demonstrations held."""
    held_after: str
    n_held: int
    rebuilt: tuple[str, ...]
    searched: int = 0
    """Files searched afterwards for the texts."""
    found_in: tuple[str, ...] = ()
    """Files that still hold some of it: copies Hearth does not write, to be removed by hand."""
    disclosures: int = 0
    """Messages that left this device and hold some of it: their record is kept, as asked."""
    n_erased: int = 0
    """Messages that left this device and held some of it: their bytes are erased; that they left, when and to whom
    stays in the ledger."""
    n_facts: int = 0
    n_lines: int = 0
    """Sentences taken out of summaries."""
    held: tuple[str, ...] = ()
    """What the other holders removed: numbers with their names."""
    stays: tuple[str, ...] = ()
    """What they left on purpose."""
    n_questions: int = 0
    """That waited for the cloud."""
    failed: tuple[str, ...] = ()
    """Holders that failed while the rest went, each with the reason: what they keep of it stays."""


# ── Finding ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Sought:
    """What is to be forgotten, as the owner named it; several conditions are joined by or."""

    demonstrations: Sequence[str] = ()
    """Ids."""
    events: Sequence[str] = ()
    """Ids; `fact:7` is a fact with all it replaced."""
    matching: str = ""
    """Text in a request, a plan, a memory or the record, whatever its case."""
    source: str = ""
    """Of demonstrations (`teacher`, `owner`, …)."""
    episode: str = ""
    """What was learnt and remembered from this request."""
    with_record: bool = True
    """Also the recorded requests that demonstrations came from, or that match."""
    wanted: Wanted | None = None
    """Memories by person, period or topic, with the requests that some of them are."""


def find(store: Store, sought: Sought, encoder: Encoder | None = None) -> Found:
    """Find what these words name, everywhere.

    Args:
        encoder: Finds memories by what a topic means, too.
    Raises:
        NotFound: An id that is nowhere; nothing was changed.
        RegistryError: A plug-in that may hold some of it cannot be loaded; nothing was changed.
    """
    matching, with_record = sought.matching, sought.with_record
    named = [id for id in sought.events if _IS_FACT.fullmatch(id) is None]
    facts = [int(id.removeprefix("fact:")) for id in sought.events if _IS_FACT.fullmatch(id)]
    meant = MemoryHolder(store, encoder).find((), sought.wanted, "").events
    asked = [*filter(None, [sought.episode]), *sorted(meant)]
    taught = TaughtHolder(store, sought.demonstrations, sought.source).find(asked, None, matching)
    records, memory = RecordHolder(store), MemoryHolder(store, facts=facts)
    record = records.find({*asked, *(taught.events if with_record else ())}, None, matching if with_record else "")
    if sought.episode and record.is_empty and taught.is_empty:
        raise NotFound(f"no episode {sought.episode!r}; `hearth history` lists the ones there are")
    remembered = memory.find({*named, *meant, *record.events}, sought.wanted, matching)
    remembered, others = _with_holders(memory, remembered, sought, (taught, record))
    if with_record and (quoting := records.find_with(record, others)) != record:
        record = quoting
        remembered, others = _with_holders(memory, memory.find_with(remembered, (record,)), sought, (taught, record))
    if missing := [id for id in named if id not in remembered.events]:
        raise NotFound(f"no event {missing[0]!r} in memory; it may have been forgotten already")
    comparisons = AgreementHolder(store)
    compared = comparisons.find_with(comparisons.find(record.events, None, matching), (taught,))
    left = LedgerHolder(store).find((), None, matching if with_record else "")
    record = record if with_record else _NOTHING
    found = Found(taught, remembered, record, compared, left, with_record, others)
    questions = QuestionHolder(store)
    return replace(found, waiting=questions.find_with(questions.find((), None, matching), found.everywhere))


def _with_holders(
    memory: MemoryHolder, remembered: Held, sought: Sought, before: Sequence[Held]
) -> tuple[Held, tuple[Held, ...]]:
    """These memories with those that go with what holders keep, and what they keep of all of them.

    Args:
        before: What was found already, beside the memories, for holders that depend on it.
    """
    holders = _holders(memory.store)
    while True:
        held: dict[str, Held] = {}
        for name, holder in holders.items():
            with blamed(_REFUSED.format(name)):
                found = holder.find(set(remembered.events), sought.wanted, sought.matching)
                held[name] = replace(found, holder=name)
        widened = []
        for name, one in held.items():
            others = (*before, remembered, *(other for other in held.values() if other is not one))
            with blamed(_REFUSED.format(name)):
                widened.append(_widened(holders[name], one, others))
        with_them = memory.find_with(remembered, widened)
        if with_them.events == remembered.events:
            return remembered, tuple(widened)
        remembered = with_them  # what goes with one holder's may be kept by another, too


def _widened(holder: Holder, found: Held, others: Sequence[Held]) -> Held:
    """What a holder found, with what goes with what the others found where it depends on them."""
    return replace(holder.find_with(found, others), holder=found.holder) if isinstance(holder, Dependent) else found


def _holders(store: Store) -> Mapping[str, Holder]:
    """Raises: RegistryError: One cannot be opened, so that what it keeps would stay."""
    holders = open_holders(store)
    if holders.faults:
        raise RegistryError(f"nothing was forgotten, as some of it would stay: {'; '.join(holders.faults)}")
    return holders.by_name


_IS_FACT = re.compile(r"fact:\d{1,18}")


# ── Forgetting ────────────────────────────────────────────────────────────────────────────────────────────


def forget(state: State, found: Found, progress: Progress = silent) -> Receipt:
    """Remove what was found, for good.

    Returns:
        The receipt, also written to `receipts/` in the folder.
    Raises:
        StoreError: Nothing was forgotten, unless the message says that the erasing is to be finished: then the next
            opening does it.
    """
    plug_ins = _holders(state.store)  # first: while one cannot be opened, nothing may go
    store, taught, ledger = state.store, TaughtHolder(state.store), LedgerHolder(state.store)
    before = _hashes(state, is_taught=not found.taught.is_empty)
    made = _without(state, frozenset(entry.id for entry in found.demonstrations), progress)
    resting = taught.resting_on(found.taught)
    left = ledger.find_with(found.left, (found.record, _words(found.texts))) if found.with_record else found.left
    own = (
        (taught, found.taught),
        (AgreementHolder(store), found.compared),
        (RecordHolder(store), found.record),
        (MemoryHolder(store), found.memories),
        (QuestionHolder(store), found.waiting),
        (ledger, left),
    )
    for holder, held in own:
        holder.sweep(state.folder, held)
    failed = _swept(state.folder, plug_ins, found)
    with store.transaction() as cursor:
        failed |= _taken_out(cursor, plug_ins, [held for held in found.held if held.holder not in failed])
        for holder, held in own:
            holder.remove(cursor, held)
        current = state.lineage.current()
        if made is not None and current is not None:
            describe_anew(cursor, current.number, made, len(state.lineage.members(current.number)))
        cursor.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('erase', '1')")
    if not left.is_empty:
        ledger.seal()
    state.sweep()
    if found.episodes and (state.folder / "owner").is_dir():
        Folder(state.folder / "owner", store).prune(_NEVER)  # large before-images that nothing refers to any more
    state.erase()
    receipt = replace(
        _receipt(found, before, resting, is_described=made is not None),
        n_erased=_n(left),
        failed=tuple(failed.values()),
        held=tuple(str(c) for held in found.held if held.holder not in failed for c in held.counts if c.n),
    )
    receipt = _completed(state, receipt, found.texts)
    path = state.folder / "receipts" / f"forgotten-{receipt.at.replace(':', '')}-{secrets.token_hex(2)}.json"
    write_bytes(path, (json.dumps(asdict(receipt), indent=2) + "\n").encode())
    return receipt


def _swept(folder: Path, holders: Mapping[str, Holder], found: Found) -> dict[str, str]:
    """Let each holder remove its files. Returns: Those that failed, and why."""
    failed: dict[str, str] = {}
    for held in found.held:
        try:
            with blamed(_STAYS.format(held.holder)):
                holders[held.holder].sweep(folder, held)
        except HearthError as error:
            failed[held.holder] = str(error)
    return failed


def _taken_out(cursor: sqlite3.Cursor, holders: Mapping[str, Holder], helds: Sequence[Held]) -> dict[str, str]:
    """Let each holder remove its rows; of one that fails, nothing. Returns: Those that failed, and why."""
    failed: dict[str, str] = {}
    for held in helds:
        cursor.execute("SAVEPOINT holder")
        try:
            with blamed(_STAYS.format(held.holder), sqlite3.Error):
                _removed_by(holders[held.holder], cursor, held)
        except HearthError as error:
            cursor.execute("ROLLBACK TO holder")
            failed[held.holder] = str(error)
        cursor.execute("RELEASE holder")
    return failed


def _removed_by(holder: Holder, cursor: sqlite3.Cursor, held: Held) -> None:
    """Raises: ToolError: The holder's own statement is at fault. sqlite3.Error: The database is, and all must stop."""
    try:
        holder.remove(cursor, held)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_FULL) not in _OF_A_STATEMENT:
            raise
        raise ToolError(f"{_STAYS.format(held.holder)} failed: {error}; update it, or uninstall it") from error


def _hashes(state: State, *, is_taught: bool) -> tuple[str, str, int]:
    held = state.buffer.ids()
    digests = hashlib.sha256("\n".join(sorted(held.values())).encode()).hexdigest()
    return state.digest() if is_taught else "", digests, len(held)


def _without(state: State, gone: frozenset[str], progress: Progress) -> Described | None:
    """Describe the current version without `gone`; None when none of it was learnt."""
    version = state.lineage.current()
    if version is None or not gone & state.lineage.members(version.number).keys():
        return None
    return state.described_without(gone, progress)


def _receipt(found: Found, before: tuple[str, str, int], resting: Resting, *, is_described: bool) -> Receipt:
    """What was done, in numbers; what is known only after the search is not in it yet."""
    n_taught = len({entry.id for entry in found.demonstrations})
    rebuilt = ["what is known of the current version: its tasks and scores"] if is_described else []
    rebuilt += ["the weights of what plans, solved anew", "the episodic memory and its index"] if n_taught else []
    rebuilt += ["the search over memories"] if found.events else []
    rebuilt.append("the database file, written anew")
    return Receipt(
        at=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        n_demonstrations=n_taught,
        n_events=len(found.events),
        n_episodes=len(found.episodes),
        n_agreements=found.n_agreements,
        versions_rewritten=resting.versions,
        adapters_dropped=len(resting.adapters) + resting.n_language,
        skills_removed=len(resting.skills),
        weights_before=before[0],
        weights_after="",
        held_before=before[1],
        held_after="",
        n_held=before[2],
        rebuilt=tuple(rebuilt),
        n_facts=len(found.attached.facts),
        n_lines=len(found.attached.lines),
        stays=tuple(held.stays for held in found.held if held.stays and not held.is_empty),
        n_questions=len(found.questions),
    )


# ── Afterwards ────────────────────────────────────────────────────────────────────────────────────────────


def _said_by_nothing_held(store: Store, home: Path, needles: Sequence[bytes]) -> list[bytes]:
    """Those texts that are no part of what is still held: a longer request may go on saying the same words, and a file
    of the owner's that is still there has its name."""
    rows = store.query(
        "SELECT request FROM demonstration UNION ALL SELECT request FROM set_aside UNION ALL SELECT request FROM "
        "episode UNION ALL SELECT text FROM event UNION ALL SELECT text FROM summary_line UNION ALL SELECT subject || "
        "' ' || relation || ' ' || value FROM fact UNION ALL SELECT text FROM utterance"
    )
    files = (row["path"] for row in store.query("SELECT path FROM passage_file"))
    held = "\n".join([*(row[0] for row in rows), *(path for path in files if (home / "owner" / path).exists())])
    whole = held.encode(errors="surrogatepass"), json.dumps(held).encode()
    return [needle for needle in needles if not any(needle in text for text in whole)]


def _search(
    store: Store, folder: Path, needles: Sequence[bytes], in_database: Sequence[bytes]
) -> tuple[int, tuple[str, ...]]:
    """How many files were searched, and those that hold any of the texts; the owner's own files are not looked at.

    What is encrypted is searched as it reads when it is opened; of an encrypted database that is its rows.

    Args:
        in_database: Texts that must not be in the database.
    """
    if not needles:
        return 0, ()
    n, left = 0, []
    overlap = max(map(len, needles)) - 1
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts
        if inside[0] in ("owner", "tools", _LOCK) or not path.is_file() or path.is_symlink():
            continue  # what the owner keeps, and the words of this very command
        n += 1
        tail = b""
        wanted = in_database if inside[0].startswith(_DATABASE) else needles
        for chunk in _content(path, store) if inside[0].startswith(_DATABASE) else _opened(path, folder):
            block = tail + chunk
            if any(needle in block for needle in wanted):
                left.append(str(path.relative_to(folder)))
                break
            tail = block[-overlap:] if overlap else b""
    return n, tuple(left)


def _content(path: Path, store: Store) -> Iterator[bytes]:
    """Yield what a file of the database holds."""
    if is_plain(store.path):
        yield from pieces(path)
    elif path == store.path:
        for (name,) in store.query(
            "SELECT name FROM sqlite_schema WHERE type='table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
        ):
            for row in store.query(f'SELECT * FROM "{name}"'):  # noqa: S608 - its own names
                yield b"\0".join(
                    value if isinstance(value, bytes) else str(value).encode(errors="surrogatepass")
                    for value in row
                    if value is not None
                )


def _opened(path: Path, home: Path) -> Iterator[bytes]:
    """Yield what a file that is not the database holds."""
    with path.open("rb") as file:
        if file.read(len(_SEALED)) == _SEALED:
            with contextlib.suppress(ToolError):  # damaged: nobody can read it
                yield opened_bytes(path, home)
            return
        file.seek(0)
        while chunk := file.read(PIECE_BYTES):
            yield chunk


def _completed(state: State, receipt: Receipt, texts: Sequence[str]) -> Receipt:
    """The receipt with what is held now, and with where the texts still are."""
    needles = stored_forms(telling(texts))
    n_files, left = _search(
        state.store, state.folder, needles, _said_by_nothing_held(state.store, state.folder, needles)
    )
    weights, held, n = _hashes(state, is_taught=bool(receipt.n_demonstrations))
    n_out = _n(LedgerHolder(state.store).find_with(_NOTHING, (_words(texts),)))
    if n_out:
        left = tuple(name for name in left if name != "hearth.db")
    done = replace(receipt, weights_after=weights, held_after=held, n_held=n)
    return replace(done, searched=n_files, found_in=left, disclosures=n_out)
