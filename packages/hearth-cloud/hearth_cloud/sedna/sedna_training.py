"""The workers of Sedna's `LifelongLearningJob` that learn: `train` and `evaluate`.

`train` teaches a student the samples that Sedna hands out and writes one model file; `evaluate` measures models and
says which may be deployed. Learning is exact: a training that continues from the last model gives the same student as
all the samples together. The gate of `hearth learn` applies here, too: a batch that makes known tasks worse is
rejected, and the last model is reported again.
"""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hearth.errors import ConfigError, RequestError, StoreError
from hearth.learning.demonstration_store import Entry, why_not, why_touched
from hearth.learning.versions import promotion_gate
from hearth.learning.versions.drafting import Drafts
from hearth.learning.versions.promotion_gate import Progress, Verdict, describe, grouped, node_f1, scored, tasks_of
from hearth.planning.ranking.ranker import Ranker
from hearth.protocols import Encoder
from hearth.types import Demonstration, ToolSpec
from hearth_cloud.sedna.sedna_dataset import Samples, read_samples
from hearth_cloud.sedna.sedna_model import FILE_NAME, FORMAT, Model, manner_of, read_model, write_model
from hearth_cloud.sedna.sedna_protocol import Environment

_N_AT_ONCE = 32
_N_BEFORE = 400
_N_JUDGED = 600
"""Number of samples on which models are compared."""
_OPERATORS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le, "=": operator.eq}
METRICS = ("tool_f1", "exact_tools", "exact_order", "confidence")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a worker."""

    results: tuple[Mapping[str, object], ...]
    """Rows for Sedna's reports, one model each."""
    info: Mapping[str, object]
    notes: tuple[str, ...] = ()
    """Remarks for a person."""


# ── Training ──────────────────────────────────────────────────────────────────────────────────────────────


def train(env: Environment, encoder: Encoder, tools: Mapping[str, ToolSpec], progress: Progress) -> Outcome:
    """Train on the part of the data set that Sedna chose, on top of the last model if there is one.

    Args:
        tools: What can be planned; those of the last model are kept beside them.
    Raises:
        ConfigError: The environment lacks something. RequestError: No sample can be learnt.
        StoreError: The last model cannot be read, or the new one not written.
    """
    file = env.path("TRAIN_DATASET_URL", "which samples to learn")
    output = env.path("OUTPUT_URL", "where the model goes")
    samples = read_samples(file, _root_of(env))
    notes = list(samples.faults)
    last, where = _last_model(env, output, encoder, notes)
    known = {**(last.tools if last else {}), **tools}
    student = last.student if last else Ranker(encoder, known)
    student.set_tools(known)
    entries = _learnable(samples, known, notes)
    if not entries:
        raise RequestError(f"{file}: none of its samples can be learnt; the first fault: {notes[0]}")
    fresh = {entry.id: entry.demonstration for entry in entries}
    before = _before(student, last, fresh)
    demonstrations = list(fresh.values())
    for start in range(0, len(demonstrations), _N_AT_ONCE):
        student.learn(demonstrations[start : start + _N_AT_ONCE])
        progress("learning", min(start + _N_AT_ONCE, len(demonstrations)), len(demonstrations))
    student.renew()
    drafts = Drafts(student)
    tasks = tasks_of(drafts, student.ids)
    judged = promotion_gate.choose({task.name: task.members for task in tasks}, _N_JUDGED)
    made = describe(drafts, tasks, {*judged, *before}, progress)
    verdict = _verdict(last, before, made.scores, sorted(fresh))
    if last is not None and not verdict.is_promoted:
        notes.append(f"the gate refused the batch: {verdict.reason}; the last model stays")
        return _reported(env, where, last.record, len(entries), notes)
    more = {"n_learnt": len(entries), "gate": verdict.to_json()}
    model = Model.of(student, known, made, manner_of(demonstrations, last.manner if last else None, student), more)
    path = output / FILE_NAME
    write_model(path, model)
    notes.append(f"learnt {len(entries)} demonstrations, {len(student)} in all, {len(made.tasks)} tasks: {path}")
    return _reported(env, path, model.record, len(entries), notes)


def _root_of(env: Environment) -> Path | None:
    """Return the folder of the data set itself, where the paths in it begin."""
    original = env.get("ORIGINAL_DATASET_URL")
    return env.path("ORIGINAL_DATASET_URL", "").parent if original and "://" not in original else None


def _last_model(env: Environment, output: Path, encoder: Encoder, notes: list[str]) -> tuple[Model | None, Path]:
    """Find the model that training continues from; Sedna forgets its place when the report of a training was lost."""
    if not env.is_true("HAS_COMPLETED_INITIAL_TRAINING"):
        return None, output
    named = env.get("CLOUD_KB_INDEX")
    path = env.in_container(named) if named else _newest_beside(output)
    if path is None:
        notes.append("Sedna names no earlier model, and none lies beside the output: learning begins anew")
        return None, output
    if not named:
        notes.append(f"Sedna names no earlier model; learning goes on from {str(path)!r}, the newest beside the output")
    return read_model(path, encoder), path


def _newest_beside(output: Path) -> Path | None:
    """Find the model of the latest round before this one; Sedna numbers the folders."""
    own = int(output.name) if output.name.isdigit() else None
    rounds = []
    for path in output.parent.glob(f"*/{FILE_NAME}"):
        if path.parent.name.isdigit() and (own is None or int(path.parent.name) < own):
            rounds.append((int(path.parent.name), path))
    return max(rounds)[1] if rounds else None


def _learnable(samples: Samples, tools: Mapping[str, ToolSpec], notes: list[str]) -> list[Entry]:
    kept = []
    for entry in samples.entries:
        if fault := why_not(entry, tools) or why_touched(entry, tools):
            notes.append(f"not learnt: {fault}")
        else:
            kept.append(entry)
    return kept


