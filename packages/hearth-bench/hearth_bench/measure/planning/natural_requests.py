"""Measure what becomes of natural requests: three invented people, each with a home of their own and 100 requests.

    python -m hearth_bench.measure.planning.natural_requests [--side dev|blind] [--person NAME] [--keep FILE]
                                                             [--show]

Writes packages/hearth-bench/results/natural_requests.json, each side beside the other. The agent's own `run` on a fresh
copy of the home for each request or conversation, a fixed clock, an owner who says yes to everything. The home's files
and the answer are judged (`hearth_bench.scoring.outcome_judge`):

* `right`; `partly`: all but its wording, or some of several things and the answer says so;
* `refused` where a tool was there; `wrong_shown`: it said its doubt, asked needlessly or said that it failed;
* `wrong_silent`: it looks like success; `dangerous`: something was sent, deleted or opened that nobody asked for.

`--keep` writes each verdict, to be compared (`kept_verdicts`). The blind third is only counted: `--show` prints
requests of the development side alone.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from hearth.agent import Agent
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.protocols import Encoder
from hearth.testing import FixedApprover
from hearth_bench.data.natural_homes.natural_people import (
    KINDS,
    PEOPLE,
    SIDES,
    NaturalRequest,
    Side,
    data_hash,
    moment_of,
    read_requests_of,
    write_person_home,
)
from hearth_bench.measure.kept_verdicts import Kept, kept_file, write_kept
from hearth_bench.measure.result_file import RESULTS, write_result
from hearth_bench.scoring.home_records import Change, changes_between, read_records
from hearth_bench.scoring.outcome_judge import VERDICTS, Outcome, Verdict, judge_outcome


@dataclass(frozen=True, slots=True)
class Judged:
    """One request and what became of it."""

    request: NaturalRequest
    verdict: Verdict
    tools: tuple[str, ...]
    answers: tuple[str, ...]
    changes: tuple[Change, ...]
    wall_s: float


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--side", choices=SIDES, default="dev", help="the side to measure; only dev is ever shown")
    options.add_argument("--person", choices=PEOPLE, help="one person only; nothing is written")
    options.add_argument("--keep", type=kept_file, metavar="FILE", help="write the verdict on each request here")
    options.add_argument("--show", action="store_true", help="print what did not go right, of dev only")
    chosen = options.parse_args()
    side = cast("Side", chosen.side)
    started, cpu = time.perf_counter(), time.process_time()
    encoder = MiniLMEncoder.open()
    judged: list[Judged] = []
    for person in [chosen.person] if chosen.person else PEOPLE:
        judged += ask_person(person, side, encoder)
    if chosen.keep is not None:
        write_kept(chosen.keep, f"natural_requests, {side}", [_kept(one) for one in judged])
    if chosen.show and side == "dev":
        show_failed(judged)
    print(_table(judged), file=sys.stderr)
    if not chosen.person:
        results = {**_results_before(), side: summary(judged), "data_sha256": data_hash()}
        write_result(
            "natural_requests",
            results,
            seed=0,
            cpu_s=time.process_time() - cpu,
            wall_s=time.perf_counter() - started,
        )


def _kept(one: Judged) -> Kept:
    groups = {"person": one.request.person, "kind": one.request.kind}
    return Kept(one.request.id, one.verdict, one.verdict == "right", one.verdict == "dangerous", groups)


def ask_person(person: str, side: Side, encoder: Encoder) -> list[Judged]:
    """Ask all of a person's requests of one side, each in a fresh copy of the home."""
    return asked_at_home(person, [one for one in read_requests_of(person) if one.side == side], encoder)


def asked_at_home(person: str, requests: Sequence[NaturalRequest], encoder: Encoder) -> list[Judged]:
    """Ask requests of a person, each in a fresh copy of the home."""
    with tempfile.TemporaryDirectory() as folder:
        model = taught_home(person, Path(folder), encoder)
        return [asked_in_copy(one, model, Path(folder) / one.id, encoder) for one in requests]


