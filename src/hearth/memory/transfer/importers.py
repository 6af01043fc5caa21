"""Reads mails, calendars, photos and chats of other programs into memory, each once."""

from __future__ import annotations

import datetime as dt
import enum
import hashlib
import html
import json
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from hearth.errors import MissingExtraError, RequestError
from hearth.formats.content_lines import parse, unescape
from hearth.formats.export_forms import CHAT_LINE, HEAD_BYTES, SAYS, chat_kind, plain_line
from hearth.memory.event_memory import EventMemory, NewEvent
from hearth.memory.facts import is_tellable
from hearth.storage.database import Store
from hearth.tools.mail.mime import read_body, read_head
from hearth.tools.pim.ical import in_zone, span
from hearth.types import Label

# ── Import sources ────────────────────────────────────────────────────────────────────────────────────────
# Defines the sources of an import, and what its readers yield: events, or what could not be read and why.

MAX_TEXT_CHARACTERS = 20_000
"""Limit for one event; the rest of a longer text is left out."""
MAX_RECORD_BYTES = 2_000_000
"""Limit for one mail, calendar entry or line; attachments come after the text."""
MESSAGE, FILE, SENSOR = (Label(frozenset({source}), frozenset()) for source in ("message", "file", "sensor"))


@dataclass(frozen=True, slots=True)
class Source:
    """A source to import, and how it is read."""

    path: Path
    kind: str
    """`mail`, `calendar`, `notes`, `whatsapp`, `telegram`, `lines` or `photos`."""
    zone: dt.tzinfo
    """Zone of times that name none."""
    is_month_first: bool = False
    """True if 3/5 is the 5th of March when a file leaves it open."""


@dataclass(frozen=True, slots=True)
class Bad:
    """Something that cannot be read, with file and line."""

    where: str
    why: str


class LeftOut(enum.Enum):
    """Something that is no event and is counted only; its value says what."""

    NOTICE = "notices in chats (who joined, calls, what was pinned)"
    WORDLESS = "chat messages without words (pictures, voice, stickers)"
    DELETED = "chat messages that were deleted"
    CARD = "contacts and payments sent in chats"


NOTHING = Bad("", "")
"""Marks that only bytes were read."""
Item = tuple[int, "NewEvent | Bad | LeftOut"]
"""Bytes read since the last item, and what was read."""


ENDINGS = {
    "calendar": (".ics",),
    "notes": (".txt", ".md", ".markdown"),
    "photos": (".jpg", ".jpeg", ".png", ".webp", ".tif", ".tiff"),
    "mail": (".mbox", ".eml"),
}
"""File endings, by kind."""


def files_of(path: Path, kind: str) -> Iterator[Path]:
    """Yield files of a kind below a folder (or the file itself), sorted; links and hidden folders are left out."""
    if path.is_file():
        yield path
        return
    for folder, names, files in os.walk(path):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in sorted(files):
            found = Path(folder, name)
            is_wanted = not kind or found.suffix.lower() in ENDINGS[kind]
            if is_wanted and not found.is_symlink() and found.is_file():
                yield found


def key_of(*parts: object) -> str:
    """Make the key of an event from its content: the same content is one event."""
    return "import:" + hashlib.sha256("\x1f".join(map(str, parts)).encode(errors="replace")).hexdigest()[:32]


def time_of(value: object, zone: dt.tzinfo) -> dt.datetime | None:
    """Parse seconds or milliseconds since 1970, or ISO 8601; times without a zone are in the owner's."""
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


# ── Signal export ─────────────────────────────────────────────────────────────────────────────────────────
# Reads Signal's own export of chats: `main.jsonl`, which the apps write at "Export chat history".
#
# Each line is a frame of Signal's backup format in protobuf's JSON: numbers of 64 bits as text, bytes in base64,
# names as in `backup.proto`. The first is the head; people and groups (`recipient`) and their chats (`chat`) come
# before the messages (`chatItem`) that name them by numbers, which mean something in this file only. The form is that
# of libsignal's `JsonExporter` and `backup.proto` of 2026 (looked at: libsignal 0.103, Signal Desktop's
# `exportLocalPlaintextBackup`).
#
# Covered: words of messages, edited ones as they are now, polls, answers to stories. Not covered: pictures, voice
# messages, stickers, contacts, payments, calls and notices, which are counted; messages that disappear, which Signal
# leaves out itself; encrypted backups.

