"""Finds the mails that ask the owner something and were not answered: who waits, for what, and by when.

A trained reader of sentences says what asks (`asking_sentences`). Who wrote to many at once ("Dear parents") waits for
no answer of the owner's, but may well want something.

Covered: mails of the last `LOOKED_BACK`; a sender by name, by what the owner's card calls them, by whom they work for.
Not covered: what was answered by telephone, mails that other programs marked as answered without keeping the answer.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from hearth import patterns as re
from hearth.language.text.word_match import stems
from hearth.memory.inquiry.asking_sentences import AskingSentences
from hearth.memory.inquiry.people_meant import card_meant, cards_of
from hearth.memory.passages.collecting import is_indexed, said_date, unquoted
from hearth.memory.passages.passage_cutting import sentences_of
from hearth.memory.passages.passage_store import PassageStore
from hearth.memory.search.time_mentions import Period, times_named
from hearth.protocols import CallContext, HomeAnswer, Witness
from hearth.tools.mail.mailbox import INBOX, SENT, Seen, look, places
from hearth.tools.memory import N_SHOWN

LOOKED_BACK = dt.timedelta(days=60)
"""How long a mail waits for an answer before it is taken for given up."""
_REFERS = re.compile(r"\b(?:them|it|this|that|these|those)\b", re.I)
_NOBODY = re.compile(r"(?:no-?reply|do-?not-?reply|noreply|mailer-daemon|news(?:letters?)?|notifications?)\b", re.I)
_NEEDS_NONE = re.compile(
    r"\bno (?:answer|reply|response) (?:is |was )?(?:needed|necessary|required|expected)\b"
    r"|\b(?:no need|you needn['’]t|you don['’]t (?:need|have) to) (?:to )?(?:answer|reply|respond)\b",
    re.I,
)
"""Says that a mail waits for no answer, whatever it asks."""
_SENT_OUT = re.compile(
    r"\bunsubscribe\b|\b(?:view|read) (?:this|it) (?:\w+ )?(?:in|on) (?:your|a|the) (?:browser|web)", re.I
)
"""Says that a mail went to all who take it: what it asks is asked of nobody."""
_TO_ALL = re.compile(
    r"\s*(?:(?:dear|hi|hello|hey|good (?:morning|afternoon|evening)),? )?(?:(?:all|both|valued|our) )?"
    r"(?:all|everyone|everybody|parents?|carers?|families|tenants?|residents|neighbours|customers?|users?|members?|team"
    r"|friends|colleagues|folks|players|students|guests|subscribers?|sir|madam)\b[^\n.?!]{0,40}(?:[,:!]|\n)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class AskingMail:
    """A mail that asks something and was not answered."""

    sender: str
    """Who wrote it, by name."""
    address: str
    is_for_all: bool
    """Whether it is addressed to many at once."""
    witness: Witness
    """Quotes the sentence that asks."""
    due: dt.datetime | None
    """By when, as the sentence says."""


def waiting_answer(call: CallContext, passages: PassageStore, period: Period | None = None) -> HomeAnswer:
    """Say who waits for an answer, the newest first; of a period, if one is given, whose mails came in it."""
    waiting = waiting_for(call, passages)
    if period is not None and period.start < call.now:
        waiting = [one for one in waiting if period.holds(one.witness.at)]
    mails = waiting[:N_SHOWN]
    names = list(dict.fromkeys(one.sender for one in mails))
    value = ", ".join(names) if mails else "Nobody: no mail of the last weeks asks for an answer"
    return HomeAnswer("list" if mails else "text", value, "", tuple(one.witness for one in mails))


def wanted_answer(who: str, call: CallContext, passages: PassageStore) -> HomeAnswer | None:
    """Return what somebody asks of the owner, in their words, the newest first; None where none of their mails asks."""
    mails = [one.witness for one in _asked_by(who, call, passages)][:N_SHOWN]
    return HomeAnswer("text", " ".join(one.quote for one in mails), "", tuple(mails)) if mails else None


def due_answer(who: str, call: CallContext, passages: PassageStore) -> HomeAnswer | None:
    """Return by when somebody's newest asking mail wants an answer; None where it names no time."""
    asked = next((one for one in _asked_by(who, call, passages) if one.due is not None), None)
    if asked is None or asked.due is None:
        return None
    return HomeAnswer("date", said_date(asked.due), "", (asked.witness,))


