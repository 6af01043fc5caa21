"""Use the owner's mail servers: send by SMTP, fetch new mail and keep drafts by IMAP.

Every connection runs inside an egress permit for the configured host and port; what is sent on it is reported to the
egress gateway (passwords are named, not kept). TLS with a verified certificate, except on this machine itself. Covered:
a server that refuses a recipient (nobody gets the mail), a connection that breaks before the mail was handed over (it
was not sent) and after (reported as unknown), a draft that is stored twice (once on the server). Not covered: OAuth
logins, changing flags or deleting mails on the server, folders other than INBOX and Drafts.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import ipaddress
import json
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from hearth.errors import EgressError, MissingExtraError, NotFound, ToolError, ToolTimeout, TransientToolError
from hearth.protocols import CallContext
from hearth.tools.mail.mailbox import INBOX, deliver, every_unique_name, places
from hearth.tools.mail.mime import read_head
from hearth.types import Plain

if TYPE_CHECKING:
    from hearth.tools.mail.bounded_smtp import BoundedSMTP, BoundedSMTPOverTLS


CONNECT_TIMEOUT_S = 10.0
ANSWER_TIMEOUT_S = 30.0
SENDING_TIMEOUT_S = 60.0
ASKING_TIMEOUT_S = 100.0
"""How long everything before the mail itself may take at an SMTP server: then it was surely not sent."""
IDLE_S = 25 * 60.0
"""How long the server may be waited for at once: it may end a connection that is silent for half an hour."""
IDLE_LOOK_S = 0.5
"""How often it is looked whether the waiting was cancelled."""
N_PER_FETCH = 20
N_MAX_FETCHED = 200
"""Mails fetched at once; from a mailbox seen for the first time only the newest so many, ever."""
N_MAX_MAIL_BYTES = 30_000_000


@dataclass(frozen=True, slots=True)
class Server:
    """A server as configured under `[mail.smtp]` or `[mail.imap]`."""

    kind: str
    host: str
    port: int
    security: str
    username: str = ""
    password: str = field(default="", repr=False)

    def __str__(self) -> str:
        return f"the {self.kind.upper()} server {self.host}:{self.port}"


def configured(settings: Mapping[str, Mapping[str, Plain]], kind: str) -> Server | None:
    """Return the server of that kind (`smtp`, `imap`), or None.

    Raises:
        ToolError: It would carry a password over an open network.
    """
    table = settings.get("mail", {}).get(kind)
    if not isinstance(table, dict) or not table.get("host"):
        return None
    port = table.get("port")
    default_port = 465 if kind == "smtp" else 993
    server = Server(
        kind,
        str(table["host"]),
        port if isinstance(port, int) else default_port,
        str(table.get("security") or "tls"),
        str(table.get("username") or ""),
        str(table.get("password") or ""),
    )
    if server.security == "none" and not _is_this_machine(server.host):
        raise ToolError(
            f'security = "none" under [mail.{kind}] is for servers on this machine only, not for {server.host!r}; '
            'write "tls" or "starttls"'
        )
    return server


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextlib.contextmanager
def _faults_said(server: Server) -> Iterator[None]:
    """Turn network faults into errors in the owner's words. A ToolError raised inside passes unchanged."""
    place = f"[mail.{server.kind}]"
    outcome = ", the mail was not sent" if server.kind == "smtp" else ""
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        raise ToolError(
            f"the certificate of {server} cannot be trusted ({error.verify_message}){outcome}; check `host` in "
            f"{place}, or make this machine trust the server's authority"
        ) from None
    except ssl.SSLError as error:
        raise ToolError(
            f"{server} does not speak TLS as configured ({error.reason or error}){outcome}; check `port` and "
            f"`security` in {place}"
        ) from None
    except OSError as error:
        said = error.strerror or str(error) or type(error).__name__
        raise TransientToolError(f"cannot reach {server} ({said}){outcome}; check the connection and {place}") from None


# ── Sending ───────────────────────────────────────────────────────────────────────────────────────────────

NO_SMTP = """no server to send with is configured, so the mail stays a draft; put into hearth.toml:
[mail.smtp]
host = "smtp.example.org"
port = 465
username = "you@example.org"
password_file = "~/.hearth-mail-password"
[network]
allow = ["smtp.example.org"]"""


