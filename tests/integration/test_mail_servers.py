"""Sending and fetching against real servers: aiosmtpd and pymap, started here and stopped after."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import email
import imaplib
import json
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from hearth.errors import ConfigError, EgressError, NotFound, ToolError, ToolTimeout, TransientToolError
from hearth.formats.tool_signature import to_plain
from hearth.guard.egress.gateway import Egress
from hearth.protocols import CallContext
from hearth.storage.database import Store
from hearth.storage.workspace import Folder
from hearth.testing import FIXED_NOW, check_tool, make_call
from hearth.tools.mail import imap_smtp
from hearth.tools.mail.imap_smtp import Server, remove_draft, store_draft
from hearth.tools.mail.mail import delete_mail, draft_mail, find_mail, mark_read, send_mail
from hearth.types import Plain
from tests import DATA

pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
USER, PASSWORD = "owner", "s3cret"
PEM = DATA / "localhost.pem"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Home:
    """The owner's folder, settings and network door."""

    folder: Folder
    store: Store
    smtp: dict[str, Plain] | None = None
    imap: dict[str, Plain] | None = None
    allow: tuple[str, ...] = ("127.0.0.1", "localhost")
    sync_s: float = 0

    def call(self, key: str = "k1", now: dt.datetime = FIXED_NOW) -> CallContext:
        egress = Egress(self.allow, self.store, lambda: FIXED_NOW)
        egress.purpose = "e1"
        mail: dict[str, Plain] = {"smtp": self.smtp, "imap": self.imap, "sync_s": self.sync_s}
        settings: dict[str, dict[str, Plain]] = {
            "owner": {"name": "Nora Falk", "email": "nora@falk.example"},
            "mail": mail,
        }
        return make_call(key, now, self.folder.for_call(key), settings, egress=egress)

    def sent_bytes(self) -> bytes:
        """Everything that was handed to the network door."""
        rows = self.store.query("SELECT payload FROM disclosure ORDER BY number", ())
        return b"\n".join(row["payload"] for row in rows)

    def files(self) -> list[str]:
        return list(self.folder.for_call("look").list("mail"))


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    store = Store.open(tmp_path / "hearth.db")
    yield Home(Folder(tmp_path / "owner", store), store)
    store.close()


# ── SMTP ──────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Inbox:
    """What an SMTP server took, and how it behaves."""

    mails: list[Envelope] = field(default_factory=list)
    on_data: str = "250 taken"
    """What it answers when it has the mail; `drop` and `silent` are said by closing, and by nothing."""
    greetings: list[str] = field(default_factory=list)

    async def handle_EHLO(
        self, server: SMTP, session: Session, envelope: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        session.host_name = hostname
        self.greetings.append(hostname)
        return responses

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address.startswith("nobody"):
            return "550 5.1.1 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        self.mails.append(envelope)
        if self.on_data == "drop":
            assert isinstance(server.transport, asyncio.Transport)
            server.transport.abort()
            return "250 never arrives"
        if self.on_data == "silent":
            await asyncio.sleep(30)
        return self.on_data


def tls_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM)
    return context


def authenticator(
    server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: LoginPassword
) -> AuthResult:
    return AuthResult(success=(data.login, data.password) == (USER.encode(), PASSWORD.encode()), handled=False)


class OrderlyController(Controller):
    """Ends its connections before it stops: none is left open for the collector of garbage to find."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._served: list[SMTP] = []

    def factory(self) -> SMTP:
        self._served.append(SMTP(self.handler, **self.SMTP_kwargs))
        return self._served[-1]

    def stop(self, no_assert: bool = False) -> None:
        asyncio.run_coroutine_threadsafe(self._end_connections(), self.loop).result()
        super().stop(no_assert)

    async def _end_connections(self) -> None:
        for server in self._served:
            if server.transport is not None:
                assert isinstance(server.transport, asyncio.Transport)
                server.transport.abort()
        await end_tasks()
        for _ in range(200):  # until the loop has said so to each; one whose handshake failed is never told
            if all(server.transport is None for server in self._served):
                break
            await asyncio.sleep(0.005)


async def end_tasks() -> None:
    """All tasks of this loop but the calling one are cancelled, and have ended."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@dataclass
