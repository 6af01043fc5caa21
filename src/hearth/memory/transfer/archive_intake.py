"""Brings what was handed over into the owner's folder: mails, events, reminders, cards, notes, documents; chats into
memory.

Each thing is known again (a mail by its Message-ID, an event and a card by its UID, else by content), wherever in the
home it came from, so that the same import twice adds nothing, and one that was stopped carries on.

Covered: pieces that break (named, the rest goes on), a disk that is full (nothing is half written).
Not covered: a newer version of an event or card that is there (the home's stays), what the owner has deleted since (it
comes back), attachments that notes point to.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from hearth.atomic_files import replacing
from hearth.formats.content_lines import Component, new_line, parse
from hearth.memory.event_memory import EventMemory
from hearth.memory.transfer.archive_contents import MAX_FILE_BYTES, Archives, Piece, keep_note
from hearth.memory.transfer.import_sources import Source
from hearth.memory.transfer.importers import Report, detect, imported, mbox_messages
from hearth.storage.database import Store
from hearth.tools.mail.mime import read_head
from hearth.tools.pim.ical import SENT_BY_OTHERS, is_sent

NAMES = {one: (one, f"{one}s") for one in ("mail", "event", "reminder", "card", "note", "document")}
NAMES |= {"message": ("chat message", "chat messages")}
_MESSAGE_ID = re.compile(rb"^message-id:[ \t]*(?:\r?\n[ \t]+)?<?([^>\s]{1,300})", re.IGNORECASE | re.MULTILINE)
_HEAD_BYTES = 16_000
_UNSAFE = re.compile(r"[^\w .,()&+'-]+")
_SENT_BY_NAME = re.compile(
    r"(?:^|/)(?:sent(?: mail| items| messages)?|gesendet\w*)(?:-\d+)?(?:\.mbox)?(?:/|$)", re.IGNORECASE
)
_GMAIL_LABELS = re.compile(rb"^x-gmail-labels:[^\n]*\b(spam|trash|drafts?)\b", re.IGNORECASE | re.MULTILINE)
_MOZILLA_STATUS = re.compile(rb"^x-mozilla-status:[ \t]*([0-9a-f]{4})\b", re.IGNORECASE | re.MULTILINE)
_EXPUNGED = 0x0008
"""Flag of a mail that Thunderbird has deleted and not yet cut out of its file."""


@dataclass(slots=True)
class Taken:
    """How far an import came."""

    new: Counter[str] = field(default_factory=Counter)
    """Things put into the home, by kind as in `NAMES`."""
    known: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    """By reason."""
    faults: list[str] = field(default_factory=list)
    """Each piece that broke: where, and why."""


class Intake:
    """Puts pieces into one home; what is there already is read once."""

    def __init__(self, owner_folder: Path, memory: EventMemory, store: Store, source: Source, email: str) -> None:
        """Open the intake.

        Args:
            source: The zone and date order in which times are read.
            email: The owner's address; what it sent goes to the sent mails.
        """
        self.taken = Taken()
        self._root, self._memory, self._store = owner_folder, memory, store
        self._source, self._email = source, email.casefold()
        self._archives = Archives()
        self._mails = set(self._known_mails())
        self._uids = set(self._known_uids())
        self._documents = self._known_documents()

    def take(self, piece: Piece) -> Iterator[int]:
        """Put one piece into the home; yield how many of its bytes are done.

        If stopped anywhere, what was put in stays. Raises: StoreError: The disk is full, say.
        """
        if not piece.kind:
            self.taken.left_out[piece.why] += 1
            return
        try:
            if piece.kind == "mbox":
                yield from self.mbox(piece)
            else:
                _TAKES[piece.kind](self, piece)
                yield piece.n_bytes
        except (OSError, ValueError, EOFError, RecursionError, NotImplementedError, zipfile.BadZipFile) as error:
            self.taken.faults.append(f"{piece.name}: {str(error) or type(error).__name__}")

    def close(self) -> None:
        """Close the archive that is open."""
        self._archives.close()

    # ── Mail ──────────────────────────────────────────────────────────────────────────────────────────────

    def mbox(self, piece: Piece) -> Iterator[int]:
        with piece.open(self._archives) as file:
            for n_bytes, raw, n_line in mbox_messages(file, MAX_FILE_BYTES):
                if len(raw) >= MAX_FILE_BYTES:
                    self.taken.faults.append(f"{piece.name}, line {n_line}: a mail over {MAX_FILE_BYTES // 10**6} MB")
                elif _is_deleted(raw[:_HEAD_BYTES]):
                    self.taken.left_out["mail that was deleted, not sent or junk"] += 1
                else:
                    self._mail(raw, piece.name)
                yield n_bytes

    def mail(self, piece: Piece) -> None:
        raw = piece.read(self._archives)
        length, _, rest = raw.partition(b"\n")
        if piece.name.lower().endswith(".emlx") and length.strip().isdigit():  # Apple Mail: how long it is, then it
            raw = rest[: int(length)]
        self._mail(raw, piece.name)

    def _mail(self, raw: bytes, name: str) -> None:
        head = read_head(raw)
        if head.date is None and not head.sender and not head.subject:
            self.taken.faults.append(f"{name}: no mail: it names no sender, subject or date")
            return
        identity = _mail_identity(raw)
        if identity in self._mails:
            self.taken.known["mail"] += 1
            return
        is_sent = _SENT_BY_NAME.search(name) or (self._email and head.sender.casefold() == self._email)
        at = int(head.date.timestamp()) if head.date is not None else 0
        box = self._root / "mail" / ".Sent" if is_sent else self._root / "mail"
        if is_sent and not (box / "maildirfolder").exists():
            self._put(box / "maildirfolder", b"")  # the mark of a folder in Maildir++
        self._put(box / "cur" / f"{max(0, at)}.H{identity[:20]}.import:2,S", raw)
        self._mails.add(identity)
        self.taken.new["mail"] += 1

    def _known_mails(self) -> Iterator[str]:
        for path in (self._root / "mail").glob("**/*"):
            if path.parent.name in ("cur", "new") and path.is_file():
                with path.open("rb") as file:
                    yield _mail_identity(file.read(_HEAD_BYTES), path)

    # ── Events, reminders, cards ──────────────────────────────────────────────────────────────────────────

    def calendar(self, piece: Piece) -> None:
        """Put in each event and task with its overrides and zones as a file of its own.

        An invitation that names nobody who invites is marked as one: it would pass for the owner's own event.
        """
        document = parse(piece.read(self._archives))
        is_message = is_sent(document)
        for calendar in document.components("VCALENDAR"):
            for event in calendar.components("VEVENT"):
                if event.line("ORGANIZER") is None and (is_message or event.line("ATTENDEE") is not None):
                    event.put(new_line(SENT_BY_OTHERS, "TRUE"))
            zones = [one.render() for one in calendar.components("VTIMEZONE")]
            for name, kind, folder in (("VEVENT", "event", "calendar"), ("VTODO", "reminder", "reminders")):
                for uid, parts in _by_uid(calendar.components(name)).items():
                    data = b"".join((_BEGIN, *zones, *parts, b"END:VCALENDAR\r\n"))
                    self._record(kind, uid, self._root / folder / f"{uid_name(uid)}.ics", data)

    def contacts(self, piece: Piece) -> None:
        for card in parse(piece.read(self._archives)).components("VCARD"):
            data = card.render()
            uid = card.text("UID").strip() or hashlib.sha256(data).hexdigest()
            self._record("card", uid, self._root / "contacts" / f"{uid_name(uid)}.vcf", data)

    def _record(self, kind: str, uid: str, path: Path, data: bytes) -> None:
        if uid in self._uids or path.exists():
            self.taken.known[kind] += 1
            return
        self._put(path, data)
        self._uids.add(uid)
        self.taken.new[kind] += 1

    def _known_uids(self) -> Iterator[str]:
        for folder, ending in (("calendar", "ics"), ("reminders", "ics"), ("contacts", "vcf")):
            for path in (self._root / folder).rglob(f"*.{ending}"):
                yield from (found[1].decode(errors="replace").strip() for found in _UID.finditer(path.read_bytes()))

    # ── Notes, documents, chats ───────────────────────────────────────────────────────────────────────────

    def note(self, piece: Piece) -> None:
        data, title = piece.read(self._archives), piece.title
        if piece.name.lower().endswith(".json"):
            kept = keep_note(data)
            if kept is None:
                self.taken.left_out["notes that were deleted or are empty"] += 1
                return
            named, text = kept
            title, data = named or title, (f"# {named}\n\n{text}\n" if named else f"{text}\n").encode()
        self._text("note", self._root / "notes", f"{safe_name(title)}.md", data)

    def document(self, piece: Piece) -> None:
        parts = [safe_name(part) for part in PurePosixPath(piece.name).parts if part not in ("..", ".", "/")]
        data = piece.read(self._archives)
        if any(path.exists() and path.read_bytes() == data for path in self._documents.get(len(data), ())):
            self.taken.known["document"] += 1  # wherever in the home it came from
            return
        self._text("document", self._root.joinpath("documents", *parts[:-1]), parts[-1], data)

    def _known_documents(self) -> dict[int, list[Path]]:
        """Return the home's documents by their sizes."""
        found: dict[int, list[Path]] = {}
        for path in (self._root / "documents").rglob("*"):
            if path.is_file() and not path.is_symlink():
                found.setdefault(path.stat().st_size, []).append(path)
        return found

    def _text(self, kind: str, folder: Path, name: str, data: bytes) -> None:
        stem, dot, ending = name.rpartition(".")
        digest = hashlib.sha256(data).hexdigest()
        for path in (folder / name, folder / f"{stem} {digest[:8]}{dot}{ending}"):
            if not path.exists():
                self._put(path, data)
                self._documents.setdefault(len(data), []).append(path)
                self.taken.new[kind] += 1
                return
            if path.read_bytes() == data:
                break
        self.taken.known[kind] += 1

    def chat(self, piece: Piece) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / safe_name(PurePosixPath(piece.name).name)
            with piece.open(self._archives) as source, path.open("wb") as target:
                shutil.copyfileobj(source, target)
            report = Report()
            known = Source(path, detect(path), self._source.zone, self._source.is_month_first)
            for _ in imported(known, self._memory, self._store, report):
                pass
        self.taken.new["message"] += report.n_new
        self.taken.known["message"] += report.n_known
        self.taken.left_out += report.left_out
        self.taken.faults += [line.replace(str(path), piece.name) for line in report.bad]

    def _put(self, path: Path, data: bytes) -> None:
        with replacing(path, "import to", is_lasting=False) as file:
            file.write(data)


