"""What is said relative to something else: times before or after it, things added to it, words of somebody."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from hearth import patterns as re
from hearth.formats.tool_signature import parse_duration
from hearth.language.clauses import VERBS
from hearth.language.reading import Utterance
from hearth.language.temporal.time_words import MONTHS, WEEKDAYS
from hearth.language.thesaurus import POLITE, Spelling
from hearth.language.tokens import NUMBER_WORDS, Clause, Slot, listed
from hearth.types import Context, Episode, Plain, StepResult

# ── Relative anchors ──────────────────────────────────────────────────────────────────────────────────────
# Reads times that count from a thing: "an hour before that", "push the dentist back by a week", "move lunch to 3 pm".
#
# The thing is the one record that the last answer showed, or one that the request names; the caller looks that up.
# The phrase is exchanged for the time itself, and the owner is shown that reading. Not covered: "before" a thing
# without a length; a direction that English leaves open ("move it forward an hour").

_BEFORE = re.compile(r"\s*(?P<way>before(?:hand)?|b4|after(?:wards)?)\b(?P<it>\s+(?:that|it|then)\b)?", re.I)
_DAY_BEFORE = re.compile(
    r"\b(?:on\s+)?the\s+(?P<unit>day|night|evening|morning)\s+(?P<way>before|b4|after)\b(?P<it>\s+(?:that|it)\b)?", re.I
)
_MAY_FOLLOW = re.compile(r"\s*(?:$|[.,;!?]|(?:to|at|and|about|that\s+i|i)\b)", re.I)
_NIGHT = {"night": 20, "evening": 18, "morning": 9}
_DAWN = 5
"""The hour at which no night is meant any more: "the night before, at 5" is in the afternoon."""


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
    put_off = _PUT_OFF.fullmatch(text)
    if put_off is not None and not put_off["clock"] and _put_off_thing(put_off).lower() in ("it", "that", "this"):
        at = _first_behind(anchor, WEEKDAYS[put_off["day"].lower()])
        return f"move it to {at.day} {at:%B %Y} at {at:%H:%M}"
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
_EVE = re.compile(
    r"\b(?:on\s+)?the\s+(?P<part>evening|night|morning)\s+(?:before|b4)\s+(?:my\s+|the\s+|our\s+)?(?P<words>\S.{0,79}?)"
    r"(?:\s*,?\s*(?:(?:at|around|about)\s+)?(?P<clock>\d{1,2}(?:[.:]\d\d)?)(?:\s*(?P<half>[ap]m)|\s*-?ish)*)?"
    r"(?=\s+(?:to|and|that\s+i|about|remind|please|pls)\b|\s*[,.;!?]|\s*$)",
    re.IGNORECASE,
)
"""The part of the day before something that the request names, with a clock time where one is said."""
_SHIFT = re.compile(
    r"\s*(?:(?:please|can|could|would|will|you|kindly)\s+)*(?P<verb>push|move|shift|bump|delay|postpone|put|bring|slide)\s+"
    r"(?:my\s+|the\s+|our\s+)?(?P<words>\S.{0,79}?)\s+(?:(?P<before>back|out|later|earlier|forward|up)\s+)?(?:by\s+)?"
    rf"{_LENGTH}(?:\s+(?P<after>back|later|earlier|forward|out))?(?:\s*,?\s*(?:please|pls|would\s+you|if\s+you\s+(?:would|could|can)))*\s*[.!?]*\s*",
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
    r"(?P<words>\S.{0,79}?)(?:['’]s|\s+(?:is|starts?|begins?|will\s+be|should\s+be))\s+(?:now\s+)?(?:at\s+)?(?P<clock>\S.{0,20}?)(?:\s+now)?\s*,?\s+"
    r"(?:(?:and\s+)?not|instead\s+of|rather\s+than)\s+(?:at\s+)?(?P<old>\d\S{0,7}(?:\s*[ap]m)?|noon|midnight|half\s+\w+|[a-z]+(?:\s+thirty)?)"
    + _SO_MEND_IT
    + r"\s*[.!]*\s*",
    re.IGNORECASE,
)
"""Matches another time that is told: "the viewing is at 2, not 3", "… is at 2 now instead of 3"."""
_PUT_OFF = re.compile(
    r"\s*(?:(?:please|can|could|would|will|you|kindly|ok|okay)[\s,]+)*(?:"
    r"(?:push|move|shift|bump|put|slide)\s+(?:my\s+|the\s+|our\s+)?(?P<words>\S.{0,79}?)\s+(?:back|off)"
    r"|(?:push|shift|bump|put)\s+(?:back|off)\s+(?:my\s+|the\s+|our\s+)?(?P<behind>\S.{0,79}?)"
    r"|(?:postpone|delay)\s+(?:my\s+|the\s+|our\s+)?(?P<postponed>\S.{0,79}?)"
    rf")\s+(?:to|until|till|for)\s+(?:the\s+)?(?P<day>{'|'.join(sorted(WEEKDAYS, key=len, reverse=True))})\b"
    r"(?:\s*,?\s*(?:at\s+)?(?:the\s+)?same\s+time|\s*,?\s*(?:at\s+)?(?!(?:please|pls|instead|then)\b)(?P<clock>\S.{0,30}?))?"
    r"(?:\s*,?\s*(?:please|pls|instead|then))*\s*[.!?]*\s*",
    re.IGNORECASE,
)
"""Matches what is put off to a day of the week: the first one behind the thing's own day is meant."""
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
    """A time of the thing's own day, or of the `weekday` behind it, in the place of a length."""
    weekday: int | None = None
    """The day of the week, Monday first, that the thing is put off to."""
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
    minute: int = 0
    """Beside the hour, where a clock time was said with it."""
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
        events = {"find_events": self.words} if self.words or self.start else {}
        return reminders if is_called and reminders else {**events, **reminders}

    def as_reminder(self, name: str) -> NamedAnchor:
        """Return the move of a reminder, called one."""
        return replace(self, words=f"{name} reminder", before=f"move the {name} reminder ")

    def said_from(self, anchor: dt.datetime) -> str:
        """Return the request with the time itself in the place of the phrase."""
        if self.weekday is not None:
            anchor = _first_behind(anchor, self.weekday)
        at = anchor + self.length if self.clock is None else _on_that_day(self.clock, anchor)
        at = at if self.hour is None else at.replace(hour=self.hour, minute=self.minute)
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
_SAME = r"(?:,?\s+(?:(?:but|and)\s+)?(?:(?:at|on)\s+)?(?:the\s+)?same\s+(?:day|time)(?:\s+and\s+(?:day|time))?)"
_IF_YOU = r"(?:please|pls|would\s+you|if\s+you\s+(?:would|could|can|don['’]?t\s+mind))"
_DAY_BESIDE = re.compile(
    r"(?<=\S)(?:\s+(?:back|off|out))?\s+(?:to|till|until|for)\s+(?:the\s+(?:(?P<unit>day|week)\s+(?P<way>after|before)(?:\s+that)?"
    rf"|(?:following|next)\s+(?P<next>day)|following\s+(?P<following>week))|next\s+(?P<same>week)(?={_SAME}))"
    rf"{_SAME}*(?=\s*(?:,\s*)?{_IF_YOU}?\s*[.!?]*\s*$)",
    re.IGNORECASE,
)
_NO_THING = (
    r"(?!(?:the|my|our|your|his|her|their|an?|this|that|these|those|i|me|we|us|you|he|him|she|they|them|it|what|which|who|when|where|"
    r"how|why|if|unless|because|cos|maybe|perhaps|possibly|probably|apparently|might|no|not|never|hardly|sometimes|"
    r"say(?:s|ing)?|said|think(?:s|ing)?|thought|reckons?|told|tells?|texted|e?-?mailed|messaged|wrote|writes|asked|asks|heard|"
    r"mentioned|suggest(?:s|ed)?|believes?|feels?|hopes?|wonder(?:s|ing)?|guess|suppose|remind|remember)\b)"
)
_THING_WORD = rf"{_NO_THING}[\w'’&/-]+(?:[.:]\d+)?"
_NO_ORDER = (
    r"(?!(?:text|e?-?mail|message|msg|ask|inform|notify|warn|reminder|note|add|put|write|reply|answer|let|send|whatsapp|"
    r"sms|ping|call|ring|phone|forward|todo|task)\b)"
)
_NEEDS = re.compile(
    r"\s*(?:(?:ok|okay|so|oh|hey|hi|fyi)\b,?\s+)*"
    rf"(?P<words>(?:the|my|our)(?:\s+{_THING_WORD}){{1,5}}|(?:{_NO_ORDER}{_THING_WORD}\s+)?{_THING_WORD})"
    r"\s+(?:wants|needs|could\s+do\s+with)\s+(?:to\s+be\s+)?"
    r"(?P<verb>mov|shift|push|bump|postpon|delay|reschedul|bring)(?:ing|e?d)\b"
    r"(?!.*(?:\?|\b(?:if(?!\s+you)|unless|maybe|perhaps|says|said|think|thinks|reckons?|tell|remind|text|e?-?mail|message|add|note)\b))"
    r"(?P<rest>\s+(?:to|till|until|back|forward|out|up|by|earlier|later|an?|half|\d).*)",
    re.IGNORECASE,
)
"""Tells a move as what a thing needs: "the dentist wants shifting to next week, same day".

The thing stands first: what is told, reminded, added or thought needs moving stays as it was said."""
_MUSED_MOVE = re.compile(
    r"(?:.{0,60}\b(?:say(?:s|ing)?|said|thinks?|thinking|thought|reckons?|guess|suppose|wonder(?:s|ing)?|believes?|heard)\b|"
    r"\s*(?:(?:ok|okay|so|oh|hmm?|well|and)\b,?\s+)*(?:maybe|perhaps|possibly|probably|apparently|if)\b)"
    r".{1,80}?\s(?:wants|needs|could\s+do\s+with|might\s+(?:want|need))\s+(?:to\s+be\s+)?"
    r"(?:mov|shift|push|bump|postpon|delay|reschedul|bring)(?:ing|e?d)\b",
    re.IGNORECASE,
)
"""Begins with a move that is hearsay or a thought: "Ana says the dentist needs moving"."""
_NEEDED = {"mov": "move", "postpon": "postpone", "reschedul": "reschedule"}


