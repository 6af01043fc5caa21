"""Collects what the owner's things say: mails, events, cards, notes, documents, with the tables in them."""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearth import patterns as re
from hearth.errors import Unreadable
from hearth.formats.bounded_reading import Bounds, read_bounded
from hearth.formats.content_lines import Component, parse
from hearth.formats.export_forms import HEAD_BYTES, Form, form_of
from hearth.formats.record_places import heading_of
from hearth.memory.search.office_documents import PAGE_END, SCANNED
from hearth.memory.search.passage_store import NewPassage, Passage, passages_of
from hearth.protocols import Workspace
from hearth.registry import INSTALL_COMMANDS, READERS, place_of
from hearth.tools.files import decoded
from hearth.tools.mail.mailbox import NOT_SEARCHED, SENT
from hearth.tools.mail.mime import Attachment, looks_like_html, read_attachments, read_body, read_head, text_of_html
from hearth.tools.pim import ical
from hearth.tools.pim.calendar import Entry, entry_of
from hearth.tools.pim.contacts import Birth, Card, card_of
from hearth.tools.pim.servers.subscriptions import is_subscribed

# ── Document text ─────────────────────────────────────────────────────────────────────────────────────────
# Reads the text of a document, whatever its format says it is; formats of others only in a process of their own.
#
# Text, Markdown, CSV and HTML are read here, as no more than bytes. PDF, Word, OpenDocument, Excel and RTF files are
# read in the process for strangers' bytes (`formats.bounded_reading`) by `office_documents`; the readers of all but RTF
# are the extra `documents`. What breaks that process is a file that cannot be read, and nothing else.
#
# Covered: wrong endings (the first bytes decide), archives within archives and documents that unpack to far more than
# they are (the bounds), encrypted ones and those of old Office programs (said). The writing in pictures, and in pages
# of a PDF that are pictures, is read by what is installed for it (`hearth.readers`; hearth-video brings a reader). Not
# covered: presentations, pages of a PDF that hold text and pictures with writing, UTF-16 of other letters than Latin
# without its mark.

