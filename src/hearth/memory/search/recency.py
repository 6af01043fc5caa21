"""Puts later statements before earlier ones on the same matter, so that an old value does not win.

Covered: two statements on one matter that answer the question about equally well, in any words.
Not covered: which of two that both hold (two things one likes) matters more; both stay, the later first.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence

from hearth.memory.facts.relations import KIN
from hearth.memory.search.memory_index import FloatArray
from hearth.memory.search.terms import telling_words

LEAST_LIKE = 0.45
"""Least cosine of two statements on one matter."""
MOST_BEHIND = 0.25
"""Most by which the later one may be further from the question."""
N_COMPARED = 6
_ATTRIBUTE = re.compile(
    r"(?:my|our|the|your|[\w-]+['’]s) (?P<thing>[\w -]+?) (?:is|are|was|goes|comes|expires)\b", re.IGNORECASE
)
_NAMED = re.compile(r"(?<!^)\b[A-Z]\w+")


def latest_first(
    question: str, texts: Sequence[str], moments: Sequence[dt.datetime | None], vectors: FloatArray
) -> list[int]:
    """Order the positions of `texts` anew: each after those that state the same matter later.

    Args:
        moments: Time when each was said; None: it states nothing and stays in its place.
        vectors: Unit vectors of the question and of each text, shape [1 + n, d].
    """
    asked, said = vectors[0], vectors[1:]
    near, like = said @ asked, said @ said.T
    order: list[int] = []
    for first in range(len(texts)):
        chain = [first]
        while (later := _later(chain[-1], question, texts, moments, near, like)) is not None and later not in chain:
            chain.append(later)
        order += [place for place in reversed(chain) if place not in order]
    return order


def _later(
    place: int,
    question: str,
    texts: Sequence[str],
    moments: Sequence[dt.datetime | None],
    near: FloatArray,
    like: FloatArray,
) -> int | None:
    """Find the later statement on the matter of one text; of several, the nearest to it and to the question."""
    at = moments[place]
    found = [
        other
        for other, moment in enumerate(moments)
        if at is not None
        and moment is not None
        and moment > at
        and like[place, other] >= LEAST_LIKE
        and near[other] >= near[place] - MOST_BEHIND
        and not _is_of_another(question, texts[place], texts[other])
    ]
    return max(found, key=lambda other: float(like[place, other] + near[other]), default=None)


def _is_of_another(question: str, earlier: str, later: str) -> bool:
    """Return whether the question is about someone or something that only the earlier text names."""
    words = {word for word in telling_words(question) if word in KIN}
    words |= {word.casefold() for word in _NAMED.findall(question) if word != "I"}
    before, after = set(telling_words(earlier)), set(telling_words(later))
    things = _ATTRIBUTE.match(earlier), _ATTRIBUTE.match(later)
    if things[0] and things[1]:  # "my bike lock code" is not "my suitcase lock code"
        words |= set(telling_words(things[0]["thing"])) & set(telling_words(question))
    return any(word in before and word not in after for word in words)
