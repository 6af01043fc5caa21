"""Units of measurement by household names, and conversion between them.

Not covered: currencies (there are no exchange rates here) and weights of ingredients by volume.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from hearth.errors import ToolError

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
