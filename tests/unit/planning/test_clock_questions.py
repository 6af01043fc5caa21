"""Days that a question names and asks for: nothing of the owner's says them."""

from __future__ import annotations

import pytest

from hearth.language.reading import Utterance
from hearth.planning.dialogue.fallbacks import asked_of_clock
from hearth.registry import load_tools
from hearth.testing import FIXED_NOW
from hearth.types import Context, Plan, Refusal, Step

TOOLS = load_tools(None).specs
ASKED = Plan((Step("find_answer", {"question": "x"}),))
NOTHING = Refusal("out_of_scope", "I can't do that yet.")


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("what's the date a week on saturday", "2026-11-28"),
        ("what day is Christmas Day", "2026-12-25"),
        ("what day is St Stephen's Day this year", "2026-12-26"),
        ("what day is stephens day this yr", "2026-12-26"),
        ("when is Easter next year", "2027-03-28"),
        ("what date is the last friday of january", "2027-01-29"),
        ("which day is the 3rd of June?", "2027-06-03"),
        ("when's the last friday in january", "2027-01-29"),
        ("what day of the week is 3 march", "2027-03-03"),
        ("what day is mum's birthday", None),
        ("when is christmas dinner", None),
        ("what's on christmas day", None),
        ("when is lunch tomorrow", None),
        ("what day is st stephen's day off", None),
        ("what day did we meet last week", None),
        ("what time is it tomorrow", None),
        ("when are the next two weeks", None),
    ],
)
def test_the_day_that_is_named_is_told(text: str, day: str | None) -> None:
    for found in (NOTHING, ASKED):
        plan = asked_of_clock(Utterance(text, FIXED_NOW, context=Context(country="IE")), found, TOOLS)
        assert (None if plan is None else plan.steps[0].arguments) == (None if day is None else {"date": day})


def test_what_was_taught_changes_something_or_lacks_a_value_stands() -> None:
    said = Utterance("what day is Christmas Day", FIXED_NOW)
    taught = Plan(ASKED.steps, rests_on=("owner:1",))
    changing = Plan((Step("remember", {"text": "x"}),))
    for found in (taught, changing, Refusal("needs", "Which?", ("time_until.date",))):
        assert asked_of_clock(said, found, TOOLS) is None
    assert asked_of_clock(said, NOTHING, {}) is None
