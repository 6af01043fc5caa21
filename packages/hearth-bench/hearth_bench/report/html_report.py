"""Write a report of runs: a leaderboard (CSV, Markdown) and one HTML page with pictures, from files alone.

The page loads nothing: no script, style, font or picture from anywhere, and its content security policy allows none, so
that words of a request shown in it stay words.

Covered: runs without samples, without numbers or with failed cases; words of the data are escaped in both formats.
Not covered: of very many failures the first are shown; `hearth bench compare --json` names all.
"""

from __future__ import annotations

import base64
import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from hearth.atomic_files import write_bytes
from hearth.errors import RequestError
from hearth_bench.report.report_figures import (
    NOTHING,
    OTHERS,
    Point,
    calls_png,
    confusion_png,
    learning_png,
    matrix_png,
)
from hearth_bench.report.run_comparison import numbers_of
from hearth_bench.report.runs import CaseRun, Judged, Run
from hearth_bench.run_record import origin

MAX_FAILURES = 40
"""Most failures shown of a case, the furthest from right first."""
_MAX_SHOWN = 3
"""Most cases of a run whose tools and failures are shown, the best first."""
_MAX_MATRICES = 4
_MAX_TOOLS = 14
_MAX_TEXT = 220
_NEVER_COLUMNS = ("peak_rss_bytes",)
_MEANS = (
    ("right", "right", "right"),
    ("to the cloud", "cloud", "cloud_calls"),
    ("tokens", "tokens", "tokens"),
    ("bytes_out", "bytes_out", "bytes_out"),
)
"""Columns that are means over samples, shown if the job has no metric for them."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the leaderboard."""

    run: str
    rank: int
    name: str
    kind: str
    """Paradigm; for a suite `measured`, `floor` or `oracle`."""
    numbers: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture with its title and note."""

    file: str
    title: str
    note: str
    png: bytes

    @property
    def data_url(self) -> str:
        return "data:image/png;base64," + base64.b64encode(self.png).decode()


@dataclass(frozen=True, slots=True)
class Failures:
    """Failures of a case, for a reader."""

    case: str
    n: int
    n_wrong: int
    shown: tuple[tuple[str, str, str], ...]
    """Request, right plan and predicted plan."""


@dataclass(frozen=True, slots=True)
class Section:
    """One run in the report."""

    title: str
    facts: Mapping[str, str]
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    failed: tuple[tuple[str, str], ...]
    """Failed cases with their errors."""
    faults: tuple[str, ...]
    absent: tuple[str, ...]
    """Values that the machine could not measure, with the reasons."""
    pictures: tuple[Picture, ...]
    failures: tuple[Failures, ...]


def write_report(runs: Sequence[Run], folder: Path) -> list[Path]:
    """Write `leaderboard.csv`, `report.md`, `report.html` and `pictures/` into a folder, creating it.

    Raises:
        RequestError: The folder cannot be made, or there is nothing to report. StoreError: A file cannot be written.
    """
    sections = [section_of(run, number) for number, run in enumerate(runs, 1)]
    if not any(s.rows or s.failed for s in sections):
        raise RequestError(f"{', '.join(str(run.path) for run in runs)}: nothing to report: no case and no number")
    try:
        (folder / "pictures").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RequestError(f"cannot make {str(folder)!r}: {error.strerror}; choose another --out") from None
    for section in sections:
        for picture in section.pictures:
            write_bytes(folder / "pictures" / picture.file, picture.png)
    made = {
        "leaderboard.csv": leaderboard_csv(sections),
        "report.md": markdown(sections),
        "report.html": html(sections),
    }
    for name, text in made.items():
        write_bytes(folder / name, text.encode())
    return [folder / name for name in made]


def section_of(run: Run, number: int = 1) -> Section:
    """Collect everything that is shown of one run."""
    if run.document is not None:
        rows = suite_rows(run.name, run.document)
        pictures = _suite_pictures(run.document, number)
    else:
        rows = [Row(run.name, rank, case.label, case.paradigm, _numbers(case)) for rank, case in enumerate(run.done, 1)]
        pictures = _case_pictures(run.done, number)
    facts = {name: str(value) for name, value in run.origin.items() if value not in ("", None)}
    return Section(
        run.name,
        facts,
        tuple(dict.fromkeys(name for row in rows for name in row.numbers if name not in _NEVER_COLUMNS)),
        tuple(rows),
        tuple((case.label, case.error) for case in run.cases if case.error),
        tuple(f"{case.label}: {fault}" for case in run.cases for fault in (*case.faults, *_unread(case))),
        tuple(dict.fromkeys(f"{k}: {why}" for case in run.cases for k, why in case.absent.items())) + _absent(run),
        tuple(pictures),
        tuple(failures_of(case) for case in run.done[:_MAX_SHOWN] if case.samples),
    )


def _absent(run: Run) -> tuple[str, ...]:
    """Return what a suite could not measure, with the reason."""
    reason = (run.document or {}).get("energy_absent")
    return (f"energy_j: {reason}",) if reason else ()


def _unread(case: CaseRun) -> list[str]:
    return [f"{case.n_unread} lines of its predictions are no samples and are left out"] if case.n_unread else []


def _numbers(case: CaseRun) -> dict[str, float | None]:
    counted = {"samples": float(len(case.samples))} if case.samples else {}
    means = {
        name: value
        for name, score, own in _MEANS
        if own not in case.metrics and (value := case.mean(score)) is not None
    }
    known = {k: case.continual[k] for k in ("acc", "bwt", "fwt", "forgetting") if k in case.continual}
    return {**case.metrics, **means, **known, **counted, **case.cost}


# ── Suites ────────────────────────────────────────────────────────────────────────────────────────────────


def suite_rows(run: str, document: Mapping[str, Any]) -> list[Row]:
    """Build rows from a suite's numbers between floor and oracle: those that have a bound, or else all top-level
    numbers.

    Three forms are read: `methods` or `rows` of named measurements; `WAY.measure`; `floor_… oracle_… none_…` beside a
    key.
    """
    for key in ("methods", "rows"):
        named = document.get(key)
        if isinstance(named, Mapping) and named and all(isinstance(value, Mapping) for value in named.values()):
            return [
                Row(run, k, name, _kind(name), {n: v for n, v in numbers_of(value).items() if "." not in n})
                for k, (name, value) in enumerate(named.items(), 1)
            ]
    flat = numbers_of({k: v for k, v in document.items() if k != "machine"})
    dotted = {
        name.partition(".")[2] for name in flat if name.startswith(("floor_", "oracle.")) and name.count(".") == 1
    }
    if dotted and "results" not in document:
        ways = dict.fromkeys(
            name.partition(".")[0] for name in flat if name.count(".") == 1 and name.split(".")[1] in dotted
        )
        table = {way: {m: flat[f"{way}.{m}"] for m in _measures(flat, way)} for way in ways}
    else:
        table = _bounded(flat)
    order = {"floor": 0, "measured": 1, "oracle": 2}
    named_rows = sorted(table.items(), key=lambda item: order[_kind(item[0])])
    return [Row(run, k, name or "measured", _kind(name), values) for k, (name, values) in enumerate(named_rows, 1)]


def _measures(flat: Mapping[str, float], way: str) -> list[str]:
    return [name.partition(".")[2] for name in flat if name.startswith(f"{way}.") and name.count(".") == 1]


def _bounded(flat: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Group the keys that have a bound into rows by prefix."""
    own = [name for name in flat if not name.startswith(("floor_", "oracle_", "none_"))]
    found: dict[str, dict[str, float]] = {"": {}}
    bounded: list[str] = []
    for name in flat:
        if name in own:
            continue
        key = max((one for one in own if name.endswith(f"_{one}")), key=len, default="")
        if key:
            found.setdefault(name.removesuffix(f"_{key}"), {})[key] = flat[name]
            bounded.append(key)
    chosen = [name for name in own if name in bounded] or [name for name in own if name not in ("seed", "n")]
    found[""] = {name: flat[name] for name in chosen}
    return {name: values for name, values in found.items() if values}


