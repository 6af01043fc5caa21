"""Recognise activities (stand, sit, walk, wave, reach, lie, and falls) from a person's body poses over time.

Poses are scaled by the size of the torso; windows of some seconds are described by twenty numbers (posture, and how
hips, ankles and wrists move). These and their products are weighted linearly (weights that
`hearth_video.footage.activities` also learns from the owner's examples); the likeliest sequence of activities is cut
into stretches. A fall is no posture but a quick change to lying.

Covered: gaps, moments without a pose (a box that moves is walking, else nothing is reported), people cut off at the
edge, two or ten pictures a second, times that stand still. Not covered: what hands hold or do; cooking, eating and the
like, unless weights trained on them are given; sitting seen from straight ahead or above, which often looks like
standing; absence, which is left to the caller.
"""

from __future__ import annotations

import importlib.resources
import itertools
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from hearth.errors import StoreCorruptError
from hearth.protocols import ExpertCard
from hearth_video.experts.expert_values import POSE_POINTS, Activity, Moment, Movement

Floats = NDArray[np.float64]

FALL = "fall"
NEUTRAL = "neutral"
"""Label of household weights for time in which none of their activities is done."""
N_VALUES = 20
"""Number of values that describe a window."""
N_FEATURES = 1 + N_VALUES + N_VALUES * (N_VALUES + 1) // 2
"""Number of weighted features: one, the values, their products."""
_UNIT = 4096
"""Approximate length of a row of features. They are whole numbers, so that learning can be undone exactly."""
_FURTHEST = 3.0
"""Limit of values, in standard deviations."""
_HOP_S = 0.5
_FEWEST_POSES = 2
_SPARSE = 0.34
"""Share of a window's moments that need a pose."""
_STAYS = 0.97
"""Probability that an activity goes on from one window to the next."""
_HOUSEHOLD_SURE = 0.5
_SHORTEST_S = 0.75
_WALKS = 0.3
"""Without poses: a box that moves faster than this, in its heights a second, is somebody walking."""
_BOX_ONLY_SCORE = 0.6
_LYING, _UPRIGHT = 0.5, 0.75
_FALL_S = 1.6
"""Longest duration of a fall; at two pictures a second it lies between two of them."""
_STAYS_DOWN_S = 1.5
_FALL_DROP = 0.7
"""Least distance that the hips come down in a fall, in lengths of the torso."""

_INDEX = {name: place for place, name in enumerate(POSE_POINTS)}
_SHOULDERS, _ELBOWS, _WRISTS, _HIPS, _KNEES, _ANKLES = (
    [_INDEX[f"left_{part}"], _INDEX[f"right_{part}"]] for part in ("shoulder", "elbow", "wrist", "hip", "knee", "ankle")
)
_NOSE = _INDEX["nose"]
_BODY = [_NOSE, *_SHOULDERS, *_WRISTS, *_HIPS, *_KNEES, *_ANKLES]


# ── Weights ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """The weights of the activity classifier: a linear map of features, and how its outputs become probabilities."""

    names: tuple[str, ...]
    middle: Floats
    spread: Floats
    """Standard deviations of the values of the training windows; this and `middle` have shape [N_VALUES]."""
    linear: NDArray[np.float32]
    """Shape [N_FEATURES, n_names]."""
    sharpness: float
    """Factor on the outputs; their exponentials are then proportional to the probabilities."""
    window_s: float = 2.0

    def chances(self, values: Floats) -> Floats:
        """Return the probability of each name for each window, shape [n, n_names]."""
        outputs = features(values, self.middle, self.spread) @ self.linear * self.sharpness
        outputs = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        return np.asarray(outputs / outputs.sum(axis=1, keepdims=True), dtype=np.float64)


def save_weights(weights: Weights, file: Path) -> None:
    """Write weights to a file. Raises: OSError."""
    header = {"names": weights.names, "sharpness": weights.sharpness, "window_s": weights.window_s}
    with file.open("wb") as out:
        np.savez_compressed(
            out,
            header=np.frombuffer(json.dumps(header).encode(), np.uint8),
            middle=weights.middle,
            spread=weights.spread,
            linear=weights.linear,
        )


def load_weights(file: Path) -> Weights:
    """Read weights from a file. Raises: StoreCorruptError: Not such a file. OSError."""
    with file.open("rb") as opened:
        return _read_weights(opened)


def _read_weights(file: IO[bytes]) -> Weights:
    try:
        with np.load(file, allow_pickle=False) as held:
            header = json.loads(held["header"].tobytes())
            found = Weights(
                tuple(header["names"]),
                np.asarray(held["middle"], np.float64),
                np.asarray(held["spread"], np.float64),
                np.asarray(held["linear"], np.float32),
                float(header["sharpness"]),
                float(header["window_s"]),
            )
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise StoreCorruptError(f"the weights for activities are damaged ({error}); train them anew") from None
    if found.middle.shape != (N_VALUES,) or found.linear.shape != (N_FEATURES, len(found.names)):
        raise StoreCorruptError("the weights for activities are of another version of Hearth; train them anew")
    return found


