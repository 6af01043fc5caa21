"""The tool that reckons: exact arithmetic, units and percentages in words."""

from __future__ import annotations

import math
import statistics
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from hearth import patterns as re
from hearth.errors import ToolError
from hearth.formats.tool_signature import tool
from hearth.language.tokens import HEATS, LENGTHS, UNIT_WORDS

# ── Unit conversion ───────────────────────────────────────────────────────────────────────────────────────
# Units of measurement by household names, and conversion between them.
#
# Not covered: currencies (there are no exchange rates here) and weights of ingredients by volume.

_UNIT_WORDS = {
    word: unit
    for unit, words in {
        "degree_Celsius": "c °c degc celsius centigrade degrees_celsius degrees_centigrade degrees_c degree_c",
        "degree_Fahrenheit": "f °f degf fahrenheit degrees_fahrenheit degrees_f degree_f",
        "kelvin": "°k degrees_kelvin", "degree": "°", "fluid_ounce": "fl_oz floz",
        "gallon": "us_gallon us_gallons", "cup": "us_cup us_cups", "metric_cup": "metric_cup metric_cups",
        "tablespoon": "tbs tbl tbsps", "teaspoon": "tsps", "pinch": "pinches", "dash": "dashes", "pound": "lbs",
        "kilogram": "kilo kilos", "kilometer_per_hour": "kmh km_h", "meter**2": "sqm", "foot**2": "sqft",
        "watt": "w", "kilowatt": "kw", "kilowatt_hour": "kwh", "kilobyte": "kb", "megabyte": "mb",
        "gigabyte": "gb", "terabyte": "tb", "hour": "hrs hr", "minute": "mins", "second": "secs", "year": "yrs",
        "foot": "feet", "inch": "inches", "pint": "pints",
    }.items()
    for word in words.split()
}  # fmt: skip
"""Household spellings that the unit library reads otherwise (C is coulomb there, pinch a tiny inch) or not at all."""

_IMPERIAL = ("pint", "quart", "gallon", "fluid_ounce")
"""Units that are larger or smaller in Britain; the unit library means those of the United States."""

_CURRENCY_NAMES = (
    "$ € £ ¥ ₹ usd eur gbp jpy chf cny inr aud cad sek nok dkk pln dollar dollars euro euros sterling yen franc "
    "francs yuan rupee rupees bitcoin bitcoins btc peso pesos krona kroner zloty ruble rubles cent cents "
)
CURRENCIES = frozenset(_CURRENCY_NAMES.split())


_LOADING = threading.Lock()


def registry() -> Any:
    """Return the only unit registry of this process: amounts of two registries do not mix."""
    with _LOADING:
        return _loaded()


@cache
def _loaded() -> Any:
    # pint takes about 0.2 s to load; most requests need no units.
    import pint

    units: Any = pint.UnitRegistry()
    units.define("pinch = teaspoon / 16")
    units.define("dash = teaspoon / 8")
    units.define("metric_cup = 250 * milliliter")
    return units


@lru_cache(maxsize=1000)
def named_unit(name: str) -> Any:
    """Return the unit of one word, or None."""
    units = registry()
    lowered = name.lower()
    for spelling in (_UNIT_WORDS.get(lowered, name), lowered, lowered.removesuffix("s")):
        try:
            return units.Unit(spelling)
        except (AttributeError, ValueError, TypeError):  # pint's UndefinedUnitError is an AttributeError
            continue
    return None


def refuse_currency(words: Sequence[str], text: str) -> None:
    """Refuse currencies. Raises: ToolError: One of `words` is a currency."""
    money = next((word for word in words if word in CURRENCIES), None)
    if money:
        raise ToolError(
            f"{short(text)!r}: {money!r} is a currency, and there are no exchange rates here; look the rate up and "
            "multiply by it"
        )


def converted(value: Any, unit: Any, from_text: str, to_text: str) -> Any:
    """Convert `value` given in `unit`; the texts are the owner's words for both.

    Raises:
        ToolError: The two measure different things.
    """
    units = registry()
    if value.units == units.degree and unit.dimensionality == units.kelvin.dimensionality:
        # "350 degrees in celsius" means temperature, given in the other scale.
        is_to_fahrenheit = unit == units.Unit("degree_Fahrenheit")
        value = units.Quantity(value.magnitude, "degree_Celsius" if is_to_fahrenheit else "degree_Fahrenheit")
    if value.dimensionality != unit.dimensionality:
        raise ToolError(
            f"{short(from_text)!r} cannot be given in {short(to_text)!r}: the one measures "
            f"{measures(value.dimensionality)}, the other {measures(unit.dimensionality)}"
        )
    return value.to(unit)


