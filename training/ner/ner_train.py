"""Train the tagger: `python -m training.ner.ner_train` (extra `train`: torch, Faker).

A low-rank change of the sentence encoder, a table of word shapes and one linear head are trained on Hearth's own
sentences with made-up names (`training.ner.ner_data`), and on public requests that hold none (UltraTool and TaskBench,
MIT). It writes one small file and a record of how it was made. The same seed, data, torch, Faker and processor give the
same file, also when it is made in pieces (`--piece-s`, `--checkpoint`): the data of a step depend on its number.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import importlib.metadata
import json
import os
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth.errors import MissingExtraError
from hearth.formats.plans import read_jsonl
from hearth.models.lora_encoder import WIDTH, Array, load_weights, packed, unpacked
from hearth.models.ner import HEADS, KINDS, N_SHAPES, TAGGER_FILE, Tokens, tokens_of
from hearth.models.sentence_encoder import shared_tokenizer
from training.changed_encoder import ChangedEncoder
from training.ner.ner_data import FORMS_FILE, Example, Sentences, Shares, without_names
from training.ner.ner_values import WORDS_FILE, Values

try:
    import torch
    from torch import Tensor, nn
    from torch.nn import functional
except ModuleNotFoundError:
    raise MissingExtraError("training the tagger", "pip install 'hearth-agent[train]'") from None

_CLS, _SEP = 101, 102
_POOL = 512
"""Number of examples drawn together and sorted by length, so that little is padding."""
_ROW_TOKENS = 254
_IGNORED = -100
_POOLS_OF_STAGE = 1_000_000
"""Distance between the first pool numbers of two stages, so that no example is repeated."""


@dataclass(frozen=True, slots=True)
class Options:
    seed: int = 1
    rank: int = 24
    stages: tuple[tuple[int, float], ...] = ((480, 1.0),)
    """Steps of each stage, and its learning rates as a share of those below. They rise at once and fall to zero; a
    stage begins with the file of the one before."""
    batch_tokens: int = 1024
    lr: float = 1e-3
    lr_plain: float = 4e-4
    """Learning rate of norms and biases."""
    lr_heads: float = 2e-3
    n_threads: int = 1
    shares: Shares = field(default_factory=Shares)


class TaggerModel(nn.Module):  # type: ignore[misc, unused-ignore]
    """Trainable form of the model that `models.ner` runs."""

    def __init__(self, weights: Mapping[str, Array], rank: int) -> None:
        super().__init__()
        self.encoder = ChangedEncoder(weights, rank)
        self._words = torch.tensor(np.array(weights["embeddings.word_embeddings.weight"]))
        segment = weights["embeddings.token_type_embeddings.weight"][0]
        self._places = torch.tensor(np.array(weights["embeddings.position_embeddings.weight"] + segment))
        self.shapes = nn.Parameter(torch.zeros(N_SHAPES, WIDTH))
        self.tag = nn.Parameter(torch.randn(len(KINDS) + 1, WIDTH) * 0.02)
        self.tag_bias = nn.Parameter(torch.zeros(len(KINDS) + 1))

    def forward(self, ids: Tensor, shapes: Tensor, is_there: Tensor) -> Tensor:
        """Return the scores of no kind and of each kind, shape [rows, tokens, 1 + kinds]."""
        embedded = self._words[ids] + self._places[: ids.shape[1]] + shapes @ self.shapes
        scores: Tensor = self.encoder(embedded, is_there) @ self.tag.T + self.tag_bias
        return scores

    def load(self, data: bytes) -> None:
        """Load a tagger's file."""
        adapter, heads = unpacked(data, HEADS)
        self.encoder.load_adapter(adapter)
        with torch.no_grad():
            for name, value in heads.items():
                getattr(self, name).copy_(torch.from_numpy(value))

    def file(self) -> bytes:
        """Return the tagger's file."""
        heads = {"shapes": self.shapes, "tag": self.tag, "tag_bias": self.tag_bias}
        return packed(self.encoder.adapter(), {k: v.detach().numpy() for k, v in heads.items()})


@dataclass(frozen=True, slots=True)
class Row:
    tokens: Tokens
    targets: NDArray[np.int64]
    """0 for no kind, else the kind's place in `KINDS` plus one."""


def row_of(example: Example, tokens: Tokens) -> Row:
    """Make a row of the example's first tokens, with the kind of each."""
    targets = np.zeros(len(tokens.ids), dtype=np.int64)
    for start, end, kind in example.spans:
        inside = (tokens.spans[:, 0] < end) & (tokens.spans[:, 1] > start)
        targets[inside] = KINDS.index(kind) + 1
    most = slice(0, _ROW_TOKENS)
    return Row(Tokens(tokens.ids[most], tokens.spans[most], tokens.shapes[most]), targets[most])


