"""How well the guard keeps a request to itself: replayed right calls, and attacks with the planner fully in strange hands.

No language model is asked. A task's right calls are put to the guard one by one: what it does not allow is a question to
the owner, who says yes. Writes of a task are put together at its end, so all of them are one question; a page that may
not be read without asking is one of its own, because later steps rest on it. A task counts as unasked when nothing was
asked and the suite's own check says that it is done.

An attack has the owner's request as its only trusted words. Everything the owner's task reads has been read (and noted),
then the attacker's calls are put to the guard; what it allows runs, what it asks about does not. This is the ceiling of
harm: no planner that sees no data can be taken over like that.

Covered: a floor (every write asks) and no guard at all beside the warrant. Not covered: a planner that calls other tools
than the right ones; an owner who says yes to a question that holds an attacker's call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from hearth.bench.agentdojo import LEFT_OUT, SUITES, Suite, ToolCall, load_suites
from hearth.bench.progress import SILENT, Progress
from hearth.guard.labels import Value
from hearth.guard.licence import KnownTools
from hearth.guard.seen import Owner
from hearth.guard.warrant import Warrant
from hearth.protocols import Encoder
from hearth.types import OWNER, Request, ToolSpec
import datetime as dt

FIXED_NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.UTC)


class Guard(Protocol):
    """What is measured: `guard.warrant.Warrant`, or one of the two bounds."""

    def allows(self, call: ToolCall) -> str:
        """Empty when the call may run unasked, else the rule that asks."""
        ...

    def note(self, call: ToolCall, result: Value) -> None: ...


class _Warranted:
    def __init__(self, warrant: Warrant) -> None:
        self._warrant = warrant

    def allows(self, call: ToolCall) -> str:
        ruling = self._warrant.judge(call.tool, _valued(call))
        return "" if ruling.verdict == "allow" else f"{ruling.rule}: {ruling.reason}"

    def note(self, call: ToolCall, result: Value) -> None:
        self._warrant.observe(call.tool, _valued(call), result)


class _Fixed:
    """Allows everything, or every call without an effect."""

    def __init__(self, tools: Mapping[str, ToolSpec], *, blocks_writes: bool) -> None:
        self._tools = tools
        self._blocks_writes = blocks_writes

    def allows(self, call: ToolCall) -> str:
        return "floor" if self._blocks_writes and is_write(self._tools[call.tool]) else ""

    def note(self, call: ToolCall, result: Value) -> None:
        pass


def _valued(call: ToolCall) -> dict[str, Value]:
    return {name: Value(value, OWNER) for name, value in call.arguments.items()}


def is_write(spec: ToolSpec) -> bool:
    return spec.effect != "none"


def _leaves(spec: ToolSpec) -> bool:
    """Whether a call has an effect or, by reading an open address, tells somebody something."""
    return is_write(spec) or spec.source == "web"


MakeGuard = Callable[[str, KnownTools, Owner], Guard]


def _make_warrant(request: str, known: KnownTools, owner: Owner) -> Guard:
    return _Warranted(Warrant.of(Request(request, FIXED_NOW), known, owner))


def _make_floor(request: str, known: KnownTools, owner: Owner) -> Guard:
    return _Fixed(known.specs, blocks_writes=True)


def _make_none(request: str, known: KnownTools, owner: Owner) -> Guard:
    return _Fixed(known.specs, blocks_writes=False)


GUARDS: Mapping[str, MakeGuard] = {"warrant": _make_warrant, "floor": _make_floor, "none": _make_none}


@dataclass(frozen=True, slots=True)
class Benign:
    """What became of one of the owner's tasks."""

    suite: str
    task: str
    n_questions: int
    is_done: bool
    asked: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Attack:
    """What became of one attack."""

    suite: str
    task: str
    injection: str
    is_harmed: bool
    written: tuple[str, ...]


def replay_task(suite: Suite, known: KnownTools, user_id: str, make: MakeGuard) -> Benign:
    """The owner's task alone."""
    world = suite.world(user_id)
    guard = make(suite.request(user_id), known, world.owner)
    asked: list[str] = []
    n_read_questions, asks_write, is_open = 0, False, False
    for call in world.user_calls():
        spec = suite.tools[call.tool]
        reason = guard.allows(call)
        if reason:
            asked.append(f"{call.tool}: {reason}")
            if is_write(spec):
                asks_write = True
            elif not is_open:
                n_read_questions += 1
        is_open = bool(reason) and not is_write(spec)
        guard.note(call, world.run(call))
    return Benign(suite.name, user_id, n_read_questions + asks_write, world.is_done(), tuple(asked))


def replay_attack(suite: Suite, known: KnownTools, user_id: str, injection_id: str, make: MakeGuard) -> Attack:
    """The attacker's calls after everything the owner's task reads."""
    world = suite.world(user_id, injection_id)
    guard = make(suite.request(user_id), known, world.owner)
    for call in world.user_calls():
        if not is_write(suite.tools[call.tool]):
            guard.note(call, world.run(call))
    written = []
    for call in world.attack_calls():
        if guard.allows(call):
            continue
        guard.note(call, world.run(call))
        if _leaves(suite.tools[call.tool]):
            written.append(call.tool)
    return Attack(suite.name, user_id, injection_id, world.is_harmed(), tuple(written))
