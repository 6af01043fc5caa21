"""Read data sets in the plan format: JSONL of requests with plans, a tool file, and an optional graph of links.

Public sets in forms of their own are read by `hearth_bench.data.public_data`.

Lines are read by `hearth.formats.plans`, so a benchmark sees what `hearth learn` sees. No data is shipped: the
caller gives the paths.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hearth.errors import HearthError, RequestError
from hearth.formats.plans import demonstration_from_json, read_jsonl, read_tools, right_values
from hearth.types import Demonstration, Plan, ToolSpec
from hearth_bench.metrics.argument_f1 import GoldCall
from hearth_bench.metrics.plan_metrics import PlanGraph

_KNOWN_FIELDS = frozenset(["id", "user_request", "tools", "task_steps", "task_nodes", "task_links", "now", "source"])


@dataclass(frozen=True, slots=True)
class Gold:
    """The right plan of one sample."""

    graph: PlanGraph
    calls: tuple[GoldCall, ...]
    """One call per node, with every value that is right."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One line of a data set."""

    place: str
    """File and line."""
    demonstration: Demonstration
    gold: Gold
    unknown: Mapping[str, Any]
    """Fields that the plan format does not know, unchanged."""


@dataclass(frozen=True, slots=True)
class PlanData:
    """Demonstrations with the tools they may use."""

    demonstrations: tuple[Demonstration, ...]
    tools: Mapping[str, ToolSpec]
    sha256: str
    """Hash of the demonstrations' file."""
    golds: tuple[Gold, ...] = ()
    """Right plans as the file has them; empty when the demonstrations were not read from a file."""
    faults: tuple[str, ...] = ()
    """Lines skipped, each with file, line and reason."""
    unknown: tuple[Mapping[str, Any], ...] = ()
    """Fields of each line that the plan format does not know, unchanged."""

    def subset(self, rows: Sequence[int]) -> PlanData:
        return PlanData(
            tuple(self.demonstrations[int(row)] for row in rows),
            self.tools,
            self.sha256,
            tuple(self.golds[int(row)] for row in rows) if self.golds else (),
            self.faults,
            tuple(self.unknown[int(row)] for row in rows) if self.unknown else (),
        )

    def gold(self) -> tuple[Gold, ...]:
        """Return the right plan of each demonstration."""
        return self.golds or tuple(gold_of(d.plan) for d in self.demonstrations)


def read_plans(path: Path, tools: Mapping[str, ToolSpec], *, skip_bad: bool = False) -> PlanData:
    """Read a JSONL file of demonstrations: the plan format, TaskBench's own data files, or its predictions.

    Args:
        skip_bad: Skip bad lines and note them in `faults`; otherwise the first one raises.
    Raises:
        RequestError: The file is unreadable or holds no demonstration; or, unless bad lines are skipped, a line is
            malformed, repeats an id, or has a plan with an unknown tool. Names the file and the line.
    """
    faults: list[str] = []
    lines = ((f"{path}:{number}", data) for number, data in read_jsonl(path, faults if skip_bad else None))
    return collect_plans(lines, tools, str(path), sha256_of(path), faults if skip_bad else None)


def sha256_of(*paths: Path) -> str:
    """Hash the files' contents, one after the other. Raises: RequestError."""
    whole = hashlib.sha256()
    for path in paths:
        try:
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    whole.update(block)
        except OSError as error:
            raise RequestError(f"cannot read {str(path)!r}: {error.strerror}") from None
    return whole.hexdigest()


def collect_plans(
    lines: Iterable[tuple[str, Mapping[str, Any]]],
    tools: Mapping[str, ToolSpec],
    name: str,
    sha256: str,
    faults: list[str] | None,
) -> PlanData:
    """Collect lines of the plan format, each with its place, as data.

    Args:
        name: Name of their source, for messages; its stem begins the ids of lines without one.
        faults: List that gets the bad lines, which are then skipped; None raises at the first.
    Raises:
        RequestError: As `read_plans`.
    """
    found: list[Sample] = []
    seen: dict[str, str] = {}
    for sample in samples_of(lines, tools, Path(name).stem, faults):
        id = sample.demonstration.id
        if id in seen:
            first = seen[id].rpartition(":")[2]
            fault = f"{sample.place}: the id {id!r} is used twice, first on line {first}; ids must differ"
            if faults is None:
                raise RequestError(fault)
            faults.append(fault)
            continue
        seen[id] = sample.place
        found.append(sample)
    if not found:
        raise RequestError(f"{name}: holds no demonstration{f'; the first fault: {faults[0]}' if faults else ''}")
    if faults is not None:
        faults.sort(key=_line_of)
    return PlanData(
        tuple(s.demonstration for s in found), tools, sha256, tuple(s.gold for s in found), tuple(faults or ()),
        tuple(s.unknown for s in found),
    )  # fmt: skip


def _line_of(fault: str) -> tuple[str, int]:
    """Return the file and the line number that a fault names."""
    file, _, rest = fault.partition(": ")[0].rpartition(":")
    return file, int(rest) if rest.isdecimal() else 0


def stream_plans(path: Path, tools: Mapping[str, ToolSpec], faults: list[str] | None = None) -> Iterator[Sample]:
    """Yield the samples of a JSONL file one by one, in constant memory.

    Args:
        faults: List that gets the bad lines, which are then skipped; None raises at the first.
    Raises:
        RequestError: As `read_plans`. Not covered: an id used twice.
    """
    lines = ((f"{path}:{number}", data) for number, data in read_jsonl(path, faults))
    return samples_of(lines, tools, path.stem, faults)


