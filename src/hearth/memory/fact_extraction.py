"""Facts that are told in a sentence, read by rules and held against the words they come from."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hearth import patterns as re
from hearth.language.tokens import word_set
from hearth.memory.facts import (
    CONDITIONS,
    DIETS,
    JOBS,
    KIN,
    MAKES,
    ME,
    NATIONALITIES,
    OPPOSITES,
    PETS,
    PLURALS,
    PREFERENCES,
    SINGLE_VALUED,
    Fact,
    FactStore,
    NewFact,
    birthday_said,
    birthday_text,
    since_said,
    year_of_birth,
)
from hearth.types import Label

# ── Fact rules ────────────────────────────────────────────────────────────────────────────────────────────
# The rules by which a clause is read as facts: a table of verbs, a table of nouns, and the form each value must have.
#
# A clause of a subject is tried against the verbs (`predicates`), one of the form "my … is …" against the nouns
# (`attributes`): the first row that matches, and whose value has the form of its kind, gives the facts. A trained
# reader in their place finds a sixth of the facts that they find and invents most of its own (`facts_reader.json`);
# one that was trained on what they read did no better.

# ── Names and days ────────────────────────────────────────────────────────────────────────────────────────

NAME_WORD = r"(?:[A-ZÀ-ÖØ-ÞŠŽČ][\w'’.-]*[\wÀ-ÿ]|[A-Z]\.?)"
NAME = (
    rf"(?:(?:Dr|Mr|Mrs|Ms|Prof|Aunt|Uncle)\.? )?{NAME_WORD}(?: (?:van|de|der|den|von|la|el|al|bin|da|dos"
    rf"|ter)(?= ))*(?: (?:van |de |der |von |la |da )*{NAME_WORD}){{0,3}}"
)
KIN_WORDS = "|".join(sorted((re.escape(word) for word in KIN), key=len, reverse=True))
KIN_PLURALS = "|".join(sorted((re.escape(word) for word in PLURALS), key=len, reverse=True))
PET_WORDS = "|".join(sorted(PETS))
OLDER = r"(?:(?:older|younger|elder|big|little|eldest|youngest|oldest|new|old|dear|only|second|late) )?"
NOT_NAMES = NATIONALITIES | word_set(
    "i the this that these those it there here he she they we you my our your his her a an monday tuesday "
    "wednesday thursday friday saturday sunday january february march april may june july august september "
    "october november december today tomorrow everything something nothing everyone someone nobody dinner "
    "lunch breakfast christmas easter when what who and but so then now please not every all some any if"
)
DAYS = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"

# ── What is read ──────────────────────────────────────────────────────────────────────────────────────────

PLAIN, BY_PRONOUN, OF_THINGS = 0.95, 0.9, 0.85
MAX_VALUE_WORDS = 9


@dataclass(frozen=True, slots=True)
class Known:
    """The people the owner knows, so that "Ben" and "my sister" mean people of the contacts and of earlier facts."""

    people: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Any word for them, in lower case → full names."""
    kin: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Relation (`sister`) → names."""
    is_month_first: bool = False
    """True if 3/5 is the 5th of March."""

    def person(self, name: str) -> str:
        """Return the full name if only one person has that name; else the name."""
        full = self.people.get(name.casefold(), ())
        return full[0] if len(full) == 1 else name

    def relative(self, word: str) -> str:
        """Return the name of "my sister" if the owner has one sister; else the word."""
        names = self.kin.get(KIN.get(word, word), ())
        return names[0] if len(names) == 1 else word


@dataclass(frozen=True, slots=True)
class Read:
    """A fact as a text says it."""

    subject: str
    relation: str
    value: str
    confidence: float = PLAIN
    since: dt.datetime | None = None
    is_over: bool = False
    """The text says that it is no longer so."""


@dataclass(frozen=True, slots=True)
class Subject:
    name: str
    is_person: bool = True
    confidence: float = 1.0


# ── Verbs ─────────────────────────────────────────────────────────────────────────────────────────────────

ADVERBS = (
    r"(?:(?:really|absolutely|also|just|still|always|actually|currently|now|truly|simply|strongly|generally|usually"
    r"|particularly|especially|totally|recently|finally|both|all|mostly|only|personally|definitely|certainly|quite"
    r"|very much|deeply|rather|already|greatly|exclusively|mainly|typically|genuinely|thoroughly) )*"
)
WHEN = (
    rf"(?:(?:every|each) (?:other |second )?(?:{DAYS}|day|morning|afternoon|evening|night|week|weekend|month|year"
    rf"|summer|winter|spring|autumn)|(?:on )?{DAYS}s(?: and {DAYS}s)?(?: (?:mornings?|evenings?|afternoons?))?|on "
    rf"{DAYS} (?:mornings|evenings|afternoons)|in the (?:mornings?|evenings?|afternoons?)|(?:at|on|during) (?:the "
    r")?weekends|on weekdays|once a (?:week|month|year)|twice a (?:week|month|year))"
)
_HABIT_LAST = re.compile(rf"(?P<what>[a-z].+?) (?P<when>{WHEN}\b.*)", re.I)
NO_HABIT = re.compile(
    r"(?:never|remember|forget|am|are|is|was|were|have to|had|need|want|would|will|can|could|do|does|did|should|must"
    r"|might|like|love|hate|prefer|think|know|feel|see|went|was|have been|got|made|took|put|left)\b|\w+ed\b|have (?:a"
    r"|an|two|three|my) (?:meeting|call|appointment|party)",
    re.I,
)
PLACE = (
    r"(?:in|on|under|underneath|behind|inside|next to|beside|above|below|beneath|at|between|on top of|at the back of)"
)
THING = re.compile(
    rf"(?i:the|my|our) (?P<what>[a-z][\w -]{{1,40}}?) (?:is|are)(?: now| kept| stored| hidden| parked| always| right)* "
    rf"(?P<where>{PLACE} .+)"
)
_PUT = re.compile(
    r"(?:(?:have )?(?:put|left|parked|stored|hid|hidden|placed|locked)|keep|store) (?:the|my|our) "
    rf"(?P<what>[a-z][\w -]{{1,40}}?) (?P<where>{PLACE} .+)"
)
_NO_THING = word_set(
    "meeting film movie weather train flight call party event appointment lecture concert problem answer question "
    "report language mail email message bus dinner lunch breakfast game match show class lesson exam interview "
    "deadline delivery package parcel point reason difference same focus blame world sun moon head mind heart eyes "
    "food soup office kids children guests people team trip holiday conference document text book story song voice "
    "price rest idea news phone weekend wedding funeral birthday visit session course plan project work job money"
)
_DEFINITE = re.compile(
    rf"{PLACE} (?:(?:the|my|our|his|her|a|an|level|room|floor|shelf|drawer|number|box|cupboard|row|bay) |[A-Z]\w+'s )",
    re.I,
)
_TIME_TAIL = re.compile(
    r",? (?:(?:since|in|from|until|till) (?:(?:january|february|march|april|may|june|july|august|september|october"
    r"|november|december)(?: \d{4})?|(?:19|20)\d\d|last \w+|i was \w+|childhood|then)|last (?:year|month|week|summer"
    r"|winter|spring|autumn)|(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,3}) (?:day|week|month"
    r"|year)s? ago|yesterday|today|tonight|tomorrow|recently|lately|now|already|for (?:an?|one|two|three|four|five|six"
    r"|seven|eight|nine|ten|\d{1,3}) (?:day|week|month|year)s|this (?:week|month|year|spring|summer|autumn|winter)"
    r"|these days|at the moment|right now|any ?more|any longer|instead|please|too|as well|a lot|very much|so much"
    r"|though|again|not in .+)$",
    re.I,
)
_BOUNDARY = re.compile(
    r"[,;:!()\[\]…]|\.(?=\s|$)|\s[-–—]\s|\s(?:but|because|so that|since (?:it|i|they|he|she|that|this)|when|while"
    r"|though|although|which|who|unless|until i|as (?:i|it|they|we|he|she)\b|and (?:i|my|we|our|he|she|they|it|that)\b"
    r"|due to|for (?:its|their|health|ethical|religious)\b)",
    re.I,
)
ARTICLE = re.compile(r"(?:the|a|an|some|any|all|my|our)\s+", re.I)
_NO_OBJECT = re.compile(
    r"(?:it|that|this|them|those|these|you|me|him|her|us|your|what|how|when|where|why|which|who|if|the|there|to (?:be"
    r"|have to|see if)|one)\b",
    re.I,
)
_CONSUME = (
    r"(?:eat|drink|smoke|use|watch|wear|read|listen to|play|buy|fly|drive|take|travel by|cook with|consume|ride|do"
    r"|visit|shop at|go to|stay in|stay at|book|order|touch|tolerate|handle|support)"
)
_EATING = r"(?:eating|drinking|smoking|using|watching|wearing|reading|listening to|playing|buying|taking|consuming)"
_GENERIC = re.compile(
    r"the (?:sea|outdoors|mountains|beach|countryside|cinema|theatre|opera|rain|sun|cold|heat|snow|dark|winter|"
    r"summer|spring|autumn|city|forest|colour|color|smell|taste|sound|idea of)\b",
    re.I,
)
_LONGER = re.compile(r",? (?:any ?more|any longer)\b", re.I)
_JOB = r"(?:a|an|the) (?P<job>(?:[\w-]+ ){0,3}?[\w-]+)(?: (?:at|for|with|in) (?P<org>.+))?"
_ORG = re.compile(
    r"[A-ZÀ-ÞŠŽ0-9]|(?:the |a |an |our )?(?:[\w-]+ ){0,3}(?:library|hospital|school|university|college|bank|council"
    r"|company|museum|court|"
    r"ministry|police|shop|bakery|clinic|restaurant|hotel|factory|airport|post office|theatre|nursery|farm|pharmacy)\b"
)
_LANGUAGE = re.compile(r"(?:(?:a little|a bit of|some|fluent|basic|good) )?[A-Z]\w+", 0)

_CASED = frozenset({"lives in", "works at", "studies", "studies at", "spouse", "partner", "called", "name", "speaks"})
_CASED |= {"from", "pet"}
"""Relations whose values are told by their capitals."""
_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"{ADVERBS}{pattern}", 0 if relation in _CASED else re.I), relation)
    for pattern, relation in (
        (
            r"(?:live|lives|am living|is living|are living|(?:have|has) been living|(?:have|has) lived(?=.* (?:since"
            r"|for) )) in (?P<v>[A-ZÀ-ÞŠŽ].*)",
            "lives in",
        ),
        (
            rf"(?:have |has )?{ADVERBS}(?:moved|relocated)(?: here)?(?: from (?P<from>{NAME}))? to (?P<v>[A-ZÀ-ÞŠŽ].*)",
            "lives in",
        ),
        (
            r"(?:work|works|am working|is working|(?:have|has) been working|(?:have "
            r"|has )?(?:just )?started(?: working)?(?: a job)?) (?:at|for) (?P<v>.+)",
            "works at",
        ),
        (rf"(?:work|works|am working|is working) as {_JOB}", "job"),
        (rf"(?:am|is|are|have become|became) {_JOB}", "is a"),
        (r"(?:study|studies|am studying|is studying) (?P<v>[a-zA-Z ]+?)(?: at (?P<org>[A-Z].+))?", "studies"),
        (r"(?:study|studies) at (?P<v>[A-Z].+)", "studies at"),
        (rf"(?:am|is|are|got|have been|has been) married to (?P<v>{NAME})", "spouse"),
        (rf"(?:am|is) engaged to (?P<v>{NAME})", "partner"),
        (rf"go(?:es)? by (?P<v>{NAME})", "called"),
        (rf"(?:am|is|are) called (?P<v>{NAME})|am (?P<v2>[A-Z]\w+ [A-Z]\w+)", "name"),
        (
            r"(?:(?:am|is|are) (?:\w+ly )?allergic|(?:have|has|suffer from|suffers from) (?:an? )?(?:\w+ )?"
            r"(?:allergy|intolerance|allergies)) to (?P<v>.+)",
            "allergic to",
        ),
        (
            r"(?:have|has|suffer from|suffers from) (?:an? )?(?:(?:severe|bad|strong|mild"
            r"|serious) )?(?P<v>\w+) (?:allergy|intolerance)",
            "allergic to",
        ),
        (r"(?:am|is|are) (?P<v>\w+)[ -]intolerant", "allergic to"),
        (
            r"(?:like|likes|love|loves|enjoy|enjoys|adore|adores|have always loved|cherish|value|values|appreciate"
            rf"|appreciates|(?:am|is|are) {ADVERBS}(?:fond of|into|keen on|crazy about|passionate about|(?:a "
            r"|an )?(?:\w+ )?(?:fan|lover|admirer|enthusiast) of)|have (?:a|an) (?:\w+ )?(?:passion|love|soft spot"
            r"|weakness) for) (?P<v>.+)",
            "likes",
        ),
        (
            r"(?:dislike|dislikes|hate|hates|detest|detests|loathe|loathes|despise|despises|can not (?:stand|bear"
            rf"|abide)|(?:am|is|are) not {ADVERBS}(?:fond of|into|keen on|(?:a |an )?(?:\w+ )?fan of|interested in)|"
            r"(?:have|has) (?:a|an) (?:\w+ )?(?:aversion to|dislike of|dislike for|hatred of|distaste for|fear of"
            r"|phobia of)|(?:am|is|are) (?:(?:not comfortable|uncomfortable) with|averse to|bored by|(?:afraid|scared"
            r"|terrified|tired) of)|have no interest in|(?:do|does) not (?:\w+ly )?(?:like|enjoy|care for|love"
            r"|appreciate)) (?P<v>.+)",
            "dislikes",
        ),
        (
            r"(?:avoid|avoids|try to avoid|tries to avoid|am trying to avoid|stay away from|steer clear of|abstain from"
            r"|shun|tends? to avoid|boycotts?|(?:never|(?:do|does|will|can) not(?: ever)?|refuse to|refuses to) "
            rf"{_CONSUME}) (?P<v>.+)",
            "avoids",
        ),
        (r"(?:never|(?:do|does) not) (?P<v>smoke|drive|fly|drink|gamble|ski)", "avoids"),
        (r"(?:refuse|refuses) to (?P<v>.+)", "avoids"),
        (
            r"(?:find|finds) (?P<v>.+?) (?:too )?(?:boring|annoying|tedious|disgusting|stressful|overwhelming|dull)",
            "dislikes",
        ),
        (
            r"(?:prefer|prefers|favou?r|favou?rs|(?:have|has) (?:a|an) (?:\w+ )?preference for|stick to|opt for"
            r"|go for) (?P<v>.+)",
            "prefers",
        ),
        (
            r"(?:only|exclusively|always) (?P<v>(?:eat|drink|read|watch|use|buy|listen to|wear|travel by|stay in|fly"
            r"|play|drive) .+)",
            "prefers",
        ),
        (r"would (?:rather|sooner) (?P<v>(?!not )\w+ .+ than .+)", "prefers"),
        (
            r"(?:am|is|are|have gone|went|keep|keeps|eat|eats|follow|follows|stick to|adhere to|am on"
            r"|live) (?:on )?(?:an? )?(?:(?:strict|lifelong|devout|committed|mostly|fully) )*(?P<v>[\w-]+)(?: diet)?",
            "diet",
        ),
        (r"(?:speak|speaks) (?P<v>.+)", "speaks"),
        (r"(?:am|come|comes) (?:originally )?from (?P<v>[A-Z].+)", "from"),
        (
            r"(?:have|has|suffer from|suffers from|have been diagnosed with) (?:an? )?(?P<v>(?:type [12] )?\w+)",
            "health",
        ),
        (r"(?:am|is) (?P<v>\d{1,3}) years old|am (?P<v2>\d{1,3})", "age"),
        (r"(?:was|were|am|is) born (?P<v>.+)", "birthday"),
        (
            r"(?:turn|turns|will turn|will be|am turning|is turning) (?P<age>\d{1,3}) (?P<v>(?:on|this|next) .+)",
            "birthday",
        ),
        (
            r"(?:have|has|got|own|owns|adopted|have got|have adopted) (?:a|an|one|two|three|four|\d) (?:\w+ )?(?P<pet>"
            rf"(?i:{PET_WORDS}))s?(?:,| called| named|, called|, named)+ (?P<v>{NAME}(?:(?:, (?:and )?| and ){NAME})*)",
            "pet",
        ),
        (
            r"(?:drive|drives|own|owns|have|has|bought|have bought|have got|got|sold) (?:the|a|an|my|our) (?P<v>.+)",
            "car",
        ),
        (
            r"(?:(?:takes?|am|wears?) (?:a )?size (?P<v>[\w.½]+) (?:in|for) "
            r"|wears? (?:a )?size (?P<v2>[\w.½]+) ?)(?P<what>[a-z]+)",
            "size",
        ),
        (r"(?:am|is) (?P<v>\d[\d.,]*\s?(?:m|cm|metres?|meters?|feet|ft)(?: \d+\s?(?:in|inches|cm)?)?) tall", "height"),
        (r"weighs? (?P<v>\d[\d.,]*\s?(?:kg|kilos?|lbs?|pounds|stone))", "weight"),
    )
)
_STOPPED = re.compile(r"(?:(?:have|has) )?(?:stopped|quit|given up|gave up|cut out) (?P<what>.+)", re.I)
_USUALLY = re.compile(
    r"(?:usually|always|normally|typically|regularly|often) (?P<v>(?!am|is|are|was|have to|need|want|like|love"
    r"|prefer)[a-z]+ (?:.*\b(?:at|before|after|in|on|by)\b.*))",
    re.I,
)


def names_listed(names: str) -> list[str]:
    return [name.strip(" .,") for name in re.split(r",? and |, ", names) if name.strip(" .,")]


def trimmed(value: str) -> str:
    """Cut `value` where another thought begins, and remove a time at its end."""
    end = _BOUNDARY.search(value)
    value = (value[: end.start()] if end else value).strip(" .,!")
    while tail := _TIME_TAIL.search(value):
        value = value[: tail.start()].strip(" .,!")
    return value


def _object(value: str) -> str:
    """The thing that is liked, used or avoided; "" if it is one at hand ("the flowers", "that")."""
    value = trimmed(value)
    if _NO_OBJECT.match(value) and not _GENERIC.match(value):
        return ""
    value = re.sub(r"^(?:to|doing|going for|eating|having) (?=\w)", "", value) if value.startswith("to ") else value
    value = _without_article(value)
    return value if 0 < len(value.split()) <= MAX_VALUE_WORDS else ""


def place_of(where: str) -> str:
    where = trimmed(where)
    return (
        where
        if _DEFINITE.match(where) and len(where.split()) <= 12 and not re.search(rf"\b(?:at \d|{DAYS})\b", where, re.I)
        else ""
    )


def is_thing(words: str) -> bool:
    last = words.split()[-1].casefold()
    return last not in _NO_THING and last.removesuffix("s") not in _NO_THING and last not in KIN and last not in PETS


def _ended(rest: str) -> tuple[str, bool]:
    """Return what held before: of "no longer works here", "works here"; and whether it was said to be over."""
    if rest.lower().startswith("no longer "):
        return rest[10:], True
    if _LONGER.search(rest) and (negated := re.match(r"(?:do|does|am|is|are) not ", rest)):
        verb = negated.group().split()[0]
        held = rest[negated.end() :] if verb in ("do", "does") else f"{verb} {rest[negated.end() :]}"
        return _LONGER.sub("", held), True
    return rest, False


def predicates(subject: Subject, rest: str, now: dt.datetime, known: Known) -> Iterator[Read]:
    """Read the facts that the rest of a clause, from its verb on, states of its subject."""
    since = since_said(rest, now)
    if (stopped := _STOPPED.fullmatch(rest)) is not None:
        yield from _stopped(subject, stopped["what"])
        return
    rest, is_over = _ended(rest)
    if subject.name == ME and not is_over:
        if (put := _PUT.match(rest)) is not None:
            if is_thing(put["what"]) and (where := place_of(put["where"])):
                yield Read(put["what"], "located at", where, PLAIN * OF_THINGS, since)
            return
        if (usual := _USUALLY.fullmatch(rest)) is not None and (what := trimmed(usual["v"])):
            yield Read(ME, "habit", what, PLAIN * OF_THINGS)
            return
        if (habit := _HABIT_LAST.fullmatch(rest)) is not None and not NO_HABIT.match(habit["what"]):
            yield Read(ME, "habit", trimmed(f"{habit['what']} {habit['when']}"), PLAIN * OF_THINGS)
            return
    for pattern, relation in _RULES:
        found = pattern.fullmatch(rest)
        if found is not None:
            reads = list(_of_rule(_Match(subject.name, relation, found, now, known)))
            if reads:
                yield from (
                    replace(read, since=since if not is_over else None, is_over=read.is_over or is_over)
                    for read in reads
                )
                return


def _stopped(subject: Subject, what: str) -> Iterator[Read]:
    thing = re.match(rf"{_EATING} (?P<v>.+)", what, re.I)
    if (work := re.match(r"(?:working|living|studying) (?:at|for|in) (?P<v>.+)", what, re.I)) is not None:
        relation = {"w": "works at", "l": "lives in", "s": "studies at"}[what[0].lower()]
        yield Read(subject.name, relation, _object(work["v"]), is_over=True)
        return
    value = _object(thing["v"] if thing else what)
    if value and (thing or len(what.split()) == 1):
        yield Read(subject.name, "avoids", value)
        yield Read(subject.name, "likes", value, is_over=True)


@dataclass(frozen=True, slots=True)
class _Match:
    """A row of the table that matched: who it speaks of, and its parts."""

    who: str
    relation: str
    found: re.Match[str]
    now: dt.datetime
    known: Known

    @property
    def value(self) -> str:
        return self.part("v") or self.part("v2")

    def part(self, name: str) -> str:
        return self.found.groupdict().get(name) or ""


def _of_rule(match: _Match) -> Iterator[Read]:
    """Read the facts of a match, by the form that the value of its relation has."""
    if (form := _FORMS.get(match.relation)) is not None:
        yield from form(match)
        return
    for value in _VALUES.get(match.relation, _trimmed)(match.value):
        if value:
            yield Read(match.who, match.relation, value)


def _trimmed(said: str) -> list[str]:
    return [trimmed(said)]


_VALUES: Mapping[str, Callable[[str], Iterable[str]]] = {
    **dict.fromkeys(("likes", "dislikes", "avoids"), lambda said: [_object(said)]),
    "prefers": lambda said: [v for v in [trimmed(said)] if not _NO_OBJECT.match(v) and len(v.split()) <= 14],
    "allergic to": lambda said: filter(_object, names_listed(trimmed(said))),
    "diet": lambda said: [said] if {said.casefold(), said.casefold().removesuffix("s")} & DIETS else [],
    "health": lambda said: [said] if said.casefold().split()[-1] in CONDITIONS else [],
    "works at": lambda said: [_without_article(place) for place in [trimmed(said)] if _ORG.match(place)],
    "speaks": lambda said: filter(_LANGUAGE.fullmatch, names_listed(trimmed(said))),
    "age": lambda said: [said] if 0 < int(said) < 125 else [],
}
"""Relation → the values that its words give; others are taken as they stand."""


def _studies(match: _Match) -> Iterator[Read]:
    if (what := _object(match.value)) and not re.match(r"(?:at|in|for|with|hard|the)\b", what):
        yield Read(match.who, match.relation, what)
        if place := trimmed(match.part("org")):
            yield Read(match.who, "studies at", place)


def _home(match: _Match) -> Iterator[Read]:
    if (place := trimmed(match.value)) and not any(c.isdigit() for c in place):
        if left := match.part("from"):
            yield Read(match.who, match.relation, left, is_over=True)
        yield Read(match.who, match.relation, place)


def _pets(match: _Match) -> Iterator[Read]:
    for name in names_listed(match.value):
        yield Read(match.who, match.part("pet").casefold(), name)


def _car(match: _Match) -> Iterator[Read]:
    car = trimmed(match.value)
    if any(word.casefold() in MAKES for word in car.split()) and any(c.isupper() for c in car):
        yield Read(match.who, match.relation, car, is_over=match.found.group().startswith("sold"))


def _size(match: _Match) -> Iterator[Read]:
    yield Read(match.who, f"{_size_of(match.part('what'))} size", match.value)


def _spouse(match: _Match) -> Iterator[Read]:
    yield Read(match.who, match.relation, match.known.person(match.value))


def _name(match: _Match) -> Iterator[Read]:
    if match.value.split()[0].casefold() not in NOT_NAMES:
        yield Read(match.who, match.relation if match.who == ME else "called", match.value)


def _without_article(text: str) -> str:
    return ARTICLE.sub("", text, count=1) if ARTICLE.match(text) else text


def _size_of(what: str) -> str:
    return (
        what[:-1] if what.endswith("s") and what not in ("trousers", "jeans", "shorts", "glasses", "gloves") else what
    )


def _work(match: _Match) -> Iterator[Read]:
    job = trimmed(match.part("job"))
    last = job.split()[-1].casefold() if job else ""
    if match.relation == "job" or last in JOBS:
        if job and len(job.split()) <= 4:
            yield Read(match.who, "job", job)
            place = trimmed(match.part("org"))
            if place and _ORG.match(place) and not re.match(r"(?:19|20)\d\d", place):
                yield Read(match.who, "works at", _without_article(place))
    elif last in DIETS:
        yield Read(match.who, "diet", last)


def _birthday(match: _Match) -> Iterator[Read]:
    date = birthday_said(match.value, is_month_first=match.known.is_month_first)
    if date is not None:
        year, month, day = date
        if match.part("age") and year is None:
            year = year_of_birth(int(match.part("age")), month, day, match.now)
        if year is None or dt.date(year, month, day) <= match.now.date():
            yield Read(match.who, "birthday", birthday_text(year, month, day))


_FORMS: Mapping[str, Callable[[_Match], Iterator[Read]]] = {
    **dict.fromkeys(("job", "is a"), _work),
    **dict.fromkeys(("spouse", "partner"), _spouse),
    "studies": _studies,
    "lives in": _home,
    "birthday": _birthday,
    "pet": _pets,
    "car": _car,
    "size": _size,
    "name": _name,
}
"""Relation → how its facts are read, where they are more than values."""


# ── Nouns ─────────────────────────────────────────────────────────────────────────────────────────────────

_KINDS_OF_VALUE: tuple[tuple[re.Pattern[str], re.Pattern[str], str], ...] = tuple(
    (re.compile(noun), re.compile(form), relation)
    for noun, form, relation in (
        (r"(?:full |first |last |real |middle )?name", rf"(?P<v>{NAME})", "name"),
        (r"nickname", rf"(?P<v>{NAME})", "called"),
        (r"(?:private |work |home |new )?(?:e-?mail|e-?mail address)", r"(?P<v>[^\s@]+@[^\s@]+\.\w+)", "email"),
        (
            r"(?:private |work |home |new |mobile )?(?:phone|mobile|telephone|phone number|number|mobile number)",
            r"(?P<v>\+?[\d(][\d ()/-]{4,}\d)",
            "phone",
        ),
        (r"(?:home |postal |new )?address", r"(?P<v>[^?]*\d[^?]*)", "address"),
        (r"(?P<w>favou?rite [a-z][a-z -]*)", r"(?!not )(?P<v>.+)", "favourite"),
        (r"(?P<w>[a-z -]*size)", r"(?:an? )?(?P<v>\d[\d.,½/]*|X{0,3}[SML]|small|medium|large)", ""),
        (r"(?P<w>height|weight|waist|inseam|chest)", r"(?P<v>(?:about |around )?\d.*)", ""),
        (
            r"(?P<w>[a-z -]*(?:number|code|pin|passphrase|iban|plate|combination))",
            r"(?P<v>(?=.*\d)[\w .:/-]{1,40})",
            "",
        ),
        (r"(?P<w>[a-z -]*(?:password|username|login|handle))", r"(?P<v>(?=\S*[\d_@.!#$%*-])\S{2,60})", ""),
        (r"(?P<w>blood (?:type|group))", r"(?P<v>(?:A|B|AB|0|O)[+-]?(?: (?:positive|negative))?)", ""),
        (r"job|profession|occupation", r"(?P<v>[a-z][\w -]{2,40})", "job"),
        (r"(?:mother tongue|native language|first language)", r"(?P<v>[A-Z]\w+)", "speaks"),
        (r"car", r"(?:a|an|the) (?P<v>.*[A-Z].*)", "car"),
        (r"home ?town", r"(?P<v>[A-Z].+)", "from"),
        (r"nationality", r"(?P<v>(?!No\b|None\b|Not\b)[A-Z][\w'’]+(?: [A-Z]\w+)?)", "nationality"),
        (r"time ?zone", r"(?P<v>[A-Z].+)", "time zone"),
    )
)
"""Rules for attributes: noun, the form of its value, relation ("": the noun itself)."""


def attributes(owner: Subject, what: str, value: str, now: dt.datetime, known: Known) -> Iterator[Read]:
    """Read the fact in "`owner`'s `what` is `value`"; none if the value does not have the right form."""
    if what == "birthday":
        said = {"today": f"{now.date()}"[5:], "tomorrow": f"{(now + dt.timedelta(days=1)).date()}"[5:]}.get(
            trimmed(value) or value.strip(" .")
        )
        relative = said and (None, int(said[:2]), int(said[3:]))
        date = relative or birthday_said(value, is_month_first=known.is_month_first)
        if date:
            yield Read(owner.name, "birthday", birthday_text(*date), PLAIN * owner.confidence)
        return
    for noun, form, relation in _KINDS_OF_VALUE:
        named = noun.fullmatch(what)
        if named is None:
            continue
        whole = value.strip(" .,!")
        found = form.fullmatch(trimmed(value)) or form.fullmatch(whole)
        if found is not None:
            said = found["v"].strip()
            if relation == "favourite":
                said = _without_article(said)
                relation = named["w"].replace("favor", "favour")
            if len(said.split()) <= MAX_VALUE_WORDS + 3:
                yield Read(owner.name, relation or named["w"].strip(), said, PLAIN * owner.confidence)
        return


# ── Fact extraction ───────────────────────────────────────────────────────────────────────────────────────
# Extracts facts from what the owner said, without a language model.
#
# A text is read sentence by sentence: questions, quotations, suppositions, wishes, jokes, reports of what others said
# and messages for others are left out; the rest is cut into clauses, and each is read by its subject and its verb.
# Hedges make a fact less sure; "no longer", "any more" and "I've stopped" end one.
#
# The `confidence` of a fact: 0.95 for a plain statement, times 0.9 for "he", "she" and words for people without a
# name, times 0.85 for a place of a thing or a habit, times 0.6 for a hedge ("I think", "probably").
#
# Covered: names, birthdays, ages, homes, work, study, relatives and acquaintances, likes, dislikes, avoidances,
# allergies, diets, favourites, preferences, sizes, numbers and codes, where things are, pets, cars, habits,
# languages, conditions. Every word of a value occurs in the text, except in dates, which are written one way. Not
# covered: languages other than English; what follows from several sentences; irony without a sign of it; a person who
# is only described. A missed fact costs a question, an invented one costs trust: the rules prefer to miss.

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


# ── Grounding ─────────────────────────────────────────────────────────────────────────────────────────────
# Checks facts that a language model claims to have read in a text against the text itself.
#
# A language model may propose facts; these checks decide, by the rules that the patterns of `fact_extraction` follow:
# the relation is a known one; every word of the value is in one sentence that states something (no question,
# quotation, supposition, report, joke or message to be written); dates are written one way. Even then the fact is not
# believed: its label names the model, so that it waits for the owner's confirmation.
#
# Covered: invented facts, facts about people the text does not name, values put together from several sentences;
# sentences that deny the claim. Not covered: a relation that the sentence does not mean, in words that occur in it;
# irony without a sign of it.

BY_MODEL = Label(frozenset({"model"}))
"""Label of what a model read: it is trusted no more than the model."""
CONFIDENCE = 0.6
RELATIONS = (
    (SINGLE_VALUED - {"favourite colour"})
    | PREFERENCES
    | frozenset(KIN.values())
    | PETS
    | frozenset({"studies", "studies at", "spouse", "called", "speaks", "from", "car", "habit", "weight"})
)
_FAVOURITE = re.compile(r"favou?rite (?P<what>[a-z][a-z -]{1,30})")
_NEGATIVE = frozenset({"dislikes", "avoids"})
_DENIES = re.compile(
    r"\b(?:not|never|no|none|nobody|nothing|neither|nor|without|stopped|quit|gave up|no longer|used to)\b|n['’]t\b",
    re.I,
)
_FIRST_PERSON = frozenset({"me", "i", "owner", "the owner", "user", "the user", "myself"})


@dataclass(frozen=True, slots=True)
class Claim:
    """A fact that a text is said to state."""

    subject: str
    relation: str
    value: str


def grounded(claim: Claim, told: Told, known: Known) -> Read | str:
    """Return the fact as it may be proposed; else the reason why not, in a few words."""
    relation, value = " ".join(claim.relation.split()).casefold(), " ".join(claim.value.split()).strip(" .,!")
    text = told.text[:MAX_CHARACTERS]
    words = _words(text)
    if told.kind in NEVER_READ:
        return "Hearth's own words state nothing"
    if not value or not _words(value) or len(claim.subject) + len(value) > MAX_LENGTH:
        return "it has no value, or a very long one"
    named = _FAVOURITE.fullmatch(relation)
    if relation not in RELATIONS and not (named and words.issuperset(_words(named["what"]))):
        return f"the relation {relation[:40]!r} is not one of those known"
    subject = _subject(" ".join(claim.subject.split()), words, told, known)
    if subject is None:
        return "the text does not name whom it is about"
    for sentence, confidence, is_whole in statements(text):
        date = birthday_said(value, is_month_first=known.is_month_first) if relation == "birthday" else None
        if not is_whole or not _words(sentence).issuperset(_words(value)):
            continue
        if relation not in _NEGATIVE and _DENIES.search(sentence):
            continue
        if relation == "birthday":
            if date is None:
                return "it is no date"
            value = birthday_text(*date)
        return Read(subject, relation.replace("favorite", "favourite"), value, round(CONFIDENCE * confidence, 3))
    return "no sentence of the text states it"


def _subject(said: str, words: frozenset[str], told: Told, known: Known) -> str | None:
    """Find the subject of a claim, as facts name it; None if it is neither in the text nor its speaker."""
    low = said.casefold()
    if low in _FIRST_PERSON:
        return known.person(told.person) if told.person else ME
    kin = low.removeprefix("my ")
    if not said or not words.issuperset(_words(kin)):
        return None
    return known.relative(kin) if kin in KIN else known.person(said)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))
