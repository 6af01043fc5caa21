"""Read an Ianvs job from its three YAML files, check it, and multiply it out into cases.

`benchmarkingjob.yaml` names a test environment and algorithms; an algorithm's cases are the product of the values of
its modules' hyperparameters. Nothing of the job is run here, and none of its modules is loaded.

Better than in Ianvs: an unread key is reported with the one that was probably meant; a path is looked for from the
working directory and from the folder of the file that names it; what is missing is reported before hours of work, not
after.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal

from hearth.errors import RequestError
from hearth_bench.ianvs.job_data import SPLITS, FileFacts, file_kind, look_at
from hearth_bench.ianvs.job_files import (
    AlgorithmFile,
    DatasetKeys,
    EnvFile,
    JobFile,
    MetricEntry,
    Mining,
    ModuleEntry,
    PackageEntry,
    Rank,
    Reader,
)

Paradigm = Literal["singletasklearning", "jointinference", "lifelonglearning", "incrementallearning"]
PARADIGMS: tuple[Paradigm, ...] = ("singletasklearning", "jointinference", "lifelonglearning", "incrementallearning")
ELSEWHERE = ("multiedgeinference", "federatedlearning", "federatedclassincrementallearning")
"""Ianvs' other paradigms, which Hearth does not run."""
MODULE_TYPES = (
    "basemodel", "edgemodel", "cloudmodel", "dataset_processor", "hard_example_mining", "task_definition",
    "task_relationship_discovery", "task_allocation", "task_remodeling", "inference_integrate", "task_update_decision",
    "unseen_task_allocation", "unseen_sample_recognition", "unseen_sample_re_recognition", "aggregation",
)  # fmt: skip
NEEDED: Mapping[str, tuple[str, ...]] = {
    "singletasklearning": ("basemodel",),
    "lifelonglearning": ("basemodel",),
    "incrementallearning": ("basemodel",),
    "jointinference": ("edgemodel", "cloudmodel", "hard_example_mining"),
}
OWN_METRICS = (
    "samples_transfer_ratio",
    "FWT",
    "BWT",
    "MATRIX",
    "task_avg_acc",
    "ACC",
    "BWT_std",
    "FWT_std",
    "forgetting",
    "latency_p50_ms",
    "latency_p95_ms",
    "tokens",
    "cloud_calls",
    "bytes_out",
    "privacy_leak",
    "energy_j",
    "executed",
)
"""Metrics without a `url`: Ianvs' own, those of the literature under names that Ianvs does not use, and those of cost
and effect (`hearth_bench.scoring.system_metrics`)."""
_MAX_CASES = 10_000
_MAX_NAME = 200


# ── What is read ──────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Module:
    """A module of an algorithm with one choice of hyperparameters."""

    type: str
    name: str
    url: Path | None
    hyperparameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Named:
    """A metric or a package by name and file."""

    name: str
    url: Path | None


@dataclass(frozen=True, slots=True)
class Algorithm:
    """One algorithm with one choice of hyperparameters; `settings` holds the rest of its file."""

    name: str
    paradigm: Paradigm
    modules: tuple[Module, ...]
    packages: tuple[Named, ...]
    settings: Mapping[str, Any]

    @property
    def label(self) -> str:
        chosen = ", ".join(f"{k}={v}" for m in self.modules for k, v in m.hyperparameters.items())
        return f"{self.name}{f' ({chosen})' if chosen else ''}"


