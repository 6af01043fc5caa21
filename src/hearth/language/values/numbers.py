"""Finds numbers, quantities, units asked for, and sums in a request.

Numbers that are part of a name ("v1.5", "A4"), of an address, or of a code of 12 or more digits are ignored. Units are
named as pint names them, money by ISO 4217; nothing is converted here.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from hearth.language.temporal.time_words import UNITS
from hearth.language.tokens import (
    CURRENCY_SIGNS,
    HEATS,
    LENGTHS,
    LEVELLED,
    LONG_STARTS,
    LONG_UNITS,
    NUMBER_WORDS,
    TOUCHING_UNITS,
    UNIT_WORDS,
    Slot,
    Token,
    listed,
    slot_at,
    spoken_number,
)
from hearth.types import Plain

_OPERATORS = {
    "+": "+", "*": "*", "×": "*", "x": "*", "/": "/", "÷": "/", "^": "^", "-": "-", "−": "-", "plus": "+", "minus": "-",
    "less": "-", "times": "*",
}  # fmt: skip
_LONG_OPERATORS = {
    ("divided", "by"): "/",
    ("multiplied", "by"): "*",
    ("added", "to"): "+",
    ("to", "the", "power", "of"): "^",
}
_LONGEST_SUM = 60
"""Greatest number of tokens in a sum."""
_COMMA_TAIL = re.compile(r",\d{1,2}(?![\d,]|\.\d)")
_SIGNS = frozenset(["+", "-", "*", "/", "^", "(", "of", "% of", "% off"])
_SHARES = {
    "half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fifth": 5, "fifths": 5, "tenth": 10,
    "tenths": 10,
}  # fmt: skip
_OF_LISTS = {"average": "average", "mean": "average", "median": "median", "sum": "sum", "product": "product"}
_SHARING = frozenset(["split", "divide", "share"])
_SHARED_BY = frozenset(["between", "among", "amongst", "by", "into", "over"])
_IS_SHARED = frozenset(["split", "divided", "shared"])
_MONEY_OF_100 = frozenset(["pound", "pounds", "quid", "euro", "euros", "dollar", "dollars", "bucks"])
"""Words after which a second number is of the hundredths: "six pounds seventy-five"."""
_STARTS = frozenset(["add", "minus", *_SHARING, *_OF_LISTS, *LONG_STARTS])
_LONGEST_LIST = 40
_FUNCTIONS = frozenset({"sqrt", "sin", "cos", "tan", "log", "ln", "exp", "abs"})
_SUM_WORDS = re.compile(
    r"\b(?:calculate|compute|what(?:'s|’s|s| is)|how much|work out|solve|evaluate|add up|maths?|sums?|split)\b",
    re.IGNORECASE,
)
_ASKED_FOR = re.compile(
    r"\b(?:what(?:'s|’s|s| is| are)|how much (?:is|are|for|would)|calculate|compute|work out|add up)\s*$", re.IGNORECASE
)
"""Ends what stands before a sum that is asked for itself."""
_ADDS_UP = re.compile(
    r"\b(?:tot(?:al)?|adds?)(?:\s+\w+)?\s+up\b|\bcomes? to\s*(?:$|[?.,!])|\bthat makes\b", re.IGNORECASE
)
"""What shows that numbers are to be reckoned with, wherever it stands: "tot that up", "what does that come to"."""
_SURCHARGES = frozenset(["off", "tip", "vat", "tax", "discount", "service", "deposit", "interest"])


def find_numbers(text: str, said: Sequence[Token]) -> list[Slot]:
    """Find numbers, quantities (a number with a unit), units asked for, and sums ("15% of 80", "3 * 4.5")."""
    slots: list[Slot] = []
    index = 0
    codes = _codes(said)
    asks_for_sum = _SUM_WORDS.search(text[:4000]) is not None
    adds_up = _ADDS_UP.search(text[:4000]) is not None
    has_measure = False
    no_sum_before = 0
    letters = _letter_units(said)
    while index < len(said):
        token = said[index]
        is_name = token.kind == "word" and token.low not in NUMBER_WORDS and token.low not in ("a", "an", "half")
        if (
            index in codes
            or _is_list_number(text, said, index)
            or (is_name and not _may_be_unit_or_sum(token.low, letters))
        ):
            index += 1
            continue
        found = None
        if index >= no_sum_before:
            found, scanned = _sum(text, said, index, asks_for_sum, adds_up)
            no_sum_before = scanned if scanned - index >= _LONGEST_SUM else 0
        if found is None:
            if is_name:
                found = _asked_unit(text, said, index, has_measure, letters) or _level(text, said, index)
            else:
                found = (
                    _measure(text, said, index, letters)
                    or _one_measure(text, said, index)
                    or (_level(text, said, index) if token.low == "half" else None)
                )
        if found is None:
            index += 1
            continue
        slots.append(found[0])
        has_measure = has_measure or not is_name
        index = max(found[1], index + 1)
    return [*_compounds(text, slots), *_rates(text, said)]


_PARTS: dict[tuple[str, str], int] = {
    ("foot", "inch"): 12, ("yard", "foot"): 3, ("pound", "ounce"): 16, ("stone", "pound"): 14,
    ("meter", "centimeter"): 100, ("kilogram", "gram"): 1000,
    ("kilometer", "meter"): 1000, ("liter", "milliliter"): 1000,
}  # fmt: skip
"""How many of the smaller unit make one of the greater, of units that are said together."""


def _compounds(text: str, slots: Sequence[Slot]) -> list[Slot]:
    """Join an amount that was said in two units: "11 feet 4 inches", "2 pounds and 3 ounces", "5 foot 9"."""
    joined: list[Slot] = []
    for slot in slots:
        before = joined[-1] if joined else None
        between = text[before.end : slot.start].strip().lower() if before is not None else "?"
        if before is None or before.kind != "quantity" or between not in ("", "and", ","):
            joined.append(slot)
            continue
        great, small = str(before.views["unit"]), str(slot.views.get("unit", ""))
        is_bare = slot.kind == "number" and great == "foot" and not between and slot.text.isdecimal()
        factor = _PARTS.get((great, "inch" if is_bare else small))
        if factor is None:
            joined.append(slot)
            continue
        value = float(str(before.views["number"])) * factor + float(str(slot.views["number"]))
        joined[-1] = _quantity(text, before.start, slot.end, value, "inch" if is_bare else small)
    return joined


_AFTER_HALF = frozenset(["in", "into", "to", "of", "is", "as", "at", "for", "and", "or", "please", "by", "on", "with"])
_PER = frozenset(["a", "an", "per", "each", "every"])
_COUNTED = frozenset(["hour", "day", "night", "week", "month", "year", "person", "head", "piece", "item"])
_FARTHEST_COUNT = 8


def _rates(text: str, said: Sequence[Token]) -> list[Slot]:
    """Find what a rate comes to: "£138 a month for ten months" is 138 * 10."""
    found: list[Slot] = []
    for index, token in enumerate(said):
        thing = said[index + 1].low if index + 1 < len(said) else ""
        if token.low not in _PER or thing not in _COUNTED or index == 0:
            continue
        first = index - 1 if said[index - 1].kind == "number" or index < 2 else index - 2
        read = spoken_number(said, first)
        if read is None or read[1] > index:
            continue
        start = said[first].start - (first > 0 and said[first - 1].low in CURRENCY_SIGNS)
        for place in range(index + 2, min(index + 2 + _FARTHEST_COUNT, len(said) - 1)):
            is_counted = said[place].low in ("for", "after", "over", "times")
            count = spoken_number(said, place + 1) if is_counted else None
            if count is not None and count[1] < len(said) and said[count[1]].low in (thing, f"{thing}s"):
                expression = f"{_plain_number(read[0])} * {_plain_number(count[0])}"
                end = said[count[1]].end
                found.append(slot_at("expression", text, start, end, {"expression": expression}))
                break
    return found


def _is_list_number(text: str, said: Sequence[Token], index: int) -> bool:
    """Return whether it is the number before an item of a list: "1. buy milk" at the beginning of a line."""
    token = said[index]
    if token.kind != "number" or not token.low.isdecimal() or len(token.low) > 2 or index + 2 >= len(said):
        return False
    begins = index == 0 or "\n" in text[said[index - 1].end : token.start]
    is_marked = said[index + 1].low in (".", ")") and said[index + 1].start == token.end
    return begins and is_marked and said[index + 2].start > said[index + 1].end


_FULLY = frozenset(listed("whack blast power pelt brightness volume"))
_BEFORE_FULL = frozenset(listed("to on at up"))
_BEING = frozenset(listed("i'm im we're am are is was 's still already about"))
"""Words before "half way" that tell where something is."""
_AFTER_LEVEL = frozenset(listed("and or please pls then now when while so because for in until till before after"))


def _level(text: str, said: Sequence[Token], index: int) -> tuple[Slot, int] | None:
    """Read "half way" and "full" as a percentage where something is said that has a level: "porch light to full"."""
    word, following = said[index].low, said[index + 1].low if index + 1 < len(said) else ""
    before = said[index - 1].low if index else ""
    if word == "full":
        percent, after = 100, index + 1 + (following in _FULLY)
        is_said_so = following in _FULLY or before in _BEFORE_FULL
    else:
        percent, after = 50, index + (2 if word == "half" else 1)
        is_said_so = (word == "halfway" or following == "way") and before not in _BEING
    is_last = after >= len(said) or said[after].kind == "mark" or said[after].low in _AFTER_LEVEL
    if not is_said_so or not is_last or LEVELLED.isdisjoint(token.low for token in said[max(0, index - 8) : index]):
        return None
    views = _number_views(float(percent)) | {"unit": "percent", "fraction": percent / 100}
    return slot_at("number", text, said[index].start, said[after - 1].end, views), after


def _may_be_unit_or_sum(word: str, letters: frozenset[str]) -> bool:
    return (
        word in ("full", "halfway")
        or word in _FUNCTIONS
        or word in UNIT_WORDS
        or word in UNITS
        or word in _STARTS
        or word in _ORDERED
        or word in letters
    )


def _letter_units(said: Sequence[Token]) -> frozenset[str]:
    """Return the single letters that are units here: "5000 m in miles", "20 c in f", "a 10k in miles"."""
    words = [token.low for token in said]
    named = {UNIT_WORDS[word] for word in words if word in UNIT_WORDS}
    is_converted = "convert" in words
    pairs = set(zip(words, words[2:], strict=False)) if {"c", "f"} <= set(words) else set()
    has_heat = is_converted or named & HEATS or pairs & {("c", "f"), ("f", "c")}
    lengths = [*(["m"] if named & LENGTHS or is_converted else []), *(["k"] if named & LENGTHS else [])]
    return frozenset(lengths) | frozenset(["c", "f"] if has_heat else [])


def _codes(said: Sequence[Token]) -> set[int]:
    """Return the tokens of card and account numbers and the like: 12 or more digits in groups; no amount is so long."""
    found: set[int] = set()
    run: list[int] = []
    n_digits = 0
    for index, token in enumerate(said):
        continues = bool(run) and token.start - said[run[-1]].end <= 1
        if token.kind == "number" and token.low.isdecimal() and (continues or not run):
            run.append(index)
            n_digits += len(token.low)
            continue
        if _is_code(said, run, n_digits):
            found.update(run)
        is_digits = token.kind == "number" and token.low.isdecimal()
        run, n_digits = ([index], len(token.low)) if is_digits else ([], 0)
    if _is_code(said, run, n_digits):
        found.update(run)
    return found


def _is_code(said: Sequence[Token], run: Sequence[int], n_digits: int) -> bool:
    if n_digits < 12 or not run:
        return False
    return len(run) == 1 or sum(len(said[index].low) >= 3 for index in run) >= len(run) - 1


def _measure(text: str, said: Sequence[Token], index: int, letters: frozenset[str]) -> tuple[Slot, int] | None:
    if said[index].low in CURRENCY_SIGNS:
        return _money(text, said, index)
    read = _number(text, said, index)
    if read is None:
        return None
    value, place, start = read
    end = said[place - 1].end
    after_percent = _past_percent(said, place)
    if after_percent:
        views = _number_views(value) | {"unit": "percent", "fraction": value / 100}
        return slot_at("number", text, start, said[after_percent - 1].end, views), after_percent
    word = said[place].low if place < len(said) else ""
    if word in UNITS and word not in ("s", "m", "h", "d"):
        return slot_at("number", text, start, end, _number_views(value)), place
    unit = _unit_at(said, place, letters if said[index].kind == "number" else frozenset())
    if unit is not None:
        name, after = unit
        if name in HEATS and index and said[index - 1].low == "minus":
            value, start = -value, said[index - 1].start
        if name == "CENT":
            name, value = "USD", value / 100
        if _has_half(said, after):
            value, after = value + (-0.5 if value < 0 else 0.5), after + 3
        return _quantity(text, start, said[after - 1].end, value, name), after
    if _touching(said, place) == "k" and said[index].kind == "number":
        return slot_at("number", text, start, said[place].end, _number_views(value * 1000)), place + 1
    if _counts_nothing(said, index, place):
        return None
    return slot_at("number", text, start, end, _number_views(value)), place


def _has_half(said: Sequence[Token], place: int) -> bool:
    """Return whether a half is added to what was measured: "four pounds and a half"; no "a pound and a half pint"."""
    is_half = [token.low for token in said[place : place + 3]] == ["and", "a", "half"]
    following = said[place + 3] if place + 3 < len(said) else None
    return is_half and (following is None or following.kind == "mark" or following.low in _AFTER_HALF)


def _counts_nothing(said: Sequence[Token], index: int, place: int) -> bool:
    """Return whether what reads like a number without a unit is none: "this one", "the first one", 3rd, 5x, 3/4."""
    if said[index].kind == "word":
        return said[index].low == "one" and place == index + 1
    return said[index].kind == "day_month" or bool(_touching(said, place) and said[index].kind == "number")


def _money(text: str, said: Sequence[Token], index: int) -> tuple[Slot, int] | None:
    """Read the amount after a currency's sign: "$5", "£ 12.50", "€3k"."""
    read = _number(text, said, index + 1) if index + 1 < len(said) else None
    if read is None or read[2] - said[index].end > 1:
        return None
    value, place, _ = read
    scale = {"k": 1e3, "m": 1e6, "bn": 1e9}.get(_touching(said, place), 1.0)
    place += scale != 1.0
    sign = CURRENCY_SIGNS[said[index].low]
    return _quantity(text, said[index].start, said[place - 1].end, value * scale, sign), place