def in_imperial(amount: float, start: Any, end: Any) -> Any:
    """Return what an amount comes to if the one of its two units that is another in Britain is Britain's; else None."""
    units = registry()
    british = [units.Unit(f"imperial_{unit}") if str(unit) in _IMPERIAL else None for unit in (start, end)]
    if (british[0] is None) == (british[1] is None):
        return None  # of neither, or of both, where the ratio is nearly the same
    return units.Quantity(amount, british[0] or start).to(british[1] or end)


_DIMENSIONS = {
    "[length]": "length",
    "[length] ** 2": "area",
    "[length] ** 3": "volume",
    "[mass]": "weight",
    "[time]": "time",
    "[temperature]": "temperature",
    "[length] / [time]": "speed",
    "dimensionless": "a plain number",
}


def unit_text(unit: Any) -> str:
    """Return a unit as it is shown: `km/h`, `ft²`, `cups`."""
    text = f"{unit:~P}"
    return {"cp": "cups", "fl_oz": "fl oz"}.get(text, text)


def measures(dimensionality: Any) -> str:
    """Return the measured quantity, in words."""
    return _DIMENSIONS.get(str(dimensionality), str(dimensionality).replace("[", "").replace("]", ""))


def short(text: str) -> str:
    """Return at most 60 characters of a text, for messages."""
    return text if len(text) <= 60 else text[:57] + "…"


# ── Arithmetic ────────────────────────────────────────────────────────────────────────────────────────────
# Evaluate expressions with an own parser; nothing is ever handed to Python's `eval`.
#
# Work is bounded: at most 200 numbers and signs, nested 40 deep, and a power that would have more than 300 digits is
# refused before it is computed. Values are plain numbers, or amounts with a unit ("Unit conversion"). Not covered:
# symbols, equations, complex numbers.

N_MAX_TOKENS = 200
N_MAX_DEPTH = 40
N_MAX_BITS = 1000
"""An integer beyond this many bits (about 300 digits) does not fit a float."""


# ── Tokens ────────────────────────────────────────────────────────────────────────────────────────────────

_TOKEN = re.compile(
    r"\s*(?:"
    r"(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])|\d{1,3}(?:\.\d{3})+,\d+|(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>°\s?[CFKcfk]\b|°|[^\W\d_]+(?:_[^\W\d]+)*\d?(?![\w]))"
    r"|(?P<symbol>\*\*|//|[-+*/%^!(),;$€£¥₹])"
    r")"
)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    """`number`, `name`, `symbol` or `end`."""
    text: str


def _without_grouping(number: str) -> str:
    """Return 1,234.5 and 1.234,5 as 1234.5."""
    is_continental = "." in number and number.rindex(",") > number.index(".")
    return number.replace(".", "").replace(",", ".") if is_continental else number.replace(",", "")


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    place = 0
    opened: list[bool] = []
    """For each open parenthesis, whether it holds a function's arguments, where a comma separates."""
    while place < len(text.rstrip()):
        match = _TOKEN.match(text, place)
        if not match:
            raise ToolError(
                f"cannot read {short(text[place:].strip())!r} in {short(text)!r}; write it with numbers, "
                "+ - * / ^ % and parentheses, e.g. '15% of 80'"
            )
        kind = str(match.lastgroup)
        found = match[kind]
        place = match.end()
        if kind == "number" and "," in found and True in opened:
            found = found.split(",")[0]
            place = match.start(kind) + len(found)
        elif kind == "number" and "," in found:
            found = _without_grouping(found)
        elif kind == "symbol" and found == "(":
            opened.append(bool(tokens) and tokens[-1].kind == "name" and tokens[-1].text.lower() in _FUNCTIONS)
        elif kind == "symbol" and found == ")" and opened:
            opened.pop()
        decimal = re.compile(r",(\d+)(?![\d,])").match(text, place) if kind == "number" else None
        if decimal and True not in opened and "." not in found:
            # "3,5" outside a function is the decimal comma of most of Europe.
            found, place = f"{found}.{decimal[1]}", decimal.end()
        tokens.append(_Token(kind, found.replace(" ", "")))
        if len(tokens) > N_MAX_TOKENS:
            raise ToolError(f"the expression has more than {N_MAX_TOKENS} numbers and signs; split it into parts")
    return tokens


# ── Functions ─────────────────────────────────────────────────────────────────────────────────────────────


def _rounded(value: float, n_digits: float = 0) -> float:
    if abs(n_digits) > 300:
        raise ToolError(f"{number_text(n_digits, 12)} is too many digits to round to; give at most 300")
    return round(value, int(n_digits)) if n_digits else round(value)


def _logarithm(value: float, base: float = 10) -> float:
    return math.log10(value) if base == 10 else math.log(value, base)


def _factorial(value: float) -> int:
    if value < 0 or value != int(value) or value > 170:
        raise ToolError(f"the factorial of {number_text(value, 12)} is not computed; give a whole number from 0 to 170")
    return math.factorial(int(value))


