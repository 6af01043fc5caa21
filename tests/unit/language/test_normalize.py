from __future__ import annotations

import pytest

from hearth.language.tokens import Query, folded, stem, stems


def test_case_and_accents_make_no_difference() -> None:
    assert folded("Zoë MÜLLER-Straße, Ørsted, Łódź, İzmir") == "zoe muller-strasse, orsted, lodz, izmir"
    assert folded("plain") == "plain"


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("dentists", "dentist"),
        ("dentist's", "dentist"),
        ("parties", "party"),
        ("boxes", "box"),
        ("lunches", "lunch"),
        ("class", "class"),
        ("bus", "bus"),
        ("tennis", "tennis"),
        ("gas", "gas"),
    ],
)
def test_stems(word: str, expected: str) -> None:
    assert stem(word) == expected


def test_stems_of_a_text() -> None:
    assert stems("Anna’s parties, and Ben's") == {"anna", "party", "and", "ben"}


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("dentist", "Dentist, Main Street", True),
        ("my dentists", "Dentist", True),
        ("lunch with Ben", "Ben: lunch", True),
        ("lunch with Ben", "lunch", False),
        ("cafe", "Café Müller", True),
        ("dent", "Dentist", True),
        ("car", "card", False),
        ("", "anything", True),
        ("the", "the end", True),
        ("team meeting", "Team lunch", False),
    ],
)
def test_all_telling_words_must_occur(query: str, text: str, expected: bool) -> None:
    assert Query(query).matches(text) is expected


def test_generic_words_can_be_ignored() -> None:
    query = Query("dentist appointment")
    assert not query.matches("Dentist")
    assert query.matches_loosely("Dentist")
    assert not Query("appointment").matches_loosely("anything")
