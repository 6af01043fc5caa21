"""Read what a home holds as plain records, and tell what changed between two readings.

The files are read with other programs' libraries, not with the agent's own readers, so that a file which only the agent
understands counts as broken. An occurrence taken out of a series, or moved, is told as that, not as a change of the
series. Not covered: what was only read; flags of mails; the agent's own records.
"""

from __future__ import annotations

import datetime as dt
import email
import email.policy
import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path
from typing import Any, Literal

import icalendar
import vobject

_ITEM = re.compile(r"^\s*[-*+]\s+(?:\[([ xX])\]\s+)?(\S.*?)\s*$", re.MULTILINE)
_TICKED = re.compile(r"^\s*[-*+]\s+\[[ xX]\]", re.MULTILINE)
_HEADING = re.compile(r"\A#\s+(.+)\n")


@dataclass(frozen=True, slots=True)
class Record:
    """One thing in a home: an event, a reminder, an item of a list."""

    kind: str
    key: str
    """What makes it the same thing in two readings."""
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """One difference: `+` it came, `-` it went, `~` it is another now."""

    do: Literal["+", "-", "~"]
    kind: str
    fields: Mapping[str, Any]
    """As it is now, or was, where it went."""


def read_records(home: Path) -> list[Record]:
    """Read every record of a home."""
    root = home / "owner"
    return [
        *_events(root / "calendar"),
        *_reminders(root / "reminders"),
        *_contacts(root / "contacts"),
        *_mails(root / "mail"),
        *_notes(root / "notes"),
        *_documents(root / "documents"),
        *_devices(root / "home" / "devices.json"),
        *_told(home / "hearth.db"),
    ]


def changes_between(before: Sequence[Record], after: Sequence[Record]) -> list[Change]:
    """Tell what came, what went and what is another now."""
    old = {(one.kind, one.key): one for one in before}
    new = {(one.kind, one.key): one for one in after}
    changes: list[Change] = []
    for place in sorted(old.keys() | new.keys()):
        changes += _change(place[0], old.get(place), new.get(place))
    return _renamed(changes)


def _change(kind: str, old: Record | None, new: Record | None) -> Iterator[Change]:
    if old is None and new is not None:
        if kind == "gap":  # of a series
            yield Change("-", "event", new.fields)
        else:
            yield Change("~" if new.fields.get("instead_of") else "+", kind, new.fields)
    elif old is not None and new is None:
        yield Change("+", "event", old.fields) if kind == "gap" else Change("-", kind, old.fields)
    elif old is not None and new is not None and old.fields != new.fields:
        yield Change("~", kind, new.fields)


def _renamed(changes: Sequence[Change]) -> list[Change]:
    """Join a file that went with one of the same text that came."""
    came = {str(one.fields["text"]): one for one in changes if one.kind == "file" and one.do == "+"}
    gone = {str(one.fields["text"]) for one in changes if one.kind == "file" and one.do == "-"} & came.keys()
    kept = [one for one in changes if one.kind != "file" or str(one.fields["text"]) not in gone]
    return [*kept, *(Change("~", "file", came[text].fields) for text in sorted(gone))]


# ── Calendar, reminders, cards ────────────────────────────────────────────────────────────────────────────


def _components(folder: Path, name: str) -> Iterator[Any]:
    for path in sorted(folder.rglob("*.ics")):
        yield from icalendar.Calendar.from_ical(path.read_bytes()).walk(name)


def _events(folder: Path) -> Iterator[Record]:
    for one in _components(folder, "VEVENT"):
        uid, start = str(one["uid"]), one.decoded("dtstart")
        instead_of = _moment(one.decoded("recurrence-id")) if "recurrence-id" in one else ""
        fields = {
            "title": str(one.get("summary", "")),
            "start": _moment(start),
            "minutes": _minutes(one, start),
            "place": str(one.get("location", "")),
            "repeat": _repeat(one),
            "instead_of": instead_of,
        }
        if str(one.get("status", "")).upper() == "CANCELLED":
            yield Record("gap", f"{uid}#{instead_of}", {**fields, "start": instead_of or fields["start"]})
            continue
        yield Record("event", f"{uid}#{instead_of}" if instead_of else uid, fields)
        for day in _left_out(one):
            yield Record("gap", f"{uid}#{day}", {**fields, "start": day, "repeat": ""})


