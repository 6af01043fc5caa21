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

from hearth.language.text.tokens import listed
from hearth.memory.inquiry.money import WHOLE, money_in, money_text
from hearth.memory.passages.passage_cutting import SENTENCE, sentence_at, unwrapped
from hearth.memory.passages.passage_store import Candidate, Passage
from hearth.memory.search.terms import telling_words
from hearth.memory.search.word_forms import key_of, keys_of
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
    r"\A(?!.*\d{5}).*(?:\d|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|today|tomorrow|yesterday|noon"
    r"|midnight|morning|evening|afternoon|night|spring|summer|autumn|winter|christmas|easter|week|month|year|day|centur"
    r"|after|before|when|during|while|until|since))"
)
_IN = r"\s*(?:(?:on|in|at|by|until|till|since|from|for|of|after|to) )?"
_PRICES = r"(?:did|does|do|is|are|was|were|will|would|should|can|have|has|money|rent|cost|deposit|interest|tax)\b"
_NEEDED = tuple(
    (re.compile(_IN + asks, re.IGNORECASE), re.compile(form, re.IGNORECASE))
    for asks, form in (
        (
            r"how much (?:did|does|do|is|are|was|were|will|money)\b|what.*\b(?:cost|price|total|amount|fee|salary)\b"
            r"|what (?:do|does|did) (?:i|we) (?:still )?owe\b",
            rf"\A(?!.*(?:{_DAYS}))(?:.*(?<![A-Za-z\d])\d|.*\bfree\b)",
        ),
        (r"how many\b", rf"\A(?!.*(?:{_DAYS}))(?:.*(?:{_NUMBERS}))"),
        (
            r"how (?:high|tall|far|deep|wide|heavy)\b",
            r"\d\s?(?:m|cm|mm|km|kg|g|ft|feet|inch(?:es)?|miles?|met\w+|kilo\w*)\b|\A[\d.,]+\Z",
        ),
        (r"how long\b", r"\b(?:minute|hour|day|week|month|year|night|until|\d{4})|\d"),
        (
            rf"how much (?!{_PRICES})\w+ (?:do|does|did|is|are|have|has|had|will|would|should|can|must)\b",
            rf"\A(?!.*[€£$]).*(?:{_NUMBERS})",
        ),
        (r"how (?:much|old|often)\b", _NUMBERS + "|all|every|daily|week|month|year|always|never|once|twice"),
        (r"what(?:'s|’s|s| is| was)? .*\b(?:phone|telephone|mobile)(?: number)?\b", r"\d.*\d.*\d.*\d.*\d"),
        (r"what(?:'s|’s|s| is| was)? .*\b(?:number|code|pin)[\s?.!]*\Z", r"\A(?!.*[€£$]).*\d"),
        (r"(?:what|which|how much|how high)\b.*\bpressure\b", r"\d\s?(?:bar|psi|kpa)\b"),
        (r"(?:what|which)(?:'s|’s|s| is| was)? .*\btemperature\b", r"\d\s?(?:°|degrees|c\b|f\b)|\A\d+\Z"),
        (r"what(?:'s|’s|s| is| was)? .*\be-?mail\b", r"@"),
        (r"what(?:'s|’s|s| is| was)? .*\baddress\b", r"\A(?!.*@)"),
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
_KIND_OF_CODE = re.compile(
    r"\s*what(?:'s|’s|s| is| was) (?:the|my|our|his|her|their|[\w-]+['’]s) (?P<kind>(?:[\w-]+ ){1,3})?"
    r"(?P<what>number|code|pin|password|reference|iban)\b(?: (?:of|for|to) (?P<of>[^?.!]+))?",
    re.IGNORECASE,
)
_PLACE = re.compile(r" (?:in|at|on|near|from|until|since|after|before) ", re.IGNORECASE)
_SECRET = {
    "pin": re.compile(r"\b(?:pins?|passcode|code)\b", re.IGNORECASE),
    "password": re.compile(r"\b(?:pass\w+|pw|pwd|pins?|code|key)\b|:|/", re.IGNORECASE),
    "iban": re.compile(r"\biban\b|\b[A-Z]{2}\d{2}", re.IGNORECASE),
}
"""What must stand beside a secret: one that nothing calls so is some other number."""
_OTHER_CODE = re.compile(
    r"\b(?P<kind>sort|area|dialling|post|zip|account|phone|telephone|tel|mobile|card|vat|tax)"
    r"(?: (?:number|code|no))?[.:]? ?\Z",
    re.IGNORECASE,
)
"""Says before a number that it is of a kind that is always called so: "sort code 00-11-22"."""
_UNSAID = frozenset(
    """amount cost day date fee name number price rent size sum time total value colour color kind sort""".split()  # noqa: SIM905 - a list of words
)
"""Nouns that what they name need not stand beside."""
LACKING = 0.4
"""What is left of the probability of an answer from a record that does not name what is asked for."""
ON_A_CARD = frozenset(
    map(
        key_of,
        listed(
            "phone number mobile cell email mail address birthday born birth date day year old age turn live work "
            "company employer firm organisation job street city town postcode zip reach call ring contact card details "
            "name full first last surname who whose note home when"
        ),
    )
)
"""What a card of an address book tells of somebody."""
_DEED = re.compile(
    r"\s*(?:what|which)(?: \w+){0,3}? (?:would|did|does|do|can|could|should|will|has|have|had)\b"
    r"(?!.*\b(?:date|day|dates|deadline|time|times|month|year|week|when)\b)",
    re.IGNORECASE,
)
"""Asks what somebody does, likes or chose: no mere date answers that."""
_OF_DATE = re.compile(rf"on|the|from|to|at|of|and|\d[\d:./]*(?:st|nd|rd|th)?|{_MONTHS}|\w+day|am|pm", re.IGNORECASE)
_NAMING = frozenset({"contact", "event", "reminder"})
"""Kinds of records that say what each of their values is; prose says it in other words."""
_WHOLE_DATE = re.compile(
    r"(?:\b(?:mon|tues|wednes|thurs|fri|satur|sun)day,? )?"
    rf"(?:\b\d{{1,2}}(?:st|nd|rd|th)? {_MONTHS}\b|\b{_MONTHS} \d{{1,2}}\b(?!\d))"
    r"(?:,? \d{4}\b)?",
    re.IGNORECASE,
)
_MONEY = re.compile(
    r"\bhow much\b.*\b(?:bill|invoice|rent|fee|fare|pay|paid|cost|owe|charge|price|money)s?\b"
    r"|\bwhat\b.*\b(?:price|cost|fee|rent|fare)s?\b|\s*what (?:do|does|did) (?:i|we) (?:still )?owe\b",
    re.IGNORECASE,
)
"""Asks for a sum of money: where a text has any, other numbers in it are no answer."""
_LEAST_ROWS = 3
"""A table's head and two rows: with fewer there is nothing to choose."""
_BILL = re.compile(r"how much\b.*\b(?:bill|invoice|statement|receipt|order)\b", re.IGNORECASE)
_BILLED = frozenset({"bill", "invoi", "state", "recei", "order", "much", "total"})
"""Beginnings of words by which one's own bill is asked for, whatever it calls itself."""
_LINE = re.compile(r"[^\n]+")
_AMOUNT_BEHIND = re.compile(r"[:€£$\d]")
_OF_A_VALUE = re.compile(r"\s*(?:what|which|when|how much|how many)\b", re.IGNORECASE)
_LABEL = re.compile(
    r"(?m)^[^\S\n]*(?:[-*•·][^\S\n]+)?(?P<label>[^\W\d_][\w '’-]{1,30}):[^\S\n]+(?P<value>\S[^\n]{0,80}?)[^\S\n]*$"
)
_STATED = re.compile(
    r"\b(?:the|my|our) (?P<label>[^\W\d_][\w '’-]{1,30}?)"
    r" (?:is|are|becomes|will be|changes (?:on [^.;,\n]{3,20} )?to|(?:was|is|has been|has) changed to) "
    r"(?P<value>[^\s.,;][^.,;\n]{0,60}?)(?= and |[.,;\n]|\Z)",
    re.IGNORECASE,
)
_BESIDE = re.compile(r"\b(?P<label>[^\W\d_][\w-]{1,20}) ?[:=] ?(?P<value>[^\s,;]{3,60}?)(?=[.,;]?(?:\s|\Z))")
"""A name and its value in the midst of a line: "network is Oak pw: plum-88"."""
_SHOWN = {"phone": re.compile(r"\+?\d[\d ()/-]{6,20}\d")}
"""Words that a value need not stand beside, as its form says them."""
LABELLED = 0.85
"""The chance of a value whose line names it as the question does."""
_FULL_STOP = re.compile(r"(?:(?<=[^\W_][^\W_])|(?<=[#%)]))\.\Z")
_BREAK = re.compile(r"[.!?:][^\S\n]*\n|\n[^\S\n]*(?:[-*•·]\s|[^\W\d_][\w '’-]{0,30}:\s)|\n[^\S\n]*\n")
"""Where no answer goes on: a sentence that ends with its line, an item of a list, a line that names its value."""
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

    def rest(self) -> None:
        """Hand its memory back; the next question opens it again."""
        self._reader = None


def asks_deed(question: str) -> bool:
    """Return whether a question asks what somebody does, likes or chose: "what would Maisie like for her birthday"."""
    return _DEED.match(question) is not None


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
        if asks_yes_or_no(question):
            start = _nearest_sentence(question, one.passage, start)
        signs = _signs(question, one, said, (start, score), (one.words / most_words if most_words else 0.0, place))
        told_with = f"{one.passage.person} {one.passage.read}"
        kinds = np.exp(said.kinds)
        p_yes = float(kinds[YES] / max(1e-9, kinds[YES] + kinds[NO]))
        chance = chance_of(signs) if _is_near(question, one.passage, start) else 0.0
        if (one.passage.kind in _NAMING and lacks_noun(question, one.passage.read)) or lacks_kind(question, told_with):
            chance *= LACKING
        value = _billed(question, one.passage) or _labelled(question, one.passage)
        if one.passage.kind == "contact" and _asks_beyond_card(question, one.passage.read):
            chance, value = LACKING * chance, None
        if chance < LABELLED and value is not None:
            text, start, chance = *value, LABELLED
        readings.append(Reading(one, text, start, p_yes, signs, chance))
    return sorted(readings, key=lambda reading: -reading.chance)


def _is_near(question: str, passage: Passage, start: int) -> bool:
    """Return whether the sentence at `start`, which would be told for yes or no, speaks of what is asked."""
    told = f"{passage.title} {passage.person} {sentence_at(passage.read, start)}"
    return not asks_yes_or_no(question) or covered(question, told) > LEAST_SHARED


def _nearest_sentence(question: str, passage: Passage, start: int) -> int:
    """Return where the sentence begins that says most of the question's words; `start` where none says more."""
    text = unwrapped(passage.read)
    best, most = start, covered(question, sentence_at(passage.read, start))
    for found in SENTENCE.finditer(text, len(text) - len(passage.text)):
        if (share := covered(question, found.group())) > most:
            best, most = found.start() + len(found.group()) - len(found.group().lstrip()), share
    return best


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
    asked = keys_of(question)
    return len(asked & keys_of(text)) / max(1, len(asked))


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
    is_priced = _MONEY.search(question) is not None and bool(money_in(text))
    rows = _rows_meant(question, text)
    is_of_deed = asks_deed(question)
    flowing = unwrapped(text)
    breaks = [found.start() + found.group().index("\n") for found in _BREAK.finditer(flowing)]
    for place in np.argsort(-scores, axis=None, kind="stable")[:N_MOST_SPANS]:
        first, last = np.unravel_index(int(place), scores.shape)
        start, end = int(said.spans[first, 0]), int(said.spans[last, 1])
        if (passage.kind == "note" or "|" in _line_at(text, start)) and (
            line_end := flowing.find("\n", start, end)
        ) > 0:
            end = line_end  # what is jotted down has a matter on each line
        if not np.isfinite(scores[first, last]) or any(start < one < end for one in breaks):
            continue
        said_words = text[start:end]
        if "|" in said_words.strip(" |"):  # an answer stands in one cell of a table
            continue
        if rows is not None and "|" in _line_at(text, start) and not any(a <= start < b for a, b in rows):
            continue
        if (is_of_deed and _is_mere_date(said_words)) or _is_of_other_kind(question, text, start):
            continue
        if (is_priced and not money_in(said_words)) or not _says_more(said_words, question):
            continue
        if needed is None or needed.search(said_words):
            start, end = _whole_date(text, start, end)
            return _FULL_STOP.sub("", text[start:end].strip(" |\n")), start, float(scores[first, last])
    return "", 0, -_FAR


def _is_mere_date(words: str) -> bool:
    return all(_OF_DATE.fullmatch(word) for word in re.split(r"[\s,–-]+", words) if word)


def _line_at(text: str, place: int) -> str:
    return text[text.rfind("\n", 0, place) + 1 :].partition("\n")[0]


def _billed(question: str, passage: Passage) -> tuple[str, int] | None:
    """Find the amount that a bill of several amounts states for what is asked, and its place: the only one whose label
    is said in the question ("Electricity: £57.16" for the electricity bill), else the whole. None of another's bill.
    """
    lines = [(found, money_in(found.group())) for found in _LINE.finditer(passage.read)]
    lines = [(found, amounts) for found, amounts in lines if amounts]
    asked = keys_of(question)
    held = keys_of(f"{passage.person} {passage.read}")
    if _BILL.search(question) is None or len(lines) <= 1 or not asked - _BILLED <= held:
        return None
    labels = [keys_of(_AMOUNT_BEHIND.split(found.group())[0]) for found, _ in lines]
    named = [line for line, label in zip(lines, labels, strict=True) if label and label <= asked]
    chosen = named if len(named) == 1 else [line for line in lines if WHOLE.search(line[0].group())]
    if not chosen:
        return None
    line, amounts = chosen[-1]
    value, currency, place = amounts[-1]
    return money_text(value, currency), line.start() + place


def _says_more(words: str, question: str) -> bool:
    """Return whether words say anything that the question does not: "Password" answers no question for a password."""
    said = keys_of(words)
    if not said:  # "one" of "how many buns fit on one tray"
        return not set(words.casefold().split()) <= set(question.casefold().split())
    return not said <= keys_of(question) or asks_yes_or_no(question)


def _labelled(question: str, passage: Passage) -> tuple[str, int] | None:
    """Find the value that a passage gives to what is asked for, and its place: "Password: plum-88", "the code is 12".

    Its label is said in the question, and all else that the question says stands in the passage or its title.
    """
    if _OF_A_VALUE.match(question) is None:
        return None
    asked = keys_of(question)
    unsaid = asked - keys_of(passage.read)
    if not unsaid <= _SHOWN.keys():
        return None
    needed = next((form for asks, form in _NEEDED if asks.match(question)), None)
    behind = len(passage.read) - len(passage.text)
    is_of_deed = asks_deed(question)
    for found in (one for form in (_LABEL, _STATED, _BESIDE) for one in form.finditer(passage.read, behind)):
        label = keys_of(found["label"])
        is_shown = all(_SHOWN[word].fullmatch(found["value"]) for word in unsaid)
        is_told = not (is_of_deed and _is_mere_date(found["value"]))
        if label and label <= asked and is_shown and is_told and (needed is None or needed.search(found["value"])):
            return found["value"], found.start("value")
    return None


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
    held = keys_of(text)
    return bool(words) and key_of(words[-1]) not in held


def lacks_kind(question: str, text: str) -> bool:
    """Return whether a text says nothing of the kind of number or code asked for, or of what it is for: "national
    insurance" in "what is my national insurance number" where it has an insurance's."""
    found = _KIND_OF_CODE.match(question)
    if found is None:
        return False
    secret = _SECRET.get(found["what"].casefold())
    if secret is not None and not secret.search(text):
        return True
    held = keys_of(text)
    opened = telling_words(_PLACE.split(found["of"] or "")[0])[-1:]  # the safe of "the code of the shop's safe"
    return any(key_of(word) not in held for word in [*telling_words(found["kind"] or ""), *opened])


def _is_of_other_kind(question: str, text: str, start: int) -> bool:
    """Return whether the words before a value call it another kind of code than the one asked for: "sort code"."""
    if _KIND_OF_CODE.match(question) is None:
        return False
    before = _OTHER_CODE.search(text[max(0, start - 40) : start])
    return before is not None and key_of(before["kind"].casefold()) not in keys_of(question)


def _rows_meant(question: str, text: str) -> list[tuple[int, int]] | None:
    """Return where the rows of a table lie that hold most words of the question; None where a text has no table, or no
    row holds more of them than another."""
    lines = [found for found in _LINE.finditer(text) if "|" in found.group()]
    if len(lines) < _LEAST_ROWS:
        return None
    asked = keys_of(question)
    n_held = [len(asked & keys_of(found.group())) for found in lines[1:]]
    most = max(n_held)
    if most == min(n_held):
        return None
    return [found.span() for found, n in zip(lines[1:], n_held, strict=True) if n == most]


def _asks_beyond_card(question: str, text: str) -> bool:
    """Return whether a question asks of somebody what no card tells: "what did I lend Greta"."""
    return not keys_of(question) <= keys_of(text) | ON_A_CARD


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
