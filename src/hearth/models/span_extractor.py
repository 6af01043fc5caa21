"""Read the arguments of one call from a text in one pass: which are given, by which words, which option, which step.

The model sees `[CLS] tool [SEP] ([P] parameter ([O] option)*)* [SEP] ([N] earlier result)* [SEP] text`, where the marks
are learnt vectors; small heads read the states at the marks and at the text's tokens. It never invents a value: a span
lies inside the text, an option and a field are of those given. Its output is evidence, in natural logarithms of
probabilities; `planning.arguments.schema_filler` decides. Not covered: types and their normal forms, text beyond the
window.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import tokenizers
from numpy.typing import NDArray

from hearth.models.lora_encoder import WIDTH, AdaptedEncoder, Array, read_adapter
from hearth.models.sentence_encoder import shared_tokenizer

KINDS = ("absent", "span", "option", "given", "yes", "no")
ABSENT, SPAN, OPTION, GIVEN, YES, NO = range(len(KINDS))
N_SIGNS = 7
"""Number of likeness signs between a parameter and a field of an earlier result; see
`planning.arguments.schema_filler`."""

WINDOW_TOKENS = 400
FORM_TOKENS = 180
"""Most tokens of parameters in one pass; further parameters are read in another."""
_PIECE_TOKENS = 28
_TOOL_TOKENS = 40
_OPTIONS_TOKENS = 60
_FIELD_TOKENS = 20
_GIVEN_TOKENS = 120
_TEXT_CHARACTERS = 6000
TURN = re.compile(r"^[ \t]*(?:user|agent|assistant|system)[ \t]*:[ \t]*", re.IGNORECASE | re.MULTILINE)

_CLS, _SEP = 101, 102
MARKS = (30522, 30523, 30524)
"""Ids of [P], [O] and [N], just behind the vocabulary."""
_P, _O, _N = MARKS


@dataclass(frozen=True, slots=True)
class Question:
    """One parameter, as text."""

    text: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Form:
    """The questions asked of a text."""

    tool: str
    questions: tuple[Question, ...]
    given: tuple[str, ...] = ()
    """Fields of earlier results, as text."""


@dataclass(frozen=True, slots=True)
class _Frame:
    """Tokens that stand around the questions of a form."""

    head: list[int]
    tail: list[int] = field(default_factory=list)
    """What is known already of its fields."""
    given_at: list[int] = field(default_factory=list)
    """Where each of these begins in `tail`."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A row of tokens, with the positions of its parts."""

    ids: NDArray[np.int64]
    text_first: int
    """First token of the text, which reaches to the last token but one."""
    spans: NDArray[np.int32]
    """Characters of each token of the text, shape [n_text, 2]."""
    questions: tuple[int, ...]
    """Indices of the form's questions that are in this row."""
    question_at: tuple[int, ...]
    options_at: tuple[tuple[int, ...], ...]
    given_at: tuple[int, ...]
    """Positions of the form's fields; those that did not fit are left out at the end."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The model's output for one question."""

    kinds: Array
    """Log-probability of each of `KINDS`."""
    start: Array
    """Log-probability that the span starts at a token of the text, shape [n_text]."""
    end: Array
    options: Array
    given: Array
    spans: NDArray[np.int32]
    """Characters of each token of the text, shape [n_text, 2]."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the model says of one form."""

    answers: tuple[Answer, ...]
    """One for each question, in order."""
    fit: float
    """Log-odds that the form's tool is what the text asks for."""


