"""Remembers in which file a record was found, so that it is found again by reading one file instead of a whole folder.

What is remembered holds for one listing of the folder, the very tuple that `Workspace.list` returns again while nothing
was added, removed or replaced; who uses it reads the file and looks whether the record is still in it.
Not covered: another file that gets a record of the same name by being written over in place, until the folder changes.
"""

from __future__ import annotations


class RecordPlaces:
    """Files of the records of one kind, by what they were asked for as."""

    def __init__(self) -> None:
        self._known: tuple[tuple[str, ...], dict[str, str]] = ((), {})

    def find(self, listing: tuple[str, ...], called: str) -> str | None:
        """Return the file in which the one record called so was found, None if that is not known."""
        known, places = self._known
        return places.get(called) if known is listing else None

    def keep(self, listing: tuple[str, ...], called: str, path: str) -> None:
        """Remember that of all files of a listing, this alone holds the record called so."""
        known, places = self._known
        if known is not listing:
            known, places = self._known = listing, {}
        places[called] = path
