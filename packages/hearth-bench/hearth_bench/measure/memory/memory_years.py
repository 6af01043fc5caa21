"""Simulate five years of memory at 500 events a day, tended once a month: size, start-up, recall by age.

    python -m hearth_bench.measure.memory.memory_years                     # 1,826 days, a stand-in for the encoder
    python -m hearth_bench.measure.memory.memory_years --days 60 --real    # fewer days, the shipped encoder

Events are drawn from a seeded vocabulary: routines that repeat, and each day some things that happen once, whose names
are drawn afresh. The stand-in gives each word a fixed random direction: it knows words and no meaning, so recall here
depends on shared words. A question asks for the once-only things in other words; it is answered when one of the first
ten events or summaries found holds the answer.
"""

from __future__ import annotations

import argparse
import datetime as dt
import itertools
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth.memory.event_memory import EventMemory, NewEvent
from hearth.memory.forgetting import Keeper, Retention
from hearth.memory.search.search_words import telling_words
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.protocols import Encoder
from hearth.storage.database import Store
from hearth_bench.measure.result_file import write_result

START = dt.datetime(2021, 1, 1, 7, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)
N_ONCE = 5
PEOPLE = ("Ana", "Ben", "Chiara", "Dev", "Emil", "me")
ROUTINES = (
    *("coffee is ready in the kitchen", "the bus to work was {k} minutes late", "heating set to {k} degrees"),
    *("lights off in the living room", "lunch with the team at noon", "good night, see you tomorrow"),
    *(
        "the washing machine has finished",
        "steps today: {k}00",
        "can you buy milk and bread",
        "running {k} minutes late",
    ),
    *(
        "door locked at the front",
        "meeting moved by {k} minutes",
        "the cat was fed",
        "yes, that works for me",
        "ok, thanks",
    ),
)
ONCE = (
    ("{who} keeps the spare key of {x} in box {n}", "which box holds the spare key of {x}", "box {n}"),
    ("{who} booked {n} seats for the concert of {x}", "how many seats were booked for the concert of {x}", "{n} seats"),
    ("the plumber {x} charged {n} euros", "what did the plumber {x} charge", "{n} euros"),
    ("{who} met {x} at the harbour cafe", "where did someone meet {x}", "harbour cafe"),
    ("the parcel from {x} is at locker {n}", "in which locker is the parcel from {x}", "locker {n}"),
)
_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "el", "or")]


class WordDirections:
    """Encoder that gives each word a fixed random direction; a text is their mean."""

    dim = 384

    def __init__(self) -> None:
        self._known: dict[str, NDArray[np.float32]] = {}

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in telling_words(text):
                if word not in self._known:
                    seed = np.random.default_rng(zlib.crc32(word.encode()))
                    self._known[word] = seed.standard_normal(self.dim, np.float32)
                row += self._known[word]
            row /= float(np.linalg.norm(row)) or 1.0
        return rows


def lived(day: int, rng: np.random.Generator, n_a_day: int) -> Iterator[tuple[NewEvent, str, str]]:
    """Yield a day's events, each with a question and its answer if it happens once."""
    once = set(rng.choice(n_a_day, N_ONCE, replace=False).tolist())
    for k in range(n_a_day):
        at = START + day * DAY + dt.timedelta(seconds=k * 54_000 / n_a_day)
        who = PEOPLE[rng.integers(len(PEOPLE))]
        question = answer = ""
        if k in once:
            said, asked, right = ONCE[rng.integers(len(ONCE))]
            x = "".join(_SYLLABLES[i] for i in rng.integers(0, len(_SYLLABLES), 4)).capitalize()
            n = int(rng.integers(10, 999))
            text, question, answer = (part.format(who=who, x=x, n=n) for part in (said, asked, right))
        else:
            text = ROUTINES[rng.integers(len(ROUTINES))].format(k=rng.integers(2, 30))
        yield NewEvent(f"{day}-{k}", text, "message", at, person=who), question, answer


