"""One connection to Home Assistant's websocket API, for the time of a call.

What it tells goes on as messages, under the name of the command that asked for it; what is ordered is a call of a
service. The token is sent once, right after connecting, and recorded nowhere.

Covered: refused tokens, commands that are not permitted (areas and names are left out then), answers that are too
large, floods (more than `MAX_PER_S` a second are left out and counted), servers that fall silent, close, or speak
something else; an order whose answer never came is reported as unknown. Not covered: signed paths, cameras, several
homes.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from hearth.errors import MissingExtraError, ToolError, ToolTimeout, TransientToolError
from hearth.protocols import Egress, Message
from hearth_home.assistant_settings import Assistant

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

INSTALL_COMMAND = "pip install 'hearth-home[assistant]'"
CONNECT_TIMEOUT_S = 10.0
ANSWER_TIMEOUT_S = 10.0
MAX_MESSAGE_BYTES = 16_000_000
MAX_PER_S = 500
MAX_WAITING = 5_000
STATES, CHANGED, CONFIG = "get_states", "state_changed", "get_config"
AREAS, DEVICES, ENTITIES = "config/area_registry/list", "config/device_registry/list", "config/entity_registry/list"
_LOOKS = (CONFIG, AREAS, DEVICES, ENTITIES, STATES)
"""What is asked on connecting, in this order: states are read by the rest."""


class AssistantSession:
    """An open connection. Made by `connected_assistant`."""

    def __init__(
        self, socket: ClientConnection, assistant: Assistant, egress: Egress, reason: str, cancelled: threading.Event
    ) -> None:
        self.n_dropped = 0
        """Messages left out because too many came."""
        self._socket = socket
        self._assistant = assistant
        self._egress = egress
        self._reason = reason
        self._cancelled = cancelled
        self._waiting: deque[Message] = deque()
        self._n_sent = 0
        self._second, self._n_this_second = 0, 0

    def log_in(self) -> None:
        """Show the token, and have told what there is and what changes.

        Raises:
            ToolError: It is refused, or this is no Home Assistant. TransientToolError: It does not answer.
        """
        if self._heard(ANSWER_TIMEOUT_S).get("type") != "auth_required":
            raise ToolError(f"{self._assistant} does not speak its websocket API; check url in [home.assistant]")
        self._record("auth (token not kept)")
        self._send({"type": "auth", "access_token": self._assistant.token})
        if self._heard(ANSWER_TIMEOUT_S).get("type") != "auth_ok":
            raise ToolError(f"{self._assistant} refused the token; check it in [home.assistant]")
        self._result(self._command("subscribe_events", event_type=CHANGED), "subscribe_events", is_needed=True)
        for name in _LOOKS:
            found = self._result(self._command(name), name, is_needed=name == STATES)
            if found is not None:
                self._waiting.append(Message(name, json.dumps(found).encode()))

    def subscribe(self, topics: Iterable[str]) -> None:
        """Do nothing: every change of a state is told anyhow."""

    def publish(self, message: Message) -> None:
        """Call a service once (`light/turn_on`), and wait for the answer.

        Raises:
            ToolError: It was refused, and why; nothing was done.
            ToolTimeout: It was handed over, but no answer came: whether it was done is not known.
            TransientToolError: The connection had ended before; nothing was sent. EgressError.
        """
        domain, _, service = message.topic.partition("/")
        order = json.loads(message.payload)
        self._record(f"call_service {message.topic} {message.payload.decode()}")
        number = self._command(
            "call_service", domain=domain, service=service, service_data=order["data"], target=order["target"]
        )
        try:
            self._result(number, message.topic, is_needed=True)
        except TransientToolError:
            raise ToolTimeout(
                f"{self._assistant} was told {message.topic!r}, but did not answer, so it may or may not have been "
                "done; look at the device before you ask again"
            ) from None

    def listen(self, seconds: float, quiet_s: float | None = None) -> Iterator[Message]:
        """Yield messages as they arrive, for `seconds`, or until none came for `quiet_s`.

        Raises:
            TransientToolError: The connection ended.
        """
        until = time.monotonic() + seconds
        quiet_at = until if quiet_s is None else time.monotonic() + quiet_s
        while not self._cancelled.is_set():
            while self._waiting:
                yield self._waiting.popleft()
                if quiet_s is not None:
                    quiet_at = time.monotonic() + quiet_s
                if time.monotonic() >= until:
                    return
            left = min(until, quiet_at) - time.monotonic()
            if left <= 0:
                return
            with contextlib.suppress(TimeoutError):
                self._keep(self._received(min(left, 0.2)))

    # ── The wire ──────────────────────────────────────────────────────────────────────────────────────────

    def _command(self, type: str, **fields: object) -> int:
        self._n_sent += 1
        if type != "call_service":
            self._record(f"{type} {json.dumps(fields)}")
        self._send({"id": self._n_sent, "type": type, **fields})
        return self._n_sent

    def _result(self, number: int, what: str, *, is_needed: bool) -> Any:
        """Wait for the answer to a command. Raises: ToolError: It was refused, and is needed. TransientToolError."""
        until = time.monotonic() + ANSWER_TIMEOUT_S
        while True:
            said = self._heard(until - time.monotonic())
            if said.get("id") == number and said.get("type") == "result":
                break
            self._keep(said)
        if said.get("success") is True:
            return said.get("result")
        if not is_needed:
            return None
        fault = said.get("error")
        why = str(fault.get("message") or fault.get("code")) if isinstance(fault, dict) else "no reason given"
        raise ToolError(f"{self._assistant} refused {what!r}: {_line(why)}; nothing was done")

    def _keep(self, said: dict[str, Any]) -> None:
        """Put a change of a state among what is told; leave out whatever else comes."""
        event = said.get("event")
        if said.get("type") != "event" or not isinstance(event, dict) or event.get("event_type") != CHANGED:
            return
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._n_this_second = second, 0
        self._n_this_second += 1
        if self._n_this_second > MAX_PER_S or len(self._waiting) >= MAX_WAITING:
            self.n_dropped += 1
        else:
            self._waiting.append(Message(CHANGED, json.dumps(event.get("data")).encode()))

    def _heard(self, within_s: float) -> dict[str, Any]:
        """Return the next message. Raises: TransientToolError: None came in time, or the connection ended."""
        until = time.monotonic() + within_s
        while not self._cancelled.is_set() and (left := until - time.monotonic()) > 0:
            with contextlib.suppress(TimeoutError):
                return self._received(min(left, 0.2))
        raise TransientToolError(f"{self._assistant} did not answer within {within_s:.0f} s; try again")

    def _received(self, within_s: float) -> dict[str, Any]:
        """Raises: TimeoutError. TransientToolError: The connection ended. ToolError: It is not the protocol."""
        from websockets.exceptions import ConnectionClosed

        try:
            text = self._socket.recv(timeout=within_s)
            said = json.loads(text)
        except ConnectionClosed:
            raise TransientToolError(f"{self._assistant} closed the connection; try again") from None
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            raise ToolError(f"{self._assistant} does not speak its websocket API; check url in [home.assistant]")
        return said

    def _send(self, said: dict[str, object]) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            self._socket.send(json.dumps(said))
        except (ConnectionClosed, OSError):
            raise TransientToolError(f"{self._assistant} closed the connection, nothing was sent; try again") from None

    def _record(self, said: str) -> None:
        self._egress.record(self._assistant.host, said.encode(), self._reason, tls=_secured_by(self._socket.socket))


@contextlib.contextmanager
def connected_assistant(
    assistant: Assistant, egress: Egress, reason: str, cancelled: threading.Event
) -> Iterator[AssistantSession]:
    """Open a connection that is logged in, for the duration of the block; the permit ends with it.

    Raises:
        MissingExtraError: websockets is not installed. ToolError, TransientToolError: It cannot be reached, or refuses.
        EgressError: The host is not allowed; nothing was sent.
    """
    try:
        from websockets.exceptions import InvalidHandshake, InvalidURI
        from websockets.sync.client import connect
    except ImportError:
        raise MissingExtraError("Home Assistant", INSTALL_COMMAND) from None
    with egress.permit(assistant.host, assistant.port, reason), contextlib.ExitStack() as stack:
        began = time.monotonic()
        try:
            raw = socket.create_connection((assistant.host, assistant.port), CONNECT_TIMEOUT_S)
            stack.callback(raw.close)
            tls = egress.tls(assistant.host) if assistant.is_tls else None
            opened = connect(
                assistant.address, sock=raw, ssl=tls, server_hostname=assistant.host if tls else None,
                compression=None, user_agent_header=None, proxy=None, open_timeout=CONNECT_TIMEOUT_S, close_timeout=1,
                max_size=MAX_MESSAGE_BYTES, ping_interval=None,
            )  # fmt: skip
        except ssl.SSLCertVerificationError as error:
            raise ToolError(
                f"the certificate of {assistant} cannot be trusted ({error.verify_message}), nothing was sent; check "
                f'url in [home.assistant], or name its authority as ca_file under [network.host."{assistant.host}"]'
            ) from None
        except (InvalidHandshake, InvalidURI, EOFError, ssl.SSLError) as error:
            if time.monotonic() - began >= CONNECT_TIMEOUT_S:
                raise TransientToolError(f"cannot reach {assistant} (it does not answer); check that it runs") from None
            raise ToolError(
                f"{assistant} does not speak its websocket API ({type(error).__name__}), nothing was sent; check url "
                "in [home.assistant]"
            ) from None
        except OSError as error:
            said = error.strerror or str(error) or type(error).__name__
            raise TransientToolError(
                f"cannot reach {assistant} ({said}), nothing was sent; check that it runs, and [home.assistant]"
            ) from None
        with opened:
            session = AssistantSession(opened, assistant, egress, reason, cancelled)
            session.log_in()
            yield session


def _secured_by(connection: object) -> str:
    """Return version and cipher of a connection, for the record; empty for one without TLS."""
    cipher = connection.cipher() if isinstance(connection, ssl.SSLSocket) else None
    return f"{connection.version()} {cipher[0]}" if isinstance(connection, ssl.SSLSocket) and cipher else ""


def _line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:200]
