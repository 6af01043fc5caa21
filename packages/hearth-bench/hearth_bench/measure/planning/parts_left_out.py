"""Measure what each rule that stays in the planner is worth, by leaving it out.

    python -m hearth_bench.measure.planning.parts_left_out [--limit N] [--only SET ...] [--show PART] [--keep FOLDER]

Writes packages/hearth-bench/results/parts_left_out.json. Each part (`planner_parts`) is a function that mends what was
planned, or reads a request in its stead. Every request is planned once while it is noted which parts change anything;
then each part is left out, with what it was given in its place, and the requests it touches are planned anew: all
others come out the same. Asked are every fourth of real people's held-out requests (`real`, judged as `real_requests`
does), every fourth of the project's own (`own`, judged as `requests` does), the development side of the natural ones
(`natural`, run and judged as `natural_requests` does), and what each correction changes (`corrections`, taught and
judged as `correction_reach` does), which alone asks what the owner taught.

Per part and set: `n_touched`; how many of those are right with and without it, and harmful with and without it; the
interval of the difference in the share of all requests of the set (`worth`, `harm`: with the part, less without it).
Harmful is a change or a sending that was not asked for; of natural requests also what looks like success and is none.
Each set takes from a minute and a half to half an hour of a quiet core. With `--keep FOLDER` each is written there
when it is done, and what lies there of the same code is not asked again: so a run that was stopped goes on.

`touches_nothing` lists the parts that change nothing anywhere; `all` leaves out every part at once.

Not covered: parts that matter only together, beyond `all`; what a part costs; real people's requests are of a fixed
sample of the held-out tenth; own requests go through the agent here, in a home without anything in it. Judged as
`requests` does, an own request that no tool serves is wrong where the owner's things are asked instead.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Protocol

from hearth.agent import Agent, make_home, shipped_demonstrations
from hearth.atomic_files import replacing
from hearth.demo.demo_home import build_demo_home
from hearth.formats.plans import read_demonstrations
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.protocols import Encoder
from hearth.registry import load_tools
from hearth.testing import FixedApprover
from hearth.types import Demonstration, Plan, Request
from hearth_bench.data.natural_homes.natural_people import PEOPLE, NaturalRequest, read_requests_of
from hearth_bench.data.request_corpus import SOURCES, RealRequest, is_held_out, read_real_requests
from hearth_bench.measure.planning import correction_reach, natural_requests, real_requests, requests
from hearth_bench.measure.planning.planner_parts import ALL, PARTS, Part, leaving_out, noting
from hearth_bench.measure.result_file import OWN_DATA, write_result
from hearth_bench.report.run_comparison import paired_interval
from hearth_bench.run_record import commit

SETS = ("real", "own", "natural", "corrections")
_SAMPLED = 4
"""Of real people's and of own requests every so many-eth is asked."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a request."""

    is_right: bool
    is_harmful: bool


class Asked(Protocol):
    """Requests that can be asked again and again, each with the same outcome."""

    ids: Sequence[str]

    def ask(self, id: str) -> Outcome:
        """Return what becomes of a request with the parts as they are now."""


# ── Measuring ─────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Left:
    """What leaving out one part, or all, did to one set."""

    n_touched: int
    with_it: Mapping[str, Outcome]
    without_it: Mapping[str, Outcome]
    """Outcomes of the requests it touches; the others are as with it."""

    def summary(self) -> dict[str, object]:
        """Return counts among the requests it touches, and intervals of the share of all."""
        touched = {id: self.with_it[id] for id in self.without_it}
        found: dict[str, object] = {
            "n_touched": self.n_touched,
            "right_with": sum(one.is_right for one in touched.values()),
            "right_without": sum(one.is_right for one in self.without_it.values()),
            "harmful_with": sum(one.is_harmful for one in touched.values()),
            "harmful_without": sum(one.is_harmful for one in self.without_it.values()),
        }
        pairs = [(self.without_it.get(id, one), one) for id, one in self.with_it.items()]
        for name, scores in (
            ("worth", [(a.is_right, b.is_right) for a, b in pairs]),
            ("harm", [(a.is_harmful, b.is_harmful) for a, b in pairs]),
        ):
            without, with_it = [float(a) for a, _ in scores], [float(b) for _, b in scores]
            low, high = paired_interval(without, with_it, seed=0) if scores else (0.0, 0.0)
            found[name] = round((sum(with_it) - sum(without)) / max(len(scores), 1), 5)
            found[f"{name}_interval_95"] = [round(low, 5), round(high, 5)]
        return found


