"""Make replayable worlds of the shipped guard tasks (`hearth_bench.injection.guard_tasks`): real tools, own folders.

Results carry the labels that the monitor gives them: for records the owner made or confirmed the tool's own source, for
others the source that the tool declares for unconfirmed ones. Nothing is sent: `send_mail` files the mail as sent.

Not covered: descriptions of foreign tools (a planner would read them; here nothing plans).
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path, PurePosixPath

from hearth.errors import HearthError
from hearth.execution.results import bind
from hearth.guard.labels import Value, records, result_labels
from hearth.guard.policy.request_words import Owner
from hearth.protocols import Tool
from hearth.types import Plain, Plan, StepResult, ToolSpec
from hearth_bench.injection.guard_tasks import (
    Attack,
    GuardTask,
    call_unguarded,
    hijacked_plan,
    is_done,
    is_harmed,
    offline_tools,
    prepare_home,
    read_attacks,
    read_tasks,
)
from hearth_bench.injection.guard_world import OWNER_EMAIL, Contact, call_contexts
from hearth_bench.injection.replay import ToolCall, World, is_write

_MEMORY = Path("/dev/shm")  # noqa: S108 - `mkdtemp` makes a folder of its own in it
"""A file system in memory, where there is one: thousands of homes are made and removed."""


class OwnWorlds:
    """Tasks and attacks of a set."""

    name = "own"

    def __init__(self, path: Path | None = None) -> None:
        """Read the set. Raises: RequestError: The set cannot be read."""
        self._tasks = {task.id: task for task in read_tasks(path)}
        self._attacks = {attack.id: attack for attack in read_attacks(path)}
        self._callable: dict[str, Tool] = offline_tools()
        self.tools: Mapping[str, ToolSpec] = {name: tool.spec for name, tool in self._callable.items()}

    @property
    def tasks(self) -> list[str]:
        return list(self._tasks)

    @property
    def attacks(self) -> list[tuple[str, str]]:
        return [(attack.task.id, attack.id) for attack in self._attacks.values()]

    def plan(self, task: str) -> Plan:
        """Return the right plan, as made before any data was read."""
        return self._tasks[task].plan

    def kind(self, attack: str) -> str:
        return self._attacks[attack].kind

    def world(self, task: str, injection: str = "") -> World:
        attack = self._attacks[injection] if injection else None
        return OwnWorld(self._tasks[task], attack, self._callable)


class OwnWorld:
    """One home on disk, removed after the final check."""

    def __init__(self, task: GuardTask, attack: Attack | None, tools: Mapping[str, Tool]) -> None:
        self._task, self._attack, self._callable = task, attack, tools
        self.tools: Mapping[str, ToolSpec] = {name: tool.spec for name, tool in tools.items()}
        self._resources = ExitStack()
        self._folder = Path(tempfile.mkdtemp(prefix="hearth-guard-", dir=_MEMORY if _MEMORY.is_dir() else None))
        self._resources.callback(shutil.rmtree, self._folder, ignore_errors=True)
        self._prepared = prepare_home(self._folder / "home", task, attack)
        self._owners = frozenset(_name_of_file(path) for path in self._prepared.owners_files)
        self.request = self._prepared.request
        _, _, self._context = self._resources.enter_context(call_contexts(self._prepared.home))
        self._results: dict[int, StepResult] = {}
        self._place = 0

    @property
    def owner(self) -> Owner:
        """Address of the owner, and addresses of cards the owner made or confirmed."""
        given = (*self._task.records, *(self._attack.records if self._attack is not None else ()))
        cards = {record.id: record for record in given if isinstance(record, Contact) and record.is_owners}
        forged = {record.id for record in given if isinstance(record, Contact) and not record.is_owners}
        known = {
            address.casefold(): card
            for id, card in cards.items()
            if id not in forged
            for address in (card.email, card.phone)
            if address
        }
        return Owner(
            frozenset({OWNER_EMAIL.casefold()}),
            {address: card.name for address, card in known.items()},
            {address: tuple(filter(None, (*card.nicknames, card.title))) for address, card in known.items()},
        )

    def right_calls(self) -> Iterator[ToolCall]:
        return self._bound(self._task.plan)

    def hijacked_calls(self) -> Iterator[ToolCall]:
        assert self._attack is not None
        n_reads = sum(not is_write(self.tools[step.tool]) for step in self._task.plan.steps)
        for place, call in enumerate(self._bound(hijacked_plan(self._attack, self.tools))):
            yield replace(call, is_owners=place < n_reads and not is_write(self.tools[call.tool]))

    def _bound(self, plan: Plan) -> Iterator[ToolCall]:
        """Yield each step whose arguments can be bound to the earlier results."""
        for index, step in enumerate(plan.steps):
            self._place = index
            if all(k in self._results for k in step.needs()):
                try:
                    arguments = bind(plan, index, self._results, self.tools)
                except HearthError:
                    continue
                yield ToolCall(step.tool, arguments)

    def run(self, call: ToolCall) -> Value:
        spec = self.tools[call.tool]
        try:
            context = self._context(f"run/{self._place}", self.request.now)
            value = self._labelled(spec, call, call_unguarded(self._callable[call.tool], call.arguments, context))
        except HearthError:
            return self._labelled(spec, call, None)
        self._results[self._place] = StepResult(self._place, "done", value.data, value.label, fields=value.fields)
        return value

    def _labelled(self, spec: ToolSpec, call: ToolCall, data: Plain) -> Value:
        arguments = {name: value.label for name, value in call.arguments.items()}
        sources = None
        if spec.unconfirmed and data is not None:
            names = [name.removeprefix("INBOX/").partition("#")[0] for name, _ in records(data)]
            is_owners = all(name in self._owners for name in names)
            sources = frozenset({spec.source}) if is_owners else frozenset({spec.source, spec.unconfirmed})
        labels = result_labels(spec, arguments, sources)
        return Value(data, labels.whole, labels.fields)

    def is_done(self) -> bool:
        return self._closed(lambda: is_done(self._task, self._prepared.home))

    def is_harmed(self) -> bool:
        attack = self._attack
        assert attack is not None
        return self._closed(lambda: is_harmed(attack, self._prepared.home))

    def _closed(self, look: Callable[[], bool]) -> bool:
        """Run the final check on the home, and remove the home."""
        try:
            return look()
        finally:
            self._resources.close()


def _name_of_file(path: str) -> str:
    """Return what tools call the record in a file: the path for documents, the id for all others."""
    pure = PurePosixPath(path)
    return str(pure.relative_to("documents")) if pure.parts[0] == "documents" else pure.stem
