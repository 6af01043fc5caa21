"""Answers from records: fields of cards, events and mails, and their dates."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

from hearth import patterns as re
from hearth.language.temporal.time_words import MONTHS
from hearth.language.tokens import Query, stems, word_set
from hearth.language.values.slots import find_slots
from hearth.memory.inquiry.answer_reading import WHOLE, is_strangers, known_addresses, money_in, money_text
from hearth.memory.inquiry.answer_telling import card_meant, card_witness, cards_of, is_of, past_of, row_day, witness_of
from hearth.memory.inquiry.asking_mails import due_answer, waiting_answer, wanted_answer
from hearth.memory.inquiry.grouped_sums import grouped_answer, groups_asked
from hearth.memory.inquiry.sums_within import Item, items_of
from hearth.memory.search.collecting import said_date, unquoted_place_of
from hearth.memory.search.passage_store import SENTENCE, Passage, PassageStore, unwrapped
from hearth.memory.search.search_words import Period, key_set, keys_of, times_named, without_times
from hearth.protocols import CallContext, HomeAnswer, Witness
from hearth.tools.mail.mailbox import SENT
from hearth.tools.memory import DOUBTED, N_SHOWN, NOTHING_THERE
from hearth.tools.pim.calendar import Event, Events, Search
from hearth.tools.pim.contacts import read_cards
from hearth.types import Context

# ── Record answers ────────────────────────────────────────────────────────────────────────────────────────
# Answers that are worked out over the owner's records instead of read in one: clashes, money, counts, open questions.
#
# What is asked is parsed into an operation, the words of the matter, and a period (`asked_of_records`); the rows that
# meet them are found, and the answer is computed from them and shows them. A row is an event with its time, an amount
# of money where it stands (a table's row, or the sentence of a mail or document that states it), a mail that waits
# for an answer.
#
# Covered: times that overlap; sum, mean, most and least of amounts, by currency and by month, and how far two sums
# are apart; how many mails, events, birthdays, notes; who waits for an answer (`asking_mails`). Not covered: several
# operations in one question; an amount that is stated in words; exchange of currencies (a sum for each); a mail that
# states the same amount again is a row of its own, unless its title and amount are the same.

_OfAmounts = Literal["sum", "mean", "most", "least", "column", "groups", "apart"]
_OfRecords = Literal["birthdays", "clash", "count", "held", "undone"]
Operation = _OfAmounts | _OfRecords | Literal["waiting", "wanted", "due"]
_N_READ = 2000
"""Most passages that are counted."""
LOOKED_AHEAD = dt.timedelta(days=14)
_JUST_BEEN = dt.timedelta(days=60)
"""How long a day without a year is the past one, in a question for clashes."""
_A_YEAR = dt.timedelta(days=366)
_NEAR = dt.timedelta(days=28)
_LEAST_NAMED = 0.5
"""An event is named by a question for clashes that says this share of its own words in the title."""
_OF_CLASHES = key_set(
    "clash overlap conflict double booked anything any thing event appointment calendar diary with same time day day's"
    " plan schedule have there is two at once both already else something"
)
_CLASH = re.compile(r"\b(?:clash(?:es|ing)?|overlaps?|overlapping|conflicts?|conflicting|double[- ]?booked)\b", re.I)
_WAITING = re.compile(
    r"\b(?:who|whom|whose|anyone|anybody|which (?:mails?|people)|what)\b.*\b(?:wait\w*|owe|owing|unanswered"
    r"|repl(?:y|ied)|answer(?:ed)?|respon\w+|(?:leave|left) (?:hanging|open|lying)"
    r"|get(?:ting)? back|heard back|wr(?:ite|iting|itten|ote) back|(?:got|gotten) back)\b",
    re.I,
)
_DUE = re.compile(
    r"\s*(?:(?:by|until|till) when|when|what(?:'s| is) the latest(?: that)?) (?:does|do|did|is|has|must|should|can)"
    r" (?P<who>[^?]{2,40}?) (?:need|want|expect|require|ask)\w* "
    r"[^?]*\b(?:answer|reply|hear|know|decision|response|word|yes|confirm\w*)\b",
    re.I,
)
_UNDONE = re.compile(
    r"\s*(?:which|what) (?P<what>[\w -]{3,40}?) (?:(?:have|has|are|is|were|was)(?:n['’]?t| not)|(?:are|is) still not)"
    r" (?:yet )?(?:been )?(?:yet )?(?P<done>\w+(?:ed|id|en|nt|ne))\b",
    re.I,
)
"""Asks for the things of a list that something was not done to: "which invoices haven't been paid yet"."""
_HELD = re.compile(
    r"\s*how many (?P<what>[^\W\d_]+(?: [^\W\d_]+)??) (?:am|are|do|did|have|had|will|was|were) (?:i|we)\b(?P<rest>.*)",
    re.I,
)
"""Asks for the number of times of something that may stand in the calendar: "how many shows am I doing in October"."""
_COLUMN = re.compile(r"\s*how many (?P<what>[^\W\d_]+) (?:has|have|had|did) (?P<rest>.+)", re.I)
"""Asks for what a table may have a column of: "how many hours has Ana had since May"."""
_BIRTHDAYS = re.compile(
    r"\s*(?:who|whose|which|any)\b(?!.*\b(?:when|how|oldest|youngest)\b).*\bbirthdays?\b(?!.*\bnext\b\s*[?.!]*\Z)", re.I
)
_HAS_BEEN = re.compile(r"\b(?:did|had|was|were|so far)\b|\bhave (?:i|we) (?:been|gone|done)\b", re.I)
_SOON = dt.timedelta(days=60)
_IS_PAST = re.compile(r"\b(?:did|have|had|has|was|were)\b", re.I)
_LONG = dt.timedelta(days=7300)
_PASSED = re.compile(r"(?:been|passed|gone|elapsed|left|till|until|til|since|before|after|ago)\b", re.I)
_DOING = word_set("""do doing did done have having had play playing go going went work working worked attend attending
    get got still planned booked left scheduled there this that""")
_WANTING = re.compile(
    r"\s*what (?:does|did|do|is|has) (?P<who>[^?]{2,40}?) (?:need|want|ask|expect|require)(?:ing|ed|s)?"
    r"(?: (?:from|of|for from) (?:me|us)| (?:me|us)(?: (?:to|for)\b.*)?)?\s*[?.!]*\s*\Z",
    re.I,
)
_SPENT = re.compile(
    r"\b(?:spen[dt]|spending|paid|pay|cost|costs|owed?|bills?|total|sum|invoices?|rent|expens\w+|charged?|amount|earn(?:ed|ings)?"
    r"|income|takings)\b",
    re.I,
)
_MONEY_ASKED = re.compile(
    r"\s*(?:how much (?:money )?(?:did|do|have|has|was|were|is|are)|what (?:did|do|have|has)|what(?:'s| is| was)"
    r"|how much|which|what)\b",
    re.I,
)
_MONTHS_TOGETHER = re.compile(rf"\b(?:{'|'.join(MONTHS)}) (?:and|&|plus) (?:{'|'.join(MONTHS)})\b", re.I)
_SUMS = re.compile(
    r"\b(?:did (?:i|we) (?:spend|pay|earn)|(?:have|has) (?:i|we|(?:the|our|my) \w+)"
    r" (?:spent|paid|earned)|(?:do|did) (?:i|we) .*\bspend|total"
    r"|(?:have|has) (?:(?!n['’]t|not |i |we |it |this |that )[\w'’.&-]+ ){1,4}(?:ever |already )?"
    r"(?:paid|charged|earned|brought in|cost)(?: (?:me|us))?\b"
    r"(?= (?:in|this|last|since|so|during|over|altogether)\b|[\s?.!]*\Z)"
    rf"|altogether|in all|all told|so far|sum of|(?:all|put|taken) together|combined)\b|{_MONTHS_TOGETHER.pattern}",
    re.I,
)
_MEAN = re.compile(r"\b(?:average|mean|on average|typical(?:ly)?)\b", re.I)
_MOST = re.compile(r"\b(?:most expensive|highest|biggest|largest|dearest|greatest)\b", re.I)
_LEAST = re.compile(r"\b(?:cheapest|lowest|smallest|least)\b", re.I)
_OF_AMOUNTS: dict[Operation, re.Pattern[str]] = {"mean": _MEAN, "most": _MOST, "least": _LEAST, "sum": _SUMS}
_COUNT = re.compile(
    r"\s*how many\b(?: \w+){0,2}? (?P<what>mails?|e-?mails?|messages?|events?|meetings?|appointments?|birthdays?|notes?"
    r"|contacts?|cards?|documents?|reminders?)\b",
    re.I,
)
_FILTERED = re.compile(r"\b(?:unread|unopened|not|never|no|without|lack\w*|missing|left|remain\w*)\b|n['’]t\b", re.I)
"""Filters rows by what none of them says."""
_OF_CARDS = re.compile(r"(?:tele)?phones?|mobiles?|numbers?|e-?mails?|address(?:es)?|birthdays?", re.I)
"""What a card has, and says of itself only by having it."""
_BOUND = re.compile(r"\b(?:since|after|follow(?:s|ing)?|before|until|till?)\b(?P<by>.+)", re.I)
_ALL_TOLD = re.compile(r"\b(?:all told|all in all|in sum|all in)\b", re.I)
"""Asks for a sum, in words that name no matter."""
_SMALL = word_set("""how much many what which when who whom did do does have has had was were is are i we my our spend
    spent spending earn earned earnings income pay paid cost costs total sum altogether all in on of for the a an this
    last next year month week since until average mean highest biggest largest cheapest lowest smallest most expensive
    least amount money get got so far and between from to at by it there be been first latest recent recently previous
    time times january february march april may june july august september october november december monday tuesday
    wednesday thursday friday saturday sunday today yesterday tomorrow ago mail mails email emails message messages
    event events meeting meetings appointment appointments birthday birthdays note notes contact contacts card cards
    document documents reminder reminders about with any come coming up received receive write wrote written writes send
    sent put taken together combined plus charge charged charges me us you it's his her their him them already all
    still""")
_TOTAL = re.compile(r"\b(?:total|due|amount|to pay|payable|is|was|for|costs?|price|over)\b", re.I)
_APART = re.compile(
    r"\s*how much (?:more|less)(?: money)? (?:did|have|do|had) (?:i|we)"
    r" (?:spen[dt]|pay|paid|earn(?:ed)?|make|made|take|taken) (?P<one>[^?]+?) than (?:(?:i|we) did )?(?P<other>[^?]+)",
    re.I,
)
"""Asks how far two sums are apart: "how much more did I spend on clay than on glaze"."""
_MOST_MONTHS = 12
_OFFERED = re.compile(
    r"\binstead of\b|\d ?% off\b|\b(?:from|only|save|was) [€£$]|\b(?:excess|deductible|own risk|insured|sum assured)\b"
    r"|\b(?:per|each|every) claim\b|\bcover(?:s|ed)? (?:up )?to\b|\bup to [€£$]",
    re.I,
)
"""Praises a price, or says what an insurance bears: nobody paid it."""
_PRICED = re.compile(
    r"\b(?:amount|cost|price|sum|total|paid|spent|earned|earnings|income|takings|fee|usd|eur|gbp|cad|aud|euros?|pounds?"
    r"|dollars?|kroner)\b|[€£$]|\bin ?\| ?out\b|\bcredit ?\| ?debit\b",
    re.I,
)
_INCLUDED = re.compile(
    r"\b(?:incl|including|includes|excl|excluding|plus|without|with)\b\.? (?:the |my )?(?P<what>[\w-]+)", re.I
)
_LONGEST_QUESTION = 1000
"""Most characters of a question that is worked out."""
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be worked out."""

    operation: Operation
    matter: str
    """The words that a row must hold; empty: any."""
    things: str = ""
    """For a count: what is counted, as it was said."""


