"""References of a step, labels of a plan that follow them, copies that lose nothing."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import pytest

from hearth.guard.labels import predict
from hearth.protocols import CallContext, Egress, Memory
from hearth.types import FieldOrigin, Parameter, Plan, Ref, Step, ToolSpec, Whence


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


@pytest.mark.parametrize("field", [one.name for one in dataclasses.fields(Step)])
def test_given_other_arguments_a_step_is_else_the_same(field: str) -> None:
    step = Step("t", {"a": 1}, (2,), "say it", 0, {"b": "c"}, {"b": Whence("message")})
    given = step.given({"a": 2})
    assert getattr(given, field) == ({"a": 2} if field == "arguments" else getattr(step, field))
    assert all(getattr(step, one.name) not in (one.default, {}) for one in dataclasses.fields(Step))


@pytest.mark.parametrize("field", [one.name for one in dataclasses.fields(CallContext)])
def test_a_context_as_a_tool_gets_it_is_else_the_same(field: str) -> None:
    marks = {one.name: object() for one in dataclasses.fields(CallContext)}
    context, egress, memory, ids = CallContext(**cast(Any, marks)), cast(Egress, "e"), cast(Memory, "m"), frozenset("x")
    guarded, serving = context.guarded(egress, memory, ids), context.serving("words")
    changed = {"egress": egress, "memory": memory, "unconfirmed": ids}
    assert getattr(guarded, field) == changed.get(field, marks[field])
    assert getattr(serving, field) == ("words" if field == "words" else marks[field])
