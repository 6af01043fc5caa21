"""Published calendars from a server on this machine, through the real network door."""

from __future__ import annotations

import datetime as dt
import http.server
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hearth.errors import ConfigError, NotFound, ToolError
from hearth.guard.egress.gateway import Egress
from hearth.guard.labels import label_of
from hearth.memory.search.collecting import passages_in
from hearth.protocols import CallContext
from hearth.storage.database import Store
from hearth.storage.workspace import Folder
from hearth.testing import FIXED_NOW, make_call
from hearth.testing.recorded_cloud import served_here
from hearth.tools.pim.calendar import cancel_event, find_events, find_free_time, move_event
from hearth.tools.pim.servers import subscriptions
from hearth.tools.pim.servers.subscriptions import FOLDER, STATE, refresh, states
from hearth.types import Plain
from tests.served_home import made

TOKEN = "private-3f9ac1d2"


def event(uid: str, title: str, day: str = "20261124", extra: str = "") -> str:
    return (
        f"BEGIN:VEVENT\r\nUID:{uid}\r\nDTSTAMP:{time.time_ns()}\r\nDTSTART:{day}T100000Z\r\nDTEND:{day}T110000Z\r\n"
        f"SUMMARY:{title}\r\n{extra}END:VEVENT\r\n"
    )


def feed(*events: str) -> bytes:
    return ("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n" + "".join(events) + "END:VCALENDAR\r\n").encode()


@dataclass
class Site:
    """What the server does, and what it was asked."""

    body: bytes = b""
    status: int = 200
    location: str = ""
    etag: str = ""
    drips: bool = False
    asked: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    address: str = ""
    over: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def site() -> Iterator[Site]:
    said = Site()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None: ...

        def do_GET(self) -> None:
            said.asked.append({name.lower(): value for name, value in self.headers.items()})
            said.paths.append(self.path)
            if said.etag and self.headers.get("If-None-Match") == said.etag:
                self.send_response(304)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(said.status)
            if said.location:
                self.send_header("Location", said.location)
            if said.etag:
                self.send_header("ETag", said.etag)
            self.send_header("Content-Length", str(10_000_000 if said.drips else len(said.body)))
            self.end_headers()
            while said.drips and not said.over.wait(0.02):
                try:
                    self.wfile.write(b"X")
                except OSError:
                    return
            if not said.drips:
                self.wfile.write(said.body)

    with served_here(Handler) as address:
        said.address = f"{address}/{TOKEN}/basic.ics"
        yield said
        said.over.set()


@dataclass
class World:
    folder: Folder
    store: Store
    site: Site
    table: dict[str, Plain] = field(default_factory=dict)
    allow: tuple[str, ...] = ("127.0.0.1",)
    n_calls: int = 0

    def call(self, now: dt.datetime = FIXED_NOW) -> CallContext:
        self.n_calls += 1
        key = f"k{self.n_calls}"
        egress = Egress(self.allow, self.store, lambda: FIXED_NOW)
        table = {"url": self.site.address, "sync_s": 3600, **self.table}
        settings: dict[str, dict[str, Plain]] = {"calendar": {"subscription": {"team": table}}}
        return make_call(key, now, self.folder.for_call(key), settings, egress=egress)

    def titles(self, now: dt.datetime = FIXED_NOW) -> list[str]:
        return [one.title for one in find_events(self.call(now))]

    def recorded(self) -> bytes:
        rows = self.store.query("SELECT payload, reason, host FROM disclosure ORDER BY number", ())
        return b"\n".join(bytes(row["payload"] or b"") + f"{row['reason']} {row['host']}".encode() for row in rows)


@pytest.fixture
def world(tmp_path: Path, site: Site) -> Iterator[World]:
    with Store.open(tmp_path / "hearth.db") as store:
        yield World(Folder(tmp_path / "owner", store), store, site)


HOUR = dt.timedelta(hours=1)


def test_events_are_found_labelled_as_a_strangers_and_only_read(world: World) -> None:
    world.site.body = feed(event("a", "Match", extra="ATTENDEE;CN=Eve:mailto:eve@x.example\r\n"))
    call = world.call()
    (found,) = find_events(call)
    assert (found.title, found.start.hour) == ("Match", 11)
    assert call.origins == {found.id: "web"}
    assert not label_of("web").is_trusted
    with pytest.raises(ToolError, match="only read"):
        move_event(world.call(), found.id, FIXED_NOW)
    with pytest.raises(ToolError, match="only read"):
        cancel_event(world.call(), found.id)
    passages = passages_in(f"{FOLDER}/team.ics", world.call().workspace, FIXED_NOW.tzinfo).passages
    assert [one.source for one in passages] == ["web"]


