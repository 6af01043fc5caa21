"""Levels that are said by a direction, by a step or by an end of the range."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.language.discourse.plain_request import with_its_level


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("turn the volume up", "turn the volume up by 10 percent"),
        ("louder please!", "turn the volume up by 10 percent"),
        ("can you make the tv a little quieter", "turn the volume of the tv down by 5 percent"),
        ("raise the volume of my radio by fifty percent", "turn the volume of the radio up by 50 percent"),
        ("mute the telly", "set the volume of the telly to 0 percent"),
        ("turn the tv up to full volume", "set the volume of the tv to 100 percent"),
        ("living room volume down", "turn the volume of the living room down by 10 percent"),
        ("dim the lights in the hall", "turn the brightness of the lights in the hall down by 20 percent"),
        ("the lamp a lot brighter", "turn the brightness of the lamp up by 40 percent"),
        ("put the lights at half", "set the brightness of the lights to 50 percent"),
        ("turn the heating up", "turn the heating up by 1 degree"),
        ("set the heating two degrees warmer", "turn the heating up by 2 degrees"),
        ("turn the furnace up a couple degrees its freezing in here", "turn the furnace up by 2 degrees"),
        ("volume down a bit in the den", "turn the volume of the speaker in the den down by 5 percent"),
        ("a bit warmer in here", "turn the heating up by 0.5 degrees"),
    ],
)
def test_a_direction_becomes_a_step(text: str, meant: str) -> None:
    assert with_its_level(text) == meant
    assert with_its_level(meant) == meant, "it is read once"


@pytest.mark.parametrize(
    "text",
    [
        "turn the heating down to 18",
        "dim the lights to 20 percent",
        "set the volume to 30",
        "turn the lights off",
        "turn down the offer from the bank",
        "lower the blinds",
        "raise money for the school",
        "make the meeting later",
        "take the bins down",
        "turn it down",
        "volume louder softer",
        "turn the heating up by 20 percent",
        "dim the lights and lock the door",
        "turn the radio up at seven",
        "",
        "up",
        "how loud is the tv",
        "what's the model of my cooler",
    ],
)
def test_what_says_a_level_or_has_none_stays(text: str) -> None:
    assert with_its_level(text) == text


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    read = with_its_level(text)
    assert read == text or read.startswith(("turn the ", "set the "))
