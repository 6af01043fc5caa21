"""Record every request with its plan, calls, results and answer, before and after each step.

When `steps` returns, its data is on disk. An episode read back equals the one that was finished; one that was cut off
is found by `unfinished` with all that resuming needs. Storage grows only with the steps that were run: a result is
stored once, also when several steps have the same large one.

Not covered: results of steps whose plan was never recorded, and encryption (the file is as private as its folder).
"""

from __future__ import annotations

import datetime as dt
import functools
import hashlib
import json
import re
import sqlite3
import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hearth.errors import NotFound, StoreError
from hearth.formats.plans import plan_from_json, plan_to_json, texts_in
from hearth.protocols import Count, Held, Wanted
from hearth.storage.database import Store
from hearth.types import (
    PUBLIC,
    Answer,
    Asked,
    Disclosure,
    Effect,
    Episode,
    Evidence,
    Label,
    Offer,
    Plain,
    Plan,
    Record,
    Refusal,
    Request,
    Ruling,
    StepResult,
)

N_LARGE_VALUE_BYTES = 65_536
"""A result whose JSON is longer is stored separately and once."""
N_MAX_STEPS = 65_536


@dataclass(frozen=True, slots=True)
class StartedStep:
    """A call that is about to be made."""

    step: int
    tool: str
    key: str
    arguments: Mapping[str, Plain]
    """Arguments with every reference bound, as plain data."""
    at: dt.datetime
    """Time of the call (`CallContext.now`); a resumed attempt gets the same."""
    effect: Effect
    ruling: Ruling | None = None
    """The policy's ruling on this step; None in records from before it was stored."""
    labels: Mapping[str, Label] = field(default_factory=dict)
    """Label of each argument's value."""
    things: tuple[str, ...] = ()
    """Ids of the things it acts on."""
    told: tuple[str, ...] = ()
    """Addresses that servers write to by themselves when it is made."""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One step as it was run: its start and, unless it was cut off, its outcome."""

    started: StartedStep | None
    """None for a step that was never called (denied, skipped)."""
    result: StepResult | None
    is_undone: bool = False
    """True when the owner undid it."""


@dataclass(frozen=True, slots=True)
class UnfinishedEpisode:
    """A request that was cut off."""

    id: str
    request: Request
    plan: Plan | None
    """None when it was cut off before or while planning."""
    refusal: Refusal | None
    ruling: Ruling | None
    planning_ms: float
    results: tuple[StepResult, ...]
    """Results of the finished steps, by step."""
    started: tuple[StartedStep, ...]
    """Steps that were begun and not ended: to be rolled back and run again, or reported."""
    n_resumed: int = 0
    """Number of times it was resumed before and cut off again."""


class Trace:
    """The record of all requests in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._numbers: dict[str, int] = {}
        self._written: dict[str, dict[int, StepResult]] = {}
        """Results of open episodes that are on disk already, so that `finish` writes only the others."""
        self._decided: dict[str, tuple[Plan | None, Refusal | None, Ruling | None]] = {}
        """Decisions of open episodes that are on disk already."""
        self._lock = threading.Lock()

    # ── Writing ───────────────────────────────────────────────────────────────────────────────────────────

    def begin(self, request: Request, id: str) -> None:
        """Record that `request` was asked; on disk with the first `steps` or `finish`, before which nothing happens.

        Raises:
            StoreError: `id` exists, or as for `Store.transaction`.
        """
        with self._store.transaction(is_synced=False) as cursor:
            cursor.execute(
                "INSERT INTO episode (id, request, request_id, said, asked_by, records, now, status, began_unix_s)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, 'begun', ?)",
                (
                    *(id, _storable(request.text), _storable(request.id), _storable(request.said)),
                    *(_storable(request.asked_by), _records_text(request.records)),
                    *(moment_text(request.now), time.time()),
                ),
            )
            number = cast(int, cursor.lastrowid)
        with self._lock:
            self._numbers[id] = number
            self._written[id] = {}

    def planned(
        self, id: str, plan: Plan | None, refusal: Refusal | None, ruling: Ruling | None, planning_ms: float
    ) -> None:
        """Record the plan or the refusal, and the ruling; again after a repair, with the plan grown.

        On disk with the next `steps` or `finish`; no step of the plan runs before that.
        """
        number = self._number(id)
        with self._store.transaction(is_synced=False) as cursor:
            cursor.execute(
                "UPDATE episode SET status='planned', plan_json=?, refusal_json=?, ruling_json=?, planning_ms=?"
                " WHERE number=?",
                (*_decision(plan, refusal, ruling), planning_ms, number),
            )
        with self._lock:
            self._decided[id] = (plan, refusal, ruling)

    def steps(self, id: str, *, finished: Sequence[StepResult], started: Sequence[StartedStep]) -> None:
        """Record in one transaction which steps ended and which are about to begin; on disk when this returns.

        A step that is started again (a resumed attempt) keeps the time of its first start and loses its old result.

        Raises:
            NotFound: No such episode. StoreError: Nothing of it was written.
        """
        first = self._number(id) * N_MAX_STEPS
        begun = [
            (first + s.step, s.tool, s.key, s.effect, _dumps(s.arguments), moment_text(s.at), _why_text(s))
            for s in started
        ]
        ended = [(first + r.step, r, _dumps(r.value)) for r in finished]
        with self._store.transaction() as cursor:
            for row in begun:
                cursor.execute(_START, row)
            for place, result, value in ended:
                _write_result(cursor, place, result, value)
        with self._lock:
            written = self._written.setdefault(id, {})
            written.update((r.step, r) for r in finished)

    def finish(self, episode: Episode) -> None:
        """Close the episode with its answer; results not recorded before are written too."""
        number = self._number(episode.id)
        with self._lock:
            written = self._written.get(episode.id)
            decided = self._decided.get(episode.id, ())
        if written is None:
            written = {r.step: r for r in self._results(number)}
        missing = [r for r in episode.results if written.get(r.step) != r]
        with self._store.transaction() as cursor:
            for result in missing:
                _write_result(cursor, number * N_MAX_STEPS + result.step, result, _dumps(result.value))
            decision = (episode.plan, episode.refusal, episode.ruling)
            if len(decided) != len(decision) or any(a is not b for a, b in zip(decided, decision, strict=True)):
                cursor.execute(
                    "UPDATE episode SET plan_json=?, refusal_json=?, ruling_json=? WHERE number=?",
                    (*_decision(*decision), number),
                )
            cursor.execute(
                "UPDATE episode SET status='finished', answer_json=?, disclosures_json=?, planning_ms=?,"
                " duration_ms=?, rounds=?, questions_json=? WHERE number=?",
                (
                    _dumps(_answer_to_json(episode.answer)),
                    _dumps([[d.host, d.n_bytes, d.reason, moment_text(d.at)] for d in episode.disclosures]),
                    episode.planning_ms,
                    episode.duration_ms,
                    episode.rounds,
                    _dumps([[asked.question, asked.answer] for asked in episode.asked]),
                    number,
                ),
            )
        with self._lock:
            self._written.pop(episode.id, None)
            self._decided.pop(episode.id, None)
            self._numbers.pop(episode.id, None)

    def resuming(self, id: str) -> None:
        """Record, before anything of it runs again, that the episode is resumed. Raises: NotFound: No such episode."""
        number = self._number(id)
        with self._store.transaction() as cursor:
            cursor.execute("UPDATE episode SET n_resumed=n_resumed+1 WHERE number=?", (number,))

    def mark_undone(self, id: str, step: int) -> None:
        """Record that the owner undid a step. Raises: NotFound: No such episode."""
        place = self._number(id) * N_MAX_STEPS + step
        with self._store.transaction() as cursor:
            cursor.execute("UPDATE step SET is_undone=1 WHERE place=?", (place,))

    # ── Reading ───────────────────────────────────────────────────────────────────────────────────────────

    def episode(self, id: str) -> Episode:
        """Return the finished episode `id`. Raises: NotFound: None of that id, or it was never finished."""
        rows = self._store.query("SELECT * FROM episode WHERE id=?", (_storable(id),))
        if not rows:
            raise NotFound(f"no episode {id!r}; `hearth history` lists the ones there are")
        if rows[0]["status"] != "finished":
            raise NotFound(f"episode {id!r} was not finished; the next start of Hearth resumes or reports it")
        return self._rebuild(rows[0])

    def has(self, id: str) -> bool:
        """Say whether there is an episode `id`, finished or not."""
        return bool(self._store.query("SELECT 1 FROM episode WHERE id=?", (_storable(id),)))

    def episodes(self, limit: int = 20, *, is_owners: bool = False) -> tuple[Episode, ...]:
        """Return the latest finished episodes, newest first; with `is_owners`, those that no program asked for."""
        of_owner = " AND asked_by=''" if is_owners else ""
        rows = self._store.query(
            f"SELECT * FROM episode WHERE status='finished'{of_owner} ORDER BY number DESC LIMIT ?",  # noqa: S608 - ours
            (limit,),
        )
        return tuple(self._rebuild(row) for row in rows)

    def calls(self, id: str) -> tuple[CallRecord, ...]:
        """Return the steps of an episode as they were run, by step, with the keys and arguments that undoing needs.

        Raises:
            NotFound: No such episode.
        """
        return tuple(
            CallRecord(
                _started(row) if row["started"] else None,
                self._result(row) if row["status"] else None,
                bool(row["is_undone"]),
            )
            for row in self._rows(self._number(id))
        )

    def unfinished(self) -> tuple[UnfinishedEpisode, ...]:
        """Return episodes that were begun and not finished, oldest first."""
        episodes = []
        for row in self._store.query("SELECT * FROM episode WHERE status <> 'finished' ORDER BY number"):
            steps = self._rows(row["number"])
            episodes.append(
                UnfinishedEpisode(
                    id=row["id"],
                    request=_request(row),
                    plan=_plan(row["plan_json"]),
                    refusal=_refusal(row["refusal_json"]),
                    ruling=_ruling(row["ruling_json"]),
                    planning_ms=row["planning_ms"],
                    results=tuple(self._result(s) for s in steps if s["status"]),
                    started=tuple(_started(s) for s in steps if s["started"] and not s["status"]),
                    n_resumed=row["n_resumed"],
                )
            )
        return tuple(episodes)

    def _number(self, id: str) -> int:
        number = self._numbers.get(id)
        if number is None:
            rows = self._store.query("SELECT number FROM episode WHERE id=?", (_storable(id),))
            if not rows:
                raise NotFound(f"no episode {id!r}; `hearth history` lists the ones there are")
            number = cast(int, rows[0]["number"])
        return number

    def _rows(self, number: int) -> list[sqlite3.Row]:
        first = number * N_MAX_STEPS
        return self._store.query(
            "SELECT * FROM step WHERE place BETWEEN ? AND ? ORDER BY place", (first, first + N_MAX_STEPS - 1)
        )

    def _results(self, number: int) -> tuple[StepResult, ...]:
        return tuple(self._result(row) for row in self._rows(number) if row["status"])

    def _result(self, row: sqlite3.Row) -> StepResult:
        text = row["value_json"]
        if row["value_hash"]:
            found = self._store.query("SELECT json FROM large_value WHERE hash=?", (row["value_hash"],))
            if not found:
                raise StoreError(f"the result {row['value_hash']!r} of a step is missing; run `hearth doctor`")
            text = found[0]["json"]
        return StepResult(
            step=row["place"] % N_MAX_STEPS,
            status=row["status"],
            value=json.loads(text) if text else None,
            label=label_from_text(row["label"]),
            fields={name: label_from_text(text) for name, text in json.loads(row["fields_json"]).items()},
            error=_text(row["error"]),
            error_kind=row["error_kind"],
            duration_ms=row["duration_ms"],
            n_attempts=row["n_attempts"],
            key=row["key"],
            notices=tuple(json.loads(row["notices_json"])),
        )

    def _rebuild(self, row: sqlite3.Row) -> Episode:
        return Episode(
            id=row["id"],
            request=_request(row),
            plan=_plan(row["plan_json"]),
            refusal=_refusal(row["refusal_json"]),
            ruling=_ruling(row["ruling_json"]),
            results=self._results(row["number"]),
            answer=_answer(row["answer_json"]),
            disclosures=tuple(
                Disclosure(host, n_bytes, reason, parse_moment(at))
                for host, n_bytes, reason, at in json.loads(row["disclosures_json"])
            ),
            duration_ms=row["duration_ms"],
            planning_ms=row["planning_ms"],
            rounds=row["rounds"],
            asked=tuple(Asked(question, answer) for question, answer in json.loads(row["questions_json"])),
        )


