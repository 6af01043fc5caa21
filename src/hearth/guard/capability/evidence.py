"""Collects what tools returned during one request, as evidence for where a value may come from.

A record counts as the one the owner meant when the request names it (a title, a name, an address, an amount), when it
is the only result of a call whose arguments are the request's own words, when a superlative in the request picks it
from a list ("the largest file"), or when the request says all of them ("everyone in the channel"). When two records fit
equally well, neither counts.

What this request's own calls made or changed is evidence of nothing: a plan could write down what it then "finds".

Covered: every record that `guard.capability.record_extraction` finds in the results.
Not covered: prose (a body, a page, a file's text): no value in it is evidence for anything.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hearth import patterns as re
from hearth.guard.capability.record_extraction import DATE, Atom, Owner, Record, Result, flat
from hearth.guard.capability.request_words import (
    SaidTimes,
    addresses,
    all_numbers,
    amounts,
    content_words,
    days_said,
    folded,
    has_invisible,
    identity,
    is_in,
    stem,
    word_set,
    words,
)
from hearth.guard.flow.labels import Value
from hearth.types import Plain, Request, ToolSpec

_UNIVERSAL = word_set("each every all everyone everybody both them")
_LARGEST = word_set("largest biggest longest highest greatest most maximum max heaviest larger bigger higher")
_SMALLEST = word_set("smallest shortest lowest least fewest minimum min lightest smaller lower")
_LATEST = word_set("latest newest recent last")
_EARLIEST = word_set("earliest oldest first next")
_BEST = word_set("best top highest-rated")
_WORST = word_set("worst lowest-rated")
_DEAREST = word_set("priciest expensive")
_CHEAPEST = word_set("cheapest")
_SUPERLATIVES = _LARGEST | _SMALLEST | _LATEST | _EARLIEST | _BEST | _WORST | _DEAREST | _CHEAPEST
_SIZE_FIELDS = word_set("size size_bytes length amount count n duration number")
_PRICE_FIELDS = word_set("price price_min price_max price_per_day price_per_person amount cost fee")
_PAID_FIELDS = word_set("amount total")
_RATING_FIELDS = word_set("rating score stars")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_THAN = re.compile(r"\b\w+er\s+than\b")
"""A bound ("rated higher than 4") chooses nothing."""
_PAGES = frozenset(map(stem, word_set("link url website webpage page site article blog homepage")))
_GLUED = re.compile(r"(?<=[a-z0-9])\.(?=[A-Z][a-z]+ )")
"""A full stop with no space after it."""
_EACH_OF_OURS = re.compile(
    r"\b(?:each|every|all)\s+(?:\w+\s+){0,2}?(?:user|member|person|people|colleague|channel)s?\b|\bevery(?:one|body)\b"
)
_ONE_OF_OURS = re.compile(
    r"\b(?:a|an|the|which|what|whichever)\s+(?:\w+\s+){0,2}?(?:user|member|person|colleague|channel)\s+"
    r"(?:with|where|who|whose|that|which|having|in)\b|\b(?:which|what)\s+(?:user|member|person|channel)\b"
)
MAX_DEPTH = 3
"""Limit on following a call's arguments back through the calls that returned them."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One sentence of the request; each sentence may describe a record of its own."""

    text: str
    stems: frozenset[str]
    amounts: frozenset[float]
    days: frozenset[str]

    @classmethod
    def of(cls, text: str, today: dt.date) -> _Part:
        return cls(folded(text), content_words(text), frozenset(amounts(text)), days_said(text, today))

    def score(self, record: Record) -> float:
        """Score how much this sentence speaks of the record: shared words; whole names, addresses, amounts count
        more, words of its place less."""
        score = float(len(record.labels & self.stems)) + 0.5 * len(record.places & self.stems)
        if any(len(title) > 2 and is_in(title, self.text) for title in record.titles):
            score += 2
        if any(len(atom.value) > 4 and is_in(atom.value, self.text) for atom in record.atoms):
            score += 3
        if any(value in self.amounts and name in _PAID_FIELDS for name, value in record.measures.items()):
            score += 1.5
        if self.days and any(date[:10] in self.days for date in record.dates.values()):
            score += 1
        return score


_LONG_NUMBER = re.compile(r"(?<![\d+])\+?\d[\d ()./-]{5,24}\d(?!\d)")
"""A telephone number, an account or a reference, with the spaces and marks that people write into it."""


def _digits(text: str) -> str:
    """Return a long number without spaces and marks; empty for any other text."""
    return re.sub(r"[ ()./-]", "", text) if _LONG_NUMBER.fullmatch(text) else ""


