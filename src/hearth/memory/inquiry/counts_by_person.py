"""Counts mails and events by person: who wrote most, how many mails went to somebody, whom the owner met how often.

A sender is known by the address, and called as the owner's card or else the mail calls them; whom an event is with is
known by the cards, from its guests and the names in its title.

Covered: mails that came and that were sent, and events that are over, of all times or of one that the question names.
Mails that nobody can answer ("noreply@…") are of no person. Not covered: mails or meetings about a matter; people
without a card in events, and two of one name in titles; meetings to come.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from hearth import patterns as re
from hearth.memory.inquiry.answer_reading import known_addresses
from hearth.memory.inquiry.answer_telling import card_meant, cards_of, past_of, people_named
from hearth.memory.inquiry.asking_mails import NOBODY
from hearth.memory.inquiry.record_answers import events_in, matter_of, witness_of_event
from hearth.memory.search.collecting import is_indexed, said_date
from hearth.memory.search.search_words import STOP_WORDS, Period, times_named, without_times
from hearth.protocols import CallContext, HomeAnswer, Witness
from hearth.tools.mail.mailbox import INBOX, SENT, Seen, look, places

_OfWhat = Literal["came", "sent", "met"]
_YEARS_BACK = dt.timedelta(days=3660)
_LONGEST_QUESTION = 300
_MOST_TOLD = 10
"""Most people whose counts are told, those with most first."""
_MOST_OF_A_NAME = 4
"""Words of a stranger's name; a longer one may be an order, and the address is told."""
_MAIL = r"(?:e-?mails?|mails?|messages?|letters?)"
_WROTE = rf"(?:wr(?:ote|ites?|itten)|(?:e-?)?mail(?:s|ed)?|messaged|sent|sends)(?: (?:to )?(?:me|us))?(?: {_MAIL})?"
_MET = r"(?:met|meet|seen|see|(?:had |have )?(?P<what>breakfast|lunch|dinner|coffee|drinks) with|spent time with)"
_ABOUT = re.compile(r"\s*(?:about|regarding|concerning)\b", re.I)
"""Begins a matter."""
_MOST = r"(?: the)? (?P<end>most|least)(?! recent)(?: often| frequently| times)?"
_ASKED: Mapping[_OfWhat, tuple[re.Pattern[str], ...]] = {
    "came": (
        re.compile(
            rf"\s*who (?:has |have )?{_WROTE}{_MOST}(?: {_MAIL})?(?: (?:to )?(?:me|us))?\b(?P<rest>.*)"
            rf"|\s*who do (?:i|we) (?:get|have)(?: the)? (?P<many>most|fewest|least) {_MAIL} from\b(?P<of>.*)",
            re.I,
        ),
        re.compile(
            rf"\s*how many {_MAIL} (?:(?:did|has|have) )?(?:each|every) (?:person|sender)(?: \w+)?(?: (?:me|us))?"
            rf"\b(?P<rest>.*)|\s*(?:how many )?{_MAIL} (?:by|per) (?:person|sender)\b(?P<of>.*)",
            re.I,
        ),
    ),
    "sent": (
        re.compile(
            rf"\s*whom? (?:did|do|have) (?:i|we) (?:wr(?:ite|itten)|(?:e-?)?mail(?:ed)?|messaged?)(?: to)?{_MOST}"
            r"\b(?P<rest>.*)",
            re.I,
        ),
        re.compile(
            rf"\s*how many {_MAIL} (?:did|have) (?:i|we) (?:send|sent|write|written)\b(?: to)?(?P<who>[^?]*)", re.I
        ),
    ),
    "met": (
        re.compile(rf"\s*whom? (?:did|have) (?:i|we) {_MET}{_MOST}\b(?P<rest>.*)", re.I),
        re.compile(rf"\s*how (?:often|many times) (?:did|have) (?:i|we) {_MET} (?P<who>[^?]+)", re.I),
    ),
}


@dataclass(frozen=True, slots=True)
class PeopleAsked:
    """What is counted by person."""

    of: _OfWhat
    who: str = ""
    """Whose alone; empty: everybody's."""
    end: str = ""
    """`most` or `least`, where one is asked for; empty: each."""
    rest: str = ""
    """What is left of the question: a time, if anything."""
    what: str = ""
    """What was done with them: `lunch`; empty: anything."""


def asked_of_people(question: str) -> PeopleAsked | None:
    """Parse a question for counts by person; None for any other, also for one about a matter."""
    if len(question) > _LONGEST_QUESTION:
        return None
    for of, forms in _ASKED.items():
        said = next((found for form in forms if (found := form.match(question.rstrip(" ?.!"))) is not None), None)
        if said is not None:
            parts = said.groupdict()
            end = (parts.get("end") or parts.get("many") or "").casefold().replace("fewest", "least")
            rest = parts.get("rest") or parts.get("of") or parts.get("who") or ""
            if _ABOUT.match(rest):
                return None
            return PeopleAsked(of, parts.get("who") or "", end, rest, parts.get("what") or "")
    return None


