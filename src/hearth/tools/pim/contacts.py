"""The tools of contacts, and the cards they are kept in."""

from __future__ import annotations

import contextlib
import datetime as dt
import difflib
import functools
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, NewType

from hearth.errors import Ambiguous, NotFound, ToolError
from hearth.formats.content_lines import (
    Component,
    Line,
    checked_email,
    checked_text,
    escape,
    new_component,
    new_line,
    parse,
    read_folder,
    shown,
    split_value,
    unreadable_notice,
)
from hearth.formats.record_places import RecordPlaces
from hearth.formats.tool_signature import ID_IS_A_KEY, Names, as_written, tool
from hearth.language.temporal.time_words import MONTHS, WEEKDAYS
from hearth.language.thesaurus import Spelling
from hearth.language.tokens import Query, folded, id_asked, stem, stems
from hearth.protocols import CallContext, Workspace
from hearth.tools.pim.servers.mirror import Mirror, file_name
from hearth.types import EmailAddress, Entity, PersonName, PhoneNumber, Plain, Referent

# ── Cards ─────────────────────────────────────────────────────────────────────────────────────────────────
# Read and change vCards 2.1, 3.0 and 4.0 in the owner's `contacts/`.
#
# A file may hold several cards. Properties this module does not know, photographs, groups and odd encodings stay byte
# for byte when a card is changed. Not covered: of several addresses of a card, only the preferred one is used; the
# others stay in the file.

# ruff: noqa: SIM905 - lists of words read best as words


FOLDER = "contacts"
_BIRTHDAY = re.compile(r"(?:(\d{4})|-)-?(\d\d)-?(\d\d)(?:T.*)?\Z")
_NO_YEAR = 1604
"""Year that Apple writes for a birthday without a year, named in X-APPLE-OMIT-YEAR."""


@dataclass(frozen=True, slots=True)
class Birth:
    month: int
    day: int
    year: int | None

    def date(self) -> dt.date | None:
        return dt.date(self.year, self.month, self.day) if self.year else None

    def in_year(self, year: int) -> dt.date:
        """Return the birthday in a year; 29 February becomes the 28th where there is none."""
        try:
            return dt.date(year, self.month, self.day)
        except ValueError:
            return dt.date(year, 2, 28)


@dataclass(frozen=True, slots=True)
class Card:
    """One card as it stands in its file."""

    index: int
    """Position among the cards of the file."""
    uid: str
    name: str
    given: str
    family: str
    nicknames: tuple[str, ...]
    email: str
    phone: str
    address: str
    birth: Birth | None
    organisation: str
    notes: str
    titles: tuple[str, ...]
    """ROLE and TITLE: what the person is by trade."""
    related: tuple[str, ...]
    """RELATED: what the person is to the owner, or the name of somebody else."""
    categories: tuple[str, ...]
    words: str
    """Words that a query is compared with."""


@dataclass(frozen=True, slots=True)
class CardFile:
    cards: tuple[Card, ...]
    fault: str = ""
    """Reason why (a part of) the file could not be read."""


def read_cards(workspace: Workspace) -> dict[str, CardFile]:
    """Read every vCard file of the owner, by path."""
    return {
        path: CardFile((), fault) if fault else cards_in(data)
        for path, data, fault in read_folder(workspace, FOLDER, "*.vcf")
    }


@functools.lru_cache(maxsize=20_000)
def cards_in(data: bytes) -> CardFile:
    """Parse a file; cached by content, so that it can never be out of date."""
    try:
        document = parse(data)
    except ValueError as error:
        return CardFile((), str(error))
    cards = tuple(card_of(index, card) for index, card in enumerate(document.components("VCARD")))
    named = tuple(card for card in cards if card.name)
    return CardFile(named, "" if len(named) == len(cards) else "a card without a name")


def card_of(index: int, card: Component) -> Card:
    """Read a card; never raises: what cannot be read is empty."""
    name_line = card.line("N")
    parts = [*(split_value(name_line.decoded(), ";") if name_line is not None else []), *[""] * 5]
    family, given, middle, prefix, suffix = (" ".join(part.replace(",", " ").split()) for part in parts[:5])
    organisation = ", ".join(part.strip() for part in _parts(card.line("ORG")) if part.strip())
    composed = " ".join(part for part in (prefix, given, middle, family, suffix) if part)
    email, phone = preferred(card, "EMAIL"), shown_phone(card)
    name = " ".join(card.text("FN").split()) or composed or organisation
    nicknames = _listed(card, "NICKNAME")
    address_line = preferred(card, "ADR")
    address = ", ".join(part.strip() for part in _parts(address_line) if part.strip()).replace("\n", ", ")
    notes = "\n".join(line.text().strip() for line in card.lines("NOTE"))
    titles = tuple(text for name in ("ROLE", "TITLE") for line in card.lines(name) if (text := line.text().strip()))
    related, categories = _related(card), _listed(card, "CATEGORIES")
    return Card(
        index=index,
        uid=card.text("UID").strip(),
        name=name,
        given=given,
        family=family,
        nicknames=nicknames,
        email=email.text().strip().removeprefix("mailto:") if email is not None else "",
        phone=_number(phone) if phone is not None else "",
        address=address,
        birth=_birth(card.line("BDAY")),
        organisation=organisation,
        notes=notes,
        titles=titles,
        related=related,
        categories=categories,
        words=" ".join((name, composed, *nicknames, organisation, address, notes, *titles, *related, *categories))[
            :20_000
        ],
    )


