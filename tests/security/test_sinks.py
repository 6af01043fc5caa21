"""With every tool allowed by the owner's rules, a value a stranger wrote still decides nothing without a question."""

from __future__ import annotations

import pytest

from hearth.formats.plans import check_plan
from hearth.guard.policy.rules import Policy, Rule
from hearth.registry import load_tools
from hearth.types import Plan, Ref, Step

SPECS = load_tools(None).specs
ALL_ALLOWED = Policy({name: Rule("allow") for name in SPECS})
FIND = Step("find_mail", {"query": "invoice"})
ANSWER = Step("find_answer", {"question": "what is the address on the invoice"})


@pytest.mark.parametrize(
    ("steps", "verdict"),
    [
        ([FIND, Step("draft_mail", {"to": [Ref(0, ("sender",))], "text": "x"})], "judged on the address"),
        (
            [FIND, Step("draft_forward", {"mail": Ref(0, ("id",)), "to": [Ref(0, ("sender",))]})],
            "judged on the address",
        ),
        ([FIND, Step("draft_mail", {"to": [Ref(0, ("subject",))], "text": "x"})], "ask"),
        # who gets a reply is what the mail says under Reply-To
        (
            [
                FIND,
                Step("draft_reply", {"mail": Ref(0, ("id",)), "text": "x"}),
                Step("send_mail", {"draft": Ref(1, ("id",))}),
            ],
            "judged on the address",
        ),
        (
            [
                Step("draft_mail", {"to": ["a@example.org"], "text": "x"}),
                Step("send_mail", {"draft": Ref(0, ("id",))}),
            ],
            "allow",
        ),
        (
            [
                Step("find_contact", {"name": "Anna"}),
                Step("draft_mail", {"to": [Ref(0, ("email",))], "text": "x"}),
                Step("send_mail", {"draft": Ref(1, ("id",))}),
            ],
            "judged on the address",
        ),
        # what a mail says may be passed on to whom the owner named
        (
            [
                FIND,
                Step("draft_mail", {"to": ["a@example.org"], "text": Ref(0, ("text",))}),
                Step("send_mail", {"draft": Ref(1, ("id",))}),
            ],
            "allow",
        ),
        ([FIND, Step("draft_reply", {"mail": Ref(0, ("id",)), "text": "x"})], "allow"),
        # what any of the owner's things says may be passed on; as a recipient only a card's own address would do
        ([ANSWER, Step("draft_mail", {"to": ["a@example.org"], "text": Ref(0, ("value",))})], "allow"),
        ([ANSWER, Step("draft_mail", {"to": [Ref(0, ("value",))], "text": "x"})], "judged on the address"),
    ],
)
def test_where_mail_goes(steps: list[Step], verdict: str) -> None:
    plan = Plan(tuple(steps))
    untyped = {Ref(0, ("subject",)), Ref(0, ("value",))}  # the plan check refuses these by their type already
    if verdict == "allow" or not untyped & {ref for step in steps for ref in step.refs()}:
        check_plan(plan, SPECS)
    judgement = ALL_ALLOWED.judge(plan, SPECS)
    ruling = judgement.ruling
    # What may turn out to be a contact's address is allowed until it is known: test_field_labels.py runs these plans.
    is_open = any(decision.is_open for decision in judgement.decisions)
    assert ("judged on the address" if is_open else ruling.verdict) == verdict
    assert ruling.verdict == ("allow" if is_open else verdict)
    if verdict == "ask":
        assert "a stranger may have written" in ruling.reason
