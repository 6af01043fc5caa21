"""Compares words of questions with words of passages: by their beginnings, and by forms that begin otherwise.

Covered: irregular verbs ("what did I lend Greta" and "lent to Greta"), what is abbreviated in notes ("pw: …"), common
words for the same thing of a household ("house insurance" and "home insurance", "run out" and "expire").
Not covered: other words of like meaning; those are found by their vectors.
"""

from __future__ import annotations

import re

from hearth.memory.search.terms import telling_words

N_BEGINNING = 5
"""Letters by which two forms of a word are known as one."""
_ALIKE = tuple(
    group.split()
    for group in (
        "lend lent lends",
        "buy bought buys buying",
        "pay paid pays",
        "choose chose chosen",
        "sell sold sells",
        "say said says",
        "meet met meets meeting",
        "leave left leaves leaving",
        "give gave given gives",
        "take took taken takes",
        "keep kept keeps",
        "make made makes making",
        "write wrote written writes",
        "spend spent spends",
        "bring brought brings",
        "lose lost loses",
        "eat ate eaten eats",
        "drive drove driven drives",
        "drink drank drunk",
        "begin began begun begins beginning start starts started starting",
        "expire expires expired expiry expiring expiration",
        "close closes closed closing shut shuts",
        "home house",
        "tip dump",
        "holiday holidays vacation",
        "flat apartment",
        "mum mom mam mother",
        "dad father",
        "child children kid kids",
        "send sent sends",
        "teach taught",
        "sing sang sung",
        "wear wore worn",
        "borrow borrowed",
        "password pw pwd passwd passwords",
        "phone tel telephone phones",
        "licence license",
        "tyre tire tyres tires",
        "reference ref refs references",
        "electricity leccy electric",
        "doctor dr doctors",
        "news",
    )
)
_ENDING_ES = re.compile(r"(?:(?<=[xz])|(?<=sh)|(?<=ch)|(?<=ss))es\Z")
"""Of "mixes" and "boxes"."""
_PHRASES = (
    (re.compile(r"\brun out\b(?! of\b)", re.IGNORECASE), "expire"),
    (re.compile(r"\b(?:runs|running|ran) out\b(?! of\b)", re.IGNORECASE), "expires"),
)
"""What several words say that one says, too."""
_ENDING_S = re.compile(r"(?<=[^\W\d_]{2}[^\W\d_siu])s\Z")
"""Of several, or of somebody where the apostrophe is left out; not of "boss", "bus" or "this"."""
_FIRST = {word: group[0] for group in _ALIKE for word in group}
_FIRST |= {f"{word.removesuffix('e')}ing": first for word, first in _FIRST.items() if word == first}
_FORMS = {word: tuple(group) for group in _ALIKE for word in group}


def keys_of(text: str) -> set[str]:
    """Return what the content words of a text are compared by."""
    return {key_of(word) for word in telling_words(in_single_words(text))}


def in_single_words(text: str) -> str:
    """Return a text in which single words stand for phrases: "expires" for "runs out"."""
    for phrase, word in _PHRASES:
        text = phrase.sub(word, text)
    return text


def key_of(word: str) -> str:
    """Return what one word in lower case is compared by: "tests" and "dads" as "test" and "dad"."""
    return _FIRST.get(word, _ENDING_S.sub("", _ENDING_ES.sub("", word)))[:N_BEGINNING]


def key_set(words: str) -> frozenset[str]:
    """Return what each word of a list, written as one text, is compared by."""
    return frozenset(map(key_of, words.split()))


def forms_of(word: str) -> tuple[str, ...]:
    """Return the words to search for where one is asked for; the word alone, where its forms begin alike."""
    return _FORMS.get(word, (word,))
