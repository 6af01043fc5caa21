"""Build the demo home: an invented owner's calendar, reminders, contacts, mail, notes and documents, in real formats.

The same `now` gives the same files, byte for byte. All dates are near `now`, so "tomorrow" has something in it. The
people, their mails and their requests are made up; one mail holds a prompt injection on purpose.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import re
import struct
import tomllib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import format_datetime, formataddr, parseaddr
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, cast
from zoneinfo import ZoneInfo

from hearth.errors import ConfigError, MissingExtraError

Entry = Mapping[str, Any]

ALLOWED = (
    "add_reminder", "set_timer", "complete_reminder", "move_reminder", "add_event", "move_event", "change_event",
    "add_note", "append_to_note", "add_to_list", "remove_from_list", "draft_mail", "draft_reply", "draft_forward",
    "mark_read", "remember", "turn_on", "turn_off", "set_brightness", "set_temperature", "set_volume", "open_blinds",
    "close_blinds", "lock_door",
)  # fmt: skip
"""Tools that the demo owner lets run without asking: their changes can be undone. Sending and deleting still ask."""

_ZONE_YEARS = 2
"""A calendar file carries its time zone's rules (RFC 5545, 3.6.5) for so many years before and after now."""

_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True, slots=True)
class HomeContent:
    """What a home is written from: its settings and its owner's things, with days that are counted from now."""

    owner: Entry
    """`name`, `email`, `time_zone`, `country`."""
    settings: str
    """The text of `hearth.toml`."""
    contacts: Sequence[Entry]
    events: Sequence[Entry]
    reminders: Sequence[Entry]
    mails: Sequence[Entry]
    texts: Mapping[str, bytes]
    """Path below `owner/` → content."""


def build_demo_home(home: Path, now: dt.datetime) -> None:
    """Write the demo owner's home.

    Args:
        home: A folder that is empty or does not exist.
        now: With time zone; every date is counted from it.
    Raises:
        ConfigError: `home` holds something already; nothing was written.
    """
    owner, calendar = _data("owner.toml"), _data("calendar.toml")
    data = files("hearth.demo") / "data"
    texts = {f"{folder}/{path}": text for folder in ("notes", "documents") for path, text in _tree(data / folder)}
    people, mails = _data("contacts.toml")["contact"], _data("mail.toml")["mail"]
    content = HomeContent(owner, _settings(owner), people, calendar["event"], calendar["reminder"], mails, texts)
    write_home(home, content, now)
    now = now.astimezone(ZoneInfo(owner["time_zone"])).replace(microsecond=0)
    root = home / "owner"
    _write(root / "documents" / "photos" / "hut-roof.png", _picture(), now - dt.timedelta(days=12))
    _write(root / "documents" / "old-backup.dat", _noise(20_000), now - dt.timedelta(days=700))


def write_home(home: Path, content: HomeContent, now: dt.datetime) -> None:
    """Write a home from its content, in the formats that other programs read.

    Args:
        home: A folder that is empty or does not exist.
        now: With time zone; every date is counted from it.
    Raises:
        ConfigError: `home` holds something already; nothing was written.
    """
    if home.is_symlink() or (home.exists() and not home.is_dir()):
        raise ConfigError(
            f"{str(home)!r} is a file or a link; the demo home needs an empty folder, so choose another one"
        )
    if home.exists() and any(home.iterdir()):
        raise ConfigError(f"{str(home)!r} is not empty; the demo home needs an empty folder, so choose another one")
    now = now.astimezone(ZoneInfo(content.owner["time_zone"])).replace(microsecond=0)
    people = {entry["key"]: entry for entry in content.contacts}
    root = home / "owner"
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    _write(home / "hearth.toml", content.settings.encode(), now)
    (home / "tools").mkdir()
    for entry in people.values():
        _write(root / "contacts" / f"{entry['key']}.vcf", _card(entry, now), now - dt.timedelta(days=90))
    for number, entry in enumerate(content.events):
        uid = f"{_slug(entry['title'])}-{number:02d}"
        _write(root / "calendar" / f"{uid}.ics", _event(uid, entry, people, now), now - dt.timedelta(days=50))
    for number, entry in enumerate(content.reminders):
        uid = f"{_slug(entry['text'])}-{number:02d}"
        _write(root / "reminders" / f"{uid}.ics", _todo(uid, entry, now), now - dt.timedelta(days=30))
    _write_mail(root / "mail", content.mails, people, content.owner, now)
    for folder in ("notes", "documents"):
        inside = [path for path in sorted(content.texts) if path.startswith(f"{folder}/")]
        for number, path in enumerate(inside):
            _write(root / path, content.texts[path], now - dt.timedelta(days=1 + 5 * number, hours=number))


