"""The DAV client and the mirror against servers that misbehave; real ones are in `tests/integration`."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import time
from collections.abc import Callable, Iterator

import httpx
import pytest

from hearth.errors import Conflict, NotFound, ToolError, TransientToolError
from hearth.protocols import CallContext
from hearth.testing import FIXED_NOW, ClosedEgress, InMemoryWorkspace, make_call
from hearth.tools.pim.calendar import EventId, add_event, cancel_event, find_events, move_event
from hearth.tools.pim.servers import mirror
from hearth.tools.pim.servers.mirror import Account, Collection, checked_url, file_name, parse_xml, path_of
from hearth.types import Plain

Answer = Callable[[httpx.Request], httpx.Response]
ACCOUNT = Account("https://dav.example.org/cal/", "owner", "s3cret", "calendar")
EVENT = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:{}\nDTSTART:20261124T100000Z\nSUMMARY:{}\nEND:VEVENT\nEND:VCALENDAR\n"


def multistatus(*responses: str) -> httpx.Response:
    body = "".join(f"<response>{r}</response>" for r in responses)
    xml = f'<?xml version="1.0"?><multistatus xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">{body}</multistatus>'
    return httpx.Response(207, content=xml.encode())


def found(href: str, *properties: str) -> str:
    return f"<href>{href}</href><propstat><prop>{''.join(properties)}</prop><status>HTTP/1.1 200 OK</status></propstat>"


IS_CALENDAR = "<resourcetype><collection/><C:calendar/></resourcetype>"


@contextlib.contextmanager
def collection(answer: Answer, account: Account = ACCOUNT) -> Iterator[Collection]:
    with Collection(account, httpx.MockTransport(answer)) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _fresh_process() -> None:
    mirror._asked.clear()
    mirror._addresses.clear()


# ── Addresses ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("dav.example.org/cal/", "https://dav.example.org/cal/"),
        ("https://dav.example.org", "https://dav.example.org"),
        ("http://127.0.0.1:5232/x/", "http://127.0.0.1:5232/x/"),
        ("http://localhost/x/", "http://localhost/x/"),
        ("http://[::1]/x/", "http://[::1]/x/"),
    ],
)
def test_addresses_are_encrypted_unless_on_this_machine(url: str, expected: str) -> None:
    assert checked_url(url, "calendar") == expected


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "http://dav.example.org/",
            r"\[contacts\] url .* would send the password unencrypted; write it with 'https://'",
        ),
        ("http://127.0.0.1.example.org/", "would send the password unencrypted"),
        ("ftp://dav.example.org/", "is no web address; expected 'https://host/path/'"),
        ("https:///path", "is no web address"),
    ],
)
def test_addresses_that_are_refused(url: str, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        checked_url(url, "contacts")


def test_the_password_is_not_shown() -> None:
    assert "s3cret" not in repr(ACCOUNT)
    assert path_of("https://x.org/a%20b/%C3%BC.ics") == path_of("/a b/ü.ics") == "/a b/ü.ics"


# ── XML ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_doctype_is_refused_before_anything_expands(encoding: str) -> None:
    lol = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l0 "lol">{lol}]><x>&l11;</x>'.encode(encoding)
    with pytest.raises(ToolError, match="the server's answer holds a DOCTYPE, which Hearth does not read"):
        parse_xml(bomb)


def test_namespaces_attributes_and_text() -> None:
    root = parse_xml(b'<a:x xmlns:a="A" y="1" a:z="2">t<b xmlns="B"/>&#228;\x0b</a:x>')
    assert root.tag == "{A}x"
    assert root.attrib == {"y": "1", "{A}z": "2"}
    assert (root.text, root[0].tag, root[0].tail) == ("t", "{B}b", "ä")


@pytest.mark.parametrize("data", [b"", b"<html><br></html>", b"\xff\xfe", b"<a>&undefined;</a>", b"plain text"])
def test_what_is_not_xml_says_what_to_check(data: bytes) -> None:
    with (
        collection(lambda request: httpx.Response(207, content=data)) as opened,
        pytest.raises(ToolError, match=r"the server's answer is not WebDAV .*; check the url in hearth.toml"),
    ):
        opened.etags()


def test_other_xml_is_no_listing() -> None:
    with (
        collection(lambda request: httpx.Response(200, content=b"<html/>")) as opened,
        pytest.raises(ToolError, match="the server's answer is 'html', not a WebDAV listing"),
    ):
        opened.etags()


# ── Statuses ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("status", "error", "message"),
    [
        (
            401,
            ToolError,
            r"the calendar server 'dav.example.org' refused the user 'owner' \(HTTP 401\); check username",
        ),
        (403, ToolError, "refused the user 'owner'"),
        (404, NotFound, r"has nothing at 'https://dav.example.org/cal/' \(HTTP 404\); check url in \[calendar\]"),
        (412, Conflict, r"holds another version of this entry \(HTTP 412\); look at it again and repeat"),
        (301, ToolError, "redirects to 'https://evil.example/'; if that is right, put it into url in"),
        (503, TransientToolError, r"is in trouble \(HTTP 503\); try again later"),
        (418, ToolError, r"refused \(HTTP 418\) at 'https://dav.example.org/cal/'"),
    ],
)
def test_statuses(status: int, error: type[ToolError], message: str) -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(status, headers={"Location": "https://evil.example/"})

    with collection(answer) as opened, pytest.raises(error, match=message) as caught:
        opened.etags()
    assert "s3cret" not in str(caught.value)
    assert [request.url.host for request in seen] == ["dav.example.org"], "the password goes to no other host"


@pytest.mark.parametrize("fault", [httpx.ConnectTimeout("slow"), httpx.ReadError(""), httpx.RemoteProtocolError("odd")])
def test_a_server_that_cannot_be_reached_may_be_tried_again(fault: httpx.TransportError) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise fault

    with (
        collection(answer) as opened,
        pytest.raises(TransientToolError, match=r"'dav.example.org' cannot be reached \("),
    ):
        opened.etags()


def test_a_huge_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror, "MAX_ANSWER_BYTES", 1000)
    with (
        collection(lambda request: httpx.Response(207, content=b"x" * 1001)) as opened,
        pytest.raises(ToolError, match="answered with more than 1000 bytes; nothing was taken over"),
    ):
        opened.etags()


# ── Discovery ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_calendar_is_found_through_principal_and_home() -> None:
    answers = {
        "/": multistatus(found("/", "<current-user-principal><href>/p/</href></current-user-principal>")),
        "/p/": multistatus(found("/p/", "<C:calendar-home-set><href>/home/</href></C:calendar-home-set>")),
        "/home/": multistatus(
            found("/home/", "<resourcetype><collection/></resourcetype>"),
            found("/home/office/", IS_CALENDAR),
            found(
                "/home/tasks/",
                IS_CALENDAR,
                '<C:supported-calendar-component-set><C:comp name="VTODO"/></C:supported-calendar-component-set>',
            ),
        ),
    }
    account = dataclasses.replace(ACCOUNT, url="https://dav.example.org/")
    with collection(lambda request: answers[request.url.path], account) as opened:
        assert opened.address == "https://dav.example.org/home/office/"


def test_an_address_without_calendars_says_so() -> None:
    with (
        collection(lambda request: multistatus(found("/cal/"))) as opened,
        pytest.raises(
            ToolError, match=r"there is no calendar at 'https://dav.example.org/cal/'; put the address of one"
        ),
    ):
        opened.etags()


@pytest.mark.parametrize(
    "href",
    ["https://evil.example/home/", "//evil.example/x/", "http://dav.example.org/", "https://dav.example.org:444/"],
)
def test_a_server_cannot_send_the_password_elsewhere(href: str) -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(str(request.url))
        return multistatus(found("/cal/", f"<C:calendar-home-set><href>{href}</href></C:calendar-home-set>"))

    with collection(answer) as opened, pytest.raises(ToolError, match="Hearth sends the password to no other host"):
        opened.etags()
    assert seen == ["https://dav.example.org/cal/"]


# ── Single requests ───────────────────────────────────────────────────────────────────────────────────────


def test_conditions_and_credentials_are_sent() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        if request.method == "PROPFIND":
            return multistatus(found("/cal/", IS_CALENDAR))
        return httpx.Response(201, headers={"ETag": {"PUT": '"2"', "DELETE": ""}[request.method]})

    with collection(answer) as opened:
        assert opened.create("a.ics", b"x").href == "/cal/a.ics"
        assert opened.replace("/cal/a.ics", b"y", '"1"').etag == '"2"'
        opened.delete("/cal/a.ics", '"2"')
    _, create, replace, delete = seen
    assert create.headers["If-None-Match"] == "*"
    assert create.headers["Content-Type"] == "text/calendar; charset=utf-8"
    assert replace.headers["If-Match"] == '"1"'
    assert delete.headers["If-Match"] == '"2"'
    assert all(request.headers["Authorization"].startswith("Basic ") for request in seen)


def test_a_server_that_rewrites_gives_no_etag() -> None:
    with collection(lambda request: httpx.Response(204, headers={"ETag": 'W/"1"'})) as opened:
        assert opened.replace("/cal/a.ics", b"x", '"0"').etag == ""


def test_deleting_what_is_gone_is_done() -> None:
    with collection(lambda request: httpx.Response(404)) as opened:
        opened.delete("/cal/a.ics", '"1"')


# ── The mirror ────────────────────────────────────────────────────────────────────────────────────────────


class FakeServer(ClosedEgress):
    """A calendar in a dict; `log` keeps the methods asked for."""

    def __init__(self) -> None:
        self.events: dict[str, tuple[str, str]] = {}
        self.log: list[str] = []
        self.is_silent = self.is_dripping = self.forgets = False

    def transport(self, reason: str, *, is_web: bool = False) -> httpx.BaseTransport:
        return httpx.MockTransport(self.answer)

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.log.append(request.method)
        path = request.url.path
        if self.is_silent:
            raise httpx.ConnectError("no route")
        if self.is_dripping:
            return httpx.Response(207, content=(time.sleep(0.02) or b" " for _ in range(500)))  # type: ignore[func-returns-value]
        if request.method == "PROPFIND" and request.headers["Depth"] == "0":
            return multistatus(found("/cal/", IS_CALENDAR))
        if request.method == "PROPFIND":
            return multistatus(*(found(h, f"<getetag>{e}</getetag>") for h, (e, _) in self.events.items()))
        if request.method == "REPORT":
            asked = {h: v for h, v in self.events.items() if f"<D:href>{h}</D:href>" in request.content.decode()}
            return multistatus(
                *(
                    found(h, f"<getetag>{e}</getetag>", f"<C:calendar-data><![CDATA[{data}]]></C:calendar-data>")
                    for h, (e, data) in asked.items()
                )
            )
        if request.method == "PUT" and self.forgets:
            return httpx.Response(201, headers={"ETag": '"9"'})
        if request.method == "PUT":
            self.events[path] = ("", request.content.decode())
            return httpx.Response(204)
        if path not in self.events:
            return httpx.Response(404)
        return httpx.Response(200, content=self.events[path][1].encode(), headers={"ETag": self.events[path][0]})

    def call(self, workspace: InMemoryWorkspace, key: str = "k") -> CallContext:
        table: dict[str, dict[str, Plain]] = {
            "calendar": {"url": "dav.example.org/cal/", "username": "o", "password": "p", "sync_s": 0}
        }
        return dataclasses.replace(make_call(key, workspace=workspace, settings=table), egress=self)


def test_odd_names_and_unreadable_entries_of_a_server() -> None:
    server, workspace = FakeServer(), InMemoryWorkspace()
    server.events = {
        "/cal/a%20b%2Fc.ics": ('"1"', EVENT.format("a", "Odd name")),
        "/cal/..%2F..%2Fx.ics": ('"1"', EVENT.format("b", "Escape")),
        "/cal/bad.ics": ('"1"', "not a calendar"),
        f"/cal/{'x' * 300}.ics": ('"1"', EVENT.format("c", "Long name")),
    }
    call = server.call(workspace)
    assert [e.title for e in find_events(call)] == ["Escape", "Long name", "Odd name"]
    assert call.notices == ["1 entries on dav.example.org could not be read."]
    assert all(path.startswith("calendar/caldav/") and path.count("/") == 2 for path in workspace.list())
    server.events.clear()
    assert find_events(server.call(workspace)) == []
    assert workspace.list() == ()


def test_an_entry_without_etag_is_fetched_again_each_time() -> None:
    server, workspace = FakeServer(), InMemoryWorkspace()
    server.events = {"/cal/a.ics": ("", EVENT.format("a", "One"))}
    find_events(server.call(workspace))
    server.events = {"/cal/a.ics": ("", EVENT.format("a", "Two"))}
    assert [e.title for e in find_events(server.call(workspace))] == ["Two"]
    moved = move_event(server.call(workspace), EventId("a"), dt.datetime(2026, 11, 25, 9, tzinfo=FIXED_NOW.tzinfo))
    assert [e.start for e in find_events(server.call(workspace))] == [moved.start]


def test_a_copy_is_read_without_the_server_and_says_so() -> None:
    server, workspace = FakeServer(), InMemoryWorkspace()
    server.events = {"/cal/a.ics": ('"1"', EVENT.format("a", "One"))}
    find_events(server.call(workspace))
    server.is_silent = True
    call = server.call(workspace)
    assert [e.title for e in find_events(call)] == ["One"]
    assert call.notices == [
        "This is the last copy: the calendar server 'dav.example.org' cannot be reached (no route); check the network and "
        "try again."
    ]
    before = dict(workspace.files)
    with pytest.raises(TransientToolError):
        cancel_event(server.call(workspace), EventId("a"))
    assert workspace.files == before


def test_an_answer_that_never_ends_leaves_the_last_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror, "ANSWER_S", 0.1)
    server, workspace = FakeServer(), InMemoryWorkspace()
    server.events = {"/cal/a.ics": ('"1"', EVENT.format("a", "One"))}
    find_events(server.call(workspace))
    server.is_dripping = True
    call, began = server.call(workspace), time.monotonic()
    assert [e.title for e in find_events(call)] == ["One"]
    assert time.monotonic() - began < 5
    assert "did not end its answer within 0.1 s" in call.notices[0]


def test_an_answer_has_a_bounded_number_of_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    one = f"<response>{found('/cal/a.ics', '<getetag>1</getetag><resourcetype/>')}</response>"
    assert len(parse_xml(f'<multistatus xmlns="DAV:">{one * 20_000}</multistatus>'.encode())) == 20_000
    monkeypatch.setattr(mirror, "MAX_ELEMENTS", 1_000)
    with pytest.raises(ToolError, match="more than 1000 elements"):
        parse_xml(b"<multistatus>" + b"<a/>" * 1_001)


def at_ten(day: int) -> dt.datetime:
    return dt.datetime(2026, 11, day, 10, tzinfo=FIXED_NOW.tzinfo)


def test_a_server_that_keeps_nothing_of_what_it_says_it_took_is_said_so() -> None:
    server, workspace = FakeServer(), InMemoryWorkspace()
    server.events = {"/cal/a.ics": ('"1"', EVENT.format("a", "One"))}
    find_events(server.call(workspace))
    server.forgets = True
    before = dict(workspace.files)
    with pytest.raises(ToolError, match="did not keep it"):
        add_event(server.call(workspace, "k1"), "Dentist", at_ten(25))
    with pytest.raises(ToolError, match="did not keep it"):
        move_event(server.call(workspace, "k2"), EventId("a"), at_ten(25))
    assert workspace.files == before
    server.forgets = False
    assert move_event(server.call(workspace, "k3"), EventId("a"), at_ten(26)).start == at_ten(26)
    assert add_event(server.call(workspace, "k4"), "Dentist", at_ten(25)).title == "Dentist"


def test_that_everything_is_gone_is_said_and_that_one_entry_is_is_not() -> None:
    server, workspace = FakeServer(), InMemoryWorkspace()
    server.events = {f"/cal/{k}.ics": ('"1"', EVENT.format(k, k.upper())) for k in "abc"}
    find_events(server.call(workspace))
    del server.events["/cal/a.ics"]
    call = server.call(workspace)
    assert [e.title for e in find_events(call)] == ["B", "C"]
    assert call.notices == []
    server.events.clear()
    assert find_events(call := server.call(workspace)) == []
    assert call.notices == ["All 2 entries that were here are gone from dav.example.org."]


def test_a_copy_that_names_another_host_gets_no_password() -> None:
    server, workspace = FakeServer(), InMemoryWorkspace()
    server.events = {"/cal/a.ics": ('"1"', EVENT.format("a", "One"))}
    find_events(server.call(workspace))
    (path,) = workspace.list()
    workspace.write(path, workspace.read(path).replace(b"HREF:/cal/a.ics", b"HREF:https://evil.example/a.ics"))
    server.log.clear()
    with pytest.raises(ToolError, match="Hearth sends the password to no other host"):
        cancel_event(server.call(workspace), EventId("a"))
    assert server.log == []


def test_without_a_server_nothing_is_asked() -> None:
    server, workspace = FakeServer(), InMemoryWorkspace({"calendar/a.ics": EVENT.format("a", "One")})
    call = dataclasses.replace(make_call(workspace=workspace, settings={"calendar": {"url": ""}}), egress=server)
    assert [e.title for e in find_events(call)] == ["One"]
    assert server.log == []


def test_file_names_are_safe_and_distinct() -> None:
    assert file_name("5f0b7c1e-8a44@hearth") == "5f0b7c1e-8a44@hearth"
    odd = ["a/b", "a_b/", "..", ".hidden", "ü", "x" * 300, "x" * 301, ""]
    names = [file_name(text) for text in odd]
    assert len(set(names)) == len(odd)
    assert all(name and "/" not in name and not name.startswith(".") and len(name) < 120 for name in names[:-1])
