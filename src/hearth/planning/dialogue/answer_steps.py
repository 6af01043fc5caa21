"""Answers from the owner's things as steps of a plan, and their dates in reminders and events."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from hearth import patterns as re
from hearth.errors import PlanError
from hearth.formats.plans import check_plan, renumbered
from hearth.language.discourse.relative_anchors import NamedAnchor, named_anchor, names_a_day
from hearth.language.reading import VALUES, Utterance, asks_for_value, question_of
from hearth.memory.search.search_words import keys_of
from hearth.tools.pim.contacts import Birth
from hearth.types import OWNERS_WORD, Argument, Context, Plan, Ref, Refusal, Request, Step, StepResult, ToolSpec

# ── Answer steps ──────────────────────────────────────────────────────────────────────────────────────────
# Puts a question to the owner's things as a step of a plan: "email Sam the wifi password" sends the password.
#
# A planner copies what it reads, so it would mail the words "the wifi password", or a piece of them ("alarm code",
# "Pasture"); or it looks for a contact called as a studio is. Here the words of a text are read where they stand in
# the request, with what they go with; where they name a value, a `find_answer` step finds it, and the mail's text
# becomes its value, which carries the label of where it stands. Only a text takes such a value: recipients, amounts
# and numbers have types that no answer has.
#
# Covered: a value by what it is called ("the address of Pasture", "Ana's shoe size"), a clause ("email Sam when the
# school play is", "what we decided in the meeting") and a value on somebody's card, in mails. Who is asked for a
# value ("email Tom to send me the code") is never sent it: a value is told only right behind whom it is given to, and
# what else is said to them stands below it ("… and say I'll be late"). Not covered: values within a sentence of its own
# ("tell Sam that the code is …"); what a mail is about ("email Tom about the alarm code"); two values in one mail; a
# mail that is only a part of what a request asks for.

LONGEST_ORDER = 1_000
"""Characters of a request that is read for a value; in a longer one, a text is dictated."""
FIND = "find_answer"
_CONTACT, _MAIL, _FILES = "find_contact", "draft_mail", "find_files"
_FORWARD = "draft_forward"
_TOLD = frozenset({_MAIL, "draft_reply", _FORWARD})
"""Tools whose `text` may be an answer."""
_TELLABLE = (
    rf"{VALUES}|notice period|period|duration|length|weight|height|colou?r|brand|model|deposit|premium|executor|owner"
    r"|landlord|author|capacity|mileage|frequency|channel|login|username|user name"
)
"""What a thing has and a mail may tell."""
_WORDS = r"(?:(?!(?:the|my|our|a|an|to|that) )[\w'’-]+ )"
_PRONOUN = r"i|we|you|he|she|it|they|this|that|these|those|there|us|them|him|me|i['’]\w+|\w+['’](?:ll|re|ve)"
_VERB = (
    r"is|are|was|were|am|be|been|has|have|had|will(?= (?!please|to|by|and)\w)|would|can|could|should"
    r"|must|may|might|do|does|did|says?|said"
    r"|needs?|seems?|looks?|sounds?|stays?|remains?|changed|\w+n['’]t"
)
"""Makes a sentence of its own: what holds one is no name of a value."""
_SENTENCE = re.compile(rf"\b(?:{_PRONOUN}|{_VERB})(?![\w'’])", re.IGNORECASE)
_VALUE = re.compile(
    rf"(?:the|my|our|[\w-]+['’]s) {_WORDS}{{0,3}}?(?:{_TELLABLE})"
    rf"(?P<of> (?:of|for|from|in|at|on|to) (?:(?!(?:{_PRONOUN}|{_VERB}|and)(?![\w'’]))[\w'’&-]+ ?){{1,6}})?"
    r"(?= ?(?:[.!?,;]|\Z|(?:to|by|and|please|as)\b))",
    re.IGNORECASE,
)
_SAID_OTHERWISE = re.compile(
    r"(?:the|my|our) (?!(?:address|birthday|deadline|deposit|excess|executor|iban|landlord|mileage"
    r"|premium|recipe|registration|rent|wifi)\Z)\w+",
    re.IGNORECASE,
)
"""Names no value of its own: "the owner", "my number"."""
_DETERMINER = re.compile(r"\b(?:the|my|our|[\w-]+['’]s) ", re.IGNORECASE)
POLITELY = (
    r"(?:(?:please|kindly|hey|ok|okay|now|just|(?P<asks>(?:can|could|would|will) you)|i (?:want|need|would like) to"
    r"|i['’]d like to),? )*"
)
"""What may stand before an order."""
_GIVES = re.compile(
    rf"\s*{POLITELY}"
    r"(?P<gives>(?:send|write|draft) an? (?:e-?mail|mail|message|note|reply) to|forward [^,.;:?!]+? to"
    r"|(?:pass|hand)(?: on)?|share|forward"
    r"|(?:e-?mail|mail|write|send|tell|text|message|give|let|reply|answer|draft)(?: to)?) "
    r"(?P<whom>(?:[\w.+@'’,-]+ ){0,6}?)(?:know |have )?"
    r"(?:(?:an? )?(?:e-?mail|mail|message|note|reply) (?=with))?(?:with )?",
    re.IGNORECASE,
)
"""Begins a request up to what is given: "let Priya know", "reply to Sam with"."""
_FOLLOWS = re.compile(
    r",? and (?:also )?(?:say|mention|tell (?:him|her|them)|let (?:him|her|them) know) (?:that )?(?P<beside>\S.*)"
    r"|[\s.!?]*|,? (?:please|thanks|by (?:e-?mail|mail)|as an? \w+)[\s.!?]*"
    r"|,? (?:(?:on|along|over) )?(?:to|with) (?P<whom>[\w.+@'’, -]+?)[\s.!?]*"
    r"|,? and (?:add|ask|attach|call|copy|create|note|put|remind|schedule|send|set) .*",
    re.IGNORECASE,
)
"""What may stand behind a value that is given."""
_MAILS = re.compile(
    r"e-?mail|mail|write|(?:send|draft) an? (?:e-?mail|mail)|(?:pass|hand)(?: on)?\Z|share|forward\Z|give|let",
    re.IGNORECASE,
)
"""Gives in writing: what only looks somebody up becomes a draft, which nobody gets before the owner says so."""
_WRITES = re.compile(r"e-?mail|mail|write|send", re.IGNORECASE)
_SAYS_MAIL = re.compile(r"\b(?:e-?mails?|mails?|messages?|letters?)\b(?!\s+address)", re.IGNORECASE)
_POLITE = re.compile(r",? please[\s.!?]*\Z", re.IGNORECASE)
_AND = re.compile(r",? and |, ", re.IGNORECASE)
_NO_NAMES = frozenset({"ask", "asking", "for", "whether", "if", "that", "to", "about", "please", "when", "what", "how"})
_BESIDE_NAMES = frozenset({"and", "my", "the", "me", "myself", "mail", "email", "e-mail", "message", "last", "latest"})
"""What may stand among the names of those who are written to."""
_REST = re.compile(r" (?:to|and|by|please)\b", re.IGNORECASE)
"""Begins what follows a value in a request."""
_WRITE = r"\s*(?:please )?(?:e-?mail|mail|write(?: to)?|send|text|message|tell) (?P<whom>(?:[\w'’-]+ ){1,3}?)"
_CLAUSES = (
    r"(?P<asks>when|where|what|who|how much|how long|how many) (?P<thing>(?!\d).+?)"
    r" (?P<verb>is|are|was|were|costs?|starts?|begins?|ends?)(?P<rest> [^?.!]{1,40})?[\s?.!]*",
    r"(?P<clause>(?:when|where|what|who|how much|how long|how many) (?:we|i) (?P<thing>"
    r"(?:[a-z]+ed|agreed|said|chose|bought|paid|spent|wrote|told|saw|met|had) [^?.!,]{3,60}))[\s?.!]*",
    # No "when": "email Sam when the parcel arrives" is to be done then.
    r"(?P<asks>what|where|how much) (?P<thing>(?:the|my|our|[\w-]+['’]s) (?:[\w'’-]+ ){0,2}?[\w'’-]+)"
    rf" (?P<verb>(?!(?:{_VERB})\b)[a-z]{{2,}}s)[\s?.!]*",
)
"""What is to be told, as a clause: "when the school play is", "what we decided in the meeting", "what Ana's vet takes".
"""
_WRITTEN = tuple(re.compile(_WRITE + clause, re.IGNORECASE) for clause in _CLAUSES)
_SAID = tuple(re.compile(clause, re.IGNORECASE) for clause in _CLAUSES)
_FIELDS = {"address": "address", "phone": "phone number", "email": "e-mail address", "birthday": "birthday"}
"""How the fields of a contact are asked for."""
_FIELD_SAID = {
    "address": r"(?:home |postal )?address",
    "phone": r"(?:(?:tele)?phone |mobile |cell )?number|(?:tele)?phone|mobile",
    "email": r"e-?mail(?: address)?",
    "birthday": r"birthday",
}
"""How the fields of a contact are called in a request."""
_LOOK_UPS = frozenset({_FILES, _CONTACT, "find_mail", FIND})
_LOOKED_UP = frozenset({_CONTACT, "find_events", "next_event"})
"""Tools that find only what bears the words as its title."""
_AS_FILES = frozenset({"recipe", "bill"})
"""Values that are sent as a file where there is one."""


def with_answer(
    request: Request, found: Plan | Refusal, context: Context, tools: Mapping[str, ToolSpec]
) -> Plan | None:
    """Plan to find the value that a request names and to use it; None where what was found needs none."""
    if FIND not in tools or len(request.text) > LONGEST_ORDER:
        return None
    people = {
        alias.casefold(): e.name for e in context.entities if e.kind == "person" for alias in (e.name, *e.aliases)
    }
    clause = _of_clause(request, found, people, tools)
    if clause is not None:
        return clause
    if isinstance(found, Refusal):
        return _of_known(request.text, found, people, tools) or _of_value(request.text, found, people, tools)
    if (plan := _with_words_beside(found, request.text, people, tools)) is not None:
        return plan
    for steps in _ways(found, request.text, people):
        if (plan := _checked(found, steps, tools)) is not None:
            return plan
    return None


def _ways(plan: Plan, request: str, people: Mapping[str, str]) -> Iterator[list[Step]]:
    """Yield the steps of a plan with an answer put in, in the order in which the ways to do so are tried."""
    yield _of_a_card(plan, request, people)
    if _DETERMINER.search(request) is not None:  # a value is named
        yield _of_the_other(plan, request, people)
        yield _by_value(plan, request, people)
        yield _for_nobody(plan, request, people)


def _with_words_beside(
    plan: Plan, request: str, people: Mapping[str, str], tools: Mapping[str, ToolSpec]
) -> Plan | None:
    """Plan to write a value above the words that are said beside it: "email Sam the gate code and say I'll be late"."""
    steps = list(plan.steps)
    drafts = [k for k, step in enumerate(steps) if step.tool in _TOLD]
    for first, end in _values_in(request, _names_in(plan, people)) if len(drafts) == 1 else ():
        around = _around(request, first, end)
        said = steps[drafts[0]].arguments.get("text")
        if around is not None and around[1]["beside"] and isinstance(said, str) and said in request:
            thing = request[first:end].strip()
            told = [Ref(len(steps), ("value",)), around[1]["beside"].rstrip()]
            steps[drafts[0]] = _without_files(_telling(steps[drafts[0]], told, thing), thing, plan)
            steps.append(asked_step(f"what is {_as_asked(thing, people)}", request))
            steps = _without_unused(steps, plan)
            return _checked(replace(plan, unserved=(), offer=None), steps, tools)  # all that is said is in the mail
    return None


def _by_value(plan: Plan, request: str, people: Mapping[str, str]) -> list[Step]:
    """Replace a text that is only the name of a value by the answer to "what is" it."""
    steps = list(plan.steps)
    for k, step in enumerate(plan.steps):
        said = step.arguments.get("text")
        if step.tool not in _TOLD or not isinstance(said, str):
            continue
        thing = _thing_told(_POLITE.sub("", said).strip(" ?.!"), request, _names_in(plan, people))
        if any(card[0] in thing for *_, card in _fields_asked(request, people)):
            continue
        if thing and not ("attachments" in step.arguments and _AS_FILES & set(thing.casefold().split())):
            steps[k] = _without_files(_telling(step, Ref(len(steps), ("value",)), thing), thing, plan)
            steps.append(asked_step(f"what is {_as_asked(thing, people)}", step.text))
    return _without_unused(steps, plan)


def _thing_told(said: str, request: str, names: Collection[str]) -> str:
    """Return the value that a text names, with the words around it in the request; empty where it names none."""
    start = request.casefold().find(said.casefold())
    if not said or start < 0:
        return ""
    for first, end in _values_in(request, names):
        if first <= start and start + len(said) <= end:
            return request[first:end].strip()
    return ""


def _values_in(request: str, names: Collection[str]) -> Iterator[tuple[int, int]]:
    """Yield where a value is named in a request and given to somebody, the leftmost first."""
    for start in _DETERMINER.finditer(request):
        if (match := _VALUE.match(request, start.start())) is None:
            continue
        ends = [match.end()]
        if match["of"] and (rest := _REST.search(request, match.start("of"), match.end())):
            ends.insert(0, rest.start())  # "the wifi password to Tom", but "the flight number to Lisbon"
        for end in ends:
            end = match.start() + len(request[match.start() : end].rstrip())
            is_otherwise = _SAID_OTHERWISE.fullmatch(request, match.start(), end) is not None
            if not is_otherwise and _stands(request, match.start(), end, names):
                yield match.start(), end
                break


def _stands(request: str, start: int, end: int, names: Collection[str]) -> bool:
    """Return whether nothing but whom it is given to stands around a value: who is asked for it is not given it."""
    around = _around(request, start, end)
    if around is None:
        return False
    head, rest = around
    whom = f"{head['whom']} {rest['whom'] or ''}".casefold().replace(",", " ").split()
    return all("@" in word or word in _BESIDE_NAMES or re.sub(r"['’]s\Z", "", word) in names for word in whom)


def _around(request: str, start: int, end: int) -> tuple[re.Match[str], re.Match[str]] | None:
    """Return what stands before and behind a value that is given; None where it is not: "email Tom the code?" asks."""
    head, rest = _GIVES.fullmatch(request, 0, start), _FOLLOWS.fullmatch(request, end)
    if head is None or rest is None or ("?" in rest[0] and not head["asks"]):
        return None
    return head, rest


def _names_in(plan: Plan, people: Mapping[str, str]) -> frozenset[str]:
    """Return the words of all names that are known or that a plan looks for."""
    sought = (step.arguments.get(name) for step in plan.steps for name in ("name", "sender"))
    names = (*people, *people.values(), *(one for one in sought if isinstance(one, str)))
    return frozenset(word for name in names for word in name.casefold().split()) - _NO_NAMES


def _is_given(request: str, plan: Plan, people: Mapping[str, str]) -> bool:
    return next(_values_in(request, _names_in(plan, people)), None) is not None


def _as_asked(thing: str, people: Collection[str]) -> str:
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
    """Drop the look-ups that the plan used and these steps no longer do."""
    was_used = {k for step in plan.steps for k in step.needs()}
    is_used = {k for step in steps for k in step.needs()}
    kept = [k for k, step in enumerate(steps) if step.tool not in _LOOK_UPS or k in is_used or k not in was_used]
    place = {k: new for new, k in enumerate(kept)}
    return [renumbered(steps[k], place) for k in kept]


def _for_nobody(plan: Plan, request: str, people: Mapping[str, str]) -> list[Step]:
    """Ask everything for what a plan wants to tell of a contact whom nobody knows."""
    steps = list(plan.steps)
    for k, step in enumerate(plan.steps) if _is_given(request, plan, people) else ():
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
            steps[k] = asked_step(f"what is {thing}", step.text)
            steps[users[0]] = _telling(user, Ref(k, ("value",)), thing)
    return steps


def _of_a_card(plan: Plan, request: str, people: Mapping[str, str]) -> list[Step]:
    """Take a known person's value from their card, and write to whom the request names: "email Ana Tom's number"."""
    steps = list(plan.steps)
    drafts = [k for k, step in enumerate(steps) if step.tool in _TOLD]
    asked = next(_fields_asked(request, people), None)
    if asked is None or len(drafts) > 1:
        return steps
    name, field, said = asked
    if (around := _around(request, said.start(), said.end())) is None:
        return _with_words_for(plan, name, said, people)
    contact = {_known(step, people): k for k, step in enumerate(steps) if step.tool == _CONTACT}
    whom = _written_to(around, people)
    if any(not _is_name(one, (*people.values(), *contact)) for one in whom):
        return steps
    if not drafts:
        is_mail = _MAILS.match(around[0]["gives"]) and all(step.tool == _CONTACT for step in steps)
        if not is_mail or not whom or _SELF & set(whom):
            return steps
        drafts = [len(steps)]
        steps.append(Step(_MAIL, {}, text=request))
    step = steps[drafts[0]]
    if step.tool == _FORWARD and _SAYS_MAIL.search(request) is None:  # a number is passed on, no mail of theirs
        step = Step(_MAIL, {}, text=step.text)
    _, *to = _addresses((name, *(whom if step.tool == _MAIL else ())), contact, steps, step.text)
    told = Ref(contact[name], (field,))
    thing = said[0]
    if not isinstance(step.arguments.get("text"), Ref):
        step = _without_files(_telling(step, told, thing), thing, plan)
    arguments = {**step.arguments, "text": told}
    if step.tool == _MAIL and whom and not _SELF & set(whom):
        arguments["to"] = to
    steps[drafts[0]] = step.given(arguments)
    return _without_unused(steps, plan)


