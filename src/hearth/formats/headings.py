"""Headings of Markdown. Covered: lines of any length, read in step with it; what closes a heading (`# Title #`)."""

from __future__ import annotations

import re

_HEADING = re.compile(r"#{1,6}\s+(\S.*)")


def heading_of(line: str) -> str:
    """Return the title that one line is the heading of; empty for any other line.

    >>> heading_of("## Oven times ##")
    'Oven times'
    """
    found = _HEADING.match(line)
    if found is None:
        return ""
    said = found[1].rstrip()
    return said.rstrip("#").rstrip() or said[:1]
