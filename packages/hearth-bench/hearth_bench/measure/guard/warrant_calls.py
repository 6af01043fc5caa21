"""Measure the cost of a warrant: making one from a request, and judging and noting its calls.

This is a section of `hearth_bench.measure.guard.guard_cost`. The request and the calls are those of a mail to the
people of an event, over the shipped tools: a search that finds events, one that finds mails, a draft, its sending, a
deletion; each search finds 2 records, then 30.
"""

from __future__ import annotations

import datetime as dt
import statistics
import time
from collections.abc import Mapping

from hearth.guard.labels import Value, result_labels
from hearth.guard.policy.request_words import Owner
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.registry import load_tools
from hearth.types import OWNER, Plain, Request, ToolSpec
from hearth_bench.injection.intent_grants import WordedTools
from hearth_bench.injection.worded_warrant import WordedWarrant

N_RUNS = 300
_NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.UTC)
_REQUEST = "Write to everyone in the choir rehearsal that it starts at 7, and delete the mail 'Old plan'"
_OWNER = Owner(frozenset({"nora@home.example"}), {f"p{k}@choir.example": f"Person Number{k}" for k in range(200)})


def warrant() -> dict[str, object]:
    """Measure the milliseconds to make a warrant, and the microseconds of CPU time per call to judge and note it."""
    return {"few": _measured(2), "many": _measured(30)}


def _measured(n_records: int) -> dict[str, object]:
    specs = {name: tool.spec for name, tool in load_tools(None).by_name.items()}
    known = WordedTools(specs, MiniLMEncoder.open())
    steps = _steps(n_records)
    values = [
        (tool, {name: Value(value, OWNER) for name, value in arguments.items()}, _labelled(specs, tool, data))
        for tool, arguments, data in steps
    ]
    made_ms, call_us, slowest_us = [], [], []
    for _ in range(N_RUNS):
        started = time.perf_counter()
        one = WordedWarrant(Request(_REQUEST, _NOW), known, _OWNER)
        made_ms.append((time.perf_counter() - started) * 1e3)
        took = []
        for tool, arguments, result in values:
            started = time.thread_time()
            one.judge(tool, arguments)
            one.observe(tool, arguments, result)
            took.append((time.thread_time() - started) * 1e6)
        call_us.append(statistics.fmean(took))
        slowest_us.append(max(took))
    return {
        "n_runs": N_RUNS,
        "n_calls": len(values),
        "n_records_read": 2 * n_records,
        "make_ms_p50": round(statistics.median(made_ms), 2),
        "judge_and_observe_us_p50": round(statistics.median(call_us), 1),
        "judge_and_observe_us_p95": round(sorted(call_us)[int(0.95 * N_RUNS)], 1),
        "slowest_call_us_p50": round(statistics.median(slowest_us), 1),
    }


def _labelled(specs: Mapping[str, ToolSpec], tool: str, data: Plain) -> Value:
    labels = result_labels(specs[tool], {})
    return Value(data, labels.whole, labels.fields)


def _steps(n_records: int) -> list[tuple[str, dict[str, Plain], Plain]]:
    events: list[Plain] = [
        {"id": f"e{k}", "title": f"Appointment {k}", "start": f"2026-12-{k % 28 + 1:02}T18:00:00+00:00",
         "attendees": [f"p{k}@choir.example"], "notes": "", "place": "", "repeat": "none", "end": "2026-12-24T19:00:00"}
        for k in range(n_records)
    ]  # fmt: skip
    events[1] = {**events[1], "title": "Choir rehearsal"} if isinstance(events[1], dict) else events[1]
    mails: list[Plain] = [
        {"id": f"m{k}", "sender": f"p{k}@choir.example", "sender_name": "", "subject": f"Subject {k}",
         "text": "x " * 200, "received": "2026-11-01T08:00:00+00:00", "is_unread": False}
        for k in range(n_records)
    ]  # fmt: skip
    mails[1] = {**mails[1], "subject": "Old plan"} if isinstance(mails[1], dict) else mails[1]
    draft: Plain = {"id": "d1", "to": ["p1@choir.example"], "subject": "", "text": "It starts at 7.", "attachments": []}
    return [
        ("find_events", {"query": "choir rehearsal"}, events),
        ("find_mail", {"query": "Old plan"}, mails),
        ("draft_mail", {"to": ["p1@choir.example"], "text": "It starts at 7."}, draft),
        (
            "send_mail",
            {"draft": "d1"},
            {"id": "s1", "to": ["p1@choir.example"], "subject": "", "at": "2026-11-20T09:30"},
        ),
        ("delete_mail", {"mail": "m1"}, mails[1]),
    ]
