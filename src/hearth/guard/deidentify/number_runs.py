"""Classifies runs of digits: phones, cards, national numbers, coordinates, dates; not amounts, times and counts."""

# ruff: noqa: SIM905 - lists of words read best as words

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hearth import patterns as re
from hearth.guard.deidentify.names.cue_words import DATE, Cues
from hearth.guard.deidentify.phones import is_phone
from hearth.language.text.confusables import Words
from hearth.language.text.span import Found, n_digits
from hearth.language.values.online_ids import IPV4, is_address

_RUN = re.compile(
    r"\d+(?:[ .()/\-–\u2011\u00a0\u2009\u202f]{1,3}\d+)*(?:(?: ?(?:x|ext\.?|extension|durchwahl|app\.?) ?|x)\d{1,6})?",
    re.IGNORECASE,
)
_MONTH = (
    "jan(?:uar[yi]?|vier|uari)?|feb(?:ruar[yi]?|ruari)?|f[ée]vrier|enero|febrero|gennaio|febbraio|m[äa]r(?:ch|z|s|zo)?|maart|"
    "apr(?:il|ile)?|avril|abril|may|mai|mayo|maggio|mei|june?|juni|juin|junio|giugno|july?|juli|juillet|julio|luglio|"
    "aug(?:ust|ustus)?|ao[ûu]t|agosto|sept?(?:ember|embre|iembre)?|settembre|oct(?:ober|obre|ubre)?|okt(?:ober)?|ottobre|"
    "nov(?:ember|embre|iembre)?|dec(?:ember)?|dez(?:ember|embro)?|d[ée]cembre|diciembre|dicembre"
)
_ORDINAL = (
    "(?:twenty[- ]|thirty[- ])?(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)|tenth|eleventh|twelfth|"
    "thirteenth|fourteenth|fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|twentieth|thirtieth"
)
_WRITTEN_DATE = re.compile(
    rf"(?<![\w.])(?:(?:[0-2]?\d|3[01])(?:st|nd|rd|th|er|\.|º)?(?: of| de)? (?:{_MONTH})\.?(?:,? (?:de )?(?:1[89]|"
    rf"20)\d\d)?|(?:{_ORDINAL})(?: of)? (?:{_MONTH}),? (?:1[89]|20)\d\d|"
    rf"(?:{_MONTH})\.? (?:[0-2]?\d|3[01])(?:st|nd|rd|th)?(?:,? (?:1[89]|20)\d\d)?)(?![\w])",
    re.IGNORECASE,
)
_MONTH_STARTS = frozenset(
    "jan feb fev ene gen mar maa apr avr abr may mai mag mei jun jui giu jul lug aug aou ago sep set oct okt ott nov "
    "dec dez dic".split()
)
_DATE_LIKE = re.compile(r"\d[-/.]\d")
_YEAR = re.compile(r"\b(?:1[89]|20)\d\d(?![\w/-]|[.,]\d| \d)")
_DECIMALS = r"[-+]?\d{1,3}\.\d{3,15}"
_COORDINATES = re.compile(
    rf"(?<![\w.])(?:{_DECIMALS}°?[ ]?[NSns]?[,;]?[ ]{{0,2}}{_DECIMALS}°?[ ]?[EWOewo]?(?![\w.]\d)|"
    r"[-+]?\d{1,3}(?:\.\d+)?° ?(?:\d{1,2}(?:\.\d+)?['′’] ?)?(?:\d{1,2}(?:\.\d+)?(?:\"|″|''|”) ?)?[NSEWO](?:[,; ]{0,3}"
    r"[-+]?\d{1,3}(?:\.\d+)?° ?(?:\d{1,2}(?:\.\d+)?['′’] ?)?(?:\d{1,2}(?:\.\d+)?(?:\"|″|''|”) ?)?[NSEWO])?|"
    r"[23456789CFGHJMPQRVWX]{4,8}\+[23456789CFGHJMPQRVWX]{2,3}(?!\w))"
)
_LONG_RUN = re.compile(r"\d(?:[ \-.–\u00a0\u2011]?\d){11,22}")
_NATIONAL: tuple[re.Pattern[str], ...] = (
    re.compile(r"\d{3}[- ]\d\d[- ]\d{4}"),  # SSN
    re.compile(r"\d{3}\.\d{3}\.\d{3}-\d\d|\d\d\.\d{3}\.\d{3}/\d{4}-\d\d"),  # CPF, CNPJ
    re.compile(r"756\.\d{4}\.\d{4}\.\d\d"),  # AHV
    re.compile(r"\d\d\.\d\d\.\d\d-\d{3}\.\d\d"),  # Belgium
    re.compile(r"[2-9]\d{3} \d{4} \d{4}"),  # Aadhaar
    re.compile(r"\d{6}-[1-4]\d{6}"),  # Korea
    re.compile(r"(?:19|20)?\d\d[01]\d[0-3]\d[-+]\d{4}|[0-3]\d[01]\d{3}-\d{4}"),  # personnummer, CPR
    re.compile(r"[12] \d\d [01]\d \d[\dAB] \d{3} \d{3}(?: \d\d)?"),  # NIR
    re.compile(r"\d\d/\d{3}/\d{4,5}|\d{3}/\d{4}/\d{4}"),  # Steuernummer
)
_AMOUNT_BEFORE = re.compile(r"(?:[$€£¥₹]|\b(?:usd|eur|gbp|chf|rs\.?|inr|jpy)) ?\Z", re.IGNORECASE)
_AMOUNT_AFTER = re.compile(
    r"\s?(?:[$€£¥₹%°]|(?:usd|eur|euros?|dollars?|pounds?|chf|people|users|times|points|km|kg|mb|gb|ms|seconds?|"
    r"minutes?|hours?|"
    r"days?|weeks?|months?|years?|miles?|meters?|steps|pages?|words?|characters|rows|calories|views|items)\b)",
    re.IGNORECASE,
)
_GROUPED = re.compile(r"[1-9]\d{0,2}([ .\u00a0\u202f])\d{3}(?:\1\d{3})*\Z")
_NO_PHONE_BEFORE = re.compile(
    r"\b(?:order|invoice|tracking|ticket|booking|reservation|flight|isbn|issn|ean|doi|article|item|sku|version|"
    r"bestellung|"
    r"bestellnummer|rechnung|rechnungsnummer|sendungsnummer|commande|facture|pedido|factura|zip|zipcode|postcode|plz|"
    r"year|"
    r"page|room|case|ref|reference|id|amount|total|sum|chapter|section|line|port|build|error|part|model)\b"
    r"[ \w.#:-]{0,14}\Z",
    re.IGNORECASE,
)
_AFTER_PHONE = re.compile(
    r"[ ]?(?:is|ist|est|es) (?:my|the|our|his|her|meine|mon|mi) (?:\w{2,10} ){0,2}(?:number|phone|mobile|cell|nummer|"
    r"numéro|número)|"
    r"[ ]?[-–(\[ ]{0,2}(?:office|fax|mobile|mobil|home|work|cell|tel|phone|privat|desk|direct)\b",
    re.IGNORECASE,
)


