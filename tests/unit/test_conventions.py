"""What the owner's own words stand for: when a phrase is taken for its plan, and when not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hearth.planning.conventions import Conventions
from hearth.planning.phrases import is_fixed
from hearth.planning.templates import template_of
from hearth.planning.recall import RecallPlanner
from hearth.registry import load_tools
from hearth.store import Store
from hearth.testing import FIXED_NOW
from hearth.types import Argument, Context, Demonstration, Plan, Request, Step

LAMP, DOOR = Step("turn_off", {"device": "living room lamp"}), Step("lock_door", {"device": "front door"})
WARM = Step("set_temperature", {"temperature": 17})
SHIPPED = [
    "remind me to call",
    "remind me of the bins",
    "open the blinds",
    "turn off the hall light",
    "lock the front door",
    "what time is it",
    "good morning",
]


def taught(request: str, *steps: Step, source: str = "owner") -> Demonstration:
    return Demonstration(f"o-{request[:20]}", request, Plan(steps), source=source)


def tools_of(conventions: Conventions, text: str) -> list[str]:
    found = conventions.meant(text)
    return [step.tool for step in found.plan.steps] if found else []


NIGHT = [taught("gn", LAMP, DOOR), taught("goodnight then", LAMP, DOOR), taught("ok goodnight, house", LAMP, DOOR)]


@pytest.mark.parametrize("text", ["goodnight", "Goodnight!", "goodnihgt", "right, goodnight everybody", "gn"])
def test_a_phrase_stands_for_its_plan(text: str) -> None:
    assert tools_of(Conventions(NIGHT, SHIPPED), text) == ["turn_off", "lock_door"]


@pytest.mark.parametrize(
    "text",
    [
        "goodnight, but leave the lamp on",
        "what does goodnight do",
        "don't do goodnight yet",
        "say goodnight to Ana and Ben by mail and remind me of the bins at nine",
        "good morning",
        "night bus to Leeds",
        "remind me to say goodnight to Lina",
        "goodnight at 9",
        "house prices",
        "",
    ],
)
def test_other_words_do_not(text: str) -> None:
    assert tools_of(Conventions(NIGHT, SHIPPED), text) == []


def test_the_newest_meaning_holds() -> None:
    later = [*NIGHT, taught("goodnight, it is cold", LAMP, DOOR, WARM)]
    assert tools_of(Conventions(later, SHIPPED), "goodnight") == ["turn_off", "lock_door", "set_temperature"]


def test_a_phrase_that_is_explained_is_known_at_once() -> None:
    explained = taught("i'm crashing, that's living room lamp off and front door locked", LAMP, DOOR)
    assert tools_of(Conventions([explained], SHIPPED), "crashing!") == ["turn_off", "lock_door"]
    assert tools_of(Conventions([taught("living room lamp off, front door locked", LAMP, DOOR)], SHIPPED), "lamp") == []


def test_a_phrase_that_ordinary_requests_use_is_none() -> None:
    opened = [taught("open", LAMP), taught("open now", LAMP)]
    assert tools_of(Conventions(opened, []), "open") == ["turn_off"]
    assert tools_of(Conventions(opened, SHIPPED), "open") == []


def test_a_phrase_said_for_two_things_is_none() -> None:
    both = [taught("house mode", LAMP), taught("house please mode", WARM)]
    assert tools_of(Conventions(both, SHIPPED), "mode") == []


@pytest.mark.parametrize(
    ("request_text", "value", "fixed"),
    [
        ("gn", "living room lamp", True),
        ("living room lamp off", "living room lamp", False),
        ("tomorrow as always", "2026-11-21T09:00:00+01:00", False),
        ("deep work", 80, True),
        ("dim to 80", 80, False),
    ],
)
def test_only_what_words_do_not_say_is_fixed(request_text: str, value: Argument, fixed: bool) -> None:
    template = template_of(taught(request_text, Step("x", {"a": value})), {})
    assert (template is not None and is_fixed(template)) is fixed


class ByWord:
    """Each word is a direction."""

    dim = 64

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[sum(word.encode()) % self.dim] += 1
            row /= np.linalg.norm(row) or 1
        return rows


def test_recall_plans_a_convention_and_lets_go_of_it(tmp_path: Path) -> None:
    specs = load_tools(None).specs
    with Store.open(tmp_path / "a.db") as store:
        planner = RecallPlanner(ByWord(), store)
        planner.add([Demonstration(f"s{k}", text, Plan(()), source="shipped") for k, text in enumerate(SHIPPED)])
        planner.add(NIGHT)
        request = Request("goodnight", FIXED_NOW)
        plan = planner.plan(request, Context(), specs)
        assert isinstance(plan, Plan)
        assert [step.tool for step in plan.steps] == ["turn_off", "lock_door"]
        assert plan.rests_on == (NIGHT[2].id,)
        planner.remove(*(one.id for one in NIGHT))
        assert not isinstance(planner.plan(request, Context(), specs), Plan)


def test_what_others_taught_is_no_convention(tmp_path: Path) -> None:
    planner = RecallPlanner(ByWord())
    planner.add([Demonstration(one.id, one.request, one.plan, source="teacher") for one in NIGHT])
    answer = planner.plan(Request("goodnight everybody", FIXED_NOW), Context(), load_tools(None).specs)
    assert not (isinstance(answer, Plan) and answer.confidence == 0.9)


@pytest.mark.parametrize(
    ("step", "is_planned"),
    [
        (Step("turn_off", {"device": "living room lamp"}), True),
        (Step("cancel_event", {"event": "dentist-01"}), False),
        (Step("draft_mail", {"to": ["ben@x.example"], "text": "yes"}), False),
    ],
)
def test_a_record_or_an_address_of_that_day_is_no_convention(step: Step, is_planned: bool) -> None:
    planner = RecallPlanner(ByWord())
    planner.add([taught("zap it", step), taught("zap now", step)])
    answer = planner.plan(Request("please zap everybody", FIXED_NOW), Context(), load_tools(None).specs)
    assert (isinstance(answer, Plan) and answer.confidence == 0.9) is is_planned
