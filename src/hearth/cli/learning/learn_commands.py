"""Commands about versions of what was learnt: learn, roll back, priors, adapters of a language model."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from hearth import errors
from hearth.cli.invocation import Invocation, Number, as_json, command_with, group_with, print_json
from hearth.formats.terminal_text import clean, short

if TYPE_CHECKING:
    from hearth.learning.finetune.adapters import Adapters, AdapterVersion, Distilled
    from hearth.learning.versions.learned_state import Report, State
    from hearth.learning.versions.promotion_gate import Task
    from hearth.planning.ranking.sufficient_statistics import Statistics
    from hearth.protocols import Encoder
    from hearth.storage.database import Store
    from hearth.types import Demonstration


# ── Learn commands ────────────────────────────────────────────────────────────────────────────────────────
# `hearth learn`: learn from demonstrations, manage versions, and show the known tasks.

_N_SHOWN = 10

state_option = click.option(
    "--state",
    "state_folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep what is learnt in DIR instead of the home.",
)


# ── Opening ───────────────────────────────────────────────────────────────────────────────────────────────


def folder_of(invocation: Invocation, state_folder: Path | None) -> Path:
    """Return the folder a command is about. Raises: ConfigError: No --state, and no home."""
    if state_folder is not None:
        return state_folder
    if not (invocation.home / "hearth.toml").exists():
        raise errors.ConfigError(
            f"no home in {str(invocation.home)!r}; make one with `hearth init`, or name a folder with --state"
        )
    return invocation.home


def folder_within(ctx: click.Context, state_folder: Path | None) -> Path:
    """Return the folder that a command below `hearth learn` is about: named here, or by a command above it. Raises:
    ConfigError."""
    found: Path | None = state_folder
    obj: Any = ctx.obj
    while isinstance(obj, tuple):
        obj, given = obj
        found = found or given
    return folder_of(obj, found)


def open_encoder() -> Encoder:
    """Open the shipped encoder, from the cache."""
    from hearth import config
    from hearth.models.sentence_encoder import MiniLMEncoder

    return MiniLMEncoder.open(config.cache_folder(os.environ))


@contextlib.contextmanager
def opened_state(
    folder: Path, *, tools_file: Path | None = None, graph_file: Path | None = None
) -> Iterator[tuple[State, Encoder]]:
    """Open the learned state of a home or a folder, with the tools it may plan."""
    from hearth.formats.plans import read_graph, read_tools
    from hearth.learning.versions.learned_state import Offer, State
    from hearth.registry import load_tools

    given = read_tools(tools_file) if tools_file else None
    if given is not None and not given:
        raise errors.RegistryError(f"{tools_file}: describes no tool; expected one or more")
    graph = read_graph(graph_file) if graph_file else None
    is_home = (folder / "hearth.toml").exists()
    own = None
    if is_home:
        with contextlib.redirect_stdout(sys.stderr):  # a plug-in may print
            own = load_tools(folder).specs
    elif given is None and not (folder / "tools.json").exists():
        raise errors.RegistryError(f"{str(folder)!r} knows no tools yet; give them with --tools tool_desc.json")
    encoder = open_encoder()
    tools, more = (own, given) if is_home else (given, None)
    with State.open(folder, encoder, Offer(tools, graph, more)) as state:
        yield state, encoder


@contextlib.contextmanager
def opened_store(folder: Path) -> Iterator[Store]:
    """Open the database of a home or a folder, for reading, also while an agent runs on it."""
    from hearth.storage.database import Store

    if not (folder / "hearth.db").exists() and not (folder / "hearth.toml").exists():
        raise errors.ConfigError(f"nothing was learnt in {str(folder)!r} yet; `hearth learn` makes the first version")
    with Store.open(folder / "hearth.db") as store:
        yield store


_SAY_EVERY_S = 10.0


class Bars:
    """Shows a bar for each stage on a terminal, elsewhere a line now and then; satisfies
    `learning.versions.learned_state.Progress`."""

    def __init__(self) -> None:
        self._stage = ""
        self._bar: Any = None
        self._done = 0
        self._said_s = time.monotonic()

    def __call__(self, stage: str, done: int, total: int) -> None:
        if not sys.stderr.isatty():
            if time.monotonic() >= self._said_s + _SAY_EVERY_S:
                click.echo(f"{stage}: {done:,} of {max(total, 1):,}", err=True)
                self._said_s = time.monotonic()
            return
        if stage != self._stage:
            self.close()
            self._stage, self._done = stage, 0
            self._bar = click.progressbar(length=max(total, 1), label=f"{stage:<9}", file=sys.stderr)
            self._bar.__enter__()
        self._bar.update(done - self._done)
        self._done = done

    def close(self) -> None:
        """End the line of the last bar."""
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
            self._bar = None


# ── Learning ──────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Given:
    """The files that are learnt from; without `demonstrations`, what waits in the home is."""

    demonstrations: Path | None
    source: str
    """Who made the plans, for lines that do not say."""
    tools: Path | None
    graph: Path | None
    teacher: Path | None
    """The teacher's answers, in the place of asking one."""


