"""Tells what a request's words settle about the deed, whatever plan was found for it: its direction, whose, how much.

A planner goes by the likeness of whole requests; here stands the one word, or the one form, that decides. What becomes
of a plan that says the opposite is decided elsewhere (`planning.dialogue.contradictions`).

Covered: deeds that are asked about as done, directions and amounts of change, parts of contact cards, people of an
event, alarms of a house, other people's time, dates asked of the clock, which mail, what is to be remembered. Not
covered: which thing is meant where both fit.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import NamedTuple

from hearth import patterns as re
from hearth.language.temporal.time_words import add_months
from hearth.language.text.tokens import ONES, listed

# ── Deeds asked about ─────────────────────────────────────────────────────────────────────────────────────

_UNSERVED = re.compile(
    r"\s*(?:(?:please|pls|can\s+you|could\s+you|would\s+you|and|ok|hey)[\s,]+)*"
    r"(?P<deed>archive|unsubscribe|pay|transfer|print|unarchive|pin|mute|block)\s+(?:from\s+\w+|(?:for\s+)?(?:the|my|our|that|this|all|"
    r"those|these|every|any|it|[\w-]+['’]s))\b(?!\s+(?:date|day|deadline|amount)\b)",
    re.IGNORECASE,
)
"""An order for a deed that no look-up is."""


def unserved_deed(text: str) -> str:
    """Return the verb of an order for a deed that no look-up is, in lower case; empty for any other."""
    found = _UNSERVED.match(text)
    return found["deed"].lower() if found is not None else ""


_AMOUNT = re.compile(r"\s*(?:what(?:['’]?s|\s+is|\s+are)?|how\s+(?:much|many|long))\b", re.IGNORECASE)
_TIMERS = re.compile(r"\b(?:timers?|alarms?|countdown|ring|wake|remind)\b|\babout\b", re.IGNORECASE)


def asks_amount(text: str) -> bool:
    """Return whether it is asked what, how much or how long something is, and not for a timer."""
    return _AMOUNT.match(text) is not None and _TIMERS.search(text) is None


_PAST_DEED = re.compile(
    r"\s*(?:(?:hey|hi|so|um|wait|hmm|ok|okay|and|sorry)\b[,.…]*\s+)*"
    r"(?:(?:did|didn['’]?t)\s+(?!you\s+know\b)\w|(?:have|haven['’]?t)\s+(?:i|we|they|you)\s+(?!to\b|got\b|a\b|any\b)\w"
    r"|(?:has|hasn['’]?t)\s+\w)[^.;!?]*[?.!\s]*",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"\b(?:if\s+not|otherwise|else|if\s+(?:i|we)\s+(?:have|did)|please|pls|then|remind\s+me)\b"
    r"|\b(?:did|have)\s+(?:i|we)\s+(?:ever\s+)?(?:tell|told|mention|mentioned|say|said)\b(?:\s+to)?\s+(?:you|that)\b",
    re.IGNORECASE,
)
"""An order that goes with the question, or something told in its form: "did I tell you that I'm allergic to nuts"."""


def asks_past_deed(text: str) -> bool:
    """Return whether it is asked whether something was done, and nothing is ordered with it: "did I send the quote"."""
    return _PAST_DEED.fullmatch(text) is not None and _GOES_ON.search(text) is None


_ASKS_STATE = re.compile(
    r"\s*(?:(?:hey|hi|so|um|wait)\b,?\s+)*(?:did|have|has|is|are|was|were)\s+(?:i|we|he|she|they|someone|somebody|anyone|"
    r"anybody|the|my|our|all)\b[^.;!?]*[?.!\s]*",
    re.IGNORECASE,
)


def asks_state(text: str) -> bool:
    """Return whether the whole request asks how something is: "is the front door locked"."""
    return _ASKS_STATE.fullmatch(text) is not None


# ── Parts of things ───────────────────────────────────────────────────────────────────────────────────────

_TAKES = r"(?:take|remove|delete|erase|clear|wipe|drop|scrap|scratch|strike|cut|kick|pull|get\s+rid\s+of|bin)"
_CARD_FIELD = re.compile(
    rf"\b{_TAKES}\s+(?:(?!(?:contacts?|cards?|entry|entries|from|off|out|of|with|and|on)\b)[\w'’.-]+\s+){{0,5}}?"
    r"(?P<field>numbers?|phone|mobile|cell|e-?mail(?:\s+address)?|address|birthday|postcode)\b"
    r"(?=\s*(?:$|[,.;!?]|\b(?:from|off|out|of|for|on|in|but|and|please|pls|he|she|they)\b))",
    re.IGNORECASE,
)


def card_field_taken(text: str) -> str:
    """Return the field that should go from a card: "delete Joel's old number"; empty where none should."""
    found = _CARD_FIELD.search(text)
    return found["field"] if found is not None else ""


_TAKEN_OUT = re.compile(
    r"\b(?:take|remove|drop|kick|pull|uninvite|disinvite|cut|leave)\s+(?P<who>\S.{0,60}?)\s+(?:out\s+of|off|from)\s+"
    r"(?P<what>\S[^,.;!?]{0,60})",
    re.IGNORECASE,
)
_OF_ALL_EVENTS = re.compile(
    r"\b(?:calendars?|diary|diaries|schedule|agenda|lists?|plans?|planner|timetable|rota|week|month|day)\b",
    re.IGNORECASE,
)
_OF_ALL_CONTACTS = re.compile(r"\b(?:contacts?|book|phone|people|cards?|memory|favou?rites)\b", re.IGNORECASE)


def taken_out(text: str) -> tuple[str, str] | None:
    """Return who or what should no longer be part of what: "take Ana out of the lunch"; None where nothing should."""
    found = _TAKEN_OUT.search(text)
    return (found["who"], found["what"]) if found is not None else None


def names_all_events(words: str) -> bool:
    """Return whether words name a calendar rather than one event."""
    return _OF_ALL_EVENTS.search(words) is not None


def names_all_contacts(words: str) -> bool:
    """Return whether words name the contacts rather than one event."""
    return _OF_ALL_CONTACTS.search(words) is not None


_REMINDS = re.compile(r"\b(?:remind|reminders?|wake)\b", re.IGNORECASE)
_OF_A_HOUSE = re.compile(
    r"(?:\A|[,;]|\b(?:and|then|please|you|pls|just)\b)\s*(?:dis)?arm\b"
    r"|\b(?:security|burglar|intruder|house|home)\s+(?:alarm|system)\b"
    r"|\A\s*(?:please\s+)?(?:put|switch)\s+(?:the\s+)?alarm\s+on[\s.!]*\Z",
    re.IGNORECASE,
)


def is_of_house_alarm(text: str) -> bool:
    """Return whether an alarm is one against burglars: "arm the alarm"."""
    return _REMINDS.search(text) is None and _OF_A_HOUSE.search(text) is not None


_FREE = re.compile(
    r"\b(?:is|are|['’]s|will|does|do|if|whether|when\s?s)\s+"
    r"(?P<who>(?:(?!\b(?:is|are|am|there)\b)[\w'’ -]){1,40}?)\s+(?:is\s+|are\s+)?"
    r"(?:both\s+|all\s+|be\s+|also\s+)*(?:free|available|busy|have\s+(?:any\s+)?time)\b",
    re.IGNORECASE,
)
_OTHERS = frozenset(listed("everyone everybody anyone anybody someone somebody he she they"))
_OWNERS = frozenset(listed("i we you it my our the there this that"))
_GROUP = re.compile(r"(?:the|my|our)\s+(?:kids?|children|family|team|others|boys|girls)", re.IGNORECASE)


_WHO_IS_FREE = re.compile(r"\s*who(?:['’]?s|\s+is|\s+else\s+is|\s+all\s+is)\s+(?:free|available)\b", re.IGNORECASE)


def asks_who_is_free(text: str) -> bool:
    """Return whether it is asked who has time."""
    return _WHO_IS_FREE.match(text) is not None


def asked_if_free(text: str) -> Iterator[str]:
    """Yield those of whom it is asked whether they have time, as they are called."""
    return (found["who"].strip() for found in _FREE.finditer(text))


class Free(NamedTuple):
    """One of those of whom it is asked whether they have time."""

    words: str
    is_other: bool
    """Somebody else than the owner, whoever is known."""
    may_be_name: bool
    """It is written as a name is."""


def free_ones(who: str) -> tuple[Free, ...]:
    """Return each of those who are asked about together: "Karin and I"."""
    is_group = _GROUP.match(who) is not None
    found = []
    for part in re.split(r"\s+and\s+|,\s*|\s+&\s+", who):
        word = re.split(r"[\s'’]", part.strip())[0]
        is_other = is_group or word.lower() in _OTHERS
        found.append(Free(part, is_other, word[:1].isupper() and word.lower() not in _OWNERS))
    return tuple(found)


def be(who: str) -> str:
    """Return "is" or "are", as it goes with those named."""
    is_many = re.search(r"\band\b|&|\b(?:they|kids|children|others|boys|girls)\b", who, re.IGNORECASE)
    return "are" if is_many else "is"


# ── Directions and amounts ────────────────────────────────────────────────────────────────────────────────

UP, DOWN = "up_by", "down_by"
_CUES = {
    UP: frozenset(listed("up raise increase more warmer hotter louder brighter higher boost brighten stronger warm")),
    DOWN: frozenset(
        listed("down lower reduce drop cooler colder quieter softer dimmer dim darker less decrease darken cool")
    ),
}
_WORD = re.compile(r"[^\W\d_]+")


def direction(words: str) -> str:
    """Return the one direction that words say; empty where they say none or both."""
    said = {word.lower() for word in _WORD.findall(words)}
    ways = [way for way, cues in _CUES.items() if cues & said]
    return ways[0] if len(ways) == 1 else ""


_BY_AMOUNT = re.compile(
    r"\b(?:(?:up|down|drop|raise|lower|reduce|increase|decrease|boost|turn)\b(?:(?!\bto\b)[^,.;!?])*?\bby\s+|(?:up|down)\s+)"
    r"(?:another\s+)?(?P<amount>\d+(?:[.,]\d+)?|[a-z]+)\s*(?:%|degrees?|percent|per\s+cent|points?|°\s*c?)",
    re.IGNORECASE,
)


def amount_of_change(words: str) -> str:
    """Return the words of an amount by which something changes; empty where a level is said, or nothing."""
    found = _BY_AMOUNT.search(words)
    return found[0] if found is not None and re.search(r"\bto\s+\d", words) is None else ""


_BACK = re.compile(
    r"\bremind\s+(?:me|us)\s+(?:(?P<n>an?|one|two|three|four|five|six|\d{1,2})\s+|the\s+)"
    r"(?P<unit>minute|hour|day|week|fortnight|month)s?\s+before\s*[.!]*\s*\Z",
    re.IGNORECASE,
)
_LENGTHS = {
    "minute": dt.timedelta(minutes=1),
    "hour": dt.timedelta(hours=1),
    "day": dt.timedelta(days=1),
    "week": dt.timedelta(days=7),
    "fortnight": dt.timedelta(days=14),
}


def counted_back(text: str, moment: dt.datetime, zone: dt.tzinfo | None) -> dt.datetime | None:
    """Return when one wants to be reminded of what is at a moment: "remind me a fortnight before"; None where no such
    time is said. The hour stays the hour when the clocks change."""
    match = _BACK.search(text)
    if match is None:
        return None
    number, unit = (match["n"] or "a").lower(), match["unit"].lower()
    n = int(number) if number.isdecimal() else 1 if number in ("a", "an") else ONES[number]
    zone = zone or moment.tzinfo
    if unit == "month":
        return dt.datetime.combine(add_months(moment.date(), -n), moment.time(), zone)
    return (moment - n * _LENGTHS[unit]).replace(tzinfo=zone)


# ── What is looked for, and what is kept ──────────────────────────────────────────────────────────────────

_ASKS_DAY = re.compile(r"\b(?:what|which|when)(?:['’]?s)?\b.*|.*\b(?:what|which)\s+(?:day|date)\b.*", re.IGNORECASE)
_DAY_WORD = re.compile(r"\b(?:day|date)\b|\A\s*when\b", re.IGNORECASE)
_HOURS = re.compile(r"\b(?:time|clock|hour)\b", re.IGNORECASE)


def asks_day(text: str) -> bool:
    """Return whether a day is asked for, and no time of it: "what day is the 12th of December"."""
    is_asked = _ASKS_DAY.fullmatch(text.strip()) is not None and _DAY_WORD.search(text) is not None
    return is_asked and _HOURS.search(text) is None


_MAIL_NAMED = re.compile(
    r"\b(?:all|every|each|any|the|those|these|that|this|my|our|of)\s+(?P<words>(?:(?!\b(?:all|every|each|any|the|those|these|"
    r"that|this|my|our|of|and|from|as)\b)[^,.;!?])*?)\b(?:e-?mails?|mails?|messages?|newsletters?)\b"
    r"(?P<more>\s+(?:from|about|on|re|regarding|with|by)\s+\S)?",
    re.IGNORECASE,
)


def mail_named(text: str) -> tuple[str, bool] | None:
    """Return the words by which mails are called, and whether more is said of them; None where no mails are."""
    found = _MAIL_NAMED.search(text)
    return (found["words"].strip(), found["more"] is not None) if found is not None else None


_FRAME_BEFORE = re.compile(
    r"\s*(?:(?:please|pls|hey|ok|okay|can\s+you|could\s+you|would\s+you|also|and)\b,?\s+)*"
    r"(?:(?:remember|(?:keep|bear)\s+in\s+mind|don['’]?t\s+forget|make\s+a\s+mental\s+note|fyi|btw|by\s+the\s+way|"
    r"just\s+so\s+you\s+know)\b(?:\s*[:,–-]\s*|\s+(?:for\s+me\s+)?(?:that\s+(?!['’]?s\b|is\b|was\b|one\b))?|\s*\Z))",
    re.IGNORECASE,
)
_FRAME_AFTER = re.compile(
    r"[\s,.;–-]+(?:(?:so|and|please|pls|can\s+you|could\s+you)\s+)*(?:remember\s+(?:that|this|it)|(?:keep|bear)\s+(?:that|this|it)\s+in\s+mind|(?:keep|hold\s+on\s+to|note)\s+(?:that|this)|"
    r"don['’]?t\s+forget(?:\s+(?:that|this|it))?|btw|by\s+the\s+way|fyi|for\s+me|just\s+so\s+you\s+know)"
    r"(?:[\s,]*(?:please|pls|ok|okay|for\s+me|thanks|thank\s+you))*[\s.!]*\Z",
    re.IGNORECASE,
)


def without_frame(text: str) -> str:
    """Return a sentence without the order to remember it: "remember that …", "…, keep that in mind"."""
    text = text.strip()
    for _ in range(3):
        before, after = _FRAME_BEFORE.match(text), _FRAME_AFTER.search(text)
        if before is None and after is None:
            break
        text = text[: after.start()] if after is not None else text
        text = text[before.end() :] if before is not None else text
    return text
