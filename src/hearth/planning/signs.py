"""What speaks for each candidate plan, as numbers: heads, neighbours, clauses, counts, and a trained model's word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hearth.planning.candidates import MOST_STEPS, Evidence, Floats, Grounds, Sequence_, set_of, steps_of, walks_of
from hearth.protocols import Proposal

_FLOOR = 0.01
_N_MISSED = 20
_MOST_TOGETHER = 6
"""Sequences of up to so many steps are looked at together, filled up. With 7 links or fewer numpy adds one after the
other, so zeros behind them change no bit of a sum."""
_UNLIKELY = -6.0
"""Log-probability of a link or sequence that the trained model does not name."""

FEATURES = (
    "tools_fit",
    "tools_odds",
    "tools_least",
    "tools_missed",
    "links_fit",
    "links_log",
    "links_count",
    "links_new",
    "votes_sequence",
    "votes_set",
    "votes_tools",
    "votes_links",
    "clauses_fit",
    "clauses_log",
    "clauses_missed",
    "any_fit",
    "size_1",
    "size_3",
    "size_more",
    "size_log",
    "known",
    "known_set",
    "known_log",
    "known_near",
    "order_log",
    "links_new_near",
    "said_back",
    "cover",
    "step_fit",
    "step_log",
    "step_cover",
    "rare",
    "rare_odds",
    "rare_missed",
    "trained_fit",
    "trained_odds",
    "trained_missed",
    "trained_links",
    "beam",
    "beam_log",
    "beam_set",
    "beam_first",
)
RARE_FEATURES = frozenset({"rare", "rare_odds", "rare_missed"})
"""Those that concern hardly taught tools."""
SEEN_FEATURES = frozenset(
    {"known", "known_set", "known_log", "known_near", "links_count", "links_new", "links_new_near"}
)
"""Those that say whether the like was taught before. A trained model tells by itself; beside it they only keep the
student from new combinations."""
_N_TRAINED = 8
"""The last so many come from the trained model, and are 0 without one."""


def features(found: Sequence[Sequence_], grounds: Grounds) -> Floats:
    """What speaks for each sequence, shape [n_found, len(FEATURES)]."""
    rows = np.zeros((len(found), len(FEATURES)))
    lengths = np.array([len(sequence) for sequence in found], dtype=np.int64)
    longer = sorted({n for n in lengths.tolist() if n > _MOST_TOGETHER})
    for group in (lengths <= _MOST_TOGETHER, *(lengths == n for n in longer)):
        mine = np.flatnonzero(group)
        if len(mine):
            rows[mine] = _of_group([found[k] for k in mine.tolist()], lengths[mine], grounds)
    return rows


def _of_group(found: Sequence[Sequence_], lengths: NDArray[np.int64], grounds: Grounds) -> Floats:
    """Features of sequences of about the same number of steps, the shorter ones filled up with the end."""
    e, members = grounds.evidence, [set_of(sequence) for sequence in found]
    path = grounds.paths(found, lengths)
    a, b, within = path[:, :-1], path[:, 1:], path[:, 1:-1]
    is_link = np.arange(a.shape[1]) <= lengths[:, None]
    is_in = is_link[:, 1:] & _first_uses(within)
    uses = np.zeros((len(found), len(grounds.names) + 1), dtype=np.bool_)
    uses[np.arange(len(found))[:, None], within] = True
    tools, best, any_ = (scores[within] for scores in (grounds.tools, grounds.best, grounds.any))
    p = np.clip(tools, _FLOOR, 1 - _FLOOR)
    odds = np.log(p / (1 - p))
    steps = grounds.steps.max(axis=0)[within]
    rarity = grounds.rarity[within] * is_in
    n_links = np.where(is_link, grounds.n_links[a, b], 0.0)
    link = np.where(n_links > 0, grounds.link[a, b], 0.0)
    n_known, n_sets = _taught(found, members, grounds)
    is_new = (is_link & (n_links == 0)).sum(axis=1)
    forward = np.minimum(np.diff(grounds.said[within], axis=1), 0.0) * is_link[:, 2:]
    votes_sequence, votes_set, votes_tools, votes_links = _votes(found, members, e)
    columns = (
        ((2 * p - 1) * is_in).sum(axis=1),
        (odds * is_in).sum(axis=1),
        np.where(is_in, p, 1.0).min(axis=1),
        np.log(np.maximum(_missed(uses, e.tools, grounds), _FLOOR)),
        ((2 * link - 1) * is_link).sum(axis=1),
        (np.log(np.clip(link, _FLOOR, 1)) * is_link).sum(axis=1),
        np.log1p(n_links).sum(axis=1),
        is_new,
        votes_sequence,
        votes_set,
        votes_tools,
        votes_links,
        ((2 * best - 1) * is_in).sum(axis=1),
        (np.log(np.clip(best, 0.02, 1)) * is_in).sum(axis=1),
        _missed(uses, e.clause_best, grounds),
        ((2 * any_ - 1) * is_in).sum(axis=1),
        lengths == 1,
        lengths == 3,
        lengths > 3,
        np.log([max(e.sizes.get(min(n, 6), 0.0), 0.02) for n in lengths.tolist()]),
        n_known > 0,
        n_sets > 0,
        np.log(np.maximum(n_known, 1)),
        (n_known > 0) * e.nearest,
        _order_log(path, lengths, grounds),
        is_new * e.nearest,
        forward.sum(axis=1),
        _cover(grounds.by_clause, within),
        ((2 * steps - 1) * is_in).sum(axis=1),
        (np.log(np.clip(steps, 0.02, 1)) * is_in).sum(axis=1),
        _cover(grounds.steps, within),
        rarity.sum(axis=1),
        (odds * rarity).sum(axis=1),
        _rare_missed(uses, grounds),
        *_trained(found, members, e.proposal),
    )
    return np.ascontiguousarray(np.array(columns, dtype=np.float64).T)


def _first_uses(places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where a tool stands for the first time; sets count it once."""
    step = np.arange(places.shape[1])
    same = (places[:, :, None] == places[:, None, :]) & (step[:, None] < step)
    return np.asarray(~same.any(axis=1), dtype=np.bool_)


