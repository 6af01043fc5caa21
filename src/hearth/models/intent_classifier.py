"""Says which tool a request asks for, and where its acts begin: the shipped encoder with its upper layers changed, a
softmax over requests and two marks of tokens; onnxruntime only.

Learned from what real people asked assistants and from the shipped demonstrations
(`training.intent_classifier_train`), so that requests lie together by what they want ("nuke the 3 pm", "cancel the
3 pm"), where the encoder itself puts those together that are about the same thing.
Covered: the shipped tools, nothing that any of them does, and talk, in English. Not covered: tools that it never saw,
and what a home teaches: the heads beside it do that (`planning.tool_heads`). Of words behind the
tokens that are read nothing is marked.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tokenizers

from hearth.errors import ConfigError
from hearth.models.lora_encoder import WIDTH, AdaptedEncoder, Array, read_adapter
from hearth.models.sentence_encoder import shared_tokenizer, within

FILE = Path(__file__).parent.parent / "data" / "intent_classifier.npz"
MAX_TOKENS = 64
"""Longer requests are cut: what is wished stands in their first words, or in a clause that is read by itself."""
MARKS = ("begins", "is_aside")
"""Rows of weights for tokens: whether an act begins there, and whether the word belongs to none."""
_MAX_CHARACTERS = 2_000
_MANY_KEPT = 32


@dataclass(frozen=True, slots=True)
class MarkedToken:
    """A token of a request."""

    start: int
    """Its first character."""
    begins: float
    """Chance that an act begins here."""
    is_aside: float
    """Chance that it belongs to no act: a reason, or a word before the wish ("I smell burning, turn the oven off")."""


class IntentClassifier:
    """Scores requests. May be used from several threads at once."""

    def __init__(self, encoder: AdaptedEncoder, tokenizer: tokenizers.Tokenizer, outputs: Mapping[str, Array]) -> None:
        """Use `IntentClassifier.open`.

        Args:
            outputs: Per output its row of weights and, last, its bias, shape [WIDTH + 1].
        """
        self._encoder = encoder
        self._tokenizer = tokenizer
        self.outputs = tuple(name for name in outputs if name not in MARKS)
        self._rows = np.stack([outputs[name] for name in self.outputs])
        self._marks = np.stack([outputs[name] for name in MARKS]) if outputs.keys() >= {*MARKS} else None
        self._of = functools.lru_cache(maxsize=_MANY_KEPT)(self._scores_of)
        self._marked_of = functools.lru_cache(maxsize=_MANY_KEPT)(self._marks_of)

    @classmethod
    def open(cls, path: Path = FILE, cache_dir: Path | None = None) -> IntentClassifier:
        """Load a classifier's file; its graph is built the first time (two seconds).

        Raises:
            ConfigError: Its file is missing or damaged.
            MissingExtraError: The package with the encoder's weights is not installed.
        """
        made_by = "training.intent_classifier_train"
        adapter, heads, fingerprint = read_adapter(path, {}, "the file of the intent classifier", made_by)
        if any(row.shape != (WIDTH + 1,) for row in heads.values()) or not heads.keys() - {*MARKS}:
            raise ConfigError(f"the file of the intent classifier {str(path)!r} is of another shape; reinstall Hearth")
        return cls.of(adapter, heads, fingerprint, cache_dir)

    @classmethod
    def of(
        cls,
        adapter: Mapping[str, Array],
        outputs: Mapping[str, Array],
        fingerprint: str,
        cache_dir: Path | None = None,
    ) -> IntentClassifier:
        """Make a classifier of its parts. Args: fingerprint: Of them: the key of the cached graph."""
        encoder = AdaptedEncoder.open(adapter, fingerprint, cache_dir, n_threads=1)
        return cls(encoder, shared_tokenizer(), outputs)

    def scores(self, texts: Sequence[str]) -> Array:
        """Return the log-odds of each output against all of them, up to a constant, shape [n, outputs].

        Each text is read by itself: its scores do not depend on the others.

        Args:
            texts: Forms of requests (`planning.arguments.alignment.form_of`): with stand-ins for values.
        """
        if not texts:
            return np.zeros((0, len(self.outputs)), dtype=np.float32)
        return np.stack([self._of(text[:_MAX_CHARACTERS]) for text in texts])

    def marked(self, text: str) -> tuple[MarkedToken, ...]:
        """Return what is said of the first tokens of a request as typed; nothing where only intents were learnt."""
        return self._marked_of(text[:_MAX_CHARACTERS])

    def _marks_of(self, text: str) -> tuple[MarkedToken, ...]:
        if self._marks is None:
            return ()
        states, spans = self._states(text)
        chances = 1 / (1 + np.exp(-(states @ self._marks[:, :WIDTH].T + self._marks[:, WIDTH])))
        return tuple(
            MarkedToken(start, float(begins), float(is_aside))
            for (start, end), (begins, is_aside) in zip(spans, chances)
            if end > start
        )

    def _states(self, text: str) -> tuple[Array, Sequence[tuple[int, int]]]:
        """Return the states of a text's tokens, shape [tokens, WIDTH], and where in it they stand."""
        read = self._tokenizer.encode(text.encode("utf-8", "replace").decode("utf-8"))
        ids = np.array(within(read.ids, MAX_TOKENS))
        encoder = self._encoder
        embedded = encoder.words[ids] + encoder.places[: len(ids)] + encoder.segments[0]
        return encoder.states(np.asarray(embedded, dtype=np.float32)), within(read.offsets, MAX_TOKENS)

    def _scores_of(self, text: str) -> Array:
        mean = self._states(text)[0].mean(axis=0)
        unit = mean / max(float(np.linalg.norm(mean)), 1e-9)
        return np.asarray(self._rows[:, :WIDTH] @ unit + self._rows[:, WIDTH], dtype=np.float32)


@functools.cache
def shipped_classifier() -> IntentClassifier | None:
    """Return the classifier that comes with Hearth, one per process; None when it is damaged: the heads go on without.

    Raises:
        MissingExtraError: As `IntentClassifier.open`.
    """
    try:
        return IntentClassifier.open()
    except ConfigError:
        return None
