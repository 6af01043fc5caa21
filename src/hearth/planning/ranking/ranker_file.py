"""Stores a student as one file: all it was taught and the weights solved from it, written at once or not at all.

Statistics are left out: they are sums over the readings kept, and are restored from them to the last bit. Requests are
left out too; what is kept of them are rounded vectors and hashed words.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearth.atomic_files import replacing
from hearth.errors import StoreCorruptError, StoreError, StoreVersionError, ToolError
from hearth.models.quantize import packed, unpacked
from hearth.planning.ranking.examples import Taught
from hearth.planning.ranking.features import FloatRows, Reading, ReadingOptions
from hearth.planning.ranking.logistic import Weigher
from hearth.planning.ranking.ranker_options import StudentOptions
from hearth.protocols import Proposal
from hearth.storage.connections import opened_bytes, sealed_bytes

FILE_NAME = "student.npz"
FORMAT_VERSION = 3
_NOTHING = np.zeros((0, 0), dtype=np.int16)
Solved = tuple[Sequence[str], FloatRows]
"""Names of outputs, and weights as `Heads.solved` gives them."""


@dataclass(frozen=True, slots=True)
class Kept:
    """All parts of a student, except the encoder, the tools on offer and the model it adopted."""

    options: StudentOptions
    fingerprint: str
    """Fingerprint of the reader."""
    taught: Mapping[str, Taught]
    heads: Solved
    text_vectors: Mapping[str, FloatRows]
    """Vectors of the tools' texts."""
    joining: Sequence[Weigher | None] | None
    n_since_fit: int
    proposer: str
    """Fingerprint of the adopted model; empty for none."""
    held: Mapping[str, Proposal]
    prior: str = ""
    """Digest of the prior that is in the solved weights; empty for none."""


def write(folder: Path, kept: Kept, base: Path | None = None) -> None:
    """Write a student to `folder`.

    Args:
        base: Folder of another saved student: only what differs from it is written. It must stay as it is.

    Raises:
        StoreFullError, StoreError: The folder is as before.
    """
    found = _Base(*_read(base), os.path.relpath(base, folder)) if base is not None else None
    parts, header = _parts(kept, found)
    parts["header"] = np.frombuffer(json.dumps(header).encode("utf-8", "surrogatepass"), dtype=np.uint8)
    path = folder / FILE_NAME
    packed = io.BytesIO()
    np.savez(packed, allow_pickle=False, **parts)
    with replacing(path, "save the student to") as file:
        file.write(sealed_bytes(path, packed.getvalue()))


def read(folder: Path) -> Kept:
    """Read a student. Raises: StoreError, StoreCorruptError, StoreVersionError."""
    return _read(folder)[0]


class _Base(NamedTuple):
    kept: Kept
    sha256: str
    path: str
    """Path relative to the folder of the student that rests on it."""


