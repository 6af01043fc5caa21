"""Draw the pictures of a report: functions from numbers to PNG files."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

_COLOURS = ("#0b5fa5", "#c0392b", "#3a9d5d", "#e08e0b", "#8c6bb1", "#555555", "#17a2b8", "#b5651d")
_MARKS = "osD^vP*X"
MAX_LINES = len(_COLOURS)
_MAX_NUMBERED = 14
"""Most rounds for which a matrix's cells are numbered."""
NOTHING = "(none)"
"""Partner of a tool if nothing was planned for it, or if it was planned for nothing."""
OTHERS = "(others)"
"""Label of all tools that are not shown."""


@dataclass(frozen=True, slots=True)
class Point:
    """Result of one setting of what goes to the cloud."""

    calls: float
    """Share of requests answered by the cloud."""
    quality: float
    note: str = ""


def learning_png(curves: Mapping[str, Sequence[float]], levels: Mapping[str, float], what: str) -> bytes:
    """Draw curves over rounds; `levels` are lines for learning everything at once and for learning nothing."""
    figure, axes = _figure(8.5, 4.6)
    for k, (name, values) in enumerate(list(curves.items())[:MAX_LINES]):
        axes.plot(range(1, len(values) + 1), values, marker=_MARKS[k], ms=5, color=_COLOURS[k], label=_short(name))
    for k, (name, value) in enumerate(list(levels.items())[:3]):
        axes.axhline(value, color="#333333", ls=("--", ":", "-.")[k], lw=1.2, label=_short(name))
    axes.set(xlabel="rounds learnt", ylabel=what)
    axes.set_ylim(*_limits([v for values in curves.values() for v in values] + list(levels.values())))
    axes.locator_params(axis="x", integer=True)
    return _finished(figure, axes)


def matrix_png(rows: Sequence[Sequence[float]], title: str) -> bytes:
    """Draw R: row i is after round i, column j the score on task j."""
    r = np.array(rows, float)
    size = min(max(3.4, 0.62 * max(r.shape)), 9)
    figure, axes = _figure(size + 1.2, size)
    known = [0.0, 1.0, *(float(value) for value in r.flat if value == value)]
    shown = axes.imshow(r, cmap="Blues", vmin=min(known), vmax=max(known))
    if max(r.shape) <= _MAX_NUMBERED:
        for i, j in np.ndindex(*r.shape):
            dark = (r[i, j] - min(known)) / (max(known) - min(known)) > 0.6
            axes.text(j, i, f"{r[i, j]:.2f}", ha="center", va="center", fontsize=8, color="white" if dark else "black")
        axes.set_xticks(range(r.shape[1]), [str(k + 1) for k in range(r.shape[1])])
        axes.set_yticks(range(r.shape[0]), [str(k + 1) for k in range(r.shape[0])])
    for k in range(min(r.shape)):  # the task just learnt
        axes.add_patch(_outline(k))
    axes.set(xlabel="task tested", ylabel="after learning round")
    axes.set_title(_short(title, 60), fontsize=10)
    figure.colorbar(shown, ax=axes, fraction=0.046)
    return _png(figure)


def calls_png(curves: Mapping[str, Sequence[Point]], what: str) -> bytes:
    """Draw quality by the share of requests that a cloud model answers."""
    figure, axes = _figure(8.5, 4.8)
    for k, (name, points) in enumerate(list(curves.items())[:MAX_LINES]):
        ordered = sorted(points, key=lambda p: (p.calls, p.quality))
        axes.plot([100 * p.calls for p in ordered], [p.quality for p in ordered], marker=_MARKS[k], ms=6,
                  color=_COLOURS[k], label=_short(name, 64), ls="-" if len(ordered) > 1 else "")  # fmt: skip
        if len(ordered) <= 8 and len(curves) <= 3:
            _note(axes, ordered, k)
    axes.set(xlabel="requests that go to the cloud, %", ylabel=what)
    axes.set_xlim(-2, 102)
    axes.set_ylim(*_limits([p.quality for points in curves.values() for p in points]))
    return _finished(figure, axes)


