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
import html
import json
import quopri
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime

from hearth.errors import Unreadable
from hearth.formats.bounded_reading import IN_PROCESS_BYTES, Bounds, read_bounded
from hearth.formats.content_lines import text_codec

# ── Text of HTML ───────────────────────────────────────────────────────────────────────────────────────
# Extract plain text from an HTML mail in linear time, whatever the mail holds.
# Uses an own scanner: the standard library's parser takes quadratic time on tags that never close, and mails come
# from strangers. Covered: blocks and lists as lines; a table's rows as lines of cells apart by ` | `, or as `label:
# value` where a cell says what the next one is; links as `words (address)`; scripts, styles, comments and what the
# mail hides from view are left out. Not covered: layout, pictures (their `alt` text is kept), frames.


N_MAX_CHARACTERS = 400_000
N_MAX_TAG_CHARACTERS = 4_000

_BLOCKS = frozenset(
    ["address", "article", "aside", "blockquote", "center", "dd", "div", "dl", "dt", "fieldset", "figure", "footer"]
)
_BLOCKS |= frozenset(
    ["form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre"]
)
_BLOCKS |= frozenset(["section", "table", "tbody", "tfoot", "thead", "tr", "ul", "body", "html", "br", "caption"])
_ROW_GROUPS = frozenset(["tbody", "tfoot", "thead"])
_UNSEEN = frozenset(["script", "style", "head", "title", "template", "noscript", "object", "svg", "select", "iframe"])
_VOID = frozenset(
    ["br", "hr", "img", "input", "meta", "link", "area", "base", "col", "embed", "source", "track", "wbr"]
)
_NAME = re.compile(r"</?([a-zA-Z][a-zA-Z0-9:-]*)")
_ATTRIBUTE = re.compile(r"(?<![\w-])(href|alt|style|hidden)(?:\s{0,5}=\s{0,5}(\"[^\"]*\"|'[^']*'|[^\s>\"']+))?", re.I)
_HIDING = re.compile(
    r"display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden|font-size\s{0,3}:\s{0,3}0(?![.\d])", re.I
)


_MOST_CELL_CHARACTERS = 160
"""A longer cell holds a text of its own, as where a table only lays a mail out."""
_MOST_LABEL_CHARACTERS = 60
_LEAST_CELLS = 2


@dataclass(slots=True)
class _Row:
    """A row of a table that is being read."""

    start: int
    """Its place among the pieces."""
    cells: list[int] = field(default_factory=list)
    """Where each cell begins."""
    is_heading: list[bool] = field(default_factory=list)
    """Whether a cell is one that says what others are: marked so, or bold from its beginning."""
    is_layout: bool = False
    """Whether it holds a table itself."""


@dataclass(slots=True)
class _Table:
    row: _Row | None = None
    n_rows: int = 0
    is_headed: bool = False
    """Whether its first row says what the columns are."""


def text_of_html(source: str) -> str:
    """Return the plain text of an HTML document; anything beyond 400,000 characters is not read."""
    return _Scanner(source[:N_MAX_CHARACTERS]).text()