def _by_length(found: re.Match[str]) -> str:
    """Return the day or week beside a thing's own as a length: "to the day after, same time" is "back by a day"."""
    unit = found["unit"] or found["next"] or found["following"] or found["same"]
    return f" {'earlier' if (found['way'] or '').lower() == 'before' else 'back'} by a {unit.lower()}"


def is_mused_move(text: str) -> bool:
    """Return whether a text only reports or considers that something needs moving."""
    return _MUSED_MOVE.match(text) is not None


def named_anchor(utterance: Utterance) -> NamedAnchor | None:
    """Return the thing that a time counts from; None where it counts from none, or the direction is open."""
    if (needs := _NEEDS.fullmatch(utterance.text)) is not None:
        verb = needs["verb"].lower()
        told = f"{_NEEDED.get(verb, verb)} {needs['words']}{needs['rest']}"
        return replace(named_anchor(utterance.saying(told)) or NamedAnchor(""), order=told)
    old = _INSTEAD_OF.search(utterance.text)
    bare = utterance.text[: old.start()] if old is not None else ""
    if (order := _RETIME.fullmatch(bare)) is not None and _MOVING.fullmatch(order["verb"]):
        return named_anchor(utterance.saying(bare)) or NamedAnchor("", order=bare)
    text = _DAY_BESIDE.sub(_by_length, utterance.text)
    if (match := _PUT_OFF.fullmatch(text)) is not None and (put_off := _put_off(match, utterance)) is not None:
        return put_off
    if (match := _SHIFT.fullmatch(text)) is not None:
        return _shifted(match, utterance)
    if (match := _NOT_AT.fullmatch(text)) is not None and (found := _retimed(match, utterance)) is not None:
        return replace(found, order=f"move the {match['words']} to {match['clock']}")
    if (match := _RETIME.fullmatch(text) or _STATED.fullmatch(text)) is not None:
        return _retimed(match, utterance)
    if (asked := _WHEN_AND.search(text)) is not None:
        before, after = text[: asked.start("when")], text[asked.end() :]
        if asked["part"]:
            hour = _NIGHT[asked["part"].lower()]
            return NamedAnchor(
                asked["words"], -dt.timedelta(days=1), before=before, after=after, is_day=True, hour=hour
            )
        if (length := _length_of(asked["length"], utterance)) is not None:
            return NamedAnchor(asked["words"], -length, before=before, after=after)
    if (eve := _EVE.search(text)) is not None:
        return _on_the_eve(eve, utterance)
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


def _on_the_eve(match: re.Match[str], utterance: Utterance) -> NamedAnchor | None:
    """Read "the night before the service, 8ish"; None where a time stands there: "the night before Christmas"."""
    part = match["part"].lower()
    if match["words"].lower() in ("that", "it", "then", "last") or _is_time(match["words"], utterance):
        return None
    said, _, minute = (match["clock"] or "").replace(".", ":").partition(":")
    if int(said or 0) > 23 or int(minute or 0) > 59:
        return None
    hour, is_own_day = _eve_hour(int(said), part, (match["half"] or "").lower()) if said else (_NIGHT[part], False)
    length = dt.timedelta() if is_own_day else -dt.timedelta(days=1)
    before, after = match.string[: match.start()], match.string[match.end() :]
    return NamedAnchor(
        match["words"], length, before=before, after=after, is_day=True, hour=hour, minute=int(minute or 0)
    )


