"""Load Ianvs' algorithm files, with stand-ins for the parts of sedna and Ianvs that they import.

An algorithm file says `from sedna.common.class_factory import ClassFactory, ClassType` and registers its classes. Where
these modules are installed they are used; otherwise stand-ins take their import paths.

Better than in Ianvs: a file is loaded by its path, so two files of one name do not collide, nor does a file named like
an installed module; a name registered by several files means the one of the file that was asked for.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import logging
import os
import pickle
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from hearth.errors import RegistryError
from hearth_bench.ianvs import samples

LOGGER = logging.getLogger("ianvs")


class ClassType:
    """Kinds of classes, by the names that algorithm files use."""

    GENERAL = "general"
    HEM = "hard_example_mining"
    FL_AGG = "aggregation"
    MTL = "multi_task_learening"
    UTD = "unseen_task_detect"
    OF = "optical_flow"
    ALGORITHM = "algorithm"
    DATASET = "data_process"
    CALLBACK = "post_process_callback"
    UTP = "unseen_task_processing"
    KM = "knowledge_management"
    STP = "seen_task_processing"


@dataclass(frozen=True, slots=True)
class _Registered:
    made: Any
    file: str


class ClassFactory:
    """Registry of classes and functions by kind and name."""

    found: dict[tuple[str, str], list[_Registered]] = {}  # noqa: RUF012 — one for the process, as files expect

    @classmethod
    def register(cls, type_name: str = ClassType.GENERAL, alias: str | None = None) -> Callable[[Any], Any]:
        """Return a decorator that registers a class or function under `alias`, or its own name."""
        return lambda made: cls.register_cls(made, type_name, alias)

    @classmethod
    def register_cls(cls, t_cls: Any, type_name: str = ClassType.GENERAL, alias: str | None = None) -> Any:
        """Register a class without a decorator."""
        module = sys.modules.get(getattr(t_cls, "__module__", ""), None)
        file = str(Path(getattr(module, "__file__", None) or "").resolve())
        cls.found.setdefault((type_name, alias or t_cls.__name__), []).append(_Registered(t_cls, file))
        return t_cls

    @classmethod
    def is_exists(cls, type_name: str, cls_name: str | None = None) -> bool:
        return any(kind == type_name and cls_name in (None, name) for kind, name in cls.found)

    @classmethod
    def get_cls(cls, type_name: str, t_cls_name: str | None = None) -> Any:
        """Return the class registered last under a name. Raises: ValueError."""
        known = cls.found.get((type_name, t_cls_name or ""))
        if not known:
            raise ValueError(f"can't find class type {type_name} class name {t_cls_name} in class registry")
        return known[-1].made


# ── Stand-ins ─────────────────────────────────────────────────────────────────────────────────────────────


class Context:
    """Settings from the environment."""

    parameters = os.environ

    @classmethod
    def get_parameters(cls, param: str, default: Any = None) -> Any:
        return os.environ.get(param) or os.environ.get(param.upper()) or default


class BaseConfig:
    """Settings that algorithm files read."""

    def __init__(self) -> None:
        self.model_url = os.environ.get("MODEL_URL")
        self.base_model_url = os.environ.get("BASE_MODEL_URL")


class FileOps:
    """Operations on local files; nothing is fetched."""

    exists = staticmethod(os.path.exists)
    is_local = staticmethod(os.path.exists)

    @staticmethod
    def join_path(*parts: str) -> str:
        return os.path.join(*[str(part) for part in parts if part])

    @staticmethod
    def dump(obj: Any, output: str = "model.pkl") -> str:
        Path(output).absolute().parent.mkdir(parents=True, exist_ok=True)
        with Path(output).open("wb") as file:
            pickle.dump(obj, file)
        return output

    @staticmethod
    def load(name: str) -> Any:
        with Path(name).open("rb") as file:
            return pickle.load(file)  # noqa: S301 — what the same algorithm wrote a moment ago

    @staticmethod
    def download(source: str, target: str | None = None) -> str:
        return FileOps.upload(source, target) if target and target != source else source

    @staticmethod
    def upload(source: str, target: str) -> str:
        shutil.copy(source, target)
        return target

    @staticmethod
    def clean_folder(folders: Sequence[str], clean: bool = True) -> None:
        for folder in filter(None, folders):
            if clean:
                shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder, exist_ok=True)


class BaseFilter:
    """Base class of routers and recognisers."""

    def __call__(self, infer_result: Any = None) -> Any:
        raise NotImplementedError


class Task:
    """A task of lifelong learning with its scores."""

    def __init__(self, entry: str, samples: Any = None, meta_attr: Any = None) -> None:
        self.entry, self.samples, self.meta_attr = entry, samples, meta_attr
        self.scores: Any = None
        self.test_samples: Any = None
        self.model: Any = None


class LifelongLearning:
    """Default lifelong job around the base model, where no plug-in brings one.

    It has one task, `all`. The model is trained round by round and judged by the model metric, and its state stays in
    memory; a sample is unseen when the module `unseen_sample_recognition` says so.
    """

    def __init__(self, seen_estimator: Any, unseen_sample_recognition: Any = None, **_: Any) -> None:
        self.estimator = seen_estimator
        self.recognise = unseen_sample_recognition
        if isinstance(self.recognise, Mapping):
            made = ClassFactory.get_cls(ClassType.UTD, self.recognise["method"])
            self.recognise = made(**self.recognise.get("param", {}))

    def train(self, data: Any) -> str:
        self.estimator.train(data)
        folder = os.environ["OUTPUT_URL"]
        return str(self.estimator.save(folder) or folder)

    def evaluate(self, data: Any, metrics: Any = None) -> str:
        self.my_evaluate(data, metrics)
        return os.environ["MODEL_URLS"]

    def my_evaluate(self, data: Any, metrics: Any = None) -> tuple[str, list[Task], dict[str, float]]:
        task = Task("all")
        task.scores = {"accuracy": float(metrics(data.y, self.estimator.predict(data.x)))}
        return os.environ["MODEL_URLS"], [task], task.scores

    def my_inference(self, data: Any) -> Any:
        return self.estimator.predict(data.x)

    def inference_2(self, data: Any, **_: Any) -> tuple[Any, bool, list[Task]]:
        is_unseen = False
        if self.recognise is not None:
            _, unseen = self.recognise(data)
            is_unseen = len(getattr(unseen, "x", unseen)) > 0
        return self.estimator.predict(data.x), is_unseen, []


PARADIGM_BASE = "core.testcasecontroller.algorithm.paradigm.base"
"""Module in which plug-ins replace `LifelongLearning`."""
_STAND_INS: Mapping[str, Mapping[str, Any]] = {
    "sedna.common.class_factory": {"ClassFactory": ClassFactory, "ClassType": ClassType},
    "sedna.common.config": {"Context": Context, "BaseConfig": BaseConfig},
    "sedna.common.file_ops": {"FileOps": FileOps},
    "sedna.common.log": {"LOGGER": LOGGER},
    "sedna.datasources": {
        "BaseDataSource": samples.BaseDataSource,
        "JsonlDataParse": samples.JsonlDataParse,
        "TxtDataParse": samples.TxtDataParse,
        "JSONMetaDataParse": samples.JSONMetaDataParse,
    },
    "sedna.algorithms.hard_example_mining.hard_example_mining": {"BaseFilter": BaseFilter},
    "sedna.algorithms.unseen_task_detect.unseen_task_detect": {"BaseFilter": BaseFilter},
    "sedna.algorithms.seen_task_learning.artifact": {"Task": Task},
    "core.common.log": {"LOGGER": LOGGER},
    PARADIGM_BASE: {"LifelongLearning": LifelongLearning},
}
_PACKAGES = {name.rsplit(".", n)[0] for name in _STAND_INS for n in range(1, name.count(".") + 1)}


class _StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import hook of the stand-ins; it comes last, so that installed modules take precedence."""

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        if name in _STAND_INS or name in _PACKAGES:
            return importlib.machinery.ModuleSpec(name, self, is_package=name in _PACKAGES)
        parent = sys.modules.get(name.rpartition(".")[0])
        if parent is not None and isinstance(getattr(parent, "__loader__", None), _StandIns):
            known = ", ".join(sorted(_STAND_INS))
            raise ModuleNotFoundError(
                f"{name!r} is not installed, and Hearth stands in for these modules alone: {known}", name=name
            )
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:  # noqa: ARG002
        return None

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(_STAND_INS.get(module.__name__, {}))


