"""Write the parts of NesTools, NESTFUL and BFCL that `hearth bench planning` is measured on to files.

    python -m hearth_bench.measure.planning.nested_split --data FOLDER --out OUT

FOLDER holds `nestools`, `nestful` and `bfcl`, each with `dev.jsonl`. OUT gets `NAME_train.jsonl` and `NAME_test.jsonl`:
the held fifth is the one that the shipped reader never saw. Lines are copied unchanged; keep OUT out of the project.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def nested_split(n: int) -> tuple[list[int], list[int]]:
    """Split the rows of a file with references into those to train on and those held back, one in five, by a fixed
    seed."""
    order = np.random.default_rng(20240501).permutation(n)
    n_held = n // 5
    return sorted(int(i) for i in order[n_held:]), sorted(int(i) for i in order[:n_held])


def offered_folds(lines: Sequence[Mapping[str, Any]], n: int = 5) -> list[int]:
    """Return a fold for each line, so that no function that is called in one fold is called in another."""
    group: dict[str, str] = {}

    def root(name: str) -> str:
        while group.setdefault(name, name) != name:
            name = group[name]
        return name

    called = [sorted({re.sub(r"__\d+$", "", node["task"]) for node in line["task_nodes"]}) for line in lines]
    called = [names or [re.sub(r"__\d+$", "", line["tools"][0])] for names, line in zip(called, lines)]
    for names in called:
        for name in names[1:]:
            group[root(name)] = root(names[0])
    return [int(hashlib.sha256(root(names[0]).encode()).hexdigest(), 16) % n for names in called]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name in ("nestools", "nestful", "bfcl"):
        lines = (given.data / name / "dev.jsonl").read_text(encoding="utf-8").splitlines()
        if name == "bfcl":
            folds = offered_folds([json.loads(line) for line in lines])
            parts = [k for k, fold in enumerate(folds) if fold], [k for k, fold in enumerate(folds) if not fold]
        else:
            parts = nested_split(len(lines))
        for part, rows in zip(("train", "test"), parts):
            text = "".join(f"{lines[row]}\n" for row in rows)
            (given.out / f"{name}_{part}.jsonl").write_text(text, encoding="utf-8")
            print(f"{name}_{part}.jsonl: {len(rows)} lines")


if __name__ == "__main__":
    main()