@dataclass(frozen=True, slots=True)
class _Tiers:
    """How far it is learnt."""

    fast: bool
    tier: Literal["one", "two"] | None


@click.group(cls=group_with({"given": _Given, "tiers": _Tiers}), invoke_without_command=True)
@click.option(
    "--from",
    "demonstrations",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.jsonl",
    help="Learn the demonstrations of this file (default: those that wait).",
)
@click.option("--tools", type=click.Path(path_type=Path), help="Tools: a tool_desc.json.")
@click.option("--graph", type=click.Path(path_type=Path), help="Links that are possible: graph_desc.json.")
@state_option
@click.option("--fast", is_flag=True, help="Tier one alone: exact, in seconds.")
@click.option(
    "--tier",
    type=click.Choice(["one", "two"]),
    help="`two` asks for the trained tier as well (needs torch) and fails without it.",
)
@click.option("--source", default="teacher", show_default=True, help="Who made the plans, for lines that do not say.")
@click.option(
    "--teacher",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.jsonl",
    help="Without --from: take the teacher's answers from this file instead of asking one.",
)
@click.option("--anyway", is_flag=True, help="Promote even what the gate refuses.")
@as_json
@click.pass_context
def learn(
    ctx: click.Context, given: _Given, tiers: _Tiers, state_folder: Path | None, anyway: bool, as_json: bool
) -> int:
    """Learn from demonstrations; a new version plans only if the gate finds it no worse.

    A demonstration is one line of JSON: a request with its plan (docs/reference/plan-format.md). Ctrl-C loses nothing:
    what was given waits, and `hearth learn` carries on.
    """
    if ctx.invoked_subcommand is not None:
        ctx.obj = (ctx.obj, state_folder)
        return 0
    if given.teacher is not None and given.demonstrations is not None:
        raise click.UsageError("--teacher answers what waits in the home, --from learns a file; give one")
    if tiers.fast and tiers.tier == "two":
        raise click.UsageError("--fast leaves tier two out; choose one of --fast and --tier two")
    folder = folder_of(ctx.obj, state_folder)
    bars = Bars()
    try:
        report, note = _learn(folder, given, bars, "one" if tiers.fast else tiers.tier, anyway=anyway)
    except KeyboardInterrupt:
        bars.close()
        click.echo("\nStopped. The version that plans is as it was; what was read waits: `hearth learn`.", err=True)
        return 130
    finally:
        bars.close()
    if as_json:
        print_json(_report_json(report, note))
    else:
        _show_report(report, note)
    if report.version is None and (report.refused or report.verdict is not None):
        return 1
    return 6 if report.refused else 0


def _learn(
    folder: Path, given: _Given, bars: Bars, tier: Literal["one", "two"] | None, *, anyway: bool
) -> tuple[Report, str]:
    from hearth.learning.demonstration_store import read_entries
    from hearth.learning.stream import gather, gathered_lines

    entries, faults = read_entries(given.demonstrations, given.source) if given.demonstrations else ([], [])
    with opened_state(folder, tools_file=given.tools, graph_file=given.graph) as (state, encoder):
        notes: list[str] = []
        is_home = (folder / "hearth.toml").exists()
        if is_home and given.demonstrations is None:
            gathered = gather(state, folder, encoder, bars, given.teacher)
            notes += gathered_lines(gathered) if gathered is not None else []
        if lost := state.lost_tier():
            notes.append(lost)
        report = state.learn(entries, bars, must_pass=not anyway)
        note = _second_tier(state, bars, report, tier, is_home=is_home)
    return replace(report, refused=(*faults, *report.refused), notes=(*notes, *report.notes)), note


