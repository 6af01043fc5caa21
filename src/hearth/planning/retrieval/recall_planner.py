"""Plans as the nearest demonstrations do, which makes it the planner of a home's first day."""

from __future__ import annotations

import datetime as dt
import functools
import json
import math
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hearth.errors import PlanError
from hearth.formats.plans import check_plan, is_taking_away, only_reads, shifted
from hearth.language.clauses import shared_verbs, with_denials
from hearth.language.reading import Utterance
from hearth.language.thesaurus import words_in_text
from hearth.models.intent_classifier import IntentClassifier
from hearth.models.sentence_encoder import TokenEncoder
from hearth.planning.adaptation import Adapted, names_a_record, words_in
from hearth.planning.arguments.alignment import Token, form_of, tokens_of
from hearth.planning.arguments.binding import Unit
from hearth.planning.arguments.span_boundaries import HeardWords, Manners
from hearth.planning.dialogue.amendments import question_about
from hearth.planning.owner_macros import CONFIDENCE, OWNERS, Conventions
from hearth.planning.repeat_planner import (
    N_NEAR,
    does_the_opposite,
    holds_what_is_gone,
    rarity_of,
    said_again,
)
from hearth.planning.retrieval.episodic_index import Remembered
from hearth.planning.retrieval.plan_assembly import (
    NO_SEQUENCES,
    Acts,
    Option,
    OwnSequences,
    Part,
    Proposal,
    Way,
    acts_of,
    is_done_of_each,
    is_later,
    is_taken_for_one,
    joined,
    left_out,
    rests_on_unserved,
    swallows_a_time,
    takes_time,
)
from hearth.planning.retrieval.voting import Ballot, Offered
from hearth.planning.tool_heads import NOTHING, TALK, HeadPrior, Said
from hearth.protocols import Encoder
from hearth.storage.database import Store
from hearth.types import (
    OWNERS_WORD,
    Argument,
    Context,
    Demonstration,
    Effect,
    Offer,
    Plan,
    Refusal,
    Request,
    Step,
    ToolSpec,
)

if TYPE_CHECKING:
    from hearth.planning.retrieval.taught_sequences import TaughtSequences


# ── Asides ────────────────────────────────────────────────────────────────────────────────────────────────
# Tells a clause that wishes for nothing by itself: a reason ("I smell burning"), or the deed once more ("put it in").
#
# Beside clauses that are served, such a one is not told as left undone. A logistic function of the encoder's vector
# and of the first and last words, trained on clauses of demonstrations whose words no step of the plan takes up,
# against clauses that are wishes, those that nobody serves among them (`training.asides_train`). Left out by turns,
# it finds two of three; of the wishes one in forty is taken for one. Not covered: wishes put as reasons ("I'm cold").

Floats = NDArray[np.float32]
LIKELY = 0.6
"""Least chance at which a clause is an aside: a wish lost without a word is worse than a reason told as undone."""
_N_BUCKETS = 256
_VECTOR_SCALE, _WORDS_SCALE, _LENGTH_SCALE, _MOST_WORDS = 3.0, 0.7, 6.0, 12
_WORD = re.compile(r"\w+|[?!.]")


@functools.cache
def _weights() -> Floats:
    data = json.loads((files("hearth.data") / "asides.json").read_text(encoding="utf-8"))
    return np.array(data["weights"], dtype=np.float32)


def is_aside(clause: str, encoder: Encoder) -> bool:
    """Return whether a clause wishes for nothing by itself."""
    weights = _weights()
    features = features_of([clause], encoder)[0]
    if len(features) != len(weights):  # an encoder that it was not trained on
        return False
    return 1 / (1 + math.exp(-float(features @ weights))) >= LIKELY


def features_of(clauses: list[str], encoder: Encoder) -> Floats:
    """Return what speaks for each clause, shape [clauses, dim + 258]."""
    vectors = encoder.encode(clauses) * _VECTOR_SCALE
    words = np.array([_ends_of(clause) for clause in clauses], dtype=np.float32) * _WORDS_SCALE
    lengths = [[min(len(clause.split()), _MOST_WORDS) / _LENGTH_SCALE, 1.0] for clause in clauses]
    return np.hstack([vectors, words, np.array(lengths)]).astype(np.float32)


def _ends_of(clause: str) -> Floats:
    """Return a sketch of the first two words and the last."""
    words = _WORD.findall(clause.lower())
    found = np.zeros(_N_BUCKETS, dtype=np.float32)
    for key in [*(f"{place}{word}" for place, word in enumerate(words[:2])), f"${words[-1] if words else ''}"]:
        found[zlib.crc32(key.encode()) % _N_BUCKETS] += 1
    return found


# ── Recall planner ────────────────────────────────────────────────────────────────────────────────────────
# Plans by retrieval: the nearest demonstrations vote, and their plan is filled with the new request's values.
#
# Deterministic, on this device, in milliseconds; a demonstration counts as soon as it was added. A request unlike
# anything shown is refused, a missing value is asked for, and a step with an effect needs more certainty than one
# that only reads. Not covered: anything that must be reasoned out rather than remembered, and languages other than
# English.

