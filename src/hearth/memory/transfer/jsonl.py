"""Exports and imports events and facts as JSON lines that any program can read, in constant memory.

Covered: reading the same lines again adds nothing; an invalid line is reported by its number, and what comes before it
is kept; files from strangers: unless the owner says that the file is theirs, everything in it counts as found in a
file, and facts wait for the owner's confirmation.
Not covered: vectors (they are made again) and what was learnt.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from hearth.errors import RequestError
from hearth.memory.event_memory import EventMemory, NewEvent
from hearth.memory.facts.fact_dates import is_tellable
from hearth.memory.facts.fact_store import FactStore, NewFact
from hearth.storage.database import Store
from hearth.storage.trace import label_from_text, moment_text, parse_moment
from hearth.types import Label

MAX_LINE_BYTES = 4_000_000
_AT_ONCE = 1000
_FOUND = Label(frozenset({"file"}), frozenset())


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    sources: tuple[str, ...] = ()
    readers: tuple[str, ...] | None = ()

    def label(self, is_mine: bool) -> Label:
        said = Label(frozenset(self.sources), None if self.readers is None else frozenset(self.readers))
        return said if is_mine else said.join(_FOUND)


class _EventLine(_Line):
    type: Literal["event"]
    id: str = Field(min_length=1, max_length=1000)
    kind: str = Field(max_length=200)
    at: str = Field(max_length=100)
    text: str
    person: str = Field(default="", max_length=1000)
    place: str = Field(default="", max_length=1000)
    thread: str = Field(default="", max_length=1000)


class _FactLine(_Line):
    type: Literal["fact"]
    subject: str
    relation: str
    value: str
    since: AwareDatetime | None = None
    until: AwareDatetime | None = None
    learnt: AwareDatetime
    confidence: float = Field(ge=0, le=1)
    events: tuple[str, ...] = ()
    reason: str = ""


_LINE: TypeAdapter[_EventLine | _FactLine] = TypeAdapter(Annotated[_EventLine | _FactLine, Field(discriminator="type")])


@dataclass(frozen=True, slots=True)
class Added:
    """Counts of what was new in what was read."""

    n_lines: int
    n_events: int
    n_facts: int


def exported(store: Store) -> Iterator[str]:
    """Yield all events, then all believed facts, a line each."""
    last = 0
    while rows := store.query("SELECT * FROM event WHERE number > ? ORDER BY number LIMIT ?", (last, _AT_ONCE)):
        for row in rows:
            said = {name: row[name] for name in ("id", "kind", "at", "text", "person", "place", "thread")}
            yield _line("event", said, label_from_text(row["label"]))
        last = rows[-1]["number"]
    for fact in FactStore(store).believed():
        said = {
            name: getattr(fact, name) for name in ("subject", "relation", "value", "confidence", "events", "reason")
        }
        said |= {name: _text(getattr(fact, name)) for name in ("since", "until", "learnt")}
        yield _line("fact", said, fact.label)


def _line(kind: str, said: dict[str, object], label: Label) -> str:
    readers = None if label.readers is None else sorted(label.readers)
    return json.dumps({"type": kind, **said, "sources": sorted(label.sources), "readers": readers}, ensure_ascii=False)


def _text(moment: dt.datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def imported(memory: EventMemory, facts: FactStore, lines: Iterable[bytes], *, is_mine: bool) -> Added:
    """Import lines that `exported` wrote; what exists already is left unchanged.
    Args: is_mine: The owner says that the file is theirs: its labels are believed.
    Raises: RequestError: A line is invalid; what came before it was imported."""
    n_lines = n_events = n_facts = 0
    waiting: list[NewEvent] = []
    try:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            read = _read(line, number)
            n_lines += 1
            if isinstance(read, _EventLine):
                waiting.append(_event(read, number, is_mine))
            else:
                n_facts += _add_fact(facts, read, is_mine)
            if len(waiting) >= _AT_ONCE:
                n_events += memory.remember_all(waiting)
                waiting.clear()
    finally:
        n_events += memory.remember_all(waiting)
    return Added(n_lines, n_events, n_facts)


def _read(line: bytes, number: int) -> _EventLine | _FactLine:
    if len(line) > MAX_LINE_BYTES:
        raise RequestError(f"line {number} has {len(line)} bytes; expected one event or fact, at most {MAX_LINE_BYTES}")
    try:
        return _LINE.validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the line"
        raise RequestError(
            f"line {number} is no event or fact ({where}: {first['msg']}); expected what `hearth memory export` writes"
        ) from None


def _event(line: _EventLine, number: int, is_mine: bool) -> NewEvent:
    try:
        at = parse_moment(line.at)
    except ValueError as error:
        raise RequestError(f"line {number}: {error}") from None
    if at.tzinfo is None:
        raise RequestError(
            f"line {number}: the time {line.at!r} names no zone; expected e.g. {moment_text(_EXAMPLE)!r}"
        )
    if not is_tellable(at):
        raise RequestError(f"line {number}: an event in the year {at.year}; expected one from 2 to 9998")
    label = line.label(is_mine)
    return NewEvent(line.id, line.text, line.kind, at, label, line.person, line.place, line.thread)


_EXAMPLE = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.UTC)


def _add_fact(facts: FactStore, line: _FactLine, is_mine: bool) -> int:
    """Believe or propose the fact; return 1 if it was new."""
    same = [
        fact
        for fact in (*facts.believed(line.subject, line.relation), *facts.proposed())
        if (fact.subject.casefold(), fact.relation) == (line.subject.casefold(), line.relation)
        and fact.value.casefold() == line.value.casefold()
    ]
    if same:
        return 0
    new = NewFact(line.subject, line.relation, line.value, line.since, line.until, line.confidence, line.label(is_mine))
    facts.add(replace(new, events=line.events, reason=line.reason), line.learnt)
    return 1
