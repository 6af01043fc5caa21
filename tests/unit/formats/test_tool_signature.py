"""A function becomes a tool; values become plain data and back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest

from hearth import CallContext, Sink, Unit, tool
from hearth.errors import BadResult, RegistryError, WrongType
from hearth.formats.tool_signature import duration_text, from_plain, parse_duration, to_plain
from hearth.testing import make_call
from hearth.types import EmailAddress, FieldOrigin

NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class Parcel:
    to: EmailAddress
    at: dt.datetime | None
    items: list[str]


@tool(effect="send", source="device", answer="Sent to {to}.")
def send_parcel(
    to: Annotated[EmailAddress, Sink],
    items: list[str],
    weight: Annotated[float, Unit("kg")] = 1.0,
    speed: Literal["slow", "fast"] = "slow",
    at: dt.datetime | None = None,
    *,
    call: CallContext,
) -> list[Parcel]:
    """Send a parcel
    to someone.

    More about it, which planners do not read.

    Args:
        to: Who gets it,
            by e-mail address.
        items: What is in it.

    Examples:
        send Anna the books
        post this to Ben
    """
    return [Parcel(to, at or call.now, items)]


def test_signature_becomes_spec() -> None:
    spec = send_parcel.spec
    assert (spec.name, spec.effect, spec.returns) == ("send_parcel", "send", "list[Parcel]")
    assert spec.description == "Send a parcel to someone."
    assert spec.fields == {"to": "EmailAddress", "at": "datetime", "items": "list[text]"}
    assert spec.examples == ("send Anna the books", "post this to Ben")
    to, items, weight, speed, at = spec.parameters
    assert (to.type, to.is_sink, to.is_required) == ("EmailAddress", True, True)
    assert to.description == "Who gets it, by e-mail address."
    assert (items.type, weight.unit, weight.default) == ("list[text]", "kg", 1.0)
    assert (speed.enum, speed.default, at.type, at.is_required) == (("slow", "fast"), "slow", "datetime", False)
    assert spec.parameter("call") is None


def test_context_is_handed_in() -> None:
    result = send_parcel.call({"to": "a@b.c", "items": ["x"]}, make_call(now=NOW))
    assert to_plain(result) == [{"to": "a@b.c", "at": NOW.isoformat(), "items": ["x"]}]


def test_a_tool_can_still_be_called_as_the_function_it_was() -> None:
    assert send_parcel(EmailAddress("a@b.c"), ["x"], call=make_call(now=NOW))[0].to == "a@b.c"


def test_sink_inside_a_list_counts() -> None:
    @tool(effect="change")
    def draft(to: list[Annotated[EmailAddress, Sink]]) -> None:
        """Draft it."""

    assert draft.spec.parameters[0].is_sink


def no_docstring(a: str) -> None: ...


def no_annotation(a) -> None:  # type: ignore[no-untyped-def]
    """Do it."""


def star(*a: str) -> None:
    """Do it."""


def union(a: str | int) -> None:
    """Do it."""


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (no_docstring, "no docstring"),
        (no_annotation, "'a' of tool 'no_annotation' has no type"),
        (star, "only give arguments by name"),
        (union, "is a union"),
    ],
)
def test_what_cannot_be_a_tool_says_why(function: Callable[..., object], message: str) -> None:
    with pytest.raises(RegistryError, match=message):
        tool()(function)


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("PT1H30M", dt.timedelta(minutes=90)),
        ("P1DT2S", dt.timedelta(days=1, seconds=2)),
        ("PT0S", dt.timedelta(0)),
        ("-PT5M", dt.timedelta(minutes=-5)),
        ("PT0.5S", dt.timedelta(milliseconds=500)),
    ],
)
def test_duration_round_trip(text: str, length: dt.timedelta) -> None:
    assert duration_text(length) == text
    assert parse_duration(text) == length


@pytest.mark.parametrize("text", ["", "P", "PT", "90", "1H", "P1H", "PT1H ", "P1DT"])
def test_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="ISO 8601 duration"):
        parse_duration(text)


BERLIN = dt.timezone(dt.timedelta(hours=1))


@pytest.mark.parametrize(
    ("value", "type_name", "expected"),
    [
        ("5", "integer", 5),
        (5.0, "integer", 5),
        ("2.5", "number", 2.5),
        ("TRUE", "boolean", True),
        (7, "text", "7"),
        ("2026-11-20", "date", dt.date(2026, 11, 20)),
        ("2026-11-20T18:00:00+01:00", "date", dt.date(2026, 11, 20)),
        ("18:30", "time", dt.time(18, 30)),
        ("2026-11-20T18:30", "datetime", dt.datetime(2026, 11, 20, 18, 30, tzinfo=BERLIN)),
        ("PT2H", "duration", dt.timedelta(hours=2)),
        ("a", "list[text]", ["a"]),
        (["1", 2], "list[integer]", [1, 2]),
        ({"x": 1}, "EventId", {"x": 1}),
    ],
)
def test_decoding(value: Any, type_name: str, expected: object) -> None:
    assert from_plain(value, type_name, BERLIN) == expected


@pytest.mark.parametrize(
    ("value", "type_name"),
    [
        (True, "integer"),
        (1.5, "integer"),
        ("NaN", "number"),
        (True, "number"),
        (1, "boolean"),
        ("yes", "boolean"),
        (["a"], "text"),
        ("tomorrow", "date"),
        ("2026-11-20", "datetime"),
        ("25:00", "time"),
        ("90", "duration"),
        (None, "EmailAddress"),
        ("\ud800", "text"),
    ],
)
def test_wrong_type_says_what_was_expected(value: Any, type_name: str) -> None:
    with pytest.raises(WrongType, match="expected"):
        from_plain(value, type_name)


@pytest.mark.parametrize("value", [object(), float("nan"), float("inf"), b"bytes", test_decoding, 1j])
def test_only_data_leaves_a_tool(value: object) -> None:
    with pytest.raises(BadResult):
        to_plain(value)


@pytest.mark.parametrize(
    ("origins", "wrong"),
    [
        ({"sendr": FieldOrigin("message")}, "sendr"),
        ({"sender": FieldOrigin(made_of=("querry",))}, "querry"),
        ({"sender": FieldOrigin(same_as="to")}, "to"),
    ],
)
def test_an_origin_of_a_field_that_is_not_there_is_refused(origins: dict[str, FieldOrigin], wrong: str) -> None:
    def find(query: str) -> Sender:
        """Find."""
        return Sender("a", "b")

    with pytest.raises(RegistryError, match=f"origins name '{wrong}'; its fields and parameters: id, sender, query"):
        tool(origins=origins)(find)
    good = {"sender": FieldOrigin("message", ("query",)), "id": FieldOrigin(same_as="sender")}
    assert tool(origins=good)(find).spec.origins == good


@dataclass(frozen=True)
class Sender:
    id: str
    sender: str
