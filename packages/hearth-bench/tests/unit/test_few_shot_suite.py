"""Few-shot planning: which examples a model is shown, over real HTTP, and that none of what is asked is among them."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence

import httpx
import pytest

from hearth.models.llm.openai_endpoint import Endpoint, RemoteModel
from hearth.models.llm.scripted import ScriptedModel
from hearth.testing import FIXED_NOW, HashEncoder
from hearth.types import Context, Parameter, Plan, Refusal, Request, Step, ToolSpec
from hearth_bench.data.q2a_instructions import OWNERS
from hearth_bench.measure.learning.few_shot import repeated, scripted_endpoint
from hearth_bench.suites.q2a.few_shot_suite import (
    Choice,
    Choosing,
    Example,
    FewShotPlanner,
    WithExamples,
    measure_few_shot,
)
from hearth_bench.suites.q2a.q2a_suite import OwnerRun

TOOLS = {"add_note": ToolSpec("add_note", "Write a note.", (Parameter("text", "text", is_required=True),))}


def note(text: str, days: int = 1) -> Example:
    return Example(f"note {text}", Plan((Step("add_note", {"text": text}),)), FIXED_NOW - dt.timedelta(days=days))


POOL = [*(note(f"thing {k}", k + 1) for k in range(6)), Example("sing", None, None), note("later", -1)]


def planner(choice: Choice, k: int = 2) -> FewShotPlanner:
    return FewShotPlanner(ScriptedModel(()), HashEncoder(), POOL, Choosing(choice, k))


def test_the_nearest_stands_last_and_nothing_is_from_later() -> None:
    request = Request("note thing 3", FIXED_NOW)
    assert planner("none").examples(request) == []
    assert planner("nearest").examples(request)[-1].text == "note thing 3"
    drawn = planner("random", 7).examples(request)
    assert len(drawn) == 7
    assert "note later" not in [one.text for one in drawn]
    assert planner("random").examples(request) == planner("random").examples(request)
    before_all = Request("note thing 3", FIXED_NOW - dt.timedelta(days=99))
    assert [one.text for one in planner("nearest").examples(before_all)] == ["sing"]


def test_examples_stand_between_the_instructions_and_the_request() -> None:
    model = ScriptedModel(["ok"])
    shown = WithExamples(model, [note("a"), Example("sing", None, None)])
    shown.complete([{"role": "system", "content": "s"}, {"role": "user", "content": "u"}])
    ((messages, _),) = model.asked
    assert [one["role"] for one in messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert json.loads(messages[2]["content"])["task_nodes"][0]["task"] == "add_note"
    assert json.loads(messages[4]["content"])["outcome"] == "out_of_scope"


def test_a_model_behind_http_plans_as_it_is_shown() -> None:
    with scripted_endpoint() as url:
        remote = RemoteModel(Endpoint(url, "m"), httpx.HTTPTransport())
        try:
            shown = FewShotPlanner(remote, HashEncoder(), POOL, Choosing("nearest", 2))
            found = shown.plan(Request("note thing 3", FIXED_NOW), Context(), TOOLS)
            plain = FewShotPlanner(remote, HashEncoder(), POOL, Choosing("none"))
            none = plain.plan(Request("x y", FIXED_NOW), Context(), TOOLS)
        finally:
            remote.close()
    assert isinstance(found, Plan)
    assert found.steps[0].arguments["text"] == "thing 3"
    assert isinstance(none, Refusal)


class Repeats:
    name = "repeats"

    def complete(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, object] | None = None) -> str:
        return repeated(messages)


@pytest.mark.parametrize("choice", ["none", "nearest"])
def test_what_is_judged_is_never_shown(choice: Choice) -> None:
    run = OwnerRun.of(OWNERS[0], 3)
    asked = {sample.request.text for sample in run.asked("dev")}
    pool = [Example.of(sample) for sample in run.samples if sample.split == "stream"]
    assert not asked & {one.text for one in pool}
    numbers = measure_few_shot(Repeats(), HashEncoder(), [run], "dev", Choosing(choice, 1)).numbers()
    assert numbers["n"] == 3
    assert 0 <= numbers["right"] <= 1
