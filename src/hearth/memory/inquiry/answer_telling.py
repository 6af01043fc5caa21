"""Tells an answer with the sentence that it stands in, and whom of the owner's people a question means."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from hearth import patterns as re
from hearth.language.tokens import folded
from hearth.memory.inquiry.answer_reading import (
    ON_A_CARD,
    SIGNS,
    Reading,
    asks_beyond_card,
    asks_yes_or_no,
    chance_if_first,
    covered,
    is_unsure_of_words,
    least_chance,
    money_in,
)
from hearth.memory.search.collecting import made_here, said_birth, where_of
from hearth.memory.search.passage_store import SENTENCE, Passage, PassageStore, sentence_at, sentences_of
from hearth.memory.search.search_words import STOP_WORDS, Period, fitted, key_of, key_set, keys_of, times_named
from hearth.protocols import CallContext, HomeAnswer, ValueKind, Witness
from hearth.tools.memory import DOUBTED, LEAST_SURE, N_MAX_QUOTED
from hearth.tools.pim.contacts import Card, read_cards

# ── Answer telling ────────────────────────────────────────────────────────────────────────────────────────
# Makes the answer of readings: the words, their type, where they stand, and what other records say instead.
#
# Of records that come again (a bill of each month) the newest counts. Records that answer the same question with
# another amount, date or number are told with their dates, the newest first: which of them holds is the owner's to
# judge. What is the owner's own, or by people on his cards, stands before what strangers wrote.
#
# Not covered: other words for the same thing ("Yusuf" and "the landlord"): only amounts, dates and numbers are
# compared.

N_WITNESSES = 3
_LEAST_OTHER = 0.5
"""Least probability, as a share of the best one's, at which another record's answer is told beside it."""
_LEAST_CLOSE = 0.4
"""The same for one that is told beside an answer that is told with doubt, whatever it says: of 25 newcomers' answers
with one so close the first was right for eight, and this for six of the others."""
SURE_SIGNS = ("bias", "chance", "spread", "rival", "asked", "card", "yes or no")
"""What tells whether an answer is told without doubt: see `sure_signs`."""
_AMOUNT = re.compile(r"(?:[€£$¥]\s?\d|\b\d[\d.,]*\s?(?:€|£|EUR|GBP|USD|CHF|euros?|pounds?|dollars?)\b)")
_DATE = re.compile(
    r"\b(?:\d{1,2}(?:st|nd|rd|th)? )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\b|\b\d{4}-\d\d-\d\d\b"
    r"|\b\d{1,2}[/.]\d{1,2}[/.]\d{2,4}\b|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|\b(?:19|20)\d\d\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[+-]?\d[\d.,]*(?:\s?[\w%°]+)?")
_MONTH = re.compile(
    r"\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b",
    re.IGNORECASE,
)
_FOR_MONTH = re.compile(rf"\bfor {_MONTH.pattern}", re.IGNORECASE)
_OF_ONE = re.compile(rf"{_MONTH.pattern}|\d+", re.IGNORECASE)
_LEAST_NAMED = dt.timedelta(hours=20)
"""A shorter time names no record: "this time"."""
_MOST_MONTH = dt.timedelta(days=32)
_WRITTEN = frozenset({"mail", "document"})
SAID_ABOUT = re.compile(
    r"\s*what (?:did|does|do|has|have) (?P<who>.+?) (?:say|said|write|written|tell|told|think|reply|replied)\b"
    r"[^?]*? (?:about|on|of|regarding) (?P<what>[^?]+)",
    re.IGNORECASE,
)
_OF_ONE_THING = re.compile(
    r"\s*(?:who|when|where|how|which|(?:by |at |until )?what (?:time|day|date|is the|was the))\b", re.I
)
"""Asks for one thing, of which other lines of a list are others."""
_LEAST_ODDS = 1e-3
"""Least distance of a probability from 0 and 1 in its log-odds."""
_SEVERAL = re.compile(r"[,;/]|\b(?:and|or|but)\b", re.IGNORECASE)
_RATE = re.compile(r"\s?(?:(?:per|an?|each|every|for (?:an?|each|every)) |/ ?)(?P<unit>[^\W\d_]{3,})", re.IGNORECASE)
"""Follows a price for one of something: "£12 an hour"."""
_LEAD = re.compile(r"(?:[-*•·]\s+)?(?P<label>[^\W\d_][\w '’-]{1,30}):\s+\S")
_ITEM = re.compile(r"[-*•·]\s+\S")
_ASKS_WHICH = re.compile(r"\s*(?:(?:with|in|on|at|for|from|of|to|by) )?(?:which|what \w{4,})\b", re.IGNORECASE)
"""Asks which of several."""
_POINTS_BACK = re.compile(
    r"\b(?:this|that|these|those) ones?\b|\A(?:it|this|that|they|these|those|them)\b", re.IGNORECASE
)
_N_TOLD = 3
_LEAST_SPOKEN = 0.5
"""What is the owner's own speaks of at least this share of what a stranger's passage does of a question."""
LEAST_BESIDE = 0.03
"""From this chance on what is the owner's own makes a stranger's answer doubtful, and may be told beside it."""
_NOW = re.compile(r"\A(?:now|currently) (?=\S)", re.IGNORECASE)
_BEARS_NUMBER = re.compile(r"(?<![\w-])(?!(?:19|20)\d\d(?![\w-]))(?=[\w-]*\d{3})[\w-]{4,}")
"""The number of an order, a booking, a case: "HF-20418"; no year."""
_ANSWERING = re.compile(r"\A\s*(?:(?:re|fwd?|aw|wg)\s*:\s*)+", re.IGNORECASE)
_LEANS = 5
"""A sentence of so few words is told with the one before."""
_LONG_AGO = dt.datetime.min.replace(tzinfo=dt.UTC)


def answer_of(question: str, readings: Sequence[Reading], now: dt.datetime) -> HomeAnswer:
    """Make the answer of readings, the likeliest first, of which the first is likely enough."""
    # "The bill of September" names one of them.
    named = [period for period in times_named(question, now) if period.end - period.start >= _LEAST_NAMED]
    best = _within(named[0], readings[0], readings, now) if named else _newest_like(question, readings)
    if (said := _last_said(question, best, readings)) is not None:
        return said
    if asks_yes_or_no(question):
        return _told_of_yes_or_no(question, best, readings, now)
    if (items := _items_beside(question, best)) is not None:
        return replace(items, chance=told_chance(question, best, readings, now))
    told, rivals = _told_beside(question, best, readings, now, is_named=bool(named))
    is_likely = told[0] is best or told[0].chance >= least_chance()
    chance = told_chance(question, replace(told[0], chance=best.chance), readings, now)
    if not is_likely or _is_rate_of_many(question, best):
        chance = min(chance, DOUBTED)
    return _told(question, told, chance, has_rivals=bool(rivals))


def _told_beside(
    question: str, best: Reading, readings: Sequence[Reading], now: dt.datetime, *, is_named: bool
) -> tuple[list[Reading], list[Reading]]:
    """Return the readings that are told, the first of which is the answer, and those that say something else.

    Args:
        is_named: A time is said, of which the answer is.
    """
    others = _others(question, best, readings)
    rivals = [one for one in others if _is_rival(best, one, now)]
    if not is_named:
        rivals += _said_later(question, best, readings, now)
    unlikely = [one for one in _own_beside(question, best, readings) if one not in others]
    alike = [one for one in others if one not in rivals and _agrees(_value(best), _value(one), now)]
    told = [best, *(rivals or alike)]
    if rivals and not is_named:
        # What is the owner's own stands before what a stranger wrote, and of the same the newest first; but when an
        # event is says nothing of when it was put down.
        is_written = all(one.candidate.passage.kind != "event" for one in told)
        told.sort(key=lambda one: (not one.is_strangers, _at(one) if is_written else _LONG_AGO), reverse=True)
    elif unlikely and not is_named:
        rivals = [one for one in unlikely if not _agrees(_value(best), _value(one), now)][:1]
        told = [best, *(rivals or alike)]
    elif best.chance < LEAST_SURE and not (is_named or alike):
        rivals = _behind(best, readings, _LEAST_CLOSE, now)[:1]
        told = [best, *rivals]
    return told, rivals


def told_chance(question: str, told: Reading, readings: Sequence[Reading], now: dt.datetime) -> float:
    """Return the probability with which an answer is told: its passage's, on the side of `LEAST_SURE` where what was
    learnt puts the answer as a whole (`sure_signs`). What a rule has doubted is never told as sure."""
    fit = fitted("passage_weights")
    signs = zip(SURE_SIGNS, sure_signs(question, told, readings, now), strict=True)
    odds = sum(float(fit["sureness"][name]) * sign for name, sign in signs)
    # Of what is asked by yes or no the weights saw few: over pieces 122 of 131 from `LEAST_SURE` on are right, 67 of 92
    # below it.
    least = LEAST_SURE if asks_yes_or_no(question) else DOUBTED
    is_sure = told.chance > least and 1 / (1 + math.exp(-odds)) >= float(fit["least_sureness"])
    return max(told.chance, LEAST_SURE) if is_sure else min(told.chance, DOUBTED)


def sure_signs(question: str, told: Reading, readings: Sequence[Reading], now: dt.datetime) -> tuple[float, ...]:
    """Compute what tells whether an answer is right, all that was read for the question considered.

    The probability that its passage answers, as log-odds; how spread the reader's beginnings and ends are; the largest
    probability, as a share of its own, of another record, no earlier mail of the same sender, that speaks of as much of
    the question and says something else; how many words are asked with; whether it is of a card, which tells little in
    words of its own; whether yes or no is asked.
    """
    passage = told.candidate.passage
    spoken = covered(question, passage.read)
    rivals = [
        chance_if_first(one)
        for one in _behind(told, readings, 0.0, now)
        if covered(question, one.candidate.passage.read) >= spoken and not _is_of_earlier_mail(one, told)
    ]
    chance = min(max(told.chance, _LEAST_ODDS), 1 - _LEAST_ODDS)
    return (
        *(1.0, math.log(chance / (1 - chance)), told.signs[SIGNS.index("spread")] if told.signs else 0.0),
        *(min(1.0, max(rivals, default=0.0) / chance), float(len(keys_of(question)))),
        *(float(passage.kind == "contact"), float(asks_yes_or_no(question))),
    )


def _is_of_earlier_mail(one: Reading, told: Reading) -> bool:
    """Return whether a reading is of a mail that its sender wrote before the one that is told: the later one counts."""
    passage, later = one.candidate.passage, told.candidate.passage
    return passage.kind == later.kind == "mail" and passage.person == later.person and _at(one) < _at(told)


def _behind(best: Reading, readings: Sequence[Reading], share: float, now: dt.datetime) -> list[Reading]:
    """Return the readings of other records that are at least so likely, as a share of the best one's probability, and
    say something else, the likeliest first; of what is the owner's own no stranger's."""
    return [
        one
        for one in readings
        if one.candidate.passage.record != best.candidate.passage.record
        and one.text
        and one.chance >= max(LEAST_BESIDE, share * best.chance)
        and (best.is_strangers or not one.is_strangers)
        and not _is_like(one, best)
        and not _agrees(_value(best), _value(one), now)
    ]


def _is_rate_of_many(question: str, one: Reading) -> bool:
    """Return whether an amount is for one of what several are asked for: "£12 an hour" for the hours somebody did."""
    rate = _RATE.match(one.candidate.passage.read, one.start + len(one.text)) if money_in(one.text) else None
    if rate is None:
        return False
    unit = re.escape(rate["unit"])
    is_for_one = re.search(
        rf"\b(?:per|an?|each|every|by the|one) {unit}\b|\b{unit}ly\b|\brates?\b", question, re.IGNORECASE
    )
    return is_for_one is None and re.search(rf"\b{unit}s\b", question, re.IGNORECASE) is not None


def _told(question: str, told: Sequence[Reading], chance: float, *, has_rivals: bool) -> HomeAnswer:
    """Tell the first of readings, and the places of the others; of rivals what they say instead."""
    values = [_value_told(question, one, is_sure=chance >= LEAST_SURE) for one in told[:N_WITNESSES]]
    witnesses = dict.fromkeys(
        replace(told_at(one), value=value if has_rivals and k else "")
        for k, (one, value) in enumerate(zip(told, values, strict=False))
    )  # two passages of one record may say the same
    return HomeAnswer(kind_of(values[0]), values[0], "", tuple(witnesses), round(chance, 4))


def _line_so_far(one: Reading) -> str:
    """Return the line of a note up to the sentence in which the words end, where it began with another, which says of
    what: "Hive 3: from Eileen. Stings."; empty where it did not."""
    text, start, end = one.candidate.passage.read, one.start, one.start + len(one.text)
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", start)
    line = text[first : last if last >= 0 else len(text)]
    ends = [found.end() for found in SENTENCE.finditer(line)]
    place = next((at for at in ends if at >= end - first), 0)
    is_begun = one.candidate.passage.kind == "note" and bool(ends) and place > ends[0]
    return line[:place].strip(" -*•·\n").rstrip(".") if is_begun and place <= N_MAX_QUOTED else ""


def _value_told(question: str, one: Reading, *, is_sure: bool) -> str:
    """Return what is told of a reading. Which of several it is stands where the line of a note begins, unless the words
    surely say it and do not point back ("this one")."""
    is_whole = not is_sure or _POINTS_BACK.search(one.text) is not None
    whole = _line_so_far(one) if is_whole and _ASKS_WHICH.match(question) else ""
    return whole or (_value(one) if is_sure else _value_in_doubt(one))


def _value_in_doubt(one: Reading) -> str:
    """Return what is told with doubt: of words of which the reader is unsure their sentence, where it says several
    things, and no amount or date is asked for. Of 25 such answers to newcomers the words were right for one in five,
    their sentence for half."""
    sentence, value = sentence_of(one), _value(one)
    is_told = value in sentence and len(sentence) <= N_MAX_QUOTED and "|" not in sentence
    is_one_of_several = kind_of(value) in ("text", "number") and _SEVERAL.search(sentence.replace(value, "", 1))
    return sentence.lstrip(" -*•·") if is_told and is_one_of_several and is_unsure_of_words(one) else value


def own_first(question: str, readings: Sequence[Reading]) -> list[Reading]:
    """Put the likeliest answer of the owner's own before a stranger's, where it speaks of as good as the same; where
    that is an unlikely one, or a terse one, the stranger's is doubted."""
    best = readings[0] if readings else None
    beside = _own_beside(question, best, readings) if best is not None else []
    if best is None or not beside:
        return list(readings)
    own = next((one for one in beside if _speaks_as_much(question, one, best)), None)
    if own is not None and own.chance >= least_chance():
        return [own, *(one for one in readings if one is not own)]
    return [replace(best, chance=min(best.chance, DOUBTED)), *readings[1:]]


