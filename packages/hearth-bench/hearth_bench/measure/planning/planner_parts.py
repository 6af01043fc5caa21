"""Name the functions that mend what was planned, note which of them change anything, and leave them out.

A part is looked up by its name in the module or class that calls it, so one that is renamed or gone is an error, not a
part that touches nothing.

Not covered: functions within these parts; what reads the words of a request (`hearth.language`), but for two.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

ALL = "all"
"""The name of all parts, left out together."""
_AGENT = "hearth.agent"
_AGENTS = "hearth.agent.Agent"
_RECALL = "hearth.planning.retrieval.recall_planner"
_RECALLS = f"{_RECALL}.RecallPlanner"
_MACROS = "hearth.planning.owner_macros.Conventions"


@dataclass(frozen=True, slots=True)
class Part:
    """A function that may change what is planned."""

    name: str
    owner: str
    """The module or class in which it is looked up."""
    given: int | None
    """Place of the argument that it may change, `self` left out; None where it changes none."""
    is_handed_back: bool = True
    """Whether it hands back that argument where it changes nothing; else it returns `nothing`."""
    nothing: object = None

    def without(self, arguments: Sequence[Any]) -> object:
        """Return what it gives where it changes nothing."""
        if self.is_handed_back and self.given is not None:
            return arguments[self.given]
        return self.nothing

    def changes(self, arguments: Sequence[Any], made: object) -> bool:
        """Return whether what it made differs from what it was given."""
        if made == self.without(arguments):
            return False
        return self.given is None or made != arguments[self.given]


def _mends(owner: str, given: int, *names: str) -> tuple[Part, ...]:
    return tuple(Part(name, owner, given) for name in names)


def _tries(owner: str, given: int, *names: str) -> tuple[Part, ...]:
    """Return parts that give None where what they are given stands."""
    return tuple(Part(name, owner, given, is_handed_back=False) for name in names)


def _tells(owner: str, nothing: object, *names: str) -> tuple[Part, ...]:
    return tuple(Part(name, owner, None, is_handed_back=False, nothing=nothing) for name in names)


PARTS: tuple[Part, ...] = (
    # before planning
    *_mends(_AGENT, 0, "plainly", "on_its_list"),
    *_mends(_AGENTS, 0, "_counted_from"),
    # what is said beside
    *_tries(_AGENT, 0, "with_lead", "with_copied", "with_told", "with_put_in"),
    *_tells(_AGENT, "", "beyond_tools"),
    # read otherwise
    *_tries(_AGENT, 1, "to_those_told", "refused_deed", "asked_of_memory", "asked_of_cloud", "told_to_memory"),
    *_tries(_AGENT, 1, "asked_of_clock", "asked_of_footage", "with_answer", "shown_again", "done_to_record"),
    *_tries(_AGENTS, 1, "_of_its_time", "_sending_what_is_named", "_of_named_things", "_of_a_list", "_by_its_date"),
    # amended
    *_tries(_AGENT, 1, "said_directly", "either_asked"),
    *_tells(_AGENT, "", "nearest_rhythm"),
    *_mends(_AGENT, 0, "without_contradictions"),
    *_tells(_AGENT, None, "swallowed"),
    *_mends(_AGENT, 0, "with_her_named", "with_state_asked", "with_each_device", "with_each_day", "with_each_time"),
    *_mends(_AGENT, 0, "without_echoes", "with_deeds_in_words", "without_told_filters", "turned_to_told"),
    *_mends(_AGENT, 0, "with_records", "as_typed"),
    *_mends(_AGENTS, 1, "_with_the_one_named"),
    *_mends(_AGENTS, 0, "_asked_as_typed"),
    # around running; only natural requests are run
    *_tries(_AGENT, 0, "in_the_other_half"),
    *_tells(_AGENT, (), "reminders_of_days", "events_between"),
    *_tells(_AGENT, "", "whether_free", "lacking_on_card"),
    *_tells(_AGENT, None, "asked_elsewhere", "asked_beyond_card", "asked_beyond_device"),
    *_tells(_AGENT, None, "asked_beyond_nothing", "asked_beyond_listed"),
    # within recall
    *_mends(_RECALL, 0, "with_denials"),
    *_mends(_RECALLS, 1, "_of_each"),
    *_tells(_RECALLS, False, "_is_for_now_only"),
    *_tells(_RECALL, False, "is_aside", "swallows_a_time", "is_shaky", "_is_done_too_early"),
    # of what the owner taught
    *_tells(_RECALL, False, "does_the_opposite", "holds_what_is_gone"),
    *_tells(_RECALL, None, "said_again"),
    *_tells(_MACROS, None, "meant"),
)


# ── Parts noted and left out ──────────────────────────────────────────────────────────────────────────────


def owner_of(part: Part) -> Any:
    """Return the module or class. Raises: AttributeError: It has no such function (any more)."""
    try:
        owner: Any = importlib.import_module(part.owner)
    except ModuleNotFoundError:
        module, _, name = part.owner.rpartition(".")
        owner = getattr(importlib.import_module(module), name)
    if not hasattr(owner, part.name):
        raise AttributeError(f"{part.owner} has no {part.name!r}; name in PARTS what stands in its place, or nothing")
    return owner


@contextmanager
def noting(parts: Sequence[Part]) -> Iterator[set[str]]:
    """Note the names of the parts that change anything while this is open."""
    touched: set[str] = set()
    with ExitStack() as stack:
        for part in parts:
            owner = owner_of(part)
            stack.enter_context(patch.object(owner, part.name, _noted(part, getattr(owner, part.name), touched)))
        yield touched


def _noted(part: Part, function: Any, touched: set[str]) -> Any:
    first = _first_of(part)

    def noted(*arguments: Any, **named: Any) -> Any:
        made = function(*arguments, **named)
        if part.changes(arguments[first:], made):
            touched.add(part.name)
        return made

    return noted


@contextmanager
def leaving_out(parts: Sequence[Part]) -> Iterator[None]:
    """Put in each part's place what gives back what it was given."""
    with ExitStack() as stack:
        for part in parts:
            stack.enter_context(patch.object(owner_of(part), part.name, _without(part)))
        yield


def _without(part: Part) -> Any:
    first = _first_of(part)

    def without(*arguments: Any, **_named: Any) -> object:
        return part.without(arguments[first:])

    return without


def _first_of(part: Part) -> int:
    """Return the place of the first argument behind `self`."""
    return 1 if isinstance(owner_of(part), type) else 0
