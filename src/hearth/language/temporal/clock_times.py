"""Reads times of day ("half past nine", "18:30") and lengths of time ("for two hours") at a place in a request."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from hearth.language.temporal.time_words import (
    COUNTING,
    MONTHS,
    MOVED,
    MOVING,
    SECONDS,
    SHORT_UNITS,
    UNITS,
    WEEKDAYS,
    Clock,
    Said,
)
from hearth.language.tokens import LEVELLED, NUMBER_WORDS, ONES, TENS, Token, is_unit_word, listed, spoken_number

# ── Clock times ───────────────────────────────────────────────────────────────────────────────────────────
# Reads times of day at a place in a request: "half past seven", "3-5pm", "noon".
#
# Each reader takes a `Line` and an index and returns what is said there and the index after it, or None. No reader
# looks further than a few words, so reading a whole request takes time linear in its length.


@dataclass(slots=True)
class Line:
    """A request as the time grammar reads it."""

    tokens: Sequence[Token]
    words: Sequence[str]
    """Lower-case texts of the tokens, with time words spelled correctly."""
    now: dt.datetime
    country: str
    is_past: bool = False
    """True while times are read as past: "what did I do on Monday"."""
    is_moving: bool = False
    """True when something is moved "from … to …", which then is not a range."""
    is_counting: bool = False
    """True when bare numbers here are not hours."""
    is_snoozing: bool = False
    """True when a reminder is put off: "snooze it for an hour" means in an hour."""
    depth: int = 0
    """Nesting depth of the expression being read."""

    @property
    def today(self) -> dt.date:
        return self.now.date()

    def word(self, index: int) -> str:
        return self.words[index] if 0 <= index < len(self.words) else ""

    def has_half(self, index: int) -> bool:
        """Return whether "am" or "pm" stands at a place."""
        return self.word(index) in ("am", "pm")

    def touches(self, index: int) -> bool:
        """Return whether the token follows the one before it without a space."""
        return 0 < index < len(self.tokens) and self.tokens[index].start == self.tokens[index - 1].end

    def is_capital(self, text: str, index: int) -> bool:
        return text[self.tokens[index].start].isupper()

    def look_back(self, index: int) -> None:
        """Set `is_moving`, `is_snoozing` and `is_counting` from the words before a place, within the sentence."""
        before = []
        for word in reversed(self.words[max(0, index - 10) : index]):
            if word in ".!?;":
                break
            before.append(word)
        self.is_moving = any(
            word in MOVING and (word != "shift" or _is_verb(before[k + 1 :])) for k, word in enumerate(before)
        )
        self.is_moving = self.is_moving or not (_PUTTING.isdisjoint(before) or _PUT_OFF.isdisjoint(before))
        self.is_snoozing = "snooze" in before or (
            self.word(index) == "for" and any(word in ("postpone", "delay", "snoozed") for word in before)
        )
        self.is_counting = any(word in COUNTING for word in before)
        if not self.is_moving and "change" in before:
            self.is_moving = any(word in MOVED for word in before)


_PUTTING = frozenset(("put", "gone"))
_PUT_OFF = frozenset(("back", "off", "forward"))
_BEFORE_VERBS = frozenset(listed("please pls can could would will you to and then just now kindly i we let's , :"))


def _is_verb(before: Sequence[str]) -> bool:
    """Return whether "shift" is what is to be done there, and no shift at work; `before`: nearest word first."""
    return not before or before[0] in _BEFORE_VERBS


CLOCK_CUES = frozenset(listed("at @ from between until by before after since around about onward than"))
APPROXIMATE = frozenset(["around", "about", "approximately", "roughly", "exactly", "circa"])
RANGE_MARKS = frozenset({"-", "–", "—"})
_HALVES = frozenset({"am", "pm", "a", "p"})
_NAMED = {"noon": Clock(12), "midday": Clock(12), "midnight": Clock(24)}
_FRACTIONS = {"half": 30, "quarter": 15, "five": 5, "ten": 10, "twenty": 20}
CLOCK_WORDS = frozenset({*_NAMED, *_FRACTIONS, *(word for word, n in ONES.items() if 1 <= n <= 12), "a"})
AFTER_HOUR = frozenset(["", *".,?!;", *listed("with for in at and to on please about not instead sharp")])
"""Words that may follow a bare hour; after any other word it is a count."""
_DAYS_AFTER = frozenset({"today", "tomorrow", "tonight", *WEEKDAYS})
_AFTER_DIGITS = frozenset(listed("today tomorrow tonight every this sharp each"))
_PARTS_OF_DAY = frozenset(listed("morning afternoon evening"))
_STRETCHES = frozenset(listed("while breakfast lunch dinner"))
"""Words of a question about the past after which two hours say when: "while I was out, half one to three"."""
_ON_THE_HOUR = frozenset(["sharp", "o'clock", "oclock"])
_AFTER_SHARP = AFTER_HOUR | _DAYS_AFTER | {"this", "every", "now", "so"}
_COUNTED = frozenset(
    listed(
        "page pages chapter chapters room rooms number numbers aged age ages year years score won lost beat item items "
        "level levels episode episodes season seasons ticket tickets task tasks line lines row rows plot plots size "
        "sizes step steps volume exercise exercises question questions from between by to of x won drew verse verses"
    )
)
"""Words after which two numbers are no hours."""
_NEAR_DAY = 30
"""So many words before hours their day is looked for."""
_LATE_END = 6
"""The last hour at which what begins late in the day ends: "8 to 1", "11 to 3"."""
_GLUED_BEFORE = frozenset("$€£¥#*/+=.,_%&")


def clock(line: Line, index: int, cue: str, *, is_joined: bool = False) -> tuple[Said, int] | None:
    """Read a time of day or a range of them.

    Args:
        cue: The word before it; a bare number is a time only after "at", "from", "until", …, and after "between" only
            where a second time follows.
        is_joined: True when it follows a day ("tomorrow 3-5pm").
    """
    is_cued = _is_cued(line, index, cue)
    first = _one(line, index, is_cued, cue)
    if first is None:
        return None if is_cued else _range_of_bare(line, index, is_joined) or _range_beside_day(line, index)
    said, place = Said(clock=first[0]), first[1]
    second = _range_end(line, place, cue, is_cued, first[0])
    if second is None and cue == "between":  # "split 1850 between 3" has no second time
        return clock(line, index, "", is_joined=is_joined)
    if second is not None:
        said.to_clock, place = second
    elif is_joined and not cue and not first[0].is_exact and line.tokens[index].kind != "clock":
        return (said, place) if line.word(place - 1) in _ON_THE_HOUR else None
    return said, place


def _is_cued(line: Line, index: int, cue: str) -> bool:
    if (
        cue == "by"
        and line.word(index - 2) in ("up", "down")
        and not LEVELLED.isdisjoint(line.words[max(0, index - 8) : index])
    ):
        return False  # "telly down by 10" is a step
    if line.is_counting:
        return cue in ("at", "@") or (cue == "until" and line.word(index - 1) != "to")  # "up to 20" is a level
    if cue == "to":
        before = line.words[max(0, index - 6) : index]
        is_set = any(word in ("set", "reset", "switch", "make", "put", "update") for word in before)
        return line.is_moving or (is_set and any(word in MOVED for word in before))
    if cue == "for":
        near = line.words[max(0, index - 4) : index]
        return any(word in ("alarm", "reminder", "meeting", "appointment", "call") for word in near)
    return cue in CLOCK_CUES


def _range_end(line: Line, place: int, cue: str, is_cued: bool, begins: Clock) -> tuple[Clock, int] | None:
    word = line.word(place)
    end = place + 1 + (line.word(place + 1) in APPROXIMATE)
    if (word in RANGE_MARKS or word in ("until", "to", "through")) and not (word == "to" and line.is_moving):
        within = _within_hour(line, end, begins)
        if within is not None:
            return within
    if word in RANGE_MARKS or word in ("until", "through"):
        return _one(line, end, True, "until")
    if word == "to" and not line.is_moving:
        return _one(line, end, is_cued or cue in ("", "for"), "from")
    if word == "and" and cue == "between":
        return _one(line, place + 1, True, "until")
    return None


def _range_of_bare(line: Line, index: int, is_joined: bool) -> tuple[Said, int] | None:
    """Read "3-5pm" without a cue: the end must be unambiguous, or a day must be beside both ("Tuesday 10 to 11")."""
    if line.tokens[index].kind != "number" or glued(line, index) or not _is_hour(line.words[index]):
        return None
    mark = line.word(index + 1)
    if mark not in (*RANGE_MARKS, "until") and (mark != "to" or line.is_moving):
        return None
    is_of_day = line.word(index + 3) in (*_DAYS_AFTER, "every")  # "block out 9 to 11 tomorrow"
    if (within := _within_hour(line, index + 2, _bare(line.words[index]))) is not None:
        return Said(clock=_bare(line.words[index]), to_clock=within[0]), within[1]
    second = _one(line, index + 2, is_joined or is_of_day, "until" if is_joined or is_of_day else "")
    if second is None:
        return None
    is_ended = line.word(second[1]) in AFTER_HOUR or mark == "until"
    if not second[0].is_exact and not is_of_day and not (is_joined and is_ended):
        return None
    return Said(clock=_bare(line.words[index]), to_clock=second[0]), second[1]


def _range_beside_day(line: Line, index: int) -> tuple[Said, int] | None:
    """Read hours without a cue that end what is said of a day named before: "block Friday for the van 8 to 9.30"."""
    if line.is_counting or line.is_moving or line.word(index - 1) in _COUNTED or not _is_after_day(line, index):
        return None
    relative = _relative(line, index, True, "at") if line.tokens[index].kind == "word" else None
    if relative is not None and line.words[index] != "half" and not _has_minutes_after(line, relative[1]):
        return None  # "Tuesday, ten to one" is ten minutes to one; "ten to eleven thirty" is a range
    first = _one(line, index, True, "from")
    if first is None or not (line.word(first[1]) in RANGE_MARKS or line.word(first[1]) in ("to", "until")):
        return None
    if (within := _within_hour(line, first[1] + 1, first[0])) is not None:
        return Said(clock=first[0], to_clock=within[0]), within[1]
    second = _one(line, first[1] + 1, True, "until")
    if second is None or line.word(second[1]) not in AFTER_HOUR:
        return None
    one, other = first[0].hour, second[0].hour
    is_later = other > one or (other <= _LATE_END and one > _LATE_END)
    return (Said(clock=first[0], to_clock=second[0]), second[1]) if is_later else None


def _within_hour(line: Line, index: int, begins: Clock) -> tuple[Clock, int] | None:
    """Read an end that leaves its hour to the beginning: the "half past" of "10 till half past", "2 to quarter to"."""
    if line.word(index) not in CLOCK_WORDS and not line.word(index).isdecimal():
        return None
    minutes, place = _minutes_beside(line, index + (line.words[index : index + 2] == ["a", "quarter"]))
    direction = line.word(place)
    if not minutes or direction not in ("past", "to") or line.word(place + 1) not in AFTER_HOUR:
        return None
    if _hour_at(line, place + 1) is not None or (direction == "to" and minutes == 30):
        return None
    if direction == "past" and minutes <= begins.minute:
        return None
    later = begins.hour * 60 + (minutes if direction == "past" else 60 - minutes)
    return Clock(later // 60, later % 60, 0, begins.is_exact), place + 1


def _has_minutes_after(line: Line, place: int) -> bool:
    """Return whether an hour in words goes on with its minutes: "eleven thirty", "eleven fifteen"."""
    word = line.word(place)
    return word in TENS or ONES.get(word, 0) > 12


def _is_after_day(line: Line, index: int) -> bool:
    """Return whether the sentence names a day, or a part of one, before a place."""
    for word in reversed(line.words[max(0, index - _NEAR_DAY) : index]):
        if word in ".!?;":
            return False
        if word in _DAYS_AFTER or word in MONTHS or word in _PARTS_OF_DAY or (line.is_past and word in _STRETCHES):
            return True
    return False


def _one(line: Line, index: int, is_cued: bool, cue: str) -> tuple[Clock, int] | None:
    if index >= len(line.tokens):
        return None
    token, word = line.tokens[index], line.words[index]
    if word == "the":  # "around the 5pm mark" is not read here
        return None
    if word in _NAMED:
        named = _NAMED[word]
        return Clock(named.hour), index + 1
    if token.kind == "clock":
        return _digital(line, index, word)
    if token.kind == "hours":
        return (Clock(int(word[:-1])), index + 1) if is_cued and word[:-1].isdecimal() and int(word[:-1]) < 25 else None
    relative = _relative(line, index, is_cued, cue)
    if relative is not None:
        return relative
    if token.kind == "number":
        return _numeric(line, index, is_cued, cue)
    if token.kind == "word" and word in ONES and 1 <= ONES[word] <= 12:
        return _in_words(line, index, is_cued)
    return None


def _digital(line: Line, index: int, word: str) -> tuple[Clock, int] | None:
    """Read 17:45, 5:30, 5:30 pm."""
    numbers = [int(part) for part in word.split(":")]
    if numbers[0] > 24 or max(numbers[1:]) > 59 or (numbers[0] == 24 and numbers[1]):
        return None
    hour, minute, second = [*numbers, 0][:3]
    half = _half(line, index + 1)
    if half:
        return _halved(hour, minute, second, half, index + 2)
    is_exact = hour > 12 or hour == 0 or word.startswith("0")
    return Clock(hour, minute, second, is_exact), index + 1 + _n_of_ish(line, index + 1)


def _numeric(line: Line, index: int, is_cued: bool, cue: str) -> tuple[Clock, int] | None:
    """Read 5pm, 5.30pm, 7 o'clock, 17, 0830, 530, 6 45."""
    word = line.words[index]
    if glued(line, index):
        return None
    if half := _half(line, index + 1):
        return _numeric_half(word, half, index + 2)
    timed = _dotted(word)
    n = _n_of_ish(line, index + 1) or _n_of_hour(line, index + 1)
    if n and (timed or _is_hour(word)):
        return timed or _bare(word), index + 1 + n
    if not is_cued or (line.touches(index + 1) and line.tokens[index + 1].kind == "word"):
        return None
    if (undivided := _undivided(line, index, cue)) is not None:
        return undivided, index + 1
    if timed is not None and not is_unit_word(line.word(index + 1)):
        return timed, index + 1
    if _is_hour(word) and _is_minutes(line, index + 1):
        return _with_minutes(line, index)
    if _is_hour(word) and not _counts_something(line, index + 1):
        return _bare(word), index + 1
    return None


