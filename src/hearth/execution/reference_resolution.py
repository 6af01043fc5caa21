"""Resolve a step's references to the values they point at, each with the label of the field it comes from.

Pure functions. `<node-2.email>` walks the fields of a result. Where one value is wanted and the result is a list, a
list of one gives its item, an empty list is NotFound, and several are Ambiguous, named so that the owner can choose. A
parameter that takes a list of records gets all of them, even none. A text parameter that is given a record or a list
gets it in words. A doubtful answer is no text where its place does not name what was asked for.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence

from hearth.errors import Ambiguous, BadReference, NotFound
from hearth.execution.answer import plural_of
from hearth.formats.tool_signature import parse_duration
from hearth.guard.flow.labels import Value, field_of, literal_label
from hearth.types import (
    TYPE_NAMES,
    Argument,
    Parameter,
    Plain,
    Plan,
    Ref,
    Step,
    StepResult,
    ToolSpec,
    Whence,
    canonical_type,
)

MAX_NAMED = 5
"""Number of matches named when there are several."""


def bind(plan: Plan, index: int, results: Mapping[int, StepResult], tools: Mapping[str, ToolSpec]) -> dict[str, Value]:
    """Return the arguments of step `index` as plain data with labels.

    Args:
        results: Of every step it refers to, all done.
    Raises:
        NotFound: A step it refers to found nothing, or found something without the field that is needed.
        Ambiguous: A step it refers to found several things.
        BadReference: A result has no such field.
    """
    step = plan.steps[index]
    parameters = {p.name: p for p in tools[step.tool].parameters}
    return {
        name: _bound(plan, step, parameters.get(name) or Parameter(name, "any"), value, results, tools)
        for name, value in step.arguments.items()
    }


def _bound(
    plan: Plan,
    step: Step,
    parameter: Parameter,
    value: Argument,
    results: Mapping[int, StepResult],
    tools: Mapping[str, ToolSpec],
) -> Value:
    label = literal_label(step, parameter.name) if not isinstance(value, Ref) else None
    whence: list[Whence] = []

    def walk(value: Argument, kind: str) -> Plain:
        nonlocal label
        if isinstance(value, Ref):
            result = results[value.step]
            pointed_at = result.fields.get(field_of(value), result.label)
            label = pointed_at if label is None else label.join(pointed_at)
            whence.extend(_whence(result, value.path))
            return _Reference(plan, step, parameter, value, tools).resolve(result.value, kind)
        inner = kind[5:-1] if kind.startswith("list[") else "any"
        if isinstance(value, list):
            return [walk(item, inner) for item in value]
        if isinstance(value, dict):
            return {key: walk(item, "any") for key, item in value.items()}
        return value

    data = walk(value, parameter.type)
    assert label is not None  # a bare reference has set it
    return Value(data, label, whence=tuple(dict.fromkeys(whence)))


def _whence(result: StepResult, path: Sequence[str]) -> Iterator[Whence]:
    """Yield where the record comes from that a reference points into; all of them where it points at several."""
    value, holder = result.value, result.value
    for part in path:
        if isinstance(value, list):
            numbered = part.lstrip("-").isdigit() and -len(value) <= int(part) < len(value)
            value = value[int(part)] if numbered else value[0] if len(value) == 1 else value
            holder = value
        if isinstance(value, dict):
            holder, value = value, value.get(part)
    records = {str(one["id"]) for one in _listed(holder) if isinstance(one, dict) and "id" in one}
    yield from (one for one in result.whence if not one.record or not records or one.record in records)


_SAID_AS = {"email": "e-mail address", "phone": "phone number"}


class _Reference:
    """One reference of one step, with what error messages need."""

    def __init__(self, plan: Plan, step: Step, parameter: Parameter, ref: Ref, tools: Mapping[str, ToolSpec]) -> None:
        self._step = step
        self._parameter = parameter
        self._ref = ref
        self._source = plan.steps[ref.step]
        self._spec = tools[self._source.tool]

    def resolve(self, value: Plain, kind: str) -> Plain:
        """Return the value the reference points at, as a parameter of type `kind` takes it."""
        for part in self._ref.path:
            value = self._part(value, part, kind)
        if kind == "text" and not self._parameter.enum:
            return self._words(value)
        if value is not None and kind != "any" and not kind.startswith("list["):
            value = self._one(value)
        if value == [] and self._takes_records(kind):
            return value  # a tool that takes the whole list decides what an empty one means
        if value in (None, "", []) and self._parameter.is_required:
            raise NotFound(self._nothing())
        if kind == "list[text]":
            return [item if isinstance(item, str) else _line(item) for item in _listed(value)]
        return value

    def _part(self, value: Plain, part: str, kind: str) -> Plain:
        """Return the item or the field of a value that one part of the reference's path names."""
        if isinstance(value, list) and part.lstrip("-").isdigit():
            return self._item(value, int(part))
        value = self._one(value)
        if not isinstance(value, dict) or part not in value:
            raise BadReference(f"{self._ref} has no {part!r}: {self._source.tool} gave {_shape(value)}")
        if part == "value" and kind == "text" and value.get("doubt"):
            self._check_named(value)
        return value[part]

    def _check_named(self, answer: Mapping[str, Plain]) -> None:
        """Raise Ambiguous where a doubtful answer is not of what was asked for: the words may be meant as they are."""
        if not answer.get("is_named"):
            raise Ambiguous(
                f"I am not sure that what I found answers “{self._source.arguments.get('question')}”, so I wrote "
                "nothing. Say whether you mean it or the words themselves, and which text to write"
            )

    def _takes_records(self, kind: str) -> bool:
        is_list = kind.startswith("list[") and kind.endswith("]")
        return is_list and not self._ref.path and canonical_type(kind[5:-1]) not in TYPE_NAMES

    def _words(self, value: Plain) -> Plain:
        if value in (None, "", []) and self._parameter.is_required:
            raise NotFound(self._nothing())
        kind = self._spec.fields.get(self._ref.path[-1], "") if self._ref.path else self._spec.returns
        if isinstance(value, str) and kind not in _SAID:
            return value
        return render(value) if value is not None else None

    def _one(self, value: Plain) -> Plain:
        if value is None:
            raise NotFound(self._nothing())
        if not isinstance(value, list):
            return value
        if not value:
            raise NotFound(self._nothing())
        if len(value) > 1:
            names = ", ".join(name_of(item) for item in value[:MAX_NAMED])
            more = f" and {len(value) - MAX_NAMED} more" if len(value) > MAX_NAMED else ""
            raise Ambiguous(f"I found {len(value)} {plural_of(self._spec)}: {names}{more}; say which one you mean")
        return value[0]

    def _item(self, value: list[Plain], place: int) -> Plain:
        try:
            return value[place]
        except IndexError:
            raise NotFound(f"I found only {len(value)} of the {plural_of(self._spec)} that this needs") from None

    def _nothing(self) -> str:
        texts = [v for v in self._source.arguments.values() if isinstance(v, str) and v]
        what = f" for {texts[0]!r}" if texts else ""
        if self._ref.path and self._ref.path[-1] != "id":
            return f"I found no {_SAID_AS.get(self._ref.path[-1], self._ref.path[-1].replace('_', ' '))}{what}"
        return f"I found nothing{what}"


