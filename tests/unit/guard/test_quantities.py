"""Numbers and moments: what counts as one, and what contradicts the request."""

from __future__ import annotations

import datetime as dt

import pytest

from hearth.guard.policy.request_words import SaidTimes, all_numbers

TODAY = dt.date(2026, 11, 18)  # a Wednesday


@pytest.mark.parametrize(
    ("request_text", "fits", "contradicts"),
    [
        ("on Friday at 5 pm", "2026-11-20T17:00:00", "2026-11-28T17:00:00"),
        ("on Friday at 5 pm", "2026-11-20T17:00:00", "2026-11-20T05:00:00"),
        ("to Thursday the 3rd of December", "2026-12-03T17:00:00", "2026-11-29T07:00:00"),
        ("to half past nine the same day", "2026-11-24T09:30:00", "2026-11-24T19:30:00"),
        ("tomorrow at noon", "2026-11-19T12:00:00", "2026-11-19T15:00:00"),
        ("on 5 December at 15:30", "2026-12-05T15:30:00", "2026-12-05T22:30:00"),
        ("on 27 November at 16:15 and remind me an hour before", "2026-11-27T15:15:00", "2026-11-26T15:15:00"),
        ("on May 3rd", "2027-05-03T08:00:00", "2031-05-03T08:00:00"),
    ],
)
def test_moments(request_text: str, fits: str, contradicts: str) -> None:
    said = SaidTimes(request_text, TODAY)
    assert not said.contradict(fits, is_end=False)
    assert said.contradict(contradicts, is_end=False)


def test_numbers_are_found_whole_and_in_their_parts() -> None:
    assert all_numbers("call 0900 555 321 for 1,200.50") >= {"0900555321", "0900", "555", "1200.5"}


def test_a_request_without_times_contradicts_nothing() -> None:
    said = SaidTimes("Put lunch with Anna into my calendar", TODAY)
    assert not said.contradict("2026-12-24T03:00:00", is_end=False)
