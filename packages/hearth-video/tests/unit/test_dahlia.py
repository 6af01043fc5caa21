"""DAHLIA's files, measures, and the path from a folder to weights, on a drawn sample in its layout."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from hearth.errors import RequestError
from hearth_video.dahlia import (
    ACTIVITIES,
    FRAMES_PER_S,
    Dahlia,
    Stretch,
    frame_measures,
    frames_of,
    labels_on_grid,
    movement_of,
    name_at,
    read_dahlia,
    train,
    write_sample,
)
from hearth_video.experts.activity import NEUTRAL
from hearth_video.experts.expert_values import Activity


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dahlia")
    write_sample(folder, n_subjects=3, activity_s=24)
    return folder


@pytest.fixture
def own(sample: Path, tmp_path: Path) -> Path:
    """A copy to change."""
    return Path(shutil.copytree(sample, tmp_path / "own"))


def test_sequences_are_found_by_their_names(sample: Path) -> None:
    data = read_dahlia(sample)
    assert [one.name for one in data.sequences] == [f"S0{s}A1K{k}" for s in (1, 2, 3) for k in (1, 2, 3)]
    assert [one.name for one in data.sequences[0].stretches] == list(ACTIVITIES)
    assert [one.view for one in read_dahlia(sample, (2,)).sequences] == [2, 2, 2]
    assert not data.faults


def test_frames_and_names(sample: Path) -> None:
    take = read_dahlia(sample).sequences[1]
    found = list(frames_of(take))
    steps = np.diff([at_s for _, at_s, _ in found])
    assert np.allclose(steps, 5 / FRAMES_PER_S)
    movement, numbers = movement_of(take)
    assert len(movement.moments) == len(numbers) == len(found)
    last = take.stretches[0].last
    assert [name_at(take, frame) for frame in (0, last, last + 1)] == ["cooking", "cooking", NEUTRAL]


def test_a_body_stands_upright_in_the_picture(sample: Path) -> None:
    movement, _ = movement_of(read_dahlia(sample).sequences[1])
    pose = movement.moments[0].pose
    assert pose is not None
    nose, hips, ankles = pose.points[0, 1], pose.points[[23, 24], 1].mean(), pose.points[[27, 28], 1].mean()
    assert nose < hips < ankles


@pytest.mark.parametrize("layout", ["commas", "four numbers", "with times", "head line"])
def test_other_ways_to_write_skeletons(own: Path, layout: str) -> None:
    path = own / "skeletons" / "S01A1K1.txt"
    before = [joints for _, _, joints in frames_of(read_dahlia(own).sequences[0])]
    lines = []
    for line in path.read_text().splitlines():
        frame, *values = line.split()
        if layout == "four numbers":
            values = [v for k in range(25) for v in (*values[3 * k : 3 * k + 3], "2")]
        if layout == "with times":
            values = ["123456", *values]
        lines.append((", " if layout == "commas" else " ").join([frame, *values]))
    path.write_text("\n".join([*(["frame joints"] if layout == "head line" else []), *lines]))
    faults: list[str] = []
    after = [joints for _, _, joints in frames_of(read_dahlia(own).sequences[0], faults)]
    assert np.allclose(before, after)
    assert faults == []


@pytest.mark.parametrize(
    ("line", "stretch"),
    [
        ("cooking 10 20", Stretch("cooking", 10, 20)),
        ("10;20;Laying_Table", Stretch("laying table", 10, 20)),
        ("10, 20, washing dishes", Stretch("washing dishes", 10, 20)),
        ("7 10 20", Stretch("working", 10, 20)),
        ("3\t10.0\t20.0", Stretch("eating", 10, 20)),
    ],
)
def test_ways_to_write_annotations(own: Path, line: str, stretch: Stretch) -> None:
    (own / "annotations" / "S01A1.txt").write_text(f"# head\nname first last\n{line}\n\n")
    data = read_dahlia(own)
    assert data.sequences[0].stretches == (stretch,)
    assert data.faults == ()


def test_bad_lines_are_told_with_file_and_line_and_passed_over(own: Path) -> None:
    labels = own / "annotations" / "S01A1.txt"
    labels.write_text(labels.read_text() + "dancing 1 2\ncooking 9 3\n")
    skeletons = own / "skeletons" / "S01A1K1.txt"
    good = skeletons.read_text().splitlines()
    skeletons.write_text("\n".join([*good[:40], "40 1 2 3", "41 " + "nan " * 75, "42 " + "0 " * 75, *good[43:]]))
    data = read_dahlia(own)
    assert sum("S01A1.txt:8: 'dancing 1 2'" in fault for fault in data.faults) == 3, "once for each view"
    assert any("S01A1.txt:9: 'cooking 9 3'" in fault for fault in data.faults)
    faults: list[str] = []
    frames = [frame for frame, _, _ in frames_of(data.sequences[0], faults)]
    assert 40 not in frames
    assert len(frames) > 500
    assert faults == [f"{skeletons}:41: 4 columns; expected a frame and 25 joints"]


def test_of_several_bodies_the_nearest_counts(own: Path) -> None:
    path = own / "skeletons" / "S01A1K1.txt"
    lines = path.read_text().splitlines()
    far = []
    for line in lines[:100]:
        frame, *values = line.split()
        behind = np.array(values, float).reshape(25, 3) + np.array([0, 0, 4])
        far += [f"{frame} " + " ".join(map(str, behind.ravel())), line]
    path.write_text("\n".join(far))
    found = [joints for _, _, joints in frames_of(read_dahlia(own).sequences[0])]
    assert len(found) == 20
    assert max(joints[0, 2] for joints in found) < 6


def test_folders_that_are_not_it(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="there is no folder"):
        read_dahlia(tmp_path / "absent")
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(RequestError, match=r"skeletons/S01A1K1.txt"):
        read_dahlia(tmp_path)
    (tmp_path / "skel_S01A1K1.txt").write_text("")
    with pytest.raises(RequestError, match="no annotations for S01A1K1"):
        read_dahlia(tmp_path)


def test_the_measures_by_hand() -> None:
    right = ["cooking"] * 6 + ["eating"] * 2 + [NEUTRAL] * 2
    said = ["cooking"] * 3 + ["eating"] * 3 + ["eating"] * 2 + ["cooking", NEUTRAL]
    found = frame_measures(right, said)
    assert found.accuracy == pytest.approx(5 / 8)
    assert found.f_score == pytest.approx((2 * 3 / (6 + 4) + 2 * 2 / (2 + 5)) / 2)
    assert found.iou == pytest.approx((3 / 7 + 2 / 5) / 2)
    assert frame_measures(right, right) == frame_measures(right, right)
    perfect = frame_measures(right, right)
    assert (perfect.accuracy, perfect.f_score, perfect.iou) == (1.0, 1.0, 1.0)
    nothing = frame_measures(right, [NEUTRAL] * 10)
    assert (nothing.accuracy, nothing.f_score, nothing.iou) == (0.0, 0.0, 0.0)
    assert frame_measures([], []).iou == 0.0
    with pytest.raises(ValueError, match="same frames"):
        frame_measures(right, said[:-1])


def test_stretches_become_labels() -> None:
    found = [Activity("eating", 2, 4, 0.9), Activity("cooking", 0, 1, 0.9)]
    assert labels_on_grid(found, [0, 0.9, 1, 2, 3.9, 4]) == ["cooking", "cooking", NEUTRAL, "eating", "eating", NEUTRAL]


@pytest.fixture(scope="session")
def one_view(sample: Path) -> Dahlia:
    return read_dahlia(sample, (2,))


def test_training_tells_subjects_it_did_not_see_better_than_the_floor(one_view: Dahlia) -> None:
    done = train(one_view)
    assert done.held_out == (3,)
    assert done.measured.accuracy > done.floor.accuracy + 0.2
    assert set(done.weights.names) >= set(ACTIVITIES)
    assert done.weights.window_s == 8.0
    assert done.measured.n_frames == sum(sum(row.values()) for row in done.measured.confusion.values())


def test_nobody_left_to_train_or_measure_on(one_view: Dahlia) -> None:
    for held_out in ((1, 2, 3), (9,)):
        with pytest.raises(RequestError, match="subjects on both sides"):
            train(one_view, held_out)
