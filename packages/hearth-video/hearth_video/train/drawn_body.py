"""Simulate a body that stands, sits, walks, waves, reaches and lies, seen by a camera. Activities are first learnt from
it, because no film of people may be shipped.

A subject has a height from child to tall adult, individual limb proportions and ways of moving; a camera has a height,
a distance and a view. Points get the errors of a landmark network: jitter in proportion to the body, drift that lasts,
left and right confused in profile, hidden points guessed with low visibility, frames without a pose.

Not covered: clothes, furniture (except for hidden legs), real muscles; movements of real people that were not thought
of.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearth_video.experts.expert_values import POSE_POINTS, Box, Moment, Movement, Pose

Floats = NDArray[np.float64]

ACTIVITIES = ("stand", "sit", "walk", "wave", "reach", "lie")
WIDTH, HEIGHT = 1280, 720
_INDEX = {name: place for place, name in enumerate(POSE_POINTS)}


@dataclass(frozen=True, slots=True)
class Subject:
    """A subject's proportions; lengths in metres."""

    height: float
    thigh: float
    shin: float
    torso: float
    neck: float
    upper_arm: float
    forearm: float
    shoulders: float
    hips: float
    pace: float
    """Steps a second when walking."""
    swing: float
    """Width of arm and leg movements, 1 is usual."""
    is_left_handed: bool


@dataclass(frozen=True, slots=True)
class Camera:
    up: float
    """Height above the floor, in metres."""
    away: float
    focal: float
    """Focal length in pixels."""
    facing: float
    """Direction that the subject faces: 0 towards the camera, in radians."""


_PROPORTIONS = (0.245, 0.246, 0.288, 0.13, 0.172, 0.157, 0.23, 0.15)
"""Shares of the height: thigh, shin, torso, neck and head, upper arm, forearm, shoulders, hips (Winter 2009, figure
4.1)."""


def subject(drawn: np.random.Generator) -> Subject:
    height = float(drawn.choice([drawn.uniform(1.05, 1.5), drawn.uniform(1.5, 1.95)], p=[0.2, 0.8]))
    thigh, shin, torso, neck, upper_arm, forearm, shoulders, hips = (
        float(part) for part in height * np.array(_PROPORTIONS) * drawn.normal(1, 0.06, len(_PROPORTIONS))
    )
    return Subject(
        height, thigh, shin, torso, neck, upper_arm, forearm, shoulders, hips,
        pace=float(drawn.uniform(1.4, 2.2)),
        swing=float(drawn.uniform(0.6, 1.3)),
        is_left_handed=bool(drawn.random() < 0.2),
    )  # fmt: skip


def camera(drawn: np.random.Generator) -> Camera:
    return Camera(
        up=float(drawn.uniform(0.9, 2.7)),
        away=float(drawn.uniform(2.2, 6.5)),
        focal=float(drawn.uniform(650, 1100)),
        facing=float(drawn.uniform(-math.pi, math.pi)),
    )


def movement(
    activity: str,
    who: Subject,
    eye: Camera,
    drawn: np.random.Generator,
    *,
    duration_s: float = 6.0,
    frames_per_s: float | None = None,
) -> Movement:
    """Return some seconds of one activity, as the pose expert would have seen them."""
    fps = frames_per_s if frames_per_s is not None else float(drawn.choice([2.0, 2.0, 3.0, 5.0, 10.0]))
    times = np.arange(0, duration_s, 1 / fps) + drawn.uniform(0, 0.02)
    return seen(times, acted(activity, who, times, drawn), eye, drawn)


def fall(who: Subject, eye: Camera, drawn: np.random.Generator, *, falls_s: float, fps: float) -> Movement:
    """Return standing, then down on the floor within `falls_s`, then lying; the fall begins after three seconds."""
    times = np.arange(0, 7.0, 1 / fps)
    upright, lying = acted("stand", who, times, drawn), acted("lie", who, times, drawn, on_floor=True)
    share = np.clip((times - 3.0) / falls_s, 0, 1)[:, None, None] ** 2
    return seen(times, upright * (1 - share) + lying * share, eye, drawn)


