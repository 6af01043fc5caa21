"""Read mails with a cache: head and text are parsed once per process, however often they are searched.

A parsed mail is cached under its file's fingerprint, so it can never be out of date; the total size of the cached texts
is bounded.
"""

from __future__ import annotations

import datetime as dt
import re
import threading
from collections import OrderedDict
from dataclasses import dataclass

from hearth.errors import NotFound, ToolError, Unreadable
from hearth.protocols import CallContext
from hearth.tools.mail.bounded_mime import read_body
from hearth.tools.mail.maildir import Place
from hearth.tools.mail.mime import Body, Head, read_head

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