_LEFT_OUT = {
    "updateMessage": LeftOut.NOTICE,
    "remoteDeletedMessage": LeftOut.DELETED,
    "adminDeletedMessage": LeftOut.DELETED,
    "contactMessage": LeftOut.CARD,
    "paymentNotification": LeftOut.CARD,
    "giftBadge": LeftOut.CARD,
}


def is_signal_head(line: object) -> bool:
    """Return whether a JSON line opens an export of Signal."""
    return isinstance(line, dict) and "backupTimeMs" in line and "version" in line


class SignalExport:
    """Reads one export, line after line; keeps the names of people and chats."""

    def __init__(self) -> None:
        self._owner = "me"
        self._people: dict[str, tuple[str, str]] = {}
        """By the number in this file: what identifies them in every export, and their name."""
        self._chats: dict[str, str] = {}
        """By the number in this file: the number of whom the chat is with."""

    def take(self, frame: dict[str, Any], where: str) -> NewEvent | Bad | LeftOut:
        """Return the message of a line, or what the line is instead."""
        for name, value in frame.items():
            if not isinstance(value, dict):
                continue
            if name == "chatItem":
                return self._message(value, where)
            if name == "account":
                self._owner = _joined(value, "givenName", "familyName") or self._owner
            elif name == "recipient":
                self._people[str(value.get("id"))] = self._identity_and_name(value)
            elif name == "chat":
                self._chats[str(value.get("id"))] = str(value.get("recipientId"))
        return NOTHING

    def _message(self, item: dict[str, Any], where: str) -> NewEvent | Bad | LeftOut:
        text = _words(item)
        if not text:
            return next((why for kind, why in _LEFT_OUT.items() if kind in item), LeftOut.WORDLESS)
        at = time_of(item.get("dateSent"), dt.UTC)
        if at is None:
            return Bad(where, f"no time in `dateSent`: {item.get('dateSent')!r:.40}; expected milliseconds since 1970")
        chat_identity, chat = self._people.get(self._chats.get(str(item.get("chatId")), ""), ("", ""))
        identity, who = self._people.get(str(item.get("authorId")), ("", ""))
        if not identity or not chat_identity:
            return Bad(where, "a message by nobody, or in no chat, that the lines before it name")
        key = key_of("signal", chat_identity, identity, item.get("dateSent"), text)
        return NewEvent(key, text[:MAX_TEXT_CHARACTERS], "message", at, MESSAGE, who[:200], thread=f"chat {chat}"[:200])

    def _identity_and_name(self, recipient: dict[str, Any]) -> tuple[str, str]:
        contact, group = _dict(recipient, "contact"), _dict(recipient, "group")
        if contact:
            names = (
                _joined(_dict(contact, "nickname"), "given", "family"),
                _joined(contact, "systemGivenName", "systemFamilyName"),
                _joined(contact, "profileGivenName", "profileFamilyName"),
                f"+{contact['e164']}" if contact.get("e164") else "",
                str(contact.get("username") or ""),
            )
            name = next(filter(None, names), "somebody without a name")
            return str(contact.get("aci") or contact.get("e164") or contact.get("pni") or name), name
        if group:
            title = _dict(_dict(group, "snapshot"), "title").get("title")
            return str(group.get("masterKey") or title), str(title or "a group without a name")
        if "self" in recipient:
            return "self", self._owner
        return next(iter(recipient.keys() - {"id"}), ""), "Signal"


