"""Defines patterns for names, people and days, from which `fact_extraction` and `verb_rules` build theirs."""

from __future__ import annotations

import re

from hearth.memory.facts.relations import KIN, NATIONALITIES, PETS, PLURALS, listed

NAME_WORD = r"(?:[A-ZÀ-ÖØ-ÞŠŽČ][\w'’.-]*[\wÀ-ÿ]|[A-Z]\.?)"
NAME = (
    rf"(?:(?:Dr|Mr|Mrs|Ms|Prof|Aunt|Uncle)\.? )?{NAME_WORD}(?: (?:van|de|der|den|von|la|el|al|bin|da|dos"
    rf"|ter)(?= ))*(?: (?:van |de |der |von |la |da )*{NAME_WORD}){{0,3}}"
)
KIN_WORDS = "|".join(sorted((re.escape(word) for word in KIN), key=len, reverse=True))
KIN_PLURALS = "|".join(sorted((re.escape(word) for word in PLURALS), key=len, reverse=True))
PET_WORDS = "|".join(sorted(PETS))
OLDER = r"(?:(?:older|younger|elder|big|little|eldest|youngest|oldest|new|old|dear|only|second|late) )?"
NOT_NAMES = NATIONALITIES | frozenset(
    listed(
        "i the this that these those it there here he she they we you my our your his her a an monday tuesday "
        "wednesday thursday friday saturday sunday january february march april may june july august september "
        "october november december today tomorrow everything something nothing everyone someone nobody dinner "
        "lunch breakfast christmas easter when what who and but so then now please not every all some any if"
    )
)
DAYS = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
