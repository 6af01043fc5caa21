"""The tools of mail: find, read, draft and send, written so that other programs read it."""

from __future__ import annotations

import contextlib
import datetime as dt
import email.policy
import hashlib
import mimetypes
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Annotated, NewType

from hearth.errors import EgressError, HearthError, ToolError
from hearth.formats.record_places import canonical_address
from hearth.formats.tool_signature import Names, Sink, tool
from hearth.language.tokens import Wanted, excerpt, folded, ignored, names, wanted
from hearth.protocols import CallContext
from hearth.tools.files import ExistingFile, existing_document, size_text, text_bytes
from hearth.tools.mail.imap_smtp import NO_SMTP, Server, configured, fetch, remove_draft, send, store_draft
from hearth.tools.mail.mailbox import (
    DRAFTS,
    SENT,
    TRASH,
    MailId,
    Place,
    Seen,
    deliver,
    look,
    look_at,
    moved,
    place_of,
    places,
    unique_name,
    with_flags,
)
from hearth.tools.mail.mime import Attachment, Head, clean_line, head_bytes, read_attachments
from hearth.tools.pim.contacts import NO_FIT, Card, fit, name_words, read_cards
from hearth.types import EmailAddress, FieldOrigin, FilePath, Plain, Referent, Whence

# ── Compose ───────────────────────────────────────────────────────────────────────────────────────────────
# Write mails: headers that cannot be injected, checked addresses, the same bytes for the same call.
#
# Covered: newlines and control characters in subjects, names and addresses are refused; names of attachments carry no
# path. Not covered: HTML mails, signing and encryption, addresses with letters beyond ASCII before the `@`.

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


# ── Mail ──────────────────────────────────────────────────────────────────────────────────────────────────
# Tools to find, read and draft the owner's mail; only `send_mail` sends it, and it asks.
#
# Mail is in a Maildir (`mailbox`); with `[mail.imap]` new mail is fetched into it before a search, with `[mail.smtp]`
# drafts can be sent. Everything but sending can be undone. The content of a mail is a stranger's word: its label is
# `message`. Not covered: changing or deleting mails on the server (deleted mail goes to the local trash), HTML in
# what is written.

DraftId = NewType("DraftId", str)

N_MAX_FOUND = 50
N_MAX_SHOWN_RECIPIENTS = 10
N_MAX_SNIPPET_CHARACTERS = 500
_GENERIC = frozenset(["mail", "email", "message", "inbox", "latest", "newest", "last"])
_KINDS = frozenset(["ad", "advert", "spam", "junk", "promo", "newsletter", "letter", "offer"])
"""Stems of what people call a mail that seldom calls itself so."""


@dataclass(frozen=True, slots=True)
class Mail:
    id: MailId
    sender: EmailAddress
    sender_name: str
    """Name as the mail gives it, else the address."""
    subject: str
    received: dt.datetime
    text: str
    """The whole text of a mail that was read; of one that was found, the part around the search words."""
    is_unread: bool


@dataclass(frozen=True, slots=True)
class Draft:
    id: DraftId
    to: list[EmailAddress]
    subject: str
    text: str
    """Text that the owner writes; quoted or forwarded text stands below it in the draft."""
    attachments: list[FilePath]
    """Paths of documents; attachments of a forwarded mail by their name behind the mail's id."""


@dataclass(frozen=True, slots=True)
class Sent:
    id: MailId
    to: list[EmailAddress]
    subject: str
    at: dt.datetime


# The sender of a mail may forge all of it, also the sender's address; only what this device adds is trusted.
_MAIL = {"id": FieldOrigin("device", ()), "is_unread": FieldOrigin("device"), "received": FieldOrigin("message")}
_MAIL |= {name: FieldOrigin("message") for name in ("sender", "sender_name", "subject", "text")}

# ── Which mail ───────────────────────────────────────────────────────────────────────────────────────────