def send(server: Server, sender: str, recipients: Sequence[str], data: bytes, call: CallContext) -> None:
    """Hand a mail to the server for all recipients, or for none.

    Args:
        data: The mail with CRLF or LF line ends.
    Raises:
        ToolError, TransientToolError: It was not sent, and why.
        ToolTimeout: It was handed over, but the server never answered: it may have been sent.
        EgressError: The host is not allowed; nothing was sent.
    """
    reason = "send a mail"
    # A lone CR or LF could end the mail early and smuggle in a second one.
    wire = re.sub(rb"\r\n|\r|\n", b"\r\n", data)
    with call.egress.permit(server.host, server.port, reason):
        with _faults_said(server), _smtp_faults_said(server):
            connection = _smtp(server, call)
        with contextlib.closing(connection):
            with _faults_said(server), _smtp_faults_said(server):
                _envelope(connection, server, sender, recipients, wire, call)
            call.egress.record(server.host, wire, reason, tls=_secured_by(connection.sock))
            code, said = _hand_over(connection, server, wire)
            if not 200 <= code < 300:
                raise ToolError(f"{server} refused the mail ({code} {said}), it was not sent; the draft is kept")
            with contextlib.suppress(OSError, ToolError):
                connection.docmd("QUIT")


def _smtp(server: Server, call: CallContext) -> BoundedSMTP | BoundedSMTPOverTLS:
    """Open a secured and authenticated connection."""
    from hearth.tools.mail.bounded_smtp import (  # loaded late: only the few calls that send need it
        BoundedSMTP,
        BoundedSMTPOverTLS,
    )

    # The name given in EHLO must not be looked up, and this machine's own name stays private.
    name, context = "[127.0.0.1]", call.egress.tls(server.host)
    connection: BoundedSMTP | BoundedSMTPOverTLS
    if server.security == "tls":
        connection = BoundedSMTPOverTLS(server.host, server.port, name, timeout=CONNECT_TIMEOUT_S, context=context)
    else:
        connection = BoundedSMTP(server.host, server.port, name, timeout=CONNECT_TIMEOUT_S)
    try:
        connection.ends_at_s = time.monotonic() + ASKING_TIMEOUT_S
        if connection.sock is not None:
            connection.sock.settimeout(ANSWER_TIMEOUT_S)
        if server.security == "starttls":
            connection.starttls(context=context)
        connection.ehlo_or_helo_if_needed()
        if server.username:
            call.egress.record(
                server.host, f"AUTH {server.username} (password not kept)".encode(), "log in to send mail"
            )
            connection.login(server.username, server.password)
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def _smtp_faults_said(server: Server) -> Iterator[None]:
    """Report the server's answer when it refuses before it has the mail. Any exit from here means: it was not sent."""
    import smtplib  # loaded already by _smtp

    try:
        yield
    except smtplib.SMTPAuthenticationError as error:
        said = f"{error.smtp_code} {_said(error.smtp_error)}"
        raise ToolError(
            f"{server} refused the user name or password ({said}), the mail was not sent; check [mail.smtp]"
        ) from None
    except smtplib.SMTPServerDisconnected as error:
        raise TransientToolError(
            f"{server} closed the connection ({error}), the mail was not sent; try again"
        ) from None
    except smtplib.SMTPResponseException as error:
        said = f"{error.smtp_code} {_said(error.smtp_error)}"
        raise ToolError(f"{server} refused ({said}), the mail was not sent; the draft is kept") from None
    except smtplib.SMTPException as error:
        raise ToolError(
            f"{server} does not offer what is configured ({error}), the mail was not sent; check `security` and "
            "`username` under [mail.smtp] in hearth.toml"
        ) from None


