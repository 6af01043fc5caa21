"""Attack a service's priors: can it be told from what is published who gave what?

Founders are given sentences of the demonstrations Hearth is shipped with, and each a few canaries: sentences with a
word that nobody else has. The attacker knows the features, the number of founders, and every sentence there might be;
it sees two priors that follow each other, the second with one founder more. Four attacks, each on exact sums (the floor
of privacy) and on priors with noise; the oracle of privacy is a prior of other founders alone, which tells nothing.

* *difference*: is a sentence the newest founder's, from the second prior minus the first;
* *membership*: is a sentence any founder's, from the second prior;
* *inversion*: was a word said by the newest founder, from the difference at the place the word is hashed to;
* *canaries*: how many of the canaries stand out by five standard deviations from as many that nobody gave.

A sentence is scored in two ways, how much of it lies in the space of the largest directions, and its inner product with
the sums; the better one counts. Not covered: attackers who give sentences of their own between the two priors, and
attacks on the counts of tool sequences alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearth.models.ridge import UNIT
from hearth.planning.ranking.ranker import Ranker, RankerOptions
from hearth.planning.ranking.sufficient_statistics import Statistics, merged
from hearth.protocols import Encoder
from hearth.types import Demonstration, Plan, Step, ToolSpec
from hearth_cloud.statistics.private_sums import Budget
from hearth_cloud.statistics.robust_merge import noisy

Floats = NDArray[np.float64]
_STANDS_OUT = 5.0
"""Standard deviations; of a thousand canaries that nobody gave, .0003 do so by chance."""


@dataclass(frozen=True, slots=True)
class Attacked:
    """What was attacked."""

    n_founders: int = 6
    n_each: int = 100
    """Demonstrations of each founder; as many again are nobody's."""
    n_canaries: int = 1_000
    epsilons: tuple[float, ...] = (4.0, 16.0)
    delta: float = 1e-6
    n_priors: int = 2
    most: int = 400
    """Demonstrations that a founder may count for, to which noise is fitted."""
    seed: int = 0


def measure_prior_privacy(
    encoder: Encoder,
    tools: Mapping[str, ToolSpec],
    demonstrations: Sequence[Demonstration],
    options: RankerOptions,
    asked: Attacked,
) -> dict[str, object]:
    """Return the attacks' success by kind of prior.

    Raises: ValueError: There are too few demonstrations for so many founders.
    """
    world = _World(encoder, tools, demonstrations, options, asked)
    found: dict[str, object] = {"nobody's part": world.attacked(world.nobodys, world.nobodys)}
    found["exact"] = world.attacked(world.before, world.after)
    sequences = sorted({one for part in world.parts for one in part.sequences})
    for epsilon in asked.epsilons:
        rho = Budget(epsilon, asked.delta, asked.n_priors).rho
        seeds = (bytes([asked.seed % 256, k]) * 16 for k in range(2))
        first, second = (
            noisy(one, rho, asked.most, sequences, seed) for one, seed in zip((world.before, world.after), seeds)
        )
        found[f"epsilon {epsilon:g}"] = world.attacked(first, second)
    return {
        "founders": asked.n_founders,
        "demonstrations_each": asked.n_each,
        "delta": asked.delta,
        "priors": asked.n_priors,
        "encoder": world.reader.encoder_name,
        "attacks": found,
    }


def privacy_lines(document: Mapping[str, Any]) -> list[str]:
    """Return the result as lines of a table."""
    lines = [f"{'prior':<16}{'difference':>12}{'membership':>12}{'inversion':>12}{'canaries back':>20}"]
    for name, found in document["attacks"].items():
        numbers = "".join(f"{found[f'{attack}_auc']:>12.3f}" for attack in ("difference", "membership", "inversion"))
        lines.append(f"{name:<16}{numbers}{found['canaries_back']:>10} of {found['canaries']:,}")
    return lines


