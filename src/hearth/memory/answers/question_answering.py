"""Answers questions from memory: from facts, else from the words of events, with speaker and time; works out dates and
spans of time; or gives no answer.

Answers are extractive: every word of an answer is in a fact or an event, or is a date that an event's own words give
relative to when they were said ("yesterday", said on 8 May, is 7 May). The kind of answer is read from the question's
first words; `answer_spans` picks the words of a sentence that are asked for.

Whether there is an answer at all is decided by two probabilities, each fitted, each with its threshold: that the
evidence is about what is asked (`RELATED`; fitted on another conversation's questions), and that it is about the person
asked about (`CONCERNS`; fitted on questions that name the wrong person). The second counts if one person is named, or
the question says "I".

Covered: facts first; when, how long ago, how long until, how long, how many; the last time; which of two came first;
who, where, what.
Not covered: answers that several events give together (they are listed as evidence), yes-or-no questions other than of
order (the sentence is quoted, the owner judges), inference, and languages other than English.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass

from hearth import patterns as re
from hearth.memory.answers.answer_spans import WordReader, is_asked_for, spans_for, to_owner, told
from hearth.memory.event_memory import EventMemory, Found
from hearth.memory.search.fitted import fitted
from hearth.memory.search.terms import telling_words
from hearth.memory.search.time_mentions import Period
from hearth.protocols import RecalledKind

N_EVIDENCE = 3
N_WEIGHED = 10
"""Number of events from which the probability of an answer is computed."""
RELATED = ("covered", "cosine", "close", "margin", "covered_there", "heard", "names", "bias")
"""Features for the probability that the evidence is about what is asked: see `signs_of_evidence`."""
CONCERNS = (
    *("close", "person", "lead", "covered_there", "lead_covered", "lead_total"),
    *("states", "speaks_of_itself", "others_answer", "bias"),
)
"""Features for the probability that it is about the person asked about."""
NOTHING = "I remember nothing about that."
NOT_SAID = "I don't know: nothing I remember says that."
_SENTENCE = re.compile(r"(?:[^.!?\n]|(?<=\d)\.(?=\d))+[.!?]*")
_WHEN = re.compile(
    r"\s*(?:when|(?:on |in |at |since )?(?:what|which) (?:day|date|year|month|week)|how long (?:until|till|before))\b",
    re.IGNORECASE,
)
_AGO = re.compile(r"\s*how (?:long ago|long (?:has|is) it been since|long until|long till)\b", re.IGNORECASE)
_LASTS = re.compile(r"\s*how (?:long|old)\b", re.IGNORECASE)
_COUNTS = re.compile(r"\s*(?:how (?:many|much|often)|what number)\b", re.IGNORECASE)
_NUMBER = r"(?:\d[\d,.]*|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|a few|a couple of|several)"
_LENGTH = re.compile(rf"\b{_NUMBER}[ -](?:minute|hour|day|week|month|year|decade)s?\b(?: (?:ago|old))?", re.IGNORECASE)
_COUNT = re.compile(
    r"\b(?:\d[\d,.]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|once|twice)\b"
    r"(?: (?:times?|a) (?:a |per )?(?:day|week|month|year))?(?: times)?",
    re.IGNORECASE,
)
_MUCH = re.compile(
    r"\s*(?:how (?:much|far|high|tall|heavy|big|wide|deep)|what(?:'s| is| was)? the price)\b", re.IGNORECASE
)
_AMOUNT = re.compile(
    r"(?:[€$£]\s?\d[\d,.]*\d|\b\d(?:[\d,.]*\d)?\s?(?:%|€|°C?|(?!(?:and|or|at|in|on|to|for|of|it|from|every)\b)[a-z]+)?)",
    re.IGNORECASE,
)
_ORDER = re.compile(r"\s*(?:did|was|were|has|have|had)\s+(.+?)\s+(before|after)\s+(.+?)[\s?]*$", re.IGNORECASE)
_FIRST = re.compile(
    r"\s*(?:which|what) (?:was|came|happened|did .+? do) (first|last|earlier|later)[,:]?\s+(.+?)\s+or\s+(.+?)[\s?]*$",
    re.IGNORECASE,
)
_LATEST = re.compile(r"\b(?:last|latest|most recent(?:ly)?)\b", re.IGNORECASE)
_EARLIEST = re.compile(r"\b(?:first|earliest)\b", re.IGNORECASE)
_MINE = re.compile(r"\b(?:i|i'm|i've|my|mine|me|we|we've|our|ours|us)\b", re.IGNORECASE)
_YOURS = re.compile(r"\byou(?:r|rs|'re|'ve)?\b", re.IGNORECASE)
_NAME = re.compile(r"(?<=\w )[A-Z]\w+")
_WORD = re.compile(r"\w+")
_WHERE = re.compile(r"\s*(?:where|in which|on which|at which)\b", re.IGNORECASE)
_PLACE = re.compile(
    r"\b(?:(?:next|close) to|in front of|in|on|at|under|behind|above|below|beside|between|over|inside|outside|near|by"
    r"|with|to) [^.!?;]+?(?=,? (?:and|but|so|because|it|he|she|they|i|we)\b|[.!?;]|$)",
    re.IGNORECASE,
)
_THING = re.compile(
    r"\s*(?:what|which|who|when|where)(?:'s|’s| is| are| was| were)(?: the)? (?:my|our|the|\w+'s|\w+’s) "
    r"([\w'’]+(?: \w+){0,2})[\s?.!]*$",
    re.IGNORECASE,
)
_OF_ME = re.compile(r"\s*(?:am|are|do|was|were|have|had) (?:i|we)\b", re.IGNORECASE)
_VAGUE = frozenset({"name", "number", "called", "again", "now", "favourite", "favorite", "kept", "stored", "address"})
_RELATIONS = tuple(
    frozenset(words.split())
    for words in (
        "live lives living lived home moved move",
        "work works working worked job employer company office started",
        "birthday born birth",
        "old age years year turned turns",
        "allergic allergy allergies intolerant",
        "study studies studying",
        "married husband wife spouse partner",
    )
)
_IS_PAST = re.compile(r"\b(?:did|was|were|had|has|have|ago)\b", re.IGNORECASE)
_DAY = dt.timedelta(days=1)
_LONGEST = 370 * _DAY
"""A period longer than a year is no answer to when."""


@dataclass(frozen=True, slots=True)
class MemoryAnswer:
    """The answer of memory to a question."""

    kind: RecalledKind
    text: str
    """The answer alone; for `unknown`, that there is none."""
    chance: float
    """Probability that the evidence answers the question, in [0, 1]."""
    evidence: tuple[Found, ...] = ()
    """Best first."""
    period: Period | None = None
    """For kind `time`: the period that `text` states."""
    n_resting: int = 1
    """How many of the evidence, from the best on, the words of `text` are from."""


def answer_from(
    memory: EventMemory,
    question: str,
    found: Sequence[Found],
    now: dt.datetime,
    *,
    is_forced: bool = False,
    reader: WordReader | None = None,
) -> MemoryAnswer:
    """Answer `question` as of `now` from the events found, best first.

    Args:
        is_forced: Answer as long as there is any event, even if it is unlikely to be right.
        reader: Helps to find the words that are asked for; without it, only their form and place are used.
    """
    if not found:
        return MemoryAnswer("unknown", NOT_SAID, 0.0)
    if (ordered := _order(memory, question, now)) is not None:
        return ordered
    if not (is_forced or found[0].people):
        found = [one for one in found if not is_of_another_matter(question, one)] or found
    chances = chances_of(signs_of_evidence(memory, question, found))
    is_other = not found[0].people and is_of_another_matter(question, found[0])
    if not is_forced and (is_other or not chances.is_enough):
        return MemoryAnswer("unknown", NOT_SAID, chances.both, tuple(found[:N_EVIDENCE]))
    found = _in_time(memory, question, found, now)
    if not asks_for_time(question):
        return _told(question, found, chances.both, reader)
    period, evidence = time_in(memory, found[0], question), tuple(found[:N_EVIDENCE])
    if _AGO.match(question):
        return MemoryAnswer("ago", ago(period.start, now), chances.both, evidence)
    return MemoryAnswer("time", said_period(period), chances.both, evidence, period)


def _told(question: str, found: Sequence[Found], chance: float, reader: WordReader | None) -> MemoryAnswer:
    """Answer in words of the best event: those that are asked for, else the sentence that tells it."""
    best, evidence = found[0], tuple(found[:N_EVIDENCE])
    sentence = telling_sentence(question, best.text)
    for asks, says in ((_LASTS, _LENGTH), (_MUCH, _AMOUNT), (_COUNTS, _COUNT)):
        if asks.match(question) and (said := says.search(sentence) or says.search(best.text)):
            return MemoryAnswer("span", said.group().strip(), chance, evidence)
    if not best.person and _WHERE.match(question) and (place := _place_in(sentence, question)):
        return MemoryAnswer("said", to_owner(place, is_sentence=False), chance, evidence)
    if is_asked_for(question):
        picked = spans_for(question, found if best.person else found[:1], reader)
        if picked:
            used = tuple(found[event] for event in dict.fromkeys(span.event for span in picked))
            evidence = (*used, *(one for one in evidence if one not in used))[: max(N_EVIDENCE, len(used))]
            words = ", ".join(told(span, found) for span in picked)
            return MemoryAnswer("said", words, chance, evidence, n_resting=len(used))
    if not best.person:
        sentence = to_owner(sentence)
    return MemoryAnswer("said", sentence, chance, evidence)


def is_of_another_matter(question: str, event: Found) -> bool:
    """Return whether an event lacks what it must say to answer: a name in the question; for "what is my shirt size",
    each word of the thing; for "am I …", a word for oneself; for a question about a relation ("where does Ana work"),
    any word that tells of it.

    Use it only if the question names none of the speakers: people who speak of themselves leave out the name and the
    thing.
    """
    said = f"{event.person} {event.text} {event.before}"
    words = set(telling_words(said))
    if any(name.casefold() not in words for name in _NAME.findall(question)):
        return True
    stems = {word[:4] for word in words}
    thing = _THING.match(question)
    if thing and any(word[:4] not in stems for word in telling_words(thing[1]) if word not in _VAGUE):
        return True
    if _OF_ME.match(question) and not event.person and not _MINE.search(event.text):
        return True
    asked = set(telling_words(question))
    relations = [means for means in _RELATIONS if asked & means]
    return bool(relations) and not any(stems & {word[:4] for word in means} for means in relations)


def _place_in(sentence: str, question: str) -> str:
    """Find a place in the words of a sentence after those the question says; empty if it names none."""
    asked = {word[:5] for word in telling_words(question)}
    known = [match.end() for match in _WORD.finditer(sentence) if match.group().casefold()[:5] in asked]
    places = list(_PLACE.finditer(sentence))
    behind = [place for place in places if place.start() >= max(known, default=0)]
    return behind[0].group().strip(" ,") if behind else ""


def asks_for_time(question: str) -> bool:
    """Return whether the question asks for a date, or how long ago."""
    return _WHEN.match(question) is not None or _AGO.match(question) is not None


def _in_time(memory: EventMemory, question: str, found: Sequence[Found], now: dt.datetime) -> Sequence[Found]:
    """If the last or first time is asked for, put that event first among those that cover it as well as the best."""
    is_latest = _LATEST.search(question) is not None
    if not asks_for_time(question) or not (is_latest or _EARLIEST.search(question)):
        return found
    asked = _asked_stems(question, found[0])
    least = _covered(asked, found[0].text) - 0.01
    like = [one for one in found if _covered(asked, one.text) >= least and one.close >= 0.8 * found[0].close]
    past = [(time_in(memory, one, question).start, one) for one in like]
    past = [pair for pair in past if pair[0] <= now]
    if not past:
        return found
    chosen = (max if is_latest else min)(past, key=lambda pair: pair[0])[1]
    return [chosen, *(one for one in found if one is not chosen)]


@dataclass(frozen=True, slots=True)
class Signs:
    """Features of the evidence for a question."""

    related: tuple[float, ...]
    """One number for each of `RELATED`."""
    concerns: tuple[float, ...] | None
    """One for each of `CONCERNS`; None if the question is about nobody in particular."""


def signs_of_evidence(memory: EventMemory, question: str, found: Sequence[Found]) -> Signs:
    """Compute the features that show whether the events found, best first, answer the question.

    Of the best event: the share of the question's content words said in it or just before it, or in it alone; its
    cosine, its closeness, its lead over the next; the share of the names in the question that it names. And the share
    of the question's words that are in any event at all.

    Of the person asked about: whether the best event is theirs (1) or not (-1); by how much their events come closer
    than the rest, cover more, and score more; the share of the question's words in their best event; whether that one
    states something and does not speak of "you"; whether the best of the others does speak of "you", so that it may be
    an answer to them. Events without a person are the owner's; what the owner said of somebody by name counts as that
    person's, too.
    """
    best = found[0]
    asked = _asked_stems(question, best)
    covered, there = _covered(asked, f"{best.text} {best.before}"), _covered(asked, best.text)
    margin = min(3.0, best.total - found[1].total) if len(found) > 1 else 3.0
    words = [word for word in telling_words(question) if word[:5] in asked]
    heard, named = memory.heard_share(words), _named_share(question, best)
    related = (covered, best.cosine, best.close, margin, there, heard, named, 1.0)
    is_mine = not best.people and _MINE.search(question) is not None
    if len(best.people) != 1 and not is_mine:
        return Signs(related, None)
    own = [event for event in found if _is_of(event, best.people)]
    rest = [event for event in found if event not in own]
    person = 1.0 if best in own else -1.0
    lead = max((event.close for event in own), default=0.0) - max((event.close for event in rest), default=0.0)
    own_covers = max((_covered(asked, event.text) for event in own), default=0.0)
    lead_covered = own_covers - max((_covered(asked, event.text) for event in rest), default=0.0)
    lead_total = max((e.total for e in own), default=-3.0) - max((e.total for e in rest), default=-3.0)
    closest = max(own, key=lambda event: event.close, default=None)
    other = max(rest, key=lambda event: event.close, default=None)
    concerns = (
        *(best.close, person, max(-0.3, min(0.3, lead)), own_covers, lead_covered, max(-3.0, min(3.0, lead_total))),
        float(closest is not None and not closest.text.rstrip().endswith("?")),
        float(closest is not None and _YOURS.search(closest.text) is None),
        *(float(other is not None and _YOURS.search(other.text) is not None), 1.0),
    )
    return Signs(related, concerns)


def _is_of(event: Found, people: Sequence[str]) -> bool:
    """Return whether an event is the asked person's: said by them, or by the owner of them; for none, the owner's."""
    if event.person in people or not (event.person or people):
        return True
    return not event.person and any(re.search(rf"\b{re.escape(p)}\b", event.text, re.IGNORECASE) for p in people)


def _named_share(question: str, best: Found) -> float:
    """The share of the capitalised words of a question, except its first, that the event holds; 1 if there are none."""
    names = {word.casefold() for word in _NAME.findall(question)}
    said = set(telling_words(f"{best.person} {best.text} {best.before}"))
    return len(names & said) / len(names) if names else 1.0


def _asked_stems(question: str, best: Found) -> set[str]:
    names = {word for person in best.people for word in telling_words(person)}
    words = [word for word in telling_words(question) if word.removesuffix("s") not in names and word not in names]
    return {word[:5] for word in words}


def _covered(asked: set[str], text: str) -> float:
    return len(asked & {word[:5] for word in telling_words(text)}) / max(1, len(asked))


@dataclass(frozen=True, slots=True)
class Chances:
    """Probabilities that the evidence is about what is asked, and about the person asked about."""

    related: float
    concerns: float | None

    @property
    def both(self) -> float:
        return self.related if self.concerns is None else self.related * self.concerns

    @property
    def is_enough(self) -> bool:
        kept = fitted("answer_weights")
        if self.concerns is None:
            return self.related >= float(kept["least_related_alone"])
        return self.related >= float(kept["least_related"]) and self.concerns >= float(kept["least_concerns"])


def chances_of(signs: Signs) -> Chances:
    """Compute both by logistic functions, fitted by `python -m hearth_bench.measure.memory.memory_at_scale
    --fit-answers`."""
    kept = fitted("answer_weights")
    concerns = None if signs.concerns is None else _logistic(kept["concerns"], CONCERNS, signs.concerns)
    return Chances(_logistic(kept["related"], RELATED, signs.related), concerns)


def _logistic(weights: dict[str, float], names: Sequence[str], signs: Sequence[float]) -> float:
    raw = sum(float(weights[name]) * sign for name, sign in zip(names, signs, strict=True))
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, raw))))


def telling_sentence(question: str, text: str) -> str:
    """Choose the sentence with most of the question's words; among equals the longest, rather no question."""
    asked = {word[:5] for word in telling_words(question)}
    sentences = [match.group().strip() for match in _SENTENCE.finditer(text)] or [text.strip()]
    return max(
        sentences, key=lambda s: (not s.endswith("?"), len(asked & {w[:5] for w in telling_words(s)}), min(len(s), 200))
    )


