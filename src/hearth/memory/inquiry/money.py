"""Finds amounts of money in texts, and writes them.

Not covered: amounts in words, currencies without a sign below.
"""

from __future__ import annotations

from hearth import patterns as re

_CODES = "CHF|EUR|GBP|USD|CZK|NOK|SEK|DKK|PLN|CAD|AUD|NZD|JPY"
_MONEY = re.compile(
    rf"(?P<sign>[€£$]|{_CODES})\s?(?P<front>\d{{1,3}}(?:[ ,.’']\d{{3}})*(?:[.,]\d{{1,2}})?|\d+(?:[.,]\d{{1,2}})?)"
    r"(?![\d%])|(?P<back>\d{1,3}(?:[ ,.’']\d{3})*(?:[.,]\d{1,2})?|\d+(?:[.,]\d{1,2})?)\s?(?P<unit>€|£|Kč"
    rf"|{_CODES}|euros?|pounds?|dollars?|kroner|kr)(?!\w)"
)
_CURRENCIES = {"EUR": "€", "GBP": "£", "USD": "$"} | {"euro": "€", "pound": "£", "dollar": "$"}
_CURRENCIES |= {"kroner": "kr", "Kč": "CZK"}


MOST_DIGITS = 12
"""Most digits of an amount: a longer number is none."""
WHOLE = re.compile(r"\b(?:total|amount due|to pay|payable)\b", re.IGNORECASE)
"""Says that an amount is the whole of what is owed."""


def money_in(text: str) -> list[tuple[float, str, int]]:
    """Find amounts of money: value, currency, and where each begins."""
    found = []
    for match in _MONEY.finditer(text):
        if sum(map(str.isdigit, match.group())) > MOST_DIGITS:
            continue
        sign = match["sign"] or match["unit"]
        currency = _CURRENCIES.get(sign, _CURRENCIES.get(sign.casefold().removesuffix("s"), sign))
        found.append((_number(match["front"] or match["back"]), currency, match.start()))
    return found


def _number(text: str) -> float:
    """Read `1,234.50`, `1.234,50`, `1 234`, `12,40`: a last mark before one or two digits is the decimal one."""
    decimal = re.search(r"[.,](\d{1,2})\Z", text)
    whole = re.sub(r"\D", "", text[: decimal.start()] if decimal else text)
    return float(f"{whole}.{decimal[1]}" if decimal else whole)


def number_in(cell: str) -> float:
    """Return the number that a cell of a table holds, `1,234.50` or `1.234,50` or `12,40`; 0 without one."""
    digits = re.sub(r"[^\d.,-]", "", cell).strip(".,")
    is_decimal = re.search(r",\d{1,2}\Z", digits) is not None
    digits = digits.replace(".", "").replace(",", ".") if is_decimal else digits.replace(",", "")
    return float(digits) if digits.strip(".-") else 0.0


def number_text(value: float) -> str:
    """Write a number: `1,600`, `3.5`."""
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def money_text(value: float, currency: str) -> str:
    """Write an amount: `£187.50`."""
    return f"{currency}{value:,.2f}" if len(currency) == 1 else f"{value:,.2f} {currency}".strip()
