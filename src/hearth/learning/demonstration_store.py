"""Keep a home's demonstrations; none gets in that is malformed, contradicts its tools or was touched by strangers.

Table `demonstration` holds those that count; table `set_aside` those that do not: waiting for their batch to pass the
gate (`waiting`), refused by the gate (`refused`), replaced by a newer one (`replaced`), taken out by a rollback
(`rolled back`). A demonstration is identified by its id and the digest of its content, so that one which came back
changed is another. Everything here is on disk when a call returns, or not at all.

Covered: unknown tools, cycles, empty and overlong plans, ids given twice, oversized requests, lines that are no JSON,
labels that say a stranger's text touched the plan. Not covered: whether a label tells the truth, and whether a plan is
right: two teachers who contradict each other are both kept, and reported.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from hearth.edge.outbox import note_demonstrations
from hearth.errors import Cycle, PlanError, PlanTooLong, RequestError, StoreError, UnknownTool
from hearth.formats.plans import demonstration_from_json, faults, plan_from_json, plan_to_json, texts_in
from hearth.guard.injection import INJECTION
from hearth.storage.database import Store
from hearth.storage.trace import label_from_text, label_text
from hearth.types import PUBLIC, UNTRUSTED_SOURCES, Demonstration, Label, Plain, ToolSpec

MAX_REQUEST_BYTES = 1_000_000
MAX_LINE_BYTES = 4_000_000
MAX_ID_CHARACTERS = 200
STRANGERS = (UNTRUSTED_SOURCES | {INJECTION}) - {"teacher", "model"}
"""Label sources that keep a demonstration out. A teacher's and a model's plans are learnt from, by consent."""

Why = Literal["waiting", "refused", "replaced", "rolled back", "quarantined"]

_COLUMNS = (
    "id, digest, request, plan_json, source, now, added, tools_json, task_steps_json, label, teacher, candidates_json, "
    "episode"
)
_MARKS = ", ".join("?" * 13)


class _Candidate(BaseModel):
    tools: list[str] = Field(min_length=1, max_length=50)
    share: float = Field(gt=0, allow_inf_nan=False)


_CANDIDATES = TypeAdapter(Annotated[list[_Candidate], Field(max_length=50)])


@dataclass(frozen=True, slots=True)
class Entry:
    """A demonstration and its origin."""

    demonstration: Demonstration
    label: Label = PUBLIC
    """Label of what touched the plan."""
    teacher: str = ""
    """Name of the teacher that labelled it."""
    candidates: Plain = None
    """Plans the teacher held likely: a list of `{"tools": […], "share": 0.6}`; None when it gave none. Any other form
    is kept and not learnt from."""
    episode: str = ""
    """Id of the request in the trace it came from."""
    added: str = ""
    """Time it was added, ISO 8601 in UTC; empty before it is in the buffer."""

    @property
    def id(self) -> str:
        return self.demonstration.id

    @property
    def held_likely(self) -> tuple[tuple[tuple[str, ...], float], ...]:
        """Return `candidates` as tools with shares; empty where they have another form or leave out the plan itself."""
        try:
            found = {tuple(one.tools): one.share for one in _CANDIDATES.validate_python(self.candidates)}
        except ValidationError:
            return ()
        mine = tuple(step.tool for step in self.demonstration.plan.steps)
        return ((mine, found.pop(mine)), *found.items()) if mine in found else ()

    @property
    def digest(self) -> str:
        """Return a hash of what is learnt from it."""
        d = self.demonstration
        steps = plan_to_json(d.plan)["task_nodes"], plan_to_json(d.plan)["task_steps"]
        content = [d.request, *steps, d.now.isoformat() if d.now else None, list(d.task_steps)]
        text = json.dumps(content, ensure_ascii=True, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Refused:
    """A demonstration that was not let in."""

    id: str
    reason: str
    """Explanation for a person: the fault, and what was expected instead."""
    line: int = 0
    """Line in the file it came from, from 1; 0 when it came from none."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two demonstrations of one request with different tools."""

    id: str
    other: str


@dataclass(frozen=True, slots=True)
class Checked:
    """Outcome of a check: those accepted, those refused, and contradictions."""

    entries: tuple[Entry, ...]
    refused: tuple[Refused, ...]
    contradictions: tuple[Contradiction, ...] = ()
    n_known: int = 0
    """Number already there, word for word."""
    touched: tuple[Entry, ...] = ()
    """Those refused because a stranger may have had a hand in them: to be quarantined."""


