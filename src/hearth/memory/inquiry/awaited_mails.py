"""Tells whose turn it is: who has not answered the owner, who writes next to somebody, and what is asked by when.

The other direction of `asking_mails`: here the owner's sent mails ask, and others owe the answer. A mail is answered
where somebody it went to wrote later in the same thread: a mail that refers to it, or bears its subject.

Covered: mails of the last `LOOKED_BACK`; one person's thread, also about a matter named in its subject or text.
Not covered: what was answered by telephone or chat; threads whose subject was changed without a reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hearth import patterns as re
from hearth.language.text.word_match import stems
from hearth.memory.inquiry.asking_mails import LOOKED_BACK, AskingMail, asking_mails
from hearth.memory.inquiry.asking_sentences import AskingSentences
from hearth.memory.inquiry.people_meant import card_meant, cards_of
from hearth.memory.passages.collecting import is_indexed, said_date, unquoted
from hearth.memory.passages.passage_cutting import sentences_of
from hearth.memory.passages.passage_store import PassageStore
from hearth.memory.search.time_mentions import times_named
from hearth.protocols import CallContext, HomeAnswer, Witness
from hearth.tools.mail.mailbox import SENT, Seen, look, places
from hearth.tools.memory import N_SHOWN

_ANSWERS = r"(?:answer\w*|repl(?:y|ied|ies)|respon\w+|wr(?:itten|ote|ite) back|(?:got|get|gotten) back)"
_AWAITED = re.compile(
    r"\bwho(?:se| all)?\b(?! (?:am|are|do|did|have|has) (?:i|we)\b).*(?:n['’]?t|\b(?:not|never|still has to))\b.*"
    rf"\b{_ANSWERS}(?:(?: to)? (?:me|us|my [\w-]+))?(?: yet)?[\s?.!]*\Z"
    rf"|\bwhose {_ANSWERS} (?:am i|are we)\b|\bowes? (?:me|us) (?:an? |their )?(?:{_ANSWERS}|(?:e-?)?mail)"
    r"|\b(?:who|whom|what) (?:am i|are we) (?:still )?(?:waiting (?:for|on)|awaiting)\b"
    rf"|\bwhich of my (?:sent )?(?:(?:e-?)?mails|messages|questions) .*\b(?:un{_ANSWERS}|(?:not|n['’]?t) .*{_ANSWERS})",
    re.IGNORECASE,
)
_TURN = re.compile(
    r"\bwhose turn is it\b(?: to (?:answer|reply|write))?(?: in (?:the|my) (?:thread|conversation|mails?))?"
    r"(?: with| to)? (?P<who>.+?)(?: (?:about|on|regarding) (?P<matter>.+?))?[\s?.!]*\Z"
    r"|\bwho wrote last,? (?:me or |i or )?(?P<other>[^?]+?)(?: or (?:me|i))?[\s?.!]*\Z",
    re.IGNORECASE,
)
_ANSWERED = re.compile(
    r"\s*(?:did|has) (?P<who>(?!i |we |he |she |they |it |any|some|every|no)(?:[\w'’-]+ ){1,4}?)"
    rf"(?:ever |already |yet )?{_ANSWERS}(?: to)? (?:me|us|my (?:(?:e-?)?mail|message|question))"
    r"(?: yet)?(?: (?:about|on|regarding|concerning) (?P<matter>.+?))?(?: yet)?[\s?.!]*\Z",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"\s*what (?:is|was|['’]s) (?:asked|wanted|expected|needed|required) (?:of|from) (?:me|us)\b"
    r"|\s*what (?:do|does) (?:people|everyone|everybody|others|they|all) (?:want|need|expect|ask)\b.*\b(?:me|us)\b"
    r"|\s*(?:what|which) (?:are |is )?(?:the |my )?deadlines?\b.*\b(?:(?:e-?)?mails?|messages?|inbox)\b"
    r"|\s*what (?:do|must|should) (?:i|we) (?:have to |need to )?(?:do|answer)\b.*\bby when\b",
    re.IGNORECASE,
)
_AGAIN = re.compile(r"\s*(?:(?:re|aw|fwd?|sv)\s*:\s*)+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LettersAsked:
    """What is asked about mails that wait."""

    operation: Literal["awaited", "turn", "answered", "asked"]
    matter: str = ""
    who: str = ""


@dataclass(frozen=True, slots=True)
class Letter:
    """A mail between the owner and others."""

    seen: Seen
    is_own: bool

    @property
    def others(self) -> frozenset[str]:
        """Addresses of those beside the owner."""
        head = self.seen.head
        return frozenset(one.casefold() for one in ((*head.to, *head.bcc) if self.is_own else (head.sender,)))

    @property
    def thread(self) -> str:
        """Return the subject without what marks an answer."""
        return _AGAIN.sub("", self.seen.head.subject).strip().casefold()

    def answers(self, other: Letter) -> bool:
        """Return whether this mail came later, from the other side of another, in its thread."""
        is_later = self.is_own != other.is_own and self.seen.received > other.seen.received
        refers = bool(other.seen.head.message_id) and other.seen.head.message_id in self.seen.head.references
        return is_later and bool(self.others & other.others) and (refers or self.thread == other.thread)


def asked_of_letters(question: str) -> LettersAsked | None:
    """Parse a question about who owes an answer, or what is asked by when; None for any other."""
    if _ASKED.match(question):
        return LettersAsked("asked")
    if (turn := _TURN.search(question)) is not None:
        return LettersAsked("turn", turn["matter"] or "", turn["who"] or turn["other"])
    if (said := _ANSWERED.fullmatch(question)) is not None:
        return LettersAsked("answered", said["matter"] or "", said["who"].strip())
    return LettersAsked("awaited") if _AWAITED.search(question) else None


def answer_from_letters(question: str, passages: PassageStore, call: CallContext) -> HomeAnswer | None:
    """Work out the answer to a question about mails that wait; None if it asks for nothing of the kind, or of a person
    with whom the owner shares no mail."""
    asked = asked_of_letters(question)
    if asked is None:
        return None
    if asked.operation == "asked":
        return _asked_by_when(question, passages, call)
    letters = _letters(call)
    asking = AskingSentences(passages.encoder)
    if asked.operation == "awaited":
        return _awaited(letters, asking, call)
    with_them = _with(asked.who, asked.matter, letters, call)
    if asked.operation == "turn":
        return _turn(with_them, asking, call)
    return _answered(with_them, call)


def _asked_by_when(question: str, passages: PassageStore, call: CallContext) -> HomeAnswer:
    """List what mails ask of the owner: those with a day first, the soonest before the others."""
    mails = asking_mails(call, passages)
    if periods := [one for one in times_named(question, call.now) if one.end > call.now]:
        mails = [one for one in mails if periods[0].holds(one.due)]
    if re.search(r"\b(?:by when|deadlines?)\b", question, re.I) and any(one.due is not None for one in mails):
        mails = [one for one in mails if one.due is not None]
    mails.sort(key=lambda one: (one.due is None, one.due.timestamp() if one.due is not None else 0.0))
    if not mails:
        return HomeAnswer("text", "Nothing: no mail asks you for something that is still open")
    lines = [_line(one) for one in mails[:N_SHOWN]]
    return HomeAnswer("list", "\n".join(lines), "", tuple(one.witness for one in mails[:N_SHOWN]))


def _line(mail: AskingMail) -> str:
    day = f"{said_date(mail.due)}: " if mail.due is not None else ""
    return f"{day}{mail.sender}, “{mail.witness.quote.partition(' (by ')[0]}”"


def _awaited(letters: Sequence[Letter], asking: AskingSentences, call: CallContext) -> HomeAnswer:
    """Say who has not answered what the owner asked, the newest first."""
    found: list[tuple[str, Witness]] = []
    for letter in letters:
        if not letter.is_own or any(other.answers(letter) for other in letters):
            continue
        if asks := asking.asks(sentences_of(unquoted(letter.seen.body(call).text))):
            found.append((_names(letter, call), _witness(letter, asks, call)))
    names = ", ".join(dict.fromkeys(name for name, _ in found[:N_SHOWN]))
    value = names or "Nobody: no mail that you sent in the last weeks waits for an answer"
    return HomeAnswer("list" if names else "text", value, "", tuple(one for _, one in found[:N_SHOWN]))


def _turn(letters: Sequence[Letter], asking: AskingSentences, call: CallContext) -> HomeAnswer | None:
    """Say who writes next: whoever was asked last and has not answered."""
    if not letters:
        return None
    last = letters[0]
    text = unquoted(last.seen.body(call).text)
    asks = asking.asks(sentences_of(text))
    name, wrote = _names(last, call), f"wrote last, {said_date(last.seen.received.astimezone(call.now.tzinfo))}"
    whose, who = (f"{name}'s", "you") if last.is_own else ("Yours", name)
    value = f"{whose}: {who} {wrote}, and asked" if asks else f"Nobody's: {who} {wrote}, and asked nothing"
    quote = asks or next(iter(sentences_of(text)), "")
    return HomeAnswer("text", value, "", (_witness(last, quote, call),))


def _answered(letters: Sequence[Letter], call: CallContext) -> HomeAnswer | None:
    """Say whether somebody answered the owner's last mail to them."""
    own = next((one for one in letters if one.is_own), None)
    if own is None:
        return None
    answer = next((one for one in letters if one.answers(own)), None)
    shown = answer or own
    quote = next(iter(sentences_of(unquoted(shown.seen.body(call).text))), "")
    day = said_date(shown.seen.received.astimezone(call.now.tzinfo))
    value = f"Yes, on {day}" if answer is not None else f"No: your mail of {day} has no answer"
    return HomeAnswer("yesno", value, "", (_witness(shown, quote, call),))


