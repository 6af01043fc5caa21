"""The cloud's general answer joined with what this device knows of its owner: by rule, re-ranked, each part with where
it came from.

Nothing here sends or stores; `outgoing` says what of a question may leave. The rules (`RULES`) are tried in order on
each thing that was proposed; the first that leaves it out decides, the others move it up or down. Facts of health are
strict: what holds an allergen, or usually does, is left out unless it is said to be free of it; where nobody said what
is in it, that is said, and it comes last; where nobody declared what it holds, that is said, too. The cloud is told to
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

from hearth.edge.foods import (
    CALLED,
    CONDITIONS,
    DIETS,
    FAMILIES,
    FOOD_WORDS,
    NO_INGREDIENT,
    NOT_WHAT_IT_SAYS,
    USUALLY,
)
from hearth.tools.words import folded, stem
from hearth.wire import AnswerGiven, Item

YOU = "you"
LIKED, DISLIKED, NEAR, TOO_LONG = 2.0, -2.0, 1.0, -1.5
RuleName = Literal["allergen", "condition", "diet", "avoided", "unknown", "disliked", "liked", "place", "time"]
RULES: tuple[RuleName, ...] = (
    *("allergen", "condition", "diet", "avoided"),
    *("unknown", "disliked", "liked", "place", "time"),
)
STRICT: frozenset[RuleName] = frozenset({"allergen", "condition", "diet", "unknown"})
"""Rules that rest on facts of health or conviction: what they do not allow is not proposed as if it suited."""


@dataclass(frozen=True, slots=True)
class Eater:
    """What is held true of one person who is concerned."""

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
    """What of the owner's own an answer is joined with; it never leaves the device."""

    eaters: tuple[Eater, ...] = ()
    place: str = ""
    free_minutes: int | None = None
    until: str = ""
    """What comes after the free time, in the owner's words."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One thing that is proposed, where it stands now."""

    name: str
    text: str
    place: int
    """Where the cloud had put it, from 1."""
    moved: tuple[str, ...] = ()
    """Why it moved, a clause each."""
    unsure: tuple[str, ...] = ()
    """What nobody said of it."""
    is_undeclared: bool = False
    """It is for somebody with an allergy or a diet, and nobody declared what it holds."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One thing that is not proposed, and by which rule."""

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
    """What a proposal says of itself, in stems."""

    item: Item
    said: str
    """Stems between spaces, parts between bars."""
    absent: frozenset[str]
    """Families and words it is said to be free of."""
    tags: tuple[str, ...]
    is_told: bool
    """Somebody said what is in it."""
    is_declared: bool
    """Somebody said which allergens are in it (`contains: nuts`, `contains: none`)."""


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
    """Join an answer with what is held true of those it is for."""
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
    """Who a question is for, with what is held true of each: the owner, and those it names; of a gift, those alone.

    Args:
        facts: Subject (`me` is the owner), relation, value; believed ones only.
        names: Others whom the owner knows.
    """
    words = f" {' '.join(_stems(question))} "
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
    first = _stems(name)[:1]
    return any(f" {part} " in words for part in (" ".join(_stems(name)), *first) if len(part) > 1)


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
    """ "hazelnuts and walnuts" is two."""
    found = [part.strip(" .") for value in values for part in re.split(r",|;|\band\b|\bor\b|&", value)]
    return tuple(dict.fromkeys(part for part in found if part))


# ── The rules ─────────────────────────────────────────────────────────────────────────────────────────────


