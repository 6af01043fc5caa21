"""Reads what a clause says of its subject by its verb: the rules of `fact_extraction`, with the form of each value."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from hearth.memory.facts.fact_dates import birthday_said, birthday_text, since_said, year_of_birth
from hearth.memory.facts.fact_names import DAYS, NAME, NOT_NAMES, PET_WORDS
from hearth.memory.facts.fact_store import ME
from hearth.memory.facts.relations import CONDITIONS, DIETS, JOBS, KIN, MAKES, PETS, listed

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


ADVERBS = (
    r"(?:(?:really|absolutely|also|just|still|always|actually|currently|now|truly|simply|strongly|generally"
    r"|usually|particularly|especially|totally|recently|finally|both|all|mostly|only|personally|definitely"
    r"|certainly|quite|very much|deeply|rather|already|greatly|exclusively|mainly|typically|genuinely"
    r"|thoroughly) )*"
)
WHEN = (
    rf"(?:(?:every|each) (?:other |second )?(?:{DAYS}|day|morning|afternoon|evening|night|week|weekend|month|year"
    rf"|summer|"
    rf"winter|spring|autumn)|(?:on )?{DAYS}s(?: and {DAYS}s)?(?: (?:mornings?|evenings?|afternoons?))?|on {DAYS} "
    r"(?:mornings|evenings|afternoons)|in the (?:mornings?|evenings?|afternoons?)|(?:at|on|during) (?:the )?weekends|"
    r"on weekdays|once a (?:week|month|year)|twice a (?:week|month|year))"
)
_HABIT_LAST = re.compile(rf"(?P<what>[a-z].+?) (?P<when>{WHEN}\b.*)", re.I)
NO_HABIT = re.compile(
    r"(?:never|remember|forget|am|are|is|was|were|have to|had|need|want|would|will|can|could|do|does|did|should|must"
    r"|might|like|love|hate|"
    r"prefer|think|know|feel|see|went|was|have been|got|made|took|put|left)\b|\w+ed\b|have (?:a|an|two|three"
    r"|my) (?:meeting|"
    r"call|appointment|party)",
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
    rf"(?:(?:have )?(?:put|left|parked|stored|hid|hidden|placed|locked)|keep|store) (?:the|my"
    rf"|our) (?P<what>[a-z][\w -]{{1,40}}?) "
    rf"(?P<where>{PLACE} .+)"
)
_NO_THING = frozenset(
    listed(
        "meeting film movie weather train flight call party event appointment lecture concert problem answer "
        "question report language mail email message bus dinner lunch breakfast game match show class lesson exam "
        "interview deadline delivery package parcel point reason difference same focus blame world sun moon head "
        "mind heart eyes food soup office kids children guests people team trip holiday conference document text "
        "book story song voice price rest idea news phone weekend wedding funeral birthday visit session course "
        "plan project work job money"
    )
)
_DEFINITE = re.compile(
    rf"{PLACE} (?:(?:the|my|our|his|her|a|an|level|room|floor|shelf|drawer|number|box|cupboard|row|bay) |[A-Z]\w+'s )",
    re.I,
)
_TIME_TAIL = re.compile(
    r",? (?:(?:since|in|from|until|till) (?:(?:january|february|march|april|may|june|july|august|september|october"
    r"|november|"
    r"december)(?: \d{4})?|(?:19|20)\d\d|last \w+|i was \w+|childhood|then)|last (?:year|month|week|summer|winter"
    r"|spring|autumn)|"
    r"(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,3}) (?:day|week|month|year)s? ago|yesterday|today"
    r"|tonight|"
    r"tomorrow|recently|lately|now|already|for (?:an?|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,3}) "
    r"(?:day|week|month|year)s|this (?:week|month|year|spring|summer|autumn|winter)|these days|at the moment|right now|"
    r"any ?more|any longer|instead|please|too|as well|a lot|very much|so much|though|again|not in .+)$",
    re.I,
)
_BOUNDARY = re.compile(
    r"[,;:!()\[\]…]|\.(?=\s|$)|\s[-–—]\s|\s(?:but|because|so that|since (?:it|i|they|he|she|that|this)|when|while"
    r"|though|although|"
    r"which|who|unless|until i|as (?:i|it|they|we|he|she)\b|and (?:i|my|we|our|he|she|they|it|that)\b|due to"
    r"|for (?:its|their|"
    r"health|ethical|religious)\b)",
    re.I,
)
ARTICLE = re.compile(r"(?:the|a|an|some|any|all|my|our)\s+", re.I)
_NO_OBJECT = re.compile(
    r"(?:it|that|this|them|those|these|you|me|him|her|us|your|what|how|when|where|why|which|who|if|the|there"
    r"|to (?:be|have to|"
    r"see if)|one)\b",
    re.I,
)
_CONSUME = (
    r"(?:eat|drink|smoke|use|watch|wear|read|listen to|play|buy|fly|drive|take|travel by|cook with|consume|ride|do"
    r"|visit|"
    r"shop at|go to|stay in|stay at|book|order|touch|tolerate|handle|support)"
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
    r"ministry|police|shop|bakery|clinic|restaurant|hotel|factory|airport|post office|theatre|nursery|farm|pharmacy)\b",
)
_LANGUAGE = re.compile(r"(?:(?:a little|a bit of|some|fluent|basic|good) )?[A-Z]\w+", 0)

_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"{ADVERBS}{pattern}", flags), relation)
    for pattern, relation, flags in (
        (
            r"(?:live|lives|am living|is living|are living|(?:have|has) been living|(?:have|has) lived(?=.* (?:since"
            r"|for) )) in (?P<v>[A-ZÀ-ÞŠŽ].*)",
            "lives in",
            0,
        ),
        (
            rf"(?:have |has )?{ADVERBS}(?:moved"
            rf"|relocated)(?: here)?(?: from (?P<from>{NAME}))? to (?P<v>[A-ZÀ-ÞŠŽ].*)",
            "lives in",
            0,
        ),
        (
            r"(?:work|works|am working|is working|(?:have|has) been working|(?:have "
            r"|has )?(?:just )?started(?: working)?(?: a job)?) (?:at|for) (?P<v>.+)",
            "works at",
            0,
        ),
        (rf"(?:work|works|am working|is working) as {_JOB}", "job", re.I),
        (rf"(?:am|is|are|have become|became) {_JOB}", "is a", re.I),
        (r"(?:study|studies|am studying|is studying) (?P<v>[a-zA-Z ]+?)(?: at (?P<org>[A-Z].+))?", "studies", 0),
        (r"study at (?P<v>[A-Z].+)|studies at (?P<v2>[A-Z].+)", "studies at", 0),
        (rf"(?:am|is|are|got|have been|has been) married to (?P<v>{NAME})", "spouse", 0),
        (rf"(?:am|is) engaged to (?P<v>{NAME})", "partner", 0),
        (rf"(?:am|is|are) called (?P<v>{NAME})|am (?P<v2>[A-Z]\w+ [A-Z]\w+)", "name", 0),
        (rf"go(?:es)? by (?P<v>{NAME})", "called", 0),
        (r"(?:am|is|are) (?:\w+ly )?allergic to (?P<v>.+)", "allergic to", re.I),
        (
            r"(?:have|has|suffer from|suffers from) (?:an? )?(?:\w+ )?(?:allergy|intolerance|allergies) to (?P<v>.+)",
            "allergic to",
            re.I,
        ),
        (
            r"(?:have|has|suffer from|suffers from) (?:an? )?(?:(?:severe|bad|strong|mild"
            r"|serious) )?(?P<v>\w+) (?:allergy|intolerance)",
            "allergic to",
            re.I,
        ),
        (r"(?:am|is|are) (?P<v>\w+)[ -]intolerant", "allergic to", re.I),
        (r"(?:like|likes|love|loves|enjoy|enjoys|adore|adores|have always loved|cherish) (?P<v>.+)", "likes", re.I),
        (
            rf"(?:am|is|are) {ADVERBS}(?:fond of|into|keen on|crazy about|passionate about|(?:a "
            rf"|an )?(?:\w+ )?(?:fan|lover|admirer|enthusiast) of) (?P<v>.+)",
            "likes",
            re.I,
        ),
        (r"have (?:a|an) (?:\w+ )?(?:passion|love|soft spot|weakness) for (?P<v>.+)", "likes", re.I),
        (
            r"(?:dislike|dislikes|hate|hates|detest|detests|loathe|loathes|despise|despises|can not (?:stand|bear"
            r"|abide)) (?P<v>.+)",
            "dislikes",
            re.I,
        ),
        (
            rf"(?:am|is|are) not {ADVERBS}(?:fond of|into|keen on|(?:a |an )?(?:\w+ )?fan of|interested in) (?P<v>.+)",
            "dislikes",
            re.I,
        ),
        (
            r"(?:have|has) (?:a|an) (?:\w+ )?(?:aversion to|dislike of|dislike for|hatred of|distaste for|fear of"
            r"|phobia of) (?P<v>.+)",
            "dislikes",
            re.I,
        ),
        (r"(?:do|does) not (?:\w+ly )?(?:like|enjoy|care for|love|appreciate) (?P<v>.+)", "dislikes", re.I),
        (r"(?:am|is) (?:afraid|scared|terrified) of (?P<v>.+)", "dislikes", re.I),
        (
            r"(?:avoid|avoids|try to avoid|tries to avoid|am trying to avoid|stay away from|steer clear of"
            r"|abstain from|shun) (?P<v>.+)",
            "avoids",
            re.I,
        ),
        (
            rf"(?:never|(?:do|does|will|can) not(?: ever)?|refuse to|refuses to|won't) {_CONSUME} (?P<v>.+)",
            "avoids",
            re.I,
        ),
        (r"(?:never|(?:do|does) not) (?P<v>smoke|drive|fly|drink|gamble|ski)", "avoids", re.I),
        (r"(?:refuse|refuses) to (?P<v>.+)", "avoids", re.I),
        (r"(?:tend|tends) to avoid (?P<v>.+)|(?:boycott|boycotts) (?P<v2>.+)", "avoids", re.I),
        (
            r"(?:find|finds) (?P<v>.+?) (?:too )?(?:boring|annoying|tedious|disgusting|stressful|overwhelming"
            r"|dull)",
            "dislikes",
            re.I,
        ),
        (
            r"(?:am|is|are) (?:not comfortable with|uncomfortable with|averse to|bored by"
            r"|tired of) (?P<v>.+)",
            "dislikes",
            re.I,
        ),
        (r"have no interest in (?P<v>.+)", "dislikes", re.I),
        (r"(?:value|values|appreciate|appreciates) (?P<v>.+)", "likes", re.I),
        (r"(?:have|has) (?:a|an) (?:\w+ )?preference for (?P<v>.+)", "prefers", re.I),
        (r"(?:stick to|opt for|go for) (?P<v>.+)", "prefers", re.I),
        (
            r"(?:only|exclusively|always) (?P<v>(?:eat|drink|read|watch|use|buy|listen to|wear|travel by|stay in|fly"
            r"|play|drive) .+)",
            "prefers",
            re.I,
        ),
        (r"have been diagnosed with (?P<v>(?:type [12] )?\w+)", "health", re.I),
        (r"(?:prefer|prefers|favou?r|favou?rs) (?P<v>.+)", "prefers", re.I),
        (r"would (?:rather|sooner) (?P<v>(?!not )\w+ .+ than .+)", "prefers", re.I),
        (
            r"(?:am|is|are|have gone|went|keep|keeps|eat|eats|follow|follows|stick to|adhere to|am on"
            r"|live) (?:on )?(?:an? )?(?:(?:strict|lifelong|devout|committed|mostly|fully) )*(?P<v>[\w-]+)(?: diet)?",
            "diet",
            re.I,
        ),
        (r"(?:speak|speaks) (?P<v>.+)", "speaks", 0),
        (r"(?:am|come|comes) (?:originally )?from (?P<v>[A-Z].+)", "from", 0),
        (r"(?:have|has|suffer from|suffers from) (?:an? )?(?P<v>(?:type [12] )?\w+)", "health", re.I),
        (r"(?:am|is) (?P<v>\d{1,3}) years old|am (?P<v2>\d{1,3})", "age", re.I),
        (r"(?:was|were|am|is) born (?P<v>.+)", "birthday", re.I),
        (
            r"(?:turn|turns|will turn|will be|am turning|is turning) (?P<age>\d{1,3}) (?P<v>(?:on|this|next) .+)",
            "birthday",
            re.I,
        ),
        (
            rf"(?:have|has|got|own|owns|adopted|have got|have adopted) (?:a|an|one|two|three|four"
            rf"|\d) (?:\w+ )?(?P<pet>(?i:{PET_WORDS}))s?(?:,| called| named|, called"
            rf"|, named)+ (?P<v>{NAME}(?:(?:, (?:and )?| and ){NAME})*)",
            "pet",
            0,
        ),
        (
            r"(?:drive|drives|own|owns|have|has|bought|have bought|have got|got|sold) (?:the|a|an|my|our) (?P<v>.+)",
            "car",
            re.I,
        ),
        (r"wears? (?:a )?size (?P<v>[\w.½]+)(?: in| for)? ?(?P<what>[a-z]+)", "size", re.I),
        (r"(?:take|takes|am|wear|wears) (?:a )?size (?P<v>[\w.½]+) (?:in|for) (?P<what>[a-z]+)", "size", re.I),
        (
            r"(?:am|is) (?P<v>\d[\d.,]*\s?(?:m|cm|metres?|meters?|feet|ft)(?: \d+\s?(?:in|inches|cm)?)?) tall",
            "height",
            re.I,
        ),
        (r"weighs? (?P<v>\d[\d.,]*\s?(?:kg|kilos?|lbs?|pounds|stone))", "weight", re.I),
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
    value = ARTICLE.sub("", value, count=1) if ARTICLE.match(value) else value
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


def predicates(subject: Subject, rest: str, now: dt.datetime, known: Known) -> Iterator[Read]:
    """Read the facts that the rest of a clause, from its verb on, states of its subject."""
    is_over = False
    since = since_said(rest, now)
    if (stopped := _STOPPED.fullmatch(rest)) is not None:
        yield from _stopped(subject, stopped["what"])
        return
    if rest.lower().startswith("no longer "):
        rest, is_over = rest[10:], True
    elif _LONGER.search(rest) and (negated := re.match(r"(?:do|does|am|is|are) not ", rest)):
        verb = negated.group().split()[0]
        rest = rest[negated.end() :] if verb in ("do", "does") else f"{verb} {rest[negated.end() :]}"
        rest, is_over = _LONGER.sub("", rest), True
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
            reads = list(_of_rule(subject.name, relation, found, now, known))
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


def _of_rule(who: str, relation: str, found: re.Match[str], now: dt.datetime, known: Known) -> Iterator[Read]:
    groups = found.groupdict()
    value = groups.get("v") or groups.get("v2") or ""
    if relation in ("likes", "dislikes", "avoids"):
        if value := _object(value):
            yield Read(who, relation, value)
    elif relation in ("prefers",):
        value = trimmed(value)
        if value and not _NO_OBJECT.match(value) and len(value.split()) <= 14:
            yield Read(who, relation, value)
    elif relation == "allergic to":
        yield from (Read(who, relation, thing) for thing in names_listed(trimmed(value)) if _object(thing))
    elif relation == "diet":
        if value.casefold() in DIETS or value.casefold().removesuffix("s") in DIETS:
            yield Read(who, relation, value)
    elif relation == "health":
        if value.casefold().split()[-1] in CONDITIONS:
            yield Read(who, relation, value)
    elif relation in ("job", "is a"):
        yield from _work(who, relation, groups)
    elif relation == "works at":
        if (place := trimmed(value)) and _ORG.match(place):
            yield Read(who, relation, ARTICLE.sub("", place, count=1) if ARTICLE.match(place) else place)
    elif relation == "studies":
        if (what := _object(value)) and not re.match(r"(?:at|in|for|with|hard|the)\b", what):
            yield Read(who, relation, what)
            if groups.get("org") and (place := trimmed(groups["org"] or "")):
                yield Read(who, "studies at", place)
    elif relation == "lives in":
        if (place := trimmed(value)) and not any(c.isdigit() for c in place):
            if groups.get("from"):
                yield Read(who, relation, groups["from"] or "", is_over=True)
            yield Read(who, relation, place)
    elif relation == "speaks":
        for language in names_listed(trimmed(value)):
            if _LANGUAGE.fullmatch(language):
                yield Read(who, relation, language)
    elif relation == "birthday":
        yield from _birthday(who, value, groups.get("age"), now, known)
    elif relation == "pet":
        yield from (Read(who, (groups["pet"] or "").casefold(), name) for name in names_listed(value))
    elif relation == "car":
        car = trimmed(value)
        if any(word.casefold() in MAKES for word in car.split()) and any(c.isupper() for c in car):
            yield Read(who, relation, car, is_over=found.group().startswith("sold"))
    elif relation == "size":
        yield Read(who, f"{_size_of(groups.get('what') or '')} size", value)
    elif relation in ("spouse", "partner"):
        yield Read(who, relation, known.person(value))
    elif relation == "age":
        if 0 < int(value) < 125:
            yield Read(who, relation, value)
    elif relation == "name":
        if value.split()[0].casefold() not in NOT_NAMES:
            yield Read(who, relation if who == ME else "called", value)
    elif value := trimmed(value):
        yield Read(who, relation, value)


def _size_of(what: str) -> str:
    return (
        what[:-1] if what.endswith("s") and what not in ("trousers", "jeans", "shorts", "glasses", "gloves") else what
    )


def _work(who: str, relation: str, groups: Mapping[str, str | None]) -> Iterator[Read]:
    job = trimmed(groups["job"] or "")
    last = job.split()[-1].casefold() if job else ""
    if relation == "job" or last in JOBS:
        if job and len(job.split()) <= 4:
            yield Read(who, "job", job)
            place = trimmed(groups["org"] or "")
            if place and _ORG.match(place) and not re.match(r"(?:19|20)\d\d", place):
                yield Read(who, "works at", ARTICLE.sub("", place, count=1) if ARTICLE.match(place) else place)
    elif last in DIETS:
        yield Read(who, "diet", last)


def _birthday(who: str, said: str, age: str | None, now: dt.datetime, known: Known) -> Iterator[Read]:
    date = birthday_said(said, is_month_first=known.is_month_first)
    if date is not None:
        year, month, day = date
        if age is not None and year is None:
            year = year_of_birth(int(age), month, day, now)
        if year is None or dt.date(year, month, day) <= now.date():
            yield Read(who, "birthday", birthday_text(year, month, day))
