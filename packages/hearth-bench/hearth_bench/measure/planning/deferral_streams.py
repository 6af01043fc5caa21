"""Measure on streams when to ask the teacher.

    python -m hearth_bench.measure.planning.deferral_streams --data FOLDER [--only stream,mature,bound]

Writes `packages/hearth-bench/results/cascade.json` and `cascade.png`. FOLDER holds `train.jsonl`, `dev.jsonl` and
`tool_desc.json` of UltraTool in the plan format. With `--only`, the other sections of an earlier result are kept; rows
of `stream` that are there are not run again.

* `stream`: learn train as a stream from nothing, test then learn: request → student → the teacher (gold) if it is not
  sure enough → learn the teacher's plan, and nothing else. The answer is the teacher's plan where it was asked.
  Always asking has Node-F1 1, so `node_f1` is the share of it that is kept. `student_dev_node_f1`: the student alone,
  on dev, after the stream. `signal`: what is compared with the threshold. `threshold` is `learnt` where it was learnt
  on the way.
* `mature`: the same on dev, by a student that was taught train before.
* `bound`: how often the bound on wrong plans among those unasked is broken, on simulated and on held-out outcomes.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.deferral import ALWAYS_ASK, Costs, Outcome, is_drawn, learn_threshold, safe_thresholds
from hearth.planning.ranking.ranker import Ranker, Ranking
from hearth_bench.data.datasets import PlanData, graph_of, read_plans, read_tool_file
from hearth_bench.measure.result_file import RESULTS, write_result
from hearth_bench.metrics.plan_metrics import f1, is_accurate
from hearth_bench.run_record import commit
from hearth_bench.suites.planning_suite import graph_of_ranking, read_all

SECTIONS = ("stream", "mature", "bound")
SEED = 0
CHUNK = 25
"""Number of requests planned before the teacher's answers to them are learnt."""
N_REMEMBERED = 600
N_REPEATS = 1000
Floats = NDArray[np.float64]
Signal = Callable[[Ranking], float]


def confidence(ranking: Ranking) -> float:
    return ranking.confidence


def expected_f1(ranking: Ranking) -> float:
    """Return the expected Node-F1 of the chosen plan under the candidates' probabilities."""
    return ranking.expected_f1()


SIGNALS: Mapping[str, Signal] = {"confidence": confidence, "expected_f1": expected_f1}


# ── The stream ────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Asker:
    """Decides whether to ask; with `costs` the threshold is learnt from the outcomes of asked requests."""

    threshold: float
    signal: Signal
    costs: Costs | None = None
    compared_share: float = 0.0
    outcomes: list[Outcome] = field(default_factory=list)

    def asks(self, id: str, ranking: Ranking, is_taught: bool) -> tuple[bool, bool]:
        """Return whether to ask, and whether the request was drawn for comparison at random."""
        drawn = is_drawn(id, self.compared_share)
        return drawn or not is_taught or self.signal(ranking) < self.threshold, drawn

    def told(self, ranking: Ranking, is_right: bool, drawn: bool) -> None:
        sure = self.signal(ranking) >= self.threshold
        share = self.compared_share if sure and self.compared_share else 1.0
        self.outcomes.append(Outcome(self.signal(ranking), is_right, share, drawn))

    def learn(self) -> None:
        if self.costs is not None:
            learnt = learn_threshold(self.outcomes[-N_REMEMBERED:], self.costs)
            self.threshold = ALWAYS_ASK if learnt is None else learnt


def run_stream(
    student: Ranker, read: Any, rows: Sequence[int], asker: Asker, *, learns: bool = True
) -> dict[str, float]:
    """Test then learn over `rows`, and return flat results."""
    asked, node, right = [], [], []
    for start in range(0, len(rows), CHUNK):
        part = read.subset(rows[start : start + CHUNK])
        taught = []
        for k, (d, ranking) in enumerate(zip(part.demonstrations, student.rank_readings(part.readings))):
            plan, gold = graph_of_ranking(ranking), graph_of(d.plan)
            is_right = is_accurate(plan, gold)
            asks, drawn = asker.asks(d.id, ranking, len(student) >= 20)
            if asks:
                asker.told(ranking, is_right, drawn)
                taught.append(k)
            asked.append(asks)
            node.append(f1(plan.nodes, gold.nodes))
            right.append(is_right)
        asker.learn()
        if taught and learns:
            mine = part.subset(taught)
            student.learn(mine.demonstrations, mine.readings, mine.step_vectors)
    calls, f1s, rights = np.array(asked), np.array(node), np.array(right)
    half = len(calls) // 2
    answered = np.where(calls, 1.0, f1s)
    return {
        "calls": _share(calls),
        "node_f1": _share(answered),
        "wrong_unasked": _share(~rights[~calls]),
        "node_f1_unasked": _share(f1s[~calls]),
        "student_node_f1": _share(f1s),
        "second_half_calls": _share(calls[half:]),
        "second_half_node_f1": _share(answered[half:]),
        "second_half_wrong_unasked": _share(~rights[half:][~calls[half:]]),
    }


