"""Read mails with a cache: head and text are parsed once per process, however often they are searched.

A parsed mail is cached under its file's fingerprint, so it can never be out of date; the total size of the cached texts
is bounded.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NewType

from hearth.errors import NotFound, ToolError, Unreadable
from hearth.protocols import CallContext, Workspace
from hearth.tools.mail.mime import Body, Head, read_body, read_head

# ── The Maildir ────────────────────────────────────────────────────────────────────────────────────────
# Store the owner's mail on disk: a Maildir in `mail/`, with folders as `mail/.Drafts/` (Maildir++). A message's id is
# its folder and the part of its file name that never changes (`INBOX/1763.M1P1.host`), so it survives a change of
# flags. Names of new messages follow from the call's key: a call that is repeated writes the same files. Not covered:
# deliveries to `tmp` by other programs (they are not ours to read), folders named with `/` or `..`.


MailId = NewType("MailId", str)

ROOT = "mail"
INBOX = "INBOX"
DRAFTS, SENT, TRASH = "Drafts", "Sent", "Trash"
NOT_SEARCHED = frozenset({DRAFTS, SENT, TRASH, "Junk", "Spam", "Templates", "Outbox", "Queue"})
"""Folders that "my mail" does not include."""

_PATH = re.compile(r"^mail/(?:\.(?P<folder>[^/]+)/)?(?P<part>cur|new)/(?P<name>[^/.][^/]*)$")


@dataclass(frozen=True, slots=True)
class Place:
    """The place of one message."""

    path: str
    folder: str
    unique: str
    """The part of the file's name before its flags."""
    flags: str
    """Letters in alphabetic order: D draft, F flagged, R replied, S seen, T trashed."""

    @property
    def id(self) -> MailId:
        return MailId(f"{self.folder}/{self.unique}")

    @property
    def is_unread(self) -> bool:
        return "S" not in self.flags


def places(workspace: Workspace, folder: str = "") -> list[Place]:
    """Return every message of `folder`, or of all folders that are searched."""
    found: list[Place] = []
    for path in workspace.list(_base(folder) if folder else ROOT):
        match = _PATH.match(path)
        if match is None:
            continue
        name = match["folder"] or INBOX
        if (name != folder) if folder else (name in NOT_SEARCHED):
            continue
        unique, _, flags = match["name"].partition(":2,")
        found.append(Place(path, name, unique, flags if match["part"] == "cur" else ""))
    return found


def every_unique_name(workspace: Workspace) -> frozenset[str]:
    """Return the names of all messages in all folders."""
    matches = (_PATH.match(path) for path in workspace.list(ROOT))
    return frozenset(match["name"].partition(":2,")[0] for match in matches if match)


def place_of(id: object, workspace: Workspace, folders: Sequence[str] = ()) -> Place:
    """Return the message with that id.

    Args:
        folders: Folders in which it may be; empty: any.
    Raises:
        NotFound: No such message, or not in one of `folders`.
    """
    folder, _, unique = id.rpartition("/") if isinstance(id, str) else ("", "", "")
    is_name = folder and unique and not folder.startswith(".") and "/" not in folder and "\0" not in folder
    if is_name and (not folders or folder in folders):
        for place in places(workspace, folder):
            if place.unique == unique:
                return place
    kind = "draft" if folders == (DRAFTS,) else "mail"
    hint = "it may have been sent or deleted" if kind == "draft" else "find_mail lists what is there"
    raise NotFound(f"no {kind} {str(id)[:100]!r}; {hint}")


def unique_name(key: str, now: dt.datetime) -> str:
    """Return the file name for the message that the call with this key makes."""
    return f"{int(now.timestamp())}.H{hashlib.sha256(key.encode()).hexdigest()[:20]}.hearth"


def deliver(workspace: Workspace, folder: str, unique: str, data: bytes, flags: str) -> Place:
    """Write a message; the workspace's atomic replace stands in for the move out of `tmp`."""
    base = _base(folder)
    if folder != INBOX and not workspace.exists(f"{base}/maildirfolder"):
        workspace.write(f"{base}/maildirfolder", b"")  # the mark of a folder in Maildir++
    path = f"{base}/cur/{unique}:2,{flags}" if flags else f"{base}/new/{unique}"
    workspace.write(path, data)
    return Place(path, folder, unique, flags)


def with_flags(workspace: Workspace, place: Place, flags: str) -> Place:
    """Give a message these flags too."""
    wanted = "".join(sorted(set(place.flags) | set(flags)))
    return place if wanted == place.flags else moved(workspace, place, place.folder, wanted)


