"""Strangers' bytes that are not small are read in another process, to the same result; what breaks it is left out."""

from __future__ import annotations

import base64
import datetime as dt
import random
import smtplib
import socket
import threading
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest

from hearth.errors import ToolError, Unreadable
from hearth.formats import bounded_reading
from hearth.formats.bounded_reading import IN_PROCESS_BYTES, Bounds
from hearth.formats.content_lines import parse
from hearth.memory.transfer.archives import pieces_of
from hearth.testing import FIXED_NOW, InMemoryWorkspace, make_call
from hearth.tools.mail import mime
from hearth.tools.mail.bounded_smtp import BoundedSMTP
from hearth.tools.mail.mail import DraftId, draft_forward, find_mail, read_mail, send_mail
from hearth.tools.mail.mime import Attachment, Body, attachments_of, body_of
from hearth.tools.pim import ical
from hearth.tools.pim.calendar import find_events
from hearth.tools.pim.servers import subscriptions

BERLIN = ZoneInfo("Europe/Berlin")


def mail(n_attached: int, text: str = "<p>The boiler man comes.</p>") -> bytes:
    attached = base64.encodebytes(random.Random(0).randbytes(n_attached)).decode()
    return (
        "From: Anna <anna@berg.example>\nTo: me@home.example\nSubject: Boiler\nMIME-Version: 1.0\n"
        f"Date: {FIXED_NOW:%a, %d %b %Y %H:%M:%S +0000}\n"
        'Content-Type: multipart/mixed; boundary="b"\n\n'
        f"--b\nContent-Type: text/html; charset=utf-8\n\n{text}\n--b\nContent-Type: application/pdf\n"
        'Content-Disposition: attachment; filename="a.pdf"\nContent-Transfer-Encoding: base64\n\n'
        f"{attached}--b--\n"
    ).encode()


def test_a_large_mail_is_read_elsewhere_as_it_would_be_here() -> None:
    raw = mail(100_000)
    assert len(raw) > IN_PROCESS_BYTES
    assert mime.read_body(raw) == body_of(raw)
    assert mime.read_attachments(raw) == attachments_of(raw)


def test_a_mail_that_breaks_its_reader_is_named_and_the_rest_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    read = bounded_reading.read_bounded

    def broken(reader: str, data: bytes, bounds: Bounds, options: Mapping[str, object] | None = None) -> bytes:
        if b"hostile" in data:
            raise Unreadable("reading it takes more than 5 s of the processor")
        return read(reader, data, bounds, options)

    monkeypatch.setattr(mime, "read_bounded", broken)
    files = {
        "mail/new/1.a": mail(70_000, "hostile boiler"),
        "mail/new/2.b": mail(70_000, "the boiler man"),
        "mail/.Drafts/cur/3.c:2,DS": mail(70_000, "hostile boiler"),
    }
    settings = {"owner": {"email": "me@home.example"}}
    call = make_call(workspace=InMemoryWorkspace(files, now=FIXED_NOW), settings=settings)
    found = {one.id: one.text for one in find_mail(call=call, query="boiler")}
    assert found == {"INBOX/1.a": "", "INBOX/2.b": "the boiler man"}
    assert [notice for notice in call.notices if "mail/new/1.a was left out" in notice]
    resolve = send_mail.resolvers["draft"]
    for ask in (
        lambda: read_mail("INBOX/1.a", call),
        lambda: draft_forward("INBOX/1.a", ["anna@berg.example"], call),
        lambda: resolve(DraftId("Drafts/3.c"), call, {}),
    ):
        with pytest.raises(ToolError, match="processor"):
            ask()


