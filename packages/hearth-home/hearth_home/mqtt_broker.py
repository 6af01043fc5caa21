"""One connection to the owner's MQTT broker, inside an egress permit for that host and port, with paho-mqtt.

What is sent (log-in without the password, subscriptions, orders) is handed to the egress gateway, which writes it down.
The connection is driven by the thread that opened it: a permit holds for one thread only, and nothing happens between
two calls. TLS with a verified certificate, except where the settings allow plain connections.

Covered: a packet larger than `MAX_PACKET_BYTES` (the connection is ended), more messages a second than `MAX_PER_S` (the
rest is left out and counted), a broker that refuses the log-in or a subscription, falls silent, or closes. Not covered:
MQTT 5, sessions that outlive the connection, wills.
"""

from __future__ import annotations

import contextlib
import ipaddress
import secrets
import selectors
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hearth.errors import MissingExtraError, ToolError, ToolTimeout, TransientToolError
from hearth.protocols import Egress, Message
from hearth.types import Plain

if TYPE_CHECKING:
    from paho.mqtt.client import Client


# ── Settings ───────────────────────────────────────────────────────────────────────────────────────────
# Check `[home.mqtt]`: which broker to use, and how to connect to it.
# Covered: TLS is required except for this machine and, without a password, for an address or name of this house. Not
# covered: whether the host may be reached, which the egress gateway decides.


_LOCAL_ENDINGS = (".local", ".localhost", ".lan", ".home", ".home.arpa", ".internal")


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker as configured under `[home.mqtt]`."""

    host: str
    port: int = 8883
    security: str = "tls"
    username: str = ""
    password: str = field(default="", repr=False)

    def __str__(self) -> str:
        return f"the MQTT broker {self.host}:{self.port}"


def configured(home: Mapping[str, Plain]) -> Broker | None:
    """Return the broker under `mqtt` of the table `[home]`, or None.

    Raises:
        ToolError: It would carry a password, or orders, where others can read or change them.
    """
    table = home.get("mqtt")
    if not isinstance(table, Mapping) or not table.get("host"):
        return None
    security, port = str(table.get("security") or "tls"), table.get("port")
    password = str(table.get("password") or "")
    default_port = 8883 if security == "tls" else 1883
    broker = Broker(
        str(table["host"]),
        port if isinstance(port, int) and port else default_port,
        *(security, str(table.get("username") or ""), password),
    )
    if security == "none" and not is_this_machine(broker.host) and (password or not is_of_this_house(broker.host)):
        why = "everybody in the house could read the password" if password else "anybody on the way could switch things"
        raise ToolError(f'security = "none" under [home.mqtt] is not for {broker.host!r}: {why}; write "tls"')
    return broker


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of `[home.mqtt]` other than the broker."""

    prefix: str = "homeassistant"
    is_discovering: bool = True
    confirm_s: float = 5.0


def settings_of(home: Mapping[str, Plain]) -> Settings:
    """Read the settings from the table `[home]`."""
    table = home.get("mqtt")
    if not isinstance(table, Mapping):
        other = home.get("assistant")
        waits = other.get("confirm_s") if isinstance(other, Mapping) else None
        return Settings(confirm_s=float(waits)) if isinstance(waits, int | float) else Settings()
    prefix, confirm_s = table.get("discovery_prefix"), table.get("confirm_s")
    return Settings(
        str(prefix or "homeassistant"),
        table.get("discover") is not False,
        float(confirm_s) if isinstance(confirm_s, int | float) else 5.0,
    )


def is_this_machine(host: str) -> bool:
    """Say whether a host is this machine itself."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_of_this_house(host: str) -> bool:
    """Say whether a host is in the home's own network, by its address or name."""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.lower().endswith(_LOCAL_ENDINGS)


# ── The connection ─────────────────────────────────────────────────────────────────────────────────────


INSTALL_COMMAND = "pip install 'hearth-home[mqtt]'"
CONNECT_TIMEOUT_S = 10.0
ANSWER_TIMEOUT_S = 5.0
KEEPALIVE_S = 30
MAX_PACKET_BYTES = 65_536
MAX_PER_S = 500
MAX_WAITING = 5_000