def _parts(line: Line | None) -> list[str]:
    return split_value(line.decoded(), ";") if line is not None else []


def _listed(card: Component, name: str) -> tuple[str, ...]:
    """Return every value of a property that is a list."""
    values = [value.strip() for line in card.lines(name) for value in split_value(line.decoded(), ",")]
    return tuple(value for value in values if value)


def _related(card: Component) -> tuple[str, ...]:
    """Read RELATED. `RELATED;TYPE=spouse:Tom` says who Tom is to this person; without a name, what they are to the
    owner."""
    found: list[str] = []
    for line in card.lines("RELATED"):
        text = line.text().strip()
        found += map(shown, line.parameters("TYPE")) if folded(text) in ("", "me", "owner") else [text]
    return tuple(text for text in found if text and not text.startswith(("urn:", "http")))


def preferred(card: Component, name: str, kinds: tuple[str, ...] = ()) -> Line | None:
    """Return the property to use of several: the one marked as preferred, else the first of one of `kinds`, else the
    first."""
    lines = [line for line in card.lines(name) if line.value.strip(" ;")]

    def rank(line: Line) -> tuple[int, int]:
        types = {folded(t) for t in line.parameters("TYPE")}
        pref = line.parameter("PREF")
        first = int(pref) if pref.isdecimal() else (0 if "pref" in types else 101)
        return first, 0 if types & set(kinds) else 1

    return min(lines, key=rank, default=None)


def shown_phone(card: Component) -> Line | None:
    return preferred(card, "TEL", ("cell", "mobile", "iphone"))


def _number(line: Line) -> str:
    text = line.text().strip()
    return text[4:].partition(";")[0] if text.lower().startswith("tel:") else text


def _birth(line: Line | None) -> Birth | None:
    match = _BIRTHDAY.match(line.text().strip()) if line is not None else None
    if line is None or match is None:
        return None
    year = int(match[1]) if match[1] else None
    if year == _NO_YEAR or (year and line.parameter("X-APPLE-OMIT-YEAR") == str(year)):
        year = None
    try:
        dt.date(year or 2000, int(match[2]), int(match[3]))
    except ValueError:
        return None
    return Birth(int(match[2]), int(match[3]), year)


# ── Changing ──────────────────────────────────────────────────────────────────────────────────────────────


def put_value(card: Component, name: str, value: str) -> None:
    """Set a property (`value` already escaped): replace the preferred one, keeping its kind and group, else add one."""
    old = shown_phone(card) if name == "TEL" else preferred(card, name)
    if old is None:
        card.remove(name)  # removes empty ones
        card.add(new_line(name, value, _encoding(card, value)))
        return
    params: dict[str, str | tuple[str, ...]] = {}
    for key in ("TYPE", "PREF"):
        if old.parameters(key):
            params[key] = old.parameters(key)
    if old.value.lower().startswith("tel:"):
        params["VALUE"] = "uri"
        value = "tel:" + re.sub(r"[^+0-9]", "", value)
    line = new_line(name, value, params | _encoding(card, value), old.group)
    place = next(i for i, item in enumerate(card.items) if item is old)
    card.items[place] = line


def _encoding(card: Component, value: str) -> dict[str, str | tuple[str, ...]]:
    """Return the parameters for a non-ASCII value: vCard 2.1 is ASCII unless it says otherwise."""
    return {"CHARSET": "UTF-8"} if card.text("VERSION").strip() == "2.1" and not value.isascii() else {}


def address_value(address: str) -> str:
    """Return a free-form address as ADR, with all of it in the street's place."""
    return f";;{escape(address)};;;;"


# ── The person that a name means ───────────────────────────────────────────────────────────────────────
# Find the person that a name means: full, first or last name, nickname, or relation to the owner (`mum`, `dentist`).
# Case, accents, titles and possessives make no difference. A relation counts only where the card gives it for the
# person: in a bare RELATED, ROLE, TITLE or CATEGORIES, or at the start of a phrase of the NOTE (`my dentist, very
# gentle`), never where a note speaks of somebody else (`Anna's mum`, `call before noon, or ask the dentist`). Not
# covered: languages other than English for relations, typing errors.


