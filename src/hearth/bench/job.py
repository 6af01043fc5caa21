"""An Ianvs job: its three YAML files, read, checked and multiplied out into cases.

`benchmarkingjob.yaml` names a test environment and algorithms; an algorithm's cases are the product of the values of
its modules' hyperparameters. Nothing of the job is run here, and nothing of its modules loaded.

Better than in Ianvs: a key that is not read is said, with the one that was meant; a path is looked for from where the
command runs and from beside the file that names it; what is missing is said before hours of work, not after.
"""

from __future__ import annotations

import ast
import datetime as dt
import difflib
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from hearth.bench.data_files import SPLITS, FileFacts, file_kind, look_at
from hearth.errors import RequestError

Paradigm = Literal["singletasklearning", "jointinference", "lifelonglearning", "incrementallearning"]
PARADIGMS: tuple[Paradigm, ...] = ("singletasklearning", "jointinference", "lifelonglearning", "incrementallearning")
ELSEWHERE = ("multiedgeinference", "federatedlearning", "federatedclassincrementallearning")
"""Ianvs' other paradigms, which are not run here."""
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
)
"""Without a `url`: Ianvs' own, then those of the literature under names that Ianvs does not use."""
_MAX_BYTES = 1_000_000
_MAX_NODES = 100_000
_MAX_CASES = 10_000


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
    """One algorithm with one choice of hyperparameters; what else its file says lies in `settings`."""

    name: str
    paradigm: Paradigm
    modules: tuple[Module, ...]
    packages: tuple[Named, ...]
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TestEnv:
    """Data and metrics; what else its file says lies in `settings`."""

    __test__ = False

    train: Path
    test: Path
    metrics: tuple[Named, ...]
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RankOptions:
    """How results are ranked and shown."""

    sort_by: tuple[tuple[str, bool], ...]
    """Metric, and whether the least comes first."""
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
    """Of this job: the YAML's workspace and the job's name."""
    env: TestEnv
    cases: tuple[Algorithm, ...]
    rank: RankOptions
    warnings: tuple[str, ...]
    texts: Mapping[str, str]
    """The YAML files as they were, by path."""


# ── The files' shape ──────────────────────────────────────────────────────────────────────────────────────

_Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^/\\\x00-\x1f]+$")]


class _Keys(BaseModel):
    model_config = ConfigDict(extra="allow", coerce_numbers_to_str=True)


class _AlgorithmEntry(_Keys):
    name: _Name
    url: str


class _TestObject(_Keys):
    type: Literal["algorithms"]
    algorithms: list[_AlgorithmEntry] = Field(min_length=1)


class _Visualization(_Keys):
    mode: str = "selected_only"
    method: str = "print_table"


class _Selected(_Keys):
    paradigms: list[str] = Field(default=["all"], min_length=1)
    modules: list[str] = Field(default=["all"], min_length=1)
    hyperparameters: list[str] = Field(default=["all"], min_length=1)
    metrics: list[str] = Field(default=["all"], min_length=1)


class _Rank(_Keys):
    sort_by: list[dict[str, str]] = Field(default_factory=list)
    visualization: _Visualization = Field(default_factory=_Visualization)
    selected_dataitem: _Selected = Field(default_factory=_Selected)
    save_mode: Literal["selected_and_all", "selected_only", "selected_and_all_and_picture"] = "selected_and_all"


class _Job(_Keys):
    name: _Name
    workspace: str = "./workspace"
    testenv: str
    test_object: _TestObject
    rank: _Rank = Field(default_factory=_Rank)
    simulation: Any = None


class _Dataset(_Keys):
    train_index: str = ""
    test_index: str = ""
    train_data: str = ""
    test_data: str = ""
    train_data_info: str = ""
    test_data_info: str = ""
    train_url: str = ""
    test_url: str = ""
    label: str = ""


class _Metric(_Keys):
    name: str
    url: str = ""


class _ModelMetric(_Keys):
    mode: Literal["", "no-inference", "hard-example-mining"] | None = None
    name: str = ""
    url: str = ""


class _ModelEval(_Keys):
    model_metric: _ModelMetric = Field(default_factory=_ModelMetric)
    threshold: float = 0.9
    operator: Literal[">", "<", "=", ">=", "<="] = ">"


