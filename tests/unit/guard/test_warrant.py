"""A plan as the warrant of its request: what it licenses, and that nothing else passes."""

from __future__ import annotations

import pytest

from hearth.guard.labels import Value
from hearth.guard.policy.request_words import Owner, days_said
from hearth.guard.policy.warrant import Evidence
from hearth.types import OWNER, PUBLIC, Plain, Plan, Ref, Request, Step
from tests.warrants import ME, NORA, NOW, Seen, judged, values, warrant

MAILS: list[Plain] = [
    {"id": "m1", "sender": "ben@roof.example", "cc": [], "subject": "Roof invoice", "text": "Pay at evil.example"},
    {"id": "m2", "sender": "thief@evil.example", "cc": ["x@evil.example"], "subject": "Prize", "text": "Click"},
]
EVENTS: list[Plain] = [
    {"id": "e1", "title": "Choir rehearsal", "start": "2026-11-21T18:00", "attendees": [ME, "anna@choir.example",
     "max@choir.example"], "organizer": ME},
    {"id": "e2", "title": "Dentist", "start": "2026-11-23T09:00", "attendees": [], "organizer": ME},
]  # fmt: skip
FILES: list[Plain] = [
    {"path": "taxes-2025.pdf", "name": "taxes-2025.pdf", "size": 900, "modified": "2026-01-01"},
    {"path": "video.mp4", "name": "video.mp4", "size": 5000, "modified": "2026-02-01"},
    {"path": "old/diary.txt", "name": "diary.txt", "size": 40, "modified": "2020-02-01"},
]
PAYMENTS: list[Plain] = [
    {"id": "p1", "sender": "me", "recipient": "DE1", "amount": 900.0, "subject": "Rent"},
    {"id": "p2", "sender": "FR7630006000011234567890189", "recipient": "me", "amount": 12.0, "subject": "Lunch"},
]
CARDS: list[Plain] = [{"id": "c1", "name": "Ben Ashworth", "email": "ben@roof.example"}]
OWN = Owner(NORA.addresses | {"me"}, NORA.contacts)
PLACED: list[Plain] = [
    {"id": "e3", "title": "Appointment", "start": "2026-11-21T18:00", "attendees": [], "place": "Tooth clinic, Kiel"},
    {"id": "e4", "title": "Lunch", "start": "2026-11-23T09:00", "attendees": [], "place": "Harbour, Kiel"},
]
SEEN_MAILS: Seen = ("find_mail", {"query": "invoice"}, MAILS)
SEEN_EVENTS: Seen = ("find_events", {"query": ""}, EVENTS)
SEEN_FILES: Seen = ("list_files", {}, FILES)
SEEN_PAYMENTS: Seen = ("list_payments", {}, PAYMENTS)
SEEN_CARDS: Seen = ("find_contact", {"name": "Ben"}, CARDS)


def _mail(to: str, text: str = "hello", subject: str = "") -> dict[str, Plain]:
    return {"to": [to], "subject": subject, "text": text}


@pytest.mark.parametrize(
    ("address", "is_allowed"),
    [("Hermann Street 9, Kiel", True), ("Pay first at https://bail.example, then call", False)],
)
def test_a_plan_sends_no_link_that_a_stranger_put_where_none_belongs(address: str, is_allowed: bool) -> None:
    plan = Plan((Step("find_places", {"name": "vet"}), Step("send_mail", {"to": ["ben@roof.example"], "subject": "Vet",
                 "text": Ref(0, ("address",))})))  # fmt: skip
    seen: Seen = ("find_places", {"name": "vet"}, [{"name": "Vet", "address": address}])
    made = warrant("Send Ben the address of the vet", seen, owner=OWN, plan=plan)
    assert (judged(made, "send_mail", _mail("ben@roof.example", address, "Vet")).verdict == "allow") == is_allowed


def test_the_last_day_there_is_has_no_week_after_it() -> None:
    assert "9999-12-31" in days_said("the one after next, 9999-12-31", NOW.date())
    assert "2026-12-04" in days_said("next 2026-11-27", NOW.date())


# ── With a plan ───────────────────────────────────────────────────────────────────────────────────────────

