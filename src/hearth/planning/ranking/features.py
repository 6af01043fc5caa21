"""What the ranker sees of a request: features, taught examples and their neighbours, candidates with evidence."""

from __future__ import annotations

import datetime as dt
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise, permutations, product, repeat
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from hearth.language.reading import Utterance
from hearth.language.request_sketch import COSINE_SEED, N_COSINES, N_SKETCH, drawn_cosines, sketch_of
from hearth.models.ridge import INPUT_GRAIN, UNIT
from hearth.planning.arguments.alignment import form_of, tokens_of
from hearth.protocols import Encoder, Proposal
from hearth.types import Demonstration, ToolSpec

# ── Features ──────────────────────────────────────────────────────────────────────────────────────────────
# Turns a request into whole-number features of the whole and of each act; the same text gives the same numbers.
#
# A request is read as the home's planner reads it: values as stand-ins, cut into acts, and over the features that the
# tool heads are solved over (`language.request_sketch`). Here they are rounded, so that sums of them are exact.

FloatRows = NDArray[np.float32]
Whole = NDArray[np.int16]

HALF = UNIT // 2
"""Length of each of the four parts of a row: one, sentence vector, sketch of words, cosines; UNIT together."""
_WORDS_SHARE = 0.35
"""Share of the words in the likeness of two requests; their sentence vectors have the rest."""
_AT_ANY_TIME = dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC)
"""When a request is taken to be said; what is read of a time here is that it is one."""
_MOST_CHARACTERS = 20_000
_MOST_ACTS = 32


