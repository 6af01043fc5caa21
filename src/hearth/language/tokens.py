"""The words of a text: as tokens with their places, and by their stems."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from hearth.types import Plain

# ── Tokens ────────────────────────────────────────────────────────────────────────────────────────────────
# Defines what the finders share: slots and clauses of a request, its tokens, numbers said in words, measures.
#
# Tokens never overlap, stand in the order of the text, and are found in time linear in its length.

# ── Slots, clauses, tokens ────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Slot:
    """One value said in a request."""

    kind: str
    """`time`, `duration`, `number`, `quantity`, `unit`, `expression`, `email`, `phone`, `url`, `file`, `quoted`,
    `person`, `unknown_person`, or the kind of an entity of the context (`room`, …)."""
    start: int
    """Index of the first character of the value in the request, cue words excluded."""
    end: int
    """Index after its last character."""
    text: str
    views: Mapping[str, Plain] = field(default_factory=dict, hash=False)
    """The value in every form a parameter may want, in Hearth's plain encoding (ISO 8601). See `find_slots`."""
    cue: str = ""
    """Words just before that say its role, lower case: `at`, `from`, `until`, `by`, `for`, `to`, `every`, …"""
    cue_start: int = -1
    """Index of the first character of the cue; equal to `start` when there is none."""
    is_timed: bool = False
    """For a time: True when a clock time, a part of a day or a moment was said, not only a day or a longer stretch."""
    is_ambiguous: bool = False
    """True when the context knows several; `views["candidates"]` lists their names."""
    ahead: Mapping[str, Plain] = field(default_factory=dict, hash=False)
    """Of a time that lies in the past by the tense of its sentence alone: its views if it lay ahead; else empty. Not
    covered: a time that is said in two places."""