def _own_beside(question: str, best: Reading, readings: Sequence[Reading]) -> list[Reading]:
    """Return the readings of the owner's own that may answer instead of a stranger's, the likeliest first.

    A stranger may repeat every word of a question; a terse note of the owner's shares but one.
    """
    return [
        one
        for one in readings
        if best.is_strangers
        and not one.is_strangers
        and one.text
        and one.chance >= LEAST_BESIDE
        and covered(question, one.candidate.passage.read) > 0
        and not (one.candidate.passage.kind == "contact" and asks_beyond_card(question, one.candidate.passage.read))
    ]


def _speaks_as_much(question: str, own: Reading, best: Reading) -> bool:
    """Return whether what is the owner's own speaks of as good as all that a stranger's passage does."""
    spoken = covered(question, best.candidate.passage.read)
    return covered(question, own.candidate.passage.read) >= _LEAST_SPOKEN * spoken


def _told_of_yes_or_no(question: str, best: Reading, readings: Sequence[Reading], now: dt.datetime) -> HomeAnswer:
    """Tell the sentence that answers, and whether it says yes or no where that is sure and no other sentence
    says the contrary; beside a stranger's the owner's own, first where it speaks of as good as the same, and then what
    a stranger says likelier (`own_first`)."""
    likelier = [one for one in readings if one.is_strangers and one.chance > best.chance]
    told = [best, *(_own_beside(question, best, readings) or likelier)[:1]]
    if best.is_strangers and len(told) > 1 and _speaks_as_much(question, told[1], best):
        told.reverse()
    quotes = [sentence_of(one) for one in told]
    witnesses = [
        replace(told_at(one), value=quote if k else "") for k, (one, quote) in enumerate(zip(told, quotes, strict=True))
    ]
    chance = min(best.chance, DOUBTED) if len(told) > 1 else told_chance(question, best, readings, now)
    is_yes = told[0].is_yes
    if is_yes is None or any(one.is_yes is not None and one.is_yes != is_yes for one in readings):
        return HomeAnswer("text", quotes[0], "", tuple(witnesses), round(chance, 4))
    value = f"{'Yes' if is_yes else 'No'}: {quotes[0]}"
    return HomeAnswer("yesno", value, "", tuple(witnesses), round(chance, 4))


