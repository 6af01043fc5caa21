"""python -m pytest tests/unit/test_memory_questions.py"""

from __future__ import annotations

import pytest

from hearth.memory.questions import asked_of, declares


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
        ("am I allergic to nuts", "am I allergic to nuts"),
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
        ("Play the song", False),
    ],
)
def test_what_states_something(text: str, is_told: bool) -> None:
    assert declares(text) is is_told
