"""Reads times that count from a thing: "an hour before that", "push the dentist back by a week", "move lunch to 3 pm".

The thing is the one record that the last answer showed, or one that the request names; the caller looks that up. The
phrase is exchanged for the time itself, and the owner is shown that reading. Not covered: "before" a thing without a
length; a direction that English leaves open ("move it forward an hour").
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from hearth import patterns as re
from hearth.formats.tool_signature import parse_duration
from hearth.language.reading import Utterance
from hearth.language.text.tokens import NUMBER_WORDS, Slot, listed
from hearth.types import Episode, Plain, StepResult

_BEFORE = re.compile(r"\s*(?P<way>before(?:hand)?|b4|after(?:wards)?)\b(?P<it>\s+(?:that|it|then)\b)?", re.I)
_DAY_BEFORE = re.compile(
    r"\b(?:on\s+)?the\s+(?P<unit>day|night|evening|morning)\s+(?P<way>before|b4|after)\b(?P<it>\s+(?:that|it)\b)?", re.I
)
_MAY_FOLLOW = re.compile(r"\s*(?:$|[.,;!?]|(?:to|at|and|about|that\s+i|i)\b)", re.I)
_NIGHT = {"night": 20, "evening": 18, "morning": 9}


def anchored(utterance: Utterance, last: Episode) -> str:
    """Return what was said with a time that counts from the last answer's one record exchanged; empty without one."""
    text, anchor = utterance.text, moment_shown(last)
    if anchor is None:
        return ""
    if (shift := _SHIFT.fullmatch(_DAY_BESIDE.sub(_by_length, text))) is not None and shift["words"].lower() in (
        "it",
        "that",
        "this",
    ):
        how = _shift_of(shift, Utterance.of(last.request, utterance.context))
        at = anchor + how if how is not None else anchor
        return f"move it to {at.day} {at:%B %Y} at {at:%H:%M}" if how is not None else ""
    if (match := _DAY_BEFORE.search(text)) is not None and _is_open(text, match):
        days = 1 if match["way"].lower() == "after" else -1
        day = anchor + dt.timedelta(days=days)
        hour = _NIGHT.get(match["unit"].lower(), anchor.hour)
        is_clock_said = re.search(r"\bat\s+\S", text[match.end() :]) is not None
        clock = "" if is_clock_said else f" at {hour:02}:{anchor.minute if hour == anchor.hour else 0:02}"
        return f"{text[: match.start()]}on {day.day} {day:%B %Y}{clock}{text[match.end() :]}"
    for slot in utterance.slots:
        match = _BEFORE.match(text, slot.end)
        if slot.kind != "duration" or match is None or not _is_open(text, match):
            continue
        length = parse_duration(str(slot.views["duration"]))
        is_after = match["way"].lower() in ("after", "afterwards")
        at = anchor + (length if is_after else -length)
        rest = text[match.end() :]
        about = f" about {title}" if not rest.strip(" .!?") and (title := _title_shown(last)) else ""
        return f"{text[: slot.start]}on {at.day} {at:%B %Y} at {at:%H:%M}{about}{rest}"
    return ""


def on_its_day(utterance: Utterance, record: Mapping[str, Plain]) -> str:
    """Return the text with a clock time as one of the record's own day: "move it to eight"."""
    text, day = utterance.text, _moment(record.get("start") or record.get("at"))
    clocks = [slot for slot in utterance.times if "time" in slot.views]
    if day is None or len(clocks) != 1 or names_a_day(clocks[0]) or "repeat" in clocks[0].views:
        return text
    at = _on_that_day(clocks[0], day)
    return f"{text[: clocks[0].start]}{at.day} {at:%B %Y} at {at:%H:%M}{text[clocks[0].end :]}"


def _title_shown(last: Episode) -> str:
    for result in _as_shown(last):
        value = result.value[0] if isinstance(result.value, list) and len(result.value) == 1 else result.value
        if isinstance(value, dict):
            return str(value.get("title") or "")
    return ""


def _is_open(text: str, match: re.Match[str]) -> bool:
    """Return whether nothing else is named that it counts from."""
    return match["it"] is not None or _MAY_FOLLOW.match(text, match.end()) is not None


def is_side_by_side(last: Episode) -> bool:
    """Return whether an answer told several lists, none of which another step needed: events, and reminders."""
    lists = [result for result in last.results if result.status == "done" and isinstance(result.value, list)]
    is_one_need = last.plan is None or any(step.needs() for step in last.plan.steps)
    return len(lists) == len(last.results) > 1 and not is_one_need


