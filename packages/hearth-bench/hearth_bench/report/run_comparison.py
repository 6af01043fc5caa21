"""Compare two runs: the differences, how sure they are, and where which run is better.

Samples are matched by request. The mean difference is resampled from the pairs with replacement (the paired bootstrap;
Efron & Tibshirani 1993, ch. 13): the middle 95 % of the results is its interval. A run wins if the whole interval
favours it; otherwise neither does.

Covered: the draws are the same for the same seed. A measure of which a run keeps no samples is shown without interval.
Not covered: no interval is widened for the number of measures looked at: of twenty equal ones, one "wins".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hearth.errors import RequestError
from hearth_bench.report.runs import CaseRun, Judged, Run

N_DRAWS = 10_000
_MIDDLE = (2.5, 97.5)
_MAX_CELLS = 4_000_000
"""Most cells of one block of draws, to limit memory."""
LESS_IS_BETTER = frozenset({"ms", "cloud", "tokens", "bytes_out", "energy_j", "wall_s", "cpu_s", "harmful"})
MIN_TO_WIN = 10
"""Fewest pairs for a win: with fewer, resampling says too little (three that agree would be certain)."""
_MIN_GROUP = 3
"""Fewest samples of a group that is shown."""
COSTS = ("ms", "tokens", "bytes_out", "energy_j")
"""Measures that are not shares."""
SCORES = ("right", "tool_f1", "same_tools", "same_order", "link_f1", "arg_value_f1", "cloud", *COSTS)


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference of one measure between both runs."""

    name: str
    n: int
    """Number of pairs; 0: only the totals are known."""
    a: float
    b: float
    low: float | None
    high: float | None
    """Upper end of the interval of `b - a`; `low` is the lower end."""

    @property
    def winner(self) -> str:
        """Winner `A` or `B`; empty if the difference may be chance."""
        if self.low is None or self.high is None or self.low <= 0 <= self.high or self.n < MIN_TO_WIN:
            return ""
        is_b = (self.b > self.a) != (self.name in LESS_IS_BETTER)
        return "B" if is_b else "A"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of two cases or results."""

    a: str
    b: str
    n_pairs: int
    n_only_a: int
    n_only_b: int
    measures: tuple[Difference, ...]
    groups: Mapping[str, tuple[Difference, ...]]
    """Differences of `right` in each group, by kind of group."""
    only_a_right: tuple[tuple[Judged, Judged], ...]
    only_b_right: tuple[tuple[Judged, Judged], ...]
    seed: int
    n_draws: int


def paired_interval(
    a: Sequence[float], b: Sequence[float], *, seed: int, n_draws: int = N_DRAWS
) -> tuple[float, float]:
    """Return the middle 95 % of the mean of `b - a`, resampling pairs with replacement.

    Equal differences are drawn together (a multinomial), which is equivalent: two runs of right and wrong take as long
    with a million samples as with ten.

    Raises:
        ValueError: Lengths differ, or there are no values.
    """
    if len(a) != len(b) or not a:
        raise ValueError(f"{len(a)} values beside {len(b)}; expected as many, at least one")
    values, counts = np.unique(np.asarray(b, float) - np.asarray(a, float), return_counts=True)
    drawn = np.random.default_rng(seed)
    means: list[np.ndarray[Any, np.dtype[np.float64]]] = []
    block = max(1, _MAX_CELLS // len(values))
    for start in range(0, n_draws, block):
        n = min(block, n_draws - start)
        means.append(drawn.multinomial(len(a), counts / len(a), size=n) @ values / len(a))
    low, high = np.percentile(np.concatenate(means), _MIDDLE)
    return float(low), float(high)


def compare_runs(a: Run, b: Run, *, seed: int = 0, n_draws: int = N_DRAWS) -> list[Comparison]:
    """Compare cases of the same name and hyperparameters; if there are none, the best case of each run.

    Raises:
        RequestError: One is a suite's result and the other is not, or a run has no case that is done.
    """
    if (a.document is None) != (b.document is None):
        raise RequestError(f"{a.path} and {b.path}: one is a suite's result, the other keeps samples; compare like")
    if a.document is not None and b.document is not None:
        return [_documents(a, b, seed, n_draws)]
    for run in (a, b):
        if not run.done:
            raise RequestError(f"{run.path}: no case is done; there is nothing to compare")
    mine, theirs = {case.label: case for case in reversed(a.done)}, {case.label: case for case in reversed(b.done)}
    same = [label for label in dict.fromkeys(case.label for case in a.done) if label in theirs]
    pairs = [(mine[label], theirs[label]) for label in same] if a.path != b.path and same else [(a.done[0], b.done[0])]
    return [_cases(x, y, (_name(a, x), _name(b, y)), seed, n_draws) for x, y in pairs]


def _name(run: Run, case: CaseRun) -> str:
    return case.label if case.label == run.name else f"{run.name}: {case.label}"


def _documents(a: Run, b: Run, seed: int, n_draws: int) -> Comparison:
    """Compare the numbers that both results have; they keep no samples, so there is no interval."""
    mine, theirs = numbers_of(a.document or {}), numbers_of(b.document or {})
    shared = [name for name in mine if name in theirs]
    if not shared:
        raise RequestError(f"{a.path} and {b.path} have no number of the same name; are they of the same suite?")
    found = tuple(Difference(name, 0, mine[name], theirs[name], None, None) for name in shared)
    return Comparison(a.name, b.name, 0, 0, 0, found, {}, (), (), seed, n_draws)


def numbers_of(document: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Return the numbers by dotted name, leaving out lists."""
    found: dict[str, float] = {}
    for key, value in document.items():
        if isinstance(value, Mapping):
            found |= numbers_of(value, f"{prefix}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[f"{prefix}{key}"] = float(value)
    return found


def _cases(a: CaseRun, b: CaseRun, names: tuple[str, str], seed: int, n_draws: int) -> Comparison:
    mine, theirs = {s.key: s for s in a.samples}, {s.key: s for s in b.samples}
    pairs = [(s, theirs[s.key]) for s in a.samples if s.key in theirs]
    found = [_difference(score, pairs, score, seed, n_draws) for score in SCORES]
    measures = [one for one in found if one is not None]
    for both, other in ((a.metrics, b.metrics), (a.cost, b.cost)):
        for name, value in both.items():
            beside = other.get(name)
            if value is not None and beside is not None and name not in {m.name for m in measures}:
                measures.append(Difference(name, 0, float(value), float(beside), None, None))
    only_a = [pair for pair in pairs if pair[0].scores["right"] > pair[1].scores["right"]]
    only_b = [pair for pair in pairs if pair[0].scores["right"] < pair[1].scores["right"]]
    return Comparison(
        *names, len(pairs), len(mine.keys() - theirs.keys()), len(theirs.keys() - mine.keys()), tuple(measures),
        _groups(pairs, seed, n_draws), tuple(only_a), tuple(only_b), seed, n_draws,
    )  # fmt: skip


def _difference(
    name: str, pairs: Sequence[tuple[Judged, Judged]], score: str, seed: int, n_draws: int
) -> Difference | None:
    both = [(x.scores[score], y.scores[score]) for x, y in pairs if score in x.scores and score in y.scores]
    if not both:
        return None
    a, b = [x for x, _ in both], [y for _, y in both]
    low, high = paired_interval(a, b, seed=seed, n_draws=n_draws)
    return Difference(name, len(both), float(np.mean(a)), float(np.mean(b)), low, high)


def _groups(pairs: Sequence[tuple[Judged, Judged]], seed: int, n_draws: int) -> Mapping[str, tuple[Difference, ...]]:
    kinds: Mapping[str, Callable[[Judged], Sequence[str]]] = {
        "right tool": lambda s: (
            list(dict.fromkeys(s.right_tools or ())) or (["no tool"] if s.right_tools == () else [])
        ),
        "steps of the right plan": lambda s: [_steps(len(s.right_tools))] if s.right_tools is not None else [],
        "words of the request": lambda s: [_length(len(s.question.split()))],
    }
    found: dict[str, tuple[Difference, ...]] = {}
    for kind, groups_of in kinds.items():
        groups: dict[str, list[tuple[Judged, Judged]]] = {}
        for pair in pairs:
            for group in groups_of(pair[0]):
                groups.setdefault(group, []).append(pair)
        shown = [
            _difference(g, rows, "right", seed, n_draws)
            for g, rows in sorted(groups.items(), key=_in_order)
            if len(rows) >= _MIN_GROUP
        ]
        if len(groups) > 1 and any(shown):
            found[kind] = tuple(one for one in shown if one is not None)
    return found


def _in_order(group: tuple[str, object]) -> tuple[int, str]:
    """Return a sort key that orders groups by their leading number."""
    found = re.match(r"\d+", group[0])
    return int(found[0]) if found else 0, group[0]


def _steps(n: int) -> str:
    return f"{n}" if n < 4 else "4 and more"


def _length(n: int) -> str:
    return next((f"{low}–{high}" for low, high in ((1, 5), (6, 10), (11, 20)) if n <= high), "21 and more")


# ── As texts ──────────────────────────────────────────────────────────────────────────────────────────────


def comparison_lines(found: Comparison, *, n_named: int = 5) -> list[str]:
    """Format a comparison for a terminal."""
    lines = [f"A  {found.a}", f"B  {found.b}"]
    if found.n_pairs or found.n_only_a or found.n_only_b:
        unmatched = found.n_only_a + found.n_only_b
        lines.append(
            f"{found.n_pairs:,} samples of both" + (f", {unmatched:,} of one alone are left out" if unmatched else "")
        )
    lines += ["", f"{'':<28}{'A':>10}{'B':>10}{'B − A':>10}   95 % interval       better"]
    lines += [_line(one) for one in found.measures]
    for kind, groups in found.groups.items():
        unlike = [one for one in groups if one.low or one.high]
        lines += ["", f"right, by {kind} ({len(groups) - len(unlike)} without a difference are left out)"]
        lines += [_line(one, f"{one.name} (n={one.n:,})") for one in unlike]
    for letter, pairs in (("A", found.only_a_right), ("B", found.only_b_right)):
        if pairs:
            lines += ["", f"right in {letter} alone: {len(pairs):,}"]
            for x, y in pairs[:n_named]:
                good, bad = (x, y) if letter == "A" else (y, x)
                lines.append(f"  {_cut(good.question, 60)}: {_cut(good.planned, 50)}, not {_cut(bad.planned, 50)}")
    lines += ["", f"{found.n_draws:,} draws, seed {found.seed}"]
    return lines


def _line(one: Difference, name: str = "") -> str:
    interval = "" if one.low is None or one.high is None else f"{one.low:+.4f} … {one.high:+.4f}"
    verdict = one.winner or ("–" if interval else "")
    shown = name or one.name
    return (
        f"{_cut(shown, 27):<28}{one.a:>10.4f}{one.b:>10.4f}{one.b - one.a:>+10.4f}   {interval:<20}{verdict}".rstrip()
    )


def _cut(text: str, n: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= n else text[: n - 1] + "…"


def comparison_document(found: Comparison) -> dict[str, object]:
    """Convert a comparison to JSON."""

    def row(one: Difference) -> dict[str, object]:
        return {"n": one.n, "a": one.a, "b": one.b, "difference": one.b - one.a, "low": one.low, "high": one.high,
                "better": one.winner}  # fmt: skip

    return {
        "a": found.a,
        "b": found.b,
        "n_pairs": found.n_pairs,
        "n_only_a": found.n_only_a,
        "n_only_b": found.n_only_b,
        "measures": {one.name: row(one) for one in found.measures},
        "groups": {kind: {one.name: row(one) for one in groups} for kind, groups in found.groups.items()},
        "right_in_a_alone": [x.question for x, _ in found.only_a_right],
        "right_in_b_alone": [x.question for x, _ in found.only_b_right],
        "seed": found.seed,
        "n_draws": found.n_draws,
    }


def interval_rows(found: Comparison) -> list[tuple[str, float, float, float]]:
    """Return name, difference and interval for the picture: measures in [−1, 1], then the groups that differ."""
    shown = [one for one in found.measures if one.name not in COSTS]
    named = [(one.name, one) for one in shown]
    named += [
        (f"{kind}: {one.name}", one) for kind, groups in found.groups.items() for one in groups if one.low or one.high
    ]
    rows = [(name, one.b - one.a, one.low, one.high) for name, one in named]
    return [(name, value, low, high) for name, value, low, high in rows if low is not None and high is not None]
