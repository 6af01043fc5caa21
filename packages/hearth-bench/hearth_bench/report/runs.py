"""Read runs for reports: the workspace of a job, one case of it, the result of a suite, or a file of plans.

A case keeps each sample's right answer and prediction. Both are read as plans if they are plans (the plan format, also
as JSON text), as one call if they are a name or `name(…)`, else compared as text. Samples are scored here from those
alone: a job's own metrics are code of the job, which a report does not run.

Covered: a workspace that was moved; cases that failed or are not finished; lines that are no samples (counted).
Not covered: a tool that a sentence names in passing.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hearth.errors import RequestError
from hearth.formats.plans import read_jsonl
from hearth.types import Plan, Ref
from hearth_bench.data.datasets import gold_from_json, gold_of, graph_of
from hearth_bench.ianvs.case_outcome import read_outcome
from hearth_bench.metrics.argument_f1 import argument_scores
from hearth_bench.metrics.plan_metrics import PlanGraph, f1, is_accurate
from hearth_bench.scoring.sample_answers import plan_in, unwrapped

_CALL = re.compile(r"\s*([A-Za-z_][\w.:/-]*)\s*(?:\(.*\))?\s*", re.S)
_MAX_DOCUMENT_BYTES = 50_000_000


# ── What a run is ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Judged:
    """One sample with its prediction."""

    key: str
    """Key that is the same for the same sample of another run."""
    question: str
    right: str
    planned: str
    """Predicted plan for a reader; `right` is the right one."""
    right_tools: tuple[str, ...] | None
    """Tools of the right plan; None: not a plan."""
    planned_tools: tuple[str, ...] | None
    scores: Mapping[str, float]
    """Scores of the sample: `right`; for plans `tool_f1 same_tools same_order` and, if defined, `link_f1 arg_value_f1`;
    its cost `cloud ms tokens bytes_out energy_j`."""


@dataclass(frozen=True, slots=True)
class CaseRun:
    """One case: an algorithm with one choice of hyperparameters, or a file of plans."""

    name: str
    chosen: str
    """Hyperparameters of the case."""
    paradigm: str
    metrics: Mapping[str, float | None]
    """Numeric metrics as the job computed them; for a file of plans, means of the samples' scores."""
    cost: Mapping[str, float]
    samples: tuple[Judged, ...]
    continual: Mapping[str, Any] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict)
    """Values that the machine could not measure, with the reasons."""
    error: str = ""
    """Reason why the case is not done."""
    n_unread: int = 0
    """Number of lines in its predictions that are no samples."""

    @property
    def label(self) -> str:
        return f"{self.name} ({self.chosen})" if self.chosen else self.name

    def mean(self, score: str) -> float | None:
        """Return the mean of a score over the samples that have it."""
        values = [sample.scores[score] for sample in self.samples if score in sample.scores]
        return math.fsum(values) / len(values) if values else None


@dataclass(frozen=True, slots=True)
class Run:
    """Contents of one path."""

    name: str
    path: Path
    cases: tuple[CaseRun, ...] = ()
    """Cases, the best first by the job's ranking, failed ones last."""
    document: Mapping[str, Any] | None = None
    """Document of a suite's result."""
    origin: Mapping[str, Any] = field(default_factory=dict)
    """Fields `commit machine seed at version`, where known."""

    @property
    def done(self) -> list[CaseRun]:
        return [case for case in self.cases if not case.error]


def read_run(path: Path, gold: Path | None = None) -> Run:
    """Read a run from a workspace, a case, a result or a file of plans.

    Args:
        gold: Right plans for a file of plans, matched by id.
    Raises:
        RequestError: The path cannot be read, or is none of these.
    """
    if path.is_dir():
        if (path / "case.json").is_file():
            return Run(path.parent.name, path, (_case(path),), origin=_origin_of_job(path.parents[1]))
        if any(path.glob("*/*/case.json")):
            return _job(path)
        jobs = sorted({found.parents[2].name for found in path.glob("*/*/*/case.json")})
        hint = f"; it holds {', '.join(jobs)}: name one of them" if jobs else "; name the folder of a job's workspace"
        raise RequestError(f"{str(path)!r} holds no cases of `hearth bench run`{hint}")
    if not path.exists():
        raise RequestError(f"there is no {str(path)!r}; expected a workspace, a result's .json or a .jsonl of plans")
    if path.suffix == ".jsonl":
        if gold is None:
            raise RequestError(f"{path}: plans are judged against right ones; name them with --gold")
        return _plans(path, gold)
    document = _json(path)
    keys = ("commit", "machine", "seed", "at", "version")
    return Run(path.stem, path, document=document, origin={k: document[k] for k in keys if k in document})


