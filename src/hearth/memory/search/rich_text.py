"""Reads the text of RTF files, in the process for strangers' bytes alone, in one pass from the first byte to the last.

Covered: paragraphs and tables (a row is a line of cells apart by ` | `), characters by the code page of the file or of
their font and by their numbers in Unicode, footnotes, lists. What the writer hid or struck out as a revision is left
out, as are pictures, styles, headers, footers and whatever a reader may skip. Not covered: shapes with text in them,
embedded objects, tables within tables (their cells are words of the outer one's), symbols of picture fonts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from hearth.errors import Unreadable

MAX_TEXT_CHARACTERS = 400_000
MAX_DEPTH = 1_000
"""Most groups within each other; what writers make has some twenty."""
_TOKEN = re.compile(
    rb"\\'(?P<code>[0-9A-Fa-f]{2})|\\(?P<word>[A-Za-z]{1,32})(?P<number>-?[0-9]{1,9})? ?|\\(?P<symbol>[^A-Za-z])"
    rb"|(?P<group>[{}])|(?P<text>[^\\{}]+)|\\",
    re.DOTALL,
)
_SKIPPED = frozenset(
    b"fonttbl colortbl stylesheet info pict object listtable listoverridetable rsidtbl filetbl revtbl generator header "
    b"headerl headerr headerf footer footerl footerr footerf themedata colorschememapping datastore latentstyles "
    b"xmlnstbl fldinst bkmkstart bkmkend private nonshppict tc tcn xe rxe txe".split()
)
"""What begins a group that is no text of the document's."""
_SAID = dict.fromkeys((b"par", b"sect", b"page", b"line", b"column"), "\n")
_SAID |= {b"tab": "\t", b"emdash": "—", b"endash": "–", b"lquote": "‘", b"rquote": "’", b"ldblquote": "“"}
_SAID |= {b"rdblquote": "”", b"bullet": "•"}
_SAID |= dict.fromkeys((b"emspace", b"enspace", b"qmspace", b"nestcell", b"nestrow"), " ")
_SYMBOLS = {b"\\": "\\", b"{": "{", b"}": "}", b"~": " ", b"_": "-", b"\n": "\n", b"\r": "\n", b"\t": "\t"}
_PAGES = {b"ansi": "cp1252", b"mac": "mac_roman", b"pc": "cp437", b"pca": "cp850"}
_CHARSETS = {0: "", 1: "", 77: "mac_roman", 128: "cp932", 129: "cp949", 130: "johab", 134: "gbk", 136: "cp950"}
_CHARSETS |= {161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257"}
_CHARSETS |= {204: "cp1251", 222: "cp874", 238: "cp1250"}
"""Code pages by the numbers that the table of fonts gives; of the first two, the file's own."""
_CODE_PAGES = frozenset((437, 850, 852, 866, 874, 932, 936, 949, 950, *range(1250, 1259)))
_UTF_8 = 65001
_MOST_FONTS = 10_000


class _Group(NamedTuple):
    """What holds until a group ends."""

    is_skipped: bool = False
    is_fonts: bool = False
    """Whether it is the table of fonts."""
    is_hidden: bool = False
    is_struck: bool = False
    font: int | None = None
    n_instead: int = 1
    """How many characters behind one of Unicode stand for it where readers know none."""


def rtf_pieces(data: bytes) -> Iterator[str]:
    """Yield the text of an RTF file. Raises: Unreadable: Its groups lie deeper in each other than any writer's."""
    yield _Reader(data).text()


class _Reader:
    """One file that is read, and how far."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._page = "cp1252"
        self._fonts: dict[int | None, str] = {}
        self._told_font = 0
        """In the table of fonts: the one that is told of."""
        self._usual_font: int | None = None
        self._group = _Group()
        self._outer: list[_Group] = []
        self._n_left_out = 0
        """How many characters are still to be left out behind one of Unicode."""
        self._codes = bytearray()
        """Bytes of text, of which a character may take two."""
        self._is_in_row = False
        self._pieces: list[str] = []
        self._line = 0
        """Where in the pieces the paragraph or cell begins."""
        self._cells: list[str] = []
        self._n_characters = 0

    def text(self) -> str:
        place = 0
        while self._n_characters + len(self._codes) <= MAX_TEXT_CHARACTERS:
            if (token := _TOKEN.match(self._data, place)) is None:
                break
            place = token.end()
            match token.lastgroup:
                case "text":
                    self._plain(token["text"])
                case "code":
                    self._plain(bytes((int(token["code"], 16),)))
                case "group":
                    self._open_or_close(token["group"])
                case "symbol":
                    self._symbol(token["symbol"])
                case "word" | "number":
                    if token["word"] == b"bin":  # so many bytes that are no text
                        place += max(0, int(token["number"] or 0))
                    else:
                        self._control(token["word"], int(token["number"]) if token["number"] else None)
        self._end_codes()
        self._end_row()
        # The halves of a character beyond the first 65,536 were given one by one.
        return "".join(self._pieces).encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _plain(self, codes: bytes) -> None:
        if self._group.is_skipped:
            return
        codes = codes.translate(None, b"\r\n\0")
        n_left_out = min(self._n_left_out, len(codes))
        self._n_left_out -= n_left_out
        self._codes += codes[n_left_out : n_left_out + MAX_TEXT_CHARACTERS]

    def _end_codes(self) -> None:
        if self._codes:
            codes = bytes(self._codes)
            self._codes.clear()
            font = self._usual_font if self._group.font is None else self._group.font
            self._say(codes.decode(self._fonts.get(font, "") or self._page, "replace"))

    def _say(self, text: str) -> None:
        if not (self._group.is_skipped or self._group.is_hidden or self._group.is_struck):
            self._pieces.append(text)
            self._n_characters += len(text)

    def _open_or_close(self, group: bytes) -> None:
        self._end_codes()
        self._n_left_out = 0
        if group == b"{":
            if len(self._outer) >= MAX_DEPTH:
                raise Unreadable(f"damaged: more than {MAX_DEPTH:,} groups within each other")
            self._outer.append(self._group)
        elif self._outer:
            self._group = self._outer.pop()

    def _symbol(self, symbol: bytes) -> None:
        self._end_codes()
        if symbol == b"*":  # a reader that does not know what is named next skips the group
            self._group = self._group._replace(is_skipped=True)
        elif symbol in _SYMBOLS and not self._is_left_out():
            self._line_end() if _SYMBOLS[symbol] == "\n" else self._say(_SYMBOLS[symbol])

    def _control(self, word: bytes, number: int | None) -> None:
        self._end_codes()
        if word in _SKIPPED:
            self._group = self._group._replace(is_skipped=True, is_fonts=word == b"fonttbl")
        elif self._group.is_fonts:
            self._font_table(word, number or 0)
        elif self._group.is_skipped:
            return
        elif word in _SAID:
            if not self._is_left_out():
                self._line_end() if _SAID[word] == "\n" else self._say(_SAID[word])
        elif word in _CONTROLS:
            _CONTROLS[word](self, number)
        elif word in _PAGES:
            self._page = _PAGES[word]

    def _is_left_out(self) -> bool:
        """Return whether what comes stands for a character of Unicode that was said."""
        self._n_left_out -= (is_left_out := self._n_left_out > 0)
        return is_left_out

    # ── Characters ────────────────────────────────────────────────────────────────────────────────────────

    def _font_table(self, word: bytes, number: int) -> None:
        if word == b"f":
            self._told_font = number
        elif word == b"fcharset" and _CHARSETS.get(number) and len(self._fonts) < _MOST_FONTS:
            self._fonts[self._told_font] = _CHARSETS[number]

    def in_font(self, number: int | None) -> None:
        self._group = self._group._replace(font=number)

    def usual_font(self, number: int | None) -> None:
        self._usual_font = number

    def in_code_page(self, number: int | None) -> None:
        if number in _CODE_PAGES or number == _UTF_8:
            self._page = "utf-8" if number == _UTF_8 else f"cp{number}"

    def instead(self, number: int | None) -> None:
        self._group = self._group._replace(n_instead=min(max(0, 1 if number is None else number), 10))

    def unicode(self, number: int | None) -> None:
        self._say(chr((number or 0) & 0xFFFF or 0xFFFD))
        self._n_left_out = self._group.n_instead

    def hidden(self, number: int | None) -> None:
        self._group = self._group._replace(is_hidden=number != 0)

    def struck(self, number: int | None) -> None:
        self._group = self._group._replace(is_struck=number != 0)

    def as_usual(self, _number: int | None) -> None:
        self._group = self._group._replace(is_hidden=False, is_struck=False, font=None)

    # ── Lines and rows ────────────────────────────────────────────────────────────────────────────────────

    def _line_end(self) -> None:
        if self._is_in_row:
            self._say(" ")
            return
        self._end_row()
        self._say("\n")
        self._line = len(self._pieces)

    def new_paragraph(self, _number: int | None) -> None:
        self._is_in_row = False

    def in_row(self, _number: int | None) -> None:
        self._is_in_row = True

    def cell(self, _number: int | None) -> None:
        self._cells.append(" ".join("".join(self._pieces[self._line :]).split()))
        del self._pieces[self._line :]
        self._n_characters += len(" | ")

    def row(self, _number: int | None) -> None:
        self._is_in_row = False
        self._end_row()

    def _end_row(self) -> None:
        """Write the cells that were read as a line."""
        if self._cells:
            self._pieces.insert(self._line, " | ".join(self._cells) + "\n")
            self._cells.clear()
            self._line = len(self._pieces)


_CONTROLS: Mapping[bytes, Callable[[_Reader, int | None], None]] = {
    b"f": _Reader.in_font,
    b"deff": _Reader.usual_font,
    b"ansicpg": _Reader.in_code_page,
    b"uc": _Reader.instead,
    b"u": _Reader.unicode,
    b"v": _Reader.hidden,
    b"deleted": _Reader.struck,
    b"plain": _Reader.as_usual,
    b"pard": _Reader.new_paragraph,
    b"intbl": _Reader.in_row,
    b"cell": _Reader.cell,
    b"row": _Reader.row,
}
