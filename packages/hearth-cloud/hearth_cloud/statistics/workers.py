"""Who adds pieces of sums up: this process, processes of its own, or a Ray cluster. All do the same, piece by piece.

A piece is a function of a storage and a task; what it makes, it keeps in the storage. So a worker that is killed loses
one piece, which is done again, and workers on other machines need nothing but the storage.

Covered: a worker that is killed (tried again twice). Not covered: a database on SQLite, or objects in a folder, with
workers on other machines.
"""

from __future__ import annotations

import concurrent.futures
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol, TypeVar

from hearth.errors import MissingExtraError, StoreError
from hearth_cloud.storage.cloud_storage import Storage
from hearth_cloud.storage.storage_place import StoragePlace

T = TypeVar("T")
R = TypeVar("R")
Work = Callable[[Storage, T], R]
_N_TRIES = 3


class Workers(Protocol):
    """Those who do pieces of work."""

    def run(self, work: Work[T, R], tasks: Sequence[T]) -> Iterator[R]:
        """Yield what each task gives, in the order of the tasks. Raises: StoreError: One failed again and again."""
        ...


class InTurn:
    """This process, one piece after the other."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def run(self, work: Work[T, R], tasks: Sequence[T]) -> Iterator[R]:
        for task in tasks:
            yield work(self._storage, task)


class Processes:
    """Processes of this machine, started for a run and gone after it."""

    def __init__(self, place: StoragePlace, n: int) -> None:
        self._place, self._n = place, n

    def run(self, work: Work[T, R], tasks: Sequence[T]) -> Iterator[R]:
        left = list(tasks)
        for n_before in range(_N_TRIES):
            n_done = 0
            with concurrent.futures.ProcessPoolExecutor(
                self._n, multiprocessing.get_context("spawn"), _start, (self._place,)
            ) as pool:
                try:
                    for found in pool.map(_do, [work] * len(left), left):
                        n_done += 1
                        yield found
                    return
                except BrokenProcessPool:
                    left = left[n_done:]
                    if n_before + 1 == _N_TRIES:
                        raise StoreError(
                            f"processes that merge were killed {_N_TRIES} times; {len(left)} pieces are left, and are "
                            "tried again later (is there enough memory?)"
                        ) from None


class RayWorkers:
    """Processes of a Ray cluster, which has to have `hearth-cloud` installed and to reach the storage."""

    def __init__(self, place: StoragePlace, address: str) -> None:
        """Raises: MissingExtraError: Ray is not installed."""
        try:
            import ray
        except ImportError:
            raise MissingExtraError("merging with Ray", "pip install ray") from None
        self._place, self._address, self._ray = place, address, ray

    def run(self, work: Work[T, R], tasks: Sequence[T]) -> Iterator[R]:
        if not self._ray.is_initialized():
            self._ray.init(address=self._address, log_to_driver=False)
        remote = self._ray.remote(_do_at).options(max_retries=_N_TRIES - 1)
        for found in [remote.remote(self._place, work, task) for task in tasks]:
            yield self._ray.get(found)


# ── In a worker ───────────────────────────────────────────────────────────────────────────────────────────

_opened: dict[StoragePlace, Storage] = {}
_place: list[StoragePlace] = []


def _start(place: StoragePlace) -> None:
    _place[:] = [place]


def _do(work: Callable[[Storage, Any], Any], task: Any) -> Any:
    return _do_at(_place[0], work, task)


def _do_at(place: StoragePlace, work: Callable[[Storage, Any], Any], task: Any) -> Any:
    if place not in _opened:
        _opened[place] = place.open(migrates=False)
    return work(_opened[place], task)
