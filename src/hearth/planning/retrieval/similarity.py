"""Measures how similar two requests are in what they ask for, whatever they are about.

A request's form is a unit vector: its sentence embedding, with every value said in it replaced by a stand-in, beside
its concepts (`language.text.thesaurus`). The product of two is their likeness, in [0, 1] for any two requests that ask
for the same kind of thing. Not covered: meaning beyond the encoder's and the thesaurus's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from hearth.language.text.thesaurus import MARKS, all_concepts, concepts
from hearth.planning.arguments.alignment import SLOT_WORDS, Lesson, Said, Token, flat, form_of
from hearth.protocols import Encoder
from hearth.types import ToolSpec

_KINDS = (*MARKS, *(kind + n for kind in SLOT_WORDS for n in ("", "2")))
_WEIGHTS = {"lead": 1.3, "thing": 1.2, "do": 0.8, "has": 0.7}
_COMMON = {
    "lead:ask": 0.7,
    "lead:find": 0.8,
    "do:find": 0.6,
    "do:add": 0.7,
    "do:make": 0.7,
    "has:?": 0.5,
    **{f"has:{mark}": 0.4 for mark in MARKS[1:]},
}
"""Factors of concepts that many requests share, which say less."""
_CONCEPT_SHARE = 0.6
"""Share of the concepts in the squared length of a form; the embedding has the rest."""


class Likeness:
    """Turns requests, lessons and tools into forms. Deterministic."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        names = [*all_concepts(), *(f"has:{kind}" for kind in _KINDS)]
        self._place = {name: index for index, name in enumerate(names)}
        self._weight = np.array(
            [_WEIGHTS[name.partition(":")[0]] * _COMMON.get(name, 1.0) for name in names], dtype=np.float32
        )
        self.dim = encoder.dim + len(names)

    def of_requests(self, texts: Sequence[str], tokens: Sequence[Sequence[Token]]) -> NDArray[np.float32]:
        """Return forms of requests or clauses, shape [n, dim]; `tokens` hold places in the text beside them."""
        forms = [form_of(text, mine) for text, mine in zip(texts, tokens)]
        return self._forms(forms, [concepts([token.word for token in mine]) for mine in tokens])

    def of_lessons(self, lessons: Sequence[Lesson]) -> NDArray[np.float32]:
        """Return forms of lessons without the values said in them, shape [n, dim]."""
        return self._forms([lesson.form for lesson in lessons], [_signs(lesson) for lesson in lessons])

    def of_tools(self, tools: Iterable[ToolSpec]) -> NDArray[np.float32]:
        """Return forms of the tools' names and descriptions, shape [n, dim]."""
        texts = [f"{spec.name.replace('_', ' ')}: {spec.description}" for spec in tools]
        return self._forms(texts, [concepts(re.findall(r"[a-z'-]+", text.lower())) for text in texts])

    def vectors_in(self, forms: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the sentence vectors that forms hold, shape [n, encoder dim]."""
        return forms[:, : self._encoder.dim] / np.float32(np.sqrt(1 - _CONCEPT_SHARE))

    def _forms(self, texts: Sequence[str], signs: Sequence[Iterable[str]]) -> NDArray[np.float32]:
        embedded = self._encoder.encode(texts)
        marked = np.zeros((len(texts), len(self._place)), dtype=np.float32)
        for row, names in enumerate(signs):
            marked[row, [self._place[name] for name in names if name in self._place]] = 1.0
        marked *= self._weight
        lengths = np.linalg.norm(marked, axis=1, keepdims=True)
        marked /= np.where(lengths > 0, lengths, 1.0)
        forms = np.hstack([embedded * np.sqrt(1 - _CONCEPT_SHARE), marked * np.sqrt(_CONCEPT_SHARE)])
        return np.ascontiguousarray(forms, dtype=np.float32)


def _signs(lesson: Lesson) -> set[str]:
    """Return the concepts of the words of asking, and the kinds of all values."""
    words = list(lesson.words)
    kinds = {name for name in concepts(words) if name.startswith("has:")}
    for step in lesson.steps:
        for source in flat(step.sources):
            if isinstance(source, Said):
                for place in range(source.first, source.last):
                    if not words[place].startswith("<"):
                        words[place] = "something"
    return {name for name in concepts(words) if not name.startswith("has:")} | kinds
