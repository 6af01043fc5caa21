"""Holds what a plan does against the words of its request: "turn the heating up by 2" lowers nothing.

A planner fills a plan by the likeness of whole requests, so a value may say the opposite of the one word that decides.
What the words settle is put right; what no tool can do in this way is refused, with the reason, instead of the nearest
deed. Each rule below is a class of such faults; plans that the owner taught are never refused.

Covered: directions, stretches without a length, questions about past deeds, parts of contact cards, people of an event,
alarms of a house, look-ups of mail without a word, dates asked of the clock, other people's time, what is to be kept,
texts that end at a comma. Not covered: which thing is meant where both fit; plans made again after a failed step.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from hearth import patterns as re
from hearth.errors import PlanError
from hearth.formats.plan_validation import check_plan, only_reads
from hearth.language.reading import Utterance
from hearth.language.temporal.time_words import add_months
from hearth.language.text.tokens import ONES, Slot, listed
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
_AMOUNT = re.compile(r"\s*(?:what(?:['’]?s|\s+is|\s+are)?|how\s+(?:much|many|long))\b", re.IGNORECASE)
_TIMERS = re.compile(r"\b(?:timers?|alarms?|countdown|ring|wake|remind)\b|\babout\b", re.IGNORECASE)
_UNSERVED = re.compile(
    r"\s*(?:(?:please|pls|can\s+you|could\s+you|would\s+you|and|ok|hey)[\s,]+)*"
    r"(?P<deed>archive|unsubscribe|pay|transfer|print|unarchive|pin|mute|block)\s+(?:from\s+\w+|(?:for\s+)?(?:the|my|our|that|this|all|"
    r"those|these|every|any|it|[\w-]+['’]s))\b(?!\s+(?:date|day|deadline|amount)\b)",
    re.IGNORECASE,
)
"""An order for a deed that no look-up is."""


def refused_deed(request: Request, found: Plan | Refusal, tools: Tools, planner: str) -> Refusal | None:
    """Return the refusal to do again what a question asks about as done: "did I send Priya the quote".

    None where `found` stands: it changes nothing, or a device (`asked_states` looks at that), or the words are no such
    question.

    An order that only a look-up was found for is refused, too: "archive the newsletter".

    Args:
        planner: Whose refusal it is to be, so that the question may still be put to the owner's things.
    """
    if isinstance(found, Refusal) or _is_taught(found):
        return None
    if (unserved := _UNSERVED.match(request.text)) is not None and only_reads(found, tools):
        return Refusal("out_of_scope", f"I can't {unserved['deed'].lower()} anything yet, so I did nothing.")
    is_amount = _AMOUNT.match(request.text) is not None and _TIMERS.search(request.text) is None
    if is_amount and {step.tool for step in found.steps} == {_TIMER}:
        return Refusal("out_of_scope", _CANNOT, planner=planner)
    if _PAST_DEED.fullmatch(request.text) is None:
        return None
    if _GOES_ON.search(request.text):
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
    if not _is_taught(plan):
        reason = _alarm_of_a_house({step.tool for step in plan.steps}, said)
        for reason_of in (_part_of_a_card, _person_of_an_event, _time_of_others):
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


def _is_taught(plan: Plan) -> bool:
    return any(id.startswith("owner:") for id in plan.rests_on[:1])


# ── Questions about past deeds ────────────────────────────────────────────────────────────────────────────

_DEVICE, _REMEMBER = "device", "remember"
_PAST_DEED = re.compile(
    r"\s*(?:(?:hey|hi|so|um|wait|hmm|ok|okay|and|sorry)\b[,.…]*\s+)*"
    r"(?:(?:did|didn['’]?t)\s+(?!you\s+know\b)\w|(?:have|haven['’]?t)\s+(?:i|we|they|you)\s+(?!to\b|got\b|a\b|any\b)\w"
    r"|(?:has|hasn['’]?t)\s+\w)[^.;!?]*[?.!\s]*",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"\b(?:if\s+not|otherwise|else|if\s+(?:i|we)\s+(?:have|did)|please|pls|then|remind\s+me)\b"
    r"|\b(?:did|have)\s+(?:i|we)\s+(?:ever\s+)?(?:tell|told|mention|mentioned|say|said)\b(?:\s+to)?\s+(?:you|that)\b",
    re.IGNORECASE,
)
"""An order that goes with the question, or something told in its form: "did I tell you that I'm allergic to nuts"."""


_STATE = "device_state"
_ASKS_STATE = re.compile(
    r"\s*(?:(?:hey|hi|so|um|wait)\b,?\s+)*(?:did|have|has|is|are|was|were)\s+(?:i|we|he|she|they|someone|somebody|anyone|"
    r"anybody|the|my|our|all)\b[^.;!?]*[?.!\s]*",
    re.IGNORECASE,
)


def with_state_asked(plan: Plan, request: Request, tools: Mapping[str, ToolSpec]) -> Plan:
    """Return the plan that looks at the device which a question is about; the same where nothing such is asked."""
    if len(plan.steps) != 1 or _STATE not in tools or _ASKS_STATE.fullmatch(request.text) is None:
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

_TAKES = r"(?:take|remove|delete|erase|clear|wipe|drop|scrap|scratch|strike|cut|kick|pull|get\s+rid\s+of|bin)"
_CARD_FIELD = re.compile(
    rf"\b{_TAKES}\s+(?:(?!(?:contacts?|cards?|entry|entries|from|off|out|of|with|and|on)\b)[\w'’.-]+\s+){{0,5}}?"
    r"(?P<field>numbers?|phone|mobile|cell|e-?mail(?:\s+address)?|address|birthday|postcode)\b"
    r"(?=\s*(?:$|[,.;!?]|\b(?:from|off|out|of|for|on|in|but|and|please|pls|he|she|they)\b))",
    re.IGNORECASE,
)


def _part_of_a_card(plan: Plan, said: _Said) -> str:
    """Refuse to delete a whole contact where a field of the card is what should go: "delete Joel's old number"."""
    found = _CARD_FIELD.search(said.text)
    acts = {step.tool for step in plan.steps} & {"delete_contact", "delete_mail"}
    if (
        found is None
        or not acts
        or (acts == {"delete_mail"} and re.fullmatch("e-?mail", found["field"], re.IGNORECASE))
    ):
        return ""
    return (
        f"I can't take {_with_article(found['field'])} off a contact's card, only put another in its place, "
        "so I left the card as it is."
    )


def _with_article(word: str) -> str:
    return f"{'an' if word[:1].lower() in 'aeiou' else 'a'} {word.lower().rstrip('s') if word[-2:] != 'ss' else word}"


_TAKEN_OUT = re.compile(
    r"\b(?:take|remove|drop|kick|pull|uninvite|disinvite|cut|leave)\s+(?P<who>\S.{0,60}?)\s+(?:out\s+of|off|from)\s+"
    r"(?P<what>\S[^,.;!?]{0,60})",
    re.IGNORECASE,
)
_OF_ALL_EVENTS = re.compile(
    r"\b(?:calendars?|diary|diaries|schedule|agenda|lists?|plans?|planner|timetable|rota|week|month|day)\b",
    re.IGNORECASE,
)
_OF_ALL_CONTACTS = re.compile(r"\b(?:contacts?|book|phone|people|cards?|memory|favou?rites)\b", re.IGNORECASE)


def _person_of_an_event(plan: Plan, said: _Said) -> str:
    """Refuse to cancel an event, or to delete a contact, where somebody should no longer come to it: "take Ana out of
    the lunch", but not "take the dentist off my calendar".
    """
    found, acts = _TAKEN_OUT.search(said.text), {step.tool for step in plan.steps}
    if found is None or not acts & {"cancel_event", "delete_contact"}:
        return ""
    who, what = found["who"].lower(), found["what"].lower()
    is_whole = _OF_ALL_EVENTS if "cancel_event" in acts else _OF_ALL_CONTACTS
    if is_whole.search(what) or any(slot.start == 0 for slot in said.times(found["what"])):
        return ""
    sought = {str(step.arguments["query"]).lower() for step in plan.steps if "query" in step.arguments}
    is_event = any((query in what and query not in who) or what in query for query in sought)
    if "cancel_event" in acts and not is_event and not said.is_person(who):
        return ""
    what = found["what"]
    return f"I can't take somebody out of “{what.strip()}”, so I left everything as it is."


_REMINDS = re.compile(r"\b(?:remind|reminders?|wake)\b", re.IGNORECASE)
_OF_A_HOUSE = re.compile(
    r"(?:\A|[,;]|\b(?:and|then|please|you|pls|just)\b)\s*(?:dis)?arm\b"
    r"|\b(?:security|burglar|intruder|house|home)\s+(?:alarm|system)\b"
    r"|\A\s*(?:please\s+)?(?:put|switch)\s+(?:the\s+)?alarm\s+on[\s.!]*\Z",
    re.IGNORECASE,
)


def _alarm_of_a_house(used: Set[str], said: _Said) -> str:
    """Refuse to touch reminders for the alarm of a house: "arm the alarm", "switch the burglar alarm off"."""
    touches = any("reminder" in tool or tool == "set_timer" for tool in used)
    if not touches or _REMINDS.search(said.text) or _OF_A_HOUSE.search(said.text) is None:
        return ""
    return "I can't set a security alarm; the alarms I know are reminders, and I left those alone."


_FREE = re.compile(
    r"\b(?:is|are|['’]s|will|does|do|if|whether|when\s?s)\s+"
    r"(?P<who>(?:(?!\b(?:is|are|am|there)\b)[\w'’ -]){1,40}?)\s+(?:is\s+|are\s+)?"
    r"(?:both\s+|all\s+|be\s+|also\s+)*(?:free|available|busy|have\s+(?:any\s+)?time)\b",
    re.IGNORECASE,
)
_OTHERS = frozenset(listed("everyone everybody anyone anybody someone somebody he she they"))
_OWNERS = frozenset(listed("i we you it my our the there this that"))
_GROUP = re.compile(r"(?:the|my|our)\s+(?:kids?|children|family|team|others|boys|girls)", re.IGNORECASE)


_WHO_IS_FREE = re.compile(r"\s*who(?:['’]?s|\s+is|\s+else\s+is|\s+all\s+is)\s+(?:free|available)\b", re.IGNORECASE)


def _time_of_others(plan: Plan, said: _Said) -> str:
    """Refuse to tell the owner's own free time for somebody else's: "is Karin free on Friday"."""
    if all(step.tool != "find_free_time" for step in plan.steps):
        return ""
    if _WHO_IS_FREE.match(said.text):
        return "I only see your own calendar, so I can't tell who is free."
    for found in _FREE.finditer(said.text):
        who = found["who"].strip()
        parts = re.split(r"\s+and\s+|,\s*|\s+&\s+", who)
        is_other = _GROUP.match(who) is not None
        for part in parts:
            word = re.split(r"[\s'’]", part.strip())[0]
            is_named = word[:1].isupper() and word.lower() not in _OWNERS and not said.times(part)
            is_other |= word.lower() in _OTHERS or said.is_person(part) or is_named
        if is_other:
            return f"I only see your own calendar, so I can't tell when {who} {_be(who)} free."
    return ""


def _be(who: str) -> str:
    is_many = re.search(r"\band\b|&|\b(?:they|kids|children|others|boys|girls)\b", who, re.IGNORECASE)
    return "are" if is_many else "is"


# ── Directions ────────────────────────────────────────────────────────────────────────────────────────────

_LEVELS = {"set_temperature": "temperature", "set_brightness": "percent", "set_volume": "percent"}
_CHANGE, _UP, _DOWN = "change", "up_by", "down_by"
_CUES = {
    _UP: frozenset(listed("up raise increase more warmer hotter louder brighter higher boost brighten stronger warm")),
    _DOWN: frozenset(
        listed("down lower reduce drop cooler colder quieter softer dimmer dim darker less decrease darken cool")
    ),
}
_WORD = re.compile(r"[^\W\d_]+")
_SPLIT = re.compile(r"[,;.!?]\s+|\b(?:and|then|but|while)\b", re.IGNORECASE)


def _in_said_direction(plan: Plan, said: _Said) -> Plan:
    """Mend a change of a level whose direction is not the only one that the words say."""
    steps = list(plan.steps)
    for k, step in enumerate(steps):
        if step.arguments.get(_CHANGE) in (_UP, _DOWN):
            way = _direction(_clause(step, plan, said.text))
            if way and way != step.arguments[_CHANGE]:
                steps[k] = replace(step, arguments={**step.arguments, _CHANGE: way})
    return _with_steps(plan, steps)


def _direction(words: str) -> str:
    """Return the one direction that words say; empty where they say none or both."""
    said = {word.lower() for word in _WORD.findall(words)}
    ways = [way for way, cues in _CUES.items() if cues & said]
    return ways[0] if len(ways) == 1 else ""


def _clause(step: Step, plan: Plan, text: str) -> str:
    """Return the words that are about a step: all for a plan's only step, else the one clause that names its device."""
    if len(plan.steps) == 1 and not plan.unserved:
        return text
    device = str(step.arguments.get(_DEVICE, "")).lower()
    named = [part for part in _SPLIT.split(text) if device and device in part.lower()]
    return named[0] if len(named) == 1 else ""


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


