"""Turns the evidence on each candidate plan into numbers: heads, neighbours, clauses, counts, and a trained model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hearth.planning.ranking.candidates import (
    MOST_STEPS,
    Evidence,
    Floats,
    Grounds,
    Sequence_,
    set_of,
    steps_of,
    walks_of,
)
from hearth.protocols import Proposal

_FLOOR = 0.01
_N_MISSED = 20
_MOST_TOGETHER = 6
"""Most steps of sequences that are computed together, padded.

With 7 links or fewer numpy adds one after the other, so zeros behind them change no bit of a sum.
"""
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
"""Features that concern hardly taught tools."""
SEEN_FEATURES = frozenset(
    {"known", "known_set", "known_log", "known_near", "links_count", "links_new", "links_new_near"}
)
"""Features that say whether something similar was taught before.

A trained model tells by itself; beside it they only keep the student from new combinations.
"""
_N_TRAINED = 8
"""Number of last features that come from the trained model; they are 0 without one."""


def features(found: Sequence[Sequence_], grounds: Grounds) -> Floats:
    """Return the features of each sequence, shape [n_found, len(FEATURES)]."""
    rows = np.zeros((len(found), len(FEATURES)))
    lengths = np.array([len(sequence) for sequence in found], dtype=np.int64)
    longer = sorted({n for n in lengths.tolist() if n > _MOST_TOGETHER})
    for group in (lengths <= _MOST_TOGETHER, *(lengths == n for n in longer)):
        mine = np.flatnonzero(group)
        if len(mine):
            rows[mine] = _of_group([found[k] for k in mine.tolist()], lengths[mine], grounds)
    return rows


def _of_group(found: Sequence[Sequence_], lengths: NDArray[np.int64], grounds: Grounds) -> Floats:
    """Return the features of sequences of about the same number of steps, the shorter ones padded with the end."""
    e, members = grounds.evidence, [set_of(sequence) for sequence in found]
    path = grounds.paths(found, lengths)
    within = path[:, 1:-1]
    is_link = np.arange(path.shape[1] - 1) <= lengths[:, None]
    is_in = is_link[:, 1:] & _first_uses(within)
    tools, links = _of_tools(grounds), _of_links(grounds)
    # Looked up in one go and added tool by tool: padding and repeated tools count 0.
    by_tool = dict(zip(tools, (np.array(list(tools.values()))[:, within] * is_in).sum(axis=2)))
    by_link = dict(zip(links, (np.array(list(links.values()))[:, path[:, :-1], path[:, 1:]] * is_link).sum(axis=2)))
    missed, clause_missed, rare_missed = _missed(found, within, grounds)
    n_known, n_sets = _taught(found, members, grounds)
    forward = np.minimum(np.diff(grounds.said[within], axis=1), 0.0) * is_link[:, 2:]
    votes_sequence, votes_set, votes_tools, votes_links = _votes(found, members, e)
    signs = {
        **by_tool,
        **by_link,
        "tools_least": np.where(is_in, np.clip(grounds.tools, _FLOOR, 1 - _FLOOR)[within], 1.0).min(axis=1),
        "tools_missed": np.log(np.maximum(missed, _FLOOR)),
        "clauses_missed": clause_missed,
        "rare_missed": np.log(np.maximum(rare_missed, _FLOOR) / _FLOOR),
        "votes_sequence": votes_sequence,
        "votes_set": votes_set,
        "votes_tools": votes_tools,
        "votes_links": votes_links,
        "size_1": lengths == 1,
        "size_3": lengths == 3,
        "size_more": lengths > 3,
        "size_log": np.log([max(e.sizes.get(min(n, 6), 0.0), 0.02) for n in lengths.tolist()]),
        "known": n_known > 0,
        "known_set": n_sets > 0,
        "known_log": np.log(np.maximum(n_known, 1)),
        "known_near": (n_known > 0) * e.nearest,
        "order_log": _order_log(path, lengths, grounds),
        "links_new_near": by_link["links_new"] * e.nearest,
        "said_back": forward.sum(axis=1),
        "cover": _cover(grounds.by_clause, within),
        "step_cover": _cover(grounds.steps, within),
        **dict(zip(FEATURES[-_N_TRAINED:], _trained(found, members, e.proposal))),
    }
    return np.ascontiguousarray(np.array([signs[name] for name in FEATURES], dtype=np.float64).T)


def _of_tools(grounds: Grounds) -> dict[str, Floats]:
    """Return the features of each of the few tools, to be added up over those of a sequence; [n_names] each."""
    p = np.clip(grounds.tools, _FLOOR, 1 - _FLOOR)
    odds = np.log(p / (1 - p))
    steps = grounds.steps.max(axis=0)
    return {
        "tools_fit": 2 * p - 1,
        "tools_odds": odds,
        "clauses_fit": 2 * grounds.best - 1,
        "clauses_log": np.log(np.clip(grounds.best, 0.02, 1)),
        "any_fit": 2 * grounds.any - 1,
        "step_fit": 2 * steps - 1,
        "step_log": np.log(np.clip(steps, 0.02, 1)),
        "rare": grounds.rarity,
        "rare_odds": odds * grounds.rarity,
    }


def _of_links(grounds: Grounds) -> dict[str, Floats]:
    """Return the features of each link between them; [n_names, n_names] each."""
    is_taught = grounds.n_links > 0
    link = np.where(is_taught, grounds.link, 0.0)
    return {
        "links_fit": 2 * link - 1,
        "links_log": np.log(np.clip(link, _FLOOR, 1)),
        "links_count": np.log1p(grounds.n_links),
        "links_new": np.where(is_taught, 0.0, 1.0),
    }


def _first_uses(places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark where a tool stands for the first time; sets count it once."""
    step = np.arange(places.shape[1])
    same = (places[:, :, None] == places[:, None, :]) & (step[:, None] < step)
    return np.asarray(~same.any(axis=1), dtype=np.bool_)


