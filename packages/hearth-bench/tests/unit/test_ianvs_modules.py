"""Algorithm files: loaded by path, with stand-ins for what is not installed; and how paradigms call them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hearth.errors import RegistryError
from hearth_bench.ianvs.cases.job_case import run_case
from hearth_bench.ianvs.ianvs_modules import ClassType, Modules, registered, stand_ins

REGISTER = "from sedna.common.class_factory import ClassFactory, ClassType\n@ClassFactory.register(ClassType.GENERAL, alias={!r})\n"


@pytest.fixture
def modules() -> Iterator[Modules]:
    with stand_ins():
        yield Modules()


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# ── Loading ───────────────────────────────────────────────────────────────────────────────────────────────


def test_files_of_one_name_do_not_collide(tmp_path: Path, modules: Modules) -> None:
    files = [
        write(
            tmp_path / name / "basemodel.py",
            "import helper\n" + REGISTER.format("Model") + f"class {name}: of = helper.OF\n",
        )
        for name in ("One", "Two")
    ]
    for name in ("One", "Two"):
        write(tmp_path / name / "helper.py", f"OF = {name!r}\n")
    for file in files:
        modules.load(file)
    assert [registered(ClassType.GENERAL, "Model", file).of for file in files] == ["One", "Two"]
    assert registered(ClassType.GENERAL, "Model", None).of == "Two"


def test_a_file_may_be_named_like_an_installed_module(tmp_path: Path, modules: Modules) -> None:
    before = sys.modules["json"]
    file = write(tmp_path / "json.py", REGISTER.format("score") + "def score(y, p): return 1\n")
    other = write(tmp_path / "other.py", "import json\nTEXT = json.dumps([1])\n")
    assert modules.load(file).score(0, 0) == 1
    assert modules.load(other).TEXT == "[1]"
    assert sys.modules["json"] is before


def test_files_of_one_folder_share_their_state(tmp_path: Path, modules: Modules) -> None:
    write(tmp_path / "shared.py", "CALLS = []\n")
    one = modules.load(write(tmp_path / "one.py", "from shared import CALLS\nCALLS.append(1)\n"))
    two = modules.load(write(tmp_path / "two.py", "from shared import CALLS\nimport one\nCALLS.append(2)\n"))
    assert one.CALLS is two.CALLS == [1, 2]
    assert modules.load(tmp_path / "one.py") is one


def test_a_package_is_loaded_by_its_folder(tmp_path: Path, modules: Modules) -> None:
    write(tmp_path / "pack" / "__init__.py", "from .inner import made\n")
    write(tmp_path / "pack" / "inner.py", REGISTER.format("made") + "def made(): return 3\n")
    modules.load(tmp_path / "pack")
    assert registered(ClassType.GENERAL, "made", tmp_path / "pack")() == 3


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    before = set(sys.modules)
    with stand_ins():
        Modules().load(write(tmp_path / "left_over.py", REGISTER.format("x") + "class X: pass\n"))
        assert "left_over" in sys.modules
    assert not [name for name in set(sys.modules) - before if name.startswith(("sedna", "core", "left"))]
    with stand_ins(), pytest.raises(RegistryError, match=r"there is no built-in general 'x'; registered are none"):
        registered(ClassType.GENERAL, "x", None)


def test_what_no_stand_in_is_for_is_said(tmp_path: Path, modules: Modules) -> None:
    file = write(tmp_path / "deep.py", "from sedna.service.server import AggregationServer\n")
    with pytest.raises(ModuleNotFoundError, match=r"'sedna.service' is not installed, and Hearth stands in for these"):
        modules.load(file)


def test_stand_ins_answer_as_algorithm_files_expect(
    tmp_path: Path, modules: Modules, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LR", "3")
    text = (
        "from sedna.common.config import BaseConfig, Context\nfrom sedna.common.file_ops import FileOps\n"
        "from sedna.datasources import BaseDataSource\nfrom sedna.algorithms.seen_task_learning.artifact import Task\n"
        "from core.common.log import LOGGER\nLOGGER.info('x')\n"
        "LR = Context.get_parameters('lr', 1), Context.get_parameters('none', 1), BaseConfig().model_url\n"
        f"KEPT = FileOps.load(FileOps.dump([1], FileOps.join_path({str(tmp_path)!r}, 'a', 'b.pkl')))\n"
        f"FileOps.clean_folder([{str(tmp_path / 'a')!r}])\nTASK = Task('all').entry\n"
    )
    found = modules.load(write(tmp_path / "asks.py", text))
    assert (found.LR, found.KEPT, found.TASK, list((tmp_path / "a").iterdir())) == (("3", 1, None), [1], "all", [])


# ── Paradigms ─────────────────────────────────────────────────────────────────────────────────────────────


def case(folder: Path, paradigm: str, code: str, modules: list[dict[str, Any]], **more: Any) -> Path:
    """A case's folder, with everything it is run from."""
    file = write(
        folder / "given.py", "import os\nfrom sedna.common.class_factory import ClassFactory, ClassType\n" + code
    )
    for name, numbers in (("train.jsonl", range(20)), ("test.jsonl", range(20, 24))):
        (folder / name).write_text("".join(json.dumps({"question": f"q {k}", "answer": k % 2}) + "\n" for k in numbers))
    judge = {"mode": None, "name": "accuracy", "url": str(file)}
    document = {
        "algorithm": "a", "paradigm": paradigm, "packages": [], "seed": 0, "train": str(folder / "train.jsonl"),
        "test": str(folder / "test.jsonl"), "metrics": [{"name": "n", "url": str(file)}],
        "modules": [{"url": str(file), "hyperparameters": {}, **m} for m in modules],
        "settings": {"initial_model_url": "", "incremental_learning_data_setting": {"train_ratio": 0.8, "splitting_method": "default"},
                     "lifelong_learning_data_setting": {"train_ratio": 0.8, "splitting_method": "default"}},
        "testenv": {"incremental_rounds": 2, "model_eval": {"model_metric": judge, "threshold": 0.0, "operator": ">"}, **more},
    }  # fmt: skip
    (folder / "case.json").write_text(json.dumps(document))
    return folder


