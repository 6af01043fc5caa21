"""Devices of Home Assistant over its websocket API: found, ordered once, confirmed, taken back, judged as any other."""

from __future__ import annotations

import contextlib
import json
import socketserver
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from hearth.config import Host, Network, parse_settings
from hearth.errors import ConfigError, EgressError, ToolError, ToolTimeout, TransientToolError
from hearth.formats.tool_signature import to_plain
from hearth.guard.egress.gateway import Egress
from hearth.protocols import CallContext
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW, make_call
from hearth_home import assistant_states as socket_module
from hearth_home import assistant_states as states_module
from hearth_home import connected_devices as connected_module
from hearth_home.assistant_states import STATES, assistant_of, connected_assistant
from hearth_home.tools.home import (
    close_blinds,
    device_state,
    list_devices,
    lock_door,
    set_brightness,
    set_temperature,
    set_volume,
    start_scene,
    turn_off,
    turn_on,
    unlock_door,
)  # fmt: skip
from tests.assistant_server import TOKEN, AssistantServer, running_assistant
from tests.mqtt_broker import BROKERS, running


@pytest.fixture(autouse=True)
def _shorter_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connected_module, "QUIET_S", 0.05)


@pytest.fixture
def server() -> Iterator[AssistantServer]:
    with running_assistant() as said:
        yield said
    assert said.faults == [], "the client kept to the protocol"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "hearth.db") as store:
        yield store


def call_to(port: int, store: Store, key: str = "k1", **home: Any) -> CallContext:
    allowed = [f"127.0.0.1:{port}", *home.pop("allow", [])]
    egress = Egress(allowed, store, lambda: FIXED_NOW, own=["127.0.0.1"], network=home.pop("network", None))
    table = {"url": f"http://127.0.0.1:{port}", "token": TOKEN, "confirm_s": 0.6, **home.pop("assistant", {})}
    return make_call(key, egress=egress, settings={"home": {"assistant": table, **home}})


def sent(call: CallContext) -> list[str]:
    entries = call.egress.ledger.entries()  # type: ignore[attr-defined]
    return [entry.payload.decode() for entry in entries if entry.kind == "sent"]


def test_entities_are_devices_with_rooms_kinds_and_states(server: AssistantServer, store: Store) -> None:
    call = call_to(server.port, store)
    found = {one.name: (one.room, one.kind, one.state) for one in list_devices(call)}
    assert found == {
        "Ceiling lamp": ("Kitchen", "lamp", "off"),
        "Front door": ("Hall", "lock", "locked"),
        "Bath heating": ("Hall", "heating", "on, 20 °C"),
        "Bedroom blind": ("", "blinds", "open"),
        "Radio": ("", "speaker", "on, volume 20 %"),
        "Pump": ("", "plug", "not there, it says itself"),
        "Cellar": ("", "sensor", "temperature 11.5 °C"),
        "Window": ("", "sensor", "window: yes"),
    }
    assert set(call.origins.values()) == {"sensor"}


def test_a_lamp_is_ordered_once_confirmed_and_set_back(server: AssistantServer, store: Store) -> None:
    call = call_to(server.port, store)
    (done,) = set_brightness(call, "kitchen light", 40)
    assert (done.state, call.notices) == ("on, 40 % bright", [])
    assert server.called == [("light/turn_on", {"brightness_pct": 40}, ["light.ceiling"])]
    set_brightness.undo({}, to_plain([done]), call)
    assert server.called[1:] == [("light/turn_off", {}, ["light.ceiling"])]
    assert device_state(call, "kitchen light")[0].state == "off"


def test_each_kind_is_set_by_its_own_service(server: AssistantServer, store: Store) -> None:
    assert set_temperature(call_to(server.port, store), 22, "bath heating")[0].state.startswith("on, 22 °C")
    assert close_blinds(call_to(server.port, store), "bedroom blind")[0].state == "closed"
    assert set_volume(call_to(server.port, store), 55, "radio")[0].state == "on, volume 55 %"
    assert unlock_door(call_to(server.port, store), "front door")[0].state == "unlocked"
    assert lock_door(call_to(server.port, store), "front door")[0].state == "locked"
    assert turn_off(call_to(server.port, store), "bath heating")[0].state.startswith("off")
    assert [name for name, _, _ in server.called] == [
        "climate/set_temperature", "cover/close_cover", "media_player/volume_set", "lock/unlock", "lock/lock",
        "climate/set_hvac_mode",
    ]  # fmt: skip