class _Scanner:
    def __init__(self, source: str) -> None:
        self._source = source
        self._lowered = source.lower() if len(source.lower()) == len(source) else source
        self._pieces: list[str] = []
        self._tables: list[_Table] = []
        self._link: tuple[str, int] | None = None
        """Address of the open link and its place in `_pieces`; links do not nest."""
        self._unseen = ""
        """Name of the element that is being left out, and the number of open ones of that name in it."""
        self._n_unseen = 0
        self._has_no_more: set[str] = set()
        """End tags that were searched for once without success; they are not searched for again."""

    def text(self) -> str:
        place, source = 0, self._source
        while place < len(source):
            start = source.find("<", place)
            self._say(source[place : start if start >= 0 else len(source)])
            if start < 0:
                break
            place = self._markup(start)
        lines = [" ".join(line.split()) for line in "".join(self._pieces).split("\n")]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()

    def _say(self, text: str) -> None:
        if not self._unseen and text:
            self._pieces.append(re.sub(r"\s+", " ", html.unescape(text)))

    def _markup(self, start: int) -> int:
        """Read the markup that begins at `start`; return the place after it."""
        source = self._source
        if source.startswith("<!--", start):
            return self._after("-->", start + 4)
        if source.startswith(("<!", "<?"), start):
            return self._after(">", start + 2)
        name = _NAME.match(source, start)
        end = source.find(">", start, start + N_MAX_TAG_CHARACTERS) if name else -1
        if name is None or end < 0:
            self._say("<")
            return start + 1
        tag = name[1].lower()
        if source[start + 1] == "/":
            self._close(tag)
        else:
            self._open(tag, source[name.end() : end])
            if tag in ("script", "style") and self._unseen == tag:
                # Their content is no markup: only their own end tag ends them.
                return self._after_unseen(f"</{tag}", end + 1)
        return end + 1

    def _after(self, ending: str, place: int) -> int:
        if ending in self._has_no_more:
            return len(self._source)
        found = self._source.find(ending, place)
        if found < 0:
            self._has_no_more.add(ending)
            return len(self._source)
        return found + len(ending)

    def _after_unseen(self, ending: str, place: int) -> int:
        found = self._lowered.find(ending, place)
        return found if found >= 0 else len(self._source)

    def _open(self, tag: str, rest: str) -> None:
        if self._unseen:
            self._n_unseen += tag == self._unseen
            return
        attributes = {m[1].lower(): html.unescape((m[2] or "").strip("\"'")) for m in _ATTRIBUTE.finditer(rest)}
        is_hidden = "hidden" in attributes or _HIDING.search(attributes.get("style", "")) is not None
        if (tag in _UNSEEN or is_hidden) and tag not in _VOID:
            self._unseen, self._n_unseen = tag, 1
            return
        if tag in ("table", "tr", "td", "th", "b", "strong"):
            self._open_in_table(tag)
        if tag in ("td", "th"):
            self._pieces.append(" ")
        if tag in _BLOCKS:
            self._pieces.append(
                "\n- "
                if tag == "li"
                else "\n\n"
                if tag in ("p", "table", "h1", "h2", "h3")
                else ""
                if tag in _ROW_GROUPS
                else "\n"
            )
        elif tag == "img":
            self._say(attributes.get("alt", ""))
        elif tag == "a":
            self._link = (attributes.get("href", "").strip(), len(self._pieces))

    def _close(self, tag: str) -> None:
        if self._unseen:
            self._n_unseen -= tag == self._unseen
            if not self._n_unseen:
                self._unseen = ""
        elif tag in _BLOCKS:
            if tag in ("tr", "table") and self._tables:
                self._end_row(self._tables[-1] if tag == "tr" else self._tables.pop())
            self._pieces.append("" if tag in _ROW_GROUPS or tag == "tr" else "\n")
        elif tag == "a" and self._link:
            (address, place), self._link = self._link, None
            said = "".join(self._pieces[place:]).strip()
            address = address.removeprefix("mailto:")
            if address and said and not address.startswith(("#", "javascript:", "data:")) and said not in address:
                self._pieces.append(f" ({address})")

    # ── Tables ────────────────────────────────────────────────────────────────────────────────────────────

    def _open_in_table(self, tag: str) -> None:
        """Note where a table, a row, a cell or its heading begins."""
        if tag == "table":
            if self._tables and self._tables[-1].row is not None:
                self._tables[-1].row.is_layout = True
            self._tables.append(_Table())
            return
        if not self._tables:
            return
        table = self._tables[-1]
        if tag == "tr":
            self._end_row(table)
        elif tag in ("td", "th"):
            table.row = table.row or _Row(len(self._pieces))
            table.row.cells.append(len(self._pieces))
            table.row.is_heading.append(tag == "th")
        elif table.row is not None and not "".join(self._pieces[table.row.cells[-1] :]).strip():
            table.row.is_heading[-1] = True

    def _end_row(self, table: _Table) -> None:
        """Write the row that is being read as a line of its cells, if it is one of short cells."""
        row, table.row = table.row, None
        if row is None or row.is_layout:
            return
        ends = [*row.cells[1:], len(self._pieces)]
        cells = [" ".join("".join(self._pieces[start:end]).split()) for start, end in zip(row.cells, ends, strict=True)]
        told = _row_text(cells, row.is_heading, table)
        table.n_rows += 1
        if told:
            self._pieces[row.start :] = [told]
            self._link = None


