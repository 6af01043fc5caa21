"""One episode in the form that the templates show: texts cleaned and cut, the plan laid out, results as tables."""

from __future__ import annotations

import base64
import datetime as dt
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from hearth.formats.terminal_text import argument_text, clean, mark, plan_lines, short
from hearth.types import Episode, Plain, Plan, StepResult, ToolSpec

# ── The layout of a plan ───────────────────────────────────────────────────────────────────────────────
# Lay out the boxes and arrows of a plan: layers from top to bottom, every arrow points down.
# Pure geometry: it knows the sizes of boxes and their dependencies, not how a box looks.


GAP_X = 28.0
GAP_Y = 44.0
"""Pixels between boxes side by side (`GAP_X`) and between layers (`GAP_Y`)."""
MARGIN = 10.0
BEND_WIDTH = 24.0
"""Width reserved for an arrow that passes a layer."""


_Key: TypeAlias = "tuple[int, ...]"
"""`(step,)` for a box; `(source, target, layer)` for the bend of an arrow that passes a layer."""


@dataclass(frozen=True, slots=True)
class Box:
    """Place of one step, in pixels from the top left."""

    step: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Arrow:
    source: int
    target: int
    path: str
    """An SVG path from the bottom of the source to the top of the target."""


@dataclass(frozen=True, slots=True)
class Drawing:
    width: float
    height: float
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


@dataclass(slots=True)
class _Place:
    """A box, or the bend of an arrow that passes its layer."""

    width: float
    height: float
    layer: int
    x: float = 0.0
    """Position of its middle."""


def layout(needs: Sequence[frozenset[int]], sizes: Sequence[tuple[float, float]]) -> Drawing:
    """Place the steps of a plan.

    Args:
        needs: For each step the steps before it whose results it uses; a step needs earlier ones only.
        sizes: Width and height of each step's box, pixels.
    """
    layers = _layers(needs)
    places: dict[_Key, _Place] = {(k,): _Place(*sizes[k], layers[k]) for k in range(len(sizes))}
    routes: dict[tuple[int, int], list[_Key]] = {}
    for target, sources in enumerate(needs):
        for source in sorted(sources):
            bends: list[_Key] = [(source, target, layer) for layer in range(layers[source] + 1, layers[target])]
            for bend in bends:
                places[bend] = _Place(BEND_WIDTH, 0.0, bend[2])
            routes[source, target] = [(source,), *bends, (target,)]
    _place_across(places, list(routes.values()))
    tops, height = _tops(places)
    depths = [max(p.height for p in places.values() if p.layer == layer) for layer in range(len(tops))]
    width = max((p.x + p.width / 2 for p in places.values()), default=0.0) + MARGIN
    boxes = tuple(
        Box(k, p.x - p.width / 2, tops[p.layer], p.width, p.height)
        for k, p in ((k, places[(k,)]) for k in range(len(sizes)))
    )
    arrows = tuple(Arrow(*ends, _path([places[key] for key in route], tops, depths)) for ends, route in routes.items())
    return Drawing(width, height, boxes, arrows)


def _layers(needs: Sequence[frozenset[int]]) -> list[int]:
    """Return the length of the longest path to each step."""
    layers: list[int] = []
    for sources in needs:
        layers.append(max((layers[k] + 1 for k in sources), default=0))
    return layers


def _place_across(places: Mapping[_Key, _Place], routes: Sequence[Sequence[_Key]]) -> None:
    """Set `x`: each box under the middle of what it needs, boxes of a layer side by side."""
    above: dict[_Key, list[_Place]] = {key: [] for key in places}
    below: dict[_Key, list[_Place]] = {key: [] for key in places}
    for route in routes:
        for upper, lower in itertools.pairwise(route):
            above[lower].append(places[upper])
            below[upper].append(places[lower])
    rows: dict[int, list[_Key]] = {}
    for key, place in places.items():
        rows.setdefault(place.layer, []).append(key)
    for row in rows.values():
        _spread(row, places, above)
    for layer in sorted(rows, reverse=True):
        _spread(rows[layer], places, below)
    for layer in sorted(rows):
        _spread(rows[layer], places, above)
    left = min((p.x - p.width / 2 for p in places.values()), default=0.0)
    for place in places.values():
        place.x += MARGIN - left


def _spread(row: list[_Key], places: Mapping[_Key, _Place], neighbours: Mapping[_Key, Sequence[_Place]]) -> None:
    """Order one layer by the positions of its neighbours, and move it as near to them as the boxes' widths allow."""
    wanted = {
        key: sum(p.x for p in neighbours[key]) / len(neighbours[key]) if neighbours[key] else places[key].x
        for key in row
    }
    row.sort(key=lambda key: wanted[key])
    edge = float("-inf")
    for key in row:
        place = places[key]
        place.x = max(wanted[key], edge + place.width / 2)
        edge = place.x + place.width / 2 + GAP_X
    drift = sum(places[key].x - wanted[key] for key in row) / len(row)
    for key in row:
        places[key].x -= drift