def shipped_weights() -> Weights:
    with importlib.resources.files("hearth_video").joinpath("data").joinpath("activity.npz").open("rb") as file:
        return _read_weights(file)


def features(values: Floats, middle: Floats, spread: Floats) -> Floats:
    """Return features as whole numbers, shape [n, N_FEATURES]: one, the standardised values, their products."""
    rows = np.clip((values - middle) / spread, -_FURTHEST, _FURTHEST)
    left, right = np.triu_indices(N_VALUES)
    whole = np.concatenate([np.ones((len(rows), 1)), rows, rows[:, left] * rows[:, right] / 2], axis=1)
    return np.asarray(np.rint(whole * (_UNIT / np.sqrt(N_FEATURES))), dtype=np.float64)


# ── Windows ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """A movement cut into overlapping windows."""

    middles_s: Floats
    """Shape [n]."""
    values: Floats
    """Shape [n, N_VALUES]; NaN where too few poses were seen."""
    box_speeds: Floats
    """Speeds of the box, in its heights a second, shape [n]."""

    @property
    def told(self) -> NDArray[np.bool_]:
        return np.asarray(np.isfinite(self.values).all(axis=1), dtype=np.bool_)


def windows(movement: Movement, window_s: float) -> Windows:
    """Cut a movement into windows every half second; at least one, if there are two moments."""
    moments = _in_order(movement.moments)
    if len(moments) < 2:
        return Windows(np.zeros(0), np.zeros((0, N_VALUES)), np.zeros(0))
    times = np.array([moment.at_s for moment in moments])
    n = max(1, int((times[-1] - times[0]) / _HOP_S) + 1)
    middles = times[0] + _HOP_S * np.arange(n)
    values, speeds, kept = [], [], []
    for middle in middles:
        first = int(np.searchsorted(times, middle - window_s / 2 - 1e-6))
        last = int(np.searchsorted(times, middle + window_s / 2 + 1e-6))
        inside = moments[first:last]
        if len(inside) < 2:
            continue
        posed = [moment for moment in inside if moment.pose is not None]
        is_told = len(posed) >= _FEWEST_POSES and len(posed) >= _SPARSE * len(inside)
        values.append(described(posed) if is_told else np.full(N_VALUES, np.nan))
        speeds.append(_box_speed(inside))
        kept.append(middle)
    return Windows(np.array(kept), np.array(values).reshape(-1, N_VALUES), np.array(speeds))


def _in_order(moments: Sequence[Moment]) -> list[Moment]:
    """Sort moments by time, keeping one for each time."""
    return list({moment.at_s: moment for moment in sorted(moments, key=lambda moment: moment.at_s)}.values())


def described(moments: Sequence[Moment]) -> Floats:
    """Return the twenty numbers of a window whose moments all have a pose. The unit of length is the torso."""
    points = np.stack([moment.pose.points for moment in moments if moment.pose is not None]).astype(np.float64)
    times = np.array([moment.at_s for moment in moments])
    boxes = np.array([(m.box.width, m.box.height) for m in moments])
    place, seen = points[:, :, :2], points[:, :, 3]
    shoulders, hips = place[:, _SHOULDERS].mean(axis=1), place[:, _HIPS].mean(axis=1)
    torso = hips - shoulders
    across = np.linalg.norm(place[:, _SHOULDERS[0]] - place[:, _SHOULDERS[1]], axis=1)
    length = max(float(np.percentile(np.maximum(np.hypot(*torso.T), 1.25 * across), 80)), 2.0)
    place, shoulders, hips = place / length, shoulders / length, hips / length
    legs_down = place[:, _KNEES, 1] - place[:, _HIPS, 1]
    arms = place[:, _WRISTS] - place[:, _SHOULDERS]
    body = place[:, _BODY]
    extent = np.maximum(np.ptp(body, axis=1), 0.05)
    raised = -arms[:, :, 1]
    high = int(np.argmax(raised.mean(axis=0)))
    duration = max(float(times[-1] - times[0]), 0.1)
    steps = np.maximum(np.diff(times), 0.05)
    ankles = place[:, _ANKLES[0]] - place[:, _ANKLES[1]]
    hand = arms[:, high]
    upright = torso[:, 1] / np.maximum(np.hypot(*torso.T), 1e-6)
    return np.array(
        [
            upright.mean(),
            legs_down.mean(),
            (place[:, _ANKLES, 1] - place[:, _KNEES, 1]).mean(),
            (hips[:, 1] - place[:, _NOSE, 1]).mean(),
            np.log(np.maximum(boxes[:, 1], 1) / np.maximum(boxes[:, 0], 1)).mean(),
            raised.max(axis=1).mean(),
            np.abs(arms[:, :, 0]).max(axis=1).mean(),
            np.linalg.norm(arms, axis=2).max(axis=1).mean(),
            _bend(place, _HIPS, _KNEES, _ANKLES).mean(),
            seen[:, _KNEES + _ANKLES].mean(),
            np.log(extent[:, 1] / extent[:, 0]).mean(),
            np.median(np.hypot(*np.diff(hips, axis=0).T) / steps),
            float(np.hypot(*(hips[-1] - hips[0]))) / duration,
            abs(float(np.log(max(boxes[-1, 1], 1) / max(boxes[0, 1], 1)))) / duration,
            float(ankles.std(axis=0).sum()),
            float(hand.std(axis=0).sum()),
            float(arms[:, 1 - high].std(axis=0).sum()),
            np.median(np.hypot(*np.diff(hand, axis=0).T) / steps),
            float(hips[:, 1].std()),
            _bend(place, _SHOULDERS, _ELBOWS, _WRISTS)[:, high].mean(),
        ]
    )


