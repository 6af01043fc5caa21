"""Works out by how much an amount has changed: "how much more is the boat insurance than last year".

Of the passages that speak of a matter the first counts that states what it was and what it is now; else the two newest
of a series of bills. Both amounts are shown.

Not covered: changes of anything but money, of another time than the one before, amounts in words.
"""

from __future__ import annotations

from collections.abc import Sequence

from hearth import patterns as re
from hearth.memory.inquiry.answer_telling import series_of_title, witness_of
from hearth.memory.inquiry.money import WHOLE, money_in, money_text
from hearth.memory.inquiry.reading.answer_reading import covered, ranked
from hearth.memory.passages.passage_store import Passage, PassageStore
from hearth.protocols import HomeAnswer

_THAN = (
    r"(?:than|compared (?:to|with)) (?:it (?:was|did) |in )?(?:the )?"
    r"(?:last|previous|before|year|month|time|a year|used)\b"
)
_ASKED = (
    re.compile(
        r"\s*(?:by )?how much (?:more|less|higher|lower|dearer|cheaper)(?: expensive)? (?:is|was|are|were|does|do|did"
        rf"|will) (?P<what>.+?)(?: costs?| be| now| this (?:year|month|time))* {_THAN}.*",
        re.IGNORECASE,
    ),
    re.compile(
        r"\s*(?:by )?how much (?:did|has|have|does|will|is) (?P<what>.+?)"
        r" (?:gone?|going|went|risen?|rose|increas\w+|chang\w+|dropp?\w*|fall\w*)(?: (?:up|down))?\b(?! to).*",
        re.IGNORECASE,
    ),
)
_KINDS = ("mail", "document", "note")
_CLAUSE = re.compile(r"(?:(?!;|\.\s|\n|,\s(?:and|but)\s).)+")
_EARLIER = re.compile(
    r"\b(?:last|previous(?:ly)?|until now|so far|before|formerly|old|used to|instead of|from)\b", re.IGNORECASE
)
_N_READ = 6
_LEAST_SPOKEN = 0.5
_CHANCE = 0.75


def changed_by(question: str, passages: PassageStore) -> HomeAnswer | None:
    """Return by how much an amount has changed; None where no such thing is asked, or no two amounts are stated."""
    asked = next((fit for form in _ASKED if (fit := form.fullmatch(question.rstrip(" ?.!")))), None)
    if asked is None:
        return None
    what = asked["what"]
    found = [
        one.passage
        for one in ranked(what, passages.find(what, _KINDS))
        if covered(what, f"{one.passage.person} {one.passage.read}") > _LEAST_SPOKEN
    ][:_N_READ]
    for passage in found:
        if (told := _within(passage)) is not None or (told := _of_series(passage, found)) is not None:
            return told
    return None


def _within(passage: Passage) -> HomeAnswer | None:
    """Compare the amounts of a passage that says what was paid before."""
    clauses = [(one.group(), money_in(one.group())) for one in _CLAUSE.finditer(passage.text)]
    earlier = [amounts[0] for said, amounts in clauses if len(amounts) == 1 and _EARLIER.search(said)]
    now = [amounts[0] for said, amounts in clauses if len(amounts) == 1 and not _EARLIER.search(said)]
    now = [one for one in now if earlier and one[1] == earlier[0][1]]
    return _told(now[0], earlier[0], (passage,)) if now and len(earlier) == 1 else None


def _of_series(passage: Passage, found: Sequence[Passage]) -> HomeAnswer | None:
    """Compare the wholes of the two newest records of a series."""
    series = {
        one.at: one
        for one in found
        if one.at is not None
        and (series_of_title(one.title), one.person) == (series_of_title(passage.title), passage.person)
    }
    newest = [series[at] for at in sorted(series, reverse=True)][:2]
    wholes = [amount for one in newest if (amount := _whole(one)) is not None]
    return _told(wholes[0], wholes[1], newest) if len(wholes) > 1 and wholes[0][1] == wholes[1][1] else None


def _whole(passage: Passage) -> tuple[float, str, int] | None:
    lines = [line for line in passage.text.split("\n") if money_in(line)]
    whole = [line for line in lines if WHOLE.search(line)] or lines[-1:]
    return money_in(whole[-1])[-1] if whole else None


def _told(now: tuple[float, str, int], before: tuple[float, str, int], shown: Sequence[Passage]) -> HomeAnswer:
    change = now[0] - before[0]
    how = "more" if change > 0 else "less"
    of_now, of_before = (money_text(*amount[:2]) for amount in (now, before))
    value = f"{money_text(abs(change), now[1])} {how} ({of_now} after {of_before})"
    return HomeAnswer("amount", value, "", tuple(witness_of(one, " ".join(one.text.split())) for one in shown), _CHANCE)
