"""Deferral: which planner answers, and when the teacher is asked.

`Cascade` asks several planners in turn, at last the teacher, until one gives a sure, complete plan. Results of earlier
planners are kept: when a later one fails or does no better, the best answer so far stands. How sure is sure enough is
learnt for each planner from how often its plans were the teacher's: `Agreements` records that.

Not here: the planners and teachers themselves (`planning`, `edge.cloud_teacher`, `models.llm`).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
import sqlite3
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from hearth.config import Settings
from hearth.errors import CancelledError, ConfigError, MissingExtraError, PlannerError, StoreError
from hearth.formats.plans import canonical, encode_argument, plan_to_json
from hearth.protocols import Count, Held, Planner, Wanted
from hearth.storage.database import Store
from hearth.storage.trace import as_read, holds
from hearth.types import OWNERS_WORD, Context, Plan, Refusal, Request, Step, ToolSpec

# ── How sure is sure enough ─────────────────────────────────────────────────────────────────────────────
# Learns when a plan is sure enough to run without asking the teacher, from how often plans agreed with it.
#
# `safe_thresholds` bounds the share of wrong plans among those that run unasked, with a stated assurance and for any
# number of observations; among these `cheapest` weighs what a question costs against what a wrong plan costs.
#
# Covered: observations drawn alike with the requests to come. Not covered: a stream that changes faster than its record
# (old observations should be left out), a teacher that is wrong, and arguments in free words (see below).


ALWAYS_ASK = math.inf
"""A threshold that no confidence reaches."""
_GRID = tuple(k / 100 for k in range(99, -1, -1))
_STARTS = (0.95, 0.85, 0.7, 0.5)
"""Starts of the tests, each with its share of the allowed error.

A single start at the top would mostly end there, for want of observations that sure.
"""


def sureness(plan: Plan) -> float:
    """Return what is compared with a learned threshold.

    This is how much of the plan is expected to be right, if its planner says so (it predicts better which plans a
    teacher would correct), else its confidence.
    """
    return plan.confidence if plan.expected_f1 is None else plan.expected_f1


def is_sure(plan: Plan, learnt: float | None, confident: float) -> bool:
    """Return whether a plan may run unasked: by the learned threshold, or by its confidence until there is one."""
    return plan.confidence >= confident if learnt is None else sureness(plan) >= learnt


@dataclass(frozen=True, slots=True)
class Outcome:
    """One plan that was compared with the teacher's."""

    confidence: float
    """The plan's `sureness`."""
    is_right: bool
    share: float = 1.0
    """Probability that it was compared: 1 for a plan too unsure to run unasked, the lot's share for a sure one."""
    is_drawn: bool = True
    """True when it was compared by lot or held back for comparing, whatever its confidence.

    Only such outcomes say how often sure plans are wrong.
    """


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs of questions and mistakes, as the owner says."""

    question: float = 0.002
    """Cost of one question to the teacher, in the owner's currency, its time and its loss of privacy included."""
    mistake: float = 0.05
    """Cost of one wrong plan run without asking."""
    risk: float = 0.1
    """Greatest share of the plans run without asking that may be wrong."""
    assurance: float = 0.9
    """Probability with which the bound must hold."""

    def __post_init__(self) -> None:
        for name in ("risk", "assurance"):
            value = getattr(self, name)
            if not 0 < value < 1:
                raise ValueError(f"{name} is {value!r}; expected more than 0 and less than 1")
        for name in ("question", "mistake"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"the cost of a {name} is {value!r}; expected 0 or more")


def least_drawn(costs: Costs) -> int:
    """Return how many drawn outcomes the bound needs at least, all of them right."""
    return math.ceil(math.log((1 - costs.assurance) / len(_STARTS)) / math.log(1 - costs.risk))


def learn_threshold(outcomes: Sequence[Outcome], costs: Costs) -> float | None:
    """Learn the least `sureness` with which a plan runs unasked from now on: safe, and no lower than pays; `ALWAYS_ASK`
    when none does, None while there is too little data."""
    drawn = [outcome for outcome in outcomes if outcome.is_drawn]
    if len(drawn) < least_drawn(costs):
        return None
    safe = safe_thresholds(drawn, costs.risk, 1 - costs.assurance)
    return cheapest(outcomes, costs, safe)


