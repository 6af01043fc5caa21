"""What is handed over is told apart, put into the home once, and what is left out is said with its reason."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from hearth.atomic_files import replacing
from hearth.errors import RequestError
from hearth.memory.event_memory import EventMemory
from hearth.memory.search.collecting import BRING_IN, UNREAD_PICTURES, passages_in
from hearth.memory.transfer import archives
from hearth.memory.transfer.archives import Intake, Taken, pieces_of, safe_name, waiting_beside
from hearth.memory.transfer.importers import Source
from hearth.storage.database import Store
from hearth.testing import InMemoryWorkspace, make_call
from hearth.tools.pim.calendar import next_event


def mail(n: int, sender: str = "Tom <tom@x.example>", extra: str = "") -> str:
    head = f"From: {sender}\nTo: me@home.example\nSubject: Mail {n}\nMessage-ID: <{n}@x>\n{extra}"
    return f"{head}Date: Mon, 23 Nov 2026 08:00:0{n % 10} +0000\n\nText {n}.\n"


SPAM = "X-Gmail-Labels: Opened,Spam\n"
EXPUNGED, STARRED = "X-Mozilla-Status: 0009\n", "X-Mozilla-Status: 0005\n"
CALENDAR = (
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VTIMEZONE\r\nTZID:Europe/Berlin\r\nEND:VTIMEZONE\r\n"
    "BEGIN:VEVENT\r\nUID:a\r\nDTSTART;TZID=Europe/Berlin:20261125T180000\r\nSUMMARY:Choir\r\nEND:VEVENT\r\n"
    "BEGIN:VEVENT\r\nUID:a\r\nRECURRENCE-ID;TZID=Europe/Berlin:20261202T180000\r\nSUMMARY:Choir late\r\nEND:VEVENT\r\n"
    "BEGIN:VTODO\r\nUID:t\r\nSUMMARY:Water\r\nEND:VTODO\r\nEND:VCALENDAR\r\n"
)
CARD = "BEGIN:VCARD\r\nVERSION:3.0\r\n{}FN:Ana\r\nEND:VCARD\r\n"
FILES: dict[str, bytes] = {
    "Takeout/Mail/All mail.mbox": (
        f"From a Mon\n{mail(1)}\n\nFrom b Mon\n{mail(2, 'Me <me@home.example>')}\n\nFrom c Mon\n{mail(3, extra=SPAM)}\n"
    ).encode(),
    "Takeout/Calendar/home.ics": CALENDAR.encode(),
    "Takeout/Contacts/all.vcf": (CARD.format("UID:u\r\n") + CARD.format("")).encode(),
    "Takeout/Keep/List.json": json.dumps(
        {"title": "Camping", "listContent": [{"text": "tent", "isChecked": True}]}
    ).encode(),
    "Takeout/Keep/List.html": b"<html>Camping</html>",
    "Takeout/Keep/Old.json": b'{"textContent": "gone", "isTrashed": true}',
    "Takeout/Keep/Empty.json": b'{"textContent": " "}',
    "Takeout/archive_browser.html": b"<html>what is in it</html>",
    "Vault/.trash/gone.md": b"thrown away",
    "Takeout/Activity.json": b'{"x": 1}',
    "Takeout/Chat/messages.json": b'{"messages": [{"text": "of a form that is not known"}]}',
    "Local Folders/Inbox": (f"From a Mon\n{mail(4, extra=STARRED)}\n\nFrom b Mon\n{mail(8, extra=EXPUNGED)}".encode()),
    "Local Folders/Inbox.msf": b"// index",
    "Local Folders/Trash": f"From a Mon\n{mail(5)}".encode(),
    "Maildir/cur/1.x:2,S": mail(6).encode(),
    "Apple/7.emlx": f"{len(mail(7))}\n{mail(7)}<plist/>".encode(),
    "Notion/Roof 0123456789abcdef0123456789abcdef.md": b"# Roof\n\nThe felt is brittle.\n",
    "papers/lease.txt": b"The notice period is two months.",
    "DCIM/photo.jpg": b"\xff\xd8\xff",
    "WhatsApp Chat with Ana.txt": b"23/11/2026, 09:15 - Ana: I bought the tent\n23/11/2026, 09:16 - Me: great\n",
}
EXPECTED = {"mail": 5, "event": 1, "reminder": 1, "card": 2, "note": 2, "document": 1, "message": 2}


@pytest.fixture
def handed(tmp_path: Path) -> Path:
    for name, data in FILES.items():
        path = tmp_path / "handed" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "handed"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "hearth.db") as store:
        yield store


def take(path: Path, owner: Path, store: Store, n_most: int = 10_000) -> Taken:
    source = Source(path, "", dt.UTC)
    intake = Intake(owner, EventMemory(store), store, source, "me@home.example")
    with closing(intake):
        for piece in pieces_of(path)[:n_most]:
            for _ in intake.take(piece):
                pass
    return intake.taken


def zipped(folder: Path, path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(folder))
    return path


def packed(path: Path, files: dict[str, bytes], more: tuple[tarfile.TarInfo, ...] = ()) -> Path:
    mode: Any = "w" if path.suffix == ".tar" else "w:gz"
    with tarfile.open(path, mode) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for info in more:
            archive.addfile(info)
    return path


@pytest.mark.parametrize("form", ["", ".zip", ".tgz", ".tar.gz", ".tar"])
def test_each_form_is_known_and_twice_is_once(handed: Path, tmp_path: Path, store: Store, form: str) -> None:
    given = handed
    if form:
        given = zipped(handed, tmp_path / "all.zip") if form == ".zip" else packed(tmp_path / f"all{form}", FILES)
    owner = tmp_path / "owner"
    taken = take(given, owner, store)
    assert (dict(taken.new), taken.faults) == (EXPECTED, [])
    assert set(taken.left_out) == {
        "mail that was deleted, not sent or junk",
        "pages of notes that are taken",
        "data of other programs (JSON)",
        "indexes and settings of other programs",
        "notes that were deleted or are empty",
        "pictures of a camera",
    }
    assert taken.left_out["mail that was deleted, not sent or junk"] == 3
    assert not (owner / "notes/gone.md").exists()
    sent = [one.read_text().rstrip() for one in (owner / "mail/.Sent/cur").iterdir()]
    assert sent == [mail(2, "Me <me@home.example>").rstrip()]
    assert (owner / "notes/Roof.md").exists()
    assert (owner / "notes/Camping.md").read_text() == "# Camping\n\n- [x] tent\n"
    event = next((owner / "calendar").iterdir()).read_text()
    assert event.count("BEGIN:VEVENT") == 2
    assert "VTIMEZONE" in event
    again = take(given, owner, store)
    assert (again.new.total(), again.known.total()) == (0, sum(EXPECTED.values()))


def test_an_import_that_was_stopped_carries_on(handed: Path, tmp_path: Path, store: Store) -> None:
    first = take(handed, tmp_path / "owner", store, 5)
    rest = take(handed, tmp_path / "owner", store)
    assert first.new.total() > 0
    assert first.new + rest.new == EXPECTED


def test_what_the_home_has_already_is_not_brought_in(handed: Path, tmp_path: Path, store: Store) -> None:
    own = tmp_path / "owner/mail/new/99.fetched"
    own.parent.mkdir(parents=True)
    own.write_text(mail(1).replace("\n", "\r\n"))
    (tmp_path / "owner/calendar").mkdir()
    (tmp_path / "owner/calendar/mine.ics").write_text(
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:a\nEND:VEVENT\nEND:VCALENDAR\n"
    )
    taken = take(handed, tmp_path / "owner", store)
    assert (taken.known["mail"], taken.known["event"]) == (1, 1)


def test_a_document_is_known_wherever_it_came_from(tmp_path: Path, store: Store) -> None:
    for name, text in (
        ("one/papers/lease.txt", "Two months."),
        ("two/lease copy.txt", "Two months."),
        ("two/b.txt", "Ten euros!!"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    take(tmp_path / "one", tmp_path / "owner", store)
    taken = take(tmp_path / "two", tmp_path / "owner", store)
    assert (taken.new["document"], taken.known["document"]) == (1, 1)


def test_an_archive_in_an_archive_is_read(tmp_path: Path, store: Store) -> None:
    """Notion hands large exports over so."""
    inner, packed = io.BytesIO(), tmp_path / "Export.zip"
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("Roof 0123456789abcdef0123456789abcdef.md", b"# Roof\n\nBrittle.\n")
        archive.writestr("deeper.zip", b"PK\x03\x04")
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("Export-Part-1.zip", inner.getvalue())
        archive.writestr("Export-Part-2.zip", b"PK\x03\x04 cut off")
    taken = take(packed, tmp_path / "owner", store)
    assert (tmp_path / "owner/notes/Roof.md").read_text() == "# Roof\n\nBrittle.\n"
    assert taken.left_out == {"archives that are not read": 1, "damaged archives": 1}


def test_a_changed_document_stands_beside_the_old_one(tmp_path: Path, store: Store) -> None:
    lease = tmp_path / "lease.txt"
    for text in ("Two months.", "Three months.", "Three months."):
        lease.write_text(text)
        taken = take(lease, tmp_path / "owner", store)
    assert taken.known["document"] == 1
    assert len(list((tmp_path / "owner/documents").iterdir())) == 2


def test_pieces_that_break_are_named_and_the_rest_goes_on(handed: Path, tmp_path: Path, store: Store) -> None:
    (handed / "broken.ics").write_bytes(b"BEGIN:VCALENDAR\nEND:VEVENT\n")
    (handed / "none.eml").write_bytes(b"\n\nno head")
    (handed / "Takeout/Keep/bad.json").write_bytes(b'{"textContent": ')
    (handed / "broken.zip").write_bytes(b"PK\x03\x04 broken")
    (handed / "link.txt").symlink_to("/etc/passwd")
    taken = take(handed, tmp_path / "owner", store)
    assert dict(taken.new) == EXPECTED
    assert [fault.partition(":")[0] for fault in taken.faults] == ["Takeout/Keep/bad.json", "broken.ics", "none.eml"]
    assert taken.left_out["damaged archives"] == taken.left_out["links and what is no plain file"] == 1


def test_a_file_packed_too_tightly_is_left_out(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "_MOST_UNPACKED_BYTES", 1_000)
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.txt", "a" * 3_000_000)
        archive.writestr("../../note.md", "# Up\n\nA name that leads elsewhere.\n")
    taken = take(tmp_path / "a.zip", tmp_path / "owner", store)
    assert dict(taken.left_out) == {"files packed too tightly to be real": 1}
    assert [path.name for path in tmp_path.rglob("note.md")] == ["note.md"]
    assert (tmp_path / "owner/notes/note.md").exists()


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
def test_names_of_a_tar_archive_are_whole_and_lead_nowhere(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch, form: int
) -> None:
    monkeypatch.setattr(tarfile.TarFile, "format", form)
    long = f"{'a' * 90}/{'b' * 60}/Über.md" if form == tarfile.USTAR_FORMAT else f"{'a' * 300}/Über.md"
    link, pipe = tarfile.TarInfo("link.md"), tarfile.TarInfo("pipe")
    link.type, link.linkname, pipe.type = tarfile.SYMTYPE, "/etc/passwd", tarfile.FIFOTYPE
    files = {long: b"# Roof", "../../up.md": b"# Up", "/etc/lease.txt": b"Two months.", "x/../../../y.txt": b"Ten"}
    given = packed(tmp_path / "a.tgz", files, (link, pipe))
    assert long in [piece.name for piece in pieces_of(given)]
    taken = take(given, tmp_path / "owner", store)
    assert (dict(taken.new), dict(taken.left_out)) == (
        {"note": 2, "document": 2},
        {"links and what is no plain file": 2},
    )
    made = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.suffix in (".md", ".txt")}
    assert made == {f"owner/{name}" for name in ("notes/Über.md", "notes/up.md", "documents/etc/lease.txt")} | {
        "owner/documents/x/y.txt"
    }


def test_a_tar_archive_that_was_cut_off_gives_what_comes_before(tmp_path: Path, store: Store) -> None:
    files = {f"n{k}.md": f"note {k}".encode() * 100 for k in range(400)}
    (tmp_path / "given").mkdir()
    whole = packed(tmp_path / "given/a.tgz", files)
    whole.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    (tmp_path / "given/b.md").write_text("beside")
    taken = take(tmp_path / "given", tmp_path / "owner", store)
    assert 1 < taken.new["note"] < 400
    assert taken.left_out == {"damaged archives": 1}
    assert (tmp_path / "owner/notes/b.md").exists()


def test_a_tar_archive_is_unpacked_as_far_as_it_is_real(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "_MOST_UNPACKED_BYTES", 100_000)
    files = {"a.md": b"# Before", "bomb.md": b"a" * 9_000_000, "c.md": b"# Behind"}
    taken = take(packed(tmp_path / "a.tgz", files), tmp_path / "owner", store)
    assert taken.left_out["files packed too tightly to be real, and what lies behind"] == 1
    assert [path.name for path in (tmp_path / "owner/notes").iterdir()] == ["a.md"]
    assert [fault.partition(":")[0] for fault in taken.faults] == ["bomb.md"]


def test_folders_alone_are_no_way_around_how_tightly_a_tar_archive_may_be_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "_MOST_UNPACKED_BYTES", 100_000)
    (tmp_path / "given").mkdir()
    for name, n in (("a.tgz", 150), ("b.tgz", 30_000)):
        with gzip.open(tmp_path / "given" / name, "wb") as file:
            file.write(header("x", tarfile.DIRTYPE, 0) * n + bytes(1024))
    found = [(piece.name, piece.why) for piece in pieces_of(tmp_path / "given")]
    assert found == [("b.tgz", "files packed too tightly to be real, and what lies behind")]


def header(name: str, kind: bytes, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize(
    "data",
    [
        header("x", tarfile.XHDTYPE, 5_000_000_000),
        header("x", tarfile.GNUTYPE_LONGNAME, 5_000_000_000),
        header("x", tarfile.REGTYPE, -512),
        header("x", tarfile.XHDTYPE, 512) + b"0 path=a\n".ljust(512, b"x"),
        header("x", tarfile.XHDTYPE, 512) + (b"1" * 512),
        header("x", tarfile.REGTYPE, 8**11 - 1),
        b"no header".ljust(512, b"x"),
    ],
)
def test_a_hostile_tar_archive_is_said_to_be_damaged(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "given").mkdir()
    packed(tmp_path / "given/b.tar", {"good.md": b"# Good"})
    (tmp_path / "given/a.tar").write_bytes(data)
    found = [(piece.name, piece.kind, piece.why) for piece in pieces_of(tmp_path / "given")]
    assert ("a.tar", "", "damaged archives") in found
    assert ("b.tar/good.md", "note", "") in found


def test_a_damaged_member_of_a_zip_archive_is_named(tmp_path: Path, store: Store) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bad.md", "the kiln was fired " * 50)
        archive.writestr("good.md", "# Good")
    raw = bytearray((tmp_path / "a.zip").read_bytes())
    raw[40:60] = b"\xff" * 20
    (tmp_path / "a.zip").write_bytes(raw)
    taken = take(tmp_path / "a.zip", tmp_path / "owner", store)
    assert (dict(taken.new), dict(taken.left_out)) == ({"note": 1}, {"damaged files": 1})


def test_an_archive_of_many_files_is_opened_as_often_as_one_of_few(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[object] = []

    class Counted(zipfile.ZipFile):
        def __init__(self, *arguments: Any, **more: Any) -> None:
            opened.append(arguments)
            super().__init__(*arguments, **more)

    for number in range(2):
        with zipfile.ZipFile(tmp_path / f"{number}.zip", "w") as file:
            for k in range(300):
                file.writestr(f"n{number}-{k}.md", f"note {number} {k}")
    monkeypatch.setattr(zipfile, "ZipFile", Counted)
    assert take(tmp_path, tmp_path / "owner", store).new == {"note": 600}
    assert len(opened) == 4  # each to look through and to take


def test_a_tar_archive_is_gone_through_twice(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Path] = []

    class Counted(archives._Unpacked):
        def __init__(self, path: Path) -> None:
            opened.append(path)
            super().__init__(path)

    monkeypatch.setattr(archives, "_Unpacked", Counted)
    # In another order than that of their names.
    given = packed(tmp_path / "a.tgz", {f"{k * 7 % 50}.md": f"note {k}".encode() for k in range(50)})
    assert take(given, tmp_path / "owner", store).new == {"note": 50}
    assert opened == [given, given]


def test_nothing_there_and_no_archive_are_said(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="there is no file or folder"):
        pieces_of(tmp_path / "absent")
    for name in ("a.zip", "a.tgz", "a.tar"):
        for data in (b"no archive", b""):
            (tmp_path / name).write_bytes(data)
            with pytest.raises(RequestError, match="download it again"):
                pieces_of(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "safe"), [("../a/b.txt", "a b.txt"), (".hidden", "hidden"), ("", "unnamed"), ("x" * 300 + ".pdf", "x" * 80 + ".pdf")]
)  # fmt: skip
def test_names_of_files_are_plain(name: str, safe: str) -> None:
    assert safe_name(name) == safe


TELEGRAM_PAGE = (
    '<html><head><title>Exported Data</title></head><body><div class="page_wrap">'
    '<div class="page_header"><div class="content"><div class="text bold">Ana</div></div></div>{}</div></body></html>'
)
TELEGRAM_MESSAGE = (
    '<div class="history"><div class="message service" id="message2"><div class="body details">Ana joined</div></div>'
    '<div class="message default clearfix" id="message3"><div class="body"><div class="pull_right date details" '
    'title="20.11.2026 10:00:00 UTC+00:00">10:00</div><div class="from_name">Ana</div>'
    '<div class="text">the kiln is free</div></div></div></div>'
)
CHATS: dict[str, bytes] = {
    "Telegram/chats/chat_1/messages.html": TELEGRAM_PAGE.format(TELEGRAM_MESSAGE).encode(),
    "Telegram/export_results.html": TELEGRAM_PAGE.format("<div>Chats</div>").encode(),
    "Telegram/result.json": b'{"about": "Here is the data you requested. Telegram is ad free", "contacts": {}}',
    "Signal/main.jsonl": b"\n".join(
        json.dumps(line).encode()
        for line in (
            {"version": "1", "backupTimeMs": "1795165200000"},
            {"recipient": {"id": "1", "contact": {"e164": "351912", "profileGivenName": "Tom"}}},
            {"chat": {"id": "2", "recipientId": "1"}},
            {
                "chatItem": {
                    "chatId": "2",
                    "authorId": "1",
                    "dateSent": "1795165200000",
                    "standardMessage": {"text": {"body": "hello"}},
                }
            },
        )
    ),
    "Signal/metadata.json": b'{"version":1}',
    "signal-2026-11-20-10-00-00.backup": b"\0\0\0\x32\x0a\x30",
    "SignalBackups/signal-backup-2026-11-20-10-00-00/main": b"\x01\x02",
}


def test_chats_of_telegram_and_signal_are_known_and_the_rest_is_said(tmp_path: Path, store: Store) -> None:
    for name, data in CHATS.items():
        (tmp_path / "handed" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "handed" / name).write_bytes(data)
    taken = take(tmp_path / "handed", tmp_path / "owner", store)
    assert (dict(taken.new), taken.faults) == ({"message": 2}, [])
    encrypted = next(why for why in taken.left_out if "encrypted" in why)
    assert taken.left_out[encrypted] == 2
    assert "Export chat history" in encrypted
    assert taken.left_out["pages of a Telegram export beside its messages"] == 1
    assert taken.left_out["notices in chats (who joined, calls, what was pinned)"] == 1
    again = take(tmp_path / "handed", tmp_path / "owner", store)
    assert (again.new.total(), dict(again.known)) == (0, {"message": 2})


INVITATIONS = {
    "a message that names nobody": ("METHOD:REQUEST\r\n", "", True),
    "who else comes, and nobody who invites": ("", "ATTENDEE:mailto:ana@x.example\r\n", True),
    "a copy of a calendar": ("METHOD:PUBLISH\r\n", "", False),
    "an event": ("", "", False),
}


@pytest.mark.parametrize("case", INVITATIONS)
def test_an_invitation_without_an_organiser_is_no_event_of_the_owners_own(
    tmp_path: Path, store: Store, case: str
) -> None:
    method, who, is_strangers = INVITATIONS[case]
    path = tmp_path / "invite.ics"
    path.write_text(
        f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{method}BEGIN:VEVENT\r\nUID:b\r\n{who}DTSTART:20261121T100000Z\r\n"
        "SUMMARY:Party\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )
    owner = tmp_path / "owner"
    assert take(path, owner, store).new["event"] == 1
    (kept,) = (owner / "calendar").iterdir()
    workspace = InMemoryWorkspace({"calendar/b.ics": kept.read_text()})
    (passage,) = passages_in("calendar/b.ics", workspace, dt.UTC).passages
    assert passage.source == ("message" if is_strangers else "file")
    call = make_call(workspace=workspace)
    assert next_event(call, "party").title == "Party"
    assert call.origins == ({"b": "message"} if is_strangers else {})
    assert "METHOD" not in kept.read_text(), "a calendar on a server may not hold it"


def test_what_lies_beside_the_folders_is_named_where_it_can_be_brought_in() -> None:
    chat = FILES["WhatsApp Chat with Ana.txt"]
    workspace = InMemoryWorkspace(
        {
            "Takeout.zip": b"PK\x03\x04",
            "Takeout.tgz": b"\x1f\x8b",
            "WhatsApp Chat with Ana.txt": chat,
            "lease.pdf": b"%PDF-1.7",
            "Thunderbird/Local Folders/Inbox": FILES["Local Folders/Inbox"],
            "Thunderbird/Local Folders/Sent": FILES["Local Folders/Inbox"],
            "notes": b"a file called as a folder",
            "program.bin": b"\x7fELF",
            "Programs/a.bin": b"\x7fELF",
            ".hidden/chat.txt": chat,
            "documents/Takeout.zip": b"PK\x03\x04",
            "mail/cur/1.x:2,S": mail(1).encode(),
        }
    )
    assert waiting_beside(workspace.list(), workspace) == {
        "Takeout.zip": f"an archive; {BRING_IN}",
        "Takeout.tgz": f"an archive; {BRING_IN}",
        "Thunderbird": f"a folder with what can be read; {BRING_IN}",
        "WhatsApp Chat with Ana.txt": f"a chat; {BRING_IN}",
        "lease.pdf": f"a document; {BRING_IN}",
    }


def test_few_files_of_a_folder_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"Programs/{k:03}.bin": b"\x7fELF" for k in range(10)} | {"Programs/chat.jsonl": b"{}"}
    workspace = InMemoryWorkspace(files)
    for n_most, is_found in ((10, False), (11, True)):
        monkeypatch.setattr(archives, "_MOST_LOOKED_AT", n_most)
        assert ("Programs" in waiting_beside(workspace.list(), workspace)) == is_found


PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
PICTURES: dict[str, str] = {
    "papers/lease.png": "",
    "papers/lease.JPG": "pictures",  # no bytes of one inside
    "papers/lease.gif": "pictures",
    "DCIM/100APPLE/IMG_1.png": "pictures of a camera",
    "Takeout/Google Photos/2026/lease.png": "pictures of a camera",
    "iCloud Photos Part 1 of 2/Photos/1.png": "pictures of a camera",
    "papers/IMG-20261123-WA0001.png": "pictures in or beside chats, which others may have sent",
    "Telegram/photos/photo_1.png": "pictures in or beside chats, which others may have sent",
}


@pytest.mark.parametrize("is_read", [True, False])
def test_a_picture_is_a_document_where_its_writing_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_read: bool
) -> None:
    monkeypatch.setattr(archives, "reads_pictures", lambda: is_read)
    for name in PICTURES:
        path = tmp_path / "given" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"no picture" if name.endswith(".JPG") else PNG)
    (tmp_path / "given/Telegram/result.json").write_bytes(b'{"messages": [], "type": "personal_chat"}')
    found = {piece.name: (piece.kind, piece.why) for piece in pieces_of(tmp_path / "given")}
    for name, why in PICTURES.items():
        expected = ("document", "") if is_read and not why else ("", why or UNREAD_PICTURES)
        assert found[name] == expected, name
    assert "pip install" in UNREAD_PICTURES


def test_a_folder_of_a_camera_is_one_whatever_is_handed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "reads_pictures", lambda: True)
    (tmp_path / "DCIM").mkdir()
    (tmp_path / "DCIM/1.png").write_bytes(PNG)
    packed = zipped(tmp_path / "DCIM", tmp_path / "iCloud Photos Part 2 of 2.zip")
    for given in (tmp_path / "DCIM", packed):
        assert [piece.why for piece in pieces_of(given)] == ["pictures of a camera"]
    assert [piece.kind for piece in pieces_of(tmp_path / "DCIM/1.png")] == ["document"]


def test_an_import_that_is_interrupted_is_finished_by_the_next(
    handed: Path, tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted in the middle of each write in turn, what is there is whole and the next carries on."""
    owner = tmp_path / "owner"
    n_new = 0
    for n_before in (0, 1, 3, 2, 1):
        left = iter(range(n_before))

        @contextmanager
        def stopping(path: Path, verb: str, *, is_lasting: bool, left: Iterator[int] = left) -> Iterator[Any]:
            with replacing(path, verb, is_lasting=is_lasting) as file:
                yield file
                if next(left, None) is None:
                    raise KeyboardInterrupt

        monkeypatch.setattr(archives, "replacing", stopping)
        with pytest.raises(KeyboardInterrupt):
            take(handed, owner, store)
        n_new += n_before
        assert sum(path.is_file() and path.name != "maildirfolder" for path in owner.rglob("*")) <= n_new
    monkeypatch.setattr(archives, "replacing", replacing)
    take(handed, owner, store)
    files = sorted(path.relative_to(owner) for path in owner.rglob("*") if path.is_file())
    whole = tmp_path / "whole"
    with Store.open(tmp_path / "whole.db") as other:
        take(handed, whole, other)
        n_events = other.query("SELECT count(*) FROM event")[0][0]
    assert files == sorted(path.relative_to(whole) for path in whole.rglob("*") if path.is_file())
    assert store.query("SELECT count(*) FROM event")[0][0] == n_events
    assert take(handed, owner, store).new.total() == 0


