"""Provide doubles for tests and examples: a language model with prepared replies, an encoder that counts words.

Both are deterministic and need no files; neither understands anything.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hearth.errors import PlannerError


class ScriptedModel:
    """Gives its replies one after the other; satisfies `protocols.LanguageModel`."""

    name = "scripted"

    def __init__(self, replies: Sequence[str | Exception]) -> None:
        """Prepare the replies: texts to answer with; an exception among them is raised in its turn."""
        self._replies = list(replies)
        self.asked: list[tuple[tuple[Mapping[str, str], ...], Mapping[str, object] | None]] = []
        """Calls so far: messages and schema of each."""

    def complete(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, object] | None = None) -> str:
        """Return the next reply.

        Raises:
            PlannerError: All replies were given.
        """
        self.asked.append((tuple(dict(message) for message in messages), schema))
        if len(self.asked) > len(self._replies):
            raise PlannerError(f"the scripted model has {len(self._replies)} replies and was asked once more; add one")
        reply = self._replies[len(self.asked) - 1]
        if isinstance(reply, Exception):
            raise reply
        return reply

    def sample(
        self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, object] | None = None, n: int = 1
    ) -> tuple[str, ...]:
        """Return the next `n` replies, fewer when there are no more; satisfies `protocols.SamplingModel`.

        Raises:
            PlannerError: All replies were given.
        """
        left = max(1, min(n, len(self._replies) - len(self.asked)))
        return tuple(self.complete(messages, schema) for _ in range(left))


class HashEncoder:
    """A bag-of-words encoder; satisfies `protocols.Encoder`. Each word has a fixed direction drawn from its hash, and a
    text is their sum: texts that share words are near, order and meaning are lost."""

    def __init__(self, dim: int = 64) -> None:
        self.dim = dim

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, shape [n, dim]."""
        if isinstance(texts, str):
            raise TypeError(f"encode takes a list of texts, got one string {texts[:40]!r}; write encode([text])")
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.casefold()):
                vectors[row] += self._direction(word)
            if not vectors[row].any():
                vectors[row] = self._direction("")
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    def _direction(self, word: str) -> NDArray[np.float32]:
        """Return entries +1 and -1 from the bits of the word's hash, shape [dim]."""
        digest = hashlib.shake_128(word.encode("utf-8", "surrogatepass")).digest((self.dim + 7) // 8)
        bits = np.unpackbits(np.frombuffer(digest, dtype=np.uint8))[: self.dim]
        return bits.astype(np.float32) * 2 - 1
