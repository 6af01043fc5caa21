"""Fit the shipped tool heads: `python -m training.tool_heads_train` (two minutes).

Real people's requests (`$HEARTH_DATA/requests`: SLURP, HWU64 and Home Assistant CC BY 4.0, SMCalFlow and xSID
CC BY-SA 4.0, Almond Apache-2.0), the shipped demonstrations and new people's requests, also act by act. Of real
people's a tenth is held out for ever (`is_held_out`), by words, and by file for Home Assistant's tests. Two of five are
learned a second time as somebody in a hurry types them, as a slip often leaves another word ("turn of the lights") that
no spelling mends. A request that several tools would serve counts for them together. The weights are a logistic
regression's; what homes teach is added to them by least squares, for which the inverse Gram matrix of these rows says
how well each direction is known. Writes src/hearth/data/tool_heads.npz and tool_heads.json: hashes of the data, seed,
options, counts. No text is in them.
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth.agent import shipped_demonstrations
from hearth.formats.plans import read_demonstrations
from hearth.language.request_sketch import drawn_cosines, request_features
from hearth.language.values.slots import find_slots
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.arguments.alignment import explain, form_of, tokens_of
from hearth.planning.retrieval.episodic_index import leaves_of
from hearth.planning.tool_heads import CLASSIFIER_SHARE, LOGITS, NOTHING, PROBE, TALK, HeadPrior
from hearth.types import Context, Demonstration
from hearth_bench.data.request_corpus import RealRequest, is_held_out, read_real_requests
from hearth_bench.data.typing_slips import with_slips
from training.act_labels import pieces_of
from training.logistic import chances_of, descended

SEED = 0
_RIDGE = 0.3
_N_STEPS, _STEP = 250, 0.05
_MISTYPED_SHARE = 0.4
_SHOWN_WEIGHT = 1.0
"""Weight of a demonstration beside a real person's request. At 2.5 one in fifty more of new ones goes to its tool, and
one in two hundred fewer of what real people said."""
_DATA = Path(__file__).with_name("data")
PEOPLE = _DATA / "new_people.jsonl"
_NOW = dt.datetime.fromisoformat("2026-11-20T09:30:00+01:00")

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Row:
    """One request or clause: its words for the heads, and the outputs that are right for it."""

    form: str
    words: tuple[str, ...]
    outputs: tuple[str, ...]
    is_shared: bool
    """True when all outputs are meant together; else one of them is."""
    id: str = ""
    """Demonstration that it is from."""


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--out", type=Path, default=Path("src/hearth/data/tool_heads.npz"))
    options.add_argument("--carry-on", type=Path, help="file of heads whose weights and the new ones' mean is kept")
    chosen = options.parse_args()
    started = time.process_time()
    asked = requests_to_learn(())
    rows = [
        *rows_shown(),
        *asked_rows(asked),
        *asked_rows(typed for _, typed in mistyped(asked)),
    ]
    print(f"reading {len(rows):,} requests …", file=sys.stderr)
    encoder = MiniLMEncoder.open()
    projection, phases = drawn_cosines(encoder.dim)
    features = features_of(rows, encoder, projection, phases)
    outputs = outputs_of(rows)
    weights, gram, counts = fitted(features, rows, outputs)
    if chosen.carry_on is not None:
        weights = (weights + np.load(chosen.carry_on)["weights"].astype(np.float32)) / 2
    factor = np.linalg.inv(np.linalg.cholesky(gram.astype(np.float64)))
    folder = data_folder()
    about = {
        "outputs": outputs,
        "seed": SEED,
        "ridge": _RIDGE,
        "n_rows": len(rows),
        "counts": counts,
        "data": {path.name: hash_of(path) for path in sorted(folder.glob("*.jsonl"))},
        "carried_on_from": hash_of(chosen.carry_on) if chosen.carry_on is not None else "",
        "command": "python -m training.tool_heads_train" + (" --carry-on FILE" if chosen.carry_on else ""),
    }
    packed = factor[np.tril_indices(len(factor))].astype(np.float32)
    with chosen.out.open("wb") as file:
        HeadPrior(outputs, weights, packed, projection, phases, encoder.encode([PROBE])[0]).write(file, about)
    chosen.out.with_suffix(".json").write_text(json.dumps(about, indent=2) + "\n")
    size = chosen.out.stat().st_size
    print(f"{chosen.out}: {size:,} bytes, {time.process_time() - started:.0f} cpu-s", file=sys.stderr)


def data_folder() -> Path:
    """Return the folder of real people's requests."""
    return Path(os.environ.get("HEARTH_DATA", "../shared/data")) / "requests"


def requests_to_learn(parts_left_out: Collection[int]) -> list[RealRequest]:
    """Return the requests that may be learned from: none of tenth 0, nor of those named."""
    parts = {0, *parts_left_out}
    every = [one for one in read_real_requests(data_folder()) if one.kind != "either"]
    return [one for one in every if not any(is_held_out(one, part) for part in parts)]


def mistyped(asked: Sequence[RealRequest]) -> list[tuple[RealRequest, RealRequest]]:
    """Return some of the requests, each with itself as typed with slips of the hand; always the same."""
    draw = np.random.default_rng(SEED)
    chosen = [one for one in asked if draw.random() < _MISTYPED_SHARE]
    pairs = [(one, replace(one, text=with_slips(one.text))) for one in chosen]
    return [(one, typed) for one, typed in pairs if typed.text != one.text]


