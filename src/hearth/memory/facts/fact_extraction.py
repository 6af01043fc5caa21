"""Extracts facts from what the owner said, without a language model.

A text is read sentence by sentence: questions, quotations, suppositions, wishes, jokes, reports of what others said and
messages for others are left out; the rest is cut into clauses, and each is read by its subject and its verb. Hedges
make a fact less sure; "no longer", "any more" and "I've stopped" end one.

The `confidence` of a fact: 0.95 for a plain statement, times 0.9 for "he", "she" and words for people without a name,
times 0.85 for a place of a thing or a habit, times 0.6 for a hedge ("I think", "probably").

Covered: names, birthdays, ages, homes, work, study, relatives and acquaintances, likes, dislikes, avoidances,
allergies, diets, favourites, preferences, sizes, numbers and codes, where things are, pets, cars, habits, languages,
conditions. Every word of a value occurs in the text, except in dates, which are written one way.
Not covered: languages other than English; what follows from several sentences; irony without a sign of it; a person who
is only described. A missed fact costs a question, an invented one costs trust: the rules prefer to miss.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from hearth import patterns as re
from hearth.memory.facts.fact_rules import (
    BY_PRONOUN,
    KIN_PLURALS,
    KIN_WORDS,
    NAME,
    NO_HABIT,
    NOT_NAMES,
    OF_THINGS,
    OLDER,
    PET_WORDS,
    PLAIN,
    THING,
    WHEN,
    Known,
    Read,
    Subject,
    attributes,
    is_thing,
    names_listed,
    place_of,
    predicates,
    trimmed,
)
from hearth.memory.facts.fact_store import ME, Fact, FactStore, NewFact
from hearth.memory.facts.relations import KIN, OPPOSITES, PETS, PLURALS
from hearth.types import Label

# ── Sentences that state something ────────────────────────────────────────────────────────────────────


HEDGED = 0.6
"""Factor for the confidence of a statement with "I think" or "probably"."""
_QUOTED = re.compile(
    r"\"[^\"]*(?:\"|$)|“[^”]*(?:”|$)|«[^»]*(?:»|$)|(?<!\w)['‘][^'’]{2,}['’](?!\w)|^>.*$|```.*?(?:```|$)", re.M | re.S
)
_SENTENCE_END = re.compile(
    r"(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bSt)(?<!\bProf)(?<!\be\.g)(?<!\bi\.e)([.!?]+)(?=\s|$)|\n+"
)
ASKS = re.compile(
    r"(?:who|whom|whose|what|where|when|why|how|which|do|does|did|is|are|am|was|were|can|could|would|will|shall|should|"
    r"may|might|has|had|have (?:you|i|we|they)|isn't|aren't|wasn't|don't (?:i|you|we|they)|doesn't|didn't|won't|can't|"
    r"couldn't|wouldn't|haven't|hasn't|shouldn't)\b(?!:)",
    re.I,
)
UNREAL = re.compile(
    r"\b(?:if|whether|unless|suppose|supposing|imagine|pretend|pretending|as though|as if|wish|wished|hypothetically|"
    r"were i|in (?:the|a|my|this) (?:story|game|dream|film|movie|novel|book|play|role)|once upon|let's say|dreamt|"
    r"dreamed|used to|lest|otherwise)\b",
    re.I,
)
_JOKES = re.compile(
    r"\b(?:kidding|joking|haha+|lol|yeah,? right|as if|sarcasm|sarcastic|not really)\b|/s\b|[😂🤣😜😉]", re.I
)
_REPORTS = re.compile(
    r"\b(?:says?|said|saying|tells?|told|claims?|claimed|thinks|heard|hears|reckons?|according to|apparently|"
    r"reportedly|allegedly|believes|states?|stated|mentioned|insists|insisted|argues|suggests|assumes|assumed|"
    r"rumou?r|quoted?|writes that|wrote that|wrote)\b",
    re.I,
)
_DOUBTS = re.compile(
    r"(?:i|we) (?:am not sure|are not sure|do not think|do not believe|doubt|do not know|wonder|forgot)\b", re.I
)
_TELLS = re.compile(
    r"(?:please )?(?:tell|text|write|e-?mail|mail|send|message|reply|respond|answer|say|translate|draft|forward|ask|"
    r"search|find|delete|read|quote|post|tweet|dictate|type|summari[sz]e|look|rewrite|correct|proofread|compose|inform|"
    r"let \w+ know)\b",
    re.I,
)
_OPENERS = re.compile(
    r"(?:(?:please )?(?:remember|note|keep in mind|bear in mind|know|be aware)(?: that|:)|(?:please )?don't forget(?: "
    r"that|:)|(?:please )?do not forget(?: that|:)|remind me that|for (?:the record|your information),?|fyi[:,]?|by "
    r"the way,?|just so you know,?|you should know(?: that)?,?|(?:hey|hi|hello|ok|okay|oh|well|so|also|and|but|actually"
    r"|honestly|anyway|please|yes|no|look|listen|hearth)\b[,!]?|to be clear,?|in fact,?|as you know,?|i (?:want|need) "
    r"you to know(?: that)?|did i mention that|turns out(?: that)?|it turns out(?: that)?|the truth is(?: that)?|from "
    r"now on,?|personally,?|generally,?|in general,?)\s+",
    re.I,
)
_HEDGES = re.compile(
    r"(?:(?:i|we) (?:think|guess|believe|suppose|reckon|seem to remember|am pretty sure|am fairly sure)(?: that)?|maybe"
    r"|perhaps|probably|possibly|i might be wrong,? but)\b,?\s+",
    re.I,
)
_SURE = re.compile(r"(?:i|we) (?:know|am sure|am certain|must say|have to say)(?: that)?\s+", re.I)
_HEDGE_INSIDE = re.compile(
    r"\b(?:probably|maybe|perhaps|possibly|might be|i think|i guess|sort of|kind of|supposedly)\s+", re.I
)
_SHORT = re.compile(r"\b(?:(i|you|he|she|we|they)['’](m|re|ve|d|ll)|(he|she|it|that|name)['’](s))\b", re.I)
_IN_FULL = {"m": "am", "re": "are", "ve": "have", "d": "would", "ll": "will", "s": "is"}
_NOT = re.compile(r"\b(?:(?P<can>can['’]?t|cannot)|(?P<will>won['’]t))\b|n['’]t\b", re.I)


def statements(text: str) -> Iterator[tuple[str, float, bool]]:
    """Yield the sentences that state something, with how sure they are; the flag is False if only the people it names
    may be read (a message to be written)."""
    plain = _QUOTED.sub(" … ", text)
    for sentence, end in _sentences(plain):
        is_told = _TELLS.match(sentence) is not None
        if "?" in end or _JOKES.search(sentence) or "…" in sentence[:3]:
            continue
        said, confidence = _opened(sentence)
        if said and not ASKS.match(said) and not UNREAL.search(said) and not _DOUBTS.match(said):
            if is_told or _TELLS.match(said):
                head, colon, _ = said.partition(":")
                yield _SAID_TO.split(head, maxsplit=1)[0], confidence, False
                if colon:
                    return
            elif not _REPORTS.search(said):
                if hedge := _HEDGE_INSIDE.search(said):
                    said, confidence = said[: hedge.start()] + said[hedge.end() :], confidence * HEDGED
                yield said, confidence, True


def _sentences(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    for mark in _SENTENCE_END.finditer(text):
        yield text[at : mark.start()].strip(), mark.group()
        at = mark.end()
    yield text[at:].strip(), ""


def _opened(sentence: str) -> tuple[str, float]:
    """Remove what leads into a sentence ("remember that", "I think"), and write its contractions out."""
    confidence = 1.0
    if ASKS.match(sentence):
        return "", confidence
    sentence = _SHORT.sub(lambda said: f"{said[1] or said[3]} {_IN_FULL[(said[2] or said[4]).lower()]}", sentence)
    sentence = _NOT.sub(lambda said: "can not" if said["can"] else "will not" if said["will"] else " not", sentence)
    sentence = sentence.replace("’", "'")
    while True:
        if found := _OPENERS.match(sentence) or _SURE.match(sentence):
            sentence = sentence[found.end() :]
        elif found := _HEDGES.match(sentence):
            sentence, confidence = sentence[found.end() :], HEDGED
        else:
            return sentence.strip(), confidence


_SAID_TO = re.compile(r"\b(?:that|i|we|it)\b", re.I)


# ── Facts ─────────────────────────────────────────────────────────────────────────────────────────────


MAX_CHARACTERS = 4000
"""Limit on the part of a text that is read: nobody says more at once, and pasted text is not the owner's."""
MAX_LENGTH = 300
_WORD = re.compile(r"\w+")


