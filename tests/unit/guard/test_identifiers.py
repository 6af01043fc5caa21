"""python -m pytest tests/unit/guard/test_identifiers.py: each form once where it is one, and once where it only looks like one."""

from __future__ import annotations

import pytest

from hearth.config import MASK_KINDS, Settings
from hearth.guard.deidentify.masker import Masker
from hearth.guard.deidentify.names import OwnerNames, OwnName, gathered
from hearth.testing import InMemoryWorkspace

MASKER = Masker(MASK_KINDS, country="DE")


def found(text: str, country: str = "DE") -> list[tuple[str, str]]:
    masker = MASKER if country == "DE" else Masker(MASK_KINDS, country=country)
    return [(span.kind, text[span.start : span.end]) for span in masker.find(text)]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("email", "to a.b+c@sub.example.org, now", "a.b+c@sub.example.org"),
        ("email", "to <jürgen@müller.example>", "jürgen@müller.example"),
        ("email", "mia [at] berger [dot] example", "mia [at] berger [dot] example"),
        ("email", "to mia dot berger at quarz dot example please", "mia dot berger at quarz dot example"),
        ("phone", "ring zero three zero two double one five", "zero three zero two double one five"),
        ("url", "see https://x.example/a?b=1.", "https://x.example/a?b=1"),
        ("url", "see www.x.example or", "www.x.example"),
        ("url", "at shop.quarz.de today", "shop.quarz.de"),
        ("ip", "ping 192.168.1.17 now", "192.168.1.17"),
        ("ip", "ping fe80::1c2:3d4 now", "fe80::1c2:3d4"),
        ("mac", "device 00:1B:44:11:3a:b7 is", "00:1B:44:11:3a:b7"),
        ("iban", "pay de89 3704 0044 0532 0130 00 today", "de89 3704 0044 0532 0130 00"),
        ("iban", "pay GB82WEST12345698765432.", "GB82WEST12345698765432"),
        ("iban", "mistyped DE89370400440532013001", "DE89370400440532013001"),
        ("card", "4111-1111-1111-1111", "4111-1111-1111-1111"),
        ("card", "number 378282246310005 ok", "378282246310005"),
        ("card", "mistyped 4111111111111112", "4111111111111112"),
        ("card", "maestro card 501234567890", "501234567890"),
        ("phone", "call +44 20 7946 0018", "+44 20 7946 0018"),
        ("phone", "0049 (0)30 23125 123", "0049 (0)30 23125 123"),
        ("phone", "030/23125 123 abends", "030/23125 123"),
        ("phone", "my number is 23125123", "23125123"),
        ("phone", "(202) 555-0143 x12", "(202) 555-0143 x12"),
        ("national_id", "ssn 123-45-6789", "123-45-6789"),
        ("national_id", "CPF 529.982.247-25", "529.982.247-25"),
        ("national_id", "DNI 12345678Z", "12345678Z"),
        ("national_id", "NINO AB 12 34 56 C", "AB 12 34 56 C"),
        ("account", "customer number: K-4711-0815", "K-4711-0815"),
        ("account", "Kundennummer 98765432", "98765432"),
        ("document", "passport no. C01X00T47", "C01X00T47"),
        ("document", "my license number is H1234567", "H1234567"),
        ("plate", "licence plate B-MW 1234", "B-MW 1234"),
        ("coordinates", "at 48.85661, 2.35222 there", "48.85661, 2.35222"),
        ("birth_date", "born on 3 May 1985", "3 May 1985"),
        ("birth_date", "Geburtsdatum: 12.03.1985", "12.03.1985"),
        ("date", "on 2026-11-20 we", "2026-11-20"),
        ("secret", "the password is Hunter2!", "Hunter2!"),
        ("secret", "password hunter2 for the router", "hunter2"),
        ("secret", 'my wifi key is "correct horse battery staple"', "correct horse battery staple"),
        ("secret", "booking code X7YK2P", "X7YK2P"),
        ("birth_date", "my date of birth is the third of May 1984", "third of May 1984"),
        ("secret", "PIN: 4821", "4821"),
        ("secret", "key sk-abcdefghijklmnop1234 leaked", "sk-abcdefghijklmnop1234"),
        ("address", "12 Main Street", "12 Main Street"),
        ("address", "in der Hauptstraße 5", "Hauptstraße 5"),
        ("address", "5 rue de la Paix", "5 rue de la Paix"),
        ("address", "PO Box 1234", "PO Box 1234"),
        ("address", "zip code 90210", "90210"),
        ("person", "Dear Ms Okoro,", "Okoro"),
        ("person", "my name is jonas", "jonas"),
        ("file", "attach tax-2025.pdf", "tax-2025.pdf"),
    ],
)
def test_what_has_the_form_is_found(kind: str, text: str, value: str) -> None:
    assert (kind, value) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "meet me @ noon",
        "done.It was fine",
        "version 1.2.3.4.5",
        "at 12:30:45 sharp",
        "order number 4711-2233-99",
        "invoice 20260012",
        "it costs 1,234,567.89 €",
        "it has 1 234 567 inhabitants",
        "3.14159265 is pi",
        "flight LH 400 at gate 12",
        "the password is wrong",
        "the password page",
        "the error code E404",
        'the key is "in" the "door"',
        "pin the note to the wall",
        "in 1000000 steps",
        "born to run",
        "the main street was wet",
        "on my way, place an order",
        "call me maybe",
        "play example.mp3",
        "my birthday is in May",
        "room 12 on floor 3",
        "count one two three four five six seven",
        "two or three of the four at one point",
    ],
)
def test_what_only_looks_like_it_is_left(text: str) -> None:
    assert found(text) == []


