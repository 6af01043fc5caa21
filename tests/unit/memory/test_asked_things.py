"""Whether a place names what a question is about."""

from __future__ import annotations

import pytest

from hearth.memory.inquiry.answer_reading import is_named


@pytest.mark.parametrize(
    ("question", "place", "expected"),
    [
        ("what is the address of Pasture", "Pasture: 12 Portwall Lane", True),
        ("what is Pasture's address", "Pasture: 12 Portwall Lane", True),
        ("when is the parents evening", "parents’ evening … parents evening at 19:00", True),
        ("what we decided in the studio meeting", "Studio meeting: we decided to buy a kiln", True),
        ("when is the MOT due", "mail “MOT” from Garage: the MOT is on 3 December", True),
        ("when does the passport expire", "note “Passport” valid until 24 May 2028", True),
        ("when is the car serviced", "Car service on 3 March", True),
        ("what is the wifi password", "The alarm code is 7741.", False),
        ("what is the weight of the world", "The dog weighs 9 kg.", False),
        ("what is the gate code", "The parcel code is PK-31.", False),
        ("what is the deposit", "The rent is 500.", False),
        ("what is the address of Pasture", "In the past we met at 12 Portwall Lane", False),
        ("when is the MOT due", "The rent is due on 3 December", False),
        ("when is it", "The rent is due on 3 December", False),
    ],
)
def test_a_place_names_what_is_asked(question: str, place: str, expected: bool) -> None:
    assert is_named(question, place) is expected
