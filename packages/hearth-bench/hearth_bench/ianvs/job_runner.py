"""Run a job's cases, each in a process of its own, several at once, and keep each result on disk as soon as it is done.

Covered: a case that dies, hangs (with a limit) or fills the disk affects no other; Ctrl-C and a killed parent end all
cases; the ranking is rewritten after each case; a resumed run does not repeat the cases that were done before.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hearth.cli.invocation import Progress
from hearth.errors import RequestError, StoreError, StoreFullError
from hearth_bench.ianvs.case_outcome import read_outcome
from hearth_bench.ianvs.cases.local_processes import Case, Engine, Event
from hearth_bench.ianvs.job import Checked, Job, case_document
from hearth_bench.ianvs.rank import Row, check_rank, save_rank
from hearth_bench.run_record import origin, write_json


@dataclass(slots=True)
class Ran:
    """Results of running a job."""

    by_number: dict[int, Row] = field(default_factory=dict)
    """Rows of the cases that are done, by case number."""
    failed: dict[str, str] = field(default_factory=dict)
    """Reasons of the cases that failed, by case."""
    faults: dict[str, list[str]] = field(default_factory=dict)
    """Faults of cases that are done."""
    absent: dict[str, str] = field(default_factory=dict)
    """Metrics of the job that this machine cannot measure, with the reasons."""
    n_ranked: int = 0
    """Number of cases in the ranking on disk."""
    n_resumed: int = 0
    was_stopped: bool = False
    selected: Path | None = None
    """File of the selected results, once there is one."""

    @property
    def rows(self) -> list[Row]:
        """Rows in the job's order, whatever the order in which they ended."""
        return [self.by_number[number] for number in sorted(self.by_number)]


# ── The job ───────────────────────────────────────────────────────────────────────────────────────────────


def run_job(job: Job, checked: Checked, engine: Engine, *, seed: int, resumes: bool, progress: Progress) -> Ran:
    """Run a job's cases and keep its ranking.

    Raises:
        StoreError: Nothing can be written (full disk). Earlier results are on disk.
        RequestError: The workspace's ranking file is not a ranking.
    """
    cases = _make_folders(job, checked, seed, resumes)
    record = _RunRecord(job, checked, cases, seed)
    record.start()
    ran = Ran(n_resumed=sum(case.was_done for case in cases))
    for case in cases:
        if case.was_done:
            _take(job, case, Event(case, has_ended=True), ran)
    _save(job, ran)
    waiting = [case for case in cases if not case.was_done]
    events = engine.run(waiting)
    try:
        with progress.stage(f"Running {len(waiting)} cases", len(waiting) * 1000, counts=False) as advance:
            for event, gained in _shares(events):
                advance(gained)
                if event.has_ended:
                    if not event.could_write:
                        raise StoreError(f"{event.case.label}: {event.fault}")
                    _take(job, event.case, event, ran)
                    progress.say(f"{event.case.label}: {_told(event.case, ran)}")
                    _save(job, ran)
    except KeyboardInterrupt:
        ran.was_stopped = True
    finally:
        events.close()  # type: ignore[attr-defined]
        for case in waiting:
            if _key(case) not in ran.failed and case.number not in ran.by_number:
                _take(job, case, Event(case, has_ended=True, fault="it was not run"), ran)
    if len(ran.rows) > ran.n_ranked:  # a case was done while the cases were being ended
        _save(job, ran)
    record.finish(ran)
    return ran


def _shares(events: Iterator[Event]) -> Iterator[tuple[Event, int]]:
    """Yield each event with the progress it brings, in thousandths of a case."""
    done: dict[int, int] = {}
    for event in events:
        before = done.get(event.case.number, 0)
        done[event.case.number] = max(before, 1000 if event.has_ended else int(1000 * event.share))
        yield event, done[event.case.number] - before


def _take(job: Job, case: Case, event: Event, ran: Ran) -> None:
    """Record the outcome of a case."""
    outcome = read_outcome(case.folder)
    key = _key(case)
    if outcome is None or outcome.status != "done":
        error = event.fault if outcome is None else outcome.error
        stage = f"in {outcome.stage}: " if outcome is not None and outcome.stage and outcome.status == "failed" else ""
        ran.failed[key] = f"{stage}{error or 'it ended without an outcome'}"
        return
    if outcome.faults:
        ran.faults[key] = outcome.faults
    ran.absent |= {name: why for name, why in outcome.absent.items() if name in outcome.metrics}
    algorithm = job.cases[case.number - 1]
    modules = algorithm.modules
    ran.by_number[case.number] = Row(
        algorithm.name,
        algorithm.paradigm,
        outcome.metrics,
        {m.type: m.name for m in modules},
        {f"{m.type}-{name}": str(value) for m in modules for name, value in m.hyperparameters.items()},
        outcome.at,
        str(case.folder),
    )


def _told(case: Case, ran: Ran) -> str:
    if _key(case) in ran.failed:
        return f"failed {ran.failed[_key(case)]}; see {case.folder / 'log.txt'}"
    metrics = ran.by_number[case.number].metrics
    shown = ", ".join(f"{k} {_short(v)}" for k, v in metrics.items() if not isinstance(v, dict | list))
    return f"{shown}{'; ' + '; '.join(ran.faults[_key(case)]) if _key(case) in ran.faults else ''}"


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "nan" if value is None else str(value)