def _kind(name: str) -> str:
    return next((kind for kind in ("floor", "oracle") if name.startswith(kind)), "measured")


# ── Pictures ──────────────────────────────────────────────────────────────────────────────────────────────


def _suite_pictures(document: Mapping[str, Any], number: int) -> list[Picture]:
    methods = document.get("methods")
    parts: Mapping[str, Any] = methods if isinstance(methods, Mapping) else {}
    matrices = {name: value["r_matrix"] for name, value in parts.items() if _is_matrix(value.get("r_matrix"))}
    matrices |= {
        key.removesuffix("r_matrix").strip("._") or str(document.get("method", "measured")): value
        for key, value in document.items()
        if key.endswith("r_matrix") and _is_matrix(value)
    }
    curves = {name: seen_scores(rows) for name, rows in matrices.items() if name != "joint"}
    curves |= {name: value["seen_node_f1"] for name, value in parts.items() if value.get("seen_node_f1")}
    joint = parts.get("joint", {}).get("final_node_f1")
    levels = {"all at once": float(joint)} if isinstance(joint, int | float) else {}
    what = "node F1 on the tasks so far" if parts else "score on the tasks so far"
    pictures = _learning(number, curves, levels, what)
    shown = [(name, rows) for name, rows in matrices.items() if name != "joint"]
    pictures += _matrices(number, shown)
    return pictures + _calls(number, call_curves(document), "node F1")


