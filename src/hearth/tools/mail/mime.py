"""Parse mails robustly: wrong charsets, broken MIME, HTML alone, no date.

Reading never fails: what cannot be decoded is replaced by U+FFFD, what is malformed is read as far as possible. Work is
bounded by the sizes below. Text and attachments are asked for through `bounded_mime`, which has those of a large mail
read in another process. Not covered: encrypted and signed mails (their text is shown unchanged), winmail.dat.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import email
import email.policy
import json
import quopri
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime

from hearth.formats.untrusted.charsets import text_codec
from hearth.tools.mail.html_text import looks_like_html, text_of_html

N_MAX_HEAD_BYTES = 64_000
"""What lies behind is not read as a header; with every stamp of a long way, real heads have some 20,000 bytes."""
N_MAX_PARSED_BYTES = 2_000_000
"""Text is searched for in the first two megabytes; attachments lie behind it."""
N_MAX_TEXT_CHARACTERS = 20_000
N_MAX_LINE_CHARACTERS = 500
N_MAX_PARTS = 200
N_MAX_ADDRESSES = 200

# ── Heads ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Head:
    """A mail's headers, decoded."""

    sender: str
    """The address alone; empty when there is none."""
    sender_name: str
    reply_to: tuple[str, ...]
    to: tuple[str, ...]
    """Addresses of To and Cc."""
    bcc: tuple[str, ...]
    subject: str
    date: dt.datetime | None
    """Date with time zone; from the Date header, else from the topmost Received."""
    message_id: str
    references: tuple[str, ...]


def read_head(raw: bytes) -> Head:
    """Parse the head of a mail. Never fails."""
    fields = _fields(raw)
    name, sender = next(iter(_addresses(fields.get("from", []))), ("", ""))
    if not sender:
        name, sender = next(iter(_addresses(fields.get("sender", []))), (name, ""))
    references = [*_ids(fields.get("references", [])), *_ids(fields.get("in-reply-to", []))]
    return Head(
        sender=sender,
        sender_name=name,
        reply_to=tuple(address for _, address in _addresses(fields.get("reply-to", [])) if address),
        to=tuple(a for _, a in _addresses([*fields.get("to", []), *fields.get("cc", [])]) if a),
        bcc=tuple(a for _, a in _addresses(fields.get("bcc", [])) if a),
        subject=decoded_words(" ".join(fields.get("subject", [])[:1]))[:N_MAX_LINE_CHARACTERS],
        date=_date(fields),
        message_id=next(iter(_ids(fields.get("message-id", []))), ""),
        references=tuple(dict.fromkeys(references))[-20:],
    )


def head_bytes(raw: bytes) -> bytes:
    """Return the headers of a mail, without the blank line that ends them."""
    match = re.search(rb"\r?\n\r?\n", raw[:N_MAX_HEAD_BYTES])
    return raw[: match.start()] if match else raw[:N_MAX_HEAD_BYTES]


def _fields(raw: bytes) -> dict[str, list[str]]:
    """Return the values of each header in order by lower-case name, unfolded, 8-bit bytes as UTF-8 or else
    Windows-1252."""
    head = re.sub(rb"\r?\n[ \t]+", b" ", head_bytes(raw))
    fields: dict[str, list[str]] = {}
    for line in re.split(rb"\r?\n|\r", head):
        name, colon, value = line.partition(b":")
        if colon and name and b" " not in name.strip():
            fields.setdefault(name.strip().decode("ascii", "replace").lower(), []).append(_unicode(value.strip()))
    return fields


def _unicode(data: bytes, charset: str = "") -> str:
    """Decode text in `charset` where that is on the list of encodings, else UTF-8, else Windows-1252; never fails."""
    for encoding in (text_codec(charset), "utf-8"):
        try:
            if encoding:
                return data.decode(encoding)
        except (UnicodeError, ValueError):
            continue
    return data.decode("cp1252", "replace")


_WORD = re.compile(r"=\?([^?\s]{1,60})\?([BbQq])\?([^?\s]*)\?=")


