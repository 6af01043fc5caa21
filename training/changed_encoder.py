"""Run the shipped sentence encoder in torch with a trainable change: of low rank (LoRA), or of whole matrices.

The output of `adapter` is the input of `models.lora_encoder`: the run-time graph is the same mathematics in 8
bits. Extra `train`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hearth.errors import MissingExtraError
from hearth.models.lora_encoder import MATRICES, N_LAYERS, WIDTH, Array, in_steps

try:
    import torch
    from torch import Tensor, nn
    from torch.nn import functional
except ModuleNotFoundError:
    raise MissingExtraError("training on the encoder", "pip install 'hearth-agent[train]'") from None

_N_HEADS = 12


class ChangedEncoder(nn.Module):  # type: ignore[misc, unused-ignore]
    """Computes states of padded rows of tokens; learns changes to every matrix, and norms and biases."""

    def __init__(
        self,
        weights: Mapping[str, Array],
        rank: int | None,
        precision: torch.dtype = torch.bfloat16,
        layers: range = range(N_LAYERS),
        dropout: float = 0.0,
    ) -> None:
        """Make the encoder from the weights of `models.lora_encoder.load_weights`.

        Args:
            rank: Of the changes; None changes the matrices themselves, which are then kept in single precision.
            precision: Of products; a processor without half-precision arithmetic is ten times as fast in `float32`.
            layers: Those that are run and changed. Where the first are left out, `forward` takes the states that they
                give in place of embeddings.
            dropout: Share of what a layer adds that is left out at each step of training.
        """
        super().__init__()
        self._precision = precision
        self._layers = layers
        self._dropout = nn.Dropout(dropout)
        first = "embeddings." if layers.start == 0 else "no embeddings"
        ours = tuple(f"encoder.layer.{layer}." for layer in layers)
        self._frozen: dict[str, Tensor] = {}
        self.low = nn.ParameterDict()
        self.whole = nn.ParameterDict()
        self.plain = nn.ParameterDict()
        for name in (name for name in MATRICES if name.startswith(ours)):
            matrix = torch.tensor(np.array(weights[f"{name}.weight"]))
            if rank is None:
                self.whole[_key(name)] = nn.Parameter(matrix)
                continue
            self._frozen[name] = matrix.to(precision)
            down = torch.empty(rank, matrix.shape[1])
            nn.init.normal_(down, std=matrix.shape[1] ** -0.5)
            self.low[_key(f"{name}.down")] = nn.Parameter(down)
            self.low[_key(f"{name}.up")] = nn.Parameter(torch.zeros(matrix.shape[0], rank))
        for name, value in weights.items():
            is_norm = "LayerNorm" in name and name.startswith((*ours, first))
            if is_norm or (name.startswith(ours) and name.endswith(".bias")):
                self.plain[_key(name)] = nn.Parameter(torch.tensor(np.array(value)))

    def forward(self, embedded: Tensor, is_there: Tensor) -> Tensor:
        """Return the last layer's states, shape [rows, tokens, 384].

        Args:
            embedded: Word + place + segment vectors, shape [rows, tokens, 384].
            is_there: False at padding, shape [rows, tokens].
        """
        x = self._norm(embedded, "embeddings.LayerNorm") if self._layers.start == 0 else embedded.to(self._precision)
        is_padding = ~is_there[:, None, None, :]
        n, m, _ = x.shape
        for layer in self._layers:
            name = f"encoder.layer.{layer}"
            query, key, value = (
                self._linear(x, f"{name}.attention.self.{part}").view(n, m, _N_HEADS, -1).transpose(1, 2)
                for part in ("query", "key", "value")
            )
            # Plain products: the gradient of the fused kernel takes four times as long on a processor.
            scores = torch.matmul(query * (WIDTH // _N_HEADS) ** -0.5, key.transpose(-1, -2))
            mixed = torch.matmul(scores.masked_fill(is_padding, -1e4).softmax(-1), value)
            mixed = self._linear(mixed.transpose(1, 2).reshape(n, m, WIDTH), f"{name}.attention.output.dense")
            x = self._norm(self._dropout(mixed) + x, f"{name}.attention.output.LayerNorm")
            inner = functional.gelu(self._linear(x, f"{name}.intermediate.dense"))
            added = self._dropout(self._linear(inner, f"{name}.output.dense"))
            x = self._norm(added + x, f"{name}.output.LayerNorm")
        return x.float()

    def adapter(self) -> dict[str, Array]:
        """Return the change, as `models.lora_encoder.AdaptedEncoder.open` takes it; whole matrices in seven bits."""
        found = {k.replace("|", "."): v.detach().numpy() for k, v in self.low.items()}
        for k, v in self.whole.items():
            found |= in_steps(k.replace("|", "."), v.detach().numpy())
        return found | {"=" + k.replace("|", "."): v.detach().numpy() for k, v in self.plain.items()}

    def load_adapter(self, adapter: Mapping[str, Array]) -> None:
        """Load a low-rank change that `adapter` returned."""
        with torch.no_grad():
            for name, value in adapter.items():
                target = self.plain[_key(name[1:])] if name.startswith("=") else self.low[_key(name)]
                target.copy_(torch.from_numpy(value))

    def _linear(self, x: Tensor, name: str) -> Tensor:
        bias = self.plain[_key(f"{name}.bias")].to(self._precision)
        if _key(name) in self.whole:
            return functional.linear(x, self.whole[_key(name)].to(self._precision), bias)
        down, up = (self.low[_key(f"{name}.{part}")].to(self._precision) for part in ("down", "up"))
        return functional.linear(x, self._frozen[name], bias) + functional.linear(functional.linear(x, down), up)

    def _norm(self, x: Tensor, name: str) -> Tensor:
        return functional.layer_norm(
            x.float(), (WIDTH,), self.plain[_key(f"{name}.weight")], self.plain[_key(f"{name}.bias")], 1e-12
        ).to(self._precision)


def _key(name: str) -> str:
    return name.replace(".", "|")
