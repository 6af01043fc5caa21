"""Makes the tagger: `python -m hearth.learn.tagger_training` (extra `train`: torch, Faker).

A low-rank change of the sentence encoder, a table of shapes of words and one linear head are trained on sentences of
Hearth's own with made-up names (`learn.tagger_examples`), and on public requests that hold none (UltraTool and
TaskBench, MIT). Written are one small file and a record of how it came to be. The same seed, data, torch, Faker and
processor give the same file, also when it is made in pieces (`--piece-s`, `--checkpoint`): what a step learns from
depends on its number.
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
from hearth.learn.low_rank import LowRankEncoder
from hearth.learn.tagger_examples import FORMS_FILE, Example, Sentences, Shares, without_names
from hearth.learn.tagger_values import WORDS_FILE, Values
from hearth.models.adapted import WIDTH, Array, load_tokenizer, load_weights
from hearth.models.tagger import KINDS, N_SHAPES, TAGGER_FILE, WINDOW_TOKENS, Tokens, packed, tokens_of
from hearth.plan_format import read_jsonl

try:
    import torch
    from torch import Tensor, nn
    from torch.nn import functional
except ModuleNotFoundError:
    raise MissingExtraError("training the tagger", "pip install 'hearth-agent[train]'") from None

_CLS, _SEP = 101, 102
_POOL = 512
"""Examples drawn together and sorted by length, so that little is padding."""
_IGNORED = -100


@dataclass(frozen=True, slots=True)
class Options:
    seed: int = 1
    rank: int = 24
    n_steps: int = 2400
    batch_tokens: int = 1024
    lr: float = 1e-3
    lr_plain: float = 4e-4
    """For norms and biases."""
    lr_heads: float = 2e-3
    n_threads: int = 1
    shares: Shares = field(default_factory=Shares)


class TaggerModel(nn.Module):  # type: ignore[misc, unused-ignore]
    """What `models.tagger` runs, with gradients."""

    def __init__(self, weights: Mapping[str, Array], rank: int) -> None:
        super().__init__()
        self.encoder = LowRankEncoder(weights, rank)
        self._words = torch.tensor(np.array(weights["embeddings.word_embeddings.weight"]))
        segment = weights["embeddings.token_type_embeddings.weight"][0]
        self._places = torch.tensor(np.array(weights["embeddings.position_embeddings.weight"] + segment))
        self.shapes = nn.Parameter(torch.zeros(N_SHAPES, WIDTH))
        self.tag = nn.Parameter(torch.randn(len(KINDS) + 1, WIDTH) * 0.02)
        self.tag_bias = nn.Parameter(torch.zeros(len(KINDS) + 1))

    def forward(self, ids: Tensor, shapes: Tensor, is_there: Tensor) -> Tensor:
        """Scores of nothing and of each kind, shape [rows, tokens, 1 + kinds]."""
        embedded = self._words[ids] + self._places[: ids.shape[1]] + shapes @ self.shapes
        scores: Tensor = self.encoder(embedded, is_there) @ self.tag.T + self.tag_bias
        return scores

    def file(self) -> bytes:
        heads = {"shapes": self.shapes, "tag": self.tag, "tag_bias": self.tag_bias}
        return packed(self.encoder.adapter(), {k: v.detach().numpy() for k, v in heads.items()})


@dataclass(frozen=True, slots=True)
class Row:
    tokens: Tokens
    targets: NDArray[np.int64]
    """0 for nothing, else one more than the kind's place in `KINDS`."""


def row_of(example: Example, tokens: Tokens) -> Row:
    """At most a window of the example, with the kind of each token."""
    targets = np.zeros(len(tokens.ids), dtype=np.int64)
    for start, end, kind in example.spans:
        inside = (tokens.spans[:, 0] < end) & (tokens.spans[:, 1] > start)
        targets[inside] = KINDS.index(kind) + 1
    most = slice(0, WINDOW_TOKENS)
    return Row(Tokens(tokens.ids[most], tokens.spans[most], tokens.shapes[most]), targets[most])


class Batches:
    """Batches of rows; each pool of examples is drawn by its own number, so training may stop and go on."""

    def __init__(self, sentences: Sentences, options: Options) -> None:
        self._sentences = sentences
        self._tokenizer = load_tokenizer()
        self._options = options

    def pool(self, number: int) -> list[list[Row]]:
        rng = random.Random(f"{self._options.seed} {number}")  # noqa: S311  nothing secret is drawn
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
        """Batches from a place on, each with the place of the next."""
        while True:
            batches = self.pool(pool)
            for index in range(batch, len(batches)):
                is_last = index + 1 == len(batches)
                yield (pool + 1, 0, batches[index]) if is_last else (pool, index + 1, batches[index])
            pool, batch = pool + 1, 0


