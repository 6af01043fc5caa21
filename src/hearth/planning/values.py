"""Finds numbers, quantities, sums, phone numbers, e-mail and web addresses, file names and quoted text in a request.

Each finder returns its slots in order and takes time linear in the length of the text: runs of characters are cut at
white space first, and only short ones are looked at closely. Whether a file, an address or a number exists is not
checked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hearth.planning.text import NUMBER_WORDS, Slot, Token, listed, spoken_number
from hearth.planning.time_words import UNITS
from hearth.planning.unit_words import CURRENCY_SIGNS, LONG_UNITS, TOUCHING_UNITS, UNIT_WORDS
from hearth.types import Plain

# ── Quoted text ───────────────────────────────────────────────────────────────────────────────────────────

_QUOTED = re.compile(
    r'"([^"\n]{1,2000})"|“([^”“\n]{1,2000})[”“]|„([^„“”\n]{1,2000})[“”]|«([^«»\n]{1,2000})»'
    r"|(?<![\w'])'(?=\S)([^'\n]{1,300}(?:'\w[^'\n]{0,300}){0,4})(?<=\S)'(?!\w)|‘([^‘’\n]{1,300}(?:’\w[^‘’\n]{0,300}){0,4})’(?!\w)"
)


def find_quoted(text: str) -> list[Slot]:
    """Text in straight or curly quotation marks; `text` is what stands between them.

    When that is just an address or a file name it is left to those.
    """
    slots = []
    for match in _QUOTED.finditer(text):
        inner = match[match.lastindex or 0]
        if not inner.strip():
            continue
        slots.append(_slot("quoted", text, match.start(), match.end(), {"text": inner.strip()}))
        if _FILE_NAME.fullmatch(inner.strip()):
            start = match.start() + match[0].index(inner.strip())
            slots[-1] = _slot("file", text, start, start + len(inner.strip()), _file_views(inner.strip()))
        elif _EMAIL.fullmatch(inner.strip()) or _URL.fullmatch(inner.strip()):
            slots.pop()
    return slots


def _slot(kind: str, text: str, start: int, end: int, views: dict[str, Plain]) -> Slot:
    return Slot(kind, start, end, text[start:end], views, "", start)


# ── Addresses and files ───────────────────────────────────────────────────────────────────────────────────

_EXTENSIONS = listed(
    "pdf txt md rtf doc docx odt pages xls xlsx ods csv tsv numbers ppt pptx odp key html htm xml json "
    "jsonl yaml yml toml ini cfg conf log tex bib epub ics vcf eml mbox msg jpg jpeg png gif bmp tif tiff "
    "heic webp svg raw psd mp3 wav flac ogg m4a aac opus mp4 mkv avi mov webm wmv m4v mpg mpeg zip tar gz "
    "tgz bz2 xz 7z rar iso dmg exe deb rpm apk py js ts java c cpp h rs go rb sh bat ps1 sql db sqlite "
    "ipynb css scss onnx safetensors parquet npy pem crt bak tmp"
)
_EXTENSION = "(?:" + "|".join(sorted(_EXTENSIONS, key=len, reverse=True)) + ")"
_FILE_NAME = re.compile(rf"[^\\/:*?\"<>|\n]{{0,120}}[\w)\]-]\.{_EXTENSION}", re.IGNORECASE)
_FILE = re.compile(rf"(?:[\w.~+@-]+/){{0,30}}[\w][\w.+@()-]*\.{_EXTENSION}(?!\w)", re.IGNORECASE)
_PATH = re.compile(r"(?:~|\.{1,2})?/(?:[\w.~+@%-]+/)*[\w.~+@%-]*|[A-Za-z]:\\[^\s\"<>|?*]+")
_EMAIL = re.compile(
    r"[A-Za-z0-9](?:[\w.+-]{0,62}[\w+-])?@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}"
)
_URL = re.compile(r"(?:https?|ftp)://[^\s<>\"“”]{1,2000}", re.IGNORECASE)
_DOMAIN = re.compile(
    r"(?:www\.[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,6}\.[a-z]{2,24}"
    r"|[a-z0-9](?:[a-z0-9-]{0,62})(?:\.[a-z0-9-]{1,63}){0,6}\."
    r"(?:com|org|net|de|io|eu|uk|fr|nl|es|ch|info|dev|app|edu|gov|ca|pl|se|dk|jp|au|nz|ie|biz|cloud|page|wiki))"
    r"(?::\d{2,5})?(?:[/?#][^\s<>\"“”]{0,1000})?",
    re.IGNORECASE,
)
_CHUNK = re.compile(r"[^\s\"“”„«»<>]+")
_LONGEST_CHUNK = 2048


def find_addresses(text: str) -> list[Slot]:
    """E-mail addresses, web addresses and files, each cut from a run of characters without white space."""
    slots = []
    for chunk in _CHUNK.finditer(text):
        run = chunk[0]
        if len(run) > _LONGEST_CHUNK or not ("." in run or "/" in run or "@" in run or "\\" in run):
            continue
        start = chunk.start()
        for offset, piece in _pieces(run):
            found = _address(piece)
            if found is not None:
                kind, first, last, views = found
                slots.append(_slot(kind, text, start + offset + first, start + offset + last, views))
    return slots


def _pieces(run: str) -> list[tuple[int, str]]:
    """The run without its brackets, and cut at commas and semicolons unless it is one web address."""
    if "://" in run:
        return [(0, run)]
    pieces, place = [], 0
    for piece in re.split(r"([,;|])", run):
        if piece not in ("", ",", ";", "|"):
            pieces.append((place, piece))
        place += len(piece)
    return pieces


def _address(piece: str) -> tuple[str, int, int, dict[str, Plain]] | None:
    url = _URL.search(piece)
    if url is not None:
        end = url.start() + len(_unpunctuated(url[0]))
        return "url", url.start(), end, {"url": piece[url.start() : end]}
    first = len(piece) - len(piece.lstrip("([{'‘`*"))
    body = _unpunctuated(piece[first:])
    if not body:
        return None
    if "@" in body:
        email = _EMAIL.search(body[:400])
        if email is not None and (email.end() == len(body) or body[email.end()] not in "@.-_"):
            return "email", first + email.start(), first + email.end(), {"email": email[0]}
    file = _FILE.fullmatch(body)
    if file is not None:
        return "file", first, first + len(body), _file_views(body)
    domain = _DOMAIN.fullmatch(body)
    if domain is not None:
        return "url", first, first + len(body), {"url": f"https://{body}"}
    if body[0] in "~./" or body[1:3] == ":\\":
        path = _PATH.fullmatch(body)
        if path is not None and sum(c.isalnum() for c in body) > 1:
            return "file", first, first + len(body), _file_views(body)
    return None


def _unpunctuated(run: str) -> str:
    """Without the punctuation of the sentence at its end; a closing bracket stays when its opening one is inside."""
    while run:
        last = run[-1]
        if last in ".,;:!?'’*`…" or (last in ")]}" and run.count(last) > run.count("([{"[")]}".index(last)])):
            run = run[:-1]
        elif run.endswith(("'s", "’s")):
            run = run[:-2]
        else:
            break
    return run


def _file_views(path: str) -> dict[str, Plain]:
    return {"path": path, "name": path.replace("\\", "/").rstrip("/").rpartition("/")[2]}


# ── Phone numbers ─────────────────────────────────────────────────────────────────────────────────────────

_DIGIT_RUN = re.compile(r"(?<![\w.,:@#$€£/-])(?:\+|\(\+?)?\d(?:[\d()./ \u00a0\u2011–-]*\d)?")
_PHONE_WORDS = re.compile(
    r"\b(?:call|phone|number|dial|text|sms|tel|telephone|mobile|cell|fax|ring|whatsapp|landline)\b\W*(?:\w+\W+){0,4}$",
    re.IGNORECASE,
)
_DATE_SHAPE = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}-\d\d-\d\d|\d+\.\d+")
_TEN_DIGITS = frozenset({"US", "CA"})


def find_phones(text: str, country: str) -> list[Slot]:
    """Phone numbers as E.164 (`phone`); as their digits alone when the country is unknown.

    A run of digits is taken whole or not at all: no part of a card number, an IBAN or a longer run is a phone number.
    """
    slots = []
    for match in _DIGIT_RUN.finditer(text):
        start, end = match.span()
        if end - start < 6 or end - start > 40:
            continue
        if end < len(text) and (text[end].isalnum() or text[end] in "_:@%€"):
            end = start + len(text[start:end].rpartition(" ")[0].rstrip())
        number = _phone(text, start, end, country)
        if number is None and " " in text[start:end]:
            end = start + len(text[start:end].rpartition(" ")[0].rstrip(" -–"))
            number = _phone(text, start, end, country) if _n_digits(match[0]) <= 15 else None
        if number is not None:
            slots.append(_slot("phone", text, start, end, {"phone": number}))
    return slots


def _n_digits(run: str) -> int:
    return sum(c.isdigit() for c in run)


def _phone(text: str, start: int, end: int, country: str) -> str | None:
    written = text[start:end]
    digits = "".join(c for c in written if c.isdigit())
    if not 6 <= len(digits) <= 15 or _DATE_SHAPE.fullmatch(written):
        return None
    has_plus = written.lstrip("(").startswith("+")
    is_announced = has_plus or _PHONE_WORDS.search(text[max(0, start - 60) : start]) is not None
    if not (is_announced or digits[0] == "0" or (country.upper() in _TEN_DIGITS and len(digits) == 10)):
        return None
    if not has_plus and len(digits) >= 13 and _is_luhn(digits):
        return None
    return _e164(written, digits, country.upper(), has_plus, is_announced)


def _e164(written: str, digits: str, country: str, has_plus: bool, is_announced: bool) -> str | None:
    import phonenumbers  # 40 ms; most requests hold no phone number

    if not has_plus and not country:
        return digits if is_announced or len(digits) >= 8 else None
    try:
        number = phonenumbers.parse(written, country or None)
    except phonenumbers.NumberParseException:
        return digits if is_announced and not has_plus else None
    if phonenumbers.is_valid_number(number):
        return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    if phonenumbers.is_possible_number_with_reason(number) == phonenumbers.ValidationResult.IS_POSSIBLE:
        if is_announced or digits[0] == "0":
            return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
        return None
    return digits if is_announced and not has_plus else None


def _is_luhn(digits: str) -> bool:
    total = 0
    for index, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + index % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


# ── Numbers, quantities, sums ─────────────────────────────────────────────────────────────────────────────

_OPERATORS = {
    "+": "+", "*": "*", "×": "*", "x": "*", "/": "/", "÷": "/", "^": "^", "-": "-", "−": "-", "plus": "+", "minus": "-",
    "times": "*",
}  # fmt: skip
_LONG_OPERATORS = {("divided", "by"): "/", ("multiplied", "by"): "*", ("to", "the", "power", "of"): "^"}
_FUNCTIONS = frozenset({"sqrt", "sin", "cos", "tan", "log", "ln", "exp", "abs"})
_SUM_WORDS = re.compile(
    r"\b(?:calculate|compute|what(?:'s|’s| is)|how much|work out|solve|evaluate|add up)\b", re.IGNORECASE
)


def find_numbers(text: str, said: Sequence[Token]) -> list[Slot]:
    """Numbers, quantities (a number with a unit), units asked for, and sums ("15% of 80", "3 * 4.5")."""
    slots: list[Slot] = []
    index = 0
    asks_for_sum = _SUM_WORDS.search(text[:4000]) is not None
    has_measure = False
    while index < len(said):
        token = said[index]
        if token.kind == "word" and token.low not in NUMBER_WORDS and token.low not in ("a", "half", "square"):
            if token.low in _FUNCTIONS or token.low in UNIT_WORDS or token.low in UNITS:
                found = _sum(text, said, index, asks_for_sum) or _asked_unit(text, said, index, has_measure)
                if found is not None:
                    slots.append(found[0])
                    index = found[1]
                    continue
            index += 1
            continue
        found = _sum(text, said, index, asks_for_sum) or _measure(text, said, index)
        if found is None:
            index += 1
            continue
        slots.append(found[0])
        has_measure = True
        index = max(found[1], index + 1)
    return slots


def _measure(text: str, said: Sequence[Token], index: int) -> tuple[Slot, int] | None:
    sign = CURRENCY_SIGNS.get(said[index].low)
    first = index
    if sign and index + 1 < len(said):
        index += 1
    read = _number(text, said, index)
    if read is None:
        return None
    value, place, start = read
    if sign:
        if start - said[first].end > 1:
            return None
        scale = {"k": 1e3, "m": 1e6, "bn": 1e9}.get(_touching(said, place), 1.0)
        place += scale != 1.0
        return _quantity(text, said[first].start, said[place - 1].end, value * scale, sign), place
    end = said[place - 1].end
    word = said[place].low if place < len(said) else ""
    if word == "%" or word == "percent" or [t.low for t in said[place : place + 2]] == ["per", "cent"]:
        after = place + (2 if word == "per" else 1)
        views = _number_views(value) | {"unit": "percent", "fraction": value / 100}
        return _slot("number", text, start, said[after - 1].end, views), after
    if word in UNITS and word not in ("s", "m", "h", "d"):
        return _slot("number", text, start, end, _number_views(value)), place
    unit = _unit_at(said, place)
    if unit is not None:
        name, after = unit
        if name == "CENT":
            name, value = "USD", value / 100
        return _quantity(text, start, said[after - 1].end, value, name), after
    if _touching(said, place) == "k" and said[index].kind == "number":
        return _slot("number", text, start, said[place].end, _number_views(value * 1000)), place + 1
    if said[index].kind == "word" and said[index].low == "one" and place == index + 1:
        return None  # "this one", "the first one"
    if said[index].kind == "day_month" or (_touching(said, place) and said[index].kind == "number"):
        return None  # 3rd, 5x, 3/4 without a unit
    return _slot("number", text, start, end, _number_views(value)), place


def _quantity(text: str, start: int, end: int, value: float, unit: str) -> Slot:
    return _slot("quantity", text, start, end, _number_views(value) | {"unit": unit})


def _number_views(value: float) -> dict[str, Plain]:
    if value.is_integer() and abs(value) < 1e15:
        return {"number": int(value), "integer": int(value)}
    return {"number": value}


def _touching(said: Sequence[Token], place: int) -> str:
    """The word that stands right behind the token before it, or empty."""
    if place < len(said) and said[place].start == said[place - 1].end and said[place].kind == "word":
        return said[place].low
    return ""


def _unit_at(said: Sequence[Token], place: int) -> tuple[str, int] | None:
    words = tuple(token.low for token in said[place : place + 3])
    if words[:1] == ("-",) and len(words) > 1 and said[place].end == said[place + 1].start:
        place, words = place + 1, tuple(token.low for token in said[place + 1 : place + 4])
    for n_words in (3, 2):
        if words[:n_words] in LONG_UNITS:
            return LONG_UNITS[words[:n_words]], place + n_words
    if not words:
        return None
    if words[0] in UNIT_WORDS:
        return UNIT_WORDS[words[0]], place + 1
    if words[0] in TOUCHING_UNITS and place and said[place].start == said[place - 1].end:
        return TOUCHING_UNITS[words[0]], place + 1
    return None


def _number(text: str, said: Sequence[Token], index: int) -> tuple[float, int, int] | None:
    """Value, index after it and first character of the number at a token; not of one that is part of a name."""
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
    value, place = read
    if token.kind != "number":
        if [t.low for t in said[place : place + 3]] == ["and", "a", "half"]:
            return value + 0.5, place + 3, start
        return value, place, start
    before = text[start - 1] if start else " "
    end = said[place - 1].end
    if before.isalnum() or before in "_#@\\:" or (before in "./-" and start > 1 and text[start - 2].isalnum()):
        return None
    if before in "-−" and (start < 2 or text[start - 2] in " ("):
        value, start = -value, start - 1
    tail = text[end : end + 4]
    if place == index + 1 and re.match(r",\d{1,2}(?![\d,])", tail) and "." not in token.low and index + 2 < len(said):
        return value + (-1 if value < 0 else 1) * float(f"0.{said[index + 2].low}"), index + 3, start
    if re.match(r"[.,:/]\d", tail) and not tail.startswith(","):
        return None
    return value, place, start


def _asked_unit(text: str, said: Sequence[Token], index: int, has_measure: bool) -> tuple[Slot, int] | None:
    """The unit wanted: "5 miles in kilometres", "how many cups are in …"."""
    before = [token.low for token in said[max(0, index - 2) : index]]
    is_asked = before == ["how", "many"] or (has_measure and before[-1:] in (["in"], ["to"], ["into"], ["as"]))
    if not is_asked:
        return None
    unit = _unit_at(said, index)
    if unit is None and said[index].low in UNITS and said[index].low.endswith("s"):
        unit = UNITS[said[index].low][0], index + 1
    if unit is None:
        return None
    return _slot("unit", text, said[index].start, said[unit[1] - 1].end, {"unit": unit[0]}), unit[1]


def _sum(text: str, said: Sequence[Token], index: int, asks_for_sum: bool) -> tuple[Slot, int] | None:
    """A sum of at least two numbers, or a function of one; `expression` has signs for the words."""
    if said[index].low == "square":
        return _square_root(text, said, index)
    parts: list[str] = []
    place, n_numbers, has_sign, depth = index, 0, False, 0
    last = index  # after the last number or closing bracket
    n_parts = 0
    while place < len(said) and place - index < 60:
        token = said[place]
        wants_number = not parts or parts[-1] in "+-*/^(" or parts[-1] == "% of" or parts[-1] in _FUNCTIONS
        if wants_number:
            read = _operand(text, said, place, parts)
            if read is None:
                break
            depth += parts[-1] == "("
            n_numbers += parts[-1][-1:].isdigit()
            place = read
            if parts[-1][-1:].isdigit() and depth == 0:
                last, n_parts = place, len(parts)
            continue
        if token.low == ")" and depth:
            depth, place = depth - 1, place + 1
            parts.append(")")
            if depth == 0:
                last, n_parts = place, len(parts)
            continue
        operator = _operator(text, said, place)
        if operator is None:
            break
        sign, place = operator
        has_sign = has_sign or sign not in "-/"
        parts.append(sign)
    parts = parts[:n_parts]
    is_function = bool(parts) and parts[0] in _FUNCTIONS and n_numbers >= 1
    if not is_function and (n_numbers < 2 or len(parts) < 3 or not (has_sign or asks_for_sum)):
        return None
    start = said[index].start
    expression = " ".join(parts).replace("( ", "(").replace(" )", ")").replace(" %", "%")
    for name in _FUNCTIONS:
        expression = expression.replace(f"{name} (", f"{name}(")
    return _slot("expression", text, start, said[last - 1].end, {"expression": expression}), last


def _square_root(text: str, said: Sequence[Token], index: int) -> tuple[Slot, int] | None:
    if [t.low for t in said[index + 1 : index + 3]] != ["root", "of"]:
        return None
    read = spoken_number(said, index + 3)
    if read is None:
        return None
    views: dict[str, Plain] = {"expression": f"sqrt({_plain_number(read[0])})"}
    return _slot("expression", text, said[index].start, said[read[1] - 1].end, views), read[1]


def _operand(text: str, said: Sequence[Token], place: int, parts: list[str]) -> int | None:
    """Adds a number, an opening bracket or a function to `parts`; the index after it."""
    token = said[place]
    if token.low == "(" or token.low in _FUNCTIONS:
        if token.low in _FUNCTIONS and [t.low for t in said[place + 1 : place + 2]] != ["("]:
            return None
        parts.append(token.low)
        return place + 1
    if token.low in CURRENCY_SIGNS:
        place += 1
    if place < len(said) and said[place].kind == "day_month" and "/" in said[place].low:
        parts.append(said[place].low)
        return place + 1
    read = spoken_number(said, place)
    if read is None or (said[place].kind == "number" and said[place].start and text[said[place].start - 1].isalnum()):
        return None
    if _touching(said, read[1]) and _touching(said, read[1]) != "x":
        return None
    parts.append(_plain_number(read[0]))
    return read[1]


def _plain_number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _operator(text: str, said: Sequence[Token], place: int) -> tuple[str, int] | None:
    words = [token.low for token in said[place : place + 4]]
    if words[:2] in (["%", "of"], ["percent", "of"]):
        return "% of", place + 2
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
