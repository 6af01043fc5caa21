"""The workers of Sedna's `LifelongLearningJob` and of the edge side of its `JointInferenceService`.

`train` learns a student from what Sedna hands out and writes one model file; `evaluate` measures models and says which
may be deployed; `infer` plans requests with the deployed one and sets aside what is of no task it knows;
`little_model` plans requests and puts those it is unsure of, masked, to the big model.

Learning is exact: a training that goes on from the last model gives the student that all the samples together would
have given. The gate of `hearth learn` holds here, too: a batch that makes known tasks worse is not taken, and the last
model is reported again. What `infer` and `little_model` read is a file of requests, once or as it grows.
"""

from __future__ import annotations

import datetime as dt
import json
import operator
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hearth.cloud.sedna import BigModel, Environment, Status, report, request_id
from hearth.cloud.sedna_data import Samples, read_requests, read_samples
from hearth.cloud.sedna_model import FILE_NAME, FORMAT, Manner, Model, manner_of, read_model, write_model
from hearth.errors import ConfigError, HearthError, PlanError, RequestError, StoreError
from hearth.learn import gate
from hearth.learn.buffer import Entry, why_not, why_touched
from hearth.learn.describing import Progress, describe, scores_of
from hearth.learn.gate import Verdict, node_f1
from hearth.learn.tasks import grouped
from hearth.plan_format import plan_from_json, plan_to_json
from hearth.planning.check import check_plan
from hearth.planning.drafting import Drafter
from hearth.planning.readable import MAX_CHARACTERS
from hearth.planning.student import Student
from hearth.protocols import Encoder
from hearth.types import Demonstration, Plain, Plan, Refusal, ToolSpec
from hearth.wire import PlanAsked, PlanGiven

if TYPE_CHECKING:
    import httpx

    from hearth.guard.masked_model import OwnersMask

JOB, SERVICE = "lifelonglearningjob", "jointinferenceservice"
"""Kinds of owners, as Sedna's reports name them."""
_N_AT_ONCE = 32
_N_BEFORE = 400
_OPERATORS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le, "=": operator.eq}
METRICS = ("tool_f1", "exact_tools", "exact_order", "confidence")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a worker did."""

    results: tuple[Mapping[str, object], ...]
    """As Sedna's reports hold them: one model each."""
    info: Mapping[str, object]
    notes: tuple[str, ...] = ()
    """For a person."""


# ── Training ──────────────────────────────────────────────────────────────────────────────────────────────


