"""Argument scores against values worked out by hand."""

from __future__ import annotations

import pytest

from hearth.types import Argument, Parameter, Ref, Step, ToolSpec
from hearth_bench.metrics.argument_f1 import GoldCall, argument_scores, is_value_right, taskbench_argument_f1

TOOLS = {
    "book": ToolSpec(
        "book",
        "Book a table.",
        (
            Parameter("place", "text"),
            Parameter("people", "integer", is_required=False),
            Parameter("terrace", "enum", is_required=False, enum=("True", "False")),
        ),
    ),
    "pay": ToolSpec("pay", "Pay.", (Parameter("bill", "text"), Parameter("tip", "boolean", is_required=False))),
}


def call(tool: str, **arguments: Argument) -> GoldCall:
    return GoldCall(tool, {name: (value,) for name, value in arguments.items()})


@pytest.mark.parametrize(
    ("value", "accepted", "wanted"),
    [
        ("Rome ", ["rome"], True),
        ("Rome", ["Milan", "ROME."], True),
        ("Rome", ["Milan"], False),
        (4, ["4"], True),
        ("4.0", [4], True),
        ("1,200", [1200], True),
        ("3,4", [34], False),
        (True, ["True"], True),
        (False, ["True"], False),
        (1, [True], False),
        ("nan", ["nan"], True),
        (["a", "B"], [["A", "b"]], True),
        (["a", "b"], [["b", "a"]], False),
        (["a"], ["a"], False),
        ({"x": 1, "y": "Z"}, [{"y": "z", "x": "1"}], True),
        (None, [None], True),
        (None, ["none"], False),
        (Ref(0, ("id",)), [Ref(0, ("id",))], True),
        (Ref(0), [Ref(0, ("id",))], False),
        ("e4", ["E4"], True),
        ("e4", [4], False),
    ],
)
def test_values(value: Argument, accepted: list[Argument], wanted: bool) -> None:
    assert is_value_right(value, accepted) == wanted


def test_scores_worked_out_by_hand() -> None:
    gold = [[call("book", place="Rome", people=4, terrace="False"), call("pay", bill=Ref(0), tip=True)]]
    predicted = [[Step("book", {"place": "rome", "people": 5, "terrace": "True"}), Step("pay", {"bill": Ref(0)})]]
    scores = argument_scores(predicted, gold, TOOLS)
    assert scores["arg_name_f1"] == pytest.approx(2 * 4 / (4 + 5))
    assert scores["arg_value_f1"] == pytest.approx(2 * 2 / (4 + 5))  # place and bill
    assert scores["arg_name_f1_optional"] == pytest.approx(2 * 2 / (2 + 3))
    assert scores["arg_value_f1_optional"] == 0.0
    assert scores["arg_name_f1_boolean"] == pytest.approx(2 * 1 / (1 + 2))
    assert scores["arg_value_f1_boolean"] == 0.0
    assert scores["arg_value_f1_reference"] == 1.0
    assert scores["arg_value_f1_plain"] == pytest.approx(2 * 1 / (2 + 2))
    assert scores["boolean_false_accuracy"] == 0.0
    assert scores["call_exact"] == 0.0
    assert (scores["n_arguments"], scores["n_calls"]) == (5, 2)


def test_the_gold_plan_scores_one() -> None:
    gold = [[call("book", place="Rome", terrace="False"), call("pay", bill=Ref(0))], [call("pay", bill="x")]]
    predicted = [[Step(c.tool, {n: v[0] for n, v in c.right.items()}) for c in calls] for calls in gold]
    scores = argument_scores(predicted, gold, TOOLS)
    wanted = "arg_name_f1 arg_value_f1 arg_value_f1_boolean arg_value_f1_reference boolean_false_accuracy call_exact "
    assert {scores[key] for key in [*wanted.split(), "taskbench_arg_name_f1", "taskbench_arg_value_f1"]} == {1.0}


