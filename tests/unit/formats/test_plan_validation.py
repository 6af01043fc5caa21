"""python -m pytest tests/unit/formats/test_plan_validation.py"""

from __future__ import annotations

import pytest

from hearth.errors import (
    BadReference,
    Cycle,
    EmptyPlan,
    MissingArgument,
    NotInEnum,
    PlanError,
    PlanTooLong,
    UnknownArgument,
    UnknownTool,
    WrongType,
)
from hearth.formats.plans import (
    MAX_DEPTH,
    MAX_STEPS,
    check_plan,
    faults,
    fits,
    is_moment,
    is_taking_away,
    literals,
    reference_type,
    shifted,
)
from hearth.types import Argument, Parameter, Plan, Ref, Step, ToolSpec

TOOLS = {
    spec.name: spec
    for spec in (
        ToolSpec(
            "find_events",
            "Find events.",
            (Parameter("query", "text", is_required=False, default=""),),
            returns="list[Event]",
            fields={"id": "EventId", "title": "text", "start": "datetime", "attendees": "list[EmailAddress]"},
        ),
        ToolSpec(
            "move_event",
            "Move an event.",
            (Parameter("event", "EventId"), Parameter("start", "datetime", "the new start")),
            returns="Event",
            fields={"id": "EventId", "start": "datetime"},
            effect="change",
        ),
        ToolSpec(
            "find_contact",
            "Find a person.",
            (Parameter("name", "PersonName"),),
            returns="Contact",
            fields={"id": "ContactId", "name": "PersonName", "email": "EmailAddress", "phone": "PhoneNumber"},
        ),
        ToolSpec(
            "draft_mail",
            "Write a mail.",
            (
                Parameter("to", "list[EmailAddress]", is_sink=True),
                Parameter("text", "text"),
                Parameter("subject", "text", is_required=False, default=""),
            ),
            returns="Draft",
            fields={"id": "DraftId"},
            effect="change",
        ),
        ToolSpec(
            "add_reminder",
            "Remind.",
            (
                Parameter("text", "text"),
                Parameter("at", "datetime", "when"),
                Parameter("repeat", "text", is_required=False, default="none", enum=("none", "daily", "weekly")),
            ),
            returns="Reminder",
            effect="change",
        ),
        ToolSpec(
            "mixed",
            "All types.",
            tuple(
                Parameter(name, kind, is_required=False)
                for name, kind in {
                    "count": "int",
                    "amount": "number",
                    "flag": "boolean",
                    "day": "date",
                    "clock": "time",
                    "length": "duration",
                    "site": "Url",
                    "path": "FilePath",
                    "phone": "PhoneNumber",
                    "anything": "any",
                    "items": "list[str]",
                    "image": "image",
                }.items()
            ),
            returns="text",
        ),
    )
}


def plan_of(tool: str, arguments: dict[str, Argument], *before: Step) -> Plan:
    return Plan((*before, Step(tool, arguments)))


EVENTS = Step("find_events")
CONTACT = Step("find_contact", {"name": "Mia"})
AT = "2026-11-20T18:00:00+01:00"

