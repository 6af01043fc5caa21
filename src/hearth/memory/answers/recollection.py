"""Provides the memory that tools use: believed facts first, then events.

A question is answered by facts whose subject, relation and value hold most of its content words. Only current facts are
given, with their beginning and their source; ended ones if the question asks for the past. An event that only ended or
revoked facts rest on is not found, and what a later statement of the owner's replaces comes after it, or is not told.

Covered: facts by their words, and by words that mean a relation ("where does Ana live").
Not covered: questions that need several facts; a question in words that neither a fact nor an event shares.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from hearth import patterns as re
from hearth.errors import NotFound
from hearth.language.reading import asked_of, believed_then, declares, said_by
from hearth.language.tokens import word_set
from hearth.memory.answers.home_answers import HomeAnswers
from hearth.memory.answers.question_answering import (
    N_EVIDENCE,
    N_WEIGHED,
    NOTHING,
    WordReader,
    answer_from,
    asks_for_time,
    telling_sentence,
    to_owner,
)
from hearth.memory.event_memory import EventMemory, Filter, Found
from hearth.memory.fact_extraction import NEVER_FOUND, statements
from hearth.memory.facts import KIN, ME, MONTHS, Fact, FactStore, said_of
from hearth.memory.forgetting import SUMMARY
from hearth.memory.inquiry.answer_reading import covered, lacks_kind, with_named
from hearth.memory.search.memory_index import sureness
from hearth.memory.search.search_words import STOP_WORDS, telling_words
from hearth.protocols import CallContext, HomeAnswer, MemoryHit, Recalled, Witness
from hearth.types import PUBLIC, Label

FACT = "fact:"
"""Prefix of facts' ids among those of events."""
N_MAX_FACTS = 5
N_LISTED = 10
"""Most facts that answer alike ("what do I like") in one answer."""
N_COMPARED = 2
"""The first hits for which later statements in their place are looked for."""
N_LATER = 10
"""Most later statements that are compared with one."""
N_PASSED_OVER = 10
"""Number of further events that are fetched, because some are left out."""
_LEAST_SHARE, _LEAST_COSINE = 0.34, 0.5
"""An event must hold at least this share of the search's words, or come this near in meaning."""
_LEAST_COVERED = 0.6
_PAST = re.compile(
    r"\b(?:used to|before|previous(?:ly)?|former(?:ly)?|earlier|old|once|in the past|did\b.*\blive)\b", re.I
)
_OWNER = re.compile(r"\s*(?:me|myself)[\s?.!]*", re.IGNORECASE)
_MEANS: Mapping[str, frozenset[str]] = {
    "lives in": word_set("live lives living home city town address moved"),
    "works at": word_set("work works working job employer company office"),
    "job": word_set("job work profession occupation living"),
    "birthday": word_set("birthday born birth old age turn turns bday"),
    "age": word_set("old age"),
    "located at": word_set("located find put left keep kept stored parked hid hidden lies lie"),
    "allergic to": word_set("allergic allergy allergies eat diet food intolerant"),
    "diet": word_set("diet eat food vegan vegetarian cook"),
    "avoids": word_set("avoid avoids eat drink diet food"),
    "likes": word_set("like likes love loves enjoy enjoys preferences preference taste hobby hobbies"),
    "dislikes": word_set("dislike dislikes hate hates like preferences preference"),
    "prefers": word_set("prefer prefers preference preferences rather favourite like"),
    "name": word_set("name called"),
    "called": word_set("name called nickname call"),
    "car": word_set("car drive vehicle"),
    "speaks": word_set("speak speaks language languages"),
    "habit": word_set("habit habits usually routine routines every often"),
    "health": word_set("health condition illness disease"),
    "from": word_set("from come hometown origin"),
    "spouse": word_set("spouse married husband wife partner"),
}
"""Words that ask for a relation, besides its own."""
UNREAD = 0.7
"""What is left of the chance of something remembered in which the reader finds no words that answer: it is told, with
doubt."""


