"""A planner that learns from demonstrations exactly: solved heads and remembered neighbours, weighed into ranked plans.

Learning is order-free and reversible: the heads are solved from sums of whole numbers (`models.heads`), the neighbours
are the demonstrations themselves, and the few weights that join the two are fitted from what is remembered now. So a
student taught in any order, or having forgotten something, plans as one taught the same things at once.

Tools unlike anything taught are scored by their text alone. Covered: which tools, in what order, linked how, how sure.
Not covered: arguments (`planning.slots` and the binding fill them), and requests that no tool serves.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearth.models.heads import UNIT, Heads, Target
from hearth.planning.candidates import (
    FEATURES,
    Counts,
    Evidence,
    Known,
    Sequence_,
    candidates,
    features,
    set_of,
    steps_of,
)
from hearth.planning.reading import FloatRows, Reader, Reading, ReadingOptions
from hearth.planning.weighing import Weigher, chance, fit_logistic, fit_weigher
from hearth.protocols import Encoder
from hearth.types import Demonstration, ToolSpec

_STEP_PREFIX = re.compile(r"^step \d+[:.]? *(call \S+ *(to )?)?", re.IGNORECASE)
_N_NEIGHBOURS = 15
_SHARPNESS = 10.0
"""How fast a neighbour's weight falls with its distance in likeness."""
_N_CHOSEN = 12
_LEAST_TAUGHT = 20
_STALE_SHARE = 0.1
_N_KNOWN = 20
_RARE_LINK = 0.4
"""How likely a link is of two wanted tools, one of which was hardly ever taught."""
_LEAST_CHANCE = 0.02


@dataclass(frozen=True, slots=True)
class StudentOptions:
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    ridge: float = 0.1
    clause_ridge: float = 0.2
    n_free: int = 15
    """New combinations proposed beside known ones."""
    use_heads: bool = True
    use_neighbours: bool = True
    n_fit: int = 800
    """Demonstrations from which the joining weights are fitted."""
    text_trust: float = 3.0
    """So many uses of a tool count as much as what its text suggests."""


