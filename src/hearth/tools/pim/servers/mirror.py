"""A local copy of a collection on a CalDAV or CardDAV server, and the requests that keep it the same."""

from __future__ import annotations

import functools
import hashlib
import html
import ipaddress
import re
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, cast
from urllib.parse import unquote, urlsplit
from xml.parsers import expat

from hearth.errors import Conflict, EgressError, NotFound, ToolError, TransientToolError
from hearth.formats.content_lines import Component, Line, escape, new_line, parse
from hearth.protocols import CallContext

if TYPE_CHECKING:
    import httpx


# ── Dav ───────────────────────────────────────────────────────────────────────────────────────────────────
# CalDAV and CardDAV client: one collection of small text resources, each with an ETag, over HTTP.
#
# Covered: discovery from a principal or home URL (RFC 4791, RFC 6352), listing, reading, creating (never over
# another's resource), replacing and deleting only what was read (`If-Match`), basic authentication over TLS. Answers
# are XML of limited size and number of elements, in limited time, without DOCTYPE (no entity expansion); redirects
# are not followed, so the password goes to no other host. Not covered: OAuth, locking, server-side search,
# invitations (attendees are marked so that the server mails nobody); an answer whose head never ends, which only the
# tool's own time does.

MAX_ANSWER_BYTES = 64_000_000
MAX_ELEMENTS = 500_000
"""Most elements of one answer; a listing of 20,000 events has 140,000."""
TIMEOUT_S = 10.0
ANSWER_S = 15.0
"""Longest that the body of one answer may take, however steadily it comes."""
N_PER_FETCH = 50

Kind = Literal["calendar", "contacts"]

_NAMESPACES = 'xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav" xmlns:A="urn:ietf:params:xml:ns:carddav"'
_DAV, _CAL, _CARD = "{DAV:}", "{urn:ietf:params:xml:ns:caldav}", "{urn:ietf:params:xml:ns:carddav}"


@dataclass(frozen=True, slots=True)
class _Dialect:
    """The differences between CalDAV and CardDAV."""

    name: str
    collection: str
    home: str
    multiget: str
    data: str
    content_type: str


_DIALECTS: Mapping[Kind, _Dialect] = {
    "calendar": _Dialect(
        "calendar", f"{_CAL}calendar", "C:calendar-home-set", "C:calendar-multiget", "C:calendar-data", "text/calendar"
    ),
    "contacts": _Dialect(
        "address book",
        f"{_CARD}addressbook",
        "A:addressbook-home-set",
        "A:addressbook-multiget",
        "A:address-data",
        "text/vcard",
    ),
}


@dataclass(frozen=True, slots=True)
class Resource:
    """One event or card on the server."""

    href: str
    """Path on the server, as the server writes it."""
    etag: str
    """ETag, quoted, as the server writes it; empty when it gave none."""
    data: bytes


@dataclass(frozen=True, slots=True)
class Account:
    """A server the owner configured, as `[calendar]` or `[contacts]` of `hearth.toml`."""

    url: str
    username: str
    password: str = field(repr=False)
    kind: Kind

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""


def checked_url(url: str, kind: Kind) -> str:
    """Return `url`, with `https://` added when it names no scheme.

    Raises:
        ToolError: No host, or a scheme that would send the password in the clear to another machine.
    """
    full = url if "://" in url else f"https://{url}"
    parts = urlsplit(full)
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise ToolError(f"[{kind}] url {url!r} in hearth.toml is no web address; expected 'https://host/path/'")
    if parts.scheme == "http" and not _is_loopback(parts.hostname):
        raise ToolError(
            f"[{kind}] url {url!r} in hearth.toml would send the password unencrypted; write it with 'https://'"
        )
    return full


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# ── XML ───────────────────────────────────────────────────────────────────────────────────────────────────


