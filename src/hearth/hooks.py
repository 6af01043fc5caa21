"""The contract of everything a plug-in can add beside tools: what each group of entry points (`registry.GROUPS`) names.

A hook is a plain function, or a class whose constructor is that function; its parameters come by position. An example
of each, which the tests install and run, is on the page of plug-ins (`docs/reference/plugins.md`). `hearth.testing`
checks what a holder and footage must keep. Of a hook that fails, the reason is said and the rest goes on without it;
only forgetting waits until its holders can be opened.
"""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import click

from hearth.config import Settings
from hearth.memory.event_memory import EventMemory
from hearth.protocols import CallContext, Footage, Holder, Remembering
from hearth.registry import CHECKS, COMMANDS, ENTITIES, FOOTAGE, HOLDERS, LISTENERS, READERS, SCENES, WATCHERS
from hearth.storage.database import Store
from hearth.types import Entity

Command = click.Command
"""A command of the command line; what its function returns is the exit code."""


class Entities(Protocol):
    """Tells the names that a planner may know. Called at every request."""

    def __call__(self, call: CallContext, /) -> tuple[Entity, ...]: ...


class OpenFootage(Protocol):
    """Opens home video; of several that are installed the first is used."""

    def __call__(self, store: Store, memory: EventMemory, settings: Settings, /) -> Footage: ...


class Reader(Protocol):
    """Reads the text in a file of one kind, within bounds. Raises: Unreadable."""

    def __call__(self, data: bytes, options: Mapping[str, object], /) -> Iterator[bytes]: ...


class OpenHolder(Protocol):
    """Opens a store of the owner's data that takes part in forgetting."""

    def __call__(self, store: Store, /) -> Holder: ...


class Check(Protocol):
    """Examines one thing of a home, a line of `hearth doctor`. Raises: HearthError: It is wrong; with what to do."""

    def __call__(self, home: Path, /) -> str: ...


class Listener(Protocol):
    """Hears of news while `hearth edge run`: a trigger. Sets `asked` when there is some, ends soon after `stop`."""

    def __call__(
        self,
        home: Path,
        environ: Mapping[str, str],
        asked: threading.Event,
        stop: threading.Event,
        say: Callable[[str], None],
        /,
    ) -> None: ...


class Watcher(Protocol):
    """Remembers what is sensed while `hearth up` runs: a trigger. An empty text to `say` says that all is well."""

    def __call__(
        self,
        home: Path,
        environ: Mapping[str, str],
        memory: Remembering,
        stop: threading.Event,
        say: Callable[[str], None],
        /,
    ) -> None: ...


class Scene(Protocol):
    """Adds to the demo home of an `Agent`: lines to be said, and requests (`demo.day.FileRequest`) to work through."""

    def __call__(self, agent: object, folder: Path, now: dt.datetime, footage: Path | None, /) -> Iterable[object]: ...


CONTRACTS: Mapping[str, type] = MappingProxyType(
    {
        COMMANDS: Command,
        ENTITIES: Entities,
        FOOTAGE: OpenFootage,
        READERS: Reader,
        HOLDERS: OpenHolder,
        CHECKS: Check,
        LISTENERS: Listener,
        WATCHERS: Watcher,
        SCENES: Scene,
    }
)
"""Group of entry points -> what each of its entry points names. Tools have `protocols.Tool`."""
