"""Plans with what was learned: the student ranks tool sequences, the filler finds their arguments.

Every plan has passed `formats.plan_validation`; a candidate that cannot be filled or is invalid gives way to the next.
A request unlike every taught task is refused, a missing value is asked for. One example counts at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hearth.errors import PlanError
from hearth.formats.plan_validation import check_plan
from hearth.language.acts.admissibility import why_unreadable
from hearth.planning.arguments.schema_filler import Filled, Filling
from hearth.planning.dialogue.clarification import question_about
from hearth.planning.ranking.features import Reading
from hearth.planning.ranking.ranker import Candidate, Ranking, Student
from hearth.types import Argument, Context, Effect, Plan, Refusal, Request, Step, ToolSpec
from hearth_bench.baselines.task_scope import Scope

LEAST_CONFIDENCE: Mapping[Effect, float] = {"none": 0.35, "change": 0.5, "send": 0.6}
"""A plan less sure than this is not proposed; the more a step does, the surer it must be."""
_N_TRIED = 6
_LEAST_SHARE = 0.3
"""A complete candidate is preferred to a likelier one that lacks a value, down to this share of its probability."""
_SAME = 0.999
"""Likeness from which on two requests are the same words."""
_SURE_OF_THE_SAME = 0.9
"""Confidence of the only plan that was taught for the very same words."""
_UNKNOWN = "I have not learnt to do that yet."
_UNSURE = "I'm not sure what you mean, so I did nothing."


class LearnedPlanner:
    """Satisfies `protocols.Planner` with a student and a filler. Not thread-safe."""

    name = "student"

    def __init__(
        self,
        student: Student,
        filler: Filling,
        refused: Mapping[str, str] | None = None,
        *,
        least_confidence: Mapping[Effect, float] = LEAST_CONFIDENCE,
        knows_scope: bool = True,
    ) -> None:
        """Plan with `student` as it is at each request.

        Args:
            refused: Requests that were rightly refused, by id: they show what is outside its tasks.
            least_confidence: Least confidence of a plan with a step of each effect.
            knows_scope: False plans requests of tasks never taught as well as it can.
        """
        self.student = student
        self._filler = filler
        self._refused = dict(refused or {})
        self._least_confidence = least_confidence
        self._knows_scope = knows_scope
        self._scope: tuple[tuple[str, ...], Scope] | None = None

    @property
    def scope(self) -> Scope:
        """Return the scope of what was taught; rebuilt when a tenth was added, or anything was taken out."""
        ids = self.student.ids
        if self._scope is not None:
            known, scope = self._scope
            if len(ids) <= 1.1 * len(known) and set(known) <= set(ids):
                return scope
        readings = dict(zip(self._refused, self.student.read(list(self._refused.values()))))
        scope = Scope(self.student, readings)
        self._scope = (ids, scope)
        return scope

    def plan(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        """Return the likeliest plan that can be run, or why there is none."""
        reason = why_unreadable(request.text)
        if reason:
            return Refusal("unreadable", reason, planner=self.name)
        if not tools:
            return Refusal("out_of_scope", "I can't do that: no tools are installed.", planner=self.name)
        if self.student.tools != tools:
            self.student.set_tools(tools)
        (reading,) = self.student.read([request.text])
        (ranking,) = self.student.rank_readings([reading])
        if not ranking.candidates or (self._knows_scope and not self.scope.is_known(reading)):
            return Refusal("out_of_scope", _UNKNOWN, planner=self.name)
        ranking = self._as_taught(ranking, reading)
        asked: Refusal | None = None
        likeliest = max(candidate.probability for candidate in ranking.candidates)
        for place, candidate in enumerate(ranking.candidates[:_N_TRIED]):
            share = 1.0 if place == 0 else min(1.0, candidate.probability / max(likeliest, 1e-9))
            if share < _LEAST_SHARE:
                continue
            sure = ranking.confidence * share
            answer = self._filled(candidate, sure, request, context, tools)
            if isinstance(answer, Plan):
                found = answer.confidence / max(sure, 1e-9)  # how sure of its arguments
                expected = round(min(1.0, max(ranking.expected_f1(place), sure)) * found, 4)
                return replace(answer, rests_on=ranking.rests_on, expected_f1=expected)
            asked = asked or answer
        return asked or Refusal("out_of_scope", _UNSURE, planner=self.name)

    def _as_taught(self, ranking: Ranking, reading: Reading) -> Ranking:
        """Put the plan first that was taught for these very words, when there is just one."""
        same = [id for id, likeness in self.student.nearest(reading, _N_TRIED) if likeness >= _SAME]
        plans = {self.student.taught(id).sequence for id in same}
        first = next((one for one in ranking.candidates if one.tools in plans), None)
        if len(plans) != 1 or first is None:
            return ranking
        others = tuple(one for one in ranking.candidates if one is not first)
        confidence = max(ranking.confidence, _SURE_OF_THE_SAME)
        return replace(ranking, candidates=(first, *others), confidence=confidence, rests_on=tuple(same))

    def _filled(
        self, candidate: Candidate, confidence: float, request: Request, context: Context, tools: Mapping[str, ToolSpec]
    ) -> Plan | Refusal | None:
        """Return a plan, a question for what it lacks, or None when the candidate is not usable."""
        specs = [tools[tool] for tool in candidate.tools]
        if confidence < max(self._least_confidence[spec.effect] for spec in specs):
            return None
        filled = self._filler.fill(request.text, specs, request.now, context)
        missing = [(spec.name, name) for spec, one in zip(specs, filled) for name in one.missing]
        if missing:
            names = tuple(dict.fromkeys(f"{tool}.{name}" for tool, name in missing))
            return Refusal("needs", question_about(missing, tools), names, planner=self.name)
        steps = [Step(spec.name, dict(one.arguments)) for spec, one in zip(specs, filled)]
        for source, target in candidate.links:
            if source not in steps[target].needs():
                steps[target] = replace(steps[target], after=(*steps[target].after, source))
        sure = confidence * _surest(specs, filled)
        try:
            return check_plan(Plan(tuple(steps), round(sure, 4), self.name), tools)
        except PlanError:
            return None


def _surest(specs: Sequence[ToolSpec], filled: Sequence[Filled]) -> float:
    """Return the confidence of the least sure required argument that the request itself gives."""
    found = [
        one.confidences.get(parameter.name, 1.0)
        for spec, one in zip(specs, filled)
        for parameter in spec.parameters
        if parameter.is_required and not _refers(one.arguments.get(parameter.name))
    ]
    return min((value for value in found if not math.isnan(value)), default=1.0)


def _refers(value: Argument) -> bool:
    return bool(Step("", {"": value}).refs())
