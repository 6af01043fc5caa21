"""A student as one file: everything it was taught and the weights solved from it, written at once or not at all.

Statistics are left out: they are sums over the readings kept, and come back from them to the last bit. Requests are
left out too; what is kept of them are rounded vectors and hashed words.
"""

from __future__ import annotations

import errno
import json
import os
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hearth.errors import StoreCorruptError, StoreError, StoreFullError, StoreVersionError
from hearth.models.heads import packed, unpacked
from hearth.planning.reading import FloatRows, Reading, ReadingOptions
from hearth.planning.taught import Taught
from hearth.planning.weighing import Weigher
from hearth.protocols import Proposal

if TYPE_CHECKING:
    from hearth.planning.student import StudentOptions

FILE_NAME = "student.npz"
FORMAT_VERSION = 1
Solved = tuple[Sequence[str], FloatRows]
"""Names of outputs, and weights as `Heads.solved` gives them."""


@dataclass(frozen=True, slots=True)
class Kept:
    """All that makes a student, beside the encoder, the tools on offer and the model it adopted."""

    options: StudentOptions
    fingerprint: str
    """Of the reader."""
    taught: Mapping[str, Taught]
    heads: Solved
    clause_heads: Solved
    text_vectors: Mapping[str, FloatRows]
    """Of the tools' texts."""
    joining: Sequence[Weigher | None] | None
    n_since_fit: int
    proposer: str
    """Fingerprint of the adopted model; empty for none."""
    held: Mapping[str, Proposal]


def write(folder: Path, kept: Kept) -> None:
    """Raises: StoreFullError, StoreError: the folder is as before."""
    parts = _arrays(kept)
    parts["header"] = np.frombuffer(json.dumps(_header(kept)).encode("utf-8", "surrogatepass"), dtype=np.uint8)
    path = folder / FILE_NAME
    temporary = folder / f".{FILE_NAME}.{os.getpid()}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **parts)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(folder)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        kind = StoreFullError if error.errno in (errno.ENOSPC, errno.EDQUOT) else StoreError
        raise kind(f"cannot save the student to {str(path)!r}: {error.strerror}; it is as before") from None


def read(folder: Path) -> Kept:
    """Raises: StoreError, StoreCorruptError, StoreVersionError."""
    path = folder / FILE_NAME
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            header = json.loads(file["header"].tobytes().decode("utf-8", "surrogatepass"))
            if header["version"] != FORMAT_VERSION:
                raise StoreVersionError(
                    f"{str(path)!r} has version {header['version']!r}, this Hearth reads {FORMAT_VERSION}; "
                    "learn again from the demonstrations"
                )
            return _kept(header, {name: file[name] for name in file.files if name != "header"})
    except OSError as error:
        raise StoreError(f"cannot read a student from {str(path)!r}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, IndexError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise StoreCorruptError(
            f"{str(path)!r} is damaged ({error}); remove it and learn again from the demonstrations"
        ) from None


def check_fingerprint(folder: Path, found: str, wanted: str) -> None:
    """Raises: StoreVersionError: the file's readings were made otherwise."""
    if found != wanted:
        raise StoreVersionError(
            f"{str(folder / FILE_NAME)!r} was learnt over {found!r}, requests are now read as {wanted!r}; "
            "learn again from the demonstrations"
        )


