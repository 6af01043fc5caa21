"""Reads the answer to a question back as what it was asked for: the whole request, or one of several things.

"Remind me to text mum", "When?", "6pm" is one request. After "2 contacts fit 'Anna': Anna Berg; Anna Kowalska", "Berg"
is one of them: an `Ambiguous` error says its choices after a colon, with semicolons between them, or stands for the
records that a look-up gave.

Covered: a missing time, length, number, unit, text, person, things for a list; a deed to be reminded of, which is said
like a request ("call the plumber at 5"); a place ("the second one", "2") and words that fit one choice alone ("the one
from Tuesday"). Not covered: an answer that is meant as another request; several of the choices, and what was asked
before the last request.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence, Set

from hearth import patterns as re
from hearth.language.reading import Utterance
from hearth.language.text.tokens import UNIT_WORDS, Slot, listed
from hearth.types import Episode, Plain, Plan, Record, StepResult, ToolSpec

# ── One of several ────────────────────────────────────────────────────────────────────────────────────


WITHIN = dt.timedelta(minutes=15)
"""An answer later than this is read by itself."""
PLACES: Mapping[str, int] = {
    **{word: k for k, word in enumerate(listed("first second third fourth fifth sixth seventh eighth ninth tenth"))},
    **{f"{n}{'st' if n == 1 else 'nd' if n == 2 else 'rd' if n == 3 else 'th'}": n - 1 for n in range(1, 21)},
    "last": -1,
    "latest": 0,
}
_FILLERS = frozenset(
    listed(
        "the one ones no i mean meant in it's its that that's is with from of please to for number a an my and on at"
    )
)
_MOST_WORDS = 8
_CHOICES = re.compile(r": (?P<names>.+); say\b", re.DOTALL)
_THERE = re.compile(r"; there are (?P<names>['\"].+)", re.DOTALL)
"""Ends an error that names nothing which is there with what is: "no list 'boat'; there are 'band', 'shopping'"."""
_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"")


def chosen(text: str, asked: Episode, now: dt.datetime, tools: Mapping[str, ToolSpec]) -> Record | None:
    """Return the thing that `text` picks, of those that the last request was asked about; None where it picks none
    alone. It goes beside the request, never into its text: what a card, a file or a device is called is no word of the
    owner's, to be planned, remembered or learnt from."""
    failed = next((one for one in asked.results if one.error_kind == "Ambiguous" or _THERE.search(one.error)), None)
    if failed is None or asked.plan is None or not dt.timedelta() <= now - asked.request.now <= WITHIN:
        return None
    names: list[str] = []
    if (there := _THERE.search(failed.error)) is not None:
        names = [one or other for one, other in _QUOTED.findall(there["names"])]
    elif asked.answer.status != "needs":
        return None
    elif (found := _CHOICES.search(failed.error)) is not None:
        names = found["names"].split("; ")
    if len(names) > 1:
        place = _picked(text, names)
        called, kind = _called(asked.plan, failed, asked.request.text, tools)
        return Record(kind, names[place].partition(" (")[0], called) if place is not None and called else None
    records, kind = _records(asked, failed, tools)
    place = _picked(text, [_words_of(record) for record in records])
    id = records[place].get("id") if place is not None else None
    return Record(kind, id) if isinstance(id, str) else None


def _called(plan: Plan, failed: StepResult, said: str, tools: Mapping[str, ToolSpec]) -> tuple[str, str]:
    """Return the words of the request that fit several things, and the type of what they name."""
    step = plan.steps[failed.step]
    spec = tools.get(step.tool)
    kinds = {one.name: one.type.removeprefix("list[").removesuffix("]") for one in (spec.parameters if spec else ())}
    for name, value in step.arguments.items() if spec is not None else ():
        for words in value if isinstance(value, list) else (value,):
            if isinstance(words, str) and Record(kinds[name], "", words).is_said_in(said):
                return words, kinds[name]
    return "", ""


def _records(
    asked: Episode, failed: StepResult, tools: Mapping[str, ToolSpec]
) -> tuple[list[Mapping[str, Plain]], str]:
    """Return the records that the failed step was to take one of, and the type of their ids."""
    steps = asked.plan.steps if asked.plan is not None else ()
    sources = {ref.step for ref in steps[failed.step].refs()} if failed.step < len(steps) else set()
    for result in asked.results:
        spec = tools.get(steps[result.step].tool)
        if result.step in sources and result.status == "done" and isinstance(result.value, list) and spec is not None:
            records: list[Mapping[str, Plain]] = [value for value in result.value if isinstance(value, dict)]
            if len(records) > 1 and (kind := spec.fields.get("id", "")):
                return records, kind
    return [], ""


