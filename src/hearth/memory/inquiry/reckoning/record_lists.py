"""Lists of records that meet a condition; all reckoned answers in the order in which they are tried."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from hearth import patterns as re
from hearth.language.temporal.time_words import MONTHS
from hearth.memory.inquiry.answer_telling import card_meant, card_witness
from hearth.memory.inquiry.reckoning.amount_steps import amounts_answer
from hearth.memory.inquiry.reckoning.dated_things import (
    BIRTHDAY,
    DatedThings,
    Kind,
    Moment,
    Moments,
    Thing,
    Time,
    in_order,
    moment_said,
    naming_keys,
    periods_meant,
    tense_of,
)
from hearth.memory.inquiry.reckoning.time_spans import (
    age_answer,
    end_answer,
    length_answer,
    length_said,
    next_answer,
    span_answer,
    times_answer,
)
from hearth.memory.inquiry.record_answers import birthdays_in
from hearth.memory.search.collecting import said_birth, said_date
from hearth.memory.search.passage_store import PassageStore
from hearth.memory.search.search_words import Period, key_of, key_set, without_times
from hearth.protocols import CallContext, HomeAnswer, ValueKind, Witness
from hearth.tools.mail.mailbox import places
from hearth.tools.memory import DOUBTED, N_SHOWN
from hearth.tools.pim.contacts import Card

# ── Record lists ──────────────────────────────────────────────────────────────────────────────────────────
# Filters, orders, counts and groups the owner's records: mails, people and events.
#
# What is asked is a kind of record, what it must have (unread, without a phone number, in a time, since something),
# and an operation (count, list, first, last, longest, most). Other words of the question must stand in the rows;
# where they stand in none, nothing is answered.
#
# Covered: one kind of record in a question; the day or the time of one thing as the bound of others. Not covered:
# sums (`amount_steps`), orders by what a text says; periods farther off than `dated_things` looks, and of homes with
# more mails than it reads all but the last one: there nothing is told.

_YEAR_AHEAD = dt.timedelta(days=366)
_HOW_MANY = re.compile(r"\b(?:how (?:many|much)|number of)\b", re.I)
_LAST = re.compile(r"\b(?:last|latest|newest|most recent(?:ly)?)\b", re.I)
_FIRST = re.compile(r"\b(?:oldest|first|earliest|longest)\b", re.I)
_SINCE = re.compile(r"\b(?:since|after) (?P<what>.+)", re.I)
_LEFT = re.compile(r"\b(?:still|left|remaining|to come|coming|ahead)\b", re.I)

_MAILS = re.compile(
    r"\b(?:e-?mail(?:s|ed)?|mail(?:s|ed)?|messages?|messaged|correspondents?|wr(?:ote|itten|ites?|iting)|inbox)\b", re.I
)
_UNREAD = re.compile(
    r"(?:\b(?:unread|unopened)|(?:\bnot|n['’]?t|\bnever)(?: (?:yet|i|we))* (?:read|opened?|looked at))\b", re.I
)
_OFTEN = re.compile(r"\b(?:most often|more often|most frequent\w*|most)\b", re.I)
_TWICE = re.compile(r"\b(?:more than once|twice|several times|repeatedly|again and again)\b", re.I)
_WHO = re.compile(r"\b(?:who|whom|whose|which (?:people|persons?|correspondents?|senders?))\b", re.I)
_WHICH = re.compile(r"\s*(?:which|who|whose|what(?:['’]?s)?)\b(?! (?:was|is|were|are|did|does)\b.*\babout\b)", re.I)
_OF_ANOTHER_KIND = re.compile(r"\s*(?:when|what did)\b", re.I)
_OF_MAILS = key_set(
    "correspondent correspondents unread unopened read opened inbox received receive oldest newest longest "
    "more often rest than once twice several most frequently others anyone else person people sender senders "
    "box arrived remain remains lying yet never look looked among waiting wait"
)
_PERSONS = re.compile(r"\bhow many (?:different )?(?:people|persons|senders)\b", re.I)
_PEOPLE = re.compile(
    r"\b(?:people|folks|persons?|contacts?|address ?book|cards?|who|whom|everyone|anybody|places)\b", re.I
)
_NO = (
    r"(?:\b(?:no|without|lack\w*|missing|(?:\w*n['’]?t|not) (?:have|got)|never (?:got|had)))\b(?: (?:an?|any|the|own))?"
)
_GOT = r"\b(?:have|has|got|with|by|only)\b"
_HAS: dict[str, tuple[str, Callable[[Card], bool]]] = {
    "phone": (r"(?:(?:tele)?phone|mobile|cell)(?: numbers?)?|numbers?", lambda card: bool(card.phone)),
    "mail": (r"e-?mail(?: address(?:es)?)?|mail address(?:es)?", lambda card: bool(card.email)),
    "birthday": (r"birth(?:day|date)s?|bdays?|date of birth", lambda card: card.birth is not None),
    "address": (r"(?:postal |home |street )?(?<!mail )address(?:es)?(?! ?book)", lambda card: bool(card.address)),
}
_OF_PEOPLE = key_set(
    "e folks people person persons contact contacts address addresses book card cards place places reach call because "
    "phone telephone mobile cell number numbers email mail birthday birthdays bday bdays birth date without any own "
    "lack lacks lacking missing list stored saved only know anybody everyone oldest youngest alive kept"
)
_OLDEST, _YOUNGEST = re.compile(r"\boldest\b", re.I), re.compile(r"\byoungest\b", re.I)
_AFTER_BIRTHDAY = re.compile(r"\b(?:next|after|then|follow\w*)\b", re.I)
_BUSIEST = re.compile(
    r"\b(?:busiest|busier|fullest|fuller|most (?:events|appointments|things|entries|on)|more (?:events|on))\b", re.I
)
_OF_TWO = re.compile(rf"\b(?:{'|'.join(MONTHS)}),? or (?:in )?(?:{'|'.join(MONTHS)})\b", re.I)
_OF_ORDER = key_set("first last next right directly straight immediately comes follow follows right")
_SHORTEST, _LONGEST = re.compile(r"\bshortest\b", re.I), re.compile(r"\blongest\b", re.I)
_EVENTS = re.compile(r"\b(?:calendar|diary|events?|appointments?|meetings?|things?|stuff|entries|engagements?)\b", re.I)
_OF_EVENTS = key_set(
    "calendar diary event events appointment appointments meeting meetings thing things stuff entry entries "
    "engagement engagements busiest busier fullest fuller most more shortest longest class classes included "
    "including too agenda schedule scheduled planned booked month week day weekday remain remaining booking "
    "regular weekly usual other else same any anything something rest coming"
)
_HOW_MANY_EVENTS = re.compile(rf"\bhow (?:many|much) (?:more |other |of my )?(?:\w+ ){{0,2}}?{_EVENTS.pattern}", re.I)
_BEHIND = re.compile(
    r"\s*(?:what|which|and what)\b(?P<kind>.*?)\b(?P<how>after|before|follows|precedes) (?P<what>[^,]+?)"
    r"(?:,? (?:in|on) (?:my|the) (?:calendar|diary))?",
    re.I,
)
_ONE_OF = re.compile(
    r"\s*(?:(?:what|which|when)(?:['’]?s| is| was| will be)? )?(?:my |the |our )?(?P<how>first|last|next)\b", re.I
)
_SAME_DAY = re.compile(
    r".*\b(?:(?:what|anything|which) (?:else|other)|what (?:do|did) i have|what(?:['’]?s| is| happens)|anything)\b.*?"
    r"\b(?:(?:the )?(?:same )?day (?:of|as|that|when|with|i)|day)\b(?P<what>.+)",
    re.I,
)
_SAME_TIME = re.compile(
    r".*\b(?:which|what) (?:of my )?(?P<kind>(?:\w+ ){0,2}?(?:reminders?|events?|appointments?|engagements?|things?"
    r"|classes|class))\b.*?\b(?:when|while|during|into|at the (?:same )?(?:time|moment|start|beginning) (?:of|as|when"
    r"|that)|as|over|on top of|with) (?P<what>.+)",
    re.I,
)


def lists_answer(question: str, moments: Moments) -> HomeAnswer | None:
    """Answer a question over the records of one kind; None where it asks for nothing of the kind."""
    operations = (_weekday, _next_birthday, _oldest, _people, _mails, _in_order, _same_time, _busiest, _events)
    return next((told for one in operations if (told := one(question, moments)) is not None), None)


# ── People ────────────────────────────────────────────────────────────────────────────────────────────────


def _people(question: str, moments: Moments) -> HomeAnswer | None:
    """Count or list the people who have something, or have it not."""
    if not _PEOPLE.search(question) or naming_keys(question) - _OF_PEOPLE:
        return None
    lacking = {name for name, (form, _) in _HAS.items() if re.search(rf"{_NO} (?:\w+ )?(?:{form})\b", question, re.I)}
    said = {name for name, (form, _) in _HAS.items() if re.search(rf"{_GOT}.*\b(?:{form})\b", question, re.I)}
    having, is_count = said - lacking, _HOW_MANY.search(question) is not None
    if not lacking and not (having and is_count):
        return None
    cards = [
        card
        for card in moments.things.cards
        if all(_HAS[name][1](card) for name in having) and not any(_HAS[name][1](card) for name in lacking)
    ]
    if is_count:
        return HomeAnswer("number", f"{len(cards)} contact{'s' if len(cards) != 1 else ''}", "", _of_cards(cards))
    if not cards and moments.things.cards:
        return HomeAnswer("text", f"Nobody: none of {len(moments.things.cards)} cards", "", ())
    return HomeAnswer("list", ", ".join(card.name for card in cards), "", _of_cards(cards))


def _oldest(question: str, moments: Moments) -> HomeAnswer | None:
    youngest = _YOUNGEST.search(question) is not None
    if not (youngest or _OLDEST.search(question)) or not _PEOPLE.search(question):
        return None
    cards = [card for card in moments.things.cards if card.birth is not None and card.birth.year]
    if naming_keys(question) - _OF_PEOPLE or _MAILS.search(question) or not cards:
        return None
    chosen = (max if youngest else min)(cards, key=lambda card: (card.birth and card.birth.date()) or dt.date.min)
    called = f" ({', '.join(chosen.nicknames)})" if chosen.nicknames else ""
    born = said_birth(chosen.birth) if chosen.birth else ""
    return HomeAnswer("text", f"{chosen.name}{called}, {born}", "", _of_cards([chosen]))


def _next_birthday(question: str, moments: Moments) -> HomeAnswer | None:
    """Return whose birthday comes after somebody's."""
    if not re.search(BIRTHDAY, question, re.I) or not _AFTER_BIRTHDAY.search(question) or not _WHO.search(question):
        return None
    first = moments.of(question)
    if first is None or first.thing is not None or first.witness is None:
        words = re.findall(r"\b[A-Z][\w-]+|\bmy [\w-]+", question)
        card = next((one for word in words if (one := card_meant(word, moments.things.cards)) is not None), None)
        first = moments.of(f"{card.name}'s birthday") if card is not None else None
    if first is None or first.witness is None:
        return None
    start = first.at + dt.timedelta(days=1)
    born = birthdays_in(Period(start, start + _YEAR_AHEAD), moments.call)
    own = [one for one in born if one.record != first.witness.record]
    return HomeAnswer("text", own[0].quote, "", (own[0], first.witness)) if own else None