def _root(value: float) -> float:
    if isinstance(value, int) and value >= 0 and math.isqrt(value) ** 2 == value:
        return math.isqrt(value)
    return math.sqrt(value)


_FUNCTIONS: dict[str, tuple[Callable[..., int | float], int, int]] = {
    "sqrt": (_root, 1, 1),
    "cbrt": (lambda x: math.copysign(round(abs(x) ** (1 / 3), 12), x), 1, 1),
    "abs": (abs, 1, 1),
    "round": (_rounded, 1, 2),
    "floor": (math.floor, 1, 1),
    "ceil": (math.ceil, 1, 1),
    "ln": (math.log, 1, 1),
    "log": (_logarithm, 1, 2),
    "log10": (math.log10, 1, 1),
    "log2": (math.log2, 1, 1),
    "exp": (math.exp, 1, 1),
    "sin": (math.sin, 1, 1),
    "cos": (math.cos, 1, 1),
    "tan": (math.tan, 1, 1),
    "asin": (math.asin, 1, 1),
    "acos": (math.acos, 1, 1),
    "atan": (math.atan, 1, 1),
    "factorial": (_factorial, 1, 1),
    "pow": (lambda a, b: _power(a, b), 2, 2),
    "mod": (lambda a, b: a % b, 2, 2),
    "gcd": (lambda *n: math.gcd(*(_whole(x) for x in n)), 2, 99),
    "lcm": (lambda *n: math.lcm(*(_whole(x) for x in n)), 2, 99),
    "min": (lambda *n: min(n), 1, 99),
    "max": (lambda *n: max(n), 1, 99),
    "minimum": (lambda *n: min(n), 1, 99),
    "maximum": (lambda *n: max(n), 1, 99),
    "sum": (lambda *n: sum(n), 1, 99),
    "product": (lambda *n: math.prod(n), 1, 99),
    "average": (lambda *n: statistics.fmean(n), 1, 99),
    "avg": (lambda *n: statistics.fmean(n), 1, 99),
    "mean": (lambda *n: statistics.fmean(n), 1, 99),
    "median": (lambda *n: statistics.median(n), 1, 99),
}
"""Function by name, with the least and the largest number of arguments."""
_ANGLES = frozenset({"sin", "cos", "tan"})
_CONSTANTS = {"pi": math.pi, "tau": math.tau, "e": math.e}


def _whole(value: float) -> int:
    if value != int(value):
        raise ToolError(f"{number_text(value, 12)} is not a whole number; gcd and lcm take whole numbers only")
    return int(value)


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int) and exponent >= 0:
        if base not in (-1, 0, 1) and exponent * max(abs(base).bit_length() - 1, 1) > N_MAX_BITS:
            raise ToolError(
                f"{short(str(base))} to the power of {short(str(exponent))} has more than 300 digits; ask for "
                "something smaller"
            )
        return base**exponent
    result = base**exponent
    if isinstance(result, complex):
        raise ToolError(f"{base} to the power of {exponent} is no real number; use a base that is not negative")
    return result


# ── The grammar ───────────────────────────────────────────────────────────────────────────────────────────

_END = _Token("end", "")
_CONVERSIONS = frozenset({"in", "to", "into", "as"})
_AFTER_NUMBERS = frozenset({"of", "off", "mod", "and", "to", "into", "as"})
"""Words that may stand right after a number and are no unit."""


_COUNTS = frozenset(
    {"score", "scores", "gross", "couple", "pair", "pairs", "grand", "dozen", "dozens", "lakh", "crore"}
)
"""Words after a number that change how many it is, so they are no mere labels."""
_AFTER_LABELS = frozenset({"+", "-", "*", "/", ")", ","})


def _means_something(word: str) -> bool:
    """Say whether a word is a unit, a currency, a function, a constant or a word of the grammar."""
    low = word.lower()
    if low in _COUNTS:
        return True
    is_grammar = low in _AFTER_NUMBERS or low in _CONVERSIONS or low in _FUNCTIONS or low in _CONSTANTS
    return is_grammar or low in CURRENCIES or named_unit(word) is not None


class _Percent(float):
    """A number written with a percent sign; `80 + 19%` adds 19% of 80."""


