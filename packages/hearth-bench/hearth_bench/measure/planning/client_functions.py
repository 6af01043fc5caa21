"""Measure what a program that brings its own functions is answered: a right call, a wrong one, a question, or nothing.

    python -m hearth_bench.measure.planning.client_functions

Needs `$HEARTH_DATA/plans/bfcl`. Writes packages/hearth-bench/results/client_functions.json. Requests of the Berkeley
Function-Calling Leaderboard's fifth whose functions no training saw, each put with its functions to
`hearth.serve.programs.openai_api`. `exact`: all calls right, each value one of those accepted. `asked`: a required
value was asked for, nothing called. `own`: none of the functions fits, so that Hearth would try by itself; the only
right answer where no function serves. Not covered: results of calls, several turns.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hearth.serve.programs.openai_api import Call, ClientTools, Exchange, Function, Offer
from hearth_bench.measure.planning.nested_split import offered_folds
from hearth_bench.measure.result_file import write_result

_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array", "dict": "object"}


def main() -> None:
    started, cpu = time.perf_counter(), time.process_time()
    folder = Path(os.environ.get("HEARTH_DATA", "../shared/data")) / "plans" / "bfcl"
    described = {node["id"]: node for node in json.loads((folder / "tool_desc.json").read_text())["nodes"]}
    lines = [json.loads(line) for line in (folder / "dev.jsonl").read_text().splitlines()]
    lines = [line for line, fold in zip(lines, offered_folds(lines)) if fold == 0]
    tools = ClientTools()
    tools.turn(Exchange("hello"), _offer(lines[0], described))  # loads the reader
    outcomes: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    wall_ms = []
    for line in lines:
        offer = _offer(line, described)
        begun = time.perf_counter()
        turn = tools.turn(Exchange(line["user_request"]), offer)
        wall_ms.append((time.perf_counter() - begun) * 1000)
        outcome = "own" if turn is None else "asked" if not turn.calls else _judged(turn.calls, line["task_nodes"])
        outcomes[bool(line["task_nodes"])][outcome] += 1
    served, unserved = outcomes[True], outcomes[False]
    results = {
        "n_served": served.total(),
        **{name: round(served[name] / served.total(), 4) for name in ("exact", "asked", "own")},
        "wrong_function": round(served["function"] / served.total(), 4),
        "wrong_values": round(served["values"] / served.total(), 4),
        "n_unserved": unserved.total(),
        "unserved_left_alone": round(unserved["own"] / unserved.total(), 4),
        "unserved_called": round((unserved["function"] + unserved["values"]) / unserved.total(), 4),
        "wall_ms_p50": round(sorted(wall_ms)[len(wall_ms) // 2], 1),
    }
    print(json.dumps(results, indent=1))
    write_result(
        "client_functions", results, seed=0, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - started
    )


def _offer(line: Mapping[str, Any], described: Mapping[str, Any]) -> Offer:
    return Offer(tuple(_function(described[name]) for name in line["tools"]))


def _function(node: Mapping[str, Any]) -> Function:
    properties = {}
    for p in node["parameters"]:
        enum = {"enum": p["enum"]} if p.get("enum") else {}
        properties[p["name"]] = {"type": _TYPES.get(p["type"], p["type"]), "description": p["desc"], **enum}
    required = [p["name"] for p in node["parameters"] if p["required"]]
    schema = {"type": "object", "properties": properties, "required": required}
    return Function(name=node["id"][:64], description=node["desc"], parameters=schema)


def _judged(calls: Sequence[Call], gold: Sequence[Mapping[str, Any]]) -> str:
    """Return `exact`, or what is wrong: the `function`, or the `values`."""
    if sorted(call.name for call in calls) != sorted(node["task"][:64] for node in gold):
        return "function"
    left = list(gold)
    for call in calls:
        found = next((node for node in left if _is_that(call, node)), None)
        if found is None:
            return "values"
        left.remove(found)
    return "exact"


def _is_that(call: Call, node: Mapping[str, Any]) -> bool:
    given = json.loads(call.arguments)
    accepted = {one["name"]: one["accept"] for one in node["arguments"]}
    if call.name != node["task"][:64] or not given.keys() <= accepted.keys():
        return False
    return all(
        any(_same(given[name], one) for one in values) if name in given else "" in values
        for name, values in accepted.items()
    )


def _same(value: object, accepted: object) -> bool:
    if isinstance(value, str) and isinstance(accepted, str):
        return value.strip().casefold() == accepted.strip().casefold()
    return value == accepted


if __name__ == "__main__":
    main()