def measure(asked: Asked, parts: Sequence[Part]) -> tuple[dict[str, Outcome], dict[str, Left]]:
    """Ask every request once, then those that each part touches without it; outcomes, and what each part did."""
    with_it: dict[str, Outcome] = {}
    touched: dict[str, list[str]] = {part.name: [] for part in parts}
    for id in asked.ids:
        with noting(parts) as names:
            with_it[id] = asked.ask(id)
        for name in names:
            touched[name].append(id)
    left = {}
    for part in parts:
        with leaving_out([part]):
            left[part.name] = Left(len(touched[part.name]), with_it, {id: asked.ask(id) for id in touched[part.name]})
    by_any = [id for id in asked.ids if any(id in ids for ids in touched.values())]
    with leaving_out(parts):
        left[ALL] = Left(len(by_any), with_it, {id: asked.ask(id) for id in by_any})
    return with_it, left


def kept_in(path: Path, code: str) -> tuple[dict[str, Outcome], dict[str, Left]] | None:
    """Return what was kept of one set; None where nothing was, or of other code."""
    if not path.is_file():
        return None
    read = json.loads(path.read_text())
    if read["commit"] != code:
        return None
    with_it = {id: Outcome(*one) for id, one in read["with_it"].items()}
    left = {
        name: Left(n_touched, with_it, {id: Outcome(*one) for id, one in without.items()})
        for name, (n_touched, without) in read["left"].items()
    }
    return with_it, left


def keep(path: Path, code: str, with_it: Mapping[str, Outcome], left: Mapping[str, Left]) -> None:
    """Write what was measured of one set, at once or not at all."""
    data = {
        "commit": code,
        "with_it": {id: astuple(one) for id, one in with_it.items()},
        "left": {
            name: (one.n_touched, {id: astuple(two) for id, two in one.without_it.items()})
            for name, one in left.items()
        },
    }
    with replacing(path, "keep what was measured in") as file:
        file.write(json.dumps(data).encode())


def document_of(measured: Mapping[str, tuple[Mapping[str, Outcome], Mapping[str, Left]]]) -> dict[str, object]:
    """Return the results of all sets, part by part."""
    names = [part.name for part in PARTS]
    by_part = {name: {kind: left[name].summary() for kind, (_, left) in measured.items()} for name in (*names, ALL)}
    return {
        "n_parts": len(names),
        "sets": {
            kind: {
                "n": len(outcomes),
                "right": round(sum(one.is_right for one in outcomes.values()) / max(len(outcomes), 1), 4),
                "harmful": round(sum(one.is_harmful for one in outcomes.values()) / max(len(outcomes), 1), 4),
            }
            for kind, (outcomes, _) in measured.items()
        },
        "touches_nothing": [name for name in names if not any(left[name].n_touched for _, left in measured.values())],
        "parts": by_part,
    }


# ── What is asked ─────────────────────────────────────────────────────────────────────────────────────────