class Post:
    inbox: Inbox
    settings: dict[str, Plain]
    controller: Controller


@contextlib.contextmanager
def running_smtp(
    security: str = "none", is_auth: bool = False, size: int = 0, without: Sequence[str] = ()
) -> Iterator[Post]:
    inbox, port = Inbox(), free_port()
    controller = OrderlyController(
        inbox,
        hostname="127.0.0.1",
        port=port,
        ssl_context=tls_context() if security == "tls" else None,
        tls_context=tls_context() if security == "starttls" else None,
        require_starttls=security == "starttls",
        authenticator=authenticator if is_auth else None,
        auth_required=is_auth,
        auth_require_tls=False,
        auth_exclude_mechanism=without,
        data_size_limit=size or 33_554_432,
    )
    controller.start()
    settings: dict[str, Plain] = {
        "host": "localhost",
        "port": port,
        "security": security,
        "username": "",
        "password": "",
    }
    if is_auth:
        settings |= {"username": USER, "password": PASSWORD}
    try:
        yield Post(inbox, settings, controller)
    finally:
        controller.stop()


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine trusts the tests' certificate."""
    monkeypatch.setenv("SSL_CERT_FILE", str(PEM))


def test_a_draft_is_sent_and_filed(home: Home) -> None:
    with running_smtp() as post:
        home.smtp = post.settings
        draft = draft_mail(["anna@x.example", "ben@x.example"], "Grüße\n.\n..dots", home.call("k1"), subject="Hallo")
        later = FIXED_NOW + dt.timedelta(hours=2)
        sent = send_mail(draft.id, home.call("k2", later))
        assert (sent.to, sent.subject, sent.at) == (["anna@x.example", "ben@x.example"], "Hallo", later)
        [taken] = post.inbox.mails
        assert (taken.mail_from, taken.rcpt_tos) == ("nora@falk.example", sent.to)
        raw = taken.content
        assert isinstance(raw, bytes)
        assert b"\r\n" in raw
        assert b"\n" not in raw.replace(b"\r\n", b"")
        message = email.message_from_bytes(raw)
        assert message["Date"] == "Fri, 20 Nov 2026 11:30:00 +0100", "dated when it was sent"
        text = message.get_payload(decode=True)
        assert isinstance(text, bytes)
        assert text.decode() == "Grüße\r\n.\r\n..dots\r\n\r\nNora Falk\r\n"
        assert post.inbox.greetings == ["[127.0.0.1]"], "this machine's name is nobody's business"
        assert home.files() == [
            "mail/.Drafts/maildirfolder",
            f"mail/.Sent/cur/{sent.id.removeprefix('Sent/')}:2,S",
            "mail/.Sent/maildirfolder",
        ]
        assert raw in home.sent_bytes()
        assert b"RCPT TO:<ben@x.example>" in home.sent_bytes()
        with pytest.raises(NotFound, match="no draft"):
            send_mail(draft.id, home.call("k3"))
        assert len(post.inbox.mails) == 1


def test_sending_keeps_the_contract_of_a_tool(home: Home) -> None:
    with running_smtp() as post:
        home.smtp = post.settings
        draft = draft_mail(["anna@x.example"], "hello", home.call("k1"))
        check_tool(send_mail, {"draft": draft.id}, home.call("k2"))
        assert len(post.inbox.mails) == 1, "no hostile value sent anything"


def test_a_draft_of_another_program_loses_its_bcc_and_gets_a_sender(home: Home) -> None:
    with running_smtp() as post:
        home.smtp = post.settings
        raw = b"To: a@x.example\r\nBcc: b@x.example,\r\n c@x.example\r\nX-Draft-State: open\r\nSubject: hi\r\n\r\nbody\r\n"
        home.folder.for_call("other").write("mail/.Drafts/cur/1.X.h:2,D", raw)
        send_mail("Drafts/1.X.h", home.call("k1"))
        [taken] = post.inbox.mails
        assert taken.rcpt_tos == ["a@x.example", "b@x.example", "c@x.example"]
        assert taken.content == (
            b"To: a@x.example\r\nSubject: hi\r\nDate: Fri, 20 Nov 2026 09:30:00 +0100\r\nFrom: nora@falk.example\r\n\r\nbody\r\n"
        )


