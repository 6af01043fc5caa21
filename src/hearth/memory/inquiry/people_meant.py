"""Resolves who is meant: by name, by what a card calls somebody ("my mother", "Teddy"), or by what else the owner has.

A card is meant by its names, else by a word for what the person is that stands alone on it (a relation, a trade, a
clause of its notes). Where no card says it ("the furnace man"), another record may name somebody who has one, beside
the words that are asked: one passage more is read, and both are evidence.

Covered: two people of one name are nobody. Not covered: somebody whom only two further records together name, pronouns.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence

from hearth import patterns as re
from hearth.memory.inquiry.answer_telling import witness_of
from hearth.memory.inquiry.reading.answer_reading import ON_A_CARD
from hearth.memory.passages.collecting import said_birth
from hearth.memory.passages.passage_cutting import SENTENCE
from hearth.memory.passages.passage_store import PassageStore
from hearth.memory.search.terms import STOP_WORDS
from hearth.memory.search.word_forms import key_of, key_set, keys_of
from hearth.protocols import CallContext, HomeAnswer, ValueKind, Witness
from hearth.tools.memory import LEAST_SURE
from hearth.tools.pim.cards import Card, read_cards

_N_DESCRIBING = 4
"""Most words of a clause that says what somebody is, and of a person as a question names them."""
_LEAST_NAME = 3
_JOINED = LEAST_SURE - 0.05
"""The chance of a value of somebody whom another record names: it is told with doubt, and both are shown."""
_MOST_READ = 40
_ANYBODY = key_set("man woman guy lady chap bloke person people company firm shop place")
_KINDS = ("note", "mail", "document", "event", "reminder")
_OWN = frozenset(("my", "our", "the", "a", "an"))
_CLAUSE = re.compile(r"[^,;.\n]+")
_OF_SOMEBODY = re.compile(r"([^\W\d_]+)['’]s\b")
_ASKED_FIELDS = {
    "phone": re.compile(r"\b(?:phone|telephone|mobile|cell|number|call|ring|reach)\b", re.IGNORECASE),
    "email": re.compile(r"\be-?mail\b", re.IGNORECASE),
    "address": re.compile(r"\b(?:(?<!mail )address|live|lives)\b", re.IGNORECASE),
    "birthday": re.compile(r"\b(?:birthday|born)\b", re.IGNORECASE),
}
"""What a question asks of a card, the most telling last."""
_SURELY = r"(?:(?:tele)?phone|e-?mail|postal|street|full|contact)"
_PERHAPS = r"(?:new|newest|current|latest|mobile|cell|home|work|private)"
_FIELD = rf"(?:(?:{_SURELY}|{_PERHAPS}) )*(?:(?:tele|cell)?phone|mobile|number|e-?mail|address|birthday)"
_FIELD_OF = re.compile(
    r"\s*(?:(?:what|which|when)(?:['’]s| is| was)|(?:please )?(?:tell|give|show) me|i need) (?:the )?"
    rf"(?:(?P<who>[\w '’-]+?)['’]?s? (?P<field>{_FIELD})|(?P<of>{_FIELD}) (?:of|for) (?P<whom>[\w '’-]+?))[\s?.!]*",
    re.IGNORECASE,
)
"""Asks for one field of somebody's card and nothing else: no house number, no number of a hotel."""
_MAY_DIFFER = re.compile(rf"\b(?:{_PERHAPS})\b", re.IGNORECASE)
"""A card does not say whether it tells this one."""
_ASKS = key_set("what which when where who how please tell give need get got go do i my the")


def cards_of(call: CallContext) -> list[Card]:
    """Return all cards of the owner."""
    return [card for file in read_cards(call.workspace).values() for card in file.cards]


def card_meant(phrase: str, cards: Iterable[Card]) -> Card | None:
    """Return the card of the person whom words mean; None where that is nobody, or may be several."""
    known = list(cards)
    return _only(_named(phrase, known) or _described(phrase, known))


def person_asked(question: str) -> str:
    """Return the words of a question that name whose phone number, address or birthday it asks for; empty where it asks
    for anything else."""
    if not any(form.search(question) for form in _ASKED_FIELDS.values()):
        return ""
    words = re.findall(r"[\w'’-]+", question)
    named = [w for w in words if key_of(re.sub(r"['’]s\Z", "", w.casefold())) not in ON_A_CARD | _ASKS | STOP_WORDS]
    return " ".join(named) if 0 < len(named) <= _N_DESCRIBING else ""


def card_answer(question: str, call: CallContext) -> HomeAnswer | None:
    """Tell a value of the card that a question means by what somebody is: "what's the electrician's number". None where
    it means nobody so, or names them, or the card has no such value."""
    phrase, cards = person_asked(question), cards_of(call)
    card = _only(_described(phrase, cards)) if phrase and not _named(question, cards) else None
    return _told(question, card, (), 1.0) if card is not None else None


def named_card_answer(question: str, call: CallContext) -> HomeAnswer | None:
    """Tell a value of the card of somebody whom a question names: "what is Ana's new number", with doubt where the card
    may hold another one. None where anything else is asked, or the card has no such value."""
    asked = _FIELD_OF.fullmatch(question)
    if asked is None:
        return None
    who, field, cards = asked["who"] or asked["whom"], asked["field"] or asked["of"], cards_of(call)
    card = _only(_named(who, cards))
    if card is None or not keys_of(_spaced(who)) <= keys_of(" ".join(_names(card))):
        return None
    return _told(question, card, (), _JOINED if _MAY_DIFFER.search(field) else 1.0)