class _Real:
    """Real people's held-out requests, planned in the demo home."""

    def __init__(self, agent: Agent, limit: int | None) -> None:
        folder = Path(os.environ.get("HEARTH_DATA", "../shared/data")) / "requests"
        held = [one for one in read_real_requests(folder) if is_held_out(one, 0) and one.kind != "either"]
        in_order = [one for source in SOURCES for one in held if one.source == source]
        some = in_order[::_SAMPLED] if limit is None else in_order[:: max(len(in_order) // max(limit, 1), 1)][:limit]
        self._agent = agent
        self._asked: dict[str, RealRequest] = {f"{k}": one for k, one in enumerate(some)}
        self.ids: Sequence[str] = list(self._asked)

    def ask(self, id: str) -> Outcome:
        one = self._asked[id]
        specs = self._agent.tools.specs
        verdict = real_requests.judge(one, self._agent.plan(Request(one.text, real_requests.NOW), specs), specs)
        return Outcome(real_requests.is_good(one, verdict), verdict == "acts_wrongly")


class _Own:
    """The project's own requests, planned in a home without anything in it."""

    def __init__(self, agent: Agent, limit: int | None) -> None:
        rows: dict[str, tuple[Demonstration, Mapping[str, Any]]] = {}
        for name in requests.FILES:
            lines = [json.loads(line) for line in (OWN_DATA / name).read_text().splitlines()]
            for gold, raw in list(zip(read_demonstrations(OWN_DATA / name), lines, strict=True))[::_SAMPLED]:
                rows[f"{name.removesuffix('.jsonl')}/{gold.id}"] = (gold, raw)
        self._agent, self._rows = agent, rows
        ids = list(rows)
        self.ids: Sequence[str] = ids if limit is None else ids[:: max(len(ids) // max(limit, 1), 1)][:limit]

    def ask(self, id: str) -> Outcome:
        gold, raw = self._rows[id]
        specs = self._agent.tools.specs
        now = gold.now or dt.datetime.fromisoformat(requests.NOW)
        answer = self._agent.plan(Request(gold.request, now), specs)
        verdict = requests.judge(gold, raw, answer if isinstance(answer, Plan) else None, specs)
        return Outcome(verdict.is_right, verdict.wrong_side_effect)


class _Natural:
    """Natural requests of the development side, each run in a fresh copy of its home."""

    def __init__(self, folder: Path, encoder: Encoder, limit: int | None) -> None:
        asked = [one for person in PEOPLE for one in read_requests_of(person) if one.side == "dev"]
        some = asked if limit is None else asked[:: max(len(asked) // max(limit, 1), 1)][:limit]
        self._asked: dict[str, NaturalRequest] = {one.id: one for one in some}
        self._encoder, self._folder = encoder, folder
        people = dict.fromkeys(one.person for one in some)
        self._homes = {person: natural_requests.taught_home(person, folder, encoder) for person in people}
        self.ids: Sequence[str] = list(self._asked)

    def ask(self, id: str) -> Outcome:
        one = self._asked[id]
        judged = natural_requests.asked_in_copy(one, self._homes[one.person], self._folder / id, self._encoder)
        return Outcome(judged.verdict == "right", judged.verdict in ("dangerous", "wrong_silent"))


class _Corrections:
    """What is asked after each correction: itself, its rephrasings, its siblings."""

    def __init__(self, encoder: Encoder, limit: int | None) -> None:
        self._planner = RecallPlanner(encoder)
        self._planner.add(shipped_demonstrations())
        self._specs = load_tools(None).specs
        self._asked = {
            f"{case['id']}/{number}": (case, text, gold)
            for case in correction_reach.read_cases()
            for number, (_, text, gold) in enumerate(correction_reach.asked_of(case))
        }
        ids = list(self._asked)
        self.ids: Sequence[str] = ids if limit is None else ids[:: max(len(ids) // max(limit, 1), 1)][:limit]

    def ask(self, id: str) -> Outcome:
        case, text, gold = self._asked[id]
        self._planner.add([correction_reach.taught_by(case)])
        try:
            request = Request(text, correction_reach.NOW)
            answer = self._planner.plan(request, correction_reach.CONTEXT, self._specs)
        finally:
            self._planner.remove(case["id"])
        is_right = correction_reach.is_right(text, gold, answer, self._specs)
        return Outcome(is_right, correction_reach.is_dangerous(text, answer, self._specs))


@contextmanager
def opened(kind: str, encoder: Encoder, limit: int | None) -> Iterator[Asked]:
    """Open the homes that a set is asked in."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        if kind == "natural":
            yield _Natural(folder, encoder, limit)
        elif kind == "corrections":
            yield _Corrections(encoder, limit)
        else:
            home, now = folder / "home", real_requests.NOW
            if kind == "real":
                build_demo_home(home, now)
            else:
                make_home(home, {"name": "", "email": "", "time_zone": "", "country": requests.COUNTRY})
            agent = Agent.open(
                home, FixedApprover(answer=False), environ=os.environ, clock=lambda: now, encoder=encoder
            )
            stack.callback(agent.close)
            for _ in agent.learn_shipped():
                pass
            yield _Real(agent, limit) if kind == "real" else _Own(agent, limit)


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--limit", type=int, help="at most so many of each set; nothing is written")
    options.add_argument("--only", choices=SETS, nargs="+", default=SETS, help="these sets; nothing is written")
    options.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep each set here, and go on with what lies here"
    )
    options.add_argument("--show", metavar="PART", help="print the ids that this part makes right or wrong")
    chosen = options.parse_args()
    known = {part.name for part in PARTS} | {ALL}
    if chosen.show and chosen.show not in known:
        options.error(f"no part is called {chosen.show!r}; there are {', '.join(sorted(known))}")
    started, cpu = time.perf_counter(), time.process_time()
    encoder = MiniLMEncoder.open()
    measured = {}
    code = commit() or "unknown"
    for kind in chosen.only:
        path = chosen.keep / f"{kind}-{chosen.limit or 'all'}.json" if chosen.keep else None
        known_already = kept_in(path, code) if path else None
        if known_already is None:
            with opened(kind, encoder, chosen.limit) as asked:
                known_already = measure(asked, PARTS)
            if path is not None:
                keep(path, code, *known_already)
        measured[kind] = known_already
        print(f"{kind}: {len(measured[kind][0]):,} asked, {time.perf_counter() - started:,.0f} s", file=sys.stderr)
    if chosen.show:
        for kind, (_, left) in measured.items():
            for id, without in left[chosen.show].without_it.items():
                with_it = left[chosen.show].with_it[id]
                if with_it != without:
                    print(f"{kind} {id}: with it {with_it}, without it {without}", file=sys.stderr)
    results = document_of(measured)
    if chosen.limit is None and tuple(chosen.only) == SETS:
        write_result(
            "parts_left_out", results, seed=0, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - started
        )
    else:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
