"""Sends requests about the owner that no planner could place to the owner's things, instead of "I can't do that".

A question is put to everything the owner has (`find_answer`), a statement is kept, and "no, it's 48" corrects what was
just answered or said. The form of the request decides, and whether it names a thing of the owner's by its title; never
what the thing says. What has to be worked out over records (a clash, a sum, who waits) goes there although a planner
would list something, and so does a question after a look-up that found nothing. What was measured at home is asked of
memory ("what was the temperature in the cellar this morning"), and what is measured now of the devices.

Covered: who, what, which, where, when, how long, how many, how old, and yes or no, about "I", "my", "we", "our" or
somebody the owner knows; who a name is; what somebody wrote; what the agent believed at a time.
Not covered: questions for advice or about the world ("how do I boil an egg", "where can I get a bicycle").
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from hearth import patterns as re
from hearth.errors import PlanError
from hearth.formats.plan_validation import check_plan, only_reads
from hearth.language.acts.questions import (
    asked_of,
    asks_what,
    asks_who_is,
    gives_order,
    is_of_anyone,
    spaced,
    two_questions,
)
from hearth.language.reading import Utterance
from hearth.language.text.thesaurus import POLITE, QUESTIONS
from hearth.language.text.tokens import NUMBER_WORDS, listed
from hearth.memory.facts.fact_rules import KIN_WORDS
from hearth.memory.inquiry.asked_operations import LEAST_OWN
from hearth.memory.inquiry.awaited_mails import asked_of_letters
from hearth.memory.inquiry.date_answers import DateAsked, asked_of_dates, happens
from hearth.memory.inquiry.reading.answer_reading import ON_A_CARD, asks_deed, asks_hours, deed_asked
from hearth.memory.inquiry.reading.answer_subjects import asks_who
from hearth.memory.inquiry.record_answers import Asked, asked_of_records
from hearth.memory.inquiry.summaries import asked_for_summary
from hearth.memory.search.word_forms import key_of, key_set, keys_of
from hearth.planning.dialogue.answer_steps import FIND, with_answer
from hearth.planning.dialogue.contradictions import is_taught
from hearth.planning.dialogue.outside_questions import FOOTAGE_TOOLS
from hearth.types import Argument, Plan, Refusal, Step, StepResult, ToolSpec

SEARCH, REMEMBER, STATE = "search_memory", "remember", "device_state"
NAME = "memory"
_ABOUT_OWNER = re.compile(
    rf"\b(?:i|i'm|i've|my|mine|me|we|we've|our|ours|us)\b|\b(?:{KIN_WORDS})(?:'s|’s)?\b"
    r"|\bthe (?:[\w-]+ ){0,3}(?:code|password|passcode|pin|combination|wifi|wi-fi|keys?|alarm|fuse box|router|bill|rent"
    r"|invoice|premium|deposit|mot|boiler|tyres?|meter|stopcock|landlord|bins?)\b",
    re.IGNORECASE,
)
_CONTACTS = frozenset({"find_contact", "list_contacts"})
_OF_DEVICES = frozenset({STATE, "list_devices"})
_MINE = re.compile(r"(?:my|our)\s", re.IGNORECASE)
_DEEDS = frozenset({"live", "lives", "work", "works", "like", "likes"})
_WORD = re.compile(r"[^\W_]+")
_MISPLACED = frozenset({"time_until", SEARCH})
"""Tools that ask for a value although the request is a question about the past: "how long ago did we …"."""


@dataclass(frozen=True, slots=True)
class Grounds:
    """What speaks for and against asking the owner's things, beside the words of the request."""

    told_of: Collection[str] = ()
    """Those of whom something is held true, or who said something."""
    names_own: bool = False
    """Whether the request names one of the owner's things by its title."""
    is_worldly: bool = False
    """Whether people ask so of the world ("the best chicken place near me"), as the heads learned it."""
    own_chance: float = 0.0
    """The chance that people ask so of their own things."""
    worked_out: str = ""
    """The operation that is asked for, where the owner's things have all that it needs."""
    is_filmed: bool = True
    """Whether any camera's video is there to be asked."""

    @property
    def is_own(self) -> bool:
        """Return whether people ask so of their own things: as good as sure."""
        return self.own_chance >= LEAST_OWN