class _TestEnv(_Keys):
    dataset: _Dataset
    metrics: list[_Metric] = Field(min_length=1)
    model_eval: _ModelEval = Field(default_factory=_ModelEval)
    incremental_rounds: int = Field(default=2, ge=2, strict=True)
    round: int = 1
    client_number: int = 1
    use_gpu: bool = False
    hard_example_mining_mode: Literal["mining-then-inference", "inference-then-mining", "self-design"] | None = None


class _Values(_Keys):
    values: list[Any] = Field(min_length=1)


class _Module(_Keys):
    type: str
    name: str
    url: str = ""
    hyperparameters: list[dict[str, _Values]] = Field(default_factory=list)


class _Package(_Keys):
    name: str
    url: str


class _Setting(_Keys):
    train_ratio: float = Field(default=0.8, gt=0, lt=1)
    splitting_method: str = "default"


class _Algorithm(_Keys):
    paradigm_type: str
    modules: list[_Module] = Field(min_length=1)
    third_party_packages: list[_Package] = Field(default_factory=list)
    initial_model_url: str = ""
    incremental_learning_data_setting: _Setting = Field(default_factory=_Setting)
    lifelong_learning_data_setting: _Setting = Field(default_factory=_Setting)
    fl_data_setting: Any = None
    mode: str = ""
    quantization_type: str = ""
    llama_quantize_path: str = ""


@dataclass(frozen=True, slots=True)
class _Reader:
    """What all parts of a job's files are read with."""

    warnings: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)

    def document(self, path: Path, root: str) -> Any:
        """What stands under the root key of a YAML file."""
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise RequestError(f"cannot read {str(path)!r}: {error.strerror}") from None
        if len(raw) > _MAX_BYTES:
            raise RequestError(f"{path}: {len(raw):,} bytes; expected a YAML file of at most {_MAX_BYTES:,}")
        try:
            text = raw.decode("utf-8-sig")
            loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
            document = _plain(yaml.load(text, Loader=loader), [_MAX_NODES])  # noqa: S506 — both are safe loaders
        except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
            raise RequestError(f"{path}: not YAML in UTF-8: {' '.join(str(error).split())}") from None
        self.texts[str(path)] = text
        if not isinstance(document, dict) or not isinstance(document.get(root), dict):
            has = ", ".join(map(repr, document)) if isinstance(document, dict) else type(document).__name__
            raise RequestError(f"{path}: has {has or 'nothing'}; expected one mapping {root!r}")
        return document[root]

    def read(self, path: Path, root: str, shape: type[_Keys]) -> Any:
        """The same, checked."""
        document = self.document(path, root)
        try:
            found = shape.model_validate(document)
        except ValidationError as error:
            raise RequestError(f"{path}: {_fault(error, root, document)}") from None
        if shape is not _TestEnv:  # any key of a test environment is handed on
            self._say_unread(found, f"{path}: {root}")
        else:
            self._say_unread(found, f"{path}: {root}", only_near=True)
        return found

    def _say_unread(self, found: _Keys, place: str, *, only_near: bool = False) -> None:
        known = list(type(found).model_fields)
        for key in found.model_extra or {}:
            near = difflib.get_close_matches(str(key), known, 1, 0.75)
            if near or not only_near:
                hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(known)}"
                self.warnings.append(f"{place}.{key} is not read{hint}")
        for name in known:
            value = getattr(found, name)
            for k, item in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(item, _Keys):
                    self._say_unread(item, f"{place}.{name}{f'.{k}' if isinstance(value, list) else ''}")


def read_job(path: Path, workspace: Path | None = None) -> Job:
    """Read and check a job.

    Args:
        workspace: Another one than the YAML's.
    Raises:
        RequestError: A file cannot be read or is not such a file; a key is missing or of a wrong type; a path leads
            nowhere. Names file and key.
    """
    reader = _Reader()
    job: _Job = reader.read(path, "benchmarkingjob", _Job)
    near = path.absolute().parent
    for name in (job.name, *(entry.name for entry in job.test_object.algorithms)):
        if name in (".", "..", "rank", "runs"):
            raise RequestError(f"{path}: the name {name!r} cannot be a folder of the workspace; choose another")
    if job.simulation is not None:
        reader.warnings.append(f"{path}: benchmarkingjob.simulation is not read: nothing is simulated here")
    if job.rank.save_mode == "selected_and_all_and_picture":
        reader.warnings.append(f"{path}: no pictures are drawn (save_mode); all and selected results are saved")
    env_file = found_path(job.testenv, near, f"{path}: testenv")
    env = _env(reader, env_file, near, str((job.model_extra or {}).get("hard_example_mining_mode") or ""))
    cases: list[Algorithm] = []
    names = [entry.name for entry in job.test_object.algorithms]
    for name in sorted({n for n in names if names.count(n) > 1}):
        reader.warnings.append(f"{path}: two algorithms are named {name!r}; their rows will look alike")
    for entry in job.test_object.algorithms:
        file = found_path(entry.url, near, f"{path}: algorithm {entry.name!r}")
        cases += _algorithms(reader, file, near, entry.name)
        if len(cases) > _MAX_CASES:
            raise RequestError(f"{path}: over {_MAX_CASES:,} cases; list fewer values of hyperparameters")
    return Job(
        path, job.name, (workspace or Path(job.workspace).expanduser()) / job.name, env, tuple(cases),
        _rank(job.rank), tuple(dict.fromkeys(reader.warnings)), reader.texts,
    )  # fmt: skip