def parse_xml(data: bytes) -> ET.Element:
    """Parse an answer. Raises: ToolError: not XML, with too many elements, or with a DOCTYPE (entities could expand
    without bound)."""
    n_elements = 0
    builder = ET.TreeBuilder()
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True

    def named(name: str) -> str:
        return "{" + name if "}" in name else name

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal n_elements
        n_elements += 1
        if n_elements > MAX_ELEMENTS:
            raise ToolError(f"the server's answer has more than {MAX_ELEMENTS} elements; nothing was taken over")
        builder.start(named(name), {named(key): value for key, value in attributes.items()})

    def end(name: str) -> None:
        builder.end(named(name))

    def refuse(*_: object) -> None:
        raise ToolError("the server's answer holds a DOCTYPE, which Hearth does not read; check the url in hearth.toml")

    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse
    if not data.startswith((b"\xff\xfe", b"\xfe\xff")):  # UTF-16
        # Some servers pass on control characters of their entries; one such entry must not make all others unreadable.
        data = re.sub(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]", b"", data)
    try:
        parser.Parse(data, True)
        return builder.close()
    except (expat.ExpatError, AssertionError) as error:
        raise ToolError(f"the server's answer is not WebDAV ({error}); check the url in hearth.toml") from None


@dataclass(frozen=True, slots=True)
class _Response:
    href: str
    properties: Mapping[str, ET.Element]

    def text(self, name: str) -> str:
        element = self.properties.get(name)
        return (element.text or "").strip() if element is not None else ""

    def href_in(self, name: str) -> str:
        element = self.properties.get(name)
        found = element.find(f"{_DAV}href") if element is not None else None
        return (found.text or "").strip() if found is not None else ""

    def has_type(self, name: str) -> bool:
        element = self.properties.get(f"{_DAV}resourcetype")
        return element is not None and element.find(name) is not None


def _responses(data: bytes) -> Iterator[_Response]:
    root = parse_xml(data)
    if root.tag != f"{_DAV}multistatus":
        raise ToolError(f"the server's answer is {root.tag!r}, not a WebDAV listing; check the url in hearth.toml")
    for response in root.iter(f"{_DAV}response"):
        href = (response.findtext(f"{_DAV}href") or "").strip()
        found: dict[str, ET.Element] = {}
        for propstat in response.iter(f"{_DAV}propstat"):
            if " 200" in (propstat.findtext(f"{_DAV}status") or " 200"):
                for prop in propstat.iter(f"{_DAV}prop"):
                    found.update({element.tag: element for element in prop})
        yield _Response(href, found)


def path_of(href: str) -> str:
    """Return the decoded path of an href, equal for two spellings of the same resource."""
    return unquote(urlsplit(href).path)


# ── The client ────────────────────────────────────────────────────────────────────────────────────────────