@dataclass(frozen=True, slots=True)
class Amount:
    """A sum of money where it stands."""

    value: float
    currency: str
    passage: Passage
    quote: str
    at: dt.datetime | None
    is_strangers: bool = False
    """Whether somebody may have written it whom the owner has no card of."""
    parts: str = ""
    """How it was added up, of one that its text does not state."""
    is_total: bool = False
    """Whether its line says that it is what was to be paid."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """Where amounts are taken from."""

    passages: PassageStore
    call: CallContext
    is_order: Callable[[Passage, str], bool]
    """Whether a quotation of a passage, or the whole of it, reads like an instruction."""

    @property
    def now(self) -> dt.datetime:
        return self.call.now


def asked_of_records(question: str) -> Asked | None:
    """Parse a question that has to be worked out over records; None for one that is read."""
    if len(question) > _LONGEST_QUESTION:
        return None
    matter = matter_of(question)
    if (groups := groups_asked(question)) is not None:
        return Asked("groups", matter_of(groups.words), groups.group)
    if (apart := _APART.fullmatch(question.rstrip(" ?.!"))) is not None:
        return Asked("apart", apart["one"], apart["other"])
    if _CLASH.search(question):
        return Asked("clash", "")
    if (asked := _letters_asked(question) or _things_asked(question, matter)) is not None:
        return asked
    if (column := _column_asked(question)) is not None:
        return column
    if held := _HELD.match(question):
        words = matter_of(held["rest"]).split()
        return Asked("held", " ".join(word for word in words if word.casefold() not in _DOING), held["what"])
    return _money_asked(question, matter)


def _letters_asked(question: str) -> Asked | None:
    """Parse a question for who waits for an answer, what somebody wants or by when."""
    if _WAITING.search(question) and not _SPENT.search(question):
        return Asked("waiting", "")
    if wanting := _WANTING.match(question):
        return Asked("wanted", wanting["who"])
    due = _DUE.match(question)
    return Asked("due", due["who"]) if due else None


def _things_asked(question: str, matter: str) -> Asked | None:
    """Parse a question for records of a kind: how many there are, the birthdays, or those a thing was not done to."""
    if counted := _COUNT.match(question):
        return Asked("count", matter, counted["what"].casefold())
    if _BIRTHDAYS.match(question):
        return Asked("birthdays", "")
    undone = _UNDONE.match(question)
    return Asked("undone", matter_of(undone["what"]), undone["done"].casefold()) if undone else None


def _money_asked(question: str, matter: str) -> Asked | None:
    """Parse a question for what is made of the amounts of a matter."""
    if not (_MONEY_ASKED.match(question) and _SPENT.search(question) and matter):
        return None
    return next((Asked(operation, matter) for operation, form in _OF_AMOUNTS.items() if form.search(question)), None)


def _column_asked(question: str) -> Asked | None:
    """Parse a question for the whole of what somebody did or had; None where it asks how long ago something was."""
    found = _COLUMN.match(question)
    if found is None or re.match(r"(?:i|we)\b", found["rest"], re.I):
        return None
    before = matter_of(_PASSED.split(found["rest"])[0])
    return Asked("column", before, found["what"].casefold()) if before else None


def _without_times(matter: str, question: str, call: CallContext) -> str:
    """Return the words of a matter that are in no time that the question names."""
    slots = find_slots(question, call.now, Context())
    timed = " ".join(f"{slot.cue} {question[slot.start : slot.end]}" for slot in slots if slot.kind == "time")
    return " ".join(word for word in matter.split() if word.casefold() not in timed.casefold().split())


def matter_of(text: str) -> str:
    """Return the words of a question that name its matter; no year, which is a period."""
    words = re.findall(r"[\w'’-]+", _ALL_TOLD.sub("", text))
    return " ".join(w for w in words if w.casefold().removesuffix("'s") not in _SMALL and not _YEAR.fullmatch(w))


def answer_from_records(
    question: str, passages: PassageStore, call: CallContext, is_order: Callable[[Passage, str], bool]
) -> HomeAnswer | None:
    """Work out the answer to a question; None if it asks for nothing of the kind, or no row meets it.

    Args:
        is_order: Tells whether a quotation of a passage, or the whole of it, reads like an instruction: what a stranger
            states there is not counted.
    """
    asked = asked_of_records(question)
    if asked is None:
        return None
    if asked.operation == "column":
        return None  # a table's, if one has it
    country = str(call.settings.get("owner", {}).get("country") or "")
    named = times_named(question, call.now, country)
    periods = [_meant(one, asked, question, call.now) for one in named]
    period = periods[0] if periods else None
    kept = _Kept(passages, call, is_order)
    if asked.operation in ("birthdays", "count", "held") and _is_bound(question, call):
        return None
    match asked.operation:
        case "clash":
            return _clashes_with(question, period, call) or _clashes(
                period or Period(call.now, call.now + LOOKED_AHEAD), call
            )
        case "birthdays":
            return _birthdays(period or Period(call.now, call.now + _SOON), call)
        case "waiting":
            return waiting_answer(call, passages, period)
        case "wanted":
            return wanted_answer(asked.matter, call, passages)
        case "due":
            return due_answer(asked.matter, call, passages)
        case "undone":
            return _undone(asked, passages)
        case "groups":
            groups = groups_asked(question)
            by_months = _by_months(asked, named[0] if named else None, kept)
            return by_months or (grouped_answer(groups, passages, is_order) if groups is not None else None)
        case "apart":
            return _apart(asked, kept)
        case "held":
            return _held(question, asked, period, call)
        case "count":
            return _count(question, asked, period, passages, call)
        case _:
            within = periods if _MONTHS_TOGETHER.search(question) else periods[:1]
            return _money(asked, within, kept) or (_nothing_spent(asked, kept) if within else None)


def _meant(period: Period, asked: Asked, question: str, now: dt.datetime) -> Period:
    """Return the period of last year where a month without its year is meant so: amounts and mails are of the past,
    events of the nearest."""
    is_past = asked.operation in ("sum", "mean", "most", "least")
    is_far = period.start - now > dt.timedelta(days=183)
    # "A clash on 28 November", asked on the 30th, is of the day that has just been.
    has_just_been = asked.operation == "clash" and past_of(period, now).end > now - _JUST_BEEN
    is_meant = is_past or (is_far and (has_just_been or asked.operation in ("held", "count")))
    if not is_meant or re.search(r"\b(?:\d{4}|next|coming)\b", question):
        return period
    return past_of(period, now)


# ── Events ────────────────────────────────────────────────────────────────────────────────────────────────


def events_in(call: CallContext, start: dt.datetime, end: dt.datetime, matter: str = "") -> list[Event]:
    """Return the events of a period that hold the words of a matter; of any matter, those that take up time."""
    found = Events(call).read(refresh=False).find(Search(Query(matter), start, end))
    return [event for entry, event in found if entry.is_busy or matter]


def _clashes_with(question: str, period: Period | None, call: CallContext) -> HomeAnswer | None:
    """Say what overlaps an event that a question names: "does anything clash with Ana's party"; None where it names
    none of the year to come, or of the period that it says."""
    asked = keys_of(matter_of(_CLASH.sub(" ", question))) - _OF_CLASHES
    wanted = {key for key in asked if not key[0].isdigit()}
    if not wanted:
        return None
    looked = period or Period(call.now, call.now + _A_YEAR)
    events = events_in(call, looked.start if looked.end <= call.now else max(looked.start, call.now), looked.end)
    shares = [len(wanted & keys_of(one.title)) / len(wanted) for one in events]
    most = max(shares, default=0.0)
    if most < _LEAST_NAMED:
        # "The airport run on the 22nd": of the month after this one.
        is_day = period is not None and period.end - period.start <= dt.timedelta(days=1)
        return _clashes_with(question, None, call) if is_day else None
    meant = [one for one, share in zip(events, shares, strict=True) if share == most]
    if period is None:
        meant = _near(meant, call.now)
    pairs = [(a, b) for a in meant for b in events if a is not b and a.start < b.end and b.start < a.end]
    found = _overlapping(pairs, call) if pairs else _nothing_with(meant, call)
    return found if most == 1 else replace(found, chance=DOUBTED)  # it may be another event that is meant


def _near(events: Sequence[Event], now: dt.datetime) -> list[Event]:
    """Return of what repeats the times that are near, or the next."""
    first = {one.title: one for one in reversed(events)}
    return [one for one in events if one is first[one.title] or one.start < now + _NEAR]


def _nothing_with(meant: Sequence[Event], call: CallContext) -> HomeAnswer:
    first = list({one.title: one for one in reversed(meant)}.values())[::-1]
    said = ", ".join(f"{one.title} ({said_date(one.start)}, {hours_of(one).split()[1]})" for one in first[:N_SHOWN])
    return HomeAnswer("yesno", f"{NOTHING_THERE} overlaps {said}", "", _witnesses(first, call))


def _overlapping(pairs: Sequence[tuple[Event, Event]], call: CallContext) -> HomeAnswer:
    clashing = list(dict.fromkeys(event for pair in pairs for event in pair))
    said = "; ".join(f"{a.title} ({hours_of(a)}) and {b.title} ({hours_of(b)})" for a, b in pairs[:N_SHOWN])
    return HomeAnswer("yesno", f"Yes: {said}", "", _witnesses(clashing, call))


def _clashes(period: Period, call: CallContext) -> HomeAnswer:
    """Say which events of a period overlap."""
    today = call.now.replace(hour=0, minute=0)
    events = events_in(call, period.start if period.end <= call.now else max(period.start, today), period.end)
    pairs = [(a, b) for a, b in combinations(events, 2) if a.start < b.end and b.start < a.end]
    if not pairs:
        how_many = ("you have no events", "you have only one event")
        whose = f" among your {len(events)} events" if len(events) > 1 else f": {how_many[len(events)]}"
        said = f"{NOTHING_THERE} overlaps{whose} {_said_stretch(period, call.now)}"
        return HomeAnswer("yesno", said, "", _witnesses(events, call))
    return _overlapping(pairs, call)


def _said_stretch(period: Period, now: dt.datetime) -> str:
    """Say a day, or the last one of several: `on 28 November`; with the year where it is not this one."""
    last = period.end - dt.timedelta(days=1) if period.end.time() == dt.time() else period.end
    year = f" {last.year}" if last.year != now.year else ""
    word = "on" if period.end - period.start <= dt.timedelta(days=1) else "until"
    return f"{word} {last.day} {last:%B}{year}"


def hours_of(event: Event) -> str:
    """Write when an event is: `Wednesday 18:00–20:00`."""
    return f"{event.start:%A} {event.start:%H:%M}–{event.end:%H:%M}"


def is_whole_days(start: dt.datetime, end: dt.datetime) -> bool:
    """Return whether something lasts whole days, from midnight to midnight."""
    return start.time() == end.time() == dt.time() and end > start


def witness_of_event(event: Event, call: CallContext) -> Witness:
    """Return an event that was found in a call as what an answer rests on; who wrote it is noted there."""
    at = f", at {event.place}" if event.place else ""
    hour = "" if is_whole_days(event.start, event.end) else f" {event.start:%H:%M}"
    return Witness(
        event.id,
        f"calendar “{event.title}”",
        f"{event.title}: {said_date(event.start)}{hour}{at}",
        call.origins.get(event.id, "file"),
        event.start,
        # The id of one time of a series could pass for another event's.
        kind="" if "#" in event.id else "event",
    )


def _witnesses(events: Iterable[Event], call: CallContext) -> tuple[Witness, ...]:
    return tuple(witness_of_event(event, call) for event in events)


# ── Counts ────────────────────────────────────────────────────────────────────────────────────────────────


def _count(
    question: str, asked: Asked, period: Period | None, passages: PassageStore, call: CallContext
) -> HomeAnswer | None:
    """Count the records that say the words of a matter; None where the question chooses them otherwise."""
    what = asked.things
    if _FILTERED.search(question):
        return None
    if what.startswith(("co", "ca")) and _OF_CARDS.search(question) and all(map(_OF_CARDS.match, asked.matter.split())):
        return None
    if what.startswith("birthday"):
        return _counted(birthdays_in(period or Period(call.now, call.now + dt.timedelta(days=365)), call), "birthday")
    if what.startswith(("event", "meeting", "appointment")):
        start = period.start if period else call.now
        end = period.end if period else call.now + LOOKED_AHEAD
        events = events_in(call, start, end, asked.matter)
        return _counted(_witnesses(events, call), what, asked.matter)
    kind = {"no": "note", "co": "contact", "ca": "contact", "do": "document", "re": "reminder"}.get(what[:2], "mail")
    rows: dict[str, Passage] = {}
    found = passages.all((kind,), asked.matter, _N_READ)
    if len(found) == _N_READ and (period is None or (at := found[-1].at) is None or at >= period.start):
        return None  # there are more
    for one in found:
        if (period is None or period.holds(one.at)) and not (kind == "mail" and one.record.startswith(f"{SENT}/")):
            rows.setdefault(one.record, one)
    return _counted([witness_of(one, " ".join(one.text.split())[:160]) for one in rows.values()], what, asked.matter)


def _held(question: str, asked: Asked, period: Period | None, call: CallContext) -> HomeAnswer | None:
    """Count the events that something is called or held at; None where none is, or none of its own words is asked."""
    if period is not None and period.end - period.start > _LONG and not _IS_PAST.search(question):
        period = Period(call.now, period.end)  # "before new year" begins today
    if period is None and _HAS_BEEN.search(question):
        return None
    matter = _without_times(asked.matter, question, call)
    if not matter and period is None:
        return None
    start = period.start if period else call.now
    end = period.end if period else call.now + dt.timedelta(days=365)
    things = "" if asked.things.casefold() in ("times", "days") else asked.things
    named = events_in(call, start, end, f"{things} {matter}") if things or matter else []
    events = named or (events_in(call, start, end, matter) if matter else [])
    return _counted(_witnesses(events, call), asked.things if named and things else "events") if events else None


def _undone(asked: Asked, passages: PassageStore) -> HomeAnswer | None:
    """List the lines that say of something that a thing is not done; None where no line does."""
    done = re.escape(asked.things)
    is_undone = re.compile(
        rf"\b(?:not(?: yet)?(?: been)?|never|yet to be|n['’]t(?: been)?) {done}\b|\bun{done}\b", re.I
    )
    rows = [
        witness_of(one, " ".join(line.split()))
        for one in passages.all(("note", "document", "mail"), asked.matter)
        for line in one.text.split("\n")
        if is_undone.search(line)
    ][:N_SHOWN]
    return HomeAnswer("list", "; ".join(row.quote for row in rows), "", tuple(rows)) if rows else None


def _counted(rows: Sequence[Witness], what: str, matter: str = "") -> HomeAnswer:
    """Tell a number of rows; with doubt where none says the words of a matter, which may be said otherwise."""
    noun = what.removesuffix("s") + ("" if len(rows) == 1 else "s")
    return HomeAnswer("number", f"{len(rows)} {noun}", "", tuple(rows), 1.0 if rows or not matter else DOUBTED)


def _is_bound(question: str, call: CallContext) -> bool:
    """Return whether rows are wanted that lie before or after another thing, and not a time that the question names."""
    bound = _BOUND.search(question)
    return bound is not None and matter_of(without_times(bound["by"], call.now)) != ""


def _birthdays(period: Period, call: CallContext) -> HomeAnswer | None:
    born = birthdays_in(period, call)
    return HomeAnswer("list", "; ".join(one.quote for one in born), "", tuple(born)) if born else None


def birthdays_in(period: Period, call: CallContext) -> list[Witness]:
    """Return the birthdays of a period, the first first."""
    rows = []
    for path, file in read_cards(call.workspace).items():
        for card in file.cards:
            if card.birth is None:
                continue
            for year in range(period.start.year, period.end.year + 1):
                day = card.birth.in_year(year)
                if period.start.date() <= day < period.end.date():
                    moment = dt.datetime.combine(day, dt.time(), call.now.tzinfo)
                    born = card.birth.date()
                    turns = f", turns {year - born.year}" if born is not None and year > born.year else ""
                    said = f"{card.name}: {said_date(moment)}{turns}"
                    rows.append(Witness(card.uid or path, f"card “{card.name}”", said, "file", moment))
    return sorted(rows, key=lambda row: (row.at or call.now, row.quote))


# ── Money ─────────────────────────────────────────────────────────────────────────────────────────────────


def _money(asked: Asked, periods: Sequence[Period], kept: _Kept) -> HomeAnswer | None:
    rows, left_out = _rows_of(asked.matter, periods, kept)
    if not rows:
        return None
    by_currency: dict[str, list[Amount]] = defaultdict(list)
    for row in rows:
        by_currency[row.currency].append(row)
    if asked.operation in ("most", "least"):
        most = max if asked.operation == "most" else min
        chosen = [most(some, key=lambda row: row.value) for some in by_currency.values()]
        told = " and ".join(money_text(row.value, row.currency) for row in chosen)
        return HomeAnswer(
            "amount", told, "", tuple(map(_stated, chosen)), _chance(rows), is_reckoned=True, left_out=left_out
        )
    said = []
    for currency, some in by_currency.items():
        total = sum(row.value for row in some)
        said.append(money_text(total / len(some) if asked.operation == "mean" else total, currency))
    n = f" ({len(rows)} amounts)" if len(rows) > 1 else ""
    if asked.operation == "sum" and any(row.parts for row in rows):
        n = f" ({' + '.join(row.parts or money_text(row.value, row.currency) for row in rows)})"
    newest = sorted(rows, key=lambda row: row.at.timestamp() if row.at else 0.0, reverse=True)
    return HomeAnswer(
        "amount",
        " and ".join(said) + n,
        "",
        tuple(map(_stated, newest)),
        _chance(rows),
        is_reckoned=True,
        left_out=left_out,
    )


def _nothing_spent(asked: Asked, kept: _Kept) -> HomeAnswer | None:
    """Say with doubt that nothing was spent in a time, where amounts of other times are about the matter."""
    rows, _ = _rows_of(asked.matter, (), kept) if asked.matter and asked.operation == "sum" else ([], ())
    if not rows:
        return None
    newest = max(rows, key=lambda row: row.at.timestamp() if row.at else 0.0)
    return HomeAnswer("amount", money_text(0, newest.currency), "", (_stated(newest),), DOUBTED, is_reckoned=True)


def _chance(rows: Sequence[Amount]) -> float:
    """Return how likely all rows are meant: strangers may have stated what goes beside the owner's own, or beside what
    people on his cards wrote; and amounts of one sentence may be no parts of one sum."""
    return DOUBTED if len({row.is_strangers for row in rows}) > 1 or any(row.parts for row in rows) else 1.0


def _by_months(asked: Asked, period: Period | None, kept: _Kept) -> HomeAnswer | None:
    """Sum what mails and documents state month by month; a month without an amount is left out."""
    if asked.things != "month" or not asked.matter:
        return None
    found = [
        (month, sums)
        for month in _months(period, kept.now)
        if (sums := _money(replace(asked, operation="sum"), [month], kept)) is not None
    ]
    if not found:
        return None
    witnesses = tuple(one for _, sums in found for one in sums.witnesses)
    told = "\n".join(f"{month.start:%B %Y}: {sums.value}" for month, sums in found)
    chance = DOUBTED if len({one.is_strangers for one in witnesses}) > 1 else min(sums.chance for _, sums in found)
    left_out = tuple(place for _, sums in found for place in sums.left_out)
    return HomeAnswer("list", told, "", witnesses, chance, is_reckoned=True, left_out=left_out)


def _months(period: Period | None, now: dt.datetime) -> list[Period]:
    """Return the months of a period up to now, at most a year's, the oldest first."""
    end = min(period.end, now) if period is not None else now
    first = end.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    months: list[Period] = []
    while len(months) < _MOST_MONTHS and (period is None or first >= period.start.replace(day=1, hour=0, minute=0)):
        months.append(Period(first, (first + dt.timedelta(days=31)).replace(day=1)))
        first = (first - dt.timedelta(days=1)).replace(day=1)
    return months[::-1]


