"""What tells of health, belief and the like is found; the field itself, and words that only look so, are not."""

from __future__ import annotations

import pytest

from hearth.config import MASKED_KINDS
from hearth.guard.deidentify.masker import Masker
from hearth.language.text.finder_text import plain, words
from hearth.language.values.special_categories import find_special

TOLD = [
    ("I'm going to therapy on Thursdays", "health", "going to therapy"),
    ("my blood group is A negative", "health", "blood group is A negative"),
    ("blood pressure is 170 over 110", "health", "blood pressure is 170 over 110"),
    ("my cholesterol is 280", "health", "cholesterol is 280"),
    ("suspended for smoking weed", "health", "smoking weed"),
    ("we lost the baby", "health", "lost the baby"),
    ("transition appointment at ten", "health", "transition appointment"),
    ("he's on the sex offender register", "law", "sex offender"),
    ("we're getting divorced", "law", "getting divorced"),
    ("my divorce is through", "law", "my divorce"),
    ("we want to unionise the team", "union", "unionise"),
    ("dad left me 80k", "finance", "left me 80k"),
    ("two months behind on rent", "finance", "months behind on rent"),
    ("I am fasting for Lent", "religion", "fasting for Lent"),
    ("Mila's communion is in May", "religion", "communion"),
    ("my kids are half Nigerian", "ethnicity", "half Nigerian"),
    ("I have had a fever since Monday", "health", "fever"),
    ("is penicillin ok with milk", "health", "penicillin"),
    ("what helps against Lyme disease", "health", "Lyme"),
    ("order more sertraline", "health", "sertraline"),
    ("I am pregnant", "health", "pregnant"),
    ("my blood pressure was 160 over 95", "health", "blood pressure was 160 over 95"),
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
    ("dad's heart surgery is on Friday", "health", "heart surgery"),
    ("she is recovering from surgery", "health", "surgery"),
    ("I have a lump in my breast", "health", "lump"),
    ("he tried to kill himself", "health", "kill himself"),
    ("she cuts herself", "health", "cuts herself"),
    ("he has been self-harming since May", "health", "self-harming"),
    ("I think about ending it all", "health", "ending it all"),
    ("she took her own life", "health", "took her own life"),
    ("I don't want to live any more", "health", "don't want to live"),
    ("my weight is 132 kg", "health", "my weight is 132 kg"),
    ("I weigh 98 kilos", "health", "I weigh 98 kilos"),
    ("he lost 20 kg since spring", "health", "lost 20 kg"),
    ("I see a psychiatrist on Mondays", "health", "psychiatrist"),
    ("the oncologist wants to see me", "health", "oncologist"),
    ("I was raped", "law", "raped"),
    ("my husband beats me", "law", "husband beats me"),
    ("he hits me", "law", "he hits me"),
    ("she was beaten by her boyfriend", "law", "was beaten"),
    ("my cousin was assaulted", "law", "assaulted"),
    ("asylum hearing on Tuesday", "law", "asylum"),
    ("they want to deport my uncle", "law", "deport"),
    ("I have been in prison", "law", "in prison"),
    ("my probation officer called", "law", "probation officer"),
    ("the police searched our flat", "law", "police searched"),
    ("my visa runs out in June", "law", "my visa runs out"),
    ("we won 12000 in the lottery", "finance", "won 12000 in the lottery"),
    ("what about mum's lottery win", "finance", "lottery win"),
    ("I was fired yesterday", "finance", "I was fired"),
    ("my wife was made redundant", "finance", "wife was made redundant"),
    ("they sacked him", "finance", "sacked him"),
    ("he is unemployed", "finance", "unemployed"),
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
    "the depression in the lawn needs sand",
    "a debt of gratitude",
    "cancer zodiac sign",
    "fever pitch is a novel",
    "addicted to this series",
    "the kindergarten cop movie",
    "half an hour to Half Moon Bay",
    "the box was left behind on the shelf",
    "she left me a note",
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
    "the surgery opens at eight",
    "is the doctor's surgery open today",
    "a lump of sugar in my tea",
    "kill the timer",
    "cut the bread myself",
    "end the call",
    "take it all out",
    "remind me to take my life jacket",
    "my weight plates are in the cellar",
    "the parcel weighs 12 kg",
    "the box's weight is 12 kg",
    "i want to live by the sea",
    "rape seed oil and bread",
    "beat the eggs",
    "he beats me at tennis",
    "play Hit Me Baby One More Time",
    "what did the court order for lunch",
    "watch prison break",
    "buy a lottery ticket",
    "shots were fired in the film",
    "the kiln is fired on Friday",
    "the shop fired up the oven",
    "let go of the rope",
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
