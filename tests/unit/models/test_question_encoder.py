"""The question encoder: each question by itself, any text, near what answers it, and a damaged file is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hearth.errors import ConfigError
from hearth.models.lora_encoder import MAX_TOKENS, QUESTION_ENCODER_FILE, QuestionEncoder, question_ids, questions_for
from hearth.models.sentence_encoder import MiniLMEncoder

ASKED = ("who teaches while she is away", "", "🙂 ünïcode \ud800", "lamp " * 900)


@pytest.fixture(scope="module")
def questions() -> QuestionEncoder:
    return QuestionEncoder()


def test_a_question_is_read_by_itself_in_any_company(questions: QuestionEncoder) -> None:
    together = questions.encode(ASKED)
    assert together.shape == (len(ASKED), questions.dim)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    for text, vector in zip(ASKED, together, strict=True):
        assert np.array_equal(questions.encode([text])[0], vector)
    assert questions.encode([]).shape == (0, questions.dim)
    assert len(question_ids(ASKED[-1])) == MAX_TOKENS


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        (
            "who looks after the cat while we are off",
            "Mrs Lind feeds Mika from the 3rd, key under the pot.",
            "The cat flap costs 38 pounds.",
        ),
        (
            "how much do they keep if i damage the flat",
            "A guarantee of 1,400 euros is held by the bank.",
            "The flat below was damaged by water; they keep the door open.",
        ),
    ],
)
def test_it_lies_nearer_to_what_answers_than_the_shipped_encoder_puts_it(
    questions: QuestionEncoder, question: str, answer: str, other: str
) -> None:
    shipped = MiniLMEncoder.open()
    passages = shipped.encode([answer, other])
    before, after = (float(np.subtract(*(passages @ one.encode([question])[0]))) for one in (shipped, questions))
    assert after > before


@pytest.mark.parametrize("damage", ["gone", "cut", "noise"])
def test_a_damaged_file_is_named(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "question_encoder.npz"
    if damage == "cut":
        path.write_bytes(QUESTION_ENCODER_FILE.read_bytes()[:-400])
    elif damage == "noise":
        path.write_bytes(b"\x00\xffnot an archive")
    with pytest.raises(ConfigError, match=r"question encoder .*question_encoder\.npz.*reinstall Hearth"):
        QuestionEncoder(tmp_path, path).encode(["who"])


def test_beside_another_encoder_there_is_none() -> None:
    assert questions_for(object()) is None
    assert isinstance(questions_for(MiniLMEncoder.open()), QuestionEncoder)


def test_its_memory_is_handed_back_and_the_next_question_opens_it_again(questions: QuestionEncoder) -> None:
    before = questions.encode(["who"])
    questions.rest()
    assert np.array_equal(questions.encode(["who"]), before)
