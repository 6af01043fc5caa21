"""Stores a student as one file: all it was taught and the weights solved from it, written at once or not at all.

Statistics are left out: they are sums over the readings kept, and are restored from them to the last bit. Requests are
left out too; what is kept of them are rounded vectors and hashed words.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearth.atomic_files import replacing
from hearth.errors import StoreCorruptError, StoreError, StoreVersionError, ToolError
from hearth.models.quantize import packed, unpacked
from hearth.planning.ranking.examples import Taught
from hearth.planning.ranking.features import FloatRows, Reading, ReadingOptions
from hearth.planning.ranking.logistic import Weigher
from hearth.planning.ranking.ranker_options import StudentOptions
from hearth.storage.connections import opened_bytes, sealed_bytes

FILE_NAME = "student.npz"
FORMAT_VERSION = 4
_NOTHING = np.zeros((0, 0), dtype=np.int16)
Solved = tuple[Sequence[str], FloatRows]
"""Names of outputs, and weights as `Heads.solved` gives them."""


@dataclass(frozen=True, slots=True)
class Kept:
    """All parts of a student, except the encoder and the tools on offer."""

    options: StudentOptions
    fingerprint: str
    """Fingerprint of the reader."""
    taught: Mapping[str, Taught]
    heads: Solved
    text_vectors: Mapping[str, FloatRows]
    """Vectors of the tools' texts."""
    joining: Sequence[Weigher | None] | None
    n_since_fit: int


def write(folder: Path, kept: Kept) -> None:
    """Write a student to `folder`. Raises: StoreFullError, StoreError: The folder is as before."""
    parts, header = _parts(kept)
    parts["header"] = np.frombuffer(json.dumps(header).encode("utf-8", "surrogatepass"), dtype=np.uint8)
    path = folder / FILE_NAME
    packed = io.BytesIO()
    np.savez(packed, allow_pickle=False, **parts)
    with replacing(path, "save the student to") as file:
        file.write(sealed_bytes(path, packed.getvalue()))