class Pieces:
    """Cuts forms and texts into rows of tokens; token ids are cached, as the same tools are asked about again."""

    def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.ids = functools.lru_cache(maxsize=20_000)(self._ids)

    def _ids(self, text: str, most: int) -> tuple[int, ...]:
        readable = text[: most * 20].encode("utf-8", "replace").decode("utf-8")  # a description may be badly encoded
        return tuple(self._tokenizer.encode(readable, add_special_tokens=False).ids[:most])

    def text(self, text: str, most: int) -> tuple[list[int], NDArray[np.int32]]:
        """Return ids and characters of a conversation's last `most` tokens; of other text, of the first and last."""
        is_conversation = TURN.match(text) is not None
        cut = _TEXT_CHARACTERS
        if len(text) <= cut:
            pieces = [(0, text)]
        elif is_conversation:
            pieces = [(len(text) - cut, text[-cut:])]
        else:
            pieces = [(0, text[: cut // 2]), (len(text) - cut // 2, text[-cut // 2 :])]
        ids: list[int] = []
        spans: list[tuple[int, int]] = []
        for offset, piece in pieces:
            readable = piece.encode("utf-8", "replace").decode("utf-8")
            encoding = self._tokenizer.encode(readable, add_special_tokens=False)
            ids += encoding.ids
            spans += [(a + offset, b + offset) for a, b in encoding.offsets]
        if len(ids) > most:
            kept = slice(len(ids) - most, None)
            if is_conversation:
                ids, spans = ids[kept], spans[kept]
            else:
                half = most // 2
                ids, spans = ids[: most - half] + ids[-half:], spans[: most - half] + spans[-half:]
        return ids, np.array(spans, dtype=np.int32).reshape(-1, 2)

    def rows(self, form: Form, text: str) -> list[Layout]:
        """Return the rows that ask every question of the form of the text: one, unless the form is long."""
        questions = [self._question(q) for q in form.questions]
        frame = _Frame([_CLS, *self.ids(form.tool, _TOOL_TOKENS), _SEP])
        for given in form.given:
            said = self.ids(given, _FIELD_TOKENS)
            if len(frame.tail) + len(said) + 1 > _GIVEN_TOKENS:
                break
            frame.given_at.append(len(frame.tail))
            frame.tail.extend([_N, *said])
        groups: list[list[int]] = [[]]
        room = FORM_TOKENS - len(frame.head)
        used = 0
        for index, (ids, _) in enumerate(questions):
            if groups[-1] and used + len(ids) > room:
                groups.append([])
                used = 0
            groups[-1].append(index)
            used += len(ids)
        return [self._row([(k, *questions[k]) for k in group], frame, text) for group in groups]

    def _question(self, question: Question) -> tuple[list[int], list[int]]:
        """Return the question's ids, and where its options begin."""
        ids = [_P, *self.ids(question.text, _PIECE_TOKENS)]
        options_at: list[int] = []
        room = max(3, _OPTIONS_TOKENS // max(1, len(question.options)))
        for option in question.options:
            options_at.append(len(ids))
            ids += [_O, *self.ids(option, room - 1)]
        return ids, options_at

    def _row(self, questions: Sequence[tuple[int, list[int], list[int]]], frame: _Frame, text: str) -> Layout:
        """Lay out some questions: of each, its number in the form, its ids, and where its options begin."""
        ids = list(frame.head)
        question_at, options_at = [], []
        for _, question, starts in questions:
            question_at.append(len(ids))
            options_at.append(tuple(len(ids) + at for at in starts))
            ids += question
        ids.append(_SEP)
        fields_at = tuple(len(ids) + at for at in frame.given_at)
        if frame.tail:
            ids += [*frame.tail, _SEP]
        said, spans = self.text(text, max(64, WINDOW_TOKENS - len(ids) - 1))
        first = len(ids)
        ids += [*said, _SEP]
        return Layout(
            np.array(ids, dtype=np.int64),
            first,
            spans,
            tuple(number for number, _, _ in questions),
            tuple(question_at),
            tuple(options_at),
            fields_at,
        )


class SpanReader:
    """The trained reader; see the module. May be used from several threads at once."""

    def __init__(self, encoder: AdaptedEncoder, pieces: Pieces, heads: Mapping[str, Array]) -> None:
        """Use `SpanReader.open`."""
        self._encoder = encoder
        self._pieces = pieces
        self._heads = heads
        self._segment = heads["segment"]
        marks = heads["marks"]
        self._marks = np.asarray(marks, dtype=np.float32)

    @classmethod
    def open(cls, path: Path, cache_dir: Path | None = None, *, n_threads: int = 0) -> SpanReader:
        """Load an adapter file; its graph is built the first time (two seconds) and kept in the cache.

        Raises:
            ConfigError: The file is missing, damaged or not an adapter of this version.
            MissingExtraError: The package with the encoder's weights is not installed.
        """
        made_by = "training.span_extractor_train"
        adapter, heads, fingerprint = read_adapter(path, HEADS, "the reader's adapter", made_by)
        encoder = AdaptedEncoder.open(adapter, fingerprint, cache_dir, n_threads=n_threads)
        return cls(encoder, Pieces(shared_tokenizer()), heads)

    def read(self, form: Form, text: str, signs: Array | None = None) -> Reading:
        """Ask every question of the form of the text.

        Args:
            signs: Likeness of each question to each given field, shape [n_questions, n_given, N_SIGNS].
        """
        answers: list[Answer | None] = [None] * len(form.questions)
        fits = []
        for row in self._pieces.rows(form, text):
            states = self._encoder.states(self._embedded(row))
            fits.append(float(states[0] @ self._heads["fit"] + self._heads["fit_bias"][0]))
            for index, answer in zip(row.questions, self._answers(row, states, signs)):
                answers[index] = answer
        return Reading(tuple(a for a in answers if a is not None), sum(fits) / len(fits))

    def vectors(self, texts: Sequence[str]) -> Array:
        """Return unit vectors by which texts and tools are matched, shape [n, 384]."""
        found = np.zeros((len(texts), WIDTH), dtype=np.float32)
        for place, text in enumerate(texts):
            ids = [_CLS, *self._pieces.text(text, MATCH_TOKENS)[0], _SEP]
            embedded = self._encoder.words[ids] + self._encoder.places[: len(ids)] + self._encoder.segments[0]
            mean = self._encoder.states(embedded.astype(np.float32)).mean(axis=0)
            found[place] = mean / max(float(np.linalg.norm(mean)), 1e-9)
        return found

    def _embedded(self, row: Layout) -> Array:
        is_mark = row.ids >= MARKS[0]
        embedded = self._encoder.words[np.where(is_mark, 0, row.ids)]
        embedded[is_mark] = self._marks[row.ids[is_mark] - MARKS[0]]
        embedded += self._encoder.places[: len(row.ids)]
        embedded[: row.text_first] += self._encoder.segments[0]
        embedded[row.text_first :] += self._segment
        return np.asarray(embedded, dtype=np.float32)

    def _answers(self, row: Layout, states: Array, signs: Array | None) -> list[Answer]:
        heads = self._heads
        asked = states[list(row.question_at)]
        text = states[row.text_first : row.text_first + len(row.spans)]
        scale = np.float32(WIDTH**-0.5)
        start, end = (asked @ heads[name].T @ text.T * scale for name in ("start", "end"))
        kinds = asked @ heads["kind"].T + heads["kind_bias"]
        if len(text) and len(asked):
            # Whether it is a yes or a no is read at the words the question points to.
            said = np.stack([np.exp(_log_chances(one)) for one in start]) @ text
            kinds[:, YES : NO + 1] += np.concatenate([said, asked * said], axis=1) @ heads["evidence"].T
        n_given = len(row.given_at)
        given: Array = np.zeros((len(asked), 0), dtype=np.float32)
        if n_given:
            given = np.asarray(asked @ heads["given"].T @ states[list(row.given_at)].T * scale, dtype=np.float32)
            if signs is not None:
                mine = signs[list(row.questions), :n_given]
                given = given + mine @ heads["signs"]
                kinds[:, GIVEN] += (mine @ heads["kind_signs"]).max(axis=1)
        else:
            kinds[:, GIVEN] = -1e4
        found = []
        for k in range(len(asked)):
            options = np.zeros(0, dtype=np.float32)
            if row.options_at[k]:
                options = (asked[k] @ heads["option"].T) @ states[list(row.options_at[k])].T * scale
            of_kinds = kinds[k].copy()
            if not row.options_at[k]:
                of_kinds[OPTION] = -1e4
            if not len(text):
                of_kinds[SPAN] = -1e4
            found.append(
                Answer(
                    _log_chances(of_kinds),
                    _log_chances(start[k]),
                    _log_chances(end[k]),
                    _log_chances(options),
                    _log_chances(given[k]),
                    row.spans,
                )
            )
        return found


MATCH_TOKENS = 96


def _log_chances(scores: Array) -> Array:
    if not len(scores):
        return scores
    shifted = scores - scores.max()
    return np.asarray(shifted - np.log(np.exp(shifted).sum()), dtype=np.float32)


# ── The adapter's file ────────────────────────────────────────────────────────────────────────────────────


HEADS = {
    "marks": (len(MARKS), WIDTH),
    "segment": (WIDTH,),
    "kind": (len(KINDS), WIDTH),
    "kind_bias": (len(KINDS),),
    "kind_signs": (N_SIGNS,),
    "evidence": (2, 2 * WIDTH),
    "start": (WIDTH, WIDTH),
    "end": (WIDTH, WIDTH),
    "option": (WIDTH, WIDTH),
    "given": (WIDTH, WIDTH),
    "signs": (N_SIGNS,),
    # Whether the tool is what is asked for.
    "fit": (WIDTH,),
    "fit_bias": (1,),
}
