"""How long, how often and since when: spans between dated things, and times that come again."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hearth import patterns as re
from hearth.language.tokens import ONES, TENS
from hearth.memory.inquiry.answer_telling import card_meant, card_witness, witness_of
from hearth.memory.inquiry.reckoning.dated_things import (
    BIRTHDAY,
    EVENTS,
    MAILS,
    PLANNED,
    Meant,
    Moment,
    Moments,
    Tense,
    Time,
    birthday_on,
    birthdays_about,
    in_order,
    moment_said,
    naming_keys,
    periods_meant,
    real_length,
    tense_of,
)
from hearth.memory.inquiry.record_answers import happens
from hearth.memory.search.collecting import said_birth, said_date
from hearth.memory.search.passage_store import sentences_of
from hearth.memory.search.search_words import Period, keys_of, times_named, without_times
from hearth.protocols import HomeAnswer, Witness
from hearth.tools.memory import DOUBTED

# ── Time spans ────────────────────────────────────────────────────────────────────────────────────────────
# Reckons how far apart two moments are, how old somebody is at one, how long a thing lasts and when it ends.
#
# A question is cut into the words of two moments by what stands between them ("between … and …", "after … did …",
# "how old … when …"); `dated_things` finds what they mean. Of days the calendar's are counted, of hours and minutes
# those from the end of the first thing to the start of the second, unless the words say otherwise.
#
# Covered: the same in any unit; a moment that is meant without all its words is told with doubt. Not covered: working
# days, spans within spans ("half the time between …").

UNITS = "minutes|mins|hours|hrs|days|nights|weeks|months|years"
AUX = "did|does|do|was|were|is|are|will|would|has|have|had|shall|should|must|can|could|am|'s"
"""Words between what is asked for and whom it is about."""
_ASK = re.compile(
    rf"(?P<lead>.*?)\b(?:by )?(?:how (?:many|much) (?:more |full |whole )?(?P<unit>{UNITS})['’]?"
    rf"|how (?P<long>long|soon)"
    rf"|(?:the )?(?:number of )?(?P<bare>{UNITS})(?= (?:since|between|from|until|till)\b))(?P<rest>\b.*|(?<=['’]).*)",
    re.I,
)
_BETWEEN = tuple(
    re.compile(form, re.I)
    for form in (
        r".*?\b(?:between|separates?) (?P<first>.+?) (?:and|from) (?P<second>.+)",
        r".*?\bfrom (?P<first>.+?) (?:to|till|until) (?P<second>.+)",
        rf"\W*(?:(?:it )?(?:was it|were there|passed|went by) )?after (?P<first>.+?) (?:{AUX}) (?P<second>.+)",
        rf"\W*(?:(?:it )?(?:was it|were there) )?before (?P<second>.+?) (?:{AUX}) (?P<first>.+)",
        r"(?P<second>.+?) after (?P<first>.+)",
        r"(?P<first>.+?) (?:before|ahead of|prior to) (?P<second>.+)",
    )
)
_BOTH_TIMES = re.compile(r".*?\bbetween (?:the|my|our) two (?P<what>.+)", re.I)
_SINCE = tuple(
    re.compile(form, re.I)
    for form in (
        r".*?\b(?:since|past|ago (?:was|is|did)) (?P<first>.+)",
        r"\W*(?:has|have) (?P<first>.+?) been (?:on|off|running|going|open|closed|gone|out|in)\b.*",
    )
)
_LEFT = re.compile(
    r"\W*(?:.*?\b)?(?:(?:(?:have|has|is|do|got|left|still|there) )+(?:left |got |to go |still )*(?:for|before|to)"
    r"|(?:until|till?|\Ato)) (?P<second>.+)",
    re.I,
)
_IS_UNTIL = re.compile(r"\b(?:until|till?)\b", re.I)
_UNTIL = re.compile(rf"\W*(?:{AUX}) (?P<second>.+)", re.I)
"""Stands behind "in how many days"."""
_AGE = re.compile(
    rf".*?\bhow old (?:{AUX}) (?P<who>.+?)(?: (?:be|turn(?:ing)?))? (?:when|on|at|by the time|the day) (?P<when>.+)",
    re.I,
)
_OLDER = re.compile(
    r"\s*(?:who|which)(?: of (?:them|the two))?(?: is|['’]?s) (?:the )?(?P<how>older|younger)\W+(?P<one>.+?) or "
    r"(?P<other>.+)",
    re.I,
)
_IS_OLDER = re.compile(r"\s*(?:is|was) (?P<one>.+?) (?P<how>older|younger) than (?P<other>.+)", re.I)
_AGES_APART = re.compile(
    rf"\s*(?:how (?:much|many years) (?:older|younger) (?:{AUX}) (?P<one>.+?) than (?P<other>.+)|how many years apart "
    r"are (?P<the>.+?) and (?P<those>.+)|.*\b(?:age (?:difference|gap)|(?:difference|gap) (?:in|of) (?:age|years)) "
    r"between (?P<this>.+?) and (?P<that>.+))",
    re.I,
)
_TURNS = re.compile(r"\bturn(?:s|ing)?\b|\b(?:what|which) age\b|\bhow old\b", re.I)
_OF_AGE = re.compile(
    r"\s*(?:(?:in|on) )?(?:when|(?:what|which) (?:year|date|day))\b(?P<who>.+?)"
    r"\b(?:turns?|comes? of age|be(?:come)?s?|reach(?:es)?|is|are|was|were)\b(?P<rest>.*)",
    re.I,
)
_ENDS = re.compile(
    rf".*?\b(?:when|what time|(?:at|until|till|by) (?:what|which) (?:time|hour)|until when|how late)\b.*?\b(?:{AUX}) "
    r"(?P<what>.+?)(?: (?:be|is|are|get|gets|thing|will))* (?:over|ends?|ended|finish(?:ed|es)?|done|out|stops?)\b"
    r"(?P<rest>.*)",
    re.I,
)
_UNTIL_WHEN = re.compile(
    rf"\s*(?:until|till?) (?:when|what time|which hour) (?:{AUX}) (?P<what>.+?)(?: (?:go on|goes on|last))?(?P<rest>)",
    re.I,
)
_THAT_DAY = re.compile(r"\b(?:(?:on|of) )?(?:that|the same) (?:day|morning|afternoon|evening|night)\b", re.I)
_ELSEWHEN = re.compile(r"\b(?:before|after|since|until|till|between|ago)\b", re.I)
_STRETCH = re.compile(r"\d\w* ?(?:[^\W\d_]+ )?(?:to|till|until|through|[-–])", re.I)
_MINUTE_S = 60.0


def span_answer(question: str, moments: Moments) -> HomeAnswer | None:
    """Reckon the time between two moments; None where nothing of the kind is asked, or a moment is not known."""
    found = _ASK.fullmatch(question.strip(" ?.!"))
    if found is None:
        return None
    unit = (found["unit"] or found["bare"] or "").casefold()
    unit = {"hrs": "hours", "mins": "minutes"}.get(unit, unit)
    rest, lead = found["rest"].strip(), found["lead"]
    if named := periods_meant(lead, moments.call.now, question):
        moments = Moments(moments.things, named[0])
    pair = _pair(rest, lead, unit, moments)
    if pair is None and unit in ("days", "nights"):
        return _range(f"{lead} {rest}", unit, moments)
    return _told(*pair, unit) if pair is not None else None


def _range(asked: str, unit: str, moments: Moments) -> HomeAnswer | None:
    """Return how many days or nights the only stretch of days lasts that a mail states: "from 26 to 30 October"."""
    meant = moments.things.meant(asked, MAILS)
    if meant is None or meant.thing.passage is None or _ELSEWHEN.search(asked):
        return None
    passage, sent = meant.thing.passage, meant.thing.times[0].start
    stretches = [
        (one, said)
        for said in sentences_of(passage.text)
        for one in times_named(said, sent)
        if one.start > sent and one.end - one.start > dt.timedelta(days=1) and _STRETCH.search(said)
    ]
    if len(stretches) != 1:
        return None
    ((period, said),) = stretches
    days = (period.end.date() - period.start.date()).days
    value = _n(days - 1, "night") if unit == "nights" else _n(days, "day")
    return HomeAnswer("number", value, "", (witness_of(passage, said),), DOUBTED)


def _pair(rest: str, lead: str, unit: str, moments: Moments) -> tuple[Moment, Moment] | None:
    """Return the two moments that a question is about, as it names them."""
    if (both := _BOTH_TIMES.fullmatch(rest)) is not None:
        return moments.both(both["what"])
    for n, form in enumerate(_BETWEEN):
        if (said := form.fullmatch(rest)) is not None:
            around = f"{lead} {rest[: said.start('first')]}" if said.start("first") < said.start("second") else lead
            pair = _between(said["first"], said["second"], around, moments, in_years=unit in ("", "years"))
            return _following(*pair) if pair is not None and n > 0 else pair
    now = _now(moments)
    for form in _SINCE:
        if (said := form.fullmatch(rest)) is not None:
            first = moments.of(f"last {said['first']}")
            return (first, now) if first is not None and first.start <= now.start else None
    said = _LEFT.fullmatch(rest) or (_UNTIL.fullmatch(rest) if re.search(r"\bin\W*\Z", lead, re.I) else None)
    if said is not None and not happens(said["second"]):
        # What there is time for has a deadline, where somebody states one; what is waited for has a time of its own.
        due, own = moments.due(said["second"]), moments.of(said["second"], tense="ahead")
        ends = (own, due) if _IS_UNTIL.search(rest) else (due, own)
        second = next((one for one in ends if one is not None and one.start > now.start), None)
        return (now, second) if second is not None else None
    return None


def _between(one: str, other: str, around: str, moments: Moments, *, in_years: bool) -> tuple[Moment, Moment] | None:
    """Return the moments of two phrases, of which either may lean on the other."""
    first = moments.of(one, f"{around} {other}", in_years=in_years)
    if first is not None and _THAT_DAY.search(other):
        midnight = first.start.replace(hour=0, minute=0)
        moments = Moments(moments.things, Period(midnight, midnight + dt.timedelta(days=1)))
    told = _THAT_DAY.sub("", other)
    if re.search(r"['’]s\Z", told):  # "Sofia's mail and Nico's"
        told = f"{told} {one.split()[-1]}"
    if re.search(r"['’]s\Z", one):
        first = moments.of(f"{one} {other.split()[-1]}", around, in_years=in_years)
    now, is_bare = moments.call.now, first is not None and first.thing is None
    if is_bare and not naming_keys(told) and times_named(one, now) and not times_named(told, now):
        return None  # what only points back means the day, and nothing that is on it
    second = moments.of(told, f"{around} {one}", in_years=in_years)
    if first is None or second is None or (first.at == second.at and first.thing == second.thing):
        return None
    is_said = re.search(r"\b(?:last|next)\b", f"{one} {told}", re.I)
    if first.card is not None and second.card is not None and not is_said:
        second = _birthday_near(second, first.start.date())
    return _on_one_day(first, one, second, moments), second


def _birthday_near(moment: Moment, day: dt.date) -> Moment:
    """Return somebody's birthday that is nearest to a day."""
    assert moment.card is not None
    nearest = min(birthdays_about(moment.card, day), key=lambda one: abs(one - day))
    return birthday_on(moment.card, nearest, moment.start.tzinfo)


