"""The contact tools against a real CardDAV server (Radicale), with another program on the same account."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pytest

from hearth.errors import Conflict, ToolError, TransientToolError
from hearth.formats.tool_signature import to_plain
from hearth.storage.workspace import Folder
from hearth.testing import ClosedEgress
from hearth.tools.pim.contacts import (
    add_contact,
    change_contact,
    delete_contact,
    entities,
    find_contact,
    list_contacts,
    upcoming_birthdays,
)
from hearth.types import EmailAddress, PersonName, PhoneNumber
from tests.integration.conftest import USER, DavAccount, DavServer, running_radicale

LENA = PersonName("Lena Vogt")


@pytest.fixture
def account(folder: Folder, radicale: DavServer, request: pytest.FixtureRequest) -> DavAccount:
    name = request.node.name.replace("[", "-").replace("]", "")
    return DavAccount(folder, radicale, radicale.make(name, "contacts"), name, kind="contacts")


def foreign(uid: str, name: str, extra: str = "") -> str:
    return (
        f"BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nFN:{name}\r\nN:;{name};;;\r\n"
        f"EMAIL;TYPE=HOME:{uid}@example.org\r\nX-OTHER:kept\r\n{extra}END:VCARD\r\n"
    )


def test_an_added_contact_is_on_the_server_and_in_the_folder(account: DavAccount) -> None:
    contact = add_contact(
        account.call("k1"),
        LENA,
        EmailAddress("lena@example.org"),
        PhoneNumber("+49 30 1"),
        "Rom 1, Köln",
        dt.date(1990, 5, 3),
    )
    (data,) = account.on_server().values()
    assert "FN:Lena Vogt" in data
    assert "BDAY:1990-05-03" in data
    assert "X-HEARTH-HREF" not in data
    assert account.folder.for_call("r").list("contacts") == (f"contacts/carddav/{contact.id}.vcf",)
    assert find_contact(account.call("k2"), PersonName("lena")) == contact
    assert [b.age for b in upcoming_birthdays(account.call("k3"))] == [37]
    assert account.egress.reasons[0] == "add an entry of your address book"


def test_cards_of_another_program_appear_change_and_disappear(account: DavAccount) -> None:
    account.put("a.vcf", foreign("a", "Anna"))
    account.put("b.vcf", foreign("b", "Ben"))
    assert [c.name for c in list_contacts(account.call("k1"))] == ["Anna", "Ben"]
    assert [e.name for e in entities(account.folder.for_call("r"))] == ["Anna", "Ben"]
    account.put("a.vcf", foreign("a", "Annika"))
    with account.server.client() as client:
        client.delete(f"/{USER}/{account.name}/b.vcf").raise_for_status()
    assert [c.name for c in list_contacts(account.call("k2"))] == ["Annika"]


def test_changing_keeps_what_other_programs_wrote_and_can_be_undone(account: DavAccount) -> None:
    account.put("a.vcf", foreign("a", "Anna"))
    before = find_contact(account.call("k1"), PersonName("anna"))
    changed = change_contact(account.call("k2"), before.id, email=EmailAddress("new@example.org"))
    data = account.on_server()["a.vcf"]
    assert "new@example.org" in data
    assert "X-OTHER:kept" in data
    account.folder.undo("k2")
    change_contact.undo({}, to_plain(changed), account.call("k2"))
    assert "a@example.org" in account.on_server()["a.vcf"]
    assert find_contact(account.call("k3"), PersonName("anna")) == before


def test_undo_of_adding_and_deleting_reaches_the_server(account: DavAccount) -> None:
    contact = add_contact(account.call("k1"), LENA)
    account.folder.undo("k1")
    add_contact.undo({}, to_plain(contact), account.call("k1"))
    assert account.on_server() == {}

    contact = add_contact(account.call("k2"), LENA)
    deleted = delete_contact(account.call("k3"), contact.id)
    assert account.on_server() == {}
    assert account.folder.for_call("r").list() == ()
    account.folder.undo("k3")
    delete_contact.undo({}, to_plain(deleted), account.call("k3"))
    assert len(account.on_server()) == 1
    assert find_contact(account.call("k4"), LENA) == contact


def test_a_change_repeated_after_a_crash_is_made_once(account: DavAccount) -> None:
    contact = add_contact(account.call("k1"), LENA)
    account.folder.rollback("k1")
    assert add_contact(account.call("k1"), LENA) == contact
    assert len(account.on_server()) == 1
    changed = change_contact(account.call("k2"), contact.id, phone=PhoneNumber("030 12"))
    account.folder.rollback("k2")
    assert change_contact(account.call("k2"), contact.id, phone=PhoneNumber("030 12")) == changed


def test_a_card_changed_meanwhile_is_a_conflict(account: DavAccount) -> None:
    account.put("a.vcf", foreign("a", "Anna"))
    account.sync_s = 3600
    found = find_contact(account.call("k1"), PersonName("anna"))
    account.put("a.vcf", foreign("a", "Annika"))
    with pytest.raises(Conflict, match="nothing was changed; look at it again and repeat"):
        change_contact(account.call("k2"), found.id, phone=PhoneNumber("030 12"))
    with pytest.raises(Conflict, match="look at it again and repeat"):
        delete_contact(account.call("k3"), found.id)
    assert "FN:Annika" in account.on_server()["a.vcf"]
    assert find_contact(account.call("k4"), PersonName("annika")).id == "a"


def test_undo_does_not_take_back_what_somebody_else_changed_since(account: DavAccount) -> None:
    contact = add_contact(account.call("k1"), LENA)
    theirs = account.on_server()[f"{contact.id}.vcf"].replace("REV:20261120T083000Z", "REV:20261120T120000Z")
    account.put(f"{contact.id}.vcf", theirs)
    account.folder.undo("k1")
    with pytest.raises(Conflict, match="it was not undone there"):
        add_contact.undo({}, to_plain(contact), account.call("k1"))
    assert len(account.on_server()) == 1


def test_a_wrong_password_and_a_closed_door_say_so(account: DavAccount) -> None:
    uses: tuple[Callable[[], object], ...] = (
        lambda: find_contact(account.call("k1"), LENA),
        lambda: add_contact(account.call("k2"), LENA),
    )
    account.password = "wrong"
    for use in uses:
        with pytest.raises(
            ToolError, match=r"\(HTTP 401\); check username and password in \[contacts\] of hearth.toml"
        ):
            use()
    account.egress = ClosedEgress()  # type: ignore[assignment]
    for use in uses:
        with pytest.raises(ToolError, match=r"address book server '127\.0\.0\.1' may not be reached"):
            use()
    assert account.folder.for_call("r").list() == ()


def test_without_the_server_the_last_copy_is_read(account: DavAccount, tmp_path: Path) -> None:
    folder = tmp_path / "second"
    folder.mkdir()
    with running_radicale(folder) as server:
        account.server, account.url = server, server.make(account.name, "contacts")
        contact = add_contact(account.call("k1"), LENA)
        server.stop()
    call = account.call("k2")
    assert find_contact(call, LENA) == contact
    assert call.notices[0].startswith("This is the last copy: the address book server '127.0.0.1' cannot be reached")
    with pytest.raises(TransientToolError, match="cannot be reached"):
        delete_contact(account.call("k3"), contact.id)
    assert find_contact(account.call("k4"), LENA) == contact