_LEAST_CONFIDENCE: dict[Effect, float] = {"none": 0.3, "change": 0.5, "send": 0.6}
"""A plan less sure than this is not proposed; the more a step does, the surer it must be.

At .6 for a change, of 900 requests of people of whom nothing was learnt as many are right and ten fewer act wrongly; of
real people's requests thirteen of a thousand fewer are served.
"""
_LEAST_TAKING_AWAY = 0.75
"""Least confidence of a plan after which something is gone, or stands open. At .7, of 900 requests of people of whom
nothing was learnt, five were lost by it, four gained, and ten no longer wrongly done."""
_LEAST_UNSHOWN = 0.5
"""Least confidence of a plan with a tool that nobody showed, unless the request speaks in the tool's own words."""
_OWN_WORDS = 0.3
"""Least likeness to a tool's name, description and examples at which a request speaks in the tool's own words."""
_LEAST_OF_SEVERAL = 0.6
"""Least confidence of each of several things asked for at once, if one of them changes something.

Below it none is done: on the development half of Q2A no such plan of 25 was right.
"""
_SURELY_NOW = 0.6
"""Least confidence that a request without its time means something that is done at once."""
_SURE_OF_EACH = 0.8
"""Least confidence of a plan for each of several things that one verb is said of."""
_SURE_BESIDE = 0.6
"""Least confidence of a plan for what is said beside the owner's own words."""


_LEAST_READING, _LEAST_CHANGING, _MOST_READINGS = 0.02, 0.03, 6
"""Of other readings of a request: least share of what is not refusing, for reading and for changing ones; how many."""
_LEAST_SEQUENCES = 20
"""Least demonstrations of several steps, with a tool that does not ship, for sequences to be ranked."""
_FEW_WORDS = 2
"""Words beside its only act with which a request still is that act: "please"."""
_AT_ANY_TIME = dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC)
"""When a demonstration that names no time is judged: a Monday, at nine."""
_LEAST_ASKING, _LEAST_SOMETHING = 0.2, 0.25
"""Least share of a reading that lacks a value; least chance that anything is asked for, for one that changes
something."""


