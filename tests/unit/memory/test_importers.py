"""Imports: every format as events with time, person, place and label; twice adds nothing; what is bad is named."""

from __future__ import annotations

import datetime as dt
import json
import mailbox
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from PIL import Image

from hearth.errors import RequestError
from hearth.memory.event_memory import EventMemory, NewEvent
from hearth.memory.transfer import importers
from hearth.memory.transfer.importers import LeftOut, Report, Source, detect, imported, time_of
from hearth.storage.database import Store

ZONE = ZoneInfo("Europe/Berlin")
MAIL = """From: Ana Ruiz <ana@example.org>
To: mira@example.org
Subject: Boiler
Message-ID: <1@example.org>
Date: Fri, 20 Nov 2026 09:30:00 +0100

The boiler man comes on Monday.
From here on it is warm.
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "a.db") as opened:
        yield opened


def bring_in(
    store: Store, path: Path, kind: str = "", *, is_month_first: bool = False
) -> tuple[Report, list[NewEvent]]:
    report = Report()
    source = Source(path, kind or detect(path), ZONE, is_month_first)
    events = [event for batch in imported(source, EventMemory(store), store, report) for event in batch]
    return report, events


def at(event: NewEvent) -> str:
    return event.at.astimezone(ZONE).isoformat(timespec="minutes")[:16]


def test_mbox(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "all.mbox"
    second = MAIL.replace("<1@", "<2@").replace("Boiler", "Second")
    path.write_text(f"From ana Fri\n{MAIL}\nFrom ana Fri\n{second}\nFrom x\nSubject: no date\n\nx\n")
    report, events = bring_in(store, path)
    assert [(e.person, e.kind, at(e), e.label.is_trusted) for e in events] == [
        ("Ana Ruiz", "message", "2026-11-20T09:30", False)
    ] * 2
    assert events[0].text.startswith("Boiler\nThe boiler man comes on Monday.\nFrom here on")
    assert (report.n_new, report.n_bad) == (2, 1)
    assert report.bad == [f"{path}, line 21: a mail without a date"]


def test_a_maildir_with_its_folders(tmp_path: Path, store: Store) -> None:
    box = mailbox.Maildir(tmp_path / "mail")
    box.add(MAIL)
    box.add_folder("Work").add(MAIL.replace("<1@", "<3@"))
    report, events = bring_in(store, tmp_path / "mail")
    assert (report.n_new, {e.person for e in events}) == (2, {"Ana Ruiz"})


def test_a_folder_where_nothing_was_ever_delivered_has_no_new(tmp_path: Path, store: Store) -> None:
    for place, text in (("cur/1.a:2,S", MAIL), (".Trash/cur/2.b:2,S", MAIL.replace("<1@", "<2@"))):
        (tmp_path / "mail" / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mail" / place).write_text(text)
    report, events = bring_in(store, tmp_path / "mail")
    assert (report.n_new, report.n_bad, len(events)) == (2, 0, 2)


def test_calendar(tmp_path: Path, store: Store) -> None:
    (tmp_path / "a.ics").write_bytes(
        b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART;TZID=Europe/London:20261120T090000\r\n"
        b"SUMMARY:Dentist\\, again\r\nLOCATION:High Street 3\r\nORGANIZER;CN=Dr Weiss:mailto:w@example.org\r\n"
        b"END:VEVENT\r\nBEGIN:VEVENT\r\nUID:2\r\nDTSTART:tomorrow\r\nSUMMARY:x\r\nEND:VEVENT\r\n"
        b"BEGIN:VEVENT\r\nUID:3\r\nDTSTART;VALUE=DATE:20261224\r\nSUM"
    )
    report, (event,) = bring_in(store, tmp_path / "a.ics")
    assert (event.person, event.place, at(event)) == ("Dr Weiss", "High Street 3", "2026-11-20T10:00")
    assert event.text == "Dentist, again · High Street 3"
    assert [line.split(":")[0].rpartition(", ")[2] for line in report.bad] == ["line 9", "line 14"]


def test_notes_in_a_folder_by_date_in_the_name(tmp_path: Path, store: Store) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "2026-03-01 plans.md").write_text("# Plans\n\nPaint the shed.\n")
    (folder / "x.txt").write_bytes(b"bin\0ary")
    (folder / "link.md").symlink_to("/etc/hostname")
    report, (event,) = bring_in(store, folder)
    assert (event.kind, at(event), event.label.strangers) == ("note", "2026-03-01T00:00", frozenset({"file"}))
    assert report.bad == [f"{folder / 'x.txt'}: no text: it holds zero bytes"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["[20/11/2026, 09:30:12] Ana: hello", "[20/11/2026, 09:31:00] Ben: hi"], "2026-11-20T09:30"),
        (["20/11/2026, 09:30 - Ana: hello", "20/11/2026, 09:31 - Ben: hi"], "2026-11-20T09:30"),
        (["11/20/26, 9:30\u202fAM - Ana: hello", "11/20/26, 9:31\u202fPM - Ben: hi"], "2026-11-20T09:30"),
        (["20.11.26, 09:30 - Ana: hello", "20.11.26, 09:31 - Ben: hi"], "2026-11-20T09:30"),
        (["2026-11-20, 09:30 - Ana: hello", "2026-11-20, 09:31 - Ben: hi"], "2026-11-20T09:30"),
        (["\u200e[20/11/2026, 9:30:12 a.m.] Ana: hello", "[20/11/2026, 9:31:12 a.m.] Ben: hi"], "2026-11-20T09:30"),
    ],
)
def test_whatsapp_in_its_formats_of_dates(tmp_path: Path, store: Store, lines: list[str], expected: str) -> None:
    path = tmp_path / "chat.txt"
    path.write_text("\n".join(lines))
    assert detect(path) == "whatsapp"
    report, events = bring_in(store, path)
    assert [(e.person, e.text) for e in events] == [("Ana", "hello"), ("Ben", "hi")]
    assert at(events[0]) == expected
    assert report.n_bad == 0


def test_whatsapp_keeps_lines_together_and_leaves_notices_out(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "chat.txt"
    path.write_text(
        "junk\n1/2/2026, 09:30 - Messages are encrypted\n1/2/2026, 09:30 - Ana: one\ntwo\n"
        "1/2/2026, 09:31 - Ana: ok\n1/2/2026, 09:31 - Ana: ok\n45/2/2026, 09:31 - Ana: never\n"
    )
    report, events = bring_in(store, path, "whatsapp")
    assert [e.text for e in events] == ["one\ntwo", "ok", "ok"]
    assert at(events[0]).startswith("2026-02-01")
    assert [line.split(": ")[0].rpartition(", ")[2] for line in report.bad] == ["line 1", "line 7"]
    _, american = bring_in(store, path, "whatsapp", is_month_first=True)
    assert american == [], "the day of 45 decides the order"


def test_telegram_message_by_message(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def said(k: int, text: object) -> dict[str, object]:
        return {"id": k, "type": "message", "date": f"2026-11-20T09:{k % 60:02}:00", "from": "Ana", "text": text}

    chats = [
        {"name": 'the "messages": [', "messages": [said(k, f"line {k} " + "é" * 90) for k in range(2_000)]},
        {"name": "Ben", "messages": [said(1, ["see ", {"type": "link", "text": "x.org"}]), {"type": "service"}, 7]},
    ]
    path = tmp_path / "result.json"
    path.write_text(json.dumps({"about": "x", "chats": {"list": chats}}, indent=1, ensure_ascii=False))
    report, events = bring_in(store, path)
    assert (report.n_new, report.n_bad) == (2_001, 1)
    assert (events[0].thread, events[-1].thread) == ('chat the "messages": [', "chat Ben")
    assert events[-1].text == "see x.org"


def test_telegram_cut_off_in_the_middle(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "result.json"
    path.write_text(
        '{"name": "Ana", "messages": [{"id": 1, "type": "message", "date_unixtime": "1763629800", "text": "a"}, {"id'
    )
    report, (event,) = bring_in(store, path)
    assert (event.text, report.n_bad) == ("a", 1)


def telegram_message(
    k: int, text: str, who: str = "", *, at: str = "20.11.2026 10:00:00 UTC+01:00", more: str = ""
) -> str:
    named = f'<div class="from_name">\n{who}\n       </div>' if who else ""
    said = f'<div class="text">\n{text}\n       </div>' if text else ""
    return (
        f'<div class="message default clearfix{"" if who else " joined"}" id="message{k}">\n      <div class="body">\n'
        f'<div class="pull_right date details" title="{at}">\n10:00\n       </div>\n{named}{more}{said}</div></div>'
    )


def telegram_page(*messages: str, chat: str = "Ana Ruiz") -> str:
    return (
        '<!DOCTYPE html>\n<html>\n <head>\n  <meta charset="utf-8"/>\n<title>Exported Data</title>\n </head>\n'
        f' <body onload="CheckLocation();">\n  <div class="page_wrap">\n   <div class="page_header">\n'
        f'    <div class="content">\n     <div class="text bold">\n{chat}\n     </div></div></div>\n'
        f'   <div class="page_body chat_page">\n    <div class="history">\n{"".join(messages)}</div></div></div></body></html>'
    )


def test_telegram_pages(tmp_path: Path, store: Store) -> None:
    day = '<div class="message service" id="message-1"><div class="body details">\n20 November 2026\n</div></div>'
    pinned = '<div class="message service" id="message9"><div class="body details">\nAna pinned this\n</div></div>'
    photo = '<div class="media_wrap clearfix"><div class="media"><div class="title bold">Photo</div></div></div>'
    forwarded = '<div class="forwarded body"><div class="from_name">\nBen <span class="date details">x</span></div>'
    folder = tmp_path / "ChatExport"
    folder.mkdir()
    (folder / "messages.html").write_text(
        telegram_page(
            *(day, telegram_message(1, "the kiln is free<br>at <strong>nine</strong> &amp; &lt;div&gt;", "Ana Ruiz")),
            telegram_message(2, '<a href="https://x.org">x.org</a>'),
            *(pinned, telegram_message(3, "", more=photo), telegram_message(4, "glaze it", "Ana Ruiz", more=forwarded)),
            telegram_message(5, "old", "Tom via @bot", at="19.11.2021 10:00:00"),
            telegram_message(6, "never", "Tom", at="soon"),
        )
    )
    (folder / "messages2.html").write_text(telegram_page(telegram_message(7, "last", "Tom")))
    (folder / "export_results.html").write_text(telegram_page())
    report, events = bring_in(store, folder, "telegram")
    assert [(e.person, e.text, at(e)) for e in events] == [
        ("Ana Ruiz", "the kiln is free\nat nine & <div>", "2026-11-20T10:00"),
        ("Ana Ruiz", "x.org", "2026-11-20T10:00"),
        ("Ana Ruiz", "glaze it", "2026-11-20T10:00"),
        ("Tom", "old", "2021-11-19T10:00"),
        ("Tom", "last", "2026-11-20T10:00"),
    ]
    assert {e.thread for e in events} == {"chat Ana Ruiz"}
    assert report.bad == [f"{folder / 'messages.html'}, message 6: no time in 'soon'; expected DD.MM.YYYY HH:MM:SS"]
    assert dict(report.left_out) == {LeftOut.NOTICE.value: 1, LeftOut.WORDLESS.value: 1}
    again, new = bring_in(store, folder, "telegram")
    assert (again.n_known, new) == (5, [])


def test_telegram_pages_and_json_of_one_chat_are_one(tmp_path: Path, store: Store) -> None:
    page, objects = tmp_path / "messages.html", tmp_path / "result.json"
    page.write_text(telegram_page(telegram_message(5, "see <a href='x'>x.org</a>", "Ana Ruiz")))
    message = {
        "id": 5,
        "type": "message",
        "date": "2026-11-20T10:00:00",
        "date_unixtime": "1795165200",
        "from": "Ana Ruiz",
    }
    parts = ["see ", {"type": "link", "text": "x.org"}]
    objects.write_text(json.dumps({"name": "Ana Ruiz", "messages": [message | {"text": parts}]}))
    assert (detect(page), detect(objects)) == ("telegram", "telegram")
    first, _ = bring_in(store, page)
    second, _ = bring_in(store, objects)
    assert (first.n_new, second.n_new, second.n_known) == (1, 0, 1)


SIGNAL: list[dict[str, object]] = [
    {"version": "1", "backupTimeMs": "1795165200000", "mediaRootBackupKey": "AA=="},
    {"account": {"givenName": "Maria", "familyName": "Silva"}},
    {"recipient": {"id": "1", "self": {}}},
    {"recipient": {"id": "2", "contact": {"aci": "AAE=", "e164": "351912", "profileGivenName": "Ana"}}},
    {"recipient": {"id": "3", "group": {"masterKey": "AAM=", "snapshot": {"title": {"title": "Studio"}}}}},
    {"chat": {"id": "7", "recipientId": "2"}},
    {"chat": {"id": "8", "recipientId": "3"}},
]


def signal_item(chat: int, author: int, at_ms: object = "1795165200000", **kinds: object) -> dict[str, object]:
    return {"chatItem": {"chatId": str(chat), "authorId": str(author), "dateSent": at_ms, "incoming": {}, **kinds}}


def test_signals_own_export(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "main.jsonl"
    rows = [
        *SIGNAL,
        signal_item(7, 2, standardMessage={"text": {"body": "the lid is cracked"}}),
        signal_item(8, 1, standardMessage={"text": {"body": "Friday then"}}),
        signal_item(8, 2, poll={"question": "Which day?", "options": [{"option": "Mon"}, {"option": "Tue"}]}),
        signal_item(7, 2, standardMessage={"attachments": [{}]}),
        signal_item(7, 2, updateMessage={"simpleUpdate": {"type": "JOINED_SIGNAL"}}),
        signal_item(7, 2, remoteDeletedMessage={}),
        signal_item(9, 2, standardMessage={"text": {"body": "nowhere"}}),
        signal_item(7, 2, "soon", standardMessage={"text": {"body": "never"}}),
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    report, events = bring_in(store, path)
    assert {(e.person, e.text, e.thread, at(e)) for e in events} == {
        ("Ana", "the lid is cracked", "chat Ana", "2026-11-20T10:00"),
        ("Maria Silva", "Friday then", "chat Studio", "2026-11-20T10:00"),
        ("Ana", "Which day?\n- Mon\n- Tue", "chat Studio", "2026-11-20T10:00"),
    }
    counted = {LeftOut.WORDLESS.value: 1, LeftOut.NOTICE.value: 1, LeftOut.DELETED.value: 1}
    assert dict(report.left_out) == counted
    assert [line.split(": ")[0].rpartition(", ")[2] for line in report.bad] == ["line 14", "line 15"]
    numbers = {
        '"id": "2"': '"id": "5"',
        '"recipientId": "2"': '"recipientId": "5"',
        '"authorId": "2"': '"authorId": "5"',
    }
    text = path.read_text()
    for old, new in numbers.items():
        text = text.replace(old, new)
    path.write_text(text)  # another export numbers people otherwise
    again, new_events = bring_in(store, path)
    assert (again.n_known, new_events) == (3, [])


def test_json_lines(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "signal.jsonl"
    rows = [
        {"timestamp": 1_795_163_400_000, "sender": "Ana", "body": "hello", "conversation": "Ana"},
        {"date": "2026-11-20T09:31:00", "from": "Ben", "text": "hi"},
        {"date": "soon", "from": "Ben", "text": "hi"},
        {"date": "2026-11-20", "from": "Ben", "text": ""},
    ]
    path.write_text("\n".join([*map(json.dumps, rows), "{", "[1]"]))
    report, events = bring_in(store, path)
    assert [(e.person, e.text, at(e)) for e in events] == [
        *(("Ana", "hello", "2026-11-20T09:30"), ("Ben", "hi", "2026-11-20T09:31"))
    ]
    assert [line.split(": ")[0].rpartition(", ")[2] for line in report.bad] == ["line 3", "line 5", "line 6"]


def test_photos_times_and_places(tmp_path: Path, store: Store) -> None:
    exif = Image.Exif()
    exif.get_ifd(0x8769)[0x9003] = "2026:07:04 18:20:00"
    exif.get_ifd(0x8769)[0x9011] = "+01:00"
    exif.get_ifd(0x8825).update({1: "N", 2: (38.0, 42.0, 30.0), 3: "W", 4: (9.0, 8.0, 6.0)})
    folder = tmp_path / "photos"
    folder.mkdir()
    Image.new("RGB", (2, 2)).save(folder / "beach.jpg", exif=exif)
    Image.new("RGB", (2, 2)).save(folder / "plain.jpg")
    (folder / "broken.jpg").write_bytes(b"\xff\xd8nonsense")
    report, (event,) = bring_in(store, folder)
    assert (event.place, at(event)) == ("38.7083, -9.1350", "2026-07-04T19:20")
    assert event.text == "photo beach at 38.7083, -9.1350"
    assert report.n_bad == 2


def test_the_same_import_twice_adds_nothing(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "chat.txt"
    path.write_text("".join(f"20/11/2026, {k // 90:02}:{k // 3 % 30:02} - Ana: ok\n" for k in range(1_300)))
    first, _ = bring_in(store, path)
    second, new = bring_in(store, path)
    assert (first.n_new, second.n_new, second.n_known, new) == (1_300, 0, 1_300, [])


def test_what_stands_twice_in_what_is_imported_is_one_event(tmp_path: Path, store: Store) -> None:
    folder = tmp_path / "mail"
    folder.mkdir()
    (folder / "one.mbox").write_text(f"From ana Fri\n{MAIL}\nFrom ana Fri\n{MAIL}\n")
    (folder / "copy.mbox").write_text(f"From ana Fri\n{MAIL}\n")
    report, events = bring_in(store, folder, "mail")
    assert (len(events), report.n_new, report.n_known) == (1, 1, 2)
    (folder / "later.mbox").write_text(f"From ana Fri\n{MAIL}\n")
    report, events = bring_in(store, folder, "mail")
    assert (events, report.n_new, report.n_known) == ([], 0, 4)


def test_an_import_that_is_stopped_is_carried_on(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"date": 1_000 + k, "text": f"t{k}"}) + "\n" for k in range(1_200)))
    report = Report()
    first = next(imported(Source(path, "lines", ZONE), EventMemory(store), store, report))
    again, _ = bring_in(store, path)
    assert (len(first), again.n_known, again.n_new) == (importers.BATCH, importers.BATCH, 1_200 - importers.BATCH)


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    def peak(n: int) -> int:
        path = tmp_path / f"{n}.mbox"
        with path.open("w") as file:
            for k in range(n):
                file.write(f"From x\n{MAIL.replace('<1@', f'<{k}@')}{'padding ' * 60}\n\n")
        with Store.open(tmp_path / f"{n}.db") as store:
            tracemalloc.start()
            for _ in imported(Source(path, "mail", ZONE), EventMemory(store), store, Report()):
                pass
            found = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return found

    assert peak(2_100) < 1.25 * peak(1_100)


def test_nothing_says_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"\0")
    with pytest.raises(RequestError, match="--as"):
        detect(tmp_path / "x.bin")


@pytest.mark.parametrize("kind", ["mail", "calendar", "notes", "whatsapp", "telegram", "lines", "photos"])
@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe\0", b"{" * 5_000, b"BEGIN:VEVENT\n" * 50, "שלום\u202e\n".encode() * 50]
)
def test_any_bytes_are_read_or_named(tmp_path: Path, store: Store, kind: str, data: bytes) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(data)
    report, events = bring_in(store, path, kind)
    assert report.n_new == len(events)


def test_times_are_the_owners_where_a_file_names_none() -> None:
    assert time_of("2026-11-20T09:30:00", ZONE) == dt.datetime(2026, 11, 20, 9, 30, tzinfo=ZONE)
    assert time_of(True, ZONE) is None
    assert time_of(1e300, ZONE) is None
