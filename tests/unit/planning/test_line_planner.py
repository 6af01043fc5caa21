"""Plans as lines: read back the same, refused with their place, planned with only when they check."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.errors import PlanError, PlannerError
from hearth.models.llm.scripted import ScriptedModel
from hearth.planning.llm import (
    NONE,
    CompactPlanner,
    LanguagePlanner,
    plan_grammar,
    plan_line,
    plan_messages,
    planner_of,
    read_line,
)
from hearth.protocols import Written
from hearth.testing import HashEncoder
from hearth.types import Argument, Context, Parameter, Plan, Ref, Refusal, Request, Step, ToolSpec

NOW = dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC)
TOOLS = {
    "find_contact": ToolSpec(
        "find_contact", "Look up a person.", (Parameter("name", "PersonName"),), "Contact", {"email": "EmailAddress"}
    ),
    "send_mail": ToolSpec(
        "send_mail",
        "Send a mail.",
        (Parameter("to", "EmailAddress", is_sink=True), Parameter("text", "text", is_required=False)),
    ),
    "mute": ToolSpec("mute", "Mute.", (Parameter("n", "integer", is_required=False),)),
    "read_news": ToolSpec("read_news", "News."),
}


class Lines:
    """A `GrammarModel` with prepared lines."""

    name = "lines"
    writes_plans = True
    reads_tools = False

    def __init__(self, *lines: tuple[str, float]) -> None:
        self.lines = tuple(Written(*line) for line in lines)
        self.asked: list[tuple[Sequence[Mapping[str, str]], str, int]] = []

    def complete(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, object] | None = None) -> str:
        raise AssertionError("one that writes lines is not asked for JSON")

    def write(self, messages: Sequence[Mapping[str, str]], grammar: str, n_best: int = 1) -> tuple[Written, ...]:
        self.asked.append((messages, grammar, n_best))
        return self.lines


# ── Lines ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_plan_as_a_line() -> None:
    plan = Plan(
        (
            Step("find_contact", {"name": "Ben"}),
            Step("send_mail", {"to": Ref(0, ("email",)), "text": 'a "b", c)'}),
            Step("read_news", after=(0, 1)),
        )
    )
    line = ' /find_contact(name="Ben") /send_mail(to="<node-0.email>", text="a \\"b\\", c)") /read_news@0,1'
    assert plan_line(plan) == line
    assert read_line(line) == plan
    chain = Plan((Step("mute"), Step("read_news", after=(0,)), Step("mute", {"n": 3}, after=(1,))))
    assert plan_line(chain) == "> /mute /read_news /mute(n=3)"
    assert plan_line(Plan(())) == NONE
    assert read_line(NONE) == Plan(())


values: st.SearchStrategy[Argument] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
names = st.from_regex(r"[A-Za-z][A-Za-z0-9_.-]{0,12}", fullmatch=True)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    steps: list[Step] = []
    for k in range(draw(st.integers(0, 5))):
        after = draw(st.sets(st.integers(0, k - 1), max_size=2)) if k else set()
        arguments = draw(st.dictionaries(names, values, max_size=3))
        if k and draw(st.booleans()):
            arguments["ref"] = Ref(draw(st.integers(0, k - 1)), draw(st.sampled_from([(), ("email",), ("a", "0")])))
        steps.append(Step(draw(names), arguments, tuple(sorted(after))))
    return Plan(tuple(steps))


@given(plans())
def test_what_is_written_is_read_back_the_same(plan: Plan) -> None:
    assert read_line(plan_line(plan)) == plan


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "holds no step"),
        (">", "holds no step"),
        ("I would send a mail", "malformed at 'I would send a mail'"),
        (" /mute(n=)", "value of 'n' is no JSON"),
        (" /mute(n=NaN)", "is no JSON"),
        (" /mute(n=1", r"expected ', ' or '\)'"),
        (" /mute(n=1, n=2)", "expected name=value"),
        (" /mute()", "expected name=value"),
        (" /mute@0", r"comes after \(0,\), which are not before it"),
        (" /mute /mute@7", "not before it"),
        (" /mute(n=" + "[" * 100_000, "is no JSON"),
    ],
)
def test_a_line_that_is_no_plan_is_refused_with_its_place(line: str, words: str) -> None:
    with pytest.raises(PlanError, match=words):
        read_line(line)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read_line(text)
    except PlanError:
        return
    assert read_line(plan_line(read_line(text))) == read_line(text)


def test_the_grammar_names_tools_arguments_and_types() -> None:
    grammar = plan_grammar(TOOLS)
    for words in ('"find_contact"', '"name="', '"to="', '"integer"', '"read_news"', "maxLength"):
        assert words in grammar
    assert 't3: "read_news"\n' in grammar


# ── Planning ──────────────────────────────────────────────────────────────────────────────────────────────


def planned(model: Lines, text: str = "tell ben@example.org the news") -> Plan | Refusal:
    return CompactPlanner(model).plan(Request(text, NOW), Context(), TOOLS)


def test_the_first_line_that_checks_is_taken_with_its_probability() -> None:
    model = Lines((" /send_mail(to=3)", -0.1), (' /send_mail(to="ben@example.org")', -2.0), (" /mute", -3.0))
    plan = planned(model)
    assert isinstance(plan, Plan)
    assert [step.tool for step in plan.steps] == ["send_mail"]
    assert plan.confidence == pytest.approx(0.1353, abs=1e-3)
    assert plan.planner == "compact:lines"
    assert model.asked[0][2] > 1


def test_none_is_a_refusal() -> None:
    refusal = planned(Lines((NONE, -0.2), (" /mute", -2.0)))
    assert isinstance(refusal, Refusal)
    assert refusal.kind == "out_of_scope"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Sure! I will send it.", "malformed"),
        (" /sing", "sing"),
        (' /send_mail(to="eve@example.org")', "not in the request"),
        (' /send_mail(text="hello")', "to"),
        (" /mute(n=1.5)", "n"),
        (" /mute" * 80, "80 steps"),
    ],
)
def test_lines_that_are_no_runnable_plan_are_refused_with_their_fault(line: str, words: str) -> None:
    """What a grammar cannot say (bounds, references, invented addresses) is seen afterwards."""
    with pytest.raises(PlannerError, match=f"none a runnable plan; the first fault: .*{words}"):
        planned(Lines((line, -0.5)))


@pytest.mark.parametrize("text", ["", "  \n", "a" * 20_001])
def test_an_unreadable_request_is_not_put_to_the_model(text: str) -> None:
    model = Lines()
    refusal = planned(model, text)
    assert isinstance(refusal, Refusal)
    assert refusal.kind == "unreadable"
    assert not model.asked


def test_only_near_tools_are_offered_to_a_model_that_reads_them() -> None:
    many = {f"tool_{k}": ToolSpec(f"tool_{k}", f"Does thing {k}.") for k in range(100)} | TOOLS
    model = Lines((" /read_news", -0.1))
    CompactPlanner(model, HashEncoder(), n_tools=5).plan(Request("read the news", NOW), Context(), many)
    system = model.asked[0][0][0]["content"]
    assert "read_news" in system
    assert system.count("Does thing") < 12


def test_a_model_is_asked_as_it_was_taught() -> None:
    model = Lines((" /read_news", -0.1))
    planned(model, "read the news")
    assert model.asked[0][0] == plan_messages("read the news", TOOLS)


def test_the_planner_that_suits_a_model() -> None:
    assert isinstance(planner_of(Lines(), HashEncoder()), CompactPlanner)
    assert isinstance(planner_of(ScriptedModel([]), HashEncoder()), LanguagePlanner)