class Candidate(NamedTuple):
    tools: Sequence_
    """In order."""
    links: tuple[tuple[int, int], ...]
    """Which step feeds or precedes which."""
    probability: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Plans for one request: the chosen one first, then by probability."""

    candidates: tuple[Candidate, ...]
    confidence: float
    """Calibrated chance that the first has the right set of tools."""
    rests_on: tuple[str, ...]
    """Ids of the demonstrations nearest to the request."""


@dataclass(frozen=True, slots=True)
class _Taught:
    sequence: Sequence_
    links: frozenset[tuple[int, int]]
    reading: Reading
    clause_tools: tuple[tuple[str, ...], ...]


class Student:
    """Tier one and neighbours. Not thread-safe."""

    name = "student"

    def __init__(
        self,
        encoder: Encoder,
        tools: Mapping[str, ToolSpec],
        options: StudentOptions | None = None,
        graph: frozenset[tuple[str, str]] | None = None,
    ) -> None:
        """Know the tools, nothing taught yet.

        Args:
            graph: Links that are possible; None allows any.
        """
        self.options = options or StudentOptions()
        self._reader = Reader(encoder, self.options.reading)
        self._graph = graph
        self._taught: dict[str, _Taught] = {}
        self._counts = Counts()
        self._pair_links: Counter[tuple[str, str, bool, bool]] = Counter()
        o = self.options
        self.heads = Heads(self._reader.n_text_features, ridge=o.ridge, fingerprint=self._reader.fingerprint)
        self.clause_heads = Heads(o.reading.n_clause, ridge=o.clause_ridge, fingerprint=self._reader.fingerprint)
        self._rows: FloatRows | None = None
        self._ids: list[str] = []
        self._sequences: list[Sequence_] = []
        self._known_sequences: Known | None = None
        self._weigher: Weigher | None = None
        self._sureness: Weigher | None = None
        self._text_weigher: Weigher | None = None
        self._n_since_fit = 0
        self.set_tools(tools)

    # ── Tools ─────────────────────────────────────────────────────────────────────────────────────────────

    def set_tools(self, tools: Mapping[str, ToolSpec]) -> None:
        """Offer these tools from now on; new ones can be chosen at once, by their text."""
        self.tools = dict(tools)
        self._names = list(tools)
        texts = [f"{spec.name.replace('_', ' ')}: {spec.description}" for spec in tools.values()]
        self._tool_vectors = self._reader.vectors(texts)
        self._place = {name: place for place, name in enumerate(self._names)}
        self._known_sequences = None

    # ── Learning ──────────────────────────────────────────────────────────────────────────────────────────

    def __len__(self) -> int:
        return len(self._taught)

    def read(self, texts: Sequence[str]) -> list[Reading]:
        """Readings of requests, to be handed to `learn` and `rank_readings` when they are needed more than once."""
        return self._reader.read(texts)

    def step_vectors(self, demonstrations: Sequence[Demonstration]) -> list[FloatRows]:
        """Vectors of what each step was said to do, else of its tool's text; for `learn`."""
        texts = [_step_texts(d, self.tools) for d in demonstrations]
        flat = self._reader.vectors([text for mine in texts for text in mine])
        ends = np.cumsum([len(mine) for mine in texts])
        return [flat[end - len(mine) : end] for mine, end in zip(texts, ends)]

    def learn(
        self,
        demonstrations: Sequence[Demonstration],
        readings: Sequence[Reading] | None = None,
        step_vectors: Sequence[FloatRows] | None = None,
    ) -> None:
        """Learn; one with a known id replaces the older. Empty plans and unknown tools are passed over.

        Args:
            readings, step_vectors: As `read` and `step_vectors` give them; made here when left out.
        """
        readings = readings if readings is not None else self.read([d.request for d in demonstrations])
        vectors = step_vectors if step_vectors is not None else self.step_vectors(demonstrations)
        fresh: dict[str, _Taught] = {}
        for demonstration, reading, mine in zip(demonstrations, readings, vectors):
            if demonstration.plan.steps:
                fresh[demonstration.id] = _taught(demonstration, reading, mine)
        self.remove(*(id for id in fresh if id in self._taught))
        self._change(list(fresh.values()), 1)
        self._taught.update(fresh)
        self._n_since_fit += len(fresh)
        if self._n_since_fit > _STALE_SHARE * len(self._taught):
            self._weigher = None

    def remove(self, *ids: str) -> None:
        """Forget demonstrations: the student is then as if it had never seen them. Unknown ids are passed over."""
        gone = [self._taught.pop(id) for id in dict.fromkeys(ids) if id in self._taught]
        self._change(gone, -1)
        if gone:  # the joining weights, too, must be as if it had never been seen
            self._weigher = None

    def _change(self, taught: Sequence[_Taught], sign: int) -> None:
        if not taught:
            return
        self._rows, self._known_sequences = None, None
        for one in taught:
            self._counts.add(one.sequence, sign)
            for a, b in combinations(range(len(one.sequence)), 2):
                key = (one.sequence[a], one.sequence[b], b == a + 1, (a, b) in one.links)
                self._pair_links[key] += sign
        if not self.options.use_heads:
            return
        change = Heads.learn if sign > 0 else Heads.remove
        change(self.heads, np.array([one.reading.text for one in taught]), [_targets(one.sequence) for one in taught])
        rows = np.concatenate([one.reading.clauses for one in taught])
        targets = [dict.fromkeys(tools, 1.0) for one in taught for tools in one.clause_tools]
        change(self.clause_heads, rows, targets)

    def settle(self) -> None:
        """Bring all weights up to date now rather than at some later request; seconds, for idle time."""
        if self.options.use_heads:
            self.heads.settle()
            self.clause_heads.settle()
        if self._n_since_fit:
            self._weigher = None
        self.fit()

    def difference(self, other: Student) -> float:
        """Largest difference between two students' head weights, for features of length 1; inf for other outputs."""
        largest = 0.0
        for mine, theirs in ((self.heads, other.heads), (self.clause_heads, other.clause_heads)):
            if set(mine.outputs) != set(theirs.outputs):
                return float("inf")
            place = {name: k for k, name in enumerate(theirs.outputs)}
            columns = np.array([place[name] for name in mine.outputs], dtype=np.int64)
            apart = np.abs(mine.weights - theirs.weights[:, columns]).max(initial=0.0) * UNIT
            largest = max(largest, float(apart))
        return largest

    # ── Planning ──────────────────────────────────────────────────────────────────────────────────────────

    def rank(self, text: str) -> Ranking:
        """Plans for one request; without any demonstration, by the tools' texts alone."""
        return self.rank_readings(self.read([text]))[0]

    def rank_readings(self, readings: Sequence[Reading]) -> list[Ranking]:
        """Plans for requests already read."""
        self.fit()  # does nothing unless something calls for it
        return [self._ranking(evidence, ids) for evidence, ids in self._evidence(readings)]

    def _ranking(self, evidence: Evidence, ids: tuple[str, ...]) -> Ranking:
        found, p = self._weighed(evidence)
        if not found:
            return Ranking((), 0.0, ())
        order = np.argsort(-p, kind="stable")[:_N_CHOSEN]
        kept = [found[int(i)] for i in order]
        first = _least_risk(kept, p[order])
        ranked = [first, *(i for i in range(len(kept)) if i != first)]
        signs = _sureness_signs(kept[first], found, p, evidence)
        sure = float(chance(self._sureness, signs[None])[0]) if self._sureness else float(p[order][first])
        return Ranking(
            tuple(Candidate(kept[i], self._links_of(kept[i]), float(p[order][i])) for i in ranked), sure, ids[:3]
        )

    def _weighed(self, evidence: Evidence) -> tuple[list[Sequence_], NDArray[np.float64]]:
        found = candidates(evidence, self._counts, self.options.n_free)
        if self._graph is not None:
            allowed = [s for s in found if all((a, b) in self._graph for a, b in steps_of(s)[1:-1])]
            found = allowed or found
        if not found:
            return [], np.zeros(0)
        signs = features(found, evidence, self._counts)
        return found, (self._weigher or _UNTAUGHT).probabilities(signs)

    def _known(self) -> Known:
        if self._known_sequences is None:
            columns = {name: place for place, name in enumerate(self.heads.outputs)}
            self._known_sequences = Known(self._counts, self._place, columns)
        return self._known_sequences

    def _links_of(self, sequence: Sequence_) -> tuple[tuple[int, int], ...]:
        """Links between steps, each as its pair was linked most often; neighbours in doubt are linked."""
        links = []
        for a, b in combinations(range(len(sequence)), 2):
            is_next = b == a + 1
            yes = self._pair_links[sequence[a], sequence[b], is_next, True]
            no = self._pair_links[sequence[a], sequence[b], is_next, False]
            if yes + 0.5 * is_next > no + 0.5 * (not is_next):
                links.append((a, b))
        return tuple(links)

    # ── Evidence ──────────────────────────────────────────────────────────────────────────────────────────

    def _evidence(self, readings: Sequence[Reading]) -> list[tuple[Evidence, tuple[str, ...]]]:
        if not readings:
            return []
        texts = np.array([reading.text for reading in readings])
        predicted = self.heads.predict(texts)
        clauses = self.clause_heads.predict(np.concatenate([reading.clauses for reading in readings]))
        likeness = self._likeness(texts)
        found, start = [], 0
        for row, reading in enumerate(readings):
            end = start + len(reading.clauses)
            found.append(self._evidence_of(predicted[row], clauses[start:end], reading, likeness[row], None))
            start = end
        return found

    def _likeness(self, texts: NDArray[np.int16]) -> FloatRows:
        """Cosine of readings to all demonstrations, shape [n, n_taught]."""
        if self._rows is None:
            self._ids = sorted(self._taught)
            self._sequences = [self._taught[id].sequence for id in self._ids]
            rows = np.zeros((len(self._ids), self._reader.n_text_features), dtype=np.float32)
            for place, id in enumerate(self._ids):
                rows[place] = self._taught[id].reading.text
            self._rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
        asked = texts.astype(np.float32)
        unit = asked / np.maximum(np.linalg.norm(asked, axis=1, keepdims=True), 1)
        return np.asarray(unit @ self._rows.T, dtype=np.float32)

    def _evidence_of(
        self,
        predicted: FloatRows,
        clauses: FloatRows,
        reading: Reading,
        likeness: FloatRows,
        left_out: Sequence_ | None,
    ) -> tuple[Evidence, tuple[str, ...]]:
        """Judge one request from the heads' outputs for it and its likeness to what was taught.

        Args:
            left_out: Its own sequence, when it was taught itself.
        """
        o = self.options
        n = min(_N_NEIGHBOURS, len(likeness))
        nearest = np.argpartition(-likeness, n - 1)[:n] if n else np.zeros(0, dtype=np.int64)
        nearest = nearest[np.argsort(-likeness[nearest], kind="stable")]
        weights = np.exp((likeness[nearest] - likeness[nearest[0]]) * _SHARPNESS) if n else np.zeros(0)
        weights = weights / max(float(weights.sum()), 1e-12)
        votes = Counter[str]()
        for place, weight in zip(nearest, weights):
            for tool in set(self._sequences[place]):
                votes[tool] += float(weight)  # type: ignore[assignment]
        if o.use_heads:
            tools = {
                name: float(predicted[c]) for name in self._names if (c := self.heads.column("t " + name)) is not None
            }
            best = clauses.max(axis=0)
            any_ = 1 - np.prod(1 - np.clip(clauses, 0, 0.98), axis=0)
            columns = [(name, c) for name in self._names if (c := self.clause_heads.column(name)) is not None]
            clause_best = {name: float(best[c]) for name, c in columns}
            clause_any = {name: float(any_[c]) for name, c in columns}
            where = clauses.argmax(axis=0) / max(len(clauses) - 1, 1)
            said = {name: float(where[c]) for name, c in columns}
        else:
            tools = {name: votes[name] for name in self._names}
            clause_best, clause_any, said = dict(tools), dict(tools), {}
        own = set(left_out or ())
        uses = {name: self._counts.tools[name] - (name in own) for name in self._names}
        rare = frozenset(name for name, n in uses.items() if n < o.text_trust)
        self._add_text(tools, clause_best, clause_any, reading, uses)
        column = self.heads.column

        def link(a: str, b: str) -> float:
            place = column(f"l {a} > {b}")
            known = float(predicted[place]) if place is not None else 0.0
            if a in rare or b in rare:
                return max(known, _RARE_LINK * min(tools.get(a, 1.0), tools.get(b, 1.0)))
            return known

        sizes = {k: float(predicted[c]) for k in range(1, 7) if (c := column(f"n {k}")) is not None}
        neighbours = [(self._sequences[place], float(w)) for place, w in zip(nearest, weights)]
        if not o.use_neighbours:
            neighbours = []
        scores = np.array([tools.get(name, 0.0) for name in self._names], dtype=np.float32)
        evidence = Evidence(
            tools,
            clause_best,
            clause_any,
            link,
            said,
            sizes,
            self._known().best(scores, predicted, _N_KNOWN),
            [(s, w) for s, w in neighbours if all(tool in self._place for tool in s)],
            float(likeness[nearest[0]]) if n else 0.0,
            rare,
            left_out,
        )
        return evidence, tuple(self._ids[place] for place in nearest)

    def _add_text(
        self,
        tools: dict[str, float],
        clause_best: dict[str, float],
        clause_any: dict[str, float],
        reading: Reading,
        uses: Mapping[str, int],
    ) -> None:
        """What tools' texts suggest, for those taught seldom or never."""
        trust = self.options.text_trust
        rare = [name for name, n in uses.items() if n < 4 * trust]
        if not rare:
            return
        suggested = self._by_text(reading, tools, rare)
        for name, p in zip(rare, suggested):
            share = trust / (trust + uses[name])
            for scores in (tools, clause_best, clause_any):
                scores[name] = (1 - share) * scores.get(name, 0.0) + share * float(p)

    def _by_text(self, reading: Reading, tools: Mapping[str, float], names: Sequence[str]) -> NDArray[np.float64]:
        signs = self._text_signs(reading, tools, names)
        return chance(self._text_weigher or _TEXT_ONLY, signs)

    def _text_signs(self, reading: Reading, tools: Mapping[str, float], names: Sequence[str]) -> NDArray[np.float64]:
        """How near a tool's text is to the request, and how wanted the taught tools with texts like it are."""
        places = [self._place[name] for name in names]
        mine = self._tool_vectors[places]
        near = mine @ reading.vectors.T
        wanted = np.array([tools.get(name, 0.0) for name in self._names], dtype=np.float32)
        alike = mine @ self._tool_vectors.T
        alike[np.arange(len(places)), places] = 0.0
        borrowed = (np.clip(alike, 0, 1) ** 2 * np.clip(wanted, 0, 1)).max(axis=1)
        rank = (
            near.max(axis=1) - np.sort((self._tool_vectors @ reading.vectors.T).max(axis=1))[-min(5, len(self._names))]
        )
        return np.column_stack([near.max(axis=1), near.mean(axis=1), borrowed, rank]).astype(np.float64)

    # ── Fitting the few joining weights ───────────────────────────────────────────────────────────────────

    def fit(self) -> None:
        """Fit what joins the evidence, from demonstrations each judged as if it alone had not been taught.

        Kept until something is removed, a tenth was added, or `settle` is called: one more example counts at once in
        the evidence itself, and hardly in how it is weighed.
        """
        if self._weigher is not None or len(self._taught) < _LEAST_TAUGHT:
            return
        self._n_since_fit = 0
        ids = sorted(self._taught, key=_digest)[: self.options.n_fit]
        chosen = [self._taught[id] for id in ids]
        left = self._left_out(ids, chosen)
        self._fit_text(chosen, left)
        groups, right, outcomes = [], [], []
        for one, parts in zip(chosen, left):
            evidence, _ = self._evidence_of(*parts, one.sequence)
            found = candidates(evidence, self._counts, self.options.n_free)
            signs = features(found, evidence, self._counts)
            outcomes.append((one.sequence, found, signs, evidence))
            best = _best_of(found, one.sequence)
            if best is not None:
                groups.append(signs)
                right.append(best)
        if len(groups) < 10:
            self._weigher = _UNTAUGHT
            return
        self._weigher = fit_weigher(groups, right)
        self._fit_sureness(outcomes)

    def _left_out(
        self, ids: Sequence[str], chosen: Sequence[_Taught]
    ) -> list[tuple[FloatRows, FloatRows, Reading, FloatRows]]:
        texts = np.array([one.reading.text for one in chosen])
        likeness = self._likeness(texts)
        place = {id: k for k, id in enumerate(self._ids)}
        likeness[np.arange(len(ids)), [place[id] for id in ids]] = -9.0
        if not self.options.use_heads:
            nothing = np.zeros((1, 0), dtype=np.float32)
            return [(nothing[0], nothing, one.reading, likeness[k]) for k, one in enumerate(chosen)]
        predicted = self.heads.leave_out(texts, [_targets(one.sequence) for one in chosen])
        rows = np.concatenate([one.reading.clauses for one in chosen])
        targets: list[Target] = [dict.fromkeys(tools, 1.0) for one in chosen for tools in one.clause_tools]
        clauses = self.clause_heads.leave_out(rows, targets, [len(one.reading.clauses) for one in chosen])
        parts, start = [], 0
        for k, one in enumerate(chosen):
            end = start + len(one.reading.clauses)
            parts.append((predicted[k], clauses[start:end], one.reading, likeness[k]))
            start = end
        return parts

    def _fit_text(
        self, chosen: Sequence[_Taught], left: Sequence[tuple[FloatRows, FloatRows, Reading, FloatRows]]
    ) -> None:
        """How far a text alone can be trusted, seen on taught tools as if their own column were missing."""
        signs, right = [], []
        for one, (predicted, _, reading, _) in list(zip(chosen, left))[:300]:
            if not self.options.use_heads:
                break
            tools = {
                name: float(predicted[c]) for name in self._names if (c := self.heads.column("t " + name)) is not None
            }
            mine = [tool for tool in set_of(one.sequence) if tool in self._place]
            near = self._tool_vectors @ reading.vectors.T
            others = [self._names[k] for k in np.argsort(-near.max(axis=1))[:30] if self._names[k] not in mine]
            signs.append(self._text_signs(reading, tools, [*mine, *others]))
            right += [True] * len(mine) + [False] * len(others)
        self._text_weigher = fit_logistic(np.vstack(signs), right) if any(right) else None

    def _fit_sureness(
        self, outcomes: Sequence[tuple[Sequence_, list[Sequence_], NDArray[np.float64], Evidence]]
    ) -> None:
        rows, right = [], []
        assert self._weigher is not None
        for gold, found, signs, evidence in outcomes:
            if not found:
                continue
            p = self._weigher.probabilities(signs)
            order = np.argsort(-p, kind="stable")[:_N_CHOSEN]
            first = found[int(order[_least_risk([found[int(i)] for i in order], p[order])])]
            rows.append(_sureness_signs(first, found, p, evidence))
            right.append(set_of(first) == set_of(gold))
        self._sureness = fit_logistic(np.array(rows), right) if any(right) and not all(right) else None


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _targets(sequence: Sequence_) -> dict[str, float]:
    """What a sequence teaches the heads: its tools, its links with both ends, its length."""
    wanted = dict.fromkeys([f"t {tool}" for tool in sequence], 1.0)
    wanted.update(dict.fromkeys([f"l {a} > {b}" for a, b in steps_of(sequence)], 1.0))
    wanted[f"n {min(len(sequence), 6)}"] = 1.0
    return wanted


