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
        ("提醒我明天九点浇水", "looks like Chinese; I can only read English"),
        ("Напомни мне завтра полить цветы", "looks like a language in Cyrillic letters; I can only read English"),
        ("Erinnere mich morgen um neun an die Pflanzen", "looks like German; I can only read English"),
        ("rappelle-moi demain d'appeler le médecin", "looks like French; I can only read English"),
        ("recuérdame mañana llamar al dentista", "looks like Spanish; I can only read English"),
        ("ricordami domani di chiamare mia madre", "looks like Italian; I can only read English"),
        ("Wann ist mein nächster Termin beim Zahnarzt", "looks like German;"),
        ("qu'est-ce que j'ai demain dans mon agenda", "looks like French;"),
        ("qué tengo mañana por la tarde", "looks like Spanish;"),
        ("che ore sono e cosa ho in programma domani", "looks like Italian;"),
        ("lembra-me de ligar para o meu médico amanhã", "looks like Portuguese;"),
        ("herinner mij morgen aan het vuilnis", "looks like Dutch;"),
        ("przypomnij mi jutro o wizycie u dentysty", "looks like Polish;"),
        ("påminn mig om att ringa mamma imorgon", "looks like Swedish;"),
        ("Θύμισέ μου αύριο να ποτίσω", "looks like Greek;"),
        ("ذكرني غدا بالاتصال بأمي", "looks like a language in Arabic letters;"),
        ("תזכיר לי מחר להתקשר לאמא", "looks like Hebrew;"),
        ("明日の九時に花に水をやるのを思い出させて", "looks like Japanese;"),
        ("내일 아홉 시에 엄마에게 전화하라고 알려줘", "looks like Korean;"),
        ("मुझे कल नौ बजे याद दिलाना", "looks like another language;"),
        ("Erinnere mich bitte an la vie en rose und an das Brot", "looks like German;"),
        ("note que je dois appeler le médecin demain pour ma mère", "looks like French;"),  # "note" is English, too
        ("whatsonmycalendartomorrow", "did you mean “whats on my calendar tomorrow”?"),
        ("remindmetocallmumtomorrow", "did you mean “remind me to call mum tomorrow”?"),
        ("please remindmetocallmum", "did you mean “please remind me to call mum”?"),
        ("what'sonmycalendar tomorrow", "did you mean “whats on my calendar tomorrow”?"),
        ("r e m i n d m e t o c a l l m u m", "The letters stand apart"),
        ("r e m i n d   m e", "The letters stand apart"),
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
        "add crème brûlée to the shopping list",
        "mail Jürgen",
        "call Featherstonehaugh",
        "message Butterworthson",
        "play la vie en rose",
        "play je ne regrette rien",
        "book a table at La Maison de la Truite et du Vin for Friday",
        "remind me to ring Señora de la Cruz",
        "what is on at El Jardín de los Olivos tomorrow",
        "add dulce de leche and pan de muerto to the list",
        "find the mail from Jan van den Berg",
        "message Mr. O'Neill about the crème de la crème and the coq au vin",
        "unfortunately",
        "Kindergarten",
        "Donaudampfschifffahrtsgesellschaft",
        "the notwithstandingclause of the contract",  # words beside it: it names something
        "johnsmithandthesons@post.example",
        "documents/myholidayphotosandmore.zip",
        "A B C plumbing",
        "plan b or c",
        "pasta 9 min, sauce 25 min, garlic bread 12 min",
    ],
)
def test_english_with_foreign_words_is_read(text: str) -> None:
    assert why_unreadable(text) == ""


def test_a_huge_request_is_refused_at_once() -> None:
    assert calls_of(lambda: why_unreadable("remind me " * 100_000)) < 200
    assert why_unreadable("remind me " * 100_000)
