"""Measure how well questions over documents are answered, and whether those without an answer are refused.

Each question is asked twice: of its own document ("given"), and of all documents of the file together ("whole"),
where the right one has to be found first. A span counts by SQuAD's F1 over its words (Rajpurkar et al. 2016: lower
case, without articles and punctuation, the best of the right answers; a refusal counts 0), yes or no and counts by
being equal, a question without answer by being refused ("rightly"). "Elsewhere" is the share of the answerable ones
that is refused among what was found in other documents than the question's own.

Covered: floors by the sentence that shares most words with the question, by words alone and by meaning alone (the best
passage's best sentence).
Not covered: written answers ("abstractive" questions are counted, not asked), and whether the words found stand in a
context that says something else.
"""

from __future__ import annotations

import hashlib
import re
import statistics
import string
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hearth.cli.invocation import Progress
from hearth.memory.inquiry.answer_reading import (
    AnswerReader,
    Reading,
    asks_yes_or_no,
    covered,
    least_chance,
    read_passages,
)
from hearth.memory.inquiry.table_answers import told_in
from hearth.memory.search.passage_store import (
    SENTENCE,
    Candidate,
    NewPassage,
    Passage,
    PassageStore,
    likenesses,
    passages_of,
)
from hearth.models.lora_encoder import questions_for
from hearth.protocols import Encoder
from hearth.storage.database import Store
from hearth_bench.suites.reading.question_file import DocumentQuestion

_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


@dataclass(frozen=True, slots=True)
class Said:
    """What was answered to a question."""

    value: str
    """Empty: refused."""
    forced: str
    """The answer that a refusal held back."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the answers to it."""

    question: DocumentQuestion
    given: Said
    whole: Said | None
    elsewhere: Said | None
    """Of all documents but the question's own, where nothing answers."""
    floors: Mapping[str, str]
    ms: float


def document_store(
    questions: Iterable[DocumentQuestion], store: Store, encoder: Encoder, of_questions: Encoder
) -> PassageStore:
    """Keep every document of the questions as passages, once; a record's id is its document's hash."""
    passages = PassageStore(store, encoder, of_questions)
    kept: set[str] = set()
    for one in questions:
        record = record_of(one)
        if record not in kept:
            kept.add(record)
            passages.put(record, record, [_new(one, record, text) for text in cut_texts(one.context)])
    for _ in passages.embed():
        pass
    return passages


def record_of(one: DocumentQuestion) -> str:
    """Return the id of a question's document."""
    return hashlib.sha256(one.context.encode(errors="replace")).hexdigest()[:24]


def cut_texts(text: str) -> list[str]:
    """Return the passages of a text, a table's with its first row."""
    return [
        f"{cut.head}\n{text[cut.start : cut.end]}" if cut.head else text[cut.start : cut.end]
        for cut in passages_of(text)
    ]


def _new(one: DocumentQuestion, record: str, text: str) -> NewPassage:
    return NewPassage(record, "document", "file", one.context_title, "", None, text)


def own_candidates(one: DocumentQuestion, encoder: Encoder, of_questions: Encoder) -> list[Candidate]:
    """Return the passages of a question's own document, scored by shared words and meaning."""
    texts = cut_texts(one.context)
    found = [
        Passage(record_of(one), "document", "file", one.context_title, "", None, text, k, "")
        for k, text in enumerate(texts)
    ]
    near = likenesses(one.question, found, encoder, of_questions)
    return [
        Candidate(passage, covered(one.question, passage.read), likeness)
        for passage, likeness in zip(found, near, strict=True)
    ]


def said_of(one: DocumentQuestion, readings: Sequence[Reading], encoder: Encoder) -> Said:
    """Return the answer that a home gives to these readings."""
    if not readings:
        return Said("", "")
    best = readings[0]
    forced, chance = best.text, best.chance
    of_table = _of_table(one, readings, encoder)
    if of_table is not None and of_table[1] > chance:
        forced, chance = of_table
    elif asks_yes_or_no(one.question) and one.kind in ("yesno", "abstain"):
        forced = "yes" if best.p_yes >= 0.5 else "no"
    return Said(forced if chance >= least_chance() else "", forced)


def _of_table(one: DocumentQuestion, readings: Sequence[Reading], encoder: Encoder) -> tuple[str, float] | None:
    """Return what the likeliest passages' table tells, with its chance."""
    record = next((r.candidate.passage.record for r in readings if "|" in r.candidate.passage.text), None)
    pieces = [r.candidate.passage for r in readings if r.candidate.passage.record == record]
    text = "\n".join(piece.text for piece in sorted(pieces, key=lambda piece: piece.number))
    told = told_in(one.question, text, pieces[0].title, encoder) if pieces else None
    return (told.value, told.told.chance) if told is not None else None