MAX_DOCUMENT_BYTES = 50_000_000
MAX_TEXT_CHARACTERS = 400_000
CUT_SHORT = "it is long: only its beginning is read"
_MAX_ROWS = 5_000
_BOUNDS = Bounds(cpu_s=25, wait_s=30, n_most_bytes=4 * MAX_TEXT_CHARACTERS + 2_000_000)
_PICTURE_BOUNDS = Bounds(cpu_s=60, wait_s=90, n_most_bytes=_BOUNDS.n_most_bytes, memory_bytes=3_000_000_000)
_PICTURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")
"""First bytes of PNG and JPEG."""
_PAGE_WRITING = "hearth.memory.search.office_documents:page_writing"
MAX_SCANNED_PAGES = 20
UNREAD_PICTURES = f"pictures, whose writing is read with {INSTALL_COMMANDS['hearth-video']}"
_PACKED = b"PK\x03\x04"
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""First bytes of the container of old Office programs, in which newer ones put what they encrypt."""
_ENCRYPTED_PART = "EncryptedPackage".encode("utf-16-le")
_RTF = b"{\\rtf"
WITHOUT_WRITING = "a picture without writing"
WITHOUT_TEXT = "a document without text"
_RULE = re.compile(r"[\s|:-]*-[\s|:-]*")
_MARKDOWN_TABLE = re.compile(
    r"(?m)^[^\n|]*\|[^\n]*\n[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)+$(?:\n[^\n|]*\|[^\n]*)*"
)
"""The first row, the line of dashes below it, and the rows that follow."""
_WORKED = {"pdf": "pdf", "docx": "docx", "odt": "odt", "xlsx": "xlsx", "xlsm": "xlsx"}


@dataclass(frozen=True, slots=True)
class DocumentText:
    """What a document says, as far as it is read."""

    text: str
    fault: str = ""
    """What of it could not be read, and why."""
    is_waiting: bool = False
    """Whether pictures in it are still to be read."""


def text_of(name: str, data: bytes, *, with_pictures: bool = True) -> DocumentText:
    """Return the text of a file.

    Args:
        name: Its name or path; the ending tells formats apart that begin alike.
        with_pictures: Whether the writing in pictures is read now; a second or two each.
    Raises:
        Unreadable: It holds no text that can be read; says why and what to do.
    """
    ending = name.rpartition(".")[2].lower()
    if is_picture(data):
        if is_left := _left_pictures(with_pictures):
            return is_left
        return DocumentText(picture_text(data))
    if data.startswith(b"%PDF"):
        return _pdf_text(_office_text("pdf", data), data, with_pictures=with_pictures)
    if data.startswith(_OLD_OFFICE):
        if _ENCRYPTED_PART in data:
            raise Unreadable("it is encrypted; save it without a password")
        raise Unreadable("a file of an old Office program (.doc, .xls, .ppt); save it anew as DOCX, XLSX or PDF")
    if data.startswith(_RTF):
        return DocumentText(_office_text("rtf", data))
    if data.startswith(_PACKED):
        if ending not in _WORKED:
            raise Unreadable(
                "a packed file; bring an archive in with `hearth import`, or save it as PDF, DOCX, ODT or XLSX"
            )
        return DocumentText(_office_text(_WORKED[ending], data))
    text = decoded(data)
    if text is None:
        raise Unreadable("no text: pictures, sound and programs are not read")
    fault = CUT_SHORT if len(text) > MAX_TEXT_CHARACTERS else ""
    text = text[:MAX_TEXT_CHARACTERS]
    if ending in ("html", "htm") or looks_like_html(text):
        return DocumentText(text_of_html(text), fault)
    if ending in ("csv", "tsv"):
        return DocumentText(_table(text, "\t" if ending == "tsv" else ","), fault)
    return DocumentText(plain_tables(text.replace("\r\n", "\n")), fault)


def is_of_read_kind(name: str, data: bytes) -> bool:
    """Return whether a file is of a kind whose text is read, so that none in it is a fault."""
    is_packed = data.startswith(_PACKED) and name.rpartition(".")[2].lower() in _WORKED
    return is_packed or data.startswith((b"%PDF", _OLD_OFFICE, _RTF)) or is_picture(data)


def textless(data: bytes) -> str:
    """Say that a file of a kind that is read holds no text."""
    return WITHOUT_WRITING if is_picture(data) else WITHOUT_TEXT


def is_picture(data: bytes) -> bool:
    return data.startswith(_PICTURES)


def reads_pictures() -> bool:
    """Return whether something is installed that reads the writing in pictures."""
    return bool(place_of(READERS, "picture"))


def picture_text(data: bytes) -> str:
    """Return the lines of writing in a picture; empty where there is none. Raises: Unreadable: It is damaged, or takes
    too much."""
    read = read_bounded(place_of(READERS, "picture"), data, _PICTURE_BOUNDS, {})
    return read.decode(errors="replace")[:MAX_TEXT_CHARACTERS]


def _left_pictures(with_pictures: bool) -> DocumentText | None:
    """Return what is said of a picture that is left for later; None where it is to be read now."""
    if not reads_pictures():
        return DocumentText("", UNREAD_PICTURES, is_waiting=True)
    return None if with_pictures else DocumentText("", is_waiting=True)


def _pdf_text(read: str, data: bytes, *, with_pictures: bool) -> DocumentText:
    """Return the text of a PDF, page after page; of pages that are pictures, their writing."""
    pages = read.split(PAGE_END)
    scanned = [n for n, page in enumerate(pages) if SCANNED in page]
    left = _left_pictures(with_pictures) if scanned else None
    faults: list[str] = [left.fault] if left is not None and left.fault else []
    for n in () if left is not None else scanned[:MAX_SCANNED_PAGES]:
        asked = {"page": n, "reader": place_of(READERS, "picture")}
        try:
            pages[n] += read_bounded(_PAGE_WRITING, data, _PICTURE_BOUNDS, asked).decode(errors="replace")
        except Unreadable as error:
            faults.append(f"page {n + 1}: {error}")
    if left is None and len(scanned) > MAX_SCANNED_PAGES:
        faults.append(f"the scanned pages after the first {MAX_SCANNED_PAGES}")
    text = "".join(pages).replace(SCANNED, "")[:MAX_TEXT_CHARACTERS]
    return DocumentText(text, "; ".join(faults), is_waiting=left is not None)


def plain_tables(text: str) -> str:
    """Return a text whose Markdown tables have rows as all tables here: cells apart by ` | `, without the line of
    dashes."""

    def plain(found: re.Match[str]) -> str:
        rows = (row.strip().removeprefix("|").removesuffix("|") for row in found.group().split("\n"))
        lines = (
            " | ".join(" ".join(cell.split()) for cell in row.split("|")) for row in rows if not _RULE.fullmatch(row)
        )
        return "\n".join(lines)

    return _MARKDOWN_TABLE.sub(plain, text)


def _table(text: str, separator: str) -> str:
    """Return the rows of a table, their cells apart by ` | `."""
    first = text.partition("\n")[0]
    separator = ";" if separator == "," and first.count(";") > first.count(",") else separator
    try:
        rows = [row for _, row in zip(range(_MAX_ROWS), csv.reader(io.StringIO(text), delimiter=separator))]
    except csv.Error as error:
        raise Unreadable(f"no table of cells: {error}") from None
    return "\n".join(" | ".join(" ".join(cell.split()) for cell in row) for row in rows if any(row))


def _office_text(kind: str, data: bytes) -> str:
    read = read_bounded("hearth.memory.search.office_documents:text_pieces", data, _BOUNDS, {"kind": kind})
    return read.decode(errors="replace")[:MAX_TEXT_CHARACTERS]


# ── Collecting ────────────────────────────────────────────────────────────────────────────────────────────
# Reads a file of the owner's folder as passages, each with its record, date, person and who may have written it.
#
# Mails (with the text of their attachments, of attached mails, too, and the writing in pictures they carry), notes and
# lists, documents, events, cards and reminders are read by the parsers of their tools, so that a record's id here is
# the one its tool knows.
#
# Covered: one file at a time, within the bounds below; a file, or a part of it, that cannot be read says why; chats,
# mailboxes, mails and notes of other programs dropped among notes and documents, which are not read there. Not
# covered: files of other kinds (recordings are `hearth_video`'s), what is in a trash, junk or draft folder of mail,
# pictures that stand in a mail's HTML itself (`data:`) or lie elsewhere in the network.

MAX_FILE_BYTES = 25_000_000
MAX_PASSAGES = 400
"""Most passages of one file; the rest of a longer one is left out."""
MAX_ATTACHMENTS = 10
"""Of one mail, with those of the mails attached to it."""
MAX_MAIL_DEPTH = 3
"""A mail attached to a mail attached to a mail attached to the mail is read, and none within."""
LEAST_PICTURE_BYTES = 3_000
"""A smaller picture in a mail is an icon, or counts who opened the mail."""
MAX_HEADING_CHARS = 120
"""Most characters of a document's first heading that are its title."""
_FREE = ("notes", "documents")
"""Folders in which any file is read."""
_OWN = {"calendar": "ics", "reminders": "ics", "contacts": "vcf"}
"""What is read in a folder as it lies there."""
_BROUGHT_IN = {"mbox": "a mailbox", "eml": "a mail", "emlx": "a mail", "ics": "a calendar", "vcf": "cards"}
_BROUGHT_IN |= dict.fromkeys(("zip", "tgz", "tar"), "a packed file") | {"jsonl": "a chat"}
"""Forms that an import makes records of, wherever in the home they are dropped."""
_FORMS: Mapping[Form, str] = {
    "mbox": "a mailbox",
    "mail": "a mail",
    "chat": "a chat",
    "chat page": "a page of a chat's export",
    "Keep note": "a note of Keep",
}
"""Those that only the first bytes tell. As documents, what others wrote in them would count as the owner's words."""
BRING_IN = "bring it in with `hearth import PATH`, then move it out of the home"
"""How the reason ends why a file is not read that waits for an import."""
_LEFT_OUT = NOT_SEARCHED - {SENT}
_MAIL = re.compile(r"mail/(?:\.(?P<folder>[^/]+)/)?(?:cur|new)/(?P<name>[^/.][^/]*)")
_TOP = re.compile(r"\A(?:---\n.*?\n---\n)?\s*([^\n]*)(?:\n|\Z)", re.DOTALL)
_ANNOUNCED = re.compile(r"(?m)^[^\S\n]*On [^\n]{6,120}(?:\n[^\n]{0,80})?(?<=wrote):[^\S\n]*$")
"""Says whose words are quoted below."""
_ANSWERED = re.compile(r"(?m)^[^\S\n]*-{2,}[^\S\n]*Original (?:Message|Mail)[^\S\n]*-{2,}")
"""Stands above the whole mail that is answered."""
_UNNAMED_SHEET = re.compile(r"(?:Sheet|Table|Tabelle|Feuil) ?\d*", re.IGNORECASE)
_FIRST_LINE = re.compile(r"\A\s*([^\n|.:]{3,80})\n\s*(?=\S)")
_MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905


