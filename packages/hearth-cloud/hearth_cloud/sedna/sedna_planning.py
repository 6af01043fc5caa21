"""The workers of Sedna's jobs that plan: `infer` of a `LifelongLearningJob`, the `little_model` of a
`JointInferenceService`, and the planning that the big model does.

`infer` plans requests with the deployed model and sets aside those of unseen tasks; `little_model` plans requests and
sends those it is unsure of, masked, to the big model. Both read a file of requests, once or as it grows.
"""

from __future__ import annotations

import datetime as dt
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hearth.errors import ConfigError, HearthError, MissingArgument, PlanError, RequestError, StoreError
from hearth.formats.edge_protocol import PlanAsked, PlanGiven
from hearth.formats.plans import faults, plan_from_json, plan_to_json
from hearth.language.reading import MAX_CHARACTERS
from hearth.planning.plan_drafting import Drafter
from hearth.planning.ranking.ranker import Ranker, Ranking
from hearth.protocols import Encoder
from hearth.types import OWNER, Demonstration, Plain, Plan, Refusal, ToolSpec
from hearth_cloud.sedna.sedna_dataset import read_requests
from hearth_cloud.sedna.sedna_model import Model, read_model
from hearth_cloud.sedna.sedna_protocol import BigModel, Environment, Told, report, request_id
from hearth_cloud.sedna.sedna_training import Outcome

if TYPE_CHECKING:
    import httpx

    from hearth.guard.egress.masking_door import MaskingDoor

JOB, SERVICE = "lifelonglearningjob", "jointinferenceservice"
"""Kinds of owners in Sedna's reports."""
_N_AT_ONCE = 32
_MAX_MISSING = 256


# ── Planning ──────────────────────────────────────────────────────────────────────────────────────────────


class Planning:
    """Make plans with a model, for the deployed worker, the little and the big model. Not thread-safe."""

    def __init__(self, model: Model, cache: Path | None) -> None:
        self.model = model
        self._drafter: Drafter = model.drafter(cache)

    def plans(self, asked: Sequence[PlanAsked], tools: Mapping[str, ToolSpec] | None = None) -> list[PlanGiven]:
        """Return a plan with its confidence, or a refusal, for each question, in order. Args: tools: Used instead of
        the model's own."""
        offered = tools or self.model.tools
        readable = [one for one in asked if 0 < len(one.request.strip()) <= MAX_CHARACTERS]
        rankings = iter(self._drafter.rank([one.request for one in readable], [()] * len(readable), offered))
        kept = {id(one) for one in readable}
        return [self._given(one, next(rankings), offered) if id(one) in kept else _unread(one) for one in asked]

    def _given(self, one: PlanAsked, ranking: Ranking, tools: Mapping[str, ToolSpec]) -> PlanGiven:
        draft = self._drafter.draft(ranking, one.request, one.now, tools)
        if not draft.plan.steps:
            refusal = {"kind": "out_of_scope", "reason": "no tool on offer serves this"}
            return PlanGiven.model_validate({"id": one.id, "refusal": refusal, "teacher": Ranker.name})
        return PlanGiven(
            id=one.id,
            plan={"user_request": one.request, **plan_to_json(draft.plan)},
            missing=draft.missing[:_MAX_MISSING],
            confidence=_share(ranking.confidence),
            teacher=Ranker.name,
        )

    def unseen(self, asked: Sequence[PlanAsked]) -> list[bool]:
        """Say for each request whether its task was never taught to the model."""
        readings = self.model.student.read([one.request for one in asked])
        return [one.is_unseen for one in self.model.allocate(readings)]


def _unread(one: PlanAsked) -> PlanGiven:
    reason = f"the request has {len(one.request):,} characters; 1 to {MAX_CHARACTERS:,} are read"
    return PlanGiven.model_validate({"id": one.id, "refusal": {"kind": "unreadable", "reason": reason}})


def _share(value: float) -> float:
    return min(1.0, max(0.0, float(value)))


