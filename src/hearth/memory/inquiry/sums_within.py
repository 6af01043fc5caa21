"""Adds up the amounts of one sentence, or of the lines of one list: "the valve £48 and the call-out £60", "24 x £31".

A clause with one amount is an item; "24 mugs at £31 each" is a number of times a price. Where the text says the sum
itself, or words of a clause say that it is not to be added ("or", "instead of", "of which"), nothing is added.

Not covered: discounts, amounts of different currencies, amounts in words, prices for a time.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from hearth import patterns as re
from hearth.language.tokens import listed
from hearth.memory.inquiry.answer_reading import Reading, least_chance, money_in, money_text, number_text
from hearth.memory.inquiry.answer_telling import sentence_of, told_at
from hearth.memory.search.passage_store import SENTENCE, unwrapped
from hearth.memory.search.search_words import keys_of
from hearth.protocols import HomeAnswer
from hearth.tools.memory import DOUBTED

_CLAUSE = re.compile(r"(?:(?!,\s|;|\s(?:and|plus|with|&|\+)\s|\.\s|\n).)+")
_COUNTS = {word: n for n, word in enumerate(listed("two three four five six seven eight nine ten eleven twelve"), 2)}
_N = rf"(?P<n>\d{{1,4}}|{'|'.join(_COUNTS)})"
_TIMES = re.compile(rf"\b{_N}(?P<things>(?: [^\W\d_][\w-]*){{0,4}}?) ?(?P<by>at|for|[x×*@])(?: just| only)? ?\Z", re.I)
"""Stands before a price: "24 mugs at", "24 x"."""
_SEVERAL = re.compile(r"[^\W\d_]s\b(?<!ss)|\b(?:people|children|men|women)\b", re.I)
_LABEL = re.compile(
    r"(?i:\b(?:room|cabin|flight|bus|train|platform|pitch|plot|bay|berth|unit|flat|house|table|seat|row|lot|item|line"
    r"|route|gate|page|size|part|model|type|grade|year|class|group|number|no\.?))\W*\Z|\S [A-Z][\w-]+ \Z"
)
"""Stands before a number that is a name and no count: "room 12", "on Bus 42"."""
_PENCE = re.compile(r"\d ?p\b|\bpence\b", re.I)
_TIMES_BEHIND = re.compile(r"\A[\d.,]* ?[x×*] ?(?P<n>\d{1,4})\b", re.I)
_EACH = re.compile(r"\b(?:each|apiece|a ?piece)\b", re.I)
_RATE = re.compile(
    r"(?:\b(?:per|a|an|every)|/) ?(?:day|night|week|month|year|hour|head|person|kg|kilo|lesson|session|visit|time"
    r"|mile)\b"
    r"|\b(?:daily|nightly|weekly|monthly|hourly|yearly)\b",
    re.I,
)
_NOT_ADDED = re.compile(
    r"\b(?:or|either|instead|rather than|less|minus|off|discount\w*|refund\w*|credit\w*|already|rest|remaining"
    r"|remainder|balance|deposit|voucher|half|between|up to|at least|at most|unless|if|before|after|until|would have"
    r"|of which|including|includes|incl|vat|tax|excess|save|saved|used to|not|(?<!same as )last (?:year|month|time))\b"
    r"|n['’]t\b|%"
    r"|\bfrom [€£$]|[€£$]\d[\d.,]* ?[-–] ?[€£$]?\d",
    re.I,
)
"""Says that amounts are no parts of one sum."""
_CHANGES_HANDS = re.compile(
    r"\b(?:ow(?:e|es|ed|ing)|paid|spent|raised|sold|earned|received|lent|borrowed|gave)\b", re.I
)
_STATES_PRICE = re.compile(r"\b(?:is|are|was|were|costs?|comes? to|came to)\b|['’](?:s|re)\b", re.I)
_SUM_STATED = re.compile(
    r"\b(?:total\w*|altogether|in all|all in|all told|makes?|making|sum|amount due|to pay|payable|overall)\b|=", re.I
)
_SUM_ASKED = re.compile(
    r"\b(?:altogether|all together|in total|total|in all|all in|all told|overall|comes? to|add(?:s|ed)? up|combined"
    r"|(?:the )?whole (?:bill|lot|thing)|put together|taken together)\b",
    re.I,
)
_BESIDE_ASKED = re.compile(r"\b(?:with|including|plus|and|incl)\b", re.I)
_MOST_LINES = 30
_SHORTEST = 3
"""Letters of the shortest word that stands for a longer one."""


@dataclass(frozen=True, slots=True)
class Item:
    """An amount with the clause that states it."""

    clause: str
    n: int
    price: float
    currency: str

    @property
    def value(self) -> float:
        """What it comes to."""
        return self.n * self.price

    @property
    def said(self) -> str:
        """How it is reckoned: `24 × £31.00`."""
        price = money_text(self.price, self.currency)
        return f"{number_text(self.n)} × {price}" if self.n > 1 else price


def items_of(text: str) -> tuple[Item, ...]:
    """Return the amounts of a text that may be added; none where one of them may not."""
    items = []
    for found in _CLAUSE.finditer(text):
        clause = " ".join(found.group().split())
        amounts = money_in(clause)
        if _PENCE.search(clause):
            return ()
        if not amounts:
            continue
        item = _item(clause, amounts[0]) if len(amounts) == 1 else None
        if item is None:
            return ()
        items.append(item)
    is_one_sum = len({item.currency for item in items}) == 1 and not _NOT_ADDED.search(text) and _is_one_way(text)
    return tuple(items) if is_one_sum and not _SUM_STATED.search(text) else ()


def _is_one_way(text: str) -> bool:
    """Return whether all amounts of a text go the same way: of "raised £400 and spent £150" they do not, and of "£420,
    £120 of it paid" one is a part of the other."""
    ways = [found.start() for found in _CHANGES_HANDS.finditer(text)]
    first = min((place for _, _, place in money_in(text)), default=0)
    return not ways or (len(ways) == 1 and ways[0] < first and not _STATES_PRICE.search(text))