def _past_percent(said: Sequence[Token], place: int) -> int:
    """Return the index after "%", "percent" or "per cent"; 0 when something else stands there."""
    words = [token.low for token in said[place : place + 2]]
    if words == ["per", "cent"]:
        return place + 2
    return place + 1 if words[:1] in (["%"], ["percent"]) else 0


def _quantity(text: str, start: int, end: int, value: float, unit: str) -> Slot:
    return slot_at("quantity", text, start, end, _number_views(value) | {"unit": unit})


def _number_views(value: float) -> dict[str, Plain]:
    if value.is_integer() and abs(value) < 1e15:
        return {"number": int(value), "integer": int(value)}
    return {"number": value}


def _touching(said: Sequence[Token], place: int) -> str:
    """Return the word that follows the token before it without a space, or ""."""
    if place < len(said) and said[place].start == said[place - 1].end and said[place].kind == "word":
        return said[place].low
    return ""


def _unit_at(said: Sequence[Token], place: int, letters: frozenset[str] = frozenset()) -> tuple[str, int] | None:
    words = tuple(token.low for token in said[place : place + 3])
    if words[:1] == ("-",) and len(words) > 1 and said[place].end == said[place + 1].start:
        place, words = place + 1, tuple(token.low for token in said[place + 1 : place + 4])
    for n_words in (3, 2):
        if len(words) >= n_words and words[:n_words] in LONG_UNITS:
            return LONG_UNITS[words[:n_words]], place + n_words
    if not words:
        return None
    if words[0] in UNIT_WORDS:
        return UNIT_WORDS[words[0]], place + 1
    if words[0] in letters and words[0] == "k":  # "5k metres" are thousands of them
        is_of_others = words[1:2] and words[1] in UNIT_WORDS
        return ("kilometer", place + 1) if _touching(said, place) and not is_of_others else None
    if words[0] in letters:
        return TOUCHING_UNITS[words[0]], place + 1
    if words[0] in TOUCHING_UNITS and place and said[place].start == said[place - 1].end:
        return TOUCHING_UNITS[words[0]], place + 1
    return None


