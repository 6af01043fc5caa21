from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pytest

from hearth.errors import Ambiguous, NotFound, ToolError
from hearth.formats.tool_signature import FunctionTool
from hearth.protocols import CallContext
from hearth.storage.database import Store
from hearth.storage.workspace import Folder
from hearth.testing import FIXED_NOW, InMemoryWorkspace, check_tool, make_call
from hearth.tools.pim.contacts import (
    TOOLS,
    Contact,
    ContactId,
    add_contact,
    change_contact,
    delete_contact,
    entities,
    find_contact,
    list_contacts,
    relations_in,
    role_said,
    upcoming_birthdays,
    with_capitals,
)
from hearth.types import EmailAddress, Entity, PersonName, PhoneNumber, Plain
from tests.work import calls_of


class Home:
    """One owner's folder; every call gets a key of its own."""

    def __init__(self, files: dict[str, str | bytes] | None = None, now: dt.datetime = FIXED_NOW) -> None:
        self.workspace = InMemoryWorkspace({f"contacts/{name}": data for name, data in (files or {}).items()}, now)
        self.now = now
        self.n_calls = 0
        self.notices: list[str] = []

    def call(self) -> CallContext:
        self.n_calls += 1
        call = make_call(f"k{self.n_calls}", self.now, self.workspace)
        self.notices = call.notices
        return call

    def text(self, name: str) -> str:
        return self.workspace.read(f"contacts/{name}").decode().replace("\r\n", "\n")

    def find(self, name: str) -> Contact:
        found = find_contact(self.call(), PersonName(name))
        assert isinstance(found, Contact)
        return found


def card(name: str, *lines: str, version: str = "3.0") -> str:
    given, _, family = name.rpartition(" ")
    n_line = [f"N:{family};{given};;;"] if given else [f"N:;{family};;;"]
    return "\n".join(["BEGIN:VCARD", f"VERSION:{version}", f"FN:{name}", *n_line, *lines, "END:VCARD", ""])


PEOPLE: dict[str, str | bytes] = {
    "zoe.vcf": card(
        "Zoë Müller",
        "UID:zoe",
        "NICKNAME:Zed,Zozo",
        "item1.EMAIL;type=INTERNET;type=HOME:old@example.org",
        "item1.X-ABLabel:_$!<Home>!$_",
        "EMAIL;type=INTERNET;type=pref:zoe@example.org",
        "TEL;TYPE=HOME,VOICE:+49 30 1",
        "TEL;TYPE=CELL:+49 171 2",
        "ADR;TYPE=HOME:;;Rosenweg 3;Köln;;50667;Germany",
        "BDAY:1985-02-28",
        "ORG:Siemens\\; AG;Research",
        "NOTE:Lives upstairs.\\nAnna's friend",
        "PHOTO;ENCODING=b;TYPE=JPEG:/9j/4AAQSkZJRg==",
    ),
    "many.vcf": card("Ben Carter", "UID:ben-c", "EMAIL:ben@example.org", "NOTE:My dentist\\, very gentle")
    + card("Ben Okafor", "UID:ben-o", "ORG:Harbour Ltd", "TEL:+44 20 7946 0958")
    + card("Margret Vogt", "UID:mum", "RELATED;VALUE=text:mum", "BDAY:--0412", version="4.0"),
    "zimmer.vcf": card("Rolf Zimmer", "TITLE:Printer", "NICKNAME:rolf,Rollo"),
    "weiss.vcf": "BEGIN:VCARD\nVERSION:3.0\nFN:Dr. Weiss\nROLE:Vet\nTEL:030 5\nEND:VCARD\n",
    "anna.vcf": card("Anna Maria Schmidt", "UID:anna", "RELATED;TYPE=spouse;VALUE=text:Tom", "BDAY:19900503T000000Z"),
}


@pytest.fixture
def owner() -> Home:
    return Home(dict(PEOPLE))