class Recollection:
    """A `protocols.Memory` over facts and events."""

    def __init__(
        self, events: EventMemory, facts: FactStore, reader: WordReader | None = None, home: HomeAnswers | None = None
    ) -> None:
        """Join the events and facts of a home, and the things in its folder.

        Args:
            reader: Helps to find the words of an event that are asked for.
            home: Answers from the owner's folder; without it only memory is asked.
        """
        self._events = events
        self._facts = facts
        self._reader = reader
        self._home = home

    @property
    def events(self) -> EventMemory:
        """The events, without the facts."""
        return self._events

    def remember(self, text: str, *, kind: str, at: dt.datetime, label: Label, key: str) -> str:
        """Do as `EventMemory.remember`."""
        return self._events.remember(text, kind=kind, at=at, label=label, key=key)

    def forget(self, id: str) -> None:
        """Do as `EventMemory.forget`, also for the facts that rest on nothing else. Raises: NotFound."""
        if id.startswith(FACT) and id[len(FACT) :].isdigit():
            if not self._facts.erase([fact.id for fact in self._facts.history(int(id[len(FACT) :]))]):
                raise NotFound(f"no fact {id!r} in memory; it may have been forgotten already")
            return
        self._events.forget(id)
        self._facts.erase([fact.id for fact in self._facts.from_event(id) if fact.events == (id,)])

    def search(
        self, query: str, *, limit: int = 5, now: dt.datetime | None = None, where: Filter | None = None
    ) -> tuple[MemoryHit, ...]:
        """Find facts, then events; best first."""
        facts = self.facts_for(query)[: min(limit, N_MAX_FACTS)] if where is None else ()
        if facts and _OWNER.fullmatch(query):  # no event is near "me"
            return tuple(_as_hit(fact, score, None if now is None else now.tzinfo) for fact, score in facts)
        used = {event for fact, _ in facts for event in fact.events}
        found = self._events.look_closely(query, limit=limit + N_PASSED_OVER, now=now, where=where)
        kept = [_hit(one) for one in self._kept(found, query) if one.id not in used and _is_near(one, query)]
        zone = now.tzinfo if now is not None else None
        hits = (*(_as_hit(fact, score, zone) for fact, score in facts), *kept)
        return self._latest_first(query, hits)[:limit]

    def answer(self, question: str, *, now: dt.datetime) -> Recalled:
        """Answer `question` with its evidence: a fact, else what an event says, else that memory does not say. For a
        matter that is only named ("what do you know about Ana"), list what there is."""
        asked = asked_of(question)
        if (then := believed_then(question)) is not None and (periods := self._events.times_in(then.when, now)):
            return self._believed(then.whom, min(periods[0].end - dt.timedelta(seconds=1), now), now)
        if (by := said_by(asked.text)) is not None:
            periods = self._events.times_in(by.when, now)
            if theirs := self._events.said_by(by.name, N_MAX_FACTS, periods):
                return _listed(theirs)
            if periods and self._events.said_by(by.name, 1):
                return Recalled("unknown", NOTHING, chance=0.0)
        if not asked.is_question:
            hits = self.search(asked.text, now=now)
            return _listed(hits)
        if (held := self._held(asked.text, now)) is not None:
            return held
        found = self._kept(self._events.look_closely(asked.text, limit=N_WEIGHED + N_PASSED_OVER, now=now), asked.text)
        said = answer_from(self._events, asked.text, found[:N_WEIGHED], now, reader=self._reader)
        evidence = () if said.kind == "unknown" else tuple(map(_hit, said.evidence))
        label = _joined(evidence[: said.n_resting])
        return self._as_changed(asked.text, Recalled(said.kind, said.text, evidence, round(said.chance, 4), label))

    def find_answer(self, question: str, call: CallContext) -> HomeAnswer:
        """Answer from what is held true, else from the owner's folder, else from what was said and remembered."""
        asked = asked_of(question).text
        if (held := self._held(asked, call.now)) is not None:
            return self._as_at_home(asked, held)
        at_home = self._home.find_answer(asked, call) if self._home is not None else None
        # No words that are remembered are nearer to a question than what is reckoned for it.
        if at_home is not None and (at_home.chance >= 1 or at_home.is_reckoned):
            return at_home
        said = self.answer(question, now=call.now)
        if at_home is not None and at_home.kind != "unknown" and not _speaks_nearer(asked, said, at_home):
            return at_home
        if said.kind in ("unknown", "listed"):
            return at_home or HomeAnswer("unknown", "", "what you told me", chance=said.chance)
        told = self._as_at_home(asked, said)
        if at_home is None or not _is_strangers(at_home) or at_home.value.casefold() in told.value.casefold():
            return told
        # What a stranger says instead is told beside what the owner said.
        return replace(told, witnesses=(*told.witnesses[:1], replace(at_home.witnesses[0], value=at_home.value)))

    def _as_at_home(self, asked: str, said: Recalled) -> HomeAnswer:
        """Put what memory says in the form in which the owner's folder answers. What it does not rest on is told beside
        it where no others may have written it than what it rests on."""
        witnesses = tuple(
            Witness(hit.id, f"what {hit.speaker} said, {_day(hit.at)}", hit.text, "memory", hit.at, "", said.label)
            for hit in said.evidence
            if (hit.kind != "fact" or len(said.evidence) == 1) and hit.label.sources <= said.label.sources
        )
        value, chance = said.text, said.chance
        if self._home is not None and said.kind in ("said", "time"):
            words = self._home.words_in(asked, said.evidence[0].text)
            # "Today" is said better by the day on which it was said.
            value = words if words and (said.kind == "said" or any(map(str.isdecimal, words))) else said.text
            if not words or lacks_kind(asked, said.evidence[0].text):
                chance *= UNREAD
        return with_named(asked, HomeAnswer("date" if said.kind == "time" else "text", value, "", witnesses, chance))

    def holds_answer(self, question: str, *, now: dt.datetime) -> bool:
        """Say whether a fact that is held true answers the whole question."""
        asked = asked_of(question)
        return asked.is_question and self._held(asked.text, now) is not None

    def _held(self, question: str, now: dt.datetime) -> Recalled | None:
        """Find the fact that answers the whole question, with the events it rests on."""
        is_when = asks_for_time(question)
        facts = [fact for fact, share in self.facts_for(question) if share >= 1 and (not is_when or _tells_time(fact))]
        if not facts:
            return None
        first = facts[0]
        alike = [fact for fact in facts if _is_current(fact) and _alike(fact, first)][:N_LISTED] or [first]
        events = tuple(dict.fromkeys(event for fact in alike for event in fact.events))
        evidence = (_as_hit(first, 1.0, now.tzinfo), *self._events.told(events)[:N_EVIDENCE])
        label = reduce(Label.join, (fact.label for fact in alike), _joined(evidence))
        return self._as_changed(question, Recalled("fact", _together(alike, now.tzinfo), evidence, label=label))

    def _believed(self, whom: str, then: dt.datetime, now: dt.datetime) -> Recalled:
        """List the facts believed at a moment, about everyone or about somebody, the latest learnt first."""
        held = self._facts.believed(as_of=then)
        if _OWNER.fullmatch(whom):
            held = tuple(fact for fact in held if fact.subject == ME)
        elif whom:
            kin = self._kin(held)
            held = tuple(fact for fact in held if _covered(_asked(whom) or [whom.casefold()], fact, kin) > 0)
        hits = tuple(_as_hit(fact, 1.0, now.tzinfo) for fact in sorted(held, key=lambda fact: -fact.id))
        return _listed(hits[:N_LISTED])

    def _kept(self, found: Sequence[Found], question: str) -> list[Found]:
        """Filter out events that repeat memory itself or another, that only ask or order, or that are outdated."""
        kept: list[Found] = []
        said: set[str] = set()
        for one in (_line_of(folded, question) for folded in found):
            plain = " ".join(one.text.casefold().split()).rstrip(" .!")
            is_said = one.kind not in NEVER_FOUND and (one.kind != "request" or declares(one.text))
            if is_said and plain not in said and not self._is_outdated(one.id, question):
                said.add(plain)
                kept.append(one)
        return kept

    def _latest_first(self, query: str, hits: Sequence[MemoryHit]) -> tuple[MemoryHit, ...]:
        """Put before each of the first hits what the owner said later in its place."""
        order: list[MemoryHit] = []
        for place, hit in enumerate(hits):
            later = self._later(query, hit) if place < N_COMPARED else None
            known = {one.id for one in order}
            order += [one for one in (later, hit) if one is not None and one.id not in known]
        return tuple(order)

    def _as_changed(self, question: str, said: Recalled) -> Recalled:
        """Answer in the words of what the owner said later in the place of what an answer rests on, if there is any."""
        later = self._later(question, said.evidence[0]) if said.evidence and said.kind != "unknown" else None
        if later is None:
            return said
        evidence = (later, *(hit for hit in said.evidence if hit.id != later.id))
        text = to_owner(telling_sentence(question, later.text))
        return Recalled("said", text, evidence, said.chance, _joined(evidence))

    def _later(self, query: str, hit: MemoryHit) -> MemoryHit | None:
        """Find the owner's later statement that replaces what one says on the question; of several, the surest, and
        what replaces that."""
        if hit.kind not in _OWN or not hit.is_owners or not _states(hit) or _PAST.search(query):
            return None
        id = hit.id.removeprefix(FACT)
        told = self._events.told(self._facts.get(int(id)).events) if hit.kind == "fact" and id.isdigit() else ()
        said = told[0] if told else hit
        where = Filter(since=said.at + dt.timedelta(seconds=1), kinds=tuple(_OWN))
        found = [
            replace(one, score=hit.score)
            for one in self._events.search(said.text, limit=N_LATER, where=where)
            if one.is_owners and _states(one) and not self._is_outdated(one.id, query)
        ]
        read = self._events.statements([query, said.text, *(one.text for one in found)])
        if not read or not found:
            return None
        asked, first, *others = read
        sure = [sureness(asked, first, other) for other in others]
        places = [place for place in range(len(found)) if sure[place] > 0]
        if not places:
            return None
        best = max(places, key=sure.__getitem__)
        for place in sorted(places, key=lambda place: found[place].at):
            if found[place].at > found[best].at and sureness(asked, others[best], others[place]) > 0:
                best = place
        return found[best]

    def facts_for(self, query: str) -> tuple[tuple[Fact, float], ...]:
        """Find current facts that answer `query`, best first, each with the share of the question's words it holds;
        also ended ones if the question asks for the past."""
        if _OWNER.fullmatch(query):
            mine = sorted(self._facts.believed(ME), key=lambda fact: -fact.id)
            return tuple((fact, 1.0) for fact in mine)
        asked = _asked(query)
        if not asked:
            return ()
        held = self._facts.believed()
        if _PAST.search(query):
            asked = [word for word in asked if not _PAST.fullmatch(word)] or asked
            held = (*held, *self._facts.ended())
        kin = self._kin(held)
        scored = [(fact, _covered(asked, fact, kin)) for fact in held]
        found = [(fact, score) for fact, score in scored if score >= _LEAST_COVERED]
        if all(word in KIN for word in asked):  # "who is my sister": not where she lives
            found = [pair for pair in found if pair[0].subject == ME] or found
        found.sort(key=lambda pair: (-round(pair[1], 3), pair[0].until is not None, -pair[0].confidence, -pair[0].id))
        return tuple(found)

    def _is_outdated(self, event: str, query: str) -> bool:
        """Return whether what the event says on the question is outdated: facts that ended answer it better than those
        that rest on it and still hold."""
        resting = self._facts.from_event(event)
        if not resting or _PAST.search(query):
            return False
        current = [fact for fact in resting if _is_current(fact)]
        if not current:
            return True
        asked = _asked(query)
        kin = self._kin(self._facts.believed(ME))
        gone = [fact for fact in resting if fact.unlearnt is None and not _is_current(fact)]
        best = max((_covered(asked, fact, kin) for fact in current), default=0.0)
        return any(_covered(asked, fact, kin) > best for fact in gone)

    @staticmethod
    def _kin(held: Sequence[Fact]) -> dict[str, str]:
        relatives = [fact for fact in held if fact.subject == ME and fact.relation in KIN.values()]
        return {fact.relation: fact.value.casefold() for fact in relatives}


