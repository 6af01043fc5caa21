"""Reads a request once: whether it can be read, what it asks, what it settles about a deed, all that is found in it."""

from __future__ import annotations

import datetime as dt
import unicodedata
from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from hearth import patterns as re
from hearth.language.clauses import clauses, forbids
from hearth.language.temporal.time_words import add_months
from hearth.language.thesaurus import AS_TYPED, KNOWN_WORDS, LEAST_LETTERS, Mended, Spelling, words_in_text
from hearth.language.tokens import ONES, Clause, Slot, Token, folded, listed, tokens
from hearth.language.values.slots import find_slots
from hearth.types import Context, Entity, Request

# ── Deeds said ────────────────────────────────────────────────────────────────────────────────────────────
# Tells what a request's words settle about the deed, whatever plan was found for it: its direction, whose, how much.
#
# A planner goes by the likeness of whole requests; here stands the one word, or the one form, that decides. What
# becomes of a plan that says the opposite is decided elsewhere (`planning.dialogue.amendments`).
#
# Covered: deeds that are asked about as done, directions and amounts of change, parts of contact cards, people of an
# event, alarms of a house, other people's time, dates asked of the clock, which mail, what is to be remembered. Not
# covered: which thing is meant where both fit.

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


_ASKS_HOW = re.compile(
    r"\s*(?:(?:hey|hi|so|um|and|ok|okay)\b[,.…]*\s+)*(?:what|which|where|how|who|when)\b[^.;!?,]{0,40}?\s"
    r"(?:do|does|did|should|must)\s+(?:i|we)\s[^.;!?,]*[?.!\s]*",
    re.IGNORECASE,
)


def asks_how(text: str) -> bool:
    """Return whether it is asked what one does or did, and nothing is ordered with it: "what do I press to turn the
    burglar alarm off"."""
    return _ASKS_HOW.fullmatch(text) is not None and _GOES_ON.search(text) is None


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


_ASKED = re.compile(r"\s*(?:what|how|where|which|who)\b", re.IGNORECASE)


def is_of_house_alarm(text: str) -> bool:
    """Return whether something is to be done with an alarm against burglars: "arm the alarm", but not "what do I type
    to switch off the burglar alarm"."""
    return not (_REMINDS.search(text) or _ASKED.match(text)) and _OF_A_HOUSE.search(text) is not None


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
    r"(?P<unit>minute|hour|day|week|fortnight|month)s?\s+(?:before(?:hand)?|b4|ahead|in\s+advance|earlier)"
    r"(?:\s+(?:of\s+)?(?:that|it|then))?\s*[.!]*\s*\Z",
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


# ── Questions ─────────────────────────────────────────────────────────────────────────────────────────────
# Parses what memory is asked: a question, or a matter, without the words that only lead to it; two asked as one.
#
# Covered: "do you remember where I parked", "did I tell you Lotte's shoe size", "where did I say the tent is", "whats
# the code"; "when is the MOT and what does it cost"; "how much is it, and by when". Not covered: three questions
# in one; languages other than English.

_CALL = re.compile(
    r"\s*(?:(?:hey|hi|hello|ok|okay|so|well|and|now|please|hearth|sorry|um|uh)\b[,!.]?\s*)+|[\s,:;–-]+"
    r"|\s*(?:i (?:forgot|forget|can't remember|cannot remember|don't remember|don't know|wonder|want to know)"
    r"|jog my memory|remind me|tell me|refresh me(?: on)?|any idea)\b[,:]?\s*(?:again\b)?[,:]?",
    re.IGNORECASE,
)
_LEADS = re.compile(
    r"\s*(?:(?:can|could|would|will|do|did) you (?:please |still |happen to |even |perhaps )*"
    r"(?:tell me|remember|recall|know|remind me|say|look up|check)(?: again)?"
    r"|(?:did|have|had) (?:i|we) (?:ever |already )?(?:tell|told|say|said|mention|mentioned)(?: (?:to )?you)?"
    r"|(?:search|check|look(?: it)? up|look) (?:in |through )?(?:your|my|the) memory(?: for)?"
    r"|(?:according to|in|from) (?:your|my|the) memory)\b[,:]?\s*(?:if |whether |that |about |of )?",
    re.IGNORECASE,
)
_MATTER = re.compile(
    r"\s*(?:what (?:do|did|can|else do) you (?:still )?(?:know|remember|recall|have(?: stored)?)(?: stored)?"
    r"|what (?:did|have|had) (?:i|we) (?:ever |already )?(?:tell|told|say|said|mention|mentioned|talked?|discussed?)"
    r"(?: to)?(?: you)?|(?:did|have) (?:we|i) (?:ever )?(?:talk|talked|speak|spoken|discussed?)"
    r"|(?:is|was) there (?:something|anything) you (?:know|remember)"
    r"|(?:do you know |tell me |is there )?(?:anything|everything|something)(?: you know| you remember)?)"
    r"\b\s*(?:about|regarding|of|on|concerning|with)\s+",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r",?\s*\b(?:did|do) (?:i|we) (?:say|tell you|mention)(?: that)?\b"
    r"|,?\s*\b(?:i (?:told|said|mentioned|gave)(?: it| that| this)?(?: to)?(?: you)?"
    r"(?: once| before| already| in \w+| last \w+)?|again|do you know|you know|please|by the way)[\s?.!]*$"
    r"|\s*[,;.–-]+\s*(?:i(?:['’]ve| have)? (?:clean |completely |quite |always )?(?:forgotten|forget|forgot)"
    r"|i (?:can['’]?t|cannot|don['’]?t) (?:remember|recall)|it['’]?s slipped my mind)[\s?.!]*$",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"\s*(?:(?:in|at|on|to|for|from|with|of|since|until|till|til|by) )?"
    r"(?:who|whom|whose|what|where|when|why|how|which)(?:'s|’s|'re|'d)?\b"
    r"|\s*(?:do|does|did|is|are|am|was|were|can|could|will|would|should|has|have|had|may|might)(?:n't)? \w"
    r"|\s*must (?:i|we|he|she|they|it)\b",
    re.IGNORECASE,
)
_APOSTROPHE_LEFT_OUT = re.compile(r"\A((?:so |and |hey |ok )*(?:what|who|where|when|how))(s|re)\b", re.IGNORECASE)
_ORDERS = re.compile(
    r"(?:(?:please|can you|could you) )*(?:remind|add|set|create|make|put|play|call(?! me\b)|ring|show|find|search|look"
    r"|cancel|delete|remove|move|book|buy|open|close|turn|start|stop|schedule|draft|send|plan|write|mark|list|check|order"
    r"|update|change|wake|email|e-mail|mail|text|message|tell|ask|reply|forward|read|give|get|go|let|help|translate|convert"
    r"|count|calculate|save|store|note|rename|copy|share|print|undo|forget|postpone|invite|say|answer|switch|scan|clear"
    r"|archive|pay|transfer|unsubscribe|block|renew|repair|fix|collect|deliver|return|book|reserve|rent|scrap|axe|ditch"
    r"|shift|nudge|chase|nag|snooze|unlock|wipe|erase|chuck|jot|bung|ping|nix)\b"
    r"|(?:i|we) (?:want|need|would like|'d like) (?:you )?to\b",
    re.IGNORECASE,
)
_MOST_LEADS = 12
"""Most phrases that are taken off: "remind me" said ten thousand times is no lead."""
_WORD_OR_NUMBER = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_OPENER = re.compile(
    r"\s*(?:(?:please )?(?:remember|note|don't forget)(?: that)?|hey|so|well|yes|ok|okay|actually|oh|fyi"
    r"|by the way)\b[,:]?\s*",
    re.IGNORECASE,
)