class Batches:
    """Batches of rows; each pool of examples is drawn by its own number, so training can stop and continue."""

    def __init__(self, sentences: Sentences, options: Options) -> None:
        self._sentences = sentences
        self._tokenizer = shared_tokenizer()
        self._options = options

    def pool(self, number: int) -> list[list[Row]]:
        rng = random.Random(f"{self._options.seed} {number}")
        rows = []
        for _ in range(_POOL):
            example = self._sentences.example(rng)
            rows.append(row_of(example, tokens_of(self._tokenizer, example.text)))
        rows = sorted((row for row in rows if len(row.targets)), key=lambda row: len(row.targets))
        batches: list[list[Row]] = [[]]
        for row in rows:
            if batches[-1] and (len(batches[-1]) + 1) * (len(row.targets) + 2) > self._options.batch_tokens:
                batches.append([])
            batches[-1].append(row)
        rng.shuffle(batches)
        return batches

    def after(self, pool: int, batch: int) -> Iterator[tuple[int, int, list[Row]]]:
        """Yield batches from a place on, each with the place of the next."""
        while True:
            batches = self.pool(pool)
            for index in range(batch, len(batches)):
                is_last = index + 1 == len(batches)
                yield (pool + 1, 0, batches[index]) if is_last else (pool, index + 1, batches[index])
            pool, batch = pool + 1, 0


def loss_of(model: TaggerModel, rows: Sequence[Row]) -> Tensor:
    """Return the mean loss over the tokens of a batch."""
    n_tokens = max(len(row.targets) for row in rows) + 2
    ids = torch.zeros(len(rows), n_tokens, dtype=torch.long)
    there = torch.zeros(len(rows), n_tokens, dtype=torch.bool)
    shapes = torch.zeros(len(rows), n_tokens, N_SHAPES)
    targets = torch.full((len(rows), n_tokens), _IGNORED, dtype=torch.long)
    for b, row in enumerate(rows):
        n = len(row.targets)
        ids[b, 0], ids[b, n + 1] = _CLS, _SEP
        ids[b, 1 : n + 1] = torch.from_numpy(row.tokens.ids)
        there[b, : n + 2] = True
        shapes[b, 1 : n + 1] = torch.from_numpy(row.tokens.shapes)
        targets[b, 1 : n + 1] = torch.from_numpy(row.targets)
    scores = model(ids, shapes, there)
    return functional.cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=_IGNORED)


def read_requests(plans: Path, values: Values) -> tuple[list[str], dict[str, str]]:
    """Read public requests that hold no name, without those kept for measuring, and the hashes of their files."""
    paths = [plans / "ultratool" / "train.jsonl"]
    requests = [str(line["user_request"]) for _, line in read_jsonl(paths[0])]
    for domain in ("dailylife", "huggingface", "multimedia"):
        paths.append(plans / "taskbench_requests" / domain / "user_requests.json")
        requests += [str(line["user_request"]) for _, line in read_jsonl(paths[-1])]
    kept = [r for r in dict.fromkeys(requests) if not is_kept_back(r)]
    hashes = {str(p.relative_to(plans)): hashlib.sha256(p.read_bytes()).hexdigest() for p in paths}
    return without_names(kept, values), hashes


def is_kept_back(request: str) -> bool:
    """Return whether a public request is kept out of training, one in five, to count false finds in."""
    return hashlib.sha256(request.encode()).digest()[0] % 5 == 0


@dataclass(slots=True)
class Progress:
    """State of training."""

    stage: int = 0
    step: int = 0
    """Step within the stage."""
    pool: int = 0
    """Pool within the stage from which the next batch comes."""
    batch: int = 0
    loss: float = 0.0
    """Smoothed loss."""
    cpu_s: float = 0.0
    """CPU seconds of the earlier pieces."""


