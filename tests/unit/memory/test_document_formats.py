"""Each form of document and attachment is read as passages, or named with what keeps it from being read."""

from __future__ import annotations

import base64
import datetime as dt
import io
from email.message import EmailMessage

import pytest

from hearth.errors import Unreadable
from hearth.memory.search.collecting import (
    MAX_ATTACHMENTS,
    MAX_TEXT_CHARACTERS,
    WITHOUT_TEXT,
    WITHOUT_WRITING,
    FilePassages,
    passages_in,
    text_of,
)
from hearth.memory.search.passage_store import NewPassage
from hearth.memory.search.rich_text import MAX_DEPTH, rtf_pieces
from hearth.testing import FIXED_NOW, InMemoryWorkspace

OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
ENCRYPTED_OFFICE = OLD_OFFICE + bytes(1_000) + "EncryptedPackage".encode("utf-16-le") + bytes(1_000)
TELL = "The kiln is fired to 1,240 degrees."


def read(path: str, data: bytes) -> FilePassages:
    return passages_in(path, InMemoryWorkspace({path: data}), dt.UTC)


def odt() -> bytes:
    pytest.importorskip("odf")
    from odf.opendocument import OpenDocumentText
    from odf.table import Table, TableCell, TableRow
    from odf.text import P

    document = OpenDocumentText()
    document.text.addElement(P(text=TELL))
    table = Table()
    for cells in (("Name", "Fee"), ("Ana", "4")):
        row = TableRow()
        for cell in cells:
            row.addElement(one := TableCell())
            one.addElement(P(text=cell))
        table.addElement(row)
    document.text.addElement(table)
    kept = io.BytesIO()
    document.save(kept)
    return kept.getvalue()


def test_an_opendocument_text_is_read_with_its_tables() -> None:
    (passage,) = read("documents/kiln.odt", odt()).passages
    assert TELL in f"{passage.title} {passage.text}"
    assert "Name | Fee\nAna | 4" in passage.text


def test_html_is_read_without_its_markup_and_what_it_hides() -> None:
    page = f"<html><head><title>x</title><script>a</script></head><body><p>{TELL}</p><p hidden>unseen</p></body></html>"
    for data in (page.encode(), page.encode("utf-16-le")):
        (passage,) = read("documents/kiln.html", data).passages
        assert TELL in f"{passage.title} {passage.text}"
        assert "<" not in passage.text
        assert "unseen" not in passage.text


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16", "utf-8-sig", "utf-32"])
@pytest.mark.parametrize("text", [f"{TELL} Für Zoë – “now”: €20.\r\nAsk Łukasz.", "ok", "a" * 200_001])
def test_text_is_read_in_each_encoding(encoding: str, text: str) -> None:
    assert text_of("a.txt", text.encode(encoding)).text == text.replace("\r\n", "\n")


@pytest.mark.parametrize(
    "data",
    [
        b"\0" * 4_000,
        b"\0\1" * 2_000,
        b"\1\0\2\0" * 500,
        b"\0\0a\0" * 500,
        b"GIF89a" + b"\0\xff" * 4_500,
        TELL.encode("utf-16-le") + b"\0\xd8",
        b"a\0b",
    ],
)
def test_numbers_of_two_bytes_are_no_text(data: bytes) -> None:
    with pytest.raises(Unreadable, match="no text"):
        text_of("a.txt", data)


# ── RTF ───────────────────────────────────────────────────────────────────────────────────────────────────

