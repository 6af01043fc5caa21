"""Fits the few weights that combine a student's evidence, on its demonstrations as if they had not been taught.

To fit the weights of candidates, each demonstration is left out alone; to see how far the texts of tools can be
trusted, all that use some tools are left out together.
The fit depends on the set of demonstrations and not on their order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearth.models.ridge import Heads
from hearth.planning.ranking.calibration.min_risk import N_SURENESS_SIGNS, best_of, least_risk, sureness_signs
from hearth.planning.ranking.candidates import Evidence, Grounds, Sequence_, candidates, possible, set_of
from hearth.planning.ranking.evidence_features import FEATURES, RARE_FEATURES, SEEN_FEATURES, features
from hearth.planning.ranking.examples import Taught, rows_of
from hearth.planning.ranking.features import Reader
from hearth.planning.ranking.leave_out import Case, View, ViewOptions, counts_of
from hearth.planning.ranking.logistic import Weigher, fit_logistic, fit_weigher, leave_out_groups
from hearth.planning.ranking.unseen_tools import SIGNS
from hearth.protocols import Proposal

LEAST_TAUGHT = 20
N_CHOSEN = 12
_LEAST_GROUPS = 10
_LEAST_HIDDEN = 100
"""Least number of demonstrations for tools to be hidden."""
_EXAMPLES = (0, 1, 4)
"""Examples that hidden tools keep, one view for each number."""
_HIDDEN_SHARE = 0.12
"""Share of the tools hidden in one view."""
_MOST_TOUCHED = 0.3
"""Greatest share of the demonstrations affected in one view."""
_N_TOUCHED, _N_OTHERS = 120, 60


@dataclass(frozen=True, slots=True)
class Joining:
    """The weights, all fitted together."""

    weigher: Weigher | None = None
    """Weights of the candidates' features."""
    sureness: Weigher | None = None
    strangers: Weigher | None = None
    """Weights of the signs for hardly taught tools."""

    def fits(self) -> bool:
        """Return whether the weights fit the signs that are read now; those of another Hearth may be for others."""
        signs = (
            (self.weigher, len(UNTAUGHT.weights)),
            (self.sureness, N_SURENESS_SIGNS + 1),
            (self.strangers, len(SIGNS) + 1),
        )
        return all(w is None or {len(w.mean), len(w.spread), len(w.weights)} == {n} for w, n in signs)


@dataclass(frozen=True, slots=True)
class Lessons:
    """Data to fit from."""

    taught: Mapping[str, Taught]
    held: Mapping[str, Proposal]
    """Proposals of a trained model; if there are any, only these demonstrations are fitted on."""
    reader: Reader
    heads: Heads
    view: View
    """View of all demonstrations."""
    options: ViewOptions
    n_fit: int
    n_free: int
    graph: frozenset[tuple[str, str]] | None = None
    """Links that are possible; the weights are fitted on the candidates that remain."""
    hides_tools: bool = True
    others: Mapping[Sequence_, int] = field(default_factory=dict)
    """Sequences that a prior counts."""


def _with_strangers(view: View, cases: Sequence[Case]) -> list[Case]:
    found = []
    for case in cases:
        looks, _ = view.looks(case)
        uses = view.uses_without(case.own[1] if case.own else None)
        found.append(case._replace(strangers=view.strangers(looks, case.reading, uses)))
    return found


def fit(lessons: Lessons) -> Joining:
    """Fit a student taught at least LEAST_TAUGHT demonstrations; None for weights that cannot be fitted."""
    pool = lessons.held or lessons.taught
    ids = sorted(pool, key=digest)[: lessons.n_fit]
    cases = one_by_one(lessons, ids)
    views = _hidden_views(lessons)
    cases = _with_strangers(lessons.view, cases)
    views = [(view, _with_strangers(view, mine)) for view, mine in views]
    strangers = _fit_strangers([(lessons.view, cases), *views]) if views else None
    outcomes = [_outcome(lessons, lessons.view, case, strangers) for case in cases]
    weigher = _fit_weights(outcomes)
    if weigher is None:
        return Joining(strangers=strangers)
    hidden = [_outcome(lessons, view, case, strangers) for view, mine in views for case in mine]
    weigher = _fit_weights(hidden, weigher) or weigher
    return Joining(weigher, _fit_sureness(weigher, outcomes), strangers)


