"""Tells of mail that came while the home is up: on the page, and by the desktop outside quiet hours.

Only that of people on cards that vouch for their address, unless the owner wants to hear of everybody's, so that no
stranger can make a home ring. Phones are not told.

Covered: the first fetching of a mailbox (nothing of it is new), many at once (counted), what came while the home was
down (told once it is fetched). Not covered: a sender's address that is forged.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from hearth.guard.flow.provenance import AddressBook, Provenance
from hearth.protocols import CallContext
from hearth.storage.database import Store
from hearth.terminal import clean
from hearth.tools.mail.mailbox import look
from hearth.tools.mail.maildir import INBOX, every_unique_name, places

Whom = Literal["nobody", "known", "everybody"]
MOST_KEPT = 50
"""Of which letters stand on the page; of more the oldest go."""
_MOST_LETTERS = 120


@dataclass(frozen=True, slots=True)
class Letter:
    """A mail as it is told of: a stranger's words."""

    writer: str
    subject: str


class NewMail:
    """What came and was not seen. Safe to use from several threads."""

    def __init__(self, whom: Whom, store: Store, tell: Callable[[Sequence[Letter]], None]) -> None:
        """Begin with nothing.

        Args:
            whom: Whose mail is told of.
            store: Says which cards vouch.
            tell: Called with what came at once, beside the page.
        """
        self._whom = whom
        self._store = store
        self._tell = tell
        self._lock = threading.Lock()
        self._letters: tuple[Letter, ...] = ()

    @property
    def letters(self) -> tuple[Letter, ...]:
        """What was not seen yet, oldest first."""
        return self._letters

    def seen(self) -> None:
        """Let what stands there be seen."""
        with self._lock:
            self._letters = ()

    def there(self, call: CallContext) -> frozenset[str]:
        """Return what is in the mailbox now, to be compared with later; nothing where nobody's mail is told of."""
        return every_unique_name(call.workspace) if self._whom != "nobody" else frozenset()

    def came(self, before: frozenset[str], call: CallContext) -> bool:
        """Tell of what is in the mailbox and was not there before; return whether there is any."""
        if self._whom == "nobody":
            return False
        new = [
            place for place in places(call.workspace, INBOX) if place.unique not in before and "S" not in place.flags
        ]
        seen = [one for place in new if (one := look(place, call)) is not None]
        if self._whom == "known" and seen:
            book = AddressBook(Provenance(self._store)).read(call.workspace, call.now)
            seen = [one for one in seen if one.head.sender and book.vouches(one.head.sender)]
        seen.sort(key=lambda one: one.received)
        letters = tuple(
            Letter(_short(one.head.sender_name or one.head.sender), _short(one.head.subject or "no subject"))
            for one in seen
        )
        if letters:
            with self._lock:
                self._letters = (*self._letters, *letters)[-MOST_KEPT:]
            self._tell(letters)
        return bool(letters)


def _short(text: str) -> str:
    return clean(" ".join(text.split()))[:_MOST_LETTERS]
