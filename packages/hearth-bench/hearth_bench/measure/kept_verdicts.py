"""Keep the verdict on each request of a measure, and compare two such files, paired.

    python -m hearth_bench.measure.kept_verdicts A.json B.json [--json OUT] [--seed N]

`--keep FILE` of `real_requests`, `requests` and `natural_requests` writes one: ids and verdicts, no text. Requests are
matched by id; the differences have the 95 % intervals of `run_comparison` (the paired bootstrap), for all and for each
group. What became of the requests that ended otherwise is counted below.

Not covered: whether both files are of the same data; requests of one file alone are counted and left out.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from hearth.atomic_files import check_writable
from hearth.errors import HearthError, RequestError
from hearth_bench.report.run_comparison import (
    N_DRAWS,
    Comparison,
    Difference,
    comparison_document,
    comparison_lines,
    paired_interval,
)
from hearth_bench.run_record import commit


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of one request."""

    id: str
    verdict: str
    is_right: bool
    is_harmful: bool
    """Whether something was changed or sent that nobody asked for."""
    groups: Mapping[str, str]
    """Kind of group → the request's."""


def kept_file(text: str) -> Path:
    """Read the name of a file to write. Raises: ArgumentTypeError: It cannot be written, said before any measuring."""
    path = Path(text)
    try:
        check_writable(path)
    except RequestError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return path


def write_kept(path: Path, measure: str, rows: Sequence[Kept]) -> None:
    """Write the verdicts of a measure. Raises: RequestError: The file cannot be written."""
    document = {
        "measure": measure,
        "at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "commit": commit() or "unknown",
        "verdicts": [asdict(row) for row in rows],
    }
    try:
        path.write_text(json.dumps(document, indent=1) + "\n")
    except OSError as error:
        raise RequestError(f"cannot write the verdicts to {str(path)!r}: {error}; choose another file") from error


def read_kept(path: Path) -> tuple[str, dict[str, Kept]]:
    """Return the measure and its verdicts by id. Raises: RequestError: It is no such file."""
    try:
        document = json.loads(path.read_text())
        rows = [Kept(**row) for row in document["verdicts"]]
        measure = str(document["measure"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RequestError(
            f"{str(path)!r} holds no verdicts ({error!r}); expected a file that `--keep` of a measure wrote"
        ) from error
    return measure, {row.id: row for row in rows}


def compared(a: Path, b: Path, *, seed: int = 0, n_draws: int = N_DRAWS) -> tuple[Comparison, Counter[tuple[str, str]]]:
    """Return how two files differ, and how many requests went from which verdict to which.

    Raises:
        RequestError: They are of different measures, or of no request in common.
    """
    (measure, mine), (other, theirs) = read_kept(a), read_kept(b)
    if measure != other:
        raise RequestError(f"{str(a)!r} is of {measure!r} and {str(b)!r} of {other!r}; compare files of one measure")
    pairs = [(row, theirs[id]) for id, row in mine.items() if id in theirs]
    if not pairs:
        raise RequestError(f"{str(a)!r} and {str(b)!r} have no request in common; compare files of the same data")

    def difference(name: str, some: Sequence[tuple[Kept, Kept]], scores: Sequence[tuple[bool, bool]]) -> Difference:
        before, after = [float(x) for x, _ in scores], [float(y) for _, y in scores]
        low, high = paired_interval(before, after, seed=seed, n_draws=n_draws)
        return Difference(name, len(some), sum(before) / len(some), sum(after) / len(some), low, high)

    def right(name: str, some: Sequence[tuple[Kept, Kept]]) -> Difference:
        return difference(name, some, [(x.is_right, y.is_right) for x, y in some])

    groups: dict[str, tuple[Difference, ...]] = {}
    for kind in dict.fromkeys(kind for x, _ in pairs for kind in x.groups):
        of_kind: dict[str, list[tuple[Kept, Kept]]] = {}
        for pair in pairs:
            if kind in pair[0].groups:
                of_kind.setdefault(pair[0].groups[kind], []).append(pair)
        groups[kind] = tuple(right(name, some) for name, some in of_kind.items())
    harmful = difference("harmful", pairs, [(x.is_harmful, y.is_harmful) for x, y in pairs])
    found = Comparison(
        str(a), str(b), len(pairs), len(mine.keys() - theirs.keys()), len(theirs.keys() - mine.keys()),
        (right("right", pairs), harmful), groups, (), (), seed, n_draws,
    )  # fmt: skip
    return found, Counter((x.verdict, y.verdict) for x, y in pairs if x.verdict != y.verdict)


def main(arguments: Sequence[str]) -> int:
    options = argparse.ArgumentParser(
        prog="python -m hearth_bench.measure.kept_verdicts", description=(__doc__ or "").partition("\n")[0]
    )
    options.add_argument("a", type=Path, help="verdicts before")
    options.add_argument("b", type=Path, help="verdicts after")
    options.add_argument("--json", type=kept_file, metavar="OUT", help="write the comparison here, too")
    options.add_argument("--seed", type=int, default=0, help="of the draws")
    chosen = options.parse_args(arguments)
    try:
        found, moved = compared(chosen.a, chosen.b, seed=chosen.seed)
    except HearthError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(comparison_lines(found)))
    for (before, after), n in moved.most_common():
        print(f"  {n:>5} from {before} to {after}")
    if chosen.json is not None:
        moves = [{"from": before, "to": after, "n": n} for (before, after), n in moved.most_common()]
        chosen.json.write_text(json.dumps({**comparison_document(found), "moved": moves}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