def _tops(places: Mapping[_Key, _Place]) -> tuple[list[float], float]:
    """Return the top of each layer, and the total height."""
    heights: dict[int, float] = {}
    for place in places.values():
        heights[place.layer] = max(heights.get(place.layer, 0.0), place.height)
    tops, y = [], MARGIN
    for layer in sorted(heights):
        tops.append(y)
        y += heights[layer] + GAP_Y
    return tops, (y - GAP_Y if tops else 0.0) + MARGIN


def _path(route: Sequence[_Place], tops: Sequence[float], depths: Sequence[float]) -> str:
    """Return the path of an arrow: curves between layers, straight down beside the boxes of a layer that it only
    passes."""
    first, *rest = route
    x, y = first.x, tops[first.layer] + first.height
    path = f"M{x:.1f},{y:.1f}"
    for place in rest:
        top = tops[place.layer]
        middle = (y + top) / 2
        path += f"C{x:.1f},{middle:.1f} {place.x:.1f},{middle:.1f} {place.x:.1f},{top:.1f}"
        x, y = place.x, top
        if place is not rest[-1]:
            y += depths[place.layer]
            path += f"V{y:.1f}"
    return path


# ── The episode ────────────────────────────────────────────────────────────────────────────────────────


MAX_DRAWN_STEPS = 12
MAX_ROWS = 6
MAX_COLUMNS = 6
MAX_CELL = 160
MAX_ANSWER = 4000
MAX_IMAGES, MAX_IMAGE_BYTES = 12, 2_000_000

_LINE_HEIGHT = 16.0
_CHARACTER_WIDTH = 7.3
_BOX_CHARACTERS = 34


def moment(at: dt.datetime) -> str:
    """Format a moment: `Fri 20 Nov, 09:05`."""
    return f"{at:%a} {at.day} {at:%b}, {at:%H:%M}"


def milliseconds(value_ms: float) -> str:
    """Format milliseconds: `7.4 ms`, `320 ms`, `2.1 s`."""
    if value_ms >= 1000:
        return f"{value_ms / 1000:.1f} s"
    return f"{value_ms:.0f} ms" if value_ms >= 20 else f"{value_ms:.1f} ms"


@dataclass(frozen=True, slots=True)
class _Node:
    """A box of the drawing, ready to be written as SVG."""

    x: float
    y: float
    width: float
    height: float
    mark: str
    tool: str
    lines: tuple[str, ...]
    status: str
    effect: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A plan as boxes and arrows, sizes in pixels."""

    width: float
    height: float
    nodes: tuple[_Node, ...]
    arrows: tuple[Arrow, ...]


@dataclass(frozen=True, slots=True)
class _Table:
    """A step's result as rows; a single text stands in one cell."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    n_more: int = 0


@dataclass(frozen=True, slots=True)
class _Outcome:
    mark: str
    tool: str
    status: str
    time: str
    error: str
    n_attempts: int
    sources: str
    table: _Table | None
    images: tuple[tuple[str, str], ...] = ()
    """Pictures the step made: a data URL, and what it shows."""


@dataclass(frozen=True, slots=True)
class ShownEpisode:
    """One episode in the form that the templates use."""

    number: int
    id: str
    request: str
    reading: str
    """The request in full, where what was typed meant more than it said."""
    status: str
    answer: str
    evidence: tuple[tuple[str, str, str], ...]
    picture: Picture | None
    plan_text: str
    planner: str
    ruling: str
    reason: str
    refusal: str
    missing: str
    outcomes: tuple[_Outcome, ...]
    disclosures: tuple[tuple[str, str, int], ...]
    when: str
    time: str
    planning: str
    rounds: int
    unserved: tuple[str, ...] = field(default=())


def shown_episode(number: int, episode: Episode, tools: Mapping[str, ToolSpec]) -> ShownEpisode:
    """Return what the page shows of an episode: texts cleaned and cut, the plan laid out, results as tables."""
    plan, refusal, ruling = episode.plan, episode.refusal, episode.ruling
    is_drawn = plan is not None and len(plan.steps) <= MAX_DRAWN_STEPS
    return ShownEpisode(
        number=number,
        id=episode.id,
        request=clean(episode.request.typed)[:2000] or "(empty)",
        reading=short(episode.request.text, 2000) if episode.request.said and episode.request.text else "",
        status=episode.answer.status,
        answer=cut(clean(episode.answer.text), MAX_ANSWER),
        evidence=tuple((mark(e.step), short(e.source, 120), short(e.text, 240)) for e in episode.answer.evidence[:20]),
        picture=picture_of(plan, episode.results, tools) if plan is not None and is_drawn else None,
        plan_text="\n".join(clean(line) for line in plan_lines(plan, tools)) if plan is not None else "",
        planner=f"{plan.planner or 'unknown'}, confidence {plan.confidence:.2f}" if plan is not None else "",
        ruling=ruling.verdict if ruling else "",
        reason=clean(ruling.reason) if ruling else "",
        refusal=refusal.kind.replace("_", " ") if refusal else "",
        missing=", ".join(refusal.missing) if refusal else "",
        outcomes=tuple(_outcome(episode, result) for result in episode.results),
        disclosures=tuple((d.host, d.reason, d.n_bytes) for d in episode.disclosures),
        when=moment(episode.request.now),
        time=milliseconds(episode.duration_ms),
        planning=milliseconds(episode.planning_ms),
        rounds=episode.rounds,
        unserved=tuple(clean(part) for part in plan.unserved) if plan is not None else (),
    )


