"""Shared parts of the commands: global options, opening an agent on the home, JSON on standard output."""

from __future__ import annotations

import contextlib
import datetime as dt
import importlib
import itertools
import json
import math
import os
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import click

from hearth.errors import ConfigError, HearthError, RegistryError
from hearth.formats.terminal_text import clean
from hearth.registry import COMMANDS, half_installed, load_parts, missing_companion, part_names, third_party

if TYPE_CHECKING:
    from hearth.agent import Agent
    from hearth.memory.answers.home_answers import Building, Stage
    from hearth.protocols import Tool
    from hearth.registry import Tools


# ── Commands loaded when they are asked for ────────────────────────────────────────────────────────────
# A click group whose commands are loaded when they are asked for: the core's own, and those of installed plug-ins. A
# command of a distribution that is absent or cannot be loaded is answered with what to do about it; the others work.


_WIDEST = 30
"""Longer names of commands stand on a line of their own."""


class CommandGroup(click.Group):
    """A group that knows commands by name before they are imported."""

    def __init__(self, *args: Any, elsewhere: Mapping[str, str] | None = None, prefix: str = "", **kwargs: Any) -> None:
        """Make a group; click hands on all other arguments.

        Args:
            elsewhere: The core's commands by name -> `module:attribute`.
            prefix: What the entry points of this group's commands begin with: `edge.` for the group `edge`.
        """
        super().__init__(*args, **kwargs)
        self._elsewhere = dict(elsewhere or {})
        self._prefix = prefix

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self._elsewhere, *self._plugged_in()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands:
            if cmd_name in self._elsewhere:
                module, _, name = self._elsewhere[cmd_name].partition(":")
                self.add_command(getattr(importlib.import_module(module), name), cmd_name)
            elif cmd_name in self._plugged_in():
                return _loaded(self._prefix + cmd_name)
            elif "." not in cmd_name and (fault := missing_companion(self._prefix + cmd_name)) is not None:
                return _faulty(fault, is_hidden=True)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands as click does, but import no third party's for it: that may be slow."""
        commands: dict[str, click.Command] = {}
        for name in self.list_commands(ctx):
            stranger = "" if self.is_own(name) else third_party(COMMANDS, self._prefix + name)
            command = click.Command(name, help=f"Of {stranger}.") if stranger else self.get_command(ctx, name)
            if command is not None and not command.hidden:
                commands[name] = command
        room = formatter.width - 6 - min(max(map(len, commands), default=0), _WIDEST)
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(room)) for name, one in commands.items()], _WIDEST)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, HearthError, OSError):
            raise
        except Exception as error:
            name = ctx.invoked_subcommand or ""
            if self.is_own(name) or name not in self._plugged_in():
                raise
            if isinstance(error, ImportError):
                raise half_installed(COMMANDS, self._prefix + name, error) from error
            if stranger := third_party(COMMANDS, self._prefix + name):
                traceback.print_exc()
                raise RegistryError(f"this is a fault in {stranger}; report the lines above to its maker") from error
            raise

    def is_own(self, name: str) -> bool:
        """Return whether a command is written in the core, so that no plug-in can take its name."""
        return name in self._elsewhere or name in self.commands

    def _plugged_in(self) -> tuple[str, ...]:
        names = (name for name in part_names(COMMANDS) if name.startswith(self._prefix))
        return tuple(rest for name in names if "." not in (rest := name.removeprefix(self._prefix)))


def unreachable(top: CommandGroup, ctx: click.Context) -> tuple[str, ...]:
    """Say which plug-ins' commands can never be called: the name is the core's, or their group is none that takes any.

    Args:
        top: The group `hearth`.
    """
    faults = []
    for name in part_names(COMMANDS):
        head, _, last = name.rpartition(".")
        group = top.get_command(ctx, head) if head else top
        said = " ".join(["hearth", *name.split(".")])
        mend = f"its maker must rename it; until then, uninstall {third_party(COMMANDS, name) or 'it'}"
        if not isinstance(group, CommandGroup):
            faults.append(f"the plug-in's command `{said}` is never found, as `hearth {head}` takes none; {mend}")
        elif group.is_own(last):
            faults.append(f"the plug-in's command `{said}` is never found, as Hearth has its own; {mend}")
    return tuple(faults)


