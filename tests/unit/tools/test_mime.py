"""Mails as strangers send them: any charset, any MIME, any damage, and never a crash or a long wait."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.tools.mail.mime import (
    Head,
    attachments_of,
    body_of,
    decoded_words,
    looks_like_html,
    read_head,
    text_of_html,
)
from tests.work import calls_of, grows_in_step

# ── Heads ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("line", "name", "address"),
    [
        ("Anna Berg <anna@example.org>", "Anna Berg", "anna@example.org"),
        ('"Berg, Anna" <anna@example.org>', "Berg, Anna", "anna@example.org"),
        ("anna@example.org", "", "anna@example.org"),
        ("anna@example.org (Anna Berg)", "Anna Berg", "anna@example.org"),
        ("=?utf-8?q?J=C3=BCrgen_M=C3=BCller?= <j@example.org>", "Jürgen Müller", "j@example.org"),
        ("=?iso-8859-1?B?SvxyZ2Vu?= <j@example.org>", "Jürgen", "j@example.org"),
        ("=?utf-8?q?boss=40bank=2Eexample?= <evil@example.org>", "boss@bank.example", "evil@example.org"),
        ('"anna@bank.example" <evil@example.org>', "anna@bank.example", "evil@example.org"),
        ("Anna Berg", "Anna Berg", ""),
        ("", "", ""),
        ("<>", "", ""),
        ("((((", "", ""),
    ],
)
def test_who_wrote_it(line: str, name: str, address: str) -> None:
    head = read_head(f"From: {line}\n\nx".encode())
    assert head.sender == address
    assert address == "" or head.sender_name == name


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"plain", "plain"),
        ("Grüße".encode(), "Grüße"),
        ("Grüße".encode("latin-1"), "Grüße"),
        (b"=?UTF-8?Q?Gr=C3=BC=C3=9Fe?=", "Grüße"),
        (b"=?utf-8?b?R3LDvMOfZQ==?=", "Grüße"),
        (b"=?utf-8?b?R3LDvMOfZQ?=", "Grüße"),
        (b"=?utf-8?q?one?= =?utf-8?q?_two?=", "one two"),
        (b"folded\r\n\tover\r\n lines", "folded over lines"),
        (b"=?x-unknown?q?Gr=C3=BC=C3=9Fe?=", "Grüße"),
        (b"=?utf-8*de?q?Gr=C3=BC=C3=9Fe?=", "Grüße"),
        (b"=?utf-8?b?!!!!?=", ""),
        (b"=?broken", "=?broken"),
        (b"=?utf-8?q?a=0Ab?=", "a b"),
        (b"", ""),
        (b"x" * 3000, "x" * 500),
    ],
)
def test_subjects_are_decoded(value: bytes, text: str) -> None:
    assert read_head(b"Subject: " + value + b"\r\n\r\nbody").subject == text


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("Date: Fri, 20 Nov 2026 10:00:00 +0100", dt.datetime(2026, 11, 20, 9, tzinfo=dt.UTC)),
        ("Date: Fri, 20 Nov 2026 10:00:00 -0000", dt.datetime(2026, 11, 20, 10, tzinfo=dt.UTC)),
        ("Date: 20 Nov 26 10:00 GMT", dt.datetime(2026, 11, 20, 10, tzinfo=dt.UTC)),
        ("Date: soon\nReceived: by x; Fri, 20 Nov 2026 10:00:00 +0000", dt.datetime(2026, 11, 20, 10, tzinfo=dt.UTC)),
        ("Received: by x; Fri, 20 Nov 2026 10:00:00 +0000", dt.datetime(2026, 11, 20, 10, tzinfo=dt.UTC)),
        ("Date: Fri, 20 Nov 1066 10:00:00 +0000", None),
        ("Date: Fri, 31 Dec 9999 23:00:00 -0900", None),
        ("Date: Fri, 99 Nov 2026 10:00:00 +9999", None),
        ("Subject: no date", None),
    ],
)
def test_when_it_was_written(fields: str, expected: dt.datetime | None) -> None:
    assert read_head(f"{fields}\n\n".encode()).date == expected


def test_the_rest_of_a_head() -> None:
    head = read_head(
        b"From: a@example.org\nReply-To: List <list@example.org>\nTo: b@example.org, C <c@example.org>\n"
        b"Cc: undisclosed-recipients:;\nBcc: d@example.org\nMessage-ID: <1@x>\nReferences: <r1@x> <r2@x>\n"
        b"In-Reply-To: <r2@x>\nSubject: first\nSubject: second\n\nTo: nobody@example.org\n"
    )
    assert head == Head(
        sender="a@example.org",
        sender_name="",
        reply_to=("list@example.org",),
        to=("b@example.org", "c@example.org"),
        bcc=("d@example.org",),
        subject="first",
        date=None,
        message_id="<1@x>",
        references=("<r1@x>", "<r2@x>"),
    )


# ── Bodies ────────────────────────────────────────────────────────────────────────────────────────────────


def with_body(content_type: str, body: bytes, encoding: str = "8bit") -> bytes:
    return f"Content-Type: {content_type}\nContent-Transfer-Encoding: {encoding}\n\n".encode() + body


@pytest.mark.parametrize(
    "raw",
    [
        with_body("text/plain; charset=utf-8", "Grüße – €".encode()),
        with_body("text/plain; charset=iso-8859-1", "Grüße – €".encode("cp1252")),
        with_body("text/plain; charset=iso-8859-1", "Grüße – €".encode()),
        with_body("text/plain; charset=us-ascii", "Grüße – €".encode()),
        with_body("text/plain; charset=klingon", "Grüße – €".encode()),
        with_body("text/plain; charset=utf-8", "Grüße – €".encode("cp1252")),
        with_body("text/plain", "Grüße – €".encode("cp1252")),
        with_body("text/plain; charset=utf-16", "Grüße – €".encode("utf-16")),
        with_body("text/plain; charset=utf-8", b"Gr=C3=BC=C3=9Fe =E2=80=93 =E2=82=AC", "quoted-printable"),
        with_body("text/plain; charset=utf-8", b"R3LDvMOfZSDigJMg4oKs", "base64"),
        with_body("text/html; charset=utf-8", b"<p>Gr&uuml;&szlig;e &ndash; &#8364;</p>"),
        with_body("text/plain", "<!DOCTYPE html><p>Grüße – €".encode()),
        with_body("nonsense", "Grüße – €".encode()),
        "\n\nGrüße – €\n\n".encode(),
        b"Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/html\n\n<b>no</b>\n--b\n\n"
        + "Grüße – €\n--b--\n".encode(),
        b"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\n \n--b\n"
        + b"Content-Type: text/html; charset=utf-8\n\n"
        + "<p>Grüße – €".encode(),
    ],
)
def test_the_text_is_read_whatever_it_claims_to_be(raw: bytes) -> None:
    assert body_of(raw).text == "Grüße – €"


def test_attached_files_are_named_and_not_read_as_text() -> None:
    message = EmailMessage()
    message.set_content("See attached.")
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="Übersicht.pdf")
    message.add_attachment("not this", filename="../../etc/notes.txt")
    body = body_of(message.as_bytes())
    assert body.text == "See attached."
    assert body.attachments == ("Übersicht.pdf", "notes.txt")
    found = attachments_of(message.as_bytes())
    assert [(a.name, a.kind, a.data) for a in found] == [
        ("Übersicht.pdf", "application/pdf", b"%PDF"),
        ("notes.txt", "text/plain", b"not this\n"),
    ]


def test_a_mail_inside_a_mail_is_an_attachment() -> None:
    inner = EmailMessage()
    inner["Subject"] = "inner"
    inner.set_content("inner text")
    outer = EmailMessage()
    outer.set_content("outer text")
    outer.add_attachment(inner)
    assert body_of(outer.as_bytes()).text == "outer text"
    assert b"inner text" in attachments_of(outer.as_bytes())[0].data


def test_a_long_text_is_cut() -> None:
    body = body_of(b"\n\n" + b"word " * 100_000)
    assert body.is_cut
    assert len(body.text) == 20_000
    assert not body_of(b"\n\nshort").is_cut


def test_control_characters_and_blank_lines_are_left_out() -> None:
    assert body_of(b"\n\na\0b\x1b[31m \r\n\r\n\r\n\r\n\r\n\r\nc\x7f").text == "ab[31m\n\n\nc"


HOSTILE: dict[str, Callable[[int], bytes]] = {
    "deep": lambda n: b"".join(
        b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (i, i) for i in range(n // 200)
    ),
    "wide": lambda n: b"Content-Type: multipart/mixed; boundary=x\n\n" + b"--x\n\na\n" * (n // 5),
    "comments": lambda n: b"From: " + b"(" * (n // 10) + b"\n\n",
    "commas": lambda n: b"To: " + b"a@b," * (n // 10) + b"\n\n",
    "words": lambda n: b"Subject: " + b"=?utf-8?b?" * (n // 33) + b"\n\n",
    "folds": lambda n: b"Subject: a" + b"\n a" * (n // 12) + b"\n\n",
    "no end": lambda n: b"Subject: a\n" * (n // 10),
    "quoted": lambda n: with_body("text/plain", b"=" * n, "quoted-printable"),
    "base64": lambda n: with_body("text/plain", b"A" * (n + 1), "base64"),
    "blanks": lambda n: b"\n" * n,
    "nul": lambda n: b"\0" * n,
}
"""Mails by what is wrong with them, each as large as asked."""
STRANGE = {
    "nothing": b"",
    "charset": with_body("text/plain; charset*=x''%ff%fe; charset=\xff", b"x"),
    "boundary": b"Content-Type: multipart/mixed; boundary=\n\n--\n--\n--\n",
    "name": b"Content-Type: text/plain; name*=x''%ff\nContent-Disposition: attachment; filename*=\n\nx",
    "utf7": with_body("text/plain; charset=utf-7", b"+ADw-script+AD4-"),
    "codec": with_body("text/plain; charset=zip", b"x"),
    "rot13": with_body("text/plain; charset=rot13", b"x"),
}


def read_all(raw: bytes) -> None:
    read_head(raw)
    body_of(raw)
    attachments_of(raw)


@pytest.mark.parametrize(
    "raw", [*(mail(250_000) for mail in HOSTILE.values()), *STRANGE.values()], ids=[*HOSTILE, *STRANGE]
)
def test_hostile_mails_are_read(raw: bytes) -> None:
    """What takes time in step with the square takes minutes."""
    read_all(raw)


@pytest.mark.parametrize("kind", [kind for kind in HOSTILE if kind != "deep"])
def test_hostile_mails_take_work_in_step_with_their_length(kind: str) -> None:
    assert grows_in_step(lambda n: read_all(HOSTILE[kind](n)), 20_000, 80_000)


def test_parts_within_parts_are_followed_so_deep_and_no_deeper() -> None:
    """The standard library compares each line with every boundary around it; the depth is bounded."""
    assert calls_of(lambda: read_all(HOSTILE["deep"](600_000))) < 1.05 * calls_of(
        lambda: read_all(HOSTILE["deep"](300_000))
    )


@given(st.binary(max_size=400))
def test_any_bytes_are_a_mail(raw: bytes) -> None:
    head = read_head(raw)
    assert "\n" not in head.subject + head.sender + head.sender_name
    assert body_of(raw).text.encode().decode() == body_of(raw).text
    attachments_of(raw)


@given(st.text(max_size=80))
def test_a_subject_is_always_one_printable_line(text: str) -> None:
    said = decoded_words(text)
    assert said == " ".join(said.split())
    assert not any(c < " " or c == "\x7f" for c in said)
    said.encode()


# ── HTML ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<p>Hello&nbsp;<b>Anna</b>,<br>bye</p>", "Hello Anna,\nbye"),
        ("<p>one</p><p>two</p>", "one\n\ntwo"),
        ("<ul><li>one<li>two</ul>", "- one\n- two"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a: b\nc"),
        (
            "<table><tr><th>Week</th><th>Ship</th></tr><tr><td>49</td><td>Gannet</td></tr></table>",
            "Week | Ship\n49 | Gannet",
        ),
        ("<table><tr><td>cap<td>2<td>$9<tr><td>in all<td><td>$9</table>end", "cap | 2 | $9\nin all | | $9\nend"),
        (
            "<table><tr><td><b>In:</b></td><td>3 pm</td><td><b>Out</b></td><td>11 am</td></tr></table>",
            "In: 3 pm\nOut: 11 am",
        ),
        (f"<table><tr><td>Menu</td><td><p>{'word ' * 40}</p></td></tr></table>", f"Menu\n\n{'word ' * 40}".strip()),
        ("<table><tr><td><table><tr><td>a</td><td>b</td></tr></table></td><td>c</td></tr></table>", "a: b\nc"),
        ('<a href="https://x.example/a?b=1&amp;c=2">page</a>', "page (https://x.example/a?b=1&c=2)"),
        ('<a href="https://x.example">https://x.example</a>', "https://x.example"),
        ('<a href="mailto:a@x.example">a@x.example</a>', "a@x.example"),
        ('<a href="javascript:alert(1)">x</a>', "x"),
        ("<a href=x>one<a href='y.example'>two</a>", "onetwo (y.example)"),
        ("<style>p{}</style><script>if (a<b) '</p>'</script>x", "x"),
        ("<head><title>T</title></head>x", "x"),
        ("a<!-- b > c -->d", "ad"),
        ('<div style="display: none">hidden<div>too</div></div>shown', "shown"),
        ("<span hidden>a</span>b", "b"),
        ('<span style="font-size:0px">a</span>b', "b"),
        ('<p style="font-size:0.9em">kept', "kept"),
        ('<img alt="logo" src="x"> &copy; 5 < 6', "logo © 5 < 6"),
        ("plain", "plain"),
        ("<p>never closed", "never closed"),
        ("<!-- never closed", ""),
        ("a <unclosed tag", "a <unclosed tag"),
    ],
)
def test_html_becomes_text(source: str, text: str) -> None:
    assert text_of_html(source) == text


MARKUP = (
    "< <!-- <a\t <![CDATA[ & </ <a\tb=' <script> <? <a\thref=x>a <div\thidden> &# <p>\t <p\tstyle='display <title> </a> "
    "<a\thref=' <br/"
)


@pytest.mark.parametrize("piece", MARKUP.split(" "))
def test_hostile_html_takes_work_in_step_with_its_length(piece: str) -> None:
    text_of_html(piece * (400_000 // len(piece)))  # in step with the square, it would take minutes
    assert grows_in_step(lambda n: text_of_html(piece * (n // len(piece))), 10_000, 40_000)


@given(st.text(alphabet="<>/=\"' ap!-&;x", max_size=200))
def test_any_markup_is_read(source: str) -> None:
    assert isinstance(text_of_html(source), str)


def test_html_that_claims_to_be_plain_is_known() -> None:
    assert looks_like_html("\n <!DOCTYPE html><p>")
    assert not looks_like_html("Dear <name>")