_THEN = (
    r"(?:(?:on|in|at|by|since|during|as of|back in) )?(?:the )?(?:yesterday|today|this (?:morning|week|month|year)"
    r"|last (?:night|\w+)|(?:\w+ ){1,2}ago|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|(?:january|february|march|april|may|june|july|august|september|october|november|december)(?: \d{4})?"
    r"|\d{4}(?:-\d\d){0,2})"
)
_BELIEVED = re.compile(
    r"\s*what (?:did|had) you (?:believed?|think|thought|know|known|hold true|take to be true)"
    rf"(?: (?:about|of) (?P<whom>.+?))? (?P<when>{_THEN})(?:,? and why)?[\s?.!]*",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"\s*what (?:did|has|have|was it that) (?P<name>[^\W\d_][\w'’-]*(?: [A-Z][\w'’-]*){0,2}) (?:just |last |recently )?"
    r"(?:say|said|write|wrote|written|(?:tell|told|write|wrote|written|text|texted|message|messaged|send|sent)"
    r"(?: to)? (?:me|us))"
    rf"(?P<chat> (?:in|on|over|by|via) (?:the |our )?(?:\w+ )?(?:chat|whatsapp|telegram|signal|text|group))?"
    rf"(?: last| lately| recently)?(?P<when> {_THEN})?[\s?.!]*",
    re.IGNORECASE,
)
_NOBODY = frozenset(("i", "we", "you", "he", "she", "it", "they", "people", "someone", "anybody", "anyone", "everyone"))


@dataclass(frozen=True, slots=True)
class Asked:
    text: str
    """The question, or the matter."""
    is_question: bool


def asked_of(words: str) -> Asked:
    """Find what is asked of memory in the owner's words."""
    text = _APOSTROPHE_LEFT_OUT.sub(r"\1'\2", " ".join(words.split()))
    for _ in range(_MOST_LEADS):
        shorter = text
        for lead in (_CALL, _LEADS):
            if found := lead.match(shorter):
                shorter = shorter[found.end() :]
        if matter := _MATTER.match(shorter):
            return Asked(shorter[matter.end() :].rstrip(" ?.!") or shorter, False)
        shorter = _ASIDE.sub("", shorter).strip(" ,")
        if shorter == text or not shorter:
            break
        text = shorter
    return Asked(text, _QUESTION.match(text) is not None)


@dataclass(frozen=True, slots=True)
class Believed:
    """ "What did you believe about Ana last Tuesday"."""

    whom: str
    """Name of a person; empty: everyone."""
    when: str


def believed_then(words: str) -> Believed | None:
    """Parse a question about the agent's beliefs of the past: about whom, and when; None for anything else."""
    found = _BELIEVED.fullmatch(" ".join(words.split()))
    return Believed(found["whom"] or "", found["when"]) if found else None


@dataclass(frozen=True, slots=True)
class SaidBy:
    """ "What did Tom write yesterday"."""

    name: str
    when: str
    is_in_chat: bool
    """True if a chat is named, and not only any way of writing."""


def said_by(words: str) -> SaidBy | None:
    """Parse a question about the words of somebody, whatever their subject; None for anything else."""
    found = _SAID.fullmatch(" ".join(words.split()))
    if found is None or found["name"].casefold() in _NOBODY:
        return None
    return SaidBy(found["name"], (found["when"] or "").strip(), found["chat"] is not None)


_ASKED_LAST = re.compile(
    r"\s*(?:[^\s?.!]+\s+){2,}(?:how (?:much|many|long|often|old)|when|where|who|what (?:time|day)|which(?: one| day)?)"
    r"(?: (?:is|was|are) (?:it|that|they))?[\s?.!]*",
    re.IGNORECASE,
)
_ASKED_IF = re.compile(
    r"\s*(?:if|in case|suppose) (?:i|we|he|she|they|it|the|my|our|somebody|someone)\b[^?]{6,}?"
    r"\b(?:how (?:much|many|long|often|far|soon)|what|when|where|who|which)(?: [\w'’-]+){0,3}?"
    r" (?:do|does|did|must|can|could|should|will|would|have|has|am|are|is) (?:i|we|they|he|she|it|you|the|my|our)\b"
    r"[^?]*[\s?.!]*",
    re.IGNORECASE,
)


