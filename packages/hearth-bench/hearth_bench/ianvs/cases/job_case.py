"""Run one case of a job in a process of its own (`hearth_bench.ianvs.cases.case_process`).

A case that dies affects no other. Its folder holds everything it was run from (`case.json`), what it and its modules
printed (`log.txt`), each sample's prediction (`predictions.jsonl`) and its outcome (`outcome.json`).

Covered: a module that raises, exits, prints on standard output or sets the environment; a metric that raises or is not
a number; connections, unless they were allowed; Ctrl-C; the parent's death (the case ends too).
Not covered: a module that starts processes of its own, which may connect and live on.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from hearth.atomic_files import write_bytes
from hearth.errors import EgressError, HearthError
from hearth_bench.energy_counter import EnergyCounter
from hearth_bench.ianvs.case_outcome import Outcome, Report, jsonable, write_outcome
from hearth_bench.ianvs.ianvs_modules import ClassType, Modules, registered, stand_ins
from hearth_bench.ianvs.paradigms import Metric, Result, Setting, run_paradigm
from hearth_bench.ianvs.samples import load
from hearth_bench.metrics import plan_metrics as own
from hearth_bench.run_record import peak_rss_bytes

SYSTEM_METRICS = ("samples_transfer_ratio", "FWT", "BWT", "task_avg_acc", "MATRIX", "forget_rate")
"""Metrics that Ianvs gives the paradigm's own record instead of labels and predictions."""
_KINDS = {
    "hard_example_mining": ClassType.HEM,
    **dict.fromkeys(
        ("task_definition", "task_relationship_discovery", "task_remodeling", "task_allocation", "inference_integrate"),
        ClassType.STP,
    ),
    "task_update_decision": ClassType.KM,
    "unseen_task_allocation": ClassType.UTP,
    "unseen_sample_recognition": ClassType.UTD,
    "unseen_sample_re_recognition": ClassType.UTD,
    "aggregation": ClassType.FL_AGG,
}


def run_case(folder: Path, report: Report = lambda _doing, _share: None) -> Outcome:
    """Run the case that `folder/case.json` describes and write its outcome.

    Raises:
        StoreError: The outcome cannot be written (full disk).
        KeyboardInterrupt: The case was stopped; the outcome is written.
    """
    outcome = Outcome()
    counter = EnergyCounter.open()
    started = time.perf_counter(), time.process_time(), counter.read_uj()
    stopped = False
    try:
        with stand_ins(), _environment():
            document = json.loads((folder / "case.json").read_text())
            _seed(document["seed"])
            _run(folder, document, outcome, report)
    except KeyboardInterrupt:
        outcome.status, outcome.error, stopped = "stopped", "stopped by Ctrl-C", True
    except (Exception, SystemExit) as error:
        _log_traceback()
        outcome.status, outcome.error = "failed", _said(error)
    outcome.at = time.strftime("%Y-%m-%d %H:%M:%S")
    outcome.cost |= _cost(counter, *started)
    if counter.reason:
        outcome.absent.setdefault("energy_j", counter.reason)
    write_outcome(folder, outcome)
    if stopped:
        raise KeyboardInterrupt
    return outcome


def _run(folder: Path, document: Mapping[str, Any], outcome: Outcome, report: Report) -> None:
    report("load modules", 0)
    modules = Modules()
    options = {**document["testenv"], **document["settings"]}
    for package in document["packages"]:
        modules.load(Path(package["url"]))
    made = {m["type"]: _instance(m, modules) for m in document["modules"]}
    named = {m["name"]: _metric(m, modules) for m in document["metrics"]}
    judge = options["model_eval"]["model_metric"]
    model_metric = _metric(judge, modules) if judge["name"] and judge["url"] else None
    _seed(document["seed"])  # again, for modules imported since
    outcome.stage = "run"
    setting = Setting(
        folder, Path(document["train"]), Path(document["test"]), made, options, model_metric,
        lambda doing, share: report(doing, 0.05 + 0.9 * share),
    )  # fmt: skip
    result = run_paradigm(document["paradigm"], setting)
    outcome.stage = "metrics"
    report("metrics", 0.95)
    data = load(setting.index(setting.test), "eval overall")
    with contextlib.suppress(TypeError):  # predictions without a length cannot be matched to samples
        _write_predictions(folder, data, result.predictions, setting.sample_ms, outcome)
    _continual(result, outcome)
    for name, function in named.items():
        _score(name, function, data.y, result, setting.sample_ms, outcome)
    if setting.sample_ms:
        outcome.cost |= {f"sample_p{q}_ms": round(float(np.percentile(setting.sample_ms, q)), 3) for q in (50, 95)}
    outcome.status, outcome.stage = "done", ""


