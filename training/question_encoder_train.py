"""Train the question encoder: `python -m training.question_encoder_train` (half an hour of a core; extra `train`).

A low-rank change (LoRA, Hu et al. 2021) of the shipped encoder, for questions alone: each is drawn to the passage that
answers it, and to the window of it that does, against all others of `home_passages.jsonl` (a softmax over likenesses,
as dense passage retrieval, Karpukhin et al. 2020, https://arxiv.org/abs/2004.04906). Passages keep the shipped
encoder's vectors, read once: an index need not be made again. Passages of the same home are the harder ones and count
several times. Every fifth piece is never read, as by the reader of answers (`home_pieces.read_pieces`); its questions
are ranked at the end. Writes src/hearth/data/question_encoder.npz and .json.

The same seed, pieces and torch give the same file. Not covered: other languages, pieces without an answer.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth.errors import MissingExtraError
from hearth.memory.search.passage_store import WINDOW_CHARACTERS, passages_of
from hearth.models.lora_encoder import QUESTION_ENCODER_FILE, Array, load_weights, packed, question_ids
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth_bench.suites.reading.home_pieces import HomePiece, read_pieces
from training.changed_encoder import ChangedEncoder

try:
    import torch
    from torch import Tensor, nn
    from torch.nn import functional
except ModuleNotFoundError:
    raise MissingExtraError("training the question encoder", "pip install 'hearth-agent[train]'") from None

HOMES = Path(__file__).with_name("home_passages.jsonl")
SEED, RANK, N_EPOCHS = 0, 16, 2
_STEP, _SHARPNESS_STEP, _SHARPNESS = 5e-4, 0.05, 25.0
"""Times the likenesses in the softmax at first; it is learnt, too."""
_BATCH = 128
_WARM = 0.06
_SIZES = (0, 260, WINDOW_CHARACTERS)
"""Characters of the windows against which questions are learnt; 0: the whole piece."""
_NEIGHBOURS, _NEAR = 12, 1.5
"""How far in the file a piece of the same home may stand, and the logarithm of how often it counts."""
_AMONG = 84
"""Pieces among which questions are ranked at the end: about a home."""
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Corpus:
    """Pieces in windows of each size, and questions that they answer."""

    vectors: Array
    """Of the windows, by the shipped encoder, shape [n_windows, 384]."""
    piece: Ints
    """Of which piece each is, shape [n_windows]."""
    size: Ints
    """Its place in `_SIZES`, shape [n_windows]."""
    questions: tuple[str, ...]
    asked_of: Ints
    """Which piece answers each question, shape [n_questions]."""
    gold: Ints
    """Which window of each size does, shape [n_questions, n_sizes]."""

    def columns(self, size: int) -> Ints:
        """Return the windows of one size; a piece that is no longer than one counts as a whole."""
        cut = set(self.piece[self.size == size].tolist())
        return np.flatnonzero((self.size == size) | ((self.size == 0) & ~np.isin(self.piece, list(cut))))


def corpus_of(pieces: Sequence[HomePiece], encoder: MiniLMEncoder) -> Corpus:
    """Cut pieces into windows and read them."""
    texts: list[str] = []
    kept: list[tuple[int, int, int, int]] = []  # piece, size, first and last character
    for number, piece in enumerate(pieces):
        lead = f"{piece.head}\n" if piece.head else ""
        for size, n_most in enumerate(_SIZES):
            cuts = [(cut.start, cut.end) for cut in passages_of(piece.text, n_most)] if n_most else []
            for start, end in [(0, len(piece.text))] if not n_most else cuts if len(cuts) > 1 else []:
                texts.append(lead + piece.text[start:end])
                kept.append((number, size, start, end))
    of: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for row, (number, size, start, end) in enumerate(kept):
        of.setdefault((number, size), []).append((start, end, row))
    questions, asked_of, gold = [], [], []
    for number, piece in enumerate(pieces):
        for one in piece.qa:
            if one.a:
                place = piece.text.index(one.a[0])
                windows = [of.get((number, size), of[number, 0]) for size in range(len(_SIZES))]
                gold.append([next((r for a, b, r in some if a <= place < b), some[0][2]) for some in windows])
                questions.append(one.q)
                asked_of.append(number)
    return Corpus(
        encoder.encode(texts),
        np.array([number for number, _, _, _ in kept]),
        np.array([size for _, size, _, _ in kept]),
        tuple(questions),
        np.array(asked_of),
        np.array(gold),
    )


class Questions(nn.Module):  # type: ignore[misc, unused-ignore]
    """The encoder with its change, and how sharply likenesses tell."""

    def __init__(self) -> None:
        super().__init__()
        weights = load_weights()
        self.encoder = ChangedEncoder(weights, RANK, torch.float32)
        self.sharpness = nn.Parameter(torch.tensor(_SHARPNESS))
        self._words, self._places, segments = (
            torch.tensor(np.array(weights[f"embeddings.{name}_embeddings.weight"]))
            for name in ("word", "position", "token_type")
        )
        self._segment = segments[0]

    def forward(self, ids: Sequence[Sequence[int]]) -> Tensor:
        """Return unit vectors of questions, shape [n, 384]."""
        n = max(map(len, ids))
        there = torch.tensor([[k < len(one) for k in range(n)] for one in ids])
        padded = torch.tensor([[*one, *[0] * (n - len(one))] for one in ids])
        states = self.encoder(self._words[padded] + self._places[:n] + self._segment, there)
        return functional.normalize((states * there[:, :, None]).sum(1) / there.sum(1, keepdim=True), dim=1)


def train(corpus: Corpus) -> Questions:
    """Learn the change."""
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    rng = np.random.default_rng(SEED)
    model = Questions()
    ids = [question_ids(question) for question in corpus.questions]
    windows = torch.tensor(corpus.vectors)
    columns = [corpus.columns(size) for size in range(len(_SIZES))]
    order = np.concatenate([rng.permutation(len(ids)) for _ in range(N_EPOCHS)])
    n_steps = len(order) // _BATCH
    optimizer = torch.optim.AdamW(
        [{"params": list(model.encoder.parameters())}, {"params": [model.sharpness], "lr": _SHARPNESS_STEP}],
        lr=_STEP,
        weight_decay=0.01,
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda k: min((k + 1) / (_WARM * n_steps), max(0.02, (n_steps - k) / n_steps))
    )
    began, recent = time.monotonic(), []
    for step in range(n_steps):
        batch = order[step * _BATCH : (step + 1) * _BATCH]
        optimizer.zero_grad()
        likeness = model([ids[k] for k in batch]) @ windows.T
        losses = [
            _loss(model.sharpness * likeness[:, mine], corpus, batch, mine, size) for size, mine in enumerate(columns)
        ]
        loss = torch.stack(losses).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.encoder.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        recent.append(float(loss.detach()))
        if (step + 1) % 20 == 0 or step + 1 == n_steps:
            print(f"{step + 1}/{n_steps} {time.monotonic() - began:.0f} s loss {np.mean(recent[-20:]):.3f}", flush=True)
    return model


def _loss(scores: Tensor, corpus: Corpus, batch: Ints, columns: Ints, size: int) -> Tensor:
    """Return the mean loss of a batch over the windows of one size: other windows of the piece that answers say
    nothing, those of the same home count several times."""
    gold = np.searchsorted(columns, corpus.gold[batch, size])
    of, asked_of = corpus.piece[columns][None, :], corpus.asked_of[batch][:, None]
    is_gold = np.arange(len(columns))[None, :] == gold[:, None]
    near = np.where(np.abs(of - asked_of) <= _NEIGHBOURS, _NEAR, 0.0)
    beside = np.where(of == asked_of, -1e4, near) * ~is_gold
    return functional.cross_entropy(scores + torch.tensor(beside, dtype=torch.float32), torch.tensor(gold))


def ranks(corpus: Corpus, vectors: Array) -> Ints:
    """Return at which place the piece that answers each question comes among about as many as a home has, 0 the first:
    by the mean likeness of the whole piece and of its best window, as the index ranks (`passage_store`)."""
    of_size = [corpus.columns(size) for size in (0, len(_SIZES) - 1)]
    n_pieces = int(corpus.piece.max()) + 1
    likeness = np.zeros((len(vectors), n_pieces), dtype=np.float32)
    for columns in of_size:
        best = np.full((n_pieces, len(vectors)), -1.0, dtype=np.float32)
        np.maximum.at(best, corpus.piece[columns], corpus.vectors[columns] @ vectors.T)
        likeness += best.T / len(of_size)
    found = []
    for row, number in zip(likeness, corpus.asked_of.tolist(), strict=True):
        first = number // _AMONG * _AMONG
        found.append(int((row[first : first + _AMONG] > row[number]).sum()))
    return np.array(found)


def figures(places: Ints) -> dict[str, float]:
    """Return the share of questions whose piece is among the first few."""
    return {f"at_{n}": round(float((places < n).mean()), 4) for n in (1, 3, 6, 10)}


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--out", type=Path, default=QUESTION_ENCODER_FILE)
    out = options.parse_args().out
    encoder = MiniLMEncoder.open(n_threads=1)
    model = train(corpus_of(read_pieces(HOMES, held=False), encoder))
    data = packed(model.encoder.adapter(), {})
    out.write_bytes(data)
    left_out = corpus_of(read_pieces(HOMES, held=True), encoder)
    with torch.no_grad():
        changed = np.concatenate([model([question_ids(question)]).numpy() for question in left_out.questions])
    record = {
        "what": "a low-rank change of all-MiniLM-L6-v2 for questions, drawn to the passages that answer them",
        "options": {"seed": SEED, "rank": RANK, "n_epochs": N_EPOCHS, "step": _STEP, "batch": _BATCH},
        "home_passages_sha256": hashlib.sha256(HOMES.read_bytes()).hexdigest(),
        "left_out": {
            "n_questions": len(left_out.questions),
            "among": _AMONG,
            "shipped_encoder": figures(ranks(left_out, encoder.encode(left_out.questions))),
            "this": figures(ranks(left_out, changed)),
        },
        "torch": torch.__version__,
        "command": "python -m training.question_encoder_train",
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    out.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record["left_out"]), file=sys.stderr)


if __name__ == "__main__":
    main()
