"""Run a case by Ianvs' paradigms: the same calls of its modules, in the same order, with the same settings.

Checked against Ianvs at commit 1d3da5b with the jobs in `tests/data/ianvs`. Deviations are noted in place.
"""

from __future__ import annotations

import copy
import importlib
import json
import operator
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import Any

from hearth.errors import RequestError
from hearth_bench.ianvs.case_outcome import Report
from hearth_bench.ianvs.ianvs_modules import PARADIGM_BASE, ClassType, LifelongLearning, registered
from hearth_bench.ianvs.job_data import Pair, split_rounds, with_absolute_paths
from hearth_bench.ianvs.samples import BaseDataSource, as_array, load

Metric = Callable[..., Any]
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    ">": operator.gt, "<": operator.lt, "=": operator.eq, ">=": operator.ge, "<=": operator.le,
}  # fmt: skip
_JOB_METHODS = ("train", "evaluate", "my_evaluate", "my_inference", "inference_2")


@dataclass(slots=True)
class Setting:
    """Inputs of a paradigm's run."""

    folder: Path
    """Folder of the case, `<workspace>/<job>/<algorithm>/<id>`."""
    train: Path
    test: Path
    modules: Mapping[str, Any]
    """Modules by type: instances, or `{"method", "param"}` for one that is built by name."""
    options: Mapping[str, Any]
    """Options of the test environment and of the algorithm."""
    model_metric: Metric | None
    report: Report
    sample_ms: list[float] = field(default_factory=list)
    """Milliseconds of each sample, if the paradigm processes them one at a time."""

    def index(self, path: Path) -> Path:
        """Return a data file as the paradigm reads it."""
        return with_absolute_paths(path, self.folder / "dataset") if path.suffix == ".txt" else path

    def made(self, *parts: str) -> str:
        """Make a folder of the case and return its path."""
        folder = self.folder.joinpath(*parts)
        folder.mkdir(parents=True, exist_ok=True)
        return str(folder)

    def split(self, key: str, names: tuple[str, str]) -> list[Pair]:
        """Split the training data into rounds."""
        setting = self.options[key]
        return split_rounds(
            self.index(self.train),
            self.folder / "dataset",
            method=setting["splitting_method"],
            ratio=setting["train_ratio"],
            n_rounds=self.options["incremental_rounds"],
            names=names,
        )


@dataclass(frozen=True, slots=True)
class Result:
    """Predictions and system record that a paradigm hands to the metrics."""

    predictions: Any
    system: Mapping[str, Any] = field(default_factory=dict)


def run_paradigm(name: str, setting: Setting) -> Result:
    """Run one case. Raises: Exception: Whatever a module raises."""
    os.environ["LOCAL_TEST"] = "TRUE"
    runs: Mapping[str, Callable[[Setting], Result]] = {
        "singletasklearning": _single_task,
        "jointinference": _joint_inference,
        "lifelonglearning": _lifelong,
        "incrementallearning": _incremental,
    }
    return runs[name](setting)


# ── One task ──────────────────────────────────────────────────────────────────────────────────────────────


def _single_task(setting: Setting) -> Result:
    model = setting.modules["basemodel"]
    if setting.options.get("use_gpu"):
        os.environ["CUDA_VISIBLE_DEVICES"] = "0"
    setting.report("preprocess", 0)
    if model.preprocess() is not None:  # Ianvs calls it a second time in this case
        model.preprocess()
    initial = str(setting.options.get("initial_model_url") or "")
    os.environ["BASE_MODEL_URL"] = initial
    setting.report("train", 0.05)
    model.train(load(setting.index(setting.train), "train"))
    setting.report("save", 0.5)
    saved = model.save(str(setting.folder / "output" / "train") + "/")
    data = load(setting.index(setting.test), "inference")
    os.environ["RESULT_SAVED_URL"] = str(setting.folder / "output" / "inference") + "/"
    setting.report("load", 0.55)
    model.load(initial if saved is None else saved)
    setting.report("predict", 0.6)
    return Result(model.predict(data if hasattr(data, "need_other_info") else data.x))


