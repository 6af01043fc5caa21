"""A double of Home Assistant's websocket API that keeps to its protocol, and refuses whoever does not.

Made from the published description (developers.home-assistant.io, websocket API): authentication first, ids that grow,
results and errors in its form, `state_changed` told to whoever subscribed, services with their schemas.
"""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

TOKEN = "eyJ0eXAi.long-lived.token"
AREAS = [{"area_id": "kitchen", "name": "Kitchen", "picture": None}, {"area_id": "hall", "name": "Hall"}]
DEVICES = [{"id": "d1", "area_id": "kitchen", "name": "Lamp"}, {"id": "d2", "area_id": "hall", "name": "Lock"}]
ENTITIES = [
    {"entity_id": "light.ceiling", "device_id": "d1", "area_id": None},
    {"entity_id": "lock.front_door", "device_id": "d2", "area_id": None},
    {"entity_id": "climate.bath", "device_id": None, "area_id": "hall"},
    {"entity_id": "sensor.signal", "device_id": "d1", "entity_category": "diagnostic"},
    {"entity_id": "switch.hidden", "hidden_by": "user"},
]
SCHEMAS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "light/turn_on": {"brightness_pct": (int, float)}, "light/turn_off": {}, "switch/turn_on": {}, "switch/turn_off": {},
    "fan/turn_on": {}, "fan/turn_off": {}, "climate/set_temperature": {"temperature": (int, float)},
    "climate/set_hvac_mode": {"hvac_mode": str}, "cover/open_cover": {}, "cover/close_cover": {},
    "cover/set_cover_position": {"position": (int, float)}, "lock/lock": {}, "lock/unlock": {},
    "media_player/volume_set": {"volume_level": (int, float)}, "media_player/turn_on": {}, "media_player/turn_off": {},
}  # fmt: skip


def states() -> dict[str, dict[str, Any]]:
    """The states of a small home, as `get_states` tells them."""
    told = {
        "light.ceiling": ("off", {"friendly_name": "Ceiling lamp", "supported_color_modes": ["brightness"]}),
        "lock.front_door": ("locked", {"friendly_name": "Front door"}),
        "climate.bath": (
            "heat",
            {"friendly_name": "Bath heating", "hvac_modes": ["off", "heat"], "temperature": 20.0, "min_temp": 7,
             "max_temp": 30, "current_temperature": 18.5},
        ),
        "cover.blind": ("open", {"friendly_name": "Bedroom blind", "current_position": 100, "supported_features": 7}),
        "media_player.radio": (
            "idle", {"friendly_name": "Radio", "supported_features": 4 | 128 | 256, "volume_level": 0.2}
        ),
        "switch.pump": ("unavailable", {"friendly_name": "Pump"}),
        "sensor.cellar": ("11.5", {"friendly_name": "Cellar", "device_class": "temperature", "unit_of_measurement": "°C"}),
        "binary_sensor.window": ("on", {"friendly_name": "Window", "device_class": "window"}),
        "sensor.signal": ("-60", {"friendly_name": "Signal"}),
        "switch.hidden": ("on", {"friendly_name": "Hidden"}),
        "person.mira": ("home", {"friendly_name": "Mira"}),
    }  # fmt: skip
    return {id: {"entity_id": id, "state": state, "attributes": more} for id, (state, more) in told.items()}