def _following(first: Moment, second: Moment) -> tuple[Moment, Moment]:
    """Return two moments of which the question says that the second follows the first: other times of what they are of,
    where these are not so; with doubt where none are."""
    if second.start >= first.start:
        return first, second
    if second.card is not None:
        day = min(one for one in birthdays_about(second.card, first.start.date()) if one >= first.start.date())
        return first, birthday_on(second.card, day, second.start.tzinfo)
    later = [one for one in _other_times(second) if one.start >= first.start]
    earlier = [one for one in _other_times(first) if one.start <= second.start]
    if later:
        second = replace(second, start=later[0].start, end=later[0].last, witness=later[0].witness)
    elif earlier:
        first = replace(first, start=earlier[-1].start, end=earlier[-1].last, witness=earlier[-1].witness)
    return replace(first, is_sure=False), second


def _other_times(moment: Moment) -> Sequence[Time]:
    """Return the times of what a moment is of, where the words do not say which of them is meant."""
    return moment.thing.times if moment.thing is not None and not moment.is_sure else ()


def _on_one_day(moment: Moment, phrase: str, other: Moment, moments: Moments) -> Moment:
    """Return the moment of a thing that comes again, on the day of the other where it comes then, too."""
    thing = moment.thing
    if thing is None or other.exactness != "minute" or times_named(phrase, moments.call.now):
        return moment
    same = [one for one in thing.times if one.start.date() == other.start.date() and one.start != other.start]
    if len(same) != 1:
        return moment
    return replace(moment, start=same[0].start, end=same[0].last, witness=same[0].witness)