SAMPLES: list[tuple[FunctionTool, dict[str, Plain]]] = [
    (find_contact, {"name": "zoe"}),
    (list_contacts, {"query": "ben"}),
    (upcoming_birthdays, {"start": "2026-12-01", "end": "2027-12-01"}),
    (add_contact, {"name": "A B", "email": "a@b.org", "phone": "+49 30 1", "address": "x", "birthday": "1990-01-01"}),
    (
        change_contact,
        {"contact": "zoe", "email": "a@b.org", "phone": "030 1", "address": "x", "birthday": "1990-01-01"},
    ),
    (delete_contact, {"contact": "ben-c"}),
]


@pytest.mark.parametrize(
    ("tool", "arguments"), SAMPLES, ids=lambda value: getattr(value, "spec", None) and value.spec.name
)
def test_contract(tool: FunctionTool, arguments: dict[str, Plain], owner: Home) -> None:
    check_tool(tool, arguments, owner.call())


def test_every_tool_is_described_for_planners() -> None:
    for t in TOOLS:
        assert 2 <= len(t.spec.examples) <= 4
        assert t.spec.answer
        assert t.spec.source == "contacts"
    assert find_contact.spec.parameters[0].type == "PersonName"
    assert find_contact.spec.fields["email"] == "EmailAddress"


# ── Finding one ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_card_is_read_whole(owner: Home) -> None:
    assert owner.find("Zoë Müller") == Contact(
        ContactId("zoe"),
        PersonName("Zoë Müller"),
        EmailAddress("zoe@example.org"),
        PhoneNumber("+49 171 2"),
        "Rosenweg 3, Köln, 50667, Germany",
        dt.date(1985, 2, 28),
        "Siemens; AG, Research",
        "Lives upstairs.\nAnna's friend",
    )


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("zoe", "Zoë Müller"),
        ("ZOE MULLER", "Zoë Müller"),
        ("Mueller", "Zoë Müller"),
        ("Zed", "Zoë Müller"),
        ("Zozo's", "Zoë Müller"),
        ("zoe@example.org", "Zoë Müller"),
        ("Ben Carter", "Ben Carter"),
        ("ben okafor", "Ben Okafor"),
        ("Okafor", "Ben Okafor"),
        ("my dentist", "Ben Carter"),
        ("mum", "Margret Vogt"),
        ("my mother", "Margret Vogt"),
        ("parent", "Margret Vogt"),
        ("Dr. Weiss", "Dr. Weiss"),
        ("weiss", "Dr. Weiss"),
        ("the vet", "Dr. Weiss"),
        ("Anna", "Anna Maria Schmidt"),
        ("Anna Schmidt", "Anna Maria Schmidt"),
        ("Marg", "Margret Vogt"),
        ("Harbour", "Ben Okafor"),
        ("the printer", "Rolf Zimmer"),
    ],
)
def test_a_person_is_found_by_every_name(owner: Home, said: str, name: str) -> None:
    assert owner.find(said).name == name


def test_several_that_fit_are_listed(owner: Home) -> None:
    with pytest.raises(
        Ambiguous,
        match=r"2 contacts fit 'Ben': Ben Carter \(ben@example.org\); Ben Okafor \(Harbour Ltd\); say the full",
    ):
        owner.find("Ben")


def test_nobody_names_the_nearest(owner: Home) -> None:
    with pytest.raises(NotFound, match="no contact is called 'Bene'; the nearest are 'Ben "):
        owner.find("Bene")
    with pytest.raises(
        NotFound, match=r"no contact is called 'Xq'; none of the \d+ people in the contacts is called like it"
    ):
        owner.find("Xq")
    with pytest.raises(NotFound, match="there are no contacts yet"):
        Home().find("Anna")
    for empty in ("", " \n"):
        with pytest.raises(NotFound, match="is no name; say whom to look for"):
            owner.find(empty)


@pytest.mark.parametrize("said", ["friend", "spouse", "Tom", "husband", "wife"])
def test_a_relation_to_somebody_else_does_not_count(owner: Home, said: str) -> None:
    with pytest.raises(NotFound):
        owner.find(said)


