"""One spelling for what several readers compare: addresses, headings, places of records."""

from __future__ import annotations

import unicodedata
from urllib.parse import urlsplit, urlunsplit

from hearth import patterns as re

# ── Record places ─────────────────────────────────────────────────────────────────────────────────────────
# Remembers in which file a record was found, so that it is found again by reading one file instead of a whole folder.
#
# What is remembered holds for one listing of the folder, the very tuple that `Workspace.list` returns again while
# nothing was added, removed or replaced; who uses it reads the file and looks whether the record is still in it. Not
# covered: another file that gets a record of the same name by being written over in place, until the folder changes.


class RecordPlaces:
    """Files of the records of one kind, by what they were asked for as."""

    def __init__(self) -> None:
        self._known: tuple[tuple[str, ...], dict[str, str]] = ((), {})

    def find(self, listing: tuple[str, ...], called: str) -> str | None:
        """Return the file in which the one record called so was found, None if that is not known."""
        known, places = self._known
        return places.get(called) if known is listing else None

    def keep(self, listing: tuple[str, ...], called: str, path: str) -> None:
        """Remember that of all files of a listing, this alone holds the record called so."""
        known, places = self._known
        if known is not listing:
            known, places = self._known = listing, {}
        places[called] = path


# ── Addresses ─────────────────────────────────────────────────────────────────────────────────────────────
# Addresses in the one spelling that mail goes to: without a display name, the host in lower case and in ASCII.
#
# Covered: names around an address, blanks, full-width and other compatible letters (NFKC), international hosts
# (IDNA). Not covered: whether anybody is there; letters beyond ASCII before the `@`, which stay as they are.

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


# ── Headings ──────────────────────────────────────────────────────────────────────────────────────────────
# Headings of Markdown. Covered: lines of any length, read in step with it; what closes a heading (`# Title #`).

_HEADING = re.compile(r"#{1,6}\s+(\S.*)")


def heading_of(line: str) -> str:
    """Return the title that one line is the heading of; empty for any other line.

    >>> heading_of("## Oven times ##")
    'Oven times'
    """
    found = _HEADING.match(line)
    if found is None:
        return ""
    said = found[1].rstrip()
    return said.rstrip("#").rstrip() or said[:1]