_BACK = re.compile(
    r"\bremind\s+(?:me|us)\s+(?:(?P<n>an?|one|two|three|four|five|six|\d{1,2})\s+|the\s+)"
    r"(?P<unit>minute|hour|day|week|fortnight|month)s?\s+before\s*[.!]*\s*\Z",
    re.IGNORECASE,
)
_LENGTHS = {
    "minute": dt.timedelta(minutes=1),
    "hour": dt.timedelta(hours=1),
    "day": dt.timedelta(days=1),
    "week": dt.timedelta(days=7),
    "fortnight": dt.timedelta(days=14),
}


def _counted_back(plan: Plan, said: _Said) -> Plan:
    """Set a reminder as long before the day that is said as it is to come: "the pass runs out 31 January, remind me a
    fortnight before" rings on the seventeenth. What would ring in the past stays as it was planned."""
    match = _BACK.search(said.text)
    if match is None or [step.tool for step in plan.steps] != ["add_reminder"]:
        return plan
    (step,) = plan.steps
    at = step.arguments.get("at")
    if not isinstance(at, str) or at not in [slot.views.get("datetime") for slot in said.times(said.text)]:
        return plan
    number = (match["n"] or "a").lower()
    n = int(number) if number.isdecimal() else 1 if number in ("a", "an") else ONES[number]
    moment, unit = dt.datetime.fromisoformat(at), match["unit"].lower()
    zone = said.utterance.now.tzinfo or moment.tzinfo  # the hour stays the hour when the clocks change
    if unit == "month":
        day = add_months(moment.date(), -n)
        earlier = dt.datetime.combine(day, moment.time(), zone)
    else:
        earlier = (moment - n * _LENGTHS[unit]).replace(tzinfo=zone)
    if earlier <= said.utterance.now:
        return plan
    return _with_steps(plan, [replace(step, arguments={**step.arguments, "at": earlier.isoformat()})])


