"""`hearth edge join` and `leave`: check the service's key, ask for agreement and store the token; also opens a home for
the other commands about its cloud."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hearth import errors
from hearth.cli.invocation import Invocation, as_json, print_json
from hearth.cli.option_sets import command_with
from hearth.terminal import clean, short

if TYPE_CHECKING:
    from hearth.config import Settings
    from hearth.edge.cloud_link import Link
    from hearth.edge.enrolment import Joined
    from hearth.edge.share_policy import Sharer
    from hearth.formats.edge_protocol import Hello, StatisticsTerms
    from hearth.guard.egress.gateway import Egress
    from hearth.storage.database import Store

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

    from hearth.edge import artifact_fetch, enrolment
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
        shutil.rmtree(artifact_fetch.folder(home), ignore_errors=True)
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
    from hearth.edge.share_policy import Sharer
    from hearth.guard.egress.masking_door import MaskingDoor
    from hearth.registry import load_tools
    from hearth.storage.open_home import Home

    joined = enrolment.joined(store, home)
    at = Home(home, settings, store, os.environ)
    link = open_link(at, door_of(settings, store))
    if joined is None or link is None:
        raise errors.NotFound("this home has not joined a cloud; join one with `hearth edge join URL`")
    with contextlib.redirect_stdout(sys.stderr):  # a plug-in may print
        tools = load_tools(home).specs
    with link:
        yield joined, link, Sharer(store, link.host, MaskingDoor.of_owner(at), tools)