def safe_thresholds(drawn: Sequence[Outcome], risk: float, error: float) -> tuple[float, ...]:
    """Return thresholds t shown to keep P(wrong | confidence >= t) <= `risk`, highest first.

    With probability 1 - `error` over the draw of the outcomes the bound holds for all of them at once, for requests
    drawn alike; no assumption is made about confidences, which may be badly calibrated.

    Source:
        Learn then Test, fixed sequence testing with several starts: Angelopoulos, Bates, Candès, Jordan & Lei 2021,
        https://arxiv.org/abs/2110.01052; exact binomial tail as p-value of a selective risk: Geifman & El-Yaniv 2017,
        https://arxiv.org/abs/1705.08500.
    """
    confidences = np.array([outcome.confidence for outcome in drawn])
    wrong = np.array([not outcome.is_right for outcome in drawn], dtype=np.bool_)
    shown: set[float] = set()
    for start in _STARTS:
        for threshold in _GRID:
            if threshold > start:
                continue
            sure = confidences >= threshold
            if tail(int(wrong[sure].sum()), int(sure.sum()), risk) > error / len(_STARTS):
                break
            shown.add(threshold)
    return tuple(sorted(shown, reverse=True))


def tail(n_wrong: int, n: int, risk: float) -> float:
    """Return P(Binomial(n, risk) <= n_wrong): how likely so few mistakes are if the risk is at its bound."""
    if n == 0:
        return 1.0
    k = np.arange(n_wrong + 1)
    steps = np.log((n - k[1:] + 1) / k[1:]) + math.log(risk) - math.log1p(-risk)
    logs = n * math.log1p(-risk) + np.concatenate([[0.0], np.cumsum(steps)])
    top = float(logs.max())
    return min(1.0, math.exp(top) * float(np.exp(logs - top).sum()))


def cheapest(outcomes: Sequence[Outcome], costs: Costs, among: Sequence[float]) -> float:
    """Return the one of some thresholds, or `ALWAYS_ASK`, under which these outcomes would have cost least.

    Each outcome is weighted by the inverse of its probability of being compared.
    """
    confidences = np.array([outcome.confidence for outcome in outcomes])
    weights = np.array([1 / max(outcome.share, 1e-6) for outcome in outcomes])
    wrong = np.array([not outcome.is_right for outcome in outcomes], dtype=np.bool_)
    choices = np.array([ALWAYS_ASK, *sorted(among, reverse=True)])
    unasked = confidences[None] >= choices[:, None]
    spent = (np.where(unasked, wrong * costs.mistake, costs.question) * weights).sum(axis=1)
    return float(choices[int(spent.argmin())])  # of equals the surest


def is_drawn(key: str, share: float) -> bool:
    """Return whether a request is compared with the teacher by lot: `share` of all, the same one always alike."""
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:7], "big") < share * 2**56


# ── How often a planner's plans agreed with the teacher's ───────────────────────────────────────────────
# Records how often a planner's plans agreed with the teacher's; thresholds for asking are learned from it.
#
# Each comparison is on disk when `note` returns. Two plans agree when they call the same tools, linked alike, with the
# same values; values in free words (titles, texts, queries) may differ, as two people word them differently.


N_REMEMBERED = 2000
"""Number of newest comparisons that count: the planner changes over time."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A plan beside the teacher's answer to the same request."""

    request: str
    planner: str
    plan: Plan
    teacher: str
    answer: Plan | Refusal
    is_right: bool
    share: float = 1.0
    """Probability that this comparison was made; see `Outcome`."""
    is_drawn: bool = False
    episode: str = ""


