"""Ask what people ask of their tables, in a home that holds all tables of the file together.

    python -m hearth_bench.measure.memory.table_questions [FILE.jsonl]

Writes packages/hearth-bench/results/table_questions.json. The tables are of an author of whom nothing is learnt
(`unseen_home_tables.jsonl`). Right: a number equals the answer's, a text holds it and little more, a list has all rows
and no other, yes or no is the answer's first word, and what the tables do not tell is refused.

Not covered: whether the rows that are shown are those of the answer; a home with other things beside its tables.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hearth.config import cache_folder
from hearth.memory.answers.home_answers import HomeAnswers
from hearth.memory.inquiry.answer_reading import AnswerReader
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.protocols import CallContext, HomeAnswer
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW, InMemoryWorkspace, make_call
from hearth.tools.memory import LEAST_SURE
from hearth_bench.measure.result_file import OWN_DATA, write_result

FILE = OWN_DATA / "unseen_home_tables.jsonl"
_MOST_BESIDE = 60
"""Characters that a text may have beside the answer."""
_NUMBER = re.compile(r"[^\w]*(?:[A-Z]{1,3})?\s?[\d., ]+\s?[^\w]*[a-z]{0,4}")
_PART = re.compile(r";|\n|, | and ")


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """A question with its right answers; none: no table tells."""

    question: str
    answers: tuple[str, ...]
    operation: str
    is_list: bool = False


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    began, cpu = time.perf_counter(), time.process_time()
    figures = ask_tables([json.loads(line) for line in path.read_text("utf-8").splitlines()])
    wall_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
    write_result("table_questions", {"file": path.name, **figures}, seed=0, cpu_s=cpu_s, wall_s=wall_s)


def ask_tables(tables: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Ask every question of a home that holds every table; figures by what is asked."""
    rows: dict[str, list[tuple[bool, bool, bool]]] = defaultdict(list)
    with home_of(tables, MiniLMEncoder.open(), AnswerReader(cache_folder())) as (home, call):
        for one in questions_of(tables):
            told = home.find_answer(one.question, call)
            right, is_refused = is_right(told, one), told.kind == "unknown"
            row = (right, not right and not is_refused and told.chance >= LEAST_SURE, is_refused)
            for kind in ("all", "told by a table" if one.answers else "told by none", one.operation):
                rows[kind].append(row)
    return {kind: _figures(some) for kind, some in rows.items()}


def files_of(tables: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
    """Return the files of a home that holds the tables as notes and documents, by path."""
    folders = {"document": "documents", "note": "notes"}
    return {
        f"{folders[one['kind']]}/{re.sub(r'[^A-Za-z0-9 -]', '', one['title'])}.md": one["text"].encode()
        for one in tables
    }


@contextlib.contextmanager
def home_of(
    tables: Sequence[Mapping[str, Any]], encoder: MiniLMEncoder, reader: AnswerReader
) -> Iterator[tuple[HomeAnswers, CallContext]]:
    """Make a home that holds the tables as notes and documents, for the duration of the block."""
    call = make_call(workspace=InMemoryWorkspace(files_of(tables)), now=FIXED_NOW.replace(year=2026, month=11, day=24))
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "a.db") as store:
        home = HomeAnswers(store, encoder, reader)
        home.find_answer("anything", call)
        yield home, call


def questions_of(tables: Iterable[Mapping[str, Any]]) -> list[TableQuestion]:
    """Return the questions over tables, in order."""
    return [
        TableQuestion(q["question"], tuple(map(str, q["answers"])), q["op"], q.get("is_list", False))
        for one in tables
        for q in one["questions"]
    ]


def is_right(told: HomeAnswer, one: TableQuestion) -> bool:
    """Return whether an answer is right, as this module's text says."""
    if not one.answers or told.kind == "unknown":
        return not one.answers and told.kind == "unknown"
    said = _plain(told.value)
    if one.operation == "yesno":
        return said.split()[:1] == [one.answers[0]]
    if one.is_list:
        parts = [part for part in _PART.split(re.sub(r"\([^()]*\)", "", told.value)) if part.strip()]
        return len(parts) == len(one.answers) and all(f" {_plain(answer)} " in f" {said} " for answer in one.answers)
    return any(_is_said(answer, told.value, said) for answer in one.answers)


def _is_said(answer: str, value: str, said: str) -> bool:
    wanted = _number(answer) if _NUMBER.fullmatch(answer) else None
    if wanted is not None:
        number = _number(value)
        return number is not None and abs(number - wanted) <= 0.006 + 1e-6 * abs(wanted)
    return f" {_plain(answer)} " in f" {said} " and len(value) <= len(answer) + _MOST_BESIDE


def _number(text: str) -> float | None:
    found = re.search(r"\d[\d., ]*", text)
    if found is None:
        return None
    digits = found.group().strip(" .,").replace(" ", "")
    if re.search(r",\d{1,2}\Z", digits):
        digits = digits.replace(".", "").replace(",", ".")
    try:
        return float(digits.replace(",", ""))
    except ValueError:
        return None  # "8.10.2026"


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _figures(rows: Sequence[tuple[bool, bool, bool]]) -> dict[str, float]:
    shares = [round(sum(row[k] for row in rows) / len(rows), 4) for k in range(3)]
    return {"n": len(rows), "right": shares[0], "wrong_for_sure": shares[1], "refused": shares[2]}


if __name__ == "__main__":
    main()