FONTS = rb"{\fonttbl{\f0\fnil\fcharset0 Arial;}{\f1\fnil\fcharset204 Arial;}}"
HEAD = rb"{\rtf1\ansi\ansicpg1252\deff0" + FONTS
RTF = {
    rb"The fee is \b four\b0  euros.\par Second\line third\tab x": "The fee is four euros.\nSecond\nthird\tx",
    rb"Caf\'e9, \u8364?12 \u-10179?\u-8704?": "Café, €12 😀",
    rb"\uc2\u8364\'80\'80!{\uc0\u8364}x \uc1\u8364{\b z}": "€!€x €z",
    rb"{\f1 \'cf\'f0\'e8\'e2\'e5\'f2} {\f0 \'e9}": "Привет é",
    rb"a\{b\}\\c\~d\_e\-f": "a{b}\\c d-ef",
    b"one\r\n two\\\nthree": "one two\nthree",
    rb"{\info{\title unseen}}{\stylesheet{\s1 Heading;}}{\pict\pngblip 89504e47}{\*\generator Riched20;}shown": "shown",
    rb"{\pict\bin6 }}}}}}}shown {\v hidden}{\deleted struck}\v x\v0 y": "shown y",
    rb"{\field{\*\fldinst HYPERLINK x:y}{\fldrslt the page}}": "the page",
    rb"Above\par\trowd\pard\intbl Name\cell Fee\par due\cell\row\trowd\pard\intbl Ana\cell 4\cell\row\pard Below": (
        "Above\nName | Fee due\nAna | 4\nBelow"
    ),
    rb"\ansicpg932\'83A\'82\'a0": "アあ",
    rb"cut off {\b in \'e": "cut off in e",
    rb"}}}behind": "behind",
}


@pytest.mark.parametrize("body", RTF)
def test_rtf_is_read_as_its_writer_shows_it(body: bytes) -> None:
    data = HEAD + body + b"}"
    assert "".join(rtf_pieces(data)) == RTF[body]
    assert text_of("letter.rtf", data).text == RTF[body]


def test_rtf_is_bounded() -> None:
    assert len(text_of("a.rtf", HEAD + rb"word \par " * 200_000).text) == MAX_TEXT_CHARACTERS
    assert text_of("a.rtf", HEAD + b"{" * (MAX_DEPTH - 1) + b"deep").text == "deep"
    with pytest.raises(Unreadable, match="groups within each other"):
        text_of("a.rtf", HEAD + b"{" * 100_000)


# ── Attachments ───────────────────────────────────────────────────────────────────────────────────────────


def letter(subject: str, text: str, sender: str = "Ana <ana@kiln.example>") -> EmailMessage:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = sender, "me@home.example", subject
    made["Date"] = f"{FIXED_NOW:%a, %d %b %Y %H:%M:%S +0000}"
    made.set_content(text)
    return made


def with_file(name: str, data: bytes) -> EmailMessage:
    made = letter("Papers", "See below.")
    made.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return made


def texts(passages: tuple[NewPassage, ...]) -> dict[str, str]:
    return {one.title: one.text for one in passages}


def test_a_text_that_is_attached_is_read() -> None:
    found = read("mail/cur/1.a:2,S", with_file("kiln.txt", TELL.encode()).as_bytes())
    assert texts(found.passages) == {"Papers": "See below.", "Papers, kiln.txt": TELL}
    assert {(one.record, one.source, one.person) for one in found.passages} == {("INBOX/1.a", "message", "Ana")}


@pytest.mark.parametrize(
    ("name", "data", "fault"),
    [
        ("a.docx", ENCRYPTED_OFFICE, "a.docx: it is encrypted; save it without a password"),
        ("a.xls", OLD_OFFICE + bytes(600), "a.xls: a file of an old Office program"),
        ("a.rtf", rb"{\rtf1\ansi{\pict 00}}", f"a.rtf: {WITHOUT_TEXT}"),
        ("song.mp3", b"ID3" + bytes(5_000), ""),
        ("a.txt", b" ", ""),
    ],
)
def test_an_attachment_that_is_not_read_is_named_where_its_kind_is(name: str, data: bytes, fault: str) -> None:
    found = read("mail/cur/1.a:2,S", with_file(name, data).as_bytes())
    assert found.fault.startswith(fault)
    assert bool(found.fault) is bool(fault)
    assert texts(found.passages) == {"Papers": "See below."}


def test_pictures_without_writing_in_mails_are_named_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hearth.memory.search.collecting.place_of", lambda _group, _name: "a reader")
    monkeypatch.setattr("hearth.memory.search.collecting.picture_text", lambda _data: " \n")
    made = with_file("a.png", b"\x89PNG\r\n\x1a\n" + bytes(4_000))
    workspace = InMemoryWorkspace({"mail/cur/1.a:2,S": made.as_bytes()})
    assert passages_in("mail/cur/1.a:2,S", workspace, dt.UTC, with_pictures=True).fault == WITHOUT_WRITING


