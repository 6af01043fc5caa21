"""Train the argument reader's adapter: `python -m training.span_extractor_train` (extra `train`: torch).

A low-rank change to every matrix of the sentence encoder, its norms and biases, and the heads are trained together on
public calls (SGD: CC BY-SA 4.0; NesTools and NESTFUL: Apache-2.0) and on Hearth's own sentences. It writes one small
file and a record of how it was made: hashes of the data, seed, options, counts, command. The same seed, data, torch and
number of threads give the same file.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import random
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth.errors import MissingExtraError
from hearth.formats.plans import read_jsonl, read_tools
from hearth.models.lora_encoder import WIDTH, Array, load_weights, packed, unpacked
from hearth.models.sentence_encoder import MiniLMEncoder, shared_tokenizer
from hearth.models.span_extractor import (
    GIVEN,
    HEADS,
    KINDS,
    MATCH_TOKENS,
    NO,
    YES,
    Layout,
    Pieces,
)
from hearth.planning.arguments.schema_filler import ADAPTER_FILE, Likeness, match_text
from hearth.registry import load_tools
from hearth.types import ToolSpec
from hearth_bench.measure.planning.nested_split import nested_split, offered_folds
from training.changed_encoder import ChangedEncoder
from training.span_extractor_data import (
    PLAIN,
    Corpus,
    Exercise,
    Sample,
    Told,
    Variation,
    exercise,
    offered_samples,
    other_tool,
    pool,
    read_samples,
    samples_of,
    spoken_samples,
)

try:
    import torch
    from torch import Tensor, nn
    from torch.nn import functional
except ModuleNotFoundError:
    raise MissingExtraError("training the reader of arguments", "pip install 'hearth-agent[train]'") from None

_OWN = (
    Path(__file__).parents[1] / "src" / "hearth" / "data" / "demonstrations.jsonl",
    Path(__file__).parent / "data" / "reader_matters.json",
)
_PRECISION = torch.bfloat16 if "AVX512" in torch.backends.cpu.get_cpu_capability() else torch.float32
_SPOKEN = ("hwu", "slurp", "smcalflow", "xsid", "ha")
_BATCH_ROWS = 32
_POOL = 24
"""Number of batches drawn together and sorted by length, so that little is padding."""


@dataclass(frozen=True, slots=True)
class Options:
    seed: int = 1
    rank: int = 32
    n_steps: int = 1300
    """Steps of the first stage, of some 3,000 tokens each; the learning rate falls to zero at the end."""
    lr: float = 1e-3
    lr_plain: float = 4e-4
    """Learning rate of norms and biases."""
    lr_heads: float = 1e-3
    match_every: int = 6
    """Steps between two that also match conversations with tools."""
    other_tools: float = 0.12
    """Share of exercises that are followed by the form of a wrong tool."""
    n_threads: int = 1
    held_services: tuple[str, ...] = ()
    """Services of SGD that are left out, to choose options by."""
    save_every: int = 0
    """Steps between two intermediate files for inspection; 0: none are written."""
    n_second: int = 320
    """Steps of the second stage, where yes and no are more frequent and balanced."""
    second_lr: float = 0.6
    """Learning rates of the second stage, as a share of the first's."""
    n_third: int = 220
    """Steps of the third stage, mostly about references."""
    third_lr: float = 0.45
    n_fourth: int = 520
    """Steps of the fourth stage, mostly about functions offered to a request and the slots of people's requests."""
    fourth_lr: float = 0.6
    misfits_left_out: float = 0.5
    """Share of the functions offered and not asked for that a round leaves out."""
    fourth_layer: int = 2
    """First layer that the fourth stage changes."""
    fourth_batch_tokens: int = 2048
    kept: float = 0.5
    """Share of the weights before the fourth stage in those after it: their mean reads what either learnt."""
    held_fold: int = -1
    """Fifth of the requests with offered functions that is left out, to choose options by; -1 leaves none out."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Data and length of a training stage."""

    n_steps: int
    lr: float
    shares: tuple[float, float, float, float, float]
    """Shares of conversations with single calls, of requests with references, of Hearth's own demonstrations, of
    requests that are offered functions, of people's requests with slots."""
    variation: Variation
    first_layer: int = 0
    """First layer of the encoder that is changed."""
    batch_tokens: int = 3072


