"""Laws of the ranker: order, forgetting and files leave no trace in what it knows or plans."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.planning.ranking.ranker import Ranker
from hearth.testing import HashEncoder
from tests.unit.planning.test_ranker import OPTIONS, TOOLS, lessons

LESSONS = lessons(48)
REQUESTS = ("find a train to Ulm, then book the train seat", "order a large pizza please")
acts = st.lists(
    st.one_of(
        st.tuples(st.just("learn"), st.lists(st.integers(0, 47), min_size=1, max_size=12, unique=True)),
        st.tuples(st.just("remove"), st.lists(st.integers(0, 47), min_size=1, max_size=6, unique=True)),
        st.tuples(st.just("save"), st.just([0])),
        st.tuples(st.just("plan"), st.just([0])),
    ),
    min_size=1,
    max_size=9,
)


def new() -> Ranker:
    return Ranker(HashEncoder(48), TOOLS, OPTIONS)


@settings(max_examples=40, deadline=None)
@given(acts)
def test_whatever_happened_it_knows_what_a_fresh_one_taught_the_same_knows(
    tmp_path_factory: object, given_acts: list[tuple[str, list[int]]]
) -> None:
    folder: Path = tmp_path_factory.mktemp("ranker")  # type: ignore[attr-defined]
    ranker, held = new(), dict[int, None]()
    for act, numbers in given_acts:
        if act == "learn":
            ranker.learn([LESSONS[k] for k in numbers])
            held.update(dict.fromkeys(numbers))
        elif act == "remove":
            ranker.remove(*(f"d{k}" for k in numbers))
            for k in numbers:
                held.pop(k, None)
        elif act == "save":
            ranker.save(folder)
            ranker = Ranker.load(folder, HashEncoder(48), TOOLS)
        else:
            ranker.rank(REQUESTS[0])
    fresh = new()
    fresh.learn([LESSONS[k] for k in sorted(held)])
    assert ranker.ids == fresh.ids
    assert ranker.difference(fresh) < 1e-6
    assert np.array_equal(ranker.heads.statistics()[0], fresh.heads.statistics()[0])
    ranker.renew()
    fresh.renew()
    for text in REQUESTS:
        mine, theirs = ranker.rank(text), fresh.rank(text)
        assert mine.rests_on == theirs.rests_on
        assert mine.candidates[:1] == theirs.candidates[:1]
        assert abs(mine.confidence - theirs.confidence) < 1e-4
