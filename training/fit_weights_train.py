"""Solve the weights that say whether a tool is asked for: `python -m training.fit_weights_train`.

Ridge logistic regression over `schema_filler.fit_signs`, each request weighing 1, on the fold of BFCL's development
side whose functions the reader of arguments was not trained on. Prints the weights for `schema_filler.FIT_WEIGHTS` and,
with each request left out in one of ten folds, the share of served requests that stay where 85 % of those that no
tool serves are refused. Deterministic; writes nothing.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth.formats.plans import read_jsonl, read_tools
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.models.span_extractor import SpanReader
from hearth.planning.arguments.schema_filler import ADAPTER_FILE, Likeness, fit_signs, form, match_text
from hearth_bench.data.datasets import read_plans
from hearth_bench.measure.planning.nested_split import offered_folds

RIDGE = 0.3
REFUSED = 0.85
N_FOLDS = 10
MOST_OFFERED = 8
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Offered:
    kind: str
    signs: Floats
    """Shape [tools, signs]."""
    is_gold: NDArray[np.bool_]
    """Shape [tools]."""


def read_offered(folder: Path) -> list[Offered]:
    """Read the signs of every tool offered to the requests of the fold; of those with more tools only the first."""
    tools = read_tools(folder / "tool_desc.json")
    data = read_plans(folder / "dev.jsonl", tools, skip_bad=True)
    lines = [line for _, line in read_jsonl(folder / "dev.jsonl")]
    held = {str(line["id"]): line for line, fold in zip(lines, offered_folds(lines)) if fold == 0}
    reader, likeness = SpanReader.open(ADAPTER_FILE, n_threads=1), Likeness(MiniLMEncoder.open(n_threads=1))
    found = []
    for shown in data.demonstrations:
        if (line := held.get(shown.id)) is None:
            continue
        specs = [tools[name] for name in line["tools"]][:MOST_OFFERED]
        alike = likeness.of_texts(shown.request, [match_text(spec) for spec in specs])
        signs = [fit_signs(s, reader.read(form(s), shown.request), float(a)) for s, a in zip(specs, alike)]
        gold = {step.tool for step in shown.plan.steps}
        found.append(Offered(line["kind"], np.array(signs), np.array([spec.name in gold for spec in specs])))
    return found


def solved(offered: list[Offered]) -> Floats:
    """Return the weights, the constant last."""
    rows = np.vstack([one.signs for one in offered])
    is_gold = np.concatenate([one.is_gold for one in offered]).astype(np.float64)
    share = np.concatenate([np.full(len(one.signs), 1 / len(one.signs)) for one in offered])
    mean, spread = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    scaled = np.c_[(rows - mean) / spread, np.ones(len(rows))]
    penalty = RIDGE * np.r_[np.ones(rows.shape[1]), 0.0]
    weights = np.zeros(scaled.shape[1])
    for _ in range(50):  # Newton's method
        chance = 1 / (1 + np.exp(-scaled @ weights))
        slope = scaled.T @ (share * (chance - is_gold)) + penalty * weights
        bend = (scaled * (share * chance * (1 - chance))[:, None]).T @ scaled + np.diag(penalty + 1e-9)
        weights -= np.linalg.solve(bend, slope)
    plain = weights[:-1] / spread
    return np.append(plain, weights[-1] - plain @ mean)


def best(one: Offered, weights: Floats) -> float:
    return float((one.signs @ weights[:-1] + weights[-1]).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    data = Path(os.environ.get("HEARTH_DATA", "../shared/data")) / "plans" / "bfcl"
    parser.add_argument("--data", type=Path, default=data)
    offered = read_offered(parser.parse_args().data)
    order = np.random.default_rng(0).permutation(len(offered)).tolist()
    scores = np.zeros(len(offered))
    for fold in range(N_FOLDS):
        left_out = order[fold::N_FOLDS]
        weights = solved([offered[row] for row in order if row not in left_out])
        scores[left_out] = [best(offered[row], weights) for row in left_out]
    is_served = np.array([bool(one.is_gold.any()) for one in offered])
    least = float(np.quantile(scores[~is_served], REFUSED))
    print(f"weights {np.round(solved(offered), 3).tolist()}; least {least:.2f}")
    for kind in ("all", *sorted({one.kind for one in offered})):
        rows = [row for row, one in enumerate(offered) if is_served[row] and kind in ("all", one.kind)]
        if rows:
            print(f"{kind:20} {len(rows):4} served, {np.mean(scores[rows] >= least):.2f} stay")


if __name__ == "__main__":
    main()