# ── Edge and cloud together ───────────────────────────────────────────────────────────────────────────────


def _joint_inference(setting: Setting) -> Result:
    edge, cloud = setting.modules["edgemodel"], setting.modules["cloudmodel"]
    os.environ["RESULT_SAVED_URL"] = str(setting.folder.parent)
    data: Any = load(setting.index(setting.test), "inference")
    processor = setting.modules.get("dataset_processor")
    if callable(processor):
        data = processor(data)
    mining = setting.modules["hard_example_mining"]
    given = dict(mining.get("param") or {})
    if mining["method"] == "OracleRouter":
        given |= {"edgemodel": edge, "cloudmodel": cloud}
    setting.report("load the edge model", 0)
    _load_edge(edge)
    is_hard = registered(ClassType.HEM, mining["method"], None)(**given)
    mode = setting.options.get("hard_example_mining_mode") or "mining-then-inference"
    results = []
    for k, sample in enumerate(data.x):
        setting.report("infer", k / max(len(data.x), 1))
        started = time.perf_counter()
        results.append(_infer_jointly(sample, edge, cloud, is_hard, mode))
        setting.sample_ms.append(1000 * (time.perf_counter() - started))
    for module in (*setting.modules.values(), is_hard):
        if hasattr(module, "cleanup"):
            module.cleanup()
    return Result(results)


def _load_edge(edge: Any) -> None:
    """Load the edge model as sedna does: `model_path` is a file or `organisation/name`, and is loaded only if it
    exists."""
    names = ("model_path", "MODEL_PATH", "MODEL_URL")
    path = next((os.environ[name] for name in names if os.environ.get(name)), "")
    if path and not os.path.exists(path) and not _HUB_NAME.fullmatch(path):
        raise RequestError(f"the edge model set model_path to {path!r}, which does not exist; set an existing path")
    if path and os.path.exists(path) and hasattr(edge, "load"):
        edge.load(model_url=path)


def _infer_jointly(sample: Any, edge: Any, cloud: Any, is_hard: Callable[[Any], Any], mode: str) -> Any:
    """Return `[is hard, result, edge's result, cloud's result]`."""
    told = {"mining_mode": mode} if _takes_anything(edge.predict) else {}
    if mode == "self-design":
        return edge.predict(sample, **told)
    edge_result = edge.predict(sample, **told) if mode == "inference-then-mining" else None
    hard = is_hard(copy.deepcopy(edge_result) if mode == "inference-then-mining" else sample)
    if hard:
        cloud_result = cloud.inference(sample, post_process=None, mining_mode=mode)
        return [hard, copy.deepcopy(cloud_result), edge_result, cloud_result]
    if mode == "mining-then-inference":
        edge_result = edge.predict(sample, **told)
    return [hard, copy.deepcopy(edge_result), edge_result, None]


def _takes_anything(function: Callable[..., Any]) -> bool:
    """Return whether sedna would pass the mode: only to a method with `**kwargs` of that very name, or
    `mining_mode`."""
    parameters = signature(function).parameters
    return "mining_mode" in parameters or any(
        p.kind == p.VAR_KEYWORD and p.name == "kwargs" for p in parameters.values()
    )


