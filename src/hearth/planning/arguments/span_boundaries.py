"""Where the text of an argument begins and ends in a request, by the words that stood around others."""

from __future__ import annotations

import contextlib
import functools
import heapq
import itertools
import json
import math
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hearth.formats.plans import canonical
from hearth.language.thesaurus import KNOWN_WORDS, concepts
from hearth.language.tokens import listed
from hearth.models.sentence_encoder import TokenEncoder, TokenVectors
from hearth.planning.arguments.alignment import (
    FUNCTION_WORDS,
    Constant,
    Lesson,
    LessonStep,
    Result,
    Said,
    Several,
    Slotted,
    Source,
    Token,
)
from hearth.types import Parameter

# ── Context counts ────────────────────────────────────────────────────────────────────────────────────────
# Counts in lessons how owners say the arguments of each tool: the words before, within and after.
#
# Counts are kept per parameter of a tool, per parameter name across tools, and over all free text; each level smooths
# the one below it, so that three demonstrations of a new tool already help and none at all still gives an answer.
# Counts are made from the newest lessons when they are first needed, so that a start does not wait for them.

N_LEFT, N_RIGHT = 3, 2
"""Numbers of words looked at before and after a stretch."""
ABSENT = "absent"
SAID = "said"
RESULT = "result"
CONSTANT = "constant:"

_ARTICLES = listed("the a an my our")
_LINKS = listed("to for of with from on in at by into until")
_OPENING_WORDS = listed("that saying about called named titled regarding")
_CLOSERS = listed("and then please pls thanks")
_PAUSES = listed(", ; : . ! ?")

# The numbers below were set by cross-validation on the shipped demonstrations
# (packages/hearth-bench/hearth_bench/measure/planning/speed/recall_at_size.py reports it).
_N_PER_TOOL = 120
"""Number of lessons counted per tool, the newest."""
_N_PER_TOOL_GENERAL, _N_GENERAL = 15, 1_200
_SMOOTHING = 2.0
_LEFT_RATES = {"^": 0.04, "": 0.02, "<": 0.1, **dict.fromkeys(_ARTICLES, 0.12), **dict.fromkeys(_LINKS, 0.12)}
_LEFT_RATES |= dict.fromkeys(_OPENING_WORDS, 0.4) | {":": 0.6}
"""Probability that an argument begins after a word, before anything is known of this tool."""
_RIGHT_RATES = {"$": 0.5, "": 0.02, "<": 0.12, "of": 0.02} | dict.fromkeys(_LINKS, 0.08)
_RIGHT_RATES |= dict.fromkeys(_PAUSES, 0.35) | dict.fromkeys(_CLOSERS, 0.25)
"""Probability that an argument ends before a word."""
_CONTENT_RATE = 0.7
"""Probability that a word never seen before belongs to an argument rather than to the way of asking."""
_QUOTED_RATE = 0.9
_DOUBT = 2.0
HIDDEN = "something"
"""Placeholder for words of an argument."""
_LEAST_TOLD = 10
"""Steps of a tool from which on it is known what it is always given."""
_MOST_BARE = 0.02
_SIGN_WEIGHT = 0.7
"""Weight of a sign, below 1 because words of a request are not independent."""
_N_SIGNS = 2
"""Number of strongest signs counted for and against a kind; the rest is noise."""


def left_context(words: Sequence[str], place: int) -> tuple[str, ...]:
    """Return the words before `place`, nearest first."""
    return tuple(words[i] if i >= 0 else "^" for i in range(place - 1, place - 1 - N_LEFT, -1))


def right_context(words: Sequence[str], place: int) -> tuple[str, ...]:
    """Return the words from `place` on."""
    return tuple(words[i] if i < len(words) else "$" for i in range(place, place + N_RIGHT))


@functools.lru_cache(maxsize=2048)
def signs_of(words: tuple[str, ...]) -> frozenset[str]:
    """Return the signs in a request of which kind of source an argument has: its words and its concepts."""
    return frozenset(words) | frozenset(concepts(words))


@functools.lru_cache(maxsize=2048)
def _contexts(words: tuple[str, ...]) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]:
    """Return every context that occurs in a request, of every length, on both sides."""
    # Slices of one padded tuple: the same as left_context and right_context at every place, in a quarter of the time.
    before, after = (*words[::-1], *("^",) * N_LEFT), (*words, *("$",) * N_RIGHT)
    places = range(len(words) + 1)
    left = [before[place : place + k] for place in places for k in range(1, N_LEFT + 1)]
    right = [after[place : place + k] for place in places for k in range(1, N_RIGHT + 1)]
    return tuple(left), tuple(right)


Key = TypeVar("Key")


def _shift(counts: Counter[Key], keys: Collection[Key], by: int) -> None:
    """Count each of `keys` once more, or once less (-1): what was counted and is no more leaves nothing behind."""
    if by > 0:
        counts.update(keys)
        return
    counts.subtract(keys)
    for key in keys:
        if counts[key] <= 0:
            counts.pop(key, None)


# Where counting takes `by`, 1 counts and -1 takes back what was counted.


@dataclass(slots=True)
class Occurrences:
    """Counts of each context and word in requests, with or without an argument there."""

    n_steps: int = 0
    signs: Counter[str] = field(default_factory=Counter)
    left: Counter[tuple[str, ...]] = field(default_factory=Counter)
    right: Counter[tuple[str, ...]] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)

    def count_places(self, words: tuple[str, ...], by: int = 1) -> None:
        """Count where an argument could begin and end, without the signs of a request."""
        left, right = _contexts(words)
        _shift(self.left, left, by)
        _shift(self.right, right, by)
        _shift(self.words, words, by)