NO_FIT = 99
SURELY_CALLED = 5
"""Worst fit of somebody who is called so: by a name, a nickname, or what the card says they are to the owner."""
MAX_ALIAS_CHARS = 60
_TITLES = frozenset(["dr", "prof", "mr", "mrs", "ms", "miss", "sir", "frau", "herr", "mme", "mlle", "dott", "ing"])
_SMALL = frozenset(["my", "our", "the", "a"])
_SAME = (
    frozenset(["mum", "mom", "mother", "mama", "mummy", "mommy", "mam"]),
    frozenset(["dad", "father", "papa", "daddy"]),
    frozenset(["grandma", "grandmother", "granny", "nan", "gran"]),
    frozenset(["grandpa", "grandfather", "grandad", "granddad"]),
    frozenset(["doctor", "gp", "physician"]),
    frozenset(["flatmate", "roommate"]),
    frozenset(["neighbour", "neighbor"]),
    frozenset(["kid", "child"]),
    frozenset(["fiance", "fiancee"]),
)
_KINDS = {
    "parent": frozenset(["mum", "mom", "mother", "dad", "father"]),
    "grandparent": frozenset(["grandma", "grandmother", "grandpa", "grandfather"]),
    "spouse": frozenset(["husband", "wife"]),
    "partner": frozenset(["husband", "wife", "girlfriend", "boyfriend", "spouse"]),
    "child": frozenset(["son", "daughter"]),
    "sibling": frozenset(["brother", "sister"]),
}
"""Members by kind of relation: asking for the kind finds each of them, but not the other way round."""
_RELATIONS = frozenset().union(*_SAME, _KINDS, *_KINDS.values()) | {
    *("aunt", "uncle", "cousin", "niece", "nephew", "friend", "boss", "colleague", "dentist", "vet", "plumber"),
    *("electrician", "landlord", "landlady", "lawyer", "accountant", "teacher", "coach", "trainer", "hairdresser"),
    *("barber", "babysitter", "nanny", "cleaner", "gardener", "mechanic", "therapist", "physio", "optician", "midwife"),
    *("pharmacist", "tutor", "carpenter", "painter", "roofer", "architect", "pastor", "notary", "handyman"),
    "caretaker",
}
_NO_NAMES = frozenset(
    "a about after again all always am an and another any are as at be because before both but by can could do does "
    "done each every everyone everything few for from had has have he her here hers him his how i if in into is it its "
    "just last late later less many me mine more most my never new next no not nothing now of off often on once one or "
    "other our out over please quite rather same shall she should so some soon still such than that the their them "
    "then there these they this those to today together tomorrow tonight too under until up us very was we well were "
    "what when where which while who why with without would yes yesterday yet you your".split()
)
_RECORDS = frozenset(
    "alarm appointment appointments calendar contact contacts document documents email emails event events file files "
    "grocery list lists mail mails message messages note notes packing reminder reminders shopping timer todo".split()
)
"""What the owner's things are called."""


def entities(workspace: Workspace) -> tuple[Entity, ...]:
    """Return the people in the owner's contacts, by every name they go by, for a planner's context.

    Aliases: first and last name, nicknames, and relations to the owner. Unreadable files are left out, and so are names
    that are no names (`is_no_name`): a stranger's card must not change what a request means.
    """
    cards = (card for file in read_cards(workspace).values() for card in file.cards)
    found = dict.fromkeys(entity for card in cards if (entity := _entity_of(card)) is not None)
    return tuple(sorted(found, key=lambda entity: (folded(entity.name), entity.aliases)))


@functools.lru_cache(maxsize=20_000)
def _entity_of(card: Card) -> Entity | None:
    if is_no_name(card.name):
        return None
    texts = (*card.titles, *card.related, *card.categories, card.notes)
    said = {word for text in texts for word in relations_in(text)}
    alike = {other for word in said for other in synonyms(word)}
    # Not whole titles: someone who mentions the printer seldom means the person of that trade.
    names = (*_parts_of(card), *card.nicknames, *sorted(said | alike))
    once: dict[str, str] = {}
    for name in names:
        if name and name != card.name and len(name) <= MAX_ALIAS_CHARS and not is_no_name(name):
            once.setdefault(folded(name), name)
    return Entity(card.name, "person", tuple(once.values()))


def is_no_name(name: str) -> bool:
    """Return whether a name holds nothing but words of grammar and time and what the owner's things are called:
    "tomorrow", "that", "the shopping list". "Anna List" is a name."""
    words = re.findall(r"[^\W\d_]+", folded(name))
    return bool(words) and all(word in _NO_NAMES or word in _RECORDS or word in WEEKDAYS for word in words)


def labels_of(card: Card) -> tuple[str, ...]:
    """Return the card's labels of the person: titles, and those RELATED that are relations, since others name somebody
    else."""
    return (*card.titles, *(text for text in card.related if relations_in(text)))


def _parts_of(card: Card) -> tuple[str, ...]:
    """Return first and last name; if the card does not separate them, the first and last word of the name."""
    if card.given or card.family or card.name == card.organisation:
        return card.given, card.family
    words = [word for word in card.name.split() if folded(word).strip(".") not in _TITLES]
    return (words[0], words[-1]) if words else ()


def relations_in(text: str) -> list[str]:
    """Return the relation words that a text gives for its subject: among the first words of a phrase."""
    found: list[str] = []
    for phrase in re.split(r"[.;,:!?()/\n]+", folded(text[:2_000])):
        for word in phrase.split()[:3]:
            if stem(word) in _RELATIONS and not word.endswith(("'s", "’s")):
                found.append(stem(word))
                break
            if "'" in word or "’" in word:
                break
    return list(dict.fromkeys(found))