def moved(workspace: Workspace, place: Place, folder: str, flags: str) -> Place:
    """Move a message to another folder, or change its flags; its unique name stays."""
    new = deliver(workspace, folder, place.unique, workspace.read(place.path), flags)
    workspace.delete(place.path)
    return new


def _base(folder: str) -> str:
    return ROOT if folder == INBOX else f"{ROOT}/.{folder}"


# ── Read with a cache ──────────────────────────────────────────────────────────────────────────────────


N_MAX_HEADS = 20_000
N_MAX_TEXT_CHARACTERS = 16_000_000
N_MAX_MAIL_BYTES = 100_000_000


class _Parsed:
    """The mails this process has parsed, by the fingerprint of their file; the oldest goes first."""

    def __init__(self) -> None:
        self._heads: OrderedDict[str, Head] = OrderedDict()
        self._bodies: OrderedDict[str, Body] = OrderedDict()
        self._n_characters = 0
        self._lock = threading.Lock()

    def head(self, fingerprint: str) -> Head | None:
        with self._lock:
            return self._heads.get(fingerprint)

    def keep_head(self, fingerprint: str, head: Head) -> None:
        with self._lock:
            self._heads[fingerprint] = head
            while len(self._heads) > N_MAX_HEADS:
                self._heads.popitem(last=False)

    def body(self, fingerprint: str) -> Body | None:
        with self._lock:
            return self._bodies.get(fingerprint)

    def keep_body(self, fingerprint: str, body: Body) -> None:
        with self._lock:
            if fingerprint not in self._bodies:
                self._bodies[fingerprint] = body
                self._n_characters += len(body.text)
            while self._n_characters > N_MAX_TEXT_CHARACTERS:
                _, oldest = self._bodies.popitem(last=False)
                self._n_characters -= len(oldest.text)


_parsed = _Parsed()


@dataclass(frozen=True, slots=True)
class Seen:
    """A mail whose head was read."""

    place: Place
    head: Head
    received: dt.datetime

    @property
    def writer(self) -> str:
        """Name and address of the sender, for searching."""
        return f"{self.head.sender_name} {self.head.sender}"

    def body(self, call: CallContext) -> Body:
        """Return the mail's text; empty when the file is gone or (with a notice) cannot be read."""
        try:
            fingerprint = call.workspace.stat(self.place.path).fingerprint
            known = _parsed.body(fingerprint)
            if known is None:
                known = read_body(call.workspace.read(self.place.path))
                _parsed.keep_body(fingerprint, known)
        except NotFound:
            return Body("", (), is_cut=False)
        notice = f"The text of {self.place.path} was left out: {known.fault}."
        if known.fault and notice not in call.notices:
            call.notices.append(notice)
        return known

    def whole_body(self, call: CallContext) -> Body:
        """Return the mail's text, where something is done with all of it. Raises: Unreadable: It cannot be read."""
        body = self.body(call)
        if body.fault:
            raise Unreadable(f"the text of the mail {self.place.id!r} cannot be read: {body.fault}")
        return body


def look(place: Place, call: CallContext) -> Seen | None:
    """Return the head of a mail; None (with a notice where something is wrong) when it cannot be read.

    Raises:
        ToolError: The call was cancelled.
    """
    if call.cancelled.is_set():
        raise ToolError("stopped before all mails were looked at; ask again, or for less")
    try:
        return look_at(place, call)
    except NotFound:
        return None  # another program moved it meanwhile
    except ToolError as error:
        call.notices.append(f"{place.path} was left out: {error}.")
        return None


def look_at(place: Place, call: CallContext) -> Seen:
    """Return the head of one mail. Raises: NotFound: it is gone; ToolError: it is too large or cannot be read."""
    stat = call.workspace.stat(place.path)
    if stat.size_bytes > N_MAX_MAIL_BYTES:
        raise ToolError(f"the mail {place.id!r} has {stat.size_bytes:,} bytes; at most {N_MAX_MAIL_BYTES:,} are read")
    head = _parsed.head(stat.fingerprint)
    if head is None:
        head = read_head(call.workspace.read(place.path))
        _parsed.keep_head(stat.fingerprint, head)
    # A date in the future would put a stranger's mail above all others for years.
    is_plausible = head.date is not None and head.date <= call.now + dt.timedelta(days=1)
    date = head.date if is_plausible else None
    return Seen(place, head, date or _named_time(place) or stat.modified)


def _named_time(place: Place) -> dt.datetime | None:
    """Return the time of delivery in a Maildir's file name."""
    match = re.match(r"(\d{9,10})\.", place.unique)
    return dt.datetime.fromtimestamp(int(match[1]), dt.UTC) if match else None
