"""Keeps what a bug in Hearth looked like in the home, so that the owner reads a sentence and a maker the rest.

Not covered: faults before there is a home to write into; nothing is ever sent.
"""

from __future__ import annotations

import contextlib
import os
import traceback
from collections.abc import Iterator
from pathlib import Path

from hearth.config.setting_tables import has_key

NAME = "faults.txt"
MAX_BYTES = 200_000


def note_fault(home: Path, error: BaseException) -> str:
    """Append the traceback of `error` to the home's file of faults; return a sentence that names the fault.

    The file is readable by its owner alone, since a traceback may hold the owner's words; a full one is begun anew. In
    an encrypted home, whose words are to stand nowhere in plain, what errors say is left out. Never raises.
    """
    said = f"{type(error).__name__}{f' ({str(error)[:120]})' if str(error) else ''}"
    path = home / NAME
    with contextlib.suppress(OSError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW
        flags |= os.O_TRUNC if path.exists() and path.stat().st_size > MAX_BYTES else os.O_APPEND
        with open(os.open(path, flags, 0o600), "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write("".join(_silent(error) if has_key(home) else traceback.format_exception(error)) + "\n")
        return f"this is a fault in Hearth, {said}; {path} holds the details for a report"
    return f"this is a fault in Hearth, {said}"


def _silent(error: BaseException) -> Iterator[str]:
    """Yield the traceback of an error and of those behind it, without what they say."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield from traceback.format_tb(one.__traceback__)
        yield f"{type(one).__name__}: (left out, as the home is encrypted)\n"
        one = one.__cause__ or one.__context__
