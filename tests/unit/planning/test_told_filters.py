"""The look-up of a mail is not narrowed by what the answer says."""

from __future__ import annotations

import pytest

from hearth.language.reading import Utterance
from hearth.planning.dialogue.amendments import without_told_filters
from hearth.registry import load_tools
from hearth.testing import FIXED_NOW
from hearth.types import Argument, Plan, Ref, Step

TOOLS = load_tools(None).specs
FRIDAY: dict[str, Argument] = {"start": "2026-11-27T00:00:00+01:00", "end": "2026-11-28T00:00:00+01:00"}


def looked_for(text: str, answer: str, **given: Argument) -> dict[str, Argument]:
    steps = (Step("find_mail", given), Step("draft_reply", {"mail": Ref(0, ("id",)), "text": answer}))
    found = without_told_filters(Plan(steps), Utterance(text, FIXED_NOW), TOOLS)
    assert found.steps[1] == steps[1]
    return dict(found.steps[0].arguments)


@pytest.mark.parametrize(
    ("text", "answer", "given", "left"),
    [
        ("reply to Ana that Friday is fine", "Friday is fine", {"query": "fine", **FRIDAY}, {}),
        ("reply to the mail of Friday that it is fine", "it is fine", FRIDAY, FRIDAY),
        ("reply to the boiler mail that it is fine", "it is fine", {"query": "boiler"}, {"query": "boiler"}),
    ],
)
def test_words_of_the_answer_alone_seek_nothing(
    text: str, answer: str, given: dict[str, Argument], left: dict[str, Argument]
) -> None:
    assert looked_for(text, answer, sender="Ana", **given) == {"sender": "Ana", **left}


def test_a_look_up_keeps_its_only_word() -> None:
    assert looked_for("reply that it is fine", "it is fine", query="fine") == {"query": "fine"}