class RecallPlanner:
    """Plans by retrieval; satisfies `protocols.Planner`. Not thread-safe."""

    name = "recall"

    def __init__(
        self,
        encoder: Encoder,
        store: Store | None = None,
        cache: Path | None = None,
        prior: HeadPrior | None = None,
        classifier: IntentClassifier | None = None,
    ) -> None:
        """Use the demonstrations in `store`.

        Args:
            store: Where demonstrations are kept; None keeps them in memory only.
            cache: Folder for the forms of tool texts; None makes them anew at each start.
            prior: What the heads know before anything is taught; None for what ships.
            classifier: What is said of intents beside it; None for what ships.
        """
        self.remembered = Remembered(encoder, store, prior, classifier)
        self._encoder = encoder
        self._sequences: TaughtSequences | None = None
        self._cache = cache
        self._offered: Offered | None = None
        self._manners = Manners(self.remembered)
        self._usable: tuple[int, NDArray[np.bool_]] | None = None
        self._conventions: tuple[int, Offered, Conventions] | None = None
        self._rarity: Mapping[str, float] | None = None
        self._said_by_owner: tuple[int, frozenset[str]] | None = None

    # ── Memory ────────────────────────────────────────────────────────────────────────────────────────────

    def __len__(self) -> int:
        return len(self.remembered)

    def ids(self, source: str | None = None) -> tuple[str, ...]:
        """Return ids of the demonstrations remembered, or of those from one source (`shipped`, `owner`, …)."""
        return self.remembered.ids(source)

    def add(self, demonstrations: Iterable[Demonstration]) -> None:
        """Add demonstrations; one with a known id replaces the older one. They count from the next request on.

        Raises:
            StoreError: Nothing was remembered.
        """
        self._manners.forget(self.remembered.add(demonstrations))

    def remove(self, *ids: str) -> None:
        """Forget demonstrations completely; unknown ids are ignored."""
        self._manners.forget(self.remembered.remove(ids))

    def refresh(self) -> None:
        """Read what another process taught or forgot meanwhile."""
        self._manners.forget(self.remembered.refresh())

    # ── Judging ───────────────────────────────────────────────────────────────────────────────────────────

    def suppose(self, demonstrations: Iterable[Demonstration], gone: Sequence[str] = ()) -> None:
        """Count demonstrations as taught, and those of some ids as forgotten, in memory alone.

        For a planner that is only judged: what its store holds, and others who plan from it, stay as they are.
        """
        self.remembered.suppose(demonstrations, gone)
        self._manners = Manners(self.remembered)
        self._rarity = None

    def plan_untaught(self, demonstration: Demonstration, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        """Plan the request of a demonstration as if it alone had not been taught.

        Covered: heads, neighbours, repeated requests, the owner's own phrases, how arguments of its tools are said.
        Not covered: what the shipped heads know of a shipped demonstration; counts over the arguments of all tools.
        """
        request = Request(demonstration.request, demonstration.now or _AT_ANY_TIME)
        with self.remembered.leaving_out(demonstration.id) as its_tools, self._manners.counting_anew(its_tools):
            return self.plan(request, Context(), tools)

    # ── Planning ──────────────────────────────────────────────────────────────────────────────────────────

    def plan(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        """Return the plan that demonstrations suggest, or why there is none; an utterance is not read again."""
        said = Utterance.of(request, context)
        if said.unreadable:
            return Refusal("unreadable", said.unreadable, planner=self.name)
        if not tools:
            return Refusal("out_of_scope", "I can't do that: no tools are installed.", planner=self.name)
        self.refresh()
        known = self._meant(said, tools)
        return known if known is not None else self._recalled(said, tools)

    def _recalled(self, said: Utterance, tools: Mapping[str, ToolSpec], *, of_each: bool = True) -> Plan | Refusal:
        """Return the plan that the most similar demonstrations suggest.

        Args:
            of_each: Whether to do with each of several things what one verb says of them.
        """
        offered = self._offers(tools)
        units, ways = self._units(said, (acts_of(said, self.remembered.classifier), Acts(said.acts)))
        if not units[0].tokens:
            return Refusal("unreadable", "The request holds no words; say what you would like done.", planner=self.name)
        forms = self._forms(units)
        near = self._near(said, forms[0])
        again = self._again(said, forms[0], near, tools)
        if again is not None and not again.left and not again.is_exchanged:
            return self._repeated(again)
        if said.forbids:
            return Refusal("out_of_scope", _NOT_TO, planner=OWNERS_WORD if ways[0].is_one else self.name)
        ballot = self._ballot(units, forms, offered)
        tried = [self._act_by_act(ballot, units, way, offered) for way in ways]
        first, *others = (self._telling(one, tried[0].wishes, tools) for one in tried)
        chosen = next((other for other in others if _is_better(other, first)), first)
        answer = self._guarded(chosen, said, near, offered)
        if again is not None and _bears_out(answer, again):
            return self._repeated(again)
        answer = with_denials(answer, said.text) if isinstance(answer, Plan) else answer
        return self._of_each(said, answer, tools) if of_each and isinstance(answer, Plan) else answer

    def _guarded(
        self,
        chosen: _Tried,
        said: Utterance,
        near: Sequence[tuple[Demonstration, NDArray[np.float32]]],
        offered: Offered,
    ) -> Plan | Refusal:
        """Return what was found, unless it is over, the opposite of what was taught, or for a time it cannot have."""
        answer, tools = chosen.answer, offered.tools
        if isinstance(answer, Plan) and (
            holds_what_is_gone(answer, tools, said.slots, said.now) or does_the_opposite(answer, said, near, tools)
        ):
            answer = Refusal("out_of_scope", _UNSURE, planner=self.name)
        if (not chosen.way.is_cut_by_rule or chosen.way.is_one) and (
            (isinstance(answer, Plan) and swallows_a_time(answer, said.slots, tools))
            or self._is_for_now_only(answer, said, offered)
        ):
            answer = Refusal("out_of_scope", _NOT_LATER, planner=self.name)
        return answer

    def _of_each(self, said: Utterance, answer: Plan, tools: Mapping[str, ToolSpec]) -> Plan:
        """Return the plan for each of several things that one verb is said of, where `answer` leaves one out or takes
        them for one; where there is no sure one, the answer, which tells what it leaves out."""
        for things in [row.things for row in shared_verbs(said.text, said.tokens, said.acts, said.mentions)]:
            rows = shared_verbs(said.text, said.tokens, said.acts, said.mentions)
            shared = next((row for row in rows if row.things == things), None)
            left = left_out(answer, things)
            if shared is None or not (left or is_taken_for_one(answer, shared, tools)):
                continue
            spelt = said.saying(shared.text)
            each = self._recalled(spelt, tools, of_each=False)
            least = min(_SURE_OF_EACH, answer.confidence)
            if is_done_of_each(each, shared, answer, tools) and each.confidence >= least:
                said, answer = spelt, replace(each, unserved=answer.unserved)
            else:
                untold = [thing for thing in left if not any(thing in told for told in answer.unserved)]
                answer = replace(answer, unserved=(*answer.unserved, *untold))
        return answer

    def _act_by_act(self, ballot: Ballot, units: Sequence[Unit], way: Way, offered: Offered) -> _Tried:
        """Return what is to be done for a request that is cut in one way."""
        sequences = self._own_sequences(ballot.said.of(way.rows), offered)
        proposal = Proposal(ballot, units, way, offered, self._manners, sequences)
        parts = proposal.parts()
        if not way.is_cut_by_rule and _is_done_too_early(parts, offered):
            return _Tried(Refusal("out_of_scope", _NOT_LATER, planner=self.name), frozenset(), way, is_final=True)
        answer = self._answered(parts, offered)
        if isinstance(answer, Refusal) and len(parts) > 1 and _is_sure_of_all(whole := proposal.whole(), parts):
            parts = [whole]
            answer = self._answered(parts, offered)
        done = (part for part, is_done in zip(parts, _served(parts, offered)) if is_done)
        return _Tried(answer, frozenset().union(*(part.read for part in done)), way, tuple(proposal.wishes))

    def _telling(self, tried: _Tried, wishes: Sequence[Part], tools: Mapping[str, ToolSpec]) -> _Tried:
        """Return what a request comes to with what that leaves undone: acts of whose words it uses none. One that names
        nothing itself ("bin it") is not told where the plan has its tool, or does more than the acts it uses words of.
        """
        answer = tried.answer
        if not isinstance(answer, Plan):
            return tried
        doing = {step.tool for step in answer.steps}
        n_deeds = sum(tools[tool].effect != "none" for tool in doing)
        if n_deeds > max(sum(bool(part.words & tried.read) for part in wishes), 1):
            return tried
        left = [
            part.text
            for part in wishes
            if not part.words & tried.read
            and not (part.steps and not part.read and doing.issuperset(step.tool for step in part.steps))
            and not any(part.text in told or _is_most_of(told, part.text) for told in answer.unserved)
            and not is_aside(part.text, self._encoder)
        ]
        return replace(tried, answer=replace(answer, unserved=(*answer.unserved, *dict.fromkeys(left))))

    def _is_for_now_only(self, answer: Plan | Refusal, said: Utterance, offered: Offered) -> bool:
        """Return whether, without its time, the request more surely means something else, which no time can be given.

        "Turn the heating on at six" reads like something to write down, or like nothing; without "at six" it is the
        heating.
        """
        times = [slot for slot in said.times if is_later(slot)]
        if len(times) != 1 or (isinstance(answer, Refusal) and answer.kind != "out_of_scope"):
            return False
        planned = answer.steps if isinstance(answer, Plan) else ()
        if isinstance(answer, Plan) and only_reads(answer, offered.tools):
            return False
        if {"time", "duration"} <= times[0].views.keys() and any(step.arguments.get("end") for step in planned):
            return False  # what lasts from nine to ten is an event
        rest = said.saying(said.text[: times[0].cue_start] + said.text[times[0].end :])
        part = self._of_whole(replace(rest, context=Context()), offered).parts()[0]
        tools = [offered.tools[step.tool] for step in part.steps]
        is_other = not {spec.name for spec in tools} & {step.tool for step in planned}
        changes = any(spec.effect != "none" for spec in tools)
        is_surer = part.confidence >= max(_SURELY_NOW, answer.confidence if isinstance(answer, Plan) else 0.0)
        return is_surer and is_other and changes and not any(map(takes_time, tools))

    def options(self, said: Utterance, tools: Mapping[str, ToolSpec]) -> list[Option]:
        """Return ways to serve the whole request as one thing, best first, with what was read of each.

        This is what the weights of the readings are fitted on.
        """
        return self._of_whole(said, self._offers(tools)).ranked(0)

    def guesses(self, said: Utterance, tools: Mapping[str, ToolSpec]) -> dict[tuple[str, ...], float]:
        """Return the tools of each way to serve the whole request as one thing, likeliest first, with its chance; ()
        is that nothing serves it: not told of several acts, which as one thing are mostly nothing."""
        if said.unreadable or not tools:
            return {}
        self.refresh()
        options = self.options(said, tools)
        weights = [math.exp(option.score - options[0].score) for option in options]
        chances: dict[tuple[str, ...], float] = {}
        for option, weight in zip(options, weights):
            names = tuple(step.tool for step in option.bound.steps)
            if names or len(said.acts) < 2:
                chances[names] = chances.get(names, 0.0) + weight / sum(weights)
        return dict(sorted(chances.items(), key=lambda one: -one[1]))

    def nothing_meant(self, said: Utterance) -> float:
        """Return how much a request is one that no tool serves, such as a question about the world; about 0 to 1."""
        units, _ = self._units(said, ())
        scores = self.remembered.heads().scores(self._as_said(units, self._forms(units)))[0]
        return max(scores.get(NOTHING, 0.0), scores.get(TALK, 0.0))

    def readings(self, said: Utterance, tools: Mapping[str, ToolSpec], found: Plan | Refusal) -> list[Plan | Refusal]:
        """Return other plans than `found` for the whole request as one thing, likeliest first, that are not sure enough
        by themselves: whoever takes one has to know more. None of them sends. One that ends as `found` does and lacks a
        value is the question for it."""
        if said.unreadable or not tools:
            return []
        tried = [step.tool for step in found.steps] if isinstance(found, Plan) else []
        options = self.options(said, tools)
        weights = [math.exp(option.score - options[0].score) for option in options]
        n_something = sum(weight for option, weight in zip(options, weights) if not option.is_nothing)
        readings: list[Plan | Refusal] = []
        for option, weight in zip(options, weights):
            steps = tuple(option.bound.steps)
            if not steps or [step.tool for step in steps] == tried:
                continue
            if missing := option.bound.missing:
                if tried and steps[-1].tool == tried[-1] and weight >= _LEAST_ASKING * n_something:
                    readings.append(
                        Refusal("needs", question_about(missing, tools), _names_of(missing), planner=self.name)
                    )
                continue
            effects = {tools[tool].effect for tool in option.tools}
            if not _is_likely_enough(option, effects, weight, n_something, sum(weights)):
                continue
            try:
                plan = Plan(steps, round(weight / sum(weights), 4), self.name, option.candidate.rests_on)
                readings.append(check_plan(plan, tools))
            except PlanError:
                continue
        return readings[:_MOST_READINGS]

    def _units(self, said: Utterance, cuts: Sequence[Acts]) -> tuple[list[Unit], list[Way]]:
        """Return the whole request, then its acts, and each way to cut it that differs."""
        text, slots = said.text, said.slots
        heard = HeardWords(self._encoder, text) if isinstance(self._encoder, TokenEncoder) else None
        units = [Unit(text, tokens_of(text, slots), self._manners, heard)]
        places: dict[tuple[int, int], int] = {}
        ways: dict[tuple[int, ...], Way] = {}
        for acts in cuts:
            pieces = {(act.start, act.end): tokens_of(text, slots, act.start, act.end) for act in acts.pieces}
            alone: Sequence[Token] = next(iter(pieces.values()), ())
            if len(pieces) < 2 and _n_words(alone) >= _n_words(units[0].tokens) - _FEW_WORDS:
                pieces = {}
            for span, tokens in pieces.items():
                if span not in places:
                    places[span] = len(units)
                    units.append(Unit(text, tokens, self._manners, heard))
            rows = (0, *(places[span] for span in pieces))
            asides = frozenset(rows[place + 1] for place in acts.asides if pieces)
            wishes = frozenset(rows[place + 1] for place in acts.wishes if pieces)
            ways.setdefault(rows, Way(rows, asides, wishes, is_cut_by_rule=len(said.acts) > 1))
        return units, list(ways.values())

    def _forms(self, units: Sequence[Unit]) -> NDArray[np.float32]:
        """Return the form of each unit of a request."""
        return self.remembered.likeness.of_requests([one.text for one in units], [one.tokens for one in units])

    def _ballot(self, units: Sequence[Unit], forms: NDArray[np.float32], offered: Offered) -> Ballot:
        said = self._as_said(units, forms)
        return Ballot(self.remembered, offered, self._usable_rows(offered), forms, said)

    def _of_whole(self, said: Utterance, offered: Offered) -> Proposal:
        """Return the proposal for a request as one thing."""
        units, _ = self._units(said, ())
        ballot = self._ballot(units, self._forms(units), offered)
        return Proposal(ballot, units, Way((0,)), offered, self._manners, self._own_sequences(ballot.said, offered))

    def _as_said(self, units: Sequence[Unit], forms: NDArray[np.float32]) -> Said:
        vectors = self.remembered.likeness.vectors_in(forms)
        return Said([form_of(one.text, one.tokens) for one in units], vectors, [one.words for one in units])

    def _own_sequences(self, said: Said, offered: Offered) -> OwnSequences:
        """Return the likely sequences of tools that this home alone was taught, where enough of that are sequences."""
        own = self.remembered.of_own_tools()
        if sum(len(row.tools) > 1 for row in own.values()) < _LEAST_SEQUENCES:
            self._sequences = None
            return NO_SEQUENCES
        if self._sequences is None:
            from hearth.planning.retrieval.taught_sequences import TaughtSequences  # the ranker; most homes need none

            self._sequences = TaughtSequences(self.remembered, self._encoder)
        return self._sequences.ranked(said.vectors, said.words, offered.tools)

    def _near(self, said: Utterance, form: NDArray[np.float32]) -> list[tuple[Demonstration, NDArray[np.float32]]]:
        """Return the owner's demonstrations near a request; none for one about a record of the last answer."""
        return [] if said.records else self.remembered.near(said.text, form, OWNERS, N_NEAR)

    def _again(
        self,
        said: Utterance,
        form: NDArray[np.float32],
        near: Sequence[tuple[Demonstration, NDArray[np.float32]]],
        tools: Mapping[str, ToolSpec],
    ) -> Adapted | None:
        """Return what the owner was given for this request before."""
        if not near:
            return None
        if self._rarity is None:
            self._rarity = rarity_of(self.remembered.requests_beside(OWNERS))
        return said_again(said, form, near, self._rarity, tools)

    def _repeated(self, again: Adapted) -> Plan | Refusal:
        if again.plan.steps:
            return replace(again.plan, planner=self.name, ignored=())
        return Refusal("out_of_scope", _CANNOT, planner=OWNERS_WORD)

    def _meant(self, said: Utterance, tools: Mapping[str, ToolSpec]) -> Plan | None:
        """Return the plan that the owner taught for these words, with what else is asked for beside them."""
        phrases = self._own_words(tools)
        found = phrases.meant(said)
        if found is not None and self.remembered.is_left_out(found.id):
            found = self._read_own_words(tools, phrases).meant(said)
        if found is None or any(names_a_record(step, tools) for step in found.plan.steps):
            return None  # the record of that day: "cancel the second one" means another today
        steps = tuple(replace(step, text=step.text or said.text) for step in found.plan.steps)
        plan = Plan(steps, confidence=CONFIDENCE, planner=self.name, rests_on=(found.id,))
        for text, is_before in ((found.before, True), (found.after, False)):
            other = self._beside(text, said, tools)
            if other is not None:
                plan = _one_after_another(other, plan) if is_before else _one_after_another(plan, other)
        if found.is_asked and len(plan.steps) == len(steps):
            return None  # what is asked for beside the phrase is not understood
        try:
            return check_plan(plan, tools)
        except PlanError:  # its tools are missing, or no longer the same
            return None

    def _beside(self, text: str, said: Utterance, tools: Mapping[str, ToolSpec]) -> Plan | None:
        """Plan what is said beside the owner's own words; None when no sure plan is found."""
        if not re.search(r"\w", text):
            return None
        answer = self._recalled(said.saying(text.strip(" ,;.")), tools)
        is_sure = isinstance(answer, Plan) and not answer.unserved and answer.confidence >= _SURE_BESIDE
        return answer if isinstance(answer, Plan) and is_sure else None

    # ── What is derived from memory ───────────────────────────────────────────────────────────────────────

    def _offers(self, tools: Mapping[str, ToolSpec]) -> Offered:
        if self._offered is None or not self._offered.is_of(tools):
            self._offered = Offered(self.remembered.likeness, tools, self._cache, self.remembered.fingerprint)
            self._usable = None
        return self._offered

    def _own_words(self, tools: Mapping[str, ToolSpec]) -> Conventions:
        offered = self._offers(tools)
        known = self._conventions
        if known is None or known[0] != self.remembered.n_changes or known[1] is not offered:
            before = known[2] if known is not None and known[1] is offered else None
            phrases = self._read_own_words(tools, before)
            known = self._conventions = (self.remembered.n_changes, offered, phrases)
        return known[2]

    def _read_own_words(self, tools: Mapping[str, ToolSpec], before: Conventions | None) -> Conventions:
        own = self.remembered.taught(OWNERS) if self._has_own() else []
        others = self.remembered.requests_beside(OWNERS) if own else []
        return Conventions(own, others, tools, before)

    def taught_words(self) -> frozenset[str]:
        """Return the words of what the owner taught, in lower case: no slips of the hand."""
        known = self._said_by_owner
        if known is None or known[0] != self.remembered.n_changes:
            own = self.remembered.taught(OWNERS) if self._has_own() else []
            words = frozenset(word for one in own for word in words_in_text(one.request))
            known = self._said_by_owner = (self.remembered.n_changes, words)
        return known[1]

    def _has_own(self) -> bool:
        return any(self.remembered.ids(source) for source in OWNERS)

    def _usable_rows(self, offered: Offered) -> NDArray[np.bool_]:
        """Return the rows whose every tool is on offer."""
        if self._usable is None or self._usable[0] != self.remembered.n_changes:
            rows, known = self.remembered.rows, offered.place
            is_known = {tools: known.keys() >= {*tools} for tools in {row.tools for row in rows}}
            usable = np.array([is_known[row.tools] for row in rows], dtype=np.bool_)
            self._usable = (self.remembered.n_changes, usable)
        return self._usable[1]

    def _is_owners_no(self, part: Part) -> bool:
        """Return whether the owner taught that nothing is to be done about these very words."""
        return part.is_nothing and any(self.remembered.source_of(id) == "owner" for id in part.rests_on[:1])

    # ── The answer ────────────────────────────────────────────────────────────────────────────────────────

    def _answered(self, parts: Sequence[Part], offered: Offered) -> Plan | Refusal:
        """Return a plan of the parts that can be served; a question or a refusal when none can."""
        served = _served(parts, offered)
        done = [part for part, is_done in zip(parts, served) if is_done]
        left = [part for part, is_done in zip(parts, served) if not is_done]
        offer = next((found for part in left if (found := _offer(part, offered))), None)
        if not done:
            reason = _CANNOT if all(part.is_nothing for part in parts) else _UNSURE
            by = OWNERS_WORD if all(map(self._is_owners_no, parts)) else self.name
            return Refusal("out_of_scope", reason, offer=offer, planner=by)
        if len(parts) > 1 and is_shaky(done, offered.tools):
            return Refusal("out_of_scope", _UNSURE, offer=offer, planner=self.name)
        missing = [one for part in done for one in part.missing]
        if missing:
            return Refusal("needs", question_about(missing, offered.tools), _names_of(missing), planner=self.name)
        plan = Plan(
            joined(parts, served, offered.tools),
            confidence=round(min(part.confidence for part in done), 4),
            planner=self.name,
            rests_on=tuple(dict.fromkeys(id for part in done for id in part.rests_on)),
            unserved=(*(part.text for part in left if not self._is_aside(part)), *self._left_out(done, offered)),
            ignored=tuple(
                dict.fromkeys(words for part in done if _only_looks_up(part, offered) for words in part.unread)
            ),
            offer=offer,
        )
        try:
            return check_plan(plan, offered.tools)
        except PlanError:  # a remembered plan that no longer fits the tools
            return Refusal("out_of_scope", _UNSURE, offer=offer, planner=self.name)

    def _is_aside(self, part: Part) -> bool:
        """Return whether a part that nothing serves wishes for nothing by itself: it is not told as left undone."""
        return part.is_nothing and is_aside(part.text, self._encoder)

    def _left_out(self, parts: Sequence[Part], offered: Offered) -> list[str]:
        """Return the times that were said of a change and found no place in it: they are told, not dropped."""
        changing = (p for p in parts if any(offered.tools[step.tool].effect != "none" for step in p.steps))
        return [time for part in changing for time in part.unread_times]


@dataclass(frozen=True, slots=True)
class _Tried:
    """What a request comes to when it is cut in one way."""

    answer: Plan | Refusal
    read: frozenset[int]
    """Where the words begin that go into what is done."""
    way: Way
    wishes: tuple[Part, ...] = ()
    """What each act that surely wishes something comes to by itself, whatever is done."""
    is_final: bool = False
    """Whether no other way to cut the request changes that."""


def _is_better(other: _Tried, first: _Tried) -> bool:
    """Return whether another way to cut a request comes to more: not where it only leaves out what this one reads, and
    surely where this one does so."""
    if first.is_final:
        return False
    plans = [one.answer for one in (first, other) if isinstance(one.answer, Plan) and not one.answer.unserved]
    if len(plans) == 2 and other.read < first.read:
        return False
    if len(plans) == 2 and first.read < other.read:
        return plans[1].confidence >= _SURE_OF_WHOLE
    return _worth(other.answer) > _worth(first.answer)


def _worth(answer: Plan | Refusal) -> tuple[int, int, float]:
    """Return what to compare two answers to one request by: what is done, what is left undone, how sure it is."""
    if isinstance(answer, Plan):
        return 2, -len(answer.unserved), answer.confidence
    return int(answer.kind == "needs"), 0, 0.0


def _is_most_of(told: str, text: str) -> bool:
    return told in text and 2 * len(told) > len(text)


def _n_words(tokens: Sequence[Token]) -> int:
    return sum(token.word[0].isalnum() or token.word[0] == "<" for token in tokens)


def as_typed(answer: Plan | Refusal, said: Utterance, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
    """Return a plan that keeps what the owner typed: mended words stay only in look-ups, and where they are a name."""
    if isinstance(answer, Refusal) or not said.mended.typed:
        return answer

    def typed(value: Argument) -> Argument:
        if isinstance(value, list):
            return [typed(one) for one in value]
        return said.as_typed(value) if isinstance(value, str) else value

    def kept(step: Step) -> Step:
        if tools[step.tool].effect == "none":
            return step
        return replace(step, arguments={name: typed(value) for name, value in step.arguments.items()})

    unserved, ignored = (tuple(map(said.as_typed, told)) for told in (answer.unserved, answer.ignored))
    return replace(answer, steps=tuple(map(kept, answer.steps)), unserved=unserved, ignored=ignored)


def _one_after_another(first: Plan, second: Plan) -> Plan:
    """Join both plans into one, as sure as the less sure of them."""
    steps = (*first.steps, *shifted(second.steps, len(first.steps)))
    rests_on = tuple(dict.fromkeys((*first.rests_on, *second.rests_on)))
    return replace(first, steps=steps, rests_on=rests_on, confidence=min(first.confidence, second.confidence))


def _bears_out(answer: Plan | Refusal, again: Adapted) -> bool:
    """Return whether the answer found for a request supports the plan of a request like it.

    It does if the same is to be done, or if nothing was found and only values differ.
    """
    if isinstance(answer, Plan):
        is_alike = sorted(step.tool for step in answer.steps) == sorted(step.tool for step in again.plan.steps)
        return is_alike and not again.left & words_in(answer)  # "the hall light": the old plan has no hall
    return not again.left and answer.planner != OWNERS_WORD and answer.kind != "needs"


def _only_looks_up(part: Part, offered: Offered) -> bool:
    return all(offered.tools[step.tool].effect == "none" for step in part.steps)


def _served(parts: Sequence[Part], offered: Offered) -> list[bool]:
    """Return of each part whether it can be done, and so can what it rests on."""
    served: list[bool] = []
    for number, part in enumerate(parts):
        served.append(_is_served(part, offered) and not rests_on_unserved(parts, [*served, True], number))
    return served


def _is_done_too_early(parts: Sequence[Part], offered: Offered) -> bool:
    """Return whether a part is done at once, and one that cannot be done says a later time: it may be meant for both,
    "the kitchen light on and then we cook, at six"."""
    served = _served(parts, offered)
    at_once = (part for part, is_done in zip(parts, served) if is_done and not _is_timed(part, offered))
    is_said_later = any(part.says_later for part, is_done in zip(parts, served) if not is_done)
    return is_said_later and any(offered.tools[step.tool].effect != "none" for part in at_once for step in part.steps)


def _is_timed(part: Part, offered: Offered) -> bool:
    return any(takes_time(offered.tools[step.tool]) for step in part.steps)


def _is_served(part: Part, offered: Offered) -> bool:
    if part.is_nothing:
        return False
    least = max(_least_confidence(step, offered.tools) for step in part.steps)
    is_shown = part.described >= _OWN_WORDS or any(not id.startswith("tool:") for id in part.rests_on)
    return part.confidence >= (least if is_shown else max(least, _LEAST_UNSHOWN))


def _least_confidence(step: Step, tools: Mapping[str, ToolSpec]) -> float:
    least = _LEAST_CONFIDENCE[tools[step.tool].effect]
    return max(least, _LEAST_TAKING_AWAY) if is_taking_away(step, tools) else least


def _is_sure_of_all(whole: Part, by_clause: Sequence[Part]) -> bool:
    """Return whether a plan for the whole request is sure, and leaves out nothing that a clause alone could do."""
    if whole.confidence < _SURE_OF_WHOLE or not whole.steps or whole.missing:
        return False
    return all(part.read <= whole.read for part in by_clause if part.steps and not part.missing)


def is_shaky(parts: Sequence[Part], tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether one of several things asked for is not sure enough for a plan that changes something.

    If one part of a long request is misread, the others mostly are, too.
    """
    changes = any(tools[step.tool].effect != "none" for part in parts for step in part.steps)
    return changes and min(part.confidence for part in parts) < _LEAST_OF_SEVERAL


_SMALL_TALK = "reply_to"
_ABILITIES = "list_abilities"
_CANNOT = "I can't do that yet."
_NOT_TO = "You asked me not to, so I did nothing. If something else is to be done, say it by itself."
_NOT_LATER = "I can do that only at once, not at a time you name. Say it again then, or ask me to remind you of it."
_SURE_OF_WHOLE = 0.9
"""Confidence of a plan for the whole request that is taken where its clauses one by one come to nothing."""
_UNSURE = "I'm not sure what you mean, so I did nothing."


def _is_likely_enough(option: Option, effects: Set[str], weight: float, n_something: float, n_all: float) -> bool:
    """Return whether a reading that is not sure may be offered: a change needs more, and nothing is sent."""
    is_changing = not effects <= {"none"}
    least = _LEAST_CHANGING if is_changing else _LEAST_READING
    if "send" in effects or weight < least * n_something:
        return False
    return not is_changing or not (n_something < _LEAST_SOMETHING * n_all or option.n_unread)


def _names_of(missing: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{tool}.{name}" for tool, name in missing))


def _offer(part: Part, offered: Offered) -> Offer | None:
    """Return the nearest thing that can be done, in words to the owner: nothing is done by them."""
    spec = offered.tools.get(part.nearest)
    is_told = spec is not None and spec.description and spec.effect != "send" and spec.name != _SMALL_TALK
    if spec is None or not is_told:
        return Offer(_ABILITIES, "Ask “what can you do?” to see what I can.") if _ABILITIES in offered.tools else None
    example = f", as in “{spec.examples[0]}”" if spec.examples else ""
    return Offer(spec.name, f"The nearest thing I can do: {words_of(spec.description)}{example}.")


def words_of(description: str) -> str:
    """Turn the first sentence of a tool's description into words to the owner, without its dot."""
    said = re.split(r"\.(?:\s+(?=[^\sa-z])|$)", " ".join(description.split()))[0]  # "e.g. a lamp" ends none
    if "the owner" in said:
        said = re.sub(r"\bhis\b", "your", re.sub(r"\bhimself\b", "yourself", said))
    said = re.sub(r"\bthe owner has\b", "you have", said)
    said = re.sub(r"\bthe owner( is\b)?(?!')", lambda m: "you are" if m[1] else "you", said)
    said = re.sub(r"\bthe owner's\b", "your", said)
    return said[:1].lower() + said[1:]
