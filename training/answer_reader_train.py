"""Train the reader of answers: `python -m training.answer_reader_train --data QA.jsonl` (extra `train`: torch).

The reader of arguments (`models.span_extractor`) is trained further on questions over passages: which words answer, yes
or no, or nothing. Passages are cut as the home's index cuts them. For a share of the questions a passage of the same or
of another document is read instead of the right one, and the right answer is none: so that what it says of a passage
compares with what it says of another. Documents that `hearth_bench.suites.reading` holds out are never read.

What lies in homes is unlike encyclopaedias: `home_passages.jsonl` holds invented mails, notes, tables and documents
with what their owners would ask of each, answered by its words or by nothing. They are read several times an epoch,
every fifth of them never (`--homes 0` leaves all out). What ships was made in four rounds, each carried on from the one
before (`--start-from`), of which `answer_reader.json` holds the options; twice in the last, with long pieces. `--mix`
took the mean of both, and eight tenths of the way from the third to it (decision 31).

The same seed, data, torch and number of threads give the same file. Not covered: counts and sums (they are computed),
answers in other words than the passage's.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hearth.errors import MissingExtraError
from hearth.memory.search.collecting import with_heads
from hearth.memory.search.passage_store import passages_of
from hearth.memory.search.search_words import telling_words
from hearth.models.lora_encoder import WIDTH, load_weights, packed, unpacked
from hearth.models.sentence_encoder import shared_tokenizer
from hearth.models.span_extractor import ABSENT, HEADS, NO, SPAN, YES, Form, Layout, Pieces, Question
from hearth_bench.suites.reading.home_pieces import HomePiece, PieceQuestion, read_pieces
from hearth_bench.suites.reading.question_file import SPLIT_SEED, DocumentQuestion, is_held, read_questions
from training.changed_encoder import ChangedEncoder

try:
    import torch
    from torch import Tensor, nn
    from torch.nn import functional
except ModuleNotFoundError:
    raise MissingExtraError("training the reader of answers", "pip install 'hearth-agent[train]'") from None

_DATA = Path(__file__).parents[1] / "src" / "hearth" / "data"
START = _DATA / "reader.npz"
OUT = _DATA / "answer_reader.npz"
HOMES = Path(__file__).with_name("home_passages.jsonl")
_STRANGE = 0.5
"""Share of a piece's answerable questions that are asked of another piece, too, where nothing answers them."""
_NEIGHBOURS = 8
"""How far away in the file another piece of the same home may stand; half of those other pieces are neighbours."""
_WINDOW_CHARACTERS = 260
_LONG_CHARACTERS = 350
"""Of a longer piece a window is read, too: half of its answerable questions are asked of one that does not answer."""
_WITH_ANSWER = 0.3
"""Share of the answerable questions that are asked of a window that does."""
_BATCH_TOKENS = 2600
_BATCH_ROWS = 40
_MOST_TOKENS = 400
"""Longer rows are left out."""
SHARES = {"qamr": 0.35, "molweni": 0.3, "policyqa": 0.4, "friendsqa": 0.7, "sroie": 0.5}
"""Share of a source's questions that are read in one epoch, where not all are: the noisy and the alike count less."""


@dataclass(frozen=True, slots=True)
class Options:
    seed: int = 1
    rank: int = 32
    n_epochs: float = 1.0
    lr: float = 8e-4
    other_passages: float = 0.25
    """Share of the answerable questions that are also asked of a passage that does not answer."""
    share: float = 1.0
    """Share of the questions over documents that are read."""
    homes: int = 4
    """How often each piece of a home is read in one epoch."""
    n_pieces: int | None = None
    """How many pieces of homes are learnt, the first in the file; None for all."""
    n_seldom: int = 0
    """How many of them, the first in the file, are read in a third of the epochs only: they are known by now."""
    n_threads: int = 1
    is_bfloat16: bool = False
    """Whether products are taken in 16 bits: half the time where the processor has them."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A question asked of a passage, with its right answer."""

    question: str
    passage: str
    kind: int
    """Index in `models.span_extractor.KINDS`."""
    spans: tuple[tuple[int, int], ...] = ()


