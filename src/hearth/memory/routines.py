"""Finds routines to propose as facts: similar requests at like times, places one goes to, people one meets.

Events that share most of their content words are of one kind. A kind (a place, a person) with three events or more on
different days is a routine when most of them lie at like times: within 90 minutes of their middle on the clock, counted
round midnight, and perhaps on one weekday. The confidence, if `k` of `n` events are at like times, is `(k + 1) / (n +
2)` (Laplace's rule of succession, 1814); if `w` of those `k` are on the commonest weekday, it is multiplied by `(w + 1)
/ (k + 2)`, else no weekday is named. Below `LEAST_SURE` nothing is proposed.

Covered: clock times, weekdays, places, people; the owner's zone. Everything is proposed, never believed at once.
Not covered: rhythms other than weekly or daily (every other week, monthly), routines that have ended.
"""

from __future__ import annotations

import datetime as dt
import math
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hearth.language.text.tokens import listed
from hearth.memory.facts.fact_dates import MONTHS
from hearth.memory.facts.fact_store import ME, Fact, FactStore, NewFact
from hearth.memory.search.terms import telling_words
from hearth.storage.database import Store
from hearth.types import Label

LEAST_EVENTS = 3
LEAST_SURE = 0.6
LEAST_SHARED = 0.6
"""Least share of words (Jaccard) for two events to be of one kind."""
LIKE_TIMES = dt.timedelta(minutes=90)
MOST_EVENTS = 20_000
"""Limit on the latest events that are examined."""
DEVICE = Label(frozenset({"device"}), frozenset())
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_TIME_WORDS = frozenset(
    (
        *(day.lower() for day in DAYS),
        *MONTHS,
        *listed("today tomorrow tonight yesterday morning evening afternoon noon midnight next last minutes hour"),
        *listed("one two three four five six seven eight nine ten eleven twelve half past quarter week month year day"),
    )
)
_REQUESTS = ("request", "asked")
_KINDS = (*_REQUESTS, "visit", "photo", "calendar")


@dataclass(frozen=True, slots=True)
class Happened:
    """One event, as far as routines need it."""

    id: str
    text: str
    at: dt.datetime
    """Time in the owner's zone."""
    kind: str
    person: str = ""
    place: str = ""


def routines(events: Iterable[Happened]) -> tuple[NewFact, ...]:
    """Find what repeats among `events`, surest first."""
    happened = list(events)
    groups: list[tuple[str, str, list[Happened]]] = [
        ("habit", _shortest(group), group) for group in _of_one_kind([e for e in happened if e.kind in _REQUESTS])
    ]
    for relation, name in (("goes to", "place"), ("meets often", "person")):
        by_name: dict[str, list[Happened]] = defaultdict(list)
        for event in happened:
            if event.kind not in _REQUESTS and (value := event.place if name == "place" else event.person):
                by_name[value].append(event)
        groups += [(relation, value, found) for value, found in by_name.items()]
    found = [fact for relation, value, group in groups if (fact := _routine(relation, value, group)) is not None]
    return tuple(sorted(found, key=lambda fact: (-fact.confidence, fact.relation, fact.value)))


def _of_one_kind(events: Sequence[Happened]) -> list[list[Happened]]:
    """Group events that share most of their content words with the first of their group."""
    groups: list[tuple[frozenset[str], list[Happened]]] = []
    by_word: dict[str, list[int]] = defaultdict(list)
    for event in events:
        words = frozenset(w for w in telling_words(event.text) if w not in _TIME_WORDS and not w[0].isdigit())
        if len(words) < 1:
            continue
        near = Counter(group for word in words for group in by_word[word])
        best = next((g for g, n in near.most_common(5) if n / len(words | groups[g][0]) >= LEAST_SHARED), None)
        if best is None:
            for word in words:
                by_word[word].append(len(groups))
            groups.append((words, [event]))
        else:
            groups[best][1].append(event)
    return [group for _, group in groups]


def _shortest(group: Sequence[Happened]) -> str:
    return min((event.text for event in group), key=len)[:120]


def _routine(relation: str, value: str, group: Sequence[Happened]) -> NewFact | None:
    days = {event.at.date() for event in group}
    if len(days) < LEAST_EVENTS:
        return None
    middle, like = _at_like_times(group)
    sure = (len(like) + 1) / (len(group) + 2)
    weekday, n_on_it = Counter(event.at.weekday() for event in like).most_common(1)[0]
    on_weekday = (n_on_it + 1) / (len(like) + 2)
    n_weeks = max(1, (max(days) - min(days)).days / 7)
    if n_on_it >= LEAST_EVENTS and on_weekday * sure >= LEAST_SURE and n_on_it >= n_weeks / 2:
        when, sure = f"on {DAYS[weekday]}s", sure * on_weekday
        like = [event for event in like if event.at.weekday() == weekday]
    elif len({event.at.date() for event in like}) >= max(LEAST_EVENTS, n_weeks * 2.5):
        when = "most days"
    else:
        when = "often"
    if sure < LEAST_SURE or len({event.at.date() for event in like}) < LEAST_EVENTS:
        return None
    return NewFact(
        *(ME, relation, f"{value}: {when} about {middle:%H:%M}", None, None, round(sure, 3), DEVICE),
        events=tuple(event.id for event in like[-50:]),
        reason=f"{len(like)} of {len(group)} times at like times",
    )


def _at_like_times(group: Sequence[Happened]) -> tuple[dt.time, list[Happened]]:
    """Find the middle of their times on the clock (the time nearest to all others), and the events near it."""
    minutes = [event.at.hour * 60 + event.at.minute for event in group]
    middle = min(minutes, key=lambda m: (sum(min(_apart(m, other), 240) for other in minutes), m))
    most = LIKE_TIMES.total_seconds() / 60
    like = [event for event, minute in zip(group, minutes, strict=True) if _apart(middle, minute) <= most]
    shift = sum(math.remainder(m - middle, 1440) for m in minutes if _apart(middle, m) <= most) / max(1, len(like))
    rounded = int(15 * round((middle + shift) / 15)) % 1440
    return dt.time(rounded // 60, rounded % 60), like


def _apart(a: int, b: int) -> float:
    return abs(math.remainder(a - b, 1440))


def propose_routines(store: Store, facts: FactStore, zone: dt.tzinfo, now: dt.datetime) -> tuple[Fact, ...]:
    """Propose the routines in the latest events that are new; return all facts that wait for the owner's confirmation.
    Those the owner knows already, or revoked, are not proposed again."""
    marks = ",".join("?" * len(_KINDS))
    rows = store.query(
        f"SELECT id, text, at_unix_s, kind, person, place FROM event WHERE kind IN ({marks})"  # noqa: S608 - question marks
        " ORDER BY number DESC LIMIT ?",
        (*_KINDS, MOST_EVENTS),
    )
    found = routines(_happened(row, zone) for row in reversed(rows))
    known = {
        _what(fact.value) for relation in ("habit", "goes to", "meets often") for fact in facts.standing(ME, relation)
    }
    for new in found:
        if _what(new.value) not in known:
            facts.add(new, now, is_proposed=True)
    return facts.proposed()


def _what(value: str) -> str:
    """Strip a value of its times, which drift."""
    return value.rpartition(": ")[0] or value


def _happened(row: sqlite3.Row, zone: dt.tzinfo) -> Happened:
    at = dt.datetime.fromtimestamp(row["at_unix_s"], zone)
    return Happened(row["id"], row["text"], at, row["kind"], row["person"], row["place"])
