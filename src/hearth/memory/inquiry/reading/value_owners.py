"""Tells whose value a line is: of "Tom passport expires 2027" and "Ana passport expires 2031", the one asked for.

A question names somebody ("Tom's passport", "what size does Ben take") or means the owner ("my passport"). Lines that
begin with the name of somebody else, or say that somebody else's thing it is, are then no answer.

Covered: people on cards; people whose lines stand beside each other in a list, with or without a card.
Not covered: two people of one first name, values that a line has of several people.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from hearth import patterns as re
from hearth.memory.passages.passage_store import Passage
from hearth.memory.search.terms import STOP_WORDS
from hearth.memory.search.word_forms import in_single_words, key_of, keys_of

_LINE = re.compile(r"[^\n]+")
_LEAD = re.compile(r"\s*(?:[-*•·]\s+|\|\s*)?(?P<name>[A-Z][^\W\d_]+)(?P<of>['’]s)?\b")
_OF_SOMEBODY = re.compile(
    r"\b(?!(?:what|where|who|when|how|why|which|that|there|here|it|he|she|let)['’])(?P<name>[^\W\d_]{2,})['’]s?(?= \w)",
    re.IGNORECASE,
)
"""Names whose something is; "where's the key" is nobody's."""
_MINE = re.compile(r"\b(?:my|mine)\b(?: own)? ?(?P<thing>[\w-]*)", re.IGNORECASE)
_OF_ME = re.compile(r"\s*(?:[-*•·]\s+|\|\s*)?(?:(?:me|mine|myself)\b\s*[:|=–-]|my\b)", re.IGNORECASE)
"""Begins a line that its writer jotted down of themselves."""
_WORD = re.compile(r"[^\W\d_]{2,}")
_LEAST_KNOWN = 3
"""Letters of the shortest name that is known where it stands without a capital or an apostrophe."""


@dataclass(frozen=True, slots=True)
class People:
    """The names by which lines are told apart."""

    owner: str = ""
    """First name of the owner as a key; empty: not known."""
    known: frozenset[str] = frozenset()
    """First names on the owner's cards, as keys."""
    names: frozenset[str] = frozenset()
    """The same in lower case, as they are written."""


NOBODY = People()


def people_of(owner: str, names: Iterable[str]) -> People:
    """Return the people of a home by their names."""
    firsts = {name.split()[0].casefold() for name in names if name.split()}
    firsts = {first for first in firsts if first not in STOP_WORDS and len(first) >= _LEAST_KNOWN}
    own = key_of(owner.split()[0].casefold()) if owner.split() else ""
    return People(own, frozenset(map(key_of, firsts)), frozenset(firsts))


def with_apostrophes(question: str, people: People) -> str:
    """Write the apostrophe that was left out behind a known name: "noor's blood type" for "noors blood type"."""

    def written(found: re.Match[str]) -> str:
        word = found.group()
        is_left_out = word.casefold() not in people.names and word.casefold()[:-1] in people.names
        return f"{word[:-1]}'s" if is_left_out else word

    return re.sub(r"\b[^\W\d_]{3,}s(?= \w)", written, question)


def asked_of(question: str, people: People) -> frozenset[str]:
    """Return the keys of those whose value is asked for; empty: of nobody, or of the owner."""
    said = {key_of(found["name"].casefold()) for found in _OF_SOMEBODY.finditer(question)}
    if said:
        return frozenset(said)
    return frozenset(key_of(word.casefold()) for word in _WORD.findall(question)) & people.known