def facts_in(text: str, now: dt.datetime, known: Known | None = None) -> tuple[Read, ...]:
    """Extract the facts in `text`, said by the owner at `now`; takes any text and never raises."""
    reader = _Reader(now, known or Known())
    words = frozenset(_WORD.findall(text[:MAX_CHARACTERS].casefold()))
    found: dict[tuple[str, str, str], Read] = {}
    for statement, confidence, is_whole in statements(text[:MAX_CHARACTERS]):
        for read in reader.read(statement, is_whole):
            said = replace(read, confidence=round(read.confidence * confidence, 3))
            if len(said.subject) + len(said.value) > MAX_LENGTH:
                continue
            if read.relation == "birthday" or words.issuperset(_WORD.findall(read.value.casefold())):
                found.setdefault((said.subject.casefold(), said.relation, said.value.casefold()), said)
    return tuple(found.values())


_APPOSED = re.compile(rf"\b(?i:my|our) {OLDER}(?P<kin>(?i:{KIN_WORDS}|{PET_WORDS})),? (?P<name>{NAME})(?!['’]s \w+'s)")
_SPLIT = re.compile(
    r"\s*;\s*|,?\s+but\s+|,\s+(?:and|so|because)\s+|\s+because\s+|\s+and\s+(?=(?:i|my|we|our|he|she|they|the)\b)|"
    r"\s+and\s+(?=(?:live|lives|work|works|like|likes|love|loves|hate|hates|enjoy|enjoys|prefer|prefers|study|studies|"
    r"speak|speaks|am|is|have|has|avoid|avoids|dislike|dislikes|refuse|refuses|drive|drives|do not|does not|can not|"
    r"never)\b)|,\s+(?=(?:i|my|we|our)\s)",
    re.I,
)