COUNT = "@ClassFactory.register(ClassType.GENERAL, alias='n')\ndef n(y, p): return len(p)\n"
INCREMENTAL = (
    COUNT
    + """
CALLS = []
@ClassFactory.register(ClassType.GENERAL, alias='M')
class M:
    def load(self, model_url=None): CALLS.append(('load', os.path.basename(model_url)))
    def predict(self, x): CALLS.append(('predict', len(x))); return [int(str(x[0]).split()[1])]
    def train(self, train_data, valid_data=None): CALLS.append(('train', train_data.x.tolist(), train_data.y.tolist()))
    def save(self, path): CALLS.append(('save', os.path.basename(path))); return path
    def evaluate(self, data, model_path, metric):
        CALLS.append(('evaluate', os.path.basename(model_path), metric[0], os.environ['MODEL_URLS'].count(';')))
        return {metric[0]: 1.0 if model_path else 0.0}
@ClassFactory.register(ClassType.GENERAL, alias='accuracy')
def accuracy(y, p): return 0
@ClassFactory.register(ClassType.HEM, alias='Odd')
class Odd:
    def __call__(self, found): return found[0] % 4 == 1
@ClassFactory.register(ClassType.GENERAL, alias='calls')
def calls(y, p): return CALLS
"""
)


def test_incremental_learning_learns_what_is_hard_and_keeps_what_is_better(tmp_path: Path) -> None:
    modules = [{"type": "basemodel", "name": "M"}, {"type": "hard_example_mining", "name": "Odd"}]
    folder = case(tmp_path, "incrementallearning", INCREMENTAL, modules)
    document = json.loads((folder / "case.json").read_text())
    document["metrics"] += [
        {"name": "calls", "url": document["metrics"][0]["url"]},
        {"name": "samples_transfer_ratio", "url": ""},
    ]
    (folder / "case.json").write_text(json.dumps(document))
    outcome = run_case(folder)
    assert (outcome.status, outcome.metrics["n"], outcome.faults) == ("done", 4, [])
    calls = [tuple(call) for call in outcome.metrics["calls"]]
    learnt = [call for call in calls if call[0] == "train"]
    assert learnt == [("train", ["q 1", "q 5"], [1, 1]), ("train", ["q 13", "q 17"], [1, 1])]
    assert [call[1] for call in calls if call[0] == "evaluate"] == ["model.pkl", "", "model.pkl", "model.pkl"]
    assert ("load", "model.pkl") in calls
    assert outcome.metrics["samples_transfer_ratio"] == round(5 / 21, 4)
    assert "sample_p50_ms" in outcome.cost
    lines = [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
    assert [line["prediction"] for line in lines] == [20, 21, 22, 23]
    assert all(line["ms"] >= 0 for line in lines)


JOINT = (
    COUNT
    + """
@ClassFactory.register(ClassType.GENERAL, alias='E')
class E:
    def predict(self, x): return ['edge']
@ClassFactory.register(ClassType.GENERAL, alias='C')
class C:
    def inference(self, x, post_process, mining_mode): return mining_mode
@ClassFactory.register(ClassType.GENERAL, alias='accuracy')
def accuracy(y, p): return 0
@ClassFactory.register(ClassType.HEM, alias='OracleRouter')
class R:
    def __init__(self, edgemodel, cloudmodel): assert edgemodel.predict(0) == ['edge']
    def __call__(self, x): self.seen = x; return x == ['edge'] or str(x).endswith('1')
@ClassFactory.register(ClassType.GENERAL, alias='first')
def first(y, p): return [r[1] for r in p]
"""
)


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        ("inference-then-mining", ["inference-then-mining"] * 4),
        ("mining-then-inference", [["edge"], "mining-then-inference", ["edge"], ["edge"]]),
    ],
)
def test_joint_inference_routes_before_or_after_the_edge(mode: str, wanted: list[Any], tmp_path: Path) -> None:
    modules = [
        {"type": "edgemodel", "name": "E"},
        {"type": "cloudmodel", "name": "C"},
        {"type": "hard_example_mining", "name": "OracleRouter"},
    ]
    folder = case(tmp_path, "jointinference", JOINT, modules, hard_example_mining_mode=mode)
    document = json.loads((folder / "case.json").read_text())
    document["metrics"].append({"name": "first", "url": document["metrics"][0]["url"]})
    (folder / "case.json").write_text(json.dumps(document))
    outcome = run_case(folder)
    assert (outcome.status, outcome.error) == ("done", "")
    assert outcome.metrics["first"] == wanted