def test_a_scene_and_a_name_of_the_owners_reach_it(server: AssistantServer, store: Store) -> None:
    device = [{"name": "big light", "room": "kitchen", "kind": "lamp", "entity": "light.ceiling"}]
    call = call_to(server.port, store, device=device, scene={"reading": {"big light": 60}})
    assert [one.name for one in list_devices(call)].count("big light") == 1
    assert start_scene(call, "reading").devices[0].state == "on, 60 % bright"


def test_what_home_assistant_refuses_is_said_and_nothing_was_done(server: AssistantServer, store: Store) -> None:
    server.refuses = "Cannot \x1b[31m reach the device"
    with pytest.raises(ToolError, match=r"refused 'light/turn_on': Cannot \[31m reach the device; nothing was done"):
        turn_on(call_to(server.port, store), "kitchen light")


def test_no_word_in_time_is_an_unknown_outcome(server: AssistantServer, store: Store) -> None:
    server.does = False
    with pytest.raises(ToolTimeout, match="whether it was done is not known"):
        turn_on(call_to(server.port, store), "kitchen light")
    assert len(server.called) == 1


def test_an_order_that_is_never_answered_is_an_unknown_outcome(
    server: AssistantServer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket_module, "ANSWER_TIMEOUT_S", 0.3)
    server.mute = frozenset({"call_service"})
    with pytest.raises(ToolTimeout, match="may or may not have been done"):
        turn_on(call_to(server.port, store), "kitchen light")


def test_a_device_that_is_away_is_sent_nothing(server: AssistantServer, store: Store) -> None:
    with pytest.raises(ToolError, match="is not there, it says itself"):
        turn_on(call_to(server.port, store), "pump")
    assert server.called == []


def test_what_is_asked_of_it_is_on_record_without_the_token(server: AssistantServer, store: Store) -> None:
    call = call_to(server.port, store)
    turn_on(call, "kitchen light")
    said = sent(call)
    assert said[0] == "auth (token not kept)"
    assert 'call_service light/turn_on {"data": {}, "target": {"entity_id": ["light.ceiling"]}}' in said
    assert TOKEN not in "".join(said)


def test_a_wrong_token_is_refused_and_not_told(server: AssistantServer, store: Store) -> None:
    call = call_to(server.port, store, assistant={"token": "secret-wrong-token"})
    with pytest.raises(ToolError, match="refused the token") as caught:
        list_devices(call)
    assert "secret-wrong" not in str(caught.value)
    assert "secret-wrong" not in repr(assistant_of(call.settings["home"]))


def test_without_the_registries_devices_have_no_room(server: AssistantServer, store: Store) -> None:
    server.allows_registries = False
    found = {one.name: one.room for one in list_devices(call_to(server.port, store))}
    assert found["Ceiling lamp"] == ""
    assert "Hidden" in found, "what is hidden is not known without the registry"


def test_only_what_the_owner_names_is_used(server: AssistantServer, store: Store) -> None:
    call = call_to(server.port, store, assistant={"entities": ["light.ceiling", "person.mira"]})
    assert [one.name for one in list_devices(call)] == ["Ceiling lamp"]


