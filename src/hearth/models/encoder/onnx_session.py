"""Import onnxruntime, or say how to get it: some platforms have no wheel of it, and a broken one cannot be loaded.
`session_options` sets it as an agent that mostly waits needs it; `cached_session` keeps graphs made on this machine.

Importing this raises MissingExtraError where the library is missing or its compiled part cannot be loaded.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth.errors import MissingExtraError
from hearth.models.encoder.minilm import keep

INSTALL_COMMAND = "pip install 'onnxruntime>=1.20'"

try:
    import onnxruntime as onnxruntime
    from onnxruntime.capi.onnxruntime_pybind11_state import NoSuchFile
except ImportError:
    raise MissingExtraError("the sentence encoder", INSTALL_COMMAND) from None


def session_options(n_threads: int) -> onnxruntime.SessionOptions:
    """Return options under which a waiting agent keeps neither cores nor freed buffers."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Worker threads sleep at once, there is no arena, and no allocation plan is kept for every text length met.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    return options


def start_session(
    graph: bytes | str, n_threads: int, elsewhere: Mapping[str, NDArray[np.generic]] | None = None
) -> onnxruntime.InferenceSession:
    """Start a session of one graph, given whole or by its path; `elsewhere` holds the tensors that it names but does
    not contain."""
    options = session_options(n_threads)
    if elsewhere:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(value) for value in elsewhere.values()]
        options.add_external_initializers(list(elsewhere), values)
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def cached_session(
    path: Path,
    build: Callable[[], bytes],
    n_threads: int,
    elsewhere: Mapping[str, NDArray[np.generic]] | None = None,
) -> onnxruntime.InferenceSession:
    """Start a session of the graph kept at `path`; a missing or damaged one is built first, and kept if it can be.

    The session is given the path: of a graph given whole, onnxruntime keeps the bytes beside its own copy (11 MB for an
    encoder in 8 bits).
    """
    with contextlib.suppress(NoSuchFile):  # a cache that is emptied meanwhile
        if is_whole(path):
            return start_session(str(path), n_threads, elsewhere)
    graph = build()
    keep(path, graph)
    keep(path.with_suffix(".sha256"), hashlib.sha256(graph).hexdigest().encode())
    with contextlib.suppress(NoSuchFile):
        if is_whole(path):
            return start_session(str(path), n_threads, elsewhere)
    return start_session(graph, n_threads, elsewhere)


def is_whole(path: Path) -> bool:
    """Return whether a graph is kept at `path`, and is the one that was built."""
    with contextlib.suppress(OSError, UnicodeError):
        str(path).encode()  # onnxruntime takes no other path
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        return path.with_suffix(".sha256").read_bytes() == found.encode()
    return False
