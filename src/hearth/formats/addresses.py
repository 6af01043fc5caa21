"""Addresses in the one spelling that mail goes to: without a display name, the host in lower case and in ASCII.

Covered: names around an address, blanks, full-width and other compatible letters (NFKC), international hosts (IDNA).
Not covered: whether anybody is there; letters beyond ASCII before the `@`, which stay as they are.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import urlsplit, urlunsplit

MAX_CHARS = 500
_NAMED = re.compile(r"[^<>]*<([^<>]+)>\s*")


def canonical_address(text: str) -> str:
    """Return the address that `text` stands for.

    >>> canonical_address(" Anna Berg <Anna@BÜCHER.example> ")
    'Anna@xn--bcher-kva.example'

    Raises:
        ValueError: It is no single address.
    """
    plain = unicodedata.normalize("NFKC", text[:MAX_CHARS]).strip()
    named = _NAMED.fullmatch(plain)
    local, at, host = (named[1].strip() if named else plain).removeprefix("mailto:").rpartition("@")
    if not at or not local or len(text) > MAX_CHARS or any(c.isspace() or c in "<>,;" for c in local + host):
        raise ValueError(f"{text[:60]!r} is no address")
    return f"{local}@{canonical_host(host)}"


def canonical_host(host: str) -> str:
    """Return a host's name in lower case and ASCII. Raises: ValueError: It can be no name of a host."""
    try:
        return host.strip().rstrip(".").encode("idna").decode("ascii").lower()
    except UnicodeError:
        raise ValueError(f"{host[:60]!r} is no host") from None


def canonical_url(text: str) -> str:
    """Return a web address with scheme and host in one spelling; the rest is the server's. Raises: ValueError."""
    parts = urlsplit(unicodedata.normalize("NFKC", text.strip()) if not text.isascii() else text.strip())
    port = f":{parts.port}" if parts.port is not None else ""
    account = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    netloc = f"{account}{canonical_host(parts.hostname or '')}{port}"
    return urlunsplit((parts.scheme.lower(), netloc, parts.path, parts.query, parts.fragment))


def in_letters(address: str) -> str:
    """Return an address with its host in the letters that people read (`xn--bcher-kva` is `bücher`)."""
    local, at, host = address.rpartition("@")
    labels = []
    for label in host.split("."):
        try:
            labels.append(label.encode().decode("idna") if label.startswith("xn--") and len(label) < 64 else label)
        except UnicodeError:
            labels.append(label)
    return f"{local}{at}{'.'.join(labels)}"
