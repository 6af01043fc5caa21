"""What the owner's own words stand for: when a phrase is taken for its plan, and when not."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hearth.language.reading import Utterance
from hearth.planning.owner_macros import Conventions, is_fixed, template_of
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.registry import load_tools
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW
from hearth.types import Argument, Context, Demonstration, Plan, Ref, Request, Step

LAMP, DOOR = Step("turn_off", {"device": "living room lamp"}), Step("lock_door", {"device": "front door"})
WARM = Step("set_temperature", {"temperature": 17})
SHIPPED = [
    "remind me to call",
    "remind me of the bins",
    "open the blinds",
    "turn off the hall light",
    "lock the front door",
    "what time is it",
    "good morning",
]


def taught(request: str, *steps: Step, source: str = "owner") -> Demonstration:
    return Demonstration(f"o-{request[:20]}", request, Plan(steps), source=source)


def tools_of(conventions: Conventions, text: str) -> list[str]:
    found = conventions.meant(Utterance(text, DAY))
    return [step.tool for step in found.plan.steps] if found else []


NIGHT = [taught("gn", LAMP, DOOR), taught("goodnight then", LAMP, DOOR), taught("ok goodnight, house", LAMP, DOOR)]


@pytest.mark.parametrize("text", ["goodnight", "Goodnight!", "goodnihgt", "right, goodnight everybody", "gn"])
def test_a_phrase_stands_for_its_plan(text: str) -> None:
    assert tools_of(Conventions(NIGHT, SHIPPED), text) == ["turn_off", "lock_door"]


@pytest.mark.parametrize(
    "text",
    [
        "goodnight, but leave the lamp on",
        "what does goodnight do",
        "don't do goodnight yet",
        "say goodnight to Ana and Ben by mail and remind me of the bins at nine",
        "good morning",
        "night bus to Leeds",
        "remind me to say goodnight to Lina",
        "goodnight at 9",
        "house prices",
        "",
    ],
)
def test_other_words_do_not(text: str) -> None:
    assert tools_of(Conventions(NIGHT, SHIPPED), text) == []


@pytest.mark.parametrize(
    ("lesson", "text", "is_meant"),
    [
        ("let the cat in", "let the cat in, please", True),
        ("let the cat in", "can you let the cat in now", True),
        ("let the cat in", "let the cat in, we are off out", True),
        ("let the cat in", "let the cat out", False),
        ("let the cat in", "let the cat quickly out", False),
        ("movie mode on", "ok movie mode on", True),
        ("movie mode on", "movie mode in the living room", True),
        ("movie mode on", "movie mode", True),
        ("movie mode on", "movie mode off", False),
        ("movie mode", "movie mode on please", True),
        ("bring the washing in", "could you bring the washing in", True),
        ("bring the washing in", "bring the washing out", False),
    ],
)
def test_a_phrase_is_none_with_the_contrary_of_its_particle(lesson: str, text: str, is_meant: bool) -> None:
    assert tools_of(Conventions([taught(lesson, DOOR)], SHIPPED), text) == (["lock_door"] if is_meant else [])


def test_the_newest_meaning_holds() -> None:
    later = [*NIGHT, taught("goodnight, it is cold", LAMP, DOOR, WARM)]
    assert tools_of(Conventions(later, SHIPPED), "goodnight") == ["turn_off", "lock_door", "set_temperature"]


def test_a_phrase_that_is_explained_is_known_at_once() -> None:
    explained = taught("i'm crashing, that's living room lamp off and front door locked", LAMP, DOOR)
    assert tools_of(Conventions([explained], SHIPPED), "crashing!") == ["turn_off", "lock_door"]
    assert tools_of(Conventions([taught("living room lamp off, front door locked", LAMP, DOOR)], SHIPPED), "lamp") == []


def test_a_phrase_that_ordinary_requests_use_is_none() -> None:
    opened = [taught("open", LAMP), taught("open now", LAMP)]
    assert tools_of(Conventions(opened, []), "open") == ["turn_off"]
    assert tools_of(Conventions(opened, SHIPPED), "open") == []


def test_a_phrase_said_for_two_things_is_none() -> None:
    both = [taught("house mode", LAMP), taught("house please mode", WARM)]
    assert tools_of(Conventions(both, SHIPPED), "mode") == []


@pytest.mark.parametrize(
    ("request_text", "value", "fixed"),
    [
        ("gn", "living room lamp", True),
        ("living room lamp off", "living room lamp", False),
        ("tomorrow as always", "2026-11-21T09:00:00+01:00", False),
        ("deep work", 80, True),
        ("dim to 80", 80, False),
    ],
)
def test_only_what_words_do_not_say_is_fixed(request_text: str, value: Argument, fixed: bool) -> None:
    template = template_of(taught(request_text, Step("x", {"a": value})), {})
    assert (template is not None and is_fixed(template)) is fixed


class ByWord:
    """Each word is a direction."""

    dim = 64

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[sum(word.encode()) % self.dim] += 1
            row /= np.linalg.norm(row) or 1
        return rows


@pytest.mark.companions
def test_recall_plans_a_convention_and_lets_go_of_it(tmp_path: Path) -> None:
    specs = load_tools(None).specs
    with Store.open(tmp_path / "a.db") as store:
        planner = RecallPlanner(ByWord(), store)
        shipped = [Demonstration(f"s{k}", text, Plan(()), source="shipped") for k, text in enumerate(SHIPPED)]
        planner.add(shipped)
        request = Request("goodnight", FIXED_NOW)
        before = planner.plan(request, Context(), specs)
        planner.add(NIGHT)
        plan = planner.plan(request, Context(), specs)
        assert isinstance(plan, Plan)
        assert [step.tool for step in plan.steps] == ["turn_off", "lock_door"]
        assert plan.rests_on == (NIGHT[2].id,)
        planner.remove(*(one.id for one in NIGHT))
        assert planner.plan(request, Context(), specs) == before
        assert not {one.id for one in NIGHT}.intersection(before.rests_on if isinstance(before, Plan) else ())


def test_what_others_taught_is_no_convention(tmp_path: Path) -> None:
    planner = RecallPlanner(ByWord())
    planner.add([Demonstration(one.id, one.request, one.plan, source="teacher") for one in NIGHT])
    answer = planner.plan(Request("goodnight everybody", FIXED_NOW), Context(), load_tools(None).specs)
    assert not (isinstance(answer, Plan) and answer.confidence == 0.9)


@pytest.mark.parametrize(
    ("step", "is_planned"),
    [
        (Step("turn_off", {"device": "living room lamp"}), True),
        (Step("cancel_event", {"event": "dentist-01"}), False),
        (Step("draft_mail", {"to": ["ben@x.example"], "text": "yes"}), False),
    ],
)
@pytest.mark.companions
def test_a_record_or_an_address_of_that_day_is_no_convention(step: Step, is_planned: bool) -> None:
    planner = RecallPlanner(ByWord())
    planner.add([taught("zap it", step), taught("zap now", step)])
    answer = planner.plan(Request("please zap everybody", FIXED_NOW), Context(), load_tools(None).specs)
    assert (isinstance(answer, Plan) and answer.confidence == 0.9) is is_planned


# ── What is read anew, and when nothing is ────────────────────────────────────────────────────────────────

DAY = dt.datetime(2026, 9, 7, 18, tzinfo=dt.UTC)
SPECS = load_tools(None).specs


def at(day: int, request: str, *steps: Step) -> Demonstration:
    """Taught so many days after the first."""
    return Demonstration(f"{day:03} {request}", request, Plan(steps), source="owner", now=DAY + dt.timedelta(days=day))


def to(*names: str, text: str, is_sent: bool = True) -> tuple[Step, ...]:
    n = len(names)
    people = [Step("find_contact", {"name": name}) for name in names]
    draft = Step("draft_mail", {"to": [Ref(k, ("email",)) for k in range(n)], "text": text})
    return (*people, draft, *([Step("send_mail", {"draft": Ref(n, ("id",))})] if is_sent else []))


def planned(own: Sequence[Demonstration], text: str, day: int = 99) -> tuple[Step, ...] | None:
    found = Conventions(own, SHIPPED, SPECS).meant(Utterance(text, DAY + dt.timedelta(days=day)))
    return found.plan.steps if found is not None and not found.is_asked else None


CHOIR = [
    at(0, "tell the choir we start at six", *to("Ana", "Ben", text="we start at six")),
    at(9, 'let the choir know "bring lamps"', *to("Ana", "Ben", text="bring lamps")),
]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("tell the choir the hall is cold", "the hall is cold"),
        ("Choir: no rehearsal on Friday.", "no rehearsal on Friday"),
        ("What a week. Tell the choir I am late", "I am late"),
    ],
)
def test_what_a_convention_writes_is_read_anew(text: str, written: str) -> None:
    assert planned(CHOIR, text) == to("Ana", "Ben", text=written)


@pytest.mark.parametrize(
    "text",
    [
        "tell the choir",
        "choir: send",
        "did I tell the choir about Friday",
        "what did the choir say about lamps",
        "remind me to tell the choir about lamps",
        "tell the choir the contract is attached",
        "choir, no, not the choir",
        "the choir is Ana and Eva now",
    ],
)
def test_nothing_is_written_unless_the_phrase_opens_it(text: str) -> None:
    assert planned(CHOIR, text) is None


def test_sending_is_kept_only_where_it_was_asked_for_or_taught_unasked() -> None:
    both = [
        at(0, "tell the crew we start at six, send it", *to("Ana", text="we start at six")),
        at(1, "tell the crew about lamps then", *to("Ana", text="about lamps then", is_sent=False)),
    ]
    assert planned(both, "tell the crew I am late") == to("Ana", text="I am late", is_sent=False)
    assert planned(both, "tell the crew I am late. Send") == to("Ana", text="I am late")
    unasked = [at(2, "crew: bring tea", *to("Ana", text="bring tea"))]
    assert planned([*both, *unasked], "crew: I am late") == to("Ana", text="I am late")


def test_what_was_taught_later_does_not_hold_before() -> None:
    later = [*NIGHT_AT, at(30, "goodnight, it is cold", LAMP, DOOR, WARM)]
    assert planned(later, "goodnight", day=10) == (LAMP, DOOR)
    assert planned(later, "goodnight", day=40) == (LAMP, DOOR, WARM)
    assert planned(later, "goodnight", day=-5) == (LAMP, DOOR)  # nothing is older: the first meaning


NIGHT_AT = [at(0, "goodnight then", LAMP, DOOR), at(1, "ok goodnight, house", LAMP, DOOR)]


def test_a_meaning_that_begins_is_told_from_what_held_before() -> None:
    cold = at(30, "from now on goodnight also means heating at 17. goodnight", LAMP, DOOR, WARM)
    assert planned([*NIGHT_AT, cold], "goodnight") == (LAMP, DOOR, WARM)
    assert planned([cold], "goodnight", day=2) == (LAMP, DOOR)


def test_other_business_in_a_demonstration_is_no_part_of_the_meaning() -> None:
    radio = Step("turn_off", {"device": "cellar radio"})
    beside = at(30, "goodnight, and the radio in the cellar off", LAMP, DOOR, radio)
    assert planned([*NIGHT_AT, beside], "goodnight") == (LAMP, DOOR)


def test_moments_are_of_the_day_it_is_asked() -> None:
    def seen(day: str) -> Step:
        return Step("find_video", {"room": "porch", "start": f"{day}T10:00:00+00:00", "end": f"{day}T13:00:00+00:00"})

    watch = [at(0, "post watch", seen("2026-09-07")), at(3, "post watch please", seen("2026-09-10"))]
    assert planned(watch, "post watch!", day=21) == (seen("2026-09-28"),)
    assert planned(watch, "post watch for yesterday") is None


def test_a_part_of_the_day_is_the_one_that_is_or_is_said() -> None:
    def pills(part: str) -> Step:
        return Step("find_reminders", {"query": f"{part} pills"})

    taken = [at(0, "pills done", pills("evening")), at(1, "pills done now", pills("morning"))]
    assert planned(taken, "pills done") == (pills("evening"),)  # at six in the evening
    assert planned(taken, "the morning's were late, pills done") == (pills("morning"),)


def test_things_are_added_to_a_list_where_that_was_seen() -> None:
    def listed(*items: str) -> Step:
        return Step("add_to_list", {"list": "groceries", "items": list(items)})

    basics = [
        at(0, "basics please", listed("milk", "eggs")),
        at(5, "basics and dog food", listed("milk", "eggs", "dog food")),
    ]
    assert planned(basics, "basics") == (listed("milk", "eggs"),)
    assert planned(basics, "basics plus two lemons") == (listed("milk", "eggs", "two lemons"),)
    assert planned(basics[:1], "basics plus two lemons") is None  # nobody showed where they go


@pytest.mark.parametrize("said", ["ok, send that", "k send", "fine, out with it", "mail it then"])
def test_a_request_that_leans_on_another_is_no_phrase(said: str) -> None:
    assert planned([at(0, said, *to("Ana", text="you would sign this lease"))], said) is None


def test_a_thing_s_name_is_no_phrase() -> None:
    blanket = at(0, "goodnight, blanket off", LAMP, DOOR, Step("turn_off", {"device": "electric blanket"}))
    assert planned([*NIGHT_AT, blanket], "electric blanket off") is None


def test_what_others_say_needs_its_phrase_alone() -> None:
    opened = at(0, "open up, that is the oven and the shop light", Step("turn_on", {"device": "oven"}))
    shipped = [*SHIPPED, "open up the shed for us"]
    found = Conventions([opened], shipped, SPECS)
    assert found.meant(Utterance("open up", DAY)) is not None
    assert found.meant(Utterance("open up quickly please", DAY)) is not None
    assert found.meant(Utterance("open up the cellar", DAY)) is None


def test_what_is_asked_for_beside_a_phrase_is_handed_back() -> None:
    found = Conventions(NIGHT_AT, SHIPPED, SPECS).meant(Utterance("goodnight, and remind me of the bins at nine", DAY))
    assert found is not None
    assert found.is_asked
    assert found.plan.steps == (LAMP, DOOR)
    assert "bins" in found.after


@pytest.mark.companions
def test_recall_joins_what_is_asked_for_beside_a_phrase_or_does_neither() -> None:
    planner = RecallPlanner(ByWord())
    timers = [
        Demonstration(f"t{k}", f"set a timer for {k} minutes", Plan((Step("set_timer", {"length": f"PT{k}M"}),)))
        for k in range(3, 12)
    ]
    more = [Demonstration("s", "set the table", Plan(())), *timers]
    planner.add([*more, *NIGHT_AT])
    answer = planner.plan(Request("goodnight, and set a timer for 9 minutes", FIXED_NOW), Context(), SPECS)
    assert isinstance(answer, Plan)
    assert [step.tool for step in answer.steps] == ["turn_off", "lock_door", "set_timer"]
    no = [Demonstration(f"n{k}", f"translate {what} for me", Plan(())) for k, what in enumerate(("this", "my letter"))]
    planner.add(no)
    answer = planner.plan(Request("goodnight, and translate my note for Ana", FIXED_NOW), Context(), SPECS)
    assert not (isinstance(answer, Plan) and LAMP.tool in [step.tool for step in answer.steps])


_WORDS = st.lists(
    st.sampled_from(
        [
            "goodnight",
            "tell",
            "the",
            "choir",
            ":",
            ",",
            ".",
            "and",
            "+",
            "basics",
            "no",
            "send",
            "it",
            "is",
            "are",
            "at",
            "9",
            "tomorrow",
            "“",
            '"',
            "plus",
            "we",
            "ly",
            "ß",
        ]
    ),
    max_size=14,
).map(" ".join)
_SOME = Conventions([*NIGHT_AT, *CHOIR], SHIPPED, SPECS)


@given(st.one_of(st.text(max_size=60), _WORDS))
def test_any_text_is_answered_with_a_whole_plan_or_none(text: str) -> None:
    found = _SOME.meant(Utterance(text, DAY))
    if found is not None:
        tools = [step.tool for step in found.plan.steps]
        assert tools in (["turn_off", "lock_door"], ["find_contact"] * 2 + ["draft_mail", "send_mail"])
        assert all(0 <= need < k for k, step in enumerate(found.plan.steps) for need in step.needs())
        assert found.before + found.after == "" or found.before + found.after in text or found.before in text


def test_what_is_made_anew_is_what_would_have_been_made_at_once() -> None:
    first = Conventions(NIGHT_AT, SHIPPED, SPECS)
    then = Conventions([*NIGHT_AT, *CHOIR], SHIPPED, SPECS, first)
    for text in ("goodnight", "tell the choir I am late", "choir"):
        assert then.meant(Utterance(text, DAY + dt.timedelta(days=30))) == _SOME.meant(
            Utterance(text, DAY + dt.timedelta(days=30))
        )
