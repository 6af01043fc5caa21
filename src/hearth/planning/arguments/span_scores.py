"""Learnt log-odds of which words of a request are a free-text argument: of each beginning, end and word between.

A small network over the encoder's vectors of the words in context, the words themselves and what a tool's file says of
the parameter, trained on demonstrations (`training.span_scores_train`): "the fog machine's been found, cross it off
the props list" takes off "fog machine". All places of a request are scored together, so that stretches compare with
each other and with saying nothing (a semi-Markov field: Sarawagi and Cohen 2004, section 2).

Covered: parameters of the tools it was trained on, in English. Not covered: parameters of other tools, which are read
by counts of what was demonstrated (`context_counts`).
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray

from hearth.models.encoder.sentence_encoder import TokenEncoder, TokenVectors
from hearth.planning.arguments.alignment import Token

Floats = NDArray[np.float32]
REACH = 3
"""How many words before and after a word are looked at."""
N_BUCKETS = 4096
_SCALE = 4.0
_SHORT = 4


@dataclass(frozen=True, slots=True)
class SpanScores:
    """Scores of one parameter over the words of a request."""

    begins: Floats
    """That it begins with a word, shape [words]."""
    ends: Floats
    """That it ends with a word, shape [words]."""
    inside: Floats
    """That a word belongs to it, shape [words]."""
    absent: float
    """That no words are it."""


class SpanScorer:
    """The trained network. May be used from several threads at once."""

    def __init__(self, weights: Mapping[str, Floats], parameters: Sequence[str]) -> None:
        """Keep the weights; `parameters` are the trained ones, `tool.parameter`, in the order of their rows."""
        self._weights = weights
        self._rows = {name: row for row, name in enumerate(parameters)}

    @classmethod
    @functools.cache
    def shipped(cls) -> SpanScorer:
        """Load the weights that ship."""
        with as_file(files("hearth.data") / "span_scores.npz") as path, np.load(path) as file:
            weights = {name: file[name].astype(np.float32) for name in file.files if name != "parameters"}
            return cls(weights, [str(name) for name in file["parameters"]])

    @property
    def n_parameters(self) -> int:
        """Number of parameters it was trained on."""
        return len(self._rows)

    def knows(self, tool: str, parameter: str) -> bool:
        return f"{tool}.{parameter}" in self._rows

    def read(self, words: Sequence[str], vectors: Floats) -> Floats:
        """Return what each word and those around it say, shape [words, hidden], for `score`.

        Args:
            words: Words of the tokens, a stand-in for each value.
            vectors: Of each in context, shape [words, dim] (`vectors_of`).
        """
        weights = self._weights
        buckets = [zlib.crc32(word.encode("utf-8", "replace")) % N_BUCKETS for word in words]
        shapes = np.array([shape_of(word) for word in words], dtype=np.float32)
        seen = vectors @ weights["states"] + weights["states_bias"]
        rows = np.hstack([seen, weights["words"][buckets], shapes])
        blank = np.zeros((REACH, rows.shape[1]), dtype=np.float32)
        padded = np.vstack([blank, rows, blank])
        around = np.hstack([padded[k : k + len(rows)] for k in range(2 * REACH + 1)])
        return np.asarray(around @ weights["around"] + weights["around_bias"], dtype=np.float32)

    def score(self, read: Floats, tool: str, parameter: str) -> SpanScores:
        """Score all places of a request for one of the trained parameters.

        Raises:
            KeyError: It is none of them.
        """
        weights = self._weights
        asked = weights["parameters_told"][self._rows[f"{tool}.{parameter}"]]
        hidden = np.maximum(read + asked, 0.0)
        hidden = np.maximum(hidden @ weights["second"] + weights["second_bias"] + asked, 0.0)
        begins, ends, inside = (hidden @ weights["out"] + weights["out_bias"]).T
        absent = float(hidden.max(axis=0) @ weights["absent"] + weights["absent_bias"])
        return SpanScores(begins, ends, inside, absent)


class ReadSpans:
    """A request, or one clause of it, of which arguments are scored."""

    def __init__(self, scorer: SpanScorer, tokens: Sequence[Token], heard: HeardWords) -> None:
        self._scorer = scorer
        self._tokens = tuple(tokens)
        self._heard = heard
        self._read: Floats | None = None

    def score(self, tool: str, parameter: str) -> SpanScores | None:
        """Score all places for one parameter; None where it was not trained, or nothing is said."""
        if not self._tokens or not self._scorer.knows(tool, parameter):
            return None
        if self._read is None:
            words = [token.word for token in self._tokens]
            self._read = self._scorer.read(words, vectors_of(self._tokens, self._heard.vectors))
        return self._scorer.score(self._read, tool, parameter)


class HeardWords:
    """A request's words in context, read by the encoder when they are first needed."""

    def __init__(self, encoder: TokenEncoder, text: str) -> None:
        self._encoder = encoder
        self._text = text

    @functools.cached_property
    def vectors(self) -> TokenVectors:
        (found,) = self._encoder.encode_tokens([self._text])
        return found


def vectors_of(tokens: Sequence[Token], read: TokenVectors) -> Floats:
    """Return the vector of each token, the mean of its pieces', shape [tokens, dim]; zeros past what was read."""
    found = np.zeros((len(tokens), read.vectors.shape[1]), dtype=np.float32)
    first, last = read.spans[:, 0], read.spans[:, 1]
    for index, token in enumerate(tokens):
        pieces = (first < token.end) & (last > token.start) & (last > first)
        if pieces.any():
            found[index] = read.vectors[pieces].mean(axis=0)
    return found * _SCALE


def shape_of(word: str) -> tuple[bool, bool, bool, bool]:
    """Return what kind of token a word is: a value, a mark, digits, short."""
    is_value = word.startswith("<")
    return is_value, not is_value and not word[:1].isalnum(), word.isdigit(), len(word) < _SHORT