def _step_texts(demonstration: Demonstration, tools: Mapping[str, ToolSpec]) -> list[str]:
    texts = []
    said = demonstration.task_steps
    for index, step in enumerate(demonstration.plan.steps):
        text = step.text or (said[index] if len(said) == len(demonstration.plan.steps) else "")
        spec = tools.get(step.tool)
        fallback = f"{step.tool.replace('_', ' ')}: {spec.description if spec else ''}"
        texts.append(_STEP_PREFIX.sub("", text) or fallback)
    return texts


def _taught(demonstration: Demonstration, reading: Reading, vectors: FloatRows) -> _Taught:
    """Each step is credited to the clause it is most like."""
    steps = demonstration.plan.steps
    clause_tools: list[list[str]] = [[] for _ in reading.vectors]
    for step, vector in zip(steps, vectors):
        mine = clause_tools[int((reading.vectors @ vector).argmax())]
        if step.tool not in mine:
            mine.append(step.tool)
    links = frozenset((source, target) for target, step in enumerate(steps) for source in step.needs())
    return _Taught(tuple(step.tool for step in steps), links, reading, tuple(tuple(tools) for tools in clause_tools))


def _best_of(found: Sequence[Sequence_], gold: Sequence_) -> int | None:
    """The right candidate: the very sequence, else the one with its tools and the most of its links."""
    links = set(pairwise(gold))
    same = [k for k, sequence in enumerate(found) if set_of(sequence) == set_of(gold)]
    return max(same, key=lambda k: (found[k] == gold, len(links & set(pairwise(found[k]))), -k), default=None)


