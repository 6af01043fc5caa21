"""Answers over more than one passage, row or line: who is meant, whole lists, changes of amounts, cells of tables."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.memory.answers.home_answers import LEAST_NEAR, HomeAnswers
from hearth.memory.inquiry.answer_reading import AnswerReader
from hearth.memory.search.collecting import tables_in, unquoted, with_heads
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.protocols import HomeAnswer
from hearth.storage.database import Store
from hearth.testing import InMemoryWorkspace, make_call
from hearth.tools.memory import LEAST_SURE

NOW = dt.datetime(2026, 11, 24, 9, tzinfo=dt.UTC)
Ask = Callable[[str], HomeAnswer]


def card(name: str, phone: str, note: str = "", born: str = "") -> str:
    first, _, last = name.rpartition(" ")
    lines = f"UID:{name}\nFN:{name}\nN:{last};{first};;;\n"
    lines += f"TEL:{phone}\n" if phone else ""
    lines += (f"NOTE:{note}\n" if note else "") + (f"BDAY:{born}\n" if born else "")
    return f"BEGIN:VCARD\nVERSION:3.0\n{lines}END:VCARD\n"


def mail(sender: str, subject: str, text: str, day: int, kind: str = "plain") -> str:
    head = f"From: {sender}\nTo: me@home.example\nSubject: {subject}\nMessage-ID: <{sender}{day}@x>\n"
    return f"{head}Date: {day} Nov 2026 08:00:00 +0000\nContent-Type: text/{kind}\n\n{text}\n"


def event(title: str, start: str) -> str:
    lines = f"UID:{title}{start}\nDTSTART:{start}T100000Z\nDTEND:{start}T110000Z\nSUMMARY:{title}\n"
    return f"BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:VEVENT\n{lines}END:VEVENT\nEND:VCALENDAR\n"


ROTA = (
    "<table><tr><th>Week</th><th>Ship</th><th>Shift</th><th>Watch officer</th></tr>"
    "<tr><td>1 to 6 June</td><td>Petrel</td><td>Day</td><td>C. Muise</td></tr>"
    "<tr><td>7 to 13 June</td><td>Gannet</td><td>Night</td><td>R. Dhillon</td></tr></table>"
)
HOME = {
    "contacts/a.vcf": card("Leonie Vance", "+44 1 555 0101", "my mother, allergic to penicillin", "1951-12-09"),
    "contacts/b.vcf": card("Harvey Stokes", "+44 1 555 0102"),
    "contacts/c.vcf": card("Theodore Kay", "+44 1 555 0103", "Teddy, Basil's brother, electrician"),
    "contacts/d.vcf": card("Ann Poole", "+44 1 555 0104", "has a big dog", "1980-12-03"),
    "contacts/e.vcf": card("Rosa Marsh", "", "gardener"),
    "notes/house.md": "# House\n\nfurnace: Harvey comes every December\nroof: Harvey or Ann\n",
    "notes/vet.md": "# Biscuit\n\nvet: Dr. Hartlen, Cogswell Clinic, 902 555 0190\n",
    "notes/meeting.md": "# Safety meeting\n\npresent: Clovis\ndecided: tags in yellow\ndecided: a drill each Monday\n",
    "notes/trip.md": "# Trip\n\nWe still need to pack:\n- tent\n- stove\n- maps\n\nleave early\n",
    "notes/fuel.md": "# Fuel\n\n| date | litres | price |\n|---|---|---|\n| 3 October | 48.2 | $78.50 |\n"
    "| 7 November | 50.6 | $84.00 |\n| 21 November | 44.1 | $70.30 |\n",
    "mail/cur/1.r:2,S": mail("Crewing <c@f.example>", "Rota June", ROTA, 2, "html"),
    "mail/cur/2.i:2,S": mail(
        "Sloane <s@i.example>",
        "Boat insurance",
        "Your policy runs out on 14 January 2027. The premium for the coming year is $612.00; last year you paid $578.00.",
        3,
    ),
    "mail/cur/3.w:2,S": mail("Water <w@u.example>", "Water bill", "Amount due: £41.00", 4),
    "mail/cur/4.w:2,S": mail("Water <w@u.example>", "Water bill", "Amount due: £52.50", 20),
    "mail/cur/5.h:2,S": mail("Inn <i@h.example>", "Your room", "The room is £80 a night, breakfast included.", 6),
    "mail/cur/6.l:2,S": mail("Hoey <h@l.example>", "Rent", "The rent of the flat is £1,200 and due on the 28th.", 7),
    "mail/cur/7.f:2,S": mail("Mill <m@f.example>", "Flour prices", "Wheat is 11.40 a kilo, rye is 13.20 a kilo.", 8),
    "calendar/1.ics": event("Dentist", "20261208"),
    "calendar/2.ics": event("Dentist", "20261229"),
    "calendar/3.ics": event("Dentist", "20270108"),
    "calendar/4.ics": event("Carol concert", "20261219"),
}


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    with Store.open(tmp_path_factory.mktemp("home") / Path("hearth.db")) as store:
        home = HomeAnswers(store, MiniLMEncoder.open(), AnswerReader())
        call = make_call(
            workspace=InMemoryWorkspace(dict(HOME)), now=NOW, settings={"owner": {"email": "me@home.example"}}
        )
        yield lambda question: home.find_answer(question, call)


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("what's mum's phone number", "+44 1 555 0101"),
        ("what is Teddy's number", "+44 1 555 0103"),
        ("the electrician's phone number", "+44 1 555 0103"),
        ("how old is mum", "74"),
        ("who's our electrician", "Theodore Kay"),
        ("what's the phone number of Basil's brother", "+44 1 555 0103"),
        ("tell me who is the gardener again?", "Rosa Marsh"),
        ("when is my mother's birthday", "9 December 1951"),
        ("when is mums birthday", "9 December 1951"),
    ],
)
def test_somebody_is_meant_by_what_a_card_calls_them(ask: Ask, question: str, value: str) -> None:
    found = ask(question)
    assert (found.value, found.chance) == (value, 1.0)


def test_a_person_whom_another_record_names_is_told_with_doubt_and_both_are_shown(ask: Ask) -> None:
    found = ask("what is the furnace man's phone number")
    assert found.value == "+44 1 555 0102"
    assert found.chance < LEAST_SURE
    assert [one.where for one in found.witnesses] == ["card “Harvey Stokes”", "note “House”"]


@pytest.mark.parametrize(
    "question",
    [
        "what is the roof man's phone number",  # two are named beside it
        "what is the dog's phone number",  # "has a big dog" says nobody is one
        "what is the gardener's phone number",  # her card has none
        "what is Leonie's brother's phone number",  # he is Basil's
        "what is Basil's phone number",
        "what is the plumber's phone number",
    ],
)
def test_nobody_is_guessed(ask: Ask, question: str) -> None:
    assert not any(found in ask(question).value for found in ("0101", "0102", "0103", "0104"))


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("what did we decide at the safety meeting", "tags in yellow; a drill each Monday"),
        ("what do we still need to pack", "tent; stove; maps"),
        (
            "whose birthdays are in December",
            "Ann Poole: Thursday 3 December 2026, turns 46; Leonie Vance: Wednesday 9 December 2026, turns 75",
        ),
        ("how much more is the boat insurance than last year", "$34.00 more ($612.00 after $578.00)"),
        ("how much has the water bill gone up", "£11.50 more (£52.50 after £41.00)"),
        ("how much is the room for three nights", "£240.00 (£80.00 × 3)"),
        ("what is my share of the rent of the flat if four of us split it", "£300.00 (£1,200.00 ÷ 4)"),
        ("how much dearer is rye than wheat", "1.80 (13.20 and 11.40)"),
        ("how many days until the boat insurance runs out", "51 days"),
        (
            "how many litres did I fill up in November",
            "94.7 litres (2 rows: 7 November: 50.6; 21 November: 44.1)",
        ),
        ("how many times do I go to the dentist before 1 January", "2 events"),
        ("who is the watch officer on my night week", "R. Dhillon"),
        ("what is the number of the vet", "902 555 0190"),
    ],
)
def test_what_several_lines_rows_or_records_say_is_told_together(ask: Ask, question: str, value: str) -> None:
    assert ask(question).value == value


def test_where_nothing_answers_the_place_that_comes_nearest_is_named_if_it_is_near(ask: Ask) -> None:
    near, far = ask("what is the plumber's phone number"), ask("who won the cup in 1998")
    assert (near.kind, far.kind) == ("unknown", "unknown")
    assert near.chance >= LEAST_NEAR > far.chance
    assert near.nearest[0].where.startswith("card “")
    assert far.nearest == ()
    (gardener,) = ask("what is the gardener's phone number").nearest  # who is one, and has none on it
    assert gardener.where == "card “Rosa Marsh”"


def test_a_price_for_a_night_is_not_multiplied_by_months(ask: Ask) -> None:
    assert "×" not in ask("how much is the room for three months").value
    assert "×" not in ask("how much is the rent of the flat for three nights").value


def test_an_events_beginning_is_not_told_for_sure_as_when_to_be_there(ask: Ask) -> None:
    assert ask("what time must I be at the carol concert").chance < LEAST_SURE
    assert ask("when is the carol concert").chance >= LEAST_SURE


@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        ("a | b\n1 | 2\n3 | 4", ["a", "b"], [("1", "2"), ("3", "4")]),
        ("before\ncap | 2 | $9\nbag | 1 | $3\nafter", ["", "", ""], [("cap", "2", "$9"), ("bag", "1", "$3")]),
        ("a | b\n1 | 2\na | b\n3 | 4", ["a", "b"], [("1", "2"), ("3", "4")]),  # cut, with its head said again
        ("fee | 2025 | 2026\nadult | 9 | 11", ["fee", "2025", "2026"], [("adult", "9", "11")]),
        ("Ana | 1999\nBo | 2001", ["", ""], [("Ana", "1999"), ("Bo", "2001")]),
        ("Rent | 2000\nGas | 80", ["", ""], [("Rent", "2000"), ("Gas", "80")]),
    ],
)
def test_tables_are_read_with_their_heads(text: str, names: list[str], rows: list[tuple[str, ...]]) -> None:
    (table,) = tables_in(text)
    assert (table.names(), table.texts()) == (names, rows)
    assert all(text[cell.start :].startswith(cell.text) for row in table.rows for cell in row)


@pytest.mark.parametrize(
    ("text", "headed"),
    [
        ("fee | 2025 | 2026\nadult | 9 | 11\nend", "fee | 2025 | 2026\nadult: 2025 9; 2026 11\nend"),
        ("a | b | c\nx | | 4\ny | 3 |\nend", "a | b | c\nx: c 4\ny: b 3\nend"),
        ("cap | 2 | $9\nbag | 1 | $3", "cap | 2 | $9\nbag | 1 | $3"),
        ("no table, a|b", "no table, a|b"),
        ("", ""),
    ],
)
def test_cells_are_read_with_the_names_of_their_columns(text: str, headed: str) -> None:
    assert with_heads(text)[0] == headed


@given(st.lists(st.text("ab 1|\n9", max_size=12), max_size=6).map("\n".join))
def test_every_character_with_heads_knows_its_place(text: str) -> None:
    headed, places = with_heads(text)
    assert len(headed) == len(places)
    assert all(text[at] == character for character, at in zip(headed, places, strict=True) if at >= 0)


def test_two_runs_of_rows_are_two_tables_and_a_lone_row_is_one() -> None:
    assert [len(table.rows) for table in tables_in("a | b\n1 | 2\n\nx\n\na | b | c\n1 | 2 | 3\n4 | 5 | 6")] == [1, 2]


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("Yes.\n\nOn Wed, Nov 18, 2026 at 11:02 AM Ann <a@x.example> wrote:\n> Can you?", "Yes."),
        ("Yes.\n\n-----Original Message-----\nFrom: Ann\nCan you?", "Yes."),
        ("On Monday we met Ann who wrote: see you", "On Monday we met Ann who wrote: see you"),
        ("> all of it", "> all of it"),
    ],
)
def test_a_mail_is_read_without_the_one_that_it_answers(text: str, own: str) -> None:
    assert unquoted(text).strip() == own