def train(env: Environment, encoder: Encoder, tools: Mapping[str, ToolSpec], progress: Progress) -> Outcome:
    """Learn what Sedna chose of the data set, on top of the last model where there is one.

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
    student = last.student if last else Student(encoder, known)
    student.set_tools(known)
    entries = _learnable(samples, known, notes)
    if not entries:
        raise RequestError(f"{file}: none of its samples can be learnt; the first fault: {notes[0]}")
    fresh = {entry.id: entry.demonstration for entry in entries}
    before = _before(student, last, fresh)
    is_new = bool({s.tool for d in fresh.values() for s in d.plan.steps} - _tools_planned(last))
    demonstrations = list(fresh.values())
    for start in range(0, len(demonstrations), _N_AT_ONCE):
        student.learn(demonstrations[start : start + _N_AT_ONCE])
        progress("learning", min(start + _N_AT_ONCE, len(demonstrations)), len(demonstrations))
    student.renew()
    made = describe(student, student.ids, before.keys(), progress)
    verdict = _verdict(last, before, made.scores, sorted(fresh), is_new)
    if last is not None and not verdict.is_promoted and not env.is_true("hearth_anyway"):
        notes.append(f"the gate refused the batch: {verdict.reason}; the last model stays")
        return _reported(env, where, last.record, len(entries), notes)
    more = {"n_learnt": len(entries), "gate": verdict.to_json()}
    model = Model.of(student, known, made, manner_of(demonstrations, last.manner if last else None, student), more)
    path = output / FILE_NAME
    write_model(path, model)
    notes.append(f"learnt {len(entries)} demonstrations, {len(student)} in all, {len(made.tasks)} tasks: {path}")
    return _reported(env, path, model.record, len(entries), notes)


def _root_of(env: Environment) -> Path | None:
    """Folder of the data set itself, where the paths in it begin."""
    original = env.get("ORIGINAL_DATASET_URL")
    return env.path("ORIGINAL_DATASET_URL", "").parent if original and "://" not in original else None


def _last_model(env: Environment, output: Path, encoder: Encoder, notes: list[str]) -> tuple[Model | None, Path]:
    """The model that training goes on from; Sedna forgets its place when the report of a training was lost."""
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
    """The model of the latest round before this one: Sedna numbers the folders."""
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


def _tools_planned(model: Model | None) -> set[str]:
    return {tool for task in model.tasks for tool, _ in task.tools} if model else set()


def _before(student: Student, last: Model | None, fresh: Mapping[str, Demonstration]) -> dict[str, float]:
    """How well the last model plans its own samples, each left out, and the new ones."""
    if last is None:
        return {}
    own = gate.drawn((id for id in student.ids if id not in fresh), _N_BEFORE)
    scores = {}
    for start in range(0, len(own), _N_AT_ONCE):
        part = own[start : start + _N_AT_ONCE]
        for id, ranking in zip(part, student.rank_left_out(part)):
            planned = ranking.candidates[0].tools if ranking.candidates else ()
            scores[id] = node_f1(planned, student.taught(id).sequence)
    strange = gate.drawn((id for id in fresh if id not in set(student.ids)), _N_BEFORE)
    readings = student.read([fresh[id].request for id in strange])
    return {**scores, **scores_of(strange, student.rank_readings(readings), fresh)}


def _verdict(
    last: Model | None, before: Mapping[str, float], after: Mapping[str, float], fresh: Sequence[str], is_new: bool
) -> Verdict:
    tasks = grouped(last.tasks if last else (), sorted(before.keys() & after.keys()), gate.LEAST_SAMPLES)
    return gate.judge(before, after, tasks, taught_new=is_new, fresh=fresh)


def _reported(env: Environment, path: Path, record: Mapping[str, object], n: int, notes: Sequence[str]) -> Outcome:
    scores = {"tool_f1": [record["node_f1"]]} if "node_f1" in record else {}
    result = {"format": FORMAT, "url": env.on_node(path), "metrics": scores}
    return Outcome((result,), {"sampleNum": n, "tasks": record.get("n_tasks", 0)}, tuple(notes))


# ── Evaluation ────────────────────────────────────────────────────────────────────────────────────────────


def evaluate(env: Environment, encoder: Encoder, progress: Progress) -> Outcome:
    """Measure models on what Sedna kept apart, write `metrics.json`, and name those fit to be deployed, best first.

    Sedna deploys the first that is reported. `metrics` in the environment names what decides (default `tool_f1`),
    `model_threshold` and `operator` (default `>=`) what a model must reach; without a threshold any is fit.

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
    for path, scores in measured[len(fit) :] if not fit else ():
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


def measure(student: Student, gold: Mapping[str, Demonstration]) -> dict[str, float]:
    """How well tools are planned: F1 of their sets, the share with the right set and the right order, sureness."""
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


# ── Planning ──────────────────────────────────────────────────────────────────────────────────────────────