_COUNTING = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_SPOKEN_WORDS = frozenset((*_COUNTING, "zero", "oh", "o", "nought", "double", "triple"))
_SPOKEN_LEAST = 7
"""Fewest digits in words that are a number of somebody's: fewer are counted."""
_SPOKEN_GAP = re.compile(r"[ ,.\-–]{1,3}")


def find_spoken(text: str, words: Words) -> Iterator[Found]:
    """Find telephone and card numbers that are spelled out: "oh one five one, two three four five"."""
    first = n = 0
    for place, word in enumerate(words.folded):
        if word not in _SPOKEN_WORDS:
            n = 0
            continue
        is_next = n and _SPOKEN_GAP.fullmatch(text, words.ends[place - 1], words.starts[place])
        first, n = (first, n + 1) if is_next else (place, 1)
        is_last = place + 1 == len(words.folded) or words.folded[place + 1] not in _SPOKEN_WORDS
        if is_last and n >= _SPOKEN_LEAST and tuple(words.folded[first : place + 1]) != _COUNTING[:n]:
            yield Found(words.starts[first], words.ends[place], "account")


def find_numbers(text: str, cues: Cues, country: str) -> Iterator[Found]:
    """Find the meaning of runs of digits: IP addresses, coordinates, phones, cards, national numbers."""
    certain = [
        *(Found(m.start(), m.end(), "ip") for m in _ipv4(text) if is_address(m[0].partition("/")[0])),
        *(Found(m.start(), m.end(), "coordinates") for m in _coordinates(text)),
    ]
    yield from certain
    blocked = sorted((found.start, found.end) for found in certain)
    place = 0
    for run in _RUN.finditer(text):
        start, end = _whole_run(text, run.start(), run.end())
        if end - start < 6:
            continue
        while place < len(blocked) and blocked[place][1] <= start:
            place += 1
        if place < len(blocked) and blocked[place][0] < end:
            continue
        for first, last in _without_dates(text, start, end):
            yield from _number(text, first, last, cues, country)


