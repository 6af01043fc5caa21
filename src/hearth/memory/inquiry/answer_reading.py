"""Reads the answer to a question in passages: whose it is, what kind of thing is asked, which words say it."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth import patterns as re
from hearth.errors import ToolError
from hearth.formats.record_places import canonical_address
from hearth.language.tokens import listed, word_set
from hearth.memory.search.collecting import with_heads
from hearth.memory.search.passage_store import SENTENCE, Candidate, Passage, sentence_at, unwrapped
from hearth.memory.search.search_words import (
    STOP_WORDS,
    days_named,
    fitted,
    in_single_words,
    key_of,
    key_set,
    keys_of,
    telling_words,
)
from hearth.models.lora_encoder import Array
from hearth.models.span_extractor import ABSENT, NO, SPAN, YES, Answer, Form, Question, SpanReader
from hearth.protocols import CallContext, HomeAnswer, Workspace
from hearth.tools.mail.mailbox import SENT
from hearth.tools.mail.mime import read_head
from hearth.tools.memory import DOUBTED
from hearth.tools.pim.contacts import read_cards

# ── Answer subjects ───────────────────────────────────────────────────────────────────────────────────────
# Says who is meant where the words that answer "who" are a pronoun: a mail's "I" is its writer, a note's the owner.
#
# The clause is found that says most of what is asked ("I have got the ladder" for "who has my ladder"); its subject
# is resolved: "I" by who wrote it, "you" of a mail to the owner, "she" by the subject of the sentence before. Who
# wants, offers or says something is who writes so, whatever the subject: "can somebody swap weeks with me", "Happy to
# feed the cat".
#
# Covered: one clause and who else does the same ("and so has Idris"); "my mum" of somebody's mail. Not covered: "we",
# and pronouns whose name stands further away: their sentence is told, with doubt.

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
_ACT = re.compile(
    r"(?:offer|ask|complain|sa(?:id|ys?)\b|agree|promis|volunteer|want|need|look(?:s|ing)\b|wr(?:ote|it)|suggest|mention"
    r"|apologi[sz]|invit|told|tell)\w*(?: (?:me|us|to|about|for|that|if|whether|they|he|she|is|are|has|have))*\s+",
    re.IGNORECASE,
)
"""What somebody does by writing a mail, before what it is about."""
_ELIDED = re.compile(
    r"\s*(?:(?:(?:very|only too|more than|quite) )?(?:happy|glad|keen|willing|able|unable|delighted|pleased|ready"
    r"|hoping|planning|going) to|looking (?:for|to)|(?:(?:won|can|couldn|wouldn)['’]?t|cannot|would|could|will|can)"
    r" (?!you\b|i\b|we\b|he\b|she\b|it\b|they\b|the\b|an?\b|my\b|your\b|our\b|this\b|that\b|any|some)[a-z]+)\b",
    re.IGNORECASE,
)
"""Begins a sentence that leaves out its "I"."""
_OPENING = re.compile(
    r"\s*(?:(?:sorry|yes|no|okay|ok|sure|thanks|thank you|hi|hello|hey|dear)\b[^.!?,]*,\s*)*", re.IGNORECASE
)
_OF_WRITER = re.compile(r"\b(?:i|i['’](?:m|ve|d|ll)|me|my|mine|myself)\b", re.IGNORECASE)
_WRITER_LEADS = re.compile(r"(?:i|me|i['’](?:m|ve|d|ll))(?![\w'’])|(?:my|mine|myself)\Z", re.IGNORECASE)
_MOST_OF_WRITER = 3
"""Words of a thing or person of the writer's: "my mum and dad"."""
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
    act = _act_asked(found["rest"]) if _is_received(passage) else ""
    asked = _clause_asked(found["rest"], passage)
    if asked is None:
        return None
    text, start, sentence_start, clause_text = asked
    name, is_sure = _subject(clause_text, text[len(text) - len(passage.text) : sentence_start], passage)
    if _is_received(passage) and passage.person:
        is_elided = _ELIDED.match(clause_text) and _OPENING.fullmatch(text[sentence_start:start])
        if name is None and is_elided and not sentence_at(text, start).endswith("?"):
            name, is_sure = passage.person, True
        elif act and name != passage.person and (name is not None or _says_of_writer(clause_text)):
            name, is_sure = passage.person, False
    if name is None:
        return None
    too = _TOO.match(text, start + len(clause_text.strip()))
    return Who(f"{name} and {too['name']}" if name and too else name, start, is_sure)


def _act_asked(rest: str) -> str:
    """Return the words of what somebody does by writing, where what is asked begins with one; else empty."""
    act = _ACT.match(rest)
    return act.group() if act is not None else ""


def _clause_asked(rest: str, passage: Passage) -> tuple[str, int, int, str] | None:
    """Return the text of a passage, where in it the clause and its sentence begin that says most of what is asked, and
    the clause; None where no clause says enough of it, or several say as much."""
    act = _act_asked(rest) if _is_received(passage) else ""
    thing = rest[len(act) :]
    wanted, verb = keys_of(thing) - {key_of(word) for word in _LIGHT}, _verb(thing)
    text = unwrapped(passage.read)
    rows: list[tuple[int, bool, int, int, str]] = []
    for sentence in SENTENCE.finditer(text, len(text) - len(passage.text)):
        for clause in _CLAUSE.finditer(text, *sentence.span()):
            keys = keys_of(clause.group())
            said = wanted & keys
            score = len(said) + (_OF_VERB if verb in said else 0)
            rows.append((score, bool(act) and _verb(act) in keys, clause.start(), sentence.start(), clause.group()))
    most = max((row[:2] for row in rows), default=(0, False))
    best = [row for row in rows if row[:2] == most]
    least = _LEAST_SAID * (len(wanted) + (_OF_VERB if verb in wanted else 0))
    if not most[0] or len(best) > 1 or most[0] < least:
        return None
    _, _, start, sentence_start, clause_text = best[0]
    return text, start + len(clause_text) - len(clause_text.lstrip()), sentence_start, clause_text


def _says_of_writer(clause: str) -> bool:
    """Return whether a clause speaks of its writer, and not of somebody named who "wants my sofa"."""
    return _OF_WRITER.search(clause) is not None and not _is_of_named(clause)


def _is_of_named(clause: str) -> bool:
    """Return whether a clause begins with a name."""
    first = _SUBJECT.match(clause.lstrip())
    word = first.group() if first is not None else ""
    return word[:1].isupper() and word.casefold() not in STOP_WORDS | _NO_NAMES | PRONOUNS


def _is_of_another_clause(question: str, passage: Passage, start: int) -> bool:
    """Return whether the words at `start` stand in another clause than the one that says what is asked who does, which
    begins with a name: "Desmond" for "who wants the sofa" of "Gwyn wants the sofa and Desmond offered the trailer"."""
    found = _WHO.match(question)
    asked = _clause_asked(found["rest"], passage) if found is not None else None
    if asked is None:
        return False
    text, place, sentence_start, clause = asked
    is_outside = not place <= start < place + len(clause.strip())
    in_sentence = sentence_start <= start < sentence_start + len(sentence_at(text, place))
    return is_outside and in_sentence and _is_of_named(clause)


def _is_received(passage: Passage) -> bool:
    """Return whether a passage is of a mail that somebody else wrote."""
    return passage.kind == "mail" and not passage.record.startswith(f"{SENT}/")


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


# ── Asked things ──────────────────────────────────────────────────────────────────────────────────────────
# Says whether a place in the owner's things names what a question is about.
#
# Covered: "the address of Pasture" and "Pasture's address" by the thing alone, whatever the word for the kind of
# value; what happens to a thing ("when is the MOT due") by the thing. Not covered: a thing that a place names in
# other words.

