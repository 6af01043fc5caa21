"""What tools returned during one request, as evidence for where a value may come from.

A record counts as the one the owner meant when the request names it (a title, a name, an address, an amount), when it
is the only result of a call whose arguments are the request's own words, when the request says which of a list by a
superlative ("the largest file"), or when it says all of them ("everyone in the channel"). Two records that fit equally
well fit neither.

A field is first party when its label says so (`Value.field_label`) and its record was not made by a
stranger: a record with a sender, owner or organiser who is neither the owner nor vouched for by the contact book is an
incoming one, and everything in it is what the stranger chose.

Covered: records, lists of records and of names, and records inside records; made once per result, when first needed.
Not covered: prose (a body, a page, a file's text): no value in it is evidence for anything.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

from hearth.guard.figures import SaidTimes, all_numbers
from hearth.guard.labels import Value
from hearth.guard.roles import (
    ADDRESS_TYPES,
    element_type,
    field_type,
    is_author,
    is_label,
    is_structured,
)
from hearth.guard.words import amounts, content_words, days_said, folded, has_invisible, is_in, stem, word_set, words
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
_GLUED = re.compile(r"(?<=[a-z0-9])\.(?=[A-Z][a-z]+ )")
"""A full stop without the space after it."""
_EACH_OF_OURS = re.compile(
    r"\b(?:each|every|all)\s+(?:\w+\s+){0,2}?(?:user|member|person|people|colleague|channel)s?\b|\bevery(?:one|body)\b"
)
_ONE_OF_OURS = re.compile(
    r"\b(?:a|an|the|which|what|whichever)\s+(?:\w+\s+){0,2}?(?:user|member|person|colleague|channel)\s+"
    r"(?:with|where|who|whose|that|which|having|in)\b|\b(?:which|what)\s+(?:user|member|person|channel)\b"
)
_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}")
MIN_COPIED_CHARS = 12
"""Shorter pieces of prose are met by chance."""
MAX_DEPTH = 3
"""Calls made with what other calls returned are followed so far back."""
MAX_RECORDS = 2_000
"""Of one result; the rest is evidence for nothing."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Who the owner is and whom the owner knows, from this device's own records."""

    addresses: frozenset[str] = frozenset()
    """The owner's own addresses, numbers and accounts, in lower case."""
    contacts: Mapping[str, str] = field(default_factory=dict)
    """Address in lower case → name, of the contact book: what a card says of itself does not put it here."""

    def is_self(self, value: str) -> bool:
        return value in self.addresses

    def knows(self, value: str) -> bool:
        return value in self.addresses or value in self.contacts


@dataclass(frozen=True, slots=True)
class Atom:
    """A structured value of a record."""

    field: str
    kind: str
    """Its type."""
    value: str
    """In lower case."""
    is_trusted: bool
    """First party, or vouched for by the contact book."""
    is_author: bool


@dataclass(frozen=True, slots=True)
class Record:
    """One thing a tool returned."""

    kind: str
    atoms: tuple[Atom, ...]
    labels: frozenset[str]
    """Stems of the words that name it."""
    titles: tuple[str, ...]
    """Whole names of it, in lower case."""
    measures: Mapping[str, float]
    dates: Mapping[str, str]
    is_incoming: bool
    key: tuple[str, str]
    """Its kind and its id, or all its values where it has none."""


def _key_of(kind: str, atoms: Sequence[Atom], titles: Sequence[str]) -> tuple[str, str]:
    for atom in atoms:
        if atom.field.lower() in ("id", "id_") or atom.field.lower().endswith("_id"):
            return kind, atom.value
    return kind, "|".join(atom.value for atom in atoms) or "|".join(titles)


