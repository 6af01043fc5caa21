"""Reads which of several things was meant, after a question like "2 contacts fit 'Anna': Anna Berg; Anna Kowalska".

An `Ambiguous` error says its choices after a colon, with semicolons between them, or stands for the records that a
look-up gave. Covered: a place ("the second one", "2") and words that fit one choice alone ("Berg", "the one from
Tuesday"). Not covered: several of them, and what was asked before the last request.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence

from hearth.language.text.tokens import listed
from hearth.types import Episode, Plain, Plan, Record, StepResult, ToolSpec

WITHIN = dt.timedelta(minutes=15)
"""An answer later than this is read by itself."""
PLACES: Mapping[str, int] = {
    **{word: k for k, word in enumerate(listed("first second third fourth fifth sixth seventh eighth ninth tenth"))},
    **{f"{n}{'st' if n == 1 else 'nd' if n == 2 else 'rd' if n == 3 else 'th'}": n - 1 for n in range(1, 21)},
    "last": -1,
    "latest": 0,
}
_FILLERS = frozenset(
    listed("the one ones no i mean meant it's its that that's is with from of please to for number a an my and on at")
)
_MOST_WORDS = 8
_CHOICES = re.compile(r": (?P<names>.+); say\b", re.DOTALL)


def chosen(text: str, asked: Episode, now: dt.datetime, tools: Mapping[str, ToolSpec]) -> Record | None:
    """Return the thing that `text` picks, of those that the last request was asked about; None where it picks none
    alone. It goes beside the request, never into its text: what a card, a file or a device is called is no word of the
    owner's, to be planned, remembered or learnt from."""
    failed = next((result for result in asked.results if result.error_kind == "Ambiguous"), None)
    is_asked = asked.answer.status == "needs" and dt.timedelta() <= now - asked.request.now <= WITHIN
    if not is_asked or failed is None or asked.plan is None:
        return None
    found = _CHOICES.search(failed.error)
    if found is not None and len(names := found["names"].split("; ")) > 1:
        place = _picked(text, names)
        called, kind = _called(asked.plan, failed, asked.request.text, tools)
        return Record(kind, names[place].partition(" (")[0], called) if place is not None and called else None
    records, kind = _records(asked, failed, tools)
    place = _picked(text, [_words_of(record) for record in records])
    id = records[place].get("id") if place is not None else None
    return Record(kind, id) if isinstance(id, str) else None


def _called(plan: Plan, failed: StepResult, said: str, tools: Mapping[str, ToolSpec]) -> tuple[str, str]:
    """Return the words of the request that fit several things, and the type of what they name."""
    step = plan.steps[failed.step]
    spec = tools.get(step.tool)
    kinds = {one.name: one.type.removeprefix("list[").removesuffix("]") for one in (spec.parameters if spec else ())}
    for name, value in step.arguments.items() if spec is not None else ():
        for words in value if isinstance(value, list) else (value,):
            if isinstance(words, str) and Record(kinds[name], "", words).is_said_in(said):
                return words, kinds[name]
    return "", ""


def _records(
    asked: Episode, failed: StepResult, tools: Mapping[str, ToolSpec]
) -> tuple[list[Mapping[str, Plain]], str]:
    """Return the records that the failed step was to take one of, and the type of their ids."""
    steps = asked.plan.steps if asked.plan is not None else ()
    sources = {ref.step for ref in steps[failed.step].refs()} if failed.step < len(steps) else set()
    for result in asked.results:
        spec = tools.get(steps[result.step].tool)
        if result.step in sources and result.status == "done" and isinstance(result.value, list) and spec is not None:
            records: list[Mapping[str, Plain]] = [value for value in result.value if isinstance(value, dict)]
            if len(records) > 1 and (kind := spec.fields.get("id", "")):
                return records, kind
    return [], ""


def _words_of(record: Mapping[str, Plain]) -> str:
    """Return what an owner may call a record by: its texts, and the day and hour of its times."""
    said = [value for name, value in record.items() if isinstance(value, str) and name != "id"]
    for value in tuple(said):
        if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d.*", value):
            at = dt.datetime.fromisoformat(value)
            said.append(f"{at:%A %B} {at.day} {at:%H:%M} {at.hour % 12 or 12}{at:%p}")
    return " ".join(said)


def _picked(text: str, choices: Sequence[str]) -> int | None:
    """Return the place of the one choice that `text` names or counts to."""
    words = [word for word in re.findall(r"[\w'’:.@+-]*\w", text.lower()) if word not in _FILLERS]
    if not choices or len(text.split()) > _MOST_WORDS:
        return None
    if len(words) == 1 and words[0] in PLACES and -len(choices) <= PLACES[words[0]] < len(choices):
        return PLACES[words[0]] % len(choices)
    if len(words) == 1 and words[0].isdigit() and 0 < int(words[0]) <= len(choices):
        return int(words[0]) - 1
    forms = [set(re.findall(r"[\w'’:.@+-]*\w", choice.lower())) for choice in choices]
    fitting = [place for place, form in enumerate(forms) if words and set(words) <= form]
    return fitting[0] if len(fitting) == 1 else None
