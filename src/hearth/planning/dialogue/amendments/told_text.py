"""Writes to somebody what the request tells them: "tell Ivy that she can come" writes "you can come" to Ivy.

A planner copies the words of the request, which speak of the one addressed as somebody else, takes a mail of Friday for
the one to be answered where the answer speaks of Friday, and looks for a deed where a whole sentence is told. What the
words say `language.discourse.reported_speech` reads; what is written is shown before it is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from hearth.errors import PlanError
from hearth.formats.plan_validation import check_plan
from hearth.language.discourse.reported_speech import told_in, turned_to, unnamed_in
from hearth.language.reading import Utterance
from hearth.language.text.spelling import words_in_text
from hearth.types import OWNERS_WORD, Plan, Ref, Refusal, Request, Step, ToolSpec

_SPOKEN = 0.9
"""Chance that what is told in direct speech is to be written so: what is written is shown."""
_TOLD_BY = {"draft_mail", "draft_reply", "draft_forward"}
_FIND, _DRAFT, _FIND_MAIL, _REPLY = "find_contact", "draft_mail", "find_mail", "draft_reply"


def turned_to_told(plan: Plan, said: Utterance) -> Plan:
    """Return the plan with its texts turned to whom they are written to; the same where nothing has to be turned."""
    if not any(step.tool in _TOLD_BY for step in plan.steps):
        return plan
    others = {
        word
        for entity in said.context.entities
        if entity.kind == "person"
        for name in (entity.name, *entity.aliases)
        for word in words_in_text(name)
    }
    return replace(plan, steps=tuple(_turned(step, plan.steps, said.text, others) for step in plan.steps))


def _turned(step: Step, steps: tuple[Step, ...], said: str, people: Iterable[str]) -> Step:
    text = step.arguments.get("text")
    if step.tool not in _TOLD_BY or not isinstance(text, str):
        return step
    start = said.casefold().find(text.casefold())
    if start < 0:
        return step
    names = [steps[ref.step].arguments.get("name") for ref in step.refs() if 0 <= ref.step < len(steps)]
    told = " ".join(name for name in names if isinstance(name, str))
    turned = turned_to(text, said[:start], told, people)
    return step if turned == text else replace(step, arguments={**step.arguments, "text": turned})


def _may_be_speech(found: Plan | Refusal, text: str) -> bool:
    """Return whether what was found leaves it open that the whole text is told: it writes another, or nothing."""
    if isinstance(found, Refusal):
        return found.kind == "out_of_scope" and found.planner != OWNERS_WORD
    writing = [step for step in found.steps if step.tool == _DRAFT]
    if len(writing) != 1 or _TOLD_BY & {step.tool for step in found.steps} != {_DRAFT}:
        return False
    return writing[0].arguments.get("text") != text and not writing[0].arguments.get("attachments")


def _may_be_reply(found: Plan | Refusal) -> bool:
    """Return whether what was found leaves it open what is replied: the owner did not teach it, and nothing is sent."""
    if isinstance(found, Refusal):
        return found.planner != OWNERS_WORD
    return not any(":" in id for id in found.rests_on) and all(step.tool != "send_mail" for step in found.steps)


def said_directly(said: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> Plan | Refusal | None:
    """Return the plan to write what is told in direct speech, whole: "tell Tom yeah I'll get you from college", "reply
    to Tom no that is too early"; the question who is told where only "her" says so.

    None where the words are no such speech to somebody known, ask for more beside it, or are understood whole.
    """
    if (asked := _who_is_told(said, found)) is not None:
        return asked
    told = told_in(said) if {_FIND, _DRAFT, _FIND_MAIL, _REPLY} <= tools.keys() else None
    if told is None or (told.is_marked and isinstance(found, Plan)):
        return None
    if not (_may_be_reply(found) if told.is_reply else _may_be_speech(found, told.text)):
        return None
    steps = (Step(_FIND, {"name": told.name}), Step(_DRAFT, {"to": [Ref(0, ("email",))], "text": told.text}))
    if told.is_reply:
        steps = (Step(_FIND_MAIL, {"sender": told.name}), Step(_REPLY, {"mail": Ref(0, ("id",)), "text": told.text}))
    try:
        return check_plan(Plan(steps, confidence=_SPOKEN, planner=found.planner), tools)
    except PlanError:
        return None


def _who_is_told(request: Request, found: Plan | Refusal) -> Refusal | None:
    """Return the question who "her" is, where somebody else who is named would be written to."""
    if isinstance(found, Refusal) or request.records or not any(step.tool in _TOLD_BY for step in found.steps):
        return None
    who = unnamed_in(request.text)
    if not who or any(":" in id for id in found.rests_on):
        return None
    reason = f"Who is “{who}”? I need to know that to draft a mail."
    return Refusal("needs", reason, (f"{_FIND}.name",), planner=found.planner)


_REPLIES = frozenset({_REPLY})


def without_told_filters(plan: Plan, said: Utterance, tools: Mapping[str, ToolSpec]) -> Plan:
    """Return the plan whose look-up of the mail to answer has no time or words of the answer's text."""
    steps = list(plan.steps)
    for step in plan.steps:
        text = step.arguments.get("text")
        start = said.text.find(text) if step.tool in _REPLIES and isinstance(text, str) and text else -1
        if start < 0:
            continue
        rest = said.saying(f"{said.text[:start]} {said.text[start + len(str(text)) :]}")
        for ref in step.refs():
            if 0 <= ref.step < len(steps) and steps[ref.step].tool == _FIND_MAIL:
                steps[ref.step] = _of_the_rest(steps[ref.step], rest, said)
    try:
        return check_plan(replace(plan, steps=tuple(steps)), tools)
    except PlanError:
        return plan


def _of_the_rest(step: Step, rest: Utterance, said: Utterance) -> Step:
    arguments = dict(step.arguments)
    if not rest.times:
        arguments = {name: value for name, value in arguments.items() if name not in ("start", "end")}
    query = arguments.get("query")
    if isinstance(query, str) and query.lower() not in rest.text.lower() and query.lower() in said.text.lower():
        del arguments["query"]
    return replace(step, arguments=arguments) if arguments else step