def as_entry(item: Demonstration | Entry) -> Entry:
    return item if isinstance(item, Entry) else Entry(item)


# ── Files ─────────────────────────────────────────────────────────────────────────────────────────────────


def read_entries(path: Path, source: str = "teacher") -> tuple[list[Entry], list[Refused]]:
    """Read a JSONL file of demonstrations; a bad line is refused with its number, the others are read.

    Beside the plan format, a line may hold `label` (a list of sources, or `{"sources": […]}`), `teacher`,
    `candidates` (a list of `{"tools": […], "share": 0.6}`) and `episode`.

    Args:
        source: For lines that name none.
    Raises:
        RequestError: The file cannot be read, or holds no line at all.
    """
    entries: list[Entry] = []
    refused: list[Refused] = []
    lines: dict[str, int] = {}
    number = 0
    for number, raw in _lines(path):
        try:
            entry = _entry_of(raw, f"{path.stem}-{number}", f"line {number}", source)
        except RequestError as error:
            refused.append(Refused("", str(error), number))
            continue
        first = lines.setdefault(entry.id, number)
        if first != number:
            reason = f"line {number}: the id {entry.id!r} is that of line {first}, too; ids must differ"
            refused.append(Refused(entry.id, reason, number))
            continue
        entries.append(entry)
    if not number:
        raise RequestError(f"{path}: holds no demonstration; expected one JSON object per line")
    return entries, refused


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield number and bytes of each line that is not empty; an oversized line is cut and skipped to its end."""
    try:
        with path.open("rb") as file:
            number = 0
            while raw := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                while not raw.endswith(b"\n") and len(raw) > MAX_LINE_BYTES and (rest := file.readline(1 << 20)):
                    if rest.endswith(b"\n"):
                        break
                if raw.strip():
                    yield number, raw
    except OSError as error:
        raise RequestError(f"cannot read {str(path)!r}: {error.strerror}") from None


def _entry_of(raw: bytes, id: str, where: str, source: str) -> Entry:
    if len(raw) > MAX_LINE_BYTES:
        raise RequestError(f"{where}: longer than {MAX_LINE_BYTES:,} bytes; a request holds {MAX_REQUEST_BYTES:,}")
    try:
        data = json.loads(raw.decode("utf-8-sig"))
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise RequestError(f"{where}: not a JSON object in UTF-8 ({error})") from None
    if not isinstance(data, dict):
        raise RequestError(f"{where}: a {type(data).__name__}, expected a JSON object per line")
    try:
        demonstration = demonstration_from_json({**data, "source": data.get("source") or source}, id)
        teacher, episode = (str(data.get(name) or "") for name in ("teacher", "episode"))
        return Entry(demonstration, _label_of(data.get("label")), teacher, data.get("candidates"), episode)
    except RequestError as error:
        raise RequestError(f"{where}: {error}") from None
    except (TypeError, RecursionError) as error:
        raise RequestError(f"{where}: {error}; expected the fields of the plan format") from None


def _label_of(given: Any) -> Label:
    """Read a label. Raises: TypeError: Neither a list of sources nor an object with one."""
    sources = given.get("sources") if isinstance(given, dict) else given
    if sources is None:
        if given is None:
            return PUBLIC
        raise TypeError("label names no sources")
    if not isinstance(sources, list) or not all(isinstance(s, str) for s in sources):
        raise TypeError(f"label {given!r} is no list of sources")
    return Label(frozenset(sources))


# ── The buffer ────────────────────────────────────────────────────────────────────────────────────────────


class Buffer:
    """The demonstrations in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __len__(self) -> int:
        (row,) = self._store.query("SELECT count(*) FROM demonstration")
        return int(row[0])

    # ── Letting in ────────────────────────────────────────────────────────────────────────────────────────

    def check(self, entries: Iterable[Entry], tools: Mapping[str, ToolSpec]) -> Checked:
        """Judge demonstrations without taking any in; of two with one id only the first may come in."""
        accepted: dict[str, Entry] = {}
        refused: list[Refused] = []
        touched: list[Entry] = []
        n_known = 0
        for entry in entries:
            strange = why_touched(entry, tools)
            reason = strange or why_not(entry, tools)
            if not reason and entry.id in accepted:
                reason = f"{entry.id!r} was given twice; ids must differ"
            is_known = (not reason or bool(strange)) and self._digest_of(entry.id) == entry.digest
            if is_known:  # what the owner released counts, whoever brings it again
                n_known += 1
            elif reason:
                refused.append(Refused(entry.id, reason))
                touched += [entry] if strange and not why_not(replace(entry, label=PUBLIC), tools) else []
            else:
                accepted[entry.id] = entry
        entries = tuple(accepted.values())
        return Checked(entries, tuple(refused), tuple(self._contradictions(entries)), n_known, tuple(touched))

    def _digest_of(self, id: str) -> str:
        rows = self._store.query("SELECT * FROM demonstration WHERE id=?", (id,))
        return entry_of(rows[0]).digest if rows else ""

    def _contradictions(self, entries: Sequence[Entry]) -> Iterator[Contradiction]:
        seen: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        for entry in entries:
            d = entry.demonstration
            key, tools = " ".join(d.request.casefold().split()), tuple(step.tool for step in d.plan.steps)
            others = seen.setdefault(key, [])
            rows = self._store.query(
                "SELECT id, plan_json FROM demonstration WHERE request = ? COLLATE NOCASE AND id <> ?",
                (d.request, d.id),
            )
            known = [
                (row["id"], tuple(s.tool for s in plan_from_json(json.loads(row["plan_json"])).steps)) for row in rows
            ]
            for other, theirs in [*others, *known]:
                if theirs != tools:
                    yield Contradiction(d.id, other)
                    break
            others.append((d.id, tools))

    def keep(self, entries: Iterable[Entry], version: int | None = None) -> None:
        """Take in what `check` accepted: it counts from now on. Raises: StoreError: Nothing was taken in."""
        with self._store.transaction() as cursor:
            keep(cursor, entries, version)

    def hold(self, entries: Iterable[Entry], why: Why = "waiting", reason: str = "") -> None:
        """Set aside what `check` accepted; it does not count. Raises: StoreError: Nothing was written."""
        with self._store.transaction() as cursor:
            hold(cursor, entries, why, reason)

    def quarantine(self, entries: Iterable[Entry], tools: Mapping[str, ToolSpec]) -> None:
        """Set aside what a stranger may have touched, with the reason. Raises: StoreError: Nothing was written."""
        with self._store.transaction() as cursor:
            for entry in entries:
                hold(cursor, [entry], "quarantined", why_touched(entry, tools))

    # ── Reading ───────────────────────────────────────────────────────────────────────────────────────────

    def all(self) -> tuple[Entry, ...]:
        """Return the demonstrations that count, by id."""
        return tuple(entry_of(row) for row in self._store.query("SELECT * FROM demonstration ORDER BY id"))

    def ids(self) -> dict[str, str]:
        """Return id → digest of those that count; missing digests are written first."""
        missing = self._store.query("SELECT * FROM demonstration WHERE digest=''")
        if missing:
            with self._store.transaction() as cursor:
                cursor.executemany(
                    "UPDATE demonstration SET digest=? WHERE id=?", [(entry_of(r).digest, r["id"]) for r in missing]
                )
        return {row["id"]: row["digest"] for row in self._store.query("SELECT id, digest FROM demonstration")}

    def of(self, ids: Iterable[str]) -> dict[str, Entry]:
        """Return those of `ids` that count."""
        wanted = list(dict.fromkeys(ids))
        found: dict[str, Entry] = {}
        for start in range(0, len(wanted), 500):
            part = wanted[start : start + 500]
            marks = ",".join("?" * len(part))
            for row in self._store.query(f"SELECT * FROM demonstration WHERE id IN ({marks})", part):  # noqa: S608 - only question marks are put in
                found[row["id"]] = entry_of(row)
        return found

    def set_aside(self, why: Why) -> tuple[Entry, ...]:
        """Return those set aside for this reason, oldest first."""
        rows = self._store.query("SELECT * FROM set_aside WHERE why=? ORDER BY number", (why,))
        return tuple(entry_of(row) for row in rows)

    def n_set_aside(self) -> dict[str, int]:
        """Count those set aside, by reason."""
        return {row[0]: row[1] for row in self._store.query("SELECT why, count(*) FROM set_aside GROUP BY why")}

    def former(self, id: str, digest: str) -> Entry | None:
        """Return a demonstration that no longer counts, as it was."""
        rows = self._store.query("SELECT * FROM set_aside WHERE id=? AND digest=?", (id, digest))
        return entry_of(rows[0]) if rows else None

    def find(self, *, matching: str = "", source: str = "", episode: str = "") -> tuple[str, ...]:
        """Return ids of all demonstrations, set aside or not, that fit every condition given.

        Args:
            matching: Text in the request or in the plan, whatever its case.
        """
        found: dict[str, None] = {}
        for table in ("demonstration", "set_aside"):
            for row in self._store.query(f"SELECT * FROM {table}"):  # noqa: S608 - one of two names
                is_of = not episode or episode == row["episode"] or episode in row["id"].split(":")
                if is_of and source in ("", row["source"]) and (not matching or holds(row, matching)):
                    found[row["id"]] = None
        return tuple(found)


