"""Lists the words and signs of measures, with the names the calculator converts by (pint's; currencies: ISO 4217).

Units of time are not here: see `time_words`.
"""

from __future__ import annotations

from hearth.language.text.tokens import listed

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