def asks_if(text: str) -> bool:
    """Return whether a request asks behind a condition: "if we move out how long before must I tell them"."""
    return _ASKED_IF.fullmatch(text) is not None


def asks_later(text: str) -> bool:
    """Return whether a request asks behind what it is about, "gas bill this month, how much", or behind a condition."""
    return asks_if(text) or (_ASKED_LAST.fullmatch(text) is not None and not gives_order(text))


def gives_order(text: str) -> bool:
    """Return whether a text begins as an order does: "change the wifi password"."""
    return _ORDERS.match(text.strip()) is not None


_VALUE_ALONE = re.compile(
    r"(?!.*\b(?:i|we|you|he|she|it|they|is|are|was|were|has|have|had|got)\b)(?!.*\b(?:lost|forgot|changed|new)\b)"
    r"(?:[\w'’-]+ ){1,5}(?:number|code|pin|password|passcode|address|birthday|phone|e-?mail|size|price|name)\W*",
    re.IGNORECASE,
)
"""Names a value and says nothing of it: "the furnace man's phone number"."""


def declares(text: str) -> bool:
    """Return whether a request states something, and does not only ask or order: "my locker is 48 now"."""
    for sentence in _SENTENCE.findall(text):
        opener = _OPENER.match(sentence)
        said = _APOSTROPHE_LEFT_OUT.sub(r"\1'\2", sentence[opener.end() if opener else 0 :].strip())
        is_asked = said.endswith("?") or _QUESTION.match(said) is not None
        if " " in said and not is_asked and _ORDERS.match(said) is None and _VALUE_ALONE.fullmatch(said) is None:
            return True
    return False


_CLAUSE = re.compile(
    r"\b(?:i|we|he|she|they|it|am|is|are|was|were|isn't|aren't|wasn't|has|have|had|hasn't|haven't|got|will|won't|can|can't"
    r"|does|doesn't|did|didn't|must|should)\b|['’](?:s an?|m|re|ve|ll)\b",
    re.IGNORECASE,
)
"""Words of a whole clause, which a mere heading lacks: "sales per buyer"."""


def states_in_a_clause(text: str) -> bool:
    """Return whether a request states something in a clause of its own, and does not only name a matter."""
    return declares(text) and _CLAUSE.search(text) is not None


# ── What is asked for without a question ──────────────────────────────────────────────────────────────────

VALUES = (
    r"address|addresses|phone number|number|code|passcode|password|pin|combination|wifi|date|day|time|opening hours"
    r"|hours|price|prices|cost|amount|total|bill|fee|rent|sum|name|size|birthday|e-?mail address|account number|iban"
    r"|reference|reference number|ref|order number|booking number|flight number|serial number|room number|deadline"
    r"|due date|dose|recipe|registration|reg|combo|tracking number|tracking no|policy number|balance|excess"
)
"""What a thing has, as people call it."""
_VALUE_OF = re.compile(
    rf"\s*(?:the |my |our )?(?:[\w'’-]+ ){{0,2}}?(?:{VALUES}) (?:of|for|from|to|in|at|on) .+", re.IGNORECASE
)


_VALUE_NAMED = re.compile(rf"\s*(?:[\w'’-]+ ){{0,4}}?(?:{VALUES})(?: [\w'’-]+){{0,2}}", re.IGNORECASE)
_TOPIC_FIRST = re.compile(
    r"\s*(?P<topic>[^,;:?–]{3,50}?)\s*[,;:–]\s*(?P<asks>(?:what|how|when|where|who|which)\b.+)", re.IGNORECASE
)
"""Says what a question is about before it: "flight home, what time does it leave"."""
_MATTER_OF = re.compile(r"(?:[\w'’-]+ ){1,3}(?:of|for) (?:the|my|our|[\w-]+['’]s) (?:[\w'’-]+ ?){1,4}", re.IGNORECASE)
_MATTER_NAMED = re.compile(r"(?:[\w'’-]+ ){1,7}[\w'’-]+ ?\?+")
_DETERMINED = re.compile(r"\s*(?:the|my|our|[\w-]+['’]s)\s", re.IGNORECASE)


def asks_for_value(text: str) -> bool:
    """Return whether a request only names a value: "code for the back gate", "key safe code?"."""
    words = text.rstrip(" ?.!")
    is_named = _VALUE_NAMED.fullmatch(words) is not None and " " in words.strip() and not gives_order(words)
    return _VALUE_OF.fullmatch(words) is not None or (is_named and not asked_of(words).is_question)


def names_matter(text: str) -> bool:
    """Return whether a request only names a matter and asks: "dad's allowance?", "colour of the hall"."""
    words = text.strip()
    if _TOPIC_FIRST.fullmatch(words) is not None and not (asked_of(words).is_question or gives_order(words)):
        return True
    is_named = _MATTER_NAMED.fullmatch(words) if words.endswith("?") else _MATTER_OF.fullmatch(words)
    return is_named is not None and not asked_of(words).is_question and not gives_order(words)


def question_of(text: str) -> str:
    """Return a request as a question of the owner's things: "wifi password at home" asks what it is."""
    asked = asked_of(text)
    words = asked.text.rstrip(" ?.!")
    if (said := _DID_SAY.fullmatch(words)) is not None:
        return f"{said['asks']} did {said['who']} say {said['rest']}"
    if not asked.is_question and (found := _TOPIC_FIRST.fullmatch(words)) is not None:
        return f"{found['asks']} {found['topic']}"
    if asked.is_question or not (asks_for_value(words) or names_matter(text)):
        return words
    return f"what is {words}" if _DETERMINED.match(words) else f"what is the {words}"


# ── Of whom it is asked ───────────────────────────────────────────────────────────────────────────────────