def is_indexed(path: str) -> bool:
    """Return whether the file at a path is one whose passages are kept."""
    folder, _, rest = path.partition("/")
    ending = path.rpartition(".")[2].lower()
    if folder == "mail":
        place = _MAIL.fullmatch(path)
        if place is None:  # dropped beside the folders of mail: to be brought in
            return "/" not in rest and ending in _BROUGHT_IN
        return place["folder"] not in _LEFT_OUT
    if not rest or any(part.startswith(".") for part in path.split("/")):
        return False
    return ending in _BROUGHT_IN or (_OWN[folder] == ending if folder in _OWN else folder in _FREE)


def _brought_in(path: str) -> str:
    """Return what a file is, if it is of a form that an import makes records of; empty for any other."""
    return _BROUGHT_IN.get(path.rpartition(".")[2].lower(), "")


def _is_own(path: str) -> bool:
    """Return whether a file lies where its form is read as it is: a mail in its folder, an event in the calendar."""
    folder, ending = path.partition("/")[0], path.rpartition(".")[2].lower()
    return _MAIL.fullmatch(path) is not None or _OWN.get(folder) == ending


@dataclass(frozen=True, slots=True)
class FilePassages:
    """A file as it was read."""

    passages: tuple[NewPassage, ...]
    fault: str = ""
    """What of it could not be read, and why."""
    is_waiting: bool = False
    """Whether pictures in it are still to be read."""


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    raw: bytes
    modified: dt.datetime
    with_pictures: bool


