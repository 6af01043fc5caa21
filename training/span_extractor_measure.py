"""Measure arguments for tools never seen, and the choice of the tool.

    python -m training.span_extractor_measure

Writes packages/hearth-bench/results/arguments.json. Measured on SGD's development calls (gold tool given; then the
tool chosen among all 30 by texts alone), on the held-back fifth of NesTools, NESTFUL and BFCL (tools and order given;
the last also against the adapter before, with an interval), and on yes-or-no questions about matters that training
left out. The floor is the typed finders without training; the oracle is the gold arguments. Values are compared as in
`hearth_bench.metrics.argument_f1`.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hearth.formats.plans import read_jsonl, read_tools
from hearth.models.span_extractor import NO, YES
from hearth.planning.arguments.schema_filler import ADAPTER_FILE, Filler
from hearth.types import Context, Step, ToolSpec
from hearth_bench.data.datasets import PlanData, read_plans
from hearth_bench.measure.planning.nested_split import nested_split, offered_folds
from hearth_bench.measure.result_file import write_result
from hearth_bench.metrics.argument_f1 import GoldCall, argument_scores
from training.span_extractor_data import held_matters, read_samples, with_yes_or_no

NOW = dt.datetime(2019, 3, 1, 9, tzinfo=dt.UTC)
KEYS = (
    "arg_name_f1", "arg_value_f1", "arg_name_f1_optional", "arg_value_f1_optional", "arg_name_f1_boolean",
    "arg_value_f1_boolean", "arg_value_f1_plain", "arg_value_f1_reference", "call_exact", "n_arguments", "n_calls",
)  # fmt: skip


Calls = list[list[Step]]


def filled(filler: Filler, data: PlanData) -> Calls:
    """Fill the steps of every sample with the gold tools given."""
    return [steps_of(filler, d.request, [data.tools[s.tool] for s in d.plan.steps]) for d in data.demonstrations]


def scores(made: Calls, data: PlanData, keep: Callable[[str], bool] = lambda tool: True) -> dict[str, float | None]:
    """Score the samples whose first gold tool is kept."""
    pairs = [(m, g.calls) for m, g in zip(made, data.gold()) if keep(g.calls[0].tool)]
    mine, gold = [m for m, _ in pairs], [g for _, g in pairs]
    right = [bool(m) and m[0].tool == g[0].tool for m, g in pairs]
    return {**short(mine, gold, data.tools), **link_scores(mine, gold), "tool_accuracy": sum(right) / len(right)}


def steps_of(filler: Filler, text: str, specs: Sequence[ToolSpec]) -> list[Step]:
    return [Step(s.name, f.arguments) for s, f in zip(specs, filler.fill(text, specs, NOW, Context()))]


def short(
    made: Sequence[Sequence[Step]], gold: Sequence[Sequence[GoldCall]], tools: Mapping[str, ToolSpec]
) -> dict[str, float | None]:
    found = argument_scores(made, gold, tools)
    return {key: found[key] for key in KEYS if found.get(key) is not None}


def link_scores(made: Sequence[Sequence[Step]], gold: Sequence[Sequence[GoldCall]]) -> dict[str, float]:
    """Return the pooled F1 of pairs of steps that a reference joins."""
    n_both = n_made = n_gold = 0
    for steps, calls in zip(made, gold):
        mine = {(ref.step, k) for k, step in enumerate(steps) for ref in step.refs()}
        first = [Step(c.tool, {n: v[0] for n, v in c.right.items()}) for c in calls]
        right = {(ref.step, k) for k, step in enumerate(first) for ref in step.refs()}
        n_both, n_made, n_gold = n_both + len(mine & right), n_made + len(mine), n_gold + len(right)
    if not n_gold:
        return {}
    return {
        "link_f1": 2 * n_both / (n_made + n_gold),
        "link_precision": n_both / max(1, n_made),
        "link_recall": n_both / n_gold,
    }


def chosen(filler: Filler, data: PlanData) -> Calls:
    """Fill one step for every sample, its tool chosen among all of the file's by texts alone."""
    tools = list(data.tools.values())
    made = []
    for d in data.demonstrations:
        chances = filler.match(d.request, tools)
        made.append(steps_of(filler, d.request, [tools[chances.index(max(chances))]]))
    return made


def matters(filler: Filler, path: Path, tools: Mapping[str, ToolSpec], seed: int) -> dict[str, float]:
    """Measure optional yes-or-no parameters that training left out, said in development conversations."""
    rng = random.Random(seed)
    rights: dict[str, list[bool]] = {"yes": [], "no": [], "unsaid": []}
    for sample in read_samples(path, tools):
        told = with_yes_or_no(sample, rng, held_matters())
        new = next((p for p in told.spec.parameters if sample.spec.parameter(p.name) is None), None)
        if new is None:
            continue
        (filled,) = filler.fill(told.text, [told.spec], NOW, Context())
        gold = {YES: "true", NO: "false"}.get(told.told[new.name].kind if new.name in told.told else -1)
        answer = filled.arguments.get(new.name)
        said = None if answer is None else str(answer).lower()
        rights[{"true": "yes", "false": "no", None: "unsaid"}[gold]].append(said == gold)
    return {
        **{f"accuracy_{name}": sum(r) / len(r) for name, r in rights.items() if r},
        **{f"n_{name}": float(len(r)) for name, r in rights.items()},
    }


