"""Judges whether a plan does for each of several things what one verb is said of them (`language.acts.shared_verbs`).

Not covered: whether a thing that no argument holds was wished for, where nothing beside it is in one either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from hearth.formats.plan_validation import is_taking_away
from hearth.language.acts.shared_verbs import SharedVerb
from hearth.planning.arguments.alignment import FUNCTION_WORDS
from hearth.types import Argument, Plan, Refusal, Step, ToolSpec


def left_out(answer: Plan, things: Sequence[str]) -> tuple[str, ...]:
    """Return the things that a plan says nothing of, where it does of another of them."""
    written = frozenset(word for step in answer.steps for value in _values(step) for word in value)
    left = tuple(thing for thing in things if not _own_words(thing, things) & written)
    return left if len(left) < len(things) else ()


def is_taken_for_one(answer: Plan, shared: SharedVerb, tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether a plan looks for several things as if they were one, or does with one what is said of another."""
    doing = {answer.steps[k].tool if k >= 0 else "" for k in (_place(answer, thing) for thing in shared.things)}
    if shared.is_state_behind and len(doing) > 1 and "" not in doing:
        return True
    each = [_named(thing) for thing in shared.things]
    return any(
        sum(words <= _named(value) for words in each) > 1
        for step in answer.steps
        for name, argument in step.arguments.items()
        if _names_things(step, name, tools)
        for value in _texts(argument)
    )


def is_done_of_each(
    each: Plan | Refusal, shared: SharedVerb, answer: Plan, tools: Mapping[str, ToolSpec]
) -> TypeGuard[Plan]:
    """Return whether a plan does the same with each thing, in steps that name it alone, and beside that just what
    `answer` does. What takes something away wants each thing named with an article: "arts and crafts" is one."""
    if not isinstance(each, Plan) or not {*each.unserved} <= {*answer.unserved}:
        return False
    parts = [_about(each, thing) for thing in shared.things]
    mine, known = frozenset().union(*parts), frozenset().union(*(_about(answer, thing) for thing in shared.things))
    if not all(parts) or sum(map(len, parts)) > len(mine) or _rest(each, mine) != _rest(answer, known):
        return False
    deeds = {tuple(each.steps[k].tool for k in sorted(part)) for part in parts}
    is_same = shared.is_state_behind or {*next(iter(deeds))} == {answer.steps[k].tool for k in known}
    are_named = all(_looks_for(each.steps[min(part)], thing, tools) for part, thing in zip(parts, shared.things))
    takes_away = any(is_taking_away(each.steps[k], tools) for k in mine)
    return len(deeds) == 1 and is_same and are_named and not (takes_away and not all(map(has_article, shared.things)))


def has_article(thing: str) -> bool:
    """Return whether a thing is named with an article."""
    return thing.lower().partition(" ")[0] in FUNCTION_WORDS


def _rest(plan: Plan, left: frozenset[int]) -> list[str]:
    """Return what a plan does beside some of its steps; which step a reference is to does not tell them apart."""
    return sorted(
        f"{step.tool} {sorted((name, repr(_texts(value))) for name, value in step.arguments.items())}"
        for k, step in enumerate(plan.steps)
        if k not in left
    )


def _about(plan: Plan, thing: str) -> frozenset[int]:
    """Return the steps that name a thing, and those that use what they find; the one that names it alone, if any."""
    place = _place(plan, thing)
    found = {place} if place >= 0 else set()
    for k, step in enumerate(plan.steps):
        if any(ref.step in found for ref in step.refs()):
            found.add(k)
    return frozenset(found)


def _place(plan: Plan, thing: str) -> int:
    """Return the first step with a value that is just the thing; else with one that holds it; else -1."""
    named = _named(thing)
    exact = (k for k, step in enumerate(plan.steps) if named in _values(step))
    return next(exact, next((k for k, step in enumerate(plan.steps) if _names(step, thing)), -1))


def _names(step: Step, thing: str) -> list[str]:
    """Return the arguments of a step that name a thing."""
    named = _named(thing)
    return [name for name, value in step.arguments.items() if any(named <= _named(text) for text in _texts(value))]


def _looks_for(step: Step, thing: str, tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether a thing is the name of what a step acts on, and no text that it writes."""
    return any(_names_things(step, name, tools) for name in _names(step, thing))


def _names_things(step: Step, name: str, tools: Mapping[str, ToolSpec]) -> bool:
    parameter = tools[step.tool].parameter(name)
    return parameter is not None and parameter.names_a_thing


def _own_words(thing: str, things: Sequence[str]) -> frozenset[str]:
    """Return the words of a thing that are in no other; all where each is."""
    others = frozenset(word for other in things if other != thing for word in _named(other))
    return _named(thing) - others or _named(thing)


def _values(step: Step) -> list[frozenset[str]]:
    return [_named(value) for argument in step.arguments.values() for value in _texts(argument)]


def _texts(argument: Argument) -> list[str]:
    values = argument if isinstance(argument, list) else [argument]
    return [value for value in values if isinstance(value, str)]


def _named(text: str) -> frozenset[str]:
    words = frozenset(text.lower().replace("\u2019", "'").replace("'s", " ").split())
    return words - FUNCTION_WORDS or words
