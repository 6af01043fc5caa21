"""Ask twenty questions each of nine newcomers' homes (ten of the tiler's), as their owners would.

    python -m hearth_bench.measure.memory.newcomer_questions [--first WHO]

The homes and what is asked were written before anything was asked (`data/newcomer_home`). Each question goes through
the agent, planning included, on a home that was never looked at before, with nobody there to say yes. Right: the answer
says all that it must, nothing that it must not, and names its source; where nothing answers, it says so.

`newcomer_questions_first.json` holds the first answers that each home ever gave, before any was looked at; `--first`
writes them once. What was mended since was mended with these homes in sight: only first answers are blind.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hearth.agent import Agent
from hearth.guard.policy.question import RefusingApprover
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth_bench.data.newcomer_home.newcomer import (
    NEWCOMERS,
    NewcomerQuestion,
    read_newcomer_questions,
    write_newcomer_home,
)
from hearth_bench.measure.result_file import RESULTS, write_result
from hearth_bench.run_record import commit

FIRST = "newcomer_questions_first"
ASKED_RIGHT = 0.8
"""The share that is asked for: 16 of twenty."""
_UNKNOWN = ("I don't know", "I can't do that")
_DOUBT = "I am not sure"


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with what the home said."""

    question: NewcomerQuestion
    said: str
    ms: float

    @property
    def is_refused(self) -> bool:
        """Whether it says that it does not know: also below "The card of Yuki has no address." """
        return any(line.startswith(_UNKNOWN) for line in self.said.splitlines()[:2])

    @property
    def is_right(self) -> bool:
        said, one = self.said.casefold(), self.question
        if not one.says:
            return self.is_refused
        must = (*one.says, one.source)
        return (
            not self.is_refused
            and all(w.casefold() in said for w in must)
            and not any(w.casefold() in said for w in one.without)
        )

    @property
    def is_wrong_for_sure(self) -> bool:
        return not (self.is_right or self.is_refused or self.said.startswith(_DOUBT))


def ask_newcomer_home(who: str) -> list[Answered]:
    """Ask all questions of a fresh home, in order."""
    answered = []
    with tempfile.TemporaryDirectory() as folder:
        now = write_newcomer_home(who, Path(folder) / "home")
        agent = Agent.open(
            Path(folder) / "home",
            RefusingApprover(),
            environ=os.environ,
            clock=lambda: now,
            encoder=MiniLMEncoder.open(),
        )
        try:
            for _ in agent.learn_shipped():
                pass
            for one in read_newcomer_questions(who):
                began = time.perf_counter()
                episode = agent.run(agent.request_after(one.question))
                ms = (time.perf_counter() - began) * 1000
                evidence = " ".join(proof.text for proof in episode.answer.evidence)
                answered.append(Answered(one, f"{episode.answer.text} {evidence}".strip(), ms))
        finally:
            agent.close()
    return answered


def figures(answered: Sequence[Answered]) -> dict[str, object]:
    """Return how many come out right, and each answer."""
    kinds = ("read", "computed", "nowhere")
    return {
        "n": len(answered),
        "asked_right": round(ASKED_RIGHT * len(answered)),
        "n_right": sum(one.is_right for one in answered),
        **{f"n_{kind}_right": sum(o.is_right for o in answered if o.question.kind == kind) for kind in kinds},
        "n_refused_wrongly": sum(one.is_refused and not one.is_right for one in answered),
        "n_wrong_without_doubt": sum(one.is_wrong_for_sure for one in answered),
        "answers": [
            {"id": o.question.id, "question": o.question.question, "right": o.is_right, "said": o.said}
            for o in answered
        ],
    }


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--first", choices=NEWCOMERS, help="keep the first answers of a home that was never asked")
    first = options.parse_args().first
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    results: dict[str, object] = _first_answers() if first else {}
    if first in results:
        raise SystemExit(
            f"the first answers of {first!r} are in {FIRST}.json already, and there are no other first ones"
        )
    for who in (first,) if first else NEWCOMERS:
        results[who] = {"commit": commit() or "unknown", **figures(ask_newcomer_home(who))}
    write_result(
        FIRST if first else "newcomer_questions",
        results,
        seed=0,
        cpu_s=time.process_time() - cpu_s,
        wall_s=time.perf_counter() - wall_s,
    )


def _first_answers() -> dict[str, object]:
    path = RESULTS / f"{FIRST}.json"
    kept: dict[str, object] = json.loads(path.read_text())["results"] if path.exists() else {}
    return kept


if __name__ == "__main__":
    main()
