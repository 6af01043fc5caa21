"""Load samples in the form in which algorithm files receive them.

The classes have the names, attributes and methods of `sedna.datasources`, which such files use and patch. Better than
in sedna: answers that are lists of different lengths can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hearth_bench.ianvs.job_data import file_kind, json_lines, read_lines, read_metadata


class BaseDataSource:
    """Samples `x` with their labels `y`, as numpy arrays."""

    def __init__(self, data_type: str = "train", func: Callable[[str], Any] | None = None) -> None:
        self.data_type = data_type
        self.process_func = func if callable(func) else None
        self.x: Any = None
        self.y: Any = None
        self.meta_attr: Any = None

    def num_examples(self) -> int:
        return len(self.x)

    def __len__(self) -> int:
        return self.num_examples()

    @property
    def is_test_data(self) -> bool:
        return self.data_type == "test"

    def parse(self, *files: str) -> None:
        raise NotImplementedError


class JsonlDataParse(BaseDataSource):
    """Lines of `{"question", "answer"}`; other fields are dropped."""

    def parse(self, *files: str) -> None:
        lines = [line for file in files for line in json_lines(Path(file))]
        self.x = as_array([line["question"] for line in lines])
        self.y = as_array([line["answer"] for line in lines])


class TxtDataParse(BaseDataSource):
    """Lines of `x y`, separated by spaces."""

    def parse(self, *files: str, use_raw: bool = False) -> None:
        x, y = [], []
        for file in files:
            for line in read_lines(Path(file)):
                words = self.process_func(line) if self.process_func else line.split()
                if use_raw:
                    x.append(words)
                    continue
                x.append(words[0])
                if not self.is_test_data:
                    y.append(words[1] if len(words) > 1 else 0)
        self.x, self.y = as_array(x), as_array(y)


class JSONMetaDataParse(BaseDataSource):
    """A `metadata.json` with `data.jsonl` beside it; `predict` receives this object instead of its `x`."""

    def __init__(self, data_type: str = "train", func: Callable[[str], Any] | None = None) -> None:
        super().__init__(data_type, func)
        self.need_other_info = True

    def parse(self, *files: str) -> None:
        for file in files:
            facts = read_metadata(Path(file))
            self.dataset_name, self.description = facts["dataset"], facts["description"]
            for key in ("level_1_dim", "level_2_dim", "level_3_dim", "level_4_dim"):
                if key in facts:
                    setattr(self, key, facts[key])
            lines = list(json_lines(Path(file).with_name("data.jsonl"), ("query", "response")))
            self.x = as_array([f"{line.get('prompt', '')}{line['query']}" for line in lines])
            self.y = as_array([line["response"] for line in lines])
            self.explanation = [line.get("explanation", "") for line in lines]
            self.judge_prompts = [line.get("judge_prompt", "") for line in lines]
            self.level_3 = [line.get("level_3_dim", "") for line in lines]
            self.level_4 = [line.get("level_4_dim", "") for line in lines]


def as_array(values: Sequence[Any]) -> Any:
    """Make a numpy array, of objects if the values have different shapes."""
    try:
        return np.array(values)
    except ValueError:
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array


def load(path: Path, data_type: str, *, is_lifelong: bool = False) -> BaseDataSource:
    """Load the samples of a file.

    Args:
        is_lifelong: Read an index as Ianvs' lifelong paradigm does: all words but the last are the sample.
    Raises:
        RequestError: The file cannot be read.
    """
    kind = file_kind(path)
    if kind == "txt":
        index = TxtDataParse(data_type, _all_but_last if is_lifelong else None)
        index.parse(str(path))
        return index
    source: BaseDataSource = JSONMetaDataParse(data_type) if kind == "metadata" else JsonlDataParse(data_type)
    source.parse(str(path))
    return source


def _all_but_last(line: str) -> tuple[list[str], str]:
    words = line.split()
    return words[:-1], words[-1]
