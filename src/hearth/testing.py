"""Doubles for every seam, and the contracts a tool, a planner or a workspace must keep.

A plug-in's own tests call `check_tool`, `check_planner` or `check_workspace`; each raises AssertionError with what was
found, what the contract says and how to keep it. The doubles are deterministic and touch neither disk nor network.
Not covered: whether a tool does what its description says, speed, and effects outside the workspace.
"""

from __future__ import annotations

import datetime as dt
import fnmatch
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import NoReturn
from zoneinfo import ZoneInfo

import httpx

from hearth.errors import EgressError, NotFound, ToolError
from hearth.protocols import CallContext, Egress, Memory, MemoryHit, Workspace
from hearth.types import Context, Label, Plain, Plan, Refusal, Request, Ruling, ToolSpec
from hearth.workspace import path_parts

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
        prefix = "/".join(path_parts(folder)) + "/" if folder.strip("/.") else ""
        return tuple(
            sorted(
                name
                for name in self.files
                if name.startswith(prefix) and fnmatch.fnmatchcase(name.rpartition("/")[2], pattern)
            )
        )

    def modified(self, path: str) -> dt.datetime:
        return self.times[self._existing(path)]

    def _existing(self, path: str) -> str:
        name = "/".join(path_parts(path))
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

    def search(self, query: str, *, limit: int = 5) -> tuple[MemoryHit, ...]:
        words = set(re.findall(r"\w+", query.casefold()))
        hits = []
        for event in self.events:
            n_shared = len(words & set(re.findall(r"\w+", event.text.casefold())))
            if n_shared:
                hits.append(MemoryHit(event.id, event.text, event.kind, event.at, float(n_shared)))
        return tuple(sorted(hits, key=lambda hit: (-hit.score, -hit.at.timestamp()))[:limit])


class _ClosedTransport(httpx.BaseTransport):
    def handle_request(self, request: httpx.Request) -> NoReturn:
        _refuse(request.url.host)


def _refuse(host: str) -> NoReturn:
    raise EgressError(f"the network door is closed for host {host!r} in a test; nothing was sent; inject a transport")


class ClosedEgress:
    """A `protocols.Egress` that lets nothing out."""

    def transport(self, reason: str) -> httpx.BaseTransport:  # noqa: ARG002 - the seam's signature
        return _ClosedTransport()

    @contextmanager
    def permit(self, host: str, port: int, reason: str) -> Iterator[None]:  # noqa: ARG002
        _refuse(host)
        yield

    def record(self, host: str, payload: bytes, reason: str) -> None:  # noqa: ARG002
        _refuse(host)


class FixedApprover:
    """A `protocols.Approver` that always says the same and keeps what it was asked."""

    def __init__(self, answer: bool) -> None:
        self.answer = answer
        self.questions: list[tuple[str, Ruling]] = []

    def approve(self, question: str, ruling: Ruling) -> bool:
        self.questions.append((question, ruling))
        return self.answer


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
    )
