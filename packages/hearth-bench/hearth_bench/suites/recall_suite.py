"""Measure whether memory finds what answers a question: evidence recall on conversations in LoCoMo's form.

A conversation's turns are remembered as events (speaker, time, session as conversation, a picture's caption with the
text); each question is searched in its conversation's own store, and once more in one store that holds all of them.
Recall@K is LoCoMo's (Maharana et al. 2024): the share of a question's evidence turns among the first K, averaged over
questions. Malformed evidence ids ("D8:6; D9:17", "D:11:26") are read as what they name.

Covered: retrieval, by category, with floors (words alone as FTS5 ranks them, meaning alone), also without the closer
look; answers, see `answers_suite`.
Not covered: questions without usable evidence (left out and counted); the answer key's own errors.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from hearth.errors import RequestError
from hearth.memory.answers.question_answering import WordReader
from hearth.memory.event_memory import EventMemory, NewEvent
from hearth.memory.search.memory_index import top
from hearth.memory.search.search_words import Period
from hearth.protocols import Encoder
from hearth.storage.database import Store
from hearth.types import Label
from hearth_bench.suites.answers_suite import (
    ADVERSARIAL,
    FOREIGN,
    Answered,
    Put,
    answer_figures,
    answer_lines,
    ask,
    ranked_by_words,
    with_names,
)

KS = (5, 10, 20, 50)
CATEGORIES: Mapping[int, str] = {1: "multi_hop", 2: "temporal", 3: "open_domain", 4: "single_hop", 5: "adversarial"}
_EVIDENCE = re.compile(r"D:?\s*(\d+)\s*:\s*(\d+)")
_MESSAGE = Label(frozenset({"message"}), frozenset())


@dataclass(frozen=True, slots=True)
class EvidenceQuestion:
    text: str
    category: int
    evidence: tuple[str, ...]
    """Keys of the events that hold the answer."""
    conversation: int
    answer: str = ""
    """Right answer; empty: there is none."""


Found: TypeAlias = tuple[EvidenceQuestion, Sequence[str]]
"""A question with the keys found for it, best first."""
TimeReader: TypeAlias = Callable[[str, dt.datetime], Sequence[Period]]


@dataclass(frozen=True, slots=True)
class Conversation:
    name: str
    events: tuple[NewEvent, ...]
    questions: tuple[EvidenceQuestion, ...]
    n_unusable: int
    """Number of questions whose evidence names no turn."""

    @property
    def people(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(event.person for event in self.events))

    @property
    def ends(self) -> dt.datetime:
        return max(event.at for event in self.events)


def read_conversations(path: Path) -> tuple[Conversation, ...]:
    """Read a file in LoCoMo's form.

    Raises:
        RequestError: The file is missing, not JSON, or has another form; names the file and the place.
    """
    try:
        samples = json.loads(path.read_text())
        return tuple(_conversation(sample, number) for number, sample in enumerate(samples))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise RequestError(f"cannot read {str(path)!r}: {error}; expected conversations in LoCoMo's JSON") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RequestError(
            f"{str(path)!r} is not in LoCoMo's form ({type(error).__name__}: {error}); expected a list of samples with "
            "`conversation` (session_N, session_N_date_time) and `qa` (question, evidence, category)"
        ) from None


def _conversation(sample: Mapping[str, Any], number: int) -> Conversation:
    said = sample["conversation"]
    events: list[NewEvent] = []
    for session in sorted((k for k in said if re.fullmatch(r"session_\d+", k)), key=lambda k: int(k[8:])):
        at = _moment(said[f"{session}_date_time"])
        for place, turn in enumerate(said[session]):
            caption = turn.get("blip_caption")
            text = f"{turn['text']} [{caption}]" if caption else turn["text"]
            moment = at + dt.timedelta(seconds=20 * place)
            key = f"{number}/{turn['dia_id']}"
            events.append(NewEvent(key, text, "message", moment, _MESSAGE, turn["speaker"], "", f"{number}/{session}"))
    known = {event.key for event in events}
    questions = []
    for entry in sample["qa"]:
        named = [
            f"{number}/D{int(a)}:{int(b)}" for text in entry.get("evidence", ()) for a, b in _EVIDENCE.findall(text)
        ]
        evidence = tuple(dict.fromkeys(key for key in named if key in known))
        category = int(entry["category"])
        right = "" if category == ADVERSARIAL else str(entry.get("answer", ""))
        questions.append(EvidenceQuestion(entry["question"], category, evidence, number, right))
    usable = tuple(question for question in questions if question.evidence)
    return Conversation(str(sample.get("sample_id", number)), tuple(events), usable, len(questions) - len(usable))


def _moment(text: str) -> dt.datetime:
    return dt.datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=dt.UTC)


class _Asked:
    """One store, searched by the ranking and by the floors."""

    def __init__(self, store: Store, encoder: Encoder, read_times: TimeReader) -> None:
        self._store = store
        self._encoder = encoder
        self.memory = EventMemory(store, encoder, read_times)

    def remember(self, conversation: Conversation) -> None:
        self.memory.remember_all(conversation.events)
        for _ in self.memory.embed():
            pass

    def ranked(self, question: EvidenceQuestion, now: dt.datetime, is_close: bool) -> Sequence[str]:
        hits = self.memory.search(question.text, limit=max(KS), now=now, is_close=is_close)
        return [hit.id for hit in hits]

    def by_words(self, question: EvidenceQuestion) -> Sequence[str]:
        """Return the keys as FTS5 ranks them: BM25 of any telling word."""
        return ranked_by_words(self._store, question.text, limit=max(KS))

    def by_meaning(self, question: EvidenceQuestion) -> Sequence[str]:
        """Return the keys as the encoder alone ranks them."""
        index = self.memory.index
        best = top(index.cosines(self._encoder.encode([question.text])[0]), max(KS))
        marks = ",".join("?" * len(best))
        numbers = index.numbers[best].tolist()
        rows = self._store.query(f"SELECT number, id FROM event WHERE number IN ({marks})", numbers)  # noqa: S608 - question marks only
        ids = {row[0]: row[1] for row in rows}
        return [ids[number] for number in numbers]


def measure_recall(
    conversations: Sequence[Conversation],
    encoder: Encoder,
    read_times: TimeReader,
    reader: WordReader | None = None,
) -> Iterator[str | dict[str, Any]]:
    """Remember, ask and count; yield lines of progress, and last the flat result."""
    found: dict[str, list[Found]] = {name: [] for name in ("", "quick_", "floor_words_", "floor_meaning_", "pooled_")}
    took_ms: list[float] = []
    answered: list[Answered] = []
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "all.db") as everything:
        whole = _Asked(everything, encoder, read_times)
        for number, conversation in enumerate(conversations):
            with Store.open(Path(folder) / f"{number}.db") as store:
                asked = _Asked(store, encoder, read_times)
                asked.remember(conversation)
                whole.remember(conversation)
                for question in conversation.questions:
                    started = time.perf_counter()
                    found[""].append((question, asked.ranked(question, conversation.ends, True)))
                    took_ms.append((time.perf_counter() - started) * 1000)
                    found["quick_"].append((question, asked.ranked(question, conversation.ends, False)))
                    found["floor_words_"].append((question, asked.by_words(question)))
                    found["floor_meaning_"].append((question, asked.by_meaning(question)))
                answered += answers_to(asked, conversation, conversations[(number + 1) % len(conversations)], reader)
            yield f"{conversation.name}: {len(conversation.events)} events, {len(conversation.questions)} questions"
        for question, _ in found[""]:
            found["pooled_"].append((question, whole.ranked(question, conversations[question.conversation].ends, True)))
    result: dict[str, Any] = {
        f"{prefix}recall_at_{k}": mean_recall(several, k) for prefix, several in found.items() for k in KS
    }
    for k in KS:
        result[f"pooled_at_{k}"] = result.pop(f"pooled_recall_at_{k}")
        for category, name in CATEGORIES.items():
            result[f"{name}_at_{k}"] = mean_recall([one for one in found[""] if one[0].category == category], k)
    took_ms.sort()
    yield (
        result
        | answer_figures(answered)
        | {
            "query_p50_ms": round(took_ms[len(took_ms) // 2], 3) if took_ms else None,
            "n_questions": len(found[""]),
            "n_unusable": sum(conversation.n_unusable for conversation in conversations),
            "n_events": sum(len(conversation.events) for conversation in conversations),
        }
    )


FOREIGN_STEP = 4
"""Every fourth question of another conversation is asked as well."""


def answers_to(
    asked: _Asked, conversation: Conversation, other: Conversation, reader: WordReader | None = None
) -> Iterator[Answered]:
    """Yield memory's answers to a conversation's questions, and to some of another's."""
    texts = {event.key: event.text for event in conversation.events}
    everything = " ".join(texts.values())
    questions = [*conversation.questions]
    if other is not conversation:
        for question in other.questions[::FOREIGN_STEP]:
            text = with_names(question.text, other.people, conversation.people)
            questions.append(replace(question, text=text, category=FOREIGN, answer=""))
    for question in questions:
        by_words = asked.by_words(question)
        best = texts[by_words[0]] if by_words else ""
        put = Put(question.text, conversation.ends, question.category, question.answer, best, everything)
        yield ask(asked.memory, put, reader)


