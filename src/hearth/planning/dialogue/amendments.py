"""Amends a plan by the words of its request, or asks for what is missing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import pairwise

from hearth import patterns as re
from hearth.errors import PlanError
from hearth.formats.plans import canonical, check_plan, only_reads, renumbered, shifted
from hearth.language.discourse.deeds_told import PutIn, TellsToo, said_of_plan, said_of_step
from hearth.language.discourse.relative_anchors import (
    Copied,
    Lead,
    Row,
    Told,
    is_mused_move,
    names_a_day,
    several_told,
    told_in,
    told_of,
    turned_to,
    unnamed_in,
)
from hearth.language.reading import (
    DOWN,
    UP,
    Utterance,
    amount_of_change,
    asked_if_free,
    asks_amount,
    asks_day,
    asks_how,
    asks_past_deed,
    asks_state,
    asks_who_is_free,
    be,
    card_field_taken,
    counted_back,
    direction,
    free_ones,
    is_of_house_alarm,
    mail_named,
    names_all_contacts,
    names_all_events,
    taken_out,
    unserved_deed,
    without_frame,
)
from hearth.language.thesaurus import words_in_text
from hearth.language.tokens import Slot, listed, says_nothing
from hearth.tools.pim.calendar import hours_asked
from hearth.types import OWNERS_WORD, Argument, Parameter, Plan, Ref, Refusal, Request, Step, StepResult, ToolSpec

# ── Contradictions ────────────────────────────────────────────────────────────────────────────────────────
# Holds what a plan does against the words of its request: "turn the heating up by 2" lowers nothing.
#
# A planner fills a plan by the likeness of whole requests, so a value may say the opposite of the one word that
# decides. What the words settle is put right; what no tool can do in this way is refused, with the reason, instead of
# the nearest deed. Each rule below is a class of such faults; plans that the owner taught are never refused.
#
# Covered: directions, the room of devices meant together, stretches without a length, questions about past deeds,
# parts of contact cards, people of an event, alarms of a house, look-ups of mail without a word, dates asked of the
# clock, other people's time, what is to be kept, rhythms that are not said, places called after somebody. Not
# covered: which thing is meant where both fit; plans made again after a failed step.

Tools = Mapping[str, ToolSpec]
_CANNOT = "I can't do that yet."


@dataclass(frozen=True, slots=True)
class _Said:
    """The words that plans are held against, and what is needed to read them."""

    utterance: Utterance
    tools: Tools

    @property
    def text(self) -> str:
        return self.utterance.text

    def times(self, text: str) -> tuple[Slot, ...]:
        return self.utterance.saying(text).times

    def is_person(self, words: str) -> bool:
        low = words.strip().lower()
        known = (entity for entity in self.utterance.context.entities if entity.kind == "person")
        return any(low == name.lower() for entity in known for name in (entity.name, *entity.aliases))


_TIMER = "set_timer"


def refused_deed(request: Request, found: Plan | Refusal, tools: Tools, planner: str) -> Refusal | None:
    """Return the refusal to do again what a question asks about as done ("did I send Priya the quote"), or to do what
    it asks how to do ("what do I press to turn the burglar alarm off").

    None where `found` stands: it changes nothing, or a device (see `with_state_asked`), or no such question is asked.

    An order that only a look-up was found for is refused, too: "archive the newsletter".

    Args:
        planner: Whose refusal it is to be, so that the question may still be put to the owner's things.
    """
    if isinstance(found, Refusal) or is_taught(found):
        return None
    if (deed := unserved_deed(request.text)) and only_reads(found, tools):
        return Refusal("out_of_scope", f"I can't {deed} anything yet, so I did nothing.")
    if {step.tool for step in found.steps} == {_TIMER} and asks_amount(request.text):
        return Refusal("out_of_scope", _CANNOT, planner=planner)
    if not (asks_past_deed(request.text) or asks_how(request.text)):
        return None
    acts = [step for step in found.steps if step.tool in tools and tools[step.tool].effect != "none"]
    if all(_DEVICE in step.arguments or step.tool == _REMEMBER for step in acts):
        return None
    return Refusal("out_of_scope", _CANNOT, planner=planner)


_NOT_ORDERED = "I moved nothing, as you only spoke of it. To move it, say “move”, its name and the new day or time."


def without_contradictions(found: Plan | Refusal, utterance: Utterance, tools: Tools) -> Plan | Refusal:
    """Return the plan with what its request's words settle put right, or the refusal of what it would do instead.

    A question for what a plan lacks is held against the words, too.
    """
    said = _Said(utterance, tools)
    if isinstance(found, Refusal):
        asks_of = {one.partition(".")[0] for one in found.missing}
        nearest = {found.offer.tool} if found.offer is not None and found.kind == "out_of_scope" else set()
        reason = _alarm_of_a_house(asks_of, said) or _part_of_a_card(nearest, said)
        return Refusal("out_of_scope", reason) if reason else found
    plan = found
    if not is_taught(plan):
        deeds = {step.tool for step in plan.steps}
        reason = _alarm_of_a_house(deeds, said) or _part_of_a_card(deeds, said)
        for reason_of in (_person_of_an_event, _time_of_others, _at_instead_of_before, _mused_move):
            reason = reason or reason_of(plan, said)
        if reason:
            return Refusal("out_of_scope", reason)
    for mended_by in _MENDS:
        mended = mended_by(plan, said)
        if isinstance(mended, Refusal):
            return mended
        try:
            plan = check_plan(mended, tools) if mended is not plan else plan
        except PlanError:
            continue
    return plan


def is_taught(plan: Plan) -> bool:
    """Return whether a plan rests first on what the owner taught."""
    return any(id.startswith("owner:") for id in plan.rests_on[:1])


# ── Questions about past deeds ────────────────────────────────────────────────────────────────────────────

_DEVICE, _REMEMBER = "device", "remember"
_STATE = "device_state"


def with_state_asked(plan: Plan, request: Request, tools: Mapping[str, ToolSpec]) -> Plan:
    """Return the plan that looks at the device which a question is about; the same where nothing such is asked."""
    if len(plan.steps) != 1 or _STATE not in tools or not asks_state(request.text):
        return plan
    step = plan.steps[0]
    device = step.arguments.get(_DEVICE)
    if tools[step.tool].effect == "none" or not isinstance(device, str):
        return plan
    try:
        return check_plan(replace(plan, steps=(replace(step, tool=_STATE, arguments={_DEVICE: device}),)), tools)
    except PlanError:
        return plan


# ── What is refused ───────────────────────────────────────────────────────────────────────────────────────


def _part_of_a_card(deeds: Collection[str], said: _Said) -> str:
    """Refuse to delete a whole contact where a field of the card is what should go: "delete Joel's old number"; no
    other is offered for it, either."""
    field = card_field_taken(said.text)
    acts = {"delete_contact", "delete_mail"}.intersection(deeds)
    if not field or not acts or (acts == {"delete_mail"} and field.lower() in ("email", "e-mail")):
        return ""
    return (
        f"I can't take {_with_article(field)} off a contact's card, only put another in its place, "
        "so I left the card as it is."
    )


def _with_article(word: str) -> str:
    return f"{'an' if word[:1].lower() in 'aeiou' else 'a'} {word.lower().rstrip('s') if word[-2:] != 'ss' else word}"


def _person_of_an_event(plan: Plan, said: _Said) -> str:
    """Refuse to cancel an event, or to delete a contact, where somebody should no longer come to it: "take Ana out of
    the lunch", but not "take the dentist off my calendar".
    """
    found, acts = taken_out(said.text), {step.tool for step in plan.steps}
    if found is None or not acts & {"cancel_event", "delete_contact"}:
        return ""
    who, what = found[0].lower(), found[1].lower()
    is_whole = names_all_events(what) if "cancel_event" in acts else names_all_contacts(what)
    if is_whole or any(slot.start == 0 for slot in said.times(found[1])):
        return ""
    sought = {str(step.arguments["query"]).lower() for step in plan.steps if "query" in step.arguments}
    is_event = any((query in what and query not in who) or what in query for query in sought)
    if "cancel_event" in acts and not is_event and not said.is_person(who):
        return ""
    return f"I can't take somebody out of “{found[1].strip()}”, so I left everything as it is."


def _alarm_of_a_house(used: Set[str], said: _Said) -> str:
    """Refuse to touch reminders for the alarm of a house: "arm the alarm", "switch the burglar alarm off"."""
    touches = any("reminder" in tool or tool == "set_timer" for tool in used)
    if not touches or not is_of_house_alarm(said.text):
        return ""
    return "I can't set a security alarm; the alarms I know are reminders, and I left those alone."


_BEFOREHAND = re.compile(
    r"\bremind\w*\b.*\b(?:the\s+(?:evening|night|morning|day|week)|(?:an?|half\s+an|\d+|one|two|three|ten|fifteen|thirty)\s+"
    r"(?:minutes?|mins?|hours?|hrs?|days?|weeks?))\s+(?:before|b4|ahead|earlier|in\s+advance)\b",
    re.IGNORECASE,
)


def _at_instead_of_before(plan: Plan, said: _Said) -> str:
    """Refuse to remind of something when it takes place, or is over, where it is asked for before that."""
    at = [step.arguments.get("at") for step in plan.steps if step.tool == "add_reminder"]
    if not any(isinstance(one, Ref) for one in at) or _BEFOREHAND.search(said.text) is None:
        return ""
    return "I could not work out when that is, so I set no reminder: ask me when it is, then say when to remind you."


_WISHED = re.compile(
    r"\s*(?:an?\s+)?(?:very\s+)?(?:(?:happy|merry|blessed|joyful)\s+(?:new\s+|\d{1,3}(?:st|nd|rd|th)\s+)?[^\W\d_]+|"
    r"congrat(?:s|ulations)|good\s+(?:night|morning)|"
    r"season['’]?s\s+greetings|all\s+the\s+best|get\s+well(?:\s+soon)?)(?:\s+(?:mum|mom|dad|love|darling|dear))?[\s,!.]*",
    re.IGNORECASE,
)
"""A wish as it is written on a card, which nobody writes ahead of its day."""
_NOT_SENT_LATER = "I can send only at once, not at a time you name. Say it again then, or ask me to remind you of it."


def _wish_of_its_day(plan: Plan, said: _Said) -> Plan | Refusal:
    """Take the time at which a wish is to be written out of its text, and tell it as left undone: "text Karin happy
    birthday on Monday"; refuse where it would be sent at once."""
    for k, step in enumerate(plan.steps):
        text = step.arguments.get("text")
        wish = _WISHED.match(text) if step.tool == _DRAFT and isinstance(text, str) else None
        when = wish.string[wish.end() :].rstrip(" .!") if wish is not None else ""
        at = next((slot for slot in said.times(when) if slot.cue_start == 0 and slot.end == len(when)), None)
        if wish is None or at is None or at.cue not in ("", "on", "at"):
            continue
        is_of_occasion = wish[0].casefold().startswith("congrat") and at.cue == "on"
        if is_of_occasion or str(at.views.get("start", "")) <= said.utterance.now.isoformat():
            continue
        if any(one.tool == "send_mail" for one in plan.steps):
            return Refusal("out_of_scope", _NOT_SENT_LATER, planner=plan.planner)
        steps = list(plan.steps)
        steps[k] = replace(step, arguments={**step.arguments, "text": wish[0].strip(" ,.")})
        return replace(_with_steps(plan, steps), unserved=(*plan.unserved, when))
    return plan


