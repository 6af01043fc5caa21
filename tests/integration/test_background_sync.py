"""What `hearth up` keeps up to date by itself: mail from an IMAP server that tells of it, calendars, published ones."""

from __future__ import annotations

import contextlib
import http.server
import re
import socketserver
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import httpx
import pytest

from hearth.errors import TransientToolError
from hearth.guard.egress.gateway import Egress
from hearth.protocols import CallContext
from hearth.serve.background import background_sync
from hearth.storage.database import Store
from hearth.storage.workspace import Folder
from hearth.testing import FIXED_NOW, make_call
from hearth.testing.recorded_cloud import served_here
from hearth.tools.mail import imap_smtp
from hearth.types import Plain
from tests.integration.conftest import USER as DAV_USER
from tests.integration.conftest import DavServer
from tests.integration.test_mail_servers import PASSWORD, USER, Mailbox, running_imap
from tests.integration.test_subscriptions import event, feed
from tests.served_home import Served, made, served, until

IMAP = '[mail.imap]\nhost = "127.0.0.1"\nport = {port}\nsecurity = "none"\nusername = "owner"\npassword_env = "MAIL_PASSWORD"\n'


@pytest.fixture
def mailbox(tmp_path: Path) -> Iterator[Mailbox]:
    with running_imap(tmp_path) as running:
        yield running


def settings(home: Path, text: str) -> Path:
    made(home)
    path = home / "hearth.toml"
    path.write_text(path.read_text().replace("allow = []", 'allow = ["127.0.0.1"]') + "\n" + text)
    return home


def mails(up: Served) -> list[str]:
    folder = up.house.home / "owner" / "mail"
    found = [path for path in folder.rglob("*") if path.parent.name in ("new", "cur") and path.parent.parent == folder]
    found += list((folder / "INBOX").rglob("*V*U*")) if (folder / "INBOX").exists() else []
    return sorted(
        {
            line
            for path in found
            if path.is_file()
            for line in path.read_text().splitlines()
            if line.startswith("Subject: ")
        }
    )


def today(up: Served) -> str:
    with httpx.Client(base_url=up.address) as browser:
        browser.get(f"/enter?key={up.house.keys.key}", follow_redirects=True)
        return browser.get("/today").text


def talk(up: Served) -> str:
    with httpx.Client(base_url=up.address) as browser:
        return browser.get(f"/enter?key={up.house.keys.key}", follow_redirects=True).text


def seen(up: Served) -> None:
    with httpx.Client(base_url=up.address, headers={"origin": up.address}) as browser:
        browser.get(f"/enter?key={up.house.keys.key}", follow_redirects=True)
        assert browser.post("/mail/seen", json={}).status_code == 200


