"""Adapts the shipped tagger, if installed, for masking; without it, names of unknown people are found by cues."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hearth.guard.deidentify.masker import Tag
from hearth.language.text.span import Found
from hearth.models.ner import TAGGER_FILE, Tagger

_KINDS = {"identifier": "account"}
"""Kinds of the tagger → the names masking has for them."""


def shipped_tag(cache_dir: Path | None = None) -> Tag | None:
    """The tagger that comes with Hearth, loaded on first use; None if its file is missing.

    Raises:
        ConfigError, MissingExtraError: (on use) Its file is damaged, or the encoder's weights are absent.
    """
    if not TAGGER_FILE.exists():
        return None

    def tag(texts: Sequence[str]) -> list[list[Found]]:
        return [
            [Found(span.start, span.end, _KINDS.get(span.kind, span.kind), "tagger") for span in spans]
            for spans in Tagger.shipped(cache_dir).spans(texts)
        ]

    return tag
