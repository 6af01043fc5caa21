"""Shared parts of the commands: global options, opening an agent on the home, JSON on standard output."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import math
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hearth.errors import ConfigError
from hearth.terminal import clean

if TYPE_CHECKING:
    from hearth.agent import Agent
    from hearth.protocols import Tool
    from hearth.registry import Tools


@dataclass(frozen=True, slots=True)
class Invocation:
    """The options given before the command."""

    named_home: str | None

    @property
    def home(self) -> Path:
        """Home folder: the one named, else that of the environment, else the platform's."""
        from hearth import config

        return config.home_folder(self.named_home, os.environ)


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


def known_tools(home: Path) -> Tools:
    """Return every tool there is for a home, those of MCP servers too where its settings can be read."""
    from hearth import config
    from hearth.registry import load_tools
    from hearth.tools.foreign.mcp_tools import foreign_tools

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