@dataclass(slots=True)
class Manner:
    """Counts for one parameter, or for a group of them."""

    occurred: Occurrences
    kinds: Counter[str] = field(default_factory=Counter)
    """Counts of `said`, `result`, or `constant:JSON`; the rest of the steps lacked the argument."""
    kind_signs: dict[str, Counter[str]] = field(default_factory=dict)
    """Per kind, the number of requests with each sign."""
    views: dict[str, Counter[str]] = field(default_factory=dict)
    """Per slot word (`<time>`), the views its value was taken from."""
    n_paths: Counter[tuple[str, ...]] = field(default_factory=Counter)
    """Counts of each path into a result."""
    left: Counter[tuple[str, ...]] = field(default_factory=Counter)
    right: Counter[tuple[str, ...]] = field(default_factory=Counter)
    inside: Counter[str] = field(default_factory=Counter)

    def count_kind(self, words: tuple[str, ...], source: Source, by: int = 1) -> None:
        kind = kind_of(source)
        _shift(self.kinds, [kind], by)
        _shift(self.kind_signs.setdefault(kind, Counter()), signs_of(words), by)
        if kind not in self.kinds:
            del self.kind_signs[kind]
        for part in parts_of(source):
            if isinstance(part, Result):
                _shift(self.n_paths, [part.path], by)
            elif isinstance(part, Slotted):
                views = self.views.setdefault(words[part.token], Counter())
                _shift(views, part.views, by)
                if not views:
                    del self.views[words[part.token]]

    def include(self, other: Manner) -> None:
        """Add the places counted by `other`."""
        for mine, theirs in (
            (self.occurred.left, other.occurred.left),
            (self.occurred.right, other.occurred.right),
            (self.occurred.words, other.occurred.words),
            (self.left, other.left),
            (self.right, other.right),
            (self.inside, other.inside),
        ):
            mine.update(theirs)  # type: ignore[arg-type]

    def copied(self) -> Manner:
        """Return the places counted so far, to count on by themselves."""
        other = Manner(Occurrences())
        other.include(self)
        return other

    def all_kinds(self) -> dict[str, int]:
        """Return the number of steps of each kind, `absent` included."""
        counts = {kind: self.kinds[kind] for kind in sorted(self.kinds)}
        n_absent = self.occurred.n_steps - sum(counts.values())
        return {**counts, ABSENT: n_absent} if n_absent > 0 else counts

    def with_sign(self, sign: str) -> dict[str, int]:
        """Return the number of requests with `sign` of each kind, `absent` included."""
        counts = {kind: signs[sign] for kind, signs in self.kind_signs.items()}
        counts[ABSENT] = self.occurred.signs[sign] - sum(counts.values())
        return counts

    def count_stretches(self, words: tuple[str, ...], source: Source, by: int = 1) -> None:
        for first, last in stretches_of(source):
            context = left_context(words, first)
            _shift(self.left, [context[:k] for k in range(1, N_LEFT + 1)], by)
            context = right_context(words, last)
            _shift(self.right, [context[:k] for k in range(1, N_RIGHT + 1)], by)
            _shift(self.inside, words[first:last], by)


def parts_of(source: Source) -> tuple[Source, ...]:
    return source.items if isinstance(source, Several) else (source,)


def stretches_of(source: Source) -> list[tuple[int, int]]:
    """Return the token ranges an argument was read from."""
    found = []
    for part in parts_of(source):
        if isinstance(part, Said):
            found.append((part.first, part.last))
        elif isinstance(part, Slotted):
            found.append((part.token, part.token + 1))
    return found


def kind_of(source: Source) -> str:
    parts = parts_of(source)
    if any(isinstance(part, Result) for part in parts):
        return RESULT
    if any(isinstance(part, Said | Slotted) for part in parts):
        return SAID
    values = [part.value for part in parts if isinstance(part, Constant)]
    return CONSTANT + json.dumps(values if isinstance(source, Several) else values[0])


# ── Counting ──────────────────────────────────────────────────────────────────────────────────────────────


class LessonBook(Protocol):
    """A store that looks up lessons."""

    def newest_with(self, tool: str, n: int) -> Sequence[Lesson]:
        """Return at most `n` lessons with a step of `tool`, newest first."""
        ...

    def sample(self, n_per_tool: int, n: int) -> Sequence[Lesson]:
        """Return at most `n` lessons, the newest few of each tool."""
        ...


@dataclass(slots=True)
class _ToolManner:
    occurred: Occurrences = field(default_factory=Occurrences)
    parameters: dict[str, Manner] = field(default_factory=dict)
    frame: Counter[str] = field(default_factory=Counter)
    """Number of requests in which a word stood outside all arguments."""
    n_bare: int = 0
    """Number of steps that were given no more than one thing."""

    lessons: Sequence[Lesson] = ()
    """Those that are counted."""

    def follow(self, tool: str, lessons: Sequence[Lesson]) -> None:
        """Count some lessons and no others: what was counted before is not counted again."""
        gone, fresh = _changes(self.lessons, lessons)
        self.lessons = lessons
        for some, by in ((gone, -1), (fresh, 1)):
            for lesson in some:
                for step in lesson.steps:
                    if step.tool == tool:
                        self._count(lesson, step, by)

    def _count(self, lesson: Lesson, step: LessonStep, by: int) -> None:
        words, places = lesson.words, _without_taken(lesson, step)
        self.occurred.n_steps += by
        self.n_bare += by * (len(step.sources) < 2)
        _shift(self.occurred.signs, signs_of(words), by)
        self.occurred.count_places(places, by)
        for name, source in step.sources.items():
            manner = self.parameters.setdefault(name, Manner(self.occurred))
            manner.count_kind(words, source, by)
            manner.count_stretches(places, source, by)
            if not manner.kinds:
                del self.parameters[name]
        _shift(self.frame, {word for word in _hidden(words, step) if word != HIDDEN}, by)


