"""Whoever keeps the cloud may say, over KubeEdge's broker on the node, that there is something new: `hearth/sync`.

KubeEdge's rule in the downward direction (deploy/kubeedge) ends at that topic of the node's broker. What comes there
carries nothing that is looked at: it hastens a `hearth edge sync` that would come anyway, and no more often than
`running.Times.hasten_s` lets it, for whoever may write to the broker may say so.

Covered: a broker that is away, refuses or flaps (tried again, ever more rarely, as each opening is written into the
ledger), a flood (one sync a minute), a message that the broker kept from before (passed over), a home whose settings
name no broker any more. Not covered: who said it.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import random
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from hearth import config
from hearth.errors import HearthError, MissingExtraError, ToolError
from hearth.guard.egress.gateway import Egress
from hearth.storage.database import Store
from hearth_home.mqtt_broker import Session, connected
from hearth_home.mqtt_settings import Broker, configured

TOPIC = "hearth/sync"
_REASON = "whether to send and fetch"
_FIRST_WAIT_S, _LONGEST_WAIT_S = 10.0, 3600.0
_LASTED_S = 600.0
"""A connection that lasted so long was well: the next wait is short again."""
_LISTEN_S = 3600.0


class Listener:
    """Sets `asked` when somebody says that there is something new, until `stop` is set. `run` is for a thread."""

    def __init__(
        self,
        home: Path,
        environ: Mapping[str, str],
        asked: threading.Event,
        stop: threading.Event,
        say: Callable[[str], None],
        lot: random.Random | None = None,
    ) -> None:
        """Args: lot: Spreads the waits; seeded in tests."""
        self._home, self._environ = home, environ
        self._asked, self._stop, self._say = asked, stop, say
        self._lot = lot or random.Random()  # noqa: S311 - no secret is made of it
        self._said = ""
        self.is_listening = threading.Event()

    def run(self) -> None:
        """Listen, and connect anew where it ends. Returns when it is told to stop, or where nothing can ever come."""
        n_failures = 0
        while not self._stop.is_set():
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
            self._stop.wait(wait_s * self._lot.uniform(0.5, 1.0))

    def _listen(self) -> None:
        """Raises: HearthError: It cannot be reached, refuses, or the connection ended."""
        broker, settings = self._broker()
        with contextlib.ExitStack() as open_:
            session = self._connected(broker, settings, open_)
            self.is_listening.set()
            self._said = ""
            while not self._stop.is_set():
                for message in session.listen(_LISTEN_S):
                    if message.topic == TOPIC and not message.is_retained:
                        self._asked.set()

    def _broker(self) -> tuple[Broker, config.Settings]:
        settings = config.read_settings(self._home / "hearth.toml")
        broker = configured(settings.for_tools(self._environ)["home"])
        if broker is None:
            raise ToolError("[home.mqtt] names no broker any more; nobody is listened to")
        return broker, settings

    def _connected(self, broker: Broker, settings: config.Settings, open_: contextlib.ExitStack) -> Session:
        """The database is open for no longer than what is sent takes to be written down: others may replace it."""

        def clock() -> dt.datetime:
            return dt.datetime.now(settings.zone())

        with Store.open(self._home / "hearth.db") as store:
            egress = Egress.from_settings(settings, store, clock)
            session = open_.enter_context(connected(broker, egress, _REASON, self._stop))
            session.subscribe([TOPIC])
        return session

    def _tell(self, what: str) -> None:
        """Once for each kind of fault, not for each try."""
        if what != self._said and not self._stop.is_set():
            self._said = what
            self._say(f"not listening at {TOPIC}: {what}")
