"""Asks a planner several times and trusts its plan as far as its answers agree: an unsure planner contradicts itself.

Each attempt sees the tools in another order, as a language model that is not sure is swayed by what it reads first.
When all answers are one plan, it is surer than a plan asked for once. When they differ and one of them would change or
send something, votes are not counted: the owner is asked which was meant. Plans that only read go by the majority, with
so little confidence that the next planner, or the teacher, is asked before they are taken.

Covered: plans that differ in tools, links or values; refusals count as answers. Not covered: a model that is wrong the
same way each time.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hearth.errors import PlannerError
from hearth.formats.plan_validation import only_reads
from hearth.formats.terminal_text import plan_lines
from hearth.planning.deferral import agrees
from hearth.protocols import Planner
from hearth.types import Context, Plan, Refusal, Request, ToolSpec

UNANIMOUS = 0.9
"""Confidence of a plan that every answer agrees on."""
DISPUTED = 0.5
"""Confidence of a plan that most answers agree on: too little to be taken while another planner can be asked."""
_SHOWN_CHARACTERS = 200


class ConsistentPlanner:
    """Satisfies `protocols.Planner` with another planner, asked up to `n_samples` times."""

    def __init__(self, planner: Planner, n_samples: int) -> None:
        """Keep the planner. `n_samples`: at least 2; asking ends early once equal first answers are the majority."""
        if n_samples < 2:
            raise ValueError(f"{n_samples} attempts cannot agree; ask at least twice")
        self.name = planner.name
        self._planner = planner
        self._n_samples = n_samples

    def plan(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        """Return the plan its answers agree on, or a question which was meant.

        Raises:
            PlannerError: No attempt gave an answer; the last fault.
        """
        groups: list[list[Plan | Refusal]] = []
        failure: PlannerError | None = None
        n_answers = 0
        for k in range(self._n_samples):
            try:
                answer = self._planner.plan(request, context, _in_order(tools, k))
            except PlannerError as error:
                failure = error
                continue
            n_answers += 1
            same = next((group for group in groups if _is_same(group[0], answer, tools)), None)
            if same is None:
                groups.append([answer])
            else:
                same.append(answer)
            if len(groups) == 1 and n_answers > 1 and 2 * n_answers > self._n_samples:
                break
        if failure is not None and not groups:
            raise failure
        groups.sort(key=len, reverse=True)
        best = groups[0][0]
        if len(groups) == 1:
            return replace(best, confidence=UNANIMOUS) if isinstance(best, Plan) and n_answers > 1 else best
        is_harmless = all(isinstance(group[0], Refusal) or only_reads(group[0], tools) for group in groups)
        if is_harmless and 2 * len(groups[0]) > n_answers:
            return replace(best, confidence=DISPUTED) if isinstance(best, Plan) else best
        return self._which(groups, tools)

    def _which(self, groups: Sequence[Sequence[Plan | Refusal]], tools: Mapping[str, ToolSpec]) -> Refusal:
        """Ask which of the two likeliest answers was meant."""
        ways = [_in_words(group[0], tools) for group in groups[:2]]
        reason = f"I can read this in two ways: {ways[0]}; or {ways[1]}. Please say which, in other words"
        return Refusal("needs", reason, planner=self.name)


def _in_order(tools: Mapping[str, ToolSpec], k: int) -> dict[str, ToolSpec]:
    names = list(tools)
    if k:
        random.Random(k).shuffle(names)  # noqa: S311 - an order, no secret
    return {name: tools[name] for name in names}


def _is_same(one: Plan | Refusal, other: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> bool:
    if isinstance(one, Refusal) or isinstance(other, Refusal):
        return isinstance(one, Refusal) and isinstance(other, Refusal) and one.kind == other.kind
    return agrees(one, other, tools) or (one.steps, one.unserved) == (other.steps, other.unserved)


def _in_words(answer: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> str:
    if isinstance(answer, Refusal):
        return "not at all, as no tool serves it" if answer.kind == "out_of_scope" else "not without more from you"
    line = "; ".join(line.strip("│●╰─┴ ") for line in plan_lines(answer, tools))
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[: _SHOWN_CHARACTERS - 1]}…"