def read(folder: Path) -> Kept:
    """Read a student. Raises: StoreError, StoreCorruptError, StoreVersionError."""
    path = folder / FILE_NAME
    try:
        raw = opened_bytes(path)
        with np.load(io.BytesIO(raw), allow_pickle=False) as file:
            header = json.loads(file["header"].tobytes().decode("utf-8", "surrogatepass"))
            if header["version"] != FORMAT_VERSION:
                raise StoreVersionError(
                    f"{str(path)!r} has version {header['version']!r}, this Hearth reads {FORMAT_VERSION} "
                    "alone; learn again from the demonstrations"
                )
            return _kept(header, {name: _loosened(file[name], header["shapes"][name]) for name in _PARTS})
    except OSError as error:
        raise StoreError(f"cannot read a student from {str(path)!r}: {error.strerror or error}") from None
    except (ToolError, ValueError, KeyError, TypeError, IndexError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise StoreCorruptError(
            f"{str(path)!r} is damaged ({error}); remove it and learn again from the demonstrations"
        ) from None


def check_fingerprint(folder: Path, found: str, wanted: str) -> None:
    """Compare the fingerprints. Raises: StoreVersionError: the file's readings were made otherwise."""
    if found != wanted:
        raise StoreVersionError(
            f"{str(folder / FILE_NAME)!r} was learnt over {found!r}, requests are now read as {wanted!r}; "
            "learn again from the demonstrations"
        )


_PARTS = ("vectors", "words", "tools", "weights")


def _parts(kept: Kept) -> tuple[dict[str, NDArray[np.uint8]], dict[str, object]]:
    taught = dict(sorted(kept.taught.items()))
    exponent, halves = packed(kept.heads[1])
    arrays = {
        **_encoded([one.reading for one in taught.values()]),
        "tools": np.array(list(kept.text_vectors.values()), dtype=np.float32).view(np.int16),
        "weights": _key(halves),
    }
    header: dict[str, object] = {
        "version": FORMAT_VERSION,
        "shapes": {name: array.shape for name, array in arrays.items()},
        "exponent": exponent,
        "options": asdict(kept.options),
        "fingerprint": kept.fingerprint,
        **_lessons(taught),
        "outputs": list(kept.heads[0]),
        "tool_texts": list(kept.text_vectors),
        "joining": [_listed(weigher) for weigher in kept.joining] if kept.joining is not None else None,
        "n_since_fit": kept.n_since_fit,
    }
    return {name: _squeezed(array) for name, array in arrays.items()}, header


def _encoded(readings: Sequence[Reading]) -> dict[str, NDArray[np.int16]]:
    """Put together the encoder's vectors of the requests that are taught."""
    return {
        "vectors": np.concatenate([reading.vectors for reading in readings]) if readings else _NOTHING,
        "words": np.concatenate([reading.words for reading in readings]) if readings else _NOTHING,
    }


def _lessons(taught: Mapping[str, Taught]) -> dict[str, object]:
    """Write down what is taught, each tool as its place among the names."""
    names = sorted({tool for one in taught.values() for tool in one.sequence})
    place = {name: k for k, name in enumerate(names)}
    return {
        "names": names,
        "ids": list(taught),
        "sequences": [[place[tool] for tool in one.sequence] for one in taught.values()],
        "links": [sorted(one.links) for one in taught.values()],
        "acts": [[[place[tool] for tool in tools] for tools in one.act_tools] for one in taught.values()],
        "asked": [sorted(place[tool] for tool in one.asked) for one in taught.values()],
    }


def _kept(header: Mapping[str, Any], parts: Mapping[str, NDArray[np.int16]]) -> Kept:
    options = StudentOptions(**{**header["options"], "reading": ReadingOptions(**header["options"]["reading"])})
    return Kept(
        options,
        header["fingerprint"],
        dict(sorted(_taught(header, parts).items())),
        _weights(header["outputs"], header["exponent"], parts["weights"]),
        dict(zip(header["tool_texts"], parts["tools"].view(np.float32), strict=True)),
        [_weigher(listed) for listed in header["joining"]] if header["joining"] is not None else None,
        int(header["n_since_fit"]),
    )


def _taught(header: Mapping[str, Any], parts: Mapping[str, NDArray[np.int16]]) -> dict[str, Taught]:
    names, vectors, words = header["names"], parts["vectors"], parts["words"]
    taught, start = {}, 0
    for k, id in enumerate(header["ids"]):
        act_tools = tuple(tuple(names[place] for place in tools) for tools in header["acts"][k])
        end = start + len(act_tools) + (len(act_tools) > 1)
        if end > min(len(vectors), len(words)):
            raise ValueError("parts do not fit each other")
        sequence = tuple(names[place] for place in header["sequences"][k])
        links = frozenset((int(a), int(b)) for a, b in header["links"][k])
        asked = frozenset(names[place] for place in header["asked"][k])
        taught[id] = Taught(sequence, links, Reading(vectors[start:end], words[start:end]), act_tools, asked)
        start = end
    return taught


# ── Weights ───────────────────────────────────────────────────────────────────────────────────────────────


def _weights(outputs: Sequence[str], exponent: int, keys: NDArray[np.int16]) -> Solved:
    if keys.ndim != 2 or keys.shape[1] != len(outputs):
        raise ValueError("parts do not fit each other")
    bits = np.where(keys < 0, np.abs(keys.astype(np.int32)) | 0x8000, keys).astype(np.uint16)
    return outputs, unpacked(exponent, bits.view(np.float16))


def _key(halves: NDArray[np.float16]) -> NDArray[np.int16]:
    """Return weights as whole numbers in the order of their values, which pack better."""
    bits = halves.view(np.uint16).astype(np.int32)
    return np.where(bits & 0x8000, -(bits & 0x7FFF), bits).astype(np.int16)


def _listed(weigher: Weigher | None) -> list[list[float]] | None:
    return None if weigher is None else [part.tolist() for part in (weigher.mean, weigher.spread, weigher.weights)]


def _weigher(listed: Sequence[Sequence[float]] | None) -> Weigher | None:
    return None if listed is None else Weigher(*(np.array(part, dtype=np.float64) for part in listed))


def _squeezed(values: NDArray[np.int16]) -> NDArray[np.uint8]:
    """Pack the low bytes, then the high bytes: the latter are nearly all the same."""
    raw = np.ascontiguousarray(values).astype("<i2").view(np.uint8).reshape(-1, 2)
    return np.frombuffer(zlib.compress(raw.T.tobytes(), 1), dtype=np.uint8)


def _loosened(part: NDArray[np.uint8], shape: Sequence[int]) -> NDArray[np.int16]:
    raw = np.frombuffer(zlib.decompress(part.tobytes()), dtype=np.uint8).reshape(2, -1)
    return np.ascontiguousarray(raw.T).view("<i2").astype(np.int16).reshape(shape)
