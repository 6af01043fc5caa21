"""Measure how many whole requests are planned right, on files with gold plans that nothing was tuned on.

    python -m hearth_bench.measure.planning.requests [FILE.jsonl ...] [--limit N] [--bounds] [--keep FILE] [--show]

Writes packages/hearth-bench/results/requests.json, if no files are named and there is no limit. Default files: the
held-out set (its author saw part of its failures while writing demonstrations), the blind set (written without sight of
the demonstrations), requests to a home, a fifth of what eight authors had invented people say, and a fifth of what six
more wrote of such people's whole week (the other four fifths are demonstrations); what 32 more people would ask:
nothing of them was learnt, but failures were looked at and thresholds chosen by them; last what 16 more would ask,
which nobody looks at. Gold may list further right values under `accept`; null among them means that the argument may be
left out. Leading articles are forgiven in free text, and a phone number is the same with the measure's country or
without; nothing else is.

Per file: `n`, `refusal_recall` (out-of-scope requests not planned), `wrongly_refused` (in-scope ones not planned),
`tools_right` (same tools, order aside, of those in scope), `node_f1` (macro), `exact` (tools, references and all
arguments right), `right` (exact or rightly refused, of all), `wrong_side_effect` (share of all requests whose plan
changes or sends something that gold does not), and the same for a floor: the nearest demonstration's plan, unchanged.

`--keep` writes each verdict, to be compared (`kept_verdicts`). `--bounds` writes requests_bounds.json instead: beside
`recall` and the floor, the best of the first six candidates for the whole request (`oracle_best_of_six`) and the better
of that and the plan, which is what ranking them better could reach.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hearth.agent import shipped_demonstrations
from hearth.formats.plans import read_demonstrations
from hearth.language.reading import Utterance
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.registry import load_tools
from hearth.types import Argument, Context, Demonstration, Plan, Ref, Request, Step, ToolSpec
from hearth_bench.measure.kept_verdicts import Kept, kept_file, write_kept
from hearth_bench.measure.planning.ranking_bounds import Copies, first_candidates
from hearth_bench.measure.result_file import OWN_DATA, write_result

FILES = (
    "held_out_requests.jsonl",
    "blind_requests.jsonl",
    "home_requests.jsonl",
    "varied_requests.jsonl",
    "week_requests.jsonl",
    "new_people_requests.jsonl",
    "unseen_people_requests.jsonl",
)
NOW = "2026-11-20T09:30:00+01:00"
COUNTRY = "DE"
_ARTICLE = re.compile(r"^(?:the|my|a|an|our)\s+", re.I)
_PHONE = re.compile(r"(?:\+49|0)([\d\s()/-]{5,})")
"""A number as dialled in `COUNTRY`, whose people type it without the country."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Outcome of one request."""

    in_scope: bool
    planned: bool
    tools_right: bool
    exact: bool
    node_f1: float
    wrong_side_effect: bool

    @property
    def is_right(self) -> bool:
        return self.exact if self.in_scope else not self.planned


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("files", nargs="*", type=Path, metavar="FILE.jsonl", help="other files; nothing is written")
    options.add_argument("--limit", type=int, help="at most so many of each file; nothing is written")
    options.add_argument("--bounds", action="store_true", help="an oracle beside the plans; takes longer")
    options.add_argument("--keep", type=kept_file, metavar="FILE", help="write the verdict on each request here")
    options.add_argument("--show", action="store_true", help="print what did not come out right")
    chosen = options.parse_args()
    started, cpu = time.perf_counter(), time.process_time()
    specs = load_tools(None).specs
    encoder = MiniLMEncoder.open()
    planner = RecallPlanner(encoder)
    planner.add(shipped_demonstrations())
    copies = Copies(encoder, shipped_demonstrations())
    results: dict[str, object] = {"n_demonstrations": len(planner)}
    kept: list[Kept] = []
    for path in chosen.files or [OWN_DATA / name for name in FILES]:
        gold = list(read_demonstrations(path))[: chosen.limit]
        raw = [json.loads(line) for line in path.open()][: chosen.limit]
        plans = [_plan_of(_request(line), planner, specs) for line in gold]
        rows: list[dict[str, Judged]] = []
        for line, data, plan in zip(gold, raw, plans, strict=True):
            row = {
                "recall": judge(line, data, plan, specs),
                "floor_nearest_copied": judge(line, data, copies.plan(line.request), specs),
            }
            if chosen.bounds:
                said = Utterance.of(_request(line), Context(country=COUNTRY))
                firsts = [one if isinstance(one, Plan) else None for one in first_candidates(planner, said, specs)]
                row |= _oracles(row["recall"], [judge(line, data, one, specs) for one in firsts])
            rows.append(row)
        results[path.stem] = {name: summary([row[name] for row in rows]) for name in rows[0]} if rows else {}
        kept += [_kept(path.stem, line, row["recall"]) for line, row in zip(gold, rows, strict=True)]
        if chosen.show:
            _show(gold, raw, plans, specs)
    if chosen.keep is not None:
        write_kept(chosen.keep, "requests", kept)
    if chosen.files or chosen.limit is not None:
        print(json.dumps(results, indent=2))
        return
    name = "requests_bounds" if chosen.bounds else "requests"
    write_result(name, results, seed=0, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - started)


def _request(line: Demonstration) -> Request:
    return Request(line.request, line.now or _moment(NOW))


def _plan_of(request: Request, planner: RecallPlanner, specs: Mapping[str, ToolSpec]) -> Plan | None:
    answer = planner.plan(request, Context(country=COUNTRY), specs)
    return answer if isinstance(answer, Plan) else None


