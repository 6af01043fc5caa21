"""Asks the owner for missing values, and says what for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hearth.formats.plan_validation import canonical
from hearth.types import ToolSpec

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


def _in_words(tool: str) -> str:
    """Return `add_reminder` as `add a reminder`."""
    verb, _, rest = tool.partition("_")
    if not rest or rest in ("on", "off", "up", "down") or "_" in rest or rest.endswith("s") or rest in ("mail", "time"):
        return tool.replace("_", " ")
    return f"{verb} {'an' if rest[0] in 'aeiou' else 'a'} {rest}"