_ASKING = word_set("remember know tell told say said find look search mention mentioned much many long thing things")


_RELATING = word_set("like called name").union(*_MEANS.values())


def _asked(query: str) -> list[str]:
    """The content words of a question; if there are none, those that name a relation ("what do I like")."""
    words = [word for word in telling_words(query) if word not in _ASKING]
    return [word for word in words if word not in STOP_WORDS] or [word for word in words if word in _RELATING]


_OWN = frozenset({"fact", "request", "remembered"})
"""Kinds of events and facts that the owner said, where no stranger may have written them."""


def _states(hit: MemoryHit) -> bool:
    return hit.kind == "fact" or any(is_told for _, _, is_told in statements(hit.text))


def _is_current(fact: Fact) -> bool:
    return fact.unlearnt is None and fact.until is None and fact.status != "revoked"


def _covered(asked: list[str], fact: Fact, kin: Mapping[str, str]) -> float:
    """The share of the question's words that a fact holds; 0 if all they share is a common relation."""
    subject = set(_words(fact.subject))
    relation = set(_words(fact.relation)) | _MEANS.get(fact.relation, frozenset())
    relation |= {word for word, means in KIN.items() if means == fact.relation}
    value = set(_words(fact.value))
    mentioned = {name for word in asked if (name := kin.get(KIN.get(word, ""))) is not None}
    if mentioned and fact.subject != ME and fact.subject.casefold() in mentioned:
        subject |= {word for word in asked if KIN.get(word, "") in kin}
    n_met, tells = 0, False
    for word in asked:
        in_subject, in_value = _meets(word, subject), _meets(word, value)
        in_relation = _meets(word, relation)
        n_met += in_subject or in_value or in_relation
        tells |= in_subject or in_value or (in_relation and fact.subject == ME)
    return n_met / len(asked) if tells else 0.0


