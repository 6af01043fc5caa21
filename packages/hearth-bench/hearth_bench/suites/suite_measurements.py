"""Run the two measurements of `hearth bench` that learn from files, each to one document; nothing is written here."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from hearth.cli.invocation import SILENT, Progress
from hearth.errors import MissingExtraError, RequestError
from hearth.formats.plans import read_graph
from hearth.learning.finetune.lessons import Task
from hearth.planning.plan_drafting import LISTED_SHARE, Filling, listed_share
from hearth.planning.ranking.features import ReadingOptions
from hearth.planning.ranking.ranker import Ranker, RankerOptions
from hearth.protocols import Encoder
from hearth.types import ToolSpec
from hearth_bench.data.datasets import PlanData, read_plans, read_tool_file
from hearth_bench.metrics.plan_metrics import Link
from hearth_bench.run_record import Stopwatch, origin
from hearth_bench.suites.continual_suite import (
    TRAINED,
    Order,
    Readings,
    Stream,
    StreamMethod,
    TrainedLearner,
    run_stream,
    run_student,
)
from hearth_bench.suites.measured_paths import Paths
from hearth_bench.suites.planning_suite import Material, Method, measure, needs_filling, options_for, read_all, teach
from hearth_bench.suites.second_tier_training import RoundTrainer, adapter_options_for, train_tier_two

_FAST_TEST = 150
"""Number of test requests of a fast stream: every round tests all of them."""
_FAST_FIT = 200
_N_REPLAYED = 300


@dataclass(frozen=True, slots=True)
class Files:
    """Data that a measurement uses."""

    train: PlanData
    test: PlanData
    graph: frozenset[Link] | None
    facts: Mapping[str, object]
    """Names, hashes and counts of skipped lines."""
    unserved: PlanData | None = None
    """Test requests without a plan, which list the tools they are offered; none of these serves them."""

    @classmethod
    def read(cls, paths: Paths, *, is_strict: bool = False, progress: Progress = SILENT) -> Files:
        """Read and check all files; bad lines are skipped, reported and counted, unless `is_strict`.

        Raises:
            RequestError: A file cannot be read or holds nothing usable; or it has a bad line and `is_strict` is true.
            RegistryError: A tool file is wrong.
        """
        train, test, tools = paths.train, paths.test, paths.tools
        specs = read_tool_file(tools)
        taught_specs = read_tool_file(paths.train_tools) if paths.train_tools else specs
        links = read_graph(paths.graph) if paths.graph else None
        taught = read_plans(train, {**specs, **taught_specs}, skip_bad=not is_strict)
        asked = read_plans(test, specs, skip_bad=not is_strict)
        for fault in (*taught.faults, *asked.faults):
            progress.say(f"skipped: {fault}")
        with_plan = [row for row, d in enumerate(asked.demonstrations) if d.plan.steps]
        if not with_plan:
            raise RequestError(f"{test}: no line has a plan to compare with; a benchmark needs task_nodes")
        if not any(d.plan.steps for d in taught.demonstrations):
            raise RequestError(f"{train}: no line has a plan to learn from; a benchmark needs task_nodes")
        without = [row for row, d in enumerate(asked.demonstrations) if not d.plan.steps]
        unserved = [row for row in without if asked.demonstrations[row].tools]
        n_without = len(without) - len(unserved)
        if n_without:
            progress.say(f"left out: {n_without} test requests without a plan")
        requests = {d.request for d in taught.demonstrations}
        n_known = sum(asked.demonstrations[row].request in requests for row in with_plan)
        if n_known:
            progress.say(f"beware: {n_known} test requests are in the training file word for word")
        facts: dict[str, object] = {
            "train": train.name,
            "test": test.name,
            "tools": tools.name,
            "train_sha256": taught.sha256,
            "test_sha256": asked.sha256,
            "tools_sha256": hashlib.sha256(tools.read_bytes()).hexdigest(),
            "n_train_passed_over": len(taught.faults),
            "n_test_passed_over": len(asked.faults),
            "n_test_without_plan": n_without,
            "n_test_in_train": n_known,
        }
        return cls(taught, asked.subset(with_plan), links, facts, asked.subset(unserved))


def student_options(seed: int) -> RankerOptions:
    return RankerOptions(reading=ReadingOptions(seed=seed))


# ── Planning ──────────────────────────────────────────────────────────────────────────────────────────────


def measure_planning(
    files: Files,
    encoder: Encoder,
    *,
    method: Method = "student",
    seed: int = 0,
    is_fast: bool = False,
    progress: Progress = SILENT,
) -> dict[str, object]:
    """Teach a student `files.train` and judge it on `files.test`.

    Args:
        is_fast: Leave out tier two, which takes minutes.
    """
    watch = Stopwatch()
    o = student_options(seed)
    everything: dict[str, ToolSpec] = {**files.test.tools, **files.train.tools}
    student = Ranker(encoder, everything, options_for(method, o), files.graph)
    read = read_all(files.train, encoder, o, progress)
    with progress.stage("Learning", 1):
        learn_cpu_s = teach(student, read)
    with tempfile.TemporaryDirectory(prefix="hearth-bench-") as folder:
        reason = "a fast run" if is_fast else f"not part of {method}" if method != "student" else _needless(files)
        if reason:
            tier_two = _Made(reason)
        else:
            tier_two = _tier_two(student, files, encoder, Path(folder) / "tier-two", seed, progress)
        filler = _filler(files, progress)
        material = Material(files.train, files.test, files.graph, files.unserved)
        results = measure(student, material, filler=filler, read=read, progress=progress)
    return {
        "benchmark": "planning",
        "method": method,
        **results,
        "tier_two": not tier_two.left_out,
        "tier_two_left_out": tier_two.left_out or None,
        "tier_two_cpu_s": round(tier_two.cpu_s, 1),
        "tier_two_bytes": tier_two.n_bytes,
        "learn_cpu_s": round(learn_cpu_s, 2),
        "encode_cpu_s": round(read.cpu_s, 2),
        "seed": seed,
        "fast": is_fast,
        **files.facts,
        **watch.spent(),
        **origin(),
    }


class _Made(NamedTuple):
    """Result of training tier two."""

    left_out: str
    """Reason why tier two was left out; empty if it was not."""
    n_bytes: int = 0
    cpu_s: float = 0.0


def _tier_two(student: Ranker, files: Files, encoder: Encoder, folder: Path, seed: int, progress: Progress) -> _Made:
    """Train tier two and let the student use it."""
    train = files.train
    try:
        options = adapter_options_for(train.demonstrations)
        task = Task(train.demonstrations, train.tools, encoder, folder, options, seed, graph=files.graph)
        made = train_tier_two(task, progress)
    except (MissingExtraError, RequestError) as error:
        progress.say(f"without tier two: {error}")
        return _Made(str(error))
    student.adopt(made.proposer, made.held)
    with progress.stage("Joining the tiers", 1):
        student.settle()
    made.proposer.offer(files.test.tools)
    return _Made("", made.n_bytes, float(str(made.record.get("cpu_s", 0.0))))


def _needless(files: Files) -> str:
    """Return the reason why no tool has to be chosen; empty if one has to be."""
    if listed_share(files.train.demonstrations) < LISTED_SHARE or any(not d.tools for d in files.test.demonstrations):
        return ""
    return "the tools that requests list are their plans"


def _filler(files: Files, progress: Progress) -> Filling | None:
    if not needs_filling(files.test):
        return None
    from hearth.planning.arguments.schema_filler import Filler  # only data with arguments need its model

    with progress.stage("Opening the argument reader", 1):
        return Filler.open().referring_like(files.train.demonstrations)


# ── Continual ─────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Rounds:
    """How demonstrations come in rounds, and who learns them."""

    order: Order = "domain"
    n: int = 10
    methods: Sequence[StreamMethod] = ("student",)


def measure_continual(
    files: Files,
    encoder: Encoder,
    rounds: Rounds,
    *,
    seed: int = 0,
    is_fast: bool = False,
    progress: Progress = SILENT,
) -> dict[str, object]:
    """Teach the rounds one after the other with each method; the student's keys are at the top level.

    Args:
        is_fast: Skip methods trained by gradient descent, test on fewer requests, fit joining weights on fewer and
            without hidden tools, and run the all-at-once variant only for the student.
    Raises:
        RequestError: There are fewer demonstrations than rounds.
    """
    watch = Stopwatch()
    order, n_rounds, methods = rounds.order, rounds.n, rounds.methods
    o = student_options(seed)
    if is_fast:
        o = replace(o, n_fit=_FAST_FIT, hides_tools=False)
    test = files.test.subset(range(len(files.test.demonstrations))[:_FAST_TEST]) if is_fast else files.test
    if n_rounds > len(files.train.demonstrations):
        raise RequestError(
            f"{n_rounds} rounds of {len(files.train.demonstrations)} demonstrations; ask for fewer rounds"
        )
    stream = Stream.of(files.train, test, order, n_rounds, seed)
    read = read_all(files.train, encoder, o, progress)
    asked = Ranker(encoder, files.train.tools, o).read([d.request for d in test.demonstrations])
    readings = Readings(read, asked)
    found: dict[str, dict[str, object]] = {}
    left_out: dict[str, str] = {}
    for method in dict.fromkeys(("student", *methods)):
        if method == "joint":
            continue
        if method in TRAINED:
            reason = "a fast run" if is_fast else _trained(stream, method, encoder, found, seed, progress)
            if reason:
                left_out[method] = reason
                progress.say(f"without {method}: {reason}")
            continue
        name: Method = "heads" if method == "heads" else "recall" if method == "recall" else "student"
        with_joint = method == "student" or not is_fast
        blank = Ranker(encoder, files.train.tools, options_for(name, o))
        found[method], joint = run_student(stream, name, blank, readings, progress, with_joint=with_joint)
        if method == "student":
            found["joint"] = joint
    document: dict[str, object] = {
        "benchmark": "continual",
        "method": "student",
        **found["student"],
        "methods": {name: {"method": name, **keys} for name, keys in found.items()},
        "left_out": left_out,
        "order": order,
        "n_rounds": n_rounds,
        "n_tasks": len(stream.used),
        "n": len(test.demonstrations),
        "n_train": len(files.train.demonstrations),
        "encode_cpu_s": round(read.cpu_s, 2),
        "seed": seed,
        "fast": is_fast,
        **files.facts,
    }
    return {**document, **watch.spent(), **origin()}


def _trained(
    stream: Stream,
    method: StreamMethod,
    encoder: Encoder,
    found: dict[str, dict[str, object]],
    seed: int,
    progress: Progress,
) -> str:
    """Run a method that is trained by gradient descent; return the reason if it was left out."""
    try:
        with tempfile.TemporaryDirectory(prefix="hearth-bench-") as folder:
            trainer = RoundTrainer(stream.train.tools, encoder, seed)
            n_replayed = _N_REPLAYED if method == "replay" else 0
            learner = TrainedLearner(stream, trainer, Path(folder), seed, n_replayed)
            found[method] = run_stream(stream, learner, f"Stream of {len(stream.rounds)} rounds, {method}", progress)
    except (MissingExtraError, RequestError) as error:
        return str(error)
    return ""
