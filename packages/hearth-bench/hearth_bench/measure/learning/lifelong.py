"""Measure a home's lifelong learning on UltraTool: cost and effect of learning, the gate, poison, forgetting, rollback.

python -m hearth_bench.measure.learning.lifelong [--data DIR]: writes packages/hearth-bench/results/learning.json.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hearth.learning.unlearning import Sought, find, forget
from hearth.learning.versions.learned_state import Offer, State
from hearth.learning.versions.promotion_gate import Rehearsal, node_f1
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.types import Demonstration, Plan, Step
from hearth_bench.data.datasets import PlanData, read_plans, read_tool_file
from hearth_bench.measure.result_file import write_result

SEED = 11
POISON_SHARE = 0.1


def scored(state: State, dev: PlanData) -> dict[str, float]:
    """Return how what plans now plans the development half: Node-F1, and the share with just the right tools."""
    rehearsal = Rehearsal(state.encoder, state.store, state.tools)
    planned = [rehearsal.tried(d).tools for d in dev.demonstrations]
    wanted = [[step.tool for step in d.plan.steps] for d in dev.demonstrations]
    pairs = list(zip(planned, wanted, strict=True))
    n_exact = sum(sorted(mine) == sorted(gold) for mine, gold in pairs)
    f1 = sum(node_f1(mine, gold) for mine, gold in pairs) / len(pairs)
    return {"node_f1": round(f1, 4), "exact_tools": round(n_exact / len(pairs), 4)}


def poisoned(
    demonstrations: Sequence[Demonstration], tools: Sequence[str], share: float, seed: int
) -> list[Demonstration]:
    """Return the demonstrations with random plans for `share` of them."""
    draw = random.Random(seed)
    chosen = set(draw.sample(range(len(demonstrations)), round(share * len(demonstrations))))
    made = []
    for k, d in enumerate(demonstrations):
        if k in chosen:
            steps = tuple(Step(draw.choice(tools), after=(j - 1,) if j else ()) for j in range(len(d.plan.steps)))
            d = replace(d, plan=Plan(steps), task_steps=())
        made.append(d)
    return made


def run(folder: Path, root: Path) -> dict[str, object]:
    tools = read_tool_file(folder / "tool_desc.json")
    train, dev = read_plans(folder / "train.jsonl", tools), read_plans(folder / "dev.jsonl", tools)
    encoder = MiniLMEncoder.open()
    shown = [replace(d, source="teacher") for d in train.demonstrations]
    order = list(range(len(shown)))
    random.Random(SEED).shuffle(order)
    first, batch = [shown[k] for k in order[:-300]], [shown[k] for k in order[-300:]]
    results: dict[str, object] = {"data_sha256": train.sha256, "n_train": len(shown), "n_dev": len(dev.demonstrations)}

    def opened(name: str) -> State:
        return State.open(root / name, encoder, Offer(tools))

    with opened("clean") as state:
        cpu = time.process_time()
        state.learn(first)
        results["learn_cpu_s"] = round(time.process_time() - cpu, 2)
        results["before_batch"] = scored(state, dev)
        cpu = time.process_time()
        report = state.learn(batch)
        results["batch_cpu_s"] = round(time.process_time() - cpu, 2)
        results["batch_gate"] = report.verdict.to_json() if report.verdict else None
        results["clean"] = scored(state, dev)
        results["n_tasks"] = len(state.tasks())
        version = state.lineage.current()
        assert version is not None
        results["frontier"] = version.record.get("frontier")
        whole = state.digest()
        results["database_bytes"] = (root / "clean" / "hearth.db").stat().st_size
        started = time.perf_counter()
        state.teach([replace(shown[0], id="one more", request="a request never seen before", source="owner")])
        results["teach_ms"] = round(1000 * (time.perf_counter() - started), 1)
        cpu = time.process_time()
        receipt = forget(state, find(state.store, Sought(demonstrations=["one more"])))
        results["forget_one_that_waits_cpu_s"] = round(time.process_time() - cpu, 2)
        results["forget_found_in"] = list(receipt.found_in)
        results["forgotten_equals_never_seen"] = state.digest() == whole
        cpu = time.process_time()
        state.rollback(1)
        results["rollback_cpu_s"] = round(time.process_time() - cpu, 2)
        results["rolled_back"] = scored(state, dev)
        state.rollback(2)
        results["forth_again_equals"] = state.digest() == whole
        gone = [d.id for d in batch[:30]]
        cpu = time.process_time()
        forget(state, find(state.store, Sought(demonstrations=gone)))
        results["forget_thirty_cpu_s"] = round(time.process_time() - cpu, 2)
        after_forgetting = state.digest()

    with opened("never") as state:
        state.learn([d for d in shown if d.id not in set(gone)])
        results["thirty_forgotten_equal_never_seen"] = state.digest() == after_forgetting

    names = sorted(tools)
    with opened("poison") as state:
        state.learn(poisoned(shown, names, POISON_SHARE, SEED))
        results["poisoned_10_percent"] = scored(state, dev)
    shutil.copytree(root / "never", root / "gate", ignore=shutil.ignore_patterns("*.lock"))
    with opened("gate") as state:
        before = state.digest()
        fresh = [d for d in shown if d.id in set(gone)]
        random_batch = [replace(d, id=f"r{d.id}") for d in poisoned([*fresh, *batch[30:300]], names, 1.0, SEED)]
        report = state.learn(random_batch)
        results["random_batch"] = report.verdict.to_json() if report.verdict else None
        swapped = dict(zip(names, names[1:] + names[:1]))
        wrong = [
            replace(
                d,
                id=f"w{d.id}",
                plan=Plan(tuple(replace(s, tool=swapped[s.tool]) for s in d.plan.steps)),
                task_steps=(),
            )
            for d in batch
        ]
        report = state.learn(wrong)
        results["wrong_batch"] = report.verdict.to_json() if report.verdict else None
        results["state_unchanged_by_refusals"] = state.digest() == before
    clean, bad = results["clean"], results["poisoned_10_percent"]
    assert isinstance(clean, dict)
    assert isinstance(bad, dict)
    results["poison_node_f1_loss"] = round(clean["node_f1"] - bad["node_f1"], 4)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data = Path(os.environ.get("HEARTH_DATA", "../shared/data"))
    parser.add_argument("--data", type=Path, default=data / "plans" / "ultratool")
    folder = parser.parse_args().data
    wall, cpu = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as root:
        results = run(folder, Path(root))
    write_result("learning", results, seed=SEED, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - wall)


if __name__ == "__main__":
    main()
