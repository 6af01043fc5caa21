"""Finds negated requests, and keeps the "not" in texts that a plan writes.

Demonstrations teach what to do, and "don't add milk to the list" is most similar to adding milk. So a request that
begins by forbidding is answered with nothing done; and a text that a plan writes begins with the denial that stands
before it in the request ("tell Tom not to come" writes "not to come").

Covered: English, at the beginning of a request, after polite words. Not covered: a clause that forbids after another
that asks ("add bread and don't add milk"), "I'd rather you didn't".
"""

from __future__ import annotations

import re
from dataclasses import replace

from hearth.types import Argument, Plan

_NOT = r"(?:do\s+not|don['’]?t|dont|never)"
_POLITE = r"(?:please|pls|plz|hey|hi|hearth|ok|okay|so|no|um|uh|oh|well|actually|just|now|and|but|sorry|right)"
_FORBIDS = re.compile(
    rf"^\W*(?:{_POLITE}\b\W*)*(?:{_NOT}(?:\s+(?:ever|you\s+dare))?"
    rf"|(?:there['’]?s\s+|there\s+is\s+)?no\s+need\s+to|you\s+(?:need\s+not|{_NOT}\s+(?:need|have)\s+to)"
    rf"|i\s+{_NOT}\s+want\s+you\s+to)\s+(?P<verb>[a-z]+)",
    re.IGNORECASE,
)
_ASKS_ALL_THE_SAME = frozenset(
    re.findall(r"\w+", "let forget miss worry mind hesitate need have want know think like care understand see mean")
)
"""Verbs after which "don't" forbids nothing that could be done: "don't let me forget", "don't worry"."""
_NO_LONGER = re.compile(r"\b(?:any\s?more|any\s+longer|again)\b", re.IGNORECASE)
"""Matches words that ask to end something that exists; such a request has to be planned."""
_BEFORE = re.compile(r"\b(?:not\s+to|never\s+to|do\s+not|don['’]?t|dont|not|never)\s+$", re.IGNORECASE)
_TEXTS = frozenset(("text", "title", "subject", "body", "message"))
"""Names of parameters that take text to be written."""


def forbids(text: str) -> bool:
    """Return whether a request asks that something be left undone, as far as the beginning tells."""
    found = _FORBIDS.match(text)
    if found is None or _NO_LONGER.search(text):
        return False
    return found["verb"].lower() not in _ASKS_ALL_THE_SAME


def with_denials(plan: Plan, text: str) -> Plan:
    """Return the plan with each text it writes preceded by the denial that stands before that text in the request."""
    low = text.lower()

    def whole(name: str, value: Argument) -> Argument:
        if name not in _TEXTS or not isinstance(value, str) or low.count(value.lower()) != 1:
            return value
        denial = _BEFORE.search(text[: low.index(value.lower())])
        return f"{denial[0].strip()} {value}" if denial else value

    steps = [replace(s, arguments={n: whole(n, v) for n, v in s.arguments.items()}) for s in plan.steps]
    return replace(plan, steps=tuple(steps))