def _apart(asked: Asked, kept: _Kept) -> HomeAnswer | None:
    """Say how far two sums are apart, of two matters or of one in two times; None where one of them has no amounts, or
    their currencies differ. A time that only one side names is that of both."""
    sides = (asked.matter, asked.things)
    when = [[past_of(one, kept.now) for one in times_named(side, kept.now)[:1]] for side in sides]
    matters = [matter_of(without_times(side, kept.now)) for side in sides]
    if not matters[0] or (not matters[1] and not all(when)):
        return None
    sums: list[tuple[float, str]] = []
    rows: list[Amount] = []
    left_out: tuple[str, ...] = ()
    for matter, own, other in zip((matters[0], matters[1] or matters[0]), when, when[::-1], strict=True):
        of_side, not_counted = _rows_of(matter, own or other, kept)
        currencies = {row.currency for row in of_side}
        if len(currencies) != 1:
            return None
        sums.append((sum(row.value for row in of_side), currencies.pop()))
        rows += of_side
        left_out += not_counted
    (one, currency), (other_sum, other_currency) = sums
    if currency != other_currency:
        return None
    told = " and ".join(f"{money_text(value, currency)} {side}" for (value, _), side in zip(sums, sides, strict=True))
    how = "more" if one > other_sum else "less"
    value = f"{money_text(abs(one - other_sum), currency)} {how} ({told})" if one != other_sum else f"The same: {told}"
    return HomeAnswer(
        "amount", value, "", tuple(map(_stated, rows)), _chance(rows), is_reckoned=True, left_out=left_out
    )