def _mused_move(plan: Plan, said: _Said) -> str:
    """Refuse to move what somebody says, or the owner only considers, needs moving."""
    moves = any(step.tool == "move_event" for step in plan.steps)
    return _NOT_ORDERED if moves and is_mused_move(said.text) else ""


def _time_of_others(plan: Plan, said: _Said) -> str:
    """Refuse to tell the owner's own free time for somebody else's: "is Karin free on Friday"."""
    if all(step.tool != "find_free_time" for step in plan.steps):
        return ""
    if asks_who_is_free(said.text):
        return "I only see your own calendar, so I can't tell who is free."
    for who in asked_if_free(said.text):
        ones = free_ones(who)
        if any(
            one.is_other or said.is_person(one.words) or (one.may_be_name and not said.times(one.words)) for one in ones
        ):
            return f"I only see your own calendar, so I can't tell when {who} {be(who)} free."
    return ""


# ── Directions ────────────────────────────────────────────────────────────────────────────────────────────

_LEVELS = {"set_temperature": "temperature", "set_brightness": "percent", "set_volume": "percent"}
_CHANGE = "change"
_SPLIT = re.compile(r"[,;.!?]\s+|\b(?:and|then|but|while)\b", re.IGNORECASE)


def _in_said_direction(plan: Plan, said: _Said) -> Plan:
    """Mend a change of a level whose direction is not the only one that the words say."""
    steps = list(plan.steps)
    for k, step in enumerate(steps):
        if step.arguments.get(_CHANGE) in (UP, DOWN):
            way = direction(_clause(step, plan, said.text))
            if way and way != step.arguments[_CHANGE]:
                steps[k] = replace(step, arguments={**step.arguments, _CHANGE: way})
    return _with_steps(plan, steps)


def _clause(step: Step, plan: Plan, text: str) -> str:
    """Return the words that are about a step: all for a plan's only step, else the one clause that names its device."""
    if len(plan.steps) == 1 and not plan.unserved:
        return text
    device = str(step.arguments.get(_DEVICE, "")).lower()
    named = [part for part in _SPLIT.split(text) if device and device in part.lower()]
    return named[0] if len(named) == 1 else ""


_TOGETHER = re.compile(r"(?:everything|(?:all|every|both)\b.*|(?:the )?(?:lights|lamps|blinds|shutters))", re.I)
_SPARED = re.compile(r"\b(?:not|except|but|other than|apart from|unless|without)\b|n['’]t\b", re.I)


def _in_said_room(plan: Plan, said: _Said) -> Plan:
    """Keep devices that are meant together to the one room that is said: "everything off in the kitchen"."""
    rooms = [one.name for one in said.utterance.context.entities if one.kind == "room" and one.name]
    steps = list(plan.steps)
    for k, step in enumerate(steps):
        device, words = step.arguments.get(_DEVICE), _clause(step, plan, said.text)
        if not isinstance(device, str) or not _TOGETHER.fullmatch(device) or _SPARED.search(words):
            continue
        named = [room for room in rooms if re.search(rf"\b{re.escape(room)}\b", words, re.I)]
        if len(named) != 1:
            continue
        place = rf"\b(?:on|off|up|down|{re.escape(device)}) in (?:the |my )?{re.escape(named[0])}\b"
        if re.search(place, words, re.I):
            steps[k] = replace(step, arguments={**step.arguments, _DEVICE: f"{device} in the {named[0]}"})
    return _with_steps(plan, steps)


_OPPOSITES = (
    (
        "lock_door",
        "unlock_door",
        re.compile(r"(?<!the )(?<!my )(?<!a )(?<!door )\block\b", re.I),
        re.compile(r"\bunlock(?:ed|ing|s)?\b", re.I),
    ),
    (
        *("open_blinds", "close_blinds"),
        re.compile(r"\b(?:open|raise)\b", re.I),
        re.compile(r"\b(?:close|shut|lower)\b", re.I),
    ),
)
"""Tools that do the opposite of each other, with the words that each is asked for with."""


def _not_the_opposite(plan: Plan, said: _Said) -> Plan:
    """Exchange a deed for its opposite where the request has the word for that one alone: "unlock all doors"."""
    steps = list(plan.steps)
    for one, other, of_one, of_other in _OPPOSITES:
        for asked, wrong, has, lacks in ((one, other, of_one, of_other), (other, one, of_other, of_one)):
            if asked in said.tools and has.search(said.text) and not lacks.search(said.text):
                steps = [replace(step, tool=asked) if step.tool == wrong else step for step in steps]
    return _with_steps(plan, steps)


def _counted_back(plan: Plan, said: _Said) -> Plan:
    """Set a reminder as long before the day that is said as it is to come: "the pass runs out 31 January, remind me a
    fortnight before" rings on the seventeenth. What would ring in the past stays as it was planned."""
    if [step.tool for step in plan.steps] != ["add_reminder"]:
        return plan
    (step,) = plan.steps
    at, now = step.arguments.get("at"), said.utterance.now
    if not isinstance(at, str) or at not in [slot.views.get("datetime") for slot in said.times(said.text)]:
        return plan
    earlier = counted_back(said.text, dt.datetime.fromisoformat(at), now.tzinfo)
    if earlier is None or earlier <= now:
        return plan
    return _with_steps(plan, [replace(step, arguments={**step.arguments, "at": earlier.isoformat()})])


_WHOLE_LEVEL = frozenset(listed("temperature volume brightness sound heat level"))


def _as_change(plan: Plan, said: _Said) -> Plan:
    """Mend an amount of change that was taken for the level: "turn the temperature down 2 degrees" is not 2 degrees."""
    steps = list(plan.steps)
    for k, step in enumerate(steps):
        level = _LEVELS.get(step.tool)
        if (
            level is None
            or step.arguments.get(_CHANGE) in (UP, DOWN)
            or said.tools[step.tool].parameter(_CHANGE) is None
        ):
            continue
        clause = _clause(step, plan, said.text)
        amount, way = amount_of_change(clause), direction(clause)
        if not amount or not way:
            continue
        numbers = [slot.views.get("number") for slot in said.utterance.saying(amount).slots]
        if step.arguments.get(level) not in numbers:
            continue
        arguments = {**step.arguments, _CHANGE: way}
        if str(arguments.get(_DEVICE, "")).lower() in _WHOLE_LEVEL:
            del arguments[_DEVICE]
        steps[k] = replace(step, arguments=arguments)
    return _with_steps(plan, steps)