@dataclass(frozen=True, slots=True)
class _Unread:
    """A part of a file that was not read: why, or nothing of what is only left for later."""

    why: str
    is_waiting: bool = False


def passages_in(
    path: str, workspace: Workspace, zone: dt.tzinfo | None, *, with_pictures: bool = False
) -> FilePassages:
    """Read the file at `path` as passages.

    Args:
        with_pictures: Whether pictures in mails are read, too; those among documents always are.
    Raises:
        Unreadable: Too large, damaged, or of a kind that cannot be read; says why.
        ToolError: It is gone, or lies outside the owner's folder.
    """
    stat = workspace.stat(path)
    folder = path.partition("/")[0]
    most = MAX_DOCUMENT_BYTES if folder == "documents" else MAX_FILE_BYTES
    if stat.size_bytes > most:
        raise Unreadable(f"it has {stat.size_bytes / 1e6:.1f} MB; at most {most / 1e6:.0f} MB are read")
    if (what := _brought_in(path)) and not _is_own(path):
        raise Unreadable(f"{what}; {BRING_IN}")
    raw = workspace.read(path)
    if folder in _FREE and (form := form_of(path, raw[:HEAD_BYTES])):
        raise Unreadable(f"{_FORMS[form]}; {BRING_IN}")
    passages: list[NewPassage] = []
    unread: list[_Unread] = []
    for found in _READERS[folder](_File(path, raw, stat.modified.astimezone(zone), with_pictures)):
        if isinstance(found, _Unread):
            unread.append(found)
        elif len(passages) < MAX_PASSAGES:
            passages.append(found)
        else:
            unread.append(_Unread(CUT_SHORT))
            break
    faults = dict.fromkeys(one.why for one in unread if one.why)
    return FilePassages(tuple(passages), "; ".join(faults), any(one.is_waiting for one in unread))


