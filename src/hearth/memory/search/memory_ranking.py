"""Ranks the events that may answer a question: words, meaning, conversation, person and time, weighted together.

Each candidate gets ten scores (`SCORES`); a weighted sum ranks them. The weights are fitted (conditional logit over the
events of a conversation) and kept in `hearth/data/recall_weights.json` with what they were fitted on. Scores are added,
not ranks: fusing ranks gives a weak list as much influence as a strong one (LoCoMo: worse than words alone).

Covered: words by their stem (BM25, Robertson & Zaragoza 2009, of the event, and, if it has neighbours, of it with them
and of its whole conversation), meaning, speaker, the times a question names, questions for a time or a number.
Not covered: synonyms beyond what the encoder knows, languages other than English for the cues, and inference over
several events: each is ranked by itself.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearth import patterns as re
from hearth.memory.search.fitted import fitted
from hearth.memory.search.memory_index import N_RESCORED, EventIndex, FloatArray, Postings, Slots, top
from hearth.memory.search.terms import ASKS, HAS_NUMBER, HAS_TIME, STOP_WORDS, telling_words
from hearth.memory.search.time_mentions import Period

SCORES = ("window", "conversation", "words", "meaning", "person", "time", "when", "number", "asks", "length")
N_BY_WORDS, N_BY_MEANING = 256, N_RESCORED
_K1, _B = 1.2, 0.75
_BEFORE_S, _AFTER_S = 3 * 86400.0, 7 * 86400.0
"""Decay of the time score before and after the time a question names: later events tell of it rather than earlier."""
_NEEDS_TIME = re.compile(r"\s*(?:when|how long|since when|what (?:day|date|time|year|month))\b", re.IGNORECASE)
_NEEDS_NUMBER = re.compile(r"\s*how (?:many|much|often|long|old|far|big|tall)\b", re.IGNORECASE)

_ADVICE = re.compile(
    r"\b(?:recommend\w*|suggest\w*|advi[cs]e|tips|ideas?|options)\b|\b(?:what|which|how|where|who)\b.{0,40}\b(?:should"
    r"|could|can|would|might) (?:i|we)\b|\b(?:can|could|would) you (?:help|plan|find|give|tell|provide|share|list)\b"
    r"|\bwhat are some\b|\bwhat(?:'s|’s| is| are| would be)\b.{0,40}\b(?:good|best|great|effective|popular|ways?|top)\b"
    r"|\bi(?:'m| am)? (?:looking for|planning|thinking (?:of|about)|considering|need)\b",
    re.IGNORECASE,
)
_OF_THE_PAST = re.compile(r"\b(?:did|has|had|was|were|gave|given)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Question:
    """A question as the ranking needs it."""

    text: str
    vector: FloatArray | None = None
    """Its unit vector; without one, meaning does not count."""
    periods: tuple[Period, ...] = ()
    is_for_advice: bool = False
    """Whether what the owner likes decides the answer, which shares its matter with the question and hardly a word."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates with their scores, best first."""

    slots: Slots
    totals: FloatArray
    scores: FloatArray
    """Shape [n_candidates, len(SCORES)]."""
    has_words: NDArray[np.bool_]
    """True for those that share a content word with the question."""
    cosines: FloatArray
    """Cosines with the question; 0 without its vector."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Events that may answer a question, in the order of slots."""

    slots: Slots
    scores: FloatArray
    """Shape [n_candidates, len(SCORES)]."""
    has_words: NDArray[np.bool_]
    cosines: FloatArray


def rank(index: EventIndex, question: Question, mask: NDArray[np.bool_] | None = None) -> Ranked:
    """Rank every event that is near the question in words or meaning, or that lies beside such a one.

    Args:
        mask: Events that may be found, shape [n_slots]; None: all that live.
    """
    found = candidates(index, question, None if mask is None else mask & index.live)
    is_by_meaning = question.is_for_advice and question.vector is not None
    totals = found.scores[:, SCORES.index("meaning")] if is_by_meaning else found.scores @ weights()
    order = np.lexsort((-index.at_unix_s[found.slots], -totals.round(4)))  # among equals the most recent first
    return Ranked(found.slots[order], totals[order], found.scores[order], found.has_words[order], found.cosines[order])


def reranked(ranked: Ranked, close: FloatArray) -> Ranked:
    """Reorder the first `len(close)` by their scores and their closeness together; the others stay behind them."""
    n = len(close)
    if not n:
        return ranked
    totals = ranked.scores[:n] @ weights("close")[:-1] + weights("close")[-1] * standardised(close)
    order = np.argsort(-totals, kind="stable")
    behind = ranked.totals[n:] - (ranked.totals[n] if n < len(ranked.totals) else 0) + totals.min(initial=0)
    return Ranked(
        np.concatenate([ranked.slots[:n][order], ranked.slots[n:]]),
        np.concatenate([totals[order], behind]).astype(np.float32),
        *(np.concatenate([a[:n][order], a[n:]]) for a in (ranked.scores, ranked.has_words, ranked.cosines)),
    )