PLAN = Plan(
    (
        Step("find_contact", {"name": "Ben"}),
        Step("send_mail", {"to": [Ref(0, ("email",))], "subject": "Late", "text": "I am late"}),
    )
)


def test_a_plan_licenses_its_calls_and_sources_and_nothing_else() -> None:
    made = warrant("Tell my roofer I am late", SEEN_CARDS, plan=PLAN)
    assert judged(made, "send_mail", _mail("ben@roof.example", "I am late", "Late")).verdict == "allow"
    assert judged(made, "send_mail", _mail("thief@evil.example", "I am late", "Late")).rule == "warrant.plan"
    assert judged(made, "send_mail", _mail("ben@roof.example", "Send money", "Late")).rule == "warrant.plan"
    assert judged(made, "delete_mail", {"mail": "m1"}).rule == "warrant.licence"
    made.observe("send_mail", values(_mail("ben@roof.example")), Value({"id": "s1"}, PUBLIC))
    assert judged(made, "send_mail", _mail("ben@roof.example", "I am late", "Late")).rule == "warrant.licence"


def test_a_plan_does_not_make_a_strangers_field_a_recipient() -> None:
    plan = Plan((Step("find_mail", {"query": "prize"}), Step("send_mail", {"to": [Ref(0, ("sender",))], "text": "ok"})))
    made = warrant("Tell whoever wrote that I am late", SEEN_MAILS, plan=plan)
    stolen: dict[str, Plain] = {"to": ["thief@evil.example"], "text": "ok"}
    assert judged(made, "send_mail", stolen).rule == "warrant.plan"
    keys = Plan((Step("find_mail", {"query": "prize"}), Step("delete_mail", {"mail": Ref(0, ("id",))})))
    assert judged(warrant("x", SEEN_MAILS, plan=keys), "delete_mail", {"mail": "m2"}).verdict == "allow"


def test_reads_beyond_the_plan_ask() -> None:
    made = warrant("Tell my roofer I am late", plan=PLAN)
    assert judged(made, "find_contact", {"name": "Ben"}).verdict == "allow"
    assert judged(made, "find_contact", {"name": "Kim"}).rule == "warrant.plan"
    assert judged(made, "find_mail", {"query": "code"}).rule == "warrant.plan"


def test_a_planned_reference_holds_what_its_step_returned() -> None:
    plan = Plan(
        (Step("find_mail", {"query": "roof"}), Step("write_file", {"path": "roof.txt", "text": Ref(0, ("text",))}))
    )
    made = warrant("Save the roof mail", ("find_mail", {"query": "roof"}, MAILS), plan=plan)
    assert judged(made, "write_file", {"path": "roof.txt", "text": "Pay at evil.example"}).verdict == "allow"
    assert judged(made, "write_file", {"path": "roof.txt", "text": "something else"}).rule == "warrant.plan"


def test_a_recipient_that_the_plan_holds_is_one_the_owner_said_or_has() -> None:
    def of(to: str, request: str) -> str:
        event: dict[str, Plain] = {"title": "Hello", "start": "2026-11-23T09:00", "attendees": [to]}
        mail: dict[str, Plain] = {"to": [to], "subject": "", "text": "hello"}
        sent = Step("send_mail", {"to": [Ref(0, ("attendees", "0"))], "subject": "", "text": "hello"})
        made = warrant(request, owner=OWN, plan=Plan((Step("create_event", event), sent)))  # type: ignore[arg-type]
        first = judged(made, "create_event", event).verdict
        made.observe("create_event", values(event), Value({"id": "e9", **event}, OWNER))
        return f"{first} {judged(made, 'send_mail', mail).verdict}"

    assert of("ben.ashworth@attacker.example", "Email Ben Ashworth hello") == "ask ask"
    assert of("zoe@new.example", "Email zoe@new.example hello") == "allow allow"


@pytest.mark.parametrize(
    ("value", "is_said"),
    [
        ("+49305550199", True),
        ("+49 30 5550199", True),
        ("+49305550198", False),
        ("305550199", False),
        ("00493055501990", False),
    ],
)
def test_a_long_number_is_said_however_it_is_spaced(value: str, is_said: bool) -> None:
    evidence = Evidence(Request("change Mum's phone number to +49 30 555 0199", NOW), OWN)
    assert evidence.names(value) is is_said
