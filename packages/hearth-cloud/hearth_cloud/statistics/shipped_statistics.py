"""What a service knows by itself: the demonstrations that Hearth is shipped with, as statistics and as a student.

They are in every prior, they judge contributions (`merging.robust`, `anchor`), and on them it is fitted how a beginner
weighs evidence (`planning.ranking.statistics.warm_start`). Reading them takes some seconds and is done when the first
prior is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hearth.agent import shipped_demonstrations
from hearth.planning.ranking.ranker import Student, StudentOptions
from hearth.planning.ranking.statistics.device_profiles import PROFILES
from hearth.planning.ranking.statistics.sufficient_statistics import Statistics
from hearth.planning.ranking.statistics.vector_layout import public_tools
from hearth.planning.ranking.statistics.warm_start import begun
from hearth.protocols import Encoder
from hearth.registry import load_tools
from hearth.types import Demonstration, ToolSpec


@dataclass(frozen=True)
class Public:
    """Public demonstrations, read once."""

    given: Statistics
    """In the features of the largest profile."""
    shown: Student
    """Taught them in the features of the smallest."""
    tools: frozenset[str]

    @classmethod
    def shipped(cls, encoder: Encoder) -> Public:
        """Those of this version of Hearth."""
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
        """Any demonstrations, of tools that are public."""
        large, small = Student(encoder, tools, largest), Student(encoder, tools, smallest)
        large.learn(demonstrations)
        small.learn(demonstrations)
        return cls(large.statistics(public), small, public)

    def fitted(self, prior: Statistics) -> Statistics:
        """The prior, which these are part of, with weights for beginners; the same weights serve every profile."""
        small = prior.seen_by(self.shown.options.reading)
        return begun(small, self.shown, self.tools, is_in_prior=True)
