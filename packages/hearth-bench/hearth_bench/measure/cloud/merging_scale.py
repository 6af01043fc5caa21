"""Measure what it costs to merge very many edges' contributions in pieces: time, processor and memory of each worker.

    python -m hearth_bench.measure.cloud.merging_scale [--edges 10000] [--large 100] [--workers 2] [--folder FOLDER]

Writes packages/hearth-bench/results/merging_scale.json. With ten thousand edges it needs some 10 GB for objects in a
folder of the temporary directory, and half an hour on an idle machine. A FOLDER stays, and is gone on with.

Each edge gives sums over a hundred shipped demonstrations drawn by lot, in the features of profile `small`; a second
run has edges of profile `large` alone, whose pieces are the largest there are. Contributions are judged and added up by
processes of their own (`hearth_cloud.statistics.workers.Processes`), with SQLite and a folder as the object store.
Then one edge gives anew, and all is merged again; then an edge is forgotten. The oracle is the same sum added up one
after the other, to the last bit, over a part of them.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

from hearth.agent import shipped_demonstrations
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.ranking.features import ReadingOptions
from hearth.planning.ranking.ranker import PROFILES, ProfileName, Ranker
from hearth.planning.ranking.sufficient_statistics import decode, encode, merged, public_tools, summed
from hearth.registry import load_tools
from hearth_bench.measure.result_file import write_result
from hearth_cloud.statistics.merging import Rules, merged_in_pieces
from hearth_cloud.statistics.robust_merge import Seen, Terms
from hearth_cloud.statistics.workers import Processes, R, T, Work
from hearth_cloud.storage.cloud_storage import NewPart, Storage
from hearth_cloud.storage.storage_place import StoragePlace

SEED = 0
N_GIVEN = 100
N_COMPARED = 300
_ROUND, _KIND = "plain", "statistics"


@dataclass
class Measured:
    """Workers, and what their pieces took."""

    workers: Processes
    cpu_s: float = 0.0
    peaks_mb: list[float] = field(default_factory=list)

    def run(self, work: Work[T, R], tasks: Sequence[T]) -> Iterator[R]:
        for found, cpu_s, peak_mb in self.workers.run(partial(_measured, work), tasks):
            self.cpu_s += cpu_s
            self.peaks_mb.append(peak_mb)
            yield found

    def told(self, n: int, wall_s: float) -> dict[str, float]:
        return {
            "pieces": len(self.peaks_mb),
            "wall_s": round(wall_s, 2),
            "cpu_s": round(self.cpu_s, 2),
            "cpu_ms_a_contribution": round(1_000 * self.cpu_s / n, 2),
            "worker_peak_mb": round(max(self.peaks_mb, default=0.0), 1),
        }


def _measured(work: Callable[[Storage, T], R], storage: Storage, task: T) -> tuple[R, float, float]:
    began = time.process_time()
    found = work(storage, task)
    return found, time.process_time() - began, _peak_mb()


def _peak_mb() -> float:
    """Return the most memory that this process ever had; `getrusage` would count its parent's, too."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1_024 / 1e6


# ── The edges ─────────────────────────────────────────────────────────────────────────────────────────────

_taught: list[Ranker] = []


def _teach(profile: ProfileName) -> None:
    student = Ranker(MiniLMEncoder.open(), load_tools(None).specs, PROFILES[profile])
    student.learn([one for one in shipped_demonstrations() if one.plan.steps])
    _taught[:] = [student]


def _contribution(number: int) -> bytes:
    """Return what an edge of that number gives."""
    (student,) = _taught
    names = random.Random(f"{SEED} {number}").sample(sorted(student._taught), N_GIVEN)
    return encode(summed(student._reader, {name: student._taught[name] for name in names}, public_tools()))


def give(storage: Storage, profile: ProfileName, n: int, n_processes: int) -> float:
    """Let `n` edges give, those that have not; return the mean size of a contribution in bytes."""
    there = given(storage).keys()
    left = [number for number in range(n) if f"edge {_edge(number)}" not in there]
    with ProcessPoolExecutor(n_processes, get_context("spawn"), _teach, (profile,)) as pool:
        for number, body in zip(left, pool.map(_contribution, left, chunksize=8), strict=True):
            edge = _edge(number)
            if storage.token_by_hash(_hash(edge)) is None:
                storage.add_token(edge, edge, _hash(edge), None)
            storage.replace_part(NewPart(_ROUND, edge, _KIND, "s", {"profile": profile}), body)
    sizes = [storage.blob_size(blob) or 0 for blob in islice(given(storage).values(), 100)]
    return sum(sizes) / len(sizes)


