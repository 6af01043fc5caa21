"""Drafts plans for many requests: the likeliest tools with the arguments that could be found, never a refusal.

For files and measurements. An unsure draft has a low confidence, and one that lacks a required value names it; whether
such a plan may be proposed or run is decided elsewhere (`formats.plans`, the guard).
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from hearth.planning.ranking.ranker import Candidate, Ranker, Ranking
from hearth.types import Argument, Context, Demonstration, Plan, Step, ToolSpec

LISTED_SHARE = 0.9
"""Least share of demonstrations whose listed tools are their plan, for a list to be taken as the plan."""
LEAST_LISTED = 20
REFERENCE_SHARE = 0.95
"""Least share of taught links that come from references, for other links to be left out."""
SINGLE_SHARE = 0.95
"""Least share of taught plans that are single calls, for only single calls to be planned."""
_RANKER_SHARE = 0.5
_LEAST_CHANCE = 0.01
_N_KEPT = 12


class Filled(Protocol):
    """The arguments that `Filling` finds for one step."""

    @property
    def arguments(self) -> Mapping[str, Argument]: ...

    @property
    def missing(self) -> tuple[str, ...]: ...


class Filling(Protocol):
    """Finds the arguments of calls; `planning.arguments.schema_filler.Filler` does."""

    @property
    def is_trained(self) -> bool: ...

    def fill(
        self, text: str, steps: Sequence[ToolSpec], now: dt.datetime | None, context: Context
    ) -> Sequence[Filled]: ...

    def match(self, text: str, tools: Sequence[ToolSpec]) -> Sequence[float]:
        """Return each tool's log-probability of being the one that is asked for, by texts alone."""
        ...

    def asked_for(self, text: str, tools: Sequence[ToolSpec]) -> Sequence[str]:
        """Return the tools that a text asks for, each as often as it is called; none when nothing fits."""
        ...


@dataclass(frozen=True, slots=True)
class Draft:
    plan: Plan
    missing: tuple[str, ...] = ()
    """`tool.parameter` of each required value that was not found."""


