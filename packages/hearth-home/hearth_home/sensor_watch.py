"""Listens to the sensors and devices of a home, and remembers what matters: for `hearth up` and `hearth devices watch`.

Covered: connections that break or are refused for a while (opened again, at growing intervals), ending in the middle.
Not covered: which readings matter.
"""

from __future__ import annotations

import datetime as dt
import functools
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hearth import config
from hearth.errors import TransientToolError
from hearth.guard.egress.gateway import Egress
from hearth.protocols import Observation, Reading, Remembering, Thing
from hearth.storage.database import Store
from hearth.types import Label
from hearth_home.connected_devices import Connected, opened

# ── What is worth remembering ──────────────────────────────────────────────────────────────────────────
# Turn sensor readings that are worth remembering into memories.
# A number is kept when it has moved by more than a sensor's noise, a yes or no when it changed, and every reading now
# and then (`every_s`). What a broker reports is labelled as a sensor's word (`sensor`), not the owner's: a request
# that uses it asks first.
# Covered: floods (a reading at most once a minute each, `MAX_PER_DAY` in all), the same reading twice, messages that
# the broker retained (not kept, since their time is unknown). Not covered: a sensor that lies.


KIND = "observation"
TOLD = Label(frozenset({"sensor"}), frozenset())
MAX_PER_DAY = 5_000
LEAST_S = 60.0
_STEPS: Mapping[str, float] = {"temperature": 0.5, "set_temperature": 0.5, "humidity": 3.0, "brightness": 5.0}
_STEP_SHARE = 0.05
"""Least change of any other quantity, as a share of the last kept value."""
_NOT_KEPT = frozenset({"reachable", "moving"})
_QUANTITIES = {"set_temperature": "temperature set"}
_STATES: Mapping[tuple[str, bool], str] = {
    ("is_on", True): "on",
    ("is_on", False): "off",
    ("is_locked", True): "locked",
    ("is_locked", False): "unlocked",
}


@dataclass(slots=True)
class Recorder:
    """Writes readings that are worth it into memory."""

    memory: Remembering
    every_s: float = 900.0
    n_kept: int = 0
    n_left_out: int = 0
    """Readings not kept because the day was full."""
    _last: dict[tuple[str, str], tuple[Reading, dt.datetime]] = field(default_factory=dict)
    _day: str = ""
    _n_today: int = 0

    def take(self, said: Observation, thing: Thing) -> bool:
        """Keep a reading if it is worth it; return whether it was."""
        key = (said.thing, said.quantity)
        if said.is_retained or said.quantity in _NOT_KEPT or not self._is_worth(said, self._last.get(key)):
            return False
        if (day := f"{said.at:%Y-%m-%d}") != self._day:
            self._day, self._n_today = day, 0
        if self._n_today >= MAX_PER_DAY:
            self.n_left_out += 1
            return False
        name = f"{said.thing} {said.quantity} {said.at.astimezone(dt.UTC):%Y%m%dT%H%M}"
        self.memory.remember(sentence(said, thing), kind=KIND, at=said.at, label=TOLD, key=f"observed {name}")
        self._last[key] = (said.value, said.at)
        self._n_today += 1
        self.n_kept += 1
        return True

    def _is_worth(self, said: Observation, last: tuple[Reading, dt.datetime] | None) -> bool:
        if last is None:
            return True
        value, at = last
        passed_s = (said.at - at).total_seconds()
        if passed_s < LEAST_S:
            return False
        if passed_s >= self.every_s:
            return True
        if isinstance(value, bool | str) or isinstance(said.value, bool | str):
            return value != said.value
        step = _STEPS.get(said.quantity, abs(value) * _STEP_SHARE)
        return abs(said.value - value) >= max(step, 1e-9)


def sentence(said: Observation, thing: Thing) -> str:
    """`The temperature in the cellar was 12.5 °C at 07:30.`: a sentence that is understood later.

    The sensor's own name is used where it has no room, or says more than its room and quantity.
    """
    quantity = _QUANTITIES.get(said.quantity, said.quantity)
    where = f"in the {thing.room}" if thing.room else ""
    rest = _beyond(thing.name, thing.room, quantity)
    if thing.kind != "sensor" or not thing.room:
        where = f"of the {thing.name}" + (f" in the {thing.room}" if thing.room else "")
    elif rest:
        where += f" ({thing.name})"
    at = f"{said.at:%H:%M}"
    if state := _STATES.get((said.quantity, bool(said.value))) if isinstance(said.value, bool) else None:
        return f"The {thing.name}{f' in the {thing.room}' if thing.room else ''} was {state} at {at}."
    if isinstance(said.value, bool):
        return f"There was {'' if said.value else 'no '}{quantity} {where} at {at}."
    value = said.value if isinstance(said.value, str) else f"{said.value:.4g} {said.unit}".rstrip()
    return f"The {quantity} {where} was {value} at {at}."


def _beyond(name: str, room: str, quantity: str) -> set[str]:
    return set(name.lower().split()) - set(f"{room} {quantity} sensor the".lower().split())


# ── Listening ──────────────────────────────────────────────────────────────────────────────────────────


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