def _edge(number: int) -> str:
    return f"edge-{number}"


def _hash(edge: str) -> str:
    return f"{edge} ".ljust(64, "0")


def given(storage: Storage) -> dict[str, str]:
    return {f"edge {part.edge}": part.blob for part in storage.parts(_ROUND)}


# ── The merge ─────────────────────────────────────────────────────────────────────────────────────────────


def merge_of(profile: ProfileName, n: int, n_workers: int, folder: Path) -> dict[str, object]:
    """Give, merge, change one, forget one; return what each cost."""
    place = StoragePlace(f"sqlite:///{folder / 'cloud.db'}", f"file://{folder / 'objects'}")
    with place.open() as storage:
        mean_bytes = give(storage, profile, n, n_workers)
        _teach("large")
        public = _taught[0].statistics(public_tools())
        readings: dict[str, ReadingOptions] = {name: one.reading for name, one in PROFILES.items()}
        anchor = Seen.of(public.seen_by(PROFILES["small"].reading))
        rules = Rules(Terms(tools=public_tools()), anchor, readings)
        found: dict[str, object] = {"edges": n, "contribution_mb": round(mean_bytes / 1e6, 3), "workers": n_workers}

        def merge() -> tuple[Mapping[str, int], dict[str, float]]:
            workers, began = Measured(Processes(place, n_workers)), time.perf_counter()
            sums = merged_in_pieces(storage, workers, given(storage), rules)
            totals = {name: one.statistics for name, one in sums.items() if one.statistics is not None}
            wall_s = time.perf_counter() - began
            return {name: total.n_edges for name, total in totals.items()}, workers.told(n, wall_s)

        n_edges, found["first"] = merge()
        found["load_average"] = round(os.getloadavg()[0], 2)
        print(json.dumps(found), flush=True)
        assert n_edges["small"] == n, n_edges
        storage.replace_part(
            NewPart(_ROUND, "edge-0", _KIND, "s", {"profile": profile}), storage_body(storage, "edge-1")
        )
        n_edges, found["one gave anew"] = merge()
        storage.drop_edge("edge-1")
        n_edges, found["one was forgotten"] = merge()
        assert n_edges["small"] == n - 1, n_edges
        found["same to the last bit"] = is_same(storage, rules, place, n_workers)
    return found


def storage_body(storage: Storage, edge: str) -> bytes:
    part = storage.part(_ROUND, edge, _KIND)
    assert part is not None
    return storage.read_blob(part.blob)


def is_same(storage: Storage, rules: Rules, place: StoragePlace, n_workers: int) -> bool:
    """Say whether pieces give what adding one after the other gives, over a part of them."""
    some = dict(islice(sorted(given(storage).items()), N_COMPARED))
    found = merged_in_pieces(storage, Processes(place, n_workers), some, rules)["small"].statistics
    exact = merged(decode(storage.read_blob(blob)).seen_by(rules.readings["small"]) for blob in some.values())
    return found is not None and found.digest == exact.digest


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--edges", type=int, default=10_000)
    parser.add_argument("--large", type=int, default=100)
    parser.add_argument("--folder", type=Path, help="stays, and is gone on with")
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    began = time.perf_counter()
    found: dict[str, object] = {}
    runs: tuple[tuple[ProfileName, int], ...] = (("small", chosen.edges), ("large", chosen.large))
    for profile, n in runs:
        if not n:
            continue
        with contextlib.ExitStack() as open_:
            name = chosen.folder or open_.enter_context(tempfile.TemporaryDirectory(prefix="hearth-merging-"))
            folder = Path(name) / profile
            folder.mkdir(parents=True, exist_ok=True)
            found[profile] = merge_of(profile, n, chosen.workers, folder)
        write_result("merging_scale", found, seed=SEED, cpu_s=_cpu_s(), wall_s=time.perf_counter() - began)


def _cpu_s() -> float:
    whole = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in whole)


if __name__ == "__main__":
    main()
