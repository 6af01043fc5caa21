"""Answers a question from what was told: which memory holds the answer, and which words of it are the answer."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hearth import patterns as re
from hearth.language.tokens import word_set
from hearth.memory.event_memory import EventMemory, Found
from hearth.memory.facts import KIN
from hearth.memory.search.search_words import STOP_WORDS, Period, fitted, telling_words
from hearth.protocols import RecalledKind

if TYPE_CHECKING:
    from hearth.models.span_extractor import SpanReader


# ── Answer spans ──────────────────────────────────────────────────────────────────────────────────────────
# Finds the words of an event that answer a question, and no more: a name, a place, a thing, what somebody did.
#
# Every run of up to `N_MOST_WORDS` words within a sentence is a candidate; a weighted sum of its features
# (`LOOKED_AT`) chooses. The weights are fitted (`python -m hearth_bench.measure.memory.memory_at_scale
# --fit-answers`) by how much a candidate has in common with the right answer, and never depend on a word itself: only
# on its form, its place, and the kind of thing asked for.
#
# Covered: who, whose, where, what, which, what somebody did or thinks; several things where several are asked for.
# Not covered: answers that are no single run of words; why and how questions and yes-or-no questions: the sentence
# answers.

N_MOST_WORDS = 8
N_EVENTS = 3
"""Number of the best events that are read."""
N_LISTED = 4
_MOST_CHARACTERS_READ = 1200
LOOKED_AT = (
    *("rank", "sentence", "asks", "told_by_other", "caption", "opening"),
    *("one_word", "two_words", "words", "new", "known", "stop_share", "pronoun", "verb_first", "noun_ends"),
    *("capital", "all_capital", "number", "quoted", "kin"),
    *("near", "after", "ends_sentence", "after_verb", "after_determiner", "after_preposition", "cut"),
    *("where_in", "where_capital", "who_capital", "who_kin", "who_new", "does_verb", "does_words", "named_capital"),
    *("list_words", "kind_near", "feels_words", "read_start", "read_end"),
)
"""Names of a candidate's features: see `_looked_at`."""
_TOKEN = re.compile(r"[\w'’&-]+(?:\.\d+)?|[^\w\s]")
_SENTENCE = re.compile(r"(?:[^.!?\n]|(?<=\d)\.(?=\d))+[.!?]*")
_EDGES = STOP_WORDS | word_set("""really just also very too then there here been being got get gets getting going go
    goes went has have had was were i'm i've it's that's i'd i'll we're we've you're don't didn't can't yeah yes hey wow
    thanks thank well still even ever always lot lots bit some something much many""")
_KEPT_FIRST = frozenset({"no", "not", "my", "his", "her", "their", "our", "up", "out", "off"})
_DETERMINERS = word_set("a an the my his her their our your some this these those")
_PLACING = word_set("in at to from near by around into on through across")
_LEADING = _PLACING | word_set("behind under on above below beside between over inside outside with")
_PREPOSITIONS = _PLACING | word_set("for with about of as like called named")
_PRONOUNS = word_set("i i'm i've i'd i'll you we we're it it's he she they me us them that that's")
_CLAUSE = _PRONOUNS | frozenset({"and", "but", "so", "because", "which", "who"})
_VERB = re.compile(r"\w{2,}(?:ing|ed)|is|are|was|were|am|be|got|went|made|took|saw|bought|love|like|enjoy|have|had|do")
_WHO = re.compile(r"\b(?:who|whom|whose)\b", re.I)
_ASKS_WHERE = re.compile(r"\bwhere\b|\b(?:what|which) (?:city|country|place|state|town)\b", re.I)
_DOES = re.compile(
    r"\bwhat\b.*\b(?:do|doing|done|happen(?:ed|s)?)\b[\s?]*(?:\w+\s*){0,6}\??$|\bhow (?:did|does|do|is|was)\b", re.I
)
_NAMED = re.compile(r"\b(?:name|called|named|title|which|what (?:book|song|movie|film|game|band|brand))\b", re.I)
_FEELS = re.compile(
    r"\b(?:feel|felt|think|thought|describe|say|said|opinion|reaction|inspired|motivated|why|reason)\b", re.I
)
_LISTS = re.compile(
    r"\b(?:what|which)(?: (?!was|is|has|does|his|this)\w+){0,2} \w+(?<!s)s\b(?<!does)(?<!was)(?<!is)(?<!has)", re.I
)
_ASKED_KIND = re.compile(
    r"\b(?:what|which)(?: kind| type| sort)?(?: of)? (?!(?:is|was|are|were|did|does|do|has|have) )(\w+)", re.I
)


_LIST_MARGIN = 0.12
"""Most by which a further item of a list may score below the best."""
_LEAST = 0.1
"""Least by which the best must score above the mean; otherwise the whole sentence is the better answer."""
_FAR = -12.0
"""The least log-probability that counts."""


