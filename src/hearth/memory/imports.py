"""Mail, calendars, notes, chats and photos brought in as events: streamed, so that a file may be larger than memory.

What was imported once is known by its content and never added again. Every event carries where it comes from: a mail,
an invitation, a chat are `message`, notes `file`, photos `sensor`; never the owner, since a name in a file can be
written by anyone and a line in a message can look like another message. So no import makes a fact by itself.

Covered: mbox and Maildir and single `.eml`, iCalendar, folders of `.txt` and `.md`, WhatsApp's text in its formats of
dates, Telegram's `result.json`, chats as JSON lines (`timestamp`, `sender`, `body`, as from Signal's exporters), times
and places in JPEG, PNG, WebP and TIFF. What cannot be read is counted and named with file and line; the rest is read.
Not covered: attachments, repeated occurrences of a calendar's series (each series is one event), voice messages, HEIC.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import mailbox
import os
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hearth.errors import RequestError
from hearth.memory.events import EventMemory, NewEvent
from hearth.store import Store
from hearth.tools.contentlines import parse, unescape
from hearth.tools.ical import in_zone, span
from hearth.tools.messages import read_body, read_head
from hearth.types import Label

BATCH = 500
MAX_TEXT_CHARACTERS = 20_000
"""Of one event; the rest of a longer text is left out."""
MAX_BAD_SHOWN = 20
_MAX_RECORD_BYTES = 2_000_000
"""Of one mail or calendar entry; attachments lie behind it."""
_MAX_JSON_CHARACTERS = 4_000_000
_NOTE_CHARACTERS = 2_000
MESSAGE, FILE, SENSOR = (Label(frozenset({source}), frozenset()) for source in ("message", "file", "sensor"))


@dataclass(frozen=True, slots=True)
class Source:
    """What is imported, and how it is read."""

    path: Path
    kind: str
    """`mail`, `calendar`, `notes`, `whatsapp`, `telegram`, `lines` or `photos`."""
    zone: dt.tzinfo
    """Of times without one."""
    is_month_first: bool = False
    """Whether 3/5 is the 5th of March where a file leaves it open."""


@dataclass(slots=True)
class Report:
    """What became of an import so far."""

    n_new: int = 0
    n_known: int = 0
    n_bad: int = 0
    bad: list[str] = field(default_factory=list)
    """The first few, with file and line."""
    n_bytes: int = 0
    """Read so far."""


@dataclass(frozen=True, slots=True)
class _Bad:
    where: str
    why: str


_NOTHING = _Bad("", "")
"""Only bytes were read."""
_Item = tuple[int, "NewEvent | _Bad"]
"""Bytes read since the last one, and what was read."""


def imported(source: Source, memory: EventMemory, store: Store, report: Report) -> Iterator[tuple[NewEvent, ...]]:
    """Bring in everything, some hundreds of events at a time; yields those that were new once they are on disk.

    Stopped anywhere, what was yielded is kept and the rest is not there; the same import then carries on.

    Args:
        report: Is brought up to date before each batch is yielded.
    Raises:
        OSError: It cannot be read. StoreError: The batch was not written.
    """
    waiting: dict[str, NewEvent] = {}
    for n_bytes, item in _READERS[source.kind](source):
        report.n_bytes += n_bytes
        if item is _NOTHING:
            continue
        if isinstance(item, _Bad):
            report.n_bad += 1
            if len(report.bad) < MAX_BAD_SHOWN:
                report.bad.append(f"{item.where}: {item.why}")
            continue
        report.n_known += item.key in waiting
        waiting.setdefault(item.key, item)
        if len(waiting) >= BATCH:
            yield _written(waiting, memory, store, report)
            waiting = {}
    yield _written(waiting, memory, store, report)


def _written(waiting: dict[str, NewEvent], memory: EventMemory, store: Store, report: Report) -> tuple[NewEvent, ...]:
    marks = ",".join("?" * len(waiting))
    known = {row[0] for row in store.query(f"SELECT id FROM event WHERE id IN ({marks})", list(waiting))}  # noqa: S608 - question marks only
    new = tuple(event for key, event in waiting.items() if key not in known)
    if new:
        memory.remember_all(new)
    report.n_new += len(new)
    report.n_known += len(known)
    return new


def detect(path: Path) -> str:
    """Which kind `path` is. Raises: RequestError: it cannot be told."""
    if path.is_dir():
        if (path / "cur").is_dir() or (path / "new").is_dir():
            return "mail"
        counts = {"calendar": 0, "notes": 0, "photos": 0, "mail": 0}
        for _, found in zip(range(2_000), _files(path, ""), strict=False):
            for kind, endings in _ENDINGS.items():
                counts[kind] += found.suffix.lower() in endings
        kind, n = max(counts.items(), key=lambda pair: pair[1])
        if n:
            return kind
    elif path.suffix.lower() in (".jsonl", ".ndjson"):
        return "lines"
    else:
        with path.open("rb") as file:
            head = file.read(20_000)
        if head.startswith(b"From "):
            return "mail"
        if path.suffix.lower() == ".json" or (head.lstrip()[:1] == b"{" and b'"messages"' in head):
            return "telegram"
        if path.suffix.lower() == ".txt" and any(_CHAT_LINE.match(_plain(line)) for line in _lines_of(head)):
            return "whatsapp"
        for kind, endings in _ENDINGS.items():
            if path.suffix.lower() in endings:
                return kind
    raise RequestError(f"cannot tell what {str(path)!r} is; say it with --as, e.g. --as mail or --as whatsapp")


_ENDINGS = {
    "calendar": (".ics",),
    "notes": (".txt", ".md", ".markdown"),
    "photos": (".jpg", ".jpeg", ".png", ".webp", ".tif", ".tiff"),
    "mail": (".mbox", ".eml"),
}


def size_bytes(path: Path) -> int:
    """How much there is to read; folders in sum."""
    return path.stat().st_size if path.is_file() else sum(found.stat().st_size for found in _files(path, ""))


def _files(path: Path, kind: str) -> Iterator[Path]:
    """Files of a kind below a folder (or the file itself), sorted; links and hidden folders are left out."""
    if path.is_file():
        yield path
        return
    for folder, names, files in os.walk(path):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in sorted(files):
            found = Path(folder, name)
            is_wanted = not kind or found.suffix.lower() in _ENDINGS[kind]
            if is_wanted and not found.is_symlink() and found.is_file():
                yield found


def _key(*parts: object) -> str:
    return "import:" + hashlib.sha256("\x1f".join(map(str, parts)).encode(errors="replace")).hexdigest()[:32]


def _lines_of(data: bytes) -> list[str]:
    return data.decode("utf-8-sig", errors="replace").splitlines()


# ── Mail ──────────────────────────────────────────────────────────────────────────────────────────────────


def _mail(source: Source) -> Iterator[_Item]:
    path = source.path
    if path.is_dir() and ((path / "cur").is_dir() or (path / "new").is_dir()):
        maildir = mailbox.Maildir(path, create=False)
        folders = [maildir, *(maildir.get_folder(name) for name in maildir.list_folders())]
        for folder in folders:
            for name in sorted(folder.keys()):
                place = Path(str(folder._path), folder._lookup(name))  # type: ignore[attr-defined] # the library's own reading loads attachments whole
                if not place.is_symlink():
                    yield from _mail_file(place)
        return
    for found in _files(path, "mail"):
        with found.open("rb") as file:
            is_mbox = file.read(5) == b"From "
        yield from (_mbox(found) if is_mbox else _mail_file(found))


def _mail_file(path: Path) -> Iterator[_Item]:
    with path.open("rb") as file:
        raw = file.read(_MAX_RECORD_BYTES)
    yield path.stat().st_size, _mail_event(raw, str(path))


def _mbox(path: Path) -> Iterator[_Item]:
    """Messages between `From ` lines that follow a blank one."""
    raw = bytearray()
    n_read, n_line, began_line, was_blank = 0, 0, 1, True
    with path.open("rb") as file:
        while line := file.readline(1_000_000):
            n_line += 1
            if line.startswith(b"From ") and was_blank:
                if raw.strip():
                    yield n_read, _mail_event(bytes(raw), f"{path}, line {began_line}")
                    n_read = 0
                raw.clear()
                began_line = n_line
            elif len(raw) < _MAX_RECORD_BYTES:
                raw += line[1:] if line.startswith(b">From ") else line
            n_read += len(line)
            was_blank = not line.strip()
    if raw.strip():
        yield n_read, _mail_event(bytes(raw), f"{path}, line {began_line}")


def _mail_event(raw: bytes, where: str) -> NewEvent | _Bad:
    head = read_head(raw)
    if head.date is None:
        return _Bad(where, "a mail without a date")
    body = read_body(raw).text
    text = "\n".join(part for part in (head.subject, body) if part).strip()
    if not text:
        return _Bad(where, "a mail without subject and text")
    identity = head.message_id or hashlib.sha256(raw).hexdigest()
    thread = head.references[0] if head.references else head.message_id
    return NewEvent(
        key=_key("mail", identity),
        text=text[:MAX_TEXT_CHARACTERS],
        kind="message",
        at=head.date,
        label=MESSAGE,
        person=head.sender_name or head.sender,
        thread=f"mail {thread}" if thread else "",
    )


# ── Calendars ─────────────────────────────────────────────────────────────────────────────────────────────


def _calendar(source: Source) -> Iterator[_Item]:
    for path in _files(source.path, "calendar"):
        zones = b""
        kept: list[bytes] = []
        part, began_line, n_read, n_kept = b"", 0, 0, 0
        with path.open("rb") as file:
            for n_line, line in enumerate(iter(lambda file=file: file.readline(1_000_000), b""), 1):  # type: ignore[misc]
                n_read += len(line)
                low = line.strip().upper()
                if low in (b"BEGIN:VEVENT", b"BEGIN:VTIMEZONE"):
                    part, kept, began_line, n_kept = low[6:], [], n_line, 0
                if part and n_kept < _MAX_RECORD_BYTES:
                    kept.append(line)
                    n_kept += len(line)
                if part and low == b"END:" + part:
                    if part == b"VTIMEZONE" and len(zones) < _MAX_RECORD_BYTES:
                        zones += b"".join(kept)
                    elif part == b"VEVENT":
                        yield n_read, _calendar_event(zones, b"".join(kept), source, f"{path}, line {began_line}")
                        n_read = 0
                    part = b""
        if part:
            yield n_read, _Bad(f"{path}, line {began_line}", f"{part.decode().lower()} is not ended")


def _calendar_event(zones: bytes, raw: bytes, source: Source, where: str) -> NewEvent | _Bad:
    document = parse(b"BEGIN:VCALENDAR\r\n" + zones + raw + b"END:VCALENDAR\r\n")
    component = next((c for root in document.components("VCALENDAR") for c in root.components("VEVENT")), None)
    if component is None:
        return _Bad(where, "an event that cannot be read")
    try:
        start = in_zone(span(component, document)[0], source.zone)
    except ValueError as error:
        return _Bad(where, str(error))
    title, place, notes = (unescape(component.text(name) or "") for name in ("SUMMARY", "LOCATION", "DESCRIPTION"))
    text = " · ".join(part.strip() for part in (title, place, notes) if part.strip())
    if not text:
        return _Bad(where, "an event without a title")
    organiser = component.line("ORGANIZER")
    return NewEvent(
        key=_key("calendar", component.text("UID") or text, component.text("RECURRENCE-ID"), start.isoformat()),
        text=text[:MAX_TEXT_CHARACTERS],
        kind="calendar",
        at=start,
        label=MESSAGE,
        person=(organiser.parameter("CN") if organiser is not None else ""),
        place=place.strip()[:200],
    )


# ── Notes ─────────────────────────────────────────────────────────────────────────────────────────────────


def _notes(source: Source) -> Iterator[_Item]:
    for path in _files(source.path, "notes"):
        changed = dt.datetime.fromtimestamp(path.stat().st_mtime, source.zone)
        named = re.search(r"\b(\d{4})-(\d\d)-(\d\d)\b", path.name)
        if named is not None:
            try:
                changed = dt.datetime(int(named[1]), int(named[2]), int(named[3]), tzinfo=source.zone)
            except ValueError:
                named = None
        for n_bytes, piece in _pieces(path):
            if "\0" in piece:
                yield n_bytes, _Bad(str(path), "no text: it holds zero bytes")
                break
            key = _key("note", path.name, piece)
            yield n_bytes, NewEvent(key, piece, "note", changed, FILE, thread=f"note {path.stem}"[:200])


def _pieces(path: Path) -> Iterator[tuple[int, str]]:
    """A text in pieces of some paragraphs."""
    kept: list[str] = []
    n_characters = n_bytes = 0
    with path.open("rb") as file:
        while raw := file.readline(100_000):
            line = raw.decode("utf-8-sig", errors="replace")
            n_bytes += len(raw)
            if (n_characters > _NOTE_CHARACTERS and not line.strip()) or n_characters > MAX_TEXT_CHARACTERS // 2:
                yield n_bytes, "".join(kept).strip()
                kept, n_characters, n_bytes = [], 0, 0
            kept.append(line)
            n_characters += len(line)
    if rest := "".join(kept).strip():
        yield n_bytes, rest


# ── Chats ─────────────────────────────────────────────────────────────────────────────────────────────────

_INVISIBLE = re.compile("[\u200e\u200f\u202a-\u202e\ufeff]")
_CHAT_LINE = re.compile(
    r"\[?(?P<a>\d{1,4})[./-](?P<b>\d{1,2})[./-](?P<c>\d{1,4}),? (?P<h>\d{1,2})[:.](?P<m>\d\d)(?:[:.](?P<s>\d\d))?"
    r"(?: ?(?P<half>[AaPp])\.?\s?[Mm]\.?)?(?:\] | - |\]? [-–] )(?P<rest>.*)"
)
_SAYS = re.compile(r"(?P<who>[^:]{1,100}): (?P<text>.*)", re.S)


def _plain(line: str) -> str:
    return _INVISIBLE.sub("", line).replace("\u202f", " ").replace("\u00a0", " ")


def _whatsapp(source: Source) -> Iterator[_Item]:
    for path in _files(source.path, "notes"):
        order = _order(path, source.is_month_first)
        said: re.Match[str] | None = None
        more: list[str] = []
        n_said_at = n_read = n_characters = 0
        seen: dict[tuple[str, str], int] = {}
        minute = ""
        with path.open("rb") as file:
            for n_line, raw in enumerate(iter(lambda file=file: file.readline(100_000), b""), 1):  # type: ignore[misc]
                n_read += len(raw)
                line = _plain(raw.decode("utf-8-sig", errors="replace").rstrip("\r\n"))
                found = _CHAT_LINE.match(line)
                if found is None:
                    if said is None and line.strip():
                        yield n_read, _Bad(f"{path}, line {n_line}", f"no date and name before {line[:40]!r}")
                        n_read = 0
                    elif n_characters < MAX_TEXT_CHARACTERS:
                        more.append(line)
                        n_characters += len(line)
                    continue
                if said is not None:
                    yield from _chat_event(said, more, order, source, path, n_said_at, seen, n_read)
                    n_read = 0
                said, more, n_said_at, n_characters = found, [], n_line, len(line)
                if (now := found.group(0)[:17]) != minute:
                    seen, minute = {}, now
            if said is not None:
                yield from _chat_event(said, more, order, source, path, n_said_at, seen, n_read)


def _order(path: Path, is_month_first: bool) -> str:
    """`dmy`, `mdy` or `ymd`: what the first thousands of lines show, else the country's."""
    with path.open("rb") as file:
        for _, raw in zip(range(5_000), iter(lambda: file.readline(100_000), b""), strict=False):
            if found := _CHAT_LINE.match(_plain(raw.decode("utf-8-sig", errors="replace"))):
                if len(found["a"]) == 4:
                    return "ymd"
                if int(found["a"]) > 12:
                    return "dmy"
                if int(found["b"]) > 12:
                    return "mdy"
    return "mdy" if is_month_first else "dmy"