def _mail_meant(mail: object, call: CallContext, given: Mapping[str, object]) -> Referent:  # noqa: ARG001 - a Resolver
    """Resolve the id of a mail: "subject" from sender, with its time; rules that deny know it by its subject, its
    sender's name and the addresses of its sender and of whom a reply goes to, too. Raises: NotFound; ToolError."""
    seen = look_at(place_of(mail, call.workspace), call)
    sender = seen.head.sender_name or seen.head.sender or "unknown sender"
    received = seen.received.astimezone(call.now.tzinfo)
    name = f"“{seen.head.subject or 'no subject'}” from {sender}, {received:%d %b %Y %H:%M}"
    addresses = _in_one_spelling([seen.head.sender, *seen.head.reply_to])
    said = (text for text in (seen.head.subject, seen.head.sender_name) if text)
    return Referent(seen.place.id, name, aliases=(*addresses, *said))


def _answered_meant(mail: object, call: CallContext, given: Mapping[str, object]) -> Referent:
    """Resolve the id of a mail that is answered, with the address it came from and those that the answer goes to: a
    stranger's header may say others. Raises: NotFound; ToolError."""
    thing = _mail_meant(mail, call, given)
    seen = look_at(place_of(mail, call.workspace), call)
    to = _in_one_spelling(_answers_go_to(seen.head, owner(call.settings)))
    name = f"{thing.name}, {seen.head.sender or 'no address'}"
    return replace(thing, name=name, state=(("where an answer goes", ", ".join(to)),), addressed=to)


def _answers_go_to(head: Head, sender: Sender) -> list[str]:
    """Return whom an answer to a mail is written to: whom an own mail went to, else whom the mail says."""
    is_own = head.sender.lower() == sender.address.lower()
    return list(head.to if is_own else head.reply_to or (head.sender,))


def _forwarded_meant(mail: object, call: CallContext, given: Mapping[str, object]) -> Referent:
    """Resolve the id of a mail that is passed on, with the address it came from, its text and its files, as these go
    out. Raises: NotFound; ToolError."""
    thing = _mail_meant(mail, call, given)
    seen = look_at(place_of(mail, call.workspace), call)
    body = seen.whole_body(call)
    carried = f"\nwith the files {', '.join(body.attachments)}" if body.attachments else ""
    return replace(thing, name=f"{thing.name}, {seen.head.sender or 'no address'}", text=body.text + carried)


def _draft_meant(draft: object, call: CallContext, given: Mapping[str, object]) -> Referent:  # noqa: ARG001 - a Resolver
    """Resolve the id of a draft; rules that deny know it by the addresses of all its recipients, too. Raises: NotFound;
    ToolError."""
    seen = look_at(place_of(draft, call.workspace, (DRAFTS,)), call)
    recipients = [*seen.head.to, *seen.head.bcc]
    n_more = len(recipients) - N_MAX_SHOWN_RECIPIENTS
    to = ", ".join(recipients[:N_MAX_SHOWN_RECIPIENTS]) or "nobody"
    body = seen.whole_body(call)
    carried = f"\nwith the files {', '.join(body.attachments)}" if body.attachments else ""
    others = f"\nto {', '.join(recipients[N_MAX_SHOWN_RECIPIENTS:])}, too" if n_more > 0 else ""
    name = f"“{seen.head.subject or 'no subject'}” to {to}" + (f" and {n_more} more" if n_more > 0 else "")
    addressed = _in_one_spelling(recipients)
    return Referent(seen.place.id, name, aliases=addressed, text=body.text + carried + others, addressed=addressed)


def _in_one_spelling(addresses: Iterable[str]) -> tuple[str, ...]:
    """The addresses that are some, as mail goes to them."""
    found: list[str] = []
    for address in addresses:
        with contextlib.suppress(ValueError):
            found.append(canonical_address(address))
    return tuple(found)


MailMeant = Annotated[MailId, Names(_mail_meant)]
AnsweredMeant = Annotated[MailId, Names(_answered_meant)]
ForwardedMeant = Annotated[MailId, Names(_forwarded_meant)]
DraftMeant = Annotated[DraftId, Names(_draft_meant), Sink]

# ── Reading ───────────────────────────────────────────────────────────────────────────────────────────────


