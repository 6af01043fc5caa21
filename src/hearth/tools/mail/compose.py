"""Write mails: headers that cannot be injected, checked addresses, the same bytes for the same call.

Covered: newlines and control characters in subjects, names and addresses are refused; names of attachments carry no
path. Not covered: HTML mails, signing and encryption, addresses with letters beyond ASCII before the `@`.
"""

from __future__ import annotations

import datetime as dt
import email.policy
import hashlib
import mimetypes
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime

from hearth.errors import ToolError
from hearth.tools.files import size_text, text_bytes
from hearth.tools.mail.mime import Attachment, Head, clean_line, head_bytes
from hearth.types import EmailAddress, Plain

N_MAX_RECIPIENTS = 50
N_MAX_SUBJECT_CHARACTERS = 300
N_MAX_TEXT_BYTES = 500_000
N_MAX_ATTACHED_BYTES = 20_000_000
"""Most servers refuse mails beyond 25 MB, and encoding makes attachments a third larger."""
N_MAX_QUOTED_CHARACTERS = 5_000

_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_LABEL = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)")
_POLICY = email.policy.default.clone(cte_type="7bit", max_line_length=76)
"""Uses seven bits only, so that any server can pass the mail on unchanged."""


@dataclass(frozen=True, slots=True)
class Sender:
    name: str
    address: str

    @property
    def domain(self) -> str:
        return self.address.rpartition("@")[2]


def owner(settings: Mapping[str, Mapping[str, Plain]]) -> Sender:
    """Return the sender of the owner's mails. Raises: ToolError: No address is configured."""
    table = settings.get("owner", {})
    address = str(table.get("email") or "").strip()
    if not address:
        raise ToolError('there is no address to write from; put email = "you@example.org" under [owner] in hearth.toml')
    return Sender(clean_line(str(table.get("name") or "")), checked_address(address))


def checked_address(text: object) -> EmailAddress:
    """Return one plain address, its domain in the ASCII form that servers use.

    Raises:
        ToolError: It is no address; nothing can be hidden in one (no newline, no second address).
    """
    clean = text.strip() if isinstance(text, str) else ""
    inner = re.fullmatch(r"[^<>\r\n]*<([^<>\s]+)>", clean)
    address = inner[1] if inner else clean
    local, at, domain = address.rpartition("@")
    try:
        domain = domain.encode("idna").decode() if not domain.isascii() else domain
    except UnicodeError:
        domain = ""
    labels = domain.split(".")
    is_good = bool(at) and len(address) <= 254 and len(local) <= 64 and _LOCAL.fullmatch(local) is not None
    if not is_good or not all(_LABEL.fullmatch(label) for label in labels):
        shown = repr(text)[:80]
        raise ToolError(f"{shown} is not an e-mail address; expected one such as 'anna@example.org'")
    return EmailAddress(f"{local}@{domain}")


def checked_recipients(to: object) -> tuple[EmailAddress, ...]:
    """Return every address once, in order. Raises: ToolError: None, too many, or one that is no address."""
    if not isinstance(to, Sequence) or isinstance(to, str):
        raise ToolError(f"{to!r:.80} is not a list of addresses; give one text each")
    said = [address for address in to if not isinstance(address, str) or address.strip()]
    if not said:
        raise ToolError("there is nobody to write to; give an e-mail address, or add one to the contact")
    if len(said) > N_MAX_RECIPIENTS:
        raise ToolError(f"{len(said)} recipients; expected at most {N_MAX_RECIPIENTS} in one mail")
    return tuple(dict.fromkeys(checked_address(address) for address in said))


def checked_subject(subject: object, text: str) -> str:
    """Return the subject, or the first words of the text. Raises: ToolError: More than one line, or too long."""
    if not isinstance(subject, str):
        raise ToolError(f"the subject is {subject!r:.80}; expected text")
    if "\n" in subject.strip() or "\r" in subject.strip():
        raise ToolError(f"the subject {subject[:60]!r} has more than one line; write it on one")
    text_bytes(subject, "subject", 10_000)
    clean = clean_line(subject)
    if len(clean) > N_MAX_SUBJECT_CHARACTERS:
        raise ToolError(f"the subject has {len(clean)} characters; expected at most {N_MAX_SUBJECT_CHARACTERS}")
    return clean or _first_words(text)


_SENTENCE = re.compile(r"[.!?;:](?=\s)")
_CLAUSE = re.compile(rf"{_SENTENCE.pattern}|,(?=\s)|\s(?:and|but|so|because|if|since|unless)(?=\s)", re.IGNORECASE)
_GREETING = re.compile(
    r"(?:hi|hello|hey|dear|good (?:morning|afternoon|evening))\b[^,.!\n]{0,40}[,.!]\s*", re.IGNORECASE
)
_BULLETS = "-–—•*·># "
_LONGEST_SUBJECT, _LONGEST_WHOLE, _SHORTEST_CLAUSE = 50, 32, 8


def _first_words(text: str) -> str:
    """Return a short subject: the first clause, cut at the end of a word where it is long."""
    said = _GREETING.sub("", text.strip(), count=1) or text.strip()
    line = clean_line(next((one for one in said.split("\n") if one.strip()), "")).lstrip(_BULLETS)
    ending = _CLAUSE if len(line) > _LONGEST_WHOLE else _SENTENCE
    places = (found.start() for found in ending.finditer(line))
    ends = (place for place in places if place >= _SHORTEST_CLAUSE and not _is_within(line, place))
    clause = line[: next(ends, len(line))].rstrip(" .,;:")
    if len(clause) > _LONGEST_SUBJECT:
        cut = clause.rfind(" ", 20, _LONGEST_SUBJECT + 1)
        cut = cut if cut > 0 else _LONGEST_SUBJECT
        if _is_within(clause, cut) and (opens := clause.rfind("(", 0, cut)) >= _SHORTEST_CLAUSE:
            cut = opens
        clause = clause[:cut].rstrip(" .,;:") + "…"
    return clause or "(no subject)"


