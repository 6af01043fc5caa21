"""Plans requests that use an owner's own words: "goodnight" means the lamp, the door and seventeen degrees once taught.

`planning.adaptation.macro_phrases` finds these words. A request that says such a phrase, and little beside it, gets
the newest plan of its time: moments are counted from now and, where the plan writes something, it writes what this
request says ("tell the band that …"). What else is asked for beside it is handed back, to be planned otherwise.

Covered: one or several words, typing errors, meanings that change (the newest holds), texts, days and parts of the
day read anew, things added to a list, other business before or after the phrase.
Not covered: exceptions ("goodnight, but leave the lamp"), moments that a request says itself.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from hearth.language.reading import Utterance
from hearth.planning.adaptation.macro_meanings import effect_of_step, kept_steps, of_part_of_day, sending, with_more
from hearth.planning.adaptation.macro_phrases import Gram, Held, Phrases, opens, place_of, sentence_start
from hearth.planning.adaptation.templates import SENDS, SMALL, Word, filled, words_at, words_of, written_in
from hearth.types import Demonstration, Plan, ToolSpec

OWNERS = ("owner", "success")
"""Sources of demonstrations that are in the owner's own words."""
CONFIDENCE = 0.9
"""Confidence of a plan whose phrase stood for nothing else; calibrated on the development half of Q2A."""
_MOST_BESIDE = 5
"""Most content words beside the phrase; with more, the request asks for something else, too."""
_MOST_IN_PART = 1
"""The same limit within one part of a request that asks for more."""
_MOST_BEFORE = 2
"""The same limit before a phrase that opens a text, in its sentence."""
_EXCEPT = frozenset(
    re.findall(
        r"[\w']+",
        "but except without not no don't dont leave keep only instead cancel stop what when who why how include mean "
        "means",
    )
)
"""Words that, beside the phrase, add a condition to it or ask about it."""
_ASKS = frozenset(re.findall(r"\w+", "did does has have had is are was were will would can could should which whose"))
"""Words that, before a phrase that opens a text, ask about it."""
_ELSEWHERE = frozenset(re.findall(r"\w+", "attach attached attachment attaching below forward forwarded fwd"))
"""Words that show that a text is about something that comes with it."""
_BEFORE_CLAUSES = frozenset(re.findall(r"\w+", "and then also plus please pls you to now so ok can could"))
_IS = frozenset(("is", "are", "mean", "shall", "include"))
_CARRIES = frozenset(("do", "run", "give", "start"))
"""Words that, before a phrase, ask for it."""
_THIS_DAY = frozenset(("today", "tonight", "this", "now", "morning", "afternoon", "evening", "night", "the"))
_JOINT = re.compile(r"[.!?;:]+\s+|\n+|,?\s+(?:and then|and|then|plus|also|with)\s+|\s*[,+]\s*", re.IGNORECASE)
"""Matches what stands between one thing that is asked for and another."""


@dataclass(frozen=True, slots=True)
class Meant:
    """Meaning of a request that uses a macro."""

    plan: Plan
    id: str
    """Id of the demonstration it rests on."""
    before: str = ""
    after: str = ""
    """Text beside the phrase, to be planned otherwise; it is small talk when no plan can be made of it."""
    is_asked: bool = False
    """True when the text beside the phrase surely asks for something."""


@dataclass(frozen=True, slots=True)
class _Request:
    """A request with a phrase in it."""

    text: str
    words: Sequence[Word]
    now: dt.datetime | None
    is_part: bool = False
    """True when it is only a part of what was said."""
    is_rest: bool = False
    """True when nothing more is said after it."""
    gram: Gram = ()
    phrase: Sequence[Word] = ()

    @property
    def start(self) -> int:
        return self.phrase[0].start

    @property
    def end(self) -> int:
        return self.phrase[-1].end

    def is_explained(self) -> bool:
        """Return whether it says what the phrase is to mean ("the basics are …")."""
        after = next((word.stem for word in self.words if word.start >= self.end), "")
        return after in _IS and not self.phrase[-1].is_last

    def own_words(self) -> set[str]:
        return {*self.gram, *(word.stem for word in self.phrase)}


