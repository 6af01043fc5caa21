"""Train what finds the program that a question asks of a table: `python -m training.table_programs_train` (minutes).

Learnt from public questions over tables (WikiTableQuestions, TAT-QA's tables; `../shared/data/qa`) and from those that
authors wrote over the tables of invented people (`home_tables.jsonl`). No program is given: of all that come to a right
answer the model's own likeliest are made likelier (Pasupat and Liang 2015, section 4), by AdaGrad over the questions in
an order that the seed fixes. A third of the questions is asked of another's table, too, which does not tell. Left out
of everything: documents that `answers-1` holds back, and every fifth of the authors' tables, for the figures in the
record. Deterministic.
"""

from __future__ import annotations

import json
import random
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth.memory.inquiry.table_programs import (
    FILE,
    N_CELLS,
    N_LABELS,
    N_PAIRS,
    OPERATIONS,
    ROLES,
    SELECTIONS,
    SIGNS,
    Grid,
    Meaning,
    Program,
    Weighed,
    Weights,
    head_texts,
    likeliest,
    number_of,
    weighed,
)
from hearth.memory.search.collecting import lists_in, tables_in
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth_bench.suites.reading.question_file import is_held, read_questions
from training.tool_heads_train import data_folder

TABLES = Path(__file__).with_name("home_tables.jsonl")
UNSEEN = Path(__file__).parents[1] / "packages/hearth-bench/hearth_bench/measure/data/unseen_home_tables.jsonl"
"""Tables of an author of whom nothing is learnt, only counted."""
_OUT = Path(__file__).parents[1] / "src" / "hearth" / "data" / FILE
_SOURCES = ("wtq",)
_N_ROUNDS, _N_MEANT, _STEP, _RIDGE, _SEED = 6, 3, 0.03, 1e-4, 1
_MEANT_STEP = 0.03
_OF_HOMES = 3
"""How many times the authors' questions are seen for each time of the public ones."""
_ANOTHERS = 0.33
_SAID_AS = {
    "cell": frozenset({"cell"}),
    "sum": frozenset({"sum", "row sum", "product"}),
    "count": frozenset({"count"}),
    "argmax": frozenset({"argmax", "argmin", "mode"}),
    "max": frozenset({"max", "min"}),
    "list": frozenset({"list"}),
    "mean": frozenset({"mean"}),
    "difference": frozenset({"difference", "columns apart", "days apart"}),
    "yesno": frozenset({"yesno"}),
    "first": frozenset({"first", "argmin"}),
    "last": frozenset({"last", "argmax"}),
    "ranked": frozenset({"ranked", "ranked up"}),
}
"""Operations of programs by what the authors called theirs."""


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """A question with the table it is about, and the right answers."""

    question: str
    grid: Grid
    answers: tuple[str, ...]
    """Empty: the table does not tell."""
    is_list: bool
    """Whether all answers together are the right one."""
    group: str
    is_held: bool
    operations: frozenset[str] = frozenset()
    """What the program does, where its author said so."""


def public_questions() -> Iterable[TableQuestion]:
    """Yield the public questions over tables."""
    for one in read_questions(data_folder().parent / "qa" / "qa.jsonl"):
        if one.source in _SOURCES and (tables := tables_in(one.context)):
            grid = Grid.of(max(tables, key=lambda table: len(table.rows)), one.context_title)
            if grid is not None:
                yield TableQuestion(
                    one.question, grid, tuple(a.text for a in one.answers), False, one.source, is_held(one)
                )


def home_questions(path: Path = TABLES) -> Iterable[TableQuestion]:
    """Yield the authors' questions over the tables of invented people."""
    for line in path.read_text("utf-8").splitlines():
        said = json.loads(line)
        tables = tables_in(said["text"]) or lists_in(said["text"])
        grid = Grid.of(max(tables, key=lambda table: len(table.rows)), said["title"]) if tables else None
        held = is_left_out(said["title"])
        if grid is None:
            continue
        for one in said["questions"]:
            answers, meant = tuple(map(str, one["answers"])), _SAID_AS.get(one["op"], frozenset())
            yield TableQuestion(one["question"], grid, answers, one.get("is_list", False), "home", held, meant)


