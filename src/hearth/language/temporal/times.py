"""Finds the time expressions of a request: one slot per expression, with every form a parameter may want."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hearth.formats.tool_signature import duration_text
from hearth.language.temporal import time_words
from hearth.language.temporal.clock_times import (
    AFTER_HOUR,
    APPROXIMATE,
    CLOCK_WORDS,
    OPEN_WORDS,
    RANGE_MARKS,
    Length,
    Line,
    clock,
    glued,
    length,
)
from hearth.language.temporal.dates import DAY_STARTS, Reading, count_of, day, is_year, lone_day
from hearth.language.temporal.repeats import REPEATS, TimeSaid, adverb, every
from hearth.language.temporal.time_words import (
    EVENING_WORDS,
    MEALS,
    MORNING_WORDS,
    OCCUPIED,
    ONE_DAY,
    PARTS,
    UNITS,
    WEEKDAYS,
    WEEKDAYS_PLURAL,
    Clues,
    Leaning,
    Part,
    Said,
    add_months,
    spelling,
)
from hearth.language.tokens import NUMBER_WORDS, Slot, Token, listed, spoken_number
from hearth.types import Plain

# ── Tenses ────────────────────────────────────────────────────────────────────────────────────────────────
# Decides, word by word, whether a request means the past or the future: whether a weekday is the last or the next.
#
# Each part of a sentence decides for itself: in "Ben sent me the date, put it down for Friday" Friday lies ahead.
# What one has ("what have I got on Friday") lies ahead; a thing that was moved lies where it was moved to. Nothing is
# parsed: a verb that is missing from the tables leaves the tense as it is.

Tense = Literal["", "past", "told"]
"""Tense of the next times; `told`: past, in a request to enter or move something ("the call I missed on Monday")."""

_PAST = frozenset(
    listed(
        "did was were had sent received wrote said told happened went came arrived met took made missed "
        "saved modified changed edited created written recorded downloaded taken ran bought paid ate saw "
        "talked spoke worked replied promised logged spent been uploaded photographed finished completed "
        "shared mentioned asked heard attended visited scanned filmed stored added learned watched slept "
        "emailed e-mailed mailed texted messaged phoned forwarded posted pinged rang got turned lost"
    )
)
_AHEAD = frozenset(
    listed(
        "remind schedule book will plan arrange set wake am add put create move do have is are can should "
        "shall block reserve cancel what's enter pencil find show tell snooze postpone reschedule"
    )
)
"""Words that turn a part of a sentence to the future when they begin it."""
_COMMANDS = frozenset(
    listed(
        "send write draft reply forward read open get give call ring text email e-mail mail message note save delete "
        "search list look check mark push shift delay bring invite ask let make tick confirm pick buy order start stop"
    )
)
"""Words that do the same, except after a "did": "what did Ben send and write on Monday"."""
_SETTING = frozenset(
    listed(
        "remind schedule book plan arrange set add put create move block reserve enter pencil postpone reschedule make "
        "push shift delay bring note"
    )
)
_PRESENT = frozenset(
    listed(
        "is are am will shall must needs need wants want comes starts begins leaves goes i'm i'll we're "
        "we'll you're they're she'll he'll it'll they'll"
    )
)
_OWED = frozenset(listed("must mustn't will won't shall should to it'll they'll we'll i'll you'll he'll she'll"))
"""Words before "be" and a participle that look ahead: "must be paid", "has to be sent"."""
_HAD = frozenset(listed("any anything a an some time room space much anyone"))
_WOULD = frozenset(listed("i'd he'd she'd we'd they'd i'll he'll she'll we'll they'll"))
_SAYING = frozenset(listed("said told promised says agreed"))
_IS_AT = frozenset(listed("now on at not due going"))
_WHO_IS = frozenset(listed("it that she he there what who"))
_BEGINNINGS = frozenset(listed("and then , so but or plus - – — :"))
_NO_VERBS = frozenset(listed("please also me what when where who which how"))
_HAVE = frozenset(listed("have has i've we've you've they've haven't hasn't ive weve youve theyve do does whos who's"))
_QUESTIONS = frozenset(listed("what who where when which how"))
_MOVED = frozenset(
    listed(
        "moved pushed shifted postponed rescheduled delayed brought put changed booked scheduled set planned confirmed"
    )
)
_MOVED_TO = frozenset(listed("pulled shunted altered swapped shoved bumped"))
"""Verbs that move a thing only with "to", "back" or "forward"."""
_PLANS = frozenset(listed("calendar calendars diary diaries schedule schedules plans meetings appointments free"))
_AT_MEALS = frozenset((*(PARTS[meal] for meal in MEALS), *OCCUPIED.values()))
_CALLED_OFF = frozenset(listed("cancelled canceled scrapped axed called"))
_LONGEST_PART = 12
_CALLED_BEFORE = frozenset(listed("me us on in at over during last this about earlier while"))
_FARTHEST_VERB = 5
"""Greatest distance, in words, of a present verb from the beginning of its part of a sentence."""


@dataclass(slots=True)
class _Reader:
    """State of the reading of a request."""

    words: Sequence[str]
    is_past: bool = False
    may_turn: bool = True
    """True while only "please" and the like has been said since a beginning."""
    is_inherited: bool = False
    """True while the part has had no verb of its own."""
    begins_at: int = 0
    is_did: bool = False
    is_setting: bool = False

    def word(self, index: int) -> str:
        return self.words[index] if 0 <= index < len(self.words) else ""

    def turn_ahead(self, word: str) -> None:
        self.is_past = self.may_turn = self.is_inherited = self.is_did = False
        self.is_setting = word in _SETTING

    def read(self, index: int) -> None:
        word = self.words[index]
        if word in (".", "!", "?", ";"):
            self.turn_ahead("")
            self.may_turn, self.begins_at = True, index + 1
        elif word in _BEGINNINGS:
            self.may_turn, self.is_inherited, self.begins_at = True, True, index + 1
        elif word in ("can", "could", "will", "would") and self.word(index + 1) in ("you", "u", "we"):
            self.turn_ahead("")
            self.may_turn = True
        elif self.may_turn and (word in _AHEAD or (word in _COMMANDS and not self.is_did)):
            self.turn_ahead(word)
        elif self._is_past_at(index):
            self.is_past, self.may_turn, self.is_inherited, self.is_did = True, False, False, word == "did"
        elif self._is_ahead_at(index):
            self.is_past = self.is_inherited = False
        else:
            self.may_turn = self.may_turn and word in (*_NO_VERBS, "you")

    def _is_past_at(self, index: int) -> bool:
        word = self.words[index]
        if word == "got":
            return not self._is_had(index) and not self._is_moved_on(index)
        if self.word(index - 1) == "be" and not _OWED.isdisjoint(self.words[max(0, index - 4) : index - 1]):
            return False  # "it must be paid by Friday"; not "what could be heard on Sunday"
        if word == "had" and self.word(index + 1) == "better":
            return False  # "tea had better be Wednesday"
        if word == "been" and self.word(index + 1) in _CALLED_OFF:
            return False  # "the stand-up's been cancelled on Monday" is of one that was to come
        if word == "promised" and not _HAVE.isdisjoint(self.words[max(0, index - 3) : index]):
            return False  # "have I promised anything for Wednesday"
        if word == "catch":
            return self.word(index + 1) in ("me", "us") and self.word(index + 2) == "up"  # "catch me up on Tuesday"
        if word == "compare":  # days are compared by what was seen, plans by what is to come
            return _PLANS.isdisjoint(self.words[index + 1 : index + 1 + _LONGEST_PART])
        if word == "called":
            return self.word(index + 1) in _CALLED_BEFORE and self.word(index - 1) not in ("list", "note", "event")
        return word in _PAST and not (word in _MOVED and self._is_ahead_at(index))

    def _is_had(self, index: int) -> bool:
        """Return whether "got" means "have": "have I got", "I've got", "what's Ben got"."""
        if index == self.begins_at and self.word(index + 1) in _HAD:
            return True  # "got any time on Thursday"
        before = self.words[max(0, index - 4) : index]
        if any(word in _HAVE for word in before) or before[-1:] == ["'s"]:
            return True
        return any(word == "'s" and self.word(index - n - 1) in _QUESTIONS for n, word in enumerate(before[::-1], 1))

    def _is_moved_on(self, index: int) -> bool:
        """Return whether "got" says that something was put somewhere else: "it got bumped to Monday"."""
        return self.word(index + 1).endswith("ed") and "to" in self.words[index + 2 : index + 7]

    def _is_ahead_at(self, index: int) -> bool:
        word = self.words[index]
        if word == "got":
            return self._is_had(index) or self._is_moved_on(index)
        if word in _MOVED_TO:
            return self.word(index + 1) in ("to", "until", "back", "forward")
        if word in _MOVED:
            return self.word(index - 1) == "been" or self.word(index + 1) in ("to", "until", "back", "forward")
        if self.is_setting and word in ("about", "of", "with", "to") and self.word(index + 1) in ("on", "for", "at"):
            return True  # "enter the party Ben wrote about on Friday"
        if word in _WOULD and any(one in _SAYING for one in self.words[max(0, index - 3) : index]):
            return True  # "I said I'd mind Otto on the 28th"
        if self.is_inherited and (word == "now" or (word == "'s" and self.word(index + 1) in _IS_AT)):
            return True  # "the coach rang, training's now Thursday"
        is_now = word in _PRESENT or (word == "'s" and self.word(index - 1) in _WHO_IS)
        return self.is_inherited and is_now and index - self.begins_at < _FARTHEST_VERB


def tenses(words: Sequence[str]) -> list[Tense]:
    """Return, for each word of a request, the tense of a time said there."""
    reader = _Reader(words)
    result: list[Tense] = []
    for index in range(len(words)):
        reader.read(index)
        result.append(("told" if reader.is_setting else "past") if reader.is_past else "")
    return result


# ── Records ───────────────────────────────────────────────────────────────────────────────────────────────

RECORDS = frozenset(
    listed(
        "mail mails email emails e-mail e-mails message messages photo photos picture pictures image images "
        "video videos recording recordings file files document documents note notes newsletter newsletters "
        "invoice invoices receipt receipts footage"
    )
)
"""Things that lie in the past: "mails from Monday" looks back."""
_MAILS = frozenset(listed("mails emails e-mails messages photos pictures videos recordings newsletters footage"))
_ONE_MAIL = frozenset(listed("mail email e-mail message"))
_BEFORE_MAILS = frozenset(
    listed(
        "find show list search any which what all delete archive count how many get me for up the my our new unread "
        "please can could you i we have still got do are is there were was from latest recent of every see"
    )
)
_DUE = frozenset(listed("must need needs due will should to send answer reply"))
_SPANS = frozenset(listed("between before after from since of in over during until"))


def is_of_records(words: Sequence[str], index: int, cue: str) -> bool:
    """Return whether the time that begins at a place says when mails, photos and the like came."""
    if cue in ("from", "of") and any(word in RECORDS for word in words[max(0, index - 3) : index]):
        return True
    if cue not in _SPANS:
        return False
    part: list[str] = []
    for word in reversed(words[max(0, index - _LONGEST_PART) : index]):
        if word in (".", "!", "?", ";", ",", "and", "then"):
            break
        part.append(word)
    part.reverse()
    for place, word in enumerate(part):
        is_one = word in _ONE_MAIL and place and part[place - 1] in ("any", "unread", "new", "which", "all")
        if word in _MAILS or is_one:
            return not any(after in _DUE for after in part[place + 1 :])
        if word not in _BEFORE_MAILS:
            return False
    return False


# ── Expressions ───────────────────────────────────────────────────────────────────────────────────────────
# Finds the time expressions of a request: one slot per expression, with every form a parameter may want.
#
# A grammar of spans, not a date parser: a request says ranges, periods, parts of days, bounds and repeats at least as
# often as single dates, and the span is needed as much as the value (docs/decisions/0004-time-expressions.md). A few
# words around a time may say morning or evening, name a part of the day, or make it only a length.

# ── The words around a time ───────────────────────────────────────────────────────────────────────────


_OPENING_PART = OPEN_WORDS | set(listed("open clear empty available a an one the my our any whole"))
_BESIDE_PART = OPEN_WORDS | set(listed("on for ? say , like looking maybe busy is clear open available so"))
_DAY_PARTS = frozenset(listed("morning afternoon evening night"))
_FITTING = frozenset(listed("squeeze fit slot pencil sneak cram squeezed fitted"))


def part_before(line: Line, index: int) -> Part | None:
    """Find a part of the day said before the day: "a free morning on Monday", "free evenings? say, Thursday"."""
    place = index - 1
    while place > index - 5 and line.word(place) in _BESIDE_PART:
        place -= 1
    name = line.word(place).removesuffix("s")
    is_beside = place == index - 1 and line.word(index) in ("today", "tomorrow") and line.word(place - 1) != "good"
    if name in _DAY_PARTS and (is_beside or line.word(place - 1) in _OPENING_PART):
        return PARTS[name]
    return None


def leaning(line: Line, index: int, after: int) -> Leaning:
    """Return "am" or "pm" by the nearest word about waking, meals or going out: before the time, else after it."""
    for place in (*range(index - 1, max(-1, index - 11), -1), *range(after, min(after + 5, len(line.words)))):
        word = line.words[place]
        if word in MORNING_WORDS or (word == "up" and _is_getting_up(line, place)):
            return "am"
        if word in EVENING_WORDS:
            return "pm"
    return ""


def _is_getting_up(line: Line, index: int) -> bool:
    before = line.word(index - 1)
    return before in ("get", "getting", "be", "i'm") or (before in ("me", "us") and line.word(index - 2) == "get")


def fits_in(line: Line, index: int, following: str) -> bool:
    """Return whether the word before "in" makes what follows a length, not a moment: "squeeze in 30 minutes"."""
    word = line.word(index)
    return word in _FITTING or (word in ("put", "get", "book", "schedule", "block") and following in ("of", "with"))


# ── Whole expressions ─────────────────────────────────────────────────────────────────────────────────


_CUES: dict[str, tuple[tuple[tuple[str, ...], str], ...]] = {}
for _phrase, _meaning in {
    "at": "at",
    "@": "at",
    "on": "on",
    "in": "in",
    "for": "for",
    "of": "of",
    "to": "to",
    "from": "from",
    "between": "between",
    "within": "within",
    "during": "during",
    "over": "over",
    "throughout": "during",
    "around": "around",
    "about": "about",
    "since": "since",
    "until": "until",
    "up to": "until",
    "up until": "until",
    "through": "until",
    "before": "before",
    "prior to": "before",
    "earlier than": "before",
    "after": "after",
    "later than": "after",
    "by": "by",
    "no later than": "by",
    "not later than": "by",
    "due": "on",
    "due on": "on",
    "due by": "by",
    "starting": "onward",
    "starting from": "onward",
    "starting on": "onward",
    "starting at": "onward",
    "starting in": "onward",
    "beginning": "onward",
    "beginning on": "onward",
    "as of": "onward",
    "every": "every",
    "each": "every",
}.items():
    _words = tuple(_phrase.split())
    _CUES[_words[0]] = tuple(sorted((*_CUES.get(_words[0], ()), (_words, _meaning)), key=lambda c: -len(c[0])))
_BOUNDS = frozenset(["since", "until", "before", "after", "by", "onward"])
_GLUE = frozenset(listed("at on of from between until before after by around about @ every each in"))
_RANGE_WORDS = frozenset({"to", "until", "through", *RANGE_MARKS})
_TODAYS = frozenset({"tomorrow", "tonight", "today"})
_NAMED_DAYS = _TODAYS | set(WEEKDAYS)
_PARTS_SAID = frozenset(
    {("in", "the", part) for part in ("morning", "afternoon", "evening")}
    | {(word, part) for word in ("this", "yesterday", "tomorrow") for part in ("morning", "afternoon", "evening")}
    | {("at", "night"), ("last", "night"), ("tomorrow", "night")}
)
"""Parts of the day after which an hour needs no "at": "Sunday, ten in the morning"."""
_NEAR_COUNT = 8
"""So many words before and after a number the other one is looked for: "one in the morning, one at night"."""
_STARTS = frozenset(
    {"now", *DAY_STARTS, *CLOCK_WORDS, *OPEN_WORDS, *_CUES, *REPEATS, *WEEKDAYS_PLURAL, *NUMBER_WORDS}
    | set(listed("an few couple half quarter three once weekdays weekends"))
)
_VALUE_KINDS = frozenset({"iso", "numeric_date", "day_month", "clock", "hours", "number"})


def find_times(text: str, said: Sequence[Token], now: dt.datetime, country: str) -> list[TimeSaid]:
    """Find the `time` and `duration` slots of a request, in order, without overlap.

    Args:
        text: The request.
        said: Its tokens.
        now: When it was said, with time zone.
        country: ISO 3166 code; decides the order of 3/4/2027.
    """
    line = Line(said, [spelling(t.low) if t.kind == "word" else t.low for t in said], now, country)
    tense = tenses(line.words)
    times: list[TimeSaid] = []
    index = 0
    while index < len(said):
        if line.words[index] not in _STARTS and said[index].kind not in _VALUE_KINDS:
            index += 1
            continue
        line.look_back(index)
        found = (
            _shared_duration(line, text, index, times)
            or _time_at(line, text, index, tense[index])
            or _duration_at(line, text, index)
        )
        if found is None:
            index += 1
        else:
            times.append(found[0])
            index = found[1]
    return times


def _time_at(line: Line, text: str, index: int, tense: Tense) -> tuple[TimeSaid, int] | None:
    for n_cue, cue in _cues_at(line, index):
        place = index + n_cue
        if place >= len(line.tokens):
            continue
        is_ahead = (tense == "told" and cue in ("for", "to", "by", "until")) or line.word(index - 1) == "asked"
        is_of_past = cue == "since" or is_of_records(line.words, index, cue)
        line.is_past = (tense != "" and not is_ahead) or is_of_past
        found = _time_after_cue(line, text, (index, place), cue)
        if found is None:
            continue
        if tense == "past" and line.is_past and not is_of_past:
            line.is_past = False
            ahead = _time_after_cue(line, text, (index, place), cue)
            line.is_past = True
            if ahead is not None and ahead[0].slot.views != found[0].slot.views:
                time = found[0]
                found = time._replace(slot=replace(time.slot, ahead=ahead[0].slot.views)), found[1]
        return found
    return None


def _time_after_cue(line: Line, text: str, places: tuple[int, int], cue: str) -> tuple[TimeSaid, int] | None:
    """Read the time whose cue begins at the first of two places, and which itself begins at the second."""
    index, place = places
    read = _expression(line, text, place, cue)
    if read is None:
        return None
    said, after = read
    if cue == "from" and line.word(after) in ("on", "onward", "onwards") and said.to_clock is None:
        cue = "onward"
    is_target = cue == "until" and (line.is_moving or line.word(index - 1) == "off")
    if cue in _BOUNDS and not is_target and not said.repeat and not said.bound and said.to_clock is None:
        said.bound = cue
    return _time_slot(line, text, said, (index, place, after), cue)


def _cues_at(line: Line, index: int) -> list[tuple[int, str]]:
    """Return each possible cue at a place as its number of tokens and its meaning, the longest first, no cue last."""
    found = []
    for words, meaning in _CUES.get(line.words[index], ()):
        if words == ("through",) and line.word(index - 1) in ("me", "us"):
            continue  # "run me through tomorrow"
        if tuple(line.words[index : index + len(words)]) == words:
            n_words = len(words)
            if line.word(index + n_words) in APPROXIMATE:
                found.append((n_words + 1, meaning))
            found.append((n_words, meaning))
    return [*found, (0, "at" if _is_waking(line, index) else "")]


def _is_waking(line: Line, index: int) -> bool:
    """Return whether the number at a place says when to wake somebody: "alarm 7", "wake me up 6 30"."""
    before = line.words[max(0, index - 3) : index]
    if before in (["wake", "up", "call"], ["wake", "-", "up"]) or (
        before[-2:] == ["remind", "me"] and line.words[index] == "half"
    ):
        return True
    return before[-1:] == ["alarm"] or before[-2:-1] == ["wake"] or (before[:1] == ["wake"] and before[-1] == "up")


def _time_slot(
    line: Line, text: str, said: Said, places: tuple[int, int, int], cue: str
) -> tuple[TimeSaid, int] | None:
    index, place, after = places
    is_plain_day = said.first is not None and said.after is None and not (said.clock or said.bound or said.repeat)
    if is_plain_day and said.part is None and said.stands_at is None:
        said.part = part_before(line, index)
        if said.part is None and said.first is not None and cue == "to" and line.is_moving:
            said.stands_at = time_words.moment_at(
                said.first, 0, line.now
            )  # only the day is another, the time of day stays
    clues = Clues(line.is_past or cue == "since", leaning(line, index, after))
    made = time_words.views(said, line.now, clues)
    if made is None:
        return None
    start, end = line.tokens[place].start, line.tokens[after - 1].end
    cue_start = line.tokens[index].start
    cue_text = " ".join(token.low for token in line.tokens[index:place])
    slot = Slot("time", start, end, text[start:end], made[0], cue_text, cue_start, made[1])
    return TimeSaid(slot, said, clues), after


# ── Expressions ───────────────────────────────────────────────────────────────────────────────────────────


def _expression(line: Line, text: str, place: int, cue: str) -> Reading:
    if cue == "every":
        return _composed(line, text, every(line, text, place))
    if line.words[place] == "now":
        is_every = not {"every", "each"}.isdisjoint(line.words[max(0, place - 4) : place])
        is_counted_to = line.word(place - 2) in UNITS and not is_every  # "how many days from now till the 2nd of July"
        return None if is_counted_to else _from_now(line, text, place, cue)
    offset = _offset(line, text, place, cue)
    if offset is not None:
        return _composed(line, text, offset)
    first = _composed(line, text, _element(line, text, place, cue))
    if first is None:
        return None
    return _to_another(line, text, first, cue) or first


def _element(line: Line, text: str, place: int, cue: str, *, is_joined: bool = False) -> Reading:
    if place >= len(line.tokens):
        return None
    found = day(line, text, place, cue or ("joined" if is_joined else ""), is_joined=is_joined)
    if found is not None:
        return found
    word = line.words[place]
    if word in REPEATS or word in WEEKDAYS_PLURAL or word in ("once", "weekdays", "weekends"):
        return adverb(line, place, cue)
    if line.tokens[place].kind in ("clock", "number", "hours") or word in CLOCK_WORDS:
        read = clock(line, place, cue, is_joined=is_joined)
        if read is None and (cue in ("", "between") or (cue == "to" and line.is_moving)):
            read = _bare_before_part(line, place, cue)
        if read is not None or cue or is_joined:
            return read
        return _bare_before_day(line, place)
    return None


def _bare_before_part(line: Line, place: int, cue: str) -> Reading:
    """Read a bare hour as a time when a part of the day follows and no more than a mark or a day stands before it:
    "Sundays, ten in the morning", "half four in the morning"; no "take two in the morning"."""
    read = clock(line, place, "around") if not line.is_counting else None
    if read is None or not any(tuple(line.words[read[1] : read[1] + n]) in _PARTS_SAID for n in (2, 3)):
        return None
    before, has_minutes = line.word(place - 1), read[1] - place > 1
    is_apart = has_minutes or cue == "between" or before in ("", *",.;:-–—(") or before in _NAMED_DAYS
    is_count = not cue and not has_minutes and _are_counts(line, place)
    return read if is_apart and not is_count else None


def _are_counts(line: Line, place: int) -> bool:
    """Return whether the numbers before several parts of the day count something: "one in the morning, two at night".

    They do where one of them is hardly an hour of its part; not in "ten in the morning and four in the afternoon".
    """
    said = []
    for index in range(max(0, place - _NEAR_COUNT), min(place + _NEAR_COUNT + 1, len(line.words))):
        n_words = next((n for n in (2, 3) if tuple(line.words[index + 1 : index + 1 + n]) in _PARTS_SAID), 0)
        if n_words and (number := count_of(line.words[index])):
            said.append(number < 5 and line.word(index + n_words) != "afternoon")
    return len(said) > 1 and any(said)


def _bare_before_day(line: Line, place: int) -> Reading:
    """Read a bare hour as a time when a day follows: "8 tomorrow evening", "nine fifteen on Friday"."""
    if line.word(place) in NUMBER_WORDS or line.word(place) == "half":
        read = clock(line, place, "around")
        if read is None or read[1] < place + 2:
            return None
        following = line.word(read[1] + (line.word(read[1]) == "on"))
        return read if following in _NAMED_DAYS else None
    if line.word(place + 1) not in _TODAYS or line.word(place).isalpha():
        return None
    return clock(line, place, "around")


def _bare_after_day(line: Line, place: int, said: Said) -> Reading:
    """Read a bare hour that ends what is said after a day as a time: "fri 11", "Monday morning seven thirty".

    Not "Saturday 5" where the 5th is a Saturday of the next two weeks: it may be either.
    """
    word = line.word(place)
    if said.first is None or said.after is not None or said.clock is not None or line.is_counting:
        return None
    read = clock(line, place, "at")
    if line.word(place - 1) == "," and word not in NUMBER_WORDS and _is_no_hour(line, place, said, read):
        return None
    if read is None or line.word(read[1]) not in AFTER_HOUR:
        return None
    if word.isdecimal() and said.weekday is not None and (alone := lone_day(line, int(word))) is not None:
        is_date = alone.weekday() == said.weekday and (alone - line.today).days < 14
        return None if is_date else read
    return read


def _is_no_hour(line: Line, place: int, said: Said, read: Reading) -> bool:
    """Return whether a number behind a comma is a price, a year or a count, and not the hour of the day before it."""
    word = line.word(place)
    is_price = "." in word and read is not None and line.word(read[1]) == "for"  # "Friday, 2.50 for bread"
    has_number = said.weekday is None and line.word(place - 2) not in _TODAYS
    return is_price or (is_year(word) and has_number) or not _has_minutes(read)


def _has_minutes(read: Reading) -> bool:
    """Return whether an hour was said with its minutes, so that it is no count: "9.30", "half seven"."""
    return read is not None and read[0].clock is not None and read[0].clock.minute > 0


def _composed(line: Line, text: str, first: Reading) -> Reading:
    """Join what follows and belongs to the same expression: day, part of the day, clock time, repeat."""
    if first is None:
        return None
    said, place = first
    for _ in range(4):
        unchanged = _past_same_time(line, place) if line.is_moving and said.clock is None else 0
        if unchanged and said.first is not None:
            return replace(said, stands_at=time_words.moment_at(said.first, 0, line.now)), unchanged
        following, cue = _past_meal(line, place, said), ""
        if line.word(following) == ",":
            following += 1
        if line.word(following) in _GLUE:
            cue = {"@": "at", "each": "every"}.get(line.words[following], line.words[following])
            following += 1
            following += line.word(following) in APPROXIMATE
            following += line.word(following) == "a" and line.word(following + 1) in WEEKDAYS  # "each week on a Monday"
        if following >= len(line.tokens) or (line.word(following) in _CUES and cue):
            break
        if cue == "every":
            read = every(line, text, following)
        else:
            read = _element(line, text, following, cue, is_joined=True)
            if read is None and not cue:
                read = _bare_after_day(line, following, said)
        joined = _join(said, read[0], cue) if read is not None else None
        if joined is None or read is None:
            break
        said, place = joined, read[1]
    return said, place


def _past_meal(line: Line, place: int, said: Said) -> int:
    """Return the index after "lunch" in "move it to friday lunch, 12:15"; the same place elsewhere."""
    after = place + 1 + (line.word(place + 1) == ",")
    is_timed = after < len(line.tokens) and (line.tokens[after].kind == "clock" or line.has_half(after + 1))
    is_day = said.first is not None and said.clock is None and said.part is None
    return place + 1 if line.is_moving and is_day and line.word(place) in MEALS and is_timed else place


def _past_same_time(line: Line, place: int) -> int:
    """Return the index after ", at the same time"; 0 when something else stands there."""
    place += line.word(place) == ","
    place += line.word(place) == "at"
    place += line.word(place) == "the"
    return place + 2 if line.words[place : place + 2] == ["same", "time"] else 0


def _join(said: Said, more: Said, cue: str) -> Said | None:
    """Merge two readings, or return None when they cannot be of one expression."""
    days = _joined_days(said, more) if not _are_apart(said, more, cue) else None
    if days is None:
        return None
    first, after, weekday, weekdays = days
    if more.clock and after is not None:
        return None
    return Said(
        first=first,
        after=after,
        weekday=weekday,
        part=said.part or more.part,
        clock=said.clock or more.clock,
        to_clock=said.to_clock or more.to_clock,
        stands_at=said.stands_at or more.stands_at if not (said.clock or more.clock) else None,
        beside=said.beside or more.beside,
        bound=said.bound or more.bound or (cue if cue in ("until", "before", "after", "by") else ""),
        is_within_day=said.is_within_day or cue in ("until", "before", "by"),
        is_rest=said.is_rest or more.is_rest,
        repeat=said.repeat or more.repeat,
        every=max(said.every, more.every),
        weekdays=weekdays,
    )


def _are_apart(said: Said, more: Said, cue: str) -> bool:
    """Return whether two readings say one thing twice, or the word between them begins an expression of its own."""
    if said.moment or more.moment or said.stretch or more.stretch:
        return True
    if (said.clock and more.clock) or (said.repeat and more.repeat) or (said.part and more.part):
        return True
    is_of_meal = cue in ("until", "before", "after", "by") and more.part in _AT_MEALS  # "on Monday before lunch"
    if cue in ("until", "before", "after", "by", "from", "between", "around", "about") and more.clock is None:
        return not is_of_meal
    return cue in ("until", "before", "after", "by") and bool(said.bound or said.clock or more.to_clock)


def _joined_days(said: Said, more: Said) -> tuple[dt.date | None, dt.date | None, int | None, tuple[int, ...]] | None:
    weekdays = said.weekdays or more.weekdays
    if (said.repeat or more.repeat) and not weekdays:
        plain = more if said.repeat else said
        if plain.weekday is not None and (said.repeat or more.repeat) == "weekly":
            return None, None, None, (plain.weekday,)
    if said.first is None or more.first is None:
        source = said if said.first is not None else more
        return source.first, source.after, source.weekday, weekdays
    for plain, other in ((said, more), (more, said)):
        if plain.weekday is None or other.weekday is not None:
            continue
        if other.after is None:
            return other.first, None, None, weekdays  # "Friday the 13th": the number decides
        if other.first is not None and (other.after - other.first).days == 7:
            return other.first + ONE_DAY * plain.weekday, None, None, weekdays  # "Tuesday next week"
    return None


def _to_another(line: Line, text: str, first: tuple[Said, int], cue: str) -> Reading:
    """Read "from Monday to Wednesday", "from Friday 5pm to Monday 9am"."""
    said, place = first
    mark = line.word(place)
    is_range = mark in _RANGE_WORDS or (mark, cue) == ("and", "between")
    if said.first is None or said.to_clock or said.repeat or said.bound or not is_range:
        return None
    if mark == "to" and (line.is_moving or cue == "to"):
        return None
    second = _end_of_range(line, text, place, said)
    if second is None:
        return None
    last, last_first, after = second
    if last.weekday is not None:
        last_first = said.first + ONE_DAY * ((last.weekday - said.first.weekday() - 1) % 7 + 1)
    if said.clock is None and last.clock is None and said.part is None and last.part is None:
        if last_first < said.first:
            return None
        return Said(
            first=said.first, after=last.after if last.weekday is None and last.after else last_first + ONE_DAY
        ), after
    stretch = _stretch(line, said, Said(first=last_first, clock=last.clock, part=last.part))
    return (Said(stretch=stretch), after) if stretch is not None else None


def _end_of_range(line: Line, text: str, place: int, said: Said) -> tuple[Said, dt.date, int] | None:
    """Read the end of a range after its mark, with its day and the index after it."""
    last_day = _element(line, text, place + 1, "until")
    read = _composed(line, text, last_day)
    has_own_hours = said.clock is not None or line.word(place) not in RANGE_MARKS
    if read is not None and (read[0].to_clock or (read[0].clock and not has_own_hours)):
        read = last_day  # "Monday-Friday 9-5": the hours apply to every day
    if read is None:
        return None
    last, after = read
    if last.first is None or last.repeat or last.to_clock or last.bound:
        return None
    return last, last.first, after


def _stretch(line: Line, said: Said, last: Said) -> tuple[dt.datetime, dt.datetime] | None:
    """Return the moments from which and to which a range goes whose ends are no whole days."""
    clues = Clues(line.is_past, "")
    start, end = time_words.views(said, line.now, clues), time_words.views(last, line.now, clues)
    if start is None or end is None:
        return None
    begins = dt.datetime.fromisoformat(str(start[0]["start"]))
    ends = dt.datetime.fromisoformat(str(end[0]["end" if last.clock is None else "start"]))
    return (begins.astimezone(line.now.tzinfo), ends.astimezone(line.now.tzinfo)) if begins <= ends else None


def _from_now(line: Line, text: str, place: int, cue: str) -> Reading:
    """Read "between now and Christmas", "from now until Friday"; never "now" alone."""
    mark = line.word(place + 1)
    is_range = mark in ("until", "through") or (mark in _RANGE_WORDS and cue == "from" and not line.is_moving)
    if not is_range and (mark, cue) != ("and", "between"):
        return None
    last = _composed(line, text, _element(line, text, place + 2, "until"))
    if last is None or last[0].repeat or last[0].to_clock or last[0].bound:
        return None
    last[0].bound = "until"
    made = time_words.views(last[0], line.now, Clues())
    if made is None or "start" not in made[0]:
        return None
    end = dt.datetime.fromisoformat(str(made[0]["end"])).astimezone(line.now.tzinfo)
    return Said(stretch=(line.now, end)), last[1]


# ── Offsets ───────────────────────────────────────────────────────────────────────────────────────────────


_ENDS = frozenset(["", ".", ",", "!", "please"])


def _offset(line: Line, text: str, place: int, cue: str) -> Reading:
    """Read "in 20 minutes", "three days ago", "an hour from now", "a week on Tuesday", "two days before Christmas"."""
    token = line.tokens[place]
    word = line.words[place]
    if token.kind not in ("number", "hours") and word not in NUMBER_WORDS and word not in (
        "a", "an", "few", "couple", "half", "quarter", "three"
    ):  # fmt: skip
        return None
    read = length(line, place)
    if read is None:
        return None
    span, after = read
    relation = line.word(after)
    if relation == "ago":
        return _moved(line, span, -1, cue), after + 1
    if line.words[after : after + 2] == ["from", "now"]:
        return _moved(line, span, 1, cue), after + 2
    if span.unit == "week" and (relation == "yesterday" or (relation == "last" and line.word(after + 1) in WEEKDAYS)):
        anchor = day(line, text, after, "on")  # "a week last Friday"
        return (Said(first=anchor[0].first - span.days * ONE_DAY), anchor[1]) if anchor and anchor[0].first else None
    if relation in ("from", "after", "on", "before"):
        anchored = _anchored(line, text, span, relation, after + 1)
        if anchored is not None:
            return anchored
    return _behind_length(line, place, span, cue, after)


def _behind_length(line: Line, place: int, span: Length, cue: str, after: int) -> Reading:
    """Read what stands behind a length that its cue counts from now: "in 20 minutes", "in two weeks' time"."""
    relation = line.word(after)
    if cue == "in" and fits_in(line, place - 2, relation):
        return None
    if cue == "in" and relation not in ("before", "after", "earlier", "of"):
        if line.words[after : after + 2] == ["'s", "time"] or line.words[after : after + 2] == ["'", "time"]:
            after += 2
        elif relation == "time":
            after += 1
        return _moved(line, span, 1, cue), after
    if cue == "after" and relation in _ENDS and "remind" in line.words[:place]:
        return _moved(line, span, 1, cue), after
    if cue == "within":
        return Said(stretch=(line.now, _later(line, span, 1))), after
    return None


def _later(line: Line, span: Length, sign: int) -> dt.datetime:
    """Shift now by months and days of the wall clock, then by hours of elapsed time."""
    now = line.now.replace(microsecond=0)
    date = add_months(line.today, sign * int(span.months)) + ONE_DAY * span.days * sign
    seconds = now.hour * 3600 + now.minute * 60 + now.second
    moment = time_words.moment_at(date, seconds, now) if date != line.today else now
    return time_words.later(moment, sign * span.seconds) if span.seconds else moment


def _moved(line: Line, span: Length, sign: int, cue: str) -> Said:
    try:
        moment, how_long = _later(line, span, sign), span.duration if sign > 0 else None
    except (OverflowError, ValueError):
        return Said(first=dt.date.max, after=dt.date.min)  # falls off the calendar: it yields no slot
    if span.is_clocked or cue == "at":
        return Said(moment=moment, length=how_long)
    return Said(first=moment.date(), stands_at=moment)


def _anchored(line: Line, text: str, span: Length, relation: str, place: int) -> Reading:
    if relation == "on" and (span.unit != "week" or line.word(place) not in WEEKDAYS):
        return None
    anchor = _composed(line, text, _element(line, text, place, "on"))
    if anchor is None:
        return None
    said, after = anchor
    sign = -1 if relation == "before" else 1
    try:
        if span.is_clocked:
            made = time_words.views(said, line.now, Clues(line.is_past, ""))
            if made is None or said.clock is None or said.to_clock:
                return None
            start = dt.datetime.fromisoformat(str(made[0]["start"])).astimezone(line.now.tzinfo)
            return Said(moment=time_words.later(start, sign * span.seconds)), after
        if said.first is None or said.after is not None:
            return None
        moved = add_months(said.first, sign * int(span.months)) + ONE_DAY * span.days * sign
    except (OverflowError, ValueError):
        return None
    return Said(first=moved, clock=said.clock, part=said.part, to_clock=said.to_clock), after


# ── Durations ─────────────────────────────────────────────────────────────────────────────────────────────


def _duration_at(line: Line, text: str, index: int) -> tuple[TimeSaid, int] | None:
    """Read a length of time that is no date: "for 45 minutes", "an hour and a half", "90 min"."""
    n_cue, cue = next(((n, c) for n, c in _cues_at(line, index) if n), (0, ""))
    place = index + n_cue
    if place >= len(line.tokens):
        return None
    read = length(line, place)
    if read is None:
        return None
    span, after = read
    if line.word(after) in ("old", "ago", "/", "*"):
        return None
    if line.words[after - 1] == "s" and line.word(index - 1 - (line.word(index - 1) == "-")) in ("under", "over"):
        return None  # "the under 12s" are of an age
    is_sure = cue in ("for", "in", "within", "after", "by", "about", "around", "every", "to", "over") or n_cue == 0
    is_lone_article = span.is_article and span.n_units == 1 and span.unit != "hour"
    if is_lone_article and cue not in ("for", "in", "within", "about", "around"):
        return None
    if not is_sure or (span.unit in ("day", "year") and line.words[after - 1] in ("d", "s")):
        return None
    try:
        views: dict[str, Plain] = _length_views(span)
        if line.is_snoozing and cue in ("", "for", "by"):
            views["datetime"] = _later(line, span, 1).isoformat()
    except (OverflowError, ValueError):
        return None
    start, end = line.tokens[place].start, line.tokens[after - 1].end
    cue_text = " ".join(token.low for token in line.tokens[index:place])
    slot = Slot("duration", start, end, text[start:end], views, cue_text, line.tokens[index].start)
    return TimeSaid(slot, None, Clues()), after


def _length_views(span: Length) -> dict[str, Plain]:
    """Return the views of a length. Raises: OverflowError, ValueError."""
    views: dict[str, Plain] = {"duration": duration_text(span.duration)}
    return views | {"number": span.amount, "unit": span.unit} if span.n_units == 1 else views


_FARTHEST_UNIT = 14
"""So many words after a length a number shares its unit."""
_TAKING = frozenset(listed("get gets need needs want wants take takes"))
_JOINTS = (["and"], [","], [";"], ["then"], ["after", "that"], ["followed", "by"])
"""What stands before the number of the next thing: "20 minutes for the pasta, then 10 for the sauce"."""


def _shared_duration(line: Line, text: str, index: int, times: Sequence[TimeSaid]) -> tuple[TimeSaid, int] | None:
    """Read a number that shares the unit of the length said before it: "35 minutes, and 50 for the rice"."""
    if not times or not (unit := _unit_after(line, times[-1].slot, index)) or line.is_counting:
        return None
    place = index + (line.words[index - 1 : index + 1] == ["followed", "by"])
    amount = spoken_number(line.tokens, place) if not glued(line, place) else None
    if amount is None or not amount[0] or not _is_for_another(line, place, amount[1]):
        return None
    span = Length()
    span.add(amount[0], unit)
    start, end = line.tokens[place].start, line.tokens[amount[1] - 1].end
    slot = Slot("duration", start, end, text[start:end], _length_views(span), "", start)
    return TimeSaid(slot, None, Clues()), amount[1]


def _unit_after(line: Line, slot: Slot, index: int) -> str:
    """Return "minute" or "second" where a length so said stands a few words before a place in its sentence, else ""."""
    first = max(0, index - _FARTHEST_UNIT)
    between = {token.low for token in line.tokens[first:index] if token.start >= slot.end}
    is_length = slot.kind == "duration" or slot.text.endswith("from now")
    if not is_length or line.tokens[first].start > slot.end or not between.isdisjoint(".?!"):
        return ""
    unit, said = slot.views.get("unit"), str(slot.views.get("duration", ""))
    ends_in = {"M": "minute", "S": "second"}.get(said[-1:], "") if said.startswith("PT") else ""
    return str(unit) if unit in ("minute", "second") else ends_in


def _is_for_another(line: Line, place: int, after: int) -> bool:
    """Return whether a number is another thing's: ", and 50 for the rice", "the mask needs 12", "and the stock 45"."""
    before, following = line.word(place - 1), line.word(after)
    if before == "another":
        return following in AFTER_HOUR
    if following == "for":
        return any(line.words[max(0, place - len(joint)) : place] == joint for joint in _JOINTS)
    is_last = following in _ENDS or following == "and"
    return is_last and (before in _TAKING or _is_gapped(line, place))


def _is_gapped(line: Line, place: int) -> bool:
    """Return whether "and the stock 45" repeats a clause without its verb."""
    for opening in (place - 2, place - 3):
        is_thing = all(word.isalpha() for word in line.words[max(0, opening) : place])
        if is_thing and line.word(opening) in ("the", "my", "our") and line.word(opening - 1) in ("and", ","):
            return True
    return False