# ── Acting: points in metres, x to the subject's left, y up, z ahead; shape [n, 15, 3] ─────────────────────

PARTS = (
    *("nose", "left_shoulder", "right_shoulder", "left_elbow", "right_elbow", "left_wrist", "right_wrist"),
    *("left_hip", "right_hip", "left_knee", "right_knee", "left_ankle", "right_ankle", "left_ear", "right_ear"),
)
_N = {name: place for place, name in enumerate(PARTS)}


def acted(activity: str, who: Subject, times: Floats, drawn: np.random.Generator, *, on_floor: bool = False) -> Floats:
    """Return points of the body in metres: x to its left, y up, z ahead; shape [n, len(PARTS), 3]."""
    if activity == "lie":
        return _lying(who, times, drawn, on_floor)
    pose = activity
    if activity == "wave":
        pose = str(drawn.choice(["stand", "stand", "sit"]))
    elif activity == "reach":
        pose = str(drawn.choice(["stand", "stand", "stand", "sit"]))
    sways = _drift(times, drawn, 0.02)
    hips, lean, knees, ankles = _legs(pose, who, times, drawn)
    arms = _arms(activity, pose, who, times, drawn)
    if activity == "reach":
        lean = lean + arms[2] * drawn.uniform(0.0, 0.7)
    return _assembled(who, hips + sways, lean, (knees, ankles), (arms[0], arms[1]), drawn)


