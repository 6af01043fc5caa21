"""Encode every text of a fleet once and keep the vectors in files that all processes share."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hearth.agent import shipped_demonstrations
from hearth.cli.invocation import SILENT, Progress
from hearth.planning.ranking.features import Reader
from hearth.planning.repeat_planner import rarity_of
from hearth.protocols import Encoder
from hearth_bench.fleet.habits import Persona
from hearth_bench.fleet.simulated_edge import DEVICES, FloatRows, Texts

_CHUNK = 64


def texts_of(personas: Sequence[Persona]) -> tuple[str, ...]:
    """Return every text that owners with these personas may say, sorted."""
    said = {
        wording.text
        for persona in personas
        for sample in [one for kind in persona.kinds for one in kind.samples] + list(persona.probes)
        for wording in persona.wordings(sample)
    }
    return tuple(sorted(said))


def read_texts(texts: Sequence[str], encoder: Encoder, folder: Path, progress: Progress = SILENT) -> Texts:
    """Encode texts to vectors and features, or load them from `folder` if they are there.

    Raises:
        OSError: The folder cannot be written.
    """
    readers = {device.name: Reader(encoder, device.reading) for device in DEVICES}
    largest = readers[DEVICES[-1].name]
    prints = [reader.fingerprint for reader in readers.values()]
    key = hashlib.sha256("\n".join([*prints, *texts]).encode()).hexdigest()[:16]
    paths = {name: folder / f"texts-{key}-{name}.npy" for name in ("vectors", *readers)}
    if not all(path.exists() for path in paths.values()):
        made: dict[str, list[FloatRows]] = {name: [] for name in paths}
        with progress.stage("Reading what is said", len(texts)) as advance:
            for start in range(0, len(texts), _CHUNK):
                chunk = texts[start : start + _CHUNK]
                made["vectors"].append(encoder.encode(chunk))
                readings = largest.read(chunk)
                for name, reader in readers.items():
                    made[name].append(reader.whole_features([one.seen_by(reader.options) for one in readings]))
                advance(len(chunk))
        folder.mkdir(parents=True, exist_ok=True)
        for name, rows in made.items():
            temporary = paths[name].with_suffix(f".{os.getpid()}.tmp")
            with temporary.open("wb") as file:
                np.save(file, np.concatenate(rows))
            temporary.replace(paths[name])
    loaded = {name: np.load(path, mmap_mode="r") for name, path in paths.items()}
    vectors = loaded.pop("vectors")
    rarity = rarity_of(one.request for one in shipped_demonstrations())
    return Texts({text: k for k, text in enumerate(texts)}, vectors, loaded, rarity)
