"""Joint inference: the student on the device, a teacher in the cloud, and who decides between the two.

The teacher is on record: nothing is sent anywhere. Both answer as Ianvs' own language models do, with `completion`,
`usage` and `prediction`, so that metrics written for those read them too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from sedna.common.class_factory import ClassFactory, ClassType

from hearth.learn.teacher import RecordedTeacher
from hearth.plan_format import read_jsonl
from hearth.protocols import Planner
from hearth.types import Context, Plan, Refusal
from hearth_plans import DATA, answer_of, demonstrations_of, request_of, tools
from hearth_student import sureness_of, taught_planner


def replied(found: Plan | Refusal) -> dict[str, Any]:
    """An answer with how sure it is."""
    text = answer_of(found)
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    return {"completion": text, "prediction": text, "confidence": sureness_of(found), "usage": usage}


@ClassFactory.register(ClassType.GENERAL, alias="HearthEdge")
class HearthEdge:
    """The student, taught an owner's stream."""

    def __init__(self, planner: str = "student", stream: str = "mara_stream.jsonl", n_learnt: int = 1000) -> None:
        self.kind, self.stream, self.n_learnt = planner, DATA / stream, int(n_learnt)
        self._planner: Planner | None = None
        os.environ["model_path"] = str(self.stream)  # noqa: SIM112 — sedna reads it so, and wants a file that is there

    def load(self, model_url: str | None = None) -> None:
        """Learn, once; joint inference itself trains nothing."""
        lines = [line for _, line in read_jsonl(self.stream)][-self.n_learnt :]
        learnt = demonstrations_of([line["question"] for line in lines], [line["answer"] for line in lines])
        self._planner = taught_planner(self.kind, learnt)

    def predict(self, data: str, **kwargs: Any) -> dict[str, Any]:
        if self._planner is None:
            self.load()
        assert self._planner is not None
        return replied(self._planner.plan(request_of(data), Context(), tools()))

    def cleanup(self) -> None:
        self._planner = None


@ClassFactory.register(ClassType.GENERAL, alias="HearthTeacher")
class HearthTeacher:
    """A teacher whose answers were written down before (`make_data.py --teacher`)."""

    def __init__(self, record: str = "teacher.jsonl") -> None:
        self._teacher = RecordedTeacher(DATA / record)

    def inference(self, data: str, **kwargs: Any) -> dict[str, Any]:
        (found,) = self._teacher.label([request_of(data)], tools())
        return replied(found)

    def cleanup(self) -> None:
        """Nothing is open."""


@ClassFactory.register(ClassType.HEM, alias="LessSureThan")
class LessSureThan:
    """Hard is what the student is less sure of; after the student's answer (`inference-then-mining`)."""

    def __init__(self, threshold: float = 0.5, **kwargs: Any) -> None:
        self.threshold = float(threshold)

    def __call__(self, infer_result: Mapping[str, Any] | None = None) -> bool:
        return infer_result is None or float(infer_result["confidence"]) < self.threshold

    def cleanup(self) -> None:
        """Nothing is open."""
