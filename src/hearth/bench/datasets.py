"""Data sets in the plan format: JSONL of requests with plans, a tool file, optionally a graph of allowed links.

Read through `plan_format`, so a benchmark sees what `hearth learn` sees. Nothing is shipped: paths are the caller's.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hearth.bench.metrics import Link, PlanGraph
from hearth.errors import RequestError
from hearth.plan_format import read_demonstrations, read_tools
from hearth.types import Demonstration, Plan, ToolSpec


@dataclass(frozen=True, slots=True)
class PlanData:
    """Demonstrations with the tools they may use."""

    demonstrations: tuple[Demonstration, ...]
    tools: Mapping[str, ToolSpec]
    sha256: str
    """Of the file of demonstrations."""

    def subset(self, rows: Sequence[int]) -> PlanData:
        return PlanData(tuple(self.demonstrations[int(row)] for row in rows), self.tools, self.sha256)


def read_plans(path: Path, tools: Mapping[str, ToolSpec]) -> PlanData:
    """Read a JSONL file of demonstrations.

    Raises:
        RequestError: Unreadable, a malformed line, an empty file, an id twice, or a plan with an unknown tool; names
            the file and the place.
    """
    found = tuple(read_demonstrations(path))
    if not found:
        raise RequestError(f"{path}: holds no demonstration")
    seen: set[str] = set()
    for demonstration in found:
        if demonstration.id in seen:
            raise RequestError(f"{path}: the id {demonstration.id!r} is used twice; ids must differ")
        seen.add(demonstration.id)
        unknown = [step.tool for step in demonstration.plan.steps if step.tool not in tools]
        if unknown:
            raise RequestError(
                f"{path}: demonstration {demonstration.id!r} uses the unknown tool {unknown[0]!r}; "
                "add it to the tool file"
            )
    return PlanData(found, tools, hashlib.sha256(path.read_bytes()).hexdigest())


def read_tool_file(path: Path) -> dict[str, ToolSpec]:
    """Tools of a `tool_desc.json`. Raises: RegistryError."""
    return read_tools(path)


def read_graph(path: Path) -> frozenset[Link]:
    """Links of a `graph_desc.json`.

    Raises:
        RequestError: Unreadable, or not of that form.
    """
    try:
        links = json.loads(path.read_bytes())["links"]
        return frozenset((str(link["source"]), str(link["target"])) for link in links)
    except OSError as error:
        raise RequestError(f"cannot read the graph {str(path)!r}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise RequestError(f"{path}: {error!r}; expected {{'links': [{{'source', 'target'}}]}}") from None


def graph_of(plan: Plan) -> PlanGraph:
    """Tools in order and links, from references and orderings. A plan without either is taken as independent calls."""
    nodes = tuple(step.tool for step in plan.steps)
    links = [(nodes[source], step.tool) for step in plan.steps for source in sorted(step.needs())]
    return PlanGraph(nodes, tuple(links))


# ── Splits ────────────────────────────────────────────────────────────────────────────────────────────────


def random_split(n: int, n_held: int, seed: int) -> tuple[list[int], list[int]]:
    """Rows kept and rows held out, by `seed`."""
    order = np.random.default_rng(seed).permutation(n)
    return sorted(int(i) for i in order[n_held:]), sorted(int(i) for i in order[:n_held])


def composition_split(data: PlanData, n_held: int, seed: int, *, min_uses: int = 5) -> tuple[list[int], list[int]]:
    """Rows kept and rows held out, whose tool sequence occurs nowhere else while each of their tools still occurs
    `min_uses` times in what is kept."""
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
    """Rows without any of `n_tools` tools drawn among those used, rows with one, and those tools."""
    uses = Counter(step.tool for d in data.demonstrations for step in d.plan.steps)
    able = sorted(tool for tool, n in uses.items() if n >= min_uses)
    chosen = frozenset(str(t) for t in np.random.default_rng(seed).permutation(able)[:n_tools])
    touched = [any(step.tool in chosen for step in d.plan.steps) for d in data.demonstrations]
    return [r for r, t in enumerate(touched) if not t], [r for r, t in enumerate(touched) if t], chosen


def domain_rounds(data: PlanData, n_rounds: int) -> list[list[int]]:
    """Rows in `n_rounds` rounds of about equal size, ordered by the domain of the plan's first tool."""

    def domain(row: int) -> tuple[str, int]:
        steps = data.demonstrations[row].plan.steps
        return (data.tools[steps[0].tool].domain if steps else "", row)

    order = sorted(range(len(data.demonstrations)), key=domain)
    return [[int(row) for row in part] for part in np.array_split(np.array(order), n_rounds)]
