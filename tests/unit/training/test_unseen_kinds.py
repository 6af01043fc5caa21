"""Kinds left out of what the tool heads learn: how they are split, and what is counted of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hearth.planning.tool_heads import NOTHING, TALK
from hearth_bench.data.request_corpus import RealRequest
from training.tool_heads_train import Row
from training.unseen_kinds_measure import (
    N_FOLDS,
    Judged,
    counted,
    folds_of,
    judged_of,
    kind_of,
    kinds_of_shown,
    summary,
    threshold_at,
    unserved_kinds,
)

OUTPUTS = ("add_event", "turn_on", NOTHING, TALK)


def asked(intent: str, *accept: str) -> RealRequest:
    return RealRequest("null", "slurp", intent, intent, "tool" if accept else "none", accept, asks=False)


def served(margin: float, *, is_right: bool = True) -> Judged:
    return Judged("", margin, is_right)


def test_what_two_corpora_call_by_two_names_is_one_kind() -> None:
    names = ("weather_query", "GetWeather", "weather/find", "FenceWeather", "org.thingpedia.weather.current")
    assert {kind_of(asked(name)) for name in names} == {"weather_query"}
    assert kind_of(asked("play_music")) == kind_of(asked("PlayMusic")) != kind_of(asked("music_settings"))


def test_a_kind_that_a_tool_serves_once_is_never_left_out() -> None:
    requests = [asked("play_game"), asked("HassLightSet"), asked("light-bulb.set_color", "set_brightness")]
    assert unserved_kinds(requests) == {"play_game"}


def test_each_kind_is_in_one_fold_and_always_in_the_same() -> None:
    kinds = [f"kind {k}" for k in range(23)]
    folds = folds_of(kinds)
    assert len(folds) == N_FOLDS
    assert sorted(kind for fold in folds for kind in fold) == sorted(kinds)
    assert folds == folds_of(kinds[::-1])


def test_a_shown_refusal_goes_with_the_nearest_real_request_that_nobody_serves() -> None:
    shown = [Row("play jazz", (), (NOTHING,), is_shared=True), Row("lamp on", (), ("turn_on",), is_shared=True)]
    vectors = np.array([[1, 0], [0, 1]], dtype=np.float32)
    real = np.array([[1, 0], [0.9, 0.1], [0, 1]], dtype=np.float32)  # the nearest of all is served
    assert kinds_of_shown(shown, vectors, ["", "play_music", "qa_stock"], real) == ["play_music", ""]


def test_the_best_tool_is_held_against_nothing_and_talk() -> None:
    held = [asked("event", "add_event"), asked("lamp", "turn_on"), asked("play_game"), asked("qa_stock")]
    held.append(asked("lights"))  # of a kind that is served
    scores = np.array([[3, 1, 1, 2], [3, 1, 0, 0], [0, 1, 4, 0], [2, 0, 1, 0], [9, 0, 0, 0]], dtype=np.float32)
    found = judged_of(held, scores, OUTPUTS, kinds={"play_game", "qa_stock"}, left_out={"play_game"})
    assert found == [
        Judged("", 1.0, is_right=True),
        Judged("", 3.0, is_right=False),
        Judged("play_game", -3.0, is_right=False, is_left_out=True),
        Judged("qa_stock", 1.0, is_right=False),
    ]


def test_the_threshold_is_the_highest_that_leaves_the_share_its_tool() -> None:
    judged = [served(4), served(3), served(9, is_right=False), served(1), Judged("qa_stock", 99, is_right=False)]
    assert threshold_at(judged, 0.5) == 3
    assert threshold_at(judged, 0.51) == 1
    assert threshold_at(judged, 0.75) == 1
    assert threshold_at(judged, 0.76) == -math.inf  # one goes to another tool at any threshold


def test_kinds_left_out_and_kinds_shown_are_counted_apart() -> None:
    first = [
        served(2),
        Judged("qa_stock", 1.0, is_right=False, is_left_out=True),
        Judged("play_game", -1.0, is_right=False),
    ]
    second = [
        served(-2),
        Judged("qa_stock", -5.0, is_right=False),
        Judged("play_game", -1.0, is_right=False, is_left_out=True),
    ]
    found = counted([first, second], [0.0, 0.0])
    assert (found["never_shown"], found["n_never_shown"]) == (0.5, 2)
    assert (found["shown"], found["n_shown"]) == (1.0, 2)
    assert (found["tools"], found["n_tools"]) == (0.5, 1)
    assert found["never_shown_interval_95"] == [0.0, 1.0]


@pytest.mark.parametrize(("margin", "refused"), [(-3.0, 1.0), (3.0, 0.0)])
def test_the_summary_counts_at_the_share_of_tools_and_at_nothing_ahead(margin: float, refused: float) -> None:
    others = [Judged("play_game", -1.0, is_right=False)]
    fold = [served(2), *others, *(Judged("qa", margin, is_right=False, is_left_out=True) for k in range(10))]
    found = summary([fold], [[served(4)]])
    for name in ("at_0.88", "as_shipped"):
        assert found[name]["never_shown"] == refused  # type: ignore[index]
    assert found["refuses_nothing"]["never_shown"] == 0.0  # type: ignore[index]
    assert found["carried_over"]["tools"] == 0.0  # type: ignore[index]
    assert found["by_kind"] == {"qa": {"n": 10, "refused": refused}}
