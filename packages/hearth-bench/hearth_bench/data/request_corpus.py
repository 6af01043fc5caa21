"""Reads requests that real people typed or said to assistants, and says what is right for each.

The files lie in `$HEARTH_DATA/requests` and are not part of Hearth. A fixed tenth is held out from everything that
ships (`training.tool_heads_train`), chosen by the request's words, so that the same words never stand on both sides;
of Home Assistant's tests, whose sentences differ in one word, by the file they came from.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hearth.errors import RequestError

SOURCES = ("slurp", "hwu", "smcalflow", "xsid", "almond", "ha")
Kind = Literal["tool", "none", "chat", "either"]
_N_PARTS = 10
_NOT_WORDS = re.compile(r"[^\w ]")
_NUMBERED = re.compile(r"(-\d+)+$")


@dataclass(frozen=True, slots=True)
class RealRequest:
    """One request, and what is right to do about it."""

    id: str
    source: str
    text: str
    intent: str
    kind: Kind
    """`tool`: a tool of `accept` serves it; `none`: no tool does; `chat`: talk; `either`: not to be scored."""
    accept: tuple[str, ...]
    """Tools of which one is right; for `none`, tools that do no harm."""
    asks: bool
    """True when it lacks what the tool must know: to ask back is as right as a plan."""


def read_real_requests(folder: Path) -> Iterator[RealRequest]:
    """Read all requests, source by source.

    Raises:
        RequestError: A file is missing or has a line that is not one.
    """
    for source in SOURCES:
        path = folder / f"{source}.jsonl"
        try:
            lines = path.read_text().splitlines()
        except OSError as error:
            raise RequestError(f"cannot read {str(path)!r}: {error}; set HEARTH_DATA to the data's folder") from error
        for number, line in enumerate(lines, 1):
            try:
                data = json.loads(line)
                yield RealRequest(
                    data["id"], source, data["text"], data["intent"], data["kind"], tuple(data["accept"]), data["asks"]
                )
            except (ValueError, KeyError, TypeError) as error:
                raise RequestError(f"{path.name}, line {number}: no request: {error!r}") from error


def is_held_out(request: RealRequest, part: int = 0) -> bool:
    """Return whether a request is in one tenth of all; part 0 is never learned from."""
    by_file = _NUMBERED.sub("", request.id)
    key = by_file if request.source == "ha" else _NOT_WORDS.sub("", request.text.lower()).strip()
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "little") % _N_PARTS == part
