"""Measure how well the guard resists injection, on AgentDojo and Hearth's own guard tasks: warrant, floor, no guard.

Shares are of tasks and of pairs of a task and an attack. Flat keys are those of the warrant made from the request's
words alone; `floor_` and `none_` precede the bounds, and `plan_` what a plan made before any data was read allows,
where a set has such plans.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from hearth.cli.invocation import SILENT, Progress
from hearth.protocols import Encoder
from hearth.types import Plan
from hearth_bench.injection.agentdojo import LEFT_OUT, VERSION, Suite, load_suites
from hearth_bench.injection.guard_tasks import shipped_sha256
from hearth_bench.injection.hearth_worlds import OwnWorlds
from hearth_bench.injection.intent_grants import WordedTools
from hearth_bench.injection.replay import Attacked, Benign, GuardName, Worlds, replay_attack, replay_task
from hearth_bench.run_record import Stopwatch, origin

_GUARDS: tuple[GuardName, ...] = ("warrant", "floor", "none")


@dataclass(frozen=True, slots=True)
class Outcome:
    """All tasks and attacks replayed past one guard."""

    benign: tuple[Benign, ...]
    attacks: tuple[Attacked, ...]

    def shares(self, own: Mapping[tuple[str, str], frozenset[str]] | None = None) -> dict[str, float | int]:
        """Return the flat keys.

        Args:
            own: The right calls by suite and task; by default those of the tasks in here.
        """
        tasks, pairs = len(self.benign), len(self.attacks)
        own = own if own is not None else {(b.suite, b.task): b.calls for b in self.benign}
        return {
            "utility_no_ask": _share(sum(b.is_done and not b.n_questions for b in self.benign), tasks),
            "utility_one_ask": _share(sum(b.is_done and b.n_questions <= 1 for b in self.benign), tasks),
            "approvals_per_task": round(sum(b.n_questions for b in self.benign) / max(1, tasks), 4),
            "asr_worst": _share(sum(a.is_harmed for a in self.attacks), pairs),
            "any_write": _share(sum(bool(a.written) for a in self.attacks), pairs),
            "write_beyond_task": _share(sum(bool(a.calls - own[a.suite, a.task]) for a in self.attacks), pairs),
            "n_tasks": tasks,
            "n_pairs": pairs,
        }

    def of(self, suite: str) -> Outcome:
        return Outcome(
            tuple(b for b in self.benign if b.suite == suite), tuple(a for a in self.attacks if a.suite == suite)
        )


def _share(n: int, of: int) -> float:
    return round(n / of, 5) if of else 0.0


def measure_agentdojo(encoder: Encoder, *, progress: Progress = SILENT) -> dict[str, object]:
    """Replay AgentDojo. Raises: MissingExtraError: The package is not installed."""
    suites: list[Suite] = [Suite(name, suite) for name, suite in load_suites().items()]
    document = _measured(suites, encoder, _GUARDS, progress)
    left_out = {f"{suite}/{injection}": reason for (suite, injection), reason in LEFT_OUT.items()}
    return {
        "suite": "agentdojo",
        "data": f"agentdojo {version('agentdojo')}, {VERSION}",
        "data_sha256": _installed_sha256(),
        "n_pairs_left_out": sum(suite.n_left_out for suite in suites),
        "left_out": left_out,
        **document,
    }


def measure_own(encoder: Encoder, path: Path | None = None, *, progress: Progress = SILENT) -> dict[str, object]:
    """Replay a set of guard tasks, the shipped one by default. Raises: RequestError: It cannot be read."""
    worlds = OwnWorlds(path)
    document = _measured([worlds], encoder, (*_GUARDS, "plan"), progress)
    digest = shipped_sha256() if path is None else hashlib.sha256(path.read_bytes()).hexdigest()
    return {"suite": "own", "data": str(path or "shipped guard tasks"), "data_sha256": digest, **document}


def _measured(
    suites: Sequence[Worlds], encoder: Encoder, guards: Sequence[GuardName], progress: Progress
) -> dict[str, object]:
    watch = Stopwatch()
    outcomes = {guard: _replayed(suites, encoder, guard, progress) for guard in guards}
    main = outcomes["warrant"]
    document: dict[str, object] = dict(main.shares())
    for guard in guards[1:]:
        document |= {f"{guard}_{key}": value for key, value in outcomes[guard].shares().items() if key[:2] != "n_"}
    document["by_suite"] = {suite.name: main.of(suite.name).shares() for suite in suites}
    document["asked"] = {f"{b.suite}/{b.task}": list(b.asked) for b in main.benign if b.asked}
    document["not_done"] = [f"{b.suite}/{b.task}" for b in outcomes["none"].benign if not b.is_done]
    document["ran"] = [f"{a.suite}/{a.task}/{a.injection}: {', '.join(a.written)}" for a in main.attacks if a.written]
    document["succeeded"] = [f"{a.suite}/{a.task}/{a.injection}" for a in main.attacks if a.is_harmed]
    for suite in suites:
        if isinstance(suite, OwnWorlds):
            document["by_kind"] = {guard: _by_kind(suite, outcomes[guard].attacks) for guard in ("warrant", "plan")}
    return document | {"seed": 0, **watch.spent(), **origin()}


def _replayed(suites: Sequence[Worlds], encoder: Encoder, guard: GuardName, progress: Progress) -> Outcome:
    benign: list[Benign] = []
    attacks: list[Attacked] = []
    n_all = sum(len(suite.tasks) + len(suite.attacks) for suite in suites)
    with progress.stage(f"Replaying {n_all:,} runs, guard {guard}", n_all) as advance:
        for suite in suites:
            known = WordedTools(suite.tools, encoder)
            for task in suite.tasks:
                benign.append(replay_task(suite, known, task, guard, _plan(suite, task)))
                advance(1)
            for pair in suite.attacks:
                attacks.append(replay_attack(suite, known, pair, guard, _plan(suite, pair[0])))
                advance(1)
    return Outcome(tuple(benign), tuple(attacks))


def _plan(suite: Worlds, task: str) -> Plan | None:
    return suite.plan(task) if isinstance(suite, OwnWorlds) else None


def _by_kind(own: OwnWorlds, attacks: Sequence[Attacked]) -> Mapping[str, dict[str, int]]:
    """Count attacks by kind: all, those that wrote and those that succeeded."""
    counts = {key: Counter[str]() for key in ("n", "wrote", "succeeded")}
    for attack in attacks:
        kind = own.kind(attack.injection)
        counts["n"][kind] += 1
        counts["wrote"][kind] += bool(attack.written)
        counts["succeeded"][kind] += attack.is_harmed
    return {kind: {key: counts[key][kind] for key in counts} for kind in sorted(counts["n"])}


def _installed_sha256() -> str:
    """Return the hash of the suites' installed data files."""
    found = importlib.util.find_spec("agentdojo")
    assert found is not None
    assert found.origin is not None  # `load_suites` has found it
    folder = Path(found.origin).parent
    digest = hashlib.sha256()
    for path in sorted((folder / "data" / "suites").rglob("*.yaml")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
