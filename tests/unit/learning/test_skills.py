"""Skills from use: found in the record, proposed with evidence, installed only after a yes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hearth.errors import NotFound, RequestError
from hearth.learning.skills import accept, dismiss, propose, remove, skills, suggested_name
from hearth.learning.versions.learned_state import Offer, State
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.storage.database import Store
from hearth.storage.trace import Trace
from hearth.types import Answer, Context, Episode, Parameter, Plan, Ref, Request, Ruling, Step, StepResult, ToolSpec
from tests.small_world import ENCODER

TOOLS = {
    "lock_door": ToolSpec("lock_door", "Lock a door.", (Parameter("door", "text"),), effect="change"),
    "dim_lights": ToolSpec("dim_lights", "Dim the lights.", (Parameter("percent", "integer"),), effect="change"),
    "find_film": ToolSpec("find_film", "Find a film.", (Parameter("name", "text"),), returns="Film"),
    "play_film": ToolSpec("play_film", "Play a film.", (Parameter("film", "Film"),), effect="change"),
    "tell_time": ToolSpec("tell_time", "Tell the time."),
}
START = dt.datetime(2026, 11, 2, 22, 0, tzinfo=dt.UTC)
LOCK, DIM = Step("lock_door", {"door": "front"}), Step("dim_lights", {"percent": 10})


def record(
    store: Store, at: dt.datetime, *steps: Step, request: str = "", asked_by: str = "", **changes: object
) -> str:
    """A finished request."""
    id = f"e{len(Trace(store).episodes(10_000)):03}"
    plan = Plan(steps)
    results = tuple(StepResult(k, "done") for k in range(len(steps)))
    text = request or " and ".join(step.tool.replace("_", " ") for step in steps)
    episode = Episode(
        id, Request(text, at, asked_by=asked_by), plan, None, Ruling("allow", "yes"), results, Answer("Done.", "done")
    )
    trace = Trace(store)
    trace.begin(episode.request, id)
    trace.finish(replace(episode, **changes))  # type: ignore[arg-type]
    return id


def evenings(store: Store, n: int, *, between: Sequence[Step] = (), asked_by: str = "") -> None:
    """The door and the lights, each evening, said one after the other."""
    for day in range(n):
        at = START + dt.timedelta(days=day)
        record(store, at, LOCK, request="lock the front door", asked_by=asked_by)
        for step in between:
            record(store, at + dt.timedelta(minutes=1), step)
        record(store, at + dt.timedelta(minutes=2), DIM, request="dim the lights to 10 percent", asked_by=asked_by)


NOW = START + dt.timedelta(days=60)


def test_requests_that_follow_each_other_again_and_again_are_proposed(store: Store) -> None:
    evenings(store, 3)
    (skill,) = propose(store, TOOLS, NOW)
    assert [step.tool for step in skill.plan.steps] == ["lock_door", "dim_lights"]
    assert [dict(step.arguments) for step in skill.plan.steps] == [{"door": "front"}, {"percent": 10}]
    assert skill.plan.steps[1].after == (0,)
    assert (skill.n_times, skill.first, skill.last, skill.open) == (3, "2026-11-02", "2026-11-04", ())
    assert len(skill.episodes) == 6
    assert suggested_name(skill) == "lock door and dim lights"


def test_what_a_program_asks_again_and_again_is_no_skill(store: Store) -> None:
    evenings(store, 3, asked_by="tablet")
    assert propose(store, TOOLS, NOW) == ()


def test_twice_or_on_one_day_is_not_enough(store: Store) -> None:
    evenings(store, 2)
    assert propose(store, TOOLS, NOW) == ()
    for k in range(5):
        at = START + dt.timedelta(days=9, minutes=30 * k)
        record(
            store, at - dt.timedelta(hours=10), Step("find_film", {"name": "x"}), Step("play_film", {"film": Ref(0)})
        )
    assert propose(store, TOOLS, NOW) == ()


def test_other_steps_in_between_do_not_matter(store: Store) -> None:
    evenings(store, 3, between=[Step("tell_time")])
    found = propose(store, TOOLS, NOW)
    assert [[step.tool for step in skill.plan.steps] for skill in found] == [["lock_door", "tell_time", "dim_lights"]]
    for day, noise in enumerate((1, 2)):
        at = START + dt.timedelta(days=10 + day)
        record(store, at, LOCK)
        for k in range(noise):
            record(store, at + dt.timedelta(minutes=k), Step("find_film", {"name": f"n{k}"}))
        record(store, at + dt.timedelta(minutes=5), DIM)
    found = propose(store, TOOLS, NOW)
    assert ["lock_door", "dim_lights"] in [[step.tool for step in skill.plan.steps] for skill in found]


def test_what_varies_is_left_open_and_what_flows_is_kept(store: Store) -> None:
    for day, name in enumerate(("Heat", "Ran", "Ikiru", "Heat")):
        steps = Step("find_film", {"name": name}), Step("play_film", {"film": Ref(0, ("0",))}), DIM
        record(store, START + dt.timedelta(days=day), *steps, request=f"film {name}")
    (skill,) = propose(store, TOOLS, NOW)
    assert [step.tool for step in skill.plan.steps] == ["find_film", "play_film", "dim_lights"]
    assert skill.open == ((0, "name"),)
    assert skill.plan.steps[1].arguments == {"film": Ref(0, ("0",))}


def test_one_that_differs_once_does_not_open_an_argument(store: Store) -> None:
    evenings(store, 5)
    at = START + dt.timedelta(days=20)
    record(store, at, LOCK)
    record(store, at, Step("dim_lights", {"percent": 50}))
    (skill,) = propose(store, TOOLS, NOW)
    assert (skill.open, skill.n_times) == ((), 5)


def test_what_did_not_stand_is_not_looked_at(store: Store) -> None:
    for day in range(3):
        at = START + dt.timedelta(days=day)
        id = record(store, at, LOCK, DIM)
        if day == 2:
            Trace(store).steps(id, finished=[StepResult(0, "done")], started=[])
            Trace(store).mark_undone(id, 0)
    for day in range(3):
        record(store, START + dt.timedelta(days=20 + day), LOCK, DIM, ruling=Ruling("deny", "no"))
        record(store, START + dt.timedelta(days=30 + day), LOCK, DIM, answer=Answer("no", "failed"))
    assert propose(store, TOOLS, NOW) == ()


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with State.open(tmp_path / "state", ENCODER, Offer(TOOLS)) as state:
        yield state


def test_nothing_is_installed_without_a_yes_and_a_yes_makes_its_name_planned(state: State) -> None:
    evenings(state.store, 4)
    (skill,) = propose(state.store, TOOLS, NOW)
    assert len(state.buffer) == 0
    done = accept(state, skill.number, "Goodnight")
    assert (done.name, done.state, done.demonstrations) == (
        "Goodnight",
        "accepted",
        ("skill:Goodnight", "skill:Goodnight:2", "skill:Goodnight:3"),
    )
    requests = [(e.demonstration.request, e.demonstration.source) for e in state.buffer.all()]
    assert requests == [("Goodnight", "owner"), ("Goodnight!", "owner"), ("Goodnight please", "owner")]
    recalled = RecallPlanner(ENCODER, state.store)
    planned = recalled.plan(Request("goodnight", NOW), Context(), TOOLS)
    assert isinstance(planned, Plan)
    assert [step.tool for step in planned.steps] == ["lock_door", "dim_lights"]
    assert recalled.ids("owner") == done.demonstrations
    assert propose(state.store, TOOLS, NOW) == ()


def test_an_open_skill_is_taught_with_what_was_said(state: State) -> None:
    for day, name in enumerate(("Heat", "Ran", "Ikiru", "Alien")):
        record(
            state.store,
            START + dt.timedelta(days=day),
            Step("find_film", {"name": name}),
            Step("play_film", {"film": Ref(0)}),
        )
    (skill,) = propose(state.store, TOOLS, NOW)
    accept(state, skill.number, "film night")
    requests = [e.demonstration.request for e in state.buffer.all()]
    assert requests == ["film night Ran", "film night Ikiru", "film night Alien"]


def test_a_name_must_be_free_and_readable(state: State) -> None:
    evenings(state.store, 4)
    (skill,) = propose(state.store, TOOLS, NOW)
    with pytest.raises(RequestError, match="must have 1 to 60 printable characters"):
        accept(state, skill.number, "x" * 61)
    with pytest.raises(RequestError, match="must have 1 to 60 printable characters"):
        accept(state, skill.number, "a\x1b[2Jb")
    accept(state, skill.number, "night")
    with pytest.raises(NotFound, match=f"no proposal {skill.number}; `hearth skills` lists them"):
        accept(state, skill.number, "again")
    for day in range(3):
        steps = Step("find_film", {"name": "Heat"}), Step("play_film", {"film": Ref(0)})
        record(state.store, START + dt.timedelta(days=30 + day), *steps)
    (other,) = propose(state.store, TOOLS, NOW)
    with pytest.raises(RequestError, match="there is a skill 'night' already"):
        accept(state, other.number, "Night")
    remove(state.store, "NIGHT")
    assert len(state.buffer) == 0
    accept(state, other.number, "night")
    with pytest.raises(NotFound, match="no skill 'day'; there are: 'night'"):
        remove(state.store, "day")


def test_a_name_that_means_something_else_is_refused(state: State) -> None:
    evenings(state.store, 3)
    (skill,) = propose(state.store, TOOLS, NOW)
    accept(state, skill.number, "night")
    state.store.query("SELECT 1")
    with state.store.transaction() as cursor:
        cursor.execute("UPDATE skill SET state='proposed'")
    with pytest.raises(RequestError, match="'NIGHT' means something else already"):
        accept(state, skill.number, "NIGHT")


def test_dismissed_is_not_proposed_again(store: Store) -> None:
    evenings(store, 3)
    (skill,) = propose(store, TOOLS, NOW)
    assert dismiss(store, skill.number).state == "dismissed"
    evenings(store, 2)
    assert propose(store, TOOLS, NOW) == ()
    assert [s.state for s in skills(store)] == ["dismissed"]
    with pytest.raises(NotFound):
        dismiss(store, skill.number)


def test_numbers_stay_while_it_is_found(store: Store) -> None:
    evenings(store, 3)
    (before,) = propose(store, TOOLS, NOW)
    evenings(store, 1)
    (after,) = propose(store, TOOLS, NOW)
    assert after.number == before.number
    assert after.n_times >= before.n_times