def nested(n_deep: int) -> EmailMessage:
    """A mail with a mail attached to it, and so on, each with a file."""
    inner: EmailMessage | None = None
    for depth in range(n_deep, -1, -1):
        made = letter(
            f"Level {depth}", f"The code of level {depth} is {depth * 1111}.", f"P{depth} <p{depth}@x.example>"
        )
        made.add_attachment(f"Sheet {depth}".encode(), maintype="text", subtype="plain", filename="sheet.txt")
        if inner is not None:
            made.add_attachment(inner)
        inner = made
    assert inner is not None
    return inner


def test_an_attached_mail_is_read_with_who_wrote_it_and_what_it_carries() -> None:
    found = read("mail/cur/1.a:2,S", nested(1).as_bytes())
    said = texts(found.passages)
    assert list(said) == ["Level 0", "Level 0, sheet.txt", "Level 0, Level 1", "Level 0, Level 1, sheet.txt"]
    assert said["Level 0, Level 1"] == (
        "Level 1\nFrom: P1 p1@x.example, Friday 20 November 2026\n\nThe code of level 1 is 1111."
    )
    assert {(one.record, one.person) for one in found.passages} == {("INBOX/1.a", "P0")}
    assert found.fault == ""


def test_a_mail_that_is_attached_as_a_file_is_read_as_one() -> None:
    large = letter("Offer", f"{TELL}\n" + "More of it.\n" * 10_000)
    for data in (letter("Offer", TELL).as_bytes(), large.as_bytes()):
        found = read("mail/cur/1.a:2,S", with_file("offer.eml", data).as_bytes())
        (first, *_) = [one for one in found.passages if one.title == "Papers, Offer"]
        assert TELL in first.text
        assert "Content-Type" not in first.text
    plain = read("mail/cur/1.a:2,S", with_file("list.eml", b"eggs and flour").as_bytes())
    assert texts(plain.passages)["Papers, list.eml"] == "eggs and flour"


ATTACHED = b"From: Zoe <z@b.example>\nSubject: Offer\n\nThe kiln is free."
WRAPPED = b"From: a@b.example\nSubject: Papers\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nSee below.\n--b\nContent-Type: message/rfc822\n%b\n--b--\n"


@pytest.mark.parametrize(
    ("attached", "title"),
    [
        (b"\n" + ATTACHED, "Papers, Offer"),
        (b"Content-Transfer-Encoding: base64\n\n" + base64.encodebytes(ATTACHED), "Papers, Offer"),
        (b"Content-Transfer-Encoding: base64\n\n" + ATTACHED, "Papers, Offer"),
        ("\nSubject: Größe – x\n\nThe kiln is free.".encode(), "Papers, Größe – x"),
        # Parts that are nowhere, so no text: the standard library reads it, and cannot write it.
        ("\nSubject: Odd\nContent-Type: multipart/mixed; boundary=c\n\nGrüße".encode(), "Papers, Odd"),
    ],
)
def test_a_mail_attached_in_odd_ways_is_read(attached: bytes, title: str) -> None:
    said = texts(read("mail/cur/1.a:2,S", WRAPPED % attached).passages)
    assert said["Papers"] == "See below."
    assert title in said
    assert "The kiln is free" in said[title] or title == "Papers, Odd"


def test_mails_in_mails_end_at_three_and_at_so_many_attachments() -> None:
    found = read("mail/cur/1.a:2,S", nested(5).as_bytes())
    said = " ".join(one.text for one in found.passages)
    assert "is 3333" in said
    assert "is 4444" not in said
    assert found.fault == "attachment: a mail more than 3 deep in others"
    many = letter("Many", "All of them.")
    for _ in range(5):
        many.add_attachment(nested(1))
    assert len(read("mail/cur/1.a:2,S", many.as_bytes()).passages) == 1 + MAX_ATTACHMENTS
