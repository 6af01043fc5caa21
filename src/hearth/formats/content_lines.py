"""Parse iCalendar and vCard files as trees of lines: what is not changed is written back byte for byte.

Both formats are made of content lines (RFC 5545 section 3.1, RFC 6350 section 3.2): `name;parameters:value`, folded at
75 octets, between `BEGIN:` and `END:`. Every line keeps the bytes it was read from; only changed lines are written
anew, so odd folding, encodings and unknown properties stay.
Not covered: what a property means; see `tools.pim.ical` for times and `tools.pim.contacts` for cards.
"""

from __future__ import annotations

import codecs
import functools
import quopri
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from hearth.errors import NotFound, ToolError
from hearth.protocols import Workspace

# ── Charsets ──────────────────────────────────────────────────────────────────────────────────────────────
# Decode strangers' bytes with a fixed list of text encodings.
#
# Python's codecs also include ones that are no encodings of text (`idna`, `unicode_escape`) or take time quadratic in
# their input (`punycode`); a mail that names one would otherwise have it run on megabytes. Covered: the encodings
# that mails and cards are written in. Not covered: UTF-7, EBCDIC; such text is read as the fallback of whoever asks.

_CODECS = frozenset(
    "ascii utf-8 utf-8-sig utf-16 utf-16-le utf-16-be utf-32 utf-32-le utf-32-be koi8-r koi8-u mac-roman cp437 cp850 "  # noqa: SIM905
    "cp852 cp866 cp874 cp932 cp949 cp950 shift-jis shift-jisx0213 shift-jis-2004 euc-jp euc-jis-2004 iso2022-jp "
    "iso2022-jp-1 iso2022-jp-2 iso2022-kr euc-kr johab gb2312 gbk gb18030 hz big5 big5hkscs tis-620".split()
    + [f"iso8859-{part}" for part in range(1, 17)]
    + [f"cp125{page}" for page in range(9)]
)


@functools.lru_cache(maxsize=256)
def _codec(charset: str) -> str:
    try:
        name = codecs.lookup(charset).name
    except (LookupError, ValueError, UnicodeError):
        return ""
    return name if name.replace("_", "-") in _CODECS else ""


def text_codec(charset: str) -> str:
    """Return Python's name of a text encoding, however it is spelled; empty for one that is not on the list.

    >>> text_codec("Windows-1252"), text_codec("punycode")
    ('cp1252', '')
    """
    return _codec(charset) if 0 < len(charset) <= 40 and charset.isascii() else ""


# ── Content lines ─────────────────────────────────────────────────────────────────────────────────────────

MAX_FILE_BYTES = 32_000_000
MAX_DEPTH = 16

_LOGICAL = re.compile(rb"[^\r\n]*(?:\r?\n[ \t][^\r\n]*)*(?:\r\n|\n|\r|\Z)")
_MARK = b"\xef\xbb\xbf"  # byte order mark
_FOLD = re.compile(rb"\r?\n[ \t]")
_LINE = re.compile(
    r'(?:(?P<group>[A-Za-z0-9-]+)\.)?(?P<name>[A-Za-z0-9-]+)(?P<params>(?:;[^:"]*(?:"[^"]*"[^:"]*)*)?):(?P<value>.*)\Z',
    re.DOTALL,
)
_PARAM = re.compile(r';([A-Za-z0-9-]+)(?:=((?:"[^"]*"|[^;"]*)*))?')
_PARAM_VALUE = re.compile(r'"[^"]*"|[^,"]+')


@dataclass(frozen=True, slots=True)
class Line:
    """One content line."""

    raw: bytes
    """The bytes in the file, folds and line end included."""
    name: str = ""
    """Name in upper case; empty for a line that is no property (blank, damaged), which is kept and never read."""
    params: str = ""
    """Everything between name and colon, as written."""
    value: str = ""
    """Value, unfolded but not unescaped. Bytes that are not UTF-8 are lone surrogates: see `shown`."""
    group: str = ""
    """Group prefix of a vCard name (`item1.`), without the dot."""

    def parameters(self, name: str) -> tuple[str, ...]:
        """Return a parameter's values, unquoted; a bare word (`TEL;HOME`, vCard 2.1) is a TYPE (or ENCODING)."""
        found: list[str] = []
        for match in _PARAM.finditer(self.params):
            key, values = match[1].upper(), match[2]
            if values is None:
                key, values = ("ENCODING" if key in ("QUOTED-PRINTABLE", "BASE64") else "TYPE"), match[1]
            if key == name:
                found += [_circumflex(v.strip('"')) for v in _PARAM_VALUE.findall(values)]
        return tuple(found)

    def parameter(self, name: str) -> str:
        return next(iter(self.parameters(name)), "")

    def text(self) -> str:
        """Return the value as text: decoded, unescaped."""
        return unescape(self.decoded())

    def decoded(self) -> str:
        """Return the value after quoted-printable (vCard 2.1) and foreign encodings, still escaped."""
        value = self.value
        if self.params and "QUOTED-PRINTABLE" in self.params.upper():
            octets = quopri.decodestring(value.encode("utf-8", "surrogateescape"))
            value = octets.decode("utf-8", "surrogateescape")
        return shown(value, self.parameter("CHARSET") if self.params else "")


