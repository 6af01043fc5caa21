"""Measure the effect of masking on plans: the same planner on requests as said and as masked, its plans restored.

    python -m hearth_bench.measure.guard.masked_plans           writes packages/hearth-bench/results/masked_plans.json

The student learns UltraTool's training plans and plans 300 of its dev requests (gold known: quality kept) and 300
requests of TaskBench, 100 of each domain with that domain's tools (no gold: only whether the plan stays the same). The
arguments of Hearth's own tools are measured with the shipped planner on the project's held-out and blind requests:
there a plan counts as changed when any tool, argument or reference differs after restoring.
400 requests whose true names were marked by hand show what is masked needlessly, and how that alone changes plans.
Rows: forms; forms and tagger; forms and tagger with every kind. The request as said is the ceiling. The student is not
taught TaskBench's tools, so its plans there change with any word.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hearth.agent import shipped_demonstrations
from hearth.config import MASK_KINDS, MASKED_KINDS
from hearth.formats.plans import plan_to_json, read_demonstrations
from hearth.guard.deidentify.masker import Masker, StandIns, cores_in, shipped_tag
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.plan_drafting import Drafter
from hearth.planning.ranking.ranker import Ranker
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.registry import load_tools
from hearth.types import Context, Demonstration, Plan, Request
from hearth_bench.data.datasets import PlanData, graph_of, read_plans, read_tool_file
from hearth_bench.data.sampled_requests import sampled_requests
from hearth_bench.measure.result_file import OWN_DATA, ROOT, write_result
from hearth_bench.metrics.plan_metrics import PlanGraph
from hearth_bench.run_record import Stopwatch
from hearth_bench.suites.planning_suite import graph_of_ranking, judge, plan_all, read_all, teach

SEED = 0
N = 300
DATA = Path(os.environ.get("HEARTH_DATA", ROOT.parent / "shared" / "data")) / "plans"
TAGGER_SEED = 20260
"""With it the samples of the tagger's benchmark were drawn, whose true names were marked by hand."""
OWN = ("held_out_requests.jsonl", "blind_requests.jsonl")
NOW = "2026-11-20T09:30:00+01:00"
Masked = Callable[[str], str]


def maskers() -> dict[str, Masker]:
    tag = shipped_tag()
    rows = {"forms": Masker(MASKED_KINDS)}
    if tag is not None:
        rows["forms, tagger"] = Masker(MASKED_KINDS, tag=tag)
        rows["forms, tagger, every kind"] = Masker(MASK_KINDS, tag=tag)
    return rows


def masked_data(data: PlanData, masker: Masker) -> tuple[PlanData, int]:
    """Return the data with masked requests, and how many of them changed."""
    changed = 0
    demonstrations = []
    for demonstration in data.demonstrations:
        text = masker.mask(demonstration.request).text
        changed += text != demonstration.request
        demonstrations.append(_said(demonstration, text))
    return PlanData(tuple(demonstrations), data.tools, data.sha256, data.golds, data.faults, data.unknown), changed


def _said(demonstration: Demonstration, text: str) -> Demonstration:
    return Demonstration(
        demonstration.id, text, demonstration.plan, demonstration.tools, demonstration.source, demonstration.now
    )


def graphs(student: Ranker, data: PlanData) -> list[PlanGraph]:
    return [graph_of_ranking(ranking) for ranking in plan_all(Drafter(student, None, ()), data)]


def ultratool(encoder: MiniLMEncoder) -> tuple[Ranker, PlanData]:
    tools = read_tool_file(DATA / "ultratool" / "tool_desc.json")
    train = read_plans(DATA / "ultratool" / "train.jsonl", tools, skip_bad=True)
    test = read_plans(DATA / "ultratool" / "dev.jsonl", tools, skip_bad=True)
    student = Ranker(encoder, tools)
    teach(student, read_all(train, encoder))
    return student, test.subset(range(min(N, len(test.demonstrations))))


def taskbench(domain: str, n: int) -> PlanData:
    folder = DATA / "taskbench_requests" / domain
    lines = [json.loads(line) for line in (folder / "user_requests.json").read_text().splitlines() if line.strip()]
    chosen = random.Random(SEED).sample(lines, n)
    tools = read_tool_file(folder / "tool_desc.json")
    demonstrations = tuple(Demonstration(line["id"], line["user_request"], Plan(()), tuple(tools)) for line in chosen)
    return PlanData(demonstrations, tools, "")


def compare(student: Ranker, data: PlanData, rows: Mapping[str, Masker], *, has_gold: bool) -> dict[str, Any]:
    raw = graphs(student, data)
    gold = [graph_of(d.plan) for d in data.demonstrations]
    found: dict[str, Any] = {"n": len(raw)}
    if has_gold:
        rankings = plan_all(Drafter(student, None, ()), data)
        found["as said"] = _quality(judge(rankings, data.demonstrations, frozenset(data.tools), wanted=gold))
    for name, masker in rows.items():
        hidden, n_masked = masked_data(data, masker)
        rankings = plan_all(Drafter(student, None, ()), hidden)
        plans = [graph_of_ranking(ranking) for ranking in rankings]
        n_changed = sum(a != b for a, b in zip(raw, plans))
        found[name] = {"masked": round(n_masked / len(raw), 4), "plan_changed": round(n_changed / len(raw), 4)}
        if has_gold:
            found[name] |= _quality(judge(rankings, data.demonstrations, frozenset(data.tools), wanted=gold))
    return found


def _quality(scores: Mapping[str, float]) -> dict[str, float]:
    return {key: round(scores[key], 4) for key in ("node_f1", "link_f1", "accuracy") if key in scores}


