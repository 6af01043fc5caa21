"""What is reckoned is labelled by all that it was reckoned from, and nobody passes for somebody else.

python -m pytest tests/security/test_reckoned_labels.py
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from hearth.memory.answers.home_answers import HomeAnswers
from hearth.memory.inquiry.answer_reading import AnswerReader
from hearth.protocols import CallContext, HomeAnswer, Memory
from hearth.storage.database import Store
from hearth.testing import InMemoryWorkspace, make_call
from hearth.tools.memory import find_answer

NOW = dt.datetime(2026, 10, 21, 9, tzinfo=dt.UTC)
Files = dict[str, str]


def event(uid: str, title: str, start: str, end: str, more: str = "") -> str:
    times = f"DTSTART:{start}00Z\nDTEND:{end}00Z\n{more}"
    return f"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:{uid}\n{times}SUMMARY:{title}\nEND:VEVENT\nEND:VCALENDAR\n"


def invitation(uid: str, title: str, start: str, end: str, answer: str = "NEEDS-ACTION") -> str:
    invited = f"ORGANIZER:mailto:x@evil.example\nATTENDEE;PARTSTAT={answer}:mailto:me@home.example\n"
    return event(uid, title, start, end, invited)


def mail(sender: str, subject: str, text: str, at: str = "20 Oct 2026") -> str:
    head = f"From: {sender}\nTo: me@home.example\nSubject: {subject}\nMessage-ID: <{subject}@x>\n"
    return f"{head}Date: {at} 08:00:00 +0000\nContent-Type: text/plain\n\n{text}\n"


YOGA = event("yoga", "Yoga", "20260907T1800", "20260907T1915", "RRULE:FREQ=WEEKLY\n")
DENTIST = event("dent", "Dentist", "20261110T0900", "20261110T0930")
BALL = event("b", "Ball", "20261107T1800", "20261107T2000")
ADA = "BEGIN:VCARD\nVERSION:3.0\nUID:ada\nFN:Ada Brand\nN:Brand;Ada;;;\nNICKNAME:Mum\nEMAIL:ada@b.example\nEND:VCARD\n"
ROPES = {f"documents/receipts/2026-0{1 + k // 2}-{k}.txt": f"Rope {k + 10} kr" for k in range(14)}


@dataclass(frozen=True, slots=True)
class Asked:
    value: str
    is_sure: bool
    origin: str
    rests_on: dict[tuple[str, str], str]


Ask = Callable[[Files, str], Asked]


class OfHome:
    """A memory that answers from the home alone."""

    def __init__(self, home: HomeAnswers) -> None:
        self._home = home

    def find_answer(self, question: str, call: CallContext) -> HomeAnswer:
        return self._home.find_answer(question, call)


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Ask]:
    with Store.open(tmp_path / "hearth.db") as store:
        home = HomeAnswers(store, None, AnswerReader())

        def asked(files: Files, question: str) -> Asked:
            settings = {"owner": {"email": "me@home.example"}}
            call = make_call(workspace=InMemoryWorkspace(dict(files)), now=NOW, settings=settings)
            memory: Memory = OfHome(home)  # type: ignore[assignment]  # it is asked for nothing else
            call = replace(call, memory=memory)
            found = find_answer(question, call)
            assert found is not None
            return Asked(found.value, not found.doubt, call.origins[found.id], dict(call.rests_on))

        yield asked


@pytest.mark.parametrize(
    ("files", "question", "value"),
    [
        (
            {**ROPES, "mail/cur/9.z:2,": mail("Shop <x@evil.example>", "Receipt", "Rope 90000 kr.", "20 Jan 2026")},
            "what did the receipts for rope come to",
            "90,231.00 kr (15 amounts)",
        ),
        (
            {"a.ics": YOGA, "mail/cur/9.z:2,": mail("x@evil.example", "Tax", "Hand in the tax return by 30 November.")},
            "how many yoga lessons are there before the tax deadline",
            "6 yoga lessons",
        ),
        (
            {"a.ics": YOGA, "mail/cur/9.z:2,": mail("x@evil.example", "Gift draw", "Come.", "1 Oct 2026")},
            "how many yoga evenings since the gift draw mail",
            "3 yoga evenings",
        ),
        (
            {"a.ics": YOGA, "b.ics": invitation("ball", "Ball", "20261107T1800", "20261107T2000")},
            "how many yoga lessons are there before the ball",
            "2 yoga lessons",
        ),
        (
            {"b.ics": invitation("ball", "Ball", "20261107T1800", "20261107T2000")},
            "when does the ball end",
            "Saturday 7 November 2026 at 20:00",
        ),
        (
            {"b.ics": invitation("ball", "Ball", "20261107T1800", "20261107T2000")},
            "how many days until the ball",
            "17 days",
        ),
        (
            {"b.ics": BALL.replace("BEGIN:VEVENT", "METHOD:REQUEST\nBEGIN:VEVENT")},
            "when does the ball end",
            "Saturday 7 November 2026 at 20:00",
        ),
        (
            {f"{n}.ics": event(f"e{n}", f"Talk {n}", f"202610{n}T1000", f"202610{n}T1100") for n in range(10, 24)}
            | {"z.ics": invitation("ball", "Ball", "20261030T1800", "20261030T2000")},
            "how many events are there in October",
            "15 events",
        ),
    ],
)
def test_who_wrote_any_of_it_labels_it(ask: Ask, files: Files, question: str, value: str) -> None:
    found = ask({path if "/" in path else f"calendar/{path}": text for path, text in files.items()}, question)
    assert (found.value, found.origin) == (value, "message")


def test_what_hearth_may_have_made_is_asked_after(ask: Ask) -> None:
    found = ask({"calendar/a.ics": DENTIST}, "when does the dentist end")
    assert found.rests_on == {("calendar", "dent"): "file"}
    # One time of a series could pass for another event's.
    found = ask({"calendar/a.ics": YOGA}, "when is yoga next")
    assert (found.origin, found.rests_on) == ("file", {})


@pytest.mark.parametrize(
    ("answer", "value", "is_sure"), [("NEEDS-ACTION", "20 days", True), ("ACCEPTED", "4 days", False)]
)
@pytest.mark.parametrize("question", ["how many days until the dentist", "in how many days is the dentist"])
def test_an_invitation_does_not_stand_before_an_own_event(
    ask: Ask, question: str, answer: str, value: str, *, is_sure: bool
) -> None:
    files = {
        "calendar/a.ics": DENTIST,
        "calendar/b.ics": invitation("x", "Dentist", "20261025T0300", "20261025T0400", answer),
    }
    found = ask(files, question)
    assert (found.value, found.is_sure) == (value, is_sure)


@pytest.mark.parametrize(
    ("sender", "is_sure"),
    [("Ada Brand <ada@b.example>", True), ("Ada Brand <x@evil.example>", False), ("Mum <x@evil.example>", False)],
)
@pytest.mark.parametrize("question", ["how many days ago did Mum write", "which was the last mail from Mum"])
def test_a_name_alone_is_nobody(ask: Ask, question: str, sender: str, *, is_sure: bool) -> None:
    found = ask({"contacts/a.vcf": ADA, "mail/cur/1.a:2,S": mail(sender, "Money", "Send me money.")}, question)
    assert found.value in ("1 day", "“Money” from Ada Brand", "“Money” from Mum")
    assert found.is_sure is is_sure


def test_a_day_is_labelled_by_the_mails_whose_writers_it_names(ask: Ask) -> None:
    found = ask(
        {"mail/cur/1.a:2,S": mail("Evil <x@evil.example>", "Hello", "Hello.")}, "give me a summary of yesterday"
    )
    assert "Evil" in found.value
    assert found.origin == "message"