def holds(row: sqlite3.Row, text: str) -> bool:
    """Say whether request, plan or steps of a row contain `text`, whatever its case."""
    wanted = text.casefold()
    entry = entry_of(row)
    plan = json.dumps(plan_to_json(entry.demonstration.plan), ensure_ascii=False)
    parts = (entry.demonstration.request, plan, " ".join(entry.demonstration.task_steps))
    return any(wanted in part.casefold() for part in parts)


def _by_strangers(entry: Entry) -> str:
    by = ", ".join(sorted(entry.label.sources & STRANGERS))
    return f"{entry.id!r}: text from {by} touched its plan; only what no stranger wrote is learnt from" if by else ""


def why_touched(entry: Entry, tools: Mapping[str, ToolSpec]) -> str:
    """Say why a stranger may have had a hand in a demonstration; empty when nothing shows it.

    Its label names a stranger, or its plan sends something to an address that its request does not say.
    """
    d = entry.demonstration
    if touched := _by_strangers(entry):
        return touched
    said = d.request.casefold()
    for step in d.plan.steps:
        spec = tools.get(step.tool)
        for parameter in spec.parameters if spec is not None else ():
            if parameter.is_sink and parameter.name in step.arguments:
                for text in texts_in(step.arguments[parameter.name]):
                    if text.strip().casefold() not in said:
                        return (
                            f"{d.id!r}: {parameter.name!r} of {step.tool} is {text[:60]!r}, which its request does not "
                            "say; where something goes is learnt only from the owner's words"
                        )
    return ""


