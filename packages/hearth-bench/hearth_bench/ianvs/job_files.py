"""Define the shapes of Ianvs' three YAML files, and read any such file into its shape.

The shapes are dataclasses, not pydantic models: building those takes longer than a small job runs. For the same reason
they have neither `==` nor a `repr`.

Covered: keys that are missing, misspelt or of a wrong type; files that are not YAML, too large, or whose aliases would
fill the memory.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml

from hearth.errors import RequestError

_MAX_BYTES = 1_000_000
_MAX_VALUES = 100_000
_SHOWN = 60
T = TypeVar("T")

Mining = Literal["mining-then-inference", "inference-then-mining", "self-design"]


# ── benchmarkingjob.yaml ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AlgorithmEntry:
    name: str
    url: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TestObject:
    __test__ = False

    type: Literal["algorithms"]
    algorithms: list[AlgorithmEntry]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Visualization:
    mode: str = "selected_only"
    method: str = "print_table"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SelectedItems:
    paradigms: list[str] = field(default_factory=lambda: ["all"])
    modules: list[str] = field(default_factory=lambda: ["all"])
    hyperparameters: list[str] = field(default_factory=lambda: ["all"])
    metrics: list[str] = field(default_factory=lambda: ["all"])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rank:
    sort_by: list[dict[str, str]] = field(default_factory=list)
    visualization: Visualization = field(default_factory=Visualization)
    selected_dataitem: SelectedItems = field(default_factory=SelectedItems)
    save_mode: Literal["selected_and_all", "selected_only", "selected_and_all_and_picture"] = "selected_and_all"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class JobFile:
    name: str
    testenv: str
    test_object: TestObject
    workspace: str = "./workspace"
    rank: Rank = field(default_factory=Rank)
    simulation: Any = None
    hard_example_mining_mode: Mining | None = None
    """Mode, which Ianvs reads only from the test environment."""


# ── testenv.yaml ──────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DatasetKeys:
    train_index: str = ""
    test_index: str = ""
    train_data: str = ""
    test_data: str = ""
    train_data_info: str = ""
    test_data_info: str = ""
    train_url: str = ""
    test_url: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MetricEntry:
    name: str
    url: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ModelMetric:
    mode: Literal["", "no-inference", "hard-example-mining"] | None = None
    name: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ModelEval:
    model_metric: ModelMetric = field(default_factory=ModelMetric)
    threshold: float = 0.9
    operator: Literal[">", "<", "=", ">=", "<="] = ">"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EnvFile:
    """Test environment; all other keys are handed on to the paradigm."""

    dataset: DatasetKeys
    metrics: list[MetricEntry]
    model_eval: ModelEval = field(default_factory=ModelEval)
    incremental_rounds: int = 2
    use_gpu: bool = False
    hard_example_mining_mode: Mining | None = None


# ── algorithm.yaml ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Values:
    values: list[Any]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ModuleEntry:
    type: str
    name: str
    url: str = ""
    hyperparameters: list[dict[str, Values]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PackageEntry:
    name: str
    url: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DataSetting:
    train_ratio: float = 0.8
    splitting_method: str = "default"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AlgorithmFile:
    paradigm_type: str
    modules: list[ModuleEntry]
    third_party_packages: list[PackageEntry] = field(default_factory=list)
    initial_model_url: str = ""
    incremental_learning_data_setting: DataSetting = field(default_factory=DataSetting)
    lifelong_learning_data_setting: DataSetting = field(default_factory=DataSetting)
    fl_data_setting: Any = None
    mode: str = ""
    quantization_type: str = ""
    llama_quantize_path: str = ""


# ── Reading ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads all files of a job, and collects their texts and warnings about keys that are not read."""

    warnings: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)

    def mapping(self, path: Path) -> dict[str, Any]:
        """Read a YAML file's mapping, reduced to JSON's types. Raises: RequestError."""
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise RequestError(f"cannot read {str(path)!r}: {error.strerror}") from None
        if len(raw) > _MAX_BYTES:
            raise RequestError(f"{path}: {len(raw):,} bytes; expected a YAML file of at most {_MAX_BYTES:,}")
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            text = raw.decode("utf-8-sig")
            document = _plain(yaml.load(text, Loader=loader), [_MAX_VALUES])  # noqa: S506 — both are safe loaders
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise RequestError(f"{path}: not YAML in UTF-8: {' '.join(str(error).split())}") from None
        if not isinstance(document, dict):
            raise RequestError(f"{path}: holds {_shown(document)}; expected a mapping")
        self.texts[str(path)] = text
        return document

    def read(self, path: Path, root: str, shape: type[T]) -> tuple[T, dict[str, Any]]:
        """Read the mapping under a file's root key into `shape`, and return it with the keys that the shape does not
        know.

        Raises:
            RequestError: Names the file and the key.
        """
        document = self.mapping(path)
        if not isinstance(document.get(root), dict):
            has = ", ".join(map(repr, document)) or "nothing"
            raise RequestError(f"{path}: has {has}; expected a mapping under {root!r}")
        unread: dict[str, Any] = {}
        found: T = _filled(shape, document[root], f"{path}: {root}", unread, self.warnings)
        return found, unread