def _envelope(
    connection: BoundedSMTP | BoundedSMTPOverTLS,
    server: Server,
    sender: str,
    recipients: Sequence[str],
    wire: bytes,
    call: CallContext,
) -> None:
    """Name sender and recipients, up to the point where the server wants the mail."""
    limit = connection.esmtp_features.get("size", "")
    if limit.isdigit() and 0 < int(limit) < len(wire):
        raise ToolError(f"the mail has {len(wire):,} bytes and {server} takes at most {int(limit):,}; attach less")
    lines = [f"MAIL FROM:<{sender}>", *(f"RCPT TO:<{address}>" for address in recipients)]
    envelope = "\r\n".join(lines).encode()
    call.egress.record(server.host, envelope, "send a mail", tls=_secured_by(connection.sock))
    options = ["body=8bitmime"] if not wire.isascii() and connection.has_extn("8bitmime") else []
    code, said = connection.mail(sender, options)
    if code != 250:
        raise ToolError(f"{server} refuses mail from {sender!r} ({code} {_said(said)}), the mail was not sent")
    refused = []
    for address in recipients:
        code, said = connection.rcpt(address)
        if code not in (250, 251):
            refused.append(f"{address} ({code} {_said(said)})")
    if refused:
        connection.docmd("RSET")
        raise ToolError(
            f"{server} refused {', '.join(refused)}; nobody got the mail. Write a new draft with the right address"
        )
    code, said = connection.docmd("DATA")
    if code != 354:
        raise ToolError(f"{server} did not want the mail ({code} {_said(said)}), it was not sent; the draft is kept")


def _hand_over(connection: BoundedSMTP | BoundedSMTPOverTLS, server: Server, wire: bytes) -> tuple[int, str]:
    """Send the mail itself. Raises: ToolTimeout: The answer never came."""
    import smtplib  # loaded already by _smtp

    stuffed = re.sub(rb"(?m)^\.", b"..", wire)
    ending = b".\r\n" if stuffed.endswith(b"\r\n") else b"\r\n.\r\n"
    try:
        if connection.sock is not None:
            connection.sock.settimeout(SENDING_TIMEOUT_S)
        connection.answer_s = SENDING_TIMEOUT_S
        connection.ends_at_s = time.monotonic() + SENDING_TIMEOUT_S
        connection.send(stuffed + ending)
        code, said = connection.getreply()
    except (OSError, smtplib.SMTPException) as error:
        raise ToolTimeout(
            f"{server} was handed the mail, but the connection ended before it said whether it took it "
            f"({type(error).__name__}), so it may have been sent; ask a recipient before you send the draft again"
        ) from None
    return code, _said(said)


def _said(answer: bytes | str) -> str:
    """Return a server's words, on one line and short."""
    text = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:200]


# ── IMAP ──────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Fetched:
    """One mail from the server."""

    uid: int
    data: bytes
    flags: str
    """Flags as in a Maildir's file name."""
    at: dt.datetime


@dataclass(frozen=True, slots=True)
class News:
    """The result of checking the INBOX."""

    uid_validity: int
    """UIDVALIDITY of the mailbox; changes when the server numbers its mails anew."""
    last_uid: int
    """UID up to which everything is known now."""
    n_too_large: int
    n_older: int
    """Number of mails older than those fetched at first."""


_FLAGS = {b"\\Seen": "S", b"\\Answered": "R", b"\\Flagged": "F"}


def fetch_new(
    server: Server, uid_validity: int, last_uid: int, call: CallContext, take: Callable[[int, Fetched], None]
) -> News:
    """Pass every mail of the INBOX that came after `last_uid` to `take(uid_validity, mail)`, oldest first.

    Args:
        uid_validity: As in the last `News`; 0 at first. When the server's is another, everything is new.
    Raises:
        ToolError, TransientToolError: The server could not be asked; what was taken stays taken.
        EgressError: The host is not allowed; nothing was sent.
    """
    reason = "fetch new mail"
    with _imap(server, call, reason) as client:
        _record(call, server, "SELECT INBOX; UID SEARCH; UID FETCH", reason, client)
        selected = client.select_folder("INBOX", readonly=True)
        now_valid = int(selected.get(b"UIDVALIDITY", 1))
        is_first = uid_validity != now_valid
        start = 1 if is_first else last_uid + 1
        # `n:*` names the last mail even when it is older than n.
        uids = sorted(uid for uid in client.search(["UID", f"{start}:*"]) if uid >= start)
        chosen = uids[-N_MAX_FETCHED:] if is_first else uids[:N_MAX_FETCHED]
        newest = chosen[0] - 1 if chosen else start - 1
        n_too_large = 0
        for place in range(0, len(chosen), N_PER_FETCH):
            batch = chosen[place : place + N_PER_FETCH]
            sizes = client.fetch(batch, ["RFC822.SIZE"])
            small = [uid for uid in batch if sizes.get(uid, {}).get(b"RFC822.SIZE", 0) <= N_MAX_MAIL_BYTES]
            n_too_large += len(batch) - len(small)
            mails = client.fetch(small, ["BODY.PEEK[]", "FLAGS", "INTERNALDATE"]) if small else {}
            for uid in sorted(mails):
                mail = _fetched(uid, mails[uid], call.now)
                if mail is not None:
                    take(now_valid, mail)
            newest = batch[-1]
            if call.cancelled.is_set():
                break
        return News(now_valid, newest, n_too_large, len(uids) - len(chosen) if is_first else 0)


