"""Compute metrics of plans, of learning over time and of confidence: pure functions, each as its source defines it.

The groups: task decomposition is `hearth_bench.metrics.step_metrics`, tool invocation the first section here, parameter
prediction `hearth_bench.metrics.argument_f1`; `hearth_bench.metrics.taskbench` computes all three from files as
TaskBench's own program does.

Node, link and accuracy scores are means over samples (macro), as in GNN4TaskPlan; TaskBench's `evaluate.py` pools nodes
over all samples (micro): `taskbench_node_f1`. The two differ by points, so each has its own name.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence, Sized
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearth_bench.metrics.step_metrics import common_length

Link = tuple[str, str]


@dataclass(frozen=True, slots=True)
class PlanGraph:
    """Nodes and links of a plan, as plan metrics use them."""

    nodes: tuple[str, ...]
    """Tool names in order."""
    links: tuple[Link, ...]


# ── Plans ─────────────────────────────────────────────────────────────────────────────────────────────────


def f1(predicted: Sequence[Hashable], gold: Sequence[Hashable]) -> float:
    """Return the F1 of two lists as sets, with precision and recall over list lengths; 0 when one is empty.

    As in the source, a tool that a plan uses twice counts twice in the length and once in the overlap.

    Source:
        GNN4TaskPlan `evaluate.py`, `f1_score` (Wu et al. 2024, https://arxiv.org/abs/2405.19119).
    """
    if not predicted or not gold:
        return 0.0
    n_both = len(set(predicted) & set(gold))
    precision, recall = n_both / len(predicted), n_both / len(gold)
    return 2 * precision * recall / (precision + recall + 1e-9)


def is_accurate(predicted: PlanGraph, gold: PlanGraph) -> bool:
    """Return whether both have the same tools in any order: node F1 of at least .99 (GNN4TaskPlan
    `batch_task_accuracy`)."""
    return f1(predicted.nodes, gold.nodes) >= 0.99


def plan_scores(
    predicted: Sequence[PlanGraph],
    gold: Sequence[PlanGraph],
    tools: frozenset[str] | set[str],
    known_links: frozenset[Link] | set[Link] | None = None,
) -> dict[str, float]:
    """Compute macro scores of plans.

    Args:
        tools: Names of existing tools; any other in a plan is a hallucination.
        known_links: Existing links; None leaves the link rates out.
    Returns:
        `node_f1 link_f1 accuracy exact`, `node_hallucination` (mean share of unknown nodes of a plan) and
        `node_hallucination_plans` (share of plans with one), the same of links, and `n`. `link_f1` is over the samples
        whose gold plan has links (the source gives none for single calls), and left out where none has.
    Raises:
        ValueError: Lengths differ, or there is nothing to score.
    Source:
        GNN4TaskPlan `evaluate.py`; `exact` (same sequence) is Hearth's own.
    """
    if len(predicted) != len(gold) or not gold:
        raise ValueError(f"{len(predicted)} plans for {len(gold)} samples; expected as many, at least one")
    pairs = list(zip(predicted, gold))
    scores = {
        "node_f1": _mean(f1(p.nodes, g.nodes) for p, g in pairs),
        "accuracy": _mean(is_accurate(p, g) for p, g in pairs),
        "exact": _mean(p.nodes == g.nodes for p, g in pairs),
        "node_hallucination": _mean(unknown_share(p.nodes, tools) for p in predicted),
        "node_hallucination_plans": _mean(unknown_share(p.nodes, tools) > 0 for p in predicted),
        "n": float(len(gold)),
    }
    linked = [f1(p.links, g.links) for p, g in pairs if g.links]
    if linked:
        scores["link_f1"] = _mean(linked)
    if known_links is not None:
        scores["link_hallucination"] = _mean(unknown_share(p.links, known_links) for p in predicted)
        scores["link_hallucination_plans"] = _mean(unknown_share(p.links, known_links) > 0 for p in predicted)
    return scores


def unknown_share(
    items: Sequence[Hashable], known: frozenset[Hashable] | set[str] | set[Link] | frozenset[str] | frozenset[Link]
) -> float:
    """Return the share of items that are not known; 0 without items (GNN4TaskPlan `node_hallucination_rate`)."""
    return sum(item not in known for item in items) / len(items) if items else 0.0


def taskbench_node_f1(
    predicted: Sequence[PlanGraph], gold: Sequence[PlanGraph], tools: frozenset[str] | set[str] | None = None
) -> float:
    """Return the node micro-F1: each tool counted once per sample, pooled over samples; unknown tools are ignored.

    As in the source, a plan is scored as a set, and a hallucinated tool costs no precision.

    Args:
        tools: Names of existing tools; None takes all names.
    Source:
        TaskBench `evaluate.py`, `node_micro_f1_no_matching` (Shen et al. 2023, https://arxiv.org/abs/2311.18760).
    """

    def known(graphs: Sequence[PlanGraph]) -> list[list[str]]:
        return [[name for name in graph.nodes if tools is None or name in tools] for graph in graphs]

    return pooled_set_f1(known(predicted), known(gold)) or 0.0


def taskbench_node_macro_f1(predicted: Sequence[PlanGraph], gold: Sequence[PlanGraph], tools: Sequence[str]) -> float:
    """Return the mean over all tools of each tool's F1 over samples; a tool that no plan uses counts 0.

    Source:
        TaskBench `evaluate.py`, `node_macro_f1_no_matching`.
    """
    n_both, n_ours, n_theirs = (dict.fromkeys(tools, 0) for _ in range(3))
    for p, g in zip(predicted, gold):
        ours, theirs = n_ours.keys() & set(p.nodes), n_theirs.keys() & set(g.nodes)
        for counts, names in ((n_both, ours & theirs), (n_ours, ours), (n_theirs, theirs)):
            for name in names:
                counts[name] += 1
    totals = ((n_both[name], n_ours[name] + n_theirs[name]) for name in n_both)
    return _mean(2 * both / total if total else 0.0 for both, total in totals)


def taskbench_link_f1(predicted: Sequence[PlanGraph], gold: Sequence[PlanGraph]) -> float | None:
    """Return the F1 of links, each counted once per sample, pooled over samples; None without any link.

    Source:
        TaskBench `evaluate.py`, `link_binary_f1`.
    """
    return pooled_set_f1([p.links for p in predicted], [g.links for g in gold])


def taskbench_edit_distance(
    predicted: Sequence[PlanGraph], gold: Sequence[PlanGraph], tools: frozenset[str] | set[str]
) -> float:
    """Return the mean normalised edit distance of tool sequences, with insertions and deletions only; 0: same order.

    As in the source, all unknown tools count as the same tool.

    Source:
        TaskBench `evaluate.py`, `edit_distance`: 1 - `Levenshtein.ratio`, which is 1 - 2 LCS / (n + m).
    """

    def distance(p: PlanGraph, g: PlanGraph) -> float:
        a, b = ([name if name in tools else "" for name in graph.nodes] for graph in (p, g))
        return 1 - 2 * common_length(a, b) / (len(a) + len(b)) if a or b else 0.0

    return _mean(distance(p, g) for p, g in zip(predicted, gold))


def pooled_set_f1(predicted: Sequence[Sequence[Hashable]], gold: Sequence[Sequence[Hashable]]) -> float | None:
    """Return the F1 over all samples' items, each item counted once per sample; None without items."""
    n_both = sum(len(set(p) & set(g)) for p, g in zip(predicted, gold))
    n_all = sum(len(set(p)) + len(set(g)) for p, g in zip(predicted, gold))
    return 2 * n_both / n_all if n_all else None


# ── Learning over time ────────────────────────────────────────────────────────────────────────────────────

Matrix = NDArray[np.float64]
"""R[i, j]: score on task j after learning tasks 0..i; square."""


def average_accuracy(r: Matrix) -> float:
    """Return ACC: the mean score over all tasks after the last. Source: Lopez-Paz & Ranzato 2017, eq. 2, arXiv
    1706.08840."""
    return float(_square(r)[-1].mean())


def backward_transfer(r: Matrix) -> float:
    """Return BWT: the mean change on earlier tasks by later learning; negative is forgetting. Source: ibid., eq. 3."""
    n = len(_square(r))
    return float(np.mean([r[-1, j] - r[j, j] for j in range(n - 1)])) if n > 1 else 0.0


def forward_transfer(r: Matrix, untaught: Sequence[float]) -> float:
    """Return FWT: the mean score on a task just before learning it, above `untaught` (before any). Source: ibid.,
    eq. 4."""
    n = len(_square(r))
    return float(np.mean([r[j - 1, j] - untaught[j] for j in range(1, n)])) if n > 1 else 0.0


def forgetting(r: Matrix) -> float:
    """Return the mean over earlier tasks of the best score ever less the last. Source: Chaudhry et al. 2018, eq. 3."""
    n = len(_square(r))
    return float(np.mean([r[j : n - 1, j].max() - r[-1, j] for j in range(n - 1)])) if n > 1 else 0.0


# Ianvs computes metrics of the same names differently. Its matrix has one more row: row 0 is the score before the
# first round (or after one sample), row r the score after round r.

IanvsScores = Sequence[Sequence[Mapping[str, float]]]
"""`[r][j]["accuracy"]`: score on task j after round r; one row more than tasks."""


def ianvs_backward_transfer(matrix: IanvsScores) -> float:
    """Return what Ianvs calls BWT: the mean change from round to round over all tasks, including those not yet learnt.

    It telescopes to (last row - first row) / R, so a learner that forgets can have a positive one.

    Source:
        kubeedge/ianvs `core/testcasecontroller/metrics/metrics.py`, `compute`. NaN where it would fail.
    """
    r = _ianvs_matrix(matrix)
    return float((r[-1] - r[0]).sum() / r.shape[1] ** 2) if r is not None else float("nan")


def ianvs_forward_transfer(matrix: IanvsScores) -> float:
    """Return what Ianvs calls FWT: the mean score on the next task before learning it, above row 0 (the first counts
    0).

    Source:
        ibid.
    """
    r = _ianvs_matrix(matrix)
    return float(np.mean([r[i, i] - r[0, i] for i in range(r.shape[1])])) if r is not None else float("nan")


def ianvs_matrix(matrix: IanvsScores) -> list[list[float]]:
    """Return what Ianvs calls MATRIX: the scores without row 0; empty for a malformed one. Source: ibid."""
    r = _ianvs_matrix(matrix)
    return [] if r is None else [[float(x) for x in row] for row in r[1:]]


def ianvs_samples_transfer_ratio(rounds: Sequence[tuple[Sized, Sized]]) -> float:
    """Return the ratio of samples sent to be learnt to those inferred plus one, to four places. Source: ibid.

    Args:
        rounds: For each round the samples inferred and those sent.
    """
    n_inferred, n_sent = sum(len(inferred) for inferred, _ in rounds), sum(len(sent) for _, sent in rounds)
    return round(n_sent / (n_inferred + 1), 4)


def ianvs_task_avg_acc(task_scores: Sequence[Mapping[str, float]]) -> float:
    """Return the mean accuracy over tasks on the test file, to three places. Source: ibid."""
    return round(sum(scores["accuracy"] for scores in task_scores) / len(task_scores), 3)


def split_ianvs_matrix(matrix: IanvsScores) -> tuple[Matrix, list[float]]:
    """Split Ianvs' matrix into R as in the literature and the scores before anything was learnt.

    Raises:
        ValueError: The matrix does not have one row more than tasks, or holds something other than accuracies.
    """
    r = _ianvs_matrix(matrix)
    if r is None:
        raise ValueError(f"{len(matrix)} rows; expected one more than tasks, each with a score for every task")
    return r[1:], [float(x) for x in r[0]]


def _ianvs_matrix(matrix: IanvsScores) -> Matrix | None:
    n_tasks = len(matrix) - 1
    if n_tasks < 1 or any(len(row) != n_tasks for row in matrix):
        return None
    if not all(isinstance(score, Mapping) and "accuracy" in score for row in matrix for score in row):
        return None
    return np.array([[score["accuracy"] for score in row] for row in matrix], dtype=np.float64)


def _square(r: Matrix) -> Matrix:
    if r.ndim != 2 or r.shape[0] != r.shape[1] or not len(r):
        raise ValueError(f"R has shape {r.shape}; expected as many rounds as tasks")
    return r


# ── Confidence ────────────────────────────────────────────────────────────────────────────────────────────


def calibration_error(confidences: Sequence[float], is_right: Sequence[bool], n_bins: int = 10) -> float:
    """Return ECE: the mean distance between confidence and accuracy over bins of equal width, weighted by their size.

    Source:
        Guo et al. 2017, eq. 3, https://arxiv.org/abs/1706.04599; Naeini et al. 2015.
    """
    sure, right = np.asarray(confidences, dtype=np.float64), np.asarray(is_right, dtype=np.float64)
    if sure.shape != right.shape or not len(sure):
        raise ValueError(f"{len(sure)} confidences for {len(right)} outcomes; expected as many, at least one")
    bins = np.minimum((sure * n_bins).astype(int), n_bins - 1)
    error = 0.0
    for b in range(n_bins):
        inside = bins == b
        if inside.any():
            error += float(inside.mean() * abs(sure[inside].mean() - right[inside].mean()))
    return error


def reliability_curve(
    confidences: Sequence[float], is_right: Sequence[bool], n_bins: int = 10
) -> list[dict[str, float | int | None]]:
    """Return, for each bin of equal width, how many answers lie in it, their mean confidence and the share right.

    The bins are those of `calibration_error`; an empty one has no means.
    """
    sure, right = np.asarray(confidences, dtype=np.float64), np.asarray(is_right, dtype=np.float64)
    bins = np.minimum((sure * n_bins).astype(int), n_bins - 1)
    curve: list[dict[str, float | int | None]] = []
    for b in range(n_bins):
        inside = bins == b
        means = (float(sure[inside].mean()), float(right[inside].mean())) if inside.any() else (None, None)
        curve.append(
            {
                "from": b / n_bins,
                "to": (b + 1) / n_bins,
                "n": int(inside.sum()),
                "confidence": means[0],
                "right": means[1],
            }
        )
    return curve


def calibration_floor(confidences: Sequence[float], n_bins: int = 10, n_draws: int = 100) -> float:
    """Return the mean ECE if each confidence were exactly the probability of being right: the error due to few samples.

    Source:
        The bias of binned estimates: Roelofs et al. 2022, https://arxiv.org/abs/2012.08668, section 3.
    """
    sure = np.asarray(confidences, dtype=np.float64)
    drawn = np.random.default_rng(0)
    draws = ((drawn.random(len(sure)) < sure).tolist() for _ in range(n_draws))
    return float(np.mean([calibration_error(sure.tolist(), right, n_bins) for right in draws]))


def accuracy_at_coverage(confidences: Sequence[float], is_right: Sequence[bool], coverage: float) -> float:
    """Return the accuracy of the surest `coverage` of all answers (selective prediction)."""
    order = np.argsort(-np.asarray(confidences), kind="stable")
    n_kept = max(1, round(coverage * len(order)))
    return float(np.asarray(is_right, dtype=np.float64)[order[:n_kept]].mean())


def _mean(values: object) -> float:
    return float(np.mean(np.fromiter(values, dtype=np.float64)))  # type: ignore[call-overload]