def _now(moments: Moments) -> Moment:
    now = moments.call.now
    return Moment(now, now, "minute", None, is_sure=True)


def _told(first: Moment, second: Moment, unit: str) -> HomeAnswer | None:
    """Say how far two moments are apart."""
    witnesses = first.rests_on + second.rests_on
    value = _apart(first, second, unit) if witnesses else ""
    chance = 1.0 if first.is_sure and second.is_sure else DOUBTED
    return HomeAnswer("number", value, "", witnesses, chance) if value else None


def _apart(first: Moment, second: Moment, unit: str) -> str:
    """Write how far two moments are apart; empty where they are not known so exactly, or are of one thing on a day."""
    exactness = {first.exactness, second.exactness}
    days = abs((second.at.date() - first.at.date()).days)
    is_near = not unit and exactness == {"minute"} and abs(real_length(first.at, second.at)) < dt.timedelta(days=1)
    if unit in ("minutes", "hours") or is_near:
        return _hours(first, second, unit) if exactness == {"minute"} else ""
    if first.thing is second.thing is not None and days == 0:
        return ""
    if "year" in exactness or unit == "years":
        return _n(_years(first, second), "year") if unit in ("years", "") else ""
    if unit == "weeks":
        return _n(days / 7, "week") + (f" ({_n(days, 'day')})" if days % 7 else "")
    if unit == "months":
        return f"{_n(days / 30.44, 'month')} ({_n(days, 'day')})"
    return _n(days, "night" if unit == "nights" else "day")


