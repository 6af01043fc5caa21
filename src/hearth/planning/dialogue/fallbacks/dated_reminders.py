"""Reads a reminder that counts from a date which stands somewhere in the owner's things: "a day before the MOT is due".

No event is called so: the date is asked of everything the owner has, and the reminder is planned again with it. A date
that the request does not say is marked with the source it comes from, so that a stranger's mail sets no reminder unless
the owner agrees, and the plan tells where it stands.

Covered: a length before or after a thing, "on the day it is due", birthdays, which come each year.
Not covered: a date that was moved by a later mail, where the older one answers better; a date without a day.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hearth import patterns as re
from hearth.errors import PlanError
from hearth.formats.plan_validation import check_plan
from hearth.language.discourse.relative_anchors import NamedAnchor, named_anchor
from hearth.language.reading import Utterance
from hearth.memory.search.time_mentions import times_named
from hearth.planning.dialogue.fallbacks.answer_steps import FIND
from hearth.planning.plan_steps import moved
from hearth.types import Label, Plain, Plan, Refusal, Step, ToolSpec

_REMINDER = "add_reminder"
_MORNING = 9
"""The hour of a reminder that counts from a day without a time."""
_DUE = r"due|over|up|back|payable|open|closed|held|on"
_ENDS = r"expires?|ends?|starts?|begins?|closes?|opens?|finish(?:es)?|leaves?|lands?|arrives?|runs? out|takes? place"
_IS_DUE = re.compile(rf"(?P<thing>.+?) (?P<verb>is|are) (?P<state>{_DUE})", re.IGNORECASE)
_DOES_END = re.compile(rf"(?P<thing>.+?) (?P<verb>{_ENDS})", re.IGNORECASE)
_ON_ITS_DAY = re.compile(
    r"(?P<thing>(?:the|my|our|[\w-]+['’]s) (?:[\w'’-]+ ){1,5}?)"
    r"(?:on )?the (?:day|date) (?:that |when )?(?:it|they|that) "
    rf"(?P<what>(?:is|are) (?:{_DUE})|{_ENDS})\s*[.!]*\s*\Z",
    re.IGNORECASE,
)
_ON_BIRTHDAY = re.compile(
    r"\bon (?:(?P<whose>her|his|their)|(?P<name>[\w-]+(?: [\w-]+)?)['’]s) birthday\b", re.IGNORECASE
)


_AT_HOME = frozenset({"file", "memory", "calendar"})
"""Sources of dates that the owner keeps: a note, a document, an event; who wrote a mail may be anybody."""


@dataclass(frozen=True, slots=True)
class DatedThing:
    """What a reminder counts from, and how its date is asked for."""

    anchor: NamedAnchor
    question: str

    def on(self, day: dt.datetime) -> str:
        """Return the request with the time itself."""
        return self.anchor.said_from(day)


def dated_thing(request: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> DatedThing | None:
    """Return what a reminder without a time counts from; None where it has one, or counts from nothing."""
    if not isinstance(found, Refusal) or found.missing != (f"{_REMINDER}.at",) or FIND not in tools:
        return None
    if (anchor := _on_its_day(request) or named_anchor(request)) is None or anchor.moves:
        return None
    return DatedThing(anchor, _question(anchor.words))


def _on_its_day(request: Utterance) -> NamedAnchor | None:
    """Read "pay the bill on the day it is due" and "call Ana on her birthday"."""
    text = request.text
    if (said := _ON_ITS_DAY.search(text)) is not None:
        words = f"{said['thing']}{said['what']}"
        return NamedAnchor(words, before=text[: said.end("thing")])
    if (said := _ON_BIRTHDAY.search(text)) is None:
        return None
    people = [str(slot.views["name"]) for slot in request.slots if slot.kind == "person" and slot.end <= said.start()]
    whose = said["name"] or (people[-1] if people else "")
    words = f"{whose}'s birthday"
    return NamedAnchor(words, before=text[: said.start()], after=text[said.end() :]) if whose else None


def _question(words: str) -> str:
    """Return the question for the date of a thing, or of what happens to it."""
    thing = words if re.match(r"(?:the|my|our|[\w-]+['’]s|[A-Z][a-z]+ [A-Z][a-z]+['’]s) ", words) else f"the {words}"
    if (due := _IS_DUE.fullmatch(thing)) is not None:
        return f"when {due['verb']} {due['thing']} {due['state']}"
    if (ends := _DOES_END.fullmatch(thing)) is not None:
        first, _, rest = ends["verb"].partition(" ")
        base = re.sub(r"(?<=sh)es\Z|s\Z", "", first)
        return f"when does {ends['thing']} {base} {rest}".rstrip()
    return f"when is {thing}"


def day_in(answer: Plain, now: dt.datetime, country: str) -> dt.datetime | None:
    """Return the date that an answer names, else the words that it rests on; a birthday's next one. None without one,
    and of a date that has passed."""
    if not isinstance(answer, Mapping):
        return None
    quote = str(answer.get("quote") or "")
    for said in (str(answer.get("value") or ""), quote):
        dates = [one.start for one in times_named(said, now, country) if one.end - one.start <= dt.timedelta(days=1)]
        dates = [day for day in dates if not _is_clock_alone(said, day, now)]
        if not dates:
            continue
        day = dates[0] if dates[0].time() != dt.time() else dates[0].replace(hour=_MORNING)
        return _next_one(day, now) if quote.startswith("birthday") else day if day > now else None
    return None


def _is_clock_alone(said: str, day: dt.datetime, now: dt.datetime) -> bool:
    """Return whether only a clock time was said: "19:00" is no date."""
    return day.date() - now.date() <= dt.timedelta(days=1) and re.search(r"[A-Za-z]{3}|\d[-/.]\d", said) is None


def _next_one(day: dt.datetime, now: dt.datetime) -> dt.datetime:
    """Return the next return of a day that comes each year; of 29 February the last of that month."""
    for year in (now.year, now.year + 1):
        last = dt.date(year, 3, 1) - dt.timedelta(days=1)
        on = last if (day.month, day.day) == (2, 29) else day.date().replace(year=year)
        again = dt.datetime.combine(on, day.timetz())
        if again > now:
            return again
    return day


def with_date(
    plan: Plan, thing: DatedThing, request: Utterance, label: Label, tools: Mapping[str, ToolSpec]
) -> Plan | None:
    """Return the plan of a reminder with the question for its date, so that the answer tells where that stands.

    Args:
        label: Of the date; what a mail says is asked about.
    """
    if [step.tool for step in plan.steps] != [_REMINDER]:
        return None
    strange = sorted(label.strangers - _AT_HOME)
    unsaid = {"at": "message" if "message" in strange else strange[0]} if strange else {}
    reminder = moved(plan.steps[0], {})
    asked = Step(FIND, {"question": thing.question}, text=request.text)
    steps = (asked, replace(reminder, after=(0,), text=request.text, unsaid=unsaid))
    try:
        return check_plan(replace(plan, steps=steps), tools)
    except PlanError:
        return None