@pytest.mark.parametrize(
    "state",
    [
        {}, "x", 5, None, {"entity_id": "light.a"}, {"entity_id": "../../x", "state": "on"},
        {"entity_id": "light.a", "state": "x" * 300}, {"entity_id": "light.a", "state": 5},
        {"entity_id": "light.a", "state": "on", "attributes": []},
        {"entity_id": "light.ugly", "state": "on", "attributes": {"brightness": "full", "friendly_name": ["x"]}},
        {"entity_id": "light.ugly", "state": "on", "attributes": {"brightness": True, "supported_color_modes": 7}},
        {"entity_id": "sensor.ugly", "state": "NaN", "attributes": {"unit_of_measurement": 5, "device_class": {}}},
        {"entity_id": "sensor.ugly", "state": "1e400"},
        {"entity_id": "climate.ugly", "state": "heat", "attributes": {"hvac_modes": "off", "temperature": "warm"}},
        {"entity_id": "cover.ugly", "state": "open", "attributes": {"current_position": 1e9}},
        {"entity_id": "media_player.ugly", "state": "on", "attributes": {"supported_features": "all", "volume_level": 99}},
        {"entity_id": "light.ugly", "state": "on", "attributes": {"friendly_name": "a\x1b[2Jb\n" * 100}},
    ],
)  # fmt: skip
def test_garbled_states_do_not_hide_the_others(server: AssistantServer, store: Store, state: Any) -> None:
    server.states["bad"] = state
    found = list_devices(call_to(server.port, store))
    assert "Ceiling lamp" in {one.name for one in found}
    assert all(one.name.isprintable() and len(one.name) <= 100 for one in found)


def test_a_flood_is_bounded_and_counted(server: AssistantServer, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_module, "MAX_PER_S", 20)
    server.floods = 300
    call = call_to(server.port, store)
    with connected_module.opened(
        call.settings["home"], call.egress, lambda: FIXED_NOW, reason="test", cancelled=threading.Event()
    ) as found:
        assert found.n_dropped >= 200


def test_more_things_than_are_taken_are_said(
    server: AssistantServer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states_module, "MAX_THINGS", 3)
    call = call_to(server.port, store)
    with connected_module.opened(
        call.settings["home"], call.egress, lambda: FIXED_NOW, reason="test", cancelled=threading.Event()
    ) as found:
        assert len(found.things) == 3
        assert "name those you use" in found.refused[0]


def test_changes_are_heard_as_they_come(server: AssistantServer, store: Store) -> None:
    call = call_to(server.port, store)
    with connected_module.opened(
        call.settings["home"], call.egress, lambda: FIXED_NOW, reason="test", cancelled=threading.Event()
    ) as found:
        timer = threading.Timer(0.1, lambda: server.change("sensor.cellar", "12.5"))
        timer.start()
        heard = next(one for one in found.watch(20) if one.quantity == "temperature")
        timer.join()
    assert (heard.thing, heard.value, heard.unit, heard.is_retained) == ("assistant:sensor.cellar", 12.5, "°C", False)


@pytest.mark.parametrize("greeting", ['{"type": "hello"}', "[]", "no json", "[" * 100_000])
def test_a_server_of_another_kind_is_told_apart(store: Store, greeting: str) -> None:
    with running_assistant() as server:
        server.greeting = greeting
        with pytest.raises(ToolError, match="does not speak its websocket API"):
            list_devices(call_to(server.port, store))
        assert server.n_auth == 0, "the token was not shown"


