"""Train the network of `models.pointer_graph` with torch, for `learning.finetune.second_tier`, and define its losses.

The lower layers are run once per text by the same int8 graph that serves later, so that the layers trained above them
see what they will see then. Matrices multiply in bfloat16 where the processor can; sums and norms of the losses are in
float32. The network itself is `learning.finetune.pointer_training`.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
import random
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812  the name everyone knows
from numpy.typing import NDArray
from torch import Tensor

from hearth.learning.finetune.lessons import Epoch, Lesson, Synthesis, Task, Text, Trained, lessons_sha256
from hearth.models.pointer import (
    MODEL_FILE,
    RECORD_FILE,
    TOOLS_FILE,
    LowerLayers,
    Pointer,
    ToolTable,
    matrices,
    read_record,
)
from hearth.models.pointer_graph import pointer_graph, read_weights
from hearth.models.sentence_encoder import start_session
from hearth.models.transformer_layers import LAYER_PARTS, N_LAYERS, WIDTH, Array, Shape, upper_weights
from hearth.protocols import Proposal

# ── The network ────────────────────────────────────────────────────────────────────────────────────────
# Define the network of tier two in torch: the mathematics of `models.pointer_graph`, over batches and with gradients.
# Functions over a table of weights: no modules, so that what is saved is what is named here.


Weights = dict[str, Tensor]

_N_LOOKED_AT = 24


@dataclass(frozen=True, slots=True)
class Out:
    first: Tensor
    """Scores of all tools by their texts, shape [n, n_tools]."""
    chosen: Tensor
    """Places of the tools looked at, shape [n, k]."""
    wanted: Tensor
    """Log-odds that each is wanted, shape [n, k]."""
    link: Tensor
    pair: Tensor
    """As in `models.pointer_graph.pointer_graph`, shape [n, k + 1, k + 1]."""


class Net:
    """The network of `models.pointer_graph`, over batches."""

    def __init__(self, shape: Shape, vectors: Tensor, kind: torch.dtype) -> None:
        self._shape = shape
        self._vectors = vectors.to(kind)
        self._type = kind

    def forward(
        self, w: Weights, x: Tensor, mask: Tensor, seen: Tensor, noise: tuple[torch.Generator, float, float]
    ) -> Out:
        """Run a batch.

        Args:
            x: Lower states, shape [n, tokens, 384]; `mask` is true at tokens.
            seen: Tools to look at whatever they score, 1 or 0, shape [n, n_tools].
            noise: Random generator, dropout, and how often a tool's learnt part is left out.
        """
        generator, dropout, delta_dropout = noise
        apart = torch.where(mask, 0.0, -1e9)[:, None, None, :]
        for layer in self._shape.upper:
            x = self._encoder_layer(x, apart, {part: w[f"e{layer}.{part}"] for part in LAYER_PARTS})
        n, width = len(x), self._shape.width
        delta = w["delta"] * (torch.rand(len(seen[0]), 1, generator=generator) >= delta_dropout)
        queries = self._linear(self._vectors, w["tq"]) + delta.to(self._type)
        keys = self._linear(x, w["tk"]).float()
        directions = F.normalize(queries.float(), dim=-1)
        near = (F.normalize(keys, dim=-1).to(self._type) @ directions.to(self._type).T).float()
        whole = F.normalize((keys * mask[..., None]).sum(1), dim=-1) @ directions.T
        first = near.masked_fill(~mask[..., None], -2.0).amax(1) * w["s1"][0] + whole * w["s1"][1]
        with torch.no_grad():
            drawn = first + 0.5 * torch.randn(first.shape, generator=generator) + 1e4 * seen
            chosen = drawn.topk(min(max(_N_LOOKED_AT, int(seen.sum(1).max())), first.shape[1]), 1).indices
        z = queries[chosen] + first.gather(1, chosen)[..., None].to(self._type) * w["sc"].to(self._type)
        ends = torch.stack([w["start"], w["end"]]).to(self._type).expand(n, 2, width)
        z = torch.cat([z, ends], 1)
        for block in range(self._shape.n_blocks):
            part = {name.partition(".")[2]: value for name, value in w.items() if name.startswith(f"b{block}.")}
            z = self._decoder_block(z, x, apart, part, generator, dropout)
        z = self._norm(z, w["no"], w["nob"])
        k = chosen.shape[1]
        rows, columns = z[:, : k + 1], torch.cat([z[:, :k], z[:, k + 1 :]], 1)
        link = self._table(rows, columns, w["la"], w["lb"], w["lscale"]) + (columns.float() @ w["u"])[:, None]
        pair = self._table(rows, columns, w["ma"], w["mb"], w["mscale"])
        return Out(first, chosen, z[:, :k].float() @ w["set"] + w["setb"], link, pair)

    def _encoder_layer(self, x: Tensor, apart: Tensor, w: Weights) -> Tensor:
        """Run one encoder layer. Source: Devlin et al. 2019, https://arxiv.org/abs/1810.04805."""
        n, tokens, _ = x.shape
        parts = self._linear(x, w["qkv"], w["qkvb"]).float().view(n, tokens, 3, 12, WIDTH // 12).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], attn_mask=apart)
        mixed = mixed.transpose(1, 2).reshape(n, tokens, WIDTH).to(self._type)
        x = self._norm(self._linear(mixed, w["o"], w["ob"]) + x, w["n1"], w["n1b"], 1e-12)
        inner = self._linear(F.gelu(self._linear(x, w["i"], w["ib"])), w["f"], w["fb"])
        return self._norm(inner + x, w["n2"], w["n2b"], 1e-12)

    def _decoder_block(
        self, z: Tensor, x: Tensor, apart: Tensor, w: Weights, generator: torch.Generator, dropout: float
    ) -> Tensor:
        y = self._norm(z, w["n1"], w["n1b"])
        seen = F.scaled_dot_product_attention(
            self._heads(y, w["cq"]), self._heads(x, w["ck"]), self._heads(x, w["cv"]), attn_mask=apart
        )
        z = z + _dropped(self._linear(self._joined(seen), w["co"]), dropout, generator)
        y = self._norm(z, w["n2"], w["n2b"])
        others = F.scaled_dot_product_attention(
            self._heads(y, w["sq"]), self._heads(y, w["sk"]), self._heads(y, w["sv"])
        )
        z = z + _dropped(self._linear(self._joined(others), w["so"]), dropout, generator)
        y = F.gelu(self._linear(self._norm(z, w["n3"], w["n3b"]), w["f1"], w["f1b"]))
        return z + _dropped(self._linear(y, w["f2"], w["f2b"]), dropout, generator)

    def _linear(self, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        return F.linear(x, weight.to(self._type), None if bias is None else bias.to(self._type))

    def _norm(self, x: Tensor, weight: Tensor, bias: Tensor, epsilon: float = 1e-5) -> Tensor:
        return F.layer_norm(x, x.shape[-1:], weight.to(self._type), bias.to(self._type), epsilon)

    def _heads(self, x: Tensor, weight: Tensor) -> Tensor:
        # Attention itself in float32: torch's bfloat16 kernel for it is slower on processors.
        n, length, _ = x.shape
        heads = self._shape.n_heads
        return self._linear(x, weight).float().view(n, length, heads, self._shape.width // heads).transpose(1, 2)

    def _joined(self, x: Tensor) -> Tensor:
        return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], self._shape.width).to(self._type)

    def _table(self, rows: Tensor, columns: Tensor, left: Tensor, right: Tensor, scale: Tensor) -> Tensor:
        of_rows, of_columns = self._linear(rows, left).float(), self._linear(columns, right).float()
        scores: Tensor = torch.einsum("bid,bjd->bij", of_rows, of_columns) * scale
        return scores


def fresh_weights(shape: Shape, published: Mapping[str, Array], n_tools: int, noise: torch.Generator) -> Weights:
    """Initialise weights: published upper layers, and a random decoder that at first finds tools by text alone."""
    d = shape.width

    def drawn(*dims: int, scale: float = 1.0) -> Tensor:
        weights: Tensor = torch.randn(*dims, generator=noise) * (scale * dims[-1] ** -0.5)
        return weights

    w: Weights = {n: torch.from_numpy(np.array(value)) for n, value in upper_weights(published, shape).items()}
    turned = torch.linalg.qr(torch.randn(WIDTH, WIDTH, generator=noise))[0][:d] * (WIDTH / d) ** 0.5
    w |= {"tq": turned.clone(), "tk": turned.clone(), "delta": 0.02 * torch.randn(n_tools, d, generator=noise)}
    w |= {"s1": torch.tensor([12.0, 12.0]), "sc": drawn(d, scale=0.03 * d**0.5)}
    w |= {"start": drawn(d, scale=0.5 * d**0.5), "end": drawn(d, scale=0.5 * d**0.5)}
    for block in range(shape.n_blocks):
        mine = {name: drawn(d, d) for name in ("cq", "sq", "sk", "sv")}
        mine |= {name: drawn(d, d, scale=0.5) for name in ("co", "so")}
        mine |= {"ck": drawn(d, WIDTH), "cv": drawn(d, WIDTH), "f1": drawn(2 * d, d), "f2": drawn(d, 2 * d, scale=0.5)}
        mine |= {"f1b": torch.zeros(2 * d), "f2b": torch.zeros(d)}
        for name in ("n1", "n2", "n3"):
            mine |= {name: torch.ones(d), f"{name}b": torch.zeros(d)}
        w |= {f"b{block}.{name}": value for name, value in mine.items()}
    w |= {"no": torch.ones(d), "nob": torch.zeros(d)}
    w |= {name: drawn(d, d) for name in ("la", "lb", "ma", "mb")}
    w |= {"u": drawn(d, scale=0.02 * d**0.5), "set": drawn(d, scale=0.02 * d**0.5), "setb": torch.tensor(-2.0)}
    w |= {"lscale": torch.tensor(d**-0.5), "mscale": torch.tensor(0.3 * d**-0.5)}
    return w


def _dropped(x: Tensor, share: float, generator: torch.Generator) -> Tensor:
    if not share:
        return x
    return x * (torch.rand(x.shape, generator=generator) >= share) / (1 - share)


# ── Losses and training ────────────────────────────────────────────────────────────────────────────────


_WARM_STEPS = 60
_WARM_SHARE = 0.1
"""Most steps until the full rate, as a share of all."""
_LEAST_RATE = 0.02
_MORE_RATE = 0.3
"""Share of the first rate, when going on with all lessons."""
_FAR = -1e4
_AVERAGED = 0.99


@dataclass(frozen=True, slots=True)
class _Sample:
    """A text ready to be learnt."""

    states: Tensor
    """States from the lower layers, shape [n_tokens, 384]."""
    tools: tuple[int, ...]
    """Places of the plan's tools, in order."""
    lesson: Lesson | None = None
    """The lesson of a taught text; None for a made one."""


def run(task: Task, lessons: Sequence[Lesson]) -> Iterator[Epoch | Trained]:
    """Train on the usable lessons of a task; see `learning.finetune.second_tier.train`."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(task.options.n_threads)
    try:
        yield from _Training(task, lessons).run()
    finally:
        torch.set_num_threads(n_threads)


class _Training:
    """One training run."""

    def __init__(self, task: Task, lessons: Sequence[Lesson]) -> None:
        self._task = task
        self._lessons = lessons
        self._options = o = task.options
        self._started = time.process_time()
        self._random = random.Random(task.seed)  # noqa: S311  nothing secret
        self._noise = torch.Generator().manual_seed(task.seed)
        self._type = torch.bfloat16 if _has_fast_bfloat16() else torch.float32
        self._shape = Shape(o.width, o.n_blocks, n_upper=o.n_upper, rank=o.rank)
        self._lower = LowerLayers.open(N_LAYERS - o.n_upper, n_threads=o.n_threads)
        self._parent = ""
        self._table, self._weights = self._first_weights()
        self._net = Net(self._shape, torch.from_numpy(self._table.vectors * np.float32(WIDTH**0.5)), self._type)
        self._place = {name: k for k, name in enumerate(task.tools)}
        self._averaged = {name: value.detach().clone() for name, value in self._weights.items()}
        self._n_done = 0
        self._epochs: list[Epoch] = []

    def run(self) -> Iterator[Epoch | Trained]:
        o = self._options
        lessons = list(self._lessons)
        states = {one.id: self._states(one.request) for one in lessons}
        order = sorted(lessons, key=lambda one: hashlib.sha256(f"{self._task.seed} {one.id}".encode()).digest())
        held = order[: round(o.held_share * len(order))]
        out = {one.id for one in held}
        kept = [one for one in lessons if one.id not in out]
        n_epochs = o.n_epochs + (o.n_epochs_more if held else 0)
        yield from self._epochs_over(kept, states, o.n_epochs, 1.0, n_epochs)
        proposals = self._propose(held)
        scores = self._scores(held, proposals)
        if held and o.n_epochs_more:
            yield from self._epochs_over(lessons, states, o.n_epochs_more, _MORE_RATE, n_epochs)
        record = self._write(scores)
        yield Trained(self._task.folder, proposals, record)

    # ── Weights ───────────────────────────────────────────────────────────────────────────────────────────

    def _first_weights(self) -> tuple[ToolTable, Weights]:
        task, start = self._task, self._task.start_from
        if start is None:
            weights = fresh_weights(self._shape, self._lower.published, len(task.tools), self._noise)
            table = ToolTable.of(task.tools, task.encoder, weights["tq"].numpy())
        else:
            record = read_record(start)
            self._parent = str(record["fingerprint"])
            self._shape = Shape(**record["shape"])  # type: ignore[arg-type]
            self._lower = LowerLayers.open(N_LAYERS - self._shape.n_upper, n_threads=self._options.n_threads)
            table = ToolTable.load(start / TOOLS_FILE).for_tools(task.tools, task.encoder)
            found = read_weights((start / MODEL_FILE).read_bytes(), self._lower.published, self._shape)
            weights = {name: torch.from_numpy(np.array(value)) for name, value in found.items()}
            weights |= {"tq": torch.from_numpy(table.projection), "delta": torch.from_numpy(table.deltas)}
        return table, {name: value.float().requires_grad_() for name, value in weights.items()}

    def _states(self, text: str) -> Tensor:
        return torch.from_numpy(self._lower.states(text)).to(self._type)

    # ── Epochs ────────────────────────────────────────────────────────────────────────────────────────────

    def _epochs_over(
        self, lessons: Sequence[Lesson], states: Mapping[str, Tensor], n: int, rate: float, n_epochs: int
    ) -> Iterator[Epoch]:
        o = self._options
        synthesis = Synthesis([Text(one.request, one.plans[0][0], one.steps) for one in lessons], self._task.seed)
        n_made = round(o.made_share * len(lessons))
        n_steps = n * math.ceil((len(lessons) + n_made) / o.batch)
        optimizer = self._optimizer()
        rates = [group["lr"] * rate for group in optimizer.param_groups]
        n_warm = max(1, min(_WARM_STEPS, round(_WARM_SHARE * n_steps)))
        step = 0
        for _ in range(n):
            made = [_Sample(self._states(t.request), self._places(t.tools)) for t in synthesis.make(n_made)]
            samples = made + [_Sample(states[one.id], self._places(self._drawn(one)), one) for one in lessons]
            total = np.zeros(2)
            batches = self._batches(samples)
            for batch in batches:
                share = min(1.0, (step + 1) / n_warm) * max(_LEAST_RATE, 1 - step / max(n_steps, 1))
                for group, first in zip(optimizer.param_groups, rates):
                    group["lr"] = first * share
                total += self._step(optimizer, batch)
                step += 1
            loss, sequence_loss = (float(value) for value in total / max(len(batches), 1))
            cpu_s = time.process_time() - self._started
            self._epochs.append(
                Epoch(len(self._epochs) + 1, n_epochs, len(samples), round(loss, 4), round(sequence_loss, 4), cpu_s)
            )
            yield self._epochs[-1]

    def _optimizer(self) -> torch.optim.Optimizer:
        o = self._options
        upper = [value for name, value in self._weights.items() if _is_encoder(name)]
        decoder = [value for name, value in self._weights.items() if not _is_encoder(name)]
        groups = [{"params": upper, "lr": o.encoder_rate}, {"params": decoder, "lr": o.rate}]
        return torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.01, fused=True)

    def _drawn(self, lesson: Lesson) -> tuple[str, ...]:
        """Draw one of the teachers' plans by its weight: over the epochs, this gives soft labels."""
        if len(lesson.plans) == 1:
            return lesson.plans[0][0]
        plans, weights = zip(*lesson.plans)
        return tuple(self._random.choices(plans, weights)[0])

    def _places(self, tools: Sequence[str]) -> tuple[int, ...]:
        return tuple(self._place[tool] for tool in tools)

    def _batches(self, samples: list[_Sample]) -> list[list[_Sample]]:
        """Batch texts of similar length, so that little time goes into padding; shuffled."""
        n = self._options.batch
        self._random.shuffle(samples)
        batches = []
        for start in range(0, len(samples), 16 * n):
            part = sorted(samples[start : start + 16 * n], key=lambda sample: len(sample.states))
            batches += [part[k : k + n] for k in range(0, len(part), n)]
        self._random.shuffle(batches)
        return batches

    def _step(self, optimizer: torch.optim.Optimizer, batch: Sequence[_Sample]) -> NDArray[np.float64]:
        optimizer.zero_grad(set_to_none=True)
        loss, sequence_loss = self._loss(batch)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(list(self._weights.values()), 1.0, foreach=True)
        optimizer.step()
        self._n_done += 1
        keep = min(_AVERAGED, (1 + self._n_done) / (10 + self._n_done))
        with torch.no_grad():
            averaged, now = list(self._averaged.values()), [value.detach() for value in self._weights.values()]
            torch._foreach_lerp_(averaged, now, 1 - keep)
        return np.array([float(loss.detach()), float(sequence_loss.detach())])

    # ── Losses ────────────────────────────────────────────────────────────────────────────────────────────

    def _loss(self, batch: Sequence[_Sample]) -> tuple[Tensor, Tensor]:
        """Return the total loss (with first tools, each tool's chance, candidates) and the sequence's alone."""
        o = self._options
        states, mask = _stacked([sample.states for sample in batch])
        wanted = torch.zeros(len(batch), len(self._place))
        for row, sample in enumerate(batch):
            wrong = _wrong(sample)
            wanted[row, [tool for k, tool in enumerate(sample.tools) if k not in wrong]] = 1.0
        seen = wanted.clone()
        for row, sample in enumerate(batch):
            seen[row, list(sample.tools)] = 1.0
            for plan, _ in sample.lesson.ranking if sample.lesson else ():
                seen[row, [self._place[tool] for tool in plan if tool in self._place]] = 1.0
        out = self._net.forward(self._weights, states, mask, seen, (self._noise, o.dropout, o.delta_dropout))
        sequence_loss = _sequence_loss(out, batch, o.smoothing)
        near = -(F.log_softmax(out.first, -1) * wanted).sum(1) / wanted.sum(1)
        chances = F.binary_cross_entropy_with_logits(out.wanted, wanted.gather(1, out.chosen), reduction="none")
        loss = sequence_loss + o.set_share * near.mean() + o.chance_share * chances.sum(1).mean()
        ranking = [
            _ranking_loss(out, row, [(self._places(plan), score) for plan, score in sample.lesson.ranking])
            for row, sample in enumerate(batch)
            if sample.lesson is not None and len(sample.lesson.ranking) > 1
        ]
        if ranking:
            loss = loss + o.ranking_share * torch.stack(ranking).sum() / len(batch)
        return loss, sequence_loss

    # ── What comes out ────────────────────────────────────────────────────────────────────────────────────

    def _made_graph(self) -> tuple[bytes, ToolTable]:
        arrays = {name: value.numpy() for name, value in self._averaged.items()}
        t = self._table
        table = ToolTable(t.names, t.vectors, t.marks, arrays.pop("delta"), arrays.pop("tq"))
        return pointer_graph(arrays, self._lower.published, self._shape), table

    def _propose(self, held: Sequence[Lesson]) -> dict[str, Proposal]:
        """Propose with the graph that will serve, so that the held proposals are what it would have said."""
        if not held:
            return {}
        graph, table = self._made_graph()
        session = start_session(graph, self._options.n_threads, matrices(self._lower.published, self._shape))
        pointer = Pointer(self._lower, session, table, "", self._task.graph)
        return {one.id: pointer.propose([one.request])[0] for one in held}

    def _scores(self, held: Sequence[Lesson], proposals: Mapping[str, Proposal]) -> dict[str, float]:
        first = [(one.plans[0][0], proposals[one.id].sequences) for one in held]
        pairs = [(plan, found[0][0]) for plan, found in first if found]
        if not pairs:
            return {}
        return {
            "accuracy": round(sum(set(a) == set(b) for a, b in pairs) / len(first), 4),
            "exact": round(sum(a == b for a, b in pairs) / len(first), 4),
            "n": len(first),
        }

    def _write(self, scores: Mapping[str, float]) -> dict[str, object]:
        task = self._task
        graph, table = self._made_graph()
        task.folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{task.folder.name}-", dir=task.folder.parent) as made:
            inside = Path(made) / "adapter"
            inside.mkdir()
            (inside / MODEL_FILE).write_bytes(graph)
            table.save(inside / TOOLS_FILE)
            hashes = {n: hashlib.sha256((inside / n).read_bytes()).hexdigest() for n in (MODEL_FILE, TOOLS_FILE)}
            record: dict[str, object] = {
                "fingerprint": hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()[:16],
                "files": hashes,
                "parent": self._parent,
                "lessons_sha256": lessons_sha256(self._lessons),
                "n_lessons": len(self._lessons),
                "ids": [one.id for one in self._lessons],
                "n_tools": len(task.tools),
                "seed": task.seed,
                "command": list(task.command),
                "options": asdict(task.options),
                "shape": asdict(self._shape),
                "losses": [[epoch.loss, epoch.sequence_loss] for epoch in self._epochs],
                "held": dict(scores),
                "cpu_s": round(time.process_time() - self._started, 1),
                "numbers": str(self._type).removeprefix("torch."),
                "torch": torch.__version__,
                "python": platform.python_version(),
                "bytes": sum((inside / n).stat().st_size for n in hashes),
            }
            (inside / RECORD_FILE).write_text(json.dumps(record, indent=1) + "\n")
            inside.rename(task.folder)
        return record


# ── Losses ────────────────────────────────────────────────────────────────────────────────────────────────


def _sequence_loss(out: Out, batch: Sequence[_Sample], smoothing: float) -> Tensor:
    """Return the mean over steps and end: cross-entropy with smoothed labels."""
    n, k = out.chosen.shape
    most = max(len(sample.tools) for sample in batch)
    before = torch.full((n, most + 1), k)
    after = torch.full((n, most + 1), k)
    counts = torch.zeros(n, most + 1)
    for row, sample in enumerate(batch):
        place = {int(tool): column for column, tool in enumerate(out.chosen[row])}
        columns = [place[tool] for tool in sample.tools]
        wrong = _wrong(sample)
        before[row, 1 : len(columns) + 1] = torch.tensor(columns)
        after[row, : len(columns)] = torch.tensor(columns)
        counts[row, : len(columns) + 1] = torch.tensor([float(at not in wrong) for at in range(len(columns) + 1)])
    past = F.one_hot(before, k + 1).float()
    past[:, 0] = 0.0
    past = past.cumsum(1)
    past[:, :, k] = 0.0
    z = out.link.gather(1, before[..., None].expand(-1, -1, k + 1)) + torch.bmm(past, out.pair)
    z = z.masked_fill(past > 0, _FAR)
    log_p = F.log_softmax(z, -1)
    free = (past == 0).float()
    hard = -log_p.gather(2, after[..., None])[..., 0]
    smooth = -(log_p * free).sum(-1) / free.sum(-1)
    losses = (1 - smoothing) * hard + smoothing * smooth
    return (losses * counts).sum() / counts.sum()


def _ranking_loss(out: Out, row: int, candidates: Sequence[tuple[tuple[int, ...], float]]) -> Tensor:
    """Compare the model's chances of the teacher's candidates with the teacher's, in nats.

    Source:
        ListNet: Cao et al. 2007, section 4.
    """
    place = {int(tool): column for column, tool in enumerate(out.chosen[row])}
    k = out.chosen.shape[1]
    scores = []
    for plan, _ in candidates:
        columns = [place[tool] for tool in plan]
        path = [k, *columns]
        sums = torch.zeros(k + 1)
        score = torch.zeros(())
        for at, column in enumerate([*columns, k]):
            z = out.link[row, path[at]] + sums
            if at:
                z = z.masked_fill(F.one_hot(torch.tensor(path[1 : at + 1]), k + 1).sum(0) > 0, _FAR)
            score = score + F.log_softmax(z, -1)[column]
            if column < k:
                sums = sums + out.pair[row, column]
        scores.append(score)
    taught = F.softmax(torch.tensor([score for _, score in candidates]), 0)
    return -(taught * F.log_softmax(torch.stack(scores), 0)).sum()


def _wrong(sample: _Sample) -> frozenset[int]:
    return sample.lesson.wrong if sample.lesson is not None and len(sample.lesson.plans) == 1 else frozenset()


def _stacked(states: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    length = max(len(one) for one in states)
    x = torch.zeros(len(states), length, WIDTH, dtype=states[0].dtype)
    mask = torch.zeros(len(states), length, dtype=torch.bool)
    for row, one in enumerate(states):
        x[row, : len(one)] = one
        mask[row, : len(one)] = True
    return x, mask


def _is_encoder(name: str) -> bool:
    return name[0] == "e" and name[1].isdigit()


def _has_fast_bfloat16() -> bool:
    """Say whether the processor multiplies bfloat16 natively; otherwise it is slower than float32."""
    asked = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(bool(getattr(torch.cpu, name, bool)()) for name in asked)
