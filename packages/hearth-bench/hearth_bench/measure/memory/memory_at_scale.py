"""Measure memory at scale, and fit the weights of its ranking.

    python -m hearth_bench.measure.memory.memory_at_scale                  # at 100,000 and 1,000,000 events
    python -m hearth_bench.measure.memory.memory_at_scale --fit            # the ranking's weights
    python -m hearth_bench.measure.memory.memory_at_scale --fit-answers    # the chance that a question is answered

The first measures speed, exactness and space; the others fit on LoCoMo's development conversations, leaving one out.

Vectors at scale are real sentence vectors (requests of TaskBench and turns of LoCoMo) with noise added, as no data set
here holds a million texts; texts are drawn from the same pools.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import simsimd
from numpy.typing import NDArray

from hearth.memory.event_memory import EventMemory, NewEvent, keep_vectors
from hearth.memory.search.memory_index import (
    N_CLOSE,
    SCORES,
    Closeness,
    EventIndex,
    Question,
    candidates,
    packed,
    people_named,
    standardised,
)
from hearth.memory.search.search_words import times_named
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.storage.database import Store
from hearth_bench.measure.memory.answer_fitting import fit_answers
from hearth_bench.measure.result_file import ROOT, write_result
from hearth_bench.suites.recall_suite import KS, Conversation, EvidenceQuestion, mean_recall, read_conversations

Floats = NDArray[np.float64]
DATA = Path(os.environ.get("HEARTH_DATA", "../shared/data"))
RIDGE = 1e-3
WEIGHTS = ROOT / "src/hearth/data/recall_weights.json"


# ── Weights ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Sample:
    """A question with its candidates."""

    question: EvidenceQuestion
    keys: tuple[str, ...]
    scores: Floats
    """Shape [n_candidates, n_scores]."""

    @property
    def is_right(self) -> Floats:
        return np.array([key in self.question.evidence for key in self.keys], np.float64)

    def ordered(self, weights: Floats) -> list[int]:
        order: list[int] = np.argsort(-(self.scores @ weights), kind="stable").tolist()
        return order


@dataclass(frozen=True, slots=True)
class Looked:
    """A conversation with the candidates of all its questions."""

    samples: list[Sample]
    closeness: Closeness
    people: list[list[str]]
    texts: dict[str, tuple[int, str]]

    def close(self, weights: Floats) -> list[Sample]:
        """Return the best candidates of each question by `weights`, with closeness as one more score."""
        found = []
        for sample, people in zip(self.samples, self.people, strict=True):
            best = sample.ordered(weights)[:N_CLOSE]
            keys = [sample.keys[k] for k in best]
            near = self.closeness.of(sample.question.text, people, dict(self.texts[key] for key in keys))
            scores = np.column_stack([sample.scores[best], standardised(near)])
            found.append(Sample(sample.question, tuple(keys), scores))
        return found


def fit() -> None:
    """Fit a conditional logit over candidates: the evidence of a question shares the probability of being chosen."""
    path = DATA / "memory/locomo.json"
    encoder = MiniLMEncoder.open()
    looked = [_looked(conversation, encoder) for conversation in read_conversations(path)]
    first: list[tuple[EvidenceQuestion, list[str]]] = []
    second: list[tuple[EvidenceQuestion, list[str]]] = []
    for held, one in enumerate(looked):
        others = [other for number, other in enumerate(looked) if number != held]
        weights = _fitted([sample for other in others for sample in other.samples])
        close = _fitted([sample for other in others for sample in other.close(weights)])
        for sample, closer in zip(one.samples, one.close(weights), strict=True):
            keys = [sample.keys[k] for k in sample.ordered(weights)]
            best = [closer.keys[k] for k in closer.ordered(close)]
            first.append((sample.question, keys))
            second.append((sample.question, best + [key for key in keys if key not in best]))
    weights = _fitted([sample for one in looked for sample in one.samples])
    close = _fitted([sample for one in looked for sample in one.close(weights)])
    document = {
        "weights": {name: round(float(w), 2) for name, w in zip(SCORES, weights, strict=True)},
        "close": {name: round(float(w), 2) for name, w in zip((*SCORES, "close"), close, strict=True)},
        "fitted_on": "LoCoMo, 4 conversations; a question's evidence against its other candidates; ridge 0.001",
        "left_out": {"ranked": _recalls(first), "ranked_close": _recalls(second)},
    }
    WEIGHTS.write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document, indent=1))


def _recalls(found: list[tuple[EvidenceQuestion, list[str]]]) -> dict[str, float | None]:
    """Return recalls over conversations whose questions the weights were not fitted on."""
    multi_hop = [one for one in found if one[0].category == 1]
    return {**{f"recall_at_{k}": mean_recall(found, k) for k in KS}, "multi_hop_at_10": mean_recall(multi_hop, 10)}


def _looked(conversation: Conversation, encoder: MiniLMEncoder) -> Looked:
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "a.db") as store:
        memory = EventMemory(store, encoder, times_named)
        memory.remember_all(conversation.events)
        for _ in memory.embed():
            pass
        events = conversation.events
        samples, people = [], []
        for question in conversation.questions:
            vector = encoder.encode([question.text])[0]
            asked = Question(question.text, vector, times_named(question.text, conversation.ends))
            found = candidates(memory.index, asked, memory.index.live)
            keys = tuple(events[slot].key for slot in found.slots)
            samples.append(Sample(question, keys, found.scores.astype(np.float64)))
            people.append(people_named(memory.index, question.text))
        texts = {event.key: (k, f"{event.person}: {event.text}") for k, event in enumerate(events)}
        return Looked(samples, Closeness(encoder), people, texts)


def _fitted(chosen: list[Sample]) -> Floats:
    """Fit by Newton's method on the log-likelihood with a ridge."""
    samples = [(s.scores, s.is_right / s.is_right.sum()) for s in chosen if s.is_right.any()]
    n_scores = samples[0][0].shape[1]
    weights = np.zeros(n_scores)
    for _ in range(100):
        gradient, curvature = 2 * RIDGE * len(samples) * weights, 2 * RIDGE * len(samples) * np.eye(n_scores)
        for scores, target in samples:
            chance = _chances(scores @ weights)
            mean = chance @ scores
            gradient += mean - target @ scores
            curvature += (scores * chance[:, None]).T @ scores - np.outer(mean, mean)
        step, loss = np.linalg.solve(curvature, gradient), _loss(samples, weights)
        while np.abs(step).max() > 1e-6 and _loss(samples, weights - step) > loss:
            step /= 2
        weights -= step
        if np.abs(step).max() <= 1e-6:
            break
    return weights


