"""The entrance for the owner's phones, with TLS and bounds, and the notifications that are sent to them."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import datetime as dt
import ipaddress
import json
import os
import queue
import socket
import struct
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import httpx
import uvicorn
from cryptography import x509
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
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from hearth.atomic_files import replacing
from hearth.errors import ConfigError, EgressError, HearthError, RequestError
from hearth.guard.egress.audit_hook import Permit, permitted
from hearth.protocols import Egress
from hearth.serve.background.ringing import Ring
from hearth.serve.desk import View
from hearth.serve.door import Phone, Phones, Subscription

# ── Phone server ──────────────────────────────────────────────────────────────────────────────────────────
# The second entrance: TLS on the home's own network, for phones alone.

# ── Connections that end ───────────────────────────────────────────────────────────────────────────────
# Ends connections that say nothing, or say it too slowly, so that nobody can hold the places of others.
# Covered: no request within a bound after connecting and between requests, heads that trickle in (bodies:
# `serve.door`).
# Not covered: readers that take what they are sent slowly.


HEAD_WITHIN_S = 10.0
"""How long a connection may take to say its request's head."""


class BoundedHttp(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, with a bound on waiting for a request."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first request."""
        super().connection_made(cast("asyncio.Transport", transport))
        self._deadline = self.loop.call_later(HEAD_WITHIN_S, self._end)

    def data_received(self, data: bytes) -> None:
        """Take what comes; until it is a whole head, the bound goes on counting."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_counting()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_WITHIN_S, self._end)

    def connection_lost(self, exc: Exception | None) -> None:
        """Count no more."""
        self._stop_counting()
        super().connection_lost(exc)

    def _stop_counting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _end(self) -> None:
        self._deadline = None
        if (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing():
            self.transport.close()


# ── Certificates ───────────────────────────────────────────────────────────────────────────────────────
# Certificates for the home's own network, by an authority that can vouch for nothing else.
# The authority is made once for a home; a phone installs it. By its name constraints it vouches for private addresses
# and for names of home networks alone, so that even its stolen key opens no bank. The certificate is made anew when
# the names change or it is about to end.
# Covered: making, keeping, renewing. Not covered: revoking a certificate; whether a phone obeys name constraints.


AUTHORITY_FILE = "serve.authority.pem"
"""In the home: the authority's certificate and key."""
CERTIFICATE_FILE = "serve.certificate.pem"
"""In the home: the certificate that phones are shown, with its key."""
PRIVATE = (
    "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16", "127.0.0.0/8",
    "fc00::/7", "fe80::/10",
)  # fmt: skip
HOME_NAMES = ("local", "home.arpa", "lan", "internal", "home", "fritz.box")
"""Endings of names that no public authority vouches for, or a router's own."""
_AUTHORITY_DAYS = 3650
_DAYS = 397
"""Phones take no certificate for longer. Source: https://support.apple.com/en-us/102028"""
_RENEWED_BEFORE_DAYS = 60


@dataclass(frozen=True, slots=True)
class Authority:
    """The home's own authority."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the certificate, in groups as phones show it."""
        return self.certificate.fingerprint(hashes.SHA256()).hex(" ").upper()

    @property
    def pem(self) -> bytes:
        """The certificate without the key, as a phone installs it."""
        return self.certificate.public_bytes(Encoding.PEM)


def opened(home: Path, now: dt.datetime) -> Authority:
    """Read the home's authority, or make it. Raises: ConfigError: Its file is damaged."""
    path = home / AUTHORITY_FILE
    if not path.exists():
        key = ec.generate_private_key(ec.SECP256R1())
        _write(path, _authority(key, now), key)
    certificate, key = _read(path)
    return Authority(certificate, key)


def certify(authority: Authority, home: Path, names: Iterable[str], now: dt.datetime) -> Path:
    """Return the file with a certificate for `names` and its key; made anew where the one there will not do.

    Args:
        names: Addresses and host names; those that the authority may not vouch for are left out.
    Raises:
        ConfigError: Its file is damaged, or it may vouch for none of the names.
    """
    path = home / CERTIFICATE_FILE
    told = tuple(names)
    wanted = sorted({name for name in told if is_homely(name)})
    if not wanted:
        raise ConfigError(
            f"none of {', '.join(map(repr, told)) or 'no names'} is a private address or a name of a home network; "
            "give one as `phones_host`, or a name under `names`, in [serve] of hearth.toml"
        )
    if not path.exists() or not _will_do(_read(path)[0], authority, wanted, now):
        key = ec.generate_private_key(ec.SECP256R1())
        _write(path, _leaf(authority, key, wanted, now), key)
    return path


def is_homely(name: str) -> bool:
    """Return whether the authority may vouch for a name: a private address, or a name of home networks."""
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return any(name.lower().endswith(f".{ending}") for ending in HOME_NAMES) or name.lower() in HOME_NAMES
    networks = map(ipaddress.ip_network, PRIVATE)
    return any(address.version == network.version and address in network for network in networks)


def _authority(key: ec.EllipticCurvePrivateKey, now: dt.datetime) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Hearth at home")])
    permitted = [x509.IPAddress(ipaddress.ip_network(network)) for network in PRIVATE]
    subtrees: list[x509.GeneralName] = [*permitted, *(x509.DNSName(ending) for ending in HOME_NAMES)]
    usage = x509.KeyUsage(
        digital_signature=False, content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    begun = (
        _begun(name, name, key, now, _AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.NameConstraints(subtrees, None), critical=True)
        .add_extension(usage, critical=True)
    )
    return begun.sign(key, hashes.SHA256())


def _leaf(
    authority: Authority, key: ec.EllipticCurvePrivateKey, names: list[str], now: dt.datetime
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Hearth")])
    by_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    begun = (
        _begun(subject, authority.certificate.subject, key, now, _DAYS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(by_key, critical=False)
    )
    return begun.sign(authority.key, hashes.SHA256())


def _begun(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: dt.datetime, days: int
) -> x509.CertificateBuilder:
    start = now.astimezone(dt.UTC) - dt.timedelta(days=1)  # a phone's clock may be behind
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + dt.timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _will_do(certificate: x509.Certificate, authority: Authority, names: list[str], now: dt.datetime) -> bool:
    found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    held = {str(one.value) for one in found}
    ends = certificate.not_valid_after_utc - dt.timedelta(days=_RENEWED_BEFORE_DAYS)
    try:
        certificate.verify_directly_issued_by(authority.certificate)
    except Exception:  # of another authority, or none of the kinds it is made with: made anew
        return False
    return set(names) <= held and certificate.not_valid_before_utc <= now < ends


def _write(path: Path, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    with replacing(path, keeps_mode=True) as file:
        file.write(certificate.public_bytes(Encoding.PEM) + secret)


def _read(path: Path) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    try:
        text = path.read_bytes()
        key = load_pem_private_key(text, None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError("its key is of another kind")
        return x509.load_pem_x509_certificate(text), key
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError(
            f"{str(path)!r} cannot be read ({error}); delete it, and `hearth up` makes a new one: phones then install "
            "the new authority"
        ) from None


# ── The second entrance ────────────────────────────────────────────────────────────────────────────────


_HANDSHAKE_S = 10.0
_NOWHERE = "192.0.2.1"
"""An address kept for documents (RFC 5737): connecting a datagram socket to it sends nothing and tells the way out."""


@dataclass(frozen=True, slots=True)
class PhoneServer:
    """What answers phones, on a socket that listens."""

    options: uvicorn.Config
    """With the door for phones and the certificate."""
    listening: socket.socket

    @contextlib.asynccontextmanager
    async def lifespan(self, application: object) -> AsyncIterator[None]:  # noqa: ARG002 - Starlette's signature
        """Serve until the block ends."""
        self.options.load()
        state = ServerState()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: BoundedHttp(self.options, state, {}),
            sock=self.listening,
            ssl=self.options.ssl,
            ssl_handshake_timeout=_HANDSHAKE_S,
        )
        try:
            yield
        finally:
            server.close()
            for connection in list(state.connections):
                connection.transport.close()


def own_addresses(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return under which addresses and names phones may reach this machine, the likeliest first."""
    found: list[str] = []
    with contextlib.suppress(OSError, EgressError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        with permitted(Permit(_NOWHERE, 9, is_private_fine=True)):
            asking.connect((_NOWHERE, 9))
        found.append(asking.getsockname()[0])
    host = socket.gethostname().partition(".")[0]
    found += [f"{host}.local".lower(), *(name.partition(":")[0].lower() for name in names)]
    return tuple(dict.fromkeys(name for name in found if is_homely(name)))


# ── Pushing ───────────────────────────────────────────────────────────────────────────────────────────────
# Tells phones and an Apprise server of rings and questions, and says nothing on a lock screen that others should not
# read.
#
# A notification says that there is a question, or that something rings; what about stands on it only where the owner
# wants it so (`[serve] phones_show_reminders`), and of questions never. So *Yes* cannot be said there, as nobody
# should agree to what they do not see: *No* can, and a ring's *Done* and *In 10 minutes*, which are taken back like
# anything else. Every byte goes through the guard's door, to hosts that the owner allowed.
#
# Covered: rings, questions that stand for some seconds, phones that are gone. Not covered: whether anybody looked.

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
