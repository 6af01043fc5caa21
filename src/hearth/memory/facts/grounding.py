"""Checks facts that a language model claims to have read in a text against the text itself.

A language model may propose facts; these checks decide, by the rules that the patterns of `fact_extraction` follow: the
relation is a known one; every word of the value is in one sentence that states something (no question, quotation,
supposition, report, joke or message to be written); dates are written one way. Even then the fact is not believed: its
label names the model, so that it waits for the owner's confirmation.

Covered: invented facts, facts about people the text does not name, values put together from several sentences;
sentences that deny the claim.
Not covered: a relation that the sentence does not mean, in words that occur in it; irony without a sign of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hearth.memory.facts.fact_dates import birthday_said, birthday_text
from hearth.memory.facts.fact_extraction import MAX_CHARACTERS, MAX_LENGTH, NEVER_READ, Told, statements
from hearth.memory.facts.fact_rules import Known, Read
from hearth.memory.facts.fact_store import ME, SINGLE_VALUED
from hearth.memory.facts.relations import KIN, PETS, PREFERENCES
from hearth.types import Label

BY_MODEL = Label(frozenset({"model"}))
"""Label of what a model read: it is trusted no more than the model."""
CONFIDENCE = 0.6
RELATIONS = (
    (SINGLE_VALUED - {"favourite colour"})
    | PREFERENCES
    | frozenset(KIN.values())
    | PETS
    | frozenset({"studies", "studies at", "spouse", "called", "speaks", "from", "car", "habit", "weight"})
)
_FAVOURITE = re.compile(r"favou?rite (?P<what>[a-z][a-z -]{1,30})")
_NEGATIVE = frozenset({"dislikes", "avoids"})
_DENIES = re.compile(
    r"\b(?:not|never|no|none|nobody|nothing|neither|nor|without|stopped|quit|gave up|no longer|used to)\b|n['’]t\b",
    re.I,
)
_WORD = re.compile(r"\w+")
_FIRST_PERSON = frozenset({"me", "i", "owner", "the owner", "user", "the user", "myself"})


@dataclass(frozen=True, slots=True)
class Claim:
    """A fact that a text is said to state."""

    subject: str
    relation: str
    value: str


def grounded(claim: Claim, told: Told, known: Known) -> Read | str:
    """Return the fact as it may be proposed; else the reason why not, in a few words."""
    relation, value = " ".join(claim.relation.split()).casefold(), " ".join(claim.value.split()).strip(" .,!")
    text = told.text[:MAX_CHARACTERS]
    words = _words(text)
    if told.kind in NEVER_READ:
        return "Hearth's own words state nothing"
    if not value or not _words(value) or len(claim.subject) + len(value) > MAX_LENGTH:
        return "it has no value, or a very long one"
    named = _FAVOURITE.fullmatch(relation)
    if relation not in RELATIONS and not (named and words.issuperset(_words(named["what"]))):
        return f"the relation {relation[:40]!r} is not one of those known"
    subject = _subject(" ".join(claim.subject.split()), words, told, known)
    if subject is None:
        return "the text does not name whom it is about"
    for sentence, confidence, is_whole in statements(text):
        date = birthday_said(value, is_month_first=known.is_month_first) if relation == "birthday" else None
        if not is_whole or not _words(sentence).issuperset(_words(value)):
            continue
        if relation not in _NEGATIVE and _DENIES.search(sentence):
            continue
        if relation == "birthday":
            if date is None:
                return "it is no date"
            value = birthday_text(*date)
        return Read(subject, relation.replace("favorite", "favourite"), value, round(CONFIDENCE * confidence, 3))
    return "no sentence of the text states it"


def _subject(said: str, words: frozenset[str], told: Told, known: Known) -> str | None:
    """Find the subject of a claim, as facts name it; None if it is neither in the text nor its speaker."""
    low = said.casefold()
    if low in _FIRST_PERSON:
        return known.person(told.person) if told.person else ME
    kin = low.removeprefix("my ")
    if not said or not words.issuperset(_words(kin)):
        return None
    return known.relative(kin) if kin in KIN else known.person(said)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))
