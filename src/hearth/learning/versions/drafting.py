"""Makes a new version from all demonstrations, begun from a prior of other homes."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hearth.config import read_settings
from hearth.errors import StatisticsError, StoreError
from hearth.learning.versions import learned_state, promotion_gate
from hearth.learning.versions.learned_state import Promotion, Report, State
from hearth.learning.versions.promotion_gate import Progress, Rehearsal, Verdict, grouped, scored, silent
from hearth.planning.ranking import sufficient_statistics
from hearth.planning.ranking.ranker import PROFILES, Ranker, RankerOptions
from hearth.planning.ranking.sufficient_statistics import Statistics, faults_of, public_tools
from hearth.planning.ranking.weight_fitting import Joining, Outcome, digest, fit_outcomes
from hearth.planning.retrieval.episodic_index import Remembered
from hearth.planning.retrieval.taught_sequences import taught_in
from hearth.planning.tool_heads import shipped_prior

# ── Warm start ────────────────────────────────────────────────────────────────────────────────────────────
# Fits how a ranker with a prior and few demonstrations of its own weighs evidence.
#
# A ranker with few demonstrations cannot fit that well, and what others fitted for themselves does not carry over
# (they had many of their own). So it is fitted where the prior is made, on public demonstrations: several times some
# of them are hidden from the prior, a few of the hidden are taught to a new ranker as its own, and the weights are
# those under which the other hidden ones are planned correctly.

_N_PARTS = 5
_N_HIDDEN_PARTS = 3
"""Number of the parts that are hidden in turn."""
_N_OWN = (0, 20, 60)
_N_CASES = 100
Numbers = tuple[tuple[tuple[float, ...], ...], ...]


def begun(prior: Statistics, shown: Ranker, public: Collection[str], *, is_in_prior: bool) -> Statistics:
    """Return the prior with weights fitted for beginners; takes a minute for a large one.

    Args:
        shown: A ranker that was taught the public demonstrations, without a prior.
        public: Names of public tools; demonstrations with others are ignored.
        is_in_prior: Whether the prior holds the statistics of `shown`: then each part is taken out while it is hidden.
    """
    allowed = frozenset(public)
    ids = sorted((id for id in shown.ids if allowed.issuperset(shown.taught(id).sequence)), key=digest)
    outcomes: list[Outcome] = []
    for part in range(_N_HIDDEN_PARTS):
        hidden = ids[part::_N_PARTS]
        rest = prior.minus(shown.statistics(public, ids=hidden)) if is_in_prior else prior
        own, cases = hidden[: _N_OWN[-1]], [shown.taught(id) for id in hidden[_N_OWN[-1] :][:_N_CASES]]
        ranker = shown.blank()
        ranker.take_prior(replace(rest, joining=()))
        done = 0
        for n_own in _N_OWN:
            ranker.know(shown.taught_in(own[done:n_own]))
            done = n_own
            outcomes += ranker.outcomes(cases)
    return replace(prior, joining=_numbers(fit_outcomes(outcomes)))


def beside(prior: Statistics, known: Statistics) -> Statistics:
    """Return the prior for a ranker that was taught `known` itself: exactly without `known`, if the prior holds it.

    The same demonstrations counted twice outweigh what others learned (log: "What devices learn from each other").

    `known` is not in the prior if the rest has a negative count of a sequence, a square below zero, or an entry beyond
    what its squares allow. Then nothing is taken out. Not covered: a prior with noise in it shows it by its counts
    alone.
    """
    try:
        rest = prior.minus(known)
    except StatisticsError:
        return prior
    rest = replace(rest, n_edges=prior.n_edges, joining=prior.joining)
    return prior if next(faults_of(rest), "") else rest


def _numbers(joining: Joining) -> Numbers:
    if joining.weigher is None or joining.sureness is None:
        return ()
    return tuple(
        tuple(tuple(np.asarray(part, dtype=np.float64).tolist()) for part in (one.mean, one.spread, one.weights))
        for one in (joining.weigher, joining.sureness)
    )


# ── Drafting ──────────────────────────────────────────────────────────────────────────────────────────────
# The ranker: drafts plans for files of requests (`hearth plan --batch`), solved then and there from what is held.
#
# Nothing that a home is asked is planned by it (`planning.retrieval` does that). Nothing of it is kept on disk but
# what cannot be solved again: a prior of others' sums, which the home's planner begins with, too, and a trained tier
# two. Both belong to a version and are let in by the gate: the prior as the home plans with it, tier two by its
# drafts.

_N_JUDGED = 150


class Drafts:
    """A ranker, judged by its own demonstrations; satisfies `promotion_gate.Learner`."""

    def __init__(self, ranker: Ranker) -> None:
        self._ranker = ranker

    def left_out(self, ids: Sequence[str]) -> list[tuple[str, ...]]:
        rankings = self._ranker.rank_left_out(ids)
        return [found.candidates[0].tools if found.candidates else () for found in rankings]

    def tools_of(self, id: str) -> tuple[str, ...]:
        return self._ranker.taught(id).sequence

    def vector(self, id: str) -> NDArray[np.float64]:
        return self._ranker.taught(id).reading.whole.astype(np.float64)

    def nearest(self, ids: Sequence[str], n: int) -> list[list[tuple[str, float]]]:
        return [self._ranker.nearest(self._ranker.taught(id).reading, n, id) for id in ids]


def solved(state: State) -> Ranker:
    """Solve a ranker of the home's profile from what is remembered of the demonstrations that count, which is not
    read again; with the prior and the tier two of the current version."""
    ranker = Ranker(state.encoder, state.tools, options_of(state), state.graph)
    ranker.take_prior(prior_of(state, ranker.options))
    remembered = Remembered(state.encoder, state.store)
    ranker.know(taught_in(remembered, ranker.reader, remembered.ids()))
    current = state.lineage.current()
    adopt(state, ranker, current.adapter if current is not None else "")
    ranker.renew()
    return ranker


def options_of(state: State) -> RankerOptions:
    """Return the size of ranker that a home's profile says; the largest for a folder that is no home."""
    path = state.folder / "hearth.toml"
    return PROFILES[read_settings(path).learning.profile if path.exists() else "large"]