_WHO_IS = re.compile(
    r"\b(?:s?he|they|who)(?:['’]?s|\s+is|['’]?re|\s+are)\s+"
    r"(?P<role>(?:the|our|my|an?)\s+[^\W\d_][\w'’&/ -]{1,60})",
    re.IGNORECASE,
)
"""Says what somebody is: "hes the dj", "she's our doula"."""
_ROLE_ENDS = re.compile(
    r"\s+(?:and|but|so|who|whose|that|her|his|their|on|at|by|from|with|can|could|please|pls|number|phone|mobile|e?mail|"
    r"\d\S*|\S*[@\d]\S*)(?:\s|$).*",
    re.IGNORECASE | re.DOTALL,
)
_OTHER_DEED = re.compile(
    r"\b(?:and|then|also)\s+(?:then\s+)?(?:tell|ask|e?-?mail|text|message|remind|write|send|let|call|ring|invite|book)\b",
    re.IGNORECASE,
)
"""Begins what is asked for beside the contact."""
_REACHED = re.compile(r"[\s,;.:()]*(?:\+?\d|\S+@|(?:tel|phone|mobile|mob|e-?mail|number)\b)", re.IGNORECASE)
_BY_AN_ARTICLE = re.compile(r"(?:the|our|my|an?)\s", re.IGNORECASE)
_OWN = rf"{''.join(f'(?<!{word} )' for word in ('in', 'on', 'at', 'of', 'to', 'from', 'with'))}\b(?:my|our|the)\s+"
_NO_ROLE = (
    (_NO_NAMES - {"of", "and", "for"})
    | _RECORDS
    | frozenset(
        "add address birthday born book call called entry good guy list lot bit man mobile named nice number one ones "
        "person phone put reach save sender store tel telephone thanks woman work works lives friendly maiden name "
        "names née formerly upstairs downstairs nearby abroad home flat house street road lane avenue town city "
        "village".split()
    )
    | frozenset((*WEEKDAYS, *MONTHS))
)
_MOST_ROLE_WORDS = 4


def role_said(words: str, name: str) -> str:
    """Return what a request says that a person is, beside their name: "Nele Busch, dog sitter", "the plumber Tom Hay",
    "she's our doula"; empty where it says nothing of the kind."""
    text, called = " ".join(words.split()), re.escape(" ".join(name.split()))
    text = text[: other.start()] if (other := _OTHER_DEED.search(text)) is not None else text
    behind = re.search(
        rf"(?<!\w){called}\s*[,(–-]\s*(?P<role>(?:[^,;.:()\n]|\.(?=\S))+)(?:[,;.:()]|$)", text, re.IGNORECASE
    )
    before = re.search(rf"{_OWN}(?P<role>(?:[^\W\d_]+\s+){{0,2}}?[^\W\d_]+),?\s+{called}\b", text, re.IGNORECASE)
    stated = _WHO_IS.search(text)
    if behind is not None and (
        behind["role"][:2].istitle() or not _is_shown_as_role(behind["role"], text, behind.end())
    ):
        behind = None  # a place, another name, or anything else that is said of them
    said = [found["role"] for found in (stated, behind, before) if found is not None]
    return next((role for one in said if (role := _as_role(one))), "")


def _is_shown_as_role(said: str, text: str, end: int) -> bool:
    """Whether words behind a name have an article, or are plain words in a row with a number or address."""
    if _BY_AN_ARTICLE.match(said) is not None:
        return True
    words = said.lower().split()
    knows_one = len(Spelling.shipped().strange(said)) < len(words)  # "dog sitter", and no place alone
    return knows_one and not any(word.endswith("ly") for word in words) and _REACHED.match(text, end) is not None


def _as_role(said: str) -> str:
    """Return a role without its article and what follows it; empty where the words name none."""
    role = _ROLE_ENDS.sub(
        "", re.sub(r"^(?:the|our|my|an?|new|\s)+\s", "", f"{said.strip()} ", flags=re.IGNORECASE)
    ).strip()
    parts = re.findall(r"[\w'’&/-]+", role)
    is_role = 0 < len(parts) <= _MOST_ROLE_WORDS and not any(folded(word) in _NO_ROLE for word in parts)
    return role if is_role and not re.search(r"[\d@]", role) else ""


_PARTICLES = frozenset("van der den de da di du dos la le von zu zur bin ibn al of the y ter".split())


def with_capitals(name: str) -> str:
    """Return a name that was typed in small letters with capitals: "aoife o'brien-kelly" as "Aoife O'Brien-Kelly"."""
    words = [word if word in _PARTICLES and k else _capitalised(word) for k, word in enumerate(name.split())]
    return " ".join(words)


def _capitalised(word: str) -> str:
    return re.sub(r"(?:^|(?<=-)|(?<=\b[od]['’]))[^\W\d_]", lambda letter: letter[0].upper(), word)


def synonyms(word: str) -> frozenset[str]:
    """Return other words for the same relation."""
    return next((group for group in _SAME if word in group), frozenset([word])) - {word}


def name_words(name: str) -> tuple[str, ...]:
    """Return the significant words of a name: without `my`, `Dr.` and a possessive."""
    plain = re.sub(r"['’]s?$", "", folded(name.strip()))
    words = re.findall(r"[\w@.+-]*\w", plain)
    return tuple(w for w in words if w not in _TITLES and w not in _SMALL) or tuple(words)


def _plain(word: str) -> str:
    """Return a form equal for `mueller` and `muller`, as names with an umlaut are written without one."""
    return re.sub(r"(?<=[aou])e", "", word)


def _kinds_asked(asked: tuple[str, ...]) -> set[str]:
    """Return the words for what somebody is to the owner, where that is asked for: "the dentist", "my boss"."""
    wanted = {" ".join(asked)}
    if len(asked) == 1:
        word = stem(asked[0])
        wanted |= {word} | synonyms(word) | _KINDS.get(word, frozenset())
    return wanted


