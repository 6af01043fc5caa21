"""Opens the stores of the owner's data that take part in forgetting, and says which of them cannot.

Besides those that cannot be loaded, it names what the database keeps for a companion that is no longer installed. Of
the core's own, rings, standing answers and the file of faults hold words beside memory: a row goes when what is wanted,
or the words, stand in it; the file goes whole, as one traceback may repeat what another says.

Not covered: what a third party's plug-in kept before it was uninstalled; standing answers by a period alone, as they
hold until they are taken back; what a fault says in other words; names of phones, cameras and people let in, which are
permissions and have commands of their own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from hearth.errors import HearthError
from hearth.memory.forgetting import is_meant
from hearth.memory.passages.passage_holder import NAME as PASSAGES
from hearth.memory.passages.passage_holder import PassageHolder
from hearth.protocols import Count, Held, Holder, Wanted
from hearth.registry import HOLDERS, INSTALL_COMMANDS, load_parts
from hearth.storage import fault_log
from hearth.storage.database import FIRST_LOOK, Store
from hearth.storage.trace import parse_moment

FOOTAGE_HOLDER = "footage"
"""The entry point of hearth-video's holder, which forgets from the tables of home video that the core makes."""
_OF_FOOTAGE = (
    ("recording", "recording", "recordings"),
    ("sighting", "sighting", "sightings"),
    ("utterance", "sentence heard", "sentences heard"),
    ("sound_event", "sound", "sounds"),
)


@dataclass(frozen=True, slots=True)
class Holders:
    """Who takes part in forgetting."""

    by_name: Mapping[str, Holder]
    faults: tuple[str, ...] = ()
    """What would stay, each with what to do: while there is one, nothing is to be forgotten."""


def open_holders(store: Store) -> Holders:
    """Open everything that is installed. Never raises for a plug-in."""
    parts = load_parts(HOLDERS)
    faults = list(parts.faults)
    opened: dict[str, Holder] = {PASSAGES: PassageHolder(store), **{one.name: one for one in row_holders(store)}}
    for part in parts.loaded:
        try:
            holder = cast("Holder", part.invoke(store))
        except HearthError as error:
            faults.append(str(error))
        else:
            opened[part.name] = holder
    if not faults and FOOTAGE_HOLDER not in opened:
        faults += _unheld_footage(store)
    return Holders(opened, tuple(faults))


def _unheld_footage(store: Store) -> list[str]:
    counts = [
        Count(store.query(f"SELECT count(*) FROM {table}")[0][0], one, many)  # noqa: S608 - names of this module
        for table, one, many in _OF_FOOTAGE
    ]
    held = ", ".join(str(count) for count in counts if count.n)
    if not held:
        return []
    return [
        f"{held} of home video are in the database, and hearth-video, which alone can take them out, is not installed; "
        f"install it with: {INSTALL_COMMANDS['hearth-video']}"
    ]


# ── The core's own, beside memory ─────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class RowHolder:
    """A `protocols.Holder` of the rows of one table that have a text of their own."""

    store: Store
    name: str
    table: str
    text: str
    """The column that is looked into."""
    one: str
    many: str
    moment: str = ""
    """The column that says when; empty where rows have no time that an owner would mean."""
    kept: str = ""
    """The text of a row that nobody wrote, which stays whatever is forgotten."""

    def find(self, events: Collection[str], wanted: Wanted | None, words: str) -> Held:  # noqa: ARG002 - the seam's
        """Find the rows that hold the words, or are wanted forgotten."""
        found: dict[int, str] = {}
        if wanted is not None and not (self.moment or wanted.person or wanted.topic):
            wanted = None  # a period says nothing of rows without a time
        moment = f", {self.moment} AS moment" if self.moment else ", '' AS moment"
        for row in self.store.query(f"SELECT rowid AS number, {self.text} AS text{moment} FROM {self.table}"):  # noqa: S608 - names of this module
            text = str(row["text"])
            if self.kept and text == self.kept:
                continue
            at_unix_s = parse_moment(row["moment"]).timestamp() if row["moment"] else 0.0
            is_wanted = wanted is not None and is_meant(wanted, at_unix_s, "", text)
            if is_wanted or (words and words.casefold() in text.casefold()):
                found[row["number"]] = text
        return Held(
            self.name, (Count(len(found), self.one, self.many),), tuple(found.values()), rows=tuple(found) or None
        )

    def remove(self, cursor: sqlite3.Cursor, held: Held) -> None:
        """Remove the rows that were found."""
        rows = held.rows if isinstance(held.rows, tuple) else ()
        cursor.executemany(f"DELETE FROM {self.table} WHERE rowid = ?", [(row,) for row in rows])  # noqa: S608 - as above

    def sweep(self, home: Path, held: Held) -> None:
        """Remove nothing: rows have no files."""


@dataclass(slots=True)
class FaultHolder:
    """A `protocols.Holder` of the file of faults, whose tracebacks may repeat words of what was asked."""

    store: Store
    name: str = "faults"

    def find(self, events: Collection[str], wanted: Wanted | None, words: str) -> Held:
        """Find the file if it holds the words, the person or topic that is wanted, or the text of one of the events."""
        path = self.store.path.parent / fault_log.NAME
        told = path.read_text(encoding="utf-8", errors="replace").casefold() if path.is_file() else ""
        sought = [words, *((wanted.person, wanted.topic) if wanted is not None else ())]
        if told:
            sought += [row["text"] for row in self.store.query("SELECT id, text FROM event") if row["id"] in events]
        n = int(any(text.strip() and text.casefold() in told for text in sought))
        return Held(self.name, (Count(n, "file of faults", "files of faults"),), rows=(fault_log.NAME,) if n else None)

    def remove(self, cursor: sqlite3.Cursor, held: Held) -> None:
        """Remove nothing: it is a file."""

    def sweep(self, home: Path, held: Held) -> None:
        """Delete the file."""
        if held.rows:
            (home / fault_log.NAME).unlink(missing_ok=True)


def row_holders(store: Store) -> tuple[RowHolder | FaultHolder, ...]:
    """Return the holders of the core's small tables and files."""
    return (
        RowHolder(store, "rings", "ring", "text", "reminder that rang", "reminders that rang", "rings_at"),
        RowHolder(store, "standing answers", "consent", "pattern_json", "standing answer", "standing answers"),
        # A note is called by its first words; of a record whose origin is forgotten, nobody is trusted to have made it.
        # That the contacts were looked at before stays: else whatever cards are there now would be taken for confirmed.
        RowHolder(
            store, "origins", "record_origin", "record", "origin of a record", "origins of records", kept=FIRST_LOOK
        ),
        FaultHolder(store),
    )