# ── Rows ──────────────────────────────────────────────────────────────────────────────────────────────────

_START = (
    "INSERT INTO step (place, tool, key, effect, arguments_json, started, why_json) VALUES (?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (place) DO UPDATE SET tool=excluded.tool, key=excluded.key, effect=excluded.effect,"
    " arguments_json=excluded.arguments_json, why_json=excluded.why_json,"
    " started=coalesce(started, excluded.started), finished_unix_s=NULL,"
    " status=NULL, value_json=NULL, value_hash=NULL, label='', fields_json='{}', error='', error_kind=''"
)
_END = (
    "INSERT INTO step (place, key, finished_unix_s, status, value_json, value_hash, label, error, error_kind, "
    "duration_ms, n_attempts, notices_json, fields_json) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT "
    "(place) DO UPDATE SET key=coalesce(nullif(excluded.key, ''), key), finished_unix_s=excluded.finished_unix_s, "
    "status=excluded.status, value_json=excluded.value_json, value_hash=excluded.value_hash, label=excluded.label, "
    "error=excluded.error, error_kind=excluded.error_kind, duration_ms=excluded.duration_ms, "
    "n_attempts=excluded.n_attempts, notices_json=excluded.notices_json, fields_json=excluded.fields_json"
)


def _write_result(cursor: sqlite3.Cursor, place: int, result: StepResult, value: str) -> None:
    value_json: str | None = value
    value_hash = None
    if len(value) > N_LARGE_VALUE_BYTES:
        value_json, value_hash = None, hashlib.sha256(value.encode()).hexdigest()
        cursor.execute("INSERT OR IGNORE INTO large_value VALUES (?, ?)", (value_hash, value))
    cursor.execute(
        _END,
        (
            place,
            result.key,
            time.time(),
            result.status,
            value_json,
            value_hash,
            label_text(result.label),
            _storable(result.error),
            result.error_kind,
            result.duration_ms,
            result.n_attempts,
            _dumps(result.notices) if result.notices else "[]",
            _dumps({name: label_text(label) for name, label in result.fields.items()}) if result.fields else "{}",
        ),
    )