def _chat_event(
    said: re.Match[str],
    more: list[str],
    order: str,
    source: Source,
    path: Path,
    n_line: int,
    seen: dict[tuple[str, str], int],
    n_bytes: int,
) -> Iterator[_Item]:
    spoken = _SAYS.match(said["rest"])
    if spoken is None:
        return  # the service's own notices: "Messages are end-to-end encrypted"
    try:
        numbers = dict(zip(order, (int(said[name]) for name in "abc"), strict=True))
        hour = int(said["h"]) % 12 + 12 * (said["half"] in ("p", "P")) if said["half"] else int(said["h"])
        year = numbers["y"] + 2000 if numbers["y"] < 100 else numbers["y"]
        at = dt.datetime(
            *(year, numbers["m"], numbers["d"], hour, int(said["m"]), int(said["s"] or 0)), tzinfo=source.zone
        )
    except ValueError as error:
        yield n_bytes, _Bad(f"{path}, line {n_line}", f"{said.group(0)[:30]!r}: {error}")
        return
    text = "\n".join([spoken["text"], *more]).strip()[:MAX_TEXT_CHARACTERS]
    if text:
        who = spoken["who"].strip()
        n_same = seen[who, text] = seen.get((who, text), 0) + 1
        key = _key("whatsapp", path.stem, at.isoformat(), who, text, n_same)
        yield n_bytes, NewEvent(key, text, "message", at, MESSAGE, who, thread=f"chat {path.stem}"[:200])


