"""Reads the words around a time: they may say morning or evening, name a part of the day, or make it only a length.

Each function looks at no more than a few words.
"""

from __future__ import annotations

from hearth.language.temporal.clock_times import Line
from hearth.language.temporal.durations import OPEN_WORDS
from hearth.language.temporal.moments import Leaning
from hearth.language.temporal.time_words import EVENING_WORDS, MORNING_WORDS, PARTS, Part
from hearth.language.text.tokens import listed

_OPENING_PART = OPEN_WORDS | set(listed("open clear empty available a an one the my our any whole"))
_BESIDE_PART = OPEN_WORDS | set(listed("on for ? say , like looking maybe busy is clear open available so"))
_FITTING = frozenset(listed("squeeze fit slot pencil sneak cram squeezed fitted"))


def part_before(line: Line, index: int) -> Part | None:
    """Find a part of the day said before the day: "a free morning on Monday", "free evenings? say, Thursday"."""
    place = index - 1
    while place > index - 5 and line.word(place) in _BESIDE_PART:
        place -= 1
    name = line.word(place).removesuffix("s")
    if name in ("morning", "afternoon", "evening", "night") and line.word(place - 1) in _OPENING_PART:
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
