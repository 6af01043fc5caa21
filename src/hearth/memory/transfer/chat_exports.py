"""Reads chats as events: WhatsApp's text in its date formats, chats as JSON lines; tells which reader a file needs.

Telegram's exports are read by `telegram_export`, Signal's own by `signal_export`.
Covered: messages of several lines, the service's own notices (counted), the same words twice in one minute.
Not covered: pictures and voice messages.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hearth.memory.event_memory import NewEvent
from hearth.memory.transfer.import_sources import (
    MAX_RECORD_BYTES,
    MAX_TEXT_CHARACTERS,
    MESSAGE,
    Bad,
    Item,
    LeftOut,
    Source,
    files_of,
    key_of,
    lines_of,
    time_of,
)
from hearth.memory.transfer.signal_export import SignalExport, is_signal_head
from hearth.memory.transfer.telegram_export import is_telegram_page, telegram

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


def chat_kind(name: str, head: bytes) -> str:
    """Return how a file's chats are read, `whatsapp`, `telegram` or `lines`; empty: it holds none.

    Args:
        head: The file's first bytes, some 20,000.
    """
    ending = name.rpartition(".")[2].lower()
    if ending in ("jsonl", "ndjson"):
        return "lines"
    if ending in ("html", "htm"):
        return "telegram" if is_telegram_page(head) and b'<div class="history">' in head else ""
    if ending == "json" or head.lstrip()[:1] == b"{":
        is_chat = b'"messages"' in head and b'"type"' in head
        return "telegram" if is_chat or (b'"about"' in head and b"Telegram" in head) else ""
    is_said = ending == "txt" and any(CHAT_LINE.match(plain(line)) for line in lines_of(head)[:5])
    return "whatsapp" if is_said else ""


CHAT_READERS: dict[str, Callable[[Source], Iterator[Item]]] = {
    "whatsapp": whatsapp,
    "telegram": telegram,
    "lines": json_lines,
}
