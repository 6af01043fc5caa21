"""The demonstrations that Hearth is shipped with, as statistics and as a student, for the service.

They are part of every prior, serve to judge contributions (`robust_merge.robust`, `anchor`), and set how a beginner
weighs evidence (`learning.versions.drafting`). Reading them takes some seconds and is done when the first
prior is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from hearth.agent import shipped_demonstrations
from hearth.learning.versions.drafting import begun
from hearth.models.ridge import UNIT
from hearth.planning.ranking.features import Reader
from hearth.planning.ranking.ranker import PROFILES, Ranker, RankerOptions
from hearth.planning.ranking.sufficient_statistics import Statistics, public_tools
from hearth.protocols import Encoder
from hearth.registry import load_tools
from hearth.types import Demonstration, ToolSpec
from hearth_cloud.statistics.public_acts import Acts
from hearth_cloud.statistics.robust_merge import judges_of


def acts_of(
    encoder: Encoder, tools: Mapping[str, ToolSpec], demonstrations: Iterable[Demonstration], given: Statistics
) -> Acts:
    """Return the acts of public demonstrations, in the features in which their statistics are judged."""
    reader = Reader(encoder, judges_of(given))
    planned = [one for one in demonstrations if one.plan.steps]
    rows = reader.whole_features(reader.read([one.request for one in planned])).astype(np.float64) / UNIT
    effects = {name: spec.effect for name, spec in tools.items()}
    return Acts(rows, tuple(tuple(step.tool for step in one.plan.steps) for one in planned), effects)


@dataclass(frozen=True)
class Public:
    """Public demonstrations, read once."""

    given: Statistics
    """Statistics in the features of the largest profile."""
    shown: Ranker
    """Ranker taught in the features of the smallest profile."""
    tools: frozenset[str]
    acts: Acts
    """Their requests with the effect of each, in the judges' features."""

    @classmethod
    def shipped(cls, encoder: Encoder) -> Public:
        """Read the demonstrations of this version of Hearth."""
        shown = [one for one in shipped_demonstrations() if one.plan.steps]
        sizes = PROFILES["large"], PROFILES["small"]
        return cls.of(encoder, load_tools(None).specs, shown, public_tools(), sizes)

    @classmethod
    def of(
        cls,
        encoder: Encoder,
        tools: Mapping[str, ToolSpec],
        demonstrations: list[Demonstration],
        public: frozenset[str],
        sizes: tuple[RankerOptions, RankerOptions],
    ) -> Public:
        """Build from any demonstrations whose tools are public; `sizes`: the largest profile and the smallest."""
        large, small = (Ranker(encoder, tools, options) for options in sizes)
        large.learn(demonstrations)
        small.learn(demonstrations)
        given = large.statistics(public)
        acts = acts_of(encoder, tools, demonstrations, given)
        return cls(given, small, public, acts)

    def fitted(self, prior: Statistics) -> Statistics:
        """Return the prior, which includes these, with weights for beginners; the same weights serve every profile."""
        small = prior.seen_by(self.shown.options.reading)
        return begun(small, self.shown, self.tools, is_in_prior=True)
