"""Merging in pieces: the same sum to the last bit, going on where it stopped, and nothing of those who left."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from cloud_fixtures import Clock

from hearth.errors import MissingExtraError, StoreError
from hearth.planning.ranking.features import ReadingOptions
from hearth.planning.ranking.sufficient_statistics import encode, merged
from hearth_cloud.statistics import merging
from hearth_cloud.statistics.merging import Leaf, Rules, add_leaf, merged_in_pieces
from hearth_cloud.statistics.robust_merge import Merged, Seen, Terms
from hearth_cloud.statistics.workers import InTurn, Processes, R, RayWorkers, T, Work
from hearth_cloud.storage.cloud_storage import NewPart, Storage
from hearth_cloud.storage.storage_place import StoragePlace
from tests.merging_world import PUBLIC, edges, poisoned, ranker
from tests.small_world import lessons

MEDIUM = ReadingOptions(n_cosines=128, n_words=128)
SMALL = ReadingOptions(n_cosines=32, n_words=64)
GIVEN = [one.seen_by(MEDIUM) for one in edges(3).values()]
ANCHOR = Seen.of(ranker(lessons(200, 80_000)).statistics(PUBLIC).seen_by(SMALL))
RULES = Rules(Terms(most=60, least=10), ANCHOR, {"small": SMALL, "medium": MEDIUM})
NAMES = [f"house-{k}" for k in range(18)]


class Counting(InTurn):
    """Counts pieces; ends in the middle where it is told to."""

    def __init__(self, storage: Storage, most: int = 1_000) -> None:
        super().__init__(storage)
        self.n, self.most = 0, most

    def run(self, work: Work[T, R], tasks: Sequence[T]) -> Iterator[R]:
        for found in super().run(work, tasks):
            self.n += 1
            if self.n > self.most:
                raise StoreError("killed")
            yield found


@pytest.fixture(autouse=True)
def _deep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "_LEAF", 1)  # two levels above the leaves


@pytest.fixture
def blobs(small_storage: Storage) -> dict[str, str]:
    """What 18 edges gave; each third the same, as sums are added, not compared."""
    for k, name in enumerate(NAMES):
        small_storage.add_token(name, name, f"{name} ".ljust(64, "0"), None)
        small_storage.replace_part(NewPart("plain", name, "statistics", "s", {}), encode(GIVEN[k % 3]))
    return given(small_storage)


def digests(found: Mapping[str, Merged]) -> dict[str, str]:
    return {profile: one.statistics.digest for profile, one in found.items() if one.statistics is not None}


def given(storage: Storage) -> dict[str, str]:
    return {f"edge {part.edge}": part.blob for part in storage.parts("plain")}


def test_pieces_give_the_same_sum_for_every_profile(small_storage: Storage, blobs: dict[str, str]) -> None:
    found = merged_in_pieces(small_storage, InTurn(small_storage), blobs, RULES)
    exact = merged([one for one in GIVEN for _ in range(6)])
    for profile, reading in RULES.readings.items():
        total = found[profile].statistics
        assert total is not None
        assert total.digest == exact.seen_by(reading).digest
    assert found["small"].kept == tuple(sorted(blobs))


def test_who_contradicts_what_is_public_is_set_aside_with_the_reason(
    small_storage: Storage, blobs: dict[str, str]
) -> None:
    small_storage.replace_part(
        NewPart("plain", NAMES[0], "statistics", "s", {}), encode(poisoned(1, "swapped").seen_by(MEDIUM))
    )
    small_storage.replace_part(NewPart("plain", NAMES[1], "statistics", "s", {}), b"no statistics")
    found = merged_in_pieces(small_storage, InTurn(small_storage), given(small_storage), RULES)["medium"]
    reasons = {one.edge: one.reason for one in found.judged if one.reason}
    assert "contradicted" in reasons[f"edge {NAMES[0]}"]
    assert "cannot be read" in reasons[f"edge {NAMES[1]}"]
    assert found.statistics is not None
    assert found.statistics.n_edges == 16


def test_a_merge_that_was_killed_goes_on_and_only_what_changed_is_done_again(
    small_storage: Storage, blobs: dict[str, str]
) -> None:
    whole = Counting(small_storage)
    with pytest.raises(StoreError, match="killed"):
        merged_in_pieces(small_storage, Counting(small_storage, most=10), blobs, RULES)
    first = merged_in_pieces(small_storage, whole, blobs, RULES)
    assert whole.n > 10
    again = Counting(small_storage)
    assert digests(merged_in_pieces(small_storage, again, blobs, RULES)) == digests(first)
    assert again.n == 0
    small_storage.replace_part(NewPart("plain", NAMES[3], "statistics", "s", {}), encode(GIVEN[1]))
    one_more = Counting(small_storage)
    changed = merged_in_pieces(small_storage, one_more, given(small_storage), RULES)
    assert one_more.n == 1 + 2 * 2  # its leaf, and two nodes above it for each of two profiles
    assert digests(changed)["small"] != digests(first)["small"]
    other = Counting(small_storage)
    merged_in_pieces(small_storage, other, blobs, replace(RULES, terms=Terms(most=60, least=9)))
    assert other.n >= 16  # judged otherwise: all are looked at again


@pytest.mark.parametrize("way", ["withdraws", "is forgotten"])
def test_who_leaves_is_in_no_piece_from_that_moment(small_storage: Storage, blobs: dict[str, str], way: str) -> None:
    merged_in_pieces(small_storage, InTurn(small_storage), blobs, RULES)
    before = small_storage.pieces()
    if way == "withdraws":
        assert small_storage.drop_part("plain", NAMES[5], "statistics")
    else:
        small_storage.drop_edge(NAMES[5])
    left = small_storage.pieces()
    gone = {path for path, _ in before.keys() - left.keys()}
    assert {len(path) for path in gone} == {0, 1, 2}
    assert small_storage.drop_unused_blobs() == 0
    found = merged_in_pieces(small_storage, InTurn(small_storage), given(small_storage), RULES)["small"]
    assert found.statistics is not None
    assert found.statistics.n_edges == 17
    rest = [GIVEN[k % 3] for k, name in enumerate(NAMES) if name != NAMES[5]]
    assert found.statistics.digest == merged(rest).seen_by(SMALL).digest


def test_nothing_given_is_no_sum(small_storage: Storage) -> None:
    found = merged_in_pieces(small_storage, InTurn(small_storage), {}, RULES)
    assert [(one.statistics, one.judged) for one in found.values()] == [(None, ())] * 2


# ── Workers ───────────────────────────────────────────────────────────────────────────────────────────────


def add_or_die(storage: Storage, leaf: Leaf) -> None:
    """As `add_leaf`; the first process that comes to the second leaf is killed."""
    mark = Path(storage.note("mark"))
    if leaf.path == storage.note("dies at") and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    add_leaf(storage, leaf)


def test_a_worker_that_is_killed_loses_its_piece_alone_and_it_is_done_again(
    tmp_path: Path, clock: Clock, small_storage: Storage, blobs: dict[str, str]
) -> None:
    leaves = merging._leaves(dict(list(blobs.items())[:4]), 1, RULES)
    small_storage.put_note("mark", str(tmp_path / "mark"))
    small_storage.put_note("dies at", leaves[1].path)
    workers = Processes(StoragePlace(f"sqlite:///{tmp_path / 'cloud.db'}"), 1)
    assert list(workers.run(add_or_die, leaves)) == [None] * len(leaves)
    assert (tmp_path / "mark").exists()
    assert {path for path, profile in small_storage.pieces() if not profile} == {leaf.path for leaf in leaves}


def test_ray_gives_the_same_sum_and_does_a_killed_piece_again(
    tmp_path: Path, clock: Clock, small_storage: Storage, blobs: dict[str, str]
) -> None:
    """A real cluster of this machine; needs `pip install ray`."""
    ray = pytest.importorskip("ray", reason="needs Ray: pip install ray")
    there = {"env_vars": {"PYTHONPATH": os.pathsep.join(sys.path)}}  # where its workers find this module
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=there)
    try:
        workers = RayWorkers(StoragePlace(f"sqlite:///{tmp_path / 'cloud.db'}"), "local")
        leaves = merging._leaves(dict(list(blobs.items())[:4]), 1, RULES)
        small_storage.put_note("mark", str(tmp_path / "mark"))
        small_storage.put_note("dies at", leaves[1].path)
        assert list(workers.run(add_or_die, leaves)) == [None] * len(leaves)
        assert (tmp_path / "mark").exists()
        by_ray = digests(merged_in_pieces(small_storage, workers, blobs, RULES))
    finally:
        ray.shutdown()
    exact = merged([one for one in GIVEN for _ in range(6)])
    assert by_ray == {profile: exact.seen_by(reading).digest for profile, reading in RULES.readings.items()}


def test_without_ray_its_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match="pip install ray"):
        RayWorkers(StoragePlace("sqlite:///x"), "auto")
