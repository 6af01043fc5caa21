"""What a tagger took for a name stays where it is everybody's, and goes where somebody may stand behind it."""

from __future__ import annotations

import pytest

from hearth.guard.deidentify.masker import Masker
from hearth.guard.deidentify.names import OwnerNames, OwnName
from hearth.language.values.identifying import Found, is_public


def _masked(text: str, kind: str, name: str, names: OwnerNames | None = None) -> str:
    start = text.index(name)
    found = Found(start, start + len(name), kind, "tagger")
    return Masker(names=names, tag=lambda texts: [[found] for _ in texts]).mask(text).text


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("what is the capital of Australia", "place", "Australia"),
        ("dinner at seven, please", "address", "seven"),
        ("the result comes at nine, room five", "address", "nine, room five"),
        ("compare Canada and Mexico", "place", "Canada and Mexico"),
        ("does IKEA deliver", "organisation", "IKEA"),
        ("bring cake to choir", "organisation", "choir"),
        ("how tall is the Eiffel Tower", "address", "Eiffel Tower"),
    ],
)
def test_public_names_and_common_words_stay(text: str, kind: str, name: str) -> None:
    assert _masked(text, kind, name) == text


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("I live in Paris", "place", "Paris"),
        ("she is from Poland", "place", "Poland"),
        ("he works at Siemens", "organisation", "Siemens"),
        ("meet me in Crewe", "place", "Crewe"),
        ("Sofia's train is late", "place", "Sofia"),
        ("call Paris", "person", "Paris"),
        ("ask charlotte", "place", "charlotte"),
        ("tell may about it", "organisation", "may"),
        ("at Harrow Lane", "address", "Harrow Lane"),
    ],
)
def test_what_may_be_somebodys_goes(text: str, kind: str, name: str) -> None:
    assert name not in _masked(text, kind, name)


def test_a_public_name_that_is_the_owners_goes() -> None:
    """A contact called like a city, or a city in the owner's address book."""
    names = OwnerNames([OwnName("Paris", "place")])
    assert _masked("what is the weather in Paris", "place", "Paris", names) == "what is the weather in Place1"


@pytest.mark.parametrize("name", ["Crewe", "Charlotte", "Florence", "Davis", "", "and", "Paris and Crewe"])
def test_other_names_are_not_public(name: str) -> None:
    assert not is_public(name)
