"""`hearth bench` and `hearth plan --batch` on a small world of our own: a library, rooms and a garden."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hearth import cli
from hearth.cli.learning import batch_commands
from hearth.cli.learning.learn_commands import opened_state
from hearth.errors import MissingExtraError
from hearth.learning.versions import drafting
from hearth.planning.ranking.ranker import PROFILES
from hearth.types import Plan, Step
from hearth_bench.suites import second_tier_training, suite_measurements
from tests import BENCH_DATA

WORLD = BENCH_DATA / "bench"
TRAIN, TEST, TOOLS, GRAPH = (
    WORLD / name for name in ("train.jsonl", "test.jsonl", "tool_desc.json", "graph_desc.json")
)
PLANNING_KEYS = [
    "node_f1",
    "link_f1",
    "accuracy",
    "exact",
    "node_hallucination",
    "link_hallucination",
    "arg_name_f1",
    "arg_value_f1",
    "arg_value_f1_given_tools",
    "tool_accuracy",
    "latency_p50_ms",
    "latency_p99_ms",
    "ece",
    "n",
    "accuracy_at_50",
    "accuracy_at_80",
    "accuracy_at_100",
    "accuracy_steps_1",
    "accuracy_steps_2",
    "seed",
    "commit",
    "version",
    "machine",
    "train_sha256",
    "test_sha256",
    "wall_s",
    "cpu_s",
    "method",
    "floor_node_f1",
    "floor_copy_node_f1",
    "oracle_node_f1",
]
CONTINUAL_KEYS = [
    "acc",
    "bwt",
    "fwt",
    "forgetting",
    "joint_acc",
    "r_matrix",
    "round_cpu_s",
    "method",
    "methods",
    "seed",
    "commit",
    "machine",
]

Ran = tuple[int, str, str]
Run = Callable[..., Ran]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: object) -> Ran:
        capfd.readouterr()
        code = cli.run([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return run


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


# ── hearth bench planning ─────────────────────────────────────────────────────────────────────────────────


def planning(run: Run, out: Path, *more: object, train: Path = TRAIN, test: Path = TEST, tools: Path = TOOLS) -> Ran:
    return run("bench", "planning", "--train", train, "--test", test, "--tools", tools, "--fast", "--json", out, *more)


def test_planning_prints_a_table_and_writes_flat_results(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    code, said, progress = planning(run, out, "--graph", GRAPH, "--seed", 3)
    assert code == 0, progress
    found = json.loads(out.read_text())
    assert set(PLANNING_KEYS) <= set(found)
    assert all(not isinstance(value, dict | list) for value in found.values())
    assert (found["n"], found["seed"], found["fast"], found["tier_two"]) == (12, 3, True, False)
    assert found["floor_node_f1"] < found["node_f1"] <= found["oracle_node_f1"] == 1.0
    assert found["node_f1"] > 0.8
    assert found["node_hallucination"] == found["link_hallucination"] == 0.0
    assert 0 < found["arg_name_f1"] <= 1
    assert "oracle: the best of the first six" in said
    assert "Reading 42 demonstrations" in progress
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_arguments_are_null_where_the_data_have_none(run: Run, tmp_path: Path) -> None:
    def bare(path: Path) -> list[dict[str, Any]]:
        return [{**row, "task_nodes": [{"task": n["task"]} for n in row["task_nodes"]]} for row in lines_of(path)]

    train, test = write_lines(tmp_path / "train.jsonl", bare(TRAIN)), write_lines(tmp_path / "test.jsonl", bare(TEST))
    code, _, _ = planning(run, tmp_path / "out.json", "--method", "recall", train=train, test=test)
    found = json.loads((tmp_path / "out.json").read_text())
    assert (code, found["method"]) == (0, "recall")
    assert {found[key] for key in ("arg_name_f1", "arg_value_f1", "arg_value_f1_given_tools")} == {None}


def test_tools_never_taught_are_planned_by_their_texts(run: Run, tmp_path: Path) -> None:
    """Test tools may be others than the ones taught: here every one has another name."""
    described = json.loads(TOOLS.read_text())
    for node in described["nodes"]:
        node["id"] = f"other_{node['id']}"
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps(described))
    rows = lines_of(TEST)
    for row in rows:
        row["task_nodes"] = [{**node, "task": f"other_{node['task']}"} for node in row["task_nodes"]]
        row["task_links"] = []
    test = write_lines(tmp_path / "test.jsonl", rows)
    code, _, _ = planning(run, tmp_path / "out.json", "--train-tools", TOOLS, test=test, tools=tools)
    found = json.loads((tmp_path / "out.json").read_text())
    assert (code, found["n_new_tools"]) == (0, 8)
    assert found["node_f1"] > 0.3


def test_only_the_tools_a_request_lists_are_offered(run: Run, tmp_path: Path) -> None:
    rows = [{**row, "tools": [node["task"] for node in row["task_nodes"]][:1]} for row in lines_of(TEST)]
    code, _, _ = planning(run, tmp_path / "out.json", test=write_lines(tmp_path / "test.jsonl", rows))
    found = json.loads((tmp_path / "out.json").read_text())
    assert (code, found["accuracy_steps_2"]) == (0, 0.0)  # the second tool is not on offer
    assert (
        found["accuracy_steps_1"] > 0.8
    )  # the judge of what is asked for refuses one, whose words are unlike its tool
    assert not found["listed_tools_are_the_plan"]


def test_lists_that_always_are_the_plan_are_taken_as_it(run: Run, tmp_path: Path) -> None:
    for path in (TRAIN, TEST):
        rows = [{**row, "tools": [node["task"] for node in row["task_nodes"]]} for row in lines_of(path)]
        write_lines(tmp_path / path.name, rows)
    train, test = tmp_path / TRAIN.name, tmp_path / TEST.name
    assert planning(run, tmp_path / "out.json", train=train, test=test)[0] == 0
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["listed_tools_are_the_plan"]
    assert found["exact"] == 1.0


def test_bad_lines_are_named_passed_over_and_counted(run: Run, tmp_path: Path) -> None:
    rows = lines_of(TEST)
    strange = {"user_request": "fly", "task_nodes": [{"task": "fly_to"}]}
    test = write_lines(tmp_path / "test.jsonl", [*rows, rows[0], strange, {"user_request": "hello"}])
    with test.open("a") as file:
        file.write("{ not json\n")
    code, _, said = planning(run, tmp_path / "out.json", test=test)
    found = json.loads((tmp_path / "out.json").read_text())
    assert code == 0
    assert f"skipped: {test}:13: the id 'test-0' is used twice, first on line 1" in said
    assert f"skipped: {test}:14: demonstration 'test-14' uses the unknown tool 'fly_to'" in said
    assert f"skipped: {test}:16: not a JSON object" in said
    assert "left out: 1 test requests without a plan" in said
    assert (found["n"], found["n_test_passed_over"], found["n_test_without_plan"]) == (12, 3, 1)
    code, _, said = planning(run, tmp_path / "strict.json", "--strict", test=test)
    assert code == 3
    assert f"{test}:13: the id 'test-0' is used twice" in said
    assert not (tmp_path / "strict.json").exists()


def test_requests_that_were_taught_are_warned_of(run: Run, tmp_path: Path) -> None:
    _, _, said = planning(run, tmp_path / "out.json", test=TRAIN, train=TRAIN)
    assert "beware: 42 test requests are in the training file word for word" in said


@pytest.mark.parametrize(
    ("broken", "text", "code", "message"),
    [
        ("test", None, 3, "cannot read"),
        ("train", None, 3, "cannot read"),
        ("tools", None, 78, "cannot read the tool file"),
        ("tools", "[]", 78, "expected {'nodes'"),
        ("test", "", 3, "holds no demonstration"),
        ("test", "not json", 3, "holds no demonstration; the first fault: "),
        ("test", '{"user_request": "hello"}', 3, "no line has a plan to compare with"),
        ("train", '{"user_request": "hello"}', 3, "no line has a plan to learn from"),
        ("test", '{"user_request": "fly", "task_nodes": [{"task": "fly_to"}]}', 3, "unknown tool 'fly_to'"),
    ],
)
def test_unusable_files_end_it_with_a_reason(
    run: Run, tmp_path: Path, broken: str, text: str | None, code: int, message: str
) -> None:
    path = tmp_path / "broken"
    if text is not None:
        path.write_text(text)
    ended, _, said = planning(run, tmp_path / "out.json", **{broken: path})
    assert ended == code
    assert message in said
    assert not (tmp_path / "out.json").exists()


def test_where_the_result_cannot_go_is_said_before_the_work(run: Run, tmp_path: Path) -> None:
    code, _, said = planning(run, tmp_path / "absent" / "out.json")
    assert code == 3
    assert "there is no folder" in said
    code, _, said = planning(run, tmp_path)
    assert code == 3
    assert "is a folder; name a file in it" in said


def test_a_stop_leaves_no_half_result(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    out = tmp_path / "out.json"
    out.write_text("the older result")
    monkeypatch.setattr(suite_measurements, "measure", stopped)
    code, _, _ = planning(run, out)
    assert code == 130
    assert out.read_text() == "the older result"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_without_torch_the_run_goes_on_and_says_how_to_install_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object, **__: object) -> None:
        raise MissingExtraError("training of the planner's second tier", "pip install 'hearth-agent[train]'")

    monkeypatch.setattr(second_tier_training, "train_pointer", missing)
    files = ("--train", TRAIN, "--test", TEST, "--tools", TOOLS)
    out = tmp_path / "out.json"
    code, said, progress = run("bench", "planning", *files, "--json", out)
    assert code == 0
    assert "without tier two: training of the planner's second tier needs a part" in progress
    assert "pip install 'hearth-agent[train]'" in said
    found = json.loads(out.read_text())
    assert (found["fast"], found["tier_two"]) == (False, False)
    assert "pip install" in found["tier_two_left_out"]
    code, _, progress = run("bench", "continual", *files, "--rounds", 2, "--methods", "finetune", "--json", out)
    assert code == 0
    assert "without finetune: training" in progress
    assert "pip install" in json.loads(out.read_text())["left_out"]["finetune"]


@pytest.mark.slow
def test_with_torch_tier_two_takes_part(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    files = ("--train", TRAIN, "--test", TEST, "--tools", TOOLS)
    out = tmp_path / "out.json"
    assert run("bench", "planning", *files, "--json", out)[0] == 0
    found = json.loads(out.read_text())
    assert found["tier_two"]
    assert found["tier_two_bytes"] > 0
    assert found["node_f1"] > 0.7
    assert run("bench", "continual", *files, "--rounds", 2, "--methods", "finetune,replay", "--json", out)[0] == 0
    methods = json.loads(out.read_text())["methods"]
    assert set(methods) == {"student", "joint", "finetune", "replay"}
    assert len(methods["replay"]["r_matrix"]) == len(methods["student"]["r_matrix"])


# ── hearth bench continual ────────────────────────────────────────────────────────────────────────────────


def continual(run: Run, out: Path, *more: object) -> Ran:
    files = ("--train", TRAIN, "--test", TEST, "--tools", TOOLS)
    return run("bench", "continual", *files, "--json", out, "--fast", *more)


def test_a_stream_gives_its_matrix_all_methods_and_a_picture(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    code, said, progress = continual(run, out, "--rounds", 3)
    assert code == 0, progress
    found = json.loads(out.read_text())
    assert set(CONTINUAL_KEYS) <= set(found)
    assert (found["method"], found["order"], found["n_rounds"]) == ("student", "domain", 3)
    assert len(found["r_matrix"]) == found["n_tasks"]
    assert len(found["round_cpu_s"]) == 3
    assert set(found["methods"]) == {"student", "joint", "recall", "heads"}
    assert set(found["left_out"]) == {"finetune", "replay"}
    assert found["acc"] == found["methods"]["student"]["acc"]
    assert found["acc"] == pytest.approx(found["joint_acc"], abs=1e-3)
    assert found["max_weight_difference"] < 1e-6
    assert out.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    assert "student" in said
    assert "CPU s a round" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "out.png"]


def test_methods_and_picture_may_be_chosen(run: Run, tmp_path: Path) -> None:
    picture = tmp_path / "curves.png"
    code, _, _ = continual(
        run, tmp_path / "o.json", "--rounds", 2, "--order", "file", "--methods", "recall", "--png", picture
    )
    found = json.loads((tmp_path / "o.json").read_text())
    assert (code, found["order"], set(found["methods"])) == (0, "file", {"student", "joint", "recall"})
    assert picture.exists()


def test_a_stream_that_cannot_be_made_is_refused(run: Run, tmp_path: Path) -> None:
    code, _, said = continual(run, tmp_path / "o.json", "--rounds", 43)
    assert code == 3
    assert "43 rounds of 42 demonstrations; ask for fewer rounds" in said
    code, _, said = continual(run, tmp_path / "o.json", "--methods", "recall,magic")
    assert code == 2
    assert "unknown method 'magic'; known are student, recall, heads, finetune, replay, joint" in said
    code, _, said = continual(run, tmp_path / "o.png")
    assert code == 3
    assert "choose --png" in said
    assert not list(tmp_path.iterdir())


# ── hearth plan --batch ───────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("learnt") / "state"
    arguments = ["learn", "--from", str(TRAIN), "--tools", str(TOOLS), "--state", str(folder)]
    assert cli.run(arguments) == 0
    return folder


@pytest.fixture
def small_student(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what is not about how well it plans: the large one is solved in seconds, at each call anew."""
    monkeypatch.setattr(drafting, "options_of", lambda _: PROFILES["small"])


