"""What is nearest: kept up to date as if made anew, without what is hidden."""

from __future__ import annotations

import random

import numpy as np
import pytest

from hearth.planning.ranking.features import Neighbourhood, Reader, Taught, asked_by_acts, taught_of
from hearth.testing import HashEncoder
from tests.unit.planning.test_ranker import OPTIONS, TOOLS, lessons

READER = Reader(HashEncoder(48), OPTIONS.reading)
PLACE = {name: k for k, name in enumerate(TOOLS)}


def taught(n: int = 40) -> dict[str, Taught]:
    rows = lessons(n)
    readings = READER.read([row.request for row in rows])
    vectors = [READER.vectors(list(row.task_steps)) for row in rows]
    return {
        row.id: taught_of(row, reading, asked_by_acts(row, reading, mine))
        for row, reading, mine in zip(rows, readings, vectors)
    }


def same(one: Neighbourhood, other: Neighbourhood) -> None:
    (asked,) = READER.read(["find a train to Ulm, then book the train seat please"])
    assert one.ids == other.ids
    assert one.place == other.place
    assert one.sequences == other.sequences
    assert np.array_equal(one.usual(), other.usual())
    (rows, alike), (other_rows, other_alike) = one.nearest(asked, 9), other.nearest(asked, 9)
    assert np.array_equal(rows, other_rows)
    assert np.array_equal(alike, other_alike)
    assert np.array_equal(one.asked_for(asked, PLACE), other.asked_for(asked, PLACE))


@pytest.mark.parametrize("seed", range(4))
def test_kept_up_to_date_it_equals_one_made_anew(seed: int) -> None:
    every, drawn = taught(), random.Random(seed)
    here = set(drawn.sample(sorted(every), 15 if seed else 0))
    found = Neighbourhood({id: every[id] for id in here})
    for _ in range(12):
        fresh = drawn.sample(sorted(every.keys() - here), min(drawn.randint(1, 5), len(every) - len(here)))
        found.add({id: every[id] for id in fresh})
        here.update(fresh)
        gone = drawn.sample(sorted(here), min(drawn.randint(1, 4), len(here)))
        found.drop(gone)
        here.difference_update(gone)
    same(found, Neighbourhood({id: every[id] for id in here}))


def test_everything_dropped_leaves_nothing_and_it_starts_again() -> None:
    every = taught(5)
    found = Neighbourhood(every)
    found.drop(list(every))
    (asked,) = READER.read(["find a train"])
    assert len(found.nearest(asked, 3)[0]) == 0
    assert not found.asked_for(asked, PLACE).any()
    found.add(every)
    same(found, Neighbourhood(every))


def test_hidden_rows_are_passed_over() -> None:
    every = taught()
    found = Neighbourhood(every)
    (asked,) = READER.read([lessons()[0].request])
    rows, alike = found.nearest(asked, 5)
    assert found.ids[rows[0]] == "d0"
    assert alike[0] == pytest.approx(1, abs=0.01)
    assert list(alike) == sorted(alike, reverse=True)
    hidden = np.zeros(len(found.ids), dtype=np.bool_)
    hidden[rows] = True
    others, _ = found.nearest(asked, 5, hidden)
    assert not set(others) & set(rows)
    keep = Neighbourhood({id: one for id, one in every.items() if not hidden[found.place[id]]})
    assert found.asked_for(asked, PLACE, hidden) == pytest.approx(keep.asked_for(asked, PLACE))


def test_clauses_know_what_they_asked_for() -> None:
    (asked,) = READER.read(["book the train seat, then tell me the weather forecast"])
    votes = Neighbourhood(taught()).asked_for(asked, PLACE)
    assert votes.shape == (2, len(TOOLS))
    assert votes[0].argmax() == PLACE["book_train"]
    assert votes[1].argmax() == PLACE["check_weather"]