def test_an_edge_model_that_is_nowhere_is_said(tmp_path: Path) -> None:
    code = JOINT.replace("class E:\n", "class E:\n    def __init__(self): os.environ['model_path'] = '/no/where'\n")
    modules = [
        {"type": "edgemodel", "name": "E"},
        {"type": "cloudmodel", "name": "C"},
        {"type": "hard_example_mining", "name": "OracleRouter"},
    ]
    outcome = run_case(case(tmp_path, "jointinference", code, modules))
    assert outcome.status == "failed"
    assert outcome.error == "the edge model set model_path to '/no/where', which does not exist; set an existing path"
    assert "model_path" not in os.environ


LIFELONG = (
    COUNT
    + """
@ClassFactory.register(ClassType.GENERAL, alias='M')
class M:
    def __init__(self): self.n = 0
    def train(self, data): self.n += len(data.x)
    def save(self, path): return None
    def predict(self, x): return [self.n] * len(x)
@ClassFactory.register(ClassType.GENERAL, alias='accuracy')
def accuracy(y, p): return p[0] / 100
@ClassFactory.register(ClassType.UTD, alias='Unseen')
class Unseen:
    def __call__(self, data, **kwargs): return None, [x for x in data.x if str(x).endswith('5')]
"""
)


def test_without_a_plug_in_the_base_model_learns_round_by_round(tmp_path: Path) -> None:
    folder = case(tmp_path, "lifelonglearning", LIFELONG, [{"type": "basemodel", "name": "M"}])
    document = json.loads((folder / "case.json").read_text())
    document["testenv"]["model_eval"]["model_metric"]["mode"] = "no-inference"
    document["settings"]["lifelong_learning_data_setting"]["splitting_method"] = "fwt_splitting"
    (folder / "case.json").write_text(json.dumps(document))
    outcome = run_case(folder)
    assert outcome.status == "done", outcome.error
    assert outcome.continual["untaught"] == [0.01, 0.01]
    assert outcome.continual["r_matrix"] == [[0.09, 0.09], [0.17, 0.17]]


def test_unseen_samples_are_learnt(tmp_path: Path) -> None:
    modules = [{"type": "basemodel", "name": "M"}, {"type": "unseen_sample_recognition", "name": "Unseen"}]
    outcome = run_case(case(tmp_path, "lifelonglearning", LIFELONG, modules))
    assert outcome.status == "done", outcome.error
    assert json.loads((tmp_path / "predictions.jsonl").read_text().splitlines()[0])["prediction"] == [9]
