"""The devices of a home while connected: what there is, their states, and orders with confirmation.

One connection per call: it listens until the broker has delivered all retained messages, then knows what was announced
and the states that devices reported. An order is handed over once (`mqtt_broker.Session.publish`); then it waits for
the device's own report.

Covered: confirmation by state, a device that moves (a blind on its way), one that is as wanted already, one that
reports nothing, one that does not answer in time (its state is unknown), one whose availability says it is away. Not
covered: a device that reports what it did not do.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias, cast

from hearth.errors import NotFound, TransientToolError
from hearth.protocols import Egress, Message, Observation, Reading, Sensor, Thing
from hearth.types import Plain
from hearth_home.device_twins import DEVICE, Named, Twins
from hearth_home.home_assistant import HomeAssistant
from hearth_home.mqtt_broker import Session, connected
from hearth_home.mqtt_settings import Broker, Settings

DISCOVER_S = 4.0
QUIET_S = 0.25
"""After this long without a message, the broker has delivered everything it retained."""
ANSWER_S = 1.5
"""Time that a device has to answer a request for its state; repeated until `DISCOVER_S` is over."""
ALREADY_S = 1.0
"""Time that a device already in the wanted state has to say otherwise."""
CLOSE_ENOUGH = 1.5
"""Tolerance in percent, since devices round to their own steps."""
Outcome: TypeAlias = Literal["confirmed", "silent", "unknown"]
"""`silent`: it was told, and by its nature reports nothing back; `unknown`: it should have reported, and did not in
time."""


def sensors_of(home: Mapping[str, Plain], settings: Settings) -> tuple[Sensor, ...]:
    """Return the sensors that the table `[home]` asks for."""
    devices = [one for one in cast("Sequence[object]", home.get("device") or ()) if isinstance(one, Mapping)]
    owned = frozenset(str(one["mqtt"]) for one in devices if one.get("mqtt"))
    named = [
        Named(str(one["twin"]), str(one["name"]), str(one.get("room") or ""), str(one["kind"]))
        for one in devices
        if DEVICE.fullmatch(str(one.get("twin") or ""))
    ]
    found: list[Sensor] = []
    if settings.is_discovering or owned:
        found.append(HomeAssistant(settings.prefix, owned))
    if named:
        found.append(Twins(named))
    return tuple(found)


@contextlib.contextmanager
def opened(
    broker: Broker,
    sensors: Sequence[Sensor],
    egress: Egress,
    clock: Callable[[], dt.datetime],
    *,
    reason: str,
    cancelled: threading.Event,
) -> Iterator[Connected]:
    """Open a connection and take a first look at the devices. Raises: As `mqtt_broker.connected`."""
    with connected(broker, egress, reason, cancelled) as session:
        found = Connected(session, sensors, clock)
        found.look()
        yield found


class Connected:
    """The devices on one broker, over one connection."""

    def __init__(self, session: Session, sensors: Sequence[Sensor], clock: Callable[[], dt.datetime]) -> None:
        self._session = session
        self._sensors = tuple(sensors)
        self._clock = clock
        self.states: dict[str, dict[str, Observation]] = {}
        """Last observation by device and quantity."""

    @property
    def things(self) -> dict[str, Thing]:
        return {id: thing for sensor in self._sensors for id, thing in sensor.things.items()}

    @property
    def refused(self) -> tuple[str, ...]:
        """Messages that were rejected, with the reason."""
        return tuple(line for sensor in self._sensors for line in sensor.refused)

    @property
    def n_dropped(self) -> int:
        """Number of messages left out because too many came."""
        return self._session.n_dropped

    def look(self) -> None:
        """Listen until the broker has delivered all retained messages, for `DISCOVER_S` at most."""
        until = time.monotonic() + DISCOVER_S
        self._follow()
        for ask in (ask for sensor in self._sensors for ask in sensor.asks()):
            self._session.publish(ask)
        n_topics = -1
        while (n_topics != self._n_topics() or self._is_silent_yet()) and time.monotonic() < until:
            n_topics = self._n_topics()
            quiet_s = ANSWER_S if self._is_silent_yet() else QUIET_S
            for message in self._session.listen(min(until - time.monotonic(), ANSWER_S), quiet_s):
                self._take(message)
                if not self._is_silent_yet() and quiet_s == ANSWER_S:
                    break
            self._follow()

    def _is_silent_yet(self) -> bool:
        """Say whether a device that was asked for its state has not answered yet."""
        return any(id not in self.states for sensor in self._sensors if sensor.asks() for id in sensor.things)

    def watch(self, seconds: float) -> Iterator[Observation]:
        """Yield observations as they arrive."""
        for message in self._session.listen(seconds):
            yield from self._take(message)
            self._follow()

    def known(self, thing: str) -> dict[str, Reading]:
        """Return the last reported state of a device."""
        return {quantity: said.value for quantity, said in self.states.get(thing, {}).items()}

    def order(
        self, wanted: Mapping[str, Mapping[str, bool | float]], confirm_s: float
    ) -> dict[str, tuple[Outcome, dict[str, Reading]]]:
        """Order devices into a state, each once, and wait for their reports.

        Returns:
            By device: the outcome, and its state before.
        Raises:
            ToolError: One of them cannot be set so; nothing was sent. ToolTimeout: The broker gave no receipt.
        """
        before = {thing: self.known(thing) for thing in wanted}
        orders = {thing: self._orders_for(thing, states) for thing, states in wanted.items()}
        for thing, messages in orders.items():
            for message in messages:
                self._session.publish(message)
            for quantity in wanted[thing]:
                self.states.get(thing, {}).pop(quantity, None)
            self.states.get(thing, {}).pop("moving", None)
        self._wait(wanted, before, confirm_s)
        return {thing: (self._outcome(thing, wanted[thing], before[thing]), before[thing]) for thing in wanted}

    def _orders_for(self, thing: str, wanted: Mapping[str, bool | float]) -> tuple[Message, ...]:
        for sensor in self._sensors:
            if thing in sensor.things:
                return sensor.order(thing, wanted, self.known(thing))
        raise NotFound(f"{thing!r} is not there any more; nothing was sent")

    def _wait(
        self,
        wanted: Mapping[str, Mapping[str, bool | float]],
        before: Mapping[str, Mapping[str, Reading]],
        confirm_s: float,
    ) -> None:
        """Wait until every device that reports back has done so, or time is up."""
        began = time.monotonic()
        while any(self._is_open(thing, wanted[thing], before[thing], began) for thing in wanted):
            left = confirm_s - (time.monotonic() - began)
            if left <= 0:
                return
            try:
                for message in self._session.listen(min(left, 0.1)):
                    self._take(message)
                    break
            except TransientToolError:  # the order was handed over; its outcome is unknown
                return

    def _is_open(
        self, thing: str, wanted: Mapping[str, bool | float], before: Mapping[str, Reading], began: float
    ) -> bool:
        waited_for = self._waited_for(thing, wanted)
        if not waited_for or self._has_become(thing, waited_for):
            return False
        is_as_before = all(_is_near(before.get(quantity), value) for quantity, value in waited_for.items())
        return not (is_as_before and time.monotonic() - began >= ALREADY_S)

    def _outcome(self, thing: str, wanted: Mapping[str, bool | float], before: Mapping[str, Reading]) -> Outcome:
        waited_for = self._waited_for(thing, wanted)
        if not waited_for:
            return "silent"
        if self._has_become(thing, waited_for):
            return "confirmed"
        said = self.states.get(thing, {})
        is_untouched = all(
            quantity not in said and _is_near(before.get(quantity), v) for quantity, v in waited_for.items()
        )
        return "confirmed" if is_untouched else "unknown"

    def _waited_for(self, thing: str, wanted: Mapping[str, bool | float]) -> dict[str, bool | float]:
        confirms = self.things[thing].confirms if thing in self.things else frozenset()
        return {quantity: value for quantity, value in wanted.items() if quantity in confirms}

    def _has_become(self, thing: str, wanted: Mapping[str, bool | float]) -> bool:
        now = self.known(thing)
        if "position" in wanted and "position" not in now:
            return now.get("moving") == ("opening" if wanted["position"] else "closing")
        return all(_is_near(now.get(quantity), value) for quantity, value in wanted.items())

    def _take(self, message: Message) -> list[Observation]:
        found = [one for sensor in self._sensors for one in sensor.take(message, self._clock())]
        for one in found:
            self.states.setdefault(one.thing, {})[one.quantity] = one
        return found

    def _follow(self) -> None:
        self._session.subscribe(topic for sensor in self._sensors for topic in sensor.topics())

    def _n_topics(self) -> int:
        return sum(len(sensor.topics()) for sensor in self._sensors)


def _is_near(said: Reading | None, wanted: bool | float) -> bool:
    if said is None or isinstance(said, str) or isinstance(wanted, bool):
        return said is wanted
    return abs(float(said) - wanted) <= CLOSE_ENOUGH
