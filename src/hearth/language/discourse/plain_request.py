"""A request in plain words, and a question's answer as the request that it completes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence, Set
from typing import Literal

from hearth import patterns as re
from hearth.language.reading import Utterance
from hearth.language.temporal.time_words import WEEKDAYS
from hearth.language.tokens import NUMBER_WORDS, UNIT_WORDS, Slot, listed, spoken_number, tokens
from hearth.language.values.slots import find_slots
from hearth.types import Context, Episode, Plain, Plan, Record, StepResult, ToolSpec

# ── Question answers ──────────────────────────────────────────────────────────────────────────────────────
# Reads the answer to a question back as what it was asked for: the whole request, or one of several things.
#
# "Remind me to text mum", "When?", "6pm" is one request. After "2 contacts fit 'Anna': Anna Berg; Anna Kowalska",
# "Berg" is one of them: an `Ambiguous` error says its choices after a colon, with semicolons between them, or stands
# for the records that a look-up gave.
#
# Covered: a missing time, length, number, unit, text, person, things for a list; a deed to be reminded of, which is
# said like a request ("call the plumber at 5"); a place ("the second one", "2") and words that fit one choice alone
# ("the one from Tuesday"). Not covered: an answer that is meant as another request; several of the choices, and what
# was asked before the last request.

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
_LONGEST_ANSWER = 40
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
    if not 0 < len(words) <= _LONGEST_ANSWER or words[0].strip(",") in begins or text.rstrip().endswith("?"):
        return ""
    then = Utterance.of(asked.request, utterance.context).saying(before)
    if (row := then.people_left_open) is not None and refusal.missing == _WHICH_PERSON:
        one = next((name for name in row.said if re.search(rf"\b{re.escape(name)}\b", said, re.IGNORECASE)), "")
        return f"{before[: row.start]}{one}{before[row.end :]}" if one else ""
    if (pair := then.alternatives) is not None:
        return _with_one_of(before, pair, said)
    return _completed(then, utterance.saying(said), refusal.missing)


def _completed(then: Utterance, answer: Utterance, missing: Sequence[str]) -> str:
    """Return a request with what an answer says of the arguments it lacked; empty where it says nothing of them."""
    before, said, slots = then.text, answer.text, answer.slots
    words = said.lower().split()
    names = {name.rpartition(".")[2] for name in missing}
    if names & _PEOPLE and _is_whole(said, slots) and slots[0].kind in _WHO:
        return _with_person(before, said, has_cue=slots[0].cue != "")
    if names & _TIMES and (time := _time_said(answer, names)):
        return f"{before} {time}"
    if names == _LIST:
        return _with_list(before, said, {name.partition(".")[0] for name in missing})
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


# ── Plain request ─────────────────────────────────────────────────────────────────────────────────────────
# Rewrites a request as it is meant where people correct themselves, say what it is about first, or leave things out.
#
# "Forward it to Kath's... no, to Helen" goes to Helen. "I've got the brandy, you can take it off the list" takes the
# brandy off the list. "It's cold in here. Put the heating up, would you?" is about the heating. "Louder" and "dim the
# lights a bit" get their number: a step up or down from what is set now, or an end of the range. "The list" is the
# one that was just used, else the only one there is. The owner is shown the reading.
#
# Covered: a correction marked by "no", "sorry" or "I mean" beside a pause; the thing that the sentence before the
# order is about; remarks and tags that ask for nothing; one order for a level that is nothing else, a step that was
# said ("up by 20 percent"), read from both ends, a word at a time, until the thing is left. Not covered: corrections
# without a mark; what is said two sentences before; a level that was said ("turn it down to 18"), which is planned as
# it stands; "it" and "them" for a list; which of several lists is meant where none was used before.
#
# Source: Levelt 1983, Monitoring and self-repair in speech (reparandum, editing term, repair).

# ── Levels that are not said ──────────────────────────────────────────────────────────────────────────


Quantity = Literal["volume", "brightness", "temperature"]

_STEPS: dict[Quantity, tuple[float, float, float]] = {
    "volume": (5, 10, 25),
    "brightness": (10, 20, 40),
    "temperature": (0.5, 1, 2),
}
"""By how much: a little, by itself, a lot; percent, or degrees Celsius."""
_THINGS: dict[Quantity, frozenset[str]] = {
    "volume": frozenset(listed("volume sound loudness music radio tv telly television speaker speakers stereo song")),
    "brightness": frozenset(listed("light lights lamp lamps brightness lighting bulb bulbs lantern")),
    "temperature": frozenset(listed("heating heat heater radiator radiators thermostat temperature furnace boiler")),
}
_IN_A_ROOM: dict[Quantity, str] = {"volume": "speaker", "brightness": "lights", "temperature": "heating"}
"""What is meant where only a room is named."""
_WAYS: dict[str, tuple[Quantity | None, str]] = {
    **dict.fromkeys(("up", "raise", "increase", "boost", "higher"), (None, "up")),
    **dict.fromkeys(("down", "lower", "reduce", "decrease", "lessen"), (None, "down")),
    "louder": ("volume", "up"),
    **dict.fromkeys(("quieter", "softer"), ("volume", "down")),
    **dict.fromkeys(("brighter", "brighten"), ("brightness", "up")),
    **dict.fromkeys(("dimmer", "darker", "dim"), ("brightness", "down")),
    **dict.fromkeys(("warmer", "hotter"), ("temperature", "up")),
    **dict.fromkeys(("cooler", "colder"), ("temperature", "down")),
    **dict.fromkeys(("mute", "silence"), ("volume", "to 0")),
}
"""Words that say which way, and of what where they say it."""
_WAY = rf"(?P<way>{'|'.join(_WAYS)})"
_AT_FRONT = (
    re.compile(
        r"(?:please|pls|can|could|would|will|you|kindly|hey|just|now|turn|put|bring|crank|take|make|set|get|speak|talk|play)(?:\s+|$)",
        re.I,
    ),
    re.compile(rf"{_WAY}(?:\s+|$)", re.I),
)
_END = r"(?:^|\s+)"
_ONE_NUMBER = rf"(?:\d{{1,3}}(?:[.,]\d)?|{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})"
_BY = rf"(?P<by>{_ONE_NUMBER}(?:[\s-]{_ONE_NUMBER})?)"
_FEELS = "freezing|cold|chilly|hot|boiling|warm|stuffy|dark|gloomy|loud|noisy|bright|quiet"
_AT_END = (
    re.compile(
        rf"{_END}(?:it['’]?s|it\s+is|i['’]?m)\s+(?:(?:so|too|really|very|bloody)\s+)?(?:{_FEELS})(?:\s+in\s+here)?$",
        re.I,
    ),
    re.compile(rf"{_END}(?:please|pls|now|for\s+me|in\s+here|would\s+you|will\s+you)$", re.I),
    re.compile(rf"{_END}(?P<room>in\s+the\s+[\w'’-]+(?:\s+room)?)$", re.I),
    re.compile(rf"{_END}a\s+(?P<couple>couple)\s+(?:of\s+)?degrees$", re.I),
    re.compile(rf"{_END}by\s+{_BY}\s*(?P<unit>%|percent|per\s+cent|degrees?|points?)$", re.I),
    re.compile(rf"{_END}{_BY}\s+(?P<unit>degrees?)(?=\s+(?:warmer|hotter|cooler|colder)$)", re.I),
    re.compile(rf"{_END}(?P<little>a\s+(?:(?:tiny|little)\s+bit|bit|little|tad|touch|notch)|slightly)$", re.I),
    re.compile(rf"{_END}(?P<much>a\s+lot|much)$", re.I),
    re.compile(
        rf"{_END}(?:to|at|on)\s+(?:the\s+)?(?P<most>max(?:imum)?|full(?:\s+(?:volume|brightness|blast))?)$", re.I
    ),
    re.compile(rf"{_END}(?P<most>all\s+the\s+way\s+up)$", re.I),
    re.compile(rf"{_END}(?:to|at)\s+(?P<half>half(?:\s+(?:volume|brightness))?)$", re.I),
    re.compile(rf"{_END}{_WAY}$", re.I),
)
_NOT_A_NAME = re.compile(r"\d|\b(?:to|and|then|it|this|that|when|if|at|until|for)\b|[,;:?]", re.IGNORECASE)
_ARTICLE = re.compile(r"(?:the|my|our)\s+", re.IGNORECASE)
_LEVEL_WORD = re.compile(
    r"(?:\b(?:the\s+)?(?:volume|sound|loudness|brightness|temperature)(?:\s+(?:of|on|from))?\b)", re.I
)
_LONGEST_CHARS, _LONGEST_NAME = 120, 7


_ASKS = re.compile(r"(?:what|which|who|whose|where|when|why|how)\b", re.IGNORECASE)


def _thing_and_manner(rest: str) -> tuple[str, dict[str, str]]:
    """Return the thing that an order is about, with its room, and how it is to be changed."""
    found: dict[str, str] = {}
    while (shorter := _shortened(rest, found)) != rest:
        rest = shorter
    if "room" in found:
        rest = found["room"] if rest.lower() == "it" else f"{rest} {found['room']}".strip()
    return rest, found


def with_its_level(text: str) -> str:
    """Return the order with the number that it means; the text where it is no such order, or says a level itself."""
    rest = text.strip().rstrip(".!? ")
    if len(rest) > _LONGEST_CHARS or _ASKS.match(rest):
        return text
    rest, found = _thing_and_manner(rest)
    way = found.get("way", "").lower()
    named = next((quantity for quantity, words in _THINGS.items() if words & set(rest.lower().split())), None)
    quantity, direction = _WAYS.get(way, (None, ""))
    quantity = quantity or named
    is_named = not rest or named == quantity or (named is None and way in _WAYS and _WAYS[way][0] is not None)
    if any(word in _WAYS for word in rest.lower().split()):
        return text  # "volume louder softer" says two things
    rest = "" if rest.lower() in ("it", "everything", "things") and named is None else rest
    if quantity is None or not is_named or _NOT_A_NAME.search(rest) or len(rest.split()) > _LONGEST_NAME:
        return text
    level = _level(quantity, direction, found)
    return _said(quantity, rest, level) if level else text


def _shortened(rest: str, found: dict[str, str]) -> str:
    """Return the order without the first or last words that are no name, after noting what they say."""
    for form in (*_AT_END, *_AT_FRONT):
        match = form.search(rest) if form in _AT_END else form.match(rest)
        if match is None:
            continue
        new = {name: said for name, said in match.groupdict().items() if said}
        if new.keys() & found.keys():
            continue  # "volume louder softer" says two things
        found.update(new)
        return f"{rest[: match.start()]} {rest[match.end() :]}".strip(" ,")
    return rest


def _level(quantity: Quantity, direction: str, found: dict[str, str]) -> str:
    """Return "up by 10" or "to 100"; empty where nothing such is said."""
    if "most" in found or "half" in found:
        is_one = quantity != "temperature" and direction in ("", "up") and not {"by", "little", "much"} & found.keys()
        return ("to 100" if "most" in found else "to 50") if is_one else ""
    if direction not in ("up", "down"):
        return direction if not {"by", "little", "much"} & found.keys() else ""
    little, usual, much = _STEPS[quantity]
    by = little if "little" in found else much if "much" in found else usual
    if "couple" in found:
        return f"{direction} by 2" if quantity == "temperature" and not {"by", "little", "much"} & found.keys() else ""
    if "by" in found:
        said = tokens(found["by"])
        number = spoken_number(said, 0)
        if (
            number is None
            or number[1] != len(said)
            or found["unit"].startswith("degree") != (quantity == "temperature")
        ):
            return ""
        by = number[0]
    return f"{direction} by {by:g}"


def _said(quantity: Quantity, thing: str, level: str) -> str:
    """Return the order in the words of the shipped demonstrations."""
    named = " ".join(_LEVEL_WORD.sub(" ", thing).split())
    is_room = named.lower().startswith("in ")
    named = f"{_IN_A_ROOM[quantity]} {named}" if is_room else _ARTICLE.sub("", named, count=1)
    verb = "set" if level.startswith("to ") else "turn"
    if quantity == "temperature":
        return f"{verb} the {named or 'heating'} {level} {'degree' if level.endswith(' 1') else 'degrees'}"
    named = named or ("lights" if quantity == "brightness" else "")
    return f"{verb} the {quantity}{f' of the {named}' if named else ''} {level} percent"


# ── The list that is meant ────────────────────────────────────────────────────────────────────────────


"""A list that was used longer ago is not meant any more."""
_THE_LIST = re.compile(
    r"\b(?:the|my|our|that|this)\s+list\b(?!\s+(?:of|for|called|named|with|about)\b|['’]s\s+name)", re.IGNORECASE
)
_OFF = re.compile(
    r"\s*(?:(?:please|ok|okay|and|now|oh|can\s+you|could\s+you)[\s,]+)*(?:take|cross|strike|knock|scratch|tick)\s+"
    r"(?P<what>(?!(?:it|that|them|this|the\s+day)\b)[^,.;?!]{1,60}?)\s+off"
    r"(?:\s+(?:again|too|as\s+well|please))*(?:\s*[,.;–-]?\s*(?:(?:i|we|he|she|they)(?:['’]?(?:ve|m|re|s|d))?)\s+(?!need\b)[^,.;?!]*)?\s*[.!]*\s*",
    re.IGNORECASE,
)
_LONGEST_ABOUT_LISTS = 2_000
_LISTS = frozenset({"add_to_list", "remove_from_list", "read_list"})


def on_its_list(text: str, recent: Sequence[Episode], now: dt.datetime, names: Sequence[str]) -> str:
    """Return a request with the list named that it means; unchanged where that is not clear.

    Args:
        recent: What was asked before, newest first.
        names: The lists that are there.
    """
    text = _with_names_whole(text, names)
    talked = _list_used(recent, now)
    name = talked or (names[0] if len(names) == 1 else "")
    if not name or len(text) > _LONGEST_ABOUT_LISTS:
        return text
    if (said := _THE_LIST.search(text)) is not None:
        return f"{text[: said.start()]}the {list_said(name)} list{text[said.end() :]}"
    off = _OFF.fullmatch(text) if talked else None
    return text if off is None else f"take {off['what']} off the {list_said(name)} list"


def _with_names_whole(text: str, names: Sequence[str]) -> str:
    """Return the text with the names of lists marked that read as more than a name: "the council to do list"."""
    for name in names if len(text) <= _LONGEST_ABOUT_LISTS else ():
        said = list_said(name)
        place = re.search(rf"(?<![\w\"]){re.escape(name)}(?=\s+list\b)", text, re.IGNORECASE) if said != name else None
        if place is not None:
            text = f"{text[: place.start()]}{said}{text[place.end() :]}"
    return text


def _list_used(recent: Sequence[Episode], now: dt.datetime) -> str:
    """Return the name of the list that was used last; empty where none was lately."""
    for episode in recent:
        if episode.plan is None or not dt.timedelta() <= now - episode.request.now <= WITHIN:
            continue
        for step in reversed(episode.plan.steps):
            name = step.arguments.get("list")
            if step.tool in _LISTS and isinstance(name, str):
                return re.sub(r"^(?:the|my|our)\s+|\s+list$", "", name, flags=re.IGNORECASE)
    return ""


# ── The request as it is meant ────────────────────────────────────────────────────────────────────────


_EDITING = re.compile(
    r"\s*(?:\.\.\.|…|—|–|-\s|,|;)\s*(?:(?:oh|er|uh|um),?\s+)?"
    r"(?:(?P<sure>no,?\s+wait,?|wait,?\s+no,?|no,?\s+sorry,?|no,|no(?=\s+(?:just|only)\b)|sorry,?|scratch\s+that,?|(?:no,?\s+)?i\s+mean[,:]?|or\s+rather,?|"
    r"(?:no|nah|actually|sorry),?\s+make\s+it|make\s+that)|no)\s+(?P<alone>(?:just|only)\s+)?(?=\S)",
    re.IGNORECASE,
)
"""The pause and the words by which a speaker takes back what was just said."""
_TELLS = re.compile(
    r"\b(?:tell|let|remind|inform|notify|warn|text|message|msg|e-?mail|mail|write|reply|answer|say|ping|sms|whatsapp|ask)\b",
    re.IGNORECASE,
)
_TEXT_BEGINS = re.compile(r"[:\"“]|\b(?:that(?!\s+to\b)|i|we|he|she|they|says?|saying)\b", re.IGNORECASE)
"""Begins the words of a text for somebody, which stay as they were typed: "text Bo that I have eggs, no just milk"."""
_OF_SEVERAL = re.compile(r"\b(?:both|all|every)(?:\s+(?:of\s+)?(?:the|my|our))?\s+\Z", re.IGNORECASE)
_IN_A_ROW = re.compile(r"(?:,|&|\band)\s+\Z", re.IGNORECASE)
_RUN_OF_BLANKS = re.compile(r"\s{50,}")
"""Nobody types so many; readers of requests take them one by one."""
_PAUSE = re.compile(r"\.\.\.|…|—|–")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_MOST_TAKEN_BACK, _MOST_REPAIRS, _LONGEST = 6, 3, 1_000
_OPENINGS = frozenset(listed("actually oh no nah sorry wait ok okay well hmm right so please and"))
_LIKE = 4
"""So many first letters make one word a correction of another: "puregym, no purefit"."""


def without_repairs(text: str) -> str:
    """Return the request with what the speaker took back left out."""
    for _ in range(_MOST_REPAIRS):
        repaired = _repaired_once(text)
        if repaired == text:
            break
        text = repaired
    return text


def _repaired_once(text: str) -> str:
    for match in _EDITING.finditer(text):
        before, after = text[: match.start()], text[match.end() :]
        words, first = list(_WORD.finditer(before)), _WORD.match(after)
        if all(word[0].lower() in _OPENINGS for word in words) or first is None:
            continue  # nothing was said that is taken back: "Actually, make that eleven"
        if match["alone"] and _is_in_told_text(before):
            continue
        is_marked = bool(match["sure"]) or _PAUSE.search(match[0]) is not None
        is_short = is_marked and (len(words) == 1 or len(_WORD.findall(after)) == 1)
        anchor = _taken_back(words, first[0]) or (words[-1] if is_short else None)
        if anchor is not None and (is_marked or anchor is words[-1]):
            kept = before[: anchor.start()]
            if not match["alone"]:
                return kept + after
            if _IN_A_ROW.search(kept) is None:  # where the row begins of which one is left is not known
                return _OF_SEVERAL.sub("", kept) + after
    return text


def _taken_back(words: Sequence[re.Match[str]], first: str) -> re.Match[str] | None:
    """Return the word in whose place another is said: the same, one that begins alike, another number or weekday."""
    near, last = words[-_MOST_TAKEN_BACK:], words[-1]
    same = next((word for word in reversed(near) if word[0].lower() == first.lower()), None)
    return same or (last if _is_like(last[0], first) or _is_same_kind(last[0], first) else None)


def _is_in_told_text(before: str) -> bool:
    """Return whether what is said next are words of a text for somebody."""
    told = _TELLS.search(before)
    return told is not None and _TEXT_BEGINS.search(before, told.end()) is not None


def _is_like(old: str, new: str) -> bool:
    return old.lower() != new.lower() and len(new) >= _LIKE and old[:_LIKE].lower() == new[:_LIKE].lower()


def _is_same_kind(old: str, new: str) -> bool:
    """Return whether both are weekdays, or both numbers."""
    both = {old.lower(), new.lower()}
    return both <= WEEKDAYS.keys() or all(word in NUMBER_WORDS or word.isdecimal() for word in both)


_TAG = re.compile(r"\s*,?\s+(?:would|will|can|could)\s+you\s*(?:please\s*)?[?.!]*\s*$", re.IGNORECASE)
_ORDER = (
    r"(?:so\s+|and\s+)?(?:(?:you|we)\s+can\s+|(?:would|could|can|will)\s+you\s+|please\s+|just\s+|pls\s+)*"
    r"(?P<order>(?P<verb>add|block|bin|cancel|change|check|clear|complete|cross|delete|drop|knock|lock|lower|mark|move|"
    r"mute|note|put|raise|remove|scrap|scratch|send|set|shut|snooze|strike|switch|take|tick|turn|write)\s+"
    r"(?P<it>it|that\s+one|this\s+one|that|this|them|those|['’]?em)\b(?P<rest>[^.;!?]*))[.!?]*\s*"
)
_ABOUT = re.compile(rf"(?P<remark>[^?]{{3,120}}?)\s*(?:[.;!,]|\s-|\s(?=so\s))\s*{_ORDER}", re.IGNORECASE)
_DONE = listed(
    "got bought ordered done paid posted finished sent called fetched returned eaten used made collected booked read "
    "picked cleaned fixed washed watered cancelled had found taken"
)
_OF_DEED = re.compile(
    rf"(?:(?:i|we)(?:['’]ve|\s+have)?\s+)?(?:just\s+|already\s+|now\s+)?(?:{'|'.join(_DONE)})(?:\s+up)?\s+"
    r"(?P<thing>.+?)(?:\s+(?:now|already|today|yesterday|this\s+morning|at\s+last))*\s*",
    re.IGNORECASE,
)
_OF_STATE = re.compile(
    r"(?P<thing>(?:the\s+|my\s+|our\s+|that\s+)?\S.*?)\s+(?:is|are|['’]s|was|were|has\s+been|have\s+been)\s+(?:all\s+|now\s+)?"
    rf"(?:{'|'.join(_DONE)}|gone|empty|finished|out|off|low)\b.*",
    re.IGNORECASE,
)
_OF_ANY_STATE = re.compile(
    r"(?P<thing>(?:the\s+|my\s+|our\s+|that\s+)?\S.*?)\s+(?:is|are|['’]s|was|were|has\s+been|have\s+been|looks?|seems?)\s+\S.*",
    re.IGNORECASE,
)
_ONTO_A_LIST = re.compile(r"\b(?:to|on|onto)\b.*\blist\b", re.IGNORECASE)
_ALONE = re.compile(r"(?P<thing>[\w'’ -]{3,40})\.\s*(?:\w+)?", re.IGNORECASE)
_NOBODY = frozenset(listed("it this that there he she they i we you what who all everything"))


_A_TIME = (
    r"(?:it|this|that|then|today|tonight|tomorrow|the|next|any|her|his|their|\d|"
    rf"(?:on\s+)?(?:{'|'.join(sorted(WEEKDAYS, key=len, reverse=True))})\b)"
)
_OF_PERSON = re.compile(
    r"\s*(?:(?:so|ok|okay|oh|hey|hi|fyi)\b,?\s+)*(?P<who>(?!(?:it|this|that|there|he|she|they|i|we|you|what|who|when|where|"
    r"how|why|if|is|are|can|could|would|will|do|does|the|a|an|my|our|every\w+|no\w*|some\w*|any\w*|all|one|"
    rf"{'|'.join(WEEKDAYS)})\b)[^\W\d_][\w-]*(?:\s+[^\W\d_][\w-]*)?)"
    rf"(?P<state>\s+(?:can['’]?t|cannot|couldn['’]?t|won['’]?t|can\s+only)\s+(?:(?:come|be|get|attend)\b|(?:do|make|manage)\s+{_A_TIME})"
    r"|(?:['’]s|\s+is|\s+isn['’]?t)\s+(?:(?:not|off|still|really|running|so|very|a\s+bit)\s+)*"
    r"(?:ill|sick|unwell|poorly|well|late|away|off|out|busy|stuck|delayed|free|ready|around|here|on\s+holiday|in\s+hospital)\b)"
    r"(?P<more>[^?]{0,120}?)\s*(?:[.;!,]|\s-)\s*"
    r"(?P<order>(?:(?:so|and|please|just|can\s+you|could\s+you|you\s+can)\s+)*"
    r"(?:move|shift|push|bump|reschedule|swap|postpone|slide)\s+)"
    r"(?P<pronoun>her|him|his|them|their)\b(?P<rest>[^;?]*)",
    re.IGNORECASE,
)
"""An order for the time of whoever the remark before it says cannot be there: "Ida can't do Tuesday, move her to
Friday"."""
_OF_OTHERS = re.compile(
    r"\b(?:sa(?:y|ys|id|ying)|tell(?:s|ing)?|told|ask(?:s|ed|ing)?|thinks?|thought|reckons?|hears?|heard|mention(?:s|ed)|"
    r"knows?|knew|wants?|wanted|prefers?|needs?|wrote|writes|texted|mailed|emailed|called|rang|and|or|but|with|without|until|"
    r"because|cause|cos|coz|since|as|for|if|unless|while|when)\b",
    re.IGNORECASE,
)
"""Words by which a remark may be about somebody besides whom it begins with."""
_NO_THING = re.compile(
    r"\s*(?:\Z|[.,!]|(?:to|from|by|on|at|back|forward|out|in|up|into|until|till|over|for|earlier|later|a|an|the|\d\S*)\b)",
    re.IGNORECASE,
)
"""What follows "her" where no thing of hers does."""


