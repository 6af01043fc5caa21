"""Understands which operation a question asks for, in whatever words, and says it as the parsers of operations know it.

A softmax over the sentence vector and a sketch of the words tells the operation (`OPERATIONS`), a logistic function of
each word which stretch names the matter and which the time. Both are learnt from questions that people of many lives
would ask (`training.asked_operations_train`, `data/asked_operations.npz`): "what number goes on Gran's cake" becomes
"how old will Gran be on their next birthday". A logistic function of the same features tells whether a question is for
the owner's own things at all, and not for a tool or the world.

Not covered: several operations in one question, several matters compared, other languages.
"""

from __future__ import annotations

import functools
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from hearth import patterns as re
from hearth.language.text.request_sketch import sketch_of
from hearth.memory.search.terms import STOP_WORDS
from hearth.protocols import Encoder

FILE = "asked_operations.npz"
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
    with np.load(str(files("hearth.data") / FILE)) as kept:
        operations, marks, own = (kept[name].astype(np.float32) for name in ("operations", "marks", "own"))
        return operations, marks, own


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
