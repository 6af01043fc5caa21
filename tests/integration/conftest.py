"""Real servers on this machine, started for the tests that ask for them and stopped after."""

from __future__ import annotations

import contextlib
import dataclasses
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from hearth.protocols import CallContext, Cause
from hearth.storage.workspace import Folder
from hearth.testing import make_call
from hearth.tools.pim.servers import mirror
from hearth.types import Plain

USER, PASSWORD = "owner", "s3cret"


@dataclass
class DavServer:
    """A running Radicale."""

    url: str
    process: subprocess.Popen[bytes]

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)

    def client(self) -> httpx.Client:
        """Another program of the owner's, on the same account."""
        return httpx.Client(base_url=self.url, auth=(USER, PASSWORD), trust_env=False)

    def make(self, name: str, kind: str, components: str = "VEVENT") -> str:
        """Make an empty collection; returns its URL."""
        types = {
            "calendar": '<C:calendar xmlns:C="urn:ietf:params:xml:ns:caldav"/>',
            "contacts": '<A:addressbook xmlns:A="urn:ietf:params:xml:ns:carddav"/>',
        }
        supported = (
            '<C:supported-calendar-component-set xmlns:C="urn:ietf:params:xml:ns:caldav">'
            f'<C:comp name="{components}"/></C:supported-calendar-component-set>'
            if kind == "calendar"
            else ""
        )
        body = (
            '<mkcol xmlns="DAV:"><set><prop>'
            f"<resourcetype><collection/>{types[kind]}</resourcetype>{supported}"
            "</prop></set></mkcol>"
        )
        with self.client() as client:
            client.request("MKCOL", f"/{USER}/{name}/", content=body).raise_for_status()
        return f"{self.url}/{USER}/{name}/"


@contextlib.contextmanager
def running_radicale(folder: Path) -> Iterator[DavServer]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "users").write_text(f"{USER}:{PASSWORD}\n")
    (folder / "config").write_text(
        f"[server]\nhosts = 127.0.0.1:{port}\n"
        f"[auth]\ntype = htpasswd\nhtpasswd_filename = {folder / 'users'}\nhtpasswd_encryption = plain\ndelay = 0\n"
        f"[storage]\nfilesystem_folder = {folder / 'collections'}\n"
        "[web]\ntype = none\n[logging]\nlevel = warning\n"
    )
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "radicale", "--config", str(folder / "config")], stdout=log, stderr=log
        )
    server = DavServer(f"http://127.0.0.1:{port}", process)
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert process.poll() is None, (folder / "log").read_text()
            time.sleep(0.05)
        yield server
    finally:
        if process.poll() is None:
            server.stop()


@pytest.fixture(scope="module")
def radicale(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DavServer]:
    """One server for a test module; each test makes a collection of its own."""
    with running_radicale(tmp_path_factory.mktemp("radicale")) as server:
        yield server


class OpenEgress:
    """A `protocols.Egress` that lets everything pass and counts it."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def transport(self, reason: str, *, is_web: bool = False) -> httpx.BaseTransport:
        self.reasons.append(reason)
        return httpx.HTTPTransport(trust_env=False)

    def permit(self, host: str, port: int, reason: str) -> contextlib.AbstractContextManager[None]:
        raise NotImplementedError

    def record(self, host: str, payload: bytes, reason: str, *, tls: str = "") -> None:
        raise NotImplementedError

    def tls(self, host: str) -> ssl.SSLContext:
        raise NotImplementedError

    def spent(self, host: str, n_tokens: int, reason: str) -> None:
        raise NotImplementedError

    def on_behalf(self, cause: Cause) -> OpenEgress:
        return self


@dataclass
class DavAccount:
    """The owner's folder with its journal, and a collection on the server."""

    folder: Folder
    server: DavServer
    url: str
    name: str
    egress: OpenEgress = field(default_factory=OpenEgress)
    password: str = PASSWORD
    sync_s: float = 0
    kind: str = "calendar"

    def call(self, key: str) -> CallContext:
        table: Mapping[str, Plain] = {
            "url": self.url,
            "username": USER,
            "password": self.password,
            "sync_s": self.sync_s,
        }
        call = make_call(key, workspace=self.folder.for_call(key), settings={self.kind: table})
        return dataclasses.replace(call, egress=self.egress)

    def on_server(self) -> dict[str, str]:
        """Name → content, as another program sees it."""
        body = '<propfind xmlns="DAV:"><prop><getetag/></prop></propfind>'
        with self.server.client() as client:
            listing = client.request("PROPFIND", f"/{USER}/{self.name}/", content=body, headers={"Depth": "1"}).text
            names = [part.split("</href>")[0] for part in listing.split("<href>")[1:]]
            return {n.rpartition("/")[2]: client.get(n).text for n in names if n.endswith((".ics", ".vcf"))}

    def put(self, name: str, data: str) -> None:
        with self.server.client() as client:
            headers = {"Content-Type": {"calendar": "text/calendar", "contacts": "text/vcard"}[self.kind]}
            client.put(f"/{USER}/{self.name}/{name}", content=data.encode(), headers=headers).raise_for_status()


@pytest.fixture(autouse=True)
def _fresh_process() -> None:
    """What a process remembers of servers is forgotten, as if it had just started."""
    mirror._asked.clear()
    mirror._addresses.clear()