def needless(student: Ranker, ultratool_tools: Mapping[str, Any], rows: Mapping[str, Masker]) -> dict[str, Any]:
    """Measure how often masking wrongly takes something for a name, and how often that alone changes the plan.

    The texts are 400 ordinary requests whose true names were marked by hand. Numbers, files and internet addresses are
    not judged: they are masked for what they are.
    """
    marks = {
        key: spans
        for sample in json.loads((OWN_DATA / "tagger_requests.json").read_text()).values()
        for key, spans in sample.items()
    }
    texts = {
        key: text
        for sample in sampled_requests(DATA, TAGGER_SEED).values()
        for key, text in sample.items()
        if key in marks
    }
    found: dict[str, Any] = {"n": len(texts)}
    counts = {name: [0, 0] for name in rows}
    for domain in ("ultratool/dev", "taskbench/dailylife", "taskbench/huggingface", "taskbench/multimedia"):
        keys = [key for key in texts if key.startswith(domain)]
        tools = ultratool_tools
        if domain.startswith("taskbench"):
            tools = read_tool_file(DATA / "taskbench_requests" / domain.partition("/")[2] / "tool_desc.json")
        student.set_tools(tools)
        raw = graphs(student, _requests([texts[key] for key in keys], tools))
        for name, masker in rows.items():
            hidden = [_needlessly_masked(texts[key], marks[key], masker) for key in keys]
            plans = graphs(student, _requests(hidden, tools))
            counts[name][0] += sum(a != texts[key] for a, key in zip(hidden, keys))
            counts[name][1] += sum(a != b for a, b in zip(raw, plans))
    for name, (n_masked, n_changed) in counts.items():
        found[name] = {"over_masked": round(n_masked / len(texts), 4), "plan_changed": round(n_changed / len(texts), 4)}
    return found


def _requests(texts: Sequence[str], tools: Mapping[str, Any]) -> PlanData:
    return PlanData(
        tuple(Demonstration(str(k), text, Plan(()), tuple(tools)) for k, text in enumerate(texts)), tools, ""
    )


def _needlessly_masked(text: str, marks: Sequence[Sequence[int]], masker: Masker) -> str:
    names = StandIns(cores_in(text))
    parts, at = [], 0
    for span in masker.find(text):
        if span.kind in _NAMES and not any(span.start < end and start < span.end for start, end in marks):
            parts += [text[at : span.start], names.of(span.kind, text[span.start : span.end])]
            at = span.end
    return "".join([*parts, text[at:]])


_NAMES = frozenset({"person", "organisation", "place", "address", "group", "title", "age"})


def own_requests(encoder: MiniLMEncoder, rows: Mapping[str, Masker]) -> dict[str, Any]:
    """Compare whole plans of Hearth's own tools, arguments included; contacts in a request's context count as the
    owner's."""
    import datetime as dt

    specs = load_tools(None).specs
    planner = RecallPlanner(encoder)
    planner.add(shipped_demonstrations())
    now = dt.datetime.fromisoformat(NOW)
    texts = [d.request for name in OWN for d in read_demonstrations(OWN_DATA / name)][:N]

    def planned(text: str, context: Context) -> Any:
        return planner.plan(Request(text, now), context, specs)

    raw = [planned(text, Context()) for text in texts]
    found: dict[str, Any] = {"n": len(texts)}
    for name, masker in rows.items():
        n_masked = n_changed = n_tools = 0
        for text, before in zip(texts, raw):
            masked = masker.mask(text)
            if masked.text == text:
                continue
            n_masked += 1
            after = masked.unmask_answer(planned(masked.text, masked.names()))
            n_changed += _calls(before) != _calls(after)
            n_tools += _tools(before) != _tools(after)
        share = [round(n / len(texts), 4) for n in (n_masked, n_tools, n_changed)]
        found[name] = dict(zip(("masked", "tools_changed", "plan_changed"), share))
    return found


def _tools(answer: Any) -> object:
    return [step.tool for step in answer.steps] if isinstance(answer, Plan) else "refused"


def _calls(answer: Any) -> object:
    return json.dumps(plan_to_json(answer)["task_nodes"], sort_keys=True) if isinstance(answer, Plan) else "refused"


def main() -> None:
    watch = Stopwatch()
    np.random.seed(SEED)
    encoder = MiniLMEncoder.open()
    rows = maskers()
    student, dev = ultratool(encoder)
    results: dict[str, Any] = {"own tools, whole plans": own_requests(encoder, rows)}
    results["ultratool dev"] = compare(student, dev, rows, has_gold=True)
    results["needlessly masked"] = needless(student, dev.tools, rows)
    domains: list[dict[str, Any]] = []
    for domain in ("dailylife", "huggingface", "multimedia"):
        data = taskbench(domain, N // 3)
        student.set_tools(data.tools)
        results[f"taskbench {domain}"] = compare(student, data, rows, has_gold=False)
        domains.append(results[f"taskbench {domain}"])
    results["changed in all"] = {name: _over_all([results["ultratool dev"], *domains], name) for name in rows}
    spent = watch.read()
    write_result("masked_plans", results, seed=SEED, cpu_s=spent["cpu_s"], wall_s=spent["wall_s"])


def _over_all(parts: Sequence[Mapping[str, Any]], name: str) -> float:
    weights = [float(part["n"]) for part in parts]
    return round(sum(w * float(part[name]["plan_changed"]) for w, part in zip(weights, parts)) / sum(weights), 4)


if __name__ == "__main__":
    main()