# ── Learning for life ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class _Lifelong:
    """State of the lifelong flow. As in Ianvs, a job is built for every call, around the one base model."""

    setting: Setting
    cloud_index: str = "/tmp/cloud_task/index.pkl"  # noqa: S108 — Ianvs' first value, never read as a path here
    edge_index: str = "/tmp/edge_task/index.pkl"  # noqa: S108
    matrix: dict[str, list[list[Any]]] = field(default_factory=dict)
    transfers: list[tuple[Any, Any]] = field(default_factory=list)

    def job(self) -> Any:
        m = self.setting.modules
        base = importlib.import_module(PARADIGM_BASE)
        made = getattr(base, "LifelongLearning", None)
        # Sedna's own class lacks what Ianvs calls (sedna's issues 461, 470); a plug-in's class has it.
        if made is None or not all(hasattr(made, method) for method in _JOB_METHODS):
            made = LifelongLearning
        names = (
            "task_definition", "task_relationship_discovery", "task_allocation", "task_remodeling",
            "inference_integrate", "task_update_decision", "unseen_task_allocation", "unseen_sample_recognition",
            "unseen_sample_re_recognition",
        )  # fmt: skip
        others = {name: m.get(name) for name in names}
        return made(seen_estimator=m["basemodel"], unseen_estimator=None, **others)

    def train(self, data: Path | BaseDataSource, round: int) -> None:
        os.environ["CLOUD_KB_INDEX"] = self.cloud_index
        os.environ["OUTPUT_URL"] = self.setting.made("output", "train", str(round))
        os.environ["HAS_COMPLETED_INITIAL_TRAINING"] = "False" if round < 1 else "True"
        if isinstance(data, Path):
            data = load(data, "train", is_lifelong=True)
        self.cloud_index = self.job().train(data)

    def judge(self, path: Path, round: int | str) -> Any:
        """Set up for judging, and return a job and the data to judge it on."""
        judged = self.setting.options["model_eval"]
        os.environ["OUTPUT_URL"] = self.setting.made("output", "eval", str(round))
        os.environ |= {"model_threshold": str(judged["threshold"]), "operator": judged["operator"]}
        os.environ["MODEL_URLS"] = f"{self.cloud_index}"
        return self.job(), load(path, "eval", is_lifelong=True)

    def evaluate(self, path: Path, round: int) -> None:
        job, data = self.judge(path, round)
        self.edge_index = job.evaluate(data, metrics=self.setting.model_metric)

    def my_evaluate(self, path: Path, round: int | str) -> tuple[dict[str, dict[str, float]], float]:
        """Return the scores by task, with `all` for the whole, and the mean accuracy over tasks."""
        job, data = self.judge(path, round)
        self.edge_index, tasks, scores = job.my_evaluate(data, metrics=self.setting.model_metric)
        if not tasks:
            raise RequestError("my_evaluate gave no tasks; expected at least one with .entry and .scores")
        by_task = {"all": scores, **{task.entry: task.scores for task in tasks}}
        return by_task, sum(task.scores["accuracy"] for task in tasks) / len(tasks)

    def judge_all(self, pairs: Sequence[Pair], round: int) -> None:
        """Add a row to the matrix: the scores on the judging parts of all rounds."""
        n = len(pairs) - 1
        row: dict[str, list[Any]] = {}
        for j in range(1, n + 1):
            by_task, mean = self.my_evaluate(pairs[j][1], round)
            for entry, scores in {**by_task, "task_avg": {"accuracy": mean}}.items():
                row.setdefault(entry, [""] * n)[j - 1] = scores
        for entry, scored in row.items():
            self.matrix.setdefault(entry, []).append(scored)

    def infer(self, index: str, path: Path, tag: int | str) -> tuple[list[Any], BaseDataSource]:
        """Predict all samples one by one, and return the predictions and the unseen samples with their labels."""
        folder = self.setting.made("output", "inference", "results", str(tag))
        kept = self.setting.made("output", "inference", "unseen_task_samples", str(tag))
        os.environ["INFERENCE_RESULT_DIR"] = os.environ["OUTPUT_URL"] = folder
        os.environ["MODEL_URLS"] = f"{index}"
        data = load(path, "eval", is_lifelong=True)
        mode = self.setting.options["model_eval"]["model_metric"].get("mode")
        told = {} if mode is None else {"mode": mode}
        job = self.job()
        results: list[Any] = []
        unseen: list[int] = []
        for k in range(len(data.x)):
            one = BaseDataSource("test")
            one.x = data.x[k : k + 1]
            started = time.perf_counter()
            found, is_unseen, _ = job.inference_2(one, **told)
            self.setting.sample_ms.append(1000 * (time.perf_counter() - started))
            results.append(found)
            if is_unseen:
                unseen.append(k)
                _keep_files(data.x[k], kept)
        train = BaseDataSource("train")
        train.x, train.y = as_array([data.x[k] for k in unseen]), as_array([data.y[k] for k in unseen])
        return results, train

    def learn_unseen(self, index: str, path: Path, round: int) -> bool:
        """Infer a round's samples and learn the unseen ones; return False when there were none."""
        results, unseen = self.infer(index, path, round)
        self.transfers.append((results, unseen.x))
        if not len(unseen.x):
            return False
        self.train(unseen, round)
        return True