def _number(text: str, said: Sequence[Token], index: int) -> tuple[float, int, int] | None:
    """Return value, index after it and first character of the number at a token; None when it is part of a name."""
    token = said[index]
    start = token.start
    if token.kind == "day_month" and "/" in token.low:
        top, _, bottom = token.low.partition("/")
        return (int(top) / int(bottom), index + 1, start) if int(bottom) and _unit_at(said, index + 1) else None
    if token.low == "half" and [t.low for t in said[index + 1 : index + 2]] == ["a"] and _unit_at(said, index + 2):
        return 0.5, index + 2, start
    read = spoken_number(said, index)
    if read is None:
        return None
    if token.kind == "number":
        return _in_digits(text, said, index, read)
    value, place = read
    if [t.low for t in said[place : place + 3]] == ["and", "a", "half"]:
        return value + 0.5, place + 3, start
    return value, place, start


def _in_digits(text: str, said: Sequence[Token], index: int, read: tuple[float, int]) -> tuple[float, int, int] | None:
    """Complete a number in digits by its sign and decimal comma; None when its neighbours make a name of it."""
    value, place = read
    token, start = said[index], said[index].start
    before = text[start - 1] if start else " "
    end = said[place - 1].end
    if before.isalnum() or before in "_#@\\:" or (before in "./-" and start > 1 and text[start - 2].isalnum()):
        return None
    if before in "-−" and (start < 2 or text[start - 2] in " ("):
        value, start = -value, start - 1
    tail = text[end : end + 5]
    has_comma = place == index + 1 and "." not in token.low and _COMMA_TAIL.match(tail) is not None
    if has_comma and index + 2 < len(said):
        return value + (-1 if value < 0 else 1) * float(f"0.{said[index + 2].low}"), index + 3, start
    if re.match(r"[.,:/]\d", tail) and not tail.startswith(","):
        return None
    return value, place, start


