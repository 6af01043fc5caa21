"""The DAHLIA data set of daily life at home: reader, its measures, training, and a small sample in its layout.

The data set (Vaquette et al. 2017, "The DAily Home LIfe Activity Dataset", FG 2017; from CEA on request) has 51
sequences of about 39 minutes by 44 people, each filmed by three Kinect v2 (K1, K2, K3), with seven activities and
neutral time between. It is not shipped and never fetched: its folder is the caller's.

The arrangement of files inside that folder is not documented publicly. So files are found by name, at any depth: a
sequence is `S<subject>A<take>K<view>` in a file's path (`S02A1K3`), its skeletons are in the text file whose path says
`skel` or `joint`, its activities in the one whose path says `annot`, `label` or `ground`; annotations without a view
hold for all three.

* A line of skeletons is a frame: its number, perhaps its time, and 25 joints of three numbers (metres, in the order of
  the Kinect for Windows SDK 2.0) or of four (the last one says how sure). No body: no line, or zeros. Lines may come
  several bodies to a frame: the nearest one counts.
* A line of annotations is an activity's name (or its number, 1 to 7 as in `DAHLIA`) with its first and last frame, in
  any order of columns, separated by blanks, commas or semicolons. What is between is neutral. Lines that begin with
  `#` or hold no numbers are skipped.

Covered: several encodings of the same, bad lines (reported with file and line), sequences without skeletons or labels.
Not covered: videos and depth maps of the set (skeletons are what is learnt from); any layout that does not name
sequences so: such files must be renamed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth.errors import RequestError
from hearth_video.experts.activity import NEUTRAL, Weights, told, windows
from hearth_video.experts.expert_values import POSE_POINTS, Activity, Box, Moment, Movement, Pose
from hearth_video.footage.activities import Windowed, trained
from hearth_video.train.drawn_body import PARTS, acted, subject

ACTIVITIES = (*("cooking", "laying table", "eating", "clearing table", "washing dishes", "housework", "working"),)
"""DAHLIA's seven activities, by their numbers from 1."""
WINDOW_S = 8.0
FRAMES_PER_S = 15.0
"""Frame rate of the skeletons, where lines hold no time."""
USED_PER_S = 3.0
"""Number of frames used per second."""
_HOP_S = 0.5
_FOCAL_PX, _WIDTH, _HEIGHT = 1081.0, 1920, 1080
"""Parameters of the Kinect v2's colour camera."""
_SEQUENCE = re.compile(r"s(\d{1,3})[ _-]?a(\d{1,2})[ _-]?k(\d)", re.IGNORECASE)
_TAKE = re.compile(r"s(\d{1,3})[ _-]?a(\d{1,2})(?![ _-]?\d)", re.IGNORECASE)
_SPLIT = re.compile(r"[\s,;]+")
_TEXT = (".txt", ".csv", ".skel", ".dat")

# Kinect v2's joints for BlazePose's points; points without one take the nearest.
_JOINTS: dict[str, int] = {
    "nose": 3,
    **{f"left_{part}": joint for part, joint in (("shoulder", 4), ("elbow", 5), ("wrist", 6), ("pinky", 7))},
    **{f"left_{part}": joint for part, joint in (("index", 21), ("thumb", 22), ("hip", 12), ("knee", 13))},
    **{f"left_{part}": joint for part, joint in (("ankle", 14), ("heel", 14), ("foot_index", 15))},
    **{f"right_{part}": joint for part, joint in (("shoulder", 8), ("elbow", 9), ("wrist", 10), ("pinky", 11))},
    **{f"right_{part}": joint for part, joint in (("index", 23), ("thumb", 24), ("hip", 16), ("knee", 17))},
    **{f"right_{part}": joint for part, joint in (("ankle", 18), ("heel", 18), ("foot_index", 19))},
}
_JOINT_OF_POINT = [_JOINTS.get(name, 3) for name in POSE_POINTS]
_N_JOINTS = 25
_COLUMNS = {76: (1, 3), 77: (2, 3), 101: (1, 4), 102: (2, 4)}
"""Columns in a line of skeletons: how many come before the joints, and how many each joint has."""