def plan_all(run: Run, learnt: Path, requests: Path, out: Path, *more: object) -> Ran:
    return run("plan", "--batch", requests, "--tools", TOOLS, "--state", learnt, "--out", out, *more)


def test_a_batch_is_planned_in_order(run: Run, learnt: Path, tmp_path: Path) -> None:
    out = tmp_path / "plans.jsonl"
    code, said, _ = plan_all(run, learnt, TEST, out)
    assert code == 0
    assert said == f"12 plans → {out}\n"
    plans = lines_of(out)
    assert [plan["id"] for plan in plans] == [f"test-{k}" for k in range(12)]
    wanted = [{node["task"] for node in row["task_nodes"]} for row in lines_of(TEST)]
    assert sum({node["task"] for node in p["task_nodes"]} == w for p, w in zip(plans, wanted)) >= 8
    assert all(0 < plan["confidence"] <= 1 and plan["rests_on"] for plan in plans)
    reserved = next(plan for plan in plans if plan["id"] == "test-1")
    assert reserved["task_links"] == [{"source": "find_book", "target": "reserve_book"}]
    assert [path.name for path in tmp_path.iterdir()] == ["plans.jsonl"]


@pytest.mark.usefixtures("small_student")
def test_odd_lines_of_a_batch(run: Run, learnt: Path, tmp_path: Path) -> None:
    """Not JSON and unknown tools are skipped; an id twice, an empty and an endless request get their line."""
    rows: list[dict[str, Any]] = [
        {"id": "a", "user_request": "Water the tomatoes."},
        {"id": "a", "user_request": "Order leek seeds."},
        {"id": "b", "user_request": "Water the beans.", "tools": ["fly_to"]},
        {"id": "c", "user_request": "water the tomatoes " * 600_000},
        {"user_request": " "},
        {"id": "d", "user_request": "Is the soil of the beans wet?", "tools": ["water_bed"]},
    ]
    requests = write_lines(tmp_path / "requests.jsonl", rows)
    with requests.open("a") as file:
        file.write("{\n")
    out = tmp_path / "plans.jsonl"
    code, said, noted = plan_all(run, learnt, requests, out, "--json")
    assert code == 6
    assert f"{requests}:2: the id 'a' stands on line 1 already; both planned" in noted
    assert f"skipped: {requests}:3: it lists the tool 'fly_to', which is not in the tool file" in noted
    assert f"skipped: {requests}:7: not a JSON object" in noted
    plans = lines_of(out)
    assert [plan["id"] for plan in plans] == ["a", "a", "c", "requests-5", "d"]
    assert plans[2]["refusal"]["kind"] == "unreadable"
    assert "11,400,000 characters long; up to 20,000 are read" in plans[2]["refusal"]["reason"]
    assert len(plans[2]["user_request"]) == 200
    assert plans[3]["refusal"]["reason"] == "the request is empty"
    assert [node["task"] for node in plans[4]["task_nodes"]] == ["water_bed"]
    summary = json.loads(said)
    assert (summary["n_planned"], summary["n_without_plan"], summary["n_passed_over"]) == (3, 2, 2)


