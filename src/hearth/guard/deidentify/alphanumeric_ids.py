"""Finds numbers with letters in them: IBANs, and national numbers with an unmistakable form."""

from __future__ import annotations

from collections.abc import Iterator

from hearth import patterns as re
from hearth.language.text.span import Found, n_digits
from hearth.language.values.check_digits import iban_length, is_iban, is_spanish

_IBAN = re.compile(r"(?<![A-Za-z0-9])(?:[A-Za-z]{2}|[A-Z]{2}[ -])\d\d(?:[ \u00a0.-]{0,2}[A-Za-z0-9]){11,30}")
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
        if is_spanish(match[1].upper().replace("-", ""), match[2].upper()):
            yield Found(match.start(), match.end(), "national_id")


def _iban_end(run: str) -> int:
    """Find where the IBAN at the beginning of a run ends; 0 when there is none.

    A wrong checksum does not clear it, as a mistyped IBAN still gives the account away; it must then look like one
    throughout.
    """
    length = iban_length(run[:2].upper())
    n = 0
    for index, character in enumerate(run):
        n += character.isalnum()
        if n == length:
            compact = re.sub(r"[^A-Za-z0-9]", "", run[: index + 1]).upper()
            follows = run[index + 1 : index + 2]
            looks_right = n_digits(compact) >= length // 2 and not follows.isalnum()
            return index + 1 if looks_right or is_iban(compact) else 0
    return 0
