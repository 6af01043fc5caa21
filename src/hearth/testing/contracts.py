"""Check the contracts that the parts of Hearth must keep: planners, teachers, tools, and what stands at other seams."""

from __future__ import annotations

import copy
import dataclasses
import datetime as dt
import json
import keyword
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from hearth.errors import EgressError, NotFound, SandboxError, ToolError, WrongType
from hearth.formats.tool_signature import from_plain, to_plain
from hearth.protocols import (
    SETTABLE,
    CallContext,
    Dependent,
    Expert,
    Footage,
    Found,
    Given,
    Held,
    Holder,
    Memory,
    Message,
    Observation,
    Planner,
    Resolving,
    Sensor,
    Sighting,
    Teacher,
    Thing,
    Tool,
    Wanted,
    Workspace,
)
from hearth.registry import unresolved_parameters
from hearth.storage.database import Store
from hearth.storage.workspace import N_MAX_NAME_BYTES
from hearth.testing.doubles import FIXED_NOW, InMemoryMemory, InMemoryWorkspace
from hearth.types import Context, Plain, Plan, Referent, Refusal, Request, ToolSpec

# ── Planners and teachers ──────────────────────────────────────────────────────────────────────────────


def check_planner(
    planner: Planner, context: Context, tools: Mapping[str, ToolSpec], requests: Sequence[str] = ()
) -> None:
    """Check `planner` against what the agent relies on.

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


# ── What a teacher must keep ───────────────────────────────────────────────────────────────────────────


def check_teacher(teacher: Teacher, tools: Mapping[str, ToolSpec], requests: Sequence[str] = ()) -> None:
    """Check `teacher` against what learning relies on.

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


# ── Tools ──────────────────────────────────────────────────────────────────────────────────────────────


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
    """Check `tool` against what the agent relies on, by calling it on copies of `call.workspace`.

    Checked: the spec is complete; what arguments name is resolved to things, the same each time and without a change;
    `arguments` decode; the result is plain data of the declared fields and types; the arguments are not mutated; equal
    (arguments, key, now) give equal results and equal files, so that a call that was cut off can be rolled back and run
    again; a repeated `remember` under one key is one event; effect `none` changes nothing; an idempotent `send` twice
    is one effect; hostile values give ToolError or WrongType and change nothing.

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
    _check_spec(tool)
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
    _check_resolvers(tool, plain, call, before)
    _check_hostile_values(tool, plain, call, before)
    return result


def _one_by_one(found: Sequence[Referent | tuple[Referent, ...] | None]) -> list[Referent | None]:
    """Return what was found for each item, where several things may be found for one."""
    return [one for each in found for one in (each if isinstance(each, tuple) else (each,))]


def _check_resolvers(tool: Tool, plain: Mapping[str, Plain], call: CallContext, before: Mapping[str, bytes]) -> None:
    """Check that what an argument names is found the same twice, also from its own id, and that nothing is changed."""
    if not isinstance(tool, Resolving):
        return
    name = tool.spec.name
    given: dict[str, object] = {}
    for parameter in tool.spec.parameters:
        resolve = tool.resolvers.get(parameter.name)
        if resolve is None or parameter.name not in plain:
            continue
        trial = _on_copy(call, before)
        said = from_plain(plain[parameter.name], parameter.type, call.now.tzinfo)
        items = said if isinstance(said, list) else [said]
        found = [resolve(item, trial, given) for item in items]
        things = [one for one in _one_by_one(found) if one is not None]
        assert all(isinstance(one, Referent) and one.id for one in things), f"{name}: {parameter.name!r} is {found!r}"
        assert [resolve(item, trial, given) for item in items] == found, f"{name}: {parameter.name!r} changes"
        again = [resolve(one.id, trial, given) for one in things]
        same = _one_by_one(again)
        assert [getattr(one, "id", "") for one in same] == [one.id for one in things], (
            f"{name}: the id of {parameter.name!r} names {same!r}, not {things!r}; the tool is handed the id"
        )
        assert _snapshot(trial.workspace) == before, f"{name}: looking for {parameter.name!r} changed files"
        given[parameter.name] = (
            [one.id for one in things] if isinstance(said, list) else "\n".join(one.id for one in things)
        )


def _check_spec(tool: Tool) -> None:
    spec = tool.spec
    assert not keyword.iskeyword(spec.name), f"tool name {spec.name!r} is a word of Python; choose another"
    assert spec.name.isidentifier(), f"tool name {spec.name!r} is not an identifier; use letters, digits and '_'"
    assert spec.description.strip(), f"{spec.name} has no description; planners choose by it, write one sentence"
    for parameter in spec.parameters:
        assert parameter.description.strip(), f"{spec.name}: parameter {parameter.name!r} has no description"
        assert parameter.name.isidentifier(), f"{spec.name}: parameter {parameter.name!r} is not an identifier"
        assert parameter.is_required or parameter.default is None or _decodes(parameter.default, parameter.type), (
            f"{spec.name}: the default {parameter.default!r} of {parameter.name!r} is not a {parameter.type}"
        )
    if spec.effect != "none":
        unresolved = unresolved_parameters(tool)
        assert not unresolved, (
            f"{spec.name} does not say which thing {unresolved[0]!r} names, so that rules would be about its words; "
            "annotate it `Annotated[…, hearth.Names(resolve)]`"
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
    """Say whether a value decodes. None fits any type: a field may be `date | None`, and the spec does not say so."""
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
    """Return `call` on an in-memory copy of its workspace, so that no run sees the effects of another."""
    workspace = InMemoryWorkspace(files, now=call.now)
    workspace.times.update({path: call.workspace.modified(path) for path in files})
    return dataclasses.replace(call, workspace=workspace, memory=call.memory if memory is None else memory)


def _n_events(memory: Memory) -> int:
    """Return the number of events in the double; a memory that cannot be counted is not checked."""
    return len(memory.events) if isinstance(memory, InMemoryMemory) else 0


def _changed(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[str]:
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


# ── The other seams ────────────────────────────────────────────────────────────────────────────────────


def check_workspace(make: Callable[[], Workspace]) -> None:
    """Check a workspace against `protocols.Workspace`; `make` gives a fresh empty one each time.

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


