"""From what demonstrations suggest to one plan: candidates are filled, judged and joined, clause by clause.

The judgement is a logistic model over what speaks for a way of acting and how well the request's words fill it; its
probability is the plan's confidence. Its weights were fitted by leave-one-out on the shipped demonstrations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hearth.planning.binding import Bound, Unit, bind
from hearth.planning.check import canonical
from hearth.planning.choosing import Ballot, Candidate
from hearth.planning.lessons import Result, said_text
from hearth.planning.likeness import Likeness
from hearth.planning.manners import HIDDEN, Manners, concepts_of, signs_of
from hearth.planning.offered import Offered
from hearth.planning.stretches import FUNCTION_WORDS
from hearth.planning.text import listed
from hearth.planning.thesaurus import KNOWN_WORDS, POLITE
from hearth.types import Argument, Parameter, Ref, Step, ToolSpec

_WEIGHTS = {
    "votes": 2.8,
    "kin": 0.0,
    "text": 2.15,
    "leaning": 1.4,
    "likeness": 0.9,
    "missing": -2.2,
    "unused": -1.4,
    "strange": -0.1,
    "alien": 0.0,
    "doubt": -0.5,
    "idle": -0.6,
    "doubled": -0.7,
    "steps": -0.45,
    "agreement": 0.0,
    "wording": 0.4,
    "lacking": -0.45,
    "nothing": 1.0,
}
"""What each reading of an option is worth, in log-odds."""
_SURE = 1.0
"""A stretch of words whose log-odds are higher raises no doubt."""
_MAX_DOUBT, _MAX_WORDS, _MAX_LACKING = 4.0, 4, 5.0
_PERSON_PRONOUNS = frozenset(listed("him her them he she they"))
_WHOLE_BONUS = 0.0
_HOPELESS = 4.0
"""A candidate with so much less support than the best is not filled."""


@dataclass(frozen=True, slots=True)
class Option:
    """One way to serve a unit, filled from its words."""

    candidate: Candidate
    bound: Bound
    readings: dict[str, float]
    score: float

    @property
    def is_nothing(self) -> bool:
        return not self.candidate.steps

    @property
    def tools(self) -> frozenset[str]:
        return frozenset(step.tool for step in self.bound.steps)


@dataclass(frozen=True, slots=True)
class Part:
    """What is proposed for one clause, or for the whole request."""

    text: str
    steps: tuple[Step, ...]
    """References are counted from the first step; negative ones point to steps of earlier parts."""
    missing: tuple[tuple[str, str], ...]
    confidence: float
    """Chance that these are the right tools, in [0, 1]."""
    rests_on: tuple[str, ...]
    nearest: str
    """The tool to offer when this part is not served."""

    @property
    def is_nothing(self) -> bool:
        return not self.steps


class Proposal:
    """The proposal for one request."""

    def __init__(
        self, ballot: Ballot, units: Sequence[Unit], offered: Offered, manners: Manners, likeness: Likeness
    ) -> None:
        """`units`: the whole request first, then its clauses when there are several."""
        self._ballot = ballot
        self._units = units
        self._tools = offered.tools
        self._manners = manners
        self._likeness = likeness

    def parts(self) -> list[Part]:
        """One part for a request of one clause; else one per clause, or one for all when such a request was shown."""
        if len(self._units) == 1:
            return [self._part(0, self._ranked(0, False, ()))]
        by_clause: list[Part] = []
        scores: list[float] = []
        steps: list[Step] = []
        for unit in range(1, len(self._units)):
            ranked = self._ranked(unit, False, steps)
            scores.append(ranked[0].score)
            part = self._part(unit, ranked)
            by_clause.append(part)
            steps += shifted(part.steps, len(steps))
        whole = self._ranked(0, True, ())
        if not whole[0].is_nothing and whole[0].score + _WHOLE_BONUS > sum(scores) / len(scores):
            return [self._part(0, whole)]
        return by_clause

    def _part(self, unit: int, ranked: Sequence[Option]) -> Part:
        best = ranked[0]
        weights = [math.exp(option.score - best.score) for option in ranked]
        same = sum(w for w, option in zip(weights, ranked) if option.tools == best.tools)
        something = next((option for option in ranked if not option.is_nothing), None)
        nearest = something.candidate.leaves[-1] if something else self._ballot.nearest_tool(unit)
        return Part(
            text=self._units[unit].said(),
            steps=tuple(best.bound.steps),
            missing=best.bound.missing,
            confidence=min(1.0, same / sum(weights)),
            rests_on=best.candidate.rests_on,
            nearest=nearest,
        )

    # ── Options ───────────────────────────────────────────────────────────────────────────────────────────

    def _ranked(self, unit: int, is_long: bool, earlier: Sequence[Step]) -> list[Option]:
        """Ways to serve one unit, best first; refusing is always among them."""
        candidates = self._ballot.candidates(unit, is_long=is_long, may_refer=bool(earlier))
        worth = [sum(_WEIGHTS[name] * value for name, value in _support(c).items()) for c in candidates]
        options = [
            option
            for candidate, here in zip(candidates, worth)
            if here > max(worth) - _HOPELESS and (option := self._option(candidate, unit, earlier)) is not None
        ]
        if not any(option.is_nothing for option in options):
            options.append(_option(Candidate((), 0.0), Bound([]), {"nothing": 1.0}))
        return sorted(options, key=lambda o: -o.score)

    def _option(self, candidate: Candidate, unit: int, earlier: Sequence[Step]) -> Option | None:
        for_it = _support(candidate)
        if not candidate.steps:
            return _option(candidate, Bound([]), {**for_it, "nothing": 1.0})
        words = self._units[unit]
        bound = bind(candidate.steps, words, self._tools)
        if not self._connected(bound, earlier):
            return None
        self._resolve_pronouns(bound, unit)
        return _option(candidate, bound, {**for_it, **self._fit(candidate, bound, words)})

    def _fit(self, candidate: Candidate, bound: Bound, unit: Unit) -> dict[str, float]:
        """How well the words of the request fill the candidate."""
        unused = sum(
            token.slot is not None and place not in bound.used and token.word not in ("<number>", "<unit>")
            for place, token in enumerate(unit.tokens)
        )
        strange, alien = self._left_over(candidate, bound, unit)
        texts = [v for step in bound.steps for v in step.arguments.values() if isinstance(v, str) and " " in v]
        return {
            "missing": len(bound.missing),
            "unused": unused,
            "strange": min(strange, _MAX_WORDS),
            "alien": min(alien, _MAX_WORDS),
            "doubt": sum(min(_MAX_DOUBT, max(0.0, _SURE - score)) for score in bound.scores),
            "idle": self._n_idle(bound, unit),
            "doubled": len(texts) - len(set(texts)),
            "steps": len(candidate.steps) - 1,
            "agreement": self._agreement(candidate, bound, unit),
            "lacking": self._lacking(candidate, bound, unit),
            "wording": self._manners.wording([step.tool for step in candidate.steps], _asking_words(bound, unit)),
        }

    def _left_over(self, candidate: Candidate, bound: Bound, unit: Unit) -> tuple[int, int]:
        """How many words outside all arguments nobody used to ask for these tools: unknown ones, and known ones."""
        frames = [self._manners.frame(step.tool) for step in candidate.steps]
        left = [w for w in _asking_words(bound, unit) if not any(frame[w] > 0 for frame in frames)]
        n_known = sum(word in KNOWN_WORDS and word not in POLITE for word in left)
        n_unknown = sum(word not in KNOWN_WORDS and word not in FUNCTION_WORDS for word in left)
        return n_unknown, n_known

    def _agreement(self, candidate: Candidate, bound: Bound, unit: Unit) -> float:
        """Likeness of the words of asking alone, now that it is known which words are arguments."""
        if candidate.form is None:
            return 0.0
        return self._likeness.of_words(_form_words(bound, unit), candidate.form)

    def _lacking(self, candidate: Candidate, bound: Bound, unit: Unit) -> float:
        """How unusual it is to ask for these changes without the concepts that are missing."""
        signs = concepts_of(_form_words(bound, unit))
        leaves = [tool for tool in candidate.leaves if self._tools[tool].effect != "none"]
        return min(_MAX_LACKING, max((self._manners.lacking(tool, signs) for tool in leaves), default=0.0))

    def _n_idle(self, bound: Bound, unit: Unit) -> int:
        """How many look-ups would run without a word of what to look for."""
        if "thing:last" in signs_of(unit.words):
            return 0
        used = {ref.step for step in bound.steps for ref in step.refs()}
        return sum(index in used and not step.arguments for index, step in enumerate(bound.steps))

    # ── What earlier clauses said ─────────────────────────────────────────────────────────────────────────

    def _connected(self, bound: Bound, earlier: Sequence[Step]) -> bool:
        """Give the steps that use another clause's result the latest fitting one; False when there is none."""
        for opening in bound.openings:
            step = bound.steps[opening.step]
            parameter = self._tools[step.tool].parameter(opening.parameter)
            found = self._earlier_result(opening.result, parameter, earlier) if parameter else None
            if found is None:
                return False
            ref = Ref(found.step - len(earlier), found.path)
            value: Argument = [ref] if opening.is_list else ref
            bound.steps[opening.step] = replace(step, arguments={**step.arguments, opening.parameter: value})
        return True

    def _earlier_result(self, wanted: Result, parameter: Parameter, earlier: Sequence[Step]) -> Ref | None:
        for index in range(len(earlier) - 1, -1, -1):
            if earlier[index].tool == wanted.tool:
                return Ref(index, wanted.path)
        kind = canonical(parameter.type).removeprefix("list[").removesuffix("]")
        for index in range(len(earlier) - 1, -1, -1):
            for name, given in self._tools[earlier[index].tool].fields.items():
                if canonical(given) == kind != "text":
                    return Ref(index, (name,))
        return None

    def _resolve_pronouns(self, bound: Bound, unit: int) -> None:
        """`her` is the last person named in an earlier clause."""
        if unit < 2 or not bound.missing or not _PERSON_PRONOUNS & set(self._units[unit].words):
            return
        named = [
            said_text(before.tokens, place, place + 1, before.text)
            for before in self._units[1:unit]
            for place, token in enumerate(before.tokens)
            if token.word == "<name>"
        ]
        if not named:
            return
        still: list[tuple[str, str]] = []
        for tool, name in bound.missing:
            parameter = self._tools[tool].parameter(name)
            if parameter is None or canonical(parameter.type) != "PersonName":
                still.append((tool, name))
                continue
            for index, step in enumerate(bound.steps):
                if step.tool == tool and name not in step.arguments:
                    bound.steps[index] = replace(step, arguments={**step.arguments, name: named[-1]})
        bound.missing = tuple(still)


