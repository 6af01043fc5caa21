"""Write `docs/explanation/benchmark-report.md`: what public benchmarks measure, and where Hearth stands on each.

python -m hearth_bench.measure.benchmark_report [--check]

What a benchmark measures is said here by hand, from its paper and its files; every number of Hearth's is read from a
result file. A benchmark that was not run has a dash and the reason.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hearth_bench.measure.result_file import RESULTS, ROOT
from hearth_bench.measure.scorecard import number, read_result, value_at

PAGE = ROOT / "docs" / "explanation" / "benchmark-report.md"
ASPECTS = (
    ("which tools", "tools"),
    ("order and links", "links"),
    ("arguments", "arguments"),
    ("what it does", "outcome"),
    ("when to refuse or ask", "refusal"),
    ("conversation", "dialogue"),
    ("learning", "learning"),
    ("attacks", "attacks"),
    ("people's own words", "words"),
)
"""What a benchmark of assistants may measure: heading, and its name in `Benchmark.sees`."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of Hearth's, between a floor and an oracle where these were measured."""

    label: str
    place: str
    floor: str = ""
    oracle: str = ""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One benchmark: what it is, what it sees, and where Hearth's numbers on it stand."""

    name: str
    source: str
    asks: str
    sees: tuple[str, ...]
    file: str = ""
    """Result file; empty: not run."""
    figures: tuple[Figure, ...] = ()
    note: str = ""
    """What the numbers are of, or why there are none."""