def await_new(server: Server, uid_validity: int, last_uid: int, call: CallContext, within_s: float) -> bool | None:
    """Wait until the server tells that mail came after `last_uid` (IDLE, RFC 2177).

    Returns:
        True: there is some. False: none came in time, or the call was cancelled. None: the server cannot tell.
    Raises:
        ToolError, TransientToolError: The server could not be asked, or ended the connection.
        EgressError: The host is not allowed; nothing was sent.
    """
    reason = "be told of new mail"
    ends = time.monotonic() + min(within_s, IDLE_S)
    with _imap(server, call, reason) as client:
        if not client.has_capability("IDLE"):
            return None
        _record(call, server, "SELECT INBOX; UID SEARCH; IDLE", reason, client)
        selected = client.select_folder("INBOX", readonly=True)
        is_same = int(selected.get(b"UIDVALIDITY", 1)) == uid_validity
        # What came since the last look would not be told again; `n:*` names the last mail even when it is older than n.
        if not is_same or any(uid > last_uid for uid in client.search(["UID", f"{last_uid + 1}:*"])):
            return True
        client.idle()
        while not call.cancelled.is_set() and (left := ends - time.monotonic()) > 0:
            began, wait_s = time.monotonic(), min(left, IDLE_LOOK_S)
            try:
                told = client.idle_check(timeout=wait_s)
            except client.AbortError as error:
                if "unterminated line" not in str(error):
                    raise
                return True  # what it tells came in two pieces, which imapclient cannot put together: it does tell
            if any(len(one) > 1 and one[1] == b"EXISTS" for one in told):
                client.idle_done()
                return True
            if not told and time.monotonic() - began < wait_s / 2:  # a closed connection is always ready, and silent
                raise TransientToolError(f"{server} closed the connection; it is tried again")
        client.idle_done()
        return False


def _fetched(uid: int, answer: Mapping[bytes, Any], now: dt.datetime) -> Fetched | None:
    data, at = answer.get(b"BODY[]"), answer.get(b"INTERNALDATE")
    if not isinstance(data, bytes):
        return None  # gone from the server meanwhile
    flags = "".join(sorted(_FLAGS[flag] for flag in answer.get(b"FLAGS", ()) if flag in _FLAGS))
    if not isinstance(at, dt.datetime):
        at = now
    return Fetched(uid, data, flags, at if at.tzinfo else at.astimezone())


def store_draft(server: Server, data: bytes, message_id: str, call: CallContext) -> None:
    """Put a draft into the server's Drafts, once.

    Raises:
        ToolError, TransientToolError: It is not there. EgressError: The host is not allowed.
    """
    reason = "keep a draft on the owner's mail server"
    with _imap(server, call, reason) as client:
        folder = _drafts(client, is_made=True)
        client.select_folder(folder)
        if client.search(["HEADER", "Message-ID", message_id]):
            return
        wire = re.sub(rb"\r\n|\r|\n", b"\r\n", data)
        _record(call, server, wire, reason, client)
        client.append(folder, wire, flags=(b"\\Draft", b"\\Seen"), msg_time=call.now)