def _share(values: Any) -> float:
    return round(float(np.mean(values)), 4) if len(values) else 0.0


class UltraTool:
    """Data of UltraTool, read once."""

    def __init__(self, folder: Path) -> None:
        self.tools = read_tool_file(folder / "tool_desc.json")
        self.encoder = MiniLMEncoder.open()
        self.train: PlanData = read_plans(folder / "train.jsonl", self.tools)
        self.dev: PlanData = read_plans(folder / "dev.jsonl", self.tools)
        self.read = read_all(self.train, self.encoder)
        self.read_dev = read_all(self.dev, self.encoder)

    def student(self) -> Ranker:
        return Ranker(self.encoder, self.tools)

    def order(self, name: str) -> list[int]:
        rows = list(range(len(self.train.demonstrations)))
        return rows if name == "file" else [int(k) for k in np.random.default_rng(SEED).permutation(len(rows))]

    def taught(self) -> Ranker:
        student = self.student()
        student.learn(self.read.demonstrations, self.read.readings, self.read.step_vectors)
        return student

    def dev_score(self, student: Ranker) -> float:
        rankings = student.rank_readings(self.read_dev.readings)
        gold = [graph_of(d.plan).nodes for d in self.dev.demonstrations]
        return _share([f1(graph_of_ranking(r).nodes, g) for r, g in zip(rankings, gold)])


RUNS = (
    ("shuffle", "expected_f1", (0.7, 0.8, 0.85, 0.9)),
    ("file", "expected_f1", (0.85,)),
    ("shuffle", "confidence", (0.5,)),
)
LEARNT = (Costs(question=0.2, mistake=1.0, risk=0.3),)


def stream(data: UltraTool, earlier: Sequence[dict[str, object]]) -> Iterator[dict[str, object]]:
    """Yield one row at a time, skipping those of an earlier run."""
    done = {(row["order"], row["signal"], row["threshold"]) for row in earlier}
    for order, signal, thresholds in RUNS:
        for threshold in thresholds:
            if (order, signal, threshold) in done:
                continue
            student = data.student()
            scores = run_stream(student, data.read, data.order(order), Asker(threshold, SIGNALS[signal]))
            row = {"order": order, "signal": signal, "threshold": threshold, **scores}
            yield {**row, "student_dev_node_f1": data.dev_score(student), "commit": commit()}
    for costs in LEARNT:
        if ("shuffle", "expected_f1", "learnt") in done:
            continue
        asker = Asker(ALWAYS_ASK, expected_f1, costs, compared_share=0.1)
        student = data.student()
        scores = run_stream(student, data.read, data.order("shuffle"), asker)
        row = {"order": "shuffle", "signal": "expected_f1", "threshold": "learnt", "risk": costs.risk}
        row |= {"last_threshold": _plain(asker.threshold), "question": costs.question, **scores}
        yield {**row, "student_dev_node_f1": data.dev_score(student), "commit": commit()}


def _plain(threshold: float) -> float | str:
    return "always ask" if threshold == ALWAYS_ASK else round(threshold, 2)


def mature(data: UltraTool) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    student = data.taught()
    rows = list(range(len(data.dev.demonstrations)))
    for signal in SIGNALS:
        for share in (0.0, 0.2, 0.3, 0.4, 0.5, 0.6):
            rankings = student.rank_readings(data.read_dev.readings)
            threshold = float(np.quantile([SIGNALS[signal](r) for r in rankings], share)) if share else 0.0
            asker = Asker(threshold, SIGNALS[signal])
            found.append(
                {
                    "signal": signal,
                    "asked_share": share,
                    **run_stream(student, data.read_dev, rows, asker, learns=False),
                }
            )
    return found


# ── The bound ─────────────────────────────────────────────────────────────────────────────────────────────


