"""Reads passages for the answer to a question: the words that say it, yes or no, and how likely it stands there at all.

The trained reader (`models.span_extractor`, with the adapter `READER_FILE`) reads the question and one
passage together. What it says of each passage is weighed with how the passage was found (`SIGNS`) by weights fitted on
public questions over documents that are not trained on (`data/passage_weights.json`, made by
`python -m hearth_bench.measure.memory.passage_weights`): so an answer carries the probability that it is one.

Not covered: answers that several passages give together, sums and counts (`record_answers`), other languages.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np

from hearth.memory.passages.passage_cutting import sentence_at
from hearth.memory.passages.passage_store import Candidate, Passage
from hearth.memory.search.terms import telling_words
from hearth.models.encoder.lora_encoder import Array
from hearth.models.span_extractor import ABSENT, NO, SPAN, YES, Answer, Form, Question, SpanReader

READER_FILE = "answer_reader.npz"
N_READ = 6
"""Most passages that are read for one question; some 20 ms each."""
N_MOST_TOKENS = 40
SIGNS = ("bias", "margin", "span", "spread", "covered", "sentence", "unnamed", "cosine", "words", "lead")
"""What is weighed: see `_signs`."""
MOST_UNNAMED = 3
LEAST_SHARED = 0.5
"""A sentence that is told for yes or no holds more than this share of the question's words, by their beginnings."""
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
_TIMES = (
    r"\d|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|today|tomorrow|yesterday|noon"
    r"|midnight|morning|evening|afternoon|night|spring|summer|autumn|winter|christmas|easter|week|month|year|day|centur"
    r"|after|before|when|during|while|until|since)"
)
_IN = r"\s*(?:(?:on|in|at|by|until|till|since|from|for|of|after|to) )?"
_NEEDED = tuple(
    (re.compile(_IN + asks, re.IGNORECASE), re.compile(form, re.IGNORECASE))
    for asks, form in (
        (
            r"how much (?:did|does|do|is|are|was|were|will|money)\b|what.*\b(?:cost|price|total|amount|fee|salary)\b",
            rf"\A(?!.*(?:{_DAYS}))(?:.*(?<![A-Za-z\d])\d|.*\bfree\b)",
        ),
        (r"how many\b", rf"\A(?!.*(?:{_DAYS}))(?:.*(?:{_NUMBERS}))"),
        (
            r"how (?:high|tall|far|deep|wide|heavy)\b",
            r"\d\s?(?:m|cm|mm|km|kg|g|ft|feet|inch(?:es)?|miles?|met\w+|kilo\w*)\b|\A[\d.,]+\Z",
        ),
        (r"how long\b", r"\b(?:minute|hour|day|week|month|year|night|until|\d{4})|\d"),
        (r"how (?:much|old|often)\b", _NUMBERS + "|all|every|daily|week|month|year|always|never|once|twice"),
        (r"what(?:'s|’s|s| is| was)? .*\b(?:phone|telephone|mobile)(?: number)?\b", r"\d.*\d.*\d.*\d.*\d"),
        (r"what(?:'s|’s|s| is| was)? .*\b(?:number|code|pin)[\s?.!]*\Z", r"\d"),
        (r"what(?:'s|’s|s| is| was)? .*\be-?mail\b", r"@"),
        (r"who(?:m|se)?\b", r"\A(?!.*@)(?=.*[^\W\d_])"),
        (r"(?:when|(?:what|which) (?:date|day|time|year|month))\b", _TIMES),
    )
)
"""What the words that answer must hold, by how the question begins."""
_HEAD_NOUN = re.compile(
    r"\s*(?:what(?:'s|’s|s| is| was| are)? (?:the|my|our|his|her|their|[\w-]+['’]s) (?P<of>[\w -]+?)"
    r"(?: (?:of|for|from|in|at|on) (?P<rest>.*))?"
    r"|what (?:did|does|has) (?:the|my|our) (?P<who>\w+) (?:say|said|write|written|want|think)\b.*"
    r"|(?:what|which) (?P<kind>\w+) (?:do|does|did|is|was|will|has|have)\b.*)[\s?.!]*",
    re.IGNORECASE,
)
_UNSAID = frozenset(
    """amount cost day date fee name number price rent size sum time total value colour color kind sort""".split()  # noqa: SIM905 - a list of words
)
"""Nouns that what they name need not stand beside."""
LACKING = 0.4
"""What is left of the probability of an answer from a record that does not name what is asked for."""
_NAMING = frozenset({"contact", "event", "reminder"})
"""Kinds of records that say what each of their values is; prose says it in other words."""
_WHOLE_DATE = re.compile(
    r"(?:\b(?:mon|tues|wednes|thurs|fri|satur|sun)day,? )?"
    rf"(?:\b\d{{1,2}}(?:st|nd|rd|th)? {_MONTHS}\b|\b{_MONTHS} \d{{1,2}}\b(?!\d))"
    r"(?:,? \d{4}\b)?",
    re.IGNORECASE,
)
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