def _lifelong(setting: Setting) -> Result:
    flow = _Lifelong(setting)
    pairs = setting.split("lifelong_learning_data_setting", ("model_train", "model_eval"))
    n = setting.options["incremental_rounds"]
    mode = setting.options["model_eval"]["model_metric"].get("mode") or ""
    task_avg: dict[str, float] = {}
    if not mode:
        predictions = _lifelong_by_default(flow, pairs)
    else:
        for round in range(n + 1):
            setting.report(f"round {round} of {n}", round / (n + 2))
            if mode == "no-inference" or round == 0:
                flow.train(pairs[round][0], round)
                if mode != "no-inference":
                    flow.my_evaluate(pairs[0][1], 0)
            else:
                # Ianvs omits the row if nothing was unseen, and then cannot compute BWT. The model and its scores are
                # unchanged then, so the row is added here.
                flow.learn_unseen(flow.cloud_index, pairs[round][0], round)
            flow.judge_all(pairs, round)
        setting.report("test", (n + 1) / (n + 2))
        test = setting.index(setting.test)
        _, mean = flow.my_evaluate(test, n if mode == "no-inference" else n + 1)
        task_avg = {"accuracy": mean}
        if mode == "no-inference":
            predictions = flow.job().my_inference(load(test, "eval", is_lifelong=True))
        else:
            predictions, _ = flow.infer(flow.edge_index, test, "test")
    return Result(
        predictions, {"samples_transfer_ratio": flow.transfers, "MATRIX": flow.matrix, "task_avg_acc": task_avg}
    )


def _lifelong_by_default(flow: _Lifelong, pairs: Sequence[Pair]) -> list[Any]:
    for round, (learnt, judged) in enumerate(pairs[: flow.setting.options["incremental_rounds"]], 1):
        flow.setting.report(f"round {round} of {len(pairs)}", (round - 1) / (len(pairs) + 1))
        if round == 1:
            flow.train(learnt, round)
        elif not flow.learn_unseen(flow.edge_index, learnt, round):
            continue
        flow.evaluate(judged, round)
    flow.setting.report("test", len(pairs) / (len(pairs) + 1))
    return flow.infer(flow.edge_index, flow.setting.index(flow.setting.test), "test")[0]


def _keep_files(sample: Any, folder: str) -> None:
    """Copy the files that a sample names. Ianvs tests each letter of a text sample as a file; here it is one path."""
    for word in [sample] if isinstance(sample, str) else sample:
        if isinstance(word, str) and os.path.isfile(word):
            shutil.copy(word, folder)


# ── Learning hard examples ────────────────────────────────────────────────────────────────────────────────


