"""Read the data files of Ianvs jobs line by line, check them, and cut them into rounds.

Better than in Ianvs: a bad line is named with file and line; empty lines are no samples; in an index of paths only
words that are files are made absolute, so a label stays as it is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hearth.errors import RequestError

Pair = tuple[Path, Path]
"""Files to learn from and to be judged on."""
SPLITS = ("default", "fwt_splitting", "hard-example_splitting")
_N_FAULTS = 100
"""Most bad lines that are named; more are counted."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Size, hash and faults of a data file."""

    n: int
    sha256: str
    faults: tuple[str, ...]
    """Bad lines with file, line and reason; the first hundred."""
    n_faults: int


def file_kind(path: Path) -> str:
    """Return `jsonl`, `txt` or `metadata`, or an empty text where a job cannot use the file."""
    if path.name == "metadata.json":
        return "metadata"
    return path.suffix[1:] if path.suffix in (".jsonl", ".txt") else ""


def look_at(path: Path) -> FileFacts:
    """Read a data file once, in constant memory, and return its facts.

    Raises:
        RequestError: It cannot be read, or holds no sample.
    """
    kind = file_kind(path)
    faults: list[str] = []
    n_faults = n = 0
    fields = ("query", "response") if kind == "metadata" else ("question", "answer")
    if kind == "metadata":
        read_metadata(path)
        path = path.with_name("data.jsonl")
    for fault, _ in _checked(path, fields) if kind != "txt" else (("", line) for line in read_lines(path)):
        n += not fault
        n_faults += bool(fault)
        if fault and len(faults) < _N_FAULTS:
            faults.append(fault)
    if not n:
        raise RequestError(f"{path}: holds no sample{f'; the first fault: {faults[0]}' if faults else ''}")
    with path.open("rb") as file:
        return FileFacts(n, hashlib.file_digest(file, "sha256").hexdigest(), tuple(faults), n_faults)


def json_lines(path: Path, fields: Sequence[str] = ("question", "answer")) -> Iterator[dict[str, Any]]:
    """Yield each line that has `fields`, skipping bad lines (`look_at` names them).

    Raises:
        RequestError: The file cannot be read.
    """
    return (line for fault, line in _checked(path, fields) if not fault)


def _checked(path: Path, fields: Sequence[str]) -> Iterator[tuple[str, Any]]:
    for number, raw in _numbered(path):
        try:
            line = json.loads(raw.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            yield f"{path}:{number}: not a JSON object in UTF-8 ({error})", None
            continue
        missing = next((f for f in fields if not isinstance(line, dict) or f not in line), None)
        if missing is None:
            yield "", line
        else:
            has = (
                f"has {', '.join(map(repr, list(line)[:6])) or 'nothing'}" if isinstance(line, dict) else "is no object"
            )
            yield f"{path}:{number}: the line {has}; expected the field {missing!r}", None


def read_lines(path: Path) -> list[str]:
    """Return the lines that are not empty, stripped. Raises: RequestError."""
    try:
        return [raw.decode("utf-8-sig").strip() for _, raw in _numbered(path)]
    except UnicodeDecodeError as error:
        raise RequestError(f"{path}: is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from None


def _numbered(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                if raw.strip():
                    yield number, raw
    except OSError as error:
        raise RequestError(f"cannot read {str(path)!r}: {error.strerror}") from None


def read_metadata(path: Path) -> dict[str, Any]:
    """Read the facts that a `metadata.json` states about its data. Raises: RequestError."""
    try:
        facts = json.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise RequestError(f"cannot read {str(path)!r}: {error.strerror}") from None
    except ValueError as error:
        raise RequestError(f"{path}: not JSON in UTF-8 ({error})") from None
    missing = next((k for k in ("dataset", "description") if not isinstance(facts, dict) or k not in facts), None)
    if missing:
        raise RequestError(f"{path}: lacks {missing!r}; expected 'dataset', 'description' and dimensions")
    return dict(facts)


def with_absolute_paths(path: Path, folder: Path) -> Path:
    """Return an index whose paths are absolute: the file itself, or a copy in `folder` with the paths changed."""
    lines = read_lines(path)
    found = [" ".join(_absolute(word, path.parent) for word in line.split()) for line in lines]
    if found == lines:
        return path
    folder.mkdir(parents=True, exist_ok=True)
    return _written(folder / path.name, found)


def _absolute(word: str, folder: Path) -> str:
    file = folder / word
    return str(file.absolute()) if file.is_file() else word


# ── Rounds ────────────────────────────────────────────────────────────────────────────────────────────────


def split_rounds(
    path: Path, folder: Path, *, method: str, ratio: float, n_rounds: int, names: tuple[str, str]
) -> list[Pair]:
    """Cut a file in order into rounds, each a part to learn from and a part to be judged on.

    Args:
        method: `default` gives a pair for each round. `fwt_splitting` adds a pair before them, of the first sample
            alone. `hard-example_splitting` takes the first half of the data as the pair before them and cuts the second
            half into rounds.
        names: Stems of the two files, `names[0]-round` and `names[1]-round`, rounds counted from 1 (0 is the pair
            before).
    Raises:
        RequestError: The file cannot be read, is no `.jsonl` or `.txt` file, or has fewer lines than rounds.
    """
    if file_kind(path) not in ("jsonl", "txt"):
        raise RequestError(f"{str(path)!r} cannot be cut into rounds; name a .jsonl or .txt file")
    lines = read_lines(path)
    if len(lines) < n_rounds:
        raise RequestError(f"{path}: {len(lines)} samples for {n_rounds} rounds; lower incremental_rounds")
    half = len(lines) // 2
    parts: list[tuple[int, list[str], list[str]]] = []
    rest = lines
    if method == "fwt_splitting":
        parts.append((0, lines[:1], lines[:1]))
    elif method == "hard-example_splitting":
        cut = int(len(lines) * ratio / 2)
        parts.append((0, lines[:cut], lines[cut:half]))
        rest = lines[half:]
    # As in Ianvs, the step within the second half is the whole length over twice the number of rounds.
    step = len(lines) // (n_rounds * 2) if method == "hard-example_splitting" else len(lines) // n_rounds
    for round in range(1, n_rounds + 1):
        part = rest[step * (round - 1) :] if round == n_rounds else rest[step * (round - 1) : step * round]
        cut = int(len(part) * ratio)
        parts.append((round, part[:cut], part[cut:]))
    folder.mkdir(parents=True, exist_ok=True)
    return [
        (
            _written(folder / f"{names[0]}-{round}{path.suffix}", learnt),
            _written(folder / f"{names[1]}-{round}{path.suffix}", judged),
        )
        for round, learnt, judged in parts
    ]


def _written(path: Path, lines: Iterable[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path
