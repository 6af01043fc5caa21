"""Asks the owner for missing values, and says what for; asks which of two values that were said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hearth.formats.plan_validation import canonical
from hearth.language.reading import Utterance
from hearth.types import Plan, Ref, Refusal, ToolSpec

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
    questions = []
    for tool, name in missing[:2]:
        parameter = tools[tool].parameter(name)
        kind = canonical(parameter.type) if parameter else "text"
        asked = _QUESTIONS.get(kind.removeprefix("list[").removesuffix("]"), "")
        what = re.split(r"\.(?!g\.)|[;:(,]|\be\.g\.", parameter.description)[0].strip() if parameter else ""
        questions.append(asked or (f"{what}?" if what else f"What is the {name.replace('_', ' ')}?"))
    return f"{' '.join(dict.fromkeys(questions))} I need to know that to {_in_words(missing[0][0])}."


def either_asked(request: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> Refusal | None:
    """Return the question which of two values is meant, where a change would take one: "set the heating to 21 or 23".

    None where `found` takes neither: a text may hold both.
    """
    if isinstance(found, Refusal) or " or " not in request.text.lower():
        return None
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


def _in_words(tool: str) -> str:
    """Return `add_reminder` as `add a reminder`."""
    verb, _, rest = tool.partition("_")
    if not rest or rest in ("on", "off", "up", "down") or "_" in rest or rest.endswith("s") or rest == "time":
        return tool.replace("_", " ")
    return f"{verb} {'an' if rest[0] in 'aeiou' else 'a'} {rest}"
