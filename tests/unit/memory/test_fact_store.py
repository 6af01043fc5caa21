"""Facts: two times, contradictions, corrections; untrusted ones wait for the owner."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.errors import NotFound, RequestError
from hearth.memory.facts import ME, FactStore, NewFact
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW
from hearth.types import OWNER, Label

DAY = dt.timedelta(days=1)
MESSAGE = Label(frozenset({"message"}), frozenset())


@pytest.fixture
def facts(tmp_path: Path) -> Iterator[FactStore]:
    with Store.open(tmp_path / "a.db") as store:
        yield FactStore(store)


def test_a_later_value_of_a_single_valued_relation_ends_the_earlier(facts: FactStore) -> None:
    facts.add(NewFact("Ben", "lives in", "Ghent", since=FIXED_NOW - 100 * DAY, events=("e1",)), FIXED_NOW)
    facts.add(NewFact("ben", "lives in", "Bruges", since=FIXED_NOW + 10 * DAY, events=("e2",)), FIXED_NOW + 20 * DAY)
    assert [fact.value for fact in facts.believed("Ben")] == ["Bruges"]
    assert [fact.value for fact in facts.believed("Ben", at=FIXED_NOW)] == ["Ghent"]
    assert [fact.value for fact in facts.believed("Ben", at=FIXED_NOW + 11 * DAY)] == ["Bruges"]


def test_what_was_believed_then_is_not_changed_by_what_is_learnt_now(facts: FactStore) -> None:
    facts.add(NewFact("Ben", "lives in", "Ghent"), FIXED_NOW)
    facts.add(NewFact("Ben", "lives in", "Bruges", since=FIXED_NOW - DAY), FIXED_NOW + 20 * DAY)
    (then,) = facts.believed("Ben", as_of=FIXED_NOW + 10 * DAY)
    assert (then.value, then.until) == ("Ghent", None)
    assert facts.believed("Ben", as_of=FIXED_NOW - DAY) == ()


def test_many_valued_relations_keep_all(facts: FactStore) -> None:
    for value in ("olives", "jazz"):
        facts.add(NewFact(ME, "likes", value), FIXED_NOW)
    assert [(one.relation, one.value) for one in facts.believed(ME)] == [("likes", "olives"), ("likes", "jazz")]


def test_the_same_again_is_one_fact_with_more_events(facts: FactStore) -> None:
    first = facts.add(NewFact(ME, "likes", "olives", confidence=0.6, events=("e1",)), FIXED_NOW)
    again = facts.add(NewFact(ME, "likes", "Olives", confidence=0.9, events=("e2",)), FIXED_NOW + DAY)
    assert (again.id, again.events, again.confidence) == (first.id, ("e1", "e2"), 0.9)


def test_what_a_stranger_said_is_proposed_until_the_owner_says_so(facts: FactStore) -> None:
    fact = facts.add(NewFact("Ben", "phone", "0470", label=MESSAGE), FIXED_NOW)
    assert facts.believed() == ()
    assert facts.proposed() == (fact,)
    kept = facts.promote(fact.id, FIXED_NOW + DAY)
    assert facts.believed() == (kept,)
    assert "owner" in kept.label.sources
    with pytest.raises(NotFound):
        facts.promote(kept.id, FIXED_NOW)


def test_a_proposal_ends_nothing_and_the_owners_word_lifts_it(facts: FactStore) -> None:
    facts.add(NewFact("Ben", "phone", "1111"), FIXED_NOW)
    facts.add(NewFact("Ben", "phone", "9999", label=MESSAGE), FIXED_NOW)
    assert [fact.value for fact in facts.believed("Ben")] == ["1111"]
    facts.add(NewFact("Ben", "phone", "9999"), FIXED_NOW + DAY)
    assert [fact.value for fact in facts.believed("Ben")] == ["9999"]
    assert facts.proposed() == ()


def test_corrections_keep_the_history(facts: FactStore) -> None:
    wrong = facts.add(NewFact(ME, "birthday", "3 May"), FIXED_NOW)
    right = facts.amend(wrong.id, "4 May", FIXED_NOW + DAY)
    assert [(one.relation, one.value) for one in facts.believed(ME)] == [("birthday", "4 May")]
    assert [(f.value, f.status) for f in facts.history(right.id)] == [("3 May", "promoted"), ("4 May", "amended")]
    facts.revoke(right.id, FIXED_NOW + 2 * DAY)
    assert facts.believed(ME) == ()
    assert [fact.value for fact in facts.believed(as_of=FIXED_NOW + 1.5 * DAY)] == ["4 May"]
    with pytest.raises(NotFound, match="no fact"):
        facts.amend(right.id, "5 May", FIXED_NOW)


def test_a_fact_that_ended_was_so_before(facts: FactStore) -> None:
    fact = facts.add(NewFact("Ana", "works at", "Brink", since=FIXED_NOW), FIXED_NOW)
    facts.end(fact.id, FIXED_NOW + 9 * DAY, FIXED_NOW + 10 * DAY)
    assert facts.believed("Ana") == ()
    assert len(facts.believed("Ana", at=FIXED_NOW + DAY)) == 1
    assert facts.believed("Ana", at=FIXED_NOW + 9 * DAY) == ()


def test_neighbours_in_the_graph(facts: FactStore) -> None:
    facts.add(NewFact("Ana", "sister of", "Ben"), FIXED_NOW)
    facts.add(NewFact("Ben", "lives in", "Ghent"), FIXED_NOW)
    assert [(f.subject, f.relation, f.value) for f in facts.about("ben")] == [
        ("Ana", "sister of", "Ben"),
        ("Ben", "lives in", "Ghent"),
    ]


def test_erased_rows_are_gone_and_the_rest_still_reads(facts: FactStore) -> None:
    first = facts.add(NewFact("Ben", "lives in", "Ghent", events=("e1",)), FIXED_NOW)
    facts.add(NewFact("Ben", "lives in", "Bruges", events=("e2",)), FIXED_NOW + DAY)
    ids = [fact.id for fact in facts.from_event("e1")]
    assert first.id in ids
    assert facts.erase(ids) == len(ids) == 2
    assert facts.from_event("e1") == ()
    assert [fact.value for fact in facts.history(facts.believed("Ben")[0].id)] == ["Bruges"]


@pytest.mark.parametrize(
    ("new", "says"),
    [
        (NewFact("", "likes", "x"), "subject"),
        (NewFact("Ben", " ", "x"), "relation"),
        (NewFact("Ben", "likes", "x" * 1001), "1001"),
        (NewFact("Ben", "likes", "x", confidence=2), "confidence"),
        (NewFact("Ben", "likes", "x", since=FIXED_NOW, until=FIXED_NOW), "before it began"),
    ],
)
def test_what_is_no_fact_is_refused_and_nothing_is_written(facts: FactStore, new: NewFact, says: str) -> None:
    with pytest.raises(RequestError, match=says):
        facts.add(new, FIXED_NOW)
    assert facts.believed() == facts.proposed() == ()


@settings(max_examples=25, deadline=None)
@given(
    moves=st.lists(
        st.tuples(
            st.sampled_from(["add", "stranger", "amend", "revoke", "end"]), st.integers(0, 3), st.integers(-5, 5)
        ),
        max_size=15,
    )
)
def test_the_past_never_changes_and_one_value_stands_at_any_time(
    tmp_path_factory: pytest.TempPathFactory, moves: list[tuple[str, int, int]]
) -> None:
    with Store.open(tmp_path_factory.mktemp("home") / "a.db") as store:
        facts, seen = FactStore(store), {}
        for number, (what, k, days) in enumerate(moves):
            now = FIXED_NOW + number * DAY
            if what in ("add", "stranger"):
                label = MESSAGE if what == "stranger" else OWNER
                facts.add(NewFact("Ben", "lives in", f"town{k}", since=now + days * DAY, label=label), now)
            elif standing := facts.believed("Ben"):
                if what == "amend":
                    facts.amend(standing[0].id, f"town{k}", now)
                elif what == "revoke":
                    facts.revoke(standing[0].id, now)
                elif standing[0].since is None or standing[0].since < now:
                    facts.end(standing[0].id, now, now)
            then = now + dt.timedelta(hours=1)
            seen[then] = [(f.value, f.since, f.until) for f in facts.believed("Ben", as_of=then)]
        for then, values in seen.items():
            assert [(f.value, f.since, f.until) for f in facts.believed("Ben", as_of=then)] == values
        assert not [f for f in facts.believed() if f.label == MESSAGE]
