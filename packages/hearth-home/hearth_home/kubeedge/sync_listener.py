"""Listen on the node's KubeEdge broker for the hint, on topic `hearth/sync`, that the cloud has something new.

KubeEdge's rule in the downward direction (deploy/kubeedge) ends at that topic of the node's broker. The content of a
message is ignored: it only hastens a `hearth edge sync` that would come anyway, and no more often than
`scheduler.Times.hasten_s` lets it, since anyone who may write to the broker may send it.

Covered: a broker that is away, refuses or flaps (tried again at growing intervals, as each connection is written into
the ledger), a flood (one sync a minute), a message retained from before (ignored), a home whose settings name no broker
any more. Not covered: who sent it.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hearth import config
from hearth.errors import HearthError, MissingExtraError, ToolError
from hearth.guard.egress.gateway import Egress
from hearth.storage.database import Store
from hearth_home.mqtt_broker import Broker, Session, configured, connected

TOPIC = "hearth/sync"
_REASON = "whether to send and fetch"
_FIRST_WAIT_S, _LONGEST_WAIT_S = 10.0, 3600.0
_LASTED_S = 600.0
"""A connection that lasted this long counts as healthy: the next wait is short again."""
_LISTEN_S = 3600.0


def listen(
    home: Path,
    environ: Mapping[str, str],
    asked: threading.Event,
    stop: threading.Event,
    say: Callable[[str], None],
) -> None:
    """Listen until `stop` is set; an entry point of the group `hearth.listeners`."""
    Listener(home, environ, asked, stop, say).run()


@dataclass(eq=False)
class Listener:
    """Sets `asked` when a message says that there is something new, until `stop` is set. Call `run` in a thread of its
    own."""

    home: Path
    environ: Mapping[str, str]
    asked: threading.Event
    """Set when a message asks to sync."""
    stop: threading.Event
    say: Callable[[str], None]
    lot: random.Random = field(default_factory=random.Random)
    """Spreads the waits; seeded in tests."""
    is_listening: threading.Event = field(default_factory=threading.Event, init=False)
    _said: str = field(default="", init=False)

    def run(self) -> None:
        """Listen, and reconnect when the connection ends. Returns when told to stop, or when no message can ever
        come."""
        n_failures = 0
        while not self.stop.is_set():
            began_s = time.monotonic()
            try:
                self._listen()
            except MissingExtraError as error:
                self._tell(str(error))
                return
            except HearthError as error:
                self._tell(str(error))
            finally:
                self.is_listening.clear()
            n_failures = 0 if time.monotonic() - began_s >= _LASTED_S else n_failures + 1
            wait_s = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2.0 ** min(max(n_failures - 1, 0), 20))
            self.stop.wait(wait_s * self.lot.uniform(0.5, 1.0))

    def _listen(self) -> None:
        """Connect and listen. Raises: HearthError: The broker cannot be reached, refuses, or the connection ended."""
        broker, settings = self._broker()
        with contextlib.ExitStack() as open_:
            session = self._connected(broker, settings, open_)
            self.is_listening.set()
            self._said = ""
            while not self.stop.is_set():
                for message in session.listen(_LISTEN_S):
                    if message.topic == TOPIC and not message.is_retained:
                        self.asked.set()

    def _broker(self) -> tuple[Broker, config.Settings]:
        settings = config.read_settings(self.home / "hearth.toml")
        broker = configured(settings.for_tools(self.environ)["home"])
        if broker is None:
            raise ToolError("[home.mqtt] names no broker any more; nobody is listened to")
        return broker, settings

    def _connected(self, broker: Broker, settings: config.Settings, open_: contextlib.ExitStack) -> Session:
        """Connect to the broker. The database is open only while what is sent is written down, as others may replace
        it."""

        def clock() -> dt.datetime:
            return dt.datetime.now(settings.zone())

        with Store.open(self.home / "hearth.db") as store:
            egress = Egress.from_settings(settings, store, clock)
            session = open_.enter_context(connected(broker, egress, _REASON, self.stop))
            session.subscribe([TOPIC])
        return session

    def _tell(self, what: str) -> None:
        """Report a fault once for each kind, not for each try."""
        if what != self._said and not self.stop.is_set():
            self._said = what
            self.say(f"not listening at {TOPIC}: {what}")