def _key(case: Case) -> str:
    return f"{case.number}. {case.label}"


def _save(job: Job, ran: Ran) -> None:
    if ran.rows:
        with _locked(job.workspace):
            metrics = [metric.name for metric in job.env.metrics]
            ran.selected = save_rank(job.workspace / "rank", ran.rows, metrics, job.rank)
        ran.n_ranked = len(ran.rows)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock the folder, so that two runs of one job do not lose each other's rows."""
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make_folders(job: Job, checked: Checked, seed: int, resumes: bool) -> list[Case]:
    documents = [case_document(job, algorithm, checked, seed) for algorithm in job.cases]
    earlier = _earlier(job.workspace) if resumes else {}
    cases = []
    for number, (algorithm, document) in enumerate(zip(job.cases, documents), 1):
        fingerprint = document["fingerprint"]
        found = earlier.get(fingerprint, [])
        folder, was_done = found.pop(0) if found else (job.workspace / algorithm.name / str(uuid.uuid1()), False)
        if not was_done:
            _make(folder, document)
        cases.append(Case(number, algorithm.label, folder, fingerprint, was_done))
    return cases


def _make(folder: Path, document: Mapping[str, Any]) -> None:
    """Make an empty folder with the case's description, deleting what an earlier attempt left."""
    try:
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
    except OSError as error:
        kind = StoreFullError if error.errno in (28, 122) else StoreError
        raise kind(f"cannot make {str(folder)!r}: {error.strerror}; choose another --workspace") from None
    write_json(folder / "case.json", document, is_lasting=False)  # half written: the case counts as never begun


def _earlier(workspace: Path) -> dict[str, list[tuple[Path, bool]]]:
    """Return the folders of earlier runs by fingerprint, done cases first."""
    found: dict[str, list[tuple[Path, bool]]] = {}
    for file in sorted(workspace.glob("*/*/case.json")):
        try:
            fingerprint = json.loads(file.read_text())["fingerprint"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        outcome = read_outcome(file.parent)
        found.setdefault(str(fingerprint), []).append((file.parent, outcome is not None and outcome.status == "done"))
    return {key: sorted(places, key=lambda place: not place[1]) for key, places in found.items()}


class _RunRecord:
    """Record of a run: the settings as written, data, machine and packages it was started from, and how it ended."""

    def __init__(self, job: Job, checked: Checked, cases: Sequence[Case], seed: int) -> None:
        self._job, self._checked, self._cases, self._seed = job, checked, cases, seed
        self._path = job.workspace / "runs" / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.json"
        self._document: dict[str, Any] = {}
        # Asking git takes as long as a small case, so a thread does it while cases run.
        self._thread = threading.Thread(target=self._begin, daemon=True)
        self._fault: StoreError | None = None

    def start(self) -> None:
        self._thread.start()

    def finish(self, ran: Ran) -> None:
        """Write the record with the run's outcome. Raises: StoreError."""
        self._thread.join()
        done = {
            "done": len(ran.rows),
            "failed": ran.failed,
            "faults": ran.faults,
            "absent": ran.absent,
            "was_stopped": ran.was_stopped,
        }
        self._write({**self._document, "outcome": done})
        if self._fault is not None:
            raise self._fault

    def _begin(self) -> None:
        job, checked = self._job, self._checked
        self._document = {
            "job": job.name,
            "file": str(job.file),
            "seed": self._seed,
            **origin(),
            "python": sys.version,
            "packages": _packages(),
            "settings": dict(job.texts),
            "hashes": dict(checked.hashes),
            "n_samples": {path: facts.n for path, facts in checked.data.items()},
            "passed_over": {path: facts.n_faults for path, facts in checked.data.items() if facts.n_faults},
            "cases": [
                {"case": _key(c), "folder": str(c.folder), "fingerprint": c.fingerprint, "was_done": c.was_done}
                for c in self._cases
            ],
        }
        self._write(self._document, is_lasting=False)  # rewritten when the run ends

    def _write(self, document: Mapping[str, Any], *, is_lasting: bool = True) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_json(self._path, document, is_lasting=is_lasting)
        except (StoreError, OSError) as error:
            self._fault = error if isinstance(error, StoreError) else StoreError(f"cannot write {self._path}: {error}")


def _packages() -> dict[str, str]:
    """Return the installed packages from their folders' names: reading their metadata takes longer than a small job."""
    folders = [Path(entry) for entry in sys.path if entry and Path(entry).is_dir()]
    stems = sorted(found.stem for folder in folders for found in folder.glob("*.dist-info"))
    return {name: version for name, _, version in (stem.rpartition("-") for stem in stems)}


def check_workspace(job: Job) -> None:
    """Check, before hours of work, that results can be written and an earlier ranking kept. Raises: RequestError."""
    try:
        job.workspace.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RequestError(f"cannot make the workspace {str(job.workspace)!r}: {error.strerror}") from None
    if not os.access(job.workspace, os.W_OK):
        raise RequestError(f"the workspace {str(job.workspace)!r} may not be written to; choose --workspace")
    check_rank(job.workspace / "rank")
