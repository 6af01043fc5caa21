"""Plans for a request that no tool serves as it was read: memory, home video, the cloud, another reading."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from hearth import patterns as re
from hearth.errors import PlanError
from hearth.formats.plans import check_plan, is_taking_away, only_reads, renumbered, shifted
from hearth.language.clauses import VERBS
from hearth.language.reading import (
    Utterance,
    asked_of,
    asks_if,
    asks_later,
    asks_what,
    asks_who_is,
    gives_order,
    is_of_anyone,
    spaced,
    two_questions,
)
from hearth.language.temporal.time_words import WEEKDAYS
from hearth.language.thesaurus import KNOWN_WORDS, POLITE, QUESTIONS
from hearth.language.tokens import NUMBER_WORDS, Slot, Token, listed, stem, stems, tokens
from hearth.memory.answers.home_answers import LEAST_OWN
from hearth.memory.answers.summaries import asked_for_summary
from hearth.memory.fact_extraction import KIN_WORDS
from hearth.memory.facts import ME
from hearth.memory.inquiry.answer_reading import ON_A_CARD, asks_deed, asks_hours, asks_who, deed_asked
from hearth.memory.inquiry.asking_mails import asked_of_letters
from hearth.memory.inquiry.counts_by_person import asked_of_people
from hearth.memory.inquiry.price_comparisons import compares_prices
from hearth.memory.inquiry.record_answers import Asked, DateAsked, asked_of_dates, asked_of_records, happens
from hearth.memory.search.search_words import key_of, key_set, keys_of
from hearth.planning.arguments.alignment import FUNCTION_WORDS
from hearth.planning.dialogue.amendments import is_taught
from hearth.planning.dialogue.answer_steps import FIND, with_answer
from hearth.types import OWNERS_WORD, Argument, Plan, Ref, Refusal, Request, Step, StepResult, ToolSpec

# ── Outside questions ─────────────────────────────────────────────────────────────────────────────────────
# Puts questions to what is outside the owner's things: the recordings of cameras, the calendar that everybody has,
# and a cloud that answers.

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
        return _with_steps(replace(base, confidence=0.9, planner=_FOOTAGE), steps, tools) if steps else None
    return _with_steps(found, _ended(request.text, found), tools) if isinstance(found, Plan) and found.steps else None


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


def _with_steps(plan: Plan, steps: Sequence[Step], tools: Mapping[str, ToolSpec]) -> Plan | None:
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


# ── Memory fallback ───────────────────────────────────────────────────────────────────────────────────────
# Sends requests about the owner that no planner could place to the owner's things, instead of "I can't do that".
#
# A question is put to everything the owner has (`find_answer`), a statement is kept, and "no, it's 48" corrects what
# was just answered or said. The form of the request decides, and whether it names a thing of the owner's by its
# title; never what the thing says. What has to be worked out over records (a clash, a sum, who waits) goes there
# although a planner would list something, and so does a question after a look-up that found nothing. What was
# measured at home is asked of memory ("what was the temperature in the cellar this morning"), and what is measured
# now of the devices.
#
# Covered: who, what, which, where, when, how long, how many, how old, and yes or no, about "I", "my", "we", "our" or
# somebody the owner knows; who a name is; what somebody wrote; what the agent believed at a time. Not covered:
# questions for advice or about the world ("how do I boil an egg", "where can I get a bicycle").

SEARCH, REMEMBER, STATE = "search_memory", "remember", "device_state"
NAME = "memory"
_ABOUT_OWNER = re.compile(
    rf"\b(?:i|i'm|i've|my|mine|me|we|we've|our|ours|us)\b|\b(?:{KIN_WORDS})(?:'s|’s)?\b"
    r"|\bthe (?:[\w-]+ ){0,3}(?:code|password|passcode|pin|combination|wifi|wi-fi|keys?|alarm|fuse box|router|bill|rent"
    r"|invoice|premium|deposit|mot|boiler|tyres?|meter|stopcock|landlord|bins?)\b",
    re.IGNORECASE,
)
_CONTACTS = frozenset({"find_contact", "list_contacts"})
_SUMS = frozenset({"calculate", FIND})
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
    if FIND in tools and planned == {FIND} and _is_list_behind(request, found):
        return True
    if _is_no_way_to(request, found) or _is_no_count_of_days(request, found):
        return True
    return _is_of_a_thing(request, found) or _is_no_sum(request, found) or _is_of_another_time(request, found)


_HOW_LONG = re.compile(
    r"(?:.*\b)?how\s+long(?:['’]?s|\s+(?:is|are|was|does|do|did|will|can))\b"
    r"(?!.*\b(?:until|till|til|to|before|left|away|since|ago|off|from\s+now)\b)",
    re.IGNORECASE | re.DOTALL,
)


def _is_no_way_to(request: Utterance, plan: Plan) -> bool:
    """Return whether it is counted how far away an event is, where it is asked how long something lasts: "how long is
    the notice period in the lease"."""
    if is_taught(plan) or {step.tool for step in plan.steps} != {"next_event", _DAYS_TO}:
        return False
    return _HOW_LONG.match(request.text) is not None