def test_new_mail_is_there_without_anybody_asking(
    tmp_path: Path, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAIL_PASSWORD", PASSWORD)
    monkeypatch.setattr(background_sync, "LEAST_BETWEEN_S", 0.05)
    mailbox.put("first")
    of_everybody = 'tell_mail = "everybody"\n' + IMAP.format(port=mailbox.port)
    with served(settings(tmp_path / "home", of_everybody)) as up:
        until(lambda: "Subject: first" in mails(up) or None)
        until(lambda: "the server tells of new mail" in today(up) or None)
        assert "new mail</h2>" not in talk(up)  # what was there before Hearth is not new
        mailbox.put("second")
        until(lambda: "Subject: second" in mails(up) or None)
        until(lambda: "1 new mail</h2>" in talk(up) or None)
        assert "second" in talk(up)
        seen(up)
        assert "new mail</h2>" not in talk(up)
        with Store.open(up.house.home / "hearth.db") as store:
            assert store.query("SELECT 1 FROM journal WHERE key = ?", (background_sync.KEY,)) == []
            said = b" ".join(bytes(row["payload"] or b"") for row in store.query("SELECT payload FROM disclosure"))
        assert b"IDLE" in said
        assert PASSWORD.encode() not in said
    assert not any(thread.name.startswith("hearth-sync") for thread in threading.enumerate())


def test_a_server_that_goes_away_and_comes_back_is_followed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAIL_PASSWORD", PASSWORD)
    monkeypatch.setattr(background_sync, "LEAST_BETWEEN_S", 0.05)
    monkeypatch.setattr(background_sync, "FIRST_PAUSE_S", 0.1)
    monkeypatch.setattr(imap_smtp, "PAUSE_AFTER_FAULT_S", 0.0)
    with (
        running_imap(tmp_path) as mailbox,
        served(settings(tmp_path / "home", IMAP.format(port=mailbox.port))) as up,
    ):
        until(lambda: "the server tells of new mail" in today(up) or None)
        mailbox.process.kill()
        mailbox.process.wait(10)
        until(lambda: "cannot reach" in today(up) or "closed the connection" in today(up) or None)


class OldImap(socketserver.StreamRequestHandler):
    """A server without IDLE, with one mail; or one whose IDLE ends, or tells of mail for ever."""

    idle = ""
    raw: ClassVar[bytes] = b"Subject: old\r\nMessage-ID: <1@x>\r\n\r\nhello\r\n"

    def handle(self) -> None:
        able = "IMAP4rev1 IDLE" if self.idle else "IMAP4rev1"
        self.say(f"* OK [CAPABILITY {able}] here")
        waiting = ""
        while line := self.rfile.readline():
            tag, _, rest = line.decode().strip().partition(" ")
            command = rest.upper()
            if tag == "DONE":
                self.say(f"{waiting} OK idle ended")
                continue
            if command.startswith("CAPABILITY"):
                self.say(f"* CAPABILITY {able}")
            elif command.startswith(("EXAMINE", "SELECT")):
                self.say("* 1 EXISTS\r\n* OK [UIDVALIDITY 7] v\r\n* OK [UIDNEXT 2] n\r\n* FLAGS (\\Seen)")
            elif command.startswith("UID SEARCH"):
                self.say("* SEARCH 1")
            elif command.startswith("UID FETCH") and "SIZE" in command:
                self.say(f"* 1 FETCH (UID 1 RFC822.SIZE {len(self.raw)})")
            elif command.startswith("UID FETCH"):
                self.wfile.write(
                    b'* 1 FETCH (UID 1 FLAGS () INTERNALDATE "20-Nov-2026 10:00:00 +0000" BODY[] {%d}\r\n'
                    % len(self.raw)
                )
                self.wfile.write(self.raw + b")\r\n")
            elif command.startswith("IDLE"):
                waiting = tag
                self.say("+ idling")
                if self.idle == "ends":
                    return
                if self.idle == "floods":
                    self.say("\r\n".join(["* 1 EXISTS"] * 50))
            elif command.startswith("LOGOUT"):
                self.say(f"* BYE\r\n{tag} OK")
                return
            if not command.startswith("IDLE"):
                self.say(f"{tag} OK done")

    def say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())
        self.wfile.flush()


