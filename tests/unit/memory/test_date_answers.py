"""Ages, and the last, first and next of events are worked out, and nothing else is."""

from __future__ import annotations

import datetime as dt

import pytest

from hearth.memory.inquiry.record_answers import DateAsked, answer_from_dates, asked_of_dates
from hearth.protocols import CallContext
from hearth.testing import InMemoryWorkspace, make_call

NOW = dt.datetime(2026, 10, 21, 9, tzinfo=dt.UTC)


def event(uid: str, title: str, start: str, rule: str = "") -> bytes:
    times = f"DTSTART:{start}T180000Z\nDTEND:{start}T190000Z\n"
    return (
        f"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:{uid}\n{times}{rule}SUMMARY:{title}\nEND:VEVENT\nEND:VCALENDAR\n".encode()
    )


def card(uid: str, name: str, birthday: str, nickname: str = "") -> bytes:
    lines = f"UID:{uid}\nFN:{name}\nBDAY:{birthday}\nNICKNAME:{nickname}\n"
    return f"BEGIN:VCARD\nVERSION:3.0\n{lines}END:VCARD\n".encode()


@pytest.fixture
def call() -> CallContext:
    workspace = InMemoryWorkspace({})
    for path, data in {
        "calendar/choir.ics": event("choir", "Choir", "20260909", "RRULE:FREQ=WEEKLY\n"),
        "calendar/eye.ics": event("eye", "Optician", "20261006"),
        "calendar/op.ics": event("op", "Hip operation", "20261117"),
        "contacts/toby.vcf": card("toby", "Toby Hale", "2010-10-11", "my grandson"),
        "contacts/ben.vcf": card("ben", "Ben Hale", "1953-11-02", "my husband"),
        "contacts/ruth.vcf": card("ruth", "Ruth Hale", "--0918"),
    }.items():
        workspace.write(path, data)
    return make_call(workspace=workspace, now=NOW)


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("how old is Toby", "16"),
        ("how old is my husband?", "72"),
        ("how old will Ben be", "73"),
        ("how old will Ben be on 1 November", "72"),
        ("how old will Ben be in November", "73"),
        ("how old is Toby turning", "17"),
        ("when was my last optician appointment", "Tuesday 6 October 2026 at 18:00"),
        ("when was the last choir rehearsal", "Wednesday 14 October 2026 at 18:00"),
        ("when was the first choir", "Wednesday 9 September 2026 at 18:00"),
        ("what is my next event", "Choir, Wednesday 21 October 2026 at 18:00"),
        ("who has the next birthday", "Ben Hale: Monday 2 November 2026, turns 73"),
    ],
)
def test_it_is_worked_out_from_the_records(call: CallContext, question: str, value: str) -> None:
    found = answer_from_dates(question, call)
    assert found is not None
    assert found.value == value
    assert found.witnesses


@pytest.mark.parametrize(
    "question",
    [
        "how old is Ruth",  # the card gives no year
        "how old is the church",
        "how many days until my hip operation",
        "when was the last volcano",
        "who has a birthday",
        "how long is the notice period",
        "when is my hip operation",
    ],
)
def test_what_nothing_is_known_of_is_left_to_reading(call: CallContext, question: str) -> None:
    assert answer_from_dates(question, call) is None


def test_a_question_is_parsed_before_anything_is_read() -> None:
    assert asked_of_dates("how old is my mother?") == DateAsked("age", "my mother")
    assert asked_of_dates("when was it first") is None