class Session:
    """An open connection. Made by `connected`."""

    def __init__(self, client: Client, broker: Broker, egress: Egress, reason: str, cancelled: threading.Event) -> None:
        self.n_dropped = 0
        """Messages left out because too many came."""
        self._client = client
        self._broker = broker
        self._egress = egress
        self._reason = reason
        self._cancelled = cancelled
        self._waiting: deque[Message] = deque()
        self._answers: dict[tuple[str, int], bool] = {}
        """The broker's confirmations and refusals: (kind, packet) → whether it was granted."""
        self._topics: set[str] = set()
        self._second, self._n_this_second = 0, 0

    # ── What paho calls, from within `_pump` ──────────────────────────────────────────────────────────────

    def take(self, topic: str, payload: bytes, is_retained: bool) -> None:
        """Handle an incoming message."""
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._n_this_second = second, 0
        self._n_this_second += 1
        if self._n_this_second > MAX_PER_S or len(self._waiting) >= MAX_WAITING:
            self.n_dropped += 1
        else:
            self._waiting.append(Message(topic, payload, is_retained))

    def answered(self, kind: str, packet: int, is_granted: bool) -> None:
        """Handle the broker's answer to a packet."""
        self._answers[kind, packet] = is_granted

    # ── For whoever is connected ──────────────────────────────────────────────────────────────────────────

    def subscribe(self, topics: Iterable[str]) -> None:
        """Subscribe to new topics; one that is refused among others stays unheard.

        Raises:
            ToolError: The broker refuses all. TransientToolError: The connection ended. EgressError.
        """
        new = [topic for topic in dict.fromkeys(topics) if topic not in self._topics]
        for start in range(0, len(new), 50):
            batch = new[start : start + 50]
            self._record("SUBSCRIBE " + " ".join(batch))
            code, packet = self._client.subscribe([(topic, 1) for topic in batch])
            self._check(code)
            self._await("subscribed", packet or 0, f"{self._broker} did not answer a subscription")
            self._topics.update(batch)

    def publish(self, message: Message) -> None:
        """Publish a message once, and wait for the broker's receipt (QoS 1).

        Raises:
            ToolTimeout: It was handed over, but no receipt came: whether it was passed on is not known.
            TransientToolError: The connection had ended before; nothing was sent. EgressError.
        """
        if self._client.socket() is None:
            raise TransientToolError(f"{self._broker} closed the connection, nothing was sent; try again")
        self._record(f"PUBLISH {message.topic} ".encode() + message.payload)
        info = self._client.publish(message.topic, message.payload, qos=1)
        try:
            self._check(int(info.rc))
            self._await("published", info.mid, "")
        except TransientToolError:
            raise ToolTimeout(
                f"{self._broker} was handed the order on {message.topic!r}, but gave no receipt, so it may or may not "
                "have been passed on; look at the device before you ask again"
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
            self._pump(min(left, 0.2))

    # ── The wire ──────────────────────────────────────────────────────────────────────────────────────────

    def _await(self, kind: str, packet: int, silent: str) -> None:
        until = time.monotonic() + ANSWER_TIMEOUT_S
        while (kind, packet) not in self._answers:
            if time.monotonic() >= until or self._cancelled.is_set():
                raise TransientToolError(f"{silent} within {ANSWER_TIMEOUT_S:g} s; try again")
            try:
                self._pump(0.1)
            except TransientToolError:  # it may have answered before it closed
                if (kind, packet) not in self._answers:
                    raise
        if not self._answers.pop((kind, packet)):
            if kind == "connected":
                raise ToolError(f"{self._broker} refused the log-in; check `username` and the password in [home.mqtt]")
            who = self._broker.username or "anybody"
            raise ToolError(f"{self._broker} refused all subscriptions; let {who!r} read there")

    def _pump(self, wait_s: float) -> None:
        """Read and write whatever is pending, waiting up to `wait_s` for it."""
        sock = self._client.socket()
        if sock is None:
            raise TransientToolError(f"{self._broker} closed the connection; try again")
        is_pending = isinstance(sock, ssl.SSLSocket) and sock.pending() > 0
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._client.want_write() else 0)
        with selectors.DefaultSelector() as selector:
            selector.register(sock, wanted)
            events = selector.select(0 if is_pending else wait_s)
        ready = events[0][1] if events else 0
        if is_pending or ready & selectors.EVENT_READ:
            self._check(int(self._client.loop_read()))
        if ready & selectors.EVENT_WRITE and self._client.socket() is not None:
            self._check(int(self._client.loop_write()))
        if self._client.socket() is not None:
            self._check(int(self._client.loop_misc()))

    def _check(self, code: int) -> None:
        if code != 0:
            raise TransientToolError(f"{self._broker} ended the connection, or sent what is no MQTT; try again")

    def _record(self, said: str | bytes) -> None:
        payload = said.encode() if isinstance(said, str) else said
        self._egress.record(self._broker.host, payload, self._reason, tls=secured_by(self._client.socket()))


