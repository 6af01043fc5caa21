"""Finds phone numbers, e-mail and web addresses, file names and quoted text in a request.

Each finder returns its slots in order and takes time linear in the length of the text: runs of characters are cut at
white space first, and only short ones are looked at closely. Whether a file, an address or a number exists is not
checked.
"""

from __future__ import annotations

from hearth import patterns as re
from hearth.language.text.tokens import Slot, listed, slot_at
from hearth.language.values.check_digits import is_luhn
from hearth.language.values.contact_ids import unpunctuated
from hearth.types import Plain

# ── Quoted text ───────────────────────────────────────────────────────────────────────────────────────────

_QUOTED = re.compile(
    r'"([^"\n]{1,2000})"|“([^”“\n]{1,2000})[”“]|„([^„“”\n]{1,2000})[“”]|«([^«»\n]{1,2000})»'
    r"|(?<![\w'])'(?=\S)([^'\n]{1,300}(?:'\w[^'\n]{0,300}){0,4})(?<=\S)'(?!\w)|‘([^‘’\n]{1,300}(?:’\w[^‘’\n]{0,300}){0,4})’(?!\w)"
)


def find_quoted(text: str) -> list[Slot]:
    """Find text in straight or curly quotation marks; `text` is what stands between them.

    When it is only an address or a file name, it is left to those finders.
    """
    slots = []
    for match in _QUOTED.finditer(text):
        inner = match[match.lastindex or 0]
        if not inner.strip():
            continue
        slots.append(slot_at("quoted", text, match.start(), match.end(), {"text": inner.strip()}))
        if _FILE_NAME.fullmatch(inner.strip()):
            start = match.start() + match[0].index(inner.strip())
            slots[-1] = slot_at("file", text, start, start + len(inner.strip()), _file_views(inner.strip()))
        elif _EMAIL.fullmatch(inner.strip()) or _URL.fullmatch(inner.strip()):
            slots.pop()
    return slots


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
_NAMED = re.compile(r"\b(?:called|named)\s+(?P<name>(?:[\w()'’-]+ ){1,5})\Z")
"""Words of a file's name before its last one: "a file called tyre prices.txt"."""
_LONGEST_NAME = 120
_FOLDER = re.compile(r"(?:[\w-]+/){1,30}")
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
    """Find e-mail addresses, web addresses and files, each cut from a run of characters without white space."""
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
                named = (
                    _NAMED.search(text, max(0, start - _LONGEST_NAME), start) if kind == "file" and not offset else None
                )
                if named is not None and "/" not in str(views["path"]):
                    slots.append(
                        slot_at(
                            "file",
                            text,
                            named.start("name"),
                            start + last,
                            _file_views(text[named.start("name") : start + last]),
                        )
                    )
                    continue
                slots.append(slot_at(kind, text, start + offset + first, start + offset + last, views))
    return slots


def _pieces(run: str) -> list[tuple[int, str]]:
    """Cut a run at commas and semicolons, unless it is one web address."""
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
        end = url.start() + len(unpunctuated(url[0]))
        return "url", url.start(), end, {"url": piece[url.start() : end]}
    first = len(piece) - len(piece.lstrip("([{'‘`*"))
    body = unpunctuated(piece[first:])
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
    if _FOLDER.fullmatch(body) is not None:
        return "file", first, first + len(body), _file_views(body)
    if body[0] in "~./" or body[1:3] == ":\\":
        path = _PATH.fullmatch(body)
        if path is not None and sum(c.isalnum() for c in body) > 1:
            return "file", first, first + len(body), _file_views(body)
    return None


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
    """Find phone numbers as E.164 (`phone`); as their digits alone when the country is unknown.

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
        rest, _, last = text[start:end].rpartition(" ")
        if number is None and rest and len(last) <= 2:  # "call 555-0199 2 times"
            end = start + len(rest.rstrip(" -–"))
            number = _phone(text, start, end, country)
        if number is not None:
            slots.append(slot_at("phone", text, start, end, {"phone": number}))
    return slots


def _phone(text: str, start: int, end: int, country: str) -> str | None:
    written = text[start:end]
    digits = "".join(c for c in written if c.isdecimal())
    if not 6 <= len(digits) <= 15 or _DATE_SHAPE.fullmatch(written):
        return None
    has_plus = written.lstrip("(").startswith("+")
    is_announced = has_plus or _PHONE_WORDS.search(text[max(0, start - 60) : start]) is not None
    if not (is_announced or digits[0] == "0" or (country.upper() in _TEN_DIGITS and len(digits) == 10)):
        return None
    if not has_plus and len(digits) >= 13 and is_luhn(digits):
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
