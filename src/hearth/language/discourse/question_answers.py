"""Reads the answer to a question back as the whole request: "remind me to text mum", "When?", "6pm".

Covered: a missing time, length, number, text, person, things for a list; a deed to be reminded of, which is said like a
request ("call the plumber at 5"). Not covered: an answer that is meant as another request.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence, Set

from hearth import patterns as re
from hearth.language.reading import Utterance
from hearth.language.text.tokens import Slot, listed
from hearth.types import Episode

WITHIN = dt.timedelta(minutes=15)
_TIMES = frozenset(listed("at start end date length due when until"))
_LENGTHS = frozenset(listed("length"))
_ITEMS = frozenset({"items"})
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
_MOST_WORDS = 8


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
    if (pair := then.alternatives) is not None:
        return _with_one_of(before, pair, said)
    if names & _PEOPLE and _is_whole(said, slots) and slots[0].kind in _WHO:
        if (told := _TOLD.match(before)) is not None:
            return f"{before[: told.start('who')]}{said}{before[told.end('who') :]}"
        return f"{before} {'' if slots[0].cue else 'to '}{said}"
    if names & _TIMES and (time := _time_said(utterance.saying(said), names)):
        return f"{before} {time}"
    if names & _ITEMS and (verb := re.match(r"(?:please\s+)?(?:add|put)\b", before, re.IGNORECASE)) is not None:
        return f"{verb[0]} {said}{before[verb.end() :]}"
    if names & _TEXTS:
        joint = " " if words[0] in ("to", "that", "about", "for", "saying", "with") else ": "
        return f"{before}{joint}{said}"
    return ""


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
