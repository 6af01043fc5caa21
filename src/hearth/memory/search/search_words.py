"""Words and times of a question as they are searched for."""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from hearth import patterns as re
from hearth.language.reading import Utterance
from hearth.language.tokens import word_set
from hearth.types import Context

# ── Terms ─────────────────────────────────────────────────────────────────────────────────────────────────
# Extracts search features from the words of an event or question: content words, stems, signs of times and numbers.
#
# Stems are SQLite's own (Porter, as in the full-text index), so that a word of a question and one of an event match
# exactly when a full-text search would match them.

STOP_WORDS = word_set("""a about after all am an and any are as at be been before but by can could d did do does don for
    from had has have he her here him his how i if in into is it its just let like ll m me might mine must my no not now
    of off on or our out over please re s shall she should so some t tell than that the their them then there these they
    this those to too up us ve was we were what when where which who whom whose why will with would you your""")
TOKENIZER = "porter unicode61 remove_diacritics 2"
"""Tokenizer of the full-text index; the schema says the same."""
ASKS, HAS_TIME, HAS_NUMBER = 1, 2, 4
"""Bits of an event's `signs`."""
_WORD = re.compile(r"\w+")
_TIMES = word_set("""yesterday today tonight tomorrow last next ago weekend week month year recently since monday
    tuesday wednesday thursday friday saturday sunday january february march april may june july august september
    october november december""")
_NUMBERS = word_set("one two three four five six seven eight nine ten few couple several first second third twice")


def telling_words(text: str) -> list[str]:
    """The content words in lower case, in order, with repetitions; all words if none carries content."""
    words = _WORD.findall(text.lower())
    return [word for word in words if word not in STOP_WORDS] or words


def signs_of(text: str) -> int:
    """Bits for a text: it asks, names a time, names a number."""
    return weighed(text)[1]


def weighed(text: str) -> tuple[int, int]:
    """Count the content words of a text, and compute its signs."""
    words = _WORD.findall(text.lower())
    seen = set(words)
    has_number = not _NUMBERS.isdisjoint(seen) or any(word.isdecimal() for word in seen)
    has_time = not _TIMES.isdisjoint(seen) or any(_is_year(word) for word in seen)
    n_terms = sum(word not in STOP_WORDS for word in words) or len(words)
    asks = text.rstrip().endswith("?")
    return n_terms, (ASKS if asks else 0) | (HAS_TIME if has_time else 0) | (HAS_NUMBER if has_number else 0)


def _is_year(word: str) -> bool:
    return len(word) == 4 and word[:2] in ("19", "20") and word.isdecimal()


class Stemmer:
    """The full-text index's own splitting and stemming, on a table of its own in RAM."""

    def __init__(self) -> None:
        self._scratch = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._scratch.execute(f"CREATE VIRTUAL TABLE words USING fts5 (text, tokenize='{TOKENIZER}')")
        self._scratch.execute("CREATE VIRTUAL TABLE terms USING fts5vocab ('words', 'instance')")

    def stems(self, texts: Sequence[str]) -> list[Counter[str]]:
        """Count each stem in each text."""
        found: list[Counter[str]] = [Counter() for _ in texts]
        self._scratch.execute("BEGIN")
        self._scratch.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", list(enumerate(texts)))
        for term, text in self._scratch.execute("SELECT term, doc FROM terms"):
            found[text][term] += 1
        self._scratch.execute("ROLLBACK")
        return found


# ── Time mentions ─────────────────────────────────────────────────────────────────────────────────────────
# Finds the periods of time a question names, for memory to search in.

_EARLIEST = dt.timedelta(days=36500)
_LEAD = re.compile(r"(?:\b(?:on|in|at|of|for|during|from|the)\s+)*\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time that a question names."""

    start: dt.datetime
    end: dt.datetime

    def holds(self, at: dt.datetime | None) -> bool:
        """Return whether a moment lies in it; no unknown one does."""
        return at is not None and self.start <= at < self.end


def times_named(text: str, now: dt.datetime, country: str = "") -> tuple[Period, ...]:
    """Find the bounded times in `text`, relative to `now`; "before June" and "since Monday" are open on one side and
    cut at a hundred years before and at `now`."""
    periods = []
    for slot in Utterance(text, now, context=Context(country=country)).times:
        if not {"date", "start", "end"} & slot.views.keys():
            continue
        start, end = (_moment(slot.views.get(name), now) for name in ("start", "end"))
        if start is None and end is None:
            start = _moment(slot.views.get("date"), now)
            end = start and start + dt.timedelta(days=1)
        start, end = start or now - _EARLIEST, end or now
        if start < end:
            periods.append(Period(start, end))
    return tuple(periods)


_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_OF_A_MONTH = re.compile(rf"\d[-/.]\d|\d(?:st|nd|rd|th)?\s*(?:of )?{_MONTH}\b|\b{_MONTH}\.? \d", re.IGNORECASE)


def days_named(text: str, now: dt.datetime, country: str = "") -> list[dt.datetime]:
    """Return the beginnings of the days with a month, or of the times in them, that a text names: "Thursdays" of an old
    mail, or a clock time alone, is no date."""
    if _OF_A_MONTH.search(text) is None:
        return []
    return [one.start for one in times_named(text, now, country) if one.end - one.start <= dt.timedelta(days=1)]


def _moment(value: object, now: dt.datetime) -> dt.datetime | None:
    if not isinstance(value, str):
        return None
    moment = dt.datetime.fromisoformat(value)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=now.tzinfo)