def _second_tier(state: State, bars: Bars, report: Report, tier: Literal["one", "two"] | None, *, is_home: bool) -> str:
    """Train tier two when it is asked for, or when a version was made in a folder that is no home and it pays; return a
    description of the outcome. What a home is asked is planned without it.

    Raises:
        MissingExtraError, HearthError: It was asked for and cannot be trained; tier one is learnt.
    """
    if tier == "one" or (tier is None and (is_home or report.version is None)):
        return ""
    from hearth.learning.finetune import second_tier  # with the student, which most runs do without

    if tier is None and not second_tier.is_due(state):
        return ""
    try:
        number, verdict = second_tier.train(state, bars)
    except errors.MissingExtraError as error:
        if tier == "two":
            raise
        return f"tier one alone: {error}"
    if number is None:
        return f"tier two was trained and refused: {verdict.reason}"
    return f"tier two was trained: version {number}, {verdict.reason}"


def _report_json(report: Report, note: str) -> dict[str, Any]:
    return {
        "version": report.version,
        "n_learnt": report.n_learnt,
        "n_known": report.n_known,
        "new_tools": list(report.new_tools),
        "new_tasks": list(report.new_tasks),
        "refused": [{"id": r.id, "line": r.line, "reason": r.reason} for r in report.refused],
        "contradictions": [[c.id, c.other] for c in report.contradictions],
        "gate": report.verdict.to_json() if report.verdict else None,
        "cpu_s": round(report.cpu_s, 2),
        "notes": [*report.notes, *([note] if note else [])],
    }


def _show_report(report: Report, note: str) -> None:
    if report.version is not None:
        click.echo(
            f"Learnt {_n(report.n_learnt, 'demonstration')} in {report.cpu_s:.1f} s of CPU: version {report.version}."
        )
    elif report.verdict is not None:
        click.echo(f"Not learnt: {clean(report.verdict.reason)}. The version that plans is as it was.")
    else:
        click.echo("Nothing new to learn.")
    if report.verdict is not None and report.verdict.is_promoted:
        click.echo(f"  gate      {clean(report.verdict.reason)}")
    for label, names in (("tools", report.new_tools), ("tasks", report.new_tasks)):
        if names:
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""
            click.echo(f"  new {label} {clean(', '.join(names[:5]))}{more}")
    if report.n_known:
        click.echo(f"  known     {_n(report.n_known, 'demonstration')}, word for word")
    if report.contradictions:
        first = report.contradictions[0]
        click.echo(
            f"  disagree  {_n(len(report.contradictions), 'request')} with two plans ({clean(first.id)!r} and "
            f"{clean(first.other)!r}); both are kept"
        )
    if report.refused:
        reasons = list(dict.fromkeys(r.reason for r in report.refused))
        click.echo(f"  refused   {_n(len(report.refused), 'demonstration')}")
        for reason in reasons[:_N_SHOWN]:
            click.echo(f"    {clean(reason)}")
        if len(reasons) > _N_SHOWN:
            click.echo(f"    and {len(reasons) - _N_SHOWN} more; --json lists all")
    for line in (*report.notes, *([note] if note else [])):
        click.echo(f"  {clean(line)}")


