"""The form of a question about home video decides the last step: a number, yes or no, times, what was done."""

from __future__ import annotations

import pytest

from hearth.language.reading import Utterance
from hearth.planning.dialogue.fallbacks import asked_of_footage
from hearth.registry import load_tools
from hearth.testing import FIXED_NOW
from hearth.types import Argument, Context, Entity, Plan, Ref, Refusal, Step

TOOLS = load_tools(None).specs
ROOMS = ("front door", "hall")
CONTEXT = Context("Nora", (Entity("Grace Okafor", "person", ("Grace",)),))
NONE = Refusal("out_of_scope", "I can't do that yet.")


def tools_for(text: str, found: Plan | Refusal = NONE) -> list[str]:
    plan = asked_of_footage(Utterance(text, FIXED_NOW, context=CONTEXT), found, ROOMS, TOOLS)
    return [step.tool for step in plan.steps] if plan is not None else []


SEE = ["find_video", "detect_people"]


@pytest.mark.parametrize(
    ("text", "tail"),
    [
        ("how many people were in the hall yesterday", ["count_people"]),
        ("number of persons in the hall yesterday afternoon", ["count_people"]),
        ("did anyone fall in the hall last night", ["check_activity"]),
        ("tell me whether somebody sat down in the hall yesterday", ["check_activity"]),
        ("did Grace fall in the hall yesterday", ["identify_people", "check_activity"]),
        ("who was in the hall yesterday evening", ["identify_people"]),
        ("who was cooking in the hall yesterday", ["identify_people", "recognise_activity"]),
        ("was Grace in the hall yesterday", ["identify_people"]),
        ("when was somebody in the hall yesterday", []),
        ("when did somebody sit in the hall yesterday", ["recognise_activity"]),
        ("how long was Grace in the hall yesterday", ["identify_people", "measure_presence"]),
        ("how many minutes did Grace spend in the hall yesterday", ["identify_people", "measure_presence"]),
        ("what were people doing in the hall yesterday", ["identify_people", "recognise_activity"]),
        ("were they standing or walking in the hall yesterday", ["recognise_activity"]),
        ("was anybody in the hall yesterday", ["check_activity"]),
        ("any falls in the hall yesterday", ["check_activity"]),
    ],
)
def test_the_form_decides_how_it_ends(text: str, tail: list[str]) -> None:
    assert tools_for(text) == [*SEE, *tail]


def test_what_went_on_is_told_of_a_stretch_of_time_alone() -> None:
    assert tools_for("what happened in the hall yesterday evening") == ["describe_period"]
    assert tools_for("what happened in the hall yesterday at 7 pm") == []


@pytest.mark.parametrize(
    ("text", "video"),
    [
        ("how many people were in the hall by 7 pm yesterday", {"end": "2026-11-19T19:00:00+01:00"}),
        ("when was the last time Grace was in the hall", {"start": "2026-11-13T10:05:00+01:00"}),
        ("has Grace been in the hall", {"start": "2026-11-13T10:05:00+01:00"}),
        ("was Grace in the hall", {}),
    ],
)
def test_how_far_is_looked_back(text: str, video: dict[str, str]) -> None:
    now = FIXED_NOW.replace(hour=10, minute=5)
    plan = asked_of_footage(Utterance(text, now, context=CONTEXT), NONE, ROOMS, TOOLS)
    assert plan is not None
    assert plan.steps[0].arguments == {"room": "hall", **video}


def test_room_time_and_person_are_read() -> None:
    plan = asked_of_footage(
        Utterance("did Grace fall at the front door yesterday evening", FIXED_NOW, context=CONTEXT), NONE, ROOMS, TOOLS
    )
    assert plan is not None
    video = {"room": "front door", "start": "2026-11-19T18:00:00+01:00", "end": "2026-11-19T22:00:00+01:00"}
    assert plan.steps[0].arguments == video
    assert plan.steps[2].arguments["name"] == "Grace Okafor"
    assert plan.steps[3].arguments == {"people": Ref(2, ()), "activity": "fall"}


def test_a_word_in_the_room_is_no_activity() -> None:
    rooms = ("walking room",)
    found = asked_of_footage(
        Utterance("was Grace in the walking room yesterday", FIXED_NOW, context=CONTEXT), NONE, rooms, TOOLS
    )
    assert found is not None
    assert [step.tool for step in found.steps][-1] == "identify_people"


@pytest.mark.parametrize(
    "text",
    [
        "who wrote to me yesterday",
        "show me who was in the hall yesterday",
        "what was said in the hall yesterday",
        "let me see who was in the hall yesterday",
        "did somebody knock or walk in the hall yesterday",
        "remind me to clean the hall tomorrow",
        "turn on the light in the hall",
    ],
)
def test_other_requests_are_left_alone(text: str) -> None:
    assert tools_for(text) == []


@pytest.mark.parametrize(
    ("text", "mistaken", "tail"),
    [
        ("count the people who were in the hall yesterday", "show_frames", ["count_people"]),
        ("was there a fall in the hall yesterday", "detect_sounds", ["check_activity"]),
        ("was there a bang in the hall yesterday", "detect_sounds", None),
        ("who rang at the front door yesterday, do you know them?", "search_memory", ["identify_people"]),
    ],
)
def test_pictures_and_sounds_that_nobody_asked_for_are_replaced(
    text: str, mistaken: str, tail: list[str] | None
) -> None:
    arguments: dict[str, dict[str, Argument]] = {
        "show_frames": {"people": Ref(1, ())},
        "detect_sounds": {"video": Ref(0, ("id",))},
        "search_memory": {"query": "who rang"},
    }
    look = (Step("find_video", {"room": "hall"}), Step("detect_people", {"video": Ref(0, ("id",))}))
    found = Plan((*look, Step(mistaken, arguments[mistaken])), 0.9)
    assert tools_for(text, found) == ([] if tail is None else [*SEE, *tail])


def test_a_plan_with_other_tools_stands() -> None:
    mail = Plan((Step("find_mail", {"query": "hall"}),), 0.9)
    assert tools_for("who wrote about the hall yesterday", mail) == []


def test_plans_about_other_rooms_are_ended_by_the_form() -> None:
    seen = Plan((Step("find_video", {"room": "attic"}), Step("detect_people", {"video": Ref(0, ("id",))})), 0.9)
    did = Plan((*seen.steps, Step("recognise_activity", {"people": Ref(1, ()), "activity": "fall"})), 0.9)
    assert tools_for("how many people were in the attic yesterday", seen) == [*SEE, "count_people"]
    assert tools_for("did anyone fall in the attic yesterday", did) == [*SEE, "check_activity"]
    assert tools_for("when did somebody fall in the attic yesterday", did) == []
    assert tools_for("how many times did somebody come by yesterday", seen) == []
