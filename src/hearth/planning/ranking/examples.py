"""Keeps what a student was taught: each demonstration's plan, its reading, and the tools each clause asked for.

Nothing here depends on the order of teaching.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from hearth.planning.ranking.candidates import Sequence_, steps_of
from hearth.planning.ranking.features import FloatRows, Reading
from hearth.types import Demonstration, ToolSpec

_STEP_PREFIX = re.compile(r"^step \d+[:.]? *(call \S+ *(to )?)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Taught:
    """One demonstration as it was learned."""

    sequence: Sequence_
    links: frozenset[tuple[int, int]]
    reading: Reading
    clause_tools: tuple[tuple[str, ...], ...]
    """For each clause, the tools of the steps most similar to it."""


def taught_of(demonstration: Demonstration, reading: Reading, vectors: FloatRows) -> Taught:
    """Credit each step to its most similar clause; the request itself is not kept."""
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
    """Return the targets that a sequence gives the heads: its tools, its links with both ends, its length."""
    wanted = dict.fromkeys([f"t {tool}" for tool in sequence], 1.0)
    wanted.update(dict.fromkeys([f"l {a} > {b}" for a, b in steps_of(sequence)], 1.0))
    wanted[f"n {min(len(sequence), 6)}"] = 1.0
    return wanted


def step_texts(demonstration: Demonstration, tools: Mapping[str, ToolSpec]) -> list[str]:
    """Return the text of each step, else its tool's text."""
    texts = []
    said = demonstration.task_steps
    for index, step in enumerate(demonstration.plan.steps):
        text = step.text or (said[index] if len(said) == len(demonstration.plan.steps) else "")
        spec = tools.get(step.tool)
        fallback = f"{step.tool.replace('_', ' ')}: {spec.description if spec else ''}"
        texts.append(_STEP_PREFIX.sub("", text) or fallback)
    return texts
