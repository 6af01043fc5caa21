"""python -m pytest tests/unit/memory/test_question_answering.py"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hearth.memory.answers.question_answering import (
    LOOKED_AT,
    Chances,
    ago,
    answer_from,
    candidates,
    chances_of,
    is_of_another_matter,
    said_period,
    signs_of_evidence,
    spans_for,
    telling_sentence,
    to_owner,
)
from hearth.memory.answers.recollection import Recollection
from hearth.memory.event_memory import EventMemory, Found, NewEvent
from hearth.memory.facts import FactStore
from hearth.memory.search.search_words import Period, times_named
from hearth.storage.database import Store
from hearth.testing import HashEncoder

NOW = dt.datetime(2023, 6, 1, 12, tzinfo=dt.UTC)


def day(month: int, number: int, hour: int = 12) -> dt.datetime:
    return dt.datetime(2023, month, number, hour, tzinfo=dt.UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[EventMemory]:
    with Store.open(tmp_path / "a.db") as store:
        found = EventMemory(store, HashEncoder(384), times_named)
        said = [
            ("Ana", day(5, 8), "I went to the pottery class yesterday."),
            ("Ben", day(5, 9), "We have kept bees for 5 years. The honey is good!"),
            ("Ana", day(5, 20), "I adopted a cat. Her name is Pixel."),
            ("Ben", day(5, 21), "I ran three marathons."),
            ("Ana", day(5, 22), "I sang in the choir on Friday."),
            ("Ana", day(5, 23), "The dance recital is on Friday."),
            ("Ben", day(5, 24), "The terrier weighs 4.3 kilos."),
        ]
        found.remember_all(
            NewEvent(f"e{k}", text, "message", at, person=person, thread=f"t{k}")
            for k, (person, at, text) in enumerate(said)
        )
        yield found


def best(memory: EventMemory, question: str) -> tuple[str, str]:
    found = memory.look_closely(question, limit=10, now=NOW)
    said = answer_from(memory, question, found, NOW, is_forced=True)
    return said.kind, said.text


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When did Ana go to the pottery class?", ("time", "7 May 2023")),
        ("What date was the pottery class?", ("time", "7 May 2023")),
        ("When did Ana adopt a cat?", ("time", "20 May 2023")),
        ("When did Ana sing in the choir?", ("time", "19 May 2023")),
        ("When is the dance recital?", ("time", "26 May 2023")),
        ("How long ago did Ana adopt a cat?", ("ago", "1 week and 5 days ago")),
        ("How long has Ben kept bees?", ("span", "5 years")),
        ("How many marathons did Ben run?", ("span", "three")),
        ("What is the name of Ana's cat?", ("said", "Pixel")),
        ("How much does the terrier weigh?", ("span", "4.3 kilos")),
        ("Why did Ana adopt a cat?", ("said", "I adopted a cat.")),
        ("Did Ana go to the pottery class before Ana adopted a cat?", ("order", "Yes")),
        ("Did Ana go to the pottery class after Ana adopted a cat?", ("order", "No")),
        ("What came first, the pottery class or the adopted cat?", ("order", "the pottery class")),
    ],
)
def test_answers_what_the_question_asks_for(
    memory: EventMemory, question: str, expected: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Chances, "is_enough", True)
    kind, text = best(memory, question)
    assert kind == expected[0]
    assert text.startswith(expected[1]) if kind == "order" else text == expected[1]


def test_says_so_when_nothing_is_found(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db") as store:
        memory = Recollection(EventMemory(store, HashEncoder(384), times_named), FactStore(store))
        said = memory.answer("What is Ana's cat called?", now=NOW)
    assert (said.kind, said.evidence) == ("unknown", ())


def test_says_so_below_the_threshold_and_shows_what_it_found(
    memory: EventMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Chances, "is_enough", False)
    found = memory.look_closely("What is Ana's cat called?", limit=10, now=NOW)
    said = answer_from(memory, "What is Ana's cat called?", found, NOW)
    assert said.kind == "unknown"
    assert said.evidence == found[:3]


def test_the_wrong_person_makes_an_answer_less_likely(memory: EventMemory) -> None:
    ana = Found("1", "My necklace is for luck.", "message", NOW, "Ana", "", 2.0, 0.6, 0.6, ("Ana",))
    other = replace(ana, id="2", text="Nice! Where did you buy it?", person="Ben", total=0.5, close=0.2)
    right = signs_of_evidence(memory, "What is Ana's necklace for?", [ana, other])
    wrong = signs_of_evidence(
        memory, "What is Ben's necklace for?", [replace(ana, people=("Ben",)), replace(other, people=("Ben",))]
    )
    sure, unsure = chances_of(right).concerns, chances_of(wrong).concerns
    assert sure is not None
    assert unsure is not None
    assert unsure < 0.5 < sure


def test_what_another_said_of_himself_is_no_answer_about_the_owner(memory: EventMemory) -> None:
    ben = Found("1", "I live in Ghent now.", "message", NOW, "Ben", "", 2.0, 0.6, 0.8, ())
    mine = replace(ben, id="2", person="")
    about_ben = replace(mine, text="Ben lives in Ghent now", people=("Ben",))
    by_another = chances_of(signs_of_evidence(memory, "Where do I live?", [ben])).concerns
    by_me = chances_of(signs_of_evidence(memory, "Where do I live?", [mine])).concerns
    assert by_another is not None
    assert by_me is not None
    assert by_another < 0.5 < by_me
    told = chances_of(signs_of_evidence(memory, "Where does Ben live?", [about_ben])).concerns
    assert told is not None
    assert told > 0.5


@pytest.mark.parametrize(
    ("question", "text", "is_other"),
    [
        ("what did I promise Tom", "I promised Sara a weekend", True),
        ("what did I promise Sara", "I promised Sara a weekend", False),
        ("what's my shirt size", "my shoe size is 39", True),
        ("what's my shoe size", "my shoe size is 39", False),
        ("where does Wouter work", "I lent the drill to Wouter", True),
        ("where does Wouter work", "Wouter has a job at the harbour", False),
        ("who is my dentist's receptionist", "I went to the dentist", True),
        ("am I allergic to nuts", "Lotte is allergic to nuts", True),
        ("am I allergic to nuts", "I am allergic to nuts", False),
    ],
)
def test_a_missing_name_thing_or_relation_is_another_matter(question: str, text: str, is_other: bool) -> None:
    found = Found("1", text, "remembered", NOW, "", "", 2.0, 0.6, 0.6, ())
    assert is_of_another_matter(question, found) is is_other


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I lent the drill to our neighbour", "You lent the drill to your neighbour"),
        ("I'm in my room, it's mine", "You're in your room, it's yours"),
        ("the mime met us", "The mime met you"),
    ],
)
def test_own_words_are_said_back(text: str, expected: str) -> None:
    assert to_owner(text) == expected


def test_candidates_are_pieces_of_what_was_said(memory: EventMemory) -> None:
    found = memory.look_closely("What is the name of Ana's cat?", limit=3, now=NOW)
    spans = candidates("What is the name of Ana's cat?", found)
    assert all(span.text in found[span.event].text for span in spans)
    assert {len(span.looked_at) for span in spans} == {len(LOOKED_AT)}
    assert [span.text for span in spans_for("What is the name of Ana's cat?", found)] == ["Pixel"]
    assert candidates("What?", []) == []


def test_of_several_times_the_last_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Chances, "is_enough", True)
    with Store.open(tmp_path / "a.db") as store:
        events = EventMemory(store, HashEncoder(384), times_named)
        memory = Recollection(events, FactStore(store))
        events.remember_all(
            NewEvent(f"v{month}", f"I saw the dentist, visit {month}", "remembered", day(month, 3), thread=f"t{month}")
            for month in (2, 5, 3)
        )
        assert memory.answer("When did I last see the dentist?", now=NOW).text == "3 May 2023"
        assert memory.answer("When did I first see the dentist?", now=NOW).text == "3 February 2023"
        said = memory.answer("do you remember how long ago I last saw the dentist", now=NOW)
        assert (said.kind, said.text) == ("ago", "4 weeks and 1 day ago")
        assert said.evidence[0].id == "v5"


def test_a_question_asked_before_is_no_evidence(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db") as store:
        events = EventMemory(store, HashEncoder(384), times_named)
        memory = Recollection(events, FactStore(store))
        events.remember_all(
            [
                NewEvent("q", "where did I park the van", "request", day(5, 1)),
                NewEvent("o", "remind me where to park the van", "request", day(5, 2)),
                NewEvent("r", "what Hearth said about where I park the van", "answer", day(5, 3)),
            ]
        )
        assert memory.answer("where did I park the van?", now=NOW).kind == "unknown"
        assert memory.search("park the van", now=NOW) == ()
        events.remember_all([NewEvent("s", "I parked the van behind the school", "request", day(5, 4))])
        said = memory.answer("where did I park the van?", now=NOW)
        assert (said.text, said.evidence[0].id) == ("behind the school", "s")


def test_a_matter_is_listed_and_what_is_vaguely_near_is_not(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db") as store:
        events = EventMemory(store, HashEncoder(384), times_named)
        memory = Recollection(events, FactStore(store))
        events.remember_all(
            NewEvent(f"n{k}", text, "remembered", day(5, k + 1), thread=f"n{k}")
            for k, text in enumerate(["the boiler knocks", "the fridge hums in the night", "the night train is late"])
        )
        said = memory.answer("what do you know about the boiler?", now=NOW)
        assert (said.kind, [hit.id for hit in said.evidence]) == ("listed", ["n0"])
        assert memory.answer("what do you know about the hamster?", now=NOW).kind == "unknown"
        assert [hit.id for hit in memory.search("boiler pressure valve night shift", now=NOW)] == []


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (0, "today"),
        (1, "1 day ago"),
        (23, "3 weeks and 2 days ago"),
        (800, "2 years and 2 months ago"),
        (-5, "in 5 days"),
    ],
)
def test_time_between(days: int, expected: str) -> None:
    assert ago(NOW - dt.timedelta(days=days), NOW) == expected


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (day(5, 7, 0), day(5, 8, 0), "7 May 2023"),
        (day(5, 7, 9), day(5, 7, 10), "7 May 2023"),
        (day(5, 1, 0), day(6, 1, 0), "May 2023"),
        (day(1, 1, 0), dt.datetime(2024, 1, 1, tzinfo=dt.UTC), "2023"),
        (day(5, 6, 0), day(5, 8, 0), "6 May 2023 to 7 May 2023"),
    ],
)
def test_periods_are_said_as_what_they_are(start: dt.datetime, end: dt.datetime, expected: str) -> None:
    assert said_period(Period(start, end)) == expected


def test_a_question_is_not_the_telling_sentence() -> None:
    assert telling_sentence("Where is the key?", "Where is the key? It is under the pot.") == "It is under the pot."
    assert telling_sentence("x", "") == ""


@pytest.mark.parametrize("text", ["", "   ", '" OR 1=1 --', "\x00\ud800", "when " * 5000, "did before after?"])
def test_any_text_is_a_safe_question(memory: EventMemory, text: str, tmp_path: Path) -> None:
    with Store.open(tmp_path / "b.db") as store:
        said = Recollection(memory, FactStore(store)).answer(text, now=NOW)
    assert said.kind in ("unknown", "said", "time", "span", "order", "listed")


def test_a_line_of_a_folded_day_is_of_who_said_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Chances, "is_enough", True)
    with Store.open(tmp_path / "a.db") as store:
        events = EventMemory(store, HashEncoder(384), times_named)
        memory = Recollection(events, FactStore(store))
        folded = "09:30 Ben Maes: I live in Ghent now\n10:00 the fuse box hangs behind the coats"
        events.remember_all([NewEvent("s", folded, "summary", day(5, 1))])
        said = memory.answer("who lives in Ghent?", now=NOW)
        assert (said.evidence[0].person, said.evidence[0].text) == ("Ben Maes", "I live in Ghent now")
        said = memory.answer("where is the fuse box?", now=NOW)
        assert (said.text, said.evidence[0].person) == ("behind the coats", "")


def test_a_month_of_what_is_past_is_not_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Chances, "is_enough", True)
    with Store.open(tmp_path / "a.db") as store:
        events = EventMemory(store, HashEncoder(384), times_named)
        memory = Recollection(events, FactStore(store))
        events.remember_all([NewEvent("b", "we drove to Bergen in September", "remembered", day(5, 1))])
        assert memory.answer("when did we drive to Bergen?", now=NOW).text == "September 2022"
