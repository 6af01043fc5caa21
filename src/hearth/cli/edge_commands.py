"""Commands about the cloud that a home joined, and the device's loop between requests: `hearth edge …`."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from hearth import errors
from hearth.cli.invocation import SECONDS, CommandGroup, Invocation, Number, as_json, command_with, print_json
from hearth.formats.terminal_text import clean, short

if TYPE_CHECKING:
    from hearth.config import Settings
    from hearth.edge.cloud_link import Link, TakenKind
    from hearth.edge.enrolment import Joined
    from hearth.edge.outbox import DeadLetter, Kind, Outbox, Sharer, Turn
    from hearth.edge.scheduler import Runner
    from hearth.formats.edge_protocol import Hello, StatisticsTerms
    from hearth.guard.egress.gateway import Egress
    from hearth.registry import Part
    from hearth.storage.database import Store


# ── Run commands ──────────────────────────────────────────────────────────────────────────────────────────
# `hearth edge run` and `hearth edge health`: what a device does between requests, and whether it still does.

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

    Each task is a command: `hearth edge sync` (where a cloud was joined), `hearth memory tend --at-most 240`, `hearth
    learn --fast`.
    Between them the home is free; a request waits for one running task at most. SIGTERM lets the running task finish.
    With --init and --join a new device sets itself up. With --node and a broker in [home.mqtt], a message at
    hearth/sync hastens the next sync.
    """
    from hearth.edge.enrolment import token_file
    from hearth.edge.scheduler import Piece, Runner, Times

    home, has_token = invocation.home, token_file(invocation.home)
    pieces = [
        Piece(("edge", "sync"), rhythm.sync_every, needs_file=has_token, may_be_hastened=True),
        Piece(("memory", "tend", "--at-most", "240"), rhythm.tend_every, needs_file=home / "hearth.db"),
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


# ── Edge commands ─────────────────────────────────────────────────────────────────────────────────────────
# `hearth edge`: join a cloud, show the messages waiting for it, send and fetch, leave it.

# ── Joining and leaving ────────────────────────────────────────────────────────────────────────────────


TOKEN_VARIABLE = "HEARTH_EDGE_TOKEN"  # noqa: S105 - the name of a variable
_WHAT_LEAVES = {
    "teaches": "requests that no planner here is sure of, masked, with the time and the descriptions of your tools",
    "demonstrations": "what you taught, and what was done and not taken back, masked: requests with their plans",
    "statistics": "sums from which your student was made; no request is among them",
}


@dataclass(frozen=True, slots=True)
class _Proof:
    """What shows the service who joins, and what shows the owner which service it is."""

    token: str | None
    token_file: Path | None
    expected: str
    """The fingerprint of the service's key; empty where none was named."""


@dataclass(frozen=True, slots=True)
class _Terms:
    """What is agreed with the cloud; what was not said stays as it is in the settings."""

    teaches: bool | None
    share: tuple[str, ...]
    take: tuple[str, ...]


@click.command(cls=command_with({"proof": _Proof, "terms": _Terms}))
@click.argument("url")
@click.argument("token", required=False)
@click.option("--token-file", type=click.Path(path_type=Path, dir_okay=False), help="Read the token from this file.")
@click.option("--fingerprint", "expected", default="", help="Join only a service whose key has this fingerprint.")
@click.option("--teaches/--no-teaches", default=None, help="Let it plan requests that no planner here is sure of.")
@click.option(
    "--share", multiple=True, type=click.Choice(["demonstrations", "statistics"]), help="Send these without asking."
)
@click.option("--take", multiple=True, type=click.Choice(["prior", "adapter"]), help="Fetch these; you take them.")
@click.option("--yes", is_flag=True, help="Agree to the key that is shown and to reaching the host.")
@as_json
@click.pass_obj
def join(invocation: Invocation, url: str, proof: _Proof, terms: _Terms, yes: bool, as_json: bool) -> int:
    """Join the cloud at URL with the TOKEN its keeper gave you.

    Better leave TOKEN out, since other users of this machine can see a command line: it is then asked for, or taken
    from --token-file, $HEARTH_EDGE_TOKEN or standard input. It is kept in the file edge/token of the home, which only
    you can read. The service's key is shown before the token is sent; compare its fingerprint with what the keeper
    says.
    """
    import httpx

    from hearth.edge import enrolment
    from hearth.edge.outbox import one_at_a_time

    home, settings = invocation.home, settings_of(invocation)
    address = enrolment.checked_url(url)
    parsed = httpx.URL(address)
    entry = f"{parsed.host}:{parsed.port or (443 if parsed.scheme == 'https' else 80)}"
    if not enrolment.is_allowed(settings, entry) and not agreed(
        f"Hearth may not reach {entry} yet. Add it to `allow` under [network] in hearth.toml?", yes
    ):
        raise errors.DeniedError(f"{entry} was not allowed, so nothing was sent and nothing was joined")
    wanted = _edge_table(settings, terms)
    with opened(home) as store:
        door = door_of(settings, store, entry)
        hello = _hello(address, door)
        shown = enrolment.fingerprint(hello.public_key)
        _show_service(address, hello, shown, {**settings.edge.model_dump(), **wanted})
        _check_key(shown, proof.expected, yes)
        secret = enrolment.checked_token(_token(proof.token, proof.token_file))
        name = enrolment.name_for(store, home, address, hello.public_key)
        _try_token(address, door, secret, name, hello)
        with one_at_a_time(home):
            changed = enrolment.change(home / "hearth.toml", entry, wanted)
            cloud = enrolment.Cloud(address, hello.server, hello.public_key)
            found = enrolment.join(store, home, cloud, name, secret, now_of(settings))
            n_past = _note_past(store, settings)
    if as_json:
        print_json({"url": found.url, "server": found.server, "fingerprint": shown, "changed_settings": changed})
        return 0
    click.echo(f"Joined {clean(found.server or found.url)}.")
    click.echo(f"  token     in {enrolment.token_file(home)}, for you alone")
    click.echo(f"  settings  {'hearth.toml was changed' if changed else 'as they were'}: [network] allow, [edge]")
    click.echo(f"  waiting   {n_past} demonstrations; `hearth edge sync` sends what you agree to")
    return 0


def _edge_table(settings: Settings, terms: _Terms) -> dict[str, bool | list[str]]:
    wanted: dict[str, bool | list[str]] = {}
    if terms.teaches is not None:
        wanted["teaches"] = terms.teaches
    for key, given, now in (("share", terms.share, settings.edge.share), ("take", terms.take, settings.edge.take)):
        if given:
            wanted[key] = list(dict.fromkeys((*now, *given)))
    return wanted


def _hello(address: str, door: Egress) -> Hello:
    from hearth.edge.cloud_link import Link

    with Link(address, door, None, "joining") as link:
        return link.hello()


def _try_token(address: str, door: Egress, secret: str, name: str, hello: Hello) -> None:
    """Check that the service accepts the token, and tell how it merges. Raises: LinkError: The token is not taken."""
    from hearth.edge.cloud_link import Link
    from hearth.formats.edge_protocol import StatisticsTerms

    def token() -> str:
        return secret

    with Link(address, door, token, name) as link:
        try:
            link.tasks()
        except errors.LinkError as error:
            if error.status != 404:  # a service may keep no tasks
                raise
        if "statistics" in hello.features:
            _show_merging(link.ask("GET", "/v1/statistics", StatisticsTerms, reason="joining"))


def _show_merging(terms: StatisticsTerms) -> None:
    if terms.epsilon is not None and terms.owners == "many":
        said = (
            f"of {terms.founders:,} devices or more, hidden in noise: of all that you give, others can tell no more "
            f"than epsilon {terms.epsilon:g} and delta {terms.delta:g} say"
        )
    else:
        said = (
            "exact sums, for the devices of one owner alone: who has two of them can tell what a device gave; give "
            "only if all devices here are yours"
        )
    click.echo(f"  merges    {said}", err=True)


def _show_service(address: str, hello: Hello, shown: str, edge_table: dict[str, Any]) -> None:
    click.echo(f"The service at {address} calls itself {clean(short(hello.server, 80)) or 'nothing'}.", err=True)
    click.echo(f"  key       {shown}", err=True)
    click.echo(f"  offers    {clean(short(', '.join(hello.features), 120)) or 'nothing'}", err=True)
    kinds = [*(["teaches"] if edge_table["teaches"] else []), *edge_table["share"]]
    for kind in kinds:
        click.echo(f"  is sent   {_WHAT_LEAVES[kind]}", err=True)
    rest = [kind for kind in _WHAT_LEAVES if kind not in kinds]
    if "answers" in hello.features and not edge_table["answers"]:
        click.echo(
            "  not asked questions of general knowledge, until you write `answers = true` under [edge]", err=True
        )
    if rest:
        click.echo(f"  not sent  {', '.join(rest)}, unless you say so ([edge] in hearth.toml)", err=True)


def _check_key(shown: str, expected: str, yes: bool) -> None:
    """Check the service's key. Raises: DeniedError: The key is not the one expected, or not agreed to."""
    if expected:
        if "".join(expected.lower().split()).replace(":", "") != shown.replace(" ", ""):
            raise errors.DeniedError(
                f"the service's key has the fingerprint {shown}, but {expected!r} was expected; the token was not sent "
                "and nothing was joined; ask its keeper"
            )
        return
    if not agreed("Is this the fingerprint that the service's keeper told you?", yes):
        raise errors.DeniedError("the key was not agreed to; the token was not sent and nothing was joined")


def _token(given: str | None, file: Path | None) -> str:
    """Read the token. Raises: ConfigError: A file that cannot be read."""
    if given is not None and given != "-":
        return given
    if file is not None:
        try:
            return file.read_text(encoding="ascii", errors="replace")
        except OSError as error:
            raise errors.ConfigError(f"cannot read the token in {str(file)!r}: {error.strerror}") from None
    if given is None and TOKEN_VARIABLE in os.environ:
        return os.environ[TOKEN_VARIABLE]
    if given is None and sys.stdin.isatty():
        answer: str = click.prompt("Token", hide_input=True, err=True)
        return answer
    return sys.stdin.readline()


def _note_past(store: Store, settings: Settings) -> int:
    from hearth.edge.outbox import note_all_demonstrations
    from hearth.learning.demonstration_store import Buffer

    Buffer(store).ids()  # writes missing digests, from which the ids are made
    with store.transaction() as cursor:
        note_all_demonstrations(cursor, now_of(settings))
        n: int = cursor.execute("SELECT count(*) FROM outbox WHERE state = 'waiting'").fetchone()[0]
    return n


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def leave(invocation: Invocation, yes: bool) -> int:
    """Forget the cloud, the token, what waits and what was fetched; what was learnt here stays."""
    import shutil

    from hearth.edge import cloud_link, enrolment
    from hearth.edge.outbox import one_at_a_time

    home = invocation.home
    with opened(home) as store, one_at_a_time(home):
        joined = enrolment.joined(store, home)
        if joined is None:
            click.echo("No cloud was joined.")
            return 0
        if not agreed(f"Leave {clean(joined.url)}? What waits is not sent.", yes):
            return 5
        n = enrolment.leave(store, home)
        shutil.rmtree(cloud_link.artifact_folder(home), ignore_errors=True)
    click.echo(f"Left {clean(joined.url)}; {n} messages that waited were thrown away. Its keeper can revoke the token.")
    click.echo(
        f"  {clean(joined.host)} may still be reached: take it out of `allow` in hearth.toml if nothing else needs it"
    )
    return 0


# ── Opening ───────────────────────────────────────────────────────────────────────────────────────────────


def door_of(settings: Settings, store: Store, entry: str = "") -> Egress:
    """Return the egress gateway, which is also open for `entry` if the owner has just agreed to it."""
    from hearth.guard.egress.gateway import Egress

    if entry:
        network = settings.network.model_copy(update={"allow": (*settings.network.allow, entry)})
        settings = settings.model_copy(update={"network": network})
    return Egress.from_settings(settings, store, lambda: now_of(settings))


@contextlib.contextmanager
def opened(home: Path) -> Iterator[Store]:
    from hearth.storage.database import Store

    with Store.open(home / "hearth.db") as store:
        yield store


def settings_of(invocation: Invocation) -> Settings:
    """Read the settings of the home. Raises: ConfigError: No home there, or wrong settings."""
    from hearth import config

    return config.read_settings(invocation.home / "hearth.toml")


def now_of(settings: Settings) -> dt.datetime:
    return dt.datetime.now(settings.zone())


def agreed(question: str, yes: bool) -> bool:
    """Ask the owner; with nobody to ask, the answer is no."""
    if yes:
        return True
    if not sys.stdin.isatty():
        click.echo(f"{question} Nobody is there to ask; --yes agrees.", err=True)
        return False
    return click.confirm(question, default=False, err=True)


@contextlib.contextmanager
def connected(home: Path, settings: Settings, store: Store) -> Iterator[tuple[Joined, Link, Sharer]]:
    """Open the way to the joined cloud. Raises: NotFound: No cloud was joined."""
    from hearth.edge import enrolment
    from hearth.edge.cloud_teacher import open_link
    from hearth.edge.outbox import Sharer
    from hearth.guard.egress.masking_door import MaskingDoor
    from hearth.registry import load_tools
    from hearth.storage.workspace import Home

    joined = enrolment.joined(store, home)
    at = Home(home, settings, store, os.environ)
    link = open_link(at, door_of(settings, store))
    if joined is None or link is None:
        raise errors.NotFound("this home has not joined a cloud; join one with `hearth edge join URL`")
    with contextlib.redirect_stdout(sys.stderr):  # a plug-in may print
        tools = load_tools(home).specs
    with link:
        yield joined, link, Sharer(store, link.host, MaskingDoor.of_owner(at), tools)


# ── Giving ─────────────────────────────────────────────────────────────────────────────────────────────


@click.command()
@click.option("--withdraw", is_flag=True, help="Take back what was given plainly, for every prior made from now on.")
@click.option("--minutes", type=Number(0, 1440), default=120.0, help="How long a round may take (120).")
@click.option("--yes", is_flag=True, help="Do not ask before anything leaves.")
@as_json
@click.pass_obj
def give(invocation: Invocation, withdraw: bool, minutes: float, yes: bool, as_json: bool) -> int:
    """Give the joined cloud sums of what was learnt here, for a prior that new devices begin with.

    Requests are masked before they are summed, and plans with tools of your own stay out. With fewer than 30
    demonstrations nothing leaves. A service in mode "secret" sees only the sum over several devices.
    """
    from hearth.cli.learning.learn_commands import open_encoder
    from hearth.edge import federation
    from hearth.planning.ranking.ranker import PROFILES, Ranker

    home, settings = invocation.home, settings_of(invocation)
    with opened(home) as store, connected(home, settings, store) as (joined, link, sharer):
        if withdraw:
            was = federation.withdraw(link)
            click.echo("Taken back; priors made from now on are without it." if was else "Nothing was given plainly.")
            return 0
        is_agreed = yes or "statistics" in settings.edge.share
        if not is_agreed and not click.confirm(
            f"Give {joined.server or joined.url} sums of what was learnt here, masked?", default=False, err=True
        ):
            raise errors.DeniedError("nothing was given; --yes agrees, or `share` under [edge]")
        profile = settings.learning.profile
        ranker = Ranker(open_encoder(), sharer.tools, PROFILES[profile])
        pace = federation.Pace(lambda: now_of(settings), time.sleep, 60 * minutes)
        found = federation.give(link, store, ranker, sharer, profile, pace)
    if as_json:
        print_json(asdict(found))
    elif found.reason:
        click.echo(f"Nothing was given: {clean(found.reason)}.")
    else:
        with_whom = f"in a sum over {found.n_edges} devices" if found.n_edges > 1 else "plainly"
        click.echo(f"Given, {with_whom}: sums over {found.n_demonstrations} demonstrations.")
    return 3 if found.reason else 0


# ── The group ──────────────────────────────────────────────────────────────────────────────────────────


_KINDS_OF: dict[str, Kind] = {"demonstrations": "demonstration", "statistics": "statistics"}
_APPLIES = {"prior": "hearth learn prior", "adapter": "hearth adapters take"}
"""Commands that apply what was fetched."""


@click.group(cls=CommandGroup, prefix="edge.")
def edge() -> None:
    """Join a cloud that teaches, see what waits for it, send it, leave it.

    Nothing leaves before you join one, and then only what you agreed to, masked; `hearth ledger` shows every byte.
    Without the cloud, everything here goes on working.
    """


edge.add_command(health)
edge.add_command(join)
edge.add_command(leave)
edge.add_command(run)
edge.add_command(give)


# ── Looking ───────────────────────────────────────────────────────────────────────────────────────────────


@edge.command()
@as_json
@click.pass_obj
def status(invocation: Invocation, as_json: bool) -> int:
    """Show which cloud was joined, what waits for it and why, what it refused, what was dropped."""
    from hearth.edge import enrolment
    from hearth.edge.outbox import Outbox

    home, settings = invocation.home, settings_of(invocation)
    now = now_of(settings)
    with opened(home) as store:
        joined = enrolment.joined(store, home)
        if joined is None:
            raise errors.NotFound("this home has not joined a cloud; join one with `hearth edge join URL`")
        box = Outbox(store, lambda: now)
        kinds = _kinds(box, now)
        dead, dropped = box.dead(), box.dropped()
        rows = store.query("SELECT kind, serial, sha256, at FROM edge_taken ORDER BY kind")
        token = _token_state(store, home)
    if as_json:
        print_json(
            {
                "url": joined.url,
                "server": joined.server,
                "fingerprint": enrolment.fingerprint(joined.public_key),
                "instance": joined.instance,
                "joined_at": joined.joined_at,
                "heard_at": joined.heard_at,
                "fault": joined.fault,
                "token": token,
                "kinds": kinds,
                "dead": [asdict(letter) for letter in dead],
                "dropped": [{"kind": k, "why": why, "n": n, "last_at": at} for k, why, n, at in dropped],
                "taken": [dict(row) for row in rows],
                "settings": settings.edge.model_dump(mode="json"),
            }
        )
        return 0
    _show_joined(joined, token)
    _show_kinds(settings, kinds, dead)
    for what, why, n, at in dropped:
        click.echo(f"  dropped        {n} of {what}, {why}, last {at}")
    for row in rows:
        how = _APPLIES[row["kind"]]
        click.echo(f"  fetched        {row['kind']} {row['serial']}, {row['at']}; taken by `{how}` alone")
    return 0


def _kinds(box: Outbox, now: dt.datetime) -> dict[Kind, dict[str, Any]]:
    """Return for each kind the number of messages by state, the next attempt and the reason."""
    from hearth.edge.outbox import KINDS

    counts = box.counts()
    return {
        kind: {
            **{state: counts.get((kind, state), 0) for state in ("waiting", "delivered", "answered", "dead")},
            "next_try_s": max(0.0, round(pace.due_unix_s - now.timestamp(), 1)) if pace.n_failures else 0.0,
            "reason": pace.reason,
        }
        for kind in KINDS
        for pace in [box.pace(kind)]
    }


def _show_kinds(settings: Settings, kinds: dict[Kind, dict[str, Any]], dead: Sequence[DeadLetter]) -> None:
    for kind, said in kinds.items():
        share = "sent without asking" if _may_go(settings, kind) else "asks first"
        why = clean(short(str(said["reason"]), 100))
        later = f", next try in {said['next_try_s']:.0f} s ({why})" if said["reason"] else ""
        click.echo(f"  {kind:<14} {said['waiting']} waiting ({share}), {said['delivered']} delivered{later}")
    for letter in dead[:10]:
        click.echo(f"  not taken      {clean(letter.about or letter.id)}: {clean(short(letter.reason, 160))}")
    if len(dead) > 10:
        click.echo(
            f"  not taken      and {len(dead) - 10} more; --json lists all; `hearth edge sync --again` tries them"
        )


def _show_joined(joined: Joined, token: str) -> None:
    from hearth.edge.enrolment import fingerprint

    click.echo(f"{clean(joined.server or 'A service')} at {clean(joined.url)}, joined {joined.joined_at[:10]}")
    click.echo(f"  key            {fingerprint(joined.public_key)}")
    click.echo(f"  heard          {joined.heard_at or 'not yet'}{f'; {clean(joined.fault)}' if joined.fault else ''}")
    if token:
        click.echo(f"  token          {clean(token)}")


def _token_state(store: Store, home: Path) -> str:
    """Return what is wrong with the token's file; empty if nothing."""
    from hearth.edge.enrolment import kept_token

    try:
        kept_token(store, home)()
    except errors.ConfigError as error:
        return str(error)
    return ""


# ── Sending and fetching ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _ThisOnce:
    """What is sent and fetched this once, beside what [edge] names."""

    share: tuple[str, ...]
    take: tuple[TakenKind, ...]


@edge.command(cls=command_with({"this_once": _ThisOnce}))
@click.option("--watch", is_flag=True, help="Go on until Ctrl-C; send whenever something is due.")
@click.option(
    "--share", multiple=True, type=click.Choice(["demonstrations", "statistics"]), help="Send these this once."
)
@click.option("--take", multiple=True, type=click.Choice(["prior", "adapter"]), help="Fetch these this once.")
@click.option("--again", is_flag=True, help="Try once more what was not taken.")
@click.option(
    "--every",
    "every_s",
    type=SECONDS,
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="With --watch: send at least this often.",
)
@as_json
@click.pass_obj
def sync(invocation: Invocation, this_once: _ThisOnce, watch: bool, again: bool, every_s: float, as_json: bool) -> int:
    """Send what waits, of the kinds you agreed to, and fetch what [edge] names.

    Others may use the home meanwhile. Exits with 6 while something still waits.
    """
    from hearth.edge.outbox import Outbox, one_at_a_time

    home, settings = invocation.home, settings_of(invocation)
    with opened(home) as store, one_at_a_time(home), connected(home, settings, store) as (joined, link, sharer):
        box = Outbox(store, lambda: now_of(settings))
        if again:
            box.revive()
        n_dropped = box.trim(settings.edge.waiting, int(settings.edge.waiting_mb * 1e6))
        kinds = _agreed_kinds(settings, this_once.share, box, sharer, is_asked=not (watch or as_json))
        exchange = _Exchange(home, settings, store, joined, link, sharer)
        if watch:
            exchange.watch(kinds, every_s)
        turn = exchange.turn(kinds, is_patient=False)
        fetched = exchange.fetched((*settings.edge.take, *this_once.take))
        n_waiting = sum(n for (_, state), n in box.counts().items() if state == "waiting")
    if as_json:
        print_json({**asdict(turn), "n_waiting": n_waiting, "n_dropped": n_dropped, "fetched": fetched})
    else:
        _show_turn(turn, n_waiting, n_dropped, fetched)
    return 6 if turn.held or any(one["fault"] for one in fetched) else 0


@dataclass(frozen=True, slots=True)
class _Exchange:
    """What a home sends to its cloud, and fetches from it."""

    home: Path
    settings: Settings
    store: Store
    joined: Joined
    link: Link
    sharer: Sharer

    def turn(self, kinds: tuple[Kind, ...], *, is_patient: bool) -> Turn:
        from hearth.edge.outbox import Sender

        sender = Sender(self.store, self.link, self.sharer, lambda: now_of(self.settings))
        return sender.turn(kinds, is_patient=is_patient)

    def watch(self, kinds: tuple[Kind, ...], every_s: float) -> NoReturn:
        """Send until Ctrl-C, whenever the next message is due; kinds without agreement wait, and so does a full
        disk."""
        from hearth.edge.outbox import Outbox

        lot = random.Random()  # noqa: S311 - spreads the waits
        box = Outbox(self.store, lambda: now_of(self.settings))
        fetch_at_s = time.monotonic()
        while True:
            waits_s = [max(every_s, 1.0)]
            try:
                turn = self.turn(kinds, is_patient=True)
                fetched: list[dict[str, str]] = []
                if time.monotonic() >= fetch_at_s:
                    fetched = self.fetched(self.settings.edge.take)
                    fetch_at_s = time.monotonic() + max(every_s, 1.0)
                if turn.n_requests or any(one["fault"] for one in fetched):
                    _show_turn(turn, 0, 0, fetched)
                now_s = now_of(self.settings).timestamp()
                waits_s += [pace.due_unix_s - now_s for kind in kinds for pace in [box.pace(kind)] if pace.n_failures]
            except errors.StoreError as error:
                click.echo(f"hearth: {clean(str(error))}; tried again", err=True)
            time.sleep(max(1.0, min(waits_s) * lot.uniform(0.9, 1.1)))

    def fetched(self, kinds: tuple[TakenKind, ...]) -> list[dict[str, str]]:
        """Fetch what is newer there, and return what came of it, for each kind."""
        from hearth.edge.cloud_link import Wanted, fetch

        found = []
        for kind in dict.fromkeys(kinds):
            fault, sha256 = "", ""
            model = self.settings.models.language
            if kind == "adapter" and (model is None or model.kind != "huggingface"):
                fault = 'no model is here that an adapter goes on: kind = "huggingface" under [models.language]'
                found.append({"kind": kind, "sha256": "", "fault": fault})
                continue
            wanted = Wanted(kind, self.settings.learning.profile)
            public_key = self.joined.public_key
            try:
                taken = fetch(self.link, self.store, self.home, wanted, public_key, lambda: now_of(self.settings))
                sha256 = taken.manifest.sha256 if taken is not None else ""
            except (errors.LinkError, errors.WireError) as error:
                fault = str(error)
            found.append({"kind": kind, "sha256": sha256, "fault": fault})
        return found


def _may_go(settings: Settings, kind: str) -> bool:
    """Say whether the owner's settings let a kind be sent without asking."""
    if kind == "question":
        return settings.edge.teaches
    return any(_KINDS_OF[name] == kind for name in settings.edge.share)


def _agreed_kinds(
    settings: Settings, share: tuple[str, ...], box: Any, sharer: Sharer, *, is_asked: bool
) -> tuple[Kind, ...]:
    """Return the kinds that may be sent now: by the settings, by the command's options, and by the owner's answer after
    a look at the first message."""
    from hearth.edge.outbox import KINDS, Shareable

    agreed: list[Kind] = []
    counts = box.counts()
    for kind in KINDS:
        if _may_go(settings, kind) or any(_KINDS_OF[name] == kind for name in share):
            agreed.append(kind)
            continue
        n = counts.get((kind, "waiting"), 0)
        if not n or kind == "question":
            continue
        if not is_asked or not sys.stdin.isatty():
            click.echo(f"{kind}: {n} waiting until you agree (--share, or `share` under [edge])", err=True)
            continue
        for message in box.head(kind, 1):
            found = sharer.shareable(message.id, message.about, message.digest) if message.about else None
            if isinstance(found, Shareable):
                click.echo(f"  for example: {clean(short(found.payload.decode(), 400))}", err=True)
        if click.confirm(f"Send {n} ({kind}), masked like that?", default=False, err=True):
            agreed.append(kind)
    return tuple(agreed)


def _show_turn(turn: Turn, n_waiting: int, n_dropped: int, fetched: list[dict[str, str]]) -> None:
    said = [f"{turn.n_delivered} delivered"]
    for n, what in (
        (turn.n_answered, "questions answered"),
        (turn.n_dead, "not taken (`hearth edge status`)"),
        (turn.n_withdrawn, "taken back before they were sent"),
        (n_dropped, "dropped: too many waited"),
        (n_waiting, "waiting"),
    ):
        if n:
            said.append(f"{n} {what}")
    click.echo(", ".join(said) + ".")
    for kind, reason in turn.held:
        click.echo(f"  {kind} waits: {clean(short(reason, 300))}", err=True)
    for one in fetched:
        outcome = one["fault"] or (
            f"{one['sha256'][:12]}… fetched; `{_APPLIES[one['kind']]}` puts it to use" if one["sha256"] else "none yet"
        )
        click.echo(f"  {one['kind']}: {clean(short(outcome, 300))}")