def _words_of(record: Mapping[str, Plain]) -> str:
    """Return what an owner may call a record by: its texts, and the day and hour of its times."""
    said = [value for name, value in record.items() if isinstance(value, str) and name != "id"]
    for value in tuple(said):
        if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d.*", value):
            at = dt.datetime.fromisoformat(value)
            said.append(f"{at:%A %B} {at.day} {at:%H:%M} {at.hour % 12 or 12}{at:%p}")
    return " ".join(said)


def _picked(text: str, choices: Sequence[str]) -> int | None:
    """Return the place of the one choice that `text` names or counts to."""
    words = [word for word in re.findall(r"[\w'’:.@+-]*\w", text.lower()) if word not in _FILLERS]
    if not choices or len(text.split()) > _MOST_WORDS:
        return None
    if len(words) == 1 and words[0] in PLACES and -len(choices) <= PLACES[words[0]] < len(choices):
        return PLACES[words[0]] % len(choices)
    if len(words) == 1 and words[0].isdigit() and 0 < int(words[0]) <= len(choices):
        return int(words[0]) - 1
    forms = [set(re.findall(r"[\w'’:.@+-]*\w", choice.lower())) for choice in choices]
    fitting = [place for place, form in enumerate(forms) if words and set(words) <= form]
    return fitting[0] if len(fitting) == 1 else None


# ── What was missing ──────────────────────────────────────────────────────────────────────────────────


_TIMES = frozenset(listed("at start end date length due when until"))
_LENGTHS = frozenset(listed("length"))
_ITEMS = frozenset({"items"})
_LIST = frozenset({"list"})
_UNIT_NOW, _UNIT_WANTED = "from_unit", "to_unit"
_PEOPLE = frozenset(listed("to name attendees person sender"))
_DEEDS = frozenset({"add_reminder.text"})
"""What is to be done by a person, so that the answer begins like a request."""
_TEXTS = frozenset(listed("text title what question body"))
_REQUESTS = frozenset(
    listed(
        "add remind set put cancel delete move show find what when where who which how why is are do does did can "
        "could would will turn switch email mail write send call read open tell make take no nope nah never forget "
        "undo list please what's whats when's who's"
    )
)
"""Words that begin a request rather than answer a question."""
_NO_DEEDS = frozenset(
    listed(
        "remind show find what when where who which how why is are do does did can could would will no nope nah never "
        "forget undo list what's whats when's who's cancel delete set"
    )
)
"""Those of them that begin nothing one would be reminded of."""
_WHO = ("person", "unknown_person", "email")
_LONGEST = 40
"""Greatest number of words of an answer."""
_MARK_LAST = re.compile(
    r"(?P<said>.+?)[\s,]+(?:sorry|i\s+meant?|i\s+beg\s+your\s+pardon|instead|rather|(?:would\s+be|is)\s+better)"
    r"\s*[.!]*\s*",
    re.IGNORECASE | re.DOTALL,
)
_MARK_FIRST = re.compile(
    r"\s*(?:scratch\s+that|not\s+that|hang\s+on|forget\s+(?:it|that))\s*[,.:]?\s+(?=\S)", re.IGNORECASE
)
_HAS_MARK = re.compile(r"\s*(?:no|nope|nah|sorry|actually|make|change|i\s+meant?|oh|wait)\b", re.IGNORECASE)
_THE_ONE = re.compile(r"^(?:at|on|for|to|make\s+it|the)\s+|\s+(?:one|please)$", re.IGNORECASE)
_TOLD = re.compile(
    r"\s*(?:please\s+)?(?:tell|text|message|msg|let|(?:reply|respond|write)(?:\s+back)?\s+to|answer|e?mail)\s+(?P<who>her|him|them)\b",
    re.IGNORECASE,
)
"""Begins with who is told, unnamed."""
_AND = re.compile(r"\s*and\s+", re.IGNORECASE)


def with_mark_first(text: str) -> str:
    """Return a short correction with its mark in front: "half past ten, sorry" as "no, half past ten"."""
    if (first := _MARK_FIRST.match(text)) is not None:
        return f"no, {text[first.end() :]}"
    last = _MARK_LAST.fullmatch(text)
    if last is None:
        return text
    said = _AND.sub("", last["said"], count=1) if _AND.match(last["said"]) else last["said"]
    if not said or len(said.split()) > _MOST_WORDS or said.split()[0].lower() in _REQUESTS:
        return text
    return said if _HAS_MARK.match(said) else f"no, {said}"


