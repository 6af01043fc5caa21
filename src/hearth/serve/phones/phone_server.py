"""The second entrance: TLS on the home's own network, for phones alone."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import ipaddress
import os
import socket
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from hearth.atomic_files import replacing
from hearth.errors import ConfigError, EgressError
from hearth.guard.egress.audit_hook import Permit, permitted

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