def _years(first: Moment, second: Moment) -> int:
    early, late = sorted((first.at, second.at))
    if "year" in (first.exactness, second.exactness):
        return late.year - early.year
    return _birthdays_between(early, late)


def _birthdays_between(early: dt.date, late: dt.date) -> int:
    return late.year - early.year - ((late.month, late.day) < (early.month, early.day))


def _hours(first: Moment, second: Moment, unit: str) -> str:
    """Say the hours and minutes from the end of what is first to the start of what follows it."""
    if first.thing is not None and first.start == second.start:
        return hours_said(round(abs(real_length(first.at, second.at).total_seconds()) / _MINUTE_S), unit)
    early, late = sorted((first, second), key=lambda one: one.start)
    is_gap = early.end <= late.start and not early.is_start
    begin = early.end if is_gap or early.is_end else early.start
    minutes = round(abs(real_length(begin, late.at).total_seconds()) / _MINUTE_S)
    return hours_said(minutes, unit)


def hours_said(minutes: float, unit: str = "") -> str:
    """Write a length: `5 hours 45 minutes`, or in the unit that is asked for."""
    if unit == "minutes" or (not unit and minutes < 60):
        return _n(minutes, "minute")
    hours, left = divmod(minutes, 60)
    return _n(hours, "hour") + (f" {_n(left, 'minute')}" if left else "")


def _n(number: float, noun: str) -> str:
    return f"{number:.1f}".removesuffix(".0") + f" {noun}{'' if number == 1 else 's'}"