@contextlib.contextmanager
def connected(broker: Broker, egress: Egress, reason: str, cancelled: threading.Event) -> Iterator[Session]:
    """Open a connection that is logged in, for the duration of the block; the permit ends with it.

    Raises:
        MissingExtraError: paho-mqtt is not installed. ToolError, TransientToolError: It cannot be reached, or refuses.
        EgressError: The host is not allowed; nothing was sent.
    """
    client = _client(f"hearth-{secrets.token_hex(5)}", egress.tls(broker.host) if broker.security == "tls" else None)
    session = Session(client, broker, egress, reason, cancelled)

    def logged_in(_client: object, _given: object, _flags: object, code: Any, _properties: object) -> None:
        session.answered("connected", 0, not code.is_failure)

    def subscribed(_client: object, _given: object, packet: int, codes: Any, _properties: object) -> None:
        session.answered("subscribed", packet, any(not code.is_failure for code in codes))

    def published(_client: object, _given: object, packet: int, _code: object, _properties: object) -> None:
        session.answered("published", packet, True)

    def came(_client: object, _given: object, message: Any) -> None:
        session.take(message.topic, message.payload, message.retain)

    client.on_connect, client.on_subscribe = logged_in, subscribed
    client.on_publish, client.on_message = published, came
    if broker.username:
        client.username_pw_set(broker.username, broker.password or None)
    with egress.permit(broker.host, broker.port, reason):
        with _faults_said(broker):
            client.connect(broker.host, broker.port, KEEPALIVE_S)
        try:
            session._record(f"CONNECT {broker.username or 'without a name'} (password not kept)")
            session._await("connected", 0, f"{broker} did not answer")
            yield session
        finally:
            with contextlib.suppress(OSError, ValueError):
                client.disconnect()
            if (sock := client.socket()) is not None:
                with contextlib.suppress(OSError):
                    sock.close()


def _client(id: str, tls: ssl.SSLContext | None) -> Client:
    try:
        from paho.mqtt.client import Client, MQTTv311  # only homes with a broker need it
        from paho.mqtt.enums import CallbackAPIVersion
    except ImportError:
        raise MissingExtraError("MQTT", INSTALL_COMMAND) from None

    class Bounded(Client):
        """A client that ends the connection rather than accept a huge packet, and leaves no socket behind."""

        def _create_socket(self) -> socket.socket:
            sock = socket.create_connection((self._host, self._port), CONNECT_TIMEOUT_S)
            return sock if tls is None else tls.wrap_socket(sock, server_hostname=self._host)

        def _sock_recv(self, bufsize: int) -> bytes:
            if self._in_packet["remaining_length"] > MAX_PACKET_BYTES:
                raise ConnectionError("a packet that is too large")
            return super()._sock_recv(min(bufsize, MAX_PACKET_BYTES))

    return Bounded(CallbackAPIVersion.VERSION2, client_id=id, protocol=MQTTv311)


@contextlib.contextmanager
def _faults_said(broker: Broker) -> Iterator[None]:
    """Turn network faults into errors in the owner's words."""
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        raise ToolError(
            f"the certificate of {broker} cannot be trusted ({error.verify_message}), nothing was sent; check `host` "
            f'in [home.mqtt], or name its authority as ca_file under [network.host."{broker.host}"]'
        ) from None
    except ssl.SSLError as error:
        raise ToolError(
            f"{broker} does not speak TLS as configured ({error.reason or error}), nothing was sent; check `port` and "
            "`security` in [home.mqtt]"
        ) from None
    except OSError as error:
        said = error.strerror or str(error) or type(error).__name__
        raise TransientToolError(
            f"cannot reach {broker} ({said}), nothing was sent; check that it runs, and [home.mqtt]"
        ) from None


def secured_by(sock: object) -> str:
    """Return version and cipher of a connection, for the record; empty for one without TLS."""
    cipher = sock.cipher() if isinstance(sock, ssl.SSLSocket) else None
    return f"{sock.version()} {cipher[0]}" if isinstance(sock, ssl.SSLSocket) and cipher else ""