@pytest.mark.parametrize(
    ("note", "relations"),
    [
        ("my dentist, very gentle", ["dentist"]),
        ("Mum", ["mum"]),
        ("old boss; tennis coach", ["boss", "coach"]),
        ("Anna's mum", []),
        ("mum's friend", []),
        ("met at the party, my best friend", ["friend"]),
        ("call before noon or ask the dentist", []),
        ("", []),
    ],
)
def test_relations_in_notes(note: str, relations: list[str]) -> None:
    assert relations_in(note) == relations


def test_two_cards_of_the_same_person_are_one() -> None:
    copies: dict[str, str | bytes] = {
        "a.vcf": card("Ann", "UID:1", "EMAIL:a@x.org"),
        "b.vcf": card("Ann", "EMAIL:a@x.org"),
    }
    assert Home(copies).find("ann").email == "a@x.org"


def test_old_and_odd_cards_are_read() -> None:
    home = Home(
        {
            "qp.vcf": b"BEGIN:VCARD\r\nVERSION:2.1\r\nN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCl=\r\nler;Ann=C3=A4\r\n"
            b"TEL;HOME:1\r\nTEL;CELL;PREF:2\r\nEND:VCARD\r\n",
            "latin.vcf": b"BEGIN:VCARD\r\nVERSION:3.0\r\nFN:J\xf6rg\r\nN:;J\xf6rg;;;\r\nEND:VCARD\r\n",
            "firm.vcf": "BEGIN:VCARD\nVERSION:3.0\nN:;;;;\nORG:Stadtwerke\nTEL;VALUE=uri:tel:+49-30-7;ext=1\nEND:VCARD\n",
            "v4.vcf": card(
                "Li", "EMAIL;PREF=2:b@x.org", "EMAIL;PREF=1:mailto:a@x.org", "BDAY;VALUE=text:spring", version="4.0"
            ),
            "nameless.vcf": "BEGIN:VCARD\nVERSION:3.0\nEMAIL:x@y.z\nEND:VCARD\n",
            "cut.vcf": "BEGIN:VCARD\nVERSION:3.0\nFN:Cut\n",
            "junk.vcf": b"\x00\x01",
        }
    )
    found = list_contacts(home.call())
    assert [(c.name, c.email, c.phone, c.birthday) for c in found] == [
        ("Annä Müller", "", "2", None),
        ("Jörg", "", "", None),
        ("Li", "a@x.org", "", None),
        ("Stadtwerke", "", "+49-30-7", None),
    ]
    (notice,) = home.notices
    assert notice == (
        "Left out because it could not be read: contacts/cut.vcf (BEGIN:VCARD has no END; the file is cut off); "
        "contacts/junk.vcf (no BEGIN line; expected an iCalendar or vCard file); "
        "contacts/nameless.vcf (a card without a name)."
    )


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("ben", ["Ben Carter", "Ben Okafor"]),
        ("siemens", ["Zoë Müller"]),
        ("koln", ["Zoë Müller"]),
        ("7946", ["Ben Okafor"]),
        ("@example.org", ["Ben Carter", "Zoë Müller"]),
        ("nothing at all", []),
    ],
)
def test_listing(owner: Home, query: str, names: list[str]) -> None:
    assert [c.name for c in list_contacts(owner.call(), query)] == names


def test_entities_are_the_names_a_person_goes_by(owner: Home) -> None:
    found = {e.name: e for e in entities(owner.workspace)}
    assert found["Zoë Müller"] == Entity("Zoë Müller", "person", ("Zoë", "Müller", "Zed", "Zozo"))
    assert found["Ben Carter"].aliases == ("Ben", "Carter", "dentist")
    assert {"Margret", "Vogt", "mum", "mother", "mom"} <= set(found["Margret Vogt"].aliases)
    assert set(found["Dr. Weiss"].aliases) == {"Weiss", "vet"}
    assert found["Rolf Zimmer"].aliases == ("Rolf", "Zimmer", "Rollo"), "a title may be a thing; a name counts once"
    assert "spouse" not in found["Anna Maria Schmidt"].aliases
    assert [e.name for e in entities(owner.workspace)] == sorted(found, key=str.casefold)
    assert entities(InMemoryWorkspace({"contacts/bad.vcf": b"\x00"})) == ()


