"""Reads chats as events: WhatsApp's text in its date formats, Telegram's `result.json`, Signal's JSON lines.

Covered: messages of several lines, the service's own notices (left out), the same words twice in one minute, files cut
off in the middle, objects larger than one read.
Not covered: pictures and voice messages.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hearth.memory.event_memory import NewEvent
from hearth.memory.transfer.import_sources import (
    MAX_RECORD_BYTES,
    MAX_TEXT_CHARACTERS,
    MESSAGE,
    NOTHING,
    Bad,
    Item,
    Source,
    files_of,
    key_of,
)

_MAX_JSON_CHARACTERS = 4_000_000

_INVISIBLE = re.compile("[\u200e\u200f\u202a-\u202e\ufeff]")
CHAT_LINE = re.compile(
    r"\[?(?P<a>\d{1,4})[./-](?P<b>\d{1,2})[./-](?P<c>\d{1,4}),? (?P<h>\d{1,2})[:.](?P<m>\d\d)(?:[:.](?P<s>\d\d))?"
    r"(?: ?(?P<half>[AaPp])\.?\s?[Mm]\.?)?(?:\] | - |\]? [-–] )(?P<rest>.*)"
)
_SAYS = re.compile(r"(?P<who>[^:]{1,100}): (?P<text>.*)", re.S)


def plain(line: str) -> str:
    return _INVISIBLE.sub("", line).replace("\u202f", " ").replace("\u00a0", " ")


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
                line = plain(raw.decode("utf-8-sig", errors="replace").rstrip("\r\n"))
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
            if found := CHAT_LINE.match(plain(raw.decode("utf-8-sig", errors="replace"))):
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
        spoken = _SAYS.match(said["rest"])
        if spoken is None:
            return  # the service's own notices: "Messages are end-to-end encrypted"
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


_MESSAGES = re.compile(r'(?<!\\)"messages"\s*:\s*\[')
_CHAT_NAME = re.compile(r'(?<!\\)"name"\s*:\s*("(?:[^"\\]|\\.)*")')


def telegram(source: Source) -> Iterator[Item]:
    """Yield every object in each list called `messages`, one at a time."""
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
                        break  # the object continues in the next chunk
                    n_message += 1
                    where = f"{path}, message {n_message}"
                    if (item := _telegram_event(message, chat, source, where)) is not None:
                        yield 0, item
                text = text[place:]
                if not chunk or len(text) > _MAX_JSON_CHARACTERS:
                    if text.strip(" \r\n]}") and is_inside:
                        yield 0, Bad(f"{path}, after message {n_message}", "what follows is no JSON; it is left out")
                    break
                yield len(chunk), NOTHING


def _telegram_event(message: Any, chat: str, source: Source, where: str) -> NewEvent | Bad | None:
    if not isinstance(message, dict):
        return Bad(where, "no message")
    if message.get("type") != "message":
        return None  # someone joined, a call
    parts = message.get("text")
    pieces = parts if isinstance(parts, list) else [parts]
    text = "".join(str(p.get("text", "") if isinstance(p, dict) else p or "") for p in pieces).strip()
    if not text:
        return None  # a picture, a voice message
    at = _time(message.get("date_unixtime") or message.get("date"), source.zone)
    if at is None:
        return Bad(where, f"no time in {str(message.get('date'))[:40]!r}")
    key = key_of("telegram", chat, message.get("id"), at.isoformat(), text)
    who = str(message.get("from") or message.get("from_id") or "")[:200]
    return NewEvent(key, text[:MAX_TEXT_CHARACTERS], "message", at, MESSAGE, who, thread=f"chat {chat}"[:200])


def json_lines(source: Source) -> Iterator[Item]:
    for path in [source.path] if source.path.is_file() else sorted(source.path.rglob("*.jsonl")):
        with path.open("rb") as file:
            for n_line, raw in enumerate(iter(lambda file=file: file.readline(MAX_RECORD_BYTES), b""), 1):  # type: ignore[misc]
                if raw.strip():
                    item = _line_event(raw, path, source, f"{path}, line {n_line}")
                    if item is not None:
                        yield len(raw), item


def _line_event(raw: bytes, path: Path, source: Source, where: str) -> NewEvent | Bad | None:
    try:
        message = json.loads(raw)
    except (ValueError, RecursionError) as error:
        return Bad(where, f"no JSON: {str(error)[:80]}")
    if not isinstance(message, dict):
        return Bad(where, "no JSON object")
    text = _first(message, "body", "text", "message", "content")
    if not text.strip():
        return None
    given = next((message[k] for k in ("timestamp", "sent_at", "sentAt", "date", "time") if message.get(k)), None)
    at = _time(given, source.zone)
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


def _time(value: object, zone: dt.tzinfo) -> dt.datetime | None:
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