@dataclass(slots=True)
class Component:
    """The items between `BEGIN:NAME` and `END:NAME`, in order. The document itself has no name."""

    name: str = ""
    items: list[Line | Component] = field(default_factory=list)
    begin: bytes = b""
    end: bytes = b""

    def lines(self, name: str = "") -> Iterator[Line]:
        """Return this component's own properties, all or those called `name`."""
        return (item for item in self.items if isinstance(item, Line) and (item.name == name or not name))

    def line(self, name: str) -> Line | None:
        return next(self.lines(name), None)

    def text(self, name: str) -> str:
        """Return the text of the first property called `name`; empty when there is none."""
        line = self.line(name)
        return line.text() if line else ""

    def components(self, name: str = "") -> list[Component]:
        return [item for item in self.items if isinstance(item, Component) and (item.name == name or not name)]

    def put(self, line: Line) -> None:
        """Replace the first property of that name where it stands, or add it after this component's last property."""
        for index, item in enumerate(self.items):
            if isinstance(item, Line) and item.name == line.name:
                self.items[index] = line
                return
        self.add(line)

    def add(self, line: Line) -> None:
        """Add a property after this component's last one."""
        last = max((i for i, item in enumerate(self.items) if isinstance(item, Line)), default=-1)
        self.items.insert(last + 1, line)

    def remove(self, *names: str) -> None:
        """Remove every property called one of `names`."""
        self.items = [item for item in self.items if not (isinstance(item, Line) and item.name in names)]

    def render(self) -> bytes:
        return self.begin + b"".join(i.raw if isinstance(i, Line) else i.render() for i in self.items) + self.end


def parse(data: bytes) -> Component:
    """Parse a file; `parse(data).render() == data`.
    Returns: A component without a name that holds the file's components and whatever stands between them.
    Raises: ValueError: Components do not nest, there is none, or the file is too large; with the line."""
    if len(data) > MAX_FILE_BYTES:
        raise ValueError(f"{len(data)} bytes; expected at most {MAX_FILE_BYTES}")
    stack = [Component()]
    n_lines = 1
    for raw, is_joined in _logical_lines(data):
        line = _line(raw, is_joined)
        if line.name == "BEGIN":
            if len(stack) > MAX_DEPTH:
                raise ValueError(f"line {n_lines}: components are nested more than {MAX_DEPTH} deep")
            stack.append(Component(line.value.strip().upper(), begin=raw))
        elif line.name == "END":
            name = line.value.strip().upper()
            if len(stack) == 1 or stack[-1].name != name:
                expected = f"expected END:{stack[-1].name}" if len(stack) > 1 else "nothing was begun"
                raise ValueError(f"line {n_lines}: END:{name[:40]}, but {expected}")
            done = stack.pop()
            done.end = raw
            stack[-1].items.append(done)
        else:
            stack[-1].items.append(line)
        n_lines += raw.count(b"\n")
    if len(stack) > 1:
        raise ValueError(f"BEGIN:{stack[-1].name[:40]} has no END; the file is cut off")
    if not stack[0].components():
        raise ValueError("no BEGIN line; expected an iCalendar or vCard file")
    return stack[0]


def _logical_lines(data: bytes) -> Iterator[tuple[bytes, bool]]:
    """Yield each content line with its folds, and whether it has any."""
    if b"QUOTED-PRINTABLE" not in data.upper() and not data.startswith(_MARK):
        if b"\n " not in data and b"\n\t" not in data:
            for raw in data.splitlines(keepends=True):
                yield raw, False
            return
        for match in _LOGICAL.finditer(data):
            raw = match[0]
            if raw:
                yield raw, b"\n" in raw[:-1]
        return
    place = 0
    if data.startswith(_MARK):
        yield _MARK, False
        place = len(_MARK)
    while place < len(data):
        end = _line_end(data, place)
        is_quoted = b"QUOTED-PRINTABLE" in data[place:end].upper()
        # vCard 2.1 folds quoted-printable text by a "=" at the end of the line, without a space on the next.
        while is_quoted and end < len(data) and data[max(place, end - 3) : end].rstrip(b"\r\n").endswith(b"="):
            end = _line_end(data, end)
        raw = data[place:end]
        yield raw, b"\n" in raw[:-1]
        place = end


def _line_end(data: bytes, place: int) -> int:
    match = _LOGICAL.match(data, place)
    return match.end() if match else len(data)


def _line(raw: bytes, is_joined: bool) -> Line:
    body = (_FOLD.sub(b"", raw) if is_joined else raw).rstrip(b"\r\n")
    match = _LINE.match(body.decode("utf-8", "surrogateescape"))
    if match is None:
        return Line(raw)
    group, name, params, value = match.groups()
    return Line(raw, name.upper(), params, value, group or "")


