"""Reads invented pieces of homes: mails, notes, tables and documents, with what their owners would ask of each.

They were written for the reader of answers (`training/home_passages.jsonl`) and are like nothing that any benchmark
asks. Every fifth is never learnt: by these it is fitted how far the reader is believed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from hearth.errors import RequestError
from hearth_bench.suites.reading.question_file import DocumentQuestion, Kind, RightAnswer, read_questions

HELD_EVERY = 5


class PieceQuestion(BaseModel):
    """A question of a piece, and the words of its text that answer; none: nothing in it does."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    q: str
    a: tuple[str, ...]
    yes: bool | None = None
    """What the words amount to where yes or no is asked."""


class HomePiece(BaseModel):
    """A mail, note, document or conversation, as it would lie in somebody's home."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    title: str
    person: str
    """Who wrote it; empty: it is the owner's own."""
    text: str
    qa: tuple[PieceQuestion, ...]

    @property
    def head(self) -> str:
        """What stands above the text where it is read."""
        return " · ".join(part for part in (self.title, self.person) if part)


def read_pieces(path: Path, *, held: bool) -> list[HomePiece]:
    """Read the pieces that are learnt, or those that never are."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [HomePiece.model_validate_json(one) for n, one in enumerate(lines) if (n % HELD_EVERY == 0) == held]


def read_documents(path: Path) -> list[DocumentQuestion]:
    """Read questions over documents, or, where the first line is a piece of a home, those of such pieces.

    Raises:
        RequestError: A line is neither; says which and why.
    """
    lines = [line for line in path.read_bytes().splitlines() if line.strip()]
    if not lines or not _is_piece(lines[0]):
        return read_questions(path)
    found: list[DocumentQuestion] = []
    for number, line in enumerate(lines, 1):
        try:
            found += questions_of(HomePiece.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the line"
            raise RequestError(f"{path}, piece {number}: {where}: {first['msg']}") from None
    return found


def _is_piece(line: bytes) -> bool:
    try:
        HomePiece.model_validate_json(line)
    except ValidationError:
        return False
    return True


def questions_of(piece: HomePiece) -> Iterator[DocumentQuestion]:
    """Yield a piece's questions; its text is the document."""
    for number, asked in enumerate(piece.qa):
        kind: Kind = "abstain" if not asked.a else "extractive" if asked.yes is None else "yesno"
        texts = ("yes" if asked.yes else "no",) if kind == "yesno" else asked.a
        yield DocumentQuestion(
            id=f"{piece.title}-{number}",
            source="homes",
            context_title=piece.head,
            context=piece.text,
            question=asked.q,
            answers=tuple(RightAnswer(text=text, start=piece.text.find(text)) for text in texts),
            kind=kind,
        )