# ── Times ─────────────────────────────────────────────────────────────────────────────────────────────────


def _with_length(plan: Plan, said: _Said) -> Plan:
    """Mend a stretch that ends where it starts: one moment, or what "after 4" opens."""
    steps = list(plan.steps)
    for k, step in enumerate(steps):
        start = step.arguments.get("start")
        if not isinstance(start, str) or start != step.arguments.get("end"):
            continue
        slots = [
            slot for slot in said.times(said.text) if start in (slot.views.get("datetime"), slot.views.get("start"))
        ]
        rest = {name: value for name, value in step.arguments.items() if name not in ("start", "end")}
        steps[k] = replace(step, arguments={**rest, **_stretch(start, slots, said.tools[step.tool])})
    return _with_steps(plan, steps)


_AN_HOUR, _A_MOMENT = dt.timedelta(hours=1), dt.timedelta(minutes=1)
_AT_THE_TIME = frozenset({"", "at", "on", "around", "about"})
_FROM_THEN_ON = re.compile(r"\b(?:next|from\s+(?:now|then)\s+on|onwards?)\b", re.IGNORECASE)


def _then_alone(plan: Plan, said: _Said) -> Plan:
    """Mend a look-up of events from a clock time on without an end, or until then: "at 7 on Tuesday" asks for the hour
    from then, "from 7" and "after 7" for the rest of that day. Where an event is changed, what is on at the moment is
    meant."""
    if _FROM_THEN_ON.search(said.text) is not None:
        return plan
    used = {ref.step for step in plan.steps for ref in step.refs()}
    steps = list(plan.steps)
    for k, step in enumerate(steps):
        bounds = [step.arguments[name] for name in ("start", "end") if name in step.arguments]
        if step.tool != _EVENTS or len(bounds) != 1:
            continue
        slots = [slot for slot in said.utterance.times if "time" in slot.views and slot.views.get("start") == bounds[0]]
        if len(slots) == 1 and (end := _end_said(slots[0], is_changed=k in used)):
            steps[k] = replace(step, arguments={**step.arguments, "start": bounds[0], "end": end})
    return _with_steps(plan, steps)


def _end_said(slot: Slot, *, is_changed: bool) -> str:
    """Return when the stretch of a clock time ends; empty where its words leave that open."""
    start, end = str(slot.views["start"]), str(slot.views.get("end", ""))
    first = dt.datetime.fromisoformat(start)
    if end and _seconds(start, end) > _A_MOMENT.total_seconds():
        return end
    if slot.cue == "from":
        return dt.datetime.combine(first.date() + dt.timedelta(days=1), dt.time(), first.tzinfo).isoformat()
    return (first + (_A_MOMENT if is_changed else _AN_HOUR)).isoformat() if slot.cue in _AT_THE_TIME else ""


def _of_found_length(plan: Plan, said: _Said) -> Plan:
    """Mend what begins where a stretch was found and has a length: the end of what was searched is not its end."""
    windows = {step.arguments.get("end") for step in plan.steps if said.tools[step.tool].effect == "none"}
    steps = list(plan.steps)
    for k, step in enumerate(steps):
        arguments = step.arguments
        if isinstance(arguments.get("start"), Ref) and "length" in arguments and arguments.get("end", "") in windows:
            steps[k] = replace(step, arguments={name: value for name, value in arguments.items() if name != "end"})
    return _with_steps(plan, steps)


def _open_end(plan: Plan, said: _Said) -> Plan:
    """Mend an event that would last to the end of the day, or from its beginning, as it is only said what it is after
    or before: "dentist after work", "gym before work"."""
    after = {
        (slot.views.get("start"), slot.views.get("end"))
        for slot in said.utterance.times
        if "after" in (slot.cue.lower(), *slot.text.lower().split()[:-1]) and "time" not in slot.views
    }
    ahead = {
        (slot.views.get("start"), slot.views.get("end")): str(slot.views["datetime"])
        for slot in said.utterance.times
        if "before" in (slot.cue.lower(), *slot.text.lower().split()[:-1]) and "time" not in slot.views
        if "datetime" in slot.views and str(slot.views["datetime"]) < str(slot.views.get("end", ""))
    }
    steps = list(plan.steps)
    for k, step in enumerate(steps):
        span = (step.arguments.get("start"), step.arguments.get("end"))
        if step.tool != _EVENT or (span not in after and span not in ahead):
            continue
        kept = {name: one for name, one in step.arguments.items() if name != "end"}
        steps[k] = replace(step, arguments={**kept, "start": ahead.get(span, kept["start"])})
    return _with_steps(plan, steps)


def _stretch(start: str, slots: Sequence[Slot], spec: ToolSpec) -> dict[str, Argument]:
    """Return the arguments for the time that was said: a moment, from a moment on, or a stretch."""
    first, last = (str(slots[0].views.get(view, "")) for view in ("start", "end")) if len(slots) == 1 else ("", "")
    is_moment = not first or not last or _seconds(first, last) <= 60
    if spec.parameter("at") is not None:  # footage is looked at from there on, over midnight, too
        return {"at": start} if is_moment else {"start": first, **({"end": last} if last == start else {})}
    if spec.effect != "none" or not first or not last or first == last:
        return {"start": start}
    return {"start": first, "end": last}


def _seconds(start: str, end: str) -> float:
    return (dt.datetime.fromisoformat(end) - dt.datetime.fromisoformat(start)).total_seconds()


def _of_said_date(plan: Plan, said: _Said) -> Plan:
    """Mend a clock that would tell today where another day is asked for: "what day is the 12th of December"."""
    if (
        [step.tool for step in plan.steps] != ["current_time"]
        or plan.steps[0].arguments
        or "time_until" not in said.tools
    ):
        return plan
    text = said.text
    if not asks_day(text):
        return plan
    days = [slot for slot in said.times(text) if "date" in slot.views and _is_one_day(slot)]
    if len(days) != 1 or days[0].views["date"] == said.utterance.now.date().isoformat():
        return plan
    return _with_steps(
        plan, [replace(plan.steps[0], tool="time_until", arguments={"date": str(days[0].views["date"])})]
    )


def _is_one_day(slot: Slot) -> bool:
    start, end = str(slot.views.get("start", "")), str(slot.views.get("end", ""))
    return not start or not end or _seconds(start, end) <= 25 * 3600


# ── Which mail ────────────────────────────────────────────────────────────────────────────────────────────

_CHANGES_MAIL = frozenset({"delete_mail", "mark_read", "move_mail"})
_NO_NAME = frozenset(
    listed(
        "last latest newest new recent most first oldest old older other next previous current top whole entire read "
        "one two three four five ten single same very s"
    )
)


def _named_mail(plan: Plan, said: _Said) -> Plan | Refusal:
    """Mend a look-up without any word where the words say which mail goes: "trash all those book fair emails"."""
    steps = list(plan.steps)
    for k, step in enumerate(steps):
        is_used = any(Ref(k, ("id",)) in other.refs() and other.tool in _CHANGES_MAIL for other in steps)
        if step.tool != "find_mail" or not is_used:
            continue
        if step.arguments:
            steps[k] = replace(step, arguments={name: _undetermined(value) for name, value in step.arguments.items()})
            continue
        named = mail_named(said.text)
        if named is None:
            continue
        arguments = _mail_said(named[0], said)
        if not arguments and named[1]:
            reason = "Which mail? I could not read that, and I change only what you name."
            return Refusal("needs", reason, missing=("find_mail.query",))
        steps[k] = replace(step, arguments=arguments)
    return _with_steps(plan, steps)


def _undetermined(value: Argument) -> Argument:
    """Return words without what only points at them: "those ebay" is no sender."""
    return re.sub(r"\A(?:all\s+)?(?:those|these)\s+(?=\S)", "", value) if isinstance(value, str) else value


def _mail_said(words: str, said: _Said) -> dict[str, Argument]:
    """Return the arguments that find the mail called so: its time, whether it was read, and the other words."""
    arguments: dict[str, Argument] = {}
    for slot in reversed(said.times(words)):
        if "start" in slot.views and "end" in slot.views and "repeat" not in slot.views:
            arguments |= {"start": str(slot.views["start"]), "end": str(slot.views["end"])}
            words = f"{words[: slot.start]}{words[slot.end :]}"
    left = [
        word for word in re.findall(r"[\w'’&-]+", words) if word.lower() not in _NO_NAME and word not in ("'s", "’s")
    ]
    if "unread" in (word.lower() for word in left):
        arguments["unread_only"] = True
        left = [word for word in left if word.lower() != "unread"]
    return {**arguments, "query": " ".join(left)} if left else arguments


