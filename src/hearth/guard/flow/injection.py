"""Reduces trust in strangers' text that reads like an instruction, and tells the owner.

Every plan was made before any of it was read, so such text can call nothing; this is the second line of defence. A
result with flagged text carries the source `injection`: it may decide no sink, is given to no language model, and
nothing made from it is learnt. The owner is told what it said and that it was not followed.

Covered: every text of a result, or of a field, that a stranger may have written; a whole mailbox is searched by its
most suspicious sentences. Not covered: what the detector misses (`models.injection_classifier`), text in records that
the owner vouched for. A result without strangers' text costs nothing here, not even opening the detector.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass

from hearth.guard.flow.labels import ResultLabels, Value
from hearth.guard.flow.spotlighting import INJECTION, clean
from hearth.models.injection_classifier import Detector, Judgement
from hearth.protocols import Encoder
from hearth.types import Label, Plain, ToolSpec

ENCODER_DIM = 384
"""Dimension of the shipped encoder, to which the shipped head was fitted."""
SUSPECT = Label(frozenset({INJECTION}), None)
"""Label joined to whatever holds a flagged text."""
FEWEST_CHARACTERS = 12
"""Shorter texts hold no instruction."""
_MAX_TEXTS = 400
_MAX_EXCERPT_CHARACTERS = 90


@dataclass(frozen=True, slots=True)
class Finding:
    """A text of a result that reads like an instruction."""

    field: str
    """Field of the record that holds the text; empty when the result is not a record."""
    record: int
    """Number of the record, from 0."""
    excerpt: str
    """The text's most suspicious words, fit to show."""


class InjectionReader:
    """Searches what tools return for instructions. May be used from several threads at once."""

    def __init__(self, encoder: Encoder) -> None:
        """Keep `encoder`; the detector is opened with it when the first stranger's text comes in."""
        self._encoder = encoder
        self._opening = threading.Lock()
        self._detector: Detector | None = None

    @classmethod
    def of(cls, encoder: Encoder) -> InjectionReader | None:
        """Make a reader on the shipped encoder; None for any other, to which no head was fitted."""
        return cls(encoder) if encoder.dim == ENCODER_DIM else None

    def looked_through(self, spec: ToolSpec, value: Value, notices: list[str]) -> Value:
        """Return `value`, with less trust if it reads like an instruction; `notices` then gets a message for the owner.

        Args:
            value: The result of a call of `spec`, labelled.
        """
        if INJECTION in value.label.sources:  # made from something flagged: the owner has been told
            return value
        findings = self.read(value.data, ResultLabels(value.label, value.fields))
        if not findings:
            return value
        notices.append(notice(spec, findings))
        labels = suspected(ResultLabels(value.label, value.fields), findings)
        return Value(value.data, labels.whole, labels.fields)

    def read(self, value: Plain, labels: ResultLabels) -> tuple[Finding, ...]:
        """Find what reads like an instruction among the texts of `value` that a stranger may have written."""
        texts = _strangers_texts(value, labels)
        if not texts:
            return ()
        detector = self._open()
        judged = detector.judge([text for _, _, text in texts])
        return tuple(
            Finding(name, record, _excerpt(judgement))
            for (record, name, _), judgement in zip(texts, judged)
            if detector.is_flagged(judgement)
        )

    def _open(self) -> Detector:
        with self._opening:
            if self._detector is None:
                self._detector = Detector.open(self._encoder)
            return self._detector


def suspected(labels: ResultLabels, findings: tuple[Finding, ...]) -> ResultLabels:
    """Return `labels` of a result with these findings: the whole, and the fields concerned, lose their trust."""
    if not findings:
        return labels
    named = {finding.field for finding in findings}
    fields: Mapping[str, Label] = {
        name: label.join(SUSPECT) if name in named else label for name, label in labels.fields.items()
    }
    return ResultLabels(labels.whole.join(SUSPECT), fields)


def notice(spec: ToolSpec, findings: tuple[Finding, ...]) -> str:
    """Compose the message for the owner."""
    n = len({finding.record for finding in findings})
    noun = _noun(spec)
    first = f": “{findings[0].excerpt}”" if findings[0].excerpt else ""
    if n == 1:
        return f"This {noun} contains something that reads like an instruction to me; I did not follow it{first}."
    return f"{n} of these {noun}s contain something that reads like an instruction to me; I followed none{first}."


def _noun(spec: ToolSpec) -> str:
    """A record's name in words, from its type's name."""
    kind = spec.returns.removeprefix("list[").removesuffix("]")
    if not kind[:1].isupper():
        return "text"
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind).lower()


def _excerpt(judgement: Judgement) -> str:
    text = " ".join(clean(judgement.piece.text).split()) if judgement.piece is not None else ""
    text = text.rstrip(".")
    return text if len(text) <= _MAX_EXCERPT_CHARACTERS else f"{text[: _MAX_EXCERPT_CHARACTERS - 1]}…"


def _strangers_texts(value: Plain, labels: ResultLabels) -> list[tuple[int, str, str]]:
    """Record, field and text of everything a stranger may have written, unchanged."""
    if labels.whole.is_trusted and all(label.is_trusted for label in labels.fields.values()):
        return []
    found: list[tuple[int, str, str]] = []
    records = value if isinstance(value, list) else [value]
    for number, record in enumerate(records):
        fields = record if isinstance(record, dict) else {"": record}
        for name, item in fields.items():
            if not labels.fields.get(name, labels.whole).is_trusted:
                found += [(number, name, text) for text in _texts(item)]
        if len(found) >= _MAX_TEXTS:
            break
    return found[:_MAX_TEXTS]


def _texts(item: Plain) -> list[str]:
    """Every text in an item that could hold a sentence."""
    waiting: list[Plain] = [item]
    found: list[str] = []
    while waiting and len(found) < _MAX_TEXTS:
        part = waiting.pop()
        if isinstance(part, str):
            if len(part) >= FEWEST_CHARACTERS and (" " in part or not part.isascii()):
                found.append(part)
        elif isinstance(part, list):
            waiting.extend(part[::-1])
        elif isinstance(part, dict):
            waiting.extend(list(part.values())[::-1])
    return found