def decoded_words(value: str) -> str:
    """Decode the encoded words (RFC 2047) of a header, on one line; a broken one stays unchanged."""
    joined = re.sub(r"(\?=)\s+(?==\?)", r"\1", value)

    def decode(match: re.Match[str]) -> str:
        charset = match[1].partition("*")[0]
        try:
            if match[2] in "Bb":
                data = base64.b64decode(match[3] + "=" * (-len(match[3]) % 4))
            else:
                data = quopri.decodestring(match[3].replace("_", " ").encode("utf-8", "replace"), header=False)
        except (binascii.Error, ValueError):
            return match[0]
        return _unicode(data, charset)

    return clean_line(_WORD.sub(decode, joined))


def clean_line(text: str) -> str:
    """Return one line without control characters."""
    return " ".join("".join(c if c >= " " and c != "\x7f" else " " for c in _printable(text)).split())


def _printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def _addresses(values: list[str]) -> Iterator[tuple[str, str]]:
    """Yield name and address of each mailbox; parsed before encoded words are decoded, so that a name cannot pose as
    one."""
    try:
        found = getaddresses([value[:20_000] for value in values[:10]])
    except (RecursionError, ValueError, IndexError):  # a thousand nested comments
        return
    for name, address in found[:N_MAX_ADDRESSES]:
        plain = address.strip().strip("<>")
        is_address = re.fullmatch(r"[^\s@<>()\"]+@[^\s@<>()\"]+", plain) is not None
        if is_address or name:
            said = decoded_words(name) or ("" if is_address else clean_line(plain))
            yield said[:N_MAX_LINE_CHARACTERS], plain if is_address else ""


def _ids(values: list[str]) -> list[str]:
    return re.findall(r"<[!-;=?-~]{1,250}>", " ".join(values)[:20_000])


def _date(fields: dict[str, list[str]]) -> dt.datetime | None:
    received = [value.rpartition(";")[2] for value in fields.get("received", [])[:1]]
    for value in (*fields.get("date", [])[:1], *received):
        try:
            date = parsedate_to_datetime(value[:200])
            date = date if date.tzinfo else date.replace(tzinfo=dt.UTC)
            if 1970 <= date.year < 9000:
                return date.astimezone(dt.UTC)
        except (ValueError, TypeError, OverflowError, IndexError):
            continue
    return None


# ── Texts ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Body:
    text: str
    attachments: tuple[str, ...]
    """Names of the attached files seen."""
    is_cut: bool
    """True if the mail has more text than `text`."""
    fault: str = ""
    """Why the text could not be read; it is empty then."""


@dataclass(frozen=True, slots=True)
class Attachment:
    name: str
    kind: str
    """MIME type."""
    data: bytes


def body_piece(raw: bytes, _options: Mapping[str, str]) -> Iterator[bytes]:
    """Yield the body of a mail as JSON, in the process for strangers' bytes."""
    yield json.dumps(asdict(body_of(raw))).encode()


def body_of(raw: bytes) -> Body:
    """Return the text of a mail: its plain part, else its HTML as text. Never fails."""
    plain: list[str] = []
    markup: list[str] = []
    attached: list[str] = []
    for part in _parts(_message(raw[:N_MAX_PARSED_BYTES])):
        name = _file_name(part)
        if name or part.get_content_maintype() != "text":
            if part.get_content_maintype() not in ("text", "multipart") or name:
                attached.append(name or part.get_content_type())
        elif part.get_content_subtype() == "html":
            markup.append(_part_text(part))
        elif part.get_content_subtype() in ("plain", "enriched", "richtext"):
            plain.append(_part_text(part))
    text = "\n\n".join(piece for piece in plain if piece.strip())
    if looks_like_html(text):
        text = text_of_html(text)
    elif not text.strip():
        text = "\n\n".join(text_of_html(piece) for piece in markup)
    text = clean_text(text)
    is_cut = len(text) > N_MAX_TEXT_CHARACTERS
    return Body(text[:N_MAX_TEXT_CHARACTERS], tuple(attached), is_cut)


def attachment_pieces(raw: bytes, _options: Mapping[str, str]) -> Iterator[bytes]:
    """Yield what a mail carries, in the process for strangers' bytes: a line of names, kinds and sizes, then each."""
    found = attachments_of(raw)
    yield json.dumps([(one.name, one.kind, len(one.data)) for one in found]).encode() + b"\n"
    for one in found:
        yield one.data