_BY_AMOUNT = re.compile(
    r"\b(?:(?:up|down|drop|raise|lower|reduce|increase|decrease|boost|turn)\b(?:(?!\bto\b)[^,.;!?])*?\bby\s+|(?:up|down)\s+)"
    r"(?:another\s+)?(?P<amount>\d+(?:[.,]\d+)?|[a-z]+)\s*(?:%|degrees?|percent|per\s+cent|points?|°\s*c?)",
    re.IGNORECASE,
)
_WHOLE_LEVEL = frozenset(listed("temperature volume brightness sound heat level"))


def _as_change(plan: Plan, said: _Said) -> Plan:
    """Mend an amount of change that was taken for the level: "turn the temperature down 2 degrees" is not 2 degrees."""
    steps = list(plan.steps)
    for k, step in enumerate(steps):
        level = _LEVELS.get(step.tool)
        if (
            level is None
            or step.arguments.get(_CHANGE) in (_UP, _DOWN)
            or said.tools[step.tool].parameter(_CHANGE) is None
        ):
            continue
        clause = _clause(step, plan, said.text)
        amount, way = _BY_AMOUNT.search(clause), _direction(clause)
        if amount is None or not way or re.search(r"\bto\s+\d", clause):
            continue
        numbers = [slot.views.get("number") for slot in said.utterance.saying(amount[0]).slots]
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