# ── Reading ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Stretch:
    """An activity with its frames, the last one included."""

    name: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Take:
    """One take of one person by one camera."""

    subject: int
    take: int
    view: int
    skeletons: Path
    stretches: tuple[Stretch, ...]

    @property
    def name(self) -> str:
        return f"S{self.subject:02d}A{self.take}K{self.view}"


@dataclass(frozen=True, slots=True)
class Dahlia:
    """The sequences found in a folder."""

    sequences: tuple[Take, ...]
    faults: tuple[str, ...] = ()
    """Lines and files that were skipped, each with its reason."""


def read_dahlia(folder: Path, views: Sequence[int] = (1, 2, 3)) -> Dahlia:
    """Find sequences with skeletons and annotations.

    Raises:
        RequestError: No such folder, or no sequence with both in it; says what was looked for.
    """
    if not folder.is_dir():
        raise RequestError(f"there is no folder {str(folder)!r}; give DAHLIA's own")
    faults: list[str] = []
    skeletons: dict[tuple[int, int, int], Path] = {}
    labels: dict[tuple[int, int, int], Path] = {}
    for path in sorted(path for path in folder.rglob("*") if path.suffix.lower() in _TEXT and path.is_file()):
        said = str(path.relative_to(folder)).lower()
        key = _key(said)
        if key is None:
            continue
        if any(word in said for word in ("annot", "label", "ground")):
            labels[key] = path
        elif any(word in said for word in ("skel", "joint")):
            skeletons[key] = path
    found = []
    for key, path in sorted(skeletons.items()):
        person, take, view = key
        label = labels.get(key) or labels.get((person, take, 0))
        if view not in views:
            continue
        if label is None:
            faults.append(f"{path}: no annotations for S{person:02d}A{take}K{view}; skipped")
            continue
        stretches = _read_stretches(label, faults)
        if stretches:
            found.append(Take(person, take, view, path, stretches))
    if not found:
        why = f"; the first fault: {faults[0]}" if faults else ""
        raise RequestError(
            f"{str(folder)!r} holds no sequence of DAHLIA: text files named like 'skeletons/S01A1K1.txt' and "
            f"'annotations/S01A1.txt' are looked for at any depth{why}"
        )
    return Dahlia(tuple(found), tuple(faults))


def _key(said: str) -> tuple[int, int, int] | None:
    match = list(_SEQUENCE.finditer(said))
    if match:
        return int(match[-1][1]), int(match[-1][2]), int(match[-1][3])
    take = list(_TAKE.finditer(said))
    return (int(take[-1][1]), int(take[-1][2]), 0) if take else None


