"""The group `hearth`, and the commands for asking and looking back."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import shlex
import shutil
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from hearth import __version__, errors
from hearth.cli.invocation import (
    CommandGroup,
    Invocation,
    as_json,
    command_with,
    known_tools,
    opened_agent,
    print_json,
    unreachable,
    yes_option,
)
from hearth.demo.demo_options import DemoOptions
from hearth.formats import terminal_text
from hearth.formats.terminal_text import clean, command_name, drop_typed_ahead

if TYPE_CHECKING:
    from hearth.cli.asking import Asking
    from hearth.types import Episode, ToolSpec

# Heavy modules (the agent with its encoder, the demo) are imported by the commands that need them, so that `hearth
# --help` answers at once and `hearth ask` reaches its first output within its budget.

STATUS_CODES = {"done": 0, "failed": 1, "refused": 3, "needs": 4, "denied": 5, "partly": 6}
NOT_KNOWN_CODE = 7
"""Exit code of a question that was answered with "I don't know"; its status is `done`, as it was looked for."""
ERROR_CODES: tuple[tuple[type[errors.HearthError], int], ...] = (
    (errors.HomeBusyError, 75),
    (errors.StoreLockedError, 75),
    (errors.StoreError, 74),
    (errors.ConfigError, 78),
    (errors.MissingExtraError, 78),
    (errors.RegistryError, 78),
    (errors.RequestError, 3),
    (errors.NotFound, 4),
    (errors.Ambiguous, 4),
    (errors.DeniedError, 5),
    (errors.CancelledError, 130),
    (errors.HearthError, 1),
)


def main() -> NoReturn:
    """Run the command line in a process of its own: nothing in it opens a connection outside the guard's door."""
    # The matrices here are small: a second thread of the linear algebra gains nothing, and waits for it by spinning,
    # which on a busy machine made the search through memory 35 times slower. Read when numpy is first imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # pydantic would search all that is installed for plug-ins of its own, and fail at one record that is damaged.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from hearth.guard.egress.audit_hook import install_network_guard

    # What a start makes stays: looking through it for garbage after every 700 objects took a tenth of a cold request.
    gc.set_threshold(50_000, 20, 100)
    os.umask(os.umask(0o077) | 0o077)  # whatever is written, in the cache, too, is the owner's alone
    _open_streams()
    install_network_guard()
    code = run(sys.argv[1:])
    _leave_threads_behind(code)
    gc.freeze()  # nor is all of it gone through once more at the end
    sys.exit(code)


def _open_streams() -> None:
    """Stand in for standard streams that are closed: the next file opened would else get what libraries print."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, open(os.devnull, "r+" if number else "r", encoding="utf-8"))  # noqa: SIM115 lives on


def _leave_threads_behind(code: int) -> None:
    """End the process although threads that a tool started still run: the interpreter would wait for them."""
    left = [t.name for t in threading.enumerate() if not t.daemon and t is not threading.main_thread()]
    if left:
        click.echo(f"hearth: a tool left {', '.join(map(repr, left))} running; it is ended now", err=True)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code; every expected error becomes a message."""
    color = False if "NO_COLOR" in os.environ else None
    try:
        code = hearth.main(arguments, prog_name="hearth", standalone_mode=False, color=color)
        return int(code or 0)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("\nStopped. Steps that had finished stay done and recorded.", err=True)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except errors.HearthError as error:
        click.echo(f"hearth: {clean(str(error))}", err=True)
        return next(code for kind, code in ERROR_CODES if isinstance(error, kind))
    except OSError as error:
        where = f" ({clean(str(error.filename))})" if error.filename else ""
        click.echo(f"hearth: {error.strerror or error}{where}; check permissions and space, or choose --home", err=True)
        return 74
    except Exception as error:
        from hearth.storage.fault_log import note_fault

        click.echo(f"hearth: {clean(note_fault(_named_home(arguments), error))}", err=True)
        return 70


def _named_home(arguments: list[str]) -> Path:
    """Return the home that a command line is about, as far as that can be told without running it."""
    from hearth import config

    named = [after for one, after in itertools.pairwise(arguments) if one == "--home"]
    named += [one.removeprefix("--home=") for one in arguments if one.startswith("--home=")]
    return config.home_folder(named[0] if named else None, os.environ)