def stages_of(options: Options) -> tuple[Stage, ...]:
    """Return the stages: conversations, yes and no balanced, more references, then functions offered to requests."""
    return (
        Stage(options.n_steps, 1.0, (0.62, 0.28, 0.1, 0.0, 0.0), Variation()),
        Stage(
            options.n_second,
            options.second_lr,
            (0.62, 0.32, 0.06, 0.0, 0.0),
            _BALANCED,
        ),
        Stage(options.n_third, options.third_lr, (0.36, 0.58, 0.06, 0.0, 0.0), _BALANCED),
        Stage(
            options.n_fourth,
            options.fourth_lr,
            (0.15, 0.15, 0.03, 0.55, 0.12),
            _BALANCED,
            options.fourth_layer,
            options.fourth_batch_tokens,
        ),
    )


_BALANCED = Variation(matters=0.6, fates=(2, 4, 4, 3), turned=(1, 1))


# ── Model ─────────────────────────────────────────────────────────────────────────────────────────────────


class Reader(nn.Module):  # type: ignore[misc, unused-ignore]
    """MiniLM with a low-rank change, and the heads of `models.span_extractor`."""

    def __init__(self, weights: Mapping[str, Array], rank: int) -> None:
        super().__init__()
        self.encoder = ChangedEncoder(weights, rank, _PRECISION)
        self.words = torch.tensor(np.array(weights["embeddings.word_embeddings.weight"]))
        self.places = torch.tensor(np.array(weights["embeddings.position_embeddings.weight"]))
        self.segments = torch.tensor(np.array(weights["embeddings.token_type_embeddings.weight"]))
        self.heads = nn.ParameterDict({name: nn.Parameter(_head(name, self)) for name in HEADS})

    def states(self, ids: Tensor, is_text: Tensor, is_there: Tensor) -> Tensor:
        """Return states of shape [rows, tokens, 384]; `is_text` marks the tokens that get the text's segment."""
        table = torch.cat([self.words, self.heads["marks"]])
        x = table[ids] + self.places[: ids.shape[1]]
        x = x + torch.where(is_text[:, :, None], self.heads["segment"], self.segments[0])
        states: Tensor = self.encoder(x, is_there)
        return states

    def load(self, data: bytes) -> None:
        """Load an adapter's file."""
        adapter, heads = unpacked(data, HEADS)
        self.encoder.load_adapter(adapter)
        with torch.no_grad():
            for name, value in heads.items():
                self.heads[name].copy_(torch.from_numpy(value))

    def file(self) -> bytes:
        """Return the adapter's file."""
        return packed(self.encoder.adapter(), {k: v.detach().numpy() for k, v in self.heads.items()})


def _head(name: str, model: Reader) -> Tensor:
    shape = HEADS[name]
    if name == "marks":
        return torch.randn(shape) * 0.05
    if name == "segment":
        return model.segments[1].clone()
    if name in ("signs", "kind_signs"):
        return torch.tensor([2.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.2]) if name == "signs" else torch.zeros(shape)
    if len(shape) == 2 and shape == (WIDTH, WIDTH):
        return torch.eye(WIDTH) * 0.5 + torch.randn(shape) * 0.01
    return torch.randn(shape) * 0.02 if len(shape) == 2 or name == "fit" else torch.zeros(shape)


# ── Batches ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Row:
    layout: Layout
    exercise: Exercise
    signs: NDArray[np.float32]