def lessons_of(questions: Sequence[DocumentQuestion], options: Options, rng: random.Random) -> list[Lesson]:
    """Make the lessons of one epoch."""
    by_source: dict[str, list[str]] = defaultdict(list)
    for one in questions:
        by_source[one.source].append(one.context)
    found = []
    for one in questions:
        if rng.random() >= options.share * SHARES.get(one.source, 1.0):
            continue
        right = list(_right(one, rng))
        found += right
        if right and right[0].kind != ABSENT and rng.random() < options.other_passages:
            others = [rng.choice(by_source[one.source]) for _ in range(6)]
            found.append(Lesson(one.question, _nearest(one, [one.context, *others]), ABSENT))
    return [lesson for lesson in found if lesson.passage]


def _right(one: DocumentQuestion, rng: random.Random) -> Iterator[Lesson]:
    """Yield the lesson of the passage that answers; for a question without answer, of the passage nearest to it."""
    title = f"{one.context_title}\n" if one.context_title and rng.random() < 0.5 else ""
    if one.kind == "yesno":
        said = one.answers[0].text.casefold()
        if said in ("yes", "no") and one.source == "boolq":
            yield Lesson(one.question, title + one.context[:900], YES if said == "yes" else NO)
    elif one.kind == "abstain":
        yield Lesson(one.question, title + _nearest(one, [one.context], is_right=True), ABSENT)
    elif one.kind == "extractive":
        for cut in passages_of(one.context):
            lead = title + (f"{cut.head}\n" if cut.head else "")
            spans = tuple(
                (len(lead) + a.start - cut.start, len(lead) + a.start + len(a.text) - cut.start)
                for a in one.answers
                if cut.start <= a.start and a.start + len(a.text) <= cut.end
            )
            if spans:
                yield Lesson(one.question, lead + one.context[cut.start : cut.end], SPAN, spans)
                return


def home_lessons(pieces: Sequence[HomePiece], rng: random.Random) -> list[Lesson]:
    """Make the lessons of pieces of homes, laid out as the home's index has them read."""
    leads = [f"{piece.head}\n" if piece.head else "" for piece in pieces]
    words = [{word[:5] for word in telling_words(lead + piece.text)} for lead, piece in zip(leads, pieces)]
    found = []
    for number, (lead, piece) in enumerate(zip(leads, pieces)):
        for asked in piece.qa:
            places = [len(lead) + piece.text.index(answer) for answer in asked.a]
            spans = tuple((at, at + len(answer)) for at, answer in zip(places, asked.a, strict=True))
            kind = ABSENT if not spans else SPAN if asked.yes is None else YES if asked.yes else NO
            found.append(Lesson(asked.q, lead + piece.text, kind, spans))
            if spans and rng.random() < _STRANGE:
                near = _pieces_nearby(number, asked.q, words, rng)
                others = [k for k in near if k != number and not any(a in pieces[k].text for a in asked.a)]
                found += [Lesson(asked.q, leads[k] + pieces[k].text, ABSENT) for k in others[:1]]
            if spans and len(piece.text) >= _LONG_CHARACTERS:
                found += _window_lessons(asked, lead, piece.text, kind, rng)
    return found


def _pieces_nearby(number: int, question: str, words: Sequence[Set[str]], rng: random.Random) -> list[int]:
    """Return pieces that could be read for a question by mistake: half the time neighbours, else those in its words."""
    if rng.random() < 0.5:
        near = [*range(max(0, number - _NEIGHBOURS), min(len(words), number + _NEIGHBOURS + 1))]
        rng.shuffle(near)
        return near
    told = {word[:5] for word in telling_words(question)}
    return sorted(range(len(words)), key=lambda k: -len(told & words[k]))[:8]


def _window_lessons(asked: PieceQuestion, lead: str, text: str, kind: int, rng: random.Random) -> Iterator[Lesson]:
    """Yield lessons of parts of a long piece: one that answers, one that does not."""
    windows = [text[cut.start : cut.end] for cut in passages_of(text, _WINDOW_CHARACTERS)]
    rng.shuffle(windows)
    for window in [one for one in windows if asked.a[0] in one][:1]:
        if rng.random() < _WITH_ANSWER:
            places = [(len(lead) + window.index(answer), answer) for answer in asked.a if answer in window]
            yield Lesson(asked.q, lead + window, kind, tuple((at, at + len(answer)) for at, answer in places))
    for window in [one for one in windows if not any(answer in one for answer in asked.a)][:1]:
        if rng.random() < _STRANGE:
            yield Lesson(asked.q, lead + window, ABSENT)