def _legs(pose: str, who: Subject, times: Floats, drawn: np.random.Generator) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the middle of the hips [n, 3], forward lean [n], directions of thighs and shins as angles ahead of down
    [n, 2]."""
    n = len(times)
    if pose == "sit":
        seat = drawn.uniform(0.75, 1.05)
        thighs = np.full((n, 2), math.pi / 2 - drawn.uniform(-0.15, 0.25)) + drawn.normal(0, 0.08, 2)
        shins = np.full((n, 2), drawn.uniform(-0.5, 0.45)) + drawn.normal(0, 0.15, 2)
        lean = drawn.uniform(-0.35, 0.45) + _drift(times, drawn, 0.06)[:, 0]
        hips = np.tile([0.0, who.shin * seat, 0.0], (n, 1))
        return hips, lean, thighs, shins
    if pose == "walk":
        phase = math.pi * who.pace * times + drawn.uniform(0, math.tau)
        swing = 0.42 * who.swing
        both = np.stack([phase, phase + math.pi], axis=1)
        thighs = swing * np.sin(both) + 0.05
        shins = thighs - np.maximum(0, 0.9 * who.swing * np.sin(both + 0.9)) * 0.9
        step = 2 * who.height * 0.245 * math.sin(swing) * 2
        speed = step * who.pace / 2
        turn = np.cumsum(np.full(n, drawn.normal(0, 0.25))) * float(np.median(np.diff(times)))
        ahead = np.cumsum(np.stack([np.sin(turn), np.zeros(n), np.cos(turn)], axis=1), axis=0)
        ahead *= speed * float(np.median(np.diff(times)))
        bob = 0.02 * np.abs(np.sin(phase))
        up = who.thigh + who.shin - 0.03 + bob
        hips = ahead - ahead.mean(axis=0) + np.stack([np.zeros(n), up, np.zeros(n)], axis=1)
        return hips, np.full(n, drawn.uniform(0.0, 0.15)), thighs, shins
    bent = abs(drawn.normal(0, 0.06))
    thighs = np.full((n, 2), bent) + drawn.normal(0, 0.06, 2)
    shins = thighs - 2 * bent
    shifts = _drift(times, drawn, 0.04)
    hips = np.tile([0.0, who.thigh + who.shin - 0.02, 0.0], (n, 1)) + shifts * [1, 0.1, 1]
    return hips, drawn.normal(0.03, 0.08) + np.zeros(n), thighs, shins


def _arms(
    activity: str, pose: str, who: Subject, times: Floats, drawn: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Return directions of upper arms and forearms [n, 2, 3] (left, right), and how far a reach has gone [n]."""
    n = len(times)
    upper, fore = np.zeros((n, 2, 3)), np.zeros((n, 2, 3))
    reached = np.zeros(n)
    kind = str(drawn.choice(["hang", "hold", "busy", "cross"], p=[0.45, 0.2, 0.25, 0.1]))
    for side, out in ((0, 1.0), (1, -1.0)):
        swing = np.zeros(n)
        if pose == "walk" and activity == "walk":
            phase = math.pi * who.pace * times + (math.pi if side == 0 else 0.0)
            amount = 0.45 * who.swing * (drawn.random() > 0.2)
            ahead = amount * np.sin(phase)
            kind = "hang" if drawn.random() < 0.75 else "hold"
            swing = ahead
        bent = {
            "hang": 0.15 if pose != "sit" else drawn.uniform(0.4, 1.3),
            "hold": drawn.uniform(1.2, 1.9),
            "busy": drawn.uniform(0.9, 1.7),
            "cross": 1.6,
        }[kind]
        raise_ = {"hang": 0.05, "hold": 0.2, "busy": 0.35, "cross": 0.25}[kind] + abs(drawn.normal(0, 0.08))
        restless = _drift(times, drawn, 0.25 if kind == "busy" else 0.04)
        up = raise_ + swing + restless[:, 0] * 0.5
        upper[:, side] = _direction(up, 0.12 * out)
        inwards = {"hang": 0.0, "hold": -0.3, "busy": -0.3, "cross": -0.9}[kind] * out
        fore[:, side] = _direction(up + bent + restless[:, 1] * 0.7, inwards + restless[:, 2])
    hand = 0 if who.is_left_handed != bool(drawn.random() < 0.2) else 1
    out = 1.0 if hand == 0 else -1.0
    if activity == "wave":
        rate = drawn.uniform(0.9, 2.6)
        amount = drawn.uniform(0.3, 0.8)
        wiggle = amount * np.sin(math.tau * rate * times + drawn.uniform(0, math.tau)) + drawn.normal(0, 0.05, n)
        high = drawn.uniform(0.7, 2.3)
        upper[:, hand] = _direction(np.full(n, high) * 0.6, out * high * 0.7)
        fore[:, hand] = _direction(np.full(n, math.pi - 0.15) + 0.0 * wiggle, out * 0.15 + wiggle)
        if drawn.random() < 0.3:  # with a straight arm
            upper[:, hand] = _direction(np.full(n, 2.6), out * 0.3 + 0.5 * wiggle)
            fore[:, hand] = _direction(np.full(n, 2.9), out * 0.2 + wiggle)
    elif activity == "reach":
        period, start = drawn.uniform(1.8, 5.0), drawn.uniform(0, 3)
        reached = np.clip(1.6 * np.sin(math.tau * (times + start) / period) + 0.9, 0, 1)
        angle = drawn.uniform(0.95, 2.7)
        goal = _direction(np.full(n, angle), drawn.uniform(-0.5, 0.9) * out)
        for limb in (upper, fore):
            limb[:, hand] = limb[:, hand] * (1 - reached[:, None]) + goal * reached[:, None]
        if drawn.random() < 0.2:
            for limb in (upper, fore):
                limb[:, 1 - hand] = limb[:, 1 - hand] * (1 - reached[:, None]) + goal * [-1, 1, 1] * reached[:, None]
    return upper, fore, reached


def _direction(ahead: Floats, out: float | Floats) -> Floats:
    """Return unit vectors: `ahead` radians from hanging down towards ahead and up, turned outwards by `out`."""
    sideways = np.broadcast_to(np.asarray(out, dtype=np.float64), ahead.shape)
    found = np.stack([np.sin(sideways), -np.cos(ahead) * np.cos(sideways), np.sin(ahead) * np.cos(sideways)], axis=1)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float64)


