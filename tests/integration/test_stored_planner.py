"""python -m pytest tests/integration/test_stored_planner.py"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hearth.config import parse_settings
from hearth.errors import PlannerError
from hearth.learning import demonstration_store as rows
from hearth.learning.demonstration_store import Entry
from hearth.learning.learned_state import State
from hearth.models.llm.scripted import HashEncoder
from hearth.planning.deferral.cascade import cascade_of, costs_of
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.planning.stored_planner import StoredPlanner
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW, ScriptedPlanner
from hearth.types import Context, Demonstration, Plan, Refusal, Request, Step, ToolSpec
from tests.small_world import OPTIONS

TOOLS = {name: ToolSpec(name, f"{name} it.") for name in ("water", "play", "meter")}
WORDS = ("kitchen", "bathroom", "cellar", "garden", "attic", "hall", "office", "balcony", "garage", "porch")
FORMS = {"water": "water the plants in the {}", "play": "play music by {} now", "meter": "what does the {} meter say"}


def shown(tool: str, word: str) -> Demonstration:
    return Demonstration(f"{tool}-{word}", FORMS[tool].format(word), Plan((Step(tool),)), source="teacher")


@pytest.fixture
def encoder() -> HashEncoder:
    return HashEncoder(dim=128)


@pytest.fixture
def taught(home: Path, store: Store, encoder: HashEncoder) -> State:
    state = State.open(home, encoder, tools=TOOLS, store=store, options=OPTIONS)
    state.learn([shown(tool, word) for tool in FORMS for word in WORDS])
    return state


def stored(home: Path, store: Store, encoder: HashEncoder) -> StoredPlanner:
    return StoredPlanner(home, store, encoder)


def plan(planner: StoredPlanner, text: str) -> Plan | Refusal:
    return planner.plan(Request(text, FIXED_NOW), Context(), TOOLS)


def tools(answer: Plan | Refusal) -> list[str]:
    assert isinstance(answer, Plan), answer
    return [step.tool for step in answer.steps]


def test_what_was_learnt_plans(taught: State, home: Path, store: Store, encoder: HashEncoder) -> None:
    planner = stored(home, store, encoder)
    assert planner.is_taught
    assert tools(plan(planner, "water the plants in the den")) == ["water"]


def test_what_was_taught_since_counts_and_what_was_forgotten_does_not(
    taught: State, home: Path, store: Store, encoder: HashEncoder
) -> None:
    with store.transaction() as cursor:
        rows.keep(cursor, [Entry(Demonstration("new", "zebra quantum", Plan((Step("meter"),)), source="owner"))], None)
        rows.take_out(cursor, [f"play-{word}" for word in WORDS], "replaced", "")
    planner = stored(home, store, encoder)
    assert tools(plan(planner, "zebra quantum")) == ["meter"]
    answer = plan(planner, "play music by the garage now")
    assert not isinstance(answer, Plan) or tools(answer) != ["play"]


def test_nothing_learnt_is_a_planners_failure(home: Path, store: Store, encoder: HashEncoder) -> None:
    planner = stored(home, store, encoder)
    assert not planner.is_taught
    with pytest.raises(PlannerError, match="nothing was learnt yet; run `hearth learn`"):
        plan(planner, "water the plants")


@pytest.mark.parametrize("harm", ["gone", "cut", "noise"])
def test_damaged_files_are_a_planners_failure(
    taught: State, home: Path, store: Store, encoder: HashEncoder, harm: str
) -> None:
    for path in [p for p in (home / "learned").rglob("*") if p.is_file()]:
        if harm == "cut":
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        elif harm == "noise":
            path.write_bytes(b"\x00\xff" * 500)
    if harm == "gone":
        shutil.rmtree(home / "learned")
    with pytest.raises(PlannerError, match=r"what was learnt cannot be used: .*; `hearth learn` makes it anew"):
        plan(stored(home, store, encoder), "water the plants in the den")


def test_a_home_without_the_setting_does_not_read_it(
    taught: State, home: Path, store: Store, encoder: HashEncoder
) -> None:
    recall = RecallPlanner(encoder, store)
    off, on = (
        cascade_of(parse_settings(text, Path("hearth.toml")), home, store, recall, None, encoder)
        for text in ("", "[models]\nstudent = true\n")
    )
    assert [planner.name for planner in off.planners] == ["recall"]
    assert [planner.name for planner in on.planners] == ["recall", "student"]


def test_without_anything_learnt_the_setting_changes_nothing(home: Path, store: Store, encoder: HashEncoder) -> None:
    settings = parse_settings("[models]\nstudent = true\n", Path("hearth.toml"))
    cascade = cascade_of(settings, home, store, RecallPlanner(encoder, store), ScriptedPlanner({}), encoder)
    assert [planner.name for planner in cascade.planners] == ["recall"]
    assert cascade.teacher is not None


def test_the_owners_costs_become_one_price_of_a_question() -> None:
    text = (
        "[learning]\ncost_per_question_usd = 0.01\ncost_per_second_usd = 0.002\nseconds_per_question = 5\nrisk = 0.2\n"
    )
    costs = costs_of(parse_settings(text, Path("hearth.toml")))
    assert costs.question == pytest.approx(0.02)
    assert (costs.risk, costs.assurance, costs.mistake) == (0.2, 0.9, 0.05)