@dataclass(frozen=True, slots=True)
class Reading:
    """Numbers of a text, small enough to be kept with a demonstration: of the whole, then of each act if several."""

    vectors: Whole
    """Sentence vectors in multiples of 1/INPUT_GRAIN, shape [1 + n_acts, dim], or [1, dim] for a single act."""
    words: Whole
    """Sketches of the words, about HALF long, shape [the same, n_words]."""
    request: str = ""
    """The text itself; not kept with what was learned."""

    @property
    def n_acts(self) -> int:
        return max(len(self.vectors) - 1, 1)

    @property
    def whole(self) -> FloatRows:
        """Return the vector of the whole, shape [dim]."""
        return np.asarray(self.vectors[0] / np.float32(INPUT_GRAIN), dtype=np.float32)

    @property
    def acts(self) -> FloatRows:
        """Return the acts' vectors, to compare with texts of steps and tools, shape [n_acts, dim]."""
        return np.asarray(self.vectors[-self.n_acts :] / np.float32(INPUT_GRAIN), dtype=np.float32)

    def seen_by(self, options: ReadingOptions) -> Reading:
        """Return what a reader with fewer features would have read."""
        words = self.words.reshape(len(self.words), -1, options.n_words).sum(axis=1)
        return Reading(self.vectors, words.astype(np.int16), self.request)


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """Numbers of features; more are better and slower (with the square, while learning).

    Fewer are an image of the whole in whole numbers: the first cosines, `times` as long to make up for the others, and
    words that share a place. So sums over them follow exactly from sums over the whole (`Statistics.seen_by`).
    """

    n_cosines: int = N_COSINES
    n_words: int = N_SKETCH
    seed: int = COSINE_SEED

    @property
    def times(self) -> int:
        """Return the factor of the first cosines."""
        return isqrt(N_COSINES // self.n_cosines)

    def __post_init__(self) -> None:
        for mine, whole in ((self.n_cosines, N_COSINES), (self.n_words, N_SKETCH)):
            if not 0 < mine <= whole or whole % mine:
                raise ValueError(f"{self} is no part of {N_COSINES}+{N_SKETCH}; each number must divide that")

    def n_features(self, n_inputs: int) -> int:
        """Return the length of a row, where sentence vectors have `n_inputs` numbers."""
        return 1 + n_inputs + self.n_words + self.n_cosines


class Reader:
    """Turns texts into readings. Deterministic."""

    def __init__(self, encoder: Encoder, options: ReadingOptions | None = None) -> None:
        self.encoder = encoder
        self.options = options or ReadingOptions()
        self.dim = encoder.dim
        self.encoder_name = str(getattr(encoder, "name", type(encoder).__name__))
        projection, self._phases = drawn_cosines(encoder.dim, self.options.seed)
        self._projection = projection[:, : self.options.n_cosines].astype(np.float64)
        self.n_features = self.options.n_features(encoder.dim)
        self.fingerprint = fingerprint_of(self.options, encoder.dim)

    def read(self, texts: Sequence[str]) -> list[Reading]:
        """Read each text; an empty one has a reading too."""
        return [self._reading(text[:_MOST_CHARACTERS]) for text in texts]

    def _reading(self, text: str) -> Reading:
        said = Utterance(text, _AT_ANY_TIME)
        acts = [(act.start, act.end) for act in said.acts[:_MOST_ACTS]]
        tokens = [tokens_of(text, said.slots, *span) for span in [(0, len(text)), *(acts if len(acts) > 1 else ())]]
        # Each request by itself: rounding in a batch would leave a trace of one in the vectors of others.
        vectors = self.encoder.encode([form_of(text, mine) for mine in tokens])
        return self.reading_of(vectors, [[token.word for token in mine] for mine in tokens], text)

    def reading_of(self, vectors: FloatRows, words: Sequence[Sequence[str]], text: str = "") -> Reading:
        """Return the reading of a request whose vectors are known: of the whole, then of each act if several.

        Args:
            vectors: Sentence vectors of the forms, shape [n, dim].
            words: Per form its words, values as `<kind>`.
        """
        sketches = np.stack([sketch_of(tuple(one)) for one in words])
        rounded = np.rint(sketches * HALF).astype(np.int16).reshape(len(words), -1, self.options.n_words).sum(axis=1)
        return Reading(np.rint(vectors * INPUT_GRAIN).astype(np.int16), rounded.astype(np.int16), text)

    def features(self, readings: Sequence[Reading]) -> FloatRows:
        """Return whole numbers for all rows of all readings, one after the other, shape [n_rows, n_features]."""
        if not readings:
            return np.zeros((0, self.n_features), dtype=np.float32)
        vectors = np.concatenate([reading.vectors for reading in readings])
        words = np.concatenate([reading.words for reading in readings])
        # Sums of products of such numbers are exact, so a row is the same alone and among others.
        turned = (vectors / INPUT_GRAIN) @ self._projection + self._phases[: self.options.n_cosines]
        cosines = np.rint(np.cos(turned) * (HALF * (2 / N_COSINES) ** 0.5)) * self.options.times
        ones = np.full((len(vectors), 1), HALF)
        return np.hstack([ones, vectors * np.float32(HALF // INPUT_GRAIN), words, cosines]).astype(np.float32)

    def whole_features(self, readings: Sequence[Reading]) -> FloatRows:
        """Return whole numbers for the whole requests alone, shape [n, n_features]."""
        return self.features([Reading(reading.vectors[:1], reading.words[:1]) for reading in readings])

    def vectors(self, texts: Sequence[str]) -> FloatRows:
        """Return plain vectors of texts (steps, tools), shape [n, dim]."""
        return self.encoder.encode(texts) if texts else np.zeros((0, self.encoder.dim), dtype=np.float32)


def fingerprint_of(options: ReadingOptions, n_inputs: int) -> str:
    """Describe how features are made; those with another fingerprint cannot be added."""
    o = options
    return f"reading 4, {n_inputs} inputs, {o.n_cosines}+{o.n_words} of {N_COSINES}+{N_SKETCH}, seed {o.seed}"


def likeness_of_texts(vectors: FloatRows, words: FloatRows) -> FloatRows:
    """Return the similarity of texts, 1 for the same.

    Args:
        vectors: Inner products of `Reading.vectors`.
        words: Inner products of `Reading.words`, each scaled to length 1 (`unit`): words that share a place change it.
    """
    cosine = vectors / np.float32(INPUT_GRAIN**2)
    return np.asarray((1 - _WORDS_SHARE) * cosine + _WORDS_SHARE * words, dtype=np.float32)


def unit(rows: Whole) -> FloatRows:
    """Return rows scaled to length 1; without anything in them, 0."""
    wide = rows.astype(np.float32)
    return np.asarray(wide / np.maximum(np.linalg.norm(wide, axis=-1, keepdims=True), 1e-6), dtype=np.float32)


# ── Candidates ────────────────────────────────────────────────────────────────────────────────────────────
# Generates candidate tool sequences for a request, from the evidence.
#
# Three sources: sequences seen before, new ones put together from the tools that score highest, in the order that the
# links between them suggest, and those that a trained model proposes. What is proposed depends on the evidence alone.

Floats = NDArray[np.float64]
Sequence_ = tuple[str, ...]
ENDS = ""
"""Marker before the first tool and after the last in the links of a sequence."""
MOST_STEPS = 5
"""Most steps of a new set; longer sequences are known ones or a trained model's, and their orders are not compared."""
_N_TOOLS = 8
_N_ORDERS = 2
"""Number of orders proposed of each set."""
_FLOOR = 0.01
_RARE_LINK = 0.4
"""Probability of a link between two wanted tools, one of which was hardly ever taught."""


def steps_of(sequence: Sequence_) -> list[tuple[str, str]]:
    """Return the neighbours in a sequence, both ends included."""
    return list(pairwise((ENDS, *sequence, ENDS)))


def set_of(sequence: Sequence_) -> Sequence_:
    return tuple(sorted(set(sequence)))


@dataclass(slots=True)
class Counts:
    """Counts of how often sequences, sets, links and tools were taught."""

    sequences: Counter[Sequence_] = field(default_factory=Counter)
    sets: Counter[Sequence_] = field(default_factory=Counter)
    links: Counter[tuple[str, str]] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)

    def add(self, sequence: Sequence_, n: int = 1) -> None:
        """Count a sequence `n` times; a negative n takes it back."""
        self.sequences[sequence] += n
        self.sets[set_of(sequence)] += n
        for link in steps_of(sequence):
            self.links[link] += n
        for tool in set(sequence):
            self.tools[tool] += n
        if n < 0:
            for counter, keys in (
                (self.sequences, [sequence]),
                (self.sets, [set_of(sequence)]),
                (self.links, steps_of(sequence)),
                (self.tools, sequence),
            ):
                for key in keys:
                    if not counter[key]:  # type: ignore[index]
                        del counter[key]


@dataclass(frozen=True)
class Evidence:
    """Evidence on one request. Arrays have one entry for each tool on offer."""

    place: Mapping[str, int]
    """Index of each tool on offer in the arrays."""
    tools: Floats
    """Probability of each tool, from the whole text."""
    clause_best: Floats
    """The same from the clause that suggests the tool most."""
    clause_any: Floats
    """The same from any clause (noisy or)."""
    by_clause: Floats
    """Probability of each tool from each clause, shape [n_clauses, n_tools]."""
    steps: Floats
    """Degree to which clauses like each clause asked for each tool, shape [n_clauses, n_tools]."""
    said: Floats
    """Position of a tool's clause in the request, 0 to 1; one half when it is not known."""
    predicted: NDArray[np.float32]
    """Outputs of the heads for the whole text."""
    link_columns: Mapping[tuple[str, str], int]
    """Index of the output that says how likely one tool directly follows another."""
    sizes: Mapping[int, float]
    """Probability that the plan has so many steps."""
    known: Sequence[Sequence_]
    """Taught sequences that fit best."""
    neighbours: Sequence[tuple[Sequence_, float]]
    """Sequences of the most similar demonstrations, with weights that add up to 1."""
    nearest: float
    """Likeness of the most similar demonstration."""
    rarity: Floats
    """1 for tools never taught, 0 for those taught a few times; an unseen link of a rare tool is no evidence."""
    proposal: Proposal | None = None
    """Proposal of the trained model, if there is one."""
    left_out: Sequence_ | None = None
    """This request's own sequence, which counts as taught once less; set only when fitting."""

    @cached_property
    def votes(self) -> dict[str, float]:
        """Return the weight of the neighbours that use each tool."""
        found: dict[str, float] = {}
        for sequence, weight in self.neighbours:
            for tool in set(sequence):
                found[tool] = found.get(tool, 0.0) + weight
        return found


class Grounds:
    """Evidence on the candidates of one request, as arrays over the few tools they use; the last entry is the end."""

    def __init__(self, evidence: Evidence, counts: Counts) -> None:
        self.evidence, self.counts = evidence, counts
        self.top = _top_tools(evidence)
        used = dict.fromkeys(tool for tool, _ in self.top)
        for sequence in (*evidence.known, *(sequence for sequence, _ in evidence.neighbours)):
            used.update(dict.fromkeys(sequence))
        if evidence.proposal is not None:
            for sequence, _ in evidence.proposal.sequences:
                used.update(dict.fromkeys(tool for tool in sequence if tool in evidence.place))
        self.names = [*used, ENDS]
        self.place = {name: k for k, name in enumerate(self.names)}
        rows = np.array([evidence.place[name] for name in self.names[:-1]], dtype=np.int64)
        self.name_of = np.full(len(evidence.place), len(self.names))
        """Index in `names` of each tool on offer; one past the end for those that are not there."""
        self.name_of[rows] = np.arange(len(rows))
        self.tools, self.best, self.any, self.rarity, self.said = _with_end(
            [evidence.tools, evidence.clause_best, evidence.clause_any, evidence.rarity, evidence.said], rows
        )
        self.said[-1] = 0.5
        self.by_clause, self.steps = _with_end(evidence.by_clause, rows), _with_end(evidence.steps, rows)
        self.is_end = np.array([name == ENDS for name in self.names])
        self._links()

    def _links(self) -> None:
        """Compute `link`, `n_links` and `strength`, all of shape [n_names, n_names].

        `link` is how likely b follows a; `n_links` how often it was taught; `strength` combines both with which is said
        first.
        """
        e, names = self.evidence, self.names
        pairs, shape = list(product(names, names)), (len(names), len(names))
        columns = np.fromiter(map(e.link_columns.get, pairs, repeat(-1)), np.int64, len(pairs)).reshape(shape)
        taught = np.fromiter(map(self.counts.links.get, pairs, repeat(0)), np.float64, len(pairs)).reshape(shape)
        if e.left_out is not None:
            for a, b in set(steps_of(e.left_out)):
                if a in self.place and b in self.place:
                    taught[self.place[a], self.place[b]] = max(taught[self.place[a], self.place[b]] - 1, 0)
        link = np.where(columns >= 0, np.append(e.predicted, 0.0)[columns], 0.0)
        either = (self.rarity[:, None] > 0) | (self.rarity > 0)
        likely = np.where(self.is_end, 1.0, self.tools)
        self.link = np.where(either, np.maximum(link, _RARE_LINK * np.minimum(likely[:, None], likely)), link)
        self.n_links = np.where(either, np.maximum(taught, 1.0), taught)
        before = np.array([self.counts.tools[name] for name in names[:-1]] + [self.counts.sequences.total()])
        start, end = np.where(self.is_end, 0.0, self.said), np.where(self.is_end, 1.0, self.said)
        share = 0.3 * np.log(0.01 + taught / (1 + before[:, None]))
        self.strength = np.log(np.maximum(self.link, _FLOOR)) + share + end - start[:, None]

    def paths(self, found: Sequence[Sequence_], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the indices of the tools of sequences of these lengths, with both ends, shape [n, most + 2].

        Shorter ones are padded with the end.
        """
        path = np.full((len(found), int(lengths.max(initial=0)) + 2), len(self.names) - 1)
        step = np.arange(path.shape[1]) - 1
        path[(step >= 0) & (step < lengths[:, None])] = [self.place[tool] for sequence in found for tool in sequence]
        return path


def _with_end(scores: Sequence[Floats] | Floats, rows: NDArray[np.int64]) -> Floats:
    """Return scores of some tools, shape [n, n_tools], with a 0 appended for the end."""
    found = np.zeros((len(scores), len(rows) + 1))
    for k, mine in enumerate(scores):
        found[k, :-1] = mine[rows]
    return found


def candidates(grounds: Grounds, n_free: int) -> list[Sequence_]:
    """Return known sequences worth a look, a trained model's proposals, and `n_free` new sets; each once, in order."""
    evidence = grounds.evidence
    own = evidence.left_out
    found = dict.fromkeys([*evidence.known, *(sequence for sequence, _ in evidence.neighbours)])
    if own is not None and grounds.counts.sequences[own] == 1:
        found.pop(own, None)
    if evidence.proposal is not None:
        for sequence, _ in evidence.proposal.sequences:
            if sequence and all(tool in evidence.place for tool in sequence):
                found[sequence] = None
    for sequence in _free(grounds, n_free):
        found[sequence] = None
    return list(found)


def possible(found: list[Sequence_], graph: frozenset[tuple[str, str]] | None) -> list[Sequence_]:
    """Return those whose links are all in the graph; all of them without a graph, or if none remains."""
    if graph is None:
        return found
    return [s for s in found if all((a, b) in graph for a, b in steps_of(s)[1:-1])] or found


class Known:
    """Taught sequences as arrays, to find those that fit a prediction."""

    def __init__(self, counts: Counts, tools: Mapping[str, int], link_columns: Mapping[tuple[str, str], int]) -> None:
        """Keep those whose every tool is on offer (`tools`: name → place)."""
        self.sequences = sorted(s for s in counts.sequences if all(tool in tools for tool in s))
        self._tools = _padded([[tools[tool] for tool in dict.fromkeys(s)] for s in self.sequences])
        links = [dict.fromkeys(link_columns.get(link, -1) for link in steps_of(s)) for s in self.sequences]
        self._links = _padded([[column for column in mine if column >= 0] for mine in links])

    def best(self, tools: Floats, predicted: NDArray[np.float32], n: int) -> list[Sequence_]:
        """Return the `n` that best fit scores of tools, shape [n_tools], and the heads' outputs, best first."""
        if not self.sequences:
            return []
        fit = np.append(2 * tools - 1, 0.0)[self._tools].sum(axis=1)
        if predicted.size:
            fit = fit + 0.5 * np.append(2 * predicted - 1, 0.0)[self._links].sum(axis=1)
        return [self.sequences[int(row)] for row in np.argsort(-fit, kind="stable")[:n]]


def _padded(rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Pad rows of indices with -1."""
    found = np.full((len(rows), max((len(row) for row in rows), default=0)), -1)
    for k, row in enumerate(rows):
        found[k, : len(row)] = row
    return found


@cache
def _subsets(n: int) -> NDArray[np.bool_]:
    """Return all subsets of n things with 1 to MOST_STEPS members, shape [n_subsets, n]."""
    bits = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
    return np.asarray(bits[bits.sum(axis=1) <= MOST_STEPS], dtype=np.bool_)


@cache
def orders_of(n: int) -> NDArray[np.int64]:
    """Return all orders of n things, the given one first, shape [n!, n]."""
    return np.array(list(permutations(range(n))), dtype=np.int64).reshape(-1, n)


@cache
def walks_of(n: int) -> NDArray[np.int64]:
    """Return all orders of n things at 1 to n, the given one first, between 0 and n + 1; shape [n!, n + 2]."""
    ends = np.zeros((len(orders_of(n)), 1), dtype=np.int64)
    return np.hstack([ends, orders_of(n) + 1, ends + n + 1])


def _top_tools(evidence: Evidence) -> list[tuple[str, float]]:
    """Return the likeliest tools, by all evidence."""
    mixed = evidence.tools + 0.5 * evidence.clause_any
    for tool, vote in evidence.votes.items():
        if tool in evidence.place:
            mixed[evidence.place[tool]] += 0.3 * vote
    mixed = np.minimum(mixed / 1.5, 1.0)
    n = min(_N_TOOLS, len(mixed))
    rows = np.sort(np.argpartition(-mixed, n - 1)[:n]) if n else np.zeros(0, dtype=np.int64)
    names = list(evidence.place)
    return [(names[row], float(mixed[row])) for row in rows[np.argsort(-mixed[rows], kind="stable")]]


def _free(grounds: Grounds, n_free: int) -> list[Sequence_]:
    """Return the likeliest sets of the likeliest tools, each in its likeliest orders."""
    if not n_free or not grounds.top:
        return []
    p = np.clip([p for _, p in grounds.top], 0.02, 0.98)
    subsets = _subsets(len(p))
    sizes = np.array([max(grounds.evidence.sizes.get(n, 0.0), 0.03) for n in range(MOST_STEPS + 1)])
    likelihood = subsets @ (np.log(p) - np.log(1 - p)) + np.log(sizes)[subsets.sum(axis=1)]
    top = np.array([grounds.place[tool] for tool, _ in grounds.top])
    best = np.argsort(-likelihood, kind="stable")[:n_free]
    lengths = subsets[best].sum(axis=1)
    found: dict[int, list[Sequence_]] = {}
    for n in range(1, MOST_STEPS + 1):
        mine = np.flatnonzero(lengths == n)
        if len(mine):
            found |= dict(zip(mine.tolist(), _ordered(grounds, top[np.nonzero(subsets[best[mine]])[1]].reshape(-1, n))))
    return [sequence for k in range(len(best)) for sequence in found[k]]


def _ordered(grounds: Grounds, sets: NDArray[np.int64]) -> list[list[Sequence_]]:
    """Return the likeliest orders of each set of places, shape [n_sets, n]."""
    ends = np.full((len(sets), 1), len(grounds.names) - 1)
    every = np.hstack([ends, sets, ends])[:, walks_of(sets.shape[1])]
    score = grounds.strength[every[:, :, :-1], every[:, :, 1:]].sum(axis=2)
    best = np.argsort(-score, axis=1, kind="stable")[:, :_N_ORDERS]
    chosen = every[np.arange(len(sets))[:, None], best, 1:-1].tolist()
    return [[tuple(grounds.names[place] for place in order) for order in mine] for mine in chosen]


# ── Examples ──────────────────────────────────────────────────────────────────────────────────────────────
# Keeps what a ranker was taught: each demonstration's plan, its reading, and the tools each act asked for.
#
# Nothing here depends on the order of teaching.

_STEP_PREFIX = re.compile(r"^step \d+[:.]? *(call \S+ *(to )?)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Taught:
    """One demonstration as it was learned."""

    sequence: Sequence_
    links: frozenset[tuple[int, int]]
    reading: Reading
    act_tools: tuple[tuple[str, ...], ...]
    """For each act, the tools of the steps most similar to it."""
    asked: frozenset[str]
    """Tools whose results no other step uses: what is asked for."""


def taught_of(demonstration: Demonstration, reading: Reading, act_tools: Sequence[Sequence[str]]) -> Taught:
    """Keep a plan with its reading and what each act asked for; the request itself is not kept."""
    steps = demonstration.plan.steps
    used = {ref.step for step in steps for ref in step.refs()}
    return Taught(
        tuple(step.tool for step in steps),
        frozenset((source, target) for target, step in enumerate(steps) for source in step.needs()),
        Reading(reading.vectors, reading.words),
        tuple(tuple(dict.fromkeys(tools)) for tools in act_tools),
        frozenset(step.tool for index, step in enumerate(steps) if index not in used),
    )


def asked_by_acts(demonstration: Demonstration, reading: Reading, vectors: FloatRows) -> list[list[str]]:
    """Credit each step to the act whose vector is most like its own."""
    asked: list[list[str]] = [[] for _ in reading.acts]
    for step, vector in zip(demonstration.plan.steps, vectors):
        asked[int((reading.acts @ vector).argmax())].append(step.tool)
    return asked


def targets_of(sequence: Sequence_) -> dict[str, float]:
    """Return the targets that a sequence gives the heads: its tools, its links with both ends, its length."""
    wanted = dict.fromkeys([f"t {tool}" for tool in sequence], 1.0)
    wanted.update(dict.fromkeys([f"l {a} > {b}" for a, b in steps_of(sequence)], 1.0))
    wanted[f"n {min(len(sequence), 6)}"] = 1.0
    return wanted


def rows_of(one: Taught) -> list[dict[str, float]]:
    """Return the targets of each row of a demonstration's reading: of the whole, then of each act if several.

    An act wants its tools, and `a TOOL` for each that is asked for, as the home's heads are taught it. A whole request
    of one act is that act, too.
    """
    acts = [
        dict.fromkeys([*(f"t {tool}" for tool in tools), *(f"a {tool}" for tool in tools if tool in one.asked)], 1.0)
        for tools in one.act_tools
    ]
    whole = targets_of(one.sequence)
    return [whole | acts[0]] if len(acts) == 1 else [whole, *acts]


def step_texts(demonstration: Demonstration, tools: Mapping[str, ToolSpec]) -> list[str]:
    """Return the text of each step, else its tool's text."""
    texts = []
    said = demonstration.task_steps
    for index, step in enumerate(demonstration.plan.steps):
        text = step.text or (said[index] if len(said) == len(demonstration.plan.steps) else "")
        spec = tools.get(step.tool)
        fallback = f"{step.tool.replace('_', ' ')}: {spec.description if spec else ''}"
        texts.append(_STEP_PREFIX.sub("", text) or fallback)
    return texts


# ── Neighbours ────────────────────────────────────────────────────────────────────────────────────────────
# Finds the demonstrations most similar to a request, and similar acts with the tools they asked for.
#
# Rows are in the order of their ids, so nothing depends on the order of teaching.

_N_USUAL = 256
_N_ACTS = 12
_ACT_SHARPNESS = 15.0
_N_ACTS_LOOKED_AT = 150
_ROUGH_WIDTH = 128
"""Number of components, the first of each vector, by which acts are preselected for a full comparison."""


class Neighbourhood:
    """Demonstrations as arrays; kept up to date by `add` and `drop` at the cost of copying them."""

    def __init__(self, taught: Mapping[str, Taught]) -> None:
        self._build(taught)

    def _build(self, taught: Mapping[str, Taught]) -> None:
        self.ids = sorted(taught)
        mine = [taught[id] for id in self.ids]
        self.sequences = [one.sequence for one in mine]
        self._sentences, self._by_word = _texts(mine)
        self._acts, self._asked, self._n_acts = _acts(mine)
        self._index()

    def add(self, fresh: Mapping[str, Taught]) -> None:
        """Add demonstrations whose ids are new; quick for a few."""
        if not self.ids:
            self._build(fresh)
            return
        ids = sorted(fresh)
        mine = [fresh[id] for id in ids]
        rows = [bisect_left(self.ids, id) for id in ids]
        sentences, by_word = _texts(mine)
        acts, asked, n_acts = _acts(mine)
        starts = np.append(self._starts, len(self._acts))[rows]
        self._sentences = np.insert(self._sentences, rows, sentences, axis=0)
        self._by_word = np.insert(self._by_word, rows, by_word, axis=1)
        self._acts = np.insert(self._acts, np.repeat(starts, n_acts), acts, axis=0)
        self._n_acts = np.insert(self._n_acts, rows, n_acts)
        place = len(asked)
        for row, start, id, one, n in reversed(list(zip(rows, starts, ids, mine, n_acts))):
            self.ids.insert(row, id)
            self.sequences.insert(row, one.sequence)
            self._asked[start:start] = asked[place - n : place]
            place -= n
        self._index()

    def drop(self, ids: Collection[str]) -> None:
        """Drop demonstrations."""
        gone = np.zeros(len(self.ids), dtype=np.bool_)
        gone[[self.place[id] for id in ids]] = True
        out = gone[self._owner]
        self.ids = [id for id, is_gone in zip(self.ids, gone) if not is_gone]
        self.sequences = [sequence for sequence, is_gone in zip(self.sequences, gone) if not is_gone]
        self._sentences, self._by_word = self._sentences[~gone], self._by_word[:, ~gone]
        self._acts, self._n_acts = self._acts[~out], self._n_acts[~gone]
        self._asked = [tools for tools, is_gone in zip(self._asked, out) if not is_gone]
        self._index()

    def _index(self) -> None:
        self.place = {id: row for row, id in enumerate(self.ids)}
        self._rough = np.ascontiguousarray(self._acts[:, :_ROUGH_WIDTH])
        self._owner = np.repeat(np.arange(len(self.ids)), self._n_acts)
        self._starts = np.cumsum(self._n_acts) - self._n_acts

    def usual(self) -> FloatRows:
        """Return unit vectors of some requests, spread evenly over the ids."""
        some = self._sentences[:: max(len(self.ids) // _N_USUAL, 1)][:_N_USUAL]
        return np.asarray(some / np.maximum(np.linalg.norm(some, axis=1, keepdims=True), 1e-6), dtype=np.float32)

    def nearest(
        self, reading: Reading, n: int, hidden: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the rows of the `n` most similar, nearest first, with their likeness (1 for the same text).

        Args:
            hidden: Rows to ignore, shape [n_taught].
        """
        if not self.ids:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        said = unit(reading.words[0])
        used = np.flatnonzero(said)
        words = said[used] @ self._by_word[used]
        alike = likeness_of_texts(self._sentences @ reading.vectors[0].astype(np.float32), words)
        if hidden is not None:
            alike[hidden] = -np.inf
        best = np.argsort(-alike, kind="stable")[:n]
        best = best[np.isfinite(alike[best])]
        return best, alike[best]

    def asked_for(
        self, reading: Reading, place: Mapping[str, int], hidden: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """Return how far the acts most similar to each act asked for each tool, shape [n_acts, n_tools].

        A act that asks for nothing has no votes.

        Args:
            place: Index of each tool on offer.
            hidden: Rows to ignore.
        """
        found = np.zeros((reading.n_acts, len(place)))
        if not len(self._acts):
            return found
        vectors = reading.acts
        rough = vectors[:, :_ROUGH_WIDTH] @ self._rough.T
        if hidden is not None:
            rough[:, hidden[self._owner]] = -np.inf
        n_looked_at = min(_N_ACTS_LOOKED_AT, rough.shape[1])
        for act, mine in enumerate(rough):
            rows = np.sort(np.argpartition(-mine, n_looked_at - 1)[:n_looked_at])
            rows = rows[np.isfinite(mine[rows])]
            alike = self._acts[rows] @ vectors[act]
            top = np.argsort(-alike, kind="stable")[:_N_ACTS]
            weights = np.exp((alike[top] - alike[top[:1]]) * _ACT_SHARPNESS)
            for row, weight in zip(rows[top], weights / max(float(weights.sum()), 1e-12)):
                for tool in self._asked[row]:
                    if tool in place:
                        found[act, place[tool]] += weight
        return found


def _texts(taught: list[Taught]) -> tuple[FloatRows, FloatRows]:
    """Return the vectors of whole requests, shape [n, dim], and their words, shape [n_words, n]."""
    if not taught:
        return np.zeros((0, 0), dtype=np.float32), np.zeros((0, 0), dtype=np.float32)
    sentences = np.array([one.reading.vectors[0] for one in taught], dtype=np.float32)
    return sentences, unit(np.array([one.reading.words[0] for one in taught])).T.copy()


def _acts(taught: list[Taught]) -> tuple[FloatRows, list[tuple[str, ...]], NDArray[np.int64]]:
    """Return vectors of all acts, the tools each asked for, and how many acts each demonstration has."""
    if not taught:
        return np.zeros((0, 0), dtype=np.float32), [], np.zeros(0, dtype=np.int64)
    vectors = np.concatenate([one.reading.acts for one in taught])
    asked = [tools for one in taught for tools in one.act_tools]
    return vectors, asked, np.array([len(one.act_tools) for one in taught], dtype=np.int64)


# ── Evidence features ─────────────────────────────────────────────────────────────────────────────────────
# Turns the evidence on each candidate plan into numbers: heads, neighbours, clauses, counts, and a trained model.

_N_MISSED = 20
_MOST_TOGETHER = 6
"""Most steps of sequences that are computed together, padded.

With 7 links or fewer numpy adds one after the other, so zeros behind them change no bit of a sum.
"""
_UNLIKELY = -6.0
"""Log-probability of a link or sequence that the trained model does not name."""

FEATURES = (
    "tools_fit",
    "tools_odds",
    "tools_least",
    "tools_missed",
    "links_fit",
    "links_log",
    "links_count",
    "links_new",
    "votes_sequence",
    "votes_set",
    "votes_tools",
    "votes_links",
    "clauses_fit",
    "clauses_log",
    "clauses_missed",
    "any_fit",
    "size_1",
    "size_3",
    "size_more",
    "size_log",
    "known",
    "known_set",
    "known_log",
    "known_near",
    "order_log",
    "links_new_near",
    "said_back",
    "cover",
    "step_fit",
    "step_log",
    "step_cover",
    "rare",
    "rare_odds",
    "rare_missed",
    "trained_fit",
    "trained_odds",
    "trained_missed",
    "trained_links",
    "beam",
    "beam_log",
    "beam_set",
    "beam_first",
)
RARE_FEATURES = frozenset({"rare", "rare_odds", "rare_missed"})
"""Features that concern hardly taught tools."""
SEEN_FEATURES = frozenset(
    {"known", "known_set", "known_log", "known_near", "links_count", "links_new", "links_new_near"}
)
"""Features that say whether something similar was taught before.

A trained model tells by itself; beside it they only keep the ranker from new combinations.
"""
_N_TRAINED = 8
"""Number of last features that come from the trained model; they are 0 without one."""


def features(found: Sequence[Sequence_], grounds: Grounds) -> Floats:
    """Return the features of each sequence, shape [n_found, len(FEATURES)]."""
    rows = np.zeros((len(found), len(FEATURES)))
    lengths = np.array([len(sequence) for sequence in found], dtype=np.int64)
    longer = sorted({n for n in lengths.tolist() if n > _MOST_TOGETHER})
    for group in (lengths <= _MOST_TOGETHER, *(lengths == n for n in longer)):
        mine = np.flatnonzero(group)
        if len(mine):
            rows[mine] = _of_group([found[k] for k in mine.tolist()], lengths[mine], grounds)
    return rows


def _of_group(found: Sequence[Sequence_], lengths: NDArray[np.int64], grounds: Grounds) -> Floats:
    """Return the features of sequences of about the same number of steps, the shorter ones padded with the end."""
    e, members = grounds.evidence, [set_of(sequence) for sequence in found]
    path = grounds.paths(found, lengths)
    within = path[:, 1:-1]
    is_link = np.arange(path.shape[1] - 1) <= lengths[:, None]
    is_in = is_link[:, 1:] & _first_uses(within)
    tools, links = _of_tools(grounds), _of_links(grounds)
    # Looked up in one go and added tool by tool: padding and repeated tools count 0.
    by_tool = dict(zip(tools, (np.array(list(tools.values()))[:, within] * is_in).sum(axis=2)))
    by_link = dict(zip(links, (np.array(list(links.values()))[:, path[:, :-1], path[:, 1:]] * is_link).sum(axis=2)))
    missed, clause_missed, rare_missed = _missed(found, within, grounds)
    n_known, n_sets = _taught(found, members, grounds)
    forward = np.minimum(np.diff(grounds.said[within], axis=1), 0.0) * is_link[:, 2:]
    votes_sequence, votes_set, votes_tools, votes_links = _votes(found, members, e)
    signs = {
        **by_tool,
        **by_link,
        "tools_least": np.where(is_in, np.clip(grounds.tools, _FLOOR, 1 - _FLOOR)[within], 1.0).min(axis=1),
        "tools_missed": np.log(np.maximum(missed, _FLOOR)),
        "clauses_missed": clause_missed,
        "rare_missed": np.log(np.maximum(rare_missed, _FLOOR) / _FLOOR),
        "votes_sequence": votes_sequence,
        "votes_set": votes_set,
        "votes_tools": votes_tools,
        "votes_links": votes_links,
        "size_1": lengths == 1,
        "size_3": lengths == 3,
        "size_more": lengths > 3,
        "size_log": np.log([max(e.sizes.get(min(n, 6), 0.0), 0.02) for n in lengths.tolist()]),
        "known": n_known > 0,
        "known_set": n_sets > 0,
        "known_log": np.log(np.maximum(n_known, 1)),
        "known_near": (n_known > 0) * e.nearest,
        "order_log": _order_log(path, lengths, grounds),
        "links_new_near": by_link["links_new"] * e.nearest,
        "said_back": forward.sum(axis=1),
        "cover": _cover(grounds.by_clause, within),
        "step_cover": _cover(grounds.steps, within),
        **dict(zip(FEATURES[-_N_TRAINED:], _trained(found, members, e.proposal))),
    }
    return np.ascontiguousarray(np.array([signs[name] for name in FEATURES], dtype=np.float64).T)


def _of_tools(grounds: Grounds) -> dict[str, Floats]:
    """Return the features of each of the few tools, to be added up over those of a sequence; [n_names] each."""
    p = np.clip(grounds.tools, _FLOOR, 1 - _FLOOR)
    odds = np.log(p / (1 - p))
    steps = grounds.steps.max(axis=0)
    return {
        "tools_fit": 2 * p - 1,
        "tools_odds": odds,
        "clauses_fit": 2 * grounds.best - 1,
        "clauses_log": np.log(np.clip(grounds.best, 0.02, 1)),
        "any_fit": 2 * grounds.any - 1,
        "step_fit": 2 * steps - 1,
        "step_log": np.log(np.clip(steps, 0.02, 1)),
        "rare": grounds.rarity,
        "rare_odds": odds * grounds.rarity,
    }


def _of_links(grounds: Grounds) -> dict[str, Floats]:
    """Return the features of each link between them; [n_names, n_names] each."""
    is_taught = grounds.n_links > 0
    link = np.where(is_taught, grounds.link, 0.0)
    return {
        "links_fit": 2 * link - 1,
        "links_log": np.log(np.clip(link, _FLOOR, 1)),
        "links_count": np.log1p(grounds.n_links),
        "links_new": np.where(is_taught, 0.0, 1.0),
    }


def _first_uses(places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark where a tool stands for the first time; sets count it once."""
    step = np.arange(places.shape[1])
    same = (places[:, :, None] == places[:, None, :]) & (step[:, None] < step)
    return np.asarray(~same.any(axis=1), dtype=np.bool_)


def _taught(found: Sequence[Sequence_], members: Sequence[Sequence_], grounds: Grounds) -> tuple[Floats, Floats]:
    """Count how often each sequence and each set was taught, without the one left out."""
    counts, own = grounds.counts, grounds.evidence.left_out
    own_set = set_of(own) if own is not None else None
    n_known = [max(counts.sequences.get(s, 0) - (s == own), 0) for s in found]
    n_sets = [max(counts.sets.get(s, 0) - (s == own_set), 0) for s in members]
    return np.array(n_known, dtype=np.float64), np.array(n_sets, dtype=np.float64)


def _votes(found: Sequence[Sequence_], members: Sequence[Sequence_], e: Evidence) -> tuple[Floats, ...]:
    """Return the weight of the neighbours that chose each sequence, its set, its tools and its links."""
    if not e.neighbours:
        none = np.zeros(len(found))
        return none, none, np.array([-float(len(s)) for s in members]), np.array([-0.5 * (len(s) + 1) for s in found])
    by_sequence: dict[Sequence_, float] = {}
    by_set: dict[Sequence_, float] = {}
    by_link: dict[tuple[str, str], float] = {}
    for sequence, weight in e.neighbours:
        by_sequence[sequence] = by_sequence.get(sequence, 0.0) + weight
        mine = set_of(sequence)
        by_set[mine] = by_set.get(mine, 0.0) + weight
        for link in steps_of(sequence):
            by_link[link] = by_link.get(link, 0.0) + weight
    by_tool = e.votes
    return (
        np.array([by_sequence.get(s, 0.0) for s in found]),
        np.array([by_set.get(s, 0.0) for s in members]),
        np.array([sum(2 * by_tool.get(tool, 0.0) - 1 for tool in s) for s in members]),
        np.array([sum(by_link.get(link, 0.0) - 0.5 for link in steps_of(s)) for s in found]),
    )


def _missed(found: Sequence[Sequence_], within: NDArray[np.int64], grounds: Grounds) -> Floats:
    """Return the highest score of a tool that a set lacks, shape [3, n_found].

    The three are: from the whole text, from a clause, and of hardly taught tools from the whole text.
    """
    e = grounds.evidence
    uses = np.zeros((len(found), len(grounds.names) + 1), dtype=np.bool_)  # the last column is no tool of these
    uses[np.arange(len(found))[:, None], within] = True
    scores = np.array([e.tools, e.clause_best, e.rarity * e.tools])
    n = min(_N_MISSED, scores.shape[1])
    top = np.argpartition(-scores, n - 1, axis=1)[:, :n]
    left = np.where(uses[:, grounds.name_of[top]], 0.0, np.take_along_axis(scores, top, axis=1))
    return np.asarray(np.maximum(left.max(axis=2), 0.0).T, dtype=np.float64)


def _cover(by_clause: Floats, within: NDArray[np.int64]) -> Floats:
    """Return how much less the tools of each sequence serve the clauses than the best tool for each clause would."""
    scores = np.clip(by_clause, 0, 1)
    served = scores[:, within].max(axis=2)
    return np.asarray((served - scores.max(axis=1, keepdims=True)).sum(axis=0), dtype=np.float64)


def _order_log(path: NDArray[np.int64], lengths: NDArray[np.int64], grounds: Grounds) -> Floats:
    """Return how likely each order is among all orders of its tools."""
    found = np.zeros(len(path))
    for n in range(2, MOST_STEPS + 1):
        mine = np.flatnonzero(lengths == n)
        if len(mine):
            every = path[mine][:, walks_of(n)]
            scores = grounds.strength[every[:, :, :-1], every[:, :, 1:]].sum(axis=2)
            top = scores.max(axis=1)
            found[mine] = scores[:, 0] - top - np.log(np.exp(scores - top[:, None]).sum(axis=1))
    return found


def _trained(found: Sequence[Sequence_], members: Sequence[Sequence_], proposal: Proposal | None) -> list[Floats]:
    if proposal is None:
        return [np.zeros(len(found))] * _N_TRAINED
    p = [np.clip([proposal.tools.get(tool, 0.0) for tool in mine], _FLOOR, 1 - _FLOOR) for mine in members]
    ranked = sorted(proposal.tools.items(), key=lambda item: -item[1])[:_N_MISSED]
    missed = [next((v for tool, v in ranked if tool not in mine), 0.0) for mine in members]
    beam = dict(proposal.sequences)
    least = min([_UNLIKELY, *beam.values()])
    sets: Counter[Sequence_] = Counter()
    for sequence, log in beam.items():
        sets[set_of(sequence)] += np.exp(log)
    first = proposal.sequences[0][0] if proposal.sequences else None
    return [
        np.array([float((2 * mine - 1).sum()) for mine in p]),
        np.array([float(np.log(mine / (1 - mine)).sum()) for mine in p]),
        np.log(np.maximum(missed, _FLOOR)),
        np.array([sum(max(proposal.link.get(link, _UNLIKELY), _UNLIKELY) for link in steps_of(s)) for s in found]),
        np.array([float(s in beam) for s in found]),
        np.array([beam.get(s, least) for s in found]),
        np.array([float(np.log(sets[mine] + 1e-3)) for mine in members]),
        np.array([float(s == first) for s in found]),
    ]
