"""Defines the sources of an import, and what its readers yield: events, or what could not be read and why."""

from __future__ import annotations

import datetime as dt
import enum
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hearth.memory.event_memory import NewEvent
from hearth.types import Label

MAX_TEXT_CHARACTERS = 20_000
"""Limit for one event; the rest of a longer text is left out."""
MAX_RECORD_BYTES = 2_000_000
"""Limit for one mail, calendar entry or line; attachments come after the text."""
MESSAGE, FILE, SENSOR = (Label(frozenset({source}), frozenset()) for source in ("message", "file", "sensor"))


@dataclass(frozen=True, slots=True)
class Source:
    """A source to import, and how it is read."""

    path: Path
    kind: str
    """`mail`, `calendar`, `notes`, `whatsapp`, `telegram`, `lines` or `photos`."""
    zone: dt.tzinfo
    """Zone of times that name none."""
    is_month_first: bool = False
    """True if 3/5 is the 5th of March when a file leaves it open."""


@dataclass(frozen=True, slots=True)
class Bad:
    """Something that cannot be read, with file and line."""

    where: str
    why: str


class LeftOut(enum.Enum):
    """Something that is no event and is counted only; its value says what."""

    NOTICE = "notices in chats (who joined, calls, what was pinned)"
    WORDLESS = "chat messages without words (pictures, voice, stickers)"
    DELETED = "chat messages that were deleted"
    CARD = "contacts and payments sent in chats"


NOTHING = Bad("", "")
"""Marks that only bytes were read."""
Item = tuple[int, "NewEvent | Bad | LeftOut"]
"""Bytes read since the last item, and what was read."""


ENDINGS = {
    "calendar": (".ics",),
    "notes": (".txt", ".md", ".markdown"),
    "photos": (".jpg", ".jpeg", ".png", ".webp", ".tif", ".tiff"),
    "mail": (".mbox", ".eml"),
}
"""File endings, by kind."""


def files_of(path: Path, kind: str) -> Iterator[Path]:
    """Yield files of a kind below a folder (or the file itself), sorted; links and hidden folders are left out."""
    if path.is_file():
        yield path
        return
    for folder, names, files in os.walk(path):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in sorted(files):
            found = Path(folder, name)
            is_wanted = not kind or found.suffix.lower() in ENDINGS[kind]
            if is_wanted and not found.is_symlink() and found.is_file():
                yield found


def key_of(*parts: object) -> str:
    """Make the key of an event from its content: the same content is one event."""
    return "import:" + hashlib.sha256("\x1f".join(map(str, parts)).encode(errors="replace")).hexdigest()[:32]


def lines_of(data: bytes) -> list[str]:
    """Split UTF-8 text into lines; bytes that are not UTF-8 are replaced by the replacement character."""
    return data.decode("utf-8-sig", errors="replace").splitlines()


def time_of(value: object, zone: dt.tzinfo) -> dt.datetime | None:
    """Parse seconds or milliseconds since 1970, or ISO 8601; times without a zone are in the owner's."""
    try:
        if isinstance(value, str) and not value.strip().lstrip("-").isdigit():
            moment = dt.datetime.fromisoformat(value.strip())
            return moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            seconds = float(value)
            return dt.datetime.fromtimestamp(seconds / 1000 if abs(seconds) > 1e11 else seconds, dt.UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None