def beside_card(card: HomeAnswer, best: Reading, now: dt.datetime) -> HomeAnswer:
    """Tell the value of a card before what a stranger wrote of it."""
    said = told_at(best)
    if not _agrees(card.value, _value(best), now):
        said = replace(said, value=_value(best))
    return replace(card, witnesses=(*card.witnesses, said))


def told_at(one: Reading) -> Witness:
    """Return the place of an answer, and whether a stranger may have written it."""
    return replace(witness_of(one.candidate.passage, sentence_of(one)), is_strangers=one.is_strangers)


def _items_beside(question: str, best: Reading) -> HomeAnswer | None:
    """Tell all lines of one kind where the answer is one of them: what stands behind each "decided:", or the items
    below a line that says what is asked. None where it stands alone, or one thing is asked for."""
    if _OF_ONE_THING.match(question):
        return None
    passage = best.candidate.passage
    lines = [line.strip() for line in passage.text.split("\n")]
    place = best.start - (len(passage.read) - len(passage.text))
    at = passage.text.count("\n", 0, max(0, place))
    lead = _LEAD.match(lines[at]) if at < len(lines) else None
    if lead is not None:
        same = [line for line in lines if line.casefold().startswith(f"{lead['label'].casefold()}:")]
        told = [line.partition(":")[2].strip() for line in same]
    else:
        same = told = _items_below_lead(question, lines, at)
    if len(told) <= 1:
        return None
    witnesses = tuple(witness_of(passage, line) for line in same)
    return HomeAnswer("list", "; ".join(one.strip(" -*•·.;") for one in told), "", witnesses, round(best.chance, 4))


