"""Measure what an encrypted home costs beside a plain one: opening, a question, a step, a file, and turning it over.

    python -m hearth_bench.measure.guard.encryption_cost      writes packages/hearth-bench/results/encryption_cost.json

The demo home, learnt, with 20,000 events in memory; the same home plain, with its database encrypted, and with the
owner's folder encrypted, too. Medians in milliseconds; plain and encrypted take turns. `plain` is each row's floor.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hearth.agent import Agent
from hearth.demo.demo_home import build_demo_home
from hearth.guard.policy.question import YesApprover
from hearth.memory.event_memory import EventMemory, NewEvent
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.protocols import Encoder
from hearth.storage import encryption, home_key
from hearth.storage.database import Store
from hearth.storage.workspace import Folder
from hearth.testing import FIXED_NOW
from hearth_bench.measure.result_file import write_result

N_EVENTS = 20_000
N_ROUNDS = 15
WORDS = "four words of nobody"
_QUESTIONS = ("What do I have on tomorrow?", "what is Jonas' phone number", "what did I write down about the sourdough")
_STEPS = (
    "add milk to the shopping list",
    "take a note: the boiler was serviced",
    "remind me to water the basil at 7 pm",
)
KINDS = ("plain", "database", "database_and_files")


def ms_of(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def make(folder: Path, encoder: Encoder) -> dict[str, float]:
    """Make the homes; return what making them encrypted took."""
    model = folder / KINDS[0]
    build_demo_home(model, FIXED_NOW)
    agent = _opened(model, encoder)
    for _ in agent.learn_shipped():
        pass
    agent.close()
    with Store.open(model / "hearth.db") as store:
        events = (
            NewEvent(f"e{k}", f"number {k}: " + "some words " * 20, "message", FIXED_NOW) for k in range(N_EVENTS)
        )
        EventMemory(store).remember_all(events)
    turned: dict[str, float] = {}
    for kind in KINDS[1:]:
        home = folder / kind
        shutil.copytree(model, home, symlinks=True)
        with_files = kind == KINDS[2]
        turned[f"encrypt {kind}"] = ms_of(lambda h=home, f=with_files: encryption.encrypt(h, WORDS, with_files=f))  # type: ignore[misc]
    home = folder / "again"
    shutil.copytree(folder / KINDS[2], home, symlinks=True)
    turned["new key"] = ms_of(lambda: encryption.change_key(home, WORDS))
    turned["decrypt"] = ms_of(lambda: encryption.decrypt(home))
    return turned


def measure(folder: Path, encoder: Encoder) -> dict[str, dict[str, float]]:
    """Median milliseconds by kind of home, of each kind of work."""
    found: dict[str, dict[str, list[float]]] = {}

    def note(what: str, kind: str, spent_ms: float) -> None:
        found.setdefault(kind, {}).setdefault(what, []).append(spent_ms)

    for number in range(N_ROUNDS):
        for kind in KINDS:
            home = folder / kind
            if kind != KINDS[0]:
                home_key.forget(home)
                note("key_ms", kind, ms_of(lambda h=home: home_key.home_key(h)))  # type: ignore[misc]
            note("open_ms", kind, ms_of(lambda h=home: Store.open(h / "hearth.db").close()))  # type: ignore[misc]
            with Store.open(home / "hearth.db") as store:
                note("read_events_ms", kind, ms_of(lambda s=store: s.query("SELECT * FROM event")))  # type: ignore[misc]
                note("commit_ms", kind, ms_of(lambda s=store, n=number: _commit(s, n)))  # type: ignore[misc]
                call = Folder(home / "owner", store).for_call("")
                paths = call.list()
                note("read_files_ms", kind, ms_of(lambda c=call, p=paths: [c.read(one) for one in p]))  # type: ignore[misc]
            agent = _opened(home, encoder)
            for text in _QUESTIONS:
                note("question_ms", kind, ms_of(lambda a=agent, t=text: a.run(a.request(t))))  # type: ignore[misc]
            for text in _STEPS:
                note("step_ms", kind, ms_of(lambda a=agent, t=text, n=number: a.run(a.request(f"{t} {n}"))))  # type: ignore[misc]
            agent.close()
    return {
        kind: {what: round(statistics.median(times), 3) for what, times in spent.items()}
        for kind, spent in found.items()
    }


def _commit(store: Store, number: int) -> None:
    with store.transaction() as cursor:
        cursor.execute("INSERT OR REPLACE INTO meta VALUES (?, 'x')", (f"cost {number}",))


def _opened(home: Path, encoder: Encoder) -> Agent:
    return Agent.open(home, YesApprover(), environ={}, clock=lambda: FIXED_NOW, encoder=encoder)


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    started, cpu = time.perf_counter(), os.times()
    os.environ[home_key.PASSPHRASE] = WORDS
    encoder = MiniLMEncoder.open()
    with tempfile.TemporaryDirectory() as folder:
        turned = make(Path(folder), encoder)
        size = (Path(folder) / KINDS[0] / "hearth.db").stat().st_size
        results = {
            **measure(Path(folder), encoder),
            "turned_ms": {what: round(spent, 1) for what, spent in turned.items()},
            "database_mb": round(size / 1e6, 1),
            "n_events": N_EVENTS,
            "n_rounds": N_ROUNDS,
            "load_average": round(os.getloadavg()[0], 1),
        }
    cpu_s = sum(os.times()[:4]) - sum(cpu[:4])
    write_result("encryption_cost", results, seed=0, cpu_s=cpu_s, wall_s=time.perf_counter() - started)


if __name__ == "__main__":
    main()