class Drafter:
    """Makes drafts with a ranker and, for tools with parameters, a filler. Not thread-safe."""

    def __init__(self, ranker: Ranker, filler: Filling | None, taught: Iterable[Demonstration] = ()) -> None:
        """Keep the ranker; `taught` shows how its kind of data is written.

        It shows whether references alone say which step feeds which, whether the tools that a request lists are its
        plan, and whether plans are single calls; a trained filler then also judges their tools by their texts.
        """
        taught = list(taught)
        ranker.fit()  # with all its tools, before fewer are offered
        self.ranker = ranker
        self._filler = filler
        self.links_by_reference = _reference_share(taught) >= REFERENCE_SHARE
        self.listed_is_plan = listed_share(taught) >= LISTED_SHARE
        self.is_single = _single_share(taught) >= SINGLE_SHARE

    def rank(
        self, texts: Sequence[str], listed: Sequence[tuple[str, ...]], tools: Mapping[str, ToolSpec]
    ) -> list[Ranking]:
        """Rank the tools of each request: those it lists, or all `tools` if it lists none."""
        found: dict[int, Ranking] = {}
        groups: dict[tuple[str, ...], list[int]] = {}
        for row, names in enumerate(listed):
            groups.setdefault(names, []).append(row)
        for names, rows in groups.items():
            if names and self.listed_is_plan:
                found |= dict.fromkeys(rows, _whole_list(names))
                continue
            offered = {name: tools[name] for name in names} if names else dict(tools)
            if names and self._filler is not None and self._filler.is_trained and not self.links_by_reference:
                asked = [self._filler.asked_for(texts[row], list(offered.values())) for row in rows]
                found |= {row: _as_asked(tuple(tools)) for row, tools in zip(rows, asked)}
                continue
            if self.ranker.tools != offered:
                self.ranker.set_tools(offered)
            rankings = self.ranker.rank_readings(self.ranker.read([texts[row] for row in rows]))
            if self.is_single:
                rankings = [self._single(one, texts[row], offered) for row, one in zip(rows, rankings)]
            found |= dict(zip(rows, rankings))
        return [found[row] for row in range(len(texts))]

    def _single(self, ranking: Ranking, text: str, offered: Mapping[str, ToolSpec]) -> Ranking:
        """Rank single calls alone, by the ranker's score and, with a trained filler, by the tools' texts."""
        chances = {c.tools[0]: c.probability for c in ranking.candidates if len(c.tools) == 1}
        if self._filler is None or not self._filler.is_trained:
            kept = tuple(c for c in ranking.candidates if len(c.tools) == 1)
            return replace(ranking, candidates=kept or ranking.candidates)
        by_text = self._filler.match(text, list(offered.values()))
        scores = {
            name: _RANKER_SHARE * math.log(max(chances.get(name, 0.0), _LEAST_CHANCE)) + by_text[k]
            for k, name in enumerate(offered)
        }
        total = math.log(sum(math.exp(score) for score in scores.values()))
        best = sorted(scores, key=lambda name: (-scores[name], name))[:_N_KEPT]
        candidates = tuple(Candidate((name,), (), math.exp(scores[name] - total)) for name in best)
        return replace(ranking, candidates=candidates, confidence=candidates[0].probability)

    def draft(self, ranking: Ranking, text: str, now: dt.datetime | None, tools: Mapping[str, ToolSpec]) -> Draft:
        """Return the first candidate with its arguments; no step when nothing is likely."""
        if not ranking.candidates:
            return Draft(Plan((), 0.0, Ranker.name))
        chosen = ranking.candidates[0]
        steps, missing = self.fill(chosen.tools, text, now, tools)
        if not self.links_by_reference:
            steps = _linked(steps, chosen)
        expected = min(1.0, ranking.expected_f1())
        return Draft(Plan(steps, ranking.confidence, Ranker.name, ranking.rests_on, expected_f1=expected), missing)

    def fill(
        self, names: Sequence[str], text: str, now: dt.datetime | None, tools: Mapping[str, ToolSpec]
    ) -> tuple[tuple[Step, ...], tuple[str, ...]]:
        """Return steps of these tools with the arguments that could be found, and those that could not."""
        specs = [tools[name] for name in names]
        if self._filler is None or not any(spec.parameters for spec in specs):
            return tuple(Step(name) for name in names), ()
        filled = self._filler.fill(text, specs, now, Context())
        missing = [f"{name}.{parameter}" for name, one in zip(names, filled) for parameter in one.missing]
        return tuple(Step(name, dict(one.arguments)) for name, one in zip(names, filled)), tuple(dict.fromkeys(missing))


def listed_share(demonstrations: Sequence[Demonstration]) -> float:
    """Return how often the tools that a demonstration lists are its plan, in that order; 0 when too few list theirs."""
    listed = [d for d in demonstrations if d.tools and d.plan.steps]
    if len(listed) < LEAST_LISTED:
        return 0.0
    return sum(tuple(step.tool for step in d.plan.steps) == d.tools for d in listed) / len(listed)


def _reference_share(demonstrations: Sequence[Demonstration]) -> float:
    """Return the share of the links between steps that come from references; 0 without any reference."""
    steps = [step for d in demonstrations for step in d.plan.steps]
    n_refs = sum(len({ref.step for ref in step.refs()}) for step in steps)
    return n_refs / max(sum(len(step.needs()) for step in steps), 1)


def _single_share(demonstrations: Sequence[Demonstration]) -> float:
    """Return the share of plans that are single calls."""
    lengths = [len(d.plan.steps) for d in demonstrations if d.plan.steps]
    return sum(n == 1 for n in lengths) / max(len(lengths), 1)


def _whole_list(names: tuple[str, ...]) -> Ranking:
    return Ranking((Candidate(names, tuple((k, k + 1) for k in range(len(names) - 1)), 1.0),), LISTED_SHARE, ())


def _as_asked(names: tuple[str, ...]) -> Ranking:
    return Ranking((Candidate(names, (), 1.0),) if names else (), LISTED_SHARE if names else 0.0, ())


def _linked(steps: tuple[Step, ...], candidate: Candidate) -> tuple[Step, ...]:
    """Order the steps as the candidate says, where no reference does so already."""
    made = list(steps)
    for source, target in candidate.links:
        if source not in made[target].needs():
            made[target] = replace(made[target], after=(*made[target].after, source))
    return tuple(made)
