"""Reads the words of an owner's request for the guard: compared exactly, never cleaned up in an attacker's favour.

Texts are compared in NFC and lower case, addresses in the one spelling that mail goes to. A value with invisible
characters, or with look-alike or full-width letters, is not what the owner wrote and so is not found. A moment
contradicts the request when the request names days (or clock times) and the moment is on none of them; a request that
names none is never contradicted.

Covered: plural and other endings of words; values inside quotation marks, next to punctuation; `400`, `1.6`, `39
euros`, `0900 555 321`, ISO days and times; weekdays, `3rd of December`, `half past nine`.
Not covered: meaning, misspellings, synonyms; numbers in words; moments the owner gives relative to another ("an hour
before"), for which only days are checked, or not even those ("two days before").
"""

from __future__ import annotations

import contextlib
import datetime as dt
import unicodedata
from functools import lru_cache

from hearth import patterns as re
from hearth.formats.addresses import canonical_address


def word_set(text: str) -> frozenset[str]:
    """Split a table written as one text into its words."""
    return frozenset(text.split())


_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NUMBER = re.compile(r"(?<![\w.,/:-])\d[\d,]*(?:\.\d+)?(?![\w/:]|-\d)")
_GROUPS = re.compile(r"\b[a-z]{2}\d{2}(?: ?[a-z0-9]{2,4}){3,8}\b", re.IGNORECASE)
_YEAR = re.compile(r"(?<![$€£])\b(?:19|20)\d\d\b(?!\s*(?:[$€£]|euros?\b|dollars?\b|pounds?\b|usd\b|eur\b|gbp\b|\.\d))")
_STOP = word_set(
    "a an the my your his her our their its this that these those it them him me us i you we they he she and or but "
    "if then of to in on at by for from with about into as is are was were be been do does did have has had can could "
    "will would should please also not no so there here up out all any some each every re fwd fw"
)


def folded(text: str) -> str:
    """Normalise `text` for comparison."""
    return unicodedata.normalize("NFC", text).casefold()


def identity(text: str) -> str:
    """Return what a value is compared by: an address in the one spelling that mail goes to, anything else folded."""
    if "@" in text and not has_invisible(text) and unicodedata.normalize("NFKC", text) == text:
        with contextlib.suppress(ValueError):
            return canonical_address(text).casefold()
    return folded(text).strip()


def addresses(text: str) -> frozenset[str]:
    """Find the addresses that stand in a text, in their one spelling."""
    return frozenset(identity(found) for found in _ADDRESS.findall(unicodedata.normalize("NFKC", text)))