_MESSAGES = re.compile(r'(?<!\\)"messages"\s*:\s*\[')
_CHAT_NAME = re.compile(r'(?<!\\)"name"\s*:\s*("(?:[^"\\]|\\.)*")')


def _telegram(source: Source) -> Iterator[_Item]:
    """Every object in each list called `messages`, one at a time."""
    decoder = json.JSONDecoder()
    for path in [source.path] if source.path.is_file() else sorted(source.path.rglob("result.json")):
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            text, chat, is_inside, n_message = "", "", False, 0
            while True:
                chunk = file.read(1 << 16)
                text += chunk
                place = 0
                while True:
                    if not is_inside:
                        begins = _MESSAGES.search(text, place)
                        head = text[place : begins.start() if begins else len(text)]
                        for name in _CHAT_NAME.finditer(head):
                            chat = str(json.loads(name[1]))
                        if begins is None:
                            place = max(place, len(text) - 2_000) if chunk else len(text)
                            break
                        place, is_inside = begins.end(), True
                    rest = re.compile(r"[\s,]*").match(text, place)
                    place = rest.end() if rest else place
                    if text[place : place + 1] == "]":
                        place, is_inside = place + 1, False
                        continue
                    try:
                        message, place = decoder.raw_decode(text, place)
                    except ValueError:
                        break  # the object goes on in the next chunk
                    n_message += 1
                    where = f"{path}, message {n_message}"
                    if (item := _telegram_event(message, chat, source, where)) is not None:
                        yield 0, item
                text = text[place:]
                if not chunk or len(text) > _MAX_JSON_CHARACTERS:
                    if text.strip(" \r\n]}") and is_inside:
                        yield 0, _Bad(f"{path}, after message {n_message}", "what follows is no JSON; it is left out")
                    break
                yield len(chunk), _NOTHING