def is_left_out(title: str) -> bool:
    """Return whether nothing is learnt of an author's table."""
    return zlib.crc32(title.encode()) % 5 == 0


def is_right(program: Program, one: TableQuestion) -> bool:
    """Return whether a program comes to a right answer."""
    if not one.answers:
        return program.operation == "nothing"
    if program.operation == "nothing":
        return False
    value = program.value
    if isinstance(value, float):
        return not one.is_list and any(_is_number(value, answer) for answer in one.answers)
    if "ranked" in one.operations:
        return tuple(map(_plain, value)) == tuple(map(_plain, one.answers))
    said = {_plain(text) for text in value}
    if one.is_list:
        return said == {_plain(answer) for answer in one.answers}
    return len(said) == 1 and bool(said & {_plain(answer) for answer in one.answers})


def _is_number(value: float, answer: str) -> bool:
    right = number_of(answer)
    return right is not None and abs(value - right) <= 0.005 + 1e-6 * abs(right)


def _plain(text: str) -> str:
    number = number_of(text)
    if number is not None and re.search(r"\d", text):
        return f"{number:g}"
    return " ".join(re.findall(r"\w+", text.casefold()))


def main() -> None:
    random.seed(_SEED)
    asked = [*public_questions(), *home_questions()]
    learnt = [one for one in asked if not one.is_held]
    held = [one for one in asked if one.is_held]
    print(f"{len(learnt)} questions to learn, {len(held)} to count", file=sys.stderr)
    unseen = [*home_questions(UNSEEN)]
    meaning_of = meanings_of([*asked, *unseen])
    weights = trained(learnt, meaning_of)
    record = {
        "n_learnt": len(learnt),
        "held": figures(held, weights, meaning_of),
        "unseen": figures(unseen, weights, meaning_of),
    }
    np.savez_compressed(_OUT, **{one.name: getattr(weights, one.name).astype(np.float16) for one in fields(Weights)})
    print(json.dumps(record, indent=1))


def meanings_of(questions: Sequence[TableQuestion]) -> Callable[[str, Grid], Meaning]:
    """Embed the questions and the names of columns; return what compares one with another's."""
    encoder = MiniLMEncoder.open()
    texts = list(
        dict.fromkeys([*(one.question for one in questions), *(h for one in questions for h in head_texts(one.grid))])
    )
    places = {text: k for k, text in enumerate(texts)}
    vectors = np.concatenate([encoder.encode(texts[k : k + 512]) for k in range(0, len(texts), 512)]).astype(np.float16)

    def meaning_of(question: str, grid: Grid) -> Meaning:
        heads = vectors[[places[head] for head in head_texts(grid)]].astype(np.float32)
        return Meaning.of(vectors[places[question]].astype(np.float32), heads)

    return meaning_of


def trained(questions: Sequence[TableQuestion], meaning_of: Callable[[str, Grid], Meaning]) -> Weights:
    """Return the weights that make right programs likely: the mean of those after each later round."""
    rng = random.Random(_SEED)
    made: list[tuple[Weighed, NDArray[np.bool_]]] = []
    n_reached: Counter[str] = Counter()
    for n, one in enumerate(questions):
        for grid, is_own in ((one.grid, True), (rng.choice(questions).grid, False)):
            if not is_own and (rng.random() > _ANOTHERS or grid is one.grid):
                continue
            programs = weighed(one.question, grid, meaning_of(one.question, grid))
            right = _right_ones(programs, one, is_own=is_own)
            if right.any():
                n_reached[one.group] += is_own
                made += [(programs, right)] * (_OF_HOMES if one.group == "home" else 1)
        if n % 500 == 499:
            print(f"making programs, {n + 1} of {len(questions)} …", file=sys.stderr)
    print(f"reached: {dict(n_reached)} of {dict(Counter(one.group for one in questions))}", file=sys.stderr)
    return _descended(made, rng)


