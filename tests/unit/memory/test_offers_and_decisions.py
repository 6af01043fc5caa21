"""Answers to yes or no in other words, offers compared, what a meeting decided, a value that changed, which of several."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hearth.memory.answers.home_answers import HomeAnswers
from hearth.memory.inquiry.answer_reading import AnswerReader
from hearth.memory.inquiry.price_comparisons import compares_prices
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.protocols import HomeAnswer
from hearth.storage.database import Store
from hearth.testing import InMemoryWorkspace, make_call
from hearth.tools.memory import LEAST_SURE

NOW = dt.datetime(2026, 11, 24, 9, tzinfo=dt.UTC)
Ask = Callable[[str], HomeAnswer]


def mail(sender: str, subject: str, text: str, day: int) -> str:
    head = f"From: {sender}\nTo: me@home.example\nSubject: {subject}\nMessage-ID: <{sender}{day}@x>\n"
    return f"{head}Date: {day} Nov 2026 08:00:00 +0000\nContent-Type: text/plain\n\n{text}\n"


MINUTES = """Dear all,

present: Oona, Marek, Tilda.

1. Kiln. We talked about mending the old one and agreed to buy a second-hand Rohde for €1,900.
2. Dues. The monthly due goes up from €18 to €21 in January. Students pay half.
3. Fair. Tilda runs the stall at the Christmas fair."""
HOME = {
    "mail/cur/1.m:2,S": mail("Oona <o@potters.example>", "Studio meeting, minutes", MINUTES, 12),
    "mail/cur/2.a:2,S": mail(
        "Quickdry Plumbing <q@q.example>",
        "Your quote",
        "For the new bathroom floor we would ask €2,150, tiles and all.",
        3,
    ),
    "mail/cur/3.b:2,S": mail(
        "Brandt Tiling <b@b.example>", "Bathroom floor", "Laying the bathroom floor would come to €1,880 with VAT.", 9
    ),
    "mail/cur/4.c:2,S": mail(
        "Vet Lindqvist <v@v.example>",
        "Momo's operation",
        "Momo must have nothing to eat from ten at night. Water is fine until seven. You can fetch her at four.",
        10,
    ),
    "mail/cur/5.d:2,S": mail(
        "Sure & Safe <s@s.example>", "Bike insurance", "To renew costs €96.40, last year you paid €88.00.", 14
    ),
    "notes/fence.md": "# New fence\n\nThree came to look, all fitted.\n\n- Lund Gardens: 1,560. From January.\n"
    "- Steel & Sons: 1,485, green. Not before February.\n- Tarr: 1,720, takes the old one away.\n",
    "notes/ladder.md": "# Ladder\n\n- Colin: can lend his, has 2 of them.\n- Shop in town: ask what one is.\n",
    "notes/gym.md": "# Gym\n\nThe fee goes up from £30 to £36 in March.\n",
    "notes/boxes.md": "# Attic\n\nBox 4: winter coats. Moths in this one.\nBox 7: cables and the slide projector.\n"
    "Box 9: bought from Tilda, oak. Too heavy to lift alone.\n",
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
    ("question", "said"),
    [
        ("is Momo allowed to drink in the morning", "Water is fine"),
        ("do students get a reduction", "Students pay half"),
        ("does the dearer quote include the tiles", "tiles and all"),
        ("must students pay the whole monthly due", "Students pay half"),
        ("are there insects among the winter coats", "Moths"),
    ],
)
def test_yes_or_no_is_answered_in_other_words_than_were_asked_with(ask: Ask, question: str, said: str) -> None:
    assert said in ask(question).value


@pytest.mark.parametrize(
    "question",
    ["does Marek play football", "is Tilda married", "has Oona sold her car", "is the slide projector broken"],
)
def test_yes_or_no_that_nothing_answers_is_not_told(ask: Ask, question: str) -> None:
    assert ask(question).kind == "unknown"


@pytest.mark.parametrize(
    ("question", "value"),
    [
        (
            "who is cheaper for the bathroom floor, and by how much",
            "Brandt Tiling (€1,880.00), €270.00 less than Quickdry",
        ),
        ("who gave the lower price for the bathroom floor", "Brandt Tiling (€1,880.00)"),
        ("which is dearer for the bathroom floor", "Quickdry Plumbing (€2,150.00), €270.00 more than Brandt"),
        ("what's the difference between the two quotes for the bathroom floor", "€270.00 less"),
        ("is Quickdry dearer than Brandt for the bathroom floor", "Yes: Quickdry"),
        ("is Brandt dearer than Quickdry for the floor", "No: Quickdry"),
    ],
)
def test_offers_for_one_thing_are_compared_with_doubt(ask: Ask, question: str, value: str) -> None:
    found = ask(question)
    assert value in found.value
    assert found.chance < LEAST_SURE
    assert {one.where.split("”")[0] for one in found.witnesses} == {"mail “Your quote", "mail “Bathroom floor"}


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("who was cheapest for the new fence", "Steel & Sons (1,485.00), 75.00 less than Lund Gardens (1,560.00)"),
        ("which offer for the fence is the highest", "Tarr (1,720.00), 160.00 more than Lund Gardens (1,560.00)"),
    ],
)
def test_offers_in_one_list_are_compared(ask: Ask, question: str, value: str) -> None:
    found = ask(question)
    assert (found.value, found.chance < LEAST_SURE) == (value, True)
    assert value.partition(" (")[0] in found.witnesses[0].quote


@pytest.mark.parametrize(
    "question",
    [
        "who is cheapest for the ladder",
        "who is cheaper for the roof",
        "is box 4 dearer than box 9",
        "which insurance is cheaper",
        "who's cheaper",
    ],
)
def test_one_offer_or_none_is_not_compared(ask: Ask, question: str) -> None:
    assert " than " not in ask(question).value


@pytest.mark.parametrize(
    ("question", "compares"),
    [
        ("which plumber is cheaper", True),
        ("how far is the gap between the quotes", True),
        ("what was my cheapest order", False),
        ("which of the bills was higher", False),
        ("how much dearer has the insurance got", False),
        ("who is taller", False),
    ],
)
def test_only_offers_are_compared(question: str, compares: bool) -> None:
    assert compares_prices(question) is compares


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("what did we decide at the potters about the kiln", "agreed to buy a second-hand Rohde for €1,900"),
        ("what was agreed about the dues at the studio meeting", "The monthly due goes up from €18 to €21 in January"),
        ("what did the studio settle about the dues", "The monthly due goes up"),
        ("what has been decided about the fair", "Tilda runs the stall at the Christmas fair"),
    ],
)
def test_what_was_decided_of_a_matter_is_the_line_that_speaks_of_it(ask: Ask, question: str, value: str) -> None:
    found = ask(question)
    assert value in found.value
    assert "present" not in found.value


@pytest.mark.parametrize(
    "question",
    [
        "what did we decide about the holiday",
        "what was agreed with the vet about the dog",
        "what did the potters settle about the van",
        "what was decided about the roof at the studio meeting",
    ],
)
def test_what_no_line_decides_is_not_told_for_sure(ask: Ask, question: str) -> None:
    assert ask(question).chance < LEAST_SURE


@pytest.mark.parametrize(
    ("question", "value", "is_sure"),
    [
        ("how much dearer has the bike insurance got", "€8.40 more (€96.40 after €88.00)", False),
        ("how much more is the bike insurance than last year", "€8.40 more (€96.40 after €88.00)", False),
        ("how much dearer has the gym fee got", "£6.00 more (£36.00 after £30.00)", True),
        ("by how much have the dues risen", "€3.00 more (€21.00 after €18.00)", False),
        ("how much higher did the monthly dues get", "€3.00 more (€21.00 after €18.00)", False),
        ("how much dearer has the car insurance got", "€8.40 more (€96.40 after €88.00)", False),
    ],
)
def test_by_how_much_something_changed_within_a_sentence(ask: Ask, question: str, value: str, is_sure: bool) -> None:
    found = ask(question)
    assert (found.value, found.chance >= LEAST_SURE) == (value, is_sure)


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("which box has moths", "Box 4: winter coats. Moths in this one"),
        ("in which of the boxes did I see moths", "Box 4: winter coats. Moths in this one"),
        ("which box can't I carry by myself", "Box 9: bought from Tilda, oak. Too heavy to lift alone"),
        ("which one is too heavy", "Box 9: bought from Tilda, oak. Too heavy to lift alone"),
    ],
)
def test_which_of_several_is_told_with_the_beginning_of_its_line(ask: Ask, question: str, value: str) -> None:
    assert value in ask(question).value