def _refusals(read: _Read, private: Private) -> Iterator[tuple[RuleName, str, str]]:
    """Why a thing is left out: rule, reason, and the fact it rests on, as said to the owner."""
    for who in private.eaters:
        for allergen in who.allergies:
            fact = f"{who.being} allergic to {allergen}"
            if why := _holds(read, _family(allergen)):
                yield "allergen", f"{why}, and {fact}", fact
        for condition in who.conditions:
            family = CONDITIONS.get(folded(condition).strip())
            fact = f"{who.being} {condition}"
            if family and (why := _holds(read, family)):
                yield "condition", f"{why}, and {fact}", fact
        for diet in who.diets:
            fact = f"{who.being} {diet}" if _is_adjective(diet) else f"{who.does('eat')} {diet}"
            for family in _left_out_by(diet):
                if why := _holds(read, family):
                    yield "diet", f"{why}, and {fact}", fact
            if folded(diet) == "kosher" and _holds(read, "meat") and _holds(read, "milk"):
                yield "diet", f"meat and milk together, and {fact}", fact
        for avoided in who.avoids:
            fact = f"{who.does('avoid')} {avoided}"
            if why := _holds(read, _family(avoided)):
                yield "avoided", f"{why}, and {fact}", fact


def _weigh(one: _Weighed, private: Private, used: dict[str, None], *, is_food: bool) -> None:
    """What moves a thing up or down, and what nobody said of it."""
    for who in private.eaters:
        of_health = [*who.allergies, *(c for c in who.conditions if folded(c) in CONDITIONS)]
        asked = [*of_health, *(diet for diet in who.diets if _left_out_by(diet))]
        if is_food and not one.read.is_declared and not all(_is_said_free(one.read, matter) for matter in asked):
            one.is_undeclared = True
        if is_food and not one.read.is_told:
            for matter in asked:
                if not _is_said_free(one.read, matter):
                    one.unsure.append(f"nobody said whether it suits {_suits(who, matter)}")
                    used[f"{who.being} {'allergic to ' if matter in who.allergies else ''}{matter}"] = None
        for things, score, verb in ((who.dislikes, DISLIKED, "dislike"), (who.likes, LIKED, "like")):
            for thing in things:
                if _holds(one.read, _family(thing), with_usual=False):
                    one.score += score
                    one.moved.append(f"{who.does(verb)} {thing}")
                    used[f"{who.does(verb)} {thing}"] = None
    if private.place and f" {' '.join(_stems(private.place))} " in one.read.said:
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
    return f"somebody who is {matter}" if _is_adjective(matter) else f"a diet of {matter}"


def _is_adjective(diet: str) -> bool:
    return folded(diet).strip() in DIETS or folded(diet).endswith(("-free", "arian"))


def _left_out_by(diet: str) -> tuple[str, ...]:
    plain = folded(diet).strip()
    if plain in DIETS:
        return DIETS[plain]
    without = re.fullmatch(r"(?:no|without|not eating|free of) (.+)|(.+?)[- ]free", plain)
    return (_family(without[1] or without[2]),) if without else ()


def _family(said: str) -> str:
    """The family a word means, or the word itself, in stems."""
    plain = " ".join(_stems(re.sub(r"\b(?:all|any|some|the|raw|kinds? of|products?)\b", " ", said)))
    return CALLED.get(plain, plain)


def _terms(family: str) -> tuple[str, ...]:
    return tuple(" ".join(_stems(word)) for word in FAMILIES.get(family, (family,)))


def _holds(read: _Read, family: str, *, with_usual: bool = True) -> str:
    """Why a thing is thought to hold a family (`it contains walnut`); empty: nothing says so."""
    if not family or family in read.absent:
        return ""
    for term in _terms(family):
        if f" {term} " in read.said and term not in read.absent:
            return f"it contains {term}"
    if with_usual:
        for dish, families in USUALLY.items():
            if family in families and f" {' '.join(_stems(dish))} " in read.said:
                return f"{dish} usually contains {family}"
    return ""


def _is_said_free(read: _Read, matter: str) -> bool:
    families = _left_out_by(matter) or (CONDITIONS.get(folded(matter), _family(matter)),)
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
    """The text without what it says it is free of; that goes into `absent`."""

    def free(match: re.Match[str]) -> str:
        words = match[1] or match[2]
        for word in re.split(r" or | and |, ", words):
            stems = _stems(word)
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
"""What there is of plants, too."""