class Agreements:
    """Comparisons in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def note(self, comparison: Comparison) -> None:
        """Write a comparison down. Raises: StoreError: Nothing was written."""
        with self._store.transaction() as cursor:
            note(cursor, comparison)

    def outcomes(self, planner: str) -> tuple[Outcome, ...]:
        """Return the newest comparisons of one planner, oldest first."""
        rows = self._store.query(
            "SELECT confidence, is_right, share, is_drawn FROM agreement WHERE planner = ? "
            "ORDER BY number DESC LIMIT ?",
            (planner, N_REMEMBERED),
        )
        return tuple(Outcome(r[0], bool(r[1]), r[2], bool(r[3])) for r in reversed(rows))

    def n_right(self) -> dict[str, tuple[int, int]]:
        """Return, by planner, how many plans agreed, and how many were compared."""
        rows = self._store.query("SELECT planner, sum(is_right), count(*) FROM agreement GROUP BY planner")
        return {row[0]: (int(row[1]), int(row[2])) for row in rows}


class AgreementHolder:
    """A `protocols.Dependent` holder of comparisons: they repeat the request, the plan and the teacher's plan."""

    name = "comparisons"

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, events: Collection[str], wanted: Wanted | None, words: str) -> Held:  # noqa: ARG002 - the seam's
        """Find the comparisons made for the requests among `events`, and those that hold the words."""
        found = []
        for row in self._store.query("SELECT number, episode, request, plan_json, teacher_json FROM agreement"):
            texts = [as_read(row[name]) for name in ("request", "plan_json", "teacher_json")]
            if row["episode"] in events or (words and holds(texts, words)):
                found.append(int(row["number"]))
        return self._held(found)

    def find_with(self, found: Held, others: Sequence[Held]) -> Held:
        """Widen by the comparisons whose request is one of what goes elsewhere."""
        requests = {text for other in others for text in other.texts}
        rows = self._store.query("SELECT number, request FROM agreement") if requests else ()
        same = {int(row["number"]) for row in rows if row["request"] in requests}
        return self._held(sorted(same.union(found.rows if isinstance(found.rows, tuple) else ())))

    def _held(self, numbers: Sequence[int]) -> Held:
        count = Count(len(numbers), "comparison with a teacher", "comparisons with a teacher")
        return Held(self.name, (count,), rows=tuple(numbers) or None)

    def remove(self, cursor: sqlite3.Cursor, held: Held) -> None:
        """Remove the comparisons that were found."""
        numbers = held.rows if isinstance(held.rows, tuple) else ()
        cursor.executemany("DELETE FROM agreement WHERE number=?", [(number,) for number in numbers])

    def sweep(self, home: Path, held: Held) -> None:
        """Remove nothing: they have no files."""


def note(cursor: sqlite3.Cursor, made: Comparison) -> None:
    """Write a comparison down within a transaction."""
    answer = plan_to_json(made.answer) if isinstance(made.answer, Plan) else {"refusal": made.answer.kind}
    cursor.execute(
        "INSERT INTO agreement (at, episode, request, planner, confidence, plan_json, teacher, teacher_json, is_right, "
        "share, is_drawn) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            made.episode,
            made.request.encode("utf-8", "replace").decode(),
            made.planner,
            sureness(made.plan),
            json.dumps(plan_to_json(made.plan)),
            made.teacher,
            json.dumps(answer),
            made.is_right,
            made.share,
            made.is_drawn,
        ),
    )


