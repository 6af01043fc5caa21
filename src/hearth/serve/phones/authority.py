"""Certificates for the home's own network, by an authority that can vouch for nothing else.

The authority is made once for a home; a phone installs it. By its name constraints it vouches for private addresses and
for names of home networks alone, so that even its stolen key opens no bank. The certificate is made anew when the names
change or it is about to end.

Covered: making, keeping, renewing. Not covered: revoking a certificate; whether a phone obeys name constraints.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from hearth.atomic_files import replacing
from hearth.errors import ConfigError

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
