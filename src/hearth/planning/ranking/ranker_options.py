"""Defines the options of the ranker: its features, its ridge penalties, and how it weighs evidence."""

from __future__ import annotations

from dataclasses import dataclass, field

from hearth.planning.ranking.features import ReadingOptions


@dataclass(frozen=True, slots=True)
class StudentOptions:
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    ridge: float = 0.1
    n_free: int = 15
    """Number of new combinations proposed beside known ones."""
    use_heads: bool = True
    use_neighbours: bool = True
    n_fit: int = 800
    """Number of demonstrations from which the combining weights are fitted."""
    text_trust: float = 3.0
    """Number of uses of a tool that count as much as what its text suggests."""
    hides_tools: bool = True
    """True to fit on tools hidden for the purpose, too: better with new tools, and takes several times as long."""
    weight_bits: int = 7
    """Significant bits of the heads' weights; fewer make the student's file smaller."""