class WordReader:
    """The shipped reader of arguments, asked a question instead of a parameter; opened at first use."""

    def __init__(self, cache: Path | None = None) -> None:
        self._cache = cache
        self._reader: SpanReader | None = None

    def edges(self, question: str, text: str) -> tuple[dict[int, float], dict[int, float]]:
        """Log-probabilities that the answer starts, and ends, at a character of `text`.

        Raises:
            ConfigError, MissingExtraError: The reader cannot be opened.
        """
        from hearth.models.span_extractor import Form, Question, SpanReader  # most questions need none of it

        if self._reader is None:
            with as_file(files("hearth.data") / "reader.npz") as path:
                self._reader = SpanReader.open(path, self._cache)
        said = self._reader.read(Form("answer", (Question(question),)), text).answers[0]
        starts = {int(at): max(_FAR, float(c)) for at, c in zip(said.spans[:, 0], said.start, strict=True)}
        ends = {int(at): max(_FAR, float(c)) for at, c in zip(said.spans[:, 1], said.end, strict=True)}
        return starts, ends

    def rest(self) -> None:
        """Hand its memory back; the next question opens it again."""
        self._reader = None


@dataclass(frozen=True, slots=True)
class Span:
    """A run of words in an event."""

    text: str
    lead: str
    """The preposition and the article or possessive before it; empty if there is none."""
    looked_at: tuple[float, ...]
    """Features: one number for each of `LOOKED_AT`."""
    event: int
    """Position of its event among the events found."""


def is_asked_for(question: str) -> bool:
    """Return whether a question asks for a thing, a person, a place or a deed, and not for a reason or a yes."""
    return _ASKS_THING.match(question) is not None


_ASKS_THING = re.compile(r"\s*(?:(?:in|at|on|to|for|from|with|of) )?(?:who|whom|whose|where|what|which)\b", re.I)


def spans_for(question: str, found: Sequence[Found], reader: WordReader | None = None) -> tuple[Span, ...]:
    """Find the runs of words that answer, best first: one, or up to `N_LISTED` if several things are asked for; none if
    the whole sentence is the better answer."""
    spans = candidates(question, found, reader)
    if not spans:
        return ()
    scores = np.array([span.looked_at for span in spans]) @ _weights()
    order = np.argsort(-scores, kind="stable").tolist()
    if scores[order[0]] < scores.mean() + _LEAST:
        return ()
    if not asks_for_several(question):
        return (spans[order[0]],)
    chosen: list[Span] = []
    for place in order:
        if scores[place] < scores[order[0]] - _LIST_MARGIN or len(chosen) == N_LISTED:
            break
        words = set(telling_words(spans[place].text))
        if all(not words & set(telling_words(other.text)) for other in chosen):
            chosen.append(spans[place])
    return tuple(chosen)


_OWN_WORDS = {"i am": "you are", "i'm": "you're", "i was": "you were", "i": "you", "i've": "you've", "i'll": "you'll"}
_OWN_WORDS |= {"i'd": "you'd", "my": "your", "mine": "yours", "me": "you", "myself": "yourself"}
_OWN_WORDS |= {"we": "you", "we're": "you're", "we've": "you've", "our": "your", "ours": "yours", "us": "you"}
_OWN_WORD = re.compile(rf"\b(?:{'|'.join(sorted(_OWN_WORDS, key=len, reverse=True))})\b", re.I)


def to_owner(text: str, *, is_sentence: bool = True) -> str:
    """Turn the owner's own words to the second person: `I lent my drill` becomes `You lent your drill`."""
    said = _OWN_WORD.sub(lambda m: _OWN_WORDS[m[0].replace("’", "'").casefold()], text.replace("’", "'"))
    return said[:1].upper() + said[1:] if is_sentence else said


def told(span: Span, found: Sequence[Found]) -> str:
    """Write a span as it is said to the owner: for the owner's own words "behind your coats" instead of "coats"."""
    if found[span.event].person:
        return span.text
    return to_owner(f"{span.lead} {span.text}" if span.lead else span.text, is_sentence=False)


def asks_for_several(question: str) -> bool:
    """Return whether the question asks for several things: "which books"."""
    return _LISTS.match(question.strip()) is not None


