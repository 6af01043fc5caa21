"""Decides whether a request can be read at all: it must be non-empty, not too long, text, and in English.

Covered: blank, oversized and binary-like texts, other scripts, and other languages in Latin script when most of their
words are strange to English. Not covered: a short request of a few words in another language that could be English
names, and English mixed with another language; both are tried like any other.
"""

from __future__ import annotations

import re
import unicodedata

from hearth.language.text.thesaurus import KNOWN_WORDS
from hearth.language.text.tokens import listed

MAX_CHARACTERS = 20_000

_LANGUAGE_LIMIT = "I can only read English so far; please say it in English."
_SAMPLE = 4_000
"""Number of characters examined from the start of a request; they suffice to tell what it is."""
_MAX_ODD_SHARE = 0.1
_MAX_FOREIGN_SCRIPT_SHARE = 0.3

_ENGLISH = frozenset(
    listed(
        "a about after again all also am an and another any anything are around as ask at away back be because been "
        "before being best between both but buy by call came can can't cannot come could day days did do does doesn't "
        "doing done don't down each email end even every everything find first for from get give go going good got "
        "had has have he hello help her here him his home hour hours how i i'd i'll i'm i've if in into is isn't it "
        "it's its just keep know last late later left let like list long look made mail make many me meeting message "
        "might minutes more morning most much my name need never new next night no not note nothing now of off ok on "
        "one only open or other our out over own people please put read really remind right said same say see send "
        "set she should show so some someone something soon still stop such take tell than thank thanks that that's "
        "the their them then there these they thing things think this those three through time to today tomorrow "
        "tonight too two under until up us use very want was way we week weekend well went were what what's when "
        "where which while who whose why will with won't work would write yes yet you your"
    )
)
_FOREIGN = (
    frozenset(
        listed(
            # Frequent words of German, French, Spanish, Italian, Portuguese, Dutch, Polish, Swedish and Turkish.
            "der das und ist nicht ich mich mir mein meine meinen einen eine eines ein den dem zu für mit auf von "
            "morgen heute bitte wie wann wer uhr kannst du sie wir ihr auch noch nach bei wird erinnere schreibe le "
            "la les des une est je ne pas vous nous mon ma mes pour avec sur dans demain aujourd'hui quel quelle "
            "quand qui rappelle moi au aux du que ce cette s'il plaît plait el los las una es no por para con mi mis "
            "mañana hoy cuando cuándo qué quien quién recuérdame recuerdame del al que en lo un y de se favor cuál "
            "puedes il lo gli una di che non mio mia per con domani oggi quando ricordami sono della alle nel o os "
            "uma não nao meu minha amanhã amanha hoje lembra lembre às het een de van ik mij mijn niet voor met "
            "morgen vandaag wanneer herinner op naar aan om jest nie mi moje jutro dziś o w na z przypomnij co kiedy "
            "mnie och att jag mig min inte imorgon idag påminn vad när är för på bir ve bana benim yarın bugün ne "
            "zaman hatırlat için"
        )
    )
    - _ENGLISH
)


def why_unreadable(text: str) -> str:
    """Return why a request cannot be read, in words for the owner; empty when it can."""
    if len(text) > MAX_CHARACTERS:
        return (
            f"The request is {len(text):,} characters long; I read up to {MAX_CHARACTERS:,}. "
            "Put long text into a file and ask about that."
        )
    sample = text[:_SAMPLE]
    if not sample.strip():
        return "The request is empty; say what you would like done."
    odd = sum(unicodedata.category(c) in ("Cc", "Cs", "Co", "Cn") and c not in "\n\r\t" for c in sample)
    odd += sample.count("\ufffd")
    if odd > _MAX_ODD_SHARE * len(sample):
        return "The request looks like binary data, not like text; say in words what you would like done."
    letters = [c for c in sample if c.isalpha()]
    if not letters:
        has_digits = any(c.isdigit() for c in sample)
        return "" if has_digits else "The request holds no words; say what you would like done."
    foreign = sum(not unicodedata.name(c, "").startswith("LATIN") for c in letters)
    if foreign > _MAX_FOREIGN_SCRIPT_SHARE * len(letters):
        return _LANGUAGE_LIMIT
    return _LANGUAGE_LIMIT if _is_foreign(sample) else ""


def _is_foreign(text: str) -> bool:
    """Return whether most words of a text belong to another language."""
    words = re.findall(
        r"[^\W\d_]+(?:['’][^\W\d_]+)?", re.sub(r"\"[^\"]*\"|“[^”]*”", " ", text.lower()).replace("’", "'")
    )
    if len(words) < 3:
        return False
    n_english = sum(word in _ENGLISH or word in KNOWN_WORDS for word in words)
    n_foreign = sum(word in _FOREIGN for word in words)
    return n_foreign >= 2 and n_foreign > n_english and n_foreign + n_english >= 0.25 * len(words)