def with_person_named(text: str) -> str:
    """Return the order with the name of whom the remark before it is about; the text where there is none."""
    found = _OF_PERSON.fullmatch(text)
    if found is None or _OF_OTHERS.search(text[: found.start("order")]) or _names_somebody(found["more"]):
        return text
    is_owned = found["pronoun"].lower() in ("his", "their", "her") and not _NO_THING.match(found["rest"])
    owner = f"{found['who']}'s" if is_owned else found["who"]
    return f"{found['order']}{owner}{found['rest']}".strip()


def _names_somebody(said: str) -> bool:
    """Return whether words hold a name: a capital that is no weekday's, or an owner's mark."""
    words = [word for word in _WORD.findall(said) if word.lower() not in WEEKDAYS]
    return any(word[0].isupper() or word.lower().endswith(("'s", "’s")) for word in words)


def with_its_topic(text: str) -> str:
    """Return the order with the thing for "it" which the remark before it is about; the text where there is none."""
    match = _ABOUT.fullmatch(_TAG.sub("", text).strip())
    if match is None:
        return text
    remark, verb, rest = match["remark"].strip(" ,.;"), match["verb"], match["rest"].strip(" ,")
    if verb.lower() == "change" and rest.lower() in ("", *_POLITE_ENDS):
        return _with_its_place(remark) or text  # the remark says to what
    is_added = verb.lower() in ("add", "put") and _ONTO_A_LIST.search(rest) is not None
    thing = "" if _WRITES.match(remark) else _thing_of(remark, is_added=is_added)  # a mail's text is no remark
    if not thing or (verb.lower() == "move" and rest.lower() in ("", *_POLITE_ENDS) and _TELLS_WHEN.search(remark)):
        return text  # "the haircut is at 5 now so move it": the remark says when
    return f"{verb} {thing} {rest}".strip()


