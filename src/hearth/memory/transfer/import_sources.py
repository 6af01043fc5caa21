"""What is imported, and what its readers give: events, or what could not be read and why."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hearth.memory.event_memory import NewEvent
from hearth.types import Label

MAX_TEXT_CHARACTERS = 20_000
"""Of one event; the rest of a longer text is left out."""
MAX_RECORD_BYTES = 2_000_000
"""Of one mail, calendar entry or line; attachments lie behind it."""
MESSAGE, FILE, SENSOR = (Label(frozenset({source}), frozenset()) for source in ("message", "file", "sensor"))


@dataclass(frozen=True, slots=True)
class Source:
    """What is imported, and how it is read."""

    path: Path
    kind: str
    """`mail`, `calendar`, `notes`, `whatsapp`, `telegram`, `lines` or `photos`."""
    zone: dt.tzinfo
    """Of times without one."""
    is_month_first: bool = False
    """Whether 3/5 is the 5th of March where a file leaves it open."""


@dataclass(frozen=True, slots=True)
class Bad:
    """Something that cannot be read, with file and line."""

    where: str
    why: str


NOTHING = Bad("", "")
"""Only bytes were read."""
Item = tuple[int, "NewEvent | Bad"]
"""Bytes read since the last one, and what was read."""


ENDINGS = {
    "calendar": (".ics",),
    "notes": (".txt", ".md", ".markdown"),
    "photos": (".jpg", ".jpeg", ".png", ".webp", ".tif", ".tiff"),
    "mail": (".mbox", ".eml"),
}
"""Of files, by kind."""


def files_of(path: Path, kind: str) -> Iterator[Path]:
    """Files of a kind below a folder (or the file itself), sorted; links and hidden folders are left out."""
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
    """The key of an event by what it holds: the same content is one event."""
    return "import:" + hashlib.sha256("\x1f".join(map(str, parts)).encode(errors="replace")).hexdigest()[:32]


def lines_of(data: bytes) -> list[str]:
    """Lines of text in UTF-8; what is none is shown as such."""
    return data.decode("utf-8-sig", errors="replace").splitlines()