def length_said(times: Sequence[Time], unit: str = "") -> str:
    """Write how long times last together: whole days in days; empty where another unit is asked for."""
    days = [one.is_all_day for one in times]
    if any(days):
        n = sum((one.end.date() - one.start.date()).days for one in times)
        return _n(n, "day") if all(days) and not unit else ""
    return hours_said(sum(one.length.total_seconds() for one in times) / _MINUTE_S, unit)


# ── Ages ──────────────────────────────────────────────────────────────────────────────────────────────────


def age_answer(question: str, moments: Moments) -> HomeAnswer | None:
    """Reckon how old somebody is at a moment, how old they turn, or when they reach an age."""
    asked = question.strip(" ?.!")
    if (apart := _ages_apart(asked, moments)) is not None:
        return apart
    if (found := _AGE.fullmatch(asked)) is not None:
        return _age_at(found["who"], found["when"], moments, tense_of(asked))
    if re.search(BIRTHDAY, asked, re.I) and _TURNS.search(asked):
        return _age_turned(asked, moments)
    if (found := _OF_AGE.fullmatch(asked)) is not None:
        return _year_of_age(found["who"], asked[found.end("who") :], moments)
    return None


def _age_at(who: str, when: str, moments: Moments, tense: Tense) -> HomeAnswer | None:
    born = moments.of(f"{who} born")
    card = card_meant(who, moments.things.cards)
    if born is None or card is None or born.witness is None:
        return None
    at = moments.of(when, of_person=True, tense=tense)
    if at is None or at.witness is None or (times_named(when, moments.call.now) and not naming_keys(when)):
        return None
    if at.start < born.start or not at.is_sure:
        return None
    return HomeAnswer("number", str(_years(born, at)), "", (born.witness, at.witness))


def _ages_apart(asked: str, moments: Moments) -> HomeAnswer | None:
    """Return how many years two people are apart, or who of them is older."""
    found = next((fit for form in (_OLDER, _IS_OLDER, _AGES_APART) if (fit := form.fullmatch(asked))), None)
    parts = found.groupdict() if found is not None else {}
    how = (parts.pop("how", None) or "").casefold()
    cards = [card_meant(side, moments.things.cards) for side in parts.values() if side]
    born = [(card, day) for card in cards if card is not None and card.birth and (day := card.birth.date()) is not None]
    if len(born) != 2 or born[0][1] == born[1][1]:
        return None
    (elder, early), (younger, late) = sorted(born, key=lambda row: row[1])
    witnesses = tuple(card_witness(card, f"born {day.day} {day:%B} {day.year}") for card, day in born)
    if _IS_OLDER.fullmatch(asked):
        is_so = (born[0][0] == elder) == (how == "older")
        return HomeAnswer("yesno", f"{'Yes' if is_so else 'No'}: {elder.name} is older", "", witnesses)
    if how:
        return HomeAnswer("text", younger.name if how == "younger" else elder.name, "", witnesses)
    return HomeAnswer("number", _n(_birthdays_between(early, late), "year"), "", witnesses)


def _age_turned(asked: str, moments: Moments) -> HomeAnswer | None:
    moment = moments.of(asked)
    birth = moment.card.birth if moment is not None and moment.card is not None else None
    if moment is None or moment.witness is None or birth is None or birth.year is None:
        return None
    age = moment.at.year - birth.year
    return HomeAnswer("number", str(age), "", (moment.witness,)) if age >= 0 else None


def _year_of_age(who: str, rest: str, moments: Moments) -> HomeAnswer | None:
    """Return when somebody reaches an age."""
    numbers = [number for word in re.findall(r"\w+", rest.casefold()) if (number := _number(word)) is not None]
    who = re.sub(rf"\b(?:{AUX})\b", "", who, flags=re.I)
    card = card_meant(who, moments.things.cards)
    if len(numbers) != 1 or card is None or card.birth is None or card.birth.year is None:
        return None
    day = card.birth.in_year(card.birth.year + numbers[0])
    at = dt.datetime.combine(day, dt.time(), moments.call.now.tzinfo)
    return HomeAnswer("date", said_date(at), "", (card_witness(card, said_birth(card.birth)),))


def _number(word: str) -> int | None:
    return int(word) if word.isdecimal() and len(word) < 4 else ONES.get(word) or TENS.get(word)


