"""Read and change vCards 2.1, 3.0 and 4.0 in the owner's `contacts/`.

A file may hold several cards. Properties this module does not know, photographs, groups and odd encodings stay byte for
byte when a card is changed. Not covered: of several addresses of a card, only the preferred one is used; the others
stay in the file.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
from dataclasses import dataclass

from hearth.formats.content_lines import Component, Line, escape, new_line, parse, read_folder, shown, split_value
from hearth.language.text.normalize import folded
from hearth.protocols import Workspace

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
    email, phone = shown_email(card), shown_phone(card)
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


def shown_email(card: Component) -> Line | None:
    return preferred(card, "EMAIL")


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