def _items_below_lead(question: str, lines: Sequence[str], at: int) -> list[str]:
    """Return the items of the list that a line is of, where the line above it says something of what is asked."""
    if at >= len(lines) or not _ITEM.match(lines[at]):
        return []
    first = last = at
    while first > 0 and _ITEM.match(lines[first - 1]):
        first -= 1
    while last + 1 < len(lines) and _ITEM.match(lines[last + 1]):
        last += 1
    above = next((line for line in reversed(lines[:first]) if line), "")
    is_meant = above.endswith(":") and keys_of(question) & keys_of(above)
    return list(lines[first : last + 1]) if is_meant else []


def _last_said(question: str, best: Reading, readings: Sequence[Reading]) -> HomeAnswer | None:
    """Tell what somebody said of a matter in the newest of their mails that speaks of it; None where the likeliest
    passage is it, or nothing such is asked."""
    asked = SAID_ABOUT.match(question)
    passage = best.candidate.passage
    if asked is None or passage.kind != "mail" or times_named(question[: asked.start("what")], _at(best)):
        return None
    matter = keys_of(asked["what"])
    like = [
        one
        for one in readings
        if one.candidate.passage.person == passage.person
        and matter <= keys_of(f"{one.candidate.passage.title} {one.candidate.passage.text}")
    ]
    chosen = max(like, key=_at, default=best)
    newest, told = chosen.candidate.passage, sentence_of(chosen)
    if newest == passage and matter & keys_of(told):
        return None
    return _said_in(newest, matter, best.chance)


def said_about(question: str, passages: PassageStore) -> Iterator[HomeAnswer]:
    """Yield what somebody said of a matter in their mails that speak of it, the newest first; nothing where no
    such thing is asked."""
    asked = SAID_ABOUT.match(question)
    if asked is None:
        return
    who, matter = keys_of(asked["who"]), keys_of(asked["what"])
    for one in passages.all(("mail",), asked["what"]) if who and matter else ():
        if who <= keys_of(one.person) and (told := _said_in(one, matter, LEAST_SURE)) is not None:
            yield told


def _said_in(mail: Passage, matter: set[str], chance: float) -> HomeAnswer | None:
    """Tell the sentence of a mail that speaks of a matter; where only its title does, its first ones."""
    sentences = sentences_of(mail.text)
    if not sentences:
        return None
    place = max(range(len(sentences)), key=lambda k: len(matter & keys_of(sentences[k])))
    # "Can't do tyres without." leans on the sentence before.
    is_short = place > 0 and len(sentences[place].split()) <= _LEANS
    quote = " ".join(sentences[place - is_short : place + 1])
    if not matter & keys_of(sentences[place]):
        quote = " ".join(sentences[:_N_TOLD])
    return HomeAnswer("text", quote, "", (witness_of(mail, quote),), round(chance, 4))