def _loss(samples: list[tuple[Floats, Floats]], weights: Floats) -> float:
    total = RIDGE * len(samples) * float(weights @ weights)
    return total - sum(float(target @ np.log(_chances(scores @ weights) + 1e-300)) for scores, target in samples)


def _chances(raw: Floats) -> Floats:
    chances: Floats = np.exp(raw - raw.max())
    result: Floats = chances / chances.sum()
    return result


N_TEXTS = 6000
N_CLOSE_ASKED = 50
_START, _STEP = dt.datetime(2021, 1, 1, tzinfo=dt.UTC), dt.timedelta(minutes=3)


# ── Scale ─────────────────────────────────────────────────────────────────────────────────────────────────


def scale(n_events: int, seed: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    encoder = MiniLMEncoder.open()
    texts, questions = _texts()
    vectors = encoder.encode(texts)
    result: dict[str, object] = {"n_events": n_events}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        with Store.open(path) as store:
            memory = EventMemory(store)
            drawn = rng.integers(0, len(texts), n_events)
            started, cpu = time.perf_counter(), time.process_time()
            for first in range(0, n_events, 10_000):
                memory.remember_all(
                    NewEvent(f"e{k}", texts[drawn[k]], "message", _START + k * _STEP)
                    for k in range(first, min(n_events, first + 10_000))
                )
            result["insert_per_s"] = round(n_events / (time.perf_counter() - started))
            result["insert_per_cpu_s"] = round(n_events / (time.process_time() - cpu))
            exact = _write_vectors(store, vectors[drawn], rng)
            n_text = store.query("SELECT sum(length(CAST(text AS BLOB))) FROM event")[0][0]
            store.erase_traces()
            result["bytes_per_event_beyond_text"] = round((path.stat().st_size - n_text) / n_events)
        with Store.open(path) as store:
            started, cpu = time.perf_counter(), time.process_time()
            memory = EventMemory(store, encoder, times_named)
            index = memory.index
            result["start_s"] = round(time.perf_counter() - started, 3)
            result["start_cpu_s"] = round(time.process_time() - cpu, 3)
            result.update(_scan(index, exact, encoder.encode(questions)))
            now = _START + n_events * _STEP
            for name in ("first", "again"):
                result |= _searches(memory, questions, now, f"search_{name}", is_close=False)
            for name in ("first", "again"):
                result |= _searches(memory, questions[:N_CLOSE_ASKED], now, f"search_close_{name}", is_close=True)
            took = []
            for k in rng.choice(n_events, 200, replace=False):
                started = time.perf_counter()
                memory.delete(f"e{k}")
                took.append((time.perf_counter() - started) * 1000)
            result["delete_p50_ms"] = round(float(np.median(took)), 3)
    return result


def _searches(
    memory: EventMemory, questions: list[str], now: dt.datetime, name: str, *, is_close: bool
) -> dict[str, float]:
    """Return wall milliseconds of a search, with encoding its question, and CPU milliseconds for busy machines."""
    took, cpu = [], []
    for question in questions:
        started, cpu_started = time.perf_counter(), time.process_time()
        memory.search(question, limit=10, now=now, is_close=is_close)
        took.append((time.perf_counter() - started) * 1000)
        cpu.append((time.process_time() - cpu_started) * 1000)
    return {
        f"{name}_p50_ms": round(float(np.median(took)), 2),
        f"{name}_p99_ms": round(float(np.quantile(took, 0.99)), 2),
        f"{name}_cpu_p50_ms": round(float(np.median(cpu)), 2),
    }


def _texts() -> tuple[list[str], list[str]]:
    conversations = read_conversations(DATA / "memory/locomo.json")
    texts = [event.text for one in conversations for event in one.events]
    for path in sorted((DATA / "plans/taskbench_requests").glob("*/user_requests.json")):
        texts += [json.loads(line)["user_request"] for line in path.read_text().splitlines()[:3000]]
    chosen = np.random.default_rng(0).permutation(len(texts))[:N_TEXTS]  # encoding real texts is slow: 10 ms each
    return [texts[k] for k in chosen], [question.text for one in conversations for question in one.questions][:200]


def _write_vectors(store: Store, vectors: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """Store packed vectors with noise of 0.6 times their length, and return the exact ones."""
    noisy = vectors + rng.standard_normal(vectors.shape, np.float32) * np.float32(0.6 / np.sqrt(vectors.shape[1]))
    noisy /= np.linalg.norm(noisy, axis=1, keepdims=True)
    numbers = [row[0] for row in store.query("SELECT number FROM event ORDER BY number")]
    with store.transaction(is_synced=False) as cursor:
        keep_vectors(cursor, numbers, [packed(vector) for vector in noisy])
    return noisy


def _scan(index: EventIndex, exact: NDArray[np.float32], questions: NDArray[np.float32]) -> dict[str, object]:
    """Measure recall@10 against exact cosines, the time of a scan, and its share of the memory's bandwidth."""
    hits, took, limit = 0, [], []
    words = index._codes[: len(exact)].reshape(-1).view(np.int64)
    for question in questions[:100]:
        started = time.thread_time()
        found = index.cosines(question)
        took.append(time.thread_time() - started)
        started = time.thread_time()
        np.bitwise_or.reduce(words)
        limit.append(time.thread_time() - started)
        right = set(np.argpartition(-(exact @ question), 10)[:10].tolist())
        hits += len(right & set(np.argpartition(-found, 10)[:10].tolist()))
    code, bare = np.zeros((1, exact.shape[1]), np.int8), []
    for _ in range(20):
        started = time.thread_time()
        simsimd.cdist(code, index._codes[: len(exact)], "dot")
        bare.append(time.thread_time() - started)
    return {
        "scan_recall_at_10": hits / (10 * len(questions[:100])),
        "cosines_cpu_ms": round(1000 * float(np.median(took)), 3),
        "scan_cpu_ms": round(1000 * min(bare), 3),
        "memory_limit_cpu_ms": round(1000 * min(limit), 3),
        "scan_share_of_limit": round(min(limit) / min(bare), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--fit-answers", action="store_true")
    parser.add_argument("--events", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.fit:
        fit()
        return
    if given.fit_answers:
        fit_answers(DATA / "memory/locomo.json")
        return
    wall, cpu = time.perf_counter(), time.process_time()
    runs = {f"{n}": scale(n, given.seed) for n in given.events}
    took = {"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall}
    write_result("recall_scale", runs, seed=given.seed, cpu_s=took["cpu_s"], wall_s=took["wall_s"])


if __name__ == "__main__":
    main()
