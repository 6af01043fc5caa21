"""python -m pytest tests/unit/language/test_questions.py"""

from __future__ import annotations

import pytest

from hearth.language.reading import (
    Believed,
    SaidBy,
    asked_of,
    asks_later,
    believed_then,
    declares,
    gives_order,
    said_by,
    states_in_a_clause,
)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("where did I park", "where did I park"),
        ("Hey Hearth, do you remember where I parked?", "where I parked?"),
        ("can you tell me what Lotte is allergic to", "what Lotte is allergic to"),
        ("where did I say the tent is", "where the tent is"),
        ("did I tell you where the tent is", "where the tent is"),
        ("what was that wine again", "what was that wine"),
        ("I forgot, when is the party", "when is the party"),
        ("when is the party, i've clean forgotten", "when is the party"),
        ("what have I forgotten", "what have I forgotten"),
        ("am I allergic to nuts", "am I allergic to nuts"),
        ("whats Lotte allergic to", "what's Lotte allergic to"),
        ("hey wheres the tent", "where's the tent"),
    ],
)
def test_questions_without_what_leads_to_them(words: str, text: str) -> None:
    asked = asked_of(words)
    assert (asked.text, asked.is_question) == (text, True)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("what do you know about Ana?", "Ana"),
        ("what did I tell you about Lotte's allergies", "Lotte's allergies"),
        ("have we talked about the roof windows before?", "the roof windows before"),
        ("have I told you my shirt size", "my shirt size"),
        ("the boiler", "the boiler"),
        ("", ""),
        ("do you remember", "do you remember"),
    ],
)
def test_matters(words: str, text: str) -> None:
    asked = asked_of(words)
    assert (asked.text, asked.is_question) == (text, words == "do you remember")


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("my locker number is 48 now", True),
        ("I parked behind the school", True),
        ("Ben is vegan", True),
        ("where did I park", False),
        ("remind me to call Ana", False),
        ("Remind me to call Ana", False),
        ("add milk to the list", False),
        ("furnace man's phone number", False),
        ("I lost the phone number", True),
        ("Play the song", False),
        ("whats the code of the bike cellar", False),
        ("whos coming on friday", False),
    ],
)
def test_what_states_something(text: str, is_told: bool) -> None:
    assert declares(text) is is_told


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what did you believe last Tuesday?", Believed("", "last Tuesday")),
        ("What did you know about my sister on Monday and why", Believed("my sister", "on Monday")),
        ("what had you thought about Ana two weeks ago", Believed("Ana", "two weeks ago")),
        ("what did you hold true in March 2019", Believed("", "in March 2019")),
        ("what did you believe", None),
        ("what did you think of the film", None),
        ("what did I believe last Tuesday", None),
    ],
)
def test_what_was_believed_at_a_time(text: str, expected: Believed | None) -> None:
    assert believed_then(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what did Tom write?", SaidBy("Tom", "", False)),
        ("what has Tom Maes told me lately", SaidBy("Tom Maes", "", False)),
        ("what did tom say yesterday", SaidBy("tom", "yesterday", False)),
        ("what did Tom write in the family chat last week", SaidBy("Tom", "last week", True)),
        ("what did Tom say about the tiles", None),
        ("what did Tom write in his last mail", None),
        ("what did I write", None),
        ("what did you say", None),
    ],
)
def test_whose_words_are_asked_for(text: str, expected: SaidBy | None) -> None:
    assert said_by(text) == expected


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("my locker is 48 now", True),
        ("we sold the canoe", True),
        ("the boiler got serviced", True),
        ("sales per buyer", False),
        ("any clash on Wednesday", False),
        ("total of my sales this year", False),
        ("whose turn is it", False),
    ],
)
def test_a_heading_states_nothing(text: str, is_told: bool) -> None:
    assert states_in_a_clause(text) is is_told


@pytest.mark.parametrize(
    ("text", "is_order"),
    [("scrap the quiz", True), ("please nudge Bo", True), ("the quiz", False), ("when is the quiz", False)],
)
def test_an_order_is_no_question(text: str, is_order: bool) -> None:
    assert gives_order(text) is is_order


@pytest.mark.parametrize(
    ("text", "is_asked"),
    [
        ("gas bill this month, how much", True),
        ("hydro bill for november how much is it", True),
        ("the library books back when?", True),
        ("winner of the honey show who", True),
        ("if we leave the flat how long before do we tell the landlord", True),
        ("if the seal breaks who do I have to ring", True),
        ("if i want to quit how long ahead do i have to tell them", True),
        ("in case my flight is late what should the sitter do", True),
        ("remind me to ask Tom when", False),
        ("tell Ana who", False),
        ("if it rains tomorrow remind me to take a coat", False),
        ("if Tom calls tell him where I am", False),
        ("how much is it", False),  # asks at once, and is known by that
        ("note that the tap drips", False),
    ],
)
def test_what_asks_behind_its_matter_or_a_condition(text: str, *, is_asked: bool) -> None:
    assert asks_later(text) is is_asked
