"""Run `hearth fleet simulate`: a thousand owners for a month, with personal students, a shared one and merged priors.

The work is cut into parts (`simulation_parts`), each a file in a folder, which run in this process, in several, or on a
Ray cluster whose machines see the same folder. A part depends on the settings alone, so engine, number of processes and
interruptions do not change the result. `--resume` skips parts that exist.

Covered: Ctrl-C and a killed process keep every finished part; a folder of other settings is refused.
Not covered: a part that was begun (some seconds of work; `shared` is one part of minutes).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

from hearth.agent import shipped_demonstrations
from hearth.cli.invocation import SILENT, Progress
from hearth.errors import MissingExtraError, RequestError
from hearth.protocols import Encoder
from hearth.types import Demonstration
from hearth_bench.data.q2a_instructions import OWNERS
from hearth_bench.fleet.encoded_texts import read_texts, texts_of
from hearth_bench.fleet.habits import Persona
from hearth_bench.fleet.simulated_edge import Texts
from hearth_bench.fleet.simulation_parts import (
    WAYS,
    Ground,
    Part,
    Settings,
    Way,
    make_priors,
    parts_of,
    run_part,
    texts_said,
)
from hearth_bench.run_record import write_json

_FEW = 48
"""Number of edges below which only the texts they really say are encoded, not all they might say."""
EngineName = Literal["local", "ray"]


@dataclass(frozen=True)
class Fleet:
    """A simulation in a folder."""

    settings: Settings
    folder: Path
    ways: tuple[Way, ...] = WAYS
    shipped: Sequence[Demonstration] = field(default_factory=shipped_demonstrations)
    """Demonstrations that everybody has, part of every prior."""

    @property
    def parts_folder(self) -> Path:
        return self.folder / "parts"

    @cached_property
    def personas(self) -> dict[str, Persona]:
        return {owner: Persona(owner, self.settings.habit.n_variants) for owner in OWNERS}

    def open(self, *, resumes: bool) -> None:
        """Make the folder ready.

        Raises:
            RequestError: The folder holds another simulation, or this one and `resumes` is false.
        """
        path = self.folder / "settings.json"
        mine = json.loads(json.dumps(self.settings.to_json()))
        if path.exists():
            theirs = json.loads(path.read_text())
            if theirs != mine:
                apart = sorted(_apart(theirs, mine))
                raise RequestError(
                    f"{str(self.folder)!r} holds a simulation with other settings ({', '.join(apart)}); "
                    "choose another --workspace"
                )
            if not resumes and any(self.parts_folder.glob("*.npz")):
                raise RequestError(
                    f"{str(self.folder)!r} holds parts of this simulation; add --resume to carry on, or choose another "
                    "--workspace"
                )
        self.parts_folder.mkdir(parents=True, exist_ok=True)
        write_json(path, mine)

    def missing(self, way: Way) -> list[Part]:
        return [one for one in parts_of(self.settings, way) if not (self.parts_folder / one.name).exists()]

    def read_texts(self, encoder: Encoder, progress: Progress = SILENT) -> Texts:
        """Encode every text, and keep the vectors in the folder."""
        settings = self.settings
        if settings.n_edges < _FEW:
            texts = texts_said(settings, self.personas)
        else:
            texts = texts_of(list(self.personas.values()))
        return read_texts(texts, encoder, self.folder / "texts", progress)

    def ground(self, encoder: Encoder, progress: Progress = SILENT) -> Ground:
        return Ground(self.personas, self.read_texts(encoder, progress), self.settings, self.shipped)


def _apart(a: object, b: object, name: str = "") -> Iterator[str]:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in a.keys() | b.keys():
            yield from _apart(a.get(key), b.get(key), f"{name}.{key}".strip("."))
    elif a != b:
        yield f"{name} {a!r} instead of {b!r}"


def simulate(
    fleet: Fleet,
    encoder: Encoder,
    *,
    engine: EngineName = "local",
    n_processes: int = 1,
    progress: Progress = SILENT,
) -> None:
    """Run every missing part; finished parts are kept when it is stopped.

    Raises:
        MissingExtraError: The engine is `ray` and Ray is not installed.
        RequestError: There is no Ray cluster at RAY_ADDRESS.
    """
    ground = fleet.ground(encoder, progress)
    for way in fleet.ways:
        parts = fleet.missing(way)
        if parts:
            make_priors(way, ground, fleet.parts_folder, encoder, progress)
        with progress.stage(f"Fleet, {way}", sum(len(part.edges) for part in parts)) as advance:
            if engine == "ray":
                done = _on_ray(fleet, parts, n_processes, encoder.dim)
            elif n_processes > 1 and len(parts) > 1:
                done = _in_processes(fleet, parts, n_processes, encoder.dim)
            else:
                done = _here(fleet, parts, ground)
            for part in done:
                advance(len(part.edges))


def _here(fleet: Fleet, parts: Sequence[Part], ground: Ground) -> Iterator[Part]:
    for part in parts:
        run_part(part, ground, fleet.parts_folder)
        yield part


# ── Several processes ─────────────────────────────────────────────────────────────────────────────────────

_grounds: dict[str, Ground] = {}
"""Ground by folder, shared by the parts that this process runs."""


def _ground_of(folder: str, settings: Settings, dim: int) -> Ground:
    if folder not in _grounds:
        fleet = Fleet(settings, Path(folder))
        _grounds[folder] = fleet.ground(_NoEncoder(dim))
    return _grounds[folder]


class _NoEncoder:
    """An encoder for use where every text is encoded already; it refuses to encode."""

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def encode(self, texts: Sequence[str]) -> Any:
        raise RequestError(f"{len(texts)} texts of the simulation were not read; its folder was changed; run it again")


def _run_there(folder: str, settings: Settings, part: Part, dim: int) -> str:
    return str(run_part(part, _ground_of(folder, settings, dim), Path(folder) / "parts"))


def _start_worker() -> None:
    # Ctrl-C reaches the parent alone, which ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _in_processes(fleet: Fleet, parts: Sequence[Part], n_processes: int, dim: int) -> Iterator[Part]:
    pool = ProcessPoolExecutor(n_processes, get_context("spawn"), initializer=_start_worker)
    waiting: dict[Future[str], Part] = {
        pool.submit(_run_there, str(fleet.folder), fleet.settings, part, dim): part for part in parts
    }
    try:
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                part = waiting.pop(future)
                future.result()
                yield part
    finally:
        if waiting:
            for process in list((pool._processes or {}).values()):  # the pool itself would wait for their parts
                process.terminate()
        pool.shutdown(cancel_futures=True)


def _on_ray(fleet: Fleet, parts: Sequence[Part], n_at_once: int, dim: int) -> Iterator[Part]:
    try:
        import ray
    except ImportError:
        raise MissingExtraError("the engine 'ray'", "pip install 'hearth-bench[ray]'") from None
    from hearth_bench.ianvs.cases.ray_engine import join_cluster

    join_cluster(n_at_once, os.environ.get("RAY_ADDRESS", ""))
    remote: Any = ray.remote(num_cpus=1, max_retries=0)(_run_there)
    folder = str(fleet.folder.absolute())
    waiting: dict[Any, Part] = {remote.remote(folder, fleet.settings, part, dim): part for part in parts}
    try:
        while waiting:
            done, _ = ray.wait(list(waiting), timeout=1.0)
            for reference in done:
                part = waiting.pop(reference)
                try:
                    ray.get(reference)
                except ray.exceptions.RayError as error:
                    raise RequestError(
                        f"a part of the simulation was lost on the cluster ({type(error).__name__}); its machines must "
                        f"see {folder!r}; carry on with --resume"
                    ) from None
                yield part
    finally:
        for reference in waiting:
            with contextlib.suppress(ray.exceptions.RayError):
                ray.cancel(reference, force=True)
