"""A prior of other devices counts in what a home plans, as far as the gate lets it, until it is taken away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from hearth.learning.versions.drafting import take_prior
from hearth.learning.versions.learned_state import Offer, State
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.ranking import sufficient_statistics
from hearth.planning.ranking.ranker import Ranker
from hearth.planning.ranking.sufficient_statistics import Statistics
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.planning.tool_heads import Said, read_prior, shipped_prior
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW
from hearth.types import Context, Demonstration, Parameter, Plan, Request, Step, ToolSpec

TOOLS = {
    "open_roof": ToolSpec("open_roof", "Open the roof window."),
    "current_time": ToolSpec("current_time", "Tell the time."),
    "add_note": ToolSpec("add_note", "Write a note.", (Parameter("text", "str"),)),
}
SAID = [
    f"{opening} {thing}{ending}"
    for opening in ("let in", "bring in", "show me")
    for thing in ("the stars", "starlight", "the night sky")
    for ending in ("", " tonight", " please", " over the bed")
]


@pytest.fixture(scope="module")
def others() -> Statistics:
    """Sums of a device on which these words open the roof."""
    student = Ranker(MiniLMEncoder.open(), TOOLS)
    student.learn([Demonstration(f"d{k}", text, Plan((Step("open_roof"),))) for k, text in enumerate(SAID)])
    return student.statistics(TOOLS)


def meant(store: Store, text: str) -> Mapping[str, float]:
    remembered = RecallPlanner(MiniLMEncoder.open(), store).remembered
    (scores,) = remembered.meant(Said([text], MiniLMEncoder.open().encode([text]), [text.split()]))
    return scores


def test_a_prior_counts_at_home_until_it_is_taken_away(tmp_path: Path, others: Statistics) -> None:
    with State.open(tmp_path, MiniLMEncoder.open(), Offer(TOOLS)) as state:
        before = meant(state.store, "what time is it")
        assert "open_roof" not in meant(state.store, "let in the stars now")
        running = RecallPlanner(MiniLMEncoder.open(), Store.open(tmp_path / "hearth.db"))
        running.remembered.heads()
        assert take_prior(state, others).version == 1
        with_it = meant(state.store, "let in the stars now")
        assert max(with_it, key=with_it.__getitem__) == "open_roof"
        asked = Request("let in the stars now", FIXED_NOW)
        answer = running.plan(asked, Context(), TOOLS)
        assert isinstance(answer, Plan)
        assert [step.tool for step in answer.steps] == ["open_roof"]
        after = meant(state.store, "what time is it")
        assert after["current_time"] == pytest.approx(before["current_time"], abs=0.05)
        assert take_prior(state, None, must_pass=False).version == 2
        assert meant(state.store, "what time is it") == before
        state.rollback(1)
        assert meant(state.store, "let in the stars now") == with_it


def test_heads_that_are_gone_are_joined_again_when_the_home_next_learns(tmp_path: Path, others: Statistics) -> None:
    encoder = MiniLMEncoder.open()
    with State.open(tmp_path, encoder, Offer(TOOLS)) as state:
        take_prior(state, others)
        (path,) = (tmp_path / "learned").glob("*-heads.npz")
        made = read_prior(path)
    path.write_bytes(b"?")
    with Store.open(tmp_path / "hearth.db") as store:
        assert "open_roof" not in meant(store, "let in the stars now")
    with State.open(tmp_path, encoder) as state:
        again = read_prior(path)
        assert made is not None
        assert again is not None
        assert again.digest == made.digest
        assert "open_roof" in meant(state.store, "let in the stars now")


def test_a_prior_of_another_encoder_is_left_out_and_told(tmp_path: Path, others: Statistics) -> None:
    asked = Request("let in the stars now", FIXED_NOW)
    encoder = MiniLMEncoder.open()
    with State.open(tmp_path, encoder, Offer(TOOLS)) as state:
        without = RecallPlanner(encoder, state.store).plan(asked, Context(), TOOLS)
        take_prior(state, others)
    (path,) = (tmp_path / "learned").glob("*-heads.npz")
    made = read_prior(path)
    assert made is not None
    with Store.open(tmp_path / "hearth.db") as store:
        planner = RecallPlanner(encoder, store)
        assert planner.plan(asked, Context(), TOOLS) != without
        assert not planner.remembered.prior_fault
    with path.open("wb") as file:
        replace(made, probe=-made.probe).write(file)
    with Store.open(tmp_path / "hearth.db") as store:
        planner = RecallPlanner(encoder, store)
        assert planner.plan(asked, Context(), TOOLS) == without
        assert "made with another encoder" in planner.remembered.prior_fault
        assert path.name.removesuffix("-heads.npz") in planner.remembered.prior_fault


def test_a_prior_that_does_not_fit_leaves_what_ships() -> None:
    shipped = shipped_prior()
    assert shipped is not None
    asked = Request("what time is it", FIXED_NOW)
    strange = RecallPlanner(MiniLMEncoder.open(), prior=replace(shipped, probe=-shipped.probe))
    assert strange.plan(asked, Context(), TOOLS) == RecallPlanner(MiniLMEncoder.open()).plan(asked, Context(), TOOLS)


def test_sums_of_fewer_features_are_not_joined(others: Statistics) -> None:
    from hearth.planning.ranking.ranker import PROFILES

    assert sufficient_statistics.prior_joined(others.seen_by(PROFILES["small"].reading), MiniLMEncoder.open()) is None