_ASKS_DAY = re.compile(r"\b(?:what|which|when)(?:['’]?s)?\b.*|.*\b(?:what|which)\s+(?:day|date)\b.*", re.IGNORECASE)
_DAY_WORD = re.compile(r"\b(?:day|date)\b|\A\s*when\b", re.IGNORECASE)
_HOURS = re.compile(r"\b(?:time|clock|hour)\b", re.IGNORECASE)


def _of_said_date(plan: Plan, said: _Said) -> Plan:
    """Mend a clock that would tell today where another day is asked for: "what day is the 12th of December"."""
    if (
        [step.tool for step in plan.steps] != ["current_time"]
        or plan.steps[0].arguments
        or "time_until" not in said.tools
    ):
        return plan
    text = said.text
    if _ASKS_DAY.fullmatch(text.strip()) is None or not _DAY_WORD.search(text) or _HOURS.search(text):
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
_MAIL_NAMED = re.compile(
    r"\b(?:all|every|each|any|the|those|these|that|this|my|our|of)\s+(?P<words>(?:(?!\b(?:all|every|each|any|the|those|these|"
    r"that|this|my|our|of|and|from|as)\b)[^,.;!?])*?)\b(?:e-?mails?|mails?|messages?|newsletters?)\b"
    r"(?P<more>\s+(?:from|about|on|re|regarding|with|by)\s+\S)?",
    re.IGNORECASE,
)
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
        named = _MAIL_NAMED.search(said.text)
        if named is None:
            continue
        arguments = _mail_said(named["words"].strip(), said)
        if not arguments and named["more"]:
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

