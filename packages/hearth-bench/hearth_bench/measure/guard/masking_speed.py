"""Compare masking with presidio-analyzer: characters per CPU-second, by form and by the owner's names, in one run.

    python -m hearth_bench.measure.guard.masking_speed        # into packages/hearth-bench/results/masking_speed.json

On the first run it makes the peer's own environment in
packages/hearth-bench/hearth_bench/measure/agent/peers/.venv-presidio. Both read the same texts, in turns, three times;
the best turn of each counts. The owner's dictionary holds 5,000 invented contacts.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from hearth.config import MASKED_KINDS
from hearth.guard.deidentify.masker import Masker
from hearth.guard.deidentify.names import OwnerNames, OwnName
from hearth_bench.measure.result_file import ROOT, write_result
from hearth_bench.run_record import Stopwatch
from hearth_bench.suites.privacy_suite import read_samples

SEED = 0
DATA = Path(os.environ.get("HEARTH_DATA", ROOT.parent / "shared" / "data"))
PEERS = Path(__file__).parents[1] / "agent" / "peers"
PRESIDIO = "presidio-analyzer==2.2.362"
N_TURNS = 3
N_CONTACTS = 5_000


def peer_python() -> Path:
    """Return the peer's interpreter, installing it if necessary. Raises: CalledProcessError."""
    folder = PEERS / ".venv-presidio"
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", PRESIDIO], check=True)
    return python


def contacts(seed: int) -> OwnerNames:
    """Invent people with a first name, a last name and a number each."""
    draw = random.Random(seed)
    syllables = [
        "ba",
        "be",
        "bo",
        "da",
        "de",
        "do",
        "ka",
        "ke",
        "ki",
        "la",
        "le",
        "lo",
        "ma",
        "me",
        "mi",
        "na",
        "ne",
        "no",
        "ra",
        "re",
        "ri",
        "sa",
        "se",
        "so",
        "ta",
        "te",
        "to",
        "va",
        "ve",
        "vo",
    ]

    def word() -> str:
        return "".join(draw.choice(syllables) for _ in range(draw.randint(3, 4))).capitalize()

    names = []
    for _ in range(N_CONTACTS):
        first, last = word(), word()
        names += [OwnName(f"{first} {last}", "person"), OwnName(first, "person"), OwnName(last, "person")]
        names.append(OwnName(f"+49 30 {draw.randint(1_000_000, 9_999_999)}", "phone"))
    return OwnerNames(names)


def main() -> None:
    watch = Stopwatch()
    texts = [sample.text for sample in read_samples(DATA / "privacy" / "pii_synth_v2.json")]
    python = peer_python()
    started = time.process_time()
    names = contacts(SEED)
    build_s = time.process_time() - started
    masker = Masker(MASKED_KINDS, names=names, country="DE")
    for text in texts[:50]:
        masker.find(text)  # not measured, as for the peer: what is loaded once
    ours: list[float] = []
    turns: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "texts.json"
        file.write_text(json.dumps(texts))
        for _ in range(N_TURNS):
            done = subprocess.run(
                [str(python), str(PEERS / "presidio_speed.py"), str(file)], check=True, capture_output=True, text=True
            )
            turns.append(json.loads(done.stdout.splitlines()[-1]))
            started = time.process_time()
            for text in texts:
                masker.find(text)
            ours.append(sum(map(len, texts)) / (time.process_time() - started))
    best = max(turns, key=lambda turn: turn["chars_per_s"])
    spent = watch.read()
    results = {
        "chars_per_s": round(max(ours)), "presidio_chars_per_s": best["chars_per_s"],
        "times_presidio": round(max(ours) / best["chars_per_s"], 2), "presidio": best,
        "turns": [round(x) for x in ours],
        "n_contacts": N_CONTACTS, "dictionary_build_cpu_s": round(build_s, 3), "n_texts": len(texts),
    }  # fmt: skip
    write_result("masking_speed", results, seed=SEED, cpu_s=spent["cpu_s"], wall_s=spent["wall_s"])


if __name__ == "__main__":
    main()