def _asked_unit(
    text: str, said: Sequence[Token], index: int, has_measure: bool, letters: frozenset[str]
) -> tuple[Slot, int] | None:
    """Find the unit wanted: "5 miles in kilometres", "how many cups are in …"; both of "yards to metres: 220"."""
    before = [token.low for token in said[max(0, index - 2) : index]]
    is_asked = before == ["how", "many"] or (has_measure and before[-1:] in (["in"], ["to"], ["into"], ["as"]))
    is_asked = is_asked or (has_measure and before in (["make", "that"], ["make", "it"]))
    unit = _wanted_unit(said, index, letters if is_asked else frozenset())
    if unit is None or not (is_asked or _is_of_pair(said, index, unit[1])):
        is_named = unit is not None and has_measure and before[-1:] == [","]
        if unit is None or not is_named or [token.low for token in said[unit[1] : unit[1] + 1]] != ["please"]:
            return None  # "three ounces, grams please"
    return slot_at("unit", text, said[index].start, said[unit[1] - 1].end, {"unit": unit[0]}), unit[1]


def _one_measure(text: str, said: Sequence[Token], index: int) -> tuple[Slot, int] | None:
    """Read "a pint" as one where another unit is asked for: "how many ml in a pint", "convert an inch to cm"."""
    unit = _unit_at(said, index + 1) if said[index].low in ("a", "an", "one") else None
    if unit is None:
        return None
    before = [token.low for token in said[max(0, index - 8) : index]]
    asks_how_many = ("how", "many") in itertools.pairwise(before)
    is_converted = before[-1:] == ["convert"] or _ASKED_FOR.search(
        text[max(0, said[index].start - 40) : said[index].start]
    )
    joint = said[unit[1]].low if unit[1] + 1 < len(said) else ""
    if not asks_how_many and not (
        is_converted and joint in ("to", "into", "in") and _wanted_unit(said, unit[1] + 1, frozenset())
    ):
        return None
    return _quantity(text, said[index].start, said[unit[1] - 1].end, 1.0, unit[0]), unit[1]