def call_curves(document: Mapping[str, Any]) -> dict[str, list[Point]]:
    """Collect a suite's measurements at several shares of cloud calls."""
    found: dict[str, list[Point]] = {}
    results = document.get("results")
    for key, rows in {**document, **(results if isinstance(results, Mapping) else {})}.items():
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, Mapping) and all(isinstance(row.get(k), int | float) for k in ("calls", "node_f1")):
                ways = [str(row[k]) for k in ("order", "signal") if isinstance(row.get(k), str)]
                found.setdefault(", ".join([key, *ways]), []).append(Point(row["calls"], row["node_f1"]))
    if isinstance(document.get("node_f1_asking_40"), int | float) and isinstance(document.get("node_f1"), int | float):
        found["the least sure to a teacher who is always right"] = [
            Point(0.0, document["node_f1"]),
            Point(0.4, document["node_f1_asking_40"]),
        ]
    return found


def _case_pictures(cases: Sequence[CaseRun], number: int) -> list[Picture]:
    continual = [
        (case.label, case.continual["r_matrix"]) for case in cases if _is_matrix(case.continual.get("r_matrix"))
    ]
    curves = {label: seen_scores(rows) for label, rows in continual}
    pictures = _learning(number, curves, {}, "score on the tasks so far") + _matrices(number, continual)
    return pictures + _cloud_pictures(cases, number) + _tool_pictures(cases, number)


def _cloud_pictures(cases: Sequence[CaseRun], number: int) -> list[Picture]:
    """Draw how good the cases are by how often they ask the cloud."""
    asked = [(case, calls) for case in cases if (calls := case.mean("cloud")) is not None]
    if not any(calls or case.paradigm == "jointinference" for case, calls in asked):
        asked = []  # no case asks a cloud: nothing to draw
    first = next((name for case, _ in asked for name in case.metrics), "")
    found = [case.metrics.get(first) for case, _ in asked]
    uses_own = not any(found) or not all(value is not None and 0 <= value <= 1 for value in found)
    points: dict[str, list[Point]] = {}
    for case, calls in asked:
        note = _varied(case.chosen, [other.chosen for other, _ in asked if other.name == case.name])
        quality = case.mean("right") if uses_own else case.metrics.get(first)
        if quality is not None:
            points.setdefault(case.name, []).append(Point(calls, float(quality), note))
    return _calls(number, points, "share of right answers" if uses_own else first)


