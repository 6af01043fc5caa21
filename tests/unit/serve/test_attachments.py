"""Files from strangers: typed by what they hold, named so that they stay where they belong, never replacing another."""

from __future__ import annotations

import datetime as dt
import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.errors import NotFound, RequestError
from hearth.serve.door import MOST_ATTACHED_BYTES
from hearth.serve.pages.house_pages import FOLDER, drop, keep, kind_of
from hearth.testing import InMemoryWorkspace

NOW = dt.datetime(2026, 11, 23, 9, 5, tzinfo=dt.UTC)


def packed(**members: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "/"), text)
    return data.getvalue()


def office(member: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(member, "<x/>")
    return data.getvalue()


@pytest.mark.parametrize(
    ("data", "ending"),
    [
        (b"\xff\xd8\xff\xe0 jpeg", "jpg"),
        (b"\x89PNG\r\n\x1a\n...", "png"),
        (b"GIF89a...", "gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "webp"),
        (b"%PDF-1.7\n", "pdf"),
        (office("word/document.xml"), "docx"),
        (office("xl/workbook.xml"), "xlsx"),
        (packed(mimetype="application/vnd.oasis.opendocument.text"), "odt"),
        (b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n", "ics"),
        (b"\xef\xbb\xbfBEGIN:VCARD\nVERSION:4.0\nEND:VCARD\n", "vcf"),
        (b"From: a@b.example\nTo: c@d.example\nSubject: x\n y\n\nhello", "eml"),
        ("Grüße\n".encode(), "txt"),
        (b"<script>alert(1)</script>", "txt"),
        (b"Name: x\nColour: y\nSize: z\n\nno mail", "txt"),
    ],
)
def test_the_type_is_what_a_file_holds(data: bytes, ending: str) -> None:
    assert kind_of(data) == ending


@pytest.mark.parametrize(
    "data",
    [
        b"\x7fELF\x02\x01\x01",
        b"MZ\x90\x00\x03",
        packed(a="x"),
        packed(mimetype="text/html"),
        packed(mimetype="y" * 5000),
        b"PK\x03\x04 broken",
        b"RIFF\x00\x00\x00\x00WAVE\xff",
        b"caf\xe9",
        b"a\x00b",
        b"   ",
    ],
)
def test_what_hearth_cannot_read_is_turned_away(data: bytes) -> None:
    with pytest.raises(RequestError, match="no file that Hearth reads; expected a picture"):
        kind_of(data)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("bill.pdf", "bill.txt"),
        ("../../hearth.toml", "hearth.txt"),
        ("C:\\Users\\x\\photo.jpeg", "photo.txt"),
        ("..", "2026-11-23 09.05.txt"),
        ("", "2026-11-23 09.05.txt"),
        (".bashrc", "bashrc.txt"),
        ("a\x00b\n\u202egpj.exe", "a b gpj.txt"),
        ("<img src=x onerror=alert(1)>.png", "img src x onerror alert(1).txt"),
        ("ü" * 300 + ".txt", "ü" * 80 + ".txt"),
    ],
)
def test_names_stay_where_they_belong(name: str, kept: str) -> None:
    workspace = InMemoryWorkspace()
    assert " ".join(keep(workspace, name, b"text", NOW).split()) == f"{FOLDER}/{kept}"


@given(st.text(max_size=300))
def test_no_name_leaves_the_folder_or_hides(name: str) -> None:
    path = keep(InMemoryWorkspace(), name, b"text", NOW)
    assert path.startswith(f"{FOLDER}/")
    last = path.removeprefix(f"{FOLDER}/")
    assert "/" not in last
    assert "\\" not in last
    assert not last.startswith(".")
    assert len(last) <= 90


def test_nothing_is_replaced_and_the_same_is_kept_once() -> None:
    workspace = InMemoryWorkspace()
    assert keep(workspace, "a.txt", b"one", NOW) == f"{FOLDER}/a.txt"
    assert keep(workspace, "a.txt", b"two", NOW) == f"{FOLDER}/a 2.txt"
    assert keep(workspace, "a.txt", b"two", NOW) == f"{FOLDER}/a 2.txt"
    assert workspace.read(f"{FOLDER}/a.txt") == b"one"


@pytest.mark.parametrize("data", [b"", b"x" * (MOST_ATTACHED_BYTES + 1)])
def test_empty_and_too_large_ones_are_refused(data: bytes) -> None:
    with pytest.raises(RequestError, match="nothing was kept"):
        keep(InMemoryWorkspace(), "a", data, NOW)


@pytest.mark.parametrize("path", ["notes/boiler.md", f"{FOLDER}/../taxes.pdf", f"{FOLDER}/none.txt", "", "/etc/passwd"])
def test_only_what_was_attached_is_removed(path: str) -> None:
    workspace = InMemoryWorkspace({"notes/boiler.md": "x", "documents/taxes.pdf": "y", f"{FOLDER}/a.txt": "z"})
    with pytest.raises(NotFound, match="no attached file"):
        drop(workspace, path)
    drop(workspace, f"{FOLDER}/a.txt")
    assert sorted(workspace.files) == ["documents/taxes.pdf", "notes/boiler.md"]