def slot_at(kind: str, text: str, start: int, end: int, views: Mapping[str, Plain]) -> Slot:
    """Return a slot without a cue at a place of a text."""
    return Slot(kind, start, end, text[start:end], views, "", start)


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a request that asks for one thing."""

    start: int
    end: int
    text: str
    slots: tuple[Slot, ...] = ()
    """Slots that lie in it."""


class Token(NamedTuple):
    kind: str
    """`word`, `number`, `clock` (17:45), `iso`, `numeric_date` (4.3.2027), `day_month` (4.3. or 3/4), `hours` (2h30) or
    `mark` (one character)."""
    start: int
    end: int
    low: str
    """Text in lower case, with a straight apostrophe; a word that was typed in short is written out."""


_TOKEN = re.compile(
    r"""
    (?P<iso>(?<![\d.,/-])\d{4}-\d{2}-\d{2}(?:[Tt\ ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?
        (?:[Zz]\b|[+-]\d{2}:?\d{2}\b)?)?(?![\d-]))
  | (?P<numeric_date>(?<![\d.,/-])\d{1,2}(?P<between>[./-])\d{1,2}(?P=between)(?:\d{4}|\d{2})(?![\d/-]|\.\d))
  | (?P<day_month>(?<![\d.,/-])\d{1,2}(?:\.\d{1,2}\.|/\d{1,2})(?![\d./-]))
  | (?P<clock>(?<![\d:.,/-])\d{1,2}:\d{2}(?::\d{2})?(?![\d:])|(?<=[-–—])\d{1,2}:\d{2}(?![\d:])
        |(?<![\d:.,/-])\d{1,2}\ :\ \d{2}(?!\d))
  | (?P<hours>(?<![\d.,])\d{1,3}h(?:\d{1,2}(?:m(?:in)?)?)?(?!\w))
  | (?P<number>\d+(?:,\d{3}(?!\d))*(?:\.\d+)?)
  | (?P<half>(?<![A-Za-z])[AaPp]\.\s?[Mm](?:\.|\ \.(?=\s[a-z])|\b))
  | (?P<word>['’][Ss]\b|[^\W\d_]\w*(?:['’](?![Ss]\b)\w+)*)
  | (?P<mark>\S)
    """,
    re.VERBOSE,
)


_SHORTHAND: Mapping[str, str] = {"n": "and", "w": "with", "u": "you", "ur": "your", "rn": "now"}
"""How words are typed in short; a unit after a number ("60 W") is none of them."""


def tokens(text: str) -> list[Token]:
    """Cut a text into tokens; white space is dropped."""
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "mark"
        low = match[0].lower()
        if kind == "half":
            kind, low = "word", f"{low[0]}m"
        elif kind == "word" and "’" in low:
            low = low.replace("’", "'")
        elif kind == "clock":
            low = low.replace(" ", "")
        elif kind == "between":
            kind = "numeric_date"
        if kind == "word" and low in _SHORTHAND and not (found and found[-1].kind == "number"):
            low = _SHORTHAND[low]
        found.append(Token(kind, match.start(), match.end(), low))
    return found


def listed(words: str) -> list[str]:
    """Split a list of words that is written as one text, as the tables here are."""
    return words.split()


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# ── Numbers in words ──────────────────────────────────────────────────────────────────────────────────────

ONES = {
    word: value
    for value, word in enumerate(
        listed(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
            "sixteen seventeen eighteen nineteen"
        )
    )
} | {"nought": 0}
TENS = {
    word: 10 * value
    for value, word in enumerate(listed("twenty thirty forty fifty sixty seventy eighty ninety"), start=2)
} | {"fourty": 40}
SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
NUMBER_WORDS = frozenset({*ONES, *TENS, *SCALES, "dozen"})


def spoken_number(said: Sequence[Token], index: int) -> tuple[float, int] | None:
    """Read a number that begins at a token, in digits or in words; return it and the index after it, or None.

    "a" counts only before a scale ("a hundred", "a dozen"); ordinals are not numbers.
    """
    if index >= len(said):
        return None
    token = said[index]
    if token.kind == "number":
        return _digits(said, index)
    if token.low in ("a", "half", "an") and token.kind == "word":
        return _dozen(said, index)
    return _in_words(said, index) if token.low in ONES or token.low in TENS else None


def _in_words(said: Sequence[Token], index: int) -> tuple[float, int]:
    """Add up "two hundred and five", "twenty-five", "three million"."""
    total, current, place, scale = 0.0, 0.0, index, 1_000_000_000_000
    level = 1_000_000_000_000  # what a following word must stay below to belong to the same number
    while place < len(said):
        word = said[place].low
        if word in ONES and level > 10:
            current, level = current + ONES[word], 1
        elif word in TENS and level > 20:
            current, level = current + TENS[word], 20
        elif word == "hundred" and 0 < current < 100:
            current, level = current * 100, 100
        elif word in SCALES and word != "hundred" and current and SCALES[word] < scale:
            scale = level = SCALES[word]
            total, current = total + current * scale, 0.0
        elif word == "dozen" and current:
            return total + current * 12, place + 1
        elif _joins(said, place, level):
            pass
        else:
            break
        place += 1
    if place + 1 < len(said) and said[place].low == "point" and said[place + 1].low in ONES:
        return _decimals(said, place + 1, total + current)
    return total + current, place


def _joins(said: Sequence[Token], place: int, level: int) -> bool:
    """Return whether it is the hyphen of "twenty-five" or the "and" of "two hundred and five"."""
    if place + 1 >= len(said):
        return False
    word, following = said[place].low, said[place + 1].low
    if word == "-":
        return level == 20 and following in ONES and said[place].start == said[place - 1].end
    return word == "and" and 100 <= level <= 1_000_000 and (following in ONES or following in TENS)


def _decimals(said: Sequence[Token], place: int, whole: float) -> tuple[float, int]:
    digits = ""
    while place < len(said) and ONES.get(said[place].low, 10) < 10 and len(digits) < 12:
        digits += str(ONES[said[place].low])
        place += 1
    return (whole + float(f"0.{digits}"), place) if digits else (whole, place - 1)


def _digits(said: Sequence[Token], index: int) -> tuple[float, int] | None:
    text = said[index].low
    if len(text) > 24:
        return None
    value = float(text.replace(",", ""))
    following = said[index + 1].low if index + 1 < len(said) else ""
    if following in SCALES or following == "dozen":
        return value * SCALES.get(following, 12), index + 2
    return value, index + 1


def _dozen(said: Sequence[Token], index: int) -> tuple[float, int] | None:
    """Read "a hundred", "a dozen", "half a dozen"."""
    words = [token.low for token in said[index : index + 3]]
    if words == ["half", "a", "dozen"]:
        return 6.0, index + 3
    if words[:1] == ["a"] and words[1:2] == ["dozen"]:
        return 12.0, index + 2
    if words[:1] == ["a"] and len(words) > 1 and words[1] in SCALES:
        value, place = float(SCALES[words[1]]), index + 2
        if place < len(said) and said[place].low == "and":
            rest = spoken_number(said, place + 1) if said[place + 1 : place + 2] else None
            if rest and rest[0] < value and said[place + 1].low in (ONES.keys() | TENS.keys()):
                return value + rest[0], rest[1]
        return value, place
    return None


# ── Measures ────────────────────────────────────────────────────────────────────────────────────────────
# Lists the words and signs of measures, with the names the calculator converts by (pint's; currencies: ISO 4217).
#
# Units of time are not here: see `time_words`.


_TABLE = """
kilometer: km kms kilometer kilometers kilometre kilometres
meter: meter meters metre metres
centimeter: cm cms centimeter centimeters centimetre centimetres
millimeter: mm millimeter millimeters millimetre millimetres
mile: mile miles mi
yard: yard yards yd yds
foot: foot feet ft
inch: inch inches
nautical_mile: nmi
kilogram: kg kgs kilo kilos kilogram kilograms kilogramme kilogrammes
gram: g gram grams gramme grammes gr
milligram: mg milligram milligrams
pound: lb lbs
ounce: oz ounce ounces
stone: stone stones
metric_ton: tonne tonnes
ton: ton tons
liter: l liter liters litre litres
milliliter: ml milliliter milliliters millilitre millilitres
centiliter: cl centiliter centiliters centilitre centilitres
deciliter: dl deciliter deciliters decilitre decilitres
cup: cup cups
tablespoon: tablespoon tablespoons tbsp tbsps
teaspoon: teaspoon teaspoons tsp tsps
fluid_ounce: floz
pint: pint pints
quart: quart quarts
gallon: gallon gallons gal
celsius: celsius centigrade °c ℃
fahrenheit: fahrenheit °f ℉
kelvin: kelvin kelvins
degree: degree degrees deg ° °
watt: watt watts w
kilowatt: kw kilowatt kilowatts
kilowatt_hour: kwh
joule: joule joules
kilojoule: kj
kilocalorie: kcal calories
volt: volt volts
ampere: amp amps ampere amperes
byte: byte bytes
kilobyte: kb kilobyte kilobytes
megabyte: mb megabyte megabytes
gigabyte: gb gigabyte gigabytes
terabyte: tb terabyte terabytes
mile_per_hour: mph
kilometer_per_hour: kmh kph km/h
meter_per_second: m/s
knot: knot knots
hectare: hectare hectares ha
acre: acre acres
bar: bar bars
psi: psi
kilopascal: kpa
atmosphere: atm
pascal: pascal pascals pa
hectopascal: hpa
EUR: euro euros eur €
USD: dollar dollars usd bucks $
GBP: gbp quid £
JPY: yen jpy ¥
CHF: chf franc francs
CENT: cent cents
SEK: sek
NOK: nok
DKK: dkk
PLN: pln zloty
INR: rupee rupees inr ₹
CNY: yuan cny rmb
AUD: aud
CAD: cad
"""
UNIT_WORDS: dict[str, str] = {
    word: name
    for row in _TABLE.strip().splitlines()
    for name, _, words in [row.partition(": ")]
    for word in words.split()
}
UNIT_WORDS |= {"pound": "pound", "pounds": "pound"}
"""Unit of each word; a pound is a weight, while "£5" is money."""
TOUCHING_UNITS = {"m": "meter", "c": "celsius", "f": "fahrenheit", "in": "inch", '"': "inch"}
"""Units only when they touch their number: 5m, 20C."""
LONG_UNITS = {
    ("square", "meters"): "meter ** 2",
    ("square", "metres"): "meter ** 2",
    ("square", "meter"): "meter ** 2",
    ("square", "metre"): "meter ** 2",
    ("square", "feet"): "foot ** 2",
    ("square", "kilometers"): "kilometer ** 2",
    ("square", "kilometres"): "kilometer ** 2",
    ("square", "miles"): "mile ** 2",
    ("square", "foot"): "foot ** 2",
    ("square", "yards"): "yard ** 2",
    ("square", "inches"): "inch ** 2",
    ("cubic", "feet"): "foot ** 3",
    ("cubic", "meters"): "meter ** 3",
    ("cubic", "metres"): "meter ** 3",
    ("fluid", "ounces"): "fluid_ounce",
    ("fluid", "ounce"): "fluid_ounce",
    ("fl", "oz"): "fluid_ounce",
    ("nautical", "miles"): "nautical_mile",
    ("nautical", "mile"): "nautical_mile",
    ("degrees", "celsius"): "celsius",
    ("degree", "celsius"): "celsius",
    ("degrees", "c"): "celsius",
    ("degrees", "fahrenheit"): "fahrenheit",
    ("degree", "fahrenheit"): "fahrenheit",
    ("degrees", "f"): "fahrenheit",
    ("degrees", "centigrade"): "celsius",
    ("°", "c"): "celsius",
    ("°", "f"): "fahrenheit",
    ("miles", "per", "hour"): "mile_per_hour",
    ("kilometers", "per", "hour"): "kilometer_per_hour",
    ("kilometres", "per", "hour"): "kilometer_per_hour",
    ("meters", "per", "second"): "meter_per_second",
    ("metres", "per", "second"): "meter_per_second",
    ("km", "/", "h"): "kilometer_per_hour",
    ("m", "/", "s"): "meter_per_second",
    ("kilowatt", "hours"): "kilowatt_hour",
    ("us", "dollars"): "USD",
    ("pounds", "sterling"): "GBP",
}
LONG_STARTS = frozenset(words[0] for words in LONG_UNITS)
LENGTHS = frozenset(["kilometer", "meter", "centimeter", "millimeter", "mile", "yard", "foot", "inch", "nautical_mile"])
HEATS = frozenset(["celsius", "fahrenheit", "kelvin"])
LEVELLED = frozenset(
    listed(
        "light lights lamp lamps lighting brightness dimmer volume speaker speakers radio telly tv blind blinds "
        "curtain curtains shutter shutters shade shades awning skylight window windows valve vent"
    )
)
"""What can be put half way or to the full, or up by a step."""
CURRENCY_SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR"}


def is_unit_word(word: str) -> bool:
    """Return whether a word is a measure said after a number; words with other meanings ("stone", "bar") count too."""
    return word in UNIT_WORDS


# ── Word match ────────────────────────────────────────────────────────────────────────────────────────────
# Compares words and names as people mean them, and finds texts by a few words of the owner.
#
# Case, accents and plural endings make no difference; in a search every significant word must occur, in any order,
# small words do not count, and a word of four letters or more also finds longer words that it begins. Titles are
# compared word by word (`Query`), which is quick for thousands of events; long texts are searched by patterns
# (`wanted`), which find words inside names of files and of languages without spaces, count them, and tell where they
# are. What a person allows another by name is compared exactly (`same_name`): in any case and however its letters are
# stored, but "café" is not "cafe". Not covered: synonyms, typing errors, word forms beyond English plurals and
# possessives.

# ── The same word ─────────────────────────────────────────────────────────────────────────────────────


_SMALL = frozenset(
    re.findall(
        r"\w+",
        "a an the my our your his her their this that these those some any of for to in on at with and or from by "
        "about is are was were be do does did have has had i me we us you it",
    )
)
_SMALL_OF_TITLES = _SMALL | {"next"}
_ARTICLES = frozenset({"the", "a", "an", "my", "our", "this", "that"})
"""Words that alone name nothing: "the" of "move the reminder"."""
_SMALL_OF_TEXTS = _SMALL | {"its", "all", "regarding"}
_GENERIC = frozenset(
    re.findall(r"\w+", "appointment appt event meeting entry calendar reminder task date session contact person")
)
_FILLERS = frozenset(re.findall(r"\w+", "thing one stuff item entry bit"))
"""Stems that people put in the place of a word which they leave out: "the tape thing"."""
_SPECIAL = str.maketrans({"ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})


@functools.lru_cache(maxsize=4_000)
def folded(text: str) -> str:
    """Fold to lower case, without accents: `Zoë Müller` is `zoe muller`."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in plain if not unicodedata.combining(c)).translate(_SPECIAL)