def _of_epoch(pieces: Sequence[HomePiece], options: Options, rng: random.Random) -> list[HomePiece]:
    """Return the pieces that are read in an epoch, in order."""
    return [one for n, one in enumerate(pieces) if n >= options.n_seldom or rng.random() < 1 / 3]


def _nearest(one: DocumentQuestion, contexts: Sequence[str], *, is_right: bool = False) -> str:
    """Return the passage without a right answer that shares most words with the question; empty if there is none."""
    asked = {word[:5] for word in telling_words(one.question)}
    answers = [answer.text.casefold() for answer in one.answers]
    best, most = "", -1
    for context in contexts:
        for cut in passages_of(context):
            text = context[cut.start : cut.end]
            if not is_right and any(answer in text.casefold() for answer in answers):
                continue
            shared = len(asked & {word[:5] for word in telling_words(text)})
            if shared > most:
                best, most = (f"{cut.head}\n" if cut.head else "") + text, shared
    return best


class AnswerReader(nn.Module):  # type: ignore[misc, unused-ignore]
    """The encoder with its low-rank change, and the heads that say which words answer."""

    def __init__(self, options: Options) -> None:
        super().__init__()
        weights = load_weights()
        self.encoder = ChangedEncoder(weights, options.rank, torch.float32)
        self.words = torch.tensor(np.array(weights["embeddings.word_embeddings.weight"]))
        self.places = torch.tensor(np.array(weights["embeddings.position_embeddings.weight"]))
        self.segments = torch.tensor(np.array(weights["embeddings.token_type_embeddings.weight"]))
        self.heads = nn.ParameterDict({name: nn.Parameter(torch.zeros(shape)) for name, shape in HEADS.items()})

    def load(self, data: bytes) -> None:
        adapter, heads = unpacked(data, HEADS)
        self.encoder.load_adapter(adapter)
        with torch.no_grad():
            for name, value in heads.items():
                self.heads[name].copy_(torch.from_numpy(value))

    def file(self) -> bytes:
        return packed(self.encoder.adapter(), {k: v.detach().numpy() for k, v in self.heads.items()})

    def loss(self, rows: Sequence[tuple[Layout, Lesson]]) -> Tensor:
        """Return the mean loss of a batch."""
        n = max(len(layout.ids) for layout, _ in rows)
        ids = torch.zeros(len(rows), n, dtype=torch.long)
        there, in_text, is_text = (torch.zeros(len(rows), n, dtype=torch.bool) for _ in range(3))
        for b, (layout, _) in enumerate(rows):
            ids[b, : len(layout.ids)] = torch.from_numpy(layout.ids)
            there[b, : len(layout.ids)] = True
            is_text[b, layout.text_first :] = True
            in_text[b, layout.text_first : len(layout.ids) - 1] = True
        heads = self.heads
        x = torch.cat([self.words, heads["marks"]])[ids] + self.places[:n]
        x = x + torch.where(is_text[:, :, None], heads["segment"], self.segments[0])
        states = self.encoder(x, there)
        asked = states[torch.arange(len(rows)), torch.tensor([layout.question_at[0] for layout, _ in rows])]
        across = states * WIDTH**-0.5
        apart = torch.where(in_text, 0.0, -1e4)
        start, end = (
            (torch.einsum("bd,bnd->bn", asked @ heads[h].T, across) + apart).log_softmax(-1) for h in ("start", "end")
        )
        kinds = asked @ heads["kind"].T + heads["kind_bias"]
        said = torch.einsum("bn,bnd->bd", start.exp(), states)
        polarity = torch.cat([said, asked * said], -1) @ heads["evidence"].T
        scores = torch.stack([kinds[:, ABSENT], kinds[:, SPAN], *(kinds[:, YES : NO + 1] + polarity).T], -1)
        places = {ABSENT: 0, SPAN: 1, YES: 2, NO: 3}
        target = torch.tensor([places[lesson.kind] for _, lesson in rows])
        total = functional.cross_entropy(scores, target)
        parts = []
        for b, (layout, lesson) in enumerate(rows):
            if marks := _token_spans(layout, lesson.spans):
                first, last = (torch.tensor(side) for side in zip(*marks))
                parts.append(-(start[b, first] + end[b, last]).logsumexp(0))
        return total + torch.stack(parts).sum() / len(rows) if parts else total


