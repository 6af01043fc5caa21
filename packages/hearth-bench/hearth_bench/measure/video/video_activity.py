"""Measure the recognition of activities: on drawn subjects never learnt, on a real clip, on ones an owner teaches.

    python -m hearth_bench.measure.video.video_activity          writes results/video_activity.json

* Drawn: 60 subjects with cameras of their own, single windows of two seconds, with the confusion matrix.
* Taught: `wave` is left out of the shipped activities, and taught by 1, 3 and 5 clips of six seconds of other subjects.
* Falls: drawn ones of 0.9 s, and false alarms in hours without any.
* Real: the clip of people walking one by one, at two pictures a second, labelled by hand for every second with somebody
  in it. Seconds in which they stop or turn (marked `?`) count for neither. Needs the public data and
  `hearth-video[experts]`.
* DAHLIA: its path on its drawn sample, which says nothing of real cooking.

The floor says the most frequent activity; the oracle is the truth.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from hearth.errors import MissingExtraError
from hearth.models.ridge import Heads
from hearth_bench.measure.result_file import write_result
from hearth_video.dahlia import read_dahlia, train, write_sample
from hearth_video.experts.activity import N_FEATURES, ActivityExpert, features, shipped_weights, windows
from hearth_video.experts.expert_values import Moment, Movement
from hearth_video.footage.activities import (
    EXAMPLE_WEIGHT,
    RIDGE,
    Windowed,
    confusion,
    learn,
    scores,
    weights_of,
)
from hearth_video.train.activity_train import SEED, WINDOW_S, drawn_windows
from hearth_video.train.drawn_body import ACTIVITIES, camera, fall, movement, subject

CLIP = Path(os.environ.get("HEARTH_DATA", "../shared/data")) / "media" / "one-by-one-person-detection.mp4"
# Start second and activity of the person in view; `?`: between activities, `.`: nobody.
CLIP_TRUTH = (
    *((0, "."), (6, "walk"), (8, "?"), (9, "stand"), (18, "?"), (19, "walk"), (20, ".")),
    *((23, "walk"), (25, "?"), (26, "stand"), (43, "?"), (44, "walk"), (45, ".")),
    *((51, "walk"), (53, "?"), (54, "stand"), (67, "?"), (69, "walk"), (70, ".")),
    *((75, "walk"), (77, "?"), (78, "stand"), (84, "?"), (85, "walk"), (87, ".")),
    *((93, "walk"), (94, "?"), (95, "stand"), (117, "?"), (118, "walk"), (120, ".")),
    *((124, "walk"), (126, "?"), (127, "stand"), (133, "?"), (135, "walk"), (136, ".")),
)
TEST_SEED = SEED + 1


def drawn(data: Windowed) -> dict[str, object]:
    table = confusion(shipped_weights(), data)
    counts = [data.names.count(name) for name in ACTIVITIES]
    return {
        "n_subjects": 60,
        "n_windows": len(data.names),
        "told": scores(table),
        "floor_most_frequent": {"accuracy": round(max(counts) / sum(counts), 4)},
        "oracle": {"accuracy": 1.0, "macro_f1": 1.0},
        "confusion": table,
    }


def taught(test: Windowed) -> dict[str, object]:
    """Measure a sixth activity learnt from few clips, and the effect on the other five."""
    shipped = shipped_weights()
    learnt_from = drawn_windows(SEED, 60)
    rows = features(learnt_from.values, shipped.middle, shipped.spread)
    others = np.array([name != "wave" for name in learnt_from.names])
    heads = Heads(N_FEATURES, ridge=RIDGE)
    learn(heads, rows[others], [name for name in learnt_from.names if name != "wave"])
    found: dict[str, object] = {}
    given = 0
    for n_clips in (0, 1, 3, 5):
        while given < n_clips:
            dice = np.random.default_rng([SEED + 7, given])
            cut = windows(movement("wave", subject(dice), camera(dice), dice, duration_s=6.0), WINDOW_S)
            clip = features(cut.values[cut.told], shipped.middle, shipped.spread)
            learn(heads, clip, ["wave"] * len(clip), EXAMPLE_WEIGHT)
            given += 1
        weights = weights_of(heads, shipped.middle, shipped.spread, shipped.sharpness, WINDOW_S)
        table = confusion(weights, test)
        waves = table["wave"]
        rest = {name: row for name, row in table.items() if name != "wave"}
        found[f"{n_clips}_clips"] = {
            "wave_recall": round(waves.get("wave", 0) / sum(waves.values()), 4),
            "others_accuracy": scores(rest)["accuracy"],
        }
    return found


def falls() -> dict[str, object]:
    expert = ActivityExpert()
    found: dict[str, object] = {}
    for fps in (2.0, 5.0):
        told = 0
        for number in range(100):
            dice = np.random.default_rng([TEST_SEED, 77, number])
            fell = fall(subject(dice), camera(dice), dice, falls_s=0.9, fps=fps)
            told += any(one.name == "fall" for one in expert.look(fell))
        found[f"told_of_100_at_{fps:g}_per_s"] = told
    false, hours = 0, 0.0
    for number in range(60):
        dice = np.random.default_rng([TEST_SEED, 78, number])
        who, eye = subject(dice), camera(dice)
        for name in ACTIVITIES:
            shown = expert.look(movement(name, who, eye, dice, duration_s=30.0))
            false += sum(one.name == "fall" for one in shown)
            hours += 30 / 3600
    return {**found, "false_alarms": false, "in_hours_of_other_activity": round(hours, 1)}


def truth_at(second: float) -> str:
    return next(name for start, name in reversed(CLIP_TRUTH) if start <= second)


def real_clip(frames_per_s: float = 2.0) -> dict[str, object]:
    from hearth_video.experts.person_detector import PersonExpert
    from hearth_video.experts.pose import PoseExpert
    from hearth_video.footage.video_decode import frames

    pose = PoseExpert()
    tracks: dict[int, list[Moment]] = {}
    for scene in PersonExpert().look(frames(CLIP, frames_per_s=frames_per_s)):
        for one in scene.people:
            moment = Moment(scene.frame.at_s, one.box, pose.look((scene.frame, one.box)))
            tracks.setdefault(one.track, []).append(moment)
    stretches = [
        activity
        for moments in tracks.values()
        for activity in ActivityExpert().look(Movement(tuple(moments), 768, 432))
    ]
    table: dict[str, dict[str, int]] = {}
    for second in range(140):
        right = truth_at(second)
        if right in (".", "?"):
            continue
        inside = [one for one in stretches if one.start_s <= second + 0.5 < one.end_s and one.name != "fall"]
        said = max(inside, key=lambda one: one.score).name if inside else "none"
        row = table.setdefault(right, {})
        row[said] = row.get(said, 0) + 1
    right_rows = {name: sum(row.values()) for name, row in table.items()}
    return {
        "n_seconds": sum(right_rows.values()),
        "told": scores(table),
        "floor_most_frequent": {"accuracy": round(max(right_rows.values()) / sum(right_rows.values()), 4)},
        "confusion": table,
        "falls_said": sum(one.name == "fall" for one in stretches),
        "data_sha256": hashlib.sha256(CLIP.read_bytes()).hexdigest(),
    }


def speed() -> dict[str, float]:
    dice = np.random.default_rng(1)
    minute = movement("walk", subject(dice), camera(dice), dice, duration_s=60.0, frames_per_s=2.0)
    expert = ActivityExpert()
    expert.look(minute)
    began = time.process_time()
    for _ in range(5):
        expert.look(minute)
    return {"cpu_ms_per_minute_of_one_person": round((time.process_time() - began) * 200, 1)}


def dahlia_sample() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        write_sample(Path(folder), n_subjects=6)
        done = train(read_dahlia(Path(folder), (2,)))
    return {
        "note": "a drawn sample: it shows that the path runs, and says nothing of real activities",
        "told": [round(value, 3) for value in (done.measured.accuracy, done.measured.f_score, done.measured.iou)],
        "floor": [round(value, 3) for value in (done.floor.accuracy, done.floor.f_score, done.floor.iou)],
        "columns": ["accuracy", "f_score", "iou"],
    }


def main() -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    test = drawn_windows(TEST_SEED, 60)
    results: dict[str, object] = {
        "drawn_held_out_subjects": drawn(test),
        "taught_by_few_clips": taught(test),
        "falls": falls(),
        "speed": speed(),
        "dahlia_sample": dahlia_sample(),
    }
    if CLIP.exists():
        try:
            results["real_clip"] = real_clip()
        except MissingExtraError as error:
            results["real_clip"] = f"not measured: {error}"
    cpu_s, wall_s = time.process_time() - cpu, time.perf_counter() - wall
    write_result("video_activity", results, seed=SEED, cpu_s=cpu_s, wall_s=wall_s)


if __name__ == "__main__":
    main()
