"""Boxes never overlap, arrows point down and never run through a box."""

from __future__ import annotations

import itertools
import re

from hypothesis import given
from hypothesis import strategies as st

from hearth.serve.history import Drawing, layout


@st.composite
def plans(draw: st.DrawFn) -> list[frozenset[int]]:
    n_steps = draw(st.integers(1, 12))
    return [frozenset(draw(st.sets(st.integers(0, k - 1), max_size=4))) if k else frozenset() for k in range(n_steps)]


def _points(path: str) -> list[tuple[float, float]]:
    """Where each piece of a path ends."""
    points: list[tuple[float, float]] = []
    for command, numbers in re.findall(r"([MCV])([^MCV]+)", path):
        values = [float(n) for n in re.findall(r"-?[\d.]+", numbers)]
        points.append((points[-1][0], values[-1]) if command == "V" else (values[-2], values[-1]))
    return points


def _draw(needs: list[frozenset[int]]) -> Drawing:
    return layout(needs, [(80.0 + 20 * (k % 5), 30.0 + 10 * (k % 4)) for k in range(len(needs))])


@given(plans())
def test_boxes_lie_inside_and_apart(needs: list[frozenset[int]]) -> None:
    drawing = _draw(needs)
    for box in drawing.boxes:
        assert box.x >= 0
        assert box.y >= 0
        assert box.x + box.width <= drawing.width
        assert box.y + box.height <= drawing.height
    for one in drawing.boxes:
        for other in drawing.boxes:
            if one.step < other.step:
                is_beside = one.x + one.width < other.x or other.x + other.width < one.x
                is_above = one.y + one.height < other.y or other.y + other.height < one.y
                assert is_beside or is_above


@given(plans())
def test_every_need_is_an_arrow_that_goes_down(needs: list[frozenset[int]]) -> None:
    drawing = _draw(needs)
    assert {(a.source, a.target) for a in drawing.arrows} == {
        (s, t) for t, sources in enumerate(needs) for s in sources
    }
    for arrow in drawing.arrows:
        points = _points(arrow.path)
        heights = [y for _, y in points]
        assert heights == sorted(heights)
        target = drawing.boxes[arrow.target]
        assert abs(points[-1][1] - target.y) < 0.1
        assert target.x <= points[-1][0] <= target.x + target.width


@given(plans())
def test_straight_pieces_pass_beside_boxes(needs: list[frozenset[int]]) -> None:
    drawing = _draw(needs)
    for arrow in drawing.arrows:
        points = _points(arrow.path)
        for (x, top), (following, bottom) in itertools.pairwise(points):
            if x != following:
                continue
            for box in drawing.boxes:
                if box.step not in (arrow.source, arrow.target) and top < box.y + box.height and bottom > box.y:
                    assert not box.x < x < box.x + box.width


def test_a_chain_is_one_column() -> None:
    drawing = layout([frozenset(), frozenset({0}), frozenset({1})], [(100.0, 40.0)] * 3)
    assert len({box.x for box in drawing.boxes}) == 1
    assert [box.y for box in drawing.boxes] == [10.0, 94.0, 178.0]


def test_nothing_to_draw() -> None:
    assert layout([], []) == Drawing(10.0, 10.0, (), ())