@functools.lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return a folded word without possessive or plural ending."""
    word = word.removesuffix("'s").removesuffix("’s")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


@functools.lru_cache(maxsize=4_000)
def stems(text: str) -> frozenset[str]:
    """Return the stems of the words in `text`."""
    return frozenset(stem(word) for word in re.findall(r"[\w]+(?:['’]s\b)?", folded(text)))


BY_ID = "id:"
"""Begins a query for the one record that has the id behind it: what the owner picked from the last answer."""


def says_nothing(query: str) -> bool:
    """Return whether a query is made of small words alone, as "the" or "is it": it names nothing that could be found.
    Words with a capital may be a name."""
    return query == query.lower() and bool(found := stems(query)) and found <= _SMALL_OF_TITLES


class Query:
    """Words that must all occur. Small words (`the`, `my`, `with`) do not count."""

    def __init__(self, text: str) -> None:
        found = stems(text)
        self.text = text
        self.words = found - _SMALL_OF_TITLES or found - _ARTICLES
        self.specific = self.words - _GENERIC - _FILLERS
        """Words of the query without such as `appointment`, which people say but do not write in a title."""

    def matches(self, text: str) -> bool:
        """Return whether every word of the query is a word of `text` or begins one (from four letters on)."""
        return self._all_in(self.words, text)

    def matches_loosely(self, text: str) -> bool:
        """Match as `matches` does, by the specific words alone; False when there is none."""
        return bool(self.specific) and self._all_in(self.specific, text)

    def known_in(self, texts: Iterable[str]) -> Query | None:
        """Return the query without the words that none of the texts has; None where that is none of them, or
        more than a third."""
        left = set(self.specific or self.words)
        n_all = len(left)
        for text in texts:
            known = stems(text)
            left = {word for word in left if not _is_in(word, known)}
        if not 0 < 3 * len(left) <= n_all:
            return None
        return Query(" ".join(sorted((self.specific or self.words) - left)))

    def holds(self, word: str) -> bool:
        """Return whether a word must occur."""
        return not stems(word).isdisjoint(self.words)

    def _all_in(self, words: frozenset[str], text: str) -> bool:
        known = stems(text)
        return all(_is_in(word, known) for word in words)


def id_asked(query: str) -> str:
    """Return the id of the one record that a query names (`id:…`); empty for one by words."""
    return query.removeprefix(BY_ID) if query.startswith(BY_ID) else ""


def _is_in(word: str, known: frozenset[str]) -> bool:
    return word in known or (len(word) >= 4 and any(other.startswith(word) for other in known))


# ── The same name ─────────────────────────────────────────────────────────────────────────────────────


def same_name(name: str) -> str:
    """Return a name as it is compared.

    >>> same_name("José") == same_name("JOSE\\u0301")
    True
    >>> same_name("José") == same_name("Jose")
    False
    """
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).split())


def by_same_name(names: Iterable[str]) -> dict[str, str]:
    """Return names by how they are compared, without those of which there are several."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(same_name(name), []).append(name)
    return {key: several[0] for key, several in found.items() if len(several) == 1}