def _with_minutes(line: Line, index: int) -> tuple[Clock, int] | None:
    """Read an hour and its minutes with a space between them: 6 45, 6 45 pm."""
    hour, minute = int(line.words[index]), int(line.words[index + 1])
    if half := _half(line, index + 2):
        return _halved(hour, minute, 0, half, index + 3)
    return Clock(hour, minute, 0, hour > 12), index + 2


def _dotted(word: str) -> Clock | None:
    """Read 7.30."""
    whole, _, fraction = word.partition(".")
    is_timed = len(fraction) == 2 and _is_hour(whole) and whole != "0" and int(fraction) < 60
    return Clock(int(whole), int(fraction), 0, int(whole) > 12) if is_timed else None


def _n_of_hour(line: Line, index: int) -> int:
    """Return how many tokens say that the number before them is an hour: "7 o'clock", "7 sharp"."""
    return int(line.word(index) in ("o'clock", "oclock", "o’clock") or _is_sharp(line, index))


def _n_of_ish(line: Line, index: int) -> int:
    """Return how many tokens say that the number before them is an hour, about: "8ish", "7.30-ish"."""
    n = 1 + (line.word(index) == "-")
    return n if line.word(index + n - 1) == "ish" and line.word(index + n) in _AFTER_SHARP else 0


