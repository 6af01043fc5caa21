"""A plan for each of several things is kept where it does the same with each, and nothing else than before."""

from __future__ import annotations

from hearth.language.clauses import SharedVerb
from hearth.planning.retrieval.plan_assembly import is_done_of_each, is_taken_for_one, left_out
from hearth.registry import load_tools
from hearth.types import Plan, Ref, Refusal, Step

TOOLS = load_tools(None).specs
ROW = SharedVerb(("the lamp", "the heater"), "turn off the lamp. turn off the heater", is_state_behind=False)


def off(*devices: str) -> tuple[Step, ...]:
    return tuple(Step("turn_off", {"device": device}) for device in devices)


def cancelled(*queries: str) -> Plan:
    steps: list[Step] = []
    for query in queries:
        steps += [Step("find_events", {"query": query}), Step("cancel_event", {"event": Ref(len(steps), ("id",))})]
    return Plan(tuple(steps))


def test_what_no_argument_holds_is_left_out() -> None:
    assert left_out(Plan(off("lamp")), ("the lamp", "the heater")) == ("the heater",)
    assert left_out(Plan(off("front door")), ("the front door", "the back door")) == ("the back door",)
    assert left_out(Plan(off("lamp", "heater")), ("the lamp", "the heater")) == ()
    assert left_out(Plan(off("fan")), ("the lamp", "the heater")) == ()  # the row is about something else


def test_a_joined_name_and_two_deeds_for_one_are_taken_for_one() -> None:
    assert is_taken_for_one(Plan(off("lamp and the heater")), ROW, TOOLS)
    assert not is_taken_for_one(Plan(off("lamp", "heater")), ROW, TOOLS)
    note = Plan((Step("add_note", {"text": "the lamp and the heater"}),))
    assert not is_taken_for_one(note, ROW, TOOLS)
    behind = SharedVerb(("door", "gate"), "door locked. gate locked", is_state_behind=True)
    both = Plan((Step("unlock_door", {"device": "door"}), Step("lock_door", {"device": "gate"})))
    assert is_taken_for_one(both, behind, TOOLS)


def test_each_thing_has_steps_of_its_own() -> None:
    assert is_done_of_each(Plan(off("lamp", "heater")), ROW, Plan(off("lamp")), TOOLS)
    assert not is_done_of_each(Plan(off("lamp")), ROW, Plan(off("lamp")), TOOLS)
    assert not is_done_of_each(Plan(off("lamp and the heater")), ROW, Plan(off("lamp")), TOOLS)
    assert not is_done_of_each(Refusal("out_of_scope", "no"), ROW, Plan(off("lamp")), TOOLS)
    other = Plan((*off("lamp"), Step("turn_on", {"device": "heater"})))
    assert not is_done_of_each(other, ROW, Plan(off("lamp")), TOOLS)


def test_nothing_is_lost_added_or_done_twice_beside_them() -> None:
    lock = Step("lock_door", {"device": "front door"})
    answer = Plan((*off("lamp"), lock))
    assert is_done_of_each(Plan((*off("lamp", "heater"), lock)), ROW, answer, TOOLS)
    assert not is_done_of_each(Plan(off("lamp", "heater")), ROW, answer, TOOLS)
    assert not is_done_of_each(Plan((*off("lamp", "heater"), lock, lock)), ROW, answer, TOOLS)
    told = Plan(off("lamp", "heater"), unserved=("call Tom",))
    assert not is_done_of_each(told, ROW, Plan(off("lamp")), TOOLS)
    assert is_done_of_each(told, ROW, Plan(off("lamp"), unserved=("call Tom",)), TOOLS)


def test_what_takes_away_wants_each_thing_with_an_article() -> None:
    visits = SharedVerb(("the dentist", "the barber"), "cancel the dentist. cancel the barber", is_state_behind=False)
    assert is_done_of_each(cancelled("dentist", "barber"), visits, cancelled("dentist"), TOOLS)
    crafts = SharedVerb(("arts", "crafts"), "cancel arts. cancel crafts", is_state_behind=False)
    assert not is_done_of_each(cancelled("arts", "crafts"), crafts, cancelled("crafts"), TOOLS)


def test_a_text_that_is_written_is_no_thing() -> None:
    row = SharedVerb(("the dinner", "the dance"), "put the dinner in. put the dance in", is_state_behind=False)
    each = Plan((Step("add_note", {"text": "dinner"}), Step("add_note", {"text": "dance"})))
    assert not is_done_of_each(each, row, Plan((Step("add_note", {"text": "dance"}),)), TOOLS)


def test_the_step_that_names_a_thing_alone_is_its_own() -> None:
    row = SharedVerb(("the hall lamp", "the lamp"), "turn off the hall lamp. turn off the lamp", is_state_behind=False)
    assert is_done_of_each(Plan(off("hall lamp", "lamp")), row, Plan(off("hall lamp")), TOOLS)
