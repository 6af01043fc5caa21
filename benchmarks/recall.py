"""Memory at scale, and the weights of its ranking.

    python -m benchmarks.recall               speed, exactness and space at 100,000 and 1,000,000 events
    python -m benchmarks.recall --fit         fit the weights again (LoCoMo's development conversations), leave one out

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
from pathlib import Path

import numpy as np
import simsimd
from numpy.typing import NDArray

from benchmarks.record import write_result
from hearth.bench.suites.recall import KS, Conversation, EvidenceQuestion, mean_recall, read_conversations
from hearth.memory.events import EventMemory, NewEvent
from hearth.memory.index import EventIndex, packed
from hearth.memory.ranking import SCORES, Candidates, Question, candidates
from hearth.models.encoder import MiniLMEncoder
from hearth.planning.times_named import times_named
from hearth.store import Store

Floats = NDArray[np.float64]
DATA = Path(os.environ.get("HEARTH_DATA", "../shared/data"))
RIDGE = 1e-3
WEIGHTS = Path(__file__).parents[1] / "src/hearth/data/recall_weights.json"


# ── Weights ───────────────────────────────────────────────────────────────────────────────────────────────


def fit() -> None:
    """Conditional logit over candidates: the evidence of a question shares the probability of being chosen."""
    path = DATA / "memory/locomo.json"
    encoder = MiniLMEncoder.open()
    sets = [_scored(conversation, encoder) for conversation in read_conversations(path)]
    left_out = []
    for held in range(len(sets)):
        weights = _fitted([one for number, one in enumerate(sets) if number != held])
        left_out += [(question, _keys(found, names, weights)) for question, found, names in sets[held]]
    weights = _fitted(sets)
    report = {f"recall_at_{k}_left_out": mean_recall(left_out, k) for k in KS}
    kept = {name: round(float(weight), 2) for name, weight in zip(SCORES, weights, strict=True)}
    what = "LoCoMo, 4 conversations; each question's evidence against its other candidates; ridge 0.001"
    WEIGHTS.write_text(json.dumps({"weights": kept, "fitted_on": what, **report}, indent=1) + "\n")
    print(json.dumps({"weights": kept, **report}, indent=1))


def _scored(conversation: Conversation, encoder: MiniLMEncoder) -> list[tuple[EvidenceQuestion, Candidates, list[str]]]:
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "a.db") as store:
        memory = EventMemory(store, encoder, times_named)
        memory.remember_all(conversation.events)
        for _ in memory.embed():
            pass
        names = [event.key for event in conversation.events]
        found = []
        for question in conversation.questions:
            vector = encoder.encode([question.text])[0]
            asked = Question(question.text, vector, times_named(question.text, conversation.ends))
            found.append((question, candidates(memory.index, asked, memory.index.live), names))
        return found


def _fitted(sets: list[list[tuple[EvidenceQuestion, Candidates, list[str]]]]) -> Floats:
    """Newton's method on the log-likelihood less a ridge."""
    samples = []
    for one in sets:
        for question, found, names in one:
            keys = [names[slot] for slot in found.slots]
            is_right = np.array([key in question.evidence for key in keys], np.float64)
            if is_right.any():
                samples.append((found.scores.astype(np.float64), is_right / is_right.sum()))
    weights = np.zeros(len(SCORES))
    for _ in range(100):
        gradient, curvature = 2 * RIDGE * len(samples) * weights, 2 * RIDGE * len(samples) * np.eye(len(SCORES))
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


def _keys(found: Candidates, names: list[str], weights: Floats) -> list[str]:
    order = np.argsort(-(found.scores @ weights), kind="stable")
    return [names[slot] for slot in found.slots[order]]


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
            for name in ("first", "again"):
                took = []
                for question in questions:
                    started = time.perf_counter()
                    memory.search(question, limit=10, now=_START + n_events * _STEP)
                    took.append((time.perf_counter() - started) * 1000)
                result[f"search_{name}_p50_ms"] = round(float(np.median(took)), 2)
                result[f"search_{name}_p99_ms"] = round(float(np.quantile(took, 0.99)), 2)
            took = []
            for k in rng.choice(n_events, 200, replace=False):
                started = time.perf_counter()
                memory.delete(f"e{k}")
                took.append((time.perf_counter() - started) * 1000)
            result["delete_p50_ms"] = round(float(np.median(took)), 3)
    return result


def _texts() -> tuple[list[str], list[str]]:
    conversations = read_conversations(DATA / "memory/locomo.json")
    texts = [event.text for one in conversations for event in one.events]
    for path in sorted((DATA / "plans/taskbench_requests").glob("*/user_requests.json")):
        texts += [json.loads(line)["user_request"] for line in path.read_text().splitlines()[:3000]]
    return texts, [question.text for one in conversations for question in one.questions][:300]


def _write_vectors(store: Store, vectors: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """Each with noise of its own, 0.6 times its length; returned exact, stored packed."""
    noisy = vectors + rng.standard_normal(vectors.shape, np.float32) * np.float32(0.6 / np.sqrt(vectors.shape[1]))
    noisy /= np.linalg.norm(noisy, axis=1, keepdims=True)
    numbers = [row[0] for row in store.query("SELECT number FROM event ORDER BY number")]
    with store.transaction(is_synced=False) as cursor:
        cursor.executemany(
            "UPDATE event SET vector = ? WHERE number = ?",
            ((packed(vector), number) for vector, number in zip(noisy, numbers, strict=True)),
        )
    return noisy


def _scan(index: EventIndex, exact: NDArray[np.float32], questions: NDArray[np.float32]) -> dict[str, object]:
    """Recall@10 against exact cosines, time of a scan, and how near it comes to what memory can deliver."""
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
    parser.add_argument("--events", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.fit:
        fit()
        return
    wall, cpu = time.perf_counter(), time.process_time()
    runs = {f"{n}": scale(n, given.seed) for n in given.events}
    took = {"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall}
    write_result("recall_scale", runs, seed=given.seed, cpu_s=took["cpu_s"], wall_s=took["wall_s"])


if __name__ == "__main__":
    main()
