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
from hearth.formats.terminal_text import clean

if TYPE_CHECKING:
    from hearth.config import Settings
    from hearth.guard.egress.gateway import Egress
    from hearth.memory.answers.recollection import Recollection
    from hearth.protocols import CallContext, Observation, Thing
    from hearth.storage.database import Store


@click.group()
def devices() -> None:
    """Show the devices of the home, and listen to those that are connected."""


@devices.command("list")
@as_json
@click.pass_obj
def list_devices(invocation: Invocation, as_json: bool) -> int:
    """List the devices with their states; those on the broker with their ids, and which were left out and why."""
    from hearth_home.assistant_states import is_connected
    from hearth_home.tools.devices import Devices, connected_home

    with _opened(invocation) as at, contextlib.ExitStack() as stack:
        call = at.call
        found = stack.enter_context(connected_home(call)) if is_connected(call.settings["home"]) else None
        listed = Devices(call, found)
        shown = [(one, listed.device(one)) for one in listed.in_home()]
        refused, n_dropped = ((*found.faults, *found.refused), found.n_dropped) if found is not None else ((), 0)
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
    from hearth_home.sensor_watch import Recorder, readings

    stopped = threading.Event()
    with _opened(invocation) as at, _ended_by_signals(stopped):
        place = at.settings.home.mqtt or at.settings.home.assistant
        if place is None:
            raise errors.ConfigError(
                "there is no [home.mqtt] and no [home.assistant] in hearth.toml; name the broker's host there, or url"
            )
        recorder = Recorder(at.memory, place.keep_every_s)
        until = time.monotonic() + seconds if seconds else float("inf")
        table = at.settings.for_tools(os.environ)["home"]
        for one, thing in readings(table, at.egress, at.clock, stopped, _complain, until):
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


def _complain(fault: str) -> None:
    if fault:
        click.echo(f"hearth: {clean(fault)}", err=True)


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
        from hearth.memory.facts import FactStore

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