@tool(
    source="message",
    origins=_MAIL,
    timeout_s=120,
    answer="{sender_name}, {received}: {subject}[ ({is_unread})]",
    answer_none="I found no such mail.",
)
def find_mail(
    call: CallContext,
    query: str = "",
    sender: str = "",
    start: dt.datetime | None = None,
    end: dt.datetime | None = None,
    unread_only: bool = False,
) -> list[Mail]:
    """Find mails the owner received, by words, sender, time, or only unread ones. The newest come first.

    Args:
        query: Words of the subject, the sender or the text; all must occur.
        sender: Who wrote it: a name, an address, or what they are to the owner ("my landlord").
        start: Only mails received at this time or later.
        end: Only mails received before this time.
        unread_only: Only mails not read yet.
    Examples:
        show me the mail of this week
        any mail from Anna about the keys
        what did my landlord write last week
        find the email with the booking confirmation
    """
    fetch(call)
    found: list[Seen] = []
    for place in places(call.workspace):
        if unread_only and not place.is_unread:
            continue
        seen = look(place, call)
        if seen is not None and not (start and seen.received < start) and not (end and seen.received >= end):
            found.append(seen)
    found.sort(key=lambda seen: (-seen.received.timestamp(), seen.place.unique))
    by_sender = _from(sender, found, call) if sender.strip() else found
    words = wanted(query, _GENERIC)
    fitting = [seen for seen in by_sender if not _lacks(words, seen, call)]
    if not fitting:
        words, fitting = _nearly(query, sender, by_sender, found, call)
    mails: list[Mail] = []
    for seen in fitting:
        if len(mails) == N_MAX_FOUND:
            call.notices.append(f"More than {N_MAX_FOUND} mails were found; the newest {N_MAX_FOUND} are given.")
            break
        text = " ".join(seen.body(call).text.split())
        mails.append(_mail(seen, excerpt(text, words, N_MAX_SNIPPET_CHARACTERS), call))
    return mails


@tool(source="message", origins=_MAIL, answer="{sender_name}, {received}: {subject}\n{text}")
def read_mail(mail: MailMeant, call: CallContext) -> Mail:
    """Read the whole text of a mail. It stays marked as it was.

    Args:
        mail: Which mail.
    Examples:
        read me the latest mail from my landlord
        open the email about the boiler inspection
        what does the newest mail say
    """
    seen = look_at(place_of(mail, call.workspace), call)
    body = seen.whole_body(call)
    if body.attachments:
        call.notices.append(f"Attached: {', '.join(body.attachments[:20])}.")
    if body.is_cut:
        call.notices.append(f"The mail is longer; its first {len(body.text):,} characters were read.")
    return _mail(seen, body.text, call)


@tool(effect="change", source="message", origins=_MAIL, answer="Marked as read: {subject}.")
def mark_read(mail: MailMeant, call: CallContext) -> Mail:
    """Mark a mail as read.

    Args:
        mail: Which mail.
    Examples:
        mark the newsletter from the garden club as read
        I've seen the mail about the parking permit, mark it read
    """
    seen = look_at(place_of(mail, call.workspace), call)
    place = with_flags(call.workspace, seen.place, "S")
    return _mail(Seen(place, seen.head, seen.received), _snippet(seen, call), call)


@tool(effect="change", source="message", origins=_MAIL, answer="Moved to the trash: {subject}.")
def delete_mail(mail: MailMeant, call: CallContext) -> Mail:
    """Delete a mail: it goes to the trash and can be brought back with `hearth undo`.

    Args:
        mail: Which mail.
    Examples:
        delete the mail about the lottery
        throw away the last email from the shoe shop
    """
    place = place_of(mail, call.workspace)
    if place.folder == TRASH:
        raise ToolError(f"the mail {place.id!r} is in the trash already")
    seen = look_at(place, call)
    text = _snippet(seen, call)
    new = moved(call.workspace, place, TRASH, place.flags or "S")
    if configured(call.settings, "imap"):
        call.notices.append("It was deleted on this device; the mail server keeps its copy.")
    return _mail(Seen(new, seen.head, seen.received), text, call)


