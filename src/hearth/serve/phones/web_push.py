"""Encrypts notifications so that only the phone's browser can read them, and signs for whom they are.

The push service of a browser's maker sees that this home sends something, to whom, and when; not what: every
notification has the same size.

Covered: message encryption, the sender's signature. Not covered: sending (`pushing`); what the service notes down.

Source:
    RFC 8291 (encryption), RFC 8188 (its content encoding), RFC 8292 (VAPID, the signature).
"""

from __future__ import annotations

import base64
import json
import os
import struct
from pathlib import Path
from urllib.parse import urlsplit

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

from hearth.errors import ConfigError, RequestError

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
