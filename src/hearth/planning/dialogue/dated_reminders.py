"""Reads a reminder that counts from a date which stands somewhere in the owner's things: "a day before the MOT is due".

No event is called so: the date is asked of everything the owner has, and the reminder is planned again with it. A date
that the request does not say is marked with the source it comes from, so that a stranger's mail sets no reminder unless
the owner agrees, and the plan tells where it stands.

Covered: a length before or after a thing, "on the day it is due", birthdays, which come each year and are taken from
the card of whom they are. Where the answer does not bear what the thing is called, other places say something else, or
the time has passed, the time is asked for: a wrong one is worse than none.
Not covered: a date that was moved by a later mail, a date without a month, a length in months, pronouns.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hearth import patterns as re
from hearth.errors import PlanError
from hearth.formats.plan_validation import check_plan, renumbered
from hearth.language.discourse.relative_anchors import NamedAnchor, named_anchor, names_a_day
from hearth.language.reading import Utterance
from hearth.memory.search.time_mentions import times_named
from hearth.memory.search.word_forms import keys_of
from hearth.planning.dialogue.answer_steps import FIND
from hearth.tools.pim.cards import Birth
from hearth.types import Plain, Plan, Ref, Refusal, Step, StepResult, ToolSpec

_REMINDER = "add_reminder"
_MORNING = 9
"""The hour of a reminder that counts from a day without a time."""
_DUE = r"due|over|up|back|payable|open|closed|held|on|\w+ed"
_ENDS = (
    r"expires?|ends?|starts?|begins?|closes?|opens?|finish(?:es)?|leaves?|lands?|arrives?|runs? out|takes? place"
    r"|go(?:es)? out"
)
_IS_DUE = re.compile(rf"(?P<thing>.+?) (?P<verb>is|are) (?P<state>{_DUE})", re.IGNORECASE)
_DOES_END = re.compile(rf"(?P<thing>.+?) (?P<verb>{_ENDS})", re.IGNORECASE)
_ON_ITS_DAY = re.compile(
    r"(?P<thing>(?:the|my|our|[\w-]+['’]s) (?:[\w'’-]+ ){1,5}?)"
    r"(?:on )?the (?:day|date) (?:that |when )?(?:it|they|that) "
    rf"(?P<what>(?:is|are) (?:{_DUE})|{_ENDS})\s*[.!]*\s*\Z",
    re.IGNORECASE,
)
_ON_BIRTHDAY = re.compile(
    r"\bon (?:(?P<whose>her|his|their)|(?P<own>my)|(?P<name>[\w-]+(?: [\w-]+)?)['’]s) birthday\b", re.IGNORECASE
)
_DEED = re.compile(r"(?P<order>.*\bremind me) (?P<deed>to \S.*)", re.IGNORECASE)
_BIRTHDAY = re.compile(r"(?:(?P<own>my)|(?P<whose>.+)['’]s) birthday", re.IGNORECASE)
_AT_BIRTHDAY = re.compile(r"\b(?:on|before|b4|after) (?:[\w'’-]+ ){1,3}birthday\b", re.IGNORECASE)
_PRONOUN = re.compile(r"(?:i|we|you|he|she|they|it|his|her|their|its|your|this|that|these|those)\b", re.IGNORECASE)
"""Begins what only the talk before says the meaning of."""
_PLACE = re.compile(r" to (?:[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*)(?=\s+to\b|\s*[.!]*\s*\Z)")
"""Where a thing goes: "the flight to Lisbon to check in"."""
_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_OF_A_MONTH = re.compile(
    rf"\d[-/.]\d|\d(?:st|nd|rd|th)?\s*(?:of )?{_MONTH}\b|\b{_MONTH}\.? \d",
    re.IGNORECASE,
)
_ORDER = keys_of("please can could would remind set add make create put need want reminder")
_WHEN = "When? I need to know that to add a reminder."


_AT_HOME = frozenset({"file", "memory", "calendar"})
"""Sources of dates that the owner keeps: a note, a document, an event; who wrote a mail may be anybody."""


@dataclass(frozen=True, slots=True)
class DatedThing:
    """What a reminder counts from, and how its date is asked for."""

    anchor: NamedAnchor
    question: str
    whose: str = ""
    """Of a birthday: whom it is of, "my" of the owner's own."""

    def on(self, day: dt.datetime) -> str:
        """Return the request with the time itself."""
        return self.anchor.said_from(day)