def begins_like_request(text: str) -> bool:
    """Return whether a text begins as requests do."""
    words = text.lower().split()
    return bool(words) and words[0].strip(",") in _REQUESTS


def _with_one_of(before: str, pair: tuple[Slot, Slot], said: str) -> str:
    """Return the request with the one of two values that was chosen; empty where more was said."""
    short = _THE_ONE.sub("", said)
    is_short = 0 < len(short.split()) <= _MOST_WORDS
    return f"{before[: pair[0].start]}{short}{before[pair[1].end :]}" if is_short else ""


_WHICH_PERSON = ("find_contact.name",)


def answered(utterance: Utterance, asked: Episode) -> str:
    """Return the request that was asked about with what it lacked; empty where this does not answer the question."""
    text, now, refusal = utterance.text, utterance.now, asked.refusal
    if refusal is None or refusal.kind != "needs" or not dt.timedelta() <= now - asked.request.now <= WITHIN:
        return ""
    said, before = text.strip().rstrip(".!?"), asked.request.text.strip().rstrip(".!?")
    words = said.lower().split()
    begins = _NO_DEEDS if _DEEDS & {*refusal.missing} else _REQUESTS
    if not 0 < len(words) <= _LONGEST or words[0].strip(",") in begins or text.rstrip().endswith("?"):
        return ""
    names = {name.rpartition(".")[2] for name in refusal.missing}
    slots = utterance.saying(said).slots
    then = Utterance.of(asked.request, utterance.context).saying(before)
    if (row := then.people_left_open) is not None and refusal.missing == _WHICH_PERSON:
        one = next((name for name in row.said if re.search(rf"\b{re.escape(name)}\b", said, re.IGNORECASE)), "")
        return f"{before[: row.start]}{one}{before[row.end :]}" if one else ""
    if (pair := then.alternatives) is not None:
        return _with_one_of(before, pair, said)
    if names & _PEOPLE and _is_whole(said, slots) and slots[0].kind in _WHO:
        return _with_person(before, said, has_cue=slots[0].cue != "")
    if names & _TIMES and (time := _time_said(utterance.saying(said), names)):
        return f"{before} {time}"
    if names == _LIST:
        return _with_list(before, said, {name.partition(".")[0] for name in refusal.missing})
    if names <= {_UNIT_NOW, _UNIT_WANTED} and (unit := _unit_said(words)):
        return _with_unit(before, then.slots, unit, is_wanted=_UNIT_NOW not in names)
    if names & _ITEMS and (verb := re.match(r"(?:please\s+)?(?:add|put)\b", before, re.IGNORECASE)) is not None:
        return f"{verb[0]} {said}{before[verb.end() :]}"
    if names & _TEXTS:
        joint = " " if words[0] in ("to", "that", "about", "for", "saying", "with") else ": "
        return f"{before}{joint}{said}"
    return ""


def _unit_said(words: Sequence[str]) -> str:
    """Return the unit that an answer says and nothing else: "km", "it's in grams"."""
    left = [word for word in words if word not in _FILLERS]
    return left[0] if len(left) == 1 and left[0] in UNIT_WORDS else ""


def _with_unit(before: str, slots: Sequence[Slot], unit: str, *, is_wanted: bool) -> str:
    """Return the request with the unit that its one number is in, or that is wanted; empty where it has several."""
    if is_wanted:
        return f"{before} to {unit}"
    numbers = [slot for slot in slots if slot.kind == "number"]
    return f"{before[: numbers[0].end]} {unit}{before[numbers[0].end :]}" if len(numbers) == 1 else ""


def _with_person(before: str, said: str, *, has_cue: bool) -> str:
    """Return the request with who it is for: where it has somebody already, in their place."""
    if (told := _TOLD.match(before)) is not None:
        return f"{before[: told.start('who')]}{said}{before[told.end('who') :]}"
    return f"{before} {'' if has_cue else 'to '}{said}"