def outputs_of(rows: Iterable[Row]) -> tuple[str, ...]:
    """Return the names of the heads' outputs."""
    return (*sorted({name for row in rows for name in row.outputs} - {NOTHING, TALK}), NOTHING, TALK)


def features_of(rows: Sequence[Row], encoder: MiniLMEncoder, projection: Floats, phases: Floats) -> Floats:
    """Return features, shape [rows, dim]; takes minutes."""
    vectors = encoder.encode([row.form for row in rows])
    return request_features(vectors, [row.words for row in rows], projection, phases)


def rows_shown() -> list[Row]:
    """Return rows of the shipped demonstrations and of new people's requests.

    What people say beside what they wish is not among them: taught as asking for nothing, it takes wishes that sound
    like it along ("the landing light's been blazing since breakfast").
    """
    return taught_rows([*shipped_demonstrations(), *people_to_learn()])


def people_to_learn() -> list[Demonstration]:
    """Return requests of 184 new people; those of 48 others judge what is learnt (`hearth_bench`)."""
    return list(read_demonstrations(PEOPLE))


def asides_to_learn() -> list[str]:
    """Return what people say beside what they wish for."""
    return [json.loads(line)["text"] for line in (_DATA / "asides.jsonl").read_text().splitlines()]


def taught_rows(demonstrations: Iterable[Demonstration]) -> list[Row]:
    """Return rows of demonstrations: single requests, and the acts of longer ones."""
    found = []
    for demonstration in demonstrations:
        whole, *clauses = explain(demonstration)
        acts = clauses or [explain(piece)[0] for piece in pieces_of(demonstration) if piece.plan.steps]
        for lesson in (whole, *acts):
            if lesson.n_clauses == 1:
                leaves = tuple(dict.fromkeys(leaves_of(lesson.steps))) or (NOTHING,)
                found.append(Row(lesson.plain, lesson.words, leaves, is_shared=True, id=demonstration.id))
    return found


def asked_rows(asked: Iterable[RealRequest]) -> list[Row]:
    """Return rows of real requests."""
    return [_row_of(one) for one in asked]


def _row_of(asked: RealRequest) -> Row:
    slots = find_slots(asked.text, _NOW, Context(country="DE"))
    tokens = tokens_of(asked.text, slots)
    outputs = {"tool": tuple(dict.fromkeys(asked.accept)), "none": (NOTHING,), "chat": (TALK,)}[asked.kind]
    return Row(form_of(asked.text, tokens), tuple(token.word for token in tokens), outputs, is_shared=False)


def right_outputs(rows: Sequence[Row], outputs: Sequence[str]) -> tuple[Floats, NDArray[np.bool_], Floats]:
    """Return what is right for rows, shape [rows, outputs], whether all of it is meant together, and how much each row
    counts: less where its output has many."""
    place = {name: index for index, name in enumerate(outputs)}
    right = np.zeros((len(rows), len(outputs)), dtype=np.float32)
    for index, row in enumerate(rows):
        right[index, [place[name] for name in row.outputs]] = 1 / len(row.outputs)
    counts = right.sum(axis=0)
    importance = right @ np.where(counts > 0, counts, 1) ** -0.5  # rows left out may be all that an output has
    importance /= importance.mean()
    importance[[bool(row.id) for row in rows]] *= _SHOWN_WEIGHT
    return right, np.array([row.is_shared for row in rows]), importance.astype(np.float32)


def fitted(features: Floats, rows: Sequence[Row], outputs: Sequence[str]) -> tuple[Floats, Floats, dict[str, int]]:
    """Return weights, the Gram matrix with its ridge, and how many rows each output has.

    The weights are made small enough for scores of about 0 to 1, and for what the classifier adds.
    """
    weights, wanted = logistic_weights(features, rows, outputs)
    _, _, importance = right_outputs(rows, outputs)
    gram: Floats = ((features * importance[:, None]).T @ features).astype(np.float32)
    gram[np.diag_indices_from(gram)] += _RIDGE
    counts = Counter(outputs[index] for index in wanted.argmax(axis=1))
    weights *= (1 - CLASSIFIER_SHARE) / LOGITS
    return weights.astype(np.float32), gram, {name: counts[name] for name in outputs}


def logistic_weights(features: Floats, rows: Sequence[Row], outputs: Sequence[str]) -> tuple[Floats, Floats]:
    """Return weights whose scores are log-odds, and what is wanted of each row, shape [rows, outputs].

    A multinomial logistic regression: of several outputs of which one is meant, their sum is made likely. Rows of an
    output that has many count less each.
    """
    right, shared, importance = right_outputs(rows, outputs)
    is_shared = shared[:, None]

    def wanted_at(chances: Floats) -> Floats:
        among = chances * (right > 0)
        return np.where(is_shared, right, among / np.maximum(among.sum(axis=1, keepdims=True), 1e-12))

    def slope(weights: Floats) -> Floats:
        chances = chances_of(features @ weights)
        return features.T @ (importance[:, None] * (chances - wanted_at(chances))) + _RIDGE * weights

    weights = descended((features.shape[1], len(outputs)), slope, _N_STEPS, _STEP)
    return weights, wanted_at(chances_of(features @ weights))


def hash_of(path: Path) -> str:
    """Return a file's SHA-256."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