@contextlib.contextmanager
def old_imap(idle: str = "") -> Iterator[int]:
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), type("Handler", (OldImap,), {"idle": idle}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextlib.contextmanager
def call_to(folder: Path, port: int) -> Iterator[CallContext]:
    imap: dict[str, Plain] = {
        "host": "127.0.0.1",
        "port": port,
        "security": "none",
        "username": USER,
        "password": PASSWORD,
    }
    with Store.open(folder / "hearth.db") as store:
        egress = Egress(("127.0.0.1",), store, lambda: FIXED_NOW)
        tables: dict[str, dict[str, Plain]] = {"mail": {"imap": imap, "sync_s": 300}}
        yield make_call("k1", FIXED_NOW, Folder(folder / "owner", store).for_call("k1"), tables, egress=egress)


def test_a_server_that_cannot_tell_is_asked_in_between(tmp_path: Path) -> None:
    with old_imap() as port, call_to(tmp_path, port) as call:
        imap_smtp.fetch(call)
        assert call.notices == []
        assert imap_smtp.await_mail(call, 5) is None


def test_the_page_says_that_a_server_cannot_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAIL_PASSWORD", PASSWORD)
    with old_imap() as port, served(settings(tmp_path / "home", IMAP.format(port=port))) as up:
        until(lambda: "does not tell of new mail" in today(up) or None)


def test_a_server_that_tells_of_mail_for_ever_is_not_followed_at_its_pace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAIL_PASSWORD", PASSWORD)
    monkeypatch.setattr(background_sync, "LEAST_BETWEEN_S", 0.2)
    asked: list[float] = []
    fetch = imap_smtp.fetch

    def counted(call: CallContext, *, is_told: bool = False) -> None:
        asked.append(time.monotonic())
        fetch(call, is_told=is_told)

    monkeypatch.setattr(imap_smtp, "fetch", counted)
    with old_imap("floods") as port, served(settings(tmp_path / "home", IMAP.format(port=port))):
        until(lambda: len(asked) >= 5 or None)
    assert asked[4] - asked[3] > 1.2, "each time it waits longer"


def test_a_connection_that_ends_while_waiting_is_no_endless_loop(tmp_path: Path) -> None:
    with old_imap("ends") as port, call_to(tmp_path, port) as call:
        imap_smtp.fetch(call)
        began = time.process_time()
        with pytest.raises(TransientToolError, match="closed the connection"):
            imap_smtp.await_mail(call, 20)
        assert time.process_time() - began < 2


def test_waiting_ends_when_it_is_cancelled(tmp_path: Path, mailbox: Mailbox) -> None:
    with call_to(tmp_path, mailbox.port) as call:
        imap_smtp.fetch(call)
        timer = threading.Timer(0.3, call.cancelled.set)
        timer.start()
        assert imap_smtp.await_mail(call, 60) is False
        timer.join()


def test_what_came_between_looking_and_waiting_is_not_missed(tmp_path: Path, mailbox: Mailbox) -> None:
    with call_to(tmp_path, mailbox.port) as call:
        imap_smtp.fetch(call)
        mailbox.put("in between")
        assert imap_smtp.await_mail(call, 10) is True


def test_mail_that_comes_while_waiting_is_told(tmp_path: Path, mailbox: Mailbox) -> None:
    with call_to(tmp_path, mailbox.port) as call:
        imap_smtp.fetch(call)
        timer = threading.Timer(0.3, mailbox.put, ("later",))
        timer.start()
        assert imap_smtp.await_mail(call, 20) is True
        timer.join()


def test_what_is_told_in_two_pieces_is_told(tmp_path: Path) -> None:
    """A line that arrives in halves is news, not a broken connection."""

    class Halves(socketserver.StreamRequestHandler):
        answers: ClassVar[dict[bytes, bytes]] = {
            b"CAPABILITY": b"* CAPABILITY IMAP4rev1 IDLE\r\n",
            b"SELECT": b"* 1 EXISTS\r\n* OK [UIDVALIDITY 1] kept\r\n",
            b"EXAMINE": b"* 1 EXISTS\r\n* OK [UIDVALIDITY 1] kept\r\n",
            b"UID": b"* SEARCH\r\n",
        }

        def handle(self) -> None:
            self.wfile.write(b"* OK ready\r\n")
            for line in self.rfile:
                tag, _, rest = line.partition(b" ")
                verb = rest.split()[0].upper()
                if verb == b"IDLE":
                    self.wfile.write(b"+ idling\r\n")
                    self.wfile.flush()
                    self.wfile.write(b"* 1 FETCH (")
                else:
                    self.wfile.write(self.answers.get(verb, b"") + tag + b" OK done\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Halves) as told:
        thread = threading.Thread(target=told.serve_forever, args=(0.05,))
        thread.start()
        try:
            port = told.server_address[1]
            server = imap_smtp.Server("imap", "127.0.0.1", port, "none", "owner", PASSWORD)
            with call_to(tmp_path, port) as call:
                assert imap_smtp.await_new(server, 1, 1, call, 20) is True
        finally:
            told.shutdown()
            thread.join()


def test_calendars_are_fetched_and_their_faults_shown(
    tmp_path: Path, radicale: DavServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAV_PASSWORD", PASSWORD)
    url = radicale.make("background", "calendar")
    with radicale.client() as client:
        data = re.sub("DTSTAMP:[0-9]+", "DTSTAMP:20261101T000000Z", feed(event("a", "Concert")).decode())
        data = data.replace("VERSION:2.0", "VERSION:2.0\r\nPRODID:-//other//EN")
        headers = {"Content-Type": "text/calendar"}
        client.put(f"/{DAV_USER}/background/a.ics", content=data.encode(), headers=headers).raise_for_status()

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None: ...

        def do_GET(self) -> None:
            self.send_response(200 if "good" in self.path else 404)
            self.end_headers()
            self.wfile.write(feed(event("b", "<b>Match</b>")))

    with served_here(Handler) as address:
        text = (
            f'[calendar]\nurl = "{url}"\nusername = "{DAV_USER}"\npassword_env = "DAV_PASSWORD"\n'
            f'[calendar.subscription.team]\nurl = "{address}/good"\n'
            f'[calendar.subscription.gone]\nurl = "{address}/gone-secret"\n'
        )
        with served(settings(tmp_path / "home", text)) as up:
            owner = up.house.home / "owner" / "calendar"
            until(lambda: (owner / "caldav" / "a.ics").exists() or None)
            until(lambda: (owner / "subscribed" / "team.ics").exists() or None)
            shown = until(lambda: page if "HTTP 404" in (page := today(up)) else None)
    assert "gone-secret" not in shown
    assert "<b>Match" not in shown


def test_a_home_without_servers_runs_no_threads(tmp_path: Path) -> None:
    with served(made(tmp_path / "home")):
        assert not any(thread.name.startswith("hearth-sync") for thread in threading.enumerate())
