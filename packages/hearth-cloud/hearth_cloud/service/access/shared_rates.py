"""Limits of requests per second over all replicas, counted in Redis or Valkey.

One script takes from a bucket in one step, by Redis' own clock, so replicas neither race nor need equal clocks. Where
Redis does not answer in time, this process counts by itself for some seconds, and then tries it again: a request never
waits for Redis longer than `_ANSWER_S`, and none is refused because Redis is gone.

Covered: Redis that is gone, slow, restarted or emptied (buckets are full again), another service in the same Redis.
Not covered: while Redis is gone an edge may ask each replica as much as it may ask all of them otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import redis.asyncio as redis_client
from redis.asyncio.connection import parse_url
from redis.exceptions import RedisError

from hearth.errors import ConfigError
from hearth.guard.egress.audit_hook import Permit, normal, permitted
from hearth_cloud.cloud_settings import Limits
from hearth_cloud.service.access.limits import Buckets, Rates, too_fast
from hearth_cloud.service.logs import Log

_STRANGERS_PER_S, _STRANGERS_BURST = 20.0, 100
_ANSWER_S = 0.25
_AWAY_S = 5.0
"""Time without Redis after it did not answer."""
_TAKE = """
local at = redis.call('TIME')
local now = at[1] + at[2] / 1000000
local per_s, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local was = redis.call('HMGET', KEYS[1], 'left', 'at')
local left = math.min(burst, (tonumber(was[1]) or burst) + math.max(0, now - (tonumber(was[2]) or now)) * per_s)
local wait = 0
if left < 1 then wait = (1 - left) / per_s else left = left - 1 end
redis.call('HSET', KEYS[1], 'left', tostring(left), 'at', tostring(now))
redis.call('EXPIRE', KEYS[1], math.ceil(burst / per_s) + 1)
return tostring(wait)
"""


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something may be done."""

    per_s: float
    burst: int
    """At once, after a rest."""


class SharedRates:
    """One token bucket per name, shared by all replicas."""

    def __init__(self, url: str, kind: str, rate: Rate, monotonic: Callable[[], float], log: Log | None = None) -> None:
        """
        Args:
            kind: What is counted; buckets of different kinds are different ones.
        Raises:
            ConfigError: No address of Redis.
        """
        try:
            place = parse_url(url)
        except ValueError as error:
            raise ConfigError(
                f"redis under [service] is no address ({error}); expected 'redis://HOST:6379/0', 'rediss://' or 'unix://'"
            ) from None
        host = normal(place.get("host", "localhost"))
        self._permit = Permit(host, int(place.get("port", 6379)), is_private_fine=True)
        self._client = redis_client.from_url(
            url, socket_timeout=_ANSWER_S, socket_connect_timeout=_ANSWER_S, max_connections=64
        )
        self._script = self._client.register_script(_TAKE)
        self._kind, self._rate = kind, rate
        self._alone = Buckets(rate.per_s, rate.burst, monotonic)
        self._monotonic, self._log = monotonic, log or Log()
        self._away_until = 0.0

    async def take(self, name: str) -> None:
        """Take from a bucket. Raises: Fault: 429 with how long to wait; nothing was taken."""
        if self._monotonic() < self._away_until:
            await self._alone.take(name)
            return
        try:
            with permitted(self._permit):
                said = await self._script(
                    keys=[f"hearth:{self._kind}:{name}"], args=[self._rate.per_s, self._rate.burst]
                )
        except (RedisError, OSError) as error:
            self._away_until = self._monotonic() + _AWAY_S
            self._log.failed("redis", error)
            await self._alone.take(name)
            return
        wait_s = float(said)
        if wait_s > 0:
            raise too_fast(self._rate.per_s, wait_s)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


@dataclass(frozen=True, slots=True)
class RequestRates:
    """How often each edge, and each address without a token, may ask."""

    edges: Rates
    strangers: Rates

    @classmethod
    def of(cls, limits: Limits, redis_url: str, monotonic: Callable[[], float], log: Log) -> RequestRates:
        """Return limits shared through Redis, or this process's own where none is named. Raises: ConfigError."""

        def rates(kind: str, rate: Rate) -> Rates:
            if redis_url:
                return SharedRates(redis_url, kind, rate, monotonic, log)
            return Buckets(rate.per_s, rate.burst, monotonic)

        return cls(
            rates("edge", Rate(limits.requests_per_s, limits.burst)),
            rates("address", Rate(_STRANGERS_PER_S, _STRANGERS_BURST)),
        )

    async def close(self) -> None:
        """Close connections."""
        await self.edges.close()
        await self.strangers.close()