_WRITES = re.compile(
    r"(?:(?:please|can\s+you|could\s+you|ok|and)\s+)*(?:write|tell|e-?mail|mail|text|message|msg|ask|reply|answer|send|draft|let)\b",
    re.IGNORECASE,
)
_TELLS_WHEN = re.compile(r"\bat\s+(?:\d|noon|midnight|half|quarter)", re.IGNORECASE)
_POLITE_ENDS = ("please", "pls", "for me", "for me please", "thanks", "then", "over")
_OF_PLACE = re.compile(
    r"(?P<thing>(?:the\s+|my\s+|our\s+)?\S.*?)(?:\s+(?:is|are|will\s+be)|['’]s)\s+(?:now\s+)?(?P<in>in|at)\s+"
    r"(?P<place>[^\W\d]\S*(?:\s+\S+){0,6}?)(?:\s+(?:now|instead|from\s+now\s+on|this\s+time))*",
    re.IGNORECASE,
)


def _with_its_place(remark: str) -> str:
    """Return what says where something is now as the order for it; empty for any other remark, and where it may say
    when: "the show is at noon now"."""
    found = _OF_PLACE.fullmatch(remark)
    if found is None or found["thing"].lower().split()[0] in _NOBODY:
        return ""
    if _says_when(found["place"]):
        return ""
    return _IS.format(found["thing"].strip(), found["in"].lower(), found["place"])


