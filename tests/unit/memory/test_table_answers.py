"""Rows of tables that a question means: a club's accounts, a list of who has paid, sales, fairs, invoices and jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from hearth.memory.inquiry import record_answers
from hearth.memory.inquiry.amounts.table_questions import asked_of_table
from hearth.memory.inquiry.home_answers import HomeAnswers
from hearth.memory.inquiry.reading.answer_reading import AnswerReader
from hearth.memory.search.time_mentions import Period
from hearth.protocols import HomeAnswer, Witness
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW, InMemoryWorkspace, make_call
from hearth.tools.memory import DOUBTED

ACCOUNTS = (
    "date,what,type,amount\n2026-01-03,Court hire,expense,120.00\n2026-02-01,Subs,income,300.50\n"
    "2026-02-14,Court hire,expense,80.00\n2025-06-01,Raffle,income,60.00\n2026-03-01,Shuttles,expense,45.25\n"
)
PUPILS = "pupil,instrument,fee,paid\nHana,cello,90.00,yes\nOle,flute,60.00,no\nMin,cello,90.00,no\n"
SALES = (
    "date,item,buyer,price\n2026-01-10,Blue vase,Ana,120.00\n2026-02-14,Bowl,Tom,18.00\n2026-03-02,Mug,Ana,12.50\n"
    "2026-03-20,Plate,Lea,30.00\n2026-05-01,Lamp,Tom,145.00\nTotal,,,325.50\n"
)
FAIRS = (
    "fair,date,takings,stall fee\nSpring fair,2026-04-10,€320.00,€40.00\nHarbour market,2026-06-12,€410.50,€55.00\n"
    "Abbey fair,2026-09-05,€95.00,€30.00\n"
)
INVOICES = (
    "no;client;amount;paid\n1;Lea;1.250,00 €;yes\n2;Tom;300,00 €;no\n3;Ana;980,50 €;yes\n4;Sam;45,00 €;no\n"
    "5;Udo;1.400,00 €;no\n"
)
JOBS = "date,client,job,price,rate\n2026-03-03,Weir,Fence,250,25\n2026-03-19,Cole,Gate,150,25\n2026-04-01,Weir,Shed,900,30\n"
SUBS = "# Choir subs\n\n- Ben: paid\n- Cleo: not yet\n- Dan: unpaid\n"
MIXED = "what,amount\nhotel,€90.00\ntrain,£40.00\n"
TRADE = {
    "documents/sales.csv": SALES,
    "documents/fairs.csv": FAIRS,
    "documents/invoices.csv": INVOICES,
    "documents/jobs.csv": JOBS,
    "documents/travel costs.csv": MIXED,
    "notes/subs.md": SUBS,
}


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[HomeAnswers]:
    with Store.open(tmp_path / "hearth.db") as store:
        yield HomeAnswers(store, None, AnswerReader())


def answer(home: HomeAnswers, question: str) -> HomeAnswer:
    return answer_of(home, question, {"documents/badminton accounts.csv": ACCOUNTS, "documents/pupils.csv": PUPILS})


def answer_of(home: HomeAnswers, question: str, files: dict[str, str]) -> HomeAnswer:
    workspace = InMemoryWorkspace({path: text.encode() for path, text in files.items()})
    now = FIXED_NOW.replace(year=2026, month=11, day=24)
    return home.find_answer(question, make_call(workspace=workspace, now=now))


@pytest.mark.parametrize(
    ("question", "value", "is_sure"),
    [
        (
            "how much has badminton spent on court hire",
            "200.00 (2 rows: Court hire, 2026-01-03: 120.00; Court hire, 2026-02-14: 80.00)",
            True,
        ),
        ("what did badminton take in this year", "300.50", True),
        ("what is the badminton income", "360.50 (2 rows: Subs, 2026-02-01: 300.50; Raffle, 2025-06-01: 60.00)", True),
        ("how much did the club spend on shuttles", "45.25", False),  # no table speaks of a club
        ("how much do the pupils still owe", "150.00 (2 rows: Ole: 60.00; Min: 90.00)", True),
        ("how much do the cello pupils still owe me", "90.00", True),
        ("which pupils haven't paid", "Ole; Min", True),
        ("how many pupils have paid", "1 (Hana: 90.00)", True),
        ("how many pupils have not paid yet", "2 (Ole: 60.00; Min: 90.00)", True),
    ],
)
def test_the_rows_that_are_meant_are_summed_counted_or_listed(
    ask: HomeAnswers, question: str, value: str, is_sure: bool
) -> None:
    found = answer(ask, question)
    assert found.value == value
    assert (found.chance > DOUBTED) is is_sure
    assert found.witnesses


@pytest.mark.parametrize(
    "question",
    [
        "how much did I spend on clay",
        "how much is the rent",
        "which pupils play",
        "who owes me",
        "what is the largest planet",
        "which is the cheapest train to London",
        "list my events sorted by date",
        "show me my latest mail",
        "what is my last name",
        "what did I do last week",
        "what did we do on my first day at school",
        "which of my jobs take over 3 days",
        "who has sent me a mail",
        "is my fee over 100 euros",
        "what does it mean if he pokes me",
        "show me the highest rated restaurants",
        "sort my files by name",
        "what do they take if we empty the top ourselves",
    ],
)
def test_other_questions_are_left_to_others(question: str) -> None:
    assert asked_of_table(question) is None


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("what is my cheapest sale", "Mug: 12.50"),
        ("what was my most expensive sale", "Lamp: 145.00"),  # the total is no sale
        ("list my fairs sorted by earnings", "Harbour market: €410.50\nSpring fair: €320.00\nAbbey fair: €95.00"),
        ("list my fairs by takings, lowest first", "Abbey fair: €95.00\nSpring fair: €320.00\nHarbour market: €410.50"),
        ("sort my fairs by date", "Spring fair, 2026-04-10\nHarbour market, 2026-06-12\nAbbey fair, 2026-09-05"),
        ("which three invoices were the largest", "Udo: 1.400,00 €; Lea: 1.250,00 €; Ana: 980,50 €"),
        ("which two of my sales were the cheapest", "Mug: 12.50; Bowl: 18.00"),
        ("who hasn't paid the choir subs yet", "Cleo; Dan"),
        ("who has paid the choir subs", "Ben"),
        ("which sales were over 100 euros", "Blue vase: 120.00; Lamp: 145.00"),
        ("which sales were over 500 euros", "None of 5"),
        ("how many of my sales were under 20 euros", "2 (Bowl: 18.00; Mug: 12.50)"),
        ("the average price of my jobs in March", "200.00 (the mean of 2: Fence: 250; Gate: 150)"),
        ("what was my last sale", "Lamp, 2026-05-01: 145.00"),
        ("what were my first two sales", "Blue vase, 2026-01-10: 120.00; Bowl, 2026-02-14: 18.00"),
        ("what is my largest stall fee", "Spring fair: €40.00"),
        (
            "which fair earned the most",
            "Harbour market, €410.50; then Spring fair €320.00, Abbey fair €95.00",
        ),
    ],
)
def test_rows_are_ordered_bounded_and_averaged(ask: HomeAnswers, question: str, value: str) -> None:
    files = TRADE | {"documents/fairs.csv": FAIRS.replace("€55.00", "€35.00")}
    found = answer_of(ask, question, files)
    assert (found.value, found.chance > DOUBTED) == (value, True)
    assert all("|" in one.quote for one in found.witnesses)


@pytest.mark.parametrize(
    "question",
    [
        "what is my largest bedroom",  # no table speaks of it
        "what is my cheapest blue sale in Leeds",
        "what is my biggest fair",  # takings or fee
        "what was the average price of my jobs in 2019",
    ],
)
def test_what_no_table_surely_has_is_not_worked_out(ask: HomeAnswers, question: str) -> None:
    found = answer_of(ask, question, TRADE)
    assert not (found.witnesses and "|" in found.witnesses[0].quote and found.chance > DOUBTED), found.value


def test_of_two_tables_that_speak_alike_one_is_told_with_doubt(ask: HomeAnswers) -> None:
    assert answer_of(ask, "who has not paid yet", {"notes/subs.md": SUBS}).chance > DOUBTED
    assert answer_of(ask, "who has not paid yet", TRADE).chance <= DOUBTED


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("how much more did I spend on clay than on glaze", "€74.50 more (€100.00 on clay and €25.50 on glaze)"),
        (
            "how much more did I spend on clay in March than in May",
            "€20.00 less (€40.00 on clay in March and €60.00 in May)",
        ),
    ],
)
def test_two_sums_are_compared(ask: HomeAnswers, question: str, value: str) -> None:
    rows = "date,what,amount\n2026-03-01,Clay,€40.00\n2026-03-10,Glaze,€25.50\n2026-05-10,Clay,€60.00\n"
    found = answer_of(ask, question, {"documents/expenses.csv": rows})
    assert found.value == value


def test_of_what_was_never_bought_no_difference_is_told(ask: HomeAnswers) -> None:
    rows = "date,what,amount\n2026-03-01,Clay,€40.00\n2026-03-10,Glaze,€25.50\n"
    found = answer_of(ask, "how much more did I spend on clay than on petrol", {"documents/expenses.csv": rows})
    assert "more" not in found.value


# ── Groups ──


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("what did I spend by month on the kiln", ("sum", "month")),
        ("what did I spend per month on the kiln", ("sum", "month")),
        ("kiln rent by month", ("sum", "month")),
        ("sales per buyer", ("sum", "buyer")),
        ("how much did each buyer pay", ("sum", "buyer")),
        ("who bought the most from me at fairs", ("most", "buyer")),
    ],
)
def test_groups_are_read(question: str, asked: tuple[str, str]) -> None:
    found = asked_of_table(question)
    assert found is not None
    assert (found.operation, found.group) == asked


@pytest.mark.parametrize(
    "question",
    [
        "how much is the rent per month",
        "what do I pay per month for the gym",
        "meetings by month",
        "who bought the bread",
    ],
)
def test_a_price_or_a_list_is_no_sum(question: str) -> None:
    found = asked_of_table(question)
    assert found is None or not found.group


def test_what_is_not_paid_yet_was_not_paid(ask: HomeAnswers) -> None:
    found = answer_of(ask, "which client paid the most", {"documents/invoices.csv": INVOICES})
    assert found.value == "Lea, €1,250.00; then Ana €980.50"


def test_amounts_of_several_currencies_are_not_compared(ask: HomeAnswers) -> None:
    found = answer_of(ask, "what was my largest travel cost", {"documents/travel costs.csv": MIXED})
    assert found.value == "€90.00 and £40.00"


def test_every_amount_of_the_months_is_a_witness(monkeypatch: pytest.MonkeyPatch, ask: HomeAnswers) -> None:
    """Which of them are shown is for the caller: the label of the answer is that of all."""
    rows = tuple(Witness(f"documents/{k}", "document", "kiln £10", "file") for k in range(3))
    strange = Witness("INBOX/1", "mail", "kiln £9", "message")

    def spent(_: object, periods: Sequence[Period], *__: object) -> HomeAnswer:
        return HomeAnswer("amount", "£10.00", "", (strange, *rows) if periods[0].start.month == 1 else rows)

    monkeypatch.setattr(record_answers, "_money", spent)
    found = answer_of(ask, "kiln rent by month", {})
    assert found.value.count("£10.00") == 12
    assert len(found.witnesses) == 1 + 12 * len(rows)
    assert {one.source for one in found.witnesses} == {"message", "file"}