def _read_stretches(path: Path, faults: list[str]) -> tuple[Stretch, ...]:
    found = []
    for number, line in enumerate(_lines(path), 1):
        if not line.strip() or line.startswith("#") or not re.search(r"\d", line):
            continue
        numbers = [int(float(one)) for one in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", line)]
        words = " ".join(re.findall(r"[a-z]+", line.lower().replace("_", " ")))
        name = next((one for one in (*ACTIVITIES, NEUTRAL) if one.replace(" ", "") in words.replace(" ", "")), "")
        if not name and len(numbers) >= 3 and 0 <= numbers[0] <= len(ACTIVITIES) + 1:
            name = (NEUTRAL, *ACTIVITIES, NEUTRAL)[numbers[0]]
            numbers = numbers[1:]
        if not name or len(numbers) < 2 or numbers[0] > numbers[1]:
            faults.append(f"{path}:{number}: {line.strip()[:60]!r} is no activity with its first and last frame")
            continue
        found.append(Stretch(name, numbers[0], numbers[1]))
    return tuple(sorted(found, key=lambda one: one.first))


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", errors="replace") as file:
        yield from file


def frames_of(sequence: Take, faults: list[str] | None = None) -> Iterator[tuple[int, float, NDArray[np.float64]]]:
    """Yield frame, seconds and joints [25, 3] of the nearest body, `USED_PER_S` a second, in constant memory."""
    held: tuple[int, float, NDArray[np.float64]] | None = None
    next_s = -1e9
    for number, line in enumerate(_lines(sequence.skeletons), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part for part in _SPLIT.split(line.strip()) if part]
        try:
            row = _row(parts)
        except ValueError:
            if number > 1 and faults is not None:  # the first line may be a header
                faults.append(f"{sequence.skeletons}:{number}: {len(parts)} columns; expected a frame and 25 joints")
            continue
        if row is None:
            continue
        if held is not None and row[0] != held[0]:
            yield held
            held = None
        if held is None:
            if row[1] < next_s:
                continue
            next_s = row[1] + 1 / USED_PER_S - 1e-6
            held = row
        elif row[2][0, 2] < held[2][0, 2]:
            held = row
    if held is not None:
        yield held


def _row(parts: Sequence[str]) -> tuple[int, float, NDArray[np.float64]] | None:
    """Parse a line of skeletons; None if it has no body. Raises: ValueError."""
    if len(parts) not in _COLUMNS:
        raise ValueError("columns")
    n_head, n_each = _COLUMNS[len(parts)]
    values = np.array(parts, dtype=np.float64)
    joints = values[n_head:].reshape(_N_JOINTS, n_each)[:, :3]
    frame = int(values[0])
    at_s = frame / FRAMES_PER_S
    if not np.isfinite(joints).all() or not joints.any() or joints[0, 2] < 0.1:
        return None
    return frame, at_s, joints


def movement_of(sequence: Take, faults: list[str] | None = None) -> tuple[Movement, NDArray[np.int64]]:
    """Return a sequence in the activity expert's form, and the frame number of each moment."""
    moments, numbers = [], []
    for number, at_s, joints in frames_of(sequence, faults):
        moments.append(_moment(at_s, joints))
        numbers.append(number)
    return Movement(tuple(moments), _WIDTH, _HEIGHT, "kitchen"), np.array(numbers, np.int64)


def _moment(at_s: float, joints: NDArray[np.float64]) -> Moment:
    """Project joints into the colour camera: 33 points and the box around them."""
    depth = np.maximum(joints[:, 2], 0.3)
    x = _WIDTH / 2 + _FOCAL_PX * joints[:, 0] / depth
    y = _HEIGHT / 2 - _FOCAL_PX * joints[:, 1] / depth
    points = np.ones((len(POSE_POINTS), 4), np.float32)
    points[:, 0], points[:, 1] = x[_JOINT_OF_POINT], y[_JOINT_OF_POINT]
    points[:, 2] = (joints[_JOINT_OF_POINT, 2] - joints[0, 2]) * _FOCAL_PX / depth[0]
    margin = 0.07 * float(np.ptp(y))
    box = Box(x.min() - margin, y.min() - margin, x.max() + margin, y.max() + margin)
    return Moment(at_s, box, Pose(points))


def name_at(sequence: Take, frame: int) -> str:
    """Return the activity in a frame."""
    return next((one.name for one in sequence.stretches if one.first <= frame <= one.last), NEUTRAL)


# ── Learning and measuring ────────────────────────────────────────────────────────────────────────────────


def windows_of(sequences: Sequence[Take], faults: list[str] | None = None) -> Windowed:
    """Cut sequences into windows of eight seconds, each of a single activity."""
    values, names, who = [], [], []
    for sequence in sequences:
        movement, _ = movement_of(sequence, faults)
        cut = windows(movement, WINDOW_S)
        for middle_s, row in zip(cut.middles_s[cut.told][::2], cut.values[cut.told][::2]):
            ends = [
                name_at(sequence, round((middle_s + shift) * FRAMES_PER_S)) for shift in (-WINDOW_S / 4, WINDOW_S / 4)
            ]
            if ends[0] == ends[1]:
                values.append(row)
                names.append(ends[0])
                who.append(sequence.subject)
    if not values:
        raise RequestError("no sequence shows a body for some seconds; are these skeletons?")
    return Windowed(np.array(values), tuple(names), tuple(who))


@dataclass(frozen=True, slots=True)
class Measured:
    """DAHLIA's measures over frames, with the counts they come from.

    Source: as named in Vaquette et al. 2017: frame-wise accuracy, F-score and intersection over union, the latter two
    as means over the activities.
    """

    accuracy: float
    f_score: float
    iou: float
    n_frames: int
    confusion: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


def frame_measures(right: Sequence[str], said: Sequence[str], names: Sequence[str] = ACTIVITIES) -> Measured:
    """Measure over the frames in which one of `names` is done or said; neutral counts as a miss or a false alarm, not
    as a class.

    * accuracy: share of the frames of activities that are recognised correctly;
    * F-score: mean over the activities of 2PR / (P + R);
    * IoU: mean over the activities of true positives / (true positives + false ones + misses).
    An activity that is neither done nor said is left out of the means.
    """
    if len(right) != len(said):
        raise ValueError(f"{len(right)} frames are labelled and {len(said)} told; they must be the same frames")
    table: dict[str, dict[str, int]] = {}
    for one, other in zip(right, said):
        row = table.setdefault(one, {})
        row[other] = row.get(other, 0) + 1
    f_scores, ious = [], []
    hits = n_done = 0
    for name in names:
        done = sum(table.get(name, {}).values())
        told_so = sum(row.get(name, 0) for row in table.values())
        true = table.get(name, {}).get(name, 0)
        hits, n_done = hits + true, n_done + done
        if done + told_so:
            f_scores.append(2 * true / (done + told_so))
            ious.append(true / (done + told_so - true))
    mean_f, mean_iou = (float(np.mean(values)) if values else 0.0 for values in (f_scores, ious))
    return Measured(hits / n_done if n_done else 0.0, mean_f, mean_iou, len(right), table)


def labels_on_grid(found: Sequence[Activity], times_s: Sequence[float]) -> list[str]:
    """Return the label at each time; neutral where there is none."""
    said, place = [], 0
    ordered = sorted(found, key=lambda one: one.start_s)
    for at_s in times_s:
        while place < len(ordered) and ordered[place].end_s <= at_s:
            place += 1
        inside = place < len(ordered) and ordered[place].start_s <= at_s
        said.append(ordered[place].name if inside else NEUTRAL)
    return said


def evaluate(weights: Weights, sequences: Sequence[Take]) -> Measured:
    """Label frames by the expert's own smoothing, and compare with the annotations."""
    right: list[str] = []
    said: list[str] = []
    for sequence in sequences:
        movement, numbers = movement_of(sequence)
        found = told(movement, weights)
        right += [name_at(sequence, int(number)) for number in numbers]
        said += labels_on_grid(found, [moment.at_s for moment in movement.moments])
    return frame_measures(right, said)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Weights, and their measures from training on some subjects and testing on the others."""

    weights: Weights
    """The weights to keep, trained on all subjects."""
    held_out: tuple[int, ...]
    measured: Measured
    floor: Measured
    """Baseline: the most frequent activity for every frame."""
    n_windows: int
    faults: tuple[str, ...]


def train(data: Dahlia, held_out: Sequence[int] = ()) -> Outcome:
    """Train on some subjects and measure on the others, then train on all.

    Args:
        held_out: Subjects held out for the measurement; empty: every third.
    Raises:
        RequestError: Fewer than two subjects, or none is left to train on.
    """
    subjects = sorted({one.subject for one in data.sequences})
    outside = tuple(sorted(set(held_out) or set(subjects[2::3] or subjects[-1:])))
    inside = [one for one in data.sequences if one.subject not in outside]
    others = [one for one in data.sequences if one.subject in outside]
    if not inside or not others:
        raise RequestError(
            f"training needs subjects on both sides: {len(subjects)} found, held out {list(outside)}; "
            "give --held-out some of them, not all"
        )
    faults = list(data.faults)
    windowed = windows_of(inside, faults)
    _, weights = trained(windowed, WINDOW_S)
    measured = evaluate(weights, others)
    common = max(set(windowed.names) - {NEUTRAL} or {NEUTRAL}, key=windowed.names.count)
    right = [name for name, row in measured.confusion.items() for _ in range(sum(row.values()))]
    floor = frame_measures(right, [common] * len(right))
    everything = windows_of(data.sequences)
    _, kept = trained(everything, WINDOW_S)
    return Outcome(kept, outside, measured, floor, len(everything.names), tuple(faults))


# ── A sample ──────────────────────────────────────────────────────────────────────────────────────────────

_MADE_OF = {
    "cooking": ("stand", "reach"),
    "laying table": ("walk", "reach"),
    "eating": ("sit", "sit"),
    "clearing table": ("reach", "walk"),
    "washing dishes": ("stand", "stand"),
    "housework": ("walk", "wave"),
    "working": ("sit", "reach"),
}


def write_sample(folder: Path, *, seed: int = 0, n_subjects: int = 4, activity_s: float = 24.0) -> None:
    """Write a small data set in the layout that is read: a drawn body whose movements stand in for the seven
    activities.

    It shows that the path from files to weights works; it says nothing about how well real activities are recognised.
    """
    (folder / "skeletons").mkdir(parents=True, exist_ok=True)
    (folder / "annotations").mkdir(exist_ok=True)
    for number in range(1, n_subjects + 1):
        drawn = np.random.default_rng([seed, number])
        who = subject(drawn)
        times = np.arange(0, activity_s / 4, 1 / FRAMES_PER_S)
        bodies, lines, frame = [], [], 0
        for name in ACTIVITIES:
            parts = [acted(_MADE_OF[name][part % 2], who, times, drawn) for part in range(4)]
            n = sum(map(len, parts))
            lines.append(f"{name.replace(' ', '_')} {frame} {frame + n - 1}")
            bodies += parts
            frame += n
            bodies.append(acted("stand", who, times[:30], drawn))
            frame += len(times[:30])
        (folder / "annotations" / f"S{number:02d}A1.txt").write_text("\n".join(lines) + "\n")
        points = np.concatenate(bodies)
        for view in (1, 2, 3):
            _write_skeletons(folder / "skeletons" / f"S{number:02d}A1K{view}.txt", points, view)


_SAMPLE_JOINTS = {
    name: joint for name, joint in ((part, _JOINTS.get(part, 3)) for part in PARTS) if not name.endswith("ear")
}


def _write_skeletons(path: Path, points: NDArray[np.float64], view: int) -> None:
    angle = (view - 2) * 0.9
    cos, sin = np.cos(angle), np.sin(angle)
    joints = np.repeat(points.mean(axis=1, keepdims=True), _N_JOINTS, axis=1)
    for place, name in enumerate(PARTS):
        if name in _SAMPLE_JOINTS:
            joints[:, _SAMPLE_JOINTS[name]] = points[:, place]
    joints[:, 0] = (joints[:, 12] + joints[:, 16]) / 2
    x, y, z = joints[..., 0], joints[..., 1] - 1.4, joints[..., 2]
    seen = np.stack([cos * x + sin * z, y, 3.5 - (cos * z - sin * x)], axis=-1)
    with path.open("w") as file:
        for frame, row in enumerate(seen):
            file.write(f"{frame} " + " ".join(f"{value:.3f}" for value in row.ravel()) + "\n")
