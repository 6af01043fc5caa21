"""Mails that ask something of the owner, and those whose answer the owner waits for."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hearth import patterns as re
from hearth.language.tokens import stems
from hearth.language.values.slots import find_slots
from hearth.memory.inquiry.answer_telling import card_meant, cards_of
from hearth.memory.search.collecting import is_indexed, said_date, unquoted
from hearth.memory.search.memory_index import FloatArray
from hearth.memory.search.passage_store import PassageStore, sentences_of
from hearth.memory.search.search_words import Period, fitted, times_named
from hearth.protocols import CallContext, Encoder, HomeAnswer, Witness
from hearth.tools.mail.mailbox import INBOX, SENT, Seen, look, places
from hearth.tools.memory import N_SHOWN
from hearth.types import Context

# ── Asking sentences ──────────────────────────────────────────────────────────────────────────────────────
# Finds the sentence of a mail that asks the reader for something.
#
# A logistic function of the sentence encoder's vector and a few signs, trained on sentences of real mails
# (`training.asking_sentences_train`, `data/asking_sentences.json`).
#
# Not covered: what is asked over several sentences, other languages, whom of several readers it asks.

N_MOST_SENTENCES = 24
_FORMS = (
    re.compile(r"\?\s*\Z"),
    re.compile(r"\b(?:please|kindly)\b", re.I),
    re.compile(r"\blet (?:me|us) know\b", re.I),
    re.compile(r"\b(?:can|could|will|would) you\b", re.I),
    re.compile(r"\byou(?:r)?\b", re.I),
    re.compile(r"\bif you\b", re.I),
    re.compile(r"\bclick|https?:|www\.|unsubscribe|visit\b", re.I),
)
"""Signs of wording, beside the vector."""
_LEAST = 8
"""Characters of a sentence that may ask."""
_FORMAL = re.compile(
    r"\bplease (?:find|see|note)\b|\bplease (?:ignore|disregard|do not reply)\b|\bif you (?:cannot|can ?not|can['’]t"
    r"|do not|don['’]t|have already|no longer|require|need|have any|would like|wish)\b",
    re.I,
)
"""Polite forms that ask for nothing, or only in a case that may not come."""


_WANTS_WORD = re.compile(
    r"\b(?:say (?:yes|no)|let (?:me|us) (?:know|have)|get back to (?:me|us)|rsvp"
    r"|(?:write|call|ring|text|mail) (?:me|us)(?: back)?|(?:i|we) (?:need|have) to (?:know|hear|tell|book|order))\b"
    r"[^.?!]*\b(?:by|before|until|till|soon|today|tomorrow)\b",
    re.I,
)
"""Wants a word from the reader by some time, however it is put."""

_TELLS = (
    r"(?:let (?:me|us) (?:know|have)|(?:tell|give) (?:me|us)|say (?:yes|no|whether|if|which|when|what|who|how)"
    r"|send (?:me|us|it|them|over|back|your)|confirm|reply|answer|respond|write back|write (?:to )?(?:me|us)"
    r"|get (?:back to|in touch)|decide|(?:choose|pick)(?! from| up)|rsvp"
    r"|(?:ring|call|phone|text|mail|e-?mail) (?:me|us|back))\b"
)
_WANTS_ANSWER = re.compile(
    rf"(?:\A|[,;:–-]\s|\b(?:please|kindly|and|so|then|but)\b)\s*(?:(?:please|kindly|just|also|do|so|and),? )*{_TELLS}"
    r"|(?:\A|[,;:–-]\s|\b(?:please|and|so|but)\b)\s*(?:can|could|would|will) you\b"
    r"|\b(?:i|we)(?:['’](?:d|m|re|ll))? (?:\w+ ){0,2}?"
    r"(?:need|want|require|await(?:ing)?|waiting (?:for|on)|like|have(?= to))\b"
    r"[^.?!]*?\b(?:from you|to (?:know|hear)|you to (?:tell|say|decide|confirm|choose|pick)"
    r"|your (?:\w+ )?(?:answer|reply|response|word|decision|choice|confirmation|opinion|view|go-ahead|consent|yes"
    r"|no))\b",
    re.I,
)
"""Wants a word, or a thing that is sent, from the reader: an order to do something wants none."""
_IN_A_CASE = re.compile(
    r"\A\W*(?:(?:and|but|so|please|or),? )*(?:if|in case|unless|whenever|(?:in the event|should) (?!i\b|we\b))\b"
    r"|\b(?:ring|call|phone|touch|contact|write|text|shout|e?-?mail|know|word|line|back)\b[^.?!]{0,30}"
    r" (?:if|in case|unless|whenever|should)\b"
    r"[^.?!]*\b(?:not|n['’]t|cannot|never|need|questions?|problems?|troubles?|worse|wrong|late|unable|prefer|changes?|anything|something"
    r"|stuck|doubts?)\b"
    r"|\b(?:ring|call|phone|get in touch|contact|shout)\b[^.?!]{0,30} (?:if|in case|unless|whenever)\b"
    r"|\bto (?:cancel|renew|opt out|change|unsubscribe)\b"
    r"|\b(?:ring|call|phone|text|write|know|contact|touch|mail)\b[^.?!]{0,20} (?:when|once|as soon as)"
    r" (?:you|he|she|it|they)\b"
    r"|\bany (?:\w+ )?(?:change|question|problem|trouble|difficult(?:y|ie)|concern|fault|doubt)s?\b",
    re.I,
)
"""Offers to be written to in a case that may not come."""


class AskingSentences:
    """The trained reader of sentences."""

    def __init__(self, encoder: Encoder | None) -> None:
        """Without an encoder the signs of wording decide alone."""
        self._encoder = encoder

    def asks(self, sentences: Sequence[str]) -> str:
        """Return the sentence that asks most surely, else the first question; empty if none asks."""
        some = [one for one in sentences if len(one) >= _LEAST and not _FORMAL.search(one)][:N_MOST_SENTENCES]
        if not some:
            return ""
        question = next((one for one in some if _FORMS[0].search(one) or _WANTS_WORD.search(one)), "")
        if self._encoder is None:
            return question or next((one for one in some if _FORMS[2].search(one)), "")
        kept = fitted("asking_sentences")
        scores = sentence_features(some, self._encoder.encode(some)) @ np.array(kept["weights"])
        best = int(np.argmax(scores))
        return some[best] if scores[best] >= float(kept["least"]) else question

    def wants_word(self, sentences: Sequence[str], others: frozenset[str] = frozenset()) -> str:
        """Return the sentence that most surely wants a word from the reader; empty if none does: what orders or advises
        wants none, nor does what is put to one of `others` by name."""
        some = [one for one in sentences if wants_word(one) and not _is_put_to(one, others)][:N_MOST_SENTENCES]
        if self._encoder is None or len(some) < 2:
            return next(iter(some), "")
        scores = sentence_features(some, self._encoder.encode(some)) @ np.array(fitted("asking_sentences")["weights"])
        return some[int(np.argmax(scores))]


def wants_word(sentence: str) -> bool:
    """Return whether a sentence asks the reader something, or asks for a word or a thing to be sent."""
    if len(sentence) < _LEAST or _FORMAL.search(sentence):
        return False
    if _FORMS[0].search(sentence) or _WANTS_WORD.search(sentence):
        return True
    return _WANTS_ANSWER.search(sentence) is not None and _IN_A_CASE.search(sentence) is None


def _is_put_to(sentence: str, others: frozenset[str]) -> bool:
    """Return whether a sentence calls one of some people by name: "Quentin?", "Jo, could you come?"."""
    called = re.match(r"\W*(?:(?:and|or|so) )?([^\W\d_]+)(?:\s*[,:–-]|\s*\?\s*\Z)", sentence)
    called = called or re.search(r",\s*([^\W\d_]+)\s*\?\s*\Z", sentence)
    return called is not None and called[1].casefold() in others


def sentence_features(sentences: Sequence[str], vectors: FloatArray) -> NDArray[np.float64]:
    """Return what is weighed, shape [n, 384 + signs + 1]."""
    signs = np.array([[form.search(one) is not None for form in _FORMS] for one in sentences], np.float64)
    return np.hstack([vectors.astype(np.float64), signs, np.ones((len(sentences), 1))])


# ── Asking mails ──────────────────────────────────────────────────────────────────────────────────────────
# Finds the mails that ask the owner something and were not answered: who waits, for what, and by when.
#
# A trained reader of sentences says what asks ("Asking sentences"). Who wrote to many at once ("Dear parents") waits
# for no answer of the owner's, but may well want something.
#
# Covered: mails of the last `LOOKED_BACK`; a sender by name, by what the owner's card calls them, by whom they work
# for. Not covered: what was answered by telephone, mails that other programs marked as answered without keeping the
# answer.

LOOKED_BACK = dt.timedelta(days=60)
"""How long a mail waits for an answer before it is taken for given up."""
_REFERS = re.compile(r"\b(?:them|it|this|that|these|those)\b", re.I)
NOBODY = re.compile(r"(?:no-?reply|do-?not-?reply|noreply|mailer-daemon|news(?:letters?)?|notifications?)\b", re.I)
"""Begins an address behind which nobody reads an answer."""
_NEEDS_NONE = re.compile(
    r"\bno (?:answer|reply|response) (?:is |was )?(?:needed|necessary|required|expected)\b"
    r"|\b(?:no need|you needn['’]t|you don['’]t (?:need|have) to) (?:to )?(?:answer|reply|respond)\b",
    re.I,
)
"""Says that a mail waits for no answer, whatever it asks."""
_FROM_AN_HOUR = re.compile(
    r"\b(?:after|from|since|not before|no earlier than) (?:about |around )?"
    r"(?:\d{1,2}[:.]\d\d(?: ?[ap]m)?|\d{1,2} ?[ap]m|noon|midday)\b",
    re.I,
)
"""The hour from which something may be done: no time by which it must be."""
_BY = re.compile(
    r"\b(?:by|until|till|before|(?:no|not) later than|at the latest(?: on)?|deadline (?:is|of))\b(?P<time>.+)",
    re.I | re.S,
)
"""Begins a time by which something must be."""
_FILLS = re.compile(r"\s*(?:(?:the|about|around|on|at|end|close|start|of|next|this|coming|latest)\s+)*", re.I)
"""What may stand between that and the time: "by train on Monday" names no such time."""
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
    return [one for one in asking_mails(call, passages, is_word=True) if not one.is_for_all]


def asking_mails(call: CallContext, passages: PassageStore, *, is_word: bool = False) -> list[AskingMail]:
    """Return the mails of the last weeks that ask the owner something and that were not answered, newest first.

    Args:
        is_word: Whether a word is to be wanted from the owner, and not only something to be done.
    """
    others = _names_of_others(call)
    found: list[tuple[Seen, AskingMail]] = []
    asking = AskingSentences(passages.encoder)
    for seen, text in _unanswered(call):
        said = sentences_of(text)
        if asks := asking.wants_word(said, others) if is_word else asking.asks(said):
            k = said.index(asks)
            # "Could you send them by Friday?": what is asked for stands in the sentence before.
            before = f"{said[k - 1]} " if k and _REFERS.search(asks) else ""
            due = _due(asks, seen.received.astimezone(call.now.tzinfo))
            witness = _witness(seen, before + asks, due, call)
            name = seen.head.sender_name or seen.head.sender
            found.append((seen, AskingMail(name, seen.head.sender, _TO_ALL.match(text) is not None, witness, due)))
    found.sort(key=lambda row: row[0].received, reverse=True)
    return [mail for _, mail in found]


def _unanswered(call: CallContext) -> Iterator[tuple[Seen, str]]:
    """Yield the mails of the last weeks that somebody wrote to the owner and that no own mail answers, with what they
    say."""
    owner = str(call.settings.get("owner", {}).get("email") or "").casefold()
    answered = _answered_ids(call)
    own = [letter for letter in _letters(call) if letter.is_own]
    for place in places(call.workspace, INBOX):
        if "R" in place.flags or not is_indexed(place.path):
            continue
        seen = look(place, call)
        if seen is None or seen.received < call.now - LOOKED_BACK or seen.head.message_id in answered:
            continue
        if seen.head.sender.casefold() == owner or NOBODY.search(seen.head.sender):
            continue
        text = unquoted(seen.body(call).text)
        is_answered = any(letter.answers(Letter(seen, is_own=False)) for letter in own)
        if not (_NEEDS_NONE.search(text) or _SENT_OUT.search(text) or is_answered):
            yield seen, text


def _witness(seen: Seen, said: str, due: dt.datetime | None, call: CallContext) -> Witness:
    at = seen.received.astimezone(call.now.tzinfo)
    where = f"mail “{seen.head.subject}” from {seen.head.sender_name or seen.head.sender}, {said_date(at)}"
    quote = said + (f" (by {said_date(due)})" if due is not None else "")
    return Witness(seen.place.id, where, quote, "message", at)


def _names_of_others(call: CallContext) -> frozenset[str]:
    """Return the first names on the owner's cards that are not the owner's own."""
    owner = call.settings.get("owner", {})
    own = {word.casefold() for word in str(owner.get("name") or "").split()}
    address = str(owner.get("email") or "").casefold()
    names = {card.name.split()[0].casefold() for card in cards_of(call) if card.name and card.email != address}
    return frozenset(names - own)


def _due(sentence: str, at: dt.datetime) -> dt.datetime | None:
    """Find the time to come by which a sentence wants something; of "before 5 December" that day."""
    said = _FROM_AN_HOUR.sub("", sentence)
    for cue in _BY.finditer(said):
        named = [p for p in times_named(said[cue.start() :], at) if p.end > at]
        times = [one for one in find_slots(cue["time"], at, Context()) if one.kind == "time"]
        if not named or not times or not _FILLS.fullmatch(cue["time"][: min(one.start for one in times)]):
            continue
        if named[0].start > at:
            return named[0].start
        is_before = re.match(r"before\b(?! (?:then|that|it)\b)", cue.group(), re.I) is not None
        return named[0].end - (dt.timedelta() if is_before else dt.timedelta(minutes=1))
    return None


def _answered_ids(call: CallContext) -> set[str]:
    """Return the message ids that mails in the folder of sent ones answer."""
    found: set[str] = set()
    for place in places(call.workspace, SENT):
        seen = look(place, call)
        if seen is not None:
            found.update(seen.head.references)
    return found


# ── Awaited mails ─────────────────────────────────────────────────────────────────────────────────────────
# Tells whose turn it is: who has not answered the owner, who writes next to somebody, and what is asked by when.
#
# The other direction of `asking_mails`: here the owner's sent mails ask, and others owe the answer. A mail is
# answered where somebody it went to wrote later in the same thread: a mail that refers to it, or bears its subject.
#
# Covered: mails of the last `LOOKED_BACK`; one person's thread, also about a matter named in its subject or text. Not
# covered: what was answered by telephone or chat; threads whose subject was changed without a reference.

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
            found.append((_names(letter, call), _letter_witness(letter, asks, call)))
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
    return HomeAnswer("text", value, "", (_letter_witness(last, quote, call),))


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
    return HomeAnswer("yesno", value, "", (_letter_witness(shown, quote, call),))


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


def _letter_witness(letter: Letter, quote: str, call: CallContext) -> Witness:
    at = letter.seen.received.astimezone(call.now.tzinfo)
    side = "to" if letter.is_own else "from"
    where = f"mail “{letter.seen.head.subject}” {side} {_names(letter, call)}, {said_date(at)}"
    return Witness(letter.seen.place.id, where, quote, "message", at)
