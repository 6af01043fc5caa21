"""Reading a job: what is taken, what is said, and each way a file can be wrong."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hearth.errors import RequestError
from hearth_bench.ianvs.job import Job, case_document, check_files, found_path, read_job
from hearth_bench.ianvs.job_data import look_at, split_rounds, with_absolute_paths
from hearth_bench.ianvs.samples import load
from tests import BENCH_DATA

JOBS = BENCH_DATA / "ianvs"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    target = tmp_path / "jobs"
    shutil.copytree(JOBS, target)
    monkeypatch.chdir(target)
    return target


def edit(file: str, old: str, new: str) -> None:
    path = Path(file)
    assert old in path.read_text(), old
    path.write_text(path.read_text().replace(old, new))


def single() -> Job:
    return read_job(Path("job_single.yaml"))


def test_cases_are_the_product_of_hyperparameters_in_order(folder: Path) -> None:
    job = single()
    assert [dict(case.modules[0].hyperparameters) for case in job.cases] == [
        {"lr": 0.1, "mode": "a"},
        {"lr": 0.1, "mode": "b"},
        {"lr": 0.2, "mode": "a"},
        {"lr": 0.2, "mode": "b"},
    ]
    assert (job.name, job.workspace, job.warnings) == ("single", Path("workspace/single"), ())
    joint = read_job(Path("job_joint.yaml"))
    assert [m.type for m in joint.cases[0].modules] == [
        "dataset_processor",
        "edgemodel",
        "cloudmodel",
        "hard_example_mining",
    ]
    assert len(joint.cases) == 2


def test_hyperparameters_from_files_lie_under_the_named_ones(folder: Path) -> None:
    Path("more.yaml").write_text("lr: 0.5\nseed: 3\nday: 2026-11-20\n")
    edit("algorithm_single.yaml", "- mode:", "- other_hyperparameters: {values: [more.yaml]}\n        - mode:")
    first = single().cases[0].modules[0].hyperparameters
    assert first == {"lr": 0.1, "seed": 3, "day": "2026-11-20", "mode": "a"}


def test_what_is_not_read_is_said_with_what_was_meant(folder: Path) -> None:
    edit("job_single.yaml", '  workspace: "./workspace"', '  worspace: "./workspace"\n  simulation: {}')
    edit("algorithm_single.yaml", '      url: "./toy_model.py"', '      url: "./toy_model.py"\n      colour: red')
    edit("testenv_single.yaml", "  metrics:", "  incremental_round: 3\n  anything_else: 1\n  metrics:")
    job = single()
    assert job.warnings[0] == "job_single.yaml: benchmarkingjob.worspace is not read; did you mean 'workspace'?"
    assert "simulation is not read: nothing is simulated here" in job.warnings[1]
    assert "testenv.incremental_round is not read; did you mean 'incremental_rounds'?" in job.warnings[2]
    assert "modules.0.colour is not read; known are type, name, url, hyperparameters" in job.warnings[3]
    assert len(job.warnings) == 4
    assert job.env.settings["anything_else"] == 1


def test_the_mode_of_mining_is_taken_from_the_job_too(folder: Path) -> None:
    edit("job_joint.yaml", '  name: "joint"', '  name: "joint"\n  hard_example_mining_mode: "inference-then-mining"')
    job = read_job(Path("job_joint.yaml"))
    assert job.env.settings["hard_example_mining_mode"] == "inference-then-mining"
    assert "Ianvs reads it from the testenv alone" in job.warnings[0]


WRONG = [
    ("job_single.yaml", "benchmarkingjob:", "benchmarking:", "has 'benchmarking'; expected a mapping under 'benchmarkingjob'"),
    ("job_single.yaml", "benchmarkingjob:", "a: [", "not YAML in UTF-8"),
    ("job_single.yaml", '  testenv: "', '  tesenv: "', "benchmarkingjob.testenv is missing; did you mean it by 'tesenv'?"),
    ("job_single.yaml", '  name: "single"', "  name: [1]", "benchmarkingjob.name is [1]; expected text"),
    ("job_single.yaml", '  name: "single"', "  name:", "benchmarkingjob.name is empty"),
    ("job_single.yaml", '  name: "single"', "  name: ../away", "the name '../away' cannot be a folder"),
    ("job_single.yaml", '- name: "toy"', '- name: "rank"', "the name 'rank' cannot be a folder"),
    ("job_single.yaml", 'type: "algorithms"', 'type: "algorithm"', "did you mean 'algorithms'?"),
    ("job_single.yaml", "testenv_single.yaml", "testenv_sinle.yaml", "did you mean 'testenv_single.yaml'?"),
    ("job_single.yaml", "algorithm_single.yaml", "no/where.yaml", "there is no './no/where.yaml'; looked for"),
    ("job_single.yaml", "save_mode: \"selected_and_all\"", "save_mode: 1", "rank.save_mode is 1; expected one of"),
    ("job_single.yaml", '[{"acc": "descend"}]', "acc", 'rank.sort_by is "acc"; expected a list'),
    ("testenv_single.yaml", "  metrics:", "  metric:", "testenv.metrics is missing; did you mean it by 'metric'?"),
    ("testenv_single.yaml", '    - {name: "acc", url: "./toy_metrics.py"}', "    []", "testenv.metrics is empty"),
    ("testenv_single.yaml", ', url: "./toy_metrics.py"', "", "the metric 'acc' has no url and is none of our own"),
    ("testenv_single.yaml", "train_data", "train_url", "none of train_index, train_data, train_data_info (train_url alone"),
    ("testenv_single.yaml", "train.jsonl", "toy_model.py", "train_data is 'toy_model.py'; expected a .jsonl file"),
    ("testenv_single.yaml", "  metrics:", "  incremental_rounds: 1\n  metrics:", "incremental_rounds is 1; expected at least 2"),
    ("testenv_single.yaml", "  metrics:", "  incremental_rounds: two\n  metrics:", 'is "two"; expected a whole number'),
    ("testenv_single.yaml", "  metrics:", "  use_gpu: 1\n  metrics:", "use_gpu is 1; expected true or false"),
    ("testenv_single.yaml", "  metrics:", "  model_eval: {threshold: x}\n  metrics:", 'threshold is "x"; expected a number'),
    ("testenv_single.yaml", "  metrics:", "  model_eval: {operator: '!'}\n  metrics:", "operator is \"!\"; expected one of"),
    ("testenv_single.yaml", "  metrics:", "  model_eval: 3\n  metrics:", "testenv.model_eval is 3; expected a mapping"),
    ("testenv_single.yaml", "  metrics:", "  model_eval: {model_metric: {name: a, url: no.py}}\n  metrics:", "there is no 'no.py'"),
    ("algorithm_single.yaml", "singletasklearning", "singletasklerning", "did you mean 'singletasklearning'?"),
    ("algorithm_single.yaml", "singletasklearning", "federatedlearning", "is not run here"),
    ("algorithm_single.yaml", "singletasklearning", "jointinference", "needs a module of type 'edgemodel'; has basemodel"),
    ("algorithm_single.yaml", '"basemodel"', '"basmodel"', "modules.0.type is 'basmodel'; did you mean 'basemodel'?"),
    ("algorithm_single.yaml", "toy_model.py", "toy_modl.py", "did you mean 'toy_model.py'?"),
    ("algorithm_single.yaml", "[0.1, 0.2]", "0.1", "hyperparameters.0.lr.values is 0.1; expected a list"),
    ("algorithm_single.yaml", "- lr: {values: [0.1, 0.2]}\n        -", "- lr: {values: [0.1]}\n         ", "expected one name with its values"),
    ("algorithm_single.yaml", "  modules:", "  mode: with_compression\n  modules:", "'with_compression' is not run here"),
    ("algorithm_single.yaml", "  modules:", "  lifelong_learning_data_setting: {train_ratio: 1}\n  modules:", "between 0 and 1"),
    ("algorithm_single.yaml", "  modules:", "  lifelong_learning_data_setting: {splitting_method: city_splitting}\n  modules:", "known are default"),
    ("algorithm_single.yaml", "  modules:", "  third_party_packages: [{name: a, url: b.py}]\n  modules:", "package 'a': there is no 'b.py'"),
    ("toy_model.py", "import json", "import json json", "toy_model.py:3: not Python"),
    ("toy_metrics.py", "from sedna", "\x00", "toy_metrics.py"),
    ("train.jsonl", '"question"', '"q"', "train.jsonl: holds no sample; the first fault: train.jsonl:1: the line has 'q'"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "message"), WRONG)
def test_what_is_wrong_is_named(file: str, old: str, new: str, message: str, folder: Path) -> None:
    edit(file, old, new)
    with pytest.raises(RequestError) as caught:
        check_files(single())
    assert message in str(caught.value)


def test_a_file_that_would_fill_the_memory_is_refused(folder: Path) -> None:
    nested = "a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
        f"{b}: &{b} [{','.join(f'*{a}' for _ in range(9))}]\n" for a, b in zip("abcdefg", "bcdefgh")
    )
    Path("job_single.yaml").write_text(nested)
    with pytest.raises(RequestError, match="over 100,000 values"):
        single()
    Path("job_single.yaml").write_text("#" * 1_000_001)
    with pytest.raises(RequestError, match="expected a YAML file of at most 1,000,000"):
        single()
    Path("job_single.yaml").write_text("- a\n- b\n")
    with pytest.raises(RequestError, match="expected a mapping"):
        single()
    Path("job_single.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(RequestError, match="not YAML in UTF-8"):
        single()
    edit_text = "\n".join(f"        - h{k}: {{values: [{', '.join(map(str, range(30)))}]}}" for k in range(3))
    shutil.copy(JOBS / "job_single.yaml", "job_single.yaml")
    edit("algorithm_single.yaml", "        - lr: {values: [0.1, 0.2]}", edit_text)
    with pytest.raises(RequestError, match="over 10,000 cases"):
        single()


def test_a_fingerprint_changes_with_whatever_a_case_rests_on(folder: Path) -> None:
    def fingerprints(seed: int = 0) -> list[str]:
        job = single()
        checked = check_files(job)
        return [case_document(job, case, checked, seed)["fingerprint"] for case in job.cases]

    first = fingerprints()
    assert len(set(first)) == 4
    assert first == fingerprints()
    assert not set(first) & set(fingerprints(1))
    edit("toy_model.py", "import os", "import os  # changed")
    second = fingerprints()
    assert not set(first) & set(second)
    with Path("test.jsonl").open("a") as file:
        file.write('{"question": "x", "answer": "y"}\n')
    assert not set(second) & set(fingerprints())


# ── Data ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("method", "sizes"),
    [  # 60 samples in 2 rounds, as Ianvs cuts them
        ("default", [(24, 6), (24, 6)]),
        ("fwt_splitting", [(1, 1), (24, 6), (24, 6)]),
        ("hard-example_splitting", [(24, 6), (12, 3), (12, 3)]),
    ],
)
def test_rounds(method: str, sizes: list[tuple[int, int]], tmp_path: Path) -> None:
    pairs = split_rounds(
        JOBS / "train.jsonl", tmp_path, method=method, ratio=0.8, n_rounds=2, names=("model_train", "model_eval")
    )
    assert [tuple(len(path.read_text().splitlines()) for path in pair) for pair in pairs] == sizes
    assert pairs[-1][0].name == "model_train-2.jsonl"


def test_more_rounds_than_samples_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="15 samples for 16 rounds"):
        split_rounds(JOBS / "test.jsonl", tmp_path, method="default", ratio=0.5, n_rounds=16, names=("a", "b"))


def test_an_index_of_files_leads_to_them_from_anywhere(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"")
    index = tmp_path / "index.txt"
    index.write_text("a.png 0\nmissing.png 1\n")
    found = with_absolute_paths(index, tmp_path / "made")
    assert found.read_text().splitlines() == [f"{tmp_path / 'a.png'} 0", "missing.png 1"]
    assert load(found, "train").y.tolist() == ["0", "1"]
    assert load(found, "eval", is_lifelong=True).x.shape == (2, 1)
    assert with_absolute_paths(found, tmp_path / "again") == found


def test_answers_of_any_shape_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"question": "x", "answer": [1]}\n{"question": "y", "answer": [1, 2]}\n{"question": "z", "answer": {"a": 1}}\n'
    )
    assert load(path, "train").y.tolist() == [[1], [1, 2], {"a": 1}]
    assert look_at(path).n == 3


def test_data_with_a_description(tmp_path: Path) -> None:
    (tmp_path / "metadata.json").write_text('{"dataset": "d", "description": "e", "level_1_dim": "f"}')
    (tmp_path / "data.jsonl").write_text(
        '{"prompt": "p ", "query": "q", "response": "r", "judge_prompt": "j"}\n{"query": 1}\n'
    )
    found = load(tmp_path / "metadata.json", "inference")
    assert (found.x.tolist(), found.y.tolist(), found.need_other_info) == (["p q"], ["r"], True)  # type: ignore[attr-defined]
    assert look_at(tmp_path / "metadata.json").faults[0].endswith("expected the field 'response'")
    (tmp_path / "metadata.json").write_text("{}")
    with pytest.raises(RequestError, match="lacks 'dataset'"):
        load(tmp_path / "metadata.json", "inference")


def test_a_path_that_no_file_system_takes_leads_nowhere(tmp_path: Path) -> None:
    """Too long for a name, or beneath a file."""
    (tmp_path / "file").touch()
    for text in ("x" * 300, "file/x", "file/" + "x" * 300, "x" * 5000):
        with pytest.raises(RequestError, match="testenv: there is no"):
            found_path(text, tmp_path, "testenv")


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("algorithm_no-inference.yaml", '"fwt_splitting"', '"default"', "the mode 'no-inference' of testenv_no-inference.yaml needs 'fwt_splitting'"),
        ("testenv_no-inference.yaml", '"no-inference"', '"hard-example-mining"', "needs 'hard-example_splitting'"),
        ("testenv_no-inference.yaml", ', url: "./toy_metrics.py"}\n    threshold', "}\n    threshold", "with a name and a url"),
        ("testenv_no-inference.yaml", 'name: "accuracy", url: "./toy_metrics.py"}\n    threshold', 'url: "./toy_metrics.py"}\n    threshold', "with a name and a url"),
        ("testenv_no-inference.yaml", '"no-inference"', '"multi-inference"', "did you mean 'no-inference'?"),
    ],
)  # fmt: skip
def test_what_lifelong_learning_lacks_is_said_before_it_learns(
    file: str, old: str, new: str, message: str, folder: Path
) -> None:
    assert read_job(Path("job_no-inference.yaml")).cases
    edit(file, old, new)
    with pytest.raises(RequestError) as caught:
        read_job(Path("job_no-inference.yaml"))
    assert message in str(caught.value)
