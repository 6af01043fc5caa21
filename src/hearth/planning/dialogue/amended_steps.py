"""Amends a plan's steps by what its request says of them: one for each of several, the words told, what is added.

"every Monday and Thursday" repeats on both days, "tell Ivy that she can come" writes "you can come" to Ivy, and a
reminder or further recipients that were asked for beside a request (`language.discourse`) are added, the reminders of
days whose events are listed, and the events between free hours.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from hearth.errors import PlanError
from hearth.formats.plan_validation import check_plan, renumbered
from hearth.language.discourse.additions import Copied, Lead, Row, several_told, told_of
from hearth.language.discourse.deeds_told import TellsToo, said_of_plan
from hearth.language.discourse.relative_anchors import names_a_day
from hearth.language.discourse.reported_speech import told_in, turned_to, unnamed_in
from hearth.language.reading import Utterance
from hearth.language.text.spelling import words_in_text
from hearth.types import OWNERS_WORD, Argument, Plan, Ref, Refusal, Request, Step, ToolSpec

# ── Each of several ─────────────────────────────────────────────────────────────────────────────────────
# Does with each what is said of several: "every Monday and Thursday", "at 6 and at 6:15", "the hall lamp and the fan".
#
# A tool repeats on one day of the week, or on all weekdays or weekends; a planner takes the first of several days, or
# every day, and a row of devices for one name, or its first member for all. Covered: repetitions by days of the week in
# a plan whose steps stand alone; clock times in a row for one deed; known devices in a row. Not covered: "Monday to
# Friday" of one week, every other week on several days, rooms or kinds in a row ("the lights in the hall and the
# kitchen").


_REPEAT = "repeat"
_CODES = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_SETS = {frozenset(_CODES[:5]): "on weekdays", frozenset(_CODES[5:]): "on weekends"}
_TIMES = frozenset({"datetime", "date"})


def with_each_day(plan: Plan, said: Utterance, tools: Mapping[str, ToolSpec]) -> Plan:
    """Return the plan that repeats on all the days that are said; the same where one or none is, or it says them."""
    if any(step.needs() for step in plan.steps):
        return plan
    repeated = [(slot.views["datetime"], slot.views["repeat_days"]) for slot in said.times if _is_of_days(slot.views)]
    steps: list[Step] = []
    for step in plan.steps:
        days = next((days for moment, days in repeated if moment in step.arguments.values()), None)
        steps += _on_days(step, days, tools[step.tool], said.now.tzinfo) if isinstance(days, list) else [step]
    if tuple(steps) == plan.steps:
        return plan
    try:
        return check_plan(replace(plan, steps=tuple(steps)), tools)
    except PlanError:
        return plan


_BESIDE = re.compile(r"\s*(?:,|,?\s*(?:and|&|n)|,?\s*and\s+(?:again\s+)?at|(?:and\s+)?again\s+at)\s*", re.IGNORECASE)
_MOST_TIMES = 6


def with_each_time(plan: Plan, said: Utterance, tools: Mapping[str, ToolSpec]) -> Plan:
    """Return the plan with a step for each clock time of a row: "wake me at 6 and at 6:15". The same where a step has a
    start and an end, or the times do not stand beside each other."""
    if len(plan.steps) != 1 or tools[plan.steps[0].tool].effect != "change":
        return plan
    (step,) = plan.steps
    names = [p.name for p in tools[step.tool].parameters if p.type in _TIMES]
    given = step.arguments.get(names[0]) if len(names) == 1 else None
    row = _clock_row(said)
    if not isinstance(given, str) or not 1 < len(row) <= _MOST_TIMES:
        return plan
    day = dt.datetime.fromisoformat(given)
    if f"{day:%H:%M}" not in row:
        return plan
    moments = [day.replace(hour=int(time[:2]), minute=int(time[3:])) for time in row]
    steps = [replace(step, arguments={**step.arguments, names[0]: moment.isoformat()}) for moment in moments]
    left = tuple(text for text in plan.unserved if not any(text in words for words in row.values()))
    try:
        return check_plan(replace(plan, steps=tuple(steps), unserved=left), tools)
    except PlanError:
        return plan


def _clock_row(said: Utterance) -> Mapping[str, str]:
    """Return the clock times that stand in one row, in which no second day is said, each with its words."""
    slots = said.times
    times = [str(slot.views.get("time", ""))[:5] for slot in slots]
    gaps = [said.text[a.end : b.start] for a, b in pairwise(slots)]
    is_row = all(times) and all(_BESIDE.fullmatch(gap) for gap in gaps)
    words = {time: slot.text for time, slot in zip(times, slots)}
    return words if is_row and not any(map(names_a_day, slots[1:])) else {}


def _is_of_days(views: Mapping[str, object]) -> bool:
    days = views.get("repeat_days")
    return (
        isinstance(days, list) and 1 < len(days) < len(_CODES) and "datetime" in views and "repeat_every" not in views
    )


def _on_days(step: Step, days: Sequence[object], spec: ToolSpec, zone: dt.tzinfo | None) -> list[Step]:
    """Return the step as one that repeats on these days, or as one for each of them."""
    parameter = spec.parameter(_REPEAT)
    if parameter is None:
        return [step]
    together = _SETS.get(frozenset(map(str, days)), "")
    if together in parameter.enum:
        return [replace(step, arguments={**step.arguments, _REPEAT: together})]
    if "weekly" not in parameter.enum:
        return [step]
    times = {
        name for name, value in step.arguments.items() if (p := spec.parameter(name)) and p.type in _TIMES and value
    }
    found = []
    for code in map(str, days):
        moved = {name: _on_day(value, code, zone) if name in times else value for name, value in step.arguments.items()}
        found.append(replace(step, arguments={**moved, _REPEAT: "weekly"}))
    return sorted(found, key=lambda one: min(str(one.arguments[name]) for name in times)) if times else [step]


def _on_day(value: Argument, code: str, zone: dt.tzinfo | None) -> Argument:
    """Return a time on the next such day of the week from its own day on, at the same hour there."""
    if not isinstance(value, str):
        return value
    day = dt.datetime.fromisoformat(value)
    moved = day + dt.timedelta(days=(_CODES.index(code) - day.weekday()) % 7)
    return moved.replace(tzinfo=zone or day.tzinfo).isoformat() if "T" in value else moved.date().isoformat()


# ── Devices ───────────────────────────────────────────────────────────────────────────────────────────────

_DEVICE = "device"
_ARTICLE = r"(?:(?:the|my|our)\s+)?"
_JOINT = r"\s*(?:,\s*(?:and\s+)?|\band\s+|&\s*|\bplus\s+|\bn\s+)"


def with_each_device(plan: Plan, said: Utterance, tools: Mapping[str, ToolSpec]) -> Plan:
    """Return the plan with a step for each device of a row; the same where none is named, or steps use results."""
    devices = [entity for entity in said.context.entities if entity.kind == "device"]
    names = {name for device in devices for name in (device.name, *device.aliases)}
    plan = replace(plan, steps=tuple(_whole_name(step, said.text, names) for step in plan.steps))
    if len(names) < 2 or any(step.needs() for step in plan.steps):
        return plan
    rows = _rows(said.text, names)
    steps: list[Step] = []
    for step in plan.steps:
        device = step.arguments.get(_DEVICE)
        row = next((row for row in rows if isinstance(device, str) and _is_of(device, row)), None)
        if row is None:
            steps.append(step)
            continue
        known = {other.arguments.get(_DEVICE) for other in plan.steps if other is not step}
        mine = [name for name in row if name not in known]
        steps += [replace(step, arguments={**step.arguments, _DEVICE: name}) for name in mine]
    left = tuple(text for text in plan.unserved if not any(_is_of(text, row) for row in rows))
    try:
        return check_plan(replace(plan, steps=tuple(steps), unserved=left), tools)
    except PlanError:
        return plan


def _whole_name(step: Step, text: str, names: set[str]) -> Step:
    """Return the step with its device by the whole name that was said: "dads lamp" is not the lamp."""
    value = step.arguments.get(_DEVICE)
    if not isinstance(value, str) or not (part := _plain(value)):
        return step
    said = f" {_plain(text)} "
    longer = [name for name in names if f" {_plain(name)} " in said and _plain(name).endswith(f" {part}")]
    for name in longer:
        said = said.replace(f" {_plain(name)} ", "  ")
    if not longer or f" {part} " in said:
        return step
    return replace(step, arguments={**step.arguments, _DEVICE: max(longer, key=len)})


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", re.sub(r"['’]", "", text.lower())))


def _rows(text: str, names: set[str]) -> list[list[str]]:
    """Return the devices of each row of two or more, as the request calls them."""
    one = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    row = re.compile(rf"\b{_ARTICLE}(?:{one})\b(?:{_JOINT}{_ARTICLE}(?:{one})\b)+", re.IGNORECASE)
    each = re.compile(rf"\b(?:{one})\b", re.IGNORECASE)
    return [list(dict.fromkeys(found[0] for found in each.finditer(match[0]))) for match in row.finditer(text)]


def _is_of(said: str, row: list[str]) -> bool:
    """Return whether words are a member of a row, or the row."""
    low = re.sub(rf"\A{_ARTICLE}", "", " ".join(said.lower().split()))
    words = [name.lower() for name in row]
    rest = low
    for name in sorted(words, key=len, reverse=True):
        rest = rest.replace(name, "")
    return low in words or (rest != low and not re.sub(r"\b(?:the|my|our|and|plus|n)\b|[\s,&]", "", rest))


# ── What is told ────────────────────────────────────────────────────────────────────────────────────────
# Writes to somebody what the request tells them: "tell Ivy that she can come" writes "you can come" to Ivy.
#
# A planner copies the words of the request, which speak of the one addressed as somebody else, takes a mail of Friday
# for the one to be answered where the answer speaks of Friday, and looks for a deed where a whole sentence is told.
# What the words say `language.discourse.reported_speech` reads; what is written is shown before it is sent.


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


# ── What is added ───────────────────────────────────────────────────────────────────────────────────────
# Adds to a plan what was asked for beside its request: a reminder, further recipients (`language.discourse`).
#
# Not covered: a reminder of an event whose time is looked up; copies of a reply, which goes to whoever wrote.


_EVENT, _REMINDER = "add_event", "add_reminder"
_EVENTS, _REMINDERS = "find_events", "find_reminders"
_LONGEST = dt.timedelta(days=7, hours=2)
"""The longest span of days whose reminders are told beside the events: a week, in which the clocks may change."""


def with_lead(plan: Plan, lead: Lead, now: dt.datetime, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Return the plan with the reminder; None where it adds no event, or one whose time is not known yet."""
    places = [k for k, step in enumerate(plan.steps) if step.tool == _EVENT]
    if len(places) != 1 or plan.unserved:
        return None
    start = plan.steps[places[0]].arguments.get("start")
    try:
        at = lead.at(dt.datetime.fromisoformat(start)) if isinstance(start, str) else None
        if at is None or at <= now:
            return None
        arguments: dict[str, Argument] = {"text": lead.deed or Ref(places[0], ("title",)), "at": at.isoformat()}
        return check_plan(replace(plan, steps=(*plan.steps, Step(_REMINDER, arguments, text=lead.text))), tools)
    except (PlanError, ValueError, TypeError):
        return None


