"""Fetch new mail of the configured IMAP server into the Maildir, each mail once.

The state is kept in `mail/imap-state.json` (the server's UIDs); file names follow from the UID, so a fetch that was cut
off and runs again writes nothing twice. `await_mail` waits until a server that can (IDLE) tells of new mail. If a
server cannot be reached, the local mail stays, with a notice. Not covered: changes on the server to mails that were
fetched already.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import threading
import time
from dataclasses import asdict, dataclass

from hearth.errors import EgressError, NotFound, ToolError
from hearth.protocols import CallContext
from hearth.tools.mail.imap_smtp import N_MAX_FETCHED, Fetched, Server, await_new, configured, fetch_new
from hearth.tools.mail.maildir import INBOX, deliver, every_unique_name, places
from hearth.tools.mail.mime import read_head

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
