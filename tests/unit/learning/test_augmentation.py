"""Requests made from taught ones: new combinations of known tools, the same by seed."""

from __future__ import annotations

import pytest

from hearth.learning.finetune.lessons import Mixture, Synthesis, Text, step_text

TEXTS = [
    Text(
        "Find a train to Rome and book it.",
        ("search_train", "book_train"),
        ("Step 1 Call search_train to find a train to Rome", "Step 2 Call book_train to book the train found"),
    ),
    Text(
        "Check my balance, then send Anna 20 euros.",
        ("check_balance", "send_money"),
        ("Step 1 Call check_balance to check the balance", "Step 2 Call send_money to send Anna 20 euros"),
    ),
    Text(
        "Tell me the weather in Oslo and set an alarm.",
        ("weather", "set_alarm"),
        ("Step 1 Call weather to look up the weather in Oslo", "Step 2 Call set_alarm to set an alarm at seven"),
    ),
]
TAUGHT = {text.tools for text in TEXTS}
KNOWN = {tool for text in TEXTS for tool in text.tools}


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Step 1 Call book_train to book the train.", "book the train"),
        ("Step 12: Call find", ""),
        ("look up Anna", "look up Anna"),
    ],
)
def test_a_steps_text_without_its_number_and_tool(said: str, kept: str) -> None:
    assert step_text(said) == kept


def test_made_requests_are_new_combinations_and_the_same_by_seed() -> None:
    made = Synthesis(TEXTS, 1).make(60)
    assert made == Synthesis(TEXTS, 1).make(60)
    assert made != Synthesis(TEXTS, 2).make(60)
    assert len(made) == 60
    assert all(set(text.tools) <= KNOWN and len(set(text.tools)) == len(text.tools) for text in made)
    assert len({text.tools for text in made} - TAUGHT) > 10
    assert any(len(text.tools) >= 4 for text in made)


def test_every_tool_of_a_made_request_is_said_in_it() -> None:
    words = {
        "search_train": "train to Rome",
        "book_train": "book",
        "check_balance": "balance",
        "send_money": "20 euros",
        "weather": "weather in Oslo",
        "set_alarm": "alarm",
    }
    for text in Synthesis(TEXTS, 3).make(80):
        assert all(words[tool] in text.request for tool in text.tools), text


def test_a_second_round_differs_from_the_first() -> None:
    synthesis = Synthesis(TEXTS, 1)
    assert synthesis.make(20) != synthesis.make(20)


def test_without_texts_of_steps_requests_are_joined() -> None:
    made = Synthesis([Text(text.request, text.tools) for text in TEXTS], 1).make(20)
    assert len(made) == 20
    assert all(len(text.tools) == 4 for text in made)


def test_only_joined_ones_where_asked() -> None:
    made = Synthesis(TEXTS, 1, Mixture(1.0, 0.0, 0.0)).make(10)
    assert all(len(text.tools) == 4 for text in made)


@pytest.mark.parametrize("texts", [[], [Text("Hello", ())], [Text("Wake me", ("set_alarm",))]])
def test_too_few_texts_make_nothing(texts: list[Text]) -> None:
    assert Synthesis(texts, 1).make(5) == []


def test_texts_of_one_tool_stop_after_a_bounded_search() -> None:
    one = [Text(f"Wake me at {hour}", ("set_alarm",)) for hour in range(5)]
    assert Synthesis(one, 1).make(5) == []
