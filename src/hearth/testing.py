"""Doubles for every seam, and the contracts a tool, a planner or a workspace must keep.

A plug-in's own tests call `check_tool`, `check_planner` or `check_workspace`; each raises AssertionError with what was
found, what the contract says and how to keep it. The doubles are deterministic and touch neither disk nor network.
Not covered: whether a tool does what its description says, speed, and effects outside the workspace.
"""

from __future__ import annotations

import copy
import dataclasses
import datetime as dt
import fnmatch
import hashlib
import json
import keyword
import re
import ssl
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import NoReturn, cast
from zoneinfo import ZoneInfo

import httpx

from hearth.errors import CancelledError, EgressError, NotFound, SandboxError, ToolError, WrongType
from hearth.functions import from_plain, to_plain
from hearth.protocols import (
    SETTABLE,
    CallContext,
    Cause,
    Egress,
    Expert,
    ExpertCard,
    FileStat,
    Footage,
    Found,
    Given,
    Heard,
    Memory,
    MemoryHit,
    Message,
    Observation,
    Planner,
    Reading,
    Recalled,
    Recording,
    Reply,
    Said,
    Sensor,
    Sighting,
    Teacher,
    Thing,
    Tool,
    Workspace,
    WrittenLine,
)
from hearth.sandbox import N_MAX_NAME_BYTES, folder_parts, path_parts
from hearth.types import Context, Label, Plain, Plan, Refusal, Request, Ruling, ToolSpec

FIXED_NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=ZoneInfo("Europe/Berlin"))
"""A Friday morning: the clock of every test that does not bring its own."""

# ── Doubles ───────────────────────────────────────────────────────────────────────────────────────────────


class InMemoryWorkspace:
    """A `protocols.Workspace` without a disk; `files` and `times` may be set and read freely by a test."""

    def __init__(self, files: Mapping[str, bytes | str] | None = None, now: dt.datetime = FIXED_NOW) -> None:
        self.files: dict[str, bytes] = {}
        self.times: dict[str, dt.datetime] = {}
        self._now = now.astimezone(dt.UTC)
        for path, data in (files or {}).items():
            self.write(path, data.encode() if isinstance(data, str) else data)

    def read(self, path: str) -> bytes:
        return self.files[self._existing(path)]

    def write(self, path: str, data: bytes) -> None:
        parts = path_parts(path)
        name = "/".join(parts)
        if any(other.startswith(name + "/") for other in self.files):
            raise ToolError(f"cannot write {path!r}: it is a folder; give the name of a file")
        for depth in range(1, len(parts)):
            if "/".join(parts[:depth]) in self.files:
                raise ToolError(f"cannot write {path!r}: {'/'.join(parts[:depth])!r} is a file, not a folder")
        self.files[name] = bytes(data)
        self.times[name] = self._now

    def delete(self, path: str) -> None:
        name = self._existing(path)
        del self.files[name]
        self.times.pop(name, None)

    def exists(self, path: str) -> bool:
        return "/".join(path_parts(path)) in self.files

    def list(self, folder: str = "", pattern: str = "*") -> tuple[str, ...]:
        prefix = "".join(f"{part}/" for part in folder_parts(folder))
        return tuple(
            sorted(
                name
                for name in self.files
                if name.startswith(prefix) and fnmatch.fnmatchcase(name.rpartition("/")[2], pattern)
            )
        )

    def modified(self, path: str) -> dt.datetime:
        return self.times[self._existing(path)]

    def stat(self, path: str) -> FileStat:
        name = self._existing(path)
        fingerprint = hashlib.sha256(name.encode() + b"\0" + self.files[name]).hexdigest()
        return FileStat(len(self.files[name]), self.times[name], fingerprint)

    def _existing(self, path: str) -> str:
        name = "/".join(path_parts(path))
        if any(other.startswith(name + "/") for other in self.files):
            raise ToolError(f"{path!r} is a folder, not a file; give the name of a file")
        if name not in self.files:
            raise NotFound(f"no file {path!r} in the owner's folder")
        return name


class InMemoryMemory:
    """A `protocols.Memory` that keeps events in a list; matches are counted words."""

    def __init__(self) -> None:
        self.events: list[MemoryHit] = []
        self.labels: dict[str, Label] = {}

    def remember(self, text: str, *, kind: str, at: dt.datetime, label: Label, key: str) -> str:
        if key not in self.labels:
            self.events.append(MemoryHit(id=key, text=text, kind=kind, at=at, score=0.0))
            self.labels[key] = label
        return key

    def search(self, query: str, *, limit: int = 5, now: dt.datetime | None = None) -> tuple[MemoryHit, ...]:  # noqa: ARG002
        words = set(re.findall(r"\w+", query.casefold()))
        hits = []
        for event in self.events:
            n_shared = len(words & set(re.findall(r"\w+", event.text.casefold())))
            if n_shared:
                hits.append(MemoryHit(event.id, event.text, event.kind, event.at, float(n_shared)))
        return tuple(sorted(hits, key=lambda hit: (-hit.score, -hit.at.timestamp()))[:limit])

    def answer(self, question: str, *, now: dt.datetime) -> Recalled:
        hits = self.search(question, limit=1, now=now)
        if not hits:
            return Recalled("unknown", "Nothing I remember says that.", chance=0.0)
        return Recalled("said", hits[0].text, hits)

    def forget(self, id: str) -> None:
        if id not in self.labels:
            raise NotFound(f"no event {id!r} in memory")
        del self.labels[id]
        self.events = [event for event in self.events if event.id != id]