class Evidence:
    """Everything returned so far, compared with the words of one request."""

    def __init__(self, request: Request, owner: Owner) -> None:
        self.owner = owner
        self._wished = folded(request.text)
        self.said = said = _GLUED.sub(". ", request.text)
        self.text = folded(said)
        self._addresses = addresses(said)
        self._numbers = frozenset(filter(None, map(_digits, _LONG_NUMBER.findall(self.text))))
        self.stems = content_words(said)
        self._parts = tuple(_Part.of(part, request.now.date()) for part in _SENTENCE.split(said) if part.strip())
        self.times = SaidTimes(said, request.now.date())
        self.figures = all_numbers(said)
        self.words = frozenset(words(_THAN.sub(" ", self.text)))
        self.amounts = frozenset(amounts(said))
        self.results: list[Result] = []
        """What was there before: results of calls that read."""
        self.made: list[Result] = []
        """What this request's own calls made or changed, also where it was read again: evidence of nothing."""
        self._best: dict[str, frozenset[tuple[str, str]]] = {}
        self._meant: dict[tuple[int, str, str], bool] = {}
        """Cache of `is_meant`, cleared when a result comes in."""

    def add(self, spec: ToolSpec, arguments: Mapping[str, Plain], result: Value, *, is_made: bool) -> None:
        """Add the result of a call; `is_made` if it is, or tells of, something that this request made or changed."""
        (self.made if is_made else self.results).append(Result(spec, arguments, result, self.owner))
        self._best.clear()
        self._meant.clear()

    # ── What the request says ─────────────────────────────────────────────────────────────────────────────

    def names(self, value: str) -> bool:
        """Return whether the request holds `value` itself."""
        low = folded(value).strip()
        if has_invisible(value) or not low:
            return False
        if low.isdigit() and len(low) < 5:
            return re.search(rf"(?:\bid|\bnumber|\bno\.?|#)\s*'?\"?{low}\b", self.text) is not None
        return is_in(low, self.text) or identity(value) in self._addresses or _digits(low) in self._numbers

    def says(self, text: str) -> bool:
        """Return whether every content word of `text` is in the request."""
        return not has_invisible(text) and content_words(text) <= self.stems

    # ── Which records are meant ───────────────────────────────────────────────────────────────────────────

    def holding(self, value: str, *, is_made: bool = False) -> Iterator[tuple[Result, Record, Atom]]:
        """Yield where a value stands in what was there before, or in what this request made."""
        for low in dict.fromkeys((identity(value), folded(value))):
            for result in self.made if is_made else self.results:
                for record, atom in result.holders.get(low, ()):
                    yield result, record, atom

    def is_meant(self, result: Result, record: Record) -> bool:
        """Return whether the owner means `record`."""
        key = (id(result), *record.key)
        known = self._meant.get(key)
        if known is None:
            known = self._meant[key] = self._is_meant(result, record)
        return known

    def _is_meant(self, result: Result, record: Record) -> bool:
        return (
            self._is_described(record)
            or (len(result.records) == 1 and (self._is_asked_by_name(result) or self._is_asked_for(result)))
            or self._is_extreme(result, record)
            or (bool(_UNIVERSAL & set(words(self._wished))) and self._is_asked_by_name(result))
        )

    def _is_asked_for(self, result: Result) -> bool:
        """Return whether the request speaks of a call that has no words of its own, as in "the next event"."""
        return not _said(result.arguments) and bool(content_words(result.spec.name.replace("_", " ")) & self.stems)

    def _is_asked_by_name(self, result: Result, depth: int = 0) -> bool:
        """Return whether a call's arguments are the request's own words or come from records the owner means."""
        given = _said(result.arguments)
        if not given:
            return False
        return all(self.names(a) or (content_words(a) and self.says(a)) or self._comes_from(a, depth) for a in given)

    def _comes_from(self, value: str, depth: int) -> bool:
        """Return whether a value was read before: in a record the owner means, or in a first-party field of one that a
        call in the request's own words returned."""
        return depth < MAX_DEPTH and any(
            self._is_described(record)
            or self._is_extreme(result, record, depth + 1)
            or (atom.is_trusted and self._is_asked_by_name(result, depth + 1))
            for result, record, atom in self.holding(value)
        )

    def _is_described(self, record: Record) -> bool:
        """Return whether some sentence speaks of this record more than of any other of its kind."""
        return record.key in self._described(record.kind)

    def _described(self, kind: str) -> frozenset[tuple[str, str]]:
        """Keys of the records of a kind that some sentence speaks of more than of any other record of that kind."""
        known = self._best.get(kind)
        if known is None:
            everyone = {r.key: r for result in self.results if result.kind == kind for r in result.records}
            found = set()
            for part in self._parts:
                scores = [(part.score(record), key) for key, record in everyone.items()]
                best = max(scores, default=(0.0, ("", "")))
                if best[0] > 0 and sum(score >= best[0] for score, _ in scores) == 1:
                    found.add(best[1])
            known = self._best[kind] = frozenset(found)
        return known

    def _is_extreme(self, result: Result, record: Record, depth: int = 0) -> bool:
        """Return whether a superlative in the request picks `record` of this list, asked for whole or by name."""
        said, others = self.words, result.records
        if len(others) < 2 or not said & _SUPERLATIVES:
            return False
        if _said(result.arguments) and not self._is_asked_by_name(result, depth):
            return False
        for wanted, sign, fields in (
            (_LARGEST, 1, _SIZE_FIELDS | _RATING_FIELDS | _PRICE_FIELDS),
            (_SMALLEST, -1, _SIZE_FIELDS | _RATING_FIELDS | _PRICE_FIELDS),
            (_BEST, 1, _RATING_FIELDS),
            (_WORST, -1, _RATING_FIELDS),
            (_DEAREST, 1, _PRICE_FIELDS),
            (_CHEAPEST, -1, _PRICE_FIELDS),
        ):
            if said & wanted:
                for name in record.measures.keys() & self._measured_by(wanted, fields):
                    measured = [sign * other.measures[name] for other in others if name in other.measures]
                    if measured.count(max(measured)) == 1 and sign * record.measures[name] == max(measured):
                        return True
        for wanted, is_last in ((_LATEST, True), (_EARLIEST, False)):
            if said & wanted:
                for name, date in record.dates.items():
                    dates = [other.dates[name] for other in others if name in other.dates]
                    best = max(dates) if is_last else min(dates)
                    if dates.count(best) == 1 and date == best:
                        return True
        return False

    def _measured_by(self, superlatives: frozenset[str], fields: frozenset[str]) -> frozenset[str]:
        """Keep those of `fields` named after a superlative ("the highest rating"), or all if none is named."""
        spoken = {
            name
            for said in re.finditer(r"[\w-]+", self.text)
            if said.group() in superlatives
            for name in fields
            if stem(name.partition("_")[0]) in content_words(self.text[said.end() : said.end() + 24])
        }
        return frozenset(spoken) or fields

    # ── Choices left to a search among the owner's own people and channels ────────────────────────────────

    def is_delegated(self, value: str) -> bool:
        """Return whether the request leaves the choice among the owner's own people or channels to a search that finds
        `value`: every one of them, the one with the most of something, the one where something was said."""
        low = folded(value)
        if not self._is_ours(low):
            return False
        if _EACH_OF_OURS.search(self._wished):
            return True
        if not _ONE_OF_OURS.search(self.text):
            return False
        if self.words & (_LARGEST | _SMALLEST):
            return self._is_extreme_count(low)
        return self._is_spoken_of_in(low)

    def _is_ours(self, low: str) -> bool:
        """Return whether a handle is in the owner's directory: known, or listed unchanged by a first-party tool."""
        listed = (atom for result, _, atom in self.holding(low) if not result.spec.fields)
        return low in self.owner.contacts or any(atom.kind == "Handle" and atom.is_trusted for atom in listed)

    def _is_extreme_count(self, low: str) -> bool:
        """Return whether no other handle had more (or fewer) results under the same tool, or wrote more records."""
        sign = 1 if self.words & _LARGEST else -1
        counts: dict[str, Counter[str]] = {"": Counter()}
        for result in self.results:
            given = _strings(result.arguments)
            if len(given) == 1:
                counts.setdefault(result.spec.name, Counter())[folded(given[0])] = len(result.records)
            authors = [atom.value for record in result.records for atom in record.atoms if atom.is_author]
            counts[""].update(authors)
        return any(
            low in by_name and len(by_name) > 1 and sign * by_name[low] == max(sign * n for n in by_name.values())
            for by_name in counts.values()
        )

    def _is_spoken_of_in(self, low: str) -> bool:
        """Return whether what was read under this name holds at least two of the request's words."""
        return any(
            len(content_words(str(text)) & self.stems) > 1
            for result in self.results
            if low in map(folded, _strings(result.arguments))
            for text in result.texts
        )

    def is_link_posted(self, bare: str) -> bool:
        """Return whether the request speaks of pages or links, and somebody known put this one, whole, into a message
        that the owner means. Opening it tells others nothing that was read for this request: it was there before."""
        low = folded(bare)
        if not self.stems & _PAGES or has_invisible(bare):
            return False
        return any(
            any(is_in(low, folded(text)) for text in record.prose)
            and any(atom.is_author and self.owner.knows(atom.value) for atom in record.atoms)
            and self.is_meant(result, record)
            for result in self.results
            for record in result.records
        )


def _said(arguments: Mapping[str, Plain]) -> list[str]:
    """The words in a call's arguments, without times, numbers and switches."""
    return [text for text in _strings(arguments) if text.strip() and not DATE.match(text)]


def _strings(arguments: Mapping[str, Plain]) -> list[str]:
    return [item for value in arguments.values() for item in flat(value) if isinstance(item, str)]
