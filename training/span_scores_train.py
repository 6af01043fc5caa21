"""Train the scores of free-text arguments: `python -m training.span_scores_train` (extra `train`: torch; some minutes).

The shipped demonstrations, whole and clause by clause: for each free-text parameter of each step, the words that are
its value, or that none are. The network is `hearth.planning.arguments.span_boundaries`; a stretch's chance is taken
among all stretches of the request and saying nothing. What a tool's file says of a parameter is embedded and a vector
of its own added, left out of every fourth row so that neither does all the work. Writes src/hearth/data/span_scores.npz
and span_scores.json: options, counts, hash of the demonstrations. The same seed, torch and number of threads give the
same file. `--hold-every N` leaves every Nth demonstration out and prints what is found in those.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import math
import random
import sys
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth.agent import shipped_demonstrations
from hearth.errors import MissingExtraError
from hearth.formats.plans import canonical
from hearth.language.reading import Utterance
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.arguments.alignment import ANY_TIME, LessonStep, Said, Token, explain, named_in, tokens_of
from hearth.planning.arguments.binding import TEXT_TYPES
from hearth.planning.arguments.span_boundaries import N_BUCKETS, REACH, shape_of, vectors_of
from hearth.registry import load_tools
from hearth.types import Context, Demonstration, ToolSpec

try:
    import torch
    from torch import Tensor, nn
except ModuleNotFoundError:
    raise MissingExtraError("training the scores of arguments", "pip install 'hearth-agent[train]'") from None

_OUT = Path(__file__).parents[1] / "src" / "hearth" / "data" / "span_scores.npz"
_DIM, _STATES, _WORDS, _SHAPES = 384, 96, 32, 4
_MOST_TOKENS, _LONGEST = 60, 30
_BATCH, _WITHOUT_OWN = 48, 0.25
_TOLD_SCALE = 4.0

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Options:
    seed: int = 1
    n_hidden: int = 192
    n_epochs: int = 14
    lr: float = 2e-3
    dropout: float = 0.4
    hold_every: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One parameter of one step: where in the words its value stands."""

    words: tuple[str, ...]
    vectors: Floats
    """Shape [words, dim]."""
    parameter: str
    """`tool.parameter`."""
    span: tuple[int, int] | None
    """First word and the one after the last; None where nothing is said."""
    demonstration: str


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=_OUT)
    parser.add_argument("--hold-every", type=int, default=0)
    given = parser.parse_args()
    options = Options(hold_every=given.hold_every)
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    specs, encoder = load_tools(None).specs, MiniLMEncoder.open(n_threads=1)
    shown = shipped_demonstrations()
    print(f"reading {len(shown):,} demonstrations …", file=sys.stderr)
    rows = [row for one in shown for row in rows_of(one, specs, encoder)]
    held = {one.id for number, one in enumerate(shown) if options.hold_every and number % options.hold_every == 0}
    names = sorted({row.parameter for row in rows})
    told = encoder.encode([_told(name, specs) for name in names]) * _TOLD_SCALE
    network = Network(torch.tensor(told), options)
    taught = [row for row in rows if row.demonstration not in held]
    loss = train(network, taught, names, options)
    if held:
        print(found_in(network, [row for row in rows if row.demonstration in held], names), file=sys.stderr)
    np.savez_compressed(given.out, parameters=np.array(names), **network.weights())  # type: ignore[arg-type]
    about = {
        "what": "scores of which words of a request are a free-text argument",
        "options": dataclasses.asdict(options),
        "n_rows": len(taught),
        "n_said": sum(row.span is not None for row in taught),
        "final_loss": round(loss, 4),
        "demonstrations_sha256": hashlib.sha256(
            (files("hearth.data") / "demonstrations.jsonl").read_bytes()
        ).hexdigest(),
        "torch": torch.__version__,
        "command": "python -m training.span_scores_train",
        "sha256": hashlib.sha256(given.out.read_bytes()).hexdigest(),
    }
    given.out.with_suffix(".json").write_text(json.dumps(about, indent=2) + "\n")


# ── What is learnt ────────────────────────────────────────────────────────────────────────────────────────


