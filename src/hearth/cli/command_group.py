"""A click group whose commands are loaded when they are asked for: the core's own, and those of installed plug-ins.

A command of a distribution that is absent or cannot be loaded is answered with what to do about it; the others work.
"""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Mapping
from typing import Any, cast

import click

from hearth.errors import HearthError, RegistryError
from hearth.registry import COMMANDS, half_installed, load_parts, missing_companion, part_names, third_party

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
