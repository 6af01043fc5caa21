"""Rank a job's cases in Ianvs' files and columns, and print the table.

`rank,algorithm,<metrics>,paradigm,<module types>,<type-hyperparameter>,time,url`. Better than in Ianvs: columns are in
the order of the job and stay in place from run to run; a row that is written again replaces its earlier version.
"""

from __future__ import annotations

import csv
import io
import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hearth.atomic_files import write_bytes
from hearth.errors import RequestError
from hearth_bench.ianvs.job import RankOptions

_ENDS = ("algorithm", "paradigm", "time", "url")
_NOT_A_NUMBER = "nan"


@dataclass(frozen=True, slots=True)
class Row:
    """A case that is done."""

    algorithm: str
    paradigm: str
    metrics: Mapping[str, Any]
    modules: Mapping[str, str]
    """Module names by type."""
    hyperparameters: Mapping[str, str]
    """Values by `type-name`."""
    time: str
    url: str

    def cells(self) -> dict[str, str]:
        metrics = {name: _NOT_A_NUMBER if value is None else _text(value) for name, value in self.metrics.items()}
        return {
            "algorithm": self.algorithm, **metrics, "paradigm": self.paradigm, **self.modules, **self.hyperparameters,
            "time": self.time, "url": self.url,
        }  # fmt: skip


def save_rank(folder: Path, rows: Sequence[Row], metrics: Sequence[str], options: RankOptions) -> Path:
    """Write `all_rank.csv` (keeping earlier runs' rows) and `selected_rank.csv`.

    Args:
        metrics: All metrics of the job, in its order.
    Returns:
        The file of the selected rows.
    Raises:
        StoreError: They cannot be written; both are as before.
        RequestError: The earlier file is not a ranking.
    """
    folder.mkdir(parents=True, exist_ok=True)
    everything = folder / "all_rank.csv"
    old_header, old = _read(everything)
    new_metrics = list(metrics)
    parts = list(dict.fromkeys(type for row in rows for type in row.modules))
    given = list(dict.fromkeys(name for row in rows for name in row.hyperparameters))
    cut = old_header.index("paradigm") if old_header else 0
    all_metrics = _merged(old_header[1:cut], new_metrics)
    others = _merged(old_header[cut + 1 : -2] if old_header else [], [*parts, *given])
    others = [name for name in others if "-" not in name] + [name for name in others if "-" in name]
    header = ["algorithm", *all_metrics, "paradigm", *others, "time", "url"]
    urls = {row.url for row in rows}
    lines = [line for line in old if line.get("url") not in urls] + [row.cells() for row in rows]
    lines = _sorted(lines, options.sort_by, all_metrics)
    if options.saves_all:
        _write(everything, header, lines)
    wanted = [
        "algorithm",
        *_chosen(options.metrics, new_metrics),
        "paradigm",
        *_chosen(options.modules, parts),
        *_chosen(options.hyperparameters, given),
    ]
    kept: dict[tuple[str, ...], dict[str, str]] = {}
    for line in lines:
        if options.paradigms == ("all",) or line.get("paradigm") in options.paradigms:
            kept.setdefault(tuple(line.get(name, "") for name in wanted), line)
    selected = folder / "selected_rank.csv"
    # It is made from the other file, if that exists, so nothing is lost with it.
    _write(selected, [*wanted, "time", "url"], list(kept.values()), is_lasting=not options.saves_all)
    return selected


def rank_table(path: Path) -> str:
    """Format a saved ranking as Ianvs prints it."""
    header, lines = _read(path, keeps_rank=True)
    rows = [header, *([line.get(name, "") for name in header] for line in lines)]
    widths = [max(_wide(row[k]) for row in rows) for k in range(len(header))]
    rule = "+".join(["", *("-" * (w + 2) for w in widths), ""])
    shown = ["|".join(["", *(f" {_centred(cell, w)} " for cell, w in zip(row, widths)), ""]) for row in rows]
    return "\n".join([rule, shown[0], rule, *shown[1:], rule])


def _chosen(wanted: Sequence[str], there: Sequence[str]) -> list[str]:
    return list(there) if tuple(wanted) == ("all",) else list(wanted)


def _merged(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return this job's columns in its order, then the others of earlier runs."""
    return [*new, *(name for name in old if name not in new)]


def _sorted(
    lines: list[dict[str, str]], sort_by: Sequence[tuple[str, bool]], metrics: Sequence[str]
) -> list[dict[str, str]]:
    """Sort by the given metrics, the first most important; rows without a number come last, ties keep their order."""
    for name, ascends in reversed(sort_by):
        if name in metrics:
            numbered = [(line, _number(line.get(name, ""))) for line in lines]
            with_number = [pair for pair in numbered if pair[1] is not None]
            with_number.sort(key=lambda pair: pair[1] or 0.0, reverse=not ascends)
            lines = [line for line, _ in with_number] + [line for line, value in numbered if value is None]
    return lines


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return None if math.isnan(value) else value


def _text(value: Any) -> str:
    return str(float(value)) if isinstance(value, float) else str(value)


def check_rank(folder: Path) -> None:
    """Check that earlier rows, if any, can be kept. Raises: RequestError."""
    _read(folder / "all_rank.csv")


def _read(path: Path, *, keeps_rank: bool = False) -> tuple[list[str], list[dict[str, str]]]:
    """Read a ranking's columns and rows without the rank; both are empty if there is no file."""
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return [], []
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(f"cannot read {str(path)!r}: {error}; move it away") from None
    reader = csv.DictReader(io.StringIO(text))
    header = list(reader.fieldnames or ())
    if not header:
        return [], []
    if header[0] != "rank" or any(name not in header for name in _ENDS) or header[-2:] != ["time", "url"]:
        raise RequestError(f"{path}: is no ranking (its columns are {', '.join(header[:6])} …); move it away")
    try:
        lines = [{name: value or "" for name, value in line.items() if name} for line in reader]
    except csv.Error as error:
        raise RequestError(f"{path}: is no ranking ({error}); move it away") from None
    return (header if keeps_rank else header[1:]), lines


def _write(path: Path, header: Sequence[str], lines: Sequence[Mapping[str, str]], *, is_lasting: bool = True) -> None:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["rank", *header])
    for rank, line in enumerate(lines, 1):
        writer.writerow([rank, *(line.get(name, "") for name in header)])
    write_bytes(path, file.getvalue().encode(), is_lasting=is_lasting)


def _centred(text: str, space: int) -> str:
    """Centre a text as prettytable does: the odd space goes to the right of odd widths, to the left of even ones."""
    rest = space - _wide(text)
    left = rest // 2 + (rest % 2 if _wide(text) % 2 == 0 else 0)
    return " " * left + text + " " * (rest - left)


def _wide(text: str) -> int:
    """Return the number of terminal columns of a text."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
