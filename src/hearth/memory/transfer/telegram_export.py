"""Reads chats that Telegram Desktop exported, as JSON (`result.json`) or pages (`messages.html`, `messages2.html` …).

Both hold the same messages with the same numbers, so that a chat which comes in twice, once of each, is there once.
The forms are those of Telegram Desktop (looked at: the writer of 4.x, `export_output_html.cpp`, and pages of 2021 to
2026); newer pages name the zone of their times, older ones are read in the owner's.

Covered: messages of several lines, forwarded ones (by who sent them on), files cut off in the middle, objects larger
than one read, the pages of a whole account.
Not covered: what polls, pictures and voice messages hold beside words; they are counted.
"""

from __future__ import annotations

import datetime as dt
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hearth.memory.event_memory import NewEvent
from hearth.memory.transfer.import_sources import (
    MAX_TEXT_CHARACTERS,
    MESSAGE,
    NOTHING,
    Bad,
    Item,
    LeftOut,
    Source,
    key_of,
    time_of,
)

_MAX_JSON_CHARACTERS = 4_000_000
_MAX_PAGE_BYTES = 25_000_000
"""Telegram Desktop writes a thousand messages to a page, some 1 MB."""

PAGE_NAME = re.compile(r"messages\d*\.html")


def is_telegram_page(head: bytes) -> bool:
    """Return whether an HTML file is one of an export, of messages or of something else."""
    return b"<title>Exported Data</title>" in head and b'class="page_wrap' in head


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
