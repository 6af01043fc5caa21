"""Writes and reads the file of an adapted encoder: its adapter and the heads on it, as half-precision numbers."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

import numpy as np

from hearth.models.encoder.lora_encoder import Array


def packed(adapter: Mapping[str, Array], heads: Mapping[str, Array]) -> bytes:
    """Encode the file."""
    file = io.BytesIO()
    arrays = {f"adapter:{k}": v.astype(np.float16) for k, v in adapter.items()}
    arrays |= {f"head:{k}": v.astype(np.float16) for k, v in heads.items()}
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def unpacked(data: bytes, shapes: Mapping[str, tuple[int, ...]]) -> tuple[dict[str, Array], dict[str, Array]]:
    """Read the adapter and the heads of a file.

    Args:
        shapes: Of the heads that must be there.
    Raises:
        ValueError: It is damaged, or a head is of another shape.
    """
    adapter: dict[str, Array] = {}
    heads: dict[str, Array] = {}
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            for name in file.files:
                kind, _, rest = name.partition(":")
                (adapter if kind == "adapter" else heads)[rest] = file[name].astype(np.float32)
    except (EOFError, zipfile.BadZipFile, AttributeError) as error:
        raise ValueError(f"it is no file of arrays: {error}") from None
    for name, shape in shapes.items():
        if name not in heads or heads[name].shape != shape:
            raise ValueError(f"its part {name!r} is missing or not of shape {shape}")
    return adapter, heads