def time_in(memory: EventMemory, event: Found, question: str = "") -> Period:
    """Read the time an event's words name, relative to when they were said; else that day.

    Args:
        question: If it asks for the past, "on Friday" is the Friday before, "in June" the June before.
    """
    named = [p for p in memory.times_in(event.text, event.at) if p.end - p.start <= _LONGEST]
    day = event.at.replace(hour=0, minute=0, second=0, microsecond=0)
    if not named:
        return Period(day, day + _DAY)
    period = named[0]
    if not _IS_PAST.search(question) or period.start <= event.at:
        return period
    if period.start <= day + 8 * _DAY:
        return Period(period.start - 7 * _DAY, period.end - 7 * _DAY)
    return Period(_year_before(period.start), _year_before(period.end))


def _year_before(moment: dt.datetime) -> dt.datetime:
    return moment.replace(year=moment.year - 1, day=28 if (moment.month, moment.day) == (2, 29) else moment.day)


def said_period(period: Period) -> str:
    """Write a period as a day, a month, a year, or the first and the last day."""
    start, last = period.start, period.end - dt.timedelta(seconds=1)
    if start.date() >= last.date():
        return f"{start.day} {start:%B %Y}"
    if start.day == 1 and (start.year, start.month) == (last.year, last.month) and (last + _DAY).month != last.month:
        return f"{start:%B %Y}"
    if (start.month, start.day, last.month, last.day) == (1, 1, 12, 31) and start.year == last.year:
        return str(start.year)
    return f"{start.day} {start:%B %Y} to {last.day} {last:%B %Y}"


