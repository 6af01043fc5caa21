"""Events as arrays: what is found equals what SQLite holds, whatever was added and deleted in between."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.memory.event_memory import EventMemory, Filter, NewEvent
from hearth.memory.search.memory_index import (
    SCORES,
    Closeness,
    EventIndex,
    Question,
    _among_others,
    advice_vector,
    asks_for_advice,
    candidates,
    packed,
    rank,
    weights,
)
from hearth.memory.search.search_words import ASKS, HAS_NUMBER, HAS_TIME, Period, Stemmer, signs_of, telling_words
from hearth.models.sentence_encoder import TokenVectors
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW
from hearth.types import OWNER

DAY = dt.timedelta(days=1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "a.db") as opened:
        yield opened


def event(key: str, text: str, *, days: float = 0, person: str = "", thread: str = "") -> NewEvent:
    return NewEvent(key, text, "message", FIXED_NOW + days * DAY, OWNER, person, "", thread)


class WordEncoder:
    """Each word is a direction of its own."""

    dim = 384

    def encode(self, texts: object) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        rows = np.zeros((len(list(texts)), self.dim), np.float32)  # type: ignore[call-overload]
        for row, text in zip(rows, texts, strict=True):  # type: ignore[call-overload]
            for word in telling_words(text):
                row[sum(word.encode()) * 7 % self.dim] += 1
            row /= np.linalg.norm(row) or 1
        return rows


def test_stems_are_the_full_text_indexs_own() -> None:
    found, other = Stemmer().stems(["Running dogs", "dog ran"])
    assert found == {"run": 1, "dog": 1}
    assert other == {"dog": 1, "ran": 1}


def test_stems_of_questions_are_kept_and_no_more_than_so_many(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hearth.memory.search.memory_index._MOST_STEMS", 3)
    index = EventMemory(store).index
    for _ in range(3):
        assert index.stems(["running", "dogs", "run", "dog", "cats"]) == ["run", "dog", "cat"]
        assert index.stems(["running", "mice"]) == ["run", "mice"]
        assert index.stems([]) == []
    assert index.stems(["", "--"]) == []


@pytest.mark.parametrize(
    ("text", "signs"),
    [("Are you well?", ASKS), ("I went yesterday", HAS_TIME), ("I have two cats", HAS_NUMBER), ("Fine", 0)],
)
def test_signs_of_a_text(text: str, signs: int) -> None:
    assert signs_of(text) == signs


def test_neighbours_are_those_of_the_same_conversation(store: Store) -> None:
    memory = EventMemory(store)
    memory.remember_all(
        [event("a1", "one", thread="a"), event("b1", "two", thread="b"), event("a2", "three", thread="a")]
    )
    index = memory.index
    assert index.next[:3].tolist() == [2, -1, -1]
    assert index.previous[:3].tolist() == [-1, -1, 0]
    memory.remember_all([event("a3", "four", thread="a")])
    assert index.next[2] == 3
    memory.delete("a2")
    assert index.next[0] == 3
    assert index.previous[3] == 0
    memory.delete("a3")
    memory.remember_all([event("a4", "five", thread="a")])
    assert index.numbers[index.next[0]] == store.query("SELECT number FROM event WHERE id='a4'")[0][0]


def test_what_was_said_hours_apart_is_not_beside(store: Store) -> None:
    memory = EventMemory(store)
    memory.remember_all([event("a", "one"), event("b", "two", days=0.04), event("c", "three", days=0.2)])
    before, after = memory.index.beside(np.arange(3))
    assert (before.tolist(), after.tolist()) == ([-1, 0, -1], [1, -1, -1])


def test_what_stands_alone_is_scored_as_a_conversation_with_its_words_would_be(store: Store) -> None:
    memory = EventMemory(store)
    memory.remember_all([event("one", "apples", days=9, thread="x"), event("two", "red kites", days=30, thread="y")])
    found = candidates(memory.index, Question("apples or kites"), memory.index.live)
    assert found.scores[:, 0] == pytest.approx(found.scores[:, 2] / 2), "none has a conversation"
    assert found.scores[:, 1].tolist() == [0, 0]
    scores = np.array([[0.2, 0.1], [1.0, 0.5], [0.9, 0.9]], np.float32)
    words = np.array([0.0, 1.0, 0.5], np.float32)
    is_alone = np.array([False, False, True])
    expected = np.array([[0.2, 0.1], [1.0, 0.5], [0.6, 0.3]])
    assert np.allclose(_among_others(scores, words, is_alone), expected)
    assert _among_others(scores, words, ~is_alone | True)[1].tolist() == pytest.approx([0.5, 0.0])
    assert _among_others(scores, words, is_alone & False).tolist() == scores.tolist()


Moves = list[tuple[str, int]]
MOVES = st.lists(st.tuples(st.sampled_from("++-?"), st.integers(0, 5)), max_size=30)


@pytest.fixture(scope="module")
def kept_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One for all examples: making a store takes longer than an example."""
    with Store.open(tmp_path_factory.mktemp("home") / "a.db") as opened:
        yield opened