def candidates(question: str, found: Sequence[Found], reader: WordReader | None = None) -> list[Span]:
    """List every run of words in the best events that may answer."""
    asked = _Asked(question, found)
    spans: list[Span] = []
    for place, event in enumerate(found[:N_EVENTS]):
        text = event.text[:_MOST_CHARACTERS_READ]
        starts, ends = reader.edges(question, text) if reader is not None else ({}, {})
        sentences = list(_SENTENCE.finditer(text))
        shares = [asked.share(sentence.group()) for sentence in sentences]
        for sentence, share in zip(sentences, shares, strict=True):
            asks = sentence.group().rstrip().endswith("?")
            around = _Around(place, share - max(shares), asks, asked.is_told_by_other(event), starts, ends)
            tokens = [_Token.of(match, sentence.start(), asked) for match in _TOKEN.finditer(sentence.group())]
            spans += _of_sentence(tokens, asked, around)
    return spans


@dataclass(frozen=True, slots=True)
class _Around:
    """Features that all candidates of a sentence share."""

    event: int
    lacks: float
    """Share of the question it holds, less that of the best sentence; 0 or less."""
    asks: bool
    is_told_by_other: bool
    starts: dict[int, float]
    ends: dict[int, float]


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    low: str
    start: int
    end: int
    is_word: bool
    is_known: bool
    """True if the question says it, too."""

    @classmethod
    def of(cls, match: re.Match[str], offset: int, asked: _Asked) -> _Token:
        low = match.group().casefold().replace("’", "'")
        is_known = low[:5] in asked.stems
        return cls(match.group(), low, offset + match.start(), offset + match.end(), low[0].isalnum(), is_known)


class _Asked:
    """Features of a question that are computed before its candidates."""

    def __init__(self, question: str, found: Sequence[Found]) -> None:
        self.people = {word for event in found[:1] for person in event.people for word in telling_words(person)}
        words = [word for word in telling_words(question) if word.removesuffix("s") not in self.people]
        self.stems = {word[:5] for word in words}
        self.is_who = _WHO.search(question) is not None
        self.is_where = _ASKS_WHERE.search(question) is not None
        self.is_deed = _DOES.search(question) is not None
        self.is_named = _NAMED.search(question) is not None
        self.is_felt = _FEELS.search(question) is not None
        self.is_list = asks_for_several(question)
        kind = _ASKED_KIND.search(question)
        self.kind = kind[1].casefold()[:5] if kind else ""

    def share(self, sentence: str) -> float:
        return len(self.stems & {word[:5] for word in telling_words(sentence)}) / max(1, len(self.stems))

    def is_told_by_other(self, event: Found) -> bool:
        return len(event.people) == 1 and event.person not in event.people


def _of_sentence(tokens: Sequence[_Token], asked: _Asked, around: _Around) -> list[Span]:
    places = [k for k, token in enumerate(tokens) if token.is_known]
    found = []
    for first, begins in enumerate(tokens):
        if not begins.is_word or (begins.low in _EDGES and begins.low not in _KEPT_FIRST):
            continue
        for last in range(first, min(len(tokens), first + N_MOST_WORDS)):
            ends = tokens[last]
            if not ends.is_word:
                if ends.text == "," and last + 1 < len(tokens) and tokens[last + 1].low in _CLAUSE:
                    break
                if ends.text in ",'’\"-&":
                    continue
                break
            if ends.low in _EDGES:
                continue
            looked = _looked_at(tokens, places, first, last, asked, around)
            if looked is not None:
                text = _said(tokens[first : last + 1])
                found.append(Span(text, _lead(tokens, first), looked, around.event))
    return found


def _said(tokens: Sequence[_Token]) -> str:
    """Join the words with their original spaces."""
    said = tokens[0].text
    for before, token in pairwise(tokens):
        said += (" " if token.start > before.end else "") + token.text
    return said


def _lead(tokens: Sequence[_Token], first: int) -> str:
    start = first
    if start and tokens[start - 1].low in _DETERMINERS:
        start -= 1
    if start and tokens[start - 1].low in _LEADING:
        start -= 1
    return _said(tokens[start:first]) if start < first else ""


def _looked_at(
    tokens: Sequence[_Token], places: Sequence[int], first: int, last: int, asked: _Asked, around: _Around
) -> tuple[float, ...] | None:
    """Compute the features of one candidate; None if it says nothing that the question did not."""
    form = _of_form(tokens[first : last + 1], is_opening=first == 0)
    if form["new"] <= 0:
        return None
    features = {
        "rank": around.event,
        "sentence": around.lacks,
        "asks": around.asks,
        "told_by_other": around.is_told_by_other,
        "read_start": around.starts.get(tokens[first].start, _FAR),
        "read_end": around.ends.get(tokens[last].end, _FAR),
        **form,
        **_of_form_asked_for(form, asked),
        **_of_place(tokens, places, first, last, asked),
    }
    return tuple(float(features[name]) for name in LOOKED_AT)