def _started(row: sqlite3.Row) -> StartedStep:
    why = _why(row["why_json"])
    return StartedStep(
        step=row["place"] % N_MAX_STEPS,
        tool=row["tool"],
        key=row["key"],
        arguments=json.loads(row["arguments_json"]),
        at=parse_moment(row["started"]),
        effect=row["effect"],
        ruling=None if why.get("ruling") is None else Ruling(*why["ruling"]),
        labels={name: label_from_text(label) for name, label in why.get("labels", {}).items()},
        things=tuple(why.get("things", ())),
        told=tuple(why.get("told", ())),
    )


def _why_text(step: StartedStep) -> str:
    """Encode who allowed a step, the labels of its arguments, and what it acts on."""
    if step.ruling is None and not (step.labels or step.told):
        return ""
    ruling = None if step.ruling is None else [step.ruling.verdict, step.ruling.reason, step.ruling.rule]
    labels = {name: label_text(label) for name, label in step.labels.items()}
    more = {name: of for name, of in (("things", step.things), ("told", step.told)) if of}
    return _dumps({"ruling": ruling, "labels": labels, **more})


def _why(text: str) -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(text)) if text else {}


def _request(row: sqlite3.Row) -> Request:
    text, id, said, by = (_text(row[name]) for name in ("request", "request_id", "said", "asked_by"))
    records = tuple(Record(*one) for one in json.loads(row["records"] or "[]"))
    return Request(text, parse_moment(row["now"]), id, said, records=records, asked_by=by)


