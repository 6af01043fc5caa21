"""Whatever the reader says: values lie in the text, options are of the enum, types check, references fit."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hearth.formats.plans import faults
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.models.span_extractor import SpanReader
from hearth.planning.arguments.schema_filler import Filler, Likeness
from hearth.types import Argument, Context, Parameter, Plan, Ref, Step, ToolSpec
from tests.integration.test_span_extractor import random_adapter

NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.UTC)
TYPES = (
    "text", "integer", "number", "boolean", "date", "time", "datetime", "duration", "EmailAddress", "PhoneNumber",
    "Url", "PersonName", "FilePath", "any", "list[text]", "list[integer]", "list[EmailAddress]", "RideId",
    "list[RideId]", "object", "enum", "list[any]",
)  # fmt: skip
WORDS = (
    "user: ", "\nagent: ", "\nuser: ", "Anna ", "two ", "3.5 kg ", "tomorrow ", "at 8pm ", "(x) ", '"a b", ', "and ",
    "mia@example.org ", "+49 30 1234567 ", "https://a.de/x ", "notes.txt ", "May 15, 2027, ", "no ", "🙂", "\n", "-7 ",
    "1,234 ", "50% ", "…", "D.C. ",
)  # fmt: skip
texts = st.lists(st.sampled_from(WORDS), max_size=30).map("".join) | st.text(max_size=200)
parameters = st.builds(
    Parameter,
    name=st.sampled_from(["a", "end", "start_date", "is_on", "Weird.Name", ""]),
    type=st.sampled_from(TYPES),
    description=st.sampled_from(["", "the date in YYYY-MM-DD format", "HH:MM"]),
    is_required=st.booleans(),
    enum=st.sampled_from([(), (), (), ("True", "False"), ("Pool", "Luxury", "2"), ("only",)]),
)
tools = st.builds(
    ToolSpec,
    name=st.sampled_from(["get_ride", "x"]),
    description=st.sampled_from(["", "Books a ride"]),
    parameters=st.lists(parameters, max_size=5, unique_by=lambda p: p.name).map(tuple),
    returns=st.sampled_from(["any", "Ride", "list[Ride]", "integer", "text"]),
    fields=st.sampled_from([{}, {"id": "RideId", "n": "integer", "name": "text"}, {"x": "list[any]"}]),
)


@pytest.fixture(scope="module", params=["random reader", "finders alone"])
def filler(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Filler:
    if request.param == "finders alone":
        return Filler(None, None)
    folder = tmp_path_factory.mktemp("filling")
    (folder / "reader.npz").write_bytes(random_adapter(1))
    reader = SpanReader.open(folder / "reader.npz", folder, n_threads=1)
    return Filler(reader, Likeness(MiniLMEncoder.open(folder)))


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=texts, steps=st.lists(tools, min_size=1, max_size=4))
def test_laws_of_filling(filler: Filler, text: str, steps: list[ToolSpec]) -> None:
    steps = [ToolSpec(f"{s.name}{k}", s.description, s.parameters, s.returns, s.fields) for k, s in enumerate(steps)]
    filled = filler.fill(text, steps, NOW, Context())
    assert len(filled) == len(steps)
    for k, (spec, one) in enumerate(zip(steps, filled)):
        assert one.arguments.keys() == one.confidences.keys() <= {p.name for p in spec.parameters}
        assert all(0 <= sure <= 1 for sure in one.confidences.values())
        required = {p.name for p in spec.parameters if p.is_required}
        assert set(one.missing) == required - one.arguments.keys()
        for name, value in one.arguments.items():
            parameter = spec.parameter(name)
            assert parameter is not None
            _check_value(value, parameter, text, k)
    specs: Mapping[str, ToolSpec] = {s.name: s for s in steps}
    plan = Plan(tuple(Step(s.name, f.arguments) for s, f in zip(steps, filled)))
    wrong = [f for f in faults(plan, specs) if f.parameter not in filled[f.step or 0].missing]
    assert not wrong, wrong


def _check_value(value: Argument, parameter: Parameter, text: str, place: int) -> None:
    if isinstance(value, Ref):
        assert 0 <= value.step < place
    elif parameter.enum:
        assert value in parameter.enum
    elif parameter.type in ("text", "any", "enum", "object") and "format" not in parameter.description:
        assert str(value) in text or "HH" in parameter.description
    elif parameter.type == "list[text]":
        assert isinstance(value, list)
        assert all(str(item) in text for item in value)


def test_the_same_request_is_filled_the_same(filler: Filler) -> None:
    spec = ToolSpec("t", "Does", (Parameter("a", "text"), Parameter("n", "integer"), Parameter("d", "date")))
    one, other = (filler.fill("on May 15, 2027 take 3 of it", [spec], NOW, Context()) for _ in range(2))
    assert one == other


@pytest.mark.parametrize(
    ("piece", "n"),
    [("", 1), ("x", 10_000_000), ("user: hi\n", 500_000), ("\ud800", 10), ("ｆｕｌｌ　ｗｉｄｔｈ １２", 1)],
)
def test_hostile_requests_are_filled_at_once(filler: Filler, piece: str, n: int, tmp_path: Path) -> None:
    text = piece * n
    spec = ToolSpec("t", "Does", (Parameter("a", "text"), Parameter("n", "integer", is_required=False)))
    (filled,) = filler.fill(text, [spec], NOW, Context())
    assert isinstance(filled.arguments, dict)
    assert filler.fill(text, [], NOW, Context()) == []
    assert filler.fill(text, [ToolSpec("none", "")], NOW, Context())[0].arguments == {}