def _eve_hour(hour: int, part: str, half: str) -> tuple[int, bool]:
    """Return which hour of the day is said of the night, evening or morning before a thing, and whether it is of the
    thing's own day, on which a night ends."""
    if part == "morning":
        return (0 if half == "am" and hour == 12 else hour + 12 * (half == "pm" and hour < 12)), False
    if hour in (0, 12):
        return 0, True
    if hour < _DAWN and (half == "am" or (part == "night" and not half)):
        return hour, True
    return hour + 12 * (hour < 12 and half != "am"), False


def _shifted(match: re.Match[str], utterance: Utterance) -> NamedAnchor | None:
    """Read "push the dentist back by a week"."""
    length = _shift_of(match, utterance)
    return None if length is None else _moved(match["words"], NamedAnchor("", length, may_remind=True), utterance)


def _put_off(match: re.Match[str], utterance: Utterance) -> NamedAnchor | None:
    """Read "push the dentist back to Wednesday", which is no day before the dentist's own."""
    clock = None
    if match["clock"]:
        said = f"at {match['clock']}"
        slots = utterance.saying(said).slots
        if len(slots) != 1 or slots[0].end != len(said) or "time" not in slots[0].views or names_a_day(slots[0]):
            return None
        clock = slots[0]
    how = NamedAnchor("", clock=clock, weekday=WEEKDAYS[match["day"].lower()], may_remind=True)
    return _moved(_put_off_thing(match), how, utterance)


def _put_off_thing(match: re.Match[str]) -> str:
    return str(match["words"] or match["behind"] or match["postponed"])


def _first_behind(anchor: dt.datetime, weekday: int) -> dt.datetime:
    """Return the same time on the first such day of the week behind a day."""
    return anchor + dt.timedelta(days=(weekday - anchor.weekday() - 1) % 7 + 1)


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
    """Complete what is moved: its name, and when it takes place where that was said ("my lunch on Friday"), which may
    be all that is said of it ("my 3 o'clock")."""
    stated = utterance.saying(f"at {words}").slots
    if len(stated) == 1 and stated[0].text == words and "time" in stated[0].views:
        start, end = (str(stated[0].views[name]) for name in ("start", "end"))
        return replace(how, start=start, end=end, before="move the event ", moves=True)
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


# ── Additions ─────────────────────────────────────────────────────────────────────────────────────────────
# Finds what is asked for beside a request and is planned after it: a reminder of a new event, others who get a mail.
#
# "Put lunch with Anna on Friday at one, remind me 30 minutes before" is the event, and a reminder that follows it: of
# what is said to be done then ("remind me the day before to bake a cake"), else of the event. "Email Pieter that the
# heating is off and cc Noor" is the mail, and whom it goes to as well. "Email Pieter, Noor and Ana that the heating
# is off" is the mail to the first, which goes to the others, too.
#
# Covered: both at the end of a request; several people right behind the verb; known people. Not covered: the reminder
# said first; an address after "cc", which is read with the rest; people who are not known: after "cc" their words
# stay, in a row with others they are told as left out.

_SAYS = re.compile(
    r"[\s,;.–-]*\b(?:(?:and|also|then|with|plus|please|can you|could you)\s+)*"
    r"(?:(?:remind|alert|notify|warn|ping|nudge) me|(?:set |add |have )?(?:a |an )?(?:reminder|alert|alarm))"
    r"(?: of it)?\s*$",
    re.IGNORECASE,
)
_ADDED_BEFORE = re.compile(
    r"\s*(?:before(?:hand)?|b4|ahead|in advance|earlier|prior)(?: it| that| then| it starts)?"
    r"(?:[ ,]+(?:to|that i(?: need to| have to| must| should)?) (?P<deed>\S.*?))?"
    r"(?:[ ,]*(?:please|pls|thanks|thank you))?[\s.!]*$",
    re.IGNORECASE,
)
_DAY = re.compile(r"\bthe (?P<unit>day|night|evening|morning|week)(?=\s+(?:before|b4)\b)", re.IGNORECASE)
_HOURS = {"night": 20, "evening": 18, "morning": 9}
_LONGEST = 2_000
_WHOLE_DAY_AT = 9
"""The hour at which one is reminded the day before what lasts all day."""


@dataclass(frozen=True, slots=True)
class Lead:
    """A reminder that is said with something else."""

    rest: str
    """The request without it."""
    before: dt.timedelta
    text: str
    """Its words."""
    deed: str = ""
    """What is to be done then, where that is said."""
    hour: int | None = None
    """The hour that "the evening before" is."""

    def at(self, start: dt.datetime) -> dt.datetime:
        """Return when it reminds of what starts then."""
        hour = self.hour
        if hour is None and self.before.days and start.time() == dt.time():
            hour = _WHOLE_DAY_AT
        at = start - self.before
        return at if hour is None else at.replace(hour=hour, minute=0)


def lead_of(said: Utterance) -> Lead | None:
    """Return the reminder that ends a request; None where none does."""
    text = said.text
    if len(text) > _LONGEST:
        return None
    for start, end, before, hour in _lengths(said):
        tail, says = _ADDED_BEFORE.fullmatch(text, end), _SAYS.search(text, 0, start)
        if tail is not None and says is not None and says.start() > 0:
            words = text[says.start() :].lstrip(" ,;.–-")
            return Lead(text[: says.start()].rstrip(), before, words, tail["deed"] or "", hour)
    return None


def _lengths(said: Utterance) -> Iterator[tuple[int, int, dt.timedelta, int | None]]:
    """Yield where a length or a day counted from the event stands, and what it is."""
    for match in _DAY.finditer(said.text):
        unit = match["unit"].lower()
        yield match.start(), match.end(), dt.timedelta(days=7 if unit == "week" else 1), _HOURS.get(unit)
    for slot in said.slots:
        if slot.kind == "duration":
            yield slot.start, slot.end, parse_duration(str(slot.views["duration"])), None


_COPY = re.compile(
    r"[\s,;.–-]+(?:(?:and|also|please|with)\s+)*(?:(?:a\s+)?b?cc(?:\s+to|['’]?d|ing|ed)?|cop(?:y|ying)(?:\s+(?:in|to))?|"
    r"(?:a|with\s+a)\s+copy\s+to)\s*:?\s+(?P<who>\S.{0,120}?)(?:\s+(?:in|too|as\s+well|please|on\s+(?:it|that|this)))*\s*[.!]*\s*$",
    re.IGNORECASE,
)
_JOINT = re.compile(r"\s*,?\s*(?:and\s+|&\s*)?", re.IGNORECASE)
_OF_WHERE = re.compile(r"\s+(?:at|from|of|in)\s+(?:the\s+|my\s+|our\s+)?\w[\w'’&-]*(?:\s+\w[\w'’&-]*)?", re.IGNORECASE)
"""Says of somebody where they are: "Noor at the gym"."""
_MOST_COPIED = 6