class Conventions:
    """The macros among some demonstrations, oldest first; built anew when these change."""

    def __init__(
        self,
        own: Sequence[Demonstration],
        others: Sequence[str],
        tools: Mapping[str, ToolSpec] | None = None,
        before: Conventions | None = None,
    ) -> None:
        """Find the macros of the owner.

        Args:
            own: Demonstrations of the owner, oldest first.
            others: Requests of everybody else's demonstrations: a phrase they use is no macro.
            tools: Tools on offer; without them it is not known what plans write.
            before: The macros of an earlier time, with the same tools: building on them takes a fraction of the time.
        """
        self._tools = tools or {}
        self._phrases: Phrases = Phrases(own, others, self._tools, before._phrases if before is not None else None)

    def __len__(self) -> int:
        return len(self._phrases.held)

    def meant(self, said: Utterance) -> Meant | None:
        """Return the meaning of a request; None when it uses no macro. Of what was taught after it, only what nothing
        older stands for counts."""
        if not self._phrases.found:
            return None
        text = said.text
        whole = self._best(_Request(text, words_at(text), said.now), said)
        if whole is not None:
            return whole
        words = words_at(text)
        stems = [word.stem for word in words]
        if _EXCEPT & set(stems):
            return None
        places = [(k, len(gram)) for gram in self._phrases.found if (k := place_of(gram, stems)) is not None]
        for place, n in sorted(places, key=lambda one: (-one[1], one[0])):
            start, end = _part(text, words[place].start, words[place + n - 1].end)
            for stop in (end, len(text)):  # the text to write may have joints of its own
                part = text[start:stop]
                if (start, stop) == (0, len(text)):
                    continue
                is_rest = stop == len(text)
                inner = self._best(_Request(part, words_at(part), said.now, is_part=True, is_rest=is_rest), said)
                if inner is not None:
                    is_asked = self._asks(said, 0, start) or self._asks(said, stop, len(text))
                    return replace(inner, before=text[:start], after=text[stop:], is_asked=is_asked)
        return None

    def _asks(self, said: Utterance, start: int, end: int) -> bool:
        """Return whether what stands beside a phrase asks for something."""
        words = words_at(said.text[start:end])
        begins = (k == 0 or words[k - 1].stem in _BEFORE_CLAUSES or words[k - 1].is_last for k in range(len(words)))
        is_command = any(
            is_first and word.stem in self._phrases.commands for is_first, word in zip(begins, words, strict=True)
        )
        has_value = any(start <= slot.start and slot.end <= end and slot.kind != "person" for slot in said.slots)
        return is_command or has_value

    def _best(self, request: _Request, whole: Utterance) -> Meant | None:
        """Return the meaning of the longest, best known phrase in a request, or in a part of the `whole`."""
        stems = [word.stem for word in request.words]
        best: tuple[tuple[int, int], Meant] | None = None
        for gram, found in self._phrases.found.items():
            place = place_of(gram, stems)
            rank = (len(gram), len(found))
            if place is None or (best is not None and rank <= best[0]):
                continue
            here = replace(request, gram=gram, phrase=request.words[place : place + len(gram)])
            answer = self._meaning(here, found, whole)
            if answer is not None:
                best = (rank, answer)
        return best[1] if best is not None else None

    def _meaning(self, request: _Request, found: Sequence[Held], whole: Utterance) -> Meant | None:
        """Return the meaning of one phrase in a request, as it was at its time."""
        known = [one for one in found if not one.is_once]
        then = [one for one in known if one.is_of(request.now)] or known[:1]
        if not then or request.is_explained():
            return None
        if any(one.template.has_moments for one in then) and _says_when(request, whole):
            return None
        writing = [one for one in then if one.template.content is not None]
        if writing:
            return self._writing(request, writing) if not request.is_part or request.is_rest else None
        return self._doing(request, then)

    def _doing(self, request: _Request, found: Sequence[Held]) -> Meant | None:
        """Return the newest plan, when little is said beside the phrase."""
        words, phrase = request.words, request.phrase
        beside = [word.stem for word in words if word not in phrase and word.stem not in SMALL]
        if _EXCEPT & {word.stem for word in words}:
            return None
        known = {word for one in found for word in one.template.stems}
        new = [word for word in beside if word not in known and not word.endswith("ly")]  # "quickly" changes nothing
        most = _MOST_IN_PART if request.is_part else _MOST_BESIDE
        if any(word.isdigit() for word in new) or len(new) > most or self._commanded(request, words, known):
            return None  # "remind me of …" asks for something else, whatever stands in it
        if self._is_for_other_things(request, new):
            return None
        everywhere = self._phrases.found[request.gram]
        newest = found[-1]
        steps = kept_steps(newest, found, request.own_words(), is_later=not newest.is_of(request.now))
        plan = of_part_of_day(filled(newest.template, steps, request.now, ""), everywhere, beside, request.now)
        whole = with_more(plan, everywhere, request.text, phrase)
        return Meant(whole, newest.template.id) if whole is not None else None

    def _is_for_other_things(self, request: _Request, new: Collection[str]) -> bool:
        """Return whether everybody's words are said of a new thing: "open up the shed" of who opens up the workshop."""
        is_common = request.gram in self._phrases.spoken and len(self._phrases.found[request.gram]) == 1
        if not is_common or request.phrase[-1].is_last:
            return False
        after = [word for word in request.words if word.start >= request.end and word.stem not in SMALL]
        return bool(after) and after[0].stem in new

    def _commanded(self, request: _Request, words: Sequence[Word], known: Collection[str]) -> bool:
        """Return whether a clause beside the phrase begins as requests do; "give me the evening look" is part of it."""
        for k, word in enumerate(words):
            is_first = k == 0 or words[k - 1].stem in _BEFORE_CLAUSES or words[k - 1].is_last
            if not is_first or word.stem not in self._phrases.commands or word in request.phrase or word.stem in known:
                continue
            between = [one for one in words if word.end <= one.start and one.end <= request.start]
            is_before = word.start <= request.start
            if word.stem not in _CARRIES or not is_before or any(one.stem not in SMALL for one in between):
                return True
        return False

    def _writing(self, request: _Request, found: Sequence[Held]) -> Meant | None:
        """Return the newest plan with the text of this request, when the phrase opens it."""
        words, gram = request.words, request.gram
        written = written_in(request.text, request.end)
        inside = words_of(written)
        if not inside or _ELSEWHERE & set(inside) or place_of(gram, inside) is not None:
            return None
        if not any(_reads(one, gram) for one in found) or self._asks_before(request, found):
            return None
        is_opened = (
            request.text[request.end :].lstrip().startswith(":") or request.words[0].stem in self._phrases.commands
        )
        if request.is_part and (request.phrase[0] is not request.words[0] or not is_opened):
            return None  # "dump it in the thesis note"
        outside = {word.stem for word in words if word.start < request.end or word.stem not in inside}
        newest, is_sent = sending(found, bool(SENDS & outside), self._tools)
        steps = kept_steps(newest, found, request.own_words(), is_later=not newest.is_of(request.now))
        if not is_sent:
            steps = [k for k in steps if effect_of_step(newest, k, self._tools) != "send"]
        return Meant(filled(newest.template, steps, request.now, written), newest.template.id)

    def _asks_before(self, request: _Request, found: Sequence[Held]) -> bool:
        """Return whether what stands before a phrase that opens a text asks for something else, or about it."""
        sentence = sentence_start(request.text, request.start)
        known = {word for one in found for word in one.words()} | SMALL
        before = [word for word in request.words if word.end <= request.start]
        near = [word.stem for word in before if sentence <= word.start and word.stem not in known]
        if (_EXCEPT | _ASKS) & set(near) or len(near) > _MOST_BEFORE or (near and opens(request.gram, found)):
            return True
        return self._commanded(request, before, known)


def _part(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the part of a request between two joints that contains `[start:end]`."""
    joints = list(_JOINT.finditer(text))
    first = max((joint.end() for joint in joints if joint.end() <= start), default=0)
    last = min((joint.start() for joint in joints if joint.start() >= end), default=len(text))
    return first, last


def _says_when(request: _Request, whole: Utterance) -> bool:
    """Return whether the whole request says a time beside the phrase; then the macro's own times are not meant."""
    own = " ".join(word.stem for word in request.phrase)
    outside = (" ".join(words_of(slot.text)) for slot in whole.times)
    return any(said not in own and not set(said.split()) <= _THIS_DAY for said in outside)


def _reads(one: Held, gram: Gram) -> bool:
    """Return whether the phrase finds a demonstration's own text."""
    words = words_at(one.template.text)
    place = place_of(gram, [word.stem for word in words])
    if place is None:
        return False
    found = written_in(one.template.text, words[place + len(gram) - 1].end)
    return words_of(found) == words_of(one.template.written)