def _of_form(said: Sequence[_Token], *, is_opening: bool) -> dict[str, float]:
    """Compute the features that a candidate's own words have; a capital that opens the sentence tells nothing."""
    words = [token.low for token in said]
    n = sum(token.is_word for token in said)
    n_known = sum(token.is_known for token in said)
    n_stop = sum(word in STOP_WORDS for word in words)
    inside = said[1:] if is_opening else said
    n_capital = sum(token.text[0].isupper() and token.low not in _PRONOUNS for token in inside)
    return {
        "opening": is_opening,
        "one_word": n == 1,
        "two_words": n == 2,
        "words": min(n, N_MOST_WORDS) / N_MOST_WORDS,
        "new": (n - n_known - n_stop) / n,
        "known": n_known / n,
        "stop_share": n_stop / n,
        "pronoun": any(word in _PRONOUNS for word in words),
        "verb_first": _VERB.fullmatch(words[0]) is not None,
        "noun_ends": words[-1].endswith(("ing", "ly", "ed")),
        "capital": n_capital > 0,
        "all_capital": n_capital == n - n_stop,
        "number": any(word[0].isdigit() for word in words),
        "kin": any(word in KIN for word in words),
    }


def _of_form_asked_for(form: Mapping[str, float], asked: _Asked) -> dict[str, float]:
    """Compute the features of form that count for one kind of question alone."""
    return {
        "where_capital": asked.is_where and form["capital"],
        "who_capital": asked.is_who and form["all_capital"],
        "who_kin": asked.is_who and form["kin"],
        "who_new": asked.is_who and (form["one_word"] or form["two_words"]),
        "does_verb": asked.is_deed and form["verb_first"],
        "does_words": asked.is_deed * form["words"],
        "named_capital": asked.is_named and form["all_capital"],
        "list_words": asked.is_list * form["words"],
        "feels_words": asked.is_felt * form["words"],
    }


def _of_place(
    tokens: Sequence[_Token], places: Sequence[int], first: int, last: int, asked: _Asked
) -> dict[str, float]:
    """Compute the features of what stands around a candidate in its sentence."""
    before = tokens[first - 1].low if first else ""
    after = tokens[last + 1].low if last + 1 < len(tokens) else "."
    distance = min((max(first - k, k - last, 0) for k in places), default=12)
    is_placed = before in _PLACING or (before in _DETERMINERS and first > 1 and tokens[first - 2].low in _PLACING)
    return {
        "caption": any(token.text == "[" for token in tokens[:first]),
        "quoted": before in ('"', "“"),
        "near": 1 / (1 + distance),
        "after": any(k < first for k in places),
        "ends_sentence": not after[0].isalnum(),
        "after_verb": _VERB.fullmatch(before) is not None,
        "after_determiner": before in _DETERMINERS,
        "after_preposition": before in _PREPOSITIONS,
        "cut": after[0].isalnum() and after not in _EDGES,
        "where_in": asked.is_where and is_placed,
        "kind_near": bool(asked.kind) and after[:5] == asked.kind,
    }


@cache
def _weights() -> NDArray[np.float64]:
    kept = fitted("answer_weights")["spans"]
    return np.array([kept[name] for name in LOOKED_AT])


# ── Question answering ────────────────────────────────────────────────────────────────────────────────────
# Answers questions from memory: from facts, else from the words of events, with speaker and time; works out dates and
# spans of time; or gives no answer.
#
# Answers are extractive: every word of an answer is in a fact or an event, or is a date that an event's own words
# give relative to when they were said ("yesterday", said on 8 May, is 7 May). The kind of answer is read from the
# question's first words; "Answer spans" picks the words of a sentence that are asked for.
#
# Whether there is an answer at all is decided by two probabilities, each fitted, each with its threshold: that the
# evidence is about what is asked (`RELATED`; fitted on another conversation's questions), and that it is about the
# person asked about (`CONCERNS`; fitted on questions that name the wrong person). The second counts if one person is
# named, or the question says "I".
#
# Covered: facts first; when, how long ago, how long until, how long, how many; the last time; which of two came
# first; who, where, what. Not covered: answers that several events give together (they are listed as evidence),
# yes-or-no questions other than of order (the sentence is quoted, the owner judges), inference, and languages other
# than English.

