"""Forgetting for good: what is forgotten leaves the weights, the memory, every version and the files' bytes.

`find` says what would go, `forget` does it: in one commit the demonstrations leave what counts and what is set aside,
every version that held them, their scores and tasks, the record of the requests they came from. What plans is solved
anew without them, equal to the last bit to what never saw them; a trained tier two that saw them is dropped until the
next learning, and so are adapters of language students, first of all. Questions that wait for the cloud go with
anything that is forgotten: their words may be its words, masked. Then the database is written anew, so that no free
page holds a word of it, and the folder's files are searched for what should be gone. The receipt repeats nothing of it.

Each store that keeps some of it is a holder (`protocols.Holder`). While one cannot be opened or asked, nothing is
forgotten; of one that fails later, what it keeps stays, and the receipt says so. One that says it removed what it did
not is found by the search.

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from hearth.atomic_files import write_bytes
from hearth.edge import outbox
from hearth.errors import NotFound, RegistryError, ToolError
from hearth.formats.plans import texts_in
from hearth.guard.egress.ledger import Ledger
from hearth.learning.demonstration_store import Buffer, Entry, entry_of
from hearth.learning.versions.learned_state import Described, Progress, State, silent
from hearth.learning.versions.promotion_gate import JUDGE, Task, without
from hearth.memory import forgetting as memories
from hearth.memory.facts import FactStore
from hearth.memory.forgetting import SUMMARY, Attached, open_holders
from hearth.models.llm.openai_endpoint import ADAPTERS
from hearth.protocols import Encoder, Held, Holder, Wanted
from hearth.registry import blamed
from hearth.storage.database import PIECE_BYTES, Store, is_plain, opened_bytes, pieces
from hearth.storage.trace import N_MAX_STEPS
from hearth.storage.workspace import Folder

_FEWEST_CHARACTERS = 8
"""Texts shorter than this are not searched for in the files: they would be found by chance."""
_DATABASE = "hearth.db"
_LOCK = "hearth.lock"
_SEALED = b"age-encryption.org/"
_REFUSED = "nothing was forgotten, as the plug-in {!r}"
_STAYS = "what the plug-in {!r} keeps of it stays, as it"
_NEVER = dt.timedelta(days=36_500)


@dataclass(frozen=True, slots=True)
class Found:
    """What would be forgotten."""

    demonstrations: tuple[Entry, ...] = ()
    events: tuple[tuple[str, str], ...] = ()
    """Id and text of memories."""
    episodes: tuple[tuple[str, str], ...] = ()
    """Id and request of what was asked."""
    n_agreements: int = 0
    """Comparisons with a teacher that hold it."""
    sent: tuple[int, ...] = ()
    """Entries of the ledger whose bytes match, beside those of the requests."""
    with_record: bool = True
    """Whether the record of what was asked goes, too, and with it the bytes the ledger keeps."""
    attached: Attached = field(default_factory=Attached)
    """Facts, sentences of summaries and things kept that go with the memories."""
    held: tuple[Held, ...] = ()
    """What the other holders (`protocols.Holder`) keep of it."""
    questions: tuple[tuple[str, str], ...] = ()
    """Id and words of questions that wait for the cloud, or for its answer to be taken: of those that match, and of
    all where anything else goes, as their words may be its words. They can be asked again."""

    @property
    def is_empty(self) -> bool:
        found = (self.demonstrations, self.events, self.episodes, self.n_agreements, self.sent, self.questions)
        is_held = any(not held.is_empty for held in self.held)
        return not is_held and not any((*found, self.attached.lines, self.attached.facts))


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
    facts = _facts(store, sought)
    named = [id for id in sought.events if _IS_FACT.fullmatch(id) is None]
    wanted, matching = sought.wanted, sought.matching
    meant, lines = _remembered(store, sought, encoder)
    taught = _taught(store, sought, meant)
    asked = {sought.episode, *meant, *(entry.episode for entry in taught if sought.with_record)} - {""}
    episodes = _episodes(store, asked, matching if sought.with_record else "")
    if sought.episode and not episodes and not taught:
        raise NotFound(f"no episode {sought.episode!r}; `hearth history` lists the ones there are")
    found = _events(store, {*named, *meant, *(id for id, _ in episodes)}, matching)
    found, others = _with_holders(store, found, wanted, matching)
    if sought.with_record and (quoting := _quoting(store, others)):
        episodes = _episodes(store, asked | quoting, matching)
        found, others = _with_holders(store, _events(store, {id for id, _ in found} | quoting, ""), wanted, matching)
    if missing := [id for id in named if id not in dict(found)]:
        raise NotFound(f"no event {missing[0]!r} in memory; it may have been forgotten already")
    requests = {entry.demonstration.request for entry in taught}
    n_agreements = len(_agreements(store, {id for id, _ in episodes}, requests, matching))
    sent = _sent_with(store, matching) if sought.with_record else ()
    attached = memories.attached(store, {id for id, _ in found}, lines, facts)
    recorded = tuple(episodes) if sought.with_record else ()
    whole = Found(tuple(taught), tuple(found), recorded, n_agreements, sent, sought.with_record, attached, others)
    return replace(whole, questions=_questions(store, matching if whole.is_empty else None))


def _sent_with(store: Store, matching: str) -> tuple[int, ...]:
    """The entries of the ledger that hold these words; none without words."""
    return Ledger(store).holding(_as_sent([matching]), any_case=True) if matching else ()


def _questions(store: Store, matching: str | None) -> tuple[tuple[str, str], ...]:
    """The questions to a teacher that wait: those with these words, or all of them."""
    waiting = outbox.questions(store)
    return tuple((id, text) for id, text in waiting if matching is None or (matching and _has([text], matching)))


def _remembered(store: Store, sought: Sought, encoder: Encoder | None) -> tuple[set[str], set[tuple[str, int]]]:
    """The memories that are meant, and the lines of summaries that are or that match."""
    wanted = sought.wanted
    meant, lines = memories.events_meant(store, encoder, wanted) if wanted is not None else (set(), set())
    if sought.matching:
        lines |= memories.events_meant(store, None, Wanted(topic=sought.matching))[1]
    return meant, lines


def _facts(store: Store, sought: Sought) -> set[int]:
    """The facts that are named, each with all it replaced, and those that are meant."""
    named = [int(id[5:]) for id in sought.events if _IS_FACT.fullmatch(id)]
    facts = {fact.id for id in named for fact in FactStore(store).history(id)}
    if sought.wanted is not None or sought.matching:
        facts |= memories.facts_meant(store, sought.wanted, sought.matching)
    return facts


def _taught(store: Store, sought: Sought, meant: Iterable[str]) -> list[Entry]:
    """The demonstrations that are named, match, or came from requests that are meant. Raises: NotFound."""
    buffer = Buffer(store)
    ids = dict.fromkeys(sought.demonstrations)
    if sought.matching:
        ids |= dict.fromkeys(buffer.find(matching=sought.matching))
    if sought.source:
        ids |= dict.fromkeys(buffer.find(source=sought.source))
    for episode in (*filter(None, [sought.episode]), *sorted(meant)):
        ids |= dict.fromkeys(buffer.find(episode=episode))
    held = {(entry.id, entry.digest): entry for id in ids for entry in _held(store, id)}
    if missing := set(sought.demonstrations) - {id for id, _ in held}:
        raise NotFound(f"no demonstration {min(missing)!r}; it may have been forgotten already")
    return list(held.values())


def _with_holders(
    store: Store, found: list[tuple[str, str]], wanted: Wanted | None, matching: str
) -> tuple[list[tuple[str, str]], tuple[Held, ...]]:
    """These events with those that go with what holders keep, and what they keep of all of them."""
    holders = _holders(store)
    while True:
        ids = {id for id, _ in found}
        held = []
        for name, holder in holders.items():
            with blamed(_REFUSED.format(name)):
                held.append(replace(holder.find(ids, wanted, matching), holder=name))
        go_too = {id for one in held for id in one.events} - ids
        with_them = _events(store, ids | go_too, "") if go_too else found
        if len(with_them) == len(found):
            return found, tuple(held)
        found = with_them  # what goes with one holder's may be kept by another, too


def _holders(store: Store) -> Mapping[str, Holder]:
    """Raises: RegistryError: One cannot be opened, so that what it keeps would stay."""
    holders = open_holders(store)
    if holders.faults:
        raise RegistryError(f"nothing was forgotten, as some of it would stay: {'; '.join(holders.faults)}")
    return holders.by_name


def _held(store: Store, id: str) -> list[Entry]:
    """The demonstration as it counts and as it is set aside."""
    found = []
    for table in ("demonstration", "set_aside"):
        found += [entry_of(row) for row in store.query(f"SELECT * FROM {table} WHERE id=?", (id,))]  # noqa: S608 - one of two names
    return found


_IS_FACT = re.compile(r"fact:\d{1,18}")
_FINISHED = (
    "SELECT number, id, request, said, plan_json, answer_json, refusal_json FROM episode WHERE status='finished'"
)
"""One that was cut off is still to be carried on, and is not touched."""


def _episodes(store: Store, ids: set[str], matching: str) -> list[tuple[str, str]]:
    found = {}
    for row in store.query(_FINISHED):
        texts = [_said(row[name]) for name in ("request", "said", "plan_json", "answer_json", "refusal_json")]
        if row["id"] in ids or (matching and (_has(texts, matching) or _steps_hold(store, row["number"], matching))):
            found[row["id"]] = texts[0] or texts[1]
    return sorted(found.items())


def _places(number: int) -> tuple[int, int]:
    """The places of the first and the last step that an episode may have."""
    return number * N_MAX_STEPS, (number + 1) * N_MAX_STEPS - 1


def _steps_hold(store: Store, number: int, text: str) -> bool:
    steps = store.query(
        "SELECT arguments_json, value_json, error FROM step WHERE place BETWEEN ? AND ?", _places(number)
    )
    return any(_has([_said(part) for part in row], text) for row in steps)


_LEAST_QUOTED = 12
"""Characters from which on the same words are a quotation."""


def _quoting(store: Store, held: Iterable[Held]) -> set[str]:
    """The requests that were answered with the words of what goes: a mail does not stay where it was quoted."""
    gone = [" ".join(text.split()) for one in held for text in one.texts]
    quoting = set()
    for row in store.query(_FINISHED) if gone else ():
        steps = store.query("SELECT value_json FROM step WHERE place BETWEEN ? AND ?", _places(row["number"]))
        said = (text for step in steps for text in texts_in(json.loads(step[0] or "null")))
        told = {one for text in said if len(one := " ".join(text.rstrip("…").split())) >= _LEAST_QUOTED}
        if any(text in one or (len(one) >= _LEAST_QUOTED and one in text) for text in told for one in gone):
            quoting.add(row["id"])
    return quoting


def _events(store: Store, ids: set[str], matching: str) -> list[tuple[str, str]]:
    rows = store.query("SELECT id, text, kind FROM event ORDER BY number")
    return [
        (row["id"], row["text"])
        for row in rows
        if row["id"] in ids or (matching and row["kind"] != SUMMARY and _has([row["text"]], matching))
    ]


def _agreements(store: Store, episodes: set[str], requests: set[str], matching: str) -> list[int]:
    found = []
    for row in store.query("SELECT number, episode, request, plan_json, teacher_json FROM agreement"):
        texts = [_said(row[name]) for name in ("request", "plan_json", "teacher_json")]
        if row["episode"] in episodes or row["request"] in requests or (matching and _has(texts, matching)):
            found.append(int(row["number"]))
    return found


def _said(value: Any) -> str:
    """A column's text as a person reads it: JSON's escapes undone."""
    if isinstance(value, bytes):
        return value.decode(errors="surrogatepass")
    text = value or ""
    return text.encode().decode("unicode_escape", errors="replace") if "\\u" in text and text.isascii() else text


def _has(texts: Iterable[str], wanted: str) -> bool:
    return any(wanted.casefold() in text.casefold() for text in texts)


# ── Forgetting ────────────────────────────────────────────────────────────────────────────────────────────


def forget(state: State, found: Found, progress: Progress = silent) -> Receipt:
    """Remove what was found, for good.

    Returns:
        The receipt, also written to `receipts/` in the folder.
    Raises:
        StoreError: Nothing was forgotten, unless the message says that the erasing is to be finished: then the next
            opening does it.
    """
    holders = _holders(state.store)  # first: while one cannot be opened, nothing may go
    texts = _needles(found)
    gone = frozenset(entry.id for entry in found.demonstrations)
    before = _hashes(state, is_taught=bool(gone))
    made = _without(state, gone, progress)
    n_language = _language_adapters_without(state.folder, gone)
    ledger = Ledger(state.store)
    sent = _sent(ledger, found, texts)
    failed = _swept(state.folder, holders, found)
    with state.store.transaction() as cursor:
        failed |= _taken_out(cursor, holders, [held for held in found.held if held.holder not in failed])
        receipt = _removed(state, cursor, found, made, before, n_language)
        receipt = replace(
            receipt,
            failed=tuple(failed.values()),
            held=tuple(str(c) for held in found.held if held.holder not in failed for c in held.counts if c.n),
        )
        n_erased = ledger.erase(cursor, sent, "forgotten by the owner")
        cursor.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('erase', '1')")
    if n_erased:
        ledger.seal()
        receipt = replace(receipt, n_erased=n_erased)
    state.sweep()
    if found.episodes and (state.folder / "owner").is_dir():
        Folder(state.folder / "owner", state.store).prune(_NEVER)  # large before-images that nothing refers to any more
    state.erase()
    searched, left = _search(state.store, state.folder, texts, _said_by_nothing_held(state.store, state.folder, texts))
    receipt = _completed(state, receipt, searched, left, texts)
    path = state.folder / "receipts" / f"forgotten-{receipt.at.replace(':', '')}-{secrets.token_hex(2)}.json"
    write_bytes(path, (json.dumps(asdict(receipt), indent=2) + "\n").encode())
    return receipt


def _swept(folder: Path, holders: Mapping[str, Holder], found: Found) -> dict[str, str]:
    """Let each holder remove its files. Returns: Those that failed, and why."""
    failed: dict[str, str] = {}
    for held in found.held:
        try:
            with blamed(_STAYS.format(held.holder), OSError):
                holders[held.holder].sweep(folder, held)
        except RegistryError as error:
            failed[held.holder] = str(error)
    return failed


def _taken_out(cursor: sqlite3.Cursor, holders: Mapping[str, Holder], helds: Sequence[Held]) -> dict[str, str]:
    """Let each holder remove its rows; of one that fails, nothing. Returns: Those that failed, and why."""
    failed: dict[str, str] = {}
    for held in helds:
        cursor.execute("SAVEPOINT holder")
        try:
            with blamed(_STAYS.format(held.holder), sqlite3.Error):
                holders[held.holder].remove(cursor, held)
        except RegistryError as error:
            cursor.execute("ROLLBACK TO holder")
            failed[held.holder] = str(error)
        cursor.execute("RELEASE holder")
    return failed


def _sent(ledger: Ledger, found: Found, texts: Sequence[bytes]) -> tuple[int, ...]:
    """The ledger's entries whose bytes hold any of it, or were sent for a request that goes."""
    if not found.with_record:
        return ()
    of_episodes = [entry.number for id, _ in found.episodes for entry in ledger.entries(episode=id)]
    return (*of_episodes, *found.sent, *ledger.holding(texts))


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