def _instance(module: Mapping[str, Any], modules: Modules) -> Any:
    """Create what Ianvs gives a paradigm for a module."""
    kind, given = _KINDS.get(module["type"], ClassType.GENERAL), dict(module["hyperparameters"])
    if not module["url"]:
        return {"method": module["name"], **({"param": given} if given else {})}
    url = Path(module["url"])
    modules.load(url)
    if kind == ClassType.HEM:
        return {"method": module["name"], "param": given}
    made = registered(kind, module["name"], url)(**given)
    return (module["name"], made) if kind == ClassType.FL_AGG else made


def _metric(metric: Mapping[str, Any], modules: Modules) -> Metric:
    if metric["url"]:
        modules.load(Path(metric["url"]))
        found: Metric = registered(ClassType.GENERAL, metric["name"], Path(metric["url"]))
        return found
    own_metric = _OWN_METRICS.get(metric["name"])
    return own_metric if own_metric is not None else _Measured(metric["name"])


@dataclass(frozen=True, slots=True)
class _Measured:
    """A metric of `hearth_bench.scoring.system_metrics`, by name, which also gets the time of each sample."""

    name: str

    def __call__(self, y: Any, predictions: Any, sample_ms: Sequence[float]) -> float:
        from hearth_bench.scoring.system_metrics import measure_system  # only jobs that name such a metric import it

        found = list(predictions.values()) if isinstance(predictions, Mapping) else list(predictions)
        return measure_system(self.name, list(y), found, sample_ms)


def _score(name: str, function: Metric, y: Any, result: Result, sample_ms: Sequence[float], outcome: Outcome) -> None:
    """Compute one metric; its failure does not affect the others."""
    try:
        if name in SYSTEM_METRICS or function in _OWN_METRICS.values():
            value = function(dict(result.system))
        elif isinstance(function, _Measured):
            value = function(y, result.predictions, sample_ms[-len(y) :])
        else:
            value = function(y, result.predictions)
    except Exception as error:
        _log_traceback()
        outcome.metrics[name] = None
        outcome.faults.append(f"the metric {name!r} failed: {_said(error)}")
        return
    reason = str(getattr(value, "reason", ""))  # `system_metrics.NotMeasured` is a NaN that carries its reason
    if reason and getattr(value, "is_of_machine", False):
        outcome.absent[name] = reason
    elif value is None or (isinstance(value, float | np.floating) and not math.isfinite(value)):
        why = f": {reason}" if reason else ""
        outcome.faults.append(f"the metric {name!r} is {'nothing' if value is None else float(value)}{why}")
    outcome.metrics[name] = jsonable(value)


# ── Metrics of our own, by the names a test environment may use without a file ────────────────────────────


def _all_rows(system: Mapping[str, Any]) -> Any:
    rows = system.get("MATRIX", {}).get("all")
    if rows is None:
        raise ValueError("there is no matrix; it needs lifelong learning with a mode of model_metric")
    return rows


def _r_of(system: Mapping[str, Any]) -> tuple[own.Matrix, list[float]]:
    return own.split_ianvs_matrix(_all_rows(system))


_OWN_METRICS: Mapping[str, Metric] = {
    "BWT": lambda s: own.ianvs_backward_transfer(_all_rows(s)),
    "FWT": lambda s: own.ianvs_forward_transfer(_all_rows(s)),
    "MATRIX": lambda s: {key: own.ianvs_matrix(rows) for key, rows in s["MATRIX"].items()},
    "samples_transfer_ratio": lambda s: own.ianvs_samples_transfer_ratio(s["samples_transfer_ratio"]),
    "task_avg_acc": lambda s: own.ianvs_task_avg_acc([s["task_avg_acc"]]),
    "ACC": lambda s: own.average_accuracy(_r_of(s)[0]),
    "BWT_std": lambda s: own.backward_transfer(_r_of(s)[0]),
    "FWT_std": lambda s: own.forward_transfer(*_r_of(s)),
    "forgetting": lambda s: own.forgetting(_r_of(s)[0]),
}