class _World:
    """Founders with their sentences, the sums of all but the newest, and of all."""

    def __init__(
        self,
        encoder: Encoder,
        tools: Mapping[str, ToolSpec],
        demonstrations: Sequence[Demonstration],
        options: RankerOptions,
        asked: Attacked,
    ) -> None:
        drawn = random.Random(asked.seed)  # noqa: S311 - draws the founders
        shown = [one for one in demonstrations if one.plan.steps]
        drawn.shuffle(shown)
        n = asked.n_founders * asked.n_each
        if len(shown) < 2 * n:
            raise ValueError(f"{2 * n} demonstrations are needed, half of them nobody's; there are {len(shown)}")
        names = sorted(tools)
        canaries = [
            Demonstration(f"c{k}", f"please note down {_invented(drawn)}", Plan((Step(drawn.choice(names)),)))
            for k in range(2 * asked.n_canaries)
        ]
        self._given = [shown[k :: asked.n_founders][: asked.n_each] for k in range(asked.n_founders)]
        self._nobodys = shown[n * 1 :][: 2 * n]
        self._nobodys = [one for one in self._nobodys if not any(one in mine for mine in self._given)][:n]
        self._canaries, self._decoys = canaries[: asked.n_canaries], canaries[asked.n_canaries :]
        blank = Ranker(encoder, tools, options)
        self.reader = blank.reader
        public = frozenset(tools)
        self.parts: list[Statistics] = []
        for place, mine in enumerate(self._given):
            student = Ranker(encoder, tools, options)
            student.learn([*mine, *self._canaries[place :: asked.n_founders]])
            self.parts.append(student.statistics(public))
        self.before, self.after = merged(self.parts[:-1]), merged(self.parts)
        others = Ranker(encoder, tools, options)
        others.learn(self._nobodys)
        self.nobodys = others.statistics(public)
        self._rows: dict[tuple[str, ...], Floats] = {}

    def attacked(self, first: Statistics, second: Statistics) -> dict[str, float]:
        """Return the success of each attack on two priors that follow each other; `nobodys` twice is attacked with
        sentences that are in neither."""
        is_oracle = first is second
        apart = _square(second) - (0 if is_oracle else _square(first))
        whole = _square(second)
        newest = self._features(self._given[-1])
        everyone = self._features([one for mine in self._given for one in mine])
        # The oracle's sums hold the nobodys: there, half of the given stand for who is in no sum.
        strangers = self._features(self._nobodys) if not is_oracle else everyone[1::2]
        if is_oracle:
            newest = everyone = everyone[::2]
        given_canaries, decoys = self._features(self._canaries), self._features(self._decoys)
        mine = given_canaries[len(self._given) - 1 :: len(self._given)] if not is_oracle else given_canaries
        n_new = max(second.sums.n_rows - first.sums.n_rows, 1)
        return {
            "difference_auc": _best_auc(_scores(apart, _n_kept(n_new, apart), newest, strangers)),
            "membership_auc": _best_auc(_scores(whole, _n_kept(second.sums.n_rows, whole), everyone, strangers)),
            "inversion_auc": self._word_auc(apart, is_oracle=is_oracle),
            "canaries_back": max(
                _standing_out(_scores(apart, _n_kept(n_new, apart), mine, decoys)),
                _standing_out(_scores(whole, _n_kept(second.sums.n_rows, whole), given_canaries, decoys)),
            ),
            "canaries": len(given_canaries),
        }

    def _features(self, demonstrations: Sequence[Demonstration]) -> Floats:
        key = tuple(one.id for one in demonstrations)
        if key not in self._rows:
            self._rows[key] = self._rows_of([one.request for one in demonstrations])
        return self._rows[key]

    def _rows_of(self, texts: Sequence[str]) -> Floats:
        return self.reader.whole_features(self.reader.read(texts)).astype(np.float64) / UNIT

    def _word_auc(self, apart: Floats, *, is_oracle: bool) -> float:
        """AUC of single words, by the sums' diagonal where a text of that word alone has its hashed features."""
        said = {word for one in self._given[-1] for word in _words_of(one.request)}
        known = {word for one in self._nobodys for word in _words_of(one.request)} | said
        inside, outside = sorted(said), sorted(known - said)
        if is_oracle:  # words that nobody said, in two halves
            inside, outside = outside[::2], outside[1::2]
        diagonal = np.diag(apart)
        start = 1 + self.reader.dim
        words = slice(start, start + self.reader.options.n_words)
        rows = np.abs(self._rows_of([*inside, *outside]))
        scores = rows[:, words] @ diagonal[words]
        return _auc(scores[: len(inside)], scores[len(inside) :])


def _words_of(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]+", text.lower()))


def _invented(drawn: random.Random) -> str:
    return "".join(drawn.choice("bcdfghjklmnpqrstvwxz") + drawn.choice("aeiou") for _ in range(4))


def _square(statistics: Statistics) -> Floats:
    return statistics.sums.square().astype(np.float64) / UNIT**2


def _n_kept(n_rows: int, sums: Floats) -> int:
    """Return how many directions sums of so many rows may have, where these do not fill the space."""
    return max(1, min(n_rows, len(sums) * 9 // 10))


def _scores(sums: Floats, n_directions: int, inside: Floats, outside: Floats) -> list[tuple[Floats, Floats]]:
    """Return the scores of both kinds of sentences: by how little of each is outside the space of the largest
    directions, and by its product with the sums."""
    _, directions = np.linalg.eigh(sums)
    kept = directions[:, -n_directions:]
    by_space = [-np.log10(((rows - rows @ kept @ kept.T) ** 2).sum(axis=1) + 1e-30) for rows in (inside, outside)]
    by_product = [((rows @ sums) * rows).sum(axis=1) for rows in (inside, outside)]
    return [(by_space[0], by_space[1]), (by_product[0], by_product[1])]


def _best_auc(scores: Sequence[tuple[Floats, Floats]]) -> float:
    return max(_auc(inside, outside) for inside, outside in scores)


def _auc(inside: Floats, outside: Floats) -> float:
    """Return the chance that one of `inside` scores above one of `outside`; ties count half."""
    if not len(inside) or not len(outside):
        return 0.5
    every = np.sort(outside)
    below, upto = np.searchsorted(every, inside, "left"), np.searchsorted(every, inside, "right")
    return round(float((below + upto).mean() / 2 / len(every)), 4)


def _standing_out(scores: Sequence[tuple[Floats, Floats]]) -> int:
    """Return how many of the given score above what five standard deviations of the others explain."""
    return max(
        int((ours > theirs.mean() + _STANDS_OUT * max(float(theirs.std()), 1e-12)).sum()) for ours, theirs in scores
    )
