"""Join the cloud's general answer with what this device knows of its owner: filter by rules, re-rank, name the sources.

Nothing here sends or stores; `redaction` says what of a question may leave. The rules (`RULES`) are tried in order on
each proposed thing; the first that excludes it decides, the others move it up or down. Facts of health are strict: what
holds an allergen, or usually does, is left out unless it is said to be free of it. Where nobody said what is in it, the
answer says so and it comes last; where nobody declared what it holds, the answer says that, too. The cloud is asked to
declare it of every food, whoever asks. Preferences, place and time only move things.

Covered: allergies, diets, conditions, what is avoided, liked and disliked, of the owner and of those the question
names; the owner's place; free time; the cloud's own sentences (those that praise what was left out are left out).
Not covered: what the cloud does not say and no table knows; amounts, cross-contamination; languages but English. It is
advice, not medicine: the answer says to check the packet where an allergy counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hearth.edge.answers.food_ontology import (
    CALLED,
    CONDITIONS,
    FAMILIES,
    FOOD_WORDS,
    NO_INGREDIENT,
    NOT_WHAT_IT_SAYS,
    USUALLY,
    family_of,
    is_adjective,
    left_out_by,
    stems_of,
    terms_of,
)
from hearth.formats.edge_protocol import AnswerGiven, Item
from hearth.language.text.normalize import folded, stem

YOU = "you"
LIKED, DISLIKED, NEAR, TOO_LONG = 2.0, -2.0, 1.0, -1.5
RuleName = Literal["allergen", "condition", "diet", "avoided", "unknown", "disliked", "liked", "place", "time"]
RULES: tuple[RuleName, ...] = (
    *("allergen", "condition", "diet", "avoided"),
    *("unknown", "disliked", "liked", "place", "time"),
)
STRICT: frozenset[RuleName] = frozenset({"allergen", "condition", "diet", "unknown"})
"""Rules on health or conviction: what they do not allow is never proposed as if it suited."""


@dataclass(frozen=True, slots=True)
class Eater:
    """One person the answer is for, with the facts about their food."""

    name: str = YOU
    allergies: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    diets: tuple[str, ...] = ()
    avoids: tuple[str, ...] = ()
    dislikes: tuple[str, ...] = ()
    likes: tuple[str, ...] = ()

    @property
    def being(self) -> str:
        return "you are" if self.name == YOU else f"{self.name} is"

    def does(self, verb: str) -> str:
        return f"{YOU} {verb}" if self.name == YOU else f"{self.name} {verb}s"


@dataclass(frozen=True, slots=True)
class Private:
    """Private facts of the owner that an answer is joined with; they never leave the device."""

    eaters: tuple[Eater, ...] = ()
    place: str = ""
    free_minutes: int | None = None
    until: str = ""
    """The event after the free time, in the owner's words."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One proposed thing, with its present place in the ranking."""

    name: str
    text: str
    place: int
    """Its rank in the cloud's answer, from 1."""
    moved: tuple[str, ...] = ()
    """Reasons why it moved, a clause each."""
    unsure: tuple[str, ...] = ()
    """Matters on which nobody said whether it is free of them."""
    is_undeclared: bool = False
    """True when it is for somebody with an allergy or a diet, and nobody declared what it holds."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One thing that is not proposed, and the rule that excluded it."""

    name: str
    rule: RuleName
    reason: str


