"""Sedna's workers, in this process: its environment, its data sets, its protocol; learning, measuring, planning.

python -m pytest -q packages/hearth-cloud/tests/unit/test_sedna_protocol.py
"""

from __future__ import annotations

import datetime as dt
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from hearth.errors import ConfigError, EgressError, HearthError, RequestError, StoreError, WireError
from hearth.formats.edge_protocol import PlanAsked, PlanGiven
from hearth.formats.plans import plan_to_json, tool_to_json
from hearth.guard.deidentify.masker import Masker
from hearth.guard.egress.masking_door import MaskingDoor
from hearth.learning.demonstration_store import Entry
from hearth.learning.versions.promotion_gate import Frontier, silent
from hearth.planning.ranking.ranker import Ranker
from hearth.types import Demonstration
from hearth_cloud.sedna.big_model import answers, app_of
from hearth_cloud.sedna.sedna_dataset import SEDNA_LINE_BYTES, export, read_requests, read_samples
from hearth_cloud.sedna.sedna_model import FILE_NAME, Model, allocated, read_model
from hearth_cloud.sedna.sedna_planning import Hard, LittleModel, Planning, Requests, infer, little_model
from hearth_cloud.sedna.sedna_protocol import (
    BigModel,
    Environment,
    PredictGiven,
    Told,
    questions_of,
    report,
    request_id,
)
from hearth_cloud.sedna.sedna_training import METRICS, evaluate, measure, train
from tests.small_world import ENCODER, OPTIONS, TOOLS, lessons, wrong_trains
from tests.small_world import few_features as few_features

NOW = dt.datetime(2026, 3, 6, 9, 30, tzinfo=dt.UTC)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The small student of the tests, which learns in a moment."""
    import hearth_cloud.sedna.sedna_training as training

    monkeypatch.setattr(training, "Ranker", lambda encoder, tools: Ranker(encoder, tools, OPTIONS))


def line_of(one: Demonstration) -> dict[str, Any]:
    return {"id": one.id, "user_request": one.request, **plan_to_json(one.plan), "task_steps": list(one.task_steps)}


def written(path: Path, demonstrations: Sequence[Demonstration]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line_of(one)) + "\n" for one in demonstrations))
    return path


def environment(tmp_path: Path, n_round: int, **more: str) -> Environment:
    return Environment({"OUTPUT_URL": str(tmp_path / f"out/train/{n_round}"), "JOB_NAME": "job", **more})


def trained(tmp_path: Path, demonstrations: Sequence[Demonstration], n_round: int = 1, **more: str) -> Any:
    file = written(tmp_path / f"data/train/{n_round}/data.txt", demonstrations)
    return train(environment(tmp_path, n_round, TRAIN_DATASET_URL=str(file), **more), ENCODER, TOOLS, silent)


def model_of(tmp_path: Path, n_round: int = 1) -> Path:
    return tmp_path / f"out/train/{n_round}" / FILE_NAME


# ── Environment ───────────────────────────────────────────────────────────────────────────────────────────


def test_names_are_read_as_they_are_and_in_capitals() -> None:
    env = Environment({"MODEL_THRESHOLD": "0.5", "operator": ">", "EMPTY": ""})
    assert (env.get("model_threshold"), env.get("operator"), env.get("EMPTY", "x")) == ("0.5", ">", "x")


@pytest.mark.parametrize("value", ["s3://bucket/data.txt", "http://host/data.txt", "https://host/x"])
def test_a_path_is_none_of_another_machine(value: str) -> None:
    with pytest.raises(ConfigError, match="storage initializer"):
        Environment({"TRAIN_DATASET_URL": value}).path("TRAIN_DATASET_URL", "what")


def test_what_is_not_set_is_named() -> None:
    with pytest.raises(ConfigError, match="OUTPUT_URL is not set; it says where"):
        Environment({}).path("OUTPUT_URL", "where the model goes")


@pytest.mark.parametrize("text", ["much", "nan", "-1", "2"])
def test_numbers_out_of_range_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="expected a number from 0 to 1"):
        Environment({"threshold": text}).number("threshold", 0.5, 0, 1)


def test_paths_of_the_node_and_of_the_container() -> None:
    env = Environment({"DATA_PATH_PREFIX": "/home/data"})
    assert env.on_node(Path("/home/data/var/out/model.hearth")) == "/var/out/model.hearth"
    assert env.on_node(Path("/home/database/x")) == "/home/database/x"
    assert env.in_container("/var/out/model.hearth") == Path("/home/data/var/out/model.hearth")
    assert env.in_container("/home/data/var/x") == Path("/home/data/var/x")
    assert Environment({}).on_node(Path("/x")) == "/x"


# ── Data sets ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_txt_holds_demonstrations_or_names_files_of_them(tmp_path: Path) -> None:
    first, second, third = lessons(3)
    written(tmp_path / "set/more/two.jsonl", [second, third])
    file = tmp_path / "set/data.txt"
    file.write_text(json.dumps(line_of(first)) + "\n\nmore/two.jsonl 1\n")
    found = read_samples(file, None)
    assert [entry.id for entry in found.entries] == [first.id, second.id, third.id]
    assert found.faults == ()


def test_paths_begin_at_the_data_set_itself(tmp_path: Path) -> None:
    """Sedna writes what a worker gets into a folder of its own; the names in it are the data set's."""
    written(tmp_path / "set/a.jsonl", lessons(2))
    file = tmp_path / "out/data/train/1/data.txt"
    file.parent.mkdir(parents=True)
    file.write_text("a.jsonl\n")
    assert len(read_samples(file, tmp_path / "set").entries) == 2
    with pytest.raises(RequestError, match="holds no sample"):
        read_samples(file, None)


