"""Arguments are chosen together: no two of the same words if there is a choice, and several calls in their turn."""

from __future__ import annotations

import math

import pytest

from hearth.planning.arguments.schema_filler import Choice, Evidence, choose, choose_each, n_calls
from hearth.types import Parameter


def evidence(name: str, *values: tuple[object, float, int], unsaid: float = 0.05, required: bool = True) -> Evidence:
    """What a parameter may be: value, probability against the likeliest, and place."""
    choices = tuple(
        Choice(value, math.log(chance * (1 - unsaid)), chance, (at, at + 2), isinstance(value, int))  # type: ignore[arg-type]
        for value, chance, at in values
    )
    return Evidence(Parameter(name, "any", is_required=required), choices, math.log(unsaid))


def values(chosen: dict[str, Choice | None]) -> dict[str, object]:
    return {name: choice.value for name, choice in sorted(chosen.items()) if choice is not None}


def test_two_parameters_take_the_likeliest_pair() -> None:
    base, height = evidence("base", (3, 1.0, 20), (5, 0.8, 10)), evidence("height", (3, 1.0, 20), (5, 0.1, 10))
    assert values(choose([base, height])) == {"base": 5, "height": 3}
    assert values(choose([height, base])) == {"base": 5, "height": 3}


def test_words_are_shared_when_nothing_else_comes_near() -> None:
    one, other = evidence("to", ("Rome", 1.0, 5), ("x", 0.001, 9)), evidence("city", ("Rome", 1.0, 5))
    assert values(choose([one, other])) == {"city": "Rome", "to": "Rome"}


def test_an_optional_value_that_only_repeats_is_unsaid() -> None:
    one = evidence("weight", ("70 kg", 1.0, 5))
    other = evidence("climate", ("70 kg", 1.0, 5), unsaid=0.3, required=False)
    assert values(choose([one, other])) == {"weight": "70 kg"}


@pytest.mark.parametrize(("unsaid", "expected"), [(0.9, {"n": 1}), (0.99, {})])
def test_a_required_value_is_missing_when_it_is_surely_unsaid(unsaid: float, expected: dict[str, object]) -> None:
    assert values(choose([evidence("n", (1, 1.0, 0), unsaid=unsaid)])) == expected


def test_a_number_may_stand_in_a_text() -> None:
    assert values(choose([evidence("n", (5, 1.0, 4)), evidence("t", ("Route 5", 1.0, 3))])) == {"n": 5, "t": "Route 5"}


def test_one_call_when_its_values_are_taken() -> None:
    one, other = evidence("a", (36, 1.0, 0), (48, 0.6, 9)), evidence("b", (48, 1.0, 9), (36, 0.6, 0))
    assert n_calls([one, other]) == 1
    assert n_calls([]) == 1


def test_calls_take_turns_and_share_what_is_said_once() -> None:
    field = evidence("field", (5, 1.0, 0), (4, 0.01, 20))
    times = evidence("time", (10, 0.7, 40), (4, 1.0, 20))
    assert n_calls([field, times]) == 2
    assert [values(call) for call in choose_each([field, times], 2)] == [
        {"field": 5, "time": 4},
        {"field": 5, "time": 10},
    ]


def test_each_with_each() -> None:
    what = evidence("what", ("water", 1.0, 0), ("iron", 0.9, 10))
    where = evidence("where", (0, 1.0, 20), (500, 0.9, 30), (900, 0.9, 40))
    assert n_calls([what, where]) == 6
    calls = [values(call) for call in choose_each([what, where], 6)]
    assert len({tuple(call.items()) for call in calls}) == 6


def test_a_value_goes_on_until_the_next() -> None:
    who = evidence("who", ("Anna", 1.0, 0), ("Ben", 0.9, 50))
    what = evidence("what", ("a", 1.0, 10), ("b", 0.9, 20), ("c", 0.9, 60), required=False)
    calls = [values(call) for call in choose_each([who, what], 3)]
    assert [call["what"] for call in calls] == ["a", "b", "c"]
    assert [call["who"] for call in calls] == ["Anna", "Anna", "Ben"]


def test_more_calls_than_values_repeat_the_last() -> None:
    assert [values(call) for call in choose_each([evidence("a", (1, 1.0, 0))], 3)] == [{"a": 1}] * 3
