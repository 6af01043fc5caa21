"""Opens the stores of the owner's data that take part in forgetting, and says which of them cannot.

Besides those that cannot be loaded, it names what the database keeps for a companion that is no longer installed.
Not covered: what a third party's plug-in kept before it was uninstalled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from hearth.errors import HearthError
from hearth.memory.passages.passage_holder import NAME as PASSAGES
from hearth.memory.passages.passage_holder import PassageHolder
from hearth.protocols import Count, Holder
from hearth.registry import HOLDERS, INSTALL_COMMANDS, load_parts
from hearth.storage.database import Store

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
    opened: dict[str, Holder] = {PASSAGES: PassageHolder(store)}
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
