"""`hearth edge`: join a cloud, show the messages waiting for it, send and fetch, leave it."""

from __future__ import annotations

import datetime as dt
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from hearth import errors
from hearth.cli.command_group import CommandGroup
from hearth.cli.edge.give_command import give
from hearth.cli.edge.join_commands import connected, join, leave, now_of, opened, settings_of
from hearth.cli.edge.run_commands import health, run
from hearth.cli.invocation import SECONDS, Invocation, as_json, print_json
from hearth.cli.option_sets import command_with
from hearth.terminal import clean, short

if TYPE_CHECKING:
    from hearth.config import Settings
    from hearth.edge.artifact_fetch import TakenKind
    from hearth.edge.cloud_link import Link
    from hearth.edge.enrolment import Joined
    from hearth.edge.outbox import DeadLetter, Kind, Outbox, Turn
    from hearth.edge.share_policy import Sharer
    from hearth.storage.database import Store

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
        from hearth.edge.artifact_fetch import Wanted, fetch

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
    from hearth.edge.outbox import KINDS
    from hearth.edge.share_policy import Shareable

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
