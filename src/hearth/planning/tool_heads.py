"""Which tool a request means, solved exactly from what people said, here and in other homes."""

from __future__ import annotations

import functools
import hashlib
import json
import zipfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from pathlib import Path
from types import MappingProxyType
from typing import IO

import numpy as np
from numpy.typing import NDArray

from hearth.language.request_sketch import N_SKETCH, request_features
from hearth.models.intent_classifier import IntentClassifier
from hearth.protocols import Encoder
from hearth.storage.database import Store

# ── Tool heads ────────────────────────────────────────────────────────────────────────────────────────────
# Says how much each tool is meant by a request: heads that are solved, not descended.
#
# Linear scores over `request_sketch`, one output per tool, one for "nothing that a tool does" and one for talk. What
# ships was learned from real people's requests (`training/tool_heads_train.py`): weights, and a factor of the inverse
# Gram matrix of these requests, which says how well each direction is known. What is taught at home is added in the
# dual: with the prior's weights W0 and inverse P = MᵀM, the rows Φ of home with targets Y and importance C give
#
#     W = W0 + P Φᵀ (C⁻¹ + Φ P Φᵀ)⁻¹ (Y − Φ W0),
#
# the mean of a Gaussian prior at W0 with covariance P after seeing these rows. Where W0 says more than a target asks
# for, there is nothing to learn, so that what is known well is not pulled back. It is solved anew from the rows that
# stand, in the order of their keys, so forgetting one leaves, to the last bit, what never having seen it leaves.
#
# What the shipped classifier of intents says of a request (`models.intent_classifier`) is added beforehand: it is the
# mean function, which no home changes, and what homes teach is what that and W0 together still lack.
#
# Covered: tools that people asked for, or that were taught here. Not covered: a tool that nobody taught; its own
# texts speak for it elsewhere.
#
# Source: Rasmussen & Williams 2006, section 2.1 (weight space and function space); Hoerl & Kennard 1970.

NOTHING = "<nothing>"
"""Output of a request that no tool serves, and target of a demonstration of a refusal."""
TALK = "<talk>"
"""Output of what asks for nothing: thanks, yes, well done."""
PROBE = "remind me to water the plants tomorrow at nine"
"""A prior is used with the encoder it was made with: one that gives this text the same vector."""
_SAME_ENCODER = 0.995
_OWN_WEIGHT = 12.0
"""Importance of a demonstration of this home beside one request of the prior."""
_RIDGE = 0.5
"""Ridge where there is no prior."""
CLASSIFIER_SHARE = 0.6
"""Share of the classifier's log-odds in a score beside those of the weights."""
LOGITS = 10.0
"""Log-odds that count as 1: about the score of what is meant, once a classifier is sure of it."""

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class HeadPrior:
    """What was learned before this home: weights, and a factor of the inverse of what they were solved with."""

    outputs: tuple[str, ...]
    weights: Floats
    """Shape [dim, outputs]."""
    factor: Floats
    """Lower triangle M of shape [dim, dim] with inverse Gram MᵀM, packed row by row in half precision."""
    projection: Floats
    """Of the random cosines, shape [encoder dim, n]."""
    phases: Floats
    probe: Floats
    """Vector of `PROBE`, shape [encoder dim]."""
    base: str = ""
    """Digest of the heads that these were joined from; empty for what ships."""

    @functools.cached_property
    def digest(self) -> str:
        """Return a hash of the weights."""
        return hashlib.sha256(json.dumps(self.outputs).encode() + self.weights.tobytes()).hexdigest()[:16]

    def fits(self, encoder: Encoder) -> bool:
        """Return whether the encoder is the one these weights were made with."""
        if encoder.dim != len(self.probe):
            return False
        return float(encoder.encode([PROBE])[0] @ self.probe) >= _SAME_ENCODER

    def joined(self, outputs: Sequence[str], gram: Floats, moments: Floats) -> HeadPrior:
        """Return these heads as if they had been solved from others' rows, too; takes some ten seconds.

        With G = ΦᵀΦ and B = ΦᵀY of the others: P' = Mᵀ(I + M G Mᵀ)⁻¹M and W' = W + P'(B − G W / (1 − s)). What the
        classifier says of the others' rows is in no sum; it is taken for what the weights say of them, in its share s.
        The new factor is a lower triangle again.

        Args:
            outputs: What the others' rows want.
            gram, moments: G of shape [dim, dim], and B of shape [dim, outputs].
        """
        names = (*self.outputs, *sorted(set(outputs) - set(self.outputs)))
        before = np.zeros((len(gram), len(names)), dtype=np.float32)
        before[:, : len(self.outputs)] = self.weights
        lacking = -(gram @ before) / (1 - CLASSIFIER_SHARE)
        lacking[:, [names.index(name) for name in outputs]] += moments
        factor = self.unpacked_factor()
        seen = (factor @ gram @ factor.T).astype(np.float64)
        seen[np.diag_indices_from(seen)] += 1.0
        moved = np.linalg.solve(np.linalg.cholesky(seen).astype(np.float32), factor)
        packed = np.concatenate([row[: place + 1] for place, row in enumerate(moved)])
        return replace(self, outputs=names, weights=before + moved.T @ (moved @ lacking), factor=packed)

    def write(self, file: IO[bytes], about: Mapping[str, object] = MappingProxyType({})) -> None:
        """Write these heads, in half precision, as `read_prior` reads them. Args: about: Said of them, beside."""
        said = json.dumps({**about, "outputs": self.outputs, "base": self.base}).encode()
        arrays = {name: getattr(self, name).astype(np.float16) for name in ("weights", "factor", "projection")}
        about_bytes = np.frombuffer(said, dtype=np.uint8)
        np.savez(file, about=about_bytes, **arrays, phases=self.phases, probe=self.probe)

    def unpacked_factor(self) -> Floats:
        """Return the factor as a matrix, shape [dim, dim]."""
        dim = len(self.weights)
        matrix = np.zeros((dim, dim), dtype=np.float32)
        start = 0
        for row in range(dim):  # indices of all places at once would take twice the memory of the matrix
            matrix[row, : row + 1] = self.factor[start : start + row + 1]
            start += row + 1
        return matrix