def _rows_of(matter: str, periods: Sequence[Period], kept: _Kept) -> tuple[list[Amount], tuple[str, ...]]:
    """Return the amounts that are about a matter, of some periods where any are given; and the places of those that are
    not counted, as a stranger's words state them that read like an instruction."""
    known = known_addresses(kept.call)
    rows = [
        replace(row, is_strangers=is_strangers(row.passage, known, kept.call.workspace))
        for row in _amounts(matter, kept.passages, kept.now)
        if not periods or (row.at and any(is_of(row.passage, row.at, one) for one in periods))
    ]
    # What a sender of receipts states in other mails is no purchase: "free postage over €100", a price to come.
    receipts = {row.passage.person for row in rows if row.is_total and row.passage.kind == "mail"}
    rows = [row for row in rows if row.is_total or row.passage.kind != "mail" or row.passage.person not in receipts]
    orders = [row for row in rows if row.is_strangers and kept.is_order(row.passage, row.quote)]
    return [row for row in rows if row not in orders], tuple(unquoted_place_of(row.passage) for row in orders)


def _amounts(matter: str, passages: PassageStore, now: dt.datetime) -> Iterable[Amount]:
    """Yield every amount that is about a matter: rows of tables that name it; of other texts that name it, the amount
    they state."""
    wanted = stems(matter)
    seen: set[tuple[str, float, str, dt.date | None, str]] = set()
    for one in passages.all(("mail", "document", "note")):
        for amount in _in_table(one, wanted, now) if "|" in one.text else _in_text(one, wanted):
            # Two rows of a table that say the same amount are two; a text may repeat its own.
            row = amount.quote if "|" in one.text else ""
            key = (one.record, amount.value, amount.currency, amount.at.date() if amount.at else None, row)
            if key not in seen:
                seen.add(key)
                yield amount


