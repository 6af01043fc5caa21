"""Lets the lifelong paradigm of Ianvs learn text: a plug-in that algorithm files name in `third_party_packages`.

Ianvs' core calls methods of a lifelong job (`my_evaluate`, `my_inference`, `inference_2`) which the sedna it ships
lacks, so it is handed a job that has them. It also copies as files whatever an unseen sample iterates over, which for a
text are its characters: a text here iterates over nothing. `hearth bench run` honours the same replacement.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import core.testcasecontroller.algorithm.paradigm.base as base
import numpy as np
from sedna.datasources import JsonlDataParse

os.environ["BACKEND_TYPE"] = "HEARTH"


class Text(str):
    """A text of which Ianvs copies no files."""

    __slots__ = ()

    def __iter__(self) -> Iterator[str]:
        return iter(())


_parse = JsonlDataParse.parse


def parse(self: Any, *files: Any, **_: Any) -> None:
    """As sedna does, then each question as a `Text`."""
    _parse(self, *files)
    texts = np.empty(len(self.x), dtype=object)
    texts[:] = [Text(text) for text in self.x]
    self.x = texts


JsonlDataParse.parse = parse


@dataclass(frozen=True, slots=True)
class TaskScores:
    """What Ianvs reads of a task."""

    entry: str
    scores: dict[str, float]


class LifelongJob:
    """One task, the owner; the model's state goes on from round to round.

    Where Ianvs asks which samples are unseen, those are of which the model says that it would ask: their right answers
    are what it learns next.
    """

    def __init__(self, seen_estimator: Any, **_: Any) -> None:
        self.model = seen_estimator

    def train(self, data: Any, **_: Any) -> str:
        self.model.train(data)
        return str(self.model.save(os.environ["OUTPUT_URL"]))

    def my_evaluate(
        self, data: Any, metrics: Callable[[Any, Any], float], **_: Any
    ) -> tuple[str, list[TaskScores], dict[str, float]]:
        scores = {"accuracy": metrics(data.y, self.model.predict(data.x))}
        return os.environ["MODEL_URLS"], [TaskScores("owner", scores)], scores

    def evaluate(self, data: Any, metrics: Callable[[Any, Any], float], **_: Any) -> str:
        return self.my_evaluate(data, metrics)[0]

    def my_inference(self, data: Any, **_: Any) -> Sequence[str]:
        found: Sequence[str] = self.model.predict(data.x)
        return found

    def inference_2(self, data: Any, **_: Any) -> tuple[Sequence[str], bool, list[TaskScores]]:
        is_unseen = any(self.model.asks(question) for question in data.x)
        return self.my_inference(data), is_unseen, []

    def inference(self, data: Any, **_: Any) -> tuple[Sequence[str], bool, list[TaskScores]]:
        return self.inference_2(data)


base.LifelongLearning = LifelongJob