_AN_AMOUNT = re.compile(
    r"\bhow\s+much(?!\s+(?:(?:more|of\s+the|of|is)\s+)*(?:time|longer|later|sooner|earlier|further|left\b|day|week|month|year))\b"
    r"|\bhow\s+many\s+(?!(?:(?:more|full|whole|working|school|calendar)\s+)*(?:days?|nights?|sleeps?|weeks?|weekends?"
    r"|fortnights?|months?|years?|hours?|minutes?|seconds?|workdays?|weekdays?|fridays?|saturdays?|sundays?|mondays?"
    r"|tuesdays?|wednesdays?|thursdays?|more|left|until|till|to)\b)[^\W\d_]{2,}",
    re.IGNORECASE,
)
"""Asks how much or how many of something, and not of time."""


def _is_no_count_of_days(request: Utterance, plan: Plan) -> bool:
    """Return whether days would be counted where it is asked how much or how many of something: "how much pension will
    I get from January"."""
    planned = {step.tool for step in plan.steps}
    if is_taught(plan) or _DAYS_TO not in planned or not planned <= _OF_CLOCK_OR_DAYS:
        return False
    return _AN_AMOUNT.search(request.text) is not None


def _is_list_behind(request: Utterance, plan: Plan) -> bool:
    """Return whether only a list behind a question would be looked up: "the lamp and the plug" of "what do his jobs
    come to in all, the lamp and the plug"."""
    if len(plan.steps) != 1 or len(plan.unserved) != 1 or not request.asked.is_question:
        return False
    question, listed_behind = plan.unserved[0], str(plan.steps[0].arguments.get("question", ""))
    is_said = f"{question}, {listed_behind}".casefold() == request.text.strip(" ?.!").casefold()
    asks_more = asks_what(listed_behind) or asked_of(listed_behind).is_question or gives_order(listed_behind)
    return is_said and asks_what(question) and not asks_more


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


def event_told(plan: Plan, results: Sequence[StepResult]) -> Mapping[str, object] | None:
    """Return the one event that a plan only looked up; of a series the first time. None for any other plan."""
    if len(plan.steps) != 1 or plan.steps[0].tool not in (_EVENTS, "next_event") or len(results) != 1:
        return None
    value = results[0].value if results[0].status == "done" else None
    found = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, Mapping)]
    series = {str(one.get("id", "")).partition("#")[0] for one in found}
    return found[0] if len(series) == 1 else None


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


_MAY = re.compile(
    r"\s*(?:so |and |but )?(?:can|could|may|might|should|shall|must)(?:n['’]t)?\s+(?!you\b|u\b)[\w'’-]+\b",
    re.IGNORECASE,
)
"""Asks whether somebody may, or should, or must do something: nobody is asked to do it."""


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
    if is_own or (names_own and (request.asks_for_value or request.names_matter or asks_later(asked.text))):
        return _found_by(request, tools)
    named = _named_in(asked.text, known)
    is_let = bool(named - {ME}) and _MAY.match(asked.text) is not None
    if not asked.is_question or (is_of_anyone(asked.text, known) and not names_own and not is_let):
        return None
    if grounds.is_worldly and not names_own:
        return None
    is_about_own = names_own or _ABOUT_OWNER.search(asked.text) or named
    return _found_by(request, tools) if is_about_own else None


def _named_in(text: str, known: Set[str]) -> set[str]:
    """Return the known names that a text says; "Lucas passport" is Luca's, too."""
    said = spaced(text)
    return {name.strip() for name in known if name in said or f"{name.rstrip()}s " in said}


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
        return not is_order and (asks_if(text) or _asks_what_no_tool_knows(text, found, tools))
    if asked_for_summary(text) is not None or asked_of_people(text) is not None:
        return True
    if _asks_what_no_tool_knows(text, found, tools):
        return True
    if (letters := asked_of_letters(text)) is not None:
        # Whether somebody answered is seen in their mails, too, if there are any.
        return not (letters.operation == "answered" and _only_finds_mail(found))
    if two_questions(text) is not None and _serves_one_at_most(found):
        return True
    asked = asked_of_records(text) or asked_of_dates(text)
    return asked is not None and _is_asked_beside(asked, text, found)


