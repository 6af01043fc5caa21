"""What tells of health, belief and the like is found; the field itself, and words that only look so, are not."""

from __future__ import annotations

import pytest

from hearth.config import MASKED_KINDS
from hearth.guard.deidentify.masker import Masker
from hearth.language.text.confusables import plain, words
from hearth.language.values.special_categories import find_special

TOLD = [
    ("I have had a fever since Monday", "health", "fever"),
    ("is penicillin ok with milk", "health", "penicillin"),
    ("what helps against Lyme disease", "health", "Lyme"),
    ("order more sertraline", "health", "sertraline"),
    ("I am pregnant", "health", "pregnant"),
    ("my blood pressure was 160 over 95", "health", "blood pressure"),
    ("tell Tom about my chemotherapy", "health", "chemotherapy"),
    ("refill the atorvastatin", "health", "atorvastatin"),
    ("book a colonoscopy", "health", "colonoscopy"),
    ("he has bronchitis again", "health", "bronchitis"),
    ("my therapist moved the hour", "health", "therapist"),
    ("when does Ramadan begin, I want to fast", "religion", "Ramadan"),
    ("plan my daughter's bat mitzvah", "religion", "bat mitzvah"),
    ("the union meeting is at six", "union", "union meeting"),
    ("I vote for the greens", "politics", "I vote for"),
    ("he came out as gay", "sexuality", "gay"),
    ("my grandparents were Sinti", "ethnicity", "Sinti"),
    ("my salary is 52,000 euros", "finance", "52,000"),
    ("I owe Tom €1,350 for the car", "finance", "€1,350"),
    ("the mortgage runs out", "finance", "mortgage"),
    ("we have tax arrears", "finance", "tax arrears"),
    ("the custody hearing is at ten", "children", "custody"),
    ("Emil is bullied in class", "children", "bullied"),
    ("our foster child comes on Monday", "children", "foster child"),
]
HARMLESS = [
    "cancel my dentist appointment",
    "call the doctor about the bill",
    "what is the capital of Australia",
    "meet at seven",
    "put a stroke of paint on the list",
    "play zen music in the kitchen",
    "two tickets for the mass transit museum",
    "the labour costs of the roof",
    "is the pharmacy open on sunday",
    "the black jacket",
    "remind me of the student union square",
    "how many periods does an ice hockey game have",
    "what is the status of my parcel",
    "make the presentation orange",
    "it costs 1,350 euros",
    "what are the benefits of daylight saving",
    "they adopted the motion",
    "grant me access to the folder",
    "wake me at seven, it is 2031",
    "put the baby pictures into the album",
]


@pytest.mark.parametrize(("text", "kind", "told"), TOLD)
def test_what_tells_of_a_special_category_is_found(text: str, kind: str, told: str) -> None:
    found = find_special(text, words(plain(text).text))
    assert (kind, told) in [(one.kind, text[one.start : one.end]) for one in found]
    masked = Masker(MASKED_KINDS).mask(text)
    assert told.lower() not in masked.text.lower()
    assert masked.unmask(masked.text) == text
    assert "matter1" in masked.text.lower()


@pytest.mark.parametrize("text", HARMLESS)
def test_what_tells_nothing_stays(text: str) -> None:
    assert find_special(text, words(plain(text).text)) == []
