"""Says who is meant where the words that answer "who" are a pronoun: a mail's "I" is its writer, a note's the owner.

The clause is found that says most of what is asked ("I have got the ladder" for "who has my ladder"); its subject is
resolved: "I" by who wrote it, "you" of a mail to the owner, "she" by the subject of the sentence before.

Covered: one clause and who else does the same ("and so has Idris"); "my mum" of somebody's mail.
Not covered: "we", and pronouns whose name stands further away: their sentence is told, with doubt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hearth.language.text.tokens import word_set
from hearth.memory.passages.passage_cutting import SENTENCE, unwrapped
from hearth.memory.passages.passage_store import Passage
from hearth.memory.search.terms import STOP_WORDS
from hearth.memory.search.word_forms import key_of, keys_of
from hearth.tools.mail.mailbox import SENT

_WHO = re.compile(
    r"\s*who(?:m)?(?:['’]s)?(?: (?:is|are|was|were|has|have|had|can|can['’]?t|cannot|could|will|would|does|did|do|got"
    r"|not|else|all|going|to))*\s+(?P<rest>.+)",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"(?:(?!,\s|;|\s(?:and|but|while|then)\s).)+", re.DOTALL)
_SUBJECT = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_FIRST, _SECOND = (
    frozenset(("i", "me", "i'm", "i've", "i'll", "i’m", "i’ve", "i’ll", "i'd")),
    frozenset(("you", "you're", "you've", "you'll")),
)
_THIRD = frozenset(("she", "he", "they", "it", "she's", "he's", "they're", "her", "him", "them"))
_WE = frozenset(("we", "us", "we're", "we've", "we'll"))
PRONOUNS = _FIRST | _SECOND | _THIRD | _WE | {"someone", "somebody", "who", "this", "that", "these", "those"}
_NO_NAMES = word_set(
    "hi hello hey dear thanks thank yes no love regards best please sorry monday tuesday wednesday thursday friday "
    "saturday sunday january february march april may june july august september october november december "
    "christmas easter could can will would also just let see ok okay good morning evening afternoon re fwd"
)
_TOO = re.compile(
    r"\s*,?\s*(?:and|as) (?:so )?(?:has|have|does|do|did|is|are|will|can) (?P<name>[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)?)"
)
_LIGHT = word_set("have has had got get gets thing things one else")
_N_LEAD = 5
"""Words of a clause in which its subject stands."""
_OF_VERB = 2
"""What the word of the deed counts beside the others."""
_LEAST_SAID = 0.5
"""A clause tells who, if it says at least this share of what is asked."""


@dataclass(frozen=True, slots=True)
class Who:
    """Who a clause means."""

    name: str
    """Empty: it cannot be told from the words."""
    start: int
    """Place of the clause in `Passage.read`."""
    is_sure: bool


def asks_who(question: str) -> bool:
    """Return whether a question asks who."""
    return _WHO.match(question) is not None


def is_pronoun(words: str) -> bool:
    """Return whether words name nobody by themselves: "she", "I too"."""
    said = re.findall(r"[\w'’]+", words.casefold())
    return bool(said) and all(word in PRONOUNS or word in ("too", "also", "both", "all") for word in said)


def who_told(question: str, passage: Passage) -> Who | None:
    """Find who the clause means that tells what is asked, where its subject is a pronoun; None where it is none, or
    where no clause says enough of it, or several say as much."""
    found = _WHO.match(question)
    if found is None:
        return None
    wanted = keys_of(found["rest"]) - {key_of(word) for word in _LIGHT}
    verb = _verb(found["rest"])
    text = unwrapped(passage.read)
    rows: list[tuple[int, int, int, str]] = []
    for sentence in SENTENCE.finditer(text, len(text) - len(passage.text)):
        for clause in _CLAUSE.finditer(text, *sentence.span()):
            said = wanted & keys_of(clause.group())
            score = len(said) + (_OF_VERB if verb in said else 0)
            rows.append((score, clause.start(), sentence.start(), clause.group()))
    most = max((score for score, *_ in rows), default=0)
    best = [row for row in rows if row[0] == most]
    if not most or len(best) > 1 or most < _LEAST_SAID * (len(wanted) + (_OF_VERB if verb in wanted else 0)):
        return None
    _, start, sentence_start, clause_text = best[0]
    start += len(clause_text) - len(clause_text.lstrip())
    name, is_sure = _subject(clause_text, text[len(text) - len(passage.text) : sentence_start], passage)
    if name is None:
        return None
    too = _TOO.match(text, start + len(clause_text.strip()))
    return Who(f"{name} and {too['name']}" if name and too else name, start, is_sure)


def of_the_writer(words: str, before: str, passage: Passage) -> str:
    """Write "my mum" of a mail as its writer's: "Callum Moss's mum"; the words as they are elsewhere."""
    if not re.search(r"\bmy\s+\Z", before, re.IGNORECASE) and not re.match(r"my\s", words, re.IGNORECASE):
        return words
    thing = re.sub(r"\Amy\s+", "", words, flags=re.IGNORECASE)
    if passage.kind != "mail" or passage.record.startswith(f"{SENT}/"):
        return f"your {thing}"
    return f"{passage.person}'s {thing}" if passage.person else words


def _verb(rest: str) -> str:
    """Return the key of the word of the deed, where what is asked begins with one; else empty."""
    first = re.match(r"[^\W\d_]+", rest)
    word = first.group().casefold() if first else ""
    return "" if not word or word in STOP_WORDS or word in _LIGHT else key_of(word)


def _subject(clause: str, before: str, passage: Passage) -> tuple[str | None, bool]:
    """Return who the subject of a clause is, and whether that is sure; None where it is no pronoun."""
    for found in list(_SUBJECT.finditer(clause))[:_N_LEAD]:
        word = found.group().casefold()
        is_sent = passage.record.startswith(f"{SENT}/")
        if word in _FIRST and (word != "me"):
            if passage.kind == "mail" and not is_sent:
                return passage.person, bool(passage.person)
            return ("you", True) if passage.kind in ("note", "mail", "reminder") else ("", False)
        if word in _SECOND:
            return ("you", True) if passage.kind == "mail" and not is_sent else ("", False)
        if word in _WE:
            return "", False
        if word in _THIRD:
            return _named_last(before), False
        if found.group()[0].isupper() and word not in STOP_WORDS | _NO_NAMES and found.start() > 0:
            return None, False
        if found.start() == 0 and found.group()[0].isupper() and word not in STOP_WORDS | _NO_NAMES:
            return None, False
    return None, False


def _named_last(text: str) -> str:
    """Return the subject of the last sentence of a text: the first name in it; empty where it has none."""
    sentences = [one.group() for one in SENTENCE.finditer(text) if one.group().strip()]
    for sentence in sentences[:-3:-1]:
        names = [
            one.group()
            for one in re.finditer(r"\b[A-Z][^\W\d_]+(?: [A-Z][^\W\d_]+)?", sentence)
            if one.group().split()[0].casefold() not in STOP_WORDS | _NO_NAMES
        ]
        if names:
            return names[0]
    return ""
