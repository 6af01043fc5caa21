"""Local copy of a configured calendar or address book; the owner's changes go to the server first.

A mirrored file is in `calendar/caldav/` or `contacts/carddav/`. It is the server's resource plus two properties,
X-HEARTH-HREF and X-HEARTH-ETAG, which name the original; so every file can be undone, copied or deleted by itself. A
resource that Hearth changed carries X-HEARTH-KEY, the key of the call: a call that is repeated after a crash recognises
its own work, and an undo does not revert what somebody else changed since. Covered: reading without the server (the
last copy, with a notice); two sides changing one entry (Conflict, nothing lost). Not covered: changes made to mirrored
files by hand; the next change on the server replaces them.
"""

from __future__ import annotations

import functools
import hashlib
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import cast

from hearth.errors import Conflict, NotFound, ToolError, TransientToolError
from hearth.formats.content_lines import Component, Line, escape, new_line, parse
from hearth.protocols import CallContext
from hearth.tools.pim.servers.dav import Account, Collection, Kind, Resource, checked_url, path_of

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
