"""Laws of the heads: order, chunks, removal, merging and crashes leave no trace in what was learnt."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hearth.models.ridge import Heads, Target

N_INPUTS, N_FEATURES = 6, 40
DIRECTIONS = np.random.default_rng(1).integers(-3, 4, size=(N_INPUTS, N_FEATURES))

Row = tuple[list[float], Target, float]

rows = st.lists(
    st.tuples(
        st.lists(st.floats(-1, 1, width=32), min_size=N_INPUTS, max_size=N_INPUTS),
        st.dictionaries(st.sampled_from("abcde"), st.floats(-2, 2, width=16), min_size=1, max_size=3),
        st.floats(0.0625, 4, width=16),
    ),
    min_size=1,
    max_size=30,
)


def mapped(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Random features in whole numbers, the same alone and in a batch."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    raised: NDArray[np.float64] = np.maximum(np.rint(unit * 512) @ DIRECTIONS, 0)
    return raised.astype(np.float32)


def features(given_rows: list[Row]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    vectors = np.array([vector for vector, _, _ in given_rows], dtype=np.float32) + np.float32(1e-3)
    return mapped(vectors)


def learn(heads: Heads, given_rows: list[Row]) -> None:
    if given_rows:
        heads.learn(features(given_rows), [target for _, target, _ in given_rows], [w for _, _, w in given_rows])


def remove(heads: Heads, given_rows: list[Row]) -> None:
    if given_rows:
        heads.remove(features(given_rows), [target for _, target, _ in given_rows], [w for _, _, w in given_rows])


def at_once(given_rows: list[Row]) -> Heads:
    heads = Heads(N_FEATURES, ridge=0.1)
    learn(heads, given_rows)
    return heads


def assert_same(one: Heads, other: Heads, *, to: float = 1e-6) -> None:
    assert set(one.outputs) == set(other.outputs)
    order = [other.outputs.index(name) for name in one.outputs]
    assert np.abs(one.weights - other.weights[:, order]).max(initial=0) * 4096 < to
    assert np.array_equal(one.statistics()[0], other.statistics()[0])
    assert np.array_equal(one.statistics()[1], other.statistics()[1][:, order])
    assert one.weight_seen == pytest.approx(other.weight_seen)


@given(rows, st.randoms(use_true_random=False), st.lists(st.integers(1, 7), max_size=30))
def test_any_order_in_any_chunks_equals_at_once(given_rows: list[Row], random: object, sizes: list[int]) -> None:
    shuffled = list(given_rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    heads = Heads(N_FEATURES, ridge=0.1)
    heads.solve()  # so that everything goes through the corrections
    place = 0
    for size in [*sizes, len(shuffled)]:
        learn(heads, shuffled[place : place + size])
        heads.predict(features(given_rows[:1]))
        place += size
    assert_same(heads, at_once(given_rows))


@given(rows, rows)
def test_removed_equals_never_seen(kept: list[Row], gone: list[Row]) -> None:
    heads = at_once(kept)
    heads.solve()
    for row in gone:
        learn(heads, [row])
    remove(heads, gone)
    assert_same(heads, at_once(kept))


@given(rows, rows)
def test_merged_equals_learnt_together(mine: list[Row], theirs: list[Row]) -> None:
    heads = at_once(mine)
    heads.solve()
    heads.merge(at_once(theirs))
    assert_same(heads, at_once(mine + theirs))


@settings(max_examples=25)
@given(rows)
def test_a_file_holds_everything(tmp_path_factory: pytest.TempPathFactory, given_rows: list[Row]) -> None:
    path = tmp_path_factory.mktemp("heads") / "heads.npz"
    heads = at_once(given_rows)
    heads.save(path)
    loaded = Heads.load(path, heads.fingerprint)
    assert loaded.outputs == heads.outputs
    assert_same(loaded, heads, to=1e-12)
    learn(loaded, given_rows)
    assert_same(loaded, at_once(given_rows + given_rows))


def test_ten_thousand_pairs_of_adding_and_removing_leave_nothing() -> None:
    drawn = np.random.default_rng(0)
    vectors = drawn.normal(size=(10_050, N_INPUTS)).astype(np.float32)
    all_features = mapped(vectors)
    targets = [{"abc"[int(k)]: 1.0} for k in drawn.integers(0, 3, 10_050)]
    heads = Heads(N_FEATURES, ridge=0.01)
    heads.learn(all_features[:50], targets[:50])
    never = heads.weights
    gram, moments = heads.statistics()
    for k in range(50, 10_050):
        heads.learn(all_features[k : k + 1], targets[k : k + 1])
        if k % 100 == 0:
            heads.predict(all_features[:1])
        heads.remove(all_features[k : k + 1], targets[k : k + 1])
    assert np.abs(heads.weights - never).max() * 4096 < 1e-6
    assert np.array_equal(heads.statistics()[0], gram)
    assert np.array_equal(heads.statistics()[1], moments)


_SAVER = """\
import sys
from pathlib import Path
import numpy as np
from hearth.models.ridge import Heads
heads, row = Heads(120), np.ones((1, 120))
print("ready", flush=True)
while True:
    heads.learn(row, [{"a": 1.0}])
    heads.save(Path(sys.argv[1]))
"""


@pytest.mark.slow
def test_killed_while_saving_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "heads.npz"
    last = 0.0
    for pause_s in (0.05, 0.11, 0.17, 0.23):
        with subprocess.Popen([sys.executable, "-c", _SAVER, str(path)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(pause_s)
            os.kill(process.pid, signal.SIGKILL)
        heads = Heads.load(path)
        gram, moments = heads.statistics()
        assert heads.weight_seen >= 1
        assert heads.weight_seen != last
        assert np.all(gram == heads.weight_seen)
        assert np.all(moments == heads.weight_seen)
        last = heads.weight_seen
