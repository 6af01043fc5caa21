"""Tells whether a later statement replaces an earlier one, so that what no longer holds is not said as if it did.

A logistic function of the encoder's vector of the later statement, which tells that something has changed, and of signs
of how question, earlier and later statement lie to each other, in words and in meaning. Its weights are learnt from
pairs of statements, of which some changed something and some stood beside each other (`data/supersession.json`, made by
`training.recollection.supersession_train`).

Covered: a change in any words, also one that names the old value ("I sold the Volvo and bought a Renault").
Not covered: a change that only knowledge of the world shows ("my accounts are at Triodos" of a bank), and statements of
several things of which one has changed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from hearth.memory.facts.relations import KIN
from hearth.memory.search.fitted import fitted
from hearth.memory.search.memory_index import FloatArray
from hearth.memory.search.terms import STOP_WORDS, telling_words
from hearth.memory.search.word_forms import keys_of
from hearth.models.encoder.sentence_encoder import TokenVectors

SIGNS = ("like", "near_later", "near_earlier", "held", "lost", "again", "another", "length", "beside")
"""What is weighed beside the later statement's vector: cosine of both statements, of each with the question; how near
the later one comes to the question's words, and the most by which it is further from one of them than the earlier;
rarity of a word of the earlier one that the later one says again; names and kin that the question and the earlier one
name and the later one does not; its length; how near its words come to those of the earlier one."""
_NAMED = re.compile(r"(?<!^)\b[A-Z]\w+")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement or question as it is compared."""

    text: str
    vector: FloatArray
    """Unit vector, shape [dim]."""
    tokens: FloatArray
    """Unit vectors of its tokens that carry content, shape [n, dim]."""
    rarity: FloatArray
    keys: tuple[frozenset[str], ...]
    """What each of these tokens is known by."""
    all_keys: frozenset[str]
    names: frozenset[str]


def statement_of(text: str, read: TokenVectors) -> Statement:
    """Take from a text and its token vectors what is compared."""
    words = [text[start:end].casefold() for start, end in read.spans]
    is_telling = np.array([bool(w) and w[0].isalnum() and w not in STOP_WORDS for w in words])
    if not is_telling.any():
        is_telling[:] = True
    names = {word.casefold() for word in _NAMED.findall(text) if word != "I"}
    return Statement(
        text,
        read.whole / max(1e-9, float(np.linalg.norm(read.whole))),
        read.vectors[is_telling].astype(np.float32),
        (np.maximum(read.rarity[is_telling], 0) + 0.5).astype(np.float32),
        tuple(frozenset(keys_of(word)) for word, tells in zip(words, is_telling, strict=True) if tells),
        frozenset(keys_of(text)),
        frozenset(names | {word for word in telling_words(text) if word in KIN}),
    )


def signs_of(question: Statement, earlier: Statement, later: Statement) -> NDArray[np.float64]:
    """Return what is weighed: `SIGNS`, then the later statement's vector, shape [len(SIGNS) + dim]."""
    share = question.rarity / question.rarity.sum()
    in_earlier = (question.tokens @ earlier.tokens.T).max(axis=1)
    in_later = (question.tokens @ later.tokens.T).max(axis=1)
    beside = (later.tokens @ earlier.tokens.T).max(axis=1)
    said_again = [
        float(rarity)
        for keys, rarity in zip(earlier.keys, earlier.rarity, strict=True)
        if keys & later.all_keys and not keys & question.all_keys
    ]
    low = earlier.text.casefold(), later.text.casefold()
    signs = (
        float(earlier.vector @ later.vector),
        float(question.vector @ later.vector),
        float(question.vector @ earlier.vector),
        float(share @ in_later),
        float((np.maximum(0, in_earlier - in_later) * share).max() / share.max()),
        max(said_again, default=0.0),
        float(sum(name in low[0] and name not in low[1] for name in question.names)),
        float(np.log(max(1, len(later.text.split())))),
        float(beside @ later.rarity / later.rarity.sum()),
    )
    return np.concatenate([np.array(signs), later.vector.astype(np.float64)])


def sureness(question: Statement, earlier: Statement, later: Statement) -> float:
    """Return by how much it is surer than needed that `later` replaces what `earlier` says on the question."""
    weights, least = _kept()
    return float(signs_of(question, earlier, later) @ weights[:-1] + weights[-1] - least)


@cache
def _kept() -> tuple[NDArray[np.float64], float]:
    kept = fitted("supersession")
    return np.array(kept["weights"]), float(kept["least"])
