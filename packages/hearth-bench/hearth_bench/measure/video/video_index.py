"""Measure indexing home video: speed on a real clip, cost of a day, and time of a question about an hour.

    python -m hearth_bench.measure.video.video_index          writes packages/hearth-bench/results/video_index.json

The clip (`media/one-by-one-person-detection.mp4` under HEARTH_DATA), four times over in one file, is processed by the
shipped experts; "× real time" counts CPU seconds of this process, so it is that of one core however busy the machine
is. The day is 24 recordings of an hour in a drawn room in which somebody is in view two thirds of the time, processed
by experts that know its colours: this measures everything but the models. Memory is that of a process of its own for
each.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hearth_bench.measure.result_file import write_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from small_video import Walk

    from hearth.protocols import Sighting

CLIP = "media/one-by-one-person-detection.mp4"
SEED = 7
N_TIMES = 4
N_HOURS = 24
N_QUESTIONS = 100
START = dt.datetime(2026, 11, 19, tzinfo=dt.UTC)


def main() -> None:
    started, before = time.perf_counter(), os.times()
    results = {"clip": _in_own_process("clip"), "day": _in_own_process("day")}
    after = os.times()
    cpu_s = sum(after[:4]) - sum(before[:4])
    write_result("video_index", results, seed=SEED, cpu_s=cpu_s, wall_s=time.perf_counter() - started)


def _in_own_process(part: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-m", "hearth_bench.measure.video.video_index", part], stdout=subprocess.PIPE, check=True
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


def _peak_mb() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


def _resident_mb() -> float:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
    return round(int(line.split()[1]) / 1024, 1)


# ── A real clip ───────────────────────────────────────────────────────────────────────────────────────────


def measure_clip() -> dict[str, object]:
    """Process the clip with the shipped experts, in a home of its own."""
    from hearth.config import parse_settings
    from hearth.memory.event_memory import EventMemory
    from hearth.storage.database import Store
    from hearth_video.footage.library import Library
    from hearth_video.footage.video_decode import frames

    path = Path(os.environ.get("HEARTH_DATA", "../shared/data")) / CLIP
    if not path.is_file():
        return {"skipped": f"HEARTH_DATA holds no {CLIP}"}
    cpu = time.process_time()
    n_frames = sum(1 for _ in frames(path))
    decoding_cpu_s = time.process_time() - cpu
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "hearth.db") as store:
        library = Library(store, EventMemory(store), parse_settings("", Path("hearth.toml")))
        library.kept.add(_repeated(path, Path(folder) / "clip.mp4"), "hall", start=START)
        wall, cpu = time.perf_counter(), time.process_time()
        resident = [_resident_mb() for _ in library.looked_at(library.kept.all(), threading.Event())]
        wall_s, cpu_s = time.perf_counter() - wall, time.process_time() - cpu
        (kept,) = library.kept.all()
        before = time.perf_counter()
        seen = library.doing([one.id for one in library.people("", kept.start, kept.end, threading.Event())])
        question_ms = (time.perf_counter() - before) * 1000
        store.erase_traces()
        n_bytes = store.path.stat().st_size - _empty_bytes()
    return {
        "data_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "duration_s": round(kept.duration_s, 1),
        "size": f"{kept.width}x{kept.height}",
        "n_frames_of_one": n_frames,
        "decoding_one_cpu_s": round(decoding_cpu_s, 2),
        "looking_cpu_s": round(cpu_s, 2),
        "looking_wall_s": round(wall_s, 2),
        "times_real_time_on_one_core": round(kept.duration_s / cpu_s, 2),
        "n_sightings": len(_numbers(seen)),
        "question_ms": round(question_ms, 1),
        "index_mb_per_hour": round(n_bytes / kept.duration_s * 3600 / 1e6, 2),
        "rss_after_each_minute_mb": resident,
        "peak_rss_mb": _peak_mb(),
    }


def _repeated(path: Path, target: Path) -> Path:
    """Write the clip `N_TIMES` over in one file, with its packets unchanged."""
    import av

    with av.open(str(target), "w") as out:
        stream, shift = None, 0
        for _ in range(N_TIMES):
            with av.open(str(path)) as container:
                source = container.streams.video[0]
                stream = stream or out.add_stream_from_template(source)
                for packet in container.demux(source):
                    if packet.dts is None or packet.pts is None:
                        continue
                    packet.pts, packet.dts, packet.stream = packet.pts + shift, packet.dts + shift, stream
                    out.mux(packet)
                shift += source.duration or 0
    return target


def _numbers(seen: Sequence[Sighting]) -> set[str]:
    """Return the ids of the sightings that spans of activity belong to."""
    return {one.id.partition(".")[0] for one in seen}


def _empty_bytes() -> int:
    from hearth.storage.database import Store

    with tempfile.TemporaryDirectory() as folder:
        with Store.open(Path(folder) / "hearth.db") as store:
            store.erase_traces()
        return (Path(folder) / "hearth.db").stat().st_size


# ── A day ─────────────────────────────────────────────────────────────────────────────────────────────────


def measure_day() -> dict[str, object]:
    """Process a drawn day hour by hour, then ask about hours of it."""
    import small_video as room

    from hearth.storage.database import Store
    from hearth_video.footage import indexing

    draw = random.Random(SEED)
    walks = [_walks(draw) for _ in range(N_HOURS)]
    resident: list[float] = []
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "hearth.db") as store:
        for hour in range(N_HOURS):
            start = START + dt.timedelta(hours=hour)
            room.put_recording(store, Path(folder) / f"{hour:02}.mp4", start=start, duration_s=3600.0)
        for name, colour in (("Anna", room.RED), ("Ben", room.GREEN)):
            room.enroll(store, name, colour)
        library = room.library(store)
        cpu = time.process_time()
        for kept, of_hour in zip(library.kept.all(), walks, strict=True):
            setattr(indexing, "frames", room.drawn(of_hour, 3600.0))  # noqa: B010 - in place of files
            for _ in library.looked_at([kept], threading.Event()):
                pass
            resident.append(_resident_mb())
        cpu_s = time.process_time() - cpu
        library = room.library(store)  # as a new process finds it
        times = []
        for _ in range(N_QUESTIONS):
            start = START + dt.timedelta(minutes=draw.randrange(0, 60 * (N_HOURS - 1)))
            before = time.perf_counter()
            seen = library.people("kitchen", start, start + dt.timedelta(hours=1), threading.Event())
            library.doing([one.id for one in seen])
            times.append((time.perf_counter() - before) * 1000)
        store.erase_traces()
        n_sightings = store.query("SELECT count(*) FROM sighting")[0][0]
        n_bytes = store.path.stat().st_size - _empty_bytes()
    return {
        "n_hours": N_HOURS,
        "n_sightings": n_sightings,
        "cpu_s_without_models": round(cpu_s, 1),
        "question_about_an_hour_first_ms": round(times[0], 1),
        "question_about_an_hour_p50_ms": round(float(np.percentile(times, 50)), 1),
        "question_about_an_hour_p95_ms": round(float(np.percentile(times, 95)), 1),
        "question_about_an_hour_max_ms": round(max(times), 1),
        "n_questions": N_QUESTIONS,
        "rss_after_first_hour_mb": resident[0],
        "rss_after_last_hour_mb": resident[-1],
        "peak_rss_mb": _peak_mb(),
        "index_mb_per_hour": round(n_bytes / N_HOURS / 1e6, 2),
    }


def _walks(draw: random.Random) -> list[Walk]:
    """Draw the people who cross the room in an hour, with somebody in view two thirds of the time."""
    import small_video as room

    found: list[Walk] = []
    at_s = draw.uniform(0, 120)
    while at_s < 3500:
        length_s = draw.choice([5, 10, 20, 60, 180])
        found.append(room.Walk(draw.choice([room.RED, room.GREEN, room.BLUE]), at_s, min(3600.0, at_s + length_s)))
        at_s += length_s + draw.expovariate(1 / 30)
    return found


if __name__ == "__main__":
    if sys.argv[1:] in (["clip"], ["day"]):
        print(json.dumps(measure_clip() if sys.argv[1] == "clip" else measure_day()))
    else:
        main()
