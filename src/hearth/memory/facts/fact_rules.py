"""The rules by which a clause is read as facts: a table of verbs, a table of nouns, and the form each value must have.

A clause of a subject is tried against the verbs (`predicates`), one of the form "my … is …" against the nouns
(`attributes`): the first row that matches, and whose value has the form of its kind, gives the facts. A trained reader
in their place finds a sixth of the facts that they find and invents most of its own (`facts_reader.json`); one that
was trained on what they read did no better.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from hearth import patterns as re
from hearth.language.text.tokens import word_set
from hearth.memory.facts.fact_dates import birthday_said, birthday_text, since_said, year_of_birth
from hearth.memory.facts.fact_store import ME
from hearth.memory.facts.relations import CONDITIONS, DIETS, JOBS, KIN, MAKES, NATIONALITIES, PETS, PLURALS

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
