"""Remembers which phones are let in: each has a key of its own, of which only the digest is kept.

A phone is let in by an invitation, a code that the page shows as a picture, good for one phone and ten minutes. Taking
a phone out counts at its next request, and ends what it follows.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import secrets
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from hearth.errors import NotFound, RequestError
from hearth.storage.database import Store

INVITED_S = 600.0
MOST_PHONES = 20
MOST_NAME_CHARACTERS = 60
_SEEN_EVERY = dt.timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Subscription:
    """Where a phone's browser takes notifications, and the keys that it alone can open them with."""

    endpoint: str
    receiver_key: str
    """Its public key, base64url (`p256dh`)."""
    receiver_secret: str
    """What it shares with the sender, base64url (`auth`)."""


@dataclass(frozen=True, slots=True)
class Phone:
    """A phone that is let in."""

    number: int
    name: str
    added_at: str
    seen_at: str
    subscription: Subscription | None = None


class Phones:
    """The phones of one home. Safe to use from any thread and process."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, name: str, now: dt.datetime) -> str:
        """Let a phone in, and return its key; only the digest is kept.

        Raises:
            RequestError: The name is empty, too long or taken, or there are too many phones.
        """
        said = " ".join(name.split())
        known = self.listed()
        if not said or len(said) > MOST_NAME_CHARACTERS or any(one.name == said for one in known):
            raise RequestError(
                f"the name {said[:MOST_NAME_CHARACTERS]!r} is empty, longer than {MOST_NAME_CHARACTERS} characters or "
                "taken; choose another"
            )
        if len(known) >= MOST_PHONES:
            raise RequestError(f"{MOST_PHONES} phones are let in already; take one out first")
        key = secrets.token_urlsafe(32)
        at = now.isoformat(timespec="seconds")
        with self._store.transaction() as cursor:
            cursor.execute(
                "INSERT INTO phone (name, digest, added_at, seen_at) VALUES (?, ?, ?, ?)", (said, _digest(key), at, at)
            )
        return key

    def listed(self) -> tuple[Phone, ...]:
        """Return those that are let in, the oldest first."""
        return tuple(_phone(row) for row in self._store.query("SELECT * FROM phone ORDER BY number"))

    def of_key(self, key: str, now: dt.datetime) -> Phone | None:
        """Return the phone that a key belongs to; None when none does, or it was taken out."""
        rows = self._store.query("SELECT * FROM phone WHERE digest = ?", (_digest(key),))
        if not rows:
            return None
        phone = _phone(rows[0])
        if now - dt.datetime.fromisoformat(phone.seen_at) > _SEEN_EVERY:
            with self._store.transaction() as cursor:
                seen = now.isoformat(timespec="seconds")
                cursor.execute("UPDATE phone SET seen_at = ? WHERE number = ?", (seen, phone.number))
        return phone

    def is_in(self, number: int) -> bool:
        """Return whether a phone is still let in."""
        return bool(self._store.query("SELECT 1 FROM phone WHERE number = ?", (number,)))

    def revoke(self, number: int) -> Phone:
        """Let a phone in no more, and return it. Raises: NotFound."""
        rows = self._store.query("SELECT * FROM phone WHERE number = ?", (number,))
        if not rows:
            raise NotFound(f"no phone has the number {number}; it was taken out already")
        with self._store.transaction() as cursor:
            cursor.execute("DELETE FROM phone WHERE number = ?", (number,))
        return _phone(rows[0])

    def subscribe(self, number: int, subscription: Subscription | None) -> None:
        """Note where a phone takes notifications; None: nowhere."""
        told = (subscription.endpoint, subscription.receiver_key, subscription.receiver_secret) if subscription else ()
        with self._store.transaction() as cursor:
            cursor.execute(
                "UPDATE phone SET endpoint = ?, receiver_key = ?, receiver_secret = ? WHERE number = ?",
                (*(told or (None, None, None)), number),
            )


class Invitations:
    """The one invitation that is open. Not kept: a new start of the process ends it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Count time by `clock`, in seconds."""
        self._clock = clock
        self._open: tuple[str, float] | None = None

    def invite(self) -> str:
        """Return the code of a new invitation; the one before ends."""
        self._open = secrets.token_urlsafe(16), self._clock() + INVITED_S
        return self._open[0]

    def is_open(self, code: str) -> bool:
        """Return whether a code invites somebody now."""
        if self._open is None or self._clock() > self._open[1]:
            return False
        return hmac.compare_digest(code.encode("utf-8", "replace"), self._open[0].encode())

    def close(self) -> None:
        """End the invitation: somebody came."""
        self._open = None


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


def _phone(row: sqlite3.Row) -> Phone:
    taken = Subscription(row["endpoint"], row["receiver_key"], row["receiver_secret"]) if row["endpoint"] else None
    return Phone(row["number"], row["name"], row["added_at"], row["seen_at"], taken)
