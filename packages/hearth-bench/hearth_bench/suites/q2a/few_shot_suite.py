"""Few-shot planning by a language model: with no example, with examples drawn by chance, or with the nearest ones.

The first baseline of any assistant that plans: a chat model is shown the tools, `k` requests with their right plans,
and the request. Examples come from the owner's own stream of Q2A before the request, never from what is asked; what is
judged is the split that was named, as `q2a_suite` judges it: tools, links, the whole plan, and what it does in the
owner's home.

Covered: any chat model behind `protocols.LanguageModel`. Not covered: training, and prompts of a model's own (all three
ways see the same words but for the examples).
"""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hearth.errors import PlannerError
from hearth.formats.plans import plan_to_json
from hearth.planning.llm import LanguagePlanner
from hearth.protocols import Encoder, LanguageModel
from hearth.types import Context, Plan, Refusal, Request, ToolSpec
from hearth_bench.data.q2a_instructions import Sample, Split
from hearth_bench.suites.q2a.q2a_suite import Judged, OwnerRun

Choice = Literal["none", "random", "nearest"]
CHOICES: tuple[Choice, ...] = ("none", "random", "nearest")


@dataclass(frozen=True, slots=True)
class Example:
    """A request with its right plan, to be shown."""

    text: str
    plan: Plan | None
    """None: no tool serves it."""
    at: dt.datetime | None

    @classmethod
    def of(cls, sample: Sample) -> Example:
        return cls(sample.request.text, sample.plan, sample.request.now)


class WithExamples:
    """A chat model that is shown examples before what it is asked; satisfies `protocols.LanguageModel`."""

    def __init__(self, model: LanguageModel, examples: Sequence[Example] = ()) -> None:
        """Keep the model; the last example stands nearest to the request."""
        self.name = model.name
        self._model = model
        self.show(examples)

    def show(self, examples: Sequence[Example]) -> None:
        """Show these examples from now on."""
        self._turns = [turn for example in examples for turn in _turns(example)]

    def complete(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, object] | None = None) -> str:
        """Answer with the examples put behind the instructions. Raises: PlannerError: As the model."""
        n_told = next((k for k, one in enumerate(messages) if one["role"] != "system"), len(messages))
        return self._model.complete([*messages[:n_told], *self._turns, *messages[n_told:]], schema)


def _turns(example: Example) -> tuple[dict[str, str], dict[str, str]]:
    asked = {"request": example.text, **({"now": example.at.isoformat(timespec="seconds")} if example.at else {})}
    if example.plan is None:
        told: dict[str, object] = {"outcome": "out_of_scope", "reason": "no tool serves this"}
    else:
        nodes = plan_to_json(example.plan)
        told = {"outcome": "plan", "task_steps": nodes["task_steps"], "task_nodes": nodes["task_nodes"]}
    return (
        {"role": "user", "content": json.dumps(asked, ensure_ascii=False)},
        {"role": "assistant", "content": json.dumps(told, ensure_ascii=False)},
    )


@dataclass(frozen=True, slots=True)
class Choosing:
    """How the examples are chosen that a model is shown."""

    choice: Choice
    k: int = 4
    seed: int = 0
    """Of the examples that are drawn by chance; the same request sees the same ones."""


class FewShotPlanner:
    """Satisfies `protocols.Planner`: a language model that is shown `k` examples of a pool."""

    def __init__(
        self,
        model: LanguageModel,
        encoder: Encoder,
        pool: Sequence[Example],
        choosing: Choosing,
    ) -> None:
        """Encode the pool once."""
        choice = choosing.choice
        self.name = f"few-shot:{choice}:{model.name}"
        self._model, self._encoder, self._pool = WithExamples(model), encoder, tuple(pool)
        self._planner = LanguagePlanner(self._model, encoder)
        self.n_unusable = 0
        self._choice, self._k, self._seed = choice, choosing.k, choosing.seed
        is_used = choice == "nearest" and pool
        self._vectors = encoder.encode([example.text for example in pool]) if is_used else None

    def examples(self, request: Request) -> list[Example]:
        """Return what is shown for a request, the nearest last; only what was asked before it."""
        before = [k for k, one in enumerate(self._pool) if one.at is None or one.at < request.now]
        if self._choice == "none" or not before:
            return []
        if self._choice == "random":
            drawn = random.Random(f"{self._seed} {request.text}")  # noqa: S311 - not for secrets
            return [self._pool[k] for k in drawn.sample(before, min(self._k, len(before)))]
        assert self._vectors is not None
        likeness = self._vectors[before] @ self._encoder.encode([request.text])[0]
        return [self._pool[before[place]] for place in np.argsort(likeness, kind="stable")[-self._k :]]

    def plan(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        """Ask the model; where it gives no usable plan in two attempts, nothing is planned, and counted."""
        self._model.show(self.examples(request))
        try:
            return self._planner.plan(request, context, tools)
        except PlannerError as error:
            self.n_unusable += 1
            return Refusal("out_of_scope", str(error), planner=self.name)


@dataclass(frozen=True, slots=True)
class FewShotResult:
    """How one choice of examples did."""

    choice: Choice
    judged: tuple[Judged, ...]
    n_unusable: int

    def numbers(self) -> dict[str, float]:
        """Return shares over all that was asked."""
        planned = [one for one in self.judged if one.sample.plan is not None]

        def share(values: Sequence[bool | float]) -> float:
            return round(float(np.mean(values)), 4) if values else 0.0

        return {
            "n": len(self.judged),
            "right": share([one.is_right for one in self.judged]),
            "node_f1": share([one.node_f1 for one in planned]),
            "link_f1": share([one.link_f1 for one in planned]),
            "tools_right": share([one.tools_right for one in planned]),
            "executed": share([one.is_executed for one in planned]),
            "wrong_side_effect": share([one.wrong_side_effect for one in self.judged]),
            "unusable": share([1.0] * self.n_unusable + [0.0] * (len(self.judged) - self.n_unusable)),
        }


def measure_few_shot(
    model: LanguageModel, encoder: Encoder, runs: Sequence[OwnerRun], split: Split, choosing: Choosing
) -> FewShotResult:
    """Plan each owner's instructions of a split, with examples of that owner's stream."""
    judged: list[Judged] = []
    n_unusable = 0
    for run in runs:
        pool = [Example.of(sample) for sample in run.samples if sample.split == "stream"]
        planner = FewShotPlanner(model, encoder, pool, choosing)
        for sample in run.asked(split):
            request = run.request_of(sample)
            answer = planner.plan(request, run.world.known(request.now), run.world.specs)
            judged.append(run.judge(sample, answer))
        n_unusable += planner.n_unusable
    return FewShotResult(choosing.choice, tuple(judged), n_unusable)