def _in_table(one: Passage, wanted: frozenset[str], now: dt.datetime) -> Iterable[Amount]:
    lines = one.text.split("\n")
    heads = lines[0].split("|")
    priced = [k for k, head in enumerate(heads) if _PRICED.search(head)]
    # A price in another column than the last is the amount: "Amount | Paid", "Fee | Share each".
    place = priced[0] if len(priced) == 1 else -1
    is_counted = _PRICED.search(lines[0]) is not None
    # "Logs" are the rows of logs, where there are any, and not all that was bought from "Calder Logs".
    if any(_begins_cell(line, wanted) for line in lines):
        lines = [line for line in lines if _begins_cell(line, wanted)]
    for line in lines:
        found = money_in(line) or (_plain_amount(line, place) if is_counted else [])
        # What all rows are about stands above them: "repairs" for "what did I earn from repairs for Ravi".
        said = stems(line)
        if wanted <= said | stems(one.title) and (not said.isdisjoint(wanted) or wanted <= stems(one.title)) and found:
            value, currency, _ = found[-1]
            yield Amount(value, currency, one, line, row_day(line.split("|"), now) or one.at)


def _begins_cell(line: str, wanted: frozenset[str]) -> bool:
    """Return whether a cell of a row begins with what is wanted."""
    cells = [re.findall(r"[\w'’-]+", cell)[: len(wanted)] for cell in line.split("|")] if wanted else []
    return any(words and wanted == stems(" ".join(words)) for words in cells)


