"""What is told where several records answer: the newest of the same kind; where they disagree, all with their dates."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hearth.memory.answers.home_answers import HomeAnswers
from hearth.memory.inquiry.answer_reading import SIGNS, AnswerReader, Reading, least_chance
from hearth.memory.inquiry.answer_telling import (
    answer_of,
    card_meant,
    is_on_anothers_card,
    kind_of,
    own_first,
    told_chance,
)
from hearth.memory.search.passage_store import Candidate, Passage
from hearth.protocols import HomeAnswer, Witness
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW, InMemoryWorkspace, make_call
from hearth.tools.memory import DOUBTED, LEAST_SURE
from hearth.tools.pim.contacts import cards_in

QUESTION = "when is the parents evening"


def reading(title: str, text: str, value: str, days_ago: int, chance: float = 0.8, kind: str = "note") -> Reading:
    at = FIXED_NOW - dt.timedelta(days=days_ago)
    passage = Passage(f"{title} {days_ago}", kind, "file", title, "", at, text, days_ago, title)
    return Reading(Candidate(passage, 1.0, 0.5), value, passage.read.index(value), 0.5, (), chance)


OLD = reading("School", "The parents evening is on 9 December.", "9 December", 30)
NEW = reading("Moved", "The parents evening is on 11 December now.", "11 December", 2, 0.7)


def test_sources_that_disagree_are_told_newest_first() -> None:
    found = answer_of(QUESTION, [OLD, NEW], FIXED_NOW)
    assert (found.value, found.kind) == ("11 December", "date")
    assert [(one.value, one.quote) for one in found.witnesses] == [
        ("", "The parents evening is on 11 December now."),
        ("9 December", "The parents evening is on 9 December."),
    ]


@pytest.mark.parametrize(
    ("first", "second", "is_rival"),
    [
        ("9 December", "Wednesday 9 December", False),
        ("9 December", "2026-12-09", False),
        ("£84.20", "£84.20", False),
        ("£84.20", "£79.90", True),
        ("14", "15", True),
        ("the gym", "the hall", False),
    ],
)
def test_other_words_for_the_same_are_no_disagreement(first: str, second: str, is_rival: bool) -> None:
    a = reading("A", f"The parents evening: {first}.", first, 30)
    b = reading("B", f"The parents evening: {second}.", second, 2)
    values = [one.value for one in answer_of(QUESTION, [a, b], FIXED_NOW).witnesses]
    assert any(values) == is_rival


def test_what_speaks_of_less_or_is_unlikely_contradicts_nothing() -> None:
    other = reading("Concert", "The concert evening is on 12 December.", "12 December", 1)
    unlikely = reading("Moved", "The parents evening is on 13 December.", "13 December", 1, least_chance() / 2)
    found = answer_of(QUESTION, [OLD, other, unlikely], FIXED_NOW)
    assert (found.value, len(found.witnesses)) == ("9 December", 1)


def test_of_two_events_the_likelier_is_told_first_and_not_the_later() -> None:
    there, back = (
        reading(f"Flight {way}", f"Flight {way}: {value}.", value, days_ago, chance, "event")
        for way, value, days_ago, chance in (
            ("to Porto", "29 December", -29, 0.8),
            ("from Porto", "4 January", -35, 0.7),
        )
    )
    found = answer_of("when do we fly to porto", [there, back], FIXED_NOW)
    assert (found.value, [one.value for one in found.witnesses]) == ("29 December", ["", "4 January"])


def test_a_question_that_names_a_time_takes_the_likeliest() -> None:
    assert answer_of("when was the parents evening of December 9", [OLD, NEW], FIXED_NOW).value == "9 December"


def test_of_a_bill_that_comes_again_the_newest_counts() -> None:
    bills = [reading("Water bill", f"The amount due is {v}.", v, d, c, "mail") for v, d, c in
             (("£71.05", 60, 0.9), ("£79.90", 3, 0.6))]  # fmt: skip
    found = answer_of("how much is the water bill", bills, FIXED_NOW)
    assert (found.value, [one.value for one in found.witnesses]) == ("£79.90", [""])


@pytest.mark.parametrize(
    ("question", "value"), [("how much is invoice 17", "£71.05"), ("how much is the invoice", "£79.90")]
)
def test_a_number_that_is_named_is_of_no_other_record_of_the_series(question: str, value: str) -> None:
    invoices = [reading(f"Invoice {n}", f"Invoice {n}: the amount due is {v}.", v, d, c, "mail") for n, v, d, c in
                ((17, "£71.05", 60, 0.9), (18, "£79.90", 3, 0.85))]  # fmt: skip
    assert answer_of(question, invoices, FIXED_NOW).value == value


@pytest.mark.parametrize(
    ("value", "kind"),
    [("£84.20", "amount"), ("12 euros", "amount"), ("9 December", "date"), ("2026-12-09", "date"), ("14", "number")],
)
def test_a_value_has_the_type_of_its_form(value: str, kind: str) -> None:
    assert kind_of(value) == kind


def test_bills_whose_titles_name_their_months_are_one_series() -> None:
    october = reading("Your October statement", "To pay: £118.02", "£118.02", 40)
    november = reading("Your November statement", "To pay: £131.46", "£131.46", 9, 0.7)
    found = answer_of("how much is the gas bill", [october, november], FIXED_NOW)
    assert (found.value, [one.value for one in found.witnesses]) == ("£131.46", [""])


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("how much is the gas bill", "£79.90"),
        ("how much was the gas bill for September", "£71.05"),
        ("how much was the gas bill for October", "£79.90"),
    ],
)
def test_a_bill_is_of_the_month_that_it_names_and_not_of_that_in_which_it_comes(question: str, value: str) -> None:
    first = dt.datetime(2025, 10, 3, 9, tzinfo=FIXED_NOW.tzinfo)
    now = dt.datetime(2025, 11, 20, 9, tzinfo=FIXED_NOW.tzinfo)
    bills = [
        bill("September", "£71.05", first),
        bill("October", "£79.90", first + dt.timedelta(days=31)),
    ]
    assert answer_of(question, bills, now).value == value


def bill(month: str, value: str, at: dt.datetime) -> Reading:
    text = f"Your gas bill for {month} 2025. The amount due is {value}."
    passage = Passage(month, "mail", "message", "Your bill is ready", "Gas Co", at, text, at.day, month)
    return Reading(Candidate(passage, 1.0, 0.5), value, passage.read.index(value), 0.5, (), 0.8)


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("what did baz say about the tyres", "Have you got the nut key? No tyres without."),
        ("what did baz say about the clutch", "The clutch is done"),
    ],
)
def test_of_what_somebody_said_on_a_matter_the_newest_is_told(question: str, value: str) -> None:
    old = reading("Invoice", "The clutch is done. She wants front tyres.", "The clutch is done", 30, 0.8, "mail")
    new = reading("MOT", "Monday is fine. Have you got the nut key? No tyres without.", "Monday", 2, 0.1, "mail")
    assert answer_of(question, [old, new], FIXED_NOW).value == value


def letter(title: str, text: str, value: str, days_ago: int, chance: float, person: str = "School") -> Reading:
    at = FIXED_NOW - dt.timedelta(days=days_ago)
    passage = Passage(f"{title} {days_ago}", "mail", "message", title, person, at, text, days_ago, title)
    return Reading(Candidate(passage, 1.0, 0.5), value, passage.read.index(value), 0.5, (), chance, is_strangers=True)


@pytest.mark.parametrize(("chance", "is_doubted"), [(0.02, True), (0.35, False)])
def test_a_later_mail_of_the_same_sender_counts_however_unlikely_it_reads(chance: float, is_doubted: bool) -> None:
    old = letter("Parents evening", "The parents evening is on 9 December at 19:00.", "9 December at 19:00", 20, 0.9)
    text = "The parents evening had to be moved. It now takes place on 11 December at 19:00."
    new = letter("Parents evening moved", text, "11 December at 19:00", 5, chance)
    found = answer_of(QUESTION, [old, new], FIXED_NOW)
    assert found.value == "11 December at 19:00"
    assert [one.value for one in found.witnesses] == ["", "9 December at 19:00"]
    assert (found.chance < LEAST_SURE) is is_doubted
    other = letter("Parents evening moved", text, "11 December at 19:00", 5, chance, "Somebody else")
    assert answer_of(QUESTION, [old, other], FIXED_NOW).value == "9 December at 19:00"


@pytest.mark.parametrize(
    ("title", "later", "is_one"),
    [
        ("Order HF-20418: back order", "Order HF-20418: on its way", True),
        ("Order HF-20418: back order", "Order HF-20771: on its way", False),
        ("Boiler", "Re: boiler", True),
        ("Prices 2026", "Dates 2026", False),
    ],
)
def test_a_later_mail_of_one_order_or_conversation_counts_in_other_words(title: str, later: str, is_one: bool) -> None:
    old = letter(title, "The velvet is expected on 23 November.", "23 November", 20, 0.6)
    new = letter(later, "It came in. They are with you on 1 December.", "1 December", 5, 0.02)
    found = answer_of("when does my velvet come", [old, new], FIXED_NOW)
    assert (found.value == "1 December") is is_one
    assert found.chance < LEAST_SURE


@pytest.mark.parametrize(
    ("chance", "beside", "is_sure"),
    [
        (0.8, [], True),
        (DOUBTED, [], False),  # a rule has doubted it
        (0.8, [reading("Hall", "The parents evening is in the gym.", "the gym", 2)], False),
        (0.8, [reading("Hall", "The parents evening is in the hall.", "the hall", 2)], True),  # says the same
        (0.8, [reading("Hall", "The choir is in the gym.", "the gym", 2)], True),  # speaks of less
        (0.8, [reading("Hall", "The parents evening is in the gym.", "the gym", 2, 0.05)], True),
    ],
)
def test_an_answer_is_sure_where_nothing_likely_says_something_else(
    chance: float, beside: list[Reading], is_sure: bool
) -> None:
    told = reading("News", "The parents evening is in the hall.", "the hall", 3, chance)
    found = told_chance("where is the parents evening", told, [told, *beside], FIXED_NOW)
    assert (found >= LEAST_SURE) is is_sure


@pytest.mark.parametrize(
    ("days_ago", "person", "is_sure"), [(20, "School", True), (20, "Ana", False), (1, "School", False)]
)
def test_an_earlier_mail_of_the_same_sender_makes_his_later_one_no_less_sure(
    days_ago: int, person: str, is_sure: bool
) -> None:
    told = letter("Moved", "The parents evening is in the hall.", "the hall", 3, 0.8)
    other = letter("Evening", "The parents evening is in the gym.", "the gym", days_ago, 0.8, person)
    found = told_chance("where is the parents evening", told, [told, other], FIXED_NOW)
    assert (found >= LEAST_SURE) is is_sure


def test_only_what_says_the_same_is_counted_beside_an_answer() -> None:
    question = "where is the parents evening"
    told, same, another = (
        reading(title, f"The parents evening is in {value}.", value, days, 0.8)
        for title, value, days in (("A", "the hall", 3), ("B", "the hall upstairs", 2), ("C", "the gym", 1))
    )
    assert [one.where for one in answer_of(question, [told, same, another], FIXED_NOW).witnesses] == [
        "note “A”",
        "note “B”",
    ]


def signs(words: float) -> tuple[float, ...]:
    """Signs of a reading whose words have this probability."""
    known = {"span": math.log(words), "spread": -4 * math.log(words)}
    return tuple(known.get(name, 0.0) for name in SIGNS)


@pytest.mark.parametrize(
    ("words", "chance", "value"),
    [
        (0.3, 0.4, "Fuses: 4 = cooker, 7 = sockets, 9 = hall and landing."),
        (0.3, 0.9, "Fuses: 4 = cooker, 7 = sockets, 9 = hall and landing."),
        (0.7, 0.4, "4 = cooker"),
        (0.7, 0.9, "4 = cooker"),
    ],
)
def test_words_of_which_the_reader_is_unsure_are_told_in_their_sentence(
    words: float, chance: float, value: str
) -> None:
    one = reading("House", "Fuses: 4 = cooker, 7 = sockets, 9 = hall and landing.", "4 = cooker", 3, chance)
    found = answer_of("which fuse is the landing", [replace(one, signs=signs(words))], FIXED_NOW)
    assert found.value == value
    assert (found.chance >= LEAST_SURE) is (words > 0.5 and chance > 0.5)


@pytest.mark.parametrize(
    ("chance", "other", "said"), [(0.4, 0.3, ["", "four guests"]), (0.4, 0.1, [""]), (0.8, 0.5, [""])]
)
def test_a_place_not_much_less_likely_is_told_beside_a_doubtful_answer(
    chance: float, other: float, said: list[str]
) -> None:
    first = reading("Dinner", "For 8 of us, a goose.", "8", 3, chance)
    second = reading("Party", "Each resident can have four guests.", "four guests", 2, other)
    found = answer_of("how many of us may come to the party", [first, second], FIXED_NOW)
    assert [one.value for one in found.witnesses] == said


def test_the_owners_own_stands_before_a_strangers_likelier_answer() -> None:
    mine = reading("School", "The parents evening: the hall.", "the hall", 30, 0.4)
    theirs = letter("Evening", "The parents evening is in the gym.", "the gym", 1, 0.9)
    weak = reading("School", "The parents evening: the hall.", "the hall", 30, least_chance() / 2)
    none = reading("School", "The parents evening: the hall.", "the hall", 30, 0.01)
    aside = reading("School", "The choir: the hall.", "the hall", 30, 0.4)
    assert own_first("where is the parents evening", [theirs, mine]) == [mine, theirs]
    assert own_first("where is the parents evening", [theirs, none]) == [theirs, none]
    doubted = own_first("where is the parents evening", [theirs, weak])
    assert (doubted[0].text, doubted[0].chance < LEAST_SURE) == ("the gym", True)
    witnesses = answer_of("where is the parents evening", doubted, FIXED_NOW).witnesses
    assert [one.value for one in witnesses] == ["", "the hall"]
    assert own_first("where is the parents evening", [theirs, aside]) == [theirs, aside]
    found = answer_of("where is the parents evening", [mine, theirs], FIXED_NOW)
    assert (found.value, [one.value for one in found.witnesses]) == ("the hall", ["", "the gym"])


FREE = reading("Gym", "The lockers are free.", "The lockers are free", 9)
PAID = reading("Gym news", "The lockers cost a coin now.", "The lockers cost a coin now", 2, 0.7)


@pytest.mark.parametrize(
    ("of_first", "of_second", "value"),
    [
        (True, None, "Yes: The lockers are free."),
        (False, None, "No: The lockers are free."),
        (None, True, "The lockers are free."),
        (True, False, "The lockers are free."),  # another sentence says the contrary
    ],
)
def test_yes_or_no_is_said_with_its_sentence_where_nothing_says_the_contrary(
    of_first: bool | None, of_second: bool | None, value: str
) -> None:
    rows = [replace(FREE, is_yes=of_first), replace(PAID, is_yes=of_second)]
    found = answer_of("are the lockers free", rows, FIXED_NOW)
    assert (found.value, found.kind) == (value, "yesno" if value.startswith(("Yes", "No")) else "text")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[HomeAnswers]:
    with Store.open(tmp_path / "hearth.db") as store:
        yield HomeAnswers(store, None, AnswerReader())


@pytest.mark.parametrize(
    ("question", "text", "said"),
    [
        ("is the boiler under warranty", "The boiler is under warranty until March 2028.", "Yes: "),
        ("does Sam eat eggs", "Sam does not eat eggs.", "No: "),
        ("has the school moved the trip", "The school has moved the trip to 12 December.", "Yes: "),
        ("has the school moved the trip", "The school may have moved the trip to 12 December.", ""),
        ("is the boiler under warranty", "The boiler would be under warranty if it were new.", ""),
        ("is the trip on Monday or Tuesday", "The trip is on Monday or Tuesday.", ""),
    ],
)
def test_yes_or_no_is_said_only_where_the_sentence_surely_says_it(
    home: HomeAnswers, question: str, text: str, said: str
) -> None:
    call = make_call(workspace=InMemoryWorkspace({"notes/a.md": f"# Jotted\n\n{text}\n".encode()}), now=FIXED_NOW)
    assert home.find_answer(question, call).value == f"{said}{text}"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("Tom", "Tomás Vidal"),
        ("how old is Tom", "Tomás Vidal"),
        ("Tomas", "Tomás Vidal"),
        ("Zielinska", None),
        ("Ewa Zielinska", "Ewa Zielińska"),
        ("Ann", None),
        ("Anna Berg", "Anna Berg"),
        ("Tim", None),
        ("in Jan", None),
        ("to", None),
    ],
)
def test_a_first_name_may_be_cut_short(words: str, name: str | None) -> None:
    names = ("Tomás Vidal", "Ewa Zielińska", "Anna Berg", "Anna Kowalska", "Jana Roth")
    cards = "".join(f"BEGIN:VCARD\nVERSION:3.0\nUID:{one}\nFN:{one}\nEND:VCARD\n" for one in names)
    found = card_meant(words, cards_in(cards.encode()).cards)
    assert (found.name if found is not None else None) == name


@pytest.mark.parametrize(
    ("question", "where", "is_anothers"),
    [
        ("when's Tom's birthday", "card “Ewa Zielińska”", True),
        ("what is Ewa Zielinska's number", "card “Tomás Vidal”", True),
        ("when's Tom's birthday", "card “Tomás Vidal”", False),
        ("when's Tom's birthday", "note “Birthdays”", False),
        ("what is Tom's landlord's number", "card “Ewa Zielińska”", False),
        ("when's Tim's birthday", "card “Ewa Zielińska”", False),
        ("how old is Tom", "card “Ewa Zielińska”", False),
    ],
)
def test_what_another_s_card_says_is_no_answer(question: str, where: str, is_anothers: bool) -> None:
    names = ("Tomás Vidal", "Ewa Zielińska")
    cards = "".join(f"BEGIN:VCARD\nVERSION:3.0\nUID:{one}\nFN:{one}\nEND:VCARD\n" for one in names)
    call = make_call(workspace=InMemoryWorkspace({"contacts/all.vcf": cards.encode()}))
    found = HomeAnswer("date", "3 May 1990", "", (Witness("x", where, "birthday: 3 May 1990", "file"),))
    assert is_on_anothers_card(question, found, call) == is_anothers
