"""What the owner said later in the place of something comes before it, and is told as what holds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hearth.memory.answers.recollection import Recollection
from hearth.memory.event_memory import EventMemory
from hearth.memory.fact_extraction import Told, learn_from
from hearth.memory.facts import FactStore, NewFact
from hearth.memory.search.memory_index import SIGNS, signs_of, sureness
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW
from hearth.types import OWNER, Label

STRANGER = Label(frozenset({"message"}), frozenset())
NOW = FIXED_NOW + dt.timedelta(days=300)


@pytest.fixture(scope="module")
def encoder() -> MiniLMEncoder:
    return MiniLMEncoder.open(n_threads=1)


@dataclass
class Home:
    events: EventMemory
    facts: FactStore
    memory: Recollection

    def say(self, day: int, text: str, *, label: Label = OWNER) -> None:
        at, kind = FIXED_NOW + dt.timedelta(days=day), "request" if label == OWNER else "message"
        self.memory.remember(text, kind=kind, at=at, label=label, key=f"day{day}")
        learn_from(self.facts, Told(f"day{day}", text, kind, at, label))

    def first(self, question: str) -> str:
        return self.memory.search(question, now=NOW)[0].text


@pytest.fixture
def home(tmp_path: Path, encoder: MiniLMEncoder) -> Iterator[Home]:
    with Store.open(tmp_path / "a.db") as store:
        events, facts = EventMemory(store, encoder), FactStore(store)
        yield Home(events, facts, Recollection(events, facts))


CHANGED = (
    ("The boat key hangs in the kitchen.", "The boat key hangs in the cellar now.", "Where does the boat key hang?"),
    ("I ride a blue Vespa.", "I sold the Vespa and bought a Honda scooter.", "What scooter do I ride?"),
    ("We train in the old sports hall.", "Our training was moved to the new stadium.", "Where do we train?"),
    ("I never drink coffee.", "I have started to drink coffee again.", "Do I drink coffee?"),
)
BESIDE = (
    ("My sister lives in Madrid.", "My brother moved to Rome.", "Where does my sister live?"),
    ("My bike lock code is 3141.", "My suitcase lock code is 2718.", "What is my bike lock code?"),
    ("The canoe is in the boathouse.", "The paddles are in the garage now.", "Where is the canoe?"),
    ("I have rye bread in the morning.", "I like my rye bread with butter.", "What do I have in the morning?"),
)


@pytest.mark.parametrize(("earlier", "later", "question"), CHANGED)
def test_what_was_said_in_its_place_comes_first_and_is_told(
    home: Home, earlier: str, later: str, question: str
) -> None:
    home.say(0, earlier)
    home.say(100, later)
    assert home.first(question) == later
    told = home.memory.answer(question, now=NOW)
    assert told.evidence[0].id == "day100"
    assert told.kind == "said"


@pytest.mark.parametrize(("earlier", "later", "question"), BESIDE)
def test_what_stands_beside_it_does_not_come_first(home: Home, earlier: str, later: str, question: str) -> None:
    home.say(0, earlier)
    home.say(100, later)
    assert "day100" not in home.memory.search(question, now=NOW)[0].id
    assert later != home.first(question)


def test_the_order_of_time_decides(home: Home) -> None:
    earlier, later, question = CHANGED[0]
    home.say(0, later)
    home.say(100, earlier)
    assert home.first(question) == earlier


def test_the_last_of_several_changes_is_told(home: Home) -> None:
    for day, place in ((0, "kitchen"), (50, "cellar"), (100, "attic")):
        home.say(day, f"The boat key hangs in the {place} now.")
    assert home.first("Where does the boat key hang?") == "The boat key hangs in the attic now."


def test_nobody_elses_word_takes_the_place_of_the_owners(home: Home) -> None:
    earlier, later, question = CHANGED[0]
    home.say(0, earlier)
    home.say(100, later, label=STRANGER)
    assert "in the kitchen" in home.memory.answer(question, now=NOW).text


def test_who_asks_for_the_past_is_told_the_past(home: Home) -> None:
    home.say(0, "I ride a blue Vespa.")
    home.say(100, "I sold the Vespa and bought a Honda scooter.")
    assert home.first("What blue Vespa do I ride?") == "I sold the Vespa and bought a Honda scooter."
    assert home.first("What blue Vespa did I ride before?") == "I ride a blue Vespa."


def test_a_fact_that_was_said_later_holds(home: Home) -> None:
    home.say(0, CHANGED[0][0])
    home.facts.add(NewFact("boat key", "located at", "in the safe"), NOW)
    held = home.memory.answer("Where is the boat key located?", now=NOW + dt.timedelta(days=1))
    assert (held.kind, "in the safe" in held.text) == ("fact", True)


def test_signs_are_of_one_length_and_what_is_forgotten_is_not_kept(home: Home) -> None:
    texts = [*CHANGED[1]]
    earlier, later, asked = home.events.statements(texts)
    assert signs_of(asked, earlier, later).shape == (len(SIGNS) + len(later.vector),)
    assert sureness(asked, earlier, later) > sureness(asked, later, earlier)
    home.say(0, texts[0])
    assert home.events.statements(texts)[0] is earlier
    home.memory.forget("day0")
    assert home.events.statements(texts)[0] is not earlier


@pytest.mark.parametrize("text", ["", " ", "?!", "\ud800", "a" * 5000])
def test_any_text_can_be_compared(home: Home, text: str) -> None:
    readable = text.encode(errors="replace").decode()
    one, other = home.events.statements([readable, "The boat key hangs in the cellar."])
    assert np_finite(sureness(one, other, other))
    assert np_finite(sureness(other, one, other))
    assert np_finite(sureness(other, other, one))


def np_finite(value: float) -> bool:
    return value == value and abs(value) != float("inf")