def confusion_png(counts: Mapping[tuple[str, str], int], tools: Sequence[str]) -> bytes:
    """Draw which tool was planned (columns) for which right one (rows), as shares of a row; hidden tools are
    `OTHERS`."""
    places = {name: k for k, name in enumerate(tools)}
    table = np.zeros((len(tools), len(tools)))
    for (right, planned), n in counts.items():
        table[places.get(right, places.get(OTHERS, 0)), places.get(planned, places.get(OTHERS, 0))] += n
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    size = min(max(4.0, 0.42 * len(tools) + 1.6), 12)
    figure, axes = _figure(size + 1.4, size)
    shown = axes.imshow(shares, cmap="Purples", vmin=0, vmax=1)
    for i, j in zip(*np.nonzero(table), strict=True):
        colour = "white" if shares[i, j] > 0.6 else "black" if i == j else "#a01818"
        axes.text(j, i, f"{table[i, j]:.0f}", ha="center", va="center", fontsize=8, color=colour)
    names = [_short(name, 26) for name in tools]
    axes.set_xticks(range(len(tools)), names, rotation=55, ha="right", rotation_mode="anchor", fontsize=8)
    axes.set_yticks(range(len(tools)), names, fontsize=8)
    axes.set(xlabel="planned", ylabel="right")
    figure.colorbar(shown, ax=axes, fraction=0.04, label="share of the row")
    return _png(figure)


def intervals_png(rows: Sequence[tuple[str, float, float, float]], title: str) -> bytes:
    """Draw differences with their intervals: name, difference, low, high."""
    figure, axes = _figure(8.5, max(1.9, 0.36 * len(rows) + 1.2))
    for k, (_, value, low, high) in enumerate(rows):
        colour = "#555555" if low <= 0 <= high else _COLOURS[2] if value > 0 else _COLOURS[1]
        axes.plot([low, high], [k, k], color=colour, lw=2.2, solid_capstyle="butt")
        axes.plot([value], [k], "o", color=colour, ms=6)
    axes.axvline(0, color="#333333", lw=1)
    axes.set_yticks(range(len(rows)), [_short(name, 34) for name, *_ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel(title)
    axes.grid(alpha=0.25, axis="x")
    return _png(figure)


# ── Parts ─────────────────────────────────────────────────────────────────────────────────────────────────


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    # matplotlib takes half a second to import; no other command needs it.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", dpi=120)
    FigureCanvasAgg(figure)
    return figure, figure.subplots()


def _finished(figure: Figure, axes: Axes) -> bytes:
    axes.grid(alpha=0.25)
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1:
        figure.legend(handles, labels, loc="outside lower center", ncols=min(3, len(labels)), fontsize=8, frameon=False)
    elif labels:
        axes.set_title(_short(labels[0], 90), fontsize=10)
    return _png(figure)


def _note(axes: Axes, points: Sequence[Point], curve: int) -> None:
    """Label each place with its settings; several settings and curves may share one place."""
    notes: dict[tuple[float, float], list[str]] = {}
    for point in points:
        notes.setdefault((100 * point.calls, point.quality), []).append(point.note)
    for place, texts in notes.items():
        text, is_right = _short(" / ".join(filter(None, texts)), 60), place[0] > 50
        shift, side = (-6, "right") if is_right else (6, "left")
        below = -13 - 10 * curve if place[1] > 0.1 else 7 + 10 * curve  # not over the axis
        axes.annotate(
            text, place, xytext=(shift, below), textcoords="offset points", fontsize=7.5, color=_COLOURS[curve], ha=side
        )


def _outline(k: int) -> Patch:
    from matplotlib.patches import Rectangle

    return Rectangle((k - 0.45, k - 0.45), 0.9, 0.9, fill=False, ec="#e08e0b", lw=1.6)


def _png(figure: Figure) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name may have letters that the font lacks
        figure.savefig(file, format="png", metadata={"Software": None})
    return file.getvalue()


def _limits(values: Sequence[float]) -> tuple[float, float]:
    """Return limits of zero to one if all values lie between; a narrower axis would exaggerate differences."""
    return min(0.0, *values, 0.0) * 1.05, max(1.0, *values, 1.0) * 1.04


def _short(text: str, n: int = 44) -> str:
    # A name is data: `$` would start mathematics.
    text = " ".join(text.split()).replace("$", r"\$")
    return text if len(text) <= n else text[: n - 1] + "…"