@pytest.mark.usefixtures("small_student")
def test_half_a_surrogate_pair_in_a_batch_is_planned_and_written(run: Run, learnt: Path, tmp_path: Path) -> None:
    rows = [{"id": "a\ud800", "user_request": "Water \ud83d the tomatoes."}]
    requests, out = write_lines(tmp_path / "requests.jsonl", rows), tmp_path / "plans.jsonl"
    code, _, noted = plan_all(run, learnt, requests, out)
    assert code == 0, noted
    (plan,) = lines_of(out)
    assert plan["id"] == "a\ud800"
    assert plan["user_request"] == rows[0]["user_request"]


def test_plans_of_what_was_learnt_otherwise_are_not_carried_on(learnt: Path, tmp_path: Path) -> None:
    """The same ids with other plans, or another second tier, are another batch."""
    state = tmp_path / "state"
    shutil.copytree(learnt, state)
    with opened_state(state) as (opened, _):
        requests = batch_commands.read_batch(TEST, opened.tools)
        before = batch_commands.key_of(requests, opened.tools, opened)
        taught = next(iter(opened.buffer.all())).demonstration
        other = Plan((Step(next(name for name in opened.tools if name != taught.plan.steps[0].tool), {}),))
        opened.teach([replace(taught, plan=other, source="owner")])
        assert batch_commands.key_of(requests, opened.tools, opened) != before


