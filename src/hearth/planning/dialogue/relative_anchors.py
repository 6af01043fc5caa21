"""Reads times that count from what the last answer showed: "an hour before that", "the day before at four".

Only where the last answer showed one thing with a time. The phrase is exchanged for the time itself, and the owner is
shown that reading. Not covered: "before the dentist", where the thing is named in the request itself.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence

from hearth.formats.tool_signature import parse_duration
from hearth.language.text.tokens import Slot
from hearth.types import Episode, Plain

_BEFORE = re.compile(
    r"\s*(?P<way>before(?:hand)?|b4|earlier|ahead|after(?:wards)?|later)\b(?P<it>\s+(?:that|it|then)\b)?", re.I
)
_DAY_BEFORE = re.compile(
    r"\b(?:on\s+)?the\s+(?P<unit>day|night|evening|morning)\s+(?P<way>before|b4|after)\b(?P<it>\s+(?:that|it)\b)?", re.I
)
_MAY_FOLLOW = re.compile(r"\s*(?:$|[.,;!?]|(?:to|at|and|about|that\s+i|i)\b)", re.I)
_NIGHT = {"night": 20, "evening": 18, "morning": 9}


def anchored(text: str, last: Episode, slots: Sequence[Slot]) -> str:
    """Return `text` with a time that counts from the last answer's one record exchanged; empty when there is none."""
    anchor = _moment_shown(last)
    if anchor is None:
        return ""
    if (match := _DAY_BEFORE.search(text)) is not None and _is_open(text, match):
        days = 1 if match["way"].lower() == "after" else -1
        day = anchor + dt.timedelta(days=days)
        hour = _NIGHT.get(match["unit"].lower(), anchor.hour)
        is_clock_said = re.search(r"\bat\s+\S", text[match.end() :]) is not None
        clock = "" if is_clock_said else f" at {hour:02}:{anchor.minute if hour == anchor.hour else 0:02}"
        return f"{text[: match.start()]}on {day.day} {day:%B %Y}{clock}{text[match.end() :]}"
    for slot in slots:
        match = _BEFORE.match(text, slot.end)
        if slot.kind != "duration" or match is None or not _is_open(text, match):
            continue
        length = parse_duration(str(slot.views["duration"]))
        is_after = match["way"].lower() in ("after", "afterwards", "later")
        at = anchor + (length if is_after else -length)
        return f"{text[: slot.start]}on {at.day} {at:%B %Y} at {at:%H:%M}{text[match.end() :]}"
    return ""


def _is_open(text: str, match: re.Match[str]) -> bool:
    """Return whether nothing else is named that it counts from."""
    return match["it"] is not None or _MAY_FOLLOW.match(text, match.end()) is not None


def _moment_shown(last: Episode) -> dt.datetime | None:
    """Return when the one record of the last answer takes place."""
    for result in reversed(last.results):
        if result.status != "done":
            continue
        records = result.value if isinstance(result.value, list) else [result.value]
        if len(records) == 1 and isinstance(records[0], dict):
            return _moment(records[0].get("start") or records[0].get("at"))
        return None
    return None


def _moment(value: Plain) -> dt.datetime | None:
    try:
        return dt.datetime.fromisoformat(value) if isinstance(value, str) and "T" in value else None
    except ValueError:
        return None