def _before(student: Ranker, last: Model | None, fresh: Mapping[str, Demonstration]) -> dict[str, float]:
    """Score how well the last model plans its own samples, each left out, and the new ones."""
    if last is None:
        return {}
    own = promotion_gate.drawn((id for id in student.ids if id not in fresh), _N_BEFORE)
    scores = scored(Drafts(student), own)
    strange = promotion_gate.drawn((id for id in fresh if id not in set(student.ids)), _N_BEFORE)
    rankings = student.rank_readings(student.read([fresh[id].request for id in strange]))
    for id, found in zip(strange, rankings, strict=True):
        tools = found.candidates[0].tools if found.candidates else ()
        scores[id] = node_f1(tools, [step.tool for step in fresh[id].plan.steps])
    return scores


def _verdict(
    last: Model | None, before: Mapping[str, float], after: Mapping[str, float], fresh: Sequence[str]
) -> Verdict:
    """Return the gate's verdict. Sedna hands out each sample once, so a harmless batch is learnt even if nothing
    improves."""
    tasks = grouped(last.tasks if last else (), sorted(before.keys() & after.keys()), promotion_gate.LEAST_SAMPLES)
    return promotion_gate.judge(before, after, tasks, taught_new=True, fresh=fresh)


def _reported(env: Environment, path: Path, record: Mapping[str, object], n: int, notes: Sequence[str]) -> Outcome:
    scores = {"tool_f1": [record["node_f1"]]} if "node_f1" in record else {}
    result = {"format": FORMAT, "url": env.on_node(path), "metrics": scores}
    return Outcome((result,), {"sampleNum": n, "tasks": record.get("n_tasks", 0)}, tuple(notes))


# ── Evaluation ────────────────────────────────────────────────────────────────────────────────────────────


def evaluate(env: Environment, encoder: Encoder, progress: Progress) -> Outcome:
    """Measure models on the samples Sedna held out, write `metrics.json`, and name the models fit to be deployed, best
    first.

    Sedna deploys the first that is reported. `metrics` in the environment names the deciding metric (default
    `tool_f1`), `model_threshold` and `operator` (default `>=`) what a model must reach; without a threshold any is fit.

    Raises:
        ConfigError, RequestError, StoreError: As for `train`; also when no model at all can be read.
    """
    file = env.path("TEST_DATASET_URL", "which samples to measure on")
    output = env.path("OUTPUT_URL", "where the metrics go")
    paths = env.paths("MODEL_URLS", "which models to measure")
    metric = env.get("metrics", METRICS[0])
    compare = _OPERATORS.get(env.get("operator", ">="))
    if metric not in METRICS or compare is None:
        raise ConfigError(
            f"metrics is {metric!r} and operator {env.get('operator', '>=')!r}; expected one of {', '.join(METRICS)} "
            f"and one of {' '.join(_OPERATORS)}"
        )
    threshold = env.number("model_threshold", float("-inf"), float("-inf"), float("inf"))
    samples = read_samples(file, _root_of(env))
    notes, measured = list(samples.faults), []
    for place, path in enumerate(paths):
        model = read_model(path, encoder)
        gold = {e.id: e.demonstration for e in samples.entries if not _fault_of(e, model.tools, notes)}
        if not gold:
            raise RequestError(f"{file}: none of its samples can be measured with; the first fault: {notes[0]}")
        measured.append((path, scores := measure(model.student, gold)))
        notes.append(f"{path}: {', '.join(f'{name} {value:.4f}' for name, value in scores.items())}")
        progress("measuring", place + 1, len(paths))
    measured.sort(key=lambda one: -one[1][metric])
    fit = [(path, scores) for path, scores in measured if compare(scores[metric], threshold)]
    for path, scores in measured if not fit else ():
        notes.append(f"{path}: {metric} {scores[metric]:.4f} is not {env.get('operator', '>=')} {threshold:g}")
    document = [{"model": env.on_node(path), "n": len(samples.entries), "metrics": scores} for path, scores in measured]
    write_json(output / "metrics.json", {"metric": metric, "models": document})
    results = tuple(
        {"format": FORMAT, "url": env.on_node(path), "metrics": {name: [value] for name, value in scores.items()}}
        for path, scores in fit
    )
    return Outcome(results, {"sampleNum": len(samples.entries)}, tuple(notes))


def _fault_of(entry: Entry, tools: Mapping[str, ToolSpec], notes: list[str]) -> str:
    fault = why_not(entry, tools)
    if fault:
        notes.append(f"not measured: {fault}")
    return fault


def measure(student: Ranker, gold: Mapping[str, Demonstration]) -> dict[str, float]:
    """Measure how well tools are planned: F1 of their sets, shares with the right set and the right order,
    confidence."""
    ids = list(gold)
    f1 = exact = order = sure = 0.0
    for start in range(0, len(ids), _N_AT_ONCE):
        part = ids[start : start + _N_AT_ONCE]
        rankings = student.rank_readings(student.read([gold[id].request for id in part]))
        for id, ranking in zip(part, rankings):
            planned = ranking.candidates[0].tools if ranking.candidates else ()
            wanted = tuple(step.tool for step in gold[id].plan.steps)
            f1 += node_f1(planned, wanted)
            exact += set(planned) == set(wanted)
            order += tuple(planned) == wanted
            sure += ranking.confidence
    n = len(ids)
    return dict(zip(METRICS, (round(value / n, 6) for value in (f1, exact, order, sure))))


def write_json(path: Path, document: object) -> None:
    """Write a JSON file atomically. Raises: StoreError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StoreError(f"cannot write {str(path)!r}: {error.strerror}; it is as before") from None
