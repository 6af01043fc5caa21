"""Judges other readings of a request by its words: what a plan leaves out of it, what else its look-up could seek.

Beside `execution.groundedness`, which says whether the things are there. Not covered: which reading is taken (`agent`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hearth.language.text.normalize import stem, stems
from hearth.language.text.thesaurus import KNOWN_WORDS
from hearth.language.text.tokens import Slot, Token, tokens
from hearth.planning.arguments.alignment import FUNCTION_WORDS
from hearth.types import Argument, Plan, Refusal, Step, ToolSpec

_NAMING = frozenset({"query", "name", "sender"})
"""Parameters of look-ups that hold what a thing is called."""
_TAKING_AWAY = frozenset({"delete", "cancel", "remove", "complete", "unlock", "open"})
"""First words of tools after which something is gone, or stands open."""
_OF_MEMORY = frozenset({"search_memory", "find_answer"})
"""What the owner's things are asked by is `memory_fallback`'s to take."""


def named_share(text: str, plan: Plan, slots: Sequence[Slot]) -> float:
    """Return how much of what a request is about a plan uses: "sketch" is left out where Patterson is looked up for
    "find the Patterson sketch". Words of asking and typed values (times, numbers) do not count."""
    used = stems(" ".join(said for step in plan.steps for value in step.arguments.values() for said in _texts(value)))
    said = [token for token in tokens(text) if not any(slot.start <= token.start < slot.end for slot in slots)]
    telling = {
        stem(t.low) for t in said if t.kind == "word" and t.low not in KNOWN_WORDS and t.low not in FUNCTION_WORDS
    }
    telling = {word for word in telling if len(word) > 2}
    return len(telling & used) / len(telling) if telling else 1.0


def other_queries(text: str, plan: Plan, slots: Sequence[Slot]) -> list[Plan]:
    """Return the plan with other words of the request as what its look-up seeks.

    "Cancel pilates this week back hurts" is about pilates. Each is a stretch of words between values and marks, without
    words of asking around it.
    """
    looks = [k for k, step in enumerate(plan.steps) if isinstance(step.arguments.get("query"), str)]
    if len(looks) != 1:
        return []
    found: list[Plan] = []
    for said in _stretches(text, slots):
        step = plan.steps[looks[0]]
        if said.lower() != str(step.arguments["query"]).lower():
            changed = replace(step, arguments={**step.arguments, "query": said})
            found.append(replace(plan, steps=(*plan.steps[: looks[0]], changed, *plan.steps[looks[0] + 1 :])))
    return found


def _stretches(text: str, slots: Sequence[Slot]) -> list[str]:
    runs: list[list[Token]] = [[]]
    for token in tokens(text):
        is_value = any(slot.start <= token.start < slot.end for slot in slots if slot.kind == "time")
        if is_value or token.kind == "mark":
            runs.append([])
        else:
            runs[-1].append(token)
    found: list[str] = []
    for run in runs:
        while run and (run[0].low in KNOWN_WORDS or run[0].low in FUNCTION_WORDS):
            run = run[1:]
        while run and run[-1].low in FUNCTION_WORDS:
            run = run[:-1]
        if run:
            found.append(text[run[0].start : run[-1].end])
    return found


def _texts(value: Argument) -> list[str]:
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []


def takes_away(plan: Plan, tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether a plan takes something away or opens it: such a reading has to name the whole of it."""
    changing = (step.tool for step in plan.steps if tools[step.tool].effect != "none")
    return any(tool.partition("_")[0] in _TAKING_AWAY for tool in changing)


def is_of_found_things(plan: Plan, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether a reading is about things that are looked up by what they are called, and changes those alone.

    In the place of a plan that sets something, another that sets something will do, too: a lamp's brightness was read,
    and the heating is named.
    """
    if any(step.tool in _OF_MEMORY for step in plan.steps):
        return False
    named = {k for k, step in enumerate(plan.steps) if tools[step.tool].effect == "none" and _is_sought(step)}
    changing = [step for step in plan.steps if tools[step.tool].effect != "none"]
    if named:
        return all({ref.step for ref in step.refs()} & named for step in changing)
    verbs = {step.tool.partition("_")[0] for step in (*plan.steps, *(found.steps if isinstance(found, Plan) else ()))}
    return isinstance(found, Plan) and len(plan.steps) == len(found.steps) == 1 and verbs == {"set"}


def _is_sought(step: Step) -> bool:
    """Return whether a look-up has a word of its own, none of those by which anything is asked for."""
    said = " ".join(v for name, v in step.arguments.items() if name in _NAMING and isinstance(v, str))
    return any(t.low not in KNOWN_WORDS and t.low not in FUNCTION_WORDS for t in tokens(said) if t.kind == "word")