def _label_words(card: Card) -> set[str]:
    labels = (*labels_of(card), *card.categories)
    return {folded(text) for text in labels} | {word for text in labels for word in stems(text)}


def fit(asked: tuple[str, ...], whole: str, card: Card) -> int:
    """Return how well a card fits what was asked for; lower is better, `NO_FIT` not at all.

    Args:
        asked: The `name_words` of what was asked for.
        whole: All of it, folded.
    """
    name, given, family = name_words(card.name), name_words(card.given), name_words(card.family)
    parts = {*name, *given, *family}
    nicknames = [name_words(nickname) for nickname in card.nicknames]
    if asked == name or whole in (folded(card.name), folded(card.email), card.phone):
        return 0
    if asked in nicknames:
        return 1
    if asked in (given, family) or (len(asked) > 1 and set(asked) <= parts):
        return 2
    known = parts.union(*nicknames)
    if set(asked) <= known or {_plain(word) for word in asked} <= {_plain(word) for word in known}:
        return 3
    wanted = _kinds_asked(asked)
    if wanted & _label_words(card):
        return 4
    if wanted & set(relations_in(card.notes)):
        return 5
    if all(len(word) >= 3 and any(part.startswith(word) for part in parts) for word in asked):
        return 6
    return 7 if {stem(word) for word in asked} <= stems(card.organisation) else NO_FIT


# ── Contacts ──────────────────────────────────────────────────────────────────────────────────────────────
# Tools for the owner's contacts: vCard files in `contacts/` from any program, and a configured CardDAV address book.
#
# A person is found by full name, first or last name, nickname, or relation to the owner (`mum`, `dentist`), ignoring
# case and accents. `entities` gives these names, and nothing else, to planners. Not covered: joining two cards of one
# person.

MAX_NAME_CHARS, MAX_ADDRESS_CHARS = 200, 1_000
MIN_BIRTH_YEAR = 1850
_NAMESPACE = uuid.UUID("0d9c1a52-7c11-4f8b-9f0e-58d2b3a1c6e7")
NO_EMAIL, NO_PHONE = EmailAddress(""), PhoneNumber("")

_PLACES = RecordPlaces()

ContactId = NewType("ContactId", str)


@dataclass(frozen=True, slots=True)
class Contact:
    """A person or firm the owner knows."""

    id: ContactId
    name: PersonName
    email: EmailAddress
    phone: PhoneNumber
    address: str
    birthday: dt.date | None
    """None also when only day and month are known."""
    organisation: str
    notes: str


@dataclass(frozen=True, slots=True)
class Birthday:
    name: PersonName
    date: dt.date
    """Day in the period asked for on which it falls."""
    age: int | None
    """Age they turn; None when the year is unknown."""


# ── Finding one ───────────────────────────────────────────────────────────────────────────────────────────


class _Contacts:
    """Every readable contact of the owner, for one call."""

    def __init__(self, call: CallContext, *, refresh: bool) -> None:
        self._call = call
        self.mirror = Mirror.configured(call, "contacts")
        if refresh and self.mirror is not None:
            self.mirror.refresh()

    @functools.cached_property
    def files(self) -> Mapping[str, CardFile]:
        return read_cards(self._call.workspace)

    @property
    def faults(self) -> Mapping[str, str]:
        return {path: file.fault for path, file in self.files.items() if file.fault}

    def all(self) -> Iterator[tuple[ContactId, Card]]:
        """Return every card with its id: the UID, or its place in the file where that is missing or taken."""
        seen: set[str] = set()
        for path, file in self.files.items():
            for card in file.cards:
                id_ = card.uid if card.uid and card.uid not in seen else f"{path}#{card.index}"
                seen.add(id_)
                yield ContactId(id_), card

    def notice_faults(self) -> None:
        if self.faults:
            self._call.notices.append(unreadable_notice(self.faults))

    def resolve(self, name: str) -> Contact:
        """Return the one person that `name` means. Raises: NotFound: names the nearest; Ambiguous: names all."""
        asked = name_words(name)
        if not asked:
            raise NotFound(f"{name[:100]!r} is no name; say whom to look for")
        fits = [(fit(asked, folded(name.strip()), card), _contact(id_, card)) for id_, card in self.all()]
        known = min((rank for rank, one in fits if one.id not in self._call.unconfirmed), default=NO_FIT)
        best_fit = min((rank for rank, _ in fits), default=NO_FIT)
        best: dict[tuple[str, str, str], Contact] = {}
        for rank, one in fits:
            if rank == best_fit < NO_FIT or rank == known <= SURELY_CALLED:
                best.setdefault((one.name, one.email, one.phone), one)
        self.notice_faults()
        if not best:
            raise NotFound(f"no contact is called {name.strip()[:100]!r}; {self._nearest(name)}")
        sure = [contact for contact in best.values() if contact.id not in self._call.unconfirmed]
        if len(sure) > 1:
            best = {(one.name, one.email, one.phone): one for one in sure}
        if len(best) > 1 and len(sure) == 1:
            aside = "; ".join(_told_apart(contact) for contact in best.values() if contact is not sure[0])
            self._call.notices.append(
                f"Also called so, but in your contacts without you: {aside[:300]} (`hearth policy contacts` confirms)."
            )
            return sure[0]
        if len(best) > 1:
            names = "; ".join(_told_apart(contact) for contact in list(best.values())[:10])
            raise Ambiguous(f"{len(best)} contacts fit {name.strip()[:100]!r}: {names}; say the full name")
        (found,) = best.values()
        if not sure:
            self._call.notices.append(
                f"{found.name[:100]} is in your contacts without you, so this may be a stranger's "
                "(`hearth policy contacts` confirms)."
            )
        return found

    def _nearest(self, name: str) -> str:
        known = {folded(n): card.name for _, card in self.all() for n in (card.name, card.given, *card.nicknames) if n}
        near = difflib.get_close_matches(folded(name.strip()[:100]), list(known), 5, 0.6)
        names = list(dict.fromkeys(known[n] for n in near))[:3]
        if names:
            return f"the nearest are {', '.join(repr(n) for n in names)}"
        people = [card.name for _, card in self.all()]
        if len(people) > 1:
            return f"none of the {len(people)} people in the contacts is called like it"
        return f"the only one in the contacts is {people[0]!r}" if people else "there are no contacts yet"

    def locate(self, contact: ContactId) -> _Place:
        """Return the place of a contact's card. Raises: NotFound."""
        wanted = str(contact)
        listing = self._call.workspace.list(FOLDER, "*.vcf")
        known = _PLACES.find(listing, wanted)
        if known is not None:
            with contextlib.suppress(ToolError):
                alone = cards_in(self._call.workspace.read(known))
                if (card := _card_called(wanted, known, alone)) is not None:
                    return self._place(known, card)
        for path, file in self.files.items():
            if (card := _card_called(wanted, path, file)) is not None:
                _PLACES.keep(listing, wanted, path)
                return self._place(path, card)
        hint = f" ({unreadable_notice(self.faults)})" if self.faults else ""
        raise NotFound(f"there is no contact {wanted[:200]!r}; look for it with find_contact first{hint}")

    def _place(self, path: str, card: Card) -> _Place:
        document = parse(self._call.workspace.read(path))
        return _Place(path, document, document.components("VCARD")[card.index], card)

    def save(self, place: _Place) -> None:
        """Write the changed file, or delete it when no card is left; a contact from a server is changed there first."""
        is_empty = not place.document.components("VCARD")
        mirrored = self.mirror if self.mirror is not None and self.mirror.owns(place.path) else None
        if mirrored is not None:
            mirrored.delete(place.path) if is_empty else mirrored.replace(place.path, place.document)
        elif is_empty:
            self._call.workspace.delete(place.path)
        else:
            self._call.workspace.write(place.path, place.document.render())