def _is_sharp(line: Line, index: int) -> bool:
    """Return whether "sharp" says that the number before it is an hour: "5 sharp"; no "5 sharp knives"."""
    return line.word(index) == "sharp" and line.word(index + 1) in _AFTER_SHARP


def _is_minutes(line: Line, index: int) -> bool:
    """Return whether a number after an hour says its minutes, and is no count: "6 45", not "for 6 45 minute films"."""
    word = line.word(index)
    is_written_so = len(word) == 2 and word.isdecimal() and int(word) in range(0, 60, 5) and not line.touches(index)
    return is_written_so and not _counts_something(line, index + 1)


def _numeric_half(word: str, half: str, place: int) -> tuple[Clock, int] | None:
    """Read the digits of 5pm, 5.30pm, 530pm; `place` is after the "pm"."""
    whole, _, fraction = word.partition(".")
    if len(whole) <= 2 and whole.isdecimal() and len(fraction) in (0, 2):
        return _halved(int(whole), int(fraction or 0), 0, half, place)
    if word.isdecimal() and len(word) in (3, 4):
        return _halved(int(word[:-2]), int(word[-2:]), 0, half, place)
    return None


def _undivided(line: Line, index: int, cue: str) -> Clock | None:
    """Read 0830, 530 where the words around it show that it is no other number."""
    word = line.words[index]
    if cue not in ("at", "@") and (cue != "for" or word[:2] == "20"):  # "a meeting for 2027"
        return None
    if word.isdecimal() and len(word) == 4 and int(word[:2]) < 24 and int(word[2:]) < 60:
        return Clock(int(word[:2]), int(word[2:]))
    is_followed_so = line.word(index + 1) in AFTER_HOUR or line.word(index + 1) in _AFTER_DIGITS  # no "at 350 Elm Road"
    return Clock(int(word[0]), int(word[1:]), 0, False) if is_followed_so and _is_clock_of_three(word) else None