def test_it_is_fetched_once_in_its_interval_and_not_again_while_unchanged(world: World) -> None:
    world.site.body, world.site.etag = feed(event("a", "Match")), '"1"'
    assert world.titles() == ["Match"]
    assert world.titles() == ["Match"]
    assert len(world.site.asked) == 1
    n_rows = len(world.store.query("SELECT 1 FROM journal WHERE path LIKE '%team.ics'"))
    assert world.titles(FIXED_NOW + 2 * HOUR) == ["Match"]
    assert world.site.asked[1]["if-none-match"] == '"1"'
    world.site.body, world.site.etag = feed(event("a", "Match")), '"2"'  # another DTSTAMP, the same events
    assert world.titles(FIXED_NOW + 4 * HOUR) == ["Match"]
    assert len(world.store.query("SELECT 1 FROM journal WHERE path LIKE '%team.ics'")) == n_rows
    world.site.body, world.site.etag = feed(event("b", "Final")), '"3"'
    assert world.titles(FIXED_NOW + 6 * HOUR) == ["Final"]


def test_neither_messages_nor_the_record_hold_the_secret_address(world: World) -> None:
    world.site.body = feed(event("a", "Match"))
    world.titles()
    world.site.status = 404
    call = world.call(FIXED_NOW + 2 * HOUR)
    assert [one.title for one in find_events(call)] == ["Match"]
    assert "HTTP 404" in call.notices[0]
    assert "last copy" in call.notices[0]
    told = "\n".join(call.notices) + call.workspace.read(STATE).decode() + repr(subscriptions.feeds_of(call.settings))
    assert TOKEN not in told
    assert TOKEN.encode() not in world.recorded()
    assert b"a secret path of" in world.recorded()
    assert TOKEN in world.site.paths[0]


def test_a_redirect_into_the_house_is_refused_though_the_owner_allows_the_host(world: World) -> None:
    other = world.site.address.replace("127.0.0.1", "localhost")
    world.allow = ("127.0.0.1", "localhost")
    world.site.status, world.site.location = 302, other
    call = world.call()
    assert find_events(call) == []
    assert "could not be fetched" in call.notices[0]
    assert len(world.site.asked) == 1, "the second address was never asked"