def fit_outcomes(outcomes: Sequence[Outcome]) -> Joining:
    """Fit weights on demonstrations that were not taught when planned (`planning.warm_start`)."""
    weigher = _fit_weights(outcomes)
    return Joining(weigher, _fit_sureness(weigher, outcomes)) if weigher is not None else Joining()


def joining_of(numbers: Sequence[Sequence[Sequence[float]]]) -> Joining | None:
    """Read the weights that a prior has (`Statistics.joining`); None for none."""
    if len(numbers) != 2:
        return None
    weigher, sureness = (Weigher(*(np.array(part, dtype=np.float64) for part in one)) for one in numbers)
    return Joining(weigher, sureness)


def digest(text: str) -> bytes:
    """Hash an id, for an order independent of when demonstrations were taught."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


# ── Demonstrations as if they had not been taught ─────────────────────────────────────────────────────────


def one_by_one(lessons: Lessons, ids: Sequence[str]) -> list[Case]:
    """Return demonstrations, each as if it alone had not been taught."""
    return _cases(lessons, ids, is_together=False)


def _cases(lessons: Lessons, ids: Sequence[str], *, is_together: bool) -> list[Case]:
    """Return demonstrations, each as if it alone, or all of them together, had not been taught."""
    chosen = [lessons.taught[id] for id in ids]
    readings = [one.reading for one in chosen]
    sizes = [len(reading.vectors) for reading in readings]
    if lessons.options.use_heads:
        rows, targets = lessons.reader.features(readings), [row for one in chosen for row in rows_of(one)]
        predicted = lessons.heads.leave_out(rows, targets, [len(rows)] if is_together else sizes)
    else:
        predicted = np.zeros((sum(sizes), 0), np.float32)
    ends = np.cumsum(sizes)
    return [
        Case(
            predicted[end - size : end],
            one.reading,
            lessons.held.get(id),
            None if is_together else (lessons.view.neighbourhood.place[id], one.sequence),
            gold=one.sequence,
        )
        for id, one, size, end in zip(ids, chosen, sizes, ends)
    ]


def _hidden_views(lessons: Lessons) -> list[tuple[View, list[Case]]]:
    """Make views in which some tools have few or no examples, with requests that use them and others."""
    if len(lessons.taught) < _LEAST_HIDDEN or not lessons.options.use_heads or not lessons.hides_tools:
        return []
    found = []
    for n_examples in _EXAMPLES:
        touched, others, tools = _hide(lessons, n_examples)
        gone = [*touched, *others]
        # Only proposals of a model that knew a tool exist: with the tool hidden, there is none to use.
        cases = [case._replace(proposal=None) for case in _cases(lessons, gone, is_together=True)]
        base = lessons.view
        hidden = np.zeros(len(base.neighbourhood.ids), dtype=np.bool_)
        hidden[[base.neighbourhood.place[id] for id in gone]] = True
        out = set(gone)
        counts = counts_of([one.sequence for id, one in lessons.taught.items() if id not in out])
        for sequence, n in lessons.others.items():
            if tools.isdisjoint(sequence):
                counts.add(sequence, n)
        view = View(base.names, base.texts, lessons.heads.outputs, counts, base.neighbourhood, lessons.options, hidden)
        found.append((view, [*cases[:_N_TOUCHED], *cases[len(touched) :]]))
    return found


def _hide(lessons: Lessons, n_examples: int) -> tuple[list[str], list[str], frozenset[str]]:
    """Return ids of demonstrations that use some tools (all but a few of each), ids of others, and the tools."""
    counts, place = lessons.view.counts, lessons.view.place
    ids = sorted(lessons.taught, key=digest)
    tools = sorted((tool for tool in counts.tools if tool in place), key=lambda tool: digest(f"{n_examples} {tool}"))
    chosen: dict[str, int] = {}
    n_touched = 0
    for tool in tools:
        if len(chosen) >= _HIDDEN_SHARE * len(tools):
            break
        if n_touched + counts.tools[tool] <= _MOST_TOUCHED * len(ids):
            chosen[tool] = 0
            n_touched += counts.tools[tool]
    touched, others = [], []
    for id in ids:
        mine = chosen.keys() & set(lessons.taught[id].sequence)
        if not mine:
            others.append(id)
        elif any(chosen[tool] < n_examples for tool in mine):
            for tool in mine:
                chosen[tool] += 1
        else:
            touched.append(id)
    return touched, others[:_N_OTHERS], frozenset(chosen)


# ── Fits ──────────────────────────────────────────────────────────────────────────────────────────────────


class Outcome(NamedTuple):
    """The candidates for a demonstration that was not taught."""

    gold: Sequence_
    found: list[Sequence_]
    signs: NDArray[np.float64]
    evidence: Evidence


def _outcome(lessons: Lessons, view: View, case: Case, strangers: Weigher | None) -> Outcome:
    evidence, _ = view.evidence(case, strangers)
    grounds = Grounds(evidence, view.counts)
    found = possible(candidates(grounds, lessons.n_free), lessons.graph)
    return Outcome(case.gold, found, features(found, grounds), evidence)


def _fit_weights(outcomes: Sequence[Outcome], fixed: Weigher | None = None) -> Weigher | None:
    """Fit the weights under which right candidates win.

    Args:
        fixed: Weights to keep; only those that concern hardly taught tools are fitted.
    """
    fitted = _fitted_on(outcomes)
    if len(fitted) < _LEAST_GROUPS:
        return None
    groups, right = [outcomes[k].signs for k in fitted], list(fitted.values())
    return fit_weigher(groups, right, free=_free(outcomes, is_rare=fixed is not None), fixed=fixed)


def _fitted_on(outcomes: Sequence[Outcome]) -> dict[int, int]:
    """Map each outcome that has a right candidate to that candidate's index."""
    best = {k: best_of(outcome.found, outcome.gold) for k, outcome in enumerate(outcomes)}
    return {k: right for k, right in best.items() if right is not None}