def _of_cards(cards: Iterable[Card]) -> tuple[Witness, ...]:
    return tuple(
        replace(card_witness(card, ""), quote=" ".join((card.name, card.phone, card.email)).strip()) for card in cards
    )


# ── Mails ─────────────────────────────────────────────────────────────────────────────────────────────────


def _mails(question: str, moments: Moments) -> HomeAnswer | None:
    """Count mails, list those that were not read, or tell the first, the last, or who wrote most."""
    asked = _asked_of_mails(question)
    if not asked or (asked != "last" and not moments.things.has_all_mails):
        return None
    found = _mails_of(question, moments)
    if found is None or not found[0]:
        return None
    rows, wanted, since = found
    if asked in ("people", "count"):
        n_mails = f"{len(rows)} mail{'s' if len(rows) != 1 else ''}"
        told = f"{len(set(map(person_of, rows)))} people" if asked == "people" else n_mails
        return _of_mails("number", told, rows, moments, since)
    if asked == "list":
        told = "; ".join(f"“{one.title}” from {person_of(one)}" for one in rows[:N_SHOWN])
        return _of_mails("list", told, rows, moments, since)
    is_who = _WHO.search(question) is not None
    if asked in ("often", "twice"):
        return _often(rows, moments, since, is_most=asked == "often") if is_who and not wanted else None
    if wanted and not _WHICH.match(question):
        return None  # what a mail says is read
    chosen = _at_end([one for one in rows if wanted <= one.named], is_last=asked == "last")
    if chosen is None:
        return None
    told = person_of(chosen) if is_who else f"“{chosen.title}” from {person_of(chosen)}"
    return _of_mails("text", told, [chosen], moments, since)