def _left_out(component: Any) -> Iterator[str]:
    found = component.get("exdate", [])
    for line in found if isinstance(found, list) else [found]:
        for one in line.dts:
            yield _moment(one.dt)


def _minutes(component: Any, start: dt.date) -> int:
    if "duration" in component:
        return int(component.decoded("duration").total_seconds() // 60)
    end = component.decoded("dtend") if "dtend" in component else start
    return int((end - start).total_seconds() // 60)


def _repeat(component: Any) -> str:
    rule = component.get("rrule")
    if not rule:
        return ""
    interval = int(rule.get("INTERVAL", [1])[0])
    days = sorted(str(day) for day in rule.get("BYDAY", []))
    parts = [str(rule["FREQ"][0]).lower(), f"/{interval}" if interval > 1 else ""]
    return "".join(parts) + (f" {','.join(days)}" if len(days) > 1 else "")


def _moment(when: dt.date) -> str:
    return f"{when:%Y-%m-%d %H:%M}" if isinstance(when, dt.datetime) else f"{when:%Y-%m-%d}"


def _reminders(folder: Path) -> Iterator[Record]:
    for one in _components(folder, "VTODO"):
        due = one.get("due") or one.get("dtstart")
        fields = {
            "text": str(one.get("summary", "")),
            "at": _moment(due.dt) if due is not None else "",
            "repeat": _repeat(one),
            "done": str(one.get("status", "")).upper() == "COMPLETED",
        }
        yield Record("reminder", str(one["uid"]), fields)


def _contacts(folder: Path) -> Iterator[Record]:
    for path in sorted(folder.rglob("*.vcf")):
        for number, card in enumerate(vobject.readComponents(path.read_text(encoding="utf-8"))):
            fields = {
                "name": card.fn.value if "fn" in card.contents else "",
                "email": " ".join(line.value for line in card.contents.get("email", [])),
                "phone": " ".join(line.value for line in card.contents.get("tel", [])),
                "address": " ".join(" ".join(str(line.value).split()) for line in card.contents.get("adr", [])),
                "birthday": " ".join(line.value for line in card.contents.get("bday", [])),
            }
            yield Record("contact", f"{path.relative_to(folder)}#{number}", fields)


# ── Mail ──────────────────────────────────────────────────────────────────────────────────────────────────


def _mails(folder: Path) -> Iterator[Record]:
    for kind, place in (("mail_in", folder), ("draft", folder / ".Drafts"), ("sent", folder / ".Sent")):
        for path in sorted([*place.glob("cur/*"), *place.glob("new/*")]):
            message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
            assert isinstance(message, EmailMessage)
            body = message.get_body(("plain", "html"))
            fields = {
                "from": str(message["From"] or ""),
                "to": str(message["To"] or "").casefold(),
                "subject": str(message["Subject"] or ""),
                "text": body.get_content() if body is not None else "",
                "attachments": " ".join(part.get_filename() or "" for part in message.iter_attachments()),
            }
            yield Record(kind, path.name.partition(":")[0], fields)


# ── Notes, lists, documents, devices, memory ──────────────────────────────────────────────────────────────


def _notes(folder: Path) -> Iterator[Record]:
    for path in sorted(folder.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        heading = _HEADING.match(text)
        title = heading[1] if heading else path.stem.replace("-", " ")
        rest = text[heading.end() :] if heading else text
        if _TICKED.search(text):
            for mark, item in _ITEM.findall(rest):
                if mark not in ("x", "X"):
                    yield Record("item", f"{path.name}#{item}", {"list": title, "item": item})
            rest = _ITEM.sub("", rest)
        if rest.strip():
            yield Record("note", path.name, {"title": title, "text": rest.strip() if heading else text.strip()})


def _documents(folder: Path) -> Iterator[Record]:
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        name = str(path.relative_to(folder))
        yield Record("file", name, {"path": name, "text": path.read_text(encoding="utf-8", errors="replace")})


def _devices(path: Path) -> Iterator[Record]:
    for key, state in json.loads(path.read_text(encoding="utf-8")).items() if path.exists() else ():
        yield Record("device", key, {"name": key.replace("/", " "), **state})


def _told(database: Path) -> Iterator[Record]:
    """Yield what the agent was asked to remember."""
    if not database.exists():
        return
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        rows = connection.execute(
            "SELECT id, text FROM event WHERE kind NOT IN ('request', 'asked', 'answer')"
        ).fetchall()
    for id, text in rows:
        yield Record("memory", id, {"text": text})
