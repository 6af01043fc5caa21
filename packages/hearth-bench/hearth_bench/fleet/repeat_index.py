"""The memory of a simulated device: demonstrations by the thousand, indexed by their words, replaced and contradicted.

The homes themselves compare a dozen (`hearth.planning.repeat_planner.said_again`), by the same likeness.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hearth.planning.adaptation import POLITE, Case, Said, case_of, form_of, spellings_of, values_said, words_of
from hearth.planning.repeat_planner import N_NEAREST, N_SHARED, Repeat, candidate, ranked, weighing
from hearth.types import Demonstration, Plan, Request

_N_COMMON = 64
"""A word that occurs in more demonstrations than this makes none of them a candidate."""


class Repeats:
    """Demonstrations indexed by their words; the same ones in the same order give the same answers. Not thread-safe."""

    def __init__(self, rarity: Mapping[str, float], dim: int, most: int = 1 << 30) -> None:
        """Start without demonstrations.

        Args:
            rarity: Weight of each word, as `rarity_of` counts it among other people's requests.
            dim: Dimension of the vectors.
            most: Number of demonstrations kept; a new one replaces the one whose plan was wanted longest ago.
        """
        self._weight, self._most = weighing(rarity), most
        self._taught: dict[str, Case] = {}
        self._rows: list[str] = []
        self._place: dict[str, int] = {}
        self._vectors: NDArray[np.float32] = np.zeros((16, dim), dtype=np.float32)
        self._with: dict[str, dict[str, None]] = {}  # ids by word and by its spellings
        self._used: dict[str, int] = {}
        self._clock = 0

    def __len__(self) -> int:
        return len(self._taught)

    def add(self, demonstration: Demonstration, vector: NDArray[np.float32]) -> None:
        """Add a demonstration; one with a known id replaces the older."""
        self.remove(demonstration.id)
        if len(self._taught) >= self._most:
            self.remove(min(self._used, key=lambda id: (self._used[id], id)))
        one = case_of(demonstration, self._weight)
        self._taught[one.id] = one
        if len(self._rows) == len(self._vectors):
            self._vectors = np.vstack([self._vectors, np.zeros_like(self._vectors)])
        self._vectors[len(self._rows)] = vector
        self._place[one.id] = len(self._rows)
        self._rows.append(one.id)
        self._touch(one.id)
        for word in set(one.said) - POLITE:
            for key in spellings_of(word):
                self._with.setdefault(key, {})[one.id] = None

    def remove(self, id: str) -> None:
        """Forget a demonstration; an unknown id is ignored."""
        one = self._taught.pop(id, None)
        if one is None:
            return
        row = self._place.pop(id)
        last = self._rows.pop()
        if last != id:
            self._rows[row], self._place[last] = last, row
            self._vectors[row] = self._vectors[len(self._rows)]
        del self._used[id]
        for word in set(one.said) - POLITE:
            for key in spellings_of(word):
                self._with[key].pop(id, None)

    def _touch(self, id: str) -> None:
        self._clock += 1
        self._used[id] = self._clock

    def propose(
        self,
        request: Request,
        vector: NDArray[np.float32],
        likely: Callable[[Plan], float] | None = None,
        cosines: NDArray[np.float32] | None = None,
        most: int = 1,
    ) -> list[Repeat]:
        """Return plans for a request, the surest first; of several that do the same, only one.

        Args:
            likely: Another model's probability, in [0, 1], of a plan's tools for this request.
            cosines: Cosines of the vector with `vectors`, when they were computed for many at once.
            most: Greatest number of plans returned.
        """
        if not self._taught:
            return []
        said, now = Said(request.text, self._weight), request.now
        if cosines is None:
            cosines = self.vectors @ vector
        rows = self._near(said.words, cosines)
        found = [candidate(self._taught[self._rows[row]], said, float(cosines[row]), now) for row in rows]
        found.sort(key=lambda each: (-each[3], -self._used[each[0].id]))
        return ranked(found, likely, now, len(said.words), most)

    def _near(self, said: Sequence[str], cosines: NDArray[np.float32]) -> list[int]:
        """Return the rows worth a closer look."""
        n = min(N_NEAREST, len(cosines))
        near = np.argpartition(-cosines, n - 1)[:n] if len(cosines) > n else np.arange(len(cosines))
        shared: dict[str, float] = {}
        for word in dict.fromkeys(said):
            if word in POLITE:
                continue
            met: dict[str, None] = {}
            for key in spellings_of(word):
                met.update(self._with.get(key, {}))
            weight = self._weight(word)
            if len(met) <= _N_COMMON:  # a word that is in many demonstrations tells nothing
                for id in met:
                    shared[id] = shared.get(id, 0.0) + weight
        best = sorted(shared, key=lambda id: (-shared[id], -self._used[id]))[:N_SHARED]
        return list(dict.fromkeys([*map(int, sorted(near)), *(self._place[id] for id in best)]))

    @property
    def vectors(self) -> NDArray[np.float32]:
        """Return the vectors of the demonstrations, in the order of their rows."""
        return self._vectors[: len(self._rows)]

    def nearest(self, vector: NDArray[np.float32]) -> Plan | None:
        """Return the plan of the demonstration with the nearest vector, as it was taught."""
        if not self._rows:
            return None
        return self._taught[self._rows[int(np.argmax(self.vectors @ vector))]].plan

    def used(self, id: str) -> None:
        """Record that its plan was wanted again."""
        if id in self._used:
            self._touch(id)

    def contradict(self, text: str, vector: NDArray[np.float32], wrong: Repeat, right: Plan, least: float = 0.5) -> int:
        """Forget the demonstrations that made a wrong proposal for a request, and return how many they were.

        Forgotten are those that mean the same plan for similar words. Nothing is forgotten when the right plan differs
        only in values that were said: these were misread.
        """
        rested = self._taught.get(wrong.id)
        if rested is None:
            return 0
        said, places = words_of(text)
        if form_of(right, [slot[2] for slot in values_said(text, right, places)]) == rested.form:
            return 0
        telling = set(said) - POLITE
        gone = [
            one.id
            for one, other in ((self._taught[id], self._vectors[row]) for row, id in enumerate(self._rows))
            if one.form == rested.form and (float(other @ vector) >= least or telling & set(one.said))
        ]
        for id in gone:
            self.remove(id)
        return len(gone)