_FRAME_BEFORE = re.compile(
    r"\s*(?:(?:please|pls|hey|ok|okay|can\s+you|could\s+you|would\s+you|also|and)\b,?\s+)*"
    r"(?:(?:remember|(?:keep|bear)\s+in\s+mind|don['’]?t\s+forget|make\s+a\s+mental\s+note|fyi|btw|by\s+the\s+way|"
    r"just\s+so\s+you\s+know)\b(?:\s*[:,–-]\s*|\s+(?:for\s+me\s+)?(?:that\s+(?!['’]?s\b|is\b|was\b|one\b))?|\s*\Z))",
    re.IGNORECASE,
)
_FRAME_AFTER = re.compile(
    r"[\s,.;–-]+(?:(?:so|and|please|pls|can\s+you|could\s+you)\s+)*(?:remember\s+(?:that|this|it)|(?:keep|bear)\s+(?:that|this|it)\s+in\s+mind|(?:keep|hold\s+on\s+to|note)\s+(?:that|this)|"
    r"don['’]?t\s+forget(?:\s+(?:that|this|it))?|btw|by\s+the\s+way|fyi|for\s+me|just\s+so\s+you\s+know)"
    r"(?:[\s,]*(?:please|pls|ok|okay|for\s+me|thanks|thank\s+you))*[\s.!]*\Z",
    re.IGNORECASE,
)


