"""The calendar tools against a real CalDAV server (Radicale), with another program on the same account."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from hearth.errors import Conflict, EgressError, NotFound, ToolError, TransientToolError
from hearth.formats.tool_signature import to_plain
from hearth.guard.egress.gateway import Egress
from hearth.storage.database import Store
from hearth.storage.workspace import Folder
from hearth.testing import FIXED_NOW, ClosedEgress, make_call
from hearth.tools.pim.calendar import add_event, cancel_event, change_event, find_events, move_event, next_event
from hearth.tools.pim.servers import mirror
from hearth.types import Plain
from tests.integration.conftest import USER, DavAccount, DavServer, OpenEgress, running_radicale

ZONE = FIXED_NOW.tzinfo


@pytest.fixture
def account(folder: Folder, radicale: DavServer, request: pytest.FixtureRequest) -> DavAccount:
    name = request.node.name.replace("[", "-").replace("]", "")
    return DavAccount(folder, radicale, radicale.make(name, "calendar"), name)


def at(day: int, hour: int = 0, minute: int = 0, month: int = 11) -> dt.datetime:
    return dt.datetime(2026, month, day, hour, minute, tzinfo=ZONE)


def foreign(uid: str, title: str, day: str = "20261124", extra: str = "") -> str:
    return (
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//other//EN\r\nBEGIN:VEVENT\r\n"
        f"UID:{uid}\r\nDTSTAMP:20261101T000000Z\r\nDTSTART:{day}T100000Z\r\nDTEND:{day}T110000Z\r\nSUMMARY:{title}\r\n"
        f"X-OTHER;X-P=1:kept\r\n{extra}END:VEVENT\r\nEND:VCALENDAR\r\n"
    )


def test_an_added_event_is_on_the_server_and_in_the_folder(account: DavAccount) -> None:
    event = add_event(account.call("k1"), "Lunch, with Änna\n2nd line 🎉", at(24, 13), attendees=("anna@example.org",))
    (data,) = account.on_server().values()
    assert f"UID:{event.id}" in data
    assert "SUMMARY:Lunch\\, with Änna\\n2nd line 🎉" in data.replace("\r\n ", "")
    assert "X-HEARTH-HREF" not in data
    assert "X-HEARTH-ETAG" not in data
    assert "ORGANIZER" not in data, "without an organiser the server invites nobody"
    assert account.folder.for_call("r").list("calendar") == (f"calendar/caldav/{event.id}.ics",)
    assert find_events(account.call("k2")) == [event]
    assert account.egress.reasons == ["add an entry of your calendar", "read your calendar"]


def test_events_of_another_program_appear_change_and_disappear(account: DavAccount) -> None:
    account.put("a.ics", foreign("a", "Concert"))
    account.put("b.ics", foreign("b", "Dentist"))
    assert [e.title for e in find_events(account.call("k1"))] == ["Concert", "Dentist"]
    account.put("a.ics", foreign("a", "Opera"))
    with account.server.client() as client:
        client.delete(f"/{USER}/{account.name}/b.ics").raise_for_status()
    assert [e.title for e in find_events(account.call("k2"))] == ["Opera"]
    assert len(account.folder.for_call("r").list("calendar")) == 1


def test_only_what_changed_is_fetched_and_only_after_the_interval(account: DavAccount) -> None:
    account.put("a.ics", foreign("a", "Concert"))
    account.sync_s = 3600
    find_events(account.call("k1"))
    account.put("b.ics", foreign("b", "Dentist"))
    assert [e.title for e in find_events(account.call("k2"))] == ["Concert"], "within the interval the copy is read"
    assert account.egress.reasons == ["read your calendar"]
    before = account.folder.for_call("r").read("calendar/caldav/a.ics")
    account.sync_s = 0
    assert len(find_events(account.call("k3"))) == 2
    assert account.folder.for_call("r").read("calendar/caldav/a.ics") == before


def test_moving_keeps_what_other_programs_wrote(account: DavAccount) -> None:
    account.put("a.ics", foreign("a", "Concert"))
    found = next_event(account.call("k1"), "concert")
    moved = move_event(account.call("k2"), found.id, at(25, 20))
    assert moved.start == at(25, 20)
    data = account.on_server()["a.ics"]
    assert "DTSTART:20261125T190000Z" in data
    assert "DTEND:20261125T200000Z" in data
    assert "X-OTHER;X-P=1:kept" in data
    assert find_events(account.call("k3")) == [moved]


def test_one_occurrence_is_moved_and_one_cancelled_on_the_server(account: DavAccount) -> None:
    add_event(account.call("k1"), "Yoga", at(24, 18, 30), length=dt.timedelta(hours=1), repeat="weekly")
    tuesdays = find_events(account.call("k2"), start=at(20), end=at(20, month=12))
    assert len(tuesdays) == 4
    move_event(account.call("k3"), tuesdays[1].id, at(2, month=12))
    cancel_event(account.call("k4"), tuesdays[2].id)
    (data,) = account.on_server().values()
    assert "RECURRENCE-ID;TZID=Europe/Berlin:20261201T183000" in data
    assert "EXDATE;TZID=Europe/Berlin:20261208T183000" in data
    starts = [e.start for e in find_events(account.call("k5"), start=at(20), end=at(20, month=12))]
    assert starts == [at(24, 18, 30), at(2, 18, 30, 12), at(15, 18, 30, 12)]


def test_a_cancelled_event_is_gone_there_and_here(account: DavAccount) -> None:
    event = add_event(account.call("k1"), "Lunch", at(24, 13))
    assert cancel_event(account.call("k2"), event.id) == event
    assert account.on_server() == {}
    assert account.folder.for_call("r").list("calendar") == ()


def test_undo_of_each_change_reaches_the_server(account: DavAccount) -> None:
    event = add_event(account.call("k1"), "Lunch", at(24, 13))
    account.folder.undo("k1")
    add_event.undo({}, to_plain(event), account.call("k1"))
    assert account.on_server() == {}

    event = add_event(account.call("k2"), "Lunch", at(24, 13))
    moved = move_event(account.call("k3"), event.id, at(25, 14))
    account.folder.undo("k3")
    move_event.undo({}, to_plain(moved), account.call("k3"))
    assert find_events(account.call("k4")) == [event]
    assert "20261124T130000" in next(iter(account.on_server().values()))

    cancelled = cancel_event(account.call("k5"), event.id)
    account.folder.undo("k5")
    cancel_event.undo({}, to_plain(cancelled), account.call("k5"))
    assert len(account.on_server()) == 1
    assert find_events(account.call("k6")) == [event]


def test_undo_says_whom_the_server_may_write_to_again(account: DavAccount) -> None:
    who = "ORGANIZER:mailto:boss@work.example\r\nATTENDEE:mailto:me@mine.example\r\n"
    account.put("meeting.ics", foreign("meeting", "Meeting", extra=who))
    (event,) = find_events(account.call("k1"))
    for key, place in (("k2", "Harbour"), ("k3", "Lake")):
        changed = change_event(account.call(key), event.id, place=place)
    account.folder.undo("k3")
    call = account.call("k3")
    change_event.undo({}, to_plain(changed), call)
    assert call.notices == ["the calendar server may write to boss@work.example about it, too"]
    assert [one.place for one in find_events(account.call("k4"))] == ["Harbour"]


def test_undo_does_not_take_back_what_somebody_else_changed_since(account: DavAccount) -> None:
    event = add_event(account.call("k1"), "Lunch", at(24, 13))
    theirs = account.on_server()[f"{event.id}.ics"].replace("SUMMARY:Lunch", "SUMMARY:Brunch")
    theirs = theirs.replace("LAST-MODIFIED:20261120T083000Z", "LAST-MODIFIED:20261120T120000Z")
    account.put(f"{event.id}.ics", theirs)
    account.folder.undo("k1")
    with pytest.raises(Conflict, match=r"changed on '127\.0\.0\.1' since; it was not undone there"):
        add_event.undo({}, to_plain(event), account.call("k1"))
    assert "SUMMARY:Brunch" in account.on_server()[f"{event.id}.ics"]
    assert [e.title for e in find_events(account.call("k2"))] == ["Brunch"]


def test_a_change_repeated_after_a_crash_is_made_once(account: DavAccount) -> None:
    first = add_event(account.call("k1"), "Lunch", at(24, 13))
    account.folder.rollback("k1")  # the process died after the server had it
    assert add_event(account.call("k1"), "Lunch", at(24, 13)) == first
    assert len(account.on_server()) == 1

    moved = move_event(account.call("k2"), first.id, at(25, 14))
    account.folder.rollback("k2")
    assert move_event(account.call("k2"), first.id, at(25, 14)) == moved

    cancel_event(account.call("k3"), first.id)
    account.folder.rollback("k3")
    assert cancel_event(account.call("k3"), first.id) == moved
    assert account.on_server() == {}


@pytest.mark.parametrize("what", ["move", "cancel"])
def test_an_event_changed_meanwhile_by_another_program_is_a_conflict(account: DavAccount, what: str) -> None:
    account.put("a.ics", foreign("a", "Concert"))
    account.sync_s = 3600
    found = next_event(account.call("k1"))
    account.put("a.ics", foreign("a", "Opera"))
    before = account.folder.for_call("r").read("calendar/caldav/a.ics")
    change: dict[str, Callable[[], object]] = {"move": lambda: move_event(account.call("k2"), found.id, at(25, 20))}
    change["cancel"] = lambda: cancel_event(account.call("k2"), found.id)
    with pytest.raises(Conflict, match="look at it again and repeat"):
        change[what]()
    assert "SUMMARY:Opera" in account.on_server()["a.ics"]
    assert account.folder.for_call("r").read("calendar/caldav/a.ics") == before
    assert next_event(account.call("k3")).title == "Opera", "the next look asks the server, interval or not"


def test_an_event_deleted_meanwhile_cannot_be_moved(account: DavAccount) -> None:
    account.put("a.ics", foreign("a", "Concert"))
    account.sync_s = 3600
    found = next_event(account.call("k1"))
    with account.server.client() as client:
        client.delete(f"/{USER}/{account.name}/a.ics").raise_for_status()
    with pytest.raises(ToolError, match=r"gone from '127\.0\.0\.1'"):
        move_event(account.call("k2"), found.id, at(25, 20))


def test_a_wrong_password_says_so_and_changes_nothing(account: DavAccount) -> None:
    account.password = "wrong"
    uses: tuple[Callable[[], object], ...] = (
        lambda: find_events(account.call("k1")),
        lambda: add_event(account.call("k2"), "Lunch", at(24, 13)),
    )
    for use in uses:
        with pytest.raises(ToolError, match=r"refused the user 'owner' \(HTTP 401\); check username and password") as e:
            use()
        assert "wrong" not in str(e.value)
    assert account.folder.for_call("r").list() == ()


def test_without_the_server_the_last_copy_is_read_and_nothing_is_changed(account: DavAccount, tmp_path: Path) -> None:
    folder = tmp_path / "second"
    folder.mkdir()
    with running_radicale(folder) as server:
        account.server, account.url = server, server.make(account.name, "calendar")
        event = add_event(account.call("k1"), "Lunch", at(24, 13))
        server.stop()
    call = account.call("k2")
    assert find_events(call) == [event]
    assert call.notices[0].startswith("This is the last copy: the calendar server '127.0.0.1' cannot be reached")
    before = account.folder.for_call("r").read(f"calendar/caldav/{event.id}.ics")
    with pytest.raises(TransientToolError, match="cannot be reached"):
        move_event(account.call("k3"), event.id, at(25, 14))
    with pytest.raises(TransientToolError, match="cannot be reached"):
        add_event(account.call("k4"), "Dinner", at(24, 19))
    assert account.folder.for_call("r").read(f"calendar/caldav/{event.id}.ics") == before
    assert len(account.folder.for_call("r").list()) == 1


def test_without_server_or_copy_reading_fails(folder: Folder) -> None:
    table: Mapping[str, Plain] = {"url": "http://127.0.0.1:9/c/", "sync_s": 0}
    call = make_call("k", workspace=folder.for_call("k"), settings={"calendar": table})
    with pytest.raises(TransientToolError, match="cannot be reached"):
        find_events(dataclasses.replace(call, egress=OpenEgress()))


def test_a_closed_door_is_a_clear_error(account: DavAccount) -> None:
    account.egress = ClosedEgress()  # type: ignore[assignment]
    uses: tuple[Callable[[], object], ...] = (
        lambda: find_events(account.call("k1")),
        lambda: add_event(account.call("k2"), "Lunch", at(24, 13)),
    )
    for use in uses:
        with pytest.raises(ToolError, match=r"calendar server '127\.0\.0\.1' may not be reached: .*closed") as caught:
            use()
        assert not isinstance(caught.value, TransientToolError | EgressError)


def test_the_calendar_is_found_from_the_account(account: DavAccount, folder: Folder, tmp_path: Path) -> None:
    data = tmp_path / "third"
    data.mkdir()
    with running_radicale(data) as server:
        server.make("tasks", "calendar", "VTODO")
        server.make("people", "contacts")
        work = server.make("office", "calendar")
        alone = DavAccount(folder, server, server.url + "/", "office")
        add_event(alone.call("k1"), "Lunch", at(24, 13))
        assert len(alone.on_server()) == 1
        server.make("home", "calendar")
        mirror._addresses.clear()
        with pytest.raises(ToolError, match=r"there are 2 at .*/owner/office/.*put one of them into \[calendar\] url"):
            find_events(alone.call("k2"))
        alone.url = work
        assert len(find_events(alone.call("k3"))) == 1


def test_local_events_stay_local(account: DavAccount) -> None:
    local = make_call("k0", workspace=account.folder.for_call("k0"))
    event = add_event(local, "Diary", at(24, 9))
    account.put("a.ics", foreign("a", "Concert"))
    assert [e.title for e in find_events(account.call("k1"))] == ["Diary", "Concert"]
    move_event(account.call("k2"), event.id, at(24, 10))
    assert list(account.on_server()) == ["a.ics"]
    move_event.undo({}, to_plain(event), account.call("k2"))
    with pytest.raises(NotFound):
        cancel_event(account.call("k3"), "none")


def test_a_thousand_events_are_taken_over(account: DavAccount) -> None:
    calendar = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//other//EN\r\n"
    for n in range(1000):
        calendar += foreign(f"e{n}", f"Event {n}").split("PRODID:-//other//EN\r\n")[1].removesuffix("END:VCALENDAR\r\n")
    with account.server.client() as client:
        whole = client.put(
            f"/{USER}/{account.name}/",
            content=(calendar + "END:VCALENDAR\r\n").encode(),
            headers={"Content-Type": "text/calendar"},
            timeout=60,
        )
        whole.raise_for_status()
    found = find_events(account.call("k1"), "event 999")
    assert [e.title for e in found] == ["Event 999"]
    assert len(account.folder.for_call("r").list("calendar")) == 1000


def test_through_the_real_door_every_request_is_written_down(account: DavAccount, store: Store) -> None:
    port = urlsplit(account.url).port
    door = Egress([f"127.0.0.1:{port}"], store, clock=lambda: FIXED_NOW)
    door.purpose = "episode"
    event = add_event(dataclasses.replace(account.call("k1"), egress=door), "Lunch", at(24, 13))
    (name,) = account.on_server()
    assert name == f"{event.id}.ics"
    looked, put, looked_after = door.disclosures("episode")
    assert looked_after.host == "127.0.0.1"
    assert (looked.host, looked.reason) == ("127.0.0.1", "add an entry of your calendar")
    assert put.n_bytes > len("SUMMARY:Lunch")
    shut = Egress(["dav.example.org"], store, clock=lambda: FIXED_NOW)
    with pytest.raises(ToolError, match=r'may not be reached: .*add "127\.0\.0\.1" to `allow` under \[network\]'):
        add_event(dataclasses.replace(account.call("k2"), egress=shut), "Dinner", at(24, 19))
    assert len(account.on_server()) == 1
