"""Extract plain text from an HTML mail in linear time, whatever the mail holds.

Uses an own scanner: the standard library's parser takes quadratic time on tags that never close, and mails come from
strangers. Covered: blocks, lists and tables as lines; links as `words (address)`; scripts, styles, comments and what
the mail hides from view are left out. Not covered: layout, pictures (their `alt` text is kept), frames.
"""

from __future__ import annotations

import html
import re

N_MAX_CHARACTERS = 400_000
N_MAX_TAG_CHARACTERS = 4_000

_BLOCKS = frozenset(
    ["address", "article", "aside", "blockquote", "center", "dd", "div", "dl", "dt", "fieldset", "figure", "footer"]
)
_BLOCKS |= frozenset(
    ["form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre"]
)
_BLOCKS |= frozenset(["section", "table", "tbody", "tfoot", "thead", "tr", "ul", "body", "html", "br", "caption"])
_UNSEEN = frozenset(["script", "style", "head", "title", "template", "noscript", "object", "svg", "select", "iframe"])
_VOID = frozenset(
    ["br", "hr", "img", "input", "meta", "link", "area", "base", "col", "embed", "source", "track", "wbr"]
)
_NAME = re.compile(r"</?([a-zA-Z][a-zA-Z0-9:-]*)")
_ATTRIBUTE = re.compile(r"(?<![\w-])(href|alt|style|hidden)(?:\s{0,5}=\s{0,5}(\"[^\"]*\"|'[^']*'|[^\s>\"']+))?", re.I)
_HIDING = re.compile(
    r"display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden|font-size\s{0,3}:\s{0,3}0(?![.\d])", re.I
)


def text_of_html(source: str) -> str:
    """Return the plain text of an HTML document; anything beyond 400,000 characters is not read."""
    return _Scanner(source[:N_MAX_CHARACTERS]).text()


class _Scanner:
    def __init__(self, source: str) -> None:
        self._source = source
        self._lowered = source.lower() if len(source.lower()) == len(source) else source
        self._pieces: list[str] = []
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
        elif tag in _BLOCKS:
            self._pieces.append("\n- " if tag == "li" else "\n\n" if tag in ("p", "table", "h1", "h2", "h3") else "\n")
        elif tag in ("td", "th"):
            self._pieces.append(" ")
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
            self._pieces.append("\n")
        elif tag == "a" and self._link:
            (address, place), self._link = self._link, None
            said = "".join(self._pieces[place:]).strip()
            address = address.removeprefix("mailto:")
            if address and said and not address.startswith(("#", "javascript:", "data:")) and said not in address:
                self._pieces.append(f" ({address})")


def looks_like_html(text: str) -> bool:
    """Say whether a text that claims to be plain is actually HTML."""
    return re.match(r"\s*(?:<!doctype html|<html|<body)\b", text[:200], re.I) is not None
