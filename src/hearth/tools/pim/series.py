"""Expands what repeats: the times of a series, with its exceptions and the occurrences that were changed.

Two libraries do the expanding. Of a plain series (`ical.PLAIN_RULE`, times, names of zones) they are given in this
process what was recognised here, written anew, and nothing else of the file. What is not plain is given to them in the
process for strangers' bytes (`formats.untrusted.bounded_reading`).
Not covered: rules that repeat more often than daily (`ical.check_rules` refuses them).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from hearth.errors import Unreadable
from hearth.formats.content_lines import Component, Line, new_component, new_line
from hearth.formats.untrusted.bounded_reading import Bounds, read_bounded
from hearth.tools.pim import ical
from hearth.tools.pim.ical import MAX_EXPANDED, Occurrence

_FIRST_EXPANDED = 100
"""So many are asked for at first where a series goes on without end; hardly anybody wants more."""
MAX_COMPONENTS = 1_000
_SINCE = "199"
"""A plain series that repeats each day or week begins later: an older one takes long to come to the present."""
_READER = "hearth.tools.pim.ical:occurrence_pieces"
_BOUNDS = Bounds(cpu_s=2, wait_s=20, n_most_bytes=4_000_000)
_PLAIN = {
    "DTSTART": ical.TIMES,
    "DTEND": ical.TIMES,
    "DUE": ical.TIMES,
    "RDATE": ical.TIMES,
    "EXDATE": ical.TIMES,
    "RECURRENCE-ID": ical.TIMES,
    "RRULE": ical.PLAIN_RULE,
    "DURATION": re.compile(r"\+?P(\d{1,4}W|(\d{1,4}D)?(T(\d{1,4}H)?(\d{1,4}M)?(\d{1,4}S)?)?)\Z"),
    "SEQUENCE": re.compile(r"\d{1,6}\Z"),
}
_VALUES = ("DATE", "DATE-TIME")


@dataclass(slots=True)
class Effort:
    """How long one question may yet wait for series that are not plain; the plain ones always answer."""

    left_s: float = 4.0


def occurrences(
    document: Component,
    components: Mapping[int, Component],
    start: dt.datetime,
    end: dt.datetime | None,
    effort: Effort | None = None,
) -> Iterator[Occurrence]:
    """Expand a series: its rule, exceptions and overrides.

    Args:
        document: The file, for its zones.
        components: The series and its overrides (one kind, one uid), by the number that the result names them by.
        start: First moment of interest; aware.
        end: Occurrences that overlap start to end; None for all that end after `start`, in order, one at a time.
        effort: What the question's other series have left of its time; None for a question about this one alone.
    Raises:
        ValueError: The series cannot be expanded, or not in the time that is left.
    """
    for component in components.values():
        ical.check_rules(component)
    kind = next(iter(components.values())).name
    plain = _plain(components)
    if plain is not None:
        return ical.expanded(plain, kind, start, end)
    data = _numbered(document, components)
    asked = _Question(data, kind, start, end, effort or Effort(), frozenset(components))
    return _expanded_elsewhere(asked)


# ── What is plain ─────────────────────────────────────────────────────────────────────────────────────────


def _plain(components: Mapping[int, Component]) -> bytes | None:
    """Return a file of these components with nothing in it but what was recognised; None where that is not all."""
    if len(components) > MAX_COMPONENTS:
        return None
    written: list[Component] = []
    for number, component in components.items():
        lines = [_plain_line(line) for line in component.lines() if line.name in _PLAIN or line.name == "EXRULE"]
        if None in lines or _is_long_ago(component):
            return None
        kept = [line for line in lines if line is not None]
        named = new_line("UID", "x"), new_line("X-HEARTH-INDEX", str(number))
        written.append(new_component(component.name, *named, *kept))
    return new_component("VCALENDAR", *written).render()


def _is_long_ago(component: Component) -> bool:
    often = any(line.value.startswith(("FREQ=DAILY", "FREQ=WEEKLY")) for line in component.lines("RRULE"))
    return often and any(line.value < _SINCE for line in component.lines("DTSTART"))


def _plain_line(line: Line) -> Line | None:
    pattern = _PLAIN.get(line.name)
    if pattern is None or pattern.match(line.value) is None:
        return None
    params = {name: line.parameter(name) for name in ("TZID", "VALUE", "RANGE") if line.params and line.parameter(name)}
    if params.get("VALUE", "DATE") not in _VALUES or params.get("RANGE", "THISANDFUTURE") != "THISANDFUTURE":
        return None
    if "TZID" in params:
        zone = ical.named_zone(params["TZID"])
        if zone is None:
            return None
        params["TZID"] = zone.key
    return new_line(line.name, line.value, params)


# ── What is not ───────────────────────────────────────────────────────────────────────────────────────────


def _numbered(document: Component, components: Mapping[int, Component]) -> bytes:
    """Return a file of these components, each with its number in it, with the zones they use. Its own zone names are
    made unique, since the parser keeps the first definition of a name for all later files."""
    used = {line.parameter("TZID") for component in components.values() for line in component.lines() if line.params}
    zones = [
        zone
        for calendar in document.components("VCALENDAR")
        for zone in calendar.components("VTIMEZONE")
        if zone.text("TZID") in used
    ]
    for zone in zones:
        ical.check_zone(zone)
    data = b"".join(zone.render() for zone in zones)
    for number, component in components.items():
        items = [new_line("X-HEARTH-INDEX", str(number)), *component.items]
        data += Component(component.name, items, component.begin, component.end).render()
    for zone in zones:
        tzid = zone.text("TZID")
        if tzid and ical.named_zone(tzid) is None:
            unique = f"X-{hashlib.sha256(zone.render()).hexdigest()[:16]}".encode()
            name = re.escape(tzid.encode("utf-8", "surrogateescape"))
            data = re.sub(rb'(TZID[=:])"?' + name + rb'"?(?=[\r\n:;])', rb"\g<1>" + unique, data)
    data = re.sub(rb"\r(?!\n)", b"\r\n", data)  # a lone CR ends a line here, but not for that parser
    return b"BEGIN:VCALENDAR\r\n" + data + b"END:VCALENDAR\r\n"


@dataclass(frozen=True, slots=True)
class _Question:
    """What the process for strangers' bytes is asked."""

    data: bytes
    kind: str
    start: dt.datetime
    end: dt.datetime | None
    effort: Effort
    numbers: frozenset[int]
    """Of the components: no answer names another one."""


