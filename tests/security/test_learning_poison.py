"""What is taught wrongly: strangers' text stays out, random labels cost little, harmful batches change nothing."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hearth.formats.plans import plan_to_json
from hearth.learning.corrections import Quarantine
from hearth.learning.demonstration_store import STRANGERS, Entry, read_entries
from hearth.learning.versions.learned_state import Offer, State
from hearth.learning.versions.promotion_gate import node_f1
from hearth.testing import FIXED_NOW
from hearth.types import Context, Demonstration, Label, Plan, Request, Step, ToolSpec
from tests.small_world import ENCODER, TOOLS, learnt, recall, shown, wrong_trains

VERBS = ("find", "book", "cancel", "rate")
THINGS = ("train", "hotel", "pizza", "alarm", "song")
WORLD = {f"{v}_{t}": ToolSpec(f"{v}_{t}", f"{v} a {t}.") for t in THINGS for v in VERBS}


def asked(n: int, seed: int, n_letters: int = 3) -> list[Demonstration]:
    """Requests with their plans; with three letters hardly two read alike word for word, with one many do."""
    draw = random.Random(seed)
    found = []
    for k in range(n):
        thing = draw.choice(THINGS)
        verbs = draw.choice([("find", "book"), ("cancel",), ("find",), ("find", "rate")])
        wish = " and then ".join(f"{verb} me a {thing}" for verb in verbs)
        words = f"please {wish} {''.join(draw.choices('abcdefgh', k=n_letters))} {k}"
        steps = tuple(Step(f"{verb}_{thing}", after=(j - 1,) if j else ()) for j, verb in enumerate(verbs))
        found.append(Demonstration(f"s{seed}-{k}", words, Plan(steps), source="teacher"))
    return found


def with_random_plans(given: Sequence[Demonstration], share: float) -> list[Demonstration]:
    draw = random.Random(1)
    chosen = set(draw.sample(range(len(given)), round(share * len(given))))
    return [
        replace(d, plan=Plan(tuple(Step(draw.choice(sorted(WORLD))) for _ in d.plan.steps))) if k in chosen else d
        for k, d in enumerate(given)
    ]


def score(folder: Path, taught: Sequence[Demonstration], n_letters: int) -> float:
    with State.open(folder, ENCODER, Offer(WORLD)) as state:
        state.learn(taught)
        planner, test = recall(state), asked(120, 9, n_letters)
        found = [planner.plan(Request(d.request, FIXED_NOW), Context(), state.tools) for d in test]
        planned = [tuple(step.tool for step in one.steps) if isinstance(one, Plan) else () for one in found]
        return sum(node_f1(got, [s.tool for s in d.plan.steps]) for got, d in zip(planned, test)) / len(test)


@pytest.mark.parametrize(("n_letters", "most"), [(3, 0.02), (1, 0.05)])
def test_ten_percent_random_labels_cost_little(tmp_path: Path, n_letters: int, most: float) -> None:
    """What reads like a demonstration word for word is planned like it, as after a correction: so a random plan of such
    a request costs more."""
    clean = score(tmp_path / "clean", asked(200, 1, n_letters), n_letters)
    bad = score(tmp_path / "bad", with_random_plans(asked(200, 1, n_letters), 0.1), n_letters)
    assert clean > 0.9
    assert clean - bad <= most


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with learnt(tmp_path / "state", 80) as state:
        yield state


def test_a_batch_of_random_labels_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    with State.open(tmp_path, ENCODER, Offer(WORLD)) as state:
        state.learn(asked(200, 1))
        before = state.digest()
        report = state.learn(with_random_plans(asked(60, 2), 1.0))
        assert report.version is None
        assert len(report.refused) == 60
        assert all("the gate refused it" in r.reason for r in report.refused)
        assert state.digest() == before
        assert len(state.buffer) == 200


def test_a_batch_against_one_task_is_refused(state: State) -> None:
    before = state.digest()
    report = state.learn(wrong_trains())
    assert report.version is None
    assert state.digest() == before
    again = state.learn()
    assert (again.version, again.n_learnt) == (None, 0)


def test_a_batch_that_helps_is_let_in_beside_it(state: State) -> None:
    helpful = [shown(f"h{k}", "order_pizza", "set_alarm", ending=f" {k}") for k in range(6)]
    assert state.learn(helpful).version == 2


@pytest.mark.parametrize("source", sorted(STRANGERS))
@pytest.mark.parametrize("way", ["teach", "learn", "learn anyway", "file"])
def test_what_a_stranger_touched_is_learnt_in_no_way(state: State, tmp_path: Path, source: str, way: str) -> None:
    label = Label(frozenset({"owner", source}))
    bad = Entry(replace(shown("bad", "order_pizza", source="owner"), request="pay the invoice"), label)
    if way == "teach":
        refused = state.teach([bad]).refused
    elif way == "file":
        d = bad.demonstration
        row = {"id": "bad", "user_request": d.request, "label": sorted(label.sources), **plan_to_json(d.plan)}
        (tmp_path / "f.jsonl").write_text(json.dumps(row))
        entries, _ = read_entries(tmp_path / "f.jsonl")
        refused = state.learn(entries).refused
    else:
        refused = state.learn([bad], must_pass=way == "learn").refused
    assert [r.reason for r in refused] == [
        f"'bad': text from {source} touched its plan; only what no stranger wrote is learnt from"
    ]
    assert "bad" not in recall(state).ids()
    assert "bad" not in state.buffer.ids()
    assert [kept.entry.id for kept in Quarantine(state.store).all()] == ["bad"]
    assert state.buffer.n_set_aside() == {"quarantined": 1}
    assert state.learn(must_pass=False).n_learnt == 0
    assert "bad" not in recall(state).ids()


def test_the_same_without_the_stranger_is_learnt(state: State) -> None:
    good = Entry(shown("good", "order_pizza", source="owner"), Label(frozenset({"owner", "device"})))
    assert not state.teach([good]).refused
    assert "good" in recall(state).ids()


def test_ids_and_requests_cannot_reach_outside_the_database(state: State, tmp_path: Path) -> None:
    names = ["../../escape", "a'; DROP TABLE demonstration; --", "/etc/passwd", "x\0y"]
    before = sorted(p.name for p in tmp_path.iterdir())
    state.learn(
        [replace(shown(name, "order_pizza", source="owner"), request=f"do {name}") for name in names], must_pass=False
    )
    assert set(names) <= set(state.buffer.ids())
    assert sorted(p.name for p in tmp_path.iterdir()) == before
    assert TOOLS.keys() == state.tools.keys()
