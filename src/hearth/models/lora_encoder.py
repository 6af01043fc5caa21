"""The sentence encoder with an adapter merged in, and the one that was adapted to questions."""

from __future__ import annotations

import hashlib
import io
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hearth.errors import ConfigError
from hearth.models import sentence_encoder
from hearth.models.sentence_encoder import (
    MOST_STEPS,
    MiniLMEncoder,
    cached_session,
    onnxruntime,
    shared_tokenizer,
    within,
)

if TYPE_CHECKING:
    import onnx


# ── LoRA encoder ──────────────────────────────────────────────────────────────────────────────────────────
# Run all-MiniLM-L6-v2 with an adapter merged in, as int8 by onnxruntime: contextual states of a row of token vectors.
#
# The weights come from the same pinned package as the sentence encoder's; an adapter adds a low-rank change to some
# of its matrices, or replaces them, and may replace biases and norms. Merging and quantising happen once for each
# adapter (two seconds); the graph is kept in the cache under the adapter's hash and built again when it is missing or
# damaged. No torch.
# `packed` and `unpacked` make the file of an adapter and the heads on it, of half-precision numbers.

Array = NDArray[np.float32]

WIDTH = 384
N_LAYERS, _N_HEADS = 6, 12
MATRICES = tuple(
    f"encoder.layer.{layer}.{part}"
    for layer in range(N_LAYERS)
    for part in (
        "attention.self.query",
        "attention.self.key",
        "attention.self.value",
        "attention.output.dense",
        "intermediate.dense",
        "output.dense",
    )
)
"""Names of the matrices an adapter may change, without `.weight`."""
GRAPH_VERSION = 2
"""Part of the cache key: raise it with every change to the graph."""


class AdaptedEncoder:
    """Computes states of tokens under an adapter. May be used from several threads at once."""

    def __init__(self, session: onnxruntime.InferenceSession, words: Array, places: Array, segments: Array) -> None:
        """Use `AdaptedEncoder.open`."""
        self._session = session
        self.words = words
        """Rows of word vectors, shape [n_words, 384]; mapped from the package's file."""
        self.places = places
        """Position vectors, shape [512, 384]."""
        self.segments = segments
        """Segment vectors, shape [2, 384]."""

    @classmethod
    def open(
        cls, adapter: Mapping[str, Array], fingerprint: str, cache_dir: Path | None = None, *, n_threads: int = 0
    ) -> AdaptedEncoder:
        """Merge the adapter, or use the cached graph.

        Args:
            adapter: `NAME.down` [rank, in] and `NAME.up` [out, rank] for names of `MATRICES`, whose product is added;
                what `in_steps` gives of a matrix that is replaced; `=NAME` for a bias or norm that is replaced.
            fingerprint: Of the adapter's file: the key of the cached graph.
            n_threads: 0 uses the machine's cores, at most four.
        Raises:
            MissingExtraError: The package with the weights is not installed.
            ConfigError: The package's files are not the ones this version was built for.
        """
        folder = sentence_encoder.model_dir()
        cache = sentence_encoder.cache_folder(cache_dir)
        sentence_encoder.verify_weights(folder / "model.safetensors", cache)
        weights, mapping = sentence_encoder.map_weights(folder / "model.safetensors")
        key = hashlib.sha256(fingerprint.encode()).hexdigest()[:16]
        session = cached_session(
            cache / f"adapted-{key}-{GRAPH_VERSION}.onnx",
            lambda: quantised(float_graph(merged(weights, adapter))),
            n_threads or min(sentence_encoder.n_cores(), 4),
        )
        places = np.array(weights["embeddings.position_embeddings.weight"], dtype=np.float32)
        segments = np.array(weights["embeddings.token_type_embeddings.weight"], dtype=np.float32)
        sentence_encoder.release_pages(mapping)
        return cls(session, weights["embeddings.word_embeddings.weight"], places, segments)

    def states(self, embedded: Array) -> Array:
        """Return the last layer's states of one row of tokens.

        Args:
            embedded: Word + place + segment vectors, shape [n_tokens, 384].
        """
        (states,) = self._session.run(None, {"embedded": embedded})
        return np.asarray(states, dtype=np.float32)


