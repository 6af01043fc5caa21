"""Find names in a text: people, organisations, places, addresses; also ages, dates, job titles, groups of people and
numbers that identify somebody. A low-rank change of the shipped encoder and one linear head; onnxruntime only.

Covered: text of any length in linear time (overlapping windows), texts without capitals, English and, less well,
German, French, Spanish, Italian; names never seen, by their shape and surroundings.
Not covered: a name that is also a word and has nothing around it that says so ("will" in small letters alone), hints
further away than some 200 tokens, other languages, letters disguised as others (the text must be made plain first), and
people described without a name ("the house where she was born"). It misses some: masking adds patterns and the owner's
own dictionary. Trained by `training.ner.ner_train`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tokenizers
from numpy.typing import NDArray

from hearth.models.lora_encoder import WIDTH, AdaptedEncoder, Array, read_adapter
from hearth.models.sentence_encoder import shared_tokenizer

TAGGER_FILE = Path(__file__).parent.parent / "data" / "tagger.npz"
KINDS = ("person", "organisation", "place", "address", "group", "title", "age", "date", "identifier")
"""Kinds of spans. `title` is a job, `group` a nation, religion or party of people, `date` a day or year with its year,
`identifier` a number, e-mail or web address of somebody."""
NAMES = KINDS[:4]
"""The tagger's main kinds; for the others patterns do better."""
LEAST_CHANCE = 0.15
"""Least probability of being part of a name from which a token counts as one."""

_CLS, _SEP = 101, 102
WINDOW_TOKENS = 160
"""Most tokens read at once; with more, attention's data leaves the processor's cache, which is slower."""
_MARGIN_TOKENS = 20
"""Tokens at an inner edge of a window, whose tags come from the next window, which sees more around them."""
_PIECE_CHARACTERS = 2000
"""Most characters cut into tokens at once."""
_BLOCK_CHARACTERS = 200_000
"""Most characters read at once, so that memory stays bounded; at the edges, little is seen around a name."""

_WORD = re.compile(r"[^\W_]+")
_SHAPES = ("none", "small", "capital", "capitals", "mixed", "digits", "with digits", "letter", "no case")
NO_SHAPE, _SMALL, _CAPITAL, _CAPITALS, _MIXED, _DIGITS, _WITH_DIGITS, _LETTER, _NO_CASE = range(len(_SHAPES))
AFTER_LINE, GLUED = len(_SHAPES), len(_SHAPES) + 1
N_SHAPES = len(_SHAPES) + 2
"""Rows of the table of shapes: how the token's word is written; that a new line is before it; that no space is."""
HEADS = {"shapes": (N_SHAPES, WIDTH), "tag": (len(KINDS) + 1, WIDTH), "tag_bias": (len(KINDS) + 1,)}


@dataclass(frozen=True, slots=True)
class Span:
    """A name in a text."""

    start: int
    """First character."""
    end: int
    """The character after the last."""
    kind: str
    """One of `KINDS`."""
    chance: float
    """Mean over its tokens of the probability that they are part of any name."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text cut into tokens."""

    ids: NDArray[np.int64]
    spans: NDArray[np.int64]
    """First character and the one after the last, shape [n, 2]."""
    shapes: NDArray[np.float32]
    """1 where a row of the table of shapes is added, shape [n, N_SHAPES]."""