def sentence_of(one: Reading) -> str:
    """Return the sentence of the passage in which the answer stands."""
    return sentence_at(one.candidate.passage.read, one.start) or " ".join(one.text.split())


def witness_of(passage: Passage, quote: str) -> Witness:
    """Return the place of an answer."""
    return Witness(passage.record, where_of(passage), quote, passage.source, passage.at, kind=made_here(passage))


def kind_of(value: str) -> ValueKind:
    """Tell the type of a value by its form."""
    if _AMOUNT.search(value) and len(value) < 40:
        return "amount"
    if _DATE.search(value) and len(value) < 60:
        return "date"
    return "number" if _NUMBER.fullmatch(value.strip()) else "text"


def _newest_like(question: str, readings: Sequence[Reading]) -> Reading:
    """Of records of one series (a bill of each month), choose the newest that answers as well: of "invoice 17" none
    that bears another number."""
    best = readings[0]
    numbers = _numbers_in(question) & _numbers_in(best.candidate.passage.read)
    like = [one for one in _series_of(best, readings) if numbers <= _numbers_in(one.candidate.passage.read)]
    return replace(max(like, key=lambda one: (_at(one), one.chance)), chance=best.chance) if like else best


def _numbers_in(text: str) -> set[str]:
    return set(re.findall(r"\d+", text))


def _within(named: Period, best: Reading, readings: Sequence[Reading], now: dt.datetime) -> Reading:
    """Of records of one series, choose the one of the time that the question names; `best` where none is."""
    named = past_of(named, now) if best.candidate.passage.kind in _WRITTEN else named
    if is_of(best.candidate.passage, _at(best), named):
        return best
    like = [one for one in _series_of(best, readings) if is_of(one.candidate.passage, _at(one), named)]
    return replace(max(like, key=lambda one: one.chance), chance=best.chance) if like else best


def past_of(period: Period, now: dt.datetime) -> Period:
    """Return the period of the year before where it is still to come: what was written of October is of the last."""
    if period.start <= now:
        return period
    try:
        return Period(*(at.replace(year=at.year - 1) for at in (period.start, period.end)))
    except ValueError:  # 29 February
        return period


_DATED = re.compile(r"\b\d{1,2}(?:st|nd|rd|th)? (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)", re.I)
_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_YEAR = re.compile(r"(?:19|20)\d\d")


def row_day(row: Sequence[str], now: dt.datetime) -> dt.datetime | None:
    """Return the day that a row of a table names; None where it names none."""
    iso = _ISO.search(" ".join(row))
    with suppress(ValueError):
        if iso is not None:
            return dt.datetime(int(iso[1]), int(iso[2]), int(iso[3]), tzinfo=now.tzinfo)
    dated = next((cell for cell in row if _DATED.search(cell)), "")
    named = times_named(dated, now) if dated else ()
    return (named[0] if _YEAR.search(dated) else past_of(named[0], now)).start if named else None


def is_of(passage: Passage, at: dt.datetime, named: Period) -> bool:
    """Return whether a record is of a named time: the October bill says so in its title or text, and comes in November.

    Args:
        at: The record's time, or that of a row in it.
    """
    is_month = dt.timedelta(days=27) <= named.end - named.start <= _MOST_MONTH
    if is_month and at == passage.at and passage.kind in _WRITTEN:
        for form, text in ((_MONTH, passage.title), (_FOR_MONTH, passage.text)):
            if months := {month.casefold().split()[-1][:3] for month in form.findall(text)}:
                is_near = -_MOST_MONTH < at - named.start < 3 * _MOST_MONTH
                return f"{named.start:%b}".casefold() in months and is_near
    return named.holds(at)


def _series_of(best: Reading, readings: Sequence[Reading]) -> list[Reading]:
    """Return the readings of the records of one series that answer as well, or say the like: another amount."""
    said, kind = _OF_ONE.sub("", sentence_of(best)), kind_of(_value(best))
    return [
        one
        for one in readings
        if _is_like(one, best)
        and one.candidate.passage.at
        and (
            one.chance >= least_chance()
            or (one.text and _OF_ONE.sub("", sentence_of(one)) == said)
            or (kind != "text" and kind_of(_value(one)) == kind)
        )
    ]


def _is_like(one: Reading, best: Reading) -> bool:
    a, b = one.candidate.passage, best.candidate.passage
    return (a.kind, series_of_title(a.title), a.person) == (b.kind, series_of_title(b.title), b.person)


def series_of_title(title: str) -> str:
    """Return what the titles of records that come again have in common: no month, no number."""
    return " ".join(_OF_ONE.sub(" ", title).casefold().split())


def _others(question: str, best: Reading, readings: Sequence[Reading]) -> list[Reading]:
    """Return the readings of other matters' records that answer nearly as likely and speak of all that `best` does."""
    least = max(least_chance(), _LEAST_OTHER * best.chance)
    spoken = covered(question, best.candidate.passage.read)
    return [
        one
        for one in readings
        if one.candidate.passage.record != best.candidate.passage.record
        and not _is_like(one, best)
        and chance_if_first(one) >= least
        and covered(question, one.candidate.passage.read) >= spoken
    ]