def standardised(close: FloatArray) -> FloatArray:
    """Scale to mean 0 and deviation 1."""
    result: FloatArray = (close - close.mean()) / max(1e-6, float(close.std()))
    return result


def asks_for_advice(text: str) -> bool:
    """Return whether a question asks for something to choose or a way to go: "can you suggest a restaurant"."""
    return _ADVICE.search(text) is not None and _OF_THE_PAST.search(text) is None


def as_preference(text: str) -> str:
    """Write the matter of a question as one would say what one likes of it."""
    return f"I prefer, like or avoid: {' '.join(word for word in telling_words(text) if word not in STOP_WORDS)}"


def advice_vector(question: FloatArray, preference: FloatArray) -> FloatArray:
    """Return the unit vector by which preferences are sought for a question for advice: the question's, less what all
    such questions share, and half that of its matter written as a preference."""
    matter = question - np.float32(_SHARED) * _mean_advice()
    vector: FloatArray = matter / np.linalg.norm(matter) + np.float32(_AS_PREFERENCE) * preference
    return vector / np.float32(np.linalg.norm(vector))


_SHARED, _AS_PREFERENCE = 0.5, 0.5
"""Chosen on five of PrefEval's nine topics."""


@functools.cache
def _mean_advice() -> FloatArray:
    return np.array(fitted("advice_vector")["vector"], np.float32)


@functools.cache
def weights(kind: str = "weights") -> FloatArray:
    """One weight for each of `SCORES`; for kind `close` one more, for closeness."""
    kept = fitted("recall_weights")[kind]
    return np.array([kept[name] for name in (*SCORES, "close") if name in kept], np.float32)


def candidates(index: EventIndex, question: Question, allowed: NDArray[np.bool_] | None = None) -> Candidates:
    """Select the events to rank, with their scores.

    Args:
        allowed: Events that may be found, shape [n_slots]; None: all. Removed ones hold no word and no meaning.
    """
    people = people_named(index, question.text)
    named = {word for person in people for word in telling_words(person)}
    words = [word for word in telling_words(question.text) if word.removesuffix("s") not in named and word not in named]
    lists = [index.postings(stem) for stem in index.stems(words)]
    n_live = max(1, len(index))
    idf = np.array([math.log(1 + max(0.0, n_live - len(p.slots) + 0.5) / (len(p.slots) + 0.5)) for p in lists])
    own = np.zeros(len(index.live), np.float32)
    for rarity, found in zip(idf, lists, strict=True):
        norm = np.float32(_K1) * (1 - _B + np.float32(_B / index.mean_terms) * index.n_terms[found.slots])
        own[found.slots] += np.float32(rarity * (_K1 + 1)) * found.counts / (found.counts + norm)
    cosines, nearest = None, np.zeros(0, np.int64)
    if question.vector is not None:
        cosines, nearest = index.nearest(question.vector, allowed)
    slots = _chosen(index, own, nearest, allowed)
    near = np.zeros(len(slots), np.float32) if cosines is None else cosines[slots]
    scores = np.zeros((len(slots), len(SCORES)), np.float32)
    if len(slots):
        window = _window(index, lists, idf, slots)
        conversation = _conversation(index, lists, slots)
        for column, values in enumerate((window, conversation, own[slots])):
            scores[:, column] = values / max(1e-9, float(values.max()))
        is_alone = np.logical_and(*(beside < 0 for beside in index.beside(slots)))
        scores[:, :2] = _among_others(scores[:, :2], scores[:, 2], is_alone)
        if cosines is not None:
            mean, deviation = _spread(cosines, len(index)) if allowed is None else _spread(cosines[allowed])
            scores[:, 3] = (near - mean) / max(1e-6, deviation)
        scores[:, 4:] = _signs(index, question, people, slots)
    return Candidates(slots, scores, own[slots] > 0, near)


def _spread(cosines: FloatArray, n: int | None = None) -> tuple[float, float]:
    """Mean and deviation of `n` cosines, of which those not given are 0."""
    n = len(cosines) if n is None else n
    mean = float(cosines.sum()) / max(1, n)
    square = float(np.dot(cosines, cosines)) - n * mean * mean
    return mean, math.sqrt(max(0.0, square) / max(1, n))


def people_named(index: EventIndex, text: str) -> list[str]:
    """Find the speakers who are named in the question."""
    low = text.casefold()
    return [
        person
        for person in index.known("person")
        if person and re.search(rf"\b{re.escape(person.casefold())}(?:'?s)?\b", low)
    ]


def _chosen(index: EventIndex, own: FloatArray, nearest: Slots, allowed: NDArray[np.bool_] | None) -> Slots:
    with_words = np.flatnonzero(own > 0)
    if allowed is not None:
        with_words = with_words[allowed[with_words]]
    near = np.concatenate([with_words[top(own[with_words], N_BY_WORDS)], nearest])
    found = _distinct(np.concatenate([near, *index.beside(near)]))
    found = found[found >= 0]
    return found[(index.live if allowed is None else allowed)[found]]


