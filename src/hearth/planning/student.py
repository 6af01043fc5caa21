"""A planner that learns from demonstrations exactly: solved heads and remembered neighbours, weighed into ranked plans.

Learning is order-free and reversible: the heads are solved from sums of whole numbers (`models.heads`), the neighbours
are the demonstrations themselves, and the few weights that join the two are fitted from what is remembered now. So a
student taught in any order, or having forgotten something, plans as one taught the same things at once. A trained
model (`protocols.Proposer`) may be adopted: its proposals are weighed beside the rest, as far as they proved right.

Tools unlike anything taught are scored by their text alone. Covered: which tools, in what order, linked how, how sure.
Not covered: arguments (`planning.slots` and the binding fill them), and requests that no tool serves.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearth.models.features import UNIT
from hearth.models.heads import Heads, Target
from hearth.planning import student_file
from hearth.planning.candidates import Counts, Evidence, Floats, Grounds, Known, Sequence_, candidates, set_of, steps_of
from hearth.planning.deciding import best_of, least_risk, sureness_signs
from hearth.planning.reading import FloatRows, Reader, Reading, ReadingOptions
from hearth.planning.signs import FEATURES, features
from hearth.planning.strangers import ToolTexts, by_text
from hearth.planning.taught import Neighbourhood, Taught, step_texts, targets_of, taught_of
from hearth.planning.weighing import Weigher, chance, fit_logistic, fit_weigher
from hearth.protocols import Encoder, Proposal, Proposer
from hearth.types import Demonstration, ToolSpec

__all__ = ["Candidate", "Proposal", "Proposer", "Ranking", "Student", "StudentOptions"]

_N_NEIGHBOURS = 15
_SHARPNESS = 10.0
"""How fast a neighbour's weight falls with its distance in likeness."""
_N_CHOSEN = 12
_LEAST_TAUGHT = 20
_STALE_SHARE = 0.1
_N_KNOWN = 20
_N_STRANGERS = 40
"""So many hardly taught tools, nearest by their texts, are considered for a request."""


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
class Joining:
    """The few weights that join the evidence, all fitted together."""

    weigher: Weigher | None = None
    sureness: Weigher | None = None
    text: Weigher | None = None


class _Columns:
    """Where each tool on offer, link and length stands in the heads' outputs, and how often each tool was taught."""

    def __init__(self, names: Sequence[str], heads: Heads, clause_heads: Heads, counts: Counts) -> None:
        place = {name: column for column, name in enumerate(heads.outputs)}
        clause = {name: column for column, name in enumerate(clause_heads.outputs)}
        self.text = np.array([place.get("t " + name, -1) for name in names], dtype=np.int64)
        self.clause = np.array([clause.get(name, -1) for name in names], dtype=np.int64)
        self.sizes = {n: place[f"n {n}"] for n in range(1, 7) if f"n {n}" in place}
        self.uses = np.array([counts.tools.get(name, 0) for name in names], dtype=np.float64)
        taught = ((link, place.get(f"l {link[0]} > {link[1]}")) for link in counts.links)
        self.links = {link: column for link, column in taught if column is not None}