def _least_risk(found: Sequence[Sequence_], p: NDArray[np.float64]) -> int:
    """The candidate with the highest expected score (node F1 + link F1) under the others' probabilities.

    Source:
        Minimum Bayes risk: Kumar & Byrne 2004, https://aclanthology.org/N04-1022.
    """
    sets = [set(s) for s in found]
    links = [set(steps_of(s)[1:-1]) for s in found]
    gain = np.zeros((len(found), len(found)))
    for i, j in combinations(range(len(found)), 2):
        nodes = 2 * len(sets[i] & sets[j]) / max(len(sets[i]) + len(sets[j]), 1)
        both = 2 * len(links[i] & links[j]) / max(len(links[i]) + len(links[j]), 1)
        gain[i, j] = gain[j, i] = nodes + both
    gain[np.diag_indices(len(found))] = [1.0 + bool(mine) for mine in links]
    return int((gain @ p).argmax())


def _sureness_signs(
    first: Sequence_, found: Sequence[Sequence_], p: NDArray[np.float64], evidence: Evidence
) -> NDArray[np.float64]:
    """What tells whether a choice is right: the probability of all candidates with its tools, and how alone it is."""
    mine = set_of(first)
    together = float(sum(q for sequence, q in zip(found, p) if set_of(sequence) == mine))
    together = min(max(together, _LEAST_CHANCE), 1 - 1e-3)
    least = min((evidence.tools.get(tool, 0.0) for tool in mine), default=0.0)
    agree = sum(w for sequence, w in evidence.neighbours if set_of(sequence) == mine)
    return np.array([np.log(together / (1 - together)), least, agree, evidence.nearest, float(len(first) > 2)])


def _prior(weights: Mapping[str, float]) -> Weigher:
    return Weigher(np.zeros(len(FEATURES)), np.ones(len(FEATURES)), np.array([weights.get(f, 0.0) for f in FEATURES]))


_UNTAUGHT = _prior({"tools_odds": 0.5, "links_log": 0.1, "votes_set": 2.0, "votes_sequence": 2.0, "links_new": -0.1})
"""Used until there are enough demonstrations to fit."""
_TEXT_ONLY = Weigher(
    np.array([0.45, 0.25, 0.0, 0.0, 0.0]), np.array([0.12, 0.12, 1.0, 0.1, 1.0]), np.array([1.2, 0.2, 1.0, 0.6, -1.0])
)
