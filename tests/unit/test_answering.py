"""python -m pytest tests/unit/test_answering.py"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hearth.memory.answering import (
    ago,
    answer,
    answer_from,
    said_by,
    said_period,
    signs_of_evidence,
    telling_sentence,
)
from hearth.memory.events import EventMemory, Found, NewEvent
from hearth.memory.facts import FactStore, NewFact
from hearth.memory.ranking import Period
from hearth.memory.recollection import Recollection
from hearth.memory.superseding import latest_first
from hearth.models.scripted import HashEncoder
from hearth.planning.times_named import times_named
from hearth.store import Store

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
        ]
        found.remember_all(
            NewEvent(f"e{k}", text, "message", at, person=person, thread=f"t{k}")
            for k, (person, at, text) in enumerate(said)
        )
        yield found


def best(memory: EventMemory, question: str) -> tuple[str, str]:
    found = memory.look_closely(question, limit=10, now=NOW)
    said = answer_from(memory, question, found, NOW, least=0.0)
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
        ("What is the name of Ana's cat?", ("said", "Her name is Pixel.")),
        ("Did Ana go to the pottery class before Ana adopted a cat?", ("order", "Yes")),
        ("Did Ana go to the pottery class after Ana adopted a cat?", ("order", "No")),
        ("What came first, the pottery class or the adopted cat?", ("order", "the pottery class")),
    ],
)
def test_answers_what_the_question_asks_for(
    memory: EventMemory, question: str, expected: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hearth.memory.answering.least_chance", lambda: 0.0)
    kind, text = best(memory, question)
    assert kind == expected[0]
    assert text.startswith(expected[1]) if kind == "order" else text == expected[1]


def test_says_so_when_nothing_is_found(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db") as store:
        said = answer(EventMemory(store, HashEncoder(384), times_named), "What is Ana's cat called?", NOW)
    assert (said.kind, said.evidence) == ("unknown", ())


def test_says_so_below_the_threshold_and_shows_what_it_found(memory: EventMemory) -> None:
    found = memory.look_closely("What is Ana's cat called?", limit=10, now=NOW)
    said = answer_from(memory, "What is Ana's cat called?", found, NOW, least=1.01)
    assert said.kind == "unknown"
    assert said.evidence == found[:3]


def test_what_is_held_true_comes_first(memory: EventMemory) -> None:
    said = answer(memory, "What is Ana's cat called?", NOW, held="Ana's cat is Pixel")
    assert (said.kind, said.text) == ("fact", "Ana's cat is Pixel")
    assert said.evidence


def test_the_wrong_person_makes_an_answer_less_likely() -> None:
    ana = Found("1", "My necklace is for luck.", "message", NOW, "Ana", "", 2.0, 0.6, 0.6, ("Ana",))
    other = replace(ana, id="2", text="Nice!", person="Ben", total=0.5, close=0.2)
    right = signs_of_evidence("What is Ana's necklace for?", [ana, other])
    wrong = signs_of_evidence(
        "What is Ben's necklace for?", [replace(ana, people=("Ben",)), replace(other, people=("Ben",))]
    )
    from hearth.memory.answering import chance_of

    assert chance_of(wrong) < chance_of(right)


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


def test_evidence_says_who_and_when(memory: EventMemory) -> None:
    (found,) = memory.look_closely("marathons", limit=1, now=NOW)
    assert said_by(found) == '21 May 2023, Ben: "I ran three marathons."'


@pytest.mark.parametrize("text", ["", "   ", '" OR 1=1 --', "\x00\ud800", "when " * 5000, "did before after?"])
def test_any_text_is_a_safe_question(memory: EventMemory, text: str) -> None:
    assert answer(memory, text, NOW).kind in ("unknown", "said", "time", "span", "order")


def unit(*rows: list[float]) -> np.ndarray:
    vectors = np.array(rows, np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def test_the_later_word_on_a_matter_comes_first() -> None:
    vectors = unit([1, 0], [1, 0.1], [1, 0.2])
    assert latest_first("what?", ["old", "new"], [day(5, 1), day(5, 2)], vectors) == [1, 0]
    assert latest_first("what?", ["new", "old"], [day(5, 2), day(5, 1)], vectors) == [0, 1]


@pytest.mark.parametrize(
    ("question", "texts", "moments", "vectors"),
    [
        ("what?", ["a", "b"], [day(5, 1), day(5, 2)], unit([1, 0], [1, 0], [0, 1])),  # another matter
        ("what?", ["a", "b"], [day(5, 1), None], unit([1, 0], [1, 0], [1, 0])),  # states nothing
        (
            "Where does my sister live?",
            ["My sister lives in Madrid.", "My brother lives in Rome."],
            [day(5, 1), day(5, 2)],
            unit([1, 0], [1, 0], [1, 0]),
        ),
    ],
)
def test_other_matters_stay_where_they_are(
    question: str, texts: list[str], moments: list[dt.datetime | None], vectors: np.ndarray
) -> None:
    assert latest_first(question, texts, moments, vectors) == [0, 1]


def test_memory_answers_with_the_latest_word(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db") as store:
        events, facts = EventMemory(store, HashEncoder(384), times_named), FactStore(store)
        memory = Recollection(events, facts)
        events.remember_all(
            [
                NewEvent("old", "The boat key hangs in the kitchen.", "remembered", day(5, 1), thread="a"),
                NewEvent("new", "The boat key hangs in the cellar.", "remembered", day(5, 9), thread="b"),
            ]
        )
        said = memory.answer("Where does the boat key hang?", NOW)
        assert (said.kind, said.evidence[0].id) == ("said", "new")
        facts.add(NewFact("boat key", "located at", "in the safe"), NOW)
        held = memory.answer("Where is the boat key located?", NOW + dt.timedelta(days=1))
        assert held.kind == "fact"
        assert "in the safe" in held.text