@pytest.mark.usefixtures("small_student")
def test_a_stopped_batch_is_carried_on(run: Run, learnt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, out = tmp_path / "whole.jsonl", tmp_path / "plans.jsonl"
    assert plan_all(run, learnt, TEST, whole)[0] == 0
    monkeypatch.setattr(batch_commands, "_CHUNK", 5)
    planned, n_chunks = batch_commands._planned, []

    def stopping(*arguments: Any) -> Any:
        n_chunks.append(1)
        if len(n_chunks) == 2:
            raise KeyboardInterrupt
        return planned(*arguments)

    monkeypatch.setattr(batch_commands, "_planned", stopping)
    assert plan_all(run, learnt, TEST, out)[0] == 130
    assert not out.exists()
    partial = tmp_path / "plans.jsonl.partial"
    with partial.open("ab") as file:
        file.write(b'[6, {"id": "torn')  # as a power cut leaves it
    code, said, _ = plan_all(run, learnt, TEST, out, "--json")
    assert (code, json.loads(said)["n_carried_on"]) == (0, 5)
    assert out.read_bytes() == whole.read_bytes()
    assert not partial.exists()


@pytest.mark.usefixtures("small_student")
def test_what_an_older_run_left_of_other_requests_is_not_used(run: Run, learnt: Path, tmp_path: Path) -> None:
    out = tmp_path / "plans.jsonl"
    (tmp_path / "plans.jsonl.partial").write_text('{"batch": "another"}\n[1, {"id": "old", "task_nodes": []}]\n')
    code, said, _ = plan_all(run, learnt, TEST, out, "--json")
    assert (code, json.loads(said)["n_carried_on"]) == (0, 0)
    (tmp_path / "plans.jsonl.partial").write_bytes(b"\xff")
    assert plan_all(run, learnt, TEST, out)[0] == 0
    assert lines_of(out)[0]["id"] == "test-0"


def test_a_batch_that_cannot_be_planned_says_why(run: Run, learnt: Path, tmp_path: Path) -> None:
    out = tmp_path / "plans.jsonl"
    code, _, said = plan_all(run, tmp_path / "nothing", TEST, out)
    assert code == 78
    assert "nothing was learnt in" in said
    code, _, said = plan_all(run, learnt, tmp_path / "absent.jsonl", out)
    assert code == 3
    assert "cannot read" in said
    (tmp_path / "empty.jsonl").write_text("[]\n")
    code, _, said = plan_all(run, learnt, tmp_path / "empty.jsonl", out)
    assert code == 3
    assert "holds no request; the first fault" in said
    assert run("plan", "--batch", TEST, "--state", learnt)[0] == 2
    assert run("plan", "--batch", TEST, "--out", out, "water the beans")[0] == 2
    assert run("plan", "water the beans", "--out", out)[0] == 2
    assert not out.exists()
    assert not (tmp_path / "nothing").exists()


@pytest.mark.usefixtures("small_student")
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_keeps_what_was_done(
    run: Run, learnt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "plans.jsonl"

    class Full(batch_commands._Appending):
        def __enter__(self) -> batch_commands._Appending:
            self._file = open("/dev/full", "ab", buffering=0)
            return self

    monkeypatch.setattr(batch_commands, "_Appending", Full)
    code, _, said = plan_all(run, learnt, TEST, out)
    assert code == 74
    assert "No space left on device; run the command again to carry on" in said
    assert not out.exists()