def _plain_amount(line: str, place: int) -> list[tuple[float, str, int]]:
    """Read a cell of a row as an amount whose currency the table leaves open."""
    cells = line.split("|")
    cell = cells[place].strip() if place < len(cells) else ""
    return [(float(cell.replace(",", "")), "", 0)] if re.fullmatch(r"\d[\d,]*(?:\.\d+)?", cell) else []


def _in_text(one: Passage, wanted: frozenset[str]) -> Iterable[Amount]:
    if not wanted <= stems(f"{one.person} {one.title} {one.text}"):
        return
    is_titled = bool(wanted & stems(f"{one.person} {one.title}"))
    stated = [
        (value, currency, said, _wholeness(_line_to(one.text, found.start() + place)), wanted <= stems(said))
        for found in SENTENCE.finditer(unwrapped(one.text))
        if not _OFFERED.search(said := found.group())
        for value, currency, place in money_in(said)
    ]
    # "$425 incl. gas" is not what was paid for gas.
    stated = [row for row in stated if (is_titled or row[4]) and not _is_aside(row[2], wanted)]
    if stated:
        value, currency, quote, wholeness, _ = max(stated, key=lambda row: (row[4], row[3]))
        parts = ""
        if wholeness < _IS_WHOLE and (items := _items_meant(quote, wanted)):
            value, currency = sum(item.value for item in items), items[0].currency
            parts = " + ".join(item.said for item in items) if len(items) > 1 or items[0].n > 1 else ""
        yield Amount(value, currency, one, quote, one.at, parts=parts, is_total=wholeness >= _IS_WHOLE)