def _speaks_nearer(question: str, said: Recalled, at_home: HomeAnswer) -> bool:
    """Return whether what is remembered holds more of a question's words than what was read at home."""
    if said.kind in ("unknown", "listed") or not said.evidence or not at_home.witnesses:
        return False
    first, evidence = at_home.witnesses[0], said.evidence[0]
    here, there = covered(question, evidence.text), covered(question, f"{first.where} {first.quote}")
    return here > there or (here == there and evidence.is_owners and _is_strangers(at_home))


def _is_strangers(at_home: HomeAnswer) -> bool:
    """Return whether an answer from the folder rests on what a stranger may have written."""
    return bool(at_home.witnesses) and at_home.witnesses[0].is_strangers


def _hit(found: Found) -> MemoryHit:
    return MemoryHit(found.id, found.text, found.kind, found.at, found.total, found.person, found.label)


def _listed(hits: tuple[MemoryHit, ...]) -> Recalled:
    """List what there is on a matter; `unknown` where there is nothing."""
    return Recalled("listed", "", hits, label=_joined(hits)) if hits else Recalled("unknown", NOTHING, chance=0.0)


def _joined(hits: Iterable[MemoryHit]) -> Label:
    return reduce(Label.join, (hit.label for hit in hits), PUBLIC)