def prior_of(state: State, options: RankerOptions) -> Statistics | None:
    """Return the prior of the current version; None where it has none, or its file is gone, damaged or of other
    features."""
    version = state.lineage.current()
    name = str(version.record.get("prior", "")) if version is not None else ""
    try:
        return sufficient_statistics.read_prior(state.path(name)).seen_by(options.reading) if name else None
    except (StoreError, StatisticsError):
        return None


def adopt(state: State, ranker: Ranker, adapter: str) -> None:
    """Give a ranker the proposals of the trained tier two of that name; none where its files are gone or damaged."""
    files = state.path(adapter)
    proposer = learned_state.opened_tier(files, state.tools, state.graph) if adapter and files.exists() else None
    ranker.adopt(proposer, learned_state.tier_proposals(files) if proposer is not None else {})


def compared(state: State, before: Mapping[str, float], after: Mapping[str, float]) -> Verdict:
    """Return the gate's verdict on a change of what drafts the current version's demonstrations."""
    current = state.lineage.current()
    tasks = state.lineage.tasks(current.number) if current is not None else ()
    groups = grouped(tasks, sorted(before.keys() & after.keys()), promotion_gate.LEAST_SAMPLES)
    return promotion_gate.judge(before, after, groups, taught_new=False)


def take_prior(
    state: State, prior: Statistics | None, progress: Progress = silent, *, must_pass: bool = True
) -> Report:
    """Make a version that plans and drafts with a prior of others' learning, or (None) without one, if the gate lets
    it: the home's planner plans demonstrations of its own before and after.

    The demonstrations stay the same in it; what waits keeps waiting. Shipped demonstrations, which the home's heads
    know, count once: they are taken out of a prior that holds them, too.

    Raises:
        StatisticsError: It is over other features; nothing was changed. StoreError: Nothing was changed.
    """
    started_s = time.process_time()
    ranker = Ranker(state.encoder, state.tools, options_of(state), state.graph)
    if prior is not None:
        ranker.check_prior(prior)
        prior = beside(prior, _shipped(state, ranker))
    known = prior_of(state, ranker.options)
    if (known.digest if known else "") == (prior.digest if prior else ""):
        return Report(None, 0, notes=("it is the prior that is used already",) if prior else ("there is none",))
    version = state.lineage.current()
    joined = sufficient_statistics.prior_joined(prior, state.encoder) if prior is not None else None
    heads = joined or shipped_prior()
    verdict = None
    if version is not None:
        was = Rehearsal(state.encoder, state.store, state.tools)
        would_be = Rehearsal(state.encoder, state.store, state.tools, heads)
        ids = promotion_gate.drawn(was.ids, _N_JUDGED)
        verdict = _as_good(compared(state, scored(was, ids, progress), scored(would_be, ids, progress)))
    if verdict is not None and not verdict.is_promoted and must_pass:
        return Report(None, 0, verdict=verdict, cpu_s=time.process_time() - started_s)
    name, reason = "", "began again without what others learnt"
    if prior is not None:
        name = sufficient_statistics.keep_prior(state.path(""), prior, joined)
        reason = f"began with what {prior.n_edges} devices learnt"
    cpu_s = time.process_time() - started_s
    parent, adapter = (version.number, version.adapter) if version is not None else (None, "")
    number = state.promote_with(Promotion(parent, reason, verdict, cpu_s, adapter, name), progress, heads)
    return Report(number, 0, verdict=verdict, cpu_s=cpu_s)


def _shipped(state: State, ranker: Ranker) -> Statistics:
    """Return the sums over the shipped demonstrations that the home has."""
    ids = [row["id"] for row in state.store.query("SELECT id FROM demonstration WHERE source = 'shipped'")]
    shown = ranker.blank()
    shown.learn([entry.demonstration for entry in state.buffer.of(ids).values() if entry.demonstration.plan.steps])
    return shown.statistics(public_tools())


def _as_good(verdict: Verdict) -> Verdict:
    """Promote a prior where nothing got worse: its gain is in what was not taught here, so no sample shows it."""
    is_harmless = not any(change.is_worse for change in verdict.changes)
    if verdict.is_promoted or not is_harmless or verdict.after < verdict.before - promotion_gate.ALLOWED_LOSS:
        return verdict
    return replace(verdict, is_promoted=True, reason="no task got worse, and others' knowledge is new")
