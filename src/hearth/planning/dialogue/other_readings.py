"""Judges other readings of a request by its words: what a plan leaves out of it, what else its look-up could seek.

Beside `execution.speculation`, which says whether the things are there. Not covered: which reading is taken (`agent`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hearth.errors import PlanError
from hearth.formats.plan_validation import check_plan, is_taking_away, renumbered, shifted
from hearth.language.acts.clauses import VERBS
from hearth.language.text.thesaurus import KNOWN_WORDS
from hearth.language.text.tokens import Slot, Token, tokens
from hearth.language.text.word_match import stem, stems
from hearth.planning.arguments.alignment import FUNCTION_WORDS
from hearth.types import Argument, Plan, Ref, Refusal, Request, Step, ToolSpec

_NAMING = frozenset({"query", "name", "sender"})
"""Parameters of look-ups that hold what a thing is called."""
_OF_MEMORY = frozenset({"search_memory", "find_answer"})
"""What the owner's things are asked by is `memory_fallback`'s to take."""


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
    looks = [k for k, step in enumerate(plan.steps) if isinstance(step.arguments.get("query"), str)]
    if len(looks) != 1:
        return []
    found: list[Plan] = []
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
    r"(?:(?:the|my|our|that)\s+)?(?P<what>(?!(?:it|that|them|this|those|off)\b)[^,.;:?!]{1,80}?)(?(off)|\s+off)\s*[.!]*\s*",
    re.IGNORECASE,
)
_SAYS_WHERE = re.compile(r"\b(?:reminders?|tasks?|lists?|alarms?)\b", re.IGNORECASE)


def ticked_thing(text: str, found: Plan | Refusal) -> str:
    """Return what is to be ticked off where only its name is said: as a reminder it was read, and it may stand on a
    list. Empty where nothing is, or where the request says which it is."""
    place = _ticking(found) if isinstance(found, Plan) else None
    if isinstance(found, Plan) and place is not None and len(found.steps) > len(_TICK):
        text = found.steps[place + 1].text or text  # beside it, another list may be named
    if _SAYS_WHERE.search(text) is not None:
        return ""
    if isinstance(found, Refusal):
        said = _TICKED.fullmatch(text) if found.kind == "out_of_scope" else None
        return said["what"].strip() if said is not None else ""
    query = found.steps[place].arguments.get("query") if place is not None else None
    return query if isinstance(query, str) else ""


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
    if isinstance(found, Refusal):
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
    note = Step(_FIND_NOTES, {"query": sent.steps[looks[0]].arguments["query"]})
    written = replace(users[0], arguments={**told, "text": Ref(looks[0], ("text",))})
    steps = tuple(note if k == looks[0] else written if step is users[0] else step for k, step in enumerate(sent.steps))
    return _sending(sent, steps, tools)


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