def _mail(seen: Seen, text: str, call: CallContext) -> Mail:
    head = seen.head
    received = seen.received.astimezone(call.now.tzinfo)
    call.whence.append(Whence("message", seen.place.id, "mail", head.subject, head.sender, received))
    return Mail(
        seen.place.id,
        EmailAddress(head.sender),
        head.sender_name or head.sender or "unknown sender",
        head.subject or "(no subject)",
        received,
        text,
        seen.place.is_unread,
    )


def _snippet(seen: Seen, call: CallContext) -> str:
    return excerpt(" ".join(seen.body(call).text.split()), wanted(""), N_MAX_SNIPPET_CHARACTERS)


def _named_by(seen: Seen) -> str:
    return f"{seen.head.subject} {seen.head.sender_name} {seen.head.sender}"


def _lacks(words: Wanted, seen: Seen, call: CallContext) -> bool:
    missing = words.missing_in(_named_by(seen))
    return bool(missing and missing.missing_in(seen.body(call).text))


def _nearly(
    query: str, sender: str, by_sender: Sequence[Seen], found: Sequence[Seen], call: CallContext
) -> tuple[Wanted, list[Seen]]:
    """Return the mails that have all words but those that say what kind of mail it is, or that no mail has: "that
    ToolBarn ad". What was given as a sender who never wrote is looked for among subjects, too."""
    asked = words = wanted(query, _GENERIC | _KINDS)
    if not by_sender:
        named = wanted(sender, _GENERIC)
        specific = wanted(sender, _GENERIC | _KINDS)
        called = next((w for w in (named, specific, named.known_in(map(_named_by, found))) if _any_has(w, found)), None)
        if called is None:
            return words, []
        by_sender = [seen for seen in found if not called.missing_in(_named_by(seen))]
        call.notices.append(f"Nobody called {sender.strip()[:100]!r} wrote; these mails are named like it.")
        asked = words or called
        if fitting := [seen for seen in by_sender if not _lacks(asked, seen, call)]:
            return asked, fitting
    if not asked and not sender.strip():
        return asked, []
    for known in (asked, asked.known_in(f"{_named_by(seen)} {seen.body(call).text}" for seen in by_sender)):
        fitting = [seen for seen in by_sender if (known or known is asked) and not _lacks(known, seen, call)]
        if fitting:
            call.notices.append(ignored(query, known, _GENERIC))
            return known, fitting
    return words, []


def _any_has(words: Wanted, found: Sequence[Seen]) -> bool:
    return bool(words) and any(not words.missing_in(_named_by(seen)) for seen in found)


def _from(sender: str, found: Sequence[Seen], call: CallContext) -> list[Seen]:
    """Return the mails that `sender` wrote: a person of the contacts by all their names, else by the sender's name."""
    asked, whole = name_words(sender[:200]), folded(sender[:200].strip())
    best = NO_FIT
    cards: list[Card] = []
    for file in read_cards(call.workspace).values():
        for card in file.cards:
            rank = fit(asked, whole, card)
            if rank < best:
                best, cards = rank, []
            if rank == best < NO_FIT:
                cards.append(card)
    addresses = {card.email.lower() for card in cards if card.email}
    called = [words for card in cards if (words := wanted(card.name))]
    known = [s for s in found if s.head.sender.lower() in addresses or any(not w.missing_in(s.writer) for w in called)]
    if known:
        return known
    words = wanted(sender, _GENERIC)
    return [seen for seen in found if words and not words.missing_in(seen.writer)]


# ── Writing ───────────────────────────────────────────────────────────────────────────────────────────────


def _undo_draft(arguments: Mapping[str, object], result: Plain, call: CallContext) -> None:  # noqa: ARG001 - the seam's
    """Remove the draft from the mail server, too; the journal has removed it here."""
    server = configured(call.settings, "imap")
    if server is not None:
        remove_draft(server, message_id(call.key, owner(call.settings)), call)