def _changes(before: Sequence[Lesson], after: Sequence[Lesson]) -> tuple[list[Lesson], list[Lesson]]:
    """Return the lessons that went and those that came. By identity: a lesson is never changed, only replaced."""
    known, wanted = {id(one) for one in before}, {id(one) for one in after}
    return [one for one in before if id(one) not in wanted], [one for one in after if id(one) not in known]


_TIMES = frozenset({"<time>", "<day>"})


def _without_taken(lesson: Lesson, step: LessonStep) -> tuple[str, ...]:
    """Return the words without the times that other steps took: that this step left them says nothing of how it would
    take one that nobody else does."""
    own = {k for source in step.sources.values() for first, last in stretches_of(source) for k in range(first, last)}
    others = _hidden_places(lesson) - own
    return tuple(HIDDEN if k in others and word in _TIMES else word for k, word in enumerate(lesson.words))


def _hidden(words: tuple[str, ...], step: LessonStep) -> tuple[str, ...]:
    """Return the words with those of the step's arguments hidden; kinds of values stay."""
    inside = {k for source in step.sources.values() for first, last in stretches_of(source) for k in range(first, last)}
    return tuple(HIDDEN if k in inside and not word.startswith("<") else word for k, word in enumerate(words))


def _without_others(lesson: Lesson, source: Source) -> tuple[str, ...]:
    """Return the words with those of all other arguments hidden: they are no part of the way of asking either."""
    own = {k for first, last in stretches_of(source) for k in range(first, last)}
    hidden = _hidden_places(lesson) - own
    return tuple(HIDDEN if k in hidden and not word.startswith("<") else word for k, word in enumerate(lesson.words))


def _hidden_places(lesson: Lesson) -> set[int]:
    sources = [source for step in lesson.steps for source in step.sources.values()]
    return {k for source in sources for first, last in stretches_of(source) for k in range(first, last)}


class _General:
    """Counts over all tools: per parameter name, and over all free text."""

    def __init__(self, lessons: Sequence[Lesson]) -> None:
        self.lessons = lessons
        self.by_name: dict[str, Manner] = {}
        for lesson in lessons:
            for name, source, words in _said_in(lesson):
                _count_at(self.by_name.setdefault(name, Manner(Occurrences())), words, source, 1)
        self.all = Manner(Occurrences())
        for manner in self.by_name.values():
            self.all.include(manner)

    def over(self, lessons: Sequence[Lesson]) -> _General:
        """Return the counts over these lessons; what both have is not counted again."""
        gone, fresh = _changes(self.lessons, lessons)
        if 2 * len(fresh) > len(lessons):
            return _General(lessons)
        found = _General(())
        found.lessons, found.all, found.by_name = lessons, self.all.copied(), dict(self.by_name)
        own = dict[str, Manner]()
        for some, by in ((gone, -1), (fresh, 1)):
            for name, source, words in (one for lesson in some for one in _said_in(lesson)):
                if name not in own:
                    own[name] = self.by_name.get(name, Manner(Occurrences())).copied()
                _count_at(own[name], words, source, by)
                _count_at(found.all, words, source, by)
        found.by_name |= own
        found.by_name = {name: manner for name, manner in found.by_name.items() if manner.left}
        return found


def _said_in(lesson: Lesson) -> Iterator[tuple[str, Source, tuple[str, ...]]]:
    """Yield the parameters that a request says, each with where, and the words without other arguments."""
    for step in lesson.steps:
        for name, source in step.sources.items():
            if kind_of(source) == SAID:
                yield name, source, _without_others(lesson, source)


def _count_at(manner: Manner, words: tuple[str, ...], source: Source, by: int) -> None:
    manner.occurred.count_places(words, by)
    manner.count_stretches(words, source, by)


class Manners:
    """Counts by tool and parameter, with the more general ones behind them; each is made when first asked for."""

    def __init__(self, book: LessonBook) -> None:
        self._book = book
        self._tools: dict[str, _ToolManner] = {}
        self._stale: set[str] = set()
        """Tools whose lessons changed since they were counted."""
        self._general: _General | None = None
        self._is_general_stale = False

    def forget(self, tools: Collection[str]) -> None:
        """Count `tools` again, since their lessons changed: what changed, when they are next needed."""
        self._stale.update(tools)
        self._is_general_stale |= bool(tools)  # not without a change: it is counted over a thousand lessons

    @contextlib.contextmanager
    def counting_anew(self, tools: Collection[str]) -> Iterator[None]:
        """Count `tools` anew meanwhile, from a book that leaves some lessons out; the general counts stay."""
        self._stale.update(tools)
        try:
            yield
        finally:
            self._stale.update(tools)

    def _of_tool(self, tool: str) -> _ToolManner:
        found = self._tools.get(tool)
        if found is None or tool in self._stale:
            lessons = self._book.newest_with(tool, _N_PER_TOOL)
            found = self._tools.pop(tool, None) or _ToolManner()  # where counting breaks off, it begins anew
            found.follow(tool, lessons)
            self._tools[tool] = found
            self._stale.discard(tool)
        return found

    def _over_all(self) -> _General:
        if self._general is None or self._is_general_stale:
            lessons = self._book.sample(_N_PER_TOOL_GENERAL, _N_GENERAL)
            self._general = _General(lessons) if self._general is None else self._general.over(lessons)
            self._is_general_stale = False
        return self._general

    # ── Reading ───────────────────────────────────────────────────────────────────────────────────────────

    def of(self, tool: str, name: str) -> Manner | None:
        """Return the counts of one parameter; None when no lesson has the tool or gave the parameter."""
        return self._of_tool(tool).parameters.get(name)

    def is_always_told(self, tool: str) -> bool:
        """Return whether steps with `tool` are given two things at least, but for one in fifty: what is changed, and to
        what."""
        found = self._of_tool(tool)
        return found.occurred.n_steps >= _LEAST_TOLD and found.n_bare <= _MOST_BARE * found.occurred.n_steps

    def frame(self, tool: str) -> Counter[str]:
        """Return the words that requests for `tool` use, without arguments."""
        return self._of_tool(tool).frame

    def levels(self, tool: str, name: str) -> list[Manner]:
        """Return the counts from the most general to the most specific."""
        general = self._over_all()
        found = [general.all, general.by_name.get(name), self.of(tool, name)]
        return [m for m in found if m is not None]


