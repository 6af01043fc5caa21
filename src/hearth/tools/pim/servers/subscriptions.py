"""Calendars that others publish at an address: fetched, cleaned, and kept as copies that are only read.

A copy is in `calendar/subscribed/NAME.ics`; `state.json` beside it says when it was fetched. Whoever publishes a feed
is a stranger: of each event only times, title, place, notes and who comes are kept, its id is made anew, so that it
never passes for an event of the owner's, and what the tools read of it is labelled as from the web. The address may be
a secret: messages and the record of what left name its host alone.

Covered: feeds that do not change (ETag, Last-Modified), redirects (public hosts over TLS that the owner allows),
answers that are too large, drip or never come (the last copy stays, with a notice), feeds that are no calendar or hold
none of it any more, names that were taken out of the settings.
Not covered: tasks and free/busy times in feeds, log-ins, zones named only by X-WR-TIMEZONE.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from hearth.errors import EgressError, HearthError, NotFound, ToolError, TransientToolError, Unreadable
from hearth.formats.bounded_reading import IN_PROCESS_BYTES, Bounds, read_bounded
from hearth.formats.content_lines import Component, Line, escape, new_component, new_line, parse
from hearth.protocols import SECRET_PATH, CallContext
from hearth.tools.pim import ical

if TYPE_CHECKING:  # httpx is imported when something is fetched: it would slow every start
    import httpx

FOLDER = "calendar/subscribed"
STATE = f"{FOLDER}/state.json"
MAX_FEED_BYTES = 10_000_000
MAX_EVENTS = 2_000
"""Of a feed with more events, those that begin last are kept."""
MAX_READ, MAX_RAW_BYTES = 20_000, 200_000
"""Most events of a feed that are read at all, and bytes of one: of what is more nothing is read."""
MAX_SERIES = 200
"""Of events that repeat, which take time whenever they are looked through."""
MAX_EVENT_BYTES = 20_000
MAX_ATTENDEES = 50
MAX_REDIRECTS = 3
FETCH_S = 30.0
"""Time for one feed, however slowly it comes."""
WAITS_S = 10.0
"""How long one part of an answer is waited for."""
PAUSE_AFTER_FAULT_S = 300.0
_BOUNDS = Bounds(cpu_s=20, wait_s=40, n_most_bytes=MAX_EVENTS * MAX_EVENT_BYTES + 10_000_000)
_KEPT = ("DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "EXDATE", "RECURRENCE-ID", "STATUS")
_MARK = b"-//Hearth//subscription//EN"
_TEXTS = {"SUMMARY": 500, "LOCATION": 500, "DESCRIPTION": 4_000}

_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Feed:
    """A published calendar as the settings name it."""

    name: str
    url: str = field(repr=False)
    is_busy: bool
    sync_s: float

    @property
    def path(self) -> str:
        """Its copy in the owner's folder."""
        return f"{FOLDER}/{self.name}.ics"

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def digest(self) -> str:
        """Of what decides the copy; another one, and it is fetched anew."""
        return hashlib.sha256(f"{self.url}\n{self.is_busy}".encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class FeedState:
    """What is known of a feed's copy."""

    digest: str = ""
    etag: str = ""
    last_modified: str = ""
    fetched: str = ""
    """Time at which the server last said how it stands; empty: never."""
    tried: str = ""
    """Time at which it was last asked."""
    fault: str = ""
    """Why the last attempt failed."""
    n_events: int = 0

    @property
    def fetched_at(self) -> dt.datetime | None:
        return _moment(self.fetched)


def feeds_of(settings: Mapping[str, Mapping[str, Any]]) -> tuple[Feed, ...]:
    """Return the feeds that the settings name."""
    tables = settings.get("calendar", {}).get("subscription")
    found = []
    for name, table in (tables if isinstance(tables, Mapping) else {}).items():
        if isinstance(table, Mapping) and table.get("url"):
            sync_s = table.get("sync_s", 3600)
            url = str(table["url"]).strip()
            scheme, _, rest = url.partition("://")
            plain = {"webcal": "https", "webcals": "https"}.get(scheme.lower(), scheme.lower())
            interval_s = float(sync_s) if isinstance(sync_s, int | float) else 3600.0
            found.append(Feed(str(name), f"{plain}://{rest}", bool(table.get("busy")), interval_s))
    return tuple(found)


def is_subscribed(path: str) -> bool:
    """Say whether a file is the copy of a feed."""
    return path.startswith(f"{FOLDER}/")


def states(call: CallContext) -> dict[str, FeedState]:
    """Return what is known of each feed's copy, by name; of a damaged file nothing."""
    try:
        found = {name: FeedState(**state) for name, state in json.loads(call.workspace.read(STATE)).items()}
    except (NotFound, ValueError, TypeError, AttributeError):
        return {}
    texts = ("digest", "etag", "last_modified", "fetched", "tried", "fault")
    is_good = all(isinstance(getattr(one, name), str) for one in found.values() for name in texts)
    return found if is_good and all(isinstance(one.n_events, int) for one in found.values()) else {}


def refresh(call: CallContext) -> bool:
    """Fetch the feeds that are due; say whether any copy changed. Every failure becomes a notice.

    Raises:
        ToolError: The copies cannot be written.
    """
    feeds = feeds_of(call.settings)
    if not call.key or not (feeds or call.workspace.exists(STATE)):
        return False  # whoever only looks gets the last copy
    if not _lock.acquire(timeout=WAITS_S):
        call.notices.append("Published calendars are being fetched; this is the last copy.")
        return False
    try:
        return _refresh(feeds, call)
    finally:
        _lock.release()


def _refresh(feeds: tuple[Feed, ...], call: CallContext) -> bool:
    known = states(call)
    now = dict(known)
    is_changed = _drop_others(feeds, call)
    ends = time.monotonic() + FETCH_S
    for feed in feeds:
        before = known.get(feed.name, FeedState())
        has_copy = before.digest == feed.digest and call.workspace.exists(feed.path)
        if _is_due(feed, before, call.now, has_copy=has_copy) and not call.cancelled.is_set():
            state = before if has_copy else FeedState(digest=feed.digest)
            now[feed.name], data = _asked(feed, state, ends, call)
            if data is not None:
                call.workspace.write(feed.path, data)
                is_changed = True
        if fault := now.get(feed.name, before).fault:
            last = "this is the last copy" if call.workspace.exists(feed.path) else "it is left out"
            call.notices.append(f"The calendar {feed.name!r} could not be fetched ({fault}); {last}.")
    now = {feed.name: now[feed.name] for feed in feeds if feed.name in now}
    if now != known:
        text = json.dumps({name: asdict(state) for name, state in now.items()}, indent=1)
        call.workspace.write(STATE, text.encode())
    return is_changed


def _drop_others(feeds: tuple[Feed, ...], call: CallContext) -> bool:
    """Delete the copies of feeds that the settings name no more."""
    kept = {feed.path for feed in feeds}
    others = [
        path
        for path in call.workspace.list(FOLDER, "*.ics")
        if path not in kept and _MARK in call.workspace.read(path)  # what somebody else put there is not ours
    ]
    for path in others:
        call.workspace.delete(path)
    return bool(others)


def _is_due(feed: Feed, state: FeedState, now: dt.datetime, *, has_copy: bool) -> bool:
    if state.digest != feed.digest:
        return True
    age_s = _age_s(state.fetched, now)
    if has_copy and age_s is not None and 0 <= age_s < feed.sync_s:
        return False
    tried_s = _age_s(state.tried, now) if state.fault else None
    return tried_s is None or not 0 <= tried_s < PAUSE_AFTER_FAULT_S


def _age_s(moment: str, now: dt.datetime) -> float | None:
    at = _moment(moment)
    return (now - at).total_seconds() if at is not None else None


def _moment(text: str) -> dt.datetime | None:
    try:
        at = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo is not None else None


# ── Fetching ──────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Answer:
    data: bytes | None
    """None: unchanged."""
    etag: str = ""
    last_modified: str = ""


def _asked(feed: Feed, state: FeedState, ends: float, call: CallContext) -> tuple[FeedState, bytes | None]:
    """Ask for a feed; return how it stands, and the new copy where it changed."""
    at = call.now.isoformat()
    try:
        answer = _fetched(feed, state, ends, call)
        if answer.data is None:
            return _after(state, tried=at, fetched=at, fault=""), None
        data, n_events = _cleaned(answer.data, feed)
    except (HearthError, ValueError) as error:
        return _after(state, tried=at, fault=str(error)[:300]), None
    new = FeedState(
        digest=feed.digest, etag=answer.etag[:300], last_modified=answer.last_modified[:100], fetched=at, tried=at,
        n_events=n_events,
    )  # fmt: skip
    return new, data


def _after(state: FeedState, *, tried: str, fault: str, fetched: str = "") -> FeedState:
    """Return a state after an attempt that brought nothing new."""
    return replace(state, tried=tried, fault=fault, fetched=fetched or state.fetched)


def _fetched(feed: Feed, state: FeedState, ends: float, call: CallContext) -> _Answer:
    """Raises: TransientToolError, ToolError, EgressError: Nothing was taken over."""
    import httpx

    url = feed.url
    reason = f"fetch the published calendar {feed.name}"
    is_elsewhere = False
    for _ in range(MAX_REDIRECTS + 1):
        # An address that another server names is a stranger's word: it never leads into the house, nor back into it.
        is_elsewhere = is_elsewhere or not _is_same_place(url, feed.url)
        transport = call.egress.transport(reason, is_web=is_elsewhere)
        with httpx.Client(transport=transport, timeout=WAITS_S, follow_redirects=False, trust_env=False) as client:
            answer = _sent(client, url, state, ends, call)
        if isinstance(answer, _Answer):
            return answer
        if urlsplit(url).scheme == "https" and not answer.startswith("https://"):
            raise ToolError(f"{feed.host!r} leads on to an address without encryption; nothing was taken over")
        url = answer
    raise ToolError(f"{feed.host!r} redirects more than {MAX_REDIRECTS} times; check the address")


def _sent(client: httpx.Client, url: str, state: FeedState, ends: float, call: CallContext) -> _Answer | str:
    """Return the answer, or the address that it leads on to. Raises: As `_fetched`."""
    import httpx

    host = urlsplit(url).hostname or ""
    known = {"If-None-Match": state.etag, "If-Modified-Since": state.last_modified}
    headers = {"Accept": "text/calendar, */*;q=0.1", **{name: value for name, value in known.items() if value}}
    data = bytearray()
    try:
        with client.stream("GET", url, headers=headers, extensions={SECRET_PATH: True}) as response:
            status, answered = response.status_code, response.headers
            if status in (301, 302, 303, 307, 308):
                return str(urljoin(url, answered.get("location", "")))
            if status == 304 and (state.etag or state.last_modified):
                return _Answer(None)
            if status != 200:
                raise _refused(host, status)
            for chunk in response.iter_bytes():
                data += chunk
                if len(data) > MAX_FEED_BYTES:
                    raise ToolError(f"{host!r} answered with more than {MAX_FEED_BYTES} bytes; nothing was taken over")
                if time.monotonic() > ends or call.cancelled.is_set():
                    raise TransientToolError(f"{host!r} answers too slowly; nothing was taken over")
    except EgressError:
        raise
    except httpx.HTTPError as error:
        raise TransientToolError(f"{host!r} cannot be reached ({type(error).__name__}); check the network") from None
    except httpx.InvalidURL:
        raise ToolError(f"the address at {host!r} cannot be read; check the address") from None
    return _Answer(bytes(data), answered.get("etag", ""), answered.get("last-modified", ""))


def _refused(host: str, status: int) -> ToolError:
    if status in (429, 500, 502, 503, 504):
        return TransientToolError(f"{host!r} is in trouble (HTTP {status}); it is tried again")
    return ToolError(f"{host!r} does not hand it out (HTTP {status}); check the address")


def _is_same_place(url: str, first: str) -> bool:
    one, other = urlsplit(url), urlsplit(first)
    return (one.scheme, one.netloc) == (other.scheme, other.netloc)


# ── Cleaning ──────────────────────────────────────────────────────────────────────────────────────────────


def _cleaned(data: bytes, feed: Feed) -> tuple[bytes, int]:
    """As `cleaned`; of what is not small in the process for strangers' bytes. Raises: ValueError, Unreadable."""
    if len(data) <= IN_PROCESS_BYTES:
        return cleaned(data, feed)
    options = {"name": feed.name, "is_busy": feed.is_busy}
    said = read_bounded(f"{__name__}:cleaned_pieces", data, _BOUNDS, options)
    n_events, _, copy = said.partition(b"\n")
    return copy, int(n_events)


def cleaned_pieces(data: bytes, options: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the number of events and the cleaned copy, in the process for strangers' bytes. Raises: Unreadable."""
    try:
        copy, n_events = cleaned(data, Feed(options["name"], "", bool(options["is_busy"]), 0.0))
    except ValueError as error:
        raise Unreadable(str(error)) from None
    yield str(n_events).encode() + b"\n"
    yield copy


def cleaned(data: bytes, feed: Feed) -> tuple[bytes, int]:
    """Return a copy that holds only what Hearth reads of a feed, the same bytes for the same events, and their number.

    Raises:
        ValueError: It is no calendar.
    """
    document = parse(data)
    calendars = document.components("VCALENDAR")
    if not calendars:
        raise ValueError("what came is no calendar (no VCALENDAR); check the address")
    events = [event for calendar in calendars for event in calendar.components("VEVENT")][-MAX_READ:]
    events = [event for event in events if sum(len(line.raw) for line in event.lines()) <= MAX_RAW_BYTES]
    series = {event.text("UID") for event in events if ical.repeats(event) or event.line("RECURRENCE-ID")} - {""}
    kept: dict[bytes, tuple[str, Component]] = {}
    for event in events:
        one = _event(event, feed, is_series=event.text("UID") in series)
        if one is not None:
            start = one.line("DTSTART")
            kept.setdefault(one.render(), (start.value if start else "", one))
    ordered = sorted(kept.values(), key=lambda pair: pair[0])
    repeating = [uid for _, one in ordered if ical.repeats(one) for uid in (one.text("UID"),)]
    too_many = set(repeating[:-MAX_SERIES]) - set(repeating[-MAX_SERIES:])
    last = [pair for pair in ordered if pair[1].text("UID") not in too_many][-MAX_EVENTS:]
    zones = {zone.text("TZID"): zone for calendar in calendars for zone in calendar.components("VTIMEZONE")}
    made = [event for _, event in last]
    head = (new_line("VERSION", "2.0"), new_line("PRODID", _MARK.decode()))
    return new_component("VCALENDAR", *head, *_zones(zones, made), *made).render(), len(made)


def _zones(zones: Mapping[str, Component], events: list[Component]) -> Iterator[Component]:
    """Yield the definitions of zones that events name, as far as they can be read."""
    named = {line.parameter("TZID") for event in events for line in event.lines() if line.params}
    for name in sorted(named & zones.keys())[:100]:
        try:
            ical.check_zone(zones[name])
        except ValueError:
            continue
        yield zones[name]


def _event(event: Component, feed: Feed, *, is_series: bool) -> Component | None:
    """Return what is kept of an event; None where it has no start, or its times are endless."""
    start = event.line("DTSTART")
    if start is None:
        return None
    # Some feeds give one id to several events: only those of a series belong together.
    uid = event.text("UID")
    name = uid if is_series or not uid else f"{uid}\n{start.value}"
    digest = hashlib.sha256((name or event.render().hex()).encode("utf-8", "replace")).hexdigest()[:20]
    made = new_component("VEVENT", new_line("UID", f"{feed.name}:{digest}"))
    for line in event.lines():
        if line.name in _KEPT and line.value.isprintable():
            params = {key: line.parameter(key) for key in ("TZID", "VALUE") if line.parameter(key).isprintable()}
            made.add(new_line(line.name, line.value, {key: value for key, value in params.items() if value}))
    for kind, limit in _TEXTS.items():
        if text := event.text(kind).strip():
            made.add(new_line(kind, escape(text[:limit])))
    for line in _attendees(event):
        made.add(line)
    is_free = not feed.is_busy or event.text("TRANSP").upper() == "TRANSPARENT"
    made.add(new_line("TRANSP", "TRANSPARENT" if is_free else "OPAQUE"))
    return made if len(made.render()) <= MAX_EVENT_BYTES else None


def _attendees(event: Component) -> Iterator[Line]:
    for line in list(event.lines("ATTENDEE"))[:MAX_ATTENDEES]:
        if line.value[:7].lower() == "mailto:" and len(line.raw) <= 500 and line.value.isprintable():
            name = line.parameter("CN")
            yield new_line("ATTENDEE", line.value, {"CN": name} if name.isprintable() and name else {})