class Student:
    """Tier one, neighbours and, once adopted, a trained model. Not thread-safe."""

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
        self._taught: dict[str, Taught] = {}
        self._counts = Counts()
        self._pair_links: Counter[tuple[str, str, bool, bool]] = Counter()
        self._text_vectors: dict[str, FloatRows] = {}
        self._proposer: Proposer | None = None
        self._held: dict[str, Proposal] = {}
        self._joining: Joining | None = None
        self._n_since_fit = 0
        self._start_heads()
        self.set_tools(tools)

    def _start_heads(self) -> None:
        o, fingerprint = self.options, self._reader.fingerprint
        self.heads = Heads(self._reader.n_text_features, ridge=o.ridge, fingerprint=fingerprint)
        self.clause_heads = Heads(o.reading.n_clause, ridge=o.clause_ridge, fingerprint=fingerprint)

    # ── Tools ─────────────────────────────────────────────────────────────────────────────────────────────

    def set_tools(self, tools: Mapping[str, ToolSpec]) -> None:
        """Offer these tools from now on; new ones can be chosen at once, by their text."""
        self.tools = dict(tools)
        self._names = list(tools)
        texts = [tool_text(spec) for spec in tools.values()]
        fresh = [text for text in dict.fromkeys(texts) if text not in self._text_vectors]
        known = {**self._text_vectors, **dict(zip(fresh, self._reader.vectors(fresh)))}
        self._text_vectors = {text: known[text] for text in texts}
        self._place = {name: place for place, name in enumerate(self._names)}
        self._changed()

    @cached_property
    def _tool_texts(self) -> ToolTexts:
        return ToolTexts(np.array([self._text_vectors[tool_text(spec)] for spec in self.tools.values()]))

    def _changed(self) -> None:
        """What follows from tools and demonstrations is made anew when it is next needed."""
        for made in ("_tool_texts", "_neighbourhood", "_columns", "_known"):
            self.__dict__.pop(made, None)

    # ── Learning ──────────────────────────────────────────────────────────────────────────────────────────

    def __len__(self) -> int:
        return len(self._taught)

    @property
    def ids(self) -> tuple[str, ...]:
        """Of the demonstrations learnt, sorted."""
        return tuple(sorted(self._taught))

    def read(self, texts: Sequence[str]) -> list[Reading]:
        """Readings of requests, to be handed to `learn` and `rank_readings` when they are needed more than once."""
        return self._reader.read(texts)

    def step_vectors(self, demonstrations: Sequence[Demonstration]) -> list[FloatRows]:
        """Vectors of what each step was said to do, else of its tool's text; for `learn`."""
        texts = [step_texts(d, self.tools) for d in demonstrations]
        flat = self._reader.step_vectors([text for mine in texts for text in mine])
        ends = np.cumsum([len(mine) for mine in texts])
        return [flat[end - len(mine) : end] for mine, end in zip(texts, ends)]

    def learn(
        self,
        demonstrations: Sequence[Demonstration],
        readings: Sequence[Reading] | None = None,
        step_vectors: Sequence[FloatRows] | None = None,
    ) -> None:
        """Learn; one with a known id replaces the older, of one id given twice the last counts. Empty plans are passed
        over; a tool that is not on offer is learnt and waits until it is.

        Args:
            readings, step_vectors: As `read` and `step_vectors` give them; made here when left out.
        """
        readings = readings if readings is not None else self.read([d.request for d in demonstrations])
        vectors = step_vectors if step_vectors is not None else self.step_vectors(demonstrations)
        fresh: dict[str, Taught] = {}
        for demonstration, reading, mine in zip(demonstrations, readings, vectors):
            if demonstration.plan.steps:
                fresh[demonstration.id] = taught_of(demonstration, reading, mine)
        self.remove(*(id for id in fresh if id in self._taught))
        self._learn_anew()
        self._change(list(fresh.values()), 1)
        self._taught.update(fresh)
        self._n_since_fit += len(fresh)
        if self._n_since_fit > _STALE_SHARE * len(self._taught):
            self._joining = None

    def remove(self, *ids: str) -> None:
        """Forget demonstrations: the student is then as if it had never seen them. Unknown ids are passed over."""
        known = [id for id in dict.fromkeys(ids) if id in self._taught]
        if known:
            self._learn_anew()
        gone = [self._taught.pop(id) for id in known]
        self._change(gone, -1)
        for id in known:
            self._held.pop(id, None)
        if gone:  # the joining weights, too, must be as if it had never been seen
            self._joining = None

    def _change(self, taught: Sequence[Taught], sign: int) -> None:
        if not taught:
            return
        self._changed()
        for one in taught:
            self._count(one, sign)
        if self.options.use_heads:
            self._move_heads(taught, sign)

    def _count(self, one: Taught, sign: int) -> None:
        self._counts.add(one.sequence, sign)
        for a, b in combinations(range(len(one.sequence)), 2):
            key = (one.sequence[a], one.sequence[b], b == a + 1, (a, b) in one.links)
            self._pair_links[key] += sign
            if not self._pair_links[key]:
                del self._pair_links[key]

    def _move_heads(self, taught: Sequence[Taught], sign: int) -> None:
        change = Heads.learn if sign > 0 else Heads.remove
        readings = [one.reading for one in taught]
        change(self.heads, self._reader.text_features(readings), [targets_of(one.sequence) for one in taught])
        targets = [dict.fromkeys(tools, 1.0) for one in taught for tools in one.clause_tools]
        change(self.clause_heads, self._reader.clause_features(readings), targets)

    def _learn_anew(self) -> None:
        """A loaded student holds solved weights alone: the statistics come back from its demonstrations."""
        if not self.heads.can_learn:
            self._start_heads()
            self._move_heads(list(self._taught.values()), 1)

    def settle(self) -> None:
        """Bring all weights up to date now rather than at some later request; seconds, for idle time."""
        if self.options.use_heads:
            self.heads.settle()
            self.clause_heads.settle()
        if self._n_since_fit:
            self._joining = None
        self.fit()

    def renew(self) -> None:
        """As `settle`, but all weights from nothing: the same demonstrations give the same weights to the last bit, in
        whatever order they came and whatever was forgotten since; seconds, for idle time."""
        self._learn_anew()
        if self.options.use_heads:
            self.heads.renew()
            self.clause_heads.renew()
        self._changed()
        self._joining = None
        self.fit()
        self._n_since_fit = 0

    def difference(self, other: Student) -> float:
        """Largest difference between two students' head weights, for features of length 1; inf for other outputs."""
        largest = 0.0
        self._learn_anew()
        other._learn_anew()
        for mine, theirs in ((self.heads, other.heads), (self.clause_heads, other.clause_heads)):
            if set(mine.outputs) != set(theirs.outputs):
                return float("inf")
            place = {name: k for k, name in enumerate(theirs.outputs)}
            columns = np.array([place[name] for name in mine.outputs], dtype=np.int64)
            apart = np.abs(mine.weights - theirs.weights[:, columns]).max(initial=0.0) * UNIT
            largest = max(largest, float(apart))
        return largest

    def adopt(self, proposer: Proposer | None, held: Mapping[str, Proposal]) -> None:
        """Weigh a trained model's proposals from now on, or those of none.

        Args:
            held: By demonstration id, what a model that was not trained on the demonstration proposes for it. How far
                proposals are trusted is fitted on these alone; with fewer than 20 they are not trusted at all.
        """
        self._proposer = proposer
        self._held = {id: held[id] for id in sorted(held.keys() & self._taught.keys())} if proposer else {}
        self._joining = None

    # ── Files ─────────────────────────────────────────────────────────────────────────────────────────────

    def save(self, folder: Path) -> None:
        """Write everything to `folder`, at once or not at all; the loaded student plans the same to the last bit.

        Raises:
            StoreFullError: No space left; the folder is as before.
            StoreError: It cannot be written; the folder is as before.
        """
        self.fit()
        student_file.write(
            folder,
            student_file.Kept(
                self.options,
                self._reader.fingerprint,
                self._taught,
                (self.heads.outputs, self.heads.solved()),
                (self.clause_heads.outputs, self.clause_heads.solved()),
                self._text_vectors,
                (self._joining.weigher, self._joining.sureness, self._joining.text) if self._joining else None,
                self._n_since_fit,
                self._proposer.fingerprint if self._proposer else "",
                self._held,
            ),
        )

    @classmethod
    def load(
        cls,
        folder: Path,
        encoder: Encoder,
        tools: Mapping[str, ToolSpec],
        graph: frozenset[tuple[str, str]] | None = None,
        proposer: Proposer | None = None,
    ) -> Student:
        """The student that `save` wrote, with its options.

        Args:
            proposer: The model it had adopted; without it, or with another, the rest is weighed anew without it.
        Raises:
            StoreError: Nothing was saved there, or it cannot be read.
            StoreCorruptError: Damaged.
            StoreVersionError: Of another version of Hearth, or learnt with another encoder.
        """
        kept = student_file.read(folder)
        student = cls(encoder, {}, kept.options, graph)
        student_file.check_fingerprint(folder, kept.fingerprint, student._reader.fingerprint)
        student._text_vectors = dict(kept.text_vectors)
        student._taught = dict(kept.taught)
        for one in student._taught.values():
            student._count(one, 1)
        if kept.options.use_heads and student._taught:
            o = student.options
            (outputs, weights), (clause_outputs, clause_weights) = kept.heads, kept.clause_heads
            student.heads = Heads.of_solved(outputs, weights, ridge=o.ridge, fingerprint=kept.fingerprint)
            student.clause_heads = Heads.of_solved(
                clause_outputs, clause_weights, ridge=o.clause_ridge, fingerprint=kept.fingerprint
            )
        student.set_tools(tools)
        student._n_since_fit = kept.n_since_fit
        if kept.proposer == (proposer.fingerprint if proposer else ""):
            student._proposer, student._held = proposer, dict(kept.held)
            student._joining = Joining(*kept.joining) if kept.joining else None
        elif proposer:
            student._proposer = proposer
        return student

    # ── Planning ──────────────────────────────────────────────────────────────────────────────────────────

    def rank(self, text: str) -> Ranking:
        """Plans for one request; without any demonstration, by the tools' texts alone."""
        return self.rank_readings(self.read([text]))[0]

    def rank_readings(self, readings: Sequence[Reading]) -> list[Ranking]:
        """Plans for requests already read."""
        self.fit()  # does nothing unless something calls for it
        proposals: Sequence[Proposal | None] = [None] * len(readings)
        if self._proposer is not None and self._is_trusting:
            proposals = self._proposer.propose([reading.request for reading in readings])
        return [self._ranking(evidence, ids) for evidence, ids in self._evidence(readings, proposals)]

    def rank_left_out(self, ids: Sequence[str]) -> list[Ranking]:
        """Plans for requests that were taught, each as if it alone had not been: how well it would have been planned.

        Raises:
            KeyError: An id that was not taught.
        """
        self.fit()
        self._learn_anew()
        proposals = self._held if self._proposer is not None and self._is_trusting else {}
        parts = zip(ids, self._left_out(ids)) if ids else ()
        return [self._ranking(*self._evidence_of(*part, proposals.get(id), id)) for id, part in parts]

    def nearest(self, reading: Reading, n: int, without: str | None = None) -> list[tuple[str, float]]:
        """Ids of the `n` demonstrations most like a request with their likeness, nearest first."""
        rows, alike = self._neighbourhood.nearest(reading, n, without)
        return [(self._neighbourhood.ids[row], float(likeness)) for row, likeness in zip(rows, alike)]

    def taught(self, id: str) -> Taught:
        """What was learnt from one demonstration. Raises: KeyError."""
        return self._taught[id]

    @property
    def _is_trusting(self) -> bool:
        return len(self._held) >= _LEAST_TAUGHT

    def _ranking(self, evidence: Evidence, ids: tuple[str, ...]) -> Ranking:
        found, p = self._weighed(evidence)
        if not found:
            return Ranking((), 0.0, ())
        order = np.argsort(-p, kind="stable")[:_N_CHOSEN]
        kept = [found[int(i)] for i in order]
        first = least_risk(kept, p[order])
        ranked = [first, *(i for i in range(len(kept)) if i != first)]
        sureness = self._joining.sureness if self._joining else None
        signs = sureness_signs(kept[first], found, p, evidence)
        sure = float(chance(sureness, signs[None])[0]) if sureness else float(p[order][first])
        return Ranking(
            tuple(Candidate(kept[i], self._links_of(kept[i]), float(p[order][i])) for i in ranked), sure, ids[:3]
        )

    def _weighed(self, evidence: Evidence) -> tuple[list[Sequence_], NDArray[np.float64]]:
        grounds = Grounds(evidence, self._counts)
        found = candidates(grounds, self.options.n_free)
        if self._graph is not None:
            allowed = [s for s in found if all((a, b) in self._graph for a, b in steps_of(s)[1:-1])]
            found = allowed or found
        if not found:
            return [], np.zeros(0)
        weigher = self._joining.weigher if self._joining else None
        return found, (weigher or _UNTAUGHT).probabilities(features(found, grounds))

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

    @cached_property
    def _neighbourhood(self) -> Neighbourhood:
        return Neighbourhood(self._taught)

    @cached_property
    def _columns(self) -> _Columns:
        return _Columns(self._names, self.heads, self.clause_heads, self._counts)

    @cached_property
    def _known(self) -> Known:
        return Known(self._counts, self._place, self._columns.links)

    def _evidence(
        self, readings: Sequence[Reading], proposals: Sequence[Proposal | None]
    ) -> list[tuple[Evidence, tuple[str, ...]]]:
        if not readings:
            return []
        predicted = self.heads.predict(self._reader.text_features(readings))
        clauses = self.clause_heads.predict(self._reader.clause_features(readings))
        found, start = [], 0
        for row, (reading, proposal) in enumerate(zip(readings, proposals)):
            end = start + len(reading.clauses)
            found.append(self._evidence_of(predicted[row], clauses[start:end], reading, proposal))
            start = end
        return found

    def _evidence_of(
        self,
        predicted: FloatRows,
        clauses: FloatRows,
        reading: Reading,
        proposal: Proposal | None,
        own: str | None = None,
    ) -> tuple[Evidence, tuple[str, ...]]:
        """Judge one request from the heads' outputs for it and its likeness to what was taught.

        Args:
            own: Its id, when it was taught itself and is to be judged as if it had not been.
        """
        o, columns = self.options, self._columns
        left_out = self._taught[own].sequence if own is not None else None
        nearest, alike = self._neighbourhood.nearest(reading, _N_NEIGHBOURS, own)
        weights = np.exp((alike - alike[:1]) * _SHARPNESS)
        weights = weights / max(float(weights.sum()), 1e-12)
        sequences = [(self._neighbourhood.sequences[row], float(w)) for row, w in zip(nearest, weights)]
        neighbours = [(s, w) for s, w in sequences if all(tool in self._place for tool in s)]
        if o.use_heads:
            tools = _picked(predicted, columns.text)
            clause_best = _picked(clauses.max(axis=0), columns.clause)
            any_ = 1 - np.prod(1 - np.clip(clauses, 0, 0.98), axis=0)
            clause_any = _picked(any_, columns.clause)
            where = clauses.argmax(axis=0) / max(len(clauses) - 1, 1)
            said = np.where(columns.clause >= 0, _picked(where, columns.clause), 0.5)
        else:
            tools = np.zeros(len(self._names))
            for sequence, weight in neighbours:
                tools[[self._place[tool] for tool in set(sequence)]] += weight
            clause_best, clause_any, said = tools.copy(), tools.copy(), np.full(len(tools), 0.5)
        uses = columns.uses
        if left_out is not None:
            uses = uses.copy()
            uses[[self._place[tool] for tool in set(left_out) if tool in self._place]] -= 1
        self._add_text((tools, clause_best, clause_any), reading, uses)
        evidence = Evidence(
            self._place,
            tools,
            clause_best,
            clause_any,
            said,
            predicted,
            columns.links,
            {n: float(predicted[column]) for n, column in columns.sizes.items()} if o.use_heads else {},
            self._known.best(tools, predicted, _N_KNOWN),
            neighbours if o.use_neighbours else [],
            float(alike[0]) if len(alike) else 0.0,
            uses < o.text_trust,
            proposal,
            left_out,
        )
        return evidence, tuple(self._neighbourhood.ids[row] for row in nearest)

    def _add_text(self, scores: tuple[Floats, ...], reading: Reading, uses: Floats) -> None:
        """What tools' texts suggest, for those taught seldom or never."""
        trust = self.options.text_trust
        rare = np.flatnonzero(uses < 4 * trust)
        if not len(rare):
            return
        near = self._tool_texts.nearness(reading.vectors)
        if len(rare) > _N_STRANGERS:
            rare = rare[np.argsort(-near[rare].max(axis=1), kind="stable")[:_N_STRANGERS]]
        signs = self._tool_texts.signs(near, scores[0], rare)
        p = by_text(self._joining.text if self._joining else None, signs)
        share = trust / (trust + uses[rare])
        for score in scores:
            score[rare] = (1 - share) * score[rare] + share * p

    # ── Fitting the few joining weights ───────────────────────────────────────────────────────────────────

    def fit(self) -> None:
        """Fit what joins the evidence, from demonstrations each judged as if it alone had not been taught.

        Kept until something is removed, a tenth was added, or `settle` is called: one more example counts at once in
        the evidence itself, and hardly in how it is weighed.
        """
        if self._joining is not None or len(self._taught) < _LEAST_TAUGHT:
            return
        self._learn_anew()
        self._n_since_fit = 0
        pool = self._held if self._proposer is not None and self._is_trusting else self._taught
        ids = sorted(pool, key=_digest)[: self.options.n_fit]
        left = self._left_out(ids)
        self._joining = Joining(text=self._fit_text(ids, left))
        groups, right, outcomes = [], [], []
        for id, parts in zip(ids, left):
            gold = self._taught[id].sequence
            evidence, _ = self._evidence_of(*parts, self._held.get(id) if pool is self._held else None, id)
            grounds = Grounds(evidence, self._counts)
            found = candidates(grounds, self.options.n_free)
            if not found:
                continue
            signs = features(found, grounds)
            outcomes.append((gold, found, signs, evidence))
            best = best_of(found, gold)
            if best is not None:
                groups.append(signs)
                right.append(best)
        if len(groups) < 10:
            return
        weigher = fit_weigher(groups, right)
        self._joining = Joining(weigher, _fit_sureness(weigher, outcomes), self._joining.text)

    def _left_out(self, ids: Sequence[str]) -> list[tuple[FloatRows, FloatRows, Reading]]:
        """The heads' outputs for demonstrations, each as if it had not been taught."""
        chosen = [self._taught[id] for id in ids]
        readings = [one.reading for one in chosen]
        if not self.options.use_heads:
            nothing = np.zeros((1, 0), dtype=np.float32)
            return [(nothing[0], nothing, reading) for reading in readings]
        predicted = self.heads.leave_out(
            self._reader.text_features(readings), [targets_of(one.sequence) for one in chosen]
        )
        targets: list[Target] = [dict.fromkeys(tools, 1.0) for one in chosen for tools in one.clause_tools]
        sizes = [len(reading.clauses) for reading in readings]
        clauses = self.clause_heads.leave_out(self._reader.clause_features(readings), targets, sizes)
        ends = np.cumsum(sizes)
        return [(predicted[k], clauses[end - sizes[k] : end], readings[k]) for k, end in enumerate(ends)]

    def _fit_text(self, ids: Sequence[str], left: Sequence[tuple[FloatRows, FloatRows, Reading]]) -> Weigher | None:
        """How far a text alone can be trusted, seen on taught tools as if their own column were missing."""
        signs, right = [], []
        for id, (predicted, _, reading) in list(zip(ids, left))[:300]:
            if not self.options.use_heads:
                break
            tools = _picked(predicted, self._columns.text)
            near = self._tool_texts.nearness(reading.vectors)
            mine = [self._place[tool] for tool in set_of(self._taught[id].sequence) if tool in self._place]
            others = [int(k) for k in np.argsort(-near.max(axis=1), kind="stable")[:30] if k not in mine]
            signs.append(self._tool_texts.signs(near, tools, [*mine, *others]))
            right += [True] * len(mine) + [False] * len(others)
        return fit_logistic(np.vstack(signs), right) if any(right) else None