def _in_words(line: Line, index: int, is_cued: bool) -> tuple[Clock, int] | None:
    """Read "seven", "seven thirty", "seven oh five", "eight fifteen pm", "nine o'clock"."""
    hour, place, minute = ONES[line.words[index]], index + 1, 0
    if line.word(place) in ("oh", "o") and 0 < ONES.get(line.word(place + 1), 0) < 10:
        minute, place = ONES[line.word(place + 1)], place + 2
    else:
        said = spoken_number(line.tokens, place) if line.word(place) in NUMBER_WORDS else None
        if said and 10 <= said[0] < 60 and not _counts_something(line, said[1]):
            minute, place = int(said[0]), said[1]
    half = _half(line, place)
    if half:
        return _halved(hour, minute, 0, half, place + 1)
    if line.word(place) in ("o'clock", "oclock") or _is_sharp(line, place):
        return Clock(hour, minute, 0, False), place + 1
    if is_cued and not _counts_something(line, place):
        return Clock(hour, minute, 0, False), place
    return None


def _relative(line: Line, index: int, is_cued: bool, cue: str) -> tuple[Clock, int] | None:
    """Read "half past seven", "a quarter to nine", "ten to five", "20 minutes past 6"; British "half seven"."""
    index += line.words[index] == "a" and line.word(index + 1) == "quarter"
    word = line.word(index)
    minutes, place = _minutes_beside(line, index)
    if not minutes:
        return None
    if line.word(place) == "-" and word == "half":
        place += 1
    has_unit = line.word(place) in ("minutes", "mins", "min")
    place += has_unit
    direction = line.word(place)
    if direction in ("past", "after") and (direction == "past" or word == "quarter" or (has_unit and is_cued)):
        return _shifted(_hour_at(line, place + 1), minutes)
    certain = word == "quarter" or (is_cued and cue not in ("from", "between", "until"))
    if direction in ("to", "before", "of") and word != "half" and certain and (direction == "to" or word == "quarter"):
        return _shifted(_hour_at(line, place + 1), -minutes)
    return _shifted(_hour_at(line, place), 30) if word == "half" and is_cued and not has_unit else None