@dataclass(frozen=True, slots=True)
class Copied:
    """Who else gets a mail."""

    rest: str
    """The request without them."""
    names: tuple[str, ...]


def copied_in(said: Utterance) -> Copied | None:
    """Return who else gets the mail that a request asks for; None where nobody is named so, or somebody unknown."""
    match = _COPY.search(said.text) if len(said.text) <= _LONGEST else None
    if match is None or match.start() == 0:
        return None
    who = f"tell {match['who']}"
    slots = said.saying(who).slots
    names = [str(slot.views["name"]) for slot in slots if slot.kind == "person"]
    place = len("tell ")
    for slot in slots:
        if slot.kind != "person" or (place < slot.start and _JOINT.fullmatch(who, place, slot.start) is None):
            return None
        place = slot.end
    if not names or len(names) > _MOST_COPIED or (who[place:].strip() and not _OF_WHERE.fullmatch(who, place)):
        return None
    return Copied(said.text[: match.start()], tuple(names))


_MAIL_TO = re.compile(
    r"\s*(?:(?:please|pls|can\s+you|could\s+you|ok|okay|and|now)[\s,]+)*(?:e-?mail|mail|message|msg|tell|ask|let"
    r"|write\s+to|(?:send|draft|write)\s+(?:an?\s+)?(?:e-?mail|mail|message|note)\s+to)\s+",
    re.IGNORECASE,
)
_SAYS_WHAT = re.compile(
    r"[\s,]+(?=(?:that|saying|about|asking|to|know|if|whether|when|what|who|how|why|where|the|an?)\b"
    r"|and\s+(?:ask|tell|say|let|check|see|remind|invite)\b)|\s*(?=:)",
    re.IGNORECASE,
)
_HEAD = re.compile(r"(?:all|both|each|every\w*)\b[^,:;]{0,60}[,:]\s*", re.IGNORECASE)
_IN_A_ROW = re.compile(r"\s*,\s*(?:(?:and|plus)\s+|&\s*)?|\s+(?:and|plus)\s+|\s*&\s*", re.IGNORECASE)
_JOINED = re.compile(r"\b(?:and|plus)\b|&", re.IGNORECASE)
_ARTICLE = re.compile(r"(?:the|an?)\b", re.IGNORECASE)
_CAPITALISED = re.compile(r"[^\W\d_a-z][a-z][\w'’-]*|[^\W\d_a-z]['’][^\W\d_a-z]\w+")
_BESIDE = re.compile(
    r"\s+(?:and|&|plus)\s+(?P<who>(?:the|my|our|b?cc)\s+[\w'’-]+(?:\s+[\w'’-]+)?)(?:\s+(?=(?:that|saying|about)\b)|(?=:))",
    re.IGNORECASE,
)
"""Somebody beside a row who is not looked up: "and the landlord that …", "and bcc helen that …"."""
_WORDS_OF_TIME = frozenset((*MONTHS, *WEEKDAYS))
_OF_ANOTHER = re.compile(
    r"['’]s\s|\s+(?:is|was|has|had|will|would|can|can['’]?t|won['’]?t|isn['’]?t|wasn['’]?t|said|says|wants|needs|asked|asks|"
    r"called|rang|came|comes|got|gets|did|does|didn['’]?t|doesn['’]?t|went|goes|thinks|thought|told|likes|left)\b",
    re.IGNORECASE,
)
_COMMA = re.compile(r"\s*,\s*")


@dataclass(frozen=True, slots=True)
class Row:
    """Several people in a row who are to get one mail."""

    names: tuple[str, ...]
    """Those who are known."""
    left: tuple[str, ...] = ()
    """The words for others: whoever is not known, or is only to get a copy."""


def several_told(said: Utterance) -> Row | None:
    """Return the several people who are told something; None where no two are named so."""
    text = said.text
    verb = _MAIL_TO.match(text) if len(text) <= _LONGEST else None
    if verb is None:
        return None
    head = _HEAD.match(text, verb.end())
    first = head.end() if head is not None else verb.end()
    says = _SAYS_WHAT.search(text, first)
    if says is None:
        return None
    beside = _BESIDE.search(text, first)
    if beside is not None and beside.start() > says.start():
        beside = None
    ends = beside or says
    is_clear = _ARTICLE.match(text, ends.end()) is None  # "and book the court" names nobody
    row = _row_of(text[first : ends.start()], said, is_clear=is_clear)
    if row is None:
        return None
    left = (*row.left, beside["who"]) if beside is not None else row.left
    return Row(row.names, left) if row.names and 1 < len(row.names) + len(left) <= _MOST_COPIED else None


def _row_of(row: str, said: Utterance, *, is_clear: bool) -> Row | None:
    """Return who is named in a row of people; None where a piece of it is nobody's name.

    Args:
        is_clear: Whether what follows lets nobody think that it belongs to the row: then it may name strangers, too.
    """
    pieces = _IN_A_ROW.split(row)
    people = [_people_in(piece, said) for piece in pieces]
    n_known = sum(bool(one) for one in people)
    is_joined = is_clear and (n_known > 1 or _JOINED.search(row) is not None)
    names: list[str] = []
    left: list[str] = []
    for piece, known in zip(pieces, people, strict=True):
        if not known and not (is_joined and _is_name(piece)):
            return None
        names += [name for name, _ in known]
        left += [] if known else [piece]
    return Row(tuple(names), tuple(left))


def _is_name(word: str) -> bool:
    """Whether a word that nobody known is called by is typed as a name, and is no other word."""
    low = word.lower()
    if _CAPITALISED.fullmatch(word) is None or low in VERBS or low in POLITE or low in _WORDS_OF_TIME:
        return False
    return bool(Spelling.shipped().strange(low))


def told_of(said: Utterance) -> str:
    """Return who is spoken of to the one before: Ana in "tell Pieter, Ana said no"; empty where nobody is."""
    text = said.text
    verb = _MAIL_TO.match(text) if len(text) <= _LONGEST else None
    people = [slot for slot in said.slots if slot.kind == "person"]
    if verb is None or not people or people[0].start != verb.end():
        return ""
    comma = _COMMA.match(text, people[0].end)
    if comma is None:
        return ""
    known = next((slot for slot in people[1:2] if slot.start == comma.end()), None)
    other = _CAPITALISED.match(text, comma.end()) if known is None else None
    end = known.end if known is not None else other.end() if other is not None else 0
    if not end or _OF_ANOTHER.match(text, end) is None:
        return ""
    return str(known.views["name"]) if known is not None else text[comma.end() : end]


