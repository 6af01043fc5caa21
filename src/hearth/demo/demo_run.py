"""The main job: a demo home comes up, Hearth learns, real requests are worked through, a report is written.

The home is a temporary folder that is removed afterwards unless it was asked to be kept; the owner's own home is never
touched. Requests may come from anybody's file: a line that cannot be read is counted and named, none stops the run.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path

import click

from hearth.agent import Agent
from hearth.demo.day import (
    EVENING,
    SCENES_OF_THE_DAY,
    Asked,
    Day,
    FileRequest,
    add_props,
    read_requests,
    run_one,
    shipped,
)
from hearth.demo.demo_home import build_demo_home
from hearth.demo.demo_options import DemoOptions
from hearth.errors import HearthError, RequestError
from hearth.formats.terminal_text import WIDTH, command_name, episode_lines, short, summary_lines, table_lines, wrapped
from hearth.guard.policy.question import RefusingApprover, TerminalApprover, YesApprover
from hearth.serve.history import Chapter, outcome, write_report
from hearth.types import Episode

# ── Beside the demo ────────────────────────────────────────────────────────────────────────────────────
# A command that runs beside the demo: it installs what the later scenes need while the first ones are played.


_SAID_EVERY_S = 10.0
_ENDS_S = 5.0


class Meanwhile:
    """Starts the command at once. Close it: a command that still runs then is ended."""

    def __init__(self, command: str) -> None:
        """Start `command` in a shell; an empty one is over at once."""
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the command
        self._process: subprocess.Popen[bytes] | None = None
        if command:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", command], stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT
            )

    def wait(self) -> Iterator[str]:
        """Wait until the command is over, yielding lines of progress; how it failed, if it did."""
        process = self._process
        if process is None:
            return
        waited_s = 0.0
        while True:
            try:
                process.wait(_SAID_EVERY_S if waited_s else 0.1)
                break
            except subprocess.TimeoutExpired:
                yield f"waiting for what this scene needs to be installed … {waited_s:.0f} s"
                waited_s += _SAID_EVERY_S
        if process.returncode:
            self._log.seek(0)
            last = self._log.read().decode(errors="replace").strip().splitlines()[-1:]
            yield f"it could not be installed: {last[0] if last else f'exit code {process.returncode}'}"
        self._process = None

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_ENDS_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._log.close()


# ── The run ────────────────────────────────────────────────────────────────────────────────────────────


MAX_SHOWN = 30
"""A run of more requests shows a progress bar instead of every episode; the report has them all."""


def run_demo(options: DemoOptions) -> int:
    """Run the demo and print what happens; see `hearth demo --help`.

    Returns:
        Exit code: 0 when every request got an answer (a refusal is one), 1 when a step of one failed.
    """
    started = time.perf_counter()
    now = dt.datetime.now().astimezone()
    quiet = options.as_json
    waiting = [] if options.is_day else list(_numbered(options.requests, options.limit))
    if not waiting and not options.is_day:
        raise RequestError(
            f"no request in {str(options.requests)!r}; expected one per line, as text or as a JSON object"
        )
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty() and not quiet
    asks = is_terminal and options.requests is None
    approver = YesApprover() if options.yes else TerminalApprover() if asks else RefusingApprover()
    report = _report_path(options.report, now, quiet)
    with ExitStack() as stack:
        beside = stack.enter_context(contextlib.closing(Meanwhile(options.meanwhile)))
        home = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hearth-demo-")))
        _say(f"Demo home in {home}", quiet)
        build_demo_home(home, now)
        if options.is_day:
            add_props(home, now)
        if quiet:  # a tool may print; standard output is for the document
            stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        day = stack.enter_context(contextlib.closing(Day(home, approver, os.environ, footage=options.footage)))
        for fault in day.agent.faults:
            _say(f"not loaded: {fault}", quiet)
        _learn(day.agent, quiet)
        episodes: list[Episode] = []
        waited_s = 0.0
        try:
            if options.is_day:
                _play(day, beside, episodes, quiet)
            else:
                _work(day.agent, waiting, episodes, quiet)
            if asks:
                waited_s = _ask_person(day.agent, episodes)
        except KeyboardInterrupt:
            _say("\nStopped; the report holds what was done so far.", quiet)
        wall_s = time.perf_counter() - started - waited_s
        head = {"home": str(home), "requests": _asked_for(options), "started": now, "wall_s": wall_s}
        _report(report, day, episodes, head, tells_day=options.is_day)
        if options.is_day and not quiet:
            _show_evening(day)
        code = _finish(episodes, report, wall_s, quiet, day.left_out)
        if asks:
            click.echo(f"Next:   {command_name()} init   makes a home of your own")
        if options.shows_page:
            day.close()
            _serve_page(home)
    return code


def _asked_for(options: DemoOptions) -> str:
    return str(options.requests or ("the day in fourteen scenes" if options.is_day else "the shipped ones"))


def _report(report: Path, day: Day, episodes: list[Episode], head: dict[str, object], *, tells_day: bool) -> None:
    """Write the report, without what the day has forgotten."""
    head["n_demonstrations"] = day.agent.n_demonstrations
    head["n_tools"] = len(day.agent.tools.by_name)
    head["left out"] = "; ".join(_left_out(day.left_out)) or "nothing"
    gone = [one for one in episodes if one.id in day.forgotten]
    left = [one for one in episodes if one.id not in day.forgotten]
    if gone:
        n_bytes = sum(sent.n_bytes for one in gone for sent in one.disclosures)
        head["forgotten"] = f"{len(gone)} requests, which are not repeated here; {n_bytes:,} bytes left with them"
    chapters = _chapters(day, left) if tells_day else ()
    write_report(report, left, day.agent.tools.specs, head, chapters=chapters, home=day.home.absolute())


def _serve_page(home: Path) -> None:
    """Serve the page of the demo's home until Ctrl-C; where its parts are not installed, say what would be there."""
    try:
        from hearth.serve import house
    except ModuleNotFoundError:
        click.echo("A page shows this home in a browser: pip install 'hearth-agent[serve]'")
        return
    try:
        with house.opened(home, os.environ) as up:
            click.echo(f"Page:   {up.link}   talk to this home in your browser; Ctrl-C ends")
            with contextlib.suppress(KeyboardInterrupt):
                up.serve()
    except HearthError as error:  # another home's page has the port, say
        click.echo(f"No page: {error}", err=True)


