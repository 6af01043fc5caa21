"""Forms in which other programs hand over mails, chats and notes, told by names and first bytes.

Covered: mailboxes and mails that are called anything, mails in the folders of a Maildir, WhatsApp's text, Telegram's
JSON and pages, chats as JSON lines, notes of Keep. A text that begins like one of them and is none (a letter whose
first word is "From", a diary of dated lines) has no form. Not covered: texts that are not in UTF-8, a chat or a mail
that the owner pasted into a text of their own; what the file holds behind its first bytes.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Literal

from hearth import patterns

Form = Literal["", "mbox", "mail", "chat", "chat page", "Keep note"]
"""`chat page`: one that lies in a chat's export beside its messages. Empty: none of them."""
HEAD_BYTES = 20_000
"""First bytes of a file that are enough to tell its form."""
_FIELDS = re.compile(rb"(?:[!-9;-~]{1,80}:[^\n]*\n(?:[ \t][^\n]*\n)*)+")
"""Lines of a mail's head."""
_WRITER = re.compile(rb"^(?:from|sender|return-path):(?:[^\n]|\n[ \t])*?[\w.+-]@", re.IGNORECASE | re.MULTILINE)
_SENT = re.compile(rb"^(?:date|received|message-id):", re.IGNORECASE | re.MULTILINE)
_SEPARATOR = re.compile(rb"From [^\n]*\n")
"""Stands before each mail of a mailbox, as a rule with the time."""
_TIME = re.compile(rb"\d\d:\d\d")
_MAIL_FOLDERS = ("cur", "new")
_TEXTS = frozenset("txt md markdown html htm csv tsv json".split())  # noqa: SIM905 - a list of words
"""Endings of texts, whose first line may look like a mail's ("Note: …"), whatever their folder is called."""


def form_of(name: str, head: bytes) -> Form:
    """Return the form of a file by its name or path and its first bytes, some `HEAD_BYTES`."""
    place = PurePosixPath(name)
    ending = place.suffix.lower().removeprefix(".")
    if ending != "eml" and _is_mailbox(ending, head):
        return "mbox"
    in_maildir = place.parent.name in _MAIL_FOLDERS and ending not in _TEXTS and _FIELDS.match(head) is not None
    if in_maildir or ending in ("eml", "emlx", "mbox") or _is_mail(head):
        return "mail"
    if chat_kind(place.name, head):
        return "chat"
    if is_telegram_page(head):
        return "chat page"
    return "Keep note" if ending == "json" and (b'"textContent"' in head or b'"listContent"' in head) else ""


def _is_mailbox(ending: str, head: bytes) -> bool:
    separator = _SEPARATOR.match(head)
    if separator is None:
        return False
    first = head[separator.end() :]
    is_dated = _TIME.search(separator.group()) is not None and _FIELDS.match(first) is not None
    return ending == "mbox" or is_dated or _is_mail(first)


def _is_mail(head: bytes) -> bool:
    """Return whether a text begins with the head of a mail: with an address that it is from, and when or how it
    came."""
    fields = _FIELDS.match(head)
    return fields is not None and bool(_WRITER.search(fields.group()) and _SENT.search(fields.group()))


# ── Chats ─────────────────────────────────────────────────────────────────────────────────────────────────

_INVISIBLE = patterns.compile("[\u200e\u200f\u202a-\u202e\ufeff]")
CHAT_LINE = patterns.compile(
    r"\[?(?P<a>\d{1,4})[./-](?P<b>\d{1,2})[./-](?P<c>\d{1,4}),? (?P<h>\d{1,2})[:.](?P<m>\d\d)(?:[:.](?P<s>\d\d))?"
    r"(?: ?(?P<half>[AaPp])\.?\s?[Mm]\.?)?(?:\] | - |\]? [-–] )(?P<rest>.*)"
)
"""A line of WhatsApp's text that begins a message or a notice."""
SAYS = patterns.compile(r"(?P<who>[^:]{1,100}): (?P<text>.*)", patterns.DOTALL)
"""What a message has behind its time, and a notice has not."""


def plain_line(line: str) -> str:
    """Return a line of a chat without invisible marks, its blanks as usual."""
    return _INVISIBLE.sub("", line).replace("\u202f", " ").replace("\u00a0", " ")


def is_telegram_page(head: bytes) -> bool:
    """Return whether an HTML file is one of Telegram's export, of messages or of something else."""
    return b"<title>Exported Data</title>" in head and b'class="page_wrap' in head


def chat_kind(name: str, head: bytes) -> str:
    """Return how a file's chats are read, `whatsapp`, `telegram` or `lines`; empty: it holds none.

    Args:
        head: The file's first bytes, some `HEAD_BYTES`.
    """
    ending = name.rpartition(".")[2].lower()
    if ending in ("jsonl", "ndjson"):
        return "lines"
    if ending in ("html", "htm"):
        return "telegram" if is_telegram_page(head) and b'<div class="history">' in head else ""
    if ending == "json" or head.lstrip()[:1] == b"{":
        is_chat = b'"messages"' in head and b'"type"' in head
        return "telegram" if is_chat or (b'"about"' in head and b"Telegram" in head) else ""
    return "whatsapp" if ending == "txt" and _is_whatsapp(head) else ""


def _is_whatsapp(head: bytes) -> bool:
    """Return whether dated lines begin soon, and somebody says something in one."""
    lines = [plain_line(line) for line in head.decode("utf-8-sig", errors="replace").splitlines()]
    if not any(CHAT_LINE.match(line) for line in lines[:5]):
        return False
    return any(found is not None and SAYS.match(found["rest"]) for found in map(CHAT_LINE.match, lines))
