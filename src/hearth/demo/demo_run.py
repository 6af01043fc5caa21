"""The main job: a demo home comes up, Hearth learns, real requests are worked through, a report is written.

The home is a temporary folder that is removed afterwards unless it was asked to be kept; the owner's own home is never
touched. Requests may come from anybody's file: a line that cannot be read is counted and named, none stops the run.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import BinaryIO, TypeAlias, cast

import click

from hearth.agent import Agent
from hearth.demo.demo_home import build_demo_home
from hearth.errors import HearthError, RegistryError, RequestError
from hearth.guard.policy.approval import RefusingApprover, TerminalApprover, YesApprover
from hearth.learning.learned_state import State
from hearth.learning.teaching.corrections import learn_revision
from hearth.registry import INSTALL_COMMANDS, SCENES, blamed, load_parts
from hearth.serve.episode_report import outcome, write_report
from hearth.terminal import command_name, episode_lines, short, summary_lines, table_lines
from hearth.types import Episode

MAX_SHOWN = 30
"""A run of more requests shows a progress bar instead of every episode; the report has them all."""
MAX_LINE_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class FileRequest:
    """One request of a file, or the reason why the line holds none."""

    id: str
    text: str
    fault: str = ""
    follows: bool = False
    """True when it is said in conversation, after the one before: "no, as a reminder"."""


AddScene: TypeAlias = Callable[[Agent, Path, dt.datetime, Path | None], tuple[str, tuple[FileRequest, ...]]]
"""An entry point of the group `hearth.scenes`: it adds to the demo home and returns what to say of it and requests
about it. Its arguments: the agent, a folder to write to, the present moment, and a recording of the owner's own."""


def run_demo(
    *,
    requests: Path | None,
    limit: int | None,
    report: Path | None,
    keep: Path | None,
    yes: bool,
    as_json: bool,
    footage: Path | None = None,
    shows_page: bool = False,
) -> int:
    """Run the demo and print what happens; see `hearth demo --help`.

    Args:
        footage: A recording of the owner's own, to be asked about beside the composed clip.
        shows_page: At the end, serve this home's page until Ctrl-C.
    Returns:
        Exit code: 0 when every request got an answer (a refusal is one), 1 when a step of one failed.
    """
    started = time.perf_counter()
    now = dt.datetime.now().astimezone()
    waiting = list(_numbered(requests, limit))
    if not waiting:
        raise RequestError(f"no request in {str(requests)!r}; expected one per line, as text or as a JSON object")
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty() and not as_json
    approver = YesApprover() if yes else TerminalApprover() if is_terminal and requests is None else RefusingApprover()
    report = (report or Path(f"hearth-report-{now:%Y%m%d-%H%M%S}.html")).absolute()
    _check_writable(report)
    with ExitStack() as stack:
        home = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hearth-demo-")))
        _say(f"Demo home in {home}", as_json)
        build_demo_home(home, now)
        if as_json:  # a tool may print; standard output is for the document
            stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        agent = Agent.open(home, approver, environ=os.environ)
        stack.callback(agent.close)
        for fault in agent.faults:
            _say(f"not loaded: {fault}", as_json)
        _learn(agent, as_json)
        is_video_wanted = footage is not None or (requests is None and limit is None)
        said = "none" if not is_video_wanted else _film(agent, home, now, footage, waiting, as_json)
        episodes: list[Episode] = []
        waited_s = 0.0
        try:
            _work(agent, waiting, episodes, as_json)
            if is_terminal and requests is None:
                waited_s = _ask_person(agent, episodes)
        except KeyboardInterrupt:
            _say("\nStopped; the report holds what was done so far.", as_json)
        meta = {
            "home": str(home),
            "requests": str(requests or "the shipped ones"),
            "started": now,
            "wall_s": time.perf_counter() - started - waited_s,
            "n_demonstrations": agent.n_demonstrations,
            "n_tools": len(agent.tools.by_name),
            "video": said,
        }
        specs = agent.tools.specs
        write_report(report, episodes, specs, meta)
        code = _finish(episodes, report, time.perf_counter() - started - waited_s, as_json)
        if is_terminal and requests is None:
            click.echo(f"Next:   {command_name()} init   makes a home of your own")
        if shows_page:
            agent.close()
            _serve_page(home)
    return code


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


# ── Requests ──────────────────────────────────────────────────────────────────────────────────────────────


