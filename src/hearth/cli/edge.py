"""`hearth edge`: join a cloud, see what waits for it, send and fetch, leave it."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from hearth import errors
from hearth.cli.edge_run import health, point, run
from hearth.cli.invocation import Invocation, as_json, print_json
from hearth.cli.prior import give
from hearth.terminal import clean, short

if TYPE_CHECKING:
    from hearth.config import Settings
    from hearth.edge.joining import Joined
    from hearth.edge.link import Link
    from hearth.edge.outbox import Kind
    from hearth.edge.sending import Turn
    from hearth.edge.sharing import Sharer
    from hearth.guard.egress import Egress
    from hearth.store import Store
    from hearth.wire import Hello

TOKEN_VARIABLE = "HEARTH_EDGE_TOKEN"  # noqa: S105 - the name of a variable
_KINDS_OF: dict[str, Kind] = {"demonstrations": "demonstration", "statistics": "statistics"}
_WHAT_LEAVES = {
    "teaches": "requests nobody here is sure of, masked, with the time and the descriptions of your tools",
    "demonstrations": "what you taught and what was done and stood, masked: request, words and arguments of the plan",
    "statistics": "sums that your student was made of, no request among them",
}
_EVERY_S = 300.0


@click.group()
def edge() -> None:
    """Join a cloud that teaches, see what waits for it, send it, leave it.

    Nothing leaves before you joined one, and then only masked and of the kinds you agreed to; `hearth ledger` shows
    every byte. Without the cloud, everything goes on here.
    """


edge.add_command(health)
edge.add_command(point)
edge.add_command(run)
edge.add_command(give)


# ── Joining and leaving ───────────────────────────────────────────────────────────────────────────────────


@edge.command()
@click.argument("url")
@click.argument("token", required=False)
@click.option("--token-file", type=click.Path(path_type=Path, dir_okay=False), help="Read the token from this file.")
@click.option("--fingerprint", "expected", default="", help="Join only a service whose key has this fingerprint.")
@click.option("--teaches/--no-teaches", default=None, help="Let it plan what nobody here is sure of.")
@click.option(
    "--share", multiple=True, type=click.Choice(["demonstrations", "statistics"]), help="Send these without asking."
)
@click.option("--take", multiple=True, type=click.Choice(["prior", "adapter"]), help="Fetch these; `learn` applies.")
@click.option("--yes", is_flag=True, help="Agree to the key that is shown and to reaching the host.")
@as_json
@click.pass_obj
def join(
    invocation: Invocation,
    url: str,
    token: str | None,
    token_file: Path | None,
    expected: str,
    teaches: bool | None,
    share: tuple[str, ...],
    take: tuple[str, ...],
    yes: bool,
    as_json: bool,
) -> int:
    """Join the cloud at URL with the TOKEN its keeper gave you.

    Without TOKEN it is asked for, or taken from --token-file, $HEARTH_EDGE_TOKEN or standard input: other users of this
    machine see a command line. It is kept in the file edge/token of the home, which only you can read. The service's
    key is shown before the token is sent; compare its fingerprint with what the keeper says.
    """
    import httpx

    from hearth.edge import joining, settings_file

    home, settings = invocation.home, _settings(invocation)
    address = joining.checked_url(url)
    parsed = httpx.URL(address)
    entry = f"{parsed.host}:{parsed.port or (443 if parsed.scheme == 'https' else 80)}"
    if not settings_file.is_allowed(settings, entry) and not _agreed(
        f"Hearth may not reach {entry} yet. Add it to `allow` under [network] in hearth.toml?", yes
    ):
        raise errors.DeniedError(f"{entry} was not allowed, so nothing was sent and nothing was joined")
    wanted = _edge_table(settings, teaches, share, take)
    with _opened(home) as store:
        door = _door(settings, store, entry)
        hello = _hello(address, door)
        shown = joining.fingerprint(hello.public_key)
        _show_service(address, hello, shown, {**settings.edge.model_dump(), **wanted})
        _check_key(shown, expected, yes)
        secret = joining.checked_token(_token(token, token_file))
        name = joining.name_for(store, home, address, hello.public_key)
        _try_token(address, door, secret, name)
        changed = settings_file.change(home / "hearth.toml", entry, wanted)
        found = joining.join(store, home, address, hello.server, hello.public_key, name, secret, _now(settings))
        n_past = _note_past(store, settings)
    if as_json:
        print_json({"url": found.url, "server": found.server, "fingerprint": shown, "changed_settings": changed})
        return 0
    click.echo(f"Joined {clean(found.server or found.url)}.")
    click.echo(f"  token     in {joining.token_file(home)}, for you alone")
    click.echo(f"  settings  {'hearth.toml was changed' if changed else 'as they were'}: [network] allow, [edge]")
    click.echo(f"  waiting   {n_past} demonstrations; `hearth edge sync` sends what you agree to")
    return 0


def _edge_table(
    settings: Settings, teaches: bool | None, share: tuple[str, ...], take: tuple[str, ...]
) -> dict[str, bool | list[str]]:
    wanted: dict[str, bool | list[str]] = {}
    if teaches is not None:
        wanted["teaches"] = teaches
    for key, given, now in (("share", share, settings.edge.share), ("take", take, settings.edge.take)):
        if given:
            wanted[key] = list(dict.fromkeys((*now, *given)))
    return wanted


def _hello(address: str, door: Egress) -> Hello:
    from hearth.edge.link import Link

    with Link(address, door, None, "joining") as link:
        return link.hello()


def _try_token(address: str, door: Egress, secret: str, name: str) -> None:
    """Raises: LinkError: The token is not taken."""
    from hearth.edge.link import Link

    def token() -> str:
        return secret

    with Link(address, door, token, name) as link:
        try:
            link.tasks()
        except errors.LinkError as error:
            if error.status != 404:  # a service may keep no tasks
                raise


def _show_service(address: str, hello: Hello, shown: str, edge_table: dict[str, Any]) -> None:
    click.echo(f"At {address} answers {clean(short(hello.server, 80)) or 'a service without a name'}.", err=True)
    click.echo(f"  key       {shown}", err=True)
    click.echo(f"  offers    {clean(short(', '.join(hello.features), 120)) or 'nothing'}", err=True)
    kinds = [*(["teaches"] if edge_table["teaches"] else []), *edge_table["share"]]
    for kind in kinds:
        click.echo(f"  is sent   {_WHAT_LEAVES[kind]}", err=True)
    rest = [kind for kind in _WHAT_LEAVES if kind not in kinds]
    if rest:
        click.echo(f"  not sent  {', '.join(rest)}, unless you say so ([edge] in hearth.toml)", err=True)


def _check_key(shown: str, expected: str, yes: bool) -> None:
    """Raises: DeniedError: The key is not the one expected, or not agreed to."""
    if expected:
        if "".join(expected.lower().split()).replace(":", "") != shown.replace(" ", ""):
            raise errors.DeniedError(
                f"the service's key has the fingerprint {shown}, expected was {expected!r}; the token was not sent and "
                "nothing was joined; ask its keeper"
            )
        return
    if not _agreed("Is this the fingerprint that the service's keeper told you?", yes):
        raise errors.DeniedError("the key was not agreed to; the token was not sent and nothing was joined")


def _token(given: str | None, file: Path | None) -> str:
    """Raises: ConfigError: A file that cannot be read."""
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
    from hearth.learn.buffer import Buffer

    Buffer(store).ids()  # writes digests that are missing: the ids are made of them
    with store.transaction() as cursor:
        note_all_demonstrations(cursor, _now(settings))
        n: int = cursor.execute("SELECT count(*) FROM outbox WHERE state = 'waiting'").fetchone()[0]
    return n


@edge.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def leave(invocation: Invocation, yes: bool) -> int:
    """Forget the cloud, the token, what waits and what was fetched; what was learnt here stays."""
    import shutil

    from hearth.edge import fetching, joining
    from hearth.edge.sending import one_at_a_time

    home = invocation.home
    with _opened(home) as store, one_at_a_time(home):
        joined = joining.joined(store, home)
        if joined is None:
            click.echo("No cloud was joined.")
            return 0
        if not _agreed(f"Leave {clean(joined.url)}? What waits is not sent.", yes):
            return 5
        n = joining.leave(store, home)
        shutil.rmtree(fetching.folder(home), ignore_errors=True)
    click.echo(f"Left {clean(joined.url)}; {n} messages that waited were thrown away. Its keeper can revoke the token.")
    click.echo(
        f"  {clean(joined.host)} may still be reached: take it out of `allow` in hearth.toml if nothing else needs it"
    )
    return 0


# ── Looking ───────────────────────────────────────────────────────────────────────────────────────────────


@edge.command()
@as_json
@click.pass_obj
def status(invocation: Invocation, as_json: bool) -> int:
    """What was joined, what waits for it and why, what it would not take, what was dropped."""
    from hearth.edge import joining
    from hearth.edge.outbox import KINDS, Outbox

    home, settings = invocation.home, _settings(invocation)
    now = _now(settings)
    with _opened(home) as store:
        joined = joining.joined(store, home)
        if joined is None:
            raise errors.NotFound("no cloud was joined; `hearth edge join URL` does")
        box = Outbox(store, lambda: now)
        counts = box.counts()
        kinds = {
            kind: {
                **{state: counts.get((kind, state), 0) for state in ("waiting", "delivered", "answered", "dead")},
                "next_try_s": max(0.0, round(pace.due_unix_s - now.timestamp(), 1)) if pace.n_failures else 0.0,
                "reason": pace.reason,
            }
            for kind in KINDS
            for pace in [box.pace(kind)]
        }
        dead, dropped = box.dead(), box.dropped()
        rows = store.query("SELECT kind, serial, sha256, at FROM edge_taken ORDER BY kind")
    token = _token_state(home)
    if as_json:
        print_json(
            {
                "url": joined.url,
                "server": joined.server,
                "fingerprint": joining.fingerprint(joined.public_key),
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
    for kind, said in kinds.items():
        share = "asks" if not _may_go(settings, kind) else "sent by itself"
        later = (
            f", next try in {said['next_try_s']:.0f} s ({clean(short(str(said['reason']), 100))})"
            if said["reason"]
            else ""
        )
        click.echo(f"  {kind:<14} {said['waiting']} waiting ({share}), {said['delivered']} delivered{later}")
    for letter in dead[:10]:
        click.echo(f"  not taken      {clean(letter.about or letter.id)}: {clean(short(letter.reason, 160))}")
    if len(dead) > 10:
        click.echo(
            f"  not taken      and {len(dead) - 10} more; --json lists all; `hearth edge sync --again` tries them"
        )
    for what, why, n, at in dropped:
        click.echo(f"  dropped        {n} of {what}, {why}, last {at}")
    for row in rows:
        click.echo(f"  fetched        {row['kind']} {row['serial']}, {row['at']}; applied by `hearth learn` alone")
    return 0


def _show_joined(joined: Joined, token: str) -> None:
    from hearth.edge.joining import fingerprint

    click.echo(f"{clean(joined.server or 'A service')} at {clean(joined.url)}, joined {joined.joined_at[:10]}")
    click.echo(f"  key            {fingerprint(joined.public_key)}")
    click.echo(f"  heard          {joined.heard_at or 'not yet'}{f'; {clean(joined.fault)}' if joined.fault else ''}")
    if token:
        click.echo(f"  token          {clean(token)}")


def _token_state(home: Path) -> str:
    """What is wrong with the token's file; empty: nothing."""
    from hearth.edge.joining import kept_token

    try:
        kept_token(home)()
    except errors.ConfigError as error:
        return str(error)
    return ""