def rows_of(demonstration: Demonstration, specs: Mapping[str, ToolSpec], encoder: MiniLMEncoder) -> Iterator[Row]:
    """Yield the rows of a demonstration, of the whole request and of each clause with steps of its own."""
    text = demonstration.request
    context = Context(entities=named_in(demonstration.plan))
    said = Utterance(text, demonstration.now or ANY_TIME, context=context)
    whole = tokens_of(text, said.slots)
    clauses = [tokens_of(text, said.slots, act.start, act.end) for act in said.acts]
    (read,) = encoder.encode_tokens([text])
    for lesson in explain(demonstration):
        tokens = next((some for some in (whole, *clauses) if _words(some) == lesson.words), ())
        if not 0 < len(tokens) <= _MOST_TOKENS:
            continue
        vectors = vectors_of(tokens, read)
        for step in lesson.steps:
            for name, span in _spans_of(step, specs[step.tool], len(tokens)):
                yield Row(lesson.words, vectors, f"{step.tool}.{name}", span, demonstration.id)


def _words(tokens: Sequence[Token]) -> tuple[str, ...]:
    return tuple(token.word for token in tokens)


def _spans_of(step: LessonStep, spec: ToolSpec, n_words: int) -> Iterator[tuple[str, tuple[int, int] | None]]:
    for parameter in spec.parameters:
        source = step.sources.get(parameter.name)
        if parameter.enum or canonical(parameter.type) not in TEXT_TYPES:
            continue
        if source is None:
            yield parameter.name, None
        elif isinstance(source, Said) and source.last <= n_words:
            yield parameter.name, (source.first, source.last)


def _told(name: str, specs: Mapping[str, ToolSpec]) -> str:
    """Return what a tool's file says of a parameter."""
    tool, _, parameter = name.partition(".")
    described = specs[tool].parameter(parameter)
    return f"{tool.replace('_', ' ')}: {parameter}. {specs[tool].description} {described and described.description}"


# ── The network ───────────────────────────────────────────────────────────────────────────────────────────


