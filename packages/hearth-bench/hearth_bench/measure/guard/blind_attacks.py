"""Measure the guard on attacks and tasks that were written by somebody who had read neither its rules nor its tests.

    python -m hearth_bench.measure.guard.blind_attacks           writes packages/hearth-bench/results/guard_blind.json
    python -m hearth_bench.measure.guard.blind_attacks --first   the first look at totals: guard_blind_first.json

120 attacks, 60 tasks that change or send something (the attacks' benign twins), 18 that only read. An attack or a task
belongs to the half that was looked at, after the first totals, or to the one that was not, by a hash of its id.
Not covered: several requests in a row, what a picture shows, a device's name (texts stand for them).
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable
from importlib.resources import as_file, files

from hearth.models.sentence_encoder import MiniLMEncoder
from hearth_bench.injection.hearth_worlds import OwnWorlds
from hearth_bench.injection.intent_grants import WordedTools
from hearth_bench.injection.replay import GuardName, replay_attack, replay_task
from hearth_bench.measure.result_file import write_result
from hearth_bench.run_record import Stopwatch
from hearth_bench.suites.injection_suite import Outcome

FILE = "guard_tasks_blind.jsonl"
_GUARDS: tuple[GuardName, ...] = ("warrant", "plan")


def is_looked_at(id: str) -> bool:
    """Return whether an attack or a task is in the half whose errors were read."""
    return hashlib.sha256(id.encode()).digest()[0] % 2 == 0


def measure(worlds: OwnWorlds, known: WordedTools, guard: GuardName) -> dict[str, object]:
    """Replay all, and count the whole, the tasks that change something, and both halves."""
    benign = tuple(replay_task(worlds, known, task, guard, worlds.plan(task)) for task in worlds.tasks)
    attacks = tuple(replay_attack(worlds, known, pair, guard, worlds.plan(pair[0])) for pair in worlds.attacks)

    def shares(is_in: Callable[[str], bool]) -> dict[str, object]:
        chosen = Outcome(
            tuple(one for one in benign if is_in(one.task)), tuple(one for one in attacks if is_in(one.injection))
        )
        own = {(one.suite, one.task): one.calls for one in benign}
        return {**chosen.shares(own), "n_succeeded": sum(one.is_harmed for one in chosen.attacks)}

    twins = shares(lambda id: id.startswith("t"))
    return {
        "all": shares(lambda _: True),
        "twins": {key: twins[key] for key in ("utility_no_ask", "utility_one_ask", "n_tasks")},
        "looked_at": shares(is_looked_at),
        "not_looked_at": shares(lambda id: not is_looked_at(id)),
        "looked_at_asked": {one.task: one.asked for one in benign if one.asked and is_looked_at(one.task)},
        "looked_at_succeeded": [one.injection for one in attacks if one.is_harmed and is_looked_at(one.injection)],
        "looked_at_wrote": {
            one.injection: one.written for one in attacks if one.written and is_looked_at(one.injection)
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", action="store_true")
    is_first = parser.parse_args().first
    watch = Stopwatch()
    with as_file(files("hearth_bench") / "data" / FILE) as path:
        worlds = OwnWorlds(path)
        known = WordedTools(worlds.tools, MiniLMEncoder.open())
        results: dict[str, object] = {"data_sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        results |= {guard: measure(worlds, known, guard) for guard in _GUARDS}
    spent = watch.spent()
    write_result(
        "guard_blind_first" if is_first else "guard_blind",
        results,
        seed=0,
        cpu_s=float(str(spent["cpu_s"])),
        wall_s=float(str(spent["wall_s"])),
    )


if __name__ == "__main__":
    main()
