"""Compares words of questions with words of passages: by their beginnings, and by forms that begin otherwise.

Covered: irregular verbs ("what did I lend Greta" and "lent to Greta"), what is abbreviated in notes ("pw: …").
Not covered: words of like meaning; those are found by their vectors.
"""

from __future__ import annotations

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
        "begin began begun",
        "send sent sends",
        "teach taught",
        "sing sang sung",
        "wear wore worn",
        "borrow borrowed",
        "password pw pwd passwd passwords",
        "phone tel telephone phones",
        "licence license",
        "tyre tire tyres tires",
    )
)
_FIRST = {word: group[0] for group in _ALIKE for word in group}
_FORMS = {word: tuple(group) for group in _ALIKE for word in group}


def keys_of(text: str) -> set[str]:
    """Return what the content words of a text are compared by."""
    return {key_of(word) for word in telling_words(text)}


def key_of(word: str) -> str:
    """Return what one word in lower case is compared by."""
    return _FIRST.get(word, word)[:N_BEGINNING]


def forms_of(word: str) -> tuple[str, ...]:
    """Return the words to search for where one is asked for; the word alone, where its forms begin alike."""
    return _FORMS.get(word, (word,))
