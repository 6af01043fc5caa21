"""Makes one plan of the clauses of a request, and of several things that are asked of one verb."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from hearth.formats.plans import canonical, is_taking_away, renumbered, shifted
from hearth.language.clauses import DETERMINERS, STATES, VERBS, SharedVerb, past_joining
from hearth.language.reading import Utterance
from hearth.language.temporal.time_words import WEEKDAYS
from hearth.language.thesaurus import KNOWN_WORDS
from hearth.language.tokens import Clause, Token, listed
from hearth.language.values.slots import Slot
from hearth.models.intent_classifier import IntentClassifier, MarkedToken
from hearth.planning.arguments.alignment import FUNCTION_WORDS, Result, flat, said_text
from hearth.planning.arguments.binding import Bound, Opening, Unit, bind, bind_alike
from hearth.planning.arguments.span_boundaries import Manners, signs_of
from hearth.planning.retrieval.voting import Ballot, Candidate, Offered, shipped_odds
from hearth.types import Argument, Parameter, Plan, Ref, Refusal, Step, ToolSpec

if TYPE_CHECKING:
    from hearth.planning.ranking.ranker import Candidate as RankedSequence


# ── Plan assembly ─────────────────────────────────────────────────────────────────────────────────────────
# Assembles one plan from what demonstrations suggest: candidates are filled, judged and joined, clause by clause.
#
# The judgement (`voting.OptionOdds`) weighs the evidence for a candidate and how well the request's words fill it;
# its probability is the plan's confidence.

MOST_FOR_NOTHING = 0.35
"""Probability that nothing is asked for, above which a part is refused; the tools may share the rest."""
_SURE = 1.0
"""Log-odds above which a stretch of words raises no doubt."""
_MAX_DOUBT, _MAX_WORDS = 4.0, 4
_ASKABLE = frozenset({"datetime", "date", "time", "duration", "number", "integer"})
_THING_PRONOUNS = frozenset(listed("it that this them those these"))
_PERSON_PRONOUNS = frozenset(listed("him her them he she they"))
_NAME, _ADDRESS = "<name>", "EmailAddress"
_HOPELESS = 4.0
"""A candidate with so much less support than the best is not filled."""
_LEAST_CHANCE = 1e-6
_UNRECOGNISED = 0.1
"""Most odds that nothing is asked for, of a request that reads like those that were taught in sequences."""
_SURELY_WISHED = 0.95
"""Probability from which on what is marked as wishing nothing is done all the same."""
_WITH_ONE_ACT = 2
"""Units of a request that asks for one thing: the whole, and the act without what is said beside it."""
_NEAR = 0.2
"""Least probability of a way to serve a request with which its tool is offered when nothing is done: half of these are
asked for, where from a tenth up one of eight is."""


@dataclass(frozen=True, slots=True)
class Option:
    """One way to serve a unit, filled from its words."""

    candidate: Candidate
    bound: Bound
    readings: dict[str, float]
    score: float

    n_unread: int = 0
    """Typed values of the request, numbers too, that no argument took."""
    unread_times: tuple[str, ...] = ()
    """Those of them that are times, as they were said."""

    @property
    def is_nothing(self) -> bool:
        return not self.candidate.steps

    @property
    def tools(self) -> frozenset[str]:
        return frozenset(step.tool for step in self.bound.steps)


_TIMES = frozenset(("datetime", "date", "time", "duration"))
_WHEN = frozenset(("when", "whenever", "once", "after", "before", "until", "till", "if", "unless", "while", "as"))
_WHO = frozenset(
    ("i", "i'm", "we", "we're", "he", "she", "they", "it", "it's", "everybody", "everyone", "nobody", "soon")
)
"""Words that, after one of `_WHEN`, begin a condition."""
_SAME_FORM = 0.999
"""Likeness from which on two forms are the same except for rounding."""
_THIS_DAY = frozenset(("today", "tonight", "this", "the", "morning", "afternoon", "evening", "night", "now"))


@dataclass(frozen=True, slots=True)
class Part:
    """The proposal for one clause, or for the whole request."""

    text: str
    steps: tuple[Step, ...]
    """Steps; references are counted from the first one, and negative ones point to steps of earlier parts."""
    missing: tuple[tuple[str, str], ...]
    confidence: float
    """Probability that this is asked for, in [0, 1]; of refusing, that nothing is."""
    rests_on: tuple[str, ...]
    nearest: str
    """Tool to offer when this part is not served; empty when none is similar."""
    described: float = 0.0
    """Likeness of the request to the tool's own words."""
    unread: tuple[str, ...] = ()
    """What no argument took and nobody says to ask for its tools, as it was said."""
    unread_times: tuple[str, ...] = ()
    """Times that no argument took, as they were said."""
    words: frozenset[int] = frozenset()
    """Where in the request its words begin."""
    read: frozenset[int] = frozenset()
    """Of these, those that went into arguments."""
    says_later: bool = False
    """Whether its words say a time other than today."""

    @property
    def is_nothing(self) -> bool:
        return not self.steps


@dataclass(frozen=True, slots=True)
class OwnSequences:
    """What the home alone was taught in sequences, for a request of their kind (`taught_sequences`)."""

    likely: Sequence[RankedSequence]
    """Sequences for the whole request, with how likely each is."""
    tools: frozenset[str]
    """All tools that this home alone was taught."""

    def has_any(self, tools: Iterable[str]) -> bool:
        """Return whether some of these tools are known from this home alone."""
        return not self.tools.isdisjoint(tools)