def _at_end(mails: Sequence[Thing], *, is_last: bool) -> Thing | None:
    """Return the last of mails, or the first; None of none."""
    return (max if is_last else min)(mails, key=lambda one: one.times[0].start, default=None)


def _asked_of_mails(question: str) -> str:
    """Return what is asked of mails: `people`, `count`, `often`, `twice`, `last`, `first` or `list`; else nothing."""
    if not _MAILS.search(question) or _OF_ANOTHER_KIND.match(question):
        return ""
    is_unread = _UNREAD.search(question) is not None
    if _HOW_MANY.search(question):
        # Those of a time are counted by `record_answers`.
        is_bound = is_unread or _SINCE.search(question) is not None
        return "people" if _PERSONS.search(question) else "count" if is_bound else ""
    forms = {"last": _LAST, "first": _FIRST, "often": _OFTEN, "twice": _TWICE}
    ordered = next((name for name, form in forms.items() if form.search(question)), "")
    return ordered or ("list" if is_unread and _WHICH.match(question) else "")


def person_of(mail: Thing) -> str:
    """Return who wrote a mail."""
    return mail.passage.person if mail.passage is not None else ""


def _mails_of(question: str, moments: Moments) -> tuple[list[Thing], set[str], Moment | None] | None:
    """Return the mails that a question is about, the words that they were chosen by, and the moment since which; None
    where it bounds them by what is not known."""
    first: Moment | None = None
    asked, period = question, next(iter(periods_meant(question, moments.call.now)), None)
    if period is None and (since := _SINCE.search(question)) is not None:
        first = moments.of(since["what"], tense="past")
        if first is None or first.thing is None or first.thing.kind == "mail" or first.start > moments.call.now:
            return None
        asked, period = question[: since.start()], Period(first.end, moments.call.now)
    rows = [thing for thing, _ in _rows(moments, period, "mail")]
    if _UNREAD.search(question):
        unread = {str(place.id) for place in places(moments.call.workspace) if place.is_unread}
        rows = [one for one in rows if one.passage is not None and one.passage.record in unread]
    wanted = naming_keys(without_times(asked, moments.call.now)) - _OF_MAILS
    return [one for one in rows if wanted <= one.named | one.said], wanted, first


