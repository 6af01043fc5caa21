"""Facts about the owner's world, each with its source, the dates it holds for, and its relation in one spelling."""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from hearth import patterns as re
from hearth.errors import NotFound, RequestError
from hearth.language.tokens import listed, word_set
from hearth.storage.database import Store
from hearth.storage.trace import label_from_text, label_text
from hearth.types import OWNER, Label

# ── Fact dates ────────────────────────────────────────────────────────────────────────────────────────────
# Reads birth dates and "since when" as people say them: `the 3rd of May`, `June 21st`, `2019-04-07`, `last year`.

MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_MONTH = "|".join(f"{name}|{name[:3]}" for name in MONTHS) + "|sept"
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\b\.?,?(?: (\d{{4}}))?", re.I)
_MONTH_DAY = re.compile(rf"\b({_MONTH})\.? (?:the )?(\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (\d{{4}}))?", re.I)
_ISO = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b")
_NUMERIC = re.compile(r"\b(\d{1,2})[./](\d{1,2})[./]?(\d{4})?\b")
_YEAR = re.compile(r"\b(?:in )?((?:18|19|20)\d\d)\b")
_AGO = re.compile(
    r"\b(an?|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,3}) (day|week|month|year)s? ago\b", re.I
)
_LASTED = re.compile(
    r"\bfor (an?|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,3}) (day|week|month|year)s\b", re.I
)
_SINCE = re.compile(rf"\b(?:since|in|from) ({_MONTH})\b(?: ((?:19|20)\d\d))?", re.I)
_SINCE_YEAR = re.compile(r"\b(?:since|in|from) ((?:19|20)\d\d)\b", re.I)
_WORDS = ("a", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def is_tellable(moment: dt.datetime) -> bool:
    """Return whether a moment can be written in every zone: in the first and the last year there is, it may not."""
    return dt.MINYEAR < moment.year < dt.MAXYEAR


def _month(name: str) -> int:
    return next(k for k, month in enumerate(MONTHS, 1) if month.startswith(name.lower()[:3]))


def birthday_said(text: str, *, is_month_first: bool = False) -> tuple[int | None, int, int] | None:
    """Read year (None: not said), month and day of the first date in `text`; None if it holds no valid date."""
    year: int | None = None
    if found := _ISO.search(text):
        year, month, day = (int(part) for part in found.groups())
    elif found := _DAY_MONTH.search(text):
        year, month, day = _number(found[3]), _month(found[2]), int(found[1])
    elif found := _MONTH_DAY.search(text):
        year, month, day = _number(found[3]), _month(found[1]), int(found[2])
    elif found := _NUMERIC.search(text):
        first, second = int(found[1]), int(found[2])
        day, month = (second, first) if is_month_first else (first, second)
        year = _number(found[3])
    else:
        return None
    if year is None and (with_year := _YEAR.search(text)):
        year = int(with_year[1])
    try:
        dt.date(year or 2000, month, day)
    except ValueError:
        return None
    return year, month, day


def birthday_text(year: int | None, month: int, day: int) -> str:
    """Write a birthday: `3 May 1984`, or without the year `3 May`."""
    said = f"{day} {MONTHS[month - 1].capitalize()}"
    return f"{said} {year}" if year else said


def year_of_birth(age: int, month: int, day: int, now: dt.datetime) -> int:
    """Compute the year of birth of somebody who turns `age` on that day, the next time it comes."""
    is_past = (month, day) < (now.month, now.day)
    return now.year + is_past - age


def since_said(text: str, now: dt.datetime) -> dt.datetime | None:
    """Read since when something is so, if `text` says ("since 2019", "in March", "two weeks ago", "for three years"):
    the beginning of the period it names, never later than `now`."""
    begins: dt.datetime | None = None
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if found := _AGO.search(text) or _LASTED.search(text):
        count = found[1].lower()
        n = int(count) if count.isdigit() else _WORDS.index("a" if count == "an" else count) or 1
        begins = _before(midnight, n, found[2].lower())
    elif found := _SINCE.search(text):
        year = _number(found[2]) or now.year - (_month(found[1]) > now.month)
        begins = midnight.replace(year=year, month=_month(found[1]), day=1)
    elif found := _SINCE_YEAR.search(text):
        begins = midnight.replace(year=int(found[1]), month=1, day=1)
    elif re.search(r"\blast year\b", text, re.I):
        begins = midnight.replace(year=now.year - 1, month=1, day=1)
    elif re.search(r"\blast month\b", text, re.I):
        begins = (midnight.replace(day=1) - dt.timedelta(days=1)).replace(day=1)
    elif re.search(r"\blast week\b", text, re.I):
        begins = midnight - dt.timedelta(days=now.weekday() + 7)
    elif re.search(r"\byesterday\b", text, re.I):
        begins = midnight - dt.timedelta(days=1)
    return begins if begins is not None and begins <= now else None


def _before(moment: dt.datetime, n: int, unit: str) -> dt.datetime | None:
    if unit in ("day", "week"):
        return moment - dt.timedelta(days=n * (7 if unit == "week" else 1))
    months = moment.year * 12 + moment.month - 1 - n * (12 if unit == "year" else 1)
    if months < 12:
        return None
    return moment.replace(year=months // 12, month=months % 12 + 1, day=min(moment.day, 28))


def _number(text: str | None) -> int | None:
    return int(text) if text else None


# ── Fact store ────────────────────────────────────────────────────────────────────────────────────────────
# Stores facts: subject, relation, value, with their source, the time they were true and the time they were believed.
#
# Two times (Snodgrass 1999): when something was true in the world (`since`, `until`) and when it was believed here
# (`learnt`, `unlearnt`). Rows are never overwritten: a change closes the row that was believed and adds another that
# follows it. So "what did you believe last Tuesday, and why" is a query, and an owner's correction leaves a trace.
#
# A fact is *promoted* (believed), *amended* (the owner corrected it; believed), *proposed* (inferred, or told by an
# untrusted text: never believed before the owner confirms it) or *revoked*. For a relation that has one value at a
# time (where someone lives, a birthday), a later value ends the earlier one; nothing is thrown away.
#
# Covered: contradictions of single-valued relations, corrections, both times, sources; a fact whose label is not
# trusted stays proposed whatever its confidence. Not covered: whether a fact is true; contradictions between
# different relations; names that several people have.

Status = Literal["proposed", "promoted", "amended", "revoked"]
BELIEVED = ("promoted", "amended")
ME = "me"
"""The owner as a subject."""
MAX_CHARACTERS = 1000
_GREATEST_NUMBER = 2**63 - 1
"""Greatest integer of SQLite."""

SINGLE_VALUED = frozenset(
    {
        *("name", "birthday", "age", "lives in", "works at", "job", "phone", "email", "address", "partner", "mother"),
        *("father", "time zone", "nationality", "size", "height", "shoe size", "favourite colour", "located at"),
    }
)
"""Relations that have one value at a time."""


@dataclass(frozen=True, slots=True)
class NewFact:
    """A fact to believe or to propose."""

    subject: str
    relation: str
    value: str
    since: dt.datetime | None = None
    """Time it began to be true; None: unknown."""
    until: dt.datetime | None = None
    confidence: float = 1.0
    label: Label = OWNER
    events: tuple[str, ...] = ()
    """Ids of the events it was taken from."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """A row of the table of facts: believed, proposed, ended or revoked."""

    id: int
    subject: str
    relation: str
    value: str
    since: dt.datetime | None
    until: dt.datetime | None
    """Time it ceased to be true; None: it has not, as far as is known."""
    learnt: dt.datetime
    unlearnt: dt.datetime | None
    """Time this row was replaced by another; None: it stands."""
    confidence: float
    status: Status
    label: Label
    reason: str
    events: tuple[str, ...]
    follows: int | None
    """Id of the row it replaced."""

    @property
    def is_believed(self) -> bool:
        return self.status in BELIEVED and self.unlearnt is None


class FactStore:
    """Facts in the home's database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    # ── Learning ──────────────────────────────────────────────────────────────────────────────────────────

    def add(self, new: NewFact, now: dt.datetime, *, is_proposed: bool = False) -> Fact:
        """Believe `new` from now on, or propose it: if a stranger may have said it, or with `is_proposed`.

        If the same fact stands already, its events are added to that row, which keeps the greater confidence. For a
        single-valued relation the earlier value ends when the later one begins.

        Raises:
            RequestError: It is empty, too long, or ends before it begins. Nothing was written.
        """
        _check(new)
        status: Status = "promoted" if new.label.is_trusted and not is_proposed else "proposed"
        with self._store.transaction() as cursor:
            same = self._like(cursor, new, "until_unix_s IS NULL AND status <> 'revoked' ORDER BY number DESC")
            if same is not None and (same.status in BELIEVED or status == "proposed"):
                return self._confirmed(cursor, same, new)
            # What the owner denied is not proposed again.
            denied = self._like(cursor, new, "status = 'revoked'") if same is None and status == "proposed" else None
            if denied is not None:
                return denied
            if same is not None:
                self._close(cursor, same.id, now)
            if status == "promoted":
                self._end_earlier(cursor, new, now)
            return self._insert(cursor, new, status, now, same.id if same is not None else None)

    def _like(self, cursor: sqlite3.Cursor, new: NewFact, condition: str) -> Fact | None:
        """Find a row of the same fact that was not replaced."""
        row = cursor.execute(
            "SELECT * FROM fact WHERE subject = ? COLLATE NOCASE AND relation = ? AND value = ? COLLATE NOCASE"  # noqa: S608 - our own text
            f" AND unlearnt_unix_s IS NULL AND {condition} LIMIT 1",
            (new.subject, new.relation, new.value),
        ).fetchone()
        return None if row is None else self._fact(row)

    def _confirmed(self, cursor: sqlite3.Cursor, fact: Fact, new: NewFact) -> Fact:
        cursor.execute("UPDATE fact SET confidence = max(confidence, ?) WHERE number = ?", (new.confidence, fact.id))
        self._keep_events(cursor, fact.id, new.events)
        return self._fact(cursor.execute("SELECT * FROM fact WHERE number = ?", (fact.id,)).fetchone())

    def _end_earlier(self, cursor: sqlite3.Cursor, new: NewFact, now: dt.datetime) -> None:
        """End the earlier values that a new value of a single-valued relation contradicts."""
        if new.relation not in SINGLE_VALUED or new.until is not None:
            return
        rows = cursor.execute(
            "SELECT * FROM fact WHERE subject = ? COLLATE NOCASE AND relation = ? AND unlearnt_unix_s IS NULL"
            " AND until_unix_s IS NULL AND status IN ('promoted', 'amended')",
            (new.subject, new.relation),
        ).fetchall()
        begins = new.since or now
        for fact in map(self._fact, rows):
            if fact.value.casefold() == new.value.casefold() or (fact.since is not None and fact.since > begins):
                continue
            self._close(cursor, fact.id, now)
            ended = _renewed(fact, f"ended by {new.relation} {new.value!r}", until=begins)
            self._insert(cursor, ended, fact.status, now, fact.id)

    def promote(self, id: int, now: dt.datetime) -> Fact:
        """Promote a proposed fact that the owner confirmed. Raises: NotFound: it does not stand as proposed."""
        with self._store.transaction() as cursor:
            fact = self._open(cursor, id)
            if fact.status != "proposed":
                raise NotFound(f"fact {id} is {fact.status}, not proposed; `hearth memory why {id}` shows it")
            label = Label(fact.label.sources | {"owner"}, fact.label.readers)
            new = _renewed(fact, "you confirmed it", confidence=1.0, label=label)
            self._close(cursor, id, now)
            self._end_earlier(cursor, new, now)
            return self._insert(cursor, new, "promoted", now, id)

    def amend(self, id: int, value: str, now: dt.datetime, reason: str = "you corrected it") -> Fact:
        """Correct the value of a fact: the old one was wrong all along. Raises: NotFound, RequestError."""
        return self._replaced(id, now, "amended", reason, value=value, confidence=1.0, label=OWNER)

    def revoke(self, id: int, now: dt.datetime, reason: str = "you revoked it") -> Fact:
        """Revoke a fact: it is not so, and never was. Raises: NotFound."""
        return self._replaced(id, now, "revoked", reason, confidence=0.0)

    def end(self, id: int, until: dt.datetime, now: dt.datetime) -> Fact:
        """End a fact: it is no longer so. Raises: NotFound; RequestError: it would end before it began."""
        return self._replaced(id, now, None, "it ended", until=until)

    def _replaced(self, id: int, now: dt.datetime, status: Status | None, reason: str, **changed: Any) -> Fact:
        """Close a row and insert one that differs in some fields, by default with the same status."""
        with self._store.transaction() as cursor:
            fact = self._open(cursor, id)
            new = _renewed(fact, reason, **changed)
            if status != "revoked":
                _check(new)
            self._close(cursor, id, now)
            return self._insert(cursor, new, status or fact.status, now, id)

    def _open(self, cursor: sqlite3.Cursor, id: int) -> Fact:
        row = cursor.execute("SELECT * FROM fact WHERE number = ? AND unlearnt_unix_s IS NULL", (id,)).fetchone()
        if row is None or row["status"] == "revoked":
            raise NotFound(f"no fact {id} stands; `hearth memory show` lists those that do")
        return self._fact(row)

    def _close(self, cursor: sqlite3.Cursor, id: int, now: dt.datetime) -> None:
        # Never before it was learnt: if the clock was set back, no query could reach the row.
        cursor.execute(
            "UPDATE fact SET unlearnt_unix_s = max(learnt_unix_s, ?) WHERE number = ?", (now.timestamp(), id)
        )

    def _insert(
        self, cursor: sqlite3.Cursor, new: NewFact, status: Status, now: dt.datetime, follows: int | None
    ) -> Fact:
        learnt = now.timestamp()
        if follows is not None:
            learnt = cursor.execute(
                "SELECT max(?, coalesce(unlearnt_unix_s, 0)) FROM fact WHERE number = ?", (learnt, follows)
            ).fetchone()[0]
        cursor.execute(
            "INSERT INTO fact (subject, relation, value, is_single, since_unix_s, until_unix_s, learnt_unix_s,"
            " confidence, status, label, reason, follows) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(new.subject, new.relation, new.value, new.relation in SINGLE_VALUED),
                *(_seconds(new.since), _seconds(new.until), learnt),
                *(new.confidence, status, label_text(new.label), new.reason, follows),
            ),
        )
        number = cursor.lastrowid or 0
        self._keep_events(cursor, number, new.events)
        return self._fact(cursor.execute("SELECT * FROM fact WHERE number = ?", (number,)).fetchone())

    def _keep_events(self, cursor: sqlite3.Cursor, number: int, events: Sequence[str]) -> None:
        cursor.executemany(
            "INSERT OR IGNORE INTO fact_event (fact, event) VALUES (?, ?)", [(number, event) for event in events]
        )

    # ── Asking ────────────────────────────────────────────────────────────────────────────────────────────

    def believed(
        self,
        subject: str | None = None,
        relation: str | None = None,
        *,
        at: dt.datetime | None = None,
        as_of: dt.datetime | None = None,
    ) -> tuple[Fact, ...]:
        """Find believed facts.

        Args:
            at: Facts that were true in the world at that moment; None: those that have not ended, as far as is known.
            as_of: Facts as believed at that moment; None: now.
        """
        wanted = ["status IN ('promoted', 'amended')"]
        given: list[object] = []
        if as_of is None:
            wanted.append("unlearnt_unix_s IS NULL")
        else:
            wanted.append("learnt_unix_s <= ? AND (unlearnt_unix_s IS NULL OR unlearnt_unix_s > ?)")
            given += [as_of.timestamp()] * 2
        if at is None:
            wanted.append("until_unix_s IS NULL")
        else:
            wanted.append("coalesce(since_unix_s, -9e99) <= ? AND coalesce(until_unix_s, 9e99) > ?")
            given += [at.timestamp()] * 2
        for column, value in (("subject", subject), ("relation", relation)):
            if value is not None:
                wanted.append(f"{column} = ? COLLATE NOCASE")
                given.append(value)
        return self._many(" AND ".join(wanted), given)

    def proposed(self) -> tuple[Fact, ...]:
        """Find the facts that wait for the owner's confirmation."""
        return self._many("status = 'proposed' AND unlearnt_unix_s IS NULL", [])

    def ended(self) -> tuple[Fact, ...]:
        """Find the facts that were true once and no longer are, as far as is known."""
        return self._many(
            "status IN ('promoted', 'amended') AND unlearnt_unix_s IS NULL AND until_unix_s IS NOT NULL", []
        )

    def standing(self, subject: str, relation: str) -> tuple[Fact, ...]:
        """Find every row that was not replaced, also proposed and revoked ones."""
        condition = "subject = ? COLLATE NOCASE AND relation = ? AND unlearnt_unix_s IS NULL"
        return self._many(condition, [subject, relation])

    def counts(self) -> dict[str, int]:
        """Count the rows that stand, by status; ended ones separately."""
        rows = self._store.query(
            "SELECT CASE WHEN until_unix_s IS NOT NULL AND status IN ('promoted', 'amended') THEN 'ended' ELSE status "
            "END, count(*) FROM fact WHERE unlearnt_unix_s IS NULL GROUP BY 1 ORDER BY 1"
        )
        return {row[0]: row[1] for row in rows}

    def about(self, name: str) -> tuple[Fact, ...]:
        """Find believed facts with `name` as the subject or as the value: its neighbours in the graph."""
        return self._many(
            "(subject = ? COLLATE NOCASE OR value = ? COLLATE NOCASE) AND status IN ('promoted', 'amended')"
            " AND unlearnt_unix_s IS NULL AND until_unix_s IS NULL",
            [name, name],
        )

    def get(self, id: int) -> Fact:
        """Return any row, believed or not. Raises: NotFound."""
        found = self._many("number = ?", [id]) if abs(id) <= _GREATEST_NUMBER else ()
        if not found:
            raise NotFound(f"there is no fact {id}; `hearth memory show` lists those that stand")
        return found[0]

    def history(self, id: int) -> tuple[Fact, ...]:
        """Return a fact with all that it replaced and that replaced it, oldest first. Raises: NotFound."""
        first = self.get(id)
        while first.follows is not None:
            first = self.get(first.follows)
        found = [first]
        while later := self._many("follows = ?", [found[-1].id]):
            found.append(later[0])
        return tuple(found)

    def from_event(self, event: str) -> tuple[Fact, ...]:
        """Find the facts that rest on an event, whatever their status."""
        return self._many("number IN (SELECT fact FROM fact_event WHERE event = ?)", [event])

    def erase(self, ids: Sequence[int]) -> int:
        """Delete rows for good, as forgetting does: no trace of the belief remains. Return how many there were."""
        n = 0
        with self._store.transaction() as cursor:
            for id in ids:
                cursor.execute("UPDATE fact SET follows = NULL WHERE follows = ?", (id,))
                n += cursor.execute("DELETE FROM fact WHERE number = ?", (id,)).rowcount
        return n

    def _many(self, condition: str, given: Sequence[object]) -> tuple[Fact, ...]:
        rows = self._store.query(f"SELECT * FROM fact WHERE {condition} ORDER BY number", given)  # noqa: S608 - our own text
        return tuple(self._fact(row) for row in rows)

    def _fact(self, row: sqlite3.Row) -> Fact:
        events = self._store.query("SELECT event FROM fact_event WHERE fact = ? ORDER BY event", (row["number"],))
        return Fact(
            id=row["number"],
            subject=row["subject"],
            relation=row["relation"],
            value=row["value"],
            since=_moment(row["since_unix_s"]),
            until=_moment(row["until_unix_s"]),
            learnt=dt.datetime.fromtimestamp(row["learnt_unix_s"], dt.UTC),
            unlearnt=_moment(row["unlearnt_unix_s"]),
            confidence=row["confidence"],
            status=row["status"],
            label=label_from_text(row["label"]),
            reason=row["reason"],
            events=tuple(event[0] for event in events),
            follows=row["follows"],
        )


def _renewed(fact: Fact, reason: str, **changed: Any) -> NewFact:
    """Return what replaces a row."""
    kept = {one.name: getattr(fact, one.name) for one in fields(NewFact)}
    return NewFact(**{**kept, "reason": reason, **changed})


def _check(new: NewFact) -> None:
    for name, text in (("subject", new.subject), ("relation", new.relation), ("value", new.value)):
        if not text.strip() or len(text) > MAX_CHARACTERS:
            what = "is empty" if not text.strip() else f"has {len(text)} characters; at most {MAX_CHARACTERS}"
            raise RequestError(f"the {name} of a fact {what}; write a few words, as in 'Ben', 'lives in', 'Ghent'")
    if not 0 <= new.confidence <= 1:
        raise RequestError(f"the confidence {new.confidence!r} is not between 0 and 1")
    for moment in (new.since, new.until):
        if moment is not None and not is_tellable(moment):
            raise RequestError(f"a fact cannot begin or end in the year {moment.year}; write one from 2 to 9998")
    if new.since is not None and new.until is not None and new.until <= new.since:
        raise RequestError(f"a fact cannot end ({new.until.date()}) before it began ({new.since.date()})")


def _seconds(moment: dt.datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()


def _moment(seconds: float | None) -> dt.datetime | None:
    return None if seconds is None else dt.datetime.fromtimestamp(seconds, dt.UTC)


# ── Relations ─────────────────────────────────────────────────────────────────────────────────────────────
# Defines the closed vocabulary of facts: relations between people with their inverses, and the words for them.
#
# Besides these there are relations made of a noun the owner uses (`favourite colour`, `shoe size`, `locker number`).

KIN: Mapping[str, str] = {
    **{word: word for word in listed("wife husband partner spouse girlfriend boyfriend fiancé fiancée parent")},
    **{word: word for word in listed("mother father sister brother daughter son child aunt uncle cousin niece nephew")},
    **{word: word for word in listed("twin grandmother grandfather granddaughter grandson stepmother stepfather")},
    **{word: word for word in listed("godmother godfather friend neighbour colleague boss manager assistant flatmate")},
    **{word: word for word in listed("roommate landlord landlady dentist doctor gp lawyer accountant therapist vet")},
    **{word: word for word in listed("hairdresser plumber electrician teacher tutor coach trainer cleaner nanny")},
    **{word: word for word in listed("babysitter gardener mechanic optician physiotherapist ex sibling")},
    **{f"{word}-in-law": f"{word}-in-law" for word in listed("mother father sister brother daughter son")},
    **dict.fromkeys(listed("mum mom mama"), "mother"),
    **dict.fromkeys(listed("dad papa"), "father"),
    **dict.fromkeys(listed("grandma granny"), "grandmother"),
    **dict.fromkeys(listed("grandpa granddad"), "grandfather"),
    **dict.fromkeys(listed("co-worker coworker"), "colleague"),
    "kid": "child",
    "neighbor": "neighbour",
    "best friend": "best friend",
    "physio": "physiotherapist",
    "tax adviser": "accountant",
    "better half": "partner",
}
"""Word → the relation of that person to the owner."""
PLURALS: Mapping[str, str] = {
    "kids": "child",
    "children": "child",
    "wives": "wife",
    "parents": "parent",
    "siblings": "sibling",
    **{f"{word}s": word for word in listed("sister brother daughter son aunt uncle cousin niece nephew friend twin")},
    **{f"{word}s": word for word in listed("neighbour colleague flatmate roommate grandson granddaughter")},
}
PETS = word_set("dog cat rabbit hamster parrot budgie horse pony tortoise turtle guinea-pig goldfish puppy kitten")

DIETS = word_set(
    "vegan vegetarian pescatarian halal kosher teetotal gluten-free dairy-free lactose-free sugar-free keto "
    "paleo low-carb plant-based macrobiotic flexitarian"
)
CONDITIONS = word_set(
    "asthma diabetes epilepsy migraine migraines arthritis hypertension hayfever eczema tinnitus adhd "
    "dyslexia insomnia anaemia psoriasis coeliac vertigo glaucoma"
)
NATIONALITIES = word_set(
    "american argentinian armenian asian australian austrian belgian brazilian british bulgarian canadian catalan "
    "catholic chinese colombian croatian cuban czech danish dutch egyptian english estonian ethiopian european "
    "filipino finnish flemish french german ghanaian greek hindu hungarian icelandic indian indonesian iranian iraqi "
    "irish israeli italian japanese jewish kenyan korean latvian lebanese lithuanian maltese mexican moroccan muslim "
    "nigerian norwegian pakistani persian peruvian polish portuguese protestant romanian russian scottish serbian "
    "slovak slovenian spanish swedish swiss syrian thai tunisian turkish ukrainian vietnamese welsh"
)
"""Words that follow "is" and are not names."""
JOBS = word_set(
    "accountant actor actress architect artist baker banker barber bartender biologist builder butcher carpenter "
    "cashier chef chemist cleaner clerk composer consultant cook dancer dentist designer developer director doctor "
    "driver economist editor electrician engineer farmer firefighter fisherman florist gardener geologist "
    "hairdresser historian journalist judge lawyer lecturer librarian locksmith manager mechanic midwife miner "
    "musician nurse optician painter paramedic pharmacist photographer physicist physiotherapist pilot plumber "
    "policeman policewoman postman potter priest professor programmer psychologist receptionist researcher roofer "
    "sailor salesman saleswoman scientist sculptor secretary singer soldier solicitor statistician student surgeon "
    "surveyor tailor teacher therapist trader translator tutor vet vicar violinist pianist waiter waitress welder "
    "writer zoologist apprentice beekeeper analyst administrator officer technician"
)
"""Last words of the names of occupations."""
MAKES = word_set(
    "audi bmw byd citroen citroën dacia fiat ford honda hyundai jaguar jeep kia lexus mazda mercedes mini "
    "mitsubishi nissan opel peugeot polestar porsche renault saab seat skoda škoda smart subaru suzuki tesla "
    "toyota vauxhall volkswagen volvo vw golf polo yaris corolla passat"
)
OPPOSITES: Mapping[str, tuple[str, ...]] = {
    "likes": ("dislikes", "avoids"),
    "dislikes": ("likes",),
    "avoids": ("likes", "habit"),
}
"""Relations whose facts a new fact of a relation ends, if the value is the same."""
PREFERENCES = frozenset({"likes", "dislikes", "avoids", "prefers", "allergic to", "diet", "wants", "health"})


def said_of(relation: str, subject: str, value: str, name: str = "you") -> str:
    """Write a fact as a sentence: `you live in Ghent`, `your sister is Ana`, `Ben lives in Ghent`."""
    who = name if subject == ME else subject
    verb = _VERBS.get(relation)
    if verb is not None:
        mine, theirs = verb
        return f"{who} {mine if subject == ME else theirs} {value}"
    whose = "your" if subject == ME else f"{subject}'s"
    return f"{whose} {relation} is {value}"


_VERBS: Mapping[str, tuple[str, str]] = {
    **{name: (name[:-1], name) for name in ("likes", "dislikes", "avoids", "prefers", "wants", "speaks", "studies")},
    "lives in": ("live in", "lives in"),
    "works at": ("work at", "works at"),
    "studies at": ("study at", "studies at"),
    "allergic to": ("are allergic to", "is allergic to"),
    "located at": ("are", "is"),
    "called": ("are called", "is called"),
    "from": ("are from", "is from"),
    "health": ("have", "has"),
    "habit": ("have the habit:", "has the habit:"),
    "studies": ("study", "studies"),
    "goes to": ("go to", "goes to"),
}
