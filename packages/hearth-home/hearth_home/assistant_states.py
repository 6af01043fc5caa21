"""Home Assistant's entities as things of the home: what their states say, and which services set them.

Covered: lights, switches, fans, climate, covers, locks, media players, sensors and binary sensors; the area of an
entity or of its device as the room; entities that the owner hid or disabled there, and those that only configure or
diagnose, are left out; names that collide (both stay, by their ids); at most `MAX_THINGS`; states that are garbled or
too long. Not covered: colours, presets, tilt, options, scenes and scripts of Home Assistant's own, locks with a code.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import math
import re
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hearth.errors import MissingExtraError, NotFound, ToolError, ToolTimeout, TransientToolError
from hearth.protocols import SETTABLE, Egress, Message, Observation, Reading, Thing
from hearth.types import Plain
from hearth_home.mqtt_broker import configured, is_of_this_house, is_this_machine, secured_by

if TYPE_CHECKING:
    from websockets.client import ClientProtocol


# ── Settings ───────────────────────────────────────────────────────────────────────────────────────────
# Check `[home.assistant]`: which Home Assistant to use, and how to connect to it.
# Covered: TLS is required except for this machine and, where the owner says so, for an address or name of this house.
# Not covered: whether the host may be reached, which the egress gateway decides.


PREFIX = "assistant:"
"""Begins the id of each of its things, so that none passes for a thing of the broker."""


@dataclass(frozen=True, slots=True)
class Assistant:
    """A Home Assistant as configured under `[home.assistant]`."""

    host: str
    port: int
    is_tls: bool
    token: str = field(default="", repr=False)
    only: frozenset[str] = frozenset()
    """Entities that are used; empty: all that are of a kind."""

    def __str__(self) -> str:
        return f"Home Assistant at {self.host}:{self.port}"

    @property
    def address(self) -> str:
        """Of its websocket."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'wss' if self.is_tls else 'ws'}://{host}:{self.port}/api/websocket"


def assistant_of(home: Mapping[str, Plain]) -> Assistant | None:
    """Return the Home Assistant under `assistant` of the table `[home]`, or None.

    Raises:
        ToolError: It would carry the token where others can read it; or there is none.
    """
    table = home.get("assistant")
    if not isinstance(table, Mapping) or not table.get("url"):
        return None
    parts = urlsplit(str(table["url"]))
    host, is_tls = parts.hostname or "", parts.scheme == "https"
    if not is_tls and not is_this_machine(host):
        if not is_of_this_house(host):
            raise ToolError(f"url under [home.assistant] carries the token to {host!r} without TLS; write https://")
        if table.get("unencrypted") is not True:
            raise ToolError(
                f"everybody in the house could read the token on its way to {host!r}; write https:// in url under "
                "[home.assistant], or unencrypted = true where that is fine"
            )
    token = str(table.get("token") or "")
    if not token:
        raise ToolError("[home.assistant] has no token; make one in Home Assistant (profile, long-lived access tokens)")
    only = table.get("entities")
    named = frozenset(map(str, only)) if isinstance(only, list | tuple) else frozenset[str]()
    return Assistant(host, parts.port or (443 if is_tls else 8123), is_tls, token, named)


def is_connected(home: Mapping[str, Plain]) -> bool:
    """Say whether devices of the table `[home]` are connected. Raises: ToolError: As `configured`, `assistant_of`."""
    return configured(home) is not None or assistant_of(home) is not None


# ── The connection ─────────────────────────────────────────────────────────────────────────────────────
# One connection to Home Assistant's websocket API, for the time of a call.
# What it tells goes on as messages, under the name of the command that asked for it; what is ordered is a call of a
# service. The token is sent once, right after connecting, and recorded nowhere.
# Covered: refused tokens, commands that are not permitted (areas and names are left out then), answers that are too
# large, floods (more than `MAX_PER_S` a second are left out and counted), servers that fall silent, close, or speak
# something else; an order whose answer never came is reported as unknown. Not covered: signed paths, cameras, several
# homes.


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


