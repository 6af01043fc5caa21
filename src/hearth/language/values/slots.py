"""Finds typed values in a request, without training: the same text, time and context give the same slots.

Slots never overlap, stand in the order of the text, and `text[slot.start:slot.end] == slot.text`. No text raises an
exception, and reading takes time linear in its length. English only: in other languages addresses, numbers, files,
quoted text, known names and numeric dates are still found.

Views by kind, all plain data:

* `time`: `datetime` (the one moment that stands for it), `date`, `start` and `end` (what was said, bounded: `end` is
  exclusive; one of them is missing when that side is open), `time` when a clock time was said, `duration` for a range
  of clock times and for what is counted from now (that has no `end`), `repeat` (`daily`, `weekly`, `monthly`,
  `yearly`; `hourly`, `minutely`) with `repeat_every` (when not 1) and `repeat_days` (`MO`, …). How unsure English is
  read: `language.temporal.moments`, `language.temporal.days`, `language.temporal.dates` and `language.temporal.tenses`.
* `duration`: `duration` (a month counts 30 days, a year 365), and `number` with `unit` when it is of one unit;
  `datetime`, when it is over, of what something is snoozed for.
* `number`: `number`, `integer` when whole; of a percentage also `unit` (`percent`) and `fraction`.
* `quantity`: `number`, `integer` when whole, `unit` (a name pint knows, or an ISO 4217 currency). `unit`: `unit`.
* `expression`: `expression`, a sum in signs.
* `email`: `email`. `phone`: `phone` (E.164). `url`: `url`. `file`: `path`, `name`. `quoted`: `text`.
* `person` and other entities: `name`, the entity's name; `candidates` when ambiguous. `unknown_person`: `name`.
* Every kind has `text`: what was written, without quotation marks.
"""

from __future__ import annotations

import datetime as dt
import re
from bisect import bisect_left
from collections.abc import Sequence

from hearth.language.acts.clauses import clauses, without
from hearth.language.temporal.recurrence import REPEATS
from hearth.language.temporal.split_expressions import TimeSaid, carried, joined
from hearth.language.temporal.times import find_times
from hearth.language.text.tokens import Clause, Slot, Token, listed, tokens
from hearth.language.values.entities import find_names
from hearth.language.values.identifiers import find_addresses, find_phones, find_quoted
from hearth.language.values.numbers import find_numbers
from hearth.types import Context

__all__ = ["Clause", "Slot", "clauses", "find_slots", "without"]

_RANKS = {
    kind: rank
    for rank, kind in enumerate(
        listed("quoted email url file person time phone expression quantity duration number unit unknown_person")
    )
}
"""Rank of each kind: of overlapping slots of equal length the first kind wins."""
_CUE_WORDS = frozenset(
    listed(
        "at on in for of to from between within during over around about since until till before after by "
        "with without into as than under above below per every each near via cc"
    )
)


_ENDS_SENTENCE = re.compile(r"[.!?;\n]")
_THERE = re.compile(r"\b(?:there|that day)\b", re.IGNORECASE)
_MOST_TIMES = 8
"""Most times of a clause that are read together; more are a list, and each is read alone."""


def find_slots(text: str, now: dt.datetime, context: Context, said: Sequence[Token] | None = None) -> tuple[Slot, ...]:
    """Find the typed values in a request.

    Of overlapping values the longest is kept, then the most specific kind.

    Args:
        text: The request as the owner wrote it; any text.
        now: When it was asked, with time zone.
        context: Names the owner knows, and the country that decides phone numbers and the order of 3/4/2027.
        said: The tokens of the text, where they were found already.
    Raises:
        ValueError: `now` has no time zone.
    """
    if now.tzinfo is None:
        raise ValueError(f"the request's time {now.isoformat()!r} has no time zone; give it the owner's")
    said = tokens(text) if said is None else said
    times = _without_attributes(find_times(text, said, now, context.country), said)
    found = [
        *find_quoted(text),
        *find_addresses(text),
        *find_names(text, said, context),
        *(time.slot for time in times),
        *find_phones(text, context.country),
        *find_numbers(text, said),
    ]
    kept = _apart(text, found)
    if len(times) > 1:
        kept = _times_joined(text, kept, times, now)
    return tuple(_finished(slot, said, place) for slot, place in _placed(kept, said))


