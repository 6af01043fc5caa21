"""Holds what a plan does against the words of its request: "turn the heating up by 2" lowers nothing.

A planner fills a plan by the likeness of whole requests, so a value may say the opposite of the one word that decides.
What the words settle is put right; what no tool can do in this way is refused, with the reason, instead of the nearest
deed. Each rule below is a class of such faults; plans that the owner taught are never refused.

Covered: directions, the room of devices meant together, stretches without a length, questions about past deeds, parts
of contact cards, people of an event, alarms of a house, look-ups of mail without a word, dates asked of the clock,
other people's time, what is to be kept, rhythms that are not said, places called after somebody.
Not covered: which thing is meant where both fit; plans made again after a failed step.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from hearth import patterns as re
from hearth.errors import PlanError
from hearth.formats.plan_validation import check_plan, only_reads
from hearth.language.acts.deeds_said import (
    DOWN,
    UP,
    amount_of_change,
    asked_if_free,
    asks_amount,
    asks_day,
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
from hearth.language.reading import Utterance
from hearth.language.text.tokens import Slot, listed
from hearth.types import Argument, Plan, Ref, Refusal, Request, Step, ToolSpec

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
    """Return the refusal to do again what a question asks about as done: "did I send Priya the quote".

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
    if not asks_past_deed(request.text):
        return None
    acts = [step for step in found.steps if step.tool in tools and tools[step.tool].effect != "none"]
    if all(_DEVICE in step.arguments or step.tool == _REMEMBER for step in acts):
        return None
    return Refusal("out_of_scope", _CANNOT, planner=planner)


def without_contradictions(found: Plan | Refusal, utterance: Utterance, tools: Tools) -> Plan | Refusal:
    """Return the plan with what its request's words settle put right, or the refusal of what it would do instead.

    A question for what a plan lacks is held against the words, too.
    """
    said = _Said(utterance, tools)
    if isinstance(found, Refusal):
        asks_of = {one.partition(".")[0] for one in found.missing}
        reason = _alarm_of_a_house(asks_of, said)
        return Refusal("out_of_scope", reason) if reason else found
    plan = found
    if not is_taught(plan):
        reason = _alarm_of_a_house({step.tool for step in plan.steps}, said)
        for reason_of in (_part_of_a_card, _person_of_an_event, _time_of_others, _at_instead_of_before):
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


def _part_of_a_card(plan: Plan, said: _Said) -> str:
    """Refuse to delete a whole contact where a field of the card is what should go: "delete Joel's old number"."""
    field = card_field_taken(said.text)
    acts = {step.tool for step in plan.steps} & {"delete_contact", "delete_mail"}
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


def _of_found_length(plan: Plan, said: _Said) -> Plan:
    """Mend what begins where a stretch was found and has a length: the end of what was searched is not its end."""
    windows = {step.arguments.get("end") for step in plan.steps if said.tools[step.tool].effect == "none"}
    steps = list(plan.steps)
    for k, step in enumerate(steps):
        arguments = step.arguments
        if isinstance(arguments.get("start"), Ref) and "length" in arguments and arguments.get("end", "") in windows:
            steps[k] = replace(step, arguments={name: value for name, value in arguments.items() if name != "end"})
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


_PLACE = "place"


def _place_as_said(plan: Plan, said: _Said) -> Plan:
    """Mend a place that lost the end of its name: "at Moll's", which is no "Moll"."""
    steps = list(plan.steps)
    for k, step in enumerate(steps):
        place = step.arguments.get(_PLACE)
        if not isinstance(place, str) or not place:
            continue
        owned = re.search(rf"\bat\s+(?P<place>{re.escape(place)}['’]s){_ENDS_PLACE}", said.text, re.IGNORECASE)
        if owned is not None:
            steps[k] = replace(step, arguments={**step.arguments, _PLACE: owned["place"]})
    return _with_steps(plan, steps)


_ENDS_PLACE = r"(?=\s*(?:\Z|[.,;!?])|\s+(?:from|now|instead|on|at|for|with|today|tonight|tomorrow|and|please)\b)"


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
    _of_found_length,
    _of_said_date,
    _named_mail,
    _without_frame,
    _as_often_as_said,
    _place_as_said,
)