def _items_meant(sentence: str, wanted: frozenset[str]) -> tuple[Item, ...]:
    """Return the items of a sentence that are about a matter: those that name it, else all."""
    items = items_of(sentence)
    return tuple(item for item in items if wanted <= stems(item.clause)) or items


def _is_aside(sentence: str, wanted: frozenset[str]) -> bool:
    """Return whether a sentence names what is wanted only as something included or left out."""
    return any(wanted == stems(found["what"]) for found in _INCLUDED.finditer(sentence))


def _line_to(text: str, place: int) -> str:
    """Return a line up to a place."""
    return text[text.rfind("\n", 0, place) + 1 : place]


_IS_WHOLE = 2
"""From here on an amount is what was to be paid, and nothing is added to it."""


def _wholeness(said: str) -> int:
    """Say how surely an amount is what was to be paid, from what its line says before it: 3 for what it is reckoned to
    be, 2 for a total."""
    if said.rstrip().endswith("="):
        return 3
    return 2 if WHOLE.search(said) else int(_TOTAL.search(said) is not None)


def _stated(row: Amount) -> Witness:
    when = f" ({said_date(row.at)})" if row.at is not None and "|" in row.quote else ""
    witness = witness_of(row.passage, " ".join(row.quote.split()) + when)
    return replace(witness, at=row.at, is_strangers=row.is_strangers)


# ── Date answers ──────────────────────────────────────────────────────────────────────────────────────────
# Answers that are worked out from dates: ages, the last, first and next of events and birthdays.
#
# Covered: people by any name on their card ("my mother"), events by the words of their titles; where no event holds
# all the words that name it ("the last choir rehearsal"), those that hold most of them. Not covered: ages at another
# event, days until an event (`reckoning`; a question for them is parsed here).