@contextlib.contextmanager
def stand_ins() -> Iterator[None]:
    """Make `sedna` and `core` importable, installed or as stand-ins; restore everything afterwards.

    Covered: modules loaded meanwhile from job files, and what they registered, are forgotten too.
    Not covered: what a plug-in replaced inside classes; a case has a process of its own.
    """
    finder, before = _StandIns(), set(sys.modules)
    known = dict(ClassFactory.found)
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in set(sys.modules) - before:
            module = sys.modules[name]
            if isinstance(getattr(module, "__loader__", None), _StandIns) or getattr(module, "__hearth_job__", False):
                del sys.modules[name]
        ClassFactory.found.clear()
        ClassFactory.found.update(known)


def registered(kind: str, name: str, file: Path | None) -> Any:
    """Return the object registered under a name; if there are several, that of `file`.

    Raises:
        RegistryError: Nothing is registered.
    """
    factory = importlib.import_module("sedna.common.class_factory").ClassFactory
    own = ClassFactory.found.get((kind, name), []) if factory is ClassFactory else []
    if file is not None:
        own = [entry for entry in own if entry.file == str(_code_of(file))] or own
    if own:
        return own[-1].made
    try:
        return factory.get_cls(kind, name)
    except ValueError:
        known = sorted(n for k, n in ClassFactory.found if k == kind)
        where = f"{file} registers no" if file else "there is no built-in"
        raise RegistryError(
            f"{where} {kind} {name!r}; registered are {', '.join(map(repr, known)) or 'none'} "
            f"(@ClassFactory.register(ClassType.…, alias={name!r}))"
        ) from None