class _Parser:
    """One pass over the tokens, computing as it goes; each method is one level of precedence, loosest first."""

    def __init__(self, tokens: list[_Token], text: str) -> None:
        self._tokens = tokens
        self._place = 0
        self._text = text
        self._depth = 0

    def whole(self) -> Any:
        """Return the value of the expression. Raises: ToolError."""
        value = self._sum()
        if not isinstance(value, int | float) and len(tuple(value.unit_items())) > 1:
            value = value.to_reduced_units()
            value = value if not value.unitless else value.magnitude
        while self._here.text.lower() in _CONVERSIONS:
            self._take()
            value = self._given_in(value)
        if self._here.kind != "end":
            raise self._unreadable()
        return float(value) if isinstance(value, _Percent) else value

    def unit_only(self) -> Any:
        """Return the unit when the tokens name one and nothing else, or None."""
        value = self._product()
        is_unit = self._here.kind == "end" and not isinstance(value, int | float) and value.magnitude == 1
        return value.units if is_unit else None

    @property
    def _here(self) -> _Token:
        return self._tokens[self._place] if self._place < len(self._tokens) else _END

    def _ahead(self) -> _Token:
        return self._tokens[self._place + 1] if self._place + 1 < len(self._tokens) else _END

    def _take(self) -> _Token:
        token = self._here
        self._place += 1
        return token

    def _is(self, *texts: str) -> bool:
        return self._here.kind != "number" and self._here.text.lower() in texts

    def _unreadable(self) -> ToolError:
        place = repr(self._here.text) if self._here.kind != "end" else "the end"
        return ToolError(
            f"cannot read {short(self._text)!r}: {place} is not expected there; write it with numbers, + - * / ^ % "
            "and parentheses, e.g. '15% of 80' or '5 miles in km'"
        )

    def _given_in(self, value: Any) -> Any:
        rest = " ".join(token.text for token in self._tokens[self._place :])
        refuse_currency([token.text.lower() for token in self._tokens], self._text)
        target = self._product()
        if isinstance(target, int | float) or isinstance(value, int | float):
            raise ToolError(
                f"cannot read {short(self._text)!r}: a conversion needs a unit on both sides, e.g. '5 miles in km'"
            )
        return converted(value, target.units, unit_text(value.units), rest)

    def _sum(self) -> Any:
        value = self._product()
        while self._is("+", "-"):
            sign = 1 if self._take().text == "+" else -1
            other = self._product()
            value = value * (1 + sign * other) if isinstance(other, _Percent) else self._added(value, other, sign)
        return value

    def _product(self) -> Any:
        value = self._of()
        while self._is("*", "/", "//", "mod") or (self._is("%") and self._is_modulo()):
            operator = self._take().text.lower()
            other = self._of()
            value = _multiplied(value, other, operator)
        return value

    def _of(self) -> Any:
        value = self._signed()
        while self._is("of", "off"):
            if not isinstance(value, int | float):
                raise self._unreadable()
            share = 1 - value if self._take().text.lower() == "off" else value
            value = self._signed() * share
        return value

    def _signed(self) -> Any:
        # Every kind of nesting (parentheses, signs, functions) passes here.
        self._deeper()
        if self._is("-", "+"):
            is_negative = self._take().text == "-"
            value = self._signed()
            if is_negative:
                # A temperature cannot be multiplied by -1; its number can.
                is_plain = isinstance(value, int | float)
                value = -value if is_plain else registry().Quantity(-value.magnitude, value.units)
        else:
            value = self._share() if self._is_share() else self._compound()
        self._depth -= 1
        return value

    def _is_share(self) -> bool:
        """Say whether the fraction here is taken of what follows: `2/3 of 450` is two thirds, not 2 by 1350."""
        tokens = self._tokens[self._place : self._place + 4]
        is_fraction = [token.kind for token in tokens[:3:2]] == ["number", "number"] and tokens[1].text == "/"
        is_first = self._place == 0 or self._tokens[self._place - 1].text not in ("/", "//")
        return is_fraction and is_first and len(tokens) == 4 and tokens[3].text.lower() in ("of", "off")

    def _share(self) -> float:
        top, _, bottom = (self._take() for _ in range(3))
        return _number(top.text) / _number(bottom.text)

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > N_MAX_DEPTH:
            raise ToolError(f"the expression is nested more than {N_MAX_DEPTH} deep; split it into parts")

    def _compound(self) -> Any:
        """Parse a number with its unit, and further amounts that follow without a sign: `6 ft 2 in`."""
        value = self._measured()
        while self._here.kind == "number" and not isinstance(value, int | float):
            value = self._added(value, self._measured(), 1)
        return value

    def _measured(self) -> Any:
        value = self._raised()
        unit = self._following_unit() if isinstance(value, int | float) and self._here.kind == "name" else None
        if unit is None:
            return value
        if isinstance(unit, int | float):
            return value * unit
        return registry().Quantity(float(value) if isinstance(value, _Percent) else value, unit)

    def _following_unit(self) -> Any:
        """Return the unit right after a number, or None if there is none."""
        name = self._here.text.lower()
        if name in _AFTER_NUMBERS or (name == "in" and not self._is_inch()):
            return None
        if name in _CONSTANTS or name in _FUNCTIONS:
            return self._raised()
        if name in CURRENCIES:
            self._take()
            return None
        if self._is_label():
            while self._here.kind == "name":
                self._take()
            return None
        value = self._raised()
        return value.units if not isinstance(value, int | float) else value

    def _is_label(self) -> bool:
        """Say whether the words here only call the number before them something ("13.5% vat", "40 service charge"):
        they mean nothing else, and the sum ends or goes on with a sign behind them. One number alone is no sum."""
        if sum(token.kind == "number" for token in self._tokens) < 2:
            return False
        place = self._place
        while place < len(self._tokens) and self._tokens[place].kind == "name":
            if _means_something(self._tokens[place].text):
                return False
            place += 1
        return place == len(self._tokens) or self._tokens[place].text in _AFTER_LABELS

    def _is_inch(self) -> bool:
        """Say whether the `in` here is the unit: nothing follows it that could be converted to."""
        following = self._ahead()
        return following.kind != "name" or following.text.lower() in _CONVERSIONS

    def _raised(self) -> Any:
        value = self._postfixed()
        if self._is("^", "**"):
            self._take()
            self._deeper()
            sign = -1 if self._is("-") and self._take() else 1
            exponent = sign * self._raised()
            self._depth -= 1
            if not isinstance(exponent, int | float):
                raise ToolError(f"cannot read {short(self._text)!r}: an exponent is a plain number")
            return _power(value, exponent)
        return value

    def _postfixed(self) -> Any:
        value = self._primary()
        while self._is("!", "%"):
            if self._is("!"):
                self._take()
                value = _factorial(self._plain(value, "factorial"))
            elif self._is_modulo():
                break
            else:
                self._take()
                value = _Percent(self._plain(value, "percent") / 100)
        return value

    def _is_modulo(self) -> bool:
        """Say whether the `%` here divides: a number, a parenthesis or a function follows."""
        following = self._ahead()
        return (
            following.kind == "number"
            or following.text == "("
            or (following.kind == "name" and following.text.lower() in (*_FUNCTIONS, *_CONSTANTS))
        )

    def _added(self, value: Any, other: Any, sign: int) -> Any:
        numbers = isinstance(value, int | float), isinstance(other, int | float)
        if numbers[0] != numbers[1]:
            raise ToolError(
                f"cannot read {short(self._text)!r}: a plain number and an amount with a unit do not add up; give "
                "both a unit"
            )
        if not numbers[0] and value.dimensionality != other.dimensionality:
            raise ToolError(
                f"cannot read {short(self._text)!r}: {measures(value.dimensionality)} and "
                f"{measures(other.dimensionality)} do not add up"
            )
        return value + other if sign > 0 else value - other

    def _plain(self, value: Any, what: str) -> int | float:
        if isinstance(value, int | float):
            return value
        raise ToolError(f"cannot read {short(self._text)!r}: {what} takes a plain number, not {value:~P}")

    def _primary(self) -> Any:
        token = self._here
        if token.kind == "number":
            self._take()
            return _number(token.text)
        if token.text == "(":
            self._take()
            value = self._sum()
            if not self._is(")"):
                raise self._unreadable()
            self._take()
            return float(value) if isinstance(value, _Percent) else value
        if token.text in CURRENCIES and self._ahead().kind == "number":
            # "15% of $80": the sum needs no rate.
            self._take()
            return self._primary()
        if token.kind == "name":
            return self._name()
        raise self._unreadable()

    def _name(self) -> Any:
        token = self._take()
        name = token.text.lower()
        if name in _FUNCTIONS:
            return self._function(name)
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        pair = f"{token.text}_{self._here.text}" if self._here.kind == "name" else ""
        unit = named_unit(pair) if pair and self._here.text.lower() not in _CONVERSIONS else None
        if unit is not None:
            self._take()
        else:
            unit = named_unit(token.text)
        if unit is None:
            refuse_currency([name], self._text)
            raise ToolError(
                f"cannot read {short(self._text)!r}: {short(token.text)!r} is no number, function or unit I know"
            )
        return registry().Quantity(1, unit)

    def _function(self, name: str) -> int | float:
        function, n_fewest, n_most = _FUNCTIONS[name]
        values = [self._signed()] if not self._is("(") else self._arguments()
        if not n_fewest <= len(values) <= n_most:
            expected = str(n_fewest) if n_fewest == n_most else f"{n_fewest} to {n_most}"
            raise ToolError(f"{name} takes {expected} values, {len(values)} were given in {short(self._text)!r}")
        if name in _ANGLES and not isinstance(values[0], int | float):
            values[0] = converted(values[0], registry().Unit("radian"), unit_text(values[0].units), "radian").magnitude
        return function(*(self._plain(value, name) for value in values))

    def _arguments(self) -> list[Any]:
        self._take()
        values = [self._sum()]
        while self._is(",", ";", "and"):
            self._take()
            if self._is("and"):
                self._take()
            values.append(self._sum())
        if not self._is(")"):
            raise self._unreadable()
        self._take()
        return values