N_EVIDENCE = 3
N_WEIGHED = 10
"""Number of events from which the probability of an answer is computed."""
RELATED = ("covered", "cosine", "close", "margin", "covered_there", "heard", "names", "bias")
"""Features for the probability that the evidence is about what is asked: see `signs_of_evidence`."""
CONCERNS = (
    *("close", "person", "lead", "covered_there", "lead_covered", "lead_total"),
    *("states", "speaks_of_itself", "others_answer", "bias"),
)
"""Features for the probability that it is about the person asked about."""
NOTHING = "I remember nothing about that."
NOT_SAID = "I don't know: nothing I remember says that."
_WHEN = re.compile(
    r"\s*(?:when|(?:on |in |at |since )?(?:what|which) (?:day|date|year|month|week)|how long (?:until|till|before))\b",
    re.IGNORECASE,
)
_AGO = re.compile(r"\s*how (?:long ago|long (?:has|is) it been since|long until|long till)\b", re.IGNORECASE)
_LASTS = re.compile(r"\s*how (?:long|old)\b", re.IGNORECASE)
_COUNTS = re.compile(r"\s*(?:how (?:many|much|often)|what number)\b", re.IGNORECASE)
_NUMBER = r"(?:\d[\d,.]*|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|a few|a couple of|several)"
_LENGTH = re.compile(rf"\b{_NUMBER}[ -](?:minute|hour|day|week|month|year|decade)s?\b(?: (?:ago|old))?", re.IGNORECASE)
_COUNT = re.compile(
    r"\b(?:\d[\d,.]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|once|twice)\b"
    r"(?: (?:times?|a) (?:a |per )?(?:day|week|month|year))?(?: times)?",
    re.IGNORECASE,
)
_MUCH = re.compile(
    r"\s*(?:how (?:much|far|high|tall|heavy|big|wide|deep)|what(?:'s| is| was)? the price)\b", re.IGNORECASE
)
_AMOUNT = re.compile(
    r"(?:[€$£]\s?\d[\d,.]*\d|\b\d(?:[\d,.]*\d)?\s?(?:%|€|°C?|(?!(?:and|or|at|in|on|to|for|of|it|from|every)\b)[a-z]+)?)",
    re.IGNORECASE,
)
_ORDER = re.compile(r"\s*(?:did|was|were|has|have|had)\s+(.+?)\s+(before|after)\s+(.+?)[\s?]*$", re.IGNORECASE)
_FIRST = re.compile(
    r"\s*(?:which|what) (?:was|came|happened|did .+? do) (first|last|earlier|later)[,:]?\s+(.+?)\s+or\s+(.+?)[\s?]*$",
    re.IGNORECASE,
)
_LATEST = re.compile(r"\b(?:last|latest|most recent(?:ly)?)\b", re.IGNORECASE)
_EARLIEST = re.compile(r"\b(?:first|earliest)\b", re.IGNORECASE)
_MINE = re.compile(r"\b(?:i|i'm|i've|my|mine|me|we|we've|our|ours|us)\b", re.IGNORECASE)
_YOURS = re.compile(r"\byou(?:r|rs|'re|'ve)?\b", re.IGNORECASE)
_NAME = re.compile(r"(?<=\w )[A-Z]\w+")
_WORD = re.compile(r"\w+")
_WHERE = re.compile(r"\s*(?:where|in which|on which|at which)\b", re.IGNORECASE)
_PLACE = re.compile(
    r"\b(?:(?:next|close) to|in front of|in|on|at|under|behind|above|below|beside|between|over|inside|outside|near|by"
    r"|with|to) [^.!?;]+?(?=,? (?:and|but|so|because|it|he|she|they|i|we)\b|[.!?;]|$)",
    re.IGNORECASE,
)
_THING = re.compile(
    r"\s*(?:what|which|who|when|where)(?:'s|’s| is| are| was| were)(?: the)? (?:my|our|the|\w+'s|\w+’s) "
    r"([\w'’]+(?: \w+){0,2})[\s?.!]*$",
    re.IGNORECASE,
)
_OF_ME = re.compile(r"\s*(?:am|are|do|was|were|have|had) (?:i|we)\b", re.IGNORECASE)
_VAGUE = frozenset({"name", "number", "called", "again", "now", "favourite", "favorite", "kept", "stored", "address"})
_RELATIONS = tuple(
    frozenset(words.split())
    for words in (
        "live lives living lived home moved move",
        "work works working worked job employer company office started",
        "birthday born birth",
        "old age years year turned turns",
        "allergic allergy allergies intolerant",
        "study studies studying",
        "married husband wife spouse partner",
    )
)
_IS_PAST = re.compile(r"\b(?:did|was|were|had|has|have|ago)\b", re.IGNORECASE)
_DAY = dt.timedelta(days=1)
_LONGEST = 370 * _DAY
"""A period longer than a year is no answer to when."""


@dataclass(frozen=True, slots=True)
class MemoryAnswer:
    """The answer of memory to a question."""

    kind: RecalledKind
    text: str
    """The answer alone; for `unknown`, that there is none."""
    chance: float
    """Probability that the evidence answers the question, in [0, 1]."""
    evidence: tuple[Found, ...] = ()
    """Best first."""
    period: Period | None = None
    """For kind `time`: the period that `text` states."""
    n_resting: int = 1
    """How many of the evidence, from the best on, the words of `text` are from."""