def _loaded(name: str) -> click.Command:
    parts = load_parts(COMMANDS, name)
    if not parts.loaded:
        return _faulty(RegistryError("; ".join(parts.faults)))
    return cast("click.Command", parts.loaded[0].value)


def _faulty(fault: HearthError, *, is_hidden: bool = False) -> click.Command:
    """A command that only says why it cannot run, whatever it is given."""

    def say() -> None:
        raise fault

    return click.Command(
        "faulty",
        callback=say,
        hidden=is_hidden,
        short_help="cannot be loaded; call it for the reason",
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )


# ── Options that mean one thing together ───────────────────────────────────────────────────────────────
# Options that mean one thing together reach their command as one value.
#     @dataclass(frozen=True, slots=True)
#     class Where:
#         people: tuple[str, ...]
#         since: str
#     @click.command(cls=command_with({"where": Where}))
#     @click.option("--person", "people", multiple=True)
#     @click.option("--since", default="")
#     def search(where: Where) -> None: ...
# Not covered: two dataclasses with a field of one name.


def command_with(sets: Mapping[str, type[Any]]) -> type[click.Command]:
    """Make a kind of command whose function takes dataclasses in place of the options that are called like their
    fields; a field without an option keeps its default."""

    class CommandWithSets(click.Command):
        def invoke(self, ctx: click.Context) -> Any:
            _put_together(ctx.params, sets)
            return super().invoke(ctx)

    return CommandWithSets


def group_with(sets: Mapping[str, type[Any]]) -> type[click.Group]:
    """Do as `command_with` for a group that may be called without a command."""

    class GroupWithSets(click.Group):
        def invoke(self, ctx: click.Context) -> Any:
            _put_together(ctx.params, sets)
            return super().invoke(ctx)

    return GroupWithSets


def _put_together(options: dict[str, Any], sets: Mapping[str, type[Any]]) -> None:
    for name, kind in sets.items():
        given = [field.name for field in fields(kind) if field.name in options]
        options[name] = kind(**{option: options.pop(option) for option in given})


# ── Progress ───────────────────────────────────────────────────────────────────────────────────────────


_STAGES: Mapping[Stage, str] = {
    "files": "Reading files",
    "pictures": "Reading pictures",
    "meaning": "Reading for meaning",
    "verdicts": "Looking for instructions",
}


class Progress:
    """Shows stages with a bar on a terminal, one line each elsewhere."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._has_bar = False

    @contextlib.contextmanager
    def stage(self, label: str, n: int, *, counts: bool = True) -> Iterator[Callable[[int], None]]:
        """Run a stage of `n` parts; call the yielded function with how many more are done.

        Args:
            counts: Show counts, for parts that mean something to a person; else a share is shown.
        """
        if self._stream is None:
            yield lambda _: None
            return
        started = time.perf_counter()
        if self._stream.isatty():
            shows_count = counts and n > 1
            with click.progressbar(length=max(n, 1), label=label, file=self._stream, show_pos=shows_count) as bar:
                self._has_bar = True
                try:
                    yield bar.update
                    bar.update(0)
                finally:
                    self._has_bar = False
            return
        yield lambda _: None
        self.say(f"{label}: {time.perf_counter() - started:.1f} s")

    def follow(self, steps: Iterable[Building]) -> Counter[Stage]:
        """Show each stage of building the index of the owner's things as it goes on; return how much each did."""
        done: Counter[Stage] = Counter()
        for stage, run in itertools.groupby(steps, lambda step: step.stage):
            first = next(run)
            with self.stage(_STAGES[stage], first.n_all) as show:
                for step in itertools.chain((first,), run):
                    show(step.n_done - done[stage])
                    done[stage] = step.n_done
        return done

    def say(self, text: str) -> None:
        """Print a line; terminal control characters are shown as visible signs."""
        if self._stream is not None:
            text = clean(text)
            click.echo(f"\r\x1b[K{text}" if self._has_bar else text, file=self._stream)  # replaces the bar