def found_path(text: str, near: Path, what: str, *also: Path) -> Path:
    """Where a path leads from the working directory, else from beside the file that names it.

    Raises:
        RequestError: Nowhere.
    """
    given = Path(text).expanduser()
    places = [given, *([] if given.is_absolute() else [folder / given for folder in (near, *also)])]
    found = next((place for place in places if place.exists()), None)
    if found is not None:
        return found
    looked = [str(place.absolute()) for place in dict.fromkeys(places)]
    alike: list[str] = []
    for place in places:
        if place.parent.is_dir():
            alike += difflib.get_close_matches(place.name, sorted(p.name for p in place.parent.iterdir()), 1)
    hint = f"; did you mean {alike[0]!r}?" if alike else "; put it there or change the path"
    raise RequestError(f"{what}: there is no {text!r}; looked for {' and '.join(map(repr, looked))}{hint}")


def _env(reader: _Reader, path: Path, near: Path, mode_of_job: str) -> TestEnv:
    env: _TestEnv = reader.read(path, "testenv", _TestEnv)
    beside = path.absolute().parent
    train, test = (_data_file(env.dataset, side, path, near) for side in ("train", "test"))
    metrics = tuple(_named(m, beside, near, f"{path}: metric {m.name!r}") for m in env.metrics)
    for metric in metrics:
        if metric.url is None and metric.name not in OWN_METRICS:
            raise RequestError(
                f"{path}: the metric {metric.name!r} has no url and is none of our own ({', '.join(OWN_METRICS)})"
            )
    judge = env.model_eval.model_metric
    settings = {key: value for key, value in env.model_dump().items() if key not in ("dataset", "metrics")}
    if judge.url:
        file = found_path(judge.url, beside, f"{path}: model_metric", near)
        settings["model_eval"]["model_metric"]["url"] = str(file)
    if mode_of_job:
        modes = ("mining-then-inference", "inference-then-mining", "self-design")
        if mode_of_job not in modes:
            raise RequestError(f"hard_example_mining_mode is {mode_of_job!r}; expected one of {', '.join(modes)}")
        settings["hard_example_mining_mode"] = env.hard_example_mining_mode or mode_of_job
        reader.warnings.append(
            f"hard_example_mining_mode stands in the job; Ianvs reads it from the testenv alone; "
            f"{settings['hard_example_mining_mode']!r} is taken"
        )
    return TestEnv(train, test, metrics, settings)


def _data_file(dataset: _Dataset, side: str, path: Path, near: Path) -> Path:
    """The data file of one side, by Ianvs' precedence."""
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


def _named(entry: _Metric | _Package, beside: Path, near: Path, what: str) -> Named:
    return Named(entry.name, found_path(entry.url, beside, what, near) if entry.url else None)