def _often(rows: Sequence[Thing], moments: Moments, since: Moment | None, *, is_most: bool) -> HomeAnswer | None:
    """Tell who wrote most, or more than once."""
    n = Counter(map(person_of, rows))
    least = max(n.values()) if is_most else 2
    people = [person for person, count in n.most_common() if count >= least]
    if not people or least < 2:
        return None
    own = [one for one in rows if person_of(one) in people]
    return _of_mails("list", ", ".join(f"{person} ({n[person]})" for person in people), own, moments, since)


def _of_mails(kind: ValueKind, value: str, rows: Sequence[Thing], moments: Moments, since: Moment | None) -> HomeAnswer:
    """Tell what was found of mails; with doubt where people are told who may be others than they say."""
    witnesses = tuple(one.times[0].witness for one in rows)
    is_sure = since is None or since.is_sure
    if kind != "number":
        is_sure = is_sure and all(moments.things.is_by_whom_it_says(one) for one in rows[:N_SHOWN])
    return HomeAnswer(
        kind, value, "", witnesses + (since.rests_on if since is not None else ()), 1.0 if is_sure else DOUBTED
    )


# ── Events ────────────────────────────────────────────────────────────────────────────────────────────────


def _rows(moments: Moments, period: Period | None, kind: Kind = "event") -> list[tuple[Thing, Time]]:
    """Return the times of a period, each with its thing, the earliest first."""
    rows = [
        (thing, time)
        for thing in moments.things.of((kind,))
        for time in thing.times
        if period is None or period.holds(time.start)
    ]
    return sorted(rows, key=lambda row: row[1].start)


