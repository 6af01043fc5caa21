"""Stand in for `re` in modules with many patterns: one is compiled when it is first used, not when it is imported.

    from hearth import patterns as re

A request meets about a hundred of nine hundred patterns; compiling all of them took a fifth of a cold start. What is
wrong with a pattern shows when it is first used, so a test compiles every one. Patterns of bytes are not covered.
"""

from __future__ import annotations

import re
from re import (
    ASCII,
    DOTALL,
    IGNORECASE,
    MULTILINE,
    VERBOSE,
    I,
    M,
    Match,
    Pattern,
    S,
    X,
    error,
    escape,
    findall,
    finditer,
    fullmatch,
    match,
    search,
    split,
    sub,
)
from typing import Any, cast

__all__ = [
    "ASCII", "DOTALL", "IGNORECASE", "MULTILINE", "VERBOSE", "I", "M", "Match", "Pattern", "S", "X", "compile", "error",
    "escape", "findall", "finditer", "fullmatch", "match", "search", "split", "sub",
]  # fmt: skip

_METHODS = ("findall", "finditer", "fullmatch", "groupindex", "groups", "match", "search", "split", "sub", "subn")


class _AtFirstUse:
    """A pattern that becomes itself when it is first asked for one of `_METHODS`."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags

    def __getattr__(self, name: str) -> Any:
        # Reached only while `name` is not there yet: afterwards each method is the compiled pattern's own.
        if name not in _METHODS:
            raise AttributeError(f"a pattern has no attribute {name!r}")
        compiled = re.compile(self.pattern, self.flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)

    def __repr__(self) -> str:
        return f"patterns.compile({self.pattern!r}, {self.flags})"


def compile(pattern: str, flags: int = 0) -> Pattern[str]:
    """Return a pattern that `re.compile` makes of the same words at its first use, and raises what that raises."""
    return cast("Pattern[str]", _AtFirstUse(pattern, int(flags)))
