"""Floors, oracles and reliability of what is planned for requests."""

from __future__ import annotations

import pytest

from hearth.language.reading import Utterance
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.testing import HashEncoder
from hearth.types import Context, Demonstration, Parameter, Plan, Refusal, Request, Step, ToolSpec
from hearth_bench.data.request_corpus import RealRequest
from hearth_bench.measure.planning.ranking_bounds import N_FIRST, Copies, first_candidates
from hearth_bench.measure.planning.real_requests import NOW, Planned, is_good, reliability
from hearth_bench.metrics.plan_metrics import calibration_error, reliability_curve

ENCODER = HashEncoder(32)
TOOLS = {
    "play_song": ToolSpec("play_song", "Play a song.", (Parameter("title", "text", "its title"),), effect="change"),
    "stop_song": ToolSpec("stop_song", "Stop the song that plays.", effect="change"),
}
TAUGHT = (
    Demonstration("d1", "stop the song", Plan((Step("stop_song"),))),
    Demonstration("d2", "play hey jude", Plan((Step("play_song", {"title": "hey jude"}),))),
    Demonstration("d3", "how far is the moon", Plan(())),
)


def real(kind: str) -> RealRequest:
    return RealRequest("x", "slurp", "stop it", "", kind, ("stop_song",), False)  # type: ignore[arg-type]


def test_the_nearest_demonstration_is_copied() -> None:
    copies = Copies(ENCODER, TAUGHT)
    assert copies.plan("stop the song") == TAUGHT[0].plan
    assert copies.plan("how far is the moon").steps == ()


def test_the_first_candidates_hold_what_was_taught_and_a_refusal() -> None:
    planner = RecallPlanner(ENCODER)
    planner.add(TAUGHT)
    said = Utterance.of(Request("stop the song", NOW), Context())
    found = first_candidates(planner, said, TOOLS)
    assert 1 < len(found) <= N_FIRST
    assert any(isinstance(one, Plan) and [step.tool for step in one.steps] == ["stop_song"] for one in found)
    assert any(isinstance(one, Refusal) and one.kind == "out_of_scope" for one in found)


def test_what_cannot_be_read_has_no_candidates_but_a_refusal() -> None:
    planner = RecallPlanner(ENCODER)
    planner.add(TAUGHT)
    said = Utterance.of(Request("...", NOW), Context())
    assert [one.kind for one in first_candidates(planner, said, TOOLS) if isinstance(one, Refusal)] == ["unreadable"]


@pytest.mark.parametrize(
    ("kind", "verdict", "good"),
    [
        ("tool", "right", True),
        ("tool", "asked_rightly", True),
        ("tool", "refused", False),
        ("none", "refused", True),
        ("none", "memory", False),
        ("none", "asked", False),
        ("chat", "refused", True),
    ],
)
def test_a_good_end_is_of_the_kind_of_request(kind: str, verdict: str, good: bool) -> None:
    assert is_good(real(kind), verdict) is good


def test_a_curve_has_a_bin_for_each_tenth_and_agrees_with_the_calibration_error() -> None:
    sure, right = [0.05, 0.31, 0.39, 0.95, 1.0], [False, True, False, True, True]
    curve = reliability_curve(sure, right)
    assert [one["n"] for one in curve] == [1, 0, 0, 2, 0, 0, 0, 0, 0, 2]
    assert curve[1]["confidence"] is None
    assert curve[1]["right"] is None
    assert curve[3] == {"from": 0.3, "to": 0.4, "n": 2, "confidence": 0.35, "right": 0.5}
    error = sum(
        int(one["n"] or 0) / 5 * abs(one["confidence"] - one["right"])
        for one in curve
        if one["confidence"] is not None and one["right"] is not None
    )
    assert error == pytest.approx(calibration_error(sure, right))


def test_only_plans_count_for_reliability_and_talk_does_not() -> None:
    planned = [
        (real("tool"), Planned("right", 0.9, 1.0, 1.0)),
        (real("none"), Planned("wrong", 0.5, 1.0, 1.0)),
        (real("tool"), Planned("refused", None, 1.0, 1.0)),
        (real("chat"), Planned("right", 0.1, 1.0, 1.0)),
    ]
    found = reliability(planned)
    assert found["n"] == 2
    assert found["ece"] == 0.3
    assert found["bins"]["0.9 to 1.0"] == {"n": 1, "confidence": 0.9, "right": 1.0}  # type: ignore[index]
    assert reliability([planned[2]]) == {"n": 0, "bins": {}}