APPLE = {
    "iCloud Contacts/Ana Ruiz.vcf": CARD.format("UID:ana\r\n").encode(),
    "iCloud Contacts/Ben.vcf": CARD.format("UID:ben\r\n").encode(),
    "iCloud Calendars and Reminders/Calendars/Home.ics": CALENDAR.encode(),
    "iCloud Notes/Boiler/Boiler.txt": b"The boiler code is 4471.\n",
    "iCloud Notes/Boiler/photo.gif": b"GIF89a",
    "iCloud Mail/Archive.mbox/mbox": f"From a Mon\n{mail(11)}".encode(),
    "iCloud Mail/Messages/Inbox.mbox": f"From a Mon\n{mail(12)}\n\nFrom b Mon\n{mail(13)}".encode(),
    "iCloud Mail/Messages/Deleted Messages.mbox": f"From a Mon\n{mail(14)}".encode(),
    "iCloud Photos/Photos/IMG_1.jpg": b"\xff\xd8\xff",
    "Apple ID account information/Account.csv": b"name,country\nMe,DE\n",
}


@pytest.mark.parametrize("is_zipped", [False, True])
def test_an_archive_of_apple_is_brought_in(tmp_path: Path, store: Store, is_zipped: bool) -> None:
    """The folders that privacy.apple.com packs, each part an archive of its own."""
    given = tmp_path / "given"
    for name, data in APPLE.items():
        (given / name).parent.mkdir(parents=True, exist_ok=True)
        (given / name).write_bytes(data)
    if is_zipped:
        for part in sorted(given.iterdir()):
            zipped(part, given / f"{part.name}.zip")
            shutil.rmtree(part)
    owner = tmp_path / "owner"
    taken = take(given, owner, store)
    assert taken.faults == []
    assert dict(taken.new) == {"card": 2, "event": 1, "reminder": 1, "mail": 3, "document": 2}
    assert set(taken.left_out) == {"mail that was deleted, not sent or junk", "pictures", "pictures of a camera"}
    assert [path.read_text() for path in owner.glob("documents/**/Boiler.txt")] == ["The boiler code is 4471.\n"]
