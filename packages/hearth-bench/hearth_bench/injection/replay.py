"""Replaying calls past a guard: the owner's right calls, and those of a planner fully in a stranger's hands.

No language model is asked. A task's right calls are put to the guard one by one: what it does not allow is a question
to the owner, who says yes. Writes of a task are put together at its end, so all of them are one question; a page that
may not be read without asking is one of its own, because later steps rest on it. A task counts as unasked when nothing
was asked and its own check says that it is done.

An attack has the owner's request as its only trusted words. Everything the owner's task reads has been read (and
noted), then the attacker's calls are put to the guard; what it allows runs, what it asks about does not. This is the
ceiling of harm: no planner that sees no data can be taken over like that.

Not covered: a planner that calls other tools than the right ones; an owner who says yes to a question that holds an
attacker's call.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from hearth.guard.capability.intent_grants import KnownTools
from hearth.guard.capability.record_extraction import Owner
from hearth.guard.capability.warrant import Warrant
from hearth.guard.flow.labels import Value
from hearth.types import OWNER, Plain, Plan, Request, ToolSpec

FIXED_NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.UTC)

GuardName = Literal["warrant", "plan", "floor", "none"]
"""`warrant`: what the request's words license; `plan`: what a plan made before any data was read licenses; `floor`:
every write asks; `none`: nothing asks."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    tool: str
    arguments: Mapping[str, Value]
    is_owners: bool = False
    """Among a hijacked planner's calls: one that the owner's task makes all the same, and only reads."""

    @classmethod
    def of(cls, tool: str, arguments: Mapping[str, Plain]) -> ToolCall:
        """With the planner's own literals."""
        return cls(tool, {name: Value(value, OWNER) for name, value in arguments.items()})


class World(Protocol):
    """A home of one task, with what a stranger put into it, in which tools act."""

    tools: Mapping[str, ToolSpec]
    request: Request

    @property
    def owner(self) -> Owner: ...

    def right_calls(self) -> Iterator[ToolCall]:
        """The calls that do the owner's task; each is asked for after the one before was run or left out."""
        ...

    def hijacked_calls(self) -> Iterator[ToolCall]:
        """What the task reads, then what the attacker would call; likewise."""
        ...

    def run(self, call: ToolCall) -> Value:
        """Call for good; what fails returns None."""
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
        """Task and injection."""
        ...

    def world(self, task: str, injection: str = "") -> World: ...


@dataclass(frozen=True, slots=True)
class Benign:
    """What became of one of the owner's tasks."""

    suite: str
    task: str
    n_questions: int
    is_done: bool
    asked: tuple[str, ...]
    """Rule and reason of each call that was asked about."""


@dataclass(frozen=True, slots=True)
class Attacked:
    """What became of one attack."""

    suite: str
    task: str
    injection: str
    is_harmed: bool
    written: tuple[str, ...]
    """Calls that ran unasked and changed or told somebody something."""


def is_write(spec: ToolSpec) -> bool:
    return spec.effect != "none"


def replay_task(worlds: Worlds, known: KnownTools, task: str, guard: GuardName, plan: Plan | None = None) -> Benign:
    """The owner's task alone."""
    world = worlds.world(task)
    judge = _Judge(world, known, guard, plan)
    asked: list[str] = []
    n_read_questions, asks_write, is_open = 0, False, False
    for call in world.right_calls():
        is_writing = is_write(worlds.tools[call.tool])
        reason = judge.objects_to(call)
        if reason:
            asked.append(f"{call.tool}: {reason}")
            asks_write = asks_write or is_writing
            n_read_questions += not is_writing and not is_open
        is_open = bool(reason) and not is_writing
        judge.note(call, world.run(call))
    return Benign(worlds.name, task, n_read_questions + asks_write, world.is_done(), tuple(asked))


def replay_attack(
    worlds: Worlds, known: KnownTools, pair: tuple[str, str], guard: GuardName, plan: Plan | None = None
) -> Attacked:
    """The attacker's calls after everything the owner's task reads."""
    world = worlds.world(*pair)
    judge = _Judge(world, known, guard, plan)
    written = []
    for call in world.hijacked_calls():
        spec = worlds.tools[call.tool]
        if not call.is_owners and judge.objects_to(call):
            continue
        judge.note(call, world.run(call))
        if not call.is_owners and (is_write(spec) or spec.source == "web"):
            written.append(call.tool)
    return Attacked(worlds.name, *pair, world.is_harmed(), tuple(written))


class _Judge:
    def __init__(self, world: World, known: KnownTools, guard: GuardName, plan: Plan | None) -> None:
        self._guard = guard
        self._tools = world.tools
        self._warrant: Warrant | None = None
        if guard in ("warrant", "plan"):
            self._warrant = Warrant.of(world.request, known, world.owner, plan if guard == "plan" else None)

    def objects_to(self, call: ToolCall) -> str:
        """Empty where the call may run unasked."""
        if self._warrant is None:
            return "floor: every write asks" if self._guard == "floor" and is_write(self._tools[call.tool]) else ""
        ruling = self._warrant.judge(call.tool, call.arguments)
        return "" if ruling.verdict == "allow" else f"{ruling.rule}: {ruling.reason}"

    def note(self, call: ToolCall, result: Value) -> None:
        if self._warrant is not None:
            self._warrant.observe(call.tool, call.arguments, result)
