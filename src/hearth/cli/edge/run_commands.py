"""`hearth edge run` and `hearth edge health`: what a device does between requests, and whether it still does."""

from __future__ import annotations

import datetime as dt
import os
import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hearth.cli.invocation import SECONDS, Invocation, Number, as_json, command_with, print_json
from hearth.formats.terminal_text import clean

if TYPE_CHECKING:
    from hearth.edge.scheduler import Runner
    from hearth.registry import Part

_LEAVE_S = 15.0
"""So long the broker may take to be left."""


def _health_file(invocation: Invocation, named: Path | None) -> Path:
    from hearth.edge.scheduler import HEALTH_FILE

    said = named or (Path(os.environ["HEARTH_HEALTH"]) if os.environ.get("HEARTH_HEALTH") else None)
    return said or invocation.home / HEALTH_FILE


health_option = click.option(
    "--health",
    "health_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where it reports its state (default: $HEARTH_HEALTH, else health.json in the home).",
)


@dataclass(frozen=True, slots=True)
class _Rhythm:
    """How often each task is run, in seconds, and after which rest there is learning."""

    sync_every: float
    tend_every: float
    learn_every: float
    quiet_s: float


@dataclass(frozen=True, slots=True)
class _Setup:
    """How a new device sets itself up."""

    makes_home: bool
    cloud_url: str | None
    fingerprint: str


@click.command(cls=command_with({"rhythm": _Rhythm, "setup": _Setup}))
@click.option("--sync-every", type=SECONDS, default=300.0, show_default=True, metavar="SECONDS")
@click.option("--tend-every", type=SECONDS, default=3600.0, show_default=True, metavar="SECONDS")
@click.option("--learn-every", type=SECONDS, default=21600.0, show_default=True, metavar="SECONDS")
@click.option(
    "--quiet",
    "quiet_s",
    type=Number(min=0, max=31_536_000),
    default=600.0,
    show_default=True,
    metavar="SECONDS",
    help="Learn only when nothing was asked for this long.",
)
@click.option(
    "--join",
    "cloud_url",
    envvar="HEARTH_EDGE_URL",
    metavar="URL",
    help="Join this cloud first if none was joined; the token is taken from $HEARTH_EDGE_TOKEN.",
)
@click.option(
    "--fingerprint",
    envvar="HEARTH_EDGE_FINGERPRINT",
    default="",
    help="Fingerprint of that cloud's key, as its keeper told you; no other is joined.",
)
@click.option(
    "--node", envvar="HEARTH_EDGE_NODE", help="KubeEdge's name of this node: tell its EventBus how much waits, too."
)
@click.option("--init", "makes_home", is_flag=True, help="Make the home first when there is none.")
@click.option("--once", is_flag=True, help="Run each task once, in order, then end: for a timer instead of a service.")
@health_option
@click.pass_obj
def run(
    invocation: Invocation, rhythm: _Rhythm, setup: _Setup, node: str | None, once: bool, health_file: Path | None
) -> int:
    """Send and fetch, tend memory and learn, again and again, until ended.

    Each task is a command: `hearth edge sync` (where a cloud was joined), `hearth memory tend`, `hearth learn --fast`.
    Between them the home is free; a request waits for one running task at most. SIGTERM lets the running task finish.
    With --init and --join a new device sets itself up. With --node and a broker in [home.mqtt], a message at
    hearth/sync hastens the next sync.
    """
    from hearth.edge.enrolment import token_file
    from hearth.edge.scheduler import Piece, Runner, Times

    home, has_token = invocation.home, token_file(invocation.home)
    pieces = [
        Piece(("edge", "sync"), rhythm.sync_every, needs_file=has_token, may_be_hastened=True),
        Piece(("memory", "tend"), rhythm.tend_every, needs_file=home / "hearth.db"),
        Piece(("learn", "--fast"), rhythm.learn_every, needs_quiet=True, may_be=(0, 1, 6)),
    ]
    _finish_joining(home)
    if setup.cloud_url and not has_token.exists():
        pieces.insert(0, Piece(_joining(setup.cloud_url, setup.fingerprint), rhythm.sync_every, is_once=True))
    runner = Runner(home, pieces, _health_file(invocation, health_file), Times(quiet_s=rhythm.quiet_s), say=_say)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: runner.stop.set())
    if not (home / "hearth.toml").exists():
        _make_home(runner, setup.makes_home)
    listeners: list[threading.Thread] = []
    if node and _has_broker(home):
        for fault in _faults_of("edge.point"):
            _say(f"without `hearth edge point`: {fault}")
        runner.pieces = [Piece(("edge", "point", "--node", node), rhythm.sync_every, needs_file=has_token), *pieces]
        listeners = [] if once else _listening(runner)
    is_well = runner.run(once=once) or runner.stop.is_set()
    runner.stop.set()
    for listener in listeners:
        listener.join(_LEAVE_S)
    return 0 if is_well else 1


