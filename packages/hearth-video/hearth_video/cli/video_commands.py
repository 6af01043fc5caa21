"""`hearth video`: list recordings by camera and time, index them, say who was seen, forget them."""

from __future__ import annotations

import contextlib
import datetime as dt
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hearth import errors
from hearth.cli.invocation import Invocation, as_json, print_json
from hearth.cli.memory.memory_commands import Opened, opened, period, width
from hearth.formats.terminal_text import clean, short
from hearth_video.cli.activity_commands import activities, train_activity

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

    from hearth.protocols import Sighting
    from hearth_video.footage.indexing import Progress
    from hearth_video.footage.library import Library
    from hearth_video.footage.recordings import Kept


@click.group()
def video() -> None:
    """Home video: who was in which room when, doing what.

    Recordings stay where they are; what is seen in them is kept in this home and leaves it nowhere. Looking needs
    `hearth-video[experts]`.
    """


video.add_command(train_activity)
video.add_command(activities)


# ── Recordings ────────────────────────────────────────────────────────────────────────────────────────────


@video.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--camera", required=True, help="What the camera is called: kitchen.")
@click.option("--room", default="", help="The room it looks at (default: as the camera is called).")
@click.option(
    "--start",
    default="",
    metavar="WHEN",
    help='When the first FILE began, as in "2026-11-19 18:00"; further ones follow it. Default: as their names or the '
    "files themselves say.",
)
@as_json
@click.pass_obj
def add(invocation: Invocation, files: tuple[Path, ...], camera: str, room: str, start: str, as_json: bool) -> int:
    """Add recordings of a camera. The files stay where they are; they are looked at when first asked about."""
    from hearth_video.footage.recordings import start_said

    rows: list[dict[str, object]] = []
    faults: list[errors.HearthError] = []
    with _library(invocation) as (at, library):
        begins = start_said(start, at.zone) if start else None
        left_out: Path | None = None
        for file in files:
            try:
                if left_out is not None:
                    raise errors.ToolError(
                        f"{str(file)!r} follows {str(left_out)!r}, which was not added, so nobody knows when it began; "
                        "add it alone with its own --start"
                    )
                said = begins
                if said is None and sys.stdin.isatty() and library.kept.began(file) is None:
                    asked = f"When did {clean(file.name)} begin, as in 2026-11-19 18:00?"
                    said = start_said(click.prompt(asked, err=True), at.zone)
                added = library.kept.add(file, camera, room, said)
            except errors.ToolError as error:
                faults.append(error)
                rows.append({"file": str(file), "error": str(error)})
                left_out = left_out or (file if begins is not None else None)
                if not as_json:
                    click.echo(f"not added: {clean(str(error))}", err=True)
                continue
            begins = added.recording.end if begins is not None else None
            rows.append({"file": str(file), "is_new": added.is_new, **_json_of(added.recording), "notes": added.notes})
            if not as_json:
                click.echo(f"{'added' if added.is_new else 'known already'}: {_line(added.recording, at.zone)}")
                for note in added.notes:
                    click.echo(f"  {clean(note)}")
    if as_json:
        print_json(rows)
    return 0 if not faults else 6 if len(faults) < len(files) else 1


@video.command(name="list")
@click.option("--room", default="", help="Only the cameras of this room.")
@as_json
@click.pass_obj
def list_(invocation: Invocation, room: str, as_json: bool) -> None:
    """List recordings, and how much of each was looked at."""
    with _library(invocation) as (at, library):
        found = library.kept.between(room, None, None)
        if as_json:
            print_json([_json_of(kept) for kept in found])
            return
        for kept in found:
            click.echo(_line(kept, at.zone))
            if kept.fault:
                click.echo(f"  {clean(kept.fault)}")
    if not found:
        click.echo('No recordings yet; add one: hearth video add FILE --camera kitchen --start "2026-11-19 18:00"')


# ── Looking ───────────────────────────────────────────────────────────────────────────────────────────────


