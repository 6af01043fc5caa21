"""Ordered rules: each kind of condition with a row that fits and one that does not; faults found before anything runs."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from hearth.config import parse_settings
from hearth.errors import ConfigError
from hearth.guard.labels import KnownAddresses, Value, label_of
from hearth.guard.policy.rules import Circumstances, Policy
from hearth.types import OWNER, Label, Parameter, Plain, Plan, Ref, Step, ToolSpec
from tests.work import grows_in_step

PAY = ToolSpec(
    "pay",
    "Pay.",
    (
        Parameter("to", "EmailAddress", is_sink=True),
        Parameter("amount", "number"),
        Parameter("text", "text", is_required=False, default=""),
        Parameter("speed", "text", enum=("slow", "fast"), is_required=False, default="slow"),
        Parameter("on", "date", is_required=False),
        Parameter("within", "duration", is_required=False),
        Parameter("copies", "list[EmailAddress]", is_required=False),
        Parameter("urgent", "boolean", is_required=False),
    ),
    effect="send",
)
LOOK = ToolSpec("look", "Look.", (Parameter("query", "text"),), source="message", fields={"sender": "EmailAddress"})
SPECS = {spec.name: spec for spec in (PAY, LOOK)}
NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=ZoneInfo("Europe/Berlin"))
"""A Friday."""
BOOK = KnownAddresses(
    {"anna@example.org": frozenset({"family"}), "ben@example.org": frozenset()}, {"anna@example.org": "Anna"}
)
GOOD: dict[str, Any] = {"to": "anna@example.org", "amount": 10.0}


def policy(text: str) -> Policy:
    return Policy.of(parse_settings(text, Path("hearth.toml")), SPECS)


def verdict(
    rule: str, arguments: dict[str, Plain], labels: dict[str, Label] | None = None, **circumstances: Any
) -> str:
    """What `rule` says of a call of `pay` with arguments that are known."""
    rules = policy(f'[[rule]]\ntools = ["pay"]\n{rule}\n')
    values = {name: Value(data, (labels or {}).get(name, OWNER)) for name, data in {**GOOD, **arguments}.items()}
    known = Circumstances(**{"now": NOW, "book": BOOK, "n_calls": {}, **circumstances})
    return rules.judge_call(PAY, values, known).ruling.verdict


MESSAGE = {"text": label_of("message").join(OWNER)}
HOUR = dt.timedelta(hours=1)
ROWS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("when.amount = { max = 50 }", {"amount": 50}, {"amount": 50.01}),
    ("when.amount = { min = 5, max = 50 }", {"amount": 5.0}, {"amount": 4.99}),
    ("when.amount = { max = 50 }", {"amount": -3}, {"amount": "much"}),
    ("when.amount = { one_of = [5, 10] }", {"amount": 5.0}, {"amount": 7}),
    ('when.speed = { one_of = ["slow"] }', {"speed": "slow"}, {"speed": "fast"}),
    ('when.speed = { one_of = ["slow"] }', {}, {"speed": "fast"}),  # the default counts
    ('when.on = { max = "2026-12-01" }', {"on": "2026-12-01"}, {"on": "2026-12-02"}),
    ("when.on = { max = 2026-12-01 }", {"on": "2026-12-01"}, {"on": "2026-12-02"}),
    ('when.on = { max = "2026-12-01" }', {"on": "2026-11-30"}, {}),  # absent without a default
    ('when.within = { max = "PT2H" }', {"within": "PT90M"}, {"within": "P1D"}),
    ('when.text = { matches = "[a-z ]+" }', {"text": "all lower"}, {"text": "not Lower"}),
    ('when.text = { matches = "ok" }', {"text": "ok"}, {"text": "ok then"}),
    ('when.text = { matches = ".*" }', {"text": "x" * 1000}, {"text": "x" * 1001}),
    ("when.text = { max_chars = 3 }", {"text": "abc"}, {"text": "abcd"}),
    ('when.to = { one_of = ["Ben@Example.org"] }', {"to": "ben@example.org"}, {"to": "ben@example.org.evil.net"}),
    ("when.to = { contact = true }", {"to": "ANNA@example.org"}, {"to": "mallory@example.net"}),
    ("when.to = { contact = true }", {"to": "anna@example.org"}, {"to": "аnna@example.org"}),
    ("when.to = { contact = false }", {"to": "mallory@example.net"}, {"to": "anna@example.org"}),
    ('when.to = { group = "Family" }', {"to": "anna@example.org"}, {"to": "ben@example.org"}),
    ("when.copies = { contact = true }", {"copies": ["anna@example.org"]}, {"copies": ["anna@example.org", "m@x.org"]}),
    ("when.copies = { contact = true }", {"copies": ["ben@example.org"]}, {"copies": []}),
    ("when.copies = { max_items = 1 }", {"copies": ["a@x.org"]}, {"copies": ["a@x.org", "b@x.org"]}),
    ("when.copies = { given = false }", {}, {"copies": ["anna@example.org"]}),
    ("when.copies = { given = true }", {"copies": ["anna@example.org"]}, {}),
    ("when.urgent = { one_of = [true] }", {"urgent": True}, {"urgent": False}),
    ("when.urgent = { one_of = [true] }", {"urgent": True}, {"urgent": 1}),
    ('when.text = { only_from = ["owner"] }', {"text": "x"}, {"text": "x", "labels": MESSAGE}),
    ('when.text = { not_from = ["message", "web"] }', {"text": "x"}, {"text": "x", "labels": MESSAGE}),
    ('between = ["08:00", "20:00"]', {"now": NOW}, {"now": NOW.replace(hour=20, minute=0)}),
    ('between = ["22:00", "06:00"]', {"now": NOW.replace(hour=23)}, {"now": NOW}),
    ('weekdays = ["mon", "fri"]', {"now": NOW}, {"now": NOW + dt.timedelta(days=1)}),
    ('at_most = { calls = 2, per = "hour" }', {"n_calls": {HOUR: 1}}, {"n_calls": {HOUR: 2}}),
    ('at_most = { calls = 2, per = "hour" }', {"n_calls": {HOUR: 1}}, {"n_calls": {HOUR: 1}, "n_planned": 1}),
    ('more_than = { calls = 2, per = "hour" }', {"n_calls": {HOUR: 2}}, {"n_calls": {HOUR: 1}}),
    ("when.to = { contact = true }\nwhen.amount = { max = 50 }", {"amount": 1}, {"amount": 51}),
]


def split(row: dict[str, Any]) -> tuple[dict[str, Plain], dict[str, Any]]:
    names = {p.name for p in PAY.parameters}
    return {k: v for k, v in row.items() if k in names}, {k: v for k, v in row.items() if k not in names}


@pytest.mark.parametrize(("rule", "fitting", "other"), ROWS, ids=[row[0] for row in ROWS])
def test_each_condition_has_a_row_that_fits_and_one_that_does_not(
    rule: str, fitting: dict[str, Any], other: dict[str, Any]
) -> None:
    arguments, known = split(fitting)
    assert verdict(f'ruling = "allow"\n{rule}', arguments, **known) == "allow"
    arguments, known = split(other)
    assert verdict(f'ruling = "allow"\n{rule}', arguments, **known) == "ask"


@pytest.mark.parametrize(("ruling", "fits"), [("allow", "allow"), ("ask", "ask"), ("deny", "deny")])
def test_each_ruling(ruling: str, fits: str) -> None:
    rule = f'ruling = "{ruling}"\nwhen.amount = {{ max = 50 }}\n[policy.pay]\nruling = "allow"'
    assert verdict(rule, {"amount": 1}) == fits
    assert verdict(rule, {"amount": 51}) == "allow"


def test_the_first_rule_that_fits_decides_then_the_tool_s_table_then_the_default() -> None:
    rules = policy(
        '[[rule]]\nname = "small"\ntools = ["pay"]\nwhen.amount = { max = 5 }\nruling = "allow"\nreason = "coffee"\n'
        '[[rule]]\ntools = ["pay", "look"]\nwhen.to = { contact = false }\nruling = "deny"\n'.replace(
            '"pay", "look"', '"pay"'
        )
    )

    def decide(amount: float, to: str) -> tuple[str, str, str]:
        values = {"to": Value(to, OWNER), "amount": Value(amount, OWNER)}
        ruling = rules.judge_call(PAY, values, Circumstances(NOW, BOOK, {})).ruling
        return ruling.verdict, ruling.rule, ruling.reason

    assert decide(5, "x@y.org") == ("allow", "rule 'small'", "coffee")
    assert decide(6, "x@y.org") == ("deny", "rule 2", "your rule 2 says deny for pay")
    assert decide(6, "anna@example.org")[:2] == ("ask", "default")


@pytest.mark.parametrize(
    ("ruling", "copies", "said"),
    [("deny", ["anna@example.org", "m@x.org"], "deny"), ("deny", ["anna@example.org"], "ask"), ("deny", [], "ask")],
)
def test_one_bad_item_is_enough_for_a_rule_that_denies(ruling: str, copies: list[Plain], said: str) -> None:
    assert verdict(f'ruling = "{ruling}"\nwhen.copies = {{ contact = false }}', {"copies": copies}) == said


@pytest.mark.parametrize(
    ("rule", "arguments"),
    [
        ('when.text = { matches = "secret.*" }', {"text": "secret" + "x" * 2000}),
        ("when.amount = { min = 50 }", {"amount": "lots"}),
    ],
)
def test_what_cannot_be_told_counts_against_the_call(rule: str, arguments: dict[str, Plain]) -> None:
    assert verdict(f'ruling = "deny"\n{rule}', arguments) == "deny"


def test_without_contacts_at_hand_a_rule_that_allows_contacts_allows_nobody() -> None:
    assert verdict('ruling = "allow"\nwhen.to = { contact = true }', {}, book=None) == "ask"


# ── Values that a reference will bring ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("rules", "to", "said", "is_open"),
    [
        ("when.to = { contact = true }\nruling = 'allow'", Ref(0, ("sender",)), "allow", True),
        ("when.to = { contact = false }\nruling = 'deny'", Ref(0, ("sender",)), "ask", True),
        ("when.to = { contact = true }\nruling = 'allow'", "m@x.org", "ask", False),
        ("when.to = { contact = true }\nruling = 'allow'", "anna@example.org", "allow", False),
        # its sources are known even where its value is not
        ("when.to = { only_from = ['device'] }\nruling = 'allow'", Ref(0, ("query",)), "ask", False),
    ],
)
def test_a_plan_gets_the_mildest_ruling_that_is_still_possible(rules: str, to: Any, said: str, is_open: bool) -> None:
    plan = Plan((Step("look", {"query": "x"}), Step("pay", {"to": to, "amount": 1})))
    known = {"pay": Circumstances(NOW, BOOK, {})}
    judgement = policy(f'[[rule]]\ntools = ["pay"]\n{rules}').judge(plan, SPECS, circumstances=known)
    assert judgement.ruling.verdict == said
    assert judgement.decisions[1].is_open == is_open


def test_the_second_call_of_a_plan_counts_the_first() -> None:
    rules = policy('[[rule]]\ntools = ["pay"]\nat_most = { calls = 1, per = "day" }\nruling = "allow"')
    plan = Plan((Step("pay", dict(GOOD)), Step("pay", dict(GOOD))))
    known = {"pay": Circumstances(NOW, BOOK, {dt.timedelta(days=1): 0})}
    assert [r.verdict for r in rules.judge(plan, SPECS, circumstances=known).steps] == ["allow", "ask"]


# ── Faults ────────────────────────────────────────────────────────────────────────────────────────────────

FAULTS = [
    ('tools = ["pya"]', "rule 1 names no registered tool 'pya'; did you mean 'pay'?"),
    ('tools = ["pаy"]', r"rule 1 names no registered tool 'p\u0430y' (it holds CYRILLIC SMALL LETTER A); did you mean"),
    ("tools = []", 'rule 1 names no tool; write tools = ["…"]'),
    (
        'tools = ["pay"]\nwhen.ammount = { max = 1 }',
        "rule 1 names no argument of pay 'ammount'; did you mean 'amount'?",
    ),
    (
        'tools = ["pay"]\nwhen.to = { max = 1 }',
        "gives a range for 'to' of pay, which is a EmailAddress; ranges are for",
    ),
    ('tools = ["pay"]\nwhen.amount = { matches = "1+" }', "asks for a text in 'amount' of pay, which is a number"),
    ('tools = ["pay"]\nwhen.amount = { contact = true }', "looks for a contact in 'amount' of pay"),
    ('tools = ["pay"]\nwhen.text = { max_items = 1 }', "counts the items of 'text' of pay"),
    ('tools = ["pay"]\nwhen.on = { max = "soon" }', "limits 'on' of pay, which is a date: 'soon' is not a date"),
    ('tools = ["pay"]\nwhen.amount = { one_of = ["x"] }', "offers 'x' for 'amount' of pay"),
    ('tools = ["pay"]\nwhen.text = { only_from = ["mesage"] }', "names no source 'mesage'; did you mean 'message'?"),
    ('tools = ["pay"]\nwhen.text = { }', "asks nothing of 'text'"),
    ('tools = ["pay"]\nwhen.amount = { min = 9, max = 1 }', "can never count for pay: min 9.0 is more than max 1.0"),
    ('tools = ["pay"]\nwhen.speed = { one_of = ["quick"] }', "is one of slow, fast, and none of these is chosen"),
    ('tools = ["pay"]\nwhen.speed = { matches = "f.+t.+" }', "none of its possible values ('slow', 'fast') fits"),
    ('tools = ["pay"]\nwhen.amount = { one_of = [5], max = 4 }', "none of its possible values (5) fits"),
    ('tools = ["pay"]\nwhen.text = { only_from = ["web"], not_from = ["web"] }', "stands in `not_from`"),
    ('tools = ["pay"]\nwhen.to = { given = false }', "'to' is always given"),
    ('tools = ["pay"]\nweekdays = []', "has no weekday"),
    ('tools = ["pay"]\nbetween = ["08:00", "08:00"]', "which is no time"),
    (
        'tools = ["pay"]\nat_most = { calls = 2, per = "day" }\nmore_than = { calls = 3, per = "day" }',
        "counts up to 2 and beyond 3 calls per day, which is never",
    ),
    ('tools = ["pay"]\nwhen.text = { matches = "(a+)+b" }', "repeats something that itself varies"),
    ('tools = ["pay"]\nwhen.text = { matches = "[" }', "is no regular expression"),
]


@pytest.mark.parametrize(("rule", "said"), FAULTS, ids=[fault[1] for fault in FAULTS])
def test_a_rule_that_could_rule_on_nothing_is_refused_with_its_line(rule: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        policy(f'# a comment\n\n[[rule]]\nruling = "allow"\n{rule}\n')
    assert str(raised.value).startswith("hearth.toml, line 3: rule 1 ")
    assert said in str(raised.value)


HIDDEN = [
    # (first, second, what is said of the second; empty when it can count)
    ("when.amount = { max = 50 }", "when.amount = { max = 20 }", "is there before"),
    ("when.amount = { max = 20 }", "when.amount = { max = 50 }", ""),
    ("", "when.amount = { max = 50 }", "is there before"),
    ("when.amount = { max = 50 }", "", ""),
    ("when.to = { contact = true }", 'when.to = { group = "family" }', "is there before"),
    ('when.to = { group = "family" }', "when.to = { contact = true }", ""),
    ('between = ["08:00", "20:00"]', 'between = ["09:00", "10:00"]', "is there before"),
    ('between = ["09:00", "10:00"]', 'between = ["08:00", "20:00"]', ""),
    ('weekdays = ["mon"]', 'weekdays = ["mon", "tue"]', ""),
    ('when.text = { only_from = ["owner", "device"] }', 'when.text = { only_from = ["owner"] }', "is there before"),
    ('when.text = { matches = "a" }', 'when.text = { matches = "b" }', ""),
    ('at_most = { calls = 1, per = "day" }', "", ""),
    ("when.amount = { max = 5 }", "when.amount = { max = 5 }\nwhen.to = { contact = true }", "is there before"),
    ('when.speed = { one_of = ["slow"] }', 'when.speed = { one_of = ["slow", "fast"] }', ""),
]


@pytest.mark.parametrize(("first", "second", "said"), HIDDEN)
def test_a_rule_that_an_earlier_one_always_decides_before_is_refused(first: str, second: str, said: str) -> None:
    text = "".join(f'[[rule]]\ntools = ["pay"]\nruling = "allow"\n{conditions}\n' for conditions in (first, second))
    if not said:
        policy(text)
        return
    with pytest.raises(ConfigError) as raised:
        policy(text)
    assert f"rule 2 is never reached: rule 1 (line 1) {said}; take one of them out" in str(raised.value)


def test_the_same_conditions_with_another_ruling_contradict_each_other() -> None:
    text = "".join(
        f'[[rule]]\ntools = ["pay"]\nruling = "{r}"\nwhen.amount = {{ max = 5 }}\n' for r in ("allow", "deny")
    )
    with pytest.raises(
        ConfigError, match=r"line 5: rule 2 is never reached: rule 1 \(line 1\) says otherwise for the same"
    ):
        policy(text)


def test_a_line_that_is_not_known_is_left_out() -> None:
    one = '[[rule]]\nname = "one"\ntools = ["pay"]\nruling = "allow"\n'
    settings = parse_settings(f'{one}{one}[policy.pay]\nruling = "deny"\n', Path("hearth.toml"))
    with pytest.raises(ConfigError) as raised:
        Policy.from_settings(settings.policy, SPECS, settings.rule, path="hearth.toml")
    assert str(raised.value).splitlines() == [
        "hearth.toml: rule 'one' has the name of rule 1; give it another one",
        "hearth.toml: rule 'one' is never reached: rule 'one' is there before; take one of them out",
        "hearth.toml: [policy.pay] is never reached, because rule 'one' decides every call of pay before it; take one of "
        "them out",
    ]


def test_a_table_behind_a_rule_without_conditions_is_never_reached() -> None:
    with pytest.raises(
        ConfigError, match=r"line 4: \[policy.pay\] is never reached, because rule 1 decides every call"
    ):
        policy('[[rule]]\ntools = ["pay"]\nruling = "allow"\n[policy.pay]\nruling = "deny"\n')


def test_ten_thousand_rules_are_checked_and_tried() -> None:
    def text(n: int) -> str:
        rule = '[[rule]]\ntools=["pay"]\nruling="allow"\nwhen.to={{one_of=["p{}@x.org"]}}\n'
        return "".join(rule.format(k) for k in range(n))

    rules = policy(text(10_000))
    assert grows_in_step(lambda n: policy(text(n)), 250, 1_000)
    values = {"to": Value("p9999@x.org", OWNER), "amount": Value(1, OWNER)}
    assert rules.judge_call(PAY, values, Circumstances(NOW, BOOK, {})).ruling.verdict == "allow"


def test_many_faults_are_told_in_part() -> None:
    with pytest.raises(ConfigError) as raised:
        policy("".join(f'[[rule]]\ntools=["nope{k}"]\nruling="allow"\n' for k in range(50)))
    assert len(str(raised.value).splitlines()) == 21
    assert str(raised.value).endswith("… and 30 more")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[rule]\n", "line 1"),
        ("rule = 5\n", "rules are tables of their own; write [[rule]] on a line"),
        ("[rule]\ntools = []\n", "rules are tables of their own; write [[rule]] on a line"),
        ("rule = [1]\n", "rules are tables of their own; write [[rule]] on a line"),
        ('[[rule]]\ntools = ["pay"]\nruling = "perhaps"\n', "hearth.toml, line 1: rule.0.ruling = 'perhaps'"),
        (
            '\n[[rule]]\ntools = ["pay"]\nruling = "ask"\nwen.to = {}\n',
            "line 2: unknown key 'rule.0.wen'; did you mean 'when'?",
        ),
        ('[[rule]]\ntools = ["pay"]\nruling = "ask"\nwhen.to = {contakt = true}\n', "did you mean 'contact'?"),
        ('[[rule]]\ntools = ["pay"]\nruling = "ask"\nbetween = ["8", "x"]\n', "'8' is not a time of day"),
        (
            '[[rule]]\ntools = ["pay"]\nruling = "ask"\nat_most = {calls = 0, per = "day"}\n',
            "greater than or equal to 1",
        ),
        *[
            (f'\n[[rule]]\ntools = ["pay"]\nruling = "ask"\nwhen.to = {{contact = {value}}}\n', said)
            for value, said in (
                ('"yes"', "line 2: rule.0.when.to.contact = 'yes': expected true or false; write it without quotation"),
                ('"false"', "contact = 'false': expected true or false"),
                ("1", "contact = 1: expected true or false"),
            )
        ],
        (
            '[[rule]]\ntools = ["pay"]\nruling = "ask"\nwhen.text = {given = "no"}\n',
            "given = 'no': expected true or false",
        ),
        (
            '[[rule]]\nname = "a"\ntools = ["pay"]\nruling = "ask"\nwhen.amount = {max = 5}\n'
            '[[rule]]\nname = "a"\ntools = ["look"]\nruling = "deny"\n',
            "hearth.toml, line 6: rule 'a' has the name of rule 1; give it another one",
        ),
        ('[policy.pay]\nruling = "yes"\n', "hearth.toml, line 1: policy.pay.ruling = 'yes'"),
    ],
)
def test_what_is_no_rule_is_refused_with_file_line_and_fix(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        policy(text)
    assert said in str(raised.value)


def test_rules_with_names_of_their_own_and_without_any_are_fine() -> None:
    one = 'tools = ["pay"]\nruling = "ask"\nwhen.amount = {max = %d}\n'
    rules = "".join(
        f"[[rule]]\n{name}{one % k}" for k, name in enumerate(('name = "a"\n', 'name = "A"\n', "", "")[::-1])
    )
    assert len(policy(rules).ordered_rules("pay")) == 4