_PRONOUNS = frozenset({"her", "him", "she", "he", "them"})


def with_her_named(plan: Plan, said: Utterance) -> Plan:
    """Return the plan that looks up whom "her" is by name, where its request names one person: "cancel Lucy's
    appointment and mail her that I'm ill"; the same where it names none, or several."""
    named = {str(slot.views.get("text", slot.text)) for slot in said.slots if slot.kind == "person"}
    if len(named) != 1:
        return plan
    (name,) = named
    steps = tuple(
        replace(step, arguments={**step.arguments, "name": name})
        if step.tool == _FIND and str(step.arguments.get("name")).lower() in _PRONOUNS
        else step
        for step in plan.steps
    )
    return replace(plan, steps=steps) if steps != plan.steps else plan


def with_told(plan: Plan, told: TellsToo, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Return the plan with a mail that tells somebody what it does; None where that is nothing to tell."""
    said = said_of_plan(plan, told.rest, told.whom)
    if said is None or plan.unserved or _FIND not in tools or _DRAFT not in tools:
        return None
    done, n = said[0], len(plan.steps)
    steps = (
        *plan.steps,
        Step(_FIND, {"name": told.whom}, text=told.text),
        Step(_DRAFT, {"to": [Ref(n, ("email",))], "text": said[1]}, after=(done,), text=told.text),
    )
    try:
        return check_plan(replace(plan, steps=steps), tools)
    except PlanError:
        return None


def to_those_told(said: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Return the plan whose one new mail goes to all who are told, and to nobody who is told of; None where what was
    found does so."""
    if isinstance(found, Refusal):
        return None
    if name := told_of(said):
        return _without_told_of(found, name, tools)
    row = several_told(said)
    return told_to_all(found, row, tools) if row is not None else None


def told_to_all(plan: Plan, row: Row, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Return the plan whose one new mail goes to all who are known of a row, and leaves the others undone; None where
    it leaves nobody out."""
    to = [step.arguments.get("to") for step in plan.steps if step.tool == _DRAFT]
    if len(to) != 1 or not isinstance(to[0], list) or len(to[0]) >= len(row.names) + len(row.left):
        return None
    found = {str(step.arguments.get("name")) for step in plan.steps if step.tool == _FIND}
    if len(found) != len(to[0]):
        return None
    further = tuple(name for name in row.names if name not in found)
    left = tuple(words for words in row.left if words not in found)
    whole = with_copied(plan, Copied("", further), tools) if further else plan
    return replace(whole or plan, unserved=(*plan.unserved, *(() if whole else further), *left))


def _without_told_of(plan: Plan, name: str, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Return the plan whose one new mail does not go to somebody of whom it only tells; None where it does not."""
    places = [k for k, step in enumerate(plan.steps) if step.tool == _DRAFT]
    to = plan.steps[places[0]].arguments.get("to") if len(places) == 1 else None
    gone = {k for k, step in enumerate(plan.steps) if step.tool == _FIND and step.arguments.get("name") == name}
    if not isinstance(to, list) or len(gone) != 1 or len(to) < 2:
        return None
    kept = [one for one in to if not (isinstance(one, Ref) and one.step in gone)]
    if len(kept) == len(to) or any(step.needs() & gone for k, step in enumerate(plan.steps) if k != places[0]):
        return None
    draft = plan.steps[places[0]]
    steps = [replace(step, arguments={**step.arguments, "to": kept}) if step is draft else step for step in plan.steps]
    at = {k: k - sum(one < k for one in gone) for k in range(len(steps)) if k not in gone}
    try:
        return check_plan(replace(plan, steps=tuple(renumbered(steps[k], at) for k in at)), tools)
    except (PlanError, KeyError):
        return None


def with_copied(plan: Plan, copied: Copied, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Return the plan whose one new mail goes to them, too; None where it writes none."""
    places = [k for k, step in enumerate(plan.steps) if step.tool == _DRAFT]
    if len(places) != 1 or plan.unserved or _FIND not in tools:
        return None
    place, n = places[0], len(copied.names)
    to = plan.steps[place].arguments.get("to")
    if not isinstance(to, list):
        return None
    looked_up = [Step(_FIND, {"name": name}) for name in copied.names]
    at = {k: k if k < place else k + n for k in range(len(plan.steps))}
    steps_moved = [renumbered(step, at) for step in plan.steps]
    draft = steps_moved[place]
    further = [Ref(place + k, ("email",)) for k in range(n)]
    draft = replace(draft, arguments={**draft.arguments, "to": [*to, *further]})
    steps = (*steps_moved[:place], *looked_up, draft, *steps_moved[place + 1 :])
    try:
        return check_plan(replace(plan, steps=steps), tools)
    except PlanError:
        return None


_OF_EVENTS_ALONE = re.compile(
    r"\b(?:events?|meetings?|appointments?|appts?|how\s+(?:many|much)|number\s+of|count|who(?:['’]?s)?|why)\b",
    re.IGNORECASE,
)


def reminders_of_days(plan: Plan, request: Request, tools: Mapping[str, ToolSpec]) -> tuple[Step, ...]:
    """Return the steps that list what is due on the days whose events a plan lists; none where the request names events
    or asks how many, who or why, or the plan looks for words or hours, for more than a week, or does anything else."""
    if _REMINDERS not in tools or any(step.tool != _EVENTS for step in plan.steps):
        return ()
    if _OF_EVENTS_ALONE.search(request.text) is not None:
        return ()
    spans = [_whole_days(step, request.now) for step in plan.steps]
    if None in spans:
        return ()
    return tuple(Step(_REMINDERS, {**span}, text=step.text) for step, span in zip(plan.steps, spans) if span)


_FREE = "find_free_time"
_IF_FREE = re.compile(
    r"\s*(?:(?:so|and|ok|okay|hey|hi|please|tell me if|check if|check whether)\b[\s,]*)*"
    r"(?:am i|are we|do i have|do we have|have i|have we|is there|i am|i['’]?m)\b(?!.*\b(?:when|how)\b)",
    re.IGNORECASE,
)


def events_between(plan: Plan, request: Request, tools: Mapping[str, ToolSpec]) -> tuple[Step, ...]:
    """Return the step that lists what lies in the hours of which a plan tells the free ones, where it is asked whether
    they are free: "am I free on Wednesday evening" is told what is then, too; none for more than a day."""
    free = plan.steps[0]
    start, end = free.arguments.get("start"), free.arguments.get("end")
    if [step.tool for step in plan.steps] != [_FREE] or _EVENTS not in tools or _IF_FREE.match(request.text) is None:
        return ()
    if not isinstance(start, str) or not isinstance(end, str):
        return ()
    first, last = dt.datetime.fromisoformat(start), dt.datetime.fromisoformat(end)
    if last - first > dt.timedelta(hours=25):
        return ()
    if last - first <= dt.timedelta(minutes=1):  # "at 2": the hour from then is asked for
        end = (first + dt.timedelta(hours=1)).isoformat()
    return (Step(_EVENTS, {"start": start, "end": end}, text=free.text),)


def _whole_days(step: Step, now: dt.datetime) -> Mapping[str, Argument] | None:
    """Return the start and the end of whole days, the first of which may have begun; None for any other span."""
    start, end = step.arguments.get("start"), step.arguments.get("end")
    if not isinstance(start, str) or not isinstance(end, str) or step.arguments.get("query"):
        return None
    first, last = dt.datetime.fromisoformat(start), dt.datetime.fromisoformat(end)
    begins = first.time() == dt.time() or abs(first - now) < dt.timedelta(minutes=1)
    return {"start": start, "end": end} if begins and last.time() == dt.time() and last - first <= _LONGEST else None