def _json(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _MAX_DOCUMENT_BYTES:
            raise RequestError(f"{path}: has {path.stat().st_size:,} bytes; expected a result of at most 50 million")
        document = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise RequestError(f"cannot read {str(path)!r}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise RequestError(f"{path}: is no JSON ({error}); expected a result of `hearth bench`") from None
    if not isinstance(document, dict):
        raise RequestError(f"{path}: holds {type(document).__name__}; expected one JSON object")
    return document


# ── Workspaces ────────────────────────────────────────────────────────────────────────────────────────────


def _job(path: Path) -> Run:
    """Read a job's workspace: the cases of its ranking in order, then the others, failed ones last."""
    folders = {found.parent.relative_to(path): found.parent for found in sorted(path.glob("*/*/case.json"))}
    ranked = [folders.pop(place) for place in _ranking(path / "rank" / "all_rank.csv") if place in folders]
    read = [_case_or_why_not(folder) for folder in ranked]
    done = [case for case in read if not case.error]
    rest = [case for case in read if case.error] + [_case_or_why_not(folder) for folder in folders.values()]
    known = {case.label for case in done} | {case.label for case in rest if not case.error}
    done += [case for case in rest if not case.error]
    failed = {case.label: case for case in rest if case.error and case.label not in known}
    return Run(path.name, path, (*done, *failed.values()), origin=_origin_of_job(path))


def _ranking(path: Path) -> list[Path]:
    """Return `ALGORITHM/ID` of each row; the rest of its url may be outdated."""
    try:
        rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))
    except (OSError, UnicodeDecodeError, csv.Error):
        return []
    return [Path(*Path(row["url"]).parts[-2:]) for row in rows if row.get("url")]


def _origin_of_job(path: Path) -> Mapping[str, Any]:
    found = sorted((path / "runs").glob("*.json"))
    document = _json(found[-1]) if found else {}
    return {key: document[key] for key in ("commit", "machine", "seed", "at", "version") if key in document}


def _case_or_why_not(folder: Path) -> CaseRun:
    """Read a case; one that cannot be read becomes a failed case, so that no other is lost."""
    try:
        return _case(folder)
    except RequestError as error:
        return CaseRun(folder.parent.name, "", "", {}, {}, (), error=f"it cannot be read: {error}")


def _case(folder: Path) -> CaseRun:
    document = _json(folder / "case.json")
    modules = document.get("modules", [])
    if not (isinstance(modules, list) and all(isinstance(module, Mapping) for module in modules)):
        raise RequestError(f"{folder / 'case.json'}: modules is {modules!r}; expected a list of mappings")
    given = [module.get("hyperparameters") or {} for module in modules]
    chosen = ", ".join(f"{k}={v}" for one in given if isinstance(one, Mapping) for k, v in one.items())
    name, paradigm = str(document.get("algorithm", folder.parent.name)), str(document.get("paradigm", ""))
    outcome = read_outcome(folder)
    if outcome is None or outcome.status != "done":
        why = "it was not finished" if outcome is None else f"{outcome.stage}: {outcome.error}".strip(": ")
        return CaseRun(name, chosen, paradigm, {}, {}, (), error=why or "it failed")
    numbers = {k: v for k, v in outcome.metrics.items() if v is None or isinstance(v, int | float)}
    samples, n_unread = _samples(folder / "predictions.jsonl", is_joint=paradigm == "jointinference")
    return CaseRun(
        name, chosen, paradigm, numbers, outcome.cost, samples, outcome.continual, tuple(outcome.faults),
        outcome.absent, n_unread=n_unread,
    )  # fmt: skip


def _samples(path: Path, *, is_joint: bool) -> tuple[tuple[Judged, ...], int]:
    faults: list[str] = []
    found: list[Judged] = []
    asked = Counter[str]()
    if not path.exists():
        return (), 0
    for _, line in read_jsonl(path, faults):
        if not {"question", "answer", "prediction"} <= line.keys():
            faults.append("no sample")
            continue
        question, planned, more = as_text(line["question"]), line["prediction"], dict[str, float]()
        if is_joint and isinstance(planned, list) and len(planned) == 4:  # is hard, result, edge's, cloud's
            more["cloud"] = float(planned[0] not in (False, None, "False", 0))
            planned = planned[1]
        if isinstance(line.get("ms"), int | float):
            more["ms"] = float(line["ms"])
        more |= _spent(line.get("usage"))
        asked[question] += 1  # the same question asked again is another sample
        found.append(judged(f"{question}#{asked[question]}", _asked(question), line["answer"], planned, more))
    return tuple(found), len(faults)


def _asked(question: str) -> str:
    """Return the person's request from a question that holds more; Hearth's examples add time and person."""
    value = unwrapped(question)
    said = value.get("user_request") if isinstance(value, Mapping) else None
    return said if isinstance(said, str) else question


