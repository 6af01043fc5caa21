"""Compares what several people ask for one thing: "who's cheaper for the window, and by how much".

Each passage near the matter is asked for its price; those of different senders or titles are the offers. Both are told,
with how far they are apart, and with doubt: an offer may hold more than the other.

Covered: two or more offers that each stand in a record of its own, one price each, or as the items of one list
("- Brophy Steel: 1,485"); offers named in the question; the cheaper, the dearer, how far apart. Not covered: several
offers in the sentences of one record (a table is asked by its program), bills and receipts, which are what was paid,
and whether offers hold the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hearth import patterns as re
from hearth.language.tokens import word_set
from hearth.memory.inquiry.answer_reading import Reading, asks_yes_or_no, covered, money_in, money_text
from hearth.memory.inquiry.answer_telling import told_at
from hearth.memory.search.search_words import keys_of, telling_words
from hearth.protocols import HomeAnswer
from hearth.tools.memory import DOUBTED

_DEARER = re.compile(r"\b(?:dear(?:er|est)|priciest|more expensive|most expensive|higher|highest)\b", re.IGNORECASE)
_COMPARES = re.compile(
    r"\b(?:cheap(?:er|est)|dear(?:er|est)|pric(?:ier|iest)|(?:more|less|most|least) expensive"
    r"|(?:low|high)(?:er|est) (?:price|quote|quotation|offer|bid|estimate)"
    r"|(?:difference|gap) (?:between|in|of) .*\b(?:quot\w+|prices?|offers?|bids?|estimates?)"
    r"|(?:quot(?:e|ation)s?|offers?|bids?|estimates?)\b.*\b(?:(?:low|high)(?:er|est)|differ|apart)"
    r"|apart (?:are|were) .*\b(?:quot\w+|prices?|offers?|bids?|estimates?)"
    r"|sav(?:e|ing)\b.*\b(?:instead of|rather than|over|compared))\b",
    re.IGNORECASE,
)
_OF_PAYING = re.compile(
    r"\b(?:bills?|invoices?|receipts?|orders?|spen[dt]|paid|bought|than (?:last|before|usual|it)"
    r"|(?:has|have|did|does|is|are) .*\b(?:got|get|getting|become|gone|going|grown))\b",
    re.IGNORECASE,
)
"""Asks of what was paid, or of one thing at two times."""
_COMPARING = word_set(
    """cheaper cheapest dearer dearest pricier priciest expensive less more most least lower lowest higher highest
    price prices quote quotes quotation quotations offer offers bid bids estimate estimates difference gap between much
    far save saving instead rather compared apart differ two both other one ones gave give gives asked ask asks asking
    take takes go goes people guy guys firm firms company companies cost costs come comes would got get"""
)
_PLAIN = re.compile(
    r"(?<![\d.,:/-])\d{1,3}(?:,\d{3})+(?:\.\d\d)?|(?<![\d.,:/-])\d{1,6}(?:\.\d\d)?(?![\d.,:/-]\d|[-/:%])"
)
_ITEM = re.compile(r"^[ \t]*[-*•·][ \t]+(?P<by>[^\n:\d]{2,60}):[ \t]*(?P<said>[^\n]+)$", re.MULTILINE)
"""An item of a list that says somebody's price."""
_WRITTEN = frozenset({"mail", "document", "note"})
_LEAST_COVERED, _LEAST_CHANCE = 0.5, 0.01
_FEWEST, _MOST_OFFERS = 2, 6


@dataclass(frozen=True, slots=True)
class Offer:
    """What somebody asks for the matter."""

    by: str
    value: float
    currency: str
    reading: Reading


def compares_prices(question: str) -> bool:
    """Return whether a question asks which of several offers is cheaper or dearer, or how far they are apart."""
    return _COMPARES.search(question) is not None and _OF_PAYING.search(question) is None