@settings(max_examples=40, deadline=None)
@given(moves=MOVES)
def test_whatever_is_added_and_deleted_the_index_says_what_a_fresh_one_says(kept_store: Store, moves: Moves) -> None:
    follow(kept_store, moves)


def follow(store: Store, moves: Moves) -> None:
    with store.transaction() as cursor:
        cursor.execute("DELETE FROM event")
    memory = EventMemory(store, WordEncoder())
    known: list[str] = []
    for number, (what, k) in enumerate(moves):
        if what == "+":
            key = f"e{number}"  # half an hour apart: some are neighbours, others said too long after
            memory.remember_all([event(key, f"word{k} word{k % 3} again", days=k / 48, thread=f"t{k % 2}")])
            known.append(key)
        elif what == "-" and known:
            memory.delete(known.pop(k % len(known)))
        else:
            memory.search(f"word{k}")
    for _ in memory.embed():
        pass
    fresh = EventIndex(store)
    assert memory.index.mean_terms == pytest.approx(fresh.mean_terms)
    assert memory.index.thread_terms.sum() == fresh.thread_terms.sum()
    for k in range(6):
        asked = Question(f"word{k}", WordEncoder().encode([f"word{k}"])[0])
        one, other = rank(memory.index, asked), rank(fresh, asked)
        assert memory.index.numbers[one.slots].tolist() == fresh.numbers[other.slots].tolist()
        assert one.totals == pytest.approx(other.totals, abs=1e-5)
        all_allowed = rank(memory.index, asked, memory.index.live.copy())
        assert all_allowed.slots.tolist() == one.slots.tolist(), "a filter that allows all changes nothing"
        assert all_allowed.totals == pytest.approx(one.totals, abs=1e-4)


def test_a_number_used_again_is_the_new_event(store: Store) -> None:
    memory = EventMemory(store)
    memory.remember_all([event("a", "apples"), event("b", "bananas")])
    assert [hit.id for hit in memory.search("bananas")] == ["b"]
    memory.delete("b")
    memory.remember_all([event("c", "cherries")])  # SQLite gives it the number of b
    assert memory.search("bananas") == ()
    assert [hit.id for hit in memory.search("cherries")] == ["c"]