@pytest.mark.parametrize("security", ["none", "starttls", "tls"])
def test_logging_in(security: str, home: Home, trusted: None) -> None:
    with running_smtp(security, is_auth=True) as post:
        home.smtp = post.settings
        draft = draft_mail(["anna@x.example"], "hello", home.call("k1"))
        send_mail(draft.id, home.call("k2"))
        assert len(post.inbox.mails) == 1
        assert b"AUTH owner (password not kept)" in home.sent_bytes()
        assert PASSWORD.encode() not in home.sent_bytes()


def refused(home: Home, kind: type[ToolError], message: str, to: str = "anna@x.example", key: str = "k1") -> None:
    """A draft that is not sent stays a draft."""
    draft = draft_mail([to, "ben@x.example"], "hello", home.call(key))
    before = home.files()
    with pytest.raises(kind, match=message):
        send_mail(draft.id, home.call(f"{key}-send"))
    assert home.files() == before


def test_a_wrong_password_is_said(home: Home) -> None:
    with running_smtp(is_auth=True) as post:
        home.smtp = {**post.settings, "password": "wrong"}
        refused(
            home, ToolError, r"refused the user name or password \(535 .*, the mail was not sent; check \[mail.smtp\]"
        )
        assert post.inbox.mails == []


def test_a_server_without_a_known_way_to_log_in_is_said(home: Home) -> None:
    with running_smtp(without=("LOGIN", "PLAIN")) as post:
        home.smtp = {**post.settings, "username": USER, "password": PASSWORD}
        refused(home, ToolError, "does not offer what is configured .*, the mail was not sent")


def test_a_server_that_wants_a_login_is_said(home: Home) -> None:
    with running_smtp(is_auth=True) as post:
        home.smtp = {**post.settings, "username": ""}
        refused(home, ToolError, r"refuses mail from 'nora@falk.example' \(530 .*, the mail was not sent")


def test_one_refused_recipient_means_nobody_gets_it(home: Home) -> None:
    with running_smtp() as post:
        home.smtp = post.settings
        refused(
            home,
            ToolError,
            r"refused nobody@x.example \(550 5.1.1 no such user\); nobody got the mail",
            "nobody@x.example",
        )
        assert post.inbox.mails == []


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        ("554 spam", ToolError, r"refused the mail \(554 spam\), it was not sent; the draft is kept"),
        ("451 later", ToolError, r"refused the mail \(451 later\), it was not sent"),
        (
            "drop",
            ToolTimeout,
            "so it may have been sent; ask a recipient before you send the draft again",
        ),
        ("silent", ToolTimeout, "handed the mail, but the connection ended before it said whether it took it"),
    ],
)
def test_what_the_server_says_of_the_mail(
    answer: str, kind: type[ToolError], message: str, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imap_smtp, "SENDING_TIMEOUT_S", 0.5)
    with running_smtp() as post:
        post.inbox.on_data = answer
        home.smtp = post.settings
        refused(home, kind, message)


def test_too_large_a_mail_is_not_even_started(home: Home) -> None:
    with running_smtp(size=2000) as post:
        home.smtp = post.settings
        draft = draft_mail(["anna@x.example"], "long " * 1000, home.call("k1"))
        with pytest.raises(ToolError, match="takes at most 2,000; attach less"):
            send_mail(draft.id, home.call("k2"))
        assert b"RCPT" not in home.sent_bytes()


def test_nobody_there(home: Home) -> None:
    home.smtp = {"host": "127.0.0.1", "port": free_port(), "security": "none"}
    refused(
        home, TransientToolError, r"cannot reach the SMTP server 127.0.0.1:\d+ \(.*refused\), the mail was not sent"
    )


