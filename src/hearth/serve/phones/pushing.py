"""Tells phones and an Apprise server of rings and questions, and says nothing on a lock screen that others should not
read.

A notification says that there is a question, or that something rings; what about stands on it only where the owner
wants it so (`[serve] phones_show_reminders`), and of questions never. So *Yes* cannot be said there, as nobody should
agree to what they do not see: *No* can, and a ring's *Done* and *In 10 minutes*, which are taken back like anything
else. Every byte goes through the guard's door, to hosts that the owner allowed.

Covered: rings, questions that stand for some seconds, phones that are gone. Not covered: whether anybody looked.
"""

from __future__ import annotations

import base64
import json
import os
import queue
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from hearth.errors import ConfigError, HearthError, RequestError
from hearth.protocols import Egress
from hearth.serve.desk import View
from hearth.serve.phones.paired import Phone, Phones, Subscription
from hearth.serve.ringing import Ring

# ── One notification ───────────────────────────────────────────────────────────────────────────────────
# Encrypts notifications so that only the phone's browser can read them, and signs for whom they are.
# The push service of a browser's maker sees that this home sends something, to whom, and when; not what: every
# notification has the same size.
# Covered: message encryption, the sender's signature. Not covered: what the service notes down.
# Source:
#     RFC 8291 (encryption), RFC 8188 (its content encoding), RFC 8292 (VAPID, the signature).


KEY_FILE = "serve.push.pem"
"""In the home: the key that signs notifications."""
MOST_BYTES = 1024
"""Of a notification; shorter ones are filled up, so that their size tells nothing."""
_RECORD_BYTES = 4096
_SIGNED_FOR_S = 12 * 3600


def encrypted(
    message: bytes,
    receiver_key: bytes,
    receiver_secret: bytes,
    *,
    salt: bytes = b"",
    sender: ec.EllipticCurvePrivateKey | None = None,
    size: int = MOST_BYTES,
) -> bytes:
    """Encrypt a message for one receiver.

    Args:
        receiver_key: Point on P-256, 65 bytes.
        receiver_secret: 16 bytes.
        salt, sender: New ones by default, as they must be; given by the RFC's example.
        size: Bytes that the message is filled up to.
    Raises:
        RequestError: The key is none, or the message too long.
    """
    if len(message) > size:
        raise RequestError(f"a notification has at most {size} bytes, not {len(message)}")
    salt = salt or os.urandom(16)
    sender = sender or ec.generate_private_key(ec.SECP256R1())
    try:
        receiver = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), receiver_key)
    except ValueError:
        raise RequestError("the receiver's key is no point on P-256; subscribe again") from None
    own = sender.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    shared = sender.exchange(ec.ECDH(), receiver)
    seed = _derived(shared, receiver_secret, b"WebPush: info\0" + receiver_key + own, 32)
    key = _derived(seed, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(seed, salt, b"Content-Encoding: nonce\0", 12)
    filled = message + b"\2" + bytes(size - len(message))
    return salt + struct.pack("!IB", _RECORD_BYTES, len(own)) + own + AESGCM(key).encrypt(nonce, filled, None)


def _derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)


class Signer:
    """Signs for whom a notification is, with the home's own key."""

    def __init__(self, home: Path) -> None:
        """Read the key, or make it. Raises: ConfigError: Its file is damaged."""
        path = home / KEY_FILE
        if not path.exists():
            made = ec.generate_private_key(ec.SECP256R1())
            with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.write(made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        try:
            key = load_pem_private_key(path.read_bytes(), None)
            if not isinstance(key, ec.EllipticCurvePrivateKey):
                raise ValueError("its key is of another kind")
        except (OSError, ValueError, TypeError) as error:
            raise ConfigError(
                f"{str(path)!r} cannot be read ({error}); delete it, start `hearth up` again, and turn notifications "
                "on again on each phone"
            ) from None
        self._key = key

    @property
    def public(self) -> str:
        """The public key as browsers are told it, base64url."""
        return text64(self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))

    def authorization(self, endpoint: str, contact: str, now_s: float) -> str:
        """Return the header for a message to an endpoint.

        Args:
            contact: Where the service may write to: `mailto:…`.
            now_s: Seconds since 1970.
        """
        place = urlsplit(endpoint)
        claims = {"aud": f"{place.scheme}://{place.netloc}", "exp": int(now_s) + _SIGNED_FOR_S, "sub": contact}
        parts = [text64(json.dumps(part).encode()) for part in ({"typ": "JWT", "alg": "ES256"}, claims)]
        signed = self._key.sign(".".join(parts).encode(), ec.ECDSA(hashes.SHA256()))
        r, s = decode_dss_signature(signed)
        token = ".".join([*parts, text64(r.to_bytes(32, "big") + s.to_bytes(32, "big"))])
        return f"vapid t={token}, k={self.public}"


def text64(data: bytes) -> str:
    """Encode bytes as base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def bytes64(text: str) -> bytes:
    """Decode base64url, padded or not. Raises: ValueError."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


# ── Telling phones ─────────────────────────────────────────────────────────────────────────────────────


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
        self, phones: Phones, egress: Egress, signer: Signer, clock: Callable[[], float], telling: Telling
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