def _filled(shape: type[T], given: Any, place: str, unread: dict[str, Any], warnings: list[str]) -> T:
    """Build a dataclass from a mapping; unknown keys are collected in `unread` and reported as warnings."""
    if not isinstance(given, dict):
        raise RequestError(f"{place} is {_shown(given)}; expected a mapping")
    hints = get_type_hints(shape)
    found: dict[str, Any] = {}
    for spec in dataclasses.fields(shape):  # type: ignore[arg-type]
        if spec.name in given and given[spec.name] is not None:
            found[spec.name] = _value(hints[spec.name], given[spec.name], f"{place}.{spec.name}", warnings)
        elif spec.default is dataclasses.MISSING and spec.default_factory is dataclasses.MISSING:
            others = [key for key in given if key not in hints]
            meant = difflib.get_close_matches(spec.name, others, 1, 0.6)
            hint = f"; did you mean it by {meant[0]!r}?" if meant else ""
            raise RequestError(f"{place}.{spec.name} is {'empty' if spec.name in given else 'missing'}{hint}")
    for key in given:
        if key not in hints:
            near = difflib.get_close_matches(key, list(hints), 1, 0.75)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(hints)}"
            if near or shape is not EnvFile:
                warnings.append(f"{place}.{key} is not read; {hint}")
            unread[key] = given[key]
    return shape(**found)


def _value(hint: Any, given: Any, place: str, warnings: list[str]) -> Any:
    """Convert a value to its annotated type; numbers are accepted as text, and whole numbers as fractions."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return given
    if origin in (Union, UnionType):
        return _value(next(a for a in arguments if a is not type(None)), given, place, warnings)
    if origin is Literal:
        return _one_of(arguments, given, place)
    if origin is list:
        if not isinstance(given, list):
            raise RequestError(f"{place} is {_shown(given)}; expected a list")
        return [_value(arguments[0], item, f"{place}.{k}", warnings) for k, item in enumerate(given)]
    if origin is dict:
        if not isinstance(given, dict):
            raise RequestError(f"{place} is {_shown(given)}; expected a mapping")
        return {key: _value(arguments[1], item, f"{place}.{key}", warnings) for key, item in given.items()}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _filled(hint, given, place, {}, warnings)
    return _single(hint, given, place)


def _one_of(arguments: tuple[Any, ...], given: Any, place: str) -> Any:
    if given in arguments:
        return given
    near = difflib.get_close_matches(str(given), [a for a in arguments if a], 1)
    hint_text = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(repr(a) for a in arguments)}"
    raise RequestError(f"{place} is {_shown(given)}; {hint_text}")


def _single(hint: Any, given: Any, place: str) -> Any:
    """Convert a text, a number or a truth value."""
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if hint is str and (isinstance(given, str) or is_number):
        return str(given)
    if hint is float and is_number:
        return float(given)
    if hint in (int, bool) and type(given) is hint:
        return given
    names = {str: "text", float: "a number", int: "a whole number", bool: "true or false"}
    raise RequestError(f"{place} is {_shown(given)}; expected {names[hint]}")


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _plain(value: Any, left: list[int]) -> Any:
    """Copy a value, reduced to JSON's types."""
    left[0] -= 1
    if left[0] < 0:
        raise ValueError(f"over {_MAX_VALUES:,} values")
    if isinstance(value, Mapping):
        return {str(key): _plain(item, left) for key, item in value.items()}
    if isinstance(value, Sequence | set) and not isinstance(value, str | bytes):
        return [_plain(item, left) for item in value]
    if isinstance(value, dt.date):
        return value.isoformat()
    return value if value is None or isinstance(value, str | int | float) else str(value)