# ── What footage must keep ─────────────────────────────────────────────────────────────────────────────


def check_footage(footage: Footage, room: str, start: dt.datetime, end: dt.datetime) -> tuple[Sighting, ...]:
    """Check footage in which somebody was seen in `room` between two times.

    Returns:
        The sightings with names and activities, for further checks.
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


# ── What an expert must keep ───────────────────────────────────────────────────────────────────────────


def check_expert(make: Callable[[], Expert[Given, Found]], given: Given, heavy_modules: Sequence[str] = ()) -> Found:
    """Check one expert: a complete card, made without loading its model, the same answer twice.

    Args:
        make: Makes the expert.
        given: Something it takes; the same object is given twice, so no iterator.
        heavy_modules: Modules that only using it may import.
    Returns:
        What it found, for further checks; an iterator's items as a tuple.
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


# ── What a sensor must keep ────────────────────────────────────────────────────────────────────────────


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
    """Check a sensor against `protocols.Sensor`.

    Args:
        make: Makes a sensor that has heard nothing yet.
        told: Messages after which `thing` is known and has said something.
    Returns:
        A sensor that took them, for further checks.
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


# ── What a holder must keep ────────────────────────────────────────────────────────────────────────────


_OF_THE_CORE = ("demonstration", "episode", "step", "event", "summary_line", "fact", "meta")
"""Tables of the core: no plug-in's."""


def check_holder(
    open_holder: Callable[[Store], Holder],
    store: Store,
    wanted: Wanted | str,
    stays: Wanted | str,
    owns: Collection[str] = (),
) -> Held:
    """Check a holder against `protocols.Holder`; what is `wanted` is gone from the store afterwards.

    Args:
        open_holder: What the entry point names.
        store: Holds something that is `wanted`, and something that is not.
        wanted: As an owner says it, or words.
        stays: Means only what is not `wanted`.
        owns: Tables of the core that are this holder's.
    Returns:
        What was found, for further checks.
    """
    home = store.path.parent

    def find(holder: Holder, sought: Wanted | str) -> Held:
        return holder.find((), None, sought) if isinstance(sought, str) else holder.find((), sought, "")

    holder = open_holder(store)
    assert holder.name, "a holder has a name, for the question and the receipt"
    before = _rows(store)
    nothing = holder.find((), None, "")
    assert nothing.is_empty, f"{holder.name!r} finds {_said(nothing)} where nothing is asked for"
    assert (nothing.texts, nothing.events) == ((), ()), f"{holder.name!r} finds texts or events of nothing"
    _remove(holder, store, home, nothing)
    assert _rows(store) == before, f"{holder.name!r} removes something for an empty find"

    found, kept = find(holder, wanted), find(holder, stays)
    assert not found.is_empty, f"{holder.name!r} finds nothing of {wanted}"
    assert not kept.is_empty, f"{holder.name!r} finds nothing of {stays}, so that nobody sees whether it stays"
    assert found.holder == holder.name, f"what {holder.name!r} finds says that {found.holder!r} keeps it"
    assert find(holder, wanted) == found, "the same question has the same answer"
    if isinstance(holder, Dependent):
        for one in (nothing, found):
            widened = holder.find_with(one, (Held("another"),))
            assert widened == one, f"{holder.name!r} finds {_said(widened)} with another holder that found nothing"
    assert _rows(store) == before, "find() changes the database"
    _remove(holder, store, home, found)
    after = _rows(store)
    for table in sorted(set(_OF_THE_CORE) - set(owns)):
        assert after[table] == before[table], f"remove() changes {table!r}, which is not the holder's"
    left = find(open_holder(store), wanted)
    assert left.is_empty, f"{_said(left)} of {wanted} are left after remove()"
    assert find(holder, stays) == kept, f"with {wanted} goes something of {stays}"
    _remove(holder, store, home, found)
    assert _rows(store) == after, "removing twice removes more than once"

    store.rewrite()
    for path in sorted(home.rglob("*")):
        inside = path.relative_to(home).parts
        data = path.read_bytes() if path.is_file() and inside[0] not in ("owner", "tools") else b""
        for text in found.texts:
            assert text.encode() not in data, f"the text {text[:60]!r} is still in {str(path.relative_to(home))!r}"
    return found


def _remove(holder: Holder, store: Store, home: Path, held: Held) -> None:
    """As forgetting does it."""
    holder.sweep(home, held)
    with store.transaction() as cursor:
        holder.remove(cursor, held)


def _rows(store: Store) -> dict[str, list[tuple[object, ...]]]:
    """All that a database holds, by table."""
    tables = [row["name"] for row in store.query("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    return {table: [tuple(row) for row in store.query(f'SELECT * FROM "{table}"')] for table in tables}  # noqa: S608 - its own names


def _said(held: Held) -> str:
    return ", ".join(str(count) for count in held.counts if count.n)
