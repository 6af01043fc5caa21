"""The options of `hearth demo`, apart from what it takes to run it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What `hearth demo` was asked for."""

    requests: Path | None = None
    """A file of requests to work through instead of the day."""
    limit: int | None = None
    report: Path | None = None
    keep: Path | None = None
    footage: Path | None = None
    """A recording of the owner's own, to be asked about."""
    meanwhile: str = ""
    """A command that is run beside the first scenes, and waited for before what needs it: it installs the experts."""
    yes: bool = False
    as_json: bool = False
    shows_page: bool = False
    """At the end, serve this home's page until Ctrl-C."""

    @property
    def is_day(self) -> bool:
        return self.requests is None and self.limit is None