_ASKED_OF_ANYONE = re.compile(
    r"\s*(?:(?:how|where|what|which \w+|who|when|why) )?(?:can|could|should|would|will|shall|might|may|must)\b"
    r"|\s*(?:how|why) (?:do|does|did)? ?(?:i|we|you|one)\b(?! (?:like|take|prefer|drink|eat|want|usually|get to|pay)\b)"
    r"|.*\b(?:you|your|tomorrow|tonight|right now|online|on the web)\b",
    re.IGNORECASE,
)
_WHO = re.compile(r"\s*[Ww]ho(?:'s|’s| is) [A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,2}[\s?.!]*")
"""Matches a question about a person's name alone; only people the owner spoke of are known, nobody else."""
_ASKS_WHAT = re.compile(
    r"\s*(?:(?:by |until |till |til |since |from |at )?(?:what|who|whom|whose|where|when|which|how)\b"
    r"|(?:did|has|have|does) \w)",
    re.IGNORECASE,
)
_DID_SAY = re.compile(
    r"\s*(?:did|has|have|does) (?P<who>[^?]{2,40}?)"
    r" (?:say|said|mention|mentioned|tell (?:me|us)|told (?:me|us)|write|written)"
    r" (?P<asks>what (?:time|day|date)|what|when|where|who|how much|how many|how long|which \w+) (?P<rest>[^?]+)",
    re.IGNORECASE,
)
"""Asks for what somebody said, as if it were whether: "did Gwen say what time it starts"."""


def asks_what(text: str) -> bool:
    """Return whether a question asks what, who, when, where, which or how, or whether somebody did something."""
    return _ASKS_WHAT.match(text) is not None


def asks_who_is(text: str) -> bool:
    """Return whether a question is about a person's name alone; only people the owner spoke of are known."""
    return _WHO.fullmatch(text) is not None


def is_of_anyone(text: str, known: Set[str]) -> bool:
    """Return whether a question asks what one may or should do, and not what somebody known can or will."""
    found = _MODAL.match(text)
    after = spaced(text[found.end() :]) if found else ""
    return _ASKED_OF_ANYONE.match(text) is not None and not any(after.startswith(name) for name in known)


_MODAL = re.compile(
    r"\s*(?:(?:how|where|what|which \w+|who|when|why) )?(?:can|could|should|would|will|may|might|must)\b", re.I
)


def spaced(text: str) -> str:
    """Return the words in lower case, with a space around each."""
    return f" {' '.join(_WORD_OR_NUMBER.findall(text.casefold()))} "


# ── Two questions in one ──────────────────────────────────────────────────────────────────────────────


_ASKED_BY = r"(?:by when|what|when|where|who|how|which)"
_TWO_IN_ONE = re.compile(
    rf"\s*(?P<first>{_ASKED_BY}\b[^?]*?(?:\b(?:is|are|was|were)|['’]s)\s+(?P<thing>(?:the|my|our|[\w-]+['’]s)\s+[^?,]+?)),?"
    rf" and (?P<second>{_ASKED_BY}\b[^?]*\b(?:it|they|them)\b[^?]*)[?.\s]*",
    re.IGNORECASE,
)
_PRONOUNS = tuple(re.compile(rf"\b{word}\b", re.IGNORECASE) for word in ("it", "them", "they"))
"""What stands for the thing, the likeliest first: "when do they take it"."""


def two_questions(question: str) -> tuple[str, str] | None:
    """Split a question into two, each of which stands alone; None where it is one."""
    found = _TWO_IN_ONE.fullmatch(question)
    if found is None:
        return None
    pronoun = next(form for form in _PRONOUNS if form.search(found["second"]))
    return found["first"], pronoun.sub(found["thing"], found["second"], count=1)