_BEGIN = b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Hearth//import//EN\r\n"
_UID = re.compile(rb"^UID[^:\r\n]*:([^\r\n]+)", re.MULTILINE)
_TAKES: Mapping[str, Callable[[Intake, Piece], None]] = {
    "mail": Intake.mail,
    "calendar": Intake.calendar,
    "contacts": Intake.contacts,
    "note": Intake.note,
    "document": Intake.document,
    "chat": Intake.chat,
}


def _is_deleted(head: bytes) -> bool:
    """Return whether a mail of an mbox is no more, by what Gmail or Thunderbird noted in its head."""
    status = _MOZILLA_STATUS.search(head)
    return bool(_GMAIL_LABELS.search(head)) or bool(status and int(status[1], 16) & _EXPUNGED)


def _mail_identity(raw: bytes, path: Path | None = None) -> str:
    """Return the digest by which a mail is known again: of its Message-ID, else of all of it."""
    found = _MESSAGE_ID.search(raw[:_HEAD_BYTES].partition(b"\n\n")[0].partition(b"\r\n\r\n")[0])
    whole = raw if path is None or len(raw) < _HEAD_BYTES else path.read_bytes()
    return hashlib.sha256(found[1] if found is not None else whole).hexdigest()


def _by_uid(components: list[Component]) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {}
    for one in components:
        data = one.render()
        found.setdefault(one.text("UID").strip() or hashlib.sha256(data).hexdigest(), []).append(data)
    return found


def uid_name(uid: str) -> str:
    """Return the name of the file for a record."""
    return f"import-{hashlib.sha256(uid.encode(errors='replace')).hexdigest()[:24]}"


def safe_name(name: str) -> str:
    """Return a name for a file in the home: without marks that mean something to a file system, not hidden."""
    ending = PurePosixPath(name).suffix[:12]
    stem = _UNSAFE.sub(" ", name.removesuffix(ending) if ending else name)
    return (" ".join(stem.split()).lstrip(". ")[:80] or "unnamed") + _UNSAFE.sub("", ending)