def _records_text(records: Sequence[Record]) -> str:
    return _dumps([[one.kind, one.id, one.words] for one in records]) if records else ""


# ── Values as text ────────────────────────────────────────────────────────────────────────────────────────

_dumps = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def _storable(text: str) -> str | bytes:
    """Return text as SQLite can store it: valid UTF-8 as text, anything else (a request in a wrong encoding) as
    bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass")
    return text


def _text(stored: str | bytes) -> str:
    return stored if isinstance(stored, str) else stored.decode(errors="surrogatepass")


def moment_text(moment: dt.datetime) -> str:
    """Return ISO 8601 with the zone's name behind it (RFC 9557): `2026-11-20T09:30:00+01:00[Europe/Berlin]`."""
    key = getattr(moment.tzinfo, "key", None)
    return f"{moment.isoformat()}[{key}]" if key else moment.isoformat()


def parse_moment(text: str) -> dt.datetime:
    """Undo `moment_text`; a zone this machine does not know leaves the offset. Raises: ValueError."""
    match = re.fullmatch(r"([^\[]+)(?:\[([^\]]+)\])?", text)
    if not match:
        raise ValueError(f"{text!r} is not a moment such as '2026-11-20T09:30:00+01:00[Europe/Berlin]'")
    moment = dt.datetime.fromisoformat(match[1])
    if match[2]:
        try:
            zone = ZoneInfo(match[2])
        except (ZoneInfoNotFoundError, ValueError, OSError):
            return moment
        for fold in (0, 1):
            local = moment.replace(tzinfo=zone, fold=fold)
            if local.utcoffset() == moment.utcoffset():
                return local
    return moment