_BARE = r"(?:by when|until when|when|where|who|what time|how (?:much|long|often|many))"
_BESIDE = re.compile(
    rf"\s*(?P<first>{_ASKED_BY}\b[^?]*?[^?,\s]),? and (?:(?P<bare>{_BARE})|(?P<second>(?<=, and ){_ASKED_BY}"
    r"(?:(?: \w+){0,2} (?:do|does|did|is|are|was|were|will|would|can|should|has|have)|['’]s)\b[^?]+?))[?.!\s]*",
    re.IGNORECASE,
)
_ASKING_WORDS = re.compile(
    r"\s*(?:by when|what time|how (?:much|long|often|many)|what|when|where|who|how|which)(?=\s|['’]s)", re.IGNORECASE
)
_LEANS = re.compile(r"\b(?:it|they|them|that|those|there|then|he|she|him|her)\b", re.IGNORECASE)
_COMES_TO = re.compile(
    r"(?:what|how much) (?:do|does|did|will) (?:it|they|that|this|those)(?: all)?"
    r" (?:come to|cost|add up to|make|total)\b.*"
    r"|(?:what|how much) (?:is|are) (?:it|they|that|those)(?: (?:all|in) \w+)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class AskedBeside:
    """A question with a second one that only goes with it."""

    first: str
    second: str
    is_bare: bool
    """Whether the second is its asking word alone: "and by when"."""
    is_sum: bool
    """Whether the second asks what all that answers the first comes to."""
    leans: bool
    """Whether the second does not say of what it asks: "they", "it"."""
    full_second: str
    """The second with what the first says of the matter."""


def asked_beside(question: str) -> AskedBeside | None:
    """Split a question from one that follows on it: "how much do they want, and by when"; None where it is one."""
    found = _BESIDE.fullmatch(question)
    if found is None:
        return None
    first, second = found["first"], found["bare"] or found["second"]
    is_bare, is_sum = found["bare"] is not None, _COMES_TO.fullmatch(second) is not None
    leans = is_bare or _LEANS.search(second) is not None
    full = f"{second} {_ASKING_WORDS.sub('', first)}" if is_bare else second
    return AskedBeside(first, second, is_bare, is_sum, leans, full)


# ── Admissibility ─────────────────────────────────────────────────────────────────────────────────────────
# Decides whether a request is tried at all: it must be readable, and nothing that no tool should be made to serve.
#
# It must be non-empty, not too long, text, and in English. A feeling, a program to be written, a deed for every day
# and a manner have words that some tool's requests have, too ("write … budget.csv" would overwrite the file), so they
# are read before anything is planned, and nothing of them leaves the device.
#
# Covered: blank, oversized and binary-like texts, other scripts, and other languages in Latin script when most of
# their words are strange to English, by name where their frequent words tell; words without spaces between them and
# letters with spaces between them, where that is the whole request; "I feel …" and "I'm …" with a feeling; programs,
# scripts, functions and macros to be written; things to be told again and again by themselves. Not covered: a short
# request of a few words in another language that could be English names, and English mixed with another language,
# both of which are tried like any other; feelings in other words than these, and what they are about; deeds of
# devices that come again.

MAX_CHARACTERS = 20_000

_LANGUAGE_LIMIT = "That looks like {}; I can only read English so far. Please say it in English."
_SAMPLE = 4_000
"""Number of characters examined from the start of a request; they suffice to tell what it is."""
_MAX_ODD_SHARE = 0.1
_MAX_FOREIGN_SCRIPT_SHARE = 0.3

_ENGLISH = frozenset(
    listed(
        "a about after again all also am an and another any anything are around as ask at away back be because been "
        "before being best between both but buy by call came can can't cannot come could day days did do does doesn't "
        "doing done don't down each email end even every everything find first for from get give go going good got "
        "had has have he hello help her here him his home hour hours how i i'd i'll i'm i've if in into is isn't it "
        "it's its just keep know last late later left let like list long look made mail make many me meeting message "
        "might minutes more morning most much my name need never new next night no not note nothing now of off ok on "
        "one only open or other our out over own people please put read really remind right said same say see send "
        "set she should show so some someone something soon still stop such take tell than thank thanks that that's "
        "the their them then there these they thing things think this those three through time to today tomorrow "
        "tonight too two under until up us use very want was way we week weekend well went were what what's when "
        "where which while who whose why will with won't work would write yes yet you your"
    )
)
_LANGUAGES = {
    name: frozenset(listed(words)) - _ENGLISH
    for name, words in {
        "German": "der das und ist nicht ich mich mir mein meine meinen einen eine eines ein den dem zu für mit auf "
        "von morgen heute bitte wie wann wer uhr kannst du sie wir ihr auch noch nach bei wird erinnere schreibe "
        "habe hast gibt zeig zeige mach stell um neun",
        "French": "le la les des une est je ne pas vous nous mon ma mes pour avec sur dans demain aujourd'hui quel "
        "quelle quand qui rappelle rappelle-moi moi au aux du que ce cette s'il plaît plait de en un à et "
        "heure ai-je montre",
        "Spanish": "el la los las una es no por para con mi mis mañana hoy cuando cuándo qué quien quién recuérdame "
        "recuerdame del al que en lo un y de se favor cuál puedes tengo muéstrame a",
        "Italian": "il lo gli la le un una di che non mio mia per con domani oggi quando ricordami sono della alle nel "
        "e ho mostrami devo mi è",
        "Portuguese": "o os um uma não nao meu minha amanhã amanha hoje lembra lembre lembre-me lembra-me às para com "
        "de que quando tenho mostra e do da em",
        "Dutch": "het een de van ik mij mijn niet voor met morgen vandaag wanneer herinner op naar aan om heb wat hoe "
        "laat en te zet laat",
        "Polish": "jest nie mi moje jutro dziś o w na z przypomnij co kiedy mnie się i do że mam pokaż jak",
        "Swedish": "och att jag mig min inte imorgon idag påminn vad när är för på en ett om har det den visa mitt "
        "till",
        "Turkish": "bir ve bana benim yarın bugün ne zaman hatırlat için",
    }.items()
}
"""Frequent words of other languages, without those that are English, too."""
_FOREIGN = frozenset[str]().union(*_LANGUAGES.values())
_ANOTHER = "another language"
_SCRIPTS = {
    "CYRILLIC": "a language in Cyrillic letters",
    "GREEK": "Greek",
    "ARABIC": "a language in Arabic letters",
    "HEBREW": "Hebrew",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "HANGUL": "Korean",
    "CJK": "Chinese",  # last: Japanese and Korean are written with its signs, too
}
_LEAST_GLUED, _LEAST_WORDS_GLUED, _LEAST_LETTERS_EACH, _MOST_WORDS_BESIDE = 12, 3, 3, 1
"""Of words without spaces between them: least letters, words, and letters a word; most words beside those."""
_MOST_LIKE = 2
"""Most languages that a text may look like to be told so by name."""
_LETTERS_APART = re.compile(r"(?:(?<!\S)[^\W\d_]\s+){4,}[^\W\d_](?!\S)")


def why_unreadable(text: str) -> str:
    """Return why a request cannot be read, in words for the owner; empty when it can."""
    if len(text) > MAX_CHARACTERS:
        return (
            f"The request is {len(text):,} characters long; I read up to {MAX_CHARACTERS:,}. "
            "Put long text into a file and ask about that."
        )
    sample = text[:_SAMPLE]
    if not sample.strip():
        return "The request is empty; say what you would like done."
    odd = sum(unicodedata.category(c) in ("Cc", "Cs", "Co", "Cn") and c not in "\n\r\t" for c in sample)
    odd += sample.count("\ufffd")
    if odd > _MAX_ODD_SHARE * len(sample):
        return "The request looks like binary data, not like text; say in words what you would like done."
    letters = [c for c in sample if c.isalpha()]
    if not letters:
        has_digits = any(c.isdigit() for c in sample)
        return "" if has_digits else "The request holds no words; say what you would like done."
    scripts = [unicodedata.name(c, "").partition(" ")[0] for c in letters]
    if len(letters) - scripts.count("LATIN") > _MAX_FOREIGN_SCRIPT_SHARE * len(letters):
        said = {script.partition("-")[0] for script in scripts}
        return _LANGUAGE_LIMIT.format(next((name for script, name in _SCRIPTS.items() if script in said), _ANOTHER))
    if reason := _run_together(sample):
        return reason
    return _LANGUAGE_LIMIT.format(language) if (language := _foreign(sample)) else ""


def _foreign(text: str) -> str:
    """Return the language other than English that most words of a text belong to; empty for English."""
    words = re.findall(
        r"[^\W\d_]+(?:['’-][^\W\d_]+)*", re.sub(r"\"[^\"]*\"|“[^”]*”", " ", text.lower()).replace("’", "'")
    )
    if len(words) < 3:
        return ""
    n_english = sum(word in _ENGLISH or word in KNOWN_WORDS for word in words)
    foreign = [word for word in words if word in _FOREIGN]
    n_foreign = len(foreign)
    # What begins with an English deed is English that names something: "play la vie en rose".
    is_named = words[0] in KNOWN_WORDS and words[0] not in _FOREIGN and n_foreign <= 2 * n_english + 1
    if len(set(foreign)) < 2 or n_foreign <= n_english or n_foreign + n_english < 0.25 * len(words) or is_named:
        return ""
    counts = {name: sum(word in known for word in words) for name, known in _LANGUAGES.items()}
    most = [name for name, count in counts.items() if count == max(counts.values())]
    return " or ".join(most) if len(most) <= _MOST_LIKE else _ANOTHER


def _run_together(text: str) -> str:
    """Return why the words of a request cannot be told apart, in words for the owner; empty when they can."""
    if (apart := _LETTERS_APART.search(text)) and 2 * len(apart[0]) > len(text):
        return "The letters stand apart, so I can't tell the words; say it again with spaces between words alone."
    words = re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)*", text)
    if len(words) > 1 + _MOST_WORDS_BESIDE or re.search(r"[@/#._\d]", text.rstrip(".")):
        return ""
    for number, word in enumerate(words):
        if number and word[0].isupper():  # a name: "call Butterworthson"
            continue
        parts = Spelling.shipped().parts_of(re.sub("['’]", "", word).lower()) if len(word) >= _LEAST_GLUED else ()
        if _LEAST_WORDS_GLUED <= len(parts) <= len(word) / _LEAST_LETTERS_EACH:
            meant = text.strip().replace(word, " ".join(parts))
            return f"There is no space between the words; did you mean “{meant}”? Say it again with spaces."
    return ""


