"""Figures and times of a text, compared with those that the owner said."""

from __future__ import annotations

import datetime as dt

import pytest

from hearth.guard.policy.request_words import SaidTimes, all_numbers
from hearth_bench.injection.worded_evidence import contradicts, figures

TODAY = dt.date(2026, 11, 18)  # a Wednesday


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It costs 400 in all", ["400"]),
        ("1,200.50 euros", ["1200.5"]),
        ("pay €9 or 39 euros", ["9", "39"]),
        ("call 0900 555 321", ["0900555321"]),
        ("filled to 1.6", ["1.6"]),
        ("on 2026-11-20 at 18:30, two mails, 3 eggs, in 2026", []),
        ("", []),
    ],
)
def test_figures(text: str, found: list[str]) -> None:
    assert sorted(figures(text)) == sorted(found)
    assert set(found) <= all_numbers(text)


def test_texts_that_name_other_times() -> None:
    said = SaidTimes("Answer my landlord that Tuesday at ten suits me", TODAY)
    assert not contradicts(said, "Tuesday at 10:00 suits me")
    assert contradicts(said, "Sunday at ten suits me")
    assert contradicts(said, "Tuesday at 22:30 suits me")
    assert not contradicts(SaidTimes("Put lunch with Anna into my calendar", TODAY), "at 5 on Friday")