def _busiest(question: str, moments: Moments) -> HomeAnswer | None:
    """Tell on which day, or in which of some months, most events stand."""
    now = moments.call.now
    if not _BUSIEST.search(question):
        return None
    if naming_keys(without_times(question, now)) - _OF_EVENTS - set(map(key_of, MONTHS)):
        return None
    named = periods_meant(question, now)
    months = [one for one in named if one.end - one.start > dt.timedelta(days=27)]
    is_month = len(months) > 1 and (_OF_TWO.search(question) or re.search(r"\bmonth\b", question, re.I))
    if not named or not (is_month or re.search(r"\b(?:day|weekday)\b", question, re.I)):
        return None
    asked = months if is_month else named[:1]
    if not all(moments.things.covers(one.start, one.end) for one in asked):
        return None
    by_part: dict[dt.date, list[Time]] = defaultdict(list)
    for period in asked:
        for _, time in _rows(moments, period):
            by_part[time.start.date().replace(day=1) if is_month else time.start.date()].append(time)
    return _fullest(by_part, is_month=bool(is_month))


def _fullest(by_part: Mapping[dt.date, Sequence[Time]], *, is_month: bool) -> HomeAnswer | None:
    """Tell the day or month with most times; None where there are several."""
    most = max(map(len, by_part.values()), default=0)
    parts = [part for part, times in by_part.items() if len(times) == most]
    if len(parts) != 1:
        return None
    times = by_part[parts[0]]
    said = f"{parts[0]:%B %Y}" if is_month else said_date(times[0].start)
    return HomeAnswer("date", f"{said} ({most} events)", "", _shown(times))


def _events(question: str, moments: Moments) -> HomeAnswer | None:
    """Count the events of a period, or tell its longest or shortest."""
    is_count = _HOW_MANY_EVENTS.search(question) is not None
    is_short = _SHORTEST.search(question) is not None
    named = periods_meant(question, moments.call.now)
    if not _EVENTS.search(question) or not named or not (is_count or is_short or _LONGEST.search(question)):
        return None
    if naming_keys(without_times(question, moments.call.now)) - _OF_EVENTS or _MAILS.search(question):
        return None
    period = named[0]
    if _LEFT.search(question) and period.start < moments.call.now < period.end:
        period = Period(moments.call.now, period.end)
    rows = _rows(moments, period)
    if not moments.things.covers(period.start, period.end):
        return None
    if is_count:
        n = f"{len(rows)} event{'s' if len(rows) != 1 else ''}"
        return HomeAnswer("number", n, "", _shown([time for _, time in rows]))
    return _longest(rows, is_short=is_short) if rows else None


def _longest(rows: Sequence[tuple[Thing, Time]], *, is_short: bool) -> HomeAnswer | None:
    """Tell the longest of events, or the shortest; None where they take no time."""
    lengths = [time.length for _, time in rows]
    wanted = min(lengths) if is_short else max(lengths)
    chosen = [row for row, length in zip(rows, lengths, strict=True) if length == wanted]
    names = dict.fromkeys(thing.title for thing, _ in chosen)
    value = f"{', '.join(names)} ({length_said([chosen[0][1]])})"
    return HomeAnswer("text", value, "", _shown([time for _, time in chosen])) if wanted else None


def _in_order(question: str, moments: Moments) -> HomeAnswer | None:
    """Tell which event comes next after a thing or before it, or first or last in a period."""
    asked, is_sure, beside = question.strip(" ?.!"), True, tuple[Witness, ...]()
    behind, one_of = _BEHIND.fullmatch(asked), _ONE_OF.match(asked)
    chosen: tuple[Thing, Time] | None = None
    if behind is not None and not naming_keys(behind["kind"]) - _OF_EVENTS - _OF_ORDER:
        moment = moments.of(behind["what"], tense=tense_of(asked))
        if moment is not None and moment.thing is not None and moment.thing.kind == "event":
            beside = moment.rests_on
            is_after, is_sure = behind["how"].casefold() in ("after", "follows"), moment.is_sure
            chosen = _next_to(moment, moments, is_after=is_after)
    elif one_of is not None and _EVENTS.search(asked):
        chosen = _end_of_period(asked, moments, is_last=one_of["how"].casefold() == "last")
    if chosen is None:
        return None
    thing, time = chosen
    return HomeAnswer("text", f"{thing.title}, {time.said}", "", (time.witness, *beside), 1.0 if is_sure else DOUBTED)


def _next_to(moment: Moment, moments: Moments, *, is_after: bool) -> tuple[Thing, Time] | None:
    """Return the event that begins next after a thing, or began last before it."""
    rows = [row for row in _rows(moments, None) if row[0] != moment.thing]
    if is_after:
        return next((row for row in rows if row[1].start >= moment.end), None)
    return max((row for row in rows if row[1].end <= moment.start), key=lambda row: row[1].start, default=None)