_UNREAD = "unread_only"
_SAYS_UNREAD = re.compile(
    r"\b(?:new|unread|unopened|opened|read|seen|fresh|yet|still|miss(?:ed)?|not|since|catch|caught)\b|n['’]?t\b",
    re.IGNORECASE,
)


def _unread_as_said(plan: Plan, said: _Said) -> Plan:
    """Mend a look-up of unread mails alone where nothing says so: "which emails are about the wedding" means all."""
    if is_taught(plan) or _SAYS_UNREAD.search(said.text) is not None:
        return plan
    kept = ({name: value for name, value in step.arguments.items() if name != _UNREAD} for step in plan.steps)
    return _with_steps(plan, [replace(step, arguments=one) for step, one in zip(plan.steps, kept)])


def _with_words(plan: Plan, said: _Said) -> Plan | Refusal:
    """Ask for what is looked for where the words of a look-up name nothing: "find mails about the"."""
    for step in plan.steps:
        query = step.arguments.get("query")
        if isinstance(query, str) and said.tools[step.tool].effect == "none" and says_nothing(query):
            asked = (step.tool, "query")
            return Refusal(
                "needs", question_about([asked], said.tools), missing=(".".join(asked),), planner=plan.planner
            )
    return plan


# ── Texts ─────────────────────────────────────────────────────────────────────────────────────────────────


def _without_frame(plan: Plan, said: _Said) -> Plan:
    """Mend what is to be remembered to the whole sentence without the order to remember it."""
    if [step.tool for step in plan.steps] != [_REMEMBER]:
        return plan
    text = without_frame(said.text)
    has_frame = text != said.text.strip()
    kept = plan.steps[0].arguments.get("text")
    text = text.strip(" ,;:").rstrip(".!")
    if not has_frame or not isinstance(kept, str) or len(text.split()) < 2 or text == kept.rstrip(".! "):
        return plan
    if kept.lower() in text.lower() and (plan.unserved or re.search(r"[.!?]\s", text)):
        return plan  # what is left of the request is something else
    if text.lower().startswith(f"{kept.lower()},"):
        return plan  # as a frame may be that is not known here
    return replace(_with_steps(plan, [replace(plan.steps[0], arguments={"text": text})]), unserved=())


_REPEAT = "repeat"
_NEW = frozenset({"add_reminder", "add_event"})
_RHYTHM = re.compile(
    r"\b(?:every\w*|each|per|daily|nightly|weekly|fortnightly|monthly|quarterly|yearly|annual(?:ly)?|once|twice|always|"
    r"keep|repeat\w*|recurr\w*|regular(?:ly)?|[a-z]+days|weekends?|mornings|afternoons|evenings|nights|noons|"
    r"(?:a|the|any|all)\s+(?:day|week|fortnight|month|year)|b-?days?|birthday|anniversary|name\s+day)\b",
    re.IGNORECASE,
)


def _as_often_as_said(plan: Plan, said: _Said) -> Plan:
    """Mend what would come again although nothing says so: "remind me on 3 May at 8" comes once."""
    if is_taught(plan) or _RHYTHM.search(said.text) or any(_REPEAT in slot.views for slot in said.utterance.slots):
        return plan
    return _with_steps(plan, [_once(step) if step.tool in _NEW else step for step in plan.steps])


def _once(step: Step) -> Step:
    kept = {name: value for name, value in step.arguments.items() if name != _REPEAT}
    return step if len(kept) == len(step.arguments) else replace(step, arguments=kept)


_STARTS = {"add_event": "start", "move_event": "start", "add_reminder": "at", "move_reminder": "at"}


def _not_on_another_day(plan: Plan, said: _Said) -> Plan | Refusal:
    """Ask when, where a day that is said would be left out, and another one be taken."""
    left = [times[0] for words in plan.unserved if len(times := said.times(words)) == 1 and times[0].text == words]
    for step in plan.steps:
        at = step.arguments.get(_STARTS.get(step.tool, ""))
        if not isinstance(at, str) or any(_holds(slot, at) for slot in said.utterance.times):
            continue  # one of the days that are said is taken
        for slot in left:
            if names_a_day(slot) and not _holds(slot, at):
                reason = f"When? I did not understand how “{slot.text}” goes with the rest."
                return Refusal("needs", reason, (f"{step.tool}.{_STARTS[step.tool]}",), planner=plan.planner)
    return plan


def _holds(slot: Slot, at: str) -> bool:
    start, end = (str(slot.views.get(name, "")) for name in ("start", "end"))
    return names_a_day(slot) and bool(start) and start <= at < end


_PLACE = "place"


def _place_as_said(plan: Plan, said: _Said) -> Plan:
    """Mend a place that lost the end of its name ("at Moll's", which is no "Moll"), or was taken for what takes place
    there: "dinner at Moll's"."""
    steps = list(plan.steps)
    for k, step in enumerate(steps):
        is_titled = step.tool == _EVENT and not step.arguments.get(_PLACE)
        whose = step.arguments.get("title" if is_titled else _PLACE)
        if not isinstance(whose, str) or not whose:
            continue
        owned = re.search(rf"{_BEFORE_PLACE}\bat\s+(?P<place>{re.escape(whose)}['’]s)(?!\w)", said.text, re.IGNORECASE)
        if owned is None or not _ends_place(said, owned.end()) or (is_titled and not owned["what"]):
            continue
        title = {"title": owned["what"]} if is_titled else {}
        steps[k] = replace(step, arguments={**step.arguments, _PLACE: owned["place"], **title})
    return _with_steps(plan, [_at_somebodys(step, said) for step in steps])


_AT_SOMEBODYS = re.compile(r"\bat\s+(?P<place>(?:(?:the|my|our)\s+)?(?P<who>[^\W\d_][\w-]*)['’]s)(?!\w)", re.IGNORECASE)
_BE = re.compile(r"\b(?:be|i\s+am|i['’]?m|we\s+are|we['’]re)\s*\Z", re.IGNORECASE)


_DEED_THERE = re.compile(
    r"(?:(?:please|so|and|ok|okay|i|we|have|need|got|['’]ve|to)\s+)*"
    r"(?P<deed>(?:collect|fetch|get|pick|drop|bring|take|leave|feed|water|play|practise|practice|babysit|help|visit)\b"
    r"(?:\s+(?!(?:if|is|are|was|at|on|in|that|and)\b)[\w'’-]+){1,4})",
    re.IGNORECASE,
)
"""What is to be done at somebody's: "pick up Lina"."""


def _at_somebodys(step: Step, said: _Said) -> Step:
    """Keep the place of an event that is called after somebody and stands behind what takes place ("dinner at Moll's in
    my diary"); who is to be there has an event of that name: "be at Moll's at 6"."""
    owned = _AT_SOMEBODYS.search(said.text) if step.tool == _EVENT and _PLACE not in step.arguments else None
    title = step.arguments.get("title")
    if owned is None or not isinstance(title, str) or not _ends_place(said, owned.end()):
        return step
    before, at_who = said.text[: owned.start()].rstrip(), re.compile(rf"\s+at\s+{re.escape(owned['who'])}\Z", re.I)
    if title.casefold() in (owned["who"].casefold(), owned["place"][:-2].casefold()):
        deed = _DEED_THERE.fullmatch(before)
        if deed is None and _BE.search(before) is None:
            return step
        title = deed["deed"] if deed is not None else owned[0]
    elif at_who.search(title) is not None:
        title = at_who.sub("", title)
    elif re.search(rf"(?<!\w){re.escape(title)}\Z", before, re.I) is None:
        return step
    return replace(step, arguments={**step.arguments, "title": title, _PLACE: owned["place"]})


_BEFORE_PLACE = (
    r"(?:(?:\A|\b(?:put|add|book|enter|schedule|pencil\s+in|got|have)\s+)(?:an?\s+|the\s+)?"
    r"(?P<what>(?!(?:to|at|be|am|is|go|meet|stay|sleep|see)\b)[^\W\d_][\w-]*(?:\s(?!at\b)[\w-]+)?)\s+)?"
)
"""What takes place, where it begins the request or what is put into the calendar."""
_ENDS_PLACE = re.compile(
    r"\s*(?:\Z|[.,;!?])|\s+(?:from|now|instead|on|in|into|to|at|by|for|with|and|please)\b", re.IGNORECASE
)


def _ends_place(said: _Said, place: int) -> bool:
    """Return whether a place has no noun behind it: "at Moll's on Friday", but not "at Moll's house"."""
    behind = len(said.text) - len(said.text[place:].lstrip())
    return _ENDS_PLACE.match(said.text, place) is not None or any(one.start == behind for one in said.utterance.times)


_OF_A_CALENDAR = r"(?:in|into|on|onto|to)\s+(?:the|my|our)\s+(?:diary|calendar|planner)\b"