def _addresses(names: Iterable[str], contact: dict[str, int], steps: list[Step], text: str) -> list[Argument]:
    """Return where to write to each, looking up in further steps whom no step looks for yet.

    Args:
        contact: Name → step that looks for them; those looked up are added.
    """
    to: list[Argument] = []
    for one in names:
        if "@" in one or one in _SELF:
            to.append(one)
            continue
        if one not in contact:
            contact[one] = len(steps)
            steps.append(Step(_CONTACT, {"name": one}, text=text))
        to.append(Ref(contact[one], ("email",)))
    return to


def _written_to(around: tuple[re.Match[str], re.Match[str]], people: Mapping[str, str]) -> list[str]:
    """Return whom a value is given to, before it or behind it, by the names that are known."""
    head, rest = around
    written = [one.strip(" ,") for part in (head["whom"], rest["whom"] or "") for one in _AND.split(part)]
    return [people.get(one.casefold(), one) for one in written if one]


def _with_words_for(plan: Plan, name: str, said: re.Match[str], people: Mapping[str, str]) -> list[Step]:
    """Write the words to whom the request names and not to whom they speak of: "email Sam Ana's birthday is near"."""
    steps = list(plan.steps)
    head = _GIVES.fullmatch(said.string, 0, said.start())
    whom = people.get(head["whom"].strip(" ,").casefold()) if head is not None else None
    for k, step in enumerate(plan.steps) if whom is not None and whom != name else ():
        to = step.arguments.get("to")
        one = to[0] if isinstance(to, list) and len(to) == 1 else None
        if step.tool == _MAIL and isinstance(one, Ref) and _known(steps[one.step], people) == name:
            words = said.string[said.start() :].strip()
            steps[k] = step.given({**step.arguments, "to": [Ref(len(steps), ("email",))], "text": words})
            steps.append(Step(_CONTACT, {"name": str(whom)}, text=step.text))
            return _without_unused(steps, plan)
    return steps


