"""Asks the owner for missing values, and says what for; asks which of two values that were said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hearth.formats.plan_validation import canonical
from hearth.language.reading import Utterance
from hearth.types import Parameter, Plan, Ref, Refusal, ToolSpec

_QUESTIONS = {
    "datetime": "When?",
    "date": "Which day?",
    "time": "At what time?",
    "duration": "How long?",
    "number": "How much?",
    "integer": "How many?",
    "PersonName": "Who?",
    "EmailAddress": "To which e-mail address?",
    "PhoneNumber": "Which phone number?",
    "FilePath": "Which file?",
    "Url": "Which web address?",
}


def question_about(missing: Sequence[tuple[str, str]], tools: Mapping[str, ToolSpec]) -> str:
    """Return a short question for each missing value, and what it is needed for.

    Args:
        missing: Tool and parameter of each, at least one; those beyond the second are not asked for yet.
    """
    questions = [_question(tools[tool].parameter(name), name) for tool, name in missing[:2]]
    return f"{' '.join(dict.fromkeys(questions))} I need to know that to {_in_words(missing[0][0])}."


def _question(parameter: Parameter | None, name: str) -> str:
    """Ask for one value: by its type, else by what its description says of it."""
    said = name.replace("_", " ")
    if parameter is None:
        return f"What is the {said}?"
    kind = canonical(parameter.type).removeprefix("list[").removesuffix("]")
    if kind in _QUESTIONS:
        return _WHERE_TO if kind == "FilePath" and name == "to" else _QUESTIONS[kind]
    if kind.endswith("Id"):
        return f"Which {_spaced(kind.removesuffix('Id'))}?"
    what = re.split(r"\.(?!g\.)|[;:(,]|\be\.g\.", parameter.description)[0].strip().replace("the owner's", "your")
    for pattern, question in _AS_QUESTIONS:
        if (found := re.fullmatch(pattern, what, re.IGNORECASE)) is not None:
            return found.expand(question)
    if re.match(r"(?:wh|how\b|in\b|to\b)", what, re.IGNORECASE):
        return f"Which {said}?" if what.lower() == "which" else f"{what}?"
    is_named = re.match(r"(?:the|its|your)\b", what, re.IGNORECASE)
    return f"What is {what[:1].lower()}{what[1:]}?" if is_named else f"What is the {said}?"


_WHERE_TO = "Where to?"
_AS_QUESTIONS = (
    (r"what to be (.+)", r"What should you be \1?"),
    (r"what to (.+)", r"What should I \1?"),
    (r"(what|where|when|who) (it|they) (is|are)", r"\1 \3 \2?"),
    (r"what (the \w+) says", r"What should \1 say?"),
    (r"what is noted", r"What should I note?"),
    (r"words of what is looked for", r"What should I look for?"),
    (r"the (\w+) it is (.+)", r"What \1 is it \2?"),
    (r"the (\w+) wanted", r"What \1 do you want?"),
)
"""Forms of descriptions, and the question that each is said as."""


def _spaced(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def either_asked(request: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> Refusal | None:
    """Return the question which of two values is meant, where a change would take one: "set the heating to 21 or 23".

    None where `found` takes neither: a text may hold both.
    """
    if isinstance(found, Refusal) or " or " not in request.text.lower():
        return None
    if (person := _which_person(request, found, tools)) is not None:
        return person
    pair = request.alternatives
    if pair is None:
        return None
    values = {value for slot in pair for value in slot.views.values() if not isinstance(value, list | dict | bool)}
    for step in found.steps:
        for name, value in step.arguments.items() if tools[step.tool].effect != "none" else ():
            if not isinstance(value, list | Ref) and value in values:
                reason = f"{pair[0].text} or {pair[1].text}? I need to know that to {_in_words(step.tool)}."
                return Refusal("needs", reason, (f"{step.tool}.{name}",), planner=found.planner)
    return None


_WHOM = "find_contact"


def _which_person(request: Utterance, found: Plan, tools: Mapping[str, ToolSpec]) -> Refusal | None:
    """Return the question whom something is sent to, where the choice is left between several: "ask Joe or Martin"."""
    row = request.people_left_open
    if row is None:
        return None
    named = {name.casefold() for name in (*row.said, *row.names)}
    for step in found.steps if tools.keys() >= {step.tool for step in found.steps} else ():
        looked = [found.steps[ref.step] for ref in step.refs() if tools[step.tool].effect != "none"]
        names = {str(one.arguments.get("name")).casefold() for one in looked if one.tool == _WHOM}
        if names & named and names <= named:
            either = f"{', '.join(row.said[:-1])} or {row.said[-1]}"
            reason = f"{either}? I need to know that to {_in_words(step.tool)}."
            return Refusal("needs", reason, (f"{_WHOM}.name",), planner=found.planner)
    return None


_REPEAT = "repeat"
_UNITS = {"daily": "days", "weekly": "weeks", "monthly": "months", "yearly": "years"}


def nearest_rhythm(request: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> str:
    """Return why nothing was planned for a rhythm that no tool keeps, with the nearest; empty for any other reason."""
    if isinstance(found, Plan) or found.kind != "out_of_scope":
        return ""
    enums = [p.enum for spec in tools.values() for p in spec.parameters if p.name == _REPEAT and p.enum]
    for slot in request.slots:
        every, units = slot.views.get("repeat_every"), _UNITS.get(str(slot.views.get(_REPEAT)))
        if not isinstance(every, int) or units is None or not enums or f"every {every} {units}" in enums[0]:
            continue
        kept = sorted(int(one.split()[1]) for one in map(str, enums[0]) if re.fullmatch(rf"every \d+ {units}", one))
        near = [*[n for n in kept if n < every][-1:], *[n for n in kept if n > every][:1]]
        named = " and ".join(f"every {n} {units}" for n in near) or str(slot.views[_REPEAT])
        return f"I can't repeat anything every {every} {units}; the nearest I can do: {named}."
    return ""


_PURPOSES = {
    "time_until": "count the days",
    "mark_read": "mark it as read",
    "draft_forward": "pass a mail on",
    "search_memory": "search your memory",
    "device_state": "say how it is",
}
"""What tools do whose names are no verb with its object."""


def _in_words(tool: str) -> str:
    """Return `add_reminder` as `add a reminder`."""
    if tool in _PURPOSES:
        return _PURPOSES[tool]
    verb, _, rest = tool.partition("_")
    if (place := re.fullmatch(r"(to|from)_(\w+)", rest)) is not None:
        return f"{verb} {place[1]} a {place[2]}"
    if not rest or rest in ("on", "off", "up", "down") or "_" in rest or rest.endswith("s") or rest == "time":
        return tool.replace("_", " ")
    return f"{verb} {'an' if rest[0] in 'aeiou' else 'a'} {rest}"