# ── Sending and fetching ──────────────────────────────────────────────────────────────────────────────────


@edge.command()
@click.option("--watch", is_flag=True, help="Go on until Ctrl-C: whenever something is due.")
@click.option(
    "--share", multiple=True, type=click.Choice(["demonstrations", "statistics"]), help="Send these this once."
)
@click.option("--take", multiple=True, type=click.Choice(["prior", "adapter"]), help="Fetch these this once.")
@click.option("--again", is_flag=True, help="Try once more what was not taken.")
@click.option("--every", "every_s", default=_EVERY_S, show_default=True, help="With --watch: at least so often, in s.")
@as_json
@click.pass_obj
def sync(
    invocation: Invocation, watch: bool, share: tuple[str, ...], take: tuple[str, ...], again: bool, every_s: float,
    as_json: bool,
) -> int:  # fmt: skip
    """Send what waits, of the kinds you agreed to, and fetch what [edge] names.

    Others may use the home meanwhile. Exits with 6 while something still waits.
    """
    from hearth.edge.outbox import Outbox
    from hearth.edge.sending import one_at_a_time

    home, settings = invocation.home, _settings(invocation)
    with _opened(home) as store, one_at_a_time(home), _parts(home, settings, store) as (joined, link, sharer):
        box = Outbox(store, lambda: _now(settings))
        if again:
            box.revive()
        n_dropped = box.trim(settings.edge.waiting, int(settings.edge.waiting_mb * 1e6))
        kinds = _agreed_kinds(settings, share, box, sharer, is_asked=not (watch or as_json))
        if watch:
            _watch(store, home, joined, link, sharer, settings, kinds, every_s)
        turn = _turn(store, link, sharer, settings, kinds, is_patient=False)
        fetched = _fetched(store, home, link, settings, (*settings.edge.take, *take), joined)
        n_waiting = sum(n for (_, state), n in box.counts().items() if state == "waiting")
    if as_json:
        print_json({**asdict(turn), "n_waiting": n_waiting, "n_dropped": n_dropped, "fetched": fetched})
    else:
        _show_turn(turn, n_waiting, n_dropped, fetched)
    return 6 if turn.held or any(one["fault"] for one in fetched) else 0


