"""Read each text once per run of the tests: vectors of `MiniLMEncoder.encode` are kept in a file all workers share.

Reading the 1,766 shipped demonstrations takes ten seconds, and dozens of tests make a home that learns them. The file
lives as long as the run, so it never holds the vectors of another version. A text's vector does not depend on its
company beyond rounding; `real_encoder` in conftest.py gives a test the encoder itself. One open encoder serves a whole
process: each takes 90 MB.
"""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from hearth.models.encoder import sentence_encoder
from hearth.models.encoder.sentence_encoder import MiniLMEncoder

_KEY_BYTES = 16
_RECORD = np.dtype([("key", f"V{_KEY_BYTES}"), ("vector", np.float32, (MiniLMEncoder.dim,))])
_CHARACTERS_KEPT = 1_000
"""Longer texts are read again: few are met twice."""

_encode, _open = MiniLMEncoder.encode, MiniLMEncoder.open.__func__  # type: ignore[attr-defined]


class VectorFile:
    """Vectors by text, appended by several processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[bytes, NDArray[np.float32]] = {}
        self._n_read = 0

    def encode(self, encoder: MiniLMEncoder, texts: Sequence[str]) -> NDArray[np.float32]:
        if isinstance(texts, str) or any(len(text) > _CHARACTERS_KEPT for text in texts):
            return _encode(encoder, texts)
        keys = [hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=_KEY_BYTES).digest() for text in texts]
        if not all(key in self._known for key in keys):
            self._catch_up()
        missing = {key: text for key, text in zip(keys, texts) if key not in self._known}
        if missing:
            self._append(list(missing), _encode(encoder, list(missing.values())))
        vectors = np.empty((len(texts), MiniLMEncoder.dim), dtype=np.float32)
        for row, key in enumerate(keys):
            vectors[row] = self._known[key]
        return vectors

    def _catch_up(self) -> None:
        """Read what this and other processes have appended since."""
        if not self.path.exists() or self.path.stat().st_size // _RECORD.itemsize == self._n_read:
            return
        records = np.fromfile(self.path, dtype=_RECORD, offset=self._n_read * _RECORD.itemsize)
        self._n_read += len(records)
        self._known.update(zip([key.tobytes() for key in records["key"]], records["vector"]))

    def _append(self, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        records = np.zeros(len(keys), dtype=_RECORD)
        records["key"] = np.frombuffer(b"".join(keys), dtype=f"V{_KEY_BYTES}")
        records["vector"] = vectors
        with self.path.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # given back when the file is closed
            file.write(records.tobytes())
        self._known.update(zip(keys, records["vector"]))


@contextmanager
def remembering(folder: Path) -> Iterator[None]:
    """Within, every `MiniLMEncoder` remembers through `folder`, and `open` gives the one that is open."""
    file = VectorFile(folder / "vectors.bin")
    opened: dict[Path, MiniLMEncoder] = {}

    def open_(cls: type[MiniLMEncoder], cache_dir: Path | None = None, *, n_threads: int = 0) -> MiniLMEncoder:
        # With one thread, the calling one: workers share the cores, and a forked process has no other threads.
        weights = sentence_encoder.model_dir()
        if weights not in opened:
            opened[weights] = _open(cls, cache_dir, n_threads=1)
        return opened[weights]

    def encode(self: MiniLMEncoder, texts: Sequence[str]) -> Any:
        return file.encode(self, texts)

    with (
        mock.patch.object(MiniLMEncoder, "open", classmethod(open_)),
        mock.patch.object(MiniLMEncoder, "encode", encode),
    ):
        yield


@contextmanager
def forgetting() -> Iterator[None]:
    """Within, the encoder is the real one again."""
    with (
        mock.patch.object(MiniLMEncoder, "open", classmethod(_open)),
        mock.patch.object(MiniLMEncoder, "encode", _encode),
    ):
        yield