def _data(name: str) -> dict[str, Any]:
    return tomllib.loads((files("hearth.demo") / "data" / name).read_text(encoding="utf-8"))


def _write(path: Path, content: bytes, modified: dt.datetime) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (modified.timestamp(), modified.timestamp()))


def _tree(folder: Traversable, prefix: str = "") -> Iterable[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _tree(entry, f"{prefix}{entry.name}/")
        else:
            yield prefix + entry.name, entry.read_bytes()


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _settings(owner: Entry) -> str:
    rules = "\n".join(f'[policy.{name}]\nruling = "allow"\n' for name in ALLOWED)
    keys = ("name", "email", "time_zone", "country")
    table = "\n".join(f'{key} = "{owner[key]}"' for key in keys)
    return (
        f"# The demo owner's settings.\n[owner]\n{table}\n\n"
        f"# What can be undone may run unasked; sending and deleting ask, everything that only reads runs.\n{rules}"
        f"\n{_DEVICES}"
    )


_DEVICES = "\n".join(
    f'[[home.device]]\nname = "{name}"\nroom = "{room}"\nkind = "{kind}"\n'
    for name, room, kind in (
        ("ceiling lamp", "kitchen", "lamp"),
        ("coffee machine", "kitchen", "plug"),
        ("floor lamp", "living room", "lamp"),
        ("blinds", "living room", "blinds"),
        ("radiator", "living room", "heating"),
        ("television", "living room", "tv"),
        ("front door", "hall", "lock"),
    )
)


# ── When ──────────────────────────────────────────────────────────────────────────────────────────────────


_NOON = 12


def _day(on: str, now: dt.datetime) -> dt.date:
    """Return a date: `+3` days from now, `1 wed` the Wednesday of next week, `next fri` the coming Friday (today until
    noon), `first -2` the first of the month two months ago."""
    today = now.date()
    if on.startswith("first"):
        months = today.year * 12 + today.month - 1 + int(on.split()[1])
        return dt.date(months // 12, months % 12 + 1, 1)
    if on.startswith("next"):
        ahead = (_WEEKDAYS.index(on.split()[1]) - today.weekday()) % 7
        return today + dt.timedelta(days=ahead or (0 if now.hour < _NOON else 7))
    if " " in on:
        week, weekday = on.split()
        monday = today - dt.timedelta(days=today.weekday()) + dt.timedelta(weeks=int(week))
        return monday + dt.timedelta(days=_WEEKDAYS.index(weekday))
    return today + dt.timedelta(days=int(on))


def _moment(entry: Entry, now: dt.datetime) -> dt.datetime:
    return dt.datetime.combine(_day(entry["on"], now), dt.time.fromisoformat(entry["time"]), now.tzinfo)


def _years_before(day: dt.date, year: int) -> dt.date:
    """Return the same day in another year; 29 February becomes the 28th."""
    return day.replace(year=year, day=min(day.day, 28) if day.month == 2 else day.day)


# ── Contacts (vCard 3.0) ──────────────────────────────────────────────────────────────────────────────────


def _card(entry: Entry, now: dt.datetime) -> bytes:
    try:  # imports half a second of libraries that only the demo needs
        import vobject
    except ModuleNotFoundError:
        raise MissingExtraError("the demo home", "pip install 'hearth-agent[demo]'") from None

    card = vobject.vCard()
    card.add("uid").value = f"demo-{entry['key']}"
    card.add("fn").value = entry["name"]
    card.add("n").value = _name_parts(entry, vobject)
    for nickname in entry.get("nicknames", ()):
        card.add("nickname").value = nickname
    for name, kind in (("email", "INTERNET"), ("phone", "CELL")):
        if name in entry:
            line = card.add("tel" if name == "phone" else "email")
            line.value, line.type_param = entry[name], kind
    if "address" in entry:
        street, _, town = entry["address"].rpartition(", ")
        code, _, city = town.partition(" ")
        line = card.add("adr")
        line.value, line.type_param = vobject.vcard.Address(street=street, city=city, code=code), "HOME"
    born = _birthday(entry, now)
    if born:
        card.add("bday").value = born.isoformat()
    if "organisation" in entry:
        card.add("org").value = [entry["organisation"]]
    for name in ("title", "note"):
        if name in entry:
            card.add(name).value = entry[name]
    return cast(str, card.serialize()).encode()


def _name_parts(entry: Entry, vobject: Any) -> Any:
    """Return a person's name in parts; an organisation's stays whole."""
    if entry.get("is_organisation"):
        return vobject.vcard.Name(family=entry["name"])
    words = entry["name"].split()
    prefix = words.pop(0) if words[0].endswith(".") else ""
    return vobject.vcard.Name(family=words[-1], given=" ".join(words[:-1]), prefix=prefix)


def _birthday(entry: Entry, now: dt.datetime) -> dt.date | None:
    if "birthday_in_days" in entry:
        return _years_before(now.date() + dt.timedelta(days=entry["birthday_in_days"]), entry["birth_year"])
    return dt.date.fromisoformat(entry["birthday"]) if "birthday" in entry else None


# ── Calendar and reminders (iCalendar) ────────────────────────────────────────────────────────────────────


def _event(uid: str, entry: Entry, people: Mapping[str, Entry], now: dt.datetime) -> bytes:
    import icalendar  # only the demo writes with it

    event = icalendar.Event()
    event.add("uid", uid)
    event.add("dtstamp", now.astimezone(dt.UTC))
    if entry.get("all_day"):
        first = _day(entry["on"], now)
        if "years_ago" in entry:
            first = _years_before(first, first.year - entry["years_ago"])
        event.add("dtstart", first)
        event.add("dtend", first + dt.timedelta(days=entry.get("days", 1)))
    else:
        start = _moment(entry, now)
        event.add("dtstart", start)
        event.add("dtend", start + dt.timedelta(minutes=entry["minutes"]))
    event.add("summary", entry["title"])
    for name, value in (("location", entry.get("place")), ("description", entry.get("notes"))):
        if value:
            event.add(name, value)
    for key in entry.get("with", ()):
        if "email" in people[key]:
            attendee = icalendar.vCalAddress(f"mailto:{people[key]['email']}")
            attendee.params["CN"] = icalendar.vText(people[key]["name"])
            event.add("attendee", attendee)
    if "rule" in entry:
        event.add("rrule", icalendar.vRecur.from_ical(entry["rule"]))
    return _document(event, now)


def _todo(uid: str, entry: Entry, now: dt.datetime) -> bytes:
    import icalendar  # only the demo writes with it

    todo = icalendar.Todo()
    due = _moment(entry, now)
    todo.add("uid", uid)
    todo.add("dtstamp", now.astimezone(dt.UTC))
    todo.add("summary", entry["text"])
    todo.add("due", due)
    if "rule" in entry:
        todo.add("dtstart", due)
        todo.add("rrule", icalendar.vRecur.from_ical(entry["rule"]))
    if entry.get("is_done"):
        todo.add("completed", (due + dt.timedelta(minutes=7)).astimezone(dt.UTC))
        todo.add("percent-complete", 100)
    todo.add("status", "COMPLETED" if entry.get("is_done") else "NEEDS-ACTION")
    return _document(todo, now)


def _document(component: Any, now: dt.datetime) -> bytes:
    import icalendar  # only the demo writes with it

    first, last = (dt.date(now.year + years, 1, 1) for years in (-_ZONE_YEARS, _ZONE_YEARS + 1))

    calendar = icalendar.Calendar()
    calendar.add("prodid", "-//Hearth//Demo home//EN")
    calendar.add("version", "2.0")
    calendar.add_component(icalendar.Timezone.from_tzid(str(now.tzinfo), first_date=first, last_date=last))
    calendar.add_component(component)
    return cast(bytes, calendar.to_ical())


# ── Mail (Maildir) ────────────────────────────────────────────────────────────────────────────────────────


def _write_mail(
    maildir: Path, entries: Iterable[Entry], people: Mapping[str, Entry], owner: Entry, now: dt.datetime
) -> None:
    for folder in (maildir, maildir / ".Drafts", maildir / ".Sent"):
        for part in ("cur", "new", "tmp"):
            (folder / part).mkdir(parents=True)
        if folder != maildir:
            _write(folder / "maildirfolder", b"", now)
    for number, entry in enumerate(entries):
        days, clock = entry["ago"].split()
        at = dt.datetime.combine(now.date() - dt.timedelta(days=int(days)), dt.time.fromisoformat(clock), now.tzinfo)
        at = min(at, now - dt.timedelta(minutes=90 - number))
        folder = maildir / f".{entry['folder']}" if "folder" in entry else maildir
        name = f"{int(at.timestamp())}.M{number:06d}P1.demo"
        flags = "".join(sorted(entry["flags"]))
        place = folder / "cur" / f"{name}:2,{flags}" if flags else folder / "new" / name
        _write(place, _message(number, entry, people, owner, at), at)


def _message(number: int, entry: Entry, people: Mapping[str, Entry], owner: Entry, at: dt.datetime) -> bytes:
    message = EmailMessage()
    sender = _address(entry["from"], people, owner)
    message["From"] = sender
    message["To"] = ", ".join(_address(key, people, owner) for key in entry.get("to", ["owner"]))
    message["Subject"] = entry["subject"]
    message["Date"] = format_datetime(at)
    message["Message-ID"] = f"<demo.{number}.{int(at.timestamp())}@{parseaddr(sender)[1].partition('@')[2]}>"
    kind = "html" if entry.get("html") else "plain"
    message.set_content(entry["body"].strip() + "\n", subtype=kind, charset=entry.get("charset", "utf-8"))
    if "attachment" in entry:
        text = entry["attachment_text"].strip() + "\n"
        message.add_attachment(text.encode(), maintype="text", subtype="plain", filename=entry["attachment"])
        message.set_boundary(f"demo-{number}")
    return message.as_bytes()


def _address(key: str, people: Mapping[str, Entry], owner: Entry) -> str:
    """Resolve a key of the contacts, `owner`, or an address already written out."""
    if "@" in key:
        return key
    person = owner if key == "owner" else people[key]
    return formataddr((person["name"], person["email"]))


# ── Files that are no text ────────────────────────────────────────────────────────────────────────────────


def _picture() -> bytes:
    """Return a small PNG: a dark roof under an evening sky."""
    width, height = 64, 48
    rows = bytearray()
    for y in range(height):
        rows.append(0)
        for x in range(width):
            is_roof = y > 14 + abs(x - width // 2) // 2
            rows += bytes((58, 52, 50) if is_roof else (240 - 2 * y, 170 - y, 120 + y))

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def _noise(n_bytes: int) -> bytes:
    """Return bytes that no program can read, the same each time."""
    blocks = (hashlib.sha256(f"demo {n}".encode()).digest() for n in range(n_bytes // 32 + 1))
    return b"".join(blocks)[:n_bytes]