def _continual(result: Result, outcome: Outcome) -> None:
    if not result.system.get("MATRIX"):
        return
    try:
        r, untaught = _r_of(result.system)
    except ValueError as error:
        outcome.faults.append(f"no continual metrics: {error}")
        return
    outcome.continual = {
        "r_matrix": r.tolist(),
        "untaught": untaught,
        "acc": own.average_accuracy(r),
        "bwt": own.backward_transfer(r),
        "fwt": own.forward_transfer(r, untaught),
        "forgetting": own.forgetting(r),
        "ianvs_bwt": own.ianvs_backward_transfer(_all_rows(result.system)),
        "ianvs_fwt": own.ianvs_forward_transfer(_all_rows(result.system)),
    }


# ── Writing ───────────────────────────────────────────────────────────────────────────────────────────────


def _write_predictions(folder: Path, data: Any, predictions: Any, sample_ms: list[float], outcome: Outcome) -> None:
    """Write one line per sample: number, question, right answer, prediction and, if known, milliseconds and usage."""
    is_same = len(predictions) == len(data.x)
    times = sample_ms[-len(data.x) :] if is_same and len(sample_ms) >= len(data.x) else []
    lines, bad = [], []
    for k in range(len(data.x) if is_same else len(predictions)):
        line: dict[str, Any] = {"index": k}
        if is_same:
            line |= {"question": jsonable(data.x[k]), "answer": jsonable(data.y[k])}
        found = list(predictions.items())[k] if isinstance(predictions, Mapping) else predictions[k]
        line["prediction"] = jsonable(found)
        if times:
            line["ms"] = round(times[k], 3)
        text = json.dumps(line, ensure_ascii=False)
        if "usage" in text:
            try:
                said = _usage(found)
                text = json.dumps({**line, "usage": said}, ensure_ascii=False) if said else text
            except ValueError as error:
                bad.append(f"prediction {k}: {error}")
        lines.append(text)
    if bad:
        outcome.faults.append(f"what {len(bad)} predictions say that they cost is not read, the first {bad[0]}")
    write_bytes(folder / "predictions.jsonl", ("\n".join(lines) + "\n").encode())


def _usage(prediction: Any) -> dict[str, Any]:
    """Return the cost that a prediction states, as `hearth_bench.scoring.system_metrics` reads it. Raises:
    ValueError."""
    from hearth_bench.scoring.system_metrics import usage_of

    return usage_of(prediction).document()


def _log_traceback() -> None:
    """Log the traceback for the module's author; with a full disk there is no log, but the fault is still reported."""
    with contextlib.suppress(OSError):
        traceback.print_exc()


def _said(error: BaseException) -> str:
    """Describe an error, and where in a job's file it occurred."""
    if isinstance(error, EgressError):
        return f"{error}; or let the job's modules connect: --network"
    if isinstance(error, HearthError):
        return str(error)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/hearth_bench/" not in f.filename]
    frames = [f for f in frames if "importlib" not in f.filename]
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno}, in {frames[-1].name})" if frames else ""
    text = " ".join(str(error).split())
    kind = type(error).__name__
    return f"{kind}: {text if len(text) <= 300 else text[:299] + '…'}{where}" if text else f"{kind}{where}"


def _cost(counter: EnergyCounter, wall: float, cpu: float, energy_uj: Sequence[int] | None) -> dict[str, float]:
    spent_j = counter.spent_j(energy_uj)
    cost = {
        "wall_s": round(time.perf_counter() - wall, 3),
        "cpu_s": round(time.process_time() - cpu, 3),
        "peak_rss_bytes": float(peak_rss_bytes()),
    }
    if spent_j is not None:
        cost["energy_j"] = round(spent_j, 2)
    return cost


class _SeedsNumpy(MetaPathFinder):
    """Import hook that seeds `numpy.random` on a module's first import of it; always importing it would take a tenth
    of a small case."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name == "numpy.random" else None
        if spec is None or spec.loader is None:
            return None
        sys.meta_path.remove(self)
        execute = spec.loader.exec_module

        def then_seed(module: ModuleType) -> None:
            execute(module)
            module.seed(self.seed)

        spec.loader.exec_module = then_seed  # type: ignore[method-assign]
        return spec


def _seed(seed: int) -> None:
    random.seed(seed)
    if "numpy.random" in sys.modules:
        np.random.seed(seed % 2**32)  # algorithm files draw from the global generator
    elif not any(isinstance(finder, _SeedsNumpy) for finder in sys.meta_path):
        sys.meta_path.insert(0, _SeedsNumpy(seed % 2**32))
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)


@contextlib.contextmanager
def _environment() -> Iterator[None]:
    before = dict(os.environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