def dated_thing(
    request: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]
) -> DatedThing | Refusal | None:
    """Return what a reminder without a time counts from; None where it has one, or counts from nothing.

    A birthday is no event: one that was taken for somebody's next event is asked for.
    """
    is_open = isinstance(found, Refusal) and found.missing == (f"{_REMINDER}.at",)
    at = _misread_birthday(request, found, tools) if isinstance(found, Plan) else None
    if FIND not in tools or not (is_open or at is not None):
        return None
    anchor = _on_its_day(request) or named_anchor(request)
    if anchor is None or anchor.moves or _PRONOUN.match(anchor.words) is not None:
        return when_asked() if isinstance(at, Ref) else None
    if (place := _PLACE.match(anchor.after)) is not None:
        anchor = replace(anchor, words=anchor.words + place.group(), after=anchor.after[place.end() :])
    anchor = _with_deeds_behind(anchor)
    words = _as_owned(anchor.words, request.text)
    birthday = _BIRTHDAY.fullmatch(words)
    whose = "" if birthday is None else birthday["whose"] or "my"
    return DatedThing(anchor, _question(words), whose)


def when_asked(why: str = "") -> Refusal:
    """Return the question for the time of a reminder.

    Args:
        why: Why none was taken, as a sentence.
    """
    return Refusal("needs", f"When? {why}" if why else _WHEN, (f"{_REMINDER}.at",))


def _misread_birthday(request: Utterance, plan: Plan, tools: Mapping[str, ToolSpec]) -> object | None:
    """Return the time that a plan gives a reminder on or near somebody's birthday, where the request names no day."""
    reminders = [step for step in plan.steps if step.tool == _REMINDER]
    others = [tools[step.tool] for step in plan.steps if step.tool != _REMINDER and step.tool in tools]
    if (
        len(reminders) != 1
        or any(spec.effect != "none" for spec in others)
        or _AT_BIRTHDAY.search(request.text) is None
    ):
        return None
    return None if any(names_a_day(slot) for slot in request.times) else reminders[0].arguments.get("at")


def _on_its_day(request: Utterance) -> NamedAnchor | None:
    """Read "pay the bill on the day it is due" and "call Ana on her birthday"."""
    text = request.text
    if (said := _ON_ITS_DAY.search(text)) is not None:
        words = f"{said['thing']}{said['what']}"
        return NamedAnchor(words, before=text[: said.end("thing")])
    if (said := _ON_BIRTHDAY.search(text)) is None:
        return None
    people = [str(slot.views["name"]) for slot in request.slots if slot.kind == "person" and slot.end <= said.start()]
    whose = said["name"] or (people[-1] if people and said["own"] is None else "")
    words = "my birthday" if said["own"] else f"{whose}'s birthday"
    if not whose and not said["own"]:
        return None
    return NamedAnchor(words, before=text[: said.start()], after=text[said.end() :], is_day=True)


def _with_deeds_behind(anchor: NamedAnchor) -> NamedAnchor:
    """Return an anchor with what is to be done in one piece: "to call Ana and buy a cake", on either side of it."""
    after = re.sub(r"\band to\b", "and", anchor.after)
    deed = _DEED.fullmatch(anchor.before.rstrip()) if re.match(r"\s*,?\s*and\b", after) is not None else None
    if deed is None:
        return replace(anchor, after=after)
    return replace(anchor, before=f"{deed['order']} ", after=f" {deed['deed']}{after}")


def _as_owned(words: str, text: str) -> str:
    """Return the words for a thing with "my" or "our" before them, where the request says so."""
    owned = re.search(rf"\b(?:my|our) (?={re.escape(words)})", text, re.IGNORECASE)
    return f"{owned.group()}{words}" if owned is not None else words


