"""The only caller of tools: what belongs to an allowed plan is called, everything else is refused."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Annotated, Literal

import pytest

from hearth.config import OrderedRule, Rate
from hearth.errors import BadResult, DeniedError, NotFound, NotInEnum, StoreFullError, ToolCrashed, WrongType
from hearth.formats.tool_signature import FunctionTool, Sink, tool
from hearth.guard.decision import Against, Agreed, Call, Judge, Occasion, Records
from hearth.guard.labels import Value
from hearth.guard.monitor import MAX_ALLOWED_PLANS, Monitor
from hearth.guard.policy.question import RefusingApprover
from hearth.guard.policy.rules import Policy, Rule
from hearth.guard.policy.warrant import KnownTools, Warrant
from hearth.protocols import CallContext, Reply
from hearth.testing import FixedApprover, make_call
from hearth.types import OWNER, Argument, Label, Plain, Plan, Ref, Request, Ruling, Step
from tests.work import calls_of

CALLS: list[tuple[str, object]] = []


@tool()
def look_up(name: str) -> str:
    """Look something up."""
    CALLS.append(("look_up", name))
    return f"{name}@example.org"


@tool(source="message")
def read_message() -> str:
    """Read a message."""
    return "stranger@example.net"


@tool(effect="change")
def keep(at: dt.datetime, how: Literal["once", "daily"] = "once") -> str:
    """Keep a moment."""
    CALLS.append(("keep", at))
    return f"{at:%H:%M} {how}"


@tool(effect="send")
def post(to: Annotated[list[str], Sink], text: str = "") -> int:
    """Post a text."""
    CALLS.append(("post", tuple(to)))
    return len(to)


@pytest.fixture(autouse=True)
def _forget_calls() -> None:
    CALLS.clear()


def monitor(answer: bool = True, rules: Mapping[str, Rule] | None = None, *more: FunctionTool) -> Monitor:
    tools = {t.spec.name: t for t in (look_up, read_message, keep, post, *more)}
    return Monitor(tools, Policy(rules), FixedApprover(answer))


def owner(data: Plain) -> Value:
    return Value(data, OWNER)


def one(tool_name: str, **arguments: Plain) -> Plan:
    return Plan((Step(tool_name, arguments),))  # type: ignore[arg-type]


class CountingJudge(Judge):
    """A judge that counts the calls it judges."""

    n_judged = 0

    def against(self, call: Call, *, agreed: Agreed | None, warrant: Warrant | None) -> Against:
        self.n_judged += 1
        return super().against(call, agreed=agreed, warrant=warrant)


# ── Ruling ────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_only_reads_is_allowed_without_asking() -> None:
    approver = FixedApprover(False)
    guard = Monitor({"look_up": look_up}, Policy(), approver)
    assert guard.rule(one("look_up", name="Anna")) == Ruling("allow", "look_up only reads", "default")
    assert approver.questions == []


def test_the_owner_is_asked_once_for_the_whole_plan() -> None:
    approver = FixedApprover(True)
    guard = Monitor({"keep": keep, "post": post}, Policy(), approver)
    plan = Plan((Step("keep", {"at": "2026-11-20T10:00:00"}), Step("post", {"to": ["a"]}), Step("post", {"to": ["b"]})))
    ruling = guard.rule(plan)
    assert ruling.verdict == "allow"
    assert ruling.reason == (
        "you agreed (keep would change your data; post would send something that cannot be taken back)"
    )
    assert len(approver.questions) == 1
    assert "3. post" in approver.questions[0][0]


def test_a_no_is_taken_as_said() -> None:
    ruling = monitor(answer=False).rule(one("post", to=["a"]))
    assert (ruling.verdict, ruling.reason) == ("deny", "you said no")


def test_without_anyone_to_ask_a_denial_says_what_to_do() -> None:
    ruling = Monitor({"post": post}, Policy({}), RefusingApprover()).rule(one("post", to=["a"]))
    assert ruling.verdict == "deny"
    assert ruling.reason == (
        "post would send something that cannot be taken back and needs your yes; ask at a terminal, pass --yes, or "
        'write ruling = "allow" under [policy.post] in hearth.toml'
    )


def test_without_anyone_to_ask_a_rule_of_the_owner_is_named() -> None:
    ruling = Monitor({"post": post}, Policy({"post": Rule("ask", "it costs")}), RefusingApprover()).rule(
        one("post", to=["a"])
    )
    assert ruling.reason.startswith("it costs, so it needs your yes; ask at a terminal")


def test_a_rule_that_denies_is_not_asked() -> None:
    approver = FixedApprover(True)
    guard = Monitor({"post": post}, Policy({"post": Rule("deny", "never")}), approver)
    assert guard.rule(one("post", to=["a"])) == Ruling("deny", "never", "policy.post")
    assert approver.questions == []


def test_a_repaired_plan_asks_for_its_new_steps_only() -> None:
    approver = FixedApprover(True)
    guard = Monitor({"keep": keep, "look_up": look_up, "post": post}, Policy(), approver)
    first = one("keep", at="2026-11-20T10:00:00")
    guard.rule(first)
    reading = Plan((*first.steps, Step("look_up", {"name": "Anna"}, replaces=0)))
    assert guard.rule(reading, extends=first).verdict == "allow"
    assert len(approver.questions) == 1
    posting = Plan((*reading.steps, Step("post", {"to": ["a"]}, replaces=1)))
    assert guard.rule(posting, extends=reading).verdict == "allow"
    assert len(approver.questions) == 2
    assert "keep" not in approver.questions[1][0]


def test_a_plan_that_changes_what_was_agreed_to_asks_for_all_of_it() -> None:
    approver = FixedApprover(True)
    guard = Monitor({"keep": keep}, Policy(), approver)
    first = one("keep", at="2026-11-20T10:00:00")
    guard.rule(first)
    other = Plan((*one("keep", at="2026-11-21T10:00:00").steps, *first.steps))
    guard.rule(other, extends=first)
    assert len(approver.questions) == 2
    assert "2. keep" in approver.questions[1][0]


def test_a_plan_never_allowed_counts_for_nothing_when_extended() -> None:
    approver = FixedApprover(True)
    guard = Monitor({"keep": keep}, Policy(), approver)
    never = one("keep", at="2026-11-20T10:00:00")
    guard.rule(Plan((*never.steps, Step("keep", {"at": "2026-11-21T10:00:00"}))), extends=never)
    assert "1. keep" in approver.questions[0][0]


def test_after_a_crash_a_plan_that_was_agreed_to_is_taken_up_without_asking_again() -> None:
    approver, records, call = FixedApprover(False), Records(), make_call()
    plan, occasion = one("post", to=["a"]), Occasion(call.now, call.workspace, "e1")
    ruling = Monitor({"post": post}, Policy(), FixedApprover(True), records).rule(plan, occasion=occasion)
    guard = Monitor({"post": post}, Policy(), approver, records)
    assert guard.readmit(plan, ruling, occasion).verdict == "allow"
    assert guard.call(plan, 0, {"to": owner(["a"])}, call).data == 1
    assert approver.questions == []
    assert [asked.answer for asked in guard.take_asked()] == ["once"]


def test_after_a_crash_a_plan_without_an_agreement_on_record_is_not_carried_on_unasked() -> None:
    plan = one("post", to=["a"])
    guard = Monitor({"post": post}, Policy(), FixedApprover(True))
    assert guard.readmit(plan, Ruling("allow", "you agreed", "default")).verdict == "allow"
    with pytest.raises(DeniedError, match="would send something"):
        guard.call(plan, 0, {"to": owner(["a"])}, make_call())


@pytest.mark.parametrize(
    ("rules", "recorded", "reason"),
    [
        ({"post": Rule("deny", "never")}, Ruling("allow", "you agreed"), "never"),
        ({}, Ruling("deny", "nobody agreed"), "the plan was not allowed: nobody agreed"),
        ({}, Ruling("ask", "it sends"), "the plan was not allowed: it sends"),
    ],
)
def test_after_a_crash_a_plan_now_denied_or_never_allowed_is_not_taken_up(
    rules: dict[str, Rule], recorded: Ruling, reason: str
) -> None:
    plan = one("post", to=["a"])
    guard = monitor(True, rules)
    ruling = guard.readmit(plan, recorded)
    assert (ruling.verdict, ruling.reason) == ("deny", reason)
    with pytest.raises(DeniedError):
        guard.call(plan, 0, {"to": owner(["a"])}, make_call())
    assert CALLS == []


# ── Calling ───────────────────────────────────────────────────────────────────────────────────────────────


def test_arguments_are_decoded_and_results_are_plain_with_joined_labels() -> None:
    guard = monitor()
    plan = one("keep", at="2026-11-20T10:00:00", how="daily")
    guard.rule(plan)
    result = guard.call(plan, 0, {"at": owner("2026-11-20T10:00:00"), "how": owner("daily")}, make_call())
    assert result == Value("10:00 daily", Label(frozenset({"owner", "device"}), frozenset()))
    at = CALLS[0][1]
    assert isinstance(at, dt.datetime)
    assert at.tzinfo is make_call().now.tzinfo


def deviations() -> list[tuple[str, int, dict[str, Value], str]]:
    good = owner(["a@example.org"])
    return [
        ("no such step", 1, {"to": good, "text": owner("hi")}, "step 2 belongs to no plan that was allowed"),
        ("another recipient", 0, {"to": owner(["b@example.org"]), "text": owner("hi")}, "but is called with"),
        ("a further recipient", 0, {"to": owner(["a@example.org", "b"]), "text": owner("hi")}, "but is called with"),
        (
            "another text",
            0,
            {"to": good, "text": owner("HI")},
            "was allowed with 'text' = 'hi', but is called with 'HI'",
        ),
        (
            "argument left out",
            0,
            {"to": good},
            "was allowed with the arguments ['text', 'to'], but is called with ['to']",
        ),
        ("argument added", 0, {"to": good, "text": owner("hi"), "cc": good}, "but is called with ['cc', 'text', 'to']"),
        ("equal but of another type", 0, {"to": good, "text": owner(1)}, "but is called with 1"),
    ]


@pytest.mark.parametrize(("name", "index", "arguments", "said"), deviations(), ids=[d[0] for d in deviations()])
def test_a_call_that_differs_from_the_allowed_plan_is_refused(
    name: str, index: int, arguments: dict[str, Value], said: str
) -> None:
    guard = monitor()
    plan = one("post", to=["a@example.org"], text="hi")
    guard.rule(plan)
    with pytest.raises(DeniedError) as raised:
        guard.call(plan, index, arguments, make_call())
    assert said in str(raised.value)
    assert CALLS == []
    assert guard.call(plan, 0, {"to": owner(["a@example.org"]), "text": owner("hi")}, make_call()).data == 1


@pytest.mark.parametrize(
    ("texts", "called", "is_allowed"),
    [
        ([Ref(0), "hi"], "7741\n\nhi", True),
        ([Ref(0), "hi"], "7741\nor\n\n8852\n\nhi", True),
        ([Ref(0), "hi"], "7741\n\nho", False),
        ([Ref(0), "hi"], "7741\n\nhi there", False),
        ([Ref(0), "h."], "7741\n\nhi", False),
        ([Ref(0), "hi"], "hi", False),
        (["hi", "ho"], "hi\n\nho", False),
    ],
)
def test_one_text_of_several_keeps_the_words_of_the_plan(
    texts: list[Argument], called: str, *, is_allowed: bool
) -> None:
    guard = monitor()
    plan = Plan((Step("keep", {"at": "2026-11-20T10:00:00"}), Step("post", {"to": ["a@example.org"], "text": texts})))
    guard.rule(plan)
    guard.call(plan, 0, {"at": owner("2026-11-20T10:00:00")}, make_call())
    arguments = {"to": owner(["a@example.org"]), "text": owner(called)}
    if is_allowed:
        assert guard.call(plan, 1, arguments, make_call()).data is not None
    else:
        with pytest.raises(DeniedError, match="but is called with"):
            guard.call(plan, 1, arguments, make_call())


def test_a_plan_not_allowed_or_an_equal_copy_of_an_allowed_one_is_refused() -> None:
    guard = monitor(answer=False)
    plan = one("post", to=["a"])
    guard.rule(plan)
    with pytest.raises(DeniedError, match="belongs to no plan that was allowed"):
        guard.call(plan, 0, {"to": owner(["a"])}, make_call())
    guard = monitor()
    guard.rule(plan)
    with pytest.raises(DeniedError):
        guard.call(one("post", to=["a"]), 0, {"to": owner(["a"])}, make_call())


def test_changing_the_plan_after_it_was_allowed_changes_nothing() -> None:
    guard = monitor()
    recipients = ["a"]
    plan = one("post", to=recipients)  # type: ignore[arg-type]
    guard.rule(plan)
    recipients.append("stranger")
    with pytest.raises(DeniedError):
        guard.call(plan, 0, {"to": owner(["a", "stranger"])}, make_call())
    assert guard.call(plan, 0, {"to": owner(["a"])}, make_call()).data == 1


def test_a_sink_value_from_a_source_that_was_not_foreseen_is_refused() -> None:
    guard = monitor()
    plan = Plan((Step("look_up", {"name": "Anna"}), Step("post", {"to": Ref(0), "text": "hi"})))
    guard.rule(plan)
    foreseen = Label(frozenset({"owner", "device"}), frozenset())
    assert guard.call(plan, 1, {"to": Value(["x"], foreseen), "text": owner("hi")}, make_call()).data == 1
    worse = foreseen.join(Label(frozenset({"message"})))
    with pytest.raises(DeniedError) as raised:
        guard.call(plan, 1, {"to": Value(["x"], worse), "text": owner("hi")}, make_call())
    assert str(raised.value) == (
        "'to' of post decides where data goes; its value comes from message, "
        "which was not foreseen when the plan was allowed"
    )
    assert len(CALLS) == 1


def test_a_stranger_s_value_that_was_agreed_to_passes() -> None:
    guard = monitor()
    plan = Plan((Step("read_message"), Step("post", {"to": Ref(0), "text": "hi"})))
    guard.rule(plan)
    read = guard.call(plan, 0, {}, make_call())
    result = guard.call(plan, 1, {"to": Value([read.data], read.label), "text": owner("hi")}, make_call())
    assert result.label.sources == {"message", "owner", "device"}


def test_a_bound_value_that_does_not_fit_is_refused_before_the_call() -> None:
    guard = monitor()
    plan = Plan((Step("look_up", {"name": "x"}), Step("keep", {"at": Ref(0), "how": Ref(0)})))
    guard.rule(plan)
    when = owner("2026-11-20T10:00:00")
    with pytest.raises(WrongType, match="'soon' is not a datetime"):
        guard.call(plan, 1, {"at": owner("soon"), "how": owner("once")}, make_call())
    with pytest.raises(NotInEnum, match="'how' of keep is 'hourly'; expected one of once, daily"):
        guard.call(plan, 1, {"at": when, "how": owner("hourly")}, make_call())
    assert CALLS == []


def test_an_argument_the_tool_does_not_have_is_refused() -> None:
    guard = monitor()
    plan = one("look_up", nickname="x")
    guard.rule(plan)
    with pytest.raises(DeniedError, match="look_up has no parameter 'nickname'; it takes name"):
        guard.call(plan, 0, {"nickname": owner("x")}, make_call())


def failing(error: BaseException) -> FunctionTool:
    @tool()
    def fail() -> str:
        """Fail."""
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            ValueError("bad\nTraceback: …"),
            "'fail' failed with ValueError: bad; this is a fault of the tool, not of yours",
        ),
        (KeyError(), "'fail' failed with KeyError; this is"),
        (RuntimeError("x" * 10_000), "'fail' failed with RuntimeError: " + "x" * 200 + ";"),
        (SystemExit(3), "'fail' failed with SystemExit: 3;"),
        (KeyboardInterrupt(), "'fail' failed with KeyboardInterrupt;"),
        (MemoryError(), "'fail' failed with MemoryError;"),
    ],
)
def test_whatever_a_tool_raises_is_one_short_sentence(error: BaseException, message: str) -> None:
    guard = monitor(True, {}, failing(error))
    plan = one("fail")
    guard.rule(plan)
    with pytest.raises(ToolCrashed) as raised:
        guard.call(plan, 0, {}, make_call())
    assert str(raised.value).startswith(message)
    assert raised.value.__cause__ is error


@pytest.mark.parametrize("error", [NotFound("nothing by that name"), StoreFullError("no space")])
def test_declared_errors_pass_as_they_are(error: Exception) -> None:
    guard = monitor(True, {}, failing(error))
    plan = one("fail")
    guard.rule(plan)
    with pytest.raises(type(error)) as raised:
        guard.call(plan, 0, {}, make_call())
    assert raised.value is error


def test_a_result_that_is_not_what_was_declared_is_a_bad_result() -> None:
    @tool()
    def lie() -> int:
        """Lie."""
        return "text"  # type: ignore[return-value]

    guard = monitor(True, {}, lie)
    plan = one("lie")
    guard.rule(plan)
    with pytest.raises(BadResult, match=r"'lie' returned 'text' \(str\); declared integer"):
        guard.call(plan, 0, {}, make_call())


def test_old_allowances_are_forgotten() -> None:
    guard = monitor()
    first = one("look_up", name="first")
    guard.rule(first)
    last = [one("look_up", name=str(n)) for n in range(MAX_ALLOWED_PLANS)]
    for plan in last:
        guard.rule(plan)
    with pytest.raises(DeniedError):
        guard.call(first, 0, {"name": owner("first")}, make_call())
    assert guard.call(last[0], 0, {"name": owner("0")}, make_call()).data == "0@example.org"


# ── Real values ───────────────────────────────────────────────────────────────────────────────────────────


def occasion(episode: str = "e1", warrant: Warrant | None = None) -> Occasion:
    return Occasion(make_call().now, make_call().workspace, episode, warrant)


def guard_of(answer: Reply, rules: Mapping[str, Rule] | None = None) -> tuple[Monitor, FixedApprover]:
    approver = FixedApprover(answer)
    tools = {t.spec.name: t for t in (look_up, read_message, keep, post)}
    return Monitor(tools, Policy(rules), approver), approver


TO_MESSAGE = Plan((Step("read_message"), Step("post", {"to": [Ref(0)], "text": "hi"})))
WORSE = Value(["stranger@example.net"], OWNER.join(Label(frozenset({"message"}))))


@pytest.mark.parametrize(
    ("answer", "said"), [("once", "allow"), ("always", "allow"), ("no", "deny"), ("never", "deny")]
)
def test_a_value_that_was_not_foreseen_is_asked_about_with_all_that_nobody_saw(answer: Reply, said: str) -> None:
    guard, approver = guard_of(answer, {"post": Rule("allow")})
    plan = Plan((Step("look_up", {"name": "Anna"}), Step("post", {"to": [Ref(0)], "text": "hi"})))
    assert guard.rule(plan, occasion=occasion()).verdict == "allow"
    arguments = {"to": WORSE, "text": owner("hi")}
    ruling = guard.admit(plan, 1, arguments, make_call())
    assert (ruling.verdict, ruling.rule) == ("ask", "label.unforeseen")
    assert guard.confirm(plan, 1, arguments, make_call(), ruling).verdict == said
    ((question, _),) = approver.questions
    assert question == (
        "Before I go on with 2. post (cannot be undone):\n"
        '       to (decides where it goes): "stranger@example.net" (not in your contacts), as the result from 1 (look_up)'
        " [from a message you received, your request]\n"
        '       text: "hi" [from your request]\n'
        "I ask because 'to' of post decides where data goes; its value comes from message, "
        "which was not foreseen when the plan was allowed."
    )
    assert [asked.answer for asked in guard.take_asked()] == [answer]
    assert guard.take_asked() == ()
    if said == "allow":
        assert guard.call(plan, 1, arguments, make_call()).data == 1
        other = {"to": Value(["other@example.net"], WORSE.label), "text": owner("hi")}
        with pytest.raises(DeniedError):
            guard.call(plan, 1, other, make_call())
    else:
        with pytest.raises(DeniedError):
            guard.call(plan, 1, arguments, make_call())
    assert len(CALLS) == (said == "allow")


def test_of_a_step_that_was_agreed_to_only_the_difference_is_shown() -> None:
    guard, approver = guard_of("once")
    plan = Plan((Step("look_up", {"name": "Anna"}), Step("post", {"to": [Ref(0)], "text": "hi"})))
    assert guard.rule(plan, occasion=occasion()).verdict == "allow"
    arguments = {"to": WORSE, "text": owner("hi")}
    assert (
        guard.confirm(plan, 1, arguments, make_call(), guard.admit(plan, 1, arguments, make_call())).verdict == "allow"
    )
    first, second = (question for question, _ in approver.questions)
    assert 'text: "hi"' in first
    assert "text" not in second
    assert '"stranger@example.net"' in second


def test_an_answer_for_good_holds_for_the_same_values_and_is_taken_back() -> None:
    guard, approver = guard_of("always")
    first = one("post", to=["anna@example.org"], text="hi")
    guard.rule(first, occasion=occasion())
    guard.call(first, 0, {"to": owner(["anna@example.org"]), "text": owner("hi")}, make_call())
    again = one("post", to=["Anna@example.org"], text="other words")
    ruling = guard.rule(again, occasion=occasion("e2"))
    assert ruling == Ruling(
        "allow", "you agreed to this for good (consent 1; `hearth policy consents` lists and revokes)", "consent.1"
    )
    assert (
        guard.call(again, 0, {"to": owner(["Anna@example.org"]), "text": owner("other words")}, make_call()).data == 1
    )
    assert len(approver.questions) == 1
    guard.rule(one("post", to=["ben@example.org"], text="hi"), occasion=occasion("e3"))
    assert len(approver.questions) == 2


def test_nothing_is_kept_for_good_before_the_call_is_made() -> None:
    guard, approver = guard_of("always")
    plan = one("post", to=["anna@example.org"], text="hi")
    guard.rule(plan, occasion=occasion())
    guard.rule(one("post", to=["anna@example.org"], text="hi"), occasion=occasion("e2"))
    assert len(approver.questions) == 2


def test_an_answer_for_good_is_tried_on_real_values_where_a_reference_brings_them() -> None:
    guard, approver = guard_of("always")
    plan = Plan((Step("look_up", {"name": "Anna"}), Step("post", {"to": [Ref(0)], "text": "hi"})))
    known = {"to": Value(["Anna@example.org"], OWNER.join(Label(frozenset({"device"})))), "text": owner("hi")}
    guard.rule(plan, occasion=occasion())
    guard.call(plan, 1, known, make_call())
    again = Plan(plan.steps)
    assert guard.rule(again, occasion=occasion("e2")).verdict == "allow"
    assert guard.admit(again, 1, known, make_call()).verdict == "allow"
    other = {**known, "to": Value(["Ben@example.org"], known["to"].label)}
    assert guard.admit(again, 1, other, make_call()).verdict == "ask"
    assert len(approver.questions) == 1


def test_a_never_denies_the_same_call_from_then_on_without_asking() -> None:
    guard, approver = guard_of("never")
    assert guard.rule(one("post", to=["m@example.net"]), occasion=occasion()).reason == "you said no"
    again = guard.rule(one("post", to=["M@example.net"]), occasion=occasion("e2"))
    assert (again.verdict, again.rule) == ("deny", "consent.1")
    assert len(approver.questions) == 1
    guard.rule(one("post", to=["anna@example.org"]), occasion=occasion("e3"))
    assert len(approver.questions) == 2


def test_no_answer_for_good_lifts_a_rule_that_denies() -> None:
    guard, _ = guard_of("always")
    plan = one("post", to=["anna@example.org"])
    guard.rule(plan, occasion=occasion())
    guard.call(plan, 0, {"to": owner(["anna@example.org"])}, make_call())
    strict = Monitor({"post": post}, Policy({"post": Rule("deny", "never")}), FixedApprover(True), guard._records)
    assert strict.rule(one("post", to=["anna@example.org"]), occasion=occasion()).reason == "never"


def test_a_rule_on_rates_counts_calls_and_asks_when_they_are_used_up() -> None:
    rule = OrderedRule(tools=("post",), ruling="allow", at_most=Rate(calls=2, per="hour"))
    approver = FixedApprover(False)
    guard = Monitor({"post": post}, Policy.from_settings({}, {"post": post.spec}, [rule]), approver)
    for n in range(2):
        plan = one("post", to=[f"p{n}@example.org"])
        assert guard.rule(plan, occasion=occasion()).verdict == "allow"
        guard.call(plan, 0, {"to": owner([f"p{n}@example.org"])}, make_call())
    assert guard.rule(one("post", to=["c"]), occasion=occasion()).verdict == "deny"
    later = Occasion(make_call().now + dt.timedelta(hours=2), make_call().workspace)
    assert guard.rule(one("post", to=["c"]), occasion=later).verdict == "allow"


def test_a_warrant_is_asked_about_values_that_only_the_run_brings() -> None:
    request = Request("post hi to Anna", make_call().now)
    tools = KnownTools({t.spec.name: t.spec for t in (look_up, read_message, post)})
    guard, approver = guard_of("no", {"post": Rule("allow")})
    plan = Plan((Step("look_up", {"name": "Anna"}), Step("post", {"to": [Ref(0)], "text": "hi"})))
    guard.rule(plan, occasion=occasion("e1", Warrant.of(request, tools, None, plan)))
    foreign = {"to": Value(["x@evil.example"], OWNER), "text": owner("hi")}
    ruling = guard.admit(plan, 1, foreign, make_call())
    assert ruling.verdict == "ask"
    assert ruling.rule.startswith("warrant.")
    assert approver.questions == []


# ── Undo ──────────────────────────────────────────────────────────────────────────────────────────────────


def undoable(undo: Callable[[Mapping[str, object], Plain, CallContext], None]) -> FunctionTool:
    @tool(effect="change", undo=undo)
    def book(at: dt.datetime) -> str:
        """Book."""
        return "b1"

    return book


def test_undo_hands_decoded_arguments_and_the_result() -> None:
    seen: list[object] = []
    book = undoable(lambda arguments, result, context: seen.extend((arguments["at"], result)))
    monitor(True, {}, book).undo("book", {"at": "2026-11-20T10:00:00+01:00"}, "b1", make_call())
    assert seen == [dt.datetime.fromisoformat("2026-11-20T10:00:00+01:00"), "b1"]


def test_undo_of_a_tool_that_is_gone_or_fails() -> None:
    def broken(arguments: Mapping[str, object], result: Plain, context: CallContext) -> None:
        raise OSError("server away")

    with pytest.raises(NotFound, match="cannot undo 'gone': it is not registered any more; install its plug-in"):
        monitor().undo("gone", {}, None, make_call())
    with pytest.raises(ToolCrashed, match="'book' failed with OSError: server away"):
        monitor(True, {}, undoable(broken)).undo("book", {"at": "2026-11-20T10:00:00"}, "b1", make_call())


def test_a_call_takes_few_function_calls() -> None:
    """The microseconds are measured by `hearth_bench.measure.guard.guard_calls`."""
    guard = monitor()
    plan = one("look_up", name="Anna")
    guard.rule(plan)
    arguments, context = {"name": owner("Anna")}, make_call()
    guard.call(plan, 0, arguments, context)
    assert calls_of(lambda: guard.call(plan, 0, arguments, context)) <= 150


# ── What was just admitted ────────────────────────────────────────────────────────────────────────────────


def judged(monkeypatch: pytest.MonkeyPatch, plan: Plan) -> Monitor:
    monkeypatch.setattr("hearth.guard.monitor.Judge", CountingJudge)
    guard = monitor()
    assert guard.rule(plan).verdict == "allow"
    return guard


def n_judged(guard: Monitor) -> int:
    judge = guard._judge
    assert isinstance(judge, CountingJudge)
    return judge.n_judged


def test_a_read_is_judged_once_and_its_admission_is_for_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, given, call = one("look_up", name="Anna"), {"name": owner("Anna")}, make_call()
    guard = judged(monkeypatch, plan)
    guard.admit(plan, 0, given, call)
    guard.call(plan, 0, given, call)
    assert n_judged(guard) == 1
    guard.call(plan, 0, given, call)
    assert n_judged(guard) == 2


def test_what_changes_or_sends_is_judged_again_when_it_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    for plan, given in (
        (one("keep", at="2026-11-20T10:00:00"), {"at": owner("2026-11-20T10:00:00")}),
        (one("post", to=["a"]), {"to": owner(["a"])}),
    ):
        guard = judged(monkeypatch, plan)
        guard.admit(plan, 0, given, make_call())
        guard.call(plan, 0, given, make_call())
        assert n_judged(guard) == 2


def test_a_read_is_judged_again_with_other_values_and_after_another_result(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan((Step("look_up", {"name": "Anna"}), Step("look_up", {"name": Ref(0)})))
    guard = judged(monkeypatch, plan)
    call, first, second = make_call(), {"name": owner("Anna")}, {"name": owner("x")}
    guard.admit(plan, 1, second, call)
    guard.call(plan, 1, {"name": Value("y", Label(frozenset({"web"})))}, call)
    assert n_judged(guard) == 2
    guard.admit(plan, 1, second, call)
    guard.admit(plan, 0, first, call)
    guard.call(plan, 0, first, call)
    assert n_judged(guard) == 4
    guard.call(plan, 1, second, call)  # the result of the first may say something about it
    assert n_judged(guard) == 5


def test_a_read_with_a_rule_of_its_own_is_judged_again_when_it_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hearth.guard.monitor.Judge", CountingJudge)
    rule = OrderedRule(tools=("look_up",), ruling="allow", at_most=Rate(calls=2, per="hour"))
    policy = Policy.from_settings({}, {"look_up": look_up.spec}, (rule,))
    guard = Monitor({"look_up": look_up}, policy, FixedApprover(True))
    plan, given, call = one("look_up", name="Anna"), {"name": owner("Anna")}, make_call()
    assert guard.rule(plan).verdict == "allow"
    guard.admit(plan, 0, given, call)
    guard.call(plan, 0, given, call)
    assert n_judged(guard) == 2