def name_of(value: Plain) -> str:
    """Name a record so that it can be told from others, quoted."""
    if isinstance(value, dict):
        named = next((str(value[key]) for key in _NAMES if value.get(key)), "")
        moment = next((_said(v) for v in value.values() if isinstance(v, str) and _MOMENT.fullmatch(v)), "")
        return f"{named[:60]!r} ({moment})" if moment else repr(named[:60] or "a record")
    return repr(value if not isinstance(value, str) else value[:60])


def _listed(value: Plain) -> list[Plain]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _shape(value: Plain) -> str:
    return f"a record with {', '.join(value)}" if isinstance(value, dict) else f"a {type(value).__name__}"


# ── Values in words ───────────────────────────────────────────────────────────────────────────────────────

_NAMES = ("title", "subject", "name", "text", "path", "email")
_SAID = frozenset({"date", "time", "datetime", "duration"})
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_LENGTH = re.compile(r"-?P(?=[\dT])[\dDWHMST.]+")


def render(value: Plain) -> str:
    """Write a value as text for a letter or a note: dates in full, since the text outlives its day.

    A record that has a text is that text; any other is a line per field, without ids; a list is a line per item.
    """
    if isinstance(value, dict):
        if isinstance(value.get("text"), str) and value["text"]:
            return str(value["text"])
        return "\n".join(f"{_words_of(key)}: {_inline(item)}" for key, item in _fields(value))
    if isinstance(value, list):
        return "\n".join(f"- {_line(item)}" for item in value)
    return _inline(value)


def _line(value: Plain) -> str:
    """Write a record on one line: its name, then its other fields."""
    if not isinstance(value, dict):
        return _inline(value)
    fields = dict(_fields(value))
    key = next((key for key in _NAMES if key in fields), "")
    head = _inline(fields.pop(key)) if key else ""
    if key != "text":
        fields.pop("text", None)
    rest = ", ".join(f"{_words_of(key).lower()}: {_inline(item)}" for key, item in fields.items())
    return f"{head} ({rest})" if head and rest else head or rest


def _fields(value: Mapping[str, Plain]) -> list[tuple[str, Plain]]:
    return [(k, v) for k, v in value.items() if v not in (None, "", [], {}) and k != "id" and not k.startswith("is_")]


def _words_of(key: str) -> str:
    return key.replace("_", " ").capitalize()


def _inline(value: Plain) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_inline(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(_inline(item) for _, item in _fields(value))
    if isinstance(value, float):
        return f"{value:.10g}"
    return _said(value) if isinstance(value, str) else str(value)


def _said(text: str) -> str:
    try:
        if _MOMENT.fullmatch(text):
            moment = dt.datetime.fromisoformat(text)
            day = f"{moment:%A} {moment.day} {moment:%B} {moment.year}"
            return day if (moment.hour, moment.minute, moment.second) == (0, 0, 0) else f"{day} at {moment:%H:%M}"
        if _DAY.fullmatch(text):
            day_alone = dt.date.fromisoformat(text)
            return f"{day_alone:%A} {day_alone.day} {day_alone:%B} {day_alone.year}"
        if _LENGTH.fullmatch(text):
            return _length(parse_duration(text))
    except ValueError:
        return text
    return text


def _length(length: dt.timedelta) -> str:
    hours, rest = divmod(int(abs(length.total_seconds())), 3600)
    minutes, seconds = divmod(rest, 60)
    parts = [f"{n} {unit}" for n, unit in ((hours, "h"), (minutes, "min"), (seconds, "s")) if n]
    return " ".join(parts) or "0 s"
