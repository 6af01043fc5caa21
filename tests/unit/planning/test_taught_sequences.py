"""Tools that a home alone knows, taught in sequences: which of them go together, and what a request of theirs is."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from hearth.language.reading import Utterance
from hearth.planning.ranking.features import Reader
from hearth.planning.ranking.ranker import Candidate
from hearth.planning.retrieval.plan_assembly import Acts
from hearth.planning.retrieval.recall_planner import _LEAST_SEQUENCES, RecallPlanner
from hearth.planning.retrieval.taught_sequences import taught_in
from hearth.testing import FIXED_NOW, HashEncoder
from hearth.types import Context, Demonstration, Plan, Request, Step, ToolSpec

WORDS = {
    "find_train": "find a train to Ulm",
    "book_seat": "book the seat in the quiet coach",
    "cancel_ticket": "cancel the ticket of the train",
    "order_pizza": "order a large pizza with mushrooms",
    "rate_pizza": "rate the pizza of yesterday",
}
TOOLS = {name: ToolSpec(name, f"{words}.") for name, words in WORDS.items()}
PLANS = (("find_train", "book_seat"), ("cancel_ticket", "find_train"), ("order_pizza",), ("order_pizza", "rate_pizza"))


def demonstration(k: int, ending: str = "") -> Demonstration:
    tools = PLANS[k % len(PLANS)]
    request = ", then ".join(WORDS[tool] for tool in tools) + (ending or f" {random.Random(k).choice('abcdefgh')} {k}")
    steps = tuple(Step(tool, after=(place - 1,) if place else ()) for place, tool in enumerate(tools))
    return Demonstration(f"d{k:02}", request, Plan(steps), source="teacher")


def planner(n: int) -> RecallPlanner:
    made = RecallPlanner(HashEncoder(48))
    made.add([demonstration(k) for k in range(n)])
    return made


def tools_of(planner: RecallPlanner, text: str) -> tuple[str, ...]:
    answer = planner.plan(Request(text, FIXED_NOW), Context(), TOOLS)
    return tuple(step.tool for step in answer.steps) if isinstance(answer, Plan) else ()


def ranked(planner: RecallPlanner, text: str) -> Sequence[Candidate]:
    said = Utterance.of(Request(text, FIXED_NOW), Context())
    units, _ = planner._units(said, (Acts(said.acts),))
    return planner._own_sequences(planner._as_said(units, planner._forms(units)), planner._offers(TOOLS)).likely


@pytest.fixture(scope="module")
def taught() -> RecallPlanner:
    return planner(60)


def test_a_taught_sequence_is_planned_with_its_links(taught: RecallPlanner) -> None:
    request = Request("please find the train to Ulm and then book me the seat in the quiet coach", FIXED_NOW)
    answer = taught.plan(request, Context(), TOOLS)
    assert isinstance(answer, Plan)
    assert [(step.tool, step.needs()) for step in answer.steps] == [
        ("find_train", frozenset()),
        ("book_seat", frozenset({0})),
    ]
    alike = {demonstration(k).id for k in range(60) if PLANS[k % len(PLANS)] == ("find_train", "book_seat")}
    assert answer.rests_on
    assert alike.issuperset(answer.rests_on)
    assert answer.confidence > 0.5


def test_its_sequences_are_among_the_options(taught: RecallPlanner) -> None:
    said = Utterance.of(Request("cancel the train ticket, find the train to Ulm", FIXED_NOW), Context())
    options = taught.options(said, TOOLS)
    sequences = [tuple(step.tool for step in option.bound.steps) for option in options]
    assert sequences[0] == ("cancel_ticket", "find_train")
    assert () in sequences  # refusing is among them still
    assert len(set(sequences)) == len(sequences)


def test_what_reads_like_nothing_taught_is_not_one_of_them(taught: RecallPlanner) -> None:
    assert ranked(taught, "find the train to Ulm, book a seat in the quiet coach")
    assert not ranked(taught, "who painted the ceiling of that chapel in Rome")


def test_a_few_sequences_are_left_to_their_votes() -> None:
    few = planner(24)  # three of four are sequences
    assert not ranked(few, "order a large pizza, then rate the pizza")
    few.add([demonstration(k) for k in range(24, 4 * _LEAST_SEQUENCES // 3 + 1)])
    assert ranked(few, "order a large pizza, then rate the pizza")


def test_what_is_forgotten_leaves_as_if_it_had_never_been_taught() -> None:
    asked = ["order a pizza then rate the pizza", "find the train and book a seat", "cancel the ticket please"]
    before, other = planner(40), planner(48)
    tools_of(other, asked[0])  # so that it knew them
    other.remove(*(f"d{k:02}" for k in range(40, 48)))
    for text in asked:
        request = Request(text, FIXED_NOW)
        assert other.plan(request, Context(), TOOLS) == before.plan(request, Context(), TOOLS)


def test_one_that_is_taught_anew_is_known_as_it_is_now() -> None:
    text = "find a train to Ulm, then book the seat in the quiet coach"
    changed = planner(40)
    assert ranked(changed, text)[0].tools == ("find_train", "book_seat")
    steps = (Step("rate_pizza"), Step("find_train"))
    shown = [demonstration(k) for k in range(0, 40, 4)]
    changed.add([Demonstration(one.id, one.request, Plan(steps), source="teacher") for one in shown])
    assert ranked(changed, text)[0].tools == ("rate_pizza", "find_train")


def test_a_demonstration_is_planned_as_if_it_alone_were_not_taught(taught: RecallPlanner) -> None:
    shown = demonstration(1)
    answer = taught.plan_untaught(shown, TOOLS)
    assert isinstance(answer, Plan)
    assert [step.tool for step in answer.steps] == ["cancel_ticket", "find_train"]


def test_what_is_remembered_reads_as_the_request_does(taught: RecallPlanner) -> None:
    reader = Reader(HashEncoder(48))
    found = taught_in(taught.remembered, reader, ["d02", "d03"])
    assert found["d02"].sequence == ("order_pizza",)
    (read,) = reader.read([demonstration(2).request])
    assert (found["d02"].reading.words[0] == read.words[0]).all()
    assert abs(found["d02"].reading.vectors[0].astype(int) - read.vectors[0]).max() <= 1  # kept in half precision
    assert found["d03"].links == {(0, 1)}