# ── A few words of the owner ──────────────────────────────────────────────────────────────────────────


N_MAX_QUERY_CHARACTERS = 2_000
N_MAX_WORDS = 32
NONE_HAS_ALL = "Nothing has all of the words"
"""Begins the notice of a look-up that gives what has fewer words than were asked for (`ignored`)."""
_N_MAX_IGNORED, _N_MAX_STRETCH_CHARACTERS = 5, 60
_fold = folded.__wrapped__  # texts of whole mails and files must not stay in a cache of short texts


@dataclass(frozen=True, slots=True)
class Wanted:
    """Words to look for, one pattern each; falsy when none is left."""

    patterns: tuple[re.Pattern[str], ...]

    def __bool__(self) -> bool:
        return bool(self.patterns)

    def holds(self, word: str) -> bool:
        """Return whether a word must occur."""
        return any(p.search(fold(word)) for p in self.patterns)

    def missing_in(self, text: str) -> Wanted:
        """Return the words that `text` does not hold."""
        if not self.patterns:
            return self
        plain = fold(text)
        return Wanted(tuple(p for p in self.patterns if not p.search(plain)))

    def known_in(self, texts: Iterable[str]) -> Wanted:
        """Return the words that occur in some of the texts, where these are at least two thirds of all, else nothing.

        A word that no text has cannot tell which one is meant: "that newsletter of the garden club". One that stands
        for a word left out, as in "the wifi thing", tells nothing beside another.
        """
        telling = [p for p in self.patterns if p not in _filling()]
        left = list(telling)
        for text in texts:
            plain = fold(text)
            left = [p for p in left if not p.search(plain)]
        kept = tuple(p for p in telling if p not in left)
        is_less = len(kept) < len(self.patterns)
        return Wanted(kept if is_less and 3 * len(left) <= len(telling) else ())

    def count_in(self, text: str) -> int:
        """Count how often the words occur, at most ten times each."""
        plain = fold(text)
        return sum(min(len(p.findall(plain)), 10) for p in self.patterns)

    def place_in(self, text: str) -> int:
        """Return where the first of the words occurs; 0 when none does or folding changed the length."""
        plain = fold(text)
        if len(plain) != len(text):
            return 0
        places = [match.start() for p in self.patterns if (match := p.search(plain))]
        return min(places, default=0)