def _wanted_unit(said: Sequence[Token], index: int, letters: frozenset[str]) -> tuple[str, int] | None:
    unit = _unit_at(said, index, letters) if index < len(said) else None
    if unit is None and index < len(said) and said[index].low in UNITS and said[index].low.endswith("s"):
        unit = UNITS[said[index].low][0], index + 1
    return unit


def _is_of_pair(said: Sequence[Token], index: int, after: int) -> bool:
    """Return whether a unit is converted to or from another one without a number before it."""
    joints = ("to", "into", "in")
    if after < len(said) and said[after].low in joints and _wanted_unit(said, after + 1, frozenset()) is not None:
        return True
    return index >= 2 and said[index - 1].low in joints and said[index - 2].low in UNIT_WORDS


def _sum(
    text: str, said: Sequence[Token], index: int, asks_for_sum: bool, adds_up: bool
) -> tuple[tuple[Slot, int] | None, int]:
    """Find a sum of at least two numbers, or a function of one; `expression` uses signs for the words.

    Also returns how far it looked, so that a long stretch that is no sum is not read again from each place.
    """
    if said[index].low == "square":
        return _square_root(text, said, index), index
    if said[index].low in _OF_LISTS or said[index].low == "add":
        found = _of_list(text, said, index) or _share_added(text, said, index)
        return found or _ordered_sum(text, said, index), index
    if said[index].low in _ORDERED and (ordered := _ordered_sum(text, said, index)) is not None:
        return ordered, index
    if said[index].low in _SHARING:
        return _shared(text, said, index), index
    is_itself_asked = adds_up or _ASKED_FOR.search(text[max(0, said[index].start - 40) : said[index].start]) is not None
    place, terms = index, _Terms([], is_itself_asked)
    if said[index].low in ("-", "−") and _is_lone_minus(text, said, index):
        place, terms = index + 1, _Terms(["-"], is_itself_asked)
    while place < len(said) and place - index < _LONGEST_SUM:
        after = terms.read(text, said, place)
        if after is None:
            break
        place = after
    expression = terms.expression(asks_for_sum)
    if not expression:
        return None, place
    slot = slot_at("expression", text, said[index].start, said[terms.last - 1].end, {"expression": expression})
    return (slot, terms.last), terms.last


@dataclass(slots=True)
class _Terms:
    """The numbers, signs and brackets of a sum, as far as it is read."""

    parts: list[str]
    is_asked: bool
    """Whether the sum is what is asked for: "what is 17 plots at 52"."""
    n_numbers: int = 0
    depth: int = 0
    has_sign: bool = False
    """Whether one of its signs is hardly ever that of a date or a range."""
    last: int = 0
    """Index of the token after the last number or closing bracket outside of brackets."""
    n_parts: int = 0
    """Number of parts up to there."""

    def read(self, text: str, said: Sequence[Token], place: int) -> int | None:
        """Read one more part and return the index after it."""
        if not self.parts or self.parts[-1] in _SIGNS or self.parts[-1] in _FUNCTIONS:
            return self._read_operand(text, said, place)
        token = said[place]
        if token.low == ")" and self.depth:
            self.depth -= 1
            self.parts.append(")")
            self._may_end(place + 1)
            return place + 1
        operator = _operator(text, said, place, self.parts)
        if operator is None and place + 2 < len(said) and token.kind == "word":
            is_counted_before = "*" in self.parts and self.parts[-2] in ("+", "-")  # "12 at 34.50 plus 2 hours at 110"
            operator = _of_counted(said, place, self.is_asked or is_counted_before)
        if operator is None:
            return None
        sign, after = operator
        is_bracketed = self.parts[0] == "(" and ")" in self.parts
        self.has_sign = self.has_sign or sign not in "-/" or token.kind == "word" or is_bracketed
        self.parts.append(sign)
        return after

    def _read_operand(self, text: str, said: Sequence[Token], place: int) -> int | None:
        if self.parts and self.parts[-1] in ("+", "-") and _past_named_share(said, place):
            place = _past_named_share(said, place)  # "plus vat at 20%"
        operand = _operand(text, said, place, is_first=not self.parts)
        if operand is None:
            return None
        part, after = operand
        if self.parts[-1:] == ["*"] and (with_hundredths := _money_of_two(said, place)) is not None:
            part, after = _plain_number(with_hundredths[0]), with_hundredths[1]
        if self.parts and self.parts[-1] in ("+", "-") and (after_percent := _past_percent(said, after)):
            part, after = f"{part}%", after_percent
            after += after < len(said) and said[after].low in _SURCHARGES
        self.parts.append(part)
        self.depth += part == "("
        if part[-1:].isdecimal() or part[-1:] == "%":
            self.n_numbers += 1
            self._may_end(after)
        return after

    def _may_end(self, place: int) -> None:
        if self.depth == 0:
            self.last, self.n_parts = place, len(self.parts)

    def expression(self, asks_for_sum: bool) -> str:
        """Return what was read with signs for the words; "" when it is no sum."""
        parts = self.parts[: self.n_parts]
        is_function = bool(parts) and parts[0] in _FUNCTIONS and self.n_numbers >= 1
        if not is_function and (self.n_numbers < 2 or len(parts) < 3 or not (self.has_sign or asks_for_sum)):
            return ""
        written = " ".join(parts).replace("( ", "(").replace(" )", ")").replace(" %", "%")
        if parts[0] == "-":
            written = "-" + written[2:]
        for name in _FUNCTIONS:
            written = written.replace(f"{name} (", f"{name}(")
        return written


