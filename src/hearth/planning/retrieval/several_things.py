"""Judges whether a plan does for each of several things what one verb is said of them (`language.acts.shared_verbs`).

Not covered: whether a thing that no argument holds was wished for, where nothing beside it is in one either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from hearth.language.acts.shared_verbs import SharedVerb
from hearth.planning.arguments.alignment import FUNCTION_WORDS
from hearth.types import Argument, Plan, Refusal, Step, ToolSpec


def left_out(answer: Plan | Refusal, things: Sequence[str]) -> tuple[str, ...]:
    """Return the things that a plan says nothing of, where it does of another of them; none of a refusal."""
    if not isinstance(answer, Plan):
        return ()
    written = frozenset(word for step in answer.steps for value in _values(step) for word in value)
    left = tuple(thing for thing in things if not _named(thing) & written)
    return left if len(left) < len(things) else ()


def is_taken_for_one(answer: Plan | Refusal, shared: SharedVerb, tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether a plan looks for several things as if they were one, or does with one what is said of another."""
    if not isinstance(answer, Plan):
        return False
    doing = {_doing(answer, thing) for thing in shared.things}
    if shared.is_state_behind and len(doing) > 1 and "" not in doing:
        return True
    each = [_named(thing) for thing in shared.things]
    for step in answer.steps:
        for name, value in step.arguments.items():
            parameter = tools[step.tool].parameter(name)
            if parameter is None or not parameter.names_a_thing or not isinstance(value, str):
                continue
            holds_all = sum(words <= _named(value) for words in each) > 1
            if holds_all and (parameter.is_resolved or all(has_article(thing) for thing in shared.things)):
                return True
    return False


def is_done_of_each(
    each: Plan | Refusal, things: Sequence[str], answer: Plan | Refusal, tools: Mapping[str, ToolSpec]
) -> TypeGuard[Plan]:
    """Return whether a plan does the same with each thing, in steps of their own that name it, and nothing that
    `answer` does not."""
    if not isinstance(each, Plan) or each.unserved or not isinstance(answer, Plan):
        return False
    places = [_place(each, thing) for thing in things]
    if -1 in places or len(set(places)) < len(places):
        return False
    named = {(each.steps[k].tool, name) for thing, k in zip(things, places) for name in _names(each.steps[k], thing)}
    (tool, name), *others = named
    parameter = tools[tool].parameter(name)
    names_it = not others and parameter is not None and parameter.names_a_thing
    return names_it and {step.tool for step in each.steps} <= {step.tool for step in answer.steps}


def _doing(plan: Plan, thing: str) -> str:
    """Return the tool of the step that names a thing; empty where none does."""
    place = _place(plan, thing)
    return plan.steps[place].tool if place >= 0 else ""


def _place(plan: Plan, thing: str) -> int:
    return next((k for k, step in enumerate(plan.steps) if _names(step, thing)), -1)


def _names(step: Step, thing: str) -> list[str]:
    """Return the arguments of a step that name a thing."""
    named = _named(thing)
    return [name for name, value in step.arguments.items() if any(named <= _named(text) for text in _texts(value))]


def _values(step: Step) -> list[frozenset[str]]:
    return [_named(value) for argument in step.arguments.values() for value in _texts(argument)]


def _texts(argument: Argument) -> list[str]:
    values = argument if isinstance(argument, list) else [argument]
    return [value for value in values if isinstance(value, str)]


def _named(text: str) -> frozenset[str]:
    words = frozenset(text.lower().replace("\u2019", "'").replace("'s", " ").split())
    return words - FUNCTION_WORDS or words


def has_article(thing: str) -> bool:
    """Return whether a thing is named with an article."""
    return thing.lower().partition(" ")[0] in FUNCTION_WORDS
