"""Several things that one verb is said of are found, and what is said of all is said of each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.language.acts.shared_verbs import shared_verb
from hearth.language.reading import Utterance
from hearth.testing import FIXED_NOW
from hearth.types import Context


def spelt(text: str) -> str | None:
    said = Utterance(text, FIXED_NOW, context=Context(country="DE"))
    found = shared_verb(said.text, said.tokens, said.slots, said.acts)
    return found.text if found is not None else None


@pytest.mark.parametrize(
    ("text", "of_each"),
    [
        ("turn off the lamp and the heater", "turn off the lamp. turn off the heater"),
        ("turn off the fan, the tv and the lamp", "turn off the fan. turn off the tv. turn off the lamp"),
        ("turn off the fan n the tv & the lamp please", "turn off the fan please. turn off the tv please. turn off the lamp please"),
        ("dim the lamp and the spots to 20", "dim the lamp to 20. dim the spots to 20"),
        ("kitchen light and telly off", "kitchen light off. telly off"),
        ("is the back door locked and the garage", "is the back door locked. is the garage locked"),
        ("hi! cancel yoga and Ann's dinner on Friday", "hi! cancel yoga on Friday. cancel Ann's dinner on Friday"),
    ],
)  # fmt: skip
def test_what_is_said_of_all_is_said_of_each(text: str, of_each: str) -> None:
    assert spelt(text) == of_each


@pytest.mark.parametrize(
    "text",
    [
        "turn off the lamp",
        "and",
        "turn off the lamp and call Tom",
        "open the door and light the stairs",  # another verb, whatever the tables say of it
        "email Ben and ben@b.example that it rains",  # an address is a value, no name of a thing
        "turn the heater on and off the lamp",
        "note that the wifi is PLANTAIN22 and stick two things on the list",
    ],
)
def test_one_thing_or_another_verb_is_not_shared(text: str) -> None:
    assert spelt(text) is None


@given(st.text(max_size=80))
def test_any_text_is_read(text: str) -> None:
    found = spelt(text)
    assert found is None or found


@given(
    st.lists(
        st.sampled_from(
            ["the", "lamp", "fan", "and", "n", "&", ",", "off", "on", "turn", "my", "5", "'s", "to", "please", "."]
        ),
        max_size=14,
    )
)
def test_every_thing_is_in_the_text(words: list[str]) -> None:
    said = Utterance(" ".join(words), FIXED_NOW)
    found = shared_verb(said.text, said.tokens, said.slots, said.acts)
    assert found is None or (len(found.things) > 1 and all(thing in found.text for thing in found.things))