def _as_shown(last: Episode) -> Iterator[StepResult]:
    """Yield the results, what the answer was about first: of lists side by side the first, else the last."""
    if is_side_by_side(last):
        return (result for result in last.results if result.value)
    return reversed(last.results)


def moment_shown(last: Episode) -> dt.datetime | None:
    """Return when the one record of the last answer takes place; of lists side by side, the one of the first."""
    for result in _as_shown(last):
        if result.status != "done":
            continue
        records = result.value if isinstance(result.value, list) else [result.value]
        if len(records) == 1 and isinstance(records[0], dict):
            return _moment(records[0].get("start") or records[0].get("at"))
        return None
    return None


def _moment(value: Plain) -> dt.datetime | None:
    try:
        return dt.datetime.fromisoformat(value) if isinstance(value, str) and "T" in value else None
    except ValueError:
        return None


# ── Things that the request names ─────────────────────────────────────────────────────────────────────────

_UNIT = r"(?:minutes?|mins?|hours?|hrs?|days?|weeks?)"
_COUNT = (
    r"(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|fifteen|twenty|thirty|forty[- ]five|\d{1,3}|half\s+an?)"
)
_LENGTH = rf"(?P<length>(?:the|{_COUNT})\s+{_UNIT})"
_NAMED = re.compile(
    rf"\b(?:on\s+)?{_LENGTH}\s+(?P<way>before|b4|after)\s+(?:my\s+|the\s+|our\s+)?(?P<words>\S.{{0,79}}?)"
    r"(?=\s+(?:to|and|that\s+i|about|at\s+(?=\d))\b|\s*[,.;!?]|\s*$)",
    re.IGNORECASE,
)
_SHIFT = re.compile(
    r"\s*(?:(?:please|can|could|would|will|you|kindly)\s+)*(?P<verb>push|move|shift|bump|delay|postpone|put|bring|slide)\s+"
    r"(?:my\s+|the\s+|our\s+)?(?P<words>\S.{0,79}?)\s+(?:(?P<before>back|out|later|earlier|forward|up)\s+)?(?:by\s+)?"
    rf"{_LENGTH}(?:\s+(?P<after>back|later|earlier|forward|out))?(?:\s*,?\s*(?:please|pls|would\s+you))*\s*[.!?]*\s*",
    re.IGNORECASE,
)
_RETIME = re.compile(
    r"\s*(?:(?:please|can|could|would|will|you|kindly)\s+)*"
    r"(?P<verb>push|move|shift|bump|delay|postpone|put|bring|slide|change|reschedule)\s+(?:my\s+|the\s+|our\s+)?(?P<words>\S.{0,79}?)"
    r"(?:\s+(?:back|forward|up|out))?\s+(?:to|until|till)\s+(?P<clock>\S.{0,40}?)(?:\s*,?\s*(?:please|pls|instead))*\s*[.!?]*\s*",
    re.IGNORECASE,
)
_MOVING = re.compile(
    r"\b(?:move[ds]?|push(?:ed)?|shift(?:ed)?|postponed?|rescheduled?|bring|brought|delay(?:ed)?)\b", re.IGNORECASE
)
"""Verbs that move a time and nothing else: a heating is changed, or put, to 20."""
_INSTEAD_OF = re.compile(
    r"\s*,?\s+(?:instead\s+of|rather\s+than)\s+(?:at\s+)?(?:"
    r"\d\S{0,7}(?:\s*[ap]m)?|noon|midnight|(?:half|quarter)(?:\s+(?:past|to))?\s+\w+|"
    rf"(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})(?:\s+(?:thirty|fifteen))?"
    r")(?=\s*(?:please|pls)?\s*[.!]*\s*$)",
    re.IGNORECASE,
)
"""Ends a move with the time that the thing has now: "to 8 instead of half 8"."""
_SO_MEND_IT = (
    r"(?:\s*[,;.–-]?\s*(?:(?:so|and|please|pls|(?:can|could)\s+you)\s+)*"
    r"(?:change|move|shift|update|fix|amend|correct)\s+it(?:\s+(?:please|pls|then|for\s+me))?)?"
)
"""May end a move that is told: "… is at noon now, change it"."""
_STATED = re.compile(
    r"\s*(?:(?:so|ok|okay|hey|hi|fyi|the|my|our)\b,?\s+)*"
    r"(?!(?:what|when|where|who|which|how|why|is|are|was|has|have|had|did|does|do|can|could|if|i|we|you|he|she|they|it)\b)"
    r"(?P<words>\S.{0,79}?)(?:"
    r"(?:['’]?s(?=\s+(?:been|now|just)\b)|['’]s|\s+(?:is|are|was|has|have|got|gets))?(?:\s+(?:been|being|now|just|got))*\s+"
    r"(?:moved|pushed|shifted|bumped|postponed|brought|changed|rescheduled|put)(?:\s+(?:back|forward|up|out))?\s+(?:to|until|till)"
    r"|(?:['’]s|\s+(?:is|are))\s+now\s+at|(?:['’]s|\s+(?:is|are))\s+at(?=.*\snow\b)"
    r")\s+(?P<clock>\S.{0,40}?)(?:\s+now\b)?(?:\s*,?\s*(?:instead|btw|by\s+the\s+way))*" + _SO_MEND_IT + r"\s*[.!]*\s*",
    re.IGNORECASE,
)
"""Matches a move that is told as done: "dentist's been moved to half 4", "the dentist is at 3 now"."""
_NOT_AT = re.compile(
    r"\s*(?:(?:so|ok|okay|hey|hi|fyi|no|actually|oh|the|my|our|that)\b,?\s+)*"
    r"(?!(?:what|when|where|who|which|how|why|is|are|was|has|have|had|did|does|do|can|could|if|i|we|you|he|she|they|it)\b)"
    r"(?P<words>\S.{0,79}?)(?:['’]s|\s+(?:is|starts?|begins?|will\s+be|should\s+be))\s+(?:now\s+)?(?:at\s+)?(?P<clock>\S.{0,20}?)\s*,?\s+"
    r"(?:and\s+)?not\s+(?:at\s+)?(?P<old>\d\S{0,7}(?:\s*[ap]m)?|noon|midnight|half\s+\w+|[a-z]+(?:\s+thirty)?)"
    + _SO_MEND_IT
    + r"\s*[.!]*\s*",
    re.IGNORECASE,
)
"""Matches another time that is told: "the viewing is at 2, not 3"."""
_LATER = frozenset(listed("back out later"))
_ALWAYS_LATER = frozenset(listed("push delay postpone bump"))