def _card_called(id: str, path: str, file: CardFile) -> Card | None:
    return next((card for card in file.cards if id and id in (card.uid, f"{path}#{card.index}")), None)


@dataclass(slots=True)
class _Place:
    """The place of a contact's card."""

    path: str
    document: Component
    component: Component
    card: Card


def _contact(id_: ContactId, card: Card) -> Contact:
    return Contact(
        id=id_,
        name=PersonName(card.name),
        email=EmailAddress(card.email),
        phone=PhoneNumber(card.phone),
        address=card.address,
        birthday=card.birth.date() if card.birth is not None else None,
        organisation=card.organisation,
        notes=card.notes,
    )


def _told_apart(contact: Contact) -> str:
    more = contact.organisation or contact.email or contact.phone
    return f"{contact.name} ({more})" if more else contact.name


def _contact_meant(contact: object, call: CallContext, given: Mapping[str, object]) -> Referent:  # noqa: ARG001
    """Resolve the id of a contact (a `Resolver`). Raises: NotFound."""
    contacts = _Contacts(call, refresh=False)
    id = ContactId(str(contact))
    card = contacts.locate(id).card
    if id != card.uid:  # the place of a card that has an id of its own is another spelling of that
        id = next((known for known, other in contacts.all() if other is card), id)
    state = (
        *(("the mail address", card.email), ("the phone number", card.phone), ("the address", card.address)),
        *(("the organisation", card.organisation), ("the notes", card.notes)),
    )
    return Referent(
        id,
        _told_apart(_contact(id, card)),
        aliases=(card.name, *card.nicknames, *((card.email,) if card.email else ())),
        state=state,
    )


ContactMeant = Annotated[ContactId, Names(_contact_meant)]
PostalAddress = Annotated[str, Names(as_written)]

# ── Tools ─────────────────────────────────────────────────────────────────────────────────────────────────

_contacts_tool = functools.partial(tool, source="contacts", timeout_s=60)
_finding = functools.partial(_contacts_tool, unconfirmed="file")


@_finding(origins=ID_IS_A_KEY, answer="{name}[, {email}][, {phone}][, {address}][, birthday {birthday}]", n_retries=1)
def find_contact(call: CallContext, name: PersonName) -> Contact:
    """Find one person in the owner's contacts: their e-mail address, phone number, address, birthday.

    Args:
        name: Full, first, last or nickname, or what they are to the owner (`mum`, `dentist`).
    Examples:
        what's Anna's phone number
        give me the address of Dr. Weiss
        what is my dentist's email
    """
    return _Contacts(call, refresh=True).resolve(str(name))