BENCHMARKS = (
    Benchmark(
        "TaskBench",
        "Shen et al. 2023, [arXiv:2311.18760](https://arxiv.org/abs/2311.18760)",
        "requests that a language model wrote from tool graphs; steps, tools, links and parameters are compared",
        ("tools", "links", "arguments"),
        note="Its right plans are not among the data here, only requests and tool graphs: its measures (`taskbench_*`) "
        "are kept in every result, its score cannot be.",
    ),
    Benchmark(
        "UltraTool",
        "Huang et al. 2024, [arXiv:2401.17167](https://arxiv.org/abs/2401.17167), in the form of GNN4TaskPlan",
        "plans for what users want in several steps; here chains of tools without parameters",
        ("tools", "links", "words"),
        "bench_planning_ultratool",
        (
            Figure("right tools (Node-F1)", "node_f1", "floor_copy_node_f1", "oracle_node_f1"),
            Figure("right links (Link-F1)", "link_f1", "floor_copy_link_f1", "oracle_link_f1"),
            Figure("all of a plan right", "exact", "floor_copy_exact", "oracle_exact"),
        ),
        "Development side of 300; learnt from 2,727 others. The official test ids are elsewhere.",
    ),
    Benchmark(
        "BFCL",
        "Berkeley Function-Calling Leaderboard v4, single-turn",
        "one request, its own functions; whole calls against all accepted values; some requests no function serves",
        ("tools", "arguments", "refusal", "words"),
        "bench_planning_bfcl",
        (
            Figure("right tools (Node-F1)", "node_f1", "floor_copy_node_f1", "oracle_node_f1"),
            Figure("all calls exact", "calls_exact"),
            Figure("all calls exact, tools given", "calls_exact_given_tools"),
        ),
        "A held fifth of the development side: functions that no training saw.",
    ),
    Benchmark(
        "NESTFUL",
        "Basu et al. 2024, [arXiv:2409.03797](https://arxiv.org/abs/2409.03797)",
        "nested calls whose results are the next ones' arguments; executable",
        ("tools", "links", "arguments"),
        "bench_planning_nestful",
        (
            Figure("right tools (Node-F1)", "node_f1", "floor_copy_node_f1", "oracle_node_f1"),
            Figure("all of a plan's tools and links right", "exact", "floor_exact", "oracle_exact"),
            Figure("right values", "arg_value_f1"),
        ),
        "29 of the development side; the calls are compared, not executed.",
    ),
    Benchmark(
        "NesTools",
        "Han et al. 2024, [arXiv:2410.11805](https://arxiv.org/abs/2410.11805)",
        "nested calls with references between them; each sample lists its tools, which here are the plan",
        ("links", "arguments"),
        "bench_planning_nestools",
        (Figure("right links (Link-F1)", "link_f1", "floor_link_f1"), Figure("right values", "arg_value_f1")),
        "100 of the development side. Which tools is given away by the list: 1.0 there says nothing.",
    ),
    Benchmark(
        "Schema-Guided Dialogue",
        "Rastogi et al. 2020, [arXiv:1909.05855](https://arxiv.org/abs/1909.05855), converted",
        "the conversation so far, and the next call of a service",
        ("tools", "arguments", "dialogue", "words"),
        "bench_planning_sgd",
        (
            Figure("right call (tool)", "node_f1", "floor_copy_node_f1", "oracle_node_f1"),
            Figure("call exact", "call_exact"),
            Figure("right values", "arg_value_f1"),
        ),
        "600 calls of services that the training half does not have.",
    ),
    Benchmark(
        "WorkBench",
        "Styles et al. 2024, [arXiv:2405.00823](https://arxiv.org/abs/2405.00823)",
        "office tasks in a sandbox of five tables, judged by what the tables hold afterwards",
        ("tools", "arguments", "outcome"),
        note="Not run: its data are here, its five tables are not yet tools of Hearth's. The same kind of judgement "
        "(files afterwards) is made on own data: natural requests and Q2A.",
    ),
    Benchmark(
        "ToolTalk",
        "Farn and Shin 2023, [arXiv:2311.10775](https://arxiv.org/abs/2311.10775)",
        "conversations with a simulated user over stateful tools; calls that should not have been made count against",
        ("tools", "arguments", "outcome", "dialogue"),
        note="Not run: 28 easy conversations are here, without the simulation of the others.",
    ),
    Benchmark(
        "AgentDojo",
        "Debenedetti et al. 2024, [arXiv:2406.13352](https://arxiv.org/abs/2406.13352)",
        "tasks over data in which strangers have put instructions; usefulness and attacks that succeed",
        ("outcome", "attacks"),
        "bench_injection_agentdojo",
        (
            Figure("tasks done, nobody asked", "utility_no_ask", "floor_utility_no_ask"),
            Figure("tasks done, one question", "utility_one_ask"),
            Figure("attacks that succeed, worst", "asr_worst", "none_asr_worst"),
        ),
        "Plans are replayed past the guard: the planner is not measured, and a hijacked one is assumed. Without a "
        "guard every attack succeeds (the floor of the last row).",
    ),
    Benchmark(
        "LoCoMo",
        "Maharana et al. 2024, [arXiv:2402.17753](https://arxiv.org/abs/2402.17753)",
        "questions over conversations of many sessions",
        ("dialogue", "words"),
        "bench_recall",
        (
            Figure("evidence among the first ten", "recall_at_10", "floor_words_recall_at_10"),
            Figure("answers (F1)", "answer_f1", "floor_file_search_answer_f1"),
        ),
        "Four of the ten conversations; its key has known errors.",
    ),
    Benchmark(
        "Q2A",
        "written for this project ([card](../../packages/hearth-bench/hearth_bench/data/q2a/README.md))",
        "what six invented owners ask over eight weeks, with conventions of their own; plans run in each owner's home",
        ("tools", "links", "arguments", "outcome", "refusal", "dialogue", "learning"),
        "bench_q2a",
        (
            Figure("right, on the first day", "untaught.right"),
            Figure("right, taught by the owner", "personal.right", "untaught.right"),
            Figure("tools right, taught by the owner", "personal.tools_right", "untaught.tools_right"),
        ),
        "One hand wrote the instructions and the plans.",
    ),
    Benchmark(
        "Q2A, few-shot",
        "the same instructions, the first baseline of a language model: no, random or the nearest four examples",
        "the plan of a request, from examples of the owner's stream",
        ("tools", "links", "arguments", "outcome"),
        "few_shot",
        (
            Figure("right tools, random examples", "results/choices/random/node_f1", "results/choices/none/node_f1"),
            Figure("right tools, nearest examples", "results/choices/nearest/node_f1", "results/choices/none/node_f1"),
            Figure("executed as right, nearest", "results/choices/nearest/executed", "results/choices/none/executed"),
        ),
        "Of the scripted endpoint, which repeats the last example it is shown: what examples give without a model. The "
        "floor is no example. No language model was measured here.",
    ),
)
HEAD = """<!-- Written by `python -m hearth_bench.measure.benchmark_report` from packages/hearth-bench/results; do not
edit. -->

# Benchmarks of assistants that plan, and where Hearth stands

The public benchmarks each see a part of what an assistant at home must do. The first table says which; none sees
learning from one owner, and only those with an outcome notice a plan that reads well and does the wrong thing. The
second part gives Hearth's numbers on each, beside a floor (the nearest plan copied unchanged, or what the row
says) and an oracle (the best candidate that was considered). Numbers are of the development sides: the official
tests are kept for others to run. No result of other systems is repeated here, as none was measured under the same
conditions.
"""