# ── What the counts say ───────────────────────────────────────────────────────────────────────────────────


def left_odds(levels: Iterable[Manner], words: Sequence[str], place: int) -> float:
    """Return the log-odds that an argument begins at `place`."""
    context = left_context(words, place)
    p = _rate(_LEFT_RATES, context[0])
    for manner in levels:
        p = _smoothed(p, manner.left, manner.occurred.left, context)
    return _logit(p)


def right_odds(levels: Iterable[Manner], words: Sequence[str], place: int) -> float:
    """Return the log-odds that an argument ends before `place`."""
    context = right_context(words, place)
    p = _rate(_RIGHT_RATES, context[0])
    for manner in levels:
        p = _smoothed(p, manner.right, manner.occurred.right, context)
    return _logit(p)


def _rate(rates: Mapping[str, float], word: str) -> float:
    return rates.get(word) or rates["<" if word.startswith("<") else ""]


def _smoothed(
    p: float, hits: Counter[tuple[str, ...]], seen: Counter[tuple[str, ...]], context: tuple[str, ...]
) -> float:
    for k in range(1, len(context) + 1):
        n = seen[context[:k]]
        if n <= 0:
            break
        p = (hits[context[:k]] + _SMOOTHING * p) / (n + _SMOOTHING)
    return p


def content_odds(levels: Iterable[Manner], word: str) -> float:
    """Return the log-odds that `word` belongs to the argument rather than to the way of asking."""
    p = _QUOTED_RATE if word == "<quoted>" else _CONTENT_RATE
    for manner in levels:
        n = manner.occurred.words[word]
        if n > 0:
            p = (manner.inside[word] + _SMOOTHING * p) / (n + _SMOOTHING)
    return _logit(p)


def kind_odds(manner: Manner, words: tuple[str, ...]) -> dict[str, float]:
    """Return the probability of each kind of source given the request's signs (naive Bayes on the strongest signs)."""
    counts = manner.all_kinds()
    total = sum(counts.values())
    ratios: dict[str, list[float]] = {kind: [] for kind in counts}
    for sign in signs_of(words):
        n_seen = manner.occurred.signs[sign]
        if n_seen <= 0:
            continue
        rate = (n_seen + 0.5) / (total + 1)
        with_sign = manner.with_sign(sign)
        for kind, n in counts.items():
            ratios[kind].append(math.log((with_sign.get(kind, 0) + _DOUBT * rate) / (n + _DOUBT) / rate))
    scores: dict[str, float] = {}
    for kind, n in counts.items():
        mine = sorted(ratios[kind])
        telling = mine[-_N_SIGNS:] + mine[: min(_N_SIGNS, max(0, len(mine) - _N_SIGNS))]
        scores[kind] = math.log((n + 0.5) / (total + 0.5 * len(counts))) + _SIGN_WEIGHT * sum(telling)
    top = max(scores.values(), default=0.0)
    weights = {kind: math.exp(score - top) for kind, score in scores.items()}
    norm = sum(weights.values())
    return {kind: weight / norm for kind, weight in weights.items()}


_MOST_OTHERS = 0.1
"""Share of demonstrations with a sign that may be without the constant it tells: "not as unread any more"."""


def telling_constant(manner: Manner, words: tuple[str, ...]) -> str:
    """Return the constant that nearly alone occurs with a sign in the request (`unread`), or empty."""
    best = (0, "")
    counts = manner.all_kinds()
    constants = [kind for kind in sorted(counts) if kind.startswith(CONSTANT)]
    for sign in sorted(signs_of(words)) if constants else ():
        with_sign = manner.with_sign(sign)
        for kind in constants:
            n = with_sign[kind]
            is_telling = n >= 1 if sign.startswith("thing:") else n >= max(2, 0.4 * counts[kind])
            others = sum(other for name, other in with_sign.items() if name != kind)
            if is_telling and others <= _MOST_OTHERS * n:
                best = max(best, (n, kind))
    return best[1]


def _logit(p: float) -> float:
    p = min(max(p, 0.02), 0.98)
    return math.log(p / (1 - p))


# ── Span boundaries ───────────────────────────────────────────────────────────────────────────────────────
# Finds which words of a request are a free-text argument: the title, the query, the body of a mail.
#
# A stretch is judged by scores learnt from demonstrations (`SpanScorer`); of a tool they do not know, by the words
# around it, the words in it (`planning.arguments.span_boundaries`) and its own shape. The arguments of all steps are
# chosen together, so that no words serve two of them unless nothing else does. Deterministic.

# ── Learnt scores ───────────────────────────────────────────────────────────────────────────────────────
# Learnt log-odds of which words of a request are a free-text argument: of each beginning, end and word between.
#
# A small network over the encoder's vectors of the words in context, the words themselves and what a tool's file says
# of the parameter, trained on demonstrations (`training.span_scores_train`): "the fog machine's been found, cross it
# off the props list" takes off "fog machine". All places of a request are scored together, so that stretches compare
# with each other and with saying nothing (a semi-Markov field: Sarawagi and Cohen 2004, section 2).
#
# Covered: parameters of the tools it was trained on, in English. Not covered: parameters of other tools, which are read
# by counts of what was demonstrated ("Context counts").


Floats = NDArray[np.float32]
REACH = 3
"""How many words before and after a word are looked at."""
N_BUCKETS = 4096
_SCALE = 4.0
_SHORT = 4