class Batches:
    """Endless batches of rows, varied afresh."""

    def __init__(
        self,
        corpora: Sequence[tuple[Corpus, float]],
        pieces: Pieces,
        likeness: Likeness,
        options: Options,
        variation: Variation = PLAIN,
        seed: int = 0,
        n_tokens: int = 3072,
    ) -> None:
        self._n_tokens = n_tokens
        self._corpora = corpora
        self._variation = variation
        self.pieces = pieces
        self._likeness = likeness
        self.options = options
        self._rng = random.Random(options.seed + seed)
        self.n_exercises = 0

    def __iter__(self) -> Iterator[list[Row]]:
        waiting: list[Row] = []
        streams = [self._stream(corpus) for corpus, _ in self._corpora]
        shares = [share for _, share in self._corpora]
        while True:
            while len(waiting) < _POOL * 16:
                waiting += self._rows(next(self._rng.choices(streams, shares)[0]))
            waiting.sort(key=lambda row: len(row.layout.ids))
            batches: list[list[Row]] = [[]]
            for row in waiting:
                if batches[-1] and (
                    (len(batches[-1]) + 1) * len(row.layout.ids) > self._n_tokens or len(batches[-1]) >= _BATCH_ROWS
                ):
                    batches.append([])
                batches[-1].append(row)
            waiting = []
            self._rng.shuffle(batches)
            yield from batches

    def _stream(self, corpus: Corpus) -> Iterator[Exercise]:
        tools = sorted(corpus.tools.values(), key=lambda spec: spec.name)
        while True:
            order = list(corpus.samples)
            self._rng.shuffle(order)
            for sample in order:
                if not sample.is_fit and self._rng.random() < self.options.misfits_left_out:
                    continue
                self.n_exercises += 1
                yield exercise(sample, corpus, self._rng, self._variation)
                if tools and sample.is_fit and not sample.fields and self._rng.random() < self.options.other_tools:
                    yield other_tool(sample, self._confusable(sample, tools))

    def _confusable(self, sample: Sample, tools: Sequence[ToolSpec]) -> ToolSpec:
        """Choose another tool, usually one of the same domain."""
        near = [t for t in tools if t.domain == sample.spec.domain and t.name != sample.spec.name]
        others = [t for t in tools if t.name != sample.spec.name]
        return self._rng.choice(near if near and self._rng.random() < 0.6 else others)

    def _rows(self, one: Exercise) -> list[Row]:
        spec = replace(one.sample.spec, parameters=one.parameters)
        fields, signs = self._likeness.fields(spec, one.sample.fields)
        shown = [one.sample.fields.index(f) for f in fields]
        told = tuple(
            t if t.kind != GIVEN else replace(t, fields=tuple(shown.index(j) for j in t.fields if j in shown))
            for t in one.told
        )
        form = replace(one.form, given=tuple(f.text for f in fields))
        one = replace(one, form=form, told=told)
        return [Row(layout, one, signs) for layout in self.pieces.rows(form, one.text)]