def _tool_pictures(cases: Sequence[CaseRun], number: int) -> list[Picture]:
    """Draw which tools are planned for which."""
    pictures = []
    for k, case in enumerate(cases[:_MAX_SHOWN], 1):
        counts = tool_confusion(case.samples)
        if counts:
            n_other = sum(n for (right, planned), n in counts.items() if right != planned)
            note = f"{n_other:,} of {sum(counts.values()):,} calls are not of the right tool"
            png = confusion_png(counts, confused_tools(counts))
            pictures.append(
                Picture(f"{number}-tools-{k}.png", f"Which tool was planned for which: {case.label}", note, png)
            )
    return pictures


def _varied(chosen: str, of_all: Sequence[str]) -> str:
    """Return a case's hyperparameters, without those that all cases of its algorithm share."""
    same = set.intersection(*(set(text.split(", ")) for text in of_all))
    return ", ".join(part for part in chosen.split(", ") if part not in same)


def _learning(
    number: int, curves: Mapping[str, Sequence[float]], levels: Mapping[str, float], what: str
) -> list[Picture]:
    if not curves:
        return []
    note = "After each round, the mean over what has been taught so far."
    return [Picture(f"{number}-learning.png", "Learning over the rounds", note, learning_png(curves, levels, what))]


def _matrices(number: int, matrices: Sequence[tuple[str, Sequence[Sequence[float]]]]) -> list[Picture]:
    note = "Row: after that round. Framed: what was just taught; left of it what is kept, right of it what comes later."
    return [
        Picture(f"{number}-matrix-{k}.png", f"R matrix: {name}", note, matrix_png(rows, name))
        for k, (name, rows) in enumerate(matrices[:_MAX_MATRICES], 1)
    ]


def _calls(number: int, curves: Mapping[str, Sequence[Point]], what: str) -> list[Picture]:
    if not curves:
        return []
    note = "Up and to the left is better: right, with little sent away."
    return [Picture(f"{number}-calls.png", "Quality by cloud calls", note, calls_png(curves, what))]


def _is_matrix(value: Any) -> bool:
    rows = value if isinstance(value, list) else []
    width = len(rows[0]) if rows and isinstance(rows[0], list) else 0
    return width > 0 and all(
        isinstance(row, list) and len(row) == width and all(isinstance(x, int | float | None) for x in row)
        for row in rows
    )


def seen_scores(matrix: Sequence[Sequence[float | None]]) -> list[float]:
    """Return, after each round, the mean score over the tasks so far."""
    found = []
    for k, row in enumerate(matrix):
        known = [value for value in row[: k + 1] if value is not None]
        found.append(sum(known) / len(known) if known else 0.0)
    return found


# ── Tools and failures ────────────────────────────────────────────────────────────────────────────────────


def tool_confusion(samples: Sequence[Judged]) -> Counter[tuple[str, str]]:
    """Count which tool was planned where which was right.

    Tools in both plans are right. The others are paired in order; one without a partner was left out or superfluous.
    """
    counts = Counter[tuple[str, str]]()
    for sample in samples:
        if sample.right_tools is None:
            continue
        both = Counter(sample.right_tools) & Counter(sample.planned_tools or ())
        counts.update({(tool, tool): n for tool, n in both.items()})
        right, planned = _left_over(sample.right_tools, both), _left_over(sample.planned_tools or (), both)
        for k in range(max(len(right), len(planned))):
            counts[right[k] if k < len(right) else NOTHING, planned[k] if k < len(planned) else NOTHING] += 1
    return counts


def _left_over(tools: Sequence[str], both: Counter[str]) -> list[str]:
    taken, left = Counter(both), []
    for tool in tools:
        if taken[tool]:
            taken[tool] -= 1
        else:
            left.append(tool)
    return left


def confused_tools(counts: Mapping[tuple[str, str], int]) -> list[str]:
    """Choose the tools to show: the most confused, then the most used; alphabetical, then "others" and "none"."""
    wrong, used = Counter[str](), Counter[str]()
    for (right, planned), n in counts.items():
        for tool in {right, planned}:
            used[tool] += n
            wrong[tool] += n if right != planned else 0
    ordered = sorted(used, key=lambda tool: (-wrong[tool], -used[tool], tool))
    named = [tool for tool in ordered if tool != NOTHING]
    more = [OTHERS] if len(named) > _MAX_TOOLS else []
    return sorted(named[:_MAX_TOOLS]) + more + ([NOTHING] if NOTHING in used else [])


