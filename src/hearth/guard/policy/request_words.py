"""The owner's words, the records in results and the meaning of parameters, in a form that compares exactly."""

from __future__ import annotations

import contextlib
import datetime as dt
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import Literal

from hearth import patterns as re
from hearth.formats.record_places import canonical_address
from hearth.guard.labels import Value
from hearth.types import TYPE_NAMES, Plain, ToolSpec, canonical_type

# ── Request words ─────────────────────────────────────────────────────────────────────────────────────────
# Reads the words of an owner's request for the guard: compared exactly, never cleaned up in an attacker's favour.
#
# Texts are compared in NFC and lower case, addresses in the one spelling that mail goes to. A value with invisible
# characters, or with look-alike or full-width letters, is not what the owner wrote and so is not found. A moment
# contradicts the request when the request names days (or clock times) and the moment is on none of them; a request
# that names none is never contradicted.
#
# Covered: plural and other endings of words; values inside quotation marks, next to punctuation; `400`, `1.6`, `39
# euros`, `0900 555 321`, ISO days and times; weekdays, `3rd of December`, `half past nine`. Not covered: meaning,
# misspellings, synonyms; numbers in words; moments the owner gives relative to another ("an hour before"), for which
# only days are checked, or not even those ("two days before").


def word_set(text: str) -> frozenset[str]:
    """Split a table written as one text into its words."""
    return frozenset(text.split())


_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NUMBER = re.compile(r"(?<![\w.,/:-])\d[\d,]*(?:\.\d+)?(?![\w/:]|-\d)")
_GROUPS = re.compile(r"\b[a-z]{2}\d{2}(?: ?[a-z0-9]{2,4}){3,8}\b", re.IGNORECASE)
_YEAR = re.compile(r"(?<![$€£])\b(?:19|20)\d\d\b(?!\s*(?:[$€£]|euros?\b|dollars?\b|pounds?\b|usd\b|eur\b|gbp\b|\.\d))")
_STOP = word_set(
    "a an the my your his her our their its this that these those it them him me us i you we they he she and or but "
    "if then of to in on at by for from with about into as is are was were be been do does did have has had can could "
    "will would should please also not no so there here up out all any some each every re fwd fw"
)


def folded(text: str) -> str:
    """Normalise `text` for comparison."""
    return unicodedata.normalize("NFC", text).casefold()


def identity(text: str) -> str:
    """Return what a value is compared by: an address in the one spelling that mail goes to, anything else folded."""
    if "@" in text and not has_invisible(text) and unicodedata.normalize("NFKC", text) == text:
        with contextlib.suppress(ValueError):
            return canonical_address(text).casefold()
    return folded(text).strip()


def addresses(text: str) -> frozenset[str]:
    """Find the addresses that stand in a text, in their one spelling."""
    return frozenset(identity(found) for found in _ADDRESS.findall(unicodedata.normalize("NFKC", text)))