class AnswerReader:
    """The shipped reader of answers; opened at first use."""

    def __init__(self, cache_dir: Path | None = None) -> None:
        self._cache_dir = cache_dir
        self._reader: SpanReader | None = None

    def read(self, question: str, text: str) -> Answer:
        """Ask the question of a text. Raises: ConfigError, MissingExtraError: The reader cannot be opened."""
        if self._reader is None:
            with as_file(files("hearth.data") / READER_FILE) as path:
                self._reader = SpanReader.open(path, self._cache_dir)
        return self._reader.read(Form("answer", (Question(question),)), text).answers[0]


def asks_yes_or_no(question: str) -> bool:
    """Return whether a question is answered by yes or no."""
    return _YES_OR_NO.match(question) is not None


def read_passages(question: str, candidates: Sequence[Candidate], reader: AnswerReader) -> list[Reading]:
    """Read the likeliest passages, and return what they say, the likeliest answer first."""
    chosen = ranked(question, candidates)[:N_READ]
    most_words = max((one.words for one in chosen), default=0.0)
    readings = []
    for place, one in enumerate(chosen):
        said = reader.read(question, one.passage.read)
        text, start, score = _span(question, said, one.passage)
        signs = _signs(question, one, said, (start, score), (one.words / most_words if most_words else 0.0, place))
        kinds = np.exp(said.kinds)
        p_yes = float(kinds[YES] / max(1e-9, kinds[YES] + kinds[NO]))
        chance = chance_of(signs) if _is_near(question, one.passage, start) else 0.0
        if one.passage.kind in _NAMING and lacks_noun(question, one.passage.read):
            chance *= LACKING
        readings.append(Reading(one, text, start, p_yes, signs, chance))
    return sorted(readings, key=lambda reading: -reading.chance)


def _is_near(question: str, passage: Passage, start: int) -> bool:
    """Return whether the sentence at `start`, which would be told for yes or no, speaks of what is asked."""
    told = f"{passage.title} {passage.person} {sentence_at(passage.read, start)}"
    return not asks_yes_or_no(question) or covered(question, told) > LEAST_SHARED


def ranked(question: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Order passages by their words and meaning together, and by the share of the question's words that they hold."""
    weights = _fitted()["retrieval"]
    most = max((one.words for one in candidates), default=0.0) or 1.0

    def score(one: Candidate) -> float:
        signs = {"words": one.words / most, "cosine": one.cosine, "covered": covered(question, one.passage.read)}
        return sum(float(weights[name]) * sign for name, sign in signs.items())

    return sorted(candidates, key=lambda one: (-score(one), one.passage.number))


def covered(question: str, text: str) -> float:
    """The share of the question's content words that a text holds, by their beginnings."""
    asked = {word[:5] for word in telling_words(question)}
    return len(asked & {word[:5] for word in telling_words(text)}) / max(1, len(asked))


def _span(question: str, said: Answer, passage: Passage) -> tuple[str, int, float]:
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
    needed = next((form for asks, form in _NEEDED if asks.match(question)), None)
    for place in np.argsort(-scores, axis=None, kind="stable")[:N_MOST_SPANS]:
        first, last = np.unravel_index(int(place), scores.shape)
        start, end = int(said.spans[first, 0]), int(said.spans[last, 1])
        if np.isfinite(scores[first, last]) and (needed is None or needed.search(text[start:end])):
            start, end = _whole_date(text, start, end)
            return text[start:end].strip(), start, float(scores[first, last])
    return "", 0, -_FAR


def _whole_date(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a span that lies in a date to all of it: "Thursday" in "Thursday 17 September 2026"."""
    for found in _WHOLE_DATE.finditer(text):
        if found.start() <= start and end <= found.end():
            return found.span()
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
    held = {word[:5] for word in telling_words(text)}
    return bool(words) and words[-1][:5] not in held


def _signs(question: str, one: Candidate, said: Answer, span: tuple[int, float], rank: tuple[float, int]) -> Signs:
    """Compute the features by which a reading is weighed.

    How much likelier an answer is than none; how sure the words are, and how spread their beginnings and ends; the
    share of the question's words in the passage and in the answer's sentence; how many of the question's names and
    numbers the passage lacks; its likeness of meaning; its words against the best found; whether it was found first.

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
        *(one.cosine, rank[0], float(rank[1] == 0)),
    )


def _spread(logs: Array) -> float:
    """The entropy of a distribution, from its natural logarithms."""
    return float(-(np.exp(logs) * logs).sum())


def chance_of(signs: Sequence[float]) -> float:
    """The probability that a passage answers, from its signs."""
    weights = _fitted()["answers"]
    raw = sum(float(weights[name]) * sign for name, sign in zip(SIGNS, signs, strict=True))
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, raw))))


def least_chance() -> float:
    """The least probability at which an answer is given rather than "I don't know"."""
    return float(_fitted()["least_chance"])


@cache
def _fitted() -> dict[str, Any]:
    kept: dict[str, Any] = json.loads((files("hearth.data") / "passage_weights.json").read_text())
    return kept