def mean_recall(found: Sequence[Found], k: int) -> float | None:
    """Return the share of evidence among the first `k`, averaged over questions; None without questions."""
    if not found:
        return None
    shares = [len(set(question.evidence) & set(keys[:k])) / len(question.evidence) for question, keys in found]
    return round(sum(shares) / len(shares), 4)


def recall_lines(document: Mapping[str, Any]) -> list[str]:
    """Format the result for a reader."""
    rows = [
        ("floor: words alone", [document[f"floor_words_recall_at_{k}"] for k in KS]),
        ("floor: meaning alone", [document[f"floor_meaning_recall_at_{k}"] for k in KS]),
        ("ranked", [document[f"quick_recall_at_{k}"] for k in KS]),
        ("ranked, with a closer look", [document[f"recall_at_{k}"] for k in KS]),
        *((f"  {name.replace('_', ' ')}", [document[f"{name}_at_{k}"] for k in KS]) for name in CATEGORIES.values()),
        ("all conversations in one store", [document[f"pooled_at_{k}"] for k in KS]),
    ]
    lines = [f"{document['n_questions']:,} questions, {document['n_events']:,} events", ""]
    lines.append(f"{'share of the evidence found':<32}" + "".join(f"{f'first {k}':>10}" for k in KS))
    for label, values in rows:
        lines.append(f"{label:<32}" + "".join(f"{'–' if v is None else f'{v:.3f}':>10}" for v in values))
    return [*lines, "", *answer_lines(document), "", f"one search: p50 {document['query_p50_ms']} ms"]
