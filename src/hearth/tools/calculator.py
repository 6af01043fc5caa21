"""Tools for sums and unit conversions, in an owner's words or in symbols.

Covered: `+ - * / // % ^`, parentheses, the usual functions, percent ("15% of 80", "80 + 19%", "20% off 50"), operators
and numbers written as words ("twenty plus 3"), units inside an expression ("2 h * 90 km/h in miles"), temperatures.
Not covered: currencies (there are no exchange rates here), equations, and weights of ingredients by volume (a cup of
flour has no fixed mass).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hearth import patterns as re
from hearth.errors import ToolError
from hearth.formats.tool_signature import tool
from hearth.language.text.tokens import HEATS, LENGTHS, UNIT_WORDS
from hearth.tools.arithmetic import evaluate, evaluate_unit, number_text
from hearth.tools.unit_conversion import converted, in_imperial, registry, unit_text

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