FAULTY: list[tuple[str, Plan, type[PlanError], int, str, str]] = [
    ("empty", Plan(()), EmptyPlan, -1, "", "no steps"),
    ("long", Plan((EVENTS,) * (MAX_STEPS + 1)), PlanTooLong, -1, "", "65 steps; at most 64"),
    ("tool", Plan((Step("find_event"),)), UnknownTool, 0, "", "did you mean 'find_events'"),
    ("tool, none near", Plan((Step("zzz"),)), UnknownTool, 0, "", "known are find_events"),
    ("argument", plan_of("find_events", {"querry": "x"}), UnknownArgument, 0, "querry", "did you mean 'query'"),
    ("argument, none near", plan_of("find_events", {"zz": "x"}), UnknownArgument, 0, "zz", "it takes query"),
    ("missing", plan_of("move_event", {"event": "e1"}), MissingArgument, 0, "start", "(datetime): the new start"),
    ("required null", plan_of("add_reminder", {"text": None, "at": AT}), MissingArgument, 0, "text", "needs 'text'"),
    ("required empty list", plan_of("draft_mail", {"to": [], "text": "hi"}), MissingArgument, 0, "to", "needs 'to'"),
    ("enum", plan_of("add_reminder", {"text": "x", "at": AT, "repeat": "dayly"}), NotInEnum, 0, "repeat", "'daily'"),
    ("enum far", plan_of("add_reminder", {"text": "x", "at": AT, "repeat": "zz"}), NotInEnum, 0, "repeat", "one of none"),
    ("datetime", plan_of("add_reminder", {"text": "x", "at": "tomorrow"}), WrongType, 0, "at", "a date and time such as"),
    ("number", plan_of("mixed", {"count": "five"}), WrongType, 0, "count", "a whole number"),
    ("fraction", plan_of("mixed", {"count": 2.5}), WrongType, 0, "count", "a whole number"),
    ("infinite", plan_of("mixed", {"amount": "inf"}), WrongType, 0, "amount", "a number"),
    ("boolean", plan_of("mixed", {"flag": "maybe"}), WrongType, 0, "flag", "true or false"),
    ("date", plan_of("mixed", {"day": "20.11."}), WrongType, 0, "day", "a date such as"),
    ("time", plan_of("mixed", {"clock": "6pm"}), WrongType, 0, "clock", "a time such as"),
    ("duration", plan_of("mixed", {"length": "an hour"}), WrongType, 0, "length", "a duration such as"),
    ("address", plan_of("draft_mail", {"to": ["mum"], "text": "hi"}), WrongType, 0, "to", "'mum'; expected an e-mail"),
    ("phone", plan_of("mixed", {"phone": "mum"}), WrongType, 0, "phone", "expected a phone number"),
    ("site", plan_of("mixed", {"site": "my page"}), WrongType, 0, "site", "expected a web address"),
    ("path", plan_of("mixed", {"path": " "}), WrongType, 0, "path", "expected a file path"),
    ("name", plan_of("find_contact", {"name": ""}), WrongType, 0, "name", "expected a person's name"),
    ("text", plan_of("add_reminder", {"text": True, "at": AT}), WrongType, 0, "text", "expected text"),
    ("several", plan_of("add_reminder", {"text": "x", "at": [AT, AT]}), WrongType, 0, "at", "expected one datetime"),
    ("record", plan_of("mixed", {"count": {"n": 1}}), WrongType, 0, "count", "expected one integer"),
    ("null in list", plan_of("mixed", {"items": [None]}), WrongType, 0, "items", "a value of type text"),
    ("reference", plan_of("move_event", {"event": Ref(7, ("id",)), "start": AT}, EVENTS), BadReference, 1, "event", "<node-7.id>"),
    ("field", plan_of("move_event", {"event": Ref(0, ("titles",)), "start": AT}, EVENTS), BadReference, 1, "event", "did you mean 'title'"),
    ("field of text", plan_of("find_events", {"query": Ref(0, ("x",))}, Step("mixed")), BadReference, 1, "query", "it gives a text"),
    ("nominal", plan_of("move_event", {"event": Ref(0, ("id",)), "start": AT}, CONTACT), WrongType, 1, "event", "a ContactId; expected a EventId"),
    ("whole record", plan_of("move_event", {"event": Ref(0), "start": AT}, EVENTS), WrongType, 1, "event", "<node-0.id> would fit"),
    ("in list", plan_of("draft_mail", {"to": [Ref(0, ("phone",))], "text": "x"}, CONTACT), WrongType, 1, "to", "<node-0.email> would fit"),
    ("after", Plan((Step("find_events", after=(4,)),)), BadReference, 0, "", "comes after step 4"),
    ("itself", Plan((Step("find_events", {"query": Ref(0)}),)), Cycle, 0, "", "0 (find_events)"),
    ("circle", Plan((Step("find_events", after=(1,)), Step("find_events", after=(0,)))), Cycle, 0, "", "wait for each other"),
]  # fmt: skip


@pytest.mark.parametrize(("plan", "kind", "step", "parameter", "words"), [row[1:] for row in FAULTY], ids=[r[0] for r in FAULTY])  # fmt: skip
def test_each_fault_is_named_and_placed(
    plan: Plan, kind: type[PlanError], step: int, parameter: str, words: str
) -> None:
    found = faults(plan, TOOLS)
    assert [type(f) for f in found] == [kind]
    assert (found[0].step, found[0].parameter) == (step, parameter)
    assert words in str(found[0])
    with pytest.raises(kind):
        check_plan(plan, TOOLS)


def test_all_faults_are_given_at_once() -> None:
    plan = Plan((Step("nothing"), Step("move_event", {"start": "soon", "when": 1})))
    assert [type(f) for f in faults(plan, TOOLS)] == [UnknownTool, WrongType, UnknownArgument, MissingArgument]


