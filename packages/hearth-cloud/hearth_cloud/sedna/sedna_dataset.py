"""Read Sedna's `Dataset`: `txt` or `csv`, each line a sample.

Sedna counts the lines of the data set's file, splits them by `trainProb` and writes a worker's share into a file of its
own, with unchanged lines. So a line of a `txt` holds either a whole demonstration (or request) as JSON, or the path of
a JSONL file beside the data set, as Sedna's own examples name pictures. A `csv` has the fields of the plan format as
its columns, lists as JSON.

Covered: lines that are no sample (named and skipped), paths that lead out of the data set's folder, lines longer than
Sedna's own reader takes. Not covered: what a demonstration teaches (`learning.versions.promotion_gate`).
"""

from __future__ import annotations

import csv
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from hearth.errors import RequestError, StoreError
from hearth.formats.plans import demonstration_from_json, plan_to_json, read_jsonl
from hearth.learning.demonstration_store import Entry, read_entries
from hearth.types import Demonstration
from hearth_cloud.sedna.sedna_protocol import request_id

SEDNA_LINE_BYTES = 64 * 1024
"""Longest line that Sedna's local controller reads; of a longer one it reads nothing, nor anything after it."""
MAX_SAMPLES = 1_000_000


@dataclass(frozen=True, slots=True)
class Samples:
    """The contents of one of Sedna's files."""

    entries: tuple[Entry, ...]
    faults: tuple[str, ...]
    """Lines that were skipped, each with file, line and reason."""


def read_samples(file: Path, root: Path | None) -> Samples:
    """Read the demonstrations that a worker was given; when one occurs twice, the last counts.

    Args:
        file: Sedna's (`TRAIN_DATASET_URL`, `TEST_DATASET_URL`).
        root: Folder of the data set, where the paths in it begin; None: that of `file`.
    Raises:
        RequestError: The file cannot be read, or holds no sample at all.
    """
    faults: list[str] = []
    lines: dict[str, str] = {}
    for _, sample in _samples(file, root or file.parent, faults):
        sample.setdefault("id", request_id(json.dumps(sample, ensure_ascii=True)))
        lines[str(sample["id"])] = json.dumps(sample, ensure_ascii=True) + "\n"
    if not lines:
        raise RequestError(f"{file}: holds no sample{f'; the first fault: {faults[0]}' if faults else ''}")
    with tempfile.TemporaryDirectory(prefix="hearth-") as folder:
        gathered = Path(folder) / "samples.jsonl"
        gathered.write_text("".join(lines.values()), encoding="utf-8")
        entries, refused = read_entries(gathered, "teacher")
    faults += [f"{file}: {one.id or 'a sample'}: {one.reason}" for one in refused]
    return Samples(tuple(entries), tuple(faults))


def read_requests(file: Path, root: Path | None) -> tuple[list[Demonstration], list[str]]:
    """Read requests to be planned, with the lines that were skipped; plain lines of text are requests. Raises:
    RequestError."""
    faults: list[str] = []
    found: list[Demonstration] = []
    for where, sample in _samples(file, root or file.parent, faults, takes_text=True):
        try:
            found.append(demonstration_from_json(sample, request_id(str(sample.get("user_request", "")))))
        except RequestError as error:
            faults.append(f"{where}: {error}")
    return found, faults


