"""Finds what is asked for beside a request and is planned after it: a reminder of a new event, others who get a mail.

"Put lunch with Anna on Friday at one, remind me 30 minutes before" is the event, and a reminder that follows it: of
what is said to be done then ("remind me the day before to bake a cake"), else of the event. "Email Pieter that the
heating is off and cc Noor" is the mail, and whom it goes to as well. "Email Pieter, Noor and Ana that the heating is
off" is the mail to the first, which goes to the others, too.

Covered: both at the end of a request; several people right behind the verb; known people. Not covered: the reminder
said first; an address after "cc", which is read with the rest; people who are not known: after "cc" their words stay,
in a row with others they are told as left out.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from hearth import patterns as re
from hearth.formats.tool_signature import parse_duration
from hearth.language.acts.clauses import VERBS
from hearth.language.reading import Utterance
from hearth.language.temporal.time_words import MONTHS, WEEKDAYS
from hearth.language.text.spelling import Spelling
from hearth.language.text.thesaurus import POLITE

_SAYS = re.compile(
    r"[\s,;.–-]*\b(?:(?:and|also|then|with|plus|please|can you|could you)\s+)*"
    r"(?:(?:remind|alert|notify|warn|ping|nudge) me|(?:set |add |have )?(?:a |an )?(?:reminder|alert|alarm))"
    r"(?: of it)?\s*$",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"\s*(?:before(?:hand)?|b4|ahead|in advance|earlier|prior)(?: it| that| then| it starts)?"
    r"(?:[ ,]+(?:to|that i(?: need to| have to| must| should)?) (?P<deed>\S.*?))?"
    r"(?:[ ,]*(?:please|pls|thanks|thank you))?[\s.!]*$",
    re.IGNORECASE,
)
_DAY = re.compile(r"\bthe (?P<unit>day|night|evening|morning|week)(?=\s+(?:before|b4)\b)", re.IGNORECASE)
_HOURS = {"night": 20, "evening": 18, "morning": 9}
_LONGEST = 2_000
_WHOLE_DAY_AT = 9
"""The hour at which one is reminded the day before what lasts all day."""


@dataclass(frozen=True, slots=True)
class Lead:
    """A reminder that is said with something else."""

    rest: str
    """The request without it."""
    before: dt.timedelta
    text: str
    """Its words."""
    deed: str = ""
    """What is to be done then, where that is said."""
    hour: int | None = None
    """The hour that "the evening before" is."""

    def at(self, start: dt.datetime) -> dt.datetime:
        """Return when it reminds of what starts then."""
        hour = self.hour
        if hour is None and self.before.days and start.time() == dt.time():
            hour = _WHOLE_DAY_AT
        at = start - self.before
        return at if hour is None else at.replace(hour=hour, minute=0)


def lead_of(said: Utterance) -> Lead | None:
    """Return the reminder that ends a request; None where none does."""
    text = said.text
    if len(text) > _LONGEST:
        return None
    for start, end, before, hour in _lengths(said):
        tail, says = _BEFORE.fullmatch(text, end), _SAYS.search(text, 0, start)
        if tail is not None and says is not None and says.start() > 0:
            words = text[says.start() :].lstrip(" ,;.–-")
            return Lead(text[: says.start()].rstrip(), before, words, tail["deed"] or "", hour)
    return None


def _lengths(said: Utterance) -> Iterator[tuple[int, int, dt.timedelta, int | None]]:
    """Yield where a length or a day counted from the event stands, and what it is."""
    for match in _DAY.finditer(said.text):
        unit = match["unit"].lower()
        yield match.start(), match.end(), dt.timedelta(days=7 if unit == "week" else 1), _HOURS.get(unit)
    for slot in said.slots:
        if slot.kind == "duration":
            yield slot.start, slot.end, parse_duration(str(slot.views["duration"])), None


_COPY = re.compile(
    r"[\s,;.–-]+(?:(?:and|also|please|with)\s+)*(?:(?:a\s+)?b?cc(?:\s+to|['’]?d|ing|ed)?|cop(?:y|ying)(?:\s+(?:in|to))?|"
    r"(?:a|with\s+a)\s+copy\s+to)\s*:?\s+(?P<who>\S.{0,120}?)(?:\s+(?:in|too|as\s+well|please|on\s+(?:it|that|this)))*\s*[.!]*\s*$",
    re.IGNORECASE,
)
_JOINT = re.compile(r"\s*,?\s*(?:and\s+|&\s*)?", re.IGNORECASE)
_OF_WHERE = re.compile(r"\s+(?:at|from|of|in)\s+(?:the\s+|my\s+|our\s+)?\w[\w'’&-]*(?:\s+\w[\w'’&-]*)?", re.IGNORECASE)
"""Says of somebody where they are: "Noor at the gym"."""
_MOST_COPIED = 6


@dataclass(frozen=True, slots=True)
class Copied:
    """Who else gets a mail."""

    rest: str
    """The request without them."""
    names: tuple[str, ...]


def copied_in(said: Utterance) -> Copied | None:
    """Return who else gets the mail that a request asks for; None where nobody is named so, or somebody unknown."""
    match = _COPY.search(said.text) if len(said.text) <= _LONGEST else None
    if match is None or match.start() == 0:
        return None
    who = f"tell {match['who']}"
    slots = said.saying(who).slots
    names = [str(slot.views["name"]) for slot in slots if slot.kind == "person"]
    place = len("tell ")
    for slot in slots:
        if slot.kind != "person" or (place < slot.start and _JOINT.fullmatch(who, place, slot.start) is None):
            return None
        place = slot.end
    if not names or len(names) > _MOST_COPIED or (who[place:].strip() and not _OF_WHERE.fullmatch(who, place)):
        return None
    return Copied(said.text[: match.start()], tuple(names))


_MAIL_TO = re.compile(
    r"\s*(?:(?:please|pls|can\s+you|could\s+you|ok|okay|and|now)[\s,]+)*(?:e-?mail|mail|message|msg|tell|ask|let"
    r"|write\s+to|(?:send|draft|write)\s+(?:an?\s+)?(?:e-?mail|mail|message|note)\s+to)\s+",
    re.IGNORECASE,
)
_SAYS_WHAT = re.compile(
    r"[\s,]+(?=(?:that|saying|about|asking|to|know|if|whether|when|what|who|how|why|where|the|an?)\b"
    r"|and\s+(?:ask|tell|say|let|check|see|remind|invite)\b)|\s*(?=:)",
    re.IGNORECASE,
)
_HEAD = re.compile(r"(?:all|both|each|every\w*)\b[^,:;]{0,60}[,:]\s*", re.IGNORECASE)
_IN_A_ROW = re.compile(r"\s*,\s*(?:(?:and|plus)\s+|&\s*)?|\s+(?:and|plus)\s+|\s*&\s*", re.IGNORECASE)
_JOINED = re.compile(r"\b(?:and|plus)\b|&", re.IGNORECASE)
_ARTICLE = re.compile(r"(?:the|an?)\b", re.IGNORECASE)
_NAMED = re.compile(r"[^\W\d_a-z][a-z][\w'’-]*|[^\W\d_a-z]['’][^\W\d_a-z]\w+")
_BESIDE = re.compile(
    r"\s+(?:and|&|plus)\s+(?P<who>(?:the|my|our|b?cc)\s+[\w'’-]+(?:\s+[\w'’-]+)?)(?:\s+(?=(?:that|saying|about)\b)|(?=:))",
    re.IGNORECASE,
)
"""Somebody beside a row who is not looked up: "and the landlord that …", "and bcc helen that …"."""
_WORDS_OF_TIME = frozenset((*MONTHS, *WEEKDAYS))
_OF_ANOTHER = re.compile(
    r"['’]s\s|\s+(?:is|was|has|had|will|would|can|can['’]?t|won['’]?t|isn['’]?t|wasn['’]?t|said|says|wants|needs|asked|asks|"
    r"called|rang|came|comes|got|gets|did|does|didn['’]?t|doesn['’]?t|went|goes|thinks|thought|told|likes|left)\b",
    re.IGNORECASE,
)
_COMMA = re.compile(r"\s*,\s*")


@dataclass(frozen=True, slots=True)
class Row:
    """Several people in a row who are to get one mail."""

    names: tuple[str, ...]
    """Those who are known."""
    left: tuple[str, ...] = ()
    """The words for others: whoever is not known, or is only to get a copy."""


def several_told(said: Utterance) -> Row | None:
    """Return the several people who are told something; None where no two are named so."""
    text = said.text
    verb = _MAIL_TO.match(text) if len(text) <= _LONGEST else None
    if verb is None:
        return None
    head = _HEAD.match(text, verb.end())
    first = head.end() if head is not None else verb.end()
    beside = _BESIDE.search(text, first)
    says = _SAYS_WHAT.search(text, first)
    if says is None:
        return None
    if beside is not None and beside.start() > says.start():
        beside = None
    end, behind = (beside.start(), beside.end()) if beside is not None else (says.start(), says.end())
    is_clear = _ARTICLE.match(text, behind) is None  # "and book the court" names nobody
    row = text[first:end]
    pieces = _IN_A_ROW.split(row)
    people = [_people_in(piece, said) for piece in pieces]
    n_known = sum(bool(one) for one in people)
    is_joined = is_clear and (n_known > 1 or _JOINED.search(row) is not None)
    names: list[str] = []
    left: list[str] = []
    for piece, known in zip(pieces, people, strict=True):
        if not known and not (is_joined and _is_name(piece)):
            return None
        names += [name for name, _ in known]
        left += [] if known else [piece]
    left += [beside["who"]] if beside is not None else []
    return Row(tuple(names), tuple(left)) if names and 1 < len(names) + len(left) <= _MOST_COPIED else None


def _is_name(word: str) -> bool:
    """Whether a word that nobody known is called by is typed as a name, and is no other word."""
    low = word.lower()
    if _NAMED.fullmatch(word) is None or low in VERBS or low in POLITE or low in _WORDS_OF_TIME:
        return False
    return bool(Spelling.shipped().strange(low))


def told_of(said: Utterance) -> str:
    """Return who is spoken of to the one before: Ana in "tell Pieter, Ana said no"; empty where nobody is."""
    text = said.text
    verb = _MAIL_TO.match(text) if len(text) <= _LONGEST else None
    people = [slot for slot in said.slots if slot.kind == "person"]
    if verb is None or not people or people[0].start != verb.end():
        return ""
    comma = _COMMA.match(text, people[0].end)
    if comma is None:
        return ""
    known = next((slot for slot in people[1:2] if slot.start == comma.end()), None)
    other = _NAMED.match(text, comma.end()) if known is None else None
    end = known.end if known is not None else other.end() if other is not None else 0
    if not end or _OF_ANOTHER.match(text, end) is None:
        return ""
    return str(known.views["name"]) if known is not None else text[comma.end() : end]


def _people_in(piece: str, said: Utterance) -> list[tuple[str, str]]:
    """Return the known people of whom alone a piece is made, with the words for each; none where it says more."""
    who = f"tell {piece}"
    place, found = len("tell "), []
    for slot in said.saying(who).slots:
        if slot.kind != "person" or who[place : slot.start].strip():
            return []
        found.append((str(slot.views["name"]), slot.text))
        place = slot.end
    return [] if who[place:].strip() else found
