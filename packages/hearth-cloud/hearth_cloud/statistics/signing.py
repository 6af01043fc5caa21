"""Make and read the key file with which a service signs its manifests."""

from __future__ import annotations

import base64
import os
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from hearth.errors import ConfigError


def make_key(path: Path) -> Ed25519PrivateKey:
    """Make a new key in a file that only its owner can read. Raises: ConfigError: There is one, or it cannot be
    written."""
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(pem)
    except OSError as error:
        raise ConfigError(f"cannot write the key {str(path)!r}: {error.strerror}; nothing was replaced") from None
    return key


def read_key(path: Path) -> Ed25519PrivateKey:
    """Read the key. Raises: ConfigError: There is none, it is no Ed25519 key, or others can read it."""
    try:
        found = path.stat()
        # A secret that Kubernetes mounts belongs to root, and the pod reads it by its group: its owner cannot be us.
        is_mounted = found.st_uid == 0 != os.getuid()
        if found.st_mode & (0o037 if is_mounted else 0o077):
            raise ConfigError(f"others can read the key {str(path)!r}; run `chmod 600 {path}`")
        key = load_pem_private_key(path.read_bytes(), None)
    except OSError as error:
        raise ConfigError(
            f"cannot read the key {str(path)!r}: {error.strerror}; make one with `hearth cloud init`"
        ) from None
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigError(
            f"{str(path)!r} holds no Ed25519 key; bring back the one that edges joined, or make a new one"
        )
    return key


def public_key_of(key: Ed25519PrivateKey) -> str:
    """Return the public key as edges keep it: Base64 of 32 bytes."""
    return base64.b64encode(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()
