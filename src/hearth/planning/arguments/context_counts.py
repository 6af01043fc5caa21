"""Counts in lessons how owners say the arguments of each tool: the words before, within and after.

Counts are kept per parameter of a tool, per parameter name across tools, and over all free text; each level smooths
the one below it, so that three demonstrations of a new tool already help and none at all still gives an answer.
Counts are made from the newest lessons when they are first needed, so that a start does not wait for them.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hearth.language.text.thesaurus import concepts
from hearth.language.text.tokens import listed
from hearth.planning.arguments.alignment import Constant, Lesson, LessonStep, Result, Said, Several, Slotted, Source

N_LEFT, N_RIGHT = 3, 2
"""Numbers of words looked at before and after a stretch."""
ABSENT = "absent"
SAID = "said"
RESULT = "result"
CONSTANT = "constant:"

_ARTICLES = listed("the a an my our")
_LINKS = listed("to for of with from on in at by into until")
_OPENERS = listed("that saying about called named titled regarding")
_CLOSERS = listed("and then please pls thanks")
_PAUSES = listed(", ; : . ! ?")

# The numbers below were set by cross-validation on the shipped demonstrations
# (packages/hearth-bench/hearth_bench/measure/planning/speed/recall_at_size.py reports it).
_N_PER_TOOL = 120
"""Number of lessons counted per tool, the newest."""
_N_PER_TOOL_GENERAL, _N_GENERAL = 15, 1_200
_SMOOTHING = 2.0
_LEFT_RATES = {"^": 0.04, "": 0.02, "<": 0.1, **dict.fromkeys(_ARTICLES, 0.12), **dict.fromkeys(_LINKS, 0.12)}
_LEFT_RATES |= dict.fromkeys(_OPENERS, 0.4) | {":": 0.6}
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


@dataclass(slots=True)
class Occurrences:
    """Counts of each context and word in requests, with or without an argument there."""

    n_steps: int = 0
    signs: Counter[str] = field(default_factory=Counter)
    left: Counter[tuple[str, ...]] = field(default_factory=Counter)
    right: Counter[tuple[str, ...]] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)

    def count(self, words: tuple[str, ...]) -> None:
        self.n_steps += 1
        self.signs.update(signs_of(words))
        self.count_places(words)

    def count_places(self, words: tuple[str, ...]) -> None:
        """Count where an argument could begin and end, without the signs of a request."""
        left, right = _contexts(words)
        self.left.update(left)
        self.right.update(right)
        self.words.update(words)


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

    def count_kind(self, words: tuple[str, ...], source: Source) -> None:
        kind = kind_of(source)
        self.kinds[kind] += 1
        self.kind_signs.setdefault(kind, Counter()).update(signs_of(words))
        for part in parts_of(source):
            if isinstance(part, Result):
                self.n_paths[part.path] += 1
            elif isinstance(part, Slotted):
                self.views.setdefault(words[part.token], Counter()).update(part.views)

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

    def all_kinds(self) -> dict[str, int]:
        """Return the number of steps of each kind, `absent` included."""
        counts = {kind: n for kind, n in self.kinds.items() if n > 0}
        n_absent = self.occurred.n_steps - sum(counts.values())
        return {**counts, ABSENT: n_absent} if n_absent > 0 else counts

    def with_sign(self, sign: str) -> dict[str, int]:
        """Return the number of requests with `sign` of each kind, `absent` included."""
        counts = {kind: signs[sign] for kind, signs in self.kind_signs.items()}
        counts[ABSENT] = self.occurred.signs[sign] - sum(counts.values())
        return counts

    def count_stretches(self, words: tuple[str, ...], source: Source) -> None:
        for first, last in stretches_of(source):
            context = left_context(words, first)
            self.left.update(context[:k] for k in range(1, N_LEFT + 1))
            context = right_context(words, last)
            self.right.update(context[:k] for k in range(1, N_RIGHT + 1))
            self.inside.update(words[first:last])


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

    def count(self, lesson: Lesson, step: LessonStep) -> None:
        words, places = lesson.words, _without_taken(lesson, step)
        self.occurred.n_steps += 1
        self.n_bare += len(step.sources) < 2
        self.occurred.signs.update(signs_of(words))
        self.occurred.count_places(places)
        for name, source in step.sources.items():
            manner = self.parameters.get(name)
            if manner is None:
                manner = self.parameters[name] = Manner(self.occurred)
            manner.count_kind(words, source)
            manner.count_stretches(places, source)
        hidden = _hidden(words, step)
        self.frame.update({word for word in hidden if word != HIDDEN})


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

    def __init__(self, lessons: Iterable[Lesson]) -> None:
        self.by_name: dict[str, Manner] = {}
        self.all = Manner(Occurrences())
        for lesson in lessons:
            for step in lesson.steps:
                for name, source in step.sources.items():
                    if kind_of(source) == SAID:
                        manner = self.by_name.get(name)
                        if manner is None:
                            manner = self.by_name[name] = Manner(Occurrences())
                        words = _without_others(lesson, source)
                        manner.occurred.count_places(words)
                        manner.count_stretches(words, source)
        for manner in self.by_name.values():
            self.all.include(manner)


class Manners:
    """Counts by tool and parameter, with the more general ones behind them; each is made when first asked for."""

    def __init__(self, book: LessonBook) -> None:
        self._book = book
        self._tools: dict[str, _ToolManner] = {}
        self._general: _General | None = None

    def forget(self, tools: Iterable[str]) -> None:
        """Drop the counts of `tools`, since their lessons changed; they are counted anew when needed."""
        for tool in tools:
            self._tools.pop(tool, None)
            self._general = None  # not without a change: it is counted over a thousand lessons

    @contextlib.contextmanager
    def counting_anew(self, tools: Iterable[str]) -> Iterator[None]:
        """Count `tools` anew meanwhile, from a book that leaves some lessons out; the general counts stay."""
        apart = set(tools)
        kept = {tool: self._tools.pop(tool) for tool in apart if tool in self._tools}
        try:
            yield
        finally:
            for tool in apart:
                self._tools.pop(tool, None)
            self._tools |= kept

    def _of_tool(self, tool: str) -> _ToolManner:
        found = self._tools.get(tool)
        if found is None:
            found = self._tools[tool] = _ToolManner()
            for lesson in self._book.newest_with(tool, _N_PER_TOOL):
                for step in lesson.steps:
                    if step.tool == tool:
                        found.count(lesson, step)
        return found

    def _over_all(self) -> _General:
        if self._general is None:
            self._general = _General(self._book.sample(_N_PER_TOOL_GENERAL, _N_GENERAL))
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
