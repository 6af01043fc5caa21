"""Answers out of memory: what is held true, else the words that say it, who said them and when; a date or a span of
time worked out; or no answer.

Extractive: every word of an answer stands in a fact or an event, or is a date that an event's own words give as seen
from when they were said ("yesterday", said on 8 May, is 7 May). What a question asks for is read from its first words.
Whether the evidence answers it at all is a chance worked out from `SIGNS` and fitted on questions about the wrong
person; below the threshold the answer is that memory does not say.

Covered: facts first; when, how long ago, how long until, how long, how many; which of two came first; what a sentence
says.
Not covered: answers that several events give together (they are listed as evidence), yes-or-no questions other than of
order (the sentence is quoted, the owner judges), inference, and languages other than English.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from hearth.memory.events import EventMemory, Found
from hearth.memory.ranking import Period
from hearth.memory.terms import telling_words

Kind = Literal["fact", "said", "time", "ago", "span", "order", "unknown"]
N_EVIDENCE = 3
N_WEIGHED = 10
"""Events the chance of an answer is worked out from."""
SIGNS = ("covered", "cosine", "close", "margin", "person", "lead", "covered_there", "bias")
"""What the chance of an answer is worked out from: see `signs_of_evidence`."""
NOTHING = "I remember nothing about that."
NOT_SAID = "Nothing I remember says that."
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
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
_ORDER = re.compile(r"\s*(?:did|was|were|has|have|had)\s+(.+?)\s+(before|after)\s+(.+?)[\s?]*$", re.IGNORECASE)
_FIRST = re.compile(
    r"\s*(?:which|what) (?:was|came|happened|did .+? do) (first|last|earlier|later)[,:]?\s+(.+?)\s+or\s+(.+?)[\s?]*$",
    re.IGNORECASE,
)
_IS_PAST = re.compile(r"\b(?:did|was|were|had|has|have|ago)\b", re.IGNORECASE)
_DAY = dt.timedelta(days=1)
_LONGEST = 370 * _DAY
"""A longer stretch than a year is no answer to when."""


@dataclass(frozen=True, slots=True)
class MemoryAnswer:
    """What memory says to a question."""

    kind: Kind
    text: str
    """The answer alone; of `unknown`, that there is none."""
    chance: float
    """That the evidence answers the question, in [0, 1]."""
    evidence: tuple[Found, ...] = ()
    """Best first."""
    period: Period | None = None
    """Of kind `time`: the stretch of time that `text` says."""


def answer(memory: EventMemory, question: str, now: dt.datetime, *, held: str = "") -> MemoryAnswer:
    """Answer `question` as of `now`.

    Args:
        held: What is held true that answers it, as a sentence; it is the answer, with the events beside it.
    """
    found = memory.look_closely(question, limit=N_WEIGHED, now=now)
    return answer_from(memory, question, found, now, held=held)


def answer_from(
    memory: EventMemory,
    question: str,
    found: Sequence[Found],
    now: dt.datetime,
    *,
    held: str = "",
    least: float | None = None,
) -> MemoryAnswer:
    """As `answer`, from events already found, best first.

    Args:
        least: The least chance that is answered; None: the fitted one, 0: any.
    """
    evidence = tuple(found[:N_EVIDENCE])
    if held:
        return MemoryAnswer("fact", held, 1.0, evidence)
    if not found:
        return MemoryAnswer("unknown", NOTHING, 0.0)
    if (ordered := _order(memory, question, now)) is not None:
        return ordered
    chance = chance_of(signs_of_evidence(question, found))
    if chance < (least_chance() if least is None else least):
        return MemoryAnswer("unknown", NOT_SAID, chance, evidence)
    best = found[0]
    if _AGO.match(question):
        return MemoryAnswer("ago", ago(time_in(memory, best, question).start, now), chance, evidence)
    if _WHEN.match(question):
        period = time_in(memory, best, question)
        return MemoryAnswer("time", said_period(period), chance, evidence, period)
    sentence = telling_sentence(question, best.text)
    for asks, says in ((_LASTS, _LENGTH), (_COUNTS, _COUNT)):
        if asks.match(question) and (said := says.search(sentence) or says.search(best.text)):
            return MemoryAnswer("span", said.group().strip(), chance, evidence)
    return MemoryAnswer("said", sentence, chance, evidence)


def signs_of_evidence(question: str, found: Sequence[Found]) -> tuple[float, ...]:
    """One number for each of `SIGNS`.

    Of the best event: the share of the question's telling words said in it or just before it, its cosine, its
    closeness, by how much it leads the next, and whether the one named said it (1), someone else (-1), or nobody is
    named (0). Then by how much what the named one said comes closer than what others said, and the share of the
    question's words in the named one's best event alone.
    """
    best = found[0]
    names = {word for person in best.people for word in telling_words(person)}
    asked = {word[:5] for word in telling_words(question) if word.removesuffix("s") not in names and word not in names}
    covered = _covered(asked, f"{best.text} {best.before}")
    margin = min(3.0, best.total - found[1].total) if len(found) > 1 else 3.0
    person = lead = 0.0
    there = _covered(asked, best.text)
    if len(best.people) == 1:
        person = 1.0 if best.person in best.people else -1.0
        own = [event for event in found if event.person in best.people]
        others = [event.close for event in found if event.person not in best.people]
        lead = max((event.close for event in own), default=0.0) - max(others, default=0.0)
        lead = max(-0.3, min(0.3, lead))
        there = max((_covered(asked, event.text) for event in own), default=0.0)
    return (covered, best.cosine, best.close, margin, person, lead, there, 1.0)


def _covered(asked: set[str], text: str) -> float:
    return len(asked & {word[:5] for word in telling_words(text)}) / max(1, len(asked))


def chance_of(signs: Sequence[float]) -> float:
    """Logistic, fitted by `python -m benchmarks.recall --fit-answers`."""
    kept = _fitted()["weights"]
    raw = sum(float(kept[name]) * sign for name, sign in zip(SIGNS, signs, strict=True))
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, raw))))


def least_chance() -> float:
    """Below it memory does not say."""
    return float(_fitted()["least_chance"])


@cache
def _fitted() -> dict[str, Any]:
    kept: dict[str, Any] = json.loads((files("hearth.data") / "answer_weights.json").read_text())
    return kept


def telling_sentence(question: str, text: str) -> str:
    """The sentence that holds most of the question's words; among equals the longest, and none that asks."""
    asked = {word[:5] for word in telling_words(question)}
    sentences = [match.group().strip() for match in _SENTENCE.finditer(text)] or [text.strip()]
    return max(
        sentences,
        key=lambda s: (not s.endswith("?"), len(asked & {w[:5] for w in telling_words(s)}), min(len(s), 200)),
    )