_IS = "{} is {} {} from now on"
_A_DAY, _NO_CONTEXT = dt.datetime(2026, 1, 5, 12, tzinfo=dt.UTC), Context()


def _says_when(place: str) -> bool:
    """Return whether words that stand where a place does name a time."""
    said = (f"at {place}", f"in {place}")
    return any(slot.kind in ("time", "duration") for one in said for slot in find_slots(one, _A_DAY, _NO_CONTEXT))


_PLACE_ORDER = re.compile(
    r"\s*(?:please\s+)?(?:change|update|set|switch|correct)\s+(?:the\s+)?(?:place|venue|location)\s+(?:of|for)\s+"
    r"(?P<thing>\S[^,;:?!]{1,60}?)\s+to\s+(?!be\b)(?P<place>[^,;:?!]{2,60}?)(?:\s+(?:please|pls))?\s*[.!]*\s*",
    re.IGNORECASE,
)


def with_place_stated(text: str) -> str:
    """Return an order for another place as what says where the thing is: "change the venue of the play to the gym"."""
    found = _PLACE_ORDER.fullmatch(text)
    if found is None or " and " in text.lower() or _says_when(found["place"]):
        return text
    return _IS.format(found["thing"], "at", found["place"])


def _thing_of(remark: str, *, is_added: bool) -> str:
    """Return what a remark is about: what was got or is gone, what was named alone; what is put on a list, whatever is
    said of it."""
    for form in (_OF_DEED, _OF_ANY_STATE if is_added else _OF_STATE, _ALONE):
        found = form.fullmatch(remark)
        if found is not None and "," not in found["thing"]:
            thing = found["thing"].strip()
            words = thing.lower().split()
            if words and words[0] not in _NOBODY and len(words) <= 8:
                return thing
    return ""


