"""The demonstrations that Hearth is shipped with, as statistics and as a student, for the service.

They are part of every prior, serve to judge contributions (`robust_merge.robust`, `anchor`), and set how a beginner
weighs evidence (`planning.warm_start`). Reading them takes some seconds and is done when the first
prior is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hearth.agent import shipped_demonstrations
from hearth.planning.ranking.ranker import Student
from hearth.planning.ranking.ranker_options import StudentOptions
from hearth.planning.ranking.statistics.device_profiles import PROFILES
from hearth.planning.ranking.statistics.sufficient_statistics import Statistics
from hearth.planning.ranking.statistics.vector_layout import public_tools
from hearth.planning.warm_start import begun
from hearth.protocols import Encoder
from hearth.registry import load_tools
from hearth.types import Demonstration, ToolSpec


@dataclass(frozen=True)
class Public:
    """Public demonstrations, read once."""

    given: Statistics
    """Statistics in the features of the largest profile."""
    shown: Student
    """Student taught in the features of the smallest profile."""
    tools: frozenset[str]

    @classmethod
    def shipped(cls, encoder: Encoder) -> Public:
        """Read the demonstrations of this version of Hearth."""
        shown = [one for one in shipped_demonstrations() if one.plan.steps]
        return cls.of(encoder, load_tools(None).specs, shown, public_tools(), PROFILES["large"], PROFILES["small"])

    @classmethod
    def of(
        cls,
        encoder: Encoder,
        tools: Mapping[str, ToolSpec],
        demonstrations: list[Demonstration],
        public: frozenset[str],
        largest: StudentOptions,
        smallest: StudentOptions,
    ) -> Public:
        """Build from any demonstrations whose tools are public."""
        large, small = Student(encoder, tools, largest), Student(encoder, tools, smallest)
        large.learn(demonstrations)
        small.learn(demonstrations)
        return cls(large.statistics(public), small, public)

    def fitted(self, prior: Statistics) -> Statistics:
        """Return the prior, which includes these, with weights for beginners; the same weights serve every profile."""
        small = prior.seen_by(self.shown.options.reading)
        return begun(small, self.shown, self.tools, is_in_prior=True)