def answer_by_person(question: str, call: CallContext) -> HomeAnswer | None:
    """Count what a question asks for by person; None if it asks for nothing of the kind, also about a matter, or of
    somebody who has no card."""
    asked = asked_of_people(question)
    if asked is None:
        return None
    named = [past_of(one, call.now) for one in times_named(asked.rest, call.now)]
    period = named[0] if named else Period(call.now - _YEARS_BACK, call.now)
    period = Period(period.start, min(period.end, call.now))
    who = without_times(asked.who, call.now)
    if not who and not STOP_WORDS.issuperset(without_times(asked.rest, call.now).casefold().split()):
        return None
    rows = _met(asked.what, period, call) if asked.of == "met" else _mails(asked.of, period, call)
    if who:
        card = card_meant(who, cards_of(call))
        if card is None or matter_of(who).casefold().split()[0] not in card.words.casefold().split():
            return None
        return _of_one(asked, card.name, rows.get(card.name, []))
    if asked.of == "sent" and not asked.end:  # nobody's alone: all of a time, each once
        once = {row.record: row for some in rows.values() for row in some}
        return HomeAnswer("number", _counted(len(once), "mails"), "", tuple(once.values()), is_reckoned=True)
    return _ranked(asked, rows) if rows else None


def _of_one(asked: PeopleAsked, name: str, rows: Sequence[Witness]) -> HomeAnswer:
    many = "" if len(rows) == 1 else "s"
    said = f"{len(rows)} time{many}" if asked.of == "met" else f"{len(rows)} mail{many} to {name}"
    return HomeAnswer("number", said, "", tuple(rows), is_reckoned=True)


def _ranked(asked: PeopleAsked, rows: Mapping[str, Sequence[Witness]]) -> HomeAnswer:
    """Tell who has most or least, those of as many together, and who comes next; else the count of each."""
    order = sorted(rows, key=lambda name: (len(rows[name]) * (1 if asked.end == "least" else -1), name))
    things = "times" if asked.of == "met" else "mails"
    witnesses = tuple(row for name in order for row in rows[name])
    if not asked.end:
        told = "\n".join(f"{name}: {_counted(len(rows[name]), things)}" for name in order[:_MOST_TOLD])
        return HomeAnswer("list", told, "", witnesses, is_reckoned=True)
    n = len(rows[order[0]])
    first = [name for name in order if len(rows[name]) == n]
    others = [f"{name} {len(rows[name])}" for name in order[len(first) :][:3]]
    each = " each" if len(first) > 1 else ""
    together = " and ".join(filter(None, (", ".join(first[:-1][:_MOST_TOLD]), first[-1])))
    told = f"{together}, {_counted(n, things)}{each}"
    told += f"; then {', '.join(others)}" if others else ""
    return HomeAnswer("text", told, "", witnesses, is_reckoned=True)


def _counted(n: int, things: str) -> str:
    return f"{n} {things if n != 1 else things.removesuffix('s')}"


def _mails(of: _OfWhat, period: Period, call: CallContext) -> dict[str, list[Witness]]:
    """Return the mails of a period by whom they are from, or to; of one to several, by each; the newest first."""
    names = {card.email.casefold(): card.name for card in cards_of(call) if card.email}
    own, known = str(call.settings.get("owner", {}).get("email") or "").casefold(), known_addresses(call)
    rows: dict[str, list[Witness]] = defaultdict(list)
    for seen in sorted(
        _seen(SENT if of == "sent" else INBOX, period, call), key=lambda one: one.received, reverse=True
    ):
        head = seen.head
        for address in dict.fromkeys((*head.to, *head.bcc) if of == "sent" else (head.sender,)):
            folded = address.casefold()
            if folded == own or NOBODY.match(folded):
                continue
            called = head.sender_name if of == "came" and len(head.sender_name.split()) <= _MOST_OF_A_NAME else ""
            name = names.get(folded) or (f"{called} ({address})" if called else address)
            at = seen.received.astimezone(call.now.tzinfo)
            where = f"mail “{head.subject}” {'to' if of == 'sent' else 'from'} {name}, {said_date(at)}"
            is_strangers = of == "came" and folded not in known
            rows[name].append(Witness(seen.place.id, where, head.subject, "message", at, is_strangers=is_strangers))
    return dict(rows)


def _seen(folder: str, period: Period, call: CallContext) -> Iterator[Seen]:
    for place in places(call.workspace, folder):
        if is_indexed(place.path) and (seen := look(place, call)) is not None and period.holds(seen.received):
            yield seen


def _met(what: str, period: Period, call: CallContext) -> dict[str, list[Witness]]:
    """Return the events of a period that are over by whom they were with, the newest first."""
    cards = cards_of(call)
    rows: dict[str, list[Witness]] = defaultdict(list)
    for event in reversed(events_in(call, period.start, period.end, what)):
        if event.end > call.now:
            continue
        guests = {address.casefold() for address in event.attendees}
        met = {card.name for card in cards if card.email and card.email.casefold() in guests}
        for name in sorted(met | {card.name for card in people_named(event.title, cards)}):
            rows[name].append(witness_of_event(event, call))
    return dict(rows)