def _token_spans(layout: Layout, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    found = []
    for a, b in spans:
        inside = np.flatnonzero((layout.spans[:, 0] < b) & (layout.spans[:, 1] > a))
        if len(inside) and layout.spans[inside[0], 0] <= a and layout.spans[inside[-1], 1] >= b:
            found.append((layout.text_first + int(inside[0]), layout.text_first + int(inside[-1])))
    return found


def _as_read(lesson: Lesson) -> Lesson:
    """Return a lesson with its tables as they are read: the name of its column stands before each cell."""
    passage, places = with_heads(lesson.passage)
    if len(passage) == len(lesson.passage):
        return lesson
    at = {int(place): k for k, place in enumerate(places) if place >= 0}
    spans = tuple((at[a], at[b - 1] + 1) for a, b in lesson.spans if a in at and b - 1 in at)
    return dataclasses.replace(lesson, passage=passage, spans=spans)


def _batches(lessons: Sequence[Lesson], pieces: Pieces, rng: random.Random) -> list[list[tuple[Layout, Lesson]]]:
    rows = []
    for lesson in map(_as_read, lessons):
        (layout,) = pieces.rows(Form("answer", (Question(lesson.question),)), lesson.passage)
        if len(layout.ids) <= _MOST_TOKENS and (lesson.kind != SPAN or _token_spans(layout, lesson.spans)):
            rows.append((layout, lesson))
    rng.shuffle(rows)
    rows.sort(key=lambda row: len(row[0].ids) // 8)
    batches: list[list[tuple[Layout, Lesson]]] = [[]]
    for row in rows:
        if len(batches[-1]) >= _BATCH_ROWS or (len(batches[-1]) + 1) * len(row[0].ids) > _BATCH_TOKENS:
            batches.append([])
        batches[-1].append(row)
    rng.shuffle(batches)
    return batches


def train(data: Path, options: Options, out: Path, started: bytes) -> dict[str, object]:
    """Train, write the file, and return its record."""
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.n_threads)
    rng = random.Random(options.seed)
    questions = [one for one in read_questions(data) if not is_held(one)]
    model = AnswerReader(options)
    model.load(started)
    pieces = Pieces(shared_tokenizer())
    batches: list[list[tuple[Layout, Lesson]]] = []
    homes = read_pieces(HOMES, held=False)[: options.n_pieces] if options.homes else []
    for epoch in range(int(np.ceil(options.n_epochs))):
        lessons = [lesson for _ in range(options.homes) for lesson in home_lessons(_of_epoch(homes, options, rng), rng)]
        some = _batches(lessons_of(questions, options, rng) + lessons, pieces, rng)
        batches += some[: int(len(some) * min(1.0, options.n_epochs - epoch))]
    low = [p for n, p in model.named_parameters() if ".low." in n]
    rest = [p for n, p in model.named_parameters() if ".low." not in n]
    optimizer = torch.optim.AdamW(
        [{"params": low}, {"params": rest, "lr": options.lr / 2}], lr=options.lr, weight_decay=0.01
    )
    steps = len(batches)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda k: min((k + 1) / (0.06 * steps), max(0.02, (steps - k) / steps))
    )
    began, recent = time.monotonic(), []
    for step, batch in enumerate(batches):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=options.is_bfloat16):
            loss = model.loss(batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        recent.append(float(loss.detach()))
        if (step + 1) % 50 == 0 or step + 1 == steps:
            print(f"{step + 1}/{steps} {time.monotonic() - began:.0f} s loss {np.mean(recent[-50:]):.3f}", flush=True)
        if (step + 1) % 400 == 0:
            out.write_bytes(model.file())
    out.write_bytes(model.file())
    return {
        "what": "adapter of the reader of answers: low-rank changes to all-MiniLM-L6-v2, and heads",
        "options": dataclasses.asdict(options),
        "data_sha256": {data.name: hashlib.sha256(data.read_bytes()).hexdigest()},
        "started_from_sha256": hashlib.sha256(started).hexdigest(),
        "held_out": f"documents chosen by seed {SPLIT_SEED!r}",
        "shares": SHARES,
        "home_passages_sha256": hashlib.sha256(HOMES.read_bytes()).hexdigest() if options.homes else None,
        "n_rows": sum(map(len, batches)),
        "n_steps": steps,
        "final_loss": round(float(np.mean(recent[-100:])), 4),
        "torch": torch.__version__,
        "licence": "trained on SQuAD 2.0, XQuAD, BoolQ, WikiTableQuestions (CC BY-SA), QAMR, PolicyQA, BIPIA (MIT), "
        "FriendsQA, Molweni (Apache-2.0), SROIE, TAT-QA (CC BY 4.0), pieces of homes written for Hearth; distributed "
        "under CC BY-SA 4.0",
    }


def between(before: bytes, after: bytes, share: float) -> bytes:
    """Return the reader that lies this share of the way from one to another that was carried on from it.

    Such a mean keeps what the old one alone knows (Wortsman et al. 2022).
    """
    pairs = zip(unpacked(before, HEADS), unpacked(after, HEADS), strict=True)
    adapter, heads = ({k: old[k] * (1 - share) + new[k] * share for k in old} for old, new in pairs)
    return packed(adapter, heads)


def mix(before: Path, after: Path, share: float, out: Path, command: str) -> None:
    """Write the reader that lies between two, with the records of both."""
    kept = {name: json.loads(path.with_suffix(".json").read_text()) for name, path in (("from", before), ("to", after))}
    out.write_bytes(between(before.read_bytes(), after.read_bytes(), share))
    record = {
        "what": "adapter of the reader of answers: what lies between two readers",
        "share_taken": share,
        "licence": kept["from"]["licence"],
        "command": command,
        "sha256": hashlib.sha256(out.read_bytes()).hexdigest(),
        **kept,
    }
    out.with_suffix(".json").write_text(json.dumps(record, indent=2) + "\n")


def main(arguments: Sequence[str] | None = None) -> None:
    defaults = Options()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=Path("qa.jsonl"), help="questions, one a line, as `hearth bench answers` takes"
    )
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--start-from", type=Path, default=START)
    parser.add_argument("--epochs", type=float, default=defaults.n_epochs)
    parser.add_argument("--lr", type=float, default=defaults.lr)
    parser.add_argument("--seed", type=int, default=defaults.seed)
    parser.add_argument("--threads", type=int, default=defaults.n_threads)
    parser.add_argument("--other-passages", type=float, default=defaults.other_passages)
    parser.add_argument("--homes", type=int, default=defaults.homes, help="times a piece of a home is read an epoch")
    parser.add_argument("--pieces", type=int, help="learn only the first so many pieces")
    parser.add_argument("--seldom", type=int, default=0, help="read the first so many pieces in a third of the epochs")
    parser.add_argument("--share", type=float, default=1.0, help="share of the questions over documents that are read")
    parser.add_argument("--share-taken", type=float, default=1.0, help="of the way from the start that is gone at last")
    parser.add_argument("--bfloat16", action="store_true")
    parser.add_argument(
        "--mix", type=Path, nargs=2, metavar=("FROM", "TO"), help="train nothing: take `--share-taken` of this way"
    )
    given = parser.parse_args(arguments)
    named = [Path(one).name for one in arguments or sys.argv[1:]]  # a folder of the machine says nothing
    command = " ".join(["python -m training.answer_reader_train", *named])
    if given.mix is not None:
        before, after = given.mix
        mix(before, after, given.share_taken, given.out, command)
        return
    options = Options(
        seed=given.seed,
        n_epochs=given.epochs,
        lr=given.lr,
        other_passages=given.other_passages,
        homes=given.homes,
        n_pieces=given.pieces,
        n_seldom=given.seldom,
        share=given.share,
        n_threads=given.threads,
        is_bfloat16=given.bfloat16,
    )
    started = given.start_from.read_bytes()
    record = train(given.data, options, given.out, started)
    if given.share_taken < 1:
        given.out.write_bytes(between(started, given.out.read_bytes(), given.share_taken))
        record["share_taken"] = given.share_taken
    record["command"] = command
    if (of_start := given.start_from.with_suffix(".json")).exists():
        record["started_from"] = json.loads(of_start.read_text())  # it may have been carried on from another itself
    record["sha256"] = hashlib.sha256(given.out.read_bytes()).hexdigest()
    given.out.with_suffix(".json").write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