def _read(folder: Path) -> tuple[Kept, str]:
    """Return the student and its file's hash."""
    path = folder / FILE_NAME
    try:
        raw = opened_bytes(path)
        with np.load(io.BytesIO(raw), allow_pickle=False) as file:
            header = json.loads(file["header"].tobytes().decode("utf-8", "surrogatepass"))
            if header["version"] != FORMAT_VERSION:
                raise StoreVersionError(
                    f"{str(path)!r} has version {header['version']!r}, this Hearth reads {FORMAT_VERSION}; "
                    "learn again from the demonstrations"
                )
            base = _read_base(folder, header["base"]) if header["base"] else None
            parts = {name: _loosened(file[name], header["shapes"][name]) for name in _PARTS}
            return _kept(header, parts, base), hashlib.sha256(raw).hexdigest()
    except OSError as error:
        raise StoreError(f"cannot read a student from {str(path)!r}: {error.strerror or error}") from None
    except (ToolError, ValueError, KeyError, TypeError, IndexError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise StoreCorruptError(
            f"{str(path)!r} is damaged ({error}); remove it and learn again from the demonstrations"
        ) from None


def _read_base(folder: Path, said: Mapping[str, str]) -> Kept:
    found, sha256 = _read(folder / said["path"])
    if sha256 != said["sha256"]:
        raise StoreCorruptError(
            f"{str(folder / FILE_NAME)!r} rests on the student in {str(folder / said['path'])!r}, which has changed; "
            "restore that folder, or learn again from the demonstrations"
        )
    return found


def check_fingerprint(folder: Path, found: str, wanted: str) -> None:
    """Compare the fingerprints. Raises: StoreVersionError: the file's readings were made otherwise."""
    if found != wanted:
        raise StoreVersionError(
            f"{str(folder / FILE_NAME)!r} was learnt over {found!r}, requests are now read as {wanted!r}; "
            "learn again from the demonstrations"
        )


_PARTS = ("vectors", "words", "tools", "weights")


def _parts(kept: Kept, base: _Base | None) -> tuple[dict[str, NDArray[np.uint8]], dict[str, object]]:
    before = base.kept if base is not None else None
    known = before.taught if before is not None else {}
    taught = {id: one for id, one in sorted(kept.taught.items()) if id not in known or not _is_same(one, known[id])}
    known_texts = before.text_vectors if before is not None else {}
    texts = [text for text in kept.text_vectors if text not in known_texts]
    exponent, weights = _keys(kept.heads, before.heads if before else None)
    arrays = {
        **_encoded([one.reading for one in taught.values()]),
        "tools": np.array([kept.text_vectors[text] for text in texts], dtype=np.float32).view(np.int16),
        "weights": weights,
    }
    header: dict[str, object] = {
        "version": FORMAT_VERSION,
        "base": {"path": base.path, "sha256": base.sha256} if base is not None else None,
        "gone": sorted(known.keys() - kept.taught.keys()),
        "shapes": {name: array.shape for name, array in arrays.items()},
        "exponent": exponent,
        "options": asdict(kept.options),
        "fingerprint": kept.fingerprint,
        **_lessons(taught),
        "outputs": list(kept.heads[0]),
        "tool_texts": list(kept.text_vectors),
        "fresh_texts": texts,
        "joining": [_listed(weigher) for weigher in kept.joining] if kept.joining is not None else None,
        "n_since_fit": kept.n_since_fit,
        "proposer": kept.proposer,
        "prior": kept.prior,
        "held": {
            id: [dict(p.tools), [[list(s), log] for s, log in p.sequences], [[*pair, v] for pair, v in p.link.items()]]
            for id, p in kept.held.items()
        },
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


def _kept(header: Mapping[str, Any], parts: Mapping[str, NDArray[np.int16]], base: Kept | None) -> Kept:

    options = StudentOptions(**{**header["options"], "reading": ReadingOptions(**header["options"]["reading"])})
    taught = dict(base.taught) if base is not None else {}
    for id in header["gone"]:
        del taught[id]
    taught.update(_taught(header, parts))
    heads = _weights(header["outputs"], header["exponent"], parts["weights"], base.heads if base else None)
    fresh = dict(zip(header["fresh_texts"], parts["tools"].view(np.float32)))
    texts = {**(base.text_vectors if base is not None else {}), **fresh}
    return Kept(
        options,
        header["fingerprint"],
        dict(sorted(taught.items())),
        heads,
        {text: texts[text] for text in header["tool_texts"]},
        [_weigher(listed) for listed in header["joining"]] if header["joining"] is not None else None,
        int(header["n_since_fit"]),
        header["proposer"],
        {
            id: Proposal(
                tools,
                tuple((tuple(sequence), log) for sequence, log in sequences),
                {(a, b): value for a, b, value in links},
            )
            for id, (tools, sequences, links) in header["held"].items()
        },
        str(header.get("prior", "")),
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


def _is_same(one: Taught, other: Taught) -> bool:
    if (one.sequence, one.links, one.act_tools) != (other.sequence, other.links, other.act_tools):
        return False
    mine, theirs = one.reading, other.reading
    is_same = one.asked == other.asked and np.array_equal(mine.vectors, theirs.vectors)
    return is_same and np.array_equal(mine.words, theirs.words)


# ── Weights ───────────────────────────────────────────────────────────────────────────────────────────────


def _keys(solved: Solved, base: Solved | None) -> tuple[int, NDArray[np.int16]]:
    """Return weights as whole numbers in the order of their values, less those of the base; and their exponent."""
    exponent, halves = packed(solved[1])
    return exponent, _key(halves) - _base_keys(solved[0], solved[1].shape, base)


def _weights(outputs: Sequence[str], exponent: int, keys: NDArray[np.int16], base: Solved | None) -> Solved:
    if keys.ndim != 2 or keys.shape[1] != len(outputs):
        raise ValueError("parts do not fit each other")
    whole = keys + _base_keys(outputs, keys.shape, base)  # wraps around as the difference did
    bits = np.where(whole < 0, np.abs(whole.astype(np.int32)) | 0x8000, whole).astype(np.uint16)
    return outputs, unpacked(exponent, bits.view(np.float16))


def _base_keys(outputs: Sequence[str], shape: tuple[int, ...], base: Solved | None) -> NDArray[np.int16]:
    """Return the base's keys in the order of `outputs`; 0 where it has none."""
    found = np.zeros(shape, dtype=np.int16)
    if base is not None and len(base[1]) == shape[0]:
        place = {name: k for k, name in enumerate(base[0])}
        here = [k for k, name in enumerate(outputs) if name in place]
        found[:, here] = _key(packed(base[1])[1])[:, [place[outputs[k]] for k in here]]
    return found


def _key(halves: NDArray[np.float16]) -> NDArray[np.int16]:
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