def _mail(file: _File) -> Iterator[NewPassage | _Unread]:
    place = _MAIL.fullmatch(file.path)
    assert place is not None
    folder, unique = place["folder"] or "INBOX", place["name"].partition(":2,")[0]
    head, body = read_head(file.raw), read_body(file.raw)
    if body.fault:
        raise Unreadable(body.fault)
    at = (head.date or file.modified).astimezone(file.modified.tzinfo)
    person = head.sender_name or head.sender
    title = head.subject or "(no subject)"
    record = f"{folder}/{unique}"

    def pieces(text: str, name: str) -> Iterator[NewPassage]:
        for cut in _cut(text):
            yield NewPassage(record, "mail", "message", name, person, at, cut)

    yield from pieces(unquoted(body.text), title) if body.text.strip() else pieces(title, title)
    waiting = [(title, one, 1) for one in reversed(_attachments(file.raw) if body.attachments else [])]
    n_read = 0
    while waiting and (n_read := n_read + 1) <= MAX_ATTACHMENTS:
        above, attachment, depth = waiting.pop()
        name = f"{above}, {attachment.name}"
        if _is_mail(attachment) and depth > MAX_MAIL_DEPTH:
            yield _Unread(f"{attachment.name}: a mail more than {MAX_MAIL_DEPTH} deep in others")
            continue
        if _is_mail(attachment):
            name = f"{above}, {read_head(attachment.data).subject or attachment.name}"
            waiting += [(name, one, depth + 1) for one in reversed(_attachments(attachment.data))]
            read = _attached_mail(attachment.data)
        else:
            read = _attachment_text(attachment, with_pictures=file.with_pictures)
        yield from pieces(read.text, name)
        if read.fault or read.is_waiting:
            # One line of `doctor` for all that waits for the same, or lacks the same.
            is_common = read.fault in ("", UNREAD_PICTURES, WITHOUT_WRITING)
            yield _Unread(read.fault if is_common else f"{attachment.name}: {read.fault}", read.is_waiting)


def _is_mail(attachment: Attachment) -> bool:
    """Return whether an attachment is a mail: it is called one, and has the head of one."""
    if attachment.kind != "message/rfc822" and not attachment.name.lower().endswith(".eml"):
        return False
    head = read_head(attachment.data)
    return bool(head.sender or head.subject or head.date)


def _attached_mail(raw: bytes) -> DocumentText:
    """Return what a mail says that is attached to another, below who it says wrote it and when."""
    head, body = read_head(raw), read_body(raw)
    by = f"From: {' '.join(filter(None, (head.sender_name, head.sender)))}" if head.sender else ""
    when = said_date(head.date) if head.date is not None else ""
    top = "\n".join(filter(None, (head.subject, ", ".join(filter(None, (by, when))))))
    return DocumentText(f"{top}\n\n{unquoted(body.text)}", body.fault)


def _attachment_text(attachment: Attachment, *, with_pictures: bool) -> DocumentText:
    """Return what an attachment says; of a kind that is not read, and of a small picture, nothing, which is no
    fault."""
    if is_picture(attachment.data) and len(attachment.data) < LEAST_PICTURE_BYTES:
        return DocumentText("")
    is_read_kind = is_of_read_kind(attachment.name, attachment.data)
    try:
        read = text_of(attachment.name, attachment.data, with_pictures=with_pictures)
    except Unreadable as error:
        return DocumentText("", str(error) if is_read_kind else "")
    if is_read_kind and not (read.text.strip() or read.fault or read.is_waiting):
        return DocumentText("", textless(attachment.data))
    return read


def _attachments(raw: bytes) -> list[Attachment]:
    try:
        return read_attachments(raw)[:MAX_ATTACHMENTS]
    except Unreadable:
        return []  # the mail itself is read


def unquoted(text: str) -> str:
    """Return a mail's text without the mail that it answers: the lines it quotes, and what announces them; all of it if
    nothing is left."""
    own = "\n".join(line for line in _ANSWERED.split(text)[0].split("\n") if not line.lstrip().startswith(">"))
    own = _ANNOUNCED.sub("", own)
    return own if own.strip() else text


def _note(file: _File) -> Iterator[NewPassage | _Unread]:
    id = file.path.removeprefix("notes/").rpartition(".")[0] or file.path
    yield from _document_of(id, "note", file)


def _document(file: _File) -> Iterator[NewPassage | _Unread]:
    yield from _document_of(file.path, "document", file)


def _document_of(record: str, kind: str, file: _File) -> Iterator[NewPassage | _Unread]:
    path, read = file.path, text_of(file.path, file.raw)
    if read.fault or read.is_waiting:
        yield _Unread(read.fault, read.is_waiting)
    elif not read.text.strip() and is_of_read_kind(path, file.raw):
        raise Unreadable(textless(file.raw))
    name = path.rpartition("/")[2].rpartition(".")[0].replace("-", " ").replace("_", " ").strip()
    top = _TOP.match(read.text)
    heading = heading_of(top[1]) if top else ""
    if not 0 < len(heading) <= MAX_HEADING_CHARS:
        top = _FIRST_LINE.match(read.text)
        heading = top[1].strip() if top and not _UNNAMED_SHEET.fullmatch(top[1].strip()) else ""
    title = _title_of(name, heading) if path.casefold().endswith(".xlsx") else heading or name
    body = read.text[top.end() :] if top else read.text
    for cut in _cut(body if body.strip() else heading):  # a line alone is what there is to say
        yield NewPassage(record, kind, "file", title, "", file.modified, cut)