def _without_frame(plan: Plan, said: _Said) -> Plan:
    """Mend what is to be remembered to the whole sentence without the order to remember it."""
    if [step.tool for step in plan.steps] != [_REMEMBER]:
        return plan
    text, has_frame = said.text.strip(), False
    for _ in range(3):
        before, after = _FRAME_BEFORE.match(text), _FRAME_AFTER.search(text)
        if before is None and after is None:
            break
        has_frame = True
        text = text[: after.start()] if after is not None else text
        text = text[before.end() :] if before is not None else text
    kept = plan.steps[0].arguments.get("text")
    text = text.strip(" ,;:").rstrip(".!")
    if not has_frame or not isinstance(kept, str) or len(text.split()) < 2 or text == kept.rstrip(".! "):
        return plan
    if kept.lower() in text.lower() and (plan.unserved or re.search(r"[.!?]\s", text)):
        return plan  # what is left of the request is something else
    if text.lower().startswith(f"{kept.lower()},"):
        return plan  # as a frame may be that is not known here
    return replace(_with_steps(plan, [replace(plan.steps[0], arguments={"text": text})]), unserved=())


_TOLD_BY = frozenset({"draft_mail", "draft_reply"})
_OWN_ORDER = re.compile(r"(?:and\s+)?(?:then|also|remind\s+me|and|please|pls)\b", re.IGNORECASE)


def _whole_message(plan: Plan, said: _Said) -> Plan:
    """Mend a message that ends at a comma where what follows it is part of it: "tell Joel I'm late, start tea"."""
    steps, unserved = list(plan.steps), list(plan.unserved)
    for k, step in enumerate(steps):
        text = step.arguments.get("text")
        start = said.text.find(text) if step.tool in _TOLD_BY and isinstance(text, str) and text else -1
        if start < 0 or not unserved:
            continue
        end = start + len(str(text))
        for left in plan.unserved:
            comma = re.compile(rf"\s*,\s*{re.escape(left.strip())}").match(said.text, end)
            if left in unserved and comma is not None and not _OWN_ORDER.match(left.strip()):
                end = comma.end()
                unserved.remove(left)
        steps[k] = replace(step, arguments={**step.arguments, "text": said.text[start:end]})
    return replace(_with_steps(plan, steps), unserved=tuple(unserved)) if len(unserved) < len(plan.unserved) else plan


def _with_steps(plan: Plan, steps: Sequence[Step]) -> Plan:
    return plan if tuple(steps) == plan.steps else replace(plan, steps=tuple(steps))


_Mend = Callable[[Plan, _Said], Plan | Refusal]
_CLOCK = "current_time"
_WITH_TIMES = frozenset({"next_event", "find_events"})


def _time_of_the_event(plan: Plan, said: _Said) -> Plan:
    """Leave the clock out where it is asked when something is that another step tells: "when is it and what time"."""
    tools = [step.tool for step in plan.steps]
    clocks = [k for k, tool in enumerate(tools) if tool == _CLOCK]
    if len(tools) != 2 or len(clocks) != 1 or _WITH_TIMES.isdisjoint(tools) or re.search(r"\bis\s+it\b", said.text):
        return plan
    kept = [step for step in plan.steps if step.tool != _CLOCK]
    return replace(plan, steps=tuple(kept)) if not any(step.refs() for step in kept) else plan


_MENDS: tuple[_Mend, ...] = (
    _not_the_opposite,
    _counted_back,
    _as_change,
    _in_said_direction,
    _with_length,
    _of_said_date,
    _named_mail,
    _without_frame,
    _whole_message,
    _time_of_the_event,
)
