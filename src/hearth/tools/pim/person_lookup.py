"""Find the person that a name means: full, first or last name, nickname, or relation to the owner (`mum`, `dentist`).

Case, accents, titles and possessives make no difference. A relation counts only where the card gives it for the person:
in a bare RELATED, ROLE, TITLE or CATEGORIES, or at the start of a phrase of the NOTE (`my dentist, very gentle`), never
where a note speaks of somebody else (`Anna's mum`, `call before noon, or ask the dentist`). Not covered: languages
other than English for relations, typing errors.
"""

# ruff: noqa: SIM905 - lists of words read best as words

from __future__ import annotations

import re

from hearth.language.temporal.time_words import WEEKDAYS
from hearth.language.text.normalize import folded, stem, stems
from hearth.protocols import Workspace
from hearth.tools.pim.cards import Card, read_cards
from hearth.types import Entity

NO_FIT = 99
SURELY_CALLED = 5
"""Worst fit of somebody who is called so: by a name, a nickname, or what the card says they are to the owner."""
MAX_ALIAS_CHARS = 60
_TITLES = frozenset(["dr", "prof", "mr", "mrs", "ms", "miss", "sir", "frau", "herr", "mme", "mlle", "dott", "ing"])
_SMALL = frozenset(["my", "our", "the", "a"])
_SAME = (
    frozenset(["mum", "mom", "mother", "mama", "mummy", "mommy", "mam"]),
    frozenset(["dad", "father", "papa", "daddy"]),
    frozenset(["grandma", "grandmother", "granny", "nan", "gran"]),
    frozenset(["grandpa", "grandfather", "grandad", "granddad"]),
    frozenset(["doctor", "gp", "physician"]),
    frozenset(["flatmate", "roommate"]),
    frozenset(["neighbour", "neighbor"]),
    frozenset(["kid", "child"]),
    frozenset(["fiance", "fiancee"]),
)
_KINDS = {
    "parent": frozenset(["mum", "mom", "mother", "dad", "father"]),
    "grandparent": frozenset(["grandma", "grandmother", "grandpa", "grandfather"]),
    "spouse": frozenset(["husband", "wife"]),
    "partner": frozenset(["husband", "wife", "girlfriend", "boyfriend", "spouse"]),
    "child": frozenset(["son", "daughter"]),
    "sibling": frozenset(["brother", "sister"]),
}
"""Members by kind of relation: asking for the kind finds each of them, but not the other way round."""
_RELATIONS = frozenset().union(*_SAME, _KINDS, *_KINDS.values()) | {
    *("aunt", "uncle", "cousin", "niece", "nephew", "friend", "boss", "colleague", "dentist", "vet", "plumber"),
    *("electrician", "landlord", "landlady", "lawyer", "accountant", "teacher", "coach", "trainer", "hairdresser"),
    *("barber", "babysitter", "nanny", "cleaner", "gardener", "mechanic", "therapist", "physio", "optician", "midwife"),
    *(
        "pharmacist",
        "tutor",
        "carpenter",
        "painter",
        "roofer",
        "architect",
        "pastor",
        "notary",
        "handyman",
        "caretaker",
    ),
}
_NO_NAMES = frozenset(
    "a about after again all always am an and another any are as at be because before both but by can could do does "
    "done each every everyone everything few for from had has have he her here hers him his how i if in into is it its "
    "just last late later less many me mine more most my never new next no not nothing now of off often on once one or "
    "other our out over please quite rather same shall she should so some soon still such than that the their them "
    "then there these they this those to today together tomorrow tonight too under until up us very was we well were "
    "what when where which while who why with without would yes yesterday yet you your".split()
)
_RECORDS = frozenset(
    "alarm appointment appointments calendar contact contacts document documents email emails event events file files "
    "grocery list lists mail mails message messages note notes packing reminder reminders shopping timer todo".split()
)
"""What the owner's things are called."""


def entities(workspace: Workspace) -> tuple[Entity, ...]:
    """Return the people in the owner's contacts, by every name they go by, for a planner's context.

    Aliases: first and last name, nicknames, and relations to the owner. Unreadable files are left out, and so are names
    that are no names (`is_no_name`): a stranger's card must not change what a request means.
    """
    found: dict[tuple[str, tuple[str, ...]], Entity] = {}
    for file in read_cards(workspace).values():
        for card in file.cards:
            texts = (*card.titles, *card.related, *card.categories, card.notes)
            said = {word for text in texts for word in relations_in(text)}
            alike = {other for word in said for other in synonyms(word)}
            # Not whole titles: someone who mentions the printer seldom means the person of that trade.
            names = (*_parts_of(card), *card.nicknames, *sorted(said | alike))
            once: dict[str, str] = {}
            for name in names:
                if name and name != card.name and len(name) <= MAX_ALIAS_CHARS and not is_no_name(name):
                    once.setdefault(folded(name), name)
            aliases = tuple(once.values())
            if is_no_name(card.name):
                continue
            found.setdefault((card.name, aliases), Entity(card.name, "person", aliases))
    return tuple(sorted(found.values(), key=lambda entity: (folded(entity.name), entity.aliases)))