def _title_of(name: str, heading: str) -> str:
    """Return what a table of sheets is called: by its file, and by its first line where that says more."""
    named, headed = (set(re.findall(r"[^\W\d_]+", said.casefold())) for said in (name, heading))
    if not headed or headed <= named:
        return name if not headed or len(named) > len(headed) else heading
    return heading if named <= headed else f"{name}, {heading}"


def _events(file: _File) -> Iterator[NewPassage]:
    zone = file.modified.tzinfo
    for index, event, document in _components(file.raw, "VEVENT"):
        try:
            entry = entry_of(index, event, document)
        except (ValueError, OverflowError):
            continue
        if entry.is_cancelled:
            continue
        at = ical.in_zone(entry.start, zone)
        source = "web" if is_subscribed(file.path) else "message" if entry.is_invitation else "file"
        record = entry.uid or f"{file.path}#{entry.index}"
        yield NewPassage(record, "event", source, entry.title, entry.organiser, at, event_text(entry, zone))


def event_text(entry: Entry, zone: dt.tzinfo | None) -> str:
    """Write an event as a passage: when, where, with whom, its notes."""
    start, end = ical.in_zone(entry.start, zone), ical.in_zone(entry.end, zone)
    when = said_date(start)
    if isinstance(entry.start, dt.datetime):
        when += f" from {start:%H:%M} to {end:%H:%M}" if start.date() == end.date() else f" at {start:%H:%M}"
    often = f", {entry.repeat}" if entry.is_series and entry.repeat != "none" else ""
    where = f", at {entry.place}" if entry.place else ""
    return "\n".join(filter(None, (f"{entry.title}: {when}{often}{where}.", entry.notes[:2000])))


def _cards(file: _File) -> Iterator[NewPassage]:
    for index, component in enumerate(_parsed(file.raw).components("VCARD")):
        card = card_of(index, component)
        if card.name:
            record = card.uid or f"{file.path}#{index}"
            yield NewPassage(record, "contact", "file", card.name, "", None, card_text(card))


def card_text(card: Card) -> str:
    """Write a card as a passage: one line for each thing it says."""
    born = said_birth(card.birth) if card.birth is not None else ""
    said = {
        "also called": ", ".join(card.nicknames),
        "e-mail": card.email,
        "phone": card.phone,
        "address": card.address,
        "birthday": born,
        "organisation": card.organisation,
        "work": ", ".join(card.titles),
        "is": ", ".join((*card.related, *card.categories)),
        "notes": card.notes[:2000],
    }
    return "\n".join([card.name, *(f"{name}: {value}" for name, value in said.items() if value)])


def said_birth(birth: Birth) -> str:
    """Write a birthday, with its year where that is known: `3 December 2015`."""
    return f"{birth.day} {_MONTHS[birth.month - 1]}{f' {birth.year}' if birth.year else ''}"


def _reminders(file: _File) -> Iterator[NewPassage]:
    for index, todo, document in _components(file.raw, "VTODO"):
        text = todo.text("SUMMARY").strip()
        if not text:
            continue
        line = todo.line("DUE") or todo.line("DTSTART")
        try:
            at = ical.in_zone(ical.read_time(line, document), file.modified.tzinfo) if line is not None else None
        except (ValueError, OverflowError):
            at = None
        is_done = todo.text("STATUS").upper() in ("COMPLETED", "CANCELLED")
        due = f": {said_date(at)} at {at:%H:%M}" if at is not None else ""
        record = todo.text("UID").strip() or f"{file.path}#{index}"
        yield NewPassage(record, "reminder", "file", text[:120], "", at, f"{text}{due}{' (done)' if is_done else ''}")


def _components(raw: bytes, name: str) -> Iterator[tuple[int, Component, Component]]:
    document = _parsed(raw)
    found = [one for calendar in document.components("VCALENDAR") for one in calendar.components(name)]
    for index, component in enumerate(found):
        yield index, component, document


