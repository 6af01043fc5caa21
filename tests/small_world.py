"""Six tools, plans for them, and a state small enough to be learnt in a moment: shared by the tests of learning."""

from __future__ import annotations

import atexit
import functools
import os
import random
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from hearth.learning.versions.learned_state import Offer, State
from hearth.planning.ranking.features import ReadingOptions
from hearth.planning.ranking.ranker import RankerOptions
from hearth.planning.retrieval import taught_sequences
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.testing import FIXED_NOW, HashEncoder
from hearth.types import Context, Demonstration, Plan, Request, Step, ToolSpec

OPTIONS = RankerOptions(reading=ReadingOptions(n_cosines=64, n_words=64), n_fit=60)
ENCODER = HashEncoder(32)
WORDS = {
    "find_train": ("find a train to Ulm", "Find trains between two towns."),
    "book_train": ("book the train seat", "Book a seat on a train."),
    "cancel_train": ("cancel the train ticket", "Cancel a train ticket."),
    "check_weather": ("tell me the weather forecast", "Weather forecast of a place."),
    "set_alarm": ("wake me with an alarm", "Set an alarm clock."),
    "order_pizza": ("order a large pizza", "Order food from a restaurant."),
}
TOOLS = {name: ToolSpec(name, description) for name, (_, description) in WORDS.items()}
PLANS = [("find_train", "book_train"), ("check_weather",), ("check_weather", "set_alarm"), ("cancel_train",)]


def shown(id: str, *tools: str, ending: str = "", source: str = "teacher") -> Demonstration:
    request = ", then ".join(WORDS[tool][0] for tool in tools) + ending
    steps = tuple(Step(tool, after=(k - 1,) if k else ()) for k, tool in enumerate(tools))
    return Demonstration(id, request, Plan(steps), source=source, task_steps=tuple(WORDS[t][0] for t in tools))


def lessons(n: int = 40, start: int = 0) -> list[Demonstration]:
    drawn = random.Random(start)
    return [
        shown(f"d{k:03}", *PLANS[k % len(PLANS)], ending=f" please, {drawn.choice('abcdefgh')} {k}")
        for k in range(start, start + n)
    ]


def wrong_trains(n: int = 20) -> list[Demonstration]:
    """Requests for a train with the plan of a pizza."""
    found = [d for d in lessons(4 * n, 400) if d.plan.steps[0].tool == "find_train"]
    return [replace(d, id=f"w{d.id}", plan=Plan((Step("order_pizza"),)), task_steps=()) for d in found]


def opened(folder: Path) -> State:
    return State.open(folder, ENCODER, Offer(TOOLS))


@pytest.fixture(autouse=True)
def few_features(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sequences are ranked by as few features as `OPTIONS` has: a version is judged in a quarter of the time.

    Modules that import it have it; `test_taught_sequences` has as many as there are.
    """
    monkeypatch.setattr(taught_sequences, "OPTIONS", replace(taught_sequences.OPTIONS, reading=OPTIONS.reading))


@functools.cache
def _taught(n: int, ranked_by: RankerOptions) -> Path:
    """The folder of a state that has learnt `lessons(n)`, made once in each process."""
    folder = Path(tempfile.mkdtemp(prefix="hearth-learnt-", dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with opened(folder) as state:
        state.learn(lessons(n))
    return folder


def learnt(folder: Path, n: int = 40) -> State:
    """A state as learning `lessons(n)` leaves it, from a copy: learning 80 takes over half a second."""
    shutil.copytree(_taught(n, taught_sequences.OPTIONS), folder, dirs_exist_ok=True)
    return opened(folder)


def recall(state: State) -> RecallPlanner:
    """What plans from the state now."""
    return RecallPlanner(state.encoder, state.store)


def first(state: State, text: str) -> tuple[str, ...]:
    found = recall(state).plan(Request(text, FIXED_NOW), Context(), state.tools)
    return tuple(step.tool for step in found.steps) if isinstance(found, Plan) else ()