# ── Ends ──────────────────────────────────────────────────────────────────────────────────────────────────


def end_answer(question: str, moments: Moments) -> HomeAnswer | None:
    """Return when an event ends."""
    found = _ENDS.fullmatch(question.strip(" ?.!")) or _UNTIL_WHEN.fullmatch(question.strip(" ?.!"))
    if found is None or re.search(r"\b(?:run|sold|old|move|moving)\b", found["what"], re.I):
        return None
    named = times_named(question, moments.call.now)
    what = without_times(found["what"], moments.call.now)
    what = what if naming_keys(what) else without_times(found["rest"], moments.call.now)
    meant = moments.things.meant(what, EVENTS, is_said=True)
    if meant is None:
        return None
    chosen = moments.time_of(meant.thing, question, named[0] if named else None, tense_of(question))
    if chosen is None or chosen[0].end <= chosen[0].start:
        return None
    time, is_said = chosen
    said = said_date(time.last) if time.is_all_day else moment_said(time.end)
    return HomeAnswer("date", said, "", (time.witness,), 1.0 if meant.is_sure and is_said else DOUBTED)


# ── Repeated times ────────────────────────────────────────────────────────────────────────────────────────
# Reckons over the times of things that come again: the next one, how many there are, how long they last together.
#
# Covered: bounds by other things ("before the autumn concert"), by periods and by today ("so far"); things of several
# titles that words mean alike ("both tablets"), together. Not covered: what was skipped and still stands in the
# calendar; times farther off than `dated_things` looks, where nothing is told.