def loss_of(model: TaggerModel, rows: Sequence[Row]) -> Tensor:
    """Mean over the tokens of a batch."""
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
    """Public requests that hold no name, those kept for measuring left out, and hashes of their files."""
    paths = [plans / "ultratool" / "train.jsonl"]
    requests = [str(line["user_request"]) for _, line in read_jsonl(paths[0])]
    for domain in ("dailylife", "huggingface", "multimedia"):
        paths.append(plans / "taskbench_requests" / domain / "user_requests.json")
        requests += [str(line["user_request"]) for _, line in read_jsonl(paths[-1])]
    kept = [r for r in dict.fromkeys(requests) if not is_kept_back(r)]
    hashes = {str(p.relative_to(plans)): hashlib.sha256(p.read_bytes()).hexdigest() for p in paths}
    return without_names(kept, values), hashes


def is_kept_back(request: str) -> bool:
    """One public request in five is never trained on, to count false finds in."""
    return hashlib.sha256(request.encode()).digest()[0] % 5 == 0


def train(plans: Path, options: Options, checkpoint: Path, piece_s: float) -> tuple[bytes, dict[str, object]] | None:
    """The tagger's file and its record, or nothing when the time of this piece is over.

    Args:
        plans: The folder with the public requests.
        checkpoint: Where what there is so far is kept between pieces; removed at the end.
        piece_s: How long to go on before it is kept.
    """
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.n_threads)
    values = Values(options.seed)
    requests, hashes = read_requests(plans, values)
    batches = Batches(Sentences(values, requests, options.shares), options)
    model = TaggerModel(load_weights(), options.rank)
    optimizer = torch.optim.AdamW(
        [
            {"params": list(model.encoder.low.parameters()), "peak": options.lr},
            {"params": list(model.encoder.plain.parameters()), "peak": options.lr_plain},
            {"params": [model.shapes, model.tag, model.tag_bias], "peak": options.lr_heads},
        ],
        weight_decay=0.01,
        betas=(0.9, 0.98),
    )
    step, pool, batch, smooth, cpu_s = 0, 0, 0, 0.0, 0.0
    if checkpoint.exists():
        kept = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        step, pool, batch, smooth, cpu_s = kept["step"], kept["pool"], kept["batch"], kept["smooth"], kept["cpu_s"]
    began, cpu_began = time.monotonic(), time.process_time()
    for following, offset, rows in batches.after(pool, batch):
        pool, batch = following, offset
        if step == options.n_steps:
            break
        factor = min(1.0, (step + 1) / 60) * (1 - step / options.n_steps)
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * factor
        loss = loss_of(model, rows)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        value = float(loss.detach())
        smooth = 0.98 * (smooth or value) + 0.02 * value
        elapsed = time.monotonic() - began
        if step % 50 == 0:
            print(f"{elapsed:6.0f} s  step {step}  examples {pool * _POOL}  loss {smooth:.4f}", flush=True)
        if elapsed > piece_s and step < options.n_steps:
            spent = cpu_s + time.process_time() - cpu_began
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "cpu_s": spent}
            torch.save(state | {"step": step, "pool": pool, "batch": batch, "smooth": smooth}, checkpoint)
            checkpoint.with_suffix(".npz").write_bytes(model.file())
            return None
    checkpoint.unlink(missing_ok=True)
    for path in (FORMS_FILE, WORDS_FILE):
        hashes[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    record: dict[str, object] = {
        "what": "tagger of names: low-rank changes to all-MiniLM-L6-v2, a table of word shapes, one head",
        "command": "python -m hearth.learn.tagger_training",
        "kinds": KINDS,
        "options": dataclasses.asdict(options),
        "data_sha256": hashes,
        "n_requests_without_names": len(requests),
        "n_examples": pool * _POOL,
        "final_loss": round(smooth, 5),
        "cpu_s": round(cpu_s + time.process_time() - cpu_began, 1),
        "torch": torch.__version__,
        "faker": importlib.metadata.version("faker"),
    }
    return model.file(), record


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Train the tagger of names.")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("HEARTH_DATA", "../shared/data")) / "plans")
    parser.add_argument("--out", type=Path, default=TAGGER_FILE)
    parser.add_argument("--checkpoint", type=Path, help="kept between pieces (beside --out)")
    parser.add_argument("--piece-s", type=float, default=float("inf"), help="stop after that long; run again to go on")
    defaults = Options()
    parser.add_argument("--steps", type=int, default=defaults.n_steps)
    parser.add_argument("--seed", type=int, default=defaults.seed)
    parser.add_argument("--rank", type=int, default=defaults.rank)
    parser.add_argument("--lr", type=float, default=defaults.lr)
    given = parser.parse_args(arguments)
    options = Options(seed=given.seed, rank=given.rank, n_steps=given.steps, lr=given.lr)
    checkpoint = given.checkpoint or given.out.with_suffix(".checkpoint")
    found = train(given.data, options, checkpoint, given.piece_s)
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