def answer_from(
    memory: EventMemory,
    question: str,
    found: Sequence[Found],
    now: dt.datetime,
    *,
    is_forced: bool = False,
    reader: WordReader | None = None,
) -> MemoryAnswer:
    """Answer `question` as of `now` from the events found, best first.

    Args:
        is_forced: Answer as long as there is any event, even if it is unlikely to be right.
        reader: Helps to find the words that are asked for; without it, only their form and place are used.
    """
    if not found:
        return MemoryAnswer("unknown", NOT_SAID, 0.0)
    if (ordered := _order(memory, question, now)) is not None:
        return ordered
    if not (is_forced or found[0].people):
        found = [one for one in found if not is_of_another_matter(question, one)] or found
    chances = chances_of(signs_of_evidence(memory, question, found))
    is_other = not found[0].people and is_of_another_matter(question, found[0])
    if not is_forced and (is_other or not chances.is_enough):
        return MemoryAnswer("unknown", NOT_SAID, chances.both, tuple(found[:N_EVIDENCE]))
    found = _in_time(memory, question, found, now)
    if not asks_for_time(question):
        return _told(question, found, chances.both, reader)
    period, evidence = time_in(memory, found[0], question), tuple(found[:N_EVIDENCE])
    if _AGO.match(question):
        return MemoryAnswer("ago", ago(period.start, now), chances.both, evidence)
    return MemoryAnswer("time", said_period(period), chances.both, evidence, period)


def _told(question: str, found: Sequence[Found], chance: float, reader: WordReader | None) -> MemoryAnswer:
    """Answer in words of the best event: those that are asked for, else the sentence that tells it."""
    best, evidence = found[0], tuple(found[:N_EVIDENCE])
    sentence = telling_sentence(question, best.text)
    for asks, says in ((_LASTS, _LENGTH), (_MUCH, _AMOUNT), (_COUNTS, _COUNT)):
        if asks.match(question) and (said := says.search(sentence) or says.search(best.text)):
            return MemoryAnswer("span", said.group().strip(), chance, evidence)
    if not best.person and _WHERE.match(question) and (place := _place_in(sentence, question)):
        return MemoryAnswer("said", to_owner(place, is_sentence=False), chance, evidence)
    if is_asked_for(question):
        picked = spans_for(question, found if best.person else found[:1], reader)
        if picked:
            used = tuple(found[event] for event in dict.fromkeys(span.event for span in picked))
            evidence = (*used, *(one for one in evidence if one not in used))[: max(N_EVIDENCE, len(used))]
            words = ", ".join(told(span, found) for span in picked)
            return MemoryAnswer("said", words, chance, evidence, n_resting=len(used))
    if not best.person:
        sentence = to_owner(sentence)
    return MemoryAnswer("said", sentence, chance, evidence)


def is_of_another_matter(question: str, event: Found) -> bool:
    """Return whether an event lacks what it must say to answer: a name in the question; for "what is my shirt size",
    each word of the thing; for "am I …", a word for oneself; for a question about a relation ("where does Ana work"),
    any word that tells of it.

    Use it only if the question names none of the speakers: people who speak of themselves leave out the name and the
    thing.
    """
    said = f"{event.person} {event.text} {event.before}"
    words = set(telling_words(said))
    if any(name.casefold() not in words for name in _NAME.findall(question)):
        return True
    stems = {word[:4] for word in words}
    thing = _THING.match(question)
    if thing and any(word[:4] not in stems for word in telling_words(thing[1]) if word not in _VAGUE):
        return True
    if _OF_ME.match(question) and not event.person and not _MINE.search(event.text):
        return True
    asked = set(telling_words(question))
    relations = [means for means in _RELATIONS if asked & means]
    return bool(relations) and not any(stems & {word[:4] for word in means} for means in relations)


def _place_in(sentence: str, question: str) -> str:
    """Find a place in the words of a sentence after those the question says; empty if it names none."""
    asked = {word[:5] for word in telling_words(question)}
    known = [match.end() for match in _WORD.finditer(sentence) if match.group().casefold()[:5] in asked]
    places = list(_PLACE.finditer(sentence))
    behind = [place for place in places if place.start() >= max(known, default=0)]
    return behind[0].group().strip(" ,") if behind else ""


def asks_for_time(question: str) -> bool:
    """Return whether the question asks for a date, or how long ago."""
    return _WHEN.match(question) is not None or _AGO.match(question) is not None