@dataclass(frozen=True, slots=True)
class SpanScores:
    """Scores of one parameter over the words of a request."""

    begins: Floats
    """That it begins with a word, shape [words]."""
    ends: Floats
    """That it ends with a word, shape [words]."""
    inside: Floats
    """That a word belongs to it, shape [words]."""
    absent: float
    """That no words are it."""


class SpanScorer:
    """The trained network. May be used from several threads at once."""

    def __init__(self, weights: Mapping[str, Floats], parameters: Sequence[str]) -> None:
        """Keep the weights; `parameters` are the trained ones, `tool.parameter`, in the order of their rows."""
        self._weights = weights
        self._rows = {name: row for row, name in enumerate(parameters)}

    @classmethod
    @functools.cache
    def shipped(cls) -> SpanScorer:
        """Load the weights that ship."""
        with as_file(files("hearth.data") / "span_scores.npz") as path, np.load(path) as file:
            weights = {name: file[name].astype(np.float32) for name in file.files if name != "parameters"}
            return cls(weights, [str(name) for name in file["parameters"]])

    @property
    def n_parameters(self) -> int:
        """Number of parameters it was trained on."""
        return len(self._rows)

    def knows(self, tool: str, parameter: str) -> bool:
        return f"{tool}.{parameter}" in self._rows

    def read(self, words: Sequence[str], vectors: Floats) -> Floats:
        """Return what each word and those around it say, shape [words, hidden], for `score`.

        Args:
            words: Words of the tokens, a stand-in for each value.
            vectors: Of each in context, shape [words, dim] (`vectors_of`).
        """
        weights = self._weights
        buckets = [zlib.crc32(word.encode("utf-8", "replace")) % N_BUCKETS for word in words]
        shapes = np.array([shape_of(word) for word in words], dtype=np.float32)
        seen = vectors @ weights["states"] + weights["states_bias"]
        rows = np.hstack([seen, weights["words"][buckets], shapes])
        blank = np.zeros((REACH, rows.shape[1]), dtype=np.float32)
        padded = np.vstack([blank, rows, blank])
        around = np.hstack([padded[k : k + len(rows)] for k in range(2 * REACH + 1)])
        return np.asarray(around @ weights["around"] + weights["around_bias"], dtype=np.float32)

    def score(self, read: Floats, tool: str, parameter: str) -> SpanScores:
        """Score all places of a request for one of the trained parameters.

        Raises:
            KeyError: It is none of them.
        """
        weights = self._weights
        asked = weights["parameters_told"][self._rows[f"{tool}.{parameter}"]]
        hidden = np.maximum(read + asked, 0.0)
        hidden = np.maximum(hidden @ weights["second"] + weights["second_bias"] + asked, 0.0)
        begins, ends, inside = (hidden @ weights["out"] + weights["out_bias"]).T
        absent = float(hidden.max(axis=0) @ weights["absent"] + weights["absent_bias"])
        return SpanScores(begins, ends, inside, absent)


class ReadSpans:
    """A request, or one clause of it, of which arguments are scored."""

    def __init__(self, scorer: SpanScorer, tokens: Sequence[Token], heard: HeardWords) -> None:
        self._scorer = scorer
        self._tokens = tuple(tokens)
        self._heard = heard
        self._read: Floats | None = None

    def score(self, tool: str, parameter: str) -> SpanScores | None:
        """Score all places for one parameter; None where it was not trained, or nothing is said."""
        if not self._tokens or not self._scorer.knows(tool, parameter):
            return None
        if self._read is None:
            words = [token.word for token in self._tokens]
            self._read = self._scorer.read(words, vectors_of(self._tokens, self._heard.vectors))
        return self._scorer.score(self._read, tool, parameter)


class HeardWords:
    """A request's words in context, read by the encoder when they are first needed."""

    def __init__(self, encoder: TokenEncoder, text: str) -> None:
        self._encoder = encoder
        self._text = text

    @functools.cached_property
    def vectors(self) -> TokenVectors:
        (found,) = self._encoder.encode_tokens([self._text])
        return found


def vectors_of(tokens: Sequence[Token], read: TokenVectors) -> Floats:
    """Return the vector of each token, the mean of its pieces', shape [tokens, dim]; zeros past what was read."""
    found = np.zeros((len(tokens), read.vectors.shape[1]), dtype=np.float32)
    first, last = read.spans[:, 0], read.spans[:, 1]
    for index, token in enumerate(tokens):
        pieces = (first < token.end) & (last > token.start) & (last > first)
        if pieces.any():
            found[index] = read.vectors[pieces].mean(axis=0)
    return found * _SCALE


def shape_of(word: str) -> tuple[bool, bool, bool, bool]:
    """Return what kind of token a word is: a value, a mark, digits, short."""
    is_value = word.startswith("<")
    return is_value, not is_value and not word[:1].isalnum(), word.isdigit(), len(word) < _SHORT


# ── The likeliest stretches ─────────────────────────────────────────────────────────────────────────────


# Set by cross-validation on the shipped demonstrations
# (packages/hearth-bench/hearth_bench/measure/planning/speed/recall_at_size.py reports the result).
_W_LEFT, _W_RIGHT, _W_CONTENT = 0.8, 0.4, 1.0
_QUOTED_ODDS = 3.0
_MAX_CONTENT = 9.0
"""Upper bound on the score of a stretch's words, however long it is."""
_W_ABSENT, _BAR = 1.0, -1.0
_ABSENT_REQUIRED = -7.0
_SHARED_WORDS = 4.0
"""Price of words that serve two steps."""
_FUNCTION_ODDS = -0.5
_CUT_SHORT, _WORD_LOST = 3.0, 1.0
"""Price of a message that ends before the clause does, and of each word that it leaves out."""
_LEAST_ENDS, _MOSTLY = 20, 0.75
"""Least demonstrations by which an argument is known to end requests, and least share of those it ends."""
_N_EDGES, _N_STRETCHES = 12, 6
_N_LEARNT = 24
"""Number of stretches looked at by what was learnt, the likeliest."""
_W_SHOWN = 0.5
"""Weight of how it was demonstrated beside what was learnt: from 0.2 to 0.8 as many of 678 requests come out right, at
0 six fewer; an owner's way of speaking counts more with more."""
_W_STRANGE = 1.0
"""Price of a word beside a stretch that no way of asking for the tool has: "tidy" of "tidy the bicycle shed"."""

