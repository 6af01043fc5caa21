"""A click group whose commands are loaded when they are asked for: the core's own, and those of installed plug-ins.

A command of a distribution that is absent or cannot be loaded is answered with what to do about it; the others work.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click

from hearth.errors import HearthError, RegistryError
from hearth.registry import COMMANDS, load_parts, missing_companion, part_names


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
                self.add_command(_loaded(self._prefix + cmd_name), cmd_name)
            elif (fault := missing_companion(self._prefix + cmd_name)) is not None:
                return _faulty(fault, is_hidden=True)
        return super().get_command(ctx, cmd_name)

    def _plugged_in(self) -> tuple[str, ...]:
        names = (name for name in part_names(COMMANDS) if name.startswith(self._prefix))
        return tuple(rest for name in names if "." not in (rest := name.removeprefix(self._prefix)))


def _loaded(name: str) -> click.Command:
    parts = load_parts(COMMANDS, name)
    if not parts.loaded:
        return _faulty(RegistryError("; ".join(parts.faults)))
    command = parts.loaded[0].value
    if not isinstance(command, click.Command):
        return _faulty(RegistryError(f"{parts.loaded[0].origin}: {command!r} is no click command"))
    return command


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