def compared_answer(question: str, read: Callable[[str], Sequence[Reading]]) -> HomeAnswer | None:
    """Compare the offers for what a question names; None where none are compared, or fewer than two are found.

    Args:
        read: Reads the passages that speak of a question, the likeliest answer first.
    """
    if not compares_prices(question):
        return None
    matter = " ".join(word for word in telling_words(question) if word not in _COMPARING)
    offers = _offers(matter, read(f"how much does {matter} cost")) if matter else []
    named = [one for one in offers if _place(one, question) >= 0]
    if asks_yes_or_no(question) and len(named) < _FEWEST:
        return None  # of those who are asked about, one made no offer
    offers = sorted(named if len(named) > 1 else offers, key=lambda one: one.value)
    if not _FEWEST <= len(offers) <= _MOST_OFFERS or len({one.currency for one in offers}) > 1:
        return None
    first, other = (offers[-1], offers[-2]) if _DEARER.search(question) else offers[:2]
    if first.value == other.value:
        return None
    how = "more" if first.value > other.value else "less"
    told, beside, apart = (
        money_text(value, first.currency) for value in (first.value, other.value, abs(first.value - other.value))
    )
    value = f"{first.by} ({told}), {apart} {how} than {other.by} ({beside})"
    if asks_yes_or_no(question) and len(named) > 1:
        asked_first = min(named, key=lambda one: _place(one, question))
        value = f"{'Yes' if asked_first is first else 'No'}: {value}"
    chance = min(DOUBTED, max(one.reading.chance for one in (first, other)))
    return HomeAnswer("text", value, "", tuple(told_at(one.reading) for one in (first, other)), round(chance, 4))


def _offers(matter: str, readings: Sequence[Reading]) -> list[Offer]:
    """Return the offers of different records, or where those are too few, those of one list."""
    found = _of_records(matter, readings)
    if len(found) >= _FEWEST:
        return found
    return next((listed for one in readings if len(listed := _listed(matter, one)) >= _FEWEST), found)


def _of_records(matter: str, readings: Sequence[Reading]) -> list[Offer]:
    """Return one offer of each sender or title that the matter names, or that speaks of as much of the thing itself as
    any; the reader finds the price of the first alone likely, as of two such mails it was taught one."""
    found: dict[str, Offer] = {}
    written = [one for one in readings if one.candidate.passage.kind in _WRITTEN]
    names = keys_of(" ".join(one.candidate.passage.person for one in written))
    of_thing = [word for word in telling_words(matter) if not keys_of(word) <= names]
    thing = " ".join(of_thing) or ("" if len(telling_words(matter)) > 1 else matter)
    priced = [
        (one, price) for one in written if one.chance >= _LEAST_CHANCE and (price := _price(one.text)) is not None
    ]
    most = max((covered(thing, one.candidate.passage.read) for one, _ in priced), default=0.0)
    for one, price in priced:
        passage = one.candidate.passage
        by = passage.person or passage.title
        is_of_thing = thing and covered(thing, passage.read) >= max(_LEAST_COVERED, most)
        if by and by not in found and (is_of_thing or (not thing and keys_of(by) & keys_of(matter))):
            found[by] = Offer(by, *price, one)
    return list(found.values())


def _listed(matter: str, one: Reading) -> list[Offer]:
    """Return the offers that are the items of a list in a passage which speaks of the matter."""
    passage = one.candidate.passage
    if passage.kind not in _WRITTEN or covered(matter, passage.read) < _LEAST_COVERED:
        return []
    first = len(passage.read) - len(passage.text)
    found = []
    for item in _ITEM.finditer(passage.text):
        if (price := _price(item["said"].partition(". ")[0])) is not None:
            reading = replace(one, text=item.group().strip(), start=first + item.start())
            found.append(Offer(item["by"].strip(), *price, reading))
    return found


def _price(words: str) -> tuple[float, str] | None:
    """Return the only amount in words: of money, else a bare number."""
    stated = [(value, currency) for value, currency, _ in money_in(words)]
    plain = [(float(one.replace(",", "")), "") for one in _PLAIN.findall(words)] if not stated else []
    return (stated or plain)[0] if len(stated or plain) == 1 else None


def _place(one: Offer, question: str) -> int:
    """Return where a question names who makes an offer, wholly or by the first name; -1 where it does not."""
    first = one.by.partition(" ")[0]
    whole = re.search(rf"(?<!\w){re.escape(one.by)}(?!\w)", question, re.IGNORECASE)
    called = re.search(rf"(?<!\w){re.escape(first)}(?!\w)", question) if len(first) > 1 else None
    return next((match.start() for match in (whole, called) if match is not None), -1)
