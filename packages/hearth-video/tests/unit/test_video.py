"""Home video as tools tell it: which time and room is meant, who, doing what, how sure, and what is not there."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, cast

import pytest

from hearth.errors import CancelledError, NotFound, ToolError
from hearth.formats.tool_signature import to_plain
from hearth.protocols import CallContext, Recording, Sighting
from hearth.testing import FIXED_NOW, ScriptedFootage, check_tool, make_call
from hearth.types import Plain
from hearth_video.tools.video import (
    TOOLS,
    check_activity,
    compare_days,
    count_people,
    describe_period,
    detect_people,
    find_video,
    identify_people,
    measure_presence,
    recognise_activity,
    show_frames,
)

YESTERDAY = FIXED_NOW.replace(day=19)


def at(hour: int, minute: int = 0, day: int = 19) -> dt.datetime:
    return FIXED_NOW.replace(day=day, hour=hour, minute=minute)


def recording(room: str, start: dt.datetime, end: dt.datetime) -> Recording:
    return Recording(f"r-{room}-{start:%d%H%M}", room, room, start, end, False)


def sighting(id: str, room: str, start: dt.datetime, minutes: float, name: str = "", **more: Any) -> Sighting:
    known = {"name": name, "name_confidence": more.pop("sure", 0.95 if name else 0.0), "confidence": 0.95}
    return Sighting(id, room, room, start, start + dt.timedelta(minutes=minutes), **{**known, **more})


RECORDINGS = (
    recording("kitchen", at(17), at(22)),
    recording("hall", at(18), at(20)),
    recording("kitchen", at(7, day=20), at(9, day=20)),
    recording("kitchen", at(10, day=13), at(12, day=13)),
)
SIGHTINGS = (
    sighting("a", "kitchen", at(18, 2), 20, "Anna", activity="walk", activity_confidence=0.9),
    sighting("b", "kitchen", at(18, 23), 30, "Anna", activity="sit", activity_confidence=0.7),
    sighting("c", "hall", at(19), 1, "Ben", sure=0.65, activity="walk", activity_confidence=0.5),
    sighting("d", "kitchen", at(20, 30), 5),
    sighting("e", "kitchen", at(8, day=20), 10, "Ben", activity="stand", activity_confidence=0.9),
)


@pytest.fixture
def call() -> CallContext:
    return make_call(footage=ScriptedFootage(RECORDINGS, SIGHTINGS))


def run(call: CallContext, tool: Any, **arguments: object) -> Any:
    return to_plain(tool.call(arguments, call))


def people(call: CallContext, room: str = "kitchen", first: int = 18, last: int = 22) -> Any:
    video = run(call, find_video, room=room, start=at(first), end=at(last))
    return run(call, detect_people, video=video["id"])


ARGUMENTS: Mapping[str, Mapping[str, Plain]] = {
    "find_video": {"room": "the kitchen", "start": at(18).isoformat(), "end": at(22).isoformat()},
    "describe_period": {"room": "kitchen", "start": at(18).isoformat(), "end": at(22).isoformat()},
    "compare_days": {"day": "2026-11-19", "other": "2026-11-20"},
}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: str(tool.spec.name))
def test_the_contract(tool: Any, call: CallContext) -> None:
    arguments = dict(ARGUMENTS.get(tool.spec.name, {}))
    if not arguments and tool is detect_people:
        arguments = {"video": run(call, find_video, room="kitchen", start=at(18), end=at(22))["id"]}
    elif not arguments:
        arguments = {"people": people(call), **({"activity": "sit"} if tool is check_activity else {})}
    assert check_tool(tool, arguments, call)
    assert (tool.spec.effect, tool.spec.source, tool.spec.domain) == ("none", "sensor", "video")


def test_the_chain_from_a_room_and_a_time_to_who_did_what(call: CallContext) -> None:
    seen = people(call)
    assert [one["text"] for one in seen] == ["somebody", "somebody", "somebody"]
    named = run(call, identify_people, people=seen)
    assert [one["name"] for one in named] == ["Anna", "Anna", ""]
    assert named[2]["text"] == "somebody I don't know"
    anna = run(call, identify_people, people=seen, name="Anna")
    did = run(call, recognise_activity, people=anna)
    assert [one["text"] for one in did] == ["Anna, walking", "Anna, probably sitting"]
    assert [one["text"] for one in run(call, recognise_activity, people=anna, activity="sit")] == [did[1]["text"]]
    assert run(call, measure_presence, people=anna)[0]["text"] == "Anna: seen once, 51 min in all"
    first = run(call, show_frames, people=anna)[0]
    assert (first["path"], first["text"]) == ("/pictures/a.png", "Anna in the kitchen")


def test_people_are_counted_and_strangers_each_time_they_come(call: CallContext) -> None:
    counted = run(call, count_people, people=people(call))
    assert (counted["n_people"], counted["n_known"]) == (2, 1)
    assert counted["text"] == "2 people: Anna and one I don't know."
    assert run(call, count_people, people=people(call, "hall", 18, 20))["text"] == "1 person: Ben."
    everyone = run(call, count_people, people=[*people(call), *people(call, "hall", 18, 20)])
    assert everyone["text"] == "3 people: Anna, Ben and one I don't know."
    assert run(call, count_people, people=[])["text"] == "Nobody: 0 people were seen."


def test_only_strangers_are_counted_again() -> None:
    strangers = [sighting(f"s{k}", "hall", at(18, 10 * k), 1) for k in range(3)]
    call = make_call(footage=ScriptedFootage(RECORDINGS, strangers))
    counted = run(call, count_people, people=people(call, "hall", 18, 20))
    assert counted["text"] == "3 people: nobody I know; who comes back is counted again."


def test_yes_or_no_comes_with_the_moment_and_how_sure(call: CallContext) -> None:
    yes = run(call, check_activity, people=people(call), activity="sit")
    assert yes["text"] == (
        "Yes, once. I am fairly sure (70 %): Anna sitting in the kitchen on Thursday 19 November at 18:23:00."
    )
    assert (yes["is_so"], yes["moments"]) == (True, ["2026-11-19T18:23:00+01:00"])
    no = run(call, check_activity, people=people(call), activity="fall")
    assert no["text"] == (
        "No, nobody was seen falling. Of 3 sightings I could tell what was done for 91 % of the time: "
        "they were sitting and walking."
    )
    assert (no["is_so"], no["confidence"]) == (False, pytest.approx(50 / 55))
    nobody = run(call, check_activity, people=[], activity="fall")
    assert nobody["text"] == "No: nobody was seen, so nobody was seen falling."


def test_whether_anybody_was_there_is_yes_or_no(call: CallContext) -> None:
    yes = run(call, check_activity, people=people(call))
    assert yes["is_so"]
    assert yes["text"].startswith("Yes: Anna and somebody I don't know in the kitchen, Thursday 19 November, from 18:")
    assert run(call, check_activity, people=[])["text"] == "No, nobody was seen."


def test_the_surest_of_several_moments_is_told_and_the_first() -> None:
    falls = [
        sighting("a", "hall", at(18, 10), 1, activity="fall", activity_confidence=0.5),
        sighting("b", "hall", at(18, 40), 1, "Ben", activity="fall", activity_confidence=0.9),
    ]
    call = make_call(footage=ScriptedFootage(RECORDINGS, falls))
    told = run(call, check_activity, people=people(call, "hall", 18, 20), activity="fall")
    assert told["text"] == (
        "Yes, 2 times. I am sure (90 %) of one: Ben falling in the hall on Thursday 19 November at 18:40:00. "
        "First: Somebody I don't know, 18:10:00."
    )


def test_how_sure_is_said_in_words(call: CallContext) -> None:
    seen = run(call, recognise_activity, people=people(call, "hall", 18, 20))
    assert seen[0]["text"] == "probably Ben, perhaps walking"


def test_nobody_is_an_answer_and_not_a_fault(call: CallContext) -> None:
    nobody = people(call, "kitchen", 21, 22)
    assert nobody == []
    for tool in (identify_people, recognise_activity, measure_presence, show_frames):
        assert run(call, tool, people=[]) == []


def test_somebody_else_was_there(call: CallContext) -> None:
    assert run(call, identify_people, people=people(call), name="Zoe") == []
    assert "not recognised as Zoe: Anna and 1 person I don't know" in call.notices[-1]
    # more of a name than was enrolled, and less of one
    assert len(run(call, identify_people, people=people(call), name="Anna Weiss")) == 2


@pytest.mark.parametrize(
    ("arguments", "start", "end"),
    [
        ({}, at(0, day=20), FIXED_NOW),
        ({"start": at(18)}, at(18), FIXED_NOW),
        ({"end": at(19)}, at(0), at(19)),
        ({"end": at(0, day=20)}, at(0), at(0, day=20)),
        ({"at": at(19)}, at(18, 55), at(19, 5)),
        ({"start": at(19), "end": at(19)}, at(18, 55), at(19, 5)),
        ({"start": at(18), "end": at(23, day=21)}, at(18), FIXED_NOW),
        # Friday the 20th asks about "Friday" and "Thursday": those before
        ({"start": at(0, day=27), "end": at(12, day=27)}, at(0, day=20), FIXED_NOW),
        ({"start": at(0, day=26), "end": at(0, day=27)}, at(0), at(0, day=20)),
    ],
)
def test_which_time_is_meant(
    call: CallContext, arguments: Mapping[str, object], start: dt.datetime, end: dt.datetime
) -> None:
    found = cast(Any, find_video.call(arguments, call))
    assert (found.start, found.end) == (start, end)


def test_a_day_to_come_is_the_one_before_and_says_so(call: CallContext) -> None:
    run(call, find_video, start=at(0, day=26), end=at(0, day=27))
    assert call.notices[0] == "Thursday 26 November is still to come, so I looked at Thursday 19 November"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"start": at(15, day=20)}, "15:00 later today is still to come"),
        ({"start": at(8, day=29)}, "still to come"),
        ({"start": at(20), "end": at(18)}, "is not after the start"),
        ({"at": at(18), "start": at(18)}, "give either `at` or"),
        ({"start": at(8, day=1) - dt.timedelta(days=40)}, "at most 31 days"),
        ({"end": dt.datetime.min.replace(tzinfo=dt.UTC)}, "a calendar"),
        ({"room": "attic"}, "there is video of hall and kitchen"),
        (
            {"room": "kitchen", "at": at(3)},
            "from 02:55 to 03:05; there is video of .*the kitchen on Thursday 19 November from 17:00 to 22:00",
        ),
    ],
)
def test_what_cannot_be_found_says_what_there_is(call: CallContext, arguments: Mapping[str, object], told: str) -> None:
    with pytest.raises(ToolError, match=told):
        find_video.call(arguments, call)


@pytest.mark.parametrize("room", ["Kitchen", "the kitchen", "my kitchen", "kitchen camera"])
def test_a_room_by_what_it_is_called(call: CallContext, room: str) -> None:
    assert cast(Any, find_video.call({"room": room, "at": at(19)}, call)).room == "kitchen"


@pytest.mark.parametrize("room", ["", "the house", "home", "the room"])
def test_no_room_is_every_room(call: CallContext, room: str) -> None:
    found = cast(Any, find_video.call({"room": room, "at": at(19)}, call))
    assert (found.room, found.cameras) == ("", ("hall", "kitchen"))


def test_gaps_are_told(call: CallContext) -> None:
    find_video.call({"room": "hall", "start": at(18), "end": at(22)}, call)
    assert call.notices == ["There is video only of the hall on Thursday 19 November from 18:00 to 20:00"]
    other = make_call(footage=ScriptedFootage(RECORDINGS))
    find_video.call({"room": "hall", "start": at(18), "end": at(20)}, other)
    assert other.notices == []


def test_without_video_it_says_how_to_add_some() -> None:
    with pytest.raises(NotFound, match="hearth video add"):
        find_video.call({}, make_call(footage=ScriptedFootage()))
    with pytest.raises(ToolError, match="not available"):
        find_video.call({}, make_call())


@pytest.mark.parametrize("video", ["", "kitchen", "kitchen@x/y", "@2026-11-19T18:00/2026-11-19T19:00", 7, None])
def test_an_id_nobody_gave_is_no_video(call: CallContext, video: object) -> None:
    with pytest.raises(NotFound, match="find_video"):
        detect_people.call({"video": video}, call)


def test_stopping_stops_looking(call: CallContext) -> None:
    video = run(call, find_video, room="kitchen", at=at(19))
    call.cancelled.set()
    with pytest.raises(CancelledError):
        detect_people.call({"video": video["id"]}, call)


def test_a_period_in_words_with_its_timeline(call: CallContext) -> None:
    told = cast(Any, describe_period.call({"start": at(18), "end": at(22)}, call))
    assert told.text.splitlines() == [
        "On Thursday 19 November from 18:00 to 22:00:",
        "· 18:02 to 18:53: Anna in the kitchen, probably sitting (30 min) and walking (20 min)",
        "· 19:00 to 19:01: probably Ben in the hall, perhaps walking (1 min)",
        "· 20:30 to 20:35: somebody I don't know in the kitchen",
    ]
    assert told.timeline == "/pictures/timeline-4.png"
    empty = cast(Any, describe_period.call({"start": at(21), "end": at(22), "room": "kitchen"}, call))
    assert (empty.text, empty.timeline) == (
        "Nobody was seen in the kitchen on Thursday 19 November from 21:00 to 22:00.",
        "",
    )


def test_two_days_side_by_side(call: CallContext) -> None:
    told = cast(Any, compare_days.call({"day": YESTERDAY.date(), "other": FIXED_NOW.date(), "room": "kitchen"}, call))
    assert told.text.splitlines() == [
        "Thursday 19 November: Anna from 18:02 to 18:53, 51 min in view (probably sitting (30 min) and walking "
        "(20 min)); people I do not know from 20:30 to 20:35, 5 min in view.",
        "Friday 20 November: Ben from 08:00 to 08:10, 10 min in view (standing (10 min)).",
    ]
    with pytest.raises(ToolError, match="given twice"):
        compare_days.call({"day": YESTERDAY.date(), "other": YESTERDAY.date()}, call)


def test_strangers_stay_blurred_unless_asked(call: CallContext) -> None:
    seen = people(call)
    run(call, show_frames, people=seen)
    run(call, show_frames, people=seen, show_strangers=True)
    assert [shown for _, shown in cast(ScriptedFootage, call.footage).shown] == [False, True]


def test_of_many_sightings_some_are_shown_over_the_whole_time() -> None:
    many = [sighting(f"m{k:02d}", "kitchen", at(18, k), 0.5) for k in range(40)]
    call = make_call(footage=ScriptedFootage(RECORDINGS, many))
    shown = run(call, show_frames, people=people(call))
    assert len(shown) == 12
    assert "28 more are not shown" in call.notices[-1]
    assert shown[-1]["at"] > at(18, 30).isoformat()


def test_times_are_the_owners_whatever_zone_footage_speaks_in() -> None:
    utc = sighting("z", "kitchen", at(18, 2).astimezone(dt.UTC), 5, "Anna")
    call = make_call(footage=ScriptedFootage(RECORDINGS, [utc]))
    seen = run(call, identify_people, people=people(call))
    assert (seen[0]["start"], seen[0]["length"]) == (at(18, 2).isoformat(), "PT5M")