def _support(candidate: Candidate) -> dict[str, float]:
    return {
        "votes": candidate.votes,
        "kin": candidate.kin,
        "text": candidate.text,
        "leaning": candidate.leaning,
        "likeness": candidate.likeness,
    }


def _option(candidate: Candidate, bound: Bound, readings: dict[str, float]) -> Option:
    return Option(candidate, bound, readings, sum(_WEIGHTS[name] * value for name, value in readings.items()))


def _asking_words(bound: Bound, unit: Unit) -> list[str]:
    """The words outside all arguments."""
    return [
        token.word
        for place, token in enumerate(unit.tokens)
        if place not in bound.used and (token.word.isalpha() or "'" in token.word)
    ]


def _form_words(bound: Bound, unit: Unit) -> tuple[str, ...]:
    """The request's form with its arguments hidden."""
    return tuple(
        HIDDEN if place in bound.used and not token.word.startswith("<") else token.word
        for place, token in enumerate(unit.tokens)
    )


# ── Joining parts ─────────────────────────────────────────────────────────────────────────────────────────


def shifted(steps: Sequence[Step], by: int) -> list[Step]:
    """The steps with references counted from a later place."""
    return [_moved(step, {k: k + by for k in range(-by, len(steps))}) for step in steps]


def joined(parts: Sequence[Part], served: Sequence[bool], tools: Mapping[str, ToolSpec]) -> tuple[Step, ...]:
    """The steps of the parts that are served, as one plan in which each look-up is made once."""
    steps: list[Step] = []
    owner: list[int] = []
    for number, part in enumerate(parts):
        steps += shifted(part.steps, len(steps))
        owner += [number] * len(part.steps)
    kept: list[Step] = []
    place: dict[int, int] = {}
    for index, step in enumerate(steps):
        if not served[owner[index]]:
            continue
        moved = _moved(step, place)
        is_lookup = tools[step.tool].effect == "none"
        same = next((k for k, other in enumerate(kept) if is_lookup and _is_same(moved, other)), len(kept))
        place[index] = same
        if same == len(kept):
            kept.append(moved)
    return tuple(kept)


def rests_on_unserved(parts: Sequence[Part], served: Sequence[bool], number: int) -> bool:
    """Whether part `number` uses the result of an earlier part that is not served."""
    starts = [sum(len(part.steps) for part in parts[:k]) for k in range(len(parts))]
    used = {ref.step + starts[number] for step in parts[number].steps for ref in step.refs() if ref.step < 0}
    return any(
        not served[k] and any(starts[k] <= step < starts[k] + len(parts[k].steps) for step in used)
        for k in range(number)
    )


def _is_same(step: Step, other: Step) -> bool:
    return (step.tool, step.arguments, step.after) == (other.tool, other.arguments, other.after)


def _moved(step: Step, place: Mapping[int, int]) -> Step:
    """`step` with every reference at its new place."""

    def moved(value: Argument) -> Argument:
        if isinstance(value, Ref):
            return Ref(place[value.step], value.path)
        if isinstance(value, list):
            return [moved(item) for item in value]
        return value

    arguments = {name: moved(value) for name, value in step.arguments.items()}
    return replace(step, arguments=arguments, after=tuple(place[k] for k in step.after))