def birthday_answer(question: str, call: CallContext) -> HomeAnswer | None:
    """Tell the birthday on the card of somebody whom a question names, or calls what they are: nothing else says it as
    surely. None where anything else is asked, or no card or several are meant."""
    asked = _FIELD_OF.fullmatch(question)
    if asked is None or "birthday" not in (asked["field"] or asked["of"]).casefold():
        return None
    if (named := named_card_answer(question, call)) is not None:
        return named
    card = _only(_described(asked["who"] or asked["whom"], cards_of(call)))
    return _told(question, card, (), 1.0) if card is not None else None


def joined_answer(question: str, passages: PassageStore, call: CallContext) -> HomeAnswer | None:
    """Tell a value of the card of somebody whom another record names beside the words asked for: "furnace: Harvey comes
    every December", for "the furnace man's number". None where no record does, or they name several."""
    wanted = keys_of(person_asked(question)) - _ANYBODY
    cards = cards_of(call)
    if not wanted or not cards or not person_asked(question) or _named(question, cards):
        return None
    found: dict[str, tuple[Card, Witness]] = {}
    for passage in passages.all(_KINDS, " ".join(wanted_words(question)), _MOST_READ):
        for sentence in SENTENCE.finditer(passage.text):
            if not wanted <= keys_of(f"{passage.title} {sentence.group()}") or not wanted & keys_of(sentence.group()):
                continue
            for card in cards:
                if any(re.search(rf"\b{re.escape(name)}\b", sentence.group()) for name in _written_names(card)):
                    quote = " ".join(sentence.group().split())
                    found.setdefault(card.uid or card.name, (card, witness_of(passage, quote)))
    if len(found) != 1:
        return None
    ((card, witness),) = found.values()
    return _told(question, card, (witness,), _JOINED)


def name_described(question: str, call: CallContext) -> str:
    """Return the name on the one card that says of somebody what a question does ("the gardener's number"): on no other
    card stands what it asks for. Empty where there is none, or several."""
    phrase, cards = person_asked(question), cards_of(call)
    if not phrase or any(keys_of(phrase) & keys_of(f"{card.name} {' '.join(_names(card))}") for card in cards):
        return ""
    card = _only(_described(phrase, cards))
    return card.name if card is not None else ""


def wanted_words(question: str) -> list[str]:
    """Return the words by which a record is found that says who is meant."""
    words = re.findall(r"[^\W_]+", re.sub(r"['’]s\b", "", person_asked(question)))
    return [word for word in words if key_of(word.casefold()) not in _ANYBODY]


def _told(question: str, card: Card, beside: tuple[Witness, ...], chance: float) -> HomeAnswer | None:
    asked = [name for name, form in _ASKED_FIELDS.items() if form.search(question)][-1]
    birthday = said_birth(card.birth) if card.birth is not None else ""
    value = {"phone": card.phone, "email": card.email, "address": card.address, "birthday": birthday}[asked]
    if not value:
        return None
    kind: ValueKind = "date" if asked == "birthday" else "text"
    return HomeAnswer(kind, value, "", (card_witness(card, value), *beside), chance)


def card_witness(card: Card, said: str, at: dt.datetime | None = None) -> Witness:
    """Return what a card says as what an answer rests on."""
    return Witness(card.uid or card.name, f"card “{card.name}”", f"{card.name}: {said}", "file", at)


def _named(phrase: str, cards: Sequence[Card]) -> list[Card]:
    """Return the cards of which words say a name, the longest."""
    said = f" {_spaced(phrase)} "
    lengths = [max((len(n) for n in _names(card) if f" {n} " in said), default=0) for card in cards]
    return [card for n, card in zip(lengths, cards, strict=True) if n == max(lengths) > 0]


def _described(phrase: str, cards: Sequence[Card]) -> list[Card]:
    """Return the cards that say of somebody what words do."""
    wanted, whose = keys_of(phrase), {name.casefold() for name in _OF_SOMEBODY.findall(phrase)}
    return [card for card in cards if any(_describes(one, wanted, whose) for one in _descriptions(card))]


def _only(cards: Iterable[Card]) -> Card | None:
    found = list(cards)
    return found[0] if len({one.uid or one.name for one in found}) == 1 else None


def _names(card: Card) -> list[str]:
    """Return the names of a card in lower case: whole, first, and those it is called by."""
    given = card.given or card.name.partition(" ")[0]
    return [spaced for name in (card.name, given, *card.nicknames) if len(spaced := _spaced(name)) >= _LEAST_NAME]


def _written_names(card: Card) -> list[str]:
    """Return the names of a card as a text writes them, the family's among them."""
    names = (card.name, card.given or card.name.partition(" ")[0], card.family, *card.nicknames)
    return [name for name in names if len(name) >= _LEAST_NAME and name[0].isupper()]


def _descriptions(card: Card) -> Iterator[str]:
    """Yield what a card says somebody is, clause by clause."""
    yield from (*card.titles, *card.related, *card.categories)
    yield from (one for one in _CLAUSE.findall(card.notes) if len(one.split()) <= _N_DESCRIBING)


def _describes(clause: str, wanted: set[str], whose: set[str]) -> bool:
    """Return whether a clause is what words say somebody is, with nothing but an adjective more: "family doctor"."""
    words = [w for w in re.findall(r"[^\W\d_]+", re.sub(r"[^\W\d_]+['’]s\b", "", clause.casefold())) if w not in _OWN]
    keys = [key_of(word) for word in words]
    of = {name.casefold() for name in _OF_SOMEBODY.findall(clause)}
    return bool(keys) and wanted <= set(keys) and keys[-1] in wanted and len(keys) - len(wanted) <= 1 and of <= whose


def _spaced(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", re.sub(r"['’]s\b", "", text.casefold())))