def remove_draft(server: Server, message_id: str, call: CallContext) -> bool:
    """Remove a draft from the server's Drafts; False when it is not there.

    Raises:
        ToolError, TransientToolError: It may still be there. EgressError: The host is not allowed.
    """
    reason = "remove a draft from the owner's mail server"
    with _imap(server, call, reason) as client:
        _record(
            call, server, f"UID SEARCH HEADER Message-ID {message_id}; UID STORE \\Deleted; UID EXPUNGE", reason, client
        )
        folder = _drafts(client, is_made=False)
        if not folder:
            return False
        client.select_folder(folder)
        found = client.search(["HEADER", "Message-ID", message_id])
        if found:
            client.delete_messages(found, silent=True)
            # A plain EXPUNGE would also remove what another program has marked as deleted.
            if client.has_capability("UIDPLUS"):
                client.uid_expunge(found)
        return bool(found)


@contextlib.contextmanager
def _imap(server: Server, call: CallContext, reason: str) -> Iterator[Any]:
    """Open a client that is logged in."""
    try:  # takes 50 ms to load; only homes with an IMAP server need it
        import imapclient
        from imapclient.exceptions import IMAPClientAbortError, IMAPClientError, LoginError

        from hearth.tools.mail.bounded_imap import BoundedClient
    except ModuleNotFoundError:
        raise MissingExtraError("mail by IMAP", "pip install 'hearth-agent[mail]'") from None

    with call.egress.permit(server.host, server.port, reason), _faults_said(server):
        try:
            context = call.egress.tls(server.host)
            client = BoundedClient(
                server.host,
                server.port,
                ssl=server.security == "tls",
                ssl_context=context if server.security == "tls" else None,
                timeout=imapclient.SocketTimeout(CONNECT_TIMEOUT_S, ANSWER_TIMEOUT_S),
            )
            try:
                if server.security == "starttls":
                    client.starttls(ssl_context=context)
                _record(call, server, f"LOGIN {server.username} (password not kept)", reason, client)
                client.login(server.username, server.password)
                yield client
            finally:
                with contextlib.suppress(IMAPClientError, OSError):
                    client.logout()
                with contextlib.suppress(OSError):
                    client.shutdown()  # a server that was gone already leaves the socket open
        except LoginError as error:
            raise ToolError(
                f"{server} refused the user name or password ({_said(str(error))}); check [mail.imap] in hearth.toml"
            ) from None
        except IMAPClientAbortError as error:
            raise TransientToolError(f"{server} closed the connection ({_said(str(error))}); try again") from None
        except IMAPClientError as error:
            raise ToolError(f"{server} refused ({_said(str(error))}); check [mail.imap] in hearth.toml") from None


def _record(call: CallContext, server: Server, said: str | bytes, reason: str, client: Any) -> None:
    payload = said.encode() if isinstance(said, str) else said
    call.egress.record(server.host, payload, reason, tls=_secured_by(client.socket()))


def _secured_by(connection: object) -> str:
    """Return version and cipher of a connection, for the record; empty for one without TLS."""
    cipher = connection.cipher() if isinstance(connection, ssl.SSLSocket) else None
    return f"{connection.version()} {cipher[0]}" if isinstance(connection, ssl.SSLSocket) and cipher else ""


def _drafts(client: Any, *, is_made: bool) -> str:
    """Return the name of the server's folder for drafts; empty when there is none."""
    marked = client.find_special_folder(b"\\Drafts")
    if marked:
        return str(marked)
    known = [str(name) for _, _, name in client.list_folders()]
    for name in known:
        if re.split(r"[./]", name)[-1].lower() in ("drafts", "entwürfe", "brouillons"):
            return name
    if is_made:
        client.create_folder("Drafts")
        return "Drafts"
    return ""


# ── Each new mail once ─────────────────────────────────────────────────────────────────────────────────
# Fetch new mail of the configured IMAP server into the Maildir, each mail once. The state is kept in
# `mail/imap-state.json` (the server's UIDs); file names follow from the UID, so a fetch that was cut off and runs again
# writes nothing twice. `await_mail` waits until a server that can (IDLE) tells of new mail. If a server cannot be
# reached, the local mail stays, with a notice. Not covered: changes on the server to mails that were fetched already.


STATE = "mail/imap-state.json"
PAUSE_AFTER_FAULT_S = 60.0
"""Pause before an unreachable server is asked again: each attempt may take as long as the connection's time limit."""

LOCK_S = 20.0
"""How long a call waits for another that is fetching; then it reads what is here."""

_lock = threading.Lock()
_faults: dict[Server, tuple[float, str]] = {}
"""Time (monotonic seconds) and message of each server's last failure."""


