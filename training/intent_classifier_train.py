"""Train the classifier of intents: `python -m training.intent_classifier_train` (half an hour; extra `train`).

All but the first layer of the shipped encoder, changed in whole, under a softmax over the tools: real people's requests
and the shipped demonstrations, each as the tool heads see it (`training.tool_heads_train`); in turn with a second task
(joint intent detection and segmentation; Gangadharaiah & Narayanaswamy 2019): under a logistic function of each token,
where an act begins, and what belongs to none (`training.act_labels`, decision 26). What the first layer says of a
request is read once and kept.
Writes src/hearth/data/intent_classifier.npz and .json: the matrices in seven bits, the rows of weights in half
precision; no text is in them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hearth.agent import shipped_demonstrations
from hearth.models.intent_classifier import MARKS, MAX_TOKENS, IntentClassifier
from hearth.models.lora_encoder import N_LAYERS, WIDTH, Array, load_weights, packed, unpacked
from hearth.models.sentence_encoder import shared_tokenizer, within
from hearth.types import Demonstration
from hearth_bench.data.request_corpus import RealRequest
from training.act_labels import UNKNOWN, LabelledActs, joined, labelled, one_act
from training.changed_encoder import ChangedEncoder
from training.tool_heads_train import (
    Row,
    asides_to_learn,
    asked_rows,
    data_folder,
    hash_of,
    mistyped,
    outputs_of,
    people_to_learn,
    requests_to_learn,
    right_outputs,
    rows_shown,
)

SEED = 0
_LAYERS = range(1, N_LAYERS)
"""Of 1,329 clauses of people not learnt from, .704 are right with the upper three alone, .730 with these."""
_BATCH, _N_EPOCHS, _DROPOUT = 64, 3, 0.1
_STEP, _HEAD_STEP, _N_WARM = 1.5e-4, 3e-3, 100
_SHARPNESS = 20.0
"""Times the softmax's weights on unit vectors: without, they would have to grow."""
_BELIEVED = 0.85
"""How far it is believed of words that it did not learn: a new author's are less like the others'."""
_PRECISION = torch.bfloat16 if "AVX512" in torch.backends.cpu.get_cpu_capability() else torch.float32
"""A processor without products in half precision is ten times as slow with them."""
_N_JOINED, _N_REAL = 3_500, 2_500
_ASIDE_WEIGHT = 0.5
_FEW_CUTS = -2.0
"""Bias at first of where acts begin: at few of all words."""


@dataclass(frozen=True)
class Taught:
    """The change, and what stands on it."""

    adapter: dict[str, Array]
    outputs: dict[str, Array]
    """Per output, and per mark of tokens, its weights and bias, shape [385]."""

    def packed(self) -> bytes:
        """Return the file of `models.intent_classifier`."""
        return packed(self.adapter, self.outputs)

    def opened(self, cache: Path) -> IntentClassifier:
        """Return it as homes use it, from half precision and in 8 bits; its graph is kept in `cache`."""
        data = self.packed()
        return IntentClassifier.of(*unpacked(data, {}), hashlib.sha256(data).hexdigest(), cache)


class Lower:
    """What the first layers of the encoder say of texts, each read once."""

    def __init__(self, texts: Sequence[str]) -> None:
        weights = load_weights()
        tokenizer = shared_tokenizer()
        lower = ChangedEncoder(weights, 1, _PRECISION, range(_LAYERS.start)).eval()
        words, places = weights["embeddings.word_embeddings.weight"], weights["embeddings.position_embeddings.weight"]
        segment = weights["embeddings.token_type_embeddings.weight"][0]
        ids = [np.array(within(one.ids, MAX_TOKENS)) for one in tokenizer.encode_batch(list(texts))]
        self.states: list[Tensor] = [torch.empty(0)] * len(ids)
        with torch.no_grad():
            for some in by_length([len(one) for one in ids], 128):
                rows = [torch.from_numpy(words[ids[k]] + places[: len(ids[k])] + segment) for k in some]
                padded, is_there = side_by_side(rows)
                for k, states in zip(some, lower(padded, is_there)):
                    self.states[k] = states[: len(ids[k])].to(torch.bfloat16)

    def __getitem__(self, places: Sequence[int]) -> tuple[Tensor, Tensor]:
        return side_by_side([self.states[k] for k in places])