def _taught(found: Sequence[Sequence_], members: Sequence[Sequence_], grounds: Grounds) -> tuple[Floats, Floats]:
    """Count how often each sequence and each set was taught, without the one left out."""
    counts, own = grounds.counts, grounds.evidence.left_out
    own_set = set_of(own) if own is not None else None
    n_known = [max(counts.sequences.get(s, 0) - (s == own), 0) for s in found]
    n_sets = [max(counts.sets.get(s, 0) - (s == own_set), 0) for s in members]
    return np.array(n_known, dtype=np.float64), np.array(n_sets, dtype=np.float64)


def _votes(found: Sequence[Sequence_], members: Sequence[Sequence_], e: Evidence) -> tuple[Floats, ...]:
    """Return the weight of the neighbours that chose each sequence, its set, its tools and its links."""
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


def _missed(found: Sequence[Sequence_], within: NDArray[np.int64], grounds: Grounds) -> Floats:
    """Return the highest score of a tool that a set lacks, shape [3, n_found].

    The three are: from the whole text, from a clause, and of hardly taught tools from the whole text.
    """
    e = grounds.evidence
    uses = np.zeros((len(found), len(grounds.names) + 1), dtype=np.bool_)  # the last column is no tool of these
    uses[np.arange(len(found))[:, None], within] = True
    scores = np.array([e.tools, e.clause_best, e.rarity * e.tools])
    n = min(_N_MISSED, scores.shape[1])
    top = np.argpartition(-scores, n - 1, axis=1)[:, :n]
    left = np.where(uses[:, grounds.name_of[top]], 0.0, np.take_along_axis(scores, top, axis=1))
    return np.asarray(np.maximum(left.max(axis=2), 0.0).T, dtype=np.float64)


def _cover(by_clause: Floats, within: NDArray[np.int64]) -> Floats:
    """Return how much less the tools of each sequence serve the clauses than the best tool for each clause would."""
    scores = np.clip(by_clause, 0, 1)
    served = scores[:, within].max(axis=2)
    return np.asarray((served - scores.max(axis=1, keepdims=True)).sum(axis=0), dtype=np.float64)


def _order_log(path: NDArray[np.int64], lengths: NDArray[np.int64], grounds: Grounds) -> Floats:
    """Return how likely each order is among all orders of its tools."""
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