def _in_time(memory: EventMemory, question: str, found: Sequence[Found], now: dt.datetime) -> Sequence[Found]:
    """If the last or first time is asked for, put that event first among those that cover it as well as the best."""
    is_latest = _LATEST.search(question) is not None
    if not asks_for_time(question) or not (is_latest or _EARLIEST.search(question)):
        return found
    asked = _asked_stems(question, found[0])
    least = _covered(asked, found[0].text) - 0.01
    like = [one for one in found if _covered(asked, one.text) >= least and one.close >= 0.8 * found[0].close]
    past = [(time_in(memory, one, question).start, one) for one in like]
    past = [pair for pair in past if pair[0] <= now]
    if not past:
        return found
    chosen = (max if is_latest else min)(past, key=lambda pair: pair[0])[1]
    return [chosen, *(one for one in found if one is not chosen)]


@dataclass(frozen=True, slots=True)
class Signs:
    """Features of the evidence for a question."""

    related: tuple[float, ...]
    """One number for each of `RELATED`."""
    concerns: tuple[float, ...] | None
    """One for each of `CONCERNS`; None if the question is about nobody in particular."""


def signs_of_evidence(memory: EventMemory, question: str, found: Sequence[Found]) -> Signs:
    """Compute the features that show whether the events found, best first, answer the question.

    Of the best event: the share of the question's content words said in it or just before it, or in it alone; its
    cosine, its closeness, its lead over the next; the share of the names in the question that it names. And the share
    of the question's words that are in any event at all.

    Of the person asked about: whether the best event is theirs (1) or not (-1); by how much their events come closer
    than the rest, cover more, and score more; the share of the question's words in their best event; whether that one
    states something and does not speak of "you"; whether the best of the others does speak of "you", so that it may be
    an answer to them. Events without a person are the owner's; what the owner said of somebody by name counts as that
    person's, too.
    """
    best = found[0]
    asked = _asked_stems(question, best)
    covered, there = _covered(asked, f"{best.text} {best.before}"), _covered(asked, best.text)
    margin = min(3.0, best.total - found[1].total) if len(found) > 1 else 3.0
    words = [word for word in telling_words(question) if word[:5] in asked]
    heard, named = memory.heard_share(words), _named_share(question, best)
    related = (covered, best.cosine, best.close, margin, there, heard, named, 1.0)
    is_mine = not best.people and _MINE.search(question) is not None
    if len(best.people) != 1 and not is_mine:
        return Signs(related, None)
    own = [event for event in found if _is_of(event, best.people)]
    rest = [event for event in found if event not in own]
    person = 1.0 if best in own else -1.0
    lead = max((event.close for event in own), default=0.0) - max((event.close for event in rest), default=0.0)
    own_covers = max((_covered(asked, event.text) for event in own), default=0.0)
    lead_covered = own_covers - max((_covered(asked, event.text) for event in rest), default=0.0)
    lead_total = max((e.total for e in own), default=-3.0) - max((e.total for e in rest), default=-3.0)
    closest = max(own, key=lambda event: event.close, default=None)
    other = max(rest, key=lambda event: event.close, default=None)
    concerns = (
        *(best.close, person, max(-0.3, min(0.3, lead)), own_covers, lead_covered, max(-3.0, min(3.0, lead_total))),
        float(closest is not None and not closest.text.rstrip().endswith("?")),
        float(closest is not None and _YOURS.search(closest.text) is None),
        *(float(other is not None and _YOURS.search(other.text) is not None), 1.0),
    )
    return Signs(related, concerns)


def _is_of(event: Found, people: Sequence[str]) -> bool:
    """Return whether an event is the asked person's: said by them, or by the owner of them; for none, the owner's."""
    if event.person in people or not (event.person or people):
        return True
    return not event.person and any(re.search(rf"\b{re.escape(p)}\b", event.text, re.IGNORECASE) for p in people)


def _named_share(question: str, best: Found) -> float:
    """The share of the capitalised words of a question, except its first, that the event holds; 1 if there are none."""
    names = {word.casefold() for word in _NAME.findall(question)}
    said = set(telling_words(f"{best.person} {best.text} {best.before}"))
    return len(names & said) / len(names) if names else 1.0


def _asked_stems(question: str, best: Found) -> set[str]:
    names = {word for person in best.people for word in telling_words(person)}
    words = [word for word in telling_words(question) if word.removesuffix("s") not in names and word not in names]
    return {word[:5] for word in words}


def _covered(asked: set[str], text: str) -> float:
    return len(asked & {word[:5] for word in telling_words(text)}) / max(1, len(asked))


@dataclass(frozen=True, slots=True)
class Chances:
    """Probabilities that the evidence is about what is asked, and about the person asked about."""

    related: float
    concerns: float | None

    @property
    def both(self) -> float:
        return self.related if self.concerns is None else self.related * self.concerns

    @property
    def is_enough(self) -> bool:
        kept = fitted("answer_weights")
        if self.concerns is None:
            return self.related >= float(kept["least_related_alone"])
        return self.related >= float(kept["least_related"]) and self.concerns >= float(kept["least_concerns"])