def _spaced(text: str) -> str:
    """Stems with spaces; words that together are another food are replaced."""
    plain = f" {' '.join(_stems(text))} "
    for words, means in NOT_WHAT_IT_SAYS:
        plain = plain.replace(f" {words} ", f" {means} ")
    return plain.strip()


def _stems(text: str) -> list[str]:
    return [stem(word) for word in re.findall(r"\w+", folded(text))]


def _is_told(item: Item) -> bool:
    """Whether its tags say what is in it: two of them, or the one thing that it is."""
    if any(_DECLARED.match(folded(tag)) for tag in item.tags):
        return True
    told = [" ".join(_stems(tag)) for tag in item.tags if not set(_stems(tag)) & NO_INGREDIENT]
    name = _stems(item.name)
    return len(told) >= 2 or (len(told) == 1 and len(name) <= 3 and bool(set(told[0].split()) & set(name)))


def _is_about_food(question: str, reads: Sequence[_Read]) -> bool:
    if {stem(word) for word in _stems(question)} & FOOD_WORDS:
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
    """The cloud's sentences that speak of nothing that was left out, or would be; how many do."""
    gone = [" ".join(_stems(one.name)) for one in left_out]
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


# ── What may leave ────────────────────────────────────────────────────────────────────────────────────────

_CLAUSE = re.compile(
    r"(?<=[,.;!?])\s+|\s+(?=(?:because|since|as|given that|but|and) (?:i|we|my|he|she|they|\w+ (?:is|has))\b)", re.I
)
_WITHOUT = re.compile(
    r"\b(?:without|with no|that (?:has|have|contains?) no|free (?:of|from)|not containing|(?:which|that) (?:is|are) "
    r"not|avoiding|except)\s+(?:any )?[\w-]+(?:(?:,| or| and) [\w-]+)*|\b[\w-]+[- ]free\b",
    re.IGNORECASE,
)
_HEALTH = re.compile(
    r"\b(?:allerg\w*|intoleran\w*|diagnos\w*|symptoms?|prescri\w*|medic\w*|pills?|pregnan\w*|disease|illness|doctor"
    r"|diabet\w*|coeliac|celiac|asthma\w*|depress\w*|anxi\w*|cancer|hiv|therapy|therapist|surgery"
    r"|blood (?:pressure|sugar|test))\b",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"\b(?:i|i'm|i’m|i've|me|my|mine|we|our|us|he|she|his|her|they|their)\b|\b[A-Z]\w+['’]s\b", re.IGNORECASE
)


_WHO = r"(?P<who{k}>i|we|he|she|they|[A-Z][\w'’-]+?)"
_END = r"(?=[,.;!?]|$| (?:what|which|how|where|and (?:i|we|he|she|they|[A-Z]\w+) )\b| (?:so|but|because|since)\b)"
_STATED = re.compile(
    r"(?:(?:,|;|\.)?\s*\b(?:since|because|as|and|but|given that|though|while)\b )?"
    rf"(?:\b{_WHO.format(k=1)}(?:'m|’m|'re|’re|'s|’s| am| is| are) (?:\w+ly )?"
    rf"(?:allergic to (?P<allergy>.+?){_END}|(?:an? )?(?P<state>[\w-]+?)s?{_END})"
    rf"|\b{_WHO.format(k=2)} (?:can['’]?t|cannot|can not|must not|may not|mustn['’]t) "
    rf"(?:have|eat|stand|tolerate|touch|drink) (?:any )?(?P<banned>.+?){_END}"
    rf"|\b{_WHO.format(k=3)} (?:have|has|['’]ve|['’]s got) an? (?P<kind>\w+) (?:allergy|intolerance)\b)",
    re.IGNORECASE,
)
_LEFT_OUT = re.compile(
    r"\b(?:without|with no|free (?:of|from)|avoiding|except)\s+(?:any )?(?P<what>[\w-]+(?:(?:,| or| and) [\w-]+)*)"
    r"|\b(?P<free>[\w-]+)[- ]free\b",
    re.IGNORECASE,
)