_SELF = frozenset({"me", "myself"})


def _known(step: Step, people: Mapping[str, str]) -> str:
    """Return whom a step looks for, by the name that is known."""
    name = str(step.arguments.get("name"))
    return people.get(name.casefold(), name)


def _is_name(whom: str, names: Collection[str]) -> bool:
    """Return whether words are whom a mail is for: an address, somebody known, or written as a name."""
    words = whom.split()
    if whom in names or whom in _SELF or (len(words) == 1 and "@" in whom):
        return True
    return len(words) <= 2 and all(word.istitle() and word.casefold() not in _NO_NAMES for word in words)


def _of_the_other(plan: Plan, request: str, people: Mapping[str, str]) -> list[Step]:
    """Ask everything for what nobody known has: a mail with "Pasture's address" does not go to a contact Pasture."""
    steps = list(plan.steps)
    contact = {name: k for k, step in enumerate(steps) if step.tool == _CONTACT for name in [_known(step, people)]}
    unknown = {name: name for name in contact if name not in people.values()}
    for k, step in enumerate(plan.steps) if _is_given(request, plan, people) else ():
        to, told = step.arguments.get("to"), step.arguments.get("text")
        if step.tool != _MAIL or not isinstance(to, list) or len(to) != 1 or not isinstance(told, Ref):
            continue
        for name, field, _ in _fields_asked(request, unknown):
            whose = contact[name]
            if to[0] != Ref(whose, ("email",)) or told.step not in contact.values():
                continue
            thing = f"the {_FIELDS[field]} of {name}"
            turned = step.given({**step.arguments, "to": [Ref(told.step, ("email",))]})
            steps[whose] = asked_step(f"what is {thing}", step.text)
            steps[k] = _telling(turned, Ref(whose, ("value",)), thing)
    return steps