@dataclass(frozen=True, slots=True)
class TestEnv:
    """Data and metrics of a test environment; `settings` holds the rest of its file."""

    __test__ = False

    train: Path
    test: Path
    metrics: tuple[Named, ...]
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RankOptions:
    """Options for ranking and showing results."""

    sort_by: tuple[tuple[str, bool], ...]
    """Pairs of a metric and True if the lowest value comes first."""
    paradigms: tuple[str, ...]
    modules: tuple[str, ...]
    hyperparameters: tuple[str, ...]
    metrics: tuple[str, ...]
    saves_all: bool
    prints: bool


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it will run."""

    file: Path
    name: str
    workspace: Path
    """Folder of this job: the YAML's workspace and the job's name."""
    env: TestEnv
    cases: tuple[Algorithm, ...]
    rank: RankOptions
    warnings: tuple[str, ...]
    texts: Mapping[str, str]
    """Original texts of the YAML files, by path."""


def read_job(path: Path, workspace: Path | None = None) -> Job:
    """Read and check a job.

    Args:
        workspace: Workspace to use instead of the YAML's.
    Raises:
        RequestError: A file cannot be read or is not such a file; a key is missing or has a wrong type; a path does not
            exist. Names file and key.
    """
    reader = Reader()
    job, _ = reader.read(path, "benchmarkingjob", JobFile)
    near = path.absolute().parent
    if not job.test_object.algorithms:
        raise RequestError(f"{path}: benchmarkingjob.test_object.algorithms is empty; name one")
    for name in (job.name, *(entry.name for entry in job.test_object.algorithms)):
        if name in ("", ".", "..", "rank", "runs") or len(name) > _MAX_NAME or not name.isprintable() or "/" in name:
            raise RequestError(f"{path}: the name {name!r} cannot be a folder of the workspace; choose another")
    if job.simulation is not None:
        reader.warnings.append(f"{path}: benchmarkingjob.simulation is not read: nothing is simulated here")
    if job.rank.save_mode == "selected_and_all_and_picture":
        reader.warnings.append(f"{path}: no pictures are drawn (save_mode); all and selected results are saved")
    env_file = found_path(job.testenv, near, f"{path}: testenv")
    env = _env(reader, env_file, near, job.hard_example_mining_mode)
    cases: list[Algorithm] = []
    names = [entry.name for entry in job.test_object.algorithms]
    for name in sorted({n for n in names if names.count(n) > 1}):
        reader.warnings.append(f"{path}: two algorithms are named {name!r}; their rows will look alike")
    for entry in job.test_object.algorithms:
        file = found_path(entry.url, near, f"{path}: algorithm {entry.name!r}")
        cases += _algorithms(reader, file, near, entry.name)
        _check_lifelong(cases[-1], file, env, env_file)
        if len(cases) > _MAX_CASES:
            raise RequestError(f"{path}: over {_MAX_CASES:,} cases; list fewer values of hyperparameters")
    return Job(
        path, job.name, (workspace or Path(job.workspace).expanduser()) / job.name, env, tuple(cases),
        _rank(job.rank), tuple(dict.fromkeys(reader.warnings)), reader.texts,
    )  # fmt: skip


def found_path(text: str, near: Path, what: str, *also: Path) -> Path:
    """Find a path from the working directory, else from the folder of the file that names it.

    Raises:
        RequestError: It exists in neither.
    """
    given = Path(text).expanduser()
    places = [given, *([] if given.is_absolute() else [folder / given for folder in (near, *also)])]
    found = next((place for place in places if _is_there(place)), None)
    if found is not None:
        return found
    looked = [str(place.absolute()) for place in dict.fromkeys(places)]
    alike: list[str] = []
    for place in places:
        if _is_there(place.parent) and place.parent.is_dir():
            alike += difflib.get_close_matches(place.name, sorted(p.name for p in place.parent.iterdir()), 1)
    hint = f"; did you mean {alike[0]!r}?" if alike else "; put it there or change the path"
    raise RequestError(f"{what}: there is no {text!r}; looked for {' and '.join(map(repr, looked))}{hint}")


def _is_there(path: Path) -> bool:
    """Return whether a path exists, and False for one that the file system refuses (as too long)."""
    try:
        return path.exists()
    except OSError:
        return False


def _env(reader: Reader, path: Path, near: Path, mode_of_job: Mining | None) -> TestEnv:
    env, unread = reader.read(path, "testenv", EnvFile)
    if env.incremental_rounds < 2:
        raise RequestError(f"{path}: testenv.incremental_rounds is {env.incremental_rounds}; expected at least 2")
    if not env.metrics:
        raise RequestError(f"{path}: testenv.metrics is empty; name one")
    beside = path.absolute().parent
    train, test = (_data_file(env.dataset, side, path, near) for side in ("train", "test"))
    metrics = tuple(_named(m, beside, near, f"{path}: metric {m.name!r}") for m in env.metrics)
    for metric in metrics:
        if metric.url is None and metric.name not in OWN_METRICS:
            raise RequestError(
                f"{path}: the metric {metric.name!r} has no url and is none of our own ({', '.join(OWN_METRICS)})"
            )
    judge = env.model_eval.model_metric
    settings = {**unread, **{k: v for k, v in asdict(env).items() if k not in ("dataset", "metrics")}}
    if judge.url:
        file = found_path(judge.url, beside, f"{path}: model_metric", near)
        settings["model_eval"]["model_metric"]["url"] = str(file)
    if mode_of_job:
        settings["hard_example_mining_mode"] = env.hard_example_mining_mode or mode_of_job
        reader.warnings.append(
            f"hard_example_mining_mode stands in the job; Ianvs reads it from the testenv alone; "
            f"{settings['hard_example_mining_mode']!r} is taken"
        )
    return TestEnv(train, test, metrics, settings)


def _data_file(dataset: DatasetKeys, side: str, path: Path, near: Path) -> Path:
    """Find the data file of one side (train or test), by Ianvs' precedence of keys."""
    keys = [f"{side}_index", f"{side}_data", f"{side}_data_info"]
    key = next((k for k in keys if getattr(dataset, k)), None)
    if key is None:
        url = f" ({side}_url alone is not read, as in Ianvs)" if getattr(dataset, f"{side}_url") else ""
        raise RequestError(f"{path}: testenv.dataset has none of {', '.join(keys)}{url}; name a data file")
    file = found_path(getattr(dataset, key), path.absolute().parent, f"{path}: testenv.dataset.{key}", near)
    kind = file_kind(file)
    wanted = {"index": "txt", "data": "jsonl", "data_info": "metadata"}[key.removeprefix(f"{side}_")]
    if kind != wanted:
        expected = {"txt": "a .txt index", "jsonl": "a .jsonl file", "metadata": "a file called metadata.json"}[wanted]
        raise RequestError(f"{path}: testenv.dataset.{key} is {file.name!r}; expected {expected}")
    return file