def _oracles(planned: Judged, first: Sequence[Judged]) -> dict[str, Judged]:
    """Return the best of the first candidates, and the best of them and the plan."""
    best = max(first or [planned], key=_worth)
    return {"oracle_best_of_six": best, "oracle_best_of_six_or_plan": max((planned, best), key=_worth)}


def _worth(one: Judged) -> tuple[bool, bool, bool, float]:
    return one.is_right, not one.wrong_side_effect, one.tools_right, one.node_f1


def _kept(file: str, line: Demonstration, judged: Judged) -> Kept:
    verdict = "right" if judged.is_right else "refused" if not judged.planned else "planned wrongly"
    verdict = "wrong side effect" if judged.wrong_side_effect else verdict
    groups = {"file": file, "scope": "served" if judged.in_scope else "unserved"}
    return Kept(f"{file}/{line.id}", verdict, judged.is_right, judged.wrong_side_effect, groups)


def judge(gold: Demonstration, raw: Mapping[str, Any], plan: Plan | None, specs: Mapping[str, ToolSpec]) -> Judged:
    """Compare a plan with gold, each gold step with a step of the same tool."""
    wanted = [step.tool for step in gold.plan.steps]
    got = [step.tool for step in plan.steps] if plan else []
    overlap = sum((Counter(wanted) & Counter(got)).values())
    node_f1 = 1.0 if not wanted and not got else 2 * overlap / (len(wanted) + len(got))
    effects = Counter(t for t in got if specs[t].effect != "none") - Counter(wanted)
    tools_right = bool(wanted) and Counter(wanted) == Counter(got)
    exact = tools_right and plan is not None and not plan.unserved and _same(gold.plan.steps, plan.steps, raw)
    return Judged(bool(wanted), bool(got), tools_right, exact, node_f1, bool(effects))


def _same(gold: Sequence[Step], plan: Sequence[Step], raw: Mapping[str, Any]) -> bool:
    """Return whether each gold step has its own step in the plan with the same tool and right arguments."""
    place: dict[int, int] = {}
    for index, step in enumerate(gold):
        accepted = {a["name"]: a for a in raw["task_nodes"][index].get("arguments", [])}
        for k, candidate in enumerate(plan):
            if k not in place.values() and candidate.tool == step.tool and _fits(step, candidate, accepted, place):
                place[index] = k
                break
        else:
            return False
    return True


def _fits(gold: Step, step: Step, accepted: Mapping[str, Mapping[str, Any]], place: Mapping[int, int]) -> bool:
    for name in {*gold.arguments, *step.arguments}:
        entry = accepted.get(name, {})
        options = [entry["value"], *entry.get("accept", [])] if entry else [None]
        value = step.arguments.get(name)
        if name == "phone":
            options, value = [_dialled(option) for option in options], _dialled(value)
        if not any(_equal(option, value, place) for option in options):
            return False
    return True


def _equal(option: Any, value: Argument, place: Mapping[int, int]) -> bool:
    if isinstance(option, list) or isinstance(value, list):
        options = option if isinstance(option, list) else [option]
        values = value if isinstance(value, list) else [value]
        return len(options) == len(values) and all(any(_equal(o, v, place) for v in values) for o in options)
    if isinstance(option, str) and (match := re.match(r"<node-(\d+)((?:\.\w+)*)>$", option)):
        path = tuple(part for part in match[2].split(".") if part)
        return isinstance(value, Ref) and place.get(int(match[1])) == value.step and path == value.path
    if isinstance(option, str) and isinstance(value, str):
        return _plain(option) == _plain(value)
    return bool(option == value)


def _dialled(value: Any) -> Any:
    number = _PHONE.fullmatch(value.strip()) if isinstance(value, str) else None
    return "0" + re.sub(r"\D", "", number[1]) if number else value


def _plain(text: str) -> str:
    return _ARTICLE.sub("", " ".join(text.split()).strip(" .!?")).lower()


def summary(judged: Sequence[Judged]) -> dict[str, object]:
    inside = [j for j in judged if j.in_scope]
    outside = [j for j in judged if not j.in_scope]
    return {
        "n": len(judged),
        "right": _share(j.is_right for j in judged),
        "exact": _share(j.exact for j in inside),
        "tools_right": _share(j.tools_right for j in inside),
        "node_f1": round(float(np.mean([j.node_f1 for j in inside])), 4),
        "refusal_recall": _share(not j.planned for j in outside),
        "wrongly_refused": _share(not j.planned for j in inside),
        "wrong_side_effect": _share(j.wrong_side_effect for j in judged),
    }


def _share(values: Iterable[bool]) -> float | None:
    listed = list(values)
    return round(sum(listed) / len(listed), 4) if listed else None


def _show(
    gold: Sequence[Demonstration],
    raw: Sequence[Mapping[str, Any]],
    plans: Sequence[Plan | None],
    specs: Mapping[str, ToolSpec],
) -> None:
    for line, data, plan in zip(gold, raw, plans):
        verdict = judge(line, data, plan, specs)
        if not verdict.is_right:
            print(f"{line.id} {line.request!r}", file=sys.stderr)
            for step in plan.steps if plan else ():
                print(f"    got  {step.tool} {dict(step.arguments)}", file=sys.stderr)
            for step in line.plan.steps:
                print(f"    gold {step.tool} {dict(step.arguments)}", file=sys.stderr)


def _moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


if __name__ == "__main__":
    main()