def is_no_name(name: str) -> bool:
    """Return whether a name holds nothing but words of grammar and time and what the owner's things are called:
    "tomorrow", "that", "the shopping list". "Anna List" is a name."""
    words = re.findall(r"[^\W\d_]+", folded(name))
    return bool(words) and all(word in _NO_NAMES or word in _RECORDS or word in WEEKDAYS for word in words)


def labels_of(card: Card) -> tuple[str, ...]:
    """Return the card's labels of the person: titles, and those RELATED that are relations, since others name somebody
    else."""
    return (*card.titles, *(text for text in card.related if relations_in(text)))


def _parts_of(card: Card) -> tuple[str, ...]:
    """Return first and last name; if the card does not separate them, the first and last word of the name."""
    if card.given or card.family or card.name == card.organisation:
        return card.given, card.family
    words = [word for word in card.name.split() if folded(word).strip(".") not in _TITLES]
    return (words[0], words[-1]) if words else ()


def relations_in(text: str) -> list[str]:
    """Return the relation words that a text gives for its subject: among the first words of a phrase."""
    found: list[str] = []
    for phrase in re.split(r"[.;,:!?()/\n]+", folded(text[:2_000])):
        for word in phrase.split()[:3]:
            if stem(word) in _RELATIONS and not word.endswith(("'s", "’s")):
                found.append(stem(word))
                break
            if "'" in word or "’" in word:
                break
    return list(dict.fromkeys(found))


def synonyms(word: str) -> frozenset[str]:
    """Return other words for the same relation."""
    return next((group for group in _SAME if word in group), frozenset([word])) - {word}


def name_words(name: str) -> tuple[str, ...]:
    """Return the significant words of a name: without `my`, `Dr.` and a possessive."""
    plain = re.sub(r"['’]s?$", "", folded(name.strip()))
    words = re.findall(r"[\w@.+-]*\w", plain)
    return tuple(w for w in words if w not in _TITLES and w not in _SMALL) or tuple(words)


def _plain(word: str) -> str:
    """Return a form equal for `mueller` and `muller`, as names with an umlaut are written without one."""
    return re.sub(r"(?<=[aou])e", "", word)


def _kinds_asked(asked: tuple[str, ...]) -> set[str]:
    """Return the words for what somebody is to the owner, where that is asked for: "the dentist", "my boss"."""
    wanted = {" ".join(asked)}
    if len(asked) == 1:
        word = stem(asked[0])
        wanted |= {word} | synonyms(word) | _KINDS.get(word, frozenset())
    return wanted


def _label_words(card: Card) -> set[str]:
    labels = (*labels_of(card), *card.categories)
    return {folded(text) for text in labels} | {word for text in labels for word in stems(text)}


def fit(asked: tuple[str, ...], whole: str, card: Card) -> int:
    """Return how well a card fits what was asked for; lower is better, `NO_FIT` not at all.

    Args:
        asked: The `name_words` of what was asked for.
        whole: All of it, folded.
    """
    name, given, family = name_words(card.name), name_words(card.given), name_words(card.family)
    parts = {*name, *given, *family}
    nicknames = [name_words(nickname) for nickname in card.nicknames]
    if asked == name or whole in (folded(card.name), folded(card.email), card.phone):
        return 0
    if asked in nicknames:
        return 1
    if asked in (given, family) or (len(asked) > 1 and set(asked) <= parts):
        return 2
    known = parts.union(*nicknames)
    if set(asked) <= known or {_plain(word) for word in asked} <= {_plain(word) for word in known}:
        return 3
    wanted = _kinds_asked(asked)
    if wanted & _label_words(card):
        return 4
    if wanted & set(relations_in(card.notes)):
        return 5
    if all(len(word) >= 3 and any(part.startswith(word) for part in parts) for word in asked):
        return 6
    return 7 if {stem(word) for word in asked} <= stems(card.organisation) else NO_FIT