@_finding(origins=ID_IS_A_KEY, answer="{name}[, {email}][, {phone}]", answer_none="No contacts found.")
def list_contacts(call: CallContext, query: str = "") -> list[Contact]:
    """List people in the owner's contacts, all or those that match some words, by name.

    Args:
        query: Words of the name, organisation, address or notes, or part of a number or e-mail address.
    Examples:
        show my contacts
        who do I know at Siemens
        list everyone in Munich
    """
    contacts = _Contacts(call, refresh=True)
    contacts.notice_faults()
    if id := id_asked(query):
        return [_contact(id_, card) for id_, card in contacts.all() if id_ == id]
    wanted, plain = Query(query), folded(query.strip())
    digits = re.sub(r"\D", "", query)
    found: list[Contact] = []
    for id_, card in contacts.all():
        by_number = len(digits) >= 3 and not re.search(r"[^\W\d]", query) and digits in re.sub(r"\D", "", card.phone)
        if not plain or wanted.matches(card.words) or ("@" in plain and plain in folded(card.email)) or by_number:
            found.append(_contact(id_, card))
    return sorted(found, key=lambda contact: (folded(contact.name), contact.id))


_ONE_BIRTHDAY = re.compile(
    r"\bbirthday (?:is |comes |coming )*(?:up )?next\b(?! (?:week|month|year))"
    r"|(?<!['’]s )\b(?:next|soonest) birthday\b(?! of)",
    re.I,
)
"""Asks for the soonest birthday alone, whoever's it is."""


@_finding(answer="{name}: {date}[, turns {age}]", answer_none="No birthdays in that time.")
def upcoming_birthdays(call: CallContext, start: dt.date | None = None, end: dt.date | None = None) -> list[Birthday]:
    """List birthdays of the owner's contacts, soonest first; of a year from today when no time is given.

    Args:
        start: First day that counts.
        end: The first day that does not count any more.
    Examples:
        whose birthday is next
        who has a birthday this month
        any birthdays next week
    """
    today = call.now.date()
    first = start or (today if end is None or end > today else _a_year(end, -1))
    last = end or _a_year(first, 1)
    if last == first:
        last = first + dt.timedelta(days=1) if first < dt.date.max else last
    if last <= first:
        raise ToolError(f"the end {last.isoformat()} is not after the start {first.isoformat()}; give a later end")
    if last.year - first.year > 100:
        raise ToolError(f"{first.isoformat()} to {last.isoformat()} is too long; ask for at most a hundred years")
    contacts = _Contacts(call, refresh=True)
    contacts.notice_faults()
    found: list[Birthday] = []
    for _, card in contacts.all():
        if card.birth is None:
            continue
        for year in range(first.year, last.year + 1):
            day = card.birth.in_year(year)
            if first <= day < last and (card.birth.year is None or card.birth.year < year):
                age = year - card.birth.year if card.birth.year else None
                found.append(Birthday(PersonName(card.name), day, age))
    found = sorted(dict.fromkeys(found), key=lambda birthday: (birthday.date, folded(birthday.name)))
    if start is None and end is None and _ONE_BIRTHDAY.search(call.words) is not None:
        found = [birthday for birthday in found if birthday.date == found[0].date]
    return found


def _a_year(day: dt.date, n: int) -> dt.date:
    """Return the same day `n` years on, as near as the calendar allows."""
    year = min(max(day.year + n, 1), 9999)
    return day.replace(year=year) if (day.month, day.day) != (2, 29) else dt.date(year, 3, 1)


def _undo_on_server(arguments: Mapping[str, object], result: Plain, call: CallContext) -> None:  # noqa: ARG001
    mirror = Mirror.configured(call, "contacts")
    if mirror is None or not isinstance(result, dict):
        return
    contact = ContactId(str(result["id"]))
    try:
        path = _Contacts(call, refresh=False).locate(contact).path
    except NotFound:  # the call added it, and the journal has removed the copy
        mirror.undo(f"{mirror.folder}/{file_name(contact)}.vcf")
        return
    if mirror.owns(path):
        mirror.undo(path)


_adding = functools.partial(_contacts_tool, effect="change", undo=_undo_on_server, n_retries=1)
_changing = functools.partial(_adding, unconfirmed="file", origins=ID_IS_A_KEY)


@_adding(answer="Added to your contacts: {name}[, {email}][, {phone}].")
def add_contact(
    call: CallContext,
    name: PersonName,
    email: EmailAddress = NO_EMAIL,
    phone: PhoneNumber = NO_PHONE,
    address: PostalAddress = "",
    birthday: dt.date | None = None,
) -> Contact:
    """Add a person to the owner's contacts.

    Args:
        name: Full name.
        email: E-mail address.
        phone: Phone number.
        address: Postal address.
        birthday: Day of birth.
    Examples:
        add Priya Raman to my contacts, her email is priya.raman@posteo.net
        save Tom's number 0171 5550123
        new contact Lena Vogt, born 3 May 1990
    """
    full = " ".join(checked_text(str(name), "name", MAX_NAME_CHARS).split())
    if not full:
        raise ToolError("a contact needs a name; say who it is")
    if call.words and call.words.islower() and full.islower():
        full = with_capitals(full)
    given, _, family = full.rpartition(" ")
    uid = str(uuid.uuid5(_NAMESPACE, call.key))
    card = new_component(
        "VCARD",
        new_line("VERSION", "3.0"),
        new_line("PRODID", "-//Hearth//hearth-agent//EN"),
        new_line("UID", uid),
        new_line("FN", escape(full)),
        new_line("N", f"{escape(family)};{escape(given)};;;" if given else f";{escape(family)};;;"),
        new_line("REV", f"{call.now.astimezone(dt.UTC):%Y%m%dT%H%M%SZ}"),
    )
    _put_details(call, card, email, phone, address, birthday)
    _put_role(call, card, full)
    contacts = _Contacts(call, refresh=False)
    if any(folded(known.name) == folded(full) for _, known in contacts.all()):
        call.notices.append(f"There is another contact called {full!r} already.")
    document = Component(items=[card])
    if contacts.mirror is not None:
        contacts.mirror.create(uid, document)
    else:
        call.workspace.write(f"{FOLDER}/{uid}.vcf", document.render())
    return _contact(ContactId(uid), card_of(0, card))


