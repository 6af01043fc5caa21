"""Real MQTT brokers for tests: mosquitto where it is installed, and amqtt, which comes with the tests; things on them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion

MOSQUITTO = shutil.which("mosquitto", path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin")))
BROKERS = ("mosquitto", "amqtt") if MOSQUITTO else ("amqtt",)
_AMQTT = """
import asyncio, logging, sys
from amqtt.broker import Broker
logging.disable(logging.CRITICAL)
config = {
    "listeners": {"default": {"type": "tcp", "bind": "127.0.0.1:" + sys.argv[1]}},
    "plugins": {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}},
}
if len(sys.argv) > 2:
    secured = {"ssl": True, "certfile": sys.argv[2], "keyfile": sys.argv[2]}
    config["listeners"]["default"].update(secured)
async def run():
    broker = Broker(config)
    await broker.start()
    await asyncio.sleep(3600)
asyncio.run(run())
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def running(
    kind: str, folder: Path, tls: Path | None = None, authority: Path | None = None, port: int = 0
) -> Iterator[int]:
    """A broker of that kind on a port of this machine; with `tls`, a file of its key and certificates."""
    port = port or free_port()
    if kind == "mosquitto":
        assert MOSQUITTO is not None
        settings = folder / "mosquitto.conf"
        secured = f"certfile {tls}\nkeyfile {tls}\ncafile {authority}\n" if tls else ""
        settings.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nuser root\n{secured}")
        command = [MOSQUITTO, "-c", str(settings)]
    else:
        command = [sys.executable, "-c", _AMQTT, str(port), *([str(tls)] if tls else [])]
    with open(folder / "broker.log", "wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        until = time.monotonic() + 20
        while not _is_listening(port):
            assert process.poll() is None, (folder / "broker.log").read_text()
            assert time.monotonic() < until, "the broker does not listen"
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait(10)


def _is_listening(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Things:
    """A client beside Hearth: announces, says, answers orders, keeps what was ordered."""

    def __init__(self, port: int) -> None:
        self.heard: list[tuple[str, str]] = []
        self.kept: set[str] = set()
        """Topics on which the broker keeps something."""
        self._answers: dict[str, Callable[[str], None]] = {}
        self._granted = threading.Event()
        self._client = Client(CallbackAPIVersion.VERSION2, client_id=f"things-{port}")
        self._client.on_message = self._came
        self._client.on_subscribe = lambda *_: self._granted.set()
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()

    def say(self, topic: str, said: object, *, is_kept: bool = True) -> None:
        if is_kept:
            self.kept.add(topic)
        payload = said if isinstance(said, str | bytes) else json.dumps(said)
        self._client.publish(topic, payload, qos=1, retain=is_kept).wait_for_publish(5)

    def announce(self, component: str, id: str, said: Mapping[str, object]) -> None:
        self.say(f"homeassistant/{component}/{id}/config", said)

    def answer(self, topic: str, answer: Callable[[str], None] = lambda _: None) -> None:
        """Hear what is ordered on a topic, and answer it."""
        self._answers[topic] = answer
        self._granted.clear()
        self._client.subscribe(topic, 1)
        assert self._granted.wait(5), "the broker did not grant a subscription"

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def _came(self, _client: object, _given: object, message: MQTTMessage) -> None:
        text = message.payload.decode()
        self.heard.append((message.topic, text))
        answer = self._answers.get(message.topic)
        if answer is not None:  # beside paho's own thread, which it would wait for
            threading.Thread(target=answer, args=(text,), daemon=True).start()
