"""The devices of a home while connected: what there is, their states, and orders with confirmation.

One connection per call to each place where devices are: the MQTT broker, Home Assistant. It listens until everything
that was kept is delivered, then knows what was announced and the states that devices reported. An order is handed over
once (`Line.publish`); then it waits for the device's own report.

Covered: confirmation by state, a device that moves (a blind on its way), one that is as wanted already, one that
reports nothing, one that does not answer in time (its state is unknown), one whose availability says it is away. Not
covered: a device that reports what it did not do.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, cast

from hearth.errors import NotFound, TransientToolError
from hearth.protocols import Egress, Message, Observation, Reading, Sensor, Thing
from hearth.types import Plain
from hearth_home.assistant_states import assistant_of
from hearth_home.device_twins import DEVICE, Named, Twins
from hearth_home.home_assistant import HomeAssistant
from hearth_home.mqtt_broker import Settings, configured, connected, settings_of

DISCOVER_S = 4.0
QUIET_S = 0.25
"""After this long without a message, the broker has delivered everything it retained."""
ANSWER_S = 1.5
"""Time that a device has to answer a request for its state; repeated until `DISCOVER_S` is over."""
ALREADY_S = 1.0
"""Time that a device already in the wanted state has to say otherwise."""
TURN_S = 0.2
"""How long one of several places is listened to before the next."""
CLOSE_ENOUGH = 1.5
"""Tolerance in percent, since devices round to their own steps."""
Outcome: TypeAlias = Literal["confirmed", "silent", "unknown"]
"""`silent`: it was told, and by its nature reports nothing back; `unknown`: it should have reported, and did not in
time."""


class Line(Protocol):
    """An open connection to where devices are: a broker's `Session`, an `AssistantSession`."""

    n_dropped: int
    """Messages left out because too many came."""

    def subscribe(self, topics: Iterable[str]) -> None:
        """Hear what is said on these topics from now on. Raises: ToolError, TransientToolError, EgressError."""
        ...

    def publish(self, message: Message) -> None:
        """Hand an order over, once.

        Raises:
            ToolError, TransientToolError, EgressError: Nothing was done. ToolTimeout: Whether it was is not known.
        """
        ...

    def listen(self, seconds: float, quiet_s: float | None = None) -> Iterator[Message]:
        """Yield messages for `seconds`, or until none came for `quiet_s`. Raises: TransientToolError."""
        ...


@dataclass(frozen=True, slots=True)
class Link:
    """A connection, and the sensors that understand what is said on it."""

    line: Line
    sensors: tuple[Sensor, ...]


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
    home: Mapping[str, Plain],
    egress: Egress,
    clock: Callable[[], dt.datetime],
    *,
    reason: str,
    cancelled: threading.Event,
) -> Iterator[Connected]:
    """Open a connection to each place that the table `[home]` names, and take a first look at the devices.

    Of two places one may be away: its devices are left out, with the reason among `Connected.faults`.

    Raises:
        As `mqtt_broker.connected` and `assistant_states.connected_assistant`; TransientToolError: No place is there.
    """
    broker, assistant = configured(home), assistant_of(home)
    links: list[Link] = []
    faults: list[str] = []
    with contextlib.ExitStack() as stack:
        if broker is not None:
            try:
                session = stack.enter_context(connected(broker, egress, reason, cancelled))
                links.append(Link(session, sensors_of(home, settings_of(home))))
            except TransientToolError as error:
                faults.append(str(error))
        if assistant is not None:
            from hearth_home.assistant_states import (
                AssistantStates,
                connected_assistant,  # only homes with one need it
            )

            try:
                line = stack.enter_context(connected_assistant(assistant, egress, reason, cancelled))
                links.append(Link(line, (AssistantStates(assistant.only),)))
            except TransientToolError as error:
                faults.append(str(error))
        if not links:
            raise TransientToolError("; ".join(faults))
        found = Connected(links, clock, cancelled, tuple(faults))
        found.look()
        yield found


