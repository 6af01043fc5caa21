"""Results are plain data of the declared type and of bounded size."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from hearth.errors import BadResult
from hearth.guard.monitor import MAX_RESULT_BYTES, checked
from hearth.types import ToolSpec
from tests.work import calls_of

EVENT = {"id": "EventId", "start": "datetime", "length": "duration", "guests": "list[EmailAddress]", "n": "integer"}
GOOD = {"id": "e1", "start": "2026-11-20T09:30:00+01:00", "length": "PT1H", "guests": ["a@example.org"], "n": 2}


@dataclass(frozen=True)
class Event:
    id: str
    start: dt.datetime
    length: dt.timedelta
    guests: list[str]
    n: int


def spec(returns: str, fields: dict[str, str] | None = None) -> ToolSpec:
    return ToolSpec("probe", "Probe.", returns=returns, fields=fields or {})


@pytest.mark.parametrize(
    ("returns", "fields", "value"),
    [
        ("text", None, "x"),
        ("integer", None, 3),
        ("number", None, 3),
        ("boolean", None, True),
        ("none", None, None),
        ("any", None, {"x": [1, None]}),
        ("list[text]", None, ["a"]),
        ("list[list[integer]]", None, [[1], []]),
        ("date", None, "2026-11-20"),
        ("Event", EVENT, GOOD),
        ("Event", EVENT, GOOD | {"n": None, "more": 1}),
        ("list[Event]", EVENT, [GOOD, GOOD]),
        ("list[Event]", EVENT, []),
        ("Event", EVENT, None),
        ("EventId", None, "e1"),
    ],
)
def test_right_types_pass_unchanged(returns: str, fields: dict[str, str] | None, value: object) -> None:
    assert checked(value, spec(returns, fields)) == value


def test_a_dataclass_becomes_plain_data() -> None:
    zone = dt.timezone(dt.timedelta(hours=1))
    event = Event("e1", dt.datetime(2026, 11, 20, 9, 30, tzinfo=zone), dt.timedelta(hours=1), ["a@example.org"], 2)
    assert checked([event], spec("list[Event]", EVENT)) == [GOOD]


@pytest.mark.parametrize(
    ("returns", "fields", "value", "said"),
    [
        ("text", None, 3, "'probe' returned 3 (int); declared text"),
        ("integer", None, True, "'probe' returned True (bool); declared integer"),
        ("integer", None, 2.5, "declared integer"),
        ("number", None, "3", "declared number"),
        ("boolean", None, 1, "declared boolean"),
        ("list[text]", None, "a", "declared list[text]"),
        ("list[text]", None, [1], "declared list[text]"),
        ("date", None, "tomorrow", "declared date"),
        ("Event", EVENT, "e1", "declared Event, a record with id, start, length, guests, n"),
        ("Event", EVENT, [GOOD], "declared Event, a record with"),
        ("list[Event]", EVENT, GOOD, "declared list[Event]"),
        ("Event", EVENT, GOOD | {"start": "soon"}, "returned 'soon' (str) as 'start'; declared datetime"),
        ("Event", EVENT, GOOD | {"guests": "a@example.org"}, "as 'guests'"),
        ("Event", EVENT, {"id": "e1"}, "returned Event records without 'start'"),
        ("any", None, object(), "'probe': a tool returned a object"),
        ("any", None, b"bytes", "'probe': a tool returned a bytes"),
        ("any", None, float("nan"), "not a number that can be written down"),
        ("any", None, 1 << 2000, "a whole number of 2001 bits"),
        ("any", None, "\ud800", "lone surrogate"),
    ],
)
def test_wrong_types_are_bad_results(returns: str, fields: dict[str, str] | None, value: object, said: str) -> None:
    with pytest.raises(BadResult) as raised:
        checked(value, spec(returns, fields))
    assert said in str(raised.value)


def test_none_is_not_data_for_none() -> None:
    with pytest.raises(BadResult, match="declared none"):
        checked("x", spec("none"))


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: "x" * 50_000_000, "a text of 50,000,000 characters"),
        (lambda: ["x"] * 2_000_000, "2,000,000 items in one list"),
        (lambda: {"a": "é" * 600_000}, "a text of 600,000 characters"),
        (lambda: [{"k": "x" * 1000}] * 1200, "a text of 1,000 characters"),
    ],
)
def test_too_much_is_refused_at_once_with_size_and_limit(made: Callable[[], object], said: str) -> None:
    value = made()

    def refused() -> None:
        with pytest.raises(BadResult) as raised:
            checked(value, spec("any"))
        assert said in str(raised.value)
        assert f"at most {MAX_RESULT_BYTES:,} bytes" in str(raised.value)

    assert calls_of(refused) < 20_000


def test_almost_too_much_passes() -> None:
    assert checked("x" * (MAX_RESULT_BYTES - 10), spec("text"))


def test_a_list_that_holds_itself_and_deep_nesting_are_refused() -> None:
    circle: list[object] = []
    circle.append(circle)
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (circle, deep):
        with pytest.raises(BadResult):
            checked(value, spec("any"))
