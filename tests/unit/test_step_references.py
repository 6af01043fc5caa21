"""References of a step, and labels of a plan that follow them."""

from __future__ import annotations

from hearth.guard.flow.labels import predict
from hearth.types import FieldOrigin, Parameter, Plan, Ref, Step, ToolSpec


def test_references_are_found_in_order_however_deep() -> None:
    step = Step("t", {"a": Ref(2), "b": ["x", Ref(0, ("id",)), {"c": [Ref(1)]}], "d": 5}, after=(4,))
    assert step.refs() == (Ref(2), Ref(0, ("id",)), Ref(1))
    assert step.needs() == {0, 1, 2, 4}


def test_what_no_record_can_turn_is_sure_and_what_one_can_is_not() -> None:
    plain = ToolSpec("echo", "Echo.", (Parameter("text", "text"),), "text")
    found = ToolSpec(
        "find", "Find.", (), "Mail", {"sender": "EmailAddress"}, origins={"sender": FieldOrigin("message")}
    )
    tools = {"echo": plain, "find": found}
    sure = predict(Plan((Step("echo", {"text": "x"}), Step("echo", {"text": Ref(0)}))), tools)
    assert [dict(one.best) for one in sure] == [{}, {}]
    assert sure[1].arguments["text"].is_trusted
    open_ = predict(
        Plan((Step("find"), Step("echo", {"text": Ref(0, ("sender",))}), Step("echo", {"text": Ref(1)}))), tools
    )
    assert not open_[1].arguments["text"].is_trusted
    assert not open_[2].arguments["text"].is_trusted