def _language_adapters_without(folder: Path, gone: frozenset[str]) -> int:
    """Remove adapters of a local language model that learnt any of it; before the commit, as they must never stay."""
    adapters = folder / ADAPTERS
    if not gone or not adapters.is_dir():
        return 0
    from hearth.learning.finetune.adapters import Adapters  # for homes that teach a local model

    return len(Adapters(adapters).forget(gone))


def _removed(
    state: State,
    cursor: sqlite3.Cursor,
    found: Found,
    made: Described | None,
    before: tuple[str, str, int],
    n_language: int,
) -> Receipt:
    """All of it leaves the database; inside the one transaction."""
    gone = frozenset(entry.id for entry in found.demonstrations)
    adapters = _adapters_that_saw(state, gone)
    versions = _rewrite_versions(cursor, gone)
    current = state.lineage.current()
    if made is not None and current is not None:
        _describe_anew(cursor, current.number, made, len(state.lineage.members(current.number)))
    for name in adapters:
        cursor.execute("UPDATE version SET adapter='' WHERE adapter=?", (name,))
    for id in gone:
        cursor.execute("DELETE FROM demonstration WHERE id=?", (id,))
        cursor.execute("DELETE FROM set_aside WHERE id=?", (id,))
    requests = {entry.demonstration.request for entry in found.demonstrations}
    episodes = {id for id, _ in found.episodes}
    numbers = set(_agreements(state.store, episodes, requests, ""))
    cursor.executemany("DELETE FROM agreement WHERE number=?", [(number,) for number in numbers])
    for id, _ in found.episodes:
        _remove_episode(cursor, id)
    memories.remove(cursor, state.store, [id for id, _ in found.events], found.attached)
    outbox.forget_questions(cursor, [id for id, _ in found.questions])
    if found.events or found.attached.lines:  # FTS5 only marks words as deleted until its segments are merged
        cursor.execute("INSERT INTO event_words (event_words) VALUES ('optimize')")
    n_skills = _remove_skills(cursor, gone)
    rebuilt = ["what is known of the current version: its tasks and scores"] if made is not None else []
    rebuilt += ["the weights of what plans, solved anew", "the episodic memory and its index"] if gone else []
    rebuilt += ["the search over memories"] if found.events else []
    rebuilt.append("the database file, written anew")
    return Receipt(
        at=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        n_demonstrations=len(gone),
        n_events=len(found.events),
        n_episodes=len(found.episodes),
        n_agreements=len(numbers),
        versions_rewritten=tuple(versions),
        adapters_dropped=len(adapters) + n_language,
        skills_removed=n_skills,
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


def _adapters_that_saw(state: State, gone: frozenset[str]) -> set[str]:
    """Trained tiers of versions that held any of it: what they keep of it cannot be taken out."""
    return {
        version.adapter
        for version in state.lineage.versions()
        if version.adapter and gone & state.lineage.members(version.number).keys()
    }


def _rewrite_versions(cursor: sqlite3.Cursor, gone: frozenset[str]) -> list[int]:
    """Take `gone` out of every version: its members, samples, tasks, and what was measured with them."""
    touched: set[int] = set()
    for id in gone:
        touched |= {row[0] for row in cursor.execute("SELECT version FROM version_change WHERE id=?", (id,))}
        cursor.execute("DELETE FROM version_change WHERE id=?", (id,))
    sequences = {}
    for table in ("set_aside", "demonstration"):
        for row in cursor.execute(f"SELECT * FROM {table}").fetchall():  # noqa: S608 - one of two names
            if row["id"] not in gone:
                sequences[row["id"]] = tuple(step.tool for step in entry_of(row).demonstration.plan.steps)
    for row in cursor.execute("SELECT number, samples_json, tasks_json, record_json FROM version").fetchall():
        samples = json.loads(row["samples_json"])
        tasks = [Task.from_json(data) for data in json.loads(row["tasks_json"])]
        if not (gone & samples.keys() or any(gone & set(task.members) for task in tasks) or row["number"] in touched):
            continue
        touched.add(row["number"])
        record, scores = json.loads(row["record_json"]), {id: n for id, n in samples.items() if id not in gone}
        for measured in ("gate", "frontier", "node_f1"):
            record.pop(measured, None)
        if scores:
            record["node_f1"] = round(sum(scores.values()) / len(scores), 4)
        record.update(n_judged=len(scores), rewritten=True)
        kept = without(tasks, gone, sequences, scores)
        _write_version(cursor, row["number"], scores, kept, record)
    return sorted(touched)


def _write_version(
    cursor: sqlite3.Cursor,
    number: int,
    scores: Mapping[str, float],
    tasks: Sequence[Task],
    record: Mapping[str, object],
) -> None:
    told = json.dumps([task.to_json() for task in tasks], ensure_ascii=False)
    cursor.execute(
        "UPDATE version SET samples_json=?, tasks_json=?, record_json=? WHERE number=?",
        (json.dumps(scores), told, json.dumps(record), number),
    )


def _describe_anew(cursor: sqlite3.Cursor, number: int, made: Described, n: int) -> None:
    """The current version, as it would have been described had it never seen what is forgotten."""
    (row,) = cursor.execute("SELECT record_json FROM version WHERE number=?", (number,)).fetchall()
    record = {**json.loads(row["record_json"]), **made.record(n), "judged_by": JUDGE, "rewritten": True}
    _write_version(cursor, number, {id: round(n, 6) for id, n in sorted(made.scores.items())}, made.tasks, record)


def _remove_episode(cursor: sqlite3.Cursor, id: str) -> None:
    """The request, its plan, calls, results and answer; what it changed in files stays, and cannot be undone."""
    row = cursor.execute("SELECT number FROM episode WHERE id=?", (id,)).fetchone()
    if row is None:
        return
    cursor.execute("DELETE FROM step WHERE place BETWEEN ? AND ?", _places(row["number"]))
    cursor.execute("DELETE FROM journal WHERE key=? OR key LIKE ? || '-%'", (id, id))
    cursor.execute("DELETE FROM episode WHERE id=?", (id,))
    cursor.execute("DELETE FROM event WHERE id=?", (id,))
    cursor.execute("DELETE FROM looked_at WHERE episode=?", (id,))
    cursor.execute("DELETE FROM consent WHERE episode=?", (id,))
    cursor.execute(
        "DELETE FROM large_value WHERE hash NOT IN (SELECT value_hash FROM step WHERE value_hash IS NOT NULL)"
    )


def _remove_skills(cursor: sqlite3.Cursor, gone: frozenset[str]) -> int:
    """Skills proposed from any of it, and those accepted whose demonstrations are among it."""
    n = 0
    for row in cursor.execute("SELECT number, evidence_json, demonstrations_json FROM skill").fetchall():
        rests = {*json.loads(row["evidence_json"]).get("rests_on", ()), *json.loads(row["demonstrations_json"])}
        if rests & gone:
            cursor.execute("DELETE FROM skill WHERE number=?", (row["number"],))
            n += 1
    return n


# ── Afterwards ────────────────────────────────────────────────────────────────────────────────────────────


def _needles(found: Found) -> list[bytes]:
    """Texts that must be in no file any more, as they would be stored."""
    texts = [entry.demonstration.request for entry in found.demonstrations]
    texts += [text for _, text in (*found.events, *found.episodes)]
    texts += found.attached.said
    texts += [text for held in found.held for text in held.texts]
    return _as_sent(text for text in texts if len(text.strip()) >= _FEWEST_CHARACTERS)


def _as_sent(texts: Iterable[str]) -> list[bytes]:
    """Texts as they stand in files and messages: as they are, and as JSON writes them."""
    needles: dict[bytes, None] = {}
    for text in texts:
        needles[text.encode(errors="surrogatepass")] = None
        needles[json.dumps(text)[1:-1].encode()] = None
    return list(needles)


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


def _completed(
    state: State, receipt: Receipt, searched: int, left: tuple[str, ...], needles: Sequence[bytes]
) -> Receipt:
    weights, held, n = _hashes(state, is_taught=bool(receipt.n_demonstrations))
    n_out = len(Ledger(state.store).holding(needles))
    if n_out:
        left = tuple(name for name in left if name != "hearth.db")
    done = replace(receipt, weights_after=weights, held_after=held, n_held=n)
    return replace(done, searched=searched, found_in=left, disclosures=n_out)
