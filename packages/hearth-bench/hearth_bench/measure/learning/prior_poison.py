"""Measure targeted poison in a prior of many owners: what it reaches, and what holding it back costs honest givers.

    python -m hearth_bench.measure.learning.prior_poison

Writes packages/hearth-bench/results/prior_poison.json in a few minutes. Public evidence is half of the shipped
demonstrations; givers get sixty demonstrations each of another three tenths, drawn with replacement; the rest is asked.
A share of the givers is poisoned in five ways. *Success* is how many of the asked requests of the attacked tool are
given the attacker's tool that were not before; *right* is the share of all asked requests with the right first tool.
The floor is the public evidence alone, the oracle the honest givers' sum. `plain` adds everything up, `held` adds as
much as moves no public act to a stronger effect (`hearth_cloud.statistics.public_acts`).
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hearth.agent import shipped_demonstrations
from hearth.models.ridge import UNIT
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.ranking.features import Reader
from hearth.registry import load_tools
from hearth_bench.measure.result_file import write_result
from hearth_cloud.statistics.public_acts import Acts, Evidence, share_of
from hearth_cloud.statistics.robust_merge import JUDGES

SEED, N_GIVERS, N_EACH = 0, 40, 60
SHARES = (0.05, 0.1, 0.2, 0.3)
WAYS = ("reads become a change", "a change becomes a send", "tools swapped", "always one tool", "tools by lot")
Floats = NDArray[np.float64]


class World:
    """Rows of features of all demonstrations, and which are public, givers' and asked."""

    def __init__(self) -> None:
        shown = [one for one in shipped_demonstrations() if one.plan.steps]
        random.Random(SEED).shuffle(shown)
        reader = Reader(MiniLMEncoder.open(), JUDGES)
        self.rows = reader.whole_features(reader.read([one.request for one in shown])).astype(np.float64) / UNIT
        self.tools = [one.plan.steps[0].tool for one in shown]
        self.effects = {name: spec.effect for name, spec in load_tools(None).specs.items()}
        n = len(shown)
        self.public, self.stock, self.asked = range(n // 2), range(n // 2, n * 8 // 10), range(n * 8 // 10, n)
        drawn = random.Random(SEED)
        self.givers = [[drawn.choice(self.stock) for _ in range(N_EACH)] for _ in range(N_GIVERS)]
        seen = Counter(self.tools[k] for k in self.asked)
        self.read = max((t for t in seen if self.effects[t] == "none"), key=lambda t: (seen[t], t))
        self.change = max((t for t in seen if self.effects[t] == "change"), key=lambda t: (seen[t], t))
        self.send = max((t for t in self.effects if self.effects[t] == "send"), key=lambda t: (seen[t], t))

    def evidence(self, rows: Sequence[int], tools: Sequence[str]) -> Evidence:
        names = tuple(sorted(set(tools)))
        wanted = np.zeros((len(rows), len(names)))
        wanted[np.arange(len(rows)), [names.index(tool) for tool in tools]] = 1.0
        features = self.rows[list(rows)]
        return Evidence(names, features.T @ features, features.T @ wanted)

    def acts(self, which: Sequence[int]) -> Acts:
        return Acts(self.rows[list(which)], tuple((self.tools[k],) for k in which), self.effects)

    def poisoned(self, way: str, rows: Sequence[int]) -> tuple[list[int], list[str]]:
        """A giver's demonstrations with wrong tools; targeted ones are many of the attacked tool among right ones."""
        drawn = random.Random(f"{way} {rows[0]}")
        attacked, wrong = self.target(way)
        if attacked:
            stock = [k for k in (*self.stock, *self.public) if self.tools[k] == attacked]
            rows = [*rows[: N_EACH // 2], *(drawn.choice(stock) for _ in range(N_EACH // 2))]
            return rows, [wrong if self.tools[k] == attacked else self.tools[k] for k in rows]
        names = sorted(set(self.tools))
        if way == "tools swapped":
            turned = dict(zip(names, names[1:] + names[:1], strict=True))
            return list(rows), [turned[self.tools[k]] for k in rows]
        if way == "always one tool":
            return list(rows), [self.send] * len(rows)
        return list(rows), [drawn.choice(names) for _ in rows]

    def target(self, way: str) -> tuple[str, str]:
        """The attacked tool and the attacker's; empty where the attack has none."""
        pairs = {WAYS[0]: (self.read, self.change), WAYS[1]: (self.change, self.send)}
        return pairs.get(way, ("", ""))


def added(public: Evidence, others: Evidence, share: float) -> Evidence:
    tools = tuple(sorted({*public.tools, *others.tools}))
    mine, theirs = public.over(tools), others.over(tools)
    return Evidence(tools, mine.gram + share * theirs.gram, mine.moments + share * theirs.moments)


def measured(world: World) -> dict[str, object]:
    public = world.evidence(world.public, [world.tools[k] for k in world.public])
    acts, asked = world.acts(world.public), world.acts(world.asked)
    honest = [(rows, [world.tools[k] for k in rows]) for rows in world.givers]

    def judged(chosen: Sequence[str], before: Sequence[str], way: str) -> dict[str, float]:
        attacked, wrong = world.target(way)
        right = float(np.mean([(a,) == b for a, b in zip(chosen, asked.tools, strict=True)]))
        aims = [k for k, tools in enumerate(asked.tools) if tools == (attacked,) or not attacked]
        if attacked:
            n_hits = sum(chosen[k] == wrong != before[k] for k in aims)
        else:  # any act of a stronger effect than is right
            n_hits = asked.moved(tuple(before), tuple(chosen))
        return {"right": round(right, 4), "success": round(n_hits / len(aims), 4), "of": len(aims)}

    def summed(given: Sequence[tuple[Sequence[int], Sequence[str]]]) -> Evidence:
        return world.evidence([k for rows, _ in given for k in rows], [t for _, tools in given for t in tools])

    clean = summed(honest)
    floor = asked.chosen(public)
    share = share_of(clean, public, acts)
    oracle, held = asked.chosen(added(public, clean, 1.0)), asked.chosen(added(public, clean, share))
    found: dict[str, object] = {
        "public alone": judged(floor, floor, ""),
        "honest, plain": judged(oracle, oracle, ""),
        "honest, held": {**judged(held, held, ""), "share": share},
        "attacked": {"read": world.read, "change": world.change, "send": world.send},
    }
    for way in WAYS:
        for part in SHARES:
            n_bad = round(part * N_GIVERS)
            given = [world.poisoned(way, rows) for rows in world.givers[:n_bad]] + honest[n_bad:]
            others = summed(given)
            kept = share_of(others, public, acts)
            found[f"{way}, {part:.0%}"] = {
                "plain": judged(asked.chosen(added(public, others, 1.0)), floor, way),
                "held": {**judged(asked.chosen(added(public, others, kept)), floor, way), "share": kept},
            }
            print(way, part, found[f"{way}, {part:.0%}"], flush=True)
    return found


def main() -> None:
    began, cpu = time.perf_counter(), time.process_time()
    found = measured(World())
    wall_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
    write_result("prior_poison", found, seed=SEED, cpu_s=cpu_s, wall_s=wall_s)


if __name__ == "__main__":
    main()