def sync_folder(folder: Path) -> None:
    """Make a renaming itself survive a power cut."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _header(kept: Kept) -> dict[str, object]:
    ids = sorted(kept.taught)
    taught = [kept.taught[id] for id in ids]
    names = sorted({tool for one in taught for tool in one.sequence})
    place = {name: k for k, name in enumerate(names)}
    return {
        "version": FORMAT_VERSION,
        "options": asdict(kept.options),
        "fingerprint": kept.fingerprint,
        "names": names,
        "ids": ids,
        "sequences": [[place[tool] for tool in one.sequence] for one in taught],
        "links": [sorted(one.links) for one in taught],
        "clauses": [[[place[tool] for tool in tools] for tools in one.clause_tools] for one in taught],
        "outputs": list(kept.heads[0]),
        "clause_outputs": list(kept.clause_heads[0]),
        "tool_texts": list(kept.text_vectors),
        "joining": [_listed(weigher) for weigher in kept.joining] if kept.joining is not None else None,
        "n_since_fit": kept.n_since_fit,
        "proposer": kept.proposer,
        "held": {
            id: [dict(p.tools), [[list(s), log] for s, log in p.sequences], [[*pair, v] for pair, v in p.link.items()]]
            for id, p in kept.held.items()
        },
    }


def _arrays(kept: Kept) -> dict[str, NDArray[Any]]:
    readings = [kept.taught[id].reading for id in sorted(kept.taught)]
    text_exponent, text = packed(kept.heads[1])
    clause_exponent, clause = packed(kept.clause_heads[1])
    tools = list(kept.text_vectors.values())
    return {
        "pooled": _bytes_apart(np.array([reading.pooled for reading in readings], dtype=np.int16)),
        "words": _bytes_apart(np.array([reading.words for reading in readings], dtype=np.int16)),
        "clause_vectors": _bytes_apart(
            np.concatenate([reading.clauses for reading in readings]) if readings else np.zeros((0, 0), dtype=np.int16)
        ),
        "text_weights": text,
        "clause_weights": clause,
        "exponents": np.array([text_exponent, clause_exponent]),
        "tools": np.array(tools, dtype=np.float32),
    }


def _kept(header: Mapping[str, Any], parts: Mapping[str, NDArray[Any]]) -> Kept:
    from hearth.planning.student import StudentOptions  # the student's own module imports this one

    options = StudentOptions(**{**header["options"], "reading": ReadingOptions(**header["options"]["reading"])})
    names = header["names"]
    pooled, words, clauses = (_bytes_joined(parts[name]) for name in ("pooled", "words", "clause_vectors"))
    taught, start = {}, 0
    for k, id in enumerate(header["ids"]):
        clause_tools = tuple(tuple(names[place] for place in tools) for tools in header["clauses"][k])
        end = start + len(clause_tools)
        if end > len(clauses):
            raise ValueError("parts do not fit each other")
        sequence = tuple(names[place] for place in header["sequences"][k])
        links = frozenset((int(a), int(b)) for a, b in header["links"][k])
        taught[id] = Taught(sequence, links, Reading(pooled[k], words[k], clauses[start:end]), clause_tools)
        start = end
    heads = header["outputs"], unpacked(int(parts["exponents"][0]), parts["text_weights"])
    clause_heads = header["clause_outputs"], unpacked(int(parts["exponents"][1]), parts["clause_weights"])
    if any(weights.shape[1] != len(outputs) for outputs, weights in (heads, clause_heads)):
        raise ValueError("parts do not fit each other")
    return Kept(
        options,
        header["fingerprint"],
        taught,
        heads,
        clause_heads,
        dict(zip(header["tool_texts"], parts["tools"])),
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
    )


def _listed(weigher: Weigher | None) -> list[list[float]] | None:
    return None if weigher is None else [part.tolist() for part in (weigher.mean, weigher.spread, weigher.weights)]


def _weigher(listed: Sequence[Sequence[float]] | None) -> Weigher | None:
    return None if listed is None else Weigher(*(np.array(part, dtype=np.float64) for part in listed))


def _bytes_apart(values: NDArray[np.int16]) -> NDArray[np.uint8]:
    """Low bytes, then high bytes, shape [2, *shape]: the latter are nearly all alike and pack to nothing."""
    raw = np.ascontiguousarray(values).astype("<i2").view(np.uint8).reshape(*values.shape, 2)
    return np.ascontiguousarray(np.moveaxis(raw, -1, 0))


def _bytes_joined(parts: NDArray[np.uint8]) -> NDArray[np.int16]:
    raw = np.ascontiguousarray(np.moveaxis(parts, 0, -1))
    return np.asarray(raw.view("<i2")[..., 0], dtype=np.int16)