def _spent(usage: Any) -> dict[str, float]:
    """Read the cost of a sample from its line of predictions (`hearth_bench.scoring.system_metrics`)."""
    if not isinstance(usage, Mapping):
        return {}
    known = {name: float(value) for name, value in usage.items() if isinstance(value, int | float)}
    found = {name: known[name] for name in ("bytes_out", "energy_j") if name in known}
    if "cloud_calls" in known:
        found["cloud"] = float(known["cloud_calls"] > 0)
    if {"prompt_tokens", "completion_tokens"} <= known.keys():
        found["tokens"] = known["prompt_tokens"] + known["completion_tokens"]
    if "latency_ms" in known:
        found["ms"] = known["latency_ms"]
    return found


def _plans(path: Path, gold: Path) -> Run:
    faults: list[str] = []
    given = {str(line.get("id") or f"{path.stem}-{number}"): line for number, line in read_jsonl(path, faults)}
    found: list[Judged] = []
    n_planned = 0
    for number, line in read_jsonl(gold, faults):
        key = str(line.get("id") or f"{gold.stem}-{number}")
        n_planned += key in given
        found.append(judged(key, as_text(line.get("user_request", "")), line, given.get(key, {"task_nodes": []}), {}))
    if not n_planned:
        raise RequestError(f"{path}: none of its {len(given)} ids is one of {gold}; plans are matched by id")
    made = CaseRun(path.stem, "", "plans", {}, {}, tuple(found), n_unread=len(faults))
    names = list(dict.fromkeys(name for sample in found for name in sample.scores))
    metrics = {name: round(value, 4) for name in names if (value := made.mean(name)) is not None}
    case = CaseRun(path.stem, "", "plans", metrics, {}, tuple(found), n_unread=len(faults))
    return Run(path.stem, path, (case,))


# ── Samples ───────────────────────────────────────────────────────────────────────────────────────────────


def judged(key: str, question: str, answer: Any, prediction: Any, more: Mapping[str, float]) -> Judged:
    """Compare one prediction with its right answer."""
    right, planned = unwrapped(answer), unwrapped(prediction)
    right_plan, planned_plan = plan_in(right), plan_in(planned)
    if right_plan is None:
        right_tools, planned_tools = _names(right), _names(planned)
        is_right = as_text(right) == as_text(planned)
        scores = {"right": float(is_right)}
        if right_tools is not None:
            scores |= _tool_scores(PlanGraph(planned_tools or (), ()), PlanGraph(right_tools, ()))
        return Judged(key, question, as_text(right), as_text(planned), right_tools, planned_tools, {**scores, **more})
    made = planned_plan if planned_plan is not None else Plan(())
    gold = gold_from_json(right, right_plan) if isinstance(right, Mapping) else gold_of(right_plan)
    mine = graph_of(made)
    scores = _tool_scores(mine, gold.graph)
    if gold.graph.links:
        scores["link_f1"] = f1(mine.links, gold.graph.links)
    arguments = argument_scores([made.steps], [gold.calls], {})
    if any(call.right for call in gold.calls) and arguments["arg_value_f1"] is not None:
        scores["arg_value_f1"] = arguments["arg_value_f1"]
    same = Counter(mine.nodes) == Counter(gold.graph.nodes) and set(mine.links) == set(gold.graph.links)
    scores = {"right": float(same and arguments["call_exact"] in (None, 1.0)), **scores}
    return Judged(
        key, question, plan_text(right_plan), plan_text(made) if planned_plan is not None else as_text(planned),
        gold.graph.nodes, mine.nodes, {**scores, **more},
    )  # fmt: skip


def _tool_scores(planned: PlanGraph, right: PlanGraph) -> dict[str, float]:
    """Score the tools of a plan; planning nothing is right if no tool fits the request."""
    if not right.nodes:
        return dict.fromkeys(("tool_f1", "same_tools", "same_order"), float(not planned.nodes))
    return {
        "tool_f1": f1(planned.nodes, right.nodes),
        "same_tools": float(is_accurate(planned, right)),
        "same_order": float(planned.nodes == right.nodes),
    }


def _names(value: Any) -> tuple[str, ...] | None:
    """Return the tools of an answer that is no plan: one call, or a list of names."""
    if isinstance(value, str):
        found = _CALL.fullmatch(value)
        return (found[1],) if found else None
    if isinstance(value, Sequence) and all(isinstance(one, str) and _CALL.fullmatch(one) for one in value):
        return tuple(found[1] for one in value if (found := _CALL.fullmatch(one)))
    return None


def plan_text(plan: Plan) -> str:
    """Format a plan on one line."""
    if not plan.steps:
        return "nothing"
    return "; ".join(
        f"{step.tool}({', '.join(f'{name}={_value(value)}' for name, value in step.arguments.items())})"
        for step in plan.steps
    )


def _value(value: Any) -> str:
    return str(value) if isinstance(value, Ref) else as_text(value)


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