def _said_later(question: str, best: Reading, readings: Sequence[Reading], now: dt.datetime) -> list[Reading]:
    """Return the readings of later mails of the same sender that speak of all that `best` does, or of the same order,
    and give another value: "it now takes place on 11 December". However unlikely they are, they are not passed over."""
    spoken, first = covered(question, best.candidate.passage.read), best.candidate.passage
    return [
        one
        for one in readings
        if (passage := one.candidate.passage).kind == first.kind == "mail"
        and passage.person == first.person
        and one.is_strangers == best.is_strangers
        and one.text
        and one.chance < max(least_chance(), _LEAST_OTHER * best.chance)
        and _at(one) > _at(best)
        and (covered(question, passage.read) >= spoken or _is_of_one_matter(passage.title, first.title))
        and _contradicts(_value(best), _value(one), now)
    ]


def _is_of_one_matter(title: str, other: str) -> bool:
    """Return whether two mails are of one conversation, or bear the number of one order or booking in their titles."""
    numbers = (set(_BEARS_NUMBER.findall(one.casefold())) for one in (title, other))
    bare = (_ANSWERING.sub("", one).casefold().strip() for one in (title, other))
    return bool(set.intersection(*numbers)) or len(set(bare)) == 1


def _is_rival(best: Reading, one: Reading, now: dt.datetime) -> bool:
    """Return whether another record says something else. What a stranger wrote has to say the same to be no rival of
    what is the owner's own."""
    if one.is_strangers != best.is_strangers:
        return not _agrees(_value(best), _value(one), now)
    return _contradicts(_value(best), _value(one), now)


def _agrees(value: str, other: str, now: dt.datetime) -> bool:
    """Return whether two values say the same: all words of one in the other, or the same amount, time or number."""
    a, b = (set(re.findall(r"\w+", text.casefold())) for text in (value, other))
    if a and b and (a <= b or b <= a):
        return True
    kind = kind_of(value)
    return kind != "text" and kind_of(other) == kind and not _contradicts(value, other, now)


def _contradicts(value: str, other: str, now: dt.datetime) -> bool:
    """Return whether two values of one type are not the same amount, time or number."""
    kind = kind_of(value)
    if kind == "text" or kind_of(other) != kind:
        return False
    if kind == "amount":
        return {row[:2] for row in money_in(value)}.isdisjoint(row[:2] for row in money_in(other))
    if kind == "date":
        a, b = times_named(value, now), times_named(other, now)
        return bool(a and b) and not any(x.start < y.end and y.start < x.end for x in a for y in b)
    return re.findall(r"\d+", value) != re.findall(r"\d+", other)


def _value(one: Reading) -> str:
    return _NOW.sub("", " ".join(one.text.split()).strip(" ,;:"))


def _at(one: Reading) -> dt.datetime:
    return one.candidate.passage.at or _LONG_AGO


# ── People meant ──────────────────────────────────────────────────────────────────────────────────────────
# Resolves who is meant: by name, by what a card calls somebody ("my mother", "Teddy"), or by what else the owner has.
#
# A card is meant by its names, else by a word for what the person is that stands alone on it (a relation, a trade, a
# clause of its notes). Where no card says it ("the furnace man"), another record may name somebody who has one,
# beside the words that are asked: one passage more is read, and both are evidence.
#
# Covered: two people of one name are nobody. Not covered: somebody whom only two further records together name,
# pronouns.

_N_DESCRIBING = 4
"""Most words of a clause that says what somebody is, and of a person as a question names them."""
_LEAST_NAME = 3
_JOINED = LEAST_SURE - 0.05
"""The chance of a value of somebody whom another record names: it is told with doubt, and both are shown."""
_MOST_READ = 40
_ANYBODY = key_set("man woman guy lady chap bloke person people company firm shop place")
_KINDS = ("note", "mail", "document", "event", "reminder")
_OWN = frozenset(("my", "our", "the", "a", "an"))
_CLAUSE = re.compile(r"[^,;.\n]+")
_OF_SOMEBODY = re.compile(r"([^\W\d_]+)['’]s\b")
_WHOSE = re.compile(r"[^\W\d_]+['’]s\s+(?=\w)")
"""Of whom somebody is something: "Josh's landlord"."""
_ASKED_FIELDS = {
    "phone": re.compile(r"\b(?:phone|telephone|mobile|cell|number|call|ring|reach)\b", re.IGNORECASE),
    "email": re.compile(r"\be-?mail\b", re.IGNORECASE),
    "address": re.compile(r"\b(?:(?<!mail )address|live|lives)\b", re.IGNORECASE),
    "birthday": re.compile(r"\b(?:birthday|born)\b", re.IGNORECASE),
}
"""What a question asks of a card, the most telling last."""
_SURELY = r"(?:(?:tele)?phone|e-?mail|postal|street|full|contact)"
_PERHAPS = r"(?:new|newest|current|latest|mobile|cell|home|work|private)"
_FIELD = rf"(?:(?:{_SURELY}|{_PERHAPS}) )*(?:(?:tele|cell)?phone|mobile|number|e-?mail|address|birthday)"
_FIELD_OF = re.compile(
    r"\s*(?:(?:what|which|when)(?:['’]s| is| was)|(?:please )?(?:tell|give|show) me|i need) (?:the )?"
    rf"(?:(?P<who>[\w '’-]+?)['’]?s? (?P<field>{_FIELD})|(?P<of>{_FIELD}) (?:of|for) (?P<whom>[\w '’-]+?))[\s?.!]*",
    re.IGNORECASE,
)
"""Asks for one field of somebody's card and nothing else: no house number, no number of a hotel."""
_WHO_IS = re.compile(
    r"\s*(?:(?:please )?(?:tell|remind) me )?who(?:['’]?s| is) (?:my|our|the) (?P<what>[\w '’-]+?)(?: again)?[\s?.!]*",
    re.IGNORECASE,
)
_MAY_DIFFER = re.compile(rf"\b(?:{_PERHAPS})\b", re.IGNORECASE)
"""A card does not say whether it tells this one."""
_ASKS = key_set("what which when where who how please tell give need get got go do i my the it week day month year")