def _algorithms(reader: _Reader, path: Path, near: Path, name: str) -> Iterator[Algorithm]:
    """One algorithm file, multiplied out."""
    found: _Algorithm = reader.read(path, "algorithm", _Algorithm)
    beside = path.absolute().parent
    paradigm = next((p for p in PARADIGMS if p == found.paradigm_type), None)
    if paradigm is None:
        what = "is not run here" if found.paradigm_type in ELSEWHERE else "is not known"
        near_ones = difflib.get_close_matches(found.paradigm_type, PARADIGMS, 1)
        hint = f"did you mean {near_ones[0]!r}?" if near_ones else f"known are {', '.join(PARADIGMS)}"
        raise RequestError(f"{path}: the paradigm {found.paradigm_type!r} {what}; {hint}")
    if found.mode == "with_compression":
        raise RequestError(f"{path}: mode 'with_compression' is not run here; compress the model beforehand")
    for setting in (found.incremental_learning_data_setting, found.lifelong_learning_data_setting):
        if setting.splitting_method not in SPLITS:
            raise RequestError(
                f"{path}: the splitting_method {setting.splitting_method!r} is not known; known are {', '.join(SPLITS)}"
            )
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
        url = found_path(module.url, beside, what, near) if module.url else None
        sets = _hyperparameters(reader, module, path, near) if module.hyperparameters else [{}]
        choices.append((module.type, [Module(module.type, module.name, url, chosen) for chosen in sets]))
    lacking = [type for type in NEEDED[paradigm] if type not in dict(choices)]
    if lacking:
        has = ", ".join(dict(choices))
        raise RequestError(f"{path}: {paradigm} needs a module of type {lacking[0]!r}; has {has}")
    packages = tuple(_named(p, beside, near, f"{path}: package {p.name!r}") for p in found.third_party_packages)
    settings = found.model_dump(include={
        "initial_model_url", "incremental_learning_data_setting", "lifelong_learning_data_setting", "mode",
    })  # fmt: skip
    for chosen in product(*(modules for _, modules in choices)):
        yield Algorithm(name, paradigm, tuple({m.type: m for m in chosen}.values()), packages, settings)


def _hyperparameters(reader: _Reader, module: _Module, path: Path, near: Path) -> list[dict[str, Any]]:
    """All combinations, over what `other_hyperparameters` files hold."""
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
            shared |= _flat(reader, file)
    return [{**shared, **dict(zip(lists, values))} for values in product(*lists.values())]


def _flat(reader: _Reader, path: Path) -> dict[str, Any]:
    try:
        text = path.read_text("utf-8-sig")
        document = _plain(yaml.safe_load(text), [_MAX_NODES])
    except (OSError, yaml.YAMLError, ValueError, RecursionError) as error:
        raise RequestError(f"{path}: not YAML in UTF-8: {' '.join(str(error).split())}") from None
    if not isinstance(document, dict):
        raise RequestError(f"{path}: has a {type(document).__name__}; expected hyperparameters by name")
    reader.texts[str(path)] = text
    return document


def _rank(rank: _Rank) -> RankOptions:
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


def _fault(error: ValidationError, root: str, document: Any) -> str:
    """The first fault, with the key that was meant where one is missing."""
    fault = error.errors()[0]
    place = ".".join([root, *(str(part) for part in fault["loc"])])
    if fault["type"] == "missing":
        here = document
        for part in fault["loc"][:-1]:
            here = here[part]
        meant = difflib.get_close_matches(str(fault["loc"][-1]), [str(k) for k in here], 1, 0.6)
        return f"{place} is missing" + (f"; did you mean it by {meant[0]!r}?" if meant else "")
    text = json.dumps(fault["input"], default=str, ensure_ascii=False)
    return f"{place} is {text if len(text) <= 60 else text[:57] + '…'}; {fault['msg'].lower()}"


def _plain(value: Any, budget: list[int]) -> Any:
    """A copy of JSON's types alone. Covered: aliases of aliases that would fill the memory."""
    budget[0] -= 1
    if budget[0] < 0:
        raise ValueError(f"over {_MAX_NODES:,} values")
    if isinstance(value, Mapping):
        return {str(key): _plain(item, budget) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(item, budget) for item in value]
    if isinstance(value, dt.date):
        return value.isoformat()
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


# ── What a run adds ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Checked:
    """What a look at everything that a job names found, before any of it runs."""

    data: Mapping[str, FileFacts]
    hashes: Mapping[str, str]
    """Of data, modules and metrics, by path."""
    faults: tuple[str, ...]


def check_files(job: Job) -> Checked:
    """Read all data once, and see that every Python file is one.

    Raises:
        RequestError: A file cannot be read, holds no sample, or is not Python.
    """
    data = {str(path): look_at(path) for path in dict.fromkeys((job.env.train, job.env.test))}
    hashes = {path: facts.sha256 for path, facts in data.items()}
    for path in dict.fromkeys(_code_files(job)):
        file = path / "__init__.py" if path.is_dir() else path
        try:
            code = file.read_bytes()
            ast.parse(code, str(file))
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
    """All that one case is run from, as JSON; `fingerprint` is the same whenever nothing of it changed."""
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