class Result:
    """One call with what it returned."""

    @cached_property
    def kind(self) -> str:
        return element_type(self.spec.returns)

    def __init__(self, spec: ToolSpec, arguments: Mapping[str, Plain], value: Value, owner: Owner) -> None:
        self.spec = spec
        self.arguments = arguments
        self._value = value
        self._owner = owner

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """The records of the result, those of the same id once."""
        items = self._value.data if isinstance(self._value.data, list) else [self._value.data]
        found: dict[tuple[str, str], Record] = {}
        for item in items[:MAX_RECORDS]:
            if item is not None:
                record = _record(self.spec, item, self._value, self._owner)
                found.setdefault(record.key, record)
        return tuple(found.values())

    @property
    def is_of_own_disk(self) -> bool:
        """Whether nothing but the owner's tools and files went into it."""
        return self._value.label.strangers <= {"file"}

    @property
    def is_first_party(self) -> bool:
        return self._value.label.is_trusted

    @cached_property
    def numbers(self) -> frozenset[str]:
        return frozenset(number for text in self.texts for number in all_numbers(str(text)))

    @cached_property
    def folded_prose(self) -> tuple[str, ...]:
        return tuple(folded(piece).strip() for piece in self.prose)

    @property
    def prose(self) -> Iterator[str]:
        """The texts in it that are no names, ids or addresses."""
        items = self._value.data if isinstance(self._value.data, list) else [self._value.data]
        for item in items[:MAX_RECORDS]:
            fields: Mapping[str, Plain] = item if isinstance(item, dict) else {"": item}
            for name, value in fields.items():
                kind = field_type(self.spec, name)
                if isinstance(value, str) and not is_structured(kind) and not is_label(name, kind):
                    yield value

    @property
    def texts(self) -> Iterator[str | int | float]:
        """Every value of it, prose too."""
        return _flat(self._value.data)

    @cached_property
    def holders(self) -> Mapping[str, list[tuple[Record, Atom]]]:
        """Value → where it stands."""
        found: dict[str, list[tuple[Record, Atom]]] = {}
        for record in self.records:
            for atom in record.atoms:
                found.setdefault(atom.value, []).append((record, atom))
        return found


def _record(spec: ToolSpec, item: Plain, result: Value, owner: Owner) -> Record:
    fields: Mapping[str, Plain] = item if isinstance(item, dict) else {"": item}
    author = next((folded(str(v)) for k, v in fields.items() if is_author(k) and v is not None), None)
    is_incoming = author is not None and not owner.knows(author)
    named_by = _named_by(spec)
    atoms: list[Atom] = []
    labels: set[str] = set()
    titles: list[str] = []
    measures: dict[str, float] = {}
    dates: dict[str, str] = {}
    for name, value in fields.items():
        field = _field(name, field_type(spec, name))
        first_party = result.field_label(name).is_trusted
        for scalar in _flat(value):
            if isinstance(scalar, bool):
                continue
            if isinstance(scalar, int | float):
                measures[name] = float(scalar)
            elif scalar[:4].isdigit() and _DATE.match(scalar):
                dates[name] = folded(scalar)
            if not field.is_structured and name not in named_by:
                continue
            text = folded(str(scalar))
            if field.is_structured:
                is_own_field = first_party and (not is_incoming or field.is_minted)
                trusted = is_own_field or (field.kind in ADDRESS_TYPES and owner.knows(text))
                atoms.append(Atom(name, field.kind, text, trusted and not has_invisible(text), field.is_author))
            if name in named_by and isinstance(scalar, str):
                labels |= content_words(text.partition("@")[0] if field.kind == "EmailAddress" else text)
                titles.append(text)
    return Record(
        element_type(spec.returns),
        tuple(atoms),
        frozenset(labels) - _kind_words(spec.returns),
        tuple(titles),
        measures,
        dates,
        is_incoming,
        _key_of(element_type(spec.returns), atoms, titles),
    )


def _named_by(spec: ToolSpec) -> frozenset[str]:
    """Fields that name a record; of one without a title its text does (a reminder, something remembered)."""
    return _naming(tuple(spec.fields.items())) if spec.fields else frozenset({""})


@cache
def _naming(fields: tuple[tuple[str, str], ...]) -> frozenset[str]:
    found = frozenset(name for name, kind in fields if is_label(name, element_type(kind)))
    return found or frozenset(name for name, _ in fields if name in ("text", "description"))