def _numbered(path: Path | None, limit: int | None) -> Iterator[FileRequest]:
    shipped_file = files("hearth.demo") / "data" / "requests.jsonl"
    source = read_requests(path) if path else shipped(shipped_file.read_bytes())
    for number, request in enumerate(source):
        if limit is not None and number >= limit:
            return
        yield request


# ── Working ───────────────────────────────────────────────────────────────────────────────────────────────


def _learn(agent: Agent, quiet: bool) -> None:
    if not agent.n_to_learn:
        return
    label = f"Learning {agent.n_to_learn} demonstrations"
    with click.progressbar(
        agent.learn_shipped(), length=agent.n_to_learn, label=label, file=sys.stderr if quiet else sys.stdout
    ) as bar:
        for _ in bar:
            pass


def _play(day: Day, beside: Meanwhile, episodes: list[Episode], quiet: bool) -> None:
    """Play every scene in order; `episodes` grows as they end, so that Ctrl-C loses none."""
    for number, scene in enumerate(SCENES_OF_THE_DAY, 1):
        _say("", quiet)
        click.secho(f"{number}/{len(SCENES_OF_THE_DAY)}  {scene.title}", bold=True, err=quiet)
        if scene.needs_experts:
            for line in beside.wait():
                _say(f"  {line}", quiet)
        for shown in day.play(scene):
            if isinstance(shown, Episode):
                episodes.append(shown)
                lines = [] if quiet else episode_lines(shown, day.agent.tools.specs)
            elif isinstance(shown, Asked):
                lines = [f"  › {short(shown.text)}"]
            else:
                lines = [f"  {line}" for said in shown.lines for line in wrapped(said, WIDTH - 2)]
            for line in lines:
                _say(line, quiet)


def _show_evening(day: Day) -> None:
    click.echo()
    click.secho(EVENING, bold=True)
    click.echo("\n".join(f"  {line}" for told in day.evening() for line in wrapped(told, WIDTH - 2)))


def _chapters(day: Day, episodes: list[Episode]) -> tuple[Chapter, ...]:
    """Tell the day for the report, and what the person asked after it."""
    told = day.chapters()
    of_the_day = {one.id for one in day.all_episodes()}
    own = tuple(one for one in episodes if one.id not in of_the_day)
    return (*told, Chapter("Your turn", own)) if own else told


