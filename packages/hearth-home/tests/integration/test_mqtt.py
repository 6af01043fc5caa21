"""Home devices over real brokers: found, ordered once, confirmed or not, taken back; brokers that misbehave."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from hearth.config import Host, Network
from hearth.errors import Ambiguous, EgressError, MissingExtraError, ToolError, ToolTimeout, TransientToolError
from hearth.formats.tool_signature import to_plain
from hearth.guard.egress.gateway import Egress
from hearth.protocols import CallContext
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW, make_call
from hearth_home import connected_devices as connected_module
from hearth_home import mqtt_broker as broker_module
from hearth_home.tools.home import device_state, list_devices, lock_door, set_brightness, start_scene, turn_off, turn_on
from tests.mqtt_broker import BROKERS, Things, running

LAMP = {
    "name": "ceiling lamp",
    "dev": {"ids": "l1", "sa": "kitchen"},
    "cmd_t": "l/set",
    "stat_t": "l",
    "schema": "json",
    "brightness": True,
    "avty_t": "l/there",
}


@pytest.fixture(scope="module")
def port(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with running(getattr(request, "param", BROKERS[0]), tmp_path_factory.mktemp("broker")) as port:
        yield port


@pytest.fixture(autouse=True)
def _shorter_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connected_module, "QUIET_S", 0.5)
    monkeypatch.setattr(connected_module, "ALREADY_S", 2.0)


on_every_broker = pytest.mark.parametrize("port", BROKERS, indirect=True)


@pytest.fixture
def things(port: int) -> Iterator[Things]:
    found = Things(port)
    yield found
    for topic in found.kept:
        found.say(topic, b"")
    found.close()


def call_to(port: int, store: Store, key: str = "k1", network: Network | None = None, **home: Any) -> CallContext:
    egress = Egress([f"127.0.0.1:{port}"], store, lambda: FIXED_NOW, own=["127.0.0.1"], network=network)
    broker = {"host": "127.0.0.1", "port": port, "security": "none", "confirm_s": 0.6, **home.pop("mqtt", {})}
    return make_call(key, egress=egress, settings={"home": {"mqtt": broker, **home}})


def sent(call: CallContext) -> list[str]:
    entries = call.egress.ledger.entries()  # type: ignore[attr-defined]
    return [entry.payload.decode() for entry in entries if entry.kind == "sent"]


def lamp_on(things: Things, answers: bool = True, delay_s: float = 0.0) -> None:
    things.announce("light", "lamp", LAMP)
    things.say("l/there", "online")
    things.say("l", {"state": "OFF", "brightness": 10})

    def answer(text: str) -> None:
        threading.Timer(delay_s, lambda: things.say("l", {"brightness": 25, **json.loads(text)})).start()

    things.answer("l/set", answer if answers else lambda _: None)


# ── Orders ────────────────────────────────────────────────────────────────────────────────────────────────


@on_every_broker
def test_a_lamp_is_found_ordered_once_confirmed_and_set_back(things: Things, port: int, store: Store) -> None:
    lamp_on(things, delay_s=0.2)
    call = call_to(port, store)
    assert [(one.name, one.state) for one in list_devices(call)] == [("ceiling lamp", "off")]
    assert call.origins == {"light.lamp": "sensor"}
    (done,) = set_brightness(call, "kitchen light", 40)
    assert (done.state, call.notices) == ("on, 40 % bright", [])
    orders = [text for topic, text in things.heard if topic == "l/set"]
    assert orders == ['{"state": "ON", "brightness": 102}'], "exactly one order"
    set_brightness.undo({}, to_plain([done]), call)
    assert json.loads(things.heard[-1][1]) == {"state": "OFF"}
    assert device_state(call, "kitchen light")[0].state == "off"


def test_everything_sent_is_on_record_without_the_password(things: Things, port: int, store: Store) -> None:
    lamp_on(things)
    call = call_to(port, store, mqtt={"username": "hearth", "password": "s3cret-word"})
    turn_on(call, "ceiling lamp")
    said = sent(call)
    assert said[0] == "CONNECT hearth (password not kept)"
    assert any(line.startswith("SUBSCRIBE homeassistant/+/+/config") for line in said)
    assert said[-1] == 'PUBLISH l/set {"state": "ON"}'
    assert "s3cret" not in "".join(said)


@on_every_broker
def test_no_word_in_time_is_an_unknown_outcome(things: Things, port: int, store: Store) -> None:
    lamp_on(things, answers=False)
    with pytest.raises(ToolTimeout, match=r"not confirm it within 0\.6 s: whether it was done is not known"):
        turn_on(call_to(port, store), "ceiling lamp")
    assert len(things.heard) == 1


def test_of_several_the_silent_one_is_named(things: Things, port: int, store: Store) -> None:
    lamp_on(things)
    things.announce("light", "other", {"name": "reading lamp", "cmd_t": "o/set", "stat_t": "o"})
    things.say("o", "OFF")
    things.announce("light", "mute", {"name": "fairy lamp", "cmd_t": "m/set"})
    call = call_to(port, store)
    done = turn_on(call, "all lights")
    assert {one.name: one.state for one in done} == {
        "ceiling lamp": "on, 9.8 % bright",
        "reading lamp": "not known",
        "fairy lamp": "not known",
    }
    assert call.notices == [
        "Reading lamp did not confirm it within 0.6 s: whether it was done is not known; look there",
        "fairy lamp was told, and never says whether it did",
    ]
    with pytest.raises(ToolError, match="fairy lamp could not be set back"):
        turn_on.undo({}, to_plain(done), call)


def test_one_that_is_as_wanted_and_says_nothing_more_counts_as_confirmed(
    things: Things, port: int, store: Store
) -> None:
    things.announce("switch", "plug", {"name": "plug", "cmd_t": "p/set", "stat_t": "p"})
    things.say("p", "ON")
    call = call_to(port, store, mqtt={"confirm_s": 5.0})
    began = time.monotonic()
    assert turn_on(call, "plug")[0].before == {"is_on": True}
    assert time.monotonic() - began < 4.5
    assert call.notices == []


def test_one_that_says_it_is_away_is_not_ordered(things: Things, port: int, store: Store) -> None:
    lamp_on(things)
    things.answer("l/set")
    things.say("l/there", "offline")
    call = call_to(port, store)
    assert device_state(call, "ceiling lamp")[0].state == "not there, it says itself, off"
    with pytest.raises(ToolError, match="nothing was sent"):
        turn_on(call, "ceiling lamp")
    assert things.heard == []


def test_a_garage_door_moves(things: Things, port: int, store: Store) -> None:
    things.announce("cover", "g", {"name": "garage door", "dev_cla": "garage", "cmd_t": "g/set", "stat_t": "g"})
    things.say("g", "open")
    things.answer("g/set", lambda _: things.say("g", "closing"))
    (done,) = lock_door(call_to(port, store), "garage door")
    assert done.state == "closing"


def test_the_owners_words_go_before_the_brokers(things: Things, port: int, store: Store) -> None:
    lamp_on(things)
    named = [{"name": "big light", "room": "cookery", "kind": "lamp", "mqtt": "light.lamp"}]
    call = call_to(port, store, device=named)
    assert [(one.id, one.state) for one in list_devices(call)] == [("cookery/big light", "off")]
    assert turn_on(call, "big light")[0].state == "on, 9.8 % bright"


def test_two_of_one_name_are_asked_about_by_their_ids(things: Things, port: int, store: Store) -> None:
    lamp_on(things)
    things.announce("light", "trap", {**LAMP, "dev": {"ids": "l2", "sa": "kitchen"}, "cmd_t": "t/set", "stat_t": "t"})
    call = call_to(port, store)
    with pytest.raises(Ambiguous, match=r"\[light.lamp\].*\[light.trap\]"):
        turn_on(call, "ceiling lamp")
    assert turn_on(call, "light.lamp")[0].state == "on, 9.8 % bright"


def test_a_scene_sets_connected_and_written_ones_and_says_where_it_stopped(
    things: Things, port: int, store: Store
) -> None:
    lamp_on(things)
    things.announce("light", "other", {"name": "reading lamp", "cmd_t": "o/set", "stat_t": "o"})
    devices = [{"name": "floor lamp", "room": "den", "kind": "lamp"}]
    scene = {
        "evening": {"ceiling lamp": "on", "floor lamp": "off"},
        "night": {"ceiling lamp": "off", "reading lamp": "off"},
    }
    call = call_to(port, store, device=devices, scene=scene)
    assert (
        start_scene(call, "evening").text == "evening: ceiling lamp (kitchen): on, 9.8 % bright; floor lamp (den): off"
    )
    with pytest.raises(
        ToolTimeout, match=r"ceiling lamp \(kitchen\): off was set; then: .*reading lamp did not confirm"
    ):
        start_scene(call, "night")


@on_every_broker
def test_a_sensor_is_read(things: Things, port: int, store: Store) -> None:
    keys = {
        "name": "cellar sensor",
        "dev": {"ids": "c", "sa": "cellar"},
        "stat_t": "c",
        "dev_cla": "temperature",
        "unit_of_meas": "°C",
    }
    things.announce("sensor", "cellar", keys)
    things.say("c", "12.54")
    call = call_to(port, store)
    assert device_state(call, "the temperature in the cellar")[0].state == "temperature 12.54 °C"
    with pytest.raises(ToolError):
        turn_off(call, "cellar sensor")


# ── Twins ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.skipif("mosquitto" not in BROKERS, reason="amqtt carries no $hw topics; apt-get install mosquitto")
def test_a_twin_is_asked_ordered_and_confirmed(things: Things, port: int, store: Store) -> None:
    place = "$hw/events/device/default/cellar-lamp/twin"
    state = {"power": "false"}

    def twin() -> dict[str, Any]:
        return {key: {"actual": {"value": value}, "metadata": {"type": "boolean"}} for key, value in state.items()}

    def updated(text: str) -> None:  # what DeviceTwin and the device's mapper do
        wanted = json.loads(text)["twin"]
        state.update({key: one["expected"]["value"] for key, one in wanted.items()})
        current = {key: {"current": one} for key, one in twin().items()}
        things.say(f"{place}/update/document", {"twin": current}, is_kept=False)

    things.answer(f"{place}/get", lambda _: things.say(f"{place}/get/result", {"twin": twin()}, is_kept=False))
    things.answer(f"{place}/update", updated)
    named = [{"name": "cellar lamp", "room": "cellar", "kind": "lamp", "twin": "default/cellar-lamp"}]
    call = call_to(port, store, device=named, mqtt={"discover": False})
    assert device_state(call, "cellar light")[0].state == "off"
    (done,) = turn_on(call, "cellar light")
    assert (done.state, state, done.before) == ("on", {"power": "true"}, {"is_on": False})
    turn_on.undo({}, to_plain([done]), call)
    assert state == {"power": "false"}
    assert sum(topic.endswith("twin/update") for topic, _ in things.heard) == 2


# ── Brokers that misbehave, and the door ──────────────────────────────────────────────────────────────────


def test_a_flood_of_announcements_is_bounded(
    things: Things, port: int, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_module, "MAX_PER_S", 20)
    for k in range(60):
        things.announce("light", f"f{k}", {"name": f"lamp {k}", "cmd_t": f"f/{k}"})
    call = call_to(port, store)
    home = call.settings["home"]
    clock, cancelled = lambda: FIXED_NOW, threading.Event()
    with connected_module.opened(home, call.egress, clock, reason="test", cancelled=cancelled) as found:
        assert len(found.things) <= 40
        assert found.n_dropped >= 20


def test_a_host_that_is_not_allowed_is_not_reached(port: int, store: Store) -> None:
    call = make_call(
        egress=Egress([], store, lambda: FIXED_NOW),
        settings={"home": {"mqtt": {"host": "127.0.0.1", "port": port, "security": "none"}}},
    )
    with pytest.raises(EgressError, match="not a host Hearth may reach"):
        list_devices(call)
    assert sent(call) == []


def test_tls_with_an_authority_the_owner_named_and_without(tmp_path: Path, store: Store) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "server.pem"))
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with running(BROKERS[0], tmp_path, tls=tmp_path / "server.pem", authority=tmp_path / "ca.pem") as port:
        trusting = Network(host={"127.0.0.1": Host(ca_file=str(tmp_path / "ca.pem"))})
        named = [{"name": "floor lamp", "kind": "lamp"}]
        call = call_to(port, store, network=trusting, mqtt={"security": "tls"}, device=named)
        assert [one.name for one in list_devices(call)] == ["floor lamp"]
        assert call.notices == []
        assert any(entry.tls.startswith("TLS") for entry in call.egress.ledger.entries())  # type: ignore[attr-defined]
        with pytest.raises(ToolError, match="cannot be trusted"):
            list_devices(call_to(port, store, mqtt={"security": "tls"}, device=named))


@contextlib.contextmanager
def false_broker(answer: Callable[[socket.socket, bytes], bool]) -> Iterator[int]:
    """A server that answers each packet with `answer`, until it says so no more."""
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(0.05)
    over = threading.Event()

    def serve() -> None:
        while not over.is_set():
            with contextlib.suppress(OSError):
                client, _ = server.accept()
                with client, contextlib.suppress(OSError):
                    client.settimeout(1)
                    while (data := client.recv(65_536)) and answer(client, data):
                        pass

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        over.set()
        thread.join(10)
        server.close()


CONNACK = b"\x20\x02\x00\x00"
SAID = b"homeassistant/light/lamp/config"


def suback(data: bytes) -> bytes:
    n_topics = data.count(b"\x01") or 1
    return b"\x90" + bytes([2 + n_topics]) + data[2:4] + b"\x01" * n_topics


def kept(topic: bytes, payload: bytes) -> bytes:
    body = len(topic).to_bytes(2, "big") + topic + payload
    return (
        b"\x31" + (bytes([len(body) % 128 | 128, len(body) // 128]) if len(body) > 127 else bytes([len(body)])) + body
    )


def test_a_broker_that_refuses_the_log_in(store: Store) -> None:
    def answer(client: socket.socket, data: bytes) -> bool:
        client.sendall(b"\x20\x02\x00\x05")
        return False

    with false_broker(answer) as port, pytest.raises(ToolError, match="refused the log-in"):
        list_devices(call_to(port, store))


def test_a_packet_that_is_too_large_ends_the_connection(store: Store) -> None:
    def answer(client: socket.socket, data: bytes) -> bool:
        if data[0] == 0x10:
            client.sendall(CONNACK)
        elif data[0] == 0x82:
            client.sendall(suback(data) + b"\x31\xff\xff\xff\x7f" + b"x" * 100_000)
        return True

    named = [{"name": "floor lamp", "kind": "lamp"}]
    with false_broker(answer) as port:
        call = call_to(port, store, device=named)
        assert [one.name for one in list_devices(call)] == ["floor lamp"], "what is not connected stays"
        assert "ended the connection, or sent what is no MQTT" in call.notices[0]


@pytest.mark.parametrize(
    "garbage", [b"\x00" * 50, b"\xff" * 50, b"\x31\x02\xff\xff", b"HTTP/1.1 400 Bad Request\r\n\r\n"]
)
def test_garbage_instead_of_an_answer(garbage: bytes, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_module, "ANSWER_TIMEOUT_S", 0.5)

    def answer(client: socket.socket, data: bytes) -> bool:
        client.sendall(garbage)
        return data[0] != 0x10

    with false_broker(answer) as port, pytest.raises(ToolError):
        turn_on(call_to(port, store, device=[{"name": "lamp", "kind": "lamp", "mqtt": "light.lamp"}]), "lamp")


def test_an_order_without_a_receipt_may_or_may_not_have_been_passed_on(store: Store) -> None:
    orders = []

    def answer(client: socket.socket, data: bytes) -> bool:
        if data[0] == 0x10:
            client.sendall(CONNACK)
        elif data[0] == 0x82:
            client.sendall(suback(data) + kept(SAID, b'{"cmd_t": "l/set", "name": "lamp"}'))
        elif data[0] & 0xF0 == 0x30:
            orders.append(data)
            return False
        return True

    with false_broker(answer) as port, pytest.raises(ToolTimeout, match="may or may not have been passed on"):
        turn_on(call_to(port, store), "lamp")
    assert len(orders) == 1, "it is not sent again"


def test_nobody_there(store: Store) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        named = [{"name": "floor lamp", "kind": "lamp"}, {"name": "big lamp", "kind": "lamp", "mqtt": "light.l"}]
        call = call_to(port, store, device=named)
        assert [one.state for one in list_devices(call)] == ["not known", "not known: out of reach"]
        assert "left out: cannot reach the MQTT broker" in call.notices[0]
        with pytest.raises(TransientToolError, match="cannot be reached"):
            turn_on(call, "big lamp")


def test_without_the_extra_the_command_is_said(port: int, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "paho.mqtt.client", None)
    with pytest.raises(ToolError, match=r"pip install 'hearth-home\[mqtt\]'"):
        list_devices(call_to(port, store))
    with pytest.raises(MissingExtraError):
        broker_module._client("x", None)