# ── What no tool serves ───────────────────────────────────────────────────────────────────────────────


_LOW = (
    "anxious|sad|depressed|lonely|overwhelmed|stressed(?: out)?|scared|hopeless|worthless|miserable|desperate|"
    "heartbroken|panicky"
)
_LOW_IF_FELT = f"{_LOW}|awful|terrible|afraid|down|low|empty|numb|lost|exhausted|burnt out|worried|bad|a failure"
"""Words that tell of a feeling only behind "feel": "I'm down for lunch" does not."""
_HOW = r"(?:\s+(?:so|such|really|very|quite|a bit|a little|pretty|just|kind of|like|all|completely|totally))*"
_FEELS = re.compile(
    r"\s*(?:(?:oh|hey|hi|hearth|well|honestly|today|right now)[\s,]+)*i"
    rf"(?:(?:'m|\s+am|'ve been|\s+have been)?\s+(?:feel|feeling){_HOW}\s+(?:{_LOW_IF_FELT})"
    rf"|(?:'m|\s+am|'ve been|\s+have been){_HOW}\s+(?:{_LOW}))\b(?P<more>[^?]*)[.!\s]*",
    re.IGNORECASE,
)
_ASKS_FOR = re.compile(
    r"\b(?:remind|add|write|mail|email|text|call|tell|put|note|set|book|cancel|move|play|turn|find|show|order)\b",
    re.IGNORECASE,
)
"""A feeling that comes with a request ("I'm sad, play something") is planned for what it asks."""
_IN_DANGER = re.compile(
    r"\b(?:kill(?:ing)? myself|end(?:ing)? my life|commit(?:ting)? suicide|suicidal|"
    r"want to die|don't want to live|do not want to live|"
    r"hurt(?:ing)? myself|harm(?:ing)? myself)\b",
    re.IGNORECASE,
)
_PROGRAM = re.compile(
    r"\s*(?:(?:please|can you|could you|would you|hearth)[\s,]+)*"
    r"(?:write|code|program|create|make|build|generate|implement)"
    r"\s+(?:me\s+|us\s+)?(?:an?|the|some|another)?\s*(?:\w+[\s-]+){0,3}?"
    r"(?P<what>script|program|code|function|macro|regex|one-?liner|algorithm|sql query)\b"
    r"(?!\s+(?:manager|review|meeting|of conduct))",
    re.IGNORECASE,
)
_MADE_OF = re.compile(
    r"\b(?:python|bash|shell|javascript|java|sql|excel|powershell|perl|ruby|c\+\+|rust|go|html)\b"
    r"|\b(?:that|which|to)\s+(?:\w+\s+){0,2}?(?:sums?|counts?|reads?|sorts?|parses?|computes?|prints?|renames?|converts?|"
    r"deletes?|checks?|calculates?|adds? up|filters?|downloads?)\b",
    re.IGNORECASE,
)
_BY_ITSELF = re.compile(
    r"\b(?:tell|show|read|give|send|text|mail|email|message|brief)\s+(?:me|us)\b"
    r"(?!\s+(?:(?:at|on|by|every|tomorrow|tonight)\b[^,;.]*?\s)?to\s+(?!(?:my|our|the|his|her|their)\b)).*"
    r"\b(?:what|which|who|how|if|whether|about|the|my|our|an?)\b",
    re.IGNORECASE | re.DOTALL,
)
"""Something that is to be told: "tell me every morning at 8" alone is a reminder of what was said before, and "tell me
to take my pills", or "tell me at four to …", asks for one."""
_ADJECTIVES = frozenset(("hourly", "daily", "weekly", "monthly", "yearly", "annual"))
"""Words that alone are no time at which something comes again: "the weekly weather"."""
_MANNER = re.compile(
    r"\b(?:(?:written|worded|phrased)\s+)?(?:in|with)\s+my\s+(?:usual|own|typical|normal|personal|everyday)?\s*"
    r"(?:style|tone|voice|words|way of writing|manner|wording)\b"
    r"|\b(?:the way|as|like)\s+i\s+(?:usually|always|normally|typically)\s+(?:write|do|say it|put it|would)\b",
    re.IGNORECASE,
)
_ASKS_REMINDER = re.compile(
    r"\b(?:remind|wake)\b"
    r"|(?<!\bmy )(?<!\bthe )(?<!\bfirst )(?<!\bnext )\b(?:reminder|alarm|timer|event|appointment|calendar entry)\b",
    re.IGNORECASE,
)
"""Asks for something that comes again; "my first appointment" is only told of."""


