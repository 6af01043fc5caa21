"""Measure the answers that an owner gets from memory.

    python -m hearth_bench.measure.memory.memory_questions     # writes packages/hearth-bench/results/asking.json

The set (`packages/hearth-bench/hearth_bench/measure/data/asked_of_memory.json`, written before the rules for the words
of an answer) holds things told by the owner and lines of a chat, questions with a piece of the right answer, and
questions that nothing told answers. `right`: answered, with that piece; `refused`: "I don't know". Odd places of each
list were looked at while rules were made; even ones were first left alone, but two faults seen in them were mended
since, so none is unseen. Both are reported. The floor is the first event found, whole.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import tempfile
import time
from pathlib import Path

from hearth import config
from hearth.memory.answers.question_answering import WordReader
from hearth.memory.answers.recollection import Recollection
from hearth.memory.event_memory import EventMemory, NewEvent
from hearth.memory.fact_extraction import Told, known_from, learn_from
from hearth.memory.facts import FactStore
from hearth.memory.search.search_words import times_named
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.storage.database import Store
from hearth.types import OWNER, Label
from hearth_bench.measure.result_file import OWN_DATA, write_result

NOW = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)
SET = OWN_DATA / "asked_of_memory.json"


def main() -> None:
    started, cpu = time.perf_counter(), time.process_time()
    kept = json.loads(SET.read_text())
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "a.db") as store:
        events = EventMemory(store, MiniLMEncoder.open(), times_named)
        facts = FactStore(store)
        memory = Recollection(events, facts, WordReader(config.cache_folder(os.environ)))
        _tell(kept["told"], events, facts)
        answers = [(memory.answer(question, now=NOW), right) for question, right in kept["asked"]]
        firsts = [(events.search(question, limit=1, now=NOW), right) for question, right in kept["asked"]]
        nothing = [
            (memory.answer(question, now=NOW), events.search(question, limit=1, now=NOW))
            for question in kept["unknown"]
        ]
        if os.environ.get("SHOW"):
            for (said, right), (question, _) in zip(answers, kept["asked"], strict=True):
                mark = " " if right.casefold() in said.text.casefold() else "✗"
                print(mark, question, "→", said.kind, said.text, said.chance, [e.text for e in said.evidence][:1])
            for (said, _), question in zip(nothing, kept["unknown"], strict=True):
                print(" " if said.kind == "unknown" else "✗", question, "→", said.kind, said.text, said.chance)
    right = [piece.casefold() in said.text.casefold() for said, piece in answers]
    results: dict[str, object] = {
        "n_told": len(kept["told"]),
        **_shares("right", right),
        **_shares("wrongly_refused", [said.kind == "unknown" for said, _ in answers]),
        **_shares("refused", [said.kind == "unknown" for said, _ in nothing]),
        **_shares("floor_first_event_right", [bool(h) and p.casefold() in h[0].text.casefold() for h, p in firsts]),
        **_shares("floor_first_event_refused", [not hits for _, hits in nothing]),
    }
    print(json.dumps(results, indent=1))
    write_result("asking", results, seed=0, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - started)


def _shares(name: str, values: list[bool]) -> dict[str, object]:
    odd, even = values[::2], values[1::2]
    return {
        f"n_{name}": len(values),
        name: round(sum(values) / len(values), 4),
        f"{name}_odd": round(sum(odd) / len(odd), 4),
        f"{name}_even": round(sum(even) / len(even), 4),
    }


def _tell(told: list[tuple[str, str, str]], events: EventMemory, facts: FactStore) -> None:
    stranger = Label(frozenset({"message"}), frozenset())
    for number, (day, person, text) in enumerate(told):
        at = dt.datetime.fromisoformat(f"{day}T10:00:00+00:00")
        kind, label = ("message", stranger) if person else ("remembered", OWNER)
        events.remember_all([NewEvent(f"e{number}", text, kind, at, label, person)])
        learn_from(facts, Told(f"e{number}", text, kind, at, label, person), known_from(facts))


if __name__ == "__main__":
    main()
