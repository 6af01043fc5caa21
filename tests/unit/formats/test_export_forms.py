"""The forms of what other programs hand over are told by names and bytes; what only looks like one has none."""

from __future__ import annotations

import json

import pytest

from hearth.formats.export_forms import HEAD_BYTES, chat_kind, form_of

MAIL = b"From: =?utf-8?q?Ana?=\r\n <ana@x.example>\r\nTo: me@home.example\r\nDate: Mon, 23 Nov 2026 08:00:00 +0000\r\n\r\nHi\r\n"
CHAT = b"23/11/2026, 09:14 - Messages are end-to-end encrypted.\n23/11/2026, 09:15 - Ana: the code is 1234\n"
TELEGRAM = json.dumps({"name": "Ana", "type": "personal_chat", "messages": [{"text": "hi"}]}).encode()
PAGE = b'<html><head><title>Exported Data</title></head><body><div class="page_wrap">%s</div></body></html>'
FORMS: dict[str, tuple[str, bytes, str]] = {
    "a mailbox without an ending": ("Local Folders/Inbox", b"From - Mon Nov 23 08:00:00 2026\n" + MAIL, "mbox"),
    "a mailbox whose rule has no time": ("Inbox", b"From a Mon\n" + MAIL, "mbox"),
    "a mailbox called a text": ("Inbox.txt", b"From a@x.example Mon Nov 23 08:00:00 2026\nX-A: b\n\nHi", "mbox"),
    "a mailbox by its ending": ("a.mbox", b"From \n", "mbox"),
    "a mail without an ending": ("saved", MAIL, "mail"),
    "a mail saved as text": ("Lunch.txt", MAIL, "mail"),
    "a mail of a Maildir": ("Maildir/cur/1.x:2,S", b"Subject: x\n\nHi", "mail"),
    "a mail by its ending": ("a.eml", b"\n\nHi", "mail"),
    "WhatsApp": ("WhatsApp Chat with Ana.txt", CHAT, "chat"),
    "WhatsApp with marks, of iOS": ("_chat.txt", "\u200e[23.11.26, 09:15:00] Ana: \u200ehi\n".encode(), "chat"),
    "Telegram": ("result.json", TELEGRAM, "chat"),
    "a page of Telegram": ("messages.html", PAGE % b'<div class="history">', "chat"),
    "a page beside": ("export_results.html", PAGE % b"<div>", "chat page"),
    "lines": ("main.jsonl", b'{"version": "1"}', "chat"),
    "a note of Keep": ("Keep/x.json", b'{"textContent": "milk"}', "Keep note"),
    # What is none of them.
    "a letter that begins with From": ("letter.txt", b"From here on the rent is 500 euros.\n\nThe landlord\n", ""),
    "a memo": ("memo.txt", b"From: the office\nTo: all\nDate: 3 May 2026\n\nWe are shut on Monday.\n", ""),
    "an address without a day": ("who.txt", b"From: ana@x.example\nTo: Ben\n\nKeep this.\n", ""),
    "a mail that is quoted": ("thread.txt", b"What she wrote:\n\n" + MAIL, ""),
    "a text in a folder called new": ("documents/new/lease.txt", b"Note: two months\n\nThe rent is 500.\n", ""),
    "a diary": ("diary.txt", b"23.11.2026 09:15 - dentist\n24.11.2026 18:00 - choir\n", ""),
    "a text": ("lease.txt", b"The notice period is two months.", ""),
    "settings": ("lamp.json", b'{"type": "lamp", "text": "on"}', ""),
    "a web page": ("page.html", b"<html><title>Kilns</title>messages</html>", ""),
    "a picture": ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(200), ""),
    "nothing": ("a.txt", b"", ""),
}


@pytest.mark.parametrize("case", FORMS)
def test_a_form_is_told_and_what_looks_like_one_is_none(case: str) -> None:
    name, head, form = FORMS[case]
    assert form_of(name, head) == form


def test_a_chat_of_notices_alone_holds_no_chat() -> None:
    assert chat_kind("a.txt", CHAT.splitlines(keepends=True)[0]) == ""
    assert chat_kind("a.txt", CHAT) == "whatsapp"


@pytest.mark.parametrize(
    "piece", [b"a:", b"From ", b"from:", b"from:\n ", b"from:a@", b" ", b"1/1/20 1:11 - ", b"\n", b"{"]
)
def test_bytes_of_anybody_are_of_a_known_form_or_none(piece: bytes) -> None:
    known = {form for _, _, form in FORMS.values()}
    for name in ("a.txt", "a.json", "cur/1.x", "a"):
        assert form_of(name, (piece * HEAD_BYTES)[:HEAD_BYTES]) in known
        assert form_of(name, b"From a 10:00\n" + (piece * HEAD_BYTES)[:HEAD_BYTES]) in known
