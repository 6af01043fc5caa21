"""Reads what a tool returned as records: their names, ids, addresses, measures and dates, and who made them.

A field is first party when its label says so (`Value.field_label`) and its record was not made by a stranger. A record
is incoming when its sender, owner or organiser is neither the owner nor known from the contact book; everything in it
was chosen by the stranger.

Covered: records, lists of records and of names, and records inside records; made once per result, when first needed.
Not covered: prose (a body, a page, a file's text): no value in it is evidence for anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

from hearth.guard.capability.parameter_roles import (
    ADDRESS_TYPES,
    element_type,
    field_type,
    is_author,
    is_label,
    is_place,
    is_structured,
)
from hearth.guard.capability.request_words import (
    all_numbers,
    content_words,
    folded,
    has_invisible,
    identity,
    stem,
    words,
)
from hearth.guard.flow.labels import Value
from hearth.types import Plain, ToolSpec

DATE = re.compile(r"^\d{4}-\d{2}-\d{2}")
MAX_RECORDS = 2_000
"""Records read from one result; the rest count as evidence for nothing."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner's identity and contacts, from this device's own records."""

    addresses: frozenset[str] = frozenset()
    """The owner's own addresses, numbers and accounts, in lower case."""
    contacts: Mapping[str, str] = field(default_factory=dict)
    """Addresses of the contact book in lower case → names. What a card says of itself does not put it here."""
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The same addresses → what else the owner's cards call these people: `mum`, `dentist`."""

    def is_self(self, value: str) -> bool:
        return value in self.addresses

    def called(self, value: str) -> Iterator[frozenset[str]]:
        """Yield the stems of each thing that the person with an address is called besides the name."""
        for role in self.roles.get(value, ()):
            if stems := content_words(role):
                yield stems

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
    """First party, or in the contact book."""
    is_author: bool


@dataclass(frozen=True, slots=True)
class Record:
    """One thing a tool returned."""

    kind: str
    atoms: tuple[Atom, ...]
    labels: frozenset[str]
    """Stems of the words that name the record."""
    titles: tuple[str, ...]
    """The record's whole names, in lower case."""
    places: frozenset[str]
    """Stems of the words that say where it takes place."""
    prose: tuple[str, ...]
    """Its texts that are not names, ids or addresses."""
    measures: Mapping[str, float]
    dates: Mapping[str, str]
    is_incoming: bool
    key: tuple[str, str]
    """The record's kind and its id, or all its values if it has no id."""


def _key_of(kind: str, atoms: Sequence[Atom], titles: Sequence[str]) -> tuple[str, str]:
    for atom in atoms:
        if atom.field.lower() in ("id", "id_") or atom.field.lower().endswith("_id"):
            return kind, atom.value
    return kind, "|".join(atom.value for atom in atoms) or "|".join(titles)


class Result:
    """One call and its result."""

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
        """The records of the result; those with the same id appear once."""
        items = self._value.data if isinstance(self._value.data, list) else [self._value.data]
        found: dict[tuple[str, str], Record] = {}
        for item in items[:MAX_RECORDS]:
            if item is not None:
                record = _record(self.spec, item, self._value, self._owner)
                found.setdefault(record.key, record)
        return tuple(found.values())

    @property
    def is_of_own_disk(self) -> bool:
        """Return whether only the owner's tools and files went into the result."""
        return self._value.label.strangers <= {"file"}

    @property
    def is_first_party(self) -> bool:
        return self._value.label.is_trusted

    @cached_property
    def numbers(self) -> frozenset[str]:
        return frozenset(number for text in self.texts for number in all_numbers(str(text)))

    @property
    def prose(self) -> Iterator[str]:
        """The texts in the result that are not names, ids or addresses."""
        items = self._value.data if isinstance(self._value.data, list) else [self._value.data]
        for item in items[:MAX_RECORDS]:
            fields: Mapping[str, Plain] = item if isinstance(item, dict) else {"": item}
            for name, value in fields.items():
                kind = field_type(self.spec, name)
                if isinstance(value, str) and not is_structured(kind) and not is_label(name, kind):
                    yield value

    @property
    def texts(self) -> Iterator[str | int | float]:
        """Every value of the result, including prose."""
        return flat(self._value.data)

    @cached_property
    def holders(self) -> Mapping[str, list[tuple[Record, Atom]]]:
        """Each value → the records and fields that hold it."""
        found: dict[str, list[tuple[Record, Atom]]] = {}
        for record in self.records:
            for atom in record.atoms:
                found.setdefault(atom.value, []).append((record, atom))
        return found