class Tagger:
    """Finds names; see the module. May be used from several threads at once."""

    def __init__(self, encoder: AdaptedEncoder, tokenizer: tokenizers.Tokenizer, heads: Mapping[str, Array]) -> None:
        """Use `Tagger.shipped` or `Tagger.open`."""
        self._encoder = encoder
        self._tokenizer = tokenizer
        self._heads = heads

    @classmethod
    def shipped(cls, cache_dir: Path | None = None) -> Tagger:
        """Return the tagger shipped with Hearth, one per process; its graph is built the first time (two seconds).

        Raises:
            ConfigError: Its file is missing or damaged.
            MissingExtraError: The package with the encoder's weights is not installed.
        """
        return _shipped(cache_dir)

    @classmethod
    def open(cls, path: Path, cache_dir: Path | None = None, *, n_threads: int = 1) -> Tagger:
        """Load a tagger's file; raises as `shipped` does."""
        adapter, heads, fingerprint = read_adapter(path, HEADS, "the tagger's file", "training.ner.ner_train")
        encoder = AdaptedEncoder.open(adapter, fingerprint, cache_dir, n_threads=n_threads)
        return cls(encoder, shared_tokenizer(), heads)

    def spans(self, texts: Sequence[str]) -> list[list[Span]]:
        """Return the names of each text, in order and without overlaps.

        Raises:
            TypeError: `texts` is one string instead of a list of them.
        """
        if isinstance(texts, str):
            raise TypeError(f"spans takes a list of texts, got one string {texts[:40]!r}; write spans([text])")
        return [list(self._of(text)) for text in texts]

    def _of(self, text: str) -> Iterator[Span]:
        for start, end in pieces_of(text, _BLOCK_CHARACTERS):
            block = text[start:end]
            tokens = tokens_of(self._tokenizer, block)
            if len(tokens.ids):
                for span in spans_of(block, tokens.spans, self._chances(tokens)):
                    yield Span(start + span.start, start + span.end, span.kind, span.chance)

    def _chances(self, tokens: Tokens) -> Array:
        """Return each token's probability of being nothing or of each kind, shape [n, 1 + kinds]."""
        n = len(tokens.ids)
        found = np.empty((n, len(KINDS) + 1), dtype=np.float32)
        for first, last, kept_first, kept_last in windows(n):
            states = self._encoder.states(self._embedded(tokens, first, last))
            scores = states[1 + kept_first - first : 1 + kept_last - first] @ self._heads["tag"].T
            found[kept_first:kept_last] = _softmax(scores + self._heads["tag_bias"])
        return found

    def _embedded(self, tokens: Tokens, first: int, last: int) -> Array:
        encoder = self._encoder
        ids = np.concatenate([[_CLS], tokens.ids[first:last], [_SEP]])
        embedded = encoder.words[ids] + encoder.places[: len(ids)] + encoder.segments[0]
        embedded[1:-1] += tokens.shapes[first:last] @ self._heads["shapes"]
        return np.asarray(embedded, dtype=np.float32)


@functools.lru_cache(maxsize=2)
def _shipped(cache_dir: Path | None) -> Tagger:
    return Tagger.open(TAGGER_FILE, cache_dir)


# ── Tokens ────────────────────────────────────────────────────────────────────────────────────────────────


def tokens_of(tokenizer: tokenizers.Tokenizer, text: str) -> Tokens:
    """Return the tokens of a text and how their words are written."""
    readable = text.encode("utf-8", "replace").decode("utf-8")
    ids: list[int] = []
    spans: list[tuple[int, int]] = []
    for start, end in pieces_of(readable):
        encoding = tokenizer.encode(readable[start:end], add_special_tokens=False)
        ids += encoding.ids
        spans += [(a + start, b + start) for a, b in encoding.offsets]
    where = np.array(spans, dtype=np.int64).reshape(-1, 2)
    return Tokens(np.array(ids, dtype=np.int64), where, _shapes_of(readable, spans))


def pieces_of(text: str, most: int = _PIECE_CHARACTERS) -> Iterator[tuple[int, int]]:
    """Cut the text into pieces of bounded length, at white space where there is some."""
    start = 0
    while start < len(text):
        end = min(start + most, len(text))
        if end < len(text):
            cut = max(text.rfind(" ", start + 1, end), text.rfind("\n", start + 1, end))
            end = cut if cut > start else end
        yield start, end
        start = end


def _shapes_of(text: str, spans: Sequence[tuple[int, int]]) -> NDArray[np.float32]:
    shapes = np.zeros((len(spans), N_SHAPES), dtype=np.float32)
    words = _WORD.finditer(text)
    word = next(words, None)
    before = 0
    for row, (start, end) in enumerate(spans):
        while word is not None and word.end() <= start:
            word = next(words, None)
        if word is not None and word.start() < end:
            shapes[row, _shape(word[0])] = 1
        gap = text[before:start]
        if "\n" in gap or (row == 0 and start == 0):
            shapes[row, AFTER_LINE] = 1
        elif not gap:
            shapes[row, GLUED] = 1
        before = end
    return shapes


