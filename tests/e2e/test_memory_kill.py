"""Killed in the middle of every kind of write to memory: what was acknowledged is there, and the index equals the store."""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hearth.memory.event_memory import EventMemory, NewEvent
from hearth.memory.facts import FactStore, NewFact
from hearth.memory.forgetting import Keeper, Retention, tend_a_little
from hearth.memory.search.memory_index import EventIndex, packed
from hearth.memory.transfer.importers import Report, Source, imported
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW, HashEncoder

N_KILLS = 14
DAY = dt.timedelta(days=1)


def work(home: Path, number: int) -> None:
    """Writes of every kind without end; each is said once it is acknowledged."""
    import numpy as np

    def say(line: str) -> None:
        os.write(1, f"{line}\n".encode())

    with Store.open(home / "hearth.db") as store:
        memory, facts = EventMemory(store, HashEncoder(384)), FactStore(store)
        rng = np.random.default_rng(number)
        for k in range(100_000):
            keys = [f"{number}-{k}-{i}" for i in range(5)]
            at = FIXED_NOW + k * DAY
            memory.remember_all(NewEvent(key, f"word{k} of {key}.", "message", at) for key in keys)
            say(f"event {' '.join(keys)}")
            vector = rng.standard_normal(384).astype(np.float32)
            with store.transaction() as cursor:
                cursor.execute("UPDATE event SET is_embedded = 1 WHERE id = ?", (keys[0],))
                row = cursor.execute("SELECT number FROM event WHERE id = ?", (keys[0],)).fetchone()
                cursor.execute(
                    "INSERT INTO event_vector VALUES (?, ?)", (row[0], packed(vector / np.linalg.norm(vector)))
                )
            say(f"fact {facts.add(NewFact('Ben', 'likes', keys[2], events=(keys[2],)), at).id} {keys[2]}")
            memory.forget(keys[3])
            say(f"gone {keys[3]}")
            if k % 4 == 3:
                Keeper(store, memory, Retention(whole_days=7)).tend(at)
            else:
                tend_a_little(store, memory, Retention(whole_days=7), at, limit_s=0.01)
            if k % 3 == 0:
                chat = home / "chat.jsonl"
                chat.write_text(
                    "\n".join(
                        json.dumps(
                            {"timestamp": at.isoformat(), "sender": "Ana", "body": f"word{k} said {number}-{k}-c{i}."}
                        )
                        for i in range(520)
                    )
                )
                for batch in imported(Source(chat, "lines", dt.UTC), memory, store, Report()):
                    say(f"imported {' '.join(event.key for event in batch)}")


def killed(home: Path, number: int, after_s: float) -> list[str]:
    command = [sys.executable, __file__, str(home), str(number)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        first = child.stdout.readline()
        time.sleep(after_s)
        child.send_signal(signal.SIGKILL)
        said = child.stdout.read()
    whole = said[: said.rfind("\n") + 1]  # the last line may be cut: where the pipe was full, only a part was said
    return [first.strip(), *whole.splitlines()]


def check(home: Path, said: list[str]) -> None:
    with Store.open(home / "hearth.db") as store:
        assert store.query("PRAGMA integrity_check")[0][0] == "ok"
        held = {row[0] for row in store.query("SELECT id FROM event")}
        folded = b"".join(row[0] for row in store.query("SELECT replaced FROM summary"))
        gone = {line.split()[1] for line in said if line.startswith("gone ")}
        for line in said:
            kind, *rest = line.split()
            if kind == "event":
                for key in rest[:3]:
                    assert key in held or _digest(key) in folded, f"{key} was acknowledged and is lost"
            elif kind == "imported":
                for key in rest:
                    assert key in held or _digest(key) in folded, f"{key} was imported and is lost"
            elif kind == "fact":
                assert FactStore(store).get(int(rest[0])).value == rest[1]
        assert not gone & held
        index = EventIndex(store)
        numbers = [row[0] for row in store.query("SELECT number FROM event ORDER BY number")]
        assert index.numbers[: len(index.live)].tolist() == numbers
        words = store.query("SELECT count(*) FROM event_words WHERE event_words MATCH 'word0'")[0][0]
        assert words == store.query("SELECT count(*) FROM event WHERE text GLOB '*word0[^0-9]*'")[0][0]
        assert not store.query("SELECT 1 FROM event_vector v LEFT JOIN event e USING (number) WHERE e.id IS NULL")
        with store.transaction() as cursor:
            cursor.execute("INSERT INTO event_words (event_words) VALUES ('integrity-check')")


def _digest(key: str) -> bytes:
    from hearth.memory.forgetting import digest_of_id

    return digest_of_id(key)


@pytest.mark.slow
def test_no_acknowledged_memory_is_lost_and_the_index_equals_the_store(tmp_path: Path) -> None:
    draw = random.Random(20261122)
    said: list[str] = []
    for number in range(N_KILLS):
        said += killed(tmp_path, number, draw.uniform(0, 0.25))
        check(tmp_path, said)
    assert len({line.split()[0] for line in said}) == 4, "every kind of write was reached"


if __name__ == "__main__":
    work(Path(sys.argv[1]), int(sys.argv[2]))
