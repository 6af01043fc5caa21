"""Reranks the best events by comparing each word of the question with each word of the event, in context.

Late interaction (ColBERT, Khattab & Zaharia 2020) on the encoder's own token vectors, untrained: for each content token
of the question the nearest token of the event, averaged with rare tokens counting more. Token vectors are made when an
event is first compared and kept in RAM in 8 bits, for the most recently used events.

Covered: at most `N_CLOSE` events a question; the cache never exceeds `MAX_CACHED` events.
Not covered: events that the first search did not find; the first comparison of an event costs some 4 ms.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hearth.memory.search.memory_index import FloatArray
from hearth.memory.search.terms import STOP_WORDS
from hearth.models.encoder.sentence_encoder import TokenEncoder

N_CLOSE = 24
"""Events compared for a question. 48 find no more (LoCoMo: the share among the first five within 0.002), at twice the
time."""
MAX_CACHED = 4096
"""Events in the cache; some 10 KB each."""
_MOST_TEXT = 2000


class Closeness:
    """Compares questions with events word by word."""

    def __init__(self, encoder: TokenEncoder) -> None:
        self._encoder = encoder
        self._kept: OrderedDict[int, NDArray[np.int8]] = OrderedDict()

    def of(self, question: str, people: Sequence[str], events: Mapping[int, str]) -> FloatArray:
        """Compute how close each event comes to the question, about 0 to 1, in the order of `events`.

        Args:
            people: Names in the question that say whose words are wanted; they are not compared.
            events: Number → text; a number always stands for the same text.
        """
        new = [number for number in events if number not in self._kept]
        for number, found in zip(
            new, self._encoder.encode_tokens([events[number][:_MOST_TEXT] for number in new]), strict=True
        ):
            self._kept[number] = np.rint(found.vectors[1:-1] * 127).astype(np.int8)
        tokens, rarity = self._tokens(question, people)
        result = np.zeros(len(events), np.float32)
        for place, number in enumerate(events):
            self._kept.move_to_end(number)
            vectors = self._kept[number]
            if len(vectors) and len(tokens):
                nearest = (tokens @ (vectors.T.astype(np.float32) / 127)).max(axis=1)
                result[place] = float(nearest @ rarity) / float(rarity.sum())
        while len(self._kept) > MAX_CACHED:
            self._kept.popitem(last=False)
        return result

    def forget(self, number: int) -> None:
        """Drop what is kept of an event."""
        self._kept.pop(number, None)

    def _tokens(self, question: str, people: Sequence[str]) -> tuple[FloatArray, FloatArray]:
        (found,) = self._encoder.encode_tokens([question])
        names = {word for person in people for word in person.casefold().split()}
        words = [question[start:end].casefold() for start, end in found.spans]
        is_telling = np.array([bool(w) and w[0].isalnum() and w not in STOP_WORDS and w not in names for w in words])
        if not is_telling.any():
            is_telling[1:-1] = True
        tokens: FloatArray = found.vectors[is_telling].astype(np.float32)
        return tokens, np.maximum(found.rarity[is_telling], 0).astype(np.float32) + np.float32(0.5)