def _whole_run(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a run by a `+` or bracket before it; drop a first group of digits that belongs to a word or a decimal."""
    while start < end:
        first = start
        while first and start - first < 3 and text[first - 1] in "+( ":
            first -= 1
        while first < start and text[first] == " ":
            first += 1
        if text[first:start].strip("(") not in ("", "+", "+ "):
            first = start
        before = text[first - 1] if first else " "
        if not (before.isalnum() or before in "_@#") and not (
            before in ".,-" and first > 1 and text[first - 2].isdigit()
        ):
            return first, end
        while start < end and text[start].isdigit():
            start += 1
        while start < end and not text[start].isdigit():
            start += 1
    return end, end


def _coordinates(text: str) -> Iterable[re.Match[str]]:
    is_likely = "°" in text or ("+" in text and _PLUS_CODE.search(text)) or ("." in text and _DECIMAL.search(text))
    return _COORDINATES.finditer(text) if is_likely else ()


_PLUS_CODE, _DECIMAL = re.compile(r"\+[2-9CFGHJMPQRVWX]{2}"), re.compile(r"\d\.\d{3}")


def _ipv4(text: str) -> Iterable[re.Match[str]]:
    return IPV4.finditer(text) if text.count(".") > 2 else ()


def _without_dates(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The parts of a run between the dates in it."""
    parts, at = [], start
    for date in DATE.finditer(text, start, end):
        parts.append((at, date.start()))
        at = date.end()
    parts.append((at, end))
    return [part for part in (_trimmed(text, *part) for part in parts) if part[1] - part[0] >= 6]


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while end > start and not text[end - 1].isdigit():
        end -= 1
    while start < end and text[start] in " ./)-–\u00a0":
        start += 1
    return start, end


def _number(text: str, start: int, end: int, cues: Cues, country: str) -> Iterator[Found]:
    """Classify one run of digits: at most one number, or several when numbers stand side by side."""
    run = text[start:end]
    n = n_digits(run)
    cue = _cue_before(text, start, cues)
    is_international = run[0] == "+" or (run[:2] == "(+") or (run[:2] == "00" and n >= 10)
    if not is_international and (found := _by_form(text, start, end, cue)):
        yield from found
        return
    if n < 6 or n > 18 or _AMOUNT_BEFORE.search(text, max(0, start - 5), start) or _AMOUNT_AFTER.match(text, end):
        return
    if _is_counted(text, start, cue):
        return
    is_cued = cue in ("phone", "number") or _AFTER_PHONE.match(text, end) is not None or _is_alone(text, start, end, n)
    if is_cued and not is_international and _GROUPED.match(run) and cue not in ("phone", "number"):
        return
    if is_phone(run, country, is_cued=is_cued, is_international=is_international):
        yield Found(start, end, "phone")


def _by_form(text: str, start: int, end: int, cue: str) -> list[Found]:
    """National numbers and cards, as far as the form of a run tells them."""
    run = text[start:end]
    n = n_digits(run)
    if not (cue in ("phone", "number") and n in (10, 11)) and any(form.fullmatch(run) for form in _NATIONAL):
        return [Found(start, end, "national_id")]
    if n == 12 and (cue == "card" or (run.isdigit() and run[0] != "0" and not _is_counted(text, start, cue))):
        return [Found(start, end, "card")]
    long = [m for m in _LONG_RUN.finditer(run) if 13 <= n_digits(m[0]) <= 23] if n >= 13 else []
    return [Found(start + match.start(), start + match.end(), "card") for match in long]


def _is_counted(text: str, start: int, cue: str) -> bool:
    """Return whether a word before the number marks it as that of an order, a flight, a page."""
    before = text[max(0, start - 40) : start].rpartition("\n")[2] if cue != "phone" else ""
    return bool(before) and _NO_PHONE_BEFORE.search(before) is not None


def _is_alone(text: str, start: int, end: int, n: int) -> bool:
    """Return whether a number has a line of its own, as in the answer to a question."""
    if not 7 <= n <= 13:
        return False
    return _LINE_END.match(text, end) is not None and _LINE_START.search(text, max(0, start - 8), start) is not None


_LINE_START, _LINE_END = re.compile(r"(?:\A|\n)[ \t>]{0,6}\Z"), re.compile(r"[ \t.]{0,4}(?:\n|\Z)")


def _cue_before(text: str, start: int, cues: Cues) -> str:
    """The kind of the nearest cue word within 40 characters before, on this line or at the end of the line before."""
    low, high = 0, len(cues)
    while low < high:
        middle = (low + high) // 2
        if cues[middle][2] <= start:
            low = middle + 1
        else:
            high = middle
    weak = ""
    for kind, _, end in reversed(cues[max(0, low - 6) : low]):
        if start - end > 40:
            break
        between = text[end:start]
        if kind == "birth_date" or "\n" in between.strip(" \t:\n") or _ENDS.search(between):
            continue
        if kind != "number":
            return kind
        weak = "number"
    return weak


_ENDS = re.compile(r"[;!] |[.?] .{25}", re.DOTALL)


def find_dates(text: str, words: Words, cues: Cues) -> Iterator[Found]:
    """Find dates; birth dates if a cue stands within 40 characters before. A bare year counts after `in`, `since`, …"""
    births = [(end, start) for kind, start, end in cues if kind == "birth_date"]
    place = 0
    dates = list(DATE.finditer(text)) if _DATE_LIKE.search(text) else []
    if any(word[:3] in _MONTH_STARTS for word in words.folded):
        dates += _WRITTEN_DATE.finditer(text)
    for match in sorted(dates, key=re.Match.start):
        while place + 1 < len(births) and births[place + 1][0] <= match.start():
            place += 1
        is_birth = bool(births) and 0 <= match.start() - births[place][0] <= 40
        is_birth = is_birth and re.search(r"\d{4}|[/.-]\d\d\Z", match[0]) is not None
        yield Found(match.start(), match.end(), "birth_date" if is_birth else "date")
    for match in _YEAR.finditer(text):
        if match.start() == 0 or text[match.start() - 1] != " ":
            continue
        before = text[max(0, match.start() - 24) : match.start()]
        if births and re.search(
            r"\b(?:born|geboren|née?|nacid[oa]|nat[oa]|nascid[oa])(?: in| im| en| nel| em)? \Z", before, re.I
        ):
            yield Found(match.start(), match.end(), "birth_date")
        elif re.search(
            r"\b(?:in|during|since|until|from|to|of|year|seit|im|en|desde|nel|depuis) \Z", before, re.IGNORECASE
        ):
            yield Found(match.start(), match.end(), "date")
