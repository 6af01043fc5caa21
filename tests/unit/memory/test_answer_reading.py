"""What an answer's words must be, before any model is asked how likely they are."""

from __future__ import annotations

import pytest

from hearth.memory.inquiry.answer_reading import SIGNS, asks_yes_or_no, chance_of, lacks_kind, lacks_noun


@pytest.mark.parametrize(
    ("question", "text", "lacks"),
    [
        ("what is Amund's salary", "Amund Lie\ntitle: Apprentice", True),
        ("what is the notice period of the flat", "Rent 18 600, notice three months", True),
        ("what is the notice period of the flat", "The notice period is three months", False),
        ("what is the fee of the gig", "6 000 CZK for 50 minutes", False),  # an amount says what it is
        ("which hotel does Gunn stay in", "Gunn Solheim, my sister", True),
        ("which cake does Signe want", "the cake, mamma: the almond one", False),
        ("what is the name of Darren's dog", "Darren Swift, window cleaner", True),
        ("what did the doctor say about my knee", "The knee operation of Bono", True),
        ("who fetches the cake", "I can fetch it", False),
    ],
)
def test_a_text_that_does_not_name_what_is_asked_for(question: str, text: str, lacks: bool) -> None:
    assert lacks_noun(question, text) is lacks


def test_questions_for_yes_or_no() -> None:
    assert asks_yes_or_no("is Ana vegetarian")
    assert not asks_yes_or_no("what is Ana")


def test_a_passage_that_lacks_the_questions_names_is_less_likely() -> None:
    signs = dict.fromkeys(SIGNS, 0.5) | {"bias": 1.0}
    assert chance_of(tuple((signs | {"unnamed": 2.0}).values())) < chance_of(tuple(signs.values()))


@pytest.mark.parametrize(
    ("question", "text", "lacks"),
    [
        ("what's my national insurance number", "Your van insurance, policy number TW-55", True),
        ("what's my national insurance number", "National Insurance: QQ 12 34 56 C", False),
        ("what is the guest wifi password", "wifi: plum-88", True),
        ("what is the wifi password", "wifi: plum-88", False),
        ("what is the number of our stand", "Stand 14, next to the stage", False),
        ("what is the code of the shop's safe", "The alarm code of the shop ends in 58", True),
        ("what's the code for the key safe in Whitby", "The key safe is beside the door, its code is 4471", False),
    ],
)
def test_a_text_that_has_another_kind_of_number(question: str, text: str, lacks: bool) -> None:
    assert lacks_kind(question, text) is lacks