class Network(nn.Module):  # type: ignore[misc, unused-ignore]
    """The network of `hearth.planning.arguments.span_boundaries`, to be trained."""

    def __init__(self, told: Tensor, options: Options) -> None:
        super().__init__()
        self.told = told
        self.words = nn.Embedding(N_BUCKETS, _WORDS)
        nn.init.normal_(self.words.weight, std=0.1)
        self.states = nn.Linear(_DIM, _STATES)
        self.around = nn.Linear((_STATES + _WORDS + _SHAPES) * (2 * REACH + 1), options.n_hidden)
        self.asked = nn.Linear(_DIM, options.n_hidden)
        self.own = nn.Embedding(len(told), options.n_hidden)
        nn.init.zeros_(self.own.weight)
        self.second = nn.Linear(options.n_hidden, options.n_hidden)
        self.out = nn.Linear(options.n_hidden, 3)
        self.absent = nn.Linear(options.n_hidden, 1)
        self.dropout = nn.Dropout(options.dropout)

    def forward(self, batch: Batch) -> Tensor:
        """Return scores of every stretch, then of saying nothing, shape [rows, words · words + 1]."""
        rows, n = batch.words.shape
        seen = torch.cat([self.states(batch.vectors), self.words(batch.words), batch.shapes], -1)
        seen = seen * batch.mask[..., None]
        blank = torch.zeros(rows, REACH, seen.shape[-1])
        padded = torch.cat([blank, seen, blank], 1)
        around = torch.cat([padded[:, k : k + n] for k in range(2 * REACH + 1)], -1)
        own = self.own(batch.parameters)
        if self.training:
            own = own * (torch.rand(rows, 1) > _WITHOUT_OWN)
        asked = (self.asked(self.told[batch.parameters]) + own)[:, None]
        hidden = self.dropout(torch.relu(self.around(self.dropout(around)) + asked))
        hidden = self.dropout(torch.relu(self.second(hidden) + asked))
        begins, ends, inside = self.out(hidden).unbind(-1)
        absent = self.absent((hidden * batch.mask[..., None]).max(1).values)
        sums = torch.cat([torch.zeros(rows, 1), torch.cumsum(inside * batch.mask, 1)], 1)
        grid = (begins - sums[:, :-1])[:, :, None] + (ends + sums[:, 1:])[:, None, :]
        place = torch.arange(n)
        length = place[None, :] - place[:, None]
        can_be = ((length >= 0) & (length < _LONGEST))[None] & (batch.mask[:, None, :] > 0)
        return torch.cat([grid.masked_fill(~can_be, -1e9).reshape(rows, -1), absent], 1)

    def weights(self) -> dict[str, NDArray[np.float16]]:
        """Return the weights as `SpanScorer` takes them, in 16 bits."""
        with torch.no_grad():
            told = self.asked(self.told) + self.own.weight
        found = {"parameters_told": told, "words": self.words.weight}
        for name in ("states", "around", "second", "out"):
            layer: nn.Linear = getattr(self, name)
            found |= {name: layer.weight.T, f"{name}_bias": layer.bias}
        found |= {"absent": self.absent.weight[0], "absent_bias": self.absent.bias[0]}
        return {name: values.detach().numpy().astype(np.float16) for name, values in found.items()}


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows side by side, shorter ones padded."""

    words: Tensor
    vectors: Tensor
    shapes: Tensor
    mask: Tensor
    parameters: Tensor
    right: Tensor
    """Index of the right stretch, shape [rows]."""


def batch_of(rows: Sequence[Row], names: Sequence[str]) -> Batch:
    n = max(len(row.words) for row in rows)
    words = np.zeros((len(rows), n), dtype=np.int64)
    vectors = np.zeros((len(rows), n, _DIM), dtype=np.float32)
    shapes = np.zeros((len(rows), n, _SHAPES), dtype=np.float32)
    mask = np.zeros((len(rows), n), dtype=np.float32)
    for index, row in enumerate(rows):
        m = len(row.words)
        words[index, :m] = [zlib.crc32(word.encode()) % N_BUCKETS for word in row.words]
        vectors[index, :m] = row.vectors
        shapes[index, :m] = [shape_of(word) for word in row.words]
        mask[index, :m] = 1.0
    right = [n * n if row.span is None else row.span[0] * n + row.span[1] - 1 for row in rows]
    parameters = [names.index(row.parameter) for row in rows]
    arrays = (words, vectors, shapes, mask, np.array(parameters), np.array(right))
    return Batch(*(torch.from_numpy(array) for array in arrays))


def train(network: Network, rows: Sequence[Row], names: Sequence[str], options: Options) -> float:
    """Train, and return the mean loss of the last round."""
    draw = random.Random(options.seed)
    adam = torch.optim.AdamW(network.parameters(), lr=options.lr, weight_decay=0.02)
    n_steps = options.n_epochs * math.ceil(len(rows) / _BATCH)
    step, loss, began = 0, 0.0, time.monotonic()
    for epoch in range(options.n_epochs):
        by_length = sorted(rows, key=lambda row: len(row.words) + 4 * draw.random())
        batches = [by_length[k : k + _BATCH] for k in range(0, len(rows), _BATCH)]
        draw.shuffle(batches)
        losses = []
        for some in batches:
            batch = batch_of(some, names)
            wrong = nn.functional.cross_entropy(network(batch), batch.right)
            adam.zero_grad()
            wrong.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            for group in adam.param_groups:
                group["lr"] = options.lr * min(1, (step + 1) / 100) * (1 + math.cos(math.pi * step / n_steps)) / 2
            adam.step()
            step += 1
            losses.append(wrong.item())
        loss = sum(losses) / len(losses)
        print(
            f"round {epoch + 1} of {options.n_epochs}: loss {loss:.3f}, {time.monotonic() - began:.0f} s",
            file=sys.stderr,
        )
    network.eval()
    return loss


def found_in(network: Network, rows: Sequence[Row], names: Sequence[str]) -> str:
    """Say how many of the right stretches, and of the rightly absent, are found."""
    right: dict[bool, list[bool]] = {True: [], False: []}
    with torch.no_grad():
        for start in range(0, len(rows), _BATCH):
            some = rows[start : start + _BATCH]
            batch = batch_of(some, names)
            for row, is_right in zip(some, (network(batch).argmax(1) == batch.right).tolist(), strict=True):
                right[row.span is not None].append(is_right)
    shares = {is_said: sum(given) / max(1, len(given)) for is_said, given in right.items()}
    return f"of {len(right[True])} said {shares[True]:.3f} found; of {len(right[False])} absent {shares[False]:.3f}"


if __name__ == "__main__":
    main()