class Requests:
    """A growing file of requests; gives what is new since the last look."""

    def __init__(self, path: Path, notes: list[str]) -> None:
        self.path = path
        self.notes = notes
        self._n_seen = 0
        self._n_bytes = -1

    def fresh(self) -> list[PlanAsked]:
        """Return the new requests. Raises: RequestError: The file cannot be read."""
        try:
            n_bytes = self.path.stat().st_size
        except OSError as error:
            raise RequestError(f"cannot read the requests {str(self.path)!r}: {error.strerror}") from None
        if n_bytes == self._n_bytes:
            return []
        if n_bytes < self._n_bytes:
            self._n_seen = 0  # another file now has the same name
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
    """Plan the requests of `infer_dataset_url` with the deployed model; set aside those of unseen tasks.

    Plans go to `RESULT_SAVED_URL` (a file of JSON lines), requests of unseen tasks to `unseen_save_url`. That can be
    the data set of the next training, once somebody has labelled them.

    Args:
        follow_s: Interval for new requests and a new model, until told to stop; 0 plans what there is and ends.
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
    """Decide which requests are hard, as Sedna's `hardExampleMining`, by the student's confidence."""

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
"""Sedna's algorithms that make sense for plans, each with the parameter that holds the confidence threshold."""


@dataclass(frozen=True, slots=True)
class LittleModel:
    """A student that asks the big model where it is unsure."""

    planning: Planning
    hard: Hard
    big: BigModel
    door: MaskingDoor

    def answer(self, asked: Sequence[PlanAsked]) -> list[dict[str, Any]]:
        """Return for each request, as Sedna's `JointInference`: whether it was hard, the result, the edge's and the
        cloud's own result, and any fault that kept the cloud from being used."""
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
        """Get the big model's plan, with the owner's own values put back, and check it; values it leaves out are left
        to the edge.

        Raises:
            HearthError: It was not reached, or its answer cannot be used.
        """
        from hearth.guard.egress.masking_door import Part, sending

        masked = self.door.masked([Part(one.request, OWNER)])
        question = one.model_copy(update={"request": masked.text, "id": request_id(masked.text)})
        with sending(masked.values):
            (given,) = self.big.predict([question])
        if given.plan is None:
            if given.refusal is None:
                raise PlanError("the big model gave neither a plan nor a refusal")
            refused = masked.unmask_answer(Refusal(given.refusal.kind, given.refusal.reason, planner="the big model"))
            assert isinstance(refused, Refusal)
            refusal = given.refusal.model_copy(update={"reason": refused.reason})
            return given.model_copy(update={"id": one.id, "refusal": refusal})
        read = replace(plan_from_json(given.plan), planner="the big model")
        if found := [
            fault for fault in faults(read, self.planning.model.tools) if not isinstance(fault, MissingArgument)
        ]:
            raise found[0]
        plan = masked.unmask_answer(read)
        assert isinstance(plan, Plan)
        document = {"user_request": one.request, **plan_to_json(plan)}
        return given.model_copy(update={"id": one.id, "plan": document})


def little_model(
    env: Environment, little: LittleModel, http: httpx.Client, follow_s: float, stop: threading.Event
) -> Outcome:
    """Answer the requests of `infer_dataset_url` into `RESULT_SAVED_URL`, and tell Sedna how many were sent to the
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
        if fault := report(env, http, Told("inference", "running", SERVICE, info=info)):
            notes.append(fault)
    notes.append(f"answered {n} requests, {n_hard} put to the big model, {n_failed} of them in vain: {out}")
    return Outcome((), _counted(n, n_hard, started), tuple(dict.fromkeys(notes)))


def _counted(n: int, n_hard: int, started: dt.datetime) -> dict[str, Plain]:
    """Return the counts in the form of Sedna's `LCReporter`."""
    now = dt.datetime.now(dt.UTC)
    return {
        "startTime": f"{started:%Y-%m-%d %H:%M:%S}",
        "updateTime": f"{now:%Y-%m-%d %H:%M:%S}",
        "inferenceNumber": n,
        "hardExampleNumber": n_hard,
        "uploadCloudRatio": n_hard / n if n else 0.0,
    }


def append_lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Append rows as JSON lines. Raises: StoreError: Not all could be written."""
    data = "".join(json.dumps(dict(row), ensure_ascii=True, default=str) + "\n" for row in rows).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(data)
    except OSError as error:
        raise StoreError(f"cannot write {str(path)!r}: {error.strerror}; free space or name another folder") from None
