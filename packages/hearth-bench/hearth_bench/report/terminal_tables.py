"""Format result documents for a terminal: functions from documents to lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_SHOWN = ("node_f1", "link_f1", "accuracy", "exact")
_NO = "–"


def planning_lines(document: Mapping[str, Any]) -> list[str]:
    """Format a planning result: the student between its floors and its oracle, then the other figures."""
    d = document
    heads = ["", "node F1", "link F1", "accuracy", "exact"]
    rows = [
        [name, *(_number(d.get(f"{prefix}{key}")) for key in _SHOWN)]
        for name, prefix in (
            ("floor: the plan taught most", "floor_"),
            ("floor: the nearest one copied", "floor_copy_"),
            (str(d["method"]) + (" with tier two" if d["tier_two"] else ""), ""),
            ("oracle: the best of the first six", "oracle_"),
        )
    ]
    lines = [
        f"{d['test']}: {d['n']:,} requests, {d['n_tools']:,} tools ({d['n_new_tools']:,} never taught), "
        f"learnt from {d['n_train']:,} demonstrations",
        "",
        *_aligned([heads, *rows]),
        "",
        _line("by steps", [
            (f"{name.replace('_and_more', '+')}: {_number(d[f'accuracy_steps_{name}'])} of {d[f'n_steps_{name}']:.0f}")
            for name in ("1", "2", "3", "4_and_more") if f"accuracy_steps_{name}" in d
        ]),
        _line("by novelty", [
            f"{name} sequences: {_number(d[f'accuracy_{name}_sequences'])} of {d[f'n_{name}_sequences']:.0f}"
            for name in ("seen", "new") if f"accuracy_{name}_sequences" in d
        ]),
        _line("confidence", [
            f"ECE {_number(d['ece'])}",
            *(f"surest {share} %: {_number(d[f'accuracy_at_{share}'])}" for share in (50, 80, 100)),
        ]),
        _line("invented", [f"tools {_number(d['node_hallucination'])}", f"links {_number(d['link_hallucination'])}"]),
    ]  # fmt: skip
    if d.get("arg_name_f1") is not None:
        lines.append(_arguments("arguments", d, ""))
        lines.append(_arguments("tools given", d, "_given_tools"))
    latency = f"p50 {d['latency_p50_ms']} ms, p99 {d['latency_p99_ms']} ms" if d.get("latency_p50_ms") else _NO
    lines += [
        _line("one plan", [latency]),
        _line("cost", [f"{d['wall_s']:.0f} s, {d['cpu_s']:.0f} CPU-seconds", f"learning alone {d['learn_cpu_s']} s"]),
    ]
    if d["tier_two_left_out"]:
        lines.append(_line("left out", [f"tier two: {d['tier_two_left_out']}"]))
    return lines


def privacy_lines(document: Mapping[str, Any]) -> list[str]:
    """Format a masking result: a row for each set of finders, then each type."""
    d = document
    keys = ("masked_share", "structured_recall", "structured_precision", "char_precision", "documents_fully_masked")
    heads = ["", "masked", "ids recall", "ids precision", "char precision", "texts whole", "chars/s"]
    rows = [
        [name, *(_number(row[key]) for key in keys), f"{row['chars_per_s']:,}" if row["chars_per_s"] else _NO]
        for name, row in d["rows"].items()
    ]
    types = [["", "n", "masked", "as its kind"]]
    types += [[name, str(t["n"]), _number(t["recall"]), _number(t["typed_recall"])] for name, t in d["by_type"].items()]
    lines = [
        f"{d['data']}: {d['n_texts']:,} texts, {d['n_spans']:,} labelled stretches",
        "",
        *_aligned([heads, *rows]),
        "",
        *_aligned(types),
        "",
        _line("way back", [f"{_number(d['roundtrip_exact'])} exact, {d['n_fuzzed']:,} fuzzed texts among them"]),
        _line("leaks", [f"{_number(d['leak_rate'])} of {d['n_texts_with_known']} texts that name what is known"]),
    ]
    for name, half in d["halves"].items():
        lines.append(_line(name.replace("_", " "), [f"{key} {_number(half[key])}" for key in keys[:4]]))
    for name, row in d.get("privacylens", {}).items():
        lines.append(_line("PrivacyLens", [f"{name}: {_number(row['leaked'])} of {row['strings']} strings leave"]))
    return lines


def _arguments(label: str, d: Mapping[str, Any], ending: str) -> str:
    parts = [
        f"names {_number(d[f'arg_name_f1{ending}'])}",
        f"values {_number(d[f'arg_value_f1{ending}'])}",
        f"optional names {_number(d[f'arg_name_f1_optional{ending}'])}",
        f"yes/no {_number(d[f'arg_value_f1_boolean{ending}'])}",
        f"references {_number(d[f'arg_value_f1_reference{ending}'])}",
        f"calls exact {_number(d[f'call_exact{ending}'])}",
    ]
    if d.get(f"link_f1{ending}") is not None and ending:
        parts.append(f"links {_number(d[f'link_f1{ending}'])}")
    return _line(label, parts)


def continual_lines(document: Mapping[str, Any]) -> list[str]:
    """Format a stream's result: one row per method."""
    d = document
    heads = ["", "ACC", "BWT", "FWT", "forgetting", "joint", "final node F1", "final accuracy", "CPU s a round"]
    rows = []
    for name, keys in d["methods"].items():
        spent = keys["round_cpu_s"]
        signed = [
            _number(keys[key], sign=key in ("bwt", "fwt", "forgetting")) for key in ("acc", "bwt", "fwt", "forgetting")
        ]
        joint = _number(keys.get("joint_acc"))
        final = [_number(keys["final_node_f1"]), _number(keys["final_accuracy"])]
        rows.append([name, *signed, joint, *final, f"{sum(spent) / len(spent):.2f}"])
    lines = [
        f"{d['train']}: {d['n_train']:,} demonstrations in {d['n_rounds']} rounds, order {d['order']}; "
        f"{d['n']:,} requests of {d['test']}",
        "",
        *_aligned([heads, *rows]),
        "",
        _line("cost", [f"{d['wall_s']:.0f} s, {d['cpu_s']:.0f} CPU-seconds"]),
    ]
    return lines + [_line("left out", [f"{name}: {reason}"]) for name, reason in d["left_out"].items()]