def test_a_server_that_hangs_up_at_once(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def hang_up() -> None:
            connection, _ = listening.accept()
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        home.smtp = {"host": "127.0.0.1", "port": listening.getsockname()[1], "security": "none"}
        refused(home, TransientToolError, r"closed the connection .*, the mail was not sent|cannot reach .*not sent")
        thread.join()


def test_a_certificate_nobody_vouches_for(home: Home) -> None:
    for security in ("tls", "starttls"):
        with running_smtp(security) as post:
            home.smtp = post.settings
            refused(
                home,
                ToolError,
                r"certificate .* cannot be trusted \(self.signed certificate\), the mail was not sent",
                key=security,
            )
            assert post.inbox.mails == []


def test_a_certificate_of_another_host(home: Home, trusted: None) -> None:
    with running_smtp("tls") as post:
        home.smtp = {**post.settings, "host": "127.0.0.1"}  # the certificate is for the name, not for the address
        refused(home, ToolError, "cannot be trusted .*IP address mismatch.*, the mail was not sent")
        assert post.inbox.mails == []


def test_a_server_without_tls_is_said(home: Home) -> None:
    with running_smtp() as post:
        home.smtp = {**post.settings, "security": "starttls"}
        refused(home, ToolError, "STARTTLS extension not supported.*, the mail was not sent", key="a")
        home.smtp = {**post.settings, "security": "tls"}
        refused(home, ToolError, "does not speak TLS as configured .*, the mail was not sent", key="b")


def test_a_host_that_is_not_allowed_gets_nothing(home: Home) -> None:
    with running_smtp() as post:
        home.smtp = post.settings
        home.allow = ()
        draft = draft_mail(["anna@x.example"], "hello", home.call("k1"))
        with pytest.raises(EgressError, match="is not a host Hearth may reach"):
            send_mail(draft.id, home.call("k2"))
        assert post.inbox.mails == []
        assert home.sent_bytes() == b""


# ── IMAP ──────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Mailbox:
    """A running pymap with one user, and another program's view of it."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def settings(self) -> dict[str, Plain]:
        return {"host": "127.0.0.1", "port": self.port, "security": "none", "username": USER, "password": PASSWORD}

    @contextlib.contextmanager
    def other_program(self) -> Iterator[imaplib.IMAP4]:
        client = imaplib.IMAP4("127.0.0.1", self.port)
        client.login(USER, PASSWORD)
        try:
            yield client
        finally:
            client.logout()

    def put(self, subject: str, *, flags: str = "", folder: str = "INBOX", text: str = "hello") -> None:
        raw = (
            f"From: Anna <anna@x.example>\r\nSubject: {subject}\r\nMessage-ID: <{subject}@x>\r\n\r\n{text}\r\n".encode()
        )
        with self.other_program() as client:
            assert client.append(folder, flags, imaplib.Time2Internaldate(FIXED_NOW), raw)[0] == "OK"

    def drafts(self) -> list[bytes]:
        with self.other_program() as client:
            if client.select("Drafts")[0] != "OK":
                return []
            numbers = client.search(None, "ALL")[1][0].split()
            return [client.fetch(n.decode(), "(BODY.PEEK[])")[1][0][1] for n in numbers]  # type: ignore[index, misc]


@contextlib.contextmanager
def running_imap(folder: Path, *options: str) -> Iterator[Mailbox]:
    port = free_port()
    with (folder / f"pymap-{port}.log").open("wb") as log:
        command = [
            sys.executable,
            "-c",
            "from pymap.main import main; main()",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
        ]
        process = subprocess.Popen(
            [*command, *options, "dict", "--demo-user", USER, "--demo-password", PASSWORD], stdout=log, stderr=log
        )
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert process.poll() is None, (folder / f"pymap-{port}.log").read_text()
            time.sleep(0.05)
        yield Mailbox(port, process)
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture
def mailbox(tmp_path: Path) -> Iterator[Mailbox]:
    with running_imap(tmp_path) as running:
        yield running


def subjects(call: CallContext) -> list[str]:
    return sorted(mail.subject for mail in find_mail(call))


def test_new_mail_is_fetched_once(home: Home, mailbox: Mailbox) -> None:
    home.imap = mailbox.settings
    mailbox.put("first")
    mailbox.put("second", flags=r"(\Seen \Flagged)")
    found = {mail.subject: mail for mail in find_mail(home.call("k1"))}
    assert found.keys() == {"first", "second"}
    assert found["first"].is_unread
    assert not found["second"].is_unread
    assert found["first"].received == FIXED_NOW
    before = home.files()
    assert [path for path in before if path.endswith(":2,FS")]
    assert subjects(home.call("k2")) == ["first", "second"]
    assert home.files() == before
    mailbox.put("third")
    assert subjects(home.call("k3")) == ["first", "second", "third"]
    with mailbox.other_program() as other:
        other.select("INBOX")
        assert b"\\Seen" not in other.fetch("1", "(FLAGS)")[1][0], "fetching does not mark mail as read"  # type: ignore[operator]


def test_what_happens_here_stays_when_mail_is_fetched_again(home: Home, mailbox: Mailbox) -> None:
    home.imap = mailbox.settings
    mailbox.put("read")
    mailbox.put("thrown-away")
    found = {mail.subject: mail.id for mail in find_mail(home.call("k1"))}
    mark_read(found["read"], home.call("k2"))
    call = home.call("k3")
    delete_mail(found["thrown-away"], call)
    assert call.notices == ["It was deleted on this device; the mail server keeps its copy."]
    home.folder.for_call("k4").delete("mail/imap-state.json")
    assert subjects(home.call("k5")) == ["read"], "nothing comes twice, even when the state is lost"
    assert not find_mail(home.call("k6"))[0].is_unread


def test_a_mailbox_numbered_anew_brings_nothing_twice(home: Home, mailbox: Mailbox) -> None:
    home.imap = mailbox.settings
    mailbox.put("first")
    assert subjects(home.call("k1")) == ["first"]
    workspace = home.folder.for_call("k2")
    state = json.loads(workspace.read("mail/imap-state.json"))
    workspace.write("mail/imap-state.json", json.dumps({**state, "uid_validity": 7, "last_uid": 99}).encode())
    mailbox.put("second")
    assert subjects(home.call("k3")) == ["first", "second"]


@pytest.mark.parametrize("content", [b"", b"[]", b'{"host": 1}', b'{"fetched": "never"}', b"\xff"])
def test_a_damaged_state_is_started_anew(content: bytes, home: Home, mailbox: Mailbox) -> None:
    home.imap = mailbox.settings
    mailbox.put("first")
    home.folder.for_call("k0").write("mail/imap-state.json", content)
    assert subjects(home.call("k1")) == ["first"]


def test_the_server_is_not_asked_more_often_than_configured(home: Home, mailbox: Mailbox) -> None:
    home.imap, home.sync_s = mailbox.settings, 300
    mailbox.put("first")
    assert subjects(home.call("k1")) == ["first"]
    mailbox.put("second")
    assert subjects(home.call("k2", FIXED_NOW + dt.timedelta(seconds=299))) == ["first"]
    assert subjects(home.call("k3", FIXED_NOW + dt.timedelta(seconds=300))) == ["first", "second"]


def test_of_a_large_mailbox_the_newest_come(home: Home, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("imap_smtp",):
        monkeypatch.setattr(f"hearth.tools.mail.{module}.N_MAX_FETCHED", 3)
    home.imap = mailbox.settings
    for number in range(5):
        mailbox.put(f"m{number}")
    call = home.call("k1")
    assert subjects(call) == ["m2", "m3", "m4"]
    assert call.notices == ["The newest 3 mails were fetched; 2 older ones stay on the server."]
    for number in range(5, 9):
        mailbox.put(f"m{number}")
    assert subjects(home.call("k2")) == ["m2", "m3", "m4", "m5", "m6", "m7"]
    assert subjects(home.call("k3"))[-1] == "m8", "later ones come in their turn"


def test_a_huge_mail_stays_on_the_server(home: Home, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imap_smtp, "N_MAX_MAIL_BYTES", 500)
    home.imap = mailbox.settings
    mailbox.put("small")
    mailbox.put("huge", text="x" * 1000)
    call = home.call("k1")
    assert subjects(call) == ["small"]
    assert call.notices == ["1 mails are too large and stay on the server."]


def test_a_draft_lies_on_the_server_once_and_is_taken_back(home: Home, mailbox: Mailbox) -> None:
    home.imap = mailbox.settings
    for _ in range(2):  # the second time as after a crash: rolled back and run again under the same key
        call = home.call("k1")
        draft = draft_mail(["anna@x.example"], "Grüße", call)
        assert call.notices == []
        [on_server] = mailbox.drafts()
        home_file = home.folder.for_call("look").read(f"mail/.Drafts/cur/{draft.id.removeprefix('Drafts/')}:2,DS")
        assert on_server == home_file.replace(b"\n", b"\r\n")
        home.folder.rollback("k1")
    assert on_server in home.sent_bytes()
    draft_mail.undo({}, to_plain(draft), home.call("k1"))
    assert mailbox.drafts() == []
    draft_mail.undo({}, to_plain(draft), home.call("k1"))


def test_taking_back_leaves_other_drafts(home: Home, mailbox: Mailbox) -> None:
    home.imap = mailbox.settings
    first = draft_mail(["anna@x.example"], "first", home.call("k1"))
    draft_mail(["anna@x.example"], "second", home.call("k2"))
    with mailbox.other_program() as other:
        other.select("Drafts")
        other.store("2", "+FLAGS", r"(\Deleted)")  # another program's business, not to be completed here
    draft_mail.undo({}, to_plain(first), home.call("k1"))
    [left] = mailbox.drafts()
    assert b"Subject: second" in left


def test_a_sent_draft_leaves_the_servers_drafts(home: Home, mailbox: Mailbox) -> None:
    with running_smtp() as post:
        home.imap, home.smtp = mailbox.settings, post.settings
        draft = draft_mail(["anna@x.example"], "hello", home.call("k1"))
        assert len(mailbox.drafts()) == 1
        call = home.call("k2")
        send_mail(draft.id, call)
        assert (mailbox.drafts(), call.notices, len(post.inbox.mails)) == ([], [], 1)


def test_without_the_server_mail_is_found_and_drafted_here(home: Home, mailbox: Mailbox) -> None:
    home.imap = mailbox.settings
    mailbox.put("first")
    assert subjects(home.call("k1")) == ["first"]
    mailbox.process.terminate()
    mailbox.process.wait(10)
    call = home.call("k2")
    assert subjects(call) == ["first"]
    assert call.notices[0].startswith("New mail was not fetched: cannot reach the IMAP server 127.0.0.1:")
    again = home.call("k3")
    subjects(again)
    assert again.notices == call.notices, "it is not waited for again at once"
    call = home.call("k4")
    draft_mail(["anna@x.example"], "hello", call)
    assert call.notices[0].startswith("The draft lies on this device only: cannot reach")
    with pytest.raises(TransientToolError, match="cannot reach"):
        draft_mail.undo({}, None, home.call("k4"))


def test_sending_is_not_undone_by_an_unreachable_imap_server(home: Home) -> None:
    with running_smtp() as post:
        home.smtp = post.settings
        draft = draft_mail(["anna@x.example"], "hello", home.call("k1"))
        home.imap = {"host": "127.0.0.1", "port": free_port(), "security": "none"}
        call = home.call("k2")
        assert send_mail(draft.id, call).to == ["anna@x.example"]
        assert call.notices[0].startswith("The mail was sent, but its draft may still lie on the IMAP server")


def test_a_wrong_password_is_said_beside_the_mail_that_is_here(home: Home, mailbox: Mailbox) -> None:
    home.imap = {**mailbox.settings, "password": "wrong"}
    call = home.call("k1")
    assert find_mail(call) == []
    assert "refused the user name or password" in call.notices[0]
    assert b"LOGIN owner (password not kept)" in home.sent_bytes()
    assert b"wrong" not in home.sent_bytes()


def test_a_server_that_is_not_allowed_is_not_asked(home: Home, mailbox: Mailbox) -> None:
    home.imap, home.allow = mailbox.settings, ()
    call = home.call("k1")
    assert find_mail(call) == []
    assert "is not a host Hearth may reach" in call.notices[0]
    assert home.sent_bytes() == b""


def test_an_open_network_is_refused_for_imap(home: Home) -> None:
    home.imap = {"host": "mail.example.org", "port": 143, "security": "none"}
    call = home.call("k1")
    assert find_mail(call) == []
    assert 'security = "none" under [mail.imap] is for servers on this machine only' in call.notices[0]


def test_imap_with_starttls(home: Home, tmp_path: Path, trusted: None) -> None:
    with running_imap(tmp_path, "--cert", str(PEM), "--key", str(PEM)) as secured:
        home.imap = {**secured.settings, "security": "starttls", "host": "localhost"}
        secured.put("first")
        call = home.call("k1")
        assert (subjects(call), call.notices) == (["first"], [])


def test_imap_with_starttls_and_a_certificate_nobody_vouches_for(home: Home, tmp_path: Path) -> None:
    with running_imap(tmp_path, "--cert", str(PEM), "--key", str(PEM)) as secured:
        home.imap = {**secured.settings, "security": "starttls", "host": "localhost"}
        call = home.call("k1")
        assert subjects(call) == []
        assert "certificate of the IMAP server" in call.notices[0]
        assert b"LOGIN" not in home.sent_bytes()


@contextlib.contextmanager
def tls_in_front_of(port: int) -> Iterator[int]:
    """A TLS end before a server that speaks none itself; gives its port."""
    loop = asyncio.new_event_loop()

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            await asyncio.gather(pipe(reader, inner_writer), pipe(inner_reader, writer))
        finally:
            for end in (writer, inner_writer):
                end.transport.abort()
                with contextlib.suppress(OSError):
                    await end.wait_closed()

    server = loop.run_until_complete(asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls_context()))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(end_tasks())
        loop.close()


def test_imap_with_tls_from_the_first_byte(home: Home, mailbox: Mailbox, trusted: None) -> None:
    mailbox.put("first")
    with tls_in_front_of(mailbox.port) as port:
        home.imap = {**mailbox.settings, "port": port, "security": "tls", "host": "localhost"}
        call = home.call("k1")
        assert (subjects(call), call.notices) == (["first"], [])


def test_a_draft_is_kept_where_the_server_keeps_drafts(home: Home, mailbox: Mailbox) -> None:
    server = Server("imap", "127.0.0.1", mailbox.port, "none", USER, PASSWORD)
    call = home.call("k1")
    assert remove_draft(server, "<none@x>", call) is False, "no folder for drafts yet"
    with mailbox.other_program() as other:
        other.create("Entw&APw-rfe")
    store_draft(server, b"Message-ID: <1@x>\n\nhello\n", "<1@x>", call)
    with mailbox.other_program() as other:
        assert other.select("Entw&APw-rfe")[1] == [b"1"]
    assert remove_draft(server, "<1@x>", call) is True
    assert remove_draft(server, "<1@x>", call) is False


# ── Under the interpreter's own guard ─────────────────────────────────────────────────────────────────────

GUARDED = """
import sys
from pathlib import Path
from hearth.guard.egress.gateway import Egress
from hearth.guard.egress.audit_hook import install_network_guard
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW, make_call
from hearth.tools.mail.mail import draft_mail, find_mail, send_mail
from hearth.storage.workspace import Folder

home, smtp_port, imap_port = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
install_network_guard()
store = Store.open(home / "hearth.db")
folder = Folder(home / "owner", store)
server = {"host": "localhost", "security": "none", "username": "owner", "password": "s3cret"}
settings = {"owner": {"email": "nora@falk.example"},
            "mail": {"smtp": {**server, "port": smtp_port}, "imap": {**server, "port": imap_port}, "sync_s": 0}}

def call(key):
    egress = Egress(("localhost",), store, lambda: FIXED_NOW)
    return make_call(key, workspace=folder.for_call(key), settings=settings, egress=egress)

draft = draft_mail(["anna@x.example"], "hello", call("k1"))
send_mail(draft.id, call("k2"))
read = call("k3")
print([mail.subject for mail in find_mail(read)], read.notices)
store.close()
"""


def test_permits_suffice_for_the_libraries(home: Home, mailbox: Mailbox, tmp_path: Path) -> None:
    mailbox.put("first")
    other = tmp_path / "guarded"
    other.mkdir()
    with running_smtp(is_auth=True) as post:
        command = [sys.executable, "-c", GUARDED, str(other), str(post.settings["port"]), str(mailbox.port)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (done.stdout, done.stderr) == ("['first'] []\n", "")
        assert len(post.inbox.mails) == 1


def test_the_door_takes_only_plain_host_names(home: Home) -> None:
    home.allow = ("*.example.org",)
    with pytest.raises(ConfigError, match="is not a host"):
        home.call("k1")
