"""Answers from the owner's things, by the operation that a question asks for; amounts that change or go together."""

from __future__ import annotations

import datetime as dt
import functools
import math
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hearth import patterns as re
from hearth.errors import NotFound, SandboxError, StoreError, ToolError
from hearth.language.reading import AskedBeside, asked_beside, two_questions
from hearth.language.request_sketch import sketch_of
from hearth.language.tokens import listed, word_set
from hearth.memory.answers.summaries import asked_for_summary, decision_of, summary_of
from hearth.memory.inquiry.answer_reading import (
    WHOLE,
    AnswerReader,
    People,
    Reading,
    asks_code,
    covered,
    is_order_to_say,
    is_strangers,
    known_addresses,
    least_chance,
    money_in,
    money_text,
    people_of,
    ranked,
    read_passages,
    with_apostrophes,
    with_day,
    with_named,
)
from hearth.memory.inquiry.answer_telling import (
    LEAST_BESIDE,
    SAID_ABOUT,
    answer_of,
    beside_card,
    birthday_answer,
    card_answer,
    is_on_anothers_card,
    joined_answer,
    name_described,
    named_card_answer,
    own_first,
    said_about,
    sentence_of,
    series_of_title,
    told_chance,
    witness_of,
)
from hearth.memory.inquiry.asking_mails import answer_from_letters
from hearth.memory.inquiry.counts_by_person import answer_by_person
from hearth.memory.inquiry.later_mails import later_word, sought_for, written_at
from hearth.memory.inquiry.price_comparisons import compared_answer, compares_prices
from hearth.memory.inquiry.record_answers import answer_from_dates, answer_from_records, asked_of_dates, matter_of
from hearth.memory.inquiry.sums_within import sum_answer
from hearth.memory.inquiry.table_answers import table_answer, told_in
from hearth.memory.search.collecting import (
    BRING_IN,
    FOLDERS,
    FilePassages,
    is_indexed,
    passages_in,
    place_by_known,
    reads_pictures,
    unquoted_place_of,
)
from hearth.memory.search.passage_store import Candidate, Passage, PassageStore, Verdict, sentences_of, unwrapped
from hearth.memory.search.search_words import STOP_WORDS, keys_of, telling_words, times_named
from hearth.models.injection_classifier import Detector, detector_version, is_within
from hearth.models.lora_encoder import questions_for
from hearth.protocols import CallContext, Encoder, HomeAnswer, Witness, Workspace
from hearth.storage.database import Store
from hearth.tools.memory import DOUBTED, LEAST_SURE, N_MAX_QUOTED, N_SHOWN

# ── Asked operations ──────────────────────────────────────────────────────────────────────────────────────
# Understands which operation a question asks for, in whatever words, and says it as the parsers of operations know
# it.
#
# A softmax over the sentence vector and a sketch of the words tells the operation (`OPERATIONS`), a logistic function
# of each word which stretch names the matter and which the time. Both are learnt from questions that people of many
# lives would ask (`training.asked_operations_train`, `data/asked_operations.npz`): "what number goes on Gran's cake"
# becomes "how old will Gran be on their next birthday". A logistic function of the same features tells whether a
# question is for the owner's own things at all, and not for a tool or the world.
#
# Not covered: several operations in one question, several matters compared, other languages.