def agrees(plan: Plan, answer: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether `plan` does what the teacher's answer does, however its texts are worded."""
    if not isinstance(answer, Plan) or plan.unserved or answer.unserved:
        return False
    return _essence(plan.steps, tools) == _essence(answer.steps, tools)


def _essence(steps: Sequence[Step], tools: Mapping[str, ToolSpec]) -> Counter[str]:
    """Write each step as text, the steps it needs in place of their numbers: order does not matter."""
    said: dict[int, str] = {}

    def essence(index: int, above: tuple[int, ...]) -> str:
        if index in said:
            return said[index]
        if index in above or not 0 <= index < len(steps):
            return "?"
        step = steps[index]
        needs = sorted(essence(k, (*above, index)) for k in step.needs())
        spec = tools.get(step.tool)
        values = {
            name: encode_argument(value)
            for name, value in step.arguments.items()
            if not step_refers(step, name) and not _is_free(spec, name)
        }
        said[index] = json.dumps([step.tool, values, needs], sort_keys=True, ensure_ascii=True)
        return said[index]

    return Counter(essence(index, ()) for index in range(len(steps)))


def step_refers(step: Step, name: str) -> bool:
    """Return whether an argument uses a result."""
    return bool(Step(step.tool, {name: step.arguments[name]}).refs())


def _is_free(spec: ToolSpec | None, name: str) -> bool:
    """Return whether a parameter holds words of the owner's own."""
    parameter = spec.parameter(name) if spec else None
    if parameter is None or parameter.enum:
        return False
    return canonical(parameter.type).removeprefix("list[").removesuffix("]") in ("text", "any")


def comparison(
    request: Request, plan: Plan, teacher: str, answer: Plan | Refusal, tools: Mapping[str, ToolSpec]
) -> Comparison:
    """Compare a plan with the teacher's answer."""
    return Comparison(request.text, plan.planner, plan, teacher, answer, agrees(plan, answer, tools))


# ── Planners in turn ────────────────────────────────────────────────────────────────────────────────────


CONFIDENT = 0.7
"""A complete plan at least this confident is taken without asking the next planner, until a threshold is learned."""

_REFUSAL_RANK = {"unreadable": 0, "out_of_scope": 1, "needs": 3}


@dataclass(frozen=True, slots=True)
class Draft:
    """Findings of the planners on the device, before the teacher is asked."""

    best: Plan | Refusal | None
    asks_teacher: bool
    """True when no planner was sure, or the request was drawn for comparison with the teacher."""
    proposed: tuple[Plan, ...] = ()
    """Complete plans, each compared with the teacher's."""
    is_drawn: bool = False
    failure: PlannerError | None = None
    """Error to raise when nobody has an answer."""


@dataclass(frozen=True, slots=True)
class Comparing:
    """How plans are compared with the teacher's."""

    agreements: Agreements
    """Where comparisons are written down, and thresholds are learned from."""
    costs: Costs = field(default_factory=Costs)
    """Costs of questions and mistakes, as the owner says."""
    share: float = 0.0
    """Share of the requests put to the teacher by lot although a planner was sure: without them nobody knows how often
    a sure plan is wrong."""


class Cascade:
    """A `protocols.Planner` made of others, cheapest first (the home's own, a language model as teacher)."""

    name = "cascade"

    def __init__(
        self,
        planners: Sequence[Planner],
        *,
        confident: float = CONFIDENT,
        teacher: Planner | None = None,
        comparing: Comparing | None = None,
    ) -> None:
        """Build the cascade; `planners` are in the order they are asked.

        Args:
            confident: In [0, 1]; for planners of which too little is known.
            teacher: Asked last, when nobody was sure.
            comparing: Compares plans with the teacher's and learns thresholds from that; None learns nothing.
        """
        self.planners = tuple(planners)
        self.teacher = teacher
        self.confident = confident
        self._comparing = comparing
        self._compared_share = comparing.share if teacher is not None and comparing is not None else 0.0
        self._thresholds: dict[str, float | None] = {}

    def threshold(self, planner: str) -> float | None:
        """Return the learned `sureness` from which on this planner's plans are taken without asking further.

        None while too little is known: `confident` holds.
        """
        if self._comparing is None or self.teacher is None:
            return None
        if planner not in self._thresholds:
            outcomes = self._comparing.agreements.outcomes(planner)
            self._thresholds[planner] = learn_threshold(outcomes, self._comparing.costs)
        return self._thresholds[planner]

    def _is_sure(self, plan: Plan) -> bool:
        return is_sure(plan, self.threshold(plan.planner), self.confident)

    def plan(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        """Return the first sure and complete plan, else the best answer any planner gave.

        Raises:
            PlannerError: No planner could answer at all.
        """
        return self.settle(self.draft(request, context, tools), request, context, tools)

    def draft(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Draft:
        """Ask the planners on the device, without the teacher. Never raises PlannerError: `settle` does."""
        best: Plan | Refusal | None = None
        failure = PlannerError("no planner is set up; name one under [models] in hearth.toml")
        share = 0.0 if request.asked_by else self._compared_share
        drawn = is_drawn(f"{request.now.isoformat()} {request.text}", share)
        proposed: list[Plan] = []
        for planner in self.planners:
            try:
                answer = _answered(planner, request, context, tools)
            except PlannerError as error:
                failure = error
                continue
            if isinstance(answer, Refusal) and answer.planner == OWNERS_WORD:
                return Draft(answer, asks_teacher=False)
            sure = False
            if isinstance(answer, Plan) and not answer.unserved:
                proposed.append(answer)
                sure = self._is_sure(answer)
                if sure and not drawn:
                    return Draft(answer, asks_teacher=False)
            if best is None or _rank(answer) > _rank(best):
                best = answer
            if sure or not request.text.strip():
                break  # only the teacher is wanted, or there is nothing a further planner could read
        asks_teacher = self.teacher is not None and bool(request.text.strip())
        return Draft(best, asks_teacher=asks_teacher, proposed=tuple(proposed), is_drawn=drawn, failure=failure)

    def settle(self, draft: Draft, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        """Return the draft if it is sure, else the better of it and the teacher's answer. Raises: see `plan`."""
        best, failure = draft.best, draft.failure
        if self.teacher is not None and draft.asks_teacher:
            try:
                answer = _answered(self.teacher, request, context, tools)
            except PlannerError as error:
                failure = error
            else:
                self._note(request, draft.proposed, answer, tools, draft.is_drawn)
                is_whole = isinstance(answer, Plan) and not answer.unserved
                if best is None or is_whole or _rank(answer) > _rank(best):
                    best = answer
        if best is None:
            raise failure or PlannerError("no planner gave an answer")
        return best

    def _note(
        self,
        request: Request,
        proposed: Sequence[Plan],
        answer: Plan | Refusal,
        tools: Mapping[str, ToolSpec],
        drawn: bool,
    ) -> None:
        if self._comparing is None or self.teacher is None or request.asked_by:
            return  # of what a program asks nothing is learnt
        for plan in proposed:
            share = max(self._compared_share, 1e-6) if self._is_sure(plan) else 1.0
            made = comparison(request, plan, self.teacher.name, answer, tools)
            self._comparing.agreements.note(replace(made, share=share, is_drawn=drawn))
            self._thresholds.pop(plan.planner, None)


def _answered(planner: Planner, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
    """Ask one planner. Raises: PlannerError: also for what it does not declare, so that another one may answer."""
    try:
        return planner.plan(request, context, tools)
    except (PlannerError, StoreError, CancelledError, ConfigError, MissingExtraError):
        raise
    except Exception as error:
        raise PlannerError(f"{planner.name} failed with {type(error).__name__}: {str(error)[:200]}") from error


def _rank(answer: Plan | Refusal) -> tuple[int, float]:
    """Rank plans before refusals, complete before partial, confident before unsure, a question before a plain no."""
    if isinstance(answer, Plan):
        return (6 if not answer.unserved else 5, answer.confidence)
    return (_REFUSAL_RANK[answer.kind] + (answer.offer is not None), 0.0)


def cascade_of(settings: Settings, store: Store, recall: Planner, teacher: Planner | None) -> Cascade:
    """Build a home's planners: its own, and a language model as teacher."""
    return Cascade(
        [recall],
        confident=settings.planning.ask_below,
        teacher=teacher,
        comparing=Comparing(Agreements(store), costs_of(settings)) if teacher is not None else None,
    )


def costs_of(settings: Settings) -> Costs:
    """Return what the owner says questions and mistakes cost."""
    said = settings.learning
    return Costs(
        question=said.cost_per_question_usd + said.cost_per_second_usd * said.seconds_per_question,
        mistake=said.cost_per_mistake_usd,
        risk=said.risk,
        assurance=said.assurance,
    )
