"""Draw pictures of what was seen: a frame with boxes, names and skeletons, and a timeline of who was where when.

Unknown people are blurred in the frame itself, under everything that is drawn: the head as the pose shows it, else the
upper part of the box; so is every further face that is given. Not covered: a head that none of them shows.
"""

from __future__ import annotations

import datetime as dt
import functools
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from hearth.protocols import Sighting
from hearth_video.experts.expert_values import POSE_POINTS, Box, Pixels, Pose

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UNKNOWN = "unknown"
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F52A8")
"""Colours that colour-blind people can tell apart (Okabe and Ito 2008; the last is ours)."""
_GREY = "#6E6E6E"
_BONES = (
    ("left_shoulder", "right_shoulder"),
    ("left_hip", "right_hip"),
    *(
        (f"{side}_{a}", f"{side}_{b}")
        for side in ("left", "right")
        for a, b in (("shoulder", "elbow"), ("elbow", "wrist"), ("shoulder", "hip"), ("hip", "knee"), ("knee", "ankle"))
    ),
)
_FACE_POINTS = tuple(POSE_POINTS[:11])
_VISIBLE = 0.5
_HEAD_SHARE, _CLOSE_HEAD_SHARE = 0.3, 0.65
"""Share of a box's height that is blurred where no pose shows the head: for a whole figure, and for one seen to the
chest."""
_FACE_MARGIN = 0.4
"""Margin around a face, which is detected from brows to chin; hair and ears also identify a person."""
_N_BLOCKS = 5
"""Number of blocks across a blurred head: too few to recognise anybody."""
_MAX_ROWS = 14


# ── A frame ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Marked:
    """Somebody in a frame who is to be marked."""

    box: Box
    name: str = ""
    """Empty for somebody unknown."""
    pose: Pose | None = None
    """None where none was found."""
    is_blurred: bool = False
    """Whether the head is made unrecognisable."""