def _people_in(piece: str, said: Utterance) -> list[tuple[str, str]]:
    """Return the known people of whom alone a piece is made, with the words for each; none where it says more."""
    who = f"tell {piece}"
    place, found = len("tell "), []
    for slot in said.saying(who).slots:
        if slot.kind != "person" or who[place : slot.start].strip():
            return []
        found.append((str(slot.views["name"]), slot.text))
        place = slot.end
    return [] if who[place:].strip() else found


# ── Reported speech ───────────────────────────────────────────────────────────────────────────────────────
# Turns what is said of somebody into what is said to them: "that she can come" becomes "you can come".
#
# Where the words speak of one he or she, that is the one told, unless somebody else was named before or the told is a
# mother and the words say "he". What somebody is asked becomes a question to them, from its first word on, and what is
# stated or asked behind it goes with it ("…, I lost it", "… and can she come"):
#
#     if you can come         Can you come?
#     what the deposit is     Can you tell me what the deposit is?
#     to bring the cake       Can you bring the cake?
#     for the recipe          Could I have the recipe, please?
#     to dinner               Would you like to come to dinner?
#
# Direct speech is found whole: "tell Tom yeah I'll get you from college".
#
# Covered: he, she, him, her, his, hers, himself, herself with the verb beside them. Not covered: "they" of one
# person, or of several; whether somebody who was not named is meant ("tell Ben she is asleep", of the baby).

