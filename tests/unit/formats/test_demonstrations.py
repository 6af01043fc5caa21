"""The shipped demonstrations and the held-out requests: runnable, in an owner's words, varied, and kept apart."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path

import pytest

from hearth.formats.plans import faults, read_demonstrations
from hearth.language.values.slots import find_slots
from hearth.planning.arguments.alignment import Constant, explain, flat
from hearth.planning.dialogue.answer_steps import FIND
from hearth.registry import load_tools
from hearth.types import Argument, Context, Demonstration, Ref, ToolSpec
from tests import ROOT

SHIPPED = Path(str(files("hearth.data") / "demonstrations.jsonl"))
_BENCHMARKS = ROOT / "packages/hearth-bench/hearth_bench/measure/data"
HELD_OUT = _BENCHMARKS / "held_out_requests.jsonl"
HELD_OUT_AT_HOME = _BENCHMARKS / "home_requests.jsonl"

CONSTANTS = {
    "text": {"timer", "alarm"},
    "list": {"shopping"},
    "query": {"timer"},
    "what": {"greeting", "thanks", "goodbye", "never mind", "no"},
    "kind": {"text", "image", "document", "spreadsheet", "audio", "video"},
    "repeat": {"daily", "weekly", "monthly", "yearly"},
    "activity": {"stand", "sit", "walk", "wave", "reach", "lie", "fall", "cook", "eat"},
    "change": {"up_by", "down_by"},
    "sound": {"knock", "ring", "loud", "silence"},
}
"""Text arguments that a request need not hold word for word."""
UNSAID = {
    ("unread_only", True),
    ("show_strangers", True),
    *((name, value) for name, values in CONSTANTS.items() for value in values),
}
FREE = {"text", "PersonName", "FilePath", "EmailAddress", "PhoneNumber"}


@pytest.fixture(scope="module")
def tools() -> Mapping[str, ToolSpec]:
    return load_tools(None).specs


@pytest.fixture(scope="module", params=[(SHIPPED,), (HELD_OUT, HELD_OUT_AT_HOME)], ids=["shipped", "held-out"])
def demonstrations(request: pytest.FixtureRequest) -> list[Demonstration]:
    return [demonstration for path in request.param for demonstration in read_demonstrations(path)]


@pytest.mark.companions
def test_every_plan_can_be_run(demonstrations: list[Demonstration], tools: Mapping[str, ToolSpec]) -> None:
    found = {d.id: [str(f) for f in faults(d.plan, tools)] for d in demonstrations if d.plan.steps}
    assert not {id: faults for id, faults in found.items() if faults}


def test_every_tool_is_shown(demonstrations: list[Demonstration], tools: Mapping[str, ToolSpec]) -> None:
    counts = Counter(tool for d in demonstrations for tool in {s.tool for s in d.plan.steps})
    least = 6 if demonstrations[0].id.startswith("d-") else 1
    # Questions that nothing else serves are put to everything the owner has (`dialogue.fallbacks`), and the form of a
    # question about footage decides its tool (`dialogue.fallbacks`): neither is recalled.
    by_form = {FIND, "count_people", "check_activity", "read_total"}
    assert not {name: counts[name] for name in tools if counts[name] < least and name not in by_form}


def test_the_mix(demonstrations: list[Demonstration]) -> None:
    n = len(demonstrations)
    is_shipped = demonstrations[0].id.startswith("d-")
    assert n >= (450 if is_shipped else 120)
    assert sum(len(d.plan.steps) > 1 for d in demonstrations) >= 0.34 * n
    assert sum(not d.plan.steps for d in demonstrations) >= (0.12 if is_shipped else 0.2) * n
    joins = sum(any(len(step.needs()) > 1 for step in d.plan.steps) for d in demonstrations)
    assert joins >= 0.05 * n


def test_ids_are_unique(demonstrations: list[Demonstration]) -> None:
    assert [id for id, n in Counter(d.id for d in demonstrations).items() if n > 1] == []


def _texts(value: Argument) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value


def _sums(request: str) -> list[str]:
    """Return the sums that a request says, in signs."""
    return [
        str(slot.views["expression"])
        for slot in find_slots(request, dt.datetime(2026, 11, 20, tzinfo=dt.UTC), Context())
        if slot.kind == "expression"
    ]


@pytest.mark.companions
def test_free_text_is_said_in_the_request(demonstrations: list[Demonstration], tools: Mapping[str, ToolSpec]) -> None:
    invented = [
        (d.id, d.request, parameter.name, text)
        for d in demonstrations
        for step in d.plan.steps
        for parameter in tools[step.tool].parameters
        if parameter.type.removeprefix("list[").removesuffix("]") in FREE and not parameter.name.endswith("_unit")
        for text in _texts(step.arguments.get(parameter.name))
        if text not in d.request and text not in CONSTANTS.get(parameter.name, ()) and text not in _sums(d.request)
    ]
    assert invented == []


def test_what_was_said_is_found_again() -> None:
    """No shipped date, time, length, number or unit is a constant: each is explained by words of the request."""
    unexplained = [
        (d.request, step.tool, name, source.value)
        for d in read_demonstrations(SHIPPED)
        for lesson in explain(d)
        for step in lesson.steps
        for name, value in step.sources.items()
        for source in flat({name: value})
        if isinstance(source, Constant) and (name, source.value) not in UNSAID
    ]
    assert unexplained == []


@pytest.mark.companions
def test_what_depends_on_the_clock_says_when(
    demonstrations: list[Demonstration], tools: Mapping[str, ToolSpec]
) -> None:
    timed = ("date", "datetime")
    for d in demonstrations:
        has_time = any(
            not isinstance(step.arguments.get(p.name, Ref(0)), Ref)
            for step in d.plan.steps
            for p in tools[step.tool].parameters
            if p.type in timed
        )
        assert (d.now is not None) == has_time, d.id
        assert d.now is None or d.now.utcoffset() is not None, d.id


def test_each_step_has_its_words(demonstrations: list[Demonstration]) -> None:
    assert [d.id for d in demonstrations if any(not step.text for step in d.plan.steps)] == []


def test_links_are_the_references(request: pytest.FixtureRequest) -> None:
    for path in (SHIPPED, HELD_OUT, HELD_OUT_AT_HOME):
        for line in path.read_text(encoding="utf-8").splitlines():
            data = json.loads(line)
            expected = []
            for node in data["task_nodes"]:
                sources = {int(k) for k in re.findall(r"<node-(\d+)", json.dumps(node["arguments"]))}
                sources |= set(node.get("after", ()))
                expected += [{"source": data["task_nodes"][k]["task"], "target": node["task"]} for k in sorted(sources)]
            assert data["task_links"] == expected, data["id"]


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.lower()))


def test_no_two_are_nearly_the_same() -> None:
    requests = [
        (d.id, _words(d.request)) for path in (SHIPPED, HELD_OUT, HELD_OUT_AT_HOME) for d in read_demonstrations(path)
    ]
    requests.sort(key=lambda request: len(request[1]))
    near = [
        (one, other)
        for k, (one, words) in enumerate(requests)
        for other, others in itertools.takewhile(lambda r: len(r[1]) <= len(words) / 0.85, requests[k + 1 :])  # noqa: B023 - used at once
        if len(words & others) > 0.85 * len(words | others)
    ]
    assert near == []
