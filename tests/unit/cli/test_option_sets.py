"""Options that reach their command as one value."""

from __future__ import annotations

from dataclasses import dataclass

import click
from click.testing import CliRunner

from hearth.cli.invocation import command_with, group_with


@dataclass(frozen=True)
class Where:
    people: tuple[str, ...]
    since: str
    depth: int = 3


def test_options_called_like_fields_come_as_one_value() -> None:
    @click.command(cls=command_with({"where": Where}))
    @click.option("--person", "people", multiple=True)
    @click.option("--since", default="")
    @click.option("--limit", default=10)
    def search(where: Where, limit: int) -> None:
        click.echo(f"{where} {limit}")

    said = CliRunner().invoke(search, ["--person", "Ana", "--since", "Monday"])
    assert said.output == f"{Where(('Ana',), 'Monday', 3)} 10\n"
    assert "--person" in CliRunner().invoke(search, ["--help"]).output


def test_a_group_called_without_a_command_gets_them_too() -> None:
    @click.group(cls=group_with({"where": Where}), invoke_without_command=True)
    @click.option("--person", "people", multiple=True)
    @click.option("--since", default="")
    def search(where: Where) -> None:
        click.echo(where.since)

    @search.command()
    def again() -> None:
        click.echo("again")

    assert CliRunner().invoke(search, ["--since", "May"]).output == "May\n"
    assert CliRunner().invoke(search, ["--since", "May", "again"]).output == "May\nagain\n"