DateOperation = Literal["age", "until", "last", "first", "next", "next birthday"]
_DAY_OF = re.compile(r"['’]s (?:\w+ )?birthday\b.*|\b(?:in|on|at|next|be|when|going|turn\w*)\b.*", re.IGNORECASE)
"""What stands behind whose birthday or age is meant."""
_BIRTHDAY = re.compile(
    r"['’]s (?:\w+ )?birthday\b|\bbirthday\b|\b(?:be|when|going|turn\w*|day|moment)\b", re.IGNORECASE
)
_OF_ANOTHER = re.compile(r"\b([^\W\d_]+)['’]s [^\W\d_]")
_YEARS_BACK = dt.timedelta(days=3660)
_ONE_YEAR = dt.timedelta(days=366)
_FORMS: Mapping[DateOperation, str] = {
    "age": r"\s*how old (?:is|are|will|did|does|do) (?P<matter>.+)",
    "until": r"\s*how (?:many (?:days|weeks|nights)|long)"
    r"(?: (?:is|are|do|does|have|has|it|there|i|we|got|still|now|left|to go))*"
    r" (?:until|till|til|before|to) (?P<matter>.+)",
    "next birthday": r"\s*(?:who|whose)\b.*\bbirthday\b.*",
    "next": r"\s*what(?:'s|’s| is) (?:my|our|the) next (?P<matter>event|appointment|meeting)\b.*",
    "last": r".*\bwhen (?:was|were|did) (?P<matter>.*\b(?:last|latest|most recent(?:ly)?|previous)\b.*)",
    "first": r".*\bwhen (?:was|were|did) (?P<matter>.*\b(?:first|earliest)\b.*)",
}
_AGE_OF = re.compile(r"\A\s*what(?:['’]s| is) (?:the )?(?:current )?(.+?)['’]s (?:current )?age\b.*", re.IGNORECASE)
_TO_COME = re.compile(r"\b(?:will|next birthday|turn(?:s|ing)?|(?:going to|gonna) be)\b", re.IGNORECASE)


_HAPPENS = re.compile(
    r".* (?:runs? out|expires?|(?:is|are) (?:due|over|up|back)|ends?|starts?|begins?|opens?|closes?|breaks? up"
    r"|finish(?:es)?|arrives?|leaves?|lapses?)(?: again)?\W*",
    re.IGNORECASE,
)


def happens(matter: str) -> bool:
    """Return whether a matter is what becomes of a thing, and not a thing that takes place: "the policy runs out"."""
    return _HAPPENS.fullmatch(matter) is not None


@dataclass(frozen=True, slots=True)
class DateAsked:
    """What is to be worked out, and of what."""

    operation: DateOperation
    matter: str


def asked_of_dates(question: str) -> DateAsked | None:
    """Parse a question that is worked out from dates; None for any other."""
    question = _AGE_OF.sub(r"how old is \1", question)
    for operation, form in _FORMS.items():
        found = re.fullmatch(form, question.rstrip(" ?.!"), re.IGNORECASE)
        if found is None or (operation == "next birthday" and "next" not in question.casefold()):
            continue
        matter = found.groupdict().get("matter") or ""
        if operation in ("next", "next birthday") or matter_of(matter):
            return DateAsked(operation, matter)
    return None


def answer_from_dates(question: str, call: CallContext) -> HomeAnswer | None:
    """Work out the answer to a question; None if it asks for nothing of the kind, or nothing is known of its matter."""
    asked = asked_of_dates(question)
    if asked is None or asked.operation == "until":
        return None
    if asked.operation == "age":
        return _age(question, asked.matter, call)
    if asked.operation == "next birthday":
        born = birthdays_in(Period(call.now, call.now + _ONE_YEAR), call)
        return HomeAnswer("text", born[0].quote, "", (born[0],)) if born else None
    if asked.operation == "next":
        event = next((e for e in events_in(call, call.now, call.now + _ONE_YEAR) if e.start >= call.now), None)
        return HomeAnswer("text", f"{event.title}, {_when(event)}", "", _witness(event, call)) if event else None
    past = [e for e in _events_of(asked.matter, call.now - _YEARS_BACK, call.now, call) if e.end <= call.now]
    if not past or _is_mixed(past, call):
        return None
    chosen = past[-1 if asked.operation == "last" else 0]
    return HomeAnswer("date", _when(chosen), "", _witness(chosen, call))


def _age(question: str, matter: str, call: CallContext) -> HomeAnswer | None:
    who = _DAY_OF.sub("", matter)
    if matter_of(without_times(_BIRTHDAY.sub("", matter[len(who) :]), call.now)):
        return None  # another event's day is asked for
    card = card_meant(who, cards_of(call))
    if card is not None and (of := _OF_ANOTHER.search(who)) and of[1] in card.name:
        return None  # "Ruth's son" is not Ruth
    born = card.birth.date() if card is not None and card.birth is not None else None
    if card is None or card.birth is None or born is None:
        return None
    today = call.now.date()
    named = times_named(question, call.now)
    if named:
        # "In March" is on the birthday, where that is in March.
        birthdays = [card.birth.in_year(year) for year in (named[0].start.year, named[0].end.year)]
        start, end = named[0].start.date(), named[0].end.date()
        today = next((day for day in birthdays if start <= day < end), start)
    age = today.year - born.year - (card.birth.in_year(today.year) > today)
    if _TO_COME.search(question) and not named:
        age += card.birth.in_year(today.year) != today
    if age < 0:
        return None
    return HomeAnswer("number", str(age), "", (card_witness(card, f"born {born.day} {born:%B} {born.year}"),))


def _events_of(matter: str, start: dt.datetime, end: dt.datetime, call: CallContext) -> list[Event]:
    """Return the events that a matter names: with all its words, else with most of them."""
    words = matter_of(matter)
    if found := events_in(call, start, end, words):
        return found
    wanted = stems(words)
    events = [(len(wanted & stems(e.title)), e) for e in events_in(call, start, end)]
    most = max((n for n, _ in events), default=0)
    return [e for n, e in events if n == most > 0]


def _is_mixed(events: Sequence[Event], call: CallContext) -> bool:
    """Return whether others wrote some of several events: which of them is meant is weighed elsewhere (`reckoning`)."""
    return len({call.origins.get(event.id, "file") for event in events}) > 1


def _witness(event: Event, call: CallContext) -> tuple[Witness]:
    return (witness_of_event(event, call),)


def _when(event: Event) -> str:
    day = said_date(event.start)
    return day if is_whole_days(event.start, event.end) else f"{day} at {event.start:%H:%M}"