def _record(spec: ToolSpec, item: Plain, result: Value, owner: Owner) -> Record:
    fields: Mapping[str, Plain] = item if isinstance(item, dict) else {"": item}
    is_incoming = _is_incoming(fields, owner)
    named_by = _named_by(spec)
    atoms: list[Atom] = []
    labels: set[str] = set()
    titles: list[str] = []
    places: set[str] = set()
    prose: list[str] = []
    measures: dict[str, float] = {}
    dates: dict[str, str] = {}
    for name, value in fields.items():
        field = _field(name, field_type(spec, name))
        first_party = result.field_label(name).is_trusted
        for scalar in flat(value):
            if isinstance(scalar, bool):
                continue
            if isinstance(scalar, int | float):
                measures[name] = float(scalar)
            elif scalar[:4].isdigit() and DATE.match(scalar):
                dates[name] = folded(scalar)
            if field.is_place:
                places |= content_words(str(scalar))
            if field.is_structured:
                is_own = first_party and (not is_incoming or field.is_minted)
                atoms.append(_atom(name, field, str(scalar), owner, is_own=is_own))
                text = atoms[-1].value
                if field.is_author:
                    labels |= frozenset().union(*owner.called(text))
            else:
                if not field.is_label:
                    prose.append(str(scalar))
                if name not in named_by:
                    continue
                text = folded(str(scalar))
            if name in named_by and isinstance(scalar, str):
                labels |= content_words(text.partition("@")[0] if field.kind == "EmailAddress" else text)
                titles.append(text)
    return Record(
        element_type(spec.returns),
        tuple(atoms),
        frozenset(labels) - _kind_words(spec.returns),
        tuple(titles),
        frozenset(places),
        tuple(prose),
        measures,
        dates,
        is_incoming,
        _key_of(element_type(spec.returns), atoms, titles),
    )


def _is_incoming(fields: Mapping[str, Plain], owner: Owner) -> bool:
    """Return whether somebody else made a record."""
    author = next((folded(str(v)) for k, v in fields.items() if is_author(k) and v is not None), None)
    return author is not None and not owner.knows(author)


def _atom(name: str, field: _Field, text: str, owner: Owner, *, is_own: bool) -> Atom:
    """Make the structured value of a field; `is_own`: only this device, or a service that vouches for it, wrote it."""
    is_address = field.kind in ADDRESS_TYPES
    value = identity(text) if is_address else folded(text)
    is_trusted = is_own or (is_address and owner.knows(value))
    return Atom(name, field.kind, value, is_trusted and not has_invisible(value), field.is_author)


def _named_by(spec: ToolSpec) -> frozenset[str]:
    """Find the fields that name a record; for one without a title, its text does (a reminder, a memory)."""
    return _naming(tuple(spec.fields.items())) if spec.fields else frozenset({""})


@cache
def _naming(fields: tuple[tuple[str, str], ...]) -> frozenset[str]:
    found = frozenset(name for name, kind in fields if is_label(name, element_type(kind)))
    return found or frozenset(name for name, _ in fields if name in ("text", "description"))


@cache
def _kind_words(returns: str) -> frozenset[str]:
    """Stems of the words of a type: `hotel` and `name` of `list[HotelName]` fit any hotel, so they identify none."""
    return frozenset(stem(word) for word in words(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", element_type(returns))))


@dataclass(frozen=True, slots=True)
class _Field:
    """Properties of a field, from its name and type."""

    kind: str
    is_structured: bool
    is_author: bool
    is_minted: bool
    """Given by this device or service itself, whoever wrote the rest of the record."""
    is_place: bool
    is_label: bool


@cache
def _field(name: str, kind: str) -> _Field:
    return _Field(kind, is_structured(kind), is_author(name), kind.endswith("Id"), is_place(name), is_label(name, kind))


def flat(value: Plain) -> Iterator[str | int | float]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from flat(item)
    elif isinstance(value, list):
        for item in value:
            yield from flat(item)
    elif value is not None:
        yield value
