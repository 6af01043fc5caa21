"""What a question asks for is understood in words that no parser knows, and what is only to be read is left alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from hearth.memory.answers.home_answers import (
    N_CELLS,
    OPERATIONS,
    AskedOperations,
    HomeAnswers,
    Understood,
    asks_lead,
    stretch_of,
)
from hearth.memory.inquiry.answer_reading import AnswerReader
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.protocols import Encoder, HomeAnswer
from hearth.storage.database import Store
from hearth.testing import HashEncoder, InMemoryWorkspace, make_call
from hearth.tools.memory import LEAST_SURE

NOW = dt.datetime(2026, 10, 21, 9, tzinfo=dt.UTC)
Ask = Callable[[str], HomeAnswer]


def event(uid: str, title: str, start: str, end: str) -> bytes:
    lines = f"UID:{uid}\nDTSTART:{start}Z\nDTEND:{end}Z\nSUMMARY:{title}"
    return f"BEGIN:VCALENDAR\nBEGIN:VEVENT\n{lines}\nEND:VEVENT\nEND:VCALENDAR\n".encode()


def card(name: str, birthday: str) -> bytes:
    return f"BEGIN:VCARD\nVERSION:3.0\nUID:{name}\nFN:{name}\nBDAY:{birthday}\nEND:VCARD\n".encode()


HOME = {
    "calendar/1.ics": event("1", "Fencing match", "20261031T100000", "20261031T120000"),
    "calendar/2.ics": event("2", "Piano tuner", "20261031T113000", "20261031T123000"),
    "calendar/3.ics": event("3", "Fencing training", "20261104T180000", "20261104T190000"),
    "calendar/4.ics": event("4", "Fencing training", "20261007T180000", "20261007T190000"),
    "contacts/ola.vcf": card("Ola Brandt", "1990-11-02"),
    "contacts/per.vcf": card("Per Brandt", "1960-04-09"),
    "documents/costs.csv": b"date,what,price\n2026-03-02,coffee beans,14.00\n2026-06-08,coffee beans,16.50\n",
    "notes/hens.md": b"# Hens\n\nThey get 120 g of grain each a day.\n",
}


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    workspace = InMemoryWorkspace({})
    for path, data in HOME.items():
        workspace.write(path, data)
    with Store.open(tmp_path_factory.mktemp("home") / "h.db") as store:
        home = HomeAnswers(store, MiniLMEncoder.open(), AnswerReader())
        yield lambda question: home.find_answer(question, make_call(workspace=workspace, now=NOW))


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("am i in two places at once on the 31st", "Yes: Fencing match (Saturday 10:00–12:00) and Piano tuner"),
        ("who's next up for a birthday cake", "Ola Brandt: Monday 2 November 2026, turns 36"),
        ("what age is Per these days", "66"),
        ("which birthday number is Ola about to hit", "Ola Brandt: Monday 2 November 2026, turns 36"),
        ("how much have coffee beans set us back so far this year", "30.50"),
        ("when did i last do fencing", "Wednesday 7 October 2026"),
    ],
)
def test_an_operation_is_understood_in_other_words(ask: Ask, question: str, value: str) -> None:
    assert ask(question).value.startswith(value)


@pytest.mark.parametrize(
    ("question", "is_doubted"),
    [
        ("how much have coffee beans set us back so far this year", False),
        ("write down what I spent on coffee beans", True),
    ],
)
def test_what_is_added_without_all_its_words_is_told_with_doubt(ask: Ask, question: str, *, is_doubted: bool) -> None:
    assert (ask(question).chance < LEAST_SURE) == is_doubted


@pytest.mark.parametrize(
    "question",
    ["what have we spent on all that isn't coffee beans", "how much went on drinks except for coffee beans this year"],
)
def test_what_leaves_rows_out_is_not_added(operations: AskedOperations, question: str) -> None:
    assert operations.understood(question) is None


@pytest.mark.parametrize(
    ("question", "is_their_turn"),
    [("who am i leaving hanging", False), ("who am I still waiting to hear back from", True)],
)
def test_who_waits_is_not_for_whom_the_owner_waits(
    operations: AskedOperations, question: str, *, is_their_turn: bool
) -> None:
    assert (operations.understood(question) is None) == is_their_turn


@pytest.mark.parametrize("question", ["how much grain does a hen get", "what do the hens eat"])
def test_what_is_to_be_read_is_read(ask: Ask, question: str) -> None:
    assert "grain" in " ".join(one.quote for one in ask(question).witnesses)


@pytest.fixture(scope="module")
def operations() -> AskedOperations:
    return AskedOperations(MiniLMEncoder.open())


@pytest.mark.parametrize(
    "question",
    [
        "",
        "  ?!",
        "put the dentist on friday at ten",
        "turn the hall lights off",
        "where is the spare fuse",
        "é" * 4000,
        "how old is Per " * 333,
    ],
)
def test_what_asks_for_no_operation_is_left_alone(operations: AskedOperations, question: str) -> None:
    assert operations.understood(question) is None


@pytest.mark.parametrize(("matter", "said"), [("", ""), ("the roof", "how long ago was the roof")])
def test_what_lacks_its_matter_is_not_said(matter: str, said: str) -> None:
    assert Understood("since", 1.0, matter, "").said() == said


@pytest.mark.parametrize("encoder", [None, HashEncoder()])
def test_nothing_is_understood_without_the_encoder_that_ships(encoder: Encoder | None) -> None:
    assert AskedOperations(encoder).understood("who have i not answered yet") is None
    assert AskedOperations(encoder).own_chance("who have i not answered yet") == 0


def test_every_operation_is_told_apart_from_reading(operations: AskedOperations) -> None:
    assert OPERATIONS[-1] == "read"
    assert len(set(OPERATIONS)) == len(OPERATIONS)


def test_no_stretch_is_found_where_no_word_counts() -> None:
    assert stretch_of("any words at all", "sum", np.full(N_CELLS, -1, np.float32)) == ""


@pytest.mark.parametrize(
    ("question", "is_lead"),
    [
        ("how long before the end do we have to cancel the photocopier", True),
        ("how many weeks before the party must we order the cake", True),
        ("how far in advance do I need to cancel the gym", True),
        ("how many days before the trip should the form be in", True),
        ("how long before the concert starts", False),
        ("how long before we have to cancel the gym", False),
        ("how long before the train leaves do we have", False),
        ("how many days before Christmas is it", False),
    ],
)
def test_how_long_ahead_a_thing_is_to_be_done_is_no_count_from_today(question: str, *, is_lead: bool) -> None:
    assert asks_lead(question) is is_lead