@functools.lru_cache(maxsize=1024)
def label_text(label: Label) -> str:
    """Return a label as a column holds it: JSON with `sources` and `readers`; empty for a public value."""
    if label == PUBLIC:
        return ""
    readers = None if label.readers is None else sorted(label.readers)
    return _dumps({"sources": sorted(label.sources), "readers": readers})


def short_label_text(label: Label) -> str:
    """Return a label in a few bytes, for tables with many rows: `owner;` is the owner's, for nobody else."""
    parts = (*label.sources, *(label.readers or ()))
    if label.readers is None or not label.sources or any(set(part) & set(',;{"') or not part for part in parts):
        return label_text(label)
    return f"{','.join(sorted(label.sources))};{','.join(sorted(label.readers))}"


def label_from_text(text: str) -> Label:
    """Undo `label_text` and `short_label_text`."""
    if not text:
        return PUBLIC
    if text[0] != "{":
        sources, _, said = text.partition(";")
        return Label(frozenset(filter(None, sources.split(","))), frozenset(filter(None, said.split(","))))
    data = json.loads(text)
    readers = data["readers"]
    return Label(frozenset(data["sources"]), None if readers is None else frozenset(readers))


def _decision(
    plan: Plan | None, refusal: Refusal | None, ruling: Ruling | None
) -> tuple[str | None, str | None, str | None]:
    return (
        # The plan format rounds the confidence for readers; a record must keep the exact value.
        None if plan is None else _dumps({**plan_to_json(plan), "confidence": plan.confidence}),
        None if refusal is None else _dumps(_refusal_to_json(refusal)),
        None if ruling is None else _dumps([ruling.verdict, ruling.reason, ruling.rule]),
    )


def _plan(text: str | None) -> Plan | None:
    return None if text is None else plan_from_json(json.loads(text))


def _refusal_to_json(refusal: Refusal) -> dict[str, Plain]:
    offer: Plain = None if refusal.offer is None else [refusal.offer.tool, refusal.offer.text]
    return {
        "kind": refusal.kind,
        "reason": refusal.reason,
        "missing": list(refusal.missing),
        "offer": offer,
        "planner": refusal.planner,
    }


def _refusal(text: str | None) -> Refusal | None:
    if text is None:
        return None
    data = json.loads(text)
    offer = None if data["offer"] is None else Offer(*data["offer"])
    return Refusal(data["kind"], data["reason"], tuple(data["missing"]), offer, data["planner"])


def _ruling(text: str | None) -> Ruling | None:
    return None if text is None else Ruling(*json.loads(text))


def _answer_to_json(answer: Answer) -> dict[str, Any]:
    evidence = [[e.step, e.text, e.source] for e in answer.evidence]
    return {"text": answer.text, "status": answer.status, "evidence": evidence}


def _answer(text: str) -> Answer:
    data = json.loads(text)
    return Answer(data["text"], data["status"], tuple(Evidence(*e) for e in data["evidence"]))


# ── Forgetting ────────────────────────────────────────────────────────────────────────────────────────────

_FINISHED = (
    "SELECT number, id, request, said, plan_json, answer_json, refusal_json FROM episode WHERE status='finished'"
)
"""One that was cut off is still to be carried on, and is not touched."""
_LEAST_QUOTED = 12
"""Characters from which on the same words are a quotation."""