def tool_text(spec: ToolSpec) -> str:
    """A tool's name and description, as they are encoded."""
    return f"{spec.name.replace('_', ' ')}: {spec.description}"


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _picked(scores: FloatRows | Floats, columns: NDArray[np.int64]) -> Floats:
    """Scores in the order of the tools on offer; 0 for tools without a column."""
    return np.where(columns >= 0, np.append(scores, 0.0)[columns], 0.0).astype(np.float64)


def _fit_sureness(
    weigher: Weigher, outcomes: Sequence[tuple[Sequence_, list[Sequence_], NDArray[np.float64], Evidence]]
) -> Weigher | None:
    rows, right = [], []
    for gold, found, signs, evidence in outcomes:
        p = weigher.probabilities(signs)
        order = np.argsort(-p, kind="stable")[:_N_CHOSEN]
        first = found[int(order[least_risk([found[int(i)] for i in order], p[order])])]
        rows.append(sureness_signs(first, found, p, evidence))
        right.append(set_of(first) == set_of(gold))
    return fit_logistic(np.array(rows), right) if any(right) and not all(right) else None


def _prior(weights: Mapping[str, float]) -> Weigher:
    return Weigher(np.zeros(len(FEATURES)), np.ones(len(FEATURES)), np.array([weights.get(f, 0.0) for f in FEATURES]))


_UNTAUGHT = _prior({"tools_odds": 0.5, "links_log": 0.1, "votes_set": 2.0, "votes_sequence": 2.0, "links_new": -0.1})
"""Used until there are enough demonstrations to fit."""