def ago(then: dt.datetime, now: dt.datetime) -> str:
    """Write the time between in its two greatest units: "3 weeks and 2 days ago", "in 5 days", "today"."""
    days = (now.date() - then.astimezone(now.tzinfo).date()).days
    if not days:
        return "today"
    parts, left = [], abs(days)
    for name, length in (("year", 365), ("month", 30), ("week", 7), ("day", 1)):
        n, left = divmod(left, length)
        if n:
            parts.append(f"{n} {name}{'s' if n > 1 else ''}")
    said = " and ".join(parts[:2])
    return f"{said} ago" if days > 0 else f"in {said}"


def _order(memory: EventMemory, question: str, now: dt.datetime) -> MemoryAnswer | None:
    """Answer which of two things came first; None if that is not asked, or one of them is not known."""
    if asked := _ORDER.match(question):
        first, word, second = asked[1], asked[2].lower(), asked[3]
    elif asked := _FIRST.match(question):
        first, word, second = asked[2], asked[1].lower(), asked[3]
    else:
        return None
    both = [memory.look_closely(f"when {part}", limit=N_WEIGHED, now=now) for part in (first, second)]
    if not all(both) or both[0][0].id == both[1][0].id:
        return None
    chances = [
        chances_of(signs_of_evidence(memory, part, found)) for part, found in zip((first, second), both, strict=True)
    ]
    if not all(one.is_enough for one in chances):
        return None
    chance = min(one.both for one in chances)
    times = [time_in(memory, found[0], question) for found in both]
    evidence = (both[0][0], both[1][0])
    dates = f"{first}: {said_period(times[0])}; {second}: {said_period(times[1])}"
    if times[0].start < times[1].end and times[1].start < times[0].end:
        return MemoryAnswer("order", f"About the same time ({dates}).", chance, evidence, n_resting=2)
    is_first = times[0].start < times[1].start
    if word in ("before", "after"):
        said = "Yes" if is_first == (word == "before") else "No"
    else:
        said = first if is_first == (word in ("first", "earlier")) else second
    return MemoryAnswer("order", f"{said} ({dates}).", chance, evidence, n_resting=2)