def measure_reading(
    questions: Sequence[DocumentQuestion],
    encoder: Encoder,
    reader: AnswerReader,
    *,
    is_whole: bool,
    progress: Progress,
) -> dict[str, object]:
    """Ask every question, and return flat figures with those of each source below.

    Args:
        is_whole: Ask each also of all documents together.
    """
    asked: list[Asked] = []
    of_questions = questions_for(encoder) or encoder
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "a.db") as store:
        passages = document_store(questions, store, encoder, of_questions) if is_whole else None
        answered = [one for one in questions if one.kind != "abstractive"]
        with progress.stage("asking questions", len(answered)) as asked_one:
            for one in answered:
                own = own_candidates(one, encoder, of_questions)
                asked.append(_ask(one, own, passages, reader, encoder))
                asked_one(1)
    document: dict[str, object] = {**_figures(asked, lambda one: one.given)}
    if is_whole:
        document |= {f"whole_{name}": value for name, value in _figures(asked, lambda one: one.whole).items()}
        nowhere = [one.elsewhere for one in asked if one.elsewhere is not None and one.question.kind == "extractive"]
        document["whole_refused_elsewhere"] = _mean([float(not said.value) for said in nowhere])
        document["whole_p50_ms"] = round(statistics.median(one.ms for one in asked), 1) if asked else None
    spans = [one for one in asked if one.question.kind == "extractive"]
    for name in ("most_words", "words", "meaning"):
        document[f"floor_{name}_f1"] = _mean([_best_f1(one.floors[name], one.question) for one in spans])
    document["n_written_answers_not_asked"] = len(questions) - len(asked)
    document["by_source"] = {
        source: _figures([one for one in asked if one.question.source == source], lambda one: one.given)
        for source in sorted({one.question.source for one in asked})
    }
    return document


def _ask(
    one: DocumentQuestion,
    own: Sequence[Candidate],
    passages: PassageStore | None,
    reader: AnswerReader,
    encoder: Encoder,
) -> Asked:
    given = said_of(one, read_passages(one.question, own, reader), encoder)
    if passages is None:
        return Asked(one, given, None, None, _floors(one, own), 0.0)
    began = time.perf_counter()
    found = passages.find(one.question)
    readings = read_passages(one.question, found, reader)
    ms = (time.perf_counter() - began) * 1000
    others = [reading for reading in readings if reading.candidate.passage.record != record_of(one)]
    return Asked(one, given, said_of(one, readings, encoder), said_of(one, others, encoder), _floors(one, found), ms)


def reading_lines(document: Mapping[str, object]) -> list[str]:
    """Write the figures as a table: given the document, found among all, and the floors."""
    names = (
        "extractive_f1",
        "refused_rightly",
        "refused_elsewhere",
        "refused_wrongly",
        "yesno_accuracy",
        "count_accuracy",
    )
    lines = [f"{'':<18}{'given':>9}{'whole':>9}"]
    for name in names:
        values = (document.get(name), document.get(f"whole_{name}"))
        lines.append(f"{name:<18}" + "".join(f"{'–' if v is None else v:>9}" for v in values))
    floors = ", ".join(f"{name} {document[f'floor_{name}_f1']}" for name in ("most_words", "words", "meaning"))
    return [*lines, f"{'floors, F1':<18}{floors}"]


def _figures(asked: Sequence[Asked], way: Callable[[Asked], Said | None]) -> dict[str, float | int | None]:
    def of(*kinds: str) -> list[tuple[DocumentQuestion, Said]]:
        return [(one.question, said) for one in asked if one.question.kind in kinds and (said := way(one)) is not None]

    spans = of("extractive")
    return {
        "n": len(asked),
        "extractive_f1": _mean([_best_f1(said.value, one) for one, said in spans]),
        "extractive_f1_never_refusing": _mean([_best_f1(said.forced, one) for one, said in spans]),
        "refused_rightly": _mean([float(not said.value) for _, said in of("abstain")]),
        "refused_wrongly": _mean([float(not said.value) for _, said in spans]),
        "yesno_accuracy": _mean([float(_is_equal(said.forced, one)) for one, said in of("yesno")]),
        "count_accuracy": _mean([float(_is_equal(said.forced, one)) for one, said in of("count")]),
    }


def _mean(values: Sequence[float]) -> float | None:
    return round(statistics.fmean(values), 4) if values else None


def _floors(one: DocumentQuestion, found: Sequence[Candidate]) -> dict[str, str]:
    by_words = max(found, key=lambda c: c.words, default=None)
    by_meaning = max(found, key=lambda c: c.cosine, default=None)
    return {
        "most_words": _best_sentence(one.question, one.context),
        "words": _best_sentence(one.question, by_words.passage.text) if by_words else "",
        "meaning": _best_sentence(one.question, by_meaning.passage.text) if by_meaning else "",
    }


def _best_sentence(question: str, text: str) -> str:
    return max((found.group() for found in SENTENCE.finditer(text)), key=lambda s: covered(question, s), default="")


def _words(text: str) -> list[str]:
    plain = text.casefold().translate(str.maketrans("", "", string.punctuation + "’‘“”£€"))
    return _ARTICLE.sub(" ", plain).split()


def span_f1(said: str, right: str) -> float:
    """SQuAD's F1 of two texts over their words, in [0, 1]."""
    given, wanted = Counter(_words(said)), Counter(_words(right))
    shared = (given & wanted).total()
    return 2 * shared / (given.total() + wanted.total()) if shared else 0.0


def _best_f1(said: str, one: DocumentQuestion) -> float:
    return max((span_f1(said, answer.text) for answer in one.answers), default=0.0) if said else 0.0


def _is_equal(said: str, one: DocumentQuestion) -> bool:
    for answer in one.answers:
        try:
            if abs(float(said.replace(",", "")) - float(answer.text.replace(",", ""))) < 1e-6:
                return True
        except ValueError:
            if _words(said) == _words(answer.text):
                return True
    return False
