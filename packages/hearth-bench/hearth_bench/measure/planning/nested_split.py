"""Write the parts of NesTools and NESTFUL that `hearth bench planning` is measured on to files.

    python -m hearth_bench.measure.planning.nested_split --data FOLDER --out OUT

FOLDER holds `nestools` and `nestful`, each with `dev.jsonl`. OUT gets `NAME_train.jsonl` and `NAME_test.jsonl`: the
held fifth is the one that the shipped reader never saw. Lines are copied unchanged; keep OUT out of the project.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np


def nested_split(n: int) -> tuple[list[int], list[int]]:
    """Split the rows of a file with references into those to train on and those held back, one in five, by a fixed
    seed."""
    order = np.random.default_rng(20240501).permutation(n)
    n_held = n // 5
    return sorted(int(i) for i in order[n_held:]), sorted(int(i) for i in order[:n_held])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name in ("nestools", "nestful"):
        lines = (given.data / name / "dev.jsonl").read_text(encoding="utf-8").splitlines()
        for part, rows in zip(("train", "test"), nested_split(len(lines))):
            text = "".join(f"{lines[row]}\n" for row in rows)
            (given.out / f"{name}_{part}.jsonl").write_text(text, encoding="utf-8")
            print(f"{name}_{part}.jsonl: {len(rows)} lines")


if __name__ == "__main__":
    main()
