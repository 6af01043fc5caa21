"""Hold a sum over many owners to what public requests mean: it counts only as far as it moves none to another effect.

Public requests are acts whose right tool, and so whose effect (`none` reads, `change`, `send`), is known. Weights are
solved from the public evidence with a share of the others' added. The share is halved until no public act that was
right becomes one of a stronger effect, and no more than one in a hundred where a fifth of the acts is judged by weights
without them, as requests that nobody wrote down are. With a share of nothing none does, so there always is one. What
others add is thus bounded by what is public, however many they are, and a request like a public one keeps its kind of
effect.

Evidence is any table of sums over named outputs. Looking only at the sum that is published, with its noise, this costs
no privacy. Not covered: requests like none that is public; wrong tools of the same effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_RIDGE = 0.3
_N_FOLDS = 5
_MOST_MOVED = 0.01
"""Share of acts, judged as if they were not public, that may move: some are moved by any evidence, also honest."""
STRENGTH = {"none": 0, "change": 1, "send": 2}
SHARES = (*(0.5**k for k in range(25)), 0.0)
"""Tried in turn. Those of very many owners count little each: their sum may weigh no more than what is public."""


@dataclass(frozen=True)
class Evidence:
    """Sums over requests: features' products and how each tool's requests sum up."""

    tools: tuple[str, ...]
    gram: Floats
    """Shape [n_features, n_features], of features of length 1."""
    moments: Floats
    """Shape [n_features, n_tools]."""

    def over(self, tools: tuple[str, ...]) -> Evidence:
        """Return the same with a column for each of `tools`."""
        moments = np.zeros((len(self.gram), len(tools)))
        place = {tool: k for k, tool in enumerate(tools)}
        moments[:, [place[tool] for tool in self.tools]] = self.moments
        return Evidence(tools, self.gram, moments)


@dataclass(frozen=True)
class Acts:
    """Public requests whose right tool is known."""

    rows: Floats
    """Shape [n_acts, n_features]."""
    tools: tuple[tuple[str, ...], ...]
    """The tools of each one's plan, as in the evidence."""
    effects: Mapping[str, str]
    """Effect by tool; a tool of none known counts as the strongest."""

    def chosen(self, evidence: Evidence, *, is_part: bool = False) -> tuple[str, ...]:
        """Return the tool that heads solved from the evidence choose for each act.

        Args:
            is_part: Whether these acts are part of it; each fifth of them is then judged without itself.
        """
        if not is_part:
            return _chosen(evidence, self.rows)
        found = [""] * len(self.rows)
        for fold in range(min(_N_FOLDS, len(self.rows))):
            rows = self.rows[fold::_N_FOLDS]
            wanted = np.array([[float(tool in mine) for tool in evidence.tools] for mine in self.tools[fold::_N_FOLDS]])
            rest = Evidence(evidence.tools, evidence.gram - rows.T @ rows, evidence.moments - rows.T @ wanted)
            found[fold::_N_FOLDS] = _chosen(rest, rows)
        return tuple(found)

    def moved(self, before: tuple[str, ...], after: tuple[str, ...]) -> int:
        """Return how many acts that had the right effect are of a stronger one now."""
        return sum(
            self.strength((now,)) > self.strength(right) >= self.strength((was,))
            for right, was, now in zip(self.tools, before, after, strict=True)
        )

    def strength(self, tools: tuple[str, ...]) -> int:
        """Return how strong the strongest effect of these tools is; of a tool that is not known, the strongest."""
        return max(STRENGTH.get(self.effects.get(tool, "send"), 2) for tool in tools)


def _chosen(evidence: Evidence, rows: Floats) -> tuple[str, ...]:
    gram = evidence.gram + _RIDGE * np.eye(len(evidence.gram))
    weights = np.linalg.solve(gram, evidence.moments)
    return tuple(evidence.tools[k] for k in (rows @ weights).argmax(axis=1))


def share_of(others: Evidence, public: Evidence, acts: Acts) -> float:
    """Return the greatest share of the others' sums that moves no public act to a stronger effect."""
    tools = tuple(sorted({*public.tools, *others.tools}))
    mine, theirs = public.over(tools), others.over(tools)
    known, unknown = acts.chosen(mine), acts.chosen(mine, is_part=True)
    for share in SHARES:
        both = Evidence(tools, mine.gram + share * theirs.gram, mine.moments + share * theirs.moments)
        if not share or (
            not acts.moved(known, acts.chosen(both))
            and acts.moved(unknown, acts.chosen(both, is_part=True)) <= _MOST_MOVED * len(unknown)
        ):
            return share
    raise AssertionError("the last share is none")