def loss_of(model: Reader, rows: Sequence[Row]) -> Tensor:
    """Return the mean loss over the questions of a batch."""
    n_tokens = max(len(row.layout.ids) for row in rows)
    n_asked = max(1, max(len(row.layout.questions) for row in rows))
    ids = torch.zeros(len(rows), n_tokens, dtype=torch.long)
    there = torch.zeros(len(rows), n_tokens, dtype=torch.bool)
    is_text = torch.zeros_like(there)
    in_text = torch.zeros_like(there)
    asked_at = torch.zeros(len(rows), n_asked, dtype=torch.long)
    for b, row in enumerate(rows):
        n = len(row.layout.ids)
        ids[b, :n] = torch.from_numpy(row.layout.ids)
        there[b, :n] = True
        is_text[b, row.layout.text_first :] = True
        in_text[b, row.layout.text_first : n - 1] = True
        asked_at[b, : len(row.layout.question_at)] = torch.tensor(row.layout.question_at, dtype=torch.long)
    states = model.states(ids, is_text, there)
    asked = torch.gather(states, 1, asked_at[:, :, None].expand(-1, -1, WIDTH))
    across = states.transpose(1, 2) * WIDTH**-0.5
    heads = model.heads
    start, end, option, given = ((asked @ heads[h].T) @ across for h in ("start", "end", "option", "given"))
    apart = torch.where(in_text, 0.0, -1e4)[:, None]
    start, end = ((x + apart).log_softmax(-1) for x in (start, end))
    kinds = asked @ heads["kind"].T + heads["kind_bias"]
    said = start.exp() @ states
    polarity = torch.cat([said, asked * said], -1) @ heads["evidence"].T
    kinds = torch.cat([kinds[..., :YES], kinds[..., YES : NO + 1] + polarity], -1)
    losses, weights = [], 0
    fits = states[:, 0] @ heads["fit"] + heads["fit_bias"]
    for b, row in enumerate(rows):
        if not row.exercise.is_fit:
            continue
        for q, question in enumerate(row.layout.questions):
            part = _question_loss(
                model, row, question, (start[b, q], end[b, q], option[b, q], given[b, q], kinds[b, q]), q
            )
            if part is not None:
                losses.append(part)
                weights += 1
    is_fit = torch.tensor([float(row.exercise.is_fit) for row in rows])
    total = functional.binary_cross_entropy_with_logits(fits, is_fit, pos_weight=torch.tensor(0.5))
    return total + torch.stack(losses).sum() / weights if losses else total


def _question_loss(model: Reader, row: Row, question: int, scores: tuple[Tensor, ...], q: int) -> Tensor | None:
    given, kinds = scores[3:]
    told = row.exercise.told[question]
    layout = row.layout
    if told.kind < 0:
        return None
    mask = torch.zeros(len(KINDS))
    likeness = None
    if layout.given_at:
        signs = torch.from_numpy(row.signs[question, : len(layout.given_at)])
        likeness = given[list(layout.given_at)] + signs @ model.heads["signs"]
        mask = mask + functional.one_hot(torch.tensor(GIVEN), len(KINDS)) * (signs @ model.heads["kind_signs"]).max()
    else:
        mask[GIVEN] = -1e4
    if not layout.options_at[q]:
        mask[KINDS.index("option")] = -1e4
    loss = functional.cross_entropy(kinds + mask, torch.tensor(told.kind))
    values = [_value_loss(one, layout, scores, likeness, q) for one in (told, *told.others)]
    found = [value for value in values if value is not None]
    if found:
        loss = loss + torch.stack(found).mean()
    return loss if torch.isfinite(loss) and loss < 100 else None


def _value_loss(
    told: Told, layout: Layout, scores: tuple[Tensor, ...], likeness: Tensor | None, q: int
) -> Tensor | None:
    """Return the loss of one value's option, field or place; None if the row does not show it."""
    start, end, option, _, _ = scores
    if told.kind == KINDS.index("option") and told.option < len(layout.options_at[q]):
        return functional.cross_entropy(option[list(layout.options_at[q])], torch.tensor(told.option))
    if told.kind == GIVEN and likeness is not None:
        right = [j for j in told.fields if j < len(layout.given_at)]
        return -likeness.log_softmax(0)[right].logsumexp(0) if right else None
    mentions = token_spans(layout, told.spans)
    if not mentions:
        return None
    first, last = (torch.tensor(side) for side in zip(*mentions))
    return -(start[first] + end[last]).logsumexp(0)