def _telegram_event(message: Any, chat: str, source: Source, where: str) -> NewEvent | _Bad | None:
    if not isinstance(message, dict):
        return _Bad(where, "no message")
    if message.get("type") != "message":
        return None  # someone joined, a call
    parts = message.get("text")
    pieces = parts if isinstance(parts, list) else [parts]
    text = "".join(str(p.get("text", "") if isinstance(p, dict) else p or "") for p in pieces).strip()
    if not text:
        return None  # a picture, a voice message
    at = _time(message.get("date_unixtime") or message.get("date"), source.zone)
    if at is None:
        return _Bad(where, f"no time in {str(message.get('date'))[:40]!r}")
    key = _key("telegram", chat, message.get("id"), at.isoformat(), text)
    who = str(message.get("from") or message.get("from_id") or "")[:200]
    return NewEvent(key, text[:MAX_TEXT_CHARACTERS], "message", at, MESSAGE, who, thread=f"chat {chat}"[:200])


def _json_lines(source: Source) -> Iterator[_Item]:
    for path in [source.path] if source.path.is_file() else sorted(source.path.rglob("*.jsonl")):
        with path.open("rb") as file:
            for n_line, raw in enumerate(iter(lambda file=file: file.readline(_MAX_RECORD_BYTES), b""), 1):  # type: ignore[misc]
                if raw.strip():
                    item = _line_event(raw, path, source, f"{path}, line {n_line}")
                    if item is not None:
                        yield len(raw), item