def _assembled(
    who: Subject, hips: Floats, lean: Floats, legs: tuple[Floats, Floats], arms: tuple[Floats, Floats],
    drawn: np.random.Generator,
) -> Floats:  # fmt: skip
    """Put a body together; `legs`: directions of thighs and shins, `arms`: of upper arms and forearms."""
    n, (thighs, shins), (upper, fore) = len(hips), legs, arms
    points = np.zeros((n, len(PARTS), 3))
    spine = np.stack([np.zeros(n), np.cos(lean), np.sin(lean)], axis=1)
    neck = hips + spine * who.torso
    nod = drawn.uniform(-0.1, 0.5)
    head = neck + spine * who.neck * 0.75
    points[:, _N["nose"]] = head + np.array([0, 0.02 - 0.06 * nod, 0.09]) * who.height / 1.7
    for side, out in ((0, 1.0), (1, -1.0)):
        left = "left" if side == 0 else "right"
        points[:, _N[f"{left}_ear"]] = head + np.array([0.075 * out, 0.03, 0.0])
        shoulder = neck + np.array([out * who.shoulders / 2, 0, 0])
        elbow = shoulder + upper[:, side] * who.upper_arm
        points[:, _N[f"{left}_shoulder"]] = shoulder
        points[:, _N[f"{left}_elbow"]] = elbow
        points[:, _N[f"{left}_wrist"]] = (
            elbow + fore[:, side] / np.maximum(np.linalg.norm(fore[:, side], axis=1, keepdims=True), 1e-6) * who.forearm
        )
        hip = hips + np.array([out * who.hips / 2, 0, 0])
        knee = hip + _direction(thighs[:, side], 0.06 * out) * who.thigh
        points[:, _N[f"{left}_hip"]] = hip
        points[:, _N[f"{left}_knee"]] = knee
        points[:, _N[f"{left}_ankle"]] = knee + _direction(shins[:, side], 0.0) * who.shin
    return points


def _lying(who: Subject, times: Floats, drawn: np.random.Generator, on_floor: bool) -> Floats:
    """Return a lying body: on the back, a side or the front, straight or curled, head this way or that."""
    n = len(times)
    upper, fore, _ = _arms("stand", "stand", who, times, drawn)
    curled = drawn.uniform(0, 1.2) * (drawn.random() < 0.6)
    thighs = np.full((n, 2), curled) + drawn.normal(0, 0.12, 2)
    shins = thighs - curled * drawn.uniform(0.8, 1.7)
    lean = np.full(n, drawn.uniform(-0.1, 0.3) * (drawn.random() < 0.6))
    hips = np.zeros((n, 3)) + _drift(times, drawn, 0.01)
    points = _assembled(who, hips, lean, (thighs, shins), (upper, fore), drawn)
    roll = drawn.uniform(-math.pi, math.pi)
    cos, sin = math.cos(roll), math.sin(roll)
    x, y, z = points[..., 0], points[..., 1], points[..., 2]
    x, z = cos * x - sin * z, sin * x + cos * z
    up = 0.12 if on_floor else drawn.uniform(0.1, 0.6)
    return np.stack([x, z + up, -y], axis=-1)


def _drift(times: Floats, drawn: np.random.Generator, amount: float) -> Floats:
    """Return slow smooth wandering, shape [n, 3]."""
    found = np.zeros((len(times), 3))
    for rate in (0.11, 0.27, 0.6):
        found += np.sin(math.tau * rate * times[:, None] + drawn.uniform(0, math.tau, 3)) * drawn.normal(0, amount, 3)
    return found


# ── Seeing ────────────────────────────────────────────────────────────────────────────────────────────────