OPERATIONS_FILE = "asked_operations.npz"
_SAID_AS: Mapping[str, str] = {
    "clash": "any clash {when}",
    "birthdays": "whose birthdays come up {when}",
    "next_birthday": "whose birthday is next",
    "age": "how old is {matter}",
    "next_age": "how old will {matter} be on their next birthday",
    "days_until": "how many days until {matter}",
    "since": "how long ago was {matter}",
    "sum": "how much did I spend on {matter} {when} in total",
    "mean": "what was the average amount for {matter} {when}",
    "most": "what was the highest amount for {matter} {when}",
    "least": "what was the lowest amount for {matter} {when}",
    "count_events": "how many {matter} do I have {when}",
    "count_mails": "how many mails {matter} {when}",
    "waiting": "who is waiting for an answer",
    "wanted": "what does {matter} want from me",
    "due": "by when does {matter} need an answer",
    "last_time": "when was the last {matter}",
    "next_time": "when is the next {matter}",
    "read": "",
}
"""How the parsers know each operation; what is read is not said otherwise."""
OPERATIONS = (*_SAID_AS,)
STRETCHES = ("matter", "when")
N_CELLS = 1 << 15
"""Cells of the sketch of one word in its place, a power of two."""
LEAST_TRIED = 0.6
"""Chance of an operation from which it is tried where the question is put to the owner's things."""
LEAST_TAKEN = 0.7
"""Chance of an operation from which a question is put to the owner's things, and not to a tool that lists."""
LEAST_OWN = 0.93
"""Chance from which a question that nothing else serves is put to the owner's things: nearly nine of ten such questions
reach it, one of a hundred that people ask of the world."""
_WEIGHT = 2.0
"""How much the sentence vector and the sketch count beside the bias."""
_WORD = re.compile(r"[^\W_]+(?:['’.@&-][^\W_]+)*|[^\s\w]")
_ARTICLE = re.compile(r"\A(?:the|an?|my|our|his|her|their) ", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_LONGEST_QUESTION = 300
"""Most characters of a question that is understood."""
OF_ROWS = frozenset({"sum", "mean", "most", "least", "count_events", "count_mails"})
"""Operations over all rows that hold the words of the matter."""
_CHOOSES = re.compile(
    r"\b(?:not|never|no|except|excluding|exclude|without|apart|besides|other than|but|minus|unread|unopened|starred"
    r"|flagged|attach\w*|archived?|sent|send|wrote to|online|recurring|all[- ]day|each of)\b|n['’]t\b",
    re.IGNORECASE,
)
"""Chooses rows by what none of their words says, or turns the question round."""
_OTHER_WAY = re.compile(
    r"\b(?:(?:i|we)(?:['’]m|['’]re| am| are| was| were)|am i|are we) (?:still |just )*waiting\b|\bchas(?:e|ing)\b"
    r"|\bthat (?:i|we) sent\b",
    re.IGNORECASE,
)
"""Asks for whom the owner waits."""
_OF_MONEY = re.compile(
    r"\s*(?:and |so )?how much (?:money |in all |altogether )?(?:did|do|does|has|have|had|will|was|were|is|are)\b"
    r"[^?]*\b(?:pay|pays|paid|cost|costs|spen[dt]|charged?|earn(?:ed)?|owed?|bring in|brought in)\b(?! attention)",
    re.IGNORECASE,
)
"""Asks for an amount of money, which no count of records is."""
_OF_ANSWERS = re.compile(
    r"\b(?:wait\w*|answer\w*|repl(?:y|ies|ied|ying)|respon\w+|owe\w*|hear|heard|hang\w*|unanswered|open|chas\w+"
    r"|(?:get|got|getting|write|wrote|writing|ring|call|come|came) back|back to|mails?|e-?mails?|messages?|inbox)\b",
    re.IGNORECASE,
)
"""Words of questions for who waits for an answer."""
_LEAD = re.compile(
    r"\s*(?:so |and )?how (?:long|far|soon|early|many (?:days|weeks|months|hours)|much (?:time|notice|warning))"
    r"(?:['’]?s)? (?:(?:in advance|ahead|beforehand)(?: of)?\b|(?:before|prior to)\s+(?!(?:i|we|you|he|she|it|they)\b))"
    r"(?P<what>.*?)\b(?:do|does|did|must|should|shall|can|could|need|am|are|is|has|have)\s+(?:i|we|you|he|she|they|it|one"
    r"|(?:the|my|our|your|an?)\s+\w+|somebody|someone|anyone)\b(?!(?:\s+(?:have|got|left|start|begin|arrive|come|leave|go|now|away))*\s*[?.!]*\Z)",
    re.IGNORECASE,
)
"""Asks how long ahead something is to be done: "how long before the end must we cancel"."""
_COUNTED = re.compile(r"\bhow many (?:more |other )?(?P<what>(?!times\b|days\b)[^\W\d_]+)", re.IGNORECASE)

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Understood:
    """What a question asks for."""

    operation: str
    chance: float
    matter: str
    when: str

    def said(self) -> str:
        """Say the question as the parsers know it; empty where it is to be read, or lacks the matter it needs."""
        form = _SAID_AS[self.operation]
        is_lacking = "{matter}" in form and not self.matter
        matter = _ARTICLE.sub("", self.matter, count=1) if self.operation == "count_events" else self.matter
        return "" if is_lacking else " ".join(form.format(matter=matter, when=self.when).split())


class AskedOperations:
    """The trained reader of questions."""

    def __init__(self, encoder: Encoder | None) -> None:
        """Without an encoder, or with another than ships, nothing is understood."""
        self._encoder = encoder

    def own_chance(self, question: str) -> float:
        """Return the chance that a question is for what stands in the owner's things; 0 without an encoder."""
        row = self._row_of(question)
        if row is None:
            return 0.0
        raw = float(row @ _weights()[2])
        return 1 / (1 + math.exp(-max(-50.0, min(50.0, raw))))

    def understood(self, question: str) -> Understood | None:
        """Return what a question asks for; None where no operation is likely enough, or the question chooses among rows
        by what no operation knows ("except on coffee", "unread"), or asks for whom the owner waits."""
        row = self._row_of(question)
        if row is None:
            return None
        operations, marks, _ = _weights()
        scores = row @ operations
        chances = np.exp(scores - scores.max())
        chances /= chances.sum()
        operation, chance = OPERATIONS[int(chances.argmax())], float(chances.max())
        is_another = _OTHER_WAY if operation == "waiting" else _CHOOSES if operation in OF_ROWS else None
        if operation == "read" or chance < LEAST_TRIED or (is_another is not None and is_another.search(question)):
            return None
        matter, when = (stretch_of(question, operation, weights) for weights in marks)
        counted = _COUNTED.search(question)
        if counted is not None and operation == "count_events" and counted["what"] not in matter:
            matter = f"{counted['what']} {matter}".strip()  # "games" of "how many games does Mick have"
        return Understood(operation, chance, matter, when)

    def _row_of(self, question: str) -> Floats | None:
        """Return the features of a question; None where it is too long, or the encoder is not the one that ships."""
        if self._encoder is None or len(question) > _LONGEST_QUESTION or not words_of(question):
            return None
        row: Floats = features_of([question], self._encoder.encode([question]))[0]
        return row if len(row) == len(_weights()[2]) else None


@functools.cache
def _weights() -> tuple[Floats, Floats, Floats]:
    with np.load(str(files("hearth.data") / OPERATIONS_FILE)) as kept:
        operations, marks, own = (kept[name].astype(np.float32) for name in ("operations", "marks", "own"))
        return operations, marks, own


def asks_lead(question: str) -> bool:
    """Return whether it is asked how long ahead of something a thing is to be done: no days from today tell that, but
    an agreement may."""
    return _LEAD.match(question) is not None


def words_of(question: str) -> list[tuple[str, int, int]]:
    """Return the words and signs of a question with where they stand."""
    return [(found.group(), found.start(), found.end()) for found in _WORD.finditer(question)]


def features_of(questions: Sequence[str], vectors: Floats) -> Floats:
    """Return what tells the operation, shape [n, 1 + dim + cells of the sketch]."""
    sketches = [sketch_of(tuple(word.lower() for word, _, _ in words_of(one))) for one in questions]
    return np.hstack([np.ones((len(questions), 1)), _WEIGHT * vectors, _WEIGHT * np.stack(sketches)]).astype(np.float32)


def signs_of(words: Sequence[tuple[str, int, int]], operation: str) -> Iterator[list[str]]:
    """Yield for each word what tells whether it names the matter or the time: itself, its neighbours, its form."""
    low = ["^^", "^", *(_DIGIT.sub("0", word.lower()) for word, _, _ in words), "$", "$$"]
    light = "".join("01"[word in STOP_WORDS or not word[0].isalnum()] for word in low)
    for k, (word, _, _) in enumerate(words, 2):
        yield [
            *("bias", f"w {low[k]}", f"o {operation} {low[k]}", f"b {low[k - 1]} {low[k]}", f"a {low[k]} {low[k + 1]}"),
            *(f"p {low[k - 1]}", f"n {low[k + 1]}", f"pp {low[k - 2]} {low[k - 1]}", f"nn {low[k + 1]} {low[k + 2]}"),
            *(f"po {operation} {low[k - 1]}", f"no {operation} {low[k + 1]}", f"s {low[k][-3:]}"),
            *(f"c {word[:1].isupper()} {k == 2}", f"e {operation} {k == 2} {k == len(words) + 1}"),
            *(
                f"l {light[k]}",
                f"lo {operation} {light[k]}",
                f"ll {light[k - 1 : k + 2]}",
                f"l5 {light[k - 2 : k + 3]}",
            ),
        ]


def cells_of(signs: Sequence[str]) -> list[int]:
    """Return the cells of a word's signs."""
    return [zlib.crc32(sign.encode("utf-8", "surrogatepass")) % N_CELLS for sign in signs]


def stretch_of(question: str, operation: str, marks: Floats) -> str:
    """Return the stretch of words whose scores have the largest sum; empty where none is above nothing.

    Args:
        marks: The weights of one kind of stretch, shape [N_CELLS].
    """
    words = words_of(question)
    best, first, last = 0.0, 0, 0
    total, began = 0.0, 0
    for k, signs in enumerate(signs_of(words, operation)):
        if total <= 0:
            total, began = 0.0, k
        total += float(marks[cells_of(signs)].sum())
        if total > best:
            best, first, last = total, began, k + 1
    return question[words[first][1] : words[last - 1][2]] if best > 0 else ""


# ── Amount changes ────────────────────────────────────────────────────────────────────────────────────────
# Works out by how much an amount has changed: "how much more is the boat insurance than last year".
#
# Of the passages that speak of a matter the first counts that states what it was and what it is now; else the two
# newest of a series of bills. Both amounts are shown.
#
# Not covered: changes of anything but money, of another time than the one before, amounts in words.

_THAN = (
    r"(?:than|compared (?:to|with)) (?:it (?:was|did) |in )?(?:the )?"
    r"(?:last|previous|before|year|month|time|a year|used)\b"
)
_CHANGE_ASKED = (
    re.compile(
        r"\s*(?:by )?how much (?:more|less|higher|lower|dearer|cheaper)(?: expensive)? (?:is|was|are|were|does|do|did"
        rf"|will) (?P<what>.+?)(?: costs?| be| now| this (?:year|month|time))* {_THAN}.*",
        re.IGNORECASE,
    ),
    re.compile(
        r"\s*(?:by )?how much (?:(?:more|less|higher|lower|dearer|cheaper)(?: expensive)? )?(?:did|has|have|does|will"
        r"|is) (?P<what>.+?) (?:gone?|going|went|risen?|rose|increas\w+|chang\w+|dropp?\w*|fall\w*|got(?:ten)?"
        r"|get(?:ting)?|become|grown)(?: (?:up|down))?\b(?! to).*",
        re.IGNORECASE,
    ),
)
_KINDS = ("mail", "document", "note")
_CHANGE_CLAUSE = re.compile(r"(?:(?!;|\.\s|\n|,\s(?:and|but)\s).)+")
_PART = re.compile(r"(?:(?!;|\n|,\s|\s\(|\s(?:and|but|to|after|against|instead)\s).)+")
"""Part of a sentence with two amounts: "from £62", "last year you paid £286.10"."""
_N_CHANGED = 2
_EARLIER = re.compile(
    r"\b(?:last|previous(?:ly)?|until now|so far|before|formerly|old|used to|instead of|from)\b", re.IGNORECASE
)
_N_READ = 6
_LEAST_SPOKEN = 0.5
_CHANCE = 0.75


def changed_by(question: str, passages: PassageStore) -> HomeAnswer | None:
    """Return by how much an amount has changed; None where no such thing is asked, or no two amounts are stated."""
    asked = next((fit for form in _CHANGE_ASKED if (fit := form.fullmatch(question.rstrip(" ?.!")))), None)
    if asked is None:
        return None
    what = asked["what"]
    found = [
        one.passage
        for one in ranked(what, passages.find(what, _KINDS))
        if covered(what, f"{one.passage.person} {one.passage.read}") >= _LEAST_SPOKEN
    ][:_N_READ]
    for passage in found:
        by_sentence = (_within(passage, said, _PART) for said in _speaking_of(what, passage))
        told = next((one for one in by_sentence if one is not None), None) or _within(passage, passage.text)
        if told is not None or (told := _of_series(passage, found)) is not None:
            is_said = covered(what, f"{passage.person} {passage.read}") == 1
            return told if is_said else replace(told, chance=DOUBTED)  # "travel insurance" where the house's rises
    return None


def _speaking_of(what: str, passage: Passage) -> list[str]:
    """Return the sentences of a passage with two amounts, those first that say most of a matter."""
    said = [one for one in sentences_of(passage.text) if len(money_in(one)) == _N_CHANGED]
    return sorted(said, key=lambda one: -covered(what, one))


def _within(passage: Passage, text: str, part: re.Pattern[str] = _CHANGE_CLAUSE) -> HomeAnswer | None:
    """Compare the amounts of a text of a passage that says what was paid before."""
    clauses = [(one.group(), money_in(one.group())) for one in part.finditer(text)]
    earlier = [amounts[0] for said, amounts in clauses if len(amounts) == 1 and _EARLIER.search(said)]
    now = [amounts[0] for said, amounts in clauses if len(amounts) == 1 and not _EARLIER.search(said)]
    now = [one for one in now if earlier and one[1] == earlier[0][1]]
    return _told(now[0], earlier[0], {passage: text}) if now and len(earlier) == 1 else None


def _of_series(passage: Passage, found: Sequence[Passage]) -> HomeAnswer | None:
    """Compare the wholes of the two newest records of a series."""
    series = {
        one.at: one
        for one in found
        if one.at is not None
        and (series_of_title(one.title), one.person) == (series_of_title(passage.title), passage.person)
    }
    newest = [series[at] for at in sorted(series, reverse=True)][:2]
    wholes = [amount for one in newest if (amount := _whole(one)) is not None]
    shown = {one: one.text for one in newest}
    return _told(wholes[0], wholes[1], shown) if len(wholes) > 1 and wholes[0][1] == wholes[1][1] else None


def _whole(passage: Passage) -> tuple[float, str, int] | None:
    lines = [line for line in passage.text.split("\n") if money_in(line)]
    whole = [line for line in lines if WHOLE.search(line)] or lines[-1:]
    return money_in(whole[-1])[-1] if whole else None


def _told(now: tuple[float, str, int], before: tuple[float, str, int], shown: Mapping[Passage, str]) -> HomeAnswer:
    change = now[0] - before[0]
    how = "more" if change > 0 else "less"
    of_now, of_before = (money_text(*amount[:2]) for amount in (now, before))
    value = f"{money_text(abs(change), now[1])} {how} ({of_now} after {of_before})"
    return HomeAnswer(
        "amount", value, "", tuple(witness_of(one, " ".join(said.split())) for one, said in shown.items()), _CHANCE
    )


# ── Joint amounts ─────────────────────────────────────────────────────────────────────────────────────────
# Works out amounts from amounts that are read: the prices of two things together, a whole among four.
#
# Of two things each price is the only amount of the clause that names it, and both stand in one record: "how much is
# the MOT with the tyres in all". Where a sum cannot be told, the sentence is the answer, with doubt: one price of two
# is no sum.
#
# Not covered: more than two things, amounts in words, prices of different currencies, several steps; how far two
# prices are apart, and a price for three days (`reckoning`).

_ASKED = re.compile(
    r"\s*(?:how much|what)(?:['’]s| (?:is|are|was|were|does|do|did|will|would))? (?:it )?(?P<one>.+?)"
    r" (?:and|with|plus|&) (?P<other>.+?)(?: (?:cost|come|be|make|costs?|set me back|to))*(?: (?:to|both))?"
    r" (?:together|both|altogether|in total|all in|all together|combined|in all|all told)\b[\s?.!]*",
    re.IGNORECASE,
)
_COUNTS = {word: n for n, word in enumerate(listed("two three four five six seven eight nine ten eleven twelve"), 2)}
_N = rf"(?P<n>\d{{1,3}}|{'|'.join(_COUNTS)})"
_AMONG = re.compile(
    r"\s*(?:how much|what)(?:['’]s| (?:is|are|was|were|does|do|did|will|would))? (?P<one>(?:my|our|the|each)\b.+?)"
    rf" (?:each |for each )?(?:if|when|split|shared|divided|between|among)\b.*?\b{_N}\b(?: of us| people| ways)?"
    r"(?: (?:pay|share|split|of us|it|ways))*[\s?.!]*",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"(?:(?!,\s|;|\s(?:and|but|plus)\s|\.\s|\n).)+")
_PLAIN = re.compile(r"(?<![\d.,:/-])\d{1,5}(?:\.\d\d)?(?![\d.,:/-]\d|[-/:%]|\s?(?:am|pm|th|st|nd|rd)\b)")
_LEAST_SAID = 0.4
"""The least share of a thing's words that the clause of its price says."""
_DOUBTED_SHARE = 0.75


@dataclass(frozen=True, slots=True)
class _Priced:
    """What a clause states."""

    start: int
    value: float
    currency: str


@dataclass(frozen=True, slots=True)
class ShareAsked:
    """An amount that is asked for in equal parts."""

    question: str
    """Asks for the whole amount."""
    n: int
    """Among how many it is shared."""


def share_asked(question: str) -> ShareAsked | None:
    """Parse a question for an amount that is shared; None for any other."""
    among = _AMONG.fullmatch(question)
    if among is None or _count(among["n"]) < 2:
        return None
    one = re.sub(r" (?:share|part|half)\b|\beach (?=\w)", "", among["one"])
    return ShareAsked(f"how much is {one}", _count(among["n"]))


def share_answer(asked: ShareAsked, readings: Sequence[Reading]) -> HomeAnswer | None:
    """Share the amount that is likeliest read; None where none is read, or several are."""
    best = readings[0] if readings else None
    if best is None:
        return None
    plain = [(float(one), "") for one in _PLAIN.findall(best.text)]
    values = [(value, currency) for value, currency, _ in money_in(best.text)] or plain
    if len(values) != 1:
        return None
    ((value, currency),) = values
    told = f"{money_text(value / asked.n, currency)} ({money_text(value, currency)} ÷ {asked.n})"
    witness = witness_of(best.candidate.passage, sentence_of(best))
    return HomeAnswer("amount", told, "", (witness,), round(min(_DOUBTED_SHARE, best.chance), 4))


def joint_answer(question: str, readings: Sequence[Reading]) -> HomeAnswer | None:
    """Add two prices that are asked for together; None where no such thing is asked, or nothing is read."""
    asked = _ASKED.fullmatch(question)
    if not readings or asked is None:
        return None
    for reading in (one for one in readings if one.chance >= least_chance()):
        if (told := _of_both(asked["one"], asked["other"], reading)) is not None:
            return told
    best = readings[0]
    quote = sentence_of(best)
    witness = witness_of(best.candidate.passage, quote)
    return HomeAnswer("text", quote, "", (witness,), round(min(best.chance, DOUBTED), 4))


def _of_both(first: str, second: str, reading: Reading) -> HomeAnswer | None:
    """Return the sum of what two things cost by one passage; None where it does not price both."""
    passage = reading.candidate.passage
    one, other = _priced(first, passage), _priced(second, passage)
    if one is None or other is None or one.start == other.start:
        return None
    currencies = {one.currency, other.currency} - {""}
    if len(currencies) != 1:
        return None
    (currency,) = currencies
    shown = " + ".join(money_text(each.value, currency) for each in (one, other))
    chance = reading.chance if one.currency == other.currency else min(DOUBTED, reading.chance)
    quote = " ".join(passage.text[min(one.start, other.start) :].split("\n")[0].split())
    value = f"{money_text(one.value + other.value, currency)} ({shown})"
    return HomeAnswer("amount", value, "", (witness_of(passage, quote),), round(chance, 4))


def _count(word: str) -> int:
    return _COUNTS.get(word.casefold()) or int(word)


def _priced(part: str, passage: Passage) -> _Priced | None:
    """Return the only amount of the clause that says most of a part; None where none or several do."""
    wanted, text = keys_of(part), unwrapped(passage.text)
    clauses = [(len(wanted & keys_of(one.group())), one) for one in _CLAUSE.finditer(text)]
    most = max((n for n, _ in clauses), default=0)
    best = [one for n, one in clauses if n == most >= _LEAST_SAID * len(wanted)]
    found = [priced for one in best if (priced := _amount(one)) is not None]
    return found[0] if len(found) == 1 else None


def _amount(clause: re.Match[str]) -> _Priced | None:
    stated = money_in(clause.group())
    if len(stated) == 1:
        return _Priced(clause.start(), stated[0][0], stated[0][1])
    plain = _PLAIN.findall(clause.group()) if not stated else []
    return _Priced(clause.start(), float(plain[0]), "") if len(plain) == 1 else None


# ── Home answers ──────────────────────────────────────────────────────────────────────────────────────────
# Answers questions from everything in the owner's folder, with the words an answer stands on and where they stand.
#
# Before each question the folder's files are compared with those that were read: new and changed ones are read, and
# of files that are gone nothing is left. What is read is found by its words at once, and by its meaning once it has
# vectors: `HomeAnswers.build` does all of it ahead of any question. Records are counted and compared
# (`record_answers`); for anything else the passages that speak to the question are read (`answer_reading`). Where no
# answer is likely enough, it says where it looked.
#
# Covered: mails by their names alone, other files by size and time; two processes at once (each file is replaced in
# one transaction), files that change while they are read (they are read again at the next question), a full disk (the
# question is answered from what is kept); a person whom a second record names (`answer_telling`). Not covered: what a
# provider has and has not been fetched yet; other answers joined from several passages.

Naming: TypeAlias = Literal["not", "partly", "wholly"]
Stage: TypeAlias = Literal["files", "pictures", "meaning", "verdicts"]
"""What of the index is built: files are read, then the pictures in them, then what was read gets vectors, and what had
some without a verdict of today's judge gets one."""
LEAST_NEAR = 0.05
"""Below this chance of what a passage says, its place is not worth a look."""
N_NEAREST = 3
"""Places told where nothing says what was asked: of 17 newcomers' questions that were refused although a passage says
it, the first sentence is it for 4, one of the first three for 15."""
_LEAST_ALONE = 0.5
"""Below this chance of what one passage says, two are joined."""
LEAST_ORDER = -3.0
"""A stranger's sentence that is an answer reads like an instruction from this score of the detector on: nine of ten
that steer an answer do, one of two hundred ordinary ones."""
_QUOTED = 0.6
"""The most that what is only quoted counts: it is told with doubt."""
READING_VERSION = 8
"""Raise it with every change to how files become passages: all are read again."""
MOST_WAITING_S = 20.0
"""How long a question waits for files that were never read; what is left is read before the next one."""
MOST_WAITING_TO_PLAN_S = 3.0
MOST_WAITING_FOR_PICTURES_S = 5.0
"""Of those seconds: for pictures in mails, which are read when all else is."""
_MAILS = "mail"
_BESIDE_MAILS = tuple(folder for folder in FOLDERS if folder != _MAILS)
_MANY_READ = 0.1
"""Share of the home's files that were read anew from which its lists of words are merged."""
_WITHOUT_PICTURES = ":pictures wait"
"""Behind the fingerprint of a file in which pictures are still to be read."""
_BY_STRANGERS = frozenset({"mail", "document", "event"})
_DEFINITE = re.compile(r"\b(?:the|this|that|our|my)\s+((?:[\w'’-]+\s+){0,2}[\w'’-]+)", re.IGNORECASE)
_LIGHT = word_set(
    "much many long often cost costs take takes need needs have has had get gets go goes come comes give gives say "
    "says said does did make makes put want wants back again there"
)
"""Words of questions that what answers them need not hold."""
_LEAST_ASKED = 2
_LEAST_ADDED = 2
_DECIDED = re.compile(
    r"\s*(?:what|which(?: \w+){1,2}) (?:did|have|has|was|were|is)(?P<by> .*)"
    r"\b(?:decid|agree|discuss|conclud|settle|resolv|choos|chose|pick|vote|elect)\w*"
    r"(?: (?:in|at|on|about|during|with|for))*(?: (?:the|our|my|that|last))*(?P<of> .*|)",
    re.IGNORECASE,
)
_PLURALS = {"mail": "mails", "note": "notes", "document": "documents", "event": "events", "contact": "cards"}
_PLURALS |= {"reminder": "reminders"}


@dataclass(frozen=True, slots=True)
class _Settled:
    """A state of the home in which all its mails are read."""

    known: Mapping[str, str]
    """What `PassageStore.fingerprints` returned; it is told by which object it is."""
    mails: Sequence[str]
    """What the workspace listed, likewise."""
    beside: Mapping[str, str]
    """Those of `known` that are no mails."""


@functools.cache
def judge_version() -> int:
    """By which kept verdicts are known as those of what judges today."""
    return zlib.crc32(str(LEAST_ORDER).encode(), detector_version()) % (1 << 21)


@dataclass(frozen=True, slots=True)
class _Judge:
    """Judges passages ahead of any question."""

    detector: Detector
    version: int

    def verdict(self, text: str) -> Verdict:
        return Verdict(*self.detector.verdict(text, LEAST_ORDER))


@dataclass(frozen=True, slots=True)
class Building:
    """How far a stage of building the index is."""

    stage: Stage
    n_done: int
    """Files, or passages where they get vectors."""
    n_all: int
    """How many there were to do as the stage began, at least."""


class HomeAnswers:
    """The owner's things as an answering machine; one for each process and home."""

    def __init__(self, store: Store, encoder: Encoder | None, reader: AnswerReader) -> None:
        self._questions = questions_for(encoder, reader.cache_dir)
        judge = (lambda: _Judge(self._opened_detector(), judge_version())) if encoder is not None else None
        self.passages = PassageStore(store, encoder, self._questions, judge)
        self._encoder = encoder
        self._reader = reader
        self._operations = AskedOperations(encoder)
        self._detector: Detector | None = None
        self._settled: _Settled | None = None
        self._listed: tuple[Sequence[str], Mapping[str, str]] | None = None
        """What the workspace listed of mails, and the fingerprints of those that are read."""
        self._has_words_left = False
        """Whether the bytes of the lists of words may hold some of files that are gone, until they are merged."""
        self._waiting_in: Mapping[str, str] | None = None
        """What `PassageStore.fingerprints` returned when no picture waited any more."""

    def rest(self) -> None:
        """Hand back the memory of what the first question opened; the next one opens it again."""
        self._reader.rest()
        if self._questions is not None:
            self._questions.rest()

    # ── Reading the folder ────────────────────────────────────────────────────────────────────────────────

    def refresh(self, workspace: Workspace, zone: dt.tzinfo | None) -> Iterator[tuple[int, int]]:
        """Read what is new or changed and drop what is gone; yield how many files are done, and of how many.

        Stopped anywhere, what was read is kept. Raises: StoreError: The disk is full, say.
        """
        new, gone = self._changes_in(workspace)
        self._has_words_left |= bool(gone) or not self.passages.fingerprints().keys().isdisjoint(new)
        if gone:
            self.passages.drop(gone)
        for n, (path, fingerprint) in enumerate(new.items(), 1):
            self._read(path, fingerprint, workspace, zone)
            yield n, len(new)

    def n_new(self, workspace: Workspace) -> int:
        """Count the files that are new, or changed since they were read."""
        return len(self._changes_in(workspace)[0])

    def _changes_in(self, workspace: Workspace) -> tuple[Mapping[str, str], Sequence[str]]:
        """Return the fingerprints of files that are new or changed, by path, and the paths of those that are gone.

        Mails were mostly all read: as long as their folders list the same and nothing was read since, none is compared
        again.
        """
        known, mails = self.passages.fingerprints(), workspace.list(_MAILS)
        settled = self._settled
        if settled is not None and settled.known is known and settled.mails is mails:
            folders, known = _BESIDE_MAILS, settled.beside
        else:
            folders = FOLDERS
        found = self._fingerprints_in(workspace, folders)
        new, gone = _new_of(found, known), sorted(known.keys() - found.keys())
        if folders is FOLDERS and not any(path.startswith(f"{_MAILS}/") for path in (*new, *gone)):
            beside = {path: now for path, now in known.items() if not path.startswith(f"{_MAILS}/")}
            self._settled = _Settled(known, mails, beside)
        return {path: found[path] for path in new}, gone

    def _fingerprints_in(self, workspace: Workspace, folders: Sequence[str]) -> Mapping[str, str]:
        """Return what tells each file in some folders from what it was before, by path."""
        found: dict[str, str] = {}
        if _MAILS in folders:
            # A mail's file is never written again under its name: so one of 20,000 is not asked for its time.
            mails = workspace.list(_MAILS)
            if self._listed is None or self._listed[0] is not mails:
                self._listed = mails, {path: f"{READING_VERSION}:" for path in mails if is_indexed(path)}
            found |= self._listed[1]
        beside = (folder for folder in folders if folder != _MAILS)
        for folder in beside:
            with suppress(SandboxError):  # a link to elsewhere, of which nothing is read
                for path in filter(is_indexed, workspace.list(folder)):
                    with suppress(ToolError):  # gone meanwhile
                        found[path] = f"{READING_VERSION}:{workspace.stat(path).fingerprint}"
        return found

    def read_pictures(self, workspace: Workspace, zone: dt.tzinfo | None) -> Iterator[tuple[int, int]]:
        """Read the pictures that wait in files that were read; yield how many files are done, and of how many.

        They wait in mails until all else is read, and anywhere until something is installed that reads them. Stopped
        anywhere, what was read is kept. Raises: StoreError: The disk is full, say.
        """
        if not reads_pictures():
            return
        known = self.passages.fingerprints()
        if self._waiting_in is not known:
            waiting = [path for path, fingerprint in known.items() if fingerprint.endswith(_WITHOUT_PICTURES)]
            for n, path in enumerate(waiting, 1):
                self._read(path, known[path].removesuffix(_WITHOUT_PICTURES), workspace, zone, with_pictures=True)
                yield n, len(waiting)
            self._waiting_in = known

    def build(self, workspace: Workspace, zone: dt.tzinfo | None) -> Iterator[Building]:
        """Do all that is left for every question to find everything: read what is new and the pictures that wait, and
        give vectors to what has none; yield after each file, and after some passages.

        Stopped anywhere, what was done is kept. Raises: StoreError: The disk is full, say.
        """
        n_read = 0
        for n_read, n_all in self.refresh(workspace, zone):
            yield Building("files", n_read, n_all)
        for n, n_all in self.read_pictures(workspace, zone):
            yield Building("pictures", n, n_all)
        if self._has_words_left or n_read > _MANY_READ * len(self.passages.fingerprints()):
            self.passages.merge_words()  # what it frees in the database the vectors take
            self._has_words_left = False
        n_all = self.passages.n_waiting()
        for n in self.passages.embed():
            yield Building("meaning", n, max(n, n_all))
        n_all = self.passages.n_unjudged(judge_version())
        for n in self.passages.judge():
            yield Building("verdicts", n, max(n, n_all))

    def _read(
        self, path: str, fingerprint: str, workspace: Workspace, zone: dt.tzinfo | None, *, with_pictures: bool = False
    ) -> None:
        """Read a file and keep what it says, or why it cannot be read; nothing of one that is gone meanwhile."""
        try:
            read = passages_in(path, workspace, zone, with_pictures=with_pictures)
        except NotFound:
            return
        except ToolError as error:
            read = FilePassages((), str(error))
        except (ValueError, OverflowError, RecursionError) as error:
            read = FilePassages((), f"damaged: {error}")
        kept_as = fingerprint + (_WITHOUT_PICTURES if read.is_waiting else "")
        self.passages.put(path, kept_as, read.passages, read.fault)

    def looked_at(self) -> str:
        """Say in how many things an answer is looked for: `26 mails, 8 notes and 4 documents`."""
        return things_text(self.passages.counts()) or "nothing: the home is empty"

    def names_thing(self, question: str, workspace: Workspace, zone: dt.tzinfo | None) -> Naming:
        """Return how a question names one of the owner's things: "the electricity bill" by several words of one title,
        all that are said of it, or by a single word; wholly, too, where one passage holds all that is asked about."""
        said = [
            [word for word in telling_words(found[1]) if len(word) > 2 and word not in STOP_WORDS]
            for found in _DEFINITE.finditer(question)
        ]
        named = [word for words in said for word in words]
        asked = [word for word in telling_words(question) if word not in STOP_WORDS | _LIGHT]
        is_telling = len(asked) >= _LEAST_ASKED and _DEFINITE.search(question) is not None
        if not (named or is_telling):
            return "not"
        self._look(workspace, zone, MOST_WAITING_TO_PLAN_S)
        if is_telling and self.passages.holds_all(asked):
            return "wholly"
        if any(len(words) > 1 and self.passages.has_title(words, every=True) for words in said):
            return "wholly"
        return "partly" if self.passages.has_title(named) else "not"

    def _look(self, workspace: Workspace, zone: dt.tzinfo | None, limit_s: float) -> int:
        """Read what is new until `limit_s` is over; return how many files are left."""
        began = time.monotonic()
        for n, n_all in self.refresh(workspace, zone):
            if time.monotonic() - began > limit_s:
                return n_all - n
        limit_s = min(limit_s, time.monotonic() - began + MOST_WAITING_FOR_PICTURES_S)
        for n, n_all in self.read_pictures(workspace, zone):
            if time.monotonic() - began > limit_s:
                return n_all - n
        return 0

    # ── Answering ─────────────────────────────────────────────────────────────────────────────────────────

    def find_answer(self, question: str, call: CallContext) -> HomeAnswer:
        """Answer a question from the owner's things.

        Returns:
            Kind `unknown` where nothing says it; `text` then says where it looked.
        """
        asked = question.rstrip(" ?!")  # what is read must not hang on a mark that many leave out
        country = str(call.settings.get("owner", {}).get("country") or "")
        found = self._answer(asked, call)
        if is_on_anothers_card(asked, found, call):
            found = HomeAnswer("unknown", "", self.looked_at(), chance=0.0)
        found = with_day(with_named(asked, found), call.now, country)
        return replace(found, waiting=self._waiting(call.workspace)) if found.kind == "unknown" else found

    def later_word(self, event: Mapping[str, object], call: CallContext) -> str:
        """Say which mail tells another time of an event than the calendar does; empty where none does. Of a stranger's
        that orders anything, or reads like an instruction, nothing is said."""
        self._look(call.workspace, call.now.tzinfo, MOST_WAITING_TO_PLAN_S)
        own = self.passages.of_record(str(event.get("id", "")).partition("#")[0])
        try:
            written = written_at(call.workspace.read(own[0].path)) if own else None
        except ToolError:
            written = None  # gone meanwhile
        mails = [one.passage for one in self.passages.find(sought_for(event), (_MAILS,))]
        found = later_word(event, mails, written)
        if found is None or len(found.sentence) > N_MAX_QUOTED:
            return ""
        if not is_strangers(found.mail, known_addresses(call), call.workspace):
            return f"But {place_by_known(found.mail)} says: “{found.sentence}”"
        if self._is_order_in(found.mail, found.sentence):
            return ""
        where = unquoted_place_of(found.mail)
        return f"But {where}, of a sender who is not in your contacts, says: “{found.sentence}”"

    def _waiting(self, workspace: Workspace) -> tuple[str, ...]:
        """Return the names of what waits to be brought in, in the folders that are read and beside them."""
        from hearth.memory.transfer.archives import waiting_beside  # a fortieth of a cold start; few questions need it

        inside = (path.rpartition("/")[2] for path, why in self.passages.faults().items() if why.endswith(BRING_IN))
        return tuple(dict.fromkeys((*waiting_beside(workspace.list(), workspace), *inside)))

    def _answer(self, question: str, call: CallContext) -> HomeAnswer:
        self._read_newest(call)
        if (wanted := asked_for_summary(question)) is not None:
            summed = summary_of(wanted, self.passages, call, self._is_instruction)
            return summed or HomeAnswer("unknown", "", self.looked_at(), chance=0.0)
        compared = compared_answer(question, lambda asked: self.readings(asked, call))
        if compared is not None and (marked := self._by_others(compared, call)) is not None:
            return marked
        if (both := self._answer_both(question, call)) is not None:
            return both
        found = self._worked_out(question, call) or self._read_or_understood(question, call)
        joined = joined_answer(question, self.passages, call) if found.chance < _LEAST_ALONE else None
        told = joined or found
        # Where nothing was compared, what is read beside one price says nothing of the other.
        return replace(told, chance=min(told.chance, DOUBTED)) if compares_prices(question) else told

    def _read_or_understood(self, question: str, call: CallContext) -> HomeAnswer:
        """Answer a question that no parser knows: by reading, or as what it is understood to ask for, if likelier."""
        read = self._read_answer(question, call)
        understood = self._operations.understood(question)
        if understood is None or not understood.said():
            return read
        worked_out = self._as_understood(question, understood, call)
        return worked_out if worked_out is not None and worked_out.chance > read.chance else read

    def _as_understood(self, question: str, understood: Understood, call: CallContext) -> HomeAnswer | None:
        """Work out what a question is understood to ask for; with doubt where rows were counted or added although a
        word of the question that the owner's things hold, too, is in no part of what was understood ("beans"). Who
        "wants his money back" waits for no answer."""
        asked = asked_of_dates(question)
        if asked is not None and asked.operation == "until" and understood.operation == "birthdays":
            return None  # days to the birthday of somebody unknown: the list of all birthdays is no answer
        if understood.operation == "days_until" and asks_lead(question):
            return None
        named = matter_of(f"{understood.matter} {understood.when}").casefold().split()
        left_out = [word.casefold() for word in matter_of(question).split() if word.casefold() not in named]
        is_of_more = any(self.passages.holds_all([word]) for word in left_out)
        if understood.operation == "waiting" and is_of_more and _OF_ANSWERS.search(question) is None:
            return None
        # The whole question says with which event.
        said = f"any clash {question}" if understood.operation == "clash" else understood.said()
        found = self._worked_out(said, call)
        if found is None or (found.kind != "amount" and _OF_MONEY.search(question)):
            return None
        chance = min(found.chance, round(understood.chance, 4))
        if understood.operation in OF_ROWS and is_of_more:
            chance = min(chance, DOUBTED)
        return replace(found, chance=chance)

    def own_chance(self, question: str) -> float:
        """Return the chance that a question is for what stands in the owner's things, by how people ask of theirs."""
        return self._operations.own_chance(question)

    def works_out(self, question: str, call: CallContext) -> str:
        """Return the operation that a question is understood to ask for ("Asked operations"), if the owner's things
        surely answer it; empty where nothing is to be worked out, or nothing can."""
        understood = self._operations.understood(question)
        if understood is None or understood.chance < LEAST_TAKEN or not understood.said():
            return ""
        self._look(call.workspace, call.now.tzinfo, MOST_WAITING_TO_PLAN_S)
        found = self._as_understood(question, understood, call)
        return understood.operation if found is not None and found.chance >= LEAST_SURE else ""

    def _worked_out(self, question: str, call: CallContext) -> HomeAnswer | None:
        """Compute an answer over the owner's records; None where no parser knows the question, or not all that it needs
        is there."""
        computed = (
            answer_by_person(question, call)
            or answer_from_letters(question, self.passages, call)
            or answer_from_dates(question, call)
            or answer_from_records(question, self.passages, call, self._is_order_in)
            or self._changed_by(question, call)
            or card_answer(question, call)
            or birthday_answer(question, call)
        )
        if computed is not None and computed.kind == "amount":
            return self._doubted(computed, question, call)
        reckoned = computed or self._reckoned(question, call) or self._days_until(question, call)
        is_number = reckoned is not None and reckoned.kind == "number"
        return None if is_number and _OF_MONEY.search(question) else reckoned

    def _changed_by(self, question: str, call: CallContext) -> HomeAnswer | None:
        told = changed_by(question, self.passages)
        return self._by_others(told, call) if told is not None else None

    def _read_newest(self, call: CallContext) -> None:
        """Read what is new in the folder, and note in the call what is left."""
        try:
            if n_left := self._look(call.workspace, call.now.tzinfo, MOST_WAITING_S):
                call.notices.append(f"{n_left:,} files are not read yet; ask again for what they say")
        except StoreError as error:
            call.notices.append(f"The newest files could not be read: {error}")

    def _reckoned(self, question: str, call: CallContext) -> HomeAnswer | None:
        """Reckon an answer; from what may not be meant, it gives way to what is surely read elsewhere."""
        reckoned = self._reckon(question, call)
        # An amount that is read is not the one to be worked out.
        if reckoned is None or reckoned.chance >= LEAST_SURE or reckoned.kind == "amount":
            return reckoned
        read = self._read_answer(question, call)
        return read if read.chance >= LEAST_SURE and not _is_of(read, reckoned) else reckoned

    def _reckon(self, question: str, call: CallContext) -> HomeAnswer | None:
        from hearth.memory.inquiry.reckoning.record_lists import reckoned_answer  # most requests need none of it

        told = reckoned_answer(question, self.passages, call)
        return self._by_whom(told, call) if told is not None and told.kind == "amount" else told

    def _by_whom(self, told: HomeAnswer, call: CallContext) -> HomeAnswer | None:
        """Mark which of the amounts or decisions that are told a stranger wrote, and doubt what rests on others beside;
        None where one of them reads like an instruction."""
        known = known_addresses(call)
        witnesses = []
        for one in told.witnesses:
            passage = next(
                (p for p in self.passages.of_record(one.record) if one.quote in " ".join(p.text.split())), None
            )
            if passage is None or not is_strangers(passage, known, call.workspace):
                witnesses.append(one)
            elif self._is_order_in(passage, one.quote):
                return None
            else:
                witnesses.append(replace(one, is_strangers=True))
        is_mixed = len({one.is_strangers for one in witnesses}) > 1
        return replace(told, witnesses=tuple(witnesses), chance=min(told.chance, DOUBTED) if is_mixed else told.chance)

    def _by_others(self, told: HomeAnswer, call: CallContext) -> HomeAnswer | None:
        """The same, with doubt where any of it is a stranger's: that something was decided, or costs less or more."""
        marked = self._by_whom(told, call)
        if marked is None or not any(one.is_strangers for one in marked.witnesses):
            return marked
        return replace(marked, chance=min(marked.chance, DOUBTED))

    def _doubted(self, computed: HomeAnswer, question: str, call: CallContext) -> HomeAnswer:
        """Doubt an amount that texts state where another is reckoned; the rows of a table are all there are."""
        if computed.chance < LEAST_SURE or any("|" in one.quote for one in computed.witnesses):
            return computed
        reckoned = self._reckon(question, call)
        if reckoned is None or money_in(reckoned.value)[:1] == money_in(computed.value)[:1]:
            return computed
        return replace(computed, chance=DOUBTED)

    def _days_until(self, question: str, call: CallContext) -> HomeAnswer | None:
        """Count the days to a time that some passage names: "how many days until the policy runs out"."""
        asked = asked_of_dates(question)
        if asked is None or asked.operation != "until" or asks_lead(question):
            return None
        found = self._read_answer(f"when does {asked.matter}", call)
        days = [one.start for one in times_named(found.value, call.now) if one.start > call.now]
        if found.kind != "date" or len(days) != 1:
            return None
        n = (days[0].astimezone(call.now.tzinfo).date() - call.now.date()).days
        return replace(found, kind="number", value=f"{n} day{'s' if n != 1 else ''}")

    def _people(self, call: CallContext) -> People:
        names = [one.title for one in self.passages.all(("contact",))]
        return people_of(str(call.settings.get("owner", {}).get("name") or ""), names)

    def _answer_both(self, question: str, call: CallContext) -> HomeAnswer | None:
        """Answer two questions that are asked as one, and say which of them nothing answers."""
        parts = two_questions(question)
        if parts is None:
            beside = asked_beside(question)
            if beside is None:
                return None
            first = self.find_answer(beside.first, call)
            parts, found = (beside.first, beside.second), [first, self._answer_beside(beside, first, call)]
        else:
            first, *others = (self.find_answer(part, call) for part in parts)
            found = [first, *(self._unlike(first, one) for one in others)]
        known = [one for one in found if one.kind != "unknown"]
        if not known:
            return None
        said = [
            f"nothing says “{part}”" if one.kind == "unknown" else one.value
            for part, one in zip(parts, found, strict=True)
        ]
        witnesses = tuple(dict.fromkeys(witness for one in known for witness in one.witnesses))
        return HomeAnswer("text", "; ".join(said), "", witnesses, min(one.chance for one in known))

    def _unlike(self, first: HomeAnswer, one: HomeAnswer) -> HomeAnswer:
        """Return an answer to a second question; unknown where it is the doubtful sentence that answers the first."""
        is_same = bool(first.value) and first.value in one.value and first.witnesses[:1] == one.witnesses[:1]
        is_same = is_same and one.chance < LEAST_SURE
        return HomeAnswer("unknown", "", self.looked_at(), chance=0.0) if is_same else one

    def _answer_beside(self, asked: AskedBeside, first: HomeAnswer, call: CallContext) -> HomeAnswer:
        """Answer what is asked beside another question: its asking word alone from the sentences that answer the other,
        what it comes to from the rows that do, anything else by reading; what answers the first is no answer to it."""
        if asked.is_sum:
            return self._sum_of(first, asked.first) or HomeAnswer("unknown", "", self.looked_at(), chance=0.0)
        if not asked.is_bare:
            told = self.find_answer(asked.full_second, call)
            # One list of all that is asked in mails is not what "they" want.
            is_told = told.value != first.value and (not asked.leans or len(told.witnesses) == 1)
            told = told if is_told else HomeAnswer("unknown", "", self.looked_at(), chance=0.0)
            return replace(told, chance=min(told.chance, DOUBTED)) if asked.leans else told
        for witness in first.witnesses:
            one = self._reading_in(asked.full_second, witness.quote)
            if one.chance >= least_chance() and one.text.strip() not in ("", first.value):
                return HomeAnswer("text", one.text.strip(" ,;:."), "", (witness,), round(one.chance, 4))
        return HomeAnswer("unknown", "", self.looked_at(), chance=0.0)

    def _sum_of(self, rows: HomeAnswer, question: str) -> HomeAnswer | None:
        """Return what all rows of a table that answer a question come to; None where they are none, or say no sum."""
        quotes = [[cell.partition(": ") for cell in one.quote.split(" | ")] for one in rows.witnesses]
        heads = {tuple(head for head, *_ in row) for row in quotes}
        if self._encoder is None or len(heads) != 1 or not _LEAST_ADDED <= len(quotes) < N_SHOWN:
            return None
        table = "\n".join([" | ".join(heads.pop()), *(" | ".join(value for *_, value in row) for row in quotes)])
        for asked in ("what is the sum in total", f"what is the total of {matter_of(question)}"):
            told = told_in(asked, table, "", self._encoder)
            program = told.told.program if told is not None else None
            if told is not None and program is not None and (program.operation, program.chosen.how) == ("sum", "all"):
                return HomeAnswer("amount", told.value, "", (), min(rows.chance, DOUBTED), is_reckoned=True)
        return None

    def _read_answer(self, question: str, call: CallContext) -> HomeAnswer:
        """Answer a question from the passages that speak of it."""
        if (share := share_asked(question)) is not None:
            told = share_answer(share, self.readings(share.question, call))
            if told is not None and told.chance >= least_chance():
                return told
        name = name_described(question, call)
        readings = [one for one in self.readings(question, call) if not name or not _is_another_card(one, name)]
        best = readings[0] if readings else None
        if (settled := self._of_tables(question, readings, call) or self._decision(question, call)) is not None:
            return settled
        if best is None or best.chance < least_chance():
            return self._said_about(question, call) or self._unknown(readings, name)
        if best.is_strangers and (said := self._said_about(question, call)) is not None:
            # Of all who call themselves so, somebody on a card comes first.
            return replace(said, value=said.value.removesuffix("."))
        if (carded := self._of_card(question, best, readings, call)) is not None:
            return carded
        if (summed := sum_answer(question, readings) or joint_answer(question, readings)) is not None:
            return replace(summed, chance=min(summed.chance, told_chance(question, best, readings, call.now)))
        return answer_of(question, readings, call.now)

    def _decision(self, question: str, call: CallContext) -> HomeAnswer | None:
        """Tell what was decided of a matter; None where nothing such is asked, or no record says it."""
        asked = _DECIDED.match(question)
        if asked is None:
            return None
        told = decision_of(asked["by"], asked["of"].strip(" ?."), self.passages, call, self._is_instruction)
        return self._by_others(told, call) if told is not None else None

    def _of_card(
        self, question: str, best: Reading, readings: Sequence[Reading], call: CallContext
    ) -> HomeAnswer | None:
        """Tell the value of a card beside what a stranger wrote of it; None where no stranger likely answers."""
        is_of_card = best.is_strangers or best.candidate.passage.kind == "contact"
        likely = (one for one in readings if is_of_card and one.is_strangers and one.chance >= LEAST_BESIDE)
        strangers = next(likely, None)
        card = named_card_answer(question, call) if strangers is not None else None
        return beside_card(card, strangers, call.now) if card is not None and strangers is not None else None

    def _said_about(self, question: str, call: CallContext) -> HomeAnswer | None:
        """Tell what somebody said of a matter in their newest mail that speaks of it; None where nothing such is asked,
        or no mail does. A name alone may be anybody's: of an address on no card it is told with doubt, after all that
        come from one that is, and not at all where it reads like an instruction."""
        known, by_name = known_addresses(call), None
        for told in said_about(question, self.passages):
            (witness,) = told.witnesses
            if not is_strangers(self.passages.of_record(witness.record)[0], known, call.workspace):
                return told
            if by_name is None and not (self._is_instruction(witness.quote) or self._orders(witness.quote)):
                doubted = min(told.chance, _QUOTED)
                by_name = replace(told, witnesses=(replace(witness, is_strangers=True),), chance=doubted)
        return by_name

    def _of_tables(self, question: str, readings: Sequence[Reading], call: CallContext) -> HomeAnswer | None:
        """Return what a table among the passages tells, where that is likelier than what is read; with doubt of one
        that a stranger may have written, and nothing that reads like an instruction."""
        if self._encoder is None or not readings or SAID_ABOUT.match(question):
            return None
        told = table_answer(question, readings, self.passages, self._encoder, call.now)
        if told is None or (told.is_reckoned and asks_code(question)):
            return None
        record = told.witnesses[0].record if told.witnesses else ""
        if not any(one.is_strangers for one in readings if one.candidate.passage.record == record):
            return told
        said = " ".join((told.value, *(one.quote for one in told.witnesses)))
        cells = [told.value, *(cell for one in told.witnesses for cell in one.quote.split(" | "))]
        if self._is_instruction(said) or any(self._orders(cell.partition(": ")[2] or cell) for cell in cells):
            return None
        witnesses = tuple(replace(one, is_strangers=True) for one in told.witnesses)
        return replace(told, witnesses=witnesses, chance=min(told.chance, _QUOTED))

    def readings(self, question: str, call: CallContext) -> list[Reading]:
        """Read the passages that speak of a question, the likeliest answer first."""
        people = self._people(call)
        question = with_apostrophes(question, people)
        found = self.passages.find(question)
        if _DECIDED.match(question) or SAID_ABOUT.match(question):
            # The record of an event says when and where, and nothing of what was said there.
            found = [one for one in found if one.passage.kind != "event"]
        known = known_addresses(call)

        @functools.cache
        def is_own(passage: Passage) -> bool:
            return not is_strangers(passage, known, call.workspace)

        def is_told(one: Reading) -> bool:
            marked = replace(one, is_strangers=not is_own(one.candidate.passage))
            return bool(self._telling([marked])) and not self._is_order(marked)

        # Of what somebody said, the newest counts, however likely.
        may_stop = None if _DECIDED.match(question) or SAID_ABOUT.match(question) else is_own
        read = [
            replace(one, is_strangers=not is_own(one.candidate.passage))
            for one in self._telling(read_passages(question, found, self._reader, people, may_stop, is_told))
        ]
        quoted = [self._as_quotation(one) if self._is_order(one) else one for one in read]
        return own_first(question, sorted(quoted, key=lambda one: -one.chance))

    def _unknown(self, readings: Sequence[Reading], name: str) -> HomeAnswer:
        """Say that nothing answers, and what comes nearest: else the card of whom the question describes."""
        chance = readings[0].chance if readings else 0.0
        nearest = self._nearest(readings) or ((Witness("", f"card “{name}”", "", "file"),) if name else ())
        return HomeAnswer("unknown", "", self.looked_at(), (), round(chance, 4), nearest)

    def _nearest(self, readings: Sequence[Reading]) -> tuple[Witness, ...]:
        """Return the likeliest places of an answer that is too unlikely to be told, where the first is worth a look:
        each with the sentence, but in no words of a stranger's, and in none that read like an instruction."""
        if not readings or readings[0].chance < LEAST_NEAR:
            return ()
        near = (one for one in readings[:N_NEAREST] if one.chance >= LEAST_BESIDE)
        told = {(one.where, one.quote): one for one in map(self._place_near, near)}
        return tuple(told.values())

    def _place_near(self, one: Reading) -> Witness:
        passage, sentence = one.candidate.passage, sentence_of(one)
        if one.is_strangers or self._is_instruction(f"{passage.title} {passage.person}"):
            return replace(witness_of(passage, ""), where=unquoted_place_of(passage), is_strangers=one.is_strangers)
        is_quotable = not (self._is_instruction(sentence) or self._orders(sentence))
        return replace(witness_of(passage, sentence if is_quotable else ""), where=place_by_known(passage))

    def words_in(self, question: str, text: str) -> str:
        """Return the words of a text that answer a question; empty if it hardly does."""
        reading = self._reading_in(question, text)
        return reading.text.strip(" ,;:") if reading.chance >= least_chance() else ""

    def _reading_in(self, question: str, text: str) -> Reading:
        """Read a text alone."""
        passage = Passage("", "memory", "memory", "", "", None, text, 0, "")
        (reading,) = read_passages(question, [Candidate(passage, 1.0, 0.5)], self._reader)
        return reading

    def _telling(self, readings: list[Reading]) -> list[Reading]:
        """Leave out sentences that only ask, where not who asks is told, and what strangers may have written that reads
        like an instruction."""
        return [
            one
            for one in readings
            if (one.text == one.candidate.passage.person or not sentence_of(one).endswith("?"))
            and (
                one.chance < LEAST_BESIDE
                or one.candidate.passage.kind not in _BY_STRANGERS
                or not self._is_instruction_in(one.candidate)
            )
        ]

    def _is_order(self, one: Reading) -> bool:
        """Return whether a stranger's answer stands in an order: to the assistant, or to say something."""
        if not one.is_strangers or one.chance < LEAST_BESIDE:
            return False
        sentence, found = sentence_of(one), one.candidate
        if found.verdict is not None and found.verdict.is_calm and is_within(sentence, found.passage.text):
            return is_order_to_say(sentence)
        return self._orders(sentence)

    def _orders(self, sentence: str) -> bool:
        """Return whether a stranger's words order the assistant about, or to say something."""
        return is_order_to_say(sentence) or self._instruction_score(sentence) > LEAST_ORDER

    def _is_order_in(self, passage: Passage, quote: str) -> bool:
        """Return whether what a stranger states is an order, or stands in a text that reads like an instruction."""
        return self._orders(quote) or self._is_instruction(passage.text)

    @staticmethod
    def _as_quotation(one: Reading) -> Reading:
        """Return a reading that tells its whole sentence, with doubt: what an order says is no answer."""
        return replace(one, text=f"“{sentence_of(one)}”", is_yes=None, chance=min(one.chance, _QUOTED))

    def _is_instruction_in(self, one: Candidate) -> bool:
        """Return whether the text of a passage reads like an instruction, as it was judged ahead."""
        return one.verdict.is_instruction if one.verdict is not None else self._is_instruction(one.passage.text)

    def _is_instruction(self, text: str) -> bool:
        score = self._instruction_score(text)
        return self._detector is not None and score > self._detector.threshold

    def _instruction_score(self, text: str) -> float:
        """Score how much a text reads like an instruction; the least there is without an encoder."""
        return self._opened_detector().judge([text])[0].score if self._encoder is not None else -math.inf

    def _opened_detector(self) -> Detector:
        """Return the detector of instructions; only with an encoder."""
        if self._detector is None:
            if self._encoder is None:
                raise ValueError("nothing reads texts for the detector of instructions")
            self._detector = Detector.open(self._encoder)
        return self._detector


def _new_of(found: Mapping[str, str], known: Mapping[str, str]) -> list[str]:
    """Return the paths whose file is not known as it is found."""
    return [path for path, now in found.items() if known.get(path, "").removesuffix(_WITHOUT_PICTURES) != now]


def _is_of(read: HomeAnswer, reckoned: HomeAnswer) -> bool:
    """Return whether what is read stands in a record that was reckoned with; of a series, in any of its times."""
    records = {one.record.partition("#")[0] for one in reckoned.witnesses}
    return any(one.record.partition("#")[0] in records for one in read.witnesses[:1])


def things_text(counts: Mapping[str, int]) -> str:
    """Say how many records there are of each kind: `26 mails, 8 notes and 4 documents`."""
    said = [
        f"{counts[kind]} {kind if counts[kind] == 1 else name}" for kind, name in _PLURALS.items() if kind in counts
    ]
    return " and ".join(filter(None, (", ".join(said[:-1]), *said[-1:])))


def _is_another_card(one: Reading, name: str) -> bool:
    """Return whether a reading is of a card that is not of that name."""
    passage = one.candidate.passage
    return passage.kind == "contact" and passage.title != name