_LISTS, _ONTO = (
    frozenset(listed("list lists checklist checklists")),
    frozenset(listed("to on onto into in from off for called named")),
)
_SAYS_AN_ADDRESS = frozenset(listed("address lives live living at in : is to from"))
_PRONOUNS = frozenset(
    listed("it them they him her he she that this these those one there then me you us everything everyone")
)
_TITLES = frozenset(
    listed("my our the dr . mr mrs ms miss prof aunt auntie uncle grandma grandpa granny cousin brother sister")
)
_OPENERS = frozenset(listed(": that saying"))
"""Words that begin a text which goes on to the end of the clause."""
_TRIM_ENDS = frozenset(listed(", . ; : ! ? - please pls thanks"))
_TRIM_STARTS = frozenset(listed(", . ; : ! ? - that please 's"))
_LOOSE_STARTS = frozenset(listed("about of regarding named called titled and or is are saying for on from to than"))
_LOOSE_ENDS = frozenset(
    listed(
        "for to at of with about until till from and or is are the a an my by so but should be will every starting in "
        "into on when"
    )
)
_TAIL_VERBS = frozenset(
    listed(
        "say says start starts begin begins come comes go goes live lives take takes place leave leaves end ends due "
        "full open happen happens now next today yet please there read mean means arrive arrives can works"
    )
)
"""Words at the end of a question that do not belong to what it asks about."""
_STAND_INS = frozenset(listed("one ones thing things back"))
"""Words behind what is looked up that are no part of its name: "the gym one", "put the bins back to Friday"."""
_OWN_VALUES = frozenset({"<quoted>", "<name>", "<file>", "<email>", "<phone>", "<url>", "<expression>", "<unit>"})
"""Values that may be a text argument by themselves; a time or a number may not, unless demonstrations have it."""
JOINTS = frozenset({",", "and", "&", "n", "+"})


@dataclass(frozen=True, slots=True)
class Wanted:
    """A free-text argument to be found."""

    step: int
    tool: str
    parameter: Parameter
    is_lookup: bool
    """True when its tool only reads: the words say what to look for."""
    is_list: bool
    is_name: bool


def wanted(step: int, tool: str, parameter: Parameter, is_lookup: bool) -> Wanted:
    """Describe a free-text argument of a step."""
    kind = canonical(parameter.type)
    return Wanted(step, tool, parameter, is_lookup, kind.startswith("list["), "PersonName" in kind)


@dataclass(frozen=True, slots=True)
class _Odds:
    """Log-odds of each place in a request, for one parameter."""

    left: list[float]
    right: list[float]
    content: list[float]
    leaving_out: float


class Reading:
    """One request, with the odds of each parameter cached: many candidates ask for the same."""

    def __init__(self, words: tuple[str, ...], manners: Manners, spans: ReadSpans | None = None) -> None:
        self.words = words
        self.manners = manners
        self.has_name = "<name>" in words
        self._spans = spans
        self._odds: dict[tuple[str, str], _Odds] = {}
        self._scores: dict[tuple[str, str], SpanScores | None] = {}

    def scores(self, wanted: Wanted) -> SpanScores | None:
        """Return the learnt scores of one argument; None where its parameter was not trained."""
        key = (wanted.tool, wanted.parameter.name)
        if key not in self._scores:
            self._scores[key] = self._spans.score(*key) if self._spans is not None else None
        return self._scores[key]

    def odds(self, wanted: Wanted) -> _Odds:
        key = (wanted.tool, wanted.parameter.name)
        found = self._odds.get(key)
        if found is None:
            levels = self.manners.levels(*key)
            places = range(len(self.words))
            found = self._odds[key] = _Odds(
                [left_odds(levels, self.words, place) for place in places],
                [right_odds(levels, self.words, place) for place in range(len(self.words) + 1)],
                [_content(wanted, levels, self.words, place) for place in places],
                _price_of_leaving_out(wanted, self.manners.of(*key), self.words),
            )
        return found


@dataclass(frozen=True, slots=True)
class Stretch:
    first: int
    last: int
    """Index after its last word."""
    score: float
    """Rough log-odds that it is the argument."""


def best_stretches(wanted: Sequence[Wanted], reading: Reading, taken: Mapping[int, set[int]]) -> list[Stretch | None]:
    """Choose a stretch, or none, for each argument; `taken` are the words that steps have used already."""
    options = [_options(one, reading, taken) for one in wanted]
    single = [max(choices, key=_worth)[0] for choices in options]
    if not _overlaps([(one.step, stretch) for one, stretch in zip(wanted, single)]):
        return single
    best: tuple[float, tuple[Stretch | None, ...]] = (float("-inf"), ())
    n_kept = max(2, _N_STRETCHES - len(options))
    for choice in itertools.product(*([*choices[:n_kept], choices[-1]] for choices in options)):
        score = sum(_worth(option) for option in choice)
        if score > best[0]:
            score -= _overlaps([(one.step, stretch) for one, (stretch, _) in zip(wanted, choice)])
            if score > best[0]:
                best = (score, tuple(stretch for stretch, _ in choice))
    return list(best[1])


def _worth(option: tuple[Stretch | None, float]) -> float:
    return option[0].score if option[0] else option[1]


def _overlaps(chosen: Sequence[tuple[int, Stretch | None]]) -> float:
    price = 0.0
    for (step, a), (other, b) in itertools.combinations(chosen, 2):
        if a and b and a.first < b.last and b.first < a.last:
            price += 100.0 if step == other else _SHARED_WORDS
    return price


