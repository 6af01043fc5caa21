"""What rankers give away and take: exact sums, parts of other profiles, a prior beside what was taught here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hearth.errors import StatisticsError
from hearth.models.ridge import Heads
from hearth.planning.ranking.features import ReadingOptions
from hearth.planning.ranking.ranker import Ranker, RankerOptions
from hearth.planning.ranking.sufficient_statistics import Layout, merged
from tests.merging_world import ENCODER, OPTIONS, PUBLIC, READING, edge, edges, ranker
from tests.small_world import TOOLS, lessons


def same(one: Heads, other: Heads) -> bool:
    return one.outputs == other.outputs and all(
        np.array_equal(a, b) for a, b in zip((*one.statistics(), one.weights), (*other.statistics(), other.weights))
    )


def test_merged_edges_are_one_student_taught_everything_to_the_last_bit() -> None:
    at_once = ranker([*lessons(40, 0), *lessons(40, 1_000), *lessons(40, 2_000)])
    at_once.renew()
    new = ranker()
    new.take_prior(merged(edges(3).values()))
    new.renew()
    assert same(new.heads, at_once.heads)
    assert new._counts == at_once._counts
    assert new._pair_links == at_once._pair_links


def test_the_order_of_merging_does_not_matter() -> None:
    mine = list(edges(3).values())
    forth, back = ranker(), ranker()
    forth.take_prior(merged(mine))
    back.take_prior(merged(reversed(mine)))
    forth.renew()
    back.renew()
    assert same(forth.heads, back.heads)


def test_a_prior_is_kept_apart_from_what_was_taught_here() -> None:
    prior = merged(edges(2).values())
    mine = lessons(30, 5_000)
    both = ranker(mine)
    both.take_prior(prior)
    both.remove(*(d.id for d in mine))
    both.renew()
    alone = ranker()
    alone.take_prior(prior)
    alone.renew()
    assert same(both.heads, alone.heads)
    both.learn(mine)
    both.take_prior(None)
    both.renew()
    plain = ranker(mine)
    plain.renew()
    assert same(both.heads, plain.heads)
    assert both._counts == plain._counts
    assert both._pair_links == plain._pair_links


def test_another_prior_takes_the_place_of_the_first() -> None:
    first, second = edges(2).values()
    changed, straight = edge(7), edge(7)
    changed.take_prior(first)
    changed.take_prior(second)
    straight.take_prior(second)
    changed.renew()
    straight.renew()
    assert same(changed.heads, straight.heads)


def test_a_student_gives_away_its_own_and_never_the_prior() -> None:
    mine = edge(7)
    before = mine.statistics(PUBLIC)
    mine.take_prior(merged(edges(2).values()))
    after = mine.statistics(PUBLIC)
    assert np.array_equal(before.sums.gram, after.sums.gram)
    assert before.sequences == after.sequences


def test_a_new_edge_plans_with_the_prior_what_it_was_never_taught() -> None:
    new = ranker()
    new.take_prior(merged(edges(4).values()))
    (ranking,) = new.rank_readings(new.read(["tell me the weather forecast, then wake me with an alarm please"]))
    assert ranking.candidates[0].tools == ("check_weather", "set_alarm")
    assert ranking.rests_on == ()


def test_demonstrations_with_an_owners_own_tools_leave_no_trace() -> None:
    everything = edge(1)
    public = PUBLIC - {"order_pizza", "cancel_train"}
    without = ranker([d for d in lessons(40, 1_000) if {s.tool for s in d.plan.steps} <= public])
    given = everything.statistics(public)
    assert "cancel_train" in everything.statistics(PUBLIC).tools
    assert "cancel_train" not in given.tools
    assert np.array_equal(given.sums.gram, without.statistics(PUBLIC).sums.gram)
    assert given.n_demonstrations == len(without) < len(everything)


def test_an_edge_counts_for_at_most_so_many_always_the_same() -> None:
    few = edge(1).statistics(PUBLIC, most=7)
    assert few.n_demonstrations == sum(few.sequences.values()) == 7
    assert np.array_equal(few.sums.gram, edge(1).statistics(PUBLIC, most=7).sums.gram)
    assert edge(1).statistics(PUBLIC, ids=["d1000", "d1001"]).n_demonstrations == 2


def test_too_many_clauses_or_steps_stay_out() -> None:
    mine = edge(1)
    one = mine.taught("d1000")
    mine._taught["d1000"] = replace(one, sequence=("set_alarm",) * 13)
    assert mine.statistics(PUBLIC).n_demonstrations == 39


def test_adding_and_taking_away_leaves_what_was_before() -> None:
    a, b = edges(2).values()
    back = a.plus(b).minus(b)
    assert np.array_equal(back.sums.gram, a.sums.gram)
    assert (back.sums.outputs, back.sequences, back.links, back.n_edges) == (
        a.sums.outputs, a.sequences, a.links, a.n_edges,
    )  # fmt: skip
    with pytest.raises(StatisticsError, match="more would be taken away"):
        a.minus(b).minus(b)
    with pytest.raises(StatisticsError, match="no statistics"):
        merged([])


@pytest.mark.parametrize(
    "part",
    [
        ReadingOptions(128, 256),
        ReadingOptions(256, 1024),
        ReadingOptions(64, 128),
        ReadingOptions(32, 64),
    ],
)
def test_a_smaller_profile_sees_the_part_it_would_have_summed_itself(part: ReadingOptions) -> None:
    shown = lessons(12)
    large, small = (
        ranker(shown, RankerOptions(reading=reading)).statistics(PUBLIC) for reading in (ReadingOptions(), part)
    )
    seen = large.seen_by(part)
    assert seen.fingerprint == small.fingerprint != large.fingerprint
    assert np.array_equal(seen.sums.gram, small.sums.gram)
    assert np.array_equal(seen.sums.moments, small.sums.moments)
    assert seen.sums.outputs == small.sums.outputs


def test_a_part_of_a_part_is_a_part() -> None:
    medium, small = ReadingOptions(256, 512), ReadingOptions(64, 256)
    large = ranker(lessons(6), RankerOptions()).statistics(PUBLIC)
    assert np.array_equal(large.seen_by(medium).seen_by(small).sums.gram, large.seen_by(small).sums.gram)
    with pytest.raises(StatisticsError, match="no part of"):
        large.seen_by(small).seen_by(medium)
    with pytest.raises(StatisticsError, match="no part of"):
        large.seen_by(replace(small, seed=1))


def test_features_that_are_no_part_of_the_whole_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="no part of"):
        ReadingOptions(300, 256)


def test_statistics_of_other_features_are_refused_everywhere() -> None:
    mine, other = edge(1), ranker(lessons(5), RankerOptions(reading=replace(READING, seed=5)))
    theirs = other.statistics(PUBLIC)
    with pytest.raises(StatisticsError, match="same encoder and profile"):
        mine.statistics(PUBLIC).plus(theirs)
    with pytest.raises(StatisticsError, match="same encoder and profile"):
        mine.take_prior(theirs)
    assert mine.prior is None


def test_sums_that_grow_too_large_are_refused() -> None:
    one = edge(1).statistics(PUBLIC)
    grown = replace(one, sums=replace(one.sums, gram=one.sums.gram + 2**52 - int(one.sums.gram.max())))
    with pytest.raises(StatisticsError, match="exactly"):
        grown.plus(one)


def test_a_row_says_what_the_statistics_say() -> None:
    given = edge(2).statistics(PUBLIC)
    layout = Layout(given.encoder, given.n_inputs, given.reading, tuple(sorted({*given.sequences, ("order_pizza",)})))
    row = layout.row(given)
    assert row.shape == (layout.n_values,)
    back = layout.statistics(row, 1)
    assert np.array_equal(back.sums.gram, given.sums.gram)
    assert np.array_equal(back.sums.moments, given.sums.moments)
    assert (back.sums.outputs, back.sums.n_rows) == (given.sums.outputs, given.sums.n_rows)
    assert np.array_equal(back.sums.mass, given.sums.mass)
    assert (back.sequences, back.links, back.n_demonstrations) == (given.sequences, given.links, 40)
    with pytest.raises(StatisticsError, match="not listed"):
        replace(layout, sequences=layout.sequences[:1]).row(given)
    with pytest.raises(StatisticsError, match="numbers was expected"):
        layout.statistics(row[:-1], 1)
    with pytest.raises(StatisticsError, match="do not fit"):
        replace(layout, encoder="another").row(given)


def test_a_student_with_a_prior_is_not_saved(tmp_path: Path) -> None:
    mine = edge(7)
    mine.take_prior(merged(edges(2).values()))
    with pytest.raises(StatisticsError, match="rests on a prior"):
        mine.save(tmp_path)
    mine.take_prior(None)
    mine.save(tmp_path)


def test_solved_heads_take_a_prior_too(tmp_path: Path) -> None:
    edge(7).save(tmp_path)
    loaded = Ranker.load(tmp_path, ENCODER, TOOLS)
    assert not loaded.heads.can_learn
    prior = merged(edges(2).values())
    loaded.take_prior(prior)
    loaded.renew()
    straight = edge(7)
    straight.take_prior(prior)
    straight.renew()
    assert same(loaded.heads, straight.heads)


def test_options_without_heads_take_a_prior_for_its_plans_alone() -> None:
    new = Ranker(ENCODER, TOOLS, replace(OPTIONS, use_heads=False))
    new.take_prior(edge(1).statistics(PUBLIC))
    assert new._counts.tools["set_alarm"] > 0
    new.take_prior(None)
    assert not new._counts.tools