def _number(text: str) -> int | float:
    if len(text) > 310:
        raise ToolError("a number has more than 300 digits; shorten it")
    return int(text) if text.isdigit() else float(text)


def _multiplied(value: Any, other: Any, operator: str) -> Any:
    if operator == "*":
        return value * other
    if operator == "/":
        result = value / other
        is_whole = isinstance(value, int) and isinstance(other, int) and value % other == 0
        return value // other if is_whole else result
    return value // other if operator == "//" else value % other


# ── Entry points ──────────────────────────────────────────────────────────────────────────────────────────


def evaluate(expression: str, shown: str) -> Any:
    """Return a number, or an amount with a unit.

    Args:
        expression: The expression in symbols.
        shown: The owner's words for it, for messages.
    Raises:
        ToolError: It cannot be read, has no result, or is too large; says which.
    """
    try:
        return _Parser(_tokens(expression), shown).whole()
    except ZeroDivisionError:
        raise ToolError(f"{short(shown)!r} divides by zero, which has no result") from None
    except OverflowError:
        raise ToolError(f"{short(shown)!r} is too large for a number; ask for something smaller") from None
    except (ValueError, TypeError, ArithmeticError) as error:
        raise ToolError(f"{short(shown)!r} has no result: {error}") from None


def evaluate_unit(expression: str, shown: str) -> Any:
    """Return the unit that `expression` names and nothing else, such as `km / h`. Raises: ToolError."""
    refuse_currency(expression.lower().split(), shown)
    try:
        value = _Parser(_tokens(expression), shown).unit_only() if 0 < len(expression) <= 80 else None
    except ToolError:
        value = None
    if value is None:
        raise ToolError(f"{short(shown)!r} is not a unit I know; write one such as 'km', 'cups' or 'celsius'")
    return value