_REMARK = re.compile(
    r"\s*(?:it['’]?s|it\s+is|that['’]?s|there['’]?s|i['’]?m|i\s+am|we['’]?re|god|phew|brr+)\b[^.!?\d]{0,60}[.!,]\s+",
    re.IGNORECASE,
)
_ORDERS = re.compile(
    r"(?:please\s+|can\s+you\s+|could\s+you\s+|would\s+you\s+)?(?:put|turn|set|switch|open|close|shut|dim|make|lower|"
    r"raise|lock|unlock|play|start|stop|pull|let)\b",
    re.IGNORECASE,
)


_OF_DEVICES = (
    r"lights?|lamps?|blinds?|curtains?|shutters?|doors?|gates?|windows?|garage|heating|heater|heat|radiators?|thermostat|"
    r"temperature|tv|telly|television|radio|music|volume|sound|speakers?|fan|fans|oven|kettle|everything"
)
_ORDER_TO_A_DEVICE = re.compile(
    r"\s*(?:(?:please|pls|can|could|would|will|you|just|hey|quick)\b,?\s+)*(?:"
    r"(?:turn|switch|dim|mute|lock|unlock|crank|brighten)\s+[^,.;?!]+"
    rf"|(?:close|shut|open|lower|raise|pull|put|set|make|get)\s+[^,.;?!]*\b(?:{_OF_DEVICES})\b[^,.;?!]*"
    rf"|[^,.;?!]*\b(?:{_OF_DEVICES})\s+(?:on|off|up|down|open|shut|louder|quieter|warmer|cooler|brighter|dimmer)"
    r")",
    re.IGNORECASE,
)
_SENSES = r"(?:hear|see|sleep|think|focus|concentrate|read|breathe|study|work)"
_REMARK_AFTER = re.compile(
    r"\s*,\s*(?:(?:cos|coz|cause|because|since|as)\s+)?(?:"
    r"(?:(?:i|we|he|she|they|it|that|there)['’]?(?:m|re|s)|i\s+am|(?:we|they)\s+are|(?:he|she|it|that|there)\s+is)\s+"
    r"(?!(?:the|my|our|in|on|at|by|near|next|under|over|called|named|for|one)\b)"
    rf"|(?:(?:i|we|he|she|they)\s+)?(?:can['’]?t|cannot|can\s+(?:barely|hardly)|couldn['’]?t|could\s+not)\s+{_SENSES}\b"
    r"|(?:(?:the|my|our)\s+)?[a-z'’-]+(?:\s+[a-z'’-]+)?(?:['’]s|\s+(?:is|are))\s+(?:(?:so|too|still|all|already|trying\s+to)\s+)*"
    r"(?:asleep|sleeping|sleep|awake|here|home|loud|cold|hot|warm|dark|bright|leaving|freezing|boiling|noisy|watching|ill|sick)\b"
    r")[^,.;!?\d]{0,60}[.!\s]*\Z",
    re.IGNORECASE,
)
_NO_REMARK = re.compile(
    r"\b(?:and|then|also|but|not|instead|unless|if|when|until|till|after|before|please|pls|one|except|turn|switch|"
    r"put|set|make|remind|at)\b|\btoo[.!\s]*\Z",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\s*(?:sorry,?\s+)?(?:i\s+)?(?:can['’]?t|cannot|don['’]?t|do\s+not)\s+(?:really\s+)?remember\b[\s,.…–-]*(?:if\s+)?"
    r"(?=(?:did|have|has)\s)",
    re.IGNORECASE,
)