def _expanded_elsewhere(asked: _Question) -> Iterator[Occurrence]:
    """As `ical.expanded`, in the process for strangers' bytes; moments are in UTC."""
    n_most = _FIRST_EXPANDED if asked.end is None else MAX_EXPANDED
    found = _answer(asked, n_most)
    yield from found
    if len(found) == n_most < MAX_EXPANDED:
        yield from _answer(asked, MAX_EXPANDED)[n_most:]


def _answer(asked: _Question, n_most: int) -> list[Occurrence]:
    """Raises: ValueError."""
    if asked.effort.left_s <= 0:
        raise ValueError("its repetition was not looked at, as that of others took too long")
    zone = asked.start.tzinfo.key if isinstance(asked.start.tzinfo, ZoneInfo) else None
    options = {
        "kind": asked.kind,
        "start": asked.start.isoformat(),
        "end": asked.end.isoformat() if asked.end is not None else "",
        "zone": zone or "",
        "n_most": n_most,
    }
    began = time.monotonic()
    try:
        said = json.loads(read_bounded(_READER, asked.data, _BOUNDS, options))
        return [_occurrence(row, asked.numbers) for row in said[:n_most]]
    except (Unreadable, ValueError, TypeError) as error:
        raise ValueError(f"its repetition cannot be read ({str(error)[:120]})") from None
    finally:
        asked.effort.left_s -= time.monotonic() - began


def _occurrence(said: object, numbers: frozenset[int]) -> Occurrence:
    """Raises: ValueError: It is none."""
    match said:
        case [int(number), str(start), str(end), str(recurrence)] if number in numbers:
            first, last, name = (ical.read_text(text, None) for text in (start, end, recurrence))
            return Occurrence(number, first, last, name)
    raise ValueError("what was read of it are no times")