def time_in(memory: EventMemory, event: Found, question: str = "") -> Period:
    """The time an event's words name, as seen from when they were said; else that day.

    Args:
        question: Where it asks for what is past, "on Friday" is the Friday before.
    """
    named = [p for p in memory.times_in(event.text, event.at) if p.end - p.start <= _LONGEST]
    day = event.at.replace(hour=0, minute=0, second=0, microsecond=0)
    if not named:
        return Period(day, day + _DAY)
    period = named[0]
    if _IS_PAST.search(question) and event.at < period.start <= day + 8 * _DAY:
        return Period(period.start - 7 * _DAY, period.end - 7 * _DAY)
    return period


def said_period(period: Period) -> str:
    """A day, a month, a year, or the first and the last day."""
    start, last = period.start, period.end - dt.timedelta(seconds=1)
    if start.date() >= last.date():
        return f"{start.day} {start:%B %Y}"
    if start.day == 1 and (start.year, start.month) == (last.year, last.month) and (last + _DAY).month != last.month:
        return f"{start:%B %Y}"
    if (start.month, start.day, last.month, last.day) == (1, 1, 12, 31) and start.year == last.year:
        return str(start.year)
    return f"{start.day} {start:%B %Y} to {last.day} {last:%B %Y}"


def ago(then: dt.datetime, now: dt.datetime) -> str:
    """The time between, in the two greatest units that count: "3 weeks and 2 days ago", "in 5 days", "today"."""
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


def said_by(event: Found, zone: dt.tzinfo | None = None) -> str:
    """Who said what when, on one line: `8 May 2023, Ana: "I went yesterday"`."""
    at = event.at.astimezone(zone)
    return f'{at.day} {at:%B %Y}, {event.person or "you"}: "{" ".join(event.text.split())}"'


def _order(memory: EventMemory, question: str, now: dt.datetime) -> MemoryAnswer | None:
    """The answer to which of two things came first; None where that is not asked, or one of them is not known."""
    if asked := _ORDER.match(question):
        first, word, second = asked[1], asked[2].lower(), asked[3]
    elif asked := _FIRST.match(question):
        first, word, second = asked[2], asked[1].lower(), asked[3]
    else:
        return None
    both = [memory.look_closely(f"when {part}", limit=N_WEIGHED, now=now) for part in (first, second)]
    if not all(both) or both[0][0].id == both[1][0].id:
        return None
    chances = [chance_of(signs_of_evidence(part, found)) for part, found in zip((first, second), both, strict=True)]
    if min(chances) < least_chance():
        return None
    times = [time_in(memory, found[0], question) for found in both]
    evidence = (both[0][0], both[1][0])
    dates = f"{first}: {said_period(times[0])}; {second}: {said_period(times[1])}"
    if times[0].start < times[1].end and times[1].start < times[0].end:
        return MemoryAnswer("order", f"About the same time ({dates}).", min(chances), evidence)
    is_first = times[0].start < times[1].start
    if word in ("before", "after"):
        said = "Yes" if is_first == (word == "before") else "No"
    else:
        said = first if is_first == (word in ("first", "earlier")) else second
    return MemoryAnswer("order", f"{said} ({dates}).", min(chances), evidence)