@cache
def _kind_words(returns: str) -> frozenset[str]:
    """Stems of the words of a type: `hotel` and `name` of `list[HotelName]` describe any hotel, so they tell none."""
    return frozenset(stem(word) for word in words(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", element_type(returns))))


@dataclass(frozen=True, slots=True)
class _Field:
    """What a field's name and type say."""

    kind: str
    is_structured: bool
    is_author: bool
    is_minted: bool
    """Given by this device or service itself, whoever wrote the rest of the record."""


@cache
def _field(name: str, kind: str) -> _Field:
    return _Field(kind, is_structured(kind), is_author(name), kind.endswith("Id"))


def _flat(value: Plain) -> Iterator[str | int | float]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _flat(item)
    elif isinstance(value, list):
        for item in value:
            yield from _flat(item)
    elif value is not None:
        yield value


@dataclass(frozen=True, slots=True)
class _Part:
    """A sentence of the request: several records may be described, each in its own."""

    text: str
    stems: frozenset[str]
    amounts: frozenset[float]
    days: frozenset[str]

    @classmethod
    def of(cls, text: str, today: dt.date) -> _Part:
        return cls(folded(text), content_words(text), frozenset(amounts(text)), days_said(text, today))

    def score(self, record: Record) -> float:
        """How much of it speaks of this record: shared words; whole names, addresses and amounts count more."""
        score = float(len(record.labels & self.stems))
        if any(len(title) > 2 and is_in(title, self.text) for title in record.titles):
            score += 2
        if any(len(atom.value) > 4 and is_in(atom.value, self.text) for atom in record.atoms):
            score += 3
        if any(value in self.amounts and name in _PAID_FIELDS for name, value in record.measures.items()):
            score += 1.5
        if self.days and any(date[:10] in self.days for date in record.dates.values()):
            score += 1
        return score


class Evidence:
    """Everything returned so far, against the words of one request."""

    def __init__(self, request: Request, owner: Owner, wishes: Sequence[str] = ()) -> None:
        """`wishes`: the parts of the request that ask for deeds; "each" and "all" count in them alone."""
        self.owner = owner
        self._wished = folded(" ".join(wishes) or request.text)
        self._is_for_all = bool(_UNIVERSAL & set(words(self._wished)))
        said = _GLUED.sub(". ", request.text)
        self.text = folded(said)
        self.stems = content_words(said)
        self._parts = tuple(_Part.of(part, request.now.date()) for part in _SENTENCE.split(said) if part.strip())
        self.times = SaidTimes(said, request.now.date())
        self.figures = all_numbers(said)
        self.words = frozenset(words(_THAN.sub(" ", self.text)))
        self.amounts = frozenset(amounts(said))
        self.results: list[Result] = []
        self._best: dict[str, frozenset[tuple[str, str]]] = {}
        self._meant: dict[tuple[int, str, str], bool] = {}
        """What was found out since the last result came in."""

    def add(self, spec: ToolSpec, arguments: Mapping[str, Plain], result: Value) -> None:
        self.results.append(Result(spec, arguments, result, self.owner))
        self._best.clear()
        self._meant.clear()

    # ── What the request says ─────────────────────────────────────────────────────────────────────────────

    def names(self, value: str) -> bool:
        """Whether the request holds `value` itself."""
        low = folded(value).strip()
        if has_invisible(value) or not low:
            return False
        if low.isdigit() and len(low) < 5:
            return re.search(rf"(?:\bid|\bnumber|\bno\.?|#)\s*'?\"?{low}\b", self.text) is not None
        return is_in(low, self.text)

    def says(self, text: str) -> bool:
        """Whether every content word of `text` is in the request."""
        return not has_invisible(text) and content_words(text) <= self.stems

    # ── Which records are meant ───────────────────────────────────────────────────────────────────────────

    def holding(self, value: str) -> Iterator[tuple[Result, Record, Atom]]:
        low = folded(value)
        for result in self.results:
            for record, atom in result.holders.get(low, ()):
                yield result, record, atom

    def is_meant(self, result: Result, record: Record) -> bool:
        """Whether `record` is one the owner means."""
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
            or (self._is_for_all and self._is_asked_by_name(result))
        )

    def _is_asked_for(self, result: Result) -> bool:
        """Whether a call without words of its own is what the request speaks of: the next event."""
        return not _said(result.arguments) and bool(content_words(result.spec.name.replace("_", " ")) & self.stems)

    def _is_asked_by_name(self, result: Result, depth: int = 0) -> bool:
        """Whether a call's arguments are the request's own words, or come from records the owner means."""
        given = _said(result.arguments)
        if not given:
            return False
        return all(self.names(a) or (content_words(a) and self.says(a)) or self._comes_from(a, depth) for a in given)

    def _comes_from(self, value: str, depth: int) -> bool:
        """Whether a value was read before: in a record the owner means, or in a first-party field of one that a call
        in the request's own words returned."""
        return depth < MAX_DEPTH and any(
            self._is_described(record)
            or self._is_extreme(result, record, depth + 1)
            or (atom.is_trusted and self._is_asked_by_name(result, depth + 1))
            for result, record, atom in self.holding(value)
        )

    def _is_described(self, record: Record) -> bool:
        """Whether some sentence speaks of this record more than of any other of its kind."""
        return record.key in self._described(record.kind)

    def _described(self, kind: str) -> frozenset[tuple[str, str]]:
        """Keys of the records of a kind that some sentence speaks of more than of any other."""
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
        """Whether the request's superlative picks `record` of this list, which was asked for whole or by name."""
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
        """Of `fields` those that the words after a superlative speak of ("the highest rating"); all where none does."""
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
        """Whether the request leaves the choice among the owner's own people or channels to a search, and this is what
        the search finds: every one of them, the one with the most of something, the one where something was said."""
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
        """Whether a handle is one of the owner's directory: known, or listed by a first-party tool as it is."""
        listed = (atom for result, _, atom in self.holding(low) if not result.spec.fields)
        return low in self.owner.contacts or any(atom.kind == "Handle" and atom.is_trusted for atom in listed)

    def _is_extreme_count(self, low: str) -> bool:
        """Whether no other had more (or fewer) results under the same tool, or made more of the records seen."""
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
        """Whether what was read under this name holds at least two of the request's words."""
        return any(
            len(content_words(str(text)) & self.stems) > 1
            for result in self.results
            if low in map(folded, _strings(result.arguments))
            for text in result.texts
        )

    # ── Prose ─────────────────────────────────────────────────────────────────────────────────────────────

    def numbers_of(self, *, is_outgoing: bool) -> frozenset[str]:
        """Numbers in the results of first-party tools and in the files that are meant; for what stays here, in all
        records the owner means."""
        return frozenset(
            number
            for result in self.results
            if result.is_first_party or ((result.is_of_own_disk or not is_outgoing) and self._is_any_meant(result))
            for text in result.texts
            for number in all_numbers(str(text))
        )

    def is_in_own_prose(self, low: str) -> bool:
        """Whether a text stands in a first-party record the owner means, in whatever field."""
        return any(
            result.is_first_party and any(low in folded(str(text)) for text in result.texts)
            for result in self.results
            if self._is_any_meant(result)
        )

    def is_whole_prose(self, text: str) -> bool:
        """Whether a text is, from first to last, what a record the owner means says."""
        low = folded(text).strip()
        return any(low in result.folded_prose and self._is_any_meant(result) for result in self.results)

    def copied_from_elsewhere(self, text: str) -> bool:
        """Whether a text holds a whole piece of prose from results of which the owner means no record."""
        low = folded(text)
        return any(
            any(len(piece) >= MIN_COPIED_CHARS and piece in low for piece in result.folded_prose)
            and not self._is_any_meant(result)
            for result in self.results
        )

    def _is_any_meant(self, result: Result) -> bool:
        return any(self.is_meant(result, record) for record in result.records)

    # ── Words of first-party names ────────────────────────────────────────────────────────────────────────

    def labels(self) -> frozenset[str]:
        """Stems of the words in names of records that the owner means and no stranger made."""
        return frozenset(
            stem(word)
            for result in self.results
            for record in result.records
            if record.labels and not record.is_incoming and self.is_meant(result, record)
            for word in record.labels
        )


def _said(arguments: Mapping[str, Plain]) -> list[str]:
    """The words in a call's arguments; times, numbers and switches are none."""
    return [text for text in _strings(arguments) if text.strip() and not _DATE.match(text)]


def _strings(arguments: Mapping[str, Plain]) -> list[str]:
    return [item for value in arguments.values() for item in _flat(value) if isinstance(item, str)]