_OF_A_LIST = re.compile(r"\b(?:a|an|the|my|our|that|this|another)\s+(?:new\s+)?list\b", re.IGNORECASE)
_AROUND_A_LIST = re.compile(
    r"^(?:(?:on|to|from|off|in|for|the|my|our|a|an|new|one|list|called|named|call|it|please)\s+)+"
    r"|\s+(?:list|one|please)$",
    re.IGNORECASE,
)
_LONGEST_LIST_NAME = 5
_NO_LIST = re.compile(
    r"\s*(?:please\s+)?(?:no|nope|nah|stop|cancel|(?:never|don['’]?t|do\s+not)\s*(?:mind|bother|worry)?|none|nothing|"
    r"(?:forget|leave|drop|skip|stop)\s+(?:it|that|this)|no\s+(?:list|matter|need))"
    r"(?:[\s,]+(?:of\s+(?:them|those|these)|thanks|thank\s+you|ta|please|then|now|it|that))*\s*",
    re.IGNORECASE,
)
"""Takes the request back instead of naming a list."""
_TO_A_LIST = {"add_to_list": "to", "remove_from_list": "off"}


def _with_list(before: str, said: str, tools: Set[str]) -> str:
    """Return the request with the list that was answered, be it there or to be started."""
    name = _AROUND_A_LIST.sub("", _AROUND_A_LIST.sub("", said.strip(" ,\"'“”"))).strip()
    is_name = 0 < len(name.split()) <= _LONGEST_LIST_NAME and re.search(r"[,;:?]", name) is None
    if not is_name or _NO_LIST.fullmatch(said) is not None:
        return ""
    called = f"the {list_said(name)} list"
    made = with_list_named(before, name)
    if made != before:
        return made
    if tools <= {"read_list"}:
        return f"what's on {called}"
    if (some := _OF_A_LIST.search(before)) is not None:
        return f"{before[: some.start()]}{called}{before[some.end() :]}"
    joints = [joint for tool, joint in _TO_A_LIST.items() if tool in tools]
    return f"{before} {joints[0]} {called}" if len(joints) == 1 else ""


# ── What a list is called ─────────────────────────────────────────────────────────────────────────────

_NEW_LIST = re.compile(
    r"\s*(?:please\s+)?(?:(?:start|make|create|begin|open|set\s+up)\s+(?:me\s+)?(?:a|an|another)\s+(?:new\s+)?|(?:a\s+)?new\s+)list\b"
    r"(?:\s+(?:(?:called|named|titled)\s+(?P<called>(?!(?:with|and)\b)[^,.;:?]{2,40}?)|(?P<name>(?:for\s+(?!(?:me|us|you|him|her|them|it)\b)(?:(?:the|my|our)\s+)?)?"
    r"(?!(?:for|of|with|to(?![\s-]do\b)|and|on|called|named|titled)\b)[^,.;:?]{2,40}?)))?\s*(?:\bwith|:)\s+(?P<items>\S.*?)(?:\s+(?:on|in)\s+it)?\s*[.!]*\s*",
    re.IGNORECASE,
)
_FOR = re.compile(r"for\s+(?:(?:the|my|our)\s+)?", re.IGNORECASE)
_SAYS_MORE = re.compile(r"\b(?:to|do|for|of|and|or|with|on|in|at|by|off|from)\b", re.IGNORECASE)
"""Words that say something of their own, unless they stand in a name."""


def list_said(name: str) -> str:
    """Return the name of a list as it is said in a request: in quotes where its words would be read by themselves."""
    return f'"{name}"' if " " in name and _SAYS_MORE.search(name) and '"' not in name else name


def with_list_named(text: str, name: str = "") -> str:
    """Return a new list as what is put on it: "start a list called beach with towels on it" adds towels to a list.

    Args:
        name: What it is called where the text does not say so.
    """
    found = _NEW_LIST.fullmatch(text)
    if found is not None and (said := found["called"] or found["name"]):
        first = _FOR.match(said)
        name = said[first.end() :] if first is not None else said
    return text if found is None or not name else f"add {found['items']} to the {list_said(name)} list"


def _is_whole(said: str, slots: Sequence[Slot]) -> bool:
    return bool(slots) and slots[0].cue_start == 0 and slots[-1].end == len(said)


def _time_said(utterance: Utterance, names: Set[str]) -> str:
    """Return an answer that says only a time or a length, with the word before it: "at half six", "for ten minutes"."""
    said, is_length = utterance.text, names & _TIMES <= _LENGTHS
    for form in (said, f"{said} minutes" if is_length else f"at {said}"):
        slots = utterance.saying(form).slots
        if _is_whole(form, slots) and all(slot.kind in ("time", "duration") for slot in slots):
            cue = "" if slots[0].cue else "for " if slots[0].kind == "duration" else "at " if form[0].isdigit() else ""
            return f"{cue}{form}"
    return ""
