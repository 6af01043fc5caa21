"""Hearth's planners as a base model: it learns from an owner's stream and plans what the owner asks next."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
from sedna.common.class_factory import ClassFactory, ClassType

from hearth.formats.plans import plan_to_json, read_demonstrations
from hearth.models.llm.openai_endpoint import Endpoint, RemoteModel
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.arguments.schema_filler import Filler
from hearth.planning.plan_drafting import Drafter
from hearth.planning.ranking.ranker import Ranker, RankerOptions
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.protocols import LanguageModel, Planner
from hearth.types import Context, Demonstration, Plan, Refusal, Request, ToolSpec
from hearth_bench.measure.learning.few_shot import repeated
from hearth_bench.scoring.system_metrics import Usage
from hearth_bench.suites.q2a.few_shot_suite import CHOICES, Choosing, Example, FewShotPlanner
from hearth_plans import AT_HOME, Meter, answer_of, demonstrations_of, request_of, tools

os.environ["BACKEND_TYPE"] = "HEARTH"  # any name that sedna does not know: else it looks for TensorFlow
encoder = functools.cache(MiniLMEncoder.open)
filler = functools.cache(Filler.open)


def taught_planner(kind: str, learnt: Sequence[Demonstration]) -> Planner:
    """A planner that knows these demonstrations and nothing else.

    Args:
        kind: `recall` plans as at home, or refuses; `student` drafts as `hearth plan --batch` does: the likeliest
            combination of tools, however unsure; `few-shot-none`, `few-shot-random` and `few-shot-nearest` ask
            the chat model at $FEW_SHOT_URL, or a scripted one that repeats the last example it is shown.
    """
    if kind.startswith("few-shot-"):
        return few_shot_planner(kind.removeprefix("few-shot-"), learnt)
    if kind == "recall":
        recall = RecallPlanner(encoder())
        recall.add(learnt)
        return recall
    if kind != "student":
        raise ValueError(f"planner is {kind!r}; expected recall, student or few-shot-none, -random, -nearest")
    return DraftingPlanner(learnt)


class DraftingPlanner:
    """The likeliest plan, however unsure; satisfies `protocols.Planner`."""

    name = Ranker.name

    def __init__(self, learnt: Sequence[Demonstration]) -> None:
        student = Ranker(encoder(), tools(), RankerOptions(hides_tools=False))
        student.learn(learnt)
        student.settle()
        self._drafter = Drafter(student, filler())

    def plan(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        """Return a plan; a refusal where no tool is likely, or a required value was not found."""
        (ranking,) = self._drafter.rank([request.text], [()], tools)
        draft = self._drafter.draft(ranking, request.text, request.now, tools)
        if not draft.plan.steps:
            return Refusal("out_of_scope", "no tool is likely", planner=self.name)
        if draft.missing:
            return Refusal("needs", f"not found: {', '.join(draft.missing)}", draft.missing, planner=self.name)
        return draft.plan


class Repeating:
    """A scripted chat model: the answer of the last example, so the least that examples alone give."""

    name = "repeats the last example"

    def complete(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, object] | None = None) -> str:
        return repeated(messages)


def few_shot_planner(choice: str, learnt: Sequence[Demonstration]) -> Planner:
    """A language model that is shown four of the demonstrations: none, some by chance, or the nearest."""
    chosen = next((one for one in CHOICES if one == choice), None)
    if chosen is None:
        raise ValueError(f"examples are chosen by {choice!r}; expected {', '.join(CHOICES)}")
    url = os.environ.get("FEW_SHOT_URL", "")
    model: LanguageModel = Repeating()
    if url:
        name, key = os.environ.get("FEW_SHOT_MODEL", ""), os.environ.get("FEW_SHOT_KEY", "")
        model = RemoteModel(Endpoint(url, name, key), httpx.HTTPTransport())
    examples = [Example(one.request, one.plan if one.plan.steps else None, one.now) for one in learnt]
    return FewShotPlanner(model, encoder(), examples, Choosing(chosen))


@ClassFactory.register(ClassType.GENERAL, alias="HearthPlanner")
class HearthPlanner:
    """What it has learnt is its model: a file of demonstrations in the plan format."""

    def __init__(
        self, planner: str = "student", n_learnt: int = 1000, keep: str = "all", asks_below: float = 0.5
    ) -> None:
        """Nothing is loaded yet.

        Args:
            planner: `recall`, `student` or one of the few-shot ones.
            n_learnt: Of each training, so many samples are learnt from: the newest.
            keep: Through rounds of lifelong learning, `all` or only the `last`.
            asks_below: How sure it must be not to ask what is right.
        """
        self.kind, self.n_learnt, self.keep, self.asks_below = planner, int(n_learnt), keep, float(asks_below)
        self._learnt: dict[str, Demonstration] = {}
        self._planner: Planner | None = None
        self._found: dict[str, tuple[Plan | Refusal, Usage]] = {}

    def preprocess(self) -> None:
        """Ianvs asks for it."""

    def train(self, data: Any, **_: Any) -> HearthPlanner:
        if self.keep == "last":
            self._learnt.clear()
        new = demonstrations_of(data.x, data.y)[-self.n_learnt :]
        self._learnt |= {one.id: one for one in new}
        self._planner = None
        return self

    def save(self, path: str) -> str:
        """Write the demonstrations to `path`, a folder; the file's path."""
        file = Path(path) / "demonstrations.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("w") as out:
            for one in self._learnt.values():
                now = one.now.isoformat() if one.now else None
                line = {"id": one.id, "user_request": one.request, "now": now, **plan_to_json(one.plan)}
                out.write(json.dumps(line) + "\n")
        return str(file)

    def load(self, path: str) -> None:
        """Know what a file holds, and nothing else."""
        found = {one.id: one for one in read_demonstrations(Path(path))}
        if found != self._learnt:
            self._learnt, self._planner = found, None

    def predict(self, data: Sequence[str], **_: Any) -> list[str]:
        """An answer for each question."""
        return [answer_of(*self.planned(question)) for question in data]

    def planned(self, question: str) -> tuple[Plan | Refusal, Usage]:
        """The plan, or why there is none, and what it cost; thought of once, until something more is learnt."""
        if self._planner is None:
            self._planner = taught_planner(self.kind, list(self._learnt.values()))
            self._found.clear()
        if question not in self._found:
            meter = Meter()
            found = self._planner.plan(request_of(question), Context(), tools())
            self._found[question] = found, meter.read(AT_HOME)
        return self._found[question]

    def asks(self, question: str) -> bool:
        """Whether it would rather be told what is right."""
        return sureness_of(self.planned(question)[0]) < self.asks_below


def sureness_of(found: Plan | Refusal) -> float:
    """The share of tools a planner expects to have right; 0 where it has no plan."""
    if not isinstance(found, Plan):
        return 0.0
    return found.confidence if found.expected_f1 is None else found.expected_f1
