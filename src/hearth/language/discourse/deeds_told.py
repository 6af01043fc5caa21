"""Reads "let Femi know" after something was done as telling that: "tell Femi “run: Friday 4 December at 06:30”".

So is read who is told of what the same request asks for: "move the haircut to Friday and let Lucy know".

Only what the owner said of it is told, and when it is: what a thing is called in a file may be others' words.

Covered: events that were added, moved or cancelled, and what went on a list. Not covered: what was looked up, a deed
that was taken back, whom "him" means.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

from hearth import patterns as re
from hearth.language.reading import Utterance
from hearth.language.tokens import Slot
from hearth.types import Argument, Episode, Plain, Plan, Ref, Step

_LEAD = (
    r"\s*(?:(?:cool|great|good|nice|lovely|perfect|brilliant|grand|super|fine|right|ok|okay|thanks|ta|cheers|yes|yep|and|"
    r"now|then|so|also|please|pls|(?:can|could|would|will)\s+you)\b[\s,.!–-]*)*"
)
_BESIDE = r"(?:about\s+(?:it|that|this)|it|that|too|as\s+well|please|pls|now|then|thanks|by\s+e?-?mail)"
_LET_KNOW = re.compile(
    rf"{_LEAD}(?:let\s+(?P<whom>[^,.;:!?]{{2,60}}?)\s+know"
    rf"|(?:tell|inform|notify)\s+(?P<told>[^\W\d_][\w'’-]*(?:\s+(?!{_BESIDE}\b)[^\W\d_][\w'’-]*)?))"
    rf"(?:\s+{_BESIDE})*\s*[.!?]*\s*",
    re.IGNORECASE,
)
_AND_LET_KNOW = re.compile(
    rf"(?P<rest>.{{6,}}?)\s*[,;]?\s+(?:and|then|&)\s+(?P<tells>(?:(?:then|also|please)\s+)*(?:let\s+[^,.;:!?]{{2,60}}?\s+know"
    rf"|(?:tell|inform|notify)\s+[^\W\d_][\w'’-]*)(?:\s+{_BESIDE})*)\s*[.!?]*\s*",
    re.IGNORECASE,
)
_LET_ONE_KNOW = re.compile(
    rf"(?:(?:then|also|please)\s+)*(?:let\s+(?:her|him|them)\s+know|(?:tell|inform|notify)\s+(?:her|him|them))(?:\s+{_BESIDE})*",
    re.IGNORECASE,
)
_NOBODY = frozenset(("me", "us", "you", "him", "her", "them", "it", "everyone", "everybody", "someone", "somebody"))
_MOVED = re.compile(r"\s*(?:\w+\s+)?(?:the|my|our)\s+(?P<words>.+?)\s+to\s+\S.*", re.IGNORECASE)


def told_of_deed(text: str, last: Episode) -> str:
    """Return what is asked with what was done last as what is told; empty where more is told, or nothing was done."""
    whom = _whom(text)
    if not whom or last.plan is None:
        return ""
    for result in last.results:
        if result.status != "done":
            continue
        start = result.value.get("start") if isinstance(result.value, Mapping) else None
        if said := _deed_told(last.plan.steps[result.step], last.plan, last.request.text, start):
            return f'tell {whom} "{_without(whom, said)}"'
    return ""


def _whom(text: str) -> str:
    """Return who is to know, where nothing is said of what."""
    found = _LET_KNOW.fullmatch(text)
    whom = " ".join((found["whom"] or found["told"]).split()) if found is not None else ""
    if found is not None and found["told"] and any(word.islower() for word in whom.split()[1:]):
        return ""  # "tell Femi sorry" tells that
    return whom if _NOBODY.isdisjoint(whom.lower().split()) else ""


@dataclass(frozen=True, slots=True)
class TellsToo:
    """Somebody who is told of what the rest of a request asks for."""

    rest: str
    """The request without it."""
    whom: str
    text: str
    """Its words."""


def tells_too(said: Utterance) -> TellsToo | None:
    """Return who is told of the deed that the same request asks for; "her" is the only one whom it names. None where
    nobody is, or it is not known who."""
    found = _AND_LET_KNOW.fullmatch(said.text)
    if found is None:
        return None
    whom = _whom(found["tells"])
    if not whom and _LET_ONE_KNOW.fullmatch(found["tells"]) is not None:
        named = {slot.text for slot in said.saying(found["rest"]).slots if slot.kind == "person"}
        whom = named.pop() if len(named) == 1 else ""
    return TellsToo(found["rest"], whom, found["tells"]) if whom else None


_PUT_IN = re.compile(
    r"(?:\s*[,;.–-]\s*(?P<put>(?:(?:and|then|also|so|please|pls)\s+)*)|\s+(?P<put_too>(?:(?:and|then|also|please|pls)\s+)+))"
    r"(?P<order>(?:put|pop|stick|add|get|enter)\s+(?:it|that|this)\s+"
    r"(?:in(?:to)?|on|to|down)(?P<where>\s+(?:in\s+)?(?:my|the|our)\s+(?:calendar|diary|planner))?"
    r"(?:\s+(?:for|on)\s+(?P<day>that\s+day|then|the\s+day|it))?)(?:\s*,?\s*(?:please|pls|too|as\s+well|thanks|ta))*\s*[.!]*\s*\Z",
    re.IGNORECASE,
)
"""Stands behind a mark or an "and": in "so he can put it on" somebody else is to do it."""
_LONGEST_PUT_IN, _SHORTEST_REST = 120, 6
_FOR_SOMEBODY = re.compile(
    r"\b(?:tell|let|ask|remind|inform|notify|warn|text|message|msg|e-?mail|mail|write|reply|answer|forward|draft|send|say|ping|sms|whatsapp)\b",
    re.IGNORECASE,
)
"""Has words for somebody, who may be the one to "put it on"."""


@dataclass(frozen=True, slots=True)
class PutIn:
    """A second order, at the end of a request, to put what it is about into the calendar."""

    rest: str
    """The request without it."""
    text: str
    """Its words."""
    day: Slot | None
    """The only day that the rest names."""


def put_in(said: Utterance) -> PutIn | None:
    """Return the order that ends a request to put it into the calendar: "… at 1, put it in"; None where none does."""
    start = max(0, len(said.text) - _LONGEST_PUT_IN)
    found = _PUT_IN.search(said.text[start:])
    if found is None:
        return None
    rest = said.text[: start + found.start()]
    if len(rest.strip()) < _SHORTEST_REST or (found["where"] is None and _FOR_SOMEBODY.search(rest) is not None):
        return None
    times = said.saying(rest).times
    days = said.saying(f"on {times[0].text}").times if len(times) == 1 else ()  # "by the 11th" is that day
    days = tuple(slot for slot in days if "start" in slot.views and "repeat" not in slot.views)
    return PutIn(rest, f"{found['put'] or found['put_too'] or ''}{found['order']}", days[0] if len(days) == 1 else None)


def said_of_plan(plan: Plan, request: str, whom: str) -> tuple[int, str] | None:
    """Return the step that does something, and that as it is told to somebody; None where nothing is to be told."""
    for k in range(len(plan.steps)):
        if said := said_of_step(plan, k, request, whom):
            return k, said
    return None


def said_of_step(plan: Plan, k: int, request: str, whom: str) -> str:
    """Return what a step does, as it is told to somebody; empty where that is nothing to tell."""
    step = plan.steps[k]
    start = step.arguments.get("start")
    when = start.partition("T00:00")[0] if isinstance(start, str) and step.tool == "move_event" else start
    said = _deed_told(step, plan, request, when if isinstance(when, str) else None)
    return _without(whom, said) if said else ""


def _deed_told(step: Step, plan: Plan, request: str, start: Plain) -> str:
    """Return what a step did, in the words by which the owner asked for it; empty where it is nothing to tell."""
    when, of = _when(start), step.arguments
    if step.tool == "add_event":
        return f"{of['title']}: {when}" if isinstance(of.get("title"), str) and when else ""
    if step.tool == "add_to_list":
        items = [item for item in _texts(of.get("items")) if item]
        return f"on the {of['list']} list now: {', '.join(items)}" if items and isinstance(of.get("list"), str) else ""
    words = _called(step, plan, request) if step.tool in ("move_event", "cancel_event") else ""
    if step.tool == "move_event" and words and when:
        return f"{words} is now on {when}"
    return f"{words} is cancelled" if step.tool == "cancel_event" and words else ""


def _texts(value: Argument | None) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _called(step: Step, plan: Plan, request: str) -> str:
    """Return what the owner called the event that a step changes."""
    ref = step.arguments.get("event")
    query = plan.steps[ref.step].arguments.get("query") if isinstance(ref, Ref) else None
    if isinstance(query, str) and query:
        return query
    found = _MOVED.fullmatch(request)
    return found["words"] if found is not None else ""


def _when(start: Plain) -> str:
    try:
        at = dt.datetime.fromisoformat(start) if isinstance(start, str) else None
    except ValueError:
        return ""
    if at is None:
        return ""
    clock = f" at {at:%H:%M}" if isinstance(start, str) and "T" in start else ""
    return f"{at:%A} {at.day} {at:%B}{clock}"


def _without(whom: str, said: str) -> str:
    """Return what is told without that it is with whom it is told to, and without quotation marks of its own."""
    plain = re.sub(r"[\"“”]", "", said)
    plain = re.sub(rf"\A(?:my |the )?{re.escape(whom)}(?= is )", "it", plain, flags=re.IGNORECASE)  # "jade is now on …"
    return re.sub(rf"\s+(?:with|w/)\s+{re.escape(whom)}\b", "", plain, flags=re.IGNORECASE) or plain