def why_not(entry: Entry, tools: Mapping[str, ToolSpec]) -> str:
    """Return why a demonstration may not come in; empty when it may."""
    d = entry.demonstration
    name = repr(d.id)
    if touched := _by_strangers(entry):
        return touched
    if not d.id or len(d.id) > MAX_ID_CHARACTERS:
        return f"the id {d.id[:40]!r} must have 1 to {MAX_ID_CHARACTERS} characters"
    if not d.request.strip():
        return f"{name}: the request is empty"
    if not d.plan.steps:
        return f"{name}: the plan is empty; a demonstration shows at least one step"
    for index, step in enumerate(d.plan.steps):
        astray = sorted(n for n in step.needs() if not 0 <= n < len(d.plan.steps))
        if astray:
            last = len(d.plan.steps) - 1
            return f"{name}: step {index} needs step {astray[0]}, but the plan has steps 0 to {last}"
    try:
        n_bytes = len((d.id + d.request + json.dumps(plan_to_json(d.plan), ensure_ascii=False)).encode())
    except UnicodeEncodeError:
        return f"{name}: holds text that is not Unicode (lone surrogates); save it as UTF-8"
    if n_bytes > MAX_REQUEST_BYTES:
        return f"{name}: request and plan have {n_bytes:,} bytes; at most {MAX_REQUEST_BYTES:,} are learnt from"
    # Missing arguments, as in many data sets, keep no plan from being learnt.
    bad = (fault for fault in faults(d.plan, tools) if isinstance(fault, UnknownTool | Cycle | PlanTooLong))
    return next((f"{name}: {fault}" for fault in bad), "")


