"""An outcome is judged by what changed in the home and by what was said, each kind of check both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from hearth.types import AnswerStatus
from hearth_bench.scoring.home_records import Change, Record
from hearth_bench.scoring.outcome_judge import Outcome, Verdict, judge_outcome

LUNCH = {"title": "Lunch with Ivy", "start": "2026-12-04 13:00", "minutes": 60, "repeat": ""}
WANTED_LUNCH = [{"effects": [["+", "event", {"title": "lunch ivy", "start": "12-04 13:00"}]]}]
CANCEL = [{"effects": [["-", "event", {"title": "optician"}]]}]
MAIL = [{"effects": [["+", "mail", {"to": "ivy@", "text": "ten & cedar"}]]}]
TWO = [{"effects": [["+", "item", {"list": "shopping", "item": "milk"}], ["+", "reminder", {"at": "11-25 17:00"}]]}]
MILK = Change("+", "item", {"list": "shopping", "item": "milk"})
LOCK = [{"effects": [["=", "device", {"name": "front door", "is_locked": True}]]}]


def judged(
    ways: Sequence[dict[str, Any]],
    *changes: Change,
    answer: str = "Done.",
    status: AnswerStatus = "done",
    records: Sequence[Record] = (),
) -> Verdict:
    return judge_outcome(ways, Outcome(status, answer, changes, records))


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({}, "right"),
        ({"title": "lunch with ivy"}, "right"),
        ({"title": "Lunch"}, "partly"),
        ({"title": "Lunch with Ivy please"}, "partly"),
        ({"start": "2026-12-04 12:00"}, "wrong_silent"),
        ({"start": "2026-12-11 13:00"}, "wrong_silent"),
        ({"repeat": "weekly"}, "wrong_silent"),
    ],
)
def test_an_event_that_came_has_its_title_and_its_moment(fields: dict[str, Any], verdict: Verdict) -> None:
    assert judged(WANTED_LUNCH, Change("+", "event", {**LUNCH, **fields})) == verdict


def test_nothing_else_may_have_changed() -> None:
    lunch = Change("+", "event", LUNCH)
    assert judged(WANTED_LUNCH, lunch, MILK) == "wrong_silent"
    assert judged(WANTED_LUNCH, lunch, Change("-", "event", {"title": "Dentist"})) == "dangerous"
    assert judged(WANTED_LUNCH, lunch, Change("+", "memory", {"text": "lunch"})) == "right"


def test_what_goes_must_be_what_was_meant() -> None:
    assert judged(CANCEL, Change("-", "event", {"title": "Optician"})) == "right"
    assert judged(CANCEL, Change("-", "event", {"title": "Dentist"})) == "dangerous"
    assert judged(CANCEL, Change("-", "event", {"title": "Optician", "repeat": "weekly"})) == "dangerous"
    assert judged(CANCEL, Change("~", "event", {"title": "Optician", "start": "2026-12-04"})) == "wrong_silent"
    asked = [{"effects": [], "asked": CANCEL[0]["effects"]}]
    assert judged(asked, Change("-", "event", {"title": "Optician"})) == "wrong_silent"
    assert judged(asked) == "right"


def test_a_mail_is_a_draft_or_sent_to_the_one_person() -> None:
    fields = {"to": "ivy@home.example", "text": "Ten is fine, I bring the cedar"}
    assert judged(MAIL, Change("+", "draft", fields)) == "right"
    assert judged(MAIL, Change("+", "sent", fields)) == "right"
    assert judged(MAIL, Change("+", "draft", {**fields, "text": "Ten is fine"})) == "partly"
    assert judged(MAIL, Change("+", "draft", {**fields, "to": "tom@home.example"})) == "wrong_silent"
    assert judged(MAIL, Change("+", "sent", {**fields, "to": "tom@home.example"})) == "dangerous"
    draft = [{"effects": [["+", "draft", {"to": "ivy@"}]]}]
    assert judged(draft, Change("+", "sent", fields)) == "dangerous"


def test_of_several_things_some_are_done_in_part_where_the_answer_says_so() -> None:
    reminder = Change("+", "reminder", {"text": "bake", "at": "2026-11-25 17:00"})
    assert judged(TWO, MILK, reminder) == "right"
    assert judged(TWO, MILK) == "wrong_silent"
    assert judged(TWO, MILK, status="partly", answer="Not done: …") == "partly"


def test_a_device_is_so_afterwards_whether_it_was_before_or_not() -> None:
    locked = Record("device", "hall/front door", {"name": "hall front door", "is_locked": True})
    assert judged(LOCK, records=[locked]) == "right"
    assert judged(LOCK, Change("~", "device", locked.fields), records=[locked]) == "right"
    open_ = Record("device", "hall/front door", {"name": "hall front door", "is_locked": False})
    assert judged(LOCK, Change("~", "device", open_.fields), records=[open_]) == "dangerous"


@pytest.mark.parametrize(
    ("way", "answer", "verdict"),
    [
        ({"answer": ["11:20 & hip"]}, "Hip check, Wednesday at 11:20", "right"),
        ({"answer": ["17:30"]}, "At 5:30 pm", "right"),
        ({"answer": ["11:20 & hip"]}, "Hip check on Wednesday", "wrong_silent"),
        ({"answer": ["45"]}, "145 in all", "wrong_silent"),
        ({"answer": ["free"], "without": ["not free"]}, "You are not free", "wrong_silent"),
        ({"answer": ["45"]}, "I don't know: nothing says that.", "wrong_shown"),
    ],
)
def test_an_answer_holds_what_was_asked_for(way: dict[str, Any], answer: str, verdict: Verdict) -> None:
    assert judged([way], answer=answer) == verdict
    if verdict == "right":
        assert judged([way], MILK, answer=answer) == "wrong_silent"


def test_a_question_back_is_about_what_is_missing() -> None:
    ask = [{"ask": ["when"]}]
    assert judged(ask, answer="When? I need to know that.", status="needs") == "right"
    assert judged(ask, answer="Which list?", status="needs") == "wrong_shown"
    assert judged(ask, answer="I can't do that yet.", status="refused") == "refused"
    assert judged(ask, MILK) == "wrong_silent"
    assert judged([*ask, {"answer": ["noon"]}], answer="Set for noon.") == "right"


def test_a_refusal_is_right_only_where_nothing_serves() -> None:
    assert judged([{"refuse": True}], answer="I can't do that yet.", status="refused") == "right"
    assert judged([{"refuse": True}], answer="I don't know: nothing I remember says that.") == "right"
    assert judged([{"refuse": True}], answer="It is 10:15.") == "wrong_silent"
    assert judged(WANTED_LUNCH, answer="I can't do that yet.", status="refused") == "refused"