def test_cosines_are_those_of_the_vectors_to_their_eight_bits(store: Store) -> None:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((500, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    memory = EventMemory(store)
    memory.remember_all(event(f"e{k}", "x") for k in range(500))
    for k, vector in enumerate(vectors):
        memory.index.set_vector(k + 1, packed(vector))
    question = vectors[7] + 0.05 * vectors[9]
    question /= np.linalg.norm(question)
    assert memory.index.cosines(question) == pytest.approx(vectors @ question, abs=0.01)
    assert int(memory.index.cosines(question).argmax()) == 7


@pytest.mark.parametrize("damage", [b"", b"short", b"\xff" * 436, b"\0" * 436])
def test_a_vector_that_cannot_be_read_is_none(store: Store, damage: bytes) -> None:
    memory = EventMemory(store, WordEncoder())
    memory.remember_all([event("a", "apples")])
    with store.transaction() as cursor:
        cursor.execute("INSERT INTO event_vector VALUES (1, ?)", (damage,))
    assert memory.index.cosines(WordEncoder().encode(["apples"])[0]).tolist() == [0.0]
    assert [hit.id for hit in memory.search("apples")] == ["a"]


def test_only_events_that_the_filter_allows_are_found(store: Store) -> None:
    memory = EventMemory(store)
    memory.remember_all(event(f"e{k}", "cake at the fair", days=k, person="Ana" if k % 2 else "Ben") for k in range(6))
    since, until = FIXED_NOW + 2 * DAY, FIXED_NOW + 5 * DAY
    hits = memory.search("cake", limit=9, where=Filter(since, until, people=("Ana",)))
    assert [hit.id for hit in hits] == ["e3"]
    assert memory.search("cake", where=Filter(kinds=("no such",))) == ()


def test_a_named_time_and_a_named_person_decide_between_equals(store: Store) -> None:
    memory = EventMemory(store, read_times=lambda text, now: (Period(FIXED_NOW + DAY, FIXED_NOW + 2 * DAY),))
    memory.remember_all(
        event(f"{person}{k}", "we went swimming", days=k * 30 + 1, person=person)
        for k in range(3)
        for person in ("Ana", "Ben")
    )
    hits = memory.search("when did Ben go swimming", now=FIXED_NOW + 100 * DAY)
    assert hits[0].id == "Ben0"


def test_meaning_alone_finds_only_what_is_near(store: Store) -> None:
    memory = EventMemory(store, WordEncoder())
    memory.remember_all([event("a", "apples")])
    assert [hit.id for hit in memory.search("apples")] == ["a"]
    assert memory.search("zebra crossing") == ()


def test_the_shipped_weights_have_one_for_each_score() -> None:
    assert weights().shape == (len(SCORES),)
    assert weights()[SCORES.index("words")] > 0


def test_scores_of_an_empty_memory_are_none(store: Store) -> None:
    index = EventMemory(store).index
    assert len(candidates(index, Question("anything"), index.live).slots) == 0


class WordTokens(WordEncoder):
    """The same, token by token."""

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        found = []
        for text in texts:
            spans = [(0, 0), *(match.span() for match in re.finditer(r"\w+", text)), (0, 0)]
            vectors = self.encode([text[start:end] for start, end in spans])
            rarity = np.ones(len(spans), np.float32)
            found.append(TokenVectors(self.encode([text])[0], vectors, np.array(spans, np.int32), rarity))
        return found


def test_a_closer_look_prefers_the_event_whose_words_answer_each_word(store: Store) -> None:
    memory = EventMemory(store, WordTokens())
    memory.remember_all([event("half", "apples apples apples", days=1), event("all", "red apples", days=2)])
    assert memory.search("red apples", is_close=True)[0].id == "all"
    closeness = Closeness(WordTokens())
    assert closeness.of("red apples", [], {1: "apples apples", 2: "red apples"}).tolist() == pytest.approx(
        [0.5, 1.0], abs=0.02
    )
    assert closeness.of("red apples", ["Red"], {1: "apples apples"}).tolist() == pytest.approx([1.0], abs=0.02)
    assert closeness.of("who", [], {3: ""}).tolist() == [0.0]


def test_a_closer_look_keeps_no_more_than_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hearth.memory.search.memory_index.MAX_CACHED", 5)
    closeness = Closeness(WordTokens())
    closeness.of("x", [], {k: f"word{k}" for k in range(20)})
    assert len(closeness._kept) == 5
    closeness.forget(19)
    assert 19 not in closeness._kept


class CountingEncoder(WordTokens):
    """Counts how often it was asked for whole vectors."""

    n_whole = 0

    def encode(self, texts: object) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        self.n_whole += 1
        return super().encode(texts)

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        return WordTokens().encode_tokens(texts)


def test_a_first_look_reads_the_question_the_quick_way_and_a_closer_one_in_full(store: Store) -> None:
    encoder = CountingEncoder()
    memory = EventMemory(store, encoder)
    memory.remember_all([event("a", "apples and pears")])
    for _ in memory.embed():
        pass
    encoder.n_whole = 0
    assert [hit.id for hit in memory.search("apples")] == ["a"]
    assert encoder.n_whole == 0
    encoder.n_whole = 0
    assert [hit.id for hit in memory.search("apples", is_close=True)] == ["a"]
    assert encoder.n_whole == 1


@pytest.mark.parametrize(
    ("text", "is_asked"),
    [
        ("can you suggest a restaurant near the hotel", True),
        ("What are some resources for learning chess?", True),
        ("which boots should I buy", True),
        ("what book did Caroline recommend", False),
        ("when is the dentist", False),
        ("what is the code of the gate", False),
    ],
)
def test_what_asks_for_advice(text: str, is_asked: bool) -> None:
    assert asks_for_advice(text) is is_asked


def test_for_advice_meaning_goes_before_words(store: Store) -> None:
    memory = EventMemory(store, WordEncoder())
    memory.remember_all(
        [event("words", "hotel hotel bill folder drawer", thread="a"), event("likes", "quiet places", thread="b")]
    )
    for _ in memory.embed():
        pass
    near_likes = WordEncoder().encode(["quiet places"])[0]
    by_words = rank(memory.index, Question("recommend a hotel", near_likes))
    by_meaning = rank(memory.index, Question("recommend a hotel", near_likes, is_for_advice=True))
    texts = [
        store.query("SELECT text FROM event WHERE number = ?", (int(memory.index.numbers[found.slots[0]]),))[0][0]
        for found in (by_words, by_meaning)
    ]
    assert texts == ["hotel hotel bill folder drawer", "quiet places"]


def test_what_all_questions_for_advice_share_is_left_out() -> None:
    kept = json.loads((files("hearth.data") / "advice_vector.json").read_text())
    shared = np.array(kept["vector"], np.float32)
    matter, preference = np.zeros((2, len(shared)), np.float32)
    matter[0], preference[1] = 1, 1
    question = (shared + matter) / np.linalg.norm(shared + matter)
    found = advice_vector(question, preference)
    assert float(np.linalg.norm(found)) == pytest.approx(1, abs=1e-5)
    assert float(found @ shared) < float(question @ shared)
    assert float(found @ matter) > float((question + preference / 2) @ matter) / np.linalg.norm(
        question + preference / 2
    )
