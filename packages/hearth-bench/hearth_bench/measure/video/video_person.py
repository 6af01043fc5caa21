"""Measure how well people in home video are found and followed, and at what cost.

    python -m hearth_bench.measure.video.video_person

On a public clip (by hand-made labels, packages/hearth-video/tests/data/one_by_one_people.json) and on composed ones
(video_clips.py): presence by second, distinct passers-by, and the overlap with each one's time. The shipped expert is
compared with floors (always somebody; change against the room alone; OpenCV's HOG alone; the detector on whole frames
alone) and an oracle that knows the truth at the frames looked at. Needs `hearth-video[experts]`; without HEARTH_DATA's
clip that part is left out.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2

from hearth_bench.measure.result_file import ROOT, write_result
from hearth_bench.measure.video.video_clips import CLIPS, RATE, Clip
from hearth_video.experts.background_subtraction import Background
from hearth_video.experts.blaze import person_detector
from hearth_video.experts.expert_values import Frame
from hearth_video.experts.person_detector import PersonExpert
from hearth_video.footage.video_decode import frames, probe

SEED = 7
LABELS = ROOT / "tests" / "data" / "one_by_one_people.json"
CLIP = (
    Path(os.environ.get("HEARTH_DATA", ROOT.parent / "shared" / "data")) / "media" / "one-by-one-person-detection.mp4"
)

Present = list[tuple[float, tuple[int, ...]]]
"""Tracks in view at each time looked at."""
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Truth:
    n_seconds: int
    is_present: tuple[bool, ...]
    """By second: True if somebody is present for at least half of it."""
    visits: tuple[Interval, ...]


def main() -> int:
    cv2.setNumThreads(1)
    wall, cpu = time.perf_counter(), time.process_time()
    results: dict[str, Any] = {
        "asked": {"presence_f1": 0.95, "passers_by": "± 1", "x_real_time": 4, "memory_bytes": 2**30}
    }
    if CLIP.exists():
        results["clip"] = _public_clip()
    composed = {clip.name: _composed(clip) for clip in CLIPS}
    results["composed"] = composed
    results["composed_total"] = _total(list(composed.values()))
    write_result("video_person", results, seed=SEED, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - wall)
    return 0


# ── The public clip ───────────────────────────────────────────────────────────────────────────────────────


def _public_clip() -> dict[str, Any]:
    labels = json.loads(LABELS.read_text())
    digest = hashlib.sha256(CLIP.read_bytes()).hexdigest()
    if digest != labels["sha256"]:
        raise SystemExit(f"{str(CLIP)!r} has SHA-256 {digest}; the labels are of {labels['sha256']}")
    people = labels["people_by_second"]
    truth = Truth(len(people), tuple(bool(n) for n in people), tuple((a, b) for a, b in labels["visits_s"]))
    list(PersonExpert().look(list(frames(CLIP, 0.0, 1.0))))  # reads the models from disk
    cpu = time.process_time()
    present = _present(frames(CLIP, frames_per_s=RATE))
    cpu = time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # before any list of pictures is made
    pictures = list(frames(CLIP, frames_per_s=RATE))
    found = {"shipped": _scores(present, truth)}
    found |= {name: _scores(floor(pictures), truth) for name, floor in FLOORS.items()}
    oracle = [(f.at_s, tuple(i for i, (a, b) in enumerate(truth.visits) if a <= f.at_s <= b)) for f in pictures]
    found["oracle"] = _scores(oracle, truth)
    duration_s = probe(CLIP).duration_s
    return {
        "sha256": digest,
        "duration_s": round(duration_s, 1),
        "n_frames": len(pictures),
        "cpu_ms_a_frame_with_decoding": round(1000 * cpu / len(pictures), 1),
        "x_real_time_one_core": round(duration_s / cpu, 2),
        "peak_memory_bytes": memory,
        **found,
    }


# ── Composed clips ────────────────────────────────────────────────────────────────────────────────────────


def _composed(clip: Clip) -> dict[str, Any]:
    times = [number / RATE for number in range(int(clip.duration_s * RATE))]
    fine = [number / 20 for number in range(int(clip.duration_s * 20))]
    n_seconds = int(clip.duration_s)
    seen_ms = [0] * n_seconds
    ends: dict[str, Interval] = {}
    for at_s in fine:
        names = [name for name, _ in clip.truth(at_s)]
        seen_ms[int(at_s)] += 50 * bool(names)
        for name in names:
            ends[name] = (ends[name][0] if name in ends else at_s, at_s)
    truth = Truth(n_seconds, tuple(ms >= 500 for ms in seen_ms), tuple(ends.values()))
    cpu = time.process_time()
    present = _present(clip.frames(SEED))
    cpu = time.process_time() - cpu
    pictures = list(clip.frames(SEED))
    oracle = [(at_s, tuple(list(ends).index(name) for name, _ in clip.truth(at_s))) for at_s in times]
    found: dict[str, Any] = {"cpu_ms_a_frame_with_drawing": round(1000 * cpu / len(times), 1)}
    found["shipped"] = _scores(present, truth)
    found |= {name: _scores(floor(pictures), truth) for name, floor in FLOORS.items()}
    found["oracle"] = _scores(oracle, truth)
    return found


def _total(clips: Sequence[dict[str, Any]]) -> dict[str, Any]:
    totals = {}
    for name in ("shipped", *FLOORS, "oracle"):
        rows = [clip[name] for clip in clips]
        hits, false, missed = (sum(row[key] for row in rows) for key in ("n_right", "n_false", "n_missed"))
        ious = [iou for row in rows for iou in row["visit_ious"]]
        totals[name] = {
            "presence_f1": round(2 * hits / max(1, 2 * hits + false + missed), 4),
            "n_false": false,
            "n_missed": missed,
            "n_visits": sum(row["n_visits"] for row in rows),
            "n_tracks": sum(row["n_tracks"] for row in rows),
            "clips_off_by_more_than_one": sum(abs(row["n_visits"] - row["n_tracks"]) > 1 for row in rows),
            "mean_visit_iou": round(sum(ious) / max(1, len(ious)), 3),
            "visits_met_0.9": sum(iou >= 0.9 for iou in ious),
        }
    return totals


# ── What is compared ──────────────────────────────────────────────────────────────────────────────────────


def _present(given: Iterable[Frame]) -> Present:
    return [(scene.frame.at_s, tuple(one.track for one in scene.people)) for scene in PersonExpert().look(given)]


def _always(pictures: Sequence[Frame]) -> Present:
    return [(frame.at_s, (1,)) for frame in pictures]


def _change_alone(pictures: Sequence[Frame]) -> Present:
    room = Background()
    found, before = [], pictures[0].at_s
    for frame in pictures:
        change = room.change(frame.pixels)
        room.learn(frame.pixels, change, (), frame.at_s - before)
        found.append((frame.at_s, bool(change.patches)))
        before = frame.at_s
    return _runs(found)


def _hog_alone(pictures: Sequence[Frame]) -> Present:
    hog: Any = cv2.HOGDescriptor()  # type: ignore[attr-defined,unused-ignore]
    hog.setSVMDetector(cv2.HOGDescriptor_getDefaultPeopleDetector())  # type: ignore[attr-defined,unused-ignore]
    return _runs([(f.at_s, len(hog.detectMultiScale(f.pixels, winStride=(8, 8), scale=1.1)[0]) > 0) for f in pictures])


def _detector_alone(pictures: Sequence[Frame]) -> Present:
    detector = person_detector("the benchmark")
    return _runs([(frame.at_s, bool(detector.find(frame.pixels, 0.5))) for frame in pictures])


FLOORS: dict[str, Callable[[Sequence[Frame]], Present]] = {
    "always_somebody": _always,
    "change_alone": _change_alone,
    "hog_alone": _hog_alone,
    "detector_alone": _detector_alone,
}


def _runs(found: Sequence[tuple[float, bool]]) -> Present:
    """Turn each stretch with somebody into a track of its own."""
    present: Present = []
    number, was = 0, False
    for at_s, is_there in found:
        number += is_there and not was
        present.append((at_s, (number,) if is_there else ()))
        was = is_there
    return present


def _scores(present: Present, truth: Truth) -> dict[str, Any]:
    seconds: dict[int, list[bool]] = {}
    spans: dict[int, Interval] = {}
    for at_s, tracks in present:
        seconds.setdefault(int(at_s), []).append(bool(tracks))
        for track in tracks:
            spans[track] = (spans[track][0] if track in spans else at_s, at_s)
    said = [sum(seconds.get(n, [])) * 2 >= max(1, len(seconds.get(n, []))) for n in range(truth.n_seconds)]
    right = sum(a and b for a, b in zip(said, truth.is_present, strict=True))
    false, missed = sum(said) - right, sum(truth.is_present) - right
    return {
        "presence_f1": round(2 * right / (2 * right + false + missed), 4) if right + false + missed else 1.0,
        "n_right": right,
        "n_false": false,
        "n_missed": missed,
        "n_visits": len(truth.visits),
        "n_tracks": len(spans),
        "visit_ious": [
            round(max((_iou(visit, span) for span in spans.values()), default=0.0), 3) for visit in truth.visits
        ],
    }


def _iou(visit: Interval, span: Interval) -> float:
    """Return the overlap of two intervals; a frame stands for the time until the next one."""
    start, end = span[0], span[1] + 1 / RATE
    shared = min(visit[1], end) - max(visit[0], start)
    return max(0.0, shared) / (max(visit[1], end) - min(visit[0], start))


if __name__ == "__main__":
    sys.exit(main())