def _line_event(raw: bytes, path: Path, source: Source, where: str) -> NewEvent | _Bad | None:
    try:
        message = json.loads(raw)
    except (ValueError, RecursionError) as error:
        return _Bad(where, f"no JSON: {str(error)[:80]}")
    if not isinstance(message, dict):
        return _Bad(where, "no JSON object")
    text = _first(message, "body", "text", "message", "content")
    if not text.strip():
        return None
    given = next((message[k] for k in ("timestamp", "sent_at", "sentAt", "date", "time") if message.get(k)), None)
    at = _time(given, source.zone)
    if at is None:
        return _Bad(where, f"no time; expected `timestamp` in seconds, milliseconds or ISO 8601, found {given!r:.40}")
    who = _first(message, "sender", "from", "author", "source", "name")
    thread = _first(message, "conversation", "conversationId", "chat", "group", "thread") or path.stem
    identity = message.get("id") or message.get("uuid") or (at.isoformat(), who, text)
    return NewEvent(
        *(_key("lines", thread, identity), text.strip()[:MAX_TEXT_CHARACTERS], "message", at, MESSAGE, who[:200]),
        thread=f"chat {thread}"[:200],
    )


def _first(message: dict[str, Any], *names: str) -> str:
    return next((value for name in names if isinstance(value := message.get(name), str) and value), "")


