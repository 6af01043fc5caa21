"""Acts of requests to learn from: where they begin, what belongs to none, and what is not known."""

from __future__ import annotations

import pytest

from hearth.types import Demonstration, Plan, Ref, Step
from training.act_labels import UNKNOWN, LabelledActs, joined, labelled, one_act, pieces_of


def shown(request: str, *steps: Step) -> Demonstration:
    return Demonstration("d", request, Plan(steps), source="shipped")


def begun(found: LabelledActs) -> list[str]:
    return [found.text[start : start + 8] for (start, _), begins in zip(found.words, found.begins) if begins == 1]


LAMP = Step("turn_off", {"device": "the lamp"}, text="turn off the lamp")
MILK = Step("add_to_list", {"list": "shopping", "items": ["milk"]}, text="add milk to the shopping list")


def test_an_act_begins_after_the_one_before_with_what_joins_them() -> None:
    found = labelled(shown("turn off the lamp and add milk to the shopping list", LAMP, MILK))
    assert found is not None
    assert begun(found) == ["and add "]
    assert found.begins[1:4] == [0, 0, 0]
    assert found.n_acts == 2


def test_what_stands_before_the_first_act_belongs_to_none() -> None:
    found = labelled(shown("my eyes hurt again, turn off the lamp", LAMP))
    assert found is not None
    assert begun(found) == ["turn off"]
    assert found.aside == "my eyes hurt again,"


def test_steps_that_hand_on_results_are_one_act() -> None:
    find = Step("find_events", {"query": "dentist"}, text="the dentist")
    cancel = Step("cancel_event", {"event": Ref(0, ("id",))}, text="cancel it")
    found = labelled(shown("cancel the dentist", find, cancel))
    assert found is not None
    assert (found.n_acts, begun(found)) == (1, [])


@pytest.mark.parametrize(
    "request_",
    [
        "milk, the lamp: off with it, and on the shopping list with the first",  # mixed with one another
        "off with everything and note what I always need",  # nothing was said
    ],
)
def test_of_acts_that_cannot_be_told_apart_nothing_is_learnt(request_: str) -> None:
    assert labelled(shown(request_, LAMP, MILK)) is None


def test_two_things_under_one_verb_are_not_cut() -> None:
    fan = Step("turn_off", {"device": "the fan"}, text="turn off the fan")
    found = labelled(shown("turn off the lamp and the fan", LAMP, fan))
    assert found is not None
    assert begun(found) == []


def test_a_request_for_one_thing_is_cut_nowhere_but_perhaps_at_the_end_of_a_sentence() -> None:
    found = one_act("what is on tomorrow? I forgot")
    assert found.begins == [UNKNOWN, 0, 0, 0, UNKNOWN, UNKNOWN, 0]


def test_joined_requests_know_where_each_begins() -> None:
    singles = [one_act("turn on the fan"), one_act("add milk to the list"), one_act("wake me at 7")]
    made = joined(singles, ["what a day"], 40, 0)
    assert len(made) == 40
    assert joined(singles, ["what a day"], 40, 0) == made
    for one in made:
        asides = "what a day" in one.text.lower()
        assert one.begins.count(1) == one.n_acts - 1 + one.text.lower().count("what a day")
        assert asides == (1 in one.is_aside)


def test_each_act_is_a_request_of_its_own_and_so_is_what_is_said_before() -> None:
    said = "my eyes hurt again, turn off the lamp n also add milk to the shopping list"
    found = pieces_of(shown(said, LAMP, MILK))
    assert [(one.request, [step.tool for step in one.plan.steps]) for one in found] == [
        ("my eyes hurt again", []),
        ("turn off the lamp", ["turn_off"]),
        ("add milk to the shopping list", ["add_to_list"]),
    ]
    assert pieces_of(shown("turn off the lamp", LAMP)) == []


def test_results_are_those_of_the_act_s_own_steps() -> None:
    find = Step("find_events", {"query": "dentist"}, text="the dentist")
    cancel = Step("cancel_event", {"event": Ref(1, ("id",))}, text="cancel it")
    found = pieces_of(shown("turn off the lamp and cancel the dentist", LAMP, find, cancel))
    assert found[-1].plan.steps[1].arguments == {"event": Ref(0, ("id",))}
