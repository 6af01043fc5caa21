"""A second order of the same request adds nothing twice, and what is done is told in a sentence."""

from __future__ import annotations

import pytest

from hearth.language.discourse.deeds_told import put_in
from hearth.language.reading import Utterance
from hearth.planning.dialogue.amendments import (
    joined,
    swallowed,
    with_deeds_in_words,
    with_put_in,
    without_echoes,
)
from hearth.registry import load_tools
from hearth.testing import FIXED_NOW
from hearth.types import Context, Entity, Plan, Ref, Step

TOOLS = load_tools(None).specs
KNOWN = Context(entities=(Entity("Bo Lind", "person", ("Bo",)), Entity("Ida Marsh", "person", ("Ida",))))
TEA = Step("add_event", {"title": "tea with bo", "start": "2026-12-04T15:00:00+00:00"})
BO = Step("find_contact", {"name": "Bo Lind"})


def test_an_event_called_by_all_of_another_is_not_added() -> None:
    echo = Step("add_event", {"title": Ref(0, ()), "start": "2026-12-04T13:00:00+00:00"})
    assert without_echoes(Plan((TEA, echo)), TOOLS).steps == (TEA,)
    named = Plan((TEA, Step("add_event", {"title": "tidy up", "start": "2026-12-04T17:00:00+00:00"})))
    assert without_echoes(named, TOOLS) == named
    reminder = Plan((TEA, Step("add_reminder", {"text": Ref(0, ("title",)), "at": "2026-12-04T13:00:00+00:00"})))
    assert without_echoes(reminder, TOOLS) == reminder


def test_a_mail_tells_in_a_sentence_what_was_done() -> None:
    draft = Step("draft_mail", {"to": [Ref(0, ("email",))], "text": Ref(1, ())})
    told = with_deeds_in_words(
        Plan((BO, TEA, draft)), Utterance("book tea with bo and email him that it is on", FIXED_NOW)
    )
    assert told.steps[2].arguments["text"] == "tea with bo: Friday 4 December at 15:00"
    assert told.steps[2].after == (1,)
    listed = Plan(
        (
            Step("find_events", {"query": "tea"}),
            BO,
            Step("draft_mail", {"to": [Ref(1, ("email",))], "text": Ref(0, ())}),
        )
    )
    assert with_deeds_in_words(listed, Utterance("email bo my tea dates", FIXED_NOW)) == listed


@pytest.mark.parametrize(
    ("text", "n_steps", "unserved"),
    [
        ("mail bo: it is done by 4 December 2026. and put it in my calendar for that day", 3, ()),
        ("mail bo: it is done. and put it in my calendar", 2, ("and put it in my calendar",)),
    ],
)
def test_what_is_written_is_put_in_on_its_day(text: str, n_steps: int, unserved: tuple[str, ...]) -> None:
    put = put_in(Utterance(text, FIXED_NOW, context=KNOWN))
    assert put is not None
    mail = Step("draft_mail", {"to": [Ref(0, ("email",))], "text": "it is done by 4 December 2026"})
    plan = with_put_in(Plan((BO, mail)), put, TOOLS)
    assert plan is not None
    assert (len(plan.steps), plan.unserved) == (n_steps, unserved)
    assert with_put_in(Plan((BO,)), put, TOOLS) is None
    assert with_put_in(Plan((TEA,)), put, TOOLS) == Plan((TEA,))


@pytest.mark.parametrize(
    ("text", "written", "parts"),
    [
        (
            "tell bo im fine with it and ask ida if she can open up",
            "im fine with it and ask ida if she can open up",
            ("tell bo im fine with it", "ask ida if she can open up"),
        ),
        ("tell bo im fine with it and ask ida if she can open up", "im fine with it", None),
        ("tell bo to come and ask ida if she can open up", "come and ask ida if she can open up", None),
        ("tell bo im fine and ask someone to open", "im fine and ask someone to open", None),
    ],
)
def test_what_is_for_another_is_no_part_of_a_mail(text: str, written: str, parts: tuple[str, str] | None) -> None:
    plan = Plan((BO, Step("draft_mail", {"to": [Ref(0, ("email",))], "text": written})))
    assert swallowed(plan, Utterance(text, FIXED_NOW, context=KNOWN)) == parts


def test_two_plans_are_one_that_is_as_sure_as_the_less_sure() -> None:
    mail = Step("draft_mail", {"to": [Ref(0, ("email",))], "text": "it is done"})
    both = joined(Plan((BO, mail), 0.9), Plan((BO, mail), 0.7, unserved=("too",)), TOOLS)
    assert both is not None
    assert both.steps[3].arguments["to"] == [Ref(2, ("email",))]
    assert (both.confidence, both.unserved) == (0.7, ("too",))
    assert joined(Plan((mail,)), Plan((TEA,)), TOOLS) is None
