"""One demonstration for another request: its own values, never where something went on another day."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.language.reading import Utterance
from hearth.planning.adaptation import Adapted, Misfit, adapt, is_turned, moved
from hearth.planning.owner_macros import filled, template_of
from hearth.types import Argument, Context, Demonstration, Parameter, Plan, Ref, Request, Step, ToolSpec

ZONE = ZoneInfo("Europe/Berlin")
MONDAY = dt.datetime(2026, 9, 7, 10, tzinfo=ZONE)


def tool(name: str, *parameters: Parameter, effect: str = "change") -> ToolSpec:
    return ToolSpec(name, f"To {name}.", parameters, "Thing", {"email": "EmailAddress"}, effect)  # type: ignore[arg-type]


SINKS = ("EmailAddress", "PhoneNumber", "Url", "number", "FilePath", "DraftId")
TOOLS = {
    spec.name: spec
    for spec in (
        tool("turn_on", Parameter("device", "text")),
        tool("set_brightness", Parameter("device", "text"), Parameter("percent", "integer")),
        tool("add_reminder", Parameter("text", "text"), Parameter("at", "datetime")),
        tool("find_contact", Parameter("name", "PersonName"), effect="none"),
        tool("draft_mail", Parameter("to", "list[EmailAddress]", is_sink=True), Parameter("text", "text")),
        tool("pay", Parameter("amount", "number"), effect="send"),
        *(tool(f"put_{kind}", Parameter("to", kind, is_sink=kind in SINKS[:5])) for kind in SINKS),
    )
}
THINGS = st.sampled_from(["desk lamp", "hall lamp", "kitchen radio", "fan"])
TEXTS = st.sampled_from(["water the ferns", "ring the plumber", "fetch the parcel", "feed the cat"])
NAMES = st.sampled_from(["Ruth", "Daniel", "Priya", "Tom"])


def taught(request: str, *steps: Step, now: dt.datetime = MONDAY) -> Demonstration:
    return Demonstration("d", request, Plan(steps), source="owner", now=now)


def fitted(demonstration: Demonstration, text: str, now: dt.datetime = MONDAY) -> Adapted | Misfit:
    return adapt(demonstration, Utterance.of(Request(text, now), Context()), TOOLS)


@st.composite
def shown(draw: st.DrawFn) -> Demonstration:
    """A demonstration of one of five kinds, with values drawn for it."""
    thing, text, name, n = draw(THINGS), draw(TEXTS), draw(NAMES), draw(st.integers(11, 99))
    hour = draw(st.integers(12, 22))
    lookup = Step("find_contact", {"name": name})
    return draw(
        st.sampled_from(
            [
                taught(f"turn on the {thing}", Step("turn_on", {"device": thing})),
                taught(f"set the {thing} to {n} percent", Step("set_brightness", {"device": thing, "percent": n})),
                taught(f'tell {name} "{text}"', lookup, Step("draft_mail", {"to": [Ref(0, ("email",))], "text": text})),
                taught(
                    f"remind me tomorrow at {hour}:00 to {text}",
                    Step("add_reminder", {"text": text, "at": f"2026-09-08T{hour}:00:00+02:00"}),
                ),
                taught("goodnight house", Step("turn_on", {"device": thing})),
            ]
        )
    )


@given(shown())
def test_its_own_request_gives_its_own_plan(demonstration: Demonstration) -> None:
    adapted = fitted(demonstration, demonstration.request)
    assert isinstance(adapted, Adapted), adapted
    assert [(s.tool, s.arguments) for s in adapted.plan.steps] == [
        (s.tool, s.arguments) for s in demonstration.plan.steps
    ]
    assert not adapted.taken
    assert not adapted.left


def arguments_of(adapted: Adapted | Misfit) -> dict[str, Argument]:
    assert isinstance(adapted, Adapted), adapted
    return {name: value for step in adapted.plan.steps for name, value in step.arguments.items()}


@given(THINGS, THINGS, st.integers(11, 99), st.integers(11, 99))
def test_another_thing_and_number_are_taken_from_the_request(then: str, now: str, before: int, after: int) -> None:
    step = Step("set_brightness", {"device": then, "percent": before})
    adapted = fitted(taught(f"set the {then} to {before} percent", step), f"set the {now} to {after} percent")
    assert arguments_of(adapted) == {"device": now, "percent": after}
    assert isinstance(adapted, Adapted)
    assert adapted.is_exchanged == ((then, before) != (now, after))


@given(NAMES, NAMES, TEXTS, TEXTS)
def test_another_name_and_quotation_are_taken_from_the_request(then: str, now: str, before: str, after: str) -> None:
    steps = (Step("find_contact", {"name": then}), Step("draft_mail", {"to": [Ref(0, ("email",))], "text": before}))
    adapted = fitted(taught(f'tell {then} "{before}"', *steps), f'please tell {now} "{after}"')
    assert arguments_of(adapted) == {"name": now, "to": [Ref(0, ("email",))], "text": after}


@given(st.integers(12, 22), st.integers(12, 22), st.integers(0, 300))
def test_another_time_is_read_on_the_day_of_asking(then: int, now: int, days: int) -> None:
    step = Step("add_reminder", {"text": "feed the cat", "at": f"2026-09-08T{then}:00:00+02:00"})
    demonstration = taught(f"remind me tomorrow at {then}:00 to feed the cat", step)
    later = dt.datetime.combine(MONDAY.date() + dt.timedelta(days=days), MONDAY.time(), ZONE)
    adapted = fitted(demonstration, f"remind me tomorrow at {now}:00 to feed the cat", later)
    at = dt.datetime.combine(later.date() + dt.timedelta(days=1), dt.time(now), ZONE)
    assert arguments_of(adapted) == {"text": "feed the cat", "at": at.isoformat()}


@pytest.mark.parametrize(
    ("kind", "value"),
    list(
        zip(
            SINKS,
            ("ben@post.example", "+4930555012", "https://a.example/up", 40, "minutes.pdf", "draft-7"),
            strict=True,
        )
    ),
)
@pytest.mark.parametrize("text", ["send it off", "send it off to {}"])
def test_what_decides_where_something_goes_is_never_carried_over(kind: str, value: Argument, text: str) -> None:
    said = text.format(value)
    demonstration = taught(said.replace(" it ", " the thing "), Step(f"put_{kind}", {"to": value}))
    for request in (demonstration.request, "send the thing off to eva@post.example", "send the thing off"):
        adapted = fitted(demonstration, request)
        assert isinstance(adapted, Misfit)
        if request == demonstration.request:
            assert "where something goes" in adapted.reason


@pytest.mark.parametrize("text", ["pay the gardener", "pay the gardener forty", "pay the gardener 40 then 50 euros"])
def test_an_amount_that_is_not_said_again_is_not_paid(text: str) -> None:
    demonstration = taught("pay the gardener 40 euros", Step("pay", {"amount": 40}))
    assert isinstance(fitted(demonstration, text), Misfit)
    assert arguments_of(fitted(demonstration, "pay the gardener 40 euros please")) == {"amount": 40}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("don't turn on the fan", "the contrary"),
        ("turn on the fan at nine", "would be missing"),
    ],
)
def test_what_does_not_fit_says_why(text: str, words: str) -> None:
    adapted = fitted(taught("turn on the fan", Step("turn_on", {"device": "fan"})), text)
    assert isinstance(adapted, Misfit)
    assert words in adapted.reason


@pytest.mark.parametrize(
    ("taught", "said", "is_other"),
    [
        ("turn the fan on", "turn the fan off", True),
        ("turn the fan off", "turn the fan on", True),
        ("turn the fan off", "turn the fan", True),
        ("open the gate", "close the gate", True),
        ("take the bins out", "take the bins in", True),
        ("hand the lease in at the office", "hand the lease on at the office", True),
        ("turn the heating up when I get up", "turn the heating down when I get up", True),
        ("book the vet", "don't book the vet", True),
        ("play the radio", "stop the radio", True),
        ("put milk on the list", "remove milk from the list", True),
        ("we're out of salt", "are we out of salt", True),
        ("move it after lunch", "move it before lunch", True),
        ("bump the vet to tuesday at 2", "bump the vet to 2 on tuesday", False),
        ("pass the lease on to Ivy", "pass the lease to Ivy", False),
        ("we're out of salt", "we are all out of salt", True),
        ("we're out of salt", "we are out of salt", False),
        ("snooze it till six", "snooze it until six", False),
        ("strike Bo from the book", "strike Bo out of the book", False),
    ],
)
def test_a_request_is_turned_by_the_contrary_and_not_by_another_preposition(
    taught: str, said: str, is_other: bool
) -> None:
    assert is_turned(taught, said) == is_other


def test_a_tool_that_is_gone_is_named() -> None:
    gone = fitted(taught("polish the brass", Step("polish", {})), "polish the brass")
    assert isinstance(gone, Misfit)
    assert "a tool that there is not" in gone.reason


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_texts_are_laid_side_by_side(lesson: str, text: str) -> None:
    adapted = fitted(taught(lesson, Step("turn_on", {"device": "fan"})), text)
    assert adapted.reason if isinstance(adapted, Misfit) else adapted.plan.steps


@given(st.integers(-400, 400), st.integers(0, 23))
def test_conventions_and_repeated_requests_move_a_moment_alike(days: int, hour: int) -> None:
    step = Step("add_reminder", {"text": "x", "at": f"2026-09-06T{hour:02}:00:00+02:00"})
    template = template_of(taught("evening look", step), {})
    assert template is not None
    later = dt.datetime.combine(MONDAY.date() + dt.timedelta(days=days), dt.time(7), ZONE)
    as_convention = filled(template, [0], later, "").steps[0].arguments["at"]
    assert as_convention == moved(Plan((step,)), MONDAY, later).steps[0].arguments["at"]
    at = dt.datetime.combine(later.date() - dt.timedelta(days=1), dt.time(hour), ZONE)
    assert as_convention == at.isoformat()


def test_the_clock_of_another_zone_stays_what_it_showed() -> None:
    step = Step("add_reminder", {"text": "x", "at": "2026-09-07T22:00:00+02:00"})
    later = dt.datetime(2026, 9, 9, 8, tzinfo=ZoneInfo("America/New_York"))
    assert moved(Plan((step,)), MONDAY, later).steps[0].arguments["at"] == "2026-09-09T22:00:00-04:00"
    utc = Step("add_reminder", {"text": "x", "at": "2026-09-07T20:00:00Z"})  # 22 o'clock, written by a program
    two_later = dt.datetime(2026, 9, 9, 8, tzinfo=ZONE)
    assert moved(Plan((utc,)), MONDAY, two_later).steps[0].arguments["at"] == "2026-09-09T22:00:00+02:00"