def _minutes_beside(line: Line, place: int) -> tuple[int, int]:
    """Read how far from the hour it is: the minutes of "half", "twenty-five", "20", and the index after; 0 for none."""
    word = line.word(place)
    minutes = _FRACTIONS.get(word, 0)
    if minutes == 20 and line.word(place + 1) == "five":
        return 25, place + 2
    if minutes == 20 and line.word(place + 1) == "-" and line.word(place + 2) == "five":
        return 25, place + 3
    if line.tokens[place].kind == "number" and word in ("5", "10", "15", "20", "25"):
        return int(word), place + 1
    return minutes, place + 1


def _hour_at(line: Line, index: int) -> tuple[Clock, int] | None:
    word = line.word(index)
    if word in _NAMED:
        return Clock(_NAMED[word].hour), index + 1
    if not (word.isdecimal() and _is_hour(word)) and not 1 <= ONES.get(word, 0) <= 12:
        return None
    if line.touches(index + 1) and line.word(index + 1) not in _HALVES and line.tokens[index + 1].kind == "word":
        return None
    hour = int(word) if word.isdecimal() else ONES[word]
    half = _half(line, index + 1)
    if half:
        return _halved(hour, 0, 0, half, index + 2)
    place = index + 2 if line.word(index + 1) in ("o'clock", "oclock") else index + 1
    return Clock(hour, 0, 0, hour > 12 or hour == 0), place