# ── Birthdays ─────────────────────────────────────────────────────────────────────────────────────────────


def birthdays(
    home: Home, start: dt.date | None = None, end: dt.date | None = None
) -> list[tuple[str, str, int | None]]:
    return [(b.name, b.date.isoformat(), b.age) for b in upcoming_birthdays(home.call(), start, end)]


def test_birthdays_of_the_coming_year(owner: Home) -> None:
    assert birthdays(owner) == [
        ("Zoë Müller", "2027-02-28", 42),
        ("Margret Vogt", "2027-04-12", None),
        ("Anna Maria Schmidt", "2027-05-03", 37),
    ]
    assert birthdays(owner, dt.date(2027, 4, 1), dt.date(2027, 5, 3)) == [("Margret Vogt", "2027-04-12", None)]
    assert birthdays(owner, dt.date(2027, 5, 3), dt.date(2027, 5, 3)) == [("Anna Maria Schmidt", "2027-05-03", 37)]
    assert birthdays(owner, None, dt.date(2026, 11, 1))[0] == ("Zoë Müller", "2026-02-28", 41), "the year before an end"
    with pytest.raises(ToolError, match="the end 2027-01-01 is not after the start 2027-02-01; give a later end"):
        birthdays(owner, dt.date(2027, 2, 1), dt.date(2027, 1, 1))
    with pytest.raises(ToolError, match="is too long; ask for at most a hundred years"):
        birthdays(owner, dt.date(1900, 2, 1), dt.date(2027, 1, 1))


def test_birthdays_in_every_form() -> None:
    forms = [
        "1985-02-29",
        "1984-02-29",
        "19840301",
        "--0302",
        "1604-03-03",
        "2026-03-04",
        "2030-03-05",
        "1985-13-01",
        "x",
    ]
    home = Home({"a.vcf": "".join(card(f"P{n}", f"BDAY:{form}") for n, form in enumerate(forms))})
    assert birthdays(home, dt.date(2027, 1, 1), dt.date(2028, 1, 1)) == [
        ("P1", "2027-02-28", 43),
        ("P2", "2027-03-01", 43),
        ("P3", "2027-03-02", None),
        ("P4", "2027-03-03", None),
        ("P5", "2027-03-04", 1),
    ]
    assert home.find("P3").birthday is None


# ── Changing ──────────────────────────────────────────────────────────────────────────────────────────────


def test_an_added_contact_is_a_card_that_other_programs_read() -> None:
    import vobject

    home = Home()
    added = add_contact(
        home.call(),
        PersonName("  Änna  Maria, Vogt 🎉"),
        EmailAddress("anna@example.org"),
        PhoneNumber("+49 (30) 123-45 ext. 6"),
        "Rom 1, 50667 Köln\nGermany",
        dt.date(1990, 5, 3),
    )
    assert home.workspace.list() == (f"contacts/{added.id}.vcf",)
    read = vobject.readOne(home.workspace.read(f"contacts/{added.id}.vcf").decode())
    assert read.fn.value == "Änna Maria, Vogt 🎉"
    assert read.email.value == "anna@example.org"
    assert read.bday.value == "1990-05-03"
    assert (read.n.value.family, read.n.value.given) == ("🎉", "Änna Maria, Vogt")
    assert (added.name, added.phone, added.birthday) == (read.fn.value, "+49 (30) 123-45 ext. 6", dt.date(1990, 5, 3))
    assert added.address == "Rom 1, 50667 Köln, Germany"
    assert home.find("anna@example.org") == added
    assert home.notices == []
    add_contact(home.call(), PersonName("Anna Maria, Vogt 🎉"))
    assert home.notices == ["There is another contact called 'Anna Maria, Vogt 🎉' already."]