def _item(clause: str, amount: tuple[float, str, int]) -> Item | None:
    """Return the item of a clause with one amount; None where it is a price of something whose number is not said."""
    price, currency, place = amount
    before, behind = clause[:place], clause[place:]
    if _RATE.search(behind):
        return None
    is_each = _EACH.search(clause) is not None
    once = None if is_each else Item(clause, 1, price, currency)
    times = _TIMES.search(before)
    counted = times or _TIMES_BEHIND.search(re.sub(r"\A\D+", "", behind))
    by, things = (times["by"].casefold(), times["things"]) if times is not None else ("", "")
    if times is not None and _LABEL.search(before[: times.start()]):
        return once if by in ("at", "for") and not things else None
    if counted is None or (by == "for" and not is_each):
        return once
    n = _COUNTS.get(counted["n"].casefold()) or int(counted["n"])
    # "12 June at £80" is no twelve of anything.
    is_count = n == 1 or is_each or by != "at" or _SEVERAL.search(things)
    return Item(clause, n, price, currency) if is_count else None


def meant_of(items: Sequence[Item], words: str) -> tuple[Item, ...]:
    """Return the items whose clauses say what only some of them do of words: those that are meant; else all."""
    asked = keys_of(words)
    said = [keys_of(item.clause) for item in items]
    # "Cert" is the certificate, and "to fit" the fitting, where no clause says the word itself.
    unsaid = asked.difference(*said)
    named = tuple(item for item, keys in zip(items, said, strict=True) if asked & keys or _shortens(keys, unsaid))
    return named or tuple(items)


def _shortens(keys: Set[str], words: Set[str]) -> bool:
    """Return whether one of some keys is the beginning of a word."""
    return any(len(key) >= _SHORTEST and word.startswith(key) for key in keys for word in words)


def sum_answer(question: str, readings: Sequence[Reading]) -> HomeAnswer | None:
    """Return the sum of what the likeliest passage states item by item; None where none is asked for, or none is made.

    Nothing is added of what is only quoted.
    """
    is_sum_asked = _SUM_ASKED.search(question) is not None
    if not is_sum_asked and not _BESIDE_ASKED.search(question):
        return None
    for one in (one for one in readings if one.chance >= least_chance() and _is_amount(one.text)):
        texts = (sentence_of(one), _lines_about(one), *((_sentences_about(one),) if is_sum_asked else ()))
        for text in texts:
            items = items_of(text)
            meant = meant_of(items, question)
            if not _is_sum(meant) or (not is_sum_asked and len(meant) < 2):  # "and" may join other things
                continue
            if not is_sum_asked and not all(keys_of(question) & keys_of(item.clause) for item in meant):
                continue
            total = money_text(sum(item.value for item in meant), meant[0].currency)
            value = f"{total} ({' + '.join(item.said for item in meant)})"
            chance = min(one.chance, DOUBTED) if one.is_strangers else one.chance
            return HomeAnswer("amount", value, "", (told_at(one),), chance)
    return None


def _is_amount(text: str) -> bool:
    return bool(money_in(text)) and not text.startswith("“")


def _is_sum(items: Sequence[Item]) -> bool:
    return len(items) > 1 or any(item.n > 1 for item in items)


def _lines_about(one: Reading) -> str:
    """Return the lines with amounts around the one that a reading stands in; empty where the passage says a sum."""
    text = unwrapped(one.candidate.passage.read)
    lines = text.split("\n")
    at = text.count("\n", 0, one.start)
    if any(_SUM_STATED.search(line) and money_in(line) for line in lines):
        return ""
    first = last = at
    while first > 0 and at - first < _MOST_LINES and money_in(lines[first - 1]):
        first -= 1
    while last + 1 < len(lines) and last - at < _MOST_LINES and money_in(lines[last + 1]):
        last += 1
    return "\n".join(lines[first : last + 1]) if last > first else ""


def _sentences_about(one: Reading) -> str:
    """Return the sentences with amounts around the one that a reading stands in; empty where the passage says a sum."""
    text = unwrapped(one.candidate.passage.read)
    found = list(SENTENCE.finditer(text))
    said = [item.group() for item in found]
    if any(_SUM_STATED.search(sentence) and money_in(sentence) for sentence in said):
        return ""
    first = last = next((k for k, item in enumerate(found) if item.start() <= one.start < item.end()), 0)
    while first > 0 and money_in(said[first - 1]):
        first -= 1
    while last + 1 < len(said) and last - first < _MOST_LINES and money_in(said[last + 1]):
        last += 1
    return "\n".join(said[first : last + 1]) if last > first else ""
