"""Define the network of tier two in torch: the mathematics of `models.pointer_graph`, over batches and with gradients.

Functions over a table of weights: no modules, so that what is saved is what is named here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812  the name everyone knows
from torch import Tensor

from hearth.models.encoder.transformer_layers import LAYER_PARTS, WIDTH, Array, Shape, upper_weights

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