@pytest.mark.parametrize(
    ("words", "name", "role"),
    [
        ("new contact: Rita Sund, tree surgeon, rita@sund.example", "Rita Sund", "tree surgeon"),
        ("add Rita Sund (GP), 0171 2233445", "Rita Sund", "GP"),
        ("put rita sund in my contacts, shes the florist, 0171 2233445", "rita sund", "florist"),
        ("Rita Sund, rita@sund.example, she's our doula, can you save her", "Rita Sund", "doula"),
        ("add Rita Sund who is the gardener at number 9", "Rita Sund", "gardener"),
        ("please add the dog sitter Rita Sund, 0176 4433221", "Rita Sund", "dog sitter"),
        ("got a number off the new barman, Rita Sund, its 085 555", "Rita Sund", "barman"),
        ("add Rita Sund, chair of the tidy towns, 0171", "Rita Sund", ""),
        ("add Rita Sund, chair of governors, 0171", "Rita Sund", "chair of governors"),
        ("new contact: Rita Sund, rita.sund@gmx.example, Lindenallee 22, 50968 Köln", "Rita Sund", ""),
        ("new contact: Rita Sund, Gartenweg, Leipzig", "Rita Sund", ""),
        ("put Rita Sund in the address book, she lives at Via Roma 12, Torino", "Rita Sund", ""),
        ("new number for Rita Sund, she is away till monday, 0171", "Rita Sund", ""),
        ("add Rita Sund, please, and save her", "Rita Sund", ""),
        ("new girl on my team, Rita Sund, 07700 900318, save her", "Rita Sund", ""),
        ("correct the phone number of Rita Sund, 0171", "Rita Sund", ""),
        ("add Rita Sund 0171 22, hes the dj", "Rita Sund", "dj"),
        ("Rita Sund, dog warden, rsund@x.example", "Rita Sund", "dog warden"),
        ("Rita Sund, dog sitter, 0770 900123, add her", "Rita Sund", "dog sitter"),
        ("add Rita Sund 0171 22, it's a landline", "Rita Sund", ""),
        ("add Rita Sund 0171 22 and tell Joe he's an idiot", "Rita Sund", ""),
        ("add Rita Sund 0171 22 and tell Joe she's the florist", "Rita Sund", ""),
        ("add Rita Sund (maiden name Kerr), 0171 22", "Rita Sund", ""),
        ("new number for Rita Sund 0171, she's at the new flat", "Rita Sund", ""),
        ("add Rita Sund, sunday, 0171 22", "Rita Sund", ""),
        ("add Rita Sund, hopefully, 0171 22", "Rita Sund", ""),
        ("add Rita Sund, ballyvaughan, 0171 22", "Rita Sund", ""),
        ("add Rita Sund, dog sitter", "Rita Sund", ""),
        ("", "Rita Sund", ""),
    ],
)
def test_what_somebody_is_is_read_beside_the_name(words: str, name: str, role: str) -> None:
    assert role_said(words, name) == role


def test_what_is_said_of_a_person_is_kept_and_finds_them() -> None:
    home = Home()
    call = replace(home.call(), words="add rita o'dowd to my contacts, shes the florist, 0171 2233445")
    added = add_contact(call, PersonName("rita o'dowd"), phone=PhoneNumber("0171 2233445"))
    assert added.name == "Rita O'Dowd"
    assert call.notices == ["Kept as what Rita O'Dowd is to you or does: florist"]
    assert "TITLE:florist\n" in home.text(f"{added.id}.vcf")
    assert home.find("the florist") == added
    call = replace(home.call(), words="rita is my cousin now? new number 0171 2, she's the mayor")
    change_contact(call, added.id, phone=PhoneNumber("0171 22"))
    assert call.notices == ["“mayor” was left out: the contact says “florist” already"]
    assert "TITLE:florist\n" in home.text(f"{added.id}.vcf")
    call = replace(home.call(), words="Rita O'Dowd has 0171 23, she's the new mayor")
    change_contact(call, added.id, phone=PhoneNumber("0171 23"))
    assert "TITLE:mayor\n" in home.text(f"{added.id}.vcf")
    assert "florist" not in home.text(f"{added.id}.vcf")