def asked_of_memory(
    request: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec], grounds: Grounds
) -> Plan | None:
    """Plan to ask the owner's things; None when the request is no question about them, or what was found stands.

    A plan stands, except one that looks up a contact that does not exist ("my locker" of "what is my locker number"),
    one that would keep what was asked, and one that lists what has to be worked out.

    Args:
        found: The planners' answer.
    """
    if SEARCH not in tools:
        return None
    told = {spaced(name) for name in grounds.told_of if name.strip()}
    if (by := request.said_by) is not None and spaced(by.name) in told:
        return _with_what_was_said(request, found, is_in_chat=by.is_in_chat, tools=tools)
    if (plan := with_answer(request, found, request.context, tools)) is not None:
        return plan
    is_understood = bool(grounds.worked_out) and _serves_otherwise(grounds.worked_out, found, tools)
    if is_understood or _is_worked_out(request.text, found, tools):
        return _found_by(request, tools)
    names = {spaced(name) for e in request.context.entities if e.kind == "person" for name in (e.name, *e.aliases)}
    if isinstance(found, Plan):
        if _gives_way(request, found, grounds, tools):
            return _found_by(request, tools)
        if not _looks_up_nobody(found, names, told):
            return None
    elif not _is_left_open(found):
        return None
    return _asked_plainly(request, found, names | told, tools, grounds)


_OF_FOOTAGE = frozenset({"find_video", "identify_people", "list_devices"})
_WHO_HAS = re.compile(
    r"\s*who(?:['’]s|s| has| have| else has)? (?:got|has|keeps|holds|(?:the|my|our)\b)", re.IGNORECASE
)
"""Asks who has a thing: no camera tells, and no list of devices."""
_OF_CLOCK_OR_DAYS = frozenset({"time_until", "current_time", "next_event"})
_OF_CLOCKS = frozenset(
    listed(
        "time date day week month year hour minute clock today tomorrow tonight it's much many exact exactly right "
        "correct there here for does tell know say give show check got late see local past passed far"
    )
)
"""Words of questions that the clock answers."""


_BESIDE_THE_THINGS = frozenset({"current_time", SEARCH})
"""Tools that look at no mail, note or document; what was told is found with these (`find_answer`), too."""
_LEAST_OWN_LEFT_OPEN = 0.5
"""The chance that a question is for the owner's things from which on they are asked where a part of it stays open."""


