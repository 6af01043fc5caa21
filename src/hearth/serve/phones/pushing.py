"""Tells phones and an Apprise server of rings and questions, and says nothing on a lock screen that others should not
read.

A notification says that there is a question, or that something rings; what about stands on it only where the owner
wants it so (`[serve] phones_show_reminders`), and of questions never. So *Yes* cannot be said there, as nobody should
agree to what they do not see: *No* can, and a ring's *Done* and *In 10 minutes*, which are taken back like anything
else. Every byte goes through the guard's door, to hosts that the owner allowed.

Covered: rings, questions that stand for some seconds, phones that are gone. Not covered: whether anybody looked.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import httpx

from hearth.errors import HearthError
from hearth.protocols import Egress
from hearth.serve.desk import View
from hearth.serve.phones.paired import Phone, Phones, Subscription
from hearth.serve.phones.web_push import Signer, bytes64, encrypted
from hearth.serve.ringing import Ring

REASON = "web push"
"""Why it leaves, in the ledger."""
APPRISE_REASON = "apprise"
CONTACT = "mailto:owner@hearth.invalid"
"""Whom a push service may write to: nobody. The owner's address is not given away."""
ASKED_FOR_S = 3.0
"""How long a question stands before phones are told: whoever sits at the page has answered by then."""
_KEPT_BY_SERVICE_S = 1800
_TIMEOUT_S = 10.0
_MOST_UNTOLD = 100
_NOT_SENT = (HearthError, httpx.HTTPError, httpx.InvalidURL, ValueError)
"""What one that cannot be told raises: the others are told all the same."""


@dataclass(frozen=True, slots=True)
class Note:
    """What a notification says."""

    kind: str
    """`ring`, `question` or `test`."""
    id: str
    title: str
    body: str = ""

    @property
    def message(self) -> bytes:
        """As the phone's service worker reads it."""
        told = {"kind": self.kind, "id": self.id, "title": self.title, "body": self.body}
        return json.dumps(told).encode()


@dataclass(frozen=True, slots=True)
class Telling:
    """What is told of, and where else."""

    shows_reminders: bool
    """Say on the lock screen what a reminder is about."""
    apprise_url: str = ""
    """Where an Apprise server takes the same; empty: nowhere."""


class Pusher:
    """Sends notifications to every phone that takes them, from a thread of its own (a `ringing.Notifier`)."""

    def __init__(
        self,
        phones: Phones,
        egress: Egress,
        signer: Signer,
        clock: Callable[[], float],
        telling: Telling,
    ) -> None:
        """Start the thread; `close` ends it.

        Args:
            clock: Seconds that only go on.
        """
        self._phones = phones
        self._egress = egress
        self._signer = signer
        self._clock = clock
        self._telling = telling
        self._asked: tuple[str, float] | None = None
        """The question that stands, and since when; no time once phones were told."""
        self._untold: queue.Queue[Note | None] = queue.Queue(_MOST_UNTOLD)
        self._thread = threading.Thread(target=self._send_all, name="hearth-push", daemon=True)
        self._thread.start()

    @property
    def public_key(self) -> str:
        """What a browser needs to subscribe."""
        return self._signer.public

    def tell(self, ring: Ring) -> None:
        """Have a ring told, and return at once."""
        at = f"{ring.due:%H:%M}"
        text = ring.text[:120] if self._telling.shows_reminders else "A reminder"
        self._put(Note("ring", str(ring.number), f"{'Late: ' if ring.is_late else ''}{text}", at))

    def look(self, view: View) -> None:
        """Have a question told once it has stood for a while; call it about once a second."""
        if view.asked is None:
            self._asked = None
        elif self._asked is None or self._asked[0] != view.asked.id:
            self._asked = view.asked.id, self._clock()
        elif self._clock() - self._asked[1] >= ASKED_FOR_S:
            self._asked = view.asked.id, float("inf")
            self._put(Note("question", view.asked.id, "Hearth asks: may I?", "Open it to see what."))

    def try_out(self) -> None:
        """Send a notification that says nothing but that they arrive."""
        self._put(Note("test", "test", "Hearth", "Notifications arrive here."))

    def close(self) -> None:
        """Send nothing more; what is being sent is waited for a little."""
        with suppress(queue.Full):
            self._untold.put_nowait(None)
        self._thread.join(_TIMEOUT_S)

    def _put(self, note: Note) -> None:
        with suppress(queue.Full):
            self._untold.put_nowait(note)

    def _send_all(self) -> None:
        while (note := self._untold.get()) is not None:
            if self._telling.apprise_url and note.kind != "test":
                with suppress(*_NOT_SENT):
                    self._send_to_apprise(note)
            with suppress(HearthError):  # the home's database is busy, say
                for phone in self._phones.listed():
                    if phone.subscription is not None:
                        with suppress(*_NOT_SENT):  # the ledger notes what was refused
                            self._send(phone, phone.subscription, note)

    def _send_to_apprise(self, note: Note) -> None:
        """Source: https://github.com/caronc/apprise-api, "Stateful endpoints"."""
        told = {"title": note.title, "body": note.body or note.title, "type": "info", "format": "text"}
        with httpx.Client(transport=self._egress.transport(APPRISE_REASON), timeout=_TIMEOUT_S) as client:
            client.post(self._telling.apprise_url, json=told)

    def _send(self, phone: Phone, to: Subscription, note: Note) -> None:
        body = encrypted(note.message, bytes64(to.receiver_key), bytes64(to.receiver_secret))
        headers = {
            "authorization": self._signer.authorization(to.endpoint, CONTACT, time.time()),
            "content-encoding": "aes128gcm",
            "content-type": "application/octet-stream",
            "ttl": str(_KEPT_BY_SERVICE_S),
            "urgency": "high",
        }
        with httpx.Client(transport=self._egress.transport(REASON), timeout=_TIMEOUT_S) as client:
            answer = client.post(to.endpoint, content=body, headers=headers)
        if answer.status_code in (404, 410):  # the browser takes none any more
            self._phones.subscribe(phone.number, None)