@dataclass(frozen=True, slots=True)
class Fused:
    """The joined answer."""

    text: str
    """The cloud's sentences, without those about what was left out."""
    kept: tuple[Kept, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    used: tuple[str, ...] = ()
    """Facts that counted, as said to the owner."""
    n_sentences_left_out: int = 0


@dataclass(frozen=True, slots=True)
class _Read:
    """Contents of a proposal as it states them, in stems."""

    item: Item
    said: str
    """Stems separated by spaces, parts by bars."""
    absent: frozenset[str]
    """Families and words it is said to be free of."""
    tags: tuple[str, ...]
    is_told: bool
    """True when somebody said what is in it."""
    is_declared: bool
    """True when somebody said which allergens are in it (`contains: nuts`, `contains: none`)."""


@dataclass(slots=True)
class _Weighed:
    read: _Read
    place: int
    score: float = 0.0
    moved: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    is_undeclared: bool = False


# ── Joining ───────────────────────────────────────────────────────────────────────────────────────────────


def fuse(given: AnswerGiven, private: Private, question: str) -> Fused:
    """Join an answer with the facts about those it is for."""
    reads = [_read(item) for item in given.items]
    is_food = _is_about_food(question, reads)
    kept: list[_Weighed] = []
    left_out: list[LeftOut] = []
    used: dict[str, None] = {}
    for place, read in enumerate(reads, 1):
        refused = next(_refusals(read, private), None)
        if refused is not None:
            rule, reason, fact = refused
            left_out.append(LeftOut(read.item.name, rule, reason))
            used[fact] = None
            continue
        weighed = _Weighed(read, place)
        _weigh(weighed, private, used, is_food=is_food)
        kept.append(weighed)
    kept.sort(key=lambda one: (bool(one.unsure), -one.score, one.place))
    sentences, n_gone = _sentences(given.text, private, left_out)
    listed = tuple(
        Kept(
            *(one.read.item.name, one.read.item.text, one.place, tuple(one.moved), tuple(one.unsure)),
            is_undeclared=one.is_undeclared,
        )
        for one in kept
    )
    return Fused(sentences, listed, tuple(left_out), tuple(used), n_gone)


def eaters_for(question: str, facts: Sequence[tuple[str, str, str]], names: Sequence[str] = ()) -> tuple[Eater, ...]:
    """Find the people a question is for, with their facts: the owner and those it names; for a gift, only those.

    Args:
        facts: Subject (`me` is the owner), relation, value; believed ones only.
        names: Others whom the owner knows.
    """
    words = f" {' '.join(stems_of(question))} "
    known = dict.fromkeys([*(subject for subject, _, _ in facts if subject.casefold() != "me"), *names])
    meant = [name for name in known if _is_named(name, words)]
    for subject, relation, value in facts:
        is_asked = f" {stem(folded(relation))} " in words or _is_household(relation, words)
        if subject.casefold() == "me" and is_asked and value not in meant and value in known:
            meant.append(value)
    is_gift = bool(re.search(r"\b(?:gifts?|presents?)\b", question, re.IGNORECASE)) and bool(meant)
    people = [*([] if is_gift else ["me"]), *meant]
    return tuple(_eater(person, facts) for person in people)


_HOUSEHOLD = frozenset({"spouse", "partner", "husband", "wife", "son", "daughter", "child", "kid"})
_TOGETHER = re.compile(r" (?:u|us|family|everybody|everyone|all of u) ")


def _is_household(relation: str, words: str) -> bool:
    return stem(folded(relation)) in _HOUSEHOLD and _TOGETHER.search(words) is not None


def _is_named(name: str, words: str) -> bool:
    first = stems_of(name)[:1]
    return any(f" {part} " in words for part in (" ".join(stems_of(name)), *first) if len(part) > 1)


def _eater(person: str, facts: Sequence[tuple[str, str, str]]) -> Eater:
    held: dict[str, list[str]] = {}
    for subject, relation, value in facts:
        if subject.casefold() == person.casefold():
            held.setdefault(relation, []).append(value)

    def of(relation: str) -> tuple[str, ...]:
        return tuple(held.get(relation, ()))

    return Eater(
        YOU if person == "me" else person,
        *(_parts(of("allergic to")), of("health"), _parts(of("diet")), _parts(of("avoids"))),
        *(_parts(of("dislikes")), _parts((*of("likes"), *of("prefers")))),
    )


def _parts(values: Sequence[str]) -> tuple[str, ...]:
    """Split a value such as "hazelnuts and walnuts" into its parts."""
    found = [part.strip(" .") for value in values for part in re.split(r",|;|\band\b|\bor\b|&", value)]
    return tuple(dict.fromkeys(part for part in found if part))


# ── The rules ─────────────────────────────────────────────────────────────────────────────────────────────


def _refusals(read: _Read, private: Private) -> Iterator[tuple[RuleName, str, str]]:
    """Yield the reasons to leave a thing out: rule, reason, and the fact it rests on, as said to the owner."""
    for who in private.eaters:
        for allergen in who.allergies:
            fact = f"{who.being} allergic to {allergen}"
            if why := _holds(read, family_of(allergen)):
                yield "allergen", f"{why}, and {fact}", fact
        for condition in who.conditions:
            family = CONDITIONS.get(folded(condition).strip())
            fact = f"{who.being} {condition}"
            if family and (why := _holds(read, family)):
                yield "condition", f"{why}, and {fact}", fact
        for diet in who.diets:
            fact = f"{who.being} {diet}" if is_adjective(diet) else f"{who.does('eat')} {diet}"
            for family in left_out_by(diet):
                if why := _holds(read, family):
                    yield "diet", f"{why}, and {fact}", fact
            if folded(diet) == "kosher" and _holds(read, "meat") and _holds(read, "milk"):
                yield "diet", f"meat and milk together, and {fact}", fact
        for avoided in who.avoids:
            fact = f"{who.does('avoid')} {avoided}"
            if why := _holds(read, family_of(avoided)):
                yield "avoided", f"{why}, and {fact}", fact


def _note_unsaid(one: _Weighed, who: Eater, used: dict[str, None]) -> None:
    """Note what matters to somebody's health or diet and nobody said of a dish."""
    of_health = [*who.allergies, *(c for c in who.conditions if folded(c) in CONDITIONS)]
    asked = [*of_health, *(diet for diet in who.diets if left_out_by(diet))]
    unsaid = [matter for matter in asked if not _is_said_free(one.read, matter)]
    if unsaid and not one.read.is_declared:
        one.is_undeclared = True
    if not one.read.is_told:
        for matter in unsaid:
            one.unsure.append(f"nobody said whether it suits {_suits(who, matter)}")
            used[f"{who.being} {'allergic to ' if matter in who.allergies else ''}{matter}"] = None


def _weigh(one: _Weighed, private: Private, used: dict[str, None], *, is_food: bool) -> None:
    """Score a thing by preference, place and time, and note what nobody said of it."""
    for who in private.eaters:
        if is_food:
            _note_unsaid(one, who, used)
        for things, score, verb in ((who.dislikes, DISLIKED, "dislike"), (who.likes, LIKED, "like")):
            for thing in things:
                if _holds(one.read, family_of(thing), with_usual=False):
                    one.score += score
                    one.moved.append(f"{who.does(verb)} {thing}")
                    used[f"{who.does(verb)} {thing}"] = None
    if private.place and f" {' '.join(stems_of(private.place))} " in one.read.said:
        one.score += NEAR
        one.moved.append(f"it is in {private.place}, where you live")
        used[f"you live in {private.place}"] = None
    needed = _minutes(one.read)
    if private.free_minutes is not None and needed is not None and needed > private.free_minutes:
        one.score += TOO_LONG
        until = f" before {private.until}" if private.until else ""
        one.moved.append(f"it takes {needed} minutes and you have {private.free_minutes}{until}")
        used[f"you have {private.free_minutes} minutes{until}"] = None


def _suits(who: Eater, matter: str) -> str:
    if matter in who.allergies:
        return f"an allergy to {matter}"
    return f"somebody who is {matter}" if is_adjective(matter) else f"a diet of {matter}"


def _holds(read: _Read, family: str, *, with_usual: bool = True) -> str:
    """Return why a thing is thought to hold a family (`it contains walnut`); empty when nothing says so."""
    if not family or family in read.absent:
        return ""
    for term in terms_of(family):
        if f" {term} " in read.said and term not in read.absent:
            return f"it contains {term}"
    if with_usual:
        for dish, families in USUALLY.items():
            if family in families and f" {' '.join(stems_of(dish))} " in read.said:
                return f"{dish} usually contains {family}"
    return ""


def _is_said_free(read: _Read, matter: str) -> bool:
    families = left_out_by(matter) or (CONDITIONS.get(folded(matter), family_of(matter)),)
    return all(family in read.absent for family in families) or folded(matter) in (folded(tag) for tag in read.tags)


# ── Reading ───────────────────────────────────────────────────────────────────────────────────────────────

_FREE = re.compile(
    r"\b([\w]+(?: [\w]+)?)[- ]free\b|\b(?:without|free (?:of|from)|contains no|no|non)[- ](?:any |added )?"
    r"([\w]+(?:(?: or | and |, )[\w]+)*)"
)
_VEGAN = re.compile(r"\b(?:vegan|plant-based|vegetarian|veggie|mock|meat-free) ([\w]+)|\bvirgin (?:mojito|mary|colada)")
_DECLARED = re.compile(r"\s*(?:contains|allergens)\b")
_LENGTH = re.compile(r"\b(\d{1,4}(?:[.,]\d)?) ?(minutes?|mins?|hours?|h)\b")


def _read(item: Item) -> _Read:
    parts = [folded(part) for part in (item.name, *item.tags, item.text) if part]
    absent: set[str] = set()
    said = []
    for part in parts:
        said.append(_spaced(_without(part, absent)))
    tags = tuple(folded(tag) for tag in item.tags)
    is_declared = any(_DECLARED.match(tag) for tag in tags)
    return _Read(item, f" {' | '.join(said)} ", frozenset(absent), tags, _is_told(item), is_declared)


def _without(text: str, absent: set[str]) -> str:
    """Return the text without what it says it is free of, which is added to `absent`."""

    def free(match: re.Match[str]) -> str:
        words = match[1] or match[2]
        for word in re.split(r" or | and |, ", words):
            stems = stems_of(word)
            for term in (" ".join(stems), stems[-1] if stems else ""):
                if term:
                    absent.update((term, CALLED.get(term, term)))
        return " "

    def mock(match: re.Match[str]) -> str:
        if match[1] is None:
            return " "
        return " " if stem(match[1]) in _MOCKED else match.group()

    return _VEGAN.sub(mock, _FREE.sub(free, text))


_MOCKED = frozenset(
    {"cheese", "butter", "cream", "sausage", "burger", "mayonnaise", "mince", "milk", "bacon", "yoghurt", "steak"}
)
"""Foods that also exist made of plants."""


def _spaced(text: str) -> str:
    """Return stems with spaces; phrases that name another food are replaced."""
    plain = f" {' '.join(stems_of(text))} "
    for words, means in NOT_WHAT_IT_SAYS:
        plain = plain.replace(f" {words} ", f" {means} ")
    return plain.strip()


def _is_told(item: Item) -> bool:
    """Say whether the item's tags tell what is in it: two of them, or the one thing that it is."""
    if any(_DECLARED.match(folded(tag)) for tag in item.tags):
        return True
    told = [" ".join(stems_of(tag)) for tag in item.tags if not set(stems_of(tag)) & NO_INGREDIENT]
    name = stems_of(item.name)
    return len(told) >= 2 or (len(told) == 1 and len(name) <= 3 and bool(set(told[0].split()) & set(name)))


def _is_about_food(question: str, reads: Sequence[_Read]) -> bool:
    if {stem(word) for word in stems_of(question)} & FOOD_WORDS:
        return True
    eaten = [read for read in reads if any(_holds(read, family) for family in FAMILIES)]
    return len(eaten) * 2 >= len(reads) > 0


def _minutes(read: _Read) -> int | None:
    for text in (*read.tags, folded(read.item.text)):
        if match := _LENGTH.search(text):
            number = float(match[1].replace(",", "."))
            return round(number * (60 if match[2].startswith("h") else 1))
    return None


_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")


def _sentences(text: str, private: Private, left_out: Sequence[LeftOut]) -> tuple[str, int]:
    """Return the cloud's sentences that mention nothing left out or to be left out, and the number of those removed."""
    gone = [" ".join(stems_of(one.name)) for one in left_out]
    kept, n_gone = [], 0
    for sentence in (match.group().strip() for match in _SENTENCE.finditer(text)):
        if not sentence:
            continue
        read = _read(Item(name=sentence[:200], text=sentence[200:2000]))
        if any(f" {name} " in read.said for name in gone) or next(_refusals(read, private), None) is not None:
            n_gone += 1
        else:
            kept.append(sentence)
    return " ".join(kept), n_gone


# ── Words ─────────────────────────────────────────────────────────────────────────────────────────────────

MAX_SAID = 8


def said_of_cloud(fused: Fused, teacher: str) -> str:
    """Name what the cloud proposed: `from the cloud (gpt): Tomato risotto; Lentil soup`."""
    who = f" ({teacher})" if teacher else ""
    names = [one.name for one in fused.kept] + [one.name for one in fused.left_out]
    what = "; ".join(names[:MAX_SAID]) if names else fused.text
    return f"from the cloud{who}: {what or 'nothing that suits'}"


def said_of_facts(fused: Fused) -> str:
    """Name the facts used: `from your facts: you are allergic to nuts, so one was left out`; empty for none."""
    parts = []
    for fact in fused.used:
        n = sum(one.reason.endswith(fact) for one in fused.left_out)
        parts.append(f"{fact}, so {_counted(n)} left out" if n else fact)
    return f"from your facts: {'; '.join(parts)}" if parts else ""


def _counted(n: int) -> str:
    words: Mapping[int, str] = {1: "one was", 2: "two were", 3: "three were", 4: "four were"}
    return words.get(n, f"{n} were")


def answer_text(fused: Fused) -> str:
    """Write the whole answer for the owner."""
    lines = [fused.text] if fused.text else []
    for one in fused.kept:
        why = "; ".join((*one.moved, *one.unsure, *(["not declared what it holds"] if one.is_undeclared else [])))
        text = f": {one.text.rstrip('.')}" if one.text else ""
        lines.append(f"  · {one.name}{text}{f' ({why})' if why else ''}")
    if fused.left_out:
        lines.append(f"Left out: {'; '.join(f'{one.name} ({one.reason})' for one in fused.left_out)}.")
    if n := fused.n_sentences_left_out:
        lines.append(
            f"({n} of the cloud's sentences spoke of what does not suit, and {'is' if n == 1 else 'are'} left out.)"
        )
    if not fused.kept and fused.left_out:
        lines.append("Nothing that was proposed suits; ask for something else.")
    if any(one.is_undeclared for one in fused.kept):
        lines.append("Nobody declared what all of these hold: check before anybody eats.")
    elif any(one.rule in ("allergen", "condition") for one in fused.left_out):
        lines.append("Check the packet all the same: I know only what was said.")
    return "\n".join(lines)
