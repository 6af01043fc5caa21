"""What a student was taught, as it is kept: for each demonstration its plan, its reading, and which clause asked for
which tool. Nothing here depends on the order of teaching.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearth.planning.candidates import Sequence_, steps_of
from hearth.planning.reading import FloatRows, Reading, likeness_of_texts
from hearth.types import Demonstration, ToolSpec

_STEP_PREFIX = re.compile(r"^step \d+[:.]? *(call \S+ *(to )?)?", re.IGNORECASE)
_N_CLAUSES = 12
_CLAUSE_SHARPNESS = 15.0
_N_USUAL = 256
_N_LOOKED_AT = 200
"""So many demonstrations, nearest by their sentence vectors and words, are compared in full."""


@dataclass(frozen=True, slots=True)
class Taught:
    """One demonstration as it was learnt."""

    sequence: Sequence_
    links: frozenset[tuple[int, int]]
    reading: Reading
    clause_tools: tuple[tuple[str, ...], ...]
    """Of each clause, the tools of the steps most like it."""


def taught_of(demonstration: Demonstration, reading: Reading, vectors: FloatRows) -> Taught:
    """Each step is credited to the clause it is most like; the request itself is not kept."""
    steps = demonstration.plan.steps
    clauses = reading.vectors
    clause_tools: list[list[str]] = [[] for _ in clauses]
    for step, vector in zip(steps, vectors):
        mine = clause_tools[int((clauses @ vector).argmax())]
        if step.tool not in mine:
            mine.append(step.tool)
    links = frozenset((source, target) for target, step in enumerate(steps) for source in step.needs())
    return Taught(
        tuple(step.tool for step in steps),
        links,
        Reading(reading.pooled, reading.words, reading.clauses),
        tuple(tuple(tools) for tools in clause_tools),
    )


def targets_of(sequence: Sequence_) -> dict[str, float]:
    """What a sequence teaches the heads: its tools, its links with both ends, its length."""
    wanted = dict.fromkeys([f"t {tool}" for tool in sequence], 1.0)
    wanted.update(dict.fromkeys([f"l {a} > {b}" for a, b in steps_of(sequence)], 1.0))
    wanted[f"n {min(len(sequence), 6)}"] = 1.0
    return wanted


def step_texts(demonstration: Demonstration, tools: Mapping[str, ToolSpec]) -> list[str]:
    """What each step was said to do, else its tool's text."""
    texts = []
    said = demonstration.task_steps
    for index, step in enumerate(demonstration.plan.steps):
        text = step.text or (said[index] if len(said) == len(demonstration.plan.steps) else "")
        spec = tools.get(step.tool)
        fallback = f"{step.tool.replace('_', ' ')}: {spec.description if spec else ''}"
        texts.append(_STEP_PREFIX.sub("", text) or fallback)
    return texts


class StepMemory:
    """Finds the clauses most like a clause, among all that were taught, and the tools they asked for."""

    def __init__(self, taught: Mapping[str, Taught], rows: Mapping[str, int], place: Mapping[str, int]) -> None:
        """
        Args:
            rows: Of the demonstrations in the neighbourhood.
            place: Of the tools on offer.
        """
        self._place = place
        clauses = [taught[id].reading.vectors for id in rows]
        self._vectors = np.concatenate(clauses) if clauses else np.zeros((0, 0), dtype=np.float32)
        self._owner = np.repeat(np.fromiter(rows.values(), np.int64, len(rows)), [len(mine) for mine in clauses])
        self._tools = [
            [place[tool] for tool in tools if tool in place] for id in rows for tools in taught[id].clause_tools
        ]

    def votes(self, reading: Reading, hidden: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """How far the clauses like each clause asked for each tool, shape [n_clauses, n_tools]; a clause that asks for
        nothing has no votes."""
        found = np.zeros((len(reading.clauses), len(self._place)))
        if not len(self._vectors):
            return found
        alike = reading.vectors @ self._vectors.T
        if hidden is not None:
            alike[:, hidden[self._owner]] = -1.0
        n = min(_N_CLAUSES, alike.shape[1])
        for clause, mine in enumerate(alike):
            top = np.argpartition(-mine, n - 1)[:n]
            weights = np.exp((mine[top] - mine[top].max()) * _CLAUSE_SHARPNESS)
            for row, weight in zip(top, weights / weights.sum()):
                found[clause, self._tools[row]] += weight
        return found


class Neighbourhood:
    """Finds the demonstrations most like a request."""

    def __init__(self, taught: Mapping[str, Taught]) -> None:
        self.ids = sorted(taught)
        self.place = {id: row for row, id in enumerate(self.ids)}
        self.sequences = [taught[id].sequence for id in self.ids]
        readings = [taught[id].reading for id in self.ids]
        self._pooled = np.array([reading.pooled for reading in readings], dtype=np.float32)
        width = self._pooled.shape[-1] // 4 if readings else 0
        self._sentences = np.ascontiguousarray(self._pooled[:, :width]) if readings else np.zeros((0, 0), np.float32)
        self._by_word = np.array([reading.words for reading in readings], dtype=np.float32).T.copy()

    def usual(self) -> FloatRows:
        """Unit vectors of some requests, spread evenly over the ids."""
        some = self._sentences[:: max(len(self.ids) // _N_USUAL, 1)][:_N_USUAL]
        return np.asarray(some / np.maximum(np.linalg.norm(some, axis=1, keepdims=True), 1e-6), dtype=np.float32)

    def nearest(
        self, reading: Reading, n: int, hidden: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Rows of the `n` most alike, nearest first, with their likeness (1 for the same text).

        Args:
            hidden: Rows to pass over, shape [n_taught].
        """
        if not self.ids:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        used = np.flatnonzero(reading.words)
        words = reading.words[used].astype(np.float32) @ self._by_word[used]
        sentence = reading.pooled[: self._sentences.shape[1]].astype(np.float32)
        rough = likeness_of_texts(self._sentences @ sentence, words, is_rough=True)
        if hidden is not None:
            rough[hidden] = -np.inf
        rows = np.arange(len(rough))
        if len(rough) > _N_LOOKED_AT:
            rows = np.sort(np.argpartition(-rough, _N_LOOKED_AT)[:_N_LOOKED_AT])
        if hidden is not None:
            rows = rows[~hidden[rows]]
        alike = likeness_of_texts(self._pooled[rows] @ reading.pooled.astype(np.float32), words[rows])
        best = np.argsort(-alike, kind="stable")[:n]
        return rows[best], alike[best]