def _place_beside_title(plan: Plan, said: _Said) -> Plan:
    """Keep the place that is said between what an event is and the calendar: "put haircut, Mill Lane, in my diary"."""
    places = [k for k, step in enumerate(plan.steps) if step.tool == "add_event"]
    title = plan.steps[places[0]].arguments.get("title") if len(places) == 1 else None
    if not isinstance(title, str) or not title or plan.steps[places[0]].arguments.get(_PLACE):
        return plan
    beside = rf"(?<!\w){re.escape(title)}\s*,\s*(?:at\s+)?(?P<place>[^,;:.?!]{{2,60}}?)\s*,?\s+{_OF_A_CALENDAR}"
    found = re.search(beside, said.text, re.IGNORECASE)
    if found is None or re.search(r"\b(?:and|with|for|from|then)\b", found["place"], re.IGNORECASE) is not None:
        return plan
    start, end = found.span("place")
    slots = [slot for slot in said.utterance.slots if slot.start < end and slot.end > start]
    is_name = len(found["place"].split()) > 1 or found["place"][:1].isupper()
    if not is_name or any(slot.kind in ("time", "duration", "person") for slot in slots):
        return plan
    steps = list(plan.steps)
    steps[places[0]] = replace(steps[places[0]], arguments={**steps[places[0]].arguments, _PLACE: found["place"]})
    return _with_steps(plan, steps)


_FULL_NAME = re.compile(r"(?<![\w'’])[^\W\d_a-z][\w'’-]+(?:\s+[^\W\d_a-z][\w'’-]+)+")
_PLACED = r"\b(?:in|at|from|of|near|by|for|with|to|on)\s+(?:the\s+)?"
"""What stands before a place or a firm, which is nobody's name: "leon, lives in Berlin Mitte"."""
_NO_NAMES = frozenset(("number", "phone", "mobile", "contact", "card", "email", "mail", "address", "person", "new"))


def _contact_as_named(plan: Plan, said: _Said) -> Plan | Refusal:
    """Call a new contact by the one full name that is said, where a part of it was taken or what it is beside: "new
    number, Nuala Grace the physio"; ask for the name where only "number" was."""
    steps = list(plan.steps)
    for k, step in enumerate(steps):
        name = step.arguments.get("name")
        if step.tool != "add_contact" or not isinstance(name, str):
            continue
        full = {found[0] for found in _FULL_NAME.finditer(said.text) if found.start() or name in found[0]}
        one = re.sub(r"['’]s\Z", "", full.pop()) if len(full) == 1 else ""
        is_more = re.fullmatch(rf"{re.escape(one)}\s+(?:the|my|our)\s.*", name, re.IGNORECASE) is not None
        is_other = name not in said.text and bool(set(name.split()) & set(one.split()))  # another Brandt
        is_part = {*name.casefold().split()} <= {*one.casefold().split(), *_NO_NAMES}
        is_part |= name.islower() and not re.search(rf"{_PLACED}{re.escape(one)}", said.text, re.IGNORECASE)
        if one and one != name and (is_part or is_more or is_other):
            steps[k] = replace(step, arguments={**step.arguments, "name": one})
        elif set(name.lower().split()) <= _NO_NAMES:
            return Refusal("needs", "What is their name?", ("add_contact.name",), planner=plan.planner)
    return _with_steps(plan, steps)


_ADD_TO_LIST = "add_to_list"


_REMINDED_TO = re.compile(r"\bremind(?:er)?\b[^,;:.?!]*?\bto\s+(?=\w)", re.IGNORECASE)
"""What stands before the deed of a reminder."""
_PARTED = re.compile(r"[,;:.?!]|\b(?:and|or|then)\b", re.IGNORECASE)
_MOST_LOST = 4
"""Words of a deed that may be missing before what was taken of it."""


def _whole_deed(plan: Plan, said: _Said) -> Plan:
    """Keep a reminder's deed from its first word on: of "remind me friday to send Ana the photos" not "the photos"."""
    steps = list(plan.steps)
    begun = _REMINDED_TO.search(said.text)
    for k, step in enumerate(steps):
        text = step.arguments.get("text")
        if step.tool != "add_reminder" or not isinstance(text, str) or begun is None:
            continue
        place = said.text.find(text, begun.end())
        lost = said.text[begun.end() : place] if place > 0 else ""
        if lost.strip() and len(lost.split()) <= _MOST_LOST and not _PARTED.search(lost) and not said.times(lost):
            steps[k] = replace(step, arguments={**step.arguments, "text": f"{lost}{text}"})
    return _with_steps(plan, steps)


def _whole_items(plan: Plan, said: _Said) -> Plan:
    """Keep whom or what a thing is for, said between it and the list: "add socks for the scouts to errands"."""
    steps = list(plan.steps)
    for k, step in enumerate(steps):
        items, called = step.arguments.get("items"), step.arguments.get("list")
        if step.tool != _ADD_TO_LIST or not isinstance(items, list) or not isinstance(called, str):
            continue
        if not items or not isinstance(items[-1], str):
            continue
        name = re.sub(r"\s+list\Z", "", called, flags=re.IGNORECASE)
        ends = rf"\s+(?:to|on|onto|in|into)\s+(?:(?:the|my|our)\s+)?{re.escape(name)}\b"
        whole = rf"(?<!\w)(?P<item>{re.escape(items[-1])}\s+for\s+[^,;:.?!]{{2,60}}?){ends}"
        found = re.search(whole, said.text, re.IGNORECASE)
        if found is None or re.search(r"\b(?:and|to|on)\b", found["item"][len(items[-1]) :], re.IGNORECASE) is not None:
            continue
        if not said.times(found["item"]):
            steps[k] = replace(step, arguments={**step.arguments, "items": [*items[:-1], found["item"]]})
    return _with_steps(plan, steps)


# ── Contacts ──────────────────────────────────────────────────────────────────────────────────────────────

_ADD_CONTACT, _CHANGE_CONTACT = "add_contact", "change_contact"
_CONTACT_SAID = re.compile(
    r"\W*(?:(?:please|pls|can\s+you|could\s+you|ok|okay|and)[\s,]+)*(?:(?:add|save|store|create|make|put(?:\s+in)?)\s+)?"
    r"(?:(?:an?|another|this)\s+)?(?:new\s+)?(?:(?:contact|person|card|number|phone|mobile)\b(?:\s+(?:please|pls|for\s+me))*\s*[,:–-]?\s*"
    r"(?:(?:for|called|named)\s+)?)?(?P<name>[^\W\d_][^,;:\d@()]{0,59}?)\s*,",
    re.IGNORECASE,
)
"""Begins with whom the contacts are to have, before what is said of them."""
_SAYS_NEW = re.compile(r"\b(?:new|another|second|different|other)\b", re.IGNORECASE)


def _first_named(plan: Plan, said: _Said) -> Plan:
    """Mend the name of a new contact that was taken from what is said of them: of "new contact, Nele Busch, dog sitter,
    0151 5550123" it is the first."""
    places = [k for k, step in enumerate(plan.steps) if step.tool == _ADD_CONTACT]
    first = _CONTACT_SAID.match(said.text)
    if len(places) != 1 or first is None:
        return plan
    step, name = plan.steps[places[0]], first["name"]
    taken = step.arguments.get("name")
    if not isinstance(taken, str) or taken.casefold() not in said.text.casefold():
        return plan
    if "," in taken:  # "Busch, Nele" is a name as well
        is_of_more = taken.casefold().startswith(f"{name.casefold()},") and len(name.split()) > 1
    else:
        is_of_more = taken.casefold() in said.text[first.end() :].casefold()
        is_of_more = is_of_more and taken.casefold() not in name.casefold()
        is_of_more = is_of_more or set(taken.lower().split()) <= _NO_NAMES
    if not is_of_more or len(name.split()) > _MOST_NAMES:
        return plan
    steps = list(plan.steps)
    steps[places[0]] = replace(step, arguments={**step.arguments, "name": name})
    left = tuple(words for words in plan.unserved if words.casefold() != name.casefold())
    return replace(_with_steps(plan, steps), unserved=left)


_MOST_NAMES = 5


def _not_added_again(plan: Plan, said: _Said) -> Plan:
    """Look up who would be added to the contacts by a name alone and is there already, unless the request says that it
    is somebody new. With a number or an address it may be another of that name."""
    if _FIND not in said.tools or _SAYS_NEW.search(said.text) is not None:
        return plan
    steps = list(plan.steps)
    for k, step in enumerate(steps):
        name = step.arguments.get("name")
        has_more = any(value for key, value in step.arguments.items() if key != "name")
        if step.tool == _ADD_CONTACT and isinstance(name, str) and said.is_person(name) and not has_more:
            steps[k] = replace(step, tool=_FIND, arguments={"name": name})
    return _with_steps(plan, steps)


_INVITED = re.compile(
    r"\binvit(?:e|ing)\s+(?P<who>[^,;:.?!]{3,120}?)(?P<by>\s+by\s+e?-?mail\b)?\s*(?:[,;:.?!]|\Z)", re.I
)