def _is_within(line: str, place: int) -> bool:
    """Whether a place stands inside parentheses."""
    return line.count("(", 0, place) > line.count(")", 0, place)


def checked_body(text: object) -> str:
    """Return the text of a mail with `\n` line ends. Raises: ToolError: Empty, too long, or no text."""
    if not isinstance(text, str):
        raise ToolError(f"the text of the mail is {text!r:.80}; expected text")
    text_bytes(text, "text of the mail", N_MAX_TEXT_BYTES)
    clean = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if not clean:
        raise ToolError("the mail is empty; say what it should say")
    return clean


def signed(text: str, sender: Sender) -> str:
    """Return the text with the owner's name below, unless it ends with it."""
    first_name = sender.name.split()[0] if sender.name else ""
    last_line = text.rstrip().rpartition("\n")[2].strip(" ,.!")
    is_signed = not first_name or last_line in (first_name, sender.name) or text.endswith(sender.name)
    return text if is_signed else f"{text}\n\n{sender.name}"


def quoted(text: str, head: Head, received: dt.datetime) -> str:
    """Return the original mail as it stands below a reply."""
    shown = text[:N_MAX_QUOTED_CHARACTERS] + ("\n[…]" if len(text) > N_MAX_QUOTED_CHARACTERS else "")
    lines = "\n".join(f"> {line}".rstrip() for line in shown.split("\n"))
    return f"On {received:%d.%m.%Y at %H:%M}, {head.sender_name or head.sender} wrote:\n{lines}"


def forwarded(text: str, head: Head, received: dt.datetime) -> str:
    """Return the forwarded mail as it stands below a covering note."""
    sender = f"{head.sender_name} <{head.sender}>" if head.sender_name else head.sender
    top = [f"From: {sender}", f"Date: {received:%d.%m.%Y %H:%M}", f"Subject: {head.subject}"]
    if head.to:
        top.append(f"To: {', '.join(head.to[:10])}")
    return "\n".join(["---------- Forwarded message ----------", *top, "", text])


def message_id(key: str, sender: Sender) -> str:
    """Return the Message-ID of the draft that the call with this key makes."""
    return f"<{hashlib.sha256(key.encode()).hexdigest()[:32]}@{sender.domain}>"


@dataclass(frozen=True, slots=True)
class Letter:
    """A mail to be written; its parts are already checked."""

    sender: Sender
    to: tuple[EmailAddress, ...]
    subject: str
    text: str
    attachments: tuple[Attachment, ...] = ()
    answers: Head | None = None
    """The mail it replies to."""


def written(letter: Letter, key: str, now: dt.datetime) -> bytes:
    """Return the mail as a file; the same for the same letter, key and time.

    Raises:
        ToolError: The attachments are too large in sum.
    """
    n_bytes = sum(len(a.data) for a in letter.attachments)
    if n_bytes > N_MAX_ATTACHED_BYTES:
        raise ToolError(
            f"the attachments have {size_text(n_bytes)}; a mail carries at most {size_text(N_MAX_ATTACHED_BYTES)}, so "
            "send fewer or smaller ones"
        )
    message = EmailMessage(policy=_POLICY)
    message["From"] = Address(letter.sender.name, addr_spec=letter.sender.address)
    message["To"] = tuple(Address(addr_spec=address) for address in letter.to)
    message["Subject"] = letter.subject
    message["Date"] = format_datetime(now)
    message["Message-ID"] = message_id(key, letter.sender)
    if letter.answers and letter.answers.message_id:
        message["In-Reply-To"] = letter.answers.message_id
        message["References"] = " ".join([*letter.answers.references, letter.answers.message_id][-20:])
    message.set_content(letter.text + "\n", charset="utf-8" if not letter.text.isascii() else "us-ascii")
    for attachment in letter.attachments:
        kind = attachment.kind if re.fullmatch(r"[a-z]+/[\w.+-]+", attachment.kind) else "application/octet-stream"
        main, _, sub = kind.partition("/")
        if main in ("multipart", "message"):
            main, sub = "application", "octet-stream"
        message.add_attachment(attachment.data, maintype=main, subtype=sub, filename=attachment.name)
    if letter.attachments:
        message.set_boundary(f"=-{hashlib.sha256(key.encode()).hexdigest()[:40]}")
    return message.as_bytes()


def outgoing(raw: bytes, sender: Sender, now: dt.datetime) -> bytes:
    """Return a draft as it leaves: dated now, without Bcc, and with a From if it had none."""
    head = head_bytes(raw)
    rest = raw[len(head) :]
    head = re.sub(rb"(?im)^(?:bcc|date|x-[\w-]*):.*(?:\r?\n[ \t].*)*(?:\r?\n|\Z)", b"", head).rstrip()
    end = b"\r\n" if rest.startswith(b"\r\n") else b"\n"
    head += end + f"Date: {format_datetime(now)}".encode()
    if not re.search(rb"(?im)^from:", head):
        head += end + f"From: {sender.address}".encode()
    return head + rest


def kind_of(name: str) -> str:
    """Return the MIME type by the file's name."""
    kind, encoding = mimetypes.guess_type(name)
    return kind if kind and not encoding else "application/octet-stream"
