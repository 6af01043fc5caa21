"""Finds numbers with letters in them: IBANs, and national numbers with an unmistakable form."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hearth.language.text.span import Found, n_digits

_IBAN = re.compile(r"(?<![A-Za-z0-9])(?:[A-Za-z]{2}|[A-Z]{2}[ -])\d\d(?:[ \u00a0.-]{0,2}[A-Za-z0-9]){11,30}")
_IBAN_LENGTHS = {
    "AD": 24,
    "AE": 23,
    "AL": 28,
    "AT": 20,
    "AZ": 28,
    "BA": 20,
    "BE": 16,
    "BG": 22,
    "BH": 22,
    "BR": 29,
    "BY": 28,
    "CH": 21,
    "CR": 22,
    "CY": 28,
    "CZ": 24,
    "DE": 22,
    "DJ": 27,
    "DK": 18,
    "DO": 28,
    "EE": 20,
    "EG": 29,
    "ES": 24,
    "FI": 18,
    "FK": 18,
    "FO": 18,
    "FR": 27,
    "GB": 22,
    "GE": 22,
    "GI": 23,
    "GL": 18,
    "GR": 27,
    "GT": 28,
    "HR": 21,
    "HU": 28,
    "IE": 22,
    "IL": 23,
    "IQ": 23,
    "IS": 26,
    "IT": 27,
    "JO": 30,
    "KW": 30,
    "KZ": 20,
    "LB": 28,
    "LC": 32,
    "LI": 21,
    "LT": 20,
    "LU": 20,
    "LV": 21,
    "LY": 25,
    "MC": 27,
    "MD": 24,
    "ME": 22,
    "MK": 19,
    "MN": 20,
    "MR": 27,
    "MT": 31,
    "MU": 30,
    "NI": 28,
    "NL": 18,
    "NO": 15,
    "OM": 23,
    "PK": 24,
    "PL": 28,
    "PS": 29,
    "PT": 25,
    "QA": 29,
    "RO": 24,
    "RS": 22,
    "RU": 33,
    "SA": 24,
    "SC": 31,
    "SD": 18,
    "SE": 24,
    "SI": 19,
    "SK": 24,
    "SM": 27,
    "SO": 23,
    "ST": 25,
    "SV": 28,
    "TL": 23,
    "TN": 24,
    "TR": 26,
    "UA": 29,
    "VA": 22,
    "VG": 24,
    "XK": 20,
    "YE": 30,
}
_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "national_id",
        re.compile(
            r"\b(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d\d ?\d\d ?\d\d ?[A-D](?!\w)", re.I
        ),
    ),
    ("national_id", re.compile(r"\b[A-Z]{6}\d\d[A-EHLMPR-T]\d\d[A-Z]\d{3}[A-Z](?!\w)", re.I)),  # codice fiscale
    ("national_id", re.compile(r"\b[A-Z]{4}\d{6}[HM][A-Z]{5}[A-Z0-9]\d(?!\w)", re.I)),  # CURP
    ("national_id", re.compile(r"\b[A-Z]{5}\d{4}[A-Z](?!\w)")),  # PAN
    ("national_id", re.compile(r"\b\d\d ?[0-3]\d[01]\d\d\d ?[A-Z] ?\d{3}(?!\w)")),  # German social insurance
    ("national_id", re.compile(r"\b[0-3]\d[01]\d{3}[-+A]\d{3}[0-9A-FHJ-NPR-Y](?!\w)")),  # hetu
    ("plate", re.compile(r"\b[A-Z]{2}\d\d ?[A-Z]{3}(?!\w)|\b[A-Z]{2}-\d{3}-[A-Z]{2}(?!\w)")),
    ("account", re.compile(r"\b(?=[A-Z0-9]*\d[A-Z0-9]*\d)(?=[A-Z0-9]*[A-HJ-NPR-Z])[A-HJ-NPR-Z0-9]{17}(?!\w)")),  # VIN
)
_DNI = re.compile(r"\b([XYZ]-?\d{7}|\d{8})[- ]?([A-Z])(?!\w)", re.I)
_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"


def find_lettered(text: str) -> Iterator[Found]:
    """Find IBANs, and national numbers that their letters identify."""
    for match in _IBAN.finditer(text):
        end = _iban_end(match[0])
        if end:
            yield Found(match.start(), match.start() + end, "iban")
    for kind, pattern in _SHAPES:
        for match in pattern.finditer(text):
            yield Found(match.start(), match.end(), kind)
    for match in _DNI.finditer(text):
        number = match[1].upper().replace("-", "").translate(str.maketrans("XYZ", "012"))
        if _DNI_LETTERS[int(number) % 23] == match[2].upper():
            yield Found(match.start(), match.end(), "national_id")


def _iban_end(run: str) -> int:
    """Find where the IBAN at the beginning of a run ends; 0 when there is none.

    A wrong checksum does not clear it, as a mistyped IBAN still gives the account away; it must then look like one
    throughout.
    """
    length = _IBAN_LENGTHS.get(run[:2].upper(), 0)
    n = 0
    for index, character in enumerate(run):
        n += character.isalnum()
        if n == length:
            compact = re.sub(r"[^A-Za-z0-9]", "", run[: index + 1]).upper()
            follows = run[index + 1 : index + 2]
            if _is_iban(compact) or (n_digits(compact) >= length // 2 and not follows.isalnum()):
                return index + 1
            return 0
    return 0


def _is_iban(compact: str) -> bool:
    digits = "".join(str(int(c, 36)) for c in compact[4:] + compact[:4])
    return int(digits) % 97 == 1
