"""Defines the record that every finder returns: a labelled span of a text."""

from __future__ import annotations

from typing import NamedTuple


class Found(NamedTuple):
    """A labelled span of a text. A tuple: many are made, and a frozen dataclass takes three times as long."""

    start: int
    end: int
    kind: str
    """One of `config.MASK_KINDS`."""
    by: str = "form"
    """Finder that made it: `form`, `owner` (the owner's own names) or `tagger`."""


def n_digits(text: str) -> int:
    """Count the digits in a text."""
    return sum(c.isdigit() for c in text)