def test_a_name_keeps_its_letters_where_the_owner_writes_capitals() -> None:
    home = Home()
    call = replace(home.call(), words="Add bell hooks to my contacts")
    assert add_contact(call, PersonName("bell hooks")).name == "bell hooks"
    assert add_contact(home.call(), PersonName("danah boyd")).name == "danah boyd"
    assert with_capitals("willemijn van der kolk-de vries") == "Willemijn van der Kolk-De Vries"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": ""}, "a contact needs a name; say who it is"),
        ({"name": " \n"}, "a contact needs a name"),
        ({"name": "x" * 201}, "the name has 201 characters; expected at most 200"),
        ({"name": "a\0"}, "the name holds the character"),
        ({"email": "nobody"}, "'nobody' is not an e-mail address"),
        ({"phone": "call me"}, r"'call me' is not a phone number; expected one such as '\+49 30 1234567'"),
        ({"phone": "1" * 61}, "the phone number has 61 characters"),
        ({"address": "x" * 1001}, "the address has 1001 characters"),
        ({"birthday": dt.date(2028, 11, 21)}, "2028-11-21 is no birthday; expected a day between 1850 and today"),
        ({"birthday": dt.date(1849, 1, 1)}, "is no birthday"),
    ],
)
def test_what_cannot_be_added_says_why_and_writes_nothing(
    arguments: dict[str, object], message: str, owner: Home
) -> None:
    before = dict(owner.workspace.files)
    with pytest.raises(ToolError, match=message):
        add_contact.call({"name": "Ann"} | arguments, owner.call())
    if "name" not in arguments:
        with pytest.raises(ToolError, match=message):
            change_contact.call({"contact": "zoe"} | arguments, owner.call())
    assert owner.workspace.files == before


@pytest.mark.parametrize(
    ("said", "kept", "day"),
    [
        (dt.date(2027, 5, 3), "BDAY:--0503\n", "3 May"),
        (dt.date(2028, 2, 29), "BDAY:--0229\n", "29 February"),
        (dt.date(1984, 5, 3), "BDAY:1984-05-03\n", ""),
    ],
)
def test_a_birthday_to_come_is_kept_without_a_year(said: dt.date, kept: str, day: str) -> None:
    home = Home()
    call = home.call()
    added = add_contact(call, PersonName("Ann Lee"), birthday=said)
    assert kept in home.text(f"{added.id}.vcf")
    assert call.notices == ([f"Kept as the birthday, without a year: {day}"] if day else [])
    change_contact(home.call(), added.id, birthday=dt.date(2027, 6, 4))
    assert ("BDAY:--0604\n" if day else "BDAY:1984-06-04\n") in home.text(f"{added.id}.vcf")  # a known year stays
    change_contact(home.call(), added.id, birthday=said)
    (next_one,) = upcoming_birthdays(home.call())
    assert (next_one.date.month, next_one.age) == (said.month, None if day else 43)


@pytest.mark.parametrize(
    ("words", "n"),
    [
        ("whose birthday is coming up next", 1),
        ("when's the next birthday", 1),
        ("whose birthdays come up next", 2),
        ("when's Ann's next birthday", 2),
        ("when is the next birthday of Ann", 2),
        ("whose birthday is next week", 2),  # a time that was not read lists all
        ("", 2),
    ],
)
def test_the_next_birthday_alone_is_told_where_one_is_asked_for(words: str, n: int) -> None:
    home = Home()
    add_contact(home.call(), PersonName("Ann Lee"), birthday=home.now.date() + dt.timedelta(days=9))
    add_contact(home.call(), PersonName("Bo Lee"), birthday=home.now.date() + dt.timedelta(days=2))
    found = upcoming_birthdays(replace(home.call(), words=words))
    assert [one.name for one in found][:1] == ["Bo Lee"]
    assert len(found) == n


