"""Imports mail, calendars, notes, chats and photos as events: streamed, so that a file may be larger than memory.

Items imported before are recognised by their content and never added again. Every event carries its source: a mail, an
invitation, a chat are `message`, notes `file`, photos `sensor`; never the owner, since a name in a file can be written
by anyone and a line in a message can look like another message. So no import makes a fact by itself.

Covered: mbox and Maildir and single `.eml`, iCalendar, folders of `.txt` and `.md`, WhatsApp's text in its date
formats, Telegram's exports (JSON and pages), Signal's own and other chats as JSON lines (`timestamp`, `sender`,
`body`), times and places in JPEG, PNG, WebP and TIFF. What cannot be read is counted and named with file and line;
the rest is read.
Not covered: attachments, repeated occurrences of a calendar's series (each series is one event), voice messages, HEIC.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from hearth.errors import MissingExtraError, RequestError
from hearth.formats.content_lines import parse, unescape
from hearth.memory.event_memory import EventMemory, NewEvent
from hearth.memory.facts.fact_dates import is_tellable
from hearth.memory.transfer.chat_exports import CHAT_READERS, chat_kind
from hearth.memory.transfer.import_sources import (
    ENDINGS,
    FILE,
    MAX_RECORD_BYTES,
    MAX_TEXT_CHARACTERS,
    MESSAGE,
    NOTHING,
    SENSOR,
    Bad,
    Item,
    LeftOut,
    Source,
    files_of,
    key_of,
)
from hearth.storage.database import Store
from hearth.tools.mail.mime import read_body, read_head
from hearth.tools.pim.ical import in_zone, span

BATCH = 500
MAX_BAD_SHOWN = 20
_NOTE_CHARACTERS = 2_000


@dataclass(slots=True)
class Report:
    """Progress of an import so far."""

    n_new: int = 0
    n_known: int = 0
    n_bad: int = 0
    bad: list[str] = field(default_factory=list)
    """The first few, with file and line."""
    left_out: Counter[str] = field(default_factory=Counter)
    """By what it is; of chats."""
    n_bytes: int = 0
    """Bytes read so far."""


def imported(source: Source, memory: EventMemory, store: Store, report: Report) -> Iterator[tuple[NewEvent, ...]]:
    """Import everything, some hundreds of events at a time; yield those that were new once they are on disk.

    If stopped anywhere, what was yielded is kept and the rest is missing; the same import then continues.

    Args:
        report: Updated before each batch is yielded.
    Raises:
        OSError: It cannot be read. StoreError: The batch was not written.
    """
    waiting: dict[str, NewEvent] = {}
    for n_bytes, item in _READERS[source.kind](source):
        report.n_bytes += n_bytes
        if item is NOTHING:
            continue
        if isinstance(item, LeftOut):
            report.left_out[item.value] += 1
            continue
        if not isinstance(item, Bad) and not is_tellable(item.at):
            item = Bad(f"{source.path}, {item.text[:40]!r}", f"the year {item.at.year}; expected one from 2 to 9998")
        if isinstance(item, Bad):
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
    """Detect the kind of `path`. Raises: RequestError: it cannot be told."""
    if path.is_dir():
        if (path / "cur").is_dir() or (path / "new").is_dir():
            return "mail"
        counts = {"calendar": 0, "notes": 0, "photos": 0, "mail": 0}
        for _, found in zip(range(2_000), files_of(path, ""), strict=False):
            for kind, endings in ENDINGS.items():
                counts[kind] += found.suffix.lower() in endings
        kind, n = max(counts.items(), key=lambda pair: pair[1])
        if n:
            return kind
    else:
        with path.open("rb") as file:
            head = file.read(20_000)
        if head.startswith(b"From "):
            return "mail"
        if kind := chat_kind(path.name, head):
            return kind
        for kind, endings in ENDINGS.items():
            if path.suffix.lower() in endings:
                return kind
    raise RequestError(f"cannot tell what {str(path)!r} is; say it with --as, e.g. --as mail or --as whatsapp")


def size_bytes(path: Path) -> int:
    """Sum the bytes to read; for a folder, of all its files."""
    return path.stat().st_size if path.is_file() else sum(found.stat().st_size for found in files_of(path, ""))


# ── Mail ──────────────────────────────────────────────────────────────────────────────────────────────────


def _mail(source: Source) -> Iterator[Item]:
    path = source.path
    if path.is_dir() and ((path / "cur").is_dir() or (path / "new").is_dir()):
        boxes = [path, *sorted(place for place in path.glob(".[!.]*") if place.is_dir() and not place.is_symlink())]
        # `new` of a folder that Hearth itself made is missing until something is delivered there.
        for part in (box / name for box in boxes for name in ("cur", "new")):
            for place in sorted(part.iterdir()) if part.is_dir() else ():
                if place.is_file() and not place.is_symlink() and not place.name.startswith("."):
                    yield from _mail_file(place)
        return
    for found in files_of(path, "mail"):
        with found.open("rb") as file:
            is_mbox = file.read(5) == b"From "
        yield from (_mbox(found) if is_mbox else _mail_file(found))


def _mail_file(path: Path) -> Iterator[Item]:
    with path.open("rb") as file:
        raw = file.read(MAX_RECORD_BYTES)
    yield path.stat().st_size, _mail_event(raw, str(path))


def _mbox(path: Path) -> Iterator[Item]:
    with path.open("rb") as file:
        for n_bytes, raw, n_line in mbox_messages(file, MAX_RECORD_BYTES):
            yield n_bytes, _mail_event(raw, f"{path}, line {n_line}")


def mbox_messages(file: IO[bytes], n_most: int) -> Iterator[tuple[int, bytes, int]]:
    """Yield the messages between `From ` lines that follow a blank one: bytes read, the message, its first line.

    Args:
        n_most: Bytes of a longer message that are kept, by a line more.
    """
    raw = bytearray()
    n_read, n_line, began_line, was_blank = 0, 0, 1, True
    while line := file.readline(1_000_000):
        n_line += 1
        if line.startswith(b"From ") and was_blank:
            if raw.strip():
                yield n_read, bytes(raw), began_line
                n_read = 0
            raw.clear()
            began_line = n_line
        elif len(raw) < n_most:
            raw += line[1:] if line.startswith(b">From ") else line
        n_read += len(line)
        was_blank = not line.strip()
    if raw.strip():
        yield n_read, bytes(raw), began_line


def _mail_event(raw: bytes, where: str) -> NewEvent | Bad:
    head = read_head(raw)
    if head.date is None:
        return Bad(where, "a mail without a date")
    body = read_body(raw)
    if body.fault:
        return Bad(where, f"a mail whose text cannot be read ({body.fault})")
    text = "\n".join(part for part in (head.subject, body.text) if part).strip()
    if not text:
        return Bad(where, "a mail without subject and text")
    identity = head.message_id or hashlib.sha256(raw).hexdigest()
    thread = head.references[0] if head.references else head.message_id
    return NewEvent(
        key=key_of("mail", identity),
        text=text[:MAX_TEXT_CHARACTERS],
        kind="message",
        at=head.date,
        label=MESSAGE,
        person=head.sender_name or head.sender,
        thread=f"mail {thread}" if thread else "",
    )


# ── Calendars ─────────────────────────────────────────────────────────────────────────────────────────────


def _calendar(source: Source) -> Iterator[Item]:
    for path in files_of(source.path, "calendar"):
        zones = b""
        kept: list[bytes] = []
        part, began_line, n_read, n_kept = b"", 0, 0, 0
        with path.open("rb") as file:
            for n_line, line in enumerate(iter(lambda file=file: file.readline(1_000_000), b""), 1):  # type: ignore[misc]
                n_read += len(line)
                low = line.strip().upper()
                if low in (b"BEGIN:VEVENT", b"BEGIN:VTIMEZONE"):
                    part, kept, began_line, n_kept = low[6:], [], n_line, 0
                if part and n_kept < MAX_RECORD_BYTES:
                    kept.append(line)
                    n_kept += len(line)
                if part and low == b"END:" + part:
                    if part == b"VTIMEZONE" and len(zones) < MAX_RECORD_BYTES:
                        zones += b"".join(kept)
                    elif part == b"VEVENT":
                        yield n_read, _calendar_event(zones, b"".join(kept), source, f"{path}, line {began_line}")
                        n_read = 0
                    part = b""
        if part:
            yield n_read, Bad(f"{path}, line {began_line}", f"{part.decode().lower()} is not ended")


def _calendar_event(zones: bytes, raw: bytes, source: Source, where: str) -> NewEvent | Bad:
    document = parse(b"BEGIN:VCALENDAR\r\n" + zones + raw + b"END:VCALENDAR\r\n")
    component = next((c for root in document.components("VCALENDAR") for c in root.components("VEVENT")), None)
    if component is None:
        return Bad(where, "an event that cannot be read")
    try:
        start = in_zone(span(component, document)[0], source.zone)
    except ValueError as error:
        return Bad(where, str(error))
    title, place, notes = (unescape(component.text(name) or "") for name in ("SUMMARY", "LOCATION", "DESCRIPTION"))
    text = " · ".join(part.strip() for part in (title, place, notes) if part.strip())
    if not text:
        return Bad(where, "an event without a title")
    organiser = component.line("ORGANIZER")
    return NewEvent(
        key=key_of("calendar", component.text("UID") or text, component.text("RECURRENCE-ID"), start.isoformat()),
        text=text[:MAX_TEXT_CHARACTERS],
        kind="calendar",
        at=start,
        label=MESSAGE,
        person=(organiser.parameter("CN") if organiser is not None else ""),
        place=place.strip()[:200],
    )


# ── Notes ─────────────────────────────────────────────────────────────────────────────────────────────────


def _notes(source: Source) -> Iterator[Item]:
    for path in files_of(source.path, "notes"):
        changed = dt.datetime.fromtimestamp(path.stat().st_mtime, source.zone)
        named = re.search(r"\b(\d{4})-(\d\d)-(\d\d)\b", path.name)
        if named is not None:
            try:
                changed = dt.datetime(int(named[1]), int(named[2]), int(named[3]), tzinfo=source.zone)
            except ValueError:
                named = None
        for n_bytes, piece in _pieces(path):
            if "\0" in piece:
                yield n_bytes, Bad(str(path), "no text: it holds zero bytes")
                break
            key = key_of("note", path.name, piece)
            yield n_bytes, NewEvent(key, piece, "note", changed, FILE, thread=f"note {path.stem}"[:200])


def _pieces(path: Path) -> Iterator[tuple[int, str]]:
    """Yield a text in pieces of some paragraphs."""
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


# ── Photos ────────────────────────────────────────────────────────────────────────────────────────────────

_EXIF_IFD, _GPS_IFD = 0x8769, 0x8825
_TAKEN, _OFFSET, _CHANGED = 0x9003, 0x9011, 0x0132


def _photos(source: Source) -> Iterator[Item]:
    for path in files_of(source.path, "photos"):
        yield path.stat().st_size, _photo_event(path, source)


def _photo_event(path: Path, source: Source) -> NewEvent | Bad:
    try:  # a tenth of a second to import; only photos need it
        from PIL import Image
    except ModuleNotFoundError:
        raise MissingExtraError("reading when photos were taken", "pip install 'hearth-agent[photos]'") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about odd files; the picture itself is never decoded
            with Image.open(path) as image:
                exif = image.getexif()
                details, gps = exif.get_ifd(_EXIF_IFD), exif.get_ifd(_GPS_IFD)
        taken = str(details.get(_TAKEN) or exif.get(_CHANGED) or "").strip("\0 ")
        at = dt.datetime.strptime(taken, "%Y:%m:%d %H:%M:%S").replace(tzinfo=_offset(details.get(_OFFSET), source.zone))
    except Exception as error:  # a third-party parser on foreign bytes: whatever it raises, the file is named
        why = "no time of taking in it" if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        return Bad(str(path), why[:120])
    place = _place(gps)
    text = f"photo {path.stem}" + (f" at {place}" if place else "")
    return NewEvent(key_of("photo", path.name, taken, place), text, "photo", at, SENSOR, place=place)


def _offset(text: object, zone: dt.tzinfo) -> dt.tzinfo:
    found = re.fullmatch(r"([+-])(\d\d):(\d\d)\0?", str(text or ""))
    if found is None:
        return zone
    return dt.timezone((1 if found[1] == "+" else -1) * dt.timedelta(hours=int(found[2]), minutes=int(found[3])))


def _place(gps: dict[Any, Any]) -> str:
    """Write a place as `52.5163, 13.3777`, or empty."""
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


_READERS: dict[str, Callable[[Source], Iterator[Item]]] = {
    "mail": _mail,
    "calendar": _calendar,
    "notes": _notes,
    "photos": _photos,
    **CHAT_READERS,
}
