"""Compare each result with what the plan asked for, and tell the owner what does not fit.

A tool can be wrong, a server can answer something else, a search can be looser than the request. After each step its
result is checked for records outside the wanted period, mails of others than the wanted sender, and a moment, number or
recipient that is not the one the plan gave. Nothing is undone: the owner reads what does not fit.

Covered: dates and moments (records that overlap the period fit), full names and addresses of senders, values that come
back under the name they were given, recipients of what was sent, also through a draft, empty results of what was to
make something. Not covered: what a text says; names the owner uses for people ("mum"), which the tools look up.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence

from hearth.guard.flow.labels import Value
from hearth.types import Parameter, Plain, StepResult, ToolSpec

_BEGINS, _ENDS = ("start", "after", "since", "begin"), ("end", "before", "until")
"""Names of the two ends of a period, as parameters and as fields of a record."""
_MOMENTS = ("start", "received", "at", "date", "due", "modified", "time")
"""Fields that give a record's time, most specific first."""
_EXACT = frozenset({"datetime", "date", "time", "integer", "number", "boolean", "duration", "EmailAddress"})
_SEARCHED = frozenset((*_BEGINS, *_ENDS, "sender"))
"""Arguments that say what a search may find."""
_PEOPLE = ("sender", "sender_name", "organizer", "author", "name")
_MAX_TOLD = 3


def unmet(
    spec: ToolSpec, arguments: Mapping[str, Value], value: Plain, before: Mapping[int, StepResult] | None = None
) -> tuple[str, ...]:
    """Return what a result does not fulfil of the plan, a sentence each; empty when no check fails.

    Args:
        arguments: As the step was called.
        value: What it returned.
        before: Results of the steps it may rest on, for recipients that a draft names.
    """
    if spec.effect == "none" and _SEARCHED.isdisjoint(arguments):
        return ()
    given = {name: argument.data for name, argument in arguments.items()}
    records = [r for r in (value if isinstance(value, list) else [value]) if isinstance(r, dict)]
    found: list[str] = []
    if spec.effect == "none":
        found += _outside_period(spec, given, records)
        found += _of_others(given, records)
        return tuple(found)
    if value in (None, []) and spec.returns != "none":
        return (f"{_words(spec)} says it is done, but returned nothing to show for it; please check.",)
    found += _other_values(spec, given, records)
    if spec.effect == "send":
        found += _other_recipients(spec, given, records, before or {})
    return tuple(found)


# ── Searches ──────────────────────────────────────────────────────────────────────────────────────────────


def _outside_period(spec: ToolSpec, given: Mapping[str, Plain], records: Sequence[Mapping[str, Plain]]) -> list[str]:
    begin = next((m for name in _BEGINS if (m := _moment(given.get(name))) is not None), None)
    end = next((m for name in _ENDS if (m := _moment(given.get(name))) is not None), None)
    if begin is None and end is None:
        return []
    field = next((name for name in _MOMENTS if spec.fields.get(name) in ("datetime", "date")), None)
    if field is None:
        return []
    strays = [record for record in records if _is_outside(record, field, begin, end)]
    if not strays:
        return []
    named = ", ".join(f"“{_name(record)}”" for record in strays[:_MAX_TOLD])
    rest = " and more" if len(strays) > _MAX_TOLD else ""
    return [f"{len(strays)} of {len(records)} found lie outside the time that was asked for: {named}{rest}."]


def _is_outside(record: Mapping[str, Plain], field: str, begin: dt.datetime | None, end: dt.datetime | None) -> bool:
    first = _moment(record.get(field))
    if first is None:
        return False
    last = (_moment(record.get("end")) if field == "start" else None) or first
    if begin is not None and last < begin:
        return True
    return end is not None and first >= end and (begin is None or first > begin)


def _moment(value: Plain) -> dt.datetime | None:
    """Read a date or moment as a comparable datetime; without a zone it counts as UTC, dates from midnight."""
    if not isinstance(value, str):
        return None
    try:
        moment = dt.datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)