def _options(wanted: Wanted, reading: Reading, taken: Mapping[int, set[int]]) -> list[tuple[Stretch | None, float]]:
    """Return the likeliest stretches for one argument, and the option to leave it out with its price."""
    if (scores := reading.scores(wanted)) is not None:
        return _learnt_options(wanted, reading, scores, taken)
    words, odds = reading.words, reading.odds(wanted)
    n = len(words)
    own = {place for place, steps in taken.items() if wanted.step in steps}
    left = [_W_LEFT * max(odds.left[i], _left_floor(words, taken, i)) for i in range(n)]
    right = [_W_RIGHT * max(odds.right[j], _right_floor(words, taken, j)) for j in range(n + 1)]
    content = [0.0]
    for place in range(n):
        here = odds.content[place] - (6.0 if place in own else 0.0)
        content.append(content[-1] + _W_CONTENT * max(-2.5, min(2.5, here)))
    manner = reading.manners.of(wanted.tool, wanted.parameter.name)
    found: dict[tuple[int, int], float] = {}
    shapes: dict[tuple[int, int], float] = {}
    lasts = heapq.nlargest(_N_EDGES, range(1, n + 1), key=lambda j: (right[j], -j))
    for first in heapq.nlargest(_N_EDGES, range(n), key=lambda i: (left[i], -i)):
        for last in lasts:
            if last <= first:
                continue
            cut = _trimmed(wanted, words, first, last)
            if cut is None or (own and any(k in own for k in range(*cut))) or _is_none_said(wanted, words, *cut):
                continue
            if cut not in shapes:
                shape = _shape_odds(wanted, words[cut[0] : cut[1]], manner, reading.has_name, cut[0] == 0)
                shapes[cut] = shape + min(_MAX_CONTENT, content[cut[1]] - content[cut[0]])
            score = left[first] + right[last] + shapes[cut]
            if last < n and _is_cut_short(wanted, manner, words, taken, first, last):
                score -= _CUT_SHORT + _WORD_LOST * (n - last)
            if score > found.get(cut, -math.inf):
                found[cut] = score
    best = sorted(found, key=lambda p: (-found[p], p))[:_N_STRETCHES]
    return [*((Stretch(*p, found[p]), 0.0) for p in best), (None, odds.leaving_out)]


def _learnt_options(
    wanted: Wanted, reading: Reading, scores: SpanScores, taken: Mapping[int, set[int]]
) -> list[tuple[Stretch | None, float]]:
    """Return the likeliest stretches by what was learnt, each with its log-odds against leaving the argument out. How
    demonstrations here say it counts beside, so that an owner's way of speaking is taken up."""
    words, odds = reading.words, reading.odds(wanted)
    own = {place for place, steps in taken.items() if wanted.step in steps}
    inside = scores.inside + _W_SHOWN * _W_CONTENT * np.clip(odds.content, -2.5, 2.5)
    sums = np.concatenate([[0.0], np.cumsum(inside)])
    begins = scores.begins + _W_SHOWN * _W_LEFT * np.array(odds.left) - sums[:-1]
    ends = scores.ends + _W_SHOWN * _W_RIGHT * np.array(odds.right[1:]) + sums[1:]
    grid = begins[:, None] + ends[None, :] - scores.absent - _W_SHOWN * odds.leaving_out
    strange = np.array([_is_strange(word, reading.manners.frame(wanted.tool)) for word in words], dtype=float)
    grid -= _W_STRANGE * (
        np.concatenate([[0.0], strange[:-1]])[:, None] + np.concatenate([strange[1:], [0.0]])[None, :]
    )
    grid = np.where(np.tri(len(words), k=-1, dtype=bool), -np.inf, grid)
    found: dict[tuple[int, int], float] = {}
    for place in _largest(grid, _N_LEARNT):
        first, last = divmod(int(place), len(words))
        is_free = not any(k in own for k in range(first, last + 1))
        is_several = wanted.is_name and words[first : last + 1].count("<name>") > 1  # each is a step of its own
        if is_free and not is_several and not _is_none_said(wanted, words, first, last + 1):
            found[first, last + 1] = float(grid[first, last])
    best = list(found)[:_N_STRETCHES]
    bar = _ABSENT_REQUIRED if wanted.parameter.is_required else 0.0
    return [*((Stretch(*p, found[p]), 0.0) for p in best), (None, bar)]


def _largest(grid: NDArray[np.float64], n: int) -> NDArray[np.intp]:
    """Return the flat places of the n largest values, the largest first, of equal ones the first first."""
    flat = grid.ravel()
    least = np.partition(flat, flat.size - n)[flat.size - n] if n < flat.size else -np.inf
    places = np.flatnonzero(flat >= least)  # sorting a request of thousands of words whole takes a second
    return places[np.argsort(-flat[places], kind="stable")][:n]


def _is_strange(word: str, frame: Mapping[str, int]) -> bool:
    """Return whether a word is no way of asking for a tool, as far as anything shows: so it is part of what is said."""
    return word not in KNOWN_WORDS and word not in FUNCTION_WORDS and not frame[word] and word[:1].isalpha()


def _price_of_leaving_out(wanted: Wanted, manner: Manner | None, words: tuple[str, ...]) -> float:
    unsaid = _ABSENT_REQUIRED if wanted.parameter.is_required else 0.0
    if manner is None:
        return unsaid
    odds = kind_odds(manner, words)
    implied = max((odds[k] for k in odds if k.startswith(CONSTANT) and not looks_like_a_value(k)), default=0.0)
    if implied > 0.5:
        return 2.0
    if wanted.parameter.is_required:
        return unsaid
    return _W_ABSENT * math.log((odds.get(ABSENT, 0.0) + 0.02) / (odds.get(SAID, 0.0) + 0.02)) + _BAR


