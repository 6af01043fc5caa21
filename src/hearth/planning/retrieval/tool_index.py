"""Indexes the tools on offer for the retrieval planner: their own texts, and their examples.

Forms are made once per text and kept in the cache folder by hash, so that ten thousand tools cost a start of a second
and not of minutes. A cache that cannot be read or written costs time and nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth.language.reading import Utterance
from hearth.planning.arguments.alignment import ANY_TIME, LESSON_VERSION, LessonStep, Token, tokens_of
from hearth.planning.retrieval.episodic_index import name_words
from hearth.planning.retrieval.similarity import Likeness
from hearth.types import ToolSpec

_BATCH = 256


class Offered:
    """Forms of one set of tools."""

    def __init__(self, likeness: Likeness, tools: Mapping[str, ToolSpec], cache: Path | None, fingerprint: int) -> None:
        self.tools = dict(tools)
        self.alone: dict[str, tuple[LessonStep, ...]] = {}
        """Tool → the steps that plan it alone, as far as they were asked for."""
        self._specs = list(tools.values())
        self.names = tuple(tools)
        self.words = {name: name_words(name) for name in self.names}
        self.place = {name: index for index, name in enumerate(self.names)}
        self.with_word: dict[str, list[str]] = {}
        """Word of a name → the tools that have it."""
        for name, words in self.words.items():
            for word in words:
                self.with_word.setdefault(word, []).append(name)
        examples = [(name, text) for name, spec in tools.items() for text in spec.examples]
        self.example_texts = tuple(text for _, text in examples)
        self.example_tools = tuple(name for name, _ in examples)
        path = cache / f"tool-forms-{LESSON_VERSION}-{fingerprint:08x}-{likeness.dim}.npz" if cache else None
        kept = _KeptForms(path, likeness.dim)
        tool_keys = [_key("tool", spec.name, spec.description) for spec in self._specs]
        for batch in kept.missing(tool_keys):
            kept.put([tool_keys[i] for i in batch], likeness.of_tools([self._specs[i] for i in batch]))
        example_keys = [_key("example", text) for text in self.example_texts]
        for batch in kept.missing(example_keys):
            texts = [self.example_texts[i] for i in batch]
            kept.put([example_keys[i] for i in batch], likeness.of_requests(texts, [example_tokens(t) for t in texts]))
        kept.write()
        self.forms = kept.matrix(tool_keys)
        """One row per tool, in the order of `names`."""
        self.example_forms = kept.matrix(example_keys)
        """One row per example, in the order of `example_texts`."""

    def is_of(self, tools: Mapping[str, ToolSpec]) -> bool:
        """Return whether these forms are of `tools`."""
        return len(tools) == len(self._specs) and list(tools.values()) == self._specs


def example_tokens(text: str) -> tuple[Token, ...]:
    """Return the tokens of a tool's example, read at some fixed time: only its form matters."""
    return tokens_of(text, Utterance(text, ANY_TIME).slots)


def _key(*parts: str) -> int:
    digest = hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


class _KeptForms:
    """Forms in one file, by the hash of their texts."""

    def __init__(self, path: Path | None, dim: int) -> None:
        self._path = path
        self._place: dict[int, int] = {}
        self._forms = np.zeros((0, dim), dtype=np.float16)
        self._is_changed = False
        if path is None or not path.is_file():
            return
        try:
            with np.load(path, allow_pickle=False) as file:
                keys, forms = file["keys"], file["forms"]
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return  # damaged: made anew
        if forms.ndim == 2 and forms.shape == (len(keys), dim) and forms.dtype == np.float16:
            self._place = {key: index for index, key in enumerate(keys.tolist())}
            self._forms = forms

    def missing(self, keys: Sequence[int]) -> list[list[int]]:
        """Return the indices of the keys without a form, in batches; of equal keys only the first."""
        first: dict[int, int] = {}
        for index, key in enumerate(keys):
            if key not in self._place:
                first.setdefault(key, index)
        places = list(first.values())
        return [places[start : start + _BATCH] for start in range(0, len(places), _BATCH)]

    def put(self, keys: Sequence[int], forms: NDArray[np.float32]) -> None:
        for key in keys:
            self._place[key] = len(self._place)
        self._forms = np.vstack([self._forms, forms.astype(np.float16)])
        self._is_changed = True

    def matrix(self, keys: Sequence[int]) -> NDArray[np.float32]:
        return self._forms[[self._place[key] for key in keys]].astype(np.float32)

    def write(self) -> None:
        """Replace the file whole; a folder that cannot be written is left alone."""
        if self._path is None or not self._is_changed:
            return
        keys = np.array(list(self._place), dtype=np.uint64)
        part = self._path.with_name(f"{self._path.name}.{os.getpid()}.part")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as file:
                np.savez(file, keys=keys, forms=self._forms)
            part.replace(self._path)
        except OSError:
            with contextlib.suppress(OSError):
                part.unlink()
