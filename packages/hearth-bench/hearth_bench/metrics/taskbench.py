"""Compute TaskBench's measures from its own files: a line of gold, a line of prediction, the tool file.

The counting depends on the domain, and not as one would guess. In `dailylife` links and arguments are taken as written.
In `huggingface` and `multimedia`, whose tools take resources, the written links are ignored: links are made from
`<node-k>` arguments, an argument is named by the kind of its content (`text image audio video`, or the output type of
the tool it refers to) and a reference's value is that tool's name.

Source:
    TaskBench `evaluate.py` (Shen et al. 2023, https://arxiv.org/abs/2311.18760), numbers matched on fuzzed plans.

Not covered: an argument of such a domain that is no text, or refers to a step that does not exist, is left out. The
source instead repeats the argument it read before, which may belong to another sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hearth.errors import PlanError
from hearth_bench.metrics.plan_metrics import (
    PlanGraph,
    pooled_set_f1,
    taskbench_edit_distance,
    taskbench_link_f1,
    taskbench_node_f1,
    taskbench_node_macro_f1,
)
from hearth_bench.metrics.step_metrics import step_scores

_ENDINGS = (
    ("image", ("jpg", "png", "jpeg", "gif", "bmp", "tiff", "svg", "ico")),
    ("audio", ("mp3", "wav", "wma", "ogg", "aac", "flac", "aiff", "au")),
    ("video", ("mp4", "avi", "mov", "flv", "wmv", "mkv", "webm", "m4v", "mpg", "mpeg")),
)
_STEP_NAMES = ("task", "step", "id", "step_name", "description")
"""Keys under which models wrote a step's text, in the order in which the source looks."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Items of one plan that the source counts."""

    graph: PlanGraph
    argument_names: tuple[str, ...]
    """Texts `tool-name`."""
    argument_values: tuple[str, ...]
    """Texts `tool-name-value`."""
    steps: tuple[str, ...]


def count_plan(data: Mapping[str, Any], output_types: Mapping[str, str] | None = None) -> Counted:
    """Read one line, gold or predicted (`result`).

    Args:
        output_types: Output type by tool if tools take resources; None if they take named parameters.
    Raises:
        PlanError: Nodes are not a list of objects with `task`.
    """
    plan = data["result"] if isinstance(data.get("result"), Mapping) else data
    nodes = plan.get("task_nodes")
    if not isinstance(nodes, list) or not all(isinstance(n, Mapping) and isinstance(n.get("task"), str) for n in nodes):
        raise PlanError(f"task_nodes is {_short(nodes)}; expected a list of {{'task': name, 'arguments': …}}")
    names = [str(node["task"]) for node in nodes]
    if output_types is None:
        written = plan.get("task_links") or []
        links = [(str(link["source"]), str(link["target"])) for link in written if isinstance(link, Mapping)]
        listed = [node.get("arguments") or [] for node in nodes]
        pairs = [
            [(str(a.get("name")), str(a.get("value"))) for a in arguments if isinstance(a, Mapping)]
            for arguments in listed
        ]
    else:
        names = [name.replace("_", " ") for name in names]
        links, pairs = _resources(nodes, names, output_types)
    return Counted(
        PlanGraph(tuple(names), tuple(links)),
        tuple(f"{tool}-{name}" for tool, given in zip(names, pairs) for name, _ in given),
        tuple(f"{tool}-{name}-{value}" for tool, given in zip(names, pairs) for name, value in given),
        _steps(plan.get("task_steps") or ()),
    )


def output_types(tool_nodes: Sequence[Mapping[str, Any]]) -> dict[str, str] | None:
    """Return the output type by tool from a tool file's nodes; None if the tools take named parameters."""
    if not all("output-type" in node for node in tool_nodes) or any("parameters" in node for node in tool_nodes):
        return None
    return {str(node["id"]): str(next(iter(node["output-type"]), "none")) for node in tool_nodes}


def taskbench_scores(
    predicted: Sequence[Counted], gold: Sequence[Counted], tools: Sequence[str]
) -> dict[str, float | None]:
    """Compute all scores of `evaluate.py` except BERTScore; None where there is nothing to count.

    Returns:
        `rouge1 rouge2 rougeL node_micro_f1 node_macro_f1 link_f1 edit_distance argument_name_f1 argument_value_f1`.
    """
    ours, theirs = [p.graph for p in predicted], [g.graph for g in gold]
    known = frozenset(tools)
    return {
        **step_scores([p.steps for p in predicted], [g.steps for g in gold]),
        "node_micro_f1": taskbench_node_f1(ours, theirs, known),
        "node_macro_f1": taskbench_node_macro_f1(ours, theirs, tools),
        "link_f1": taskbench_link_f1(ours, theirs),
        "edit_distance": taskbench_edit_distance(ours, theirs, known),
        "argument_name_f1": pooled_set_f1([p.argument_names for p in predicted], [g.argument_names for g in gold]),
        "argument_value_f1": pooled_set_f1([p.argument_values for p in predicted], [g.argument_values for g in gold]),
    }


def content_kind(value: str) -> str:
    """Return `image`, `audio`, `video` or `text`, by the first known file ending anywhere in the text."""
    bare = value.strip("'")
    return next((kind for kind, endings in _ENDINGS if any(f".{e}" in bare for e in endings)), "text")


def _resources(
    nodes: Sequence[Mapping[str, Any]], names: Sequence[str], output_types: Mapping[str, str]
) -> tuple[list[tuple[str, str]], list[list[tuple[str, str]]]]:
    links: list[tuple[str, str]] = []
    pairs: list[list[tuple[str, str]]] = []
    for index, node in enumerate(nodes):
        given: list[tuple[str, str]] = []
        for argument in node.get("arguments") or ():
            if isinstance(argument, Mapping):
                argument = next(iter(argument.values()), None)
            if isinstance(argument, list) and all(isinstance(part, str) for part in argument):
                argument = " ".join(argument)
            if not isinstance(argument, str):
                continue
            if "<node-" not in argument:
                given.append((content_kind(argument), argument))
                continue
            number = argument.partition("<node-")[2].partition(">")[0]
            step = int(number) if number.isdecimal() else len(names)
            if step == index or step >= len(names):
                continue
            # As the source does, underscores are replaced in a link's source and not in its target.
            links.append((names[step], str(node["task"])))
            given.append((output_types.get(names[step], "other"), names[step]))
        pairs.append(given)
    return links, pairs


def _steps(written: Any) -> tuple[str, ...]:
    if isinstance(written, str) or not isinstance(written, Sequence):
        return (str(written),)
    if not written or isinstance(written[0], str):
        return tuple(str(step) for step in written)
    key = next((k for k in _STEP_NAMES if isinstance(written[0], Mapping) and k in written[0]), None)
    if key is None or any(not isinstance(s, Mapping) or not isinstance(s.get(key), str) for s in written):
        return (str(written),)
    return tuple(step[key] for step in written)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
