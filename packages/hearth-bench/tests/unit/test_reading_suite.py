"""Questions over documents: the file's form, its split, and what counts as right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hearth import cli
from hearth.cli.invocation import Progress
from hearth.errors import RequestError
from hearth.memory.inquiry.answer_reading import AnswerReader
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth_bench.suites.reading.home_pieces import read_documents
from hearth_bench.suites.reading.question_file import (
    DocumentQuestion,
    drawn,
    held_out,
    is_for_tuning,
    is_held,
    read_questions,
)
from hearth_bench.suites.reading.reading_suite import measure_reading, span_f1

LEASE = "The rent of the studio is 380 pounds a month. The notice period of the studio is two months."


def line(id: str, question: str, kind: str, *answers: str, context: str = LEASE) -> str:
    given = [{"text": text, "start": context.find(text)} for text in answers]
    return json.dumps({"id": id, "context": context, "question": question, "kind": kind, "answers": given})


def written(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_line_that_is_no_question_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", line("1", "q", "extractive", "rent"), '{"id": "2", "kind": "x"}')
    with pytest.raises(RequestError, match=r"line 2: context"):
        read_questions(path)


def test_a_file_of_pieces_of_homes_is_read_as_the_questions_of_each(tmp_path: Path) -> None:
    piece = {"title": "Lodger", "person": "", "text": "Room key no. 3, in since May", "qa": []}
    qa = [{"q": "which key has he", "a": ["no. 3"]}, {"q": "how old is he", "a": []}]
    path = written(tmp_path / "a.jsonl", json.dumps({**piece, "qa": qa}), json.dumps(piece))
    assert [(one.question, one.kind) for one in read_documents(path)] == [
        (qa[0]["q"], "extractive"),
        (qa[1]["q"], "abstain"),
    ]
    assert read_documents(written(tmp_path / "b.jsonl", line("1", "q", "extractive", "rent")))[0].id == "1"
    with pytest.raises(RequestError, match="piece 2: qa"):
        read_documents(written(tmp_path / "c.jsonl", json.dumps(piece), '{"title": "x", "person": "", "text": "y"}'))


def test_the_split_keeps_a_document_on_one_side() -> None:
    some = [DocumentQuestion(id=str(k), context=f"text {k // 5}", question="q", kind="abstain") for k in range(2000)]
    held = {one.context for one in some if is_held(one)}
    assert 0.1 < len(held) / 400 < 0.2
    assert all((one.context in held) == is_held(one) for one in some)
    assert {one.context for one in held_out(some)} == {o.context for o in some if is_held(o) and not is_for_tuning(o)}
    assert drawn(some, 10, 1) == drawn(some, 10, 1) != drawn(some, 10, 2)


@pytest.mark.parametrize(
    ("said", "right", "f1"), [("the Blue Bowl", "blue bowl", 1.0), ("a bowl", "blue bowl", 2 / 3), ("x", "y", 0.0)]
)
def test_f1_is_over_plain_words(said: str, right: str, f1: float) -> None:
    assert span_f1(said, right) == pytest.approx(f1)


def test_every_question_is_asked_and_floors_stand_beside(tmp_path: Path) -> None:
    table = "year | goals\n1989 | 4\n1991 | 7\n1995 | 12"
    path = written(
        tmp_path / "a.jsonl",
        line("1", "how long is the notice period of the studio", "extractive", "two months"),
        line("2", "how many goals altogether", "count", "23", context=table),
        line("3", "why", "abstractive", "because"),
    )
    found = measure_reading(
        read_questions(path), MiniLMEncoder.open(), AnswerReader(), is_whole=True, progress=Progress()
    )
    assert (found["n"], found["n_written_answers_not_asked"], found["count_accuracy"]) == (2, 1, 1.0)
    assert {
        "extractive_f1",
        "refused_rightly",
        "refused_wrongly",
        "yesno_accuracy",
        "whole_extractive_f1",
    } <= found.keys()
    assert found["floor_most_words_f1"] == pytest.approx(span_f1(LEASE.split(". ")[1], "two months"), abs=1e-3)


def test_the_command_asks_a_file_and_writes_what_came_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(
        tmp_path / "a.jsonl",
        line("1", "how long is the notice period of the studio", "extractive", "two months"),
        line("2", "what colour is the door", "abstain"),
    )
    out = tmp_path / "out.json"
    arguments = ["bench", "answers", "--data", str(path), "--json", str(out)]
    assert cli.run([*arguments, "--given-only"]) == 0
    found, said = json.loads(out.read_text()), capsys.readouterr().out
    assert (found["n"], found["seed"], found["is_held_out"]) == (2, 0, False)
    assert (found["extractive_f1"], found["refused_rightly"]) == (1.0, 1.0)
    assert {"commit", "machine", "wall_s", "floor_most_words_f1"} <= found.keys()
    assert "whole_extractive_f1" not in found
    assert said.endswith(f"written to    {out}\n")
    assert cli.run([*arguments, "--questions", "1"]) == 0
    whole = json.loads(out.read_text())
    assert whole["n"] == 1
    assert any(name.startswith("whole_") for name in whole)


def test_the_command_names_a_line_that_is_no_question(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "a.jsonl", '{"id": "2", "kind": "x"}')
    arguments = ["bench", "answers", "--data", str(path), "--json"]
    assert cli.run([*arguments, str(tmp_path / "out.json")]) == 3
    assert "line 1: context" in capsys.readouterr().err
    assert cli.run([*arguments, str(tmp_path / "no folder" / "out.json")]) != 0
    assert not (tmp_path / "out.json").exists()