_HOLIDAYS = frozenset(listed("christmas xmas easter halloween thanksgiving birthday"))
_OF_A_HOLIDAY = frozenset(
    listed(
        "card cards present presents gift gifts shopping tree trees decorations crackers pudding egg eggs jumper "
        "jumpers songs carols list"
    )
)
"""What is called by a holiday and names no day: "buy Easter eggs"."""
_NAMING = frozenset(listed("called named titled list lists"))
_MAILS = frozenset(listed("mail mails email emails e-mail e-mails message newsletter newsletters magazine post digest"))
_NO_NOUNS = _CUE_WORDS | frozenset(
    listed(
        "and or but please pls is are was will we i you he she they it what when who how do does did have has that so"
    )
)


def _without_attributes(times: Sequence[TimeSaid], said: Sequence[Token]) -> list[TimeSaid]:
    """Drop holidays that say what kind a thing is, beside another time or an article ("the Christmas card list"), or in
    a name ("a list called Easter eggs"); and rhythms that are a name's, too ("the Gardening Weekly email")."""
    kept: list[TimeSaid] = []
    starts = [token.start for token in said]
    for time in times:
        words = time.slot.text.lower().split()
        place = bisect_left(starts, time.slot.end)
        after = said[place] if place < len(said) else None
        if time.slot.kind == "time" and _names_a_paper(said, place, words):
            continue
        if words[-1] in _HOLIDAYS and len(words) == 1 and _is_in_name(said, place):
            continue
        is_before_noun = after is not None and after.kind == "word" and after.low not in _NO_NOUNS
        is_kind = words[0] in ("the", "my", "our", "a") or len(times) > 1
        if words[-1] in _HOLIDAYS and len(words) <= 2 and is_before_noun and is_kind:
            continue
        kept.append(time)
    return kept


def _is_in_name(said: Sequence[Token], after: int) -> bool:
    """Return whether a holiday before place `after` is part of what something is called."""
    before = said[after - 2].low if after > 1 else ""
    following = said[after].low if after < len(said) else ""
    return following in _OF_A_HOLIDAY or (before in _NAMING and following != "")


def _names_a_paper(said: Sequence[Token], after: int, words: Sequence[str]) -> bool:
    """Return whether a rhythm is in the name of what writes mails: "from Gardening Weekly"."""
    if len(words) != 1 or words[0] not in REPEATS:
        return False
    near = [token.low for token in said[after : after + 3]]
    is_sender = "from" in [token.low for token in said[max(0, after - 4) : max(0, after - 1)]]
    return is_sender or any(word in _MAILS for word in near)


def _times_joined(text: str, kept: list[Slot], times: Sequence[TimeSaid], now: dt.datetime) -> list[Slot]:
    """Return the slots with the times of each clause read together."""
    by_start = {time.slot.start: time for time in times}
    result: dict[int, Slot] = {}
    day, end = None, 0
    for clause in clauses(text, kept):
        if _ENDS_SENTENCE.search(text, max(0, end - 1), clause.start):
            day = None
        end = clause.end
        of_clause = [
            by_start[slot.start] for slot in clause.slots if slot.kind == "time" and by_start[slot.start].slot == slot
        ]
        before = day if day is None or day.clock is not None or _THERE.search(clause.text) else None
        if (2 if before is None else 1) <= len(of_clause) <= _MOST_TIMES:
            result.update((slot.start, slot) for slot in joined(text, of_clause, now, before))
        day = carried(of_clause, now) or day
    return [result.get(slot.start, slot) for slot in kept]


def _apart(text: str, found: list[Slot]) -> list[Slot]:
    """Drop overlapping slots: the longest is kept, then the most specific."""
    taken = bytearray(len(text))
    kept = []
    for slot in sorted(found, key=lambda s: (s.start - s.end, _RANKS.get(s.kind, 4), s.start)):
        if taken.find(1, slot.start, slot.end) < 0:
            taken[slot.start : slot.end] = b"\x01" * (slot.end - slot.start)
            kept.append(slot)
    kept.sort(key=lambda s: s.start)
    return kept


def _placed(slots: Sequence[Slot], said: Sequence[Token]) -> list[tuple[Slot, int]]:
    """Pair each slot with the index of the token before it (-1: none)."""
    result = []
    index = 0
    for slot in slots:
        while index < len(said) and said[index].end <= slot.start:
            index += 1
        result.append((slot, index - 1))
    return result


def _finished(slot: Slot, said: Sequence[Token], before: int) -> Slot:
    """Return the slot with its cue, and its text as a view."""
    views = {"text": slot.text, **slot.views}
    cue, cue_start = slot.cue, slot.cue_start if slot.cue else slot.start
    if not cue and before >= 0 and said[before].low in _CUE_WORDS:
        cue, cue_start = said[before].low, said[before].start
    return Slot(slot.kind, slot.start, slot.end, slot.text, views, cue, cue_start, slot.is_timed, slot.is_ambiguous)