def cards_of(call: CallContext) -> list[Card]:
    """Return all cards of the owner."""
    return [card for file in read_cards(call.workspace).values() for card in file.cards]


def card_meant(phrase: str, cards: Iterable[Card]) -> Card | None:
    """Return the card of the person whom words mean; None where that is nobody, or may be several."""
    known = list(cards)
    return _only(_named(phrase, known) or _described(phrase, known))


def person_asked(question: str) -> str:
    """Return the words of a question that name whose phone number, address or birthday it asks for; empty where it asks
    for anything else."""
    if not any(form.search(question) for form in _ASKED_FIELDS.values()):
        return ""
    words = re.findall(r"[\w'’-]+", question)
    named = [w for w in words if key_of(re.sub(r"['’]s\Z", "", w.casefold())) not in ON_A_CARD | _ASKS | STOP_WORDS]
    return " ".join(named) if 0 < len(named) <= _N_DESCRIBING else ""


def card_answer(question: str, call: CallContext) -> HomeAnswer | None:
    """Tell a value of the card that a question means by what somebody is: "what's the electrician's number", or whose
    it is: "who is our electrician". None where it means nobody so, or names them, or the card has no such value."""
    phrase, cards = person_asked(question), cards_of(call)
    if (asked := _WHO_IS.fullmatch(question)) is not None and len(asked["what"].split()) <= _N_DESCRIBING:
        card = card_meant(asked["what"], cards)
        if card is None or keys_of(asked["what"]) & keys_of(card.name):
            return None
        said = ", ".join({one.casefold(): one for one in (*card.nicknames, *card.related, *card.titles)}.values())
        return HomeAnswer("text", card.name, "", (card_witness(card, said),), 1.0)
    is_named = bool(_named(question, cards)) and not _WHOSE.search(phrase)  # "Josh's landlord" is not Josh
    card = _only(_described(phrase, cards)) if phrase and not is_named else None
    return _card_told(question, card, (), 1.0) if card is not None else None


def named_card_answer(question: str, call: CallContext) -> HomeAnswer | None:
    """Tell a value of the card of somebody whom a question names: "what is Ana's new number", with doubt where the card
    may hold another one. None where anything else is asked, or the card has no such value."""
    asked = _FIELD_OF.fullmatch(question)
    if asked is None:
        return None
    who, field, cards = asked["who"] or asked["whom"], asked["field"] or asked["of"], cards_of(call)
    card = _only(_named(who, cards))
    if card is None or not keys_of(_spaced(who)) <= keys_of(" ".join(_names(card))):
        return None
    return _card_told(question, card, (), _JOINED if _MAY_DIFFER.search(field) else 1.0)


def is_on_anothers_card(question: str, found: HomeAnswer, call: CallContext) -> bool:
    """Return whether a field of the card of one person is asked for, and another's card answers: no birthday of Priya's
    is Sam's, whose card has none."""
    asked = _FIELD_OF.fullmatch(question)
    if asked is None or not found.witnesses or not found.witnesses[0].where.startswith("card “"):
        return False
    who = asked["who"] or asked["whom"]
    card = _only(_named(who, cards_of(call)))
    is_all = card is not None and keys_of(_spaced(who)) <= keys_of(" ".join(_names(card)))
    is_meant = card is not None and (is_all or len(who.split()) == 1)
    return card is not None and is_meant and found.witnesses[0].where != f"card “{card.name}”"


def birthday_answer(question: str, call: CallContext) -> HomeAnswer | None:
    """Tell the birthday on the card of somebody whom a question names, or calls what they are: nothing else says it as
    surely. None where anything else is asked, or no card or several are meant."""
    asked = _FIELD_OF.fullmatch(question)
    if asked is None or "birthday" not in (asked["field"] or asked["of"]).casefold():
        return None
    if (named := named_card_answer(question, call)) is not None:
        return named
    card = _only(_described(asked["who"] or asked["whom"], cards_of(call)))
    return _card_told(question, card, (), 1.0) if card is not None else None


def joined_answer(question: str, passages: PassageStore, call: CallContext) -> HomeAnswer | None:
    """Tell a value of the card of somebody whom another record names beside the words asked for: "furnace: Harvey comes
    every December", for "the furnace man's number". None where no record does, or they name several."""
    wanted = keys_of(person_asked(question)) - _ANYBODY
    cards = cards_of(call)
    if not wanted or not cards or not person_asked(question) or _named(question, cards):
        return None
    found: dict[str, tuple[Card, Witness]] = {}
    for passage in passages.all(_KINDS, " ".join(wanted_words(question)), _MOST_READ):
        for sentence in SENTENCE.finditer(passage.text):
            if not wanted <= keys_of(f"{passage.title} {sentence.group()}") or not wanted & keys_of(sentence.group()):
                continue
            for card in cards:
                if any(re.search(rf"\b{re.escape(name)}\b", sentence.group()) for name in _written_names(card)):
                    quote = " ".join(sentence.group().split())
                    found.setdefault(card.uid or card.name, (card, witness_of(passage, quote)))
    if len(found) != 1:
        return None
    ((card, witness),) = found.values()
    return _card_told(question, card, (witness,), _JOINED)


