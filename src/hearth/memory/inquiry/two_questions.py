"""Splits two questions that are asked as one: "when is the MOT and what does it cost".

Not covered: three questions, a second one without a pronoun ("and by when").
"""

from __future__ import annotations

from hearth import patterns as re

_ASKS = r"(?:by when|what|when|where|who|how|which)"
_TWO = re.compile(
    rf"\s*(?P<first>{_ASKS}\b[^?]*?(?:\b(?:is|are|was|were)|['’]s)\s+(?P<thing>(?:the|my|our|[\w-]+['’]s)\s+[^?,]+?)),?"
    rf" and (?P<second>{_ASKS}\b[^?]*\b(?:it|they|them)\b[^?]*)[?.\s]*",
    re.IGNORECASE,
)
_PRONOUNS = tuple(re.compile(rf"\b{word}\b", re.IGNORECASE) for word in ("it", "them", "they"))
"""What stands for the thing, the likeliest first: "when do they take it"."""


def two_questions(question: str) -> tuple[str, str] | None:
    """Split a question into two, each of which stands alone; None where it is one."""
    found = _TWO.fullmatch(question)
    if found is None:
        return None
    pronoun = next(form for form in _PRONOUNS if form.search(found["second"]))
    return found["first"], pronoun.sub(found["thing"], found["second"], count=1)