# ── Rows ──────────────────────────────────────────────────────────────────────────────────────────────────


def entry_of(row: sqlite3.Row) -> Entry:
    """Read a row of `demonstration` or `set_aside`."""
    try:
        demonstration = Demonstration(
            id=row["id"],
            request=row["request"],
            plan=_bare(json.loads(row["plan_json"])),
            tools=tuple(json.loads(row["tools_json"])),
            source=row["source"],
            now=dt.datetime.fromisoformat(row["now"]) if row["now"] else None,
            task_steps=tuple(json.loads(row["task_steps_json"])),
        )
        candidates = json.loads(row["candidates_json"]) if row["candidates_json"] else None
        label = label_from_text(row["label"])
    except (ValueError, PlanError) as error:
        raise StoreError(
            f"the demonstration {row['id']!r} cannot be read ({error}); forget it, or restore the home"
        ) from None
    return Entry(demonstration, label, row["teacher"], candidates, row["episode"], row["added"])


def _bare(data: Mapping[str, Any]) -> Any:
    """Return the plan alone: who planned it and how sure it was is not part of a demonstration."""
    return replace(plan_from_json(data), confidence=0.0, expected_f1=None, planner="", rests_on=())


def _values(entry: Entry) -> tuple[object, ...]:
    d = entry.demonstration
    return (
        d.id,
        entry.digest,
        d.request,
        json.dumps(plan_to_json(_bare(plan_to_json(d.plan))), ensure_ascii=False),
        d.source,
        d.now.isoformat() if d.now else None,
        entry.added or dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        json.dumps(list(d.tools)),
        json.dumps(list(d.task_steps), ensure_ascii=False),
        label_text(entry.label),
        entry.teacher,
        "" if entry.candidates is None else json.dumps(entry.candidates, ensure_ascii=False),
        entry.episode,
    )


def keep(cursor: sqlite3.Cursor, entries: Iterable[Entry], version: int | None) -> None:
    """Write into `demonstration`; other content of the same id is set aside as replaced. Demonstrations that may be
    shared are noted in the outbox, where a cloud was joined."""
    for entry in entries:
        old = cursor.execute("SELECT * FROM demonstration WHERE id=?", (entry.id,)).fetchone()
        digest = entry_of(old).digest if old is not None else ""
        if old is not None and digest == entry.digest:  # its lessons stay as they are
            cursor.execute(
                "UPDATE demonstration SET version=coalesce(?, version), digest=? WHERE id=?",
                (version, digest, entry.id),
            )
        else:
            if old is not None:
                hold(cursor, [entry_of(old)], "replaced", "")
                cursor.execute("DELETE FROM demonstration WHERE id=?", (entry.id,))
            cursor.execute(
                f"INSERT INTO demonstration ({_COLUMNS}, version) VALUES ({_MARKS}, ?)",  # noqa: S608 - constants
                (*_values(entry), version),
            )
            now = dt.datetime.now(dt.UTC)
            note_demonstrations(cursor, [(entry.id, entry.digest, entry.demonstration.source)], now)
        cursor.execute("DELETE FROM set_aside WHERE id=? AND digest=?", (entry.id, entry.digest))


def hold(cursor: sqlite3.Cursor, entries: Iterable[Entry], why: Why, reason: str) -> None:
    """Write into `set_aside`; of waiting entries, only the newest of an id is kept."""
    for entry in entries:
        if why == "waiting":
            cursor.execute("DELETE FROM set_aside WHERE id=? AND why='waiting'", (entry.id,))
        cursor.execute(
            f"INSERT OR REPLACE INTO set_aside ({_COLUMNS}, why, reason) VALUES ({_MARKS}, ?, ?)",  # noqa: S608 - constants
            (*_values(entry), why, reason),
        )


def take_out(cursor: sqlite3.Cursor, ids: Iterable[str], why: Why, reason: str) -> None:
    """Move from `demonstration` to `set_aside`; unknown ids are skipped."""
    for id in ids:
        row = cursor.execute("SELECT * FROM demonstration WHERE id=?", (id,)).fetchone()
        if row is not None:
            hold(cursor, [entry_of(row)], why, reason)
            cursor.execute("DELETE FROM demonstration WHERE id=?", (id,))
