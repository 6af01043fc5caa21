"""Fit what chooses among tables: `python -m training.table_choice_train` (a quarter of an hour).

The questions over the authors' tables of which the programs' weights learn nothing (every fifth;
`training.table_programs_train`) are asked in three homes that hold a third of these tables each; those of Q2A's tuned
homes and of the newcomers in their own, alone and with forty such tables beside, of which twelve are asked, too. What
each table tells (`table_candidates`) is right or not, by the judging of the measures; a logistic regression learns
which is. Written to `data/table_choice.json` with what comes of it where the tables, or the home, of a part are left
out. Deterministic.
"""

from __future__ import annotations

import datetime as dt
import functools
import json
import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from hearth.agent import Agent
from hearth.config import cache_folder
from hearth.guard.policy.question import RefusingApprover
from hearth.memory.answers.home_answers import HomeAnswers
from hearth.memory.inquiry.answer_reading import AnswerReader, least_chance
from hearth.memory.inquiry.table_answers import CHOICE_SIGNS, LEAST_TOLD, table_candidates
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.protocols import CallContext, HomeAnswer
from hearth.storage.database import Store
from hearth.tools.memory import LEAST_SURE
from hearth_bench.data.newcomer_home.newcomer import (
    NEWCOMERS,
    NewcomerQuestion,
    read_newcomer_questions,
    write_newcomer_home,
)
from hearth_bench.data.q2a_homes import read_world
from hearth_bench.measure.memory import home_questions
from hearth_bench.measure.memory.table_questions import files_of, home_of, is_right, questions_of
from training.table_programs_train import TABLES, is_left_out

_OUT = Path(__file__).parents[1] / "src" / "hearth" / "data" / "table_choice.json"
_N_HOMES, _N_PARTS, _RIDGE, _N_STEPS = 3, 5, 1.0, 30
_N_BESIDE, _N_ASKED_BESIDE = 40, 12
"""Tables that lie in a home beside its own things, and those of them that are asked."""

Array = NDArray[np.float64]
Judge = Callable[[HomeAnswer], bool]


@dataclass(frozen=True, slots=True)
class Choice:
    """A question with what may be told of it."""

    kind: str
    part: int
    """The part in which it is left out, with all others of its table."""
    signs: Array
    """Of what each table tells, shape [tables, signs]."""
    right: NDArray[np.bool_]
    """Whether it is right, shape [tables]."""
    read_chance: float
    is_read_right: bool
    is_refusal_right: bool


def main() -> None:
    encoder, reader = MiniLMEncoder.open(), AnswerReader(cache_folder())
    choices = [*_of_tables(encoder, reader), *_of_homes(encoder, reader), *_of_newcomers(encoder)]
    record = {
        "weights": dict(zip(CHOICE_SIGNS, (round(float(one), 4) for one in fitted_weights(choices)), strict=True)),
        "fitted_on": f"{len(choices)} questions, {sum(len(one.right) for one in choices)} answers of tables",
        "where_left_out": figures(choices),
    }
    _OUT.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))


def _left_out() -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in TABLES.read_text("utf-8").splitlines()]
    return [one for one in lines if is_left_out(one["title"])]


def _of_tables(encoder: MiniLMEncoder, reader: AnswerReader) -> Iterator[Choice]:
    kept = _left_out()
    for n in range(_N_HOMES):
        tables = kept[n::_N_HOMES]
        with home_of(tables, encoder, reader) as (home, call):
            for table in tables:
                part = zlib.crc32(table["title"][::-1].encode()) % _N_PARTS
                for one in questions_of([table]):
                    kind = "told by a table" if one.answers else "told by none"
                    yield asked(one.question, (home, call, encoder), (kind, part), functools.partial(is_right, one=one))
        print(f"asked {n + 1} of {_N_HOMES} homes of tables …", file=sys.stderr)


def _of_homes(encoder: MiniLMEncoder, reader: AnswerReader) -> Iterator[Choice]:
    """Ask the tuned homes of their own things, alone and with tables beside them, and of the first of these tables."""
    kept = _left_out()
    for part, owner in enumerate(home_questions.TUNED):
        world = read_world(owner)
        now = dt.datetime.fromisoformat(home_questions.DAY).replace(tzinfo=ZoneInfo(world.file.owner.zone))
        own = [one for one in home_questions.read_questions() if one.owner == owner]
        for tables in ([], kept[part * _N_BESIDE :][:_N_BESIDE]):
            workspace = world.workspace(now)
            for path, text in files_of(tables).items():
                workspace.write(path, text)
            with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "a.db") as store:
                home = HomeAnswers(store, encoder, reader)
                asking = home, world.context("train", now, workspace, world.memory(now)), encoder
                home.find_answer("anything", asking[1])
                for one in own:
                    judge = functools.partial(_is_right_at_home, one=one)
                    yield asked(one.question, asking, ("told by a home", part), judge)
                for said in questions_of(tables[:_N_ASKED_BESIDE]):
                    kind = "told by a table in a home" if said.answers else "told by none in a home"
                    yield asked(said.question, asking, (kind, part), functools.partial(is_right, one=said))
            print(f"asked the home of {owner} with {len(tables)} tables beside …", file=sys.stderr)