@_changing(answer="Changed: {name}[, {email}][, {phone}][, {address}][, birthday {birthday}].")
def change_contact(
    call: CallContext,
    contact: ContactMeant,
    email: EmailAddress = NO_EMAIL,
    phone: PhoneNumber = NO_PHONE,
    address: PostalAddress = "",
    birthday: dt.date | None = None,
) -> Contact:
    """Change what the owner's contacts say about a person; what is not given stays.

    Args:
        contact: The contact, as found.
        email: New e-mail address.
        phone: New phone number.
        address: New postal address.
        birthday: Day of birth.
    Examples:
        Anna has a new number, 0151 5550199
        change Ben's email to ben@example.net
        note that Karin's birthday is on 4 June 1981
    """
    if not (email or phone or address.strip() or birthday):
        raise ToolError("nothing to change was given; say the new e-mail address, number, address or birthday")
    contacts = _Contacts(call, refresh=False)
    place = contacts.locate(contact)
    _put_details(call, place.component, email, phone, address, birthday)
    _put_role(call, place.component, place.card.name)
    place.component.put(new_line("REV", f"{call.now.astimezone(dt.UTC):%Y%m%dT%H%M%SZ}"))
    result = _contact(contact, card_of(0, place.component))
    contacts.save(place)
    return result


@_changing(answer="Deleted from your contacts: {name}.")
def delete_contact(call: CallContext, contact: ContactMeant) -> Contact:
    """Delete a person from the owner's contacts.

    Args:
        contact: The contact, as found.
    Examples:
        remove Olaf Brandt from my address book
        delete the plumber from my contacts
    """
    contacts = _Contacts(call, refresh=False)
    place = contacts.locate(contact)
    place.document.items = [item for item in place.document.items if item is not place.component]
    contacts.save(place)
    return _contact(contact, place.card)


def _put_details(
    call: CallContext, card: Component, email: str, phone: str, address: str, birthday: dt.date | None
) -> None:
    """Write the given details into a card. Raises: ToolError: a value that cannot be right."""
    if email:
        put_value(card, "EMAIL", escape(checked_email(email)))
    if phone:
        number = checked_text(phone, "phone number", 60)
        if len(re.sub(r"\D", "", number)) < 2 or re.search(r"[^\d+()/.\-\s#*xext,;]", number):
            raise ToolError(f"{number!r} is not a phone number; expected one such as '+49 30 1234567'")
        put_value(card, "TEL", escape(number))
    if address.strip():
        put_value(card, "ADR", address_value(checked_text(address, "address", MAX_ADDRESS_CHARS)))
    if birthday is not None:
        today = call.now.date()
        is_without_year = today <= birthday <= _a_year(today, 8 if (birthday.month, birthday.day) == (2, 29) else 1)
        if birthday.year < MIN_BIRTH_YEAR or (birthday > today and not is_without_year):
            raise ToolError(f"{birthday.isoformat()} is no birthday; expected a day between {MIN_BIRTH_YEAR} and today")
        # "3 May" is understood as the next one: in which year somebody was born was not said. A known year stays.
        known = card_of(0, card).birth
        if is_without_year and known is not None and known.year is not None:
            birthday, is_without_year = Birth(birthday.month, birthday.day, known.year).in_year(known.year), False
        card.remove("BDAY")
        card.add(new_line("BDAY", f"--{birthday:%m%d}" if is_without_year else birthday.isoformat()))
        if is_without_year:
            call.notices.append(f"Kept as the birthday, without a year: {birthday.day} {birthday:%B}")


def _put_role(call: CallContext, card: Component, name: str) -> None:
    """Keep what the owner says beside that the person is ("she's the florist") as the card's title, or say why not."""
    role = role_said(call.words, name)
    if not role or folded(role) in folded(f"{name} {card.text('ADR')}"):
        return
    is_new = re.search(rf"\bnew\s+{re.escape(role)}\b", call.words, re.IGNORECASE) is not None
    if (known := card.text("TITLE").strip()) and folded(known) != folded(role) and not is_new:
        call.notices.append(f"“{role}” was left out: the contact says “{known[:100]}” already")
        return
    put_value(card, "TITLE", escape(checked_text(role, "role", MAX_NAME_CHARS)))
    call.notices.append(f"Kept as what {name.strip()[:100]} is to you or does: {role}")


def known_people(call: CallContext) -> tuple[Entity, ...]:
    """Return the people in the owner's contacts, for planners; an entry point of the group `hearth.entities`."""
    return entities(call.workspace)


TOOLS = (find_contact, list_contacts, add_contact, change_contact, delete_contact, upcoming_birthdays)