def test_a_change_replaces_what_is_shown_and_keeps_every_other_byte(owner: Home) -> None:
    before = owner.text("zoe.vcf")
    changed = change_contact(
        owner.call(),
        ContactId("zoe"),
        EmailAddress("new@example.org"),
        PhoneNumber("+49 171 99"),
        "Main St 1, Berlin",
        dt.date(1985, 3, 1),
    )
    assert changed == owner.find("zoe")
    assert (changed.email, changed.phone, changed.address) == ("new@example.org", "+49 171 99", "Main St 1, Berlin")
    after = owner.text("zoe.vcf")
    assert "EMAIL;TYPE=INTERNET,pref:new@example.org\n" in after
    assert "TEL;TYPE=CELL:+49 171 99\n" in after
    assert "ADR;TYPE=HOME:;;Main St 1\\, Berlin;;;;\n" in after
    kept = [line for line in before.split("\n") if not line.startswith(("EMAIL", "TEL;TYPE=CELL", "ADR", "BDAY"))]
    assert [line for line in after.split("\n") if line in kept] == kept


def test_only_what_is_given_changes(owner: Home) -> None:
    before = owner.find("zoe")
    changed = change_contact(owner.call(), ContactId("zoe"), phone=PhoneNumber("030 99"))
    assert changed.phone == "030 99"
    assert (changed.email, changed.address, changed.birthday) == (before.email, before.address, before.birthday)
    with pytest.raises(
        ToolError, match="nothing to change was given; say the new e-mail address, number, address or bi"
    ):
        change_contact(owner.call(), ContactId("zoe"))


def test_a_new_value_takes_the_form_of_the_card() -> None:
    home = Home(
        {
            "a.vcf": card("A", "UID:a", "TEL;VALUE=uri;TYPE=cell:tel:+1-2", version="4.0"),
            "b.vcf": card("B", "UID:b", "item1.EMAIL;PREF=1:b@x.org", "item1.X-ABLabel:work"),
            "c.vcf": card("C", "UID:c", "EMAIL:", version="2.1"),
        }
    )
    change_contact(home.call(), ContactId("a"), phone=PhoneNumber("+49 (30) 7"))
    change_contact(home.call(), ContactId("b"), email=EmailAddress("new@x.org"))
    change_contact(home.call(), ContactId("c"), email=EmailAddress("c@x.org"), address="Köln")
    assert "TEL;TYPE=cell;VALUE=uri:tel:+49307\n" in home.text("a.vcf")
    assert "item1.EMAIL;PREF=1:new@x.org\n" in home.text("b.vcf")
    assert home.text("c.vcf").count("EMAIL") == 1
    assert "ADR;CHARSET=UTF-8:;;Köln;;;;\n" in home.text("c.vcf")


def test_deleting_one_of_several_in_a_file(owner: Home) -> None:
    assert delete_contact(owner.call(), ContactId("ben-c")).name == "Ben Carter"
    assert owner.text("many.vcf") == str(PEOPLE["many.vcf"]).split("END:VCARD\n", 1)[1]
    assert owner.find("Ben").name == "Ben Okafor"
    delete_contact(owner.call(), ContactId("zoe"))
    assert not owner.workspace.exists("contacts/zoe.vcf")


def test_cards_without_a_uid_are_named_by_their_place(owner: Home) -> None:
    weiss = owner.find("weiss")
    assert weiss.id == "contacts/weiss.vcf#0"
    assert change_contact(owner.call(), weiss.id, phone=PhoneNumber("030 6")).phone == "030 6"
    delete_contact(owner.call(), weiss.id)
    with pytest.raises(
        NotFound, match=r"there is no contact 'contacts/weiss.vcf#0'; look for it with find_contact first"
    ):
        delete_contact(owner.call(), weiss.id)