def number_text(value: int | float, n_digits: int) -> str:
    """Return a number in readable form, without the noise of binary fractions, to `n_digits` significant digits."""
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e15):
        return str(int(value))
    # Keep every digit before the point: 123456789.5 is not shown as 1.23457e+08.
    n_whole = len(str(int(abs(value)))) if abs(value) < 1e15 else 0
    text = f"{value:.{max(n_digits, n_whole + 2 if n_whole > 1 else 0)}g}"
    return text.replace("e+", "e")


# ── Calculator ────────────────────────────────────────────────────────────────────────────────────────────
# Tools for sums and unit conversions, in an owner's words or in symbols.
#
# Covered: `+ - * / // % ^`, parentheses, the usual functions, percent ("15% of 80", "80 + 19%", "20% off 50"),
# operators and numbers written as words ("twenty plus 3"), units inside an expression ("2 h * 90 km/h in miles"),
# temperatures. Not covered: currencies (there are no exchange rates here), equations, and weights of ingredients by
# volume (a cup of flour has no fixed mass).

N_MAX_CHARACTERS = 500
_PLURALS = {"foot": "feet", "inch": "inches", "stone": "stone", "century": "centuries"}
_UNCOUNTED = frozenset({"feet", "fahrenheit", "kelvin", "percent"})


@dataclass(frozen=True, slots=True)
class Result:
    text: str
    """The expression with its result, e.g. `15% of 80 = 12`."""
    value: float


@dataclass(frozen=True, slots=True)
class Quantity:
    text: str
    """Both amounts with their units, e.g. `5 miles = 8.04672 km`."""
    value: float
    unit: str


@tool(answer="{text}.")
def calculate(expression: str) -> Result:
    """Work out a sum: arithmetic, percentages, roots, averages, and amounts with units.

    Args:
        expression: What to work out, in digits or words, e.g. "15% of 80", "3 * 4.5", "sqrt(2)" or "5 miles in km".
            log is to base 10, ln natural; angles are radians unless degrees are named.
    Examples:
        what is 15% of 80
        how much is 3 times 4.50 plus 2
        what's the square root of 144
        average of 12, 15 and 21
    """
    if not expression.strip():
        raise ToolError("the expression is empty; write what to work out, e.g. '15% of 80'")
    if len(expression) > N_MAX_CHARACTERS:
        raise ToolError(
            f"the expression has {len(expression)} characters, at most {N_MAX_CHARACTERS} are read; split it into parts"
        )
    said = _said(expression)
    value = evaluate(_in_symbols(expression), said)
    if isinstance(value, int | float):
        return Result(f"{said} = {number_text(value, 12)}", _finite(value))
    magnitude = _finite(value.magnitude, 12)
    return Result(f"{said} = {number_text(magnitude, 6)} {unit_text(value.units)}", magnitude)


