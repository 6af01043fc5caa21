"""Check the contract of tools."""

from __future__ import annotations

import copy
import dataclasses
import json
import keyword
from collections.abc import Mapping, Sequence

from hearth.errors import EgressError, ToolError, WrongType
from hearth.formats.tool_signature import from_plain, to_plain
from hearth.protocols import CallContext, Memory, Resolving, Tool, Workspace
from hearth.registry import unresolved_parameters
from hearth.testing.doubles import InMemoryMemory, InMemoryWorkspace
from hearth.types import Plain, Referent, ToolSpec

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