def _incremental(setting: Setting) -> Result:
    flow = _Incremental(setting, str(setting.options.get("initial_model_url") or ""))
    pairs = setting.split("incremental_learning_data_setting", ("model_inference", "model_evaluation"))
    for round, (asked, judged) in enumerate(pairs, 1):
        setting.report(f"round {round} of {len(pairs)}", (round - 1) / (len(pairs) + 1))
        _, hard = flow.infer(asked, round)
        if not hard:
            continue
        new = flow.train(_hard_file(hard, asked, Path(setting.made("dataset")) / f"hard-{round}{asked.suffix}"), round)
        if flow.is_better(new, judged):
            flow.model = new
    setting.report("test", len(pairs) / (len(pairs) + 1))
    predictions, _ = flow.infer(setting.index(setting.test), "test")
    return Result(predictions, {"samples_transfer_ratio": flow.transfers})


@dataclass(slots=True)
class _Incremental:
    """State of the incremental flow: the model in use, as the place where it was saved."""

    setting: Setting
    model: str
    transfers: list[tuple[Any, Any]] = field(default_factory=list)

    def infer(self, path: Path, tag: int | str) -> tuple[Any, list[int]]:
        """Return the predictions and the rows of hard samples (Ianvs gathers the predictions in one mapping)."""
        kept = self.setting.made("output", "inference", "hard_examples", str(tag))
        os.environ["RESULT_SAVED_URL"] = self.setting.made("output", "inference", "results", str(tag))
        os.environ["MODEL_URL"] = self.model
        estimator = self.setting.modules["basemodel"]
        if self.model and hasattr(estimator, "load"):
            estimator.load(model_url=self.model)
        mining = self.setting.modules.get("hard_example_mining")
        is_hard = (
            registered(ClassType.HEM, mining["method"], None)(**(mining.get("param") or {}))
            if mining
            else lambda _: False
        )
        data = load(path, "inference")
        gathered: dict[Any, Any] = {}
        listed: list[Any] = []
        hard: list[int] = []
        for k, sample in enumerate(data.x):
            started = time.perf_counter()
            found = estimator.predict([sample])
            self.setting.sample_ms.append(1000 * (time.perf_counter() - started))
            if isinstance(found, Mapping):
                gathered.update(found)
            else:  # Ianvs accepts only mappings here
                listed.append(found[0] if isinstance(found, list) and len(found) == 1 else found)
            if is_hard(found):
                hard.append(k)
                _keep_files(sample, kept)
        results: Any = listed or gathered
        self.transfers.append((results, hard))
        return results, hard

    def train(self, path: Path, round: int) -> str:
        os.environ["MODEL_URL"] = self.setting.made("output", "train", str(round))
        os.environ["BASE_MODEL_URL"] = self.model
        estimator = self.setting.modules["basemodel"]
        estimator.train(train_data=load(path, "train"), valid_data=None)
        target = str(Path(os.environ["MODEL_URL"]) / "model.pkl")
        return str(estimator.save(target) or target)

    def is_better(self, new: str, path: Path) -> bool:
        """Return whether the new model's metric exceeds the old one's by the threshold."""
        judged = self.setting.options["model_eval"]
        name = judged["model_metric"]["name"]
        os.environ["MODEL_URLS"] = f"{new};{self.model}"
        scores = []
        for url in (new, self.model):
            found = self.setting.modules["basemodel"].evaluate(
                data=load(path, "eval"), model_path=url, metric=(name, self.setting.model_metric)
            )
            scores.append(found[name] if isinstance(found, Mapping) else found)
        return bool(_OPERATORS[judged["operator"]](scores[0] - scores[1], judged["threshold"]))


def _hard_file(rows: Sequence[int], path: Path, target: Path) -> Path:
    """Write the hard samples with their labels to a file of the same form."""
    data = load(path, "train label")
    pairs = [(data.x[k], data.y[k]) for k in rows]
    if path.suffix == ".jsonl":
        lines = [json.dumps({"question": _item(x), "answer": _item(y)}, ensure_ascii=False) for x, y in pairs]
    else:
        lines = [f"{x} {y}" for x, y in pairs]
    target.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return target


def _item(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value