class Planning:
    """Makes plans with a model: what the deployed worker, the little and the big model do. Not thread-safe."""

    def __init__(self, model: Model, cache: Path | None) -> None:
        self.model = model
        self._drafter: Drafter = model.drafter(cache)

    def plans(self, asked: Sequence[PlanAsked], tools: Mapping[str, ToolSpec] | None = None) -> list[PlanGiven]:
        """A plan with its confidence, or a refusal, for each; in order. Args: tools: Instead of the model's own."""
        offered = tools or self.model.tools
        readable = [one for one in asked if 0 < len(one.request.strip()) <= MAX_CHARACTERS]
        rankings = iter(self._drafter.rank([one.request for one in readable], [()] * len(readable), offered))
        kept = {id(one) for one in readable}
        return [self._given(one, next(rankings), offered) if id(one) in kept else _unread(one) for one in asked]

    def _given(self, one: PlanAsked, ranking: Any, tools: Mapping[str, ToolSpec]) -> PlanGiven:
        draft = self._drafter.draft(ranking, one.request, one.now, tools)
        if not draft.plan.steps:
            refusal = {"kind": "out_of_scope", "reason": "no tool on offer serves this"}
            return PlanGiven.model_validate({"id": one.id, "refusal": refusal, "teacher": Student.name})
        if draft.missing:
            reason = f"this is missing: {', '.join(draft.missing)}"
            refused = {"kind": "needs", "reason": reason, "missing": draft.missing[:32]}
            return PlanGiven.model_validate(
                {"id": one.id, "refusal": refused, "confidence": _share(ranking.confidence), "teacher": Student.name}
            )
        return PlanGiven(
            id=one.id,
            plan={"user_request": one.request, **plan_to_json(draft.plan)},
            confidence=_share(ranking.confidence),
            teacher=Student.name,
        )

    def unseen(self, asked: Sequence[PlanAsked]) -> list[bool]:
        """Of each request whether it is of a task the model was never taught."""
        readings = self.model.student.read([one.request for one in asked])
        return [one.is_unseen for one in self.model.allocate(readings)]


def _unread(one: PlanAsked) -> PlanGiven:
    reason = f"the request has {len(one.request):,} characters; 1 to {MAX_CHARACTERS:,} are read"
    return PlanGiven.model_validate({"id": one.id, "refusal": {"kind": "unreadable", "reason": reason}})


def _share(value: float) -> float:
    return min(1.0, max(0.0, float(value)))


class Requests:
    """A file of requests as it grows: what is new in it since the last look."""

    def __init__(self, path: Path, notes: list[str]) -> None:
        self.path = path
        self.notes = notes
        self._n_seen = 0
        self._n_bytes = -1

    def fresh(self) -> list[PlanAsked]:
        """Raises: RequestError: The file cannot be read."""
        try:
            n_bytes = self.path.stat().st_size
        except OSError as error:
            raise RequestError(f"cannot read the requests {str(self.path)!r}: {error.strerror}") from None
        if n_bytes == self._n_bytes:
            return []
        if n_bytes < self._n_bytes:
            self._n_seen = 0  # another file under the same name
        self._n_bytes = n_bytes
        found, faults = read_requests(self.path, None)
        self.notes += faults
        fresh = found[self._n_seen :]
        self._n_seen = len(found)
        return [_asked(one) for one in fresh]


def _asked(one: Demonstration) -> PlanAsked:
    now = one.now or dt.datetime.now(dt.UTC)
    text = one.request[: 2 * MAX_CHARACTERS][:4_000] or " "
    return PlanAsked(id=request_id(text), request=text, now=now if now.tzinfo else now.replace(tzinfo=dt.UTC), tools=())