_LINE = re.compile(r"(?:\d{1,2} \w+ )?\d\d:\d\d (?:(?P<person>[A-Z][\w.'’-]+(?: [A-Z][\w.'’-]+){0,3}): )?(?P<text>.+)")


def _line_of(found: Found, question: str) -> Found:
    """Pick the line of a day's summary nearest to the question, with its speaker: never another's as the owner's."""
    lines = [line for row in found.text.splitlines() if (line := _LINE.fullmatch(row.strip()))]
    if found.kind != SUMMARY or not lines:
        return found
    asked = set(_asked(question))

    def shared(line: re.Match[str]) -> tuple[int, int]:
        said = set(telling_words(line.group()))
        return len(asked & said), len({word[:4] for word in asked} & {word[:4] for word in said})

    best = max(lines, key=shared)
    return replace(found, text=best["text"], person=best["person"] or found.person)


def _is_near(found: Found, query: str) -> bool:
    """Return whether an event is about what is searched, and not only vaguely near."""
    asked = {word[:4] for word in _asked(query)}
    said = {word[:4] for word in telling_words(f"{found.person} {found.text}")}
    return len(asked & said) >= _LEAST_SHARE * len(asked) or max(found.cosine, found.close) >= _LEAST_COSINE


def _alike(one: Fact, other: Fact) -> bool:
    return one.subject.casefold() == other.subject.casefold() and one.relation == other.relation