def _gives_way(request: Utterance, found: Plan, grounds: Grounds, tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether a plan is no answer to what is asked: it would keep the question, looks where the owner's things
    are not (a clock, cameras that nobody has), or tells the time, a sum or an event of something else."""
    planned = {step.tool for step in found.steps}
    if planned == {REMEMBER} and len(found.steps) == 1 and request.asked.is_question:
        return True
    is_own = grounds.own_chance >= _LEAST_OWN_LEFT_OPEN if found.unserved else grounds.is_own
    beside = _BESIDE_THE_THINGS if grounds.is_filmed else _BESIDE_THE_THINGS | FOOTAGE_TOOLS
    if is_own and FIND in tools and planned <= beside and not is_taught(found):
        return True
    return _is_of_a_thing(request, found) or _is_no_sum(request, found) or _is_of_another_time(request, found)


def _is_of_a_thing(request: Utterance, plan: Plan) -> bool:
    """Return whether the clock would answer what is asked of a thing: "what time does the boiler man come"."""
    if plan.unserved or [step.tool for step in plan.steps] != ["current_time"]:
        return False
    if is_taught(plan):
        return False
    text = request.text
    if isinstance(zone := plan.steps[0].arguments.get("zone"), str):
        if re.search(rf"(?:\b(?:the|my|our|a|an)|['’]s)\s+{re.escape(zone)}\b", text, re.IGNORECASE) is not None:
            return True
        text = re.sub(rf"\b{re.escape(zone)}\b", "", text)
    is_asked = asked_of(text).is_question or re.search(r"\btime\b", text, re.IGNORECASE)
    if not is_asked or re.search(r"\bcurrent", text, re.IGNORECASE):
        return False
    for slot in reversed(request.saying(text).slots):
        if slot.kind in ("time", "duration"):
            text = text[: slot.start] + text[slot.end :]
    return any(word not in _OF_CLOCKS | QUESTIONS | POLITE and len(word) > 2 for word in _WORD.findall(text.casefold()))


_ANOTHER_TIME = re.compile(r"\bagain\b|\bthe\s+(?:first|last)\b", re.IGNORECASE)


def _is_of_another_time(request: Utterance, plan: Plan) -> bool:
    """Return whether the next event would answer what is asked of a later one: "when does choir start again"."""
    if plan.unserved or [step.tool for step in plan.steps] != ["next_event"]:
        return False
    if is_taught(plan) or not request.asked.is_question:
        return False
    if _ANOTHER_TIME.search(request.text) is not None:
        return True
    return any(slot.cue in ("after", "since") for slot in request.times)


_EVENTS = "find_events"
_NEXT = re.compile(r"\bnext\b(?!\s+(?:week|month|year|weekend|\d))", re.IGNORECASE)


def events_then(request: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Plan to look for the events of the time that a request says, where the next event of all would be told: "after
    tomorrow, when am I seeing Margaret next". None where no time to come is said, or the plan was taught."""
    if isinstance(found, Refusal) or len(found.steps) != 1 or _EVENTS not in tools:
        return None
    of = found.steps[0]
    if of.tool == _EVENTS and "start" in of.arguments and "end" not in of.arguments and _NEXT.search(request.text):
        return found  # the first of those from then on
    if of.tool != "next_event":
        return None
    times = [slot for slot in request.times if "repeat" not in slot.views]
    start = times[0].views.get("start") if len(times) == 1 else None
    if is_taught(found) or not found.steps[0].arguments.get("query") or not isinstance(start, str):
        return None
    if _ANOTHER_TIME.search(request.text) is not None or dt.datetime.fromisoformat(start) <= request.now:
        return None
    end = times[0].views.get("end")
    span: dict[str, Argument] = {"start": start, **({"end": end} if isinstance(end, str) else {})}
    step = replace(found.steps[0], tool=_EVENTS, arguments={**found.steps[0].arguments, **span})
    try:
        return check_plan(replace(found, steps=(step,)), tools)
    except PlanError:
        return None


def first_alone(plan: Plan, found: Sequence[object]) -> Plan:
    """Return the look-up of events from a time on with the end of the first one as its own, as one is asked for."""
    end = found[0].get("end") if found and isinstance(found[0], Mapping) else None
    if "end" in plan.steps[0].arguments or not isinstance(end, str):
        return plan
    return replace(plan, steps=(replace(plan.steps[0], arguments={**plan.steps[0].arguments, "end": end}),))


def _is_no_sum(request: Utterance, plan: Plan) -> bool:
    """Return whether a question without any number would be worked out: "how much is the excess on the insurance"."""
    if plan.unserved or [step.tool for step in plan.steps] != ["calculate"]:
        return False
    text = request.text.casefold()
    return not any(c.isdigit() for c in text) and NUMBER_WORDS.isdisjoint(_WORD.findall(text))


def _is_left_open(refusal: Refusal) -> bool:
    """Return whether a refusal leaves the question to memory: nothing serves it, or a tool that it does not mean."""
    return refusal.kind == "out_of_scope" or (refusal.kind == "needs" and is_misplaced(refusal))


def is_misplaced(refusal: Refusal) -> bool:
    """Return whether what is asked back is wanted by tools that the question may not mean."""
    return {one.partition(".")[0] for one in refusal.missing} <= _MISPLACED


def _asked_plainly(
    request: Utterance, found: Plan | Refusal, known: Set[str], tools: Mapping[str, ToolSpec], grounds: Grounds
) -> Plan | None:
    """Plan a question about what was measured, about a person, or about the owner's things; None for any other."""
    asked, names_own = request.asked, grounds.names_own
    if (measured := _measured(asked.text, request, found, tools)) is not None:
        return measured
    if asks_who_is(asked.text) or request.believed_then is not None:
        return _checked(Step(SEARCH, {"query": asked.text.rstrip(" ?.!")}, text=request.text), tools)
    is_own = grounds.is_own and (asked.is_question or not gives_order(asked.text))
    if is_own or (names_own and (request.asks_for_value or request.names_matter)):
        return _found_by(request, tools)
    if not asked.is_question or (is_of_anyone(asked.text, known) and not names_own):
        return None
    if grounds.is_worldly and not names_own:
        return None
    said = spaced(asked.text)
    # "Lucas passport" is Luca's, too.
    is_known = any(name in said or f"{name.rstrip()}s " in said for name in known)
    is_about_own = names_own or _ABOUT_OWNER.search(asked.text) or is_known
    return _found_by(request, tools) if is_about_own else None


_LISTED = frozenset({"birthdays", "count", "column", "row", "last", "first", "next", "until", "next birthday"})
"""Operations for which a tool's own list is an answer as good."""


_OWN_WAYS: Mapping[str, frozenset[str]] = {
    "birthdays": frozenset({"upcoming_birthdays"}),
    "next_birthday": frozenset({"upcoming_birthdays"}),
    "next_time": frozenset({"next_event"}),
    "days_until": frozenset({"time_until"}),
    "count_events": frozenset({"find_events"}),
    "count_mails": frozenset({"find_mail"}),
}
"""Tools whose answer to an operation is as good."""


def _is_worked_out(text: str, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether a question has to be worked out over records, where what was found only lists some, or nothing."""
    if FIND not in tools:
        return False
    if isinstance(found, Plan) and not only_reads(found, tools):  # stands, but where it is asked who does a deed
        is_order = gives_order(text) or asked_for_summary(text) is not None
        return not is_order and _asks_what_no_tool_knows(text, found, tools)
    if asked_for_summary(text) is not None:
        return True
    if _asks_what_no_tool_knows(text, found, tools):
        return True
    if (letters := asked_of_letters(text)) is not None:
        # Whether somebody answered is seen in their mails, too, if there are any.
        return not (letters.operation == "answered" and _only_finds_mail(found))
    if two_questions(text) is not None and _serves_one_at_most(found):
        return True
    asked = asked_of_records(text) or asked_of_dates(text)
    if asked is None:
        return False
    if asked.operation == "groups":
        return not gives_order(text)
    if isinstance(found, Refusal):
        return found.kind == "out_of_scope"
    return asked.operation not in _LISTED or {step.tool for step in found.steps} == {SEARCH} or _has_lost(asked, found)


def _serves_otherwise(operation: str, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether an operation may take the place of what was found: of a refusal that leaves the question open, or
    of one look-up for the whole request that is no way to the operation itself and was not taught by the owner."""
    if FIND not in tools:
        return False
    if isinstance(found, Refusal):
        return _is_left_open(found)
    planned = {step.tool for step in found.steps}
    if operation == "next_time" and any(step.tool == _EVENTS and "start" in step.arguments for step in found.steps):
        return False  # "when is choir in January" is not when it is next
    is_one = len(found.steps) == 1 and not found.unserved and not is_taught(found)
    return is_one and only_reads(found, tools) and planned.isdisjoint({FIND, *_OWN_WAYS.get(operation, ())})


def _asks_what_no_tool_knows(text: str, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether a plan tells the time, or days, or an event, where it is asked when something is open; or would do
    a deed where it is asked who does it."""
    if isinstance(found, Refusal):
        return False
    if _WHO_HAS.match(text) and any(step.tool in _OF_FOOTAGE for step in found.steps):
        return True
    if asks_hours(text):
        return {step.tool for step in found.steps} <= _OF_CLOCK_OR_DAYS
    return asks_who(text) and not only_reads(found, tools) and not gives_order(text)


def _only_finds_mail(found: Plan | Refusal) -> bool:
    return isinstance(found, Plan) and {step.tool for step in found.steps} == {"find_mail"}


def _serves_one_at_most(found: Plan | Refusal) -> bool:
    """Return whether of two questions at least one stays open."""
    return isinstance(found, Refusal) or bool(found.unserved) or _only_next(found)


def _only_next(found: Plan) -> bool:
    """Return whether a plan only tells events, each of which answers one question: "when" or "where"."""
    return {step.tool for step in found.steps} <= {"next_event", "find_events", "current_time"}


def _has_lost(asked: Asked | DateAsked, found: Plan) -> bool:
    """Return whether a plan only counts days, and to another day than the one asked for, or where something else is to
    be counted: "how long till my check" to any next event, "until the policy runs out" to an event of the policy,
    "until Ana's birthday" to an event called Ana, "how many hours has Ana had since May" to May."""
    if "time_until" not in {step.tool for step in found.steps}:
        return False
    if asked.operation != "until":
        return asked.operation == "column"
    sought = [step.arguments.get("query") for step in found.steps if step.tool == "next_event"]
    return happens(asked.matter) or any(not isinstance(one, str) or _lacks_head(one, asked.matter) for one in sought)


_BEHIND_A_HEAD = re.compile(r"\s(?:at|by|for|from|in|of|on|to|with|we|i|they|that|next|this)\b.*", re.IGNORECASE)


def _lacks_head(query: str, matter: str) -> bool:
    """Return whether a query has lost the word that says what is meant: "birthday" of "Ana's birthday"."""
    words = _WORD.findall(_BEHIND_A_HEAD.sub("", matter).casefold())
    heads = key_set(words[-1]) - _OF_WHEN if words else frozenset()
    return not heads <= keys_of(query)


def _found_by(request: Utterance, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Plan to ask everything the owner has; memory alone where nothing else is offered."""
    words = request.text.rstrip(" ?.!") if asked_for_summary(request.text) else request.question
    step = Step(FIND, {"question": words}) if FIND in tools else Step(SEARCH, {"query": words})
    return _checked(replace(step, text=request.text), tools)


def asked_elsewhere(
    request: Utterance, plan: Plan, results: Sequence[StepResult], tools: Mapping[str, ToolSpec]
) -> Plan | None:
    """Continue a plan that looked one thing up by its words and found nothing: ask the question of everything.

    Returns:
        The plan with one step more, or None where it found or changed something, or the request asks no what, who,
        when, where or how.
    """
    replaced = {step.replaces for step in plan.steps}
    left = [result for result in results if result.step not in replaced]
    is_asked = asks_what(request.asked.text) or request.asks_for_value
    if FIND not in tools or len(left) != 1 or not is_asked:
        return None
    step = plan.steps[left[0].step]
    if len(plan.steps) == 1 and lacks_field(request, plan, results):
        return _asked_instead(request, plan, 0, tools)
    is_sought = any(isinstance(value, str) and value for name, value in step.arguments.items() if name in _BY_WORDS)
    is_empty = left[0].error_kind == "NotFound" or (left[0].status == "done" and left[0].value in (None, []))
    if not (is_sought and is_empty and only_reads(plan, tools)) or step.tool == FIND:
        return None
    return _asked_instead(request, plan, left[0].step, tools)


def asked_beyond_card(
    request: Utterance, plan: Plan, results: Sequence[StepResult], tools: Mapping[str, ToolSpec]
) -> Plan | None:
    """Continue a plan that looked somebody up, where the card lacks the value asked for, or more is asked than any card
    tells ("what would Maisie like for her birthday"): ask the question of everything.

    The card stands where nothing else answers, if a value of it is asked for (`names_no_field`): that is for the caller
    to find out.
    """
    if FIND not in tools or len(plan.steps) != 1 or plan.unserved or plan.steps[0].tool not in _CONTACTS:
        return None
    card = results[0].value if len(results) == 1 and results[0].status == "done" else None
    asked = request.asked
    if not isinstance(card, Mapping) or not (asked.is_question or request.asks_for_value):
        return None
    known = keys_of(" ".join(value for value in card.values() if isinstance(value, str)))
    if keys_of(asked.text) <= known | ON_A_CARD | QUESTIONS and not asks_deed(asked.text):
        return None
    return _asked_instead(request, plan, 0, tools)


_CARD_FIELDS = key_set(
    "phone number mobile cell email mail address birthday born birth old age turn live work company employer firm "
    "organisation job street city town postcode zip reach call ring contact card details surname note text message "
    "digits info write saved"
)
"""Words by which a value of a card is asked for."""
_OF_A_MATTER = re.compile(
    r"\s*(?:when|how (?:much|many|long|often|far)|which|what (?:size|time|day|date|colou?r|kind|sort)"
    r"|what(?:['’]?s| is| was| are) .+ (?:size|date|time|code|colou?r))\b",
    re.IGNORECASE,
)


def names_no_field(question: str) -> bool:
    """Return whether a question asks for a value that no card has: "when does Imran's licence expire"."""
    return _OF_A_MATTER.match(question) is not None and keys_of(question).isdisjoint(_CARD_FIELDS)


def asked_beyond_device(
    request: Utterance, plan: Plan, results: Sequence[StepResult], tools: Mapping[str, ToolSpec]
) -> Plan | None:
    """Continue a plan that asked a device which is not there, where a question was asked: "is the school closed on
    Friday" asks no device, if something of the owner's answers it. That is for the caller to find out."""
    is_missed = len(results) == 1 and results[0].status == "failed"
    if FIND not in tools or len(plan.steps) != 1 or plan.steps[0].tool not in _OF_DEVICES or not is_missed:
        return None
    return _asked_instead(request, plan, 0, tools) if request.asked.is_question else None


def asked_beyond_list(
    request: Utterance, plan: Plan, results: Sequence[StepResult], tools: Mapping[str, ToolSpec]
) -> Plan | None:
    """Continue a plan that read a list which is not there, where a question was asked: "what do we need for the boat"
    is said in a note on the boat. Whether anything answers is for the caller to find out."""
    is_missed = len(results) == 1 and results[0].error_kind == "NotFound"
    if FIND not in tools or len(plan.steps) != 1 or plan.steps[0].tool != "read_list" or not is_missed:
        return None
    return _asked_instead(request, plan, 0, tools) if request.asked.is_question else None


_LISTS_ANY = re.compile(
    r"\s*(?:what(?:['’]?s| is| are)?(?: (?:do|have|am|are|did|will|else))?(?: (?:i|we))?(?: (?:got|have|doing|up to))?"
    r"(?: (?:on|planned|scheduled|booked|happening|coming up))?|any\w*|do (?:i|we) have|have (?:i|we)|am i|are we)\b",
    re.IGNORECASE,
)
"""Asks for whatever a calendar lists."""
_LISTING = frozenset({"next_event", "find_events", "find_reminders"})


def _said_in(asked: Collection[str], told: Collection[str]) -> frozenset[str]:
    """Return the keys that a text says in any form: "cooking" is said by "I cook"."""
    return frozenset(
        key
        for key in asked
        if any(key == one or (min(len(key), len(one)) >= _LEAST_ALIKE and _begins(key, one)) for one in told)
    )


_LEAST_ALIKE = 4


def _begins(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


@dataclass(frozen=True, slots=True)
class Beyond:
    """A look-up that says less than was asked, and the plan that asks everything in its place."""

    plan: Plan
    asked: frozenset[str]
    """Keys of the words of the question that tell anything."""
    open: frozenset[str]
    """Those of them that nothing found says."""
    is_beside: bool = False
    """What was found does not tell what is asked for: where a meeting is is not where to park for it."""

    def is_said_by(self, text: str) -> bool:
        """Return whether a text says words that the look-up leaves open, and more of the question than it."""
        said = _said_in(self.asked, keys_of(text))
        return bool(self.open & said) and len(said) > len(self.asked) - len(self.open)


def asked_beyond_listed(
    request: Utterance, plan: Plan, results: Sequence[StepResult], tools: Mapping[str, ToolSpec]
) -> Beyond | None:
    """Continue a plan that found events or reminders which say less than was asked: "when do the lessons start again"
    is not when the next lesson is, and "who covers for Ana on the 8th" no list of that day's events.

    Returns:
        None where nothing is left open. Whether an answer says more is for the caller to find out.
    """
    replaced = {step.replaces for step in plan.steps}
    left = [result for result in results if result.step not in replaced]
    is_listed = len(left) == 1 and plan.steps[left[0].step].tool in _LISTING
    question = request.asked
    if FIND not in tools or not is_listed or plan.unserved or left[0].status != "done" or not question.is_question:
        return None
    value = left[0].value
    found = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, Mapping)]
    told = re.findall(r"\{(\w+)\}", tools[plan.steps[left[0].step].tool].answer)  # its notes are not told
    held = keys_of(" ".join(str(one[name]) for one in found for name in told if isinstance(one.get(name), str)))
    asked = frozenset(
        k for k in keys_of(question.text) - _OF_WHEN if not k[0].isdigit()
    )  # "the 8th" is said by any event
    is_any = isinstance(value, list) and (
        _LISTS_ANY.fullmatch(question.text.rstrip(" ?.!")) or not asks_what(question.text)
    )
    left_open = asked - _said_in(asked, held)
    if not found or not left_open or is_any:
        return None
    again = _asked_instead(request, plan, left[0].step, tools)
    deed = deed_asked(question.text)
    is_beside = bool(deed) and key_of(deed) in left_open
    return Beyond(again, asked, left_open, is_beside) if again is not None else None


_OF_WHEN = frozenset(
    map(
        key_of,
        listed(
            "when what time day date where next is are does do on at have has had got get need needs happen happening "
            "coming come comes going go goes take takes place begin start starts there appointment meeting event thing "
            "today tomorrow week month year monday tuesday wednesday thursday friday saturday sunday january february "
            "march april may june july august september october november december morning afternoon evening night "
            "exactly supposed gonna due planned booked scheduled visit session class date fixed set"
        ),
    )
)
"""Keys of words that any event answers."""


def lacks_field(request: Utterance, plan: Plan, results: Sequence[StepResult]) -> bool:
    """Return whether a plan found a card without the value that is asked for by its name: "what's Yuki's address"."""
    card = results[0].value if len(results) == 1 and results[0].status == "done" else None
    if not isinstance(card, Mapping) or plan.steps[0].tool not in _CONTACTS:
        return False
    words = request.asked.text.rstrip(" ?.!").casefold()
    found = next((name for name, form in _FIELDS.items() if form.search(words)), None)
    return found is not None and found in card and not card[found]


def _asked_instead(request: Utterance, plan: Plan, replaced: int, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Return a plan with one step more, which asks everything in place of a step that did not answer."""
    question = Step(FIND, {"question": request.question}, text=request.text, replaces=replaced)
    try:
        return check_plan(replace(plan, steps=(*plan.steps, question)), tools)
    except PlanError:
        return None


_FIELDS = {
    "address": re.compile(r"(?<!mail )\baddress\Z"),
    "phone": re.compile(r"\b(?:phone|telephone|mobile|cell)(?: number)?\Z"),
    "email": re.compile(r"\be-?mail(?: address)?\Z"),
    "birthday": re.compile(r"\bbirthday\Z"),
}
"""How a question that asks for one value of a card ends."""
_BY_WORDS = frozenset({"query", "name", "zone"})
"""Parameters that hold the words of what is looked up."""


_MEASURED = re.compile(
    r"\s*(?:what|how|was|is)\b.*?\b(?P<what>temperature|humidity|warm|cold|hot|humid|damp)\b.*?"
    r"\b(?:in|on|at|of) (?P<room>(?:the|my|our|[\w-]+['’]s) \w+(?: room)?)(?P<when>\b.*)",
    re.IGNORECASE,
)
_WAS = re.compile(r"\s*(?:(?:what|how \w+) )?(?:was|were|has|had|did)\b", re.IGNORECASE)
_OF = {"humidity": "humidity", "humid": "humidity", "damp": "humidity"}
_NOT_HOME = frozenset({"city", "town", "country", "world", "north", "south", "sun", "sea", "oven", "fridge", "phone"})


def _measured(text: str, request: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Plan the question what is, or was, measured in a room; None when it is not about a room at home."""
    match = _MEASURED.fullmatch(text)
    if not isinstance(found, Refusal) or match is None or match["room"].split()[-1].casefold() in _NOT_HOME:
        return None
    if _WAS.match(text):
        return _checked(Step(SEARCH, {"query": text.rstrip(" ?.!")}, text=request.text), tools)
    if STATE not in tools:
        return None
    device = f"{_OF.get(match['what'].casefold(), 'temperature')} in {match['room']}"
    return _checked(Step(STATE, {"device": device}, text=request.text), tools)


def _with_what_was_said(
    request: Utterance, found: Plan | Refusal, *, is_in_chat: bool, tools: Mapping[str, ToolSpec]
) -> Plan | None:
    """Plan the question "What did Tom write": search imported chats, beside the mail that a plan looks up."""
    step = Step(SEARCH, {"query": request.text.strip(" ?.!")}, text=request.text)
    if isinstance(found, Refusal):
        return _checked(step, tools) if found.kind == "out_of_scope" else None
    if [planned.tool for planned in found.steps] != ["find_mail"] or "query" in found.steps[0].arguments:
        return None
    return _checked(step, tools) if is_in_chat else replace(found, steps=(*found.steps, step))


def _looks_up_nobody(plan: Plan, names: Set[str], told_of: Set[str]) -> bool:
    """Return whether a plan only looks in the contacts for a thing, or for somebody only memory knows."""
    if len(plan.steps) != 1 or plan.unserved or plan.steps[0].tool not in _CONTACTS:
        return False
    sought = next((value for value in plan.steps[0].arguments.values() if isinstance(value, str)), "")
    words = spaced(sought)
    if not sought or any(name in words or words in name for name in names):
        return False
    if _MINE.match(sought):
        return not any(f" {word} " in name for name in names for word in words.split()[1:])
    return words in told_of or words.strip() in _DEEDS


def told_to_memory(request: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Plan to keep what the request states; None when it asks or orders, or what was found stands.

    A plan that only looks something up does not stand, as nothing was asked.
    """
    if isinstance(found, Plan):
        stands = any(tools[step.tool].effect != "none" for step in found.steps if step.tool in tools)
    else:
        stands = found.kind != "out_of_scope"
    if stands or REMEMBER not in tools or not request.declares:
        return None
    return _checked(Step(REMEMBER, {"text": request.text.strip()}, text=request.text), tools)


def _checked(step: Step, tools: Mapping[str, ToolSpec]) -> Plan | None:
    try:
        return check_plan(Plan((step,), confidence=0.5, planner=NAME), tools)
    except PlanError:
        return None