def infer(env: Environment, encoder: Encoder, cache: Path | None, follow_s: float, stop: threading.Event) -> Outcome:
    """Plan the requests of `infer_dataset_url` with the deployed model; those of unseen tasks are set aside.

    Plans go to `RESULT_SAVED_URL` (a file of JSON lines), requests of unseen tasks to `unseen_save_url`, which can be
    the data set that the next training learns from once somebody has labelled them.

    Args:
        follow_s: Look for new requests and a new model so often, until told to stop; 0 plans what there is and ends.
    """
    (path,) = env.paths("MODEL_URLS", "which model plans")[:1]
    out = env.path("RESULT_SAVED_URL", "where the plans go")
    aside = env.get("unseen_save_url", env.get("UT_SAVED_URL"))
    notes: list[str] = []
    requests = Requests(env.path("infer_dataset_url", "which requests to plan"), notes)
    planning, stamp = Planning(read_model(path, encoder), cache), _stamp(path)
    n = n_unseen = 0
    for batch in _batches(requests, follow_s, stop):
        if (now := _stamp(path)) != stamp:
            planning, stamp = Planning(read_model(path, encoder), cache), now
            notes.append(f"{path}: a new model plans now")
        unseen = planning.unseen(batch)
        rows = [
            {**given.model_dump(mode="json"), "user_request": asked.request, "unseen": is_unseen}
            for asked, given, is_unseen in zip(batch, planning.plans(batch), unseen)
        ]
        append_lines(out, rows)
        strange = [{"user_request": asked.request, "id": asked.id} for asked, far in zip(batch, unseen) if far]
        if aside and strange:
            append_lines(Path(aside), strange)
        n, n_unseen = n + len(batch), n_unseen + len(strange)
    notes.append(f"planned {n} requests, {n_unseen} of unseen tasks: {out}")
    return Outcome((), {"inferenceNumber": n, "unseenNumber": n_unseen}, tuple(notes))


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise StoreError(f"cannot read the model {str(path)!r}: {error.strerror}") from None
    return found.st_mtime_ns, found.st_size


def _batches(requests: Requests, follow_s: float, stop: threading.Event) -> Iterator[list[PlanAsked]]:
    while True:
        fresh = requests.fresh()
        for start in range(0, len(fresh), _N_AT_ONCE):
            yield fresh[start : start + _N_AT_ONCE]
            if stop.is_set():
                return
        if not follow_s or stop.wait(follow_s):
            return


# ── The little model ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Hard:
    """Which requests are hard: Sedna's `hardExampleMining`, by how sure the student is."""

    name: str
    threshold: float

    @classmethod
    def of(cls, env: Environment) -> Hard:
        """
        Raises:
            ConfigError: `HEM_NAME` is none of those known here, or a parameter is no number from 0 to 1.
        """
        name = env.get("HEM_NAME", "Threshold")
        key = _HARD.get(name)
        if key is None:
            raise ConfigError(
                f"HEM_NAME is {name!r}; the little model knows {', '.join(_HARD)}. Others of Sedna's look at pictures"
            )
        given: dict[str, str] = {}
        text = env.get("HEM_PARAMETERS", "[]")
        try:
            for one in json.loads(text) or ():
                given[str(one["key"])] = str(one.get("value", ""))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise ConfigError(f"HEM_PARAMETERS is {text[:200]!r}; expected [{{'key': …, 'value': …}}]") from None
        asked = Environment({key: given[key]} if key and key in given else {})
        return cls(name, asked.number(key or "threshold", 0.5, 0.0, 1.0))

    def is_hard(self, given: PlanGiven) -> bool:
        if self.name in ("CloudOnly", "EdgeOnly"):
            return self.name == "CloudOnly"
        if given.plan is None and (given.refusal is None or given.refusal.kind != "needs"):
            return given.refusal is None or given.refusal.kind != "unreadable"
        return given.confidence < self.threshold


_HARD: Mapping[str, str] = {"Threshold": "threshold", "IBT": "threshold_img", "CloudOnly": "", "EdgeOnly": ""}
"""Sedna's algorithms that mean something for plans, with the parameter that says how sure is sure enough."""