def words(text: str) -> list[str]:
    """Split a text into its words, in order and in lower case."""
    return _WORD.findall(folded(text))


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Strip a word of its commonest English endings, so that `payments` and `payment` are one."""
    word = word.partition("'")[0].partition("’")[0]
    for ending, rest in (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)] + rest
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def content_words(text: str) -> frozenset[str]:
    """Stems of the words that carry content."""
    return frozenset(stem(word) for word in words(text) if word not in _STOP)


def has_invisible(text: str) -> bool:
    """Return whether a text holds characters no person sees: zero width, direction marks, controls except line ends."""
    return not text.isascii() and any(
        unicodedata.category(c) in ("Cf", "Cc", "Co", "Cn") and c not in "\n\t\r" for c in text
    )


def is_in(value: str, text: str) -> bool:
    """Return whether `value` stands in `text` (both folded) as a whole: not inside a longer word, address or path."""
    start = text.find(value) if value else -1
    while start >= 0:
        end = start + len(value)
        if not (start and _joins_left(text, start)) and not (end < len(text) and _joins_right(text, end)):
            return True
        start = text.find(value, start + 1)
    return False


def _joins_left(text: str, start: int) -> bool:
    before = text[start - 1]
    if before.isalnum() or before in "_@+":
        return True
    return before in ".-/%" and start > 1 and text[start - 2].isalnum()


def _joins_right(text: str, end: int) -> bool:
    after = text[end]
    if after.isalnum() or after in "_@+%":
        return True
    return after in ".-/:?#&=" and end + 1 < len(text) and (text[end + 1].isalnum() or text[end + 1] in "/?#_")


def numbers(text: str) -> list[float]:
    """Find the plain numbers: `1,200.50`, `98`, `$30`; not the parts of dates, times and names."""
    return [float(found.replace(",", "")) for found in _NUMBER.findall(text)]


def amounts(text: str) -> list[float]:
    """Find the numbers that may be amounts: no years, no parts of account numbers written in groups."""
    return numbers(_YEAR.sub(" ", _GROUPS.sub(" ", text)))


_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
CALENDAR_WORDS = frozenset({*_WEEKDAYS, *_MONTHS})
_ISO_DAY = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_MONTH_DAY = re.compile(rf"\b({'|'.join(_MONTHS)})\s+(\d{{1,2}})(?:st|nd|rd|th)?\b")
_THE_DAY = re.compile(r"\b(?:the|on)\s+(\d{1,2})(?:st|nd|rd|th)\b")
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({'|'.join(_MONTHS)})\b")


def days_said(text: str, today: dt.date) -> frozenset[str]:
    """Find the days a text names, as ISO dates: today, tomorrow, the next Friday, yesterday, `May 3rd`,
    `2026-05-03`."""
    low = folded(text)
    found = set(_ISO_DAY.findall(low))
    said = set(words(low))
    for word, n_days in (("yesterday", -1), ("today", 0), ("tonight", 0), ("tomorrow", 1)):
        if word in said:
            found.add((today + dt.timedelta(n_days)).isoformat())
    for number, name in enumerate(_WEEKDAYS):
        if said & {name, f"{name}s", f"{name}'s"}:
            found.add((today + dt.timedelta((number - today.weekday()) % 7)).isoformat())
    if "next" in said:
        found |= {later for day in found if (later := _week_after(day))}
    for day in map(int, _THE_DAY.findall(low)):
        for n_months in (0, 1):
            year, month = divmod(today.year * 12 + today.month - 1 + n_months, 12)
            found.add(f"{year}-{month + 1:02}-{day:02}")
    named = [(month, int(day)) for month, day in _MONTH_DAY.findall(low)]
    named += [(month, int(day)) for day, month in _DAY_MONTH.findall(low)]
    for month, day in named:
        if 1 <= day <= 31:  # the year is this one or the next: both are tried
            number = _MONTHS.index(month) + 1
            found |= {f"{year}-{number:02}-{day:02}" for year in (today.year, today.year + 1)}
    return frozenset(found)


def _week_after(day: str) -> str:
    """Return the day a week later, as an ISO date; empty where there is none."""
    try:
        return (dt.date.fromisoformat(day) + dt.timedelta(7)).isoformat()
    except (ValueError, OverflowError):
        return ""


# ── Numbers and moments ───────────────────────────────────────────────────────────────────────────────


_NUMBER_IN_GROUPS = re.compile(r"(?<![\w])\d[\d.,]*(?:[ /-]\d[\d.,]*)*")
_RECKONED = re.compile(
    r"\b(?:before|after|later|earlier|sooner|ahead|prior|in (?:an?|one|two|three|\d+|half) \w+|instead)\b"
)
_DAYS_RECKONED = re.compile(r"\b(?:days?|weeks?|months?|years?|nights?|weekend|fortnight)\b")
_CLOCK = re.compile(
    r"\b(?P<past>half past|quarter past|quarter to|half)\s+(?P<word>\w+)\b"
    r"|\b(?P<hour>\d{1,2})(?::|\.)?(?P<minute>[0-5]\d)?\s*(?P<half>[ap])\.?m\b"
    r"|\b(?P<h>[01]?\d|2[0-3]):(?P<m>[0-5]\d)\b|\b(?:at|from|by|until|till|to|for)\s+"
    r"(?!half\b|quarter\b|noon|mid)(?P<bare>\w+)\b(?![:.]\d|\s*[ap]\.?m\b|\s+(?:of\s+)?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))"
    r"|\b(?P<noon>noon|midday|midnight)\b"
)
_HOURS = {
    name: number
    for number, name in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), 1
    )
}


def all_numbers(text: str) -> frozenset[str]:
    """Find every number of a text in the same form, and each part of a number written in groups."""
    found = _NUMBER_IN_GROUPS.findall(folded(text))
    return frozenset(digits_of(part) for number in found for part in (number, *re.split(r"[ /-]", number)))


def digits_of(number: str) -> str:
    """Normalise a number: `1,200.50` to `1200.5`, `030 1234` to `0301234`."""
    number = number.strip(" .,/-")
    decimals = re.fullmatch(r"([\d., ]*?)[.,](\d{1,2})", number)
    if decimals is None or " " in number:
        return re.sub(r"\D", "", number)
    whole = re.sub(r"\D", "", decimals[1])
    rest = decimals[2].rstrip("0")
    return f"{whole}.{rest}" if rest else whole


class SaidTimes:
    """The days and clock times named in one request."""

    def __init__(self, text: str, today: dt.date) -> None:
        low = folded(text)
        self.today = today
        self.days = days_said(text, today)
        is_reckoned = _RECKONED.search(low) is not None
        if is_reckoned and _DAYS_RECKONED.search(low):
            self.days = frozenset()
        self.clocks = frozenset() if is_reckoned else clocks_said(low)

    def contradict(self, moment: str, *, is_end: bool) -> bool:
        """Return whether an ISO moment is on none of the days, or at none of the times, that were said.

        The year is usually unsaid, so any year within one of the present one is accepted.
        """
        low = moment.casefold().replace("t", " ")
        day, _, clock = low.partition(" ")
        if self.days and re.fullmatch(r"\d{4}-\d{2}-\d{2}", day):
            is_near = abs(int(day[:4]) - self.today.year) <= 1
            if not is_near or day[4:] not in {said[4:] for said in self.days}:
                return True
        return bool(self.clocks and not is_end and clock and clock[:5] not in self.clocks)


def clocks_said(low: str) -> frozenset[str]:
    """Find clock times as `HH:MM`, in both halves of the day unless the text says which."""
    found: set[str] = set()
    for said in _CLOCK.finditer(low):
        if said["noon"]:
            found.add("00:00" if said["noon"] == "midnight" else "12:00")
        elif said["past"]:
            hour = _hour(said["word"])
            if hour is not None:
                minute = {"half past": 30, "half": 30, "quarter past": 15, "quarter to": 45}[said["past"]]
                found |= _both(hour - (said["past"] == "quarter to"), minute)
        elif said["half"]:
            hour = int(said["hour"]) % 12 + (12 if said["half"] == "p" else 0)
            found.add(f"{hour:02}:{int(said['minute'] or 0):02}")
        elif said["h"]:
            found.add(f"{int(said['h']):02}:{said['m']}")
            if int(said["h"]) < 12:
                found.add(f"{int(said['h']) + 12:02}:{said['m']}")
        elif (hour := _hour(said["bare"])) is not None:
            found |= _both(hour, 0)
    return frozenset(found)


def _hour(word: str) -> int | None:
    if word.isdigit() and len(word) < 3 and int(word) < 24:
        return int(word)
    return _HOURS.get(word)


def _both(hour: int, minute: int) -> set[str]:
    return {f"{h % 24:02}:{minute:02}" for h in ((hour, hour + 12) if hour <= 12 else (hour,))}


# ── Parameter roles ───────────────────────────────────────────────────────────────────────────────────────
# Reads from a tool's spec what its parameters and result fields mean to a guard.
#
# A parameter is a recipient, a target (a record to act on), a link, an amount, a secret, a name (a title for
# something new), a place in the owner's folder, a venue, items of a list, content, a moment, a repetition, or free
# (switches, counts). Types decide first, then `is_sink`, then the parameter's name. A poorly described tool gets the
# stricter reading: an unknown nominal type is a target.
#
# Covered: nested lists and records (an attachment's `file_id` is a target). Not covered: what a free text means;
# switches and choices from a list (read or write rights), which are free.

Role = Literal[
    "recipient", "target", "link", "amount", "secret", "name", "place", "content", "items", "venue", "when", "repeat",
    "query", "free",
]  # fmt: skip

ADDRESS_TYPES = frozenset({"EmailAddress", "PhoneNumber", "Account", "Handle", "PostalAddress"})
"""Types whose values say where something goes."""
_NAME_WORDS = frozenset({"title", "subject", "name", "filename", "file_name", "label", "heading", "list"})
_THING_WORDS = frozenset({"device", "scene"})
"""Names of text parameters that name a thing in the house: only one that the request names is allowed."""
AMOUNT_WORDS = frozenset({"amount", "price", "sum", "total"})
_ADDRESS_WORDS = frozenset({"address", "street", "city"})
_REPEAT_WORDS = frozenset({"repeat", "recurring", "recurrence", "frequency"})
_SECRET_WORDS = frozenset({"password", "passcode", "pin", "secret", "token", "passphrase"})
_ROLES_BY_TYPE: Mapping[str, Role] = {
    "Secret": "secret",
    "Money": "amount",
    "FilePath": "place",
    **dict.fromkeys(ADDRESS_TYPES, "recipient"),
}
_FREE_TYPES = frozenset({"integer", "number", "boolean", "date", "time", "datetime", "duration"})
_PLACE_WORDS = frozenset({"place", "location", "venue"})
_AUTHOR_WORDS = frozenset({"sender", "owner", "organizer", "organiser", "from", "author", "creator", "shared_by"})
"""Names of fields that say who made the record."""


@dataclass(frozen=True, slots=True)
class Sensitive:
    """One value of a call that the guard checks."""

    parameter: str
    role: Role
    value: Plain


@cache
def element_type(name: str) -> str:
    """The type inside `list[…]`, in Hearth's spelling."""
    name = name.strip()
    while name.startswith("list[") and name.endswith("]"):
        name = name[5:-1].strip()
    return canonical_type(name)