@contextlib.contextmanager
def dumb_server(says: bytes, *, stays: bool) -> Iterator[int]:
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(4096)
            self.request.sendall(says)
            if stays:
                over.wait(10)

    over = threading.Event()
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as running_server:
        running_server.daemon_threads = True
        thread = threading.Thread(target=running_server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield running_server.server_address[1]
        finally:
            over.set()
            running_server.shutdown()
            thread.join()


@pytest.mark.parametrize("says", [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"", b"\xff" * 200])
def test_what_is_no_websocket_ends_in_words(store: Store, says: bytes) -> None:
    with dumb_server(says, stays=False) as port, pytest.raises((ToolError, TransientToolError)):
        list_devices(call_to(port, store))


def test_a_server_that_never_answers_is_left(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_module, "CONNECT_TIMEOUT_S", 0.4)
    monkeypatch.setattr(socket_module, "ANSWER_TIMEOUT_S", 0.4)
    began = time.monotonic()
    with dumb_server(b"", stays=True) as port:
        call = call_to(port, store, device=[{"name": "lamp", "kind": "lamp"}])
        assert [one.name for one in list_devices(call)] == ["lamp"]
        assert "cannot reach" in call.notices[0]
    with running_assistant() as server:
        server.mute = frozenset({"auth"})
        call = call_to(server.port, store, device=[{"name": "lamp", "kind": "lamp"}])
        list_devices(call)
        assert "Home Assistant at" in call.notices[0]
    assert time.monotonic() - began < 8


def test_what_had_come_before_is_told_however_late_one_listens(server: AssistantServer, store: Store) -> None:
    egress = Egress([f"127.0.0.1:{server.port}"], store, lambda: FIXED_NOW, own=["127.0.0.1"])
    assistant = assistant_of({"assistant": {"url": f"http://127.0.0.1:{server.port}", "token": TOKEN}})
    assert assistant is not None
    with connected_assistant(assistant, egress, "a test", threading.Event()) as session:
        topics = [message.topic for message in session.listen(0.0, 0.0)]
        assert topics[-1] == STATES, "the states are read by the rooms that are told before them"
        assert list(session.listen(0.0, 0.0)) == []


def test_a_host_that_is_not_allowed_is_not_reached(server: AssistantServer, store: Store) -> None:
    egress = Egress([], store, lambda: FIXED_NOW)
    table: dict[str, Any] = {"url": f"http://127.0.0.1:{server.port}", "token": TOKEN}
    with pytest.raises(EgressError, match="not a host Hearth may reach"):
        list_devices(make_call(egress=egress, settings={"home": {"assistant": table}}))
    assert server.n_auth == 0


def test_tls_with_an_authority_the_owner_named_and_without(tmp_path: Path, store: Store) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with running_assistant(context) as server:
        url = {"url": f"https://127.0.0.1:{server.port}"}
        with pytest.raises(ToolError, match="cannot be trusted"):
            list_devices(call_to(server.port, store, assistant=url))
        network = Network(host={"127.0.0.1": Host(ca_file=str(tmp_path / "ca.pem"))})
        assert list_devices(call_to(server.port, store, assistant=url, network=network))


def test_devices_of_a_broker_and_of_home_assistant_are_one_home(
    server: AssistantServer, store: Store, tmp_path: Path
) -> None:
    with running(BROKERS[0], tmp_path) as port:
        broker = {"host": "127.0.0.1", "port": port, "security": "none", "confirm_s": 1.0}
        call = call_to(server.port, store, mqtt=broker, allow=[f"127.0.0.1:{port}"])
        assert turn_on(call, "kitchen light")[0].state.startswith("on")
    call = call_to(server.port, store, "k2", mqtt=broker, allow=[f"127.0.0.1:{port}"])
    assert "Ceiling lamp" in {one.name for one in list_devices(call)}, "the broker is away, the rest is there"
    assert "MQTT broker" in call.notices[0]


def test_where_nobody_answers_who_has_the_devices_that_is_said(store: Store) -> None:
    with socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler, bind_and_activate=False) as closed:
        closed.server_bind()
        call = call_to(closed.server_address[1], store)
        with pytest.raises(TransientToolError, match=r"cannot reach .*; check that it runs"):
            list_devices(call)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"url": "http://example.org:8123"}, "without TLS"),
        ({"url": "http://192.168.1.5:8123"}, "everybody in the house"),
        ({"token": ""}, "has no token"),
    ],
)
def test_a_token_goes_nowhere_in_the_clear_unless_the_owner_says_so(table: dict[str, str], says: str) -> None:
    with pytest.raises(ToolError, match=says):
        assistant_of({"assistant": {"url": "https://ha.example", "token": "x", **table}})
    fine = assistant_of({"assistant": {"url": "http://192.168.1.5", "token": "x", "unencrypted": True}})
    assert fine is not None
    assert (fine.port, fine.address) == (8123, "ws://192.168.1.5:8123/api/websocket")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[home.assistant]\nurl = "ftp://x"', "pattern"),
        ('[home.assistant]\nurl = "https://user:pw@x"', "pattern"),
        ('[[home.device]]\nname = "a"\nkind = "lamp"\nentity = "light.a"', "no \\[home.assistant\\]"),
        ('[[home.device]]\nname = "a"\nkind = "lamp"\nentity = "light.a"\nmqtt = "light.b"', "more than one"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        parse_settings(text, tmp_path / "hearth.toml")


def test_the_record_of_states_is_no_json_bomb(server: AssistantServer, store: Store) -> None:
    server.states["deep"] = {"entity_id": "light.deep", "state": "on", "attributes": json.loads("[" * 500 + "]" * 500)}
    assert list_devices(call_to(server.port, store))
