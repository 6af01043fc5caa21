"""Puts questions to what is outside the owner's things: the recordings of cameras, the calendar that everybody has, and
a cloud that answers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hearth import patterns as re
from hearth.errors import PlanError
from hearth.formats.plan_validation import check_plan
from hearth.language.acts.questions import asked_of
from hearth.language.reading import Utterance
from hearth.language.text.tokens import Slot
from hearth.types import OWNERS_WORD, Argument, Plan, Ref, Refusal, Request, Step, ToolSpec

# ── Home video ──────────────────────────────────────────────────────────────────────────────────────────
# Plans questions on home video by their form: a number for "how many", yes or no for "did anyone", times for "when".
#
# What a question is about recall finds; how its answer is to be put together stands in its form. A list of sightings is
# no answer to "how many", and "what was everybody doing" asks for no activity that happens to be likely.
#
# Covered: who, when, how long, how many, doing what, was anyone there, did anyone do one thing, what went on: of a room
# that has a camera, in the past. Where no such room is named, a plan of recall's is only ended by the form. Not
# covered: alternatives ("standing or walking" is told what was done), comparisons of days, pictures: these are
# recall's.


_FOOTAGE = "footage"
_COUNT, _CHECK, _ADD_UP = "count_people", "check_activity", "measure_presence"
_FIND, _SEE, _KNOW, _DO, _TELL = (
    "find_video",
    "detect_people",
    "identify_people",
    "recognise_activity",
    "describe_period",
)
FOOTAGE_TOOLS = frozenset((_FIND, _SEE, _KNOW, _DO, _TELL, _COUNT, _CHECK, _ADD_UP))
_MISTAKEN = frozenset((*FOOTAGE_TOOLS, "show_frames", "transcribe_speech", "find_answer", "ask_cloud", "search_memory"))
"""Tools of plans that a question about a filmed room may replace; other tools are meant when they are named."""
_LISTEN = "detect_sounds"
"""Replaced where the question names something that people do."""
_ACTIVITIES = {
    "fall": r"fall(?:s|en|ing)?|fell|tumbl\w+|tumble|collaps\w+|trip(?:s|ped|ping)?|slip(?:s|ped|ping)?",
    "lie": r"lies?|lying|lay down|laid down|lie down",
    "sit": r"sits?|sat|sitting|seated",
    "stand": r"stands?|stood|standing",
    "walk": r"walks?|walked|walking",
    "wave": r"waves?|waved|waving",
    "reach": r"reach(?:es|ed|ing)?",
    "cook": r"cook(?:s|ed|ing)?",
    "eat": r"eats?|ate|eaten|eating",
    "clean": r"clean(?:s|ed|ing)?",
    "work": r"work(?:s|ed|ing)?",
}
_DOES = {activity: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for activity, words in _ACTIVITIES.items()}


def _form(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_LENGTH = _form(r"\bhow (?:long|often)\b|\bhow (?:much time|many (?:times|minutes|hours|seconds))\b")
_HOW_MANY = _form(r"\bhow many\b|\b(?:number|count|tally) of\b|\bhead ?count\b|^\W*count\b")
_WHEN = _form(r"\bwhen\b|\b(?:at )?what time\b")
_WENT_ON = _form(
    r"\bwhat(?:'s| has| have)? ?(?:all )?(?:happened|went on|was going on|been going on|is going on|took place)\b"
    r"|\bdescribe\b|\b(?:sum up|summar\w+|timeline|overview)\b"
)
_WHAT_DONE = _form(
    r"\bwhat (?:was|were|is|are|did|has|have|had)\b.*\b(?:do|doing|done|up to)\b|\bwhat .* (?:been|was) up to\b"
)
_WHO = _form(r"\bwho\b|\bwhich (?:people|persons?|visitors?)\b|\b(?:any(?:one|body)|people) (?:that )?(?:i|we) know\b")
_YES_NO = _form(
    r"(?:^|[:,;] )\W*(?:and |so )?(?:did|do|does|has|have|had|was|were|is|are|any(?:one|body)?|some(?:one|body))\b"
    r"|\b(?:tell me|say|check|see|know) (?:if|whether)\b"
)
_SO_FAR = _form(r"\b(?:last|latest|ever|so far|lately|recently)\b|\b(?:has|have)\b.*\bbeen\b")
_LATELY = dt.timedelta(days=7)
"""How far is looked back where what was last, or has been, is asked for and no time is said."""
_ALTERNATIVE = _form(r"\bor\b")
_ORDER = _form(
    r"\b(?:show|pictures?|photos?|frames?|images?|snapshots?|look like|remind|send|mail|compare|said|say|hear\w*|"
    r"talk\w*|sound|noise)\b"
    r"|\b(?:let (?:me|us)|(?:want|like|love) to|can i|could i|may i) (?:see|look|have a look)\b"
)
"""Asks for something else than an answer about who was there: pictures, sound, an errand."""
_RANG = _form(r"\b(?:door)?bell\b|\b(?:rang|rings?|ringing|knock\w*)\b")
"""Is heard; only who it was is seen."""
_NAMED = re.compile(
    r"\b(?:[Dd]id|[Ww]as|[Hh]as|[Ii]s|[Hh]ad|[Ww]ere) ((?:my |our )?[A-Z][\w'-]+(?: [A-Z][\w'-]+)*|my \w+)\b"
)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a question says."""

    text: str
    video: Mapping[str, Argument]
    """Room and time, as `find_video` takes them."""
    name: str
    activity: str


