"""Addresses in the one spelling that mail goes to: without a display name, the host in lower case and in ASCII.

Covered: names around an address, blanks, full-width and other compatible letters (NFKC), international hosts (IDNA).
Not covered: whether anybody is there; letters beyond ASCII before the `@`, which stay as they are.
"""

from __future__ import annotations

import unicodedata
from urllib.parse import urlsplit, urlunsplit

from hearth import patterns as re

MAX_CHARS = 500
_SCHEME = re.compile(r"\Amailto:", re.IGNORECASE)
_QUOTED = re.compile(r'"([^"\\]+)"')
"""A quoted name before the `@` is the mailbox of that name without the quotes (RFC 5321, 4.1.2)."""
_IN_NONE = frozenset(' <>,;:()[]"\\')
"""What no address has that is written plainly."""
_HOST = re.compile(r"[a-z0-9_.:-]+")
_PORTS = {"http": 80, "https": 443}
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
    local, at, host = _SCHEME.sub("", named[1].strip() if named else plain).rpartition("@")
    if quoted := _QUOTED.fullmatch(local):
        local = quoted[1]
    if not at or not local or len(text) > MAX_CHARS or any(c in _IN_NONE or not c.isprintable() for c in local):
        raise ValueError(f"{text[:60]!r} is no address")
    return f"{local}@{canonical_host(host)}"


def canonical_host(host: str) -> str:
    """Return a host's name in lower case and ASCII. Raises: ValueError: It can be no name of a host."""
    try:
        name = host.strip().rstrip(".").encode("idna").decode("ascii").lower()
    except UnicodeError:
        name = ""
    if not _HOST.fullmatch(name):
        raise ValueError(f"{host[:60]!r} is no host")
    return name


def canonical_url(text: str) -> str:
    """Return a web address with scheme and host in one spelling; the rest is the server's. Raises: ValueError."""
    parts = urlsplit(unicodedata.normalize("NFKC", text.strip()) if not text.isascii() else text.strip())
    scheme = parts.scheme.lower()
    port = f":{parts.port}" if parts.port not in (None, _PORTS.get(scheme)) else ""
    account = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    netloc = f"{account}{canonical_host(parts.hostname or '')}{port}"
    return urlunsplit((scheme, netloc, parts.path or "/", parts.query, parts.fragment))


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