def _of_newcomers(encoder: MiniLMEncoder) -> Iterator[Choice]:
    """Ask the newcomers' homes of their own things, alone and with tables beside them, and of the first of these."""
    kept = _left_out()
    for n, who in enumerate(NEWCOMERS):
        for tables in ([], kept[n % _N_HOMES :: _N_HOMES][:_N_BESIDE]):
            with tempfile.TemporaryDirectory() as folder:
                now = write_newcomer_home(who, Path(folder) / "home")
                for path, text in files_of(tables).items():
                    place = Path(folder) / "home" / "owner" / path
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(text)
                agent = Agent.open(
                    Path(folder) / "home",
                    RefusingApprover(),
                    environ=os.environ,
                    clock=functools.partial(_always, now),
                    encoder=encoder,
                )
                asking = agent.home_answers, agent.call_context(), encoder
                agent.home_answers.find_answer("anything", asking[1])
                for one in read_newcomer_questions(who):
                    judge = functools.partial(_is_right_at_newcomer, one=one)
                    yield asked(one.question, asking, ("told by a newcomer's home", n % _N_PARTS), judge)
                for said in questions_of(tables[:_N_ASKED_BESIDE]):
                    kind = "told by a table in a home" if said.answers else "told by none in a home"
                    yield asked(said.question, asking, (kind, n % _N_PARTS), functools.partial(is_right, one=said))
                agent.close()
        print(f"asked the home of the {who.replace('_', ' ')} …", file=sys.stderr)


def _always(now: dt.datetime) -> dt.datetime:
    return now


def _is_right_at_newcomer(said: HomeAnswer, one: NewcomerQuestion) -> bool:
    if said.kind == "unknown" or not one.says:
        return said.kind == "unknown" and not one.says
    words = " ".join((said.value, *(place.quote for place in said.witnesses))).casefold()
    return all(w.casefold() in words for w in one.says) and not any(w.casefold() in words for w in one.without)


def _is_right_at_home(said: HomeAnswer, one: home_questions.HomeQuestion) -> bool:
    is_refused = said.kind == "unknown"
    return not is_refused and home_questions.holds(said.value, one) if one.answers else is_refused


def asked(
    question: str, asking: tuple[HomeAnswers, CallContext, MiniLMEncoder], group: tuple[str, int], is_right: Judge
) -> Choice:
    """Ask what the tables and the passages of a home tell of a question, and judge each."""
    kind, part = group
    home, call, encoder = asking
    question = question.rstrip(" ?!")  # as `find_answer` does
    readings = home.readings(question, call)
    found = table_candidates(question, readings, home.passages, encoder) if readings else []
    best = readings[0] if readings else None
    return Choice(
        kind,
        part,
        np.array([one.signs for one in found], dtype=np.float64).reshape(len(found), len(CHOICE_SIGNS)),
        np.array([is_right(one.answer(0.5)) for one in found], dtype=np.bool_),
        best.chance if best is not None else 0.0,
        best is not None and is_right(HomeAnswer("text", best.text, "", (), best.chance)),
        is_right(HomeAnswer("unknown", "", "", (), 0.0)),
    )


def fitted_weights(choices: Sequence[Choice]) -> Array:
    """Return the weights of a logistic regression with a ridge, by Newton's steps; the first sign is the bias."""
    signs, right = np.concatenate([one.signs for one in choices]), np.concatenate([one.right for one in choices])
    ridge = _RIDGE * np.eye(signs.shape[1])
    ridge[0, 0] = 0.0
    weights = np.zeros(signs.shape[1])
    for _ in range(_N_STEPS):
        chances = 1.0 / (1.0 + np.exp(-signs @ weights))
        curve = (signs * (chances * (1.0 - chances))[:, None]).T @ signs + ridge
        weights -= np.linalg.solve(curve, signs.T @ (chances - right) + ridge @ weights)
    return np.asarray(weights)


def figures(choices: Sequence[Choice]) -> dict[str, dict[str, float]]:
    """Return the shares of questions that come out right with weights of the other parts, by kind."""
    rows: dict[str, list[tuple[bool, bool, bool]]] = {}
    for part in range(_N_PARTS):
        weights = fitted_weights([one for one in choices if one.part != part])
        for one in choices:
            if one.part == part:
                rows.setdefault(one.kind, []).append(_outcome(one, weights))
    names = ("right", "wrong_for_sure", "refused")
    shares = {kind: np.mean(some, axis=0).round(4).tolist() for kind, some in rows.items()}
    return {kind: {"n": len(rows[kind]), **dict(zip(names, shares[kind], strict=True))} for kind in rows}


def _outcome(one: Choice, weights: Array) -> tuple[bool, bool, bool]:
    """Return whether what is told is right, is wrong though sure, is a refusal."""
    chances = 1.0 / (1.0 + np.exp(-one.signs @ weights))
    k = int(chances.argmax()) if len(chances) else -1
    if k >= 0 and chances[k] > max(one.read_chance, LEAST_TOLD):
        is_sure = chances[k] >= LEAST_SURE and one.signs[k, CHOICE_SIGNS.index("titled")] > 0
        return bool(one.right[k]), bool(not one.right[k] and is_sure), False
    if one.read_chance < least_chance():
        return one.is_refusal_right, False, True
    return one.is_read_right, not one.is_read_right and one.read_chance >= LEAST_SURE, False


if __name__ == "__main__":
    main()
