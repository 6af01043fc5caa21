"""Check digits of cards, accounts and national numbers, by python-stdnum and the registry of IBANs that it carries.

It is loaded when the first number is checked (8 ms): most texts hold none. Its errors do not leave this module: what it
cannot read has no right check digit.
"""

from __future__ import annotations

import functools
import re


def is_luhn(digits: str) -> bool:
    """Check the digits in a text, of any script, as a card's (ISO/IEC 7812-1, annex B)."""
    from stdnum import luhn

    return luhn.is_valid(_plain(digits))


def luhn_digit(bare: str) -> str:
    """Return the check digit to append to a card's digits."""
    from stdnum import luhn

    return luhn.calc_check_digit(bare)


def is_iban(compact: str) -> bool:
    """Check letters and digits as those of an IBAN, whatever country and length it has (ISO 7064, mod 97-10)."""
    from stdnum.iso7064 import mod_97_10

    return mod_97_10.is_valid(compact[4:] + compact[:4])


def iban_digits(country: str, rest: str) -> str:
    """Return the two check digits that stand between an IBAN's country and the rest of it."""
    from stdnum.iso7064 import mod_97_10

    return mod_97_10.calc_check_digits(rest + country)


@functools.cache
def iban_length(country: str) -> int:
    """Return how long the IBANs of a country are; 0 where it has none."""
    from stdnum import numdb

    parts = [n for _, said in numdb.get("iban").info(country) for n in re.findall(r"(\d+)!", said.get("bban", ""))]
    return 4 + sum(map(int, parts)) if parts else 0


def is_spanish(number: str, letter: str) -> bool:
    """Check the letter of a DNI (eight digits) or NIE (`X`, `Y` or `Z` and seven)."""
    from stdnum.es import dni, nie

    check = dni.calc_check_digit if number.isdecimal() else nie.calc_check_digit
    try:
        return check(number) == letter
    except (ValueError, LookupError):  # stdnum's own errors are ValueErrors
        return False


def _plain(digits: str) -> str:
    return "".join(str(int(digit)) for digit in digits if digit.isdecimal())