def _of_counted(said: Sequence[Token], place: int, is_asked: bool) -> tuple[str, int] | None:
    """Return the sign behind what was counted, where a number follows: "31 hours times 28", "17 plots at £52", "9 bags
    of gravel at 6.40", "900 euros rent split by 4"."""
    if (after := _past_shared(said, place)) is not None:
        return "/", after
    counted = said[place].low
    place += 2 if [t.low for t in said[place : place + 2]] == ["of", "them"] else 1
    if [t.low for t in said[place : place + 1]] == ["of"] and place + 1 < len(said) and said[place + 1].kind == "word":
        place += 2
    words = [token.low for token in said[place : place + 2]]
    if words[:1] == ["at"] and _is_price(said, place + 1, counted, is_asked):
        return "*", place + 1
    if not counted.endswith("s") and counted != "of":
        return None
    for long, sign in ((("times",), "*"), (("multiplied", "by"), "*"), (("divided", "by"), "/")):
        after = place + len(long)
        if tuple(words[: len(long)]) == long and after < len(said) and spoken_number(said, after) is not None:
            return sign, after
    return None


def _past_shared(said: Sequence[Token], place: int) -> int | None:
    """Return the index of the number by which what stands before is divided: "rent split by 4"."""
    for verb in range(place, min(place + 3, len(said) - 1)):
        if said[verb].low in _IS_SHARED:
            after = verb + 1 + (said[verb + 1].low in _SHARED_BY)
            parts = spoken_number(said, after) if after < len(said) else None
            is_said_so = after > verb + 1 or (
                parts is not None and [t.low for t in said[parts[1] : parts[1] + 1]] == ["ways"]
            )
            return after if parts is not None and is_said_so else None
        if said[verb].kind != "word" or said[verb].low in NUMBER_WORDS:
            return None
    return None


def _is_price(said: Sequence[Token], place: int, counted: str, is_asked: bool) -> bool:
    """Return whether a number is what each of several things costs; without currency, "each" or "a head" it may be a
    time, unless no hour is written so."""
    if place + 1 < len(said) and said[place].low in CURRENCY_SIGNS:
        return spoken_number(said, place + 1) is not None
    read = _money_of_two(said, place) or (spoken_number(said, place) if place < len(said) else None)
    if read is None:
        return False
    words = [token.low for token in said[read[1] : read[1] + 2]]
    following, one = [*words, "", ""][:2]
    is_rate = following in _PER and one in (*_COUNTED, counted.removesuffix("s"))
    is_money = is_rate or UNIT_WORDS.get(following, "").isupper() or _is_no_hour(said[place])
    return following in ("each", "apiece") or ((is_asked or is_money) and (counted.endswith("s") or counted == "of"))


def _is_no_hour(token: Token) -> bool:
    """Return whether digits with two decimals are no time of day: 118.50, 4.75; 8.30 may be one."""
    whole, _, decimals = token.low.replace(",", "").partition(".")
    return token.kind == "number" and len(decimals) == 2 and (int(whole) > 24 or int(decimals) > 59)


def _money_of_two(said: Sequence[Token], place: int) -> tuple[float, int] | None:
    """Read "six pounds seventy-five", "4 euros 50": an amount of money with its hundredths."""
    whole = spoken_number(said, place) if place < len(said) else None
    if (
        whole is None
        or not whole[0].is_integer()
        or whole[1] + 1 >= len(said)
        or said[whole[1]].low not in _MONEY_OF_100
    ):
        return None
    small = spoken_number(said, whole[1] + 1)
    if small is None or not small[0].is_integer() or not 10 <= small[0] < 100 or _unit_at(said, small[1]) is not None:
        return None
    return whole[0] + small[0] / 100, small[1]


def _past_named_share(said: Sequence[Token], place: int) -> int:
    """Return the index of the percentage of "plus vat at 20%", at "vat"; 0 when something else stands there."""
    words = [token.low for token in said[place : place + 2]]
    read = (
        spoken_number(said, place + 2)
        if len(words) > 1 and words[0] in _SURCHARGES and words[1] in ("at", "of")
        else None
    )
    return place + 2 if read is not None and _past_percent(said, read[1]) else 0