def _time(value: object, zone: dt.tzinfo) -> dt.datetime | None:
    """Seconds or milliseconds since 1970, or ISO 8601; times without a zone are the owner's."""
    try:
        if isinstance(value, str) and not value.strip().lstrip("-").isdigit():
            moment = dt.datetime.fromisoformat(value.strip())
            return moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            seconds = float(value)
            return dt.datetime.fromtimestamp(seconds / 1000 if abs(seconds) > 1e11 else seconds, dt.UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


# ── Photos ────────────────────────────────────────────────────────────────────────────────────────────────

_EXIF_IFD, _GPS_IFD = 0x8769, 0x8825
_TAKEN, _OFFSET, _CHANGED = 0x9003, 0x9011, 0x0132


def _photos(source: Source) -> Iterator[_Item]:
    for path in _files(source.path, "photos"):
        yield path.stat().st_size, _photo_event(path, source)


def _photo_event(path: Path, source: Source) -> NewEvent | _Bad:
    from PIL import Image  # a tenth of a second; only photos need it

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd files; the picture itself is never decoded
            with Image.open(path) as image:
                exif = image.getexif()
                details, gps = exif.get_ifd(_EXIF_IFD), exif.get_ifd(_GPS_IFD)
        taken = str(details.get(_TAKEN) or exif.get(_CHANGED) or "").strip("\0 ")
        at = dt.datetime.strptime(taken, "%Y:%m:%d %H:%M:%S").replace(tzinfo=_offset(details.get(_OFFSET), source.zone))
    except Exception as error:  # a third-party parser on foreign bytes: whatever it raises, the file is named
        why = "no time of taking in it" if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        return _Bad(str(path), why[:120])
    place = _place(gps)
    text = f"photo {path.stem}" + (f" at {place}" if place else "")
    return NewEvent(_key("photo", path.name, taken, place), text, "photo", at, SENSOR, place=place)


def _offset(text: object, zone: dt.tzinfo) -> dt.tzinfo:
    found = re.fullmatch(r"([+-])(\d\d):(\d\d)\0?", str(text or ""))
    if found is None:
        return zone
    return dt.timezone((1 if found[1] == "+" else -1) * dt.timedelta(hours=int(found[2]), minutes=int(found[3])))


def _place(gps: dict[Any, Any]) -> str:
    """`52.5163, 13.3777`, or empty."""
    try:
        latitude, longitude = (
            sum(float(part) / 60**k for k, part in enumerate(gps[tag])) * (-1 if str(gps[tag - 1]) in "SW" else 1)
            for tag in (2, 4)
        )
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return ""
    if not (abs(latitude) <= 90 and abs(longitude) <= 180):
        return ""
    return f"{latitude:.4f}, {longitude:.4f}"


_READERS: dict[str, Callable[[Source], Iterator[_Item]]] = {
    "mail": _mail,
    "calendar": _calendar,
    "notes": _notes,
    "whatsapp": _whatsapp,
    "telegram": _telegram,
    "lines": _json_lines,
    "photos": _photos,
}
