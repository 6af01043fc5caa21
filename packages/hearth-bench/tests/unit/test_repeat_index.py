"""What was asked before in nearly the same words: times moved, values exchanged, phrases kept, meanings contradicted."""

from __future__ import annotations

import datetime as dt
import hashlib
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.planning.adaptation import moved
from hearth.planning.repeat_planner import Repeat, rarity_of
from hearth.types import Demonstration, Plan, Ref, Request, Step
from hearth_bench.fleet.repeat_index import Repeats

ZONE = ZoneInfo("Europe/London")
MONDAY = dt.datetime(2026, 9, 14, 21, 0, tzinfo=ZONE)
RARITY = rarity_of(["turn the lamp on please", "what is on tomorrow", "tell the others that it rains"])
DIM = 32


def vector(text: str) -> np.ndarray:
    """Letters in threes: alike for texts alike."""
    row = np.zeros(DIM, dtype=np.float32)
    for k in range(len(text) - 2):
        row[hashlib.sha256(text[k : k + 3].lower().encode()).digest()[0] % DIM] += 1
    return row / max(float(np.linalg.norm(row)), 1e-9)


def taught(*lessons: tuple[str, Plan], most: int = 100) -> Repeats:
    found = Repeats(RARITY, DIM, most)
    for k, (text, plan) in enumerate(lessons):
        found.add(Demonstration(str(k), text, plan, source="owner", now=MONDAY), vector(text))
    return found


def best(repeats: Repeats, text: str, now: dt.datetime = MONDAY) -> Repeat:
    return repeats.propose(Request(text, now), vector(text))[0]


def plan(*steps: Step) -> Plan:
    return Plan(steps)


NIGHT = plan(Step("turn_off", {"device": "hall lamp"}), Step("lock_door", {"device": "front door"}))
LOG = plan(Step("find_notes", {"query": "log"}), Step("append_to_note", {"note": Ref(0, ("id",)), "text": "it rained"}))
MAIL = plan(Step("find_contact", {"name": "Ruth"}), Step("draft_mail", {"to": [Ref(0, ("email",))], "text": "see you"}))


def test_the_very_words_give_the_very_plan_and_surely() -> None:
    repeats = taught(("goodnight house", NIGHT), ("log: it rained", LOG))
    found = best(repeats, "goodnight house")
    assert found.plan.steps == NIGHT.steps
    assert found.sureness > 0.9


@pytest.mark.parametrize("text", ["godnight house", "goodnight huose", "please goodnight house", "Goodnight, house!"])
def test_errors_of_typing_and_politeness_change_nothing(text: str) -> None:
    assert best(taught(("goodnight house", NIGHT), ("log: it rained", LOG)), text).plan.steps == NIGHT.steps


def test_something_else_is_not_sure() -> None:
    assert best(taught(("goodnight house", NIGHT)), "order me a taxi with a ramp").sureness < 0.2


def test_a_text_at_the_end_is_read_anew() -> None:
    found = best(taught(("log: it rained", LOG)), "log: the tap drips again")
    assert found.plan.steps[1].arguments["text"] == "the tap drips again"
    assert found.plan.steps[0] == LOG.steps[0]


def test_a_quotation_is_read_whole() -> None:
    lesson = 'answer the venue "it rained", and out'
    said = plan(Step("draft_reply", {"text": "it rained"}))
    found = best(taught((lesson, said)), 'answer the venue "thank you all, and out", and out')
    assert found.plan.steps[0].arguments["text"] == "thank you all, and out"


def test_a_name_is_exchanged_where_it_stood() -> None:
    found = best(taught(("mail Ruth's sister: see you", MAIL)), "mail Daniel's sister: see you")
    assert found.plan.steps[0].arguments["name"] == "Daniel"
    assert found.plan.steps[1].arguments["text"] == "see you"


def test_a_number_stays_a_number() -> None:
    lamp = plan(Step("set_brightness", {"device": "lamp", "percent": 30}))
    found = best(taught(("lamp at 30 percent", lamp)), "lamp at 45 percent")
    assert found.plan.steps[0].arguments["percent"] == 45
    words = best(taught(("lamp at 30 percent", lamp)), "lamp at forty percent")
    assert words.plan.steps[0].arguments["percent"] == 30  # not read: and less sure
    assert words.signs[6] == 0 or words.sureness < found.sureness