def _asked_by(who: str, call: CallContext, passages: PassageStore) -> list[AskingMail]:
    """Return somebody's mails that ask the owner something, the newest first."""
    wanted, cards = stems(who), cards_of(call)
    known = {
        card.email.casefold()
        for card in cards
        if card.email and wanted <= stems(f"{card.name} {card.organisation} {' '.join(card.titles)}")
    }
    if (card := card_meant(who, cards)) is not None and card.email:
        known.add(card.email.casefold())
    return [
        one for one in asking_mails(call, passages) if wanted <= stems(one.sender) or one.address.casefold() in known
    ]


def waiting_for(call: CallContext, passages: PassageStore) -> list[AskingMail]:
    """Return the mails whose writers wait for an answer, newest first: none that went to many at once."""
    return [one for one in asking_mails(call, passages) if not one.is_for_all]


def asking_mails(call: CallContext, passages: PassageStore) -> list[AskingMail]:
    """Return the mails of the last weeks that ask the owner something and that were not answered, newest first."""
    owner = str(call.settings.get("owner", {}).get("email") or "").casefold()
    answered = _answered_ids(call)
    found: list[tuple[Seen, AskingMail]] = []
    asking = AskingSentences(passages.encoder)
    for place in places(call.workspace, INBOX):
        if "R" in place.flags or not is_indexed(place.path):
            continue
        seen = look(place, call)
        if seen is None or seen.received < call.now - LOOKED_BACK or seen.head.message_id in answered:
            continue
        address = seen.head.sender
        if address.casefold() == owner or _NOBODY.search(address):
            continue
        text = unquoted(seen.body(call).text)
        if _NEEDS_NONE.search(text) or _SENT_OUT.search(text):
            continue
        said = sentences_of(text)
        if asks := asking.asks(said):
            k = said.index(asks)
            # "Could you send them by Friday?": what is asked for stands in the sentence before.
            before = f"{said[k - 1]} " if k and _REFERS.search(asks) else ""
            due = _due(asks, seen.received.astimezone(call.now.tzinfo))
            witness = _witness(seen, before + asks, due, call)
            name = seen.head.sender_name or address
            found.append((seen, AskingMail(name, address, _TO_ALL.match(text) is not None, witness, due)))
    found.sort(key=lambda row: row[0].received, reverse=True)
    return [mail for _, mail in found]


def _witness(seen: Seen, said: str, due: dt.datetime | None, call: CallContext) -> Witness:
    at = seen.received.astimezone(call.now.tzinfo)
    where = f"mail “{seen.head.subject}” from {seen.head.sender_name or seen.head.sender}, {said_date(at)}"
    quote = said + (f" (by {said_date(due)})" if due is not None else "")
    return Witness(seen.place.id, where, quote, "message", at)


def _due(sentence: str, at: dt.datetime) -> dt.datetime | None:
    """Find the time to come that a sentence names; of "before 5 December" that day."""
    named = [p for p in times_named(sentence, at) if p.end > at]
    if not named or named[0].start > at:
        return named[0].start if named else None
    return named[0].end - (
        dt.timedelta() if re.search(r"\bbefore\b(?! (?:then|that|it)\b)", sentence, re.I) else dt.timedelta(minutes=1)
    )


def _answered_ids(call: CallContext) -> set[str]:
    """Return the message ids that mails in the folder of sent ones answer."""
    found: set[str] = set()
    for place in places(call.workspace, SENT):
        seen = look(place, call)
        if seen is not None:
            found.update(seen.head.references)
    return found
