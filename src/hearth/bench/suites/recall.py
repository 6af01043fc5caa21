"""Does memory find what answers a question? Evidence recall on conversations in LoCoMo's form.

A conversation's turns are remembered as events (speaker, time, session as conversation, a picture's caption with the
text); each question is searched in its conversation's own store, and once more in one store that holds all of them.
Recall@K is LoCoMo's (Maharana et al. 2024): the share of a question's evidence turns among the first K, averaged over
questions. Malformed evidence ids ("D8:6; D9:17", "D:11:26") are read as what they name.

Covered: retrieval, by category, with floors (words alone as FTS5 ranks them, meaning alone).
Not covered: whether an answer is right; questions without usable evidence (left out and counted); the answer key's own
errors.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hearth.errors import RequestError
from hearth.memory.events import EventMemory, NewEvent
from hearth.memory.ranking import Period
from hearth.protocols import Encoder
from hearth.store import Store
from hearth.types import Label

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


@dataclass(frozen=True, slots=True)
class Conversation:
    name: str
    events: tuple[NewEvent, ...]
    questions: tuple[EvidenceQuestion, ...]
    n_unusable: int
    """Questions whose evidence names no turn."""

    @property
    def ends(self) -> dt.datetime:
        return max(event.at for event in self.events)


def read_conversations(path: Path) -> tuple[Conversation, ...]:
    """Read a file in LoCoMo's form.

    Raises:
        RequestError: Missing, not JSON, or not of that form; names the file and the place.
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
        questions.append(EvidenceQuestion(entry["question"], int(entry["category"]), evidence, number))
    usable = tuple(question for question in questions if question.evidence)
    return Conversation(str(sample.get("sample_id", number)), tuple(events), usable, len(questions) - len(usable))


def _moment(text: str) -> dt.datetime:
    return dt.datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=dt.UTC)


Finder = Callable[[EventMemory, EvidenceQuestion, dt.datetime], Sequence[str]]
"""From a memory and a question to the keys it finds, best first."""


def by_ranking(memory: EventMemory, question: EvidenceQuestion, now: dt.datetime) -> Sequence[str]:
    return [hit.id for hit in memory.search(question.text, limit=max(KS), now=now, is_close=True)]


def measure_recall(
    conversations: Sequence[Conversation],
    encoder: Encoder,
    read_times: Callable[[str, dt.datetime], Sequence[Period]],
) -> Iterator[str | dict[str, Any]]:
    """Remember, ask, count. Yields lines of progress, and last the flat result."""
    result: dict[str, Any] = {}
    found: list[tuple[EvidenceQuestion, Sequence[str]]] = []
    pooled: list[tuple[EvidenceQuestion, Sequence[str]]] = []
    took_ms: list[float] = []
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "all.db") as everything:
        whole = EventMemory(everything, encoder, read_times)
        for number, conversation in enumerate(conversations):
            with Store.open(Path(folder) / f"{number}.db") as store:
                memory = EventMemory(store, encoder, read_times)
                for one in (memory, whole):
                    one.remember_all(conversation.events)
                    for _ in one.embed():
                        pass
                for question in conversation.questions:
                    started = time.perf_counter()
                    keys = by_ranking(memory, question, conversation.ends)
                    took_ms.append((time.perf_counter() - started) * 1000)
                    found.append((question, keys))
            yield f"{conversation.name}: {len(conversation.events)} events, {len(conversation.questions)} questions"
        for question, _ in found:
            pooled.append((question, by_ranking(whole, question, conversations[question.conversation].ends)))
    for k in KS:
        result[f"recall_at_{k}"] = mean_recall(found, k)
        for category, name in CATEGORIES.items():
            result[f"{name}_at_{k}"] = mean_recall([f for f in found if f[0].category == category], k)
        result[f"pooled_at_{k}"] = mean_recall(pooled, k)
    took_ms.sort()
    result["query_p50_ms"] = round(took_ms[len(took_ms) // 2], 3) if took_ms else None
    result["n_questions"] = len(found)
    result["n_unusable"] = sum(conversation.n_unusable for conversation in conversations)
    result["n_events"] = sum(len(conversation.events) for conversation in conversations)
    yield result


def mean_recall(found: Sequence[tuple[EvidenceQuestion, Sequence[str]]], k: int) -> float | None:
    """Share of evidence among the first `k`, averaged over questions; None of no questions."""
    if not found:
        return None
    shares = [len(set(question.evidence) & set(keys[:k])) / len(question.evidence) for question, keys in found]
    return round(sum(shares) / len(shares), 4)