def failures_of(case: CaseRun) -> Failures:
    """Collect a case's failures, the furthest from right first, otherwise in order."""
    wrong = [sample for sample in case.samples if sample.scores["right"] < 1]
    worst = sorted(wrong, key=lambda sample: sample.scores.get("tool_f1", 0.0))[:MAX_FAILURES]
    shown = tuple((_cut(s.question), _cut(s.right), _cut(s.planned)) for s in worst)
    return Failures(case.label, len(case.samples), len(wrong), shown)


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"


# ── Formats ───────────────────────────────────────────────────────────────────────────────────────────────


def leaderboard_csv(sections: Sequence[Section]) -> str:
    """Write all rows of all runs as CSV, with the columns of all."""
    columns = list(dict.fromkeys(name for section in sections for name in section.columns))
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["run", "rank", "name", "kind", *columns])
    for row in (row for section in sections for row in section.rows):
        cells = [row.numbers.get(name) for name in columns]
        writer.writerow([row.run, row.rank, row.name, row.kind, *("" if cell is None else cell for cell in cells)])
    return file.getvalue()


def markdown(sections: Sequence[Section]) -> str:
    """Write the report as Markdown, to read without a browser; pictures are in files beside it."""
    lines = ["# Report", "", *(_quiet(_made()))]
    for section in sections:
        lines += ["", f"## {_md(section.title)}", ""]
        lines += _quiet(" · ".join(f"{name} {value}" for name, value in section.facts.items()))
        if section.rows:
            lines += ["", *_md_table(["", "name", *section.columns], [_cells(section, row) for row in section.rows])]
        lines += [f"* did not end well: {_md(name)}: {_md(why)}" for name, why in section.failed]
        lines += [f"* beware: {_md(fault)}" for fault in section.faults]
        lines += [f"* not measured: {_md(why)}" for why in section.absent]
        for picture in section.pictures:
            lines += [
                "",
                f"**{_md(picture.title)}** {_md(picture.note)}",
                "",
                f"![{_md(picture.title)}](pictures/{picture.file})",
            ]
        for failures in section.failures:
            lines += ["", f"### Not right in {_md(failures.case)}: {failures.n_wrong:,} of {failures.n:,}", ""]
            if failures.shown:
                lines += _md_table(["request", "right", "planned"], failures.shown)
    return "\n".join(lines) + "\n"


def _cells(section: Section, row: Row) -> list[str]:
    return [str(row.rank), row.name, *(number_text(row.numbers.get(name)) for name in section.columns)]


def number_text(value: float | None) -> str:
    """Format a number as tables show it."""
    if value is None:
        return "–"
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.4g}"


def _quiet(text: str) -> list[str]:
    return [f"_{_md(text)}_"] if text else []


def _made() -> str:
    made = origin()
    return f"made {made['at']} by Hearth {made['version']}" + (f", commit {made['commit']}" if made["commit"] else "")


def _md_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    table = [f"| {' | '.join(_md(cell) for cell in row)} |" for row in (head, *rows)]
    return [table[0], "|" + "---|" * len(head), *table[1:]]


def _md(text: str) -> str:
    """Escape a text for Markdown, so that data cannot form cells, tags, links or emphasis."""
    text = " ".join(text.split())
    for sign, written in (
        ("\\", "\\\\"),
        ("&", "&amp;"),
        ("<", "&lt;"),
        ("|", "\\|"),
        ("`", "\\`"),
        ("*", "\\*"),
        ("[", "\\["),
        ("!", "\\!"),
    ):
        text = text.replace(sign, written)
    return text


def html(sections: Sequence[Section]) -> str:
    """Render the page as text."""
    import jinja2  # imported only when a report is written

    folder = files("hearth_bench.report") / "templates"
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    page = environment.from_string((folder / "report.html").read_text(encoding="utf-8"))
    return page.render(sections=sections, made=_made(), number=number_text)