def looks_like_a_value(kind: str) -> bool:
    """Return whether a constant has digits: it is then a date or number of some request, not a convention."""
    return any(character.isdigit() for character in kind)


# ── Judging a stretch ─────────────────────────────────────────────────────────────────────────────────────


def _content(wanted: Wanted, levels: Sequence[Manner], words: Sequence[str], place: int) -> float:
    word = words[place]
    odds = content_odds(levels, word)
    if word in FUNCTION_WORDS:
        odds = max(odds, _FUNCTION_ODDS)
    if wanted.is_list and word in JOINTS:
        odds = max(odds, 0.5)
    if place == 0 and word in KNOWN_WORDS:
        odds -= 1.0  # words at the start of a request belong to the asking
    return odds


def _left_floor(words: Sequence[str], taken: Mapping[int, set[int]], place: int) -> float:
    """Return the least odds that an argument begins at a place: higher after a colon or a value in use."""
    if place and (words[place - 1] == ":" or words[place] == "<quoted>"):
        return 1.0
    return -0.5 if place and place - 1 in taken else -9.0


def _right_floor(words: Sequence[str], taken: Mapping[int, set[int]], place: int) -> float:
    """Return the least odds that an argument ends at a place: higher at the end or before a value in use."""
    if place >= len(words) or place in taken:
        return 0.5
    return 1.0 if place and words[place - 1] == "<quoted>" else -9.0


def _is_cut_short(
    wanted: Wanted, manner: Manner | None, words: Sequence[str], taken: Mapping[int, set[int]], first: int, last: int
) -> bool:
    """Return whether a text that goes on to the end of the clause would end before it does: a message that was opened
    (`saying …`), or a text with which demonstrations end."""
    if wanted.is_list or wanted.is_name or wanted.is_lookup:
        return False
    if words[last - 1] == "<quoted>" or last in taken or all(word in _TRIM_ENDS for word in words[last:]):
        return False
    return (first > 0 and words[first - 1] in _OPENERS) or _ends_requests(manner)


def _ends_requests(manner: Manner | None) -> bool:
    """Return whether requests mostly end with this argument, as those with a message do."""
    if manner is None:
        return False
    n_all = sum(n for context, n in manner.right.items() if len(context) == 1)
    n_last = sum(manner.right[mark,] for mark in ("$", ".", "?", "!"))
    return n_all >= _LEAST_ENDS and n_last >= _MOSTLY * n_all


def _is_none_said(wanted: Wanted, words: Sequence[str], first: int, last: int) -> bool:
    """Return whether nothing says that words are what they would be: a postal address has a number or a word for it
    ("gardener" is none), and of a list one speaks or puts something on it ("we need bin bags")."""
    if wanted.parameter.name == "list":
        is_person = words[first:last] == ("<name>",)
        return _LISTS.isdisjoint(words) and (is_person or _ONTO.isdisjoint(words[max(0, first - 3) : first]))
    if wanted.parameter.name != "address" or any(
        word == "<number>" or word[:1].isdigit() for word in words[first:last]
    ):
        return False
    return not _SAYS_AN_ADDRESS.intersection(words[max(0, first - 3) : first])


def _shape_odds(wanted: Wanted, words: Sequence[str], manner: Manner | None, has_name: bool, is_leading: bool) -> float:
    """Score the shape of a stretch: a quoted text is an argument, a pronoun is not, a name is short."""
    if all(word in _PRONOUNS or word in FUNCTION_WORDS for word in words):
        return -8.0
    if is_leading and not wanted.is_name and all(word in KNOWN_WORDS or word in FUNCTION_WORDS for word in words):
        return -8.0  # the verb a request begins with is what it asks, not what it is about
    if len(words) == 1 and words[0].startswith("<"):
        if words[0] in ("<quoted>", "<expression>") and not wanted.is_name:
            return _QUOTED_ODDS
        known = manner is not None and (manner.inside[words[0]] or manner.views.get(words[0]))
        if words[0] not in _OWN_VALUES and not known:
            return -6.0
    return _name_odds(words, has_name) if wanted.is_name else 0.0


def _name_odds(words: Sequence[str], has_name: bool) -> float:
    """Score the shape of a name: one name the request marks, else two words at most."""
    if any(word.startswith("<") and word not in ("<name>", "<quoted>") for word in words):
        return -8.0
    n_names = sum(word == "<name>" for word in words)
    n_others = sum(word != "<name>" and word not in _TITLES for word in words)
    if n_names > 1:
        return -8.0
    return (2.0 if n_names else -3.0 * has_name) - 1.5 * max(0, n_others - (0 if n_names else 2))


def _trimmed(wanted: Wanted, words: Sequence[str], first: int, last: int) -> tuple[int, int] | None:
    """Strip punctuation, politeness and loose words at the ends; None when nothing is left."""
    while first < last and (words[last - 1] in _TRIM_ENDS or (words[last - 1] in _LOOSE_ENDS and last - first > 1)):
        last -= 1
    while first < last and (words[first] in _TRIM_STARTS or words[first] in _LOOSE_STARTS):
        first += 1
    if wanted.is_name:
        first, last = _trimmed_name(words, first, last)
    elif wanted.is_lookup:
        while last - first > 1 and (words[last - 1] in _TAIL_VERBS or words[last - 1] in _STAND_INS):
            last -= 1
    return (first, last) if first < last else None


def _trimmed_name(words: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """Strip what is no part of a name: what stands after the only one, and words that are common in requests."""
    if (named := [k for k in range(first, last) if words[k] == "<name>"]) and len(named) == 1:
        last = named[0] + 1  # "tell <name> yeah, that works"
    while first < last and words[first] in KNOWN_WORDS and words[first] not in _TITLES:
        first += 1
    while first < last and words[last - 1] in KNOWN_WORDS and words[last - 1] not in _TITLES:
        last -= 1
    return first, last
