"""Bound what choosing among plans could reach: the nearest demonstration copied, and the best of the first candidates.

Candidates are those of the whole request as one thing (`RecallPlanner.options`), in the planner's own order, before
they are mended, cut into acts or joined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hearth.errors import PlanError
from hearth.formats.plans import check_plan
from hearth.language.reading import Utterance
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.protocols import Encoder
from hearth.types import Demonstration, Plan, Refusal, ToolSpec

N_FIRST = 6
"""Candidates among which an oracle chooses."""


def first_candidates(recall: RecallPlanner, said: Utterance, tools: Mapping[str, ToolSpec]) -> list[Plan | Refusal]:
    """Return what each of the first candidates comes to: a plan, a question for what it lacks, or a refusal."""
    if said.unreadable or not tools:
        return [Refusal("unreadable", said.unreadable)]
    found: list[Plan | Refusal] = []
    for option in recall.options(said, tools)[:N_FIRST]:
        if option.is_nothing:
            found.append(Refusal("out_of_scope", "the candidate does nothing"))
        elif option.bound.missing:
            found.append(Refusal("needs", "the candidate lacks a value"))
        else:
            try:
                found.append(check_plan(Plan(tuple(option.bound.steps)), tools))
            except PlanError:
                continue  # it could not be run
    return found


class Copies:
    """Plans requests as the floor does: by the plan of the most similar demonstration, unchanged."""

    def __init__(self, encoder: Encoder, demonstrations: Sequence[Demonstration]) -> None:
        self._encoder = encoder
        self._demonstrations = demonstrations
        self._vectors = encoder.encode([one.request for one in demonstrations])

    def plan(self, text: str) -> Plan:
        """Return the copied plan; one without steps is a refusal that was taught."""
        nearest = int(np.argmax(self._vectors @ self._encoder.encode([text])[0]))
        return self._demonstrations[nearest].plan