def test_a_csv_has_the_fields_of_the_plan_format(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text(
        'id,user_request,task_nodes\na,wake me,"[{""task"": ""set_alarm""}]"\nb,x,"[broken"\n', encoding="utf-8"
    )
    found = read_samples(file, None)
    assert [(e.id, [s.tool for s in e.demonstration.plan.steps]) for e in found.entries] == [("a", ["set_alarm"])]
    assert "data.csv:3: a list is not written as JSON" in found.faults[0]


def test_a_csv_without_requests_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text("x,y\n1,2\n")
    with pytest.raises(RequestError, match="has the columns x, y; expected those of the plan format"):
        read_samples(file, None)


def test_bad_lines_are_named_and_passed_over(tmp_path: Path) -> None:
    (one,) = lessons(1)
    file = tmp_path / "data.txt"
    lines = [
        json.dumps(line_of(one)).encode(),
        b"{broken",
        b"\xff\xfe",
        b'{"user_request": "no plan", "task_nodes": 3}',
        b'{"a": "' + b"x" * SEDNA_LINE_BYTES + b'"}',
        b"gone.jsonl",
    ]
    file.write_bytes(b"\n".join(lines) + b"\n")
    found = read_samples(file, None)
    assert [entry.id for entry in found.entries] == [one.id]
    told = " ".join(found.faults)
    for part in ("data.txt:2: not a JSON", "data.txt:3: is not UTF-8", "data.txt:5: is longer than", "gone.jsonl"):
        assert part in told
    assert len(found.faults) == 5


def test_of_one_that_comes_twice_the_last_counts(tmp_path: Path) -> None:
    old, new = lessons(1)[0], wrong_trains(1)[0]
    lines = [{**line_of(old), "id": "same"}, {**line_of(new), "id": "same"}]
    file = tmp_path / "data.txt"
    file.write_text("".join(json.dumps(one) + "\n" for one in lines))
    (entry,) = read_samples(file, None).entries
    assert entry.demonstration.request == new.request


def test_requests_may_be_plain_text(tmp_path: Path) -> None:
    file = tmp_path / "asked.txt"
    file.write_text('wake me\n\n{"user_request": "order a pizza", "id": "p"}\n')
    found, faults = read_requests(file, None)
    assert [(one.id, one.request) for one in found] == [(request_id("wake me"), "wake me"), ("p", "order a pizza")]
    assert not faults


def test_export_adds_what_is_new_and_moves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "set/demonstrations.txt"
    entries = [Entry(one, added=f"2026-01-{k:02}") for k, one in enumerate(lessons(5), 1)]
    assert export(entries[:3], file).n_written == 3
    before = file.read_text()
    done = export(entries, file)
    assert (done.n_written, done.n_known) == (2, 3)
    assert file.read_text().startswith(before)
    assert {e.id for e in read_samples(file, None).entries} == {e.id for e in entries}
    assert export(entries[1:], file, anew=True).n_written == 4
    assert entries[0].id not in file.read_text()


def test_export_keeps_back_what_sedna_cannot_read(tmp_path: Path) -> None:
    from dataclasses import replace

    long = replace(lessons(1)[0], id="long", request="x" * SEDNA_LINE_BYTES)
    done = export([Entry(long), Entry(lessons(1)[0])], tmp_path / "set.txt")
    assert (done.n_written, done.kept_back) == (1, ("long",))


# ── Training ──────────────────────────────────────────────────────────────────────────────────────────────


def test_training_in_rounds_gives_what_training_at_once_gives(tmp_path: Path) -> None:
    all_of_them = lessons(60)
    first = trained(tmp_path, all_of_them[:40])
    assert first.results[0]["url"] == str(model_of(tmp_path))
    index = {"HAS_COMPLETED_INITIAL_TRAINING": "true", "CLOUD_KB_INDEX": first.results[0]["url"]}
    trained(tmp_path, all_of_them[40:], 2, **index)
    trained(tmp_path / "once", all_of_them)
    rounds, once = (read_model(path, ENCODER) for path in (model_of(tmp_path, 2), model_of(tmp_path / "once")))
    assert rounds.student.ids == once.student.ids
    assert rounds.student.difference(once.student) == 0.0
    assert {task.name for task in rounds.tasks} == {task.name for task in once.tasks}


def test_a_batch_that_makes_known_tasks_worse_is_not_taken(tmp_path: Path) -> None:
    first = trained(tmp_path, lessons(60))
    index = {"HAS_COMPLETED_INITIAL_TRAINING": "true", "CLOUD_KB_INDEX": first.results[0]["url"]}
    second = trained(tmp_path, wrong_trains(30), 2, **index)
    assert any("the gate refused the batch" in note for note in second.notes)
    assert second.results[0]["url"] == str(model_of(tmp_path))
    assert not model_of(tmp_path, 2).exists()


def test_a_lost_report_does_not_lose_the_model(tmp_path: Path) -> None:
    """Sedna then says that there was a training, and not where its model is."""
    trained(tmp_path, lessons(40))
    second = trained(tmp_path, lessons(8, 100), 2, HAS_COMPLETED_INITIAL_TRAINING="true", CLOUD_KB_INDEX="")
    assert any("learning goes on from" in note for note in second.notes)
    assert len(read_model(model_of(tmp_path, 2), ENCODER).student) == 48


def test_paths_are_reported_as_the_node_knows_them(tmp_path: Path) -> None:
    done = trained(tmp_path, lessons(20), DATA_PATH_PREFIX=str(tmp_path))
    assert done.results[0] == {
        "format": "hearth",
        "url": f"/out/train/1/{FILE_NAME}",
        "metrics": done.results[0]["metrics"],
    }
    again = trained(
        tmp_path, lessons(8, 50), 2, DATA_PATH_PREFIX=str(tmp_path), HAS_COMPLETED_INITIAL_TRAINING="true",
        CLOUD_KB_INDEX=f"/out/train/1/{FILE_NAME}",
    )  # fmt: skip
    assert any("28 in all" in note for note in again.notes)


def test_what_a_stranger_wrote_is_not_learnt(tmp_path: Path) -> None:
    good, bad = lessons(2)
    file = tmp_path / "data.txt"
    file.write_text(json.dumps(line_of(good)) + "\n" + json.dumps({**line_of(bad), "label": ["web"]}) + "\n")
    done = train(environment(tmp_path, 1, TRAIN_DATASET_URL=str(file)), ENCODER, TOOLS, silent)
    assert any("text from web touched its plan" in note for note in done.notes)
    assert read_model(model_of(tmp_path), ENCODER).student.ids == (good.id,)


def test_nothing_to_learn_is_said(tmp_path: Path) -> None:
    file = tmp_path / "data.txt"
    file.write_text('{"user_request": "fly", "task_nodes": [{"task": "fly"}]}\n')
    with pytest.raises(RequestError, match=r"none of its samples can be learnt; the first fault: .*fly"):
        train(environment(tmp_path, 1, TRAIN_DATASET_URL=str(file)), ENCODER, TOOLS, silent)


# ── Measuring ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def two_models(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A little taught model, a well taught one, and what both are measured on."""
    trained(tmp_path, [one for one in lessons(16) if one.plan.steps[0].tool == "cancel_train"])
    trained(tmp_path, lessons(32), 2)
    return model_of(tmp_path), model_of(tmp_path, 2), written(tmp_path / "test.txt", lessons(20, 300))


def test_the_better_model_is_named_first(two_models: tuple[Path, Path, Path], tmp_path: Path) -> None:
    little, well, test = two_models
    env = environment(tmp_path, 1, TEST_DATASET_URL=str(test), MODEL_URLS=f"{little};{well}")
    done = evaluate(env, ENCODER, silent)
    assert [one["url"] for one in done.results] == [str(well), str(little)]
    told = json.loads((tmp_path / "out/train/1/metrics.json").read_text())
    assert [one["model"] for one in told["models"]] == [str(well), str(little)]
    assert set(told["models"][0]["metrics"]) == set(METRICS)
    gold = {one.id: one for one in lessons(20, 300)}
    assert told["models"][0]["metrics"] == measure(read_model(well, ENCODER).student, gold)
    assert all(isinstance(value, list) for value in done.results[0]["metrics"].values())  # type: ignore[attr-defined]


def test_only_what_reaches_the_threshold_is_deployed(two_models: tuple[Path, Path, Path], tmp_path: Path) -> None:
    little, well, test = two_models
    urls = {"TEST_DATASET_URL": str(test), "MODEL_URLS": f"{little};{well}", "metrics": "exact_tools"}
    scores = [
        measure(read_model(path, ENCODER).student, {d.id: d for d in lessons(20, 300)}) for path in (little, well)
    ]
    assert scores[0]["exact_tools"] < scores[1]["exact_tools"]
    between = str(scores[1]["exact_tools"])
    done = evaluate(environment(tmp_path, 1, model_threshold=between, operator=">=", **urls), ENCODER, silent)
    assert [one["url"] for one in done.results] == [str(well)]
    none = evaluate(environment(tmp_path, 1, model_threshold="2", **urls), ENCODER, silent)
    assert none.results == ()
    assert any("is not >= 2" in note for note in none.notes)


@pytest.mark.parametrize("more", [{"metrics": "bleu"}, {"operator": "~"}, {"model_threshold": "high"}])
def test_measures_that_are_none_are_refused(
    more: dict[str, str], two_models: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    little, _, test = two_models
    with pytest.raises(ConfigError):
        evaluate(environment(tmp_path, 1, TEST_DATASET_URL=str(test), MODEL_URLS=str(little), **more), ENCODER, silent)


# ── Planning ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def model(tmp_path: Path) -> Model:
    trained(tmp_path, lessons(32))
    return read_model(model_of(tmp_path), ENCODER)


def test_deployed_plans_and_sets_aside_what_it_never_saw(model: Model, tmp_path: Path) -> None:
    (tmp_path / "asked.txt").write_text(f"{lessons(4)[3].request}\nzzz qqq vvv kkk\n")
    env = Environment(
        {
            "MODEL_URLS": str(model_of(tmp_path)),
            "infer_dataset_url": str(tmp_path / "asked.txt"),
            "RESULT_SAVED_URL": str(tmp_path / "plans.jsonl"),
            "unseen_save_url": str(tmp_path / "unseen.jsonl"),
        }
    )
    done = infer(env, ENCODER, None, 0.0, threading.Event())
    known, strange = (json.loads(line) for line in (tmp_path / "plans.jsonl").read_text().splitlines())
    assert [node["task"] for node in known["plan"]["task_nodes"]] == ["cancel_train"]
    assert (known["unseen"], strange["unseen"]) == (False, True)
    assert json.loads((tmp_path / "unseen.jsonl").read_text())["user_request"] == "zzz qqq vvv kkk"
    assert done.info == {"inferenceNumber": 2, "unseenNumber": 1}


def test_a_growing_file_is_read_on_and_a_new_model_counts(model: Model, tmp_path: Path) -> None:
    asked = tmp_path / "asked.txt"
    asked.write_text("cancel the train ticket\n")
    requests = Requests(asked, [])
    assert [one.request for one in requests.fresh()] == ["cancel the train ticket"]
    assert requests.fresh() == []
    with asked.open("a") as file:
        file.write("wake me with an alarm\n")
    assert [one.request for one in requests.fresh()] == ["wake me with an alarm"]
    asked.write_text("x\n")
    assert [one.request for one in requests.fresh()] == ["x"]
    asked.unlink()
    with pytest.raises(RequestError, match="cannot read the requests"):
        requests.fresh()


def test_questions_may_bring_tools_of_their_own(model: Model) -> None:
    planning = Planning(model, None)
    tools = [tool_to_json(TOOLS["set_alarm"])]
    body = json.dumps({"data": [{"request": "cancel the train ticket", "tools": tools}, "cancel the train ticket"]})
    given = answers(planning, questions_of(body.encode(), NOW))
    chosen = [[node["task"] for node in (one.plan or {}).get("task_nodes", ())] for one in given.result]
    assert chosen == [["set_alarm"], ["cancel_train"]]


def test_a_request_too_long_is_answered_so(model: Model) -> None:
    asked = PlanAsked(id="a", request="x" * 4_000, now=NOW, tools=())
    blank = PlanAsked(id="b", request=" ", now=NOW, tools=())
    long, empty = Planning(model, None).plans([asked, blank])
    assert empty.refusal is not None
    assert empty.refusal.kind == "unreadable"
    assert long.plan is not None or long.refusal is not None


# ── The big model ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("body", "part"),
    [
        (b"", "PredictAsked was expected"),
        (b"[]", "PredictAsked was expected"),
        (b'{"data": "text"}', "data is not right"),
        (b'{"data": [3]}', "data.0 is a int"),
        (b'{"data": [{"request": ""}]}', "data.0: .*request is not right"),
        (b'{"data": [{"request": "x", "now": "noon"}]}', "data.0: .*now is not right"),
        (b'{"data": ["x"], "callback": "shutil.rmtree"}', "the callback 'shutil.rmtree'"),
        (json.dumps({"data": ["x"] * 257}).encode(), "data is not right"),
    ],
)
def test_questions_that_are_none_are_refused(body: bytes, part: str) -> None:
    with pytest.raises(WireError, match=part):
        questions_of(body, NOW)


def asgi(app: Any, method: str, path: str, body: bytes = b"") -> httpx.Response:
    """One request to an application, without a socket."""
    import asyncio

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://big") as client:
            return await client.request(method, path, content=body)

    return asyncio.run(ask())


def test_the_big_model_speaks_as_sedna_does(model: Model) -> None:
    app = app_of("hearth", Planning(model, None))
    assert asgi(app, "GET", "/healthz").json() == {"status": "ok"}
    paths = [one["path"] for one in asgi(app, "GET", "/hearth").json()["infos"]]
    assert paths == ["/hearth", "/hearth/predict"]
    answered = asgi(app, "POST", "/hearth/predict", b'{"data": ["cancel the train ticket"], "callback": null}')
    (given,) = PredictGiven.model_validate_json(answered.content).result
    assert given.plan is not None
    assert [node["task"] for node in given.plan["task_nodes"]] == ["cancel_train"]
    assert asgi(app, "POST", "/other/predict", b"{}").status_code == 404
    refused = asgi(app, "POST", "/hearth/predict", b'{"data": [1]}')
    assert (refused.status_code, refused.json()["code"]) == (422, "shape")
    large = asgi(app, "POST", "/hearth/predict", b" " * 4_000_001)
    assert (large.status_code, large.json()["code"]) == (413, "size")


# ── The little model ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "parameters", "confidence", "is_hard"),
    [
        ("Threshold", '[{"key": "threshold", "value": "0.7"}]', 0.69, True),
        ("Threshold", '[{"key": "threshold", "value": "0.7"}]', 0.71, False),
        ("Threshold", "null", 0.49, True),
        ("IBT", '[{"key": "threshold_img", "value": "0.2"}]', 0.3, False),
        ("CloudOnly", "[]", 0.99, True),
        ("EdgeOnly", "[]", 0.0, False),
    ],
)
def test_what_is_hard(name: str, parameters: str, confidence: float, is_hard: bool) -> None:
    hard = Hard.of(Environment({"HEM_NAME": name, "HEM_PARAMETERS": parameters}))
    assert hard.is_hard(PlanGiven(id="a", plan={}, confidence=confidence)) is is_hard