def words(text: str) -> list[str]:
    """Split a text into its words, in order and in lower case."""
    return _WORD.findall(folded(text))


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Strip a word of its commonest English endings, so that `payments` and `payment` are one."""
    word = word.partition("'")[0].partition("’")[0]
    for ending, rest in (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)] + rest
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def content_words(text: str) -> frozenset[str]:
    """Stems of the words that carry content."""
    return frozenset(stem(word) for word in words(text) if word not in _STOP)


def has_invisible(text: str) -> bool:
    """Return whether a text holds characters no person sees: zero width, direction marks, controls except line ends."""
    return not text.isascii() and any(
        unicodedata.category(c) in ("Cf", "Cc", "Co", "Cn") and c not in "\n\t\r" for c in text
    )


def is_in(value: str, text: str) -> bool:
    """Return whether `value` stands in `text` (both folded) as a whole: not inside a longer word, address or path."""
    start = text.find(value) if value else -1
    while start >= 0:
        end = start + len(value)
        if not (start and _joins_left(text, start)) and not (end < len(text) and _joins_right(text, end)):
            return True
        start = text.find(value, start + 1)
    return False


def _joins_left(text: str, start: int) -> bool:
    before = text[start - 1]
    if before.isalnum() or before in "_@+":
        return True
    return before in ".-/%" and start > 1 and text[start - 2].isalnum()


def _joins_right(text: str, end: int) -> bool:
    after = text[end]
    if after.isalnum() or after in "_@+%":
        return True
    return after in ".-/:?#&=" and end + 1 < len(text) and (text[end + 1].isalnum() or text[end + 1] in "/?#_")


def numbers(text: str) -> list[float]:
    """Find the plain numbers: `1,200.50`, `98`, `$30`; not the parts of dates, times and names."""
    return [float(found.replace(",", "")) for found in _NUMBER.findall(text)]


def amounts(text: str) -> list[float]:
    """Find the numbers that may be amounts: no years, no parts of account numbers written in groups."""
    return numbers(_YEAR.sub(" ", _GROUPS.sub(" ", text)))


_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
CALENDAR_WORDS = frozenset({*_WEEKDAYS, *_MONTHS})
_ISO_DAY = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_MONTH_DAY = re.compile(rf"\b({'|'.join(_MONTHS)})\s+(\d{{1,2}})(?:st|nd|rd|th)?\b")
_THE_DAY = re.compile(r"\b(?:the|on)\s+(\d{1,2})(?:st|nd|rd|th)\b")
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({'|'.join(_MONTHS)})\b")


def days_said(text: str, today: dt.date) -> frozenset[str]:
    """Find the days a text names, as ISO dates: today, tomorrow, the next Friday, yesterday, `May 3rd`,
    `2026-05-03`."""
    low = folded(text)
    found = set(_ISO_DAY.findall(low))
    said = set(words(low))
    for word, n_days in (("yesterday", -1), ("today", 0), ("tonight", 0), ("tomorrow", 1)):
        if word in said:
            found.add((today + dt.timedelta(n_days)).isoformat())
    for number, name in enumerate(_WEEKDAYS):
        if said & {name, f"{name}s", f"{name}'s"}:
            found.add((today + dt.timedelta((number - today.weekday()) % 7)).isoformat())
    if "next" in said:
        found |= {later for day in found if (later := _week_after(day))}
    for day in map(int, _THE_DAY.findall(low)):
        for n_months in (0, 1):
            year, month = divmod(today.year * 12 + today.month - 1 + n_months, 12)
            found.add(f"{year}-{month + 1:02}-{day:02}")
    named = [(month, int(day)) for month, day in _MONTH_DAY.findall(low)]
    named += [(month, int(day)) for day, month in _DAY_MONTH.findall(low)]
    for month, day in named:
        if 1 <= day <= 31:  # the year is this one or the next: both are tried
            number = _MONTHS.index(month) + 1
            found |= {f"{year}-{number:02}-{day:02}" for year in (today.year, today.year + 1)}
    return frozenset(found)


def _week_after(day: str) -> str:
    """Return the day a week later, as an ISO date; empty where there is none."""
    try:
        return (dt.date.fromisoformat(day) + dt.timedelta(7)).isoformat()
    except (ValueError, OverflowError):
        return ""


# ── Numbers and moments ───────────────────────────────────────────────────────────────────────────────


_NUMBER_IN_GROUPS = re.compile(r"(?<![\w])\d[\d.,]*(?:[ /-]\d[\d.,]*)*")
_RECKONED = re.compile(
    r"\b(?:before|after|later|earlier|sooner|ahead|prior|in (?:an?|one|two|three|\d+|half) \w+|instead)\b"
)
_DAYS_RECKONED = re.compile(r"\b(?:days?|weeks?|months?|years?|nights?|weekend|fortnight)\b")
_CLOCK = re.compile(
    r"\b(?P<past>half past|quarter past|quarter to|half)\s+(?P<word>\w+)\b"
    r"|\b(?P<hour>\d{1,2})(?::|\.)?(?P<minute>[0-5]\d)?\s*(?P<half>[ap])\.?m\b"
    r"|\b(?P<h>[01]?\d|2[0-3]):(?P<m>[0-5]\d)\b|\b(?:at|from|by|until|till|to|for)\s+"
    r"(?!half\b|quarter\b|noon|mid)(?P<bare>\w+)\b(?![:.]\d|\s*[ap]\.?m\b|\s+(?:of\s+)?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))"
    r"|\b(?P<noon>noon|midday|midnight)\b"
)
_HOURS = {
    name: number
    for number, name in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), 1
    )
}


def all_numbers(text: str) -> frozenset[str]:
    """Find every number of a text in the same form, and each part of a number written in groups."""
    found = _NUMBER_IN_GROUPS.findall(folded(text))
    return frozenset(digits_of(part) for number in found for part in (number, *re.split(r"[ /-]", number)))


def digits_of(number: str) -> str:
    """Normalise a number: `1,200.50` to `1200.5`, `030 1234` to `0301234`."""
    number = number.strip(" .,/-")
    decimals = re.fullmatch(r"([\d., ]*?)[.,](\d{1,2})", number)
    if decimals is None or " " in number:
        return re.sub(r"\D", "", number)
    whole = re.sub(r"\D", "", decimals[1])
    rest = decimals[2].rstrip("0")
    return f"{whole}.{rest}" if rest else whole


class SaidTimes:
    """The days and clock times named in one request."""

    def __init__(self, text: str, today: dt.date) -> None:
        low = folded(text)
        self.today = today
        self.days = days_said(text, today)
        is_reckoned = _RECKONED.search(low) is not None
        if is_reckoned and _DAYS_RECKONED.search(low):
            self.days = frozenset()
        self.clocks = frozenset() if is_reckoned else clocks_said(low)

    def contradict(self, moment: str, *, is_end: bool) -> bool:
        """Return whether an ISO moment is on none of the days, or at none of the times, that were said.

        The year is usually unsaid, so any year within one of the present one is accepted.
        """
        low = moment.casefold().replace("t", " ")
        day, _, clock = low.partition(" ")
        if self.days and re.fullmatch(r"\d{4}-\d{2}-\d{2}", day):
            is_near = abs(int(day[:4]) - self.today.year) <= 1
            if not is_near or day[4:] not in {said[4:] for said in self.days}:
                return True
        return bool(self.clocks and not is_end and clock and clock[:5] not in self.clocks)


def clocks_said(low: str) -> frozenset[str]:
    """Find clock times as `HH:MM`, in both halves of the day unless the text says which."""
    found: set[str] = set()
    for said in _CLOCK.finditer(low):
        if said["noon"]:
            found.add("00:00" if said["noon"] == "midnight" else "12:00")
        elif said["past"]:
            hour = _hour(said["word"])
            if hour is not None:
                minute = {"half past": 30, "half": 30, "quarter past": 15, "quarter to": 45}[said["past"]]
                found |= _both(hour - (said["past"] == "quarter to"), minute)
        elif said["half"]:
            hour = int(said["hour"]) % 12 + (12 if said["half"] == "p" else 0)
            found.add(f"{hour:02}:{int(said['minute'] or 0):02}")
        elif said["h"]:
            found.add(f"{int(said['h']):02}:{said['m']}")
            if int(said["h"]) < 12:
                found.add(f"{int(said['h']) + 12:02}:{said['m']}")
        elif (hour := _hour(said["bare"])) is not None:
            found |= _both(hour, 0)
    return frozenset(found)


def _hour(word: str) -> int | None:
    if word.isdigit() and len(word) < 3 and int(word) < 24:
        return int(word)
    return _HOURS.get(word)


def _both(hour: int, minute: int) -> set[str]:
    return {f"{h % 24:02}:{minute:02}" for h in ((hour, hour + 12) if hour <= 12 else (hour,))}