def fold(text: str) -> str:
    """Fold to lower case without accents, for texts of any length."""
    return str(_fold(text))


def wanted(query: str, generic: frozenset[str] = frozenset()) -> Wanted:
    """Return the significant words of `query`.

    Args:
        generic: Stems people say but do not write (`mail`, `note`): they do not count.
    """
    return _wanted(query[:N_MAX_QUERY_CHARACTERS], generic)


@lru_cache(maxsize=200)
def _wanted(query: str, generic: frozenset[str]) -> Wanted:
    found = list(dict.fromkeys(re.findall(r"\w+(?:['’]s\b)?", fold(query))))
    telling = [word for word in found if word not in _SMALL_OF_TEXTS] or found
    specific = [word for word in map(stem, telling) if word not in generic]
    return Wanted(tuple(_pattern(word) for word in dict.fromkeys(specific[:N_MAX_WORDS])))


def ignored(asked: str, known: Query | Wanted, generic: frozenset[str] = _GENERIC) -> str:
    """Return a notice that names the words asked for which nothing had to have; words side by side as one.

    Args:
        known: The words that what was found has.
        generic: Stems people say but do not write (`mail`, `note`): they are not named.

    >>> ignored("lunch at the swan lake with Priya", Query("lunch Priya"))
    'Nothing has all of the words: I ignored “swan lake”.'
    """
    text = asked[:N_MAX_QUERY_CHARACTERS]
    stretches: list[tuple[int, int]] = []
    is_beside = False
    for match in re.finditer(r"\w+(?:['’]s\b)?", text):
        word = folded(match[0])
        is_telling = word not in _SMALL_OF_TEXTS and stem(word) not in generic
        is_left = is_telling and not known.holds(word)
        if is_left and is_beside:
            stretches[-1] = (stretches[-1][0], match.end())
        elif is_left:
            stretches.append(match.span())
        is_beside = is_left
    told = ", ".join(f"“{text[start:end][:_N_MAX_STRETCH_CHARACTERS]}”" for start, end in stretches[:_N_MAX_IGNORED])
    return f"{NONE_HAS_ALL}: I ignored {told}." if told else f"{NONE_HAS_ALL}."