class _Websocket:
    """Text messages over an open socket, read and written by whoever calls, in one thread.

    The library's own client reads in a second thread. Over TLS that loses what is written while the server's session
    tickets are read (two threads in one SSL object, which OpenSSL does not allow), about once in 150 connections.

    Raises:
        TimeoutError, OSError: The server did not answer within `CONNECT_TIMEOUT_S`, or went away.
        InvalidHandshake, EOFError: It answered something else.
    """

    def __init__(self, socket: socket.socket, address: str) -> None:
        from websockets.client import ClientProtocol
        from websockets.uri import parse_uri

        self.socket = socket
        self._protocol: ClientProtocol = ClientProtocol(parse_uri(address), max_size=MAX_MESSAGE_BYTES)
        self._whole: deque[bytes] = deque()
        self._parts: list[bytes] = []
        self._protocol.send_request(self._protocol.connect())
        self._write()
        until = time.monotonic() + CONNECT_TIMEOUT_S
        while self._protocol.handshake_exc is None and self._protocol.state.name == "CONNECTING":
            self._read(until - time.monotonic())
        if self._protocol.handshake_exc is not None:
            raise self._protocol.handshake_exc

    def send(self, text: str) -> None:
        """Raises: ConnectionError: It is closed; nothing was sent. OSError."""
        if self._protocol.state.name != "OPEN":
            raise ConnectionError("closed")
        self._protocol.send_text(text.encode())
        self._write()

    def recv(self, within_s: float) -> bytes:
        """Return the next message. Raises: TimeoutError: None came. ConnectionError: It is closed."""
        until = time.monotonic() + within_s
        while not self._whole:
            if self._protocol.state.name != "OPEN":
                raise ConnectionError("closed")
            self._read(until - time.monotonic())
        return self._whole.popleft()

    def close(self) -> None:
        """Say that it ends, and do not wait for the answer."""
        with contextlib.suppress(OSError):
            if self._protocol.state.name == "OPEN":
                self._protocol.send_close(1000)
                self._write()

    def _read(self, within_s: float) -> None:
        from websockets.frames import Frame, Opcode

        if within_s <= 0:
            raise TimeoutError
        self.socket.settimeout(within_s)
        data = self.socket.recv(65_536)
        if data:
            self._protocol.receive_data(data)
        else:
            self._protocol.receive_eof()
        for event in self._protocol.events_received():
            if isinstance(event, Frame) and event.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
                self._parts.append(bytes(event.data))
                if event.fin:
                    self._whole.append(b"".join(self._parts))
                    self._parts.clear()
        self._write()

    def _write(self) -> None:
        self.socket.settimeout(CONNECT_TIMEOUT_S)
        for data in self._protocol.data_to_send():
            if data:
                self.socket.sendall(data)


class AssistantSession:
    """An open connection. Made by `connected_assistant`."""

    def __init__(
        self, socket: _Websocket, assistant: Assistant, egress: Egress, reason: str, cancelled: threading.Event
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
        """Yield messages as they arrive, for `seconds`, or until none came for `quiet_s`; first what had come before,
        however little time there is.

        Raises:
            TransientToolError: The connection ended.
        """
        until = time.monotonic() + seconds
        for _ in range(len(self._waiting)):
            yield self._waiting.popleft()
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
        try:
            said = json.loads(self._socket.recv(within_s))
        except TimeoutError:
            raise
        except OSError:
            raise TransientToolError(f"{self._assistant} closed the connection; try again") from None
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            raise ToolError(f"{self._assistant} does not speak its websocket API; check url in [home.assistant]")
        return said

    def _send(self, said: dict[str, object]) -> None:
        try:
            self._socket.send(json.dumps(said))
        except OSError:
            raise TransientToolError(f"{self._assistant} closed the connection, nothing was sent; try again") from None

    def _record(self, said: str) -> None:
        self._egress.record(self._assistant.host, said.encode(), self._reason, tls=secured_by(self._socket.socket))


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
    except ImportError:
        raise MissingExtraError("Home Assistant", INSTALL_COMMAND) from None
    with egress.permit(assistant.host, assistant.port, reason), contextlib.ExitStack() as stack:
        try:
            raw = socket.create_connection((assistant.host, assistant.port), CONNECT_TIMEOUT_S)
            stack.callback(raw.close)
            if assistant.is_tls:
                raw = egress.tls(assistant.host).wrap_socket(raw, server_hostname=assistant.host)
                stack.callback(raw.close)
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            opened = stack.enter_context(contextlib.closing(_Websocket(raw, assistant.address)))
        except ssl.SSLCertVerificationError as error:
            raise ToolError(
                f"the certificate of {assistant} cannot be trusted ({error.verify_message}), nothing was sent; check "
                f'url in [home.assistant], or name its authority as ca_file under [network.host."{assistant.host}"]'
            ) from None
        except TimeoutError:
            raise TransientToolError(f"cannot reach {assistant} (it does not answer); check that it runs") from None
        except (InvalidHandshake, InvalidURI, EOFError, ssl.SSLError) as error:
            raise ToolError(
                f"{assistant} does not speak its websocket API ({type(error).__name__}), nothing was sent; check url "
                "in [home.assistant]"
            ) from None
        except OSError as error:
            said = error.strerror or str(error) or type(error).__name__
            raise TransientToolError(
                f"cannot reach {assistant} ({said}), nothing was sent; check that it runs, and [home.assistant]"
            ) from None
        session = AssistantSession(opened, assistant, egress, reason, cancelled)
        session.log_in()
        yield session


def _line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:200]