def _shape(word: str) -> int:
    if word.isdigit():
        return _DIGITS
    if any(c.isdigit() for c in word):
        return _WITH_DIGITS
    if word.islower():
        return _SMALL
    if word.isupper():
        return _LETTER if len(word) == 1 else _CAPITALS
    if word.istitle():
        return _CAPITAL
    return _MIXED if word.lower() != word.upper() else _NO_CASE


def windows(n_tokens: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield windows over tokens: first, one after the last, and the same of those whose tags are taken."""
    start = 0
    while True:
        end = min(start + WINDOW_TOKENS, n_tokens)
        kept_first = start + _MARGIN_TOKENS if start else 0
        kept_last = end - _MARGIN_TOKENS if end < n_tokens else n_tokens
        yield start, end, kept_first, kept_last
        if end == n_tokens:
            return
        start = kept_last - _MARGIN_TOKENS


# ── From chances to spans ─────────────────────────────────────────────────────────────────────────────────


def spans_of(text: str, where: NDArray[np.int64], chances: Array) -> Iterator[Span]:
    """Yield whole words of which a token is likely part of a name; neighbours of one kind are one name."""
    open_span: _Open | None = None
    for word in _words(text, where, chances):
        if open_span is not None and open_span.takes(word, text):
            open_span.add(word)
            continue
        if open_span is not None:
            yield from open_span.spans()
        open_span = _Open(word)
    if open_span is not None:
        yield from open_span.spans()


@dataclass(slots=True)
class _Word:
    """A word, or a sign between words, that is part of a name."""

    start: int
    end: int
    kinds: Array
    """Probabilities summed over its tokens, shape [kinds]."""
    n_tokens: int
    is_sign: bool


class _Open:
    """A name that may go on."""

    def __init__(self, word: _Word) -> None:
        self._words = [word]
        self._kinds = word.kinds

    def takes(self, word: _Word, text: str) -> bool:
        """Say whether the word belongs to the same name: next to it, and of its kind or a sign."""
        last = self._words[-1]
        gap = text[last.end : word.start]
        if gap.strip(" '’-./&\t") and gap.strip():
            return False
        kind = self._kind()
        if "\n" in gap and KINDS[kind] != "address":
            return False
        if word.is_sign:
            return not gap or KINDS[int(word.kinds.argmax())] == KINDS[kind]
        return int(word.kinds.argmax()) == kind or not gap

    def add(self, word: _Word) -> None:
        self._words.append(word)
        self._kinds = self._kinds + word.kinds

    def _kind(self) -> int:
        return int(self._kinds.argmax())

    def spans(self) -> Iterator[Span]:
        """Yield the name without signs at its ends; nothing when it is signs alone."""
        words = [place for place, word in enumerate(self._words) if not word.is_sign]
        if words:
            inside = self._words[words[0] : words[-1] + 1]
            chance = float(sum(w.kinds.sum() for w in inside)) / sum(w.n_tokens for w in inside)
            yield Span(inside[0].start, inside[-1].end, KINDS[self._kind()], round(min(chance, 1.0), 4))


def _words(text: str, where: NDArray[np.int64], chances: Array) -> Iterator[_Word]:
    """Yield words and signs of which one token at least is likely part of a name."""
    likely = (chances[:, 0] < 1 - LEAST_CHANCE).tolist()
    if not any(likely):
        return
    edges = where.tolist()
    bounds = _WORD.finditer(text)
    bound = next(bounds, None)
    token = 0
    while token < len(edges):
        start, end = edges[token]
        while bound is not None and bound.end() <= start:
            bound = next(bounds, None)
        in_word = bound is not None and bound.start() < end
        last = token + 1
        if bound is not None and in_word:
            start, end = bound.start(), max(bound.end(), end)
            while last < len(edges) and edges[last][0] < end:
                last += 1
        if any(likely[token:last]) and end > start:
            yield _Word(start, end, chances[token:last, 1:].sum(axis=0), last - token, not in_word)
        token = last


def _softmax(scores: Array) -> Array:
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), dtype=np.float32)