class _ClosedTransport(httpx.BaseTransport):
    def handle_request(self, request: httpx.Request) -> NoReturn:
        _refuse(request.url.host)


def _refuse(host: str) -> NoReturn:
    raise EgressError(f"the network door is closed for host {host!r} in a test; nothing was sent; inject a transport")


class ClosedEgress:
    """A `protocols.Egress` that lets nothing out."""

    def transport(self, reason: str, *, is_web: bool = False) -> httpx.BaseTransport:  # noqa: ARG002 - the seam's
        return _ClosedTransport()

    @contextmanager
    def permit(self, host: str, port: int, reason: str) -> Iterator[None]:  # noqa: ARG002
        _refuse(host)
        yield

    def record(self, host: str, payload: bytes, reason: str, *, tls: str = "") -> None:  # noqa: ARG002
        _refuse(host)

    def tls(self, host: str) -> ssl.SSLContext:  # noqa: ARG002
        return ssl.create_default_context()

    def spent(self, host: str, n_tokens: int, reason: str) -> None:  # noqa: ARG002
        _refuse(host)

    def on_behalf(self, cause: Cause) -> ClosedEgress:  # noqa: ARG002
        return self


class FixedApprover:
    """A `protocols.Approver` that always says the same and keeps what it was asked."""

    def __init__(self, answer: bool | Reply) -> None:
        """`True` is `once`, `False` is `no`."""
        self.answer: Reply = answer if isinstance(answer, str) else "once" if answer else "no"
        self.questions: list[tuple[str, Ruling]] = []

    def approve(self, question: str, ruling: Ruling) -> Reply:
        self.questions.append((question, ruling))
        return self.answer


class ScriptedFootage:
    """A `protocols.Footage` of a script: what was recorded, and who was seen doing what.

    Every sighting of the script is one stretch of one activity; `looked` keeps what was looked at, `shown` what was
    drawn. Pictures are names of files that are not there.
    """

    def __init__(
        self,
        recordings: Sequence[Recording] = (),
        sightings: Sequence[Sighting] = (),
        *,
        said: Sequence[Said] = (),
        heard: Sequence[Heard] = (),
        lines: Sequence[WrittenLine] = (),
    ) -> None:
        self._said, self._heard, self._lines = tuple(said), tuple(heard), tuple(lines)
        self._recordings = tuple(sorted(recordings, key=lambda one: (one.start, one.id)))
        self._sightings = tuple(sorted(sightings, key=lambda one: (one.start, one.id)))
        self._cut: dict[str, Sighting] = {one.id: one for one in self._sightings}
        self.looked: list[tuple[str, dt.datetime, dt.datetime]] = []
        self.shown: list[tuple[tuple[str, ...], bool]] = []

    def rooms(self) -> tuple[str, ...]:
        return tuple(sorted({one.room for one in self._recordings}))

    def recordings(
        self, room: str = "", start: dt.datetime | None = None, end: dt.datetime | None = None
    ) -> tuple[Recording, ...]:
        if room and room not in self.rooms():
            raise NotFound(f"no camera is in {room!r}; there are {', '.join(self.rooms())}")
        return tuple(
            one
            for one in self._recordings
            if one.room == (room or one.room)
            and (start is None or one.end > start)
            and (end is None or one.start < end)
        )

    def people(
        self, room: str, start: dt.datetime, end: dt.datetime, cancelled: threading.Event
    ) -> tuple[Sighting, ...]:
        if cancelled.is_set():
            raise CancelledError("stopped while looking at video")
        self.recordings(room)
        self.looked.append((room, start, end))
        found = []
        for one in self._sightings:
            if one.room == (room or one.room) and one.end > start and one.start < end:
                cut = dataclasses.replace(one, start=max(one.start, start), end=min(one.end, end))
                self._cut[one.id] = cut
                plain = dataclasses.replace(cut, name="", name_confidence=0.0, activity="", activity_confidence=0.0)
                found.append(plain)
        return tuple(found)

    def named(self, ids: Sequence[str]) -> tuple[Sighting, ...]:
        return tuple(dataclasses.replace(one, activity="", activity_confidence=0.0) for one in self.doing(ids))

    def doing(self, ids: Sequence[str]) -> tuple[Sighting, ...]:
        for id_ in ids:
            if id_ not in self._cut:
                raise NotFound(f"there is no sighting {id_[:100]!r}")
        return tuple(self._cut[id_] for id_ in ids)

    def pictures(self, ids: Sequence[str], *, shows_strangers: bool = False) -> tuple[str, ...]:
        self.doing(ids)
        self.shown.append((tuple(ids), shows_strangers))
        return tuple(f"/pictures/{id_}.png" for id_ in ids)

    def timeline(self, sightings: Sequence[Sighting]) -> str:
        return f"/pictures/timeline-{len(sightings)}.png"

    def said(self, room: str, start: dt.datetime, end: dt.datetime, cancelled: threading.Event) -> tuple[Said, ...]:
        if cancelled.is_set():
            raise CancelledError("stopped while listening to video")
        self.recordings(room)
        return tuple(
            one for one in self._said if one.room == (room or one.room) and one.end > start and one.start < end
        )

    def heard(self, room: str, start: dt.datetime, end: dt.datetime, cancelled: threading.Event) -> tuple[Heard, ...]:
        if cancelled.is_set():
            raise CancelledError("stopped while listening to video")
        self.recordings(room)
        return tuple(
            dataclasses.replace(one, start=max(one.start, start), end=min(one.end, end))
            for one in self._heard
            if one.room == (room or one.room) and one.end > start and one.start < end
        )

    def writing(self, picture: bytes) -> tuple[WrittenLine, ...]:
        if not picture:
            raise ToolError("the file is empty; expected a picture")
        return self._lines


