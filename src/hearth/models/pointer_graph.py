"""Build the graphs of tier two with int8 matrices, written by hand: the same numbers as the trainer's up to rounding.

Two graphs: the lower layers, which no training changes and all owners share, and the pointer, which is one owner's: the
decoder and the changes to the upper layers, whose published matrices are named, not stored. Matrices are int8 with a
scale for each output, activations are scaled at run time (`DynamicQuantizeMatMul`). One text at a time: no masks.
Building needs `onnx`, running does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from numpy.typing import NDArray

from hearth.models.transformer_layers import (
    LAYER_MATRICES,
    N_HEADS,
    WIDTH,
    Array,
    Shape,
    layer_weights,
    quantised,
    thinned,
    upper_weights,
)

_ENCODER_EPSILON, _DECODER_EPSILON = 1e-12, 1e-5
_ELSEWHERE = "published weights"


def lower_graph(weights: Mapping[str, Array], n_lower: int) -> bytes:
    """Build the first layers: `embedded` [tokens, 384] → states [tokens, 384]."""
    g = _Writer({})
    g.weights |= {
        f"norm{end}": weights[f"embeddings.LayerNorm.{kind}"] for end, kind in (("", "weight"), ("b", "bias"))
    }
    for layer in range(n_lower):
        g.weights |= {f"e{layer}.{part}": value for part, value in layer_weights(weights, layer).items()}
    x = g.norm("embedded", "norm", _ENCODER_EPSILON)
    for layer in range(n_lower):
        x = g.encoder_layer(x, f"e{layer}.")
    dims: list[str | int] = ["tokens", WIDTH]
    return g.finish([("embedded", dims)], [(x, dims)])


def pointer_graph(weights: Mapping[str, Array], published: Mapping[str, Array], shape: Shape) -> bytes:
    """Build the upper layers and the decoder.

    Args:
        weights: Upper layers as they are after training, and the decoder.
        published: The published file's weights: the changes to them are kept in thin matrices.

    Inputs: `states` [tokens, 384]; `queries` [n_tools, width], one for each tool; `directions` [width, n_tools], the
    same as columns of length 1; `k` [1], how many tools to look at closely.
    Outputs: `chosen` [k], places of those tools; `wanted` [k], log-odds that each is in the plan; `link` and `pair` [k
    + 1, k + 1], what the tool before and each earlier tool adds to the score of the next: the last row is the start,
    the last column the end; `vector` [width], the text's direction.
    """
    g = _Writer(weights)
    first_weights = upper_weights(published, shape)
    for layer in shape.upper:
        for name in (f"e{layer}.{part}" for part in LAYER_MATRICES):
            g.thin[name] = thinned(weights[name] - first_weights[name], shape.rank)
            g.weights[name] = first_weights[name]
    x = "states"
    for layer in shape.upper:
        x = g.encoder_layer(x, f"e{layer}.")

    vector, best, chosen = _looked_at(g, x)
    z = _decoded(g, x, best, chosen, shape)
    wanted, link, pair = _scored(g, z)
    inputs: list[tuple[str, Sequence[str | int]]] = [
        ("states", ["tokens", WIDTH]),
        ("queries", ["tools", shape.width]),
        ("directions", [shape.width, "tools"]),
    ]
    outputs: list[tuple[str, Sequence[str | int]]] = [
        (chosen, ["k"]),
        (wanted, ["k"]),
        (link, ["n", "n"]),
        (pair, ["n", "n"]),
        (vector, [1, shape.width]),
    ]
    return g.finish(inputs, outputs, wholes=["k"], whole_outputs=[chosen])


def _looked_at(g: _Writer, x: str) -> tuple[str, str, str]:
    """Return the text's direction, scores of the tools to look at, and their places. Scores combine the cosines to the
    nearest token and to the whole text."""
    keys = g.linear(x, "tk")
    near = g.node("ReduceMax", [g.node("MatMul", [g.unit(keys), "directions"]), g.whole("rows", [0])], {"keepdims": 0})
    vector = g.unit(g.node("ReduceSum", [keys, g.whole("rows", [0])], {"keepdims": 1}))
    whole = g.node("MatMul", [vector, "directions"])
    near = g.node("Mul", [near, g.fixed("s1_near", g.weights["s1"][:1])])
    whole = g.node("Mul", [whole, g.fixed("s1_whole", g.weights["s1"][1:2])])
    first = g.node("Reshape", [g.node("Add", [whole, near]), g.whole("flat", [-1])])
    best, chosen = g.pair("TopK", [first, "k"], {"axis": 0})
    return vector, best, chosen


def _decoded(g: _Writer, x: str, best: str, chosen: str, shape: Shape) -> str:
    """Decode the chosen tools, start and end, each after attending to the text and to the others."""
    trust = g.node(
        "MatMul", [g.node("Unsqueeze", [best, g.whole("as_column", [1])]), g.fixed("sc", g.weights["sc"][None])]
    )
    z = g.node("Add", [g.node("Gather", ["queries", chosen], {"axis": 0}), trust])
    z = g.node("Concat", [z, g.fixed("ends", np.stack([g.weights["start"], g.weights["end"]]))], {"axis": 0})
    for block in range(shape.n_blocks):
        z = g.decoder_block(z, x, f"b{block}.", shape)
    return g.norm(z, "no", _DECODER_EPSILON)


def _scored(g: _Writer, z: str) -> tuple[str, str, str]:
    """Return `wanted`, `link` and `pair`."""
    weights = g.weights
    n, zero, one = g.node("Shape", [z]), g.whole("zero", [0]), g.whole("one", [1])
    n = g.node("Slice", [n, zero, one])
    tools_end, rows_end = (g.node("Sub", [n, g.whole(name, [back])]) for name, back in (("two", 2), ("one", 1)))
    tools = g.node("Slice", [z, zero, tools_end, zero])
    rows = g.node("Slice", [z, zero, rows_end, zero])
    columns = g.node("Concat", [tools, g.node("Slice", [z, rows_end, g.whole("far", [2**31]), zero])], {"axis": 0})
    link = g.table(rows, columns, "la", "lb", float(weights["lscale"].reshape(-1)[0]))
    link = g.node(
        "Add", [link, g.node("Transpose", [g.node("MatMul", [columns, g.fixed("u", weights["u"][:, None])])])]
    )
    pair = g.table(rows, columns, "ma", "mb", float(weights["mscale"].reshape(-1)[0]))
    wanted = g.node("MatMul", [tools, g.fixed("set", weights["set"][:, None])])
    wanted = g.node(
        "Add", [g.node("Reshape", [wanted, g.whole("flat", [-1])]), g.fixed("setb", weights["setb"].reshape(1))]
    )
    return wanted, link, pair


class _Writer:
    """Collects the nodes and constants of a graph."""

    def __init__(self, weights: Mapping[str, Array]) -> None:
        self.weights = dict(weights)
        self.thin: dict[str, tuple[Array, Array]] = {}
        """Matrices that stay in the published file, with what is added to them."""
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}

    def node(
        self,
        operator: str,
        inputs: Sequence[str],
        attributes: Mapping[str, int | float | list[int]] | None = None,
        *,
        domain: str = "",
    ) -> str:
        output = f"{operator}_{len(self._nodes)}"
        node = onnx.helper.make_node(operator, list(inputs), [output], domain=domain)
        node.attribute.extend(onnx.helper.make_attribute(k, v) for k, v in (attributes or {}).items())
        self._nodes.append(node)
        return output

    def pair(self, operator: str, inputs: Sequence[str], attributes: Mapping[str, int]) -> tuple[str, str]:
        """Add a node with two outputs."""
        first = self.node(operator, inputs, dict(attributes))
        second = f"{first}_more"
        self._nodes[-1].output.append(second)
        return first, second

    def fixed(self, name: str, value: NDArray[np.generic]) -> str:
        if name not in self._constants:
            self._constants[name] = onnx.numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def whole(self, name: str, value: list[int]) -> str:
        return self.fixed(f"whole_{name}", np.array(value, dtype=np.int64))

    def linear(self, x: str, name: str, bias: str = "") -> str:
        """Add x · weight transposed (+ bias), the weight [out, in] as int8 with a scale for each output."""
        small, scale = quantised(np.asarray(self.weights[name], dtype=np.float32))
        keep = self.elsewhere if name in self.thin else self.fixed
        inputs = [x, keep(name, small), keep(f"{name}.scale", scale), ""]
        inputs += [self.fixed(bias, np.asarray(self.weights[bias], dtype=np.float32))] if bias else []
        product = self.node("DynamicQuantizeMatMul", inputs, domain="com.microsoft")
        if name not in self.thin:
            return product
        down, up = self.thin[name]
        inner = self.node("MatMul", [x, self.fixed(f"{name}.down", down.T)])
        return self.node("Add", [product, self.node("MatMul", [inner, self.fixed(f"{name}.up", up.T)])])

    def elsewhere(self, name: str, value: NDArray[np.generic]) -> str:
        """Name a tensor that is passed to the session when it starts."""
        tensor = onnx.numpy_helper.from_array(value, name)
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=_ELSEWHERE)
        self._constants[name] = tensor
        return name

    def norm(self, x: str, name: str, epsilon: float) -> str:
        inputs = [x, self.fixed(name, self.weights[name]), self.fixed(f"{name}b", self.weights[f"{name}b"])]
        return self.node("LayerNormalization", inputs, {"axis": -1, "epsilon": epsilon})

    def unit(self, x: str) -> str:
        return self.node("LpNormalization", [x], {"axis": -1, "p": 2})

    def attention(self, query: str, key: str, value: str, n_heads: int, width: int) -> str:
        by_head = self.whole(f"by_{n_heads}_heads_of_{width}", [-1, n_heads, width // n_heads])
        scale = self.fixed(f"scale_{width}_{n_heads}", np.array((width // n_heads) ** -0.5, np.float32))
        query = self.node("Mul", [query, scale])
        query, value = (
            self.node("Transpose", [self.node("Reshape", [one, by_head])], {"perm": [1, 0, 2]})
            for one in (query, value)
        )
        key = self.node("Transpose", [self.node("Reshape", [key, by_head])], {"perm": [1, 2, 0]})
        weights = self.node("Softmax", [self.node("MatMul", [query, key])], {"axis": -1})
        mixed = self.node("Transpose", [self.node("MatMul", [weights, value])], {"perm": [1, 0, 2]})
        return self.node("Reshape", [mixed, self.whole(f"by_row_of_{width}", [-1, width])])

    def encoder_layer(self, x: str, name: str) -> str:
        """Add one encoder layer. Source: Devlin et al. 2019, https://arxiv.org/abs/1810.04805."""
        parts = self.linear(x, f"{name}qkv", f"{name}qkvb")
        ends = self.whole("thirds", [WIDTH, WIDTH, WIDTH])
        query = self.node("Split", [parts, ends], {"axis": 1})
        key, value = f"{query}_key", f"{query}_value"
        self._nodes[-1].output.extend([key, value])
        mixed = self.linear(self.attention(query, key, value, N_HEADS, WIDTH), f"{name}o", f"{name}ob")
        x = self.norm(self.node("Add", [mixed, x]), f"{name}n1", _ENCODER_EPSILON)
        inner = self.linear(self.node("Gelu", [self.linear(x, f"{name}i", f"{name}ib")]), f"{name}f", f"{name}fb")
        return self.norm(self.node("Add", [inner, x]), f"{name}n2", _ENCODER_EPSILON)

    def decoder_block(self, z: str, x: str, name: str, shape: Shape) -> str:
        """Add one decoder block: tools attend to the text, then to each other."""
        y = self.linear(self.norm(z, f"{name}n1", _DECODER_EPSILON), f"{name}cq")
        keys, values = self.linear(x, f"{name}ck"), self.linear(x, f"{name}cv")
        seen = self.attention(y, keys, values, shape.n_heads, shape.width)
        z = self.node("Add", [z, self.linear(seen, f"{name}co")])
        y = self.norm(z, f"{name}n2", _DECODER_EPSILON)
        query, key, value = (self.linear(y, f"{name}s{part}") for part in "qkv")
        others = self.attention(query, key, value, shape.n_heads, shape.width)
        z = self.node("Add", [z, self.linear(others, f"{name}so")])
        y = self.norm(z, f"{name}n3", _DECODER_EPSILON)
        y = self.linear(self.node("Gelu", [self.linear(y, f"{name}f1", f"{name}f1b")]), f"{name}f2", f"{name}f2b")
        return self.node("Add", [z, y])

    def table(self, rows: str, columns: str, left: str, right: str, scale: float) -> str:
        of_rows, of_columns = self.linear(rows, left), self.linear(columns, right)
        product = self.node("MatMul", [of_rows, self.node("Transpose", [of_columns])])
        return self.node("Mul", [product, self.fixed(f"{left}.share", np.array(scale, np.float32))])

    def finish(
        self,
        inputs: Sequence[tuple[str, Sequence[str | int]]],
        outputs: Sequence[tuple[str, Sequence[str | int]]],
        *,
        wholes: Sequence[str] = (),
        whole_outputs: Sequence[str] = (),
    ) -> bytes:
        helper, number, whole = onnx.helper, onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
        graph = helper.make_graph(
            self._nodes,
            "hearth-pointer",
            [
                *(helper.make_tensor_value_info(name, number, dims) for name, dims in inputs),
                *(helper.make_tensor_value_info(name, whole, [1]) for name in wholes),
            ],
            [
                helper.make_tensor_value_info(name, whole if name in whole_outputs else number, dims)
                for name, dims in outputs
            ],
            list(self._constants.values()),
        )
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
        return bytes(model.SerializeToString())


