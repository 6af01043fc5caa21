"""Ranks sequences of tools that this home alone was taught, from what is remembered.

Tools that ship are known from what thousands of people said; one that a home brought is known from demonstrations
alone, and where these are of several steps, what matters is which tools go together and in which order. `ranking`
weighs that. It is handed the vectors and words that are remembered anyway: nothing is read, or kept, a second time.

A request is of the kind that was taught when its nearest demonstrations are as near as those of demonstrations are to
each other, all but a small share. That share bounds how often such a request is not recognised, whatever the encoder.

Covered: demonstrations with a tool that does not ship, once enough of them have several steps. Not covered: how the
steps are filled (`planning.arguments`), and a request that reads like a taught one and means another.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hearth.planning.ranking.features import Neighbourhood, Reader, Reading, Taught, taught_of
from hearth.planning.ranking.ranker import Ranker, RankerOptions
from hearth.planning.ranking.weight_fitting import digest
from hearth.planning.retrieval.episodic_index import Remembered, Row
from hearth.planning.retrieval.plan_assembly import NO_SEQUENCES, OwnSequences
from hearth.planning.tool_heads import shipped_tools
from hearth.protocols import Encoder
from hearth.types import Demonstration, ToolSpec

OPTIONS = RankerOptions(n_fit=200, hides_tools=False)
"""Enough to weigh evidence within seconds of the first request; `hearth plan --batch` takes its time."""
NOT_RECOGNISED = 0.03
"""Approximate greatest share of requests of a taught kind that are not recognised."""
_ALIKE = 0.7
"""Likeness from which on a request is of their kind even where all that was taught is still more alike."""
_N_COMPARED = 200
_N_NEAREST = 5
_STALE_SHARE = 0.1


class TaughtSequences:
    """The sequences of one home, kept up to date with its memory. Not thread-safe."""

    def __init__(self, remembered: Remembered, encoder: Encoder) -> None:
        self._remembered = remembered
        self._reader = Reader(encoder, OPTIONS.reading)
        self._solved: Ranker | None = None
        """Solved when a request is first recognised."""
        self._rows: Mapping[str, Row] = {}
        self._taught: dict[str, Taught] = {}
        self._near = Neighbourhood({})
        self._least: tuple[int, float] | None = None
        """Number of demonstrations, and the least likeness of a request of their kind."""

    def ranked(
        self, vectors: NDArray[np.float32], words: Sequence[Sequence[str]], tools: Mapping[str, ToolSpec]
    ) -> OwnSequences:
        """Rank sequences for a request. Of a demonstration that is left out just now, the ranking is that of its own.

        Args:
            vectors, words: As for `Reader.reading_of`.
            tools: Those on offer.
        """
        self._refresh()
        out = self._remembered.left_out
        reading = self._reader.reading_of(vectors, words)
        if self._likeness(reading, out) < self._least_likeness():
            return NO_SEQUENCES
        ranker = self._ranker(tools)
        (found,) = ranker.rank_left_out([out]) if out in self._taught else ranker.rank_readings([reading])
        own = frozenset(tool for row in self._rows.values() for tool in row.tools) - shipped_tools()
        return OwnSequences(found.candidates, own)

    def _refresh(self) -> None:
        """Read what was taught since, and let go of what was forgotten."""
        own = self._remembered.of_own_tools()
        if own is self._rows:
            return
        if gone := [id for id, row in self._rows.items() if own.get(id) is not row]:
            self._least = None
        for id in gone:
            self._taught.pop(id, None)
        fresh = [id for id, row in own.items() if self._rows.get(id) is not row]
        self._taught |= taught_in(self._remembered, self._reader, fresh)
        if gone or fresh:
            self._near = Neighbourhood(self._taught)
        self._rows = own

    def _ranker(self, tools: Mapping[str, ToolSpec]) -> Ranker:
        if self._solved is None:
            self._solved = Ranker(self._reader.encoder, {}, OPTIONS)
        ranker = self._solved
        ranker.remove(*(id for id in ranker.ids if self._taught.get(id) is not ranker.taught(id)))
        ranker.know(self._taught)
        if ranker.tools != tools:
            ranker.set_tools(tools)
        return ranker

    def _likeness(self, reading: Reading, without: str = "") -> float:
        hidden = np.array([id == without for id in self._near.ids]) if without else None
        _, alike = self._near.nearest(reading, _N_NEAREST, hidden)
        return float(alike.sum()) / max(len(alike), 1)

    def _least_likeness(self) -> float:
        """Return the conformal quantile of how near demonstrations are to others: of n + 1 exchangeable likenesses, at
        most this share lies below the k-th least of n."""
        n = len(self._taught)
        if self._least is None or n > (1 + _STALE_SHARE) * self._least[0]:
            ids = sorted(self._taught, key=digest)[:_N_COMPARED]
            alike = sorted(self._likeness(self._taught[id].reading, id) for id in ids)
            self._least = n, min(_ALIKE, alike[max(1, math.floor(NOT_RECOGNISED * (len(alike) + 1))) - 1])
        return self._least[1]


def taught_in(remembered: Remembered, reader: Reader, ids: Iterable[str]) -> dict[str, Taught]:
    """Return some remembered demonstrations as the ranker learns them; those without a plan are left out."""
    shown = [one for one in remembered.demonstrations(sorted(ids)) if one.plan.steps]
    remembered.fetch(one.id for one in shown)
    return {one.id: _taught(remembered, reader, one) for one in shown}


def _taught(remembered: Remembered, reader: Reader, shown: Demonstration) -> Taught:
    lessons, steps = remembered.lessons(shown.id), shown.plan.steps
    asked_by = [[step.tool for step in lesson.steps] for lesson in lessons[1:]]
    if not asked_by:  # which of several acts asked for what is not known
        asked_by = [[step.tool for step in steps] if lessons[0].n_clauses == 1 else []]
    reading = reader.reading_of(remembered.vectors(shown.id), [lesson.words for lesson in lessons])
    return taught_of(shown, reading, asked_by)