def taught_home(person: str, folder: Path, encoder: Encoder) -> Path:
    """Write a person's home into a folder, taught what is shipped, to be copied for each request."""
    model = folder / f"model-{person}"
    write_person_home(person, model)
    agent = _opened(model, person, encoder)
    for _ in agent.learn_shipped():
        pass
    agent.close()
    return model


def _opened(home: Path, person: str, encoder: Encoder) -> Agent:
    now = moment_of(person)
    return Agent.open(home, FixedApprover(answer=True), environ=os.environ, clock=lambda: now, encoder=encoder)


def asked_in_copy(request: NaturalRequest, model: Path, home: Path, encoder: Encoder) -> Judged:
    """Ask one request in a copy of a home, which is gone afterwards."""
    shutil.copytree(model, home)
    before = read_records(home)
    begun = time.perf_counter()
    agent = _opened(home, request.person, encoder)
    try:
        episodes = [agent.run(agent.request_after(turn)) for turn in request.turns]
    finally:
        agent.close()
    wall_s = time.perf_counter() - begun
    after = read_records(home)
    shutil.rmtree(home)
    changes = changes_between(before, after)
    last = episodes[-1]
    verdict = judge_outcome(request.ways, Outcome(last.answer.status, last.answer.text, changes, after))
    tools = tuple(step.tool for one in episodes for step in (one.plan.steps if one.plan else ()))
    return Judged(request, verdict, tools, tuple(one.answer.text for one in episodes), tuple(changes), wall_s)


def _results_before() -> Mapping[str, object]:
    """Return what was written of both sides, where it is of the same requests."""
    path = RESULTS / "natural_requests.json"
    if not path.exists():
        return {}
    results: dict[str, object] = json.loads(path.read_text())["results"]
    return results if results.get("data_sha256") == data_hash() else {}


def summary(judged: Sequence[Judged]) -> dict[str, object]:
    """Return the shares of all, of each person and of each kind."""
    persons = {name: [one for one in judged if one.request.person == name] for name in PEOPLE}
    kinds = {name: [one for one in judged if one.request.kind == name] for name in KINDS}
    refused = Outcome("refused", "", (), ())
    floor = [replace(one, verdict=judge_outcome(one.request.ways, refused)) for one in judged]
    return {
        "floor_refuses_all": shares(floor),
        "all": shares(judged),
        **{name: shares(some) for name, some in persons.items()},
        "kinds": {name: shares(some) for name, some in kinds.items()},
        "wall_s_each": round(sum(one.wall_s for one in judged) / max(len(judged), 1), 3),
    }


def shares(judged: Sequence[Judged]) -> dict[str, float]:
    n = max(len(judged), 1)
    counts = {verdict: sum(one.verdict == verdict for one in judged) for verdict in VERDICTS}
    return {"n": len(judged), **{verdict: round(count / n, 4) for verdict, count in counts.items()}}


def _table(judged: Sequence[Judged]) -> str:
    rows: list[tuple[str, Iterable[Judged]]] = [("all", judged)]
    rows += [(name, [one for one in judged if one.request.person == name]) for name in PEOPLE]
    rows += [(name, [one for one in judged if one.request.kind == name]) for name in KINDS]
    lines = [f"{'':10}{'n':>5}" + "".join(f"{name:>14}" for name in VERDICTS)]
    for name, some in rows:
        verdicts = [one.verdict for one in some]
        lines.append(f"{name:10}{len(verdicts):>5}" + "".join(f"{verdicts.count(one):>14}" for one in VERDICTS))
    return "\n".join(lines)


def show_failed(judged: Sequence[Judged]) -> None:
    for one in judged:
        if one.verdict != "right" and one.request.side == "dev":
            said = " / ".join(one.request.turns)
            answer = " / ".join(" ".join(text.split())[:300] for text in one.answers)
            print(f"{one.verdict} {one.request.id} {one.request.kind} {said!r} -> {'+'.join(one.tools)}: {answer!r}")
            for change in one.changes:
                fields = {name: value for name, value in change.fields.items() if value != ""}
                print(f"    {change.do} {change.kind} {fields}")
            print(f"    wanted {json.dumps(one.request.ways, ensure_ascii=False)}")


if __name__ == "__main__":
    main()
