"""Tools for the owner's contacts: vCard files in `contacts/` from any program, and a configured CardDAV address book.

A person is found by full name, first or last name, nickname, or relation to the owner (`mum`, `dentist`), ignoring case
and accents. `entities` gives these names, and nothing else, to planners. Not covered: joining two cards of one person.
"""

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
    checked_email,
    checked_text,
    escape,
    new_component,
    new_line,
    parse,
    unreadable_notice,
)
from hearth.formats.record_places import RecordPlaces
from hearth.formats.tool_signature import ID_IS_A_KEY, Names, as_written, tool
from hearth.language.text.word_match import Query, folded, id_asked
from hearth.protocols import CallContext
from hearth.tools.pim.cards import (
    FOLDER,
    NO_FIT,
    SURELY_CALLED,
    Card,
    CardFile,
    address_value,
    card_of,
    cards_in,
    fit,
    name_words,
    put_value,
    read_cards,
    role_said,
    with_capitals,
)
from hearth.tools.pim.cards import entities as entities  # part of this module's interface
from hearth.tools.pim.servers.mirror import Mirror, file_name
from hearth.types import EmailAddress, Entity, PersonName, PhoneNumber, Plain, Referent

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
    return sorted(dict.fromkeys(found), key=lambda birthday: (birthday.date, folded(birthday.name)))


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
        if birthday.year < MIN_BIRTH_YEAR or birthday > call.now.date():
            raise ToolError(f"{birthday.isoformat()} is no birthday; expected a day between {MIN_BIRTH_YEAR} and today")
        card.remove("BDAY")
        card.add(new_line("BDAY", birthday.isoformat()))


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
