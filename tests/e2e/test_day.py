"""The day of one owner, scene by scene: judged by what is in the files afterwards and by the answers, not by the log.

Photo, voice and video need the experts: `packages/hearth-video/tests/e2e/test_day_video.py`. Here these scenes are left
out, and say so.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from hearth.demo import day as playing
from hearth.demo.day import (
    DAY_DATA,
    EVENING,
    FORGOTTEN,
    SCENES_OF_THE_DAY,
    TWENTY,
    Day,
    FileRequest,
    Said,
    add_props,
    holding,
    missed,
)
from hearth.demo.demo_home import build_demo_home
from hearth.guard.egress.ledger import Ledger
from hearth.guard.policy.question import RefusingApprover
from hearth.registry import Part, Parts
from hearth.types import Episode

SAID: dict[str, str] = {}
"""What each scene said beside its requests."""
NOW = dt.datetime(2026, 11, 20, 10, 5, tzinfo=ZoneInfo("Europe/Berlin"))


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    """The whole day, played once on a home with a space in its path."""
    home = tmp_path_factory.mktemp("the day") / "demo home"
    build_demo_home(home, NOW)
    add_props(home, NOW)
    day = Day(home, RefusingApprover(), os.environ, lambda: NOW)
    try:
        for _ in day.agent.learn_shipped():
            pass
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Day, "_missing", lambda _: "the experts are not installed")
            for scene in SCENES_OF_THE_DAY:
                shown = list(day.play(scene))
                SAID[scene.key] = "\n".join(line for one in shown if isinstance(one, Said) for line in one.lines)
        yield day
    finally:
        day.close()


def answers(day: Day, key: str) -> list[str]:
    return [episode.answer.text for episode in day.episodes[key]]


def tools(episode: Episode) -> list[str]:
    return [step.tool for step in episode.plan.steps] if episode.plan else []


def texts(day: Day, folder: str) -> dict[str, str]:
    root = day.home / "owner" / folder
    return {str(p.relative_to(root)): p.read_text(encoding="utf-8") for p in root.rglob("*") if p.is_file()}


def test_the_morning_tells_the_day(day: Day) -> None:
    today, tomorrow = answers(day, "morning")
    assert "mails wait for your answer" in today
    for day_, answer in (("20261120", today), ("20261121", tomorrow)):
        held = [text for text in texts(day, "calendar").values() if re.search(rf"DTSTART[^:]*:{day_}T", text)]
        titles = {title for text in held if "RRULE" not in text for title in re.findall(r"SUMMARY:(.+)", text)}
        assert all(title.strip() in answer for title in titles), (titles, answer)


def test_a_mail_and_a_pdf_answer(day: Day) -> None:
    mail, pdf = answers(day, "question")
    assert mail.startswith("334.75 euros (mail “Invoice 2231")
    assert pdf.startswith("five years (document “Funke Elektro")


def test_plans_change_in_conversation(day: Day) -> None:
    _, second, third = day.episodes["conversation"]
    assert second.answer.text.startswith("Taken back: “move the haircut to Thursday at 5 pm”.")
    assert third.answer.text.startswith("Taken back: “no, on Friday”.")
    (haircut,) = (text for name, text in texts(day, "calendar").items() if name.startswith("haircut"))
    start = [line for line in haircut.splitlines() if line.startswith("DTSTART")][-1]  # before it, the zone's own
    assert start.endswith(":20261127T173000")


def test_what_is_missing_is_asked_and_the_answer_completes_it(day: Day) -> None:
    asked, answered = day.episodes["asked_back"]
    assert (asked.answer.status, asked.plan) == ("needs", None)
    assert asked.answer.text.startswith("When?")
    assert tools(answered) == ["add_reminder"]
    assert "ring the dentist, tomorrow at 10:00" in answered.answer.text


def test_of_twenty_requests_in_own_words_two_at_most_are_missed(day: Day) -> None:
    episodes = day.episodes["own_words"]
    assert len(missed(episodes)) <= 2, missed(episodes)
    assert SAID["own_words"].startswith(f"{len(TWENTY) - len(missed(episodes))} of 20 were planned as they were meant")


def test_what_is_not_as_meant_is_counted_as_missed(day: Day) -> None:
    episodes = day.episodes["own_words"]
    assert set(missed(episodes[1:] + episodes[:1])) == {words.text for words in TWENTY}


def test_the_strangers_mail_moved_nothing(day: Day) -> None:
    (episode,) = day.episodes["stranger"]
    assert "reads like an instruction to me; I did not follow it" in episode.answer.text
    assert tools(episode) == ["find_mail", "read_mail"]
    assert not any("collect@parcelino" in text for text in texts(day, "mail/.Drafts").values())
    assert not list((day.home / "owner/mail/.Sent/new").iterdir())


def test_the_teacher_saw_masked_words_and_was_asked_once(day: Day) -> None:
    taught, alone = day.episodes["teacher"]
    assert taught.plan is not None
    assert taught.plan.planner == "cloud:127.0.0.1"
    assert alone.plan is not None
    assert alone.plan.planner == "recall"
    assert tools(taught) == tools(alone) == ["find_events", "draft_mail"]
    assert alone.disclosures == ()
    drafts = "\n".join(texts(day, "mail/.Drafts").values())
    for address in (
        "priya.raman@stadtlinien.example",
        "selma.aydin@stadtlinien.example",
        "a.kowalska@atelier-nord.example",
    ):
        assert address in drafts
    assert "I will be late" in drafts
    assert "we start without Karin" in drafts, "her name is put back on the device"
    assert "without Karin" not in SAID["teacher"]
    assert "went out as: “make it known among the poster review guests that we start without " in SAID["teacher"]
    sent = b"\n".join(entry.payload or b"" for entry in Ledger(day.agent.store).entries(episode=taught.id))
    for private in ("Karin", "Falkenberg", "Priya", "stadtlinien"):
        assert private.encode() not in sent


def test_what_is_private_is_joined_on_the_device(day: Day) -> None:
    # The last scene forgets these two, in the record as well: what is left is what the caller was handed.
    told, dinner = day.episodes["general"]
    assert (tools(told), told.disclosures) == (["remember"], ()), "what is told of somebody asks no teacher"
    assert "Left out: Hazelnut spaetzle" in dinner.answer.text
    assert (
        "From the cloud (recorded teacher); from your facts: Lina Demir is allergic to hazelnuts" in dinner.answer.text
    )
    assert "Lentil soup" in dinner.answer.text


def test_a_correction_holds_for_a_sibling(day: Day) -> None:
    _, revised, sibling = day.episodes["correction"]
    assert tools(revised) == tools(sibling) == ["add_reminder"]
    reminders = texts(day, "reminders").values()
    assert any("boiler service" in text for text in reminders)
    assert any("window cleaner" in text and "T100000" in text for text in reminders)
    assert not any("boiler service" in text for text in texts(day, "calendar").values())


def test_a_failed_tool_is_replaced_in_the_plan(day: Day) -> None:
    (episode,) = day.episodes["repair"]
    assert episode.plan is not None
    assert [(step.tool, step.replaces) for step in episode.plan.steps] == [
        ("live_departure", None),
        ("timetable_departure", 0),
    ]
    assert [result.status for result in episode.results] == ["failed", "done"]
    assert "the timetable among your documents" in episode.answer.text
    assert episode.answer.status == "done"


@pytest.mark.parametrize("key", ["photo", "voice", "video"])
def test_what_is_not_installed_is_left_out_and_named(day: Day, key: str) -> None:
    assert day.left_out[key] == "the experts are not installed"
    assert SAID[key] == "left out: the experts are not installed"
    assert day.episodes[key] == []


def test_nothing_is_left_of_what_was_forgotten(day: Day) -> None:
    before, after = answers(day, "forget")
    assert "hazelnuts" in before
    assert day.episodes["forget"][0].disclosures == (), "what a fact here answers asks no teacher"
    assert after.startswith("I don't know")
    assert day.receipt is not None
    assert (day.receipt.found_in, day.receipt.n_facts) == ((), 1)
    (written,) = (day.home / "receipts").iterdir()
    assert FORGOTTEN not in written.read_text().casefold()
    assert "and 0 hold" in SAID["forget"]
    assert holding(day.home, FORGOTTEN)[1] == 0
    spoken = {one.id for one in day.all_episodes() if FORGOTTEN in f"{one.request.text} {one.answer.text}".casefold()}
    assert len(spoken) == 3
    assert spoken <= day.forgotten, "the report of the day leaves them out"


def test_the_report_tells_the_day_scene_by_scene_without_what_was_forgotten(day: Day) -> None:
    told = {chapter.title: chapter.told for chapter in day.chapters()}
    assert [*told] == [*(scene.title for scene in SCENES_OF_THE_DAY), EVENING]
    by_key = {scene.key: told[scene.title] for scene in SCENES_OF_THE_DAY}
    kept = [part.id for parts in told.values() for part in parts if isinstance(part, Episode)]
    assert kept == [one.id for one in day.all_episodes() if one.id not in day.forgotten]
    assert by_key["general"] == ("forgotten, and so not repeated here: 2 requests of this scene",)
    said = "\n".join(part for parts in told.values() for part in parts if isinstance(part, str))
    assert FORGOTTEN not in said
    assert "went out as: “make it known" in said
    assert "byte by byte, and 0 hold “…”" in said
    assert "(bytes forgotten)" in said


def test_the_ledger_and_the_curve_of_the_day(day: Day) -> None:
    sent = day.sent()
    assert {entry.host for entry in sent} == {"127.0.0.1"}
    assert [entry.reason for entry in sent].count("cloud: answering") == 1
    assert any(entry.payload is None for entry in sent), "the forgotten question's bytes are erased"
    marks, told = day.curve()
    assert len(marks) == len(day.all_episodes())
    missed_here = sum(one.plan is None for key in ("asked_back", "own_words") for one in day.episodes[key])
    assert (marks.count("▄"), marks.count("▂"), marks.count("▁")) == (1, 1, missed_here), (marks, told)
    alone = [one for one, mark in zip(day.all_episodes(), marks, strict=True) if mark == "█"]
    assert not any(one.disclosures for one in alone), "what was planned alone sent nothing"
    assert marks.count("▆") == sum(bool(one.disclosures) for one in day.all_episodes()) - 1


# ── Where something is missing ────────────────────────────────────────────────────────────────────────────


def test_the_day_goes_on_without_a_teacher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    build_demo_home(home, NOW)
    (tmp_path / "teacher.json").write_text("{}")
    monkeypatch.setattr("hearth.demo.day.DAY_DATA", tmp_path)
    day = Day(home, RefusingApprover(), os.environ)
    try:
        (said,) = day._act(SCENES_OF_THE_DAY[0], playing.Join(), [])
        assert isinstance(said, Said)
        assert said.lines[0].startswith("no teacher: the teacher did not start: ")
        assert "holds no recorded answers (KeyError: 'plans')" in said.lines[0]
    finally:
        day.close()


def test_a_plug_in_that_fails_leaves_its_scene_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> tuple[str, tuple[FileRequest, ...]]:
        raise ValueError("no light")

    home = tmp_path / "home"
    build_demo_home(home, NOW)
    monkeypatch.setattr(playing, "load_parts", lambda _: Parts((Part("slides", broken, "hearth-slides"),), ()))
    day = Day(home, RefusingApprover(), os.environ)
    try:
        scene = next(scene for scene in SCENES_OF_THE_DAY if scene.key == "video")
        lines = [line for said in day._act(scene, playing.Film(), []) if isinstance(said, Said) for line in said.lines]
        assert "left out: " in lines[-1]
        assert "no light" in lines[-1]
        assert "no light" in day.left_out["video"]
    finally:
        day.close()


def test_a_plug_in_says_how_far_it_is_and_is_asked_about_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def boat(*_: object) -> Iterator[str | FileRequest]:
        yield "half of it"
        yield FileRequest("boat-1", "what is 12 times 12")
        yield "all of it"

    home = tmp_path / "home"
    build_demo_home(home, NOW)
    monkeypatch.setattr(playing, "load_parts", lambda _: Parts((Part("boat", boat, "hearth-boat"),), ()))
    day = Day(home, RefusingApprover(), os.environ)
    try:
        scene = next(scene for scene in SCENES_OF_THE_DAY if scene.key == "video")
        shown = list(day._act(scene, playing.Film(), []))
        assert [line for one in shown if isinstance(one, Said) for line in one.lines] == [
            *("adding boat to the home …", "half of it", "all of it"),
        ]
        assert [type(one) for one in shown[-2:]] == [playing.Asked, Episode]
        assert day.left_out == {}
    finally:
        day.close()


def test_the_recorded_teacher_is_json_that_only_names_tools_there_are(day: Day) -> None:
    recorded = json.loads((Path(str(DAY_DATA)) / "teacher.json").read_text(encoding="utf-8"))
    named = {node["task"] for plan in recorded["plans"] for node in plan["given"]["plan"]["task_nodes"]}
    assert named <= day.agent.tools.specs.keys()