def _together(facts: Sequence[Fact], zone: dt.tzinfo | None) -> str:
    """Write facts of one subject and relation in one sentence, the earlier learnt first."""
    said = [sentence(fact, zone) for fact in sorted(facts, key=lambda fact: fact.id)]
    start = said_of(facts[0].relation, facts[0].subject, "")
    if len(said) > 1 and all(one.startswith(start) for one in said):
        said = [said[0], *(one.removeprefix(start) for one in said[1:])]
    return " and ".join(filter(None, (", ".join(said[:-1]), said[-1])))


def _tells_time(fact: Fact) -> bool:
    return (
        fact.since is not None
        or fact.until is not None
        or fact.relation == "birthday"
        or _TIME.search(fact.value) is not None
    )


_TIME = re.compile(rf"\d|\b(?:{'|'.join(MONTHS)}|\w+days?|noon|midnight|morning|evening|night|o'clock)\b", re.I)


def _words(text: str) -> list[str]:
    return [word for word in telling_words(text) if word != ME]


def _meets(word: str, words: set[str] | frozenset[str]) -> bool:
    """Return whether one of the words is `word`, except for its ending."""
    if word in words:
        return True
    stem = max(4, len(word) - 3)
    return len(word) > 3 and any(other[:stem] == word[:stem] and abs(len(other) - len(word)) <= 3 for other in words)


def _as_hit(fact: Fact, score: float, zone: dt.tzinfo | None) -> MemoryHit:
    id, at = f"{FACT}{fact.id}", fact.learnt.astimezone(zone)
    return MemoryHit(id, sentence(fact, zone), "fact", at, score, label=fact.label)


def sentence(fact: Fact, zone: dt.tzinfo | None = None) -> str:
    """Write a fact with its beginning, end and doubt: `you live in Ghent, since 1 March 2019`.

    Args:
        zone: The owner's zone; the machine's by default.
    """
    text = said_of(fact.relation, fact.subject, fact.value)
    if fact.since is not None:
        text += f", since {_day(fact.since.astimezone(zone))}"
    if fact.until is not None:
        text += f", until {_day(fact.until.astimezone(zone))}"
    if fact.confidence < 0.75:
        text += " (not sure)"
    return text


def _day(moment: dt.datetime) -> str:
    is_year = (moment.month, moment.day, moment.hour) == (1, 1, 0)
    return f"{moment.year}" if is_year else f"{moment.day} {MONTHS[moment.month - 1].capitalize()} {moment.year}"