@tool(answer="{text}.")
def convert_units(amount: float, from_unit: str, to_unit: str) -> Quantity:
    """Convert an amount from one unit of measurement to another: length, weight, volume, cooking measures,
    temperature, speed, area, time, data sizes, energy.

    Args:
        amount: How much.
        from_unit: The unit it is in now, e.g. "miles", "cups", "fahrenheit".
        to_unit: The unit wanted, e.g. "km", "ml", "celsius".
    Examples:
        convert 5 miles to kilometers
        how many ml are 2 cups
        what is 350 fahrenheit in celsius
    """
    target = " ".join(to_unit.split())
    start = evaluate_unit(_in_symbols(from_unit[:100]), from_unit)
    end = evaluate_unit(_in_symbols(to_unit[:100]), to_unit)
    value = converted(registry().Quantity(_finite(amount), start), end, from_unit, to_unit)
    magnitude = _finite(value.magnitude, 12)
    said = f"{number_text(amount, 12)} {_counted(from_unit.strip(), amount)}"
    british = in_imperial(amount, start, end)
    also = "" if british is None else f" (US measure; in imperial {number_text(_finite(british.magnitude, 12), 6)})"
    return Quantity(f"{said} = {number_text(magnitude, 6)} {_counted(target, magnitude)}{also}", magnitude, target)


def _counted(unit: str, amount: float) -> str:
    """Return a unit's name, in the plural where the amount needs it; short signs and names of several parts stay."""
    if amount == 1 or len(unit) < 4 or not unit.isalpha() or unit.endswith(("s", "hertz")) or unit in _UNCOUNTED:
        return unit
    return _PLURALS.get(unit, unit + "s")


# ── Numbers as text ───────────────────────────────────────────────────────────────────────────────────────


def _said(expression: str) -> str:
    """Return the expression as it is repeated to the owner."""
    return _LEAD.sub("", " ".join(expression.split())).rstrip(" ?=.")


def _finite(value: int | float, n_digits: int = 15) -> float:
    """Return a float without the noise of binary fractions (0.1 + 0.2 is 0.3)."""
    try:
        number = float(f"{float(value):.{n_digits}g}")
    except OverflowError:
        raise ToolError("the result has more than 300 digits; ask for something smaller") from None
    if not math.isfinite(number):
        raise ToolError("the result is too large for a number (beyond 10^308); ask for something smaller")
    return number


# ── Words to symbols ──────────────────────────────────────────────────────────────────────────────────────

_SMALL_NAMES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_SMALL = {word: n for n, word in enumerate(_SMALL_NAMES.split())}
_TENS_NAMES = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS = {word: 10 * n for n, word in enumerate(_TENS_NAMES.split(), 2)}
_PARTS = {
    "half": 2, "halve": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8,
    "ninth": 9, "tenth": 10,
}  # fmt: skip
_SCALES = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_UNDER_100 = rf"(?:(?:{'|'.join(_TENS)})(?:[\s-]+(?:{'|'.join(_SMALL)}))?|(?:{'|'.join(_SMALL)}))\b"
_SCALE = rf"(?:\s+(?:{'|'.join(_SCALES)})\b)"
_NUMBER_WORDS = re.compile(
    rf"\b(?:{_UNDER_100}{_SCALE}*|\b(?:an?\s+)?(?:{'|'.join(_SCALES)})\b)"
    rf"(?:(?:(?<=hundred)|(?<=thousand)|(?<=million)|(?<=billion))\s+(?:and\s+)?{_UNDER_100}{_SCALE}*)*",
    re.I,
)
_THOUSANDS = re.compile(r"(?<![\w.,])([$€£¥₹]?)(\d+(?:[.,]\d+)*)\s?k\b")
_SCALED_DIGITS = re.compile(rf"(?<=\d)\s+({'|'.join(_SCALES)})\b", re.I)