def _is_asked_beside(asked: Asked | DateAsked, text: str, found: Plan | Refusal) -> bool:
    """Return whether what is asked of records is more than what was found tells."""
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
    """Return whether a plan tells the time, or days, or an event, where it is asked when something is open; or how a
    device is where it is asked where one does something; or would do a deed where it is asked who does it."""
    if isinstance(found, Refusal):
        return False
    if _WHO_HAS.match(text) and any(step.tool in _OF_FOOTAGE for step in found.steps):
        return True
    if compares_prices(text) and only_reads(found, tools) and {step.tool for step in found.steps}.isdisjoint(_SUMS):
        return True  # "which of the plumbers is cheaper" asks for no list of people
    if deed_asked(text) and {step.tool for step in found.steps} == {STATE}:
        return True  # "where do I switch the boiler off" asks for no state of it
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
    is_asked = asks_what(request.asked.text) or request.asks_for_value or asks_later(request.asked.text)
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


def asked_beyond_nothing(
    request: Utterance, plan: Plan, results: Sequence[StepResult], tools: Mapping[str, ToolSpec]
) -> Plan | None:
    """Continue a plan that looked one thing up by its words and found none, where a question was asked, yes or no among
    them: "is the school closed on Friday" is no event, and "what do we need for the boat" no list, but a mail or a note
    may say it. Whether anything answers is for the caller to find out."""
    if FIND not in tools or len(plan.steps) != 1 or len(results) != 1 or plan.steps[0].tool == FIND:
        return None
    is_sought = plan.steps[0].tool == "read_list" or not _BY_WORDS.isdisjoint(plan.steps[0].arguments)
    is_empty = results[0].error_kind == "NotFound" or (results[0].status == "done" and results[0].value in (None, []))
    if not (is_sought and is_empty and only_reads(plan, tools)):
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
    request: Utterance,
    plan: Plan,
    results: Sequence[StepResult],
    tools: Mapping[str, ToolSpec],
    people: Set[str] = frozenset(),
) -> Beyond | None:
    """Continue a plan that found events or reminders which say less than was asked: "when do the lessons start again"
    is not when the next lesson is, and "who covers for Ana on the 8th" no list of that day's events.

    Args:
        people: Keys of the names on the owner's cards. Whether somebody comes at Christmas no event tells that has
            nothing of them.
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
    held = _told_keys(value, tools[plan.steps[left[0].step].tool])
    asked = frozenset(
        k for k in keys_of(question.text) - _OF_WHEN if not k[0].isdigit()
    )  # "the 8th" is said by any event
    is_any = isinstance(value, list) and (
        _LISTS_ANY.fullmatch(question.text.rstrip(" ?.!")) or not asks_what(question.text)
    )
    left_open = asked - _said_in(asked, held) if held is not None else None
    if not left_open or (is_any and not _lacks_person(question.text, value, asked & people)):
        return None
    again = _asked_instead(request, plan, left[0].step, tools)
    deed = deed_asked(question.text)
    is_beside = bool(deed) and key_of(deed) in left_open
    return Beyond(again, asked, left_open, is_beside) if again is not None else None


_WHETHER = re.compile(
    r"\s*(?:so |and |but )?(?:is|are|was|were|has|have|will|does|do|did|can|could)(?:n['’]t)?\b", re.IGNORECASE
)


def _lacks_person(question: str, value: object, named: Set[str]) -> bool:
    """Return whether it is asked by yes or no of somebody of whom nothing that was found has the name."""
    if not named or _WHETHER.match(question) is None or _LISTS_ANY.match(question) is not None:
        return False
    found = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, Mapping)]
    said = keys_of(" ".join(text for one in found for held in one.values() for text in _texts_of(held)))
    return named.isdisjoint(said)


def _texts_of(value: object) -> list[str]:
    if isinstance(value, list):
        return [one for one in value if isinstance(one, str)]
    return [value] if isinstance(value, str) else []


def _told_keys(value: object, spec: ToolSpec) -> Set[str] | None:
    """Return the keys of the words in which a tool tells the records it found; None where it found none."""
    found = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, Mapping)]
    told = re.findall(r"\{(\w+)\}", spec.answer)  # its notes are not told
    said = " ".join(str(one[name]) for one in found for name in told if isinstance(one.get(name), str))
    return keys_of(said) if found else None


_OF_WHEN = frozenset(
    map(
        key_of,
        listed(
            "when what time day date where next is are does do on at have has had got get need needs happen happening "
            "coming come comes going go goes take takes place begin start starts there appointment meeting event thing "
            "today tomorrow week month year monday tuesday wednesday thursday friday saturday sunday january february "
            "march april may june july august september october november december morning afternoon evening night "
            "exactly supposed gonna due planned booked scheduled visit session class date fixed set do left still"
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


# ── Other readings ────────────────────────────────────────────────────────────────────────────────────────
# Judges other readings of a request by its words: what a plan leaves out of it, what else its look-up could seek.
#
# Beside `execution.executor`, which says whether the things are there. Not covered: which reading is taken (`agent`).

_NAMING = frozenset({"query", "name", "sender"})
"""Parameters of look-ups that hold what a thing is called."""
_OF_MEMORY = frozenset({"search_memory", "find_answer"})
"""What the owner's things are asked by is "Memory fallback"'s to take."""


_REASON = r"\b(?:it['’]?s|(?:be)?cause|cos|coz|since|as)\s+(?:just\s+)?(?:an?\s+|the\s+)?"
"""Begins why something is to be done: "bin that Nexo mail, it's a scam" seeks no scam."""


def named_share(text: str, plan: Plan, slots: Sequence[Slot]) -> float:
    """Return how much of what a request is about a plan uses: "sketch" is left out where Patterson is looked up for
    "find the Patterson sketch". Words of asking and typed values (times, numbers) do not count."""
    used = stems(" ".join(said for step in plan.steps for value in step.arguments.values() for said in _texts(value)))
    said = [token for token in tokens(text) if not any(slot.start <= token.start < slot.end for slot in slots)]
    telling = {
        stem(t.low)
        for t in said
        if t.kind == "word" and t.low not in KNOWN_WORDS and t.low not in FUNCTION_WORDS and t.low not in VERBS
    }
    telling = {word for word in telling if len(word) > 2 and word not in ("one", "ones")}
    return len(telling & used) / len(telling) if telling else 1.0


def other_queries(text: str, plan: Plan, slots: Sequence[Slot]) -> list[Plan]:
    """Return the plan with other words of the request as what its look-up seeks.

    "Cancel pilates this week back hurts" is about pilates. Each is a stretch of words between values and marks, without
    words of asking around it, and none holds what another step looks for: who a mail goes to is not what it speaks of.
    """
    found = _called_by_a_time(text, plan, slots)
    looks = [k for k, step in enumerate(plan.steps) if isinstance(step.arguments.get("query"), str)]
    if len(looks) != 1:
        return found
    step = plan.steps[looks[0]]
    is_named = bool(_NAMING & step.arguments.keys() - {"query"})
    if is_named and re.search(rf"{_REASON}{re.escape(str(step.arguments['query']))}\b", text, re.IGNORECASE):
        bare = replace(step, arguments={name: value for name, value in step.arguments.items() if name != "query"})
        found.append(replace(plan, steps=(*plan.steps[: looks[0]], bare, *plan.steps[looks[0] + 1 :])))
    elsewhere = stems(" ".join(str(one.arguments.get("name", "")) for one in plan.steps))
    for said in _stretches(text, slots):
        if said.lower() != str(step.arguments["query"]).lower() and stems(said).isdisjoint(elsewhere):
            changed = replace(step, arguments={**step.arguments, "query": said})
            found.append(replace(plan, steps=(*plan.steps[: looks[0]], changed, *plan.steps[looks[0] + 1 :])))
    return found


_MAIL_AFTER = re.compile(r"\s+(?:e-?mails?|mails?|messages?|newsletters?)\b", re.IGNORECASE)
_OF_DAYS = frozenset(
    listed(
        "the of last this next past today tomorrow yesterday tonight week month year day weekend morning afternoon "
        "evening night first early late"
    )
)


def _called_by_a_time(text: str, plan: Plan, slots: Sequence[Slot]) -> list[Plan]:
    """Return the plan that looks for the words in front of "mail" which were read as when it came: "the Christmas
    mail" may be about Christmas. "The Friday mail" is of that day."""
    found: list[Plan] = []
    for k, step in enumerate(plan.steps):
        for slot in slots if step.tool == "find_mail" and "start" in step.arguments else ():
            words = [word for word in _WORD.findall(slot.text.lower()) if word not in _OF_DAYS]
            if slot.kind != "time" or slot.cue_start < slot.start or _MAIL_AFTER.match(text, slot.end) is None:
                continue
            if all(word in WEEKDAYS for word in words):
                continue
            kept = {name: value for name, value in step.arguments.items() if name not in ("start", "end")}
            query = " ".join(one for one in (slot.text, kept.get("query")) if isinstance(one, str))
            changed = replace(step, arguments={**kept, "query": query})
            found.append(replace(plan, steps=(*plan.steps[:k], changed, *plan.steps[k + 1 :])))
    return found