NO_SEQUENCES = OwnSequences((), frozenset())


@dataclass(frozen=True, slots=True)
class Way:
    """One way to cut a request."""

    rows: tuple[int, ...]
    """Its units, by their place among all: the whole request, then its acts when they are not the same."""
    asides: frozenset[int] = frozenset()
    """Which of `rows` wish nothing, as marked: done only where they surely ask for something, and not told as undone
    (of eleven that were told on requests looked at, two were wishes)."""
    wishes: frozenset[int] = frozenset()
    """Which of `rows` surely wish something, as marked: told where nothing is done for them."""
    is_cut_by_rule: bool = False
    """Whether the rules find several acts in the request, whatever the units are."""

    @property
    def is_one(self) -> bool:
        """Whether one thing is asked for, with what may be said beside it."""
        return len(self.rows) - len(self.asides) <= _WITH_ONE_ACT


class Proposal:
    """The proposal for one request, cut in one way."""

    def __init__(
        self,
        ballot: Ballot,
        units: Sequence[Unit],
        way: Way,
        offered: Offered,
        manners: Manners,
        sequences: OwnSequences = NO_SEQUENCES,
    ) -> None:
        """Keep the parts. Args: units: All that the ballot has rows for; those of `way` are looked at."""
        self._sequences = sequences
        self._way = way
        self._ballot = ballot
        self._units = [units[row] for row in way.rows]
        self._tools = offered.tools
        self._manners = manners
        self.wishes: list[Part] = []
        """One part for each act that surely wishes something, once `parts` were looked for."""

    def parts(self) -> list[Part]:
        """Return one part for a single clause; else one per clause, or one for all if such a request was taught."""
        if len(self._units) == 1:
            return [self._part(0, self.ranked(0, is_long=None if self._way.is_cut_by_rule else False))]
        by_clause: list[Part] = []
        steps: list[Step] = []
        gain = 0.0
        for unit in range(1, len(self._units)):
            ranked = self.ranked(unit, earlier=steps)
            part = self._part(unit, ranked)
            if self._way.rows[unit] in self._way.asides and (part.is_nothing or part.confidence < _SURELY_WISHED):
                continue
            by_clause.append(part)
            self.wishes += [part] if self._way.rows[unit] in self._way.wishes else []
            steps += shifted(part.steps, len(steps))
            gain += _gain(ranked)
        gain /= max(len(by_clause), 1)
        ranked = self.ranked(0, is_long=True if len(by_clause) > 1 else None)
        whole = self._part(0, ranked)
        is_taught = self._sequences.has_any(ranked[0].tools) and self._outweighs(whole, by_clause)
        if is_taught or ranked[0].readings.get("alike"):  # in these words
            self.wishes = []  # it does all of them
            return [whole]
        if not by_clause:
            return [whole]
        is_done_by_clause = ranked[0].is_nothing or _gain(ranked) <= gain or _leaves_out(whole, by_clause)
        return by_clause if is_done_by_clause else [whole]

    def whole(self) -> Part:
        """Return one part for the whole request."""
        return self._part(0, self.ranked(0, is_long=True))

    def _part(self, unit: int, ranked: Sequence[Option]) -> Part:
        chances = _chances(ranked)
        of_leaves: dict[tuple[str, ...], float] = {}
        for option, chance in zip(ranked, chances):
            of_leaves[option.candidate.leaves] = of_leaves.get(option.candidate.leaves, 0.0) + chance
        for_nothing = of_leaves.pop((), 0.0)
        meant = max(of_leaves, key=lambda leaves: of_leaves[leaves], default=())
        if for_nothing > MOST_FOR_NOTHING:
            meant = ()
        best = self._worth_asking(unit, [option for option in ranked if option.candidate.leaves == meant])
        something = next((option for option in ranked if not option.is_nothing), None)
        is_near = something is not None and of_leaves[something.candidate.leaves] >= _NEAR
        lacking = best.bound.missing  # whoever lacks the same is asked the same, whatever would be done with it
        asks_it = sum(chance for option, chance in zip(ranked, chances) if lacking and option.bound.missing == lacking)
        return Part(
            text=self._units[unit].said(),
            steps=tuple(best.bound.steps),
            missing=best.bound.missing,
            confidence=min(1.0, max(of_leaves.get(meant, for_nothing), asks_it)),
            rests_on=best.candidate.rests_on,
            nearest=something.candidate.leaves[-1] if something and is_near else "",
            described=best.candidate.text,
            unread=self._unread(best, self._units[unit]),
            unread_times=best.unread_times,
            words=frozenset(token.start for token in self._units[unit].tokens),
            read=frozenset(self._units[unit].tokens[place].start for place in best.bound.used),
            says_later=any(
                token.slot is not None and token.slot.kind == "time" and is_later(token.slot)
                for token in self._units[unit].tokens
            ),
        )

    def _worth_asking(self, unit: int, ranked: Sequence[Option]) -> Option:
        """Return the best option that does not ask for the address of a person who is named, so that one can look it
        up; the best of all where each does."""
        if _NAME not in self._units[unit].words:
            return ranked[0]
        asks_address = (any(itertools.starmap(self._is_address, option.bound.missing)) for option in ranked)
        return next((option for option, asks in zip(ranked, asks_address) if not asks), ranked[0])

    def _is_address(self, tool: str, name: str) -> bool:
        parameter = self._tools[tool].parameter(name)
        return parameter is not None and canonical(parameter.type).removeprefix("list[").startswith(_ADDRESS)

    # ── Options ───────────────────────────────────────────────────────────────────────────────────────────

    def ranked(self, unit: int, *, is_long: bool | None = False, earlier: Sequence[Step] = ()) -> list[Option]:
        """Return ways to serve one unit, best first; refusing is always among them."""
        candidates = self._ballot.candidates(
            self._way.rows[unit], self._units[unit].words, is_long=is_long, may_refer=bool(earlier)
        )
        most = max((candidate.worth for candidate in candidates), default=0.0)
        options = [
            option
            for candidate in candidates
            if (candidate.worth > most - _HOPELESS or candidate.words == self._units[unit].words)
            and (option := self._option(candidate, unit, earlier)) is not None
        ]
        if not any(option.is_nothing for option in options):
            options.append(_option(Candidate((), 0.0), Bound([]), {"nothing": 1.0}))
        return sorted(options if unit else self._with_sequences(options), key=lambda o: -o.score)

    def _outweighs(self, whole: Part, by_clause: Sequence[Part]) -> bool:
        """Return whether a sequence taught here stands against what single clauses ask for: no surer one of them asks
        for something else."""
        others = (part for part in by_clause if part.steps and not self._sequences.has_any(_tools_of(part)))
        return bool(whole.steps) and all(part.confidence < whole.confidence for part in others)

    def _with_sequences(self, options: list[Option]) -> list[Option]:
        """Share among the sequences that were taught here what speaks for any of them, by how likely each is.

        The request is of a kind that was taught, so nothing is unlikely; what was taught for these very words stands.
        """
        of_own = [option for option in options if self._sequences.has_any(option.tools)]
        if not of_own or not self._sequences.likely or any(option.readings.get("alike") for option in options):
            return options
        in_all = _together(of_own)
        most_for_nothing = _together([o for o in options if not o.is_nothing]) + math.log(_UNRECOGNISED)
        nothing = [replace(o, score=min(o.score, most_for_nothing)) for o in options if o.is_nothing]
        found = [*nothing, *(o for o in options if not o.is_nothing and not self._sequences.has_any(o.tools))]
        n_found = len(found)
        chances = sorted((one.probability for one in self._sequences.likely), reverse=True)
        for one, chance in zip(self._sequences.likely, chances, strict=True):  # the first is that of least risk
            same = next((option for option in of_own if _tools_of(option.bound) == one.tools), None)
            option = same or self._option(self._ballot.of_sequence(0, one.tools, one.links), 0, ())
            if option is not None:
                found.append(replace(option, score=in_all + math.log(max(chance, _LEAST_CHANCE))))
        return found if len(found) > n_found else options

    def _option(self, candidate: Candidate, unit: int, earlier: Sequence[Step]) -> Option | None:
        for_it = candidate.readings
        if not candidate.steps:
            alike = float(candidate.words == self._units[unit].words)
            return _option(candidate, Bound([]), {**for_it, "nothing": 1.0, "alike": alike})
        words = self._units[unit].ahead if self._lies_ahead(candidate) else self._units[unit]
        is_alike = candidate.words == words.words
        bound = (bind_alike if is_alike else bind)(candidate.steps, words, self._tools)
        self._narrow(bound, words)
        if not self._connected(bound, earlier) or (not is_alike and self._is_untimely(bound, words)):
            return None
        if _names_a_result(bound.steps, earlier):
            return None
        self._reuse(bound, earlier)
        self._resolve_pronouns(bound, unit, earlier)
        if is_alike or _is_example(candidate):
            for_it["alike"] = 1.0
        n_unread = sum(token.slot is not None and k not in bound.used for k, token in enumerate(words.tokens))
        return replace(
            _option(candidate, bound, {**for_it, **self._fit(candidate, bound, words)}),
            n_unread=n_unread,
            unread_times=_unread_times(words, bound),
        )

    def _lies_ahead(self, candidate: Candidate) -> bool:
        """Return whether something that is there already is given another time: it lies ahead, however it is told."""
        return any(
            self._tools[step.tool].effect == "change"
            and _time_parameters(self._tools[step.tool])
            and any(isinstance(source, Result) for source in flat(step.sources))
            for step in candidate.steps
        )

    def _fit(self, candidate: Candidate, bound: Bound, unit: Unit) -> dict[str, float]:
        """Return how well the words of the request fill the candidate."""
        unused = sum(
            token.slot is not None and place not in bound.used and token.word not in ("<number>", "<unit>")
            for place, token in enumerate(unit.tokens)
        )
        n_askable = sum(self._is_askable(tool, name) for tool, name in bound.missing)
        texts = [v for step in bound.steps for v in step.arguments.values() if isinstance(v, str) and " " in v]
        return {
            "missing": len(bound.missing) - n_askable,
            "askable": n_askable,
            "unused": unused,
            "strange": min(self._n_strange(candidate, bound, unit), _MAX_WORDS),
            "doubt": sum(min(_MAX_DOUBT, max(0.0, _SURE - score)) for score in bound.scores),
            "idle": self._n_idle(bound, unit),
            "doubled": len(texts) - len(set(texts)),
            "steps": len(candidate.steps) - 1,
            "acts": float(any(self._tools[step.tool].effect != "none" for step in candidate.steps)),
        }

    def _narrow(self, bound: Bound, unit: Unit) -> None:
        """Look up what a time names that no argument took: "cancel my alarm for 5pm" is about the one at five."""
        left = [place for place, token in enumerate(unit.tokens) if place not in bound.used and token.slot is not None]
        times = [place for place in left if _bounds(unit.tokens[place].slot)]
        if len(times) != 1 or not any(self._tools[step.tool].effect != "none" for step in bound.steps):
            return
        used = {ref.step for step in bound.steps for ref in step.refs()}
        start, end = _bounds(unit.tokens[times[0]].slot) or ("", "")
        for index, step in enumerate(bound.steps):
            takes = {p.name for p in self._tools[step.tool].parameters if canonical(p.type) == "datetime"}
            if index in used and takes >= {"start", "end"} and not takes & step.arguments.keys():
                bound.steps[index] = replace(step, arguments={**step.arguments, "start": start, "end": end})
                bound.used |= {times[0]}
                return

    def _is_untimely(self, bound: Bound, unit: Unit) -> bool:
        """Return whether something would be changed now although the request says when, and no argument takes a time.

        Examples: "turn the heating on at six", "… when I leave".
        """
        specs = [self._tools[step.tool] for step in bound.steps]
        if all(spec.effect == "none" for spec in specs):
            return False
        rest = [token for place, token in enumerate(unit.tokens) if place not in bound.used]
        times = {spec.name: _time_parameters(spec) for spec in specs}
        is_timed = any(times[step.tool] & step.arguments.keys() for step in bound.steps)
        if not is_timed and any(t.slot is not None and t.slot.kind == "time" and is_later(t.slot) for t in rest):
            return True
        if any(times.values()):
            return False
        return any(a.word in _WHEN and b.word in _WHO and a.end + 1 == b.start for a, b in itertools.pairwise(rest))

    def _is_askable(self, tool: str, name: str) -> bool:
        """Return whether people often leave the value out (a time, a length, an amount) and can be asked for it."""
        parameter = self._tools[tool].parameter(name)
        return parameter is not None and canonical(parameter.type) in _ASKABLE

    def _n_strange(self, candidate: Candidate, bound: Bound, unit: Unit) -> int:
        """Count the unknown words outside all arguments."""
        return sum(self._is_strange(word, candidate) for word in _asking_words(bound, unit))

    def _is_strange(self, word: str, candidate: Candidate) -> bool:
        """Return whether a word is neither known nor said by anybody to ask for the candidate's tools."""
        is_known = word in KNOWN_WORDS or word in FUNCTION_WORDS
        return not is_known and not any(self._manners.frame(step.tool)[word] > 0 for step in candidate.steps)

    def _unread(self, option: Option, unit: Unit) -> tuple[str, ...]:
        """Return what no argument took, as it was said; words side by side as one stretch.

        Words are told only where they could have narrowed a look-up, and nobody says them to ask for it. Whom a word
        between marks calls ("…, dear?") is told neither.
        """
        times = set(option.unread_times)
        is_open = any(self._is_open(step) for step in option.bound.steps)
        stretches: list[list[int]] = []
        for place, token in enumerate(unit.tokens):
            slot = token.slot
            is_value = slot is not None and (slot.text in times if slot.kind == "time" else token.word != "<unit>")
            is_name = token.word == _NAME
            is_plain = slot is None and token.word[:1].isalpha() and token.word not in _ASK_HOW_MUCH
            is_word = is_plain and self._is_strange(token.word, option.candidate)
            if place in option.bound.used or not (is_value or (is_open and (is_name or is_word))):
                continue
            if stretches and stretches[-1][-1] == place - 1:
                stretches[-1].append(place)
            else:
                stretches.append([place])
        told = (one for one in stretches if len(one) > 1 or not _is_set_off(unit.words, one[0]))
        return tuple(unit.text[unit.tokens[one[0]].start : unit.tokens[one[-1]].end] for one in told)

    def _is_open(self, step: Step) -> bool:
        """Return whether a step could be given words to look for, and has none, nor a result."""
        texts = [p.name for p in self._tools[step.tool].parameters if canonical(p.type) == "text"]
        return any(name not in step.arguments for name in texts) and not any(step.refs())

    def _n_idle(self, bound: Bound, unit: Unit) -> int:
        """Count the look-ups that would run without a word of what to look for."""
        if "thing:last" in signs_of(unit.words):
            return 0
        used = {ref.step for step in bound.steps for ref in step.refs()}
        return sum(index in used and not step.arguments for index, step in enumerate(bound.steps))

    # ── What earlier clauses said ─────────────────────────────────────────────────────────────────────────

    def _connected(self, bound: Bound, earlier: Sequence[Step]) -> bool:
        """Give the steps that use another clause's result the latest fitting one; return False when there is none."""
        for opening in bound.openings:
            step = bound.steps[opening.step]
            parameter = self._tools[step.tool].parameter(opening.parameter)
            is_reading = self._tools[step.tool].effect == "none"
            found = self._earlier_result(opening, parameter, earlier, is_reading) if parameter else None
            if found is None:
                return False
            ref = Ref(found.step - len(earlier), found.path)
            value: Argument = [ref] if opening.is_list else ref
            bound.steps[opening.step] = replace(step, arguments={**step.arguments, opening.parameter: value})
        return True

    def _earlier_result(
        self, opening: Opening, parameter: Parameter, earlier: Sequence[Step], is_reading: bool
    ) -> Ref | None:
        wanted = opening.result
        same = [index for index, step in enumerate(earlier) if step.tool == wanted.tool]
        if len(same) >= -wanted.step:
            index = same[wanted.step]
            if opening.is_exact and is_reading:
                return Ref(index, wanted.path)
            return Ref(index, _one_of_list(wanted.path, index, earlier, self._tools[wanted.tool]))
        kind = canonical(parameter.type).removeprefix("list[").removesuffix("]")
        for index in range(len(earlier) - 1, -1, -1):
            for name, given in self._tools[earlier[index].tool].fields.items():
                if canonical(given) == kind != "text":
                    return Ref(index, (name,))
        return None

    def _reuse(self, bound: Bound, earlier: Sequence[Step]) -> None:
        """Replace a look-up without words by the same look-up of an earlier clause."""
        used = {ref.step for step in bound.steps for ref in step.refs()}
        place: dict[int, int] = {}
        kept: list[Step] = []
        for index, step in enumerate(bound.steps):
            same = max((k for k, other in enumerate(earlier) if other.tool == step.tool), default=-1)
            if same >= 0 and index in used and not step.arguments and self._tools[step.tool].effect == "none":
                place[index] = same - len(earlier)
            else:
                place[index] = len(kept)
                kept.append(step)
        if len(kept) < len(bound.steps):
            behind = {k: k for k in range(-len(earlier), 0)}
            bound.steps[:] = [renumbered(step, behind | place) for step in kept]

    def _resolve_pronouns(self, bound: Bound, unit: int, earlier: Sequence[Step]) -> None:
        """Resolve pronouns: `her` is the last person named in an earlier clause, `it` the last step's result there."""
        words = set(self._units[unit].words)
        if unit < 2 or not bound.missing:
            return
        still: list[tuple[str, str]] = []
        for tool, name in bound.missing:
            parameter = self._tools[tool].parameter(name)
            index = next((k for k, s in enumerate(bound.steps) if s.tool == tool and name not in s.arguments), None)
            found: dict[str, Argument] = {}
            if parameter is not None and index is not None:
                if canonical(parameter.type) == "PersonName" and words & _PERSON_PRONOUNS:
                    named = self._named_before(unit)
                    found = {name: named[-1]} if named else {}
                elif canonical(parameter.type) == "text" and words & _THING_PRONOUNS and earlier:
                    found = self._thing_before(self._tools[tool], name, earlier)
            if found and index is not None:
                step = bound.steps[index]
                bound.steps[index] = replace(step, arguments={**step.arguments, **found})
            else:
                still.append((tool, name))
        bound.missing = tuple(still)

    def _named_before(self, unit: int) -> list[str]:
        return [
            said_text(before.tokens, place, place + 1, before.text)
            for before in self._units[1:unit]
            for place, token in enumerate(before.tokens)
            if token.word == "<name>"
        ]

    def _thing_before(self, spec: ToolSpec, name: str, earlier: Sequence[Step]) -> dict[str, Argument]:
        """Return what `it` is for a text: the last result; a file is attached if the tool takes files."""
        last = earlier[-1]
        path = next((f for f, kind in self._tools[last.tool].fields.items() if canonical(kind) == "FilePath"), None)
        files = next((p.name for p in spec.parameters if canonical(p.type) == "list[FilePath]"), None)
        about = last.arguments.get("query")
        if path and files and isinstance(about, str):
            return {name: about, files: [Ref(-1, (path,))]}
        return {name: Ref(-1)}