class _Reader:
    """Reads statements in order; remembers whom the last one was about."""

    def __init__(self, now: dt.datetime, known: Known) -> None:
        self._now = now
        self._known = known
        self._last: Subject | None = None
        self._kin: dict[str, str] = {}

    def read(self, statement: str, is_whole: bool) -> Iterator[Read]:
        """Extract the facts of one statement, in order."""
        for named in _APPOSED.finditer(statement):
            if named["name"].split()[0].casefold() not in NOT_NAMES:
                yield self._has(named["kin"], named["name"])
        subject: Subject | None = None
        for clause in _SPLIT.split(statement) if is_whole else ():
            found, subject = self._clause(clause.strip(" ,"), subject)
            yield from found

    def _has(self, word: str, name: str) -> Read:
        """Read that the owner has someone (or a pet) of that name."""
        low = word.casefold()
        relation = KIN.get(low, low)
        full = name.strip(" .,")
        full = full if low in PETS else self._known.person(full)
        self._kin[relation] = full
        self._last = Subject(full)
        return Read(ME, relation, full)

    def _person(self, name: str) -> Subject:
        self._last = Subject(self._known.person(name))
        return self._last

    def _relative(self, word: str) -> Subject:
        low = word.casefold()
        name = self._kin.get(KIN.get(low, low)) or self._known.relative(low)
        self._last = Subject(name, confidence=1.0 if name != low else BY_PRONOUN)
        return self._last

    def _clause(self, clause: str, before: Subject | None) -> tuple[list[Read], Subject | None]:
        if UNREAL.search(clause) or ASKS.match(clause):
            return [], None
        if whole := list(self._whole(clause)):
            return whole, before
        subject, rest = self._subject(clause)
        if subject is None and before is not None and _BARE_VERB.match(clause):
            subject, rest = before, clause
        if subject is None:
            return [], None
        found = [
            replace(read, confidence=read.confidence * subject.confidence)
            for read in predicates(subject, rest, self._now, self._known)
        ]
        return found, subject

    def _subject(self, clause: str) -> tuple[Subject | None, str]:
        """Find the subject of a clause, and the rest of it from its verb on."""
        if (found := _I.match(clause)) is not None:
            return Subject(ME), clause[found.end() :]
        if (found := _MY_KIN.match(clause)) is not None:
            if found["name"] and found["name"].split()[0].casefold() not in NOT_NAMES:
                return self._person(found["name"].strip(" .,")), clause[found.end() :]
            if not found["name"]:
                return self._relative(found["kin"]), clause[found.end() :]
        if (found := _HE.match(clause)) is not None:
            last = self._last
            return (replace(last, confidence=BY_PRONOUN) if last else None), clause[found.end() :]
        if (found := _SOMEONE.match(clause)) is not None and found["name"].split()[0].casefold() not in NOT_NAMES:
            low = found["name"].casefold()
            return (self._relative(low) if low in KIN else self._person(found["name"])), clause[found.end() :]
        return None, clause

    def _whole(self, clause: str) -> Iterator[Read]:
        """Read a clause as a whole: who someone is, whose birthday it is, where a thing is."""
        if (found := _CALL_ME.fullmatch(clause)) is not None:
            if found["name"].casefold() not in NOT_NAMES:
                yield Read(ME, "called", found["name"])
        elif (found := _IS_MY.fullmatch(clause)) is not None:
            if found["name"].split()[0].casefold() not in NOT_NAMES:
                yield self._has(found["kin"], found["name"])
        elif (found := _MY_IS.fullmatch(clause)) is not None:
            for name in names_listed(found["names"]):
                if name.split()[0].casefold() not in NOT_NAMES:
                    yield self._has(_singular(found["kin"].casefold()), name)
        elif attribute := list(self._attribute(clause)):
            yield from attribute
        elif (found := _HABIT_FIRST.fullmatch(clause)) is not None and not NO_HABIT.match(found["what"]):
            yield Read(ME, "habit", f"{trimmed(found['what'])} {found['when']}", PLAIN * OF_THINGS)
        elif (found := THING.fullmatch(clause)) is not None and is_thing(found["what"]):
            where = place_of(found["where"])
            if where:
                yield Read(found["what"], "located at", where, PLAIN * OF_THINGS)

    def _attribute(self, clause: str) -> Iterator[Read]:
        found = _ATTRIBUTE.fullmatch(clause)
        owner = self._owner(found["owner"]) if found is not None else None
        if found is not None and owner is not None:
            yield from attributes(owner, found["what"], found["value"], self._now, self._known)

    def _owner(self, said: str) -> Subject | None:
        low = said.casefold()
        if low in ("my", "our", "the"):
            return Subject(ME)
        if low in ("his", "her", "their"):
            return self._last and replace(self._last, confidence=BY_PRONOUN)
        name = re.sub(r"['’]s?$", "", said)
        kin = re.fullmatch(rf"(?:my|our) {OLDER}(?P<kin>{KIN_WORDS})(?:,? (?P<name>{NAME}))?", name, re.I)
        if kin is not None:
            return self._person(kin["name"]) if kin["name"] and kin["name"][0].isupper() else self._relative(kin["kin"])
        if name.casefold() in KIN:
            return self._relative(name)
        return self._person(name) if name[:1].isupper() and name.split()[0].casefold() not in NOT_NAMES else None