def asked_of_footage(
    request: Utterance, found: Plan | Refusal, rooms: Sequence[str], tools: Mapping[str, ToolSpec]
) -> Plan | None:
    """Plan a question about a filmed room by its form; end a plan about any other video by it.

    Args:
        rooms: Those that have a camera.
    Returns:
        None where the plan that was found is to stand.
    """
    if not tools.keys() >= FOOTAGE_TOOLS or _ORDER.search(request.text):
        return None
    if _RANG.search(request.text) and not _WHO.search(request.text):
        return None
    mistaken = _MISTAKEN | {_LISTEN} if _activity(request.text, "") else _MISTAKEN
    if isinstance(found, Plan) and not all(step.tool in mistaken for step in found.steps):
        return None
    slots = request.slots
    room = next((one for one in rooms if one and _names(request.text, one)), "")
    video = _video(request.text, room, slots, request.now)
    if room and video is not None:
        asked = _Asked(request.text, video, _name(request.text, slots, found, room), _activity(request.text, room))
        steps = _by_form(asked)
        base = found if isinstance(found, Plan) else Plan((), planner=_FOOTAGE)
        return _checked(replace(base, confidence=0.9, planner=_FOOTAGE), steps, tools) if steps else None
    return _checked(found, _ended(request.text, found), tools) if isinstance(found, Plan) and found.steps else None


# ── By the form ───────────────────────────────────────────────────────────────────────────────────────────


def _by_form(asked: _Asked) -> list[Step]:
    """Return the steps for the form of a question; none where it has no form that is known."""
    text, name, activity = asked.text, asked.name, asked.activity
    if _LENGTH.search(text):
        return _chain(asked, name=name, activity=activity, ends=_ADD_UP)
    if _HOW_MANY.search(text):
        return _chain(asked, ends=_COUNT)
    if _WHAT_DONE.search(text):
        return _chain(asked, name=name, knows=True, ends=_DO)
    if _WENT_ON.search(text):
        when = {key: value for key, value in asked.video.items() if key != "at"}
        return [Step(_TELL, when, text=text)] if "at" not in asked.video else []
    if _WHEN.search(text):
        return _chain(asked, name=name, activity=activity)
    if _WHO.search(text):
        return _chain(asked, knows=True, activity=activity if activity not in ("", "stand", "walk") else "")
    if _YES_NO.search(text):
        if activity:
            if _ALTERNATIVE.search(text):
                return _chain(asked, name=name, ends=_DO)
            return _chain(asked, name=name, activity=activity, ends=_CHECK)
        return _chain(asked, name=name) if name else _chain(asked, ends=_CHECK)
    return []