def _distinct(slots: Slots) -> Slots:
    """Each slot once, in order."""
    slots = np.sort(slots)
    return slots[np.append(True, slots[1:] != slots[:-1])] if len(slots) else slots


def _window(index: EventIndex, lists: Sequence[Postings], idf: FloatArray, slots: Slots) -> FloatArray:
    """BM25 of each event together with the one before and the one after it in its conversation."""
    parts = np.concatenate([slots, *index.beside(slots)])
    lengths = np.where(parts >= 0, index.n_terms[parts], np.float32(0)).reshape(3, -1).sum(axis=0)
    norm = _K1 * (1 - _B + _B * lengths / (3 * index.mean_terms))
    total = np.zeros(len(slots), np.float32)
    for rarity, found in zip(idf, lists, strict=True):
        said = _counts_at(found, parts).reshape(3, -1).sum(axis=0)
        total += rarity * said * (_K1 + 1) / (said + norm)
    return total


def _among_others(scores: FloatArray, words: FloatArray, is_alone: NDArray[np.bool_]) -> FloatArray:
    """Score events that stand alone and so have no conversation: they get the scores of an event with the same words,
    by a straight line through the others. Otherwise their own words would count three times over, and more than their
    meaning."""
    result = scores.copy()
    others = ~is_alone
    mean = scores[others].mean(axis=0) if others.any() else np.zeros(2, np.float32)
    mean_words = float(words[others].mean()) if others.any() else 0.0
    spread = float(((words[others] - mean_words) ** 2).sum())
    slope = _SLOPES
    if spread > _LEAST_SPREAD:
        slope = np.maximum(0, (words[others] - mean_words) @ (scores[others] - mean)) / np.float32(spread)
    result[is_alone] = mean + (words[is_alone] - np.float32(mean_words))[:, None] * slope
    return result


_SLOPES = np.array([0.5, 0.0], np.float32)
"""Slopes for window and conversation, used when no other events show them."""
_LEAST_SPREAD = 1e-3


def _counts_at(found: Postings, slots: Slots) -> FloatArray:
    """Count the stem in each of `slots`; -1 is no event."""
    if not len(found.slots):
        return np.zeros(len(slots), np.float32)
    places = np.searchsorted(found.slots, slots)
    places[places == len(found.slots)] = 0
    counts: FloatArray = np.where(found.slots[places] == slots, found.counts[places], np.float32(0))
    return counts


def _conversation(index: EventIndex, lists: Sequence[Postings], slots: Slots) -> FloatArray:
    """BM25 of the whole conversation each event belongs to."""
    threads = index.ids("thread")
    n_threads = max(1, len(index.known("thread")))
    lengths = index.thread_terms
    n_used = max(1, int((lengths > 0).sum()))
    norm = _K1 * (1 - _B + _B * lengths / max(1.0, lengths.sum() / n_used))
    total = np.zeros(n_threads)
    for found in lists:
        said = np.bincount(threads[found.slots], found.counts, n_threads)
        n_with = int((said > 0).sum())
        total += math.log(1 + max(0.0, n_used - n_with + 0.5) / (n_with + 0.5)) * said * (_K1 + 1) / (said + norm)
    result: FloatArray = total[threads[slots]].astype(np.float32)
    return result


def _signs(index: EventIndex, question: Question, people: Sequence[str], slots: Slots) -> FloatArray:
    """Compute the scores `person`, `time`, `when`, `number`, `asks` and `length` of each candidate."""
    signs = index.signs[slots]
    found = np.zeros((len(slots), 6), np.float32)
    if len(people) == 1:
        found[:, 0] = index.ids("person")[slots] == index.known("person")[people[0]]
    found[:, 1] = _nearness(index.at_unix_s[slots], question.periods)
    found[:, 2] = bool(_NEEDS_TIME.match(question.text)) & (signs & HAS_TIME > 0)
    found[:, 3] = bool(_NEEDS_NUMBER.match(question.text)) & (signs & HAS_NUMBER > 0)
    found[:, 4] = signs & ASKS > 0
    found[:, 5] = np.log1p(index.n_terms[slots])
    return found


def _nearness(at_unix_s: NDArray[np.float64], periods: Sequence[Period]) -> NDArray[np.float64]:
    """Nearness in time: 1 within a period, less the further outside."""
    best = np.zeros(len(at_unix_s))
    for period in periods:
        start, end = period.start.timestamp(), period.end.timestamp()
        after_s = max(_AFTER_S, (end - start) / 2)
        gap = np.where(at_unix_s < start, (start - at_unix_s) / _BEFORE_S, np.maximum(0, at_unix_s - end) / after_s)
        best = np.maximum(best, np.exp(-gap))
    return best
