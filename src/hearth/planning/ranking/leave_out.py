"""Turns what a student knows, with some demonstrations left out, into evidence for single requests.

Planning uses the view of everything. Fitting uses views without some demonstrations, to see what evidence is worth
for requests it was not learned from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearth.planning.ranking.candidates import Counts, Evidence, Floats, Known, Sequence_
from hearth.planning.ranking.features import FloatRows, Reading
from hearth.planning.ranking.logistic import Weigher
from hearth.planning.ranking.neighbours import Neighbourhood
from hearth.planning.ranking.unseen_tools import SIGNS, Looks, TextSigns, ToolTexts, Transfer, by_text
from hearth.protocols import Proposal

_N_NEIGHBOURS = 15
_SHARPNESS = 10.0
"""Rate at which a neighbour's weight falls with its distance in likeness."""
_N_KNOWN = 20
_RARE_USES = 2
"""With fewer uses than this many times `text_trust`, a link never seen is no evidence."""
_STRANGER_USES = 4
"""Tools taught fewer than this many times `text_trust` are judged by their texts too."""


@dataclass(frozen=True, slots=True)
class ViewOptions:
    use_heads: bool
    use_neighbours: bool
    text_trust: float


class Case(NamedTuple):
    """One request with what is known of it; of a demonstration, what would be known had it not been taught."""

    rows: FloatRows
    """The heads' outputs for the whole text, then for its acts if there are several, shape [n_rows, n_outputs]."""
    reading: Reading
    proposal: Proposal | None = None
    own: tuple[int, Sequence_] | None = None
    """Its row and sequence, when it was taught itself and is to be judged as if it had not been."""
    strangers: tuple[NDArray[np.int64], Floats] | None = None
    """Result of `View.strangers`, if it was computed already."""
    gold: Sequence_ = ()
    """The right sequence of a demonstration."""

    @property
    def predicted(self) -> FloatRows:
        """Return the outputs for the whole text, shape [n_outputs]."""
        return np.asarray(self.rows[0], dtype=np.float32)

    @property
    def acts(self) -> FloatRows:
        """Return the outputs for the acts, shape [n_acts, n_outputs]."""
        return self.rows[-self.reading.n_acts :]


