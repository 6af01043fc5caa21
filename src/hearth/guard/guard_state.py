"""Keeps what the guard remembers between requests and over a crash: origins, contacts, consents, what was agreed
to, how often tools were called."""

from __future__ import annotations

import datetime as dt
import json
import threading
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from hearth.guard.flow.provenance import AddressBook, Provenance
from hearth.guard.policy.consents import Agreements, Consents
from hearth.storage.database import Store
from hearth.storage.trace import label_from_text, parse_moment
from hearth.types import Label, Plain

MAX_COUNTED = 100_000
"""Most calls of one tool that are looked back at."""


class CallCounts:
    """Counts of each tool's calls: from the trace for the time before this process, then as the monitor calls."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store
        self._times: dict[str, deque[dt.datetime]] = {}
        self._lock = threading.Lock()

    def within(self, tool: str, periods: Iterable[dt.timedelta], now: dt.datetime) -> dict[dt.timedelta, int]:
        """Count the calls of `tool` within each length of time before `now`. Raises: StoreError."""
        lengths = tuple(periods)
        if not lengths:
            return {}
        with self._lock:
            times = self._all(tool)
            return {length: sum(1 for moment in times if now - length < moment) for length in lengths}

    def note(self, tool: str, now: dt.datetime) -> None:
        """Count a call that is about to be made."""
        with self._lock:
            if tool in self._times:
                self._times[tool].append(now)

    def watch(self, tool: str) -> None:
        """Count the calls of a tool from now on, and those in the trace. Raises: StoreError."""
        with self._lock:
            self._all(tool)

    def _all(self, tool: str) -> deque[dt.datetime]:
        if tool not in self._times:
            rows = []
            if self._store is not None:  # a call that was cut off has no status: it counts when it is made again
                rows = self._store.query(
                    "SELECT started FROM step WHERE tool=? AND started IS NOT NULL AND status <> 'denied'"
                    " ORDER BY place DESC LIMIT ?",
                    (tool, MAX_COUNTED),
                )
            self._times[tool] = deque((parse_moment(row["started"]) for row in rows), MAX_COUNTED)
        return self._times[tool]


@dataclass(frozen=True, slots=True)
class PastResult:
    """Result of an earlier call, with the labels of its fields."""

    tool: str
    value: Plain
    fields: Mapping[str, Label]


class PastResults:
    """Results that tools returned before this process, from the trace; none without a store."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store

    def of(self, tools: Collection[str], limit: int) -> tuple[PastResult, ...]:
        """The last results of these tools that were not undone, oldest first. Raises: StoreError."""
        if self._store is None or not tools:
            return ()
        rows = self._store.query(
            "SELECT tool, fields_json, coalesce(value_json, json) AS text FROM step"
            " LEFT JOIN large_value ON hash = value_hash"
            " WHERE tool IN (SELECT value FROM json_each(?)) AND status = 'done' AND NOT is_undone AND text IS NOT NULL"
            " ORDER BY place DESC LIMIT ?",
            (json.dumps(sorted(tools)), limit),
        )
        return tuple(
            PastResult(
                row["tool"],
                json.loads(row["text"]),
                {name: label_from_text(text) for name, text in json.loads(row["fields_json"]).items()},
            )
            for row in reversed(rows)
        )


@dataclass(frozen=True, slots=True)
class Records:
    """State that outlives a request. Without a store it lasts as long as the process."""

    provenance: Provenance = field(default_factory=Provenance)
    consents: Consents = field(default_factory=Consents)
    counts: CallCounts = field(default_factory=CallCounts)
    results: PastResults = field(default_factory=PastResults)
    agreements: Agreements = field(default_factory=Agreements)

    @property
    def book(self) -> AddressBook:
        return AddressBook(self.provenance)

    @classmethod
    def of(cls, store: Store) -> Records:
        return cls(Provenance(store), Consents(store), CallCounts(store), PastResults(store), Agreements(store))