def simulate(n_days: int, n_a_day: int, seed: int, encoder: Encoder, retention: Retention) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    asked: list[tuple[int, str, str]] = []
    months: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        with Store.open(path) as store:
            memory = EventMemory(store, encoder)
            keeper = Keeper(store, memory, retention)
            for day in range(n_days):
                events = []
                for event, question, answer in lived(day, rng, n_a_day):
                    events.append(event)
                    if question:
                        asked.append((day, question, answer))
                memory.remember_all(events)
                for _ in memory.embed():
                    pass
                if day % 30 == 29 or day == n_days - 1:
                    started = time.process_time()
                    done = keeper.tend(START + (day + 1) * DAY)
                    months.append(
                        {
                            "day": day + 1,
                            "used_mb": round(done.used_bytes / 1e6, 1),
                            "is_within": done.is_within,
                            "n_folded": done.n_folded,
                            "tend_cpu_s": round(time.process_time() - started, 2),
                        }
                    )
                    print(months[-1], flush=True)
            store.erase_traces()
        result: dict[str, object] = {
            "n_days": n_days,
            "n_a_day": n_a_day,
            "file_mb": round(path.stat().st_size / 1e6, 1),
        }
        with Store.open(path) as store:
            started, cpu = time.perf_counter(), time.process_time()
            memory = EventMemory(store, encoder)
            result["n_held"] = len(memory.index)
            result["start_s"] = round(time.perf_counter() - started, 3)
            result["start_cpu_s"] = round(time.process_time() - cpu, 3)
            result["levels"] = {
                row[0]: row[1] for row in store.query("SELECT level, sum(n_replaced) FROM summary GROUP BY level")
            }
            result["recall_at_10"] = _recall(memory, asked, n_days, rng)
        result["most_used_mb"] = max(float(str(month["used_mb"])) for month in months)
        result["is_within_at_every_month"] = all(month["is_within"] for month in months)
        result["months"] = months
    return result


def _recall(
    memory: EventMemory, asked: Sequence[tuple[int, str, str]], n_days: int, rng: np.random.Generator
) -> dict[str, dict[str, float]]:
    """Return, by age, the number of questions and the share answered of up to 100 drawn ones."""
    found: dict[str, dict[str, float]] = {}
    bounds = (0, 30, 90, 180, 365, 730, 1095, 1460, 100_000)
    for least, most in itertools.pairwise(bounds):
        these = [one for one in asked if least <= n_days - one[0] < most]
        if these:
            drawn = [these[k] for k in rng.choice(len(these), min(100, len(these)), replace=False)]
            hits = [any(right in hit.text for hit in memory.search(q, limit=10)) for _, q, right in drawn]
            found[f"{least}-{most} days"] = {"n": len(these), "answered": round(sum(hits) / len(drawn), 3)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=1826)
    parser.add_argument("--a-day", type=int, default=500)
    parser.add_argument("--budget-mb", type=int, default=100)
    parser.add_argument("--whole-days", type=int, default=90)
    parser.add_argument("--daily-days", type=int, default=365)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--real", action="store_true", help="with the shipped encoder")
    given = parser.parse_args()
    wall, cpu = time.perf_counter(), time.process_time()
    encoder: Encoder = MiniLMEncoder.open() if given.real else WordDirections()
    retention = Retention(given.whole_days, given.daily_days, budget_bytes=given.budget_mb * 1_000_000)
    result = simulate(given.days, given.a_day, given.seed, encoder, retention)
    result |= {"budget_mb": given.budget_mb, "encoder": "shipped" if given.real else "a random direction for each word"}
    took = time.process_time() - cpu, time.perf_counter() - wall
    name = "memory_years_real" if given.real else "memory_years"
    write_result(name, result, seed=given.seed, cpu_s=took[0], wall_s=took[1])


if __name__ == "__main__":
    main()