def without_remarks(text: str) -> str:
    """Return the request without what asks for nothing: a remark on how things are before or after an order to a device
    ("turn the tv down, the kids are asleep"), "would you?", and "can't remember" before a question.
    """
    said = _DOUBT.sub("", text, count=1) if _DOUBT.match(text) else text
    order = _ORDER_TO_A_DEVICE.match(said)
    if (
        order is not None
        and len(order[0].split()) >= 2
        and (after := _REMARK_AFTER.match(said, order.end())) is not None
    ):
        said = said if _NO_REMARK.search(after[0]) else order[0]
    if (tag := _TAG.search(said)) is not None and len(said[: tag.start()].split()) >= 2:
        said = said[: tag.start()]
    remark = _REMARK.match(said)
    if remark is not None and _ORDERS.match(said, remark.end()):
        said = said[remark.end() :]
    return said


_GAPPED = re.compile(
    r"(?P<before>.*?\b)(?P<verb>turn|switch|put)\s+(?P<one>(?:(?!\b(?:and|on|off)\b)[^,.;?!])+?)\s+(?P<way>on|off)\s*,?\s+"
    r"(?:and|but)\s+(?P<other>(?:the|my|our)\s+(?:(?!\b(?:and|on|off)\b)[^,.;?!])+?)\s+(?P<other_way>on|off)\b(?P<after>.*)",
    re.IGNORECASE | re.DOTALL,
)


def without_gaps(text: str) -> str:
    """Return "turn the fan off and the lamp on" with its verb said again."""
    found = _GAPPED.fullmatch(text)
    if found is None:
        return text
    one, other = f"{found['one']} {found['way']}", f"{found['other']} {found['other_way']}"
    return f"{found['before']}{found['verb']} {one} and {found['verb'].lower()} {other}{found['after']}"


_VERBLESS = re.compile(
    rf"\s*(?P<what>(?:(?:the|my|our)\s+)?(?:(?!(?:turn|switch|put|set|make|get|leave|keep|dim|is|are|was|did|has|have|when|what|"
    rf"who|where|why|how|remind|tell|if|open|close|shut|lock|unlock|raise|lower|pull)\b)[\w'’-]+\s+){{0,3}}?(?:{_OF_DEVICES}))\s+"
    r"(?P<way>on|off|up|down)(?=\s+(?:to|by|and|then)\b)",
    re.IGNORECASE,
)
_TAKEN_BACK_WHOLE = re.compile(
    r".{3,200}?(?:\s+-+\s*|\s*[—–…,;]\s*|\s*\.\.\.\s*|\s+)(?:no|nah|nope|actually|oh)\b,?\s+(?:(?:wait|just|actually|better),?\s+)+"
    r"(?=(?:add|put|set|remind|send|email|tell|move|cancel|book|turn|switch|make(?!\s+(?:it|that)\b)|write|note|delete|remove|take|call|ask)\b)",
    re.IGNORECASE | re.DOTALL,
)
_QUESTION = (
    r"(?:what|when|where|who|whose|which|how|why|is|are|was|were|do|does|did|have|has|can|could|will)(?:['’]?[sd])?\b"
)
_ASKED_ANEW = re.compile(
    rf"\s*{_QUESTION}[^\n]{{3,200}}?(?:\s+-+\s*|\s*[—–…,;?]\s*|\s*\.\.+\s*)"
    r"(?:(?:oh|no|nah|nope|wait|sorry|actually|scratch\s+that|never\s+mind|forget\s+that|i\s+mean)\b[\s,.…–-]*)+"
    rf"(?={_QUESTION}\s+\S+\s+\S)",
    re.IGNORECASE,
)
"""A question that is withdrawn for another: "when is … no sorry, what was …"."""
_OWNED_PLURAL = re.compile(
    r"\b(birthday|number|email|address|postcode)s\s+(?=(?:now\s+)?(?:\d|\+|the\s+\d))", re.IGNORECASE
)
_BIRTHDAY = re.compile(r"\bb-?day(?P<plural>['’]?s)?\b", re.IGNORECASE)
_IN_THE_DIARY = re.compile(
    r"(?P<order>\s*(?:(?:please|can\s+you|could\s+you)\s+)*(?:put|pop|stick|add|write|enter|note|jot)(?:\s+down)?\s+"
    r"(?:in|into|on|to)\s+(?:my|the|our)\s+(?:diary|calendar))(?!\s*(?:[:,;.?!]|$|(?:that|for|on|at|and|app)\b))",
    re.IGNORECASE,
)
"""Where something goes, said before what it is: "put in the diary chess with Ida"."""
_TICKED_ON = re.compile(
    r"(?P<order>\s*(?:(?:please|can\s+you|could\s+you|you\s+can)\s+)*"
    r"(?:tick|cross|check(?=\s+off\b|[^.;:!?]*\soff\s+(?:on|in)\s))\s+)(?:off\s+)?(?!off\b)"
    r"(?P<what>(?:(?!\b(?:off|to|onto|and|add|put|is|are|was|were|if|whether|that|what|which|who|when|we|i|you|have|has|do|"
    r"does|did)\b|['’](?:s|re)\s+(?:on|in|there)\b)[^.;:!?])+?)(?:\s+off)?\s+(?:on|in)"
    r"(?=\s+(?:the|my|our)\s+(?:[^\s,.;:!?]+\s+){0,6}list\s*[.!]*\s*\Z)",
    re.IGNORECASE,
)
"""What is ticked where it stands: "tick the milk on the shopping list"; to check without "off" is to look."""
_MEALTIME = re.compile(r"\b(lunch|dinner|tea)\s+time\b", re.IGNORECASE)