def attachments_of(raw: bytes) -> list[Attachment]:
    """Return the files a mail carries, in order."""
    found = []
    for part in _parts(_message(raw)):
        name = _file_name(part)
        kind = part.get_content_type()
        if name or part.get_content_maintype() not in ("text", "multipart"):
            ending = "eml" if kind == "message/rfc822" else part.get_content_subtype()
            found.append(Attachment(name or f"part.{ending}", kind, _payload(part)))
    return found


_LONG_HEADER = re.compile(rb"(?im)^(content-[\w-]{1,40}:(?:[^\r\n]|\r?\n[ \t]){0,4000}+)(?:[^\r\n]|\r?\n[ \t])+")
"""A header of a part with more than any sender writes: its parameters are parsed in time quadratic in their number."""


def _message(raw: bytes) -> Message:
    raw = _LONG_HEADER.sub(rb"\1", raw)
    try:
        return email.message_from_bytes(raw, policy=email.policy.compat32)
    except (RecursionError, ValueError, LookupError, AssertionError):
        # Hundreds of nested parts: an attack, or a loop of forwards. The part is shown undecoded.
        message = Message()
        message.set_payload(raw[len(head_bytes(raw)) :].decode("utf-8", "replace"))
        return message


def _parts(message: Message) -> Iterator[Message]:
    """Yield the parts that are no containers, in order; a mail attached to the mail counts as one part."""
    waiting: list[Message] = [message]
    n_seen = 0
    while waiting and n_seen < N_MAX_PARTS:
        part = waiting.pop()
        n_seen += 1
        if part.get_content_maintype() == "multipart" and part.is_multipart():
            waiting.extend(_inner(part)[::-1])
        else:
            yield part


def _inner(part: Message) -> list[Message]:
    """Return the parts of a container; of any other part the library would decode the text by any codec it names."""
    payload = part.get_payload() if part.is_multipart() else []
    return [inner for inner in payload if isinstance(inner, Message)]


def _file_name(part: Message) -> str:
    try:
        disposition = str(part.get_content_disposition() or "")
        name = _parameter(part, "filename", "content-disposition") or _parameter(part, "name", "content-type")
    except (LookupError, ValueError, UnicodeError, TypeError, AttributeError):
        return "attachment" if "attachment" in str(part.get("content-disposition", "")).lower() else ""
    if name:
        return attachment_name(decoded_words(name))
    return "attachment" if disposition == "attachment" else ""


def attachment_name(said: str) -> str:
    """Return a name that a stranger gave a file: never a path, never with control characters."""
    return clean_line(said).replace("\\", "/").rpartition("/")[2][:120] or "attachment"


def _parameter(part: Message, name: str, header: str) -> str:
    """Return a parameter of a header, decoded; the library's own decoding would use any codec that a sender names."""
    value = part.get_param(name, "", header)
    if isinstance(value, tuple):
        charset, _, text = value
        return _unicode(text.encode("latin-1", "replace"), charset or "")
    return str(value)


def _payload(part: Message) -> bytes:
    try:
        data = part.get_payload(decode=True)
    except (ValueError, LookupError, binascii.Error, AssertionError, AttributeError):
        data = None
    if isinstance(data, bytes):
        return data
    if part.is_multipart():  # message/rfc822
        return b"".join(map(bytes, _inner(part)))
    return b""


def _part_text(part: Message) -> str:
    try:
        charset = _parameter(part, "charset", "content-type").lower()
    except (LookupError, ValueError, UnicodeError, TypeError, AttributeError):
        charset = ""
    charset = "cp1252" if charset in ("us-ascii", "ascii", "iso-8859-1", "latin-1", "latin1") else charset
    data = _payload(part)
    if charset == "cp1252":
        charset = ""  # senders name Latin-1 for UTF-8 and Windows-1252 alike
    return _unicode(data, charset)


def clean_text(text: str) -> str:
    """Clean text: `\n` line ends, no control characters, no trailing blanks, at most two blank lines in a row."""
    if len(text) > 4 * N_MAX_TEXT_CHARACTERS:
        text = text[: 4 * N_MAX_TEXT_CHARACTERS]
    text = _printable(text).replace("\r\n", "\n").replace("\r", "\n")
    text = "".join(c for c in text if c >= " " or c in "\n\t").replace("\x7f", "").replace("\ufeff", "")
    return re.sub(r"\n{4,}", "\n\n\n", re.sub(r"(?<![ \t])[ \t]+\n", "\n", text)).strip()
