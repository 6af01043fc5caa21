"""Other readings of a request, judged by its words."""

from __future__ import annotations

import pytest

from hearth.planning.dialogue.other_readings import is_of_found_things, named_share, other_queries, takes_away
from hearth.types import Plan, Ref, Refusal, Step, ToolSpec

TOOLS = {
    "find_events": ToolSpec("find_events", "Find events."),
    "cancel_event": ToolSpec("cancel_event", "Cancel.", effect="change"),
    "add_note": ToolSpec("add_note", "Note.", effect="change"),
    "set_temperature": ToolSpec("set_temperature", "Set.", effect="change"),
    "set_brightness": ToolSpec("set_brightness", "Set.", effect="change"),
    "find_answer": ToolSpec("find_answer", "Ask."),
}
NOTHING = Refusal("out_of_scope", "I'm not sure what you mean.")


def _cancel(query: str) -> Plan:
    return Plan((Step("find_events", {"query": query}), Step("cancel_event", {"event": Ref(0, ("id",))})))


def test_what_takes_something_away_is_known() -> None:
    assert takes_away(_cancel("kiln firing"), TOOLS)
    assert not takes_away(Plan((Step("add_note", {"text": "cancel it"}),)), TOOLS)
    assert not takes_away(Plan((Step("find_events", {"query": "cancel"}),)), TOOLS)


def test_what_a_reading_leaves_out_counts_against_it() -> None:
    assert named_share("cancel the kiln firing", _cancel("kiln firing"), ()) == 1.0
    assert (
        named_share("find me the Patterson blueprint", Plan((Step("find_events", {"query": "Patterson"}),)), ()) == 0.5
    )
    assert named_share("cancel it", _cancel("x"), ()) == 1.0


def test_other_words_are_sought_where_the_first_are_not_there() -> None:
    found = other_queries("cancel pilates, elbow hurts", _cancel("elbow hurts"), ())
    assert [plan.steps[0].arguments["query"] for plan in found] == ["pilates"]
    assert other_queries("cancel pilates", Plan((Step("add_note", {"text": "pilates"}),)), ()) == []


@pytest.mark.parametrize(
    ("reading", "found", "may"),
    [
        (_cancel("kiln firing"), NOTHING, True),
        (_cancel("check"), NOTHING, False),
        (_cancel(""), NOTHING, False),
        (Plan((Step("add_note", {"text": "kiln"}),)), NOTHING, False),
        (Plan((Step("find_answer", {"question": "kiln"}),)), NOTHING, False),
        (Plan((Step("set_temperature", {"temperature": 21}),)), NOTHING, False),
        (Plan((Step("set_temperature", {"temperature": 21}),)), Plan((Step("set_brightness", {"percent": 21}),)), True),
        (Plan((Step("set_temperature", {"temperature": 21}),)), _cancel("heating"), False),
    ],
)
def test_only_what_is_there_is_changed(reading: Plan, found: Plan | Refusal, may: bool) -> None:
    assert is_of_found_things(reading, found, TOOLS) is may