_INJECTION = ("utility_no_ask", "utility_one_ask", "approvals_per_task", "asr_worst", "any_write")


def injection_lines(document: Mapping[str, Any]) -> list[str]:
    """Format an injection result: tasks and attacks past the guard, between its bounds, then suite by suite."""
    d = document
    heads = ["", "unasked", "≤ 1 question", "questions a task", "attacks succeed", "attacks write"]
    rows = [
        [name, *(_share(d[f"{prefix}{key}"], key) for key in _INJECTION)]
        for name, prefix in (
            ("floor: every write asks", "floor_"),
            ("warrant: the request's words", ""),
            ("warrant: a plan made before reading", "plan_"),
            ("no guard", "none_"),
        )
        if f"{prefix}asr_worst" in d
    ]
    if len(d["by_suite"]) > 1:
        rows += [[f"  {name}", *(_share(keys[key], key) for key in _INJECTION)] for name, keys in d["by_suite"].items()]
    lines = [
        f"{d['data']}: {d['n_tasks']} tasks, {d['n_pairs']} pairs of a task and an attack",
        "",
        *_aligned([heads, *rows]),
        "",
    ]
    if d.get("left_out"):
        reasons = [f"{name} ({reason})" for name, reason in d["left_out"].items()]
        lines.append(_line("left out", [f"{d['n_pairs_left_out']} pairs: {'; '.join(reasons)}"]))
    return [*lines, _line("cost", [f"{d['wall_s']:.0f} s, {d['cpu_s']:.0f} CPU-seconds"])]


def _share(value: float, key: str) -> str:
    return f"{value:.2f}" if key == "approvals_per_task" else f"{100 * value:.1f} %"


def _number(value: float | None, *, sign: bool = False) -> str:
    if value is None:
        return _NO
    return f"{value:+.3f}" if sign else f"{value:.3f}"


def _line(label: str, parts: Sequence[str]) -> str:
    return f"{label:<14}" + " · ".join(parts)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Align columns to their widest cell; the first to the left, numbers to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]).rstrip()
        for row in rows
    ]