def _bend(place: Floats, near: list[int], joint: list[int], far: list[int]) -> Floats:
    """Return the cosine of the angle at a joint, left and right: -1 straight, 1 folded; shape [n, 2]."""
    one, other = place[:, near] - place[:, joint], place[:, far] - place[:, joint]
    lengths = np.linalg.norm(one, axis=2) * np.linalg.norm(other, axis=2)
    return np.asarray((one * other).sum(axis=2) / np.maximum(lengths, 1e-6), dtype=np.float64)


def _box_speed(moments: Sequence[Moment]) -> float:
    middles = np.array([((m.box.left + m.box.right) / 2, m.box.bottom) for m in moments])
    height = max(float(np.median([m.box.height for m in moments])), 1.0)
    steps = np.maximum(np.diff([m.at_s for m in moments]), 0.05)
    return float(np.median(np.abs(np.diff(middles[:, 0])) / steps)) / height


# ── The expert ────────────────────────────────────────────────────────────────────────────────────────────


class ActivityExpert:
    """Recognises what one person does over time."""

    card = ExpertCard(
        name="activity",
        takes="a Movement: one person's boxes and poses through time, at least two moments; measured for a minute",
        gives="an Activity for each stretch: its name, from when to when, the chance that it is right; in order",
        extra="",
        cpu_ms=50.0,
        memory_bytes=2_000_000,
        cannot=(
            "It tells stand, sit, walk, wave, reach, lie and fall, and nothing that needs seeing what hands hold.",
            "Its shipped weights were learnt from a drawn body with made-up noise, not from filmed people.",
            "It takes sitting for standing where legs are hidden or the camera looks from above or straight ahead.",
            "It does not see a fall that happens out of view, or slower than two seconds.",
            "It tells cooking, eating and the like only with weights trained on DAHLIA or the owner's own clips.",
        ),
    )

    def __init__(self, weights: Weights | None = None, household: Weights | None = None) -> None:
        """
        Args:
            weights: Learnt weights; None: those that are shipped.
            household: Weights for longer windows: cooking, eating and the like. Sure ones take precedence.
        """
        self._weights = weights
        self._household = household

    def look(self, given: Movement) -> tuple[Activity, ...]:
        """Return stretches of one activity, in order, without overlaps except for falls; none where too little was
        seen."""
        if self._weights is None:
            self._weights = shipped_weights()
        moments = _in_order(given.moments)
        found = told(given, self._weights)
        if self._household is not None:
            sure = [
                one
                for one in told(given, self._household)
                if one.name not in ("", NEUTRAL) and one.score >= _HOUSEHOLD_SURE
            ]
            found = [*_outside(found, sure), *sure]
        falls = _falls(moments, given.frame_width)
        return tuple(sorted([*found, *falls], key=lambda one: (one.start_s, one.end_s)))


def told(given: Movement, weights: Weights) -> list[Activity]:
    """Return the stretches that one set of weights finds."""
    cut = windows(given, weights.window_s)
    if not len(cut.middles_s):
        return []
    names = weights.names
    chances = np.full((len(cut.middles_s), len(names)), 1 / len(names))
    chances[cut.told] = weights.chances(cut.values[cut.told])
    said: list[str] = []
    scores: list[float] = []
    for part in _runs(cut.told, cut.middles_s):
        if cut.told[part.start]:
            path = _likeliest(chances[part])
            said += [names[k] for k in path]
            scores += [float(chances[row, k]) for row, k in zip(range(part.start, part.stop), path)]
        else:
            moves = ["walk" if speed > _WALKS and "walk" in names else "" for speed in cut.box_speeds[part]]
            said += moves
            scores += [_BOX_ONLY_SCORE] * len(moves)
    times = [moment.at_s for moment in given.moments]
    return _stretches(cut.middles_s, said, scores, min(times), max(times))


