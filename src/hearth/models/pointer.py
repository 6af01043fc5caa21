"""Run tier two: an adapted encoder and a pointer over tools propose plans; onnxruntime alone, no torch.

The pointer scores tools by their texts and by what it learnt of each, so a tool added after training can be proposed.
One pass over a request gives the score of every tool that might follow another; beam search is then look-ups in a
table. Covered: damaged files are refused by their hashes. Not covered: arguments, and requests that no tool serves.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from pathlib import Path

import numpy as np
import tokenizers
from numpy.typing import NDArray

from hearth.errors import StoreCorruptError
from hearth.models import sentence_encoder
from hearth.models.sentence_encoder import (
    MAX_CHARACTERS,
    MAX_TOKENS,
    MiniLMEncoder,
    cached_session,
    onnxruntime,
    start_session,
)
from hearth.models.transformer_layers import LAYER_MATRICES, N_LAYERS, Array, Shape, quantised, upper_weights
from hearth.protocols import Encoder, Proposal
from hearth.types import ToolSpec

MODEL_FILE, TOOLS_FILE, RECORD_FILE = "pointer.onnx", "tools.npz", "record.json"
LOWER_VERSION = 1
"""Part of the cache key: raise it with every change to the graph of the lower layers."""
ENDS = ""
_N_LOOKED_AT = 24
_N_BEAM = 12
_MOST_STEPS = 6
_UNLIKELY = np.float32(-1e4)
_LEAST_CHANCE = 0.01
_LEAST_LINK = -5.0
_CHANCE_SHARE = 0.5
"""Share of each tool's own odds beside the sequence's probability: a sequence alone tends to stop early."""
_N_IN_SETS, _N_SETS, _MOST_IN_SET = 8, 12, 5
"""Number of tools from which sets are put together, number of sets tried beside the beam, and their largest size."""
_MOST_ODDS = 4.6


def tool_text(spec: ToolSpec) -> str:
    """Return the text of a tool that is embedded."""
    return f"{spec.name.replace('_', ' ')}: {spec.description}"


class LowerLayers:
    """Computes token states after the layers that no training changes, as int8. Safe from several threads."""

    def __init__(
        self, session: onnxruntime.InferenceSession, tokenizer: tokenizers.Tokenizer, published: Mapping[str, Array]
    ) -> None:
        """Use `LowerLayers.open`."""
        self._session = session
        self._tokenizer = tokenizer
        self.published = published
        """Weights of the package's file, mapped."""
        self._words = published["embeddings.word_embeddings.weight"]
        places = published["embeddings.position_embeddings.weight"][:MAX_TOKENS]
        self._places = np.asarray(places + published["embeddings.token_type_embeddings.weight"][0], dtype=np.float32)

    @classmethod
    def open(cls, n_lower: int, cache_dir: Path | None = None, *, n_threads: int = 1) -> LowerLayers:
        """Open the first `n_lower` layers of the package's encoder; their graph is kept in the cache.

        Raises:
            MissingExtraError: The package with the weights is not installed.
            ConfigError: The package's files are not the ones this version was built for.
        """
        folder, cache = sentence_encoder.model_dir(), sentence_encoder.cache_folder(cache_dir)
        sentence_encoder.verify_weights(folder / "model.safetensors", cache)
        weights, mapping = sentence_encoder.map_weights(folder / "model.safetensors")

        def built() -> bytes:
            # Only the first start on a machine builds a graph; the others do not pay for importing onnx.
            from hearth.models.pointer_graph import lower_graph

            return lower_graph(weights, n_lower)

        session = cached_session(cache / f"lower-{n_lower}-{LOWER_VERSION}.onnx", built, n_threads)
        sentence_encoder.release_pages(mapping)
        return cls(session, sentence_encoder.shared_tokenizer(), weights)

    def states(self, text: str) -> Array:
        """Return states of shape [n_tokens, 384]; an empty text has its two end marks."""
        readable = text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
        ids = np.array(sentence_encoder.within(self._tokenizer.encode(readable).ids, MAX_TOKENS))
        (states,) = self._session.run(None, {"embedded": self._words[ids] + self._places[: len(ids)]})
        return np.asarray(states, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class ToolTable:
    """A pointer's knowledge of tools: how texts become queries, and what was learnt of each beyond its text."""

    names: tuple[str, ...]
    vectors: Array
    """Vectors of the texts, unit length, shape [n_tools, 384]."""
    marks: tuple[str, ...]
    """Short hashes of the texts, so that a changed text is embedded again."""
    deltas: Array
    """Learnt additions to the queries, shape [n_tools, width]."""
    projection: Array
    """Map from text vectors to queries, shape [width, 384]."""

    def save(self, path: Path) -> None:
        with path.open("wb") as file:
            numbers = {name: getattr(self, name).astype(np.float16) for name in ("vectors", "deltas", "projection")}
            np.savez_compressed(file, names=np.array(self.names), marks=np.array(self.marks), **numbers)

    @classmethod
    def load(cls, path: Path) -> ToolTable:
        with np.load(path) as found:
            numbers = (found[name].astype(np.float32) for name in ("vectors", "deltas", "projection"))
            vectors, deltas, projection = numbers
            names, marks = (tuple(str(s) for s in found[name]) for name in ("names", "marks"))
        return cls(names, vectors, marks, deltas, projection)

    @classmethod
    def of(cls, tools: Mapping[str, ToolSpec], encoder: Encoder, projection: Array) -> ToolTable:
        """Make a table of tools of which nothing but the text is known."""
        texts = [tool_text(spec) for spec in tools.values()]
        deltas = np.zeros((len(texts), len(projection)), dtype=np.float32)
        return cls(tuple(tools), encoder.encode(texts), tuple(map(_mark, texts)), deltas, projection)

    def for_tools(self, tools: Mapping[str, ToolSpec], encoder: Encoder | None = None) -> ToolTable:
        """Return the table for the present tools; unknown texts are embedded (by `encoder`, else one opened here)."""
        place = {name: k for k, name in enumerate(self.names)}
        texts = {name: tool_text(spec) for name, spec in tools.items()}
        fresh = [n for n, text in texts.items() if n not in place or self.marks[place[n]] != _mark(text)]
        vectors = np.zeros((len(tools), self.vectors.shape[1]), dtype=np.float32)
        deltas = np.zeros((len(tools), self.deltas.shape[1]), dtype=np.float32)
        at = {name: row for row, name in enumerate(tools)}
        for name, row in at.items():
            if name in place:
                vectors[row], deltas[row] = self.vectors[place[name]], self.deltas[place[name]]
        if fresh:
            vectors[[at[name] for name in fresh]] = (encoder or MiniLMEncoder.open()).encode([texts[n] for n in fresh])
        return ToolTable(tuple(tools), vectors, tuple(map(_mark, texts.values())), deltas, self.projection)

    def queries(self) -> Array:
        """Return the query of each tool, shape [n_tools, width]."""
        length = np.float32(self.vectors.shape[1] ** 0.5)
        return np.asarray(self.vectors * length @ self.projection.T + self.deltas, dtype=np.float32)


class Pointer:
    """A trained proposer; satisfies `protocols.Proposer`. May be used from several threads at once."""

    def __init__(
        self,
        lower: LowerLayers,
        session: onnxruntime.InferenceSession,
        table: ToolTable,
        fingerprint: str,
        graph: frozenset[tuple[str, str]] | None = None,
    ) -> None:
        """Use `Pointer.open`."""
        self.fingerprint = fingerprint
        self._lower = lower
        self._session = session
        self._names = table.names
        self._queries = table.queries()
        lengths = np.linalg.norm(self._queries, axis=1, keepdims=True)
        self._directions = np.ascontiguousarray((self._queries / np.maximum(lengths, 1e-12)).T)
        self._n_looked_at = np.array([min(_N_LOOKED_AT, len(self._names))], dtype=np.int64)
        self._graph = graph

    @classmethod
    def open(
        cls,
        folder: Path,
        tools: Mapping[str, ToolSpec],
        *,
        graph: frozenset[tuple[str, str]] | None = None,
        encoder: Encoder | None = None,
    ) -> Pointer:
        """Load what `learning.finetune.second_tier` wrote, for the tools now on offer.

        Args:
            graph: Links that are possible; others are proposed only where nothing else is left. None allows any.
            encoder: For texts of tools that were not there in training; when left out, one is opened if needed.
        Raises:
            StoreCorruptError: A file is missing, damaged or of another training than its record.
            MissingExtraError: The package with the encoder's weights is not installed.
        """
        record = read_record(folder)
        table = ToolTable.load(folder / TOOLS_FILE).for_tools(tools, encoder)
        shape = Shape(**record["shape"])  # type: ignore[arg-type]
        lower = LowerLayers.open(N_LAYERS - shape.n_upper)
        session = start_session((folder / MODEL_FILE).read_bytes(), 1, matrices(lower.published, shape))
        return cls(lower, session, table, str(record["fingerprint"]), graph)

    def propose(self, texts: Sequence[str]) -> list[Proposal]:
        """Make one proposal for each request; the same request gives the same proposal."""
        return [self.propose_from(self._lower.states(text)) for text in texts]

    def propose_from(self, states: Array) -> Proposal:
        """Make a proposal from the lower layers' states of a text [n_tokens, 384]."""
        if not self._names:
            return Proposal({}, (), {})
        given = {"states": states, "queries": self._queries, "directions": self._directions, "k": self._n_looked_at}
        chosen, wanted, link, pair, _ = self._session.run(None, given)
        names = [self._names[int(place)] for place in chosen]
        if self._graph is not None:
            for a, before in enumerate(names):
                link[a, :-1] += np.where([(before, after) in self._graph for after in names], 0, _UNLIKELY / 100)
        found = plans(wanted, link, pair)
        chances = 1 / (1 + np.exp(-np.clip(wanted, -30, 30)))
        tools = {name: float(p) for name, p in zip(names, chances) if p >= _LEAST_CHANCE}
        sequences = tuple((tuple(names[k] for k in path), score) for path, score in found)
        return Proposal(tools, sequences, _likely_links(names, link, pair))


def plans(wanted: Array, link: Array, pair: Array) -> list[tuple[tuple[int, ...], float]]:
    """Return the beam's plans and the likely sets of tools, with log-probabilities that combine both scores.

    Args:
        wanted: Log-odds that each tool is in the plan, shape [k].
        link, pair: As `beam` takes them.
    """
    found = dict(beam(link, pair))
    table = _first_order(link, pair)
    have = {frozenset(path) for path in found}
    for members in _likely_sets(wanted):
        if frozenset(members.tolist()) not in have:
            path = _best_order(members, table)
            found[path] = log_probability(path, link, pair)
    odds = np.clip(wanted, -_MOST_ODDS, _MOST_ODDS)
    scores = {path: log + _CHANCE_SHARE * float(odds[list(path)].sum()) for path, log in found.items()}
    top = max(scores.values())
    total = top + float(np.log(sum(np.exp(score - top) for score in scores.values())))
    ranked = sorted(scores, key=lambda path: (-scores[path], path))
    return [(path, scores[path] - total) for path in ranked]


def _likely_sets(wanted: Array) -> list[NDArray[np.int64]]:
    top = np.argsort(-wanted, kind="stable")[:_N_IN_SETS]
    subsets = _subsets(len(top))
    best = np.argsort(-(subsets @ wanted[top]), kind="stable")[:_N_SETS]
    return [top[subsets[row]] for row in best]


def _best_order(members: NDArray[np.int64], table: Array) -> tuple[int, ...]:
    """Return the best order by the links alone, ends included."""
    end = len(table) - 1
    orders = members[_orders(len(members))]
    ends = np.full((len(orders), 1), end)
    path = np.hstack([ends, orders, ends])
    scores = table[path[:, :-1], path[:, 1:]].sum(axis=1)
    return tuple(int(tool) for tool in orders[int(scores.argmax())])


@cache
def _subsets(n: int) -> NDArray[np.bool_]:
    """Return all subsets of n things with 1 to `_MOST_IN_SET` members, shape [n_subsets, n]."""
    bits = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
    return np.asarray(bits[bits.sum(axis=1) <= _MOST_IN_SET], dtype=np.bool_)


@cache
def _orders(n: int) -> NDArray[np.int64]:
    return np.array(list(permutations(range(n))), dtype=np.int64)


def log_probability(path: tuple[int, ...], link: Array, pair: Array) -> float:
    """Return the log-probability of one sequence, as `beam` computes it."""
    end = len(link) - 1
    sums, last, total = np.zeros(end + 1), end, 0.0
    sums[end] = _UNLIKELY  # a plan has a step
    for tool in (*path, end):
        z = link[last] + sums
        top = float(z.max())
        total += float(z[tool]) - top - float(np.log(np.exp(z - top).sum()))
        if tool != end:
            sums = (sums if last != end else np.zeros(end + 1)) + pair[tool]
            sums[tool] = 2 * _UNLIKELY
        last = tool
    return total


def beam(link: Array, pair: Array, n: int = _N_BEAM) -> list[tuple[tuple[int, ...], float]]:
    """Return the likeliest sequences with their log-probabilities, best first.

    Args:
        link, pair: What the tool before, and each earlier tool, adds to the score of the next, shape [k + 1, k + 1];
            the last row is the start and the last column the end.
    """
    k = len(link) - 1
    paths: list[tuple[int, ...]] = [()]
    scores, sums = np.zeros(1), np.zeros((1, k + 1))
    sums[0, k] = _UNLIKELY  # a plan has a step
    last = np.array([k])
    done: list[tuple[tuple[int, ...], float]] = []
    for _ in range(min(_MOST_STEPS, k) + 1):
        z = link[last] + sums
        z -= z.max(axis=1, keepdims=True)
        total = scores[:, None] + z - np.log(np.exp(z).sum(axis=1, keepdims=True))
        if len(paths[0]):
            done += [(path, float(score)) for path, score in zip(paths, total[:, k])]
            done.sort(key=lambda one: -one[1])
            done = done[:n]
        if len(paths[0]) >= min(_MOST_STEPS, k):
            break
        flat = total[:, :k].ravel()
        best = np.argsort(-flat, kind="stable")[:n]
        if len(done) == n and flat[best[0]] < done[-1][1]:
            break
        best = best[flat[best] > _UNLIKELY / 2]
        if not len(best):
            break
        rows, last = np.divmod(best, k)
        paths = [(*paths[int(row)], int(tool)) for row, tool in zip(rows, last)]
        if len(paths[0]) == 1:
            sums = np.zeros((len(paths), k + 1))
        else:
            sums = sums[rows]
        sums = sums + pair[last]
        sums[np.arange(len(paths)), last] = 2 * _UNLIKELY
        scores = flat[best]
    return done


def _first_order(link: Array, pair: Array) -> Array:
    """Return log-probabilities of what comes next after each tool alone, and at the start, shape [k + 1, k + 1]."""
    z = link.copy()
    z[:-1] += pair[:-1]
    np.fill_diagonal(z, _UNLIKELY)
    z -= z.max(axis=1, keepdims=True)
    return np.asarray(z - np.log(np.exp(z).sum(axis=1, keepdims=True)), dtype=np.float32)


def _likely_links(names: Sequence[str], link: Array, pair: Array) -> dict[tuple[str, str], float]:
    """Return log-probabilities of a tool or the end right after another or the start, with nothing else before."""
    z = _first_order(link, pair)
    ends = [*names, ENDS]
    return {(ends[a], ends[b]): float(z[a, b]) for a, b in np.argwhere(z > _LEAST_LINK)}


# ── Files ─────────────────────────────────────────────────────────────────────────────────────────────────


def read_record(folder: Path) -> dict[str, object]:
    """Return the record of how a pointer was made, its files checked against it.

    Raises:
        StoreCorruptError: A file is missing, damaged or of another training.
    """
    try:
        record: dict[str, object] = json.loads((folder / RECORD_FILE).read_bytes())
        hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in (MODEL_FILE, TOOLS_FILE)}
        if record["files"] == hashes:
            return record
        reason = "a file is not the one recorded"
    except OSError as error:
        reason = f"{Path(error.filename or '').name}: {error.strerror}"
    except (ValueError, KeyError, TypeError) as error:
        reason = f"{RECORD_FILE} cannot be read: {error!r}"
    raise StoreCorruptError(
        f"the planner trained in {str(folder)!r} is damaged ({reason}); train it again or go back to an earlier version"
    )


def matrices(published: Mapping[str, Array], shape: Shape) -> dict[str, NDArray[np.generic]]:
    """Return the published matrices that a pointer's graph names, as int8 with their scales."""
    found: dict[str, NDArray[np.generic]] = {}
    for name, weight in upper_weights(published, shape).items():
        if name.partition(".")[2] in LAYER_MATRICES:
            found[name], found[f"{name}.scale"] = quantised(weight)
    return found


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