_I = re.compile(r"(?:i|we)\s+", re.I)
_HE = re.compile(r"(?:he|she|they)\s+", re.I)
_MY_KIN = re.compile(rf"(?i:my|our) {OLDER}(?P<kin>(?i:{KIN_WORDS}))(?:,? (?P<name>{NAME}),?)? (?=[a-z])")
_SOMEONE = re.compile(rf"(?P<name>{NAME}|(?i:mum|mom|dad|mama|papa|grandma|grandpa|granny)) (?=[a-z])")
_CALL_ME = re.compile(
    r"(?i:(?:(?:my )?(?:people|everyone|everybody|friends|colleagues|they|you can|you may) )?(?:all )?(?:just )?calls? "
    rf"me) (?P<name>{NAME})(?i: instead| please| from now on)?"
)
_IS_MY = re.compile(rf"(?P<name>{NAME}) is (?i:my|our) {OLDER}(?P<kin>(?i:{KIN_WORDS}))")
_MY_IS = re.compile(
    rf"(?i:my|our) {OLDER}(?P<kin>(?i:{KIN_PLURALS}|{KIN_WORDS}|(?:{PET_WORDS})s?))(?:'s names?|s' names)? (?:is|are)"
    rf"(?: called| named)? (?P<names>{NAME}(?:(?:, (?:and )?| and ){NAME})*)"
)
_ATTRIBUTE = re.compile(
    r"(?P<owner>(?i:my|our|his|her|their)|(?i:the)(?= [a-z -]*(?:code|password|pin|combination) is )|(?:(?i:my|our) "
    rf"{OLDER}(?i:{KIN_WORDS})(?:,? {NAME})?|{NAME}|(?i:mum|mom|dad|grandma|grandpa))'s?) "
    r"(?P<what>[a-z][a-z -]{2,40}?) (?:is|are|=|falls|is always|is now|is still) (?:on |still |now )?(?:spelled |spelt "
    r"|written |called )?(?P<value>.+)"
)
_HABIT_FIRST = re.compile(rf"(?P<when>{WHEN}),? (?:i|we) (?:always |usually |often )*(?P<what>[a-z].+)", re.I)
_BARE_VERB = re.compile(
    r"(?:lives?|works?|likes?|loves?|hates?|enjoys?|prefers?|study|studies|speaks?|am|is|have|has|avoids?|dislikes?"
    r"|refuses?|drives?|do not|does not|can not|never)\b",
    re.I,
)


