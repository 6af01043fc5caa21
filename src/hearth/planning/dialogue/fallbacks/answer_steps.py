"""Puts a question to the owner's things as a step of a plan: "email Sam the wifi password" sends the password.

A planner copies what it reads, so it would mail the words "the wifi password", or a piece of them ("alarm code",
"Pasture"); or it looks for a contact called as a studio is. Here the words of a text are read where they stand in the
request, with what they go with; where they name a value, a `find_answer` step finds it, and the mail's text becomes its
value, which carries the label of where it stands. Only a text takes such a value: recipients, amounts and numbers have
types that no answer has.

Covered: a value by what it is called ("the address of Pasture", "Ana's shoe size"), a clause ("email Sam when the
school play is", "what we decided in the meeting") and a value on somebody's card, in mails.
Not covered: values in the middle of a sentence ("tell Sam that the code is …"); what a mail is about ("email Tom about
the alarm code").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from hearth.errors import PlanError
from hearth.formats.plan_validation import check_plan
from hearth.language.acts.questions import VALUES
from hearth.planning.plan_steps import moved
from hearth.types import Context, Plan, Ref, Refusal, Request, Step, ToolSpec

FIND = "find_answer"
_CONTACT, _MAIL, _FILES = "find_contact", "draft_mail", "find_files"
_TOLD = frozenset({_MAIL, "draft_reply", "draft_forward"})
"""Tools whose `text` may be an answer."""
_TELLABLE = (
    rf"{VALUES}|notice period|period|duration|length|weight|height|colou?r|brand|model|deposit|premium|executor|owner"
    r"|landlord|author|capacity|mileage|frequency|channel|login|username|user name"
)
"""What a thing has and a mail may tell."""
_WORDS = r"(?:(?!(?:the|my|our|a|an|to|that) )[\w'’-]+ )"
_VALUE = re.compile(
    rf"(?:the|my|our|[\w-]+['’]s) {_WORDS}{{0,3}}?(?:{_TELLABLE})"
    r"(?P<of> (?:of|for|from|in|at|on|to) (?:[\w'’&-]+ ?){1,6})?(?= ?(?:[.!?,;]|\Z|(?:to|by|and|please|as)\b))",
    re.IGNORECASE,
)
_DETERMINER = re.compile(r"\b(?:the|my|our|[\w-]+['’]s) ", re.IGNORECASE)
_TOPIC = re.compile(r"\b(?:about|regarding|concerning|re:?) \Z", re.IGNORECASE)
"""Says that a mail is about what follows: it does not tell it."""
_REST = re.compile(r" (?:to|and|by|please)\b", re.IGNORECASE)
"""Begins what follows a value in a request."""
_WRITE = r"\s*(?:please )?(?:e-?mail|mail|write(?: to)?|send|text|message|tell) (?P<whom>(?:[\w'’-]+ ){1,3}?)"
_CLAUSES = (
    re.compile(
        rf"{_WRITE}(?P<asks>when|where|what|who|how much|how long|how many) (?P<thing>(?!\d).+?)"
        r" (?P<verb>is|are|was|were|costs?|starts?|begins?|ends?)(?P<rest> [^?.!]{1,40})?[\s?.!]*",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_WRITE}(?P<clause>(?:when|where|what|who|how much|how long|how many) (?:we|i) (?P<thing>"
        r"(?:[a-z]+ed|agreed|said|chose|bought|paid|spent|wrote|told|saw|met|had) [^?.!,]{3,60}))[\s?.!]*",
        re.IGNORECASE,
    ),
)
"""What a mail is to tell, as a clause: "when the school play is", "what we decided in the meeting"."""
_FIELDS = {"address": "address", "phone": "phone number", "email": "e-mail address", "birthday": "birthday"}
"""How the fields of a contact are asked for."""
_FIELD_SAID = {
    "address": r"address",
    "phone": r"(?:(?:tele)?phone |mobile )?number|(?:tele)?phone|mobile",
    "email": r"e-?mail(?: address)?",
    "birthday": r"birthday",
}
"""How the fields of a contact are called in a request."""
_LOOKED_UP = frozenset({_CONTACT, "find_events", "next_event"})
"""Tools that find only what bears the words as its title."""
_AS_FILES = frozenset({"recipe", "bill"})
"""Values that are sent as a file where there is one."""


def with_answer(
    request: Request, found: Plan | Refusal, context: Context, tools: Mapping[str, ToolSpec]
) -> Plan | None:
    """Plan to find the value that a request names and to use it; None where what was found needs none."""
    if FIND not in tools:
        return None
    people = {
        alias.casefold(): e.name for e in context.entities if e.kind == "person" for alias in (e.name, *e.aliases)
    }
    clause = _of_clause(request, found, people, tools)
    if clause is not None or not isinstance(found, Plan):
        return clause
    for steps in (_by_value(found, request.text, people), _for_nobody(found, people)):
        if (plan := _checked(found, steps, tools)) is not None:
            return plan
    return _checked(found, _of_the_other(found, request.text, people), tools)


def _by_value(plan: Plan, request: str, people: Mapping[str, str]) -> list[Step]:
    """Replace a text that is only the name of a value by the answer to "what is" it."""
    steps = list(plan.steps)
    for k, step in enumerate(plan.steps):
        said = step.arguments.get("text")
        if step.tool not in _TOLD or not isinstance(said, str):
            continue
        thing = _thing_told(said.strip(" ?.!"), request)
        if thing and not ("attachments" in step.arguments and _AS_FILES & set(thing.casefold().split())):
            steps[k] = _without_files(_telling(step, len(steps), thing), thing, plan)
            steps.append(_asked(f"what is {_as_asked(thing, people)}", step.text))
    return _without_unused(steps, plan)


def _thing_told(said: str, request: str) -> str:
    """Return the value that a text names, with the words around it in the request; empty where it names none."""
    start = request.casefold().find(said.casefold())
    if not said or start < 0:
        return said if _VALUE.fullmatch(said) else ""
    for match in _values_in(request):
        end = match.end()
        if match["of"] and (rest := _REST.search(request, max(start + len(said), match.start("of")), end)):
            end = rest.start()  # "the wifi password to Tom"
        if match.start() <= start and start + len(said) <= end:
            return "" if _TOPIC.search(request, 0, match.start()) else request[match.start() : end].strip()
    return ""


def _values_in(request: str) -> Iterator[re.Match[str]]:
    """Yield where a value is named in a request, the leftmost first."""
    for start in _DETERMINER.finditer(request):
        if (match := _VALUE.match(request, start.start())) is not None:
            yield match


def _as_asked(thing: str, people: Mapping[str, str]) -> str:
    """Return how a value is asked for: "Pasture's address" of what is no person as "the address of Pasture"."""
    owner, is_owned, value = thing.replace("’", "'").partition("'s ")
    fields = "|".join(_FIELD_SAID.values())
    if not is_owned or owner.casefold() in people or not re.fullmatch(fields, value, re.IGNORECASE):
        return thing
    return f"the {value} of {owner}"


def _without_files(step: Step, thing: str, plan: Plan) -> Step:
    """Leave out of a mail the files that were looked for by the words of the value that it tells."""
    files = step.arguments.get("attachments")
    if not isinstance(files, list):
        return step
    kept = [one for one in files if not (isinstance(one, Ref) and _is_of_thing(plan.steps[one.step], thing))]
    arguments = {name: value for name, value in step.arguments.items() if name != "attachments"}
    return step.given({**arguments, "attachments": kept} if kept else arguments)


def _is_of_thing(step: Step, thing: str) -> bool:
    query = step.arguments.get("query")
    return step.tool == _FILES and isinstance(query, str) and query.casefold() in thing.casefold()


def _without_unused(steps: list[Step], plan: Plan) -> list[Step]:
    """Drop the look-ups of files that the plan used and these steps no longer do."""
    was_used = {k for step in plan.steps for k in step.needs()}
    is_used = {k for step in steps for k in step.needs()}
    kept = [k for k, step in enumerate(steps) if step.tool != _FILES or k in is_used or k not in was_used]
    place = {k: new for new, k in enumerate(kept)}
    return [moved(steps[k], place) for k in kept]


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


def _of_the_other(plan: Plan, request: str, people: Mapping[str, str]) -> list[Step]:
    """Turn round a mail that would go to the one whose value it tells: "email Ana Tom's number" is for Ana.

    What nobody known has ("Pasture's address") is asked of everything.
    """
    steps = list(plan.steps)
    contact = {str(step.arguments.get("name")): k for k, step in enumerate(steps) if step.tool == _CONTACT}
    for k, step in enumerate(plan.steps):
        to, told = step.arguments.get("to"), step.arguments.get("text")
        if step.tool != _MAIL or not isinstance(to, list) or len(to) != 1 or not isinstance(told, Ref):
            continue
        for name, field in _fields_asked(request, {**{one: one for one in contact}, **people}):
            whose = contact.get(name)
            if whose is None or to[0] != Ref(whose, ("email",)) or told.step not in contact.values():
                continue
            turned = step.given({**step.arguments, "to": [Ref(told.step, ("email",))], "text": Ref(whose, (field,))})
            if name not in people.values():
                thing = f"the {_FIELDS[field]} of {name}"
                steps[whose], turned = _asked(f"what is {thing}", step.text), _telling(turned, whose, thing)
            steps[k] = turned
    return steps


def _fields_asked(request: str, people: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield whose value of a card a request names, and which: ("Tom Hale", "phone")."""
    for alias, name in people.items():
        for field, said in _FIELD_SAID.items():
            if re.search(rf"\b{re.escape(alias)}['’]s (?:{said})\b", request, re.IGNORECASE):
                yield name, field