def _work(agent: Agent, waiting: list[FileRequest], episodes: list[Episode], as_json: bool) -> None:
    """Run every request in order; `episodes` grows as they end, so that Ctrl-C loses none."""
    if len(waiting) > MAX_SHOWN or as_json:
        out = sys.stderr if as_json else sys.stdout
        with click.progressbar(waiting, label=f"Working through {len(waiting)} requests", file=out) as bar:
            for request in bar:
                episodes.append(run_one(agent, request))
        return
    for number, request in enumerate(waiting, 1):
        click.echo()
        click.secho(f"{number}/{len(waiting)}  {short(request.text or request.fault)}", bold=True)
        episodes.append(run_one(agent, request))
        click.echo("\n".join(episode_lines(episodes[-1], agent.tools.specs)))


def _ask_person(agent: Agent, episodes: list[Episode]) -> float:
    """Work through what the person types, until an empty line. Returns the seconds spent waiting for it."""
    click.echo()
    click.secho("Your turn: ask this demo home for something. An empty line ends.", bold=True)
    waited_s, text = _typed("› ")
    while text:
        episodes.append(agent.run(agent.request(text)))
        click.echo("\n".join(episode_lines(episodes[-1], agent.tools.specs)))
        refusal = episodes[-1].refusal
        is_question = refusal is not None and refusal.kind == "needs"
        spent_s, more = _typed("  › " if is_question else "› ")
        waited_s += spent_s
        text = f"{text} {more}" if is_question and more else more
    return waited_s


def _typed(prompt: str) -> tuple[float, str]:
    started = time.perf_counter()
    try:
        text = input(prompt).strip()
    except EOFError:
        text = ""
        click.echo()
    return time.perf_counter() - started, text


# ── Ending ────────────────────────────────────────────────────────────────────────────────────────────────


def _finish(episodes: list[Episode], report: Path, wall_s: float, as_json: bool, left_out: Mapping[str, str]) -> int:
    counts = Counter(episode.answer.status for episode in episodes)
    reasons = Counter(
        outcome(episode).split("; offered ")[0]
        for episode in episodes
        if episode.answer.status not in ("done", "partly")
    )
    if as_json:
        document: Mapping[str, object] = {
            "n": len(episodes),
            "by_status": dict(counts),
            "by_reason": dict(reasons.most_common()),
            "bytes_left": sum(d.n_bytes for e in episodes for d in e.disclosures),
            "wall_s": round(wall_s, 3),
            "left_out": dict(left_out),
            "report": str(report),
        }
        click.echo(json.dumps(document, indent=2))
    else:
        click.echo()
        if 1 < len(episodes) <= MAX_SHOWN:
            click.echo("\n".join(table_lines(episodes)) + "\n")
        click.echo("\n".join(summary_lines(episodes)))
        if reasons:
            click.echo("  why not:")
            click.echo("\n".join(f"  {count:>9}   {reason}" for reason, count in reasons.most_common(12)))
        for line in _left_out(left_out):
            click.echo(f"  left out: {short(line, 100)}")
        click.echo(f"  whole run: {wall_s:.1f} s")
        click.echo(f"\nReport: {report}")
    return 1 if counts["failed"] else 0


def _left_out(scenes: Mapping[str, str]) -> list[str]:
    """Say which scenes were left out, each reason once."""
    return [
        f"{', '.join(key for key, one in scenes.items() if one == reason)} ({reason})"
        for reason in dict.fromkeys(scenes.values())
    ]


def _say(text: str, quiet: bool) -> None:
    click.echo(text, err=quiet)


def _report_path(given: Path | None, now: dt.datetime, quiet: bool) -> Path:
    """Return where the report goes; find out before the work, not after it, that it cannot be written there.

    Raises:
        RequestError: It cannot be written where it was asked to be.
    """
    name = f"hearth-report-{now:%Y%m%d-%H%M%S}.html"
    if given is not None:
        if given.is_dir() or not _is_writable(given.absolute().parent):
            raise RequestError(f"cannot write the report to {str(given)!r}; choose another place with --report")
        return given.absolute()
    if _is_writable(Path.cwd()):
        return Path.cwd() / name
    other = next((folder for folder in (Path.home(), Path(tempfile.gettempdir())) if _is_writable(folder)), None)
    if other is None:
        raise RequestError(f"cannot write the report to {str(Path.cwd())!r}; choose another place with --report")
    _say(f"This folder cannot be written to; the report goes to {other / name}", quiet)
    return other / name


def _is_writable(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK)
