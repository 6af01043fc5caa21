"""Rehearse what was taught: a home's planner plans its own demonstrations, each as if it alone had not been taught.

In memory alone: what is tried counts for nobody else, and nothing is written.

Covered: plans, refusals, and questions back, which count as plans of the tools that they are about. Not covered: values
of arguments; what the agent does with a plan; names that only the owner's contacts or devices hold.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearth import __version__, config
from hearth.planning.ranking.heads.tool_heads import HeadPrior
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.protocols import Encoder
from hearth.storage.database import Store
from hearth.types import Demonstration, Plan, ToolSpec

JUDGE = f"{RecallPlanner.name} {__version__}"
"""What scores were made with: those of another planner, or of another Hearth, are not compared with."""

_N_NEAR, _N_RIVALS = 100, 2


@dataclass(frozen=True, slots=True)
class Tried:
    """How a request is planned."""

    tools: tuple[str, ...]
    """Tools of the plan, or of the question back; none for a refusal."""
    confidence: float
    """Of the plan; 0 for a question or a refusal."""


class Rehearsal:
    """What a home plans with, to be judged; satisfies `version_report.Learner`."""

    def __init__(
        self, encoder: Encoder, store: Store, tools: Mapping[str, ToolSpec], prior: HeadPrior | None = None
    ) -> None:
        """Rehearse what the store holds. Args: prior: In place of the one that the home took."""
        self._planner = RecallPlanner(encoder, store, config.cache_folder(os.environ), prior)
        self._tools = tools

    @property
    def ids(self) -> tuple[str, ...]:
        return self._planner.ids()

    def tools(self) -> frozenset[str]:
        """Return the tools of all plans taught."""
        return frozenset(tool for id in self.ids for tool in self.tools_of(id))

    def suppose(self, demonstrations: Iterable[Demonstration], gone: Sequence[str] = ()) -> None:
        """Count demonstrations as taught, and those of some ids as forgotten."""
        self._planner.suppose(demonstrations, gone)

    def write_supposed(self) -> None:
        """Write the forms of what was supposed and is in the store by now, so that they need not be made again."""
        self._planner.remembered.write_supposed()

    def tried(self, demonstration: Demonstration) -> Tried:
        """Return how its request is planned, as if the demonstration alone had not been taught."""
        answer = self._planner.plan_untaught(demonstration, self._tools)
        if isinstance(answer, Plan):
            return Tried(tuple(step.tool for step in answer.steps), answer.confidence)
        return Tried(tuple(dict.fromkeys(name.partition(".")[0] for name in answer.missing)), 0.0)

    def left_out(self, ids: Sequence[str]) -> list[tuple[str, ...]]:
        return [self.tried(self._planner.remembered.demonstration(id)).tools for id in ids]

    def tools_of(self, id: str) -> tuple[str, ...]:
        return self._planner.remembered.tools_of(id)

    def vector(self, id: str) -> NDArray[np.float64]:
        return self._planner.remembered.vector(id)

    def nearest(self, ids: Sequence[str], n: int) -> list[list[tuple[str, float]]]:
        return self._planner.remembered.nearest(ids, n)

    def rivals(self, ids: Sequence[str]) -> set[str]:
        """Return the demonstrations most like some that are planned with other tools."""
        found: set[str] = set()
        for id, near in zip(ids, self.nearest(ids, _N_NEAR), strict=True):
            mine = self.tools_of(id)
            found |= set([other for other, _ in near if self.tools_of(other) != mine][:_N_RIVALS])
        return found

    def digest(self) -> str:
        """Return a SHA-256 of all that plans; empty when nothing was taught."""
        return self._planner.remembered.digest() if len(self._planner) else ""
