"""Decides which part of the owner's demonstrations a phrase stands for: its steps, whether it sends, its list items.

Covered: other business in a demonstration left out, meanings told later, sending that was or was not asked for, things
added to a list, the part of the day.
Not covered: changes that only take something away, quantities ("twice the usual").
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from hearth.formats.plan_validation import literals
from hearth.planning.adaptation.macro_phrases import Held, words_for
from hearth.planning.adaptation.templates import SENDS, SMALL, Template, Word, words_at, words_of
from hearth.types import Plan, ToolSpec


def kept_steps(newest: Held, found: Sequence[Held], phrase: Set[str], *, is_later: bool) -> list[int]:
    """Return the indices of the steps that belong to the macro.

    These are steps that another such plan has, steps of which nothing is said beside the phrase, and what both need.

    Args:
        is_later: True when it was taught after the request: what it explains did not hold yet.
    """
    template = newest.template
    steps = template.plan.steps
    if template.explains:
        unsaid = [k for k, step in enumerate(steps) if all((k, name) in template.unsaid for name in step.arguments)]
        is_closed = unsaid and all(set(steps[k].needs()) <= set(unsaid) for k in unsaid)
        return unsaid if is_later and is_closed else list(range(len(steps)))
    beside = {word for word in template.stems if word not in SMALL} - phrase
    others = {
        _key(other.template, k) for other in found if other is not newest for k in range(len(other.template.plan.steps))
    }
    kept = {k for k in range(len(steps)) if _key(template, k) in others or not beside & words_for(template, k)}
    return sorted(_with_needed(template, kept)) or list(range(len(steps)))


def _with_needed(template: Template, kept: set[int]) -> set[int]:
    """Add the step that writes, those that use what it writes, and all that the kept steps need."""
    steps, content = template.plan.steps, template.content
    if content is not None:
        kept = kept | {content.step} | {k for k, step in enumerate(steps) if content.step in step.needs()}
    while (needed := kept | {need for k in kept for need in steps[k].needs()}) != kept:
        kept = needed
    return kept


def _key(template: Template, index: int) -> tuple[object, ...]:
    step = template.plan.steps[index]
    values = [(name, str(literals(v))) for name, v in step.arguments.items() if not template.is_content(index, name)]
    return (step.tool, *sorted((name, text) for name, text in values if not re.search(r"\d{4}-\d\d-\d\d", text)))


def effect_of_step(one: Held, index: int, tools: Mapping[str, ToolSpec]) -> str:
    spec = tools.get(one.template.plan.steps[index].tool)
    return spec.effect if spec is not None else "change"


def sending(found: Sequence[Held], is_asked: bool, tools: Mapping[str, ToolSpec]) -> tuple[Held, bool]:
    """Return the demonstration to follow, and whether its sending is kept.

    Sending is kept when it is asked for, or was taught for a request that did not ask.
    """
    sends = {
        one.template.id: any(effect_of_step(one, k, tools) == "send" for k in range(len(one.template.plan.steps)))
        for one in found
    }
    unasked = [one for one in found if sends[one.template.id] and not SENDS & set(one.template.stems)]
    plain = [one for one in found if not sends[one.template.id]]
    newest = found[-1]
    if is_asked:
        sending = [one for one in found if sends[one.template.id]]
        same = [one for one in sending if one.template.constants() == newest.template.constants()]
        return (same or [newest])[-1], True
    if unasked and (not plain or found.index(unasked[-1]) > found.index(plain[-1])):
        return newest, True
    return newest, False


_PLUS = re.compile(r"\s*(?:,?\s*(?:and|plus|also|with)\b|[,+&])\s*", re.IGNORECASE)


def with_more(plan: Plan, found: Sequence[Held], text: str, phrase: Sequence[Word]) -> Plan | None:
    """Return the plan with what the request adds to its list ("basics, and beer"), if the owner was seen to add to it.

    Returns:
        None: something is added, and it is not known to what.
    """
    lists = [
        (k, name) for k, step in enumerate(plan.steps) for name, v in step.arguments.items() if isinstance(v, list)
    ]
    lists = [(k, name) for k, name in lists if literals(plan.steps[k].arguments[name])]
    if not lists:
        return plan
    added = _PLUS.split(text[phrase[-1].end :])[1:]
    listed = {
        word for k, name in lists for one in literals(plan.steps[k].arguments[name]) for word in words_of(str(one))
    }
    items = [one for part in added if (one := _item(part)) and not set(words_of(one)) <= {*listed, *SMALL}]
    if not items:
        return plan
    if len(lists) > 1 or not any(one.template.adds_to_lists for one in found):
        return None
    (k, name) = lists[0]
    old = plan.steps[k].arguments[name]
    more = replace(
        plan.steps[k], arguments={**plan.steps[k].arguments, name: [*(old if isinstance(old, list) else []), *items]}
    )
    return replace(plan, steps=(*plan.steps[:k], more, *plan.steps[k + 1 :]))


def _item(part: str) -> str:
    """Return a thing to add, without words that only belong to the asking; empty when it is none."""
    words = words_at(re.split(r"[.;!?]|\b(?:for|please|pls|on the|to the)\b", part)[0])
    return part[words[0].start : words[-1].end] if words and len(words) <= _MOST_ADDED else ""


_MOST_ADDED = 5


_PARTS_OF_DAY = (("morning", 4, 12), ("afternoon", 12, 17), ("evening", 17, 22), ("night", 22, 28))


def of_part_of_day(plan: Plan, found: Sequence[Held], said: Sequence[str], now: dt.datetime | None) -> Plan:
    """Use the part of the day that is said, else the present one, when demonstrations differ only in it."""
    names = [name for name, _, _ in _PARTS_OF_DAY]
    used = {
        name for one in found for _, _, value in one.template.constants() for name in names if name in value.split()
    }
    if len(used) < 2 or now is None:
        return plan
    hour = (now.hour - 4) % 24 + 4
    apart = {name: max(first - hour, hour + 1 - last, 0) for name, first, last in _PARTS_OF_DAY if name in used}
    here = next((name for name in names if name in said), "") or min(apart, key=lambda name: apart[name])
    if here not in used:
        return plan
    pattern = re.compile(rf"\b(?:{'|'.join(names)})\b")
    steps = tuple(
        replace(
            step, arguments={n: pattern.sub(here, v) if isinstance(v, str) else v for n, v in step.arguments.items()}
        )
        for step in plan.steps
    )
    return replace(plan, steps=steps)
