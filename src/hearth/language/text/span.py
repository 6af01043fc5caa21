"""What a finder says of a text."""

from __future__ import annotations

from typing import NamedTuple


class Found(NamedTuple):
    """A stretch of a text that tells something. A tuple: many are made, and a frozen dataclass takes thrice as long."""

    start: int
    end: int
    kind: str
    """One of `config.MASK_KINDS`."""
    by: str = "form"
    """Which finder: `form`, `owner` (the owner's own names) or `tagger`."""


def n_digits(text: str) -> int:
    """How many digits stand in it."""
    return sum(c.isdigit() for c in text)