def draw_sighting(
    pixels: Pixels, people: Sequence[Marked], caption: str = "", strange_faces: Sequence[Box] = ()
) -> Image.Image:
    """Draw a frame with everyone in it marked; the first is the person meant.

    Args:
        caption: A line at the bottom: where and when.
        strange_faces: Faces outside all boxes, or not of the person a box is named after: blurred, too.
    """
    image = Image.fromarray(pixels)
    for one in people:
        if one.is_blurred:
            _blur(image, head_of(one.box, one.pose))
    for face in strange_faces:
        x, y = _FACE_MARGIN * face.width, _FACE_MARGIN * face.height
        _blur(image, Box(face.left - x, face.top - y, face.right + x, face.bottom + y))
    size_px = max(12, image.height // 32)
    draw = ImageDraw.Draw(image)
    for one in reversed(people):  # the one who is meant is drawn last, over the others
        colour = _colour(one.name)
        if one.pose is not None:
            _draw_bones(draw, one.pose, colour, max(2, size_px // 6))
        _draw_box(draw, one.box, one.name or UNKNOWN, colour, size_px, is_meant=one is people[0])
    if caption:
        _label(draw, (0, image.height - round(1.45 * size_px)), caption, "#202020", size_px, image.width)
    return image


def head_of(box: Box, pose: Pose | None) -> Box:
    """Return the box of the head: around the points of the face, else the upper part of the box."""
    if pose is not None:
        points = pose.points[[POSE_POINTS.index(name) for name in _FACE_POINTS]]
        seen = points[points[:, 3] >= _VISIBLE][:, :2]
        if len(seen) >= 4:
            (left, top), (right, bottom) = seen.min(axis=0), seen.max(axis=0)
            reach = max(right - left, bottom - top, box.height * 0.08)
            return Box(float(left - reach), float(top - 1.2 * reach), float(right + reach), float(bottom + reach))
    share = _HEAD_SHARE if box.height > 1.6 * box.width else _CLOSE_HEAD_SHARE
    margin = 0.05 * box.height
    return Box(box.left - margin, box.top - margin, box.right + margin, box.top + share * box.height)


def _blur(image: Image.Image, head: Box) -> None:
    left, top = max(0, round(head.left)), max(0, round(head.top))
    right, bottom = min(image.width, round(head.right)), min(image.height, round(head.bottom))
    if right - left < 2 or bottom - top < 2:
        return
    part = image.crop((left, top, right, bottom))
    n_down = max(1, round(_N_BLOCKS * part.height / part.width))
    small = part.resize((min(_N_BLOCKS, part.width), min(n_down, part.height)), Image.Resampling.BOX)
    coarse = small.resize(part.size, Image.Resampling.NEAREST)
    image.paste(coarse.filter(ImageFilter.GaussianBlur(part.width / _N_BLOCKS / 3)), (left, top))


def _draw_bones(draw: ImageDraw.ImageDraw, pose: Pose, colour: str, width: int) -> None:
    place = {name: pose.points[k] for k, name in enumerate(POSE_POINTS)}
    for a, b in _BONES:
        if min(place[a][3], place[b][3]) >= _VISIBLE:
            ends = [(float(place[name][0]), float(place[name][1])) for name in (a, b)]
            draw.line(ends, fill="white", width=width + 2)
            draw.line(ends, fill=colour, width=width)


def _draw_box(draw: ImageDraw.ImageDraw, box: Box, name: str, colour: str, size_px: int, *, is_meant: bool) -> None:
    edges = (box.left, box.top, max(box.right, box.left + 1), max(box.bottom, box.top + 1))
    draw.rectangle(edges, outline=colour, width=max(2, size_px // 5) if is_meant else max(1, size_px // 10))
    height = round(size_px * 1.5)
    top = box.top - height if box.top >= height else box.top
    _label(draw, (round(box.left), round(top)), name, colour, size_px, draw.im.size[0])


def _label(draw: ImageDraw.ImageDraw, at: tuple[int, int], text: str, colour: str, size_px: int, width_px: int) -> None:
    font = _font(size_px)
    text = "".join(c if c.isprintable() else " " for c in text)[:80]
    length = draw.textlength(text, font)
    left = max(0, min(at[0], round(width_px - length - size_px // 2)))
    draw.rectangle((left, at[1], left + length + size_px * 0.6, at[1] + size_px * 1.45), fill=colour)
    draw.text((left + size_px * 0.3, at[1] + size_px * 0.1), text, fill="white", font=font)


@functools.lru_cache(maxsize=8)
def _font(size_px: int) -> ImageFont.FreeTypeFont:
    import matplotlib  # carries a font with most scripts of Europe

    return ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"), size_px)


def _colour(name: str) -> str:
    return _COLOURS[zlib.crc32(name.encode()) % len(_COLOURS)] if name else _GREY


# ── A timeline ────────────────────────────────────────────────────────────────────────────────────────────


def draw_timeline(sightings: Sequence[Sighting], start: dt.datetime, end: dt.datetime) -> Image.Image:
    """Draw who was where when, doing what: a row for each person in each room, a colour for each activity.

    A person who is only probably identified is hatched. If there are more rows than fit, those seen longest are shown.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    zone = start.tzinfo
    rows, n_left = _rows(sightings)
    figure = Figure(figsize=(10, 1.5 + 0.45 * len(rows)), dpi=120, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    activities = sorted({one.activity for one in sightings})
    colour = {name: _COLOURS[k % len(_COLOURS)] if name else _GREY for k, name in enumerate(a for a in activities if a)}
    colour[""] = _GREY
    span_s = max((end - start).total_seconds(), 1.0)
    for row, group in enumerate(rows.values()):
        for one in group:
            at_s = (one.start - start).total_seconds()
            length_s = max((one.end - one.start).total_seconds(), span_s / 250)  # too short a bar cannot be seen
            is_sure = not one.name or one.name_confidence >= 0.85
            axes.barh(
                row,
                length_s,
                left=at_s,
                height=0.62,
                color=colour[one.activity],
                hatch=None if is_sure else "///",
                edgecolor="white",
                linewidth=0.4,
            )
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    _time_axis(axes, start, end, zone)
    shown = [name for name in activities if name or len(activities) > 1]
    if shown:
        from matplotlib.patches import Patch

        patches = [Patch(color=colour[name], label=name or "not told") for name in shown]
        figure.legend(handles=patches, loc="outside lower center", ncols=min(7, len(shown)), frameon=False, fontsize=9)
    day = f"{start:%A} {start.day} {start:%B %Y}"
    axes.set_title(day + (f"; {n_left} more rows are left out" if n_left else ""), fontsize=11, loc="left")
    canvas.draw()  # type: ignore[no-untyped-call]
    pixels = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
    return Image.fromarray(pixels[..., :3].copy())


def _rows(sightings: Sequence[Sighting]) -> tuple[dict[str, list[Sighting]], int]:
    """Group sightings by the label of their row, known people first; also return how many rows are left out."""
    is_one_room = len({one.room for one in sightings}) == 1
    groups: dict[tuple[str, str], list[Sighting]] = {}
    for one in sightings:
        groups.setdefault((one.name, one.room), []).append(one)
    lengths = {key: sum((one.end - one.start).total_seconds() for one in group) for key, group in groups.items()}
    kept = sorted(groups, key=lambda key: (not key[0], -lengths[key], key))[:_MAX_ROWS]
    kept.sort(key=lambda key: (not key[0], key))
    named = {key: (key[0] or UNKNOWN) + ("" if is_one_room or not key[1] else f", {key[1]}") for key in kept}
    return {_short(named[key]): groups[key] for key in kept}, len(groups) - len(kept)


def _short(text: str) -> str:
    text = "".join(c if c.isprintable() else " " for c in text).replace("$", r"\$")
    return text if len(text) <= 28 else text[:27] + "…"


def _time_axis(axes: Axes, start: dt.datetime, end: dt.datetime, zone: dt.tzinfo | None) -> None:
    """Label the axis at round clock times, about eight of them."""
    span_s = max((end - start).total_seconds(), 1.0)
    steps = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 7 * 86400)
    step_s = next((step for step in steps if span_s / step <= 8), steps[-1])
    midnight = start.replace(hour=0, minute=0, second=0, microsecond=0)
    first = -((start - midnight).total_seconds() % step_s)
    ticks = [first + k * step_s for k in range(int((span_s - first) // step_s) + 2)]
    ticks = [tick for tick in ticks if 0 <= tick <= span_s] or [0.0, span_s]
    form = "%H:%M:%S" if step_s < 60 else "%H:%M" if span_s < 86400 else "%a %H:%M" if step_s < 86400 else "%d %b"
    moments = [(start.astimezone(dt.UTC) + dt.timedelta(seconds=tick)).astimezone(zone) for tick in ticks]
    axes.set_xticks(ticks, [f"{moment:{form}}" for moment in moments])
    axes.set_xlim(0, span_s * 1.01)
    axes.grid(axis="x", color="#D8D8D8", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(left=False)