class RecordHolder:
    """A `protocols.Dependent` holder of recorded requests: plans, calls, results, answers, and what was asked of the
    owner for them. What they changed in files stays, and cannot be undone."""

    name = "requests"

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, events: Collection[str], wanted: Wanted | None, words: str) -> Held:  # noqa: ARG002 - the seam's
        """Find the requests among `events`, and those in whose record the words stand. What is wanted of a person, a
        period or a topic is memory's to say: the event of a request has its id."""
        found = {}
        for row in self._store.query(_FINISHED):
            texts = [as_read(row[name]) for name in ("request", "said", "plan_json", "answer_json", "refusal_json")]
            if row["id"] in events or (words and (holds(texts, words) or self._steps_hold(row["number"], words))):
                found[row["id"]] = texts[0] or texts[1]
        ids = tuple(sorted(found))
        count = Count(len(ids), "recorded request", "recorded requests")
        return Held(self.name, (count,), tuple(found[id] for id in ids), ids, rows=ids or None)

    def find_with(self, found: Held, others: Sequence[Held]) -> Held:
        """Widen by the requests that were answered with the words of what goes: a mail does not stay where it was
        quoted."""
        gone = [" ".join(text.split()) for other in others for text in other.texts]
        quoting = (
            {row["id"] for row in self._store.query(_FINISHED) if self._quotes(row["number"], gone)} if gone else ()
        )
        return self.find({*found.events, *quoting}, None, "") if quoting else found

    def _steps(self, number: int, columns: str) -> list[sqlite3.Row]:
        return self._store.query(f"SELECT {columns} FROM step WHERE place BETWEEN ? AND ?", _places(number))  # noqa: S608 - names of this class

    def _steps_hold(self, number: int, words: str) -> bool:
        steps = self._steps(number, "arguments_json, value_json, error")
        return any(holds([as_read(part) for part in row], words) for row in steps)

    def _quotes(self, number: int, gone: Sequence[str]) -> bool:
        steps = self._steps(number, "value_json")
        said = (text for step in steps for text in texts_in(json.loads(step[0] or "null")))
        told = {one for text in said if len(one := " ".join(text.rstrip("…").split())) >= _LEAST_QUOTED}
        return any(text in one or (len(one) >= _LEAST_QUOTED and one in text) for text in told for one in gone)

    def remove(self, cursor: sqlite3.Cursor, held: Held) -> None:
        """Remove each with its steps, its journal and the standing answers given in it."""
        for id in held.rows if isinstance(held.rows, tuple) else ():
            _remove_episode(cursor, id)

    def sweep(self, home: Path, held: Held) -> None:
        """Remove nothing: large before-images go once nothing refers to them any more."""


_ESCAPED = re.compile(r"(?<!\\)(?:\\u[0-9a-fA-F]{4})+")


def as_read(stored: str | bytes | None) -> str:
    """Return a column's text as a person reads it: JSON's escapes undone."""
    if isinstance(stored, bytes):
        return stored.decode(errors="surrogatepass")
    return _ESCAPED.sub(_unescaped, stored or "")


def _unescaped(escapes: re.Match[str]) -> str:
    text: str = json.loads(f'"{escapes.group()}"')
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def holds(texts: Iterable[str], words: str) -> bool:
    """Return whether the words stand in one of the texts, whatever their case."""
    return any(words.casefold() in text.casefold() for text in texts)


def _places(number: int) -> tuple[int, int]:
    """The places of the first and the last step that an episode may have."""
    return number * N_MAX_STEPS, (number + 1) * N_MAX_STEPS - 1


def _remove_episode(cursor: sqlite3.Cursor, id: str) -> None:
    row = cursor.execute("SELECT number FROM episode WHERE id=?", (id,)).fetchone()
    if row is None:
        return
    cursor.execute("DELETE FROM step WHERE place BETWEEN ? AND ?", _places(row["number"]))
    cursor.execute("DELETE FROM journal WHERE key=? OR key LIKE ? || '-%'", (id, id))
    cursor.execute("DELETE FROM episode WHERE id=?", (id,))
    cursor.execute("DELETE FROM looked_at WHERE episode=?", (id,))
    cursor.execute("DELETE FROM consent WHERE episode=?", (id,))
    cursor.execute(
        "DELETE FROM large_value WHERE hash NOT IN (SELECT value_hash FROM step WHERE value_hash IS NOT NULL)"
    )