class Collection:
    """One calendar or address book on a server. Use as a context manager; every method may raise

    * TransientToolError: the server could not be reached, or is in trouble (5xx); nothing is known to have changed
    * ToolError: refused (network policy, password, path); nothing was changed
    """

    def __init__(self, account: Account, transport: httpx.BaseTransport, address: str = "") -> None:
        """`address`: the collection's own URL when it is known already; else it is discovered."""
        import httpx

        self.account = account
        self._dialect = _DIALECTS[account.kind]
        self._http = httpx.Client(
            transport=transport,
            auth=(account.username, account.password) if account.username else None,
            timeout=TIMEOUT_S,
            follow_redirects=False,
            trust_env=False,
        )
        self._address = address

    def __enter__(self) -> Collection:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    @property
    def address(self) -> str:
        """URL of the collection itself. Raises: ToolError: there is none at the configured URL, or several."""
        if not self._address:
            self._address = self._discovered()
        return self._address

    def etags(self) -> dict[str, str]:
        """Return the ETag of every resource in the collection, by href."""
        found = self._propfind(self.address, "1", "<D:getetag/><D:resourcetype/>")
        return {r.href: r.text(f"{_DAV}getetag") for r in found if not r.has_type(f"{_DAV}collection")}

    def fetch(self, hrefs: Sequence[str]) -> Iterator[Resource]:
        """Yield the named resources that still exist, fetched in batches."""
        for place in range(0, len(hrefs), N_PER_FETCH):
            names = "".join(
                f"<D:href>{html.escape(href, quote=False)}</D:href>" for href in hrefs[place : place + N_PER_FETCH]
            )
            kind = self._dialect
            body = (
                f"<{kind.multiget} {_NAMESPACES}><D:prop><D:getetag/><{kind.data}/></D:prop>{names}</{kind.multiget}>"
            )
            for response in _responses(self._send("REPORT", self.address, body.encode(), {"Depth": "1"})[1]):
                data = response.text(_clark(kind.data))
                if data:
                    yield Resource(response.href, response.text(f"{_DAV}getetag"), _with_crlf(data))

    def get(self, href: str) -> Resource:
        """Return one resource. Raises: NotFound."""
        headers, data = self._send("GET", self._url(href))
        return Resource(href, headers.get("etag", ""), data)

    def create(self, name: str, data: bytes) -> Resource:
        """Create a resource. Raises: Conflict: there is one of that name already."""
        href = urlsplit(self.address).path.rstrip("/") + f"/{name}"
        return self._put(href, data, {"If-None-Match": "*"})

    def put_back(self, href: str, data: bytes) -> Resource:
        """Restore a resource that was deleted. Raises: Conflict: there is one again already."""
        return self._put(href, data, {"If-None-Match": "*"})

    def replace(self, href: str, data: bytes, etag: str) -> Resource:
        """Replace the version that `etag` names. Raises: Conflict: it changed since, or is gone."""
        return self._put(href, data, {"If-Match": etag or "*"})

    def delete(self, href: str, etag: str) -> None:
        """Delete the version that `etag` names; an already deleted one counts as done. Raises: Conflict: it changed
        since."""
        try:
            self._send("DELETE", self._url(href), headers={"If-Match": etag} if etag else {})
        except NotFound:
            return

    def _put(self, href: str, data: bytes, condition: Mapping[str, str]) -> Resource:
        kind = f"{self._dialect.content_type}; charset=utf-8"
        headers, _ = self._send("PUT", self._url(href), data, {"Content-Type": kind, **condition})
        # No ETag (or a weak one) means that the server stored something other than what was sent: RFC 4791 5.3.4.
        etag = headers.get("etag", "")
        return Resource(href, "" if etag.startswith("W/") else etag, data)

    def _discovered(self) -> str:
        kind, url = self._dialect, self.account.url
        wanted = f"<D:resourcetype/><D:current-user-principal/><{kind.home}/>"
        first = next(iter(self._propfind(url, "0", wanted)), None)
        if first is not None and first.has_type(kind.collection):
            return url
        home = first.href_in(_clark(kind.home)) if first is not None else ""
        principal = first.href_in(f"{_DAV}current-user-principal") if first is not None else ""
        if not home and principal:
            answer = next(iter(self._propfind(self._url(principal), "0", f"<{kind.home}/>")), None)
            home = answer.href_in(_clark(kind.home)) if answer is not None else ""
        listed = self._propfind(
            self._url(home) if home else url, "1", "<D:resourcetype/><C:supported-calendar-component-set/>"
        )
        found = [self._url(r.href) for r in listed if r.has_type(kind.collection) and self._takes_events(r)]
        if len(found) == 1:
            return found[0]
        where = f"[{self.account.kind}] url in hearth.toml"
        if not found:
            raise ToolError(f"there is no {kind.name} at {url!r}; put the address of one into {where}")
        raise ToolError(f"there are {len(found)} at {url!r}: {', '.join(found[:10])}; put one of them into {where}")

    def _takes_events(self, response: _Response) -> bool:
        element = response.properties.get(f"{_CAL}supported-calendar-component-set")
        names = [item.get("name", "") for item in element] if element is not None else []
        return self.account.kind == "contacts" or not names or "VEVENT" in names

    def _propfind(self, url: str, depth: str, wanted: str) -> list[_Response]:
        body = f"<D:propfind {_NAMESPACES}><D:prop>{wanted}</D:prop></D:propfind>"
        return list(_responses(self._send("PROPFIND", url, body.encode(), {"Depth": depth})[1]))

    def _url(self, href: str) -> str:
        """Return an address the server named, if it is on the configured server."""
        import httpx

        start = httpx.URL(self.account.url)
        url = start.join(href)
        if (url.scheme, url.host, url.port) != (start.scheme, start.host, start.port):
            raise ToolError(
                f"the server {start.host!r} points to {str(url)!r}; Hearth sends the password to no other host; put "
                f"that address into [{self.account.kind}] url in hearth.toml if it is right"
            )
        return str(url)

    def _send(
        self, method: str, url: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> tuple[Mapping[str, str], bytes]:
        import httpx

        sent = {"Content-Type": "application/xml; charset=utf-8", **(headers or {})} if body else dict(headers or {})
        who = f"the {self._dialect.name} server {self.account.host!r}"
        try:
            with self._http.stream(method, url, content=body or None, headers=sent) as response:
                data, began = bytearray(), time.monotonic()
                for chunk in response.iter_bytes():
                    data += chunk
                    if time.monotonic() - began > ANSWER_S:
                        raise TransientToolError(f"{who} did not end its answer within {ANSWER_S:g} s; try again later")
                    if len(data) > MAX_ANSWER_BYTES:
                        raise ToolError(
                            f"{who} answered with more than {MAX_ANSWER_BYTES} bytes; nothing was taken over"
                        )
        except EgressError as error:
            raise ToolError(f"{who} may not be reached: {error}") from None
        except httpx.HTTPError as error:
            what = str(error) or type(error).__name__
            raise TransientToolError(f"{who} cannot be reached ({what}); check the network and try again") from None
        except httpx.InvalidURL as error:
            raise ToolError(f"{url!r} is no web address ({error}); mend [{self.account.kind}] url") from None
        self._check(response.status_code, response.headers.get("location", ""), url, who)
        return response.headers, bytes(data)

    def _check(self, status: int, location: str, url: str, who: str) -> None:
        """Raise the error that an HTTP status stands for; none for a success."""
        place = f"[{self.account.kind}] of hearth.toml"
        if 200 <= status < 300:
            return
        if status in (401, 403):
            raise ToolError(
                f"{who} refused the user {self.account.username!r} (HTTP {status}); "
                f"check username and password in {place}"
            )
        if status in (404, 410):
            raise NotFound(f"{who} has nothing at {url!r} (HTTP {status}); check url in {place}")
        if status in (409, 412):
            raise Conflict(f"{who} holds another version of this entry (HTTP {status}); look at it again and repeat")
        if 300 <= status < 400:
            raise ToolError(f"{who} redirects to {location!r}; if that is right, put it into url in {place}")
        if status in (429, 500, 502, 503, 504):
            raise TransientToolError(f"{who} is in trouble (HTTP {status}); try again later")
        raise ToolError(f"{who} refused (HTTP {status}) at {url!r}; check url in {place}")


def _clark(prefixed: str) -> str:
    """Return `C:calendar-data` as ElementTree names it."""
    prefix, _, name = prefixed.partition(":")
    return {"D": _DAV, "C": _CAL, "A": _CARD}[prefix] + name


def _with_crlf(text: str) -> bytes:
    """Restore CRLF, which the formats need and XML parsers turn into LF."""
    return re.sub(r"\r?\n", "\r\n", text.strip("\r\n") + "\n").encode()


# ── Mirror ────────────────────────────────────────────────────────────────────────────────────────────────
# Local copy of a configured calendar or address book; the owner's changes go to the server first.
#
# A mirrored file is in `calendar/caldav/` or `contacts/carddav/`. It is the server's resource plus two properties,
# X-HEARTH-HREF and X-HEARTH-ETAG, which name the original; so every file can be undone, copied or deleted by itself.
# A resource that Hearth changed carries X-HEARTH-KEY, the key of the call: a call that is repeated after a crash
# recognises its own work, and an undo does not revert what somebody else changed since. Covered: reading without the
# server (the last copy, with a notice); two sides changing one entry (Conflict, nothing lost). Not covered: changes
# made to mirrored files by hand; the next change on the server replaces them.

_HREF, _ETAG, _KEY = "X-HEARTH-HREF", "X-HEARTH-ETAG", "X-HEARTH-KEY"
_FOLDERS: Mapping[Kind, tuple[str, str]] = {
    "calendar": ("calendar/caldav", "ics"),
    "contacts": ("contacts/carddav", "vcf"),
}

# The state of servers in this process: time of the last request (monotonic seconds), and the collection's URL.
_asked: dict[Account, float] = {}
_addresses: dict[Account, str] = {}
_lock = threading.Lock()
LOCK_S = 20.0
"""How long a call waits for another that is fetching; then it reads the last copy."""


class Mirror:
    """One configured collection and its copy in the owner's folder."""

    def __init__(self, account: Account, sync_s: float, call: CallContext) -> None:
        self._account = account
        self._sync_s = sync_s
        self._call = call
        self.folder, self._suffix = _FOLDERS[account.kind]

    @classmethod
    def configured(cls, call: CallContext, kind: Kind) -> Mirror | None:
        """Return the mirror for `[calendar]` or `[contacts]`; None when there is no server. Raises: ToolError: bad
        url."""
        table = call.settings.get(kind, {})
        url = str(table.get("url") or "")
        if not url:
            return None
        name, password = str(table.get("username") or ""), str(table.get("password") or "")
        sync_s = table.get("sync_s", 300)
        account = Account(checked_url(url, kind), name, password, kind)
        return cls(account, float(sync_s) if isinstance(sync_s, int | float) else 300.0, call)

    def owns(self, path: str) -> bool:
        """Say whether a file is a copy of something on the server."""
        return path.startswith(self.folder + "/") and bool(_marks(self._call.workspace.read(path))[0])

    # ── Reading ───────────────────────────────────────────────────────────────────────────────────────────

    def refresh(self) -> None:
        """Fetch what changed on the server, at most once in `sync_s` seconds.

        If the server cannot be reached, the last copy stays, with a notice.

        Raises:
            ToolError: The server refuses for a reason the owner must fix (policy, password, address).
        """
        if not self._call.key:
            return  # whoever only looks gets the last copy
        copies = self._copies()
        if not _lock.acquire(timeout=LOCK_S):
            self._call.notices.append(f"This is the last copy: what changed on {self._account.host} is being fetched.")
            return
        try:
            last = _asked.get(self._account)
            if last is not None and copies and time.monotonic() - last < self._sync_s:
                return
            try:
                with self._collection("read") as collection:
                    self._take_over(collection, copies)
            except TransientToolError as error:
                if not copies:
                    raise
                self._call.notices.append(f"This is the last copy: {error}.")
                return
            _asked[self._account] = time.monotonic()
        finally:
            _lock.release()

    def _take_over(self, collection: Collection, copies: Mapping[str, tuple[str, str]]) -> None:
        listed = {path_of(href): (href, etag) for href, etag in collection.etags().items()}
        changed = [href for name, (href, etag) in listed.items() if not etag or copies.get(name, ("", ""))[1] != etag]
        n_unreadable = 0
        for resource in collection.fetch(changed):
            copy = copies.get(path_of(resource.href))
            try:
                self._write(copy[0] if copy else self._path(resource.href), resource)
            except ValueError:
                n_unreadable += 1
            if self._call.cancelled.is_set():
                return
        gone = [path for name, (path, _) in copies.items() if name not in listed]
        for path in gone:
            self._call.workspace.delete(path)
        if len(gone) == len(copies) > 1:
            self._call.notices.append(f"All {len(gone)} entries that were here are gone from {self._account.host}.")
        if n_unreadable:
            self._call.notices.append(f"{n_unreadable} entries on {self._account.host} could not be read.")

    def _copies(self) -> dict[str, tuple[str, str]]:
        """Return (local path, ETag) of every mirrored file, by decoded server path."""
        workspace = self._call.workspace
        copies: dict[str, tuple[str, str]] = {}
        for path in workspace.list(self.folder, f"*.{self._suffix}"):
            href, etag = _marks(workspace.read(path))
            if href:
                copies[path_of(href)] = (path, etag)
        return copies

    # ── Changing: the server first, then the copy ─────────────────────────────────────────────────────────

    def create(self, name: str, document: Component) -> None:
        """Create a new entry on the server and in the copy.

        Raises:
            Conflict: The server has another entry of that name.
            ToolError: The server did not take it; nothing was changed.
        """
        with self._collection("add") as collection:
            data = self._sent(document)
            try:
                resource = collection.create(f"{name}.{self._suffix}", data)
            except Conflict:
                resource = self._own_work(
                    collection, f"{path_of(collection.address).rstrip('/')}/{name}.{self._suffix}"
                )
            self._look(collection, resource.href)
            self._write(f"{self.folder}/{name}.{self._suffix}", resource)

    def replace(self, path: str, document: Component) -> None:
        """Replace the entry of a mirrored file on the server and in the copy.

        Raises:
            Conflict: It changed on the server since it was read; nothing was changed.
        """
        href, etag = _marks(self._call.workspace.read(path))
        with self._collection("change") as collection:
            data = self._sent(document)
            try:
                resource = collection.replace(href, data, etag)
            except Conflict:
                resource = self._own_work(collection, href)
            self._look(collection, href, etag)
            self._write(path, resource)

    def delete(self, path: str) -> None:
        """Delete the entry of a mirrored file, there and here. Raises: Conflict: as for `replace`."""
        href, etag = _marks(self._call.workspace.read(path))
        with self._collection("delete") as collection:
            try:
                collection.delete(href, etag)
            except Conflict:
                self._forget_asking()
                raise
        self._call.workspace.delete(path)

    def undo(self, path: str) -> None:
        """Bring the server back to the restored file; a file that is absent was created by the call.

        Raises:
            Conflict: Somebody changed the entry since.
        """
        is_there = self._call.workspace.exists(path)
        before = self._call.workspace.read(path) if is_there else b""
        with self._collection("undo") as collection:
            href = _marks(before)[0] or f"{path_of(collection.address).rstrip('/')}/{path.rpartition('/')[2]}"
            self._forget_asking()
            try:
                current: Resource | None = collection.get(href)
            except NotFound:
                current = None
            if current is not None and _key_in(current.data) != (self._call.key, True):
                raise Conflict(
                    f"the entry changed on {self._account.host!r} since; it was not undone there; look at it again"
                )
            if not is_there:
                if current is not None:
                    collection.delete(href, current.etag)
            elif current is None:
                collection.put_back(href, _stripped(before))
            else:
                collection.replace(href, _stripped(before), current.etag)

    def _look(self, collection: Collection, href: str, before: str = "") -> None:
        """Look whether the server kept what it said it took.

        Args:
            before: The version that was replaced; empty where there was none.
        Raises:
            ToolError: It did not.
        """
        try:
            now = collection.get(href).etag
            is_kept = not before or now != before
        except NotFound:
            is_kept = False
        if not is_kept:
            self._forget_asking()
            raise ToolError(f"{self._account.host!r} said that it took the entry, and did not keep it; look there")

    def _own_work(self, collection: Collection, href: str) -> Resource:
        """Return the server's version after a refused change if this very call made it (before a crash), else raise
        Conflict."""
        self._forget_asking()
        try:
            current = collection.get(href)
        except NotFound:
            raise Conflict(
                f"the entry is gone from {self._account.host!r}; nothing was changed; look at it again and repeat"
            ) from None
        if _key_in(current.data)[0] != self._call.key:
            raise Conflict(
                f"the entry changed on {self._account.host!r} since it was read; nothing was changed; look at it again "
                "and repeat"
            )
        return current

    @contextmanager
    def _collection(self, what: str) -> Iterator[Collection]:
        noun = {"calendar": "calendar", "contacts": "address book"}[self._account.kind]
        reason = f"read your {noun}" if what == "read" else f"{what} an entry of your {noun}"
        transport = self._call.egress.transport(reason)
        with Collection(self._account, transport, _addresses.get(self._account, "")) as collection:
            _addresses[self._account] = collection.address
            yield collection

    def _forget_asking(self) -> None:
        """Make the next read ask the server."""
        with _lock:
            _asked.pop(self._account, None)

    def _sent(self, document: Component) -> bytes:
        """Return what goes to the server: without our marks, with the key of this call."""
        copy = parse(_stripped(document.render()))
        entry = _entry(copy)
        entry.put(new_line(_KEY, escape(self._call.key), {"X-STAMP": _modified(entry)}))
        return copy.render()

    def _write(self, path: str, resource: Resource) -> None:
        """Write a resource into the copy. Raises: ValueError: the resource is not readable."""
        document = parse(_stripped(resource.data))
        root = document.components()[0]
        for name, value in ((_HREF, resource.href), (_ETAG, resource.etag)):
            root.add(Line(f"{name}:{value}\r\n".encode(), name, "", value))
        self._call.workspace.write(path, document.render())

    def _path(self, href: str) -> str:
        name = path_of(href).rpartition("/")[2].removesuffix(f".{self._suffix}")
        return f"{self.folder}/{file_name(name)}.{self._suffix}"


def file_name(text: str) -> str:
    """Return a safe file name: `text` itself if it is one, else cleaned and made unique by its hash."""
    safe = re.sub(r"[^A-Za-z0-9._@-]", "_", text).lstrip(".")[:100]
    return safe if safe == text else f"{safe}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _entry(document: Component) -> Component:
    """Return the component that is the entry: the card, or the first event or task of a calendar."""
    root = document.components()[0]
    return next((c for c in root.components() if c.name in ("VEVENT", "VTODO", "VJOURNAL")), root)


def _key_in(data: bytes) -> tuple[str, bool]:
    """Return the key of the call that changed this entry last, and whether it is still as that call left it."""
    try:
        entry = _entry(parse(data))
    except ValueError:
        return "", False
    line = entry.line(_KEY)
    return (line.text(), line.parameter("X-STAMP") == _modified(entry)) if line is not None else ("", False)


def _modified(entry: Component) -> str:
    """Return the entry's own modification time; other programs set it too."""
    return entry.text("LAST-MODIFIED") or entry.text("REV")


def _stripped(data: bytes) -> bytes:
    """Return a file without the marks that belong to the copy. Raises: ValueError."""
    document = parse(data)
    for root in document.components():
        root.remove(_HREF, _ETAG)
    return document.render()


@functools.lru_cache(maxsize=20_000)
def _marks(data: bytes) -> tuple[str, str]:
    """Return (href, etag) of a mirrored file; empty for any other."""
    if _HREF.encode() not in data:
        return "", ""
    try:
        root = parse(data).components()[0]
    except ValueError:
        return "", ""
    lines = cast(list[Line | None], [root.line(_HREF), root.line(_ETAG)])
    href, etag = (line.value if line is not None else "" for line in lines)
    return href, etag
