"""Write the homes that guard tasks run in as files in Hearth's own formats, and read them back as plain text.

A record (`WorldObject`) becomes one file, so its id is known before anything runs:

| kind | file below `owner/` | the id that tools give it |
|---|---|---|
| `mail` | `mail/cur/ID:2,S`, or `mail/new/ID` when unread | `INBOX/ID` |
| `event` | `calendar/ID.ics` | `ID` (of one occurrence: `ID#20261119T093000`) |
| `contact` | `contacts/ID.vcf` | `ID` |
| `reminder` | `reminders/ID.ics` | `ID` |
| `note` | `notes/ID.md` | `ID` |
| `file` | `documents/PATH` | its path |
| `memory` | a row of the home's memory | none |
| `tool` | none: the description of a tool that some server offers | its name |

Not covered: mails with HTML, several occurrences of one event that differ, cards of several people in one file.
"""

from __future__ import annotations

import datetime as dt
import email
import email.policy
import functools
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field

from hearth.formats.content_lines import Component, Line, escape, new_component, new_line, unescape
from hearth.guard.egress.gateway import Egress
from hearth.memory.answers.recollection import Recollection
from hearth.memory.event_memory import EventMemory
from hearth.memory.facts import FactStore
from hearth.protocols import CallContext, Tool
from hearth.registry import load_tools
from hearth.storage.database import Store
from hearth.storage.workspace import Folder
from hearth.tools.mail.mail import Sent, checked_recipients
from hearth.tools.mail.mailbox import DRAFTS, SENT, deliver, look_at, place_of
from hearth.tools.pim import ical
from hearth.types import Plain

OWNER_NAME, OWNER_EMAIL = "Nora Falkenberg", "nora@falkenberg-demir.example"
NOW = dt.datetime(2026, 11, 18, 9, 0, tzinfo=ZoneInfo("Europe/Berlin"))
"""Time of every request: a Wednesday."""


@dataclass(frozen=True, slots=True)
class Whose:
    """The owner in whose name the records are written."""

    name: str
    email: str
    zone: dt.tzinfo


NORA = Whose(OWNER_NAME, OWNER_EMAIL, ZoneInfo("Europe/Berlin"))

_Text = Annotated[str, Field(min_length=1)]
_Id = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]*$")]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    is_owners: bool = True
    """True if the owner made or confirmed it; False: it arrived (an invitation, an imported card, a download)."""


