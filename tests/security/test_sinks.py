"""With every tool allowed by the owner's rules, a value a stranger wrote still decides nothing without a question."""

from __future__ import annotations

import pytest

from hearth.guard.policy import Policy, Rule
from hearth.planning.check import check_plan
from hearth.registry import load_tools
from hearth.types import Plan, Ref, Step

SPECS = load_tools(None).specs
ALL_ALLOWED = Policy({name: Rule("allow") for name in SPECS})
FIND = Step("find_mail", {"query": "invoice"})


@pytest.mark.parametrize(
    ("steps", "verdict"),
    [
        ([FIND, Step("draft_mail", {"to": [Ref(0, ("sender",))], "text": "x"})], "ask"),
        ([FIND, Step("draft_forward", {"mail": Ref(0, ("id",)), "to": [Ref(0, ("sender",))]})], "ask"),
        # who gets a reply is what the mail says under Reply-To
        (
            [
                FIND,
                Step("draft_reply", {"mail": Ref(0, ("id",)), "text": "x"}),
                Step("send_mail", {"draft": Ref(1, ("id",))}),
            ],
            "ask",
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
            "allow",
        ),
        ([FIND, Step("draft_reply", {"mail": Ref(0, ("id",)), "text": "x"})], "allow"),
    ],
)
def test_where_mail_goes(steps: list[Step], verdict: str) -> None:
    plan = Plan(tuple(steps))
    check_plan(plan, SPECS)
    ruling = ALL_ALLOWED.judge(plan, SPECS).ruling
    assert ruling.verdict == verdict
    if verdict == "ask":
        assert "a stranger may have written" in ruling.reason