@cache
def _role(name: str, type_name: str, is_sink: bool, effect: str, source: str) -> Role:
    kind, low = element_type(type_name), name.lower()
    if kind == "Url":
        return "link"
    if effect == "none":
        return "query" if source == "web" and kind not in _FREE_TYPES else "free"
    if low in _SECRET_WORDS:
        return "secret"
    if low in AMOUNT_WORDS and kind in ("number", "integer"):
        return "amount"
    if kind in _ROLES_BY_TYPE:
        return _ROLES_BY_TYPE[kind]
    if kind not in TYPE_NAMES and kind.endswith("Id"):
        return "target"
    if is_sink or (kind == "text" and low in _ADDRESS_WORDS):
        return "recipient"
    if low in _REPEAT_WORDS:
        return "repeat"
    if kind in ("date", "datetime"):
        return "when"
    if kind in _FREE_TYPES:
        return "free"
    if kind == "PersonName":
        return "name"
    if kind == "text":
        return _text_role(low, is_list=type_name.strip().startswith("list["))
    return "content" if kind in ("any", "list[any]") else "target"


def _text_role(name: str, *, is_list: bool) -> Role:
    if name in _NAME_WORDS:
        return "name"
    if is_list or name in _THING_WORDS:
        return "items"
    return "venue" if name in _PLACE_WORDS else "content"