def test_what_comes_from_a_process_that_was_taken_over_is_cleaned(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = mail(70_000)
    said = {
        "body_piece": b'{"text": "hello \\u001b[2J", "attachments": ["../../.ssh/id"], "is_cut": false}',
        "attachment_pieces": b'[["../../.ssh/id", "a/b\\n", 2]]\nhi',
        "occurrence_pieces": b'[[7, "20261102", "20261103", "20261102"]]',
    }
    monkeypatch.setattr(mime, "read_bounded", lambda reader, *_: said[reader.rpartition(":")[2]])
    monkeypatch.setattr(ical, "read_bounded", lambda reader, *_: said[reader.rpartition(":")[2]])
    assert mime.read_body(raw) == Body("hello [2J", ("id",), is_cut=False)
    assert mime.read_attachments(raw) == [Attachment("id", "a/b", b"hi")]
    said |= {"body_piece": b"[]", "attachment_pieces": b"no list\n"}
    assert mime.read_body(raw).fault
    with pytest.raises(Unreadable, match="damaged"):
        mime.read_attachments(raw)
    document = parse(one_series("DTSTART:20261102T070000Z", "RRULE:FREQ=YEARLY;BYWEEKNO=3"))
    events = dict(enumerate(document.components("VCALENDAR")[0].components("VEVENT")))
    with pytest.raises(ValueError, match="no times"):
        list(ical.occurrences(document, events, FIXED_NOW, None))


SERIES = {
    "weekly": ("DTSTART;TZID=Europe/Berlin:20261013T183000", "RRULE:FREQ=WEEKLY;BYDAY=TU"),
    "over a clock change": ("DTSTART;TZID=W. Europe Standard Time:20260301T080000", "RRULE:FREQ=MONTHLY;BYDAY=-1SU"),
    "whole days": ("DTSTART;VALUE=DATE:20261101", "RRULE:FREQ=DAILY;INTERVAL=2;COUNT=30"),
    "floating": ("DTSTART:20261101T070000", "DURATION:PT30M", "RRULE:FREQ=DAILY;UNTIL=20261231T000000Z"),
    "in UTC, left out once": ("DTSTART:20261102T070000Z", "RRULE:FREQ=WEEKLY", "EXDATE:20261116T070000Z"),
    "listed days": ("DTSTART;VALUE=DATE:20261101", "RDATE;VALUE=DATE:20261125,20261224"),
}


def one_series(*lines: str) -> bytes:
    inner = "\r\n".join(lines)
    return (
        f"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nSUMMARY:X\r\n{inner}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n".encode()
    )


@pytest.mark.parametrize("lines", SERIES.values(), ids=list(SERIES))
def test_a_series_has_the_same_times_in_either_process(lines: tuple[str, ...]) -> None:
    document = parse(one_series(*lines))
    events = dict(enumerate(document.components("VCALENDAR")[0].components("VEVENT")))
    plain = ical._plain(events)
    assert plain is not None
    for end in (FIXED_NOW + dt.timedelta(days=90), None):
        start = FIXED_NOW.astimezone(BERLIN)
        found = ical.occurrences(document, events, start, end)
        asked = ical._Question(ical._numbered(document, events), "VEVENT", start, end, ical.Effort(), frozenset(events))
        both = [list(islice(one, 100)) for one in (found, ical._expanded_elsewhere(asked))]
        times = [[(ical.in_zone(one.start, BERLIN), ical.in_zone(one.end, BERLIN)) for one in s] for s in both]
        assert times[0] == times[1] != []


@pytest.mark.parametrize(
    "line",
    [
        "RRULE:FREQ=MONTHLY;BYDAY=MO;BYSETPOS=2",
        "RRULE:FREQ=YEARLY;BYWEEKNO=3",
        "RRULE:FREQ=DAILY;INTER\r\n VAL=2",
        "EXRULE:FREQ=WEEKLY",
        "EXDATE:x",
        "EXDATE;TZID=Nowhere/Land:20261116T070000",
        "RDATE;VALUE=PERIOD:20261116T070000Z/PT1H",
        "RECURRENCE-ID;RANGE=THISANDPRIOR:20261116T070000Z",
        "DTSTART:19010101T000000Z\r\nRRULE:FREQ=DAILY",
    ],
)
def test_what_is_not_recognised_is_not_plain(line: str) -> None:
    document = parse(one_series(*(() if "DTSTART" in line else ("DTSTART:20261102T070000Z",)), line))
    events = dict(enumerate(document.components("VCALENDAR")[0].components("VEVENT")))
    recognised = ical._plain(events)
    assert recognised is None or b"INTERVAL=2" in recognised


def test_series_that_take_long_are_left_out_together_and_the_plain_ones_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    n_asked = 0

    def slow(*_: object) -> bytes:
        nonlocal n_asked
        n_asked += 1
        raise Unreadable("reading it takes more than 2 s of the processor")

    clock = iter(range(0, 1_000, 3))
    monkeypatch.setattr(ical, "read_bounded", slow)
    monkeypatch.setattr(ical, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    odd = one_series("DTSTART:20261102T070000Z", "RRULE:FREQ=YEARLY;BYWEEKNO=3")
    files = {f"calendar/{n}.ics": odd.replace(b"UID:1", b"UID:odd%d" % n) for n in range(9)}
    files["calendar/z.ics"] = one_series("DTSTART:20261102T070000Z", "RRULE:FREQ=DAILY")
    call = make_call(workspace=InMemoryWorkspace(files, now=FIXED_NOW))
    assert [event.title for event in find_events(call=call)] == ["X"]
    assert n_asked == 2
    assert "Left out" in call.notices[0]


def test_a_zone_that_a_file_defines_is_used_where_all_of_it_is_recognised() -> None:
    zone = (
        "BEGIN:VTIMEZONE\r\nTZID:Home\r\n"
        "BEGIN:STANDARD\r\nDTSTART:19701025T030000\r\nTZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\nRRULE:{}\r\n"
        "END:STANDARD\r\nBEGIN:DAYLIGHT\r\nDTSTART:19700329T020000\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\n"
        "RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU\r\nEND:DAYLIGHT\r\nEND:VTIMEZONE\r\n"
    )
    for rule, offset in (
        ("FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU", dt.timedelta(hours=1)),
        ("FREQ=YEARLY;BYWEEKNO=44", None),
    ):
        document = parse(f"BEGIN:VCALENDAR\r\n{zone.format(rule)}END:VCALENDAR\r\n".encode())
        found = ical.zone_of("Home", document)
        assert (found.utcoffset(dt.datetime(2026, 12, 1, 12)) if found else None) == offset


def test_a_large_published_calendar_is_cleaned_elsewhere_as_it_would_be_here() -> None:
    one = subscriptions.Feed("team", "https://x.example/a.ics", True, 3600)
    data = one_series("DTSTART:20261102T070000Z", *(f"ATTENDEE:mailto:{n}@x.example" for n in range(4_000)))
    assert len(data) > IN_PROCESS_BYTES
    assert subscriptions._cleaned(data, one) == subscriptions.cleaned(data, one)
    with pytest.raises(Unreadable, match="no BEGIN line"):
        subscriptions._cleaned(b"x" * (IN_PROCESS_BYTES + 1), one)


def test_members_of_an_archive_are_unpacked_in_the_plain_ways_only(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.md", "# Boiler", zipfile.ZIP_LZMA)
        archive.writestr("b.md", "# Boiler", zipfile.ZIP_DEFLATED)
    assert [(one.name, one.kind, one.why) for one in pieces_of(tmp_path / "a.zip")] == [
        ("a.md", "", "files packed in a way that is not read"),
        ("b.md", "note", ""),
    ]


@pytest.mark.parametrize(
    ("sent", "pause_s", "why"),
    [
        ((b"220-" + b"x" * 900 + b"\r\n",) * 10_000, 0.0, "does not end"),
        ((b"2",) * 200, 0.02, "did not come"),
        ((b"220-one\r\n",) * 100, 0.02, "did not come"),
        ((b"220-" + b"y" * 200_000,), 0.0, "does not end"),
        ((b"220-half\r\n",), 0.0, "ended the connection"),
    ],
)
def test_an_answer_of_a_mail_server_ends(
    sent: tuple[bytes, ...], pause_s: float, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedSMTP, "answer_s", 0.5)
    with _speaking(sent, pause_s) as port, pytest.raises(smtplib.SMTPServerDisconnected, match=why):
        BoundedSMTP("127.0.0.1", port, "[127.0.0.1]", timeout=5)


def test_a_long_and_a_slow_answer_of_a_mail_server_are_read() -> None:
    extensions = tuple(b"220-EXTENSION %d\r\n" % n for n in range(25))
    with _speaking((*extensions, b"220 ready\r\n"), 0.02) as port:
        connection = BoundedSMTP("127.0.0.1", port, "[127.0.0.1]", timeout=5)
        connection.close()


@contextmanager
def _speaking(sent: tuple[bytes, ...], pause_s: float) -> Iterator[int]:
    """A server that says these bytes to whoever connects, and ends the connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def speak() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                for piece in sent:
                    connection.sendall(piece)
                    time.sleep(pause_s)

        thread = threading.Thread(target=speak)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            thread.join(10)