def _fields_asked(request: str, people: Mapping[str, str]) -> Iterator[tuple[str, str, re.Match[str]]]:
    """Yield whose value of a card a request names, which, and where: ("Tom Hale", "phone", "Tom's number")."""
    folded = request.casefold()
    named = ((alias, name) for alias, name in people.items() if alias.casefold() in folded)
    bare = request == folded  # who types no capitals leaves the mark of an owner out, too
    for alias, name in sorted(named, key=lambda one: -len(one[0])):
        mark = "['’]?" if bare and f"{alias.casefold()}s" not in people else "['’]"
        of = re.escape(alias)
        for field, said in _FIELD_SAID.items():
            owned = rf"\b{of}{mark}s (?:{said})(?![\w'’-])|\bthe (?:{said}) of {of}(?![\w'’-])"
            for match in re.finditer(owned, request, re.IGNORECASE):
                yield name, field, match


def _of_clause(
    request: Request, found: Plan | Refusal, people: Mapping[str, str], tools: Mapping[str, ToolSpec]
) -> Plan | None:
    """Plan "email Sam when the school play is": the contact, the answer to "when is the school play", the draft."""
    said = _clause_in(request.text, _WRITTEN)
    if said is not None and request.text.rstrip(" .!").endswith("?"):
        return None
    whom = _whom(said["whom"].strip(), found, people) if said is not None else ""
    if said is None or not whom or _has_value(found):
        return None
    contact = Step(_CONTACT, {"name": whom}, text=request.text)
    draft = Step(_MAIL, {"to": [Ref(0, ("email",))]}, text=request.text)
    steps = [contact, asked_step(_question(said), request.text), _telling(draft, Ref(1, ("value",)), said["thing"])]
    return _checked(Plan((), confidence=0.5, planner="memory"), steps, tools)