_POST_ASKED_FOR = re.compile(
    r"\s*(?:(?:so|and|ok|okay|hey|hi|please)\b[\s,]*)*(?:(?:is|was)\s+there\s+|(?:did|have|do)\s+(?:i|we)\s+(?:get|got|had|have|receive)\s+|"
    r"(?:have\s+you\s+)?(?:check(?:ed)?|show(?:\s+me)?)\s+|has\s+|did\s+|what(?:['’]?s|\s+is|\s+was|\s+(?:has\s+)?(?:come|came|arrived))?\s+)?"
    r"(?:any\s+(?:new\s+|more\s+)?|(?:the|my|our|today['’]s|new)\s+|(?:(?:any|some)thing\s+)?(?:new\s+)?(?:(?:come|came|arrive|arrived)\s+)?in\s+the\s+)"
    r"(?P<post>post)(?=\s*(?:\Z|[?.!,]|\b(?:today|tonight|yesterday|this|since|from|for|come|came|arrived?|been|here|yet|so\s+far|"
    rf"(?:on\s+)?(?:{'|'.join(sorted(WEEKDAYS, key=len, reverse=True))}))\b))",
    re.IGNORECASE,
)
"""Asks for the post as mail: "any post this morning", but not "post the poster", "the post office"."""


def with_verb(text: str) -> str:
    """Return an order to a device that begins with the device as one that begins with a verb: "heating up to 21"."""
    found = _VERBLESS.match(text)
    return f"turn {text.lstrip()}" if found is not None else text


def without_first_try(text: str) -> str:
    """Return what stands in the place of an order or a question before it: "put … - nah just put gin on the list"."""
    found = _TAKEN_BACK_WHOLE.match(text) or _ASKED_ANEW.match(text)
    return text[found.end() :] if found is not None else text


def as_written(text: str) -> str:
    """Return what is typed short or without its mark as it is meant: "her birthdays 3 June", "monday dinner time"."""
    text = _IN_THE_DIARY.sub(r"\g<order>:", text, count=1) if _IN_THE_DIARY.match(text) else text
    text = _TICKED_ON.sub(r"\g<order>\g<what> off", text, count=1) if _TICKED_ON.match(text) else text
    if (asked := _POST_ASKED_FOR.match(text)) is not None:
        text = f"{text[: asked.start('post')]}mail{text[asked.end('post') :]}"
    text = _BIRTHDAY.sub(lambda found: f"birthday{found['plural'] or ''}", text)
    return _MEALTIME.sub(r"\1time", _OWNED_PLURAL.sub(r"\1 is ", text))


_L = r"(?:the|my|our)\s+(?:[^\s,.;:!?]+\s+){1,5}?list"
_JOINED = r"\s*(?:,\s*(?:and\s+)?(?:then\s+)?|\band\s+(?:then\s+)?|\bthen\s+|&\s*)"
_ITEM = (
    r"(?!(?:it|that|them|this|those|everything|me|off|on)\b)"
    r"(?:(?!\b(?:lists?|reminders?|off|from|to|on|onto)\b)[^.;:!?]){1,200}?"
)
_TAKING = (
    rf"(?:(?:take|tick|cross|check|strike|knock|scratch)\s+(?:off\s+(?P<a>{_ITEM})|(?P<b>{_ITEM})\s+off)"
    rf"|(?:remove|delete)\s+(?P<c>{_ITEM}))"
)
_PUTTING = rf"(?:add|put|pop|stick|bung)\s+(?P<put>{_ITEM})"
_NO_ITEM = re.compile(
    r"\b(?:reminders?|alarms?|timers?|notes?|events?|meetings?|appointments?|contacts?|calendar|diary|kettle)\b",
    re.IGNORECASE,
)
_PLEASE = r"\s*(?:(?:please|can\s+you|could\s+you|ok(?:ay)?|now)[\s,]+)*"
_END_OF_ORDER = r"(?:\s+(?:please|pls|thanks|too|as\s+well))*\s*[.!]*\s*"
_BOTH_ORDERS = tuple(
    re.compile(rf"{_PLEASE}{both}{_END_OF_ORDER}", re.IGNORECASE)
    for both in (
        rf"{_TAKING}{_JOINED}{_PUTTING}\s+(?:to|on|onto)\s+(?P<list>{_L})",
        rf"{_TAKING}\s+(?:off|from|on)?\s*(?P<list>{_L}){_JOINED}{_PUTTING}(?:\s+(?:(?:to|on)\s+(?:it|there)|instead))?",
        rf"{_PUTTING}\s+(?:to|on|onto)\s+(?P<list>{_L}){_JOINED}{_TAKING}(?:\s+(?:from\s+)?(?:it|there))?",
        rf"add\s+(?P<put>{_ITEM}){_JOINED}{_TAKING}\s+(?:off|from)?\s*(?P<list>{_L})",
    )
)
"""Two orders for one list that is named once, what is taken off it first or last."""


