"""Blobs as files, for those who download them: read from the database or the object store once, then by all readers."""

from __future__ import annotations

import tempfile
import threading
from collections import OrderedDict
from pathlib import Path
from typing import BinaryIO

from hearth_cloud.storage.cloud_storage import Storage

_MOST_BYTES = 200_000_000
"""Of all files; containers have a quarter of a gigabyte for them."""


class Spool:
    """Files of the blobs that were asked for last, so that many readers of one share the pages of the system's memory
    and not this process's."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._kept: OrderedDict[str, Path] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, storage: Storage, sha256: str) -> BinaryIO:
        """Open a blob for reading. Raises: NotFound, StoreError."""
        with self._lock:
            path = self._kept.get(sha256)
            if path is None:
                data = storage.read_blob(sha256)
                self._make_room(len(data))
                if self._folder is None:
                    self._folder = tempfile.TemporaryDirectory(prefix="hearth-blobs-")
                path = Path(self._folder.name) / sha256
                path.write_bytes(data)
                self._kept[sha256] = path
            self._kept.move_to_end(sha256)
            return path.open("rb")  # stays readable when the name goes

    def _make_room(self, n_bytes: int) -> None:
        while self._kept and n_bytes + sum(path.stat().st_size for path in self._kept.values()) > _MOST_BYTES:
            self._kept.popitem(last=False)[1].unlink(missing_ok=True)

    def close(self) -> None:
        """Delete all files."""
        with self._lock:
            self._kept.clear()
            if self._folder is not None:
                self._folder.cleanup()
                self._folder = None
