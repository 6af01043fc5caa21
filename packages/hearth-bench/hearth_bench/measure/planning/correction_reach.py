"""Measure what one correction changes: the request itself, its rephrasings, its siblings with other values, all else.

    python -m hearth_bench.measure.planning.correction_reach [--limit N]

Writes packages/hearth-bench/results/corrections.json (nothing with a limit). Twenty-five corrections
(`measure/data/corrections.jsonl`), each with four rephrasings and four siblings, each taught alone to a planner that
knows what ships. `right`: same tools, every argument right (leading articles forgiven). `dangerous`: a plan that
changes or sends with a value that decides where something goes and that the request does not say. `changed_elsewhere`:
the share of held-out and blind requests whose plan is another after the correction. `before` is the same before it was
taught. `first_twelve` are those of the first file, whose failures were looked at; `further` the thirteen that were
written later, all of them before the planner saw any. Not covered: what several corrections do to each other.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from hearth.agent import shipped_demonstrations
from hearth.formats.plans import plan_from_json
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.registry import load_tools
from hearth.types import Context, Demonstration, Entity, Plan, Ref, Refusal, Request, ToolSpec
from hearth_bench.measure.planning.requests import judge
from hearth_bench.measure.result_file import OWN_DATA, write_result

NOW = dt.datetime.fromisoformat("2026-11-20T09:30:00+01:00")
PEOPLE = ("Yusuf", "Ivy", "Priya", "Joanna")
CONTEXT = Context(country="GB", entities=tuple(Entity(name, "person") for name in PEOPLE))
N_LOOKED_AT = 12
"""The first corrections of the file, whose failures were looked at."""
_ELSEWHERE = ("held_out_requests.jsonl", "blind_requests.jsonl")
_DECIDING = frozenset({"EmailAddress", "PhoneNumber", "PersonName", "FilePath", "Url"})


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--limit", type=int, help="only the last so many corrections; nothing is written")
    chosen = options.parse_args()
    started, cpu = time.perf_counter(), time.process_time()
    specs = load_tools(None).specs
    planner = RecallPlanner(MiniLMEncoder.open())
    planner.add(shipped_demonstrations())

    def planned(text: str) -> Plan | Refusal:
        return planner.plan(Request(text, NOW), CONTEXT, specs)

    cases = read_cases()
    first = len(cases) - (len(cases) if chosen.limit is None else min(max(chosen.limit, 1), len(cases)))
    elsewhere = [json.loads(line)["user_request"] for name in _ELSEWHERE for line in (OWN_DATA / name).open()]
    others = {text: _tools_and_values(planned(text)) for text in elsewhere}
    groups: dict[str, dict[str, list[bool]]] = {}
    learning_ms = []
    for number, case in enumerate(cases[first:], first):
        counts = groups.setdefault("first_twelve" if number < N_LOOKED_AT else "further", {})
        asked = asked_of(case)
        for kind, text, gold in asked:
            counts.setdefault(f"{kind}_before", []).append(is_right(text, gold, planned(text), specs))
        begun = time.process_time()
        planner.add([taught_by(case)])
        planned("what time is it")
        learning_ms.append((time.process_time() - begun) * 1000)
        for kind, text, gold in asked:
            answer = planned(text)
            counts.setdefault(kind, []).append(is_right(text, gold, answer, specs))
            counts.setdefault("dangerous", []).append(is_dangerous(text, answer, specs))
        changed = [_tools_and_values(planned(text)) != others[text] for text in elsewhere]
        counts.setdefault("changed_elsewhere", []).extend(changed)
        planner.remove(case["id"])
    results: dict[str, object] = summary(list(groups.values()))
    results |= {name: summary([counts]) for name, counts in groups.items()}
    results["n_corrections"] = len(cases) - first
    results["learning_and_one_plan_cpu_ms"] = round(sorted(learning_ms)[len(learning_ms) // 2], 1)
    if chosen.limit is not None:
        print(json.dumps(results, indent=2))
        return
    write_result("corrections", results, seed=0, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - started)


def summary(groups: Sequence[Mapping[str, Sequence[bool]]]) -> dict[str, object]:
    """Return the share of each count over groups of corrections, and of how many it is."""
    names = list(dict.fromkeys(name for counts in groups for name in counts))
    joined = {name: [one for counts in groups for one in counts.get(name, ())] for name in names}
    shares: dict[str, object] = {name: round(sum(found) / len(found), 4) for name, found in joined.items()}
    return {**shares, "n": {name: len(found) for name, found in joined.items()}}


def read_cases() -> list[dict[str, Any]]:
    """Read the corrections, each with its rephrasings and siblings."""
    return [json.loads(line) for line in (OWN_DATA / "corrections.jsonl").read_text().splitlines()]


def taught_by(case: Mapping[str, Any]) -> Demonstration:
    """Return what a correction teaches."""
    plan = plan_from_json({"task_nodes": gold_nodes(case["plan"])})
    return Demonstration(case["id"], case["request"], plan, source="owner", now=NOW)


def gold_nodes(steps: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    """Return steps as the plan format's nodes."""
    return [
        {"task": tool, "arguments": [{"name": name, "value": value} for name, value in arguments.items()]}
        for tool, arguments in steps
    ]


def asked_of(case: Mapping[str, Any]) -> list[tuple[str, str, Sequence[Any]]]:
    """Return what is asked once a correction is taught: kind, text and the right steps."""
    siblings = [("siblings", one["request"], one["plan"]) for one in case["siblings"]]
    rephrased = [("rephrasings", text, case["plan"]) for text in case["rephrasings"]]
    return [("itself", case["request"], case["plan"]), *rephrased, *siblings]


def is_right(text: str, gold: Sequence[Any], answer: Plan | Refusal, specs: Mapping[str, ToolSpec]) -> bool:
    """Return whether an answer has the right tools and every argument right."""
    raw = {"task_nodes": gold_nodes(gold)}
    for node in raw["task_nodes"]:
        for argument in node["arguments"]:
            if argument["name"] == "phone":
                argument["accept"] = ["+44" + argument["value"].replace(" ", "").lstrip("0")]
    wanted = Demonstration("", text, plan_from_json(raw))
    return judge(wanted, raw, answer if isinstance(answer, Plan) else None, specs).exact


def is_dangerous(text: str, answer: Plan | Refusal, specs: Mapping[str, ToolSpec]) -> bool:
    """Return whether an answer changes or sends with a value that says where and that the request does not say."""
    if not isinstance(answer, Plan) or all(specs[step.tool].effect == "none" for step in answer.steps):
        return False
    said = "".join(c for c in text.casefold() if c.isalnum())
    for step in answer.steps:
        for name, value in step.arguments.items():
            parameter = specs[step.tool].parameter(name)
            kind = parameter.type.removeprefix("list[").removesuffix("]") if parameter else ""
            for item in value if isinstance(value, list) else [value]:
                if kind in _DECIDING and isinstance(item, str) and not isinstance(item, Ref):
                    bare = "".join(c for c in item.casefold() if c.isalnum()).removeprefix("44").lstrip("0")
                    if bare not in said:
                        return True
    return False


def _tools_and_values(answer: Plan | Refusal) -> str:
    if isinstance(answer, Refusal):
        return answer.kind
    return repr([(step.tool, sorted(step.arguments.items(), key=str)) for step in answer.steps])


if __name__ == "__main__":
    main()
