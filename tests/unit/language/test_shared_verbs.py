"""Several things in a row that one verb is said of are found, and what is said of all is said of each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.language.clauses import SharedVerb, shared_verbs
from hearth.language.reading import Utterance
from hearth.testing import FIXED_NOW
from hearth.types import Context, Entity

HOME = Context("Mira", tuple(Entity(name, "device") for name in ("lamp", "Washer and Dryer", "fan")), country="DE")


def rows(text: str) -> list[SharedVerb]:
    said = Utterance(text, FIXED_NOW, context=HOME)
    return list(shared_verbs(said.text, said.tokens, said.acts, said.mentions))


@pytest.mark.parametrize(
    ("text", "of_each"),
    [
        ("turn off the lamp and the heater", "turn off the lamp. turn off the heater"),
        ("turn off the fan, the tv and the lamp", "turn off the fan. turn off the tv. turn off the lamp"),
        ("turn off the fan n the tv & the radio please", "turn off the fan please. turn off the tv please. turn off the radio please"),
        ("can you dim the lamp and the spots to 20", "can you dim the lamp to 20. can you dim the spots to 20"),
        ("kitchen light and telly off", "kitchen light off. telly off"),
        ("is the back door locked and the garage", "is the back door locked. is the garage locked"),
        ("cancel my yoga and my brother-in-law's dinner on Friday", "cancel my yoga on Friday. cancel my brother-in-law's dinner on Friday"),
        ("turn off the lamp and the heater and call Tom", "turn off the lamp. turn off the heater and call Tom"),
    ],
)  # fmt: skip
def test_what_is_said_of_all_is_said_of_each(text: str, of_each: str) -> None:
    assert [row.text for row in rows(text)] == [of_each]


@pytest.mark.parametrize(
    "text",
    [
        "turn off the lamp",
        "and",
        "open the door and light the stairs",  # another verb, whatever the tables say of it
        "email Ben and ben@b.example that it rains",  # an address is a value, no name of a thing
        "turn the heater on and off the lamp",
        "turn off everything but the lamp and the heater",
        "turn off the lamp and not the heater",
        "lock the front and back door",
        "turn on the black and white lamp",
        "turn off Washer and Dryer",  # one thing that the owner knows
        "delete the note about the garage and the car",
        "delete the note about the car, lamp and fan off",
        "remind me to turn off the oven and the lights at 9",
        "cancel the Q&A session",
        "move the dentist and the barber to monday and tuesday",
        "who turned off the lamp and the heater",
        "turn off the lamp and goodnight",
        "unlock the door for the cleaner and the plumber",
        "turn off" + " the lamp and" * 7 + " the fan",
        "turn off the lamp and the fan " + "in the house " * 60,
    ],
)
def test_one_thing_another_verb_or_an_exception_is_not_shared(text: str) -> None:
    assert not rows(text)


def test_each_act_may_have_its_row() -> None:
    found = rows("turn off the tv and the fan. cancel the dentist and the barber")
    assert [row.things for row in found] == [("the tv", "the fan"), ("the dentist", "the barber")]


@given(st.text(max_size=80))
def test_any_text_is_read(text: str) -> None:
    assert all(len(row.things) > 1 for row in rows(text))


_WORDS = ["the", "lamp", "tv", "and", "n", "&", ",", "off", "on", "turn", "my", "5", "'s", "to", "please", ".", "-"]


@given(st.lists(st.sampled_from(_WORDS), max_size=14))
def test_every_thing_stands_in_the_text_and_is_said_once(words: list[str]) -> None:
    text = " ".join(words)
    for row in rows(text):
        assert all(thing in text and thing in row.text for thing in row.things)
        assert row.text.count(". ") >= len(row.things) - 1
