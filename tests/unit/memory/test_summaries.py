"""What a summary tells: sentences of the text itself, each mail of a thread, the records of a day."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.memory.answers.home_answers import HomeAnswers
from hearth.memory.answers.summaries import Wanted, asked_for_summary, chosen_sentences
from hearth.memory.inquiry.answer_reading import AnswerReader
from hearth.memory.search.passage_store import sentences_of
from hearth.protocols import HomeAnswer
from hearth.storage.database import Store
from hearth.testing import InMemoryWorkspace, make_call

NOW = dt.datetime(2026, 11, 23, 9, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("request_text", "wanted"),
    [
        ("a rundown of my week", Wanted("my week", "period")),
        ("give me a summary of today", Wanted("today", "period")),
        ("can you recap last week", Wanted("last week", "period")),
        ("sum up the thread about the tram poster", Wanted("tram poster", "thread")),
        ("summarise the mail from Hugh about tax", Wanted("Hugh tax", "mail")),
        ("what's the gist of the rental contract", Wanted("the rental contract", "")),
        ("give me a summary of yesterday at home", None),  # what cameras saw
        ("summarise world history", None),
        ("what is on this week", None),
        ("summary", None),
    ],
)
def test_what_is_to_be_summed_up(request_text: str, wanted: Wanted | None) -> None:
    assert asked_for_summary(request_text) == wanted


def test_a_summary_is_made_of_the_texts_own_sentences_in_order() -> None:
    text = (
        "Dear all. The hall is booked for 12 December. We need forty chairs. Tom brings the lamps. See you there soon."
    )
    told = chosen_sentences(text, 2, None)
    assert len(told) == 2
    assert [s for s in sentences_of(text) if s in told] == told
    assert "The hall is booked for 12 December." in told
    assert chosen_sentences("", 3, None) == []


def test_a_sentence_goes_on_behind_a_broken_line() -> None:
    text = "It would help us all very much indeed if you\ncould send the survey.\nphone: 12\ne-mail: a@b.example"
    assert sentences_of(text)[0].endswith("if you could send the survey.")
    assert sentences_of(text)[-1] == "e-mail: a@b.example"


def mail(sender: str, subject: str, text: str, day: int) -> bytes:
    head = f"From: {sender}\nTo: me@home.example\nSubject: {subject}\nMessage-ID: <{day}@x>\n"
    return f"{head}Date: {dt.datetime(2026, 11, day, 8):%a, %d %b %Y %H:%M:%S} +0000\n\n{text}\n".encode()


def event(title: str, day: int) -> bytes:
    times = f"DTSTART:202611{day}T180000Z\nDTEND:202611{day}T190000Z\n"
    return f"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:{title}\n{times}SUMMARY:{title}\nEND:VEVENT\nEND:VCALENDAR\n".encode()


class Home:
    def __init__(self, store: Store) -> None:
        self.answers = HomeAnswers(store, None, AnswerReader())
        self.workspace = InMemoryWorkspace({})
        for path, data in {
            "mail/cur/1.a:2,S": mail("Tomas <t@x.example>", "Paper samples", "I sent you three samples today.", 19),
            "mail/.Sent/cur/2.b:2,S": mail("Me <me@home.example>", "Re: Paper samples", "The matt one is best.", 20),
            "mail/cur/3.c:2,S": mail("Ida <i@x.example>", "Tent", "Could you send me the receipts, please?", 21),
            "calendar/a.ics": event("Choir", 24),
            "calendar/b.ics": event("Sailing", 30),
            "notes/roof.md": b"# Roof report\n\nThe battens are sound. The felt is brittle.\n",
        }.items():
            self.workspace.write(path, data)

    def ask(self, question: str) -> HomeAnswer:
        call = make_call(workspace=self.workspace, now=NOW, settings={"owner": {"email": "me@home.example"}})
        return self.answers.find_answer(question, call)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with Store.open(tmp_path / "hearth.db") as store:
        yield Home(store)


def test_a_week_is_stated_from_its_records(home: Home) -> None:
    found = home.ask("a rundown of my week")
    assert found.value == (
        "Monday 23 November 2026 to Sunday 29 November 2026:\n· 1 event: Choir (Tuesday 18:00–19:00)\n"
        "· 1 mail waits for your answer: Ida: “Could you send me the receipts, please?”"
    )
    assert found.witnesses[0].where == "calendar “Choir”"
    assert "nothing stands in your things" in home.ask("a summary of next month").value


def test_a_past_day_tells_who_wrote(home: Home) -> None:
    assert "1 mail from Tomas" in home.ask("recap last Thursday").value


def test_a_thread_tells_each_mail_in_turn(home: Home) -> None:
    found = home.ask("sum up the thread about the paper samples")
    assert found.value == (
        "Tomas, Thursday 19 November: I sent you three samples today. you, Friday 20 November: The matt one is best"
    )
    assert {one.source for one in found.witnesses} == {"message"}


def test_a_text_is_found_by_what_it_is_called(home: Home) -> None:
    found = home.ask("give me the gist of the roof report")
    assert (found.value, found.witnesses[0].source) == ("The battens are sound. The felt is brittle", "file")
    assert home.ask("summarise the zebra report").kind == "unknown"