# ── Files by path ─────────────────────────────────────────────────────────────────────────────────────────


class Modules:
    """Loader of files and packages by path; files of one folder see each other, but not those of another.

    Covered: files of one name in several folders; a file named like an installed module. Not covered: an import inside
    a function of a file whose neighbour has the same name as one loaded later from elsewhere.
    """

    def __init__(self) -> None:
        self._by_folder: dict[Path, dict[str, ModuleType]] = {}
        self._by_path: dict[Path, ModuleType] = {}

    def load(self, path: Path) -> ModuleType:
        """Load a `.py` file or a package's folder, once.

        Raises:
            Exception: Whatever the file raises.
        """
        code = _code_of(path)
        if code in self._by_path:
            return self._by_path[code]
        is_package = code.name == "__init__.py" and path.is_dir()
        folder = code.parent.parent if is_package else code.parent
        name = code.parent.name if is_package else code.name.partition(".")[0]
        own = self._by_folder.setdefault(folder, {})
        for other, modules in self._by_folder.items():
            for known, module in modules.items():
                if other != folder and sys.modules.get(known) is module:
                    del sys.modules[known]
        sys.modules.update(own)
        if name in sys.modules and name not in own:  # the plain name belongs to an installed module
            name = f"hearth_job_{abs(hash(code)):x}_{name}"
        if name in own:
            module = own[name]  # a neighbour imported it already
        else:
            module = self._execute(name, code, folder, is_package)
        self._by_path[code] = module
        return module

    def _execute(self, name: str, code: Path, folder: Path, is_package: bool) -> ModuleType:
        where = [str(code.parent)] if is_package else None
        spec = importlib.util.spec_from_file_location(name, code, submodule_search_locations=where)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        before = set(sys.modules)
        sys.modules[name] = module
        sys.path.insert(0, str(folder))
        importlib.invalidate_caches()
        try:
            spec.loader.exec_module(module)
        except BaseException:
            sys.modules.pop(name, None)
            raise
        finally:
            sys.path.remove(str(folder))
            for new in set(sys.modules) - before:
                file = getattr(sys.modules[new], "__file__", None)
                if file and Path(file).resolve().is_relative_to(folder):
                    vars(sys.modules[new])["__hearth_job__"] = True
                    self._by_folder[folder][new] = sys.modules[new]
        return module


def _code_of(path: Path) -> Path:
    return (path / "__init__.py" if path.is_dir() else path).resolve()