@video.command()
@click.argument("ids", nargs=-1)
@click.option("--room", default="", help="Only the cameras of this room.")
@click.option(
    "--activities", "tells_anew", is_flag=True, help="Work out again what everyone did, with what was taught since."
)
@as_json
@click.pass_obj
def index(invocation: Invocation, ids: tuple[str, ...], room: str, tells_anew: bool, as_json: bool) -> int:
    """Look at recordings (all, or those with these IDs) ahead of being asked.

    If you stop it, what is done is kept, and the same command carries on.
    """
    faults: dict[str, str] = {}
    with _library(invocation) as (at, library):
        chosen = [library.kept.one(id) for id in ids] or list(library.kept.between(room, None, None))
        n_before = _n_seen(library, chosen)
        for progress in _shown(library.looked_at(chosen, threading.Event())):
            if progress.fault:
                faults[progress.recording] = progress.fault
        for _ in library.told_anew() if tells_anew else ():
            pass
        library.tend(at.now)
        n_seen = _n_seen(library, chosen)
        left = {kept.id: kept for kept in library.kept.all()}
        chosen = [left[kept.id] for kept in chosen if kept.id in left]  # others may have been forgotten meanwhile
    if as_json:
        recordings = [_json_of(kept) for kept in chosen]
        print_json({"n_sightings": n_seen, "n_new": n_seen - n_before, "recordings": recordings, "faults": faults})
    else:
        for id, fault in faults.items():
            click.echo(f"not looked at: {id}: {clean(fault)}", err=True)
        click.echo(f"{n_seen - n_before} new sightings, {n_seen} in all, in {_recordings(len(chosen))}.")
    return 6 if faults else 0


@video.command()
@click.option("--room", default="", help="Only this room.")
@click.option("--since", required=True, metavar="WHEN", help='As in "yesterday evening" or 2026-11-19T18:00.')
@click.option("--until", default="", metavar="WHEN", help="Default: the end of the time that --since names.")
@click.option("--pictures", is_flag=True, help="Also write annotated pictures and a timeline; strangers are blurred.")
@click.option("--strangers", is_flag=True, help="With --pictures: do not blur the faces of unknown people.")
@as_json
@click.pass_obj
def show(
    invocation: Invocation, room: str, since: str, until: str, pictures: bool, strangers: bool, as_json: bool
) -> int:
    """Show who was seen, when, where and doing what; what was not looked at yet is looked at first."""
    if strangers and not pictures:
        raise click.UsageError("--strangers goes with --pictures")
    with _library(invocation) as (at, library):
        start, end = period(since, at)
        if until:
            end = period(until, at)[1]
        if not start < end:
            raise click.UsageError(f"nothing lies between {start:%Y-%m-%d %H:%M} and {end:%Y-%m-%d %H:%M}")
        for _ in _shown(library.looking(room, start, end, threading.Event())):
            pass
        seen = library.doing([one.id for one in library.people(room, start, end, threading.Event())])
        drawn = library.pictures([one.id for one in seen], shows_strangers=strangers) if pictures else ()
        files = [*drawn, library.timeline(seen)] if drawn else []
        if as_json:
            print_json({"start": start, "end": end, "sightings": [_seen_json(one) for one in seen], "files": files})
        else:
            for one in seen:
                click.echo(_seen_line(one, at.zone))
            for file in files:
                click.echo(f"  {file}")
            if not seen:
                click.echo(f"Nobody was seen from {start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M}.")
                if not library.recordings(room, start, end):
                    click.echo("There is no recording of that time.")
    return 0 if seen else 4


# ── Forgetting ────────────────────────────────────────────────────────────────────────────────────────────


