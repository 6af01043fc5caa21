"""Rules by exact name over safe defaults; each with an allowed and a denied row."""

from __future__ import annotations

import pytest

from hearth.config import Rule as ConfiguredRule
from hearth.errors import ConfigError
from hearth.guard.policy.rules import Policy, Rule
from hearth.types import Parameter, Plan, Ref, Step, ToolSpec

READ = ToolSpec("find_mail", "Find mail.", source="message", returns="list[Mail]", fields={"sender": "EmailAddress"})
LOOK_UP = ToolSpec("find_contact", "Find a contact.", source="contacts", fields={"email": "EmailAddress"})
CHANGE = ToolSpec("add_note", "Add a note.", (Parameter("text", "text"),), effect="change")
SEND = ToolSpec(
    "post", "Post a text.", (Parameter("to", "EmailAddress", is_sink=True), Parameter("text", "text")), effect="send"
)
TOOLS = {spec.name: spec for spec in (READ, LOOK_UP, CHANGE, SEND)}


def step(spec: ToolSpec, **arguments: object) -> Step:
    return Step(spec.name, arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rules", "plan", "verdict", "rule"),
    [
        ({}, [step(READ)], "allow", "default"),
        ({}, [step(CHANGE, text="x")], "ask", "default"),
        ({}, [step(SEND, to="a@example.org", text="x")], "ask", "default"),
        ({"find_mail": Rule("deny", "mail is private")}, [step(READ)], "deny", "policy.find_mail"),
        ({"find_mail": Rule("ask")}, [step(READ)], "ask", "policy.find_mail"),
        ({"add_note": Rule("allow")}, [step(CHANGE, text="x")], "allow", "policy.add_note"),
        ({"add_note": Rule("deny")}, [step(CHANGE, text="x")], "deny", "policy.add_note"),
        ({"post": Rule("allow")}, [step(SEND, to="a@example.org", text="x")], "allow", "policy.post"),
        # a rule for one name is no rule for a longer one
        ({"add": Rule("allow")}, [step(CHANGE, text="x")], "ask", "default"),
        # the strictest word on any step decides
        (
            {"add_note": Rule("allow"), "post": Rule("deny")},
            [step(CHANGE, text="x"), step(SEND)],
            "deny",
            "policy.post",
        ),
        ({"add_note": Rule("allow")}, [step(CHANGE, text="x"), step(SEND)], "ask", "default"),
    ],
)
def test_ruling(rules: dict[str, Rule], plan: list[Step], verdict: str, rule: str) -> None:
    ruling = Policy(rules).judge(Plan(tuple(plan)), TOOLS).ruling
    assert (ruling.verdict, ruling.rule) == (verdict, rule)
    assert ruling.reason


@pytest.mark.parametrize(
    ("to", "verdict"),
    [
        ("a@example.org", "allow"),
        (Ref(0, ("email",)), "allow"),
        (Ref(1, ("text",)), "ask"),
        ([Ref(0, ("email",)), Ref(1, ("text",))], "ask"),
        # an address may turn out to be a contact's: judged when it is known, see test_monitor.py
        (Ref(1, ("sender",)), "allow"),
    ],
)
def test_a_sink_value_a_stranger_may_have_written_turns_allow_into_ask(to: object, verdict: str) -> None:
    plan = Plan((step(LOOK_UP), step(READ), step(SEND, to=to, text="x")))
    judgement = Policy({"post": Rule("allow")}).judge(plan, TOOLS)
    assert judgement.ruling.verdict == verdict
    if verdict == "ask":
        assert judgement.ruling.rule == "label"
        assert judgement.ruling.reason == (
            "'to' of post decides where data goes and comes from find_mail (message), which a stranger may have written"
        )
    assert judgement.decisions[2].is_open == (to == Ref(1, ("sender",)))


def test_a_repair_that_acts_asks_although_the_tool_is_allowed() -> None:
    rules = {"add_note": Rule("allow")}
    reading = Plan((step(CHANGE, text="x"), Step("find_mail", {}, replaces=0)))
    assert Policy(rules).judge(reading, TOOLS).ruling.verdict == "allow"
    acting = Plan((step(CHANGE, text="x"), Step("add_note", {"text": "y"}, replaces=0)))
    ruling = Policy(rules).judge(acting, TOOLS).ruling
    assert (ruling.verdict, ruling.rule) == ("ask", "repair")
    assert ruling.reason == "add_note would act on something else than you first asked for"


def test_untrusted_text_in_a_parameter_that_is_no_sink_does_not_ask() -> None:
    plan = Plan((step(READ), step(SEND, to="a@example.org", text=Ref(0, ("text",)))))
    assert Policy({"post": Rule("allow")}).judge(plan, TOOLS).ruling.verdict == "allow"


def test_a_stranger_s_value_is_followed_through_other_steps() -> None:
    search = ToolSpec("find_person", "Find.", (Parameter("name", "text"),), source="contacts")
    plan = Plan((step(READ), Step("find_person", {"name": Ref(0)}), step(SEND, to=Ref(1, ("email",)), text="x")))
    ruling = Policy({"post": Rule("allow")}).judge(plan, TOOLS | {"find_person": search}).ruling
    assert ruling.verdict == "ask"
    assert "find_mail (message)" in ruling.reason


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (Plan(()), "the plan has no steps"),
        (Plan((Step("no_such_tool"),)), "step 0 calls 'no_such_tool', which is no tool"),
        (Plan((step(CHANGE, text=Ref(4)),)), "step 0 needs step 4, which is not in the plan"),
        (Plan((step(CHANGE, text=Ref(1)), step(CHANGE, text=Ref(0)))), "steps 0 (add_note), 1 (add_note) wait for"),
    ],
)
def test_a_plan_that_cannot_be_read_is_denied(plan: Plan, said: str) -> None:
    ruling = Policy({"add_note": Rule("allow")}).judge(plan, TOOLS).ruling
    assert ruling.verdict == "deny"
    assert said in ruling.reason


def test_an_unknown_effect_is_denied() -> None:
    odd = ToolSpec("odd", "Odd.", effect="explode")  # type: ignore[arg-type]
    ruling = Policy().judge(Plan((Step("odd"),)), {"odd": odd}).ruling
    assert (ruling.verdict, ruling.reason) == ("deny", "odd declares the effect 'explode', which no rule knows")


def test_settings_as_configured_are_taken() -> None:
    rules = {"add_note": ConfiguredRule(ruling="allow", reason="only I see it")}
    ruling = Policy.from_settings(rules, TOOLS).rule_tool(CHANGE)
    assert (ruling.verdict, ruling.reason) == ("allow", "only I see it")


def test_a_rule_for_no_tool_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError) as raised:
        Policy.from_settings({"find_mial": Rule("deny"), "zzz": Rule("allow"), "post": Rule("ask")}, TOOLS)
    assert str(raised.value).splitlines() == [
        "hearth.toml: [policy.find_mial] names no registered tool 'find_mial'; did you mean 'find_mail'?",
        "hearth.toml: [policy.zzz] names no registered tool 'zzz'; see `hearth tools`",
    ]