_TELLING = re.compile(
    r"\b(?:tell|let|ask|remind|inform|warn|text|message|msg|e-?mail|mail|write|reply|answer|forward|draft|send)\b"
    r"[^.!?\"“”]{0,60}\Z",
    re.IGNORECASE,
)
_HE, _SHE = frozenset(listed("he him his himself")), frozenset(listed("she her hers herself"))
_MEN = frozenset(
    listed("dad daddy father grandad grandpa granddad grandfather brother son uncle nephew husband boyfriend mr")
)
_WOMEN = frozenset(
    listed("mum mom mummy mother gran grandma granny nan grandmother sister daughter aunt auntie niece wife")
    + listed("girlfriend mrs ms miss")
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_OF_YOU = {
    "is": "are",
    "was": "were",
    "has": "have",
    "does": "do",
    "isn't": "aren't",
    "wasn't": "weren't",
    "hasn't": "haven't",
    "doesn't": "don't",
}
_BETWEEN = frozenset(listed("also already always just never often only really still usually ever"))
_ASKING = frozenset(listed("can could will would shall should may might must do did had can't won't didn't"))
"""Words that are the verb of a person after them: "can he get someone out"."""
_NOT_VERBS = frozenset(listed("as this perhaps always sometimes thus yes less unless across besides"))
_PARTICIPLES = frozenset(listed("been got had done gone come become made left lost seen taken given forgotten won"))
_AFTER_OBJECT = frozenset(
    listed(
        "a about above after again all along already also always an and anyway around as at away back because before "
        "both but by down during for from he here how i if in into is it its just later my next no not now of off on "
        "once one onto or our out over quickly right she so some soon than that the their them then there these they "
        "this those though through till to today together tomorrow tonight too two under until up very was we what "
        "when where whether which while who why will with would yesterday you your"
    )
)
"""Words after which "her" was a person, not whose something is."""


def turned_to(text: str, before: str, told: str, people: Iterable[str]) -> str:
    """Return a text as it is said to the one told; unchanged where the words before tell nobody, or open a quotation.

    Args:
        before: The request up to the text.
        told: Words that name the one told, beside those.
        people: Words that are names of people, in lower case.
    """
    opening = before.rstrip(" ,:")
    if not _TELLING.search(opening) or before.rstrip()[-1:] in "\"'“‘":
        return text
    begun = _begun_question(opening)
    if begun or _ASKING_SOMEBODY.search(opening):
        asked = said_to(_ASKED_CONTRACTED.sub(r"\1 \2'\3", f"{begun} {text}".strip()), f"{told} {before}", people)
        if (question := as_question(asked)) != asked:
            return question
    return said_to(text, f"{told} {before}", people)


def _begun_question(opening: str) -> str:
    """Return the words before a text that are of the same question: "ask Ivy what", "mail Ivy can you mind"."""
    for verb, begun in ((_ASKING_VERB, _BEGUN), (_TELLING_VERB, _BEGUN_DIRECTLY)):
        last = max((match.end() for match in verb.finditer(opening)), default=None)
        if last is not None:
            found = begun.fullmatch(opening, last)
            return found["begun"] if found is not None else ""
    return ""


def said_to(text: str, told: str, people: Iterable[str]) -> str:
    """Return a text as it is said to the one it speaks of; unchanged where it speaks of nobody, or of two.

    Args:
        told: Words that name the one told.
        people: Words that are names of people, in lower case.
    """
    words = [(match, match[0].casefold().replace("’", "'")) for match in _WORD.finditer(text)]
    stems = [word.partition("'")[0] for _, word in words]
    spoken_of = [set(stems) & _HE, set(stems) & _SHE]
    to = {word.casefold() for word in _WORD.findall(told)}
    if bool(spoken_of[0]) == bool(spoken_of[1]) or to & (_WOMEN if spoken_of[0] else _MEN):
        return text
    own = _HE if spoken_of[0] else _SHE
    first = next(k for k, stem in enumerate(stems) if stem in own)
    others = [k for k in range(first) if stems[k] in set(people) | _MEN | _WOMEN and stems[k] not in to]
    if others and not _is_done_to(text, [match for match, _ in words], others[-1], first):
        return text  # somebody else was named, who may be meant
    turned: dict[int, str] = {}
    low = [word for _, word in words]
    for place, stem in enumerate(stems):
        if stem in own:
            _turn(place, low, turned)
    for place in sorted(turned, reverse=True):
        match = words[place][0]
        new = turned[place]
        new = new[:1].upper() + new[1:] if match[0][:1].isupper() else new
        text = text[: match.start()] + new + text[match.end() :]
    return text


_OF_DOING = frozenset(listed("will can could would should shall might must may"))


def _is_done_to(text: str, words: list[re.Match[str]], other: int, place: int) -> bool:
    """Return whether somebody named does something to the one spoken of, who is another: "and Ron will meet her"."""
    between = text[words[other].end() : words[place].start()].lower().split()
    before = words[other - 1][0].lower() if other else "and"
    after = words[place + 1][0].lower() if place + 1 < len(words) else ""
    is_doer = before in ("and", "but", "that", "so") and bool(between) and between[0] in _OF_DOING and len(between) <= 3
    return is_doer and words[place][0].lower() in ("her", "him") and (not after or after in _AFTER_OBJECT)


_DIRECT = re.compile(
    r"\s*(?:(?:please|can\s+you|could\s+you|ok|hey)\s+)*(?:(?P<tell>tell|text|message|msg|let)|"
    r"(?P<reply>reply|answer|respond|(?:write|e?mail)\s+back)(?:\s+to)?)\s+(?:(?:the|my)\s+)?(?P<rest>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_SPEECH = re.compile(
    r"(?P<knows>\s+know)?(?:\s+that)?\s*[:,]?\s+(?P<text>(?:yeah|yea|yep|yes|no|nope|nah|ok|okay|sure|sorry|thanks|thank\s+you|ta|cheers|hi|"
    r"hello|hey|happy|good|great|congrats|well\s+done|i|i['’]?(?:m|ll|ve|d)|im|ive|we|we['’](?:re|ll|ve|d)|it['’]?s|it|there['’]?s|"
    r"can['’]?t|won['’]?t|don['’]?t|see\s+you|running|"
    r"(?:can|could|will|would|are|is|do|does|did|have|has)\s+(?:you|we|i|it))\b.*)",
    re.IGNORECASE | re.DOTALL,
)
"""Words as they are said to somebody, after the name of who is told."""
_TOLD_THAT = re.compile(r"(?P<knows>\s+know)?(?:\s+that\b|\s*:)\s+(?P<text>\S.*)", re.IGNORECASE | re.DOTALL)
_REPLIED = re.compile(
    r"(?:\s+(?:that|saying(?:\s+that)?)\b\s*[:,]?|\s*[:,]|\s+[-–])\s+(?P<marked>\S.*)|\s+(?P<text>\S+(?:\s+\S.*)?)",
    re.IGNORECASE | re.DOTALL,
)
"""What is answered, after the name of whose mail it is."""
_WRITTEN = re.compile(
    r"\s*(?:(?:please|can\s+you|could\s+you|ok|hey)\s+)*(?:e-?mail|mail|write(?:\s+to)?|send|draft|drop|shoot)\s+"
    r"(?:an?\s+(?:quick\s+|short\s+)?(?:e-?mail|mail|message|line|note)\s+to\s+)?(?:(?:the|my)\s+)?(?P<rest>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_ASKS = re.compile(
    r"\s*(?:(?:please|can\s+you|could\s+you|ok|hey)\s+)*ask\s+(?:(?:the|my)\s+)?(?P<rest>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_COLON = re.compile(
    r"(?:\s+an?\s+(?:quick\s+|short\s+)?(?:e-?mail|mail|message|line|note))?(?:\s+saying)?\s*:\s*(?P<text>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
"""What is written, after a colon behind who gets it: all of it is the text."""
_NO_ANSWER = frozenset(
    listed(
        "about regarding re with and or from for in on at by to of if when whether who what where which how why mail "
        "mails email emails message messages letter invitation invite question last latest newest recent again too now "
        "please as who's privately quickly here"
    )
)
"""Words after a name with which no answer begins that nothing marks."""
_BY_HIMSELF = frozenset(listed("yes yeah yep no nope ok okay sure thanks sorry fine done great perfect"))


_NOBODY_NAMED = re.compile(
    r"\s*(?:(?:please|can\s+you|could\s+you|ok|hey|and)\s+)*(?:tell|text|message|msg|let|(?:reply|respond|write|write\s+back)\s+to|answer|"
    r"e?mail)\s+(?P<who>her|him|them)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Told:
    """What is to be written to somebody, in the words in which it was said."""

    name: str
    """Whom: the full name where it is one person's."""
    text: str
    is_reply: bool = False
    """It answers the last mail of that person."""
    is_marked: bool = False
    """It is no direct speech, but stands behind "that" or a colon."""
    is_asked: bool = False
    """It is a question to that person, made of the words in which it was said."""


def told_in(said: Utterance) -> Told | None:
    """Return what is told in direct speech, whole; None where nobody known is told, or more is asked for beside it."""
    match = _DIRECT.fullmatch(said.text)
    if match is None:
        return _written(said) or _asked(said)
    rest = match["rest"]
    words, name = _person_named(rest, said.context)
    if not words or _asks_for_more(said, match.start("rest") + len(words)):
        return None
    after = rest[len(words) :]
    if match["reply"] is not None:
        text = _replied(after)
        return Told(name, text, is_reply=True) if text else None
    speech = _SPEECH.fullmatch(after)
    is_marked = speech is None
    speech = speech or _TOLD_THAT.fullmatch(after)
    if speech is None or (match["tell"].lower() == "let" and speech["knows"] is None):
        return None
    return Told(name, speech["text"].strip(), is_marked=is_marked)


def _written(said: Utterance) -> Told | None:
    """Return the mail whose text follows a colon: "write Ivy a mail: the roof leaks, you'll see"."""
    match = _WRITTEN.fullmatch(said.text)
    words, name = _person_named(match["rest"], said.context) if match is not None else ("", "")
    if match is None or not words or _asks_for_more(said, match.start("rest") + len(words)):
        return None
    text = _COLON.fullmatch(match["rest"][len(words) :])
    return Told(name, text["text"].strip()) if text is not None else None


def _asked(said: Utterance) -> Told | None:
    """Return what somebody is asked, as a question to them: "ask Ivy for the recipe"."""
    match = _ASKS.fullmatch(said.text)
    if match is None:
        return None
    words, name = _person_named(match["rest"], said.context)
    if not words:  # somebody whom no card calls so may be meant: Tom, of Tomás
        words = next((s.text for s in said.slots if s.kind == "unknown_person" and s.start == match.start("rest")), "")
        name = words
    if not words or _asks_for_more(said, match.start("rest") + len(words), is_asked=True):
        return None
    asked = said_to(match["rest"][len(words) :].strip(" ,:"), words, ())
    question = as_question(asked)
    return Told(name, question, is_asked=True) if question != asked else None


def unnamed_in(text: str) -> str:
    """Return the "her", "him" or "them" who is told, in lower case; empty where somebody is named."""
    match = _NOBODY_NAMED.match(text)
    return match["who"].lower() if match is not None else ""


def _person_named(said: str, context: Context) -> tuple[str, str]:
    """Return the name with which words begin, as it was said, and whose it is: the full name where it is one person's;
    both empty where they begin with no known name."""
    meant: dict[str, dict[str, None]] = {}
    for entity in context.entities:
        for name in (entity.name, *entity.aliases) if entity.kind == "person" else ():
            meant.setdefault(name.casefold(), {})[entity.name] = None
    fitting = [name for name in meant if re.match(rf"{re.escape(name)}(?!['’]?\w)", said, re.IGNORECASE)]
    if not fitting:
        return "", ""
    longest = max(fitting, key=len)
    name = said[: len(longest)]
    return name, next(iter(meant[longest])) if len(meant[longest]) == 1 else name


def _asks_for_more(said: Utterance, told: int, *, is_asked: bool = False) -> bool:
    """Return whether something is asked for beside what is told, which begins at `told`.

    Args:
        is_asked: It is a question to somebody: what is stated or asked behind it belongs to it.
    """
    text = f"{said.text[:told].rstrip(' ,:')}: {said.text[told:].lstrip(' ,:-')}"
    acts = said.saying(text).acts
    return any(not (is_asked and _goes_with_question(text, acts[0].start, act)) for act in acts[1:])


def _goes_with_question(text: str, first: int, act: Clause) -> bool:
    """Return whether an act behind a question to somebody is no wish of its own: what is stated, and not joined by
    "and", or another question in the same form."""
    joint = _AND_BEFORE.match(act.text)
    said = act.text[joint.end() :] if joint is not None else act.text
    is_joined = joint is not None or text[: act.start].rstrip().lower().endswith((" and", " and then"))
    if not is_joined and _STATED_BEHIND.fullmatch(said) is not None:
        return True
    if _ASKED_BEHIND.fullmatch(said) is not None:
        return True
    is_same = _INDIRECT.match(text[text.index(":", first) + 1 :].lstrip()) is not None
    return is_same and _INDIRECT.fullmatch(said) is not None and _INVERTED.fullmatch(said) is None


def _replied(said: str) -> str:
    """Return what is answered; empty where the words say of which mail, or nothing."""
    match = _REPLIED.fullmatch(said)
    if match is None:
        return ""
    if match["marked"] is not None:
        return match["marked"].strip()
    words = [word.casefold().strip(".,!?") for word in match["text"].split()]
    is_answer = words[0] not in _NO_ANSWER and (len(words) > 1 or words[0] in _BY_HIMSELF)
    return match["text"].strip() if is_answer else ""


_ASKING_SOMEBODY = re.compile(r"\b(?:ask|asking)\b[^.!?\"“”]{0,60}\Z", re.IGNORECASE)
_ASKED_CONTRACTED = re.compile(r"\A(if|whether) (he|she|they|we)(s|re)\b", re.IGNORECASE)
_ASKED = re.compile(
    r"(?:if|whether)\s+(?P<who>you|we|i|they|it)(?:['’](?P<short>re|ve|ll|d|s)|\s+(?P<verb>(?:can|could|will|would|shall|"
    r"should|may|might|must|are|is|am|were|was|have|has|had|do|does|did)(?:n['’]t)?))?\s+(?P<rest>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_LONG = {"re": "are", "ve": "have", "ll": "will", "d": "would", "s": "is"}
_WH = r"(?:who|whom|whose|what|which|when|where|why|how)"
_VERB = (
    r"(?:(?:is|are|was|were|am|can|could|will|would|shall|should|may|might|must|do|does|did|has|have|had)(?:n['’]?t)?|"
    r"can['’]?t|won['’]?t)"
)
_NO_PLAIN_VERB = re.compile(rf"(?:and|both|all|never|or)\b|[\w'’]+ed\b|(?:.*\s)?{_VERB}\b", re.IGNORECASE)
"""Begins or holds what is no plain verb, so that "do you" cannot stand before it: "and Ida can come", "got it"."""
_ONE = r"(?:i|you|he|she|it|we|they|there|anyone|anybody|someone|somebody|the|my|our|your|his|her|their|this|that)"
_BEGUN = re.compile(
    rf"(?:\s+(?!(?:{_WH}|if|whether|not|to|for|about)\b)[\w'’.-]+){{0,4}}?,?"
    rf"\s+(?P<begun>(?:if|whether|{_WH}(?:['’]s)?|(?:not\s+)?to|for|about|{_VERB}\s+{_ONE})(?:\s+[^\s.!?,;:\"“”]+){{0,4}})",
    re.IGNORECASE,
)
"""Who is asked, and how the question begins, of which a text may be the rest."""
_BEGUN_DIRECTLY = re.compile(
    rf"(?:\s+(?!{_WH}\b)[\w'’.-]+){{0,6}}?\s+(?P<begun>{_VERB}\s+{_ONE}(?:\s+[^\s.!?,;:\"“”]+){{0,4}})", re.IGNORECASE
)
_ASKING_VERB = re.compile(r"\bask(?:ing)?\b", re.IGNORECASE)
_TELLING_VERB = re.compile(r"\b(?:text|message|msg|e-?mail|mail|write|reply|answer|send|drop)\b", re.IGNORECASE)
_INVERTED = re.compile(
    rf"(?:(?:who|what|when|where|why|how)['’]?s\b|"
    rf"(?:{_WH}|(?:what|which|whose)\s+(?!{_ONE}\b)[^\W\d_]+|(?:who|what|where)\s+else|"
    rf"how\s+(?:much|many|long|old|far|big|often|soon|late))\s+{_VERB}\b|{_VERB}\s+{_ONE}\b).*",
    re.IGNORECASE | re.DOTALL,
)
"""A question as it is put to somebody: "what is the deposit", "can the kids come"."""
_MEAL = r"(?:dinner|lunch|breakfast|brunch|tea|supper|drinks|coffee)"
_INVITED = re.compile(
    rf"(?:(?:round|over|out|along)\s+)?(?:to\s+(?:(?:an?|the|my|our|this|that)\s.*|{_MEAL})|"
    rf"for\s+(?:an?\s+)?(?:{_MEAL}|meal|bite|pint|walk|drink))"
    rf"(?:\s*,.*|\s+(?:at|on|in|with|and|next|this|today|tonight|tomorrow|{'|'.join(WEEKDAYS)})\b.*)?",
    re.IGNORECASE | re.DOTALL,
)
"""What somebody is invited to: "to dinner on Sunday", but not "for lunch money"."""
_ABOUT_WHAT = re.compile(r"about\s+\S.*", re.IGNORECASE | re.DOTALL)
_DEED = re.compile(r"(?P<not>not\s+)?to\s+(?P<rest>[^\W\d].*)", re.IGNORECASE | re.DOTALL)
_THING = re.compile(r"for\s+(?P<rest>[^\W\d].*)", re.IGNORECASE | re.DOTALL)
_INDIRECT = re.compile(rf"(?:if|whether|{_WH})\s+\S.*", re.IGNORECASE | re.DOTALL)


_WHY = r"(?:because|cos|coz|cause|since|as)\s+"
_STATEMENT = (
    rf"(?:(?:i|we|he|she|it|they|you|mine|ours|that|there)\b|(?:the|my|our)\s+(?:[^\s.?!,;]+\s+){{1,4}}?{_VERB}\b)[^?]*"
)
_REASONED = re.compile(
    rf"(?P<first>[^?]{{2,200}}?)(?:\s*[,;]\s+(?:{_WHY})?|\s+{_WHY})(?P<rest>{_STATEMENT})", re.IGNORECASE | re.DOTALL
)
"""What somebody is asked, and what is stated behind it: "for the recipe, I lost it"."""
_ORDER = (
    r"(?:please\s+|then\s+|also\s+|just\s+)*(?:remind|move|push|shift|postpone|cancel|delete|add|put|book|set|turn|play|"
    r"e-?mail|mail|text|write|note|find|show)\b[^.?]*\b(?:my|me|our)\b"
)
"""What is ordered of this device, though it is put as a question: "will you move my haircut"."""
_ASKED_FURTHER = rf"{_VERB}\s+(?:you\b(?!\s+{_ORDER})|(?:he|she|they)\b)[^.]*"
_STATED_BEHIND = re.compile(rf"(?:{_WHY})?{_STATEMENT}", re.IGNORECASE | re.DOTALL)
_ASKED_BEHIND = re.compile(rf"{_ASKED_FURTHER}\??", re.IGNORECASE | re.DOTALL)
_AND_BEFORE = re.compile(r"\s*(?:,\s*)?and\s+", re.IGNORECASE)
_AND_ASKED = re.compile(rf"(?P<first>[^.?!]{{2,200}}?),?\s+and\s+(?P<rest>{_ASKED_FURTHER})", re.IGNORECASE | re.DOTALL)
"""Two questions of which the second is put as it is: "when rehearsal is and can you come"."""
_SENTENCES = re.compile(r"(?P<first>[^.?!]{2,200}[.?!])\s+(?P<rest>[^\s.?!].*)", re.DOTALL)


_PLEASE_LAST = re.compile(r"[\s,]+(?:please|pls|thanks)\Z", re.IGNORECASE)


def as_question(text: str) -> str:
    """Return "if you can come" as "Can you come?", "what it costs" as "Can you tell me what it costs?"; unchanged where
    the words are nothing that somebody is asked. Sentences after the first stay as they are."""
    if (several := _SENTENCES.fullmatch(text)) is not None:
        question = as_question(several["first"])
        return text if question == several["first"] else f"{question} {several['rest']}"
    bare = _PLEASE_LAST.sub("", text.rstrip(" .?!")) or text
    if (further := _with_what_follows(bare)) is not None:
        return further
    if (asked := _ASKED.fullmatch(bare)) is not None and (question := _to_you(asked)):
        return question
    if _INVERTED.fullmatch(bare):
        return f"{bare[:1].upper()}{bare[1:]}?"
    if _INDIRECT.fullmatch(bare) or _ABOUT_WHAT.fullmatch(bare):
        return f"Can you tell me {bare[:1].lower()}{bare[1:]}?"
    if _INVITED.fullmatch(bare):
        return f"Would you like to come {bare[:1].lower()}{bare[1:]}?"
    if (deed := _DEED.fullmatch(bare)) is not None:
        return f"Please don't {deed['rest']}." if deed["not"] else f"Can you {deed['rest']}?"
    if (thing := _THING.fullmatch(bare)) is not None:
        return f"Could I have {thing['rest']}, please?"
    return text


def _with_what_follows(text: str) -> str | None:
    """Return a question with what is stated or asked behind it as sentences of their own; None where nothing is."""
    for form, before, end in ((_REASONED, "", "."), (_AND_ASKED, "And ", "?")):
        found = form.fullmatch(text)
        if found is not None and (question := as_question(found["first"])) != found["first"]:
            rest = found["rest"] if before else f"{found['rest'][:1].upper()}{found['rest'][1:]}"
            return f"{question} {before}{rest}{end}"
    return None


def _to_you(asked: re.Match[str]) -> str:
    """Return "if you can come" as "Can you come?"; empty where its verb would have to be turned ("if it fits"), or
    more is said of whom: "if you and Ida can come"."""
    if asked["short"] == "d" and _PARTICIPLE.match(asked["rest"]):
        return ""  # "if you'd seen it" is no "would"
    if not (asked["verb"] or asked["short"]) and (
        _NO_PLAIN_VERB.match(asked["rest"]) or _PARTICIPLE.match(asked["rest"])
    ):
        return ""
    who = "I" if asked["who"].lower() == "i" else asked["who"].lower()
    verb = asked["verb"] or _LONG.get((asked["short"] or "").lower(), "")
    verb = verb or ("" if who == "it" else "do")
    return f"{verb[:1].upper()}{verb[1:].lower()} {who} {asked['rest']}?" if verb else ""


_PARTICIPLE = re.compile(rf"(?:{'|'.join(_PARTICIPLES)}|seen|[\w'’]+ed)\b", re.IGNORECASE)
_YOUR_OBJECT = {
    "himself": "yourself",
    "herself": "yourself",
    "hers": "yours",
    "his": "yours",
    "him": "you",
    "her": "you",
}


def _turn(place: int, words: list[str], turned: dict[int, str]) -> None:
    """Note what becomes of a word for the one told, and of the verb beside it."""
    stem, _, ending = words[place].partition("'")
    after = words[place + 1] if place + 1 < len(words) else ""
    if stem in ("his", "her") and after and after not in _AFTER_OBJECT:
        turned[place] = "your"
    elif stem in _YOUR_OBJECT:
        turned[place] = _YOUR_OBJECT[stem]
    elif ending == "s":
        following = next((word for word in words[place + 1 :] if word not in _BETWEEN), "")
        has = following in _PARTICIPLES or (following.endswith("ed") and len(following) > 4)
        turned[place] = "you've" if has else "you're"
    else:
        turned[place] = f"you'{ending}" if ending else "you"
        before = words[place - 1] if place else ""
        if not ending and before in _OF_YOU:
            turned[place - 1] = _OF_YOU[before]
        elif not ending:
            verb = next((k for k in range(place + 1, len(words)) if words[k] not in _BETWEEN), None)
            if verb is not None and before not in _ASKING:
                turned[verb] = _of_you(words[verb])


def _of_you(verb: str) -> str:
    if verb in _OF_YOU:
        return _OF_YOU[verb]
    if not verb.endswith("s") or verb.endswith("ss") or len(verb) < 4 or verb in _NOT_VERBS:
        return verb
    if verb.endswith("ies") and len(verb) > 4:
        return verb[:-3] + "y"
    return verb[:-2] if verb.endswith(("ches", "shes", "sses", "xes", "oes", "zzes")) else verb[:-1]
