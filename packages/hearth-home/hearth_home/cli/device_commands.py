"""`hearth devices`: list the devices of the home and on its broker, and listen to them."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hearth import errors
from hearth.cli.invocation import Invocation, Number, as_json, print_json
from hearth.terminal import clean

if TYPE_CHECKING:
    from hearth.config import Settings
    from hearth.guard.egress.gateway import Egress
    from hearth.memory.answers.recollection import Recollection
    from hearth.protocols import CallContext, Observation, Thing
    from hearth.storage.database import Store
    from hearth_home.connected_devices import Connected


@click.group()
def devices() -> None:
    """Show the devices of the home, and listen to those on the broker of [home.mqtt]."""


@devices.command("list")
@as_json
@click.pass_obj
def list_devices(invocation: Invocation, as_json: bool) -> int:
    """List the devices with their states; those on the broker with their ids, and which were left out and why."""
    from hearth_home.mqtt_settings import configured
    from hearth_home.tools.devices import Devices, connected_home

    with _opened(invocation) as at, contextlib.ExitStack() as stack:
        call = at.call
        broker = configured(call.settings["home"])
        found = stack.enter_context(connected_home(call, broker)) if broker is not None else None
        listed = Devices(call, found)
        shown = [(one, listed.device(one)) for one in listed.in_home()]
        refused, n_dropped = (found.refused, found.n_dropped) if found is not None else ((), 0)
    if as_json:
        rows = [
            {
                "id": one.thing,
                "name": one.name,
                "room": one.room,
                "kind": one.kind,
                "state": device.state,
                "is_yours": one.is_named,
            }
            for one, device in shown
        ]
        print_json({"devices": rows, "refused": list(refused), "n_dropped": n_dropped})
        return 0
    for one, device in shown:
        name = clean(f"{one.name} ({one.room})" if one.room else one.name)
        mark = f"  [{clean(one.thing)}]" if one.thing else ""
        click.echo(f"{name:<36} {one.kind:<8} {clean(device.state)}{mark}")
    for line in refused:
        click.echo(f"not taken: {clean(line)}", err=True)
    if n_dropped:
        click.echo(f"not taken: {n_dropped} messages, because too many came at once", err=True)
    return 0


@devices.command()
@click.option(
    "--seconds",
    type=Number(min=0, max=31_536_000),
    default=0.0,
    help="Stop after this time (default: on Ctrl-C).",
)
@click.option("--quiet", is_flag=True, help="Remember, and print nothing.")
@as_json
@click.pass_obj
def watch(invocation: Invocation, seconds: float, quiet: bool, as_json: bool) -> int:
    """Listen to sensors and devices, print what they report, and remember what matters.

    What is remembered answers questions such as "what was the temperature in the cellar this morning". If the
    connection breaks, it is opened again.
    """
    from hearth_home.sensor_memory import Recorder

    stopped = threading.Event()
    with _opened(invocation) as at, _ended_by_signals(stopped):
        if at.settings.home.mqtt is None:
            raise errors.ConfigError("there is no [home.mqtt] in hearth.toml; name the broker's host there")
        recorder = Recorder(at.memory, at.settings.home.mqtt.keep_every_s)
        until = time.monotonic() + seconds if seconds else float("inf")
        for one, thing in _said(at, stopped, until):
            is_kept = recorder.take(one, thing)
            if not quiet:
                _print(one, thing, is_kept, as_json)
    if not as_json:
        left = f", {recorder.n_left_out} left out because the day was full" if recorder.n_left_out else ""
        click.echo(f"{recorder.n_kept} readings remembered{left}.", err=True)
    return 0


def _print(one: Observation, thing: Thing, is_kept: bool, as_json: bool) -> None:
    from hearth_home.tools.devices import reading_in_words

    if as_json:
        who = {"id": one.thing, "name": thing.name, "room": thing.room}
        said = {"quantity": one.quantity, "value": one.value, "unit": one.unit, "is_remembered": is_kept}
        click.echo(json.dumps({"at": one.at.isoformat(), **who, **said}))
        return
    where = f"{thing.name} ({thing.room})" if thing.room else thing.name
    text = reading_in_words(one.quantity.replace("_", " "), one.value, one.unit)
    click.echo(f"{one.at:%H:%M:%S}  {clean(where)}: {clean(text)}{'  +' if is_kept else ''}")


def _said(at: _At, stopped: threading.Event, until: float) -> Iterator[tuple[Observation, Thing]]:
    """Yield observations over as many connections as it takes, waiting longer after each that failed."""
    from hearth_home.connected_devices import opened, sensors_of
    from hearth_home.mqtt_settings import configured, settings_of

    home = at.settings.for_tools(os.environ)["home"]
    broker, egress, wait_s = configured(home), at.egress, 1.0
    assert broker is not None
    reason = "listen to devices of the home"
    while not stopped.is_set() and time.monotonic() < until:
        try:
            sensors = sensors_of(home, settings_of(home))
            with opened(broker, sensors, egress, at.clock, reason=reason, cancelled=stopped) as found:
                wait_s = 1.0
                yield from _of_look(found)
                for one in found.watch(until - time.monotonic()):
                    if one.thing in found.things:
                        yield one, found.things[one.thing]
        except errors.TransientToolError as error:
            if wait_s > 1.0 or time.monotonic() + wait_s >= until:
                click.echo(f"hearth: {clean(str(error))}", err=True)
            stopped.wait(min(wait_s, max(0.0, until - time.monotonic())))
            wait_s = min(wait_s * 2, 60.0)


def _of_look(found: Connected) -> Iterator[tuple[Observation, Thing]]:
    for id, said in found.states.items():
        if id in found.things:
            yield from ((one, found.things[id]) for one in said.values())


@contextlib.contextmanager
def _ended_by_signals(stopped: threading.Event) -> Iterator[None]:
    """Set `stopped` on Ctrl-C or a termination signal, so that the current reading is still remembered."""
    before = {number: signal.signal(number, lambda *_: stopped.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(frozen=True, slots=True)
class _At:
    """A home, opened beside an agent that may run on it."""

    home: Path
    store: Store
    settings: Settings
    clock: Callable[[], dt.datetime]

    @property
    def memory(self) -> Recollection:
        from hearth.memory.answers.recollection import Recollection
        from hearth.memory.event_memory import EventMemory
        from hearth.memory.facts.fact_store import FactStore

        return Recollection(EventMemory(self.store), FactStore(self.store))

    @property
    def egress(self) -> Egress:
        from hearth.guard.egress.gateway import Egress

        return Egress.from_settings(self.settings, self.store, self.clock)

    @property
    def call(self) -> CallContext:
        from hearth.protocols import CallContext
        from hearth.storage.workspace import Folder

        workspace = Folder(self.home / "owner", self.store).for_call("")
        tables = self.settings.for_tools(os.environ)
        return CallContext("", self.clock(), workspace, self.memory, self.egress, tables, threading.Event())


@contextlib.contextmanager
def _opened(invocation: Invocation) -> Iterator[_At]:
    from hearth import config
    from hearth.storage.database import Store

    settings = config.read_settings(invocation.home / "hearth.toml")
    zone = settings.zone()
    with Store.open(invocation.home / "hearth.db") as store:
        yield _At(invocation.home, store, settings, lambda: dt.datetime.now(zone))
