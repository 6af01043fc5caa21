"""Turns a request into whole-number features of the text and of each clause; the same text gives the same numbers.

One pass of the encoder gives the text's vector and its tokens in context. The text's features combine the mean, the
mean weighted by rarity and the extremes over tokens with its words and pairs of words; a clause is the mean of its
tokens, encoded within the whole text. Cuts are fine and need no grammar: at punctuation and connecting words, four
words or more. An encoder without `encode_tokens` serves too: its tokens are then the words, each encoded on its own.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isqrt
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hearth.models.encoder.sentence_encoder import TokenVectors
from hearth.models.random_features import INPUT_GRAIN, UNIT, RandomFeatures
from hearth.protocols import Encoder

FloatRows = NDArray[np.float32]

_SHARES = (0.4, 0.2, 0.2, 0.2)
"""Shares of the squared length: sentence, rare words, maxima, minima."""
_CENTRE = 0.1
"""Rough excess of token vectors' extremes over the mean; subtracted so that they differ in direction."""
_TEXT_SHARE = 0.65
"""Share of the text in the squared length; its words have the rest."""
_KERNEL = np.array([0.187, 0.454, 0.296, 0.025, 0.038], dtype=np.float32)
"""Inner product of the random features of two texts, as a polynomial of their cosine; adds up to 1."""
_WORD = re.compile(r"[^\W\d_]+|\d+")
_CUT = re.compile(r"[.;!?\n]+\s+|,\s+|\s+(?=and |then )")
_LEAST_WORDS = 4
_CHUNK_TEXTS = 256
_MOST_CHARACTERS = 20_000
_MOST_CLAUSES = 32
"""Most clauses read; an encoder reads some 1,000 characters."""


@runtime_checkable
class TokenEncoder(Protocol):
    """An encoder that also gives the tokens of a text in context."""

    dim: int

    def encode(self, texts: Sequence[str]) -> FloatRows: ...

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenVectors]: ...


