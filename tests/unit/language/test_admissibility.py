"""python -m pytest tests/unit/language/test_admissibility.py"""

from __future__ import annotations

import pytest

from hearth.language.reading import MAX_CHARACTERS, why_unreadable
from tests.work import calls_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        (" \n\t", "is empty"),
        ("x" * (MAX_CHARACTERS + 1), "20,001 characters long; I read up to 20,000"),
        ("\0\x01\ufffd\x7f" * 50, "looks like binary data"),
        ("\ud800\ud800\ud800", "looks like binary data"),
        ("?!…", "holds no words"),
        ("提醒我明天九点浇水", "only read English"),
        ("Напомни мне завтра полить цветы", "only read English"),
        ("Erinnere mich morgen um neun an die Pflanzen", "only read English"),
        ("rappelle-moi demain d'appeler le médecin", "only read English"),
        ("recuérdame mañana llamar al dentista", "only read English"),
        ("ricordami domani di chiamare mia madre", "only read English"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, words: str) -> None:
    assert words in why_unreadable(text)


@pytest.mark.parametrize(
    "text",
    [
        "what time is it",
        "12 + 5",
        "call mum",
        "dentist",
        "mail Jürgen that the Vorlesung is cancelled",
        "add Käse and Brötchen to the shopping list",
        'remember the phrase "der Ball ist rund und das Spiel dauert 90 Minuten"',
        "remind me to buy 🌷 tomorrow",
        "zeig mir",
    ],
)
def test_english_with_foreign_words_is_read(text: str) -> None:
    assert why_unreadable(text) == ""


def test_a_huge_request_is_refused_at_once() -> None:
    assert calls_of(lambda: why_unreadable("remind me " * 100_000)) < 200
    assert why_unreadable("remind me " * 100_000)