def chances_of(signs: Signs) -> Chances:
    """Compute both by logistic functions, fitted by `python -m hearth_bench.measure.memory.memory_at_scale
    --fit-answers`."""
    kept = fitted("answer_weights")
    concerns = None if signs.concerns is None else _logistic(kept["concerns"], CONCERNS, signs.concerns)
    return Chances(_logistic(kept["related"], RELATED, signs.related), concerns)


def _logistic(weights: dict[str, float], names: Sequence[str], signs: Sequence[float]) -> float:
    raw = sum(float(weights[name]) * sign for name, sign in zip(names, signs, strict=True))
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, raw))))


def telling_sentence(question: str, text: str) -> str:
    """Choose the sentence with most of the question's words; among equals the longest, rather no question."""
    asked = {word[:5] for word in telling_words(question)}
    sentences = [match.group().strip() for match in _SENTENCE.finditer(text)] or [text.strip()]
    return max(
        sentences, key=lambda s: (not s.endswith("?"), len(asked & {w[:5] for w in telling_words(s)}), min(len(s), 200))
    )


def time_in(memory: EventMemory, event: Found, question: str = "") -> Period:
    """Read the time an event's words name, relative to when they were said; else that day.

    Args:
        question: If it asks for the past, "on Friday" is the Friday before, "in June" the June before.
    """
    named = [p for p in memory.times_in(event.text, event.at) if p.end - p.start <= _LONGEST]
    day = event.at.replace(hour=0, minute=0, second=0, microsecond=0)
    if not named:
        return Period(day, day + _DAY)
    period = named[0]
    if not _IS_PAST.search(question) or period.start <= event.at:
        return period
    if period.start <= day + 8 * _DAY:
        return Period(period.start - 7 * _DAY, period.end - 7 * _DAY)
    return Period(_year_before(period.start), _year_before(period.end))


def _year_before(moment: dt.datetime) -> dt.datetime:
    return moment.replace(year=moment.year - 1, day=28 if (moment.month, moment.day) == (2, 29) else moment.day)


def said_period(period: Period) -> str:
    """Write a period as a day, a month, a year, or the first and the last day."""
    start, last = period.start, period.end - dt.timedelta(seconds=1)
    if start.date() >= last.date():
        return f"{start.day} {start:%B %Y}"
    if start.day == 1 and (start.year, start.month) == (last.year, last.month) and (last + _DAY).month != last.month:
        return f"{start:%B %Y}"
    if (start.month, start.day, last.month, last.day) == (1, 1, 12, 31) and start.year == last.year:
        return str(start.year)
    return f"{start.day} {start:%B %Y} to {last.day} {last:%B %Y}"


def ago(then: dt.datetime, now: dt.datetime) -> str:
    """Write the time between in its two greatest units: "3 weeks and 2 days ago", "in 5 days", "today"."""
    days = (now.date() - then.astimezone(now.tzinfo).date()).days
    if not days:
        return "today"
    parts, left = [], abs(days)
    for name, length in (("year", 365), ("month", 30), ("week", 7), ("day", 1)):
        n, left = divmod(left, length)
        if n:
            parts.append(f"{n} {name}{'s' if n > 1 else ''}")
    said = " and ".join(parts[:2])
    return f"{said} ago" if days > 0 else f"in {said}"


def _order(memory: EventMemory, question: str, now: dt.datetime) -> MemoryAnswer | None:
    """Answer which of two things came first; None if that is not asked, or one of them is not known."""
    if asked := _ORDER.match(question):
        first, word, second = asked[1], asked[2].lower(), asked[3]
    elif asked := _FIRST.match(question):
        first, word, second = asked[2], asked[1].lower(), asked[3]
    else:
        return None
    both = [memory.look_closely(f"when {part}", limit=N_WEIGHED, now=now) for part in (first, second)]
    if not all(both) or both[0][0].id == both[1][0].id:
        return None
    chances = [
        chances_of(signs_of_evidence(memory, part, found)) for part, found in zip((first, second), both, strict=True)
    ]
    if not all(one.is_enough for one in chances):
        return None
    chance = min(one.both for one in chances)
    times = [time_in(memory, found[0], question) for found in both]
    evidence = (both[0][0], both[1][0])
    dates = f"{first}: {said_period(times[0])}; {second}: {said_period(times[1])}"
    if times[0].start < times[1].end and times[1].start < times[0].end:
        return MemoryAnswer("order", f"About the same time ({dates}).", chance, evidence, n_resting=2)
    is_first = times[0].start < times[1].start
    if word in ("before", "after"):
        said = "Yes" if is_first == (word == "before") else "No"
    else:
        said = first if is_first == (word in ("first", "earlier")) else second
    return MemoryAnswer("order", f"{said} ({dates}).", chance, evidence, n_resting=2)
