"""Scores tools that were taught seldom or never: by their texts, by similar tools, and by their few examples.

How far each of these is trusted is fitted on taught tools that are hidden for the purpose.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearth.language.text.request_sketch import sketch_of
from hearth.planning.ranking.features import HALF, FloatRows, Reading
from hearth.planning.ranking.logistic import Weigher, chance
from hearth.types import ToolSpec

Floats = NDArray[np.float64]

_N_CONSIDERED = 40
"""Number of such tools considered for a request: the nearest, and the likeliest by their examples."""
_N_LENDING = 12
_LEAST_USUAL = 20
_WORD = re.compile(r"[^\W\d_]+|\d+")
_TRANSFER_RIDGE = 1.0
_BY_TEXT = (
    "near",
    "near_mean",
    "near_whole",
    "near_rank",
    "near_left",
    "near_odd",
    "near_whole_odd",
    "name_odd",
    "name_whole_odd",
    "name",
    "name_whole",
    "name_left",
    "borrowed",
    "transfer",
    "transfer_clause",
    "name_words",
    "words",
)
_BY_EXAMPLES = ("head", "clause_best", "clause_any")
SIGNS = (*_BY_TEXT, *_BY_EXAMPLES, *(f"{name}_few" for name in _BY_EXAMPLES), "few")


def tool_text(spec: ToolSpec) -> str:
    """Return a tool's name and description, as they are encoded."""
    return f"{tool_name(spec)}: {spec.description}"


def tool_name(spec: ToolSpec) -> str:
    return spec.name.replace("_", " ")


class ToolTexts:
    """Texts of the tools on offer, as vectors and words."""

    def __init__(self, tools: Mapping[str, ToolSpec], vectors: FloatRows, names: FloatRows, n_words: int) -> None:
        """Keep the texts' vectors.

        Args:
            vectors: Vectors of whole texts, shape [n_tools, dim].
            names: Vectors of names alone.
        """
        self.vectors, self.names = vectors, names
        self._specs = list(tools.values())
        self._n_words = n_words

    def nearness(self, asked: FloatRows) -> FloatRows:
        """Return the similarity of each tool's text to clauses or requests [n, dim], shape [n_tools, n]."""
        return np.asarray(self.vectors @ asked.T, dtype=np.float32)

    def shared_words(self, reading: Reading, rows: NDArray[np.int64]) -> Floats:
        """Return about the cosine of a request's words with tools' names, and with their whole texts, shape [n, 2]."""
        asked = reading.words[0] / np.float32(HALF)
        return np.column_stack([sketches[rows] @ asked for sketches in self._words]).astype(np.float64)

    @cached_property
    def _words(self) -> tuple[FloatRows, FloatRows]:
        """Return sketches of the words of names and of whole texts, as `Reading.words` has them."""
        names = [tool_name(spec) for spec in self._specs]
        whole = [f"{name} {spec.description}" for name, spec in zip(names, self._specs)]
        return self._sketched(names), self._sketched(whole)

    def _sketched(self, texts: Sequence[str]) -> FloatRows:
        sketches = [sketch_of(tuple(_WORD.findall(text.lower()))) for text in texts]
        return np.asarray(np.reshape(sketches, (len(texts), -1, self._n_words)).sum(axis=1), dtype=np.float32)


class Transfer:
    """Transfers scores of well-known tools to others by a ridge regression on the tools' texts.

    Source:
        Kronecker kernel ridge regression in two steps: Stock et al. 2018, https://arxiv.org/abs/1606.04275
    """

    def __init__(self, vectors: FloatRows, is_known: NDArray[np.bool_]) -> None:
        known = vectors[is_known].astype(np.float64)
        self._is_known = is_known
        self._centre = known.mean(axis=0) if len(known) else np.zeros(vectors.shape[1])
        apart = known - self._centre
        kernel = apart @ apart.T
        kernel[np.diag_indices_from(kernel)] += _TRANSFER_RIDGE
        self._solve = apart.T @ np.linalg.inv(kernel) if len(known) else np.zeros((vectors.shape[1], 0))
        self._vectors = vectors

    def scores(self, wanted: Floats, rows: NDArray[np.int64]) -> Floats:
        """Score the tools `rows` from the scores of all tools, shape [n, n_tools]; returns shape [n, n_rows]."""
        known = wanted[:, self._is_known]
        mean = known.mean(axis=1, keepdims=True) if known.size else np.zeros((len(wanted), 1))
        return np.asarray((known - mean) @ self._solve.T @ (self._vectors[rows] - self._centre).T + mean, np.float64)