def _leaves_out(whole: Part, by_clause: Sequence[Part]) -> bool:
    """Return whether a plan for the whole request leaves out what its clauses say, each of which can be done: "add milk
    to the list and add eggs to the list" is not done with the milk."""
    is_served = all(part.steps and not part.missing for part in by_clause)
    return is_served and not frozenset().union(*(part.read for part in by_clause)) <= whole.read


def _unread_times(unit: Unit, bound: Bound) -> tuple[str, ...]:
    """Return the times that no argument took; none where one that was taken says as much ("Friday the 4th")."""
    times = [
        (k, token.slot) for k, token in enumerate(unit.tokens) if token.slot is not None and token.slot.kind == "time"
    ]
    taken = {slot.views.get("date") for k, slot in times if k in bound.used}
    weekdays = {dt.date.fromisoformat(str(date)).weekday() for date in taken if date is not None}
    left = [slot for k, slot in times if k not in bound.used and slot.views.get("date") not in taken]
    return tuple(slot.text for slot in left if WEEKDAYS.get(slot.text.lower()) not in weekdays)


def _is_example(candidate: Candidate) -> bool:
    """Return whether the request reads the same as an example of the tool."""
    return candidate.likeness > _SAME_FORM and candidate.rests_on[:1] == (f"tool:{candidate.leaves[-1]}",)