def _of_known(request: str, found: Refusal, people: Mapping[str, str], tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Plan to write what stands on a known person's card, where no planner does: "give Sam Ben's mobile"."""
    if found.kind != "out_of_scope" or found.planner == OWNERS_WORD:
        return None
    plan = Plan((), confidence=0.5, planner="memory")
    return _checked(plan, _of_a_card(plan, request, people), tools)


def _of_value(request: str, found: Refusal, people: Mapping[str, str], tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Plan to write somebody known the value that is named, where no planner does: "send Tom the wifi password"."""
    if found.kind != "out_of_scope" or found.planner == OWNERS_WORD:
        return None
    names = frozenset(word for name in (*people, *people.values()) for word in name.casefold().split()) - _NO_NAMES
    for first, end in _values_in(request, names):
        around = _around(request, first, end)
        whom = _written_to(around, people) if around is not None and _WRITES.match(around[0]["gives"]) else []
        if len(whom) == 1 and whom[0] in people.values():
            thing = request[first:end].strip()
            contact = Step(_CONTACT, {"name": whom[0]}, text=request)
            draft = Step(_MAIL, {"to": [Ref(0, ("email",))]}, text=request)
            asked = asked_step(f"what is {_as_asked(thing, people)}", request)
            steps = [contact, asked, _telling(draft, Ref(1, ("value",)), thing)]
            return _checked(Plan((), confidence=0.5, planner="memory"), steps, tools)
    return None


def _has_value(found: Plan | Refusal) -> bool:
    """Return whether a plan tells a value already that it works out or remembers."""
    steps = found.steps if isinstance(found, Plan) else ()
    told = [step.arguments.get("text") for step in steps if step.tool in _TOLD]
    return any(isinstance(one, Ref) and steps[one.step].tool not in _LOOKED_UP for one in told)


def _whom(name: str, found: Plan | Refusal, people: Mapping[str, str]) -> str:
    """Return who is written to: somebody known, or whom the planner looks for by the same name."""
    sought = [step.arguments.get("name") for step in found.steps] if isinstance(found, Plan) else []
    return people.get(name.casefold()) or next((str(one) for one in sought if one == name), "")


def _clause_in(text: str, forms: Iterable[re.Pattern[str]]) -> re.Match[str] | None:
    """Return the clause that asks for something; None where "when we are back I will call" says something."""
    said = next((match for form in forms if (match := form.fullmatch(text)) is not None), None)
    if said is None or _SENTENCE.search(f"{said['thing']}{said.groupdict().get('rest') or ''}"):
        return None
    return said


def question_asked(words: str, people: Collection[str]) -> str:
    """Return the question for what words only name: "the wifi password", "what the plumber charges", "when the lease
    ends". Empty where they say something themselves: what holds a digit tells the value."""
    if re.search(r"[\d:;\"“”]", words) is not None:
        return ""
    day = _ITS_DAY.sub("", words, count=1) if _ITS_DAY.match(words) else ""
    if _KNOWN.match(day) and (_IS_DUE.fullmatch(day) or _DOES_END.fullmatch(day)):
        return _date_question(day)
    if (said := _clause_in(words, _SAID)) is not None:
        return _question(said)
    is_value = _VALUE.fullmatch(words) is not None and _SAID_OTHERWISE.fullmatch(words) is None
    return f"what is {_as_asked(words, people)}" if is_value and not _AS_FILES & set(words.casefold().split()) else ""


def titled(thing: str) -> str:
    """Return what a thing is called as a heading: "Wifi password" of "the wifi password"."""
    bare = re.sub(r"\A(?:the|my|our) ", "", thing, flags=re.IGNORECASE)
    return bare[:1].upper() + bare[1:]


def _question(said: re.Match[str]) -> str:
    """Return the question that a clause answers; a clause about a deed is asked as it is."""
    parts = said.groupdict()
    if parts.get("clause"):
        return said["clause"]
    is_deed = said["verb"].casefold() not in ("is", "are", "was", "were")
    verb = f"does {said['thing']} {said['verb'].removesuffix('s')}" if is_deed else f"{said['verb']} {said['thing']}"
    return f"{said['asks']} {verb}{parts.get('rest') or ''}"


def _telling(step: Step, told: Argument, thing: str) -> Step:
    """Return a step whose text is an answer; a mail's subject says what it is of, so that the value is not in it."""
    arguments = {**step.arguments, "text": told}
    named = {"subject": titled(thing)} if step.tool == _MAIL else {}
    return replace(step, arguments={**named, **arguments})


def asked_step(question: str, text: str) -> Step:
    """Return the step that puts a question to the owner's things."""
    return Step(FIND, {"question": question}, text=text)


def _checked(plan: Plan, steps: list[Step], tools: Mapping[str, ToolSpec]) -> Plan | None:
    if steps == list(plan.steps):
        return None
    try:
        return check_plan(replace(plan, steps=tuple(steps)), tools)
    except PlanError:
        return None


# ── Dated reminders and events ────────────────────────────────────────────────────────────────────────────
# Reads a reminder that counts from a date which stands somewhere in the owner's things ("a day before the MOT is
# due"), and an event whose date does ("put the MOT due date in my calendar").
#
# No event is called so: the date is asked of everything the owner has, and the reminder is planned again with it. A
# date that the request does not say is marked with the source it comes from, so that a stranger's mail sets no
# reminder and no event unless the owner agrees, and the plan tells where it stands.
#
# Covered: a length before or after a thing, "on the day it is due", birthdays, which come each year and are taken
# from the card of whom they are; events of a thing that the request names as known ("the", "my", "Ana's"), which last
# the whole day where no time is said. Where the answer does not bear what the thing is called, other places say
# something else, the calendar has it, or the time has passed, the time is asked for: a wrong one is worse than none.
# Not covered: a date that was moved by a later mail, a date without a month, a length in months, pronouns, the end of
# an event, its place.

_REMINDER, _EVENT = "add_reminder", "add_event"
_AT = {_REMINDER: "at", _EVENT: "start"}
"""What the date is called in the tools that take it."""
_ADDED = {_REMINDER: "a reminder", _EVENT: "an event"}
_MORNING = 9
"""The hour of a reminder that counts from a day without a time."""
_DUE = r"due|over|up|back|payable|open|closed|held|on|\w+ed"
_ENDS = (
    r"expires?|ends?|starts?|begins?|closes?|opens?|finish(?:es)?|leaves?|lands?|arrives?|runs? out|takes? place"
    r"|go(?:es)? out"
)
_IS_DUE = re.compile(rf"(?P<thing>.+?) (?P<verb>is|are) (?P<state>{_DUE})", re.IGNORECASE)
_DOES_END = re.compile(rf"(?P<thing>.+?) (?P<verb>{_ENDS})", re.IGNORECASE)
_ON_ITS_DAY = re.compile(
    r"(?P<thing>(?:the|my|our|[\w-]+['’]s) (?:[\w'’-]+ ){1,5}?)"
    r"(?:on )?the (?:day|date) (?:that |when )?(?:it|they|that) "
    rf"(?P<what>(?:is|are) (?:{_DUE})|{_ENDS})\s*[.!]*\s*\Z",
    re.IGNORECASE,
)
_ON_BIRTHDAY = re.compile(
    r"\bon (?:(?P<whose>her|his|their)|(?P<own>my)|(?P<name>[\w-]+(?: [\w-]+)?)['’]s) birthday\b", re.IGNORECASE
)
_DEED = re.compile(r"(?P<order>.*\bremind me) (?P<deed>to \S.*)", re.IGNORECASE)
_BIRTHDAY = re.compile(r"(?:(?P<own>my)|(?P<whose>.+)['’]s) birthday", re.IGNORECASE)
_AT_BIRTHDAY = re.compile(r"\b(?:on|before|b4|after) (?:[\w'’-]+ ){1,3}birthday\b", re.IGNORECASE)
_FIRST_PRONOUN = re.compile(
    r"(?:i|we|you|he|she|they|it|his|her|their|its|your|this|that|these|those)\b", re.IGNORECASE
)
"""Begins what only the talk before says the meaning of."""
_PLACE = re.compile(r" to (?:[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*)(?=\s+to\b|\s*[.!]*\s*\Z)")
"""Where a thing goes: "the flight to Lisbon to check in"."""
_INTO_CALENDAR = re.compile(
    rf"\s*{POLITELY}(?:put|add|enter|get|pop|stick|mark|note|save|write) (?:down )?(?P<thing>\S.*?)"
    r" (?:down )?(?:in(?:to)?|on(?:to)?|to) (?:my|the|our) (?:calendar|diary|planner),?(?: please| thanks)?[\s.!]*",
    re.IGNORECASE,
)
"""The whole of an order to put a thing in the calendar."""
_ITS_DAY = re.compile(r"(?:the (?:day|date|time)(?: (?:that|when|of|on which))?|when) ", re.IGNORECASE)
"""Says of a thing that its day is meant: "the day the lease ends", "when the lease ends"."""
_DATE = re.compile(r"\b(?:date|day|deadline)\b", re.IGNORECASE)
_KNOWN = re.compile(r"(?:the|my|our|[\w-]+['’]s|[A-Z][a-z]+ [A-Z][a-z]+['’]s) ", re.IGNORECASE)
"""Begins what is known by its name. Of any other thing ("dentist", "lunch with Tom") the owner has yet to say when."""
_ORDER = keys_of("please can could would remind set add make create put need want reminder")
_WHEN = {tool: f"When? I need to know that to add {what}." for tool, what in _ADDED.items()}


_AT_HOME = frozenset({"file", "memory", "calendar"})
"""Sources of dates that the owner keeps: a note, a document, an event; who wrote a mail may be anybody."""


@dataclass(frozen=True, slots=True)
class DatedThing:
    """What a reminder counts from, and how its date is asked for."""

    anchor: NamedAnchor
    question: str
    whose: str = ""
    """Of a birthday: whom it is of, "my" of the owner's own."""
    title: str = ""
    """Of what is put in the calendar: what the event is called."""

    @property
    def tool(self) -> str:
        """The tool that takes the date."""
        return _EVENT if self.title else _REMINDER

    def on(self, day: dt.datetime) -> str:
        """Return the request with the time itself."""
        return self.anchor.said_from(day)


def dated_thing(
    request: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]
) -> DatedThing | Refusal | None:
    """Return what a reminder without a time counts from, or what an event without one is; None where it has one, counts
    from nothing, or names no known thing.

    A birthday is no event: one that was taken for somebody's next event is asked for.
    """
    if len(request.text) > LONGEST_ORDER:
        return None
    if FIND in tools and isinstance(found, Refusal) and found.missing == (f"{_EVENT}.start",):
        return _dated_event(request)
    is_open = isinstance(found, Refusal) and found.missing == (f"{_REMINDER}.at",)
    at = _misread_birthday(request, found, tools) if isinstance(found, Plan) else None
    if FIND not in tools or not (is_open or at is not None):
        return None
    anchor = _on_its_day(request) or named_anchor(request)
    if anchor is None or anchor.moves or _FIRST_PRONOUN.match(anchor.words) is not None:
        return when_asked() if isinstance(at, Ref) else None
    if (place := _PLACE.match(anchor.after)) is not None:
        anchor = replace(anchor, words=anchor.words + place.group(), after=anchor.after[place.end() :])
    anchor = _with_deeds_behind(anchor)
    words = _as_owned(anchor.words, request.text)
    return DatedThing(anchor, _date_question(words), _whose_birthday(words))


def _dated_event(request: Utterance) -> DatedThing | None:
    """Return the thing that is put in the calendar, where it is known by its name."""
    put = _INTO_CALENDAR.fullmatch(request.text)
    words = _ITS_DAY.sub("", put["thing"], count=1) if put is not None and _ITS_DAY.match(put["thing"]) else ""
    words = words or (put["thing"] if put is not None else "")
    if _KNOWN.match(words) is None or _AND.search(words) is not None:
        return None
    is_date = asks_for_value(words) and _DATE.search(words) is not None
    question = question_of(words) if is_date else _date_question(words)
    return DatedThing(NamedAnchor(words), question, _whose_birthday(words), titled(words))


def _whose_birthday(words: str) -> str:
    birthday = _BIRTHDAY.fullmatch(words)
    return "" if birthday is None else birthday["whose"] or "my"


def when_asked(why: str = "", tool: str = _REMINDER) -> Refusal:
    """Return the question for the time of a reminder or an event.

    Args:
        why: Why none was taken, as a sentence.
        tool: What takes the time.
    """
    return Refusal("needs", f"When? {why}" if why else _WHEN[tool], (f"{tool}.{_AT[tool]}",))


def _misread_birthday(request: Utterance, plan: Plan, tools: Mapping[str, ToolSpec]) -> object | None:
    """Return the time that a plan gives a reminder on or near somebody's birthday, where the request names no day."""
    reminders = [step for step in plan.steps if step.tool == _REMINDER]
    others = [tools[step.tool] for step in plan.steps if step.tool != _REMINDER and step.tool in tools]
    if (
        len(reminders) != 1
        or any(spec.effect != "none" for spec in others)
        or _AT_BIRTHDAY.search(request.text) is None
    ):
        return None
    return None if any(names_a_day(slot) for slot in request.times) else reminders[0].arguments.get("at")


def _on_its_day(request: Utterance) -> NamedAnchor | None:
    """Read "pay the bill on the day it is due" and "call Ana on her birthday"."""
    text = request.text
    if (said := _ON_ITS_DAY.search(text)) is not None:
        words = f"{said['thing']}{said['what']}"
        return NamedAnchor(words, before=text[: said.end("thing")])
    if (said := _ON_BIRTHDAY.search(text)) is None:
        return None
    people = [str(slot.views["name"]) for slot in request.slots if slot.kind == "person" and slot.end <= said.start()]
    whose = said["name"] or (people[-1] if people and said["own"] is None else "")
    words = "my birthday" if said["own"] else f"{whose}'s birthday"
    if not whose and not said["own"]:
        return None
    return NamedAnchor(words, before=text[: said.start()], after=text[said.end() :], is_day=True)


def _with_deeds_behind(anchor: NamedAnchor) -> NamedAnchor:
    """Return an anchor with what is to be done in one piece: "to call Ana and buy a cake", on either side of it."""
    after = re.sub(r"\band to\b", "and", anchor.after)
    deed = _DEED.fullmatch(anchor.before.rstrip()) if re.match(r"\s*,?\s*and\b", after) is not None else None
    if deed is None:
        return replace(anchor, after=after)
    return replace(anchor, before=f"{deed['order']} ", after=f" {deed['deed']}{after}")


def _as_owned(words: str, text: str) -> str:
    """Return the words for a thing with "my" or "our" before them, where the request says so."""
    owned = re.search(rf"\b(?:my|our) (?={re.escape(words)})", text, re.IGNORECASE)
    return f"{owned.group()}{words}" if owned is not None else words


def _date_question(words: str) -> str:
    """Return the question for the date of a thing, or of what happens to it."""
    thing = words if _KNOWN.match(words) else f"the {words}"
    if (due := _IS_DUE.fullmatch(thing)) is not None:
        return f"when {due['verb']} {due['thing']} {due['state']}"
    if (ends := _DOES_END.fullmatch(thing)) is not None:
        first, _, rest = ends["verb"].partition(" ")
        base = re.sub(r"(?<=sh|go)es\Z|s\Z", "", first)
        return f"when {'do' if base == first else 'does'} {ends['thing']} {base} {rest}".rstrip()
    return f"when is {thing}"


def day_in(found: StepResult, thing: DatedThing, birth: Birth | None, now: dt.datetime) -> dt.datetime | None:
    """Return the date of an answer. None without one, of a date that has passed, and of an answer that may be about
    something else.

    Args:
        birth: When the person was born whose birthday it is, as their card says.
    """
    answer = found.value
    if not isinstance(answer, Mapping) or answer.get("elsewhere"):
        return None
    is_asked = bool(found.label.strangers - _AT_HOME)  # others' words need the owner's yes, so they may be doubtful
    if answer.get("doubt") and not (is_asked and answer.get("kind") == "date"):
        return None
    if not isinstance(at := answer.get("at"), str):
        return None
    day = dt.datetime.fromisoformat(at)
    if thing.whose:
        return _birthday(day, birth, now, 0 if thing.title else _MORNING)
    quote = str(answer.get("quote") or "")
    source = str(answer.get("source") or "")
    if quote.startswith("birthday") or source.startswith("reminder") or not answer.get("is_named"):
        return None
    if thing.title and source.startswith("calendar"):  # it stands there
        return None
    day = day if thing.title or day.time() != dt.time() else day.replace(hour=_MORNING)
    return day if day > now else None


def why_undated(found: StepResult, thing: DatedThing) -> str:
    """Say why the date of an answer is not taken."""
    answer = found.value if isinstance(found.value, Mapping) else {}
    is_sure = answer.get("is_named") and not answer.get("doubt")
    if thing.title and is_sure and str(answer.get("source") or "").startswith("calendar"):
        return f"Your calendar has it already: {answer.get('value')} ({answer.get('source')})."
    return f"I found nothing in your things that surely says it: ask me “{thing.question}”."


def _birthday(day: dt.datetime, birth: Birth | None, now: dt.datetime, hour: int) -> dt.datetime | None:
    """Return the next birthday of a person, at an hour; None where the answer tells another day than their card."""
    if birth is None or (birth.month, birth.day) != (day.month, day.day):
        return None
    at = [dt.datetime.combine(birth.in_year(year), dt.time(hour), now.tzinfo) for year in (now.year, now.year + 1)]
    return next(day for day in (*at, at[-1]) if day > now)


def event_on(day: dt.datetime, thing: DatedThing) -> Plan:
    """Return the plan that puts a thing in the calendar."""
    step = Step(_EVENT, {"title": thing.title, "start": day.isoformat()})
    return Plan((step,), confidence=0.5, planner="memory")


def loses_words(plan: Plan, thing: DatedThing, request: Utterance) -> bool:
    """Return whether something that was to be done is not in the text of a reminder: "call Ana … and buy a cake"."""
    said = thing.anchor.before + thing.anchor.after
    for slot in request.saying(said).times:
        said = said.replace(slot.text, " ")
    kept = keys_of(" ".join(str(step.arguments.get("text", "")) for step in plan.steps))
    return not {key for key in keys_of(said) - _ORDER if key.isalpha()} <= kept


def with_date(
    plan: Plan, thing: DatedThing, request: Utterance, found: StepResult, tools: Mapping[str, ToolSpec]
) -> Plan | None:
    """Return the plan of a reminder or an event with the question for its date, so that the answer tells where that
    stands.

    Args:
        found: The answer that holds the date; what a mail says is asked about.
    """
    if [step.tool for step in plan.steps] != [thing.tool]:
        return None
    strange, at = sorted(found.label.strangers - _AT_HOME), _AT[thing.tool]
    unsaid = {at: "message" if "message" in strange else strange[0]} if strange else {}
    named = [one for one in found.whence if strange and one.kind and one.source == unsaid[at]]
    said_in = {at: named[0]} if len(named) == 1 == len(found.whence) else {}
    dated = renumbered(plan.steps[0], {})
    asked = Step(FIND, {"question": thing.question}, text=request.text)
    steps = (asked, replace(dated, after=(0,), text=request.text, unsaid=unsaid, said_in=said_in))
    try:
        return check_plan(replace(plan, steps=steps), tools)
    except PlanError:
        return None
