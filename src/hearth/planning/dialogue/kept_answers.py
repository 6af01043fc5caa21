"""Answers from the owner's things in his notes and lists: "note down the wifi password" notes the password.

A planner copies what it reads, so it would note the words "the wifi password". Here an order to note something, or to
put one thing on a list, is read whole; where the thing is only named ("Answer steps" knows which words name a value or
ask a clause), a `find_answer` step finds it, and the text becomes its value, which carries the label of where it
stands.

Covered: a new note, whose title says what the value is of; one item of a list, where the owner's things surely say the
value: else the words go on the list as they are, for most of what is put on one is bought, packed or done. Not covered:
a text added to a note that is there, several values in one order, a note with more in it than the value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hearth import patterns as re
from hearth.errors import PlanError
from hearth.formats.plans import check_plan
from hearth.language.tokens import word_set
from hearth.planning.dialogue.answer_steps import FIND, LONGEST_ORDER, POLITELY, asked_step, question_asked, titled
from hearth.types import OWNERS_WORD, Context, Plain, Plan, Ref, Refusal, Request, Step, ToolSpec

_NOTE, _LIST = "add_note", "add_to_list"
_END = r",?(?: for me)?(?:,? (?:please|thanks))?[\s.!]*"
_NOTED = re.compile(
    rf"\s*{POLITELY}(?:(?:note|jot|write|take|put) down|note|jot|(?:make|take|write|put|add) (?:me )?an? (?:\w+ )?note"
    rf" (?:of|with|saying|that says)) (?P<thing>\S.*?){_END}",
    re.IGNORECASE,
)
"""The whole of an order to note something. What stands behind a colon, in quotes or after "that" is dictated."""
_LISTED = re.compile(
    rf"\s*{POLITELY}(?:put|add|stick|pop|get|write|note|save) (?:down )?(?P<thing>\S.*?)"
    rf" (?:down )?(?:on(?:to)?|to|in(?:to)?) (?:my|the|our) (?P<list>[\w' -]+?)(?: list)?{_END}",
    re.IGNORECASE,
)
"""The whole of an order to put something on a list."""
_LOOKED_UP = word_set(
    "number code passcode password pin combination combo address iban reference size dose login username"
)
"""Values that are looked up and neither done, paid nor bought, as a bill, a date or a recipe may be."""
_OF_DEEDS = re.compile(r"to[- ]?dos?|tasks?|jobs?|chores?|errands?", re.IGNORECASE)
"""Lists of what is to be done: there "the alarm code" is one to see to."""
_MAY_GIVE_WAY = frozenset({_NOTE, "find_notes", "find_reminders", "find_contact", "find_events", FIND, "search_memory"})
"""Tools of plans in whose place a value is noted: none changes anything but a note."""


def with_noted_answer(
    request: Request, found: Plan | Refusal, context: Context, tools: Mapping[str, ToolSpec]
) -> Plan | None:
    """Plan to find the value that is to be noted, and to note it; None where a request says what is noted."""
    order = _order_in(_NOTED, request)
    question = question_asked(order["thing"], _people(context)) if order is not None else ""
    if order is None or not question or not {FIND, _NOTE} <= tools.keys():
        return None
    if isinstance(found, Refusal):
        if found.kind != "out_of_scope" or found.planner == OWNERS_WORD:
            return None
    elif not {step.tool for step in found.steps} <= _MAY_GIVE_WAY or _is_titled(found):
        return None
    note = Step(_NOTE, {"title": titled(order["thing"]), "text": Ref(0, ("value",))}, text=request.text)
    return _checked((asked_step(question, request.text), note), tools)


def with_listed_answer(
    request: Request, found: Plan | Refusal, context: Context, tools: Mapping[str, ToolSpec]
) -> Plan | None:
    """Plan to find the value that is to go on a list, and to put it there; None where the thing itself goes there."""
    order = _order_in(_LISTED, request)
    if order is None or not isinstance(found, Plan) or [step.tool for step in found.steps] != [_LIST]:
        return None
    items = found.steps[0].arguments.get("items")
    words = word_set(order["thing"].casefold())
    if not isinstance(items, list) or len(items) != 1 or not words & _LOOKED_UP or _OF_DEEDS.fullmatch(order["list"]):
        return None
    question = question_asked(order["thing"], _people(context))
    if not question:
        return None
    listed = found.steps[0].given({**found.steps[0].arguments, "items": [Ref(0, ("value",))]})
    return _checked((asked_step(question, request.text), listed), tools)


def _order_in(form: re.Pattern[str], request: Request) -> re.Match[str] | None:
    return form.fullmatch(request.text) if len(request.text) <= LONGEST_ORDER else None


def is_sure(answer: Plain) -> bool:
    """Return whether an answer is surely the value of what was asked, and one piece: it may stand for the words."""
    if not isinstance(answer, Mapping) or answer.get("doubt") or answer.get("elsewhere"):
        return False
    return bool(answer.get("is_named")) and answer.get("kind") not in ("list", "yesno")


def _people(context: Context) -> Collection[str]:
    """Return the names of those whom the owner knows, in lower case."""
    return {alias.casefold() for e in context.entities if e.kind == "person" for alias in (e.name, *e.aliases)}


def _is_titled(plan: Plan) -> bool:
    """Return whether the owner gave a note its title."""
    return any("title" in step.arguments for step in plan.steps)


def _checked(steps: tuple[Step, ...], tools: Mapping[str, ToolSpec]) -> Plan | None:
    try:
        return check_plan(Plan(steps, confidence=0.5, planner="memory"), tools)
    except PlanError:
        return None