_LEAD = re.compile(
    r"^\s*(?:please\s+)?(?:what(?:'s|\s+is|\s+are)|how\s+(?:much|many)\s+(?:is|are)|calculate|compute|work\s+out|"
    r"convert|evaluate|the\s+result\s+of)\s+(?:the\s+)?",
    re.I,
)
_N = r"((?:[^,]|,(?=\d))+?)"
_PHRASES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = tuple(
    (re.compile(pattern, re.I), replacement)
    for pattern, replacement in (
        (rf"^\s*subtract\s+{_N}\s+from\s+(.+)$", r"(\2) - (\1)"),
        (r"^\s*add\s+([\d.]+\s*(?:%|per\s?cent\b|pct\b)(?:\s+[a-z]+)?)\s+to\s+([^,]+)$", r"(\2) + \1"),
        (rf"^\s*(?:add|sum\s+up|sum\s+of)\s+{_N}\s+(?:to|and|plus)\s+([^,]+)$", r"(\1) + (\2)"),
        (rf"^\s*(?:multiply|product\s+of)\s+{_N}\s+(?:by|with|and)\s+([^,]+)$", r"(\1) * (\2)"),
        (rf"^\s*divide\s+{_N}\s+by\s+([^,]+)$", r"(\1) / (\2)"),
        (rf"^\s*(?:the\s+)?difference\s+(?:between|of)\s+{_N}\s+and\s+([^,]+)$", r"(\1) - (\2)"),
        (
            r"^\s*(?:the\s+)?(average|mean|median|sum|product|min|max|minimum|maximum)\s+of\s+([^()]+)$",
            # In prose a comma without a space belongs to its number ("1,200 and 950").
            lambda m: f"{m[1]}({re.sub(r'(?<=[0-9]),(?=[0-9]{3}(?![0-9]))', '', m[2])})",
        ),
        (
            r"^\s*how\s+(?:many|much)\s+([^\d]+?)\s+(?:are|is|in|make|equals?)\s+(?:there\s+)?(?:in\s+)?(.+)$",
            lambda m: f"{re.sub(r'^an? ', '1 ', m[2])} in {m[1]}",
        ),
        (r"\b(?:the\s+)?(?:square\s+)?root\s+of\b", " sqrt "),
        (r"\b(?:the\s+)?cube\s+root\s+of\b", " cbrt "),
        (r"\bto\s+the\s+power(?:\s+of)?\b", "^"),
        (r"\bto\s+the\s+(\d+)(?:st|nd|rd|th)(?:\s+power)?\b", r"^\1"),
        (r"\b(square|sq|cubic|cu)\b\.?\s+([a-z]+)", lambda m: f"{m[2]}^{2 if m[1][0] in 'sS' else 3}"),
        (r"\bsquared\b", "^2"),
        (r"\bcubed\b", "^3"),
        (r"\bmultiplied\s+by\b|\btimes\b", "*"),
        (r"\bdivided\s+by\b|\bover\b", "/"),
        (r"\bplus\b|\badded\s+to\b", "+"),
        (r"\bminus\b", "-"),
        (r"\bmodulo\b", " mod "),
        (r"\bper\s?cent\b|\bpercent\b|\bpct\b", "%"),
        (
            r"%\s*(?:(?!(?:off|less|more|increased?|reduction|reduced|cut|rise|raise|discount|extra|up|down|drop)\b)"
            r"[a-z]+\s+)?on\b",
            "% of ",
        ),
        (r"(?<=[-+*/])\s*(?:the|my)\s+(?=[$€£]?\s?\d)", " "),
        (r"\bper\b", "/"),
        (rf"\b(\d+)[\s-]+({'|'.join(_PARTS)})s?\s+of\b", lambda m: f"({m[1]}/{_PARTS[m[2].lower()]}) of"),
        (r"\bof\s+an?\s+(?=[a-z])", "of 1 "),
        (r"\b(?:a\s+)?half\s+of\b|\bhalf\b", "0.5 *"),
        (r"\ba\s+quarter\s+of\b", "0.25 *"),
        (r"\ba\s+third\s+of\b", "(1/3) *"),
        (r"\b(?:twice|double)\b", "2 *"),
        (r"(?<=[\d)])\s*[x×]\s*(?=[\d(.])", "*"),
        (r"(?<=\d)\s*[’']\s*(?=\d{1,2}\s*[\"”])", " ft "),
        (r"(?<=\d)\s*[\"”]", " inch "),
    )
)
# Single characters keep the length; longer ones follow.
_SYMBOLS = str.maketrans("×·÷−–µμ\u00a0\u202f", "**/--uu  ") | str.maketrans(
    {"√": " sqrt ", "π": " pi ", "²": "^2", "³": "^3", "½": "(1/2)", "¼": "(1/4)", "¾": "(3/4)"}
)


def _number_from_words(match: re.Match[str]) -> str:
    total, current = 0, 0
    for word in re.split(r"[\s-]+", match[0].lower()):
        if word in _SMALL:
            current += _SMALL[word]
        elif word in _TENS:
            current += _TENS[word]
        elif word in ("dozen", "hundred"):
            current = max(current, 1) * _SCALES[word]
        elif word in _SCALES:
            total, current = total + max(current, 1) * _SCALES[word], 0
    return str(total + current)


def _in_symbols(expression: str) -> str:
    text = _LEAD.sub("", expression.translate(_SYMBOLS)).strip().rstrip("?=. ").strip()
    text = (
        _THOUSANDS.sub(r"\1\2 km" if _names(text, LENGTHS) else r"(\1\2 * 1000)", text)
        if not _names(text, HEATS)
        else text
    )
    text = _SCALED_DIGITS.sub(lambda m: f" * {_SCALES[m[1].lower()]}", text)
    text = _NUMBER_WORDS.sub(_number_from_words, text)
    text = re.sub(r"\b(\d+)\s+point\s+(\d+)\b", r"\1.\2", text, flags=re.I)
    for pattern, replacement in _PHRASES:
        text = pattern.sub(replacement, text)
    return text


def _names(text: str, units: frozenset[str]) -> bool:
    return any(UNIT_WORDS.get(word) in units for word in re.findall(r"[a-z]+", text.lower()))


TOOLS = (calculate, convert_units)