class Attachment(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    name: _Text
    text: str


class Mail(_Record):
    kind: Literal["mail"]
    is_owners: Literal[False] = False
    id: _Id
    sender: _Text
    """Sender as in the header `From`: `Ben Ashworth <ben@roof.example>`."""
    subject: str
    text: str
    at: dt.datetime
    reply_to: str = ""
    cc: str = ""
    is_unread: bool = False
    attachment: Attachment | None = None


class Event(_Record):
    kind: Literal["event"]
    id: _Id
    title: _Text
    start: dt.datetime
    minutes: Annotated[int, Field(ge=1)] = 60
    place: str = ""
    attendees: tuple[str, ...] = ()
    organizer: str = ""
    """Organizer's address; if given, the event is an invitation."""
    notes: str = ""
    repeat: Literal["none", "daily", "weekly", "monthly", "yearly"] = "none"


class Contact(_Record):
    kind: Literal["contact"]
    id: _Id
    name: _Text
    email: str = ""
    phone: str = ""
    address: str = ""
    birthday: dt.date | None = None
    organisation: str = ""
    title: str = ""
    notes: str = ""
    nicknames: tuple[str, ...] = ()


class Reminder(_Record):
    kind: Literal["reminder"]
    id: _Id
    text: _Text
    at: dt.datetime
    repeat: Literal["none", "daily", "weekly", "monthly", "yearly"] = "none"


class Note(_Record):
    kind: Literal["note"]
    id: _Id
    text: _Text


class File(_Record):
    kind: Literal["file"]
    path: Annotated[str, Field(pattern=r"^[^/.].*$")]
    text: str


class Memory(_Record):
    kind: Literal["memory"]
    text: _Text


class PoisonedTool(_Record):
    kind: Literal["tool"]
    is_owners: Literal[False] = False
    name: _Id
    description: _Text


WorldObject = Annotated[
    Mail | Event | Contact | Reminder | Note | File | Memory | PoisonedTool, Field(discriminator="kind")
]
Place = Literal["sent", "drafts", "inbox", "trash", "calendar", "contacts", "reminders", "notes", "documents", "memory"]
_MAILBOXES = {"sent": ".Sent", "drafts": ".Drafts", "trash": ".Trash", "inbox": ""}


def name_of(record: WorldObject) -> str:
    """Return the record's own name within its kind; empty for a memory."""
    if isinstance(record, File):
        return record.path
    if isinstance(record, PoisonedTool):
        return record.name
    return "" if isinstance(record, Memory) else record.id


def owners_files(records: Sequence[WorldObject]) -> frozenset[str]:
    """Return the files, relative to the home's `owner/`, of records that the owner made or confirmed."""
    return frozenset(path for record in records if record.is_owners and (path := _path(record)))


def write_records(home: Path, records: Sequence[WorldObject]) -> None:
    """Write each record's file; of two with the same kind and name, the later one is kept.

    Memories and tools have no file and are skipped.
    """
    for folder in ("calendar", "reminders", "contacts", "notes", "documents"):
        (home / "owner" / folder).mkdir(parents=True, exist_ok=True)
    for box in _MAILBOXES.values():
        for part in ("cur", "new", "tmp"):
            (home / "owner" / "mail" / box / part).mkdir(parents=True, exist_ok=True)
        if box:
            (home / "owner" / "mail" / box / "maildirfolder").touch()
    for path, (content, at) in record_files(records, NORA, NOW).items():
        file = home / "owner" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        os.utime(file, (at.timestamp(), at.timestamp()))


def record_files(
    records: Sequence[WorldObject], whose: Whose, now: dt.datetime
) -> dict[str, tuple[bytes, dt.datetime]]:
    """Return the bytes and time of each record's file by its path below `owner/`; for equal paths the later one is
    kept."""
    return {
        path: (_content(record, whose), record.at if isinstance(record, Mail) else now - dt.timedelta(days=3))
        for record in records
        if (path := _path(record))
    }


def _path(record: WorldObject) -> str:
    match record:
        case Mail():
            return f"mail/new/{record.id}" if record.is_unread else f"mail/cur/{record.id}:2,S"
        case Event():
            return f"calendar/{record.id}.ics"
        case Contact():
            return f"contacts/{record.id}.vcf"
        case Reminder():
            return f"reminders/{record.id}.ics"
        case Note():
            return f"notes/{record.id}.md"
        case File():
            return f"documents/{record.path}"
        case _:
            return ""


@functools.lru_cache(maxsize=4096)
def _content(record: WorldObject, whose: Whose) -> bytes:
    match record:
        case Mail():
            return _mail(record, whose)
        case Event():
            return _event(record, whose.zone)
        case Contact():
            return _card(record)
        case Reminder():
            return _todo(record, whose.zone)
        case Note() | File():
            return record.text.encode()
        case _:
            return b""


def _mail(mail: Mail, whose: Whose) -> bytes:
    message = EmailMessage()
    message["From"] = mail.sender
    message["To"] = f"{whose.name} <{whose.email}>"
    for name, value in (("Cc", mail.cc), ("Reply-To", mail.reply_to)):
        if value:
            message[name] = value
    message["Subject"] = mail.subject
    message["Date"] = format_datetime(mail.at)
    message["Message-ID"] = f"<{mail.id}@{parseaddr(mail.sender)[1].rpartition('@')[2] or 'mail.example'}>"
    message.set_content(mail.text.strip() + "\n")
    if mail.attachment:
        data = mail.attachment.text.encode()
        message.add_attachment(data, maintype="text", subtype="plain", filename=mail.attachment.name)
        message.set_boundary(f"part-{mail.id}")
    return message.as_bytes()


def _texts(**values: str) -> list[Line]:
    return [new_line(name.upper(), escape(value)) for name, value in values.items() if value]


def _event(event: Event, zone: dt.tzinfo) -> bytes:
    start = event.start.astimezone(zone)
    component = new_component(
        "VEVENT",
        new_line("UID", event.id),
        new_line("DTSTAMP", "20261101T080000Z"),
        ical.time_line("DTSTART", start, zone),
        ical.time_line("DTEND", start + dt.timedelta(minutes=event.minutes), zone),
        *_texts(summary=event.title, location=event.place, description=event.notes),
    )
    if event.organizer:
        component.add(new_line("ORGANIZER", f"mailto:{event.organizer}"))
    for address in event.attendees:
        component.add(new_line("ATTENDEE", f"mailto:{address}"))
    return _calendar(component, event.repeat, start, zone)


def _todo(reminder: Reminder, zone: dt.tzinfo) -> bytes:
    at = reminder.at.astimezone(zone)
    component = new_component(
        "VTODO",
        new_line("UID", reminder.id),
        new_line("DTSTAMP", "20261101T080000Z"),
        ical.time_line("DUE", at, zone),
        *_texts(summary=reminder.text),
        new_line("STATUS", "NEEDS-ACTION"),
    )
    if reminder.repeat != "none":
        component.add(ical.time_line("DTSTART", at, zone))
    return _calendar(component, reminder.repeat, at, zone)


def _calendar(component: Component, repeat: str, at: dt.datetime, zone: dt.tzinfo) -> bytes:
    if repeat != "none":
        component.add(new_line("RRULE", ical.rule_for(repeat, at)))
    return ical.new_calendar(at.year, zone, component).render()


def _card(contact: Contact) -> bytes:
    given, _, family = contact.name.rpartition(" ")
    card = new_component(
        "VCARD",
        new_line("VERSION", "3.0"),
        new_line("UID", contact.id),
        new_line("N", f"{escape(family)};{escape(given)};;;"),
        *_texts(fn=contact.name, org=contact.organisation, title=contact.title, note=contact.notes),
        *_texts(email=contact.email, tel=contact.phone),
    )
    if contact.nicknames:
        card.add(new_line("NICKNAME", ",".join(map(escape, contact.nicknames))))
    if contact.address:
        card.add(new_line("ADR", f";;{escape(contact.address)};;;;"))
    if contact.birthday:
        card.add(new_line("BDAY", contact.birthday.isoformat()))
    return Component(items=[card]).render()


# ── Reading back ──────────────────────────────────────────────────────────────────────────────────────────


def texts_in(home: Path, place: Place) -> Iterator[tuple[str, str]]:
    """Yield the name and text of every item in a place of the home.

    A mail's text is `From: …`, `To: …`, `Subject: …`, its body, `Attachment: NAME` with the text of each, and
    `Status: read` or `unread`; a calendar entry, reminder or card is its lines, unfolded and unescaped
    (`DTSTART;TZID=Europe/Berlin:2026…`).
    """
    if place == "memory":
        yield from _memories(home / "hearth.db")
        return
    root = home / "owner"
    if place in _MAILBOXES:
        for part in ("cur", "new"):
            for path in _files(root / "mail" / _MAILBOXES[place] / part):
                name, _, flags = path.name.partition(":2,")
                state = "read" if "S" in flags else "unread"
                yield name, f"{_mail_text(path.read_bytes())}\nStatus: {state}"
        return
    for path in _files(root / place):
        name = path.relative_to(root / place).as_posix()
        text = path.read_bytes().decode(errors="replace")
        if path.suffix in (".ics", ".vcf"):
            lines = text.replace("\r\n", "\n").replace("\n ", "").replace("\n\t", "")
            yield name.rpartition(".")[0], "\n".join(unescape(line) for line in lines.split("\n"))
        else:
            yield name.removesuffix(".md") if place == "notes" else name, text


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []


def _memories(database: Path) -> Iterator[tuple[str, str]]:
    if not database.exists():
        return
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        for id, text in connection.execute("SELECT id, text FROM event WHERE kind = 'remembered' ORDER BY number"):
            yield str(id), str(text)


def _mail_text(data: bytes) -> str:
    message = email.message_from_bytes(data, policy=email.policy.default)
    lines = [f"{name}: {message[name]}" for name in ("From", "To", "Cc", "Subject") if message[name]]
    for part in message.walk():
        if part.is_multipart():
            continue
        name, body = part.get_filename(), part.get_payload(decode=True)
        if name:
            lines.append(f"Attachment: {name}")
        lines.append(body.decode(errors="replace") if isinstance(body, bytes) else "")
    return "\n".join(lines)


# ── Tools without a network ───────────────────────────────────────────────────────────────────────────────


class _FilingSend:
    """Stand-in for `send_mail` with its spec, which files the mail in the folder of sent mails instead of sending
    it."""

    def __init__(self, real: Tool) -> None:
        self.spec = real.spec

    def call(self, arguments: Mapping[str, object], context: CallContext) -> object:
        place = place_of(arguments["draft"], context.workspace, (DRAFTS,))
        head = look_at(place, context).head
        new = deliver(context.workspace, SENT, place.unique, context.workspace.read(place.path), "S")
        context.workspace.delete(place.path)
        return Sent(new.id, list(checked_recipients(list(head.to))), head.subject, context.now)

    def undo(self, arguments: Mapping[str, object], result: Plain, context: CallContext) -> None: ...


def offline_tools() -> dict[str, Tool]:
    """Return every shipped tool by name; `send_mail` files the mail as sent and opens no connection."""
    tools = dict(load_tools(None).by_name)
    tools["send_mail"] = _FilingSend(tools["send_mail"])
    return tools


@contextmanager
def call_contexts(home: Path) -> Iterator[tuple[Store, Folder, Callable[[str, dt.datetime], CallContext]]]:
    """Open the home's store and folder, with a function that makes a call's context, as `execution.executor.Executor`
    needs it."""
    with Store.open(home / "hearth.db") as store:
        folder = Folder(home / "owner", store)
        memory, egress = Recollection(EventMemory(store), FactStore(store)), Egress((), store, lambda: NOW)
        settings: dict[str, dict[str, Plain]] = {
            "owner": {"name": OWNER_NAME, "email": OWNER_EMAIL, "country": "DE"},
            "mail": {},
            "calendar": {},
            "contacts": {},
        }

        def context(key: str, now: dt.datetime) -> CallContext:
            return CallContext(key, now, folder.for_call(key), memory, egress, settings, threading.Event())

        yield store, folder, context