@dataclass
class AssistantServer:
    """What it tells, what it was told, how it behaves."""

    states: dict[str, dict[str, Any]] = field(default_factory=states)
    called: list[tuple[str, dict[str, Any], list[str]]] = field(default_factory=list)
    """Services with data and entities, in order."""
    faults: list[str] = field(default_factory=list)
    """What a client did against the protocol."""
    n_auth: int = 0
    allows_registries: bool = True
    does: bool = True
    """False: a service is answered, and nothing changes."""
    mute: frozenset[str] = frozenset()
    """Commands that are never answered; `auth`: nor is the token."""
    refuses: str = ""
    """Services end with this error."""
    greeting: str = ""
    """Said in place of `auth_required`."""
    floods: int = 0
    port: int = 0
    _listeners: list[tuple[ServerConnection, int]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def change(self, entity: str, state: str, **attributes: Any) -> None:
        """Let an entity change, and tell it to whoever subscribed."""
        with self._lock:
            old = self.states[entity]
            new = {**old, "state": state, "attributes": {**old["attributes"], **attributes}}
            self.states[entity] = new
            data = {"entity_id": entity, "old_state": old, "new_state": new}
            for connection, number in list(self._listeners):
                event = {"event_type": "state_changed", "data": data, "origin": "LOCAL"}
                with contextlib.suppress(ConnectionClosed):
                    connection.send(json.dumps({"id": number, "type": "event", "event": event}))

    def handle(self, connection: ServerConnection) -> None:
        """Speak with one client."""
        with contextlib.suppress(ConnectionClosed):
            if connection.request is None or connection.request.path != "/api/websocket":
                self.faults.append("another path than /api/websocket")
                return
            connection.send(self.greeting or json.dumps({"type": "auth_required", "ha_version": "2026.11.0"}))
            if self._is_let_in(connection):
                self._converse(connection)

    def _is_let_in(self, connection: ServerConnection) -> bool:
        said = json.loads(connection.recv(timeout=10))
        if set(said) != {"type", "access_token"} or said["type"] != "auth":
            self.faults.append("something else than auth first")
            connection.send(json.dumps({"type": "auth_invalid", "message": "Auth message incorrectly formatted"}))
            return False
        self.n_auth += 1
        if "auth" in self.mute:
            time.sleep(2)
            return False
        if said["access_token"] != TOKEN:
            connection.send(json.dumps({"type": "auth_invalid", "message": "Invalid access token or password"}))
            return False
        connection.send(json.dumps({"type": "auth_ok", "ha_version": "2026.11.0"}))
        return True

    def _converse(self, connection: ServerConnection) -> None:
        last = 0
        try:
            for text in connection:
                said = json.loads(text)
                number, kind = said.get("id"), said.get("type")
                if not isinstance(number, int) or isinstance(number, bool) or number <= last:
                    self.faults.append(f"id {number!r} after {last}")
                    self._say(
                        connection,
                        number,
                        False,
                        {"code": "id_reuse", "message": "Identifier values have to increase."},
                    )
                    continue
                last = number
                if kind in self.mute:
                    continue
                self._answer(connection, number, kind, said)
        finally:
            with self._lock:
                self._listeners = [pair for pair in self._listeners if pair[0] is not connection]

    def _answer(self, connection: ServerConnection, number: int, kind: str, said: dict[str, Any]) -> None:
        registries = {"config/area_registry/list": AREAS, "config/device_registry/list": DEVICES}
        registries["config/entity_registry/list"] = ENTITIES
        if kind == "ping":
            connection.send(json.dumps({"id": number, "type": "pong"}))
        elif kind == "get_states":
            self._say(connection, number, True, list(self.states.values()))
        elif kind == "get_config":
            self._say(connection, number, True, {"unit_system": {"temperature": "°C"}, "version": "2026.11.0"})
        elif kind in registries and self.allows_registries:
            self._say(connection, number, True, registries[kind])
        elif kind in registries:
            self._say(connection, number, False, {"code": "unauthorized", "message": "Unauthorized"})
        elif kind == "subscribe_events":
            with self._lock:
                self._listeners.append((connection, number))
            self._say(connection, number, True, None)
            for _ in range(self.floods):
                self.change("sensor.cellar", "12")
        elif kind == "call_service":
            self._serve(connection, number, said)
        else:
            self.faults.append(f"unknown command {kind!r}")
            self._say(connection, number, False, {"code": "unknown_command", "message": "Unknown command."})

    def _serve(self, connection: ServerConnection, number: int, said: dict[str, Any]) -> None:
        if set(said) - {"id", "type", "domain", "service", "service_data", "target", "return_response"}:
            self.faults.append(f"extra keys in {sorted(said)}")
        name = f"{said.get('domain')}/{said.get('service')}"
        schema, data = SCHEMAS.get(name), said.get("service_data") or {}
        entities = (said.get("target") or {}).get("entity_id") or []
        if schema is None:
            self._say(connection, number, False, {"code": "not_found", "message": f"Service {name} not found."})
            return
        bad = [key for key, value in data.items() if key not in schema or not isinstance(value, schema[key])]
        if bad or not isinstance(entities, list) or not entities:
            self.faults.append(f"{name} with {data} for {entities}")
            self._say(
                connection, number, False, {"code": "invalid_format", "message": f"extra keys not allowed: {bad}"}
            )
            return
        if self.refuses:
            self._say(connection, number, False, {"code": "home_assistant_error", "message": self.refuses})
            return
        self.called.append((name, data, entities))
        if self.does:
            for entity in entities:
                self._do(name, data, entity)
        self._say(connection, number, True, {"context": {"id": "01J", "parent_id": None, "user_id": "u"}})

    def _do(self, name: str, data: dict[str, Any], entity: str) -> None:
        if name == "light/turn_on":
            self.change(entity, "on", brightness=round(data.get("brightness_pct", 100) * 2.55), color_mode="brightness")
        elif name.endswith(("/turn_on", "/turn_off")):
            self.change(entity, name.rpartition("_")[2])
        elif name == "climate/set_temperature":
            self.change(entity, self.states[entity]["state"], temperature=data["temperature"])
        elif name == "climate/set_hvac_mode":
            self.change(entity, data["hvac_mode"])
        elif name.startswith("cover/"):
            place = data.get("position", 100 if name == "cover/open_cover" else 0)
            self.change(
                entity,
                "opening" if place else "closing",
                current_position=self.states[entity]["attributes"]["current_position"],
            )
            self.change(entity, "open" if place else "closed", current_position=place)
        elif name.startswith("lock/"):
            self.change(entity, "locked" if name == "lock/lock" else "unlocked")
        elif name == "media_player/volume_set":
            self.change(entity, self.states[entity]["state"], volume_level=data["volume_level"])

    def _say(self, connection: ServerConnection, number: object, success: bool, what: object) -> None:
        result = {"result": what} if success else {"error": what}
        connection.send(json.dumps({"id": number, "type": "result", "success": success, **result}))


@contextlib.contextmanager
def running_assistant(tls: ssl.SSLContext | None = None) -> Iterator[AssistantServer]:
    """Serve it on a free port until the block ends."""
    said = AssistantServer()
    with serve(said.handle, "127.0.0.1", 0, ssl=tls, max_size=16_000_000, close_timeout=1) as server:
        said.port = server.socket.getsockname()[1]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield said
        finally:
            server.shutdown()
            thread.join(10)
