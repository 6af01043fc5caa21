"""A mail that tells another time of an event than the calendar is found; one that tells of something else is not."""

from __future__ import annotations

import datetime as dt

import pytest

from hearth.memory.inquiry.later_mails import later_word, written_at
from hearth.memory.search.passage_store import Passage

ZONE = dt.timezone(dt.timedelta(hours=1))
WRITTEN = dt.datetime(2026, 11, 10, 9, tzinfo=ZONE)
EVENT = {
    "id": "pottery-1",
    "title": "Pottery lesson",
    "start": "2026-11-26T18:30:00+01:00",
    "place": "Kiln Yard, Lund",
    "attendees": ["Tove Ek"],
}


def mail(text: str, title: str = "Hello", person: str = "Tove Ek", day: int = 12) -> Passage:
    at = dt.datetime(2026, 11, day, 9, tzinfo=ZONE)
    return Passage("m", "mail", "message", title, person, at, text, 1, "m")


@pytest.mark.parametrize(
    ("one", "is_told"),
    [
        (mail("We have moved your lesson to Friday 27 November at 19:00."), True),
        (mail("The pottery now begins at 18:00, not 18:30."), True),
        (mail("From now on we start at 7 pm on Thursdays.", "Pottery"), True),
        (mail("The class on 26 November has been postponed to 3 December.", person="Kiln Yard"), True),
        (mail("We have moved your lesson to Friday at 19:00."), True),
        (mail("The pottery starts at seven now instead of half past six."), True),
        (mail("The pottery starts at half past six now instead of seven."), False),
        (mail("We have moved your lesson to Thursday at 6.30 pm."), False),
        (mail("The lesson has been moved from 18:00 to 18:30."), False),
        (mail("I have moved my appointment to Thursday at 17:00."), False),
        (mail("Shall we move the pottery to 17:00?"), False),
        (mail("Pottery is at 18:30 as ever. Bring clay."), False),
        (mail("We have moved your lesson to 19:00.", person="Riding School"), False),
        (mail("We have moved your lesson to 19:00.", day=9), False),
        (mail("The Monday class now starts at 17:00."), False),
    ],
)
def test_a_later_mail_that_says_another_time(one: Passage, is_told: bool) -> None:
    assert (later_word(EVENT, [one], WRITTEN) is not None) is is_told


def test_the_newest_of_several_counts_and_a_whole_day_has_no_time() -> None:
    mails = [mail(f"The pottery now begins at {hour}:00.", day=day) for hour, day in ((17, 12), (20, 14), (19, 13))]
    found = later_word(EVENT, mails, None)
    assert found is not None
    assert found.sentence == "The pottery now begins at 20:00."
    assert later_word({**EVENT, "start": "2026-11-26"}, mails, None) is None


def test_when_an_entry_was_written() -> None:
    raw = b"CREATED:20261101T090000Z\r\nDTSTAMP:20261120T083000Z\r\nLAST-MODIFIED:20261110T080000Z\r\n"
    assert written_at(raw) == WRITTEN
    assert written_at(b"DTSTAMP:20261120T083000Z\r\n") is None