@dataclass(eq=False)
class View:
    """Evidence from all but the hidden demonstrations. Immutable; rebuilt when anything is learned or removed."""

    names: Sequence[str]
    """Tools on offer."""
    texts: ToolTexts
    outputs: Sequence[str]
    """Names of the heads' outputs."""
    counts: Counts
    """Counts of what is not hidden."""
    neighbourhood: Neighbourhood
    options: ViewOptions
    hidden: NDArray[np.bool_] | None = None
    """Rows of the neighbourhood that are left out."""
    place: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        names, counts = self.names, self.counts
        self.place = {name: place for place, name in enumerate(names)}
        text = {name: column for column, name in enumerate(self.outputs)}
        self._columns = np.array([text.get(f"t {n}", -1) if n in counts.tools else -1 for n in names], dtype=np.int64)
        self._sizes = {n: text[f"n {n}"] for n in range(1, 7) if f"n {n}" in text}
        self._uses = np.array([counts.tools.get(name, 0) for name in names], dtype=np.float64)
        links = ((link, text.get(f"l {link[0]} > {link[1]}")) for link in counts.links)
        self._links = {link: column for link, column in links if column is not None}
        self._known = Known(counts, self.place, self._links)
        transfer = Transfer(self.texts.vectors, self._uses >= self.options.text_trust)
        self._text_signs = TextSigns(self.texts, self.neighbourhood.usual(), transfer)

    def evidence(self, case: Case, weigher: Weigher | None) -> tuple[Evidence, NDArray[np.int64]]:
        """Judge one request by the heads' outputs for it and its likeness to what was taught.

        Args:
            weigher: How far texts of tools are trusted.
        Returns:
            The evidence, and rows of the nearest demonstrations.
        """
        predicted, reading = case.predicted, case.reading
        left_out = case.own[1] if case.own is not None else None
        hidden = self._hidden_from(case.own)
        nearest, alike = self.neighbourhood.nearest(reading, _N_NEIGHBOURS, hidden)
        weights = np.exp((alike - alike[:1]) * _SHARPNESS)
        weights = weights / max(float(weights.sum()), 1e-12)
        sequences = [(self.neighbourhood.sequences[row], float(w)) for row, w in zip(nearest, weights)]
        neighbours = [(s, w) for s, w in sequences if all(tool in self.place for tool in s)]
        looks, said = self.looks(case, neighbours)
        uses = self.uses_without(left_out)
        rows, signs = self.strangers(looks, reading, uses) if case.strangers is None else case.strangers
        scores = (looks.whole.copy(), looks.best.copy(), looks.any.copy())
        if len(rows):
            self._blend(scores, rows, by_text(weigher, signs), uses)
        evidence = Evidence(
            self.place,
            *scores,
            looks.by_clause,
            self.neighbourhood.asked_for(reading, self.place, hidden),
            said,
            predicted,
            self._links,
            {n: float(predicted[column]) for n, column in self._sizes.items()} if self.options.use_heads else {},
            self._known.best(scores[0], predicted, _N_KNOWN),
            neighbours if self.options.use_neighbours else [],
            float(alike[0]) if len(alike) else 0.0,
            self._rarity(uses),
            case.proposal,
            left_out,
        )
        return evidence, nearest

    def _hidden_from(self, own: tuple[int, Sequence_] | None) -> NDArray[np.bool_] | None:
        if own is None:
            return self.hidden
        hidden = np.zeros(len(self.neighbourhood.ids), dtype=np.bool_) if self.hidden is None else self.hidden.copy()
        hidden[own[0]] = True
        return hidden

    def uses_without(self, left_out: Sequence_ | None) -> Floats:
        """Return how often each tool on offer was taught."""
        if left_out is None:
            return self._uses
        uses = self._uses.copy()
        uses[[self.place[tool] for tool in set(left_out) if tool in self.place]] -= 1
        return uses

    def looks(self, case: Case, neighbours: Sequence[tuple[Sequence_, float]] = ()) -> tuple[Looks, Floats]:
        """Return the heads' scores of each tool, and where in the request its act stands."""
        if not self.options.use_heads:
            votes = np.zeros(len(self.names))
            for sequence, weight in neighbours:
                votes[[self.place[tool] for tool in set(sequence)]] += weight
            return Looks(votes, votes, votes, votes[None]), np.full(len(votes), 0.5)
        by_act = _picked(case.acts, self._columns)
        any_ = 1 - np.prod(1 - np.clip(by_act, 0, 0.98), axis=0)
        said = np.where(self._columns >= 0, by_act.argmax(axis=0) / max(len(by_act) - 1, 1), 0.5)
        return Looks(_picked(case.predicted, self._columns), by_act.max(axis=0), any_, by_act), said

    def strangers(self, looks: Looks, reading: Reading, uses: Floats) -> tuple[NDArray[np.int64], Floats]:
        """Return the rows of hardly taught tools that may be wanted, and their signs."""
        trust = self.options.text_trust
        rare = np.flatnonzero(uses < _STRANGER_USES * trust)
        if not len(rare):
            return rare, np.zeros((0, len(SIGNS)))
        few = trust / (trust + uses[rare])
        return self._text_signs.of(reading, looks, rare, few)

    def _rarity(self, uses: Floats) -> Floats:
        trust = self.options.text_trust
        return np.where(uses < _RARE_USES * trust, trust / (trust + uses), 0.0)

    def _blend(self, scores: Sequence[Floats], rows: NDArray[np.int64], p: Floats, uses: Floats) -> None:
        share = np.clip(1.5 - uses[rows] / (_STRANGER_USES * self.options.text_trust), 0, 1)
        for score in scores:
            score[rows] = (1 - share) * score[rows] + share * p


def counts_of(sequences: Mapping[str, Sequence_] | Sequence[Sequence_]) -> Counts:
    counts = Counts()
    for sequence in sequences.values() if isinstance(sequences, Mapping) else sequences:
        counts.add(sequence)
    return counts


def _picked(scores: NDArray[np.floating], columns: NDArray[np.int64]) -> Floats:
    """Return scores, shape [..., n_outputs], in the order of the tools on offer; 0 for tools without a column."""
    padded = np.concatenate([scores, np.zeros((*scores.shape[:-1], 1))], axis=-1)
    return np.where(columns >= 0, padded[..., columns], 0.0).astype(np.float64)