_ALSO_CALLED = {"quote": ("quotation", "estimate"), "estimate": ("quote", "quotation"), "invoice": ("bill",)}
"""Papers whose writers call them otherwise than who gets them."""


def called(word: str) -> tuple[str, ...]:
    """Return a stem and what its thing is called, too: a "quotation" is a quote."""
    return (word, *_ALSO_CALLED.get(word, ()))


def _pattern(word: str) -> re.Pattern[str]:
    if word in _ALSO_CALLED:
        return re.compile(rf"(?<![^\W_])(?:{'|'.join(called(word))})")
    if any(c >= "\u2e80" for c in word):
        return re.compile(re.escape(word))  # Chinese, Japanese, Korean: no spaces between words
    if word.endswith("y") and len(word) > 3:
        return re.compile(rf"(?<!\w){re.escape(word[:-1])}(?:y|ies)")
    ending = "" if len(word) >= 4 else r"(?:['’]?s|es)?(?!\w)"
    return re.compile(rf"(?<![^\W_]){re.escape(word)}{ending}")


@functools.cache
def _filling() -> frozenset[re.Pattern[str]]:
    return frozenset(map(_pattern, _FILLERS))


def excerpt(text: str, words: Wanted, n_max: int) -> str:
    """Return at most about `n_max` characters of `text`, around the first of the words; `…` marks what was cut off."""
    if len(text) <= n_max:
        return text
    place = words.place_in(text) if words else 0
    start = 0 if place < n_max * 2 // 3 else place - n_max // 3
    if start:
        start = text.rfind(" ", start - 40, start) + 1 or start
    end = start + n_max
    if end < len(text):
        end = max(text.rfind(" ", end - 40, end), text.rfind("\n", end - 40, end), end - 40)
    return f"{'…' if start else ''}{text[start:end].strip()}{'…' if end < len(text) else ''}"


def names(items: Iterable[str], n_max: int = 5) -> str:
    """Join a few of them for a message: `'a', 'b' and 3 more`."""
    known = list(items)
    shown = ", ".join(repr(item) for item in known[:n_max])
    return f"{shown} and {len(known) - n_max} more" if len(known) > n_max else shown