def _descended(made: list[tuple[Weighed, NDArray[np.bool_]]], rng: random.Random) -> Weights:
    dim = made[0][0].meaning.size
    shapes = (
        *((len(OPERATIONS), len(SIGNS)), (N_LABELS, N_CELLS), (len(SELECTIONS), N_CELLS), (len(ROLES), N_PAIRS)),
        *((N_LABELS, dim), (len(SELECTIONS), dim)),
    )
    weights = Weights(*(np.zeros(shape, dtype=np.float32) for shape in shapes))
    squares = [np.full(shape, 1e-4, dtype=np.float32) for shape in shapes]
    total = [np.zeros(shape, dtype=np.float32) for shape in shapes]
    for n_round in range(_N_ROUNDS):
        rng.shuffle(made)
        for programs, right in made:
            _learn(programs, right, weights, squares)
        if n_round >= _N_ROUNDS - _N_MEANT:
            for kept, one in zip(total, fields(Weights), strict=True):
                kept += getattr(weights, one.name) / _N_MEANT
        print(f"round {n_round + 1} of {_N_ROUNDS} …", file=sys.stderr)
    return Weights(*total)


def _right_ones(made: Weighed, one: TableQuestion, *, is_own: bool) -> NDArray[np.bool_]:
    """Return which programs are right: of those that come to a right answer as its author meant, if any."""
    right = [is_right(p, one) if is_own else p.operation == "nothing" for p in made.programs]
    meant = [
        is_it and (not one.operations or p.operation in one.operations)
        for is_it, p in zip(right, made.programs, strict=True)
    ]
    return np.array(meant if is_own and any(meant) else right, dtype=np.bool_)


def _learn(made: Weighed, right: NDArray[np.bool_], weights: Weights, squares: list[NDArray[np.float32]]) -> None:
    """Take one step towards the programs that come to a right answer."""
    scores = made.scores(weights).astype(np.float64)
    chances = np.exp(scores - scores.max())
    chances /= chances.sum()
    among = np.where(right, chances, 0.0)
    slope = (among / max(among.sum(), 1e-12) - chances).astype(np.float32)
    of_signs = np.zeros_like(weights.signs)
    np.add.at(of_signs, made.operations, slope[:, None] * made.signs)
    squares[0] += of_signs**2
    weights.signs[...] += _STEP * of_signs / np.sqrt(squares[0])
    for table, square, groups, of_meaning, meant_square in (
        (weights.words, squares[1], made.labels, weights.meant, squares[4]),
        (weights.choices, squares[2], made.choices, weights.meant_choices, squares[5]),
    ):
        by_group = np.bincount(groups, weights=slope, minlength=len(table)).astype(np.float32)
        cells = np.unique(made.words)
        step = by_group[:, None] - _RIDGE * table[:, cells]
        square[:, cells] += step**2
        table[:, cells] += _STEP * step / np.sqrt(square[:, cells])
        meant = by_group[:, None] * made.meaning - _RIDGE * of_meaning
        meant_square += meant**2
        of_meaning += _MEANT_STEP * meant / np.sqrt(meant_square)
    by_column = np.einsum("prc,p->rc", made.uses, slope)
    for k, cells in enumerate(made.pairs):
        step = by_column[:, k, None] - _RIDGE * weights.pairs[:, cells]
        squares[3][:, cells] += step**2
        weights.pairs[:, cells] += _STEP * step / np.sqrt(squares[3][:, cells])


def figures(
    questions: Sequence[TableQuestion], weights: Weights, meaning_of: Callable[[str, Grid], Meaning]
) -> dict[str, object]:
    """Count right answers by source, and what is told of tables that do not tell."""
    rows: dict[str, list[tuple[bool, bool, float]]] = {}
    for one in questions:
        likely = likeliest(one.question, one.grid, meaning_of(one.question, one.grid), weights)
        told = likely if likely is not None and likely.is_likely else None
        right = (told is None) if not one.answers else told is not None and is_right(told.program, one)
        kind = one.group if one.answers else f"{one.group}, nothing"
        rows.setdefault(kind, []).append((right, told is not None, told.chance if told else 0.0))
    return {
        kind: {
            "n": len(some),
            "right": round(sum(right for right, _, _ in some) / len(some), 4),
            "told": round(sum(told for _, told, _ in some) / len(some), 4),
            "told_sure_and_wrong": round(sum(not right and chance >= 0.65 for right, _, chance in some) / len(some), 4),
        }
        for kind, some in rows.items()
    }


if __name__ == "__main__":
    main()
