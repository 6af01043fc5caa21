"""Heads: what they predict, what they refuse, and their files."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hearth.errors import StoreCorruptError, StoreError, StoreFullError, StoreVersionError
from hearth.models import ridge as module
from hearth.models.ridge import N_BITS, UNIT, Heads, packed, rounded, unpacked


def some(n: int = 30, n_features: int = 50, seed: int = 0) -> tuple[NDArray[np.float32], list[dict[str, float]]]:
    drawn = np.random.default_rng(seed)
    vectors = drawn.normal(size=(n, 8))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    targets = [{"left" if vector[0] < 0 else "right": 1.0} for vector in vectors]
    return np.rint(np.maximum(vectors @ drawn.normal(size=(8, n_features)), 0) * 800).astype(np.float32), targets


def test_prediction_is_the_ridge_solution() -> None:
    features, targets = some()
    heads = Heads(50, ridge=0.2)
    heads.learn(features, targets)
    x = features.astype(np.float64) / UNIT
    y = np.array([[target.get(name, 0.0) for name in heads.outputs] for target in targets])
    wanted = np.linalg.solve(x.T @ x + 0.2 * np.eye(50), x.T @ y)
    assert np.abs(x @ (heads.weights * UNIT) - x @ wanted).max() < 1e-6
    assert np.abs(heads.predict(features) - x @ wanted).max() < 0.01


def test_a_weight_counts_as_that_many_demonstrations() -> None:
    features, targets = some(4)
    thrice, weighted = Heads(50), Heads(50)
    thrice.learn(np.repeat(features, 3, axis=0), [t for t in targets for _ in range(3)])
    weighted.learn(features, targets, [3.0] * 4)
    assert np.abs(thrice.weights - weighted.weights).max() * UNIT < 1e-9


@pytest.mark.parametrize("size", [1, 3])
def test_left_out_predictions_equal_learning_without_the_rows(size: int) -> None:
    features, targets = some()
    heads = Heads(50)
    heads.learn(features, targets)
    left_out = heads.leave_out(features, targets, None if size == 1 else [size] * (30 // size))
    for first in (0, 6, 27):
        gone = list(range(first, first + size))
        others = [k for k in range(30) if k not in gone]
        without = Heads(50)
        without.learn(features[others], [targets[k] for k in others])
        columns = [without.outputs.index(name) for name in heads.outputs]
        assert np.abs(features[gone] @ without.weights[:, columns] - left_out[gone]).max() < 1e-4


@pytest.mark.parametrize("n", [1, 30], ids=["a few", "many"])
def test_rows_are_left_out_of_what_is_held_now(n: int) -> None:
    """Whatever was made to leave rows out before, and however few were learnt or removed since."""
    features, targets = some()
    heads, fresh = Heads(50), Heads(50)
    heads.learn(features, targets)
    heads.leave_out(features[:1], targets[:1])
    more, their_targets = -features[::-1][:n], targets[:n]
    heads.learn(more, their_targets)
    fresh.learn(np.vstack([features, more]), [*targets, *their_targets])
    assert np.abs(heads.leave_out(features, targets) - fresh.leave_out(features, targets)).max() < 1e-4
    heads.remove(more, their_targets)
    fresh.remove(more, their_targets)
    fresh.renew()
    heads.renew()
    assert np.abs(heads.leave_out(features, targets) - fresh.leave_out(features, targets)).max() < 1e-4


def test_decay_lets_a_changed_preference_win() -> None:
    features, _ = some(1)
    faithful, decayed = Heads(50), Heads(50)
    for heads in (faithful, decayed):
        heads.learn(np.repeat(features, 20, axis=0), [{"old": 1.0}] * 20)
    decayed.decay(0.05)
    for heads in (faithful, decayed):
        heads.learn(np.repeat(features, 3, axis=0), [{"new": 1.0}] * 3)
    old, new = faithful.predict(features)[0]
    assert old > new
    old, new = decayed.predict(features)[0]
    assert new > old


def test_one_demonstration_needs_no_new_solution() -> None:
    features, targets = some()
    heads = Heads(50)
    heads.learn(features, targets)
    heads.predict(features)
    heads.learn(features[:1], [{"third": 1.0}])
    assert heads.predict(features[:1]).shape == (1, 3)
    assert heads.n_solved == 1


def test_an_inverse_that_drifted_is_solved_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    features, targets = some()
    heads = Heads(50)
    heads.learn(features, targets)
    heads.predict(features)
    monkeypatch.setattr(module, "_N_FRESH", 2)
    monkeypatch.setattr(module, "_TOLERANCE", 0.0)  # any residual is too much
    heads.learn(features[:5], targets[:5])
    heads.predict(features)
    assert heads.n_solved == 2


def test_an_output_leaves_with_its_last_demonstration() -> None:
    features, targets = some()
    heads = Heads(50)
    heads.learn(features, targets)
    heads.learn(features[:1], [{"rare": 1.0}])
    assert heads.column("rare") is not None
    heads.remove(features[:1], [{"rare": 1.0}])
    assert heads.column("rare") is None
    assert heads.predict(features).shape == (30, 2)


def test_what_cannot_be_learnt_is_refused_and_changes_nothing() -> None:
    features, targets = some()
    heads = Heads(50)
    heads.learn(features, targets)
    before = heads.statistics()
    with pytest.raises(ValueError, match=r"shape \(30, 49\) and 30 targets do not fit; expected \[n, 50\]"):
        heads.learn(features[:, 1:], targets)
    with pytest.raises(ValueError, match="whole numbers"):
        heads.learn(features + 0.5, targets)
    with pytest.raises(ValueError, match="whole numbers"):
        heads.learn(features * np.nan, targets)
    with pytest.raises(ValueError, match="weights must be 30 finite numbers"):
        heads.learn(features, targets, [-1.0] * 30)
    with pytest.raises(ValueError, match="targets must be finite"):
        heads.learn(features[:1], [{"left": float("inf")}])
    with pytest.raises(ValueError, match="exceed what can be added exactly; decay them first"):
        heads.learn(features[:1] * 2**20, targets[:1])
    with pytest.raises(ValueError, match="cannot take 1 of output 'unknown' away; 0 was learnt"):
        heads.remove(features[:1], [{"unknown": 1.0}])
    with pytest.raises(ValueError, match="they were not learnt with this weight"):
        heads.remove(features[:1] * 100, targets[:1])
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        heads.decay(0)
    with pytest.raises(ValueError, match="must be positive"):
        Heads(50, ridge=0)
    assert all(np.array_equal(a, b) for a, b in zip(before, heads.statistics()))


def test_other_features_are_not_merged() -> None:
    with pytest.raises(ValueError, match="cannot be merged into"):
        Heads(50, fingerprint="a").merge(Heads(50, fingerprint="b"))


def test_a_damaged_or_foreign_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "heads.npz"
    with pytest.raises(StoreError, match="cannot read what was learnt"):
        Heads.load(path)
    features, targets = some()
    heads = Heads(50, fingerprint="seed 0")
    heads.learn(features, targets)
    heads.save(path)
    with pytest.raises(StoreVersionError, match="learnt over features 'seed 0', these are 'seed 1'"):
        Heads.load(path, "seed 1")
    whole = path.read_bytes()
    for damaged in (whole[:100], b"", whole.replace(b"left", b"lxft"), b"no file of this kind"):
        path.write_bytes(damaged)
        with pytest.raises(StoreCorruptError, match="is damaged"):
            Heads.load(path)


def test_a_file_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "heads.npz"
    monkeypatch.setattr(module, "FORMAT_VERSION", 99)
    Heads(5).save(path)
    monkeypatch.undo()
    with pytest.raises(StoreVersionError, match="has version 99, this Hearth reads 1"):
        Heads.load(path)


def test_a_full_disk_leaves_the_file_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "heads.npz"
    Heads(5).save(path)
    before = path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreFullError, match="No space left on device; it is as before"):
        Heads(6).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_statistics_are_saved_as_small_integers(tmp_path: Path) -> None:
    path = tmp_path / "heads.npz"
    features, targets = some(n_features=400)
    heads = Heads(400)
    heads.learn(features, targets)
    heads.save(path)
    with zipfile.ZipFile(path) as file:
        n_bytes = file.getinfo("gram.npy").file_size
    assert n_bytes < 4 * 400 * 401 / 2 + 200


def test_rounded_weights_come_back_from_half_the_bytes_to_the_last_bit() -> None:
    drawn = np.random.default_rng(1)
    weights = drawn.normal(size=(60, 7)) * 10.0 ** drawn.integers(-7, 1, size=(1, 7))
    found = rounded(weights)
    assert np.array_equal(unpacked(*packed(found)), found)
    assert np.array_equal(rounded(found.astype(np.float64)), found)
    assert np.abs(found - weights).max(axis=0) == pytest.approx(0, abs=0.01)
    large = np.abs(weights) > 1e-3
    assert np.abs(found / weights - 1)[large].max() <= 2.0**-N_BITS
    assert not rounded(np.zeros((3, 0))).size
    assert not rounded(np.zeros((3, 2))).any()
