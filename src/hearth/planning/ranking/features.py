"""Turns a request into whole-number features of the whole and of each act; the same text gives the same numbers.

A request is read as the home's planner reads it: values as stand-ins, cut into acts, and over the features that the
tool heads are solved over (`language.text.request_sketch`). Here they are rounded, so that sums of them are exact.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from hearth.language.reading import Utterance
from hearth.language.text.request_sketch import COSINE_SEED, N_COSINES, N_SKETCH, drawn_cosines, sketch_of
from hearth.models.random_features import INPUT_GRAIN, UNIT
from hearth.planning.arguments.alignment import form_of, tokens_of
from hearth.protocols import Encoder

FloatRows = NDArray[np.float32]
Whole = NDArray[np.int16]

HALF = UNIT // 2
"""Length of each of the four parts of a row: one, sentence vector, sketch of words, cosines; UNIT together."""
_WORDS_SHARE = 0.35
"""Share of the words in the likeness of two requests; their sentence vectors have the rest."""
_AT_ANY_TIME = dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC)
"""When a request is taken to be said; what is read of a time here is that it is one."""
_MOST_CHARACTERS = 20_000
_MOST_ACTS = 32


@dataclass(frozen=True, slots=True)
class Reading:
    """Numbers of a text, small enough to be kept with a demonstration: of the whole, then of each act if several."""

    vectors: Whole
    """Sentence vectors in multiples of 1/INPUT_GRAIN, shape [1 + n_acts, dim], or [1, dim] for a single act."""
    words: Whole
    """Sketches of the words, about HALF long, shape [the same, n_words]."""
    request: str = ""
    """The text itself; not kept with what was learned."""

    @property
    def n_acts(self) -> int:
        return max(len(self.vectors) - 1, 1)

    @property
    def whole(self) -> FloatRows:
        """Return the vector of the whole, shape [dim]."""
        return np.asarray(self.vectors[0] / np.float32(INPUT_GRAIN), dtype=np.float32)

    @property
    def acts(self) -> FloatRows:
        """Return the acts' vectors, to compare with texts of steps and tools, shape [n_acts, dim]."""
        return np.asarray(self.vectors[-self.n_acts :] / np.float32(INPUT_GRAIN), dtype=np.float32)

    def seen_by(self, options: ReadingOptions) -> Reading:
        """Return what a reader with fewer features would have read."""
        words = self.words.reshape(len(self.words), -1, options.n_words).sum(axis=1)
        return Reading(self.vectors, words.astype(np.int16), self.request)


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """Numbers of features; more are better and slower (with the square, while learning).

    Fewer are an image of the whole in whole numbers: the first cosines, `times` as long to make up for the others, and
    words that share a place. So sums over them follow exactly from sums over the whole (`Statistics.seen_by`).
    """

    n_cosines: int = N_COSINES
    n_words: int = N_SKETCH
    seed: int = COSINE_SEED

    @property
    def times(self) -> int:
        """Return the factor of the first cosines."""
        return isqrt(N_COSINES // self.n_cosines)

    def __post_init__(self) -> None:
        for mine, whole in ((self.n_cosines, N_COSINES), (self.n_words, N_SKETCH)):
            if not 0 < mine <= whole or whole % mine:
                raise ValueError(f"{self} is no part of {N_COSINES}+{N_SKETCH}; each number must divide that")

    def n_features(self, n_inputs: int) -> int:
        """Return the length of a row, where sentence vectors have `n_inputs` numbers."""
        return 1 + n_inputs + self.n_words + self.n_cosines


class Reader:
    """Turns texts into readings. Deterministic."""

    def __init__(self, encoder: Encoder, options: ReadingOptions | None = None) -> None:
        self.encoder = encoder
        self.options = options or ReadingOptions()
        self.dim = encoder.dim
        self.encoder_name = str(getattr(encoder, "name", type(encoder).__name__))
        projection, self._phases = drawn_cosines(encoder.dim, self.options.seed)
        self._projection = projection[:, : self.options.n_cosines].astype(np.float64)
        self.n_features = self.options.n_features(encoder.dim)
        self.fingerprint = fingerprint_of(self.options, encoder.dim)

    def read(self, texts: Sequence[str]) -> list[Reading]:
        """Read each text; an empty one has a reading too."""
        return [self._reading(text[:_MOST_CHARACTERS]) for text in texts]

    def _reading(self, text: str) -> Reading:
        said = Utterance(text, _AT_ANY_TIME)
        acts = [(act.start, act.end) for act in said.acts[:_MOST_ACTS]]
        tokens = [tokens_of(text, said.slots, *span) for span in [(0, len(text)), *(acts if len(acts) > 1 else ())]]
        # Each request by itself: rounding in a batch would leave a trace of one in the vectors of others.
        vectors = self.encoder.encode([form_of(text, mine) for mine in tokens])
        return self.reading_of(vectors, [[token.word for token in mine] for mine in tokens], text)

    def reading_of(self, vectors: FloatRows, words: Sequence[Sequence[str]], text: str = "") -> Reading:
        """Return the reading of a request whose vectors are known: of the whole, then of each act if several.

        Args:
            vectors: Sentence vectors of the forms, shape [n, dim].
            words: Per form its words, values as `<kind>`.
        """
        sketches = np.stack([sketch_of(tuple(one)) for one in words])
        rounded = np.rint(sketches * HALF).astype(np.int16).reshape(len(words), -1, self.options.n_words).sum(axis=1)
        return Reading(np.rint(vectors * INPUT_GRAIN).astype(np.int16), rounded.astype(np.int16), text)

    def features(self, readings: Sequence[Reading]) -> FloatRows:
        """Return whole numbers for all rows of all readings, one after the other, shape [n_rows, n_features]."""
        if not readings:
            return np.zeros((0, self.n_features), dtype=np.float32)
        vectors = np.concatenate([reading.vectors for reading in readings])
        words = np.concatenate([reading.words for reading in readings])
        # Sums of products of such numbers are exact, so a row is the same alone and among others.
        turned = (vectors / INPUT_GRAIN) @ self._projection + self._phases[: self.options.n_cosines]
        cosines = np.rint(np.cos(turned) * (HALF * (2 / N_COSINES) ** 0.5)) * self.options.times
        ones = np.full((len(vectors), 1), HALF)
        return np.hstack([ones, vectors * np.float32(HALF // INPUT_GRAIN), words, cosines]).astype(np.float32)

    def whole_features(self, readings: Sequence[Reading]) -> FloatRows:
        """Return whole numbers for the whole requests alone, shape [n, n_features]."""
        return self.features([Reading(reading.vectors[:1], reading.words[:1]) for reading in readings])

    def vectors(self, texts: Sequence[str]) -> FloatRows:
        """Return plain vectors of texts (steps, tools), shape [n, dim]."""
        return self.encoder.encode(texts) if texts else np.zeros((0, self.encoder.dim), dtype=np.float32)


def fingerprint_of(options: ReadingOptions, n_inputs: int) -> str:
    """Describe how features are made; those with another fingerprint cannot be added."""
    o = options
    return f"reading 4, {n_inputs} inputs, {o.n_cosines}+{o.n_words} of {N_COSINES}+{N_SKETCH}, seed {o.seed}"


def likeness_of_texts(vectors: FloatRows, words: FloatRows) -> FloatRows:
    """Return the similarity of texts, 1 for the same.

    Args:
        vectors: Inner products of `Reading.vectors`.
        words: Inner products of `Reading.words`, each scaled to length 1 (`unit`): words that share a place change it.
    """
    cosine = vectors / np.float32(INPUT_GRAIN**2)
    return np.asarray((1 - _WORDS_SHARE) * cosine + _WORDS_SHARE * words, dtype=np.float32)


def unit(rows: Whole) -> FloatRows:
    """Return rows scaled to length 1; without anything in them, 0."""
    wide = rows.astype(np.float32)
    return np.asarray(wide / np.maximum(np.linalg.norm(wide, axis=-1, keepdims=True), 1e-6), dtype=np.float32)
