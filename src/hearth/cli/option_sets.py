"""Options that mean one thing together reach their command as one value.

    @dataclass(frozen=True, slots=True)
    class Where:
        people: tuple[str, ...]
        since: str

    @click.command(cls=command_with({"where": Where}))
    @click.option("--person", "people", multiple=True)
    @click.option("--since", default="")
    def search(where: Where) -> None: ...

Not covered: two dataclasses with a field of one name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import click


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