def _samples(
    file: Path, root: Path, faults: list[str], *, takes_text: bool = False
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield place and content of each sample, up to `MAX_SAMPLES`."""
    read = _of_csv(file, faults) if file.suffix.lower() == ".csv" else _of_txt(file, root, faults, takes_text)
    for n, (where, sample) in enumerate(read):
        if n == MAX_SAMPLES:
            faults.append(f"{where}: more than {MAX_SAMPLES:,} samples; the rest was not read")
            return
        yield where, sample


def _of_txt(file: Path, root: Path, faults: list[str], takes_text: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        with file.open("rb") as lines:
            for number, raw in enumerate(_bounded(lines), 1):
                where = f"{file}:{number}"
                if len(raw) > SEDNA_LINE_BYTES:
                    faults.append(f"{where}: is longer than the {SEDNA_LINE_BYTES:,} bytes that Sedna reads of a line")
                    continue
                try:
                    text = raw.decode("utf-8-sig").strip()
                except UnicodeDecodeError:
                    faults.append(f"{where}: is not UTF-8")
                    continue
                if text.startswith("{"):
                    yield from _of_json(text, where, faults)
                elif takes_text and text:
                    yield where, {"user_request": text}
                elif text:
                    yield from _of_path(text.split()[0], where, root, faults)
    except OSError as error:
        raise RequestError(f"cannot read the samples {str(file)!r}: {error.strerror}") from None


def _bounded(lines: BinaryIO) -> Iterator[bytes]:
    """Yield lines; only the beginning of one that is too long, so that none fills the memory."""
    while raw := lines.readline(SEDNA_LINE_BYTES + 1):
        rest = raw
        while not rest.endswith(b"\n") and len(rest) > SEDNA_LINE_BYTES:
            rest = lines.readline(SEDNA_LINE_BYTES + 1)
        yield raw


def _of_json(text: str, where: str, faults: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        yield where, dict(json.loads(text))
    except (ValueError, TypeError, RecursionError) as error:
        faults.append(f"{where}: not a JSON object ({error})")


def _of_path(name: str, where: str, root: Path, faults: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the samples of a JSONL file that a line names. A file outside the data set's folder is not opened."""
    folder = root.resolve()
    path = (folder / name).resolve()
    if not path.is_relative_to(folder):
        faults.append(f"{where}: {name!r} leads out of the data set's folder {str(folder)!r}; it was not opened")
        return
    try:
        for number, sample in read_jsonl(path, faults):
            yield f"{path}:{number}", sample
    except RequestError as error:
        faults.append(f"{where}: {error}")


def _of_csv(file: Path, faults: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            rows = csv.DictReader(lines)
            if "user_request" not in (rows.fieldnames or ()):
                raise RequestError(
                    f"{file}: has the columns {', '.join(rows.fieldnames or ()) or 'none'}; expected those of the plan "
                    "format: user_request, task_nodes, and if wanted id, now, tools, task_links"
                )
            for row in rows:
                where = f"{file}:{rows.line_num}"
                sample: dict[str, Any] = {key: value for key, value in row.items() if key and value}
                try:
                    nodes = json.loads(sample.get("task_nodes", "[]"))
                    links = json.loads(sample.get("task_links", "[]"))
                    tools = json.loads(sample["tools"]) if "tools" in sample else []
                except (ValueError, RecursionError) as error:
                    faults.append(f"{where}: a list is not written as JSON ({error})")
                    continue
                yield where, {**sample, "task_nodes": nodes, "task_links": links, "tools": tools}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RequestError(f"cannot read the samples {str(file)!r}: {error}") from None


# ── What a home gives ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Exported:
    """The outcome of `export`."""

    n_written: int
    n_known: int
    """Demonstrations that were in the file already."""
    kept_back: tuple[str, ...]
    """Ids of demonstrations that Sedna could not read: too long for a line."""


def export(entries: Iterable[Entry], file: Path, *, anew: bool = False) -> Exported:
    """Append to the file every demonstration that is not in it yet, one per line, in the order they came.

    Lines that are there stay where they are, because Sedna knows samples by their place. So what was forgotten since is
    removed only with `anew`, which begins the file again.

    Raises:
        StoreError: It cannot be read or written.
    """
    kept_back, fresh = [], []
    try:
        known = set(file.read_text(encoding="utf-8").splitlines()) if file.exists() and not anew else set[str]()
        ordered = sorted(entries, key=lambda one: (one.added, one.id))
        for entry in ordered:
            line = json.dumps(_line_of(entry), ensure_ascii=True)
            if len(line) + 1 > SEDNA_LINE_BYTES:
                kept_back.append(entry.id)
            elif line not in known:
                fresh.append(line + "\n")
        file.parent.mkdir(parents=True, exist_ok=True)
        if anew:
            temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
            temporary.write_text("".join(fresh), encoding="utf-8")
            temporary.replace(file)
        else:
            with file.open("a", encoding="utf-8") as out:
                out.write("".join(fresh))
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or str(error)
        raise StoreError(f"cannot write the samples {str(file)!r}: {said}; name another file") from None
    return Exported(len(fresh), len(ordered) - len(fresh) - len(kept_back), tuple(kept_back))


def _line_of(entry: Entry) -> dict[str, Any]:
    one = entry.demonstration
    line: dict[str, Any] = {"id": one.id, "user_request": one.request, "source": one.source, **plan_to_json(one.plan)}
    if one.now is not None:
        line["now"] = one.now.isoformat()
    if one.tools:
        line["tools"] = list(one.tools)
    if entry.label.sources:
        line["label"] = sorted(entry.label.sources)
    return line