def read_weights(graph: bytes, published: Mapping[str, Array], shape: Shape) -> dict[str, Array]:
    """Read the weights of a pointer graph, for training to go on from it; int8 ones as the numbers they stand for."""
    model = onnx.load_model_from_string(graph)
    inside = [tensor for tensor in model.graph.initializer if tensor.data_location != onnx.TensorProto.EXTERNAL]
    raw = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in inside}
    found: dict[str, Array] = {}
    for name, value in raw.items():
        if f"{name}.scale" in raw:
            found[name] = np.ascontiguousarray((value.astype(np.float32) * raw[f"{name}.scale"]).T)
        elif value.dtype == np.float32 and not name.endswith((".scale", ".down", ".up")):
            found[name] = value
    for name, value in upper_weights(published, shape).items():
        if f"{name}.down" in raw:
            found[name] = value + (raw[f"{name}.down"] @ raw[f"{name}.up"]).T
    found["s1"] = np.concatenate([found.pop("s1_near"), found.pop("s1_whole")])
    found["start"], found["end"] = found.pop("ends")
    found["sc"], found["u"], found["set"] = found["sc"][0], found["u"][:, 0], found["set"][:, 0]
    found["lscale"], found["mscale"] = found.pop("la.share"), found.pop("ma.share")
    return {name: value for name, value in found.items() if not name.startswith("scale_")}