def _singular(word: str) -> str:
    if word.endswith("s") and word[:-1] in PETS:
        return word[:-1]
    return PLURALS.get(word, word)


# ── From an event to facts that are held, or proposed ─────────────────────────────────────────────────────

NEVER_READ = frozenset({"answer", "recalled", "digest", "summary"})
"""Kinds of events that hold what Hearth itself said: nothing is learnt from its own words."""
ASKED = "asked"
"""Kind of a request that only asked for something, and states nothing."""
NEVER_FOUND = frozenset({"answer", "recalled", ASKED})
"""Kinds of events that repeat memory itself or only ask: these are not found. Summaries are."""
LEAST_BELIEVED = 0.5
"""Facts with less confidence are only proposed, and wait for the owner's confirmation."""


@dataclass(frozen=True, slots=True)
class Told:
    """A text as an event holds it."""

    id: str
    text: str
    kind: str
    at: dt.datetime
    label: Label
    person: str = ""
    """Name of the person who said it; empty for the owner."""


def learn_from(facts: FactStore, told: Told, known: Known | None = None) -> tuple[Fact, ...]:
    """Learn facts from what was told: believe the owner's, propose anyone else's. Return those added or confirmed.

    "I" in another's words means that person; another's words end no fact. Kinds in `NEVER_READ` give nothing.
    """
    if told.kind in NEVER_READ:
        return ()
    known = known or Known()
    return hold(facts, told, facts_in(told.text, told.at, known), known)


