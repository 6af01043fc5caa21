"""Extracts search features from the words of an event or question: content words, stems, signs of times and numbers.

Stems are SQLite's own (Porter, as in the full-text index), so that a word of a question and one of an event match
exactly when a full-text search would match them.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Sequence

from hearth.language.text.tokens import word_set

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