def shown(text: str, charset: str = "") -> str:
    """Return `text` fit to show and store: bytes that were not UTF-8 are read as `charset`, else Windows-1252."""
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        octets = text.encode("utf-8", "surrogateescape")
    for name in (text_codec(charset), "cp1252"):
        try:
            if name:
                return octets.decode(name)
        except UnicodeDecodeError:
            continue
    return octets.decode("latin-1")


# ── Writing ───────────────────────────────────────────────────────────────────────────────────────────────

_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def escape(text: str) -> str:
    """Escape text as a value (RFC 5545 section 3.3.11, RFC 6350 section 3.4)."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,").replace("\n", "\\n")


def unescape(value: str) -> str:
    if "\\" not in value:
        return value
    return _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], value)


def split_value(value: str, separator: str) -> list[str]:
    """Return the parts of a structured value (`;`) or a list (`,`), each unescaped."""
    parts: list[str] = []
    start = place = 0
    while place < len(value):
        if value[place] == separator:
            parts.append(unescape(value[start:place]))
            start = place + 1
        place += 2 if value[place] == "\\" else 1
    return [*parts, unescape(value[start:])]


def _circumflex(value: str) -> str:
    """Decode a parameter value (RFC 6868)."""
    return re.sub(r"\^[n'^]", lambda m: {"^n": "\n", "^'": '"', "^^": "^"}[m[0]], value) if "^" in value else value


Parameters = Mapping[str, str | tuple[str, ...]]


def new_line(name: str, value: str, params: Parameters = MappingProxyType({}), group: str = "") -> Line:
    """Make a new line, folded; `value` is escaped already where its type needs that.

    >>> new_line("DTSTART", "20261120T180000", {"TZID": "Europe/Berlin"}).raw
    b'DTSTART;TZID=Europe/Berlin:20261120T180000\\r\\n'
    """
    written = ""
    for key, values in params.items():
        listed = (values,) if isinstance(values, str) else values
        written += f";{key}={','.join(map(_param_value, listed))}"
    octets = f"{group + '.' if group else ''}{name}{written}:{value}".encode("utf-8", "surrogateescape")
    folded: list[bytes] = []
    limit = 75
    while len(octets) > limit:
        cut = limit
        while cut > limit - 4 and octets[cut] & 0xC0 == 0x80:  # not inside a character
            cut -= 1
        folded.append(octets[:cut])
        octets, limit = octets[cut:], 74
    folded.append(octets)
    return Line(b"\r\n ".join(folded) + b"\r\n", name, written, value, group)


def _param_value(value: str) -> str:
    safe = value.replace("^", "^^").replace("\n", "^n").replace('"', "^'")
    return f'"{safe}"' if re.search(r"[:;,]", safe) else safe


def new_component(name: str, *items: Line | Component) -> Component:
    return Component(name, list(items), f"BEGIN:{name}\r\n".encode(), f"END:{name}\r\n".encode())


def checked_text(text: str, what: str, n_max: int) -> str:
    """Return `text` stripped, if it can be written down.

    Raises:
        ToolError: Longer than `n_max` characters, or with characters that are no text.
    """
    text = text.strip()
    if len(text) > n_max:
        raise ToolError(f"the {what} has {len(text)} characters; expected at most {n_max}; shorten it")
    wrong = next((c for c in text if (c < " " and c not in "\n\r\t") or c == "\x7f" or "\ud800" <= c <= "\udfff"), "")
    if wrong:
        raise ToolError(f"the {what} holds the character {wrong!r}, which is not text; leave it out")
    return text


def checked_email(address: str) -> str:
    """Check and return an e-mail address. Raises: ToolError: It is none."""
    address = checked_text(address, "e-mail address", 254).removeprefix("mailto:")
    if not _EMAIL.fullmatch(address):
        raise ToolError(f"{address!r} is not an e-mail address; expected one such as 'anna@example.org'")
    return address


_EMAIL = re.compile(r"[^@\s<>,;:\"()]+@[^@\s<>,;:\"()]+")


# ── Folders ───────────────────────────────────────────────────────────────────────────────────────────────


def read_folder(workspace: Workspace, folder: str, pattern: str) -> Iterator[tuple[str, bytes, str]]:
    """Yield path and content of every file below `folder`; for an unreadable file, no content and the reason.

    A file that vanishes meanwhile is left out. One bad file among many never keeps the others from being read.
    """
    for path in workspace.list(folder, pattern):
        try:
            yield path, workspace.read(path), ""
        except NotFound:
            continue
        except ToolError as error:
            yield path, b"", str(error)


def unreadable_notice(faults: Mapping[str, str]) -> str:
    """Tell the owner about files (path → fault) that were left out."""
    named = "; ".join(f"{path} ({fault})" for path, fault in list(faults.items())[:5])
    more = f" and {len(faults) - 5} more" if len(faults) > 5 else ""
    return f"Left out because it could not be read: {named}{more}."
