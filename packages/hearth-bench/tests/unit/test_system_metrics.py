"""What planning costs and does at home: each measure by hand, and what cannot be told is never a number."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.formats.plans import plan_to_json
from hearth_bench.data.q2a_instructions import read_owner
from hearth_bench.energy_counter import EnergyCounter
from hearth_bench.ianvs.job import OWN_METRICS
from hearth_bench.run_record import Stopwatch
from hearth_bench.scoring.system_metrics import (
    SYSTEM,
    UNKNOWN,
    NotMeasured,
    Usage,
    UsageError,
    bytes_out,
    cloud_calls,
    energy_j,
    execution_success,
    latency_ms,
    leaked,
    measure_system,
    privacy_leak,
    tokens,
    usage_of,
    usages_of,
)

EDGE = {"latency_ms": 10, "prompt_tokens": 0, "completion_tokens": 0, "cloud_calls": 0, "bytes_out": 0, "sent": []}
CLOUD = {"latency_ms": 90.5, "prompt_tokens": 20, "completion_tokens": 5, "cloud_calls": 1, "bytes_out": 40,
         "sent": ["tell Person1 that it rains"], "energy_j": 1.5}  # fmt: skip


def said(usage: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"completion": "{}", "usage": usage, **more}


# ── What a prediction says ────────────────────────────────────────────────────────────────────────────────


def test_usage_is_read_from_every_shape_of_a_prediction() -> None:
    alone = usage_of(said(CLOUD))
    assert (alone.latency_ms, alone.tokens, alone.sent) == (90.5, 25.0, ("tell Person1 that it rains",))
    assert usage_of(json.dumps({"task_nodes": [], "usage": CLOUD})) == alone
    assert usage_of([json.dumps({"usage": CLOUD})]) == alone
    assert usage_of([[said(CLOUD)]]) == alone
    assert usage_of(said({"total_tokens": 7})).tokens == 7
    assert usage_of(said({"total_tokens": 25, "prompt_tokens": 20, "completion_tokens": 5})).tokens == 25


def test_joint_inference_costs_what_both_cost() -> None:
    both = usage_of([True, said(CLOUD), said(EDGE), said(CLOUD)])
    assert (both.latency_ms, both.cloud_calls, both.bytes_out) == (100.5, 1, 40)
    assert both.energy_j is None  # the edge did not say
    assert usage_of([False, said(EDGE), said(EDGE), None]).latency_ms == 10
    assert usage_of([True, said(CLOUD), None, said(CLOUD)]).latency_ms == 90.5  # mining first: the edge was not asked


@pytest.mark.parametrize(
    "nothing", ["a plan", '{not json "usage"', {"completion": "x"}, None, 3, [], [1, 2], ["a", "b", "c", "d", "e"]]
)
def test_who_says_nothing_costs_nobody_knows_what(nothing: Any) -> None:
    assert usage_of(nothing) == UNKNOWN
    assert usage_of(nothing).document() == {}


@pytest.mark.parametrize(
    ("usage", "message"),
    [
        ({"latency_ms": "fast"}, "usage.latency_ms is 'fast'; expected a number of at least 0"),
        ({"bytes_out": -1}, "usage.bytes_out is -1"),
        ({"energy_j": math.nan}, "usage.energy_j is nan"),
        ({"cloud_calls": math.inf}, "usage.cloud_calls is inf"),
        ({"prompt_tokens": True}, "usage.prompt_tokens is True"),
        ({"total_tokens": "9"}, "usage.total_tokens is '9'"),
        ({"sent": "one text"}, "usage.sent is 'one text'; expected a list of texts"),
        ({"sent": [1]}, "usage.sent is"),
        ("cheap", "usage is 'cheap'; expected a mapping"),
        (None, "usage is None"),
    ],
)
def test_what_no_cost_can_be_is_named(usage: Any, message: str) -> None:
    with pytest.raises(UsageError, match=r"^prediction 1: ") as raised:
        usages_of([said(EDGE), said(usage)])
    assert message in str(raised.value)
    found = measure_system("latency_p50_ms", ["a", "b"], [said(EDGE), said(usage)])
    assert isinstance(found, NotMeasured)
    assert message in found.reason


def test_the_runners_clock_serves_who_does_not_say() -> None:
    assert [one.latency_ms for one in usages_of([said(EDGE), "plan"], [70.0, 80.0])] == [10, 80]
    assert [one.latency_ms for one in usages_of([said(EDGE), "plan"], [70.0])] == [10, None]  # of other samples


# ── Measures ──────────────────────────────────────────────────────────────────────────────────────────────


def test_means_by_hand() -> None:
    both = usages_of([said(EDGE), said(CLOUD)])
    assert (tokens(both), cloud_calls(both), bytes_out(both)) == (12.5, 0.5, 20.0)
    assert latency_ms(both, 50) == 50.25
    assert latency_ms(both, 0) == 10
    assert latency_ms(both, 100) == 90.5


@given(st.lists(st.floats(0, 1e6), min_size=1), st.sampled_from([0, 5, 50, 95, 99, 100]))
def test_latency_is_numpys_percentile(values: list[float], percent: float) -> None:
    found = latency_ms([Usage(latency_ms=value) for value in values], percent)
    assert found == pytest.approx(float(np.percentile(values, percent)), abs=1e-6)


@pytest.mark.parametrize("name", [name for name in SYSTEM if name not in ("executed", "privacy_leak")])
def test_what_some_do_not_say_is_not_measured(name: str) -> None:
    """The others may be the dear ones: no mean of those that say it."""
    for predictions in ([said(CLOUD), "a plan"], ["a plan"] * 2):
        found = measure_system(name, ["x"] * 2, predictions)
        assert math.isnan(found)
        assert isinstance(found, NotMeasured)
        assert found.reason
    assert isinstance(measure_system(name, [], []), NotMeasured)


def test_every_measure_has_a_name_that_a_job_may_use() -> None:
    assert set(SYSTEM) <= set(OWN_METRICS)


def test_of_arrays_as_ianvs_hands_them() -> None:
    predictions = np.array([json.dumps({"task_nodes": [], "usage": CLOUD})] * 3)
    assert measure_system("tokens", np.array(["x"] * 3), predictions) == 25  # type: ignore[arg-type]


# ── Leaks ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("private", "sent", "leaks"),
    [
        ("Anna Berger", "mail Anna Berger", True),
        ("Anna Berger", "MAIL anna  berger!", True),
        ("Anna Berger", "mail Anna, and Berger too", False),
        ("Anna", "mail Annabel", False),
        ("Zoë", "tell Zoe", True),
        ("07700 900101", "call 07700 900101 now", True),
        ("ben@whitlock.example", "to ben@whitlock.example", True),
        ("Anna", "mail Person1", False),
        ("", "mail", False),
        ("…", "mail", False),
    ],
)
def test_what_stands_in_what_was_sent_leaks(private: str, sent: str, leaks: bool) -> None:
    assert leaked([private], ["nothing here", sent]) == ([private] if leaks else [])
    assert leaked([private], []) == []


def test_privacy_leak_is_the_share_of_what_is_known() -> None:
    private = [["Anna", "Ben"], [], ["Anna"], ["Cleo"]]
    usages = [Usage(sent=("Anna and Person2",)), UNKNOWN, Usage(sent=()), Usage(sent=("to Cleo",))]
    assert privacy_leak(private, usages) == 2 / 4
    right = [json.dumps({"task_nodes": [], "private": names}) for names in private]
    predictions = [json.dumps({"usage": one.document()}) for one in usages]
    assert measure_system("privacy_leak", right, predictions) == 2 / 4


@pytest.mark.parametrize(
    ("private", "sent", "reason"),
    [
        ([["Anna"], ["Ben"]], [("x",), None], "1 of 2 predictions do not say what they sent"),
        ([[], []], [(), ()], "no answer says what is private"),
        ([["Anna"]], [(), ()], "1 answers beside 2 predictions"),
        ([], [], "no answer says"),
    ],
)
def test_a_leak_that_cannot_be_told_is_no_zero(
    private: list[list[str]], sent: list[tuple[str, ...] | None], reason: str
) -> None:
    found = privacy_leak(private, [Usage(sent=one) for one in sent])
    assert isinstance(found, NotMeasured)
    assert reason in found.reason


def test_private_that_is_no_list_is_said() -> None:
    found = measure_system("privacy_leak", [{"private": "Anna"}], [said(EDGE)])
    assert isinstance(found, NotMeasured)
    assert "answer 0: private is 'Anna'" in found.reason


# ── Energy ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def powercap(tmp_path: Path) -> Callable[..., Path]:
    def make(**zones: tuple[str, int]) -> Path:
        for zone, (name, uj) in zones.items():
            folder = tmp_path / zone.replace("_", ":").replace("intel:rapl", "intel-rapl")
            folder.mkdir(exist_ok=True)
            (folder / "name").write_text(f"{name}\n")
            (folder / "energy_uj").write_text(f"{uj}\n")
            (folder / "max_energy_range_uj").write_text("1000\n")
        return tmp_path

    return make


def test_packages_are_counted_once_each(powercap: Callable[..., Path]) -> None:
    root = powercap(
        intel_rapl_0=("package-0", 100), intel_rapl_1=("package-1", 50), intel_rapl_2=("psys", 500),
        intel_rapl_0_0=("core", 70),
    )  # fmt: skip
    counter = EnergyCounter.open(root)
    assert (counter.reason, len(counter.zones)) == ("", 2)
    before = counter.read_uj()
    powercap(intel_rapl_0=("package-0", 400), intel_rapl_1=("package-1", 20), intel_rapl_2=("psys", 900))
    assert counter.spent_j(before) == pytest.approx((300 + 970) / 1e6)  # the second started again after 1,000
    (counter.zones[1] / "max_energy_range_uj").unlink()
    assert counter.spent_j(before) is None
    assert counter.spent_j(None) is None


def test_the_whole_board_where_there_are_no_packages(powercap: Callable[..., Path]) -> None:
    counter = EnergyCounter.open(powercap(intel_rapl_0=("psys", 5)))
    assert counter.read_uj() == (5,)


def test_a_counter_that_is_not_there_or_not_for_us_says_why(powercap: Callable[..., Path], tmp_path: Path) -> None:
    assert "no energy counter" in EnergyCounter.open(tmp_path / "none").reason
    assert "no package" in EnergyCounter.open(powercap(intel_rapl_0=("dram", 1))).reason
    root = powercap(intel_rapl_1=("package-0", 1))
    (root / "intel-rapl:1" / "energy_uj").unlink()
    (root / "intel-rapl:1" / "energy_uj").mkdir()  # as unreadable to root as to anybody
    counter = EnergyCounter.open(root)
    assert "may not be read" in counter.reason
    assert (counter.zones, counter.read_uj(), counter.spent_j((1,))) == ((), None, None)


def test_energy_is_of_the_machine_or_of_the_job(powercap: Callable[..., Path], tmp_path: Path) -> None:
    silent = [UNKNOWN, UNKNOWN]
    here = energy_j(silent, EnergyCounter.open(tmp_path / "none"))
    assert isinstance(here, NotMeasured)
    assert here.is_of_machine
    there = energy_j(silent, EnergyCounter.open(powercap(intel_rapl_0=("package-0", 1))))
    assert isinstance(there, NotMeasured)
    assert not there.is_of_machine  # the machine could, the predictions did not say
    assert energy_j([Usage(energy_j=1), Usage(energy_j=2)], EnergyCounter(reason="none")) == 1.5


def test_a_result_says_its_energy_or_why_not(powercap: Callable[..., Path]) -> None:
    counter = EnergyCounter.open(powercap(intel_rapl_0=("package-0", 1_000_000)))
    watch = Stopwatch(counter=counter, energy_uj=counter.read_uj())
    powercap(intel_rapl_0=("package-0", 3_500_000))
    assert watch.spent()["energy_j"] == 2.5
    spent = Stopwatch(counter=EnergyCounter(reason="no counter"), energy_uj=None).spent()
    assert ("energy_j" in spent, spent["energy_absent"]) == (False, "no counter")


# ── At home ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_plan_that_does_the_same_at_home_is_done() -> None:
    samples = [one for one in read_owner("mara") if one.plan is not None][:6]
    where = [{"owner": "mara", "now": one.request.now.isoformat()} for one in samples]
    right = [json.dumps({**plan_to_json(one.plan), **at}) for one, at in zip(samples, where) if one.plan]
    assert execution_success(right, right) == 1.0
    empty = json.dumps({"task_nodes": []})
    assert execution_success(right, [empty] * len(right)) == 0.0
    assert execution_success(right, [*right[1:], right[0]]) < 1.0
    joint = [[True, {"completion": plan}, {"completion": empty}, {"completion": plan}] for plan in right]
    assert execution_success(right, joint) == 1.0


def test_refusing_is_right_where_it_is_and_nonsense_never() -> None:
    refuse = {"task_nodes": [], "owner": "mara", "now": "2026-09-09T09:00:00+01:00"}
    act = {"task_nodes": [{"task": "current_time", "arguments": []}]}
    unknown = {"task_nodes": [{"task": "no_such_tool", "arguments": []}]}
    right = {**refuse, **act}
    assert execution_success([refuse, right], [{"task_nodes": []}, act]) == 1.0
    assert execution_success([refuse], [act]) == 0.0
    assert execution_success([right] * 3, [unknown, "no plan at all", {"task_nodes": []}]) == 0.0
    assert execution_success([refuse], ["no plan at all"]) == 0.0


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([{"task_nodes": []}], "in whose home"),
        ([{"task_nodes": [], "owner": "../mara", "now": "2026-09-09T09:00:00+01:00"}], "in whose home"),
        ([{"task_nodes": [], "owner": "mara"}], "in whose home"),
        ([{"task_nodes": [], "owner": "mara", "now": "soon"}], "in whose home"),
        ([{"task_nodes": [], "owner": "mara", "now": "2026-09-09T09:00:00"}], "in whose home"),
        (["call_weather(0)"], "in whose home"),
        ([], "0 answers beside 1"),
    ],
)
def test_without_a_home_nothing_is_run(answers: list[Any], reason: str) -> None:
    found = execution_success(answers, [{"task_nodes": []}])
    assert isinstance(found, NotMeasured)
    assert reason in found.reason