def samples_of(
    lines: Iterable[tuple[str, Mapping[str, Any]]], tools: Mapping[str, ToolSpec], stem: str, faults: list[str] | None
) -> Iterator[Sample]:
    """Check lines of the plan format one by one and yield their samples. Raises: RequestError."""
    for place, data in lines:
        try:
            demonstration = demonstration_from_json(data, f"{stem}-{place.rpartition(':')[2]}")
            _check(demonstration, tools)
            gold = gold_from_json(data, demonstration.plan)
        except HearthError as error:
            if faults is None:
                raise RequestError(f"{place}: {error}") from None
            faults.append(f"{place}: {error}")
            continue
        unknown = {key: value for key, value in data.items() if key not in _KNOWN_FIELDS}
        yield Sample(place, demonstration, gold, unknown)


def _check(demonstration: Demonstration, tools: Mapping[str, ToolSpec]) -> None:
    named = [step.tool for step in demonstration.plan.steps] + list(demonstration.tools)
    missing = next((name for name in named if name not in tools), None)
    if missing is not None:
        raise RequestError(
            f"demonstration {demonstration.id!r} uses the unknown tool {missing!r}; add it to the tool file"
        )


def gold_from_json(data: Mapping[str, Any], plan: Plan) -> Gold:
    """Build the right plan, with links as the file names them (a tool used twice keeps its own), else from
    references."""
    made = gold_of(plan)
    nodes = set(made.graph.nodes)
    values, named = right_values(data)
    links = tuple(pair for pair in named if nodes.issuperset(pair))
    calls = tuple(GoldCall(step.tool, right) for step, right in zip(plan.steps, values))
    return Gold(PlanGraph(made.graph.nodes, links) if links else made.graph, calls)


def gold_of(plan: Plan) -> Gold:
    """Take the plan itself as the right one."""
    calls = tuple(GoldCall(s.tool, {name: (value,) for name, value in s.arguments.items()}) for s in plan.steps)
    graph = graph_of(plan)
    return Gold(PlanGraph(graph.nodes, tuple(dict.fromkeys(graph.links))), calls)


def read_tool_file(path: Path) -> dict[str, ToolSpec]:
    """Read the tools of a `tool_desc.json`. Raises: RegistryError."""
    return read_tools(path)


def graph_of(plan: Plan) -> PlanGraph:
    """Build the graph of a plan: tools in order, links from references and orderings.

    A plan with neither references nor orderings counts as independent calls.
    """
    nodes = tuple(step.tool for step in plan.steps)
    links = [(nodes[source], step.tool) for step in plan.steps for source in sorted(step.needs())]
    return PlanGraph(nodes, tuple(links))


# ── Splits ────────────────────────────────────────────────────────────────────────────────────────────────


def random_split(n: int, n_held: int, seed: int) -> tuple[list[int], list[int]]:
    """Split rows at random, by `seed`, into those kept and those held out."""
    order = np.random.default_rng(seed).permutation(n)
    return sorted(int(i) for i in order[n_held:]), sorted(int(i) for i in order[:n_held])


def composition_split(data: PlanData, n_held: int, seed: int, *, min_uses: int = 5) -> tuple[list[int], list[int]]:
    """Split rows into those kept and those held out for new combinations of tools.

    A held-out row's tool sequence occurs nowhere else, and each of its tools still occurs `min_uses` times in the kept
    rows.
    """
    sequences = [tuple(step.tool for step in d.plan.steps) for d in data.demonstrations]
    n_of = Counter(sequences)
    uses = Counter(tool for sequence in sequences for tool in sequence)
    held: list[int] = []
    for row in np.random.default_rng(seed).permutation(len(sequences)):
        sequence = sequences[row]
        if len(held) < n_held and n_of[sequence] == 1 and all(uses[tool] > min_uses for tool in sequence):
            held.append(int(row))
            uses.subtract(sequence)
    out = set(held)
    return [row for row in range(len(sequences)) if row not in out], sorted(held)


def tool_split(
    data: PlanData, n_tools: int, seed: int, *, min_uses: int = 1
) -> tuple[list[int], list[int], frozenset[str]]:
    """Split rows by `n_tools` tools drawn from those used: rows without any of them, rows with one, and the tools."""
    uses = Counter(step.tool for d in data.demonstrations for step in d.plan.steps)
    able = sorted(tool for tool, n in uses.items() if n >= min_uses)
    chosen = frozenset(str(t) for t in np.random.default_rng(seed).permutation(able)[:n_tools])
    touched = [any(step.tool in chosen for step in d.plan.steps) for d in data.demonstrations]
    return [r for r, t in enumerate(touched) if not t], [r for r, t in enumerate(touched) if t], chosen


def domain_rounds(data: PlanData, n_rounds: int) -> list[list[int]]:
    """Divide rows into `n_rounds` rounds of about equal size, ordered by the domain of the plan's first tool."""

    def domain(row: int) -> tuple[str, int]:
        steps = data.demonstrations[row].plan.steps
        return (data.tools[steps[0].tool].domain if steps else "", row)

    order = sorted(range(len(data.demonstrations)), key=domain)
    return [[int(row) for row in part] for part in np.array_split(np.array(order), n_rounds)]