@pytest.mark.parametrize(
    "values",
    [
        {"HEM_NAME": "CrossEntropy"},
        {"HEM_PARAMETERS": "{"},
        {"HEM_PARAMETERS": '[{"value": "1"}]'},
        {"HEM_PARAMETERS": '[{"key": "threshold", "value": "high"}]'},
    ],
)
def test_hard_examples_of_another_kind_are_refused(values: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        Hard.of(Environment(values))


def little(model: Model, handler: Any, hard: Hard) -> LittleModel:
    http = httpx.Client(transport=httpx.MockTransport(handler))
    return LittleModel(Planning(model, None), hard, BigModel(http, "http://big:5000/hearth"), MaskingDoor(Masker()))


def asked(text: str) -> PlanAsked:
    return PlanAsked(id="a", request=text, now=NOW, tools=())


def test_only_hard_requests_leave_and_they_are_masked(model: Model) -> None:
    sent: list[dict[str, Any]] = []

    def big(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content))
        (question,) = sent[-1]["data"]
        plan = {"user_request": question["request"], "task_nodes": [{"task": "order_pizza"}]}
        return httpx.Response(200, json={"result": [{"id": question["id"], "plan": plan, "confidence": 0.9}]})

    text = "order a large pizza for anna.schmidt@example.org"
    (row,) = little(model, big, Hard("Threshold", 1.0)).answer([asked(text)])
    assert row["is_hard"]
    assert row["cloud"]["plan"]["user_request"] == text
    assert [node["task"] for node in row["result"]["plan"]["task_nodes"]] == ["order_pizza"]
    (question,) = sent[0]["data"]
    assert "anna.schmidt" not in json.dumps(sent)
    assert question["id"] == request_id(question["request"])
    (easy,) = little(model, big, Hard("EdgeOnly", 0.5)).answer([asked(text)])
    assert (easy["is_hard"], easy["cloud"], len(sent)) == (False, None, 1)