@pytest.mark.parametrize(
    ("tool", "given", "wanted"),
    [
        ("mixed", {"count": "5"}, {"count": 5}),
        ("mixed", {"count": 5.0}, {"count": 5}),
        ("mixed", {"amount": "2.5"}, {"amount": 2.5}),
        ("mixed", {"flag": "True"}, {"flag": True}),
        ("mixed", {"items": "milk"}, {"items": ["milk"]}),
        ("mixed", {"site": ["example.org"]}, {"site": "example.org"}),
        ("mixed", {"phone": "+49 30 901820"}, {"phone": "+49 30 901820"}),
        ("mixed", {"image": "cat.png", "anything": {"a": [1, None]}}, {"image": "cat.png", "anything": {"a": [1, None]}}),
        ("mixed", {"day": None}, {}),
        ("find_events", {"query": 2026}, {"query": "2026"}),
        ("find_events", {"query": ""}, {"query": ""}),
        ("add_reminder", {"text": "x", "at": "2026-11-20", "repeat": "Daily"}, {"text": "x", "at": "2026-11-20T00:00:00", "repeat": "daily"}),
        ("draft_mail", {"to": "mia@example.org", "text": ["a", "b"]}, {"to": ["mia@example.org"], "text": ["a", "b"]}),
    ],
)  # fmt: skip
def test_harmless_spellings_are_put_right(tool: str, given: dict[str, Argument], wanted: dict[str, Argument]) -> None:
    checked = check_plan(plan_of(tool, given), TOOLS)
    assert checked.steps[0].arguments == wanted
    assert check_plan(checked, TOOLS) == checked


@pytest.mark.parametrize(
    "plan",
    [
        plan_of("move_event", {"event": Ref(0, ("id",)), "start": AT}, EVENTS),
        plan_of("move_event", {"event": Ref(0, ("0", "id")), "start": Ref(0, ("start",))}, EVENTS),
        plan_of("draft_mail", {"to": [Ref(0, ("email",))], "text": Ref(0)}, CONTACT),
        plan_of("draft_mail", {"to": Ref(0, ("attendees",)), "text": ["here:", Ref(0)]}, EVENTS),
        plan_of("mixed", {"day": Ref(0, ("start",)), "anything": Ref(0)}, EVENTS),
    ],
)
def test_references_that_fit(plan: Plan) -> None:
    assert faults(plan, TOOLS) == ()


def test_steps_are_put_in_order_of_dependence() -> None:
    plan = Plan(
        (
            Step("move_event", {"event": Ref(2, ("id",)), "start": AT}),
            Step("find_contact", {"name": "Mia"}, after=(0,)),
            EVENTS,
        ),
        confidence=0.5,
        rests_on=("a",),
    )
    checked = check_plan(plan, TOOLS)
    assert [s.tool for s in checked.steps] == ["find_events", "move_event", "find_contact"]
    assert checked.steps[1].arguments["event"] == Ref(0, ("id",))
    assert checked.steps[2].after == (1,)
    assert (checked.confidence, checked.rests_on) == (0.5, ("a",))
    assert check_plan(checked, TOOLS) == checked


def test_nesting_is_bounded() -> None:
    value: Argument = "x"
    for _ in range(MAX_DEPTH + 2):
        value = [value]
    (fault,) = faults(plan_of("mixed", {"anything": value}), TOOLS)
    assert isinstance(fault, WrongType)
    assert "nested deeper than 16" in str(fault)


def test_a_result_of_unknown_shape_fits_anything() -> None:
    tools = {"a": ToolSpec("a", "A."), "b": ToolSpec("b", "B.", (Parameter("n", "integer"),), returns="image")}
    assert faults(Plan((Step("a"), Step("b", {"n": Ref(0, ("x", "y"))}))), tools) == ()
    assert reference_type(Ref(0, ("width",)), tools["b"]) == "any"


@pytest.mark.parametrize(
    ("given", "wanted", "is_fit"),
    [
        ("integer", "number", True),
        ("number", "integer", False),
        ("datetime", "date", True),
        ("date", "datetime", False),
        ("list[Event]", "Event", True),
        ("Event", "list[Event]", True),
        ("Event", "text", True),
        ("text", "EmailAddress", False),
        ("EmailAddress", "PhoneNumber", False),
        ("string", "text", True),
        ("any", "EventId", True),
    ],
)
def test_fits(given: str, wanted: str, is_fit: bool) -> None:
    assert fits(given, wanted) is is_fit


def test_steps_are_shifted_with_their_references() -> None:
    steps = [Step("find_events", {}), Step("move_event", {"event": [Ref(0, ("0", "id"))], "start": "x"}, after=(0,))]
    moved = shifted(steps, 3)
    assert moved[0] == steps[0]
    assert moved[1].arguments == {"event": [Ref(3, ("0", "id"))], "start": "x"}
    assert moved[1].after == (3,)


def test_what_takes_away_is_told_by_its_name_and_its_effect() -> None:
    tools = {name: ToolSpec(name, "", effect="change") for name in ("delete_note", "add_note")}
    assert is_taking_away(Step("delete_note"), tools)
    assert not is_taking_away(Step("add_note"), tools)
    assert not is_taking_away(Step("delete_note"), {"delete_note": ToolSpec("delete_note", "")})


def test_literals_are_the_values_without_references() -> None:
    assert literals({"a": ["x", Ref(0)], "b": None, "c": {"d": 3}}) == ["x", 3]
    assert [is_moment(one) for one in ("2027-03-04", "2027-03-04T05:06:00", "2027-03-04 is near", 20270304)] == [
        *(True, True, False, False),
    ]