def _of_others(given: Mapping[str, Plain], records: Sequence[Mapping[str, Plain]]) -> list[str]:
    """Report mails from others than the full name or address that was asked for."""
    asked = given.get("sender")
    if not isinstance(asked, str) or not records:
        return []
    words = [word.casefold() for word in re.findall(r"[^\W\d_]{2,}", asked)]
    is_full_name = len(words) >= 2 and all(word[:1].isupper() for word in asked.split())
    if "@" not in asked and not is_full_name:
        return []
    others = [record for record in records if not _fits(asked, words, record)]
    if not others:
        return []
    return [f"{len(others)} of {len(records)} found are not from {asked}: “{_name(others[0])}”."]


def _fits(asked: str, words: Sequence[str], record: Mapping[str, Plain]) -> bool:
    said = " ".join(str(record.get(name) or "") for name in _PEOPLE).casefold()
    return asked.casefold() in said if "@" in asked else any(word in said for word in words)


# ── Changes and sendings ──────────────────────────────────────────────────────────────────────────────────


def _other_values(spec: ToolSpec, given: Mapping[str, Plain], records: Sequence[Mapping[str, Plain]]) -> list[str]:
    """Report values that came back different under the name they were given."""
    if len(records) != 1:
        return []
    found = []
    for parameter in spec.parameters:
        name = parameter.name
        if given.get(name) is None or name not in records[0] or not _is_exact(parameter, spec):
            continue
        if not _is_same(given[name], records[0][name]):
            found.append(
                f"{_words(spec)} was to use {_shown(given[name])} as {name.replace('_', ' ')}, "
                f"but says {_shown(records[0][name])}; please check."
            )
    return found


def _is_exact(parameter: Parameter, spec: ToolSpec) -> bool:
    kind = parameter.type.removeprefix("list[").removesuffix("]")
    return kind in _EXACT and spec.fields.get(parameter.name, "").removeprefix("list[").removesuffix("]") == kind


def _is_same(asked: Plain, told: Plain) -> bool:
    if isinstance(asked, list) or isinstance(told, list):
        one, other = (item if isinstance(item, list) else [item] for item in (asked, told))
        return {_norm(item) for item in one} == {_norm(item) for item in other}
    first, second = _moment(asked), _moment(told)
    if first is not None and second is not None:
        is_day = first.time() == dt.time()  # what is moved to midnight keeps its time of day
        return first == second or (is_day and second.astimezone(first.tzinfo).date() == first.date())
    return _norm(asked) == _norm(told)


def _norm(value: Plain) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{float(value):.9g}"
    return str(value).strip().casefold()


def _other_recipients(
    spec: ToolSpec, given: Mapping[str, Plain], records: Sequence[Mapping[str, Plain]], before: Mapping[int, StepResult]
) -> list[str]:
    """Report recipients that differ between what was sent and the draft it was made from."""
    fields = [name for name, kind in spec.fields.items() if kind.endswith(("EmailAddress", "EmailAddress]"))]
    ids = {value for value in given.values() if isinstance(value, str)}
    found = []
    for record in records:
        for name in fields:
            for earlier in before.values():
                draft = earlier.value
                if isinstance(draft, dict) and draft.get("id") in ids and name in draft:
                    wanted, sent = draft[name], record.get(name)
                    if not _is_same(wanted, sent):
                        found.append(f"This went to {_shown(sent)}, but the draft was for {_shown(wanted)}.")
    return found


def _name(record: Mapping[str, Plain]) -> str:
    for field in ("title", "subject", "name", "text", "path", "id"):
        if record.get(field):
            return " ".join(str(record[field]).split())[:60]
    return "one without a name"


def _shown(value: Plain) -> str:
    return ", ".join(str(item) for item in value) if isinstance(value, list) else str(value)


def _words(spec: ToolSpec) -> str:
    return spec.name.replace("_", " ").capitalize()