def _chain(asked: _Asked, *, name: str = "", knows: bool = False, activity: str = "", ends: str = "") -> list[Step]:
    """Return the steps that look for people, name them, say what they do, and end with a tool."""
    steps = [Step(_FIND, asked.video, text=asked.text), Step(_SEE, {"video": Ref(0, ("id",))}, text=asked.text)]

    def add(tool: str, **more: str) -> None:
        steps.append(Step(tool, {"people": Ref(len(steps) - 1, ()), **more}, text=asked.text))

    if name:
        add(_KNOW, name=name)
    elif knows:
        add(_KNOW)
    if ends == _CHECK:
        add(_CHECK, **({"activity": activity} if activity else {}))
    elif activity:
        add(_DO, activity=activity)
    elif ends == _DO:
        add(_DO)
    if ends in (_COUNT, _ADD_UP):
        add(ends)
    return steps


def _ended(text: str, plan: Plan) -> list[Step]:
    """Return the steps of recall's plan, ended by the form of the question."""
    last, steps = plan.steps[-1], list(plan.steps)
    if last.tool in (_SEE, _KNOW, _DO) and _HOW_MANY.search(text) and not _LENGTH.search(text):
        steps.append(Step(_COUNT, {"people": Ref(len(steps) - 1, ())}, text=last.text))
    elif last.tool == _DO and _YES_NO.search(text) and not _WHEN.search(text) and not _WHO.search(text):
        activity = last.arguments.get("activity") or _activity(text, "")
        if activity and not _ALTERNATIVE.search(text):
            arguments = {**last.arguments, "activity": activity}
            steps[-1] = replace(last, tool=_CHECK, arguments=arguments)
    return steps


# ── What it says ──────────────────────────────────────────────────────────────────────────────────────────


def _names(text: str, room: str) -> bool:
    return re.search(rf"\b{re.escape(room)}\b", text, re.IGNORECASE) is not None


def _video(text: str, room: str, slots: Sequence[Slot], now: dt.datetime) -> dict[str, Argument] | None:
    """Return the room and time as `find_video` takes them; None where the time is to come, or several are said."""
    times = [slot for slot in slots if slot.kind == "time"]
    if len(times) > 1:
        return None
    if not times:
        return {"room": room, "start": (now - _LATELY).isoformat()} if _SO_FAR.search(text) else {"room": room}
    views = times[0].views
    start, end = str(views.get("start", "")), str(views.get("end", ""))
    if start and dt.datetime.fromisoformat(start) > now + dt.timedelta(days=7):
        return None
    if (
        "time" in views
        and "duration" not in views
        and times[0].cue not in ("since", "until", "till", "by", "before", "after")
    ):
        return {"room": room, "at": str(views["datetime"])}
    return {"room": room, **({"start": start} if start else {}), **({"end": end} if end else {})}


def _activity(text: str, room: str) -> str:
    """Return the one activity that is named; empty where none or several are."""
    rest = re.sub(rf"\b{re.escape(room)}\b", " ", text, flags=re.IGNORECASE) if room else text
    said = [activity for activity, words in _DOES.items() if words.search(rest)]
    if "lie" in said and "fall" in said:
        said.remove("lie")
    return said[0] if said else ""


def _name(text: str, slots: Sequence[Slot], found: Plan | Refusal, room: str) -> str:
    """Return who is asked about: a contact, a name that recall found, or a capitalised word behind the verb."""
    if people := [str(slot.views.get("name") or slot.text) for slot in slots if slot.kind == "person"]:
        return people[0]
    steps = found.steps if isinstance(found, Plan) else ()
    for step in steps:
        name = step.arguments.get("name")
        if step.tool == _KNOW and isinstance(name, str) and name[:1].isupper() and name in text:
            return name
    said = _NAMED.search(text)
    return said[1] if said is not None and said[1].casefold() != room.casefold() else ""


def _checked(plan: Plan, steps: Sequence[Step], tools: Mapping[str, ToolSpec]) -> Plan | None:
    if tuple(steps) == plan.steps:
        return None
    try:
        return check_plan(replace(plan, steps=tuple(steps), unserved=(), offer=None), tools)
    except PlanError:
        return None


