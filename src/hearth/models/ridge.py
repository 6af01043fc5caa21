"""Heads solved in closed form, over fixed random features, kept in few bits."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearth.atomic_files import replacing
from hearth.errors import StoreCorruptError, StoreError, StoreVersionError

# ── Quantize ──────────────────────────────────────────────────────────────────────────────────────────────
# Round weights to so few bits that what is saved is what is used, and that similar files differ little.

N_BITS = 7
"""Significant bits of the weights that predict, by default: predictions change by about 1/1000."""


def rounded(weights: NDArray[np.float64], n_bits: int = N_BITS) -> NDArray[np.float32]:
    """Round weights to `n_bits` and the range of half precision."""
    fraction, power = np.frexp(weights.astype(np.float32))
    whole = np.rint(fraction * np.float32(2**n_bits)) / np.float32(2**n_bits)
    return unpacked(*packed(np.ldexp(whole, power).astype(np.float32)))


def packed(weights: NDArray[np.float32]) -> tuple[int, NDArray[np.float16]]:
    """Pack rounded weights into half as many bytes; also return the power of two they were multiplied by."""
    exponent = 12 - int(np.frexp(np.abs(weights).max(initial=0.0))[1])
    return exponent, np.ldexp(weights, exponent).astype(np.float16)


def unpacked(exponent: int, halves: NDArray[np.float16]) -> NDArray[np.float32]:
    """Restore the weights that `packed` was given."""
    return np.asarray(np.ldexp(halves.astype(np.float32), -exponent), dtype=np.float32)


def as_integers(values: NDArray[np.float64], fine: int) -> tuple[int, NDArray[np.signedinteger]]:
    """Return values times a grain as whole numbers of the smallest type that holds them; products of a weight and a
    target are multiples of 1/fine²."""
    grain = next((g for g in (1, fine) if np.array_equal(values * g, np.rint(values * g))), fine**2)
    whole = np.rint(values * grain)
    largest = float(np.abs(whole).max(initial=0))
    return grain, whole.astype(np.int16 if largest < 2**15 else np.int32 if largest < 2**31 else np.int64)


# ── Random features ───────────────────────────────────────────────────────────────────────────────────────
# Units of features in whole numbers, the same to the last bit alone, in a batch, or on any machine.

Floats = NDArray[np.float64]
Rows = NDArray[np.floating] | NDArray[np.signedinteger]

UNIT = 4096
"""Length to which a feature vector of length one is stretched before rounding."""
INPUT_GRAIN = 512
"""Inputs are rounded to multiples of 1/INPUT_GRAIN."""


# ── Ridge ─────────────────────────────────────────────────────────────────────────────────────────────────
# Solve linear heads in closed form: learning one by one, removing or merging equals learning everything at once.
#
# Features are whole numbers, weights and targets multiples of 1/256, so the kept statistics, the Gram matrix A = Σ w
# φφᵀ and the moments B = Σ w φyᵀ, are sums that float64 holds exactly. In whatever order, in whatever chunks, and
# after whatever was added and removed in between, the same demonstrations leave the same statistics to the last bit;
# a removed demonstration leaves no trace at all. Weights W = (A + λI)⁻¹B follow from them: kept up to date by
# low-rank corrections, solved anew when a check of the residual asks for it.
#
# Covered: exact addition, removal, merging of devices, decay, sets of outputs that grow, files that survive a crash.
# Not covered: removing what was never learnt is noticed only where it makes a count negative; after `decay` an older
# demonstration must be removed with its decayed weight, and is then gone up to rounding (1e-13), not to the last bit.
#
# Memory for D features and C outputs: 16 D² + 20 D C bytes, with D = 3,000 and C = 1,000 144 + 60 MB; 4 D C for
# solved weights alone. A file holds the statistics, as integers: 18 + 12 MB.

Target = Mapping[str, float]
"""Output name → wanted value; outputs not named are wanted to be 0."""

FORMAT_VERSION = 1
GRAIN = 256
"""Weights and targets are rounded to multiples of 1/GRAIN."""
_LARGEST = 2.0**44
"""Sums beyond this could leave the range in which float64 adds multiples of GRAIN⁻¹ exactly (2⁵³/256)."""
_N_FRESH = 128
"""Most corrections kept apart before they are folded into the inverse."""
_N_BLANK = 256
"""Most first rows kept as they are when beginning from nothing: no matrix of n_features² is made for them."""
_TOLERANCE = 1e-9
"""Relative residual of the inverse above which it is computed anew."""


class NormalEquations(NamedTuple):
    """The sums that least squares needs."""

    outputs: Sequence[str]
    gram: Floats
    """A, shape [n_features, n_features]."""
    moments: Floats
    """B, shape [n_features, n_outputs]."""


class Heads:
    """Ridge regression of named outputs on whole-number features, kept as sufficient statistics. Not thread-safe.

    Source:
        Recursive least squares: Plackett 1950, https://doi.org/10.1093/biomet/37.1-2.149; as learning without
        forgetting: Zhuang et al. 2022 (ACIL), https://arxiv.org/abs/2205.14922. The low-rank corrections are the
        Sherman-Morrison-Woodbury identity: Woodbury 1950; Golub & Van Loan 2013, section 2.1.4.
    """

    def __init__(self, n_features: int, *, ridge: float = 0.1, fingerprint: str = "") -> None:
        """Make heads that have learnt nothing yet.

        Args:
            ridge: λ for features of length 1, > 0; larger trusts single demonstrations less.
            fingerprint: Says how the features are made; statistics of other features are not merged or loaded.
        """
        if n_features < 1 or not ridge > 0:
            raise ValueError(f"n_features {n_features!r} and ridge {ridge!r} must be positive")
        self.n_features, self.ridge, self.fingerprint = n_features, ridge, fingerprint
        self._lambda = ridge * UNIT**2
        self._gram = np.zeros((n_features, n_features))
        self._moments = np.zeros((n_features, 0))
        self._mass = np.zeros(0)
        self._outputs: dict[str, int] = {}
        self.weight_seen = 0.0
        """Sum of the weights of all demonstrations held."""
        self.can_learn = True
        """False when there are only solved weights, without the statistics."""
        self.n_bits = N_BITS
        """Significant bits of the weights that predict."""
        self.n_solved = 0
        """Number of times the inverse was computed from nothing."""
        self._inverse: Floats | None = None
        self._single: NDArray[np.float32] | None = None
        """The inverse in single precision, once rows are left out: to make it takes ten times as long as to use it."""
        self._is_blank = True
        """True while the inverse is that of λI, and is not written out; all rows are among the fresh ones."""
        self._solution = np.zeros((n_features, 0))
        self._quick: NDArray[np.float32] | None = None
        self._fresh: list[tuple[Floats, Floats, Floats]] = []
        """Rows not yet folded in: features, weights, targets."""
        self._correction: tuple[Floats, Floats] | None = None

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs, in the order of the columns of `predict`."""
        return tuple(self._outputs)

    def column(self, output: str) -> int | None:
        return self._outputs.get(output)

    def statistics(self) -> tuple[Floats, Floats]:
        """Return copies of A [n_features, n_features] and B [n_features, n_outputs]."""
        return self._gram.copy(), self._moments.copy()

    # ── Learning ──────────────────────────────────────────────────────────────────────────────────────────

    def learn(self, features: Rows, targets: Sequence[Target], weights: Sequence[float] | None = None) -> None:
        """Add demonstrations; takes O(k D² + k D C) for k of them.

        Args:
            features: Whole numbers, shape [k, n_features].
            targets: One for each row.
            weights: One for each row, at least 1/256; 1 when left out.
        Raises:
            ValueError: Shapes differ, a value is not finite or not whole; nothing was changed.
        """
        self._change(features, targets, weights, sign=1.0)

    def remove(self, features: Rows, targets: Sequence[Target], weights: Sequence[float] | None = None) -> None:
        """Remove demonstrations, given as they were learnt; what is left equals never having seen them.

        Raises:
            ValueError: As for `learn`, and when more would be taken away than was learnt; nothing was changed.
        """
        self._change(features, targets, weights, sign=-1.0)

    def merge(self, other: Heads) -> None:
        """Add another device's statistics: the result equals having learnt both's demonstrations here.

        Raises:
            ValueError: The other's features or ridge differ, or sums grow too large; nothing was changed.
        """
        self._check_like(other)
        if float(np.max(np.diag(self._gram) + np.diag(other._gram), initial=0)) > _LARGEST:
            raise ValueError("the statistics would exceed what can be added exactly; merge fewer")
        self._outputs_for(other._outputs)
        self._add_all(other, 1.0)

    def part(self, other: Heads) -> None:
        """Remove statistics that were merged: what is left equals never having merged them.

        Raises:
            ValueError: The other's features or ridge differ, or more would be taken than is there; nothing was changed.
        """
        self._check_like(other)
        held = dict(zip(self._outputs, self._mass))
        if any(mass > held.get(name, 0.0) + 1e-9 for name, mass in zip(other._outputs, other._mass)):
            raise ValueError("cannot take these statistics away; they were not merged")
        if np.any(np.diag(self._gram) - np.diag(other._gram) < -1e-6 * UNIT):
            raise ValueError("cannot take these statistics away; they were not merged")
        self._add_all(other, -1.0)
        self._drop_unused()

    def _check_like(self, other: Heads) -> None:
        mine = (self.n_features, self.ridge, self.fingerprint)
        theirs = (other.n_features, other.ridge, other.fingerprint)
        if mine != theirs:
            raise ValueError(
                f"statistics over {theirs!r} cannot be merged into {mine!r}; both devices need the same features"
            )
        if not (self.can_learn and other.can_learn):
            raise ValueError("these heads hold solved weights alone; learn anew from the demonstrations")

    def _add_all(self, other: Heads, sign: float) -> None:
        columns = [self._outputs[name] for name in other._outputs if name in self._outputs]
        theirs = [k for k, name in enumerate(other._outputs) if name in self._outputs]
        self._gram += sign * other._gram
        self._moments[:, columns] += sign * other._moments[:, theirs]
        self._mass[columns] += sign * other._mass[theirs]
        self.weight_seen += sign * other.weight_seen
        self._forget_solution()

    @classmethod
    def of_statistics(
        cls, sums: NormalEquations, mass: Floats, weight_seen: float, *, ridge: float = 0.1, fingerprint: str = ""
    ) -> Heads:
        """Make heads from these sums and the outputs' masses."""
        outputs, gram, moments = sums
        heads = cls(len(gram), ridge=ridge, fingerprint=fingerprint)
        heads._outputs = {name: place for place, name in enumerate(outputs)}
        heads._gram, heads._moments, heads._mass = gram, moments, mass
        heads._solution = np.zeros_like(moments)
        heads.weight_seen = weight_seen
        heads._forget_solution()
        return heads

    def decay(self, factor: float) -> None:
        """Multiply the weight of everything learnt so far by `factor` (0 < factor ≤ 1), for preferences that change."""
        if not 0 < factor <= 1:
            raise ValueError(f"factor {factor!r} must be above 0 and at most 1")
        for statistic in (self._gram, self._moments, self._mass):
            np.divide(np.rint(statistic * (factor * GRAIN)), GRAIN, out=statistic)
        self.weight_seen *= factor
        self._forget_solution()

    def _change(self, features: Rows, targets: Sequence[Target], weights: Sequence[float] | None, sign: float) -> None:
        if not self.can_learn:
            raise ValueError("these heads hold solved weights alone; learn anew from the demonstrations")
        rows, kept = self._checked(features, targets, weights)
        wanted = {name: None for target in targets for name, value in target.items() if np.rint(value * GRAIN)}
        if sign < 0:
            self._check_removal(rows, kept, targets)
        self._outputs_for(wanted)
        values = np.zeros((len(rows), len(self._outputs)))
        for row, target in enumerate(targets):
            for name in target.keys() & wanted.keys():
                values[row, self._outputs[name]] = np.rint(target[name] * GRAIN) / GRAIN
        signed = kept * sign
        touched = np.flatnonzero(values.any(axis=0))
        self._add_gram(rows, signed)
        self._moments[:, touched] += (rows * signed[:, None]).T @ values[:, touched]
        self._mass[touched] += signed @ (values[:, touched] != 0)
        self.weight_seen += float(signed.sum())
        if (self._is_blank or self._inverse is not None) and 4 * len(rows) < self.n_features:
            self._fresh.append((rows, signed, values))
            self._correction = None
            if sum(len(waiting[0]) for waiting in self._fresh) > (_N_BLANK if self._is_blank else _N_FRESH):
                self._fold_in()
        else:
            self._forget_solution()
        if sign < 0:
            self._drop_unused()

    def _checked(
        self, features: Rows, targets: Sequence[Target], weights: Sequence[float] | None
    ) -> tuple[Floats, Floats]:
        rows = np.asarray(features, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_features or len(rows) != len(targets):
            raise ValueError(
                f"features of shape {rows.shape} and {len(targets)} targets do not fit; "
                f"expected [n, {self.n_features}] and n targets"
            )
        if not np.array_equal(rows, np.rint(rows)):
            raise ValueError("features must be finite whole numbers; round them (RandomFeatures does)")
        kept = np.ones(len(rows)) if weights is None else np.rint(np.asarray(weights, dtype=np.float64) * GRAIN) / GRAIN
        if kept.shape != (len(rows),) or not np.all(np.isfinite(kept)) or np.any(kept <= 0):
            raise ValueError(f"weights must be {len(rows)} finite numbers of 1/{GRAIN} or more")
        if any(not np.isfinite(value) for target in targets for value in target.values()):
            raise ValueError("targets must be finite numbers")
        largest = float(np.max(np.diag(self._gram), initial=0)) + float((kept @ (rows * rows)).max(initial=0))
        if largest > _LARGEST:
            raise ValueError("the statistics would exceed what can be added exactly; decay them first")
        return rows, kept

    def _check_removal(self, rows: Floats, kept: Floats, targets: Sequence[Target]) -> None:
        """Refuse a removal that makes a count negative; some errors pass (the module's docstring says which)."""
        taken: dict[str, float] = {}
        for target, weight in zip(targets, kept):
            for name, value in target.items():
                if np.rint(value * GRAIN):
                    taken[name] = taken.get(name, 0.0) + weight
        for name, weight in taken.items():
            held = self._mass[self._outputs[name]] if name in self._outputs else 0.0
            if weight > held + 1e-9:
                raise ValueError(f"cannot take {weight:g} of output {name!r} away; {held:g} was learnt")
        if np.any(np.diag(self._gram) - kept @ (rows * rows) < -1e-6 * UNIT):
            raise ValueError("cannot take these features away; they were not learnt with this weight")

    def _add_gram(self, rows: Floats, signed: Floats) -> None:
        if len(rows) == 1:  # in place by blocks: a whole outer product would be written and read once more
            row = rows[0] * signed[0]
            for start in range(0, self.n_features, 64):
                self._gram[start : start + 64] += row[start : start + 64, None] * rows[0]
        else:
            self._gram += (rows * signed[:, None]).T @ rows

    def _outputs_for(self, names: Mapping[str, object]) -> None:
        fresh = [name for name in names if name not in self._outputs]
        if not fresh:
            return
        for name in fresh:
            self._outputs[name] = len(self._outputs)
        wider = np.zeros((self.n_features, len(fresh)))
        self._moments = np.hstack([self._moments, wider])
        self._mass = np.concatenate([self._mass, np.zeros(len(fresh))])
        self._solution = np.hstack([self._solution, wider])
        self._fresh = [(rows, w, np.hstack([y, np.zeros((len(y), len(fresh)))])) for rows, w, y in self._fresh]
        self._correction = None
        self._quick = None

    def _drop_unused(self) -> None:
        """Remove outputs that no demonstration names any more."""
        used = self._mass > 0
        if used.all():
            return
        self._moments, self._mass, self._solution = self._moments[:, used], self._mass[used], self._solution[:, used]
        self._fresh = [(rows, w, y[:, used]) for rows, w, y in self._fresh]
        names = [name for name, is_used in zip(self._outputs, used) if is_used]
        self._outputs = {name: place for place, name in enumerate(names)}
        self._correction = None
        self._quick = None

    # ── Solving ───────────────────────────────────────────────────────────────────────────────────────────

    def _forget_solution(self) -> None:
        self._inverse, self._single, self._quick, self._correction, self._fresh = None, None, None, None, []
        self._is_blank = False
        if self.weight_seen == 0 and not self._gram.any():
            self._start_blank()

    def _start_blank(self) -> None:
        self._is_blank, self._inverse, self._single = True, None, None
        self._solution = np.zeros((self.n_features, len(self._outputs)))

    def solve(self) -> None:
        """Update the weights now rather than at the next prediction; O(D³ + D² C) after a large change."""
        if not self.can_learn:
            return
        if self._inverse is None and not self._is_blank:
            regular = self._gram.copy()
            regular[np.diag_indices_from(regular)] += self._lambda
            inverse = np.asarray(np.linalg.inv(regular), dtype=np.float64)
            self._inverse = (inverse + inverse.T) / 2  # the corrections rely on its symmetry
            self._single = None
            self._solution = self._inverse @ self._moments
            self._quick = None
            self.n_solved += 1
        if self._quick is None:
            self._quick = rounded(self._solution, self.n_bits)

    def settle(self) -> None:
        """Solve, and fold in the waiting rows: predictions are then at their fastest."""
        self._fold_in()
        self.solve()

    def renew(self) -> None:
        """Solve anew from the statistics, with outputs ordered by name. However the same demonstrations came here, and
        whatever else came and went, the weights are then the same to the last bit."""
        order = sorted(range(len(self._outputs)), key=list(self._outputs).__getitem__)
        names = list(self._outputs)
        self._outputs = {names[column]: place for place, column in enumerate(order)}
        self._moments = np.ascontiguousarray(self._moments[:, order])
        self._mass = self._mass[order]
        self._solution = self._solution[:, order]
        self._forget_solution()
        self.solve()

    def _corrected(self) -> tuple[Floats, Floats] | None:
        """Return rows U and C such that the weights are W + UᵀC (Woodbury), for rows that are not folded in."""
        if self._correction is None and self._fresh:
            rows, signed, values = (np.concatenate(part) for part in zip(*self._fresh))
            moved = self._through_inverse(rows)
            inner = moved @ rows.T
            inner[np.diag_indices_from(inner)] += 1 / signed
            self._correction = moved, np.linalg.solve(inner, values - rows @ self._solution)
        return self._correction

    def _through_inverse(self, rows: Floats) -> Floats:
        return rows / self._lambda if self._inverse is None else rows @ self._inverse

    def _fold_in(self) -> None:
        """Fold all waiting rows into inverse and weights, then check that the inverse still is one."""
        correction = self._corrected()
        if correction is None:
            return
        if self._inverse is None:
            self._inverse = np.diag(np.full(self.n_features, 1 / self._lambda))
            self._is_blank = False
        moved, change = correction
        rows, signed = (np.concatenate(part) for part in list(zip(*self._fresh))[:2])
        inner = moved @ rows.T
        inner[np.diag_indices_from(inner)] += 1 / signed
        self._inverse -= moved.T @ np.linalg.solve(inner, moved)
        self._single = None
        self._solution += moved.T @ change
        self._fresh, self._correction, self._quick = [], None, None
        if self._residual(rows[-1]) > _TOLERANCE:
            self._forget_solution()

    def _residual(self, vector: Floats) -> float:
        """Measure the error of the inverse on a vector: |(A + λI)Pv − v| / |v|."""
        if self._inverse is None or not vector.any():
            return 0.0
        moved = self._inverse @ vector
        back = self._gram @ moved + self._lambda * moved
        return float(np.abs(back - vector).max() / np.abs(vector).max())

    @property
    def weights(self) -> Floats:
        """The solved weights, shape [n_features, n_outputs]."""
        self.solve()
        correction = self._corrected()
        return self._solution + correction[0].T @ correction[1] if correction else self._solution.copy()

    def predict(self, features: Rows) -> NDArray[np.float32]:
        """Return outputs for whole-number features [n, n_features], shape [n, n_outputs]; O(D C) each."""
        self.solve()
        assert self._quick is not None
        predicted = np.asarray(np.asarray(features, dtype=np.float32) @ self._quick, dtype=np.float32)
        correction = self._corrected()
        if correction:
            predicted += ((np.asarray(features, dtype=np.float64) @ correction[0].T) @ correction[1]).astype(np.float32)
        return predicted

    def leave_out(
        self, features: Rows, targets: Sequence[Target], group_sizes: Sequence[int] | None = None
    ) -> NDArray[np.float32]:
        """Predict learnt rows (of weight 1) as if they had not been learnt; O(n D²).

        Args:
            group_sizes: Sizes of groups of consecutive rows left out together (the clauses of one request); None: each
                alone.
        Source:
            Allen 1974 (PRESS), https://doi.org/10.1080/00401706.1974.10489157, for blocks: y − (I − ΦPΦᵀ)⁻¹(y − ŷ).
        """
        self._fold_in()
        self.solve()
        rows = np.asarray(features, dtype=np.float32)
        predicted = rows @ self._solution.astype(np.float32)
        if self._inverse is not None and self._single is None:
            self._single = self._inverse.astype(np.float32)
        moved = rows / self._lambda if self._single is None else rows @ self._single
        wanted = np.zeros_like(predicted)
        for row, target in enumerate(targets):
            for name, value in target.items():
                if name in self._outputs:
                    wanted[row, self._outputs[name]] = value
        residual, start = wanted - predicted, 0
        for size in group_sizes if group_sizes is not None else [1] * len(rows):
            end = start + size
            kept = np.eye(size) - rows[start:end] @ moved[start:end].T
            kept[np.diag_indices(size)] = np.maximum(np.diag(kept), 1e-3)
            residual[start:end] = np.linalg.solve(kept, residual[start:end])
            start = end
        return wanted - residual

    # ── Weights alone ─────────────────────────────────────────────────────────────────────────────────────────

    def solved(self) -> NDArray[np.float32]:
        """Return the weights that predict, shape [n_features, n_outputs]: see `models.ridge.packed`."""
        self.settle()
        assert self._quick is not None
        return self._quick

    @classmethod
    def of_solved(
        cls, outputs: Sequence[str], weights: NDArray[np.float32], *, ridge: float = 0.1, fingerprint: str = ""
    ) -> Heads:
        """Make heads from the `solved` weights of others: they predict the same to the last bit, and learn nothing."""
        heads = cls(len(weights), ridge=ridge, fingerprint=fingerprint)
        heads._outputs = {name: place for place, name in enumerate(outputs)}
        heads._quick = weights
        heads.can_learn = False
        return heads

    @classmethod
    def solved_from(
        cls, sums: NormalEquations, *, ridge: float = 0.1, fingerprint: str = "", n_bits: int = N_BITS
    ) -> Heads:
        """Make heads that predict as those of `of_statistics` do, and learn nothing, in a third of the time and the
        memory, for no inverse is made. The weights are the same before they are rounded up to 1e-9, and so nearly
        always after.

        Args:
            sums: Their matrix A is used up.
        """
        outputs, gram, moments = sums
        gram[np.diag_indices_from(gram)] += ridge * UNIT**2
        solution = np.asarray(np.linalg.solve(gram, moments), dtype=np.float64)
        return cls.of_solved(outputs, rounded(solution, n_bits), ridge=ridge, fingerprint=fingerprint)

    # ── Files ─────────────────────────────────────────────────────────────────────────────────────────────

    def save(self, path: Path) -> None:
        """Write the statistics to `path`, at once or not at all: a crash leaves the file before or the one after.

        Raises:
            StoreFullError: No space left; the file is as before.
            StoreError: It cannot be written; the file is as before.
        """
        header: dict[str, object] = {
            "version": FORMAT_VERSION,
            "n_features": self.n_features,
            "ridge": self.ridge,
            "fingerprint": self.fingerprint,
            "weight_seen": self.weight_seen,
            "outputs": list(self._outputs),
        }
        parts: dict[str, NDArray[np.integer]] = {}
        for name, values in (("gram", self._upper_gram()), ("moments", self._moments), ("mass", self._mass)):
            header[f"{name}_grain"], parts[name] = as_integers(values, GRAIN)
        parts["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        with replacing(path, "save what was learnt to") as file:
            np.savez(file, allow_pickle=False, **parts)

    @classmethod
    def load(cls, path: Path, fingerprint: str | None = None) -> Heads:
        """Read what `save` wrote; every part is checked against its checksum.

        Args:
            fingerprint: Fingerprint of the present features; None takes any.
        Raises:
            StoreError: No such file, or unreadable.
            StoreCorruptError: Damaged or not such a file.
            StoreVersionError: Of another version of Hearth, or learnt over other features.
        """
        try:
            with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                header = json.loads(file["header"].tobytes())
                if header["version"] != FORMAT_VERSION:
                    raise StoreVersionError(
                        f"{str(path)!r} has version {header['version']!r}, this Hearth reads {FORMAT_VERSION}; "
                        "learn again from the demonstrations"
                    )
                heads = cls(int(header["n_features"]), ridge=header["ridge"], fingerprint=header["fingerprint"])
                parts = (
                    np.asarray(file[name], np.float64) / header[f"{name}_grain"] for name in ("gram", "moments", "mass")
                )
                heads._take(header, *parts)
        except OSError as error:
            raise StoreError(f"cannot read what was learnt from {str(path)!r}: {error.strerror or error}") from None
        except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise StoreCorruptError(
                f"{str(path)!r} is damaged ({error}); remove it and learn again from the demonstrations"
            ) from None
        if fingerprint is not None and heads.fingerprint != fingerprint:
            raise StoreVersionError(
                f"{str(path)!r} was learnt over features {heads.fingerprint!r}, these are {fingerprint!r}; "
                "learn again from the demonstrations"
            )
        return heads

    def _upper_gram(self) -> Floats:
        return self._gram[np.triu_indices(self.n_features)]

    def _take(self, header: Mapping[str, object], gram: Floats, moments: Floats, mass: Floats) -> None:
        names = header["outputs"]
        n = self.n_features
        if not isinstance(names, list) or gram.shape != (n * (n + 1) // 2,):
            raise ValueError("parts do not fit each other")
        if moments.shape != (n, len(names)) or mass.shape != (len(names),):
            raise ValueError("parts do not fit each other")
        upper = np.triu_indices(n)
        self._gram[upper] = gram
        self._gram.T[upper] = gram
        self._moments, self._mass = moments, mass
        self._solution = np.zeros_like(self._moments)
        self._outputs = {str(name): place for place, name in enumerate(names)}
        self.weight_seen = float(str(header["weight_seen"]))
        self._forget_solution()
