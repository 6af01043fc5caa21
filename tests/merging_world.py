"""Edges with demonstrations of a small world, their statistics, and ways to poison them: shared by tests of merging."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from hearth.planning.ranking.features import ReadingOptions, Taught
from hearth.planning.ranking.ranker import Ranker, RankerOptions
from hearth.planning.ranking.sufficient_statistics import Statistics, summed
from hearth.testing import HashEncoder
from hearth.types import Demonstration
from tests.small_world import TOOLS, lessons

ENCODER = HashEncoder(48)
READING = ReadingOptions(n_cosines=128, n_words=256)
OPTIONS = RankerOptions(reading=READING, n_fit=60)
PUBLIC = frozenset(TOOLS)


def ranker(demonstrations: Sequence[Demonstration] = (), options: RankerOptions = OPTIONS) -> Ranker:
    found = Ranker(ENCODER, TOOLS, options)
    found.learn(demonstrations)
    return found


def edge(number: int, n: int = 40) -> Ranker:
    return ranker(lessons(n, 1_000 * number))


def edges(n_edges: int = 5, n: int = 40) -> dict[str, Statistics]:
    return {f"edge-{k}": edge(k, n).statistics(PUBLIC) for k in range(n_edges)}


def poisoned(number: int, way: str, n: int = 40) -> Statistics:
    """Statistics of real requests with wrong plans: tools swapped, plans drawn by lot, or always the same tool."""
    taught = edge(number, n)._taught
    names = sorted(TOOLS)
    swapped = dict(zip(names, names[1:] + names[:1], strict=True))
    plans = [one.sequence for one in taught.values()]
    random.Random(3).shuffle(plans)

    def wrong(k: int, one: Taught) -> Taught:
        if way == "swapped":
            tools = tuple(swapped[tool] for tool in one.sequence)
            return replace(
                one, sequence=tools, act_tools=tuple((tools[0],) for _ in one.act_tools), asked=frozenset(tools)
            )
        tools = ("order_pizza",) if way == "one tool" else plans[k]
        return replace(
            one,
            sequence=tools,
            links=frozenset(),
            act_tools=tuple(tools[:1] for _ in one.act_tools),
            asked=frozenset(tools[:1]),
        )

    reader = ranker()._reader
    return summed(reader, {id: wrong(k, one) for k, (id, one) in enumerate(taught.items())}, PUBLIC)
