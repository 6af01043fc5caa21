"""A plan is the same after it went through its form; a form is reshaped without losing what was written."""

from __future__ import annotations

import pytest

from hearth.errors import PlanError
from hearth.formats.plans import check_plan
from hearth.serve.pages.page import Field, parts_of, plan_in, shaped
from hearth.types import Argument, Parameter, Plan, Ref, Step, ToolSpec

FIND = ToolSpec(
    "find_contacts", "Find people.", (Parameter("query", "text"),), "list[Contact]", {"email": "EmailAddress"}
)
SEND = ToolSpec(
    "send_mail",
    "Send a mail.",
    (
        Parameter("to", "list[EmailAddress]"),
        Parameter("body", "text"),
        Parameter("urgent", "boolean", is_required=False),
        Parameter("mood", "text", is_required=False, enum=("glad", "sad")),
        Parameter("n", "integer", is_required=False),
        Parameter("extra", "any", is_required=False),
    ),
)
TOOLS = {spec.name: spec for spec in (FIND, SEND)}


def sent(plan: Plan) -> dict[str, str]:
    """Return what a browser sends of a plan's form as it is."""
    fields: dict[str, str] = {}
    for part in parts_of(plan, TOOLS):
        fields |= {f"tool-{part.number}": part.tool, f"after-{part.number}": part.after}
        for field in (*part.fields, *part.more):
            fields[field.name] = field.value
            if field.kind == "json":
                fields[field.name.replace("arg-", "kind-", 1)] = "json"
    return fields


def mail(**arguments: Argument) -> Plan:
    return Plan((Step("find_contacts", {"query": "Ana"}), Step("send_mail", {"to": [Ref(0, ("email",))], **arguments})))


@pytest.mark.parametrize(
    "plan",
    [
        mail(body="Hello"),
        mail(body="two\nlines", urgent=False, mood="sad"),
        mail(body="<node-0>", extra={"a": [1, None, "x"]}),
        mail(body=Ref(0, ("email",)), extra=["[", 5]),
        mail(body='</textarea><script>"', mood="odd"),
        mail(body="x", extra=True, n=Ref(0)),
        Plan((Step("send_mail", {"to": ["a@x.example", "b@x.example"], "body": "\\<node-0>"}, after=(1,)), Step("find_contacts", {"query": "x"}))),
    ],
)  # fmt: skip
def test_a_plan_is_the_same_after_its_form(plan: Plan) -> None:
    assert plan_in(sent(plan), TOOLS).steps == plan.steps


def test_numbers_are_read_by_the_check() -> None:
    plan = mail(body="x", n=3)
    assert check_plan(plan_in(sent(plan), TOOLS), TOOLS).steps == plan.steps


def fields_of(plan: Plan) -> dict[str, Field]:
    return {field.name: field for part in parts_of(plan, TOOLS) for field in (*part.fields, *part.more)}


def test_fields_are_what_the_schema_says() -> None:
    fields = fields_of(mail(body="Hello"))
    kinds = {name: field.kind for name, field in fields.items()}
    assert kinds == {
        "arg-0-query": "text", "arg-1-to": "list", "arg-1-body": "text", "arg-1-urgent": "choice",
        "arg-1-mood": "choice", "arg-1-n": "line", "arg-1-extra": "text",
    }  # fmt: skip
    assert fields["arg-1-urgent"].choices == ("yes", "no")
    assert ("<node-0.email>", "email of step 1") in fields["arg-1-to"].results
    assert fields["arg-0-query"].results == ()
    (first,) = parts_of(Plan(()), TOOLS)
    assert (first.tool, first.fields) == ("", ())


def test_a_step_more_or_less_keeps_the_rest() -> None:
    plan = mail(body="Hello")
    assert shaped(plan, "add").steps == (*plan.steps, Step(""))
    (left,) = shaped(plan, "remove-0").steps
    assert left == Step("send_mail", {"body": "Hello"})  # whom it went to was a result of the step
    third = Plan((Step("find_contacts", {"query": "x"}), *mail(body="Hello", n=Ref(9)).steps))
    moved = Plan((third.steps[0], third.steps[1], Step("send_mail", {"to": [Ref(1)], "n": Ref(9)}, after=(0,))))
    assert shaped(moved, "remove-0").steps[1] == Step("send_mail", {"to": [Ref(0)], "n": Ref(9)})
    for nonsense in ("", "remove-7", "remove-", "remove-x", "remove-" + "9" * 5000, "drop-0"):
        assert shaped(plan, nonsense) == plan


def test_what_no_plan_can_be_made_of_is_said() -> None:
    with pytest.raises(PlanError, match="more than 64 steps"):
        plan_in({f"tool-{k}": "find_contacts" for k in range(65)}, TOOLS)
    with pytest.raises(PlanError, match="'extra' is no JSON"):
        plan_in({"tool-0": "send_mail", "arg-0-extra": "{" * 100_000, "kind-0-extra": "json"}, TOOLS)
    for nested in ("[" * 900 + "]" * 900, '{"a":' * 40 + "1" + "}" * 40):
        with pytest.raises(PlanError, match="'extra' is nested deeper"):
            plan_in({"tool-0": "send_mail", "arg-0-extra": nested, "kind-0-extra": "json"}, TOOLS)
    assert plan_in({"tool-0": "format_disk", "arg-0-path": "/"}, TOOLS).steps == (Step(""),)
    assert plan_in({"tool-1": "find_contacts"}, TOOLS).steps == ()