def stated(question: str) -> tuple[tuple[str, str, str], ...]:
    """What a question itself says of those it is for, as facts: it counts for the answer, and does not leave.

    Covered: "I'm allergic to nuts", "Lotte can't have hazelnuts", "Ben is vegan", "without nuts", "nut-free".
    """
    found: dict[tuple[str, str, str], None] = {}
    for match in _STATED.finditer(question):
        who = match["who1"] or match["who2"] or match["who3"]
        subject = who if who.casefold() not in ("i", "we", "he", "she", "they") else "me"
        for value in (match["allergy"], match["banned"], match["kind"]):
            if value:
                found[subject, "allergic to", value.strip()] = None
        state = folded(match["state"] or "")
        if state in DIETS or state in CONDITIONS:
            found[subject, "diet" if state in DIETS else "health", state] = None
    for match in _LEFT_OUT.finditer(question):
        found["me", "avoids", (match["what"] or match["free"]).strip()] = None
    return tuple(found)


def outgoing(question: str, secrets: Sequence[str]) -> str:
    """What of a question may leave: without what names a fact of health or conviction; empty: nothing may.

    Args:
        secrets: Values that must not leave, in any form (`nuts` is `Nut`, too): allergies, diets, conditions.
    """
    hidden = [" ".join(_stems(secret)) for secret in secrets if _stems(secret)]
    hidden += [term for secret in secrets if (term := _family(secret))]

    kin = [term for secret in secrets for term in _terms(_family(secret))]

    def is_fine(text: str) -> bool:
        words = f" {' '.join(_stems(text))} "
        left_out = f" {' '.join(stem for match in _WITHOUT.finditer(text) for stem in _stems(match.group()))} "
        if any(f" {term} " in left_out for term in kin):
            return False  # "without walnuts" tells of an allergy to nuts
        return not any(f" {term} " in words for term in hidden) and not (_HEALTH.search(text) and _OWN.search(text))

    if is_fine(question):
        return question.strip()
    question = _STATED.sub(lambda match: match.group() if is_fine(match.group()) else " ", question)

    def said(match: re.Match[str]) -> str:
        return match.group() if is_fine(match.group()) else ""

    diets = "|".join(re.escape(secret.strip()) for secret in secrets if _is_adjective(secret.strip()))
    bare = re.sub(rf"\b(?:{diets})s?\b ?", "", question, flags=re.IGNORECASE) if diets else question
    clauses = [_WITHOUT.sub(said, part) for part in _CLAUSE.split(bare)]
    kept = " ".join(part.strip(" ,;") for part in clauses if part.strip(" ,;.?!") and is_fine(part))
    kept = re.sub(r"\s+", " ", kept).strip(" ,;.")
    return kept if len(_stems(kept)) >= 3 and is_fine(kept) else ""


# ── Words ─────────────────────────────────────────────────────────────────────────────────────────────────

MAX_SAID = 8


def said_of_cloud(fused: Fused, teacher: str) -> str:
    """`from the cloud (gpt): Tomato risotto; Lentil soup`."""
    who = f" ({teacher})" if teacher else ""
    names = [one.name for one in fused.kept] + [one.name for one in fused.left_out]
    what = "; ".join(names[:MAX_SAID]) if names else fused.text
    return f"from the cloud{who}: {what or 'nothing that suits'}"


def said_of_facts(fused: Fused) -> str:
    """`from your facts: you are allergic to nuts, so one was left out`; empty where none counted."""
    parts = []
    for fact in fused.used:
        n = sum(one.reason.endswith(fact) for one in fused.left_out)
        parts.append(f"{fact}, so {_counted(n)} left out" if n else fact)
    return f"from your facts: {'; '.join(parts)}" if parts else ""


def _counted(n: int) -> str:
    words: Mapping[int, str] = {1: "one was", 2: "two were", 3: "three were", 4: "four were"}
    return words.get(n, f"{n} were")


def answer_text(fused: Fused) -> str:
    """The whole answer for the owner."""
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
