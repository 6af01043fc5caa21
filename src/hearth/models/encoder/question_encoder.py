"""Embeds questions so that they lie near the passages that answer them: a low-rank change of the shipped encoder.

The shipped encoder puts texts together that are about the same thing; what answers a question is often said in other
words ("who's teaching instead of the regular one": "Frau Oduya covers Thursdays until Lent"). Only questions are read
with the change; passages keep the vectors of the shipped encoder, against which it was learnt
(`training.question_encoder_train`), so that it can change while every index stays.

Covered: English questions and what is looked for in a few words. Not covered: another encoder's vectors.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hearth.models.encoder.lora_encoder import WIDTH, AdaptedEncoder, Array, read_adapter
from hearth.models.encoder.minilm import shared_tokenizer, within
from hearth.models.encoder.sentence_encoder import MiniLMEncoder

FILE = Path(__file__).parents[2] / "data" / "question_encoder.npz"
MAX_TOKENS = 48
"""Longer questions are cut."""
_MAX_CHARACTERS = 2_000


class QuestionEncoder:
    """An encoder of questions, opened at its first use. May be used from several threads at once."""

    dim = WIDTH

    def __init__(self, cache_dir: Path | None = None, path: Path = FILE) -> None:
        self._cache_dir = cache_dir
        self._path = path
        self._opening = threading.Lock()
        self._encoder: AdaptedEncoder | None = None

    def encode(self, texts: Sequence[str]) -> Array:
        """Embed questions; each is read by itself.

        Returns:
            Unit vectors, shape [n, 384].
        Raises:
            ConfigError: The file of the change is missing or damaged.
            MissingExtraError: The package with the encoder's weights is not installed.
        """
        with self._opening:
            encoder = self._encoder = self._encoder or _opened(self._path, self._cache_dir)
        return np.array([_vector(encoder, text) for text in texts], dtype=np.float32).reshape(len(texts), WIDTH)

    def rest(self) -> None:
        """Hand its memory back; the next question opens it again."""
        self._encoder = None


def questions_for(encoder: object, cache_dir: Path | None = None) -> QuestionEncoder | None:
    """Return the encoder of questions beside an encoder of passages; None where that is not the one that ships."""
    return QuestionEncoder(cache_dir) if isinstance(encoder, MiniLMEncoder) else None


def question_ids(text: str) -> list[int]:
    """Return the tokens of a question that are read."""
    read = shared_tokenizer().encode(text[:_MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8"))
    return list(within(read.ids, MAX_TOKENS))


def _opened(path: Path, cache_dir: Path | None) -> AdaptedEncoder:
    made_by = "training.question_encoder_train"
    adapter, _, fingerprint = read_adapter(path, {}, "the file of the question encoder", made_by)
    return AdaptedEncoder.open(adapter, fingerprint, cache_dir, n_threads=1)


def _vector(encoder: AdaptedEncoder, text: str) -> Array:
    ids = np.array(question_ids(text))
    embedded = encoder.words[ids] + encoder.places[: len(ids)] + encoder.segments[0]
    mean = encoder.states(embedded.astype(np.float32)).mean(axis=0)
    unit: Array = mean / max(float(np.linalg.norm(mean)), 1e-9)
    return unit