def load_weights(cache_dir: Path | None = None) -> dict[str, Array]:
    """Return the package's weights by name, verified; views of the mapped file.

    Raises:
        MissingExtraError: The package is not installed.
        ConfigError: Its files are not the ones this version was built for.
    """
    path = sentence_encoder.model_dir() / "model.safetensors"
    sentence_encoder.verify_weights(path, sentence_encoder.cache_folder(cache_dir))
    return sentence_encoder.map_weights(path)[0]


def merged(weights: Mapping[str, Array], adapter: Mapping[str, Array]) -> dict[str, Array]:
    """Return the transformer's weights with the adapter's changes."""
    result = {
        name: np.asarray(adapter.get(f"={name}", value), dtype=np.float32)
        for name, value in weights.items()
        if name.startswith(("encoder.", "embeddings.LayerNorm."))
    }
    for name in MATRICES:
        steps, step = adapter.get(f"{name}.steps"), adapter.get(f"{name}.step")
        if steps is not None and step is not None:
            result[f"{name}.weight"] = steps.astype(np.float32) * step.astype(np.float32)[:, None]
        down, up = adapter.get(f"{name}.down"), adapter.get(f"{name}.up")
        if down is not None and up is not None:
            result[f"{name}.weight"] = result[f"{name}.weight"] + up.astype(np.float32) @ down.astype(np.float32)
    return result


def in_steps(name: str, matrix: Array) -> dict[str, NDArray[np.generic]]:
    """Return a matrix as an adapter holds it that replaces it: rounded as the graph rounds it (`quantised`).

    Returns:
        `NAME.steps`, int8 [out, in], and `NAME.step`, how large one is, [out].
    """
    step = np.maximum(np.abs(matrix).max(axis=1), 1e-9) / MOST_STEPS
    return {f"{name}.steps": np.rint(matrix / step[:, None]).astype(np.int8), f"{name}.step": step}


# ── Graph ─────────────────────────────────────────────────────────────────────────────────────────────────


def quantised(model: onnx.ModelProto) -> bytes:
    """Quantise the graph's matrices to seven bits (`sentence_encoder.MOST_STEPS` says why), scaled by output channel;
    activations are scaled at run time."""
    # Imported here: only the first start after an adapter changed builds a graph.
    import logging

    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory(prefix="hearth-") as folder:
        path = Path(folder, "graph.onnx")
        logging.disable(logging.WARNING)  # it advises a step that a graph made here does not need
        try:
            quantize_dynamic(
                model,
                path,
                weight_type=QuantType.QInt8,
                per_channel=True,
                reduce_range=True,
                op_types_to_quantize=["MatMul"],
            )
        finally:
            logging.disable(logging.NOTSET)
        return path.read_bytes()


class _Writer:
    """Collects the nodes and constants of an ONNX graph."""

    def __init__(self) -> None:
        # Only the first start after an adapter changed builds a graph; the others do not pay for importing onnx.
        import onnx

        self._onnx = onnx
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def node(
        self, operator: str, inputs: Sequence[str], attributes: Mapping[str, int | float | list[int]] | None = None
    ) -> str:
        output = f"{operator}_{len(self._nodes)}"
        node = self._onnx.helper.make_node(operator, list(inputs), [output], name=output)
        node.attribute.extend(self._onnx.helper.make_attribute(k, v) for k, v in (attributes or {}).items())
        self._nodes.append(node)
        return output

    def constant(self, value: NDArray[np.generic]) -> str:
        name = f"constant_{len(self._constants)}"
        self._constants.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def finish(self, output: str) -> onnx.ModelProto:
        helper, kind = self._onnx.helper, self._onnx.TensorProto.FLOAT
        graph = helper.make_graph(
            self._nodes,
            "adapted-minilm",
            [helper.make_tensor_value_info("embedded", kind, ["tokens", WIDTH])],
            [helper.make_tensor_value_info(output, kind, ["tokens", WIDTH])],
            self._constants,
        )
        model: onnx.ModelProto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        return model