def _bounds(slot: Slot | None) -> tuple[str, str] | None:
    """Return the first and the last moment a time names, the last at least a minute later; None for anything else."""
    if slot is None or slot.kind != "time":
        return None
    start, end = slot.views.get("start"), slot.views.get("end")
    if not (isinstance(start, str) and isinstance(end, str)):
        return None
    if end <= start:
        end = (dt.datetime.fromisoformat(start) + dt.timedelta(minutes=1)).isoformat()
    return start, end


def takes_time(spec: ToolSpec) -> bool:
    """Return whether a tool can be told when."""
    return bool(_time_parameters(spec))


def _time_parameters(spec: ToolSpec) -> set[str]:
    return {p.name for p in spec.parameters if canonical(p.type) in _TIMES}


def is_later(slot: Slot) -> bool:
    """Return whether a time is other than this very day or part of it."""
    return "repeat" in slot.views or not set(slot.text.lower().split()) <= _THIS_DAY


def swallows_a_time(plan: Plan, slots: Sequence[Slot], tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether a step that is done at once has a later time in the name of its thing ("tonight at ten")."""
    later = [slot.text for slot in slots if slot.kind == "time" and is_later(slot)]
    at_once = (step for step in plan.steps if tools[step.tool].effect != "none" and not takes_time(tools[step.tool]))
    named = (
        value
        for step in at_once
        for name, value in step.arguments.items()
        if isinstance(value, str) and (parameter := tools[step.tool].parameter(name)) and parameter.names_a_thing
    )
    return any(text in value for value in named for text in later)


def _tools_of(part: Part | Bound) -> tuple[str, ...]:
    return tuple(step.tool for step in part.steps)


def _together(options: Sequence[Option]) -> float:
    """Return the score that options have together."""
    highest = max(option.score for option in options)
    return highest + math.log(sum(math.exp(option.score - highest) for option in options))


def _chances(ranked: Sequence[Option]) -> list[float]:
    """Return the probability of each option, the best first."""
    weights = [math.exp(option.score - ranked[0].score) for option in ranked]
    return [weight / sum(weights) for weight in weights]


def _gain(ranked: Sequence[Option]) -> float:
    """Return how much better the best option is than to refuse; 0 when values are missing."""
    nothing = max(option.score for option in ranked if option.is_nothing)
    return 0.0 if ranked[0].bound.missing else ranked[0].score - nothing


def _option(candidate: Candidate, bound: Bound, readings: dict[str, float]) -> Option:
    return Option(candidate, bound, readings, shipped_odds().of(readings))


def _names_a_result(steps: Sequence[Step], earlier: Sequence[Step]) -> bool:
    """Return whether items of a list are only words for what a step before finds: "put the total on my list"."""
    found = {step.tool.rpartition("_")[2] for step in earlier}
    for step in steps:
        for value in step.arguments.values():
            items = value if isinstance(value, list) else []
            said = [word for item in items if isinstance(item, str) for word in item.casefold().split()]
            named = [word for word in said if word not in FUNCTION_WORDS]
            if named and found.issuperset(named):
                return True
        found.add(step.tool.rpartition("_")[2])
    return False


_ASK_HOW_MUCH = frozenset({"many", "much", "often"})
"""What narrows no look-up: what it finds is counted."""


def _is_set_off(words: Sequence[str], place: int) -> bool:
    """Return whether a word stands alone between marks, or between one and an end of what is said."""
    beside = [*words[place - 1 : place], *words[place + 1 : place + 2]]
    return bool(beside) and not any(word[0].isalnum() or word[0] == "<" for word in beside)


def _asking_words(bound: Bound, unit: Unit) -> list[str]:
    """Return the words outside all arguments."""
    return [
        token.word
        for place, token in enumerate(unit.tokens)
        if place not in bound.used and (token.word.isalpha() or "'" in token.word)
    ]


def _one_of_list(path: tuple[str, ...], index: int, earlier: Sequence[Step], source: ToolSpec) -> tuple[str, ...]:
    """Return the path to the record an earlier clause spoke of: the first of a list when that said `the latest`."""
    named = tuple(part for part in path if not part.isdigit())
    is_first = any(ref.step == index and ref.path[:1] == ("0",) for step in earlier for ref in step.refs())
    is_first |= "thing:last" in signs_of(tuple(earlier[index].text.lower().split()))
    return ("0", *named) if is_first and named and source.returns.startswith("list[") else named


# ── Joining parts ─────────────────────────────────────────────────────────────────────────────────────────


def joined(parts: Sequence[Part], served: Sequence[bool], tools: Mapping[str, ToolSpec]) -> tuple[Step, ...]:
    """Join the steps of the parts that are served into one plan in which each look-up is made once.

    So is what is done with results alone: "send it" of two clauses is one draft sent once.
    """
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
        here = renumbered(step, place)
        is_once = tools[step.tool].effect == "none" or _is_of_results(step)
        same = next((k for k, other in enumerate(kept) if is_once and _is_same(here, other)), len(kept))
        place[index] = same
        if same == len(kept):
            kept.append(here)
    return tuple(kept)


def rests_on_unserved(parts: Sequence[Part], served: Sequence[bool], number: int) -> bool:
    """Return whether part `number` uses the result of an earlier part that is not served."""
    before = {ref.step for step in parts[number].steps for ref in step.refs() if ref.step < 0}
    if not before:
        return False
    starts = [0, *itertools.accumulate(len(part.steps) for part in parts)]
    used = {step + starts[number] for step in before}
    return any(
        not served[k] and any(starts[k] <= step < starts[k] + len(parts[k].steps) for step in used)
        for k in range(number)
    )


def _is_of_results(step: Step) -> bool:
    """Return whether results of other steps are all that a step is given."""
    return bool(step.arguments) and all(isinstance(value, Ref) for value in step.arguments.values())


def _is_same(step: Step, other: Step) -> bool:
    return (step.tool, step.arguments, step.after) == (other.tool, other.arguments, other.after)


# ── Segmentation ──────────────────────────────────────────────────────────────────────────────────────────
# Cuts a request into its acts where the classifier of intents marks that one begins, and tells what wishes nothing.
#
# What the rules of `language.clauses` cut is cut here as well unless the marks speak against it; they stand alone for
# a request that is longer than what is marked, and without a classifier. Two things under one verb ("turn off the
# lamp and the heater") are one act. Not covered: a thing's name of more than four words, or of some without an
# article.

_BEGINS, _BEGINS_BY_RULE = 0.4, 0.1
"""Least chance that an act begins at a word: at any, and at one where a rule says so."""
_IS_ASIDE = 0.5
"""Mean chance of its words above which a piece belongs to no act, unless it holds a value that is no part of today."""
_IS_WISH = 0.06
"""Mean chance below which a piece that a plan takes no word of is told as left undone: of 41 such pieces on requests
looked at, 17 of 24 below it were wishes, 1 of 17 above."""
_MARKS = frozenset(",;.!:-–—")
_LEADING = frozenset(listed("so oh +"))
"""Words before an act that join it to the one before, beside those of the rules."""
_STATES = STATES | frozenset(listed("in done finished gone over low high"))
_MOST_NAMING = 4
"""Words of a thing's name, its article among them."""


@dataclass(frozen=True, slots=True)
class Acts:
    """A request cut into pieces, in order."""

    pieces: tuple[Clause, ...]
    asides: frozenset[int] = frozenset()
    """Places of those that, as marked, wish nothing."""
    wishes: frozenset[int] = frozenset()
    """Places of those that, as marked, surely wish something."""


def acts_of(said: Utterance, classifier: IntentClassifier | None) -> Acts:
    """Return the acts of a request, at least one where it has any words; by the rules alone where it goes on behind the
    words that are marked."""
    marked = classifier.marked(said.text) if classifier is not None else ()
    if len(said.tokens) < 2 or not marked or marked[-1].start < said.tokens[-1].start:
        return Acts(said.acts)
    marks = {mark.start: mark for mark in reversed(marked)}
    unmarked = MarkedToken(0, 0.0, 0.0)
    chances = [marks.get(token.start, unmarked) for token in said.tokens]
    by_rule, in_value = _places_by_rule(said, chances), _in_value(said)
    pieces: list[Clause] = []
    for_nothing: list[float] = []
    for first, last in pairwise([0, *_cuts(chances, by_rule, in_value), len(said.tokens)]):
        piece = _clause(said, in_value, first, last)
        if piece is None:
            continue
        is_beside = bool(pieces) and _is_aside(pieces[-1], for_nothing[-1])
        if pieces and not is_beside and first not in by_rule and _names_a_thing(said, piece):
            pieces[-1] = _up_to(said, pieces[-1], piece)
        else:
            pieces.append(piece)
            for_nothing.append(float(np.mean([chance.is_aside for chance in chances[first:last]])))
    asides = frozenset(k for k, piece in enumerate(pieces) if _is_aside(piece, for_nothing[k]))
    wishes = frozenset(k for k, chance in enumerate(for_nothing) if chance < _IS_WISH)
    return Acts(tuple(pieces), asides if len(asides) < len(pieces) else frozenset(), wishes)


def _cuts(chances: Sequence[MarkedToken], by_rule: Collection[int], in_value: Sequence[Slot | None]) -> list[int]:
    """Return the places at which an act begins after another; none within a value."""
    found = []
    for place, chance in enumerate(chances):
        is_within = place == 0 or (in_value[place] is not None and in_value[place] is in_value[place - 1])
        if not is_within and chance.begins > (_BEGINS_BY_RULE if place in by_rule else _BEGINS):
            found.append(place)
    return found


def _is_aside(piece: Clause, for_nothing: float) -> bool:
    """Return whether a piece wishes nothing, as marked, and holds no value; "today" is said of anything."""
    holds_value = any(slot.kind != "time" or is_later(slot) for slot in piece.slots)
    return not holds_value and for_nothing > _IS_ASIDE


def _names_a_thing(said: Utterance, piece: Clause) -> bool:
    """Return whether a piece is no more than a thing's name, which belongs to the verb before: "… and the heater"."""
    words = [token.low for token in said.tokens if piece.start <= token.start < piece.end]
    is_short = len(words) == 1 or (words[0] in DETERMINERS and len(words) <= _MOST_NAMING)
    return is_short and not piece.slots and not (VERBS | _STATES).intersection(words)


def _up_to(said: Utterance, one: Clause, last: Clause) -> Clause:
    return Clause(one.start, last.end, said.text[one.start : last.end], (*one.slots, *last.slots))


def _in_value(said: Utterance) -> list[Slot | None]:
    """Return, for each token, the value it is of."""
    values: list[Slot | None] = []
    slots, place = said.slots, 0
    for token in said.tokens:
        while place < len(slots) and slots[place].end <= token.start:
            place += 1
        values.append(slots[place] if place < len(slots) and slots[place].start < token.end else None)
    return values


def _places_by_rule(said: Utterance, chances: list[MarkedToken]) -> frozenset[int]:
    """Return the places where the rules cut."""
    starts = [token.start for token in said.tokens]
    found = set()
    for one, after in pairwise(said.acts):
        between = range(bisect_left(starts, one.end), bisect_right(starts, after.start))
        if between:
            found.add(max(between, key=lambda k: (chances[k].begins, -k)))
    return frozenset(found)


def _clause(said: Utterance, in_value: Sequence[Slot | None], first: int, last: int) -> Clause | None:
    """Return the piece from one token up to another, without the marks and joining words at its ends."""
    tokens = said.tokens
    while last > first and tokens[last - 1].low in _MARKS and in_value[last - 1] is None:
        last -= 1
    while first < last and in_value[first] is None:
        after = min(past_joining(tokens, first), last)
        if after == first and (tokens[first].low in _MARKS or tokens[first].low in _LEADING):
            after += 1
        if after in (first, last):
            break
        first = after
    if first == last or all(_is_mark(token) for token in tokens[first:last]):
        return None
    start, end = tokens[first].start, tokens[last - 1].end
    slots = dict.fromkeys(slot for slot in in_value[first:last] if slot is not None and slot.start >= start)
    return Clause(start, end, said.text[start:end], tuple(slots))


def _is_mark(token: Token) -> bool:
    return token.kind == "mark"


# ── Several things ────────────────────────────────────────────────────────────────────────────────────────
# Judges whether a plan does for each of several things what one verb is said of them (`language.clauses`).
#
# Not covered: whether a thing that no argument holds was wished for, where nothing beside it is in one either.


def left_out(answer: Plan, things: Sequence[str]) -> tuple[str, ...]:
    """Return the things that a plan says nothing of, where it does of another of them."""
    written = frozenset(word for step in answer.steps for value in _values(step) for word in value)
    left = tuple(thing for thing in things if not _own_words(thing, things) & written)
    return left if len(left) < len(things) else ()


def is_taken_for_one(answer: Plan, shared: SharedVerb, tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether a plan looks for several things as if they were one, or does with one what is said of another."""
    doing = {answer.steps[k].tool if k >= 0 else "" for k in (_place(answer, thing) for thing in shared.things)}
    if shared.is_state_behind and len(doing) > 1 and "" not in doing:
        return True
    each = [_named(thing) for thing in shared.things]
    return any(
        sum(words <= _named(value) for words in each) > 1
        for step in answer.steps
        for name, argument in step.arguments.items()
        if _names_things(step, name, tools)
        for value in _texts(argument)
    )


def is_done_of_each(
    each: Plan | Refusal, shared: SharedVerb, answer: Plan, tools: Mapping[str, ToolSpec]
) -> TypeGuard[Plan]:
    """Return whether a plan does the same with each thing, in steps that name it alone, and beside that just what
    `answer` does. What takes something away wants each thing named with an article: "arts and crafts" is one."""
    if not isinstance(each, Plan) or not {*each.unserved} <= {*answer.unserved}:
        return False
    parts = [_about(each, thing) for thing in shared.things]
    mine, known = frozenset().union(*parts), frozenset().union(*(_about(answer, thing) for thing in shared.things))
    if not all(parts) or sum(map(len, parts)) > len(mine) or _rest(each, mine) != _rest(answer, known):
        return False
    deeds = {tuple(each.steps[k].tool for k in sorted(part)) for part in parts}
    is_same = shared.is_state_behind or {*next(iter(deeds))} == {answer.steps[k].tool for k in known}
    are_named = all(_looks_for(each.steps[min(part)], thing, tools) for part, thing in zip(parts, shared.things))
    takes_away = any(is_taking_away(each.steps[k], tools) for k in mine)
    return len(deeds) == 1 and is_same and are_named and not (takes_away and not all(map(has_article, shared.things)))


def has_article(thing: str) -> bool:
    """Return whether a thing is named with an article."""
    return thing.lower().partition(" ")[0] in FUNCTION_WORDS


def _rest(plan: Plan, left: frozenset[int]) -> list[str]:
    """Return what a plan does beside some of its steps; which step a reference is to does not tell them apart."""
    return sorted(
        f"{step.tool} {sorted((name, repr(_texts(value))) for name, value in step.arguments.items())}"
        for k, step in enumerate(plan.steps)
        if k not in left
    )


def _about(plan: Plan, thing: str) -> frozenset[int]:
    """Return the steps that name a thing, and those that use what they find; the one that names it alone, if any."""
    place = _place(plan, thing)
    found = {place} if place >= 0 else set()
    for k, step in enumerate(plan.steps):
        if any(ref.step in found for ref in step.refs()):
            found.add(k)
    return frozenset(found)


def _place(plan: Plan, thing: str) -> int:
    """Return the first step with a value that is just the thing; else with one that holds it; else -1."""
    named = _named(thing)
    exact = (k for k, step in enumerate(plan.steps) if named in _values(step))
    return next(exact, next((k for k, step in enumerate(plan.steps) if _names(step, thing)), -1))


def _names(step: Step, thing: str) -> list[str]:
    """Return the arguments of a step that name a thing."""
    named = _named(thing)
    return [name for name, value in step.arguments.items() if any(named <= _named(text) for text in _texts(value))]


def _looks_for(step: Step, thing: str, tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether a thing is the name of what a step acts on, and no text that it writes."""
    return any(_names_things(step, name, tools) for name in _names(step, thing))


def _names_things(step: Step, name: str, tools: Mapping[str, ToolSpec]) -> bool:
    parameter = tools[step.tool].parameter(name)
    return parameter is not None and parameter.names_a_thing


def _own_words(thing: str, things: Sequence[str]) -> frozenset[str]:
    """Return the words of a thing that are in no other; all where each is."""
    others = frozenset(word for other in things if other != thing for word in _named(other))
    return _named(thing) - others or _named(thing)


def _values(step: Step) -> list[frozenset[str]]:
    return [_named(value) for argument in step.arguments.values() for value in _texts(argument)]


def _texts(argument: Argument) -> list[str]:
    values = argument if isinstance(argument, list) else [argument]
    return [value for value in values if isinstance(value, str)]


def _named(text: str) -> frozenset[str]:
    words = frozenset(text.lower().replace("\u2019", "'").replace("'s", " ").split())
    return words - FUNCTION_WORDS or words
