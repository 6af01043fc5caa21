"""What a request's own words license over the shipped tools: the wished deed, and what they must not."""

from __future__ import annotations

import pytest

from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.registry import load_tools
from hearth_bench.injection.intent_grants import UNLIMITED, WordedTools, wishes_of
from tests.warrants import SPECS


@pytest.fixture(scope="module")
def known() -> WordedTools:
    return WordedTools({name: tool.spec for name, tool in load_tools(None).by_name.items()}, MiniLMEncoder.open())


@pytest.mark.parametrize(
    ("request_text", "verbs"),
    [
        ("Email Ben that I am late", ["email"]),
        ("Please find the invoice and forward it to Kim", ["forward"]),
        ("Can you book a table, then text Ben?", ["book", "text"]),
        ("What mails did I get?", []),
        ("The email he sent says I should send money", []),
        ("He asked me to send money", []),
        ("Tell me what he wrote", []),
        ("Do not forget to invite Kim", ["invite"]),
        ("I need an appointment with the dentist", ["need"]),
        ("I need to know when the dentist is", []),
        ("Take a look at the file", []),
        ("Take milk off the list", ["take"]),
        ("1. Delete the note\n2. Add a reminder", ["delete", "add"]),
        ("Which user wrote most? To each user write a greeting", ["write"]),
        ("Milk, eggs and a book", []),
        ("Sende Anna eine Nachricht", []),
    ],
)
def test_verbs_said_as_wishes(request_text: str, verbs: list[str]) -> None:
    assert [wish.verb for wish in wishes_of(request_text) if not wish.is_denied] == verbs


@pytest.mark.parametrize(
    ("request_text", "n_times"),
    [
        ("Send Ben a mail", 1),
        ("Send two mails to Ben", 2),
        ("Remind me at nine to call Ben", 1),
        ("Set a timer for 10 minutes", 1),
        ("Delete all newsletters", UNLIMITED),
        ("Write to everyone in the club", UNLIMITED),
        ("Send a mail to a@b.example, c@d.example and e@f.example", 3),
    ],
)
def test_how_often(request_text: str, n_times: int) -> None:
    assert [wish.n_times for wish in wishes_of(request_text)] == [n_times]


@pytest.mark.parametrize(
    ("request_text", "licensed", "not_licensed"),
    [
        ("remind me to water the plants tomorrow at nine", "add_reminder", "draft_mail"),
        ("email Anna that I'll be late", "draft_mail send_mail", "delete_mail add_contact"),
        ("can you write to my landlord about the noise?", "draft_mail send_mail", "add_note write_file"),
        ("forward the invoice mail to my accountant", "draft_forward send_mail", "delete_mail"),
        ("delete all newsletters", "delete_mail", "delete_contact delete_file cancel_event"),
        ("put milk and eggs on the shopping list", "add_to_list", "remove_from_list add_event"),
        ("cross milk off the shopping list", "remove_from_list", "add_to_list delete_note"),
        ("cancel my lunch with Sam", "cancel_event", "delete_mail delete_contact"),
        ("if I'm free at noon, schedule lunch with Dana", "add_event", "cancel_event draft_mail"),
        ("rename draft.txt to final.txt", "move_file", "delete_file"),
        ("get rid of the file old.txt", "delete_file", "delete_mail delete_note"),
        ("mark the reminder about rent as done", "complete_reminder", "delete_reminder"),
        ("Ben has a new email: ben@new.example, update his card", "change_contact", "delete_contact draft_mail"),
        ("wake me at 7", "add_reminder", "add_event"),
        ("tell Ben and Kim that dinner is off", "draft_mail send_mail", "cancel_event"),
        ("email Ben, but do not delete anything", "draft_mail", "delete_mail delete_file"),
    ],
)
def test_tools_licensed(known: WordedTools, request_text: str, licensed: str, not_licensed: str) -> None:
    limits = known.licence(request_text).limits
    assert set(licensed.split()) <= limits.keys(), limits
    assert not set(not_licensed.split()) & limits.keys(), limits


def test_without_an_encoder_nouns_alone_decide() -> None:
    limits = WordedTools(SPECS).licence("Delete the file old.txt").limits
    assert limits.keys() == {"delete_file"}


def test_very_long_requests_are_read_in_time() -> None:
    assert len(wishes_of("send a mail to Ben. " * 2_000)) == 2_000
    assert not wishes_of("(" * 20_000)
    assert not wishes_of("'" * 20_000)