@dataclass(frozen=True, slots=True)
class LittleModel:
    """A student that asks the big model about what it is unsure of."""

    planning: Planning
    hard: Hard
    big: BigModel
    mask: OwnersMask

    def answer(self, asked: Sequence[PlanAsked]) -> list[dict[str, Any]]:
        """For each request, as Sedna's `JointInference`: whether it was hard, the result, the edge's and the cloud's
        own; beside them which fault kept the cloud from being used."""
        rows = []
        for one, edge in zip(asked, self.planning.plans(asked)):
            row: dict[str, Any] = {"id": one.id, "user_request": one.request, "is_hard": self.hard.is_hard(edge)}
            cloud: PlanGiven | None = None
            if row["is_hard"]:
                try:
                    cloud = self._cloud(one)
                except HearthError as error:
                    row["fault"] = str(error)
            row |= {
                "result": (cloud or edge).model_dump(mode="json"),
                "edge": edge.model_dump(mode="json"),
                "cloud": cloud.model_dump(mode="json") if cloud else None,
            }
            rows.append(row)
        return rows

    def _cloud(self, one: PlanAsked) -> PlanGiven:
        """The big model's plan in the owner's own values, checked as any. Raises: HearthError."""
        from hearth.guard.egress import masked as noted

        masked = self.mask.masker().mask(one.request)
        question = one.model_copy(update={"request": masked.text, "id": request_id(masked.text)})
        with noted(masked.values):
            (given,) = self.big.predict([question])
        if given.plan is None:
            if given.refusal is None:
                raise PlanError("the big model gave neither a plan nor a refusal")
            refused = masked.unmask_answer(Refusal(given.refusal.kind, given.refusal.reason, planner="the big model"))
            assert isinstance(refused, Refusal)
            refusal = given.refusal.model_copy(update={"reason": refused.reason})
            return given.model_copy(update={"id": one.id, "refusal": refusal})
        read = replace(plan_from_json(given.plan), planner="the big model")
        plan = masked.unmask_answer(check_plan(read, self.planning.model.tools))
        assert isinstance(plan, Plan)
        document = {"user_request": one.request, **plan_to_json(plan)}
        return given.model_copy(update={"id": one.id, "plan": document})


def little_model(
    env: Environment, little: LittleModel, http: httpx.Client, follow_s: float, stop: threading.Event
) -> Outcome:
    """Answer the requests of `infer_dataset_url` into `RESULT_SAVED_URL`, and tell Sedna how many were put to the
    cloud. Arguments as for `infer`."""
    out = env.path("RESULT_SAVED_URL", "where the results go")
    notes: list[str] = []
    requests = Requests(env.path("infer_dataset_url", "which requests to plan"), notes)
    n = n_hard = n_failed = 0
    started = dt.datetime.now(dt.UTC)
    for batch in _batches(requests, follow_s, stop):
        rows = little.answer(batch)
        append_lines(out, rows)
        n += len(rows)
        n_hard += sum(bool(row["is_hard"]) for row in rows)
        n_failed += sum("fault" in row for row in rows)
        info = _counted(n, n_hard, started)
        if fault := report(env, http, "inference", "running", owner_kind=SERVICE, info=info):
            notes.append(fault)
    notes.append(f"answered {n} requests, {n_hard} put to the big model, {n_failed} of them in vain: {out}")
    return Outcome((), _counted(n, n_hard, started), tuple(dict.fromkeys(notes)))


def _counted(n: int, n_hard: int, started: dt.datetime) -> dict[str, Plain]:
    """As Sedna's `LCReporter` counts."""
    now = dt.datetime.now(dt.UTC)
    return {
        "startTime": f"{started:%Y-%m-%d %H:%M:%S}",
        "updateTime": f"{now:%Y-%m-%d %H:%M:%S}",
        "inferenceNumber": n,
        "hardExampleNumber": n_hard,
        "uploadCloudRatio": n_hard / n if n else 0.0,
    }


# ── Files ─────────────────────────────────────────────────────────────────────────────────────────────────


def write_json(path: Path, document: object) -> None:
    """At once or not at all. Raises: StoreError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StoreError(f"cannot write {str(path)!r}: {error.strerror}; it is as before") from None


def append_lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Raises: StoreError: Not all could be written."""
    data = "".join(json.dumps(dict(row), ensure_ascii=True, default=str) + "\n" for row in rows).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(data)
    except OSError as error:
        raise StoreError(f"cannot write {str(path)!r}: {error.strerror}; free space or name another folder") from None


__all__ = ["JOB", "METRICS", "SERVICE", "Hard", "LittleModel", "Manner", "Outcome", "Planning", "Status"]
