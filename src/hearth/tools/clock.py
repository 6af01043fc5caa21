"""Tools for the time, here or in a city, country or time zone, and for the days until a date.

Cities are those of the IANA time-zone names and a list of further large ones; countries those with a single zone. Not
covered: small towns, and countries with several zones (the message says to name a city).
"""

from __future__ import annotations

import datetime as dt
import difflib
import functools
import importlib.resources
import re
import zoneinfo
from collections.abc import Mapping
from dataclasses import dataclass

from hearth.errors import Ambiguous, NotFound
from hearth.formats.tool_signature import tool
from hearth.language.tokens import folded
from hearth.language.values.identifying import LARGE_CITIES
from hearth.protocols import CallContext

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)

_WIDE_COUNTRIES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("usa", "us", "america", "united states"), ("New York", "Chicago", "Denver", "Los Angeles")),
    "canada": ("Toronto", "Winnipeg", "Edmonton", "Vancouver"),
    "australia": ("Sydney", "Adelaide", "Perth"),
    "brazil": ("Sao Paulo", "Manaus"),
    "russia": ("Moscow", "Novosibirsk", "Vladivostok"),
    "mexico": ("Mexico City", "Cancun", "Tijuana"),
    "indonesia": ("Jakarta", "Bali"),
}
"""Countries with several time zones, and cities in them to name."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A time in one place."""

    text: str
    date: dt.date
    time: dt.time
    weekday: str
    zone: str
    """IANA name, e.g. `Asia/Tokyo`."""


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """The distance to a day."""

    text: str
    days: int
    """Negative for a day that has passed."""
    date: dt.date


@functools.lru_cache(maxsize=1)
def _places() -> Mapping[str, str]:
    """Return the IANA name by folded city, country or zone name."""
    names = sorted(zoneinfo.available_timezones())
    cities = [name for name in names if "/" in name and not name.startswith(("Etc/", "SystemV/"))]
    places = {_key(name.rpartition("/")[2]): name for name in cities}
    places |= _countries()
    places |= {_key(name): name for name in names}
    for zone, listed in LARGE_CITIES.items():
        places |= {_key(city): zone for city in listed.split(",")}
    return places


def _countries() -> dict[str, str]:
    """Return countries with one time zone, or several that show the same time."""
    files = importlib.resources.files("tzdata").joinpath("zoneinfo")
    rows = [line.split("\t") for line in files.joinpath("iso3166.tab").read_text("utf-8").splitlines()]
    names = {row[0]: row[1] for row in rows if len(row) > 1 and not row[0].startswith("#")}
    zones: dict[str, list[str]] = {}
    for line in files.joinpath("zone.tab").read_text("utf-8").splitlines():
        row = line.split("\t")
        if len(row) > 2 and not line.startswith("#"):
            zones.setdefault(row[0], []).append(row[2])
    return {_key(name): zones[code][0] for code, name in names.items() if code in zones and _is_one(zones[code])}


def _is_one(names: list[str]) -> bool:
    days = (dt.datetime(2025, 1, 1, tzinfo=dt.UTC), dt.datetime(2025, 7, 1, tzinfo=dt.UTC))
    offsets = {tuple(day.astimezone(zoneinfo.ZoneInfo(name)).utcoffset() for day in days) for name in names}
    return len(offsets) == 1


def _key(name: str) -> str:
    words = folded(name).replace("_", " ").replace(".", "").replace("'", "").split()
    return " ".join(words).removeprefix("the ").removesuffix(" time").strip()


def find_zone(place: str) -> zoneinfo.ZoneInfo:
    """Return the time zone of a city, country or zone name.

    Raises:
        NotFound: None of these; names the nearest.
        Ambiguous: A country with several zones; names cities in it.
    """
    key = _key(place.partition(",")[0])
    places = _places()
    if key in _WIDE_COUNTRIES:
        cities = ", ".join(_WIDE_COUNTRIES[key])
        raise Ambiguous(f"{place.strip()!r} has several time zones; name a city, such as {cities}")
    if key not in places:
        near = difflib.get_close_matches(key[:60], list(places), 3, 0.75)
        hint = f"; did you mean {' or '.join(repr(name.title()) for name in near)}?" if near else ""
        raise NotFound(
            f"no time zone is known for {place.strip()[:100]!r}; expected a large city, a country or a zone such as "
            f"'Asia/Tokyo'{hint}"
        )
    return zoneinfo.ZoneInfo(places[key])


@tool(answer="{text}")
def current_time(call: CallContext, zone: str = "") -> Moment:
    """Tell the current time, date and weekday, here or in another city or time zone.

    Args:
        zone: A city, country or time zone; empty for where the owner is.
    Examples:
        what time is it
        what's today's date
        what time is it in Tokyo
        which day of the week is it
    """
    now = call.now.astimezone(find_zone(zone)) if zone.strip() else call.now
    name = str(getattr(now.tzinfo, "key", "") or now.tzname() or "")
    place = re.sub(r"(?i)\s+time$", "", zone.strip())
    where = f" in {place.title() if place.islower() else place}" if place else ""
    day = f"{WEEKDAYS[now.weekday()]}, {now.day} {MONTHS[now.month - 1]} {now.year}"
    return Moment(
        text=f"It is {now:%H:%M}{where} on {day}.",
        date=now.date(),
        time=now.time().replace(microsecond=0),
        weekday=WEEKDAYS[now.weekday()],
        zone=name,
    )


@tool(answer="{text}")
def time_until(call: CallContext, date: dt.date) -> TimeSpan:
    """Tell how many days it is until a date, or since it.

    Args:
        date: The day.
    Examples:
        how many days until Christmas
        how long is it until 1 May
        how many weeks to go until 30 June
    """
    days = (date - call.now.date()).days
    day = f"{WEEKDAYS[date.weekday()]}, {date.day} {MONTHS[date.month - 1]} {date.year}"
    if days == 0:
        return TimeSpan(f"{day} is today.", 0, date)
    length = _length(abs(days))
    return TimeSpan(f"It is {length} until {day}." if days > 0 else f"{day} was {length} ago.", days, date)


def _length(days: int) -> str:
    """Return a length such as `41 days (5 weeks and 6 days)`."""
    said = f"{days} day{'s' if days != 1 else ''}"
    weeks, rest = divmod(days, 7)
    if weeks == 0:
        return said
    parts = [f"{weeks} week{'s' if weeks != 1 else ''}"]
    if rest:
        parts.append(f"{rest} day{'s' if rest != 1 else ''}")
    return f"{said} ({' and '.join(parts)})"


TOOLS = (current_time, time_until)