def _words(item: dict[str, Any]) -> str:
    """Return the words of a message; of a poll, its question and what may be chosen."""
    if poll := _dict(item, "poll"):
        options = poll.get("options")
        chosen = [
            str(one.get("option", ""))
            for one in (options if isinstance(options, list) else ())
            if isinstance(one, dict)
        ]
        return "\n".join([str(poll.get("question") or ""), *(f"- {one}" for one in chosen)]).strip()
    answer = _dict(_dict(item, "directStoryReplyMessage"), "textReply")
    text = _dict(_dict(item, "standardMessage") or answer, "text").get("body")
    return text.strip() if isinstance(text, str) else ""


def _dict(value: dict[str, Any], name: str) -> dict[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _joined(value: dict[str, Any], *names: str) -> str:
    return " ".join(part.strip() for name in names if isinstance(part := value.get(name), str) and part.strip())


# ── Telegram export ───────────────────────────────────────────────────────────────────────────────────────
# Reads chats that Telegram Desktop exported, as JSON (`result.json`) or pages (`messages.html`, `messages2.html` …).
#
# Both hold the same messages with the same numbers, so that a chat which comes in twice, once of each, is there once.
# The forms are those of Telegram Desktop (looked at: the writer of 4.x, `export_output_html.cpp`, and pages of 2021
# to 2026); newer pages name the zone of their times, older ones are read in the owner's.
#
# Covered: messages of several lines, forwarded ones (by who sent them on), files cut off in the middle, objects
# larger than one read, the pages of a whole account. Not covered: what polls, pictures and voice messages hold beside
# words; they are counted.

_MAX_JSON_CHARACTERS = 4_000_000
_MAX_PAGE_BYTES = 25_000_000
"""Telegram Desktop writes a thousand messages to a page, some 1 MB."""

PAGE_NAME = re.compile(r"messages\d*\.html")


def telegram(source: Source) -> Iterator[Item]:
    """Yield the messages of an export: a file, or all those in a folder."""
    files = [source.path] if source.path.is_file() else sorted(source.path.rglob("*"), key=_page_order)
    for path in files:
        if path.suffix.lower() in (".html", ".htm"):
            if path == source.path or PAGE_NAME.fullmatch(path.name):
                yield from _page(path, source.zone)
        elif path == source.path or path.name == "result.json":
            yield from _objects(path, source)


def _page_order(path: Path) -> tuple[str, int, str]:
    number = re.search(r"\d+", path.stem)
    return str(path.parent), int(number.group()) if number is not None else 0, path.name


# ── Pages ─────────────────────────────────────────────────────────────────────────────────────────────────

_MESSAGE_TAG = re.compile(r'<div class="message (?P<kind>[^"]*)"(?: id="message(?P<id>-?\d+)")?')
_HEADER = re.compile(r'<div class="page_header">.{0,300}?<div class="text bold">(?P<name>[^<]*)</div>', re.DOTALL)
_DATE = re.compile(r'<div class="pull_right date details" title="(?P<date>[^"]*)"')
_FROM = re.compile(r'<div class="from_name">(?P<name>[^<]*)<')
_TEXT = '<div class="text">'
"""Goes on to the next `</div>`: no element of a message's text is a `div`."""
_MOMENT = re.compile(r"(\d\d)\.(\d\d)\.(\d{4}) (\d\d):(\d\d):(\d\d)(?: (?:UTC|GMT)([+-]\d\d:\d\d)?)?")
_VIA = re.compile(r" via @\w+$")


def _page(path: Path, zone: dt.tzinfo) -> Iterator[Item]:
    """Yield the messages of one page; one without a name is by who sent the one before."""
    with path.open("rb") as file:
        data = file.read(_MAX_PAGE_BYTES + 1)
    if len(data) > _MAX_PAGE_BYTES:
        yield len(data), Bad(str(path), f"a page over {_MAX_PAGE_BYTES // 10**6} MB; Telegram writes some 1 MB")
        return
    text = data.decode("utf-8-sig", errors="replace")
    begins = [*_MESSAGE_TAG.finditer(text)]
    header = _HEADER.search(text, 0, begins[0].start() if begins else len(text))
    chat = _plain(header["name"]) if header is not None else ""
    who = ""
    for k, begin in enumerate(begins):
        end = begins[k + 1].start() if k + 1 < len(begins) else len(text)
        if begin["kind"].startswith("service"):
            if int(begin["id"] or 0) > 0:  # lines between days have none, or one below zero
                yield 0, LeftOut.NOTICE
            continue
        own, is_forwarded, forwarded = text[begin.end() : end].partition('<div class="forwarded body">')
        if (named := _FROM.search(own)) is not None:
            who = _VIA.sub("", _plain(named["name"]))
        where = f"{path}, message {begin['id'] or k + 1}"
        yield 0, _page_event((forwarded if is_forwarded else own), own, (chat, who, begin["id"], where), zone)
    yield len(data), NOTHING


def _page_event(
    body: str, head: str, names: tuple[str, str, str | None, str], zone: dt.tzinfo
) -> NewEvent | Bad | LeftOut:
    chat, who, number, where = names
    said = _plain(body.partition(_TEXT)[2].partition("</div>")[0])
    if not said:
        return LeftOut.WORDLESS
    date = _DATE.search(head)
    at = _moment(date["date"], zone) if date is not None else None
    if at is None:
        return Bad(where, f"no time in {(date['date'] if date else '')[:40]!r}; expected DD.MM.YYYY HH:MM:SS")
    return _event(chat, number, at, said, who)


def _plain(markup: str) -> str:
    """Return the words of what Telegram wrote: `<br>` ends a line, other tags only say how it looks."""
    return html.unescape(re.sub(r"<[^<>]*>", "", re.sub(r"<br\s*/?>", "\n", markup.strip("\r\n ")))).strip()


def _moment(text: str, zone: dt.tzinfo) -> dt.datetime | None:
    found = _MOMENT.fullmatch(text.strip())
    if found is None:
        return None
    day, month, year, hour, minute, second = map(int, found.groups()[:6])
    named = f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
    if "T" not in text:  # neither UTC nor GMT
        return time_of(named, zone)
    at = time_of(named + (found[7] or "+00:00"), zone)
    return at.astimezone(dt.UTC) if at is not None else None  # as JSON has it


# ── JSON ──────────────────────────────────────────────────────────────────────────────────────────────────

_MESSAGES = re.compile(r'(?<!\\)"messages"\s*:\s*\[')
_CHAT_NAME = re.compile(r'(?<!\\)"name"\s*:\s*("(?:[^"\\]|\\.)*")')


def _objects(path: Path, source: Source) -> Iterator[Item]:
    """Yield every object in each list called `messages`, one at a time."""
    decoder = json.JSONDecoder()
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
                    break  # the object continues in the next chunk
                n_message += 1
                where = f"{path}, message {n_message}"
                yield 0, _object_event(message, chat, source, where)
            text = text[place:]
            if not chunk or len(text) > _MAX_JSON_CHARACTERS:
                if text.strip(" \r\n]}") and is_inside:
                    yield 0, Bad(f"{path}, after message {n_message}", "what follows is no JSON; it is left out")
                break
            yield len(chunk), NOTHING


def _object_event(message: Any, chat: str, source: Source, where: str) -> NewEvent | Bad | LeftOut:
    if not isinstance(message, dict):
        return Bad(where, "no message")
    if message.get("type") != "message":
        return LeftOut.NOTICE
    parts = message.get("text")
    pieces = parts if isinstance(parts, list) else [parts]
    text = "".join(str(p.get("text", "") if isinstance(p, dict) else p or "") for p in pieces).strip()
    if not text:
        return LeftOut.WORDLESS
    at = time_of(message.get("date_unixtime") or message.get("date"), source.zone)
    if at is None:
        return Bad(where, f"no time in {str(message.get('date'))[:40]!r}")
    return _event(chat, message.get("id"), at, text, str(message.get("from") or message.get("from_id") or ""))


def _event(chat: str, number: object, at: dt.datetime, text: str, who: str) -> NewEvent:
    """Return a message; its key is the same whichever form it came in."""
    key = key_of("telegram", chat, number, at.isoformat(), text)
    return NewEvent(key, text[:MAX_TEXT_CHARACTERS], "message", at, MESSAGE, who[:200], thread=f"chat {chat}"[:200])


# ── Chat exports ──────────────────────────────────────────────────────────────────────────────────────────
# Reads chats as events: WhatsApp's text in its date formats, chats as JSON lines.
#
# Telegram's exports are read by "Telegram export", Signal's own by "Signal export". Covered: messages of several
# lines, the service's own notices (counted), the same words twice in one minute. Not covered: pictures and voice
# messages.


def whatsapp(source: Source) -> Iterator[Item]:
    for path in files_of(source.path, "notes"):
        chat = _Chat(path, _order(path, source.is_month_first), source.zone)
        said: re.Match[str] | None = None
        more: list[str] = []
        n_said_at = n_read = n_characters = 0
        seen: dict[tuple[str, str], int] = {}
        minute = ""
        with path.open("rb") as file:
            for n_line, raw in enumerate(iter(lambda file=file: file.readline(100_000), b""), 1):  # type: ignore[misc]
                n_read += len(raw)
                line = plain_line(raw.decode("utf-8-sig", errors="replace").rstrip("\r\n"))
                found = CHAT_LINE.match(line)
                if found is None:
                    if said is None and line.strip():
                        yield n_read, Bad(f"{path}, line {n_line}", f"no date and name before {line[:40]!r}")
                        n_read = 0
                    elif n_characters < MAX_TEXT_CHARACTERS:
                        more.append(line)
                        n_characters += len(line)
                    continue
                if said is not None:
                    yield from chat.event(said, more, n_said_at, seen, n_read)
                    n_read = 0
                said, more, n_said_at, n_characters = found, [], n_line, len(line)
                if (now := found.group(0)[:17]) != minute:
                    seen, minute = {}, now
            if said is not None:
                yield from chat.event(said, more, n_said_at, seen, n_read)


def _order(path: Path, is_month_first: bool) -> str:
    """Detect the date order, `dmy`, `mdy` or `ymd`, from the first thousands of lines, else by the country."""
    with path.open("rb") as file:
        for _, raw in zip(range(5_000), iter(lambda: file.readline(100_000), b""), strict=False):
            if found := CHAT_LINE.match(plain_line(raw.decode("utf-8-sig", errors="replace"))):
                if len(found["a"]) == 4:
                    return "ymd"
                if int(found["a"]) > 12:
                    return "dmy"
                if int(found["b"]) > 12:
                    return "mdy"
    return "mdy" if is_month_first else "dmy"


@dataclass(frozen=True, slots=True)
class _Chat:
    """An exported chat."""

    path: Path
    order: str
    """The order of a date's parts: `dmy`, `mdy` or `ymd`."""
    zone: dt.tzinfo

    def event(
        self, said: re.Match[str], more: list[str], n_line: int, seen: dict[tuple[str, str], int], n_bytes: int
    ) -> Iterator[Item]:
        """Yield the message that begins on a line and goes on with `more`; `seen`: how often each was said before."""
        spoken = SAYS.match(said["rest"])
        if spoken is None:
            yield n_bytes, LeftOut.NOTICE  # "Messages are end-to-end encrypted"
            return
        try:
            at = self._at(said)
        except ValueError as error:
            yield n_bytes, Bad(f"{self.path}, line {n_line}", f"{said.group(0)[:30]!r}: {error}")
            return
        text = "\n".join([spoken["text"], *more]).strip()[:MAX_TEXT_CHARACTERS]
        if text:
            who = spoken["who"].strip()
            n_same = seen[who, text] = seen.get((who, text), 0) + 1
            key = key_of("whatsapp", self.path.stem, at.isoformat(), who, text, n_same)
            yield n_bytes, NewEvent(key, text, "message", at, MESSAGE, who, thread=f"chat {self.path.stem}"[:200])

    def _at(self, said: re.Match[str]) -> dt.datetime:
        """Raises: ValueError: There is no such moment."""
        numbers = dict(zip(self.order, (int(said[name]) for name in "abc"), strict=True))
        hour = int(said["h"]) % 12 + 12 * (said["half"] in ("p", "P")) if said["half"] else int(said["h"])
        year = numbers["y"] + 2000 if numbers["y"] < 100 else numbers["y"]
        return dt.datetime(
            *(year, numbers["m"], numbers["d"], hour, int(said["m"]), int(said["s"] or 0)), tzinfo=self.zone
        )


def json_lines(source: Source) -> Iterator[Item]:
    """Yield the messages of chats as JSON lines: Signal's own export, or one message a line."""
    for path in [source.path] if source.path.is_file() else sorted(source.path.rglob("*.jsonl")):
        signal: SignalExport | None = None
        with path.open("rb") as file:
            for n_line, raw in enumerate(iter(lambda file=file: file.readline(MAX_RECORD_BYTES), b""), 1):  # type: ignore[misc]
                if not raw.strip():
                    continue
                where = f"{path}, line {n_line}"
                try:
                    said = json.loads(raw)
                except (ValueError, RecursionError) as error:
                    yield len(raw), Bad(where, f"no JSON: {str(error)[:80]}")
                    continue
                if n_line == 1 and is_signal_head(said):
                    signal = SignalExport()
                elif not isinstance(said, dict):
                    yield len(raw), Bad(where, "no JSON object")
                else:
                    yield len(raw), signal.take(said, where) if signal else _line_event(said, path, source, where)


def _line_event(message: dict[str, Any], path: Path, source: Source, where: str) -> NewEvent | Bad | LeftOut:
    text = _first(message, "body", "text", "message", "content")
    if not text.strip():
        return LeftOut.WORDLESS
    given = next((message[k] for k in ("timestamp", "sent_at", "sentAt", "date", "time") if message.get(k)), None)
    at = time_of(given, source.zone)
    if at is None:
        return Bad(where, f"no time; expected `timestamp` in seconds, milliseconds or ISO 8601, found {given!r:.40}")
    who = _first(message, "sender", "from", "author", "source", "name")
    thread = _first(message, "conversation", "conversationId", "chat", "group", "thread") or path.stem
    identity = message.get("id") or message.get("uuid") or (at.isoformat(), who, text)
    return NewEvent(
        *(key_of("lines", thread, identity), text.strip()[:MAX_TEXT_CHARACTERS], "message", at, MESSAGE, who[:200]),
        thread=f"chat {thread}"[:200],
    )


def _first(message: dict[str, Any], *names: str) -> str:
    return next((value for name in names if isinstance(value := message.get(name), str) and value), "")


CHAT_READERS: dict[str, Callable[[Source], Iterator[Item]]] = {
    "whatsapp": whatsapp,
    "telegram": telegram,
    "lines": json_lines,
}


# ── Importers ─────────────────────────────────────────────────────────────────────────────────────────────
# Imports mail, calendars, notes, chats and photos as events: streamed, so that a file may be larger than memory.
#
# Items imported before are recognised by their content and never added again. Every event carries its source: a mail,
# an invitation, a chat are `message`, notes `file`, photos `sensor`; never the owner, since a name in a file can be
# written by anyone and a line in a message can look like another message. So no import makes a fact by itself.
#
# Covered: mbox and Maildir and single `.eml`, iCalendar, folders of `.txt` and `.md`, WhatsApp's text in its date
# formats, Telegram's exports (JSON and pages), Signal's own and other chats as JSON lines (`timestamp`, `sender`,
# `body`), times and places in JPEG, PNG, WebP and TIFF. What cannot be read is counted and named with file and line;
# the rest is read. Not covered: attachments, repeated occurrences of a calendar's series (each series is one event),
# voice messages, HEIC.

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
            head = file.read(HEAD_BYTES)
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