def sensitive_values(spec: ToolSpec, arguments: Mapping[str, Plain]) -> Iterator[Sensitive]:
    """Yield every scalar of a call that has a role other than `free`."""
    for name, value in arguments.items():
        if value is None:
            continue
        parameter = spec.parameter(name)
        if parameter is None:
            yield Sensitive(name, "target", value)  # not in the signature: judged by the strictest rule
            continue
        if parameter.enum and name.lower() not in _REPEAT_WORDS:
            continue
        role = _role(name, parameter.type, parameter.is_sink, spec.effect, spec.source)
        if role != "free":
            yield from _scalars(name, role, value)


def _scalars(name: str, role: Role, value: Plain) -> Iterator[Sensitive]:
    if isinstance(value, list):
        for item in value:
            yield from _scalars(name, role, item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _scalars(f"{name}.{key}", _role_of_key(key, role), item)
    elif value is not None and (role == "repeat" or not isinstance(value, bool)):
        yield Sensitive(name, role, value)


def _role_of_key(key: str, outer: Role) -> Role:
    low = key.lower()
    if low == "id" or low.endswith(("_id", "path")):
        return "target"
    if low in ("email", "recipient", "recipients", "to", "participants", "account", "phone"):
        return "recipient"
    return "link" if low == "url" else outer


# ── Results ───────────────────────────────────────────────────────────────────────────────────────────────


def field_type(spec: ToolSpec, name: str) -> str:
    """The element type of a result field; `""` is the result itself if it is not a record."""
    if name:
        return element_type(spec.fields.get(name, "any"))
    return element_type(spec.returns)


def is_structured(kind: str) -> bool:
    """Return whether a value of this type is an address, an id or a name rather than prose."""
    return kind in ADDRESS_TYPES or kind in ("PersonName", "FilePath", "Url") or kind not in TYPE_NAMES


def is_label(name: str, kind: str) -> bool:
    """Return whether a field names its record: a title, a file name, a person."""
    low = name.lower()
    return (
        low in _NAME_WORDS
        or low.endswith("name")
        or kind in ("PersonName", "FilePath", "EmailAddress", "Handle")
        or (not name and is_structured(kind))
    )


def is_author(name: str) -> bool:
    """Return whether a field says who made its record."""
    return name.lower() in _AUTHOR_WORDS


def is_place(name: str) -> bool:
    """Return whether a field says where something takes place."""
    return name.lower() in _PLACE_WORDS


# ── Record extraction ─────────────────────────────────────────────────────────────────────────────────────
# Reads what a tool returned as records: their names, ids, addresses, measures and dates, and who made them.
#
# A field is first party when its label says so (`Value.field_label`) and its record was not made by a stranger. A
# record is incoming when its sender, owner or organiser is neither the owner nor known from the contact book;
# everything in it was chosen by the stranger.
#
# Covered: records, lists of records and of names, and records inside records; made once per result, when first
# needed. Not covered: prose (a body, a page, a file's text): no value in it is evidence for anything.

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