class Looks(NamedTuple):
    """The heads' scores of each tool on offer."""

    whole: Floats
    """Scores from the whole text, shape [n_tools]."""
    best: Floats
    """Scores from the clause that suggests the tool most."""
    any: Floats
    """Scores from any clause (noisy or)."""
    by_clause: Floats
    """Scores from each clause, shape [n_clauses, n_tools]."""


@dataclass(frozen=True, slots=True)
class TextSigns:
    """Tells by the texts of hardly taught tools whether they are wanted."""

    texts: ToolTexts
    usual: FloatRows
    """Vectors of some requests, to tell how near a tool is to any; shape [n, dim]."""
    transfer: Transfer

    def of(
        self, reading: Reading, looks: Looks, rows: NDArray[np.int64], few: Floats
    ) -> tuple[NDArray[np.int64], Floats]:
        """Return the hardly taught tools that may be wanted, and the signs of each, shape [n, len(SIGNS)].

        Args:
            rows: The hardly taught tools.
            few: 1 for tools never taught, towards 0 for those taught often; one for each row.
        """
        asked = np.vstack([reading.acts, reading.whole])
        near = self.texts.nearness(asked)
        best = near[:, :-1].max(axis=1)
        fifth = np.partition(best, -min(5, len(best)))[-min(5, len(best))]
        if len(rows) > _N_CONSIDERED:
            chosen = np.argsort(-(best + near[:, -1])[rows] - 2 * looks.whole[rows], kind="stable")[:_N_CONSIDERED]
            rows, few = rows[chosen], few[chosen]
        near, best, name = near[rows], best[rows], self.texts.names[rows] @ asked.T
        name_best = name[:, :-1].max(axis=1)
        centre, spread = _odd(self.texts.vectors[rows], self.usual)
        name_centre, name_spread = _odd(self.texts.names[rows], self.usual)
        wanted = looks.whole
        n = min(_N_LENDING, len(wanted))
        lending = np.argpartition(-wanted, n - 1)[:n]
        alike = np.clip(self.texts.vectors[rows] @ self.texts.vectors[lending].T, 0, 1) ** 2
        alike[rows[:, None] == lending] = 0.0
        left = 1 - np.clip(looks.by_clause.max(axis=1), 0, 1)
        by_text = np.column_stack(
            [
                best,
                near[:, :-1].mean(axis=1),
                near[:, -1],
                best - fifth,
                (near[:, :-1] * left).max(axis=1),
                (best - centre) / spread,
                (near[:, -1] - centre) / spread,
                (name_best - name_centre) / name_spread,
                (name[:, -1] - name_centre) / name_spread,
                name_best,
                name[:, -1],
                (name[:, :-1] * left).max(axis=1),
                (alike * np.clip(wanted[lending], 0, 1)).max(axis=1),
                self.transfer.scores(wanted[None], rows)[0],
                self.transfer.scores(looks.by_clause, rows).max(axis=0),
                self.texts.shared_words(reading, rows),
            ]
        )
        by_examples = np.clip(np.column_stack([looks.whole, looks.best, looks.any])[rows], -0.2, 1.2)
        signs = np.hstack([by_text * few[:, None], by_examples, by_examples * few[:, None], few[:, None]])
        return rows, signs.astype(np.float64)


def _odd(vectors: FloatRows, usual: FloatRows) -> tuple[FloatRows, FloatRows]:
    """Return mean and spread of the similarity of texts to usual requests."""
    if len(usual) < _LEAST_USUAL:
        return np.zeros(len(vectors), dtype=np.float32), np.ones(len(vectors), dtype=np.float32)
    near = vectors @ usual.T
    return near.mean(axis=1), near.std(axis=1) + np.float32(0.02)


def by_text(weigher: Weigher | None, signs: Floats) -> Floats:
    """Return the probability that each tool is wanted, from its signs."""
    return chance(weigher or TEXT_ONLY, signs)


def _text_only() -> Weigher:
    """Return the weights used until there are enough demonstrations to fit."""
    mean, spread, weight = np.zeros(len(SIGNS) + 1), np.ones(len(SIGNS) + 1), np.zeros(len(SIGNS) + 1)
    for name, centre, width, w in (
        ("near", 0.45, 0.12, 1.2),
        ("near_mean", 0.25, 0.12, 0.2),
        ("borrowed", 0.0, 1.0, 1.0),
        ("near_rank", 0.0, 0.1, 0.6),
        ("head", 0.0, 1.0, 4.0),
    ):
        k = SIGNS.index(name)
        mean[k], spread[k], weight[k] = centre, width, w
    weight[-1] = -1.0
    return Weigher(mean, spread, weight)


TEXT_ONLY = _text_only()
