"""Finds the words of an event that answer a question, and no more: a name, a place, a thing, what somebody did.

Every run of up to `N_MOST_WORDS` words within a sentence is a candidate; a weighted sum of its features (`LOOKED_AT`)
chooses. The weights are fitted (`python -m hearth_bench.measure.memory.memory_at_scale --fit-answers`) by how much a
candidate has in common with the right answer, and never depend on a word itself: only on its form, its place, and the
kind of thing asked for.

Covered: who, whose, where, what, which, what somebody did or thinks; several things where several are asked for.
Not covered: answers that are no single run of words; why and how questions and yes-or-no questions: the sentence
answers.
"""

from __future__ import annotations

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
from hearth.language.text.tokens import word_set
from hearth.memory.event_memory import Found
from hearth.memory.facts.relations import KIN
from hearth.memory.search.fitted import fitted
from hearth.memory.search.terms import STOP_WORDS, telling_words

if TYPE_CHECKING:
    from hearth.models.span_extractor import SpanReader

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
_WHERE = re.compile(r"\bwhere\b|\b(?:what|which) (?:city|country|place|state|town)\b", re.I)
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
        self.is_where = _WHERE.search(question) is not None
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
