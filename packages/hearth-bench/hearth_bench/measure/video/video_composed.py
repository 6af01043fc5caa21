"""Measure who is found when in the demo home's composed clip, whose truth is known to the tenth of a second.

    python -m hearth_bench.measure.video.video_composed     writes packages/hearth-bench/results/video_composed.json

Needs `hearth-video[experts]`. The clip is composed, its two people are enrolled from their portraits, it is processed
as by `hearth video index`, and the spans in which each is named are compared with the script: `iou` is time in both
over time in either, `iou_anybody` the same whoever it is. The portraits are the faces in the clip: this measures the
path, not recognition.
"""

from __future__ import annotations

import datetime as dt
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth.config import Settings
from hearth.memory.event_memory import EventMemory
from hearth.storage.database import Store
from hearth_bench.measure.result_file import write_result
from hearth_video.demo.composed_clip import DURATION_S, FRAMES_PER_S, Clip, compose_clip
from hearth_video.experts.identity import IdentityExpert
from hearth_video.footage.library import Library
from hearth_video.footage.people import Consent, People

START = dt.datetime(2026, 11, 19, 19, 0, tzinfo=dt.UTC)


def main() -> None:
    started, cpu = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        clip = compose_clip(Path(folder))
        composed_s = time.perf_counter() - started
        store = Store.open(Path(folder) / "hearth.db")
        people = People(store)
        for name, portrait in clip.portraits.items():
            people.enroll(name, [portrait], IdentityExpert(), Consent(name, START))
        library = Library(store, EventMemory(store), Settings())
        library.kept.add(clip.path, "living room", "living room", START)
        before, before_cpu = time.perf_counter(), time.process_time()
        seen = library.people("", START, START + dt.timedelta(seconds=DURATION_S), threading.Event())
        looking_s, looking_cpu_s = time.perf_counter() - before, time.process_time() - before_cpu
        before = time.perf_counter()
        library.people("", START, START + dt.timedelta(seconds=DURATION_S), threading.Event())
        named = library.named([one.id for one in seen])
        asking_ms = (time.perf_counter() - before) * 1000
        found = [(one.name, (one.start - START).total_seconds(), (one.end - START).total_seconds()) for one in named]
        store.close()
    results = {
        "iou": {name: _overlap(clip, name, found) for name in clip.portraits},
        "iou_anybody": _iou(_grid((a, b) for _, a, b in found), _grid((p.start_s, p.end_s) for p in clip.truth)),
        "found": [[name or "unknown", round(a, 2), round(b, 2)] for name, a, b in found],
        "truth": [[p.name, p.start_s, p.end_s] for p in clip.truth],
        "n_frames": DURATION_S * FRAMES_PER_S,
        "composing_s": round(composed_s, 2),
        "looking_s": round(looking_s, 2),
        "looking_cpu_s": round(looking_cpu_s, 2),
        "times_real_time": round(DURATION_S / looking_cpu_s, 2),
        "asking_again_ms": round(asking_ms, 1),
    }
    print(results)
    write_result(
        "video_composed", results, seed=0, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - started
    )


def _overlap(clip: Clip, name: str, found: Iterable[tuple[str, float, float]]) -> float:
    return _iou(
        _grid((a, b) for who, a, b in found if who == name),
        _grid((p.start_s, p.end_s) for p in clip.truth if p.name == name),
    )


def _grid(spans: Iterable[tuple[float, float]]) -> NDArray[np.bool_]:
    """Return, for each tenth of a second, whether it lies in one of the spans."""
    at_s = np.arange(DURATION_S * 10) / 10
    inside = np.zeros(len(at_s), dtype=np.bool_)
    for start, end in spans:
        inside |= (at_s >= start) & (at_s <= end)
    return inside


def _iou(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    either = int((one | other).sum())
    return round(int((one & other).sum()) / either, 4) if either else 0.0


if __name__ == "__main__":
    main()