def _turn(
    store: Store, link: Link, sharer: Sharer, settings: Settings, kinds: tuple[Kind, ...], *, is_patient: bool
) -> Turn:
    from hearth.edge.sending import Sender

    return Sender(store, link, sharer, lambda: _now(settings)).turn(kinds, is_patient=is_patient)


def _watch(
    store: Store,
    home: Path,
    joined: Joined,
    link: Link,
    sharer: Sharer,
    settings: Settings,
    kinds: tuple[Kind, ...],
    every_s: float,
) -> NoReturn:
    """Turns until Ctrl-C, each when the next message is due; kinds not agreed to wait, and so does a full disk."""
    from hearth.edge.outbox import Outbox

    lot = random.Random()  # noqa: S311 - spreads the waits
    box = Outbox(store, lambda: _now(settings))
    fetch_at_s = time.monotonic()
    while True:
        waits_s = [max(every_s, 1.0)]
        try:
            turn = _turn(store, link, sharer, settings, kinds, is_patient=True)
            fetched: list[dict[str, str]] = []
            if time.monotonic() >= fetch_at_s:
                fetched = _fetched(store, home, link, settings, settings.edge.take, joined)
                fetch_at_s = time.monotonic() + max(every_s, 1.0)
            if turn.n_requests or any(one["fault"] for one in fetched):
                _show_turn(turn, 0, 0, fetched)
            now_s = _now(settings).timestamp()
            waits_s += [pace.due_unix_s - now_s for kind in kinds for pace in [box.pace(kind)] if pace.n_failures]
        except errors.StoreError as error:
            click.echo(f"hearth: {clean(str(error))}; tried again", err=True)
        time.sleep(max(1.0, min(waits_s) * lot.uniform(0.9, 1.1)))