def _question(words: str) -> str:
    """Return the question for the date of a thing, or of what happens to it."""
    thing = words if re.match(r"(?:the|my|our|[\w-]+['’]s|[A-Z][a-z]+ [A-Z][a-z]+['’]s) ", words) else f"the {words}"
    if (due := _IS_DUE.fullmatch(thing)) is not None:
        return f"when {due['verb']} {due['thing']} {due['state']}"
    if (ends := _DOES_END.fullmatch(thing)) is not None:
        first, _, rest = ends["verb"].partition(" ")
        base = re.sub(r"(?<=sh|go)es\Z|s\Z", "", first)
        return f"when {'do' if base == first else 'does'} {ends['thing']} {base} {rest}".rstrip()
    return f"when is {thing}"


def day_in(
    found: StepResult, thing: DatedThing, birth: Birth | None, now: dt.datetime, country: str
) -> dt.datetime | None:
    """Return the date that an answer names, else the one that the words it rests on name. None without one, of a date
    that has passed, and of an answer that may be about something else.

    Args:
        birth: When the person was born whose birthday it is, as their card says.
    """
    answer = found.value
    if not isinstance(answer, Mapping) or answer.get("elsewhere"):
        return None
    is_asked = bool(found.label.strangers - _AT_HOME)  # others' words need the owner's yes, so they may be doubtful
    if answer.get("doubt") and not (is_asked and answer.get("kind") == "date"):
        return None
    if thing.whose:
        return _birthday(answer, birth, now, country)
    quote = str(answer.get("quote") or "")
    source = str(answer.get("source") or "")
    if quote.startswith("birthday") or source.startswith("reminder") or not answer.get("is_named"):
        return None
    dates = _dates(str(answer.get("value") or ""), now, country)
    if not dates and len(dates := _dates(quote, now, country)) > 1:
        return None
    day = next((day if day.time() != dt.time() else day.replace(hour=_MORNING) for day in dates), None)
    return day if day is not None and day > now else None


def _dates(said: str, now: dt.datetime, country: str) -> list[dt.datetime]:
    """Return the days with a month that words name: "Thursdays" of an old mail, or a clock time, is no date."""
    if _OF_A_MONTH.search(said) is None:
        return []
    return [one.start for one in times_named(said, now, country) if one.end - one.start <= dt.timedelta(days=1)]


def _birthday(answer: Mapping[str, Plain], birth: Birth | None, now: dt.datetime, country: str) -> dt.datetime | None:
    """Return the next birthday of a person; None where the answer tells another day than their card."""
    told = [(day.month, day.day) for day in _dates(str(answer.get("value") or ""), now, country)]
    if birth is None or (birth.month, birth.day) not in told:
        return None
    at = [dt.datetime.combine(birth.in_year(year), dt.time(_MORNING), now.tzinfo) for year in (now.year, now.year + 1)]
    return next(day for day in (*at, at[-1]) if day > now)


def loses_words(plan: Plan, thing: DatedThing, request: Utterance) -> bool:
    """Return whether something that was to be done is not in the text of a reminder: "call Ana … and buy a cake"."""
    said = thing.anchor.before + thing.anchor.after
    for slot in request.saying(said).times:
        said = said.replace(slot.text, " ")
    kept = keys_of(" ".join(str(step.arguments.get("text", "")) for step in plan.steps))
    return not {key for key in keys_of(said) - _ORDER if key.isalpha()} <= kept


def with_date(
    plan: Plan, thing: DatedThing, request: Utterance, found: StepResult, tools: Mapping[str, ToolSpec]
) -> Plan | None:
    """Return the plan of a reminder with the question for its date, so that the answer tells where that stands.

    Args:
        found: The answer that holds the date; what a mail says is asked about.
    """
    if [step.tool for step in plan.steps] != [_REMINDER]:
        return None
    strange = sorted(found.label.strangers - _AT_HOME)
    unsaid = {"at": "message" if "message" in strange else strange[0]} if strange else {}
    named = [one for one in found.whence if strange and one.kind and one.source == unsaid["at"]]
    said_in = {"at": named[0]} if len(named) == 1 == len(found.whence) else {}
    reminder = renumbered(plan.steps[0], {})
    asked = Step(FIND, {"question": thing.question}, text=request.text)
    steps = (asked, replace(reminder, after=(0,), text=request.text, unsaid=unsaid, said_in=said_in))
    try:
        return check_plan(replace(plan, steps=steps), tools)
    except PlanError:
        return None