def side_by_side(rows: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Return rows of states padded to one length, shape [rows, tokens, 384], and where they are."""
    padded = nn.utils.rnn.pad_sequence([row.float() for row in rows], batch_first=True)
    lengths = torch.tensor([len(row) for row in rows])
    return padded, torch.arange(padded.shape[1])[None, :] < lengths[:, None]


def by_length(lengths: Sequence[int], n: int) -> Iterator[list[int]]:
    """Return places, `n` at a time, those of like length together."""
    order = np.argsort(lengths, kind="stable").tolist()
    for start in range(0, len(order), n):
        yield order[start : start + n]


@dataclass(frozen=True)
class ActRows:
    """Requests whose acts are known, for the tokens that begin their words."""

    lower: Lower
    tokens: list[Tensor]
    """Per request, the token that begins each word, shape [words]."""
    marks: list[Tensor]
    """Per request, what is known of each word (`MARKS`), shape [words, 2]."""

    @classmethod
    def of(cls, acts: Sequence[LabelledActs]) -> ActRows:
        """Return requests; a word behind the tokens that are read is not learnt from."""
        tokenizer = shared_tokenizer()
        tokens, marks = [], []
        for one in acts:
            ids = {start: k for k, (start, end) in reversed([*enumerate(tokenizer.encode(one.text).offsets)]) if end}
            known = [k for k, (start, _) in enumerate(one.words) if 0 < ids.get(start, MAX_TOKENS) < MAX_TOKENS - 1]
            tokens.append(torch.tensor([ids[one.words[k][0]] for k in known]))
            marks.append(torch.tensor([[one.begins[k], one.is_aside[k]] for k in known]).reshape(-1, len(MARKS)))
        return cls(Lower([one.text for one in acts]), tokens, marks)


class Upper(nn.Module):  # type: ignore[misc, unused-ignore]
    """The changed layers, the softmax over a request, and the marks of its tokens."""

    def __init__(self, n_outputs: int) -> None:
        super().__init__()
        self.encoder = ChangedEncoder(load_weights(), None, _PRECISION, _LAYERS, _DROPOUT)
        self.head = nn.Linear(WIDTH, n_outputs)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)
        self.marks = nn.Linear(WIDTH, len(MARKS))
        nn.init.zeros_(self.marks.weight)
        nn.init.constant_(self.marks.bias, _FEW_CUTS)

    def vectors(self, states: Tensor, is_there: Tensor) -> Tensor:
        there = is_there[:, :, None].float()
        return functional.normalize((self.encoder(states, is_there) * there).sum(1) / there.sum(1), dim=1)

    def forward(self, states: Tensor, is_there: Tensor) -> Tensor:
        said: Tensor = self.head(self.vectors(states, is_there)) * _SHARPNESS
        return said


def taught(
    rows: Sequence[Row],
    lower: Lower,
    places: Sequence[int],
    outputs: Sequence[str],
    acts: Sequence[LabelledActs],
) -> Taught:
    """Return the change under which rows ask for what is right, and acts begin where they do.

    Args:
        rows: Those to learn; `places` are theirs in `lower`.
    """
    torch.manual_seed(SEED)
    draw = np.random.default_rng(SEED)
    right, is_shared, importance = right_outputs(rows, outputs)
    wanted, shared, weight = torch.tensor(right), torch.tensor(is_shared), torch.tensor(importance).clamp(max=5)
    known = ActRows.of(acts)
    net = Upper(len(outputs))
    steps = [
        {"params": net.encoder.parameters(), "lr": _STEP, "most": _STEP},
        {"params": [*net.head.parameters(), *net.marks.parameters()], "lr": _HEAD_STEP, "most": _HEAD_STEP},
    ]
    optimiser = torch.optim.AdamW(steps, weight_decay=0.01)
    lengths, act_lengths = [len(lower.states[k]) for k in places], [len(one) for one in known.lower.states]
    n_steps, step, started = _N_EPOCHS * (len(rows) // _BATCH + len(acts) // _BATCH), 0, time.perf_counter()
    for _ in range(_N_EPOCHS):
        batches = [(True, some) for some in _batches(lengths, draw)]
        batches += [(False, some) for some in _batches(act_lengths, draw)]
        for turn in draw.permutation(len(batches)):
            is_whole, some = batches[turn]
            factor = (1 + np.cos(np.pi * min(step / n_steps, 1))) / 2 * min(1, (step + 1) / _N_WARM)
            for group in optimiser.param_groups:
                group["lr"] = group["most"] * factor
            if is_whole:
                likely = functional.log_softmax(net(*lower[[places[k] for k in some]]), 1)
                mine = wanted[some]
                together = -(mine * likely).sum(1)
                one_of = -torch.logsumexp(likely.masked_fill(mine == 0, -1e9), 1)
                loss = (torch.where(shared[some], together, one_of) * weight[some]).mean()
            else:
                loss = _loss_of_marks(net, known, some)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimiser.step()
            step += 1
            if step % 100 == 0:
                passed_s = time.perf_counter() - started
                print(f"step {step} of {n_steps}, loss {loss.item():.3f}, {passed_s:.0f} s", file=sys.stderr)
    names = [*outputs, *(MARKS if acts else ())]
    return Taught(net.encoder.adapter(), dict(zip(names, _rows_of(net))))


def _loss_of_marks(net: Upper, known: ActRows, some: Sequence[int]) -> Tensor:
    """Return how far the marks of some requests are from what is known of them, by request."""
    states, is_there = known.lower[some]
    said = net.marks(net.encoder(states, is_there))
    mine = torch.cat([said[row, known.tokens[k]] for row, k in enumerate(some)])
    right = torch.cat([known.marks[k] for k in some])
    lost = functional.binary_cross_entropy_with_logits(mine, right.clamp(min=0).float(), reduction="none")
    return ((lost * (right != UNKNOWN)).sum(0) * torch.tensor([1.0, _ASIDE_WEIGHT])).sum() / len(some)


def _rows_of(net: Upper) -> Array:
    """Return the weights and, last, the bias of each output and mark, shape [outputs + 2, 385]."""
    heads = [(net.head, _SHARPNESS * _BELIEVED), (net.marks, 1.0)]
    rows = [torch.hstack([head.weight, head.bias[:, None]]).detach() * sharpness for head, sharpness in heads]
    return np.asarray(torch.vstack(rows).numpy(), dtype=np.float32)


def acts_to_learn(demonstrations: Sequence[Demonstration], asked: Sequence[RealRequest]) -> list[LabelledActs]:
    """Return requests whose acts are known: demonstrations', some of what real people `asked`, and joined ones.

    What nobody serves is joined to nothing: "remind me to buy milk and call Anna" is one wish.
    """
    told = [one for demonstration in demonstrations if (one := labelled(demonstration)) is not None]
    draw = np.random.default_rng(SEED)
    chosen = draw.choice(len(asked), min(_N_REAL, len(asked)), replace=False)
    real = [one_act(asked[place].text) for place in chosen]
    served = [one_act(asked[place].text) for place in chosen if asked[place].kind == "tool"]
    asides = [one.aside for one in told if one.aside] + asides_to_learn()
    short = [one for one in told if one.n_acts == 1 and not one.aside] + served
    made = joined(short, asides, _N_JOINED, SEED)
    several = [one for one in told if one.n_acts > 1]
    return [*told, *several, *several, *real, *made]


def _batches(lengths: Sequence[int], draw: np.random.Generator) -> Iterator[list[int]]:
    """Return places in batches of like length, in a drawn order."""
    order, pool = draw.permutation(len(lengths)), 50 * _BATCH
    found: list[list[int]] = []
    for start in range(0, len(order), pool):
        near = order[start : start + pool]
        near = near[np.argsort(np.array(lengths)[near], kind="stable")]
        found += [near[k : k + _BATCH].tolist() for k in range(0, len(near), _BATCH)]
    for k in draw.permutation(len(found)):
        yield found[k]


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--out", type=Path, default=Path("src/hearth/data/intent_classifier.npz"))
    chosen = options.parse_args()
    started = time.process_time()
    asked = requests_to_learn(())
    again = asked_rows(typed for _, typed in mistyped(asked))
    rows = [*rows_shown(), *asked_rows(asked), *again]
    acts = acts_to_learn([*shipped_demonstrations(), *people_to_learn()], asked)
    print(f"reading {len(rows):,} requests, the acts of {len(acts):,} …", file=sys.stderr)
    found = taught(rows, Lower([row.form for row in rows]), range(len(rows)), outputs_of(rows), acts)
    chosen.out.write_bytes(found.packed())
    about = {
        "outputs": outputs_of(rows),
        "n_rows": len(rows),
        "n_acts": len(acts),
        "layers": [*_LAYERS],
        "epochs": _N_EPOCHS,
        "dropout": _DROPOUT,
        "believed": _BELIEVED,
        "seed": SEED,
        "data": {path.name: hash_of(path) for path in sorted(data_folder().glob("*.jsonl"))},
        "command": "python -m training.intent_classifier_train",
    }
    chosen.out.with_suffix(".json").write_text(json.dumps(about, indent=2) + "\n")
    size = chosen.out.stat().st_size
    print(f"{chosen.out}: {size:,} bytes, {time.process_time() - started:.0f} cpu-s", file=sys.stderr)


if __name__ == "__main__":
    main()