def _shared(text: str, said: Sequence[Token], index: int) -> tuple[Slot, int] | None:
    """Read "split 287 by 3", "divide £120 between four", "share 90 euros three ways"."""
    place = index + 1 + (index + 1 < len(said) and said[index + 1].low == "the")
    place += place < len(said) and said[place].low in CURRENCY_SIGNS
    whole = spoken_number(said, place) if place < len(said) else None
    if whole is None:
        return None
    for place in range(whole[1], min(whole[1] + 2, len(said) - 1)):  # "split 240 euros between three"
        is_said_so = said[place].low in _SHARED_BY
        parts = spoken_number(said, place + is_said_so)
        if parts is not None and (is_said_so or (parts[1] < len(said) and said[parts[1]].low == "ways")):
            break
    else:
        return None
    views: dict[str, Plain] = {"expression": f"{_plain_number(whole[0])} / {_plain_number(parts[0])}"}
    return slot_at("expression", text, said[index].start, said[parts[1] - 1].end, views), parts[1]


def _square_root(text: str, said: Sequence[Token], index: int) -> tuple[Slot, int] | None:
    if [t.low for t in said[index + 1 : index + 3]] != ["root", "of"]:
        return None
    read = spoken_number(said, index + 3)
    if read is None:
        return None
    views: dict[str, Plain] = {"expression": f"sqrt({_plain_number(read[0])})"}
    return slot_at("expression", text, said[index].start, said[read[1] - 1].end, views), read[1]


def _is_lone_minus(text: str, said: Sequence[Token], index: int) -> bool:
    """Return whether a minus is the sign of the number it touches: nothing before it could be subtracted from."""
    start, has_number = said[index].start, index + 1 < len(said) and said[index + 1].kind == "number"
    return has_number and said[index + 1].start == start + 1 and (start == 0 or text[start - 1] in " (:\n")


def _of_list(text: str, said: Sequence[Token], index: int) -> tuple[Slot, int] | None:
    """Read "the average of 72, 85 and 91", "add up 4.20, 13.75 and 22"."""
    numbers: list[str] = []
    place = end = index + 2
    if [t.low for t in said[index + 1 : index + 2]] != ["up" if said[index].low == "add" else "of"]:
        return None
    while len(numbers) < _LONGEST_LIST and place < len(said):
        read = spoken_number(said, place) if said[place].low not in ("a", "an", "half") else None
        if read is None or _touching(said, read[1]):
            break
        numbers.append(_plain_number(read[0]))
        place = end = read[1]
        place += place < len(said) and said[place].low == ","
        place += place < len(said) and said[place].low in ("and", "&")
        if place == end:
            break
    if len(numbers) < 2:
        return None
    name = _OF_LISTS.get(said[index].low)
    views: dict[str, Plain] = {"expression": f"{name}({', '.join(numbers)})" if name else " + ".join(numbers)}
    return slot_at("expression", text, said[index].start, said[end - 1].end, views), end


def _share_added(text: str, said: Sequence[Token], index: int) -> tuple[Slot, int] | None:
    """Read "add 13.5% vat to 200", "add ten percent to £84"."""
    share = spoken_number(said, index + 1) if said[index].low == "add" and index + 1 < len(said) else None
    place = _past_percent(said, share[1]) if share is not None else 0
    place += bool(place) and place < len(said) and said[place].low in _SURCHARGES
    if share is None or not place or [token.low for token in said[place : place + 1]] != ["to"]:
        return None
    place += 1 + (place + 1 < len(said) and said[place + 1].low in CURRENCY_SIGNS)
    whole = _operand(text, said, place, is_first=False) if place < len(said) else None
    if whole is None or not whole[0][-1:].isdecimal():
        return None
    views: dict[str, Plain] = {"expression": f"{whole[0]} + {_plain_number(share[0])}%"}
    return slot_at("expression", text, said[index].start, said[whole[1] - 1].end, views), whole[1]


_ORDERED = {
    "add": ("to", "+"),
    "subtract": ("from", "-"),
    "deduct": ("from", "-"),
    "take": ("from", "-"),
    "multiply": ("by", "*"),
    "divide": ("by", "/"),
}
"""Verbs of sums that are ordered, each with the word between its numbers and its sign."""
_MAY_END = frozenset(("please", "pls", "and", "then", "for"))


def _ordered_sum(text: str, said: Sequence[Token], index: int) -> tuple[Slot, int] | None:
    """Read "add 10 to 200", "take 5 from 30", "multiply 6 by 9": two numbers and nothing that is counted by them."""
    between, sign = _ORDERED.get(said[index].low, ("", ""))
    first = spoken_number(said, _past_currency(said, index + 1))
    if first is None or [token.low for token in said[first[1] : first[1] + 1]] != [between]:
        return None
    second = spoken_number(said, _past_currency(said, first[1] + 1))
    if second is None or _touching(said, second[1]):
        return None
    if second[1] < len(said) and said[second[1]].kind != "mark" and said[second[1]].low not in _MAY_END:
        return None  # "add 5 to 10 eggs to the list"
    one, other = _plain_number(first[0]), _plain_number(second[0])
    written = f"{other} {sign} {one}" if between in ("to", "from") else f"{one} {sign} {other}"
    return slot_at("expression", text, said[index].start, said[second[1] - 1].end, {"expression": written}), second[1]