@pytest.mark.parametrize(
    ("given", "part"),
    [
        (httpx.Response(500), "answered 500"),
        (httpx.Response(200, content=b"<html>"), "PredictGiven was expected"),
        (httpx.Response(200, json={"result": []}), "was asked 1 and answered 0"),
        (httpx.Response(200, json={"result": [{"id": "a"}]}), "neither a plan nor a refusal"),
        (httpx.Response(200, json={"result": [{"id": "a", "plan": {"user_request": "x", "task_nodes": [{"task": "fly"}]}}]}), "fly"),
        (httpx.ConnectError("refused"), "was not reached: refused"),
    ],
    ids=["500", "html", "too-few", "nothing", "unknown-tool", "gone"],
)  # fmt: skip
def test_without_the_cloud_the_edge_answers(given: httpx.Response | Exception, part: str, model: Model) -> None:
    def big(_: httpx.Request) -> httpx.Response:
        if isinstance(given, Exception):
            raise given
        return given

    (row,) = little(model, big, Hard("CloudOnly", 0.5)).answer([asked("cancel the train ticket")])
    assert part in row["fault"]
    assert row["cloud"] is None
    assert [node["task"] for node in row["result"]["plan"]["task_nodes"]] == ["cancel_train"]


def test_sedna_is_told_how_many_left(model: Model, tmp_path: Path) -> None:
    told: list[dict[str, Any]] = []

    def anyone(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/info"):
            told.append(json.loads(request.content))
            return httpx.Response(200, json={})
        return httpx.Response(503)

    (tmp_path / "asked.txt").write_text("cancel the train ticket\n")
    env = Environment(
        {
            "infer_dataset_url": str(tmp_path / "asked.txt"),
            "RESULT_SAVED_URL": str(tmp_path / "answered.jsonl"),
            "WORKER_NAME": "edgeworker-1",
            "SERVICE_NAME": "hearth",
        }
    )
    http = httpx.Client(transport=httpx.MockTransport(anyone))
    done = little_model(env, little(model, anyone, Hard("CloudOnly", 0.5)), http, 0.0, threading.Event())
    (message,) = told
    assert (message["name"], message["ownerName"], message["ownerKind"], message["kind"]) == (
        "edgeworker-1",
        "hearth",
        "jointinferenceservice",
        "inference",
    )
    info = message["ownerInfo"]
    assert (info["inferenceNumber"], info["hardExampleNumber"], info["uploadCloudRatio"]) == (1, 1, 1.0)
    assert "1 put to the big model, 1 of them in vain" in done.notes[-1]


# ── Reports ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_report_is_as_sednas_workers_send_it() -> None:
    seen: list[httpx.Request] = []

    def controller(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"Status": 200})

    env = Environment(
        {"LC_SERVER": "http://node:9100/", "WORKER_NAME": "train-worker-x", "NAMESPACE": "homes", "JOB_NAME": "hearth"}
    )
    http = httpx.Client(transport=httpx.MockTransport(controller))
    results = [{"format": "hearth", "url": "/out/model.hearth", "metrics": {"tool_f1": [0.5]}}]
    assert report(env, http, Told("train", "completed", "lifelonglearningjob", results)) == ""
    assert str(seen[0].url) == "http://node:9100/sedna/workers/train-worker-x/info"
    assert json.loads(seen[0].content) == {
        "name": "train-worker-x",
        "namespace": "homes",
        "ownerName": "hearth",
        "ownerKind": "lifelonglearningjob",
        "kind": "train",
        "status": "completed",
        "results": results,
    }