def without_times(text: str, now: dt.datetime) -> str:
    """Return a text without the words that name a time, and what leads to them ("on the 27th")."""
    left = text
    for slot in sorted(Utterance(text, now, context=Context()).times, key=lambda one: one.start, reverse=True):
        before = _LEAD.sub("", left[: slot.start])
        left = f"{before} {left[slot.end :]}"
    return " ".join(left.split())


# ── Word forms ────────────────────────────────────────────────────────────────────────────────────────────
# Compares words of questions with words of passages: by their beginnings, and by forms that begin otherwise.
#
# Covered: irregular verbs ("what did I lend Greta" and "lent to Greta"), what is abbreviated in notes ("pw: …"),
# common words for the same thing of a household ("house insurance" and "home insurance", "run out" and "expire"). Not
# covered: other words of like meaning; those are found by their vectors.

N_BEGINNING = 5
"""Letters by which two forms of a word are known as one."""
_ALIKE = tuple(
    group.split()
    for group in (
        "lend lent lends",
        "buy bought buys buying",
        "pay paid pays",
        "choose chose chosen",
        "sell sold sells",
        "say said says",
        "meet met meets meeting",
        "leave left leaves leaving",
        "give gave given gives",
        "take took taken takes",
        "keep kept keeps",
        "make made makes making",
        "write wrote written writes",
        "spend spent spends",
        "bring brought brings",
        "lose lost loses",
        "eat ate eaten eats",
        "drive drove driven drives",
        "drink drank drunk",
        "begin began begun begins beginning start starts started starting",
        "expire expires expired expiry expiring expiration",
        "close closes closed closing shut shuts",
        "home house",
        "tip dump",
        "holiday holidays vacation",
        "flat apartment",
        "mum mom mam mother",
        "dad father",
        "child children kid kids",
        "send sent sends",
        "teach taught",
        "sing sang sung",
        "wear wore worn",
        "borrow borrowed",
        "password pw pwd passwd passwords",
        "phone tel telephone phones",
        "licence license",
        "tyre tire tyres tires",
        "reference ref refs references",
        "electricity leccy electric",
        "doctor dr doctors",
        "news",
    )
)
_ENDING_ES = re.compile(r"(?:(?<=[xz])|(?<=sh)|(?<=ch)|(?<=ss))es\Z")
"""Of "mixes" and "boxes"."""
_PHRASES = (
    (re.compile(r"\brun out\b(?! of\b)", re.IGNORECASE), "expire"),
    (re.compile(r"\b(?:runs|running|ran) out\b(?! of\b)", re.IGNORECASE), "expires"),
)
"""What several words say that one says, too."""
_ENDING_S = re.compile(r"(?<=[^\W\d_]{2}[^\W\d_siu])s\Z")
"""Of several, or of somebody where the apostrophe is left out; not of "boss", "bus" or "this"."""
_FIRST = {word: group[0] for group in _ALIKE for word in group}
_FIRST |= {f"{word.removesuffix('e')}ing": first for word, first in _FIRST.items() if word == first}
_FORMS = {word: tuple(group) for group in _ALIKE for word in group}


def keys_of(text: str) -> set[str]:
    """Return what the content words of a text are compared by."""
    return {key_of(word) for word in telling_words(in_single_words(text))}


def in_single_words(text: str) -> str:
    """Return a text in which single words stand for phrases: "expires" for "runs out"."""
    for phrase, word in _PHRASES:
        text = phrase.sub(word, text)
    return text


@lru_cache(maxsize=20_000)
def key_of(word: str) -> str:
    """Return what one word in lower case is compared by: "tests" and "dads" as "test" and "dad"."""
    return _FIRST.get(word, _ENDING_S.sub("", _ENDING_ES.sub("", word)))[:N_BEGINNING]


def key_set(words: str) -> frozenset[str]:
    """Return what each word of a list, written as one text, is compared by."""
    return frozenset(map(key_of, words.split()))


def forms_of(word: str) -> tuple[str, ...]:
    """Return the words to search for where one is asked for; the word alone, where its forms begin alike."""
    return _FORMS.get(word, (word,))


# ── Fitted ────────────────────────────────────────────────────────────────────────────────────────────────
# Reads the numbers that were fitted and are shipped with Hearth, with what they were fitted on.


@cache
def fitted(name: str) -> dict[str, Any]:
    """Return a file `NAME.json` of `hearth.data`, read once."""
    kept: dict[str, Any] = json.loads((files("hearth.data") / f"{name}.json").read_text())
    return kept