def _named(entry: MetricEntry | PackageEntry, beside: Path, near: Path, what: str) -> Named:
    return Named(entry.name, found_path(entry.url, beside, what, near) if entry.url else None)


def _paradigm(path: Path, found: AlgorithmFile) -> Paradigm:
    paradigm = next((p for p in PARADIGMS if p == found.paradigm_type), None)
    if paradigm is None:
        what = "is not run here" if found.paradigm_type in ELSEWHERE else "is not known"
        near_ones = difflib.get_close_matches(found.paradigm_type, PARADIGMS, 1)
        hint = f"did you mean {near_ones[0]!r}?" if near_ones else f"known are {', '.join(PARADIGMS)}"
        raise RequestError(f"{path}: the paradigm {found.paradigm_type!r} {what}; {hint}")
    return paradigm


def _module_choices(reader: Reader, found: AlgorithmFile, path: Path, near: Path) -> list[tuple[str, list[Module]]]:
    """Return each module's type with the module once for each set of its hyperparameters."""
    choices: list[tuple[str, list[Module]]] = []
    for k, module in enumerate(found.modules):
        if module.type not in MODULE_TYPES:
            close = difflib.get_close_matches(module.type, MODULE_TYPES, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(MODULE_TYPES)}"
            raise RequestError(f"{path}: modules.{k}.type is {module.type!r}; {hint}")
        if module.type in [type for type, _ in choices]:
            reader.warnings.append(
                f"{path}: two modules are of type {module.type!r}; the last one is used, as in Ianvs"
            )
        what = f"{path}: module {module.name!r}"
        url = found_path(module.url, path.absolute().parent, what, near) if module.url else None
        sets = _hyperparameters(reader, module, path, near) if module.hyperparameters else [{}]
        choices.append((module.type, [Module(module.type, module.name, url, chosen) for chosen in sets]))
    return choices


def _algorithms(reader: Reader, path: Path, near: Path, name: str) -> Iterator[Algorithm]:
    """Read one algorithm file and yield each of its combinations of hyperparameters."""
    found, _ = reader.read(path, "algorithm", AlgorithmFile)
    beside = path.absolute().parent
    paradigm = _paradigm(path, found)
    if found.mode == "with_compression":
        raise RequestError(f"{path}: mode 'with_compression' is not run here; compress the model beforehand")
    for setting in (found.incremental_learning_data_setting, found.lifelong_learning_data_setting):
        if not 0 < setting.train_ratio < 1:
            raise RequestError(f"{path}: the train_ratio is {setting.train_ratio:g}; expected between 0 and 1")
        if setting.splitting_method not in SPLITS:
            raise RequestError(
                f"{path}: the splitting_method {setting.splitting_method!r} is not known; known are {', '.join(SPLITS)}"
            )
    choices = _module_choices(reader, found, path, near)
    lacking = [type for type in NEEDED[paradigm] if type not in dict(choices)]
    if lacking:
        has = ", ".join(dict(choices))
        raise RequestError(f"{path}: {paradigm} needs a module of type {lacking[0]!r}; has {has}")
    packages = tuple(_named(p, beside, near, f"{path}: package {p.name!r}") for p in found.third_party_packages)
    kept = ("initial_model_url", "incremental_learning_data_setting", "lifelong_learning_data_setting", "mode")
    settings = {key: value for key, value in asdict(found).items() if key in kept}
    for chosen in product(*(modules for _, modules in choices)):
        yield Algorithm(name, paradigm, tuple({m.type: m for m in chosen}.values()), packages, settings)


_SPLITTING: Mapping[str, str] = {"no-inference": "fwt_splitting", "hard-example-mining": "hard-example_splitting"}
"""Splitting method that each mode of lifelong learning needs: one with an extra part at the start."""


