"""What a process of `hearth ask` loads before it can read a request."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

LOADED = """\
import json, re, sys
compiled = []
compile_ = re._compiler.compile
re._compiler.compile = lambda pattern, flags=0: compiled.append(pattern) or compile_(pattern, flags)
import hearth.agent
print(json.dumps({"modules": sorted(sys.modules), "n_patterns": len(compiled)}))
"""
FOR_SOME_REQUESTS = [
    "phonenumbers",
    "stdnum",
    "pint",
    "icalendar",
    "recurring_ical_events",
    "httpx",
    "cryptography",
    "onnx",
]
FOR_SOME_HOMES = [
    "hearth.tools.foreign",
    "mcp",
    "hearth.edge",
    "hearth.planning.llm",
    "xml.sax",
    "http.client",
    "asyncio",
]


def test_a_start_loads_nothing_that_only_some_requests_and_homes_need() -> None:
    loaded = _loaded()
    assert [name for name in FOR_SOME_REQUESTS + FOR_SOME_HOMES if name in loaded["modules"]] == []


def test_a_start_loads_no_more_of_hearth_and_compiles_no_more_patterns_than_it_did() -> None:
    """A room that joins the start raises these numbers, and has to say so here."""
    loaded = _loaded()
    assert len([name for name in loaded["modules"] if name.partition(".")[0] == "hearth"]) <= 145
    assert loaded["n_patterns"] <= 140


def _loaded() -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", LOADED], check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found
