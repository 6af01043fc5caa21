"""What a stranger sends cannot stop a question: every input here once did, each beside its harmless twin."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest

from hearth.formats.content_lines import MAX_FILE_BYTES, parse, text_codec
from hearth.testing import FIXED_NOW, InMemoryWorkspace, make_call
from hearth.tools.mail.mail import find_mail
from hearth.tools.mail.mime import read_attachments, read_body, read_head
from hearth.tools.pim.calendar import find_events

LIMIT_S = 5.0
"""The longest that any question may take, processor time."""
DAY = f"{FIXED_NOW:%Y%m%d}"


def _mail(charset: str, text: bytes, *, subject: str = "Boiler", name: str = "") -> bytes:
    file = f"Content-Disposition: inline; filename*={name}\n" if name else ""
    head = f"From: a@b.example\nSubject: {subject}\nDate: {FIXED_NOW:%a, %d %b %Y %H:%M:%S +0000}\n{file}"
    return head.encode() + b"Content-Type: text/plain; charset=" + charset.encode() + b"\n\n" + text


def _event(*lines: str, uid: str = "1", more: bytes = b"") -> bytes:
    inner = "\n".join(lines)
    event = f"BEGIN:VEVENT\nUID:{uid}\nSUMMARY:Choir\nDTSTART:{DAY}T190000Z\n{inner}\nEND:VEVENT\n"
    return b"BEGIN:VCALENDAR\nVERSION:2.0\n" + more + event.encode() + b"END:VCALENDAR\n"


@pytest.mark.parametrize(
    "charset", ["punycode", "idna", "unicode_escape", "raw_unicode_escape", "utf_7", "rot13", "undefined"]
)
def test_a_mail_names_no_codec_that_is_not_a_text_encoding_of_the_fixed_list(charset: str) -> None:
    assert text_codec(charset) == ""
    hostile = _mail(charset, b"a" * 200_000 + b"-" + b"b" * 200_000)
    began = time.process_time()
    assert read_body(hostile).text.startswith("aaaa")
    assert read_attachments(hostile + b"\xff") is not None
    word = f"=?{charset}?Q?{'a' * 60_000}-{'b' * 60_000}?="
    assert read_head(_mail("utf-8", b"x", subject=word)).subject
    assert read_body(_mail("utf-8", b"x", name=f"{charset}''{'a' * 60_000}-{'b' * 60_000}")).attachments
    assert time.process_time() - began < LIMIT_S


@pytest.mark.parametrize(
    ("charset", "data", "text"),
    [
        ("utf-8", "Größe".encode(), "Größe"),
        ("ISO-8859-15", "Größe €".encode("iso-8859-15"), "Größe €"),
        ("Windows-1251", "Привет".encode("cp1251"), "Привет"),
        ("koi8-r", "Привет".encode("koi8-r"), "Привет"),
        ("Shift_JIS", "こんにちは".encode("shift_jis"), "こんにちは"),
        ("gb18030", "你好".encode("gb18030"), "你好"),
        ("iso-2022-jp", "こんにちは".encode("iso2022_jp"), "こんにちは"),
        ("utf-16", "Größe".encode("utf-16"), "Größe"),
    ],
)
def test_the_encodings_that_mails_are_written_in_are_read(charset: str, data: bytes, text: str) -> None:
    assert read_body(_mail(charset, data)).text == text


def test_one_mail_with_a_hostile_encoding_leaves_the_others_found() -> None:
    files = {
        "mail/new/1.a": _mail("punycode", b"a" * 300_000 + b"-boiler" * 20_000),
        "mail/new/2.b": _mail("utf-8", b"the boiler man comes"),
    }
    began = time.process_time()
    found = find_mail(call=make_call(workspace=InMemoryWorkspace(files, now=FIXED_NOW)), query="boiler")
    assert len(found) == 2
    assert time.process_time() - began < LIMIT_S


HOSTILE_CALENDARS: Mapping[str, bytes] = {
    "quoted-printable folds": _event("DESCRIPTION;ENCODING=QUOTED-PRINTABLE:" + "a=\n" * 500_000 + "a"),
    "huge VTIMEZONE": _event(
        "DTEND;TZID=X:20261120T200000",
        more=b"BEGIN:VTIMEZONE\nTZID:X\n"
        + b"BEGIN:STANDARD\nDTSTART:19700101T000000\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\nEND:STANDARD\n" * 50_000
        + b"END:VTIMEZONE\n",
    ),
    "VTIMEZONE that changes each second": _event(
        "DTEND;TZID=X:20261120T200000",
        more=b"BEGIN:VTIMEZONE\nTZID:X\nBEGIN:STANDARD\nDTSTART:19700101T000000\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\n"
        b"RRULE:FREQ=SECONDLY\nEND:STANDARD\nEND:VTIMEZONE\n",
    ),
    "an interval of 0 in a fold that two parsers read differently": _event("RRULE:FREQ=DAILY;INTER\r\n \r \r\n VAL=0"),
    "an interval of 0": _event("RRULE:FREQ=DAILY;INTERVAL=0"),
    "86,400 times a day": _event(
        "RRULE:FREQ=DAILY;BYHOUR="
        + ",".join(map(str, range(24)))
        + ";BYMINUTE="
        + ",".join(map(str, range(60)))
        + ";BYSECOND="
        + ",".join(map(str, range(60)))
    ),
    "a day that never comes": _event("RRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"),
    "every day of 400 years": _event("RRULE:FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR,SA,SU").replace(
        f"DTSTART:{DAY}".encode(), b"DTSTART:15840101"
    ),
}


@pytest.mark.parametrize("name", HOSTILE_CALENDARS)
def test_a_hostile_calendar_file_is_left_out_or_read_and_the_rest_answers(name: str) -> None:
    files = {"calendar/bad.ics": HOSTILE_CALENDARS[name], "calendar/good.ics": _event(uid="good")}
    call = make_call(workspace=InMemoryWorkspace(files, now=FIXED_NOW))
    began = time.process_time()
    found = find_events(call=call)
    assert time.process_time() - began < LIMIT_S
    assert "good" in [event.id for event in found]
    assert any(event.id.startswith("1") for event in found) or any("bad.ics" in notice for notice in call.notices)


def test_times_of_day_in_a_rule_are_read_as_far_as_a_person_would_write_them() -> None:
    twice_a_day = _event("RRULE:FREQ=DAILY;BYHOUR=8,19;COUNT=4")
    call = make_call(workspace=InMemoryWorkspace({"calendar/a.ics": twice_a_day}, now=FIXED_NOW))
    found = find_events(call=call, start=FIXED_NOW, end=FIXED_NOW.replace(year=FIXED_NOW.year + 1))
    assert len(found) == 4
    assert not call.notices


def test_a_quoted_printable_text_of_many_lines_stays_one_line() -> None:
    card = (
        b"BEGIN:VCARD\r\nNOTE;ENCODING=QUOTED-PRINTABLE:Gr=C3=BC=C3=9Fe=\r\n aus=\r\nBonn\r\nFN:Anna\r\nEND:VCARD\r\n"
    )
    document = parse(card)
    assert document.render() == card
    assert len(card) < MAX_FILE_BYTES
    found = document.components("VCARD")[0]
    assert found.text("FN") == "Anna"
    assert found.text("NOTE").startswith("Grüße")
