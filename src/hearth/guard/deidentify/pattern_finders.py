"""Finds personal data and secrets by their form: mail and network addresses, numbers, keys, dates of birth.

Every finder reads a plain text (`confusables.Plain.text`) and its words, and takes time linear in it.
Covered: e-mail (also `name [at] host [dot] org`), web addresses and bare domains, IP and MAC addresses, phone numbers
of any country with a `+`, of the owner's country and of those around it without, IBANs in any case and spacing, cards
and any 13 to 19 digits, national numbers whose form is plain or whose cue is said, accounts, passports, licences,
plates and keys after their cue words in English, German, French, Spanish, Italian, Dutch and Portuguese, pass phrases
and codes by what is said of them, coordinates, dates; addresses of mail and six figures or more as
they are dictated.
Not covered: a short number without a cue or an unmistakable form, handles of social networks. Order, invoice and
tracking numbers are left alone: they identify somebody to a shop, and to nobody else.
"""

from __future__ import annotations

import re

from hearth.guard.deidentify.identifier_finders import (
    find_announced,
    find_cues,
    find_dates,
    find_keys,
    find_lettered,
    find_numbers,
    find_said_secrets,
    find_spoken,
)
from hearth.language.text.confusables import Words
from hearth.language.text.span import Found
from hearth.language.values.online_ids import find_online


def find_identifiers(text: str, words: Words, country: str = "", *, dates: bool = True) -> list[Found]:
    """Find identifiers in a plain text; spans may overlap.

    Args:
        words: `confusables.words(text)`.
        country: The owner's country, ISO 3166, for phone numbers without a country; may be empty.
        dates: Whether to find also dates that are not birth dates.
    """
    found = find_online(text, words)
    cues = find_cues(words)
    if cues:
        found += find_announced(text, cues)
    found += find_said_secrets(text, words)
    found += find_spoken(text, words)
    if max(map(len, text.split()), default=0) >= 20:
        found += find_keys(text)
    if _DIGIT.search(text):
        if not all(word.isalpha() or word.isdigit() for word in words.folded) or _GLUED.search(text):
            found += find_lettered(text)
        found += find_numbers(text, cues, country)
        if dates or any(kind == "birth_date" for kind, _, _ in cues):
            found += find_dates(text, words, cues)
    return found


_DIGIT = re.compile(r"\d")
_GLUED = re.compile(r"[A-Z][ -]\d{2}|\d{8}[- ][A-Za-z]")