_ASKS_NEXT = re.compile(r".*\b(?:when|what (?:day|date|time)|which (?:day|date))\b.*", re.I)
_AGAIN = re.compile(r"\b(?:next|again|due|comes? (?:a)?round)\b", re.I)
_NOW = re.compile(r"\s*when (?:is|am|are|do|does|must|should|will|shall|have|has|can)\b", re.I)
"""Asks when something is that comes again, and so for its next time."""
_HOW_MANY = re.compile(
    r".*?\bhow (?:(?:many|much)(?: (?:more|times))*|often)\b(?P<what>.*?)"
    r"(?P<bounds>,?\s*\b(?:before|until|till|up to|so far|since|after|this|last|in|between|from|by)\b.*)?",
    re.I,
)
_HOW_MANY_OF = re.compile(r"\s*how many (?:[^\W\d_]+ )??(?P<noun>[^\W\d_]+s)\b", re.I)
_STILL_LEFT = re.compile(r"\b(?:still|left|remaining|to come|more)\b", re.I)
_BEFORE = re.compile(r"\b(?:before|until|till|up to|by) (?P<what>(?!now\b|today\b)[^,]+)", re.I)
_SINCE_WHAT = re.compile(r"\b(?:since|after) (?P<what>[^,]+)", re.I)
_SO_FAR = re.compile(r"\b(?:so far|up to (?:now|today)|until now|till now|by now|already|to date)\b", re.I)
_TODAY_TOO = re.compile(
    r"\b(?:today|tonight|this (?:morning|evening)|now)(?:['’]s)?\b.*\b(?:include|count)"
    r"|\b(?:includ|count)\w*.*\b(?:today|tonight)",
    re.I,
)
_TOTAL = re.compile(r".*?\bhow (?P<long>long|many (?P<unit>hours|hrs|minutes|mins))\b(?P<what>.*)", re.I)
_ALL = re.compile(r"\b(?:all|altogether|together|total|added up|in sum|combined|overall|each|every)\b", re.I)
_OTHER_COUNT = re.compile(
    r"\bhow many (?:more )?(?:minutes|hours|days|nights|weeks|months|years|people|words|mails?|e-?mails?|messages?"
    r"|guests?|kilos?|contacts?|cards?|numbers?|birthdays?|notes?|documents?|files?)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class _Bounds:
    """From when until when times are counted."""

    start: dt.datetime
    end: dt.datetime
    is_sure: bool = True
    witness: tuple[Witness, ...] = ()
    """What says so, where the question does not."""
    is_so_far: bool = False
    """Whether all times until now are counted, and so also those before what is looked at."""


def next_answer(question: str, moments: Moments) -> HomeAnswer | None:
    """Return when a thing comes again; None where it does not, or no such thing is asked."""
    is_next, is_now = _AGAIN.search(question) is not None, _NOW.match(question) is not None
    if not _ASKS_NEXT.fullmatch(question) or not (is_next or is_now):
        return None
    if re.search(r"\bnext (?:week|month|year|weekend)\b|birthday|bday", question, re.I):
        return None
    meant = moments.things.meant(question, PLANNED, least_sure=not is_next)
    if meant is None or meant.thing.repeat == "none":
        return None
    ahead = [one for one in meant.thing.times if one.start > moments.call.now]
    if not ahead:
        return None
    return HomeAnswer("date", ahead[0].said, "", (ahead[0].witness,), _chance([meant]))


def times_answer(question: str, moments: Moments) -> HomeAnswer | None:
    """Count the times of things within bounds; None where no such thing is asked or the bounds are not known."""
    found = _HOW_MANY.fullmatch(question.strip(" ?.!"))
    if (quantity := _quantity(question, moments)) is not None:
        return quantity
    if found is None or _OTHER_COUNT.search(question) or not (found["bounds"] or "").strip(" ,"):
        return None
    if _is_quantity(_counted(found["what"]).rpartition(" ")[2], moments):
        return None
    meant = _all_meant(found["what"], question, moments)
    bounds = _bounds(f"{_left_in(found['what'])} {found['bounds']}", moments)
    if not meant or bounds is None:
        return None
    has_earlier = bounds.is_so_far and any(moments.things.has_earlier(one.thing) for one in meant)
    if has_earlier or not moments.things.covers(bounds.start, bounds.end):
        return None
    times = in_order(one for thing in meant for one in thing.thing.times if bounds.start <= one.start < bounds.end)
    if not times:
        return None
    chance, shown = _chance(meant) if bounds.is_sure else DOUBTED, (*_shown(times), *bounds.witness)
    return HomeAnswer("number", f"{len(times)} {_noun(found['what'], meant)}", "", shown, chance)


def _is_quantity(noun: str, moments: Moments) -> bool:
    """Return whether records state numbers of a thing, and not only its times: "120 rolls"."""
    stated = re.compile(rf"\b\d+(?: [^\W\d_]+)? {re.escape(noun)}\b", re.I)
    return noun != "" and any(
        stated.search(one.text) for one in moments.things.passages.all(("mail", "note", "document"), noun)
    )


def _left_in(what: str) -> str:
    found = _STILL_LEFT.search(what)
    return found.group() if found else ""


def _quantity(question: str, moments: Moments) -> HomeAnswer | None:
    """Multiply a number that a record states for each time ("120 rolls every Wednesday") by the times of a period."""
    found = _HOW_MANY_OF.match(question)
    named = periods_meant(question, moments.call.now)
    if found is None or not named:
        return None
    noun = re.escape(found["noun"])
    said = re.compile(
        rf"\b(?P<n>\d+)(?: [^\W\d_]+)? {noun}\b.*\b(?:each|every|daily|weekly|per|a (?:day|week|month))\b", re.I
    )
    wanted = naming_keys(question)
    stated = [
        (len(wanted & keys_of(f"{one.path} {one.person} {one.read}")), int(fit["n"]), witness_of(one, sentence))
        for one in moments.things.passages.all(("mail", "note", "document"), found["noun"])
        for sentence in sentences_of(one.text)
        if (fit := said.search(sentence)) is not None
    ]
    most = max((n for n, *_ in stated), default=0)
    rows = {number: witness for n, number, witness in stated if n == most}
    meant = moments.things.meant(without_times(question, moments.call.now), EVENTS)
    if len(rows) != 1 or meant is None or meant.thing.repeat == "none":
        return None
    ((n, witness),) = rows.items()
    times = [one for one in meant.thing.times if named[0].holds(one.start)]
    if not times or not moments.things.covers(named[0].start, named[0].end):
        return None
    value = f"{n * len(times)} {found['noun']} ({len(times)} × {n})"
    return HomeAnswer("number", value, "", (witness, *_shown(times)), DOUBTED)


def length_answer(question: str, moments: Moments) -> HomeAnswer | None:
    """Add up how long the times of a thing last in a period; of one time, how long it lasts."""
    found = _TOTAL.fullmatch(question.strip(" ?.!"))
    if found is None:
        return None
    if re.search(r"\b(?:before|after|since|until|till|between|ago)\b", found["what"], re.I):
        return None
    named = periods_meant(found["what"], moments.call.now)
    meant = moments.things.meant(without_times(found["what"], moments.call.now), EVENTS)
    if meant is None or not ((named and _ALL.search(found["what"])) or meant.is_sure):
        return None
    times = [one for one in meant.thing.times if named and named[0].holds(one.start)]
    if not named and len({one.length for one in meant.thing.times}) == 1:
        times = list(meant.thing.times[:1])
    unit = (found["unit"] or "").casefold()
    value = length_said(times, {"mins": "minutes", "hrs": "hours"}.get(unit, unit))
    if not value or not any(one.length for one in times):
        return None
    if named and not moments.things.covers(named[0].start, named[0].end):
        return None
    return HomeAnswer("number", value, "", _shown(times), _chance([meant]))


def _counted(what: str) -> str:
    """Return the words of what is counted, as they were said: at most two before the first verb or preposition."""
    words = re.findall(r"[\w'’-]+", re.split(rf"\b(?:{AUX}|to|of|with|at|in|left)\b", what, flags=re.I)[0])
    return " ".join(words[-2:])


def _noun(what: str, meant: Sequence[Meant]) -> str:
    """Return what is counted by the question's words, where a thing says one of them."""
    named = {key for one in meant for key in one.thing.named}
    counted = _counted(what)
    return counted if keys_of(counted) & named else "times" if not counted or counted == "times" else "events"


def _all_meant(what: str, question: str, moments: Moments) -> list[Meant]:
    """Return the repeated things that words mean; several only where the question takes them together."""
    found = moments.things.all_meant(what, PLANNED)
    if not found and (like := moments.things.meant(what, PLANNED)) is not None:
        found = [like]
    found = [one for one in found if one.thing.kind == found[0].thing.kind]
    return found if len(found) == 1 or _ALL.search(question) or re.search(r"\b(?:two|both)\b", question, re.I) else []


def _bounds(said: str, moments: Moments) -> _Bounds | None:
    """Return the bounds that a question names."""
    now = moments.call.now
    begin = now.replace(hour=0, minute=0, second=0, microsecond=0) if _TODAY_TOO.search(said) else now
    named = periods_meant(said, now)
    if (since := _SINCE_WHAT.search(said)) is not None and naming_keys(without_times(since["what"], now)):
        first = moments.of(since["what"], tense="past")
        is_past = first is not None and first.start < now
        return _Bounds(first.end, now, first.is_sure, first.rests_on) if first is not None and is_past else None
    if (before := _BEFORE.search(said)) is not None and naming_keys(without_times(before["what"], now)):
        last = moments.of(_without_today(before["what"]), tense="ahead")
        is_ahead = last is not None and last.start > now
        return _Bounds(begin, last.start, last.is_sure, last.rests_on) if last is not None and is_ahead else None
    if _SO_FAR.search(said):
        if named and named[0].start < now:
            return _Bounds(named[0].start, now)
        return _Bounds(moments.things.window.start, now, is_so_far=True)
    if named:
        is_left = _STILL_LEFT.search(said) is not None and named[0].start < now < named[0].end
        return _Bounds(begin if is_left else named[0].start, named[0].end)
    return None


def _without_today(said: str) -> str:
    return re.sub(r"\b(?:today|tonight)(?:['’]s)?\b.*", "", said, flags=re.I)


def _shown(times: Sequence[Time]) -> tuple[Witness, ...]:
    return tuple(one.witness for one in times)


def _chance(meant: Sequence[Meant]) -> float:
    return 1.0 if all(one.is_sure for one in meant) else DOUBTED
