"""Reads how loud, bright or warm something becomes where no level is said: "louder", "dim the lights a bit", "mute".

What is said is exchanged for the same with its number: a step up or down from what is set now, or an end of the range.
The owner is shown that reading. An order is read from both ends, a word at a time, until the thing is left; it must be
one that has such a level, or the words must say which.

Covered: one order that is nothing else; a step that was said ("up by 20 percent").
Not covered: a level that was said ("turn it down to 18"), which is planned as it stands; "it".
"""

from __future__ import annotations

from typing import Literal

from hearth import patterns as re
from hearth.language.text.tokens import NUMBER_WORDS, listed, spoken_number, tokens

Quantity = Literal["volume", "brightness", "temperature"]

_STEPS: dict[Quantity, tuple[float, float, float]] = {
    "volume": (5, 10, 25),
    "brightness": (10, 20, 40),
    "temperature": (0.5, 1, 2),
}
"""By how much: a little, by itself, a lot; percent, or degrees Celsius."""
_THINGS: dict[Quantity, frozenset[str]] = {
    "volume": frozenset(listed("volume sound loudness music radio tv telly television speaker speakers stereo song")),
    "brightness": frozenset(listed("light lights lamp lamps brightness lighting bulb bulbs lantern")),
    "temperature": frozenset(listed("heating heat heater radiator radiators thermostat temperature furnace boiler")),
}
_IN_A_ROOM: dict[Quantity, str] = {"volume": "speaker", "brightness": "lights", "temperature": "heating"}
"""What is meant where only a room is named."""
_WAYS: dict[str, tuple[Quantity | None, str]] = {
    **dict.fromkeys(("up", "raise", "increase", "boost", "higher"), (None, "up")),
    **dict.fromkeys(("down", "lower", "reduce", "decrease", "lessen"), (None, "down")),
    "louder": ("volume", "up"),
    **dict.fromkeys(("quieter", "softer"), ("volume", "down")),
    **dict.fromkeys(("brighter", "brighten"), ("brightness", "up")),
    **dict.fromkeys(("dimmer", "darker", "dim"), ("brightness", "down")),
    **dict.fromkeys(("warmer", "hotter"), ("temperature", "up")),
    **dict.fromkeys(("cooler", "colder"), ("temperature", "down")),
    **dict.fromkeys(("mute", "silence"), ("volume", "to 0")),
}
"""Words that say which way, and of what where they say it."""
_WAY = rf"(?P<way>{'|'.join(_WAYS)})"
_AT_FRONT = (
    re.compile(
        r"(?:please|pls|can|could|would|will|you|kindly|hey|just|now|turn|put|bring|crank|take|make|set|get|speak|talk|play)(?:\s+|$)",
        re.I,
    ),
    re.compile(rf"{_WAY}(?:\s+|$)", re.I),
)
_END = r"(?:^|\s+)"
_ONE_NUMBER = rf"(?:\d{{1,3}}(?:[.,]\d)?|{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})"
_BY = rf"(?P<by>{_ONE_NUMBER}(?:[\s-]{_ONE_NUMBER})?)"
_FEELS = "freezing|cold|chilly|hot|boiling|warm|stuffy|dark|gloomy|loud|noisy|bright|quiet"
_AT_END = (
    re.compile(
        rf"{_END}(?:it['’]?s|it\s+is|i['’]?m)\s+(?:(?:so|too|really|very|bloody)\s+)?(?:{_FEELS})(?:\s+in\s+here)?$",
        re.I,
    ),
    re.compile(rf"{_END}(?:please|pls|now|for\s+me|in\s+here|would\s+you|will\s+you)$", re.I),
    re.compile(rf"{_END}(?P<room>in\s+the\s+[\w'’-]+(?:\s+room)?)$", re.I),
    re.compile(rf"{_END}a\s+(?P<couple>couple)\s+(?:of\s+)?degrees$", re.I),
    re.compile(rf"{_END}by\s+{_BY}\s*(?P<unit>%|percent|per\s+cent|degrees?|points?)$", re.I),
    re.compile(rf"{_END}{_BY}\s+(?P<unit>degrees?)(?=\s+(?:warmer|hotter|cooler|colder)$)", re.I),
    re.compile(rf"{_END}(?P<little>a\s+(?:(?:tiny|little)\s+bit|bit|little|tad|touch|notch)|slightly)$", re.I),
    re.compile(rf"{_END}(?P<much>a\s+lot|much)$", re.I),
    re.compile(
        rf"{_END}(?:to|at|on)\s+(?:the\s+)?(?P<most>max(?:imum)?|full(?:\s+(?:volume|brightness|blast))?)$", re.I
    ),
    re.compile(rf"{_END}(?P<most>all\s+the\s+way\s+up)$", re.I),
    re.compile(rf"{_END}(?:to|at)\s+(?P<half>half(?:\s+(?:volume|brightness))?)$", re.I),
    re.compile(rf"{_END}{_WAY}$", re.I),
)
_NOT_A_NAME = re.compile(r"\d|\b(?:to|and|then|it|this|that|when|if|at|until|for)\b|[,;:?]", re.IGNORECASE)
_ARTICLE = re.compile(r"(?:the|my|our)\s+", re.IGNORECASE)
_LEVEL_WORD = re.compile(
    r"(?:\b(?:the\s+)?(?:volume|sound|loudness|brightness|temperature)(?:\s+(?:of|on|from))?\b)", re.I
)
_LONGEST_CHARS, _LONGEST_NAME = 120, 7


