"""Says whether a place in the owner's things names what a question is about.

Covered: "the address of Pasture" and "Pasture's address" by the thing alone, whatever the word for the kind of value;
what happens to a thing ("when is the MOT due") by the thing.
Not covered: a thing that a place names in other words.
"""

from __future__ import annotations

from dataclasses import replace

from hearth.language.text.tokens import listed
from hearth.memory.search.word_forms import keys_of
from hearth.protocols import HomeAnswer

_LIGHT = frozenset(
    listed("the a an my our his her their of for from in at on to and by")
    + listed("is are was were do does did we i what when where who how much many long cost")
)
_HAPPENS = keys_of(
    "start begin end due over up back payable open closed held expire close finish leave land arrive take place go out"
)
"""What happens to things: a place may say it by a date alone."""


def with_named(question: str, answer: HomeAnswer) -> HomeAnswer:
    """Return an answer that says whether its first place names what was asked about."""
    return replace(answer, is_named=any(is_named(question, f"{w.where} {w.quote}") for w in answer.witnesses[:1]))


def is_named(question: str, place: str) -> bool:
    """Return whether a place holds every word by which a question names its thing; False of one that names none."""
    asked = keys_of(" ".join(_thing_words(question))) - _HAPPENS
    return bool(asked) and asked <= keys_of(place)


def _thing_words(question: str) -> list[str]:
    """Return the words that name what a question is of: `pasture` of "what is the address of Pasture"."""
    thing, is_of, rest = question.casefold().removeprefix("what is ").partition(" of ")
    words = thing.split()
    if question.casefold().startswith("what is ") and (is_of or len(words) > 1 + (words[0] in _LIGHT)):
        words = words[:-1]  # what kind of value it is: a place may say it without the word
    return [word for word in (*words, *rest.split()) if word.strip("“”\"'.,?!") not in _LIGHT]
