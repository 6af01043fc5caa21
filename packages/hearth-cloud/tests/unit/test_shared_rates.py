"""Requests per second: one contract for one process's own buckets and for those shared in Redis."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cloud_fixtures import redis_running

from hearth.errors import ConfigError
from hearth_cloud.problems import Fault
from hearth_cloud.service.access.limits import Buckets, Rates
from hearth_cloud.service.access.shared_rates import Rate, SharedRates

_PER_S, _BURST = 0.001, 5
"""So slow that nothing comes back during a test."""


@dataclass
class Redis:
    url: str
    server: subprocess.Popen[bytes]


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    with redis_running(tmp_path) as (url, server):
        yield Redis(url, server)


@pytest.fixture(params=["own", "shared"])
def make(request: pytest.FixtureRequest) -> Callable[[], Rates]:
    if request.param == "own":
        return lambda: Buckets(_PER_S, _BURST, lambda: 0.0)
    address = request.getfixturevalue("redis").url
    return lambda: SharedRates(address, "edge", Rate(_PER_S, _BURST), lambda: 0.0)


async def taken(rates: Rates, name: str, n: int) -> int:
    """How many of `n` requests may be made."""
    found = [await refused(rates, name) for _ in range(n)]
    told = {(one.status, one.code, 0 < (one.retry_after_s or 0) <= 1 / _PER_S) for one in found if one is not None}
    assert told <= {(429, "rate", True)}
    return found.count(None)


async def refused(rates: Rates, name: str) -> Fault | None:
    try:
        await rates.take(name)
    except Fault as fault:
        return fault
    return None


def test_a_burst_is_let_through_and_no_more_for_each_name(make: Callable[[], Rates]) -> None:
    async def asked() -> tuple[int, int]:
        rates = make()
        try:
            return await taken(rates, "kitchen", 8), await taken(rates, "attic", 2)
        finally:
            await rates.close()

    assert asyncio.run(asked()) == (5, 2)


def test_replicas_share_their_buckets_and_kinds_do_not(redis: Redis) -> None:
    async def asked() -> list[int]:
        replicas = [SharedRates(redis.url, "edge", Rate(_PER_S, _BURST), lambda: 0.0) for _ in range(4)]
        other = SharedRates(redis.url, "address", Rate(_PER_S, _BURST), lambda: 0.0)
        together = await asyncio.gather(*(taken(one, "kitchen", 4) for one in replicas))
        found = [sum(together), await taken(other, "kitchen", 9)]
        for one in (*replicas, other):
            await one.close()
        return found

    assert asyncio.run(asked()) == [5, 5]


def test_without_redis_each_process_counts_by_itself_and_later_together_again(redis: Redis) -> None:
    at = [0.0]

    async def asked() -> list[int]:
        one = SharedRates(redis.url, "edge", Rate(_PER_S, _BURST), lambda: at[0])
        found = [await taken(one, "kitchen", 3)]
        os.kill(redis.server.pid, signal.SIGSTOP)  # it takes connections and does not answer
        found += [await taken(one, "kitchen", 9)]
        os.kill(redis.server.pid, signal.SIGCONT)
        at[0] = 6.0
        found += [await taken(one, "kitchen", 9)]
        redis.server.kill()
        redis.server.wait()
        found += [await taken(one, "hall", 9)]
        await one.close()
        return found

    # Redis counts the request that it did not answer in time, too.
    assert asyncio.run(asked()) in ([3, 5, 2, 5], [3, 5, 1, 5])


def test_an_address_that_is_none_says_what_one_is() -> None:
    with pytest.raises(ConfigError, match="redis://HOST"):
        SharedRates("http://localhost", "edge", Rate(1.0, 1), lambda: 0.0)