_ASKS = re.compile(r"(?:what|which|who|whose|where|when|why|how)\b", re.IGNORECASE)


def _thing_and_manner(rest: str) -> tuple[str, dict[str, str]]:
    """Return the thing that an order is about, with its room, and how it is to be changed."""
    found: dict[str, str] = {}
    while (shorter := _shortened(rest, found)) != rest:
        rest = shorter
    if "room" in found:
        rest = found["room"] if rest.lower() == "it" else f"{rest} {found['room']}".strip()
    return rest, found


def with_its_level(text: str) -> str:
    """Return the order with the number that it means; the text where it is no such order, or says a level itself."""
    rest = text.strip().rstrip(".!? ")
    if len(rest) > _LONGEST_CHARS or _ASKS.match(rest):
        return text
    rest, found = _thing_and_manner(rest)
    way = found.get("way", "").lower()
    named = next((quantity for quantity, words in _THINGS.items() if words & set(rest.lower().split())), None)
    quantity, direction = _WAYS.get(way, (None, ""))
    quantity = quantity or named
    is_named = not rest or named == quantity or (named is None and way in _WAYS and _WAYS[way][0] is not None)
    if any(word in _WAYS for word in rest.lower().split()):
        return text  # "volume louder softer" says two things
    rest = "" if rest.lower() in ("it", "everything", "things") and named is None else rest
    if quantity is None or not is_named or _NOT_A_NAME.search(rest) or len(rest.split()) > _LONGEST_NAME:
        return text
    level = _level(quantity, direction, found)
    return _said(quantity, rest, level) if level else text


def _shortened(rest: str, found: dict[str, str]) -> str:
    """Return the order without the first or last words that are no name, after noting what they say."""
    for form in (*_AT_END, *_AT_FRONT):
        match = form.search(rest) if form in _AT_END else form.match(rest)
        if match is None:
            continue
        new = {name: said for name, said in match.groupdict().items() if said}
        if new.keys() & found.keys():
            continue  # "volume louder softer" says two things
        found.update(new)
        return f"{rest[: match.start()]} {rest[match.end() :]}".strip(" ,")
    return rest


def _level(quantity: Quantity, direction: str, found: dict[str, str]) -> str:
    """Return "up by 10" or "to 100"; empty where nothing such is said."""
    if "most" in found or "half" in found:
        is_one = quantity != "temperature" and direction in ("", "up") and not {"by", "little", "much"} & found.keys()
        return ("to 100" if "most" in found else "to 50") if is_one else ""
    if direction not in ("up", "down"):
        return direction if not {"by", "little", "much"} & found.keys() else ""
    little, usual, much = _STEPS[quantity]
    by = little if "little" in found else much if "much" in found else usual
    if "couple" in found:
        return f"{direction} by 2" if quantity == "temperature" and not {"by", "little", "much"} & found.keys() else ""
    if "by" in found:
        said = tokens(found["by"])
        number = spoken_number(said, 0)
        if (
            number is None
            or number[1] != len(said)
            or found["unit"].startswith("degree") != (quantity == "temperature")
        ):
            return ""
        by = number[0]
    return f"{direction} by {by:g}"


def _said(quantity: Quantity, thing: str, level: str) -> str:
    """Return the order in the words of the shipped demonstrations."""
    named = " ".join(_LEVEL_WORD.sub(" ", thing).split())
    is_room = named.lower().startswith("in ")
    named = f"{_IN_A_ROOM[quantity]} {named}" if is_room else _ARTICLE.sub("", named, count=1)
    verb = "set" if level.startswith("to ") else "turn"
    if quantity == "temperature":
        return f"{verb} the {named or 'heating'} {level} {'degree' if level.endswith(' 1') else 'degrees'}"
    named = named or ("lights" if quantity == "brightness" else "")
    return f"{verb} the {quantity}{f' of the {named}' if named else ''} {level} percent"