def latency(filler: Filler, data: PlanData) -> dict[str, float]:
    """Measure milliseconds per call, everything included, one after another."""
    times = []
    for d in data.demonstrations[:300]:
        specs = [data.tools[step.tool] for step in d.plan.steps]
        started = time.perf_counter()
        filler.fill(d.request, specs, NOW, Context())
        times.append((time.perf_counter() - started) * 1e3)
    times.sort()
    return {
        "latency_p50_ms": statistics.median(times),
        "latency_p95_ms": times[int(len(times) * 0.95)],
        "latency_p99_ms": times[int(len(times) * 0.99)],
    }


def oracle(data: PlanData) -> dict[str, float | None]:
    gold = [right.calls for right in data.gold()]
    made = [[Step(c.tool, {n: v[0] for n, v in c.right.items()}) for c in calls] for calls in gold]
    return short(made, gold, data.tools)


def read_held(folder: Path) -> PlanData:
    """Read the held-back fifth, without the samples that use a tool the file does not describe."""
    tools = read_tools(folder / "tool_desc.json")
    lines = (folder / "dev.jsonl").read_text(encoding="utf-8").splitlines()
    data = read_plans(folder / "dev.jsonl", tools, skip_bad=True)
    held = {str(json.loads(lines[row])["id"]) for row in nested_split(len(lines))[1]}
    return data.subset([row for row, d in enumerate(data.demonstrations) if d.id in held])


def offered(folder: Path, filler: Filler, before: Filler, seed: int) -> dict[str, object]:
    """Compare two readers on functions offered to requests, whose held fifth neither was trained on: the share of
    requests with all calls exact, and the difference with its 95 % interval over resampled requests."""
    data = read_plans(folder / "dev.jsonl", read_tools(folder / "tool_desc.json"), skip_bad=True)
    lines = [line for _, line in read_jsonl(folder / "dev.jsonl")]
    is_held = {str(line["id"]): fold == 0 for line, fold in zip(lines, offered_folds(lines))}
    rows = [row for row, d in enumerate(data.demonstrations) if is_held[d.id] and d.plan.steps]
    held = data.subset(rows)
    taught = [d for d in data.demonstrations if not is_held[d.id]]
    exact = {}
    made: dict[str, Calls] = {"": filled(filler.referring_like(taught), held)}
    made["_before"] = filled(before.referring_like(taught), held)
    for name, calls in made.items():
        pairs = zip(calls, held.gold())
        exact[name] = [argument_scores([mine], [g.calls], held.tools)["calls_exact"] or 0.0 for mine, g in pairs]
    gains = [a - b for a, b in zip(exact[""], exact["_before"])]
    rng = random.Random(seed)
    means = sorted(statistics.fmean(rng.choices(gains, k=len(gains))) for _ in range(2000))
    kinds = [str(one["kind"]) for one in held.unknown]
    return {
        **short(made[""], [g.calls for g in held.gold()], held.tools),
        **{f"calls_exact{name}": statistics.fmean(values) for name, values in exact.items()},
        **{
            f"calls_exact_{kind}{name}": statistics.fmean(v for v, k in zip(values, kinds) if k == kind)
            for kind in sorted(set(kinds))
            for name, values in exact.items()
        },
        "gain": statistics.fmean(gains),
        "gain_95": [means[50], means[1949]],
        "n": len(rows),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the filling of arguments.")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("HEARTH_DATA", "../shared/data")) / "plans")
    parser.add_argument("--adapter", type=Path, default=ADAPTER_FILE)
    parser.add_argument("--before", type=Path, default=ADAPTER_FILE.with_name("reader.npz"))
    parser.add_argument("--dry", action="store_true", help="print only")
    given = parser.parse_args()
    cpu, wall = time.process_time(), time.monotonic()
    filler = Filler.open(adapter=given.adapter, n_threads=1)
    floor = Filler(None, None)
    sgd = given.data / "sgd"
    taught = read_tools(sgd / "train_tool_desc.json")
    tools = read_tools(sgd / "dev_tool_desc.json")
    dev = read_plans(sgd / "dev.jsonl", tools)
    nestools, nestful = read_held(given.data / "nestools"), read_held(given.data / "nestful")
    whole = filler.referring_like(nestools.demonstrations)
    known, unknown = (lambda tool: tool in taught), (lambda tool: tool not in taught)
    given_tools, by_text = filled(filler, dev), chosen(filler, dev)
    results: dict[str, object] = {
        "is_trained": filler.is_trained,
        "adapter": json.loads(given.adapter.with_suffix(".json").read_text()) if filler.is_trained else None,
        "sgd_dev": scores(given_tools, dev),
        "sgd_dev_seen_tools": scores(given_tools, dev, known),
        "sgd_dev_unseen_tools": scores(given_tools, dev, unknown),
        "sgd_dev_finders_alone": scores(filled(floor, dev), dev),
        "sgd_dev_oracle": oracle(dev),
        "sgd_dev_tool_chosen": scores(by_text, dev),
        "sgd_dev_tool_chosen_unseen": scores(by_text, dev, unknown),
        "sgd_dev_held_matters": matters(filler, sgd / "dev.jsonl", tools, seed=5),
        "nestools_held": scores(filled(whole, nestools), nestools),
        "nestools_held_finders_alone": scores(
            filled(floor.referring_like(nestools.demonstrations), nestools), nestools
        ),
        "nestful_held": scores(filled(filler, nestful), nestful),
        "bfcl_held": offered(given.data / "bfcl", filler, Filler.open(adapter=given.before, n_threads=1), seed=0),
        "nestful_held_finders_alone": scores(filled(floor, nestful), nestful),
        **latency(filler, dev),
    }
    cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    if given.dry:
        print(json.dumps(results, indent=1))
    else:
        write_result("arguments", results, seed=0, cpu_s=cpu, wall_s=wall)


if __name__ == "__main__":
    main()