def _all_invited(plan: Plan, said: _Said) -> Plan:
    """Let all take part in a new event who are invited in a row, and leave open that they are written to: "invite Kim
    and Jo by mail"."""
    places = [k for k, step in enumerate(plan.steps) if step.tool == "add_event"]
    invited = _INVITED.search(said.text)
    attendees = plan.steps[places[0]].arguments.get("attendees") if len(places) == 1 else None
    if invited is None or not isinstance(attendees, list) or _FIND not in said.tools:
        return plan
    place, row = places[0], re.split(r"\s*(?:\band\b|&)\s*", invited["who"].casefold())
    further = [words for words in plan.unserved if words.casefold() in row and said.is_person(words)]
    n = len(further)
    at = {k: k if k < place else k + n for k in range(len(plan.steps))}
    moved = [renumbered(step, at) for step in plan.steps]
    taking_part: list[Argument] = [*attendees, *(Ref(place + k, ("email",)) for k in range(n))]
    event = replace(moved[place], arguments={**moved[place].arguments, "attendees": taking_part})
    looked_up = [Step(_FIND, {"name": words}) for words in further]
    steps = [*moved[:place], *looked_up, event, *moved[place + 1 :]]
    left = [words for words in plan.unserved if words not in further]
    if invited["by"] and not any(step.tool == _DRAFT for step in plan.steps):
        left.append(invited["by"].strip())
    return replace(_with_steps(plan, steps), unserved=tuple(left))


def _with_steps(plan: Plan, steps: Sequence[Step]) -> Plan:
    return plan if tuple(steps) == plan.steps else replace(plan, steps=tuple(steps))


_Mend = Callable[[Plan, _Said], Plan | Refusal]

_MENDS: tuple[_Mend, ...] = (
    _not_the_opposite,
    _counted_back,
    _as_change,
    _in_said_direction,
    _in_said_room,
    _with_length,
    _then_alone,
    _of_found_length,
    _open_end,
    _of_said_date,
    _named_mail,
    _unread_as_said,
    _with_words,
    _without_frame,
    _as_often_as_said,
    _place_as_said,
    _place_beside_title,
    _whole_items,
    _whole_deed,
    _first_named,
    _contact_as_named,
    _not_added_again,
    _all_invited,
    _not_on_another_day,
    _wish_of_its_day,
)


# ── Amended steps ─────────────────────────────────────────────────────────────────────────────────────────
# Amends a plan's steps by what its request says of them: one for each of several, the words told, what is added.
#
# "every Monday and Thursday" repeats on both days, "tell Ivy that she can come" writes "you can come" to Ivy, and a
# reminder or further recipients that were asked for beside a request (`language.discourse`) are added, the reminders
# of days whose events are listed, and the events between free hours.

# ── Each of several ─────────────────────────────────────────────────────────────────────────────────────
# Does with each what is said of several: "every Monday and Thursday", "at 6 and at 6:15", "the hall lamp and the fan".
#
# A tool repeats on one day of the week, or on all weekdays or weekends; a planner takes the first of several days, or
# every day, and a row of devices for one name, or its first member for all. Covered: repetitions by days of the week in
# a plan whose steps stand alone; clock times in a row for one deed; known devices in a row. Not covered: "Monday to
# Friday" of one week, every other week on several days, rooms or kinds in a row ("the lights in the hall and the
# kitchen").


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
# What the words say `language.discourse.relative_anchors` reads; what is written is shown before it is sent.


_SPOKEN = 0.9
"""Chance that what is told in direct speech is to be written so: what is written is shown."""
_TOLD_BY = {"draft_mail", "draft_reply", "draft_forward"}
_TELLS = re.compile(r"(?:tell|ask|let|inform|notify|text|message|e-?mail|mail|write\s+to)\s+", re.IGNORECASE)
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


def _may_be_speech(found: Plan | Refusal, told: Told) -> bool:
    """Return whether what was found leaves it open that the whole text is told: it writes another, or nothing. Who is
    asked for a file is sent none, and whose card alone would be shown is asked."""
    if isinstance(found, Refusal):
        return found.kind == "out_of_scope" and found.planner != OWNERS_WORD
    if told.is_asked and len(found.steps) == 1 and found.steps[0].tool == _FIND and not is_taught(found):
        return found.steps[0].arguments.get("name") == told.name
    writing = [step for step in found.steps if step.tool == _DRAFT]
    if len(writing) != 1 or _TOLD_BY & {step.tool for step in found.steps} != {_DRAFT}:
        return False
    text, has_files = writing[0].arguments.get("text"), bool(writing[0].arguments.get("attachments"))
    if told.is_asked:
        is_part = isinstance(text, str) and {*words_in_text(text)} < {*words_in_text(told.text)}
        return has_files or is_part
    return text != told.text and not has_files


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
    if not (_may_be_reply(found) if told.is_reply else _may_be_speech(found, told)):
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


def with_deeds_in_words(plan: Plan, said: Utterance) -> Plan:
    """Return the plan whose mails tell what it does in a sentence, not by the fields of what was made: "book it and
    email him that it's on"."""
    steps = list(plan.steps)
    for k, step in enumerate(steps):
        ref = step.arguments.get("text")
        if step.tool not in _TOLD_BY or not isinstance(ref, Ref) or ref.path:
            continue
        whom = " ".join(str(steps[one.step].arguments.get("name", "")) for one in step.refs() if one != ref).strip()
        if told := said_of_step(plan, ref.step, said.text, whom):
            after = tuple(dict.fromkeys((*step.after, ref.step)))
            steps[k] = replace(step, arguments={**step.arguments, "text": told}, after=after)
    return replace(plan, steps=tuple(steps))


def without_echoes(plan: Plan, tools: Mapping[str, ToolSpec]) -> Plan:
    """Return the plan without steps that add once more what another step of it adds: an event whose title is all of
    the event just added. The same where another step needs one of them."""
    echoes = {k for k, step in enumerate(plan.steps) if _is_echo(step, plan.steps)}
    kept = [k for k in range(len(plan.steps)) if k not in echoes]
    if not echoes or any(plan.steps[k].needs() & echoes for k in kept):
        return plan
    at = {k: place for place, k in enumerate(kept)}
    try:
        return check_plan(replace(plan, steps=tuple(renumbered(plan.steps[k], at) for k in kept)), tools)
    except PlanError:
        return plan


def _is_echo(step: Step, steps: Sequence[Step]) -> bool:
    title = step.arguments.get("title")
    return step.tool == _EVENT and isinstance(title, Ref) and not title.path and steps[title.step].tool == _EVENT