def without_manner(text: str) -> tuple[str, str]:
    """Return a request without "in my usual style", and these words; they are no part of what is written.

    Returns:
        The request as it was and "" where nothing is said of the manner, or nothing else is.
    """
    said = _MANNER.search(text)
    if said is None:
        return text, ""
    rest = re.sub(r"\s{2,}", " ", text[: said.start()] + text[said.end() :]).strip(" ,")
    return (rest, said[0].strip(" ,")) if rest else (text, "")


def beyond_tools(text: str, slots: Sequence[Slot]) -> str:
    """Return what to answer to a request that no tool should be made to serve; empty for any other.

    Args:
        slots: The typed values in the request.
    """
    if _IN_DANGER.search(text):
        return (
            "I'm sorry that it is so hard. I am a program and cannot be with you, but somebody can, now: please call "
            "your emergency number (112 in Europe, 911 in North America) or a crisis line, or somebody you trust. "
            "Their numbers are in your contacts: ask me for one."
        )
    feels = _FEELS.fullmatch(text)
    if feels is not None and not _ASKS_FOR.search(feels["more"]):
        return (
            "I'm sorry that you feel like that. I am a program and cannot help with it as a person could. What I can "
            "do: find the number of somebody you would like to talk to, keep time free in your calendar, or write it "
            "down for you alone."
        )
    program = _PROGRAM.match(text)
    if program is not None and _MADE_OF.search(text):
        return (
            f"I can't write a {program['what'].lower()} yet, and I left your files alone. What I can do with numbers "
            "is work out a sum that you say."
        )
    repeats = any(
        slot.kind == "time" and "repeat" in slot.views and slot.text.lower() not in _ADJECTIVES for slot in slots
    )
    if repeats and _BY_ITSELF.search(text) and not _ASKS_REMINDER.search(text):
        return (
            "I can't do something by myself at a time that comes again yet; I did nothing now. What I can do is remind "
            "you of it: say “every …, remind me to …”."
        )
    return ""


# ── Reading ───────────────────────────────────────────────────────────────────────────────────────────────
# Reads a request once: what was said, in words and values, for whoever decides about it.
#
# `read` mends the spelling; the rest is found when it is first asked for, and kept. An utterance is a request and is
# carried in its place, so that nobody searches the same text again; a planner that knows requests only takes it as
# one.
#
# Covered: any text, empty, very long and binary ones too; what cannot be read says why. Not covered: words glued
# together or spelt out, what was said before (`planning.dialogue`), which tool is meant (`planning`), languages but
# English.