def read_requests(path: Path) -> Iterator[FileRequest]:
    """Requests of a file: JSONL with `user_request` (or `request`, `text`, `instruction`), or one request per line.

    Raises:
        RequestError: The file cannot be read.
    """
    try:
        with path.open("rb") as file:
            for number, (raw, n_bytes) in enumerate(_lines(file), 1):
                if raw.strip():
                    yield _request(raw, n_bytes, f"{path.name}:{number}")
    except OSError as error:
        raise RequestError(f"cannot read the requests in {str(path)!r}: {error.strerror}") from None


def _lines(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Each line, cut a little beyond `MAX_LINE_BYTES`, and how long it is: a file may be one line of gigabytes."""
    while raw := file.readline(MAX_LINE_BYTES + 1):
        n_bytes = len(raw)
        rest = raw
        while len(rest) > MAX_LINE_BYTES and not rest.endswith(b"\n"):
            rest = file.readline(MAX_LINE_BYTES + 1)
            n_bytes += len(rest)
        yield raw, n_bytes


def _request(raw: bytes, n_bytes: int, place: str) -> FileRequest:
    if n_bytes > MAX_LINE_BYTES:
        return FileRequest(place, "", f"the line has {n_bytes} bytes; at most {MAX_LINE_BYTES} are read")
    try:
        text = raw.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        return FileRequest(place, "", f"not UTF-8 text at byte {error.start}; save the file as UTF-8")
    if text in ("[", "]") or text.startswith("[{"):
        return FileRequest(place, "", "part of a JSON array; write one JSON object per line, without brackets around")
    if not text.startswith("{"):
        return FileRequest(place, text)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        return FileRequest(place, "", f"not JSON: {error}; write one object per line, the whole of it on that line")
    for key in ("user_request", "request", "text", "instruction"):
        if isinstance(data.get(key), str):
            return FileRequest(str(data.get("id") or place), data[key], follows=data.get("follows") is True)
    return FileRequest(
        place, "", f"no 'user_request' in it; it has {', '.join(map(repr, list(data)[:5])) or 'nothing'}"
    )


def _numbered(path: Path | None, limit: int | None) -> Iterator[FileRequest]:
    shipped_file = files("hearth.demo") / "data" / "requests.jsonl"
    source = read_requests(path) if path else shipped(shipped_file.read_bytes())
    for number, request in enumerate(source):
        if limit is not None and number >= limit:
            return
        yield request


def shipped(text: bytes) -> tuple[FileRequest, ...]:
    """Read the requests of a file that comes with Hearth."""
    return tuple(_request(line, len(line), "shipped") for line in text.splitlines())


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


def _film(
    agent: Agent, home: Path, now: dt.datetime, footage: Path | None, waiting: list[FileRequest], quiet: bool
) -> str:
    """Add what plug-ins have for the demo home (home video), and the requests about it; says what there is."""
    scenes = load_parts(SCENES)
    said = [f"not loaded: {fault}" for fault in scenes.faults]
    if not scenes.loaded and not said:
        said = [f"Home video was left out; to have it: {INSTALL_COMMANDS['hearth-video']}"]
    for line in said:
        _say(line, quiet)
    for scene in scenes.loaded:
        _say(f"Adding {scene.name} to the home", quiet)
        try:
            with blamed(f"{scene.name!r} of {scene.origin}"):
                line, requests = cast("AddScene", scene.invoke)(agent, home / "recordings", now, footage)
                waiting += requests
        except RegistryError as error:
            line = f"left out: {error}"
        _say(line, quiet)
        said.append(line)
    return " ".join(said)


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


def run_one(agent: Agent, request: FileRequest) -> Episode:
    """Do one request of a file; a line that holds none is recorded with its fault."""
    if request.fault:
        return agent.refuse(agent.request("", id=request.id), f"{request.id}: {request.fault}")
    if not request.follows:
        return agent.run(agent.request(request.text, id=request.id))
    episode = agent.run(agent.request_after(request.text, id=request.id))
    if episode.request.revises:
        state = State.open(agent.home, agent.encoder, tools=agent.tools.specs, store=agent.store)
        learn_revision(state, agent.recall, agent.trace.episode(episode.request.revises), episode)
    return episode


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


def _finish(episodes: list[Episode], report: Path, wall_s: float, as_json: bool) -> int:
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
        click.echo(f"  whole run: {wall_s:.1f} s")
        click.echo(f"\nReport: {report}")
    return 1 if counts["failed"] else 0


def _say(text: str, quiet: bool) -> None:
    click.echo(text, err=quiet)


def _check_writable(path: Path) -> None:
    """Find out before the work, not after it, that the report cannot be written."""
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise RequestError(f"cannot write the report to {str(path)!r}; choose another place with --report")