def train(
    plans: Path, options: Options, checkpoint: Path, piece_s: float, begun: tuple[int, bytes] | None = None
) -> tuple[bytes, dict[str, object]] | None:
    """Train, and return the tagger's file and its record, or None when the time of this piece is over.

    Args:
        plans: Folder with the public requests.
        checkpoint: File that keeps the state between pieces; removed at the end.
        piece_s: Seconds to train before the state is kept.
        begun: Stage to begin with, counted from 0, and the file of the stage before.
    """
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.n_threads)
    values = Values(options.seed)
    requests, hashes = read_requests(plans, values)
    batches = Batches(Sentences(values, requests, options.shares), options)
    model = TaggerModel(load_weights(), options.rank)
    progress = Progress()
    optimizer = _optimizer(model, options)
    if checkpoint.exists():
        kept = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        progress = Progress(**kept["progress"])
    elif begun is not None:
        progress.stage = begun[0]
        model.load(begun[1])
    until, cpu_began = time.monotonic() + piece_s, time.process_time()
    while True:
        if not _go_on(model, optimizer, batches, options, progress, until):
            progress.cpu_s += time.process_time() - cpu_began
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state | {"progress": dataclasses.asdict(progress)}, checkpoint)
            return None
        if progress.stage + 1 == len(options.stages):
            break
        progress = Progress(progress.stage + 1, loss=progress.loss, cpu_s=progress.cpu_s)
        model.load(model.file())
        optimizer = _optimizer(model, options)
    checkpoint.unlink(missing_ok=True)
    for path in (FORMS_FILE, WORDS_FILE):
        hashes[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    record: dict[str, object] = {
        "what": "tagger of names: low-rank changes to all-MiniLM-L6-v2, a table of word shapes, one head",
        "command": "python -m training.ner.ner_train",
        "kinds": KINDS,
        "options": dataclasses.asdict(options),
        "data_sha256": hashes,
        "n_requests_without_names": len(requests),
        "n_examples_of_last_stage": progress.pool * _POOL,
        "final_loss": round(progress.loss, 5),
        "cpu_s": round(progress.cpu_s + time.process_time() - cpu_began, 1),
        "torch": torch.__version__,
        "faker": importlib.metadata.version("faker"),
    }
    return model.file(), record


def _optimizer(model: TaggerModel, options: Options) -> torch.optim.Optimizer:
    groups = [
        {"params": list(model.encoder.low.parameters()), "peak": options.lr},
        {"params": list(model.encoder.plain.parameters()), "peak": options.lr_plain},
        {"params": [model.shapes, model.tag, model.tag_bias], "peak": options.lr_heads},
    ]
    return torch.optim.AdamW(groups, weight_decay=0.01, betas=(0.9, 0.98))


def _go_on(
    model: TaggerModel,
    optimizer: torch.optim.Optimizer,
    batches: Batches,
    options: Options,
    progress: Progress,
    until: float,
) -> bool:
    """Train to the end of the stage or until the given time; return whether the end was reached."""
    n_steps, share = options.stages[progress.stage]
    first = progress.stage * _POOLS_OF_STAGE
    for pool, batch, rows in batches.after(first + progress.pool, progress.batch):
        if progress.step == n_steps:
            return True
        if time.monotonic() > until:
            return False
        progress.pool, progress.batch = pool - first, batch
        factor = min(1.0, (progress.step + 1) / 60) * (1 - progress.step / n_steps)
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * share * factor
        loss = loss_of(model, rows)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        progress.step += 1
        value = float(loss.detach())
        progress.loss = 0.98 * (progress.loss or value) + 0.02 * value
        if progress.step % 50 == 0:
            left = f"{until - time.monotonic():.0f} s left" if until != float("inf") else ""
            print(f"stage {progress.stage + 1}  step {progress.step}  loss {progress.loss:.4f}  {left}", flush=True)
    raise AssertionError("batches never end")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Train the tagger of names.")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("HEARTH_DATA", "../shared/data")) / "plans")
    parser.add_argument("--out", type=Path, default=TAGGER_FILE)
    parser.add_argument("--checkpoint", type=Path, help="kept between pieces (beside --out)")
    parser.add_argument("--piece-s", type=float, default=float("inf"), help="stop after that long; run again to go on")
    defaults = Options()
    parser.add_argument("--start-from", type=Path, help="file that an earlier stage gave")
    parser.add_argument("--first-stage", type=int, default=1, help="with --start-from")
    parser.add_argument("--seed", type=int, default=defaults.seed)
    parser.add_argument("--rank", type=int, default=defaults.rank)
    parser.add_argument("--lr", type=float, default=defaults.lr)
    given = parser.parse_args(arguments)
    options = Options(seed=given.seed, rank=given.rank, lr=given.lr)
    begun = (given.first_stage - 1, given.start_from.read_bytes()) if given.start_from else None
    checkpoint = given.checkpoint or given.out.with_suffix(".checkpoint")
    found = train(given.data, options, checkpoint, given.piece_s, begun)
    if found is None:
        print(f"kept {str(checkpoint)!r}; run the same command again to go on")
        return 3
    data, record = found
    record["sha256"] = hashlib.sha256(data).hexdigest()
    given.out.write_bytes(data)
    given.out.with_suffix(".json").write_text(json.dumps(record, indent=2) + "\n")
    print(f"{given.out}: {len(data) / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