def bound(data: UltraTool) -> list[dict[str, object]]:
    """Measure in what share of repeats the unasked plans are wrong more often than allowed; at most 0.1 may be."""
    found: list[dict[str, object]] = []
    drawn = np.random.default_rng(SEED)
    for risk in (0.05, 0.1, 0.2):
        for n in (100, 300, 1000):
            broken, coverage = 0, []
            for _ in range(N_REPEATS):
                sure = drawn.beta(2, 1, n)
                right = drawn.random(n) < sure**1.3  # as overconfident as a badly fitted student
                threshold = min(safe_thresholds(_outcomes(sure, right), risk, 0.1), default=ALWAYS_ASK)
                # Exact P(wrong | sure >= t) of that distribution: density 2s, right with probability s^1.3
                t = min(threshold, 1.0)
                mass = 1 - t**2
                wrong = mass - 2 * (1 - t**3.3) / 3.3
                broken += bool(threshold < 1 and wrong / mass > risk)
                coverage.append(mass if threshold < 1 else 0.0)
            found.append(_violations("simulated", risk, n, broken, coverage))
    rows = data.order("shuffle")
    student, half = data.student(), len(rows) // 2
    part = data.read.subset(rows[:half])
    student.learn(part.demonstrations, part.readings, part.step_vectors)
    held = data.read.subset(rows[half:])
    rankings = student.rank_readings(held.readings)  # outcomes are drawn from these, with replacement
    sure = np.array([r.confidence for r in rankings])
    right = np.array(
        [is_accurate(graph_of_ranking(r), graph_of(d.plan)) for r, d in zip(rankings, held.demonstrations)]
    )
    for risk in (0.1, 0.2, 0.3):
        for n in (100, 300, 600):
            broken, coverage = 0, []
            for _ in range(N_REPEATS):
                mine = drawn.integers(0, len(sure), n)
                threshold = min(safe_thresholds(_outcomes(sure[mine], right[mine]), risk, 0.1), default=ALWAYS_ASK)
                unasked = sure >= threshold
                broken += bool(unasked.any() and (~right[unasked]).mean() > risk)
                coverage.append(float(unasked.mean()))
            found.append(_violations("UltraTool, half taught", risk, n, broken, coverage))
    return found


def _outcomes(sure: Floats, right: Any) -> list[Outcome]:
    return [Outcome(float(s), bool(r)) for s, r in zip(sure, right)]


def _violations(what: str, risk: float, n: int, broken: int, coverage: Sequence[float]) -> dict[str, object]:
    return {
        "outcomes": what,
        "risk": risk,
        "n": n,
        "violations": round(broken / N_REPEATS, 4),
        "allowed": 0.1,
        "unasked": round(float(np.mean(coverage)), 4),
    }


# ── The picture ───────────────────────────────────────────────────────────────────────────────────────────


def draw(results: Mapping[str, Any], path: Path) -> None:
    """Draw node F1 against calls, one point per threshold."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.4))
    fixed = [r for r in results.get("stream", []) if r["threshold"] != "learnt"]
    rows = [(f"stream, {r['order']}, {r['signal']}", r) for r in fixed]
    rows += [("stream, threshold learnt", r) for r in results.get("stream", []) if r not in fixed]
    rows += [(f"taught before, {r['signal']}", r) for r in results.get("mature", [])]
    for label in dict.fromkeys(label for label, _ in rows):
        mine = sorted((r["calls"], r["node_f1"]) for name, r in rows if name == label)
        style = "o" if "learnt" in label else "o-"
        axes.plot([x for x, _ in mine], [y for _, y in mine], style, label=label, markersize=4)
    axes.axhline(0.97, color="grey", linewidth=0.8, linestyle=":")
    axes.axvline(0.4, color="grey", linewidth=0.8, linestyle=":")
    axes.set_xlabel("share of requests put to the teacher")
    axes.set_ylabel("Node-F1, of always asking")
    axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default=",".join(SECTIONS))
    chosen = parser.parse_args()
    started, cpu = time.perf_counter(), time.process_time()
    earlier = RESULTS / "cascade.json"
    kept = json.loads(earlier.read_text())["results"] if earlier.exists() else {}
    results: dict[str, Any] = {name: kept[name] for name in (*SECTIONS, "commits") if name in kept}
    only = chosen.only.split(",")
    if unknown := set(only) - set(SECTIONS):
        parser.error(f"unknown sections {sorted(unknown)}; known are {', '.join(SECTIONS)}")
    data = UltraTool(chosen.data)
    if "mature" in only:
        results["mature"] = mature(data)
    if "bound" in only:
        results["bound"] = bound(data)
    for row in stream(data, results.setdefault("stream", [])) if "stream" in only else ():
        results["stream"].append(row)  # written at once: running all rows takes a quarter of an hour
        write_result("cascade", results, seed=SEED, cpu_s=time.process_time() - cpu, wall_s=0.0)
    results["commits"] = results.get("commits", {}) | {name: commit() for name in only if name != "stream"}
    write_result("cascade", results, seed=SEED, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - started)
    draw(results, RESULTS / "cascade.png")


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
