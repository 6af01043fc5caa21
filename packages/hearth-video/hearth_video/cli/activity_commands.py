"""`hearth video train-activity` and `hearth video activities`: teach activities from own clips, and train on DAHLIA."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hearth import errors
from hearth.cli.invocation import Invocation, as_json, print_json
from hearth.cli.memory.memory_commands import opened
from hearth.formats.terminal_text import clean

if TYPE_CHECKING:
    from hearth_video.dahlia import Measured, Outcome
    from hearth_video.experts.expert_values import Movement

_VIDEO = (".mp4", ".mkv", ".avi", ".mov", ".webm", ".m4v", ".mpg")
_CLIP_FRAMES_PER_S = 3.0


@click.command("train-activity")
@click.option("--dahlia", type=click.Path(path_type=Path), metavar="DIR", help="DAHLIA's folder, or one like it.")
@click.option("--clips", type=click.Path(path_type=Path), metavar="DIR", help="Clips of yours: DIR/ACTIVITY/CLIP.")
@click.option("--view", "views", type=int, multiple=True, help="Of DAHLIA: only this camera, 1 to 3 (repeatable).")
@click.option("--held-out", type=int, multiple=True, metavar="N", help="Of DAHLIA: subjects to measure on.")
@click.option("--dry-run", is_flag=True, help="Measure, and keep nothing.")
@as_json
@click.pass_obj
def train_activity(
    invocation: Invocation,
    dahlia: Path | None,
    clips: Path | None,
    views: tuple[int, ...],
    held_out: tuple[int, ...],
    dry_run: bool,
    as_json: bool,
) -> None:
    """Learn to tell activities: from DAHLIA, or from a few clips of yours.

    With --dahlia its seven (cooking, eating, …) are learnt from its skeletons, measured on subjects held out, and told
    from then on; this was made from what is published of DAHLIA, and never tried on the set itself. With --clips each
    folder in DIR is an activity, shipped or your own, and its clips show one person doing it; three clips of half a
    minute are a beginning. Recordings looked at before keep what was told then.
    """
    if (dahlia is None) == (clips is None):
        raise click.UsageError("say what to learn from: --dahlia DIR or --clips DIR")
    if dahlia is not None:
        _train_dahlia(invocation, dahlia, views or (1, 2, 3), held_out, dry_run, as_json)
    elif clips is not None:
        _teach_clips(invocation, clips, dry_run, as_json)


@click.command()
@click.option("--forget", "name", default="", metavar="NAME", help="Take back what was taught of NAME.")
@as_json
@click.pass_obj
def activities(invocation: Invocation, name: str, as_json: bool) -> None:
    """List the activities that are recognised, and which of them you taught."""
    from hearth_video.experts.activity import FALL, NEUTRAL, load_weights, shipped_weights
    from hearth_video.footage.activities import Activities

    with opened(invocation.home) as at:
        known = Activities(at.store)
        n = known.forget(name) if name else 0
        taught = known.taught()
        household = load_weights(known.household_file).names if known.household_file.exists() else ()
    shipped = [*shipped_weights().names, FALL]
    longer = [one for one in household if one != NEUTRAL]
    if as_json:
        print_json({"shipped": shipped, "taught": taught, "household": longer, "n_forgotten": n})
        return
    if name:
        click.echo(f"Forgotten: {n} example{'s' * (n != 1)} of {clean(name)}.")
    click.echo(f"Shipped: {', '.join(shipped)}")
    click.echo(f"Taught: {', '.join(f'{clean(one)} ({n} clips)' for one, n in taught.items()) or 'none'}")
    none = "none; train-activity --dahlia learns them (never tried on the set itself)"
    click.echo(f"From DAHLIA: {', '.join(longer) or none}")


# ── DAHLIA ────────────────────────────────────────────────────────────────────────────────────────────────


def _train_dahlia(
    invocation: Invocation,
    folder: Path,
    views: Sequence[int],
    held_out: Sequence[int],
    dry_run: bool,
    as_json: bool,
) -> None:
    from hearth_video.dahlia import read_dahlia, train
    from hearth_video.experts.activity import save_weights
    from hearth_video.footage.activities import Activities

    with opened(invocation.home) as at:
        data = read_dahlia(folder, views)
        click.echo(f"{len(data.sequences)} sequences; learning …", err=True)
        done = train(data, held_out)
        file = Activities(at.store).household_file
        if not dry_run:
            try:
                file.parent.mkdir(mode=0o700, exist_ok=True)
                temporary = file.with_suffix(".tmp")
                save_weights(done.weights, temporary)
                temporary.replace(file)
            except OSError as error:
                raise errors.StoreFullError(
                    f"cannot keep the weights in {str(file)!r}: {error.strerror}; the ones before are as they were"
                ) from None
    for fault in done.faults[:10]:
        click.echo(f"skipped: {clean(fault)}", err=True)
    if as_json:
        print_json(_json(done, kept=not dry_run))
        return
    click.echo(f"Measured on subjects {', '.join(map(str, done.held_out))}, who were not learnt from:")
    for name, measured in (("told", done.measured), ("most frequent", done.floor)):
        click.echo(
            f"  {name:<14} accuracy {measured.accuracy:.3f}  F-score {measured.f_score:.3f}  IoU {measured.iou:.3f}"
        )
    for line in _table(done.measured):
        click.echo(line)
    click.echo("Kept: its activities are recognised from now on." if not dry_run else "Nothing was kept.")


def _table(measured: Measured) -> Iterator[str]:
    names = sorted({*measured.confusion, *(name for row in measured.confusion.values() for name in row)})
    width = max(map(len, names))
    yield f"  {'done, then said':<{width}} " + " ".join(f"{name[:8]:>8}" for name in names)
    for name in names:
        row = measured.confusion.get(name, {})
        yield f"  {name:<{width}} " + " ".join(f"{row.get(other, 0):>8}" for other in names)


def _json(done: Outcome, *, kept: bool) -> dict[str, object]:
    def of(measured: Measured) -> dict[str, object]:
        return {
            "accuracy": round(measured.accuracy, 4),
            "f_score": round(measured.f_score, 4),
            "iou": round(measured.iou, 4),
            "n_frames": measured.n_frames,
        }

    return {
        "kept": kept,
        "held_out": list(done.held_out),
        "measured": of(done.measured),
        "floor": of(done.floor),
        "confusion": done.measured.confusion,
        "n_windows": done.n_windows,
        "faults": list(done.faults),
    }


# ── Clips ─────────────────────────────────────────────────────────────────────────────────────────────────


def _clips_in(folder: Path) -> dict[str, list[Path]]:
    """The clips of each activity. Raises: RequestError: There is none."""
    if not folder.is_dir():
        raise errors.RequestError(f"there is no folder {str(folder)!r}; give one with a folder for each activity")
    clips = {
        inside.name: sorted(path for path in inside.iterdir() if path.suffix.lower() in _VIDEO)
        for inside in sorted(folder.iterdir())
        if inside.is_dir()
    }
    clips = {name: paths for name, paths in clips.items() if paths}
    if not clips:
        raise errors.RequestError(
            f"{str(folder)!r} holds no clip; put those of an activity into a folder of its name: stretching/one.mp4"
        )
    return clips


def _teach_clips(invocation: Invocation, folder: Path, dry_run: bool, as_json: bool) -> None:
    from hearth_video.footage.activities import Activities

    clips = _clips_in(folder)
    with opened(invocation.home) as at:
        known = Activities(at.store)
        shown = {name: [_movement(path) for path in paths] for name, paths in clips.items()}
        given = {name: [one for one in movements if one is not None] for name, movements in shown.items()}
        for name, movements in shown.items():
            for path, seen in zip(clips[name], movements):
                if seen is None:
                    click.echo(f"skipped: {clean(str(path))} shows nobody", err=True)
        n_windows: dict[str, int] = {}
        for name, found in given.items():
            if not found:
                raise errors.RequestError(f"no clip of {name!r} shows anybody; nothing was learnt; give others")
        if not dry_run:
            now = dt.datetime.now(dt.UTC)
            n_windows = {name: known.teach(name, found, now) for name, found in given.items()}
    if as_json:
        print_json({"kept": not dry_run, "clips": {k: len(v) for k, v in given.items()}, "windows": n_windows})
        return
    for name, found in given.items():
        click.echo(f"{clean(name)}: {len(found)} clip{'s' * (len(found) != 1)}")
    click.echo("Learnt: they are recognised from now on." if not dry_run else "Nothing was kept.")


def _movement(path: Path) -> Movement | None:
    """Return the movement of the person who is longest in view."""
    from hearth_video.experts.expert_values import Moment, Movement
    from hearth_video.experts.person_detector import PersonExpert
    from hearth_video.experts.pose import PoseExpert
    from hearth_video.footage.video_decode import frames

    click.echo(f"looking at {clean(path.name)}", err=True)
    pose = PoseExpert()
    tracks: dict[int, list[Moment]] = {}
    size = (0, 0)
    for scene in PersonExpert().look(frames(path, frames_per_s=_CLIP_FRAMES_PER_S)):
        size = (scene.frame.pixels.shape[1], scene.frame.pixels.shape[0])
        for one in scene.people:
            found = pose.look((scene.frame, one.box))
            tracks.setdefault(one.track, []).append(Moment(scene.frame.at_s, one.box, found))
    if not tracks:
        return None
    longest = max(tracks.values(), key=len)
    return Movement(tuple(longest), *size)
