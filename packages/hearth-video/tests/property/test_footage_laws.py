"""Laws of the index: what is kept comes back, an id means its cut, forgetting marks exactly the minutes meant."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hearth_video.experts.expert_values import Box, Moment, Pose
from hearth_video.footage.recordings import CHUNK_S, Kept, at, start_in_name
from hearth_video.footage.sightings import packed, scaled, unpacked

START = dt.datetime(2026, 10, 25, 1, 30, tzinfo=dt.UTC)
SHARE = st.floats(-0.25, 1.25, width=32)
BOXES = st.builds(Box, SHARE, SHARE, SHARE, SHARE, st.floats(0, 1, width=32))


@st.composite
def moments(draw: st.DrawFn) -> list[Moment]:
    times = sorted(draw(st.lists(st.floats(0, 86_400), max_size=8, unique=True)))
    return [Moment(at_s, draw(BOXES), draw(st.sampled_from([None, pose()]))) for at_s in times]


def pose() -> Pose:
    return Pose(np.linspace(0, 1, 33 * 4, dtype=np.float32).reshape(33, 4))


@given(moments(), st.integers(16, 8000), st.integers(16, 8000))
def test_moments_come_back_at_any_size(shares: list[Moment], width: int, height: int) -> None:
    there = [scaled(moment, width, height) for moment in shares]
    back = [scaled(moment, width, height) for moment in unpacked(*packed(there, width, height))]
    assert [moment.at_s for moment in back] == [moment.at_s for moment in there]
    for one, other in zip(there, back, strict=True):
        for edge in ("left", "top", "right", "bottom"):
            assert abs(getattr(one.box, edge) - getattr(other.box, edge)) <= 1e-3 * max(width, height)
        assert (one.pose is None) == (other.pose is None)
        if one.pose is not None and other.pose is not None:
            assert np.abs(one.pose.points - other.pose.points).max() <= 1e-3 * max(width, height)


@given(st.floats(0.1, 200_000), st.floats(-300_000, 300_000), st.floats(0.1, 300_000))
def test_the_chunks_of_a_time_hold_all_of_it(duration_s: float, first_s: float, length_s: float) -> None:
    path = Path("a.mp4")
    kept = Kept(1, "a", "a", "a", path, 1, START, duration_s, 160, 120, "drawn", "given", "", 0)
    chunks = kept.chunks_between(at(START, first_s), at(START, first_s + length_s))
    assert 0 <= chunks.start < chunks.stop <= kept.n_chunks
    if first_s < duration_s and first_s + length_s > 0:
        assert chunks.start * CHUNK_S <= max(0.0, first_s) + 1e-3
        assert chunks.stop * CHUNK_S >= min(duration_s, first_s + length_s) - 1e-3


@given(st.text(max_size=60))
def test_any_name_of_a_file_is_read_or_not(stem: str) -> None:
    found = start_in_name(stem, dt.UTC)
    assert found is None or found.year >= 2000