def _may_go(settings: Settings, kind: str) -> bool:
    """Whether the owner's settings let a kind be sent without asking."""
    if kind == "question":
        return settings.edge.teaches
    return any(_KINDS_OF[name] == kind for name in settings.edge.share)


def _agreed_kinds(
    settings: Settings, share: tuple[str, ...], box: Any, sharer: Sharer, *, is_asked: bool
) -> tuple[Kind, ...]:
    """What may be sent now: what the settings say, what was said with the command, and what the owner says when asked,
    having seen how the first of them looks."""
    from hearth.edge.outbox import KINDS
    from hearth.edge.sharing import Shareable

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
            click.echo(f"{n} of kind {kind} wait for your word: --share, or `share` under [edge]", err=True)
            continue
        for message in box.head(kind, 1):
            found = sharer.shareable(message.id, message.about, message.digest) if message.about else None
            if isinstance(found, Shareable):
                click.echo(f"  for example: {clean(short(found.payload.decode(), 400))}", err=True)
        if click.confirm(f"Send {n} of kind {kind}, masked like that?", default=False, err=True):
            agreed.append(kind)
    return tuple(agreed)


def _fetched(
    store: Store, home: Path, link: Link, settings: Settings, kinds: tuple[str, ...], joined: Joined
) -> list[dict[str, str]]:
    from hearth.edge.fetching import fetch

    found = []
    for kind in dict.fromkeys(kinds):
        fault, sha256 = "", ""
        try:
            taken = fetch(
                *(link, store, home, kind, joined.public_key, lambda: _now(settings)),  # type: ignore[arg-type]
                profile=settings.learning.profile,
            )
            sha256 = taken.manifest.sha256 if taken is not None else ""
        except (errors.LinkError, errors.WireError) as error:
            fault = str(error)
        found.append({"kind": kind, "sha256": sha256, "fault": fault})
    return found


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
            f"{one['sha256'][:12]}… lies here; `hearth learn` applies it" if one["sha256"] else "none yet"
        )
        click.echo(f"  {one['kind']}: {clean(short(outcome, 300))}")


