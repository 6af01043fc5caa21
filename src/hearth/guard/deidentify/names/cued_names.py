"""Finds names of unknown people by the words around them: `Dear Frau Okoro`, `my name is …`, `call Ben`.

Takes time linear in the text. Covered: titles, salutations, signatures, `Name:` fields, verbs that take a person, in
English, German, French, Spanish and Italian, when the name is written with capitals (after `my name is` also without).
Not covered: any other name; a trained tagger finds those.
"""

# ruff: noqa: SIM905 - lists of words read best as words

from __future__ import annotations

import re
from collections.abc import Iterator

from hearth.language.text.confusables import Words
from hearth.language.text.span import Found

_TITLES = frozenset(
    "mr mrs ms miss dr prof professor sir madam lady lord mx herr frau herrn fraulein dipl m mme mlle monsieur "
    "madame sr sra "
    "srta don dona senor senora sig signor signora signorina dott dottoressa avv ing pastor father rev reverend judge".split()  # noqa: E501
)
_BEFORE_A_PERSON = frozenset(
    "call phone ring email e-mail mail text message tell ask invite contact meet remind dial ping thank visit cc bcc "
    "inform "
    "notify whatsapp facetime dear hi hello hey hallo liebe lieber bonjour cher chere hola querido querida ciao caro "
    "cara "
    "ruf frag sag treffe besuche appelle appeler llama regards cheers thanks sincerely love yours gruss grusse "
    "cordialement "
    "saludos saluti".split()
)
_NAMING = (
    ("my", "name", "is"),
    ("name", "is"),
    ("i", "am", "called"),
    ("ich", "heisse"),
    ("mein", "name", "ist"),
    ("je", "m", "appelle"),
    ("me", "llamo"),
    ("mi", "chiamo"),
    ("full", "name"),
    ("first", "name"),
    ("last", "name"),
    ("called",),
    ("name",),
)
_FIELDS = frozenset({("name",), ("full", "name"), ("first", "name"), ("last", "name")})
"""Those that only a colon makes a name follow."""
_LAST_WORDS = frozenset(phrase[-1] for phrase in _NAMING)
_ALL_CUES = _TITLES | _BEFORE_A_PERSON | _LAST_WORDS
_NO_NAMES = frozenset(
    "i me my mine you your he she it we us they them him her his their our the a an this that these those all any "
    "some everyone "
    "everybody anyone someone mom mum dad mama papa grandma grandpa home work school team support customer service "
    "monday tuesday "
    "wednesday thursday friday saturday sunday january february march april may june july august september october "
    "november "
    "december today tomorrow tonight now please back again about when if to for at on in of and or is are was were "
    "will do does "
    "google amazon apple microsoft facebook netflix paypal siri alexa english german french spanish italian pdf tv "
    "ok madam sir "
    "friends family folks there world all team herr frau mr mrs ms dr number taxi uber doctor dentist police".split()
)
_NEXT = re.compile(r"[ \t]{1,2}|\.[ ]?|[-'’]|:[ \t]{0,3}\n?[ \t]{0,3}|[ ]?[,!][ ]?\n[ \t]{0,3}|,? ?\n[ \t]{0,3}")
_WITHIN = re.compile(r" {1,2}|[-'’]|\. ?")
_PARTICLES = frozenset("von van der den de del della di da dos du la le al bin ibn ben mac mc o d zu zum af".split())


def find_cued_names(text: str, said: Words) -> list[Found]:
    """Find the names with a cue before them in a plain text. `said`: `confusables.words(text)`."""
    return list(_found(text, said))


def _found(text: str, said: Words) -> Iterator[Found]:
    folded = said.folded
    if _ALL_CUES.isdisjoint(folded):
        return
    for index, word in enumerate(folded):
        if word not in _ALL_CUES or index + 1 == len(folded):
            continue
        last = index
        if word in _TITLES and (len(word) > 1 or text[said.starts[index]].isupper()):
            last = _name_end(text, said, index + 1, is_titled=True)
        elif word in _BEFORE_A_PERSON:
            if folded[index + 1] not in _TITLES:
                last = _name_end(text, said, index + 1)
        elif word in _LAST_WORDS and (phrase := _naming(text, said, index)):
            last = _name_end(text, said, index + 1, is_small=len(phrase) > 1)
        if last > index:
            yield Found(said.starts[index + 1], said.ends[last], "person")


def _naming(text: str, said: Words, index: int) -> tuple[str, ...]:
    """Find the words up to `index` that say that a name follows; empty when none do."""
    for phrase in _NAMING:
        if tuple(said.folded[max(0, index + 1 - len(phrase)) : index + 1]) == phrase and (
            phrase not in _FIELDS or ":" in text[said.ends[index] : said.starts[index + 1]]
        ):
            return phrase
    return ()


def _name_end(text: str, said: Words, first: int, *, is_titled: bool = False, is_small: bool = False) -> int:
    """Find the last word of the name that begins at `first`; `first - 1` when there is none."""
    if not _NEXT.fullmatch(text, said.ends[first - 1], said.starts[first]):
        return first - 1
    last, n_names = first - 1, 0
    for index in range(first, min(first + 5, len(said.folded))):
        if index > first and not _WITHIN.fullmatch(text, said.ends[index - 1], said.starts[index]):
            break
        word = text[said.starts[index] : said.ends[index]]
        if said.folded[index] in _PARTICLES and index + 1 < len(said.folded) and n_names < 3:
            continue
        if not word.isalpha() or said.folded[index] in _NO_NAMES:
            break
        is_small_name = is_small and index == first and len(word) > 2 and text.islower()
        if not is_small_name and not _is_capitalised(word, text, may_be_initial=n_names > 0, is_titled=is_titled):
            break
        if (
            index > first
            and text[said.ends[index - 1] : said.starts[index]] == ". "
            and len(said.folded[index - 1]) > 2
        ):
            break
        last, n_names = index, n_names + 1
    return last


def _is_capitalised(word: str, text: str, *, may_be_initial: bool, is_titled: bool) -> bool:
    """Return whether a word has the capitals of a name; all capitals count after a title, or where all is in them."""
    if not word[0].isupper():
        return False
    if len(word) == 1:
        return may_be_initial or is_titled
    return is_titled or not word.isupper() or text.isupper()
