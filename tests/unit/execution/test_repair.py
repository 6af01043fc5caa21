"""After a failure: what is searched wider, what is done by another tool, what is asked, and what is left."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NewType

import pytest

from hearth.errors import PlannerError
from hearth.execution.executor import Executor
from hearth.execution.repair import Repairer, reflect
from hearth.formats.plans import check_plan
from hearth.formats.tool_signature import tool
from hearth.guard.monitor import Monitor
from hearth.guard.policy.rules import Policy, Rule
from hearth.protocols import CallContext
from hearth.storage.database import Store
from hearth.storage.trace import Trace
from hearth.storage.workspace import Folder
from hearth.testing import FIXED_NOW, FixedApprover, ScriptedPlanner, make_call
from hearth.types import Context, Parameter, Plan, Ref, Refusal, Request, Step, StepResult, ToolSpec

DATES = (Parameter("start", "datetime", is_required=False), Parameter("end", "datetime", is_required=False))
QUERY = Parameter("query", "text", is_required=False)
EVENT = {"id": "EventId", "title": "text"}
SPECS = {
    spec.name: spec
    for spec in (
        ToolSpec("find_events", "Find events in the calendar.", (QUERY, *DATES), "list[Event]", EVENT),
        ToolSpec("next_event", "The next event.", (QUERY,), "Event", EVENT),
        ToolSpec("ask_server", "Find events on the server.", (QUERY,), "list[Event]", EVENT),
        ToolSpec("move_event", "Move.", (Parameter("event", "EventId"), DATES[0]), "Event", EVENT, effect="change"),
        ToolSpec("add_note", "Add a note.", (Parameter("text", "text"),), "text", effect="change"),
        ToolSpec("find_video", "Find video.", DATES, "Video", {"id": "VideoId"}, source="sensor"),
        ToolSpec("see", "See.", (Parameter("video", "VideoId"),), "list[Sighting]", source="sensor"),
        ToolSpec("find_contact", "Find a contact.", (Parameter("name", "PersonName"),), "Contact", {"id": "ContactId"}),
    )
}
START = "2026-11-27T00:00:00+01:00"
REQUEST = Request("move my dentist appointment on Friday to nine", FIXED_NOW)
CONTEXT = Context()


def check(plan: Plan) -> Plan:
    return check_plan(plan, SPECS)


def repairer(plans: Mapping[str, Plan | Refusal] | None = None, language: ScriptedPlanner | None = None) -> Repairer:
    return Repairer(ScriptedPlanner(plans or {}), check, language)


def done(step: int, value: object = "x") -> StepResult:
    return StepResult(step, "done", value)  # type: ignore[arg-type]


def failed(step: int, kind: str, n_attempts: int = 1) -> StepResult:
    return StepResult(step, "failed", error="text that a stranger wrote", error_kind=kind, n_attempts=n_attempts)


def skipped(step: int) -> StepResult:
    return StepResult(step, "skipped", n_attempts=0)


MOVE = Plan(
    (
        Step(
            "find_events", {"query": "dentist appointment", "start": START, "end": START}, text="Find the appointment."
        ),
        Step("move_event", {"event": Ref(0, ("id",)), "start": START}, text="Move it."),
        Step("add_note", {"text": Ref(1, ("title",))}),
        Step("add_note", {"text": "unrelated"}),
    )
)
FOUND_NOTHING = (done(0, []), failed(1, "NotFound", 0), skipped(2), done(3))


def test_a_search_that_found_nothing_is_repeated_without_its_dates_with_all_that_needs_it() -> None:
    request = Request("move my dentist appointment to Friday at nine", FIXED_NOW)
    plan = repairer().repair(request, CONTEXT, MOVE, FOUND_NOTHING, SPECS)
    assert plan is not None
    assert plan.steps[:4] == MOVE.steps
    assert plan.steps[4:] == (
        Step("find_events", {"query": "dentist appointment"}, text="Find the appointment, at any time", replaces=0),
        Step("move_event", {"event": Ref(4, ("id",)), "start": START}, text="Move it.", replaces=1),
        Step("add_note", {"text": Ref(5, ("title",))}, replaces=2),
    )


@pytest.mark.parametrize(
    ("said", "is_wider"),
    [
        ("move my dentist appointment to Friday at nine", True),
        ("put the dentist off until Friday", True),
        ("move my dentist appointment on Friday to nine", False),
        ("the dentist on Friday is at nine now", False),
    ],
)
def test_what_is_named_by_its_day_is_not_moved_from_another(said: str, is_wider: bool) -> None:
    plan = Plan((Step("find_events", {"query": "dentist", "start": START}), MOVE.steps[1]))
    results = (done(0, []), failed(1, "NotFound", 0))
    repaired = repairer().repair(Request(said, FIXED_NOW), CONTEXT, plan, results, SPECS)
    assert (repaired is not None) == is_wider


@pytest.mark.parametrize(
    ("query", "shorter"),
    [
        ("dentist events", "dentist"),
        ("find my dentist", "my dentist"),
        ("dentist Tuesday", "dentist"),
        ("a cardiologist", "cardiologist"),
        ("dentist", None),
        ("", None),
    ],
)
def test_a_search_without_dates_is_repeated_with_a_shorter_query(query: str, shorter: str | None) -> None:
    plan = Plan((Step("find_events", {"query": query}), Step("move_event", {"event": Ref(0, ("id",)), "start": START})))
    results = (done(0, []), failed(1, "NotFound", 0))
    repaired = repairer().repair(REQUEST, CONTEXT, plan, results, SPECS)
    if shorter is None:
        assert repaired is None
    else:
        assert repaired is not None
        assert repaired.steps[2].arguments == {"query": shorter}
        assert repaired.steps[2].text == f"find events, for {shorter!r} alone"


def test_a_reading_tool_that_says_itself_that_it_found_nothing_is_repeated() -> None:
    plan = Plan((Step("next_event", {"query": "dentist event"}), Step("add_note", {"text": Ref(0)})))
    repaired = repairer().repair(REQUEST, CONTEXT, plan, (failed(0, "NotFound"), skipped(1)), SPECS)
    assert repaired is not None
    assert [(s.tool, s.replaces) for s in repaired.steps[2:]] == [("next_event", 0), ("add_note", 1)]


def test_what_was_recorded_at_another_time_is_no_answer() -> None:
    plan = Plan((Step("find_video", {"start": START}), Step("see", {"video": Ref(0, ("id",))})))
    assert repairer().repair(REQUEST, CONTEXT, plan, (failed(0, "NotFound"), skipped(1)), SPECS) is None


def test_a_search_is_widened_only_once() -> None:
    plan = repairer().repair(REQUEST, CONTEXT, MOVE, FOUND_NOTHING, SPECS)
    assert plan is not None
    again = (*FOUND_NOTHING, done(4, []), failed(5, "NotFound", 0), skipped(6))
    assert repairer().repair(REQUEST, CONTEXT, plan, again, SPECS) is None


@pytest.mark.parametrize(
    ("plan", "results"),
    [
        # one person is never taken for another of a similar name
        (Plan((Step("find_contact", {"name": "Anna Smith"}),)), (failed(0, "NotFound"),)),
        # "note down Friday's events": that there are none is the answer
        (
            Plan((Step("find_events", {"start": START}), Step("add_note", {"text": Ref(0)}))),
            (done(0, []), failed(1, "NotFound", 0)),
        ),
        # the record is gone: searching does not bring it back
        (Plan((Step("move_event", {"event": "e1", "start": START}),)), (failed(0, "NotFound"),)),
        # the owner must say which
        (MOVE, (done(0, [{}, {}]), failed(1, "Ambiguous", 0), skipped(2), done(3))),
        (Plan((Step("next_event"),)), (StepResult(0, "denied", error_kind="DeniedError"),)),
        (Plan((Step("next_event"),)), (StepResult(0, "unknown", error_kind="ToolTimeout"),)),
        (Plan((Step("next_event"),)), (done(0),)),
    ],
)
def test_what_is_not_repaired(plan: Plan, results: tuple[StepResult, ...]) -> None:
    language = ScriptedPlanner({}) if any(r.error_kind == "NotFound" for r in results) else None
    assert repairer(language=language).repair(REQUEST, CONTEXT, plan, results, SPECS) is None


@pytest.mark.parametrize("kind", ["TransientToolError", "ToolTimeout", "ToolCrashed", "BadResult"])
def test_a_tool_that_does_not_work_is_replaced_by_one_with_the_same_result(kind: str) -> None:
    plan = Plan(
        (
            Step("find_contact", {"name": "Anna"}),
            Step("find_events", {"query": "dentist"}),
            Step("move_event", {"event": Ref(1, ("id",)), "start": START}),
        )
    )
    other = Plan(
        (Step("ask_server", {"query": "dentist"}), Step("move_event", {"event": Ref(0, ("id",)), "start": START}))
    )
    planner = ScriptedPlanner({REQUEST.text: other})
    results = (done(0), failed(1, kind), skipped(2))
    repaired = Repairer(planner, check).repair(REQUEST, CONTEXT, plan, results, SPECS)
    assert repaired is not None
    assert repaired.steps[3:] == (
        Step("ask_server", {"query": "dentist"}, replaces=1),
        Step("move_event", {"event": Ref(3, ("id",)), "start": START}, replaces=2),
    )


@pytest.mark.parametrize(
    "other",
    [
        Plan((Step("find_contact", {"name": "Anna"}),)),
        Plan((Step("find_events", {"query": "dentist"}),)),
        Plan((Step("ask_server", {"colour": "red"}),)),
        Refusal("out_of_scope", "no"),
    ],
)
def test_another_kind_of_result_the_same_call_or_no_plan_is_no_repair(other: Plan | Refusal) -> None:
    plan = Plan((Step("find_events", {"query": "dentist"}),))
    results = (failed(0, "ToolCrashed"),)
    assert repairer({REQUEST.text: other}).repair(REQUEST, CONTEXT, plan, results, SPECS) is None


def test_without_another_tool_of_that_result_the_planner_is_not_asked() -> None:
    planner = ScriptedPlanner({})
    plan = Plan((Step("find_contact", {"name": "Anna"}),))
    assert Repairer(planner, check).repair(REQUEST, CONTEXT, plan, (failed(0, "ToolCrashed"),), SPECS) is None
    assert planner.requests == []


class Broken:
    name = "broken"

    def plan(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        raise PlannerError("unreachable")


def test_a_planner_that_fails_leaves_things_as_they_are() -> None:
    plan = Plan((Step("find_events"),))
    results = (failed(0, "ToolCrashed"),)
    assert Repairer(Broken(), check, Broken()).repair(REQUEST, CONTEXT, plan, results, SPECS) is None


def test_a_language_planner_hears_kinds_and_names_but_no_text_of_a_tool() -> None:
    plan = Plan((Step("add_note", {"text": "first"}), Step("find_contact", {"name": "Anna"})))
    fresh = Plan((Step("add_note", {"text": "worded anew"}), Step("find_contact", {"name": "Anna Smith"})))
    told = (
        f"{REQUEST.text}\n\n(A first plan went wrong: find_contact found nothing that matches. Done so far: add_note. "
        "Reach the same in another way.)"
    )
    language = ScriptedPlanner({told: fresh})
    results = (done(0, "a result a stranger wrote"), failed(1, "NotFound"))
    repaired = repairer(language=language).repair(REQUEST, CONTEXT, plan, results, SPECS)
    assert [request.text for request in language.requests] == [told]
    assert repaired is not None
    # the note is written already: only the search is new
    assert repaired.steps[2:] == (Step("find_contact", {"name": "Anna Smith"}, replaces=1),)


def test_what_was_done_is_used_by_what_is_planned_anew() -> None:
    plan = Plan((Step("find_events", {"query": "dentist"}), Step("find_contact", {"name": "Anna"})))
    fresh = Plan((Step("find_events", {"query": "dentist"}), Step("add_note", {"text": Ref(0)})))
    results = (done(0, [{"id": "e"}]), failed(1, "NotFound"))
    language = ScriptedPlanner({f"{REQUEST.text}\n\n{reflect(plan, results).text}": fresh})
    repaired = repairer(language=language).repair(REQUEST, CONTEXT, plan, results, SPECS)
    assert repaired is not None
    assert repaired.steps[2:] == (Step("add_note", {"text": Ref(0)}, replaces=1),)


def test_reflection_counts_what_a_later_step_replaced_as_settled() -> None:
    plan = Plan((Step("find_events"), Step("find_events", {"query": "x"}, replaces=0)))
    seen = reflect(plan, (failed(0, "ToolCrashed"), done(1)))
    assert (seen.failed, seen.lost, seen.done) == ((), frozenset(), frozenset({1}))


# ── The whole way ─────────────────────────────────────────────────────────────────────────────────────────

DayId = NewType("DayId", str)


@dataclass(frozen=True)
class Day:
    id: DayId
    title: str


@tool()
def find_days(query: str = "", start: dt.datetime | None = None) -> list[Day]:
    """Find days."""
    return [] if start else [Day(DayId("d1"), "Dentist")]


@tool(effect="change")
def cancel_day(day: DayId, call: CallContext) -> str:
    """Cancel a day."""
    call.workspace.write(f"{day}.txt", b"cancelled")
    return day


@pytest.mark.parametrize("answer", [True, False])
def test_a_wider_search_asks_before_it_acts_on_what_it_found(store: Store, folder: Folder, answer: bool) -> None:
    approver = FixedApprover(answer)
    monitor = Monitor(
        {"find_days": find_days, "cancel_day": cancel_day}, Policy({"cancel_day": Rule("allow")}), approver
    )
    trace = Trace(store)
    executor = Executor(monitor, trace, lambda key, now: make_call(key, now, folder.for_call(key)), folder)
    mend = Repairer(ScriptedPlanner({}), lambda plan: check_plan(plan, monitor.specs))
    plan = Plan((Step("find_days", {"query": "dentist", "start": START}), Step("cancel_day", {"day": Ref(0, ("id",))})))
    ruling = monitor.rule(plan)
    assert (ruling.verdict, approver.questions) == ("allow", [])
    trace.begin(REQUEST, "e1")
    trace.planned("e1", plan, None, ruling, 0.0)
    results = executor.run("e1", plan, monitor.specs, FIXED_NOW)
    assert [r.status for r in results] == ["done", "failed"]

    repaired = mend.repair(REQUEST, CONTEXT, plan, results, monitor.specs)
    assert repaired is not None
    ruling = monitor.rule(repaired, extends=plan)
    (question, _) = approver.questions[0]
    assert "3. find_days (only reads)" in question
    assert "cancel_day would act on something else than you first asked for" in question
    assert ruling.verdict == ("allow" if answer else "deny")
    if answer:
        trace.planned("e1", repaired, None, ruling, 0.0)
        results = executor.run("e1", repaired, monitor.specs, FIXED_NOW, results)
        assert [r.status for r in results] == ["done", "failed", "done", "done"]
        assert mend.repair(REQUEST, CONTEXT, repaired, results, monitor.specs) is None
    assert (folder.root / "d1.txt").exists() is answer
    executor.close()
