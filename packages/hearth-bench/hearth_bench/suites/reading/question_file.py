"""Reads files of questions over documents, and splits them by document: nothing of a document is on both sides."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from hearth.errors import RequestError

SPLIT_SEED = "answers-1"
HELD_SHARE = 0.15
"""Share of the documents that nothing is trained on."""
TUNED_SHARE = 0.05
"""Share of the documents, among the held ones, on which weights and thresholds are chosen."""
Kind = Literal["extractive", "abstain", "yesno", "count", "abstractive"]


class RightAnswer(BaseModel):
    """A right answer and where it stands; -1: it stands nowhere word for word."""

    model_config = ConfigDict(frozen=True)
    text: str
    start: int = -1


class DocumentQuestion(BaseModel):
    """A question with the document it is about, and every right answer."""

    model_config = ConfigDict(frozen=True)
    id: str
    source: str = ""
    context_title: str = ""
    context: str
    question: str
    answers: tuple[RightAnswer, ...] = ()
    kind: Kind

    @property
    def document(self) -> str:
        """What keeps questions over one document together."""
        return self.context_title or self.context


def read_questions(path: Path) -> list[DocumentQuestion]:
    """Read a file with one question a line. Raises: RequestError: A line is no question; says which and why."""
    found = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            found.append(DocumentQuestion.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the line"
            raise RequestError(
                f"{path}, line {number}: {where}: {first['msg']}; see `hearth bench answers --help`"
            ) from None
    return found


def is_held(question: DocumentQuestion) -> bool:
    """Return whether nothing is trained on the question's document."""
    return _place(question) < HELD_SHARE


def is_for_tuning(question: DocumentQuestion) -> bool:
    """Return whether the question's document is one of the held ones on which thresholds are chosen."""
    return _place(question) < TUNED_SHARE


def held_out(questions: Iterable[DocumentQuestion]) -> list[DocumentQuestion]:
    """Return the questions over documents on which nothing was trained and nothing chosen."""
    return [one for one in questions if is_held(one) and not is_for_tuning(one)]


def drawn(questions: Sequence[DocumentQuestion], n: int, seed: int) -> list[DocumentQuestion]:
    """Draw at most `n` questions by lot, in the file's order."""
    if len(questions) <= n:
        return list(questions)
    chosen = set(random.Random(seed).sample(range(len(questions)), n))  # noqa: S311 - a lot, no secret
    return [one for place, one in enumerate(questions) if place in chosen]


def _place(question: DocumentQuestion) -> float:
    digest = hashlib.sha256(f"{SPLIT_SEED}\0{question.document}".encode(errors="replace")).digest()
    return int.from_bytes(digest[:4], "big") / 2**32


def described(path: Path) -> dict[str, object]:
    """Return a file's name and hash, for a result."""
    return {"data": path.name, "data_sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