def _say(line: str) -> None:
    click.echo(clean(line))


def _joining(cloud_url: str, fingerprint: str) -> tuple[str, ...]:
    """Raises: ConfigError: Nobody said whom to believe."""
    from hearth.errors import ConfigError

    if not fingerprint:
        raise ConfigError(
            f"to join {cloud_url!r} without you, the fingerprint of its key must be known: give --fingerprint or "
            "$HEARTH_EDGE_FINGERPRINT; the keeper of the service has it (`hearth cloud fingerprint`)"
        )
    return ("edge", "join", cloud_url, "--fingerprint", fingerprint, "--yes")


def _make_home(runner: Runner, may: bool) -> None:
    """Raises: ConfigError: There is none, and none was made."""
    from hearth.edge.scheduler import Piece, Runner
    from hearth.errors import ConfigError

    if not may:
        raise ConfigError(f"no home in {str(runner.home)!r}; make one with `hearth init`, or give --init")
    first = Runner(runner.home, [Piece(("init",), 1.0)], runner.health, say=runner.say, stop=runner.stop)
    if not first.run(once=True) and not runner.stop.is_set():
        raise ConfigError(f"no home could be made in {str(runner.home)!r}; what `hearth init` said is above")


def _listening(runner: Runner) -> list[threading.Thread]:
    """Threads that hear when there is something new, beside the loop."""
    from hearth.registry import LISTENERS, load_parts

    parts = load_parts(LISTENERS)
    for fault in parts.faults:
        _say(f"not loaded: {fault}")
    runner.asked = threading.Event()
    said = (runner.home, os.environ, runner.asked, runner.stop, runner.say)
    threads = [
        threading.Thread(target=_listen, args=(part, *said), name=part.name, daemon=True) for part in parts.loaded
    ]
    for thread in threads:
        thread.start()
    return threads


def _listen(part: Part, *given: object) -> None:
    """Run a listener; one that fails is named, and the loop goes on without it."""
    from hearth.errors import HearthError

    try:
        part.invoke(*given)
    except HearthError as error:
        _say(f"stopped listening: {error}")


def _finish_joining(home: Path) -> None:
    """What a kill left undone: pieces look for the token in its place."""
    from hearth.edge.enrolment import finish
    from hearth.storage.database import Store

    if (home / "edge" / "token.new").exists() and (home / "hearth.db").exists():
        with Store.open(home / "hearth.db") as store:
            finish(store, home)


def _faults_of(command: str) -> tuple[str, ...]:
    """What keeps a companion's command from running: it is not installed, or cannot be loaded."""
    from hearth.registry import COMMANDS, load_parts, missing_companion

    parts = load_parts(COMMANDS, command)
    if parts.loaded or parts.faults:
        return () if parts.loaded else parts.faults
    fault = missing_companion(command)
    return () if fault is None else (str(fault),)


def _has_broker(home: Path) -> bool:
    from hearth.config import read_settings

    return read_settings(home / "hearth.toml").home.mqtt is not None


@click.command()
@click.option(
    "--max-age",
    "max_age_s",
    type=SECONDS,
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="How old its last report may be.",
)
@click.option("--ready", is_flag=True, help="Also fail if a task ended with a fault that somebody must mend.")
@health_option
@as_json
@click.pass_obj
def health(invocation: Invocation, max_age_s: float, ready: bool, health_file: Path | None, as_json: bool) -> int:
    """Say whether `hearth edge run` is well, for probes: exits with 1 when it is not."""
    from hearth.edge.scheduler import read_health

    found = read_health(_health_file(invocation, health_file), dt.datetime.now(dt.UTC))
    fault = found.fault(max_age_s, ready=ready)
    if as_json:
        print_json({"ok": not fault, "state": found.state, "age_s": round(found.age_s, 1), "fault": fault})
    else:
        click.echo(clean(fault or f"well: {found.state}, {found.age_s:.0f} s ago"))
    return 1 if fault else 0