def test_calls_are_compared_with_calls_of_the_same_tool() -> None:
    """One missing, one too many, two of a kind: names count by call."""
    gold = [[call("book", place="Rome"), call("book", place="Milan")]]
    predicted = [[Step("pay", {"bill": "x"}), Step("book", {"place": "Rome"})]]
    scores = argument_scores(predicted, gold, TOOLS)
    assert scores["arg_value_f1"] == pytest.approx(2 * 1 / (2 + 2))
    assert scores["call_exact"] == 0.5


def test_a_reference_is_right_when_it_leads_to_the_same_call() -> None:
    gold = [[call("book", place="Rome"), call("pay", bill=Ref(0))]]
    moved = [[Step("pay", {"bill": Ref(1)}), Step("book", {"place": "Rome"})]]
    assert argument_scores(moved, gold, TOOLS)["arg_value_f1"] == 1.0
    astray = [[Step("pay", {"bill": Ref(0)}), Step("book", {"place": "Rome"})]]
    assert argument_scores(astray, gold, TOOLS)["arg_value_f1"] == 0.5


def test_accepted_values_count() -> None:
    gold = [[GoldCall("book", {"place": ("New York", "NYC")})]]
    assert argument_scores([[Step("book", {"place": "nyc"})]], gold, TOOLS)["arg_value_f1"] == 1.0


def test_what_may_be_left_out_is_right_without_and_wrong_when_wrong() -> None:
    gold = [[GoldCall("book", {"place": ("Rome",), "people": (2, "")})]]

    def exact(**given: Argument) -> float | None:
        return argument_scores([[Step("book", given)]], gold, TOOLS)["call_exact"]

    assert (exact(place="Rome"), exact(place="Rome", people=2), exact(place="Rome", people=3)) == (1.0, 1.0, 0.0)
    assert exact(people=2) == 0.0
    assert argument_scores([[Step("book", {"place": "Rome"})]], gold, TOOLS)["arg_name_f1"] == 1.0


def test_several_calls_of_a_tool_may_come_in_any_order() -> None:
    gold = [[call("book", place="Rome"), call("book", place="Milan")]]
    scores = argument_scores([[Step("book", {"place": "Milan"}), Step("book", {"place": "Rome"})]], gold, TOOLS)
    assert (scores["call_exact"], scores["calls_exact"]) == (1.0, 1.0)


def test_all_calls_of_a_sample_must_be_right_and_none_more() -> None:
    gold = [[call("pay", bill="x"), call("pay", bill="y")], [call("pay", bill="z")], []]
    made = [[Step("pay", {"bill": "x"})], [Step("pay", {"bill": "z"}), Step("pay", {"bill": "w"})], []]
    scores = argument_scores(made, gold, TOOLS)
    assert scores["call_exact"] == pytest.approx(2 / 3)
    assert scores["calls_exact"] == pytest.approx(1 / 3)


def test_nothing_to_score_is_none() -> None:
    scores = argument_scores([[Step("pay")]], [[call("pay")]], TOOLS)
    assert scores["arg_name_f1"] is None
    assert scores["boolean_false_accuracy"] is None
    assert scores["call_exact"] == 1.0
    with pytest.raises(ValueError, match="1 plans for 0 samples; expected as many"):
        argument_scores([[]], [], TOOLS)


def test_taskbench_compares_texts_once_a_sample() -> None:
    """Two calls with the same argument count once; `4` and `4.0` differ; a reference is its tool's name."""
    gold = [[call("book", people=4), call("book", people=4), call("pay", bill=Ref(0))]]
    predicted = [[Step("book", {"people": 4.0}), Step("pay", {"bill": Ref(0)})]]
    assert taskbench_argument_f1(predicted, gold, with_values=False) == 1.0
    assert taskbench_argument_f1(predicted, gold, with_values=True) == pytest.approx(2 * 1 / (2 + 2))