def seen(times: Floats, points: Floats, eye: Camera, drawn: np.random.Generator) -> Movement:
    """Return the points as a landmark network would give them."""
    cos, sin = math.cos(eye.facing), math.sin(eye.facing)
    x, y, z = points[..., 0], points[..., 1], points[..., 2]
    # The camera looks at a person's front, so ahead is towards it; their left is then on the right of the picture.
    across, near = cos * x + sin * z, -sin * x + cos * z
    middle_y = 0.9 - eye.up
    tilt = math.atan2(middle_y, eye.away)
    depth, up = eye.away - near, y - eye.up
    forward = np.maximum(math.cos(tilt) * depth + math.sin(tilt) * up, 0.4)
    upward = -math.sin(tilt) * depth + math.cos(tilt) * up
    px = WIDTH / 2 + eye.focal * across / forward
    py = HEIGHT / 2 - eye.focal * upward / forward
    n = len(times)
    rows = np.zeros((n, len(POSE_POINTS), 4), np.float32)
    rows[:, :, 0], rows[:, :, 1] = px[:, :1], py[:, :1]
    size = float(np.median(np.hypot(np.ptp(px, axis=1), np.ptp(py, axis=1))))
    jitter = drawn.uniform(0.004, 0.018) * size
    lasting = drawn.normal(0, 0.012 * size, (len(PARTS), 2))
    for name, place in _N.items():
        to = _INDEX[name]
        rows[:, to, 0] = px[:, place] + lasting[place, 0] + drawn.normal(0, jitter, n)
        rows[:, to, 1] = py[:, place] + lasting[place, 1] + drawn.normal(0, jitter, n)
    rows[:, :, 3] = drawn.uniform(0.9, 1.0, (n, len(POSE_POINTS)))
    _hide(rows, eye, size, drawn)
    left, top = rows[:, list(_INDEX.values()), 0].min(axis=1), rows[:, :, 1].min(axis=1)
    right, bottom = rows[:, :, 0].max(axis=1), rows[:, :, 1].max(axis=1)
    margin = 0.07 * size
    is_lost = drawn.random(n) < drawn.choice([0.0, 0.05, 0.3])
    moments = []
    for k, at_s in enumerate(times):
        wobble = drawn.normal(0, 0.015 * size, 4)
        box = Box(
            float(left[k] - margin + wobble[0]),
            float(top[k] - 1.3 * margin + wobble[1]),
            float(right[k] + margin + wobble[2]),
            float(bottom[k] + margin + wobble[3]),
        )
        moments.append(Moment(float(at_s), box, None if is_lost[k] else Pose(rows[k])))
    return Movement(tuple(moments), WIDTH, HEIGHT)


def _hide(rows: NDArray[np.float32], eye: Camera, size: float, drawn: np.random.Generator) -> None:
    """Hide legs behind a table and the far arm behind the body: guessed, with low visibility."""
    n = len(rows)
    if drawn.random() < 0.15:
        legs = [_INDEX[f"{side}_{part}"] for side in ("left", "right") for part in ("knee", "ankle")]
        rows[:, legs, 3] = drawn.uniform(0.02, 0.4, (n, 4))
        rows[:, legs, :2] += drawn.normal(0, 0.05 * size, (1, 4, 2)) + drawn.normal(0, 0.03 * size, (n, 4, 2))
    profile = abs(math.sin(eye.facing)) > 0.8
    if profile or drawn.random() < 0.15:
        side = "left" if drawn.random() < 0.5 else "right"
        arm = [_INDEX[f"{side}_{part}"] for part in ("elbow", "wrist")]
        rows[:, arm, 3] = drawn.uniform(0.05, 0.5, (n, 2))
        rows[:, arm, :2] += drawn.normal(0, 0.02 * size, (n, 2, 2))
    if profile and drawn.random() < 0.5:  # left and right legs confused now and then
        swapped = drawn.random(n) < 0.2
        for part in ("knee", "ankle"):
            one, other = _INDEX[f"left_{part}"], _INDEX[f"right_{part}"]
            kept = rows[swapped, one].copy()
            rows[swapped, one] = rows[swapped, other]
            rows[swapped, other] = kept
