"""Moves steps between plans with their references, and tells those after which something is gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hearth.types import Argument, Ref, Step, ToolSpec

_TAKING_AWAY = frozenset({"delete", "cancel", "remove", "complete", "unlock", "open"})
"""First words of tools after which something is gone, or stands open."""


def is_taking_away(step: Step, tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether something is gone after a step, or stands open."""
    return tools[step.tool].effect != "none" and step.tool.partition("_")[0] in _TAKING_AWAY


def shifted(steps: Sequence[Step], by: int) -> list[Step]:
    """Return the steps with references shifted by `by`."""
    return [moved(step, {k: k + by for k in range(-by, len(steps))}) for step in steps]


def moved(step: Step, place: Mapping[int, int]) -> Step:
    """Return `step` with every reference at its new place."""
    arguments = {name: _at_place(value, place) for name, value in step.arguments.items()}
    return replace(step, arguments=arguments, after=tuple(place[k] for k in step.after))


def _at_place(value: Argument, place: Mapping[int, int]) -> Argument:
    if isinstance(value, Ref):
        return Ref(place[value.step], value.path)
    if isinstance(value, list):
        return [_at_place(item, place) for item in value]
    if isinstance(value, dict):
        return {key: _at_place(item, place) for key, item in value.items()}
    return value