def _free(outcomes: Sequence[Outcome], *, is_rare: bool) -> NDArray[np.bool_]:
    """Return which weights are fitted: those that concern hardly taught tools, or the others."""
    is_trained = outcomes[0].evidence.proposal is not None
    return np.array(
        [(name in RARE_FEATURES) == is_rare and not (is_trained and name in SEEN_FEATURES) for name in FEATURES]
    )


def _fit_strangers(views: Sequence[tuple[View, Sequence[Case]]]) -> Weigher | None:
    signs, right = [], []
    for view, cases in views:
        for case in cases:
            if case.strangers is not None and len(case.strangers[0]):
                rows, mine = case.strangers
                wanted = set(case.gold)
                signs.append(mine)
                right += [view.names[row] in wanted for row in rows]
    return fit_logistic(np.vstack(signs), right, penalty=1e-4) if any(right) and not all(right) else None


def _fit_sureness(weigher: Weigher, outcomes: Sequence[Outcome]) -> Weigher | None:
    """Fit how sure to be of a choice, on choices by weights that were fitted without the request.

    Weights fitted with the request overstate its sureness, the more so the fewer requests there are.
    """
    fitted = _fitted_on(outcomes)
    groups = [outcomes[k].signs for k in fitted]
    without = leave_out_groups(weigher, groups, list(fitted.values()), _free(outcomes, is_rare=False))
    weighers = dict(zip(fitted, without))
    rows, right = [], []
    for k, outcome in enumerate(outcomes):
        if outcome.found:
            p = weighers.get(k, weigher).probabilities(outcome.signs)
            order = np.argsort(-p, kind="stable")[:N_CHOSEN]
            first = outcome.found[int(order[least_risk([outcome.found[int(i)] for i in order], p[order])])]
            rows.append(sureness_signs(first, outcome.found, p, outcome.evidence))
            right.append(set_of(first) == set_of(outcome.gold))
    return fit_logistic(np.array(rows), right) if any(right) and not all(right) else None


def _prior(weights: Mapping[str, float]) -> Weigher:
    return Weigher(np.zeros(len(FEATURES)), np.ones(len(FEATURES)), np.array([weights.get(f, 0.0) for f in FEATURES]))


UNTAUGHT = _prior({"tools_odds": 0.5, "links_log": 0.1, "votes_set": 2.0, "votes_sequence": 2.0, "links_new": -0.1})
"""Weights used until there are enough demonstrations to fit."""
