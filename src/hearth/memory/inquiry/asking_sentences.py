"""Finds the sentence of a mail that asks the reader for something.

A logistic function of the sentence encoder's vector and a few signs, trained on sentences of real mails
(`training.asking_sentences_train`, `data/asking_sentences.json`).

Not covered: what is asked over several sentences, other languages, whom of several readers it asks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hearth import patterns as re
from hearth.memory.search.fitted import fitted
from hearth.memory.search.memory_index import FloatArray
from hearth.protocols import Encoder

N_MOST_SENTENCES = 24
_FORMS = (
    re.compile(r"\?\s*\Z"),
    re.compile(r"\b(?:please|kindly)\b", re.I),
    re.compile(r"\blet (?:me|us) know\b", re.I),
    re.compile(r"\b(?:can|could|will|would) you\b", re.I),
    re.compile(r"\byou(?:r)?\b", re.I),
    re.compile(r"\bif you\b", re.I),
    re.compile(r"\bclick|https?:|www\.|unsubscribe|visit\b", re.I),
)
"""Signs of wording, beside the vector."""
_LEAST = 8
"""Characters of a sentence that may ask."""
_FORMAL = re.compile(
    r"\bplease (?:find|see|note)\b|\bplease (?:ignore|disregard|do not reply)\b|\bif you (?:cannot|can ?not|can['’]t"
    r"|do not|don['’]t|have already|no longer|require|need|have any|would like|wish)\b",
    re.I,
)
"""Polite forms that ask for nothing, or only in a case that may not come."""


_WANTS_WORD = re.compile(
    r"\b(?:say (?:yes|no)|let (?:me|us) (?:know|have)|get back to (?:me|us)|rsvp"
    r"|(?:write|call|ring|text|mail) (?:me|us)(?: back)?|(?:i|we) (?:need|have) to (?:know|hear|tell|book|order))\b"
    r"[^.?!]*\b(?:by|before|until|till|soon|today|tomorrow)\b",
    re.I,
)
"""Wants a word from the reader by some time, however it is put."""


class AskingSentences:
    """The trained reader of sentences."""

    def __init__(self, encoder: Encoder | None) -> None:
        """Without an encoder the signs of wording decide alone."""
        self._encoder = encoder

    def asks(self, sentences: Sequence[str]) -> str:
        """Return the sentence that asks most surely, else the first question; empty if none asks."""
        some = [one for one in sentences if len(one) >= _LEAST and not _FORMAL.search(one)][:N_MOST_SENTENCES]
        if not some:
            return ""
        question = next((one for one in some if _FORMS[0].search(one) or _WANTS_WORD.search(one)), "")
        if self._encoder is None:
            return question or next((one for one in some if _FORMS[2].search(one)), "")
        kept = fitted("asking_sentences")
        scores = features(some, self._encoder.encode(some)) @ np.array(kept["weights"])
        best = int(np.argmax(scores))
        return some[best] if scores[best] >= float(kept["least"]) else question


def features(sentences: Sequence[str], vectors: FloatArray) -> NDArray[np.float64]:
    """Return what is weighed, shape [n, 384 + signs + 1]."""
    signs = np.array([[form.search(one) is not None for form in _FORMS] for one in sentences], np.float64)
    return np.hstack([vectors.astype(np.float64), signs, np.ones((len(sentences), 1))])