def test_a_local_number_is_one_of_the_owners_country() -> None:
    assert found("it is 0412 345 678", "AU") == [("phone", "0412 345 678")]
    assert found("it is 612 345 678", "ES") == [("phone", "612 345 678")]


# ── The owner's own names ─────────────────────────────────────────────────────────────────────────────────

NAMES = OwnerNames(
    [OwnName(name, "person") for name in ("Martina Weissmüller", "Martina", "Weissmüller", "Will", "王伟")]
    + [OwnName("Berlin", "place"), OwnName("+49 170 5550123", "phone")],
    keep=["Berlin"],
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("MARTINA is late", "MARTINA"),
        ("ask martina", "martina"),
        ("ask Martinna today", "Martinna"),
        ("ask Matrina today", "Matrina"),
        ("Martinas Rad", "Martinas"),
        ("Weissmueller rief an", "Weissmueller"),
        ("call mar-\ntina", "mar-\ntina"),
        ("call Mаrtina", "Mаrtina"),
        ("call Mar\u200btina", "Mar\u200btina"),
        ("Weissmüller, Martina", "Weissmüller"),
        ("tell will", "will"),
        ("找王伟吧", "王伟"),
        ("ring 0170/5550123", "0170/5550123"),
    ],
)
def test_a_name_of_the_owners_is_found_however_it_is_written(text: str, value: str) -> None:
    found = Masker(names=NAMES, forms=False).find(text)
    assert value in [text[span.start : span.end] for span in found]


@pytest.mark.parametrize(
    "text", ["will it rain", "it will", "the marine", "in Berlin", "a martini please", "Marina said"]
)
def test_a_word_that_is_no_name_here_is_left(text: str) -> None:
    assert Masker(names=NAMES, forms=False).find(text) == []


CARDS = b"".join(
    b"BEGIN:VCARD\r\nVERSION:3.0\r\n%s\r\nEND:VCARD\r\n" % lines
    for lines in (
        b"FN:Grundschule am Mauerpark\r\nN:Grundschule am Mauerpark;;;;\r\nNICKNAME:the school\r\nNICKNAME:school",
        b"FN:The Garden Centre at Work\r\nN:;;;;",
        b"FN:Pizza Service\r\nN:Service;Pizza;;;",
        b"FN:Anna Shop\r\nN:Shop;Anna;;;",
        b"FN:Ana de la Cruz\r\nN:de la Cruz;Ana;;;",
    )
)