def float_graph(weights: Mapping[str, Array]) -> onnx.ModelProto:
    """Build BERT for one row of tokens: `embedded` [tokens, 384] → states [tokens, 384].

    Source:
        Devlin et al. 2019, https://arxiv.org/abs/1810.04805
    """
    g = _Writer()
    by_head = g.constant(np.array([-1, _N_HEADS, WIDTH // _N_HEADS], np.int64))
    by_token = g.constant(np.array([-1, WIDTH], np.int64))
    scale = np.float32((WIDTH // _N_HEADS) ** -0.5)

    def linear(x: str, name: str, factor: np.float32 | float = 1.0) -> str:
        product = g.node("MatMul", [x, g.constant(weights[f"{name}.weight"].T * np.float32(factor))])
        return g.node("Add", [product, g.constant(weights[f"{name}.bias"] * np.float32(factor))])

    def norm(x: str, name: str) -> str:
        inputs = [x, g.constant(weights[f"{name}.weight"]), g.constant(weights[f"{name}.bias"])]
        return g.node("LayerNormalization", inputs, {"axis": -1, "epsilon": 1e-12})

    def heads(x: str, order: list[int]) -> str:
        return g.node("Transpose", [g.node("Reshape", [x, by_head])], {"perm": order})

    x = norm("embedded", "embeddings.LayerNorm")
    for layer in range(N_LAYERS):
        name = f"encoder.layer.{layer}"
        query = heads(linear(x, f"{name}.attention.self.query", scale), [1, 0, 2])
        key = heads(linear(x, f"{name}.attention.self.key"), [1, 2, 0])
        value = heads(linear(x, f"{name}.attention.self.value"), [1, 0, 2])
        mixed = g.node("MatMul", [g.node("Softmax", [g.node("MatMul", [query, key])], {"axis": -1}), value])
        mixed = g.node("Reshape", [g.node("Transpose", [mixed], {"perm": [1, 0, 2]}), by_token])
        mixed = linear(mixed, f"{name}.attention.output.dense")
        x = norm(g.node("Add", [mixed, x]), f"{name}.attention.output.LayerNorm")
        inner = g.node("Gelu", [linear(x, f"{name}.intermediate.dense")])
        x = norm(g.node("Add", [linear(inner, f"{name}.output.dense"), x]), f"{name}.output.LayerNorm")
    return g.finish(x)


# ── The file of an adapter ────────────────────────────────────────────────────────────────────────────


def packed(adapter: Mapping[str, NDArray[np.generic]], heads: Mapping[str, Array]) -> bytes:
    """Encode the file."""
    file = io.BytesIO()
    arrays = {f"adapter:{k}": v if v.dtype == np.int8 else v.astype(np.float16) for k, v in adapter.items()}
    arrays |= {f"head:{k}": v.astype(np.float16) for k, v in heads.items()}
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def read_adapter(
    path: Path, shapes: Mapping[str, tuple[int, ...]], what: str, made_by: str
) -> tuple[dict[str, Array], dict[str, Array], str]:
    """Read an adapter, its heads and its fingerprint from a file.

    Args:
        what: The file in words, for an error: "the tagger's file".
        made_by: The module that makes it.
    Raises:
        ConfigError: The file is missing, damaged or of another shape.
    """
    try:
        data = path.read_bytes()
        return *unpacked(data, shapes), hashlib.sha256(data).hexdigest()
    except (OSError, ValueError, TypeError, zlib.error) as error:
        raise ConfigError(
            f"{what} {str(path)!r} cannot be read ({error}); reinstall Hearth, or make it again with "
            f"'python -m {made_by}'"
        ) from None


def unpacked(data: bytes, shapes: Mapping[str, tuple[int, ...]]) -> tuple[dict[str, Array], dict[str, Array]]:
    """Read the adapter and the heads of a file.

    Args:
        shapes: Of the heads that must be there.
    Raises:
        ValueError: It is damaged, or a head is of another shape.
    """
    adapter: dict[str, Array] = {}
    heads: dict[str, Array] = {}
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            for name in file.files:
                kind, _, rest = name.partition(":")
                (adapter if kind == "adapter" else heads)[rest] = file[name].astype(np.float32)
    except (EOFError, zipfile.BadZipFile, AttributeError) as error:
        raise ValueError(f"it is no file of arrays: {error}") from None
    for name, shape in shapes.items():
        if name not in heads or heads[name].shape != shape:
            raise ValueError(f"its part {name!r} is missing or not of shape {shape}")
    return adapter, heads


# ── Question encoder ──────────────────────────────────────────────────────────────────────────────────────
# Embeds questions so that they lie near the passages that answer them: a low-rank change of the shipped encoder.
#
# The shipped encoder puts texts together that are about the same thing; what answers a question is often said in
# other words ("who's teaching instead of the regular one": "Frau Oduya covers Thursdays until Lent"). Only questions
# are read with the change; passages keep the vectors of the shipped encoder, against which it was learnt
# (`training.question_encoder_train`), so that it can change while every index stays.
#
# Covered: English questions and what is looked for in a few words. Not covered: another encoder's vectors.

QUESTION_ENCODER_FILE = Path(__file__).parents[1] / "data" / "question_encoder.npz"
MAX_TOKENS = 48
"""Longer questions are cut."""
_MAX_CHARACTERS = 2_000


class QuestionEncoder:
    """An encoder of questions, opened at its first use. May be used from several threads at once."""

    dim = WIDTH

    def __init__(self, cache_dir: Path | None = None, path: Path = QUESTION_ENCODER_FILE) -> None:
        self._cache_dir = cache_dir
        self._path = path
        self._opening = threading.Lock()
        self._encoder: AdaptedEncoder | None = None

    def encode(self, texts: Sequence[str]) -> Array:
        """Embed questions; each is read by itself.

        Returns:
            Unit vectors, shape [n, 384].
        Raises:
            ConfigError: The file of the change is missing or damaged.
            MissingExtraError: The package with the encoder's weights is not installed.
        """
        with self._opening:
            encoder = self._encoder = self._encoder or _opened(self._path, self._cache_dir)
        return np.array([_vector(encoder, text) for text in texts], dtype=np.float32).reshape(len(texts), WIDTH)

    def rest(self) -> None:
        """Hand its memory back; the next question opens it again."""
        self._encoder = None


def questions_for(encoder: object, cache_dir: Path | None = None) -> QuestionEncoder | None:
    """Return the encoder of questions beside an encoder of passages; None where that is not the one that ships."""
    return QuestionEncoder(cache_dir) if isinstance(encoder, MiniLMEncoder) else None


def question_ids(text: str) -> list[int]:
    """Return the tokens of a question that are read."""
    read = shared_tokenizer().encode(text[:_MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8"))
    return list(within(read.ids, MAX_TOKENS))


def _opened(path: Path, cache_dir: Path | None) -> AdaptedEncoder:
    made_by = "training.question_encoder_train"
    adapter, _, fingerprint = read_adapter(path, {}, "the file of the question encoder", made_by)
    return AdaptedEncoder.open(adapter, fingerprint, cache_dir, n_threads=1)


def _vector(encoder: AdaptedEncoder, text: str) -> Array:
    ids = np.array(question_ids(text))
    embedded = encoder.words[ids] + encoder.places[: len(ids)] + encoder.segments[0]
    mean = encoder.states(embedded.astype(np.float32)).mean(axis=0)
    unit: Array = mean / max(float(np.linalg.norm(mean)), 1e-9)
    return unit
