"""Asks several planners in turn, at last the teacher, until one gives a sure, complete plan.

Results of earlier planners are kept: when a later one fails or does no better, the best answer so far stands. How
sure is sure enough is learned for each planner from how often its plans were the teacher's (`thresholds`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hearth.config import Settings
from hearth.errors import CancelledError, ConfigError, MissingExtraError, PlannerError, StoreError
from hearth.planning.deferral.agreement_log import Agreements, comparison
from hearth.planning.deferral.thresholds import Costs, is_drawn, is_sure, learn_threshold
from hearth.protocols import Planner
from hearth.storage.database import Store
from hearth.types import OWNERS_WORD, Context, Plan, Refusal, Request, ToolSpec

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
        """Return the learned `thresholds.sureness` from which on this planner's plans are taken without asking further.

        None while too little is known: `confident` holds.
        """
        if self._comparing is None or self.teacher is None:
            return None
        if planner not in self._thresholds:
            learnt = learn_threshold(self._comparing.agreements.outcomes(planner), self._comparing.costs)
            self._thresholds[planner] = None if learnt is None else learnt.value
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
