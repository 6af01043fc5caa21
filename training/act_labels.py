"""Says where one act ends and the next begins in requests to learn from, and which words only lead to one.

Of a demonstration, the acts are its steps joined by what they hand on, unless the words ask for each by itself ("find
it and delete it"). An act reaches over the words that its arguments were said in and over those of its steps' own
texts; what lies between two acts is theirs or nobody's, and so unknown. Real people's requests are one act each. As few
demonstrations ask for several things, requests are joined, too, with the words that people join them with.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hearth.formats.plans import renumbered
from hearth.language.reading import Utterance
from hearth.language.tokens import listed
from hearth.planning.arguments.alignment import ANY_TIME, Lesson, Said, Slotted, explain, flat, named_in, tokens_of
from hearth.types import Context, Demonstration

UNKNOWN = -1
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s]|_+")
_PAUSES, _ENDS = frozenset(".,;!?:-–—"), frozenset(".?!;")
_TELLS_NOTHING = frozenset(listed("the a my it that this look find say of for to in on her him them his video from"))
"""Words that do not show where in a request a step's text stands."""
_MOST_WORDS, _MOST_JOINED, _MOST_TOGETHER = 60, 22, 3
_NEAR = 2
"""Words between two acts that belong to the second; of more it is not known which are whose."""
_JOINING = re.compile(r"^(?:(?:and|n|then|also|so|oh|plus|but)\b|[&,;.:\s-])+", re.IGNORECASE)
"""What joins an act to the one before."""
_BEFORE_WISH = (", ", ". ", " - ", " so ", ", so ", ": ")
_AFTER_WISH = (", ", " - ", ". ", " ")
_BETWEEN = (
    " and ", " and ", ", ", ", and ", ", ", " n ", " then ", " and then ", ", then ", " also ", ", also ", " plus ",
    ". ", "; ", " & ", " oh and ", ". Oh and ", " and also ", ", plus ", "\n", " while youre at it ",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LabelledActs:
    """A request word by word; of each word whether an act begins there, and whether it belongs to none: 1, 0 or
    UNKNOWN."""

    text: str
    words: list[tuple[int, int]]
    """First character of each word or mark and the one after the last."""
    begins: list[int]
    is_aside: list[int]
    n_acts: int

    @property
    def aside(self) -> str:
        """What is said before the first act; empty where nothing is."""
        n = next((place for place, one in enumerate(self.is_aside) if one != 1), 0)
        return self.text[: self.words[n - 1][1]] if n > _NEAR else ""


def words_of(text: str) -> list[tuple[int, int]]:
    """Return where each word or mark stands."""
    return [match.span() for match in WORD.finditer(text)]


def labelled(demonstration: Demonstration) -> LabelledActs | None:
    """Return the acts of a demonstration's request; None where nothing is known of them, as they are mixed with one
    another, or nothing was said."""
    text = demonstration.request
    words = words_of(text)
    low = [text[start:end].lower() for start, end in words]
    acts = _acts(demonstration, words, low)
    begins, is_aside = [UNKNOWN] * len(words), [UNKNOWN] * len(words)
    by_rule = _begun_by_rule(demonstration, words)
    if not acts or any(one.stop > other.start for one, other in itertools.pairwise(acts)):
        cuts = [place for place, begin in by_rule if begin == 1]
        for place in cuts:
            begins[place] = 1
        return LabelledActs(text, words, begins, is_aside, len(cuts) + 1) if cuts else None
    for act in acts:
        for place in act.words:
            is_aside[place] = 0
            begins[place] = 0 if place > act.start else UNKNOWN
    for act, after in itertools.pairwise(acts):
        if act.tools == after.tools and len(act.tools) == 1:
            continue  # one verb for several things: each is no wish by itself
        if after.start - act.stop <= _NEAR:
            first = next(k for k in range(act.stop, after.start + 1) if low[k] not in _PAUSES or k == after.start)
            for place in range(act.stop, after.start + 1):
                begins[place] = int(place == first)
    for place, begin in by_rule:
        begins[place] = begin
    _mark_around(range(acts[0].start, acts[-1].stop), low, begins, is_aside)
    return LabelledActs(text, words, [UNKNOWN, *begins[1:]], is_aside, len(acts))


def _mark_around(acts: range, low: Sequence[str], begins: list[int], is_aside: list[int]) -> None:
    """Mark what stands before the first act and after the last, where a pause keeps it apart, as belonging to none."""
    first, stop = acts.start, acts.stop
    if first > _NEAR and low[first - 1] in _PAUSES:
        begins[first] = 1
        is_aside[:first] = [1] * first
    elif first <= _NEAR:
        begins[1 : first + 1] = [int(begin == 1) for begin in begins[1 : first + 1]]
    if len(low) - stop > _NEAR and low[stop] in _PAUSES:
        begins[stop + 1] = 1
        is_aside[stop + 1 :] = [1] * (len(low) - stop - 1)


def pieces_of(demonstration: Demonstration) -> list[Demonstration]:
    """Return each act of a request as a request of its own, and what is said before the first as one that asks for
    nothing; none where a request is one act, or it is not known where each begins."""
    found, text = labelled(demonstration), demonstration.request
    cuts = [place for place, begins in enumerate(found.begins) if begins == 1] if found is not None else []
    if found is None or not cuts:
        return []
    acts = _acts(demonstration, found.words, [text[start:end].lower() for start, end in found.words])
    pieces: list[Demonstration] = []
    for first, stop in itertools.pairwise([0, *cuts, len(found.words)]):
        mine = [act for act in acts if first <= act.start < stop]
        if not mine and not all(found.is_aside[first:stop]):
            return []
        numbers = sorted(number for act in mine for number in act.steps)
        place = {number: k for k, number in enumerate(numbers)}
        steps = tuple(renumbered(demonstration.plan.steps[number], place) for number in numbers)
        said = _JOINING.sub("", text[found.words[first][0] : found.words[stop - 1][1]]).rstrip(" ,;:.-")
        if mine or not pieces:  # what is said last and no step is for may be a wish all the same: "read it to me"
            piece = replace(demonstration, request=said, plan=replace(demonstration.plan, steps=steps), task_steps=())
            pieces.append(piece)
    return pieces if all(piece.request for piece in pieces) else []


def one_act(text: str) -> LabelledActs:
    """Return a request that asks for one thing; whether another sentence of it begins an act is not known."""
    words = words_of(text)
    ends = [text[start:end] in _ENDS for start, end in words]
    begins = [UNKNOWN if place == 0 or ends[place] or ends[place - 1] else 0 for place in range(len(words))]
    return LabelledActs(text, words, begins, [0] * len(words), 1)


def joined(singles: Sequence[LabelledActs], asides: Sequence[str], n: int, seed: int) -> list[LabelledActs]:
    """Return `n` requests made of two or three of `singles` and, of every third, something that wishes nothing."""
    draw = np.random.default_rng(seed)
    short = [one.text for one in singles if len(one.words) <= _MOST_JOINED]
    if len(short) < _MOST_TOGETHER or not asides:
        return []
    found: list[LabelledActs] = []
    while len(found) < n:
        pieces = [
            (short[k], 0) for k in draw.choice(len(short), 2 if draw.random() < 0.7 else _MOST_TOGETHER, replace=False)
        ]
        if draw.random() < 0.25:
            pieces.insert(0, (asides[int(draw.integers(len(asides)))], 1))
        if draw.random() < 0.12:
            pieces.insert(int(draw.integers(1, len(pieces) + 1)), (asides[int(draw.integers(len(asides)))], 1))
        one = _joined(pieces, draw)
        if len(one.words) <= _MOST_WORDS:
            found.append(one)
    return found


# ── Acts of a demonstration ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Act:
    start: int
    stop: int
    tools: frozenset[str]
    steps: tuple[int, ...]

    @property
    def words(self) -> range:
        return range(self.start, self.stop)


def _acts(demonstration: Demonstration, words: Sequence[tuple[int, int]], low: Sequence[str]) -> list[_Act]:
    """Return the acts in order, by the places of their words; none where the values of one were not said."""
    whole, steps = explain(demonstration)[0], demonstration.plan.steps
    if len(whole.steps) != len(steps):
        return []
    said = [(*_reach(demonstration, whole, group, words), group) for group in _groups(demonstration)]
    if any(start < 0 for start, _, _ in said):
        return []
    said.sort()
    acts = []
    for place, (start, stop, group) in enumerate(said):
        least = said[place - 1][1] if place else 0
        most = said[place + 1][0] if place + 1 < len(said) else len(words)
        for number in group:
            told = [match[0].lower() for match in WORD.finditer(steps[number].text)]
            start, stop = _widened(start, stop, told, low, range(least, most))
        acts.append(_Act(start, stop, frozenset(steps[number].tool for number in group), tuple(group)))
    return acts


def _begun_by_rule(demonstration: Demonstration, words: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return where the rules cut a request, with 1 where each clause has steps of its own; where that is not so, what
    lies within one step is no cut, and of what lies between two it is not known."""
    whole, *clauses = explain(demonstration)
    text, known = demonstration.request, Context(entities=named_in(demonstration.plan))
    acts = Utterance(text, demonstration.now or ANY_TIME, context=known).acts
    within = [range(start + 1, stop) for number in range(len(whole.steps)) for start, stop in
              [_reach(demonstration, whole, [number], words)]]  # fmt: skip
    found = []
    for act in acts[:-1]:
        after = (k for k, (start, end) in enumerate(words) if start >= act.end and text[start:end] not in _PAUSES)
        place = next(after, None)
        if place is not None and (clauses or not any(place in some for some in within)):
            found.append((place, 1 if clauses else UNKNOWN))
    return found


def _groups(demonstration: Demonstration) -> list[list[int]]:
    """Return the steps that hand on results to one another, each group in order."""
    of: list[int] = []
    for number, step in enumerate(demonstration.plan.steps):
        before = {of[ref.step] for ref in step.refs()} | {of[place] for place in step.after}
        of.append(number)
        of = [number if group in before else group for group in of]
    return [[number for number, mine in enumerate(of) if mine == group] for group in sorted(set(of))]


def _reach(
    demonstration: Demonstration, whole: Lesson, group: Sequence[int], words: Sequence[tuple[int, int]]
) -> tuple[int, int]:
    """Return the places of the first word of the group's values and after the last; -1 where none was said."""
    text = demonstration.request
    known = Context(entities=named_in(demonstration.plan))
    tokens = tokens_of(text, Utterance(text, demonstration.now or ANY_TIME, context=known).slots)
    sources = [source for number in group for source in flat(whole.steps[number].sources)]
    taken = [range(one.first, one.last) for one in sources if isinstance(one, Said)]
    taken += [range(one.token, one.token + 1) for one in sources if isinstance(one, Slotted)]
    places = [place for some in taken for place in some]
    if not places:
        return -1, -1
    start, end = tokens[min(places)].start, tokens[max(places)].end
    inside = [place for place, (first, last) in enumerate(words) if first < end and last > start]
    return inside[0], inside[-1] + 1


def _widened(start: int, stop: int, told: Sequence[str], low: Sequence[str], room: range) -> tuple[int, int]:
    """Return the reach of an act with the words of a step's own text around it."""
    n = len(told)
    whole = [k for k in room if list(low[k : k + n]) == list(told) and k + n <= room.stop] if told else []
    if whole:
        return min(start, whole[0]), max(stop, whole[0] + n)
    if told and told[0] not in _TELLS_NOTHING:
        start = max((k for k in room if k < start and low[k] == told[0]), default=start)
    after = next((k for k in range(stop, min(stop + 3, room.stop)) if low[k] in {*told} - _TELLS_NOTHING), None)
    return start, stop if after is None else after + 1


# ── Joining ───────────────────────────────────────────────────────────────────────────────────────────────


def _joined(pieces: Sequence[tuple[str, int]], draw: np.random.Generator) -> LabelledActs:
    text = ""
    begins: set[int] = set()
    asides: list[range] = []
    for place, (piece, is_aside) in enumerate(pieces):
        piece = piece.strip()
        if place:
            ways = _AFTER_WISH if is_aside else _BEFORE_WISH if pieces[place - 1][1] else _BETWEEN
            way = ways[int(draw.integers(len(ways)))]
            text = text.rstrip(".!,; ")
            words = way.lstrip(" ,.;-:\n")
            begins.add(len(text) + len(way) - len(words))
            is_running = way[0] not in ".\n" and not piece.startswith("I ")
            text += way
            if is_running and draw.random() < 0.8:
                piece = piece[:1].lower() + piece[1:]
        if is_aside:
            asides.append(range(len(text), len(text) + len(piece)))
        text += piece
    found = one_act(text)
    return LabelledActs(
        text,
        found.words,
        [1 if start in begins else old for old, (start, _) in zip(found.begins, found.words)],
        [int(any(start in some for some in asides)) for start, _ in found.words],
        sum(not is_aside for _, is_aside in pieces),
    )