def lines_of_others(question: str, passage: Passage, people: People) -> list[tuple[int, int]]:
    """Return where the lines of a passage lie that tell of somebody else than who is asked for."""
    if re.match(r"\s*who(?:m|se)?\b", question, re.IGNORECASE):
        return []
    whose = asked_of(question, people)
    mine = _MINE.search(question) if not whose else None
    if not whose and mine is None:
        return []
    meant = whose or frozenset({people.owner})
    named = keys_of(question) | meant
    lines = [one for one in _LINE.finditer(passage.read) if one.start() >= len(passage.read) - len(passage.text)]
    own = [one for one in lines if meant & keys_of(one.group()) or (mine is not None and _OF_ME.match(one.group()))]
    if mine is not None and not own:
        thing = key_of(mine["thing"].casefold())
        return [one.span() for one in lines if _is_anothers(one.group(), thing, people, named)]
    if not own:
        if meant & keys_of(f"{passage.title} {passage.person}"):
            return []
        return [one.span() for one in lines if people.known & keys_of(one.group()) - named]
    anothers, unmeant, is_listed = people.known - named, named | {""}, _is_listed(meant, lines)
    heads = [
        lead in anothers
        or (is_listed and lead not in unmeant and _is_labelled(one.group()))
        or (mine is None and _OF_ME.match(one.group()) is not None)
        for one in lines
        for lead in [_lead(one.group())]
    ]
    return _headed(lines, heads, own, passage.read)


def _is_listed(meant: Set[str], lines: Iterable[re.Match[str]]) -> bool:
    """Return whether names stand before their lines, known or not; a mail's signature stands alone."""
    return any(_lead(one.group()) in meant and _is_labelled(one.group()) for one in lines)


def _headed(
    lines: Sequence[re.Match[str]], heads: Sequence[bool], own: Sequence[re.Match[str]], read: str
) -> list[tuple[int, int]]:
    """Return where the lines lie that a head heads: from it on until an own line or an empty one ends its part."""
    found: list[tuple[int, int]] = []
    is_headed = False
    for line, is_head in zip(lines, heads, strict=True):
        if line in own:
            is_headed = False
            continue
        is_headed = is_head or (is_headed and not read[: line.start()].endswith("\n\n"))
        if is_headed:
            found.append(line.span())
    return found


def worded_for(question: str, passage: Passage, people: People) -> str:
    """Return a question in the words of a passage: "Wendy's passport" for "my passport" where a line is Wendy's."""
    mine = _MINE.search(question)
    if people.owner and mine is not None and not asked_of(question, people):
        lines = (line for line in passage.text.split("\n") if _is_labelled(line))
        own = next((line for line in lines if _lead(line) == people.owner), "")
        lead = _LEAD.match(own)
        if lead is not None:
            question = f"{question[: mine.start()]}{lead['name']}'s{question[mine.start() + len('my') :]}"
    held = passage.read.casefold()
    return in_single_words(question) if "expir" in held else question


def is_without(question: str, passage: Passage, people: People) -> bool:
    """Return whether a question names somebody of the owner's cards as whose a value is, of whom a passage says
    nothing."""
    whose = {key_of(found["name"].casefold()) for found in _OF_SOMEBODY.finditer(question)} & people.known
    return bool(whose) and not whose & keys_of(f"{passage.person} {passage.read}")


def _lead(line: str) -> str:
    """Return the key of the name with which a line begins; empty where it begins with none."""
    found = _LEAD.match(line)
    return key_of(found["name"].casefold()) if found and found["name"].casefold() not in STOP_WORDS else ""


def _is_labelled(line: str) -> bool:
    """Return whether a line says of what it begins with something: "Luca: no passport", "Freya passport 55"."""
    return (
        re.match(
            r"\s*(?:[-*•·]\s+|\|\s*)?[A-Z][^\W\d_]+(?: [A-Z][\w'’-]+)*(?:['’]s|:| \||(?: [a-z]+){1,3} \S*\d)", line
        )
        is not None
    )


def _is_anothers(line: str, thing: str, people: People, named: set[str]) -> bool:
    """Return whether a line calls a thing somebody else's: "Callum's passport", "Callum: passport 55"."""
    theirs = {key_of(found["name"].casefold()) for found in _OF_SOMEBODY.finditer(line)}
    if thing and theirs - named and re.search(rf"['’]s? (?:\w+ )?{re.escape(thing)}", line, re.IGNORECASE):
        return True
    lead = _lead(line)
    return lead in people.known and lead not in named and thing in keys_of(line)
