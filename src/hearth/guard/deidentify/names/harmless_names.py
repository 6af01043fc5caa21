"""Keeps what a tagger took for a name and is none of anybody: public names, times, and common words.

Only what the tagger alone found is looked at: what is the owner's (`contact_names`) or has a telling form stays masked.
A public name ("the capital of Australia") stays masked where its sentence tells where somebody lives or comes from.
Not covered: public names and common words in other languages than English.
"""

# ruff: noqa: SIM905 - lists of words read best as words

from __future__ import annotations

import re
from collections.abc import Sequence

from hearth.language.text.confusables import fold
from hearth.language.text.span import Found
from hearth.language.values.public_names import is_public

_KINDS = frozenset({"place", "organisation", "address"})
_TIMES = frozenset(
    "one two three four five six seven eight nine ten eleven twelve thirteen fifteen twenty thirty forty fifty half "
    "quarter past to o'clock noon midnight am pm monday tuesday wednesday thursday friday saturday sunday weekend "
    "january february march july september october november december today tomorrow tonight morning afternoon evening "
    "night the a an at in on of and or next last first second room".split()
)
_COMMON = _TIMES | frozenset(
    "my our your his her their this that hall school church choir club college university hospital clinic surgery "
    "pharmacy doctor doctors dentist vet bank post station airport bus train tram taxi stop platform museum "
    "library theatre theater cinema restaurant cafe bar pub bakery shop store supermarket market gym pool park "
    "playground beach lake river town city village centre center fair party group team band class course meeting "
    "council government police court army hotel hostel parking car company firm agency insurance landlord "
    "neighbour neighbours internet website app phone calendar mail home work office".split()
)
_AT_HOME = re.compile(
    r"\b(?:liv(?:e|es|ed|ing)|resid(?:e|es|ed|ing)|mov(?:e|es|ed|ing)|raised|grew up|born|based|stationed|hometown|"
    r"settled|emigrated|fled|stay(?:s|ed|ing)?|address|flat|apartment|house|home|"
    r"(?:am|is|are|was|were|come|comes|came|i'm|she's|he's|they're) from|"
    r"work(?:s|ed|ing)? (?:at|for|in)|employ(?:er|ed)|my (?:boss|job|account|bank|contract))\b",
    re.IGNORECASE,
)


def without_harmless(text: str, tagged: Sequence[Found], known: Sequence[Found]) -> list[Found]:
    """Leave out of `tagged` what is harmless.

    Args:
        known: What was found otherwise: by the owner's names, by form or by cue.
    """
    return [one for one in tagged if one.kind not in _KINDS or not _is_harmless(text, one, known)]


def _is_harmless(text: str, one: Found, known: Sequence[Found]) -> bool:
    if any(other.start < one.end and one.start < other.end for other in known):
        return False
    name = text[one.start : one.end]
    common = _TIMES if one.kind == "address" else _COMMON
    if all(word in common for word in re.findall(r"[\w']+", fold(name))):
        return True
    if (
        not name[:1].isupper()
        or not is_public(name)
        or (one.kind == "place" and text[one.end - 2 : one.end + 2].count("'s"))
    ):
        return False  # what has something of its own is somebody, as a rule
    start = max(text.rfind(mark, 0, one.start) for mark in ".!?\n") + 1
    sentence = re.compile(r"[^.!?\n]*").match(text, start)
    return sentence is None or not _AT_HOME.search(sentence[0])
