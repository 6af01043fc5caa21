"""Keeps what a student was taught: each demonstration's plan, its reading, and the tools each act asked for.

Nothing here depends on the order of teaching.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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
    act_tools: tuple[tuple[str, ...], ...]
    """For each act, the tools of the steps most similar to it."""
    asked: frozenset[str]
    """Tools whose results no other step uses: what is asked for."""


def taught_of(demonstration: Demonstration, reading: Reading, act_tools: Sequence[Sequence[str]]) -> Taught:
    """Keep a plan with its reading and what each act asked for; the request itself is not kept."""
    steps = demonstration.plan.steps
    used = {ref.step for step in steps for ref in step.refs()}
    return Taught(
        tuple(step.tool for step in steps),
        frozenset((source, target) for target, step in enumerate(steps) for source in step.needs()),
        Reading(reading.vectors, reading.words),
        tuple(tuple(dict.fromkeys(tools)) for tools in act_tools),
        frozenset(step.tool for index, step in enumerate(steps) if index not in used),
    )


def asked_by_acts(demonstration: Demonstration, reading: Reading, vectors: FloatRows) -> list[list[str]]:
    """Credit each step to the act whose vector is most like its own."""
    asked: list[list[str]] = [[] for _ in reading.acts]
    for step, vector in zip(demonstration.plan.steps, vectors):
        asked[int((reading.acts @ vector).argmax())].append(step.tool)
    return asked


def targets_of(sequence: Sequence_) -> dict[str, float]:
    """Return the targets that a sequence gives the heads: its tools, its links with both ends, its length."""
    wanted = dict.fromkeys([f"t {tool}" for tool in sequence], 1.0)
    wanted.update(dict.fromkeys([f"l {a} > {b}" for a, b in steps_of(sequence)], 1.0))
    wanted[f"n {min(len(sequence), 6)}"] = 1.0
    return wanted


def rows_of(one: Taught) -> list[dict[str, float]]:
    """Return the targets of each row of a demonstration's reading: of the whole, then of each act if several.

    An act wants its tools, and `a TOOL` for each that is asked for, as the home's heads are taught it. A whole request
    of one act is that act, too.
    """
    acts = [
        dict.fromkeys([*(f"t {tool}" for tool in tools), *(f"a {tool}" for tool in tools if tool in one.asked)], 1.0)
        for tools in one.act_tools
    ]
    whole = targets_of(one.sequence)
    return [whole | acts[0]] if len(acts) == 1 else [whole, *acts]


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