def picture_of(plan: Plan, results: Sequence[StepResult], tools: Mapping[str, ToolSpec]) -> Picture | None:
    """Lay out boxes and arrows; None for a plan whose steps are not in order of their needs."""
    needs = [step.needs() for step in plan.steps]
    if any(not 0 <= source < index for index, sources in enumerate(needs) for source in sources):
        return None
    statuses = {result.step: result.status for result in results}
    texts: list[tuple[str, ...]] = []
    for step in plan.steps:
        said = [f"{name}: {argument_text(value, 60)}" for name, value in step.arguments.items()]
        more = [f"and {len(said) - 4} more"] if len(said) > 4 else []
        texts.append((*(short(line, _BOX_CHARACTERS) for line in said[:4]), *more))
    effects = []
    for step in plan.steps:
        effect = (
            {"none": "", "change": "changes", "send": "sends"}[tools[step.tool].effect] if step.tool in tools else ""
        )
        instead = f"instead of {mark(step.replaces)}" if step.replaces is not None else ""
        effects.append(", ".join(part for part in (effect, instead) if part))
    sizes = []
    for step, lines, effect in zip(plan.steps, texts, effects, strict=True):
        longest = max([len(line) for line in lines] + [len(step.tool) + len(effect) + 7])
        sizes.append((longest * _CHARACTER_WIDTH + 26, (len(lines) + 1) * _LINE_HEIGHT + 18))
    drawing = layout(needs, sizes)
    nodes = tuple(
        _Node(
            box.x,
            box.y,
            box.width,
            box.height,
            mark(box.step),
            plan.steps[box.step].tool,
            texts[box.step],
            statuses.get(box.step, ""),
            effects[box.step],
        )
        for box in drawing.boxes
    )
    return Picture(drawing.width, drawing.height, nodes, drawing.arrows)


def _outcome(episode: Episode, result: StepResult) -> _Outcome:
    steps = episode.plan.steps if episode.plan else ()
    return _Outcome(
        mark=mark(result.step),
        tool=steps[result.step].tool if result.step < len(steps) else "?",
        status=result.status,
        time=milliseconds(result.duration_ms) if result.status != "skipped" else "",
        error=clean(result.error),
        n_attempts=result.n_attempts,
        sources=", ".join(sorted(result.label.sources)),
        table=_table(result.value) if result.status == "done" else None,
        images=_images(result.value) if result.status == "done" and "sensor" in result.label.sources else (),
    )


def _images(value: Plain) -> tuple[tuple[str, str], ...]:
    """Return the pictures that records of footage name, embedded in the page; unreadable ones are left out."""
    found: list[tuple[str, str]] = []
    for record in value if isinstance(value, list) else [value]:
        path = Path(str(record.get("path") or record.get("timeline") or "")) if isinstance(record, dict) else Path()
        kind = {".png": "image/png", ".jpg": "image/jpeg"}.get(path.suffix)
        if kind is None or not isinstance(record, dict) or len(found) >= MAX_IMAGES:
            continue
        try:
            if path.stat().st_size <= MAX_IMAGE_BYTES:
                data = base64.b64encode(path.read_bytes()).decode()
                found.append((f"data:{kind};base64,{data}", short(str(record.get("text", "")), 160)))
        except OSError:
            continue
    return tuple(found)


def _table(value: Plain) -> _Table:
    """Turn a result into a table: one row per record, empty columns and ids left out."""
    items = value if isinstance(value, list) else [value]
    records = [item for item in items if isinstance(item, dict)]
    if not items or len(records) != len(items):
        texts = [_cell(item) for item in items[:MAX_ROWS]] or ["nothing found"]
        return _Table((), tuple((text,) for text in texts), max(len(items) - MAX_ROWS, 0))
    names = [
        name
        for name in dict.fromkeys(key for record in records for key in record)
        if name != "id" and any(record.get(name) not in (None, "", [], {}) for record in records)
    ][:MAX_COLUMNS]
    rows = tuple(tuple(_cell(record.get(name)) for name in names) for record in records[:MAX_ROWS])
    return _Table(tuple(names), rows, max(len(records) - MAX_ROWS, 0))


def _cell(value: Plain) -> str:
    if value in (None, "", [], {}):
        return ""
    if isinstance(value, list):
        return cut("; ".join(_cell(item) for item in value), MAX_CELL)
    if isinstance(value, dict):
        return cut(", ".join(f"{key} {_cell(item)}" for key, item in value.items()), MAX_CELL)
    text = argument_text(value, MAX_CELL)
    return clean(text[1:-1] if isinstance(value, str) and text.startswith('"') else text)


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
