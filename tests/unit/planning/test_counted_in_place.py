"""What is kept up to date is what would be made anew: counts of arguments, rows and where they stand, others' phrases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.agent import shipped_demonstrations
from hearth.planning.arguments.alignment import Lesson, lessons_of
from hearth.planning.arguments.span_boundaries import Manners
from hearth.planning.owner_macros import SMALL, Others, _grams, bare_of, words_of
from hearth.planning.retrieval.episodic_index import Remembered
from hearth.storage.database import Store
from hearth.testing import HashEncoder

SHIPPED = shipped_demonstrations()
SOME = SHIPPED[:: len(SHIPPED) // 60]
LESSONS = [lesson for one in SOME for lesson in lessons_of(one)]
FEW = LESSONS[:30]
PLACES = sorted({(step.tool, name) for lesson in FEW for step in lesson.steps for name in step.sources})
TOOLS = sorted({step.tool for lesson in FEW for step in lesson.steps})


class Book:
    """A book of lessons that can be exchanged."""

    def __init__(self, lessons: Sequence[Lesson]) -> None:
        self.lessons = lessons

    def newest_with(self, tool: str, n: int) -> Sequence[Lesson]:
        return [one for one in self.lessons if any(step.tool == tool for step in one.steps)][:n]

    def sample(self, n_per_tool: int, n: int) -> Sequence[Lesson]:
        return self.lessons[:n]


def counted(manners: Manners) -> list[object]:
    return [(manners.levels(tool, name), manners.frame(tool)) for tool, name in PLACES]


@settings(max_examples=20)
@given(st.lists(st.sets(st.integers(0, len(FEW) - 1)), min_size=2, max_size=4))
def test_counts_of_arguments(chosen: list[set[int]]) -> None:
    book = Book(())
    kept = Manners(book)
    for places in chosen:
        book.lessons = [FEW[place] for place in sorted(places)]
        kept.forget(TOOLS)
        assert counted(kept) == counted(Manners(book))


def test_counts_that_leave_one_out_for_a_while() -> None:
    book = Book(FEW)
    kept, tools = Manners(book), {step.tool for step in FEW[0].steps}
    before = counted(Manners(book))
    assert counted(kept) == before
    book.lessons = FEW[1:]
    with kept.counting_anew(tools):
        for tool in tools:
            assert kept.frame(tool) == Manners(book).frame(tool) != Manners(Book(FEW)).frame(tool)
    book.lessons = FEW
    assert counted(kept) == before


def stands(remembered: Remembered) -> list[object]:
    tools = sorted({tool for row in remembered.rows for tool in row.tools})
    return [
        remembered.digest(),
        [(tool, remembered.with_leaf(tool), remembered.newest_with(tool, 5)) for tool in tools],
        [remembered.place_of(id) for id in remembered.ids()],
        [remembered.that_read(remembered.lesson(row).words) for row in remembered.rows],
        remembered.is_long.tolist(),
        remembered.refers.tolist(),
        remembered.of_own_tools(),
        sorted(remembered.requests_beside(("owner",))),
    ]


@pytest.mark.parametrize("seed", range(4))
def test_rows_and_where_they_stand(seed: int, tmp_path: Path) -> None:
    rng, encoder = np.random.default_rng(seed), HashEncoder(16)
    with Store.open(tmp_path / "a.db") as store:
        kept = Remembered(encoder, store)
        for round in range(6):
            stands(kept)  # all that is derived is there before the next change
            some = [SOME[place] for place in rng.choice(len(SOME), 8, replace=False)]
            kept.add(replace(d, id=f"{round % 2}:{d.id}", source="owner") for d in some[:4])
            kept.remove([str(id) for id in rng.choice(kept.ids(), 2, replace=False)])
            kept.add(some[4:])
            again = Remembered(encoder, store)
            assert set(kept.ids()) == set(again.ids())
            assert kept.digest() == again.digest()
            form = kept.likeness.of_lessons([kept.lesson(kept.rows[0])])[0]
            for text in (one.request for one in some):
                near = ({d.id for d, _ in one.near(text, form, ("owner",), 3)} for one in (kept, again))
                assert next(near) == next(near)
        supposed = Remembered(encoder, None)
        supposed.add([kept.demonstration(id) for id in kept.ids()])
        assert stands(supposed) == stands(kept)


def test_nothing_of_what_was_removed_stays_in_memory() -> None:
    encoder = HashEncoder(16)
    kept = Remembered(encoder, None)
    kept.add(SOME)
    vectors = kept.vectors(SOME[3].id)
    kept.remove([SOME[3].id])
    held = kept._said._held.astype(np.float32)
    assert not any((held == vector).all(axis=1).any() for vector in vectors)


REQUESTS = [one.request for one in SOME]
READ = [words_of(text) for text in REQUESTS]
SPOKEN = Counter(gram for words in READ for gram in set(_grams(words)))
WORDS = sorted({word for words in READ for word in words})


@given(st.one_of(st.sampled_from(sorted(SPOKEN)), st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(tuple)))
def test_what_others_say_of_a_phrase(gram: tuple[str, ...]) -> None:
    others = Others(REQUESTS)
    for said in (gram, tuple(map(bare_of, gram)), tuple(f"{word}e" for word in gram)):
        if SMALL.issuperset(said):
            continue
        assert others.n_that_say(said) == SPOKEN[said]
        assert others.say_about(said) == any(tuple(map(bare_of, one)) == tuple(map(bare_of, said)) for one in SPOKEN)
