"""Reads the numbers that were fitted and are shipped with Hearth, with what they were fitted on."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def fitted(name: str) -> dict[str, Any]:
    """Return a file `NAME.json` of `hearth.data`, read once."""
    kept: dict[str, Any] = json.loads((files("hearth.data") / f"{name}.json").read_text())
    return kept