def _of_clause(
    request: Request, found: Plan | Refusal, people: Mapping[str, str], tools: Mapping[str, ToolSpec]
) -> Plan | None:
    """Plan "email Sam when the school play is": the contact, the answer to "when is the school play", the draft."""
    said = next((match for form in _CLAUSES if (match := form.fullmatch(request.text)) is not None), None)
    whom = _whom(said["whom"].strip(), found, people) if said is not None else ""
    if said is None or not whom or _has_value(found):
        return None
    contact = Step(_CONTACT, {"name": whom}, text=request.text)
    draft = Step(_MAIL, {"to": [Ref(0, ("email",))]}, text=request.text)
    steps = [contact, _asked(_question(said), request.text), _telling(draft, 1, said["thing"])]
    return _checked(Plan((), confidence=0.5, planner="memory"), steps, tools)


def _has_value(found: Plan | Refusal) -> bool:
    """Return whether a plan tells a value already that it works out or remembers."""
    steps = found.steps if isinstance(found, Plan) else ()
    told = [step.arguments.get("text") for step in steps if step.tool in _TOLD]
    return any(isinstance(one, Ref) and steps[one.step].tool not in _LOOKED_UP for one in told)


def _whom(name: str, found: Plan | Refusal, people: Mapping[str, str]) -> str:
    """Return who is written to: somebody known, or whom the planner looks for by the same name."""
    sought = [step.arguments.get("name") for step in found.steps] if isinstance(found, Plan) else []
    return people.get(name.casefold()) or next((str(one) for one in sought if one == name), "")


def _question(said: re.Match[str]) -> str:
    """Return the question that a clause answers; a clause about a deed is asked as it is."""
    parts = said.groupdict()
    if parts.get("clause"):
        return said["clause"]
    is_deed = said["verb"].casefold() not in ("is", "are", "was", "were")
    verb = f"does {said['thing']} {said['verb'].removesuffix('s')}" if is_deed else f"{said['verb']} {said['thing']}"
    return f"{said['asks']} {verb}{said['rest'] or ''}"


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
