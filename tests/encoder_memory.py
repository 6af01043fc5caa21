"""Read each text once per run of the tests: what `MiniLMEncoder` makes of it is kept in files that all workers share.

Reading the 1,853 shipped demonstrations takes ten seconds, and dozens of tests make a home that learns them. The files
live as long as the run, so they never hold the vectors of another version. A text's vector does not depend on its
company beyond rounding; `real_encoder` in conftest.py gives a test the encoder itself. One open encoder serves a whole
process: each takes 90 MB.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from hearth.models import sentence_encoder
from hearth.models.sentence_encoder import MiniLMEncoder, TokenVectors

_KEY_BYTES = 16
_RECORD = np.dtype([("key", f"V{_KEY_BYTES}"), ("vector", np.float32, (MiniLMEncoder.dim,))])
_PLACE = np.dtype([("key", f"V{_KEY_BYTES}"), ("start", np.int64), ("n", np.int64)])
_CHARACTERS_KEPT = 1_000
"""Longer texts are read again: few are met twice."""

_encode, _encode_tokens = MiniLMEncoder.encode, MiniLMEncoder.encode_tokens
_open = MiniLMEncoder.open.__func__  # type: ignore[attr-defined]


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=_KEY_BYTES).digest()


class VectorFile:
    """Vectors by text, appended by several processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[bytes, NDArray[np.float32]] = {}
        self._n_read = 0

    def encode(self, encoder: MiniLMEncoder, texts: Sequence[str]) -> NDArray[np.float32]:
        if isinstance(texts, str) or any(len(text) > _CHARACTERS_KEPT for text in texts):
            return _encode(encoder, texts)
        keys = [_key(text) for text in texts]
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


class TokenFile:
    """What `encode_tokens` gives, by text; 25 kB each, so that only the places in the file are held in memory."""

    def __init__(self, folder: Path) -> None:
        self._data, self._index = folder / "tokens.bin", folder / "tokens.index"
        self._places: dict[bytes, tuple[int, int]] = {}
        self._n_read = 0

    def encode_tokens(self, encoder: MiniLMEncoder, texts: Sequence[str]) -> list[TokenVectors]:
        if isinstance(texts, str) or any(len(text) > _CHARACTERS_KEPT for text in texts):
            return _encode_tokens(encoder, texts)
        keys = [_key(text) for text in texts]
        if not all(key in self._places for key in keys):
            self._catch_up()
        missing = {key: text for key, text in zip(keys, texts) if key not in self._places}
        if missing:
            self._append(list(missing), _encode_tokens(encoder, list(missing.values())))
        if not keys:
            return []
        with self._data.open("rb") as file:
            return [self._read(file, *self._places[key]) for key in keys]

    def _read(self, file: BinaryIO, start: int, n: int) -> TokenVectors:
        file.seek(start)
        vectors = np.fromfile(file, np.float32, (n + 1) * MiniLMEncoder.dim).reshape(n + 1, MiniLMEncoder.dim)
        spans = np.fromfile(file, np.int32, 2 * n).reshape(n, 2)
        return TokenVectors(vectors[0], vectors[1:], spans, np.fromfile(file, np.float32, n))

    def _catch_up(self) -> None:
        if not self._index.exists() or self._index.stat().st_size // _PLACE.itemsize == self._n_read:
            return
        records = np.fromfile(self._index, dtype=_PLACE, offset=self._n_read * _PLACE.itemsize)
        self._n_read += len(records)
        for record in records:
            self._places[record["key"].tobytes()] = int(record["start"]), int(record["n"])

    def _append(self, keys: Sequence[bytes], read: Sequence[TokenVectors]) -> None:
        with self._index.open("ab") as index, self._data.open("ab") as data:
            fcntl.flock(index, fcntl.LOCK_EX)  # given back when the file is closed
            start = data.seek(0, os.SEEK_END)
            records = np.zeros(len(keys), dtype=_PLACE)
            for row, (key, one) in enumerate(zip(keys, read)):
                whole = b"".join(part.tobytes() for part in (one.whole, one.vectors, one.spans, one.rarity))
                self._places[key] = start, len(one.spans)
                records[row] = np.void(key), start, len(one.spans)
                data.write(whole)
                start += len(whole)
            data.flush()  # before the index: what it names is there
            index.write(records.tobytes())
            index.flush()


@contextmanager
def remembering(folder: Path) -> Iterator[None]:
    """Within, every `MiniLMEncoder` remembers through `folder`, and `open` gives the one that is open."""
    file, token_file = VectorFile(folder / "vectors.bin"), TokenFile(folder)
    opened: dict[Path, MiniLMEncoder] = {}

    def open_(cls: type[MiniLMEncoder], cache_dir: Path | None = None, *, n_threads: int = 0) -> MiniLMEncoder:
        # With one thread, the calling one: workers share the cores, and a forked process has no other threads.
        weights = sentence_encoder.model_dir()
        if weights not in opened:
            opened[weights] = _open(cls, cache_dir, n_threads=1)
        return opened[weights]

    def encode(self: MiniLMEncoder, texts: Sequence[str]) -> Any:
        return file.encode(self, texts)

    def encode_tokens(self: MiniLMEncoder, texts: Sequence[str]) -> list[TokenVectors]:
        return token_file.encode_tokens(self, texts)

    with mock.patch.multiple(MiniLMEncoder, open=classmethod(open_), encode=encode, encode_tokens=encode_tokens):
        yield


@contextmanager
def forgetting() -> Iterator[None]:
    """Within, the encoder is the real one again."""
    with mock.patch.multiple(MiniLMEncoder, open=classmethod(_open), encode=_encode, encode_tokens=_encode_tokens):
        yield
