"""Reads the answer to a question back as the whole request: "remind me to text mum", "When?", "6pm".

Covered: one missing value: a time, a length, a number, a text, things for a list. Not covered: two values in one
answer; an answer that is itself a request.
"""

from __future__ import annotations

import datetime as dt
import re

from hearth.language.text.tokens import listed
from hearth.language.values.slots import find_slots
from hearth.types import Context, Episode

WITHIN = dt.timedelta(minutes=15)
_TIMES = frozenset(listed("at start end date length due when until"))
_ITEMS = frozenset({"items"})
_TEXTS = frozenset(listed("text title what question body"))
_REQUESTS = frozenset(
    listed(
        "add remind set put cancel delete move show find what when where who which how why is are do does did can "
        "could would will turn switch email mail write send call read open tell make take no nope nah never forget "
        "undo list please what's whats when's who's"
    )
)
"""Words that begin a request rather than answer a question."""
_LONGEST = 40
"""Greatest number of words of an answer."""
_MARK_LAST = re.compile(
    r"(?P<said>.+?)[\s,]+(?:sorry|i\s+meant?|i\s+beg\s+your\s+pardon|instead|rather|(?:would\s+be|is)\s+better)"
    r"\s*[.!]*\s*",
    re.IGNORECASE | re.DOTALL,
)
_MARK_FIRST = re.compile(r"\s*(?:scratch\s+that|not\s+that|hang\s+on)\s*[,.:]?\s+(?=\S)", re.IGNORECASE)
_HAS_MARK = re.compile(r"\s*(?:no|nope|nah|sorry|actually|make|change|i\s+meant?|oh|wait)\b", re.IGNORECASE)
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


def answered(text: str, asked: Episode, now: dt.datetime, context: Context) -> str:
    """Return the request that was asked about with what it lacked; empty where `text` does not answer the question."""
    refusal = asked.refusal
    if refusal is None or refusal.kind != "needs" or not dt.timedelta() <= now - asked.request.now <= WITHIN:
        return ""
    said, before = text.strip().rstrip(".!?"), asked.request.text.strip().rstrip(".!?")
    words = said.lower().split()
    if not 0 < len(words) <= _LONGEST or words[0].strip(",") in _REQUESTS:
        return ""
    names = {name.rpartition(".")[2] for name in refusal.missing}
    slots = find_slots(said, now, context)
    if names & _TIMES and slots and slots[0].cue_start == 0 and slots[-1].end == len(said):
        cue = "" if slots[0].cue else "for " if slots[0].kind == "duration" else "at " if said[0].isdigit() else ""
        return f"{before} {cue}{said}"
    if names & _ITEMS and (verb := re.match(r"(?:please\s+)?(?:add|put)\b", before, re.IGNORECASE)) is not None:
        return f"{verb[0]} {said}{before[verb.end() :]}"
    if names & _TEXTS:
        joint = " " if words[0] in ("to", "that", "about", "for", "saying") else ": "
        return f"{before}{joint}{said}"
    return ""
