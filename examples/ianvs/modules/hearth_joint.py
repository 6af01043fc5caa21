"""Joint inference: the student on the device, a teacher in the cloud, and who decides between the two.

The teacher is on record: nothing is sent anywhere. What would be sent to it is made all the same, masked or as it was
said, and measured: `usage` has the tokens, the bytes and the text, as `hearth_bench.scoring.system_metrics` reads them.
Both answer as Ianvs' own language models do, with `completion`, `usage` and `prediction`, so that metrics written for
those read them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from sedna.common.class_factory import ClassFactory, ClassType

from hearth.formats.plans import read_jsonl
from hearth.guard.deidentify.masker import Masker
from hearth.guard.deidentify.names import OwnerNames, OwnName
from hearth.learning.corrections import RecordedTeacher
from hearth.models.sentence_encoder import shared_tokenizer
from hearth.protocols import Planner
from hearth.types import Context, Plan, Refusal
from hearth_bench.scoring.system_metrics import Usage
from hearth_plans import AT_HOME, DATA, Meter, answer_of, demonstrations_of, request_of, tools
from hearth_student import sureness_of, taught_planner


def replied(found: Plan | Refusal, usage: Usage) -> dict[str, Any]:
    """An answer with how sure it is, and what it cost."""
    text, cost = answer_of(found), usage.document()
    cost["total_tokens"] = usage.tokens or 0
    return {"completion": text, "prediction": text, "confidence": sureness_of(found), "usage": cost}


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
        meter = Meter()
        found = self._planner.plan(request_of(data), Context(), tools())
        return replied(found, meter.read(AT_HOME))

    def cleanup(self) -> None:
        self._planner = None


@ClassFactory.register(ClassType.GENERAL, alias="HearthTeacher")
class HearthTeacher:
    """A teacher whose answers were written down before (`make_data.py --teacher`): it hears nothing."""

    def __init__(self, record: str = "teacher.jsonl", masks: str = "names", names: str = "mara_names.json") -> None:
        """Nothing is opened but the record.

        Args:
            masks: What is replaced in what would be sent: `names` (the owner's own, and whatever has the form of an
                address or number) or `nothing`.
            names: The owner's, from contacts and calendar.
        """
        if masks not in ("names", "nothing"):
            raise ValueError(f"masks is {masks!r}; expected names or nothing")
        self._teacher = RecordedTeacher(DATA / record)
        own = [OwnName(text, kind) for text, kind in json.loads((DATA / names).read_text())]
        self._masker = Masker(names=OwnerNames(own)) if masks == "names" else None

    def inference(self, data: str, **kwargs: Any) -> dict[str, Any]:
        meter, request = Meter(), request_of(data)
        text = self._masker.mask(request.text).text if self._masker else request.text
        sent = json.dumps({"user_request": text, "now": request.now.isoformat()}, ensure_ascii=False)
        (found,) = self._teacher.label([request], tools())
        usage = Usage(
            prompt_tokens=len(shared_tokenizer().encode(sent).ids),
            completion_tokens=len(shared_tokenizer().encode(answer_of(found)).ids),
            cloud_calls=1,
            bytes_out=len(sent.encode()),
            sent=(sent,),
        )
        return replied(found, meter.read(usage))

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
