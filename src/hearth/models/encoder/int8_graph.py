"""Build the sentence encoder's graph in 8-bit integers: two to three times as fast, vectors within cosine 0.99.

Weights are rounded per output, to seven bits (`MOST_STEPS`), activations at run time by the largest of a call. So texts
go through one at a time; otherwise a text's vector would depend on the other texts. The graph comes in parts of several
layers each: several texts go through one part before the next, so that its weights stay near (a fifth less time for
eight texts; six parts are no better than two).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import onnx

MOST_STEPS = 63
"""Steps to either side into which a weight is rounded. A processor without 8-bit dot products adds pairs of products in
16 bits; with 127 steps, a pair of large ones was cut off there, and one machine was sure where another was not."""

Weights = Mapping[str, NDArray[np.float32]]
Attributes = Mapping[str, int | float | list[int]]


class _QuickWriter:
    """Collects nodes and constants of a graph."""

    def __init__(self, weights: Weights) -> None:
        # Only the first start on a machine builds a graph; the others do not pay for importing onnx.
        import onnx

        self.onnx = onnx
        self._weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def node(
        self, operator: str, inputs: Sequence[str], attributes: Attributes | None = None, n_outputs: int = 1
    ) -> list[str]:
        helper = self.onnx.helper
        outputs = [f"{operator}_{len(self.nodes)}_{k}" for k in range(n_outputs)]
        node = helper.make_node(operator, list(inputs), outputs)
        node.attribute.extend(helper.make_attribute(name, value) for name, value in (attributes or {}).items())
        self.nodes.append(node)
        return outputs

    def one(self, operator: str, inputs: Sequence[str], attributes: Attributes | None = None) -> str:
        return self.node(operator, inputs, attributes)[0]

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def linear(self, x: str, names: Sequence[str]) -> str:
        """Add several linear layers of one input, side by side."""
        weight = np.concatenate([self._weights[f"{name}.weight"] for name in names]).T
        bias = np.concatenate([self._weights[f"{name}.bias"] for name in names])
        scale = np.abs(weight).max(axis=0) / MOST_STEPS
        key = names[0]
        rounded = self.constant(f"{key}.rounded", np.rint(weight / scale).astype(np.int8))
        zeros = self.constant(f"{key}.zeros", np.zeros(len(scale), np.int8))
        values, step, zero = self.node("DynamicQuantizeLinear", [x], n_outputs=3)
        summed = self.one("Cast", [self.one("MatMulInteger", [values, rounded, zero, zeros])], {"to": 1})
        unit = self.one("Mul", [step, self.constant(f"{key}.scale", scale.astype(np.float32))])
        return self.one("Add", [self.one("Mul", [summed, unit]), self.constant(f"{key}.bias", bias)])

    def layer_norm(self, x: str, name: str) -> str:
        parts = [self.constant(f"{name}.{part}", self._weights[f"{name}.{part}"]) for part in ("weight", "bias")]
        return self.one("LayerNormalization", [x, *parts], {"axis": -1, "epsilon": 1e-12})


def build_quick_graph(weights: Weights, layers: range, n_layers: int, n_heads: int, width: int) -> onnx.ModelProto:
    """Build a graph of some of BERT's `n_layers` layers, for one text.

    Input: `tokens`, shape [tokens, width]: for the first part word + position + segment rows, else the output of the
    part before. The last part has a second input, `pool`, shape [outputs, tokens].
    Output: of the last part unit vectors of pooled tokens, shape [outputs, width], else the input of the next part.

    Source:
        Devlin et al. 2019, https://arxiv.org/abs/1810.04805; rounding while running: Jacob et al. 2018,
        https://arxiv.org/abs/1712.05877
    """
    g = _QuickWriter(weights)
    scale = g.constant("scale", np.array((width // n_heads) ** -0.5, np.float32))
    by_head = g.constant("by_head", np.array([-1, 3, n_heads, width // n_heads], np.int64))
    by_token = g.constant("by_token", np.array([-1, width], np.int64))
    first = g.constant("first", np.array([0], np.int64))
    x = g.layer_norm("tokens", "embeddings.LayerNorm") if layers.start == 0 else "tokens"
    for layer in layers:
        name = f"encoder.layer.{layer}"
        joined = g.linear(x, [f"{name}.attention.self.{part}" for part in ("query", "key", "value")])
        joined = g.one("Transpose", [g.one("Reshape", [joined, by_head])], {"perm": [1, 2, 0, 3]})
        parts = g.node("Split", [joined], {"axis": 0, "num_outputs": 3}, 3)
        query, key, value = (g.one("Squeeze", [part, first]) for part in parts)
        turned = g.one("Transpose", [key], {"perm": [0, 2, 1]})
        scores = g.one("Softmax", [g.one("MatMul", [g.one("Mul", [query, scale]), turned])], {"axis": -1})
        mixed = g.one("Transpose", [g.one("MatMul", [scores, value])], {"perm": [1, 0, 2]})
        mixed = g.linear(g.one("Reshape", [mixed, by_token]), [f"{name}.attention.output.dense"])
        x = g.layer_norm(g.one("Add", [mixed, x]), f"{name}.attention.output.LayerNorm")
        inner = g.one("Gelu", [g.linear(x, [f"{name}.intermediate.dense"])])
        outer = g.linear(inner, [f"{name}.output.dense"])
        x = g.layer_norm(g.one("Add", [outer, x]), f"{name}.output.LayerNorm")
    helper, kind = g.onnx.helper, g.onnx.TensorProto.FLOAT
    inputs = [helper.make_tensor_value_info("tokens", kind, ["n_tokens", width])]
    if layers.stop == n_layers:
        x = g.one("LpNormalization", [g.one("MatMul", ["pool", x])], {"axis": -1, "p": 2})
        inputs.append(helper.make_tensor_value_info("pool", kind, ["n_outputs", "n_tokens"]))
    graph = helper.make_graph(
        g.nodes,
        "all-MiniLM-L6-v2 in 8 bits",
        inputs,
        [helper.make_tensor_value_info(x, kind, ["n_outputs", width])],
        g.constants,
    )
    # IR 9 with opset 20 (the first with Gelu) is read by every onnxruntime since 1.17.
    model: onnx.ModelProto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    return model