def _taught(found: Sequence[Sequence_], members: Sequence[Sequence_], grounds: Grounds) -> tuple[Floats, Floats]:
    """How often each sequence and each set was taught, the one left out not counted."""
    counts, own = grounds.counts, grounds.evidence.left_out
    own_set = set_of(own) if own is not None else None
    n_known = [max(counts.sequences.get(s, 0) - (s == own), 0) for s in found]
    n_sets = [max(counts.sets.get(s, 0) - (s == own_set), 0) for s in members]
    return np.array(n_known, dtype=np.float64), np.array(n_sets, dtype=np.float64)


def _votes(found: Sequence[Sequence_], members: Sequence[Sequence_], e: Evidence) -> tuple[Floats, ...]:
    """How far the neighbours chose each sequence, its set, its tools and its links."""
    if not e.neighbours:
        none = np.zeros(len(found))
        return none, none, np.array([-float(len(s)) for s in members]), np.array([-0.5 * (len(s) + 1) for s in found])
    by_sequence: dict[Sequence_, float] = {}
    by_set: dict[Sequence_, float] = {}
    by_link: dict[tuple[str, str], float] = {}
    for sequence, weight in e.neighbours:
        by_sequence[sequence] = by_sequence.get(sequence, 0.0) + weight
        mine = set_of(sequence)
        by_set[mine] = by_set.get(mine, 0.0) + weight
        for link in steps_of(sequence):
            by_link[link] = by_link.get(link, 0.0) + weight
    by_tool = e.votes
    return (
        np.array([by_sequence.get(s, 0.0) for s in found]),
        np.array([by_set.get(s, 0.0) for s in members]),
        np.array([sum(2 * by_tool.get(tool, 0.0) - 1 for tool in s) for s in members]),
        np.array([sum(by_link.get(link, 0.0) - 0.5 for link in steps_of(s)) for s in found]),
    )


def _missed(uses: NDArray[np.bool_], scores: Floats, grounds: Grounds) -> Floats:
    """The highest score of a tool that a set lacks.

    Args:
        uses: Which of the tools of `grounds` each set has, shape [n_found, n_names + 1]; the last one is no tool.
    """
    n = min(_N_MISSED, len(scores))
    top = np.argpartition(-scores, n - 1)[:n]
    left = np.where(uses[:, grounds.name_of[top]], 0.0, scores[top])
    return np.asarray(np.maximum(left.max(axis=1), 0.0), dtype=np.float64)


def _cover(by_clause: Floats, within: NDArray[np.int64]) -> Floats:
    """How much less the tools of each sequence serve the clauses than the best tool for each clause would."""
    scores = np.clip(by_clause, 0, 1)
    served = scores[:, within].max(axis=2)
    return np.asarray((served - scores.max(axis=1, keepdims=True)).sum(axis=0), dtype=np.float64)


def _rare_missed(uses: NDArray[np.bool_], grounds: Grounds) -> Floats:
    """Log of the highest score of a hardly taught tool that a set lacks; 0 where there is none."""
    scores = grounds.evidence.rarity * grounds.evidence.tools
    return np.asarray(np.log(np.maximum(_missed(uses, scores, grounds), _FLOOR) / _FLOOR), dtype=np.float64)


def _order_log(path: NDArray[np.int64], lengths: NDArray[np.int64], grounds: Grounds) -> Floats:
    """How likely each order is among all orders of its tools."""
    found = np.zeros(len(path))
    for n in range(2, MOST_STEPS + 1):
        mine = np.flatnonzero(lengths == n)
        if len(mine):
            every = path[mine][:, walks_of(n)]
            scores = grounds.strength[every[:, :, :-1], every[:, :, 1:]].sum(axis=2)
            top = scores.max(axis=1)
            found[mine] = scores[:, 0] - top - np.log(np.exp(scores - top[:, None]).sum(axis=1))
    return found


def _trained(found: Sequence[Sequence_], members: Sequence[Sequence_], proposal: Proposal | None) -> list[Floats]:
    if proposal is None:
        return [np.zeros(len(found))] * _N_TRAINED
    p = [np.clip([proposal.tools.get(tool, 0.0) for tool in mine], _FLOOR, 1 - _FLOOR) for mine in members]
    ranked = sorted(proposal.tools.items(), key=lambda item: -item[1])[:_N_MISSED]
    missed = [next((v for tool, v in ranked if tool not in mine), 0.0) for mine in members]
    beam = dict(proposal.sequences)
    least = min([_UNLIKELY, *beam.values()])
    sets: Counter[Sequence_] = Counter()
    for sequence, log in beam.items():
        sets[set_of(sequence)] += np.exp(log)
    first = proposal.sequences[0][0] if proposal.sequences else None
    return [
        np.array([float((2 * mine - 1).sum()) for mine in p]),
        np.array([float(np.log(mine / (1 - mine)).sum()) for mine in p]),
        np.log(np.maximum(missed, _FLOOR)),
        np.array([sum(max(proposal.link.get(link, _UNLIKELY), _UNLIKELY) for link in steps_of(s)) for s in found]),
        np.array([float(s in beam) for s in found]),
        np.array([beam.get(s, least) for s in found]),
        np.array([float(np.log(sets[mine] + 1e-3)) for mine in members]),
        np.array([float(s == first) for s in found]),
    ]