def _letters(call: CallContext) -> list[Letter]:
    """Return the mails of the last weeks, those that were sent among them, the newest first."""
    found = [
        Letter(seen, is_own)
        for is_own, folder in ((False, ""), (True, SENT))
        for place in places(call.workspace, folder)
        if is_indexed(place.path) and (seen := look(place, call)) is not None
        if seen.received >= call.now - LOOKED_BACK
    ]
    return sorted(found, key=lambda one: one.seen.received, reverse=True)


def _with(who: str, matter: str, letters: Sequence[Letter], call: CallContext) -> list[Letter]:
    """Return the mails that the owner shares with somebody, about a matter if one is named."""
    wanted, cards = stems(who), cards_of(call)
    card = card_meant(who, cards)
    if card is not None and card.email:
        known = {card.email.casefold()}  # anybody may write under their name
    else:
        known = {one.seen.head.sender.casefold() for one in letters if wanted and wanted <= stems(one.seen.writer)}
    theirs = [one for one in letters if one.others & known]
    about = stems(re.sub(r"\A(?:the|my|our|a|an) ", "", matter))
    return [one for one in theirs if about <= stems(f"{one.seen.head.subject} {one.seen.body(call).text}")]


def _names(letter: Letter, call: CallContext) -> str:
    """Return whom a mail is shared with, by name where a card or the mail tells it."""
    if not letter.is_own:
        return letter.seen.head.sender_name or letter.seen.head.sender
    known = {card.email.casefold(): card.name for card in cards_of(call) if card.email}
    return ", ".join(known.get(one.casefold(), one) for one in (*letter.seen.head.to, *letter.seen.head.bcc))


def _witness(letter: Letter, quote: str, call: CallContext) -> Witness:
    at = letter.seen.received.astimezone(call.now.tzinfo)
    side = "to" if letter.is_own else "from"
    where = f"mail “{letter.seen.head.subject}” {side} {_names(letter, call)}, {said_date(at)}"
    return Witness(letter.seen.place.id, where, quote, "message", at)
