"""Store the owner's mail on disk: a Maildir in `mail/`, with folders as `mail/.Drafts/` (Maildir++).

A message's id is its folder and the part of its file name that never changes (`INBOX/1763.M1P1.host`), so it survives a
change of flags. Names of new messages follow from the call's key: a call that is repeated writes the same files. Not
covered: deliveries to `tmp` by other programs (they are not ours to read), folders named with `/` or `..`.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NewType

from hearth.errors import NotFound
from hearth.protocols import Workspace

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
