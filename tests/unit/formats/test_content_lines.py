from __future__ import annotations

import pytest

from hearth.errors import ToolError
from hearth.formats.content_lines import (
    MAX_DEPTH,
    Component,
    checked_email,
    checked_text,
    escape,
    new_component,
    new_line,
    parse,
    read_folder,
    split_value,
    unescape,
    unreadable_notice,
)
from hearth.testing import InMemoryWorkspace


def card(*lines: bytes) -> bytes:
    return b"BEGIN:VCARD\r\n" + b"".join(line + b"\r\n" for line in lines) + b"END:VCARD\r\n"


@pytest.mark.parametrize(
    "data",
    [
        card(b"FN:Ann", b'X-ODD;P="a:b;c":v', b"item1.EMAIL:a@x", b"", b"junk without colon"),
        card(b"NOTE:folded", b"  twice", b"\tand by tab").replace(b"\r\n", b"\n"),
        b"\xef\xbb\xbf" + card(b"FN:with a mark"),
        card(b"FN:M\xfcller in Latin-1", b"PHOTO;ENCODING=b:" + b"A" * 3000),
        card(b"NOTE;ENCODING=QUOTED-PRINTABLE:a=", b"b=C3=A9", b"FN:Ann"),
        b"stray\n\n" + card(b"FN:a") + b"between\r\n" + card(b"FN:b") + b"after, no newline",
        card(b"FN:old Mac").replace(b"\r\n", b"\r"),
    ],
)
def test_what_is_not_changed_is_written_back_byte_for_byte(data: bytes) -> None:
    assert parse(data).render() == data


def test_a_changed_line_leaves_all_others_as_they_were() -> None:
    data = card(b"FN:Ann", b"NOTE:very", b"  odd\tfold", b"X-M\xfc:\xfc", b"EMAIL:a@x", b"TEL:1")
    document = parse(data)
    document.components()[0].put(new_line("EMAIL", "b@x"))
    assert document.render() == data.replace(b"EMAIL:a@x", b"EMAIL:b@x")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no BEGIN line; expected an iCalendar or vCard file"),
        (b"\x00\xff\xfe binary", "no BEGIN line"),
        (b"BEGIN:VCARD\r\nFN:a\r\n", "BEGIN:VCARD has no END; the file is cut off"),
        (b"BEGIN:A\nBEGIN:B\nEND:A\nEND:B\n", "line 3: END:A, but expected END:B"),
        (b"X:1\nEND:A\n", "line 2: END:A, but nothing was begun"),
        (b"BEGIN:A\n" * (MAX_DEPTH + 1), f"nested more than {MAX_DEPTH} deep"),
    ],
)
def test_a_file_that_cannot_be_read_says_where(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(data)


def test_a_file_too_large_is_refused() -> None:
    with pytest.raises(ValueError, match="32000001 bytes; expected at most 32000000"):
        parse(b" " * 32_000_001)


def test_values_are_unfolded_decoded_and_unescaped() -> None:
    component = parse(
        card(
            b"NOTE:a\\, b\\; c\\\\d\\ne",
            b"FN:M\xc3",
            b" \xbcller",
            b"TITLE:M\xfcller",
            b"ROLE;CHARSET=ISO-8859-2:\xb3",
            b"N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCl=",
            b"ler;Zo=C3=AB",
        )
    ).components()[0]
    assert component.text("NOTE") == "a, b; c\\d\ne"
    assert component.text("FN") == "Müller", "a fold may stand inside a character"
    assert component.text("TITLE") == "Müller"
    assert component.text("ROLE") == "ł"
    assert component.text("N") == "Müller;Zoë"
    assert component.text("ABSENT") == ""


def test_parameters_are_read_quoted_listed_and_bare() -> None:
    line = parse(card(b'TEL;HOME;TYPE="a,b",c;X="x^ny^\'z":1')).components()[0].line("TEL")
    assert line is not None
    assert line.parameters("TYPE") == ("HOME", "a,b", "c")
    assert line.parameter("X") == 'x\ny"z'
    assert line.parameter("NONE") == ""


@pytest.mark.parametrize("text", ["", "a", "ä" * 200, "🎉" * 60, "line\nline\n", 'a;b,c\\d:"e"', "\t x", "x" * 5000])
def test_a_new_line_is_folded_at_75_octets_and_reads_back(text: str) -> None:
    line = new_line("SUMMARY", escape(text), {"X-P": 'a;"b"\n^', "TYPE": ("x", "y,z")}, "item1")
    assert all(len(part) <= 75 for part in line.raw.split(b"\r\n"))
    assert all(part.decode() for part in line.raw.rstrip().split(b"\r\n "))
    (read,) = parse(new_component("X", line).render()).components()[0].lines()
    assert read.text() == text
    assert (read.group, read.parameter("X-P"), read.parameters("TYPE")) == ("item1", 'a;"b"\n^', ("x", "y,z"))


def test_structured_values() -> None:
    assert split_value("a;b\\;c;;d\\,e", ";") == ["a", "b;c", "", "d,e"]
    assert split_value("", ";") == [""]
    assert split_value("a\\", ";") == ["a\\"]
    assert unescape("\\N\\x\\") == "\nx\\"


def test_lines_are_added_before_nested_components() -> None:
    component = new_component("A", new_line("X", "1"), new_component("B", new_line("X", "2")))
    component.add(new_line("Y", "3"))
    component.put(new_line("X", "4"))
    component.put(new_line("Z", "5"))
    assert component.render() == b"BEGIN:A\r\nX:4\r\nY:3\r\nZ:5\r\nBEGIN:B\r\nX:2\r\nEND:B\r\nEND:A\r\n"
    component.remove("X", "Y")
    assert [line.name for line in component.lines()] == ["Z"]
    assert [c.name for c in Component(items=[component]).components("A")] == ["A"]


def test_text_that_can_be_written() -> None:
    assert checked_text("  a\nb\t ", "title", 10) == "a\nb"
    with pytest.raises(ToolError, match="the title has 11 characters; expected at most 10; shorten it"):
        checked_text("x" * 11, "title", 10)
    for wrong in ("a\0b", "\ud800", "\x7f"):
        with pytest.raises(ToolError, match=r"the title holds the character .*, which is not text; leave it out"):
            checked_text(wrong, "title", 10)


def test_addresses() -> None:
    assert checked_email(" mailto:anna@example.org ") == "anna@example.org"
    for wrong in ("Anna", "a@b c", "a@", "<a@b>", ""):
        with pytest.raises(ToolError, match=r"is not an e-mail address; expected one such as 'anna@example.org'"):
            checked_email(wrong)


def test_a_notice_names_files_that_were_left_out() -> None:
    assert unreadable_notice({"a.ics": "cut off"}) == "Left out because it could not be read: a.ics (cut off)."
    assert unreadable_notice({f"{n}.ics": "x" for n in range(7)}).endswith("4.ics (x) and 2 more.")


def test_a_file_that_vanishes_while_reading_is_left_out() -> None:
    class Vanishing(InMemoryWorkspace):
        def list(self, folder: str = "", pattern: str = "*") -> tuple[str, ...]:
            return ("a.vcf", "gone.vcf")

    assert list(read_folder(Vanishing({"a.vcf": b"x"}), "", "*")) == [("a.vcf", b"x", "")]