# ── Things and their states ────────────────────────────────────────────────────────────────────────────


MAX_THINGS = 500
MAX_NAME_CHARS, MAX_TEXT_CHARS = 100, 64
N_REFUSED_KEPT = 50
_KINDS: Mapping[str, str] = {
    "light": "lamp", "switch": "plug", "fan": "fan", "climate": "heating", "cover": "blinds", "lock": "lock",
    "media_player": "speaker", "sensor": "sensor", "binary_sensor": "sensor",
}  # fmt: skip
_DOORS = frozenset({"garage", "gate", "door"})
_QUANTITIES = {"battery": "battery level", "pm25": "fine dust"}
_OFF = frozenset({"off", "standby"})
_SET_POSITION, _VOLUME_SET, _TURN_ON, _TURN_OFF = 4, 4, 128, 256
"""Bits of `supported_features`: the first of covers, the others of media players."""


class _State(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    entity_id: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,60}\.[a-z0-9_]{1,200}$")]
    state: Annotated[str, Field(max_length=255)]
    attributes: Mapping[str, Any] = {}


class _Change(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    entity_id: Annotated[str, Field(max_length=300)]
    new_state: _State | None = None


class _Row(BaseModel):
    """A row of a registry: of areas, devices or entities."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    area_id: str | None = None
    name: str | None = None
    id: str | None = None
    device_id: str | None = None
    entity_id: str | None = None
    entity_category: str | None = None
    hidden_by: str | None = None
    disabled_by: str | None = None


@dataclass(frozen=True, slots=True)
class _Known:
    thing: Thing
    domain: str
    attributes: Mapping[str, Any]


class AssistantStates:
    """A `protocols.Sensor` for the entities of a Home Assistant."""

    name = "assistant"

    def __init__(self, only: frozenset[str] = frozenset()) -> None:
        """Read states.

        Args:
            only: Entities that are used; empty: all of a kind that is known.
        """
        self._only = only
        self._known: dict[str, _Known] = {}
        self._areas: dict[str, str] = {}
        self._rooms: dict[str, str] = {}
        """Room by id of a device."""
        self._entities: dict[str, _Row] = {}
        self._is_celsius = True
        self._refused: deque[str] = deque(maxlen=N_REFUSED_KEPT)

    @property
    def refused(self) -> tuple[str, ...]:
        return tuple(self._refused)

    @property
    def things(self) -> Mapping[str, Thing]:
        return {id: one.thing for id, one in self._known.items()}

    def topics(self) -> tuple[str, ...]:
        return ()

    def asks(self) -> tuple[Message, ...]:
        return ()

    # ── What is told ──────────────────────────────────────────────────────────────────────────────────────

    def take(self, message: Message, at: dt.datetime) -> tuple[Observation, ...]:
        try:
            said = json.loads(message.payload)
        except (ValueError, RecursionError):
            self._refuse(message.topic, "it is no JSON")
            return ()
        if message.topic == CHANGED:
            return self._changed(said, at)
        if message.topic == CONFIG:
            units = said.get("unit_system") if isinstance(said, dict) else None
            self._is_celsius = not isinstance(units, dict) or units.get("temperature") != "°F"
            return ()
        rows = said if isinstance(said, list) else []
        if message.topic == STATES:
            return tuple(one for row in rows for one in self._told(row, at, is_retained=True))
        if message.topic in (AREAS, DEVICES, ENTITIES):
            self._register(message.topic, rows)
        return ()

    def _register(self, kind: str, rows: list[Any]) -> None:
        for row in rows:
            try:
                one = _Row.model_validate(row)
            except ValidationError:
                continue  # without it an entity has no room, or is shown although hidden
            if kind == AREAS and one.area_id and one.name:
                self._areas[one.area_id] = _name(one.name)
            elif kind == DEVICES and one.id and one.area_id:
                self._rooms[one.id] = self._areas.get(one.area_id, "")
            elif kind == ENTITIES and one.entity_id:
                self._entities[one.entity_id] = one

    def _changed(self, said: object, at: dt.datetime) -> tuple[Observation, ...]:
        try:
            change = _Change.model_validate(said)
        except ValidationError as error:
            self._refuse(CHANGED, _fault(error))
            return ()
        if change.new_state is None:
            self._known.pop(f"{PREFIX}{change.entity_id}", None)
            return ()
        return self._told(change.new_state.model_dump(), at, is_retained=False)

    def _told(self, said: object, at: dt.datetime, *, is_retained: bool) -> tuple[Observation, ...]:
        try:
            state = _State.model_validate(said)
        except ValidationError as error:
            self._refuse("a state", _fault(error))
            return ()
        domain = state.entity_id.partition(".")[0]
        id = f"{PREFIX}{state.entity_id}"
        if not self._is_wanted(state.entity_id, domain):
            return ()
        if id not in self._known and len(self._known) >= MAX_THINGS:
            self._refuse(state.entity_id, f"{MAX_THINGS} things are known already; name those you use as `entities`")
            return ()
        found = dict(_readings(domain, state, is_celsius=self._is_celsius))
        self._known[id] = _Known(self._thing(id, domain, state, found), domain, state.attributes)
        units = {"temperature": "°C" if self._is_celsius else "°F"}
        unit = str(state.attributes.get("unit_of_measurement") or "")[:20]
        return tuple(
            Observation(id, quantity, value, at, unit if domain == "sensor" else units.get(quantity, ""), is_retained)
            for quantity, value in found.items()
        )

    def _is_wanted(self, entity_id: str, domain: str) -> bool:
        if self._only:
            return entity_id in self._only and domain in _KINDS
        row = self._entities.get(entity_id)
        is_shown = row is None or not (row.entity_category or row.hidden_by or row.disabled_by)
        return domain in _KINDS and is_shown

    def _thing(self, id: str, domain: str, state: _State, found: Mapping[str, Reading]) -> Thing:
        row = self._entities.get(state.entity_id)
        room = ""
        if row is not None:
            room = self._areas.get(row.area_id or "", "") or self._rooms.get(row.device_id or "", "")
        said = state.attributes.get("friendly_name")
        name = _name(said if isinstance(said, str) else "") or state.entity_id.partition(".")[2].replace("_", " ")
        settable = frozenset(_settable(domain, state.attributes, is_celsius=self._is_celsius))
        measured = frozenset(q for q in found if q not in SETTABLE and q not in ("reachable", "moving"))
        kind = _KINDS[domain]
        if domain == "cover" and state.attributes.get("device_class") in _DOORS:
            kind = "door"
        elif domain == "media_player" and state.attributes.get("device_class") == "tv":
            kind = "tv"
        before = self._known.get(id)
        reads = measured | (before.thing.reads if before else frozenset())
        return Thing(id, name, room, kind, settable, settable, reads)

    def _refuse(self, what: str, why: str) -> None:
        line = " ".join("".join(c if c.isprintable() else " " for c in f"{what[:100]}: {why}").split())[:300]
        if line not in self._refused:
            self._refused.append(line)

    # ── Orders ────────────────────────────────────────────────────────────────────────────────────────────

    def order(
        self, thing: str, wanted: Mapping[str, bool | float], known: Mapping[str, Reading]
    ) -> tuple[Message, ...]:
        one = self._known.get(thing)
        if one is None:
            raise NotFound(f"no thing {thing!r} is known to Home Assistant")
        missing = [quantity for quantity in wanted if quantity not in one.thing.settable]
        if missing:
            can = ", ".join(sorted(one.thing.settable)) or "nothing"
            raise ToolError(f"{one.thing.name!r} takes no order for {missing[0]}; it takes {can}")
        target = {"entity_id": [thing.removeprefix(PREFIX)]}
        return tuple(
            Message(f"{one.domain}/{service}", json.dumps({"data": data, "target": target}).encode())
            for service, data in _CALLS[one.domain](one.attributes, wanted, known)
        )


# ── What each domain tells ────────────────────────────────────────────────────────────────────────────────


def _readings(domain: str, state: _State, *, is_celsius: bool) -> Iterator[tuple[str, Reading]]:
    if state.state == "unavailable":
        yield "reachable", False
        return
    yield "reachable", True
    if state.state in ("unknown", ""):
        return
    said, attributes = state.state, state.attributes
    if domain in ("light", "switch", "fan"):
        yield "is_on", said == "on"
        level = _number(attributes.get("brightness"))
        if domain == "light" and said == "on" and level is not None:
            yield "brightness", round(min(100.0, max(0.0, level / 255 * 100)), 1)
    elif domain == "climate":
        yield "is_on", said != "off"
        if is_celsius and (wanted := _number(attributes.get("temperature"))) is not None:
            yield "set_temperature", wanted
        if (now := _number(attributes.get("current_temperature"))) is not None:
            yield "temperature", now
    elif domain == "cover":
        yield from _cover_readings(said, attributes)
    elif domain == "lock":
        if said in ("locked", "unlocked"):
            yield "is_locked", said == "locked"
    elif domain == "media_player":
        yield "is_on", said not in _OFF
        if (volume := _number(attributes.get("volume_level"))) is not None:
            yield "volume", round(min(100.0, max(0.0, volume * 100)), 1)
    elif domain == "binary_sensor":
        yield _quantity(attributes), said == "on"
    elif (value := _sensed(said, attributes)) is not None:
        yield _quantity(attributes), value


def _cover_readings(said: str, attributes: Mapping[str, Any]) -> Iterator[tuple[str, Reading]]:
    yield "moving", said if said in ("opening", "closing") else ""
    place = _number(attributes.get("current_position"))
    if place is not None:
        yield "position", min(100.0, max(0.0, place))
    elif said in ("open", "closed"):
        yield "position", 100.0 if said == "open" else 0.0


def _sensed(said: str, attributes: Mapping[str, Any]) -> Reading | None:
    """Return what a sensor tells: a number, or a few words where it has no unit."""
    try:
        number = float(said)
    except ValueError:
        number = math.nan
    if math.isfinite(number):
        return number if abs(number) < 1e12 else None
    is_text = not attributes.get("unit_of_measurement") and len(said) <= MAX_TEXT_CHARS and said.isprintable()
    return said.strip() or None if is_text else None


def _quantity(attributes: Mapping[str, Any]) -> str:
    kind = attributes.get("device_class")
    plain = kind.replace("_", " ") if isinstance(kind, str) else ""
    return _QUANTITIES.get(plain, plain if re.fullmatch(r"[a-z][a-z ]{1,30}", plain) else "reading")


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None  # type: ignore[arg-type]


# ── What each domain is told ──────────────────────────────────────────────────────────────────────────────


def _settable(domain: str, attributes: Mapping[str, Any], *, is_celsius: bool) -> Iterator[str]:
    features = attributes.get("supported_features")
    bits = features if isinstance(features, int) else 0
    if domain in ("light", "switch", "fan"):
        yield "is_on"
        modes = attributes.get("supported_color_modes")
        if domain == "light" and isinstance(modes, list) and any(mode not in ("onoff", "unknown") for mode in modes):
            yield "brightness"
    elif domain == "climate":
        modes = _modes(attributes)
        if is_celsius and "temperature" in attributes:
            yield "set_temperature"
        if "off" in modes and len(modes) > 1:
            yield "is_on"
    elif domain == "cover":
        yield "position"
    elif domain == "lock" and not attributes.get("code_format"):
        yield "is_locked"
    elif domain == "media_player":
        if bits & _TURN_ON and bits & _TURN_OFF:
            yield "is_on"
        if bits & _VOLUME_SET:
            yield "volume"


def _modes(attributes: Mapping[str, Any]) -> list[str]:
    modes = attributes.get("hvac_modes")
    return [mode for mode in modes if isinstance(mode, str)] if isinstance(modes, list) else []


_Calls = Iterator[tuple[str, dict[str, object]]]


def _switch_calls(
    attributes: Mapping[str, Any],  # noqa: ARG001 - as the others
    wanted: Mapping[str, bool | float],
    known: Mapping[str, Reading],  # noqa: ARG001
) -> _Calls:
    bright = wanted.get("brightness")
    if wanted.get("is_on", True) is False or bright == 0:
        yield "turn_off", {}
    elif bright is not None:
        yield "turn_on", {"brightness_pct": round(float(bright))}
    else:
        yield "turn_on", {}


def _climate_calls(
    attributes: Mapping[str, Any], wanted: Mapping[str, bool | float], known: Mapping[str, Reading]
) -> _Calls:
    is_on = wanted.get("is_on")
    # Setting a temperature switches on a device known to be off, and no other.
    if is_on is not None and not ("set_temperature" in wanted and is_on and known.get("is_on") is not False):
        modes = _modes(attributes)
        running = "heat" if "heat" in modes else next((mode for mode in modes if mode != "off"), "heat")
        yield "set_hvac_mode", {"hvac_mode": running if is_on else "off"}
    if "set_temperature" in wanted:
        value = float(wanted["set_temperature"])
        low, high = (_number(attributes.get(name)) for name in ("min_temp", "max_temp"))
        if (low is not None and value < low) or (high is not None and value > high):
            raise ToolError(f"it takes {low} to {high}, not {value:g}; nothing was sent")
        yield "set_temperature", {"temperature": value}


def _cover_calls(
    attributes: Mapping[str, Any],
    wanted: Mapping[str, bool | float],
    known: Mapping[str, Reading],  # noqa: ARG001
) -> _Calls:
    position = float(wanted["position"])
    features = attributes.get("supported_features")
    if position in (0, 100):
        yield "open_cover" if position else "close_cover", {}
    elif isinstance(features, int) and features & _SET_POSITION:
        yield "set_cover_position", {"position": round(position)}
    else:
        raise ToolError(f"it opens and closes only as a whole, not to {position:g} %; expected 0 or 100")


def _lock_calls(
    attributes: Mapping[str, Any],  # noqa: ARG001
    wanted: Mapping[str, bool | float],
    known: Mapping[str, Reading],  # noqa: ARG001
) -> _Calls:
    yield "lock" if wanted["is_locked"] else "unlock", {}


def _player_calls(
    attributes: Mapping[str, Any],  # noqa: ARG001
    wanted: Mapping[str, bool | float],
    known: Mapping[str, Reading],
) -> _Calls:
    is_on = wanted.get("is_on")
    if is_on is not None and not ("volume" in wanted and is_on and known.get("is_on") is not False):
        yield "turn_on" if is_on else "turn_off", {}
    if "volume" in wanted:
        yield "volume_set", {"volume_level": round(float(wanted["volume"]) / 100, 3)}


_Caller = Callable[[Mapping[str, Any], Mapping[str, bool | float], Mapping[str, Reading]], _Calls]
_CALLS: Mapping[str, _Caller] = {
    "light": _switch_calls, "switch": _switch_calls, "fan": _switch_calls, "climate": _climate_calls,
    "cover": _cover_calls, "lock": _lock_calls, "media_player": _player_calls,
}  # fmt: skip


def _name(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:MAX_NAME_CHARS]


def _fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, fault['loc']))[:60]}: {fault['msg']}"
