"""Lay out the boxes and arrows of a plan: layers from top to bottom, every arrow points down.

Pure geometry: it knows the sizes of boxes and their dependencies, not how a box looks.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

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


def _spread(
    row: list[_Key],
    places: Mapping[_Key, _Place],
    neighbours: Mapping[_Key, Sequence[_Place]],
) -> None:
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