@tool(
    effect="change",
    timeout_s=120,
    undo=_undo_draft,
    answer="Draft to {to}, subject “{subject}”:\n{text}[\nAttached: {attachments}]",
    origins={
        "id": FieldOrigin(same_as="to"),
        "to": FieldOrigin(made_of=("to",)),
        "subject": FieldOrigin(made_of=("subject", "text")),
        "text": FieldOrigin(made_of=("text",)),
        "attachments": FieldOrigin(made_of=("attachments",)),
    },
)
def draft_mail(
    to: Annotated[list[EmailAddress], Sink],
    text: str,
    call: CallContext,
    subject: str = "",
    attachments: list[ExistingFile] | None = None,
) -> Draft:
    """Write a mail as a draft. Nothing is sent until send_mail.

    Args:
        to: Whom it goes to.
        text: What to write.
        subject: Its subject; without one, the first words of the text.
        attachments: Files among the owner's documents that go with it.
    Examples:
        email Karin that I will be ten minutes late
        write to ben.ash@mailbox.org: the parcel has arrived
        draft a mail to Tom with the subject "room change" saying the meeting is in room 4
    """
    sender = owner(call.settings)
    body = checked_body(text)
    recipients = checked_recipients(to)
    paths = [FilePath(existing_document(path, call.workspace)) for path in attachments or ()]
    files = tuple(_attached(path, call) for path in dict.fromkeys(paths))
    letter = Letter(sender, recipients, checked_subject(subject, body), signed(body, sender), files)
    return _draft(letter, letter.text, list(dict.fromkeys(paths)), call)


@tool(
    effect="change",
    timeout_s=120,
    undo=_undo_draft,
    answer="Draft to {to}, subject “{subject}”:\n{text}",
    origins={
        "id": FieldOrigin(same_as="to"),
        "to": FieldOrigin("message", ("mail",)),
        "subject": FieldOrigin("message", ("mail",)),
        "text": FieldOrigin(made_of=("text",)),
        "attachments": FieldOrigin(made_of=()),
    },
)
def draft_reply(mail: AnsweredMeant, text: str, call: CallContext) -> Draft:
    """Write a reply to a mail as a draft. Nothing is sent until send_mail.

    Args:
        mail: The mail that is answered.
        text: What the reply says.
    Examples:
        reply to Anna's last mail saying yes, Sunday works
        answer the email about the quote with "we accept the offer"
    """
    sender = owner(call.settings)
    body = checked_body(text)
    seen = look_at(place_of(mail, call.workspace), call)
    head = seen.head
    to = _answers_go_to(head, sender)
    if not any(to):
        raise ToolError(f"the mail {seen.place.id!r} names no sender to reply to; write a new mail with draft_mail")
    if to == list(head.reply_to) and head.sender and {head.sender} != set(to):
        call.notices.append(f"The mail came from {head.sender} and asks for replies to {', '.join(head.reply_to)}.")
    received = seen.received.astimezone(call.now.tzinfo)
    said = signed(body, sender)
    full = f"{said}\n\n{quoted(seen.body(call).text, head, received)}"
    subject = head.subject if head.subject.lower().startswith(("re:", "aw:")) else f"Re: {head.subject}".strip()
    letter = Letter(sender, checked_recipients(to), checked_subject(subject[:200], body), full, answers=head)
    return _draft(letter, said, [], call)