def with_put_in(plan: Plan, put: PutIn, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Return the plan of a request that ends in "and put it in my calendar": the plan itself where it adds an event;
    where it writes one mail, with an event of what is written; where its day is open, with these words left undone.
    None where it does something else."""
    if any(step.tool == _EVENT for step in plan.steps):
        return plan
    texts = [step.arguments.get("text") for step in plan.steps if step.tool in _TOLD_BY]
    if len(texts) != 1 or not isinstance(texts[0], str):
        return None
    if put.day is None or _EVENT not in tools:
        return replace(plan, unserved=(*plan.unserved, put.text))
    event: dict[str, Argument] = {"title": texts[0], "start": str(put.day.views["start"])}
    if isinstance(end := put.day.views.get("end"), str):
        event["end"] = end
    try:
        return check_plan(replace(plan, steps=(*plan.steps, Step(_EVENT, event, text=put.text))), tools)
    except PlanError:
        return replace(plan, unserved=(*plan.unserved, put.text))


def swallowed(plan: Plan, said: Utterance) -> tuple[str, str] | None:
    """Return what is written to one person and what is asked for besides, where a mail's text holds both, though they
    are acts of their own: "tell Ida I'm fine and ask Ben if he comes". None where no text does."""
    writing = [step.arguments.get("text") for step in plan.steps if step.tool in _TOLD_BY]
    if len(writing) != 1 or not isinstance(writing[0], str) or plan.unserved or is_taught(plan):
        return None
    for act in said.acts[1:]:
        told = _TELLS.match(act.text)
        named = {slot.start for slot in act.slots if slot.kind == "person"}
        if told is not None and act.start + told.end() in named and act.text.rstrip(" .!?") in writing[0]:
            return said.text[: act.start].rstrip(" ,;&").removesuffix(" and"), said.text[act.start :]
    return None


def joined(first: Plan, then: Plan, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Return one plan of two, of the confidence of the less sure one; None where they do not fit together."""
    steps = (*first.steps, *shifted(then.steps, len(first.steps)))
    rests = tuple(dict.fromkeys((*first.rests_on, *then.rests_on)))
    unserved, sure = (*first.unserved, *then.unserved), min(first.confidence, then.confidence)
    try:
        return check_plan(replace(first, steps=steps, unserved=unserved, rests_on=rests, confidence=sure), tools)
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


_HALF_A_DAY = dt.timedelta(hours=12)
_SAYS_WHICH_HALF = re.compile(
    r"\b(?:[\d.:\s]*[ap]\.?m\b|0\d|1[3-9]|2[0-4]|00|noon|midday|midnight|morning|afternoon|evening|night|tonight|lunch\w*)",
    re.IGNORECASE,
)


def in_the_other_half(plan: Plan, request: Utterance, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Return the look-up of an hour's events twelve hours later or earlier, where the clock time that is said may mean
    that one, too: "what's on at 7"; None where the words say which half of the day, or anything else is planned."""
    if [step.tool for step in plan.steps] != [_EVENTS]:
        return None
    (step,) = plan.steps
    start, end = step.arguments.get("start"), step.arguments.get("end")
    slots = [slot for slot in request.times if "time" in slot.views and slot.views.get("start") == start]
    if not isinstance(start, str) or not isinstance(end, str) or len(slots) != 1 or _seconds(start, end) > 3600:
        return None
    if _SAYS_WHICH_HALF.search(request.text) is not None:
        return None
    first, last = dt.datetime.fromisoformat(start), dt.datetime.fromisoformat(end)
    other = _HALF_A_DAY if first.hour < 12 else -_HALF_A_DAY
    span = {"start": (first + other).isoformat(), "end": (last + other).isoformat()}
    return check_plan(_with_steps(plan, [replace(step, arguments={**step.arguments, **span})]), tools)


_FREE = "find_free_time"
_IF_FREE = re.compile(
    r"\s*(?:(?:so|and|ok|okay|hey|hi|please|quick|tell me if|check if|check whether)\b[\s,:]*)*"
    r"(?:(?:am|are|is|do|does|have|would|could|can|might|will)\b(?!\s+(?:you|u)\b)|i am\b|i['’]?m\b)"
    r"(?!.*\b(?:when|how|which|where)\b)",
    re.IGNORECASE,
)
_NOT_FREE = re.compile(
    r"\b(?:busy|booked|tied\s+up|occupied|taken|full|jammed|flat\s+out|engaged|anything|something|plans?|clash\w*)\b",
    re.IGNORECASE,
)
_OF_ONESELF = re.compile(
    r"\b(?:i|we|i['’]?m|me|us)\b|\b(?:is|are|would|will|does|do|can|could|might)\s+(?:there|(?:this|next|on|the)\s+(?=\w*day|\d|week|morning|after|even)"
    r"|\w+day|today|tomorrow|tonight|\d|noon|half|quarter|midday)",
    re.IGNORECASE,
)
"""Somebody's own hours are asked about, or hours."""
_OTHERWISE_FREE = re.compile(r"\bnot\b|n['’]t\b|\bcant\b|\boff\b|\breason\b", re.IGNORECASE)
"""A question that yes or no would turn around."""
_SAYS_FREE = re.compile(r"\b(?:free|available|time|room|space|gap|slot|open|clear)\b", re.IGNORECASE)


def whether_free(plan: Plan, text: str, results: Sequence[StepResult], now: dt.datetime) -> str:
    """Return the yes or no to whether hours of one day are free, from the free ones that were found; empty where
    nothing such is asked. Hours that are free in part are told so."""
    tools = [step.tool for step in plan.steps]
    given = plan.steps[0].arguments if plan.steps else {}
    start, end = given.get("start"), given.get("end")
    found = next((result.value for result in results if result.step == 0 and result.status == "done"), None)
    if tools[:1] != [_FREE] or any(tool != _EVENTS for tool in tools[1:]) or not isinstance(found, list):
        return ""
    if not isinstance(start, str) or not isinstance(end, str) or not _asks_if_free(text, has_length="length" in given):
        return ""
    slots = [(_moment(one, "start"), _moment(one, "end")) for one in found if isinstance(one, Mapping)]
    if "length" in given:
        return "Yes, there is time for that." if slots else "No, there is no time for that."
    first, last = dt.datetime.fromisoformat(start), dt.datetime.fromisoformat(end)
    return _free_between(first, last, slots, now, is_of_busy=_NOT_FREE.search(text) is not None)


_PART = r"(?P<part>morning|afternoon|evening|night|day)"
_I_AM = r"(?:(?:i|we)\s+(?:am|are)|i['’]?m|we['’]?re|am\s+i|are\s+we)"
_NEXT_FREE = tuple(
    re.compile(rf"\s*(?:(?:so|and|ok|okay|hey|please|can\s+you)\b[\s,]*)*{form}[\s?.!]*", re.IGNORECASE)
    for form in (
        r"(?:(?:when|what|which)(?:['’]?s|\s+is|\s+will\s+be|\s+do\s+(?:i|we)\s+have)?\s+|"
        rf"(?:find|show|tell|give)\s+(?:me\s+|us\s+)?(?:when\s+)?)?(?:(?:my|our|the)\s+)?next\s+free\s+{_PART}(?:\s+is)?",
        r"(?:when|what|which)(?:['’]?s|\s+is)?\s+(?:my\s+|our\s+|the\s+)?next\s+"
        rf"{_PART}\s+(?:(?:that|when)\s+)?{_I_AM}\s+(?:free|available)",
        rf"(?:which|what)\s+{_PART}\s+{_I_AM}\s+(?:next\s+(?:free|available)|(?:free|available)\s+next)",
        rf"when\s+(?:do|will)\s+(?:i|we)\s+next\s+(?:have|get)\s+an?\s+(?:free|empty)\s+{_PART}",
        rf"when\s+(?:do|will)\s+(?:i|we)\s+(?:have|get)\s+an?\s+(?:free|empty)\s+{_PART}\s+next",
    )
)
_HOURS_OF = {"morning": (8, 12), "afternoon": (12, 18), "evening": (18, 22), "night": (18, 22), "day": (8, 22)}
_DAYS_AHEAD = 28


def asked_next_free(request: Utterance, found: Plan | Refusal, tools: Tools) -> tuple[Step, str] | None:
    """Return what to look up to know the next evening, say, that is free as a whole, and which part of a day is asked
    for; None where none is, or what was found changes something."""
    if _FREE not in tools or (isinstance(found, Plan) and (is_taught(found) or not only_reads(found, tools))):
        return None
    asked = next((match for form in _NEXT_FREE if (match := form.fullmatch(request.text)) is not None), None)
    if asked is None:
        return None
    part = asked["part"].lower()
    first, last = _HOURS_OF[part]
    end = (request.now + dt.timedelta(days=_DAYS_AHEAD)).replace(hour=0, minute=0, second=0, microsecond=0)
    start, length = request.now.replace(microsecond=0).isoformat(), f"PT{last - first}H"
    return Step(_FREE, {"start": start, "end": end.isoformat(), "length": length}), part


def next_free(
    part: str, slots: Sequence[object], now: dt.datetime, found: Plan | Refusal, tools: Tools
) -> Plan | Refusal:
    """Return the plan that tells of the first of the free times which hold that part of a day as a whole; a refusal
    where none does."""
    first, last = _HOURS_OF[part]
    for one in slots:
        begins, ends = (_moment(one, "start"), _moment(one, "end")) if isinstance(one, Mapping) else (now, now)
        start, end = (begins.replace(hour=hour, minute=0, second=0, microsecond=0) for hour in (first, last))
        if begins <= start and end <= ends and start > now:
            step = Step(_FREE, {"start": start.isoformat(), "end": end.isoformat()})
            return check_plan(Plan((step,), confidence=1.0, planner=found.planner), tools)
    return Refusal("out_of_scope", f"No {part} of the next four weeks is free as a whole.", planner=found.planner)


def _asks_if_free(text: str, *, has_length: bool) -> bool:
    """Return whether a text asks whether one's own hours are free or taken, not both, and not the other way round."""
    if _IF_FREE.match(text) is None or _OF_ONESELF.search(text) is None or _OTHERWISE_FREE.search(text) is not None:
        return False
    return _NOT_FREE.search(text) is None or (_SAYS_FREE.search(text) is None and not has_length)


def _free_between(
    first: dt.datetime,
    last: dt.datetime,
    slots: Sequence[tuple[dt.datetime, dt.datetime]],
    now: dt.datetime,
    *,
    is_of_busy: bool,
) -> str:
    """Return the yes or no to whether a moment or hours of one day are free, from the free ones in them."""
    if last - first > dt.timedelta(hours=25):
        return ""
    is_moment = last - first <= _A_MOMENT
    if not slots or (is_moment and slots[0][0] > max(first, now)):  # free a little later
        return "Yes, you are busy then." if is_of_busy else "No, you are not free then."
    asked = sum(
        (closes - max(opens, now) for opens, closes in hours_asked(first, last) if closes > now), dt.timedelta()
    )
    if not is_moment and sum((until - since for since, until in slots), dt.timedelta()) < asked:
        return "Partly: you are free for some of it."
    return "No, you are free then." if is_of_busy else "Yes, you are free then."


_OF_CARD = (
    ("birthday", "birthday", re.compile(r"\b(?:birthday|b-?day|born|birth)\b", re.IGNORECASE)),
    ("email", "e-mail address", re.compile(r"\be-?mail\b", re.IGNORECASE)),
    ("phone", "phone number", re.compile(r"\b(?:phone|telephone|mobile|tel|cell)\b", re.IGNORECASE)),
    (
        "address",
        "address",
        re.compile(r"\b(?<!mail )address\b|\bpost\s?code\b|\bstreet\b|\bwhere .*\blives?\b", re.IGNORECASE),
    ),
)
"""Values of a contact, what each is called, and the words that ask for it."""
_ASKS_OF_CARD = re.compile(
    r"\s*(?:(?:and|so|ok|okay|hey|hi|please|tell me|do you know|can you tell me)\b[\s,]*)*"
    r"(?:what|which|when|where|how|who|do|does|has|have|is|got)",
    re.IGNORECASE,
)


def lacking_on_card(plan: Plan, text: str, results: Sequence[StepResult], known: Collection[str] = ()) -> str:
    """Return that the card which was looked up has not the one value that a question asks for; empty where it has, or
    anything else is asked or told.

    Args:
        known: Values that the card has although the contact does not show them: a birthday without its year.
    """
    asked = [(field, called) for field, called, words in _OF_CARD if words.search(text) is not None]
    if [step.tool for step in plan.steps][:1] != [_WHOM] or plan.unserved or len(asked) != 1:
        return ""
    if any(step.tool not in (_WHOM, "find_answer") for step in plan.steps) or _ASKS_OF_CARD.match(text) is None:
        return ""
    card = next((result.value for result in results if result.step == 0 and result.status == "done"), None)
    field, called = asked[0]
    if not isinstance(card, Mapping) or field not in card or card[field] or field in known:
        return ""
    return f"The card of {card.get('name')} has no {called}."


def _moment(record: Mapping[str, object], name: str) -> dt.datetime:
    return dt.datetime.fromisoformat(str(record[name]))


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


# ── Clarification ─────────────────────────────────────────────────────────────────────────────────────────
# Asks the owner for missing values, and says what for; asks which of two values that were said.

_QUESTIONS = {
    "datetime": "When?",
    "date": "Which day?",
    "time": "At what time?",
    "duration": "How long?",
    "number": "How much?",
    "integer": "How many?",
    "PersonName": "Who?",
    "EmailAddress": "To which e-mail address?",
    "PhoneNumber": "Which phone number?",
    "FilePath": "Which file?",
    "Url": "Which web address?",
}


def question_about(missing: Sequence[tuple[str, str]], tools: Mapping[str, ToolSpec]) -> str:
    """Return a short question for each missing value, and what it is needed for.

    Args:
        missing: Tool and parameter of each, at least one; those beyond the second are not asked for yet.
    """
    questions = [_question(tools[tool].parameter(name), name) for tool, name in missing[:2]]
    return f"{' '.join(dict.fromkeys(questions))} I need to know that to {_in_words(missing[0][0])}."


def _question(parameter: Parameter | None, name: str) -> str:
    """Ask for one value: by its type, else by what its description says of it."""
    said = name.replace("_", " ")
    if parameter is None:
        return f"What is the {said}?"
    kind = canonical(parameter.type).removeprefix("list[").removesuffix("]")
    if kind in _QUESTIONS:
        return _WHERE_TO if kind == "FilePath" and name == "to" else _QUESTIONS[kind]
    if name == "query":
        return "What should I look for?"
    if kind.endswith("Id"):
        return f"Which {_spaced(kind.removesuffix('Id'))}?"
    what = re.split(r"\.(?!g\.)|[;:(,]|\be\.g\.", parameter.description)[0].strip().replace("the owner's", "your")
    for pattern, question in _AS_QUESTIONS:
        if (found := re.fullmatch(pattern, what, re.IGNORECASE)) is not None:
            return found.expand(question)
    if re.match(r"(?:wh|how\b|in\b|to\b)", what, re.IGNORECASE):
        return f"Which {said}?" if what.lower() == "which" else f"{what}?"
    is_named = re.match(r"(?:the|its|your)\b", what, re.IGNORECASE)
    return f"What is {what[:1].lower()}{what[1:]}?" if is_named else f"What is the {said}?"


_WHERE_TO = "Where to?"
_AS_QUESTIONS = (
    (r"what to be (.+)", r"What should you be \1?"),
    (r"what to (.+)", r"What should I \1?"),
    (r"(what|where|when|who) (it|they) (is|are)", r"\1 \3 \2?"),
    (r"what (the \w+) says", r"What should \1 say?"),
    (r"what is noted", r"What should I note?"),
    (r"words of what is looked for", r"What should I look for?"),
    (r"the (\w+) it is (.+)", r"What \1 is it \2?"),
    (r"the (\w+) wanted", r"What \1 do you want?"),
)
"""Forms of descriptions, and the question that each is said as."""


def _spaced(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def either_asked(request: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> Refusal | None:
    """Return the question which of two values is meant, where a change would take one: "set the heating to 21 or 23".

    None where `found` takes neither: a text may hold both.
    """
    if isinstance(found, Refusal) or " or " not in request.text.lower():
        return None
    if (person := _which_person(request, found, tools)) is not None:
        return person
    pair = request.alternatives
    if pair is None:
        return None
    values = {value for slot in pair for value in slot.views.values() if not isinstance(value, list | dict | bool)}
    for step in found.steps:
        for name, value in step.arguments.items() if tools[step.tool].effect != "none" else ():
            if not isinstance(value, list | Ref) and value in values:
                reason = f"{pair[0].text} or {pair[1].text}? I need to know that to {_in_words(step.tool)}."
                return Refusal("needs", reason, (f"{step.tool}.{name}",), planner=found.planner)
    return None


_WHOM = "find_contact"


def _which_person(request: Utterance, found: Plan, tools: Mapping[str, ToolSpec]) -> Refusal | None:
    """Return the question whom something is sent to, where the choice is left between several: "ask Joe or Martin"."""
    row = request.people_left_open
    if row is None:
        return None
    named = {name.casefold() for name in (*row.said, *row.names)}
    for step in found.steps if tools.keys() >= {step.tool for step in found.steps} else ():
        looked = [found.steps[ref.step] for ref in step.refs() if tools[step.tool].effect != "none"]
        names = {str(one.arguments.get("name")).casefold() for one in looked if one.tool == _WHOM}
        if names & named and names <= named:
            either = f"{', '.join(row.said[:-1])} or {row.said[-1]}"
            reason = f"{either}? I need to know that to {_in_words(step.tool)}."
            return Refusal("needs", reason, (f"{_WHOM}.name",), planner=found.planner)
    return None


_UNITS = {"daily": "days", "weekly": "weeks", "monthly": "months", "yearly": "years"}


def nearest_rhythm(request: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> str:
    """Return why nothing was planned for a rhythm that no tool keeps, with the nearest; empty for any other reason."""
    if isinstance(found, Plan) or found.kind != "out_of_scope":
        return ""
    enums = [p.enum for spec in tools.values() for p in spec.parameters if p.name == _REPEAT and p.enum]
    for slot in request.slots:
        every, units = slot.views.get("repeat_every"), _UNITS.get(str(slot.views.get(_REPEAT)))
        if not isinstance(every, int) or units is None or not enums or f"every {every} {units}" in enums[0]:
            continue
        kept = sorted(int(one.split()[1]) for one in map(str, enums[0]) if re.fullmatch(rf"every \d+ {units}", one))
        near = [*[n for n in kept if n < every][-1:], *[n for n in kept if n > every][:1]]
        named = " and ".join(f"every {n} {units}" for n in near) or str(slot.views[_REPEAT])
        return f"I can't repeat anything every {every} {units}; the nearest I can do: {named}."
    return ""


_PURPOSES = {
    "time_until": "count the days",
    "mark_read": "mark it as read",
    "draft_forward": "pass a mail on",
    "search_memory": "search your memory",
    "device_state": "say how it is",
}
"""What tools do whose names are no verb with its object."""


def _in_words(tool: str) -> str:
    """Return `add_reminder` as `add a reminder`."""
    if tool in _PURPOSES:
        return _PURPOSES[tool]
    verb, _, rest = tool.partition("_")
    if (place := re.fullmatch(r"(to|from)_(\w+)", rest)) is not None:
        return f"{verb} {place[1]} a {place[2]}"
    if not rest or rest in ("on", "off", "up", "down") or "_" in rest or rest.endswith("s") or rest == "time":
        return tool.replace("_", " ")
    return f"{verb} {'an' if rest[0] in 'aeiou' else 'a'} {rest}"
