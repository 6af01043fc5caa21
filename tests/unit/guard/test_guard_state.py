"""What the guard remembers between requests: origins of records, calls counted, whom the contacts vouch for."""

from __future__ import annotations

import datetime as dt

import pytest

from hearth.guard.decision import CallCounts
from hearth.guard.labels import AddressBook, Origin, Provenance, digest_of, has_lookalike_letters, normalised, records
from hearth.storage.database import FIRST_LOOK, Store
from hearth.storage.trace import StartedStep, Trace
from hearth.testing import FIXED_NOW, InMemoryWorkspace
from hearth.types import Plain, Request, StepResult

HOUR = dt.timedelta(hours=1)
OWNED = Origin(frozenset({"owner"}))


def card(uid: str, email: str, more: str = "") -> str:
    return f"BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nFN:{uid.title()}\r\nEMAIL:{email}\r\n{more}END:VCARD\r\n"


def test_origins_outlive_the_process_and_an_occurrence_has_its_series(store: Store) -> None:
    known = Provenance(store)
    assert known.of("calendar", "a") is None
    known.note("calendar", {"a": OWNED, "b": Origin(frozenset({"message"}), "d1")}, FIXED_NOW)
    again = Provenance(store)
    assert again.of("calendar", "a") == again.of("calendar", "a#20261120T090000") == OWNED
    assert again.of("calendar", "b") == Origin(frozenset({"message"}), "d1")
    assert again.of("notes", "a") is None


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ({"id": "x", "name": "y"}, ["x"]),
        ([{"path": "a.txt"}, {"name": "n"}, {"other": 1}, "text"], ["a.txt", "n"]),
        ({"id": ""}, []),
        ({"id": 7}, []),
        (None, []),
        ("text", []),
    ],
)
def test_records_are_named_by_their_key(value: Plain, names: list[str]) -> None:
    assert [name for name, _ in records(value)] == names


def test_a_digest_tells_addresses_apart_and_nothing_is_no_digest() -> None:
    assert digest_of(("a@x.org", None)) == digest_of((" a@x.org", ""))
    assert digest_of(("a@x.org", "1")) != digest_of(("a@x.org1", ""))
    assert digest_of((None, "")) == ""


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("Anna@Example.org ", "anna@example.org", True),
        ("+49 (171) 555-01 23", "0049 171 5550123", True),
        ("аnna@example.org", "anna@example.org", False),
        ("ａnna@example.org", "anna@example.org", False),
        ("anna@example.org", "anna@example.org.", False),
        ("0171 5550123", "+49 171 5550123", False),
    ],
)
def test_addresses_are_the_same_but_for_case_and_spacing(one: str, other: str, is_same: bool) -> None:
    assert (normalised(one) == normalised(other)) == is_same


def test_letters_of_another_script_are_no_latin_letters() -> None:
    assert has_lookalike_letters("аnna@example.org")
    assert has_lookalike_letters("anna\u200b@example.org")
    assert not has_lookalike_letters("jürgen@müller.example")


def test_a_card_with_lookalike_letters_never_vouches(store: Store) -> None:
    files: dict[str, bytes | str] = {
        "contacts/a.vcf": card("anna", "аnna@example.org"),
        "contacts/b.vcf": card("ben", "ben@x.org"),
    }
    known = AddressBook(Provenance(store)).read(InMemoryWorkspace(files), FIXED_NOW)
    assert known.vouches("ben@x.org")
    assert not known.vouches("аnna@example.org")
    assert [c.name for c in known.unconfirmed] == ["Anna"]
    assert not known.vouches([])
    assert not known.vouches(["ben@x.org", "anna@example.org"])
    assert not known.vouches(None)


def test_groups_are_categories_of_confirmed_cards(store: Store) -> None:
    files: dict[str, bytes | str] = {"contacts/b.vcf": card("ben", "ben@x.org", "CATEGORIES:Family,Work\r\n")}
    known = AddressBook(Provenance(store)).read(InMemoryWorkspace(files), FIXED_NOW)
    assert known.is_in_group(["BEN@x.org"], "family")
    assert not known.is_in_group("ben@x.org", "friends")
    assert known.name_of("Ben@x.org") == "Ben"


def test_cards_that_were_confirmed_before_groups_were_keep_those_they_have_at_the_next_look(store: Store) -> None:
    files: dict[str, bytes | str] = {
        "contacts/b.vcf": card("ben", "ben@x.org", "CATEGORIES:Family\r\n"),
        "contacts/c.vcf": card("cara", "cara@new.example", "CATEGORIES:Family\r\n"),
    }
    known, noted = Provenance(store), frozenset({"contacts"})
    old = {"ben": digest_of(("ben@x.org", "")), "cara": digest_of(("cara@x.org", "")), FIRST_LOOK: ""}
    known.note("contacts", {id: Origin(noted, digest) for id, digest in old.items()}, FIXED_NOW)
    workspace = InMemoryWorkspace(files)
    book = AddressBook(Provenance(store)).read(workspace, FIXED_NOW)
    assert book.is_in_group("ben@x.org", "family")
    assert not book.vouches("cara@new.example")
    workspace.files["contacts/b.vcf"] = card("ben", "ben@x.org", "CATEGORIES:Family,Boss\r\n").encode()
    again = AddressBook(Provenance(store)).read(workspace, FIXED_NOW)
    assert again.is_in_group("ben@x.org", "family")
    assert not again.is_in_group("ben@x.org", "boss")


def test_the_first_look_is_taken_once(store: Store) -> None:
    book = AddressBook(Provenance(store))
    assert book.read(InMemoryWorkspace(), FIXED_NOW).unconfirmed == ()
    workspace = InMemoryWorkspace({"contacts/b.vcf": card("ben", "ben@x.org")})
    assert book.read(workspace, FIXED_NOW).vouches("ben@x.org"), "the first cards there are, whenever that is"
    workspace.files["contacts/m.vcf"] = card("m", "m@x.org").encode()
    assert not AddressBook(Provenance(store)).read(workspace, FIXED_NOW).vouches("m@x.org")
    assert book.confirm(workspace, ["m", "nobody"], FIXED_NOW) == ("M",)
    assert book.read(workspace, FIXED_NOW).vouches("m@x.org")


def test_calls_are_counted_from_the_trace_and_from_then_on(store: Store) -> None:
    trace = Trace(store)
    trace.begin(Request("x", FIXED_NOW), "e1")
    times = [FIXED_NOW - HOUR * 3, FIXED_NOW - HOUR / 2, FIXED_NOW - HOUR / 4]
    started = [StartedStep(k, "post", f"e1-{k}", {}, at, "send") for k, at in enumerate(times)]
    trace.steps("e1", started=started, finished=[])
    over = [StepResult(0, "done"), StepResult(1, "failed"), StepResult(2, "denied", error="no")]
    trace.steps("e1", started=[], finished=over)
    cut_off = StartedStep(3, "post", "e1-3", {}, FIXED_NOW - HOUR / 4, "send")
    trace.steps("e1", started=[cut_off], finished=[])  # counts when it is made again
    counts = CallCounts(store)
    day = dt.timedelta(days=1)
    assert counts.within("post", [HOUR, day], FIXED_NOW) == {HOUR: 1, day: 2}
    counts.note("post", FIXED_NOW)
    assert counts.within("post", [HOUR, day], FIXED_NOW) == {HOUR: 2, day: 3}
    assert counts.within("post", [HOUR], FIXED_NOW + HOUR) == {HOUR: 0}
    assert counts.within("other", [HOUR], FIXED_NOW) == {HOUR: 0}
    assert counts.within("post", [], FIXED_NOW) == {}
