"""Measures how similar two requests are in what they ask for, whatever they are about.

A request's form is a unit vector: its sentence embedding, with every value said in it (of a lesson, every argument)
replaced by a stand-in, beside a sketch of its words. The product of two is their likeness, about 0 to 1 for any two
requests that ask for the same kind of thing. Not covered: meaning beyond the encoder's in words that are spelt unlike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from hearth.planning.arguments.alignment import Lesson, Token, form_of
from hearth.planning.ranking.request_sketch import ALIKE, sketch
from hearth.protocols import Encoder
from hearth.types import ToolSpec

_SKETCH_SHARE = 0.4
"""Share of the sketch in the squared length of a form; the embedding has the rest."""


class Likeness:
    """Turns requests, lessons and tools into forms. Deterministic."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.dim = encoder.dim + ALIKE.n_cells

    def of_requests(self, texts: Sequence[str], tokens: Sequence[Sequence[Token]]) -> NDArray[np.float32]:
        """Return forms of requests or clauses, shape [n, dim]; `tokens` hold places in the text beside them."""
        forms = [form_of(text, mine) for text, mine in zip(texts, tokens)]
        return self._forms(forms, [tuple(token.word for token in mine) for mine in tokens])

    def of_lessons(self, lessons: Sequence[Lesson]) -> NDArray[np.float32]:
        """Return forms of lessons, shape [n, dim]."""
        return self._forms([lesson.form for lesson in lessons], [lesson.words for lesson in lessons])

    def of_tools(self, tools: Iterable[ToolSpec]) -> NDArray[np.float32]:
        """Return forms of the tools' names and descriptions, shape [n, dim]."""
        texts = [f"{spec.name.replace('_', ' ')}: {spec.description}" for spec in tools]
        return self._forms(texts, [tuple(re.findall(r"[a-z'-]+", text.lower())) for text in texts])

    def vectors_in(self, forms: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the sentence vectors that forms hold, shape [n, encoder dim]."""
        return forms[:, : self._encoder.dim] / np.float32(np.sqrt(1 - _SKETCH_SHARE))

    def _forms(self, texts: Sequence[str], words: Sequence[tuple[str, ...]]) -> NDArray[np.float32]:
        embedded = self._encoder.encode(texts)
        sketched = np.stack([sketch(one, ALIKE) for one in words]) if words else np.zeros((0, ALIKE.n_cells))
        forms = np.hstack([embedded * np.sqrt(1 - _SKETCH_SHARE), sketched * np.sqrt(_SKETCH_SHARE)])
        return np.ascontiguousarray(forms, dtype=np.float32)