def _stretches(text: str, slots: Sequence[Slot]) -> list[str]:
    runs: list[list[Token]] = [[]]
    for token in tokens(text):
        is_value = any(slot.start <= token.start < slot.end for slot in slots if slot.kind == "time")
        if is_value or token.kind == "mark":
            runs.append([])
        else:
            runs[-1].append(token)
    found: list[str] = []
    for run in runs:
        while run and (run[0].low in KNOWN_WORDS or run[0].low in FUNCTION_WORDS):
            run = run[1:]
        while run and run[-1].low in FUNCTION_WORDS:
            run = run[:-1]
        if run:
            found.append(text[run[0].start : run[-1].end])
    return found


_OF_WRITING = frozenset({"mail", "email", "message", "reply", "answer", "forward", "please", "thanks", "say", "tell"})
_TITLES = ("subject", "title", "text")
"""What a record is called, the first of these that it has."""


def left_open(plan: Plan, tools: Mapping[str, ToolSpec]) -> list[int]:
    """Return the look-ups without words of which another step takes the one, to write about: a reply to somebody."""
    wanted = {
        ref.step
        for step in plan.steps
        if step.tool in tools and tools[step.tool].parameter("text") is not None and not is_taking_away(step, tools)
        for ref in step.refs()
        if ref.path == ("id",)
    }
    return [k for k in sorted(wanted) if plan.steps[k].arguments and "query" not in plan.steps[k].arguments]