ELSEWHERE = {
    "clients": "hearth.cli.up_command:clients",
    "phones": "hearth.cli.up_command:phones",
    "household": "hearth.cli.up_command:household",
    "up": "hearth.cli.up_command:up",
    "adapters": "hearth.cli.learning.learn_commands:adapters",
    "correct": "hearth.cli.learning.teach_commands:correct",
    "decrypt": "hearth.cli.guard_commands:decrypt",
    "edge": "hearth.cli.edge_commands:edge",
    "encrypt": "hearth.cli.guard_commands:encrypt",
    "forget": "hearth.cli.memory.forget_command:forget",
    "import": "hearth.cli.memory.memory_commands:import_",
    "learn": "hearth.cli.learning.learn_commands:learn",  # a command of it; loads the others
    "ledger": "hearth.cli.why_command:ledger",
    "mcp": "hearth.cli.mcp_commands:mcp",
    "mask": "hearth.cli.why_command:mask",
    "memory": "hearth.cli.memory.memory_commands:memory",
    "policy": "hearth.cli.guard_commands:policy",
    "skills": "hearth.cli.learning.teach_commands:skills",
    "why": "hearth.cli.why_command:why",
}
"""The core's commands by where they are written; each is imported when it is asked for."""


@click.group(
    cls=CommandGroup,
    elsewhere=ELSEWHERE,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("--home", metavar="DIR", help="Home folder (default: $HEARTH_HOME, else the platform's data directory).")
@click.version_option(__version__, prog_name="hearth")
@click.pass_context
def hearth(ctx: click.Context, home: str | None) -> None:
    """A personal agent that lives on this device and learns at home."""
    ctx.obj = Invocation(home)


# ── Setting up ────────────────────────────────────────────────────────────────────────────────────────────


@hearth.command()
@click.option("--name", help="Your name.")
@click.option("--email", help="Your e-mail address: the sender of drafts.")
@click.option("--time-zone", help="IANA name such as Europe/Berlin (default: the machine's).")
@click.option("--country", help="Two letters such as DE, for phone numbers and date order.")
@click.pass_obj
def init(
    invocation: Invocation, name: str | None, email: str | None, time_zone: str | None, country: str | None
) -> None:
    """Make a home folder and learn the shipped demonstrations."""
    from hearth.agent import make_home

    home = invocation.home
    if not (home / "hearth.toml").exists():
        if name is None and sys.stdin.isatty():
            name = click.prompt("Your name", default="", show_default=False)
        if email is None and sys.stdin.isatty():
            email = click.prompt("Your e-mail address", default="", show_default=False)
        owner = {"name": name, "email": email, "time_zone": time_zone, "country": country}
        make_home(home, {key: value or "" for key, value in owner.items()})
        click.echo(f"Made a home in {home}")
    else:
        click.echo(f"{home} is a home already; its settings stay as they are")
    with opened_agent(invocation, yes=False) as agent:
        click.echo(f"{len(agent.tools.by_name)} tools, {agent.n_demonstrations} demonstrations learnt.")
        click.echo(f"Time zone: {agent.settings.zone()} (change it in hearth.toml).")
        hint = f"--home {shlex.quote(str(home))} " if home != Invocation(None).home else ""
        click.echo(f'Try:\n  {command_name()} {hint}ask "remind me to water the plants tomorrow at nine"')


@hearth.command()
@click.option("--repair", is_flag=True, help="Save what can be read of a damaged database into a fresh one.")
@as_json
@click.pass_context
def doctor(ctx: click.Context, repair: bool, as_json: bool) -> int:
    """Check the home, the settings, the tools, the encoder and the database."""
    from hearth.doctor import examine, repair_store

    home = ctx.ensure_object(Invocation).home
    if repair:
        for line in repair_store(home):
            click.echo(line, err=as_json)
    with contextlib.redirect_stdout(sys.stderr):  # a plug-in may print
        findings = examine(home, os.environ, unreachable(hearth, ctx))
    if as_json:
        print_json([{"part": f.part, "ok": f.is_ok, "says": f.says} for f in findings])
    else:
        for finding in findings:
            mark = click.style("ok  ", fg="green") if finding.is_ok else click.style("bad ", fg="red")
            click.echo(f"{mark} {finding.part:<12} {clean(finding.says)}")
    return 0 if all(f.is_ok for f in findings) else 1


# ── Asking ────────────────────────────────────────────────────────────────────────────────────────────────


def _code_of(episode: Episode, specs: Mapping[str, ToolSpec]) -> int:
    from hearth.execution.results import is_unknown

    is_done = episode.answer.status == "done"
    return (
        NOT_KNOWN_CODE
        if is_done and is_unknown(episode.plan, episode.results, specs)
        else STATUS_CODES[episode.answer.status]
    )


@hearth.command()
@click.argument("text", nargs=-1)
@yes_option
@as_json
@click.pass_obj
def ask(invocation: Invocation, text: tuple[str, ...], yes: bool, as_json: bool) -> int:
    """Do what TEXT asks.

    `-` or no TEXT reads the request from standard input. What would change or send something is asked about first;
    without a terminal it is refused, unless --yes or a rule in hearth.toml allows it.
    """
    request = _request_text(text)
    from hearth.cli.asking import asking

    with asking(invocation, yes=yes) as home:
        home.read_first()
        episode = home.ask(request)
        _show(home, episode, as_json)
        if not as_json and (more := _missing(episode)):
            episode = home.ask(f"{request} {more}")
            _show(home, episode, as_json)
        _teach(home, episode, as_json)
        home.tend()
    return _code_of(episode, home.specs)


@hearth.command()
@yes_option
@click.pass_obj
def chat(invocation: Invocation, yes: bool) -> int:
    """Ask one thing after another; an empty line ends it.

    /undo takes the last change back, /wrong WORDS corrects, /history and /why look back.
    """
    from hearth.cli.asking import answer_aside, asking, is_aside

    last = ""
    with asking(invocation, yes=yes) as home:
        home.read_first()
        if sys.stdin.isatty():
            import readline  # noqa: F401 - lines typed before come back by the arrow keys

            click.echo("Ask away; an empty line ends, /help lists more. For example: what do I have on tomorrow?")
        while True:
            was_there, text = terminal_text.is_typed_ahead(sys.stdin), _next_line()
            if not text:
                break
            if is_aside(text):
                if was_there:
                    click.echo("hearth: that line was there before I asked for one (pasted?); type it again", err=True)
                else:
                    answer_aside(home, text, last)
                continue
            episode = home.ask(text)
            last = episode.id
            _show(home, episode, as_json=False)
            if more := _missing(episode):
                episode = home.ask(f"{text} {more}")
                last = episode.id
                _show(home, episode, as_json=False)
            _teach(home, episode, as_json=False)
            home.tend()
    return 0


@hearth.command()
@click.argument("text", nargs=-1)
@click.option("--tools", "tools_file", type=click.Path(path_type=Path), help="Plan with the tools of a tool_desc.json.")
@click.option("--batch", type=click.Path(path_type=Path), metavar="JSONL", help="Plan every request of a file instead.")
@click.option("--out", type=click.Path(path_type=Path), metavar="JSONL", help="With --batch: where the plans go.")
@click.option(
    "--state",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="With --batch: plan with what was learnt in DIR instead of the home.",
)
@as_json
@click.pass_obj
def plan(
    invocation: Invocation,
    text: tuple[str, ...],
    tools_file: Path | None,
    batch: Path | None,
    out: Path | None,
    state: Path | None,
    as_json: bool,
) -> int:
    """Show the plan for TEXT without running anything.

    --batch FILE plans every line with a `user_request`, each with the tools it lists, else with all; plans are written
    in the same order with their confidence, unsure ones too. After a stop, the same command carries on.
    """
    if batch is not None:
        from hearth.cli.learning.batch_commands import run_batch
        from hearth.cli.learning.learn_commands import folder_of

        if text or out is None:
            raise click.UsageError("--batch takes its requests from the file and needs --out; leave TEXT out")
        return run_batch(batch, out, folder_of(invocation, state), tools_file, as_json=as_json)
    if out is not None or state is not None:
        raise click.UsageError("--out and --state go with --batch")
    from hearth.cli.asking import planned
    from hearth.formats.plans import plan_to_json, read_tools, refusal_to_json
    from hearth.formats.terminal_text import plan_lines
    from hearth.types import Plan

    request = _request_text(text)
    proposal, specs = planned(invocation, request, read_tools(tools_file) if tools_file else None)
    if isinstance(proposal, Plan):
        if as_json:
            print_json({"user_request": request, **plan_to_json(proposal)})
        else:
            click.echo(clean("\n".join(plan_lines(proposal, specs))))
        return 0
    if as_json:
        print_json({"user_request": request, "task_nodes": [], "refusal": refusal_to_json(proposal)})
    else:
        click.echo(clean(proposal.reason))
        if proposal.offer:
            click.echo(clean(proposal.offer.text))
    return STATUS_CODES["needs" if proposal.kind == "needs" else "refused"]


# ── Looking back ──────────────────────────────────────────────────────────────────────────────────────────


@hearth.command()
@as_json
@click.pass_obj
def tools(invocation: Invocation, as_json: bool) -> int:
    """List the tools, what they take and what they do."""
    from hearth.formats.plans import tool_to_json

    found = known_tools(invocation.home)
    if as_json:
        print_json({"nodes": [tool_to_json(spec) for spec in found.specs.values()], "faults": list(found.faults)})
    else:
        for domain in dict.fromkeys(spec.domain for spec in found.specs.values()):
            click.secho(domain, bold=True)
            for spec in (s for s in found.specs.values() if s.domain == domain):
                signature = ", ".join(p.name if p.is_required else f"[{p.name}]" for p in spec.parameters)
                mark = {"none": "reads", "change": "changes", "send": "sends"}[spec.effect]
                click.echo(f"  {spec.name}({signature})  {click.style(mark, dim=True)}")
                click.echo(f"      {clean(spec.description)}")
    for fault in found.faults:
        click.echo(f"not loaded: {clean(fault)}", err=True)
    return 1 if found.faults else 0


@hearth.command()
@click.argument("id", required=False)
@click.option(
    "--limit", type=click.IntRange(1, 1_000_000), default=20, show_default=True, help="How many, newest first."
)
@as_json
@click.pass_obj
def history(invocation: Invocation, id: str | None, limit: int, as_json: bool) -> None:
    """List what was asked and done, or show one episode whole."""
    from hearth.agent import open_trace
    from hearth.formats.plans import episode_to_json
    from hearth.formats.terminal_text import episode_lines, short

    with open_trace(invocation.home) as trace:
        episodes = trace.episodes(limit) if id is None else (trace.episode(id),)
    if as_json:
        documents = [episode_to_json(episode) for episode in episodes]
        print_json(documents if id is None else documents[0])
    elif id is not None:
        click.echo(f"{episodes[0].id}  {short(episodes[0].request.typed)}")
        click.echo("\n".join(episode_lines(episodes[0], known_tools(invocation.home).specs)))
    else:
        for episode in episodes:
            by = f"  · asked by {clean(short(episode.request.asked_by, 30))}" if episode.request.asked_by else ""
            click.echo(f"{episode.id}  {episode.answer.status:<8} {short(episode.request.typed, 70)}{by}")
        if not episodes:
            click.echo("Nothing was asked yet.")


@hearth.command()
@click.argument("id")
@as_json
@click.pass_obj
def replay(invocation: Invocation, id: str, as_json: bool) -> int:
    """Answer episode ID again from its record, calling nothing.

    Says whether the answer is the same, and exits with 1 when it is not.
    """
    from hearth.agent import open_trace, replayed
    from hearth.formats.terminal_text import episode_lines

    with open_trace(invocation.home) as trace:
        episode = trace.episode(id)
    specs = known_tools(invocation.home).specs
    again = replayed(episode, specs)
    same = again == episode.answer
    if as_json:
        print_json({"id": id, "same": same, "recorded": episode.answer.text, "replayed": again.text})
    else:
        click.echo("\n".join(episode_lines(episode, specs)))
        click.echo("  replayed  the same answer" if same else f"  replayed  differs: {clean(again.text)}")
    return 0 if same else 1


@hearth.command()
@click.argument("id", required=False)
@as_json
@click.pass_obj
def undo(invocation: Invocation, id: str | None, as_json: bool) -> int:
    """Take back what episode ID changed (default: the last change).

    Called again, it takes back the change before that one.
    """
    from hearth.cli.asking import asking, say_undone
    from hearth.formats.terminal_text import short

    with asking(invocation, yes=False) as home:
        report = home.undo(id)
        request = short(home.episode(report.episode).request.text, 70)
    if as_json:
        print_json({"id": report.episode, "undone": list(report.undone), "kept": list(report.kept)})
    else:
        click.echo(f"“{request}” ({report.episode})")
        say_undone(report)
    return 1 if report.kept else 0


@hearth.command(cls=command_with({"options": DemoOptions}))
@click.option(
    "--requests", type=click.Path(path_type=Path), help="Your own requests: JSONL with `user_request`, or text lines."
)
@click.option("--limit", type=click.IntRange(min=1), help="Work through the first N only.")
@click.option("--report", type=click.Path(path_type=Path), help="Where to write the HTML report.")
@click.option("--keep", type=click.Path(path_type=Path), help="Make the demo home here and keep it.")
@click.option("--footage", type=click.Path(path_type=Path), help="A recording of yours, taken to be of the hall.")
@click.option("--page", "shows_page", is_flag=True, help="At the end, serve this home's page until Ctrl-C.")
@click.option(
    "--meanwhile", default="", metavar="COMMAND", help="Run COMMAND beside the first scenes; video waits for it."
)
@yes_option
@as_json
def demo(options: DemoOptions) -> int:
    """Bring up a demo home and play the day of its owner in fourteen scenes, and report it.

    With `hearth-video[experts]` a photo is read, a request is heard and home video is asked about; what is missing is
    left out, and named. With --requests or --limit, requests of a file are worked through instead.
    """
    from hearth.demo.demo_run import run_demo

    return run_demo(options)


# ── Shared ────────────────────────────────────────────────────────────────────────────────────────────────


def _show(home: Asking, episode: Episode, as_json: bool) -> None:
    from hearth.formats.plans import episode_to_json
    from hearth.formats.terminal_text import answer_lines, evidence_lines, left, plan_lines

    if as_json:
        print_json(episode_to_json(episode))
        return
    is_terminal = sys.stdout.isatty()
    columns = max(40, min(shutil.get_terminal_size().columns, 110)) if is_terminal else 110
    width = min(columns, 100) if is_terminal else sys.maxsize  # what a program reads is not broken into lines
    if episode.request.said and episode.request.text:
        click.secho(f"  read as: {clean(episode.request.text)}", dim=True)
    if episode.plan is not None:
        for line in plan_lines(episode.plan, home.specs, columns - 2):
            click.secho(f"  {clean(line)}", dim=True)
    click.echo("\n".join(answer_lines(episode, width)))
    for line in evidence_lines(episode, is_new=True, width=columns - 9):
        click.secho(f"  from {line}", dim=True)
    for reason in home.refusals(episode):
        click.secho(f"  kept from leaving: {clean(reason)}", dim=True)
    steps = episode.plan.steps if episode.plan is not None else ()
    done = [home.specs.get(steps[result.step].tool) for result in episode.results if result.status == "done"]
    changed = any(spec is not None and spec.effect == "change" for spec in done)
    tail = " · take back: hearth undo" if changed else ""
    click.secho(f"  {left(episode)} · {episode.duration_ms / 1000:.2f} s{tail}", dim=True)


def _teach(home: Asking, episode: Episode, as_json: bool) -> None:
    """Learn from what was done otherwise in place of the last request, and say so."""
    from hearth.formats.terminal_text import short

    if episode.request.revises and home.teach(episode) and not as_json:
        said = clean(short(home.episode(episode.request.revises).request.text, 70))
        click.secho(f"  learnt: “{said}” means this · hearth correct {episode.request.revises}", dim=True)


def _request_text(words: tuple[str, ...]) -> str:
    """The request from the command line or standard input, decoded or refused."""
    if words and words != ("-",):
        text = " ".join(words)
        # Arguments that are no UTF-8 reach Python as lone surrogates (PEP 383).
        if any(0xD800 <= ord(c) <= 0xDFFF for c in text):
            raise errors.RequestError("the request is not UTF-8 text; type it again or save the file as UTF-8")
        return text
    if sys.stdin.isatty():
        raise click.UsageError('say what to do: hearth ask "…"')
    raw = sys.stdin.buffer.read()
    try:
        return raw.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise errors.RequestError(
            f"the request on standard input is not UTF-8 text (byte {error.start} is {raw[error.start]:#04x}); "
            "save it as UTF-8"
        ) from None


def _missing(episode: Episode) -> str:
    """What the person at the terminal adds when something was missing; empty without one."""
    if episode.refusal is None or episode.refusal.kind != "needs" or not sys.stdin.isatty():
        return ""
    drop_typed_ahead(sys.stdin)  # a text's next line is no answer
    return _next_line()


def _next_line() -> str:
    try:
        return input("› " if sys.stdin.isatty() else "").strip()
    except EOFError:
        return ""
    except UnicodeDecodeError as error:
        raise errors.RequestError(f"the request is not UTF-8 text ({error.reason}); save it as UTF-8") from None
