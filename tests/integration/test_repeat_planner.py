"""What was asked for before is done again: read for today, and only where nothing else is said."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from hearth.agent import shipped_demonstrations
from hearth.language.reading import Utterance
from hearth.learning.demonstration_store import Entry, keep
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.repeat_planner import said_again
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.registry import load_tools
from hearth.storage.database import Store
from hearth.types import (
    OWNERS_WORD,
    Argument,
    Context,
    Demonstration,
    Plan,
    Record,
    Ref,
    Refusal,
    Request,
    Step,
    ToolSpec,
)

ZONE = dt.timezone(dt.timedelta(hours=1))
MONDAY = dt.datetime(2026, 11, 16, 9, 30, tzinfo=ZONE)


@pytest.fixture(scope="module")
def tools() -> Mapping[str, ToolSpec]:
    return load_tools(None).specs


@pytest.fixture(scope="module")
def encoder() -> MiniLMEncoder:
    return MiniLMEncoder.open()


def planned(*steps: tuple[str, dict[str, Argument]]) -> Plan:
    return Plan(tuple(Step(tool, arguments) for tool, arguments in steps))


MAIL = planned(
    ("find_contact", {"name": "Hugh"}),
    ("find_files", {"query": "storyboard"}),
    ("find_files", {"query": "outline"}),
    (
        "draft_mail",
        {
            "to": [Ref(0, ("email",))],
            "text": "need new batteries",
            "attachments": [Ref(1, ("path",)), Ref(2, ("path",))],
        },
    ),
    ("send_mail", {"draft": Ref(3, ("id",))}),
)
MAIL_SAID = 'hugh was promised the storyboard & the outline. one mail, both atatched: "need new batteries". go'
BINS = planned(("add_reminder", {"text": "take the bins out", "at": "2026-11-20T09:00:00+01:00"}))
BINS_SAID = "remind me on friday to take the bins out"
LIGHT = planned(("turn_on", {"device": "kitchen light"}))
LIGHT_SAID = "the kitchen light on and then we cook, it is dark here"


@pytest.fixture(scope="module")
def shipped(encoder: MiniLMEncoder) -> RecallPlanner:
    planner = RecallPlanner(encoder)
    planner.add(shipped_demonstrations())
    return planner


Taught = Callable[..., RecallPlanner]


@pytest.fixture
def taught(shipped: RecallPlanner) -> Iterator[Taught]:
    """Teaches what is given to the planner that knows what is shipped; forgotten when the test ends."""

    def teach(*demonstrations: tuple[str, Plan], source: str = "owner") -> RecallPlanner:
        for k, (text, plan) in enumerate(demonstrations):
            shipped.add([Demonstration(f"own {k}", text, plan, source=source, now=MONDAY + dt.timedelta(minutes=k))])
        return shipped

    yield teach
    shipped.remove(*(f"own {k}" for k in range(5)))


def asked(
    planner: RecallPlanner, text: str, tools: Mapping[str, ToolSpec], days: int = 1, record: Record | None = None
) -> Plan | Refusal:
    return planner.plan(
        Request(text, MONDAY + dt.timedelta(days=days), "r", records=() if record is None else (record,)),
        Context(country="DE"),
        tools,
    )


def called(answer: Plan | Refusal) -> list[tuple[str, dict[str, Argument]]]:
    return [(step.tool, dict(step.arguments)) for step in answer.steps] if isinstance(answer, Plan) else []


@pytest.mark.parametrize(
    "said",
    [
        MAIL_SAID,
        MAIL_SAID.replace("&", "and"),
        f"please {MAIL_SAID}",
        MAIL_SAID.replace("promised", "promisd"),
        MAIL_SAID.upper(),
    ],
)
def test_a_long_request_in_the_same_words_gets_the_same_plan(
    taught: Taught, tools: Mapping[str, ToolSpec], said: str
) -> None:
    assert called(asked(taught((MAIL_SAID, MAIL)), said, tools)) == called(MAIL)


def test_another_quotation_stands_in_the_place_of_the_taught_one(taught: Taught, tools: Mapping[str, ToolSpec]) -> None:
    answer = asked(taught((MAIL_SAID, MAIL)), MAIL_SAID.replace("need new batteries", "a warm coat"), tools)
    assert called(answer)[3][1]["text"] == "a warm coat"
    assert [tool for tool, _ in called(answer)] == [step.tool for step in MAIL.steps]
    assert isinstance(answer, Plan)
    assert all("new batteries" not in step.text for step in answer.steps)


@pytest.mark.parametrize(
    ("said", "days", "at"),
    [
        (BINS_SAID, 1, "2026-11-20"),  # friday is the same one
        (BINS_SAID, 8, "2026-11-27"),
        ("remind me on thursday to take the bins out", 8, "2026-11-26"),
        ("please remind me tomorrow to take the bins out", 8, "2026-11-25"),
    ],
)
def test_a_day_that_is_said_is_read_anew(
    taught: Taught, tools: Mapping[str, ToolSpec], said: str, days: int, at: str
) -> None:
    ((tool, arguments),) = called(asked(taught((BINS_SAID, BINS)), said, tools, days))
    assert (tool, arguments["text"], str(arguments["at"])[:10]) == ("add_reminder", "take the bins out", at)


def test_a_moment_that_was_not_said_moves_with_the_day(taught: Taught, tools: Mapping[str, ToolSpec]) -> None:
    pills = planned(("add_reminder", {"text": "pills", "at": "2026-11-16T20:00:00+01:00"}))
    answer = asked(taught(("the evening pills, as we said on the phone", pills)), "The evening pills, as we said on the phone!", tools, 3)  # fmt: skip
    assert called(answer) == [("add_reminder", {"text": "pills", "at": "2026-11-19T20:00:00+01:00"})]


@pytest.mark.parametrize(
    "said",
    [
        LIGHT_SAID.replace(" on ", " off ", 1),
        f"don't put {LIGHT_SAID}",
        f"why is {LIGHT_SAID}",
        f"{LIGHT_SAID}, at six",
        LIGHT_SAID.replace("kitchen", "hall").replace("light", "heater"),
        f"is {LIGHT_SAID}",
    ],
)
@pytest.mark.companions
def test_what_turns_a_request_round_is_thought_about(taught: Taught, tools: Mapping[str, ToolSpec], said: str) -> None:
    planner = taught((LIGHT_SAID, LIGHT))
    assert called(asked(planner, LIGHT_SAID, tools)) == called(LIGHT)  # else the denied rows say nothing
    assert called(asked(planner, said, tools)) != called(LIGHT)


def test_a_length_that_is_said_must_be_the_taught_one(taught: Taught, tools: Mapping[str, ToolSpec]) -> None:
    said = "the tea clock please, five minutes exactly, as grandmother had it"
    planner = taught((said, planned(("set_timer", {"length": "PT5M", "text": "tea"}))))
    assert called(asked(planner, said, tools)) == [("set_timer", {"length": "PT5M", "text": "tea"})]
    other = called(asked(planner, said.replace("five", "seven"), tools))
    assert all(arguments.get("length") != "PT5M" for _, arguments in other)


@pytest.mark.companions
def test_the_newest_of_the_same_words_stands(taught: Taught, tools: Mapping[str, ToolSpec]) -> None:
    other = planned(("turn_on", {"device": "hall light"}))
    planner = taught((LIGHT_SAID, LIGHT), (f"please {LIGHT_SAID}", LIGHT), (LIGHT_SAID, other))
    assert called(asked(planner, LIGHT_SAID, tools)) == called(other)


@pytest.mark.companions
def test_a_correction_stands_in_spite_of_other_politeness(taught: Taught, tools: Mapping[str, ToolSpec]) -> None:
    other = planned(("turn_on", {"device": "hall light"}))
    planner = taught((f"please {LIGHT_SAID}", LIGHT), (LIGHT_SAID, other))
    for said in (LIGHT_SAID, f"please {LIGHT_SAID}", f"{LIGHT_SAID}, thanks"):
        assert called(asked(planner, said, tools)) == called(other)


@pytest.mark.parametrize(("first", "second", "is_first"), [("owner", "success", True), ("success", "owner", False)])
@pytest.mark.companions
def test_what_was_merely_done_does_not_stand_against_the_owners_word(
    encoder: MiniLMEncoder, tools: Mapping[str, ToolSpec], first: str, second: str, is_first: bool
) -> None:
    form = np.asarray(encoder.encode([LIGHT_SAID])[0])
    other = planned(("turn_on", {"device": "hall light"}))
    known = [
        (Demonstration(source, LIGHT_SAID, plan, source=source, now=MONDAY), form)
        for source, plan in ((first, LIGHT), (second, other))
    ]
    again = said_again(Utterance.of(Request(LIGHT_SAID, MONDAY, "r"), Context()), form, known, {}, tools)
    assert again is not None
    assert called(again.plan) == called(LIGHT if is_first else other)


def mail_of(name: str, file: str, at: int) -> list[tuple[str, dict[str, Argument]]]:
    return [
        ("find_contact", {"name": name}),
        ("find_files", {"query": file}),
        ("draft_mail", {"to": [Ref(at, ("email",))], "text": "look", "attachments": [Ref(at + 1, ("path",))]}),
        ("send_mail", {"draft": Ref(at + 2, ("id",))}),
    ]


TWO_SAID = 'tom gets the report and anna gets the invoice, two mails, each says "look"'
TWO = planned(*mail_of("tom", "report", 0), *mail_of("anna", "invoice", 4))
BOTH_SAID = "kettle on and the kitchen light off, we leave for the long walk"
BOTH = planned(("turn_on", {"device": "kettle"}), ("turn_off", {"device": "kitchen light"}))
HUGH_SAID = "marta was promised the storyboard, one mail with it, marta waits"
HUGH = planned(*mail_of("marta", "storyboard", 0))
KELLER_SAID = "marta was promised the storyboard, one mail with it"
KELLER = planned(*mail_of("Marta Keller", "storyboard", 0))


@pytest.mark.parametrize(
    ("said", "plan", "other"),
    [
        (TWO_SAID, TWO, TWO_SAID.replace("tom", "x").replace("anna", "tom").replace("x", "anna")),
        (TWO_SAID, TWO, TWO_SAID.replace("report", "x").replace("invoice", "report").replace("x", "invoice")),
        (BOTH_SAID, BOTH, BOTH_SAID.replace("on ", "x ", 1).replace("off", "on").replace("x ", "off ", 1)),
        (BOTH_SAID, BOTH, BOTH_SAID.replace("kettle", "x").replace("kitchen light", "kettle").replace("x", "kitchen light")),
        (BOTH_SAID, BOTH, f"it isn't {BOTH_SAID}"),
        (BOTH_SAID, BOTH, f"{BOTH_SAID}, should we"),
        (HUGH_SAID, HUGH, HUGH_SAID.replace("marta", "lena")),
        (KELLER_SAID, KELLER, KELLER_SAID.replace("marta", "maria")),
    ],
)  # fmt: skip
@pytest.mark.companions
def test_what_changes_places_or_names_is_thought_about(
    taught: Taught, tools: Mapping[str, ToolSpec], said: str, plan: Plan, other: str
) -> None:
    planner = taught((said, plan))
    assert called(asked(planner, said, tools)) == called(plan)  # else the denied rows say nothing
    assert other != said
    assert called(asked(planner, other, tools)) != called(plan)


DAY_BEFORE = ("remind me the day before the friday dentist to floss", "floss", "2026-11-19T09:00:00+01:00")
IN_A_BIT = ("nudge me in a bit about the oven, the big one in the cellar", "the oven", "2026-11-16T09:45:00+01:00")
PILLS = ("the evening pills, as we said on the phone", "pills", "2026-11-16T20:00:00+01:00")
LAST = ("rent reminder for the 31st, the landlord is strict this year", "rent", "2026-11-30T09:00:00+01:00")


@pytest.mark.parametrize(
    ("taught_as", "asked_at", "at"),
    [
        (DAY_BEFORE, MONDAY + dt.timedelta(days=1), "2026-11-19T09:00:00+01:00"),
        (DAY_BEFORE, MONDAY + dt.timedelta(days=8), "2026-11-26T09:00:00+01:00"),
        (IN_A_BIT, MONDAY + dt.timedelta(days=1), None),
        (IN_A_BIT, MONDAY + dt.timedelta(hours=2), None),
        (PILLS, MONDAY + dt.timedelta(days=1), "2026-11-17T20:00:00+01:00"),
        (PILLS, MONDAY + dt.timedelta(days=1, hours=12), None),  # eight o'clock is over
        (LAST, MONDAY + dt.timedelta(days=15), "2026-12-31T09:00:00+01:00"),  # December has one: what is said counts
    ],
)
def test_a_moment_that_was_not_said_goes_with_what_was_or_is_not_guessed(
    taught: Taught,
    tools: Mapping[str, ToolSpec],
    taught_as: tuple[str, str, str],
    asked_at: dt.datetime,
    at: str | None,
) -> None:
    said, text, then = taught_as
    planner = taught((said, planned(("add_reminder", {"text": text, "at": then}))))
    answer = planner.plan(Request(said, asked_at, "r"), Context(country="DE"), tools)
    assert [arguments["at"] for _, arguments in called(answer)] == ([at] if at else [])


@pytest.mark.parametrize(("days", "is_repeated"), [(0, True), (2, False)])
def test_two_things_at_one_moment_are_not_taken_for_one(
    encoder: MiniLMEncoder, tools: Mapping[str, ToolSpec], days: int, is_repeated: bool
) -> None:
    at = "2026-11-17T17:00:00+01:00"
    plan = planned(("add_reminder", {"text": "mom", "at": at}), ("add_reminder", {"text": "dad", "at": at}))
    said = "tomorrow at 5 pm nudge me about mom and on tuesday at 5 pm about dad"
    form = np.asarray(encoder.encode([said])[0])
    known = [(Demonstration("own", said, plan, source="owner", now=MONDAY), form)]
    request = Request(said, MONDAY + dt.timedelta(days=days), "r")
    assert (said_again(Utterance.of(request, Context()), form, known, {}, tools) is not None) == is_repeated


@pytest.mark.parametrize(
    ("said", "is_repeated"),
    [
        ("ok and send that", False),
        ("the same words to hugh, politely", False),
        ("hugh gets the line we both know by heart", True),
        ("write hugh that we need new batteries", True),
    ],
)
def test_what_was_said_before_a_request_is_not_of_today(
    encoder: MiniLMEncoder, tools: Mapping[str, ToolSpec], said: str, is_repeated: bool
) -> None:
    plan = planned(
        ("find_contact", {"name": "hugh"}),
        ("draft_mail", {"to": [Ref(0, ("email",))], "text": "need new batteries"}),
        ("send_mail", {"draft": Ref(1, ("id",))}),
    )
    form = np.asarray(encoder.encode([said])[0])
    known = [(Demonstration("own", said, plan, source="owner", now=MONDAY), form)]
    again = said_again(Utterance.of(Request(said, MONDAY, "r"), Context()), form, known, {}, tools)
    assert (again is not None) == is_repeated


@pytest.mark.parametrize("text", ["2026-13-45", "9999-12-31", "2026-11-20 is the day"])
def test_a_text_that_looks_like_a_moment_is_no_reason_to_stumble(
    taught: Taught, tools: Mapping[str, ToolSpec], text: str
) -> None:
    said = f"the cellar note says {text} and the mice know it"
    planner = taught((said, planned(("add_note", {"text": text}))))
    assert all(arguments == {"text": text} for _, arguments in called(asked(planner, said, tools, days=9)))


@pytest.mark.parametrize("said", ["", "🙂", "…", '"', f'{LIGHT_SAID} "', "свет на кухне", "厨房的灯", "light " * 9000])
def test_odd_requests_are_answered(taught: Taught, tools: Mapping[str, ToolSpec], said: str) -> None:
    planner = taught((LIGHT_SAID, LIGHT), ("🙂 🙂", LIGHT), ("please", LIGHT))
    assert isinstance(asked(planner, said, tools), Plan | Refusal)


def test_that_nothing_is_to_be_done_is_the_owners_word(taught: Taught, tools: Mapping[str, ToolSpec]) -> None:
    planner = taught(("sing me the long song of the seven cats", Plan(())))
    answer = asked(planner, "Sing me the long song of the seven cats, please", tools)
    assert isinstance(answer, Refusal)
    assert answer.planner == OWNERS_WORD


def test_what_others_taught_is_not_repeated_blindly(taught: Taught, tools: Mapping[str, ToolSpec]) -> None:
    mine = asked(taught((MAIL_SAID, MAIL)), MAIL_SAID, tools)
    theirs = asked(taught((MAIL_SAID, MAIL), source="shipped"), MAIL_SAID, tools)  # the same id: it takes its place
    assert isinstance(mine, Plan)
    assert mine.rests_on == ("own 0",)
    assert not isinstance(theirs, Plan) or theirs.confidence != mine.confidence


@pytest.mark.parametrize(
    ("plan", "is_repeated"),
    [
        (planned(("find_events", {"query": "dentist"}), ("cancel_event", {"event": Ref(0, ("id",))})), True),
        (planned(("cancel_event", {"event": "event-17"})), False),
        (planned(("find_contact", {"name": "Hugh"}), ("draft_mail", {"to": [Ref(0, ("email",))], "text": "a"})), True),
        (planned(("draft_mail", {"to": ["someone@else.example"], "text": "hello"})), False),
        (planned(("no_such_tool", {})), False),
        (planned(("set_brightness", {"device": "lamp", "percent": "a lot"})), False),
    ],
)
def test_records_and_addresses_written_out_and_unknown_tools_are_not_repeated(
    encoder: MiniLMEncoder, tools: Mapping[str, ToolSpec], plan: Plan, is_repeated: bool
) -> None:
    said = "do the long thing of last week that we both remember so well"
    form = np.asarray(encoder.encode([said])[0])
    known = [(Demonstration("own", said, plan, source="owner", now=MONDAY), form)]
    again = said_again(Utterance.of(Request(said, MONDAY, "r"), Context()), form, known, {}, tools)
    assert (again is not None) == is_repeated


def test_a_request_about_a_record_shown_is_not_an_old_one(taught: Taught, tools: Mapping[str, ToolSpec]) -> None:
    planner = taught((MAIL_SAID, MAIL))
    again = asked(planner, MAIL_SAID, tools)
    answer = asked(planner, MAIL_SAID, tools, record=Record("file", "7"))
    assert isinstance(again, Plan)
    assert not isinstance(answer, Plan) or answer.confidence != again.confidence


@pytest.mark.companions
def test_what_another_process_teaches_anew_under_the_same_id_counts(
    encoder: MiniLMEncoder, tools: Mapping[str, ToolSpec], tmp_path: Path
) -> None:
    other = planned(("turn_on", {"device": "hall light"}))
    with Store.open(tmp_path / "hearth.db") as mine, Store.open(tmp_path / "hearth.db") as theirs:
        here = RecallPlanner(encoder, mine)
        for plan in (LIGHT, other, LIGHT):
            one = Demonstration("own", LIGHT_SAID, plan, source="owner", now=MONDAY)
            with theirs.transaction() as cursor:
                keep(cursor, [Entry(one, teacher="owner")], None)
            assert called(asked(here, LIGHT_SAID, tools)) == called(plan)
            assert here.ids() == ("own",)


def test_what_another_process_forgets_or_teaches_counts_at_once(
    encoder: MiniLMEncoder, tools: Mapping[str, ToolSpec], tmp_path: Path
) -> None:
    untaught = called(asked(RecallPlanner(encoder), MAIL_SAID, tools))
    assert untaught != called(MAIL)
    with Store.open(tmp_path / "hearth.db") as mine, Store.open(tmp_path / "hearth.db") as theirs:
        here, there = RecallPlanner(encoder, mine), RecallPlanner(encoder, theirs)
        for k in range(2):
            here.add([Demonstration(f"own {k}", MAIL_SAID, MAIL, source="owner", now=MONDAY)])
            for one in (here, there):
                assert called(asked(one, MAIL_SAID, tools)) == called(MAIL)
                assert one.ids() == (f"own {k}",)
            there.remove(f"own {k}")
            for one in (here, there):
                assert called(asked(one, MAIL_SAID, tools)) == untaught
                assert one.ids() == ()


def test_what_a_language_model_is_told_that_the_home_guesses(
    shipped: RecallPlanner, tools: Mapping[str, ToolSpec]
) -> None:
    def guessed(text: str) -> dict[tuple[str, ...], float]:
        return shipped.guesses(Utterance.of(Request(text, MONDAY), Context()), tools)

    reminder = guessed("remind me tomorrow at nine that we meet")
    assert next(iter(reminder)) == ("add_reminder",)
    assert list(reminder.values()) == sorted(reminder.values(), reverse=True)
    assert sum(reminder.values()) == pytest.approx(1.0)
    assert next(iter(guessed("what is the capital of France"))) == ()
    both = guessed("turn the heating to 19 degrees and mail Mia the minutes")
    assert both
    assert () not in both
    assert guessed("und was ist los") == {}