def _shifted(hour: tuple[Clock, int] | None, minutes: int) -> tuple[Clock, int] | None:
    if hour is None:
        return None
    clock_, place = hour
    total = (clock_.hour * 60 + minutes) % (24 * 60)
    if not clock_.is_exact:
        total = (total - 60) % 720 + 60  # stays within 1:00 … 12:59
    return Clock(total // 60, total % 60, 0, clock_.is_exact), place


def _half(line: Line, index: int) -> str:
    """Return `a` or `p` when am or pm stands there, else ""."""
    word = line.word(index)
    if word in ("am", "pm"):
        if word == "am" and not line.touches(index) and line.word(index + 1) == "i":
            return ""  # "at 8 am I free"
        return word[0]
    return word if word in ("a", "p") and line.touches(index) else ""


def _halved(hour: int, minute: int, second: int, half: str, place: int) -> tuple[Clock, int] | None:
    if not 0 <= hour <= 23 or not 0 <= minute <= 59:
        return None
    if hour > 12 or hour == 0:
        return Clock(hour, minute, second), place
    return Clock(hour % 12 + (12 if half == "p" else 0), minute, second), place


def _bare(word: str) -> Clock:
    hour = int(word)
    return Clock(hour, 0, 0, hour > 12 or hour == 0 or word.startswith("0"))


def _is_clock_of_three(word: str) -> bool:
    """Return whether "530" may be a time; "500" is rather a number."""
    return len(word) == 3 and word.isdecimal() and word[0] != "0" and int(word[1:]) in range(5, 60, 5)


def _is_hour(word: str) -> bool:
    return len(word) <= 2 and word.isdecimal() and int(word) <= 24


def glued(line: Line, index: int) -> bool:
    """Return whether a number belongs to something else: $5, #7, 3/4, v1.5."""
    return line.touches(index) and line.words[index - 1] in _GLUED_BEFORE


_NO_TIME_AFTER = frozenset(
    listed("% ° € $ £ percent per people persons guests times x * / + = degrees items others of st nd rd th")
)


def _counts_something(line: Line, index: int) -> bool:
    """Return whether the word after a bare number makes it a count: "at 5 percent", "for 4 people"."""
    word = line.word(index)
    if word == "or":  # "5 or 6" of something; not "after 6 or am I busy"
        return line.word(index + 1) in NUMBER_WORDS or line.word(index + 1)[:1].isdecimal()
    if word in _NO_TIME_AFTER or is_unit_word(word) or word in NUMBER_WORDS:
        return True
    if word in UNITS and word not in SHORT_UNITS:
        return True
    token = line.tokens[index] if index < len(line.tokens) else None
    return token is not None and (token.kind == "number" or (word in (".", ",", ":") and line.touches(index + 1)))


# ── Durations ─────────────────────────────────────────────────────────────────────────────────────────────
# Reads lengths of time at a place in a request: "45 min", "an hour and a half", "2 hours 15", "a free hour".
#
# The reader takes a `Line` and an index and returns what is said there and the index after it, or None. It looks no
# further than a few words.

OPEN_WORDS = frozenset(listed("free spare uninterrupted quiet"))
"""Words before "hour" that ask for one hour without a number: "the first free hour"."""
_KINDS = OPEN_WORDS | set(
    listed(
        "full whole more business working solid straight consecutive unbroken undisturbed continuous extra focused "
        "clear long short good clean empty"
    )
)
"""Words that may stand between a number and its unit."""
_AMOUNTS = {
    tuple(phrase.split()): amount
    for phrase, amount in (
        ("three quarters of an", 0.75),
        ("three quarter of an", 0.75),
        ("a quarter of an", 0.25),
        ("a quarter of a", 0.25),
        ("quarter of an", 0.25),
        ("half a", 0.5),
        ("half an", 0.5),
        ("a couple of", 2.0),
        ("a couple", 2.0),
        ("couple of", 2.0),
        ("couple", 2.0),
        ("a few", 3.0),
        ("few", 3.0),
    )
}
"""What is said before a unit in the place of a number; of two that begin alike, the longer first."""
_AFTER_MINUTES = frozenset(
    ["", ".", ",", "?", "!", ";", *listed("for to please and on before until with starting from timer countdown")]
)


@dataclass(slots=True)
class Length:
    """A length of time; months and years are kept apart because they have no fixed length."""

    months: float = 0
    days: float = 0
    seconds: float = 0
    n_units: int = 0
    amount: float = 0
    unit: str = ""
    is_article: bool = False
    """True when said as "a day", without a number."""

    @property
    def is_clocked(self) -> bool:
        """Return whether hours, minutes or seconds were said."""
        return self.seconds != 0

    @property
    def duration(self) -> dt.timedelta:
        """Return the length, a month counted as 30 days. Raises: OverflowError."""
        return dt.timedelta(days=self.days + 30 * self.months, seconds=self.seconds)

    def add(self, amount: float, unit: str) -> None:
        name, factor = UNITS[unit]
        count = amount * factor
        if name in ("month", "year"):
            self.months += count * (12 if name == "year" else 1)
        elif name in ("day", "week") and (count * (7 if name == "week" else 1)).is_integer():
            self.days += count * (7 if name == "week" else 1)
        else:
            self.seconds += count * SECONDS[name]
        self.n_units += 1
        self.amount, self.unit = count, name


def length(line: Line, index: int) -> tuple[Length, int] | None:
    """Read a length of time: "45 min", "an hour and a half", "2h30", "two days and 3 hours"."""
    found = Length()
    if line.tokens[index].kind == "hours":
        return _compact(line, index)
    place = _amount_and_unit(line, index, found)
    if place is None:
        return None
    for _ in range(3):
        following = place
        if line.word(following) in ("and", ","):
            following += 1
        share = _share(line, following) if following > place else None
        if share is not None:
            found.add(share[0], found.unit)
            place = share[1]
            continue
        smaller = Length()
        after = _amount_and_unit(line, following, smaller) if following < len(line.tokens) else None
        if after is None or SECONDS.get(smaller.unit, 10**8) >= SECONDS.get(found.unit, 10**7) or smaller.is_article:
            break
        found.add(smaller.amount, smaller.unit)
        place = after
    place = _bare_minutes(line, place, found)
    found.amount = found.amount if found.n_units == 1 else 0
    return found, place


def _share(line: Line, index: int) -> tuple[float, int] | None:
    """Read the "a half" or "three quarters" that is added to a whole number, and the index after it."""
    words = line.words[index : index + 3]
    is_clock = words[2:] == ["to"] and (line.word(index + 3).isdecimal() or line.word(index + 3) in ONES)
    if words[2:] in (["of"], ["past"]) or is_clock:
        return None
    if words[:2] in (["a", "half"], ["a", "quarter"]):
        return (0.5 if words[1] == "half" else 0.25), index + 2
    return (0.75, index + 2) if words[:2] in (["three", "quarters"], ["three", "quarter"]) else None


def _bare_minutes(line: Line, place: int, found: Length) -> int:
    """Add the minutes of "2 hours 15", "an hour and twenty" to `found` and return the index after them."""
    if found.unit != "hour" or found.n_units != 1 or not found.amount.is_integer():
        return place
    said = spoken_number(line.tokens, place + (line.word(place) == "and"))
    if said is None or not (said[0].is_integer() and 1 <= said[0] <= 59) or line.word(said[1]) not in _AFTER_MINUTES:
        return place
    found.add(said[0], "minute")
    return said[1]


def _compact(line: Line, index: int) -> tuple[Length, int] | None:
    """Read 2h, 2h30, 2h30m, 2h 30m."""
    hours, _, minutes = line.words[index].rstrip("min").partition("h")
    found = Length()
    found.add(int(hours), "hour")
    place = index + 1
    if minutes:
        found.add(int(minutes), "minute")
    else:
        smaller = Length()
        after = _amount_and_unit(line, place, smaller) if place < len(line.tokens) else None
        if after is not None and smaller.unit in ("minute", "second"):
            found.add(smaller.amount, smaller.unit)
            place = after
    return found, place


def _amount_and_unit(line: Line, index: int, found: Length) -> int | None:
    """Add one amount with its unit to `found` and return the index after it."""
    read = _amount_in_words(line, index)
    if read is None and line.word(index) in ("a", "an") and line.word(index + 1) in UNITS:
        found.is_article, read = True, (1.0, index + 1)
    read = read or _number(line, index)
    if read is None:
        return None
    amount, place = read
    if line.word(place) == "-" and line.touches(place) and line.touches(place + 1):
        place += 1
    place += line.word(place) in _KINDS
    unit = line.word(place)
    if unit not in UNITS or amount > 1_000_000 or (unit in SHORT_UNITS and not line.touches(place)):
        return None
    if unit == "s" and amount >= 1000:
        return None  # "the 1960s"
    found.add(amount, unit)
    return place + 1


def _amount_in_words(line: Line, index: int) -> tuple[float, int] | None:
    """Read the "half an" of "half an hour", the "a couple of" of "a couple of days"; of "a free hour", the article."""
    opening = index + (line.word(index) in ("a", "an"))
    if _is_open(line, opening):
        return 1.0, opening
    words = tuple(line.words[index : index + 4])
    for phrase, amount in _AMOUNTS.items():
        if words[: len(phrase)] == phrase:
            return amount, index + len(phrase)
    half = index + (line.word(index) == "a")
    share = {"half": 0.5, "quarter": 0.25}.get(line.word(half))
    return (share, half + 1) if share is not None and line.word(half + 1) == "hour" else None


def _number(line: Line, index: int) -> tuple[float, int] | None:
    """Read "45", "two", "two and a half"; no number that belongs to something else."""
    said = spoken_number(line.tokens, index)
    if said is None or glued(line, index):
        return None
    amount, place = said
    share = _share(line, place + 1) if line.word(place) == "and" else None
    return (amount + share[0], share[1]) if share is not None else (amount, place)


def _is_open(line: Line, index: int) -> bool:
    """Return whether one free hour is asked for: "free hour"."""
    return line.word(index) in OPEN_WORDS and line.word(index + 1) == "hour"