def with_list_for_both(text: str) -> str:
    """Return two orders for a list that is named in one of them with its name in both: "tick off milk and add gin to
    the bar list"; the text where it says anything else."""
    if "list" not in text.lower():
        return text
    for place, form in enumerate(_BOTH_ORDERS):
        said = form.fullmatch(text)
        if said is None:
            continue
        off = next(filter(None, (said["a"], said["b"], said["c"])))
        if _NO_ITEM.search(off) or _NO_ITEM.search(said["put"]):
            return text
        taking, putting = f"take {off} off {said['list']}", f"add {said['put']} to {said['list']}"
        return f"{taking} and {putting}" if place < 2 else f"{putting} and {taking}"
    return text


_FIND_AND_TELL = re.compile(
    rf"{_PLEASE}(?:find|look\s+up|look\s+for|dig\s+(?:out|up)|fetch|(?P<opens>pull\s+up|open)|search\s+for)\s+(?:me\s+)?"
    r"(?P<thing>(?:(?:the|my|our|that)\s+|[\w-]+['’]s\s+)[^,.;:?!]{2,80}?)\s*(?:,\s*(?:and\s+)?|\band\s+|&\s*)(?:then\s+)?"
    r"(?:tell\s+me|let\s+me\s+know|say)\s+(?P<asks>when|where|what|who|how\s+(?:much|long|many\s+\w+)|what\s+(?:time|day))\s+"
    r"(?P<clause>[^,;:?!]{2,80}?)(?P<end>[\s?!.]*)",
    re.IGNORECASE,
)
_IT_IS = re.compile(
    r"(?:it|that|this)(?:['’]s|\s+(?P<verb>is|was|will\s+be))\b\s*(?P<rest>.*)|its\s+(?P<due>\S.*)", re.IGNORECASE
)
_IT_DOES = re.compile(r"(?:it|that)\s+(?P<verb>[a-z]{2,}s)(?P<rest>\s+(?:up|out|off|me|us|in))?", re.IGNORECASE)
_ITS_PART = re.compile(
    r"(?P<part>(?:the|its)\s+[\w'’ -]{2,40}?)\s+(?P<verb>is|was|are|were)(?:\s+(?:in|on)\s+it)?", re.IGNORECASE
)
_SAYS_ALL = frozenset({"says", "contains", "holds"})
_OF_A_HOUSE = re.compile(
    r"\b(?:doors?|gates?|garage|windows?|blinds?|curtains?|shutters?|skylights?|vents?|valves?|awnings?|taps?|locks?)\b",
    re.I,
)
"""Opened by hand or by a device, and not to be read."""


def asked_of_found(text: str) -> str:
    """Return the question about a thing that is to be found first, as it is asked of the thing itself: "find the lease
    and tell me when it ends"; the text where nothing such is said."""
    said = _FIND_AND_TELL.fullmatch(text)
    if said is None or (said["opens"] and _OF_A_HOUSE.search(said["thing"]) is not None):
        return text
    thing, asks, clause = said["thing"], said["asks"], said["clause"]
    if (of := _IT_IS.fullmatch(clause)) is not None and not (of["due"] and asks.lower().startswith("what")):
        rest = of["due"] or of["rest"]
        verb, _, more = (of["verb"] or "is").partition(" ")
        return " ".join(filter(None, (asks, verb, thing, more, rest)))
    if (does := _IT_DOES.fullmatch(clause)) is not None and does["verb"].lower() not in _SAYS_ALL:
        bare = re.sub(r"(?<=sh)es$|(?<=ch)es$|(?<=[sx])es$|s$", "", does["verb"], flags=re.IGNORECASE)
        return f"{asks} does {thing} {bare}{does['rest'] or ''}"
    if (part := _ITS_PART.fullmatch(clause)) is not None:
        named = re.sub(r"^its\b", "the", part["part"], flags=re.IGNORECASE)
        return f"{asks} {part['verb']} {named} in {thing}"
    return text


_CONTENTS_TOLD = re.compile(
    rf"(?P<please>{_PLEASE})(?P<verb>mail|e-?mail|text|message|msg|send|tell|let)\s+(?P<who>(?!(?:me|us|it)\b)[^\s,.;:?!]+(?:\s+(?!know\b)[^\s,.;:?!]+)?)"
    r"\s+(?:know\s+)?(?:what(?:['’]?s|\s+is|\s+we\s+have|\s+(?:is|stands)\s+written)|everything(?:\s+that['’]?s)?|all(?:\s+that['’]?s)?|"
    r"the\s+contents?)\s+(?:on|in|of)\s+(?P<what>(?:the|my|our)\s+(?:[^\s,.;:?!]+\s+){0,4}?(?:list|(?P<note>note)s?))"
    rf"{_END_OF_ORDER}",
    re.IGNORECASE,
)
"""An order to tell somebody what stands on a list or in a note."""


def with_its_contents(text: str) -> str:
    """Return an order to tell somebody what is on a list as one to send it: "mail Felix what's on the packing list"."""
    said = _CONTENTS_TOLD.fullmatch(text)
    if said is None:
        return text
    what = said["what"][: said.start("note") - said.start("what")].strip() if said["note"] else said["what"]
    verb = "send" if said["verb"].lower() == "send" else "email"
    return f"{said['please']}{verb} {said['who']} {what}"


def plainly(text: str) -> str:
    """Return a request as it is meant; unchanged where it is plain already. A run of blanks is one."""
    text = _RUN_OF_BLANKS.sub(" ", text)
    if len(text) > _LONGEST:
        return text
    written = with_list_named(as_written(with_place_stated(text)))
    said = as_written(with_person_named(with_its_topic(without_repairs(without_first_try(written)))))
    said = with_its_contents(asked_of_found(with_list_for_both(without_remarks(said))))
    return with_its_level(with_verb(without_gaps(said)))
