"""References become values with labels; what cannot be bound says why; records become readable text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.errors import Ambiguous, BadReference, NotFound
from hearth.execution.results import bind, name_of, render
from hearth.guard.labels import Value
from hearth.types import OWNER, Argument, Label, Parameter, Plain, Plan, Ref, Step, StepResult, ToolSpec

CONTACT: dict[str, Plain] = {"id": "c1", "name": "Anna", "email": "anna@example.org", "phone": "", "birthday": None}
EVENT: dict[str, Plain] = {"id": "e1", "title": "Dentist", "start": "2026-11-20T18:30:00+01:00", "place": ""}
MESSAGE = Label(frozenset({"message"}), frozenset())
FIND = ToolSpec(
    "find",
    "Find.",
    (Parameter("query", "text"),),
    "list[Event]",
    {"id": "EventId", "title": "text", "start": "datetime", "email": "EmailAddress"},
    source="message",
)


def take(kind: str, is_required: bool = True, enum: tuple[str, ...] = ()) -> ToolSpec:
    return ToolSpec("take", "Take.", (Parameter("it", kind, is_required=is_required, enum=enum),))


def bound(value: Argument, found: Plain, kind: str, is_required: bool = True, enum: tuple[str, ...] = ()) -> Plain:
    plan = Plan((Step("find", {"query": "Anna"}), Step("take", {"it": value})))
    results = {0: StepResult(0, "done", found, MESSAGE)}
    return bind(plan, 1, results, {"find": FIND, "take": take(kind, is_required, enum)})["it"].data


@pytest.mark.parametrize(
    ("path", "found", "kind", "value"),
    [
        ("", "x", "text", "x"),
        ("email", CONTACT, "EmailAddress", "anna@example.org"),
        ("email", [CONTACT], "EmailAddress", "anna@example.org"),
        ("email", [CONTACT], "list[EmailAddress]", "anna@example.org"),
        ("1.email", [EVENT, CONTACT], "EmailAddress", "anna@example.org"),
        ("-1.email", [EVENT, CONTACT], "EmailAddress", "anna@example.org"),
        ("id", [EVENT], "EventId", "e1"),
        ("", ["a", "b"], "list[text]", ["a", "b"]),
        ("", ["a"], "EventId", "a"),
        ("", [EVENT, EVENT], "any", [EVENT, EVENT]),
        ("", [EVENT], "list[Event]", [EVENT]),
        ("", [], "list[Event]", []),
        ("start", EVENT, "datetime", "2026-11-20T18:30:00+01:00"),
        ("start", EVENT, "text", "Friday 20 November 2026 at 18:30"),
        ("title", EVENT, "text", "Dentist"),
        ("", 3, "integer", 3),
        ("", 0, "integer", 0),
        ("", False, "boolean", False),
        ("", [EVENT], "text", "- Dentist (start: Friday 20 November 2026 at 18:30)"),
        ("", [EVENT, "x"], "list[text]", ["Dentist (start: Friday 20 November 2026 at 18:30)", "x"]),
        ("", EVENT, "list[text]", ["Dentist (start: Friday 20 November 2026 at 18:30)"]),
    ],
)
def test_a_reference_becomes_what_it_points_at(path: str, found: Plain, kind: str, value: Plain) -> None:
    assert bound(Ref(0, tuple(path.split(".")) if path else ()), found, kind) == value


@pytest.mark.parametrize(
    ("path", "found", "kind", "error", "said"),
    [
        ("id", [], "EventId", NotFound, "I found nothing for 'Anna'"),
        ("id", None, "EventId", NotFound, "I found nothing for 'Anna'"),
        ("", [], "text", NotFound, "I found nothing for 'Anna'"),
        ("", [], "list[text]", NotFound, "I found nothing for 'Anna'"),
        ("phone", CONTACT, "PhoneNumber", NotFound, "I found no phone number for 'Anna'"),
        ("birthday", CONTACT, "date", NotFound, "I found no birthday for 'Anna'"),
        ("2.id", [EVENT], "EventId", NotFound, "I found only 1 of the events that this needs"),
        (
            "id",
            [EVENT, CONTACT],
            "EventId",
            Ambiguous,
            "I found 2 events: 'Dentist' (Friday 20 November 2026 at 18:30), 'Anna'; say which one you mean",
        ),
        ("id", [{"id": str(k)} for k in range(7)], "EventId", Ambiguous, "and 2 more; say which one"),
        ("colour", EVENT, "text", BadReference, "<node-0.colour> has no 'colour': find gave a record with id, title,"),
        ("colour", "x", "text", BadReference, "find gave a str"),
    ],
)
def test_what_cannot_be_bound_says_why(path: str, found: Plain, kind: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error) as raised:
        bound(Ref(0, tuple(path.split(".")) if path else ()), found, kind)
    assert said in str(raised.value)


def test_an_optional_parameter_takes_nothing_as_nothing() -> None:
    assert bound(Ref(0, ("phone",)), CONTACT, "PhoneNumber", is_required=False) == ""
    assert bound(Ref(0, ("birthday",)), CONTACT, "date", is_required=False) is None
    assert bound(Ref(0, ("birthday",)), CONTACT, "text", is_required=False) is None
    assert bound(Ref(0), None, "list[text]", is_required=False) == []


@pytest.mark.parametrize(("doubt", "is_named"), [("perhaps", True), ("", False), ("", True)])
def test_an_answer_is_written_where_it_is_sure_or_its_place_names_what_was_asked(doubt: str, is_named: bool) -> None:
    assert _answer_bound(doubt, is_named)["it"].data == "5"


def test_a_doubtful_answer_whose_place_names_something_else_is_not_written() -> None:
    with pytest.raises(Ambiguous, match="answers “what is the gate code”, so I wrote nothing"):
        _answer_bound("perhaps", is_named=False)


def _answer_bound(doubt: str, is_named: bool) -> dict[str, Value]:
    source = ToolSpec("find_answer", "Find.", returns="FoundAnswer", fields={"value": "text"})
    asked = Step("find_answer", {"question": "what is the gate code"})
    plan = Plan((asked, Step("take", {"it": Ref(0, ("value",))})))
    found: dict[str, Plain] = {"value": "5", "source": "note “N”", "quote": "5", "doubt": doubt, "is_named": is_named}
    return bind(plan, 1, {0: StepResult(0, "done", found)}, {"find_answer": source, "take": take("text")})


def test_a_choice_is_not_put_in_words() -> None:
    assert bound(Ref(0), ["daily"], "text", enum=("daily", "weekly")) == "daily"


def test_literals_are_the_owner_s_and_references_keep_their_origin() -> None:
    plan = Plan(
        (Step("find", {"query": "a"}), Step("take", {"it": "x"}), Step("take", {"it": ["x", Ref(0, ("email",))]}))
    )
    results = {0: StepResult(0, "done", CONTACT, MESSAGE)}
    tools = {"find": FIND, "take": take("list[EmailAddress]")}
    assert bind(plan, 1, results, tools)["it"].label == OWNER
    mixed = bind(plan, 2, results, tools)["it"]
    assert mixed.data == ["x", "anna@example.org"]
    assert mixed.label == OWNER.join(MESSAGE)
    bare = Plan((plan.steps[0], Step("take", {"it": Ref(0, ("email",))})))
    assert bind(bare, 1, results, tools)["it"].label == MESSAGE


def test_references_inside_records_are_bound() -> None:
    assert bound({"who": [Ref(0, ("name",))], "n": 1}, CONTACT, "any") == {"who": ["Anna"], "n": 1}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        (3, "3"),
        (2.50, "2.5"),
        (True, "yes"),
        (None, ""),
        ("2026-11-20", "Friday 20 November 2026"),
        ("2026-11-20T00:00:00+01:00", "Friday 20 November 2026"),
        ("PT1H30M", "1 h 30 min"),
        ("2026-99-99", "2026-99-99"),
        ({"path": "a.txt", "text": "the content\nof it"}, "the content\nof it"),
        (
            {"id": "x", "title": "Dentist", "is_done": False, "start": "2026-11-20T18:30:00+01:00", "tags": []},
            "Title: Dentist\nStart: Friday 20 November 2026 at 18:30",
        ),
        ({"sender_name": "Bo", "to": ["a@b.de", "c@d.de"]}, "Sender name: Bo\nTo: a@b.de, c@d.de"),
        (["milk", "eggs"], "- milk\n- eggs"),
        ({"id": "x", "name": "packing", "items": ["boots", "a torch"]}, "Packing\n- boots\n- a torch"),
        ([{"id": "1", "text": "water plants", "at": "2026-11-20"}], "- water plants (at: Friday 20 November 2026)"),
        ([{"subject": "Hi", "text": "long body"}], "- Hi"),
        ([{"n": 1}], "- n: 1"),
        ([], ""),
    ],
)
def test_render(value: Plain, text: str) -> None:
    assert render(value) == text


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(plain)
def test_any_plain_value_can_be_put_in_words_and_named(value: Plain) -> None:
    assert isinstance(render(value), str)
    assert isinstance(name_of(value), str)