@dataclass(frozen=True, slots=True)
class _State:
    """The known state of one server's INBOX."""

    host: str = ""
    username: str = ""
    uid_validity: int = 0
    last_uid: int = 0
    fetched: str = ""
    """Time of the last check of the server."""


def fetch(call: CallContext, *, is_told: bool = False) -> None:
    """Fetch new mail, at most once in `sync_s` seconds; every failure becomes a notice.

    Args:
        is_told: The server told that there is some: it is asked whenever it was asked last.
    """
    try:
        server = configured(call.settings, "imap")
        if server is None:
            return
        if not _lock.acquire(timeout=LOCK_S):
            raise ToolError("it is being fetched at this moment")
        try:
            _fetch_from(server, call, is_told=is_told)
        finally:
            _lock.release()
    except (ToolError, EgressError) as error:
        call.notices.append(f"New mail was not fetched: {error}.")


def await_mail(call: CallContext, within_s: float) -> bool | None:
    """Wait until the configured server tells of mail that was not fetched yet.

    Returns:
        As `imap_smtp.await_new`; None also without a server.
    Raises:
        As `imap_smtp.await_new`.
    """
    server = configured(call.settings, "imap")
    if server is None:
        return None
    state = _state(server, call)
    return await_new(server, state.uid_validity, state.last_uid, call, within_s)


def position(call: CallContext) -> tuple[int, int]:
    """Return up to which mail the configured server was fetched: its numbering, and the last number of it."""
    server = configured(call.settings, "imap")
    state = _state(server, call) if server is not None else _State()
    return state.uid_validity, state.last_uid


def _fetch_from(server: Server, call: CallContext, *, is_told: bool) -> None:
    state = _state(server, call)
    sync_s = call.settings["mail"].get("sync_s", 300)
    if state.fetched and isinstance(sync_s, int | float) and not is_told:
        age_s = (call.now - dt.datetime.fromisoformat(state.fetched)).total_seconds()
        if 0 <= age_s < sync_s:
            return
    failed = _faults.get(server)
    if failed is not None and time.monotonic() - failed[0] < PAUSE_AFTER_FAULT_S:
        raise ToolError(failed[1])
    known = every_unique_name(call.workspace)
    ids: set[str] = set()

    def take(uid_validity: int, mail: Fetched) -> None:
        if state.uid_validity not in (0, uid_validity):
            # The server has numbered its mails anew: only their Message-IDs tell what is here already.
            if not ids:
                ids.update(read_head(call.workspace.read(p.path)).message_id for p in places(call.workspace, INBOX))
            if read_head(mail.data).message_id in ids - {""}:
                return
        unique = _unique_name(server, uid_validity, mail)
        if unique not in known:
            deliver(call.workspace, INBOX, unique, mail.data, mail.flags)

    try:
        news = fetch_new(server, state.uid_validity, state.last_uid, call, take)
    except (ToolError, EgressError) as error:
        _faults[server] = (time.monotonic(), str(error))
        raise
    _faults.pop(server, None)
    if news.n_older:
        call.notices.append(
            f"The newest {N_MAX_FETCHED} mails were fetched; {news.n_older} older ones stay on the server."
        )
    if news.n_too_large:
        call.notices.append(f"{news.n_too_large} mails are too large and stay on the server.")
    new = _State(server.host, server.username, news.uid_validity, news.last_uid, call.now.isoformat())
    call.workspace.write(STATE, json.dumps(asdict(new), indent=1).encode())


def _unique_name(server: Server, uid_validity: int, mail: Fetched) -> str:
    account = hashlib.sha256(f"{server.username}@{server.host}".encode()).hexdigest()[:10]
    return f"{int(mail.at.timestamp())}.V{uid_validity}U{mail.uid}.{account}"


def _state(server: Server, call: CallContext) -> _State:
    """Return the stored state of this server; empty when it is another one, or the file cannot be read."""
    try:
        state = _State(**json.loads(call.workspace.read(STATE)))
        dt.datetime.fromisoformat(state.fetched)
        is_good = isinstance(state.uid_validity, int) and isinstance(state.last_uid, int)
    except (NotFound, ValueError, TypeError):
        return _State()
    return state if is_good and (state.host, state.username) == (server.host, server.username) else _State()