def with_said_title(text: str, plan: Plan, place: int, found: Sequence[object]) -> Plan | None:
    """Return the plan whose look-up seeks the words of a request that are in the title of one of the records it found,
    and of no other: "yes please to the hellebores" answers the mail on hellebores. None where there is no such one."""
    step = plan.steps[place]
    known = stems(" ".join(said for value in step.arguments.values() for said in _texts(value)))
    said = [t.low for t in tokens(text) if t.kind == "word" and len(t.low) > 2 and stem(t.low) not in known]
    telling = [low for low in said if low not in FUNCTION_WORDS and low not in _OF_WRITING]
    named = [[low for low in dict.fromkeys(telling) if stem(low) in stems(_title_of(one))] for one in found]
    words = [one for one in named if one]
    if len(words) != 1:
        return None
    steps = list(plan.steps)
    steps[place] = replace(step, arguments={**step.arguments, "query": " ".join(words[0])})
    return replace(plan, steps=tuple(steps))


_REPLY = "draft_reply"
_ANSWERED = re.compile(r"\A(?:(?:re|aw|fwd?|wg|sv)\s*:\s*)+", re.IGNORECASE)


def replied_to(plan: Plan) -> list[int]:
    """Return the look-ups of which a reply answers the one mail."""
    answered = {ref.step for step in plan.steps if step.tool == _REPLY for ref in step.refs() if ref.path == ("id",)}
    return [k for k in sorted(answered) if plan.steps[k].tool == "find_mail"]


def to_newest_of_thread(plan: Plan, place: int, found: Sequence[object]) -> Plan | None:
    """Return the plan whose reply answers the first, newest of the mails that a look-up found, where all are somebody's
    about one subject; None where they are of several."""
    threads = {
        (str(one.get("sender", "")).lower(), _ANSWERED.sub("", _title_of(one).strip()).lower())
        for one in found
        if isinstance(one, Mapping)
    }
    if len(found) < 2 or len(threads) != 1 or "" in next(iter(threads)):
        return None
    newest, one = Ref(place, ("0", "id")), Ref(place, ("id",))
    steps = tuple(
        replace(step, arguments={name: newest if value == one else value for name, value in step.arguments.items()})
        if step.tool == _REPLY
        else step
        for step in plan.steps
    )
    return replace(plan, steps=steps)


def _title_of(record: object) -> str:
    titles = (record.get(name) for name in _TITLES) if isinstance(record, Mapping) else ()
    return next((title for title in titles if isinstance(title, str)), "")


def _texts(value: Argument) -> list[str]:
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []


def takes_away(plan: Plan, tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether a plan takes something away or opens it: such a reading has to name the whole of it."""
    return any(is_taking_away(step, tools) for step in plan.steps)


def may_restore(done: Plan, plan: Plan, tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether taking back what a plan did may bring what another looks for: it took something away, or looked
    for the same, which it then changed."""
    looks = [
        step for k, step in enumerate(plan.steps) if any(ref.step == k for one in plan.steps for ref in one.refs())
    ]
    known = [(step.tool, step.arguments) for step in done.steps]
    return takes_away(done, tools) or all((step.tool, step.arguments) in known for step in looks)


def is_of_found_things(plan: Plan, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether a reading is about things that are looked up by what they are called, and changes those alone.

    In the place of a plan that sets something, another that sets something will do, too: a lamp's brightness was read,
    and the heating is named.
    """
    if any(step.tool in _OF_MEMORY for step in plan.steps):
        return False
    named = {k for k, step in enumerate(plan.steps) if tools[step.tool].effect == "none" and _is_sought(step)}
    changing = [step for step in plan.steps if tools[step.tool].effect != "none"]
    if named:
        return all({ref.step for ref in step.refs()} & named for step in changing)
    verbs = {step.tool.partition("_")[0] for step in (*plan.steps, *(found.steps if isinstance(found, Plan) else ()))}
    return isinstance(found, Plan) and len(plan.steps) == len(found.steps) == 1 and verbs == {"set"}


_TICK = ("find_reminders", "complete_reminder")
_TAKE_OFF = "remove_from_list"
_TICKED = re.compile(
    r"\s*(?:(?:please|so|and|ok|okay|now|can\s+you|could\s+you|you\s+can)[\s,]+)*(?:tick|check|cross|strike)\s+(?P<off>off\s+)?"
    r"(?:(?:the|my|our|that)\s+)?(?P<what>(?!(?:it|that|them|this|those|off)\b)[^,.;:?!]{1,80}?)(?(off)|\s+off)"
    r"(?:\s*[,;.–-]\s*(?:(?:i|we)(?:['’]ve|\s+have)?\s+|(?:just|already|they(?:['’]re|\s+are)|it['’]?s)\s+)*"
    r"(?:got|bought|ordered|done|have|found|fetched|picked|collected|sorted|finished)\b"
    r"(?:\s+(?:it|them|that|those|some|up|already|now|today|yesterday|thanks))*)?\s*[.!]*\s*",
    re.IGNORECASE,
)
"""Matches what is to be ticked off, and that it was got."""
_SAYS_WHERE = re.compile(r"\b(?:reminders?|tasks?|lists?|alarms?)\b", re.IGNORECASE)


def ticked_reminder(text: str, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Return the plan that ticks off the reminder of a name, where of the name a list was made that nobody said: the
    shoes of "tick off gym shoes". None where what was found stands."""
    if isinstance(found, Refusal) or is_taught(found) or [step.tool for step in found.steps] != [_TAKE_OFF]:
        return None
    said, name = _TICKED.fullmatch(text), str(found.steps[0].arguments.get("list", ""))
    is_said = re.search(rf"\b(?:on|in|of|off|from)\s+(?:(?:the|my|our)\s+)?{re.escape(name)}\b", text, re.IGNORECASE)
    if said is None or is_said is not None or _SAYS_WHERE.search(text) is not None or not set(_TICK) <= tools.keys():
        return None
    find, tick = _TICK
    steps = (Step(find, {"query": said["what"].strip()}), Step(tick, {"reminder": Ref(0, ("id",))}))
    return _sending(found, steps, tools)


def ticked_thing(text: str, found: Plan | Refusal) -> str:
    """Return what is to be ticked off where only its name is said: as a reminder it was read, and it may stand on a
    list. Empty where nothing is, or where the request says which it is."""
    place = _ticking(found) if isinstance(found, Plan) else None
    if isinstance(found, Plan) and place is not None and len(found.steps) > len(_TICK):
        text = found.steps[place + 1].text or text  # beside it, another list may be named
    if _SAYS_WHERE.search(text) is not None:
        return ""
    if isinstance(found, Refusal) or _is_of_a_device(found):
        is_open = isinstance(found, Plan) or found.kind == "out_of_scope"
        said = _TICKED.fullmatch(text) if is_open else None
        return said["what"].strip() if said is not None else ""
    query = found.steps[place].arguments.get("query") if place is not None else None
    return query if isinstance(query, str) else ""


_GETTING = r"(?:got|bought|ordered|fetched|collected|grabbed|picked\s+up)"
_GOT = re.compile(
    rf"\s*(?:(?:ok|okay|oh|so|right|hey)\b[\s,]*)*(?:(?:i|we|he|she|they)(?:['’]?(?:ve|s)|\s+(?:have|has))?\s+)?(?:(?:just|already|now|finally)\s+)*{_GETTING}\s+"
    r"(?P<what>[^.;:?!]{1,120}?)(?:\s+(?:now|already|today|yesterday|this\s+morning|at\s+last))*\s*[.!]*\s*",
    re.IGNORECASE,
)
_IS_GOT = re.compile(
    rf"\s*(?:(?:ok|okay|oh|so|right|hey)\b[\s,]*)*(?P<what>[^.;:?!]{{1,120}}?)(?:['’]?s|\s+(?:is|are|(?:has|have)\s+been))\s+"
    rf"(?:(?:all|now|already)\s+)*{_GETTING}(?:\s+(?:now|already|today|yesterday))*\s*[.!]*\s*",
    re.IGNORECASE,
)
"""Match a remark that something was got, and nothing else."""
_OF_A_ROW = re.compile(r"\s*(?:,\s*(?:and\s+)?|\band\s+|&\s*)", re.IGNORECASE)
_DETERMINER = re.compile(r"(?:the|my|our|that|those|some|more|a|an)\s+", re.IGNORECASE)
_ADD_TO = "add_to_list"


def got_things(text: str, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> tuple[str, ...]:
    """Return what a remark says was got ("I've bought the nails"), where what was found does nothing about it, or would
    put it on a list. Whether it stands on one is for whoever takes it to see."""
    if isinstance(found, Plan) and (is_taught(found) or not _does_nothing(found, tools)):
        return ()
    if isinstance(found, Refusal) and found.planner == OWNERS_WORD:
        return ()
    said = _GOT.fullmatch(text) or _IS_GOT.fullmatch(text)
    things = _OF_A_ROW.split(said["what"]) if said is not None else ()
    return tuple(bare for one in things if (bare := _DETERMINER.sub("", one.strip(), count=1)))


def _does_nothing(plan: Plan, tools: Mapping[str, ToolSpec]) -> bool:
    return all(step.tool == _ADD_TO or tools[step.tool].effect == "none" for step in plan.steps)


def taken_off(things: Sequence[str], name: str, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Return the plan that takes what was got off the list on which it stands."""
    step = Step(_TAKE_OFF, {"list": name, "items": list(things)})
    return _sending(Plan((), confidence=1.0, planner="recall"), (step,), tools) if _TAKE_OFF in tools else None


def _is_of_a_device(plan: Plan) -> bool:
    """Return whether a plan does one thing to a device: nothing of the kind is ticked off."""
    return len(plan.steps) == 1 and "device" in plan.steps[0].arguments and not is_taught(plan)


def _ticking(plan: Plan) -> int | None:
    """Return the place of the one look-up of a reminder that the step right behind it ticks off, and no other needs."""
    tools = [step.tool for step in plan.steps]
    places = [k for k in range(len(tools) - 1) if tuple(tools[k : k + 2]) == _TICK]
    if len(places) != 1:
        return None
    users = [k for k, step in enumerate(plan.steps) if step.needs() & {places[0], places[0] + 1}]
    return places[0] if users == [places[0] + 1] else None


def ticked_on_list(
    thing: str, lists: Sequence[str], reminds: bool, found: Plan | Refusal, tools: Mapping[str, ToolSpec]
) -> Plan | Refusal | None:
    """Return the plan that takes a thing off the one list it stands on, or a question where a reminder is called so,
    too; None where what was found stands.

    Args:
        lists: What the lists are called on which it is open.
    """
    if len(lists) != 1 or _TAKE_OFF not in tools:
        return None
    if reminds:
        question = f"“{thing}” is a reminder and stands on the {lists[0]} list. Say “tick off the {thing} reminder”"
        return Refusal("needs", f"{question} or “take {thing} off the {lists[0]} list”.", planner=found.planner)
    step = Step(_TAKE_OFF, {"list": lists[0], "items": [thing]}, text=f"take {thing} off the list")
    if isinstance(found, Refusal) or _is_of_a_device(found):
        return _sending(Plan((), confidence=1.0, planner=found.planner), (step,), tools)
    if (place := _ticking(found)) is None:
        return None
    at = {k: k if k < place else k - 1 for k in range(len(found.steps)) if k not in (place, place + 1)}
    before = [renumbered(found.steps[k], at) for k in at if k < place]
    behind = [renumbered(found.steps[k], at) for k in at if k > place]
    behind = [replace(one, after=(*one.after, place)) for one in behind]  # "and what's left" is read once it is off
    return _sending(found, (*before, step, *behind), tools)


_FIND_FILES, _FIND_NOTES, _FILES, _MOST_WORDS = "find_files", "find_notes", "attachments", 6
_STATES = frozenset(("is", "are", "am", "was", "were", "has", "have", "had", "will", "can", "isn't", "aren't", "won't"))
"""Words of a sentence, which is no name."""
_BESIDE_NAME = r"(?:\s+(?:again|please|pls|too|now|as\s+well))*"


def with_named_file(request: Request, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Return the plan that sends a document instead of its name: "email Karin the receipt". Whether there is such a
    document is for whoever takes it to see. None where what is written is no bare name of a thing."""
    if isinstance(found, Refusal) or _FIND_FILES not in tools:
        return None
    writing = [k for k, step in enumerate(found.steps) if tools[step.tool].parameter(_FILES) is not None]
    if len(writing) != 1 or _FILES in found.steps[writing[0]].arguments:
        return None
    if not (name := _named_thing(found.steps[writing[0]].arguments.get("text"), request.text)):
        return None
    steps = list(shifted(found.steps, 1))
    attached: dict[str, Argument] = {**steps[writing[0]].arguments, "text": name, _FILES: [Ref(0, ("path",))]}
    steps[writing[0]] = replace(steps[writing[0]], arguments=attached)
    return _sending(found, (Step(_FIND_FILES, {"query": name}), *steps), tools)


def with_named_note(request: Request, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Return the plan that sends what a note says in the place of a file or of the note's name: "send Karin the packing
    sheet again". Whether there is such a note is for whoever takes it to see."""
    sent = with_named_file(request, found, tools) or found
    if isinstance(sent, Refusal) or _FIND_NOTES not in tools:
        return None
    looks = [k for k, step in enumerate(sent.steps) if step.tool == _FIND_FILES and "query" in step.arguments]
    users = [step for step in sent.steps if any(ref.step in looks for ref in step.refs())]
    if len(looks) != 1 or len(users) != 1 or users[0].arguments.get(_FILES) != [Ref(looks[0], ("path",))]:
        return None
    if not _named_thing(users[0].arguments.get("text"), request.text):
        return None
    told = {name: value for name, value in users[0].arguments.items() if name != _FILES}
    sought = str(sent.steps[looks[0]].arguments["query"])
    note = Step(_FIND_NOTES, {"query": _LIST_OR_NOTE.sub("", sought).strip() or sought})
    written = replace(users[0], arguments={**told, "text": Ref(looks[0], ("text",))})
    steps = tuple(note if k == looks[0] else written if step is users[0] else step for k, step in enumerate(sent.steps))
    return _sending(sent, steps, tools)


_LIST_OR_NOTE = re.compile(r"\s+(?:lists?|notes?)\s*\Z", re.IGNORECASE)
"""Ends what a note is called with what it is."""


def is_called_just(plan: Plan, found: Sequence[object], files: Sequence[object]) -> bool:
    """Return whether the one note that was found is called by all words of what a plan seeks and no others, as none of
    the files is: "the packing list" is the list so called, and no file of a packing list for school."""
    sought = next((step.arguments.get("query") for step in plan.steps if step.tool == _FIND_NOTES), None)
    if not isinstance(sought, str) or len(found) != 1:
        return False
    names = [str(one.get("name") or "").rpartition(".")[0] for one in files if isinstance(one, Mapping)]
    is_file = any(stems(re.sub(r"[-_]", " ", name)) == stems(sought) for name in names)
    title = _LIST_OR_NOTE.sub("", _title_of_note(found[0]))
    return not is_file and stems(title) == stems(_LIST_OR_NOTE.sub("", sought))


def is_entitled(plan: Plan, found: Sequence[object]) -> bool:
    """Return whether the first note that was found has all words of what a plan seeks in its title: a note that only
    speaks of "news" is not the news."""
    sought = next((step.arguments.get("query") for step in plan.steps if step.tool == _FIND_NOTES), None)
    return isinstance(sought, str) and bool(found) and stems(sought) <= stems(_title_of_note(found[0]))


def _title_of_note(record: object) -> str:
    return str(record.get("title") or "") if isinstance(record, Mapping) else ""


def says_only_a_name(reading: Plan, found: Plan | Refusal) -> bool:
    """Return whether a reading writes only what the thing is called that a plan would send: that tells nobody of it."""
    steps = found.steps if isinstance(found, Plan) else ()
    looked = [step.arguments.get("query") for step in steps if step.tool == _FIND_FILES]
    sought = [stems(query) for query in looked if isinstance(query, str)]
    texts = (step.arguments.get("text") for step in reading.steps if _FILES not in step.arguments)
    return any(isinstance(text, str) and words <= stems(text) for text in texts for words in sought)


def _named_thing(text: object, request: str) -> str:
    """Return what a text is the bare name of, as the request ends with it; empty where it says more."""
    if not isinstance(text, str):
        return ""
    name = re.sub(rf"\A(?:the|my|our|that|this)\s+|{_BESIDE_NAME}\s*[.!?]*\Z", "", text.strip(), flags=re.IGNORECASE)
    if not 0 < len(name.split()) <= _MOST_WORDS or not _STATES.isdisjoint(name.lower().split()):
        return ""
    ends = rf"\b(?:the|my|our|that|this)\s+{re.escape(name)}{_BESIDE_NAME}\s*[.!?]*\s*\Z"
    return name if re.search(ends, request, re.IGNORECASE) is not None else ""


def _sending(found: Plan, steps: Sequence[Step], tools: Mapping[str, ToolSpec]) -> Plan | None:
    try:
        return check_plan(replace(found, steps=tuple(steps)), tools)
    except PlanError:
        return None


def _is_sought(step: Step) -> bool:
    """Return whether a look-up has a word of its own, none of those by which anything is asked for."""
    said = " ".join(v for name, v in step.arguments.items() if name in _NAMING and isinstance(v, str))
    return any(t.low not in KNOWN_WORDS and t.low not in FUNCTION_WORDS for t in tokens(said) if t.kind == "word")
