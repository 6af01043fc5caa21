"""Ask 300 questions of Q2A's six homes: `python -m hearth_bench.measure.memory.home_questions`.

Fifty for each owner (`data/q2a/home_questions.jsonl`), asked at `DAY` of everything in the home: 25 whose answer is
read, 15 that are worked out, 10 that nothing answers. They were written from the records, before any was asked; weights
and rules are chosen on the homes in `TUNED` alone, the others are held out.

A question counts as right when the value holds all words of one right answer, and one that nothing answers when it is
refused. "Wrong without doubt" is a wrong answer told as if it were sure. Floor: the best passage by words, told whole.

Not covered: how a request is planned (the question is put straight to the home), the quote beside the value.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
from pydantic import BaseModel, ConfigDict

from hearth.config import cache_folder
from hearth.memory.answers.home_answers import HomeAnswers
from hearth.memory.answers.question_answering import WordReader
from hearth.memory.answers.recollection import Recollection
from hearth.memory.event_memory import EventMemory
from hearth.memory.facts import FactStore
from hearth.memory.inquiry.answer_reading import AnswerReader
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.protocols import HomeAnswer
from hearth.storage.database import Store
from hearth.tools.memory import KEPT, LEAST_SURE, REMEMBERED
from hearth_bench.data.q2a_homes import read_world
from hearth_bench.injection.guard_world import Memory
from hearth_bench.measure.result_file import write_result

TUNED = ("ingrid", "jun", "mara")
HELD = ("aisha", "sam", "tomas")
DAY = "2026-10-21T09:00"
"""When everything is asked, in the owner's zone."""


class HomeQuestion(BaseModel):
    """A question about a home."""

    model_config = ConfigDict(frozen=True)
    id: str
    owner: str
    kind: str
    question: str
    answers: tuple[tuple[str, ...], ...]
    """Each right answer as the words that the value must hold; none: nothing answers."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what the home said."""

    question: HomeQuestion
    said: HomeAnswer
    floor: str
    ms: float

    @property
    def is_refused(self) -> bool:
        return self.said.kind == "unknown"

    @property
    def is_right(self) -> bool:
        if not self.question.answers:
            return self.is_refused
        return not self.is_refused and holds(self.said.value, self.question)

    @property
    def is_wrong_for_sure(self) -> bool:
        return not self.is_right and not self.is_refused and self.said.chance >= LEAST_SURE


def read_questions() -> list[HomeQuestion]:
    """Read all questions."""
    lines = (files("hearth_bench") / "data/q2a/home_questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [HomeQuestion.model_validate_json(line) for line in lines]


def holds(value: str, question: HomeQuestion) -> bool:
    """Return whether a value holds all words of one right answer, whatever their case."""
    return any(
        all(re.search(rf"(?<!\w){re.escape(part.casefold())}", value.casefold()) for part in answer)
        for answer in question.answers
    )


def ask_home(
    owner: str, questions: Sequence[HomeQuestion], encoder: MiniLMEncoder, reader: AnswerReader
) -> list[Asked]:
    """Ask questions of one owner's home."""
    world = read_world(owner)
    now = dt.datetime.fromisoformat(DAY).replace(tzinfo=ZoneInfo(world.file.owner.zone))
    asked = []
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "a.db") as store:
        events, home = EventMemory(store, encoder), HomeAnswers(store, encoder, reader)
        for n, record in enumerate(one for one in world.file.records if isinstance(one, Memory)):
            at = now - dt.timedelta(days=3)
            events.remember(record.text, kind=REMEMBERED, at=at, label=KEPT, key=f"m{n}")
        memory = Recollection(events, FactStore(store), WordReader(cache_folder()), home)
        call = world.context("bench", now, world.workspace(now), world.memory(now))
        memory.find_answer("anything", call)  # the first look is not timed
        for one in questions:
            began = time.perf_counter()
            said = memory.find_answer(one.question, call)
            ms = (time.perf_counter() - began) * 1000
            found = max(home.passages.find(one.question), key=lambda c: c.words, default=None)
            asked.append(Asked(one, said, found.passage.read if found is not None else "", ms))
    return asked


def figures(asked: Sequence[Asked]) -> dict[str, float]:
    """Return the shares that come out right, by kind."""

    def share(some: Sequence[Asked], name: str) -> float:
        return round(sum(bool(getattr(one, name)) for one in some) / max(1, len(some)), 4)

    by_kind = {kind: [one for one in asked if one.question.kind == kind] for kind in ("read", "computed", "nowhere")}
    answerable = [*by_kind["read"], *by_kind["computed"]]
    return {
        "n": len(asked),
        "right": share(asked, "is_right"),
        **{f"{kind}_right": share(some, "is_right") for kind, some in by_kind.items()},
        "refused_wrongly": share(answerable, "is_refused"),
        "wrong_without_doubt": share(asked, "is_wrong_for_sure"),
        "floor_right": round(
            sum(bool(o.question.answers) and holds(o.floor, o.question) for o in asked) / len(asked), 4
        ),
        "p95_ms": round(float(np.quantile([one.ms for one in asked], 0.95)), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tuned-only", action="store_true", help="ask the homes that are tuned on, and write nothing")
    parser.add_argument("--show", action="store_true", help="print each question that came out wrong")
    given = parser.parse_args()
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    questions, encoder, reader = read_questions(), MiniLMEncoder.open(), AnswerReader(cache_folder())
    results: dict[str, object] = {}
    for name, owners in (("tuned", TUNED),) if given.tuned_only else (("tuned", TUNED), ("held_out", HELD)):
        asked = [a for o in owners for a in ask_home(o, [q for q in questions if q.owner == o], encoder, reader)]
        results[name] = figures(asked)
        for one in asked:
            if given.show and name == "tuned" and (not one.is_right or one.said.chance < 0.8):
                said = one.said.value[:90] if not one.is_refused else "–"
                print(
                    f"{one.question.id} {one.question.kind:<8} {one.said.chance:.2f} {one.question.question} → {said}"
                )
    print(json.dumps(results, indent=1))
    if not given.tuned_only:
        write_result(
            "home_questions", results, seed=0, cpu_s=time.process_time() - cpu_s, wall_s=time.perf_counter() - wall_s
        )


if __name__ == "__main__":
    main()
