"""Tells whether a run of digits is a phone number: by its form, by numbering plans, by the word before it.

Covered: international form with `+` or `00` for every country; national and local forms of the owner's country and its
neighbours (of common countries if the owner's is not known); any plausible form after a cue word.
Not covered: short codes (112, 22 33 44 without a cue).
"""

# ruff: noqa: SIM905 - lists of words read best as words

from __future__ import annotations

import functools

from hearth import patterns as re

_AROUND: dict[str, str] = {
    "DE": "AT CH NL BE LU FR DK PL CZ",
    "AT": "DE CH IT HU SI CZ SK LI",
    "CH": "DE AT FR IT LI",
    "FR": "BE CH DE ES IT LU MC GB",
    "BE": "NL FR DE LU",
    "NL": "BE DE",
    "LU": "BE DE FR",
    "GB": "IE FR",
    "IE": "GB",
    "ES": "PT FR",
    "PT": "ES",
    "IT": "CH FR AT SI",
    "US": "CA MX",
    "CA": "US",
    "MX": "US",
    "AU": "NZ",
    "NZ": "AU",
    "DK": "SE DE NO",
    "SE": "NO DK FI",
    "NO": "SE DK",
    "FI": "SE EE",
    "PL": "DE CZ SK",
    "CZ": "DE AT PL SK",
    "IN": "PK BD",
}
_COMMON = "US GB DE FR ES IT NL AT CH BE IE PT SE NO DK FI PL CZ HU AU NZ IN BR MX JP".split()
_NORTH_AMERICAN = re.compile(
    r"(?:(?:\+|00)?1[ .-]?)?(?:\([2-9]\d\d\) ?|[2-9]\d\d[ .-])\d{3}[ .-]\d{4}(?: ?(?:x|ext\.?) ?\d{1,6})?\Z", re.I
)
_DASHED = re.compile(r"(?:\d{2,4}-){2,4}\d{2,4}\Z|\d{3}-\d{4}\Z|\(\d{2,5}\)[ -]?\d{2,4}(?:[ -]\d{2,5}){1,3}\Z")
"""Groups separated by hyphens, or after a code in brackets."""
_EXTENSION = re.compile(r" ?(?:x|ext\.?|extension|durchwahl|app\.?) ?\d{1,6}\Z", re.I)
_GROUPED = re.compile(r"[1-9]\d{0,2}([ .\u00a0\u202f])\d{3}(?:\1\d{3})*\Z")


@functools.lru_cache(maxsize=4_000)
def is_phone(run: str, country: str, *, is_cued: bool, is_international: bool) -> bool:
    """Return whether a run of digits with its separators is a phone number.

    Args:
        country: The owner's country, ISO 3166; may be empty.
        is_cued: A word such as `call` or `Tel.` stands before it.
        is_international: The run begins with `+` or `00`.
    """
    bare = _EXTENSION.sub("", run)
    digits = re.sub(r"\D", "", bare)
    if is_international:
        return 7 <= len(digits) <= 17
    if is_cued:
        return 6 <= len(digits) <= 17
    if bare != run and len(digits) >= 6:
        return True
    if _NORTH_AMERICAN.match(run) or _DASHED.match(run):
        return True
    if not 7 <= len(digits) <= 14:
        return False
    if _GROUPED.match(run):  # 612 345 678 may also be an amount
        return country in _NO_TRUNK and len(digits) >= 9 and _is_valid(bare, country)
    has_trunk = digits[0] == "0" or bare[0] == "("
    n_groups = len(re.findall(r"\d+", bare))
    if not has_trunk and not (country in _NO_TRUNK and len(digits) >= 8) and not (n_groups >= 3 and len(digits) >= 9):
        return False
    regions = [country, *_AROUND.get(country, "").split()] if country else _COMMON
    return any(_is_valid(bare, region) for region in regions)


_NO_TRUNK = frozenset({"US", "CA", "NO", "DK", "ES", "PL", "CZ", "PT", "GR", "MX", "IN"})
"""Countries whose national numbers do not begin with 0."""


def _is_valid(run: str, region: str) -> bool:
    import phonenumbers  # 20 ms; most texts hold no phone number

    try:
        return bool(phonenumbers.is_valid_number(phonenumbers.parse(run, region)))
    except phonenumbers.NumberParseException:
        return False