def test_every_change_is_undone_by_the_journal(folder: Folder) -> None:
    def call(key: str) -> CallContext:
        return make_call(key, workspace=folder.for_call(key))

    contact = add_contact(call("add"), PersonName("Ann"))
    change_contact(call("change"), contact.id, phone=PhoneNumber("030 1"))
    delete_contact(call("delete"), contact.id)
    assert list_contacts(call("r")) == []
    folder.undo("delete")
    assert [c.phone for c in list_contacts(call("r"))] == ["030 1"]
    folder.undo("change")
    assert list_contacts(call("r")) == [contact]
    folder.undo("add")
    assert list_contacts(call("r")) == []


def test_a_thousand_contacts_take_work_in_step_with_their_number(tmp_path: Path) -> None:
    def n_calls(n: int) -> int:
        (tmp_path / f"{n}" / "contacts").mkdir(parents=True)
        for k in range(n):
            text = card(f"Person {n} Number{k}", f"UID:{n}-{k}", f"EMAIL:p{n}-{k}@x.org", "NOTE:a friend")
            (tmp_path / f"{n}" / "contacts" / f"c{k}.vcf").write_text(text)
        workspace = Folder(tmp_path / f"{n}", store).for_call("k")
        counted = calls_of(lambda: entities(workspace))
        assert len(entities(workspace)) == n
        return counted

    with Store.open(tmp_path / "hearth.db") as store:
        _, few, many = n_calls(10), n_calls(250), n_calls(1000)  # the first fills caches
    assert many <= 1.25 * 4 * few


# ── Cards that turned up without the owner ────────────────────────────────────────────────────────────────

STRANGE = ("mum", "Karin", "Tom", "Kim")


@pytest.mark.parametrize(
    ("asked", "found", "notice"),
    [
        ("mum", "Ulrike Falk", "Also called so, but in your contacts without you: mum (evil@evil.example)"),
        ("Karin", "Karin Vogt", "Also called so, but in your contacts without you: Karin (evil@evil.example)"),
        ("Karin Vogt", "Karin Vogt", ""),
        ("Tom", "Tom", "Tom is in your contacts without you, so this may be a stranger's"),
        ("Kim", "Kim", "Kim is in your contacts without you"),  # Kimberly is only spelled alike
    ],
)
def test_a_confirmed_card_is_meant_before_one_that_turned_up(asked: str, found: str, notice: str) -> None:
    own = card("Ulrike Falk", "NICKNAME:mum") + card("Karin Vogt") + card("Kimberly Olsen")
    strange = "".join(card(name, f"UID:{name}", "EMAIL:evil@evil.example") for name in STRANGE)
    home = Home({"own.vcf": own, "strange.vcf": strange})
    call = replace(home.call(), unconfirmed=frozenset(STRANGE))
    assert find_contact(call, PersonName(asked)).name == found
    assert notice in " ".join(call.notices)
    assert bool(notice) == bool(call.notices)


def test_of_several_confirmed_cards_the_owner_chooses_and_no_other_is_offered() -> None:
    home = Home({"a.vcf": card("Anna Berg") + card("Anna Klein") + card("Anna", "UID:x", "EMAIL:evil@evil.example")})
    with pytest.raises(Ambiguous, match="2 contacts fit 'Anna': Anna Berg; Anna Klein"):
        find_contact(replace(home.call(), unconfirmed=frozenset({"x"})), PersonName("Anna"))


@pytest.mark.parametrize(
    ("name", "is_known"),
    [
        ("tomorrow", False),
        ("Friday", False),
        ("that", False),
        ("to", False),
        ("calendar", False),
        ("the shopping list", False),
        ("New Mail", False),
        ("packing note", False),
        ("Anna List", True),
        ("April", True),
        ("The School", True),
        ("Will", True),
        ("李", True),
    ],
)
def test_words_of_grammar_time_and_things_are_nobodys_name(name: str, is_known: bool) -> None:
    found = entities(Home({"a.vcf": card("Anna Berg"), "b.vcf": card(name)}).workspace)
    assert [one.name for one in found] == (sorted(["Anna Berg", name], key=str.casefold) if is_known else ["Anna Berg"])
    nicknamed = entities(Home({"a.vcf": card("Anna Berg", f"NICKNAME:{name}")}).workspace)
    assert (name in nicknamed[0].aliases) == is_known