def main(arguments: Sequence[str]) -> int:
    text = report(RESULTS)
    if "--check" in arguments:
        is_same = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
        print(f"{PAGE.relative_to(ROOT)} is {'up to date' if is_same else 'not of these results'}")
        return 0 if is_same else 1
    PAGE.write_text(text, encoding="utf-8")
    print(f"written to {PAGE.relative_to(ROOT)}")
    return 0


def report(folder: Path, benchmarks: Sequence[Benchmark] = BENCHMARKS) -> str:
    """Build the page from the result files of a folder. Raises: ValueError: A figure is not in its file."""
    lines = [HEAD, "## What each measures", ""]
    lines.append("| | " + " | ".join(heading for heading, _ in ASPECTS) + " |")
    lines.append("|---|" + ":-:|" * len(ASPECTS))
    for one in benchmarks:
        marks = " | ".join("●" if name in one.sees else "" for _, name in ASPECTS)
        lines.append(f"| {one.name} | {marks} |")
    lines += ["", "## Where Hearth stands", ""]
    for one in benchmarks:
        lines += _stands(folder, one)
    lines += [_LIMITS]
    return "\n".join(lines)


def _stands(folder: Path, one: Benchmark) -> list[str]:
    lines = [f"### {one.name}", "", f"{one.source}: {one.asks}."]
    document = read_result(folder / f"{one.file}.json") if one.file else None
    if document is None:
        return [*lines, "", one.note if not one.file else f"Not measured yet. {one.note}", ""]
    lines += ["", "| | floor | Hearth | oracle |", "|---|--:|--:|--:|"]
    for figure in one.figures:
        cells = (figure.floor, figure.place, figure.oracle)
        lines.append(f"| {figure.label} | {' | '.join(_cell(document, one, place) for place in cells)} |")
    at, commit = str(document.get("at", "no date"))[:10], document.get("commit") or "unknown"
    return [*lines, "", f"{one.note} <sub>{at}, commit {commit}, `results/{one.file}.json`</sub>", ""]


def _cell(document: Mapping[str, Any], one: Benchmark, place: str) -> str:
    if not place:
        return "–"
    value = value_at(document, place)
    if value is None:
        raise ValueError(f"results/{one.file}.json has no {place!r}; measure it again, or mend BENCHMARKS")
    return number(value)


_LIMITS = """## What this does not show

* A benchmark in another form than its own (UltraTool as chains, SGD and NESTFUL as single calls) is easier or
  harder than the original.
* Hearth's planner on the device is no language model; numbers of language models under the same conditions are
  still to be measured (`python -m hearth_bench.measure.learning.few_shot --base-url … --model …` takes any
  endpoint).
* DAHLIA, which the activity expert can be trained on, was never read: only a sample drawn in its layout
  ([limits](limits.md)).
"""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