@dataclass(frozen=True, slots=True)
class Reading:
    """Numbers of a text, small enough to be kept with a demonstration. All are multiples of 1/INPUT_GRAIN."""

    pooled: NDArray[np.int16]
    """The text's vector and those of its tokens together, shape [4 * dim]."""
    words: NDArray[np.int16]
    """Features of its words, shape [n_words]."""
    clauses: NDArray[np.int16]
    """Vectors of its clauses, shape [n_clauses, dim]."""
    request: str = ""
    """The text itself; not kept with what was learned."""

    @property
    def vectors(self) -> FloatRows:
        """Return the clauses' vectors, to compare with texts of steps and tools, shape [n_clauses, dim]."""
        return self.clauses.astype(np.float32) / np.float32(INPUT_GRAIN)


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """Numbers of features; more are better and slower (with the square, while learning)."""

    n_random: int = 2048
    n_words: int = 1024
    n_clause: int = 1024
    seed: int = 0
    is_nested: bool = False
    """True when features are a fixed image of `WHOLE`, in whole numbers.

    The image has the first random features, `times` as long to make up for the others, and words that share a place. So
    sums over them follow exactly from sums over the whole (`Statistics.seen_by`).
    """

    @property
    def times(self) -> int:
        """Return the factor of the first random features of a text."""
        return isqrt(WHOLE.n_random // self.n_random) if self.is_nested else 1

    @property
    def clause_times(self) -> int:
        return isqrt(WHOLE.n_clause // self.n_clause) if self.is_nested else 1

    def __post_init__(self) -> None:
        if self.is_nested and not self._is_part():
            raise ValueError(f"{self} is no part of {WHOLE}; each number must divide that of the whole")

    def _is_part(self) -> bool:
        return all(
            0 < mine <= whole and whole % mine == 0
            for mine, whole in (
                (self.n_random, WHOLE.n_random),
                (self.n_words, WHOLE.n_words),
                (self.n_clause, WHOLE.n_clause),
            )
        )


WHOLE = ReadingOptions()
"""Options of which nested readings are images."""


class Reader:
    """Turns texts into readings. Deterministic."""

    def __init__(self, encoder: Encoder, options: ReadingOptions | None = None) -> None:
        self.encoder = encoder
        self.options = options or ReadingOptions()
        self.dim = encoder.dim
        self.encoder_name = str(getattr(encoder, "name", type(encoder).__name__))
        o = self.options
        n_text, n_clause = (WHOLE.n_random, WHOLE.n_clause) if o.is_nested else (0, 0)
        self._of_text = RandomFeatures(4 * encoder.dim, o.n_random, o.seed, n_whole=n_text)
        self._of_clause = RandomFeatures(encoder.dim, o.n_clause, o.seed + 1, n_whole=n_clause)
        self._n_hashed = WHOLE.n_words if o.is_nested else o.n_words
        self.n_text_features = o.n_random + o.n_words
        self.fingerprint = fingerprint_of(o, encoder.dim)

    def read(self, texts: Sequence[str]) -> list[Reading]:
        """Read each text; an empty one has a reading too."""
        readings = []
        for start in range(0, len(texts), _CHUNK_TEXTS):
            chunk = [text[:_MOST_CHARACTERS] for text in texts[start : start + _CHUNK_TEXTS]]
            readings += [self._reading(text, tokens) for text, tokens in zip(chunk, self._tokens(chunk))]
        return readings

    def _reading(self, text: str, tokens: TokenVectors) -> Reading:
        clauses = np.array([_mean_of(tokens, span) for span in segments(text)[:_MOST_CLAUSES]])
        return Reading(_whole(_pooled(tokens)), self._words(text), _whole(clauses), text)

    def text_features(self, readings: Sequence[Reading]) -> FloatRows:
        """Return the texts' features as whole numbers, shape [n, n_text_features]."""
        pooled = np.array([reading.pooled for reading in readings]).reshape(len(readings), 4 * self.encoder.dim)
        words = np.array([reading.words for reading in readings]).reshape(len(readings), self.options.n_words)
        random = self._of_text.of(pooled / INPUT_GRAIN, _TEXT_SHARE**0.5) * np.float32(self.options.times)
        return np.hstack([random, words.astype(np.float32)])

    def clause_features(self, readings: Sequence[Reading]) -> FloatRows:
        """Return whole numbers for the clauses of all readings, one after the other, shape [n_clauses, n_clause]."""
        clauses = np.concatenate([reading.clauses for reading in readings])
        return self._of_clause.of(clauses / INPUT_GRAIN) * np.float32(self.options.clause_times)

    def step_vectors(self, texts: Sequence[str]) -> FloatRows:
        """Return plain vectors of many short texts, quickly, shape [n, dim]."""
        if not texts or not isinstance(self.encoder, TokenEncoder):
            return self.vectors(texts)
        chunks = (texts[start : start + _CHUNK_TEXTS] for start in range(0, len(texts), _CHUNK_TEXTS))
        return np.array([tokens.whole for chunk in chunks for tokens in self.encoder.encode_tokens(chunk)])

    def vectors(self, texts: Sequence[str]) -> FloatRows:
        """Return plain vectors of texts (steps, tools), shape [n, dim]."""
        return self.encoder.encode(texts) if texts else np.zeros((0, self.encoder.dim), dtype=np.float32)

    def _tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        if isinstance(self.encoder, TokenEncoder):
            return self.encoder.encode_tokens(texts)
        wholes = self.encoder.encode(texts)
        found = []
        for text, whole in zip(texts, wholes):
            found_words = [match.span() for match in _WORD.finditer(text)] or [(0, len(text))]
            spans = np.array(found_words, dtype=np.int32)
            vectors = self.encoder.encode([text[a:b] for a, b in spans])
            found.append(TokenVectors(whole, vectors, spans, np.ones(len(spans), dtype=np.float32)))
        return found

    def _words(self, text: str) -> NDArray[np.int16]:
        """Hash the words and pairs of neighbouring words.

        Source:
            Weinberger et al. 2009, Feature hashing for large scale multitask learning, section 2.
        """
        row = np.zeros(self._n_hashed)
        for word in words_of(text):
            place = zlib.crc32(word.encode("utf-8", "surrogatepass"))
            row[place % self._n_hashed] += 1 if (place >> 20) & 1 else -1
        length = float(np.linalg.norm(row))
        scaled = np.rint(row * ((1 - _TEXT_SHARE) ** 0.5 * UNIT / max(length, 1e-9)))
        return np.asarray(scaled.reshape(-1, self.options.n_words).sum(axis=0), dtype=np.int16)


def fingerprint_of(options: ReadingOptions, n_inputs: int) -> str:
    """Describe how features are made; those with another fingerprint cannot be added."""
    o = options
    whole = f" of {WHOLE.n_random}+{WHOLE.n_words}+{WHOLE.n_clause}" if o.is_nested else ""
    return f"reading 3, {n_inputs} inputs, {o.n_random}+{o.n_words}+{o.n_clause}{whole}, seed {o.seed}"


def likeness_of_texts(pooled: FloatRows, words: FloatRows, *, is_rough: bool = False) -> FloatRows:
    """Return the similarity of texts, 1 for the same: about the cosine of their features.

    Args:
        pooled: Inner products of `Reading.pooled`; with `is_rough`, of its first part, the sentence vector, alone.
        words: Inner products of `Reading.words`.
    Source:
        The kernel of rectified random features by its Hermite series: Cho & Saul 2009; Daniely et al. 2016,
        https://arxiv.org/abs/1602.05897, section 4.2.
    """
    cosine = pooled / np.float32(INPUT_GRAIN**2 * (_SHARES[0] if is_rough else 1.0))
    kernel = np.polynomial.polynomial.polyval(cosine, _KERNEL)
    return np.asarray(_TEXT_SHARE * kernel + words / np.float32(UNIT**2), dtype=np.float32)


def words_of(text: str) -> set[str]:
    """Return the words and pairs of neighbouring words; all numbers count as the same word."""
    words = ["#" if word.isdecimal() else word for word in _WORD.findall(text.lower())]
    return {*words, *map(" ".join, pairwise(words))}


def segments(text: str) -> list[tuple[int, int]]:
    """Return the spans of the clauses of a text, in order; a text without any word is one."""
    spans: list[tuple[int, int]] = []
    start, n_words = 0, 0
    bounds = [*((m.start(), m.end()) for m in _CUT.finditer(text)), (len(text), len(text))]
    piece = 0
    for end, following in bounds:
        n_words += len(text[piece:end].split())
        piece = following
        if n_words >= _LEAST_WORDS:
            spans.append((start, end))
            start, n_words = following, 0
    if n_words:
        if spans:
            spans[-1] = (spans[-1][0], len(text))
        else:
            spans.append((start, len(text)))
    return spans or [(0, len(text))]


def _pooled(tokens: TokenVectors) -> NDArray[np.float64]:
    """Return mean, mean by rarity, maxima and minima over tokens, each scaled to its share."""
    parts = (
        tokens.whole,
        (tokens.rarity + np.float32(0.05)) @ tokens.vectors,
        tokens.vectors.max(axis=0) - np.float32(_CENTRE),
        tokens.vectors.min(axis=0) + np.float32(_CENTRE),
    )
    return np.concatenate([_unit(part) * share**0.5 for part, share in zip(parts, _SHARES)])


def _mean_of(tokens: TokenVectors, span: tuple[int, int]) -> NDArray[np.float64]:
    """Return the vector of a part of a text: the mean of its tokens; the text's own when none lies inside."""
    starts, ends = tokens.spans[:, 0], tokens.spans[:, 1]
    inside = (ends > span[0]) & (starts < span[1]) & (ends > starts)
    return _unit(tokens.vectors[inside].mean(axis=0) if inside.any() else tokens.whole)


def _unit(vector: FloatRows) -> NDArray[np.float64]:
    wide = vector.astype(np.float64)
    return wide / max(float(np.linalg.norm(wide)), 1e-12)


def _whole(vectors: NDArray[np.float64]) -> NDArray[np.int16]:
    return np.rint(vectors * INPUT_GRAIN).astype(np.int16)