# ── Opening ───────────────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def _parts(home: Path, settings: Settings, store: Store) -> Iterator[tuple[Joined, Link, Sharer]]:
    """What a turn needs. Raises: NotFound: No cloud was joined."""
    from hearth.edge import joining
    from hearth.edge.sharing import Sharer
    from hearth.edge.teaching import open_link, owners_mask
    from hearth.registry import load_tools
    from hearth.workspace import Folder

    joined = joining.joined(store, home)
    link = open_link(store, home, settings, _door(settings, store))
    if joined is None or link is None:
        raise errors.NotFound("no cloud was joined; `hearth edge join URL` does")
    with contextlib.redirect_stdout(sys.stderr):  # a plug-in may print
        tools = load_tools(home).specs
    mask = owners_mask(Folder(home / "owner", store).for_call(""), settings, os.environ)
    with link:
        yield joined, link, Sharer(store, link.host, mask, tools)


def _door(settings: Settings, store: Store, entry: str = "") -> Egress:
    """The network door; with `entry`, which the owner agreed to a moment ago, open for it too."""
    from hearth.guard.egress import Egress

    if entry:
        network = settings.network.model_copy(update={"allow": (*settings.network.allow, entry)})
        settings = settings.model_copy(update={"network": network})
    return Egress.from_settings(settings, store, lambda: _now(settings))


@contextlib.contextmanager
def _opened(home: Path) -> Iterator[Store]:
    from hearth.store import Store

    with Store.open(home / "hearth.db") as store:
        yield store


def _settings(invocation: Invocation) -> Settings:
    """Raises: ConfigError: No home there, or wrong settings."""
    from hearth import config

    return config.read_settings(invocation.home / "hearth.toml")


def _now(settings: Settings) -> dt.datetime:
    return dt.datetime.now(settings.zone())


def _agreed(question: str, yes: bool) -> bool:
    """The owner's word; without anybody to ask, no."""
    if yes:
        return True
    if not sys.stdin.isatty():
        click.echo(f"{question} Nobody is there to ask; --yes agrees.", err=True)
        return False
    return click.confirm(question, default=False, err=True)