def _check_lifelong(case: Algorithm, path: Path, env: TestEnv, env_file: Path) -> None:
    """Check what lifelong learning needs of both files together; Ianvs fails on it during the run. Raises:
    RequestError."""
    if case.paradigm != "lifelonglearning":
        return
    judge = env.settings["model_eval"]["model_metric"]
    if not (judge["name"] and judge["url"]):
        raise RequestError(f"{env_file}: lifelong learning needs testenv.model_eval.model_metric with a name and a url")
    mode, method = judge["mode"] or "", case.settings["lifelong_learning_data_setting"]["splitting_method"]
    if mode and method != _SPLITTING[mode]:
        needs = f"the mode {mode!r} of {env_file.name} needs {_SPLITTING[mode]!r}"
        raise RequestError(f"{path}: the splitting_method is {method!r}; {needs}")


def _hyperparameters(reader: Reader, module: ModuleEntry, path: Path, near: Path) -> list[dict[str, Any]]:
    """Return all combinations of a module's hyperparameters, layered over those of `other_hyperparameters` files."""
    shared: dict[str, Any] = {}
    lists: dict[str, list[Any]] = {}
    for k, entry in enumerate(module.hyperparameters):
        if len(entry) != 1:
            raise RequestError(
                f"{path}: hyperparameters.{k} of {module.name!r} has the keys {', '.join(map(repr, entry))}; "
                "expected one name with its values a list item"
            )
        ((name, given),) = entry.items()
        if name != "other_hyperparameters":
            lists[name] = given.values
            continue
        for text in given.values:
            file = found_path(str(text), path.absolute().parent, f"{path}: other_hyperparameters", near)
            shared |= reader.mapping(file)
    return [{**shared, **dict(zip(lists, values))} for values in product(*lists.values())]


def _rank(rank: Rank) -> RankOptions:
    chosen = rank.selected_dataitem
    return RankOptions(
        sort_by=tuple((name, way == "ascend") for entry in rank.sort_by for name, way in list(entry.items())[:1]),
        paradigms=tuple(chosen.paradigms),
        modules=tuple(chosen.modules),
        hyperparameters=tuple(chosen.hyperparameters),
        metrics=tuple(chosen.metrics),
        saves_all=rank.save_mode != "selected_only",
        prints=rank.visualization.mode == "selected_only",
    )


# ── What a run adds ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Checked:
    """Result of checking every file that a job names, before any of it runs."""

    data: Mapping[str, FileFacts]
    hashes: Mapping[str, str]
    """Hashes of data, modules and metrics, by path."""
    faults: tuple[str, ...]


def check_files(job: Job) -> Checked:
    """Read all data once, and check that every Python file compiles.

    Raises:
        RequestError: A file cannot be read, holds no sample, or is not Python.
    """
    data = {str(path): look_at(path) for path in dict.fromkeys((job.env.train, job.env.test))}
    hashes = {path: facts.sha256 for path, facts in data.items()}
    for path in dict.fromkeys(_code_files(job)):
        file = path / "__init__.py" if path.is_dir() else path
        try:
            code = file.read_bytes()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # an invalid escape sequence is no fault here
                compile(code, str(file), "exec", dont_inherit=True)
        except OSError as error:
            raise RequestError(f"cannot read {str(file)!r}: {error.strerror}") from None
        except (SyntaxError, ValueError) as error:
            raise RequestError(f"{file}:{getattr(error, 'lineno', None) or 1}: not Python: {error}") from None
        hashes[str(path)] = hashlib.sha256(code).hexdigest()
    return Checked(data, hashes, tuple(fault for facts in data.values() for fault in facts.faults))


def _code_files(job: Job) -> Iterator[Path]:
    urls: list[Path | None] = [metric.url for metric in job.env.metrics]
    for case in job.cases:
        urls += [part.url for part in case.packages]
        urls += [part.url for part in case.modules]
    judge = job.env.settings["model_eval"]["model_metric"]["url"]
    yield from (url for url in (*urls, Path(judge) if judge else None) if url is not None)


def case_document(job: Job, case: Algorithm, checked: Checked, seed: int) -> dict[str, Any]:
    """Return everything that one case is run from, as JSON; `fingerprint` changes only if any of it changes."""
    document: dict[str, Any] = {
        "algorithm": case.name,
        "paradigm": case.paradigm,
        "modules": [
            {"type": m.type, "name": m.name, "url": str(m.url or ""), "hyperparameters": dict(m.hyperparameters)}
            for m in case.modules
        ],
        "packages": [{"name": p.name, "url": str(p.url)} for p in case.packages],
        "settings": {**case.settings},
        "train": str(job.env.train),
        "test": str(job.env.test),
        "metrics": [{"name": m.name, "url": str(m.url or "")} for m in job.env.metrics],
        "testenv": {**job.env.settings},
        "seed": seed,
    }
    named = {"hashes": dict(sorted(checked.hashes.items()))}
    text = json.dumps({**document, **named}, sort_keys=True, ensure_ascii=False)
    return {**document, **named, "fingerprint": hashlib.sha256(text.encode()).hexdigest()}
