"""Read hand-written, hand-labelled messages: the set that masking is measured on, apart from text made from templates.

One JSON object per line: `{"id", "text", "kind", "language", "spans": [{"start", "end", "type"}]}`. Offsets count
characters (code points) of `text`; the end is exclusive. The data set's card, `hearth_bench/data/README.md`, defines
each type and says what the set does not cover. For measuring only: nothing may be trained or fitted on it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hearth.errors import RequestError
from hearth.formats.plans import read_jsonl
from hearth.language.values.identifying import is_iban, is_luhn

SpanType = Literal[
    "PERSON",
    "ORGANIZATION",
    "LOCATION",
    "ADDRESS",
    "PHONE",
    "EMAIL",
    "URL",
    "IBAN",
    "CARD",
    "ID",
    "DATE_OF_BIRTH",
    "DATE_TIME",
    "AGE",
    "IP",
    "PLATE",
    "COORDINATES",
    "PASSWORD",
    "USERNAME",
]
"""Type of a span; the card defines each."""
Kind = Literal["mail", "chat", "calendar", "dictation", "forum", "notice", "note", "form"]
Language = Literal["en", "de", "fr", "es", "it"]

SPAN_TYPES: tuple[str, ...] = get_args(SpanType)
STRUCTURED: frozenset[str] = frozenset(["PHONE", "EMAIL", "URL", "IBAN", "CARD", "IP", "PLATE", "COORDINATES", "ID"])
"""Types with a shape of their own, reported apart from names and places."""
_MOST_ALIKE = 0.7


@dataclass(frozen=True, slots=True)
class Span:
    """A span `text[start:end]` of personal data of one type."""

    start: int
    end: int
    type: str


@dataclass(frozen=True, slots=True)
class Message:
    """A text with all the personal data in it; `spans` are in order and do not overlap."""

    id: str
    text: str
    kind: str
    language: str
    spans: tuple[Span, ...]

    def values(self) -> tuple[tuple[str, str], ...]:
        """Return the type and words of each span."""
        return tuple((span.type, self.text[span.start : span.end]) for span in self.spans)


class _SpanLine(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=1)]
    type: SpanType


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    id: Annotated[str, Field(min_length=1)]
    text: Annotated[str, Field(min_length=1)]
    kind: Kind
    language: Language
    spans: list[_SpanLine]


def read_messages(path: Path | None = None) -> tuple[Message, ...]:
    """Read and check a set of messages.

    Args:
        path: A JSONL file; the shipped set when None.
    Raises:
        RequestError: The file is unreadable or empty; or a line is not such a message, has a span that lies outside its
            text, cuts a word, overlaps another or is out of order, an IBAN or card number with wrong check digits, a
            repeated id, or a text that nearly repeats another (token Jaccard above 0.7). Names file and line.
    """
    if path is None:
        with as_file(files("hearth_bench") / "data" / "messages.jsonl") as shipped:
            return read_messages(shipped)
    found: list[Message] = []
    words: list[frozenset[str]] = []
    lines: dict[str, int] = {}
    for number, data in read_jsonl(path):
        try:
            line = _Line.model_validate(data)
        except ValidationError as error:
            fault = error.errors()[0]
            place = ".".join(str(part) for part in fault["loc"]) or "the whole"
            raise RequestError(f"{path}:{number}: {place}: {fault['msg']}") from None
        message = Message(
            line.id,
            line.text,
            line.kind,
            line.language,
            tuple(Span(span.start, span.end, span.type) for span in line.spans),
        )
        if message.id in lines:
            raise RequestError(f"{path}:{number}: the id {message.id!r} was given in line {lines[message.id]} already")
        for fault_text in _faults(message):
            raise RequestError(f"{path}:{number}: message {message.id!r}: {fault_text}")
        tokens = frozenset(re.findall(r"\w+", message.text.lower()))
        for other, seen in zip(found, words, strict=True):
            if len(tokens & seen) > _MOST_ALIKE * len(tokens | seen):
                raise RequestError(
                    f"{path}:{number}: message {message.id!r} is nearly message {other.id!r} (line {lines[other.id]}); "
                    "each must be its own, so leave one out"
                )
        lines[message.id] = number
        found.append(message)
        words.append(tokens)
    if not found:
        raise RequestError(f"{path} holds no message; expected one JSON object per line")
    return tuple(found)


def shipped_sha256() -> str:
    """Return the hash of the shipped set, for records of results."""
    return hashlib.sha256((files("hearth_bench") / "data" / "messages.jsonl").read_bytes()).hexdigest()


def _faults(message: Message) -> Iterator[str]:
    """Yield each fault of the message's spans, with the words at fault."""
    text = message.text
    before = 0
    for span in message.spans:
        where = f"span {span.start}–{span.end} ({span.type})"
        if not span.start < span.end <= len(text):
            yield f"{where} does not lie in the text of {len(text)} characters"
            return
        value = text[span.start : span.end]
        if span.start < before:
            yield f"{where} {value!r} overlaps the span before it or comes too late; expected spans in order"
        if value != value.strip():
            yield f"{where} {value!r} begins or ends with white space"
        if _within_word(text, span.start) or _within_word(text, span.end):
            yield f"{where} {value!r} cuts a word in two"
        if span.type == "IBAN" and not _is_iban(value):
            yield f"{where} {value!r} has wrong check digits for an IBAN"
        if span.type == "CARD" and any(c.isdigit() for c in value) and not _is_card(value):
            yield f"{where} {value!r} has wrong check digits for a card number"
        if span.type == "EMAIL" and "@" not in value and " at " not in value:
            yield f"{where} {value!r} holds no '@'"
        before = span.end


def _within_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()


def _is_iban(value: str) -> bool:
    """Return whether the remainder by 97 is right (ISO 13616), ignoring spaces and case."""
    plain = "".join(value.split()).upper()
    if not re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", plain):
        return False
    return is_iban(plain)


def _is_card(value: str) -> bool:
    """Return whether the check digit is right (Luhn)."""
    return 12 <= sum(c.isdecimal() for c in value) <= 19 and is_luhn(value)
