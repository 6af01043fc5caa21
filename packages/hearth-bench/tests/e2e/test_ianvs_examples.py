"""The examples for Ianvs run as their pages say, on a few of their samples; and their data are what may be learnt from.

That their rankings are those of Ianvs itself is shown by `examples/ianvs/verify.sh`, which needs Ianvs.
"""

from __future__ import annotations

import csv
import json
import re
import shlex
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from hearth import cli
from hearth.formats.plans import check_plan, demonstration_from_json, read_jsonl, read_tools
from hearth_bench.data.q2a_homes import read_world
from hearth_bench.data.q2a_instructions import split_of
from tests import ROOT

EXAMPLES = ROOT / "examples" / "ianvs"
DATA = EXAMPLES / "data"
N_LEARNT, N_ASKED = 24, 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy with the first samples alone."""
    target = tmp_path / "ianvs"
    shutil.copytree(EXAMPLES, target, ignore=shutil.ignore_patterns("workspace", "__pycache__"))
    for part, n in (("stream", N_LEARNT), ("dev", N_ASKED)):
        path = target / "data" / f"mara_{part}.jsonl"
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:n]))
    return target


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text, f"{old!r} is not in {path}"
    path.write_text(text.replace(old, new))


def ranking(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch, nth: int = 0) -> list[dict[str, str]]:
    """Run the command that the page of an example names; what ranks first comes first."""
    page = (EXAMPLES / name / "README.md").read_text()
    command = re.findall(r"^\$ hearth (bench run .*)$", page, re.M)[nth]
    monkeypatch.chdir(folder / name)
    assert cli.run([*shlex.split(command), "--jobs", "2"]) == 0
    (path,) = (folder / name / "workspace").glob("*/rank/all_rank.csv")
    with path.open() as file:
        rows = list(csv.DictReader(file))
    scores = [float(row["node_f1"]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= float(row[key]) <= 1 for row in rows for key in ("node_f1", "value_f1"))
    return rows


def test_alone_it_learns(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(folder / "singletask/testalgorithms/planner.yaml", "[30, 125]", f"[1, {N_LEARNT}]")
    edit(folder / "singletask/testalgorithms/planner.yaml", '["recall", "student"]', '["recall"]')
    known = folder / "data" / "mara_stream.jsonl"
    shutil.copy(known, folder / "data" / "mara_dev.jsonl")  # what was learnt is asked, so that the order is sure
    rows = ranking(folder, "singletask", monkeypatch)
    assert [row["basemodel-n_learnt"] for row in rows] == [str(N_LEARNT), "1"]
    assert float(rows[0]["node_f1"]) > 0.5 > 0.4 > float(rows[1]["node_f1"])
    assert {"link_f1", "exact", "accuracy"} <= rows[0].keys()


def test_the_router_sends_what_the_student_is_unsure_of(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(folder / "jointinference/testalgorithms/edge_and_teacher.yaml", "[0.0, 0.3, 1.1]", "[0.0, 1.1]")
    for name in ("edge_and_teacher", "unmasked"):  # the one that learns fast
        edit(
            folder / f"jointinference/testalgorithms/{name}.yaml",
            "n_learnt: {values: [60]}",
            'planner: {values: ["recall"]}',
        )
    right = [line["answer"] for _, line in read_jsonl(folder / "data" / "mara_dev.jsonl")]
    asked = [line["question"] for _, line in read_jsonl(folder / "data" / "mara_dev.jsonl")]
    lines = [json.dumps({**json.loads(q), **json.loads(a)}) for q, a in zip(asked, right)]
    (folder / "data" / "teacher.jsonl").write_text("\n".join(lines))  # one who is always right
    rows = ranking(folder, "jointinference", monkeypatch)
    taught, alone, unmasked = (
        next(row for row in rows if (row["algorithm"], row["hard_example_mining-threshold"]) == chosen)
        for chosen in (("edge_and_teacher", "1.1"), ("edge_and_teacher", "0.0"), ("unmasked", "1.1"))
    )
    for row in (taught, unmasked):
        assert (row["cloud_calls"], row["exact"], row["executed"]) == ("1.0", "1.0", "1.0")
        assert float(row["tokens"]) > float(row["bytes_out"]) / 10 > 5
    assert (alone["cloud_calls"], alone["tokens"], alone["bytes_out"], alone["privacy_leak"]) == ("0.0",) * 4
    assert (taught["privacy_leak"], unmasked["privacy_leak"]) == ("0.0", "1.0")
    assert float(alone["node_f1"]) < float(taught["node_f1"])
    assert 0 < float(alone["latency_p50_ms"]) <= float(alone["latency_p95_ms"])
    kept = read_jsonl(Path(unmasked["url"]) / "predictions.jsonl")
    sent = [line["usage"]["sent"][0] for _, line in kept]
    assert [json.loads(text)["user_request"] for text in sent] == [json.loads(q)["user_request"] for q in asked]


def test_over_time_each_round_is_judged_on_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(folder / "lifelong/testalgorithms/owner_over_time.yaml", '["all", "last"]', '["all"]')
    (row,) = ranking(folder, "lifelong", monkeypatch)
    assert all(-1 <= float(row[key]) <= 1 for key in ("BWT", "FWT", "task_avg_acc"))
    place = Path(row["url"])
    outcome = json.loads((place / "outcome.json").read_text())
    assert [len(row) for row in outcome["continual"]["r_matrix"]] == [3, 3, 3]
    kept = [path.read_text().splitlines() for path in sorted(place.glob("output/train/*/demonstrations.jsonl"))]
    assert len(kept) == 4
    assert all(set(before) < set(after) for before, after in pairwise(kept))


def test_who_asks_when_unsure_asks_less(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ranking(folder, "lifelong", monkeypatch, nth=1)
    shares = {row["basemodel-asks_below"]: float(row["samples_transfer_ratio"]) for row in rows}
    assert 0 < shares["0.1"] < shares["1.1"]


def test_what_is_learnt_is_the_stream_and_what_is_asked_is_dev() -> None:
    tools = read_world("mara").specs
    assert read_tools(DATA / "tools.json").keys() == tools.keys()
    n = 0
    for path in sorted(DATA.glob("*_*.jsonl")):
        owner, split = path.stem.split("_")
        for _, line in read_jsonl(path):
            whole = {**json.loads(line["question"]), **json.loads(line["answer"])}
            one = demonstration_from_json(whole)
            assert (one.id.split("-")[0], split_of(one.id)) == (owner, split)
            assert one.now is not None
            if one.plan.steps:
                check_plan(one.plan, tools)
            n += 1
    assert n > 300
    assert {split_of(str(line["id"])) for _, line in read_jsonl(DATA / "teacher.jsonl")} == {"dev"}