class ScriptedPlanner:
    """A `protocols.Planner` that knows the plan for each request's text; `requests` keeps what it was asked."""

    def __init__(self, plans: Mapping[str, Plan | Refusal], name: str = "scripted") -> None:
        self.name = name
        self._plans = dict(plans)
        self.requests: list[Request] = []

    def plan(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:  # noqa: ARG002
        self.requests.append(request)
        unknown = Refusal("out_of_scope", f"no plan is scripted for {request.text[:80]!r}", planner=self.name)
        return self._plans.get(request.text, unknown)


def make_call(
    key: str = "k1",
    now: dt.datetime = FIXED_NOW,
    workspace: Workspace | None = None,
    settings: Mapping[str, Mapping[str, Plain]] | None = None,
    memory: Memory | None = None,
    egress: Egress | None = None,
    words: str = "",
    footage: Footage | None = None,
) -> CallContext:
    """A `CallContext` for a test: an empty in-memory workspace and memory, a closed network, no settings."""
    return CallContext(
        key=key,
        now=now,
        workspace=InMemoryWorkspace(now=now) if workspace is None else workspace,
        memory=InMemoryMemory() if memory is None else memory,
        egress=ClosedEgress() if egress is None else egress,
        settings=MappingProxyType(dict(settings or {})),
        cancelled=threading.Event(),
        words=words,
        footage=footage,
    )


# ── What a tool must keep ─────────────────────────────────────────────────────────────────────────────────

_HOSTILE_VALUES: tuple[Plain, ...] = (
    None,
    "",
    " \t\n",
    12,
    -1.5,
    True,
    [],
    {"name": "x"},
    "no such thing",
    "../../etc/passwd",
    "/etc/passwd",
    "a\0b",
    "\ud800",
    "x" * 5000,
    "9999-12-31T23:59:59+14:00",
    "0001-01-01",
    "P999999D",
    "' OR 1=1 --",
)
_PYTHON_TYPES: dict[str, type | tuple[type, ...]] = {
    "text": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "EmailAddress": str,
    "PhoneNumber": str,
    "Url": str,
    "PersonName": str,
    "FilePath": str,
}


def check_tool(tool: Tool, arguments: Mapping[str, object], call: CallContext) -> Plain:
    """Hold `tool` to what the agent relies on, by calling it on copies of `call.workspace`.

    Checked: the spec is complete; `arguments` decode; the result is plain data of the declared fields and types; the
    arguments are not mutated; equal (arguments, key, now) give equal results and equal files, so that a call that was
    cut off can be rolled back and run again; a repeated `remember` under one key is one event; effect `none` changes
    nothing; an idempotent `send` twice is one effect; hostile values give ToolError or WrongType and change nothing.

    Args:
        tool: The tool.
        arguments: A set of arguments that works, plain or decoded; ids must exist in `call.workspace`.
        call: As from `make_call`, with the files the tool needs.
    Returns:
        The result as plain data, for further assertions.
    Raises:
        AssertionError: The contract is broken; names the tool, what was found and what to do.
    """
    spec = tool.spec
    _check_spec(spec)
    plain = {name: to_plain(value) for name, value in arguments.items()}
    unknown = sorted(plain.keys() - {p.name for p in spec.parameters})
    assert not unknown, f"{spec.name}: check_tool was given {unknown} which the tool does not take"
    lacking = [p.name for p in spec.parameters if p.is_required and p.name not in plain]
    assert not lacking, f"{spec.name}: check_tool needs a value for the required {lacking}"

    before = _snapshot(call.workspace)
    n_events = _n_events(call.memory)
    first = _on_copy(call, before)
    result = _run(tool, plain, first)
    _check_result(spec, result)
    after = _snapshot(first.workspace)
    if spec.effect == "none":
        assert after == before, f"{spec.name} has effect 'none' but changed {_changed(before, after)}; declare 'change'"
        assert _n_events(call.memory) == n_events, f"{spec.name} has effect 'none' but remembered something"
    if spec.effect != "send" or spec.is_idempotent:
        n_events = _n_events(call.memory)
        second = _on_copy(call, before)
        again = _run(tool, plain, second)
        assert again == result, (
            f"{spec.name} is not deterministic: {result!r}, then {again!r} for the same key and time; "
            "derive ids from call.key and times from call.now"
        )
        assert _snapshot(second.workspace) == after, (
            f"{spec.name} wrote different files for the same key and time: "
            f"{_changed(after, _snapshot(second.workspace))}; derive names and ids from call.key"
        )
        assert _n_events(call.memory) == n_events, f"{spec.name} remembered twice under one key; pass key=call.key"
    if spec.effect == "send" and spec.is_idempotent:
        _run(tool, plain, first)
        changed = _changed(after, _snapshot(first.workspace))
        assert not changed, f"{spec.name} says is_idempotent but the same key twice changed {changed}"
    _check_hostile_values(tool, plain, call, before)
    return result


def _check_spec(spec: ToolSpec) -> None:
    assert not keyword.iskeyword(spec.name), f"tool name {spec.name!r} is a word of Python; choose another"
    assert spec.name.isidentifier(), f"tool name {spec.name!r} is not an identifier; use letters, digits and '_'"
    assert spec.description.strip(), f"{spec.name} has no description; planners choose by it, write one sentence"
    for parameter in spec.parameters:
        assert parameter.description.strip(), f"{spec.name}: parameter {parameter.name!r} has no description"
        assert parameter.name.isidentifier(), f"{spec.name}: parameter {parameter.name!r} is not an identifier"
        assert parameter.is_required or parameter.default is None or _decodes(parameter.default, parameter.type), (
            f"{spec.name}: the default {parameter.default!r} of {parameter.name!r} is not a {parameter.type}"
        )
    assert spec.timeout_s > 0, f"{spec.name}: timeout_s is {spec.timeout_s!r}; expected more than 0"
    assert not (spec.effect == "send" and spec.n_retries and not spec.is_idempotent), (
        f"{spec.name} is not idempotent but is retried {spec.n_retries} times; set n_retries=0"
    )


def _run(tool: Tool, plain: Mapping[str, Plain], call: CallContext) -> Plain:
    """Decode, call and encode as the monitor does. Raises: ToolError, WrongType, or whatever the tool raised."""
    types = {p.name: p.type for p in tool.spec.parameters}
    decoded = {name: from_plain(value, types[name], call.now.tzinfo) for name, value in plain.items()}
    kept = copy.deepcopy(decoded)
    result = tool.call(decoded, call)
    assert decoded == kept, f"{tool.spec.name} mutated its arguments: {kept!r} became {decoded!r}; copy before changing"
    value = to_plain(result)
    json.dumps(value, allow_nan=False)
    return value


def _check_result(spec: ToolSpec, result: Plain) -> None:
    records = result if isinstance(result, list) else [result]
    if spec.returns.startswith("list["):
        assert isinstance(result, list), f"{spec.name} returned {result!r}; declared {spec.returns}"
    if not spec.fields:
        inner = spec.returns[5:-1] if spec.returns.startswith("list[") else spec.returns
        for record in records:
            assert _decodes(record, inner), f"{spec.name} returned {record!r}; declared {spec.returns}"
        return
    for record in records:
        assert isinstance(record, dict), f"{spec.name} returned {record!r}; declared a record {sorted(spec.fields)}"
        assert record.keys() == spec.fields.keys(), (
            f"{spec.name} returned the fields {sorted(record)}; declared {sorted(spec.fields)}"
        )
        for name, type_name in spec.fields.items():
            assert _decodes(record[name], type_name), (
                f"{spec.name} returned {record[name]!r} for field {name!r}; declared {type_name}"
            )


def _decodes(value: Plain, type_name: str) -> bool:
    """None fits any type: a field may be `date | None`, and the spec does not say so."""
    if type_name.startswith("list["):
        return isinstance(value, list) and all(_decodes(item, type_name[5:-1]) for item in value)
    if type_name == "none":
        return value is None
    if value is None:
        return True
    expected = _PYTHON_TYPES.get(type_name)
    if expected is not None:
        return isinstance(value, expected) and (type_name == "boolean" or not isinstance(value, bool))
    try:
        from_plain(value, type_name)
    except WrongType:
        return False
    return True


def _check_hostile_values(
    tool: Tool, plain: Mapping[str, Plain], call: CallContext, before: Mapping[str, bytes]
) -> None:
    for parameter in tool.spec.parameters:
        for value in _HOSTILE_VALUES:
            if parameter.enum and value not in parameter.enum:
                continue
            trial = _on_copy(call, before, memory=InMemoryMemory())
            try:
                _run(tool, {**plain, parameter.name: value}, trial)
            except WrongType:
                continue
            except (ToolError, EgressError):
                after = _snapshot(trial.workspace)
                assert after == before, (
                    f"{tool.spec.name}({parameter.name}={value!r:.60}) raised ToolError but changed "
                    f"{_changed(before, after)}; check everything before the first write"
                )
            except Exception as error:
                raise AssertionError(
                    f"{tool.spec.name}({parameter.name}={value!r:.60}) raised {type(error).__name__}: {error}; "
                    "a tool raises ToolError (or WrongType) with what was expected"
                ) from error


def _snapshot(workspace: Workspace) -> dict[str, bytes]:
    return {path: workspace.read(path) for path in workspace.list()}


def _on_copy(call: CallContext, files: Mapping[str, bytes], memory: Memory | None = None) -> CallContext:
    """`call` on an in-memory copy of its workspace, so that no run sees the effects of another."""
    workspace = InMemoryWorkspace(files, now=call.now)
    workspace.times.update({path: call.workspace.modified(path) for path in files})
    return dataclasses.replace(call, workspace=workspace, memory=call.memory if memory is None else memory)


def _n_events(memory: Memory) -> int:
    """Events in the double; a memory that cannot be counted is not checked."""
    return len(memory.events) if isinstance(memory, InMemoryMemory) else 0


def _changed(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[str]:
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


# ── What a planner must keep ──────────────────────────────────────────────────────────────────────────────


def check_planner(
    planner: Planner, context: Context, tools: Mapping[str, ToolSpec], requests: Sequence[str] = ()
) -> None:
    """Hold `planner` to what the agent relies on.

    Checked for empty, huge, binary-like and foreign texts and for `requests`, with `tools` and with none: it answers
    with a refusal that gives a reason or with a structurally sound plan, never with an exception; blank text and an
    empty tool set are refused; the same input gives the same output; the inputs are not mutated.

    Raises:
        AssertionError: The contract is broken; names the planner and the request.
    """
    assert planner.name, f"{type(planner).__name__} has no name; the answer and the trace show it"
    hostile = (
        "",
        " \n\t ",
        "remind me " * 12_000,
        "\0\x01\ufffd\x7f" * 50,
        "\ud800",
        "提醒我明天九点浇水",
        "<node-0.id>",
    )
    for text in (*hostile, *requests):
        for offered in (tools, {}):
            request = Request(text=text, now=FIXED_NOW)
            kept = copy.deepcopy((request, context, dict(offered)))
            where = f"{planner.name}.plan({text[:40]!r}, {len(offered)} tools)"
            try:
                reply = planner.plan(request, context, offered)
                again = planner.plan(request, context, offered)
            except Exception as error:
                raise AssertionError(f"{where} raised {type(error).__name__}: {error}; return a Refusal") from error
            assert (request, context, dict(offered)) == kept, f"{where} mutated its inputs"
            assert reply == again, f"{where} is not deterministic: {reply!r}, then {again!r}"
            if isinstance(reply, Refusal):
                assert reply.reason.strip(), f"{where} refused without a reason"
                continue
            assert text.strip(), f"{where} planned something for a blank request; refuse it as 'unreadable'"
            _check_structure(reply, offered, where)


def _check_structure(plan: Plan, tools: Mapping[str, ToolSpec], where: str, *, is_filled: bool = True) -> None:
    assert plan.steps, f"{where} gave a plan without steps; return a Refusal"
    assert 0.0 <= plan.confidence <= 1.0, f"{where} gave confidence {plan.confidence!r}; expected 0 to 1"
    for index, step in enumerate(plan.steps):
        spec = tools.get(step.tool)
        assert spec is not None, f"{where}: step {index} calls {step.tool!r}, which was not offered"
        for name, value in step.arguments.items():
            parameter = spec.parameter(name)
            assert parameter is not None, f"{where}: step {index} gives {step.tool} an unknown argument {name!r}"
            assert not parameter.enum or not isinstance(value, str) or value in parameter.enum, (
                f"{where}: step {index}: {name}={value!r} is not one of {parameter.enum}"
            )
        for parameter in spec.parameters:
            assert not (is_filled and parameter.is_required) or parameter.name in step.arguments, (
                f"{where}: step {index} lacks the required {step.tool}.{parameter.name}"
            )
        wrong = [k for k in step.needs() if not 0 <= k < len(plan.steps) or k == index]
        assert not wrong, f"{where}: step {index} refers to steps {wrong} of {len(plan.steps)}"
    waiting = {index: set(step.needs()) for index, step in enumerate(plan.steps)}
    while ready := {index for index, needs in waiting.items() if not needs & waiting.keys()}:
        waiting = {index: needs for index, needs in waiting.items() if index not in ready}
    assert not waiting, f"{where}: steps {sorted(waiting)} wait for one another"


# ── What a teacher must keep ──────────────────────────────────────────────────────────────────────────────


class ScriptedTeacher:
    """A `protocols.Teacher` that knows the answer to each request's text; `asked` keeps what it was asked."""

    def __init__(self, answers: Mapping[str, Plan | Refusal], name: str = "scripted") -> None:
        self.name = name
        self.asked: list[str] = []
        self._answers = dict(answers)

    def label(self, requests: Iterable[Request], tools: Mapping[str, ToolSpec]) -> Iterator[Plan | Refusal]:
        for request in requests:
            self.asked.append(request.text)
            unknown = Refusal("unreadable", f"no answer is scripted for {request.text[:80]!r}", planner=self.name)
            answer = self._answers.get(request.text, unknown)
            fits = isinstance(answer, Refusal) or all(step.tool in tools for step in answer.steps)
            yield answer if fits else unknown


def check_teacher(teacher: Teacher, tools: Mapping[str, ToolSpec], requests: Sequence[str] = ()) -> None:
    """Hold `teacher` to what learning relies on.

    Checked for empty, huge, binary-like and foreign texts and for `requests`, with `tools` and with none: one answer
    per request, in order, taken one at a time; each is a structurally sound plan of offered tools or a refusal that
    gives a reason, never an exception; a blank request gets no plan; the inputs are not mutated.

    Raises:
        AssertionError: The contract is broken; names the teacher and the request.
    """
    assert teacher.name, f"{type(teacher).__name__} has no name; agreement is recorded under it"
    texts = ["", " \n ", "remind me " * 12_000, "\0\x01\ufffd" * 50, "\ud800", "提醒我明天九点浇水", *requests]
    asked = [Request(text, FIXED_NOW) for text in texts]
    for offered in (tools, {}):
        kept = copy.deepcopy((asked, dict(offered)))
        n_read = 0

        def reading() -> Iterator[Request]:
            nonlocal n_read
            for request in asked:
                n_read += 1
                yield request

        answers = iter(teacher.label(reading(), offered))
        for place, text in enumerate(texts):
            where = f"{teacher.name}.label({text[:40]!r}, {len(offered)} tools)"
            try:
                answer = next(answers)
            except StopIteration:
                raise AssertionError(f"{where} gave no answer; give one per request") from None
            except Exception as error:
                raise AssertionError(f"{where} raised {type(error).__name__}: {error}; return a Refusal") from error
            assert n_read <= place + 1, f"{where} read ahead; a request is asked about when its answer is taken"
            if isinstance(answer, Refusal):
                assert answer.reason.strip(), f"{where} refused without a reason"
                continue
            assert text.strip(), f"{where} planned something for a blank request"
            _check_structure(answer, offered, where, is_filled=False)
        assert next(answers, None) is None, f"{teacher.name} gave more answers than there were requests"
        assert (asked, dict(offered)) == kept, f"{teacher.name}.label mutated its inputs"


# ── What a workspace must keep ────────────────────────────────────────────────────────────────────────────


def check_workspace(make: Callable[[], Workspace]) -> None:
    """Hold a workspace to `protocols.Workspace`; `make` gives a fresh empty one each time.

    Raises:
        AssertionError: The contract is broken.
    """
    _check_files(make())
    _check_listing(make())
    workspace = make()
    workspace.write("kept.txt", b"kept")
    long_name = "n" * (N_MAX_NAME_BYTES + 1)
    hostile = ("", ".", "/", "/etc/passwd", "../x", "a/../../x", "..", "a\0b", "\ud800", long_name, "d/" * 3000 + "f")
    for path in hostile:
        for act in (workspace.read, workspace.delete, workspace.modified, workspace.stat, workspace.exists):
            _expect(SandboxError, act, path)
        try:
            workspace.write(path, b"x")
        except SandboxError:
            continue
        raise AssertionError(f"write({path[:40]!r}) was accepted; expected SandboxError")
    assert workspace.list() == ("kept.txt",), f"a refused path left files: {workspace.list()}"


def _check_files(workspace: Workspace) -> None:
    for act in (workspace.read, workspace.delete, workspace.modified, workspace.stat):
        _expect(NotFound, act, "absent.txt")
        _expect(NotFound, act, "absent/deep.txt")
    assert not workspace.exists("absent.txt")
    for data in (b"", b"first", bytes(range(256)) * 300, b"last"):
        workspace.write("a/b/c.txt", data)
        assert workspace.read("a/b/c.txt") == data, "a file read back differs from what was written"
        assert workspace.read("./a//b/./c.txt") == data, "'.' and '//' in a path must not matter"
    assert workspace.exists("a/b/c.txt")
    assert not workspace.exists("a/b"), "exists() is about files; 'a/b' is a folder"
    _expect(ToolError, workspace.read, "a/b")
    for path in ("a/b", "a/b/c.txt/d.txt"):
        try:
            workspace.write(path, b"x")
        except ToolError:
            continue
        raise AssertionError(f"write({path!r}) was accepted although a file or folder is in the way")
    stat = workspace.stat("a/b/c.txt")
    assert stat.modified == workspace.modified("a/b/c.txt"), "stat() and modified() differ"
    assert stat.modified.utcoffset() == dt.timedelta(0), f"modified() gave {stat.modified!r}; expected UTC"
    assert stat.size_bytes == 4, f"stat() gave {stat.size_bytes} bytes; expected 4"
    assert workspace.stat("a/b/c.txt") == stat, "the fingerprint of an unchanged file changed"
    for data in (b"tsal", b"salt", b"alts"):
        workspace.write("a/b/c.txt", data)
        kept, stat = stat, workspace.stat("a/b/c.txt")
        assert stat.fingerprint != kept.fingerprint, "two contents of the same length have one fingerprint"
    workspace.write("a/b/other.txt", b"alts")
    assert workspace.stat("a/b/other.txt").fingerprint != stat.fingerprint, "two files have one fingerprint"
    workspace.delete("a/b/c.txt")
    assert not workspace.exists("a/b/c.txt")
    _expect(NotFound, workspace.read, "a/b/c.txt")
    workspace.write("a/b/c.txt", b"again")
    assert workspace.read("a/b/c.txt") == b"again"


def _check_listing(workspace: Workspace) -> None:
    assert workspace.list() == ()
    names = ("b.txt", "a.md", "f/z.txt", "f/g/Y.TXT", "f2/q.txt", ".h/i.txt", "mail/cur/1:2,S", "ü/ß.txt")
    for name in names:
        workspace.write(name, b"x")
    assert workspace.list() == tuple(sorted(names)), f"list() gave {workspace.list()}"
    assert workspace.list("f") == ("f/g/Y.TXT", "f/z.txt"), f"list('f') gave {workspace.list('f')}"
    assert workspace.list("f/", "*.txt") == ("f/z.txt",), "the pattern is matched against the name, case counts"
    assert workspace.list("absent") == ()
    assert workspace.list("b.txt") == ()
    assert workspace.list("", "[ab].*") == ("a.md", "b.txt")
    for folder in ("..", "/", "/etc", "f/../..", "a\0b"):
        _expect(SandboxError, workspace.list, folder)


def _expect(expected: type[Exception], act: Callable[[str], object], path: str) -> None:
    name = getattr(act, "__name__", "call")
    try:
        found = act(path)
    except expected:
        return
    except Exception as error:
        raise AssertionError(
            f"{name}({path[:40]!r}) raised {type(error).__name__}: {error}; expected {expected.__name__}"
        ) from error
    raise AssertionError(f"{name}({path[:40]!r}) gave {found!r}; expected {expected.__name__}")


# ── What footage must keep ────────────────────────────────────────────────────────────────────────────────


def check_footage(footage: Footage, room: str, start: dt.datetime, end: dt.datetime) -> tuple[Sighting, ...]:
    """Check footage in which somebody was seen in `room` between two times.

    Returns:
        Who was seen, named and told what they did, for further checks.
    """
    assert room in footage.rooms(), f"{room!r} is no room of {footage.rooms()}"
    _expect(NotFound, footage.recordings, "no such room")
    found = footage.recordings(room, start, end)
    assert found, f"no recording of {room!r} between {start} and {end}"
    assert list(found) == sorted(found, key=lambda one: one.start), "recordings come in order of time"
    assert all(one.room == room and one.start < end and one.end > start for one in found)
    seen = footage.people(room, start, end, threading.Event())
    assert seen, f"nobody was seen in {room!r} between {start} and {end}"
    assert list(seen) == sorted(seen, key=lambda one: one.start), "sightings come in order of time"
    assert len({one.id for one in seen}) == len(seen), "each sighting has an id of its own"
    for one in seen:
        assert start <= one.start <= one.end <= end, f"sighting {one.id!r} is not cut to the time asked about"
        assert one.start.tzinfo is not None, "times have a zone"
        assert (one.name, one.activity) == ("", ""), "people() neither names nor tells what they do"
        assert 0 <= one.confidence <= 1
    again = footage.people(room, start, end, threading.Event())
    assert [one.id for one in again] == [one.id for one in seen], "the same question has the same answer"
    ids = [one.id for one in seen]
    named = footage.named(ids)
    assert [(one.id, one.start, one.end) for one in named] == [(one.id, one.start, one.end) for one in seen]
    done = footage.doing(ids)
    assert len(done) >= len(seen), "doing() tells at least one stretch of each sighting"
    assert all(start <= one.start <= one.end <= end for one in done), "a stretch reaches out of its sighting"
    assert {one.name for one in done} == {one.name for one in named}, "doing() names whom named() names"
    assert footage.named([one.id for one in done]), "a stretch has an id that can be asked about again"
    assert footage.named(ids[::-1]) == named[::-1], "answers come in the order of the ids"
    _expect(NotFound, lambda id: footage.named([id]), "no such sighting")
    _expect(NotFound, lambda id: footage.pictures([id]), "no such sighting")
    return done


# ── What an expert must keep ──────────────────────────────────────────────────────────────────────────────


class ScriptedExpert:
    """An expert that says what it was told to say, one answer after the other, and the last one from then on."""

    card = ExpertCard("scripted", "anything", "what the script says", "", 0.0, 0, ("It sees nothing.",))

    def __init__(self, *found: object) -> None:
        self._found = list(found)
        self.given: list[object] = []

    def look(self, given: object) -> object:
        self.given.append(given)
        return self._found.pop(0) if len(self._found) > 1 else self._found[0]


def check_expert(make: Callable[[], Expert[Given, Found]], given: Given, heavy_modules: Sequence[str] = ()) -> Found:
    """Check one expert: a complete card, made without loading its model, the same answer twice.

    Args:
        make: Makes the expert.
        given: Something it takes; the same object is given twice, so no iterator.
        heavy_modules: Modules that only using it may import.
    Returns:
        What it found, for further checks; of an iterator all it gives, as a tuple.
    """
    before = set(sys.modules)
    expert = make()
    loaded = [name for name in heavy_modules if name in sys.modules and name not in before]
    assert not loaded, f"making the expert imports {', '.join(loaded)}; import them where the model is first used"
    card = expert.card
    for field in ("name", "takes", "gives"):
        assert getattr(card, field), f"the card says no {field!r}; its users need to know"
    assert card.cannot, f"the card of {card.name!r} names nothing it cannot do; every model has limits"
    assert all(text.endswith(".") for text in card.cannot), f"the limits of {card.name!r} are sentences"
    first, second = expert.look(given), make().look(given)
    if isinstance(first, Iterator) and isinstance(second, Iterator):
        first, second = cast(Found, tuple(first)), cast(Found, tuple(second))
    assert repr(first) == repr(second), f"{card.name!r} says different things of the same input; fix its seed"
    return first


# ── What a sensor must keep ───────────────────────────────────────────────────────────────────────────────


class ScriptedSensor:
    """A `protocols.Sensor` with one thing: `lamp`, `on` or `off` on `scripted/lamp`, ordered on `scripted/lamp/set`."""

    name = "scripted"

    def __init__(self) -> None:
        self._lamp = Thing("lamp", "lamp", "", "lamp", frozenset({"is_on"}), frozenset({"is_on"}))
        self._refused: list[str] = []

    @property
    def things(self) -> Mapping[str, Thing]:
        return {"lamp": self._lamp}

    @property
    def refused(self) -> tuple[str, ...]:
        return tuple(self._refused[-10:])

    def topics(self) -> tuple[str, ...]:
        return ("scripted/lamp",)

    def asks(self) -> tuple[Message, ...]:
        return ()

    def take(self, message: Message, at: dt.datetime) -> tuple[Observation, ...]:
        if message.topic != "scripted/lamp":
            return ()
        if message.payload not in (b"on", b"off"):
            self._refused.append(f"{message.payload[:40]!r} is neither on nor off")
            return ()
        return (Observation("lamp", "is_on", message.payload == b"on", at, "", message.is_retained),)

    def order(
        self,
        thing: str,
        wanted: Mapping[str, bool | float],
        known: Mapping[str, Reading],  # noqa: ARG002
    ) -> tuple[Message, ...]:
        if thing != "lamp":
            raise NotFound(f"no thing {thing!r}; there is: lamp")
        if set(wanted) != {"is_on"}:
            raise ToolError(f"the lamp takes no order for {sorted(wanted)}; it takes is_on")
        return (Message("scripted/lamp/set", b"on" if wanted["is_on"] else b"off"),)


_HOSTILE_PAYLOADS = (
    *(
        b"",
        b"{",
        b"[" * 5_000,
        b"\xff\xfe",
        b"\0" * 100,
        b"null",
        b"[]",
        b'{"twin": null}',
        b"NaN",
        b"1e999",
        b"\x1b[2J",
    ),
    *(b"x" * 100_000, b'{"name": "\\ud800"}', b'{"a": ' * 900 + b"1" + b"}" * 900, b"true", b'{"twin": {"": {}}}'),
)


def check_sensor(make: Callable[[], Sensor], told: Sequence[Message], thing: str, at: dt.datetime) -> Sensor:
    """Hold a sensor to `protocols.Sensor`.

    Args:
        make: Makes one that has heard nothing yet.
        told: Messages after which `thing` is known and has said something.
    Returns:
        One that took them, for further checks.
    """
    sensor = make()
    topics, found = list(sensor.topics()), list[Observation]()
    for message in told:
        found += sensor.take(message, at)
        now = sensor.topics()
        assert list(dict.fromkeys(now)) == list(now), f"{sensor.name} listens to a topic twice"
        topics += now
    assert not any(topic in ("", "#", "+/#") for topic in topics), f"{sensor.name} listens to everything"
    assert thing in sensor.things, f"{thing!r} is not known; there is {', '.join(sensor.things) or 'nothing'}"
    assert found, f"{sensor.name} made no observation of what it was told"
    for one in found:
        assert one.thing in sensor.things, f"an observation is of {one.thing!r}, which is no thing"
        assert one.at == at, "an observation has the time it was given"
    known = sensor.things[thing]
    assert known.id == thing, f"the thing {thing!r} has the id {known.id!r}"
    assert known.confirms <= known.settable <= set(SETTABLE), "what is settable is of protocols.SETTABLE"
    assert not known.reads & known.settable, "what can be set is no measurement"
    _check_orders(sensor, known)
    before = dict(sensor.things)
    for topic in dict.fromkeys(topics):
        for payload in _HOSTILE_PAYLOADS:
            told_there = topic.replace("+", "x")
            sensor.take(Message(told_there, payload, is_retained=bool(len(payload) % 2)), at)
    assert all(line.isprintable() and len(line) <= 400 for line in sensor.refused), "refusals are short lines"
    assert len(sensor.refused) <= 100, "refusals are the last few only"
    assert sensor.things.get(thing) == before[thing], "garbage changed what is known of a thing"
    assert sensor.take(Message("another/topic", b"on"), at) == (), "what is said elsewhere is none of its business"
    return sensor


def _check_orders(sensor: Sensor, known: Thing) -> None:
    for quantity in known.settable:
        value: bool | float = True if quantity.startswith("is_") else 20.0
        messages = sensor.order(known.id, {quantity: value}, {})
        assert messages, f"no message orders {quantity}"
        for message in messages:
            assert message.topic, "an order goes nowhere"
            assert not set("+#") & set(message.topic), f"an order goes to {message.topic!r}"
            assert message.payload, "an order says something"
            assert not message.is_retained, "an order that is kept is carried out again later"
        assert sensor.order(known.id, {quantity: value}, {}) == messages, "the same order is the same messages"
    _expect(NotFound, lambda id: sensor.order(id, {"is_on": True}, {}), "no such thing")
    _expect(ToolError, lambda quantity: sensor.order(known.id, {quantity: 1.0}, {}), "no such quantity")
