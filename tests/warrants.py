"""Small tools, an owner and values for tests of warrants."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import TypeVar

from hearth.guard.labels import Value, result_labels
from hearth.guard.policy.request_words import Owner
from hearth.guard.policy.warrant import KnownTools, Warrant
from hearth.types import OWNER, FieldOrigin, Parameter, Plain, Plan, Request, Ruling, ToolSpec

NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.UTC)
ME = "nora@home.example"
CONTACTS = {
    "ben@roof.example": "Ben Ashworth",
    "anna@choir.example": "Anna Sand",
    "anna@work.example": "Anna Berg",
    "kim@club.example": "Kim Ode",
}
NORA = Owner(frozenset({ME}), CONTACTS)


def _p(name: str, kind: str, *, sink: bool = False, optional: bool = False) -> Parameter:
    return Parameter(name, kind, is_sink=sink, is_required=not optional)


_MAIL = {"id": "MailId", "sender": "EmailAddress", "cc": "list[EmailAddress]", "subject": "text", "text": "text"}
_EVENT = {
    "id": "EventId", "title": "text", "start": "datetime", "attendees": "list[EmailAddress]", "organizer": "EmailAddress",
    "place": "text",
}  # fmt: skip
_CARD = {"id": "ContactId", "name": "PersonName", "email": "EmailAddress"}
_FILE = {"path": "FilePath", "name": "text", "size": "integer", "modified": "datetime"}
_PAYMENT = {"id": "PaymentId", "sender": "Account", "recipient": "Account", "amount": "number", "subject": "text"}
_KEY = {"id": FieldOrigin("device", made_of=())}

SPECS: dict[str, ToolSpec] = {
    spec.name: spec
    for spec in (
        ToolSpec("find_mail", "Find mails.", (_p("query", "text"),), "list[Mail]", _MAIL, source="message", origins=_KEY),
        ToolSpec("find_contact", "Find a contact.", (_p("name", "text"),), "list[Card]", _CARD, source="contacts"),
        ToolSpec("find_events", "Find events.", (_p("query", "text"),), "list[Event]", _EVENT),
        ToolSpec("find_places", "Find a place.", (_p("name", "text"),), "list[Spot]", {"name": "text", "address": "text"},
                 source="message"),
        ToolSpec("list_files", "List files.", (), "list[File]", _FILE),
        ToolSpec("list_payments", "List payments.", (), "list[Payment]", _PAYMENT),
        ToolSpec("read_page", "Read a page.", (_p("url", "Url"),), "text", source="web"),
        ToolSpec("search_web", "Search the web.", (_p("query", "text"),), "text", source="web"),
        ToolSpec("list_channels", "List channels.", (), "list[Handle]"),
        ToolSpec("read_channel", "Read a channel.", (_p("channel", "Handle"),), "list[Post]",
                 {"sender": "Handle", "text": "text"}, source="message"),
        ToolSpec("send_mail", "Send a mail to people.",
                 (_p("to", "list[EmailAddress]", sink=True), _p("subject", "text"), _p("text", "text"),
                  _p("attachments", "any", optional=True)), "Sent", {"id": "MailId"}, "send"),
        ToolSpec("reply_to_mail", "Reply to a mail.", (_p("to", "EmailAddress", sink=True), _p("text", "text")),
                 "Sent", {"id": "MailId"}, "send"),
        ToolSpec("delete_mail", "Delete a mail.", (_p("mail", "MailId"),), "Mail", _MAIL, "change"),
        ToolSpec("delete_file", "Delete a file.", (_p("path", "FilePath"),), "File", _FILE, "change"),
        ToolSpec("write_file", "Save a text as a file.", (_p("path", "FilePath"), _p("text", "text")), "File", _FILE,
                 "change"),
        ToolSpec("share_file", "Share a file with a person.",
                 (_p("path", "FilePath"), _p("email", "EmailAddress", sink=True)), "File", _FILE, "send"),
        ToolSpec("move_event", "Move an event to another time.", (_p("event", "EventId"), _p("start", "datetime")),
                 "Event", _EVENT, "change"),
        ToolSpec("create_event", "Create a calendar event and invite people.",
                 (_p("title", "text"), _p("start", "datetime"), _p("attendees", "list[EmailAddress]", sink=True),
                  _p("place", "text", optional=True)),
                 "Event", _EVENT, "send"),
        ToolSpec("send_money", "Send a payment to an account.",
                 (_p("recipient", "Account", sink=True), _p("amount", "Money"), _p("subject", "text")), "text",
                 effect="send"),
        ToolSpec("change_password", "Change the password.", (_p("password", "Secret"),), "text", effect="change"),
        ToolSpec("post_message", "Post a message in a channel.",
                 (_p("channel", "Handle", sink=True), _p("text", "text")), "none", effect="send"),
    )
}  # fmt: skip
KNOWN = KnownTools(SPECS)
W = TypeVar("W", bound=Warrant)


Seen = tuple[str, Mapping[str, Plain], Plain]


def warrant(request: str, *seen: Seen, owner: Owner = NORA, plan: Plan) -> Warrant:
    """The warrant of a plan for `request` after the calls in `seen`: tool, arguments, what it returned."""
    return after(Warrant.of(Request(request, NOW), KNOWN, owner, plan), *seen)


def after(made: W, *seen: Seen) -> W:
    for tool, arguments, data in seen:
        labels = result_labels(SPECS[tool], dict.fromkeys(arguments, OWNER))
        made.observe(tool, values(arguments), Value(data, labels.whole, labels.fields))
    return made


def values(arguments: Mapping[str, Plain]) -> dict[str, Value]:
    return {name: Value(value, OWNER) for name, value in arguments.items()}


def judged(made: Warrant, tool: str, arguments: Mapping[str, Plain]) -> Ruling:
    return made.judge(tool, values(arguments))