def _of_cards(text: str) -> list[str]:
    workspace = InMemoryWorkspace()
    workspace.files["contacts/a.vcf"] = CARDS
    settings = Settings.model_validate({"mask": {"words": ["Chase", "Library"]}})
    masker = Masker(names=OwnerNames(gathered(workspace, settings)), forms=False)
    return [text[span.start : span.end] for span in masker.find(text)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ask the grundschule am mauerpark", "grundschule am mauerpark"),
        ("GRUNDSCHULE AM MAUERPARK", "GRUNDSCHULE AM MAUERPARK"),
        ("the mauerpark fair", "mauerpark"),
        ("call the school", "the school"),
        ("tell school that Lina is ill", "school"),
        ("what does the mail from school say", "school"),
        ("write to the school", "the school"),
        ("I spoke to School about it", "School"),
        ("meet me at the garden centre at work", "the garden centre at work"),
        ("order from the pizza service", "pizza service"),
        ("is shop coming with us", "shop"),
        ("anna shop", "anna shop"),
        ("does cruz come", "cruz"),
        ("ana de la cruz", "ana de la cruz"),
        ("what about chase and the library", "chase"),
        ("what about chase and the library", "library"),
    ],
)
def test_a_name_of_common_words_is_found_where_it_is_one(text: str, value: str) -> None:
    assert value in _of_cards(text)


@pytest.mark.parametrize(
    "text",
    [
        "I am late",
        "am I free tomorrow?",
        "Am I free tomorrow?",
        "meeting at 10 AM",
        "school bus at 8",
        "School starts at eight",
        "when is the school play",
        "walk to school at 8",
        "schools are closed",
        "turn on the garden lights at work",
        "room service please",
        "a pizza at the centre",
        "la la land de luxe",
    ],
)
def test_a_common_word_of_a_name_is_left_where_it_is_none(text: str) -> None:
    assert _of_cards(text) == []


def test_names_are_gathered_from_cards_events_profile_and_settings() -> None:
    workspace = InMemoryWorkspace()
    workspace.files["contacts/a.vcf"] = (
        b"BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Mia Berger\r\nN:Berger;Mia;;;\r\nNICKNAME:Mimi,sister\r\nORG:Quarz GmbH\r\n"
        b"ADR:;;Lindenhof 7;Altstadt;;54321;Germany\r\nTEL:+49 30 1\r\nRELATED;TYPE=spouse:Tom Ott\r\nEND:VCARD\r\n"
    )
    workspace.files["contacts/broken.vcf"] = b"BEGIN:VCARD\r\nFN:No End"
    workspace.files["calendar/a.ics"] = (
        b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Lunch with Ottoline\r\nLOCATION:Kitchen\r\n"
        b"ATTENDEE;CN=Piet K:mailto:p@k.example\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )
    settings = Settings.model_validate({"owner": {"name": "Ada Quill"}, "mask": {"words": ["Nordlicht"]}})
    texts = {(name.text, name.kind) for name in gathered(workspace, settings)}
    assert {
        *(("Mia Berger", "person"), ("Berger Mia", "person"), ("M Berger", "person"), ("Mimi", "person")),
        *(("Quarz GmbH", "organisation"), ("Quarz", "organisation"), ("Lindenhof 7", "address"), ("Altstadt", "place")),
        *(("Tom Ott", "person"), ("Ottoline", "person"), ("Piet K", "person"), ("p@k.example", "email")),
        *(("Ada Quill", "person"), ("Nordlicht", "secret")),
    } <= texts
    assert not {text for text, _ in texts} & {"sister", "Kitchen", "Germany", ""}


def test_an_owner_who_is_called_otherwise_now_is_masked_by_the_new_name() -> None:
    for name, other in (("Ada Quill", "Ben Holt"), ("Ben Holt", "Ada Quill"), ("Ada Quill", "Ben Holt")):
        settings = Settings.model_validate({"owner": {"name": name}})
        texts = {one.text for one in gathered(InMemoryWorkspace(), settings)}
        assert name in texts
        assert other not in texts