def _end_of_period(asked: str, moments: Moments, *, is_last: bool) -> tuple[Thing, Time] | None:
    """Return the first or last event of the period that a question names."""
    # "First thing" is itself a time, and shorter than the one in which it is.
    named = sorted(periods_meant(asked, moments.call.now), key=lambda one: one.end - one.start)
    if not named or naming_keys(without_times(asked, moments.call.now)) - _OF_EVENTS - _OF_ORDER:
        return None
    if not moments.things.covers(named[-1].start, named[-1].end):
        return None
    rows = _rows(moments, named[-1])
    return rows[-1 if is_last else 0] if rows else None


def _same_time(question: str, moments: Moments) -> HomeAnswer | None:
    """Tell what else stands on the day of a thing, or at its time."""
    asked = question.strip(" ?.!")
    day = _SAME_DAY.fullmatch(asked)
    at = None if day else _SAME_TIME.fullmatch(asked)
    found = day or at
    if found is None or not naming_keys(found["what"]):
        return None
    moment = moments.of(found["what"])
    if moment is None or moment.thing is None or moment.thing.kind != "event":
        return None
    if at is None:
        start = moment.start.replace(hour=0, minute=0)
        rows = _rows(moments, Period(start, start + dt.timedelta(days=1)))
    else:
        rows = _beside(at["kind"], moment, moments)
    rows = [row for row in rows if row[0] != moment.thing]
    value = "; ".join(
        thing.title if time.is_all_day else f"{thing.title} ({time.start:%H:%M})" for thing, time in rows[:N_SHOWN]
    )
    chance = 1.0 if moment.is_sure else DOUBTED
    witnesses = (*_shown([time for _, time in rows]), *moment.rests_on)
    return HomeAnswer("list", value, "", witnesses, chance) if rows else None


def _beside(kind: str, moment: Moment, moments: Moments) -> list[tuple[Thing, Time]]:
    """Return the events or reminders that meet a moment; of a start, those that are going on then."""
    if naming_keys(kind) - _OF_EVENTS - {key_of("reminders")}:
        return []
    around = Period(moment.start - dt.timedelta(days=1), moment.end)
    end = moment.start if moment.is_start else moment.end
    rows = _rows(moments, around, "reminder" if "reminder" in kind.casefold() else "event")
    return [row for row in rows if row[1].start == moment.start or _meet(row[1], moment.start, end)]


def _meet(time: Time, start: dt.datetime, end: dt.datetime) -> bool:
    return time.start <= end and start < time.end and time.start != end


def _weekday(question: str, moments: Moments) -> HomeAnswer | None:
    """Tell on which day of the week something is."""
    asked = re.search(r"\b(?:(?:what|which) )?(?:week ?day|day of the week)\b", question, re.I)
    if asked is None or _BUSIEST.search(question):
        return None
    moment = moments.of(f"{question[: asked.start()]} {question[asked.end() :]}", tense=tense_of(question))
    if moment is None or moment.witness is None or moment.exactness == "year":
        return None
    value = said_date(moment.start) if moment.exactness == "day" else moment_said(moment.start)
    return HomeAnswer("date", value, "", (moment.witness,), 1.0 if moment.is_sure else DOUBTED)


def _shown(times: Collection[Time]) -> tuple[Witness, ...]:
    return tuple(one.witness for one in in_order(times))


# ── Reckoned answers ──────────────────────────────────────────────────────────────────────────────────────
# Tries the operations over the owner's records in turn; the first that knows all it needs answers.

LONGEST_QUESTION = 300
"""Most characters of a question that is reckoned."""
_OF_TIMES = (age_answer, span_answer, end_answer, lists_answer, next_answer, times_answer, length_answer)


def reckoned_answer(question: str, passages: PassageStore, call: CallContext) -> HomeAnswer | None:
    """Reckon the answer to a question; None where no operation is asked for, or not all that it needs is known."""
    if len(question) > LONGEST_QUESTION:
        return None
    try:
        moments = Moments(DatedThings(passages, call, periods_meant(question, call.now)))
        told = next(
            (told for operation in (*_OF_TIMES, amounts_answer) if (told := operation(question, moments)) is not None),
            None,
        )
    except (OverflowError, ValueError):  # a time beyond the years 1 to 9999
        return None
    return replace(told, is_reckoned=True) if told is not None else None
