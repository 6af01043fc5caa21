"""Puts a question to the owner's things as a step of a plan: "email Sam the wifi password" sends the password.

A planner copies what it reads, so it would mail the words "the wifi password"; or it looks for a contact called as a
studio is. Here such words become a `find_answer` step, and the mail's text its value, which carries the label of where
it stands. Only a text takes such a value: recipients, amounts and numbers have types that no answer has.

Covered: a value by what it is called ("the address of Pasture", "Ana's shoe size") and a clause ("email Sam when the
school play is"), in mails.
Not covered: values in the middle of a sentence ("tell Sam that the code is …"), times before an event.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from hearth.errors import PlanError
from hearth.formats.plan_validation import check_plan
from hearth.language.acts.questions import VALUES
from hearth.types import Context, Plan, Ref, Refusal, Request, Step, ToolSpec

FIND = "find_answer"
_CONTACT, _MAIL = "find_contact", "draft_mail"
_TOLD = frozenset({_MAIL, "draft_reply", "draft_forward"})
"""Tools whose `text` may be an answer."""
_VALUE = re.compile(
    rf"(?:the|my|our|[\w-]+['’]s) (?:[\w'’-]+ ){{0,3}}?(?:{VALUES})"
    r"(?: (?:of|for|from|in|at|on|to) (?:[\w'’&-]+ ?){1,6})?",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"\s*(?:please )?(?:e-?mail|mail|write(?: to)?|send|text|message) (?P<whom>(?:[\w'’-]+ ){1,3}?)"
    r"(?P<asks>when|where|what|who|how much|how long|how many) (?P<thing>.+?)"
    r" (?P<verb>is|are|was|were|costs?|starts?|begins?|ends?)(?P<rest> [^?.!]{1,40})?[\s?.!]*",
    re.IGNORECASE,
)
_FIELDS = {"address": "address", "phone": "phone number", "email": "e-mail address", "birthday": "birthday"}
"""How the fields of a contact are asked for."""


def with_answer(
    request: Request, found: Plan | Refusal, context: Context, tools: Mapping[str, ToolSpec]
) -> Plan | None:
    """Plan to find the value that a request names and to use it; None where what was found needs none."""
    if FIND not in tools:
        return None
    people = {
        alias.casefold(): e.name for e in context.entities if e.kind == "person" for alias in (e.name, *e.aliases)
    }
    clause = _of_clause(request, people, tools)
    if clause is not None or not isinstance(found, Plan):
        return clause
    return _checked(found, _by_value(found), tools) or _checked(found, _for_nobody(found, people), tools)


def _by_value(plan: Plan) -> list[Step]:
    """Replace a text that is only the name of a value by the answer to "what is" it."""
    steps = list(plan.steps)
    for k, step in enumerate(plan.steps):
        said = step.arguments.get("text")
        if step.tool in _TOLD and isinstance(said, str) and _VALUE.fullmatch(said.strip(" ?.!")):
            steps[k] = _telling(step, len(steps), said.strip(" ?.!"))
            steps.append(_asked(f"what is {said.strip(' ?.!')}", step.text))
    return steps


def _for_nobody(plan: Plan, people: Mapping[str, str]) -> list[Step]:
    """Ask everything for what a plan wants to tell of a contact whom nobody knows."""
    steps = list(plan.steps)
    for k, step in enumerate(plan.steps):
        name = step.arguments.get("name")
        if step.tool != _CONTACT or not isinstance(name, str) or name.casefold() in people:
            continue
        users = [place for place, user in enumerate(plan.steps) if k in user.needs()]
        user = plan.steps[users[0]] if len(users) == 1 else step
        told = user.arguments.get("text")
        if (
            user.tool not in _TOLD
            or not isinstance(told, Ref)
            or told.step != k
            or [r.step for r in user.refs()].count(k) > 1
        ):
            continue
        if told.path and told.path[0] in _FIELDS:
            thing = f"the {_FIELDS[told.path[0]]} of {name}"
            steps[k] = _asked(f"what is {thing}", step.text)
            steps[users[0]] = _telling(user, k, thing)
    return steps


def _of_clause(request: Request, people: Mapping[str, str], tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Plan "email Sam when the school play is": the contact, the answer to "when is the school play", the draft."""
    said = _CLAUSE.fullmatch(request.text)
    whom = people.get(said["whom"].strip().casefold()) if said is not None else None
    if said is None or whom is None:
        return None
    is_deed = said["verb"].casefold() not in ("is", "are", "was", "were")
    verb = f"does {said['thing']} {said['verb'].removesuffix('s')}" if is_deed else f"{said['verb']} {said['thing']}"
    question = f"{said['asks']} {verb}{said['rest'] or ''}"
    draft = Step(_MAIL, {"to": [Ref(0, ("email",))]}, text=request.text)
    contact = Step(_CONTACT, {"name": whom}, text=request.text)
    steps = [contact, _asked(question, request.text), _telling(draft, 1, said["thing"])]
    return _checked(Plan((), confidence=0.5, planner="memory"), steps, tools)


def _telling(step: Step, asked: int, thing: str) -> Step:
    """Return a step whose text is an answer; a mail's subject says what it is of, so that the value is not in it."""
    arguments = {**step.arguments, "text": Ref(asked, ("value",))}
    subject = re.sub(r"\A(?:the|my|our) ", "", thing, flags=re.IGNORECASE)
    named = {"subject": subject[:1].upper() + subject[1:]} if step.tool == _MAIL else {}
    return replace(step, arguments={**named, **arguments})


def _asked(question: str, text: str) -> Step:
    return Step(FIND, {"question": question}, text=text)


def _checked(plan: Plan, steps: list[Step], tools: Mapping[str, ToolSpec]) -> Plan | None:
    if steps == list(plan.steps):
        return None
    try:
        return check_plan(replace(plan, steps=tuple(steps)), tools)
    except PlanError:
        return None