_LIGHT_WORDS = frozenset(
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


def with_day(answer: HomeAnswer, now: dt.datetime, country: str) -> HomeAnswer:
    """Return an answer with the date that it names, else with the only one in the words that it rests on."""
    days = days_named(answer.value, now, country)
    if not days and answer.witnesses and len(of_quote := days_named(answer.witnesses[0].quote, now, country)) == 1:
        days = of_quote
    return replace(answer, at=days[0]) if days else answer


def is_named(question: str, place: str) -> bool:
    """Return whether a place holds every word by which a question names its thing; False of one that names none."""
    asked = keys_of(" ".join(_thing_words(question))) - _HAPPENS
    return bool(asked) and asked <= keys_of(place)


def _thing_words(question: str) -> list[str]:
    """Return the words that name what a question is of: `pasture` of "what is the address of Pasture"."""
    thing, is_of, rest = question.casefold().removeprefix("what is ").partition(" of ")
    words = thing.split()
    if question.casefold().startswith("what is ") and (is_of or len(words) > 1 + (words[0] in _LIGHT_WORDS)):
        words = words[:-1]  # what kind of value it is: a place may say it without the word
    return [word for word in (*words, *rest.split()) if word.strip("“”\"'.,?!") not in _LIGHT_WORDS]


# ── Value owners ──────────────────────────────────────────────────────────────────────────────────────────
# Tells whose value a line is: of "Tom passport expires 2027" and "Ana passport expires 2031", the one asked for.
#
# A question names somebody ("Tom's passport", "what size does Ben take") or means the owner ("my passport"). Lines
# that begin with the name of somebody else, or say that somebody else's thing it is, are then no answer.
#
# Covered: people on cards; people whose lines stand beside each other in a list, with or without a card. Not covered:
# two people of one first name, values that a line has of several people.

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
_MUST = re.compile(
    r"\b(?:(?:do|does|did) (?P<who>[^\W\d_]+)(?: [^\W\d_]+)? (?:have|need) to|(?:must|should|shall|can|may|has|have)"
    r" (?P<modal>[^\W\d_]+)(?: to)?) [^\W\d_]+",
    re.IGNORECASE,
)
"""Asks what somebody must or may do."""
_PARTY = re.compile(r"\b(?P<role>[A-Z][a-z]+): (?P<name>[A-Z][\w'’-]+(?: [A-Z][\w'’-]+){0,2})")
"""Says who a party of an agreement is: "Tenant: Jo Day"."""
_BOUND_PARTY = re.compile(
    r"\W*(?:\d+[.)]?\s+)?(?:the )?(?P<role>[^\W\d_]+) (?:shall|must|may|will|agrees?|undertakes?|gives?|pays?)\b",
    re.IGNORECASE,
)
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
        return _clauses_of_others(_doer(question, people), passage)
    meant = whose or frozenset({people.owner})
    if (doer := _doer(question, people)) and (clauses := _clauses_of_others(doer, passage)):
        return clauses
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
    is_listed = _is_listed(meant, lines)
    heads = [
        _begins_with_another(one.group(), named, people, is_listed=is_listed)
        or (mine is None and _OF_ME.match(one.group()) is not None)
        for one in lines
    ]
    return _headed(lines, heads, own, passage.read)


def _doer(question: str, people: People) -> str:
    """Return the key of who it is asked of what they must do: "Jo" of "how long does Jo have to wait"; else empty."""
    found = _MUST.search(question)
    if found is None:
        return ""
    name = (found["who"] or found["modal"]).casefold()
    who = people.owner if name in ("i", "we") else key_of(name)
    return who if who in people.known | {people.owner} else ""


def _clauses_of_others(doer: str, passage: Passage) -> list[tuple[int, int]]:
    """Return where the lines lie that bind another party of an agreement than the doer: "The landlord shall give ..."
    where the passage says "Landlord: Ann Lee. Tenant: Jo Day." and Jo is the doer."""
    parties = (
        {found["role"].casefold(): keys_of(found["name"]) for found in _PARTY.finditer(passage.read)} if doer else {}
    )
    if not any(doer in names for names in parties.values()):
        return []
    others = {role for role, names in parties.items() if doer not in names}
    lines = [(one, _BOUND_PARTY.match(one.group())) for one in _LINE.finditer(passage.read)]
    return [one.span() for one, found in lines if found is not None and found["role"].casefold() in others]


def _begins_with_another(line: str, named: Set[str], people: People, *, is_listed: bool) -> bool:
    """Return whether a line begins with a name that is not meant: a known one or, in a list of people, any."""
    lead = _lead(line)
    return lead in people.known - named or (is_listed and lead not in named | {""} and _is_labelled(line))


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


# ── Strangers ─────────────────────────────────────────────────────────────────────────────────────────────
# Tells what strangers wrote from what is the owner's own or by people on his cards, and which of their sentences
# order somebody to say something.
#
# Notes, documents, reminders, cards, own events and sent mails are the owner's; a mail is its sender's, by the
# address.
#
# Covered: a known name over an unknown address; orders to the assistant or to anybody to say or answer something. Not
# covered: a forged address, an order in the sentence before, a false statement in plain words: its source is named.

_ORDERED = (
    r"(?:\A\W*|[,;:–-]\s+|\b(?:please|kindly)\s+|\byou (?:must|should|shall|will|have to|need to|are to|can only)\s+)"
    r"(?:(?:now|always|only|simply|just|never)\s+)*"
)
_TO_SAY = re.compile(
    rf"{_ORDERED}(?:(?:say|tell|respond|confirm|inform|assure)\b(?:[^.;?]*\b(?:that|is|are|was|were)\b|\s*:| with\b)"
    r"|(?:answer|reply|state|report|claim|repeat) (?:[\w'’]+ ){0,4}?(?:that|with)\b"
    r"|(?:let|make sure(?: that)?|see that) (?!me\b|us\b|you\b)(?:[\w'’]+ ){1,4}?knows?\b"
    r"(?! (?:if|when|whether|what|how|who|where|why|by|before)\b)(?:[^.;?]*\b(?:that|is|are|was|were)\b|\s*:))"
    r"|\b(?:whenever|when|if)\b[^.;:?]*\b(?:asks?|asked|wants? to know|wonders?)\b[^.;:?]*:",
    re.IGNORECASE,
)
"""An order to say something, with what is to be said."""
_TO_ASSISTANT = re.compile(
    r"\A\W*(?:(?:dear|hey|hi|hello|attention|(?:note |message )?(?:to|for)) (?:the |my |your |any )?(?:ai )?"
    r"(?:assistant|agent|bot|model)\s*[,:;!–-]|(?:(?:dear|hey|hi|hello|to|for) )?(?:an? |the )?(?:ai|hearth|chatbot"
    r"|language model|llm)\b(?: (?:assistant|agent|bot|model|system))?\s*[,:;!–-]|(?:assistant|agent|bot)\s*,)",
    re.IGNORECASE,
)
"""Speaks to the assistant."""


def known_addresses(call: CallContext) -> frozenset[str]:
    """Return the addresses of the owner and of all on his cards."""
    cards = (card.email for file in read_cards(call.workspace).values() for card in file.cards)
    own = str(call.settings.get("owner", {}).get("email") or "")
    return frozenset(filter(None, map(_canonical, (*cards, own))))


def is_strangers(passage: Passage, known: frozenset[str], workspace: Workspace) -> bool:
    """Return whether somebody may have written a passage whom the owner has no card of."""
    if passage.kind == "mail":
        if passage.record.startswith(f"{SENT}/"):
            return False
        try:
            return _canonical(read_head(workspace.read(passage.path)).sender) not in known
        except ToolError:
            return True  # gone meanwhile
    return passage.source not in ("file", "device") and _canonical(passage.person) not in known


def is_order_to_say(sentence: str) -> bool:
    """Return whether a sentence speaks to the assistant, or orders somebody to say what stands in it."""
    return _TO_ASSISTANT.search(sentence) is not None or _TO_SAY.search(sentence) is not None


def _canonical(address: str) -> str:
    """Return an address in the one spelling; empty for what is none."""
    try:
        return canonical_address(address).casefold()
    except ValueError:
        return ""


# ── Money ─────────────────────────────────────────────────────────────────────────────────────────────────
# Finds amounts of money in texts, and writes them.
#
# Not covered: amounts in words, currencies without a sign below.

_CODES = "CHF|EUR|GBP|USD|CZK|NOK|SEK|DKK|PLN|CAD|AUD|NZD|JPY"
_MONEY = re.compile(
    rf"(?P<sign>[€£$]|{_CODES})\s?(?P<front>\d{{1,3}}(?:[ ,.’']\d{{3}})*(?:[.,]\d{{1,2}})?|\d+(?:[.,]\d{{1,2}})?)"
    r"(?![\d%])|(?P<back>\d{1,3}(?:[ ,.’']\d{3})*(?:[.,]\d{1,2})?|\d+(?:[.,]\d{1,2})?)\s?(?P<unit>€|£|Kč"
    rf"|{_CODES}|euros?|pounds?|dollars?|kroner|kr)(?!\w)"
)
_CURRENCIES = {"EUR": "€", "GBP": "£", "USD": "$"} | {"euro": "€", "pound": "£", "dollar": "$"}
_CURRENCIES |= {"kroner": "kr", "Kč": "CZK"}


MOST_DIGITS = 12
"""Most digits of an amount: a longer number is none."""
WHOLE = re.compile(r"\b(?:total|amount due|to pay|payable)\b", re.IGNORECASE)
"""Says that an amount is the whole of what is owed."""


def money_in(text: str) -> list[tuple[float, str, int]]:
    """Find amounts of money: value, currency, and where each begins."""
    found = []
    for match in _MONEY.finditer(text):
        if sum(map(str.isdigit, match.group())) > MOST_DIGITS:
            continue
        sign = match["sign"] or match["unit"]
        currency = _CURRENCIES.get(sign, _CURRENCIES.get(sign.casefold().removesuffix("s"), sign))
        found.append((_number(match["front"] or match["back"]), currency, match.start()))
    return found


def _number(text: str) -> float:
    """Read `1,234.50`, `1.234,50`, `1 234`, `12,40`: a last mark before one or two digits is the decimal one."""
    decimal = re.search(r"[.,](\d{1,2})\Z", text)
    whole = re.sub(r"\D", "", text[: decimal.start()] if decimal else text)
    return float(f"{whole}.{decimal[1]}" if decimal else whole)


def number_in(cell: str) -> float:
    """Return the number that a cell of a table holds, `1,234.50` or `1.234,50` or `12,40`; 0 without one."""
    digits = re.sub(r"[^\d.,-]", "", cell).strip(".,")
    is_decimal = re.search(r",\d{1,2}\Z", digits) is not None
    digits = digits.replace(".", "").replace(",", ".") if is_decimal else digits.replace(",", "")
    return float(digits) if digits.strip(".-") else 0.0


def number_text(value: float) -> str:
    """Write a number: `1,600`, `3.5`."""
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def money_text(value: float, currency: str) -> str:
    """Write an amount: `£187.50`."""
    return f"{currency}{value:,.2f}" if len(currency) == 1 else f"{value:,.2f} {currency}".strip()


# ── Answer reading ────────────────────────────────────────────────────────────────────────────────────────
# Reads passages for the answer to a question: the words that say it, yes or no, and how likely it stands there at
# all.
#
# The trained reader (`models.span_extractor`, with the adapter `READER_FILE`) reads the question and one passage
# together. What it says of each passage is weighed with how the passage was found (`SIGNS`) by weights fitted on
# questions of homes and of pieces that are not trained on (`data/passage_weights.json`, made by `python -m
# hearth_bench.measure.memory.passage_weights`): so an answer carries the probability that it is one.
#
# Not covered: answers that several passages give together, sums and counts (`record_answers`), other languages.

READER_FILE = "answer_reader.npz"
N_READ = 8
"""Most passages that are read for one question; some 20 ms each."""
_LEAST_SETTLED = 0.7
"""From this probability on an answer that speaks of most that is asked settles it."""
_MOST_SPOKEN = 0.6
_WITHOUT_LISTS = frozenset({"mail", "document", "event"})
"""Kinds of records in which only rows with bars are looked at as tables."""
N_BESIDE_MAILS = 2
"""Most passages of other kinds that are read beside mails alone."""
N_MOST_TOKENS = 40
SIGNS = ("bias", "margin", "span", "spread", "covered", "sentence", "unnamed", "cosine", "words", "event", "lead")
"""What is weighed: see `_signs`."""
ORDER_SIGNS = ("words", "cosine", "covered")
"""By what passages are ordered before they are read: see `order_signs`."""
MOST_UNNAMED = 3
_LEAST_WORDS = math.log(1 / 2)
"""Log-probability from which on words are told alone."""
LEAST_SURE_YES = 0.95
"""From this probability on yes or no is said, where the reader has it of the passage and of the told sentence alone."""
_LEAVES_CHOICE = re.compile(r"\bor\b(?! not\b)", re.IGNORECASE)
_LIMITS = re.compile(
    r"\b(?:no|not|none|nobody|nothing|never|neither|nor|cannot|without|unless|except|only|hardly|instead|if|whether|but"
    r"|may|might|could|would|should|maybe|perhaps|probably|hopefully)\b|n['’]?t\b|\?",
    re.IGNORECASE,
)
"""Says that something is not so, or not wholly or surely."""
_MOST_SHARED = 0.67
"""Of sentences that answer yes or no, one that holds more than this share of the question's words counts before the
reader's own."""
_FAR = 12.0
_NAME = re.compile(r"(?<!^)\b(?:[A-Z][\w'-]*|\d[\d.,]*)\b")
_YES_OR_NO = re.compile(
    r"\s*(?:is|are|am|was|were|do|does|did|has|have|had|can|could|will|would|should|may|might|must|isn't|aren't|doesn't"
    r"|don't|didn't|won't|hasn't|haven't)\b",
    re.IGNORECASE,
)


_NUMBERS = (
    r"\d|\b(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|hundred|thousand|half|none|no)\b"
)
_MONTHS = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DAYS = rf"\b{_MONTHS}\b|day\b|\d:\d\d"
_CLOCK = (
    r"\b\d{1,2}[:.]\d\d\b|\b\d{1,2} ?(?:am|pm)\b|\b(?:noon|midday|midnight|half|quarter|o['’ ]?clock|morning|lunch\w*"
    r"|afternoon|evening|night|dawn|dusk|sun(?:rise|set))\b|\A(?:at |from |about |around |by |till |until )?"
    r"(?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?: ?(?:to|till|until|-|–) ?\d{1,2})?\Z"
)
_NO_MONEY = r"(?!.*(?:[€£$] ?\d|\d ?(?:€|£|kr\b|euros?\b|pounds?\b|dollars?\b)))"
_ASKS_HOURS = re.compile(
    r"\s*(?:when|(?:at )?what times?|(?:un)?till? (?:when|what time)|from when|how late|what (?:are|is)|how long)\b"
    r".*\b(?:open|opens|opening|close|closes|closed|shut|shuts|hours)\b",
    re.IGNORECASE,
)
"""Asks for the hours at which something is open."""
_TIMES = (
    rf"\A(?!.*\d{{5}}){_NO_MONEY}.*(?:\d|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat"
    r"|sun|today|tomorrow|yesterday|noon|midnight|morning|evening|afternoon|night|spring|summer|autumn|winter|christmas"
    r"|easter|week|month|year|day|centur|after|before|when|during|while|until|since))"
)
_IN = r"\s*(?:(?:on|in|at|by|until|till|since|from|for|of|after|to) )?"
_PRICES = r"(?:did|does|do|is|are|was|were|will|would|should|can|have|has|money|rent|cost|deposit|interest|tax)\b"
_NO_MEASURE = (
    r"(?<![\d.,])\d+(?:[.,]\d+)*(?![\d.,]*\s?(?:lit\w+|l|kg|g|lbs?|oz|km|k?m|cm|mm|inch\w*|feet|ft|miles?|hours?|hrs?"
    r"|min\w*|days?|weeks?|months?|years?|people|persons?|pieces?|kwh|watts?|degrees|ml)\b|[\d.,]*\s?[%°])"
)
"""A number of nothing that is measured: a price, if it is one."""
_NEEDED = tuple(
    (re.compile(_IN + asks, re.IGNORECASE), re.compile(form, re.IGNORECASE))
    for asks, form in (
        (
            r"how much (?:did|does|do|is|are|was|were|will|would|should|could|can|money)\b"
            r"|what.*\b(?:cost|price|total|amount|fee|salary)\b|what (?:do|does|did) (?:i|we) (?:still )?owe\b",
            rf"\A(?!.*(?:{_DAYS}))(?:.*(?<![A-Za-z\d])(?!(?:19|20)\d\d(?!\d|[.,]\d)){_NO_MEASURE}|.*\bfree\b)",
        ),
        (
            rf"how much (?!{_PRICES})\w+ (?:do|does|did|is|are|have|has|had|will|would|should|can|must)\b",
            rf"\A(?!.*[€£$]).*(?:{_NUMBERS})",
        ),
        (r"how (?:much|often)\b", _NUMBERS + "|all|every|daily|week|month|year|always|never|once|twice"),
        (r"(?:what|which|how much|how high)\b.*\bpressure\b", r"\d\s?(?:bar|psi|kpa)\b"),
        (r"what(?:'s|’s|s| is| was)? .*\baddress\b", r"\A(?!.*@)"),
        (r"who(?:m|se)?\b", r"\A(?!.*@)(?=.*[^\W\d_])"),
        (r"(?:at )?what time\b", _CLOCK),
        (r"(?:when|(?:what|which) (?:date|day|time|year|month))\b", _TIMES),
    )
)
"""What the words that answer must hold, by how the question begins: forms that are worth something on questions nobody
looked at (decision 33)."""
_HEAD_NOUN = re.compile(
    r"\s*(?:what(?:'s|’s|s| is| was| are)? (?:the|my|our|his|her|their|[\w-]+['’]s) (?P<of>[\w -]+?)(?: (?:of|for|from"
    r"|in|at|on) (?P<rest>.*))?|what (?:did|does|has) (?:the|my|our) (?P<who>\w+) (?:say|said|write|written|want"
    r"|think)\b.*|(?:what|which) (?P<kind>\w+) (?:do|does|did|is|was|will|has|have)\b.*)[\s?.!]*",
    re.IGNORECASE,
)
_WHOSE = re.compile(r"\s*what(?:'s|’s|s| is| was)? (?P<whose>[^\W\d_]+)['’]s ", re.IGNORECASE)
_THING_OF = re.compile(
    r"\b(?:when|where|(?:what|which) (?:time|day))\b.*?\b(?!(?:it|that|there|what|who)\b)[^\W\d_]{2,}['’]s "
    r"(?P<thing>[\w-]+(?: [\w-]+)?)",
    re.IGNORECASE,
)
"""Asks when or where something of somebody's is."""
_KIND_OF_CODE = re.compile(
    r"\s*what(?:'s|’s|s| is| was) (?:the|my|our|his|her|their|[\w-]+['’]s) (?P<kind>(?:[\w-]+ ){1,3})?"
    r"(?P<what>number|code|pin|password|reference|iban)\b(?: (?:of|for|to) (?P<of>[^?.!]+))?",
    re.IGNORECASE,
)
_ASKS_CODE = re.compile(
    r"\s*what(?:'s|’s|s| is| was) (?:the|my|our|his|her|their|[\w-]+['’]s) (?:[\w-]+ ){0,3}?"
    r"(?:code|pin|passcode|combination|password)\b",
    re.IGNORECASE,
)
_DECIMAL = re.compile(r"[€£$]?\s?\d+[.,]\d{1,2}")
_PLACE = re.compile(r" (?:in|at|on|near|from|until|since|after|before) ", re.IGNORECASE)
_SECRET = {
    "pin": re.compile(r"\b(?:pins?|passcode|code)\b", re.IGNORECASE),
    "password": re.compile(r"\b(?:pass\w+|pw|pwd|pins?|code|key)\b|:|/", re.IGNORECASE),
    "iban": re.compile(r"\biban\b|\b[A-Z]{2}\d{2}", re.IGNORECASE),
}
"""What must stand beside a secret: one that nothing calls so is some other number."""
_UNSAID = word_set(
    """amount cost day date fee name number price rent size sum time total value colour color kind sort"""
)
"""Nouns that what they name need not stand beside."""
_LEAST_MEANT = 0.4
"""The chance of a name that a pronoun may stand for: it is told, and with doubt."""
_WHEN = re.compile(r"\s*(?:by |until |till |from )?when\b", re.IGNORECASE)
LACKING = 0.4
"""What is left of the probability of an answer from a record that does not name what is asked for."""
ON_A_CARD = key_set(
    "phone number mobile cell email mail address birthday born birth date day year old age turn live work "
    "company employer firm organisation job street city town postcode zip reach call ring contact card details "
    "name full first last surname who whose note home when"
)
"""What a card of an address book tells of somebody."""
_DEED = re.compile(
    r"\s*(?:what|which)(?: \w+){0,3}? (?:would|did|does|do|can|could|should|will|has|have|had)\b"
    r"(?!.*\b(?:date|day|dates|deadline|time|times|month|year|week|when)\b)",
    re.IGNORECASE,
)
"""Asks what somebody does, likes or chose: no mere date answers that."""
_DEED_DONE = re.compile(
    r"\s*(?:and |so |ok |but )?(?:where|what|which \w+|how) (?:do|does|should|shall|can|could|must|will|would|am|are)"
    r" (?:i|we|you|they|people|everyone|everybody) (?:(?:have|need|supposed|meant|allowed|going) to |gonna )?"
    r"(?P<deed>[^\W\d_]{3,})\b",
    re.IGNORECASE,
)
_TURNS_A_THING = re.compile(r"(?:turn|get) (?:it|them|the|my|our)\b.* (?:on|off|up|down|open|out)\b", re.IGNORECASE)
"""Does something to a thing with a verb that else only says where one goes: "turn the water off"."""
_TO_BE_THERE = key_set(
    "go going be being meet meeting have having need see seeing attend come coming get getting turn head arrive do "
    "doing know find call mean want like think say spend pay owe eat"
)
"""Deeds that the record of an event tells of by its place and its time, or that are asked of other things."""
_NAMING = frozenset({"contact", "event", "reminder"})
"""Kinds of records that say what each of their values is; prose says it in other words."""
_WHOLE_DATE = re.compile(
    rf"(?:\b(?:mon|tues|wednes|thurs|fri|satur|sun)day,? )?(?:\b\d{{1,2}}(?:st|nd|rd|th)? {_MONTHS}\b|\b{_MONTHS} "
    r"\d{1,2}\b(?!\d))(?:,? \d{4}\b)?",
    re.IGNORECASE,
)
_CLOCK_TIME = r"(?:\d{1,2}[:.]\d\d(?: ?[ap]m\b)?|\d{1,2} ?[ap]m\b|noon\b|midday\b|midnight\b)"
_WHOLE_MOMENT = re.compile(
    rf"{_WHOLE_DATE.pattern}(?:,|,? (?:at|from)| ·)? {_CLOCK_TIME}(?: ?(?:to|until|till|-|–) ?{_CLOCK_TIME})?"
    rf"|{_CLOCK_TIME},? (?:on )?(?:the )?{_WHOLE_DATE.pattern}",
    re.IGNORECASE,
)
"""A day with its time."""
_WHOLE_HOURS = re.compile(r"\d\d:\d\d to \d\d:\d\d")
"""The hours of an event: its end alone is no answer to when it is."""
_WHOLE_RANGE = re.compile(r"[€£$]\s?\d[\d,.]*\d? ?(?:to|or|-|–) ?[€£$]?\s?\d[\d,]*(?:\.\d+)?")
_WHOLE_NUMBER = re.compile(
    r"(?<![\w.,/-])(?:\+\d{1,3}(?:[ -]?\(?\d{1,6}\)?){2,5}|0\d{2,4}(?:[ -]\d{2,6}){1,4}|\(?\d{3}\)?[ -]\d{3}[ -]\d{4})"
    r"(?![\w/:-]|[.,]\d)"
)
"""A number of several groups, as telephones and accounts have."""
_WHOLE_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:https?://|www\.)[^\s<>|]*[\w/]")
_ASKS_MONEY = re.compile(
    r"\bhow much\b.*\b(?:bill|invoice|rent|fee|fare|pay|paid|cost|owe|charge|price|money)s?\b|\s*how much (?:is|are|was"
    r"|were|will|does|do|did)\b(?!.*\b(?:weigh|eat|drink|sleep|use|need|hold|fit|grow|know|rain|left|time)s?\b)"
    r"|\bwhat\b.*\b(?:price|cost|fee|rent|fare)s?\b|\s*what (?:do|does|did) (?:i|we) (?:still )?owe\b",
    re.IGNORECASE,
)
"""Asks for a sum of money: where a text has any, other numbers in it are no answer."""
_OF_ARRIVING = re.compile(
    r"\b(?:must|should|have to|has to|need to|needs to|do|supposed to) (?:i|we|he|she|they)?\b ?(?:have to |need to )?"
    r"(?:be (?:at|in|on|there|back|ready)|arrive|set off|leave)\b",
    re.IGNORECASE,
)
_HAS_MONEY = re.compile(
    r"[€£$]\s?\d|\b[A-Z]{3}\s?\d|\d\.\d\d(?![\d.])|\d\s?(?:€|£|kr|euros?|pounds?|dollars?|[A-Z]{3})(?!\w)"
)
_INSIDE = re.compile(
    r"[€£$]\0\d|\d(?:[.,:]\0|\0[.,:])\d|\w(?:[.@]\0|\0[.@])\w|\w(?:-\0|\0-)\d"
    r"|\b[^\W\d_](?:-\0|\0-)\w|\w\0\w"
)
"""Matches around a place, marked by a zero, that lies inside one word."""
_JOINED_BEFORE = re.compile(r"\w[\w-]*\Z")
_JOINED_AFTER = re.compile(r"[\w-]*\w")
_LONGEST_CODE = 64
_FULL_STOP = re.compile(r"(?:(?<=[^\W_][^\W_])|(?<=[#%)]))\.\Z")
_BREAK = re.compile(r"[.!?:][^\S\n]*\n|\n[^\S\n]*(?:[-*•·]\s|[^\W\d_][\w '’-]{0,30}:\s)|\n[^\S\n]*\n")
"""Where no answer goes on: a sentence that ends with its line, an item of a list, a line that names its value."""
N_MOST_SPANS = 300


Signs = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the reader says of one passage."""

    candidate: Candidate
    text: str
    """The words that answer; empty: it finds none."""
    start: int
    """Place of the words in `candidate.passage.read`."""
    p_yes: float
    """That the answer is yes rather than no."""
    signs: Signs
    """One number for each of `SIGNS`."""
    chance: float
    """That the passage answers the question, in [0, 1]."""
    is_strangers: bool = False
    """Whether somebody may have written the passage whom the owner has no card of."""
    is_yes: bool | None = None
    """Whether the answer is yes or no, where the reader is sure of it; None: it is not, or something else is asked."""


class AnswerReader:
    """The shipped reader of answers; opened at first use."""

    def __init__(self, cache_dir: Path | None = None) -> None:
        self.cache_dir = cache_dir
        self._reader: SpanReader | None = None

    def read(self, question: str, text: str) -> Answer:
        """Ask the question of a text, whose tables are read with the names of their columns beside each cell.

        Raises: ConfigError, MissingExtraError: The reader cannot be opened.
        """
        if self._reader is None:
            with as_file(files("hearth.data") / READER_FILE) as path:
                self._reader = SpanReader.open(path, self.cache_dir)
        form = Form("answer", (Question(question),))
        headed, places = with_heads(text)
        if headed != text:
            said = self._reader.read(form, headed).answers[0]
            if said.spans.max(initial=0) >= len(headed.rstrip()):  # else the last rows no longer fit
                return _told_of(said, places)
        return self._reader.read(form, text).answers[0]

    def rest(self) -> None:
        """Hand its memory back; the next question opens it again."""
        self._reader = None


def _told_of(said: Answer, places: NDArray[np.int32]) -> Answer:
    """Return what is said of a text as it was, by the places of its characters: words that were added are no answer."""
    first, last = places[said.spans[:, 0]], places[said.spans[:, 1] - 1]
    is_told = (first >= 0) & (last >= 0)
    spans = np.stack([first, last + 1], axis=1)[is_told]
    return replace(said, start=said.start[is_told], end=said.end[is_told], spans=spans)


def asks_deed(question: str) -> bool:
    """Return whether a question asks what somebody does, likes or chose: "what would Maisie like for her birthday"."""
    return _DEED.match(question) is not None


def deed_asked(question: str) -> str:
    """Return the deed for which a question wants a place or a thing: "park" of "where do I park for the meeting"; empty
    where it only asks for the thing itself, as "where do I go for the meeting" does."""
    found = _DEED_DONE.match(question)
    if found is None:
        return ""
    is_of_a_thing = _TURNS_A_THING.match(question, found.start("deed")) is not None
    is_deed = is_of_a_thing or key_of(found["deed"].casefold()) not in _TO_BE_THERE
    return found["deed"].casefold() if is_deed else ""


def asks_code(question: str) -> bool:
    """Return whether a question asks for what opens something: "what's the code for the shed"."""
    return _ASKS_CODE.match(question) is not None


def asks_hours(question: str) -> bool:
    """Return whether a question asks for the hours at which something is open: "till when is the library open"."""
    return _ASKS_HOURS.match(question) is not None


def asks_yes_or_no(question: str) -> bool:
    """Return whether a question is answered by yes or no."""
    return _YES_OR_NO.match(question) is not None


def read_passages(
    question: str,
    candidates: Sequence[Candidate],
    reader: AnswerReader,
    people: People = NOBODY,
    is_own: Callable[[Passage], bool] | None = None,
    is_told: Callable[[Reading], bool] = bool,
) -> list[Reading]:
    """Read the likeliest passages, and return what they say, the likeliest answer first.

    Args:
        people: By whose names lines are told apart that say the same of several.
        is_own: Whether nobody wrote a passage whom the owner does not know. Given it, no passage is read that cannot
            change the answer which one before it surely gives (`_is_beside_the_point`).
        is_told: Whether a reading will be told as it stands; beside one that will not all are read.
    """
    best: Reading | None = None  # the likeliest that is sure and will be told
    chosen = _chosen(ranked(question, candidates))
    most_words = max((one.words for one in chosen), default=0.0)
    readings: list[Reading] = []
    place = 0  # among the passages that say anything of what is asked for, and do not only ask it
    for one in chosen:
        if is_own is not None and best is not None and _is_beside_the_point(question, one, best, is_own):
            continue
        share = one.words / most_words if most_words else 0.0
        readings.append(_read(worded_for(question, one.passage, people), one, reader, people, (share, place)))
        if readings[-1].chance >= max(_LEAST_SETTLED, best.chance if best else 0.0) and is_told(readings[-1]):
            best = readings[-1]
        text, start = readings[-1].text, readings[-1].start
        place += bool(text) and not sentence_at(one.passage.read, start).endswith("?")
    return sorted(readings, key=lambda reading: -reading.chance)


def _is_beside_the_point(question: str, one: Candidate, best: Reading, is_own: Callable[[Passage], bool]) -> bool:
    """Return whether a passage need not be read beside a sure answer whose passage holds most of the question's words:
    it holds fewer, so it is no rival, and is no table, nothing of the same series, and no more the owner's own.

    Of 300 questions of six homes 59 had such passages, 305 of 1,729 that were read, and none was likelier.
    """
    passage, first = one.passage, best.candidate.passage
    spoken = covered(question, first.read)
    return (
        not asks_yes_or_no(question)  # another passage may say the contrary
        and spoken >= _MOST_SPOKEN
        and covered(question, passage.read) < spoken
        and passage.kind in _WITHOUT_LISTS
        and "|" not in passage.text
        and (passage.kind, passage.person) != (first.kind, first.person)
        and (is_own(first) or not is_own(passage))
    )


def _chosen(likeliest: Sequence[Candidate]) -> list[Candidate]:
    """Return the passages that are read: the likeliest, and where those are all mails, the likeliest of other kinds,
    too, which no number of mails can push aside."""
    first = list(likeliest[:N_READ])
    if any(one.passage.kind != "mail" for one in first):
        return first
    return first + [one for one in likeliest[N_READ:] if one.passage.kind != "mail"][:N_BESIDE_MAILS]


def _read(question: str, one: Candidate, reader: AnswerReader, people: People, rank: tuple[float, int]) -> Reading:
    """Read one passage.

    Args:
        rank: Its words against the best found, and its place in order.
    """
    passage = one.passage
    said = reader.read(question, passage.read)
    of_others = lines_of_others(question, passage, people)
    had = _had(question)
    (text, start, score), most = (
        _span_that_has(had, question, said, passage, of_others)
        if had
        else (_span(question, said, passage, of_others), 1.0)
    )
    if asks_yes_or_no(question):
        start = _nearest_sentence(question, passage, start)
    signs = _signs(question, one, said, (start, score), rank)
    p_yes = _p_yes(said)
    chance = chance_of(signs)
    if asks_yes_or_no(question) and chance < (least := float(fitted("passage_weights")["least_yes_or_no"])):
        chance *= least_chance() / least
    chance = _left_without_noun(chance * LACKING if most == LACKING else min(chance, most), question, passage)
    if of_others and not text:
        chance = 0.0
    # An event says when it begins, and not when one is to be there.
    if is_without(question, passage, people) or (passage.kind == "event" and _OF_ARRIVING.search(question)):
        chance *= LACKING
    if passage.kind == "contact" and asks_beyond_card(question, passage.read):
        chance *= LACKING
    if text and re.match(r"\s*who(?:m|se)?\b", question, re.IGNORECASE):
        text, start, chance = _person_meant(question, passage, text, start, chance)
    is_told = asks_yes_or_no(question) and chance >= least_chance()
    is_yes = _is_surely_yes(question, passage, start, p_yes, reader) if is_told else None
    return Reading(one, text, start, p_yes, signs, chance, is_yes=is_yes)


_WHICH_HAS = re.compile(
    r"\s*(?:so |and )?(?:which|what|who)\b(?! (?:do|does|did|am|are we|am i)\b)[^?]*?"
    r"\b(?:has|have|got|contains?|containing|includes?"
    r"|made (?:with|of|from)|comes? with|allergic to)"
    r"(?! (?:i|we|you|they|he|she|it|to|been|the)\b)\s+(?P<what>[^?]+)",
    re.IGNORECASE,
)
"""Asks which of several has something: "which bread has hazelnuts in it", "who is allergic to nuts"."""
_REFERS = re.compile(r"\b(?:it|its|he|she|they|them|this|that|these|those|ones?|both|each)\b", re.IGNORECASE)


def _had(question: str) -> set[str]:
    """Return the keys of what the thing has that is asked for; empty where nothing such is."""
    asked = _WHICH_HAS.match(question)
    return keys_of(asked["what"]) if asked is not None and not asked["what"][0].isupper() else set()


def _span_that_has(
    had: Set[str], question: str, said: Answer, passage: Passage, of_others: Sequence[tuple[int, int]]
) -> tuple[tuple[str, int, float], float]:
    """Return the words of a sentence that says any of what is asked which thing has, and the largest chance of an
    answer: "walnuts in the rye" is no bread with hazelnuts. A sentence that refers to another is taken to."""
    text, start, score = _span(question, said, passage, of_others)
    sentence = sentence_at(passage.read, start)
    if not had.isdisjoint(keys_of(f"{passage.title} {sentence}")) or _REFERS.search(sentence) is not None:
        return (_within_sentence(text, passage, start), start, score), 1.0
    without = [one.span() for one in SENTENCE.finditer(unwrapped(passage.read)) if had.isdisjoint(keys_of(one.group()))]
    if had.isdisjoint(keys_of(passage.read)):
        return (text, start, score), LACKING
    again, begins, likely = _span(question, said, passage, (*of_others, *without))
    if not again:
        return (text, start, score), DOUBTED
    return (_within_sentence(again, passage, begins), begins, likely), 1.0


def _within_sentence(text: str, passage: Passage, start: int) -> str:
    """Return the words of an answer up to the end of the sentence in which they begin."""
    flowing = unwrapped(passage.read)
    found = next((one for one in SENTENCE.finditer(flowing) if one.start() <= start < one.end()), None)
    return text[: found.end() - start].rstrip(" .") if found is not None and found.end() - start < len(text) else text


def _p_yes(said: Answer) -> float:
    kinds = np.exp(said.kinds)
    return float(kinds[YES] / max(1e-9, kinds[YES] + kinds[NO]))


def _is_surely_yes(question: str, passage: Passage, start: int, p_yes: float, reader: AnswerReader) -> bool | None:
    """Return whether the answer is yes or no, where the told sentence alone says the same as the passage; else None.

    By the passage alone the reader is wrong in one of eight cases that it is as sure of: it goes by other lines, too. A
    sentence that affirms all words of the question need only be likelier to say yes than no.
    """
    sentence = sentence_at(passage.read, start)
    if sentence.endswith("?") or _LEAVES_CHOICE.search(question):
        return None
    is_affirmed = keys_of(question) <= keys_of(sentence) and not _LIMITS.search(f"{question} {sentence}")
    least = 1 / 2 if is_affirmed and p_yes > 1 / 2 else LEAST_SURE_YES
    if max(p_yes, 1 - p_yes) < least:
        return None
    p_alone = _p_yes(reader.read(question, f"{passage.title}\n{sentence}" if passage.title else sentence))
    sure = min(p_yes, p_alone) if p_yes > 1 / 2 else min(1 - p_yes, 1 - p_alone)
    return p_yes > 1 / 2 if sure > 1 / 2 and sure >= least else None


def _left_without_noun(chance: float, question: str, passage: Passage) -> float:
    """Return what is left of the probability of an answer where a passage names nothing like what is asked for."""
    if passage.kind == "event" and (deed := deed_asked(question)) and key_of(deed) not in keys_of(passage.read):
        chance = min(chance, DOUBTED)  # where it takes place is not where to park for it
    if passage.kind == "event" and lacks_thing(question, passage.read):
        return chance * LACKING
    if not lacks_noun(question, passage.read):
        return chance
    if passage.kind in _NAMING:
        return chance * (LACKING**2 if passage.kind == "contact" else LACKING)  # a card names all that it tells
    return min(chance, DOUBTED) if _WHOSE.match(question) else chance


def _person_meant(question: str, passage: Passage, text: str, start: int, chance: float) -> tuple[str, int, float]:
    """Return who answers, where that is told, and how likely: a pronoun is who it stands for, or else its sentence."""
    who = who_told(question, passage)
    if who is not None and who.name:
        return who.name, who.start, chance if who.is_sure else min(max(chance, _LEAST_MEANT), DOUBTED)
    is_my = re.search(r"\bmy\s+\Z", f"{passage.read[max(0, start - 4) : start]}{text[:3]}", re.IGNORECASE) is not None
    # "The spout" is nobody's: whose it is, is the writer's, who says "I".
    is_thing = re.match(r"\s*whose\b", question, re.IGNORECASE) is not None and not is_my and text == text.lower()
    is_of_writer = (
        _WRITER_LEADS.match(text) is not None
        or (is_my and len(text.split()) > _MOST_OF_WRITER)
        or (is_thing and _OF_WRITER.search(sentence_at(passage.read, start)) is not None)
    )
    if who is None and is_of_writer and _is_received(passage) and passage.person:
        return passage.person, start, min(chance, DOUBTED)
    if who is not None or is_pronoun(text) or _is_of_another_clause(question, passage, start):
        place = who.start if who is not None else start
        return sentence_at(passage.read, place) or text, place, min(chance, DOUBTED)
    return of_the_writer(text, passage.read[max(0, start - 4) : start], passage), start, chance


def _nearest_sentence(question: str, passage: Passage, start: int) -> int:
    """Return where the sentence begins that says most of the question's words, if it says most of them all; else
    `start`: of 198 such answers over pieces the reader's own sentence was right for 183, the one of most words for 171.
    """
    text = unwrapped(passage.read)
    best, most = start, covered(question, sentence_at(passage.read, start))
    for found in SENTENCE.finditer(text, len(text) - len(passage.text)):
        if (share := covered(question, found.group())) > most:
            best, most = found.start() + len(found.group()) - len(found.group().lstrip()), share
    told = f"{passage.title} {passage.person} {sentence_at(passage.read, best)}"
    return best if covered(question, told) > _MOST_SHARED else start


def ranked(question: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Order passages by how likely they are to answer, by weights fitted on questions over pieces of homes."""
    weights = [float(fitted("passage_weights")["retrieval"][name]) for name in ORDER_SIGNS]
    scores = [
        sum(weight * sign for weight, sign in zip(weights, signs, strict=True))
        for signs in order_signs(question, candidates)
    ]
    order = sorted(range(len(candidates)), key=lambda k: (-scores[k], candidates[k].passage.number))
    return [candidates[k] for k in order]


def order_signs(question: str, candidates: Sequence[Candidate]) -> list[tuple[float, float, float]]:
    """Return by what passages are ordered (`ORDER_SIGNS`): their words against the best found, their likeness of
    meaning, the share of the question's words that they hold."""
    most = max((one.words for one in candidates), default=0.0) or 1.0
    return [(one.words / most, one.cosine, covered(question, one.passage.read)) for one in candidates]


def covered(question: str, text: str) -> float:
    """The share of the question's content words that a text holds, by their beginnings."""
    asked = keys_of(question)
    return len(asked & keys_of(text)) / max(1, len(asked))


def _span(
    question: str, said: Answer, passage: Passage, of_others: Sequence[tuple[int, int]]
) -> tuple[str, int, float]:
    """Return the likeliest run of words behind the title that can be what is asked for, its place, and its
    log-probability; nothing where there is none."""
    text = passage.read
    is_said = said.spans[:, 0] >= len(text) - len(passage.text)
    n = len(said.spans)
    if not is_said.any():
        return "", 0, -_FAR
    scores = said.start[:, None] + said.end[None, :]
    length = np.arange(n)[None, :] - np.arange(n)[:, None]
    scores = np.where((length >= 0) & (length < N_MOST_TOKENS) & is_said[:, None], scores, -np.inf)
    if passage.kind in _NAMING and _ASKS_MONEY.search(question) is not None and not money_in(text):
        return "", 0, -_FAR  # the digits of an event are its times
    fitting = _Fitting.of(question, passage, of_others)
    for place in np.argsort(-scores, axis=None, kind="stable")[:N_MOST_SPANS]:
        first, last = np.unravel_index(int(place), scores.shape)
        if not np.isfinite(scores[first, last]):
            continue
        whole = fitting.whole(int(said.spans[first, 0]), int(said.spans[last, 1]))
        if whole is not None:
            start, end = whole
            if _ASKS_SEVERAL.match(question) and (rest := _MORE_ITEMS.match(text, end)) is not None:
                end = rest.end()  # "amlodipine" of "morning: amlodipine, aspirin"
            return _FULL_STOP.sub("", fitting.flowing[start:end].strip(" |\n")), start, float(scores[first, last])
    return "", 0, -_FAR


_ASKS_SEVERAL = re.compile(
    r"\s*(?:(?:which|what) (?!(?:is|was|does|has|this)\b)(?:\w+ )?\w{2,}[^s\W]s\b"
    r"|what (?:do|does|did|should|must) \w+ (?:still |have to )*(?:need|buy|get|order|take)\b)",
    re.IGNORECASE,
)
_MORE_ITEMS = re.compile(r"(?:[ \t]*(?:,|\+|&|\band\b)[ \t]*[^\s,+&.;|][^,+&.;|\n]{0,40})+(?=\s*(?:[.;|\n]|$))")


_WHERE = re.compile(r"\s*(?:and |so )?where\b", re.IGNORECASE)
_TIME_BEFORE = re.compile(r"\b(?:after|before|during|until|till|since)\s+(?:(?:the|my|our|your)\s+)?\Z", re.IGNORECASE)
"""Stands before what tells when something is, and not where: "after hut duty"."""
_LONGEST_LEAD = 20
_RETRACTS = (
    r"(?:(?:only|just|i['’]m) (?:joking|kidding)|joking|kidding|scratch that|strike that|correction|make (?:that|it)"
    r"|i mean|i meant|that should be|no wait|wait,? no)\b"
)
_TAKEN_BACK = re.compile(
    rf"[\s,.;…(–-]+(?:(?:no|oops|ah|er|sorry|actually|haha|ha)[\s,.!]+)*{_RETRACTS}"
    r"[^.;\n]*?(?:\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b)",
    re.IGNORECASE,
)
"""Takes back what stands before it, and says another value: "£350, no, only joking, £250"."""
_RETRACTED = re.compile(rf"\b{_RETRACTS}", re.IGNORECASE)


def _takes_back(words: str) -> bool:
    """Return whether words take back a number that stands before on their line."""
    digits = ((line, re.search(r"\d", line)) for line in words.split("\n"))
    return any(digit is not None and _RETRACTED.search(line, digit.end()) is not None for line, digit in digits)


@dataclass(frozen=True, slots=True)
class _Fitting:
    """What words of a passage must be like to be an answer to a question."""

    question: str
    text: str
    breaks: Sequence[int]
    """Places that no answer goes across."""
    flowing: str
    """The text with its lines joined where a sentence goes on."""
    needed: re.Pattern[str] | None
    """Matches within every answer to such a question."""
    is_priced: bool
    is_note: bool
    is_event: bool
    of_others: Sequence[tuple[int, int]]
    """Lines of somebody else than who is asked for."""

    @classmethod
    def of(cls, question: str, passage: Passage, of_others: Sequence[tuple[int, int]]) -> _Fitting:
        text, flowing = passage.read, unwrapped(passage.read)
        return cls(
            question,
            text,
            breaks=[found.start() + found.group().index("\n") for found in _BREAK.finditer(flowing)],
            flowing=flowing,
            needed=_needed_by(question),
            is_priced=_ASKS_MONEY.search(question) is not None and bool(money_in(text)),
            is_note=passage.kind == "note",
            is_event=passage.kind == "event",
            of_others=of_others,
        )

    def whole(self, start: int, end: int) -> tuple[int, int] | None:
        """Return where the whole of an answer stands that these words are of; None where they can be of none."""
        end = self._within_line(start, end)
        words = self.flowing[start:end]
        if any(start < one < end for one in self.breaks):
            return None
        if not self._is_in_place(start, end) or not self._is_of_kind(words):
            return None
        moment = (_WHOLE_MOMENT,) if _WHEN.match(self.question) else ()
        hours = (_WHOLE_HOURS,) if self.is_event else ()
        for whole in (_WHOLE_DATE, *moment, *hours, _WHOLE_RANGE, _WHOLE_NUMBER, _WHOLE_ADDRESS):
            start, end = _widened(whole, self.flowing, start, end)
        if self.needed is not None and not (self.needed.search(words) and self.needed.search(self.flowing[start:end])):
            return None
        return start, end

    def _within_line(self, start: int, end: int) -> int:
        """No answer goes on past a line, save where a sentence does; what is jotted down has a matter on each line."""
        line_end = (self.text if self.is_note else self.flowing).find("\n", start, end)
        return line_end if line_end > start else end

    def _is_in_place(self, start: int, end: int) -> bool:
        if "|" in self.text[start:end].strip(" |"):  # an answer stands in one cell of a table
            return False
        if any(first <= start < last for first, last in self.of_others):
            return False
        if _WHERE.match(self.question) and _TIME_BEFORE.search(self.text, max(0, start - _LONGEST_LEAD), start):
            return False
        if _TAKEN_BACK.match(self.text, end) or _takes_back(self.text[start:end]):
            return False
        return not _cuts_word(self.text, start, end)

    def _is_of_kind(self, words: str) -> bool:
        if asks_code(self.question) and _DECIMAL.fullmatch(words.strip()):
            return False
        return (not self.is_priced or _HAS_MONEY.search(words) is not None) and _says_more(words, self.question)


def _needed_by(question: str) -> re.Pattern[str] | None:
    """Return what the words that answer a question must hold; None where they may be anything."""
    return next((form for asks, form in _NEEDED if asks.match(question)), None)


def _cuts_word(text: str, start: int, end: int) -> bool:
    """Return whether a span begins or ends within a number, an address or a code: "85.00" of "£285.00", "otter-42" of
    "otter-42-goose"."""
    return any(
        _INSIDE.search(text[max(0, place - 2) : place] + "\0" + text[place : place + 2]) or _is_in_code(text, place)
        for place in (start, end)
    )


def _is_in_code(text: str, place: int) -> bool:
    """Return whether a place lies at a hyphen or underscore within words that these join, some of which has a digit."""
    before, after = _JOINED_BEFORE.search(text, max(0, place - _LONGEST_CODE), place), _JOINED_AFTER.match(text, place)
    if before is None or after is None or not (before.group()[-1] in "-_" or after.group()[0] in "-_"):
        return False
    return re.search(r"\d", before.group() + after.group()) is not None


def _says_more(words: str, question: str) -> bool:
    """Return whether words say anything that the question does not: "Password" answers no question for a password."""
    said = keys_of(words)
    if not said:  # "one" of "how many buns fit on one tray"
        return not set(words.casefold().split()) <= set(question.casefold().split())
    return not said <= keys_of(question) or asks_yes_or_no(question)


def _widened(whole: re.Pattern[str], text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a span that ends in a date, range or number to all of it: "Thursday" in "Thursday 17 September 2026"."""
    for found in whole.finditer(text):
        if found.start() < end <= found.end():
            return min(start, found.start()), found.end()
    return start, end


def lacks_noun(question: str, text: str) -> bool:
    """Return whether a text names nothing like what is asked for: "salary" in "what is Amund's salary"."""
    found = _HEAD_NOUN.fullmatch(question)
    if found is None:
        return False
    named = found["of"] or found["who"] or found["kind"]
    # "The name of Darren's dog" asks for a dog; other values stand without what they are called.
    words = telling_words(found["rest"] or "") if named == "name" else telling_words(named)
    words = [word for word in words if word not in _UNSAID]
    held = keys_of(text)
    return bool(words) and key_of(words[-1]) not in held


def lacks_thing(question: str, text: str) -> bool:
    """Return whether a text names nothing of what somebody's is asked for: "plane" of "what time is Ana's plane"."""
    found = _THING_OF.search(question)
    things = telling_words(found["thing"]) if found is not None else []
    return bool(things) and not any(keys_of(word) <= keys_of(text) for word in things)


def lacks_kind(question: str, text: str) -> bool:
    """Return whether a text says nothing of the kind of number or code asked for, or of what it is for: "national
    insurance" in "what is my national insurance number" where it has an insurance's."""
    found = _KIND_OF_CODE.match(question)
    if found is None:
        return False
    secret = _SECRET.get(found["what"].casefold())
    if secret is not None and not secret.search(text):
        return True
    held = keys_of(text)
    opened = telling_words(_PLACE.split(found["of"] or "")[0])[-1:]  # the safe of "the code of the shop's safe"
    return any(key_of(word) not in held for word in [*telling_words(found["kind"] or ""), *opened])


def asks_beyond_card(question: str, text: str) -> bool:
    """Return whether a question asks of somebody what no card tells: "what did I lend Greta"."""
    return not keys_of(question) <= keys_of(text) | ON_A_CARD


def _signs(question: str, one: Candidate, said: Answer, span: tuple[int, float], rank: tuple[float, int]) -> Signs:
    """Compute the features by which a reading is weighed.

    How much likelier an answer is than none; how sure the words are, and how spread their beginnings and ends; the
    share of the question's words in the passage and in the answer's sentence; how many of the question's names and
    numbers the passage lacks; its likeness of meaning; its words against the best found; whether it is an event, of
    which a question in its words often asks for something else; whether it was found first.

    Args:
        span: Where the answer begins, and its log-probability.
        rank: The passage's words against the best found, and its place in order.
    """
    text, kinds = one.passage.read, said.kinds
    is_polar = asks_yes_or_no(question)
    # "Did we agree on a date" may be answered by yes or by the date.
    answers = np.logaddexp.reduce([kinds[SPAN], kinds[YES], kinds[NO]]) if is_polar else kinds[SPAN]
    held = text.casefold()
    unnamed = sum(name.casefold() not in held for name in _NAME.findall(question))
    return (
        *(1.0, float(np.clip(answers - kinds[ABSENT], -_FAR, _FAR)), max(-_FAR, span[1])),
        *(_spread(said.start) + _spread(said.end), covered(question, text)),
        *(covered(question, sentence_at(text, span[0])), float(min(MOST_UNNAMED, unnamed))),
        *(one.cosine, rank[0], float(one.passage.kind == "event"), float(rank[1] == 0)),
    )


def _spread(logs: Array) -> float:
    """The entropy of a distribution, from its natural logarithms."""
    return float(-(np.exp(logs) * logs).sum())


def chance_of(signs: Sequence[float]) -> float:
    """The probability that a passage answers, from its signs."""
    weights = fitted("passage_weights")["answers"]
    raw = sum(float(weights[name]) * sign for name, sign in zip(SIGNS, signs, strict=True))
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, raw))))


def chance_if_first(one: Reading) -> float:
    """The probability that a reading answers, were its passage the first that says anything of what is asked for: what
    two passages say is compared by this."""
    raw = chance_of(one.signs) if one.signs else 0.0
    return min(1.0, one.chance * chance_of((*one.signs[:-1], 1.0)) / raw) if raw else one.chance


def is_unsure_of_words(one: Reading) -> bool:
    """Return whether the reader is less than half sure which words of the passage answer."""
    return bool(one.signs) and one.signs[SIGNS.index("span")] < _LEAST_WORDS


def words_chance(one: Reading) -> float:
    """The probability that the words of a reading answer: in a table less than that their passage does, where the
    reader is unsure in which cell."""
    is_cell = "|" in one.candidate.passage.text and is_unsure_of_words(one)
    return one.chance * math.exp(one.signs[SIGNS.index("span")]) if is_cell else one.chance


def least_chance() -> float:
    """The least probability at which an answer is given rather than "I don't know"."""
    return float(fitted("passage_weights")["least_chance"])
