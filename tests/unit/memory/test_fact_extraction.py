"""Facts in what the owner says: what is read, what is left out, what ends, what is only proposed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.memory.fact_extraction import NEVER_READ, Known, Told, facts_in, known_from, learn_from
from hearth.memory.facts import ME, FactStore, NewFact, birthday_said, since_said
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW
from hearth.types import OWNER, Label

DAY = dt.timedelta(days=1)
MESSAGE = Label(frozenset({"message"}), frozenset())


@pytest.fixture
def facts(tmp_path: Path) -> Iterator[FactStore]:
    with Store.open(tmp_path / "a.db") as store:
        yield FactStore(store)


def told(text: str, *, id: str = "e1", label: Label = OWNER, person: str = "", kind: str = "request") -> Told:
    return Told(id, text, kind, FIXED_NOW, label, person)


def read(text: str) -> list[tuple[str, str, str]]:
    return [(r.subject, r.relation, r.value) for r in facts_in(text, FIXED_NOW)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My name is Mira.", [(ME, "name", "Mira")]),
        ("my birthday is on the 3rd of May", [(ME, "birthday", "3 May")]),
        ("I turn 40 on 5 December", [(ME, "birthday", "5 December 1986")]),
        ("my sister Ana lives in Porto", [(ME, "sister", "Ana"), ("Ana", "lives in", "Porto")]),
        ("Remember that my dentist is Dr Weiss", [(ME, "dentist", "Dr Weiss")]),
        ("please call my brother Tom", [(ME, "brother", "Tom")]),
        ("I can't stand loud music.", [(ME, "dislikes", "loud music")]),
        ("I put the passport in the desk", [("passport", "located at", "in the desk")]),
        ("Every Tuesday I swim.", [(ME, "habit", "swim Every Tuesday")]),
        ("I've stopped eating meat", [(ME, "avoids", "meat"), (ME, "likes", "meat")]),
    ],
)
def test_what_is_said_is_read(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("Do I like olives?", "what is my sister's name", "is my birthday in May", "Ana is my sister, isn't she?"),
        *("If I lived in Porto I would surf", "I wish I lived in Rome", "Suppose my name is Max"),
        *("Ana says she is vegan", "Tom told me that he works at Shell", "apparently Ben lives in Ghent"),
        *('"I love olives" is a song', "“my name is Max”", "> I live in Rome", "'I hate you' he wrote"),
        *("as if I liked olives", "I love waiting, just kidding", "yeah right, I love queues"),
        *("tell Ana that I live in Rome", "write to Ben: my name is Max. I live in Rome.", "translate: I am a vegan"),
        *("I am not a doctor", "I don't think Ana lives in Porto", "I'm not sure I like jazz"),
        *("I'd like a coffee", "I like that", "I love the proposal", "call me tomorrow", "call me a taxi"),
        *("The film is in Spanish", "the meeting is in the big room", "My train is late", "", "?", "🔥" * 50),
    ],
)
def test_what_states_nothing_gives_nothing(text: str) -> None:
    assert read(text) == []


def test_hedges_pronouns_and_things_are_less_sure() -> None:
    (plain,), (hedged,) = facts_in("Ana lives in Porto", FIXED_NOW), facts_in("I think Ana lives in Porto", FIXED_NOW)
    assert (plain.confidence, hedged.confidence) == (0.95, round(0.95 * 0.6, 3))
    *_, she = facts_in("My mother Ingrid is here. She is a vegan.", FIXED_NOW)
    assert (she.subject, she.value, she.confidence) == ("Ingrid", "vegan", round(0.95 * 0.9, 3))
    (thing,) = facts_in("the key is under the pot", FIXED_NOW)
    assert thing.confidence == round(0.95 * 0.85, 3)


def test_names_mean_the_people_of_the_contacts_where_only_one_has_them(facts: FactStore) -> None:
    facts.add(NewFact(ME, "sister", "Ana Lindqvist"), FIXED_NOW)
    known = known_from(facts, [("Ben Okafor", "Ben"), ("Tom Ray", "Tom"), ("Tom Hill", "Tom")])
    subjects = [
        facts_in(text, FIXED_NOW, known)[0].subject
        for text in ("Ben lives in Ghent", "Tom lives in Ghent", "my sister lives in Ghent", "my uncle lives in Ghent")
    ]
    assert subjects == ["Ben Okafor", "Tom", "Ana Lindqvist", "uncle"]


def test_since_when_is_kept() -> None:
    (home,) = facts_in("I have been living in Bruges since 2019", FIXED_NOW)
    assert home.since is not None
    assert home.since.date() == dt.date(2019, 1, 1)


@pytest.mark.parametrize(
    ("before", "now", "left"),
    [
        ("I work at Philips", "I no longer work at Philips", []),
        ("I like jazz", "I don't like jazz any more", []),
        ("I like jazz", "I hate jazz", [("dislikes", "jazz")]),
        ("I drive a red Volvo V60", "we no longer have the Volvo", []),
        ("I prefer tea to coffee", "I prefer coffee to tea", [("prefers", "coffee to tea")]),
        ("I live in Ghent", "I moved to Porto", [("lives in", "Porto")]),
        ("I like meat", "I've stopped eating meat", [("avoids", "meat")]),
        ("I like jazz", "I don't like rock any more", [("likes", "jazz")]),
    ],
)
def test_what_is_said_later_ends_what_it_contradicts(
    facts: FactStore, before: str, now: str, left: list[tuple[str, str]]
) -> None:
    learn_from(facts, told(before))
    learn_from(facts, Told("e2", now, "request", FIXED_NOW + DAY, OWNER))
    assert [(fact.relation, fact.value) for fact in facts.believed(ME)] == left
    assert len(facts.believed(ME, as_of=FIXED_NOW + DAY / 2)) == 1, "what was believed before is kept"


def test_a_fact_names_its_event_and_a_second_saying_adds_to_it(facts: FactStore) -> None:
    learn_from(facts, told("I like olives", id="e1"))
    (again,) = learn_from(facts, told("I really like olives", id="e2"))
    assert (again.events, again.status) == (("e1", "e2"), "promoted")


def test_a_strangers_i_is_the_stranger_and_waits(facts: FactStore) -> None:
    learn_from(facts, told("I live in Ghent. My sister Eva is a nurse.", label=MESSAGE, person="Ben"))
    assert facts.believed() == ()
    assert {(f.subject, f.relation, f.value) for f in facts.proposed()} == {
        *(("Ben", "lives in", "Ghent"), ("Ben", "sister", "Eva"), ("Eva", "job", "nurse"))
    }


def test_a_strangers_word_ends_nothing_and_without_a_name_says_nothing_of_the_owner(facts: FactStore) -> None:
    learn_from(facts, told("I like jazz"))
    learn_from(facts, told("I don't like jazz any more", label=MESSAGE))
    learn_from(facts, told("my name is Max", label=MESSAGE))
    assert [f.value for f in facts.believed()] == ["jazz"]
    assert facts.proposed() == ()


@pytest.mark.parametrize("kind", sorted(NEVER_READ))
def test_hearths_own_words_are_never_read(facts: FactStore, kind: str) -> None:
    assert learn_from(facts, told("I live in Ghent", kind=kind)) == ()
    assert learn_from(facts, told("I live in Ghent", kind="request")) != ()


def test_what_was_revoked_is_not_proposed_again_but_the_owners_word_counts(facts: FactStore) -> None:
    (fact,) = learn_from(facts, told("I live in Ghent", label=MESSAGE, person="Ben"))
    facts.revoke(fact.id, FIXED_NOW)
    (again,) = learn_from(facts, told("I live in Ghent", label=MESSAGE, person="Ben", id="e2"))
    assert again.status == "revoked"
    assert facts.proposed() == ()
    learn_from(facts, told("Ben lives in Ghent", id="e3"))
    assert [f.subject for f in facts.believed()] == ["Ben"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("3 May", (None, 5, 3)), ("May 3rd, 1984", (1984, 5, 3)), ("the 14th of August", (None, 8, 14))),
        *(("1984-05-03", (1984, 5, 3)), ("3.5.1984", (1984, 5, 3)), ("31 February", None), ("soon", None)),
    ],
)
def test_dates_of_birth(text: str, expected: tuple[int | None, int, int] | None) -> None:
    assert birthday_said(text) == expected


def test_the_order_of_numbers_is_the_countrys() -> None:
    assert birthday_said("3/5/1984", is_month_first=True) == (1984, 3, 5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("since 2019", "2019-01-01"), ("in March", "2026-03-01"), ("since December", "2025-12-01")),
        *(("last year", "2025-01-01"), ("two weeks ago", "2026-11-06"), ("yesterday", "2026-11-19")),
        *(("since 2090", None), ("999 years ago", "1027-11-20"), ("one day", None)),
    ],
)
def test_since_when(text: str, expected: str | None) -> None:
    found = since_said(text, FIXED_NOW)
    assert (found and found.date().isoformat()) == expected


def test_known_without_anyone_is_empty() -> None:
    assert Known().person("Ben") == "Ben"
    assert Known().relative("mum") == "mum"