@tool(
    effect="change",
    timeout_s=120,
    undo=_undo_draft,
    answer="Draft to {to}, subject “{subject}”[:\n{text}]",
    origins={
        "id": FieldOrigin(same_as="to"),
        "to": FieldOrigin(made_of=("to",)),
        "subject": FieldOrigin("message", ("mail",)),
        "text": FieldOrigin(made_of=("text",)),
        "attachments": FieldOrigin("message", ("mail",)),
    },
)
def draft_forward(
    mail: ForwardedMeant, to: Annotated[list[EmailAddress], Sink], call: CallContext, text: str = ""
) -> Draft:
    """Pass a mail on to somebody else as a draft, with what was attached. Nothing is sent until send_mail.

    Args:
        mail: The mail that is passed on.
        to: Whom it goes to.
        text: A word to go above it.
    Examples:
        forward the invoice from the electrician to Karin
        pass the mail about the school trip on to leo@lindgren.example
    """
    sender = owner(call.settings)
    recipients = checked_recipients(to)
    note = signed(checked_body(text), sender) if text.strip() else ""
    seen = look_at(place_of(mail, call.workspace), call)
    files = tuple(read_attachments(call.workspace.read(seen.place.path)))
    if files:
        call.notices.append(f"The draft carries along: {names(file.name for file in files)}.")
    received = seen.received.astimezone(call.now.tzinfo)
    full = f"{note}\n\n{forwarded(seen.whole_body(call).text, seen.head, received)}".lstrip()
    subject = checked_subject(f"Fwd: {seen.head.subject}"[:200], note)
    carried = [FilePath(f"{seen.place.id}/{file.name}") for file in files]
    return _draft(Letter(sender, recipients, subject, full, files), note, carried, call)


def _attached(path: FilePath, call: CallContext) -> Attachment:
    n_bytes = call.workspace.stat(path).size_bytes
    if n_bytes > N_MAX_ATTACHED_BYTES:
        raise ToolError(f"{path!r} has {size_text(n_bytes)}; a mail carries at most {size_text(N_MAX_ATTACHED_BYTES)}")
    name = path.rpartition("/")[2]
    return Attachment(name, kind_of(name), call.workspace.read(path))


def _draft(letter: Letter, said: str, paths: list[FilePath], call: CallContext) -> Draft:
    data = written(letter, call.key, call.now)
    place = deliver(call.workspace, DRAFTS, unique_name(call.key, call.now), data, "DS")
    server = configured(call.settings, "imap")
    if server is not None:
        try:
            store_draft(server, data, message_id(call.key, letter.sender), call)
        except (ToolError, EgressError) as error:
            call.notices.append(f"The draft lies on this device only: {error}.")
    return Draft(DraftId(place.id), list(letter.to), letter.subject, said, paths)


# ── Sending ───────────────────────────────────────────────────────────────────────────────────────────────


@tool(effect="send", is_idempotent=False, timeout_s=180, answer="Sent to {to}: {subject}.")
def send_mail(draft: DraftMeant, call: CallContext) -> Sent:
    """Send a draft. What is sent cannot be called back.

    Args:
        draft: Which draft, as draft_mail, draft_reply or draft_forward made it.
    Examples:
        send the draft
        send Tom an email saying the meeting is moved to room 4
    """
    place = place_of(draft, call.workspace, (DRAFTS,))
    sender = owner(call.settings)
    server = configured(call.settings, "smtp")
    if server is None:
        raise ToolError(NO_SMTP)
    seen = look_at(place, call)
    recipients = checked_recipients([*seen.head.to, *seen.head.bcc])
    data = outgoing(call.workspace.read(place.path), sender, call.now)
    send(server, sender.address, recipients, data, call)
    # From here on the mail is out: nothing may fail any more.
    id = _filed(place, data, call)
    _tidy_server(seen, call)
    return Sent(id, list(recipients), seen.head.subject, call.now)


def _filed(place: Place, data: bytes, call: CallContext) -> MailId:
    """Store a sent mail among the sent mails."""
    try:
        new = deliver(call.workspace, SENT, place.unique, data, "S")
        call.workspace.delete(place.path)
    except HearthError as error:
        call.notices.append(f"The mail was sent, but its draft could not be moved to {SENT}: {error}.")
        return place.id
    return new.id


def _tidy_server(seen: Seen, call: CallContext) -> None:
    """Remove the draft's copy from the server after sending."""
    server: Server | None = None
    try:
        server = configured(call.settings, "imap")
        if server is not None and seen.head.message_id:
            remove_draft(server, seen.head.message_id, call)
    except HearthError as error:
        call.notices.append(f"The mail was sent, but its draft may still lie on {server or 'the server'}: {error}.")


TOOLS = (find_mail, read_mail, draft_mail, draft_reply, draft_forward, send_mail, mark_read, delete_mail)
