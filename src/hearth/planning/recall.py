"""A planner that remembers: the nearest demonstrations vote, and their plan is filled with the new request's values.

Deterministic, on this device, in milliseconds; a demonstration counts as soon as it was added. A request that is not
like anything shown is refused, a missing value is asked for, and a step with an effect needs more certainty than one
that only reads. Not covered: anything that must be thought out rather than remembered, and languages other than
English.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hearth.errors import PlanError
from hearth.planning.binding import Bound, Unit, bind
from hearth.planning.check import canonical, check_plan
from hearth.planning.choosing import Ballot, Candidate
from hearth.planning.lessons import Result, tokens_of
from hearth.planning.manners import Manners, signs_of
from hearth.planning.offered import Offered
from hearth.planning.readable import why_unreadable
from hearth.planning.remembered import Remembered
from hearth.planning.slots import clauses, find_slots
from hearth.planning.text import listed
from hearth.planning.thesaurus import KNOWN_WORDS
from hearth.protocols import Encoder
from hearth.store import Store
from hearth.types import (
    Argument,
    Context,
    Demonstration,
    Effect,
    Parameter,
    Plan,
    Ref,
    Refusal,
    Request,
    Step,
    ToolSpec,
)

_LEAST_CONFIDENCE: dict[Effect, float] = {"none": 0.35, "change": 0.5, "send": 0.6}
"""A plan less sure than this is not proposed; the more a step does, the surer it must be."""
_N_LESSONS_PER_TOOL = 40
_N_LESSONS = 1_000
"""How many lessons the manners of speaking are counted from, the newest of each tool first."""
_PRICE_MISSING, _PRICE_UNUSED, _PRICE_STRANGE, _PRICE_DOUBT = 0.6, 0.35, 0.12, 0.1
_PRICE_IDLE = 0.4
_SURE = 1.0
_MAX_STRANGE = 4


class RecallPlanner:
    """Plans by recall; satisfies `protocols.Planner`. Not thread-safe."""

    name = "recall"

    def __init__(self, encoder: Encoder, store: Store | None = None, cache: Path | None = None) -> None:
        """Remember what `store` holds.

        Args:
            store: Where demonstrations are kept; None keeps them in memory only.
            cache: Folder for the forms of tool texts; None makes them anew at each start.
        """
        self._remembered = Remembered(encoder, store)
        self._cache = cache
        self._offered: Offered | None = None
        self._manners: Manners | None = None
        self._learnt: dict[str, tuple[int, ...]] = {}
        self._usable: tuple[int, np.ndarray] | None = None

    # ── Memory ────────────────────────────────────────────────────────────────────────────────────────────

    def __len__(self) -> int:
        return len(self._remembered)

    def ids(self, source: str | None = None) -> tuple[str, ...]:
        """Ids of the demonstrations remembered, or of those from one source (`shipped`, `owner`, …)."""
        return self._remembered.ids(source)

    def add(self, demonstrations: Iterable[Demonstration]) -> None:
        """Remember; one with a known id replaces the older one. They count from the next request on.

        Raises:
            StoreError: Nothing was remembered.
        """
        fresh = list(demonstrations)
        self._unlearn(d.id for d in fresh)
        self._remembered.add(fresh)
        for demonstration in fresh:
            self._learn(demonstration.id)

    def remove(self, *ids: str) -> None:
        """Forget demonstrations altogether; unknown ids are passed over."""
        self._unlearn(ids)
        self._remembered.remove(ids)

    # ── Planning ──────────────────────────────────────────────────────────────────────────────────────────

    def plan(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        """The plan that demonstrations suggest, or why there is none."""
        reason = why_unreadable(request.text)
        if reason:
            return Refusal("unreadable", reason, planner=self.name)
        if not tools:
            return Refusal("out_of_scope", "I can't do that: no tools are installed.", planner=self.name)
        offered = self._offers(tools)
        text = request.text
        slots = find_slots(text, request.now, context)
        parts = clauses(text, slots)
        whole = Unit(text, tokens_of(text, slots))
        units = [whole]
        if len(parts) > 1:
            units += [Unit(text, tokens_of(text, slots, part.start, part.end)) for part in parts]
        if not whole.tokens:
            return Refusal("unreadable", "The request holds no words; say what you would like done.", planner=self.name)
        forms = self._remembered.likeness.of_requests([text] * len(units), [unit.tokens for unit in units])
        ballot = Ballot(self._remembered, offered, self._usable_rows(offered), forms)
        return _Proposal(ballot, units, offered, self._counted()).answer(self.name)

    # ── What is derived from memory ───────────────────────────────────────────────────────────────────────

    def _offers(self, tools: Mapping[str, ToolSpec]) -> Offered:
        if self._offered is None or not self._offered.is_of(tools):
            self._offered = Offered(self._remembered.likeness, tools, self._cache, self._remembered.fingerprint)
            self._usable = None
        return self._offered

    def _usable_rows(self, offered: Offered) -> np.ndarray:
        """Rows whose every tool is on offer."""
        if self._usable is None or self._usable[0] != self._remembered.n_changes:
            known = offered.place
            usable = np.array([all(t in known for t in row.tools) for row in self._remembered.rows], dtype=np.bool_)
            self._usable = (self._remembered.n_changes, usable)
        return self._usable[1]

    def _counted(self) -> Manners:
        """How arguments are said, counted from the newest lessons of each tool at first need."""
        if self._manners is None:
            self._manners = Manners()
            n_of: dict[str, int] = {}
            chosen: dict[str, None] = {}
            for row in reversed(self._remembered.rows):
                if len(chosen) >= _N_LESSONS:
                    break
                if row.id not in chosen and any(n_of.get(tool, 0) < _N_LESSONS_PER_TOOL for tool in row.leaves):
                    chosen[row.id] = None
                    for tool in row.leaves:
                        n_of[tool] = n_of.get(tool, 0) + 1
            self._remembered.fetch(chosen)
            for id in chosen:
                self._learn(id)
        return self._manners

    def _learn(self, id: str) -> None:
        if self._manners is not None and id not in self._learnt:
            lessons = self._remembered.lessons(id)
            for lesson in lessons[1:] or lessons:
                self._manners.learn(lesson)
            self._learnt[id] = ()

    def _unlearn(self, ids: Iterable[str]) -> None:
        if self._manners is None:
            return
        for id in ids:
            if id in self._learnt:
                lessons = self._remembered.lessons(id)
                for lesson in lessons[1:] or lessons:
                    self._manners.forget(lesson)
                del self._learnt[id]


# ── One request ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Option:
    """One way to serve a unit, filled."""

    candidate: Candidate
    bound: Bound
    score: float

    @property
    def is_nothing(self) -> bool:
        return not self.candidate.steps


class _Proposal:
    """Puts the plan for one request together."""

    def __init__(self, ballot: Ballot, units: Sequence[Unit], offered: Offered, manners: Manners) -> None:
        self._ballot = ballot
        self._units = units
        self._offered = offered
        self._tools = offered.tools
        self._manners = manners

    def answer(self, planner: str) -> Plan | Refusal:
        if len(self._units) == 1:
            return self._finished(self._ranked(0, False, ())[:1], planner)
        parts = self._composed()
        whole = self._ranked(0, True, ())[0]
        by_parts = sum(part.score for part in parts if not part.is_nothing) / len(parts)
        if not whole.is_nothing and whole.score > by_parts:
            return self._finished([whole], planner)
        return self._finished(parts, planner)

    def _composed(self) -> list[_Option]:
        parts: list[_Option] = []
        steps: list[Step] = []
        for unit in range(1, len(self._units)):
            best = self._ranked(unit, False, steps)[0]
            parts.append(best)
            if not best.is_nothing:
                steps += _shifted(best.bound, len(steps))
        return parts

    def _ranked(self, unit: int, is_long: bool, earlier: Sequence[Step]) -> list[_Option]:
        options = [_Option(Candidate((), 0.0, 0.0), Bound([]), 0.0)]
        for candidate in self._ballot.candidates(unit, is_long=is_long, may_refer=bool(earlier)):
            option = self._option(candidate, self._units[unit], earlier)
            if option is not None:
                options.append(option)
        return sorted(options, key=lambda o: -o.score)

    def _option(self, candidate: Candidate, unit: Unit, earlier: Sequence[Step]) -> _Option | None:
        if not candidate.steps:
            return _Option(candidate, Bound([]), candidate.score)
        bound = bind(candidate.steps, unit, self._tools, self._manners)
        if not self._connected(bound, earlier):
            return None
        score = candidate.score - _PRICE_MISSING * len(bound.missing)
        unused = [
            place
            for place, token in enumerate(unit.tokens)
            if token.slot is not None and place not in bound.used and token.word not in ("<number>", "<unit>")
        ]
        strange = self._strange(candidate, bound, unit)
        score -= _PRICE_UNUSED * len(unused) + _PRICE_STRANGE * min(strange, _MAX_STRANGE)
        score -= _PRICE_IDLE * self._n_idle(candidate, bound, unit)
        score -= sum(_PRICE_DOUBT * min(4.0, max(0.0, _SURE - s)) for s in bound.scores)
        return _Option(candidate, bound, score)

    def _n_idle(self, candidate: Candidate, bound: Bound, unit: Unit) -> int:
        """How many look-ups would run without a word of what to look for."""
        if "thing:last" in signs_of(unit.words):
            return 0
        used = {ref.step for step in bound.steps for ref in step.refs()}
        return sum(index in used and not step.arguments for index, step in enumerate(bound.steps))

    def _connected(self, bound: Bound, earlier: Sequence[Step]) -> bool:
        """Give the steps that use another clause's result the latest fitting one; False when there is none."""
        for opening in bound.openings:
            step = bound.steps[opening.step]
            parameter = self._tools[step.tool].parameter(opening.parameter)
            if parameter is None:
                return False
            found = self._earlier_result(opening.result, parameter, earlier)
            if found is None:
                return False
            ref = Ref(found.step - len(earlier), found.path)  # counted from this clause's first step
            value: Argument = [ref] if opening.is_list else ref
            bound.steps[opening.step] = replace(step, arguments={**step.arguments, opening.parameter: value})
        return True

    def _earlier_result(self, wanted: Result, parameter: Parameter, earlier: Sequence[Step]) -> Ref | None:
        for index in range(len(earlier) - 1, -1, -1):
            if earlier[index].tool == wanted.tool:
                return Ref(index, wanted.path)
        kind = canonical(parameter.type)
        kind = kind[5:-1] if kind.startswith("list[") else kind
        for index in range(len(earlier) - 1, -1, -1):
            for name, given in self._tools[earlier[index].tool].fields.items():
                if canonical(given) == kind != "text":
                    return Ref(index, (name,))
        return None

    def _strange(self, candidate: Candidate, bound: Bound, unit: Unit) -> int:
        """How many words are neither part of an argument nor known as a way of asking for these tools."""
        frames = [self._manners.frame(step.tool) for step in candidate.steps]
        return sum(
            token.word.isalpha()
            and place not in bound.used
            and token.word not in _PLAIN_WORDS
            and not any(frame[token.word] > 0 for frame in frames)
            for place, token in enumerate(unit.tokens)
        )

    def _finished(self, chosen: Sequence[_Option], planner: str) -> Plan | Refusal:
        steps: list[Step] = []
        rests_on: list[str] = []
        for option in chosen:
            if option.is_nothing or option.bound.missing:
                return Refusal("out_of_scope" if option.is_nothing else "needs", "no", planner=planner)
            steps += _shifted(option.bound, len(steps))
            rests_on += option.candidate.rests_on
        try:
            return check_plan(Plan(tuple(steps), 0.5, planner, tuple(rests_on)), self._tools)
        except PlanError as e:
            return Refusal("out_of_scope", str(e), planner=planner)


def _shifted(bound: Bound, by: int) -> list[Step]:
    """The steps with references counted from a later place."""

    def moved(value: Argument) -> Argument:
        if isinstance(value, Ref):
            return Ref(value.step + by, value.path)
        if isinstance(value, list):
            return [moved(item) for item in value]
        return value

    return [
        replace(
            step, arguments={n: moved(v) for n, v in step.arguments.items()}, after=tuple(k + by for k in step.after)
        )
        for step in bound.steps
    ]


_PLAIN_WORDS = KNOWN_WORDS | frozenset(listed("a an the"))