class Connected:
    """The devices of a home, over open connections."""

    def __init__(
        self,
        links: Sequence[Link],
        clock: Callable[[], dt.datetime],
        cancelled: threading.Event,
        faults: tuple[str, ...] = (),
    ) -> None:
        self._links = tuple(links)
        self._clock = clock
        self._cancelled = cancelled
        self.faults = faults
        """Places that are away, with the reason."""
        self.states: dict[str, dict[str, Observation]] = {}
        """Last observation by device and quantity."""

    @property
    def things(self) -> dict[str, Thing]:
        return {id: thing for sensor in self._sensors() for id, thing in sensor.things.items()}

    def _sensors(self) -> Iterator[Sensor]:
        return (sensor for link in self._links for sensor in link.sensors)

    @property
    def refused(self) -> tuple[str, ...]:
        """Messages that were rejected, with the reason."""
        return tuple(line for sensor in self._sensors() for line in sensor.refused)

    @property
    def n_dropped(self) -> int:
        """Number of messages left out because too many came."""
        return sum(link.line.n_dropped for link in self._links)

    def look(self) -> None:
        """Listen until everything that was kept is delivered, for `DISCOVER_S` at most at each place."""
        for link in self._links:
            self._look(link)

    def _look(self, link: Link) -> None:
        until = time.monotonic() + DISCOVER_S
        _follow(link)
        for ask in (ask for sensor in link.sensors for ask in sensor.asks()):
            link.line.publish(ask)
        n_topics = -1
        while (n_topics != _n_topics(link) or self._is_silent_yet(link)) and time.monotonic() < until:
            n_topics = _n_topics(link)
            quiet_s = ANSWER_S if self._is_silent_yet(link) else QUIET_S
            for message in link.line.listen(min(until - time.monotonic(), ANSWER_S), quiet_s):
                self._take(link, message)
                if not self._is_silent_yet(link) and quiet_s == ANSWER_S:
                    break
            _follow(link)

    def _is_silent_yet(self, link: Link) -> bool:
        """Say whether a device that was asked for its state has not answered yet."""
        return any(id not in self.states for sensor in link.sensors if sensor.asks() for id in sensor.things)

    def watch(self, seconds: float) -> Iterator[Observation]:
        """Yield observations as they arrive."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self._cancelled.is_set():
            for link in self._links:
                for message in link.line.listen(left if len(self._links) == 1 else min(left, TURN_S)):
                    yield from self._take(link, message)
                    _follow(link)

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
        for thing, (link, messages) in orders.items():
            for message in messages:
                link.line.publish(message)
            for quantity in wanted[thing]:
                self.states.get(thing, {}).pop(quantity, None)
            self.states.get(thing, {}).pop("moving", None)
        self._wait(wanted, before, confirm_s)
        return {thing: (self._outcome(thing, wanted[thing], before[thing]), before[thing]) for thing in wanted}

    def _orders_for(self, thing: str, wanted: Mapping[str, bool | float]) -> tuple[Link, tuple[Message, ...]]:
        for link in self._links:
            for sensor in link.sensors:
                if thing in sensor.things:
                    return link, sensor.order(thing, wanted, self.known(thing))
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
                for link in self._links:
                    for message in link.line.listen(min(left, 0.1)):
                        self._take(link, message)
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

    def _take(self, link: Link, message: Message) -> list[Observation]:
        found = [one for sensor in link.sensors for one in sensor.take(message, self._clock())]
        for one in found:
            self.states.setdefault(one.thing, {})[one.quantity] = one
        return found


def _follow(link: Link) -> None:
    link.line.subscribe(topic for sensor in link.sensors for topic in sensor.topics())


def _n_topics(link: Link) -> int:
    return sum(len(sensor.topics()) for sensor in link.sensors)


def _is_near(said: Reading | None, wanted: bool | float) -> bool:
    if said is None or isinstance(said, str) or isinstance(wanted, bool):
        return said is wanted
    return abs(float(said) - wanted) <= CLOSE_ENOUGH