def test_what_another_server_leads_back_to_the_house_is_a_strangers_word_too(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = subscriptions.Feed("team", "https://nas.lan/a.ics", False, 3600)
    ways = iter(["https://other.example/", "https://nas.lan/restart", "https://nas.lan/restart", "https://nas.lan/x"])
    monkeypatch.setattr(subscriptions, "_sent", lambda *_: next(ways))
    asked: list[bool] = []
    call = world.call()
    transport = call.egress.transport

    def noted(reason: str, *, is_web: bool = False) -> object:
        asked.append(is_web)
        return transport(reason, is_web=is_web)

    monkeypatch.setattr(call.egress, "transport", noted)
    with pytest.raises(ToolError, match="redirects more than"):
        subscriptions._fetched(feed, subscriptions.FeedState(), 0.0, call)
    assert asked == [False, True, True, True]


def test_a_redirect_at_the_same_place_is_followed_and_a_circle_ends(world: World) -> None:
    world.site.status, world.site.location = 302, "/elsewhere.ics"
    call = world.call()
    find_events(call)
    assert "redirects more than 3 times" in call.notices[0]
    assert len(world.site.asked) == 4


@pytest.mark.parametrize("scheme", ["file:///etc/passwd", "ftp://127.0.0.1/x", "//user:pw@127.0.0.1/x", "http://[", ""])
def test_a_redirect_to_what_is_no_web_address_ends_in_a_notice(world: World, scheme: str) -> None:
    world.site.status, world.site.location = 302, scheme
    call = world.call()
    assert find_events(call) == []
    assert "could not be fetched" in call.notices[0]


def test_a_host_that_is_not_allowed_is_not_asked(world: World) -> None:
    world.allow = ()
    call = world.call()
    assert find_events(call) == []
    assert "is not a host Hearth may reach" in call.notices[0]
    assert world.site.asked == []


def test_a_server_that_drips_is_left_and_the_last_copy_stays(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.site.body = feed(event("a", "Match"))
    world.titles()
    monkeypatch.setattr(subscriptions, "FETCH_S", 0.3)
    world.site.drips = True
    began = time.monotonic()
    assert world.titles(FIXED_NOW + 2 * HOUR) == ["Match"]
    assert time.monotonic() - began < 5
    assert "too slowly" in states(world.call())["team"].fault
    world.site.drips = False
    assert world.titles(FIXED_NOW + 2 * HOUR) == ["Match"]
    assert len(world.site.asked) == 2, "after a fault it is left alone for a while"


def test_a_huge_answer_is_not_taken_over(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "MAX_FEED_BYTES", 1000)
    world.site.body = feed(*(event(str(n), "Match") for n in range(20)))
    call = world.call()
    assert find_events(call) == []
    assert "more than 1000 bytes" in call.notices[0]


@pytest.mark.parametrize(
    "body",
    [
        b"", b"<html>log in</html>", b"\x00\xff" * 100, b"BEGIN:VCALENDAR", b"BEGIN:VCARD\r\nEND:VCARD\r\n",
        b"BEGIN:VCALENDAR\r\n" * 2000, feed()[:-5],
    ],
)  # fmt: skip
def test_what_is_no_calendar_leaves_the_last_copy(world: World, body: bytes) -> None:
    world.site.body = feed(event("a", "Match"))
    world.titles()
    world.site.body = body
    assert world.titles(FIXED_NOW + 2 * HOUR) == ["Match"]


@pytest.mark.parametrize(
    "bad",
    [
        "BEGIN:VEVENT\r\nUID:x\r\nSUMMARY:no start\r\nEND:VEVENT\r\n",
        event("x", "never ends", extra="RRULE:FREQ=SECONDLY\r\n"),
        event("x", "leap", extra="RRULE:FREQ=DAILY;INTERVAL=0\r\n"),
        event("x", "fold", extra="RRULE:FREQ=DAILY;INTER\r\n \r VAL=0\r\n"),
        event("x", "feb", extra="RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31\r\n"),
        event("x", "zone", extra="").replace("DTSTART:", "DTSTART;TZID=../../etc/passwd:"),
        event("x", "far", day="99991231"),
        event("x", "not a day", day="20269999"),
        event("x", "big", extra="DESCRIPTION:" + "x" * 100_000 + "\r\n"),
    ],
)
def test_a_bad_event_does_not_hide_the_others(world: World, bad: str) -> None:
    world.site.body = feed(bad, event("b", "Match"))
    assert "Match" in world.titles()


def test_it_cannot_pass_for_an_event_of_the_owners(world: World) -> None:
    mine = feed(event("mine", "Dentist", day="20261125"))
    world.folder.for_call("own").write("calendar/mine.ics", mine)
    world.site.body = feed(event("mine", "Dentist", day="20261125"), event("mine#20261125", "Dentist"))
    found = {one.id: one for one in find_events(world.call())}
    assert "mine" in found
    assert len(found) == 3
    moved = move_event(world.call(), found["mine"].id, FIXED_NOW)
    assert moved.id == "mine"


def test_one_id_for_several_events_loses_none(world: World) -> None:
    world.site.body = feed(event("same", "Monday", "20261123"), event("same", "Tuesday", "20261124"))
    assert world.titles() == ["Monday", "Tuesday"]


def test_only_so_many_events_are_kept_those_that_begin_last(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "MAX_EVENTS", 2)
    world.site.body = feed(*(event(str(n), f"Day {n}", f"202612{n:02}") for n in range(1, 9)))
    assert world.titles() == ["Day 7", "Day 8"]


def test_a_series_with_a_moved_time_is_read_as_one(world: World) -> None:
    moved = event("s", "Moved", "20261202").replace("SUMMARY", "RECURRENCE-ID:20261201T100000Z\r\nSUMMARY")
    world.site.body = feed(event("s", "Weekly", "20261124", "RRULE:FREQ=WEEKLY;COUNT=3\r\n"), moved)
    found = find_events(world.call(), start=FIXED_NOW, end=FIXED_NOW + dt.timedelta(days=40))
    assert [(one.title, one.start.day) for one in found] == [("Weekly", 24), ("Moved", 2), ("Weekly", 8)]


def test_it_counts_as_busy_only_where_the_owner_says_so(world: World) -> None:
    world.site.body = feed(event("a", "Match"))
    day = dt.datetime(2026, 11, 24, 10, tzinfo=FIXED_NOW.tzinfo)
    assert len(find_free_time(world.call(), day, day + 4 * HOUR)) == 1
    world.table = {"busy": True}
    assert len(find_free_time(world.call(), day, day + 4 * HOUR)) == 2


def test_a_name_that_left_the_settings_goes_with_its_copy(world: World) -> None:
    world.site.body = feed(event("a", "Match"))
    world.titles()
    key = "k-none"
    call = make_call(key, FIXED_NOW, world.folder.for_call(key), {"calendar": {}})
    assert find_events(call) == []
    assert refresh(call)
    assert call.workspace.list(FOLDER, "*.ics") == ()
    with pytest.raises(NotFound):
        call.workspace.read(f"{FOLDER}/team.ics")


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ('url = "file:///etc/passwd"', "is no address"),
        ('sync_s = 600', "needs one of url"),
        ('url = "https://x.example/a.ics"\nurl_env = "FEED"', "needs one of url"),
        ('url = "https://x.example/a.ics"\nsync_s = 1', "300"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_meant_are_refused(tmp_path: Path, table: str, says: str) -> None:
    from hearth import config

    made(tmp_path)
    with (tmp_path / "hearth.toml").open("a") as file:
        file.write(f"\n[calendar.subscription.team]\n{table}\n")
    with pytest.raises(ConfigError, match=says):
        config.read_settings(tmp_path / "hearth.toml")


def test_an_address_that_is_a_secret_comes_from_elsewhere(tmp_path: Path) -> None:
    from hearth import config

    made(tmp_path)
    with (tmp_path / "hearth.toml").open("a") as file:
        file.write('\n[calendar.subscription.work]\nurl_env = "FEED"\nbusy = true\n')
    tables = config.read_settings(tmp_path / "hearth.toml").for_tools({"FEED": "webcal://x.example/secret.ics"})
    (one,) = subscriptions.feeds_of(tables)
    assert (one.url, one.is_busy, one.host) == ("https://x.example/secret.ics", True, "x.example")


@pytest.mark.parametrize(
    "text", ["", "[]", '{"team": 1}', '{"team": {"etag": 1}}', '{"team": {"x": 1}}', '{"a": {"fetched": "no"}}']
)
def test_a_damaged_state_is_no_state(world: World, text: str) -> None:
    world.site.body = feed(event("a", "Match"))
    world.folder.for_call("k").write(STATE, text.encode())
    assert world.titles() == ["Match"]


HUGE = 4_000_000


@pytest.mark.parametrize(
    "bad",
    [
        "BEGIN:VEVENT\r\nDTSTART" + ";" * HUGE + ":20260101\r\nEND:VEVENT\r\n",
        "BEGIN:VEVENT\r\nUID:r\r\nDTSTART:20260101\r\nRDATE:" + "20260101," * (HUGE // 9) + "20260101\r\nEND:VEVENT\r\n",
        "BEGIN:VEVENT\r\nDTSTART:20260101\r\nEND:VEVENT\r\n" * (HUGE // 46),
        "BEGIN:VEVENT\r\nDTSTART:20260101\r\n" + "ATTENDEE:mailto:a@b.c\r\n" * (HUGE // 25) + "END:VEVENT\r\n",
    ],
    ids=["parameters", "dates", "events", "attendees"],
)  # fmt: skip
def test_a_feed_made_to_be_slow_is_read_in_bounded_time(bad: str) -> None:
    one = subscriptions.Feed("team", "https://x.example/a.ics", False, 3600)
    began = time.process_time()
    data, n_events = subscriptions.cleaned(feed(bad, event("b", "Match")), one)
    assert time.process_time() - began < 12
    assert b"Match" in data
    assert n_events <= subscriptions.MAX_EVENTS


def test_many_series_are_bounded_and_looked_through_once_each(world: World) -> None:
    world.site.body = feed(*(event(str(n), f"Daily {n}", extra="RRULE:FREQ=DAILY\r\n") for n in range(400)))
    began = time.process_time()
    assert len(find_events(world.call())) == subscriptions.MAX_SERIES
    assert time.process_time() - began < 15


def test_a_file_that_somebody_else_put_there_stays(world: World) -> None:
    world.site.body = feed(event("a", "Match"))
    world.folder.for_call("own").write(f"{FOLDER}/mine.ics", feed(event("m", "Mine")))
    assert world.titles() == ["Match"]
    assert world.folder.for_call("r").exists(f"{FOLDER}/mine.ics")