def token_spans(layout: Layout, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the tokens (as places in the row) that cover spans of characters, without those beyond the window."""
    found = []
    for a, b in spans:
        inside = np.flatnonzero((layout.spans[:, 0] < b) & (layout.spans[:, 1] > a))
        if len(inside) and layout.spans[inside[0], 0] <= a and layout.spans[inside[-1], 1] >= b:
            found.append((layout.text_first + int(inside[0]), layout.text_first + int(inside[-1])))
    return found


def match_loss(model: Reader, samples: Sequence[Sample], tools: Sequence[ToolSpec], pieces: Pieces) -> Tensor:
    """Return the loss of matching conversations with the tools they ask for, among all tools."""
    names = [spec.name for spec in tools]
    texts = _mean_vectors(model, [s.text for s in samples], pieces)
    others = _mean_vectors(model, [match_text(spec) for spec in tools], pieces)
    target = torch.tensor([names.index(s.spec.name) for s in samples])
    return functional.cross_entropy(texts @ others.T / 0.05, target)


def _mean_vectors(model: Reader, texts: Sequence[str], pieces: Pieces) -> Tensor:
    rows = [[101, *pieces.text(text, MATCH_TOKENS)[0], 102] for text in texts]
    n = max(map(len, rows))
    ids = torch.zeros(len(rows), n, dtype=torch.long)
    there = torch.zeros(len(rows), n, dtype=torch.bool)
    for b, row in enumerate(rows):
        ids[b, : len(row)] = torch.tensor(row)
        there[b, : len(row)] = True
    states = model.states(ids, torch.zeros_like(there), there)
    means = (states * there[:, :, None]).sum(1) / there.sum(1, keepdim=True)
    return functional.normalize(means, dim=-1)


def _offered(samples: Sequence[Sample], tools: Sequence[ToolSpec], rng: random.Random) -> list[ToolSpec]:
    """Return the tools asked for, and two in five of the others."""
    wanted = {s.spec.name for s in samples}
    return [spec for spec in tools if spec.name in wanted or rng.random() < 0.4]


# ── Training ──────────────────────────────────────────────────────────────────────────────────────────────


def read_corpora(data: Path, options: Options) -> tuple[tuple[Corpus, ...], dict[str, str]]:
    """Read the corpora in the order of `Stage.shares`, and hash all files.

    Of the data with references, the part that `nested_split` holds back is left out.
    """
    paths = [
        data / "plans" / "sgd" / "train.jsonl",
        data / "plans" / "sgd" / "train_tool_desc.json",
        *(
            data / "plans" / n / file
            for n in ("nestools", "nestful", "bfcl")
            for file in ("dev.jsonl", "tool_desc.json")
        ),
        *(data / "requests" / f"{name}.jsonl" for name in _SPOKEN),
    ]
    hashes = {str(p.relative_to(data)): hashlib.sha256(p.read_bytes()).hexdigest() for p in paths}
    tools = read_tools(paths[1])
    calls = [s for s in read_samples(paths[0], tools) if s.group not in options.held_services]
    single = Corpus(calls, {n: t for n, t in tools.items() if n.partition(".")[0] not in options.held_services})
    single.values = pool(single.samples)
    nested = Corpus([], {})
    for name in ("nestools", "nestful"):
        tools = read_tools(data / "plans" / name / "tool_desc.json")
        lines = [line for _, line in read_jsonl(data / "plans" / name / "dev.jsonl")]
        for row in nested_split(len(lines))[0]:
            nested.samples += samples_of(lines[row], tools, name)
        nested.tools.update(tools)
    own_tools = load_tools(None).specs
    own = Corpus(read_samples(_OWN[0], own_tools, "own"), own_tools)
    for path in _OWN:
        hashes[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    offered_tools = read_tools(data / "plans" / "bfcl" / "tool_desc.json")
    offered = Corpus([], offered_tools)
    lines = [line for _, line in read_jsonl(data / "plans" / "bfcl" / "dev.jsonl")]
    for line, fold in zip(lines, offered_folds(lines)):
        if fold != options.held_fold:
            offered.samples += offered_samples(line, offered_tools)
    rng = random.Random(options.seed)
    spoken = Corpus([s for name in _SPOKEN for s in spoken_samples(data / "requests" / f"{name}.jsonl", rng)], {})
    return (single, nested, own, offered, spoken), hashes


def train(
    data: Path, options: Options, out: Path, start_from: bytes | None = None, first_stage: int = 1
) -> tuple[bytes, dict[str, object]]:
    """Train the adapter, and return its file and its record.

    Args:
        start_from: File of the stage before `first_stage`; only `first_stage` and later ones are run.
    """
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.n_threads)
    found, hashes = read_corpora(data, options)
    single = found[0]
    pieces = Pieces(shared_tokenizer())
    likeness = Likeness(MiniLMEncoder.open())
    model = Reader(load_weights(), options.rank)
    began, cpu_began = time.monotonic(), time.process_time()
    counts: list[dict[str, object]] = []
    if start_from is not None:
        model.load(start_from)
    for place, stage in enumerate(stages_of(options)):
        if place + 1 < first_stage or not stage.n_steps:
            continue
        corpora = [(corpus, share) for corpus, share in zip(found, stage.shares) if share]
        batches = Batches(corpora, pieces, likeness, options, stage.variation, place, stage.batch_tokens)
        counts.append(_run(model, stage, batches, single, out))
        out.with_suffix(f".stage{place + 1}.npz").write_bytes(model.file())
    record: dict[str, object] = {
        "what": "adapter of the argument reader: low-rank changes to all-MiniLM-L6-v2, and heads",
        "command": "python -m training.span_extractor_train",
        "options": dataclasses.asdict(options),
        "data_sha256": hashes,
        "licence": "trained on SGD, SMCalFlow and xSID (CC BY-SA 4.0), HWU64, SLURP and Home Assistant's sentences "
        "(CC BY 4.0), NesTools, NESTFUL and BFCL (Apache-2.0) and sentences written for Hearth; "
        "the adapter is distributed under CC BY-SA 4.0",
        "held_back": "one in five requests of nestools and nestful (nested_split); all of sgd/dev",
        "stages": counts,
        "wall_s": round(time.monotonic() - began, 1),
        "cpu_s": round(time.process_time() - cpu_began, 1),
        "torch": torch.__version__,
    }
    data_after = model.file()
    if start_from is not None and first_stage == len(stages_of(options)):
        data_after = averaged(start_from, data_after, options.kept)
    return data_after, record


def averaged(before: bytes, after: bytes, kept: float) -> bytes:
    """Return the file whose weights are the weighted mean of two adapters', `kept` of it of the first."""
    (low, heads), (later_low, later_heads) = unpacked(before, HEADS), unpacked(after, HEADS)
    return packed(
        {name: (1 - kept) * value + kept * low[name] for name, value in later_low.items()},
        {name: (1 - kept) * value + kept * heads[name] for name, value in later_heads.items()},
    )


def _run(model: Reader, stage: Stage, batches: Batches, single: Corpus, out: Path) -> dict[str, object]:
    """Train one stage, and return its cost and final losses."""
    options = batches.options
    changed = [_changed(part, stage.first_layer) for part in (model.encoder.low, model.encoder.plain, model.heads)]
    optimizer = torch.optim.AdamW(
        [
            {"params": changed[0], "peak": options.lr * stage.lr},
            {"params": changed[1], "peak": options.lr_plain * stage.lr},
            {"params": changed[2], "peak": options.lr_heads * stage.lr},
        ],
        weight_decay=0.01,
        betas=(0.9, 0.98),
    )
    rng = random.Random(options.seed + 1)
    tools = sorted(single.tools.values(), key=lambda spec: spec.name)
    smooth = defaultdict[str, float](float)
    began = time.monotonic()
    for step, rows in enumerate(batches):
        if step == stage.n_steps:
            break
        factor = min(1.0, (step + 1) / 60) * (1 - step / stage.n_steps)
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * factor
        _descend(model, optimizer, loss_of(model, rows), smooth, "read")
        if options.match_every and step % options.match_every == 0:
            some = rng.sample(single.samples, 24)
            loss = match_loss(model, some, _offered(some, tools, rng), batches.pieces)
            _descend(model, optimizer, loss, smooth, "match")
        if options.save_every and (step + 1) % options.save_every == 0:
            out.with_suffix(f".{step + 1}.npz").write_bytes(model.file())
        if (step + 1) % 20 == 0:
            losses = "  ".join(f"{name} {value:.3f}" for name, value in smooth.items())
            print(
                f"{time.monotonic() - began:6.0f} s  step {step + 1}  exercises {batches.n_exercises}  {losses}",
                flush=True,
            )
    return {
        "n_steps": stage.n_steps,
        "n_exercises": batches.n_exercises,
        "final_losses": {name: round(value, 4) for name, value in smooth.items()},
    }


_BELOW = frozenset({"marks", "segment"})
"""Heads that the first layer reads."""


def _changed(part: nn.ParameterDict, first_layer: int) -> list[nn.Parameter]:
    """Return the parameters that are changed; those below the first changed layer are kept as they are."""
    found = []
    for name, parameter in part.items():
        layer = re.search(r"layer\|(\d+)\|", name)
        is_below = int(layer[1]) < first_layer if layer else name in _BELOW or name.startswith("embeddings")
        parameter.requires_grad = first_layer == 0 or not is_below
        if parameter.requires_grad:
            found.append(parameter)
    return found


def _descend(
    model: Reader, optimizer: torch.optim.Optimizer, loss: Tensor, smooth: dict[str, float], name: str
) -> None:
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    value = float(loss.detach())
    smooth[name] = 0.98 * (smooth[name] or value) + 0.02 * value


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Train the argument reader's adapter.")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("HEARTH_DATA", "../shared/data")))
    parser.add_argument("--out", type=Path, default=ADAPTER_FILE)
    defaults = Options()
    parser.add_argument("--steps", type=int, default=defaults.n_steps)
    parser.add_argument("--save-every", type=int, default=0)
    parser.add_argument("--seed", type=int, default=defaults.seed)
    parser.add_argument("--rank", type=int, default=defaults.rank)
    parser.add_argument("--lr", type=float, default=defaults.lr)
    parser.add_argument("--second-steps", type=int, default=defaults.n_second)
    parser.add_argument("--third-steps", type=int, default=defaults.n_third)
    parser.add_argument("--fourth-steps", type=int, default=defaults.n_fourth)
    parser.add_argument("--hold-fold", type=int, default=defaults.held_fold)
    parser.add_argument("--start-from", type=Path, help="file that an earlier stage gave")
    parser.add_argument("--first-stage", type=int, default=1, choices=(1, 2, 3, 4))
    parser.add_argument("--match-every", type=int, default=defaults.match_every)
    parser.add_argument("--threads", type=int, default=defaults.n_threads)
    parser.add_argument("--hold", default="", help="services to leave out, apart by commas")
    given = parser.parse_args(arguments)
    options = Options(
        seed=given.seed,
        save_every=given.save_every,
        rank=given.rank,
        n_steps=given.steps,
        n_second=given.second_steps,
        n_third=given.third_steps,
        n_fourth=given.fourth_steps,
        held_fold=given.hold_fold,
        lr=given.lr,
        match_every=given.match_every,
        n_threads=given.threads,
        held_services=tuple(s for s in given.hold.split(",") if s),
    )
    begun = given.start_from.read_bytes() if given.start_from else None
    data, record = train(given.data, options, given.out, begun, given.first_stage)
    record["command"] = " ".join(["python -m training.span_extractor_train", *(arguments or sys.argv[1:])])
    record["sha256"] = hashlib.sha256(data).hexdigest()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_bytes(data)
    given.out.with_suffix(".json").write_text(json.dumps(record, indent=2) + "\n")
    print(f"{given.out}: {len(data) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