def _past_currency(said: Sequence[Token], place: int) -> int:
    return place + (place < len(said) and said[place].low in CURRENCY_SIGNS)


def _share(said: Sequence[Token], place: int) -> tuple[str, int] | None:
    """Read "half of", "a third of", "two thirds of" as a fraction, and return the index of "of"."""
    top, following = 1, place
    if said[place].low in ("a", "one"):
        following += 1
    elif said[place].low not in _SHARES:
        read = spoken_number(said, place)
        if read is None or not (read[0].is_integer() and 1 <= read[0] < 100):
            return None
        top, following = int(read[0]), read[1]
    words = [token.low for token in said[following : following + 2]]
    return (f"{top}/{_SHARES[words[0]]}", following + 1) if words[1:] == ["of"] and words[0] in _SHARES else None


def _operand(text: str, said: Sequence[Token], place: int, *, is_first: bool) -> tuple[str, int] | None:
    """Read a number, an opening bracket or a function, and return the index after it."""
    if not is_first and said[place].low in ("the", "my") and place + 1 < len(said):
        place += 1  # "412.68 minus the 38.50 credit"
    token = said[place]
    if token.low in _FUNCTIONS:
        return (token.low, place + 1) if [t.low for t in said[place + 1 : place + 2]] == ["("] else None
    if token.low == "(":
        return token.low, place + 1
    if token.low == "minus" and is_first and place + 1 < len(said):
        return _negative(said, place)
    share = _share(said, place)
    if share is not None:
        return share
    return _number_at(text, said, place + (token.low in CURRENCY_SIGNS))


def _number_at(text: str, said: Sequence[Token], place: int) -> tuple[str, int] | None:
    """Read a number in digits or words, "3/4" or "20k"; a digit inside a word is none ("b2")."""
    if place < len(said) and said[place].kind == "day_month" and "/" in said[place].low:
        return said[place].low, place + 1
    read = spoken_number(said, place)
    if read is None or (said[place].kind == "number" and said[place].start and text[said[place].start - 1].isalnum()):
        return None
    if said[place].kind == "number" and _touching(said, read[1]) == "k":
        return _plain_number(read[0] * 1000), read[1] + 1
    if _touching(said, read[1]) and _touching(said, read[1]) != "x":
        return None
    return _plain_number(read[0]), read[1]


def _is_taken_off(said: Sequence[Token], place: int) -> bool:
    """Return whether a percentage is what is off a price: "89.95 with 25 percent off"."""
    read = spoken_number(said, place)
    after = _past_percent(said, read[1]) if read is not None else 0
    return bool(after) and after < len(said) and said[after].low == "off"


def _negative(said: Sequence[Token], place: int) -> tuple[str, int] | None:
    """Read "minus five" at the beginning of a sum."""
    read = spoken_number(said, place + 1)
    if read is None or (place and said[place - 1].kind == "number") or _touching(said, read[1]):
        return None
    return "-" + _plain_number(read[0]), read[1]


def _plain_number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _operator(text: str, said: Sequence[Token], place: int, parts: Sequence[str]) -> tuple[str, int] | None:
    """Read what joins two numbers, and return the index after it."""
    if (of_percent := _percent_operator(said, place)) is not None:
        return of_percent
    words = [token.low for token in said[place : place + 4]]
    if words[:1] == ["of"] and "/" in parts[-1] and len(parts[-1]) > 1:
        return "of", place + 1
    for long, sign in _LONG_OPERATORS.items():
        if tuple(words[: len(long)]) == long:
            return sign, place + len(long)
    sign_ = _OPERATORS.get(words[0])
    if sign_ is None:
        return None
    token = said[place]
    if token.low in "-−–" and not (text[token.start - 1] == " " and text[token.end : token.end + 1] == " "):
        return None
    if token.low == "*" and words[1:2] == ["*"]:
        return "^", place + 2
    return sign_, place + 1


def _percent_operator(said: Sequence[Token], place: int) -> tuple[str, int] | None:
    """Read what a percentage does to a number: "percent of", "% off", "with … percent off", "percent tip on"."""
    words = [token.low for token in said[place : place + 2]]
    if words in (["%", "of"], ["percent", "of"]):
        return "% of", place + 2
    if words in (["%", "off"], ["percent", "off"]):
        return "% off", place + 2
    if words[:1] == ["with"] and _is_taken_off(said, place + 1):
        return "-", place + 1
    after = _past_percent(said, place)
    after += bool(after) and after < len(said) and said[after].low in _SURCHARGES
    return ("% of", after + 1) if after and after < len(said) and said[after].low == "on" else None