_OR = re.compile(r"\s*,?\s*\bor\s+(?:(?:at|on|for|to)\s+)?", re.IGNORECASE)
_THINGS = ("room", "device")
_MAKES_A_CARD = re.compile(
    r"(?:new|(?:add|create|make|save|store)\s+(?:an?\s+)?(?:new\s+)?)\s*contact\b(?!\s+(?:to|details?|info)\b)(?:\s*:)?(?:\s+(?:for|called|named))?"
    r"|(?:add|save|store|put)\b(?=\s+(?:(?!['’]s\b).)*\b(?:(?:to|in|into)\s+(?:my\s+|the\s+)?(?:contacts|address\s+book)"
    r"|as\s+an?\s+(?:new\s+)?contact)\b)",
    re.IGNORECASE,
)
_LONGEST_CARD = 500
"""Characters within which a request says that a card is made."""
_NEW_NAME = re.compile(
    r"\s+(?P<name>[^\W\d_][\w'’.-]*(?:\s+[^\W\d_][\w'’.-]*){0,3}?)(?=\s*(?:[,;:(]|$|\+?\d|\S+@)|[.!?]\s*$"
    r"|\s+(?:with|and|to|in|into|as|on|at|from|phone|tel|mobile|number|e?mail|address|born|birthday|his|her|their|please)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class LeftOpen:
    """Several people of whom a request leaves it open which is meant."""

    start: int
    end: int
    said: tuple[str, ...]
    """As the request calls them."""
    names: tuple[str, ...]
    """The whole name of each."""


@dataclass(frozen=True)  # without slots: what is found is kept in the instance
class Utterance(Request):
    """A request with its reading. `replace` with another text makes another utterance, read anew."""

    context: Context = field(default_factory=Context)
    """Names that the owner knows, and the country they write in."""
    mended: Mended = AS_TYPED
    """The words that were mended, each with what was typed."""

    @classmethod
    def of(cls, request: Request, context: Context) -> Utterance:
        """Return a request as it stands, to be read; the same if it is an utterance of this context."""
        if isinstance(request, Utterance) and request.context is context:
            return request
        return cls(
            request.text,
            request.now,
            request.id,
            request.said,
            request.records,
            request.revises,
            request.asked_by,
            context,
            request.mended if isinstance(request, Utterance) else AS_TYPED,
        )

    def saying(self, text: str) -> Utterance:
        """Return another text as said at the same time, in the same context; the same where the text is."""
        return self if text == self.text else replace(self, text=text)

    def as_typed(self, value: str) -> str:
        """Return words of the text as the owner typed them, but for the owner's own names."""
        return self.mended.as_typed(value)

    # ── What is found once ────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def unreadable(self) -> str:
        """Why it cannot be read, in words for the owner; empty when it can, as all that was mended."""
        return "" if self.text == self.mended.text and self.text else why_unreadable(self.text)

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """Words, numbers and marks, in order."""
        return tuple(tokens(self.text))

    @cached_property
    def known(self) -> Context:
        """What counts as a name among the values: no rooms and devices, so that they stay words ("the lights in the
        kitchen" is one thing). Where a card is made, its name is the only one: others may have the first name of "new
        contact Ida Berg"."""
        made = _MAKES_A_CARD.search(self.text[:_LONGEST_CARD])
        left_out = _THINGS if made is None else (*_THINGS, "person")
        known = tuple(entity for entity in self.context.entities if entity.kind not in left_out)
        new = _NEW_NAME.match(self.text, made.end()) if made is not None else None
        return replace(self.context, entities=(*known, Entity(new["name"], "person")) if new is not None else known)

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """Typed values, in order, never overlapping; see `known` for the names among them."""
        return find_slots(self.text, self.now, self.known, self.tokens)

    @cached_property
    def mentions(self) -> tuple[Slot, ...]:
        """The same with rooms and devices: everything said that the context knows, each with its name."""
        if all(entity.kind not in _THINGS for entity in self.context.entities):
            return self.slots
        return find_slots(self.text, self.now, self.context, self.tokens)

    @cached_property
    def times(self) -> tuple[Slot, ...]:
        """The slots that are times."""
        return tuple(slot for slot in self.slots if slot.kind == "time")

    @cached_property
    def acts(self) -> tuple[Clause, ...]:
        """The parts that each ask for one thing, in order; together they hold every slot."""
        return clauses(self.text, self.slots)

    @cached_property
    def alternatives(self) -> tuple[Slot, Slot] | None:
        """Two values of one kind between which the choice is left: "at 5 or 6"."""
        pairs = (pair for pair in pairwise(self.slots) if _OR.fullmatch(self.text[pair[0].end : pair[1].start]))
        return next(((one, other) for one, other in pairs if one.kind == other.kind), None)

    @cached_property
    def people_left_open(self) -> LeftOpen | None:
        """The row of known people between whom the choice is left: "Joe, Martin or Helen"."""
        if " or " not in self.text.lower():
            return None
        people = [entity for entity in self.context.entities if entity.kind == "person"]
        names = [(name, entity.name) for entity in people for name in (entity.name, *entity.aliases) if name]
        called = {form: whole for name, whole in names for form in (name.casefold(), folded(name))}
        one = "|".join(re.escape(name) for name in sorted(called, key=len, reverse=True))
        last = rf"(?:{one}|[^\W\d_]+)"  # who is not known is meant by one word
        row = re.compile(rf"(?<!\w)(?:{one})(?:\s*,\s*(?:{one}))*\s*,?\s+or\s+{last}(?!\w)", re.IGNORECASE)
        found = row.search(self.text) if called else None
        if found is None:
            return None
        said = tuple(re.split(r"\s*,\s*(?:or\s+)?|\s+or\s+", found[0], flags=re.IGNORECASE))
        return LeftOpen(found.start(), found.end(), said, tuple(called.get(name.casefold(), name) for name in said))

    @cached_property
    def asked(self) -> Asked:
        """What is asked, without the words that only lead to it."""
        return asked_of(self.text)

    @cached_property
    def asks_for_value(self) -> bool:
        """Whether it only names a value: "code for the back gate"."""
        return asks_for_value(self.text)

    @cached_property
    def names_matter(self) -> bool:
        """Whether it only names a matter and asks: "dad's allowance?"."""
        return names_matter(self.text)

    @cached_property
    def question(self) -> str:
        """It as a question of the owner's things: "wifi password at home" asks what it is."""
        return question_of(self.text)

    @cached_property
    def said_by(self) -> SaidBy | None:
        """Whose words it asks for."""
        return said_by(self.text)

    @cached_property
    def believed_then(self) -> Believed | None:
        """Which beliefs of the past it asks for."""
        return believed_then(self.text)

    @cached_property
    def with_names(self) -> str:
        """The text with the names of known people as they are written: "felix's birthday" is Felix's."""
        text = self.text
        for slot in reversed(self.slots):
            name = self._name_written(slot) if slot.kind == "person" else ""
            text = f"{text[: slot.start]}{name}{text[slot.end :]}" if name else text
        return text

    def _name_written(self, slot: Slot) -> str:
        """Return how the owner's card writes a name; empty where a slot names nobody by one."""
        called = (name for one in self.context.entities if one.kind == "person" for name in (one.name, *one.aliases))
        parts = (part for name in called for part in (name, name.partition(" ")[0]))
        return next((part for part in parts if part[:1].isupper() and part.casefold() == slot.text.casefold()), "")

    @cached_property
    def declares(self) -> bool:
        """Whether it states something, and does not only ask or order."""
        return declares(self.text)

    @cached_property
    def forbids(self) -> bool:
        """Whether it asks that something be left undone, as far as the beginning tells."""
        return forbids(self.text)


def read(request: Request, context: Context, taught: Collection[str] = ()) -> Utterance:
    """Read a request: slips of the hand are mended; names that the owner knows, and words they taught, stay.

    Args:
        taught: Words of what the owner taught, in lower case.
    Returns:
        The utterance; of one that was read in this context already, itself. What cannot be read is not mended either:
        "bitte" is no misspelt "bite".
    """
    said = Utterance.of(request, context)
    if said is request or said.unreadable:
        return said
    named = {entity: (entity.name, *entity.aliases) for entity in context.entities}
    own = frozenset(word for names in named.values() for name in names for word in words_in_text(name)).union(taught)
    called = (name for entity, names in named.items() if entity.kind == "person" for name in names)
    people = frozenset(word for name in called for word in words_in_text(name) if len(word) >= LEAST_LETTERS - 1)
    mended = Spelling.shipped().mended(request.text, own, people)
    if mended.text == request.text:
        return said
    return replace(said, text=mended.text, said=request.typed if mended.typed else request.said, mended=mended)