def _parsed(raw: bytes) -> Component:
    try:
        return parse(raw)
    except ValueError as error:
        raise Unreadable(str(error)) from None


def _cut(text: str) -> Iterator[str]:
    for cut in passages_of(text):
        yield f"{cut.head}\n{text[cut.start : cut.end]}" if cut.head else text[cut.start : cut.end]


def said_date(moment: dt.datetime) -> str:
    """Write a day with its weekday and year: `Tuesday 24 November 2026`."""
    return f"{moment:%A} {moment.day} {moment:%B} {moment.year}"


def where_of(passage: Passage) -> str:
    """Say where a passage stands: `mail “Tax return” from Hugh Dunn, Wednesday 18 November 2026`."""
    by = f" from {passage.person}" if passage.person and passage.kind == "mail" else ""
    when = f", {said_date(passage.at)}" if passage.at is not None and passage.kind == "mail" else ""
    name = {"contact": "card", "event": "calendar"}.get(passage.kind, passage.kind)
    return f"{name} “{passage.title}”{by}{when}"


def unquoted_place_of(passage: Passage) -> str:
    """Say where a passage stands in words that no stranger wrote: a mail by its day and not by its subject."""
    when = f" of {said_date(passage.at)}" if passage.at is not None else ""
    if passage.kind in ("mail", "event", "document"):
        name = {"mail": "a mail", "event": "an entry in your calendar", "document": "a document"}[passage.kind]
        return f"{name}{when}"
    return where_of(passage)


def place_by_known(passage: Passage) -> str:
    """Say where a passage stands that the owner or somebody on a card wrote, with its title: `Ana's mail “Lunch” of
    Monday 23 November 2026`."""
    if passage.kind not in ("mail", "event"):
        return unquoted_place_of(passage)
    when = f" of {said_date(passage.at)}" if passage.at is not None else ""
    if passage.kind == "event":
        return f"“{passage.title}” in your calendar{when}"
    whose = f"{passage.person}'s" if passage.person and not passage.record.startswith(f"{SENT}/") else "your"
    return f"{whose} mail “{passage.title}”{when}"


def made_here(passage: Passage) -> str:
    """Return the kind of record that a passage is of, where Hearth may have made it; empty for any other.

    An id with the mark of an occurrence could pass for a time of another event.
    """
    if passage.kind == "note":
        return "note"
    return passage.kind if passage.kind in ("event", "reminder") and "#" not in passage.record else ""


_READERS: Mapping[str, Callable[[_File], Iterator[NewPassage | _Unread]]] = {
    "mail": _mail,
    "notes": _note,
    "documents": _document,
    "calendar": _events,
    "contacts": _cards,
    "reminders": _reminders,
}
FOLDERS = tuple(_READERS)


# ── Text tables ───────────────────────────────────────────────────────────────────────────────────────────
# Reads the tables of a text: rows of cells apart by ` | `, as every reader of documents and mails here writes them,
# and lists of names with a value each.
#
# The first row is the head where it says what the columns are: no cell of it is a number, an amount or a date, but
# for years beside each other above columns that hold other things. Rows with another number of cells end a table.
#
# Not covered: cells that span columns, heads of two rows.