def name_described(question: str, call: CallContext) -> str:
    """Return the name on the one card that says of somebody what a question does ("the gardener's number"): on no other
    card stands what it asks for. Empty where there is none, or several."""
    phrase, cards = person_asked(question), cards_of(call)
    if not phrase or any(keys_of(phrase) & keys_of(f"{card.name} {' '.join(_names(card))}") for card in cards):
        return ""
    card = _only(_described(phrase, cards))
    return card.name if card is not None else ""


def wanted_words(question: str) -> list[str]:
    """Return the words by which a record is found that says who is meant."""
    words = re.findall(r"[^\W_]+", re.sub(r"['’]s\b", "", person_asked(question)))
    return [word for word in words if key_of(word.casefold()) not in _ANYBODY]


def _card_told(question: str, card: Card, beside: tuple[Witness, ...], chance: float) -> HomeAnswer | None:
    asked = [name for name, form in _ASKED_FIELDS.items() if form.search(question)][-1]
    birthday = said_birth(card.birth) if card.birth is not None else ""
    value = {"phone": card.phone, "email": card.email, "address": card.address, "birthday": birthday}[asked]
    if not value:
        return None
    kind: ValueKind = "date" if asked == "birthday" else "text"
    return HomeAnswer(kind, value, "", (card_witness(card, value), *beside), chance)


def card_witness(card: Card, said: str, at: dt.datetime | None = None) -> Witness:
    """Return what a card says as what an answer rests on."""
    return Witness(card.uid or card.name, f"card “{card.name}”", f"{card.name}: {said}", "file", at)


_SHORT_NAME = re.compile(
    r"(?:\A|(?<=\s))(?!(?:Who|What|When|Where|Which|How|Is|Are|Has|The|Did|Was)\b)([A-Z][^\W\d_]{2,})\b"
)
"""A word that may be a first name cut short."""


def _named(phrase: str, cards: Sequence[Card]) -> list[Card]:
    """Return the cards of which words say a name, the longest; else those whose first name begins with one that they
    say: Tomás of "Tom"."""
    said = f" {_spaced(phrase)} "
    lengths = [max((len(n) for n in _names(card) if f" {n} " in said), default=0) for card in cards]
    named = [card for n, card in zip(lengths, cards, strict=True) if n == max(lengths) > 0]
    if named:
        return named
    short = [_spaced(word) for word in _SHORT_NAME.findall(phrase) if _MONTH.fullmatch(word) is None]
    firsts = [_spaced(card.given or card.name).partition(" ")[0] for card in cards]
    # A letter less is rather another name, or a slip: Kari is not Karin.
    shorter = [[one for one in short if first.startswith(one) and len(first) > len(one) + 1] for first in firsts]
    return [card for ones, card in zip(shorter, cards, strict=True) if ones]


def people_named(phrase: str, cards: Iterable[Card]) -> list[Card]:
    """Return the cards of all people whom words name; of two who are called so, neither."""
    said, whose = f" {_spaced(phrase)} ", dict[str, list[Card]]()
    for card in cards:
        for name in _names(card):
            whose.setdefault(name, []).append(card)
    return [only for name, called in whose.items() if f" {name} " in said and (only := _only(called)) is not None]


def _described(phrase: str, cards: Sequence[Card]) -> list[Card]:
    """Return the cards that say of somebody what words do."""
    wanted = keys_of(_WHOSE.sub("", phrase))
    whose = {name.casefold() for name in _OF_SOMEBODY.findall(phrase)}
    return [card for card in cards if any(_describes(one, wanted, whose) for one in _descriptions(card))]


def _only(cards: Iterable[Card]) -> Card | None:
    found = list(cards)
    return found[0] if len({one.uid or one.name for one in found}) == 1 else None


def _names(card: Card) -> list[str]:
    """Return the names of a card in lower case: whole, first, and those it is called by."""
    given = card.given or card.name.partition(" ")[0]
    return [spaced for name in (card.name, given, *card.nicknames) if len(spaced := _spaced(name)) >= _LEAST_NAME]


def _written_names(card: Card) -> list[str]:
    """Return the names of a card as a text writes them, the family's among them."""
    names = (card.name, card.given or card.name.partition(" ")[0], card.family, *card.nicknames)
    return [name for name in names if len(name) >= _LEAST_NAME and name[0].isupper()]


def _descriptions(card: Card) -> Iterator[str]:
    """Yield what a card says somebody is, clause by clause."""
    yield from (*card.titles, *card.related, *card.categories)
    yield from (one for one in _CLAUSE.findall(card.notes) if len(one.split()) <= _N_DESCRIBING)


def _describes(clause: str, wanted: set[str], whose: set[str]) -> bool:
    """Return whether a clause is what words say somebody is, with nothing but an adjective more: "family doctor"."""
    words = [w for w in re.findall(r"[^\W\d_]+", re.sub(r"[^\W\d_]+['’]s\b", "", clause.casefold())) if w not in _OWN]
    keys = [key_of(word) for word in words]
    of = {name.casefold() for name in _OF_SOMEBODY.findall(clause)}
    return bool(keys) and wanted <= set(keys) and keys[-1] in wanted and len(keys) - len(wanted) <= 1 and of <= whose


def _spaced(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", re.sub(r"['’]s\b", "", folded(text))))
