"""Mail that came is told of once: of people one knows, unless one wants to hear of everybody."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hearth.protocols import CallContext
from hearth.serve.background.background_sync import MOST_KEPT, Letter, NewMail, Whom
from hearth.storage.database import Store
from hearth.testing import InMemoryWorkspace, make_call

CARD = "BEGIN:VCARD\nVERSION:4.0\nFN:Anna Kern\nEMAIL:Anna@x.example\nEND:VCARD\n"


@pytest.fixture
def call() -> CallContext:
    workspace = InMemoryWorkspace()
    workspace.write("contacts/anna.vcf", CARD.encode())
    return make_call(workspace=workspace)


def put(call: CallContext, name: str, sender: str, subject: str = "Lunch") -> None:
    call.workspace.write(f"mail/new/{name}", f"From: {sender}\nSubject: {subject}\n\nhello\n".encode())


@pytest.mark.parametrize(
    ("whom", "told"),
    [("nobody", []), ("known", ["Anna Kern"]), ("everybody", ["Anna Kern", "Anna Kern"])],
)
def test_whose_mail_is_told_of(store: Store, call: CallContext, whom: Whom, told: list[str]) -> None:
    heard: list[Sequence[Letter]] = []
    mail = NewMail(whom, store, heard.append)
    put(call, "1", "old <anna@x.example>")
    before = mail.there(call)
    put(call, "2", "Anna Kern <ANNA@x.example>")
    put(call, "3", "Anna Kern <anna@evil.example>")
    assert mail.came(before, call) is bool(told)
    assert [one.writer for one in mail.letters] == told
    assert [len(one) for one in heard] == ([len(told)] if told else [])
    assert not mail.came(mail.there(call), call)
    mail.seen()
    assert mail.letters == ()


def test_a_card_that_turned_up_makes_nobody_known(store: Store, call: CallContext) -> None:
    mail = NewMail("known", store, lambda _: None)
    put(call, "1", "anna@x.example")
    assert mail.came(frozenset(), call)
    call.workspace.write("contacts/eve.vcf", CARD.replace("Anna@x", "eve@evil").replace("Anna", "Eve").encode())
    call.workspace.write("contacts/anna.vcf", CARD.replace("Anna@x", "anna@evil").encode())
    put(call, "2", "eve@evil.example")
    put(call, "3", "anna@evil.example")
    assert not mail.came(frozenset({"1"}), call)


def test_a_strangers_words_are_cleaned_and_cut_and_many_are_bounded(store: Store, call: CallContext) -> None:
    mail = NewMail("everybody", store, lambda _: None)
    put(call, "0", "a@x.example", "\x1b[31m" + "x" * 500)
    assert mail.came(frozenset(), call)
    assert "\x1b" not in mail.letters[0].subject
    assert len(mail.letters[0].subject) == 120
    for number in range(2 * MOST_KEPT):
        put(call, f"m{number}", "a@x.example")
    assert mail.came(frozenset({"0"}), call)
    assert len(mail.letters) == MOST_KEPT