# ── General knowledge ───────────────────────────────────────────────────────────────────────────────────
# Sends questions of general knowledge that no tool serves to the cloud, if there is one that answers.
#
# Covered: questions and requests for ideas. Not covered: orders ("play music"), questions back, questions for memory.


ASK_CLOUD = "ask_cloud"
_CLOUD = "cloud"
_IDEAS = re.compile(
    r"\s*(?:please )?(?:(?:can|could|would) you )?(?:suggest|recommend|propose|explain|tell me (?:about|how|why|what)"
    r"|give me (?:some |an? )?(?:ideas?|tips?)|(?:any|some) (?:ideas?|tips?|suggestions?)|ideas? for|what about"
    r"|how about|(?:gift|dinner|lunch|breakfast|snack|meal|dessert|recipe|holiday)s? ideas?)\b",
    re.IGNORECASE,
)

_CLAUSE = re.compile(r"[^.!?,;\n]+[.!?]*")


# ── The calendar that everybody has ─────────────────────────────────────────────────────────────────────
# Tells the day that a question names and asks for: "what's the date a week on Saturday", "what day is Good Friday".


_DAYS_TO = "time_until"
_OF_A_DAY = frozenset(("find_answer", "search_memory", "current_time", "next_event", "find_events"))
"""Tools of plans in whose place the day itself may be told."""
_ASKS_DAY_OF = _form(
    r"\s*(?:(?:so|and|ok|okay|hey|hi|please|tell me|(?:can you )?tell me|do you know|remind me)\b[\s,]*)*"
    r"(?:(?:what|which)(?:['’]?s)?(?: is| was)?(?: the)? (?:week ?day|day|date)(?: of the (?:week|month))?"
    r"(?: (?:is|was|will|does|do|it|be|that|on|for|of|the|fall|falls|have|we|in))*"
    r"|when(?:['’]?s| is| was| does| do| will)(?: (?:it|be|the))*)\s*"
)
_DAY_ASKED = _form(r"\s*(?:(?:be|is|fall|falls|on|it|this|then|again|(?:this|next) (?:year|yr)|please)\b\s*)*[?.!\s]*")


def asked_of_clock(said: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Plan to tell the one day that a question names and asks for; None where it asks anything else, or what was found
    was taught."""
    if _DAYS_TO not in tools:
        return None
    if isinstance(found, Refusal):
        if found.kind != "out_of_scope" or found.planner == OWNERS_WORD:
            return None
    elif not {step.tool for step in found.steps} <= _OF_A_DAY or any(":" in id for id in found.rests_on):
        return None
    days = [slot for slot in said.times if "date" in slot.views and _is_a_day(slot)]
    if len(days) != 1 or days[0].is_timed or "repeat" in days[0].views:
        return None
    before, after = said.text[: days[0].cue_start], said.text[days[0].end :]
    if _ASKS_DAY_OF.fullmatch(before) is None or _DAY_ASKED.fullmatch(after) is None:
        return None
    step = Step(_DAYS_TO, {"date": str(days[0].views["date"])}, text=said.text)
    try:
        return check_plan(Plan((step,), confidence=_TOLD_BY_CLOCK, planner=found.planner), tools)
    except PlanError:
        return None


_TOLD_BY_CLOCK = 0.9


def _is_a_day(slot: Slot) -> bool:
    start, end = (slot.views.get(name) for name in ("start", "end"))
    if not isinstance(start, str) or not isinstance(end, str):
        return True
    return dt.datetime.fromisoformat(end) - dt.datetime.fromisoformat(start) <= dt.timedelta(hours=25)


def asked_of_cloud(request: Request, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Plan to ask the cloud; None when a plan was found, this is no question, or nobody may be asked."""
    if ASK_CLOUD not in tools or not isinstance(found, Refusal) or found.kind != "out_of_scope":
        return None
    text = request.text.strip()
    if not any(asked_of(part).is_question or _IDEAS.match(part) for part in _CLAUSE.findall(text)):
        return None
    try:
        return check_plan(
            Plan((Step(ASK_CLOUD, {"question": text}, text=text),), confidence=0.5, planner=_CLOUD), tools
        )
    except PlanError:
        return None
