"""python -m pytest tests/integration/test_recall_planner.py"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hearth.formats.plans import plan_to_json, read_demonstrations
from hearth.language.reading import read
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.retrieval.plan_assembly import Part
from hearth.planning.retrieval.recall_planner import RecallPlanner, as_typed, is_shaky, words_of
from hearth.registry import load_tools
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW, HashEncoder, check_planner
from hearth.types import (
    Argument,
    Context,
    Demonstration,
    Entity,
    Parameter,
    Plan,
    Ref,
    Refusal,
    Request,
    Step,
    ToolSpec,
)
from tests import ROOT
from tests.work import grows_in_step

SHIPPED = ROOT / "src/hearth/data/demonstrations.jsonl"
PEOPLE = Context(
    entities=(
        Entity("Karin Vogt", "person", ("Karin",)),
        Entity("Ben Ashworth", "person", ("Ben",)),
        Entity("Emre Demir", "person", ("Emre", "husband", "my husband")),
    ),
    country="DE",
)
TOOLS = load_tools(None).specs


@pytest.fixture(scope="module")
def shipped() -> RecallPlanner:
    """The planner as it is on the first day."""
    planner = RecallPlanner(MiniLMEncoder.open())
    planner.add(read_demonstrations(SHIPPED))
    return planner


def plan(planner: RecallPlanner, text: str, now: dt.datetime = FIXED_NOW) -> Plan | Refusal:
    return planner.plan(Request(text, now), PEOPLE, TOOLS)


def steps(answer: Plan | Refusal) -> list[tuple[str, dict[str, Argument]]]:
    assert isinstance(answer, Plan), answer
    return [(step.tool, dict(step.arguments)) for step in answer.steps]


# ── On the first day ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("remind me to call mum tomorrow at 6", [("add_reminder", {"text": "call mum", "at": "2026-11-21T18:00:00+01:00"})]),
        (
            "please remind me tomorrow at 18:00 to feed the cat please",
            [("add_reminder", {"text": "feed the cat", "at": "2026-11-21T18:00:00+01:00"})],
        ),
        ("add milk, eggs and bread to my shopping list", [("add_to_list", {"list": "shopping", "items": ["milk", "eggs", "bread"]})]),
        ("set a timer for 7 minutes", [("set_timer", {"length": "PT7M"})]),
        (
            "what does the receipt in market.jpg say? put the total on my expenses list",
            [("read_text", {"path": "market.jpg"}), ("read_total", {"path": "market.jpg"}), ("add_to_list", {"list": "expenses", "items": [Ref(1, ("text",))]})],
        ),
        ("what's on my calendar tomorrow", [("find_events", {"start": "2026-11-21T00:00:00+01:00", "end": "2026-11-22T00:00:00+01:00"})]),
        ("cancel lunch with Ben", [("find_events", {"query": "lunch with Ben"}), ("cancel_event", {"event": Ref(0, ("id",))})]),
        (
            "email Karin that the tram is late",
            [("find_contact", {"name": "Karin Vogt"}), ("draft_mail", {"to": [Ref(0, ("email",))], "text": "the tram is late"})],
        ),
        (
            "Write Karin and Ben that I can bring the cable",
            [
                ("find_contact", {"name": "Karin Vogt"}),
                ("find_contact", {"name": "Ben Ashworth"}),
                ("draft_mail", {"to": [Ref(0, ("email",)), Ref(1, ("email",))], "text": "I can bring the cable"}),
            ],
        ),
        (
            "find the mail about the invoice and delete it",
            [("find_mail", {"query": "the invoice"}), ("delete_mail", {"mail": Ref(0, ("id",))})],
        ),
        (
            "set a timer for 5 minutes and also add flour to the shopping list",
            [("set_timer", {"length": "PT5M"}), ("add_to_list", {"list": "shopping", "items": ["flour"]})],
        ),
        ("rename draft.md to final.md", [("move_file", {"path": "draft.md", "to": "final.md"})]),
        ("turn on the light in the kitchen", [("turn_on", {"device": "light in the kitchen"})]),
        ("turn the heating on", [("turn_on", {"device": "heating"})]),
        ("how many kilometres is 12 miles?", [("convert_units", {"amount": 12, "from_unit": "mile", "to_unit": "kilometer"})]),
    ],
)  # fmt: skip
@pytest.mark.companions
def test_everyday_requests(shipped: RecallPlanner, text: str, wanted: list[tuple[str, dict[str, Argument]]]) -> None:
    assert steps(plan(shipped, text)) == wanted


@pytest.mark.parametrize(
    "when", ["at six", "at ten tomorrow", "when I come home", "as soon as we leave", "until midnight", "every evening"]
)
@pytest.mark.companions
def test_what_is_wanted_later_is_not_done_at_once(shipped: RecallPlanner, when: str) -> None:
    """No tool of the home takes a time."""
    now, later = plan(shipped, "turn the heating on"), plan(shipped, f"turn the heating on {when}")
    assert steps(now) == [("turn_on", {"device": "heating"})]
    assert not isinstance(later, Plan) or all(TOOLS[step.tool].effect == "none" for step in later.steps)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("show me who came to the gate at 6:20 this morning", {"at": "2026-11-20T06:20:00+01:00"}),
        ("was somebody cooking in the kitchen at seven this morning", {"at": "2026-11-20T07:00:00+01:00"}),
        (
            "who was in the kitchen between 6 and 7 this morning",
            {"start": "2026-11-20T06:00:00+01:00", "end": "2026-11-20T07:00:00+01:00"},
        ),
        ("who has been in the kitchen since noon yesterday", {"start": "2026-11-19T12:00:00+01:00"}),
    ],
)
@pytest.mark.companions
def test_one_moment_is_no_stretch_of_time(shipped: RecallPlanner, text: str, wanted: dict[str, Argument]) -> None:
    """No look-up begins and ends in the same moment."""
    tool, arguments = steps(plan(shipped, text))[0]
    assert tool == "find_video"
    assert {name: value for name, value in arguments.items() if name != "room"} == wanted


@pytest.mark.parametrize(
    ("when", "wanted"),
    [("weekdays", "on weekdays"), ("on weekends", "on weekends"), ("every day", "daily"), ("on Mondays", "weekly")],
)
@pytest.mark.companions
def test_days_that_repeat_together_are_one_rhythm(shipped: RecallPlanner, when: str, wanted: str) -> None:
    (step,) = steps(plan(shipped, f"remind me {when} at 7 to water the plants"))
    assert (step[0], step[1]["repeat"]) == ("add_reminder", wanted)


@pytest.mark.parametrize(
    ("said", "items"),
    [
        ("milk + eggs", ["milk", "eggs"]),
        ("milk plus eggs", ["milk", "eggs"]),
        ("vitamin-c tablets", ["vitamin-c tablets"]),
    ],
)
@pytest.mark.companions
def test_what_is_listed_with_a_plus_is_several(shipped: RecallPlanner, said: str, items: list[str]) -> None:
    assert steps(plan(shipped, f"add {said} to the shopping list")) == [
        ("add_to_list", {"list": "shopping", "items": items})
    ]


@pytest.mark.parametrize("text", ["lock the door tonight at ten", "switch the tv on tomorrow"])
@pytest.mark.companions
def test_no_device_is_called_by_a_time(shipped: RecallPlanner, text: str) -> None:
    answer = plan(shipped, text)
    assert isinstance(answer, Refusal)
    assert "only at once" in answer.reason


@pytest.mark.companions
def test_what_is_surer_with_its_time_is_not_for_now_only(shipped: RecallPlanner) -> None:
    ((tool, arguments),) = steps(plan(shipped, "tidy the shed shelves on sunday at 5"))
    assert (tool, arguments["start"]) == ("add_event", "2026-11-22T17:00:00+01:00")


@pytest.mark.parametrize(
    ("text", "told", "at"),
    [
        ("alarm at 2 : 17pm", "alarm", "14:17"),
        ("can you set an alarm for 1600", "alarm", "16:00"),
        ("set an alarm for 9 a.m . tomorrow .", "alarm", "09:00"),
        ("wake me up in one hour", "wake me up", "10:30"),
        ("remind me to turn off the stove after 1 hour", "turn off the stove", "10:30"),
    ],
)
def test_an_alarm_need_not_say_what_for(shipped: RecallPlanner, text: str, told: str, at: str) -> None:
    ((tool, arguments),) = steps(plan(shipped, text))
    assert (tool, arguments["text"], str(arguments["at"])[11:16]) == ("add_reminder", told, at)


@pytest.mark.parametrize(
    "text",
    [
        "vacuum the carpet",
        "what's the weather tomorrow",
        "play some jazz",
        "book me a flight to Oslo",
        "tell me a joke",
    ],
)
def test_what_no_tool_does_is_refused_with_an_offer(shipped: RecallPlanner, text: str) -> None:
    answer = plan(shipped, text)
    assert isinstance(answer, Refusal)
    assert answer.kind == "out_of_scope"
    assert "can't do that yet" in answer.reason or "not sure what you mean" in answer.reason
    assert answer.offer is not None
    assert answer.offer.text.startswith(("The nearest thing I can do: ", "Ask “what can you do?”"))
    assert "the owner" not in answer.offer.text


@pytest.mark.parametrize(
    ("description", "said"),
    [
        ("Make a speaker, radio or television louder.", "make a speaker, radio or television louder"),
        ("Write a mail as a draft. Nothing is sent until send_mail.", "write a mail as a draft"),
        ("Switch on e.g. a lamp", "switch on e.g. a lamp"),
        (
            "Look up what the owner said\n about himself, his people and the owner's things.",
            "look up what you said about yourself, your people and your things",
        ),
        ("Find when the owner is free.", "find when you are free"),
        ("Answer from everything the owner has.", "answer from everything you have"),
        ("Tell a friend his birthday.", "tell a friend his birthday"),
    ],
)
def test_an_offer_is_the_whole_first_sentence_of_the_tool(description: str, said: str) -> None:
    assert words_of(description) == said


def test_a_missing_value_is_asked_for(shipped: RecallPlanner) -> None:
    answer = plan(shipped, "remind me to call the landlord")
    assert answer == Refusal(
        "needs", "When? I need to know that to add a reminder.", ("add_reminder.at",), planner="recall"
    )


def test_what_can_be_served_is_served_and_the_rest_is_named(shipped: RecallPlanner) -> None:
    answer = plan(shipped, "set a timer for 5 minutes and order a pizza from the Italian place")
    assert isinstance(answer, Plan)
    assert [step.tool for step in answer.steps] == ["set_timer"]
    assert answer.unserved == ("order a pizza from the Italian place",)
    assert answer.offer is not None


@pytest.mark.parametrize(
    ("text", "tool", "act"),
    [
        pytest.param(
            "scrub bingo and email Doreen I shan't be needing the lift",
            "cancel_event",
            "scrub bingo",
            marks=pytest.mark.xfail(strict=True, reason="read as one act, and 'scrub bingo' is lost (decision 38)"),
        ),
        ("call off the quote in Milford and drop Seamus an email I'm stuck", "cancel_event", "call off the quote in"),
        ("What time has Sapporo now, and at 13:00 remind me to call grandmother.", "current_time", "What time has"),
        ("set the heating to 21 and the volume to 30", "set_temperature", "set the heating"),
    ],
)
def test_an_act_of_which_nothing_is_done_is_told(shipped: RecallPlanner, text: str, tool: str, act: str) -> None:
    answer = plan(shipped, text)
    assert isinstance(answer, Plan)
    is_done = tool in [step.tool for step in answer.steps]
    assert is_done or any(act in told for told in answer.unserved)


@pytest.mark.parametrize(
    "text",
    [
        "There were crumbs everywhere; turn off the kitchen lamp.",
        "there's a new lady with ideas, so turn the lamp off",
        "find my mail from Anna and delete it",
        "What's the total on receipt.jpg? Write it in a note and bin the photo",
    ],
)
def test_what_wishes_nothing_by_itself_is_not_told_as_undone(shipped: RecallPlanner, text: str) -> None:
    answer = plan(shipped, text)
    assert isinstance(answer, Plan)
    assert not answer.unserved


@pytest.mark.parametrize(
    ("text", "words"), [("", "empty"), ("x " * 20_000, "20,000"), ("提醒我明天九点浇水", "English")]
)
def test_the_unreadable_is_refused(shipped: RecallPlanner, text: str, words: str) -> None:
    answer = plan(shipped, text)
    assert isinstance(answer, Refusal)
    assert answer.kind == "unreadable"
    assert words in answer.reason


@pytest.mark.companions
def test_every_shipped_demonstration_is_recalled(shipped: RecallPlanner) -> None:
    """The same words give the same tools; not all forty in forty, since two may read alike."""
    demonstrations = list(read_demonstrations(SHIPPED))[::51]
    right = 0
    for one in demonstrations:
        answer = shipped.plan(Request(one.request, one.now or FIXED_NOW), Context(), TOOLS)
        tools = [step.tool for step in answer.steps] if isinstance(answer, Plan) else []
        right += tools == [step.tool for step in one.plan.steps]
    assert right >= 0.97 * len(demonstrations)


def test_the_contract_of_planners(shipped: RecallPlanner) -> None:
    check_planner(
        shipped, PEOPLE, TOOLS, ["remind me to call mum at 6", "delete it", "and then", "@@@ 12", "it it it it"]
    )


def test_no_tools_no_plan(shipped: RecallPlanner) -> None:
    answer = shipped.plan(Request("what time is it", FIXED_NOW), Context(), {})
    assert isinstance(answer, Refusal)
    assert "no tools are installed" in answer.reason


@pytest.mark.parametrize(
    ("text", "tool", "name", "value"),
    [
        ("remnid me tommorow at 5 to call jhon", "add_reminder", "text", "call jhon"),  # kept as typed
        ("whats in my calender about the denist", "find_events", "query", "dentist"),  # sought as meant
        ("put oat mlik on the shoping list", "add_to_list", "items", ["oat mlik"]),
    ],
)
def test_slips_of_the_hand_are_read_as_meant(
    shipped: RecallPlanner, text: str, tool: str, name: str, value: Argument
) -> None:
    said = read(Request(text, FIXED_NOW), Context())
    plan = as_typed(shipped.plan(said, said.context, TOOLS), said, TOOLS)
    assert isinstance(plan, Plan)
    assert [(step.tool, step.arguments[name]) for step in plan.steps] == [(tool, value)]


def test_what_the_owner_taught_is_no_slip() -> None:
    planner = RecallPlanner(HashEncoder())
    said = Request("do the wrokout", FIXED_NOW)
    assert read(said, Context(), planner.taught_words()).text == "do the workout"
    planner.add([one("mine", "do the wrokout", Step("switch_lamp", {"lamp": "study", "state": "on"}))])
    assert read(said, Context(), planner.taught_words()).text == "do the wrokout"


# ── Learning ──────────────────────────────────────────────────────────────────────────────────────────────

LAMP = {
    "switch_lamp": ToolSpec(
        "switch_lamp",
        "Switch a lamp on or off.",
        (Parameter("lamp", "text"), Parameter("state", "text", enum=("on", "off"))),
        effect="change",
        examples=("turn the kitchen lamp on",),
    ),
    "find_lamp": ToolSpec(
        "find_lamp",
        "Find a lamp by its room.",
        (Parameter("room", "text"),),
        returns="list[Lamp]",
        fields={"id": "LampId", "room": "text"},
    ),
    "dim_lamp": ToolSpec(
        "dim_lamp", "Dim a lamp.", (Parameter("lamp", "LampId"), Parameter("percent", "integer")), effect="change"
    ),
}


def one(id: str, request: str, *given: Step, source: str = "owner") -> Demonstration:
    return Demonstration(id, request, Plan(given), source=source)


def test_one_demonstration_counts_at_once_and_is_forgotten_at_once() -> None:
    planner = RecallPlanner(HashEncoder())
    request = Request("make it cosy in the study", FIXED_NOW)
    assert isinstance(planner.plan(request, Context(), LAMP), Refusal)
    planner.add([one("mine", "make it cosy in the study", Step("switch_lamp", {"lamp": "study", "state": "on"}))])
    learnt = planner.plan(request, Context(), LAMP)
    assert steps(learnt) == [("switch_lamp", {"lamp": "study", "state": "on"})]
    assert isinstance(learnt, Plan)
    assert learnt.rests_on == ("mine",)
    assert learnt.confidence > 0.6
    planner.remove("mine")
    assert isinstance(planner.plan(request, Context(), LAMP), Refusal)
    assert len(planner) == 0


def test_the_values_are_those_of_the_new_request() -> None:
    planner = RecallPlanner(HashEncoder())
    planner.add(
        [
            one("a", "make it cosy in the study", Step("switch_lamp", {"lamp": "study", "state": "on"})),
            one("b", "make it cosy in the hall", Step("switch_lamp", {"lamp": "hall", "state": "on"})),
        ]
    )
    answer = planner.plan(Request("make it cosy in the attic", FIXED_NOW), Context(), LAMP)
    assert steps(answer) == [("switch_lamp", {"lamp": "attic", "state": "on"})]


def test_a_tool_s_own_example_is_enough() -> None:
    answer = RecallPlanner(HashEncoder()).plan(Request("turn the hall lamp on", FIXED_NOW), Context(), LAMP)
    assert steps(answer) == [("switch_lamp", {"lamp": "hall lamp", "state": "on"})]
    assert isinstance(answer, Plan)
    assert answer.rests_on == ("tool:switch_lamp",)


def test_a_tool_that_is_gone_is_not_planned() -> None:
    planner = RecallPlanner(HashEncoder())
    planner.add([one("a", "make it cosy", Step("switch_lamp", {"lamp": "study", "state": "on"}))])
    rest = {name: spec for name, spec in LAMP.items() if name != "switch_lamp"}
    assert isinstance(planner.plan(Request("make it cosy", FIXED_NOW), Context(), rest), Refusal)


def test_a_demonstration_with_a_known_id_replaces_the_older() -> None:
    planner = RecallPlanner(HashEncoder())
    planner.add([one("a", "make it cosy", Step("switch_lamp", {"lamp": "study", "state": "on"}))])
    planner.add([one("a", "make it cosy", Step("switch_lamp", {"lamp": "hall", "state": "off"}))])
    assert len(planner) == 1
    answer = planner.plan(Request("make it cosy", FIXED_NOW), Context(), LAMP)
    assert steps(answer) == [("switch_lamp", {"lamp": "hall", "state": "off"})]


def cosy_rooms(n: int) -> RecallPlanner:
    """A planner that was taught one sentence of many rooms."""
    planner = RecallPlanner(HashEncoder())
    planner.add(
        one(f"s{k}", f"make it cosy in room {k}", Step("switch_lamp", {"lamp": f"room {k}", "state": "on"}))
        for k in range(n)
    )
    return planner


def test_a_thousand_sentences_that_differ_in_a_value_cost_in_step_with_their_number() -> None:
    def taught_and_asked(n: int) -> None:
        answer = cosy_rooms(n).plan(Request("make it cosy in room 7", FIXED_NOW), Context(), LAMP)
        assert steps(answer) == [("switch_lamp", {"lamp": "room 7", "state": "on"})]

    assert grows_in_step(taught_and_asked, 100, 1_000)


@pytest.mark.parametrize("is_turned", [False, True])
def test_sentences_that_contradict_each_other_in_nearly_the_same_words_stand_each_as_taught(is_turned: bool) -> None:
    taught = [
        one("a", "make it cosy in the study", Step("switch_lamp", {"lamp": "study", "state": "on"})),
        one("b", "make it cosy in my study", Step("switch_lamp", {"lamp": "study", "state": "off"})),
    ]
    planner = RecallPlanner(HashEncoder())
    planner.add(taught[::-1] if is_turned else taught)
    for said, state in (("make it cosy in the study", "on"), ("make it cosy in my study", "off")):
        assert steps(planner.plan(Request(said, FIXED_NOW), Context(), LAMP)) == [
            ("switch_lamp", {"lamp": "study", "state": state})
        ]
    answer = planner.plan(Request("make it cosy in our study", FIXED_NOW), Context(), LAMP)
    assert [(tool, sorted(values)) for tool, values in steps(answer)] == [("switch_lamp", ["lamp", "state"])]
    planner.remove("b")
    assert dict(steps(planner.plan(Request("make it cosy in my study", FIXED_NOW), Context(), LAMP)))[
        "switch_lamp"
    ] == {
        "lamp": "study",
        "state": "on",
    }


# ── On disk ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "hearth.db") as opened:
        yield opened


def test_what_was_learnt_survives_a_restart(store: Store) -> None:
    planner = RecallPlanner(HashEncoder(), store)
    planner.add([one("a", "make it cosy in the study", Step("switch_lamp", {"lamp": "study", "state": "on"}))])
    planner.add([one("b", "what is the meaning of life", source="shipped")])
    again = RecallPlanner(HashEncoder(), store)
    assert again.ids() == ("a", "b")
    assert again.ids(source="shipped") == ("b",)
    for text in ("make it cosy in the hall", "what is the meaning of life", "make it cosy in the study"):
        request = Request(text, FIXED_NOW)
        assert again.plan(request, Context(), LAMP) == planner.plan(request, Context(), LAMP)


def test_what_is_removed_leaves_nothing_on_disk(store: Store) -> None:
    planner = RecallPlanner(HashEncoder(), store)
    planner.add([one("a", "make it cosy", Step("switch_lamp", {"lamp": "study", "state": "on"}))])
    planner.remove("a", "unknown")
    assert store.query("SELECT * FROM demonstration") == []
    assert len(RecallPlanner(HashEncoder(), store)) == 0


@pytest.mark.parametrize("blob", [None, b"", b"damaged", b"\x63\x00" + b"\x00" * 40])
def test_forms_that_do_not_fit_are_made_anew(store: Store, blob: bytes | None) -> None:
    request = Request("make it cosy", FIXED_NOW)
    planner = RecallPlanner(HashEncoder(), store)
    planner.add([one("a", "make it cosy", Step("switch_lamp", {"lamp": "study", "state": "on"}))])
    with store.transaction() as cursor:
        cursor.execute("UPDATE demonstration SET vector = ?", (blob,))
    again = RecallPlanner(HashEncoder(), store)
    assert again.plan(request, Context(), LAMP) == planner.plan(request, Context(), LAMP)


@pytest.mark.parametrize("place", ["header", "names", "forms", "plain"])
def test_one_flipped_byte_in_the_forms_is_noticed(store: Store, place: str) -> None:
    planner = RecallPlanner(HashEncoder(), store)
    planner.add([one("a", "make it cosy", Step("switch_lamp", {"lamp": "study", "state": "on"}))])
    before = planner.remembered.digest()
    (row,) = store.query("SELECT vector FROM demonstration")
    whole = bytearray(row["vector"])
    n_vectors = 2 * (planner.remembered.likeness.dim + HashEncoder().dim)
    at = {"header": 7, "names": whole.index(b"switch_lamp") + 3, "forms": len(whole) - n_vectors, "plain": -1}[place]
    whole[at] ^= 0xFF
    with store.transaction() as cursor:
        cursor.execute("UPDATE demonstration SET vector = ?", (bytes(whole),))
    again = RecallPlanner(HashEncoder(), store)
    assert (again.ids(), again.remembered.digest()) == (("a",), before)
    (row,) = store.query("SELECT vector FROM demonstration")
    assert bytes(row["vector"]) != bytes(whole)


def test_another_encoder_explains_anew(store: Store) -> None:
    RecallPlanner(HashEncoder(64), store).add(
        [one("a", "make it cosy", Step("switch_lamp", {"lamp": "x", "state": "on"}))]
    )
    again = RecallPlanner(HashEncoder(32), store)
    assert steps(again.plan(Request("make it cosy", FIXED_NOW), Context(), LAMP)) == [
        ("switch_lamp", {"lamp": "x", "state": "on"})
    ]


def test_tool_forms_are_kept_in_the_cache(tmp_path: Path) -> None:
    class Counting(HashEncoder):
        n_texts = 0

        def encode(self, texts):  # type: ignore[no-untyped-def]
            Counting.n_texts += len(texts)
            return super().encode(texts)

    request = Request("turn the hall lamp on", FIXED_NOW)
    first = RecallPlanner(Counting(), cache=tmp_path).plan(request, Context(), LAMP)
    n_first, Counting.n_texts = Counting.n_texts, 0
    assert RecallPlanner(Counting(), cache=tmp_path).plan(request, Context(), LAMP) == first
    assert Counting.n_texts == n_first - len(LAMP) - 1
    for path in tmp_path.iterdir():
        path.write_bytes(b"damaged")
    assert RecallPlanner(Counting(), cache=tmp_path).plan(request, Context(), LAMP) == first


def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    planner = RecallPlanner(HashEncoder(), cache=tmp_path / "file" / "cache")
    assert isinstance(planner.plan(Request("turn the hall lamp on", FIXED_NOW), Context(), LAMP), Plan)


@pytest.mark.parametrize(
    ("steps_and_sureness", "shaky"),
    [
        ([("remember", 0.9), ("find_notes", 0.7)], False),
        ([("remember", 0.9), ("find_notes", 0.4)], True),  # one part misread: the others mostly are, too
        ([("remember", 0.55), ("find_notes", 0.9)], True),
        ([("find_notes", 0.4), ("find_mail", 0.36)], False),  # nothing is changed
    ],
)
def test_of_several_things_none_is_done_when_one_is_unsure(
    steps_and_sureness: list[tuple[str, float]], shaky: bool
) -> None:
    parts = [Part("", (Step(tool),), (), sure, (), "") for tool, sure in steps_and_sureness]
    assert is_shaky(parts, load_tools(None).specs) is shaky


@pytest.fixture
def taught(shipped: RecallPlanner) -> Iterator[Callable[[str, Plan], RecallPlanner]]:
    """Teach the planner of the first day one correction; it is forgotten afterwards."""

    def teach(said: str, plan: Plan) -> RecallPlanner:
        shipped.add([Demonstration("own", said, plan, source="owner", now=FIXED_NOW)])
        return shipped

    yield teach
    shipped.remove("own")


def test_a_number_taught_for_one_person_never_goes_to_another(
    taught: Callable[[str, Plan], RecallPlanner],
) -> None:
    people = ("Yusuf", "Ivy", "Priya")
    context = Context(country="GB", entities=tuple(Entity(name, "person") for name in people))
    change: dict[str, Argument] = {"contact": Ref(0, ("id",)), "phone": "+447700900456"}
    given = Plan((Step("find_contact", {"name": "Yusuf"}), Step("change_contact", change)))
    planner = taught("new number for Yusuf: 07700 900456", given)
    for name, number in (("Yusuf", "07700 900456"), ("Ivy", "07700 900555"), ("Priya", "07700 900111")):
        answer = planner.plan(Request(f"new number for {name}: {number}", FIXED_NOW), context, TOOLS)
        (found, sought), (changed, values) = steps(answer)
        assert (found, changed, sought["name"]) == ("find_contact", "change_contact", name)
        assert str(values["phone"]).replace(" ", "")[-6:] == number.replace(" ", "")[-6:]


@pytest.mark.companions
@pytest.mark.parametrize(
    ("text", "ignored"),
    [
        ("show me reminders number 7", ("7",)),
        ("how many mails did I get from Marguerite", ()),  # what is found is counted
        ("what's on at the weekend for the grandchildren", ("grandchildren",)),
        ("What have I got on tomorrow, dear?", ()),  # whom it calls
        ("which reminders do I have for the garden shed", ()),  # looked for
        ("How many days is it until the carol service?", ()),
        ("set a timer for 5 minutes", ()),  # no look-up
    ],
)
def test_words_that_went_into_no_look_up_are_kept(shipped: RecallPlanner, text: str, ignored: tuple[str, ...]) -> None:
    answer = plan(shipped, text)
    assert isinstance(answer, Plan)
    assert answer.ignored == ignored


def test_an_answer_taught_for_one_person_never_goes_to_another(
    taught: Callable[[str, Plan], RecallPlanner],
) -> None:
    people = {name: f"{name.lower()}@post.example" for name in ("Yusuf", "Ivy", "Priya")}
    context = Context(country="GB", entities=tuple(Entity(name, "person") for name in people))
    written: dict[str, Argument] = {"to": [Ref(0, ("email",))], "subject": "yes", "text": "yes, we are coming"}
    given = Plan((Step("find_contact", {"name": "Priya"}), Step("draft_mail", written)))
    planner = taught("tell Priya yes, we are coming", given)
    for said, name in (
        ("tell Priya yes, we are coming", "Priya"),
        ("tell Yusuf yes, we are coming", "Yusuf"),
        ("tell Ivy yes, we are coming", "Ivy"),
        ("tell Ivy yes", "Ivy"),
        ("tell her yes, we are coming", ""),
        ("tell Marguerite yes, we are coming", "Marguerite"),
    ):
        answer = planner.plan(Request(said, FIXED_NOW), context, TOOLS)
        told = json.dumps(plan_to_json(replace(answer, rests_on=()))) if isinstance(answer, Plan) else ""
        assert not [other for other in people if other != name and other in told], said
        assert name in told or not isinstance(answer, Plan), said
    for said, name in (("tell Priya yes, we are coming", "Priya"), ("mail Yusuf that yes, we are coming", "Yusuf")):
        answer = planner.plan(Request(said, FIXED_NOW), context, TOOLS)
        assert steps(answer)[0] == ("find_contact", {"name": name})


@pytest.mark.companions
@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("nobody wants the sewing class, cancel it", ["find_events", "cancel_event"]),
        ("I don't want the sauna night in my calendar, take it out", ["find_events", "cancel_event"]),
        ("the mail from the gym is no use to me, delete it", ["find_mail", "delete_mail"]),
        ("I don't want the yellow one, it is ugly", []),
    ],
)
@pytest.mark.companions
def test_a_surely_read_whole_stands_where_its_clauses_come_to_nothing(
    shipped: RecallPlanner, text: str, tools: list[str]
) -> None:
    answer = plan(shipped, text)
    assert [step.tool for step in answer.steps] == tools if isinstance(answer, Plan) else not tools


@pytest.mark.companions
def test_one_draft_is_sent_once(shipped: RecallPlanner) -> None:
    answer = plan(shipped, "shoot ben a mail that my essay is coming thursday and get it sent")
    assert isinstance(answer, Plan)
    assert [step.tool for step in answer.steps].count("send_mail") == 1


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("turn the heating up by 2 degrees", "up_by"),
        ("the greenhouse should be 16 degrees", None),
        ("heating to 22 degrees", None),
    ],
)
@pytest.mark.companions
def test_a_level_changes_by_so_much_only_where_words_say_so(
    shipped: RecallPlanner, text: str, change: str | None
) -> None:
    (found,) = steps(plan(shipped, text))
    assert (found[0], found[1].get("change")) == ("set_temperature", change)


def test_times_that_another_step_took_are_no_sign_against_a_look_up(shipped: RecallPlanner) -> None:
    events = (
        "choir",
        "judo",
        "the bakery shift",
        "book club",
        "pilates",
        "dance class",
        "the allotment",
        "staff lunch",
    )
    shown = [
        Demonstration(
            f"moved-{hour}-{place}",
            f"{event} is on tomorrow at {hour}, put that right",
            Plan(
                (
                    Step("find_events", {"query": event}),
                    Step("move_event", {"event": Ref(0, ("id",)), "start": f"2026-11-21T{hour:02}:00:00+01:00"}),
                )
            ),
            source="owner",
            now=FIXED_NOW,
        )
        for place, event in enumerate(events)
        for hour in range(13, 20)
    ]
    shipped.add(shown)
    try:
        wanted = [("find_events", {"start": "2026-11-21T14:00:00+01:00"})]
        assert steps(plan(shipped, "what's on tomorrow at 2")) == wanted
    finally:
        for one in shown:
            shipped.remove(one.id)


def test_the_opposite_of_what_was_taught_is_not_done(taught: Callable[[str, Plan], RecallPlanner]) -> None:
    said = "the kitchen light {} and then we cook, it is dark here"
    planner = taught(said.format("on"), Plan((Step("turn_on", {"device": "kitchen light"}),)))
    assert steps(plan(planner, said.format("on"))) == [("turn_on", {"device": "kitchen light"})]
    answer = plan(planner, said.format("off"))
    assert not isinstance(answer, Plan) or ("turn_on", {"device": "kitchen light"}) not in steps(answer)


def test_what_was_taught_and_another_thing_turned_round_are_both_done(
    taught: Callable[[str, Plan], RecallPlanner],
) -> None:
    planner = taught("turn on the kitchen light", Plan((Step("turn_on", {"device": "kitchen light"}),)))
    found = steps(plan(planner, "turn on the kitchen light and turn off the bedroom light"))
    assert [tool for tool, _ in found] == ["turn_on", "turn_off"]


def test_what_nothing_was_taught_for_is_the_opposite_of_nothing(taught: Callable[[str, Plan], RecallPlanner]) -> None:
    planner = taught("keep the kitchen light off", Plan(()))
    assert steps(plan(planner, "turn on the kitchen light")) == [("turn_on", {"device": "kitchen light"})]


def test_a_time_that_no_argument_took_names_the_record(shipped: RecallPlanner) -> None:
    (found, sought), (done, _) = steps(plan(shipped, "cancel my alarm for 5pm"))
    assert (found, done) == ("find_reminders", "delete_reminder")
    assert (str(sought["start"])[11:16], str(sought["end"])[11:16]) == ("17:00", "17:01")


@pytest.mark.parametrize(
    ("text", "tool", "name", "value"),
    [
        ("any new emails", "find_mail", "unread_only", True),
        ("show me unread mail from karin", "find_mail", "unread_only", True),
        ("read bens last mail", "find_mail", "sender", "Ben Ashworth"),
        ("open karins email about the fence", "find_mail", "sender", "Karin Vogt"),
        ("new contact ben de witt 0171 5550999 roofer", "add_contact", "name", "ben de witt"),
        ("put in my diary: chess with emre friday 3 to 5", "add_event", "title", "chess with emre"),
        ("block friday morning for the roofer 8 to 9.30", "add_event", "title", "the roofer"),
        ("we need bin bags", "add_to_list", "items", ["bin bags"]),
    ],
)
@pytest.mark.companions
def test_what_is_typed_short_is_read_whole(
    shipped: RecallPlanner, text: str, tool: str, name: str, value: Argument
) -> None:
    found = next(arguments for step, arguments in steps(plan(shipped, text)) if step == tool)
    assert found[name] == value
    assert tool != "add_contact" or "address" not in found


@pytest.mark.companions
@pytest.mark.parametrize("n", [2, 3, 7])
def test_the_same_deed_several_times_is_done_each_time(shipped: RecallPlanner, n: int) -> None:
    things = ("milk", "eggs", "bread", "soap", "rice", "tea", "jam")[:n]
    text = " and ".join(f"add {thing} to the shopping list" for thing in things)
    assert steps(plan(shipped, text)) == [("add_to_list", {"list": "shopping", "items": [one]}) for one in things]


@pytest.mark.companions
def test_of_a_hundred_deeds_none_is_done_alone(shipped: RecallPlanner) -> None:
    text = " and ".join(f"add item{k} to the shopping list" for k in range(100))
    found = plan(shipped, text)
    assert isinstance(found, Refusal) or len(found.steps) == 100


@pytest.mark.companions
@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("karate got moved it is now tuesday at five in the afternoon", "2026-11-24T17:00"),
        ("what did I do on Tuesday", "2026-11-17T00:00"),
        ("put in the lunch I had on Monday", "2026-11-16T00:00"),
        ("delete the meeting I had on Monday", "2026-11-16T00:00"),
        ("move Tuesday's gym to Friday", "2026-11-27T00:00"),
    ],
)
def test_what_is_to_be_changed_is_not_over(shipped: RecallPlanner, text: str, start: str) -> None:
    found = steps(plan(shipped, text))
    assert [str(arguments["start"])[:16] for _, arguments in found if "start" in arguments][-1] == start


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("rename the lab session to chem prac", {"title": "chem prac"}),
        ("scrimmage got flipped to Jenks East, change where it's at", {"place": "Jenks East"}),
        ("change my dentist appointment", {}),
    ],
)
@pytest.mark.companions
def test_nothing_is_changed_to_nothing(shipped: RecallPlanner, text: str, wanted: dict[str, Argument]) -> None:
    found = plan(shipped, text)
    changed = [given for tool, given in steps(found) if tool == "change_event"] if isinstance(found, Plan) else []
    assert [{name: value for name, value in given.items() if name != "event"} for given in changed] == (
        [wanted] if wanted else []
    )


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("the piano tuner's a day later, he was Monday and now it's Tuesday", "2026-11-24T00:00:00+01:00"),
        ("move the piano tuner to Tuesday at 9", "2026-11-24T09:00:00+01:00"),
    ],
)
@pytest.mark.companions
def test_what_is_moved_to_a_day_keeps_its_hour(shipped: RecallPlanner, text: str, start: str) -> None:
    assert [given["start"] for tool, given in steps(plan(shipped, text)) if tool == "move_event"] == [start]


@pytest.mark.companions
def test_acts_that_no_rule_cuts_are_done_one_by_one(shipped: RecallPlanner) -> None:
    found = steps(plan(shipped, "heating on n add oat milk to the shopping list"))
    assert [tool for tool, _ in found] == ["turn_on", "add_to_list"]


@pytest.mark.parametrize(
    ("text", "is_done"), [("delete scary.txt", True), ("gimme scary.txt its my horror story", False)]
)
@pytest.mark.companions
def test_what_takes_away_has_to_be_surer(shipped: RecallPlanner, text: str, is_done: bool) -> None:
    found = plan(shipped, text)
    assert (isinstance(found, Plan) and "delete_file" in [step.tool for step in found.steps]) == is_done


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("stop the music. there's a garage sale on Saturday at 9, put it down", ["turn_off", "add_event"]),
        ("good morning scene please. put swimming in my calendar for tomorrow at 9", ["start_scene", "add_event"]),
        ("dropped the kids off, add oat milk to the shopping list", ["add_to_list"]),
        pytest.param(
            "babys dropped off, add oat milk to the shopping list",
            ["add_to_list"],
            marks=pytest.mark.xfail(strict=True, reason="a device 'babys dropped' is looked for (decision 38)"),
        ),
    ],
)
@pytest.mark.companions
def test_what_is_wished_is_not_taken_for_an_aside(shipped: RecallPlanner, text: str, wanted: list[str]) -> None:
    assert [tool for tool, _ in steps(plan(shipped, text))] == wanted


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("turn off the lamp and the heater", "turn_on"),
        ("turn the heater off and the lamp", "turn_on"),
        ("close the garage and the front door", "unlock_door"),
    ],
)
@pytest.mark.companions
def test_what_has_no_verb_of_its_own_is_not_turned_round(shipped: RecallPlanner, text: str, denied: str) -> None:
    assert denied not in [tool for tool, _ in steps(plan(shipped, text))]


@pytest.mark.companions
def test_the_time_of_one_act_is_none_of_another_s(shipped: RecallPlanner) -> None:
    found = steps(plan(shipped, "delete monday.txt and remind me on monday to call mum"))
    assert [tool for tool, _ in found] == ["delete_file", "add_reminder"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("turn off the lamp and the heater", [("turn_off", "lamp"), ("turn_off", "heater")]),
        ("turn on the fan, the radio and the lamp", [("turn_on", "fan"), ("turn_on", "radio"), ("turn_on", "lamp")]),
        ("front door n side gate locked please", [("lock_door", "front door"), ("lock_door", "side gate")]),
        ("kitchen light and telly off", [("turn_off", "kitchen light"), ("turn_off", "telly")]),
        ("turn off the lamp\nand the heater", [("turn_off", "lamp"), ("turn_off", "heater")]),
    ],
)
@pytest.mark.companions
def test_what_is_said_of_several_things_is_done_with_each(
    shipped: RecallPlanner, text: str, wanted: list[tuple[str, str]]
) -> None:
    assert [(tool, arguments["device"]) for tool, arguments in steps(plan(shipped, text))] == wanted


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("turn off everything but the lamp and the heater", ["turn_off"]),
        ("turn on the black and white lamp", ["turn_on"]),
        ("remind me to call mum and dad at 5", ["add_reminder"]),
        ("add milk and bread to the shopping list", ["add_to_list"]),
        ("delete the note about the car, lamp and fan off", ["find_notes", "delete_note", "turn_off"]),
    ],
)
@pytest.mark.companions
def test_what_is_one_thing_stays_one(shipped: RecallPlanner, text: str, tools: list[str]) -> None:
    answer = plan(shipped, text)
    assert isinstance(answer, Plan)
    assert [step.tool for step in answer.steps] == tools
    assert not answer.unserved


@pytest.mark.companions
def test_each_act_may_be_about_several_things(shipped: RecallPlanner) -> None:
    found = steps(plan(shipped, "turn off the lamp and the heater. cancel the yoga and the dentist"))
    assert [arguments["device"] for tool, arguments in found if tool == "turn_off"] == ["lamp", "heater"]
    assert [arguments["query"] for tool, arguments in found if tool == "find_events"] == ["yoga", "dentist"]


@pytest.mark.companions
def test_a_thing_that_no_sure_plan_is_found_for_is_told(shipped: RecallPlanner) -> None:
    answer = plan(shipped, "put the dinner and the dance in the calendar for friday at 7")
    assert isinstance(answer, Plan)
    titles = [step.arguments["title"] for step in answer.steps]
    assert titles in (["dance"], ["dinner"])
    assert answer.unserved == ("the dinner" if titles == ["dance"] else "the dance",)


@pytest.mark.companions
def test_what_the_owner_taught_for_one_is_not_done_with_the_other() -> None:
    planner = RecallPlanner(MiniLMEncoder.open())
    planner.add(read_demonstrations(SHIPPED))
    text = "turn off the tv and the speakers"
    planner.add([Demonstration("own", text, Plan((Step("turn_off", {"device": "tv"}),)), source="owner")])
    assert steps(plan(planner, text)) == [("turn_off", {"device": "tv"})]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("am I free tomorrow at 2", "14:00", "14:01"),
        ("am I free tomorrow until 4", "00:00", "16:00"),
        ("am I free tomorrow from 2 to 4", "14:00", "16:00"),
    ],
)
def test_free_time_at_one_time_has_both_its_ends(shipped: RecallPlanner, text: str, start: str, end: str) -> None:
    ((tool, given),) = steps(plan(shipped, text))
    day = (FIXED_NOW + dt.timedelta(days=1)).date().isoformat()
    assert tool == "find_free_time"
    assert [str(given[name])[:16] for name in ("start", "end")] == [f"{day}T{start}", f"{day}T{end}"]


def test_what_is_on_after_an_hour_of_a_day_is_of_that_day(shipped: RecallPlanner) -> None:
    day = FIXED_NOW + dt.timedelta(days=1)
    ((tool, given),) = steps(plan(shipped, "what's on tomorrow after 3"))
    after = (day + dt.timedelta(days=1)).date().isoformat()
    assert (tool, str(given["start"])[:16], str(given["end"])[:16]) == (
        "find_events",
        f"{day.date().isoformat()}T15:00",
        f"{after}T00:00",
    )
    ((tool, given),) = steps(plan(shipped, "what's on after tomorrow"))
    assert (tool, "end" in given) == ("find_events", False)


def test_free_time_of_two_times_that_are_left_open_is_asked_for(shipped: RecallPlanner) -> None:
    answer = plan(shipped, "am I free")
    assert not isinstance(answer, Plan) or "end" not in answer.steps[0].arguments