def _n(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


# ── Looking ───────────────────────────────────────────────────────────────────────────────────────────────


@learn.command()
@state_option
@click.option("--all", "show_all", is_flag=True, help="Every task, not the largest ten.")
@as_json
@click.pass_context
def status(ctx: click.Context, state_folder: Path | None, show_all: bool, as_json: bool) -> None:
    """Show what plans now: the version, what waits, the tasks with their scores."""
    from hearth.learning.demonstration_store import Buffer
    from hearth.learning.versions import learned_state
    from hearth.learning.versions.learned_state import Lineage
    from hearth.planning.deferral import Agreements

    folder = folder_within(ctx, state_folder)
    with opened_store(folder) as store:
        lineage, buffer = Lineage(store), Buffer(store)
        version = lineage.current()
        members = lineage.members(version.number if version else None)
        n_waiting = sum(members.get(id) != digest for id, digest in buffer.ids().items())
        aside = buffer.n_set_aside()
        tasks = lineage.tasks(version.number) if version else ()
        agreed = Agreements(store).n_right()
    n_waiting += aside.pop("waiting", 0)
    if as_json:
        print_json(
            {
                "version": asdict(version) if version else None,
                "waiting": n_waiting,
                "set_aside": aside,
                "tasks": [task.to_json() for task in tasks],
                "agreement": {planner: {"right": right, "n": n} for planner, (right, n) in agreed.items()},
            }
        )
        return
    if version is None:
        click.echo(f"Nothing was learnt yet; {_n(n_waiting, 'demonstration')} wait: hearth learn")
        return
    click.echo(f"Version {version.number} of {version.at:%Y-%m-%d %H:%M}: {clean(version.reason)}")
    click.echo(f"  demonstrations {len(members):,}, {n_waiting:,} waiting")
    for why, n in sorted(aside.items()):
        click.echo(f"  {why:<14} {n:,}, kept aside")
    score = version.record.get("node_f1")
    if isinstance(score, int | float):
        click.echo(f"  Node-F1        {score:.3f} on {version.record.get('n_judged')} samples judged as if not taught")
    fault = learned_state.tier_fault(folder / "learned" / version.adapter) if version.adapter else ""
    gone = f" (its files are {fault}: `hearth learn --tier two` trains another)" if fault else ""
    click.echo(f"  tier two       {version.adapter or 'none'}{gone}")
    for planner, (right, n) in agreed.items():
        click.echo(clean(f"  agreement      {planner}: {right} of {n} plans were the teacher's"))
    frontier = version.record.get("frontier")
    if isinstance(frontier, dict):
        click.echo(
            f"  unseen tasks   {float(str(frontier['caught'])):.0%} recognised, "
            f"{float(str(frontier['false_alarms'])):.0%} false alarms"
        )
    _show_tasks(tasks, len(tasks) if show_all else _N_SHOWN)


def _show_tasks(tasks: Sequence[Task], n_shown: int) -> None:
    click.echo(f"  tasks          {len(tasks)}")
    for task in tasks[:n_shown]:
        score_text = f"{task.score:.2f}" if task.score is not None else "   –"
        akin = f"  akin to {task.akin[0][0]}" if task.akin else ""
        click.echo(clean(f"    {score_text}  {len(task.members):>5}  {task.name}{akin}"))
    if n_shown < len(tasks):
        click.echo(f"    … and {len(tasks) - n_shown} more: --all")


@learn.command()
@state_option
@click.option(
    "--picture", type=click.Path(path_type=Path), metavar="FILE", help="Draw the learning curve (.png, .svg)."
)
@as_json
@click.pass_context
def history(ctx: click.Context, state_folder: Path | None, picture: Path | None, as_json: bool) -> None:
    """List the versions: when, why, from how much, how good, with which trained second tier."""
    from hearth.learning.finetune.adapters import Adapters
    from hearth.learning.versions.learned_state import Lineage
    from hearth.models.llm.openai_endpoint import ADAPTERS

    folder = folder_within(ctx, state_folder)
    with opened_store(folder) as store:
        lineage = Lineage(store)
        versions, current = lineage.versions(), lineage.current()
    n_adapters = len(Adapters(folder / ADAPTERS).versions())
    if picture is not None:
        from hearth.learning.versions.learned_state import draw

        draw(versions, picture)
    if as_json:
        print_json({"current": current.number if current else None, "versions": [asdict(v) for v in versions]})
        return
    for version in versions:
        mark = "*" if current and version.number == current.number else " "
        score = version.record.get("node_f1")
        shown = f"{score:.3f}" if isinstance(score, int | float) else "    –"
        parent = f" from {version.parent}" if version.parent not in (None, version.number - 1) else ""
        removed = f" -{version.n_removed}" if version.n_removed else ""
        trained = f", with {clean(version.adapter)}" if version.adapter else ""
        click.echo(
            f"{mark} {version.number:>4}  {version.at:%Y-%m-%d %H:%M}  {shown}  +{version.n_added}{removed}"
            f"{parent}  {clean(version.reason)}{trained}"
        )
    if not versions:
        click.echo("Nothing was learnt yet.")
    if n_adapters:
        click.echo(f"{_n(n_adapters, 'adapter')} of language models: hearth adapters list")
    if picture is not None:
        click.echo(f"The curve is in {picture}")


@learn.command()
@click.argument("version", type=int)
@state_option
@as_json
@click.pass_context
def rollback(ctx: click.Context, version: int, state_folder: Path | None, as_json: bool) -> None:
    """Make VERSION plan again, with the weights it had.

    What was learnt since is set aside, not forgotten: rolling back to a later version brings it back.
    """
    with opened_state(folder_within(ctx, state_folder)) as (state, _):
        target, lost = state.rollback(version)
        n_members = len(state.lineage.members(target.number))
    if as_json:
        print_json({"version": target.number, "n": n_members, "no_longer_held": list(lost)})
        return
    click.echo(f"Version {target.number} plans again ({clean(target.reason)}).")
    if target.record.get("rewritten"):
        click.echo(f"  some of it was forgotten since: {_n(n_members, 'demonstration')} left")
    if lost:
        click.echo(f"  {_n(len(lost), 'demonstration')} of it were removed since and could not come back")


@learn.command()
@click.argument("a", type=int)
@click.argument("b", type=int)
@state_option
@as_json
@click.pass_context
def compare(ctx: click.Context, a: int, b: int, state_folder: Path | None, as_json: bool) -> None:
    """Compare version B with version A: demonstrations and scores by task."""
    from hearth.learning.versions.learned_state import Lineage

    with opened_store(folder_within(ctx, state_folder)) as store:
        found = Lineage(store).compare(a, b)
    if as_json:
        print_json(asdict(found))
        return
    for label, ids in (("added", found.added), ("removed", found.removed), ("changed", found.changed)):
        more = ", …" if len(ids) > 5 else ""
        click.echo(clean(f"{label:<8} {len(ids):>6}  {', '.join(ids[:5])}{more}"))
    moved = {n: p for n, p in found.scores.items() if p[0] != p[1]}
    click.echo(f"tasks    {len(found.scores):>6}  {len(moved)} with another score")
    order = sorted(moved.items(), key=lambda item: (item[1][1] or 0.0) - (item[1][0] or 0.0))
    for name, (before, after) in order[: 2 * _N_SHOWN]:
        shown = " → ".join(f"{score:.2f}" if score is not None else "none" for score in (before, after))
        click.echo(clean(f"  {shown}  {name}"))


# ── `hearth learn prior` ───────────────────────────────────────────────────────────────────────────────


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--remove", is_flag=True, help="Remove what others learnt; what was taught here stays.")
@click.option("--force", is_flag=True, help="Take it whatever the gate says.")
@state_option
@as_json
@click.pass_context
def prior(
    ctx: click.Context, file: Path | None, remove: bool, force: bool, state_folder: Path | None, as_json: bool
) -> int:
    """Plan with what other devices learnt: the prior in FILE, or the one that `hearth edge sync` fetched.

    What is asked here is planned from it, from what ships and from what was taught; so are drafts of files. It becomes
    a version like any other, if no task gets worse; `hearth learn rollback` goes back. What was taught here stays apart
    from it: forgetting it, and removing the prior, are exact.
    """
    if remove and file is not None:
        raise errors.RequestError("give a file to take, or --remove, and not both")
    folder = folder_within(ctx, state_folder)
    from hearth.learning.versions import drafting

    bars = Bars()
    with opened_state(folder) as (state, _):
        wanted = None if remove else _wanted(state, folder, file).seen_by(drafting.options_of(state).reading)
        report = drafting.take_prior(state, wanted, bars, must_pass=not force)
        bars.close()
    verdict = report.verdict.to_json() if report.verdict is not None else None
    if as_json:
        print_json(
            {
                "version": report.version,
                "n_edges": wanted.n_edges if wanted else 0,
                "n_demonstrations": wanted.n_demonstrations if wanted else 0,
                "gate": verdict,
                "notes": list(report.notes),
            }
        )
    else:
        for note in report.notes:
            click.echo(f"Nothing was changed: {note}.")
        if report.version is not None and wanted is not None:
            click.echo(
                f"Version {report.version} begins with what {wanted.n_edges} devices learnt "
                f"({wanted.n_demonstrations:,} demonstrations, {len(wanted.tools)} tools)."
            )
        elif report.version is not None:
            click.echo(f"Version {report.version} holds only what was taught here.")
        elif report.verdict is not None:
            click.echo(f"It was not taken: {clean(report.verdict.reason)}. --force takes it all the same.")
    return 0 if report.version is not None or report.notes else 3


def _wanted(state: State, folder: Path, file: Path | None) -> Statistics:
    """Return the statistics to use. Raises: NotFound: None was named, none was fetched."""
    from hearth.edge.cloud_link import taken
    from hearth.planning.ranking import sufficient_statistics

    if file is None:
        found = taken(state.store, folder, "prior")
        if found is None:
            raise errors.NotFound(
                "no prior was fetched yet; fetch one with `hearth edge sync --take prior`, or name a file"
            )
        file = found.path
    return sufficient_statistics.read_prior(file)


# ── `hearth learn quarantine` ──────────────────────────────────────────────────────────────────────────


@click.group(invoke_without_command=True)
@state_option
@as_json
@click.pass_context
def quarantine(ctx: click.Context, state_folder: Path | None, as_json: bool) -> None:
    """Demonstrations kept apart because a stranger's text touched them.

    They are never learnt. `release ID` lets one in after you have read it, `drop ID` removes it.
    """
    if ctx.invoked_subcommand is not None:
        ctx.obj = (ctx.obj, state_folder)
        return
    _show(folder_within(ctx, state_folder), as_json)


@quarantine.command(name="list")
@state_option
@as_json
@click.pass_context
def list_(ctx: click.Context, state_folder: Path | None, as_json: bool) -> None:
    """List them, each with its plan and the reason."""
    _show(folder_within(ctx, state_folder), as_json)


def _show(folder: Path, is_json: bool) -> None:
    from hearth.formats.plans import plan_to_json
    from hearth.formats.terminal_text import plan_lines
    from hearth.learning.corrections import Quarantine

    with opened_store(folder) as store:
        kept = Quarantine(store).all()
    if is_json:
        print_json(
            {
                "quarantine": [
                    {
                        "id": one.entry.id,
                        "reason": one.reason,
                        "user_request": one.entry.demonstration.request,
                        "sources": sorted(one.entry.label.sources),
                        "episode": one.entry.episode,
                        **plan_to_json(one.entry.demonstration.plan),
                    }
                    for one in kept
                ]
            }
        )
        return
    if not kept:
        click.echo("Nothing is in quarantine.")
    for one in kept:
        click.echo(clean(f"{one.entry.id}  “{short(one.entry.demonstration.request, 100)}”"))
        for line in plan_lines(one.entry.demonstration.plan, {}):
            click.echo(f"    {clean(line)}")
        click.echo(f"    {clean(one.reason)}")


@quarantine.command()
@click.argument("id")
@click.option("--yes", is_flag=True, help="Do not ask.")
@state_option
@click.pass_context
def release(ctx: click.Context, id: str, yes: bool, state_folder: Path | None) -> int:
    """Let the demonstration ID in: the next `hearth learn` learns it."""
    from hearth.formats.terminal_text import plan_lines
    from hearth.learning.corrections import Quarantine

    with opened_state(folder_within(ctx, state_folder)) as (state, _):
        kept = Quarantine(state.store).one(id)
        click.echo(clean(f"“{kept.entry.demonstration.request}”"))
        for line in plan_lines(kept.entry.demonstration.plan, state.tools):
            click.echo(f"  {clean(line)}")
        click.echo(f"  {clean(kept.reason)}")
        if not yes and not (sys.stdin.isatty() and click.confirm("Learn from it all the same?")):
            click.echo("It stays in quarantine.", err=True)
            return 1
        Quarantine(state.store).release(id, state.tools)
    click.echo("The next `hearth learn` learns it.")
    return 0


@quarantine.command()
@click.argument("id")
@state_option
@click.pass_context
def drop(ctx: click.Context, id: str, state_folder: Path | None) -> None:
    """Remove the demonstration ID for good."""
    from hearth.learning.corrections import Quarantine

    with opened_state(folder_within(ctx, state_folder)) as (state, _):
        n = Quarantine(state.store).drop(id)
    click.echo(f"Removed {n} from quarantine.")


learn.add_command(quarantine)
learn.add_command(prior)


# ── Adapter commands ──────────────────────────────────────────────────────────────────────────────────────
# `hearth adapters`: manage versions of a language student, made by distillation from the demonstrations of a home.

# Models and their libraries are imported by the commands that need them.


@click.group()
def adapters() -> None:
    """Teach a local language model; list its versions, choose one, move one to another model."""


@adapters.command("list")
@state_option
@as_json
@click.pass_obj
def list_versions(invocation: Invocation, state_folder: Path | None, as_json: bool) -> None:
    """List the adapters: on which model, from how much, how good; `*` is the one in use."""
    versions = _adapters(folder_of(invocation, state_folder)).versions()
    if as_json:
        print_json([_version_json(version) for version in versions])
        return
    for version in versions:
        record = version.record
        score = record.scores.get("node_f1")
        click.echo(
            f"{'*' if version.is_current else ' '} {version.number:>4}  {record.made[:16].replace('T', ' ')}  "
            f"{f'{score:.3f}' if score is not None else '    –'}  {len(record.ids):,} demonstrations, "
            f"{len(record.replayed):,} replayed{f', from {clean(record.parent)}' if record.parent else ''}  "
            f"on {clean(record.base)}"
        )
    if not versions:
        click.echo("There is no adapter yet: hearth adapters distil --base MODEL")


@dataclass(frozen=True, slots=True)
class _Sources:
    """Where the demonstrations and their tools come from."""

    source_file: Path | None
    tools_file: Path | None
    state_folder: Path | None


@dataclass(frozen=True, slots=True)
class _Training:
    """How an adapter is trained."""

    epochs: float
    rank: int
    lr: float
    replay: float
    tool_tokens: bool
    seed: int


@adapters.command(cls=command_with({"sources": _Sources, "training": _Training}))
@click.option("--base", required=True, metavar="MODEL", help="Folder of a transformers model, or a name in its cache.")
@click.option(
    "--from", "source_file", type=click.Path(path_type=Path), metavar="FILE.jsonl", help="New demonstrations."
)
@click.option("--tools", "tools_file", type=click.Path(path_type=Path), help="Tools the plans may use: tool_desc.json.")
@state_option
@click.option("--epochs", type=Number(min=0, min_open=True), default=3.0, show_default=True)
@click.option("--rank", type=click.IntRange(1, 512), default=16, show_default=True, help="Rank of the adapter.")
@click.option("--lr", type=Number(0, 1, min_open=True), default=2e-4, show_default=True, help="Learning rate.")
@click.option(
    "--replay", type=Number(min=0), default=1.0, show_default=True, help="Earlier demonstrations replayed per new one."
)
@click.option("--tool-tokens", is_flag=True, help="Give each tool's name a token of its own: for very small models.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@as_json
@click.pass_obj
def distil(invocation: Invocation, base: str, sources: _Sources, training: _Training, as_json: bool) -> int:
    """Teach a model what the home's demonstrations show; the result is used only if the gate finds it no worse.

    It teaches what no adapter was taught yet (or what a file holds), and replays some of the rest.
    """
    from hearth.learning.demonstration_store import read_entries
    from hearth.learning.finetune.adapters import LanguageOptions, Lessons

    options = LanguageOptions(
        n_epochs=training.epochs,
        rank=training.rank,
        lr=training.lr,
        replay=training.replay,
        tool_tokens=training.tool_tokens,
    )
    folder = folder_of(invocation, sources.state_folder)
    with opened_state(folder, tools_file=sources.tools_file) as (state, _):
        kept = _adapters(folder)
        held = {d.id: d for d in _usable(state)}
        now = kept.current()
        known = now.record.seen | frozenset(now.record.held) if now else frozenset[str]()
        new = [d for id, d in held.items() if id not in known]
        if sources.source_file is not None:
            entries, faults = read_entries(sources.source_file)
            checked = state.buffer.check(entries, state.tools)
            for fault in (*faults, *checked.refused):
                click.echo(f"skipped: {clean(fault.reason)}", err=True)
            new = [entry.demonstration for entry in checked.entries]
        if not new:
            raise errors.RequestError("every demonstration was taught already; give new ones with --from")
        fresh = {d.id for d in new}
        bars = Bars()
        try:
            lessons = Lessons(new, state.tools, [d for id, d in held.items() if id not in fresh], training.seed)
            made = kept.distil(base, lessons, options=options, progress=lambda done, n: bars("learning", done, n))
        finally:
            bars.close()
    return _said(made, as_json)


@adapters.command()
@click.argument("number", type=int)
@state_option
@click.pass_obj
def promote(invocation: Invocation, number: int, state_folder: Path | None) -> None:
    """Use adapter NUMBER from now on, whatever the gate said."""
    _adapters(folder_of(invocation, state_folder)).promote(number)
    click.echo(f"Adapter {number} is in use.")


@adapters.command("rollback")
@click.argument("number", type=int, required=False)
@state_option
@click.pass_obj
def rollback_adapter(invocation: Invocation, number: int | None, state_folder: Path | None) -> None:
    """Use the adapter before the present one again, or adapter NUMBER."""
    current = _adapters(folder_of(invocation, state_folder)).rollback(number)
    click.echo(f"Adapter {current.number} is in use." if current else "No adapter is in use; the model alone is.")


@adapters.command()
@click.argument("number", type=int)
@click.option("--base", required=True, metavar="MODEL", help="The model to move to.")
@click.option("--tools", "tools_file", type=click.Path(path_type=Path), help="Tools the plans may use: tool_desc.json.")
@state_option
@as_json
@click.pass_obj
def move(
    invocation: Invocation, number: int, base: str, tools_file: Path | None, state_folder: Path | None, as_json: bool
) -> int:
    """Make adapter NUMBER anew on another model, from the demonstrations it was taught that are still held."""
    folder = folder_of(invocation, state_folder)
    with opened_state(folder, tools_file=tools_file) as (state, _):
        buffer = _usable(state)
        bars = Bars()
        try:
            made = _adapters(folder).move(
                number, base, buffer, state.tools, progress=lambda done, n: bars("learning", done, n)
            )
        finally:
            bars.close()
    return _said(made, as_json)


@adapters.command()
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--base", type=click.Path(path_type=Path), help="Folder of its model (default: [models.language] path).")
@click.option("--tools", "tools_file", type=click.Path(path_type=Path), help="Tools the plans may use: tool_desc.json.")
@state_option
@as_json
@click.pass_obj
def take(
    invocation: Invocation,
    file: Path | None,
    base: Path | None,
    tools_file: Path | None,
    state_folder: Path | None,
    as_json: bool,
) -> int:
    """Take the adapter that `hearth edge sync` fetched, or the packed one in FILE, as a version of this home.

    It must have been made on the same model, and is in use only if the gate finds that it plans what was taught here no
    worse. `hearth adapters rollback` goes back.
    """
    folder = folder_of(invocation, state_folder)
    chosen = base or _own_model(invocation)
    with opened_state(folder, tools_file=tools_file) as (state, _):
        source = file if file is not None else _fetched(state, folder)
        made = _adapters(folder).take(source, chosen, _usable(state), state.tools)
    return _said(made, as_json)


def _own_model(invocation: Invocation) -> Path:
    """Return the path of the home's local model. Raises: ConfigError: The home names no local model."""
    from hearth import config

    chosen = config.read_settings(invocation.home / "hearth.toml").models.language
    if chosen is None or chosen.kind != "huggingface":
        raise errors.ConfigError(
            'no local model is named; an adapter goes on one: write kind = "huggingface" and path under '
            "[models.language] of hearth.toml, or give --base"
        )
    return invocation.home / Path(chosen.path).expanduser()


def _fetched(state: State, folder: Path) -> Path:
    """Return the adapter that was fetched. Raises: NotFound: None was fetched. WireError: It is not what was
    fetched."""
    from hearth.edge.cloud_link import taken

    found = taken(state.store, folder, "adapter")
    if found is None:
        raise errors.NotFound(
            "no adapter was fetched yet; fetch one with `hearth edge sync --take adapter`, or name a file"
        )
    return found.path


def _adapters(folder: Path) -> Adapters:
    from hearth.learning.finetune.adapters import Adapters
    from hearth.models.llm.openai_endpoint import ADAPTERS

    return Adapters(folder / ADAPTERS)


def _usable(state: State) -> list[Demonstration]:
    """Return the demonstrations whose plans use only tools of this state."""
    known = [entry.demonstration for entry in state.buffer.all()]
    return [d for d in known if all(step.tool in state.tools for step in d.plan.steps)]


def _said(made: Distilled, as_json: bool) -> int:
    version, verdict = made.version, made.verdict
    if as_json:
        print_json({**_version_json(version), "gate": verdict.to_json()})
    else:
        record = version.record
        click.echo(
            f"Adapter {version.number}: {len(record.ids):,} demonstrations, {record.n_trained:,} of "
            f"{record.n_parameters:,} parameters, {record.cpu_s:.0f} s of CPU."
        )
        click.echo(f"  gate      {clean(verdict.reason)}")
        if not verdict.is_promoted:
            click.echo(f"  It is not in use. `hearth adapters promote {version.number}` uses it all the same.")
    return 0 if verdict.is_promoted else 1


def _version_json(version: AdapterVersion) -> dict[str, Any]:
    from dataclasses import asdict

    return {"number": version.number, "is_current": version.is_current, "record": asdict(version.record)}
