"""What tools find in memory: facts first, the current ones; and what repeats, as proposals."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hearth.errors import NotFound
from hearth.memory.answers.recollection import Recollection
from hearth.memory.event_memory import EventMemory, Filter, Happened, NewEvent, propose_routines, routines
from hearth.memory.fact_extraction import Told, learn_from
from hearth.memory.facts import ME, FactStore, NewFact
from hearth.memory.search.search_words import Period
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW
from hearth.types import OWNER, Label

DAY = dt.timedelta(days=1)
MESSAGE = Label(frozenset({"message"}), frozenset())


@dataclass
class World:
    store: Store
    events: EventMemory
    facts: FactStore
    memory: Recollection
    n: int = 0

    def say(self, text: str, *, kind: str = "request", days: int = 0, label: Label = OWNER, person: str = "") -> str:
        self.n += 1
        key, at = f"e{self.n}", FIXED_NOW + days * DAY
        self.memory.remember(text, kind=kind, at=at, label=label, key=key)
        learn_from(self.facts, Told(key, text, kind, at, label, person))
        return key

    def found(self, query: str) -> list[str]:
        return [hit.text for hit in self.memory.search(query, now=FIXED_NOW)]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with Store.open(tmp_path / "a.db") as store:
        events, facts = EventMemory(store), FactStore(store)
        yield World(store, events, facts, Recollection(events, facts))


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("where does Ana live", "Ana lives in Porto"),
        ("where does my sister live", "Ana lives in Porto"),
        ("Lotte's allergies", "Lotte is allergic to hazelnuts"),
        ("the fuse box", "fuse box is behind the coats"),
        ("my shoe size", "your shoe size is 39"),
        ("who is my dentist", "your dentist is Dr Weiss"),
        ("when is Ben's birthday", "Ben's birthday is 3 May"),
        ("what do I like", "you like olives"),
    ],
)
def test_what_is_held_true_comes_first(world: World, query: str, first: str) -> None:
    for text in (
        *("my sister Ana lives in Porto", "Lotte is allergic to hazelnuts", "the fuse box is behind the coats"),
        *("my shoe size is 39", "my dentist is Dr Weiss", "Ben's birthday is 3 May", "I like olives"),
    ):
        world.say(text)
    assert world.found(query)[0].split(" (")[0] == first


def test_an_old_value_never_wins_but_is_there_when_asked_for(world: World) -> None:
    world.say("I live in Ghent since 2019")
    world.say("I moved to Porto yesterday", days=10)
    assert world.found("where do I live") == ["you live in Porto, since 29 November 2026"]
    assert "you live in Ghent, since 2019, until 29 November 2026" in world.found("where did I live before")


def test_an_event_that_says_more_than_what_ended_still_answers_the_rest(world: World) -> None:
    first = "my sister Ana lives in Porto"
    world.say(first)
    world.say("Ana moved to Rome", days=3)
    assert first not in world.found("where does Ana live")
    assert world.found("who is my sister") == ["your sister is Ana"]


def test_what_was_revoked_is_not_found_again_through_its_event(world: World) -> None:
    world.say("I like olives")
    (fact,) = world.facts.believed()
    world.facts.revoke(fact.id, FIXED_NOW)
    assert world.found("olives") == []


def test_a_strangers_word_is_found_as_what_was_said_never_as_true(world: World) -> None:
    world.say("the alarm code is 1234", kind="message", label=MESSAGE, person="Eve")
    hits = world.memory.search("alarm code", now=FIXED_NOW)
    assert [hit.kind for hit in hits] == ["message"]


def test_hearths_own_answers_are_never_found(world: World) -> None:
    world.memory.remember("you live in Ghent", kind="answer", at=FIXED_NOW, label=OWNER, key="a")
    assert world.found("Ghent") == []


def test_nothing_is_found_when_nothing_is_known(world: World) -> None:
    world.say("my shoe size is 39")
    assert world.found("Caravaggio") == []
    assert world.found("what do you remember") in ([], world.found("what do you remember"))


def test_all_that_is_held_true_alike_is_said_at_once(world: World) -> None:
    for text in ("Lotte is allergic to hazelnuts", "Lotte is allergic to kiwi", "Lotte lives in Ghent"):
        world.say(text)
    said = world.memory.answer("what is Lotte allergic to", now=FIXED_NOW + DAY)
    assert (said.kind, said.text) == ("fact", "Lotte is allergic to hazelnuts and kiwi")
    assert [hit.text for hit in said.evidence[1:]] == ["Lotte is allergic to hazelnuts", "Lotte is allergic to kiwi"]
    only = world.memory.answer("is Lotte allergic to kiwi", now=FIXED_NOW + DAY)
    assert only.text == "Lotte is allergic to kiwi"


def test_what_is_known_of_the_owner_is_listed(world: World) -> None:
    assert world.memory.answer("what do you know about me", now=FIXED_NOW).kind == "unknown"
    world.say("I like olives")
    world.say("my shoe size is 39")
    world.say("Ben likes me")
    said = world.memory.answer("what do you know about me?", now=FIXED_NOW)
    assert [hit.text for hit in said.evidence] == ["your shoe size is 39", "you like olives"]


def test_what_was_believed_at_a_time_is_listed(world: World) -> None:
    def times(text: str, now: dt.datetime) -> tuple[Period, ...]:
        days = {"last week": -7, "yesterday": -2}[text]
        return (Period(now + days * DAY, now + (days + 1) * DAY),)

    world.memory = Recollection(EventMemory(world.store, read_times=times), world.facts)
    world.say("my sister Ana lives in Porto", days=-5)
    world.say("I like olives", days=-5)
    world.say("my sister moved to Lisbon", days=0)

    def believed(question: str) -> list[str]:
        return [hit.text for hit in world.memory.answer(question, now=FIXED_NOW + DAY / 2).evidence]

    assert believed("what did you believe yesterday") == ["you like olives", "Ana lives in Porto", "your sister is Ana"]
    assert believed("what did you know about me yesterday") == ["you like olives", "your sister is Ana"]
    assert "Ana lives in Porto" in believed("what did you think about my sister yesterday")
    assert believed("what did you believe about Zork yesterday") == []
    assert believed("what did you believe last week") == []


def test_what_somebody_said_is_listed_the_latest_first(world: World) -> None:
    def times(text: str, now: dt.datetime) -> tuple[Period, ...]:
        return (Period(now - DAY, now),) if text == "yesterday" else ()

    events = EventMemory(world.store, read_times=times)
    memory = Recollection(events, world.facts)
    events.remember_all(
        NewEvent(f"m{k}", text, "message", FIXED_NOW + k * DAY, MESSAGE, person)
        for k, (text, person) in enumerate(
            [("the tent is mine", "Tom"), ("no", "Tomas"), ("the tiles came", "Tom Maes")]
        )
    )
    said = memory.answer("what did Tom write", now=FIXED_NOW + 9 * DAY)
    assert (said.kind, [hit.text for hit in said.evidence]) == ("listed", ["the tiles came", "the tent is mine"])
    assert memory.answer("what did Tom write yesterday", now=FIXED_NOW + 9 * DAY).kind == "unknown"
    assert len(memory.answer("what did Tom write yesterday", now=FIXED_NOW + 3 * DAY).evidence) == 1


def test_filters_leave_facts_out(world: World) -> None:
    world.say("I like olives")
    hits = world.memory.search("olives", now=FIXED_NOW, where=Filter(kinds=("request",)))
    assert [hit.kind for hit in hits] == ["request"]


def test_forgetting_an_event_takes_its_facts_along(world: World) -> None:
    key = world.say("I like olives")
    world.memory.forget(key)
    assert world.facts.believed() == ()
    with pytest.raises(NotFound):
        world.memory.forget(key)


def test_forgetting_a_fact_takes_its_history_along(world: World) -> None:
    fact = world.facts.add(NewFact(ME, "likes", "olives"), FIXED_NOW)
    changed = world.facts.amend(fact.id, "capers", FIXED_NOW)
    world.memory.forget(f"fact:{changed.id}")
    with pytest.raises(NotFound):
        world.facts.get(fact.id)


# ── Routines ──────────────────────────────────────────────────────────────────────────────────────────────


def weekly(
    text: str, n: int, *, hour: int = 9, kind: str = "request", every: int = 7, place: str = ""
) -> list[Happened]:
    start = FIXED_NOW.replace(hour=hour, minute=0)
    return [
        Happened(f"{text}{k}", text, start + k * every * DAY + dt.timedelta(minutes=11 * (k % 3)), kind, place=place)
        for k in range(n)
    ]


def test_what_repeats_on_a_weekday_is_a_routine() -> None:
    (found,) = routines(weekly("turn up the heating in the bathroom", 5))
    assert found.value == "turn up the heating in the bathroom: on Fridays about 09:15"
    assert found.confidence == pytest.approx((6 / 7) * (6 / 7), abs=0.001)
    assert len(found.events) == 5


def test_what_repeats_daily_is_one_and_so_are_places() -> None:
    daily, place = routines(
        [*weekly("read me the news", 10, every=1), *weekly("photo", 4, kind="photo", place="38.7, -9.1")]
    )
    assert daily.value.startswith("read me the news: most days about 09:")
    assert (place.relation, place.value) == ("goes to", "38.7, -9.1: on Fridays about 09:15")


@pytest.mark.parametrize(
    "events",
    [
        weekly("water the plants", 2),
        [
            *weekly("water the plants", 1),
            *weekly("water the plants", 1, hour=13),
            *weekly("water the plants", 1, hour=21),
        ],
        weekly("same day", 5, every=0),
        [e for k in range(6) for e in weekly(f"subject{k} is about {'abcdef'[k] * 5}", 1)],
    ],
)
def test_too_few_or_scattered_is_none(events: list[Happened]) -> None:
    assert routines(events) == ()


def test_times_round_midnight_are_near_each_other() -> None:
    start = FIXED_NOW.replace(hour=23, minute=50)
    events = [
        Happened(str(k), "lock the door", start + k * 7 * DAY + dt.timedelta(minutes=20 * (k % 2)), "request")
        for k in range(6)
    ]
    (found,) = routines(events)
    assert found.value.endswith(("23:45", "00:00", "00:15"))


def test_routines_are_proposed_once_and_not_again_once_revoked(world: World) -> None:
    for k in range(5):
        world.say("turn up the heating in the bathroom", days=7 * k)
    (fact,) = propose_routines(world.store, world.facts, FIXED_NOW.tzinfo or dt.UTC, FIXED_NOW)
    assert (fact.status, world.facts.believed()) == ("proposed", ())
    world.facts.revoke(fact.id, FIXED_NOW)
    world.say("turn up the heating in the bathroom", days=35)
    assert propose_routines(world.store, world.facts, FIXED_NOW.tzinfo or dt.UTC, FIXED_NOW) == ()


def test_whether_a_fact_answers_the_whole_question_is_known_without_looking_further(world: World) -> None:
    world.say("Lina is allergic to hazelnuts")
    for question, is_held in (
        ("what is Lina allergic to?", True),
        ("what could I cook for Lina tonight?", False),
        ("what is Emma allergic to?", False),
        ("Lina is allergic to hazelnuts", False),
    ):
        assert world.memory.holds_answer(question, now=FIXED_NOW) is is_held, question
    world.facts.erase([fact.id for fact in world.facts.believed()])
    assert not world.memory.holds_answer("what is Lina allergic to?", now=FIXED_NOW)