@pytest.mark.parametrize("fault", [httpx.Response(500), httpx.ConnectError("refused"), EgressError("closed")])
def test_a_report_that_fails_is_said_and_fails_nothing(fault: httpx.Response | Exception) -> None:
    def controller(_: httpx.Request) -> httpx.Response:
        if isinstance(fault, Exception):
            raise fault
        return fault

    http = httpx.Client(transport=httpx.MockTransport(controller))
    said = report(Environment({}), http, Told("train", "failed", "lifelonglearningjob"))
    assert any(part in said for part in ("answered 500", "refused", "closed"))


def test_a_model_that_is_gone_is_said(tmp_path: Path) -> None:
    (tmp_path / "asked.txt").write_text("x\n")
    env = Environment(
        {
            "MODEL_URLS": str(tmp_path / "index.pkl"),
            "infer_dataset_url": str(tmp_path / "asked.txt"),
            "RESULT_SAVED_URL": str(tmp_path / "plans.jsonl"),
        }
    )
    with pytest.raises(StoreError, match=r"cannot read the model .*index\.pkl"):
        infer(env, ENCODER, None, 0.0, threading.Event())
    assert issubclass(StoreError, HearthError)


def test_a_request_goes_to_the_task_of_its_nearest_samples() -> None:
    owner, frontier = {"1": "a", "2": "b", "3": "b"}, Frontier(0.9, 0.75, 0.1)
    found = allocated([("1", 0.93), ("2", 0.92), ("3", 0.91), ("gone", 0.1)], owner, frontier)
    assert (found.task, found.likeness, found.is_unseen) == ("b", 0.92, False)
    assert allocated([("1", 0.5)], owner, frontier).is_unseen
    assert not allocated([("1", 0.5)], owner, None).is_unseen
    assert allocated([], owner, frontier) == allocated([("gone", 1.0)], owner, None)
