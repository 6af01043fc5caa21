"""Define `hearth fleet`: simulate many edges and one cloud."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hearth.cli.invocation import Number, command_with
from hearth.formats.terminal_text import clean

if TYPE_CHECKING:
    from hearth_bench.fleet.simulation import Fleet

_FILE = click.Path(path_type=Path)
_WAYS = ("personal", "shared", "merged", "strangers", "private", "shipped")


@click.group()
def fleet() -> None:
    """Simulate many owners with their devices and one cloud."""


@dataclass(frozen=True, slots=True)
class _Owners:
    """Who is simulated, for how long."""

    edges: int
    days: int
    requests: float
    habit: float
    meanings: str
    seed: int


@dataclass(frozen=True, slots=True)
class _Teaching:
    """When a teacher is asked, and how right it and its corrections are."""

    sure: float
    corrected: float
    teacher_errors: float


@dataclass(frozen=True, slots=True)
class _Place:
    """Where it runs, and where its parts are."""

    engine: str
    jobs: int
    workspace: Path
    resume: bool


@fleet.command(cls=command_with({"owners": _Owners, "teaching": _Teaching, "place": _Place}))
@click.option("--edges", type=click.IntRange(1, 1_000_000), default=1_000, show_default=True, help="How many.")
@click.option("--days", type=click.IntRange(1, 42), default=30, show_default=True, help="How long.")
@click.option(
    "--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True, help="Where it runs."
)
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Parts side by side.")
@click.option("--workspace", type=_FILE, default=Path("fleet"), show_default=True, metavar="DIR", help="For its parts.")
@click.option("--resume", is_flag=True, help="Carry on with what is in the workspace.")
@click.option("--ways", default=",".join(_WAYS), show_default=True, metavar="LIST", help="Ways of learning.")
@click.option(
    "--requests", type=Number(1, 40), default=7.0, show_default=True, help="Requests per owner and day, on average."
)
@click.option(
    "--habit", type=Number(0, 3), default=1.0, show_default=True, help="Exponent of Zipf's law over requests."
)
@click.option(
    "--meanings",
    type=click.Choice(["own", "persona"]),
    default="own",
    show_default=True,
    help="Whether each owner's phrases have meanings of their own.",
)
@click.option(
    "--teacher-errors",
    type=Number(0, 1),
    default=0.0,
    show_default=True,
    help="Share of the teacher's plans that are wrong.",
)
@click.option(
    "--sure", type=Number(0, 1), default=0.5, show_default=True, help="Confidence from which nobody is asked."
)
@click.option(
    "--corrected", type=Number(0, 1), default=0.5, show_default=True, help="Share of wrong plans that owners correct."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--json", "out", type=_FILE, metavar="OUT", help="Where the result goes (default: in the workspace).")
def simulate(owners: _Owners, teaching: _Teaching, place: _Place, ways: str, out: Path | None) -> int:
    """Simulate owners for a month, with three ways of learning.

    The ways: a student of their own, a shared one, and one begun with a merged prior. Owners are made from the six of
    Q2A: docs/explanation/fleet.md says how, and what that leaves out. Writes JSON, and beside it CSV, a picture and a
    page. Ctrl-C keeps what is finished; the same command with --resume carries on. The same settings give the same
    result, with any engine and number of jobs. Exit code 130: stopped.
    """
    from hearth.atomic_files import check_writable
    from hearth.cli.invocation import Progress
    from hearth.models.sentence_encoder import MiniLMEncoder
    from hearth_bench.fleet.habits import Habit
    from hearth_bench.fleet.simulated_edge import Cloud
    from hearth_bench.fleet.simulation import Fleet, simulate
    from hearth_bench.fleet.simulation_parts import WAYS, Settings

    named = [name.strip() for name in ways.split(",") if name.strip()]
    unknown = next((name for name in named if name not in WAYS), None)
    if unknown is not None or not named:
        raise click.UsageError(f"unknown way {unknown!r}; known are {', '.join(WAYS)}")
    if {"merged", "strangers", "private"} & set(named) and "personal" not in named:
        raise click.UsageError("merged students begin with what personal ones learnt; add personal to --ways")
    settings = Settings(
        owners.edges,
        Habit(owners.seed, owners.days, owners.requests, owners.habit, owners.meanings == "own"),
        Cloud(teaching.sure, corrected_share=teaching.corrected, teacher_errors=teaching.teacher_errors),
    )
    made = Fleet(settings, place.workspace, tuple(way for way in WAYS if way in named))
    if out is not None:
        check_writable(out)
    made.open(resumes=place.resume)
    try:
        simulate(
            made,
            MiniLMEncoder.open(),
            engine="ray" if place.engine == "ray" else "local",
            n_processes=place.jobs,
            progress=Progress(sys.stderr),
        )
    except KeyboardInterrupt:
        click.echo(f"stopped; carry on with the same command and --resume ({place.workspace})", err=True)
        return 130
    _write(made, out or place.workspace / "fleet.json")
    return 0


def _write(made: Fleet, out: Path) -> None:
    from hearth.atomic_files import write_bytes
    from hearth_bench.fleet.fleet_figures import fleet_html, fleet_png
    from hearth_bench.fleet.fleet_report import Lived, csv_of, lines, summary, with_origin
    from hearth_bench.fleet.simulation_parts import parts_of
    from hearth_bench.run_record import write_json

    lived = [Lived(made, way) for way in made.ways if parts_of(made.settings, way)]
    document = with_origin(summary(made, lived), lived)
    table = lines(document)
    picture = fleet_png(document)
    write_json(out, document)
    write_bytes(out.with_suffix(".csv"), csv_of(document).encode())
    write_bytes(out.with_suffix(".png"), picture)
    write_bytes(out.with_suffix(".html"), fleet_html(document, picture, table).encode())
    click.echo(clean("\n".join([*table, f"written to {out}, and beside it .csv .png .html"])))