def read_prior(path: Path) -> HeadPrior | None:
    """Read a prior; None when there is none or it is damaged, and the heads know only what is taught here."""
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            about = json.loads(bytes(file["about"]).decode())
            arrays = {name: file[name] for name in ("weights", "factor", "projection", "phases", "probe")}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    weights, outputs = arrays["weights"].astype(np.float32), tuple(about["outputs"])
    dim = 1 + arrays["projection"].shape[0] + N_SKETCH + arrays["projection"].shape[1]
    if weights.shape != (dim, len(outputs)) or arrays["factor"].shape != (dim * (dim + 1) // 2,):
        return None
    rest = {name: arrays[name].astype(np.float32) for name in ("projection", "phases", "probe")}
    return HeadPrior(outputs, weights, arrays["factor"], **rest, base=str(about.get("base", "")))


@functools.cache
def shipped_prior() -> HeadPrior | None:
    """Return the prior that comes with Hearth; None when it is damaged."""
    with as_file(files("hearth.data") / "tool_heads.npz") as path:
        return read_prior(path)


@functools.cache
def shipped_tools() -> frozenset[str]:
    """Return the tools that the shipped heads know from what people said."""
    prior = shipped_prior()
    return frozenset(prior.outputs) if prior is not None else frozenset()


@dataclass(frozen=True, slots=True)
class Said:
    """Requests or clauses, as the heads see them."""

    forms: Sequence[str]
    """Their words, stand-ins for values (`planning.arguments.alignment.form_of`)."""
    vectors: Floats
    """Sentence vectors of the forms, shape [n, encoder dim]."""
    words: Sequence[Sequence[str]]
    """Per form the words in lower case, values as `<kind>`."""

    def of(self, places: Sequence[int]) -> Said:
        """Return some of them."""
        chosen = list(places)
        return Said([self.forms[k] for k in chosen], self.vectors[chosen], [self.words[k] for k in chosen])


@dataclass(frozen=True, slots=True)
class _Taught:
    features: Floats
    beforehand: Floats
    """What the classifier says of it, shape [the prior's outputs]."""
    targets: tuple[str, ...]


class ToolHeads:
    """Heads over one prior, or none, and what is taught here. Not thread-safe."""

    def __init__(self, encoder_dim: int, prior: HeadPrior | None, classifier: IntentClassifier | None = None) -> None:
        """Args: classifier: What it says is added; None where there is no prior."""
        self._prior = prior
        self._classifier = classifier
        self._projection = prior.projection if prior else np.zeros((encoder_dim, 0), dtype=np.float32)
        self._phases = prior.phases if prior else np.zeros(0, dtype=np.float32)
        self._rows: dict[str, _Taught] = {}
        self._solved: tuple[dict[str, int], Floats] | None = None
        self._reach: tuple[dict[str, int], Floats, Floats] | None = None
        """Per key its row; how far an error of each row moves the weights, shape [dim, rows]; what each row lacks with
        all taught, shape [rows, outputs]. For leaving rows out."""
        self._factor: Floats | None = None

    @property
    def has_prior(self) -> bool:
        """Return whether what ships is known already, so that only what is taught at home has to be added."""
        return self._prior is not None

    def teach(self, keys: Sequence[str], said: Said, targets: Sequence[Sequence[str]]) -> None:
        """Add rows; one with a known key replaces the older one.

        Args:
            targets: Per row the tools that were meant; none for nothing.
        """
        rows = zip(keys, self._features(said), self._beforehand(said.forms), targets)
        for key, row, beforehand, tools in rows:
            self._rows[key] = _Taught(row, beforehand, tuple(dict.fromkeys(tools)) or (NOTHING,))
        self._solved = self._reach = None

    def forget(self, keys: Iterable[str]) -> None:
        """Take rows away; unknown keys are ignored."""
        for key in keys:
            self._rows.pop(key, None)
        self._solved = self._reach = None

    def scores(self, said: Said, without: Collection[str] = ()) -> list[Mapping[str, float]]:
        """Return for each request how much every output is meant, about 0 to 1.

        Args:
            without: Keys of rows that are left out: the scores are those of heads that were never taught them.
        """
        place, weights = self.solved()
        features = self._features(said)
        found = features @ weights
        beforehand = self._beforehand(said.forms)
        found[:, : beforehand.shape[1]] += beforehand
        if gone := sorted(self._rows.keys() & set(without)):
            found = found - self._told_by(gone, features)
            others = {name for key, row in self._rows.items() if key not in gone for name in row.targets}
            known = others | set(self._prior.outputs if self._prior else ())
            place = {name: index for name, index in place.items() if name in known}
        self._doubt_nothing(found, beforehand, place)
        return [{name: float(row[index]) for name, index in place.items()} for row in found]

    def _doubt_nothing(self, found: Floats, beforehand: Floats, place: Mapping[str, int]) -> None:
        """Let the classifier's word that nothing is meant count less where a tool is meant that it never heard of."""
        fresh = [index for name, index in place.items() if self._classifier and name not in self._classifier.outputs]
        nothing = place.get(NOTHING, len(place))
        if fresh and nothing < beforehand.shape[1]:
            found[:, nothing] -= np.clip(found[:, fresh].max(axis=1), 0, 1) * np.maximum(beforehand[:, nothing], 0)

    def _features(self, said: Said) -> Floats:
        return request_features(said.vectors, said.words, self._projection, self._phases)

    def _beforehand(self, forms: Sequence[str]) -> Floats:
        """Return what the classifier adds, shape [n, the prior's outputs]."""
        outputs = self._prior.outputs if self._prior is not None else ()
        found = np.zeros((len(forms), len(outputs)), dtype=np.float32)
        if self._classifier is not None:
            shared = [k for k, name in enumerate(outputs) if name in self._classifier.outputs]
            theirs = [self._classifier.outputs.index(outputs[k]) for k in shared]
            found[:, shared] = self._classifier.scores(forms)[:, theirs] * (CLASSIFIER_SHARE / LOGITS)
        return found

    def solved(self) -> tuple[dict[str, int], Floats]:
        """Return the column of each output, and the weights, shape [dim, outputs]."""
        if self._solved is None:
            self._solved = self._solve()
        return self._solved

    def _told_by(self, keys: Sequence[str], features: Floats) -> Floats:
        """Return what rows add to the scores of some features: an exact downdate, by Woodbury's identity."""
        if self._reach is None:
            place, weights = self.solved()
            stood = sorted(self._rows)
            rows = np.stack([self._rows[key].features for key in stood])
            lacking = self._targets(stood, place) - rows @ weights
            reach = self._correction(rows, np.eye(len(stood)))
            self._reach = {key: index for index, key in enumerate(stood)}, reach, lacking.astype(np.float32)
        index, reach, lacking = self._reach
        gone = [index[key] for key in keys]
        rows = np.stack([self._rows[key].features for key in keys])
        left = np.eye(len(gone)) - rows @ reach[:, gone]
        told: Floats = (features @ reach[:, gone]) @ np.linalg.solve(left, lacking[gone])
        return told

    def _targets(self, keys: Sequence[str], place: Mapping[str, int]) -> NDArray[np.float64]:
        """Return what the weights should say of rows, shape [rows, outputs], so that with what is said beforehand it is
        what was meant and nothing else, or as the prior says where that is surer."""
        wanted = np.zeros((len(keys), len(place)), dtype=np.float64)
        for index, key in enumerate(keys):
            targets = self._rows[key].targets
            for name in targets:
                wanted[index, place[name]] = 1 / len(targets)
        if self._prior is not None and keys:
            beforehand = np.stack([self._rows[key].beforehand for key in keys])
            known = np.stack([self._rows[key].features for key in keys]) @ self._prior.weights + beforehand
            n = known.shape[1]
            wanted[:, :n] = np.where(wanted[:, :n] > 0, np.maximum(wanted[:, :n], known), np.minimum(0, known))
            wanted[:, :n] -= beforehand
        return wanted

    def _solve(self) -> tuple[dict[str, int], Floats]:
        known = self._prior.outputs if self._prior else ()
        fresh = {name for row in self._rows.values() for name in row.targets} - set(known)
        place = {name: index for index, name in enumerate((*known, *sorted(fresh)))}
        keys = sorted(self._rows)
        if not keys:
            return place, self._prior.weights if self._prior else np.zeros((self._dim, 0), dtype=np.float32)
        rows = np.stack([self._rows[key].features for key in keys])
        wanted = self._targets(keys, place)
        before = np.zeros((rows.shape[1], len(place)), dtype=np.float32)
        if self._prior is not None:
            before[:, : len(known)] = self._prior.weights
        wanted -= rows @ before
        return place, before + self._correction(rows, wanted)

    def _correction(self, rows: Floats, lacking: NDArray[np.float64]) -> Floats:
        """Return what the rows change in the weights, shape [dim, outputs]; in the smaller of the two spaces."""
        if self._prior is None:
            factor, seen = None, rows / np.float32(np.sqrt(_RIDGE))
        else:
            if self._factor is None:
                self._factor = self._prior.unpacked_factor()
            factor, seen = self._factor, rows @ self._factor.T
        exact = seen.astype(np.float64)
        if len(exact) <= exact.shape[1]:
            kernel = exact @ exact.T
            kernel[np.diag_indices_from(kernel)] += 1 / _OWN_WEIGHT
            parts = [seen.T, np.linalg.solve(kernel, lacking).astype(np.float32)]
        else:  # the same by the identity of Woodbury, dim equations for n
            gram = exact.T @ exact
            gram[np.diag_indices_from(gram)] += 1 / _OWN_WEIGHT
            parts = [np.linalg.solve(gram, exact.T @ lacking).astype(np.float32)]
        if factor is not None:
            parts = [factor.T, *parts]
        moved: Floats = np.linalg.multi_dot(parts) if len(parts) > 1 else parts[0]
        return moved if factor is not None else moved / np.float32(np.sqrt(_RIDGE))

    @property
    def _dim(self) -> int:
        return 1 + len(self._projection) + N_SKETCH + len(self._phases)


# ── Taken heads ───────────────────────────────────────────────────────────────────────────────────────────
# Finds the heads with which a home plans: those that ship, or these joined with a prior that the home took.
#
# The version in use names the prior (`learning.versions.learned_state`); its heads lie beside it, in `learned/`. Not
# covered: joining them (`ranking.sufficient_statistics`): where they are missing, or were joined with other heads
# than those that ship now, a home plans with what ships until it next learns.

_ENDING = "-heads.npz"


def path_of(folder: Path, prior: str) -> Path:
    """Return where the heads of a prior lie, in a folder of learned state."""
    return folder / f"{prior}{_ENDING}"


def prior_of(file: str) -> str:
    """Return the name of the prior that a file is of, be it the prior's own or its heads'."""
    return file.removesuffix(_ENDING)


def prior_in(store: Store) -> str:
    """Return the name of the prior that a home took; empty for none."""
    rows = store.query(
        "SELECT record_json FROM version JOIN meta ON meta.name='learned_version' "
        "AND version.number = CAST(meta.value AS INTEGER)"
    )
    return str(json.loads(rows[0][0]).get("prior", "")) if rows else ""


def read_taken(folder: Path, prior: str) -> HeadPrior | None:
    """Return the heads of a prior; None where there are none for what ships now."""
    base = shipped_prior()
    found = read_prior(path_of(folder, prior)) if prior and base is not None else None
    return found if found is not None and base is not None and found.base == base.digest else None
