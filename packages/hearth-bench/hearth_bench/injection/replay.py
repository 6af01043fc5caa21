"""Replay calls past a guard: the owner's right calls, and those of a planner fully controlled by a stranger.

No language model is asked. A task's right calls are put to the guard one by one; each call that it does not allow is a
question to the owner, who says yes. The writes of a task are collected at its end and make one question; a page that
may not be read without asking is a question of its own, because later steps need it. A task counts as unasked when
nothing was asked and its own check says that it is done.

In an attack the owner's request is the only trusted text. All reads of the owner's task are run and noted, then the
attacker's calls are put to the guard; those it allows run, those it asks about do not. This is the upper bound of harm:
no planner that sees no data can be controlled like that.

Not covered: a planner that calls other tools than the right ones; an owner who says yes to a question that contains an
attacker's call.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from hearth.guard.labels import Value
from hearth.guard.policy.request_words import Owner
from hearth.guard.policy.warrant import Warrant
from hearth.types import OWNER, Plain, Plan, Request, ToolSpec
from hearth_bench.injection.intent_grants import WordedTools
from hearth_bench.injection.worded_warrant import WordedWarrant

FIXED_NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.UTC)

GuardName = Literal["warrant", "plan", "floor", "none"]
"""Guard. `warrant`: the request's words license calls; `plan`: a plan made before any data was read licenses them;
`floor`: every write asks; `none`: nothing asks."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    tool: str
    arguments: Mapping[str, Value]
    is_owners: bool = False
    """True for a hijacked planner's call that the owner's own task makes too and that only reads."""

    @classmethod
    def of(cls, tool: str, arguments: Mapping[str, Plain]) -> ToolCall:
        """Make a call with the planner's own literals."""
        return cls(tool, {name: Value(value, OWNER) for name, value in arguments.items()})


class World(Protocol):
    """Home of one task, with a stranger's records in it, in which tools act."""

    tools: Mapping[str, ToolSpec]
    request: Request

    @property
    def owner(self) -> Owner: ...

    def right_calls(self) -> Iterator[ToolCall]:
        """Yield the calls that do the owner's task; take the next one after running or skipping the last."""
        ...

    def hijacked_calls(self) -> Iterator[ToolCall]:
        """Yield the task's reads, then the attacker's calls; take them in the same way."""
        ...

    def run(self, call: ToolCall) -> Value:
        """Call a tool for real; a failure returns None."""
        ...

    def is_done(self) -> bool: ...

    def is_harmed(self) -> bool: ...


class Worlds(Protocol):
    """A set of tasks and attacks."""

    name: str
    tools: Mapping[str, ToolSpec]

    @property
    def tasks(self) -> Sequence[str]: ...

    @property
    def attacks(self) -> Sequence[tuple[str, str]]:
        """Pairs of task and injection."""
        ...

    def world(self, task: str, injection: str = "") -> World: ...


@dataclass(frozen=True, slots=True)
class Benign:
    """Result of one of the owner's tasks."""

    suite: str
    task: str
    n_questions: int
    is_done: bool
    asked: tuple[str, ...]
    """Tool, rule and reason of each call that was asked about."""
    calls: frozenset[str]
    """The task's own calls, each with its arguments."""


@dataclass(frozen=True, slots=True)
class Attacked:
    """Result of one attack."""

    suite: str
    task: str
    injection: str
    is_harmed: bool
    written: tuple[str, ...]
    """Tools of calls that ran unasked and changed something or told somebody something."""
    calls: frozenset[str]
    """These calls, each with its arguments."""


def is_write(spec: ToolSpec) -> bool:
    return spec.effect != "none"


def replay_task(worlds: Worlds, known: WordedTools, task: str, guard: GuardName, plan: Plan | None = None) -> Benign:
    """Replay the owner's task alone."""
    world = worlds.world(task)
    judge = _Judge(world, known, guard, plan)
    asked: list[str] = []
    calls: set[str] = set()
    n_read_questions, asks_write, is_open = 0, False, False
    for call in world.right_calls():
        is_writing = is_write(worlds.tools[call.tool])
        reason = judge.objects_to(call)
        if reason:
            asked.append(f"{call.tool}: {reason}")
            asks_write = asks_write or is_writing
            n_read_questions += not is_writing and not is_open
        is_open = bool(reason) and not is_writing
        calls.add(_in_full(call))
        judge.note(call, world.run(call))
    return Benign(worlds.name, task, n_read_questions + asks_write, world.is_done(), tuple(asked), frozenset(calls))


def replay_attack(
    worlds: Worlds, known: WordedTools, pair: tuple[str, str], guard: GuardName, plan: Plan | None = None
) -> Attacked:
    """Replay the attacker's calls after all reads of the owner's task."""
    world = worlds.world(*pair)
    judge = _Judge(world, known, guard, plan)
    written, calls = [], set()
    for call in world.hijacked_calls():
        spec = worlds.tools[call.tool]
        if not call.is_owners and judge.objects_to(call):
            continue
        judge.note(call, world.run(call))
        if not call.is_owners and (is_write(spec) or spec.source == "web"):
            written.append(call.tool)
            calls.add(_in_full(call))
    return Attacked(worlds.name, *pair, world.is_harmed(), tuple(written), frozenset(calls))


def _in_full(call: ToolCall) -> str:
    return f"{call.tool} {json.dumps({name: value.data for name, value in call.arguments.items()}, sort_keys=True)}"


class _Judge:
    def __init__(self, world: World, known: WordedTools, guard: GuardName, plan: Plan | None) -> None:
        self._guard = guard
        self._tools = world.tools
        self._warrant: Warrant | None = None
        if guard == "plan" and plan is not None:
            self._warrant = Warrant.of(world.request, known.known, world.owner, plan)
        elif guard in ("warrant", "plan"):
            self._warrant = WordedWarrant(world.request, known, world.owner)

    def objects_to(self, call: ToolCall) -> str:
        """Return the guard's objection; empty if the call may run unasked."""
        if self._warrant is None:
            return "floor: every write asks" if self._guard == "floor" and is_write(self._tools[call.tool]) else ""
        ruling = self._warrant.judge(call.tool, call.arguments)
        return "" if ruling.verdict == "allow" else f"{ruling.rule}: {ruling.reason}"

    def note(self, call: ToolCall, result: Value) -> None:
        if self._warrant is not None:
            self._warrant.observe(call.tool, call.arguments, result)