_REMIND = re.compile(r"\bremind(?:er)?\b(?!.*\bto\b)[\w\s]*$", re.IGNORECASE)
"""Ends in no deed: "remind me", "set a reminder"."""


_CALLED_REMINDER = re.compile(r"\s*\breminders?\b(?:\s+(?:about|for|of|to)\b)?(?:\s+the\b)?\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NamedAnchor:
    """A time in a request that counts from a thing which the request names."""

    words: str
    """What the thing is called."""
    length: dt.timedelta = dt.timedelta()
    """From the thing's time to the time that is meant."""
    clock: Slot | None = None
    """A time of the thing's own day, in the place of a length."""
    start: str = ""
    """With `end`: when the thing takes place, where the request says so."""
    end: str = ""
    before: str = ""
    after: str = ""
    """The request around the phrase."""
    is_day: bool = False
    """The whole day was said: "the day before"; the request may say the clock time."""
    hour: int | None = None
    """The hour that "the evening before" is."""
    moves: bool = False
    """The thing itself is moved by the length."""
    may_remind: bool = False
    """What is moved may be a reminder that is not called one."""
    order: str = ""
    """The request as an order, where the move was told: it stands where the thing is not found, or is several."""

    @property
    def looked_up(self) -> Mapping[str, str]:
        """Tools that may find the thing, with what each looks for: what is called a reminder is no event."""
        named = _CALLED_REMINDER.sub(" ", self.words).strip()
        is_called = named != self.words
        reminders = {"find_reminders": named} if named and self.moves and (is_called or self.may_remind) else {}
        events = {"find_events": self.words} if self.words else {}
        return reminders if is_called and reminders else {**events, **reminders}

    def as_reminder(self, name: str) -> NamedAnchor:
        """Return the move of a reminder, called one."""
        return replace(self, words=f"{name} reminder", before=f"move the {name} reminder ")

    def said_from(self, anchor: dt.datetime) -> str:
        """Return the request with the time itself in the place of the phrase."""
        at = anchor + self.length if self.clock is None else _on_that_day(self.clock, anchor)
        at = at if self.hour is None else at.replace(hour=self.hour, minute=0)
        is_clock_said = self.is_day and re.search(r"\bat\s+\S", self.after) is not None
        clock = "" if is_clock_said else f" at {at:%H:%M}"
        is_bare = _REMIND.search(self.before) is not None and not self.after.strip(" .!?")
        about = f" about {self.words}" if is_bare and not self.moves else ""
        return f"{self.before}{'to' if self.moves else 'on'} {at.day} {at:%B %Y}{clock}{about}{self.after}"


_WHEN_AND = re.compile(
    r"\bwhen(?:['’]?s)?\s+(?:(?:is|are)\s+)?(?:my\s+|the\s+|our\s+)?(?P<words>\S.{0,79}?)(?:['’]s|\s+(?:is|are|starts?|begins?|coming|due))?(?:\s+on)?\s*[?,;.]*\s*\b(?:and|then)\s+"
    rf"\S.*?\b(?P<when>(?:the\s+(?P<part>evening|night|morning)\s+(?:before|b4)(?:\s+(?:it|that))?)|{_LENGTH}\s+(?:ahead(?:\s+of\s+(?:it|that|then))?|in\s+advance|(?:before(?:hand)?|b4)(?:\s+(?:it|that|then))?))"
    r"(?=\s*(?:$|[.,;!?]|(?:to|about|that\s+i)\b))",
    re.IGNORECASE,
)
"""Asks when something is, and has something done a length ahead of it, without naming it again."""
_DAY_BESIDE = re.compile(
    r"(?<=\S)(?:\s+(?:back|off|out))?\s+(?:to|till|until|for)\s+(?:the\s+(?:(?P<unit>day|week)\s+(?P<way>after|before)(?:\s+that)?"
    r"|(?:following|next)\s+(?P<next>day)|following\s+(?P<following>week)))"
    r"(?:,?\s+(?:but\s+)?(?:at\s+)?(?:the\s+)?same\s+(?:day|time)(?:\s+and\s+(?:day|time))?)?(?=\s*(?:,\s*)?(?:please|pls)?\s*[.!?]*\s*$)",
    re.IGNORECASE,
)


def _by_length(found: re.Match[str]) -> str:
    """Return the day or week beside a thing's own as a length: "to the day after, same time" is "back by a day"."""
    unit = found["unit"] or found["next"] or found["following"]
    return f" {'earlier' if (found['way'] or '').lower() == 'before' else 'back'} by a {unit.lower()}"


def named_anchor(utterance: Utterance) -> NamedAnchor | None:
    """Return the thing that a time counts from; None where it counts from none, or the direction is open."""
    old = _INSTEAD_OF.search(utterance.text)
    bare = utterance.text[: old.start()] if old is not None else ""
    if (order := _RETIME.fullmatch(bare)) is not None and _MOVING.fullmatch(order["verb"]):
        return named_anchor(utterance.saying(bare)) or NamedAnchor("", order=bare)
    text = _DAY_BESIDE.sub(_by_length, utterance.text)
    if (match := _SHIFT.fullmatch(text)) is not None:
        return _shifted(match, utterance)
    if (match := _RETIME.fullmatch(text) or _STATED.fullmatch(text)) is not None:
        return _retimed(match, utterance)
    if (match := _NOT_AT.fullmatch(text)) is not None and (found := _retimed(match, utterance)) is not None:
        return replace(found, order=f"move the {match['words']} to {match['clock']}")
    if (asked := _WHEN_AND.search(text)) is not None:
        before, after = text[: asked.start("when")], text[asked.end() :]
        if asked["part"]:
            hour = _NIGHT[asked["part"].lower()]
            return NamedAnchor(
                asked["words"], -dt.timedelta(days=1), before=before, after=after, is_day=True, hour=hour
            )
        if (length := _length_of(asked["length"], utterance)) is not None:
            return NamedAnchor(asked["words"], -length, before=before, after=after)
    match = _NAMED.search(text)
    if match is None or match["words"].lower() in ("that", "it", "then") or _is_time(match["words"], utterance):
        return None
    length = _length_of(match["length"], utterance)
    if length is None:
        return None
    is_day = match["length"].lower().split()[0] == "the" and "day" in match["length"].lower()
    length = length if match["way"].lower() == "after" else -length
    before, after = text[: match.start()], text[match.end() :]
    return NamedAnchor(match["words"], length, before=before, after=after, is_day=is_day)


def _shifted(match: re.Match[str], utterance: Utterance) -> NamedAnchor | None:
    """Read "push the dentist back by a week"."""
    length = _shift_of(match, utterance)
    return None if length is None else _moved(match["words"], NamedAnchor("", length, may_remind=True), utterance)


def _shift_of(match: re.Match[str], utterance: Utterance) -> dt.timedelta | None:
    """Return by how much something is moved; None where the direction is open."""
    verb, way = match["verb"].lower(), (match["after"] or match["before"] or "").lower()
    is_later = way in _LATER or (not way and verb in _ALWAYS_LATER)
    is_open = (not way and not is_later) or (way in ("forward", "up") and verb != "bring")
    length = _length_of(match["length"], utterance)
    if is_open or length is None:
        return None
    return length if is_later else -length


def _retimed(match: re.Match[str], utterance: Utterance) -> NamedAnchor | None:
    """Read "move the dentist to 3 pm" or "dentist moved to 3 pm", which stays on its day."""
    said = f"at {match['clock']}"
    slots = utterance.saying(said).slots
    if (
        len(slots) != 1
        or slots[0].start > len("at the ")
        or slots[0].end != len(said)
        or "time" not in slots[0].views
        or names_a_day(slots[0])
    ):
        return None
    is_moved = _MOVING.search(match.string, 0, match.start("clock")) is not None
    return _moved(match["words"], NamedAnchor("", clock=slots[0], may_remind=is_moved), utterance)


def _moved(words: str, how: NamedAnchor, utterance: Utterance) -> NamedAnchor | None:
    """Complete what is moved: its name, and when it takes place where that was said ("my lunch on Friday")."""
    times = [slot for slot in utterance.saying(words).slots if slot.kind in ("time", "duration")]
    if len(times) > 1 or any(slot.cue_start == 0 or "start" not in slot.views for slot in times):
        return None
    start, end = ("", "") if not times else (str(times[0].views["start"]), str(times[0].views.get("end", "")))
    name = words if not times else f"{words[: times[0].cue_start]}{words[times[0].end :]}".strip()
    if not name or name.lower() in ("it", "that", "this", "them"):
        return None
    return replace(how, words=name, start=start, end=end, before=f"move the {name} ", moves=True)


def _on_that_day(clock: Slot, anchor: dt.datetime) -> dt.datetime:
    """Return a clock time of a day, in the half of the day that is nearer where none was said."""
    at = dt.time.fromisoformat(str(clock.views["time"]))
    if says_no_half(clock):
        at = dt.time.fromisoformat(nearest_half_day(str(clock.views["time"]), f"{anchor:%H:%M}"))
    return anchor.replace(hour=at.hour, minute=at.minute, second=0)


# ── Clock times ───────────────────────────────────────────────────────────────────────────────────────────

_DAWN = 6
"""The hour before which hardly anything is planned."""
_CLOCK_WORDS = re.compile(r"\b(?:till?|until|from|noon|midnight|o'?clock|half|past|quarter|[ap]\.?m)\b", re.IGNORECASE)


def names_a_day(slot: Slot) -> bool:
    """Return whether more than a clock time was said."""
    words = re.findall(r"[^\W\d_]{3,}", _CLOCK_WORDS.sub("", slot.text).lower())
    return any(word not in NUMBER_WORDS for word in words)


def says_no_half(slot: Slot) -> bool:
    """Return whether a clock time may be of either half of the day."""
    if re.search(r"[ap]\.?\s?m\b|noon|midnight|\b0\d", slot.text, re.IGNORECASE):
        return False
    hour = dt.time.fromisoformat(str(slot.views["time"])).hour
    number = re.search(r"\d+", slot.text)
    if number is None or re.search(r"past|to", slot.text):
        return True
    return int(number[0]) == (hour % 12 or 12)


def nearest_half_day(new: str, old: str) -> str:
    """Return a clock time said without half of the day in the half that is nearer to the old one: 7 after 18:00.

    What was by day is not moved into the night: 3 after 09:40 is in the afternoon.
    """
    at, before = dt.time.fromisoformat(new), dt.time.fromisoformat(old)
    is_by_day = before.hour >= _DAWN
    hour = min(
        (at.hour % 12, at.hour % 12 + 12), key=lambda hour: (is_by_day and hour < _DAWN, abs(hour - before.hour))
    )
    return f"{hour:02}:{at.minute:02}"


def _is_time(words: str, utterance: Utterance) -> bool:
    """Return whether words begin with a time rather than name a thing: "before noon", "by 5 pm"."""
    return any(slot.kind in ("time", "duration") and slot.cue_start == 0 for slot in utterance.saying(words).slots)


def _length_of(said: str, utterance: Utterance) -> dt.timedelta | None:
    said = re.sub(r"^the\b", "one", said, flags=re.IGNORECASE)
    found = [slot for slot in utterance.saying(f"for {said}").slots if "duration" in slot.views]
    return parse_duration(str(found[0].views["duration"])) if len(found) == 1 else None
