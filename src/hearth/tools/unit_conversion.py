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
    "c": "degree_Celsius",
    "f": "degree_Fahrenheit",
    "°c": "degree_Celsius",
    "°f": "degree_Fahrenheit",
    "°k": "kelvin",
    "°": "degree",
    "degc": "degree_Celsius",
    "degf": "degree_Fahrenheit",
    "celsius": "degree_Celsius",
    "centigrade": "degree_Celsius",
    "fahrenheit": "degree_Fahrenheit",
    "degrees_celsius": "degree_Celsius",
    "degrees_centigrade": "degree_Celsius",
    "degrees_fahrenheit": "degree_Fahrenheit",
    "degrees_c": "degree_Celsius",
    "degrees_f": "degree_Fahrenheit",
    "degree_c": "degree_Celsius",
    "degree_f": "degree_Fahrenheit",
    "degrees_kelvin": "kelvin",
    "fl_oz": "fluid_ounce",
    "floz": "fluid_ounce",
    "us_gallon": "gallon",
    "us_gallons": "gallon",
    "us_cup": "cup",
    "us_cups": "cup",
    "metric_cup": "metric_cup",
    "metric_cups": "metric_cup",
    "tbs": "tablespoon",
    "tbl": "tablespoon",
    "tbsps": "tablespoon",
    "tsps": "teaspoon",
    "pinches": "pinch",
    "dashes": "dash",
    "lbs": "pound",
    "kilo": "kilogram",
    "kilos": "kilogram",
    "kmh": "kilometer_per_hour",
    "km_h": "kilometer_per_hour",
    "sqm": "meter**2",
    "sqft": "foot**2",
    "w": "watt",
    "kw": "kilowatt",
    "kwh": "kilowatt_hour",
    "kb": "kilobyte",
    "mb": "megabyte",
    "gb": "gigabyte",
    "tb": "terabyte",
    "hrs": "hour",
    "hr": "hour",
    "mins": "minute",
    "secs": "second",
    "yrs": "year",
    "feet": "foot",
    "inches": "inch",
    "pints": "pint",
}
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