def _row_text(cells: Sequence[str], is_heading: Sequence[bool], table: _Table) -> str:
    """Write a row: its cells apart by ` | `, or each label with its value; empty where it only lays a text out."""
    if sum(map(bool, cells)) < _LEAST_CELLS or max(map(len, cells)) > _MOST_CELL_CHARACTERS:
        return ""
    if all(is_heading) and not table.n_rows:
        table.is_headed = True
    labels, values = cells[0::2], cells[1::2]
    is_alternating = len(cells) % 2 == 0 and all(is_heading[0::2]) and not any(is_heading[1::2])
    if table.is_headed or not (is_alternating or len(cells) == _LEAST_CELLS):
        return " | ".join(cells)
    if max(map(len, labels)) > _MOST_LABEL_CHARACTERS:
        return ""
    return "\n".join(f"{label.rstrip(':')}: {value}" for label, value in zip(labels, values, strict=True) if value)


def looks_like_html(text: str) -> bool:
    """Say whether a text that claims to be plain is actually HTML."""
    return re.match(r"\s*(?:<!doctype html|<html|<body)\b", text[:200], re.I) is not None


# ── Mails ──────────────────────────────────────────────────────────────────────────────────────────────


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
        raw = b"".join(map(_written, _inner(part)))
        # Against the standard, some servers encode a mail that they attach.
        return _from_base64(raw) if _encoding(part) == "base64" else raw
    return b""


def _encoding(part: Message) -> str:
    return str(part.get("content-transfer-encoding", "")).strip().lower()


def _from_base64(raw: bytes) -> bytes:
    try:
        return base64.b64decode(b"".join(raw.split()), validate=True)
    except binascii.Error:
        return raw


def _written(message: Message) -> bytes:
    """Write an attached mail as it was; as UTF-8, where the library cannot write what it read."""
    try:
        return message.as_bytes()
    except (ValueError, LookupError, TypeError, AttributeError):
        try:
            return message.as_string().encode(errors="surrogateescape")
        except (ValueError, LookupError, TypeError, AttributeError):
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


# ── Within bounds ──────────────────────────────────────────────────────────────────────────────────────
# Reads the text and the attachments of a mail: of a small one here, of any other in the process for strangers' bytes.
# What small is, `bounded_reading` says; the worst that such a mail can do to the reader was measured (decision 16).
# Heads are read here, as no more than 64,000 bytes are looked at. What comes from the other process is cleaned once
# more: it had a stranger's bytes in its hands.


_READERS = "hearth.tools.mail.mime"
_FOR_TEXT = Bounds(cpu_s=5, wait_s=20, n_most_bytes=4_000_000)


def read_body(raw: bytes) -> Body:
    """Return the text of a mail. Never fails: a fault is in the answer."""
    raw = raw[:N_MAX_PARSED_BYTES]
    if len(raw) <= IN_PROCESS_BYTES:
        return body_of(raw)
    try:
        said = json.loads(read_bounded(f"{_READERS}:body_piece", raw, _FOR_TEXT))
    except (Unreadable, ValueError) as error:
        return Body("", (), is_cut=False, fault=str(error))
    match said:
        case {"text": str(text), "attachments": [*names], "is_cut": bool(is_cut)}:
            shown = tuple(attachment_name(str(name)) for name in names[:N_MAX_PARTS])
            return Body(clean_text(text)[:N_MAX_TEXT_CHARACTERS], shown, is_cut)
    return Body("", (), is_cut=False, fault="damaged: what was read of it is no text")


def read_attachments(raw: bytes) -> list[Attachment]:
    """Return the files a mail carries, in order. Raises: Unreadable: It takes too much to take it apart."""
    if len(raw) <= IN_PROCESS_BYTES:
        return attachments_of(raw)
    bounds = Bounds(cpu_s=25, wait_s=30, n_most_bytes=2 * len(raw) + 1_000_000)
    head, _, data = read_bounded(f"{_READERS}:attachment_pieces", raw, bounds).partition(b"\n")
    try:
        rows = json.loads(head)
    except ValueError:
        rows = [None]
    found: list[Attachment] = []
    start = 0
    for row in rows:
        match row:
            case [str(name), str(kind), int(n_bytes)] if n_bytes >= 0:
                found.append(Attachment(attachment_name(name), clean_line(kind), data[start : start + n_bytes]))
                start += n_bytes
            case _:
                raise Unreadable("damaged: what was read of it are no attachments")
    return found
