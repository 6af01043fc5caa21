"""Remembers what went into each record that Hearth made, for the next time it is read.

A note made from a stranger's mail is still a stranger's when it is found again a week later; one made from the owner's
own words is the owner's. Records made, and their sources, are stored by domain (a tool's) and id; cards of the contact
book also with digests of their addresses, notes of what Hearth wrote there, so that one that was changed elsewhere, or
took the place of one that was deleted, counts as another program's.

Covered: records with an `id`, a `path` or a `name`, made or changed through Hearth.
Not covered: what another program writes into an event or a reminder that Hearth made, or into a document.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hearth.storage.database import Store
from hearth.storage.trace import moment_text
from hearth.types import Plain

KEYS = ("id", "path", "name")
"""Fields that name a record, in this order."""
_RECURRENCE = "#"
"""Separator: the part after it names one occurrence of a repeating event, the part before it the record."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Sources known of one record."""

    sources: frozenset[str]
    digest: str = ""
    """Of a card, digests of what is confirmed of it; of a note, of what Hearth wrote there; empty where neither is
    known."""


class Provenance:
    """Origins of records; without a store they last as long as the process."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store
        self._known: dict[tuple[str, str], Origin] | None = None
        self._lock = threading.Lock()

    def of(self, domain: str, record: str) -> Origin | None:
        """Return the origin of a record, or of the series it is an occurrence of; None when unknown."""
        known = self._all()
        found = known.get((domain, record))
        return found or known.get((domain, record.partition(_RECURRENCE)[0]))

    def is_empty(self, domain: str) -> bool:
        """Return whether nothing was ever noted for the domain."""
        return all(key[0] != domain for key in self._all())

    def note(self, domain: str, origins: Mapping[str, Origin], now: dt.datetime) -> None:
        """Remember what went into records. Raises: StoreError: It could not be written; nothing is remembered."""
        if not origins:
            return
        known = self._all()
        if self._store is not None:
            rows = [
                (domain, record, json.dumps(sorted(origin.sources)), origin.digest, moment_text(now))
                for record, origin in origins.items()
            ]
            with self._store.transaction(is_synced=False) as cursor:
                cursor.executemany("INSERT OR REPLACE INTO record_origin VALUES (?, ?, ?, ?, ?)", rows)
        with self._lock:
            known.update({(domain, record): origin for record, origin in origins.items()})

    def _all(self) -> dict[tuple[str, str], Origin]:
        with self._lock:
            if self._known is None:
                rows = self._store.query("SELECT * FROM record_origin") if self._store is not None else []
                self._known = {
                    (row["domain"], row["record"]): Origin(frozenset(json.loads(row["sources_json"])), row["digest"])
                    for row in rows
                }
            return self._known


def records(value: Plain) -> Iterator[tuple[str, Mapping[str, Plain]]]:
    """The records in a result, each with its name."""
    for item in value if isinstance(value, list) else (value,):
        if isinstance(item, dict):
            for key in KEYS:
                name = item.get(key)
                if isinstance(name, str) and name:
                    yield name, item
                    break


def digest_of(addresses: Iterable[object]) -> str:
    """A digest of a card's addresses and numbers, exactly as written."""
    said = "\n".join(str(address or "").strip() for address in addresses)
    return hashlib.sha256(said.encode(errors="surrogatepass")).hexdigest()[:32] if said.strip() else ""
