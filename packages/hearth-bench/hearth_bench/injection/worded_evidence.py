"""Compares a call's values with what the owner's words say and with prose that they mean: where there is no plan.

Covered: names, items, venues, figures and texts. Not covered: what the core's evidence covers already.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hearth.guard.policy.request_words import (
    CALENDAR_WORDS,
    Owner,
    Result,
    SaidTimes,
    all_numbers,
    clocks_said,
    days_said,
    digits_of,
    folded,
    is_in,
    stem,
)
from hearth.guard.policy.warrant import Evidence
from hearth.types import Request

_AT_A_PLACE = re.compile(r"\b(?:at|in)\s+(?:the\s+)?([A-Z]\w+)")
"""A place that the request names: "at the Bootshaus"."""
MIN_COPIED_CHARS = 12
"""Shorter pieces of prose may match by chance."""
_TIMES = re.compile(
    r"\b\d{4}-\d{2}-\d{2}(?:[t ]\d{2}:\d{2}(?::\d{2})?)?\S*|\b\d{1,2}[:.]\d{2}(?:\s*[ap]\.?m\b|\s*uhr\b)"
)
_CLOCKS = re.compile(r"\b\d{1,2}:\d{2}(?::\d{2})?\b|\b\d{1,2}\.\d{1,2}\.(?:\d{4})?(?!\d)")
_MONEY = re.compile(
    r"(?:[$€£]\s?(\d[\d.,]*))|(?:(\d[\d.,]*)\s?(?:[$€£]|(?:euros?|eur|dollars?|usd|pounds?|gbp|chf)\b))"
)
_NUMBER = re.compile(r"(?<![\w])\d[\d.,]*(?:[ /-]\d[\d.,]*)*")
_YEAR = re.compile(r"^(?:19|20)\d\d$")


def figures(text: str) -> list[str]:
    """Find the figures of a text, as their digits with a dot before decimals: amounts of money, numbers of three digits
    or with decimals, telephone numbers. Days, clock times, years and short counts are none."""
    bare = _CLOCKS.sub(" ", _TIMES.sub(" ", folded(text)))
    found = [digits_of(a or b) for a, b in _MONEY.findall(bare)]
    for number in _NUMBER.findall(_MONEY.sub(" ", bare)):
        digits = digits_of(number)
        if not _YEAR.match(digits) and ("." in digits or len(digits) > 2):
            found.append(digits)
    return found


def contradicts(times: SaidTimes, text: str) -> bool:
    """Return whether a text names days or clock times and none of them is one the request names."""
    clocks = clocks_said(folded(text))
    if times.clocks and clocks and not clocks & times.clocks:
        return True
    days = days_said(text, times.today)
    return bool(times.days and days and not days & times.days)


class WordedEvidence(Evidence):
    """Evidence for values that no plan vouches for."""

    def __init__(self, request: Request, owner: Owner, wishes: Sequence[str]) -> None:
        """Take a request; `wishes` are the parts of it that ask for deeds, and only there do "each" and "all" count."""
        super().__init__(request, owner)
        self._wished = folded(" ".join(wishes) or request.text)
        self._is_place_said = any(word.lower() not in CALENDAR_WORDS for word in _AT_A_PLACE.findall(self.said))

    def numbers_of(self, *, is_outgoing: bool) -> frozenset[str]:
        """Collect the numbers in the results of first-party tools and in the files that are meant; for a text that is
        not outgoing, in all records the owner means."""
        return frozenset(
            number
            for result in self.results
            if result.is_first_party or ((result.is_of_own_disk or not is_outgoing) and self._is_any_meant(result))
            for text in result.texts
            for number in all_numbers(str(text))
        )

    def is_in_own_prose(self, low: str) -> bool:
        """Return whether a text is in any field of a first-party record the owner means."""
        return any(
            result.is_first_party and any(low in folded(str(text)) for text in result.texts)
            for result in self.results
            if self._is_any_meant(result)
        )

    def is_told_of(self, low: str) -> bool:
        """Return whether a text stands in the prose of a record that the owner means, whoever wrote it, or of those
        that a call in the request's own words found; where the request names a place itself, not of these."""
        return any(
            any(is_in(low, folded(text)) for text in record.prose)
            and (self.is_meant(result, record) or (not self._is_place_said and self._is_asked_by_name(result)))
            for result in self.results
            for record in result.records
        )

    def is_whole_prose(self, text: str) -> bool:
        """Return whether a text is the whole of a piece of prose in a record the owner means."""
        low = folded(text).strip()
        return any(low in _folded_prose(result) and self._is_any_meant(result) for result in self.results)

    def copied_from_elsewhere(self, text: str) -> bool:
        """Return whether a text holds a whole piece of prose from results in which the owner means no record."""
        low = folded(text)
        return any(
            any(len(piece) >= MIN_COPIED_CHARS and piece in low for piece in _folded_prose(result))
            and not self._is_any_meant(result)
            for result in self.results
        )

    def _is_any_meant(self, result: Result) -> bool:
        return any(self.is_meant(result, record) for record in result.records)

    def labels(self) -> frozenset[str]:
        """Stems of the words in names of records that the owner means and that no stranger made."""
        return frozenset(
            stem(word)
            for result in self.results
            for record in result.records
            if record.labels and not record.is_incoming and self.is_meant(result, record)
            for word in record.labels
        )


def _folded_prose(result: Result) -> tuple[str, ...]:
    return tuple(folded(piece).strip() for piece in result.prose)