_LINE = re.compile(r"[^\n]+")
_VALUE = re.compile(
    r"(?:[€£$+-]\s?)?\d[\d., ]*(?:\s?(?:€|£|\$|%|kr|[A-Z]{3}))?|\d{4}-\d\d-\d\d.*|\d{1,2}[./]\d{1,2}[./]\d{2,4}"
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_LEAST_COLUMNS = 2
_LISTED = re.compile(
    r"[^\S\n]*(?:[-*•·][^\S\n]+|\d{1,2}[.)][^\S\n]+)?(?:\[(?P<box>[ xX]?)\][^\S\n]+)?(?P<name>[^\s|:][^|:\n]{0,60}?)"
    r"(?:(?:[^\S\n]*[:=][^\S\n]*|[^\S\n]+[–—-][^\S\n]+|,[^\S\n]+|[^\S\n]+(?=[€£$]))(?P<value>[^|:\n]{1,30}?))?[.,;]?"
)
"""A line of a list: `- Ana: paid`, `Harbour fair – €320`, `- [x] Sam`."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell without the blanks around it."""

    text: str
    start: int
    """Its place in the text."""


Row = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a table, all as long as its head."""

    head: Row
    """Empty cells where no row says what the columns are."""
    rows: tuple[Row, ...]

    def names(self) -> list[str]:
        """Return what the columns are called."""
        return [cell.text for cell in self.head]

    def texts(self) -> list[tuple[str, ...]]:
        """Return the rows as texts alone."""
        return [tuple(cell.text for cell in row) for row in self.rows]


def tables_in(text: str) -> list[Table]:
    """Find the tables of a text, in order; a head that is repeated, where a table was cut, is one."""
    found = []
    for rows in _runs(text):
        is_headed = len(rows) > 1 and _is_head(rows)
        head = rows[0] if is_headed else tuple(Cell("", cell.start) for cell in rows[0])
        said = [cell.text for cell in head]
        body = tuple(row for row in rows[is_headed:] if [cell.text for cell in row] != said)
        if body:
            found.append(Table(head, body))
    return found


def with_heads(text: str) -> tuple[str, NDArray[np.int32]]:
    """Say before each cell of a table, but the first of its row, the name of its column: `Ana | 9 | 4` is
    `Ana: fee 9; paid 4`.

    Returns:
        The text, and of each of its characters the place in the text as it was, shape [n]; -1: it was added.
    """
    parts: list[tuple[str, int]] = []
    place = 0
    for table in tables_in(text):
        if not all(table.names()[1:]):
            continue
        for row in table.rows:
            parts.append((text[place : row[0].start], place))
            parts.append((row[0].text, row[0].start))
            told = [(head.text, cell) for head, cell in zip(table.head[1:], row[1:], strict=True) if cell.text]
            for k, (name, cell) in enumerate(told):
                parts += [(f"{'; ' if k else ': '}{name} ", -1), (cell.text, cell.start)]
            place = row[-1].start + len(row[-1].text)
    parts.append((text[place:], place))
    places = [np.full(len(said), -1) if at < 0 else np.arange(at, at + len(said)) for said, at in parts]
    return "".join(said for said, _ in parts), np.concatenate(places).astype(np.int32)


def _is_head(rows: Sequence[Row]) -> bool:
    """Return whether the first row says what the columns are. A year does where another stands beside it and none
    below: "2025 | 2026", but not "Rent | 2000" above other amounts."""
    columns = list(zip(*rows, strict=True))
    years = [k for k, (head, *_) in enumerate(columns) if _YEAR.fullmatch(head.text)]
    if len(years) < _LEAST_COLUMNS or any(_YEAR.fullmatch(one.text) for k in years for one in columns[k][1:]):
        years = []
    return not any(_VALUE.fullmatch(cell.text) for k, cell in enumerate(rows[0]) if k not in years)


def lists_in(text: str) -> list[Table]:
    """Find the lists whose lines each give a name one value, or are ticked or not; their columns have no heads."""
    found, rows, has_boxes = [], list[Row](), False
    for line in (*_LINE.finditer(text), None):
        said = _LISTED.fullmatch(line.group()) if line is not None else None
        is_box = said is not None and said["box"] is not None
        if said is None or is_box is not has_boxes or (not is_box and said["value"] is None):
            if len(rows) >= _LEAST_COLUMNS:
                found.append(Table((Cell("", rows[0][0].start), Cell("", rows[0][1].start)), tuple(rows)))
            rows, has_boxes = [], is_box
        if line is not None and said is not None and (is_box or said["value"] is not None):
            value = "box" if is_box else "value"
            name = line.group()[said.start("name") :].strip() if is_box else said["name"].strip()
            places = (line.start() + said.start("name"), line.start() + said.start(value))
            rows.append((Cell(name, places[0]), Cell(said[value].strip(), places[1])))
    return found


def _runs(text: str) -> Iterator[Sequence[Row]]:
    """Yield the runs of lines that have as many cells as each other."""
    run: list[Row] = []
    for line in _LINE.finditer(text):
        cells = _cells(line) if "|" in line.group() else ()
        if run and len(cells) != len(run[0]):
            yield run
            run = []
        if len(cells) >= _LEAST_COLUMNS:
            run.append(cells)
    if run:
        yield run


def _cells(line: re.Match[str]) -> Row:
    cells, place = [], line.start()
    for part in line.group().split("|"):
        blanks = len(part) - len(part.lstrip())
        cells.append(Cell(part.strip(), place + (blanks if part.strip() else 0)))
        place += len(part) + 1
    return tuple(cells)
