"""Listens to the sensors and devices of a home, and remembers what matters: for `hearth up` and `hearth devices watch`.

Covered: connections that break or are refused for a while (opened again, at growing intervals), ending in the middle.
Not covered: which readings matter (`sensor_memory`).
"""

from __future__ import annotations

import datetime as dt
import functools
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hearth import config
from hearth.errors import TransientToolError
from hearth.guard.egress.gateway import Egress
from hearth.protocols import Observation, Remembering, Thing
from hearth.storage.database import Store
from hearth_home.connected_devices import Connected, opened
from hearth_home.sensor_memory import Recorder

_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 60.0
_REASON = "listen to devices of the home"


def watch(
    home: Path, environ: Mapping[str, str], memory: Remembering, stop: threading.Event, say: Callable[[str], None]
) -> None:
    """Remember what sensors report until `stop` is set; an entry point of the group `hearth.watchers`.

    Raises:
        HearthError: The broker may not be reached, say; nothing more is listened to.
    """
    settings = config.read_settings(home / "hearth.toml")
    place = settings.home.mqtt or settings.home.assistant
    if place is None:
        return
    clock = functools.partial(dt.datetime.now, settings.zone())
    recorder = Recorder(memory, place.keep_every_s)
    with Store.open(home / "hearth.db") as store:
        egress = Egress.from_settings(settings, store, clock)
        for one, thing in readings(settings.for_tools(environ)["home"], egress, clock, stop, say):
            recorder.take(one, thing)


def readings(
    table: Any,
    egress: Egress,
    clock: Callable[[], dt.datetime],
    stop: threading.Event,
    say: Callable[[str], None],
    until_s: float = float("inf"),
) -> Iterator[tuple[Observation, Thing]]:
    """Yield what is reported, over as many connections as it takes, waiting longer after each that failed.

    Args:
        table: The settings of [home], as tools get them.
        say: Told what is wrong once a second attempt has failed, and nothing (empty) when a connection stands.
        until_s: On the monotonic clock.
    Raises:
        HearthError: What no second attempt would mend.
    """
    wait_s = _FIRST_WAIT_S
    while not stop.is_set() and time.monotonic() < until_s:
        try:
            with opened(table, egress, clock, reason=_REASON, cancelled=stop) as found:
                wait_s = _FIRST_WAIT_S
                say("")
                yield from _of_look(found)
                for one in found.watch(until_s - time.monotonic()):
                    if one.thing in found.things:
                        yield one, found.things[one.thing]
        except TransientToolError as error:
            if wait_s > _FIRST_WAIT_S or time.monotonic() + wait_s >= until_s:
                say(str(error))
            stop.wait(min(wait_s, max(0.0, until_s - time.monotonic())))
            wait_s = min(wait_s * 2, _LONGEST_WAIT_S)


def _of_look(found: Connected) -> Iterator[tuple[Observation, Thing]]:
    for id, said in found.states.items():
        if id in found.things:
            yield from ((one, found.things[id]) for one in said.values())