@video.command()
@click.argument("ids", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Forget without asking.")
@as_json
@click.pass_obj
def forget(invocation: Invocation, ids: tuple[str, ...], yes: bool, as_json: bool) -> int:
    """Forget recordings with all that was seen in them, for good; their files stay.

    To forget a person or a time in all recordings: hearth forget --person NAME, hearth forget --since … --until ….
    """
    from hearth.memory.event_memory import EventMemory
    from hearth_video.footage.footage_retention import forget_recording

    with _library(invocation) as (at, library):
        chosen = [library.kept.one(id) for id in dict.fromkeys(ids)]
        if not yes:
            for kept in chosen:
                click.echo(_line(kept, at.zone), err=as_json)
            n = _n_seen(library, chosen)
            is_agreed = False
            if sys.stdin.isatty():
                with contextlib.suppress(click.Abort):
                    is_agreed = click.confirm(f"Forget these with {n} sightings for good?", default=False, err=True)
            if not is_agreed:
                click.echo("Nothing was forgotten; --yes forgets it.", err=True)
                return 5
        memory = EventMemory(at.store)
        n_gone = sum(forget_recording(at.store, memory, library.kept, kept.id) for kept in chosen)
    if as_json:
        print_json({"recordings": [kept.id for kept in chosen], "n_sightings": n_gone})
    else:
        click.echo(f"Forgotten: {_recordings(len(chosen))}, {n_gone} sightings. The files stay where they are.")
    return 0


# ── Telling ───────────────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def _library(invocation: Invocation) -> Iterator[tuple[Opened, Library]]:
    from hearth.memory.event_memory import EventMemory
    from hearth_video.footage.library import Library

    with opened(invocation.home) as at:
        yield at, Library(at.store, EventMemory(at.store), at.settings)


def _recordings(n: int) -> str:
    return f"{n} recording{'' if n == 1 else 's'}"


def _n_seen(library: Library, chosen: Sequence[Kept]) -> int:
    return sum(len(library.sightings.between(kept, None, None)) for kept in chosen)


def _line(kept: Kept, zone: dt.tzinfo) -> str:
    start, end = kept.start.astimezone(zone), kept.end.astimezone(zone)
    until = f"{end:%H:%M:%S}" if end.date() == start.date() else f"{end:%Y-%m-%d %H:%M:%S}"
    looked = "looked at" if kept.is_indexed else f"{kept.n_done} of {kept.n_chunks} minutes looked at"
    room = f" ({clean(kept.room)})" if kept.room != kept.camera else ""
    told = f"{clean(kept.id)}  {clean(kept.camera)}{room}  {start:%Y-%m-%d %H:%M:%S}–{until}  {looked}"
    return f"{told}  {short(str(kept.path), 4096)}"


def _json_of(kept: Kept) -> dict[str, object]:
    return {
        "id": kept.id,
        "camera": kept.camera,
        "room": kept.room,
        "start": kept.start,
        "start_from": kept.start_from,
        "end": kept.end,
        "duration_s": round(kept.duration_s, 3),
        "width": kept.width,
        "height": kept.height,
        "codec": kept.codec,
        "path": str(kept.path),
        "is_indexed": kept.is_indexed,
        "n_chunks": kept.n_chunks,
        "n_done": kept.n_done,
        "fault": kept.fault,
    }


def _seen_line(one: Sighting, zone: dt.tzinfo) -> str:
    start, end = one.start.astimezone(zone), one.end.astimezone(zone)
    who = f"{one.name} ({one.name_confidence:.0%} sure)" if one.name else "somebody unknown"
    doing = f", {one.activity} ({one.activity_confidence:.0%} sure)" if one.activity else ""
    told = f"{start:%Y-%m-%d %H:%M:%S}–{end:%H:%M:%S}  {short(one.room, 20)}  {who}{doing}  {one.id}"
    return short(told, max(width(), 100))


def _seen_json(one: Sighting) -> dict[str, object]:
    return {
        "id": one.id,
        "camera": one.camera,
        "room": one.room,
        "start": one.start,
        "end": one.end,
        "confidence": round(one.confidence, 3),
        "name": one.name,
        "name_confidence": round(one.name_confidence, 3),
        "activity": one.activity,
        "activity_confidence": round(one.activity_confidence, 3),
    }


def _shown(looking: Iterator[Progress]) -> Iterator[Progress]:
    """Pass progress on, with a bar of seconds of film on standard error where a person waits."""
    if not sys.stderr.isatty():
        yield from looking
        return
    bar: ProgressBar[int] | None = None
    for progress in looking:
        if bar is None:
            bar = click.progressbar(length=max(1, round(progress.total_s)), label="Looking", file=sys.stderr)
        bar.update(round(progress.done_s) - bar.pos)
        yield progress
    if bar is not None:
        bar.render_finish()