SILENT = Progress()


# ── Global options, agents and JSON ────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Invocation:
    """The options given before the command."""

    named_home: str | None

    @property
    def home(self) -> Path:
        """Home folder: the one named, else that of the environment, else the platform's."""
        from hearth import config

        return config.home_folder(self.named_home, os.environ)

    @property
    def made_home(self) -> Path:
        """The home folder. Raises: ConfigError: There is no home in it."""
        if not (self.home / "hearth.toml").exists():
            raise ConfigError(f"no home in {str(self.home)!r}; make one with `hearth init`")
        return self.home


class Number(click.FloatRange):
    """A number within bounds that rejects `nan` and `inf`, which a plain bounds check lets through."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value!r} is not a usable number; expected {self._describe_range()}.", param, ctx)
        return found


SECONDS = Number(min=0.01, max=31_536_000)
"""Seconds, up to a year."""

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
yes_option = click.option("--yes", is_flag=True, help="Approve what would be asked.")


@contextlib.contextmanager
def opened_agent(invocation: Invocation, *, yes: bool) -> Iterator[Agent]:
    """Open an agent on the home, and report on standard error what it recovered from a crash."""
    from hearth.agent import Agent
    from hearth.guard.policy.question import RefusingApprover, TerminalApprover, YesApprover

    asking = TerminalApprover() if sys.stdin.isatty() else RefusingApprover()
    approver = YesApprover() if yes else asking
    with contextlib.redirect_stdout(sys.stderr):  # a plug-in may print; standard output is for answers
        agent = Agent.open(invocation.home, approver, environ=os.environ)
    try:
        if agent.n_to_learn:
            label = f"Learning {agent.n_to_learn} demonstrations"
            with click.progressbar(agent.learn_shipped(), length=agent.n_to_learn, label=label, file=sys.stderr) as bar:
                for _ in bar:
                    pass
        with contextlib.redirect_stdout(sys.stderr):
            recovered = agent.recover(asking)  # --yes is said of this request, not of one before it
        for line in recovered:
            click.echo(f"recovered: {clean(line)}", err=True)
        told = agent.faults
        for fault in told:
            click.echo(f"not loaded: {clean(fault)}", err=True)
        yield agent
        for fault in agent.faults:  # that came with the request
            if fault not in told:
                click.echo(f"left out: {clean(fault)}", err=True)
    finally:
        agent.close()


@contextlib.contextmanager
def bar_from(least: int, n: int, label: str) -> Iterator[Callable[[int], object]]:
    """Show a bar on standard error where a person waits for `least` parts or more of `n`; call what is yielded with
    how many are done."""
    if n < least or not sys.stderr.isatty():
        yield lambda _: None
        return
    with click.progressbar(length=n, label=label, file=sys.stderr) as bar:
        yield lambda done: bar.update(min(done, n) - bar.pos)


def known_tools(home: Path) -> Tools:
    """Return every tool there is for a home, those of MCP servers too where its settings can be read."""
    from hearth import config
    from hearth.registry import load_tools
    from hearth.tools.foreign import foreign_tools

    foreign: tuple[Tool, ...] = ()
    faults: tuple[str, ...] = ()
    with contextlib.redirect_stdout(sys.stderr):  # a plug-in may print
        if (home / "hearth.toml").exists():
            with contextlib.suppress(ConfigError):
                foreign, faults = foreign_tools(home, config.read_settings(home / "hearth.toml"), os.environ)
        found = load_tools(home, foreign)
    return replace(found, faults=(*found.faults, *faults))


def print_json(document: object) -> None:
    def encode(value: object) -> str:
        if isinstance(value, dt.datetime):
            return value.isoformat()
        raise TypeError(f"{type(value).__name__} in a JSON document")

    text = json.dumps(document, ensure_ascii=False, indent=2, default=encode)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:  # half a surrogate pair, or a terminal with few characters
        text = json.dumps(document, indent=2, default=encode)
    # Terminal control characters are escaped; for a program it is the same document.
    click.echo("".join(c if c == shown else json.dumps(c)[1:-1] for c, shown in zip(text, clean(text), strict=True)))