def test_a_value_that_was_not_said_is_kept() -> None:
    assert best(taught(("goodnight house", NIGHT)), "goodnight house").plan.steps[0].arguments["device"] == "hall lamp"


def test_times_move_by_days_at_the_same_hour_over_the_change_of_clocks() -> None:
    tomorrow = plan(Step("find_events", {"start": "2026-09-15T00:00:00+01:00", "end": "2026-09-16T00:00:00+01:00"}))
    later = dt.datetime(2026, 10, 30, 21, 0, tzinfo=ZONE)  # winter time
    found = best(taught(("what is on tomorrow", tomorrow)), "what is on tomorrow", later)
    assert found.plan.steps[0].arguments["start"] == "2026-10-31T00:00:00+00:00"


def test_dates_alone_move_and_other_texts_stay() -> None:
    asked = plan(Step("compare_days", {"day": "2026-09-14", "room": "2026 hall", "list": ["2026-09-13", 3]}))
    assert moved(asked, MONDAY, MONDAY + dt.timedelta(days=2)).steps[0].arguments == {
        "day": "2026-09-16",
        "room": "2026 hall",
        "list": ["2026-09-15", 3],
    }


@given(st.integers(-400, 400), st.integers(-400, 400))
def test_moving_twice_is_moving_once(first: int, second: int) -> None:
    asked = plan(Step("add_reminder", {"at": "2026-09-15T09:30:00+01:00", "text": "call"}))
    one, two = (MONDAY.replace(hour=12) + dt.timedelta(days=n) for n in (first, first + second))
    twice = moved(moved(asked, MONDAY.replace(hour=12), one), one, two)
    assert twice == moved(asked, MONDAY.replace(hour=12), two)


def test_a_contradicted_meaning_is_forgotten_and_others_stay() -> None:
    warm = plan(*NIGHT.steps, Step("set_temperature", {"temperature": 18}))
    repeats = taught(("goodnight house", NIGHT), ("goodnight", NIGHT), ("log: it rained", LOG))
    wrong = best(repeats, "goodnight dear house")
    assert repeats.contradict("goodnight dear house", vector("goodnight dear house"), wrong, warm) == 2
    assert len(repeats) == 1
    repeats.add(Demonstration("new", "goodnight dear house", warm, now=MONDAY), vector("goodnight dear house"))
    assert best(repeats, "goodnight").plan.steps == warm.steps


def test_a_misread_value_contradicts_no_meaning() -> None:
    repeats = taught(("log: it rained", LOG))
    wrong = best(repeats, "log: it snows")
    right = plan(LOG.steps[0], Step("append_to_note", {"note": Ref(0, ("id",)), "text": "it snows"}))
    assert repeats.contradict("log: it snows", vector("log: it snows"), wrong, right) == 0
    assert len(repeats) == 1


def test_the_one_wanted_longest_ago_gives_way() -> None:
    repeats = taught(("goodnight house", NIGHT), ("log: it rained", LOG), most=2)
    repeats.used("0")
    repeats.add(Demonstration("2", "mail Ruth: see you", MAIL, now=MONDAY), vector("mail Ruth: see you"))
    assert len(repeats) == 2
    assert best(repeats, "goodnight house").sureness > 0.9
    assert best(repeats, "log: it rained").sureness < 0.5


def test_nothing_taught_proposes_nothing() -> None:
    assert taught().propose(Request("goodnight", MONDAY), vector("goodnight")) == []
    assert taught().nearest(vector("goodnight")) is None


def test_the_same_words_taught_again_replace() -> None:
    repeats = taught(("goodnight house", NIGHT))
    repeats.add(Demonstration("0", "goodnight house", LOG, now=MONDAY), vector("goodnight house"))
    assert len(repeats) == 1
    assert best(repeats, "goodnight house").plan.steps == LOG.steps


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_texts_are_laid_side_by_side(lesson: str, text: str) -> None:
    found = taught((lesson, LOG)).propose(Request(text, MONDAY), vector(text))
    assert len(found) == 1
    assert 0 <= found[0].sureness <= 1
    assert np.isfinite(found[0].signs).all()
