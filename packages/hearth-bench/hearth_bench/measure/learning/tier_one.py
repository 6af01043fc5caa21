"""Measure tier one on public plans: quality, new combinations, new tools, noise, cost (streams: `hearth bench`).

    python -m hearth_bench.measure.learning.tier_one --data FOLDER [--only dev,cost]

Writes packages/hearth-bench/results/heads.json. FOLDER holds `train.jsonl`, `dev.jsonl`, `tool_desc.json` and
`graph_desc.json`. Everything was chosen on parts cut from train; dev is for reporting. With `--only`, the other
sections of an earlier result file are kept.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hearth.formats.plans import read_graph
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.ranking.ranker import FILE_NAME, Ranker, RankerOptions, Ranking
from hearth.types import Demonstration, Plan, Step, ToolSpec
from hearth_bench.data.datasets import (
    PlanData,
    composition_split,
    random_split,
    read_plans,
    read_tool_file,
    tool_split,
)
from hearth_bench.measure.result_file import RESULTS, write_result
from hearth_bench.run_record import commit
from hearth_bench.suites.planning_suite import METHODS, PlanningOptions, Read, judge, read_all, run_planning, teach

SEED = 3
NEW_TOOL_SEEDS = (SEED, 11, 12)
N_MANY = 9_740
"""Number of tools made of random words, offered beside the real ones."""
SECTIONS = ("split", "dev", "composition", "new_tools", "noise", "cost")


class Bench:
    """Data and measurements of tier one; the data are read once."""

    def __init__(self, folder: Path) -> None:
        self.tools = read_tool_file(folder / "tool_desc.json")
        self.train = read_plans(folder / "train.jsonl", self.tools)
        self.dev = read_plans(folder / "dev.jsonl", self.tools)
        self.graph = read_graph(folder / "graph_desc.json")
        self.encoder = MiniLMEncoder.open()
        self.read = read_all(self.train, self.encoder)

    def trained(self, rows: Sequence[int], options: RankerOptions | None = None) -> Ranker:
        student = Ranker(self.encoder, self.tools, options)
        teach(student, self.read.subset(rows))
        return student

    def judged(self, student: Ranker, rows: Sequence[int]) -> dict[str, float]:
        """Return scores on rows of train."""
        mine = self.read.subset(rows)
        return judge(student.rank_readings(mine.readings), mine.demonstrations, frozenset(self.tools))

    def split(self) -> dict[str, object]:
        """Return the mean over three parts of 300 cut from train, on which choices were made; `ece_of_all` is over
        all 900."""
        order = [int(i) for i in np.random.default_rng(7).permutation(len(self.train.demonstrations))]
        scores: list[dict[str, float]] = []
        rankings: list[Ranking] = []
        for k in range(3):
            held = sorted(order[k * 300 : (k + 1) * 300])
            mine = self.read.subset(held)
            student = self.trained(sorted(set(order) - set(held)))
            rankings += student.rank_readings(mine.readings)
            scores.append(judge(rankings[-300:], mine.demonstrations, frozenset(self.tools)))
        whole = judge(rankings, self.read.subset(_parts(order)).demonstrations, frozenset(self.tools))
        return {
            **{key: round(float(np.mean([s[key] for s in scores])), 4) for key in scores[0]},
            **{f"{key}_of_all": round(whole[key], 4) for key in ("ece", "ece_floor")},
        }

    def dev_(self) -> dict[str, object]:
        found: dict[str, object] = {}
        for method in METHODS:
            found[method] = run_planning(
                self.read, self.dev, self.encoder, PlanningOptions(method=method), graph=self.graph
            )
        return found

    def composition(self) -> dict[str, object]:
        kept, held = composition_split(self.train, 244, SEED)
        scores = self.judged(self.trained(kept), held)
        return {key: round(value, 4) for key, value in scores.items()}

    def new_tools(self) -> dict[str, object]:
        """Measure 52 tools without examples, then with some each; `other` are requests that use none of them.

        The draw of tools matters much (two that are easily confused are in half of the requests of the first draw), so
        there are several draws and their mean.
        """
        draws = {seed: self._new_tools(seed) for seed in NEW_TOOL_SEEDS}
        mean = {key: round(float(np.mean([one[key] for one in draws.values()])), 4) for key in draws[SEED]}
        return {**{f"seed_{seed}": one for seed, one in draws.items()}, "mean": mean}

    def _new_tools(self, seed: int) -> dict[str, float]:
        kept, touched, chosen = tool_split(self.train, 52, seed)
        drawn = random.Random(seed)
        drawn.shuffle(touched)
        pool, held = touched[: len(touched) // 2], touched[len(touched) // 2 :][:300]
        plans = self.dev.demonstrations
        requests = Ranker(self.encoder, self.tools).read([d.request for d in plans])
        is_new = [any(step.tool in chosen for step in d.plan.steps) for d in plans]
        found: dict[str, float] = {"n_tools": len(chosen), "n_dev": sum(is_new), "n_cut": len(held)}
        for n in (0, 1, 3, 10):
            examples = _examples(self.train, pool, chosen, n)
            student = self.trained([*kept, *examples])
            rankings = student.rank_readings(requests)
            for name, wanted in (("dev", True), ("dev_other", False)):
                rows = [k for k, new in enumerate(is_new) if new == wanted]
                scores = judge([rankings[k] for k in rows], [plans[k] for k in rows], frozenset(self.tools))
                found[f"examples_{n}_{name}_node_f1"] = round(scores["node_f1"], 4)
                found[f"examples_{n}_{name}_accuracy"] = round(scores["accuracy"], 4)
            scores = self.judged(student, held)
            found[f"examples_{n}_cut_node_f1"] = round(scores["node_f1"], 4)
            found[f"examples_{n}_cut_accuracy"] = round(scores["accuracy"], 4)
            found[f"examples_{n}_n"] = len(examples)
        return found

    def noise(self) -> dict[str, object]:
        """Measure the loss when a tenth of all demonstrations have plans of random tools."""
        drawn = random.Random(SEED)
        kept, held = random_split(len(self.train.demonstrations), 300, SEED)
        clean = self.read.subset(kept)
        names = sorted(self.tools)
        poisoned = [_random_plan(d, names, drawn) if drawn.random() < 0.1 else d for d in clean.demonstrations]
        student = Ranker(self.encoder, self.tools)
        vectors = student.step_vectors(poisoned)
        teach(student, Read(tuple(poisoned), clean.readings, tuple(vectors), 0.0))
        dirty, right = self.judged(student, held), self.judged(self.trained(kept), held)
        return {
            "node_f1_clean": round(right["node_f1"], 4),
            "node_f1_poisoned": round(dirty["node_f1"], 4),
            "accuracy_clean": round(right["accuracy"], 4),
            "accuracy_poisoned": round(dirty["accuracy"], 4),
            "node_f1_loss": round(right["node_f1"] - dirty["node_f1"], 4),
        }

    def cost(self) -> dict[str, object]:
        """Measure time and size with everything taught; milliseconds are wall time on one core."""
        student = Ranker(self.encoder, self.tools)
        learn_s = teach(student, self.read)
        student.settle()
        found: dict[str, object] = {
            "learn_and_fit_cpu_s": round(learn_s, 2),
            "encode_cpu_s": round(self.read.cpu_s, 1),
            "n_features": student.heads.n_features,
            "n_outputs": len(student.heads.outputs),
        }
        with tempfile.TemporaryDirectory() as folder:
            found["save_ms"] = _ms(lambda: student.save(Path(folder)))
            found["file_mb"] = round(sum(path.stat().st_size for path in Path(folder).iterdir()) / 1e6, 1)
            found["load_ms"] = _ms(lambda: Ranker.load(Path(folder), self.encoder, self.tools))
            small = self.trained(range(300))
            small.save(Path(folder) / "small")
            found["file_of_300_mb"] = round((Path(folder) / "small" / FILE_NAME).stat().st_size / 1e6, 1)
        fresh = [replace(d, id=f"new {d.id}", request=f"{d.request} Thank you.") for d in self.dev.demonstrations[:20]]
        found["takes_effect_ms"] = _median_ms([lambda d=d: _teach_and_plan(student, d) for d in fresh])  # type: ignore[misc]
        asked = [d.request for d in self.dev.demonstrations[:100]]
        found["plan_ms"] = _median_ms([lambda text=text: student.rank(text) for text in asked])  # type: ignore[misc]
        drawn = random.Random(SEED)
        words = sorted({word for spec in self.tools.values() for word in spec.description.split()})
        many = {f"tool_{k}": ToolSpec(f"tool_{k}", " ".join(drawn.sample(words, 8))) for k in range(N_MANY)}
        student.set_tools({**many, **self.tools})
        found[f"plan_ms_{N_MANY + len(self.tools)}_tools"] = _median_ms(
            [lambda text=text: student.rank(text) for text in asked]  # type: ignore[misc]
        )
        return found


def _parts(order: Sequence[int]) -> list[int]:
    """Return the rows of the three parts, one part after the other."""
    return [row for k in range(3) for row in sorted(order[k * 300 : (k + 1) * 300])]


def _teach_and_plan(student: Ranker, demonstration: Demonstration) -> None:
    student.learn([demonstration])
    student.rank(demonstration.request)


def _ms(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return round((time.perf_counter() - started) * 1000, 1)


def _median_ms(runs: Sequence[Callable[[], object]]) -> float:
    """Return the median milliseconds of the runs, after repeating the first three as a warm-up."""
    return round(float(np.median([_ms(run) for run in [*runs[:3], *runs]][3:])), 1)


def _examples(data: PlanData, pool: Sequence[int], chosen: frozenset[str], n: int) -> list[int]:
    """Choose rows of `pool` until each chosen tool has `n` examples, if there are that many."""
    have = dict.fromkeys(chosen, 0)
    rows = []
    for row in pool:
        mine = {step.tool for step in data.demonstrations[row].plan.steps} & chosen
        if any(have[tool] < n for tool in mine):
            rows.append(row)
            for tool in mine:
                have[tool] += 1
    return rows


def _random_plan(demonstration: Demonstration, names: Sequence[str], drawn: random.Random) -> Demonstration:
    tools = drawn.sample(names, len(demonstration.plan.steps))
    steps = tuple(Step(tool, after=(k - 1,) if k else ()) for k, tool in enumerate(tools))
    return replace(demonstration, plan=Plan(steps), task_steps=())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default=",".join(SECTIONS))
    given = parser.parse_args()
    started, cpu = time.perf_counter(), os.times()
    bench = Bench(given.data)
    path = RESULTS / "heads.json"
    results: dict[str, object] = json.loads(path.read_text())["results"] if path.exists() else {}
    run = {
        "split": bench.split,
        "dev": bench.dev_,
        "composition": bench.composition,
        "new_tools": bench.new_tools,
        "noise": bench.noise,
        "cost": bench.cost,
    }
    earlier: dict[str, str] = dict(results.get("commits", {}))  # type: ignore[call-overload]
    results = {name: section for name, section in results.items() if name in SECTIONS}
    for name in given.only.split(","):
        results[name] = run[name]()
        print(name, json.dumps(results[name])[:600], flush=True)
        results["train_sha256"], results["dev_sha256"] = bench.train.sha256, bench.dev.sha256
        earlier[name] = commit()
        results["commits"] = dict(earlier)
        cpu_s = sum(os.times()[:4]) - sum(cpu[:4])
        write_result("heads", results, seed=SEED, cpu_s=cpu_s, wall_s=time.perf_counter() - started)  # once a section


if __name__ == "__main__":
    main()