def hold(
    facts: FactStore, told: Told, reads: Iterable[Read], known: Known, *, by: Label | None = None
) -> tuple[Fact, ...]:
    """Add the facts read in what was told, as believed or proposed.

    Args:
        by: Label of the reader, if it was not these rules: it lowers the trust in the fact.
    """
    is_owner = told.label.is_trusted and not told.person
    added: list[Fact] = []
    for read in reads:
        if not is_owner:
            if read.is_over or (read.subject == ME and not told.person):
                continue
            read = replace(read, subject=known.person(told.person) if read.subject == ME else read.subject)
        if read.is_over:
            _end(facts, read, told.at)
            continue
        label = told.label if not told.person or not told.label.is_trusted else _BY_OTHERS
        reason = f"{told.person} said so" if told.person else "you said so"
        if by is not None:
            label, reason = label.join(by), f"a language model read it in what {told.person or 'you'} said"
        new = NewFact(
            *(read.subject, read.relation, read.value, read.since, None, read.confidence, label, (told.id,)),
            reason=reason,
        )
        added.append(facts.add(new, told.at, is_proposed=read.confidence < LEAST_BELIEVED))
        if is_owner and added[-1].is_believed and by is None:
            _end_opposites(facts, read, told.at)
    return tuple(added)


_BY_OTHERS = Label(frozenset({"message"}), frozenset())


def _end(facts: FactStore, read: Read, now: dt.datetime) -> None:
    """End matching facts of that subject and relation: "the Volvo" ends "red Volvo V60"."""
    words = frozenset(_WORD.findall(read.value.casefold()))
    for fact in facts.believed(read.subject, read.relation):
        if words <= frozenset(_WORD.findall(fact.value.casefold())):
            facts.end(fact.id, _after(fact, now), now)


def _after(fact: Fact, now: dt.datetime) -> dt.datetime:
    """Return when a fact that ends now ends: never before it began."""
    return now if fact.since is None or fact.since < now else fact.since + dt.timedelta(seconds=1)


def _end_opposites(facts: FactStore, read: Read, now: dt.datetime) -> None:
    """End the opposites of a new fact: a dislike ends a like, and "coffee to tea" ends "tea to coffee"."""
    for relation in OPPOSITES.get(read.relation, ()):
        _end(facts, replace(read, relation=relation), now)
    if read.relation == "prefers":
        for fact in facts.believed(read.subject, "prefers"):
            there, here = (
                re.split(r" (?:to|over|than|rather than) ", text.casefold()) for text in (fact.value, read.value)
            )
            if len(here) == len(there) == 2 and here == there[::-1]:
                facts.end(fact.id, _after(fact, now), now)


def known_from(facts: FactStore, people: Iterable[Sequence[str]] = (), *, is_month_first: bool = False) -> Known:
    """Collect the people the owner knows.

    Args:
        people: For each contact the full name, followed by its other names.
    """
    names: dict[str, set[str]] = {}
    for full, *others in people:
        for name in (full, *others):
            names.setdefault(name.casefold(), set()).add(full)
    kin: dict[str, list[str]] = {}
    for fact in facts.believed(ME):
        if fact.relation in KIN.values():
            kin.setdefault(fact.relation, []).append(fact.value)
    return Known(
        {name: tuple(sorted(full)) for name, full in names.items()},
        {relation: tuple(values) for relation, values in kin.items()},
        is_month_first,
    )