def _outside(found: Sequence[Activity], others: Sequence[Activity]) -> list[Activity]:
    """Return the parts of stretches outside the others."""
    left = list(found)
    for other in others:
        parts = [
            part
            for one in left
            for part in (
                replace(one, end_s=min(one.end_s, other.start_s)),
                replace(one, start_s=max(one.start_s, other.end_s)),
            )
            if part.end_s - part.start_s > 0
        ]
        left = [*dict.fromkeys(parts)]
    return left


def _runs(told: NDArray[np.bool_], middles_s: Floats) -> list[slice]:
    """Return runs of consecutive windows that are all told, or all not."""
    breaks = (np.diff(told.astype(int)) != 0) | (np.diff(middles_s) > 4 * _HOP_S)
    edges = [0, *(np.flatnonzero(breaks) + 1).tolist(), len(told)]
    return [slice(start, stop) for start, stop in itertools.pairwise(edges)]


def _likeliest(chances: Floats) -> list[int]:
    """Return the likeliest sequence, given that activities last (Viterbi 1967)."""
    n = chances.shape[1]
    if n == 1:
        return [0] * len(chances)
    logs = np.log(np.maximum(chances, 1e-6))
    stay, leave = np.log(_STAYS), np.log((1 - _STAYS) / (n - 1))
    best, came = logs[0], []
    for row in logs[1:]:
        other = int(np.argmax(best))
        moved = best[other] + leave
        stays = best + stay >= moved
        came.append(np.where(stays, np.arange(n), other))
        best = np.where(stays, best + stay, moved) + row
    path = [int(np.argmax(best))]
    for step in reversed(came):
        path.append(int(step[path[-1]]))
    return path[::-1]


def _stretches(
    middles_s: Floats, said: Sequence[str], scores: Sequence[float], start_s: float, end_s: float
) -> list[Activity]:
    found: list[Activity] = []
    row = 0
    while row < len(said):
        stop = row
        while stop < len(said) and said[stop] == said[row] and (stop == row or _follows(middles_s, stop)):
            stop += 1
        begins = start_s if row == 0 else float(middles_s[row]) - _HOP_S / 2
        ends = end_s if stop == len(said) else float(middles_s[stop - 1]) + _HOP_S / 2
        if said[row] and ends - begins >= min(_SHORTEST_S, end_s - start_s):
            found.append(Activity(said[row], begins, ends, float(np.mean(scores[row:stop]))))
        row = stop
    return found


def _follows(middles_s: Floats, row: int) -> bool:
    return bool(middles_s[row] - middles_s[row - 1] <= 4 * _HOP_S)


def _falls(moments: Sequence[Moment], frame_width: int) -> list[Activity]:
    """Find falls: upright, then within a moment lying, with the hips lower, and still lying a second later.

    A person cut off by a side of the picture is leaving: the visible rest of them looks like lying.
    """
    rows = [
        (m.at_s, *_stance(m))
        for m in moments
        if m.pose is not None and m.box.left > 0.01 * frame_width and m.box.right < 0.99 * frame_width
    ]
    found: list[Activity] = []
    for place, (at_s, upright, hips, length) in enumerate(rows):
        if upright < _UPRIGHT or (found and at_s < found[-1].end_s):
            continue
        down = next((k for k in range(place + 1, len(rows)) if rows[k][1] < _LYING), None)
        if down is None or rows[down][0] - at_s > _FALL_S:
            continue
        after = [row for row in rows[down:] if row[0] <= rows[down][0] + _STAYS_DOWN_S]
        dropped = (max(row[2] for row in after) - hips) / length
        stays = after[-1][0] - after[0][0] >= 0.6 * _STAYS_DOWN_S
        if stays and dropped >= _FALL_DROP and all(row[1] < _UPRIGHT for row in after):
            found.append(Activity(FALL, at_s, rows[down][0], min(0.95, 0.5 + 0.2 * dropped)))
    return found


def _stance(moment: Moment) -> tuple[float, float, float]:
    """Return how upright the torso is, how far down the hips are in the picture, and the torso's length in pixels."""
    assert moment.pose is not None
    points = moment.pose.points
    x, y = points[_HIPS, :2].mean(axis=0) - points[_SHOULDERS, :2].mean(axis=0)
    across = float(np.linalg.norm(points[_SHOULDERS[0], :2] - points[_SHOULDERS[1], :2]))
    length = max(float(np.hypot(x, y)), 1.25 * across, 2.0)
    return float(y) / max(float(np.hypot(x, y)), 1e-6), float(points[_HIPS, 1].mean()), length
