"""Measure tier two and the whole student on public plans: quality, new combinations, lengths, latency, size, cost.

    python -m hearth_bench.measure.learning.tier_two --data FOLDER [--only dev,composition]

Writes packages/hearth-bench/results/tier_two.json. FOLDER holds `train.jsonl`, `dev.jsonl`, `tool_desc.json` and
`graph_desc.json`. Needs the extra `train`. Everything was chosen on parts cut from train (`split`); dev is for
reporting. With `--only`, other sections of an earlier result file are kept.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from hearth.formats.plans import read_graph
from hearth.learning.finetune.lessons import AdapterOptions, Epoch, Task, Trained
from hearth.learning.finetune.second_tier import train_pointer
from hearth.learning.versions import learned_state
from hearth.models.pointer import Pointer, read_record
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.ranking.ranker import Ranker
from hearth.protocols import Proposal
from hearth.types import Demonstration
from hearth_bench.data.datasets import composition_split, graph_of, random_split, read_plans, read_tool_file
from hearth_bench.measure.result_file import RESULTS, write_result
from hearth_bench.metrics.plan_metrics import PlanGraph, is_accurate, plan_scores
from hearth_bench.suites.planning_suite import judge, read_all, teach

SEED = 3
SECTIONS = ("split", "fresh_split", "composition", "dev")
_KEPT = ("node_f1", "link_f1", "accuracy", "exact", "ece", "ece_floor", "node_f1_asking_40", "n")


class Bench:
    """Data and measurements of tier two; the data are read once."""

    def __init__(self, folder: Path, options: AdapterOptions, keep: Path | None = None) -> None:
        self.tools = read_tool_file(folder / "tool_desc.json")
        self.train = read_plans(folder / "train.jsonl", self.tools)
        self.dev = read_plans(folder / "dev.jsonl", self.tools)
        self.graph = read_graph(folder / "graph_desc.json")
        self.encoder = MiniLMEncoder.open()
        self.read = read_all(self.train, self.encoder)
        self.options = options
        self._keep = keep

    def split(self, seed: int) -> dict[str, object]:
        """Measure on a part with unseen sequences and a random part, cut from train together; choices were made on
        this."""
        kept, composition = composition_split(self.train, 244, seed)
        inner, random = random_split(len(kept), 300, seed + 8)
        asked = {"random": [kept[k] for k in random], "composition": composition}
        return self.measured(
            f"split-{seed}", [kept[k] for k in inner], {name: self._rows(rows) for name, rows in asked.items()}
        )

    def composition(self) -> dict[str, object]:
        """Measure with only unseen sequences cut from train."""
        kept, held = composition_split(self.train, 244, SEED)
        return self.measured("composition", kept, {"composition": self._rows(held)})

    def report(self) -> dict[str, object]:
        return self.measured("dev", range(len(self.train.demonstrations)), {"dev": self.dev.demonstrations})

    def _rows(self, rows: Sequence[int]) -> tuple[Demonstration, ...]:
        return self.train.subset(rows).demonstrations

    def measured(
        self, name: str, rows: Sequence[int], asked: Mapping[str, Sequence[Demonstration]]
    ) -> dict[str, object]:
        """Teach `rows` of train, then plan the `asked` requests, by each tier and by the whole student."""
        mine = self.read.subset(rows)
        with tempfile.TemporaryDirectory() as made:
            folder = (self._keep or Path(made)) / name
            if not folder.exists():
                _write_held(folder, self._train(mine.demonstrations, folder).held)
            record, held = read_record(folder), learned_state.tier_proposals(folder)
            pointer = Pointer.open(folder, self.tools, graph=self.graph, encoder=self.encoder)
        student = Ranker(self.encoder, self.tools, graph=self.graph)
        teach(student, mine)
        found: dict[str, object] = {
            f"{name}_{tier}": scores
            for name, part in asked.items()
            for tier, scores in (("tier_two", self._alone(pointer, part)), ("tier_one", self._judged(student, part)))
        }
        student.adopt(pointer, held)
        started = time.process_time()
        student.settle()
        found["fit_cpu_s"] = round(time.process_time() - started, 1)
        found |= {f"{name}_student": self._judged(student, part) for name, part in asked.items()}
        found |= {"n_taught": len(rows), "train_cpu_s": record["cpu_s"], "bytes": record["bytes"]}
        found |= {"held": record["held"], "options": record["options"]}
        found |= _latency(pointer, student, [d.request for part in asked.values() for d in part])
        print(json.dumps(found, indent=1), flush=True)
        return found

    def _train(self, demonstrations: Sequence[Demonstration], folder: Path) -> Trained:
        task = Task(demonstrations, self.tools, self.encoder, folder, self.options, SEED, graph=self.graph)
        for step in train_pointer(task):
            if isinstance(step, Epoch):
                print(step, flush=True)
            else:
                return step
        raise AssertionError("training ended without a result")

    def _judged(self, student: Ranker, asked: Sequence[Demonstration]) -> dict[str, float]:
        rankings = student.rank_readings(student.read([d.request for d in asked]))
        scores = judge(rankings, asked, frozenset(self.tools))
        return {key: round(value, 4) for key, value in scores.items() if key in _KEPT or key.startswith("accuracy")}

    def _alone(self, pointer: Pointer, asked: Sequence[Demonstration]) -> dict[str, float]:
        proposals = pointer.propose([d.request for d in asked])
        gold = [graph_of(d.plan) for d in asked]
        plans = [_plan(proposal) for proposal in proposals]
        scores = plan_scores(plans, gold, set(self.tools))
        found = {key: round(scores[key], 4) for key in ("node_f1", "link_f1", "accuracy", "exact", "n")}
        right = [is_accurate(p, g) for p, g in zip(plans, gold)]
        for n, name in ((2, "2"), (3, "3"), (4, "4_and_more")):
            mine = [r for r, g in zip(right, gold) if min(len(g.nodes), 4) == n]
            found[f"accuracy_steps_{name}"] = round(float(np.mean(mine)), 4) if mine else 0.0
        found["accuracy_in_first_6"] = round(
            float(np.mean([any(set(s) == set(g.nodes) for s, _ in p.sequences[:6]) for p, g in zip(proposals, gold)])),
            4,
        )
        return found


def _plan(proposal: Proposal) -> PlanGraph:
    nodes = proposal.sequences[0][0] if proposal.sequences else ()
    return PlanGraph(nodes, tuple(pairwise(nodes)))


def _write_held(folder: Path, proposals: Mapping[str, Proposal]) -> None:
    data = {
        id: [dict(p.tools), [[list(s), log] for s, log in p.sequences], [[*pair, v] for pair, v in p.link.items()]]
        for id, p in sorted(proposals.items())
    }
    (folder / "held.json").write_text(json.dumps(data))


def _latency(pointer: Pointer, student: Ranker, requests: Sequence[str]) -> dict[str, float]:
    found = {}
    for name, plan in (("tier_two", lambda text: pointer.propose([text])), ("student", student.rank)):
        taken = []
        for request in requests[:200]:
            started = time.perf_counter()
            plan(request)
            taken.append((time.perf_counter() - started) * 1000)
        found[f"{name}_p50_ms"] = round(float(np.percentile(taken, 50)), 2)
        found[f"{name}_p99_ms"] = round(float(np.percentile(taken, 99)), 2)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default=",".join(SECTIONS))
    parser.add_argument("--options", default="{}", help="of training, as JSON")
    parser.add_argument("--keep", type=Path, help="folder of trained models; those there are used again")
    parser.add_argument("--write", action=argparse.BooleanOptionalAction, default=True)
    given = parser.parse_args()
    started, cpu = time.perf_counter(), os.times()
    bench = Bench(given.data, AdapterOptions(**json.loads(given.options)), given.keep)
    path = RESULTS / "tier_two.json"
    results: dict[str, object] = json.loads(path.read_text())["results"] if path.exists() else {}
    for section in given.only.split(","):
        if section == "split":
            results[section] = bench.split(SEED)
        elif section == "fresh_split":
            results[section] = bench.split(SEED + 1)
        elif section == "composition":
            results[section] = bench.composition()
        elif section == "dev":
            results[section] = bench.report()
        else:
            raise SystemExit(f"unknown section {section!r}; there are {', '.join(SECTIONS)}")
    results |= {"train_sha256": bench.train.sha256, "dev_sha256": bench.dev.sha256}
    if given.write:
        now = os.times()
        cpu_s = now.user + now.system - cpu.user - cpu.system
        write_result("tier_two", results, seed=SEED, cpu_s=cpu_s, wall_s=time.perf_counter() - started)


if __name__ == "__main__":
    main()
